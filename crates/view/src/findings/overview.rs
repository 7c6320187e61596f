//! The first view: what is loaded, which requests there are, and where their time goes.

use crate::address::Address;
use crate::flame::table::{waiting_column, waiting_us};
use crate::say::selection::{filter_words, range_words};
use crate::table::{Attributes, Column, PER_REQUEST, Table, WHEN_PRESENT, endpoint_attributes};
use pathlight_base::format;
use pathlight_engine::endpoints::{EndpointTotals, EndpointsReport, RowStat, RowTime};
use pathlight_engine::findings::FindingsReport;
use pathlight_engine::ids::ReportEndpoint;
use pathlight_engine::queries::{OverviewReport, TypeRow};
use pathlight_engine::requests::{RequestType, RootEndpoint};
use pathlight_engine::verdict::one_set::ServiceTime;
use pathlight_trace::Endpoint;
use std::collections::BTreeMap;

/// A figure of what is loaded: its name, its name in tests, its words, the number itself, and what is said of it beside
/// the pointer.
#[derive(Clone, Debug, PartialEq)]
pub struct Card {
    /// Name of the figure.
    pub name: &'static str,
    /// Name of the figure in tests.
    pub test: &'static str,
    /// The figure in words.
    pub words: String,
    /// The number with all of its digits.
    pub digits: String,
    /// Said beside the pointer; may be empty.
    pub hint: String,
}

/// Returns the figures of what is loaded.
pub fn cards(overview: &OverviewReport) -> Vec<Card> {
    let card =
        |name, test, words: String, digits: String| Card { name, test, words, digits, hint: String::new() };
    let counted = |[one, many]: [&'static str; 2], test, value: u64| {
        card(format::agreeing(value, one, many), test, format::count(value), value.to_string())
    };
    let duration = |name, test, us: f64| card(name, test, format::duration(us), us.to_string());
    let length = overview.end_us.saturating_sub(overview.start_us);
    vec![
        counted(["trace", "traces"], "traces", overview.traces),
        counted(["span", "spans"], "spans", overview.spans),
        counted(["service", "services"], "services", overview.services),
        counted(["endpoint", "endpoints"], "endpoints", overview.endpoints.len() as u64),
        counted(["error span", "error spans"], "error-spans", overview.error_spans),
        duration("median latency", "latency-p50", overview.latency_us.p50),
        duration("95th percentile", "latency-p95", overview.latency_us.p95),
        duration("99th percentile", "latency-p99", overview.latency_us.p99),
        Card {
            hint: format!("{} to {} UTC", format::moment(overview.start_us), format::moment(overview.end_us)),
            ..card("time covered", "time-covered", format::duration_us(length), length.to_string())
        },
    ]
}

/// Returns which requests the ranking is about, with every filter.
pub fn about(address: &Address, report: &EndpointsReport) -> String {
    let mut words = match &address.root {
        RootEndpoint::TraceRoots => "all requests".to_owned(),
        RootEndpoint::Endpoint(Endpoint { service, operation }) => format::endpoint(service, operation),
    };
    if let Some(range) = report.range.filter(|range| !range.is_all()) {
        words.push_str(&format!(", {}", range_words(range)));
    }
    for filter in &address.filters {
        words.push_str(&format!(", {}", filter_words(filter)));
    }
    words
}

/// Returns what is said below the figures where the rest of the view is about less than all that is loaded; else nothing.
pub fn all_loaded(address: &Address, about: &str) -> String {
    let is_all =
        address.root == RootEndpoint::TraceRoots && address.range.is_all() && address.filters.is_empty();
    if is_all {
        String::new()
    } else {
        format!("These figures and the request types are of all that is loaded; the rest is about {about}.")
    }
}

/// Returns the title of the ranking. `about` says which requests it is about.
pub fn ranking_title(about: &str) -> String {
    format!("Where the time of {about} goes: self time on the critical path")
}

/// A request type and its part of all latency.
pub struct TypeLine {
    /// The request type.
    pub row: TypeRow,
    name: Endpoint,
    share: f64,
}

impl TypeLine {
    /// Returns the request types of what is loaded.
    pub fn of(overview: &OverviewReport) -> Vec<TypeLine> {
        let sum = |row: &TypeRow| row.latency_us.mean * row.requests as f64;
        let total: f64 = overview.request_types.iter().map(sum).sum();
        let share = |row: &TypeRow| if total > 0.0 { sum(row) / total } else { 0.0 };
        let line = |row: &TypeRow| TypeLine { share: share(row), name: row.kind.name(), row: row.clone() };
        overview.request_types.iter().map(line).collect()
    }

    /// Returns service and operation, with the part of the root endpoint's requests.
    pub fn name(&self) -> (&str, &str) {
        self.name.names()
    }
}

/// Returns the table of request types.
pub fn types() -> Table<TypeLine> {
    let columns = vec![
        Column::endpoint(
            "Request type",
            "The endpoint at the root of the trace, and which of its requests",
            TypeLine::name,
        ),
        Column::share("share", "Share", "Part of the latency of all requests", |row: &TypeLine| {
            row.share.into()
        })
        .low(2),
        Column::count("requests", "Requests", "Number of requests", |row: &TypeLine| row.row.requests.into()),
        Column::count("errors", "Errors", "Requests whose root span is an error", |row: &TypeLine| {
            row.row.errors.into()
        })
        .low(3),
        Column::duration("p50", "p50", "Median latency", |row: &TypeLine| row.row.latency_us.p50.into())
            .low(2),
        Column::duration("p95", "p95", "95th percentile of latency", |row: &TypeLine| {
            row.row.latency_us.p95.into()
        })
        .low(2),
        Column::duration("p99", "p99", "99th percentile of latency", |row: &TypeLine| {
            row.row.latency_us.p99.into()
        }),
        Column::spark("Latency", "Histogram of latency, logarithmic", |row: &TypeLine| Some(&row.row.spark)),
    ];
    Table::new("request-types", "Request types", ("share", true), columns)
        .with_attributes(|row| {
            vec![
                ("data-test", "request-type".to_owned()),
                ("data-service", row.name.service.clone()),
                ("data-operation", row.name.operation.clone()),
            ]
        })
        .search(|row, finder| finder.fits_endpoint((&row.name.service, &row.name.operation)))
}

/// A service, or a request type, with its part of the latency.
#[derive(Clone, Debug, PartialEq)]
pub struct ShareBar {
    /// Name of the service or request type.
    pub name: String,
    /// The same as it is read.
    pub words: String,
    /// Its part of the latency in words.
    pub share: String,
    /// Its length, 0 to 1, against the longest one: own work, then waiting for it.
    pub relative: [f64; 2],
    /// Effect of a click.
    pub hint: String,
}

/// Bars of one kind; the rest is summed up.
const BARS: usize = 6;

/// Returns the first of some parts, most first, and the sum of the others; each with its own work and what waits for it.
fn share_bars<T>(
    mut all: Vec<(String, [f64; 2], Option<T>)>,
    noun: &str,
    hint: &str,
) -> Vec<(ShareBar, Option<T>)> {
    let sum = |[own, waiting]: [f64; 2]| own + waiting;
    let total: f64 = all.iter().map(|one| sum(one.1)).sum();
    all.retain(|one| sum(one.1) > 0.0);
    // Stable: equal ones stay as they come.
    all.sort_by(|a, b| sum(b.1).total_cmp(&sum(a.1)));
    if all.len() > BARS + 1 {
        let rest = all.split_off(BARS);
        let name = format::counted(rest.len() as u64, &format!("other {noun}"));
        all.push((name, [0, 1].map(|part| rest.iter().map(|one| one.1[part]).sum()), None));
    }
    let most = all.iter().map(|one| sum(one.1)).fold(f64::MIN_POSITIVE, f64::max);
    let bar = |(name, us, target): (String, [f64; 2], Option<T>)| {
        let [own, waiting] = us.map(|us| format::share(us / total));
        let parts =
            if us[1] > 0.0 { format!("Own work {own}, waiting for it {waiting}. ") } else { String::new() };
        let hint = if target.is_some() { hint } else { "" };
        let bar = ShareBar {
            words: format::printable(&name),
            name,
            share: format::share(sum(us) / total),
            relative: us.map(|us| us / most),
            hint: format!("{parts}{hint}").trim_end().to_owned(),
        };
        (bar, target)
    };
    all.into_iter().map(bar).collect()
}

/// Returns the times of services of a report in which waits are not apart: self time on the critical path, with what calls
/// wait as time of the caller.
pub fn self_times(report: &EndpointsReport) -> Vec<ServiceTime> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for number in report.order(RowTime::Exclusive, RowStat::Total) {
        *sums.entry(report.name(number).0).or_default() += report.share(number);
    }
    let time =
        |(service, own_us): (&str, f64)| ServiceTime { service: service.to_owned(), own_us, waiting_us: 0.0 };
    sums.into_iter().map(time).collect()
}

/// Returns the services with most time on the critical path; of each bar that stands for one its name.
pub fn by_service(times: &[ServiceTime]) -> Vec<(ShareBar, Option<String>)> {
    let bar = |time: &ServiceTime| {
        (time.service.clone(), [time.own_us, time.waiting_us], Some(time.service.clone()))
    };
    share_bars(times.iter().map(bar).collect(), "service", "Find this service in all views")
}

/// Returns the request types with most latency of the requests that findings are about; of each bar that stands for one the
/// type.
pub fn by_type(report: &FindingsReport) -> Vec<(ShareBar, Option<RequestType>)> {
    let name = |kind: &RequestType| kind.name().operation;
    let all = report
        .types
        .iter()
        .map(|time| (name(&time.kind), [time.latency_us as f64, 0.0], Some(time.kind.clone())));
    let listed: u128 = report.types.iter().map(|time| time.latency_us).sum();
    let left = report.facts.latency_sum_us.saturating_sub(listed);
    let others = report.all_types.saturating_sub(report.types.len() as u64);
    let others = (others > 0).then(|| (format::counted(others, "rare type"), [left as f64, 0.0], None));
    share_bars(all.chain(others).collect(), "type", "Look at these requests only")
}

/// Returns the same of all that is loaded, where there are no findings.
pub fn by_loaded_type(overview: &OverviewReport) -> Vec<(ShareBar, Option<RequestType>)> {
    let sum = |row: &TypeRow| row.latency_us.mean * row.requests as f64;
    let name = |row: &TypeRow| row.kind.name().operation;
    let all = overview.request_types.iter().map(|row| (name(row), [sum(row), 0.0], Some(row.kind.clone())));
    share_bars(all.collect(), "type", "Look at these requests only")
}

/// Returns what is loaded, for a note; `files` names those that were opened.
pub fn loaded(overview: &OverviewReport, files: &str) -> String {
    let set = |traces: u64, spans: u64| {
        format!("{} with {}", format::counted(traces, "trace"), format::counted(spans, "span"))
    };
    let mut out = set(overview.traces, overview.spans);
    if overview.other_traces > 0 {
        out = format!("A: {out}; B: {}", set(overview.other_traces, overview.other_spans));
    }
    if files.is_empty() { out } else { format!("{out}; from {files}") }
}

/// Returns what is said while more findings may come; `is_compared` says that two sets are loaded.
pub fn coming(is_compared: bool) -> &'static str {
    match is_compared {
        true => {
            "Still coming: which tags tell slow requests from the others, what would help, abnormal requests\u{2026}"
        }
        false => "Still coming: which tags tell slow requests from the others, what would help\u{2026}",
    }
}

/// An endpoint with its self time on the critical path.
pub struct Cost {
    /// Service and operation.
    pub endpoint: Endpoint,
    share: f64,
    requests: u64,
    row: EndpointTotals,
}

impl Cost {
    /// Returns the endpoints of a report by self time, most first.
    pub fn of(report: &EndpointsReport) -> Vec<Cost> {
        let order = report.order(RowTime::Exclusive, RowStat::Total);
        let cost = |number: ReportEndpoint| {
            let (service, operation) = report.name(number);
            let row = report.rows[number.index()].clone();
            Cost {
                endpoint: Endpoint::new(service, operation),
                share: report.share(number),
                requests: report.facts.summed_over(),
                row,
            }
        };
        order.into_iter().map(cost).collect()
    }

    fn name(&self) -> (&str, &str) {
        self.endpoint.names()
    }

    fn attributes(&self) -> Attributes {
        endpoint_attributes("top-endpoint", self.name(), self.row.exclusive_us.sum)
    }
}

/// Returns the table of endpoints that hold the time.
pub fn top() -> Table<Cost> {
    let columns = vec![
        Column::endpoint("Endpoint", "Operation and service", Cost::name),
        Column::share("share", "Share", "Part of the latency of these requests", |cost: &Cost| {
            cost.share.into()
        })
        .group(PER_REQUEST),
        Column::duration(
            "mean",
            "Mean",
            "Self time on the critical path of a request, mean over all of them",
            |cost: &Cost| cost.row.exclusive_us.mean.into(),
        )
        .group(PER_REQUEST),
        Column::duration(
            "p50",
            "p50",
            "Median of its self time in the requests that have it",
            |cost: &Cost| cost.row.exclusive_us.p50.into(),
        )
        .group(WHEN_PRESENT)
        .low(2),
        Column::duration(
            "p95",
            "p95",
            "95th percentile of its self time in the requests that have it",
            |cost: &Cost| cost.row.exclusive_us.p95.into(),
        )
        .group(WHEN_PRESENT)
        .low(2),
        Column::duration(
            "p99",
            "p99",
            "99th percentile of its self time in the requests that have it",
            |cost: &Cost| cost.row.exclusive_us.p99.into(),
        )
        .group(WHEN_PRESENT),
        waiting_column(|cost: &Cost| waiting_us(&cost.row.waiting, cost.requests)),
        Column::duration("sum", "Sum", "Self time on the critical path over all requests", |cost: &Cost| {
            cost.row.exclusive_us.sum.into()
        })
        .low(3),
        Column::count(
            "requests",
            "Requests",
            "Requests that have it on their critical path",
            |cost: &Cost| cost.row.requests.into(),
        )
        .low(3),
        Column::count("errors", "Errors", "Its error spans on the critical path", |cost: &Cost| {
            cost.row.errors.into()
        })
        .low(3),
    ];
    Table::new("top-endpoints", "Endpoints by self time on the critical path", ("share", true), columns)
        .with_attributes(Cost::attributes)
        .search(|cost, finder| finder.fits_endpoint((&cost.endpoint.service, &cost.endpoint.operation)))
        .share(|cost| cost.share)
}
