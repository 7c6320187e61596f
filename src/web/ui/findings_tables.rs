//! The tables of the findings: request types, and the endpoints that hold the time.

use super::names;
use super::page::{Endpoint, Page, Selection};
use super::subject::look_at;
use super::table::{Column, Table, What, by_number};
use crate::chart::format;
use crate::engine::address::View;
use crate::engine::{EndpointRow, EndpointsReport, RequestType, RowStat, RowTime, Subject};
use std::cmp::Ordering;
use std::rc::Rc;

/// A request type and its part of all latency.
pub struct Kind {
    /// The request type.
    pub kind: RequestType,
    /// Part of the latency of all requests, 0 to 1.
    pub share: f64,
}

/// An endpoint with its own time on the critical path.
pub struct Cost {
    /// Service and operation.
    pub endpoint: Endpoint,
    /// Part of the band's latency, 0 to 1.
    pub share: f64,
    /// Its numbers.
    pub row: EndpointRow,
}

/// Endpoints by own time, most first.
pub fn costs(report: &EndpointsReport) -> Vec<Cost> {
    let order = report.order(RowTime::Exclusive, RowStat::Total);
    let cost = |number: u32| {
        let (service, operation) = report.name(number);
        let row = report.rows[number as usize].clone();
        Cost { endpoint: (service.to_owned(), operation.to_owned()), share: report.share(number), row }
    };
    order.into_iter().map(cost).collect()
}

/// The request types; a click makes one the subject.
pub fn type_table(page: &Page) -> Table<Kind> {
    let choosing = page.clone();
    let number = |key, title, hint, priority, of: fn(&RequestType) -> f64| Column {
        key,
        title,
        hint,
        class: "num",
        priority,
        order: None,
        cell: Box::new(move |row: &Kind| {
            let us = of(&row.kind);
            What::Number(format::duration(us), us.to_string())
        }),
    };
    let mut columns = vec![
        Column {
            key: "endpoint",
            title: "Request type",
            hint: "The endpoint at the root of the trace",
            class: "wide",
            priority: 1,
            order: Some(|a: &Kind, b: &Kind| {
                (&a.kind.operation, &a.kind.service).cmp(&(&b.kind.operation, &b.kind.service))
            }),
            cell: Box::new(|row| What::Element(names::endpoint(&row.kind.service, &row.kind.operation))),
        },
        Column {
            key: "share",
            title: "Share",
            hint: "Part of the latency of all requests",
            class: "bar",
            priority: 2,
            order: Some(|a, b| by_number(a.share, b.share)),
            cell: Box::new(|row| What::Bar(row.share, format::share(row.share))),
        },
        Column {
            key: "requests",
            title: "Requests",
            hint: "Number of requests",
            class: "num",
            priority: 1,
            order: Some(|a, b| a.kind.requests.cmp(&b.kind.requests)),
            cell: Box::new(|row| {
                What::Number(format::count(row.kind.requests), row.kind.requests.to_string())
            }),
        },
        Column {
            key: "errors",
            title: "Errors",
            hint: "Requests whose root span is an error",
            class: "num",
            priority: 3,
            order: Some(|a, b| a.kind.errors.cmp(&b.kind.errors)),
            cell: Box::new(|row| What::Number(format::count(row.kind.errors), row.kind.errors.to_string())),
        },
        number("p50", "p50", "Median latency", 2, |kind| kind.latency_us.p50),
        number("p95", "p95", "95th percentile of latency", 2, |kind| kind.latency_us.p95),
        number("p99", "p99", "99th percentile of latency", 1, |kind| kind.latency_us.p99),
        Column {
            key: "spark",
            title: "Latency",
            hint: "Histogram of latency, logarithmic",
            class: "spark-cell",
            priority: 3,
            order: None,
            cell: Box::new(|row| What::Element(names::spark(&row.kind.spark))),
        },
    ];
    columns[4].order = Some(|a, b| by_number(a.kind.latency_us.p50, b.kind.latency_us.p50));
    columns[5].order = Some(|a, b| by_number(a.kind.latency_us.p95, b.kind.latency_us.p95));
    columns[6].order = Some(|a, b| by_number(a.kind.latency_us.p99, b.kind.latency_us.p99));
    let own = Rc::new(std::cell::RefCell::new(None::<Table<Kind>>));
    let resort = own.clone();
    let table = Table::new(
        "request-types",
        "Request types",
        ("share", true),
        columns,
        |row: &Kind| {
            vec![
                ("data-test", "request-type".to_owned()),
                ("data-service", row.kind.service.clone()),
                ("data-operation", row.kind.operation.clone()),
            ]
        },
        move |sort| {
            if let Some(table) = &*resort.borrow() {
                table.set_sort(Some(&sort));
            }
        },
    );
    own.replace(Some(table.clone()));
    let rows = table.clone();
    table.click_opens().on_open(move |at| {
        if let Some(Kind { kind, .. }) = rows.rows().get(at) {
            let (service, operation) = (kind.service.clone(), kind.operation.clone());
            look_at(&choosing, Subject::Endpoint { service, operation });
        }
    })
}

fn time(
    stat: RowStat,
    title: &'static str,
    hint: &'static str,
    priority: u8,
    order: fn(&Cost, &Cost) -> Ordering,
) -> Column<Cost> {
    Column {
        key: stat.name(),
        title,
        hint,
        class: "num",
        priority,
        order: Some(order),
        cell: Box::new(move |cost: &Cost| {
            let us = stat.of(&cost.row.exclusive_us);
            What::Number(format::duration(us), us.to_string())
        }),
    }
}

fn count(
    key: &'static str,
    title: &'static str,
    hint: &'static str,
    of: fn(&EndpointRow) -> u64,
    order: fn(&Cost, &Cost) -> Ordering,
) -> Column<Cost> {
    Column {
        key,
        title,
        hint,
        class: "num",
        priority: 3,
        order: Some(order),
        cell: Box::new(move |cost: &Cost| {
            let value = of(&cost.row);
            What::Number(format::count(value), value.to_string())
        }),
    }
}

/// The order of two rows by a statistic of their own time.
macro_rules! by {
    ($stat:ident) => {
        |a: &Cost, b: &Cost| {
            let of = |cost: &Cost| RowStat::$stat.of(&cost.row.exclusive_us);
            by_number(of(a), of(b))
        }
    };
}

/// The endpoints; one that is opened is searched for in the flame graph.
pub fn top_table(page: &Page) -> Table<Cost> {
    let columns = vec![
        Column {
            key: "endpoint",
            title: "Endpoint",
            hint: "Operation and service",
            class: "wide",
            priority: 1,
            order: Some(|a: &Cost, b: &Cost| {
                (&a.endpoint.1, &a.endpoint.0).cmp(&(&b.endpoint.1, &b.endpoint.0))
            }),
            cell: Box::new(|cost: &Cost| What::Element(names::endpoint(&cost.endpoint.0, &cost.endpoint.1))),
        },
        Column {
            key: "share",
            title: "Share",
            hint: "Part of the latency of these requests",
            class: "bar",
            priority: 1,
            order: Some(by!(Total)),
            cell: Box::new(|cost| What::Bar(cost.share, format::share(cost.share))),
        },
        time(
            RowStat::Mean,
            "Mean",
            "Own time on the critical path of a request, mean over all of them",
            1,
            by!(Mean),
        ),
        time(RowStat::P50, "p50", "Median of its own time in the requests that have it", 2, by!(P50)),
        time(RowStat::P95, "p95", "95th percentile in the requests that have it", 2, by!(P95)),
        time(RowStat::P99, "p99", "99th percentile in the requests that have it", 1, by!(P99)),
        time(RowStat::Total, "Sum", "Own time on the critical path over all requests", 3, by!(Total)),
        count(
            "requests",
            "Requests",
            "Requests that have it on their critical path",
            |row| row.requests,
            |a, b| a.row.requests.cmp(&b.row.requests),
        ),
        count(
            "errors",
            "Errors",
            "Its error spans on the critical path",
            |row| row.errors,
            |a, b| a.row.errors.cmp(&b.row.errors),
        ),
    ];
    let (sorting, choosing, opening) = (page.clone(), page.clone(), page.clone());
    let table = Table::new(
        "top-endpoints",
        "Endpoints by own time on the critical path",
        ("share", true),
        columns,
        |cost: &Cost| {
            vec![
                ("data-test", "top-endpoint".to_owned()),
                ("data-service", cost.endpoint.0.clone()),
                ("data-operation", cost.endpoint.1.clone()),
                ("data-value", cost.row.exclusive_us.sum.to_string()),
            ]
        },
        move |sort| sorting.change(|address| address.sort = Some(sort)),
    );
    let (rows, again) = (table.clone(), table.clone());
    table
        .on_select(move |at| {
            if let Some(cost) = rows.rows().get(at) {
                choosing.select(Selection::Endpoint(cost.endpoint.clone()));
            }
        })
        .on_open(move |at| {
            if let Some(cost) = again.rows().get(at) {
                opening.change(|address| {
                    address.search = cost.endpoint.1.clone();
                    address.view = View::Flame;
                });
            }
        })
}
