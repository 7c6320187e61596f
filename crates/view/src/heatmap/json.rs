//! Times by endpoint: the rows of the summary and of the heat map.

use crate::json::parts::{Requests, Text, WaitingFor, compact, ends, pretty, public_json};
use pathlight_engine::endpoints::{CallChain, EndpointsReport, RowStat, RowTime};
use pathlight_engine::flame::Weight;
use pathlight_engine::heatmap::{ColumnOrder, HeatmapReport};
use pathlight_engine::ids::ReportEndpoint;
use pathlight_engine::queries::AtLatencies;
use pathlight_engine::requests::RequestRef;
use pathlight_trace::Endpoint;

public_json! {
    /// Endpoints on the critical path, over all their call paths.
    ///
    /// `--format text|markdown|csv` prints lists by p50, p95 and p99 instead, to be copied into a ticket.
    Summary<'a>(report: &'a EndpointsReport, at: &'a [EndpointsReport]) {
        #[serde(flatten)]
        rows: EndpointRows<'a> = EndpointRows::of(report, RowTime::Exclusive, RowStat::Total),
        /// The requests near the 50th, 95th and 99th percentile of their latency: within one percent of the requests around it.
        at_latency: Vec<AtLatency<'a>> =
            at.iter().zip(AtLatencies::PERCENTS).map(|(report, percent)| AtLatency::of(report, percent)).collect(),
    }
}

public_json! {
    /// The requests near one percentile of their latency.
    AtLatency<'a>(report: &'a EndpointsReport, percent: u32) {
        /// The percentile.
        percentile: u32 = percent,
        #[serde(flatten)]
        rows: EndpointRows<'a> = EndpointRows::of(report, RowTime::Exclusive, RowStat::Total),
    }
}

public_json! {
    /// Endpoints on the critical path, over all their call paths.
    EndpointRows<'a>(report: &'a EndpointsReport, time: RowTime, stat: RowStat) {
        #[serde(flatten)]
        requests: Requests = Requests::of(&report.facts, report.range),
        /// Endpoints, the one with the most exclusive time first; in `heatmap` as `--sort-rows` and `--inclusive` say. The sums
        /// of exclusive time add up to `latency_sum_us`.
        rows: Vec<EndpointOnPath<'a>> = report.order(time, stat).into_iter().map(|id| EndpointOnPath::of(report, id)).collect(),
    }
}

public_json! {
    /// One endpoint.
    EndpointOnPath<'a>(report: &'a EndpointsReport, id: ReportEndpoint) {
        /// Its place among the endpoints by (service, operation), from 0.
        id: u32 = id.0,
        /// Service name.
        service: &'a str = report.name(id).0,
        /// Operation name.
        operation: &'a str = report.name(id).1,
        /// Time per request on the critical path in its own spans.
        exclusive_us: Weight = report.rows[id.index()].exclusive_us,
        /// Sanitised duration of its spans on the critical path; where an endpoint calls itself, all of its spans count.
        inclusive_us: Weight = report.rows[id.index()].inclusive_us,
        /// `exclusive_us.sum` of `latency_sum_us`.
        share: f64 = report.share(id),
        /// The 95 % bootstrap interval of `share` over the requests, as `[low, high]`; `null` from 1,000 requests on, where it
        /// is narrow, and of a summary.
        share_interval: Option<[f64; 2]> = report.rows[id.index()].share_interval.map(ends),
        /// Requests that have it on their critical path.
        traces: u64 = report.rows[id.index()].requests,
        /// Spans on critical paths.
        spans: u64 = report.rows[id.index()].spans,
        /// Spans in error among them.
        errors: u64 = report.rows[id.index()].errors,
        /// Waiting for services: part of `exclusive_us` that calls take before their callee starts and after it ends,
        /// by service.
        waiting: Vec<WaitingFor<'a>> = report.rows[id.index()].waiting.iter().map(WaitingFor::of).collect(),
        /// Its call chains with the most exclusive time, at most 5.
        chains: Vec<Chain<'a>> =
            report.rows[id.index()].chains.iter().map(|chain| Chain::of(report, chain)).collect(),
    }
}

public_json! {
    /// One call chain of an endpoint.
    Chain<'a>(report: &'a EndpointsReport, chain: &CallChain) {
        /// Endpoints as `[service, operation]`, from the root to the endpoint itself.
        path: Vec<(&'a str, &'a str)> = chain.path.iter().map(|&endpoint| report.name(endpoint)).collect(),
        /// Time that the endpoint spends in this chain, summed over the requests.
        exclusive_us: u128 = chain.exclusive_us,
        /// Requests that have it.
        traces: u64 = chain.requests,
    }
}

public_json! {
    /// The keys of `summary`, and columns: endpoints against requests.
    Heatmap<'a>(report: &'a HeatmapReport, time: RowTime, stat: RowStat) {
        #[serde(flatten)]
        rows: EndpointRows<'a> = EndpointRows::of(&report.rows, time, stat),
        /// Order of the columns, least first; equal ones by latency, trace id, root span id.
        order: Order<'a> = Order::of(&report.order),
        /// Requests; if there are more than `--columns`, runs of equally many requests.
        columns: Vec<Column<'a>> = (0..report.column_requests.len()).map(|at| Column::of(report, at)).collect(),
    }
}

/// Order of the columns.
#[derive(serde::Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) enum Order<'a> {
    /// Latency of the request.
    Latency,
    /// Start of the request.
    Start,
    /// Exclusive time of one endpoint.
    Row {
        /// Service name.
        service: &'a str,
        /// Operation name.
        operation: &'a str,
    },
}

impl Order<'_> {
    fn of(order: &ColumnOrder) -> Order<'_> {
        match order {
            ColumnOrder::Latency => Order::Latency,
            ColumnOrder::Start => Order::Start,
            ColumnOrder::Row(Endpoint { service, operation }) => Order::Row { service, operation },
        }
    }
}

public_json! {
    /// One column of the heat map.
    Column<'a>(report: &'a HeatmapReport, at: usize) {
        /// Number of requests.
        requests: u32 = report.column_requests[at],
        #[serde(flatten)]
        slowest: &'a RequestRef = &report.column_example[at],
        /// Sum of the latencies of its requests.
        latency_sum_us: u128 = report.column_latency_us[at],
        /// Earliest start among them, microseconds since the epoch.
        start_us: u64 = report.column_start_us[at],
        /// `[row id, exclusive_us, share]`: time on the critical path, summed over the requests of the column; share of the
        /// request's latency (0 to 1), mean over them. Rows without time on these critical paths have no cell.
        cells: Vec<(u32, u128, f64)> = report
            .cells(at)
            .map(|cell| {
                (report.cell_row[cell], report.cell_us[cell], f64::from(report.cell_share_ppm[cell]) / 1e6)
            })
            .collect(),
    }
}

/// Returns the JSON of `summary`; `at` are the reports of [`AtLatencies`].
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn summary(report: &EndpointsReport, at: &[EndpointsReport]) -> Text {
    pretty(&Summary::of(report, at))
}

/// Returns the JSON of `heatmap`; `time` and `stat` say how rows are ordered.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn heatmap(report: &HeatmapReport, time: RowTime, stat: RowStat) -> Text {
    compact(&Heatmap::of(report, time, stat))
}
