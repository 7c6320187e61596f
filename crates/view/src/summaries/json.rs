//! `pathlight show --json`: what a summary says.

use crate::errors::json::Errors;
use crate::json::parts::{Text, percent, pretty, public_json};
use crate::summaries::{Node, Selected, SummedEndpointRow};
use pathlight_base::statistics::Percentiles;
use pathlight_engine::requests::RequestRef;
use pathlight_engine::summaries::{RootPart, Sketch, Summary};
use pathlight_engine::verdict::{CallSums, ServiceSums};
use pathlight_trace::Endpoint;

public_json! {
    /// Content of a summary, or of several as one, about the requests of one root endpoint or of all.
    Show<'a>(summary: &'a Summary, selected: &'a Selected<'a>) {
        /// Traces in the summary.
        traces: u64 = summary.traces,
        /// Spans of these traces.
        spans: u64 = summary.spans,
        /// Starts of the first and the last request, microseconds since the epoch; `null` without requests.
        start_us: Option<(u64, u64)> = summary.start_us,
        /// The root endpoint asked for; `null` for all.
        root: Option<&'a Endpoint> = selected.root,
        #[serde(flatten)]
        requests: Root = Root::of(&selected.part),
        /// All root endpoints of the summary, by name.
        roots: Vec<NamedRoot<'a>> =
            summary.roots.iter().map(|(endpoint, part)| NamedRoot::of(endpoint, part)).collect(),
        /// Root endpoints, by name, that are summed together: `roots` has them under "(other root endpoints)" of their
        /// service. Empty up to 1,000 root endpoints.
        lesser: Vec<NamedRoot<'a>> =
            summary.lesser.iter().map(|(endpoint, of)| NamedRoot::of(endpoint, &of.part)).collect(),
        /// Endpoints on critical paths, the one with the most self time first; `null` if the summary lacks them: it was
        /// written before Pathlight summed them, or by a newer one.
        endpoints: Option<Vec<EndpointTimes<'a>>> =
            selected.endpoint_rows().map(|rows| rows.iter().map(EndpointTimes::of).collect()),
        /// Services that are visited, by name; likewise.
        services: Option<Vec<ServiceSums<'a>>> = selected.services.as_ref().map(|part| part.services().collect()),
        /// Calls between services, by caller and what answers; likewise.
        calls: Option<Vec<CallSums<'a>>> = selected.services.as_ref().map(|part| part.calls().collect()),
        /// Errors in the requests of any latency, as `errors --json` has them; `null` if the summary lacks them.
        errors: Option<Errors<'a>> = selected.errors.as_ref().map(Errors::of),
        /// The percentile range that `nodes` is of, as `[from, to]` in percent: the nearest to the one asked for that ends
        /// where latency bins end.
        band: [f64; 2] = percent(Some(selected.cut.range())),
        /// Requests in that range. `band` is an older word for it, which the key keeps for its readers.
        band_requests: u64 = selected.requests,
        /// Calling contexts on critical paths, in pre-order, siblings by (service, operation); `null` if the summary lacks
        /// them.
        nodes: Option<Vec<ContextOf<'a>>> = selected
            .nodes
            .as_ref()
            .map(|nodes| nodes.iter().enumerate().map(|(id, node)| ContextOf::of(id, node)).collect()),
    }
}

public_json! {
    /// The requests of one root endpoint, or of all.
    Root(part: &RootPart) {
        /// Number of requests.
        requests: u64 = part.requests(),
        /// Requests in which some span is an error.
        failed: u64 = part.failed,
        /// Latencies of these requests.
        latency_us: Percentiles = part.percentiles(),
        /// Sum of their latencies.
        latency_sum_us: u128 = part.latency_us.sum,
        /// Greatest error of the percentiles, as a share of themselves; 0 if they are exact, up to 10,000 requests.
        percentile_error: f64 = part.latency.error(),
    }
}

public_json! {
    /// One root endpoint.
    NamedRoot<'a>(endpoint: &'a Endpoint, part: &RootPart) {
        /// Service name.
        service: &'a str = &endpoint.service,
        /// Operation name.
        operation: &'a str = &endpoint.operation,
        #[serde(flatten)]
        root: Root = Root::of(part),
    }
}

public_json! {
    /// Times of some requests.
    Times(sketch: &Sketch, sum_us: u128) {
        /// Sum in microseconds.
        sum: u128 = sum_us,
        /// Median.
        p50: f64 = sketch.quantiles([0.50])[0],
        /// 95th percentile.
        p95: f64 = sketch.quantiles([0.95])[0],
        /// 99th percentile.
        p99: f64 = sketch.quantiles([0.99])[0],
        /// Greatest error of the percentiles, as a share of themselves; 0 if they are exact.
        percentile_error: f64 = sketch.error(),
    }
}

public_json! {
    /// An endpoint on the critical paths of requests.
    EndpointTimes<'a>(row: &SummedEndpointRow<'a>) {
        /// Service name.
        service: &'a str = &row.endpoint.service,
        /// Operation name.
        operation: &'a str = &row.endpoint.operation,
        /// Requests that have it on their critical path.
        requests: u64 = row.part.self_time.n(),
        /// Spans on critical paths.
        spans: u64 = row.part.spans,
        /// Errors among them.
        errors: u64 = row.part.errors,
        /// Its self time, of each request that has it on its critical path.
        self_us: Times = Times::of(&row.part.self_time, row.part.self_us.sum),
        /// Its part of the latency of all requests, 0 to 1.
        share: f64 = row.share,
    }
}

public_json! {
    /// A calling context.
    ContextOf<'a>(id: usize, node: &Node<'a>) {
        /// Number of the node.
        id: usize = id,
        /// Number of its parent; `null` for a root.
        parent: Option<usize> = node.parent,
        /// Service name.
        service: &'a str = &node.endpoint.service,
        /// Operation name.
        operation: &'a str = &node.endpoint.operation,
        /// Requests of `band` that have it.
        requests: u64 = node.requests,
        /// Sum of its self time on their critical paths, microseconds.
        exclusive_sum_us: u128 = node.self_us,
        /// The same with all below it: its width in a flame graph.
        subtree_us: u128 = node.total_us,
        /// Self time, of each request of any latency that has it.
        exclusive_us: Times = Times::of(&node.part.exclusive, node.exclusive_all_us),
        /// Its spans in requests of any latency.
        spans: u64 = node.part.spans,
        /// Errors among them.
        errors: u64 = node.part.errors,
        /// The request in which it and all below it took longest (ties: smaller ids).
        exemplar: Option<&'a RequestRef> = node.exemplar,
    }
}

/// Returns the JSON of `show`.
///
/// # Errors
/// Only if serde_json refuses a value, which no summary holds.
pub fn show(summary: &Summary, selected: &Selected) -> Text {
    pretty(&Show::of(summary, selected))
}
