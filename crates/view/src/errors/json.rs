//! Errors as JSON: where they start and stop.

use crate::json::parts::{Text, percent, pretty, public_json};
use pathlight_base::statistics::Percentiles;
use pathlight_engine::errors::{ErrorMessage, ErrorNode, ErrorRow, ErrorsReport};
use pathlight_engine::requests::RequestRef;

public_json! {
    /// Start and stop of errors, and the requests as they would be without them. A span in error is *own* if no child
    /// is in error, else *propagated*; a span that is not in error, but has a child in error, has *stopped* it. Without
    /// spans in error: each takes no time, with all below it; what happened after it moves earlier, every call keeping
    /// its gap to the latest of those it waited for.
    ///
    /// `--format folded` prints the error paths as folded stacks weighed by `error_us` instead.
    Errors<'a>(report: &'a ErrorsReport) {
        // Of sampled traces those that they stand for, as all numbers here.
        /// Number of requests in the percentile range.
        requests: u64 = report.requests(),
        /// The percentile range as `[from, to]`, in percent.
        band: [f64; 2] = percent(report.range),
        /// Requests with a span in error.
        requests_with_errors: u64 = report.totals.requests,
        /// Requests with one on their critical path.
        requests_with_errors_on_path: u64 = report.totals.path_requests,
        /// Requests whose root is in error.
        failed_requests: u64 = report.totals.failed_requests,
        /// Spans.
        spans: u64 = report.totals.spans,
        /// Spans in error without a child in error: errors start here.
        own: u64 = report.totals.own,
        /// Spans in error with a child in error: errors are passed on.
        propagated: u64 = report.totals.propagated,
        /// Spans that are not in error, but have a child that is.
        stopped: u64 = report.totals.stopped,
        /// Sum of the durations of all spans that are waited for.
        work_us: u128 = report.totals.work_us,
        /// The part of it in spans in error.
        work_saved_us: u128 = report.totals.work_saved_us,
        /// Sum of the latencies.
        latency_sum_us: u128 = report.facts.latency_sum_us,
        /// Time on critical paths in spans in error and all below them.
        inside_us: u128 = report.totals.inside_us,
        /// Reduction of all latencies without the spans in error.
        latency_saved_us: u128 = report.totals.saved_us,
        /// The part of it that is the whole latency of failed requests.
        failed_us: u128 = report.totals.failed_us,
        /// Latency of the requests.
        latency_us: Percentiles = report.facts.latency_us,
        /// The latency that remains without the spans in error.
        latency_without_us: Percentiles = report.without_us,
        /// Most own errors first, then most propagated, most stopped (ties by name).
        endpoints: Vec<Row<'a>> = report.rows.iter().map(|row| Row::of(report, row)).collect(),
        /// The most frequent messages of errors that start, at most 20, most first; of a summary none.
        messages: Vec<Message<'a>> = report.messages.most.iter().map(Message::of).collect(),
        /// Number of different messages.
        messages_in_all: u64 = report.messages.in_all,
        /// Errors that start without a message, or with one of a tag that has too many values to be kept.
        own_without_message: u64 = report.messages.without,
        /// Requests with errors of more than 64 endpoints on the critical path. 0 of a summary, which does not count them.
        untried_requests: u64 = report.untried.requests,
        /// The calling contexts of critical paths that lead to spans in error, in pre-order.
        nodes: Vec<Node<'a>> =
            report.nodes.iter().enumerate().map(|(id, node)| Node::of(report, id, node)).collect(),
    }
}

public_json! {
    /// One message of errors that start at one endpoint.
    Message<'a>(counted: &'a (ErrorMessage, u64)) {
        /// Service name.
        service: &'a str = &counted.0.endpoint.service,
        /// Operation name.
        operation: &'a str = &counted.0.endpoint.operation,
        /// Tag that has it.
        tag: &'a str = &counted.0.tag,
        /// What it says.
        text: &'a str = &counted.0.text,
        /// Errors that have it.
        errors: u64 = counted.1,
    }
}

public_json! {
    /// One endpoint.
    Row<'a>(report: &'a ErrorsReport, row: &'a ErrorRow) {
        /// Service name.
        service: &'a str = report.name(row.endpoint).0,
        /// Operation name.
        operation: &'a str = report.name(row.endpoint).1,
        /// Number of spans.
        spans: u64 = row.spans,
        /// Errors that start in it.
        own: u64 = row.own,
        /// Errors that it propagates.
        propagated: u64 = row.propagated,
        /// Errors that it stops.
        stopped: u64 = row.stopped,
        /// Requests in which it is in error.
        requests: u64 = row.requests,
        /// Spans on critical paths.
        path_spans: u64 = row.path_spans,
        /// Spans in error among them.
        path_errors: u64 = row.path_errors,
        /// Their share, 0 to 1; `null` without spans on critical paths.
        path_error_share: Option<f64> = row.path_share(),
        /// Exclusive time on critical paths.
        path_us: u128 = row.path_us,
        /// The part of it in spans in error.
        path_error_us: u128 = row.path_error_us,
        /// Exclusive time on the critical paths that remain without any span in error.
        path_without_us: u128 = row.without_path_us,
        /// Reduction of all latencies without its spans in error alone; in each request for the 64
        /// endpoints whose errors take the most time on the critical path.
        latency_saved_us: u128 = row.saved_us,
        /// Requests in which it was not tried, as it is none of the 64: it would save at least `latency_saved_us`.
        untried_requests: u64 = untried(report, row),
        /// The slowest request in which an error starts here.
        example: Option<&'a RequestRef> = row.example.as_ref(),
    }
}

public_json! {
    /// One calling context.
    Node<'a>(report: &'a ErrorsReport, id: usize, node: &ErrorNode) {
        /// Number of the node.
        id: usize = id,
        /// Number of its parent; `null` for a root.
        parent: Option<u32> = node.parent.map(|at| at.0),
        /// Service name.
        service: &'a str = report.name(node.endpoint).0,
        /// Operation name.
        operation: &'a str = report.name(node.endpoint).1,
        /// Its spans on critical paths with an own error.
        own: u64 = node.own,
        /// Spans that propagate an error.
        propagated: u64 = node.propagated,
        /// Spans that stop an error.
        stopped: u64 = node.stopped,
        /// Requests in which a span in error is here or below.
        requests: u64 = node.requests,
        /// Exclusive time on critical paths of its spans in error.
        error_us: u128 = node.error_us,
        /// The same of it and all below.
        subtree_us: u128 = node.subtree_us,
        /// Spans in error of it and all below.
        subtree_errors: u64 = node.subtree_errors,
    }
}

fn untried(report: &ErrorsReport, row: &ErrorRow) -> u64 {
    let name = report.name(row.endpoint);
    let found = report.untried.endpoints.binary_search_by(|(known, _)| known.names().cmp(&name));
    found.map_or(0, |at| report.untried.endpoints[at].1)
}

/// Returns the JSON of `errors`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn errors(report: &ErrorsReport) -> Text {
    pretty(&Errors::of(report))
}
