//! The tables of the findings: request types, and the endpoints that hold the time.

use crate::ui::page::{Endpoint, Focus, Page};
use crate::ui::shell::selection_bar::look_at;
use crate::ui::widgets::names;
use crate::ui::widgets::table::{Column, Table, What, by_number, endpoint, number};
use pathlight_query::{EndpointRow, EndpointsReport, RequestType, RootEndpoint, RowStat, RowTime};
use pathlight_text::format;
use pathlight_view::address::View;
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
    /// Part of the percentile range's latency, 0 to 1.
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

/// The request types; a click makes one the root endpoint.
pub fn type_table(page: Page) -> Table<Kind> {
    let columns = vec![
        endpoint!("Request type", "The endpoint at the root of the trace", |row: &Kind| (
            &row.kind.service,
            &row.kind.operation
        )),
        Column {
            key: "share",
            title: "Share",
            hint: "Part of the latency of all requests",
            class: "bar",
            priority: 2,
            order: Some(|a: &Kind, b: &Kind| by_number(a.share, b.share)),
            cell: Box::new(|row: &Kind| What::Bar(row.share, format::share(row.share))),
        },
        number!(
            "requests",
            "Requests",
            "Number of requests",
            "num" 1,
            |row: &Kind| row.kind.requests,
            format::count
        ),
        number!(
            "errors",
            "Errors",
            "Requests whose root span is an error",
            "num" 3,
            |row: &Kind| row.kind.errors,
            format::count
        ),
        number!("p50", "p50", "Median latency", "num" 2, |row: &Kind| row.kind.latency_us.p50, format::duration),
        number!(
            "p95",
            "p95",
            "95th percentile of latency",
            "num" 2,
            |row: &Kind| row.kind.latency_us.p95,
            format::duration
        ),
        number!(
            "p99",
            "p99",
            "99th percentile of latency",
            "num" 1,
            |row: &Kind| row.kind.latency_us.p99,
            format::duration
        ),
        Column {
            key: "spark",
            title: "Latency",
            hint: "Histogram of latency, logarithmic",
            class: "spark-cell",
            priority: 3,
            order: None,
            cell: Box::new(|row: &Kind| What::Element(names::spark(&row.kind.spark))),
        },
    ];
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
            look_at(page, RootEndpoint::Endpoint { service, operation });
        }
    })
}

/// The endpoints; one that is opened is searched for in the flame graph.
pub fn top_table(page: Page) -> Table<Cost> {
    let columns = vec![
        endpoint!("Endpoint", "Operation and service", |cost: &Cost| (&cost.endpoint.0, &cost.endpoint.1)),
        Column {
            key: "share",
            title: "Share",
            hint: "Part of the latency of these requests",
            class: "bar",
            priority: 1,
            order: Some(|a: &Cost, b: &Cost| by_number(a.share, b.share)),
            cell: Box::new(|cost: &Cost| What::Bar(cost.share, format::share(cost.share))),
        },
        number!(
            "mean",
            "Mean",
            "Own time on the critical path of a request, mean over all of them",
            "num" 1,
            |cost: &Cost| cost.row.exclusive_us.mean,
            format::duration
        ),
        number!(
            "p50",
            "p50",
            "Median of its own time in the requests that have it",
            "num" 2,
            |cost: &Cost| cost.row.exclusive_us.p50,
            format::duration
        ),
        number!(
            "p95",
            "p95",
            "95th percentile of its own time in the requests that have it",
            "num" 2,
            |cost: &Cost| cost.row.exclusive_us.p95,
            format::duration
        ),
        number!(
            "p99",
            "p99",
            "99th percentile of its own time in the requests that have it",
            "num" 1,
            |cost: &Cost| cost.row.exclusive_us.p99,
            format::duration
        ),
        number!(
            "sum",
            "Sum",
            "Own time on the critical path over all requests",
            "num" 3,
            |cost: &Cost| cost.row.exclusive_us.sum,
            format::duration_us
        ),
        number!(
            "requests",
            "Requests",
            "Requests that have it on their critical path",
            "num" 3,
            |cost: &Cost| cost.row.requests,
            format::count
        ),
        number!(
            "errors",
            "Errors",
            "Its error spans on the critical path",
            "num" 3,
            |cost: &Cost| cost.row.errors,
            format::count
        ),
    ];
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
        move |sort| page.change(|address| address.sort = Some(sort)),
    );
    let (rows, again) = (table.clone(), table.clone());
    table
        .on_select(move |at| {
            if let Some(cost) = rows.rows().get(at) {
                page.set_focus(Focus::Endpoint(cost.endpoint.clone()));
            }
        })
        .on_open(move |at| {
            if let Some(cost) = again.rows().get(at) {
                page.change(|address| {
                    address.search = cost.endpoint.1.clone();
                    address.view = View::Flame;
                });
            }
        })
}
