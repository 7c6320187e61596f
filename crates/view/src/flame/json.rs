//! Critical paths: of all requests together, and of each one.

use crate::json::parts::{Requests, Text, WaitingFor, compact, pretty, public_json};
use pathlight_engine::flame::{
    ContextNode, CriticalPathReport, Exemplar, PathSegment, RequestNode, RequestPath, Weight,
};
use pathlight_engine::queries::PerRequestReport;
use pathlight_engine::requests::RequestRef;
use pathlight_trace::Endpoint;

public_json! {
    /// The aggregate critical calling context tree of the requests.
    ///
    /// With `--format folded` instead: one line per node with self time, `[service] operation;[service] operation us`, as
    /// flame graph tools read it.
    CriticalPath<'a>(report: &'a CriticalPathReport) {
        #[serde(flatten)]
        requests: Requests = Requests::of(&report.facts, report.range),
        /// The tree in pre-order, siblings by (service, operation).
        nodes: Vec<Node<'a>> =
            report.nodes.iter().enumerate().map(|(id, node)| Node::of(report, id, node)).collect(),
    }
}

public_json! {
    /// One calling context.
    Node<'a>(report: &'a CriticalPathReport, id: usize, node: &'a ContextNode) {
        /// Number of the node.
        id: usize = id,
        /// Number of its parent; `null` for a root.
        parent: Option<u32> = node.parent.map(|at| at.0),
        /// Service name.
        service: &'a str = report.name(node.endpoint).0,
        /// Operation name.
        operation: &'a str = report.name(node.endpoint).1,
        /// Time on the critical path in the node's own spans.
        exclusive_us: Weight = node.exclusive_us,
        /// Sanitised duration of its spans.
        inclusive_us: Weight = node.inclusive_us,
        /// Sum of `exclusive_us.sum` of the node and all nodes below it: its width in the flame graph. Those of the roots add
        /// up to `latency_sum_us`.
        subtree_us: u128 = node.subtree_us,
        /// Requests that have the node.
        traces: u64 = node.requests,
        /// Its spans on the critical path.
        spans: u64 = node.spans,
        /// Spans in error among them.
        errors: u64 = node.errors,
        /// Waiting for services: part of `exclusive_us` that calls take before their callee starts and after it ends,
        /// by service.
        waiting: Vec<WaitingFor<'a>> = node.waiting.iter().map(WaitingFor::of).collect(),
        /// The requests with the greatest, the lower median, and the closest to the mean exclusive time in this node (ties:
        /// smaller ids); fewer where they coincide.
        exemplars: Vec<NodeExample<'a>> =
            report.examples_of(node).map(|(request, exemplar)| NodeExample::of(request, exemplar)).collect(),
    }
}

public_json! {
    /// A request picked as an example.
    NodeExample<'a>(request: &'a RequestRef, exemplar: &Exemplar) {
        /// Canonical trace id.
        trace_id: &'a str = &request.trace_id,
        /// Canonical id of the request's root span.
        root_span_id: &'a str = &request.root_span_id,
        /// Canonical id of the span of the node with the greatest exclusive time.
        span_id: String = exemplar.span.to_text(),
        /// Latency of the request in microseconds.
        latency_us: u64 = request.latency_us,
        /// Exclusive time of the node in this request in microseconds.
        exclusive_us: u64 = exemplar.exclusive_us,
    }
}

public_json! {
    /// The critical path of every request.
    PerRequest<'a>(report: &'a PerRequestReport) {
        /// By (trace id, root span id).
        requests: Vec<OneRequest<'a>> = report.requests.iter().map(OneRequest::of).collect(),
    }
}

public_json! {
    /// The critical path of one request.
    OneRequest<'a>(path: &'a RequestPath) {
        /// Canonical trace id.
        trace_id: &'a str = &path.trace_id,
        /// Canonical id of the request's root span.
        root_span_id: &'a str = &path.root_span_id,
        /// Latency in microseconds: the sum of the segments.
        latency_us: u64 = path.latency_us,
        /// Work in microseconds: the self times of the root and of all spans that it waits for.
        work_us: u64 = path.work.work_us,
        /// Work by the duration of the root span: how many spans work at once on average, at least 1.
        parallelism: f64 = path.work.parallelism(),
        /// Segments in order of time on the moved clock; they partition the root span, or with `--until done` all until
        /// everything is done.
        segments: Vec<OneSegment<'a>> = path.segments.iter().map(OneSegment::of).collect(),
        /// Calling contexts, in pre-order, siblings by (service, operation).
        nodes: &'a [RequestNode] = &path.nodes,
    }
}

public_json! {
    /// One segment of a request's critical path, on the moved clock.
    OneSegment<'a>(segment: &'a PathSegment) {
        /// Canonical span id; of a queue, that of the span that sent the message.
        span_id: &'a str = &segment.span_id,
        /// Canonical id of its trace; missing if that is the trace of the request.
        #[serde(skip_serializing_if = "Option::is_none")]
        trace_id: Option<&'a str> = segment.trace_id.as_deref(),
        /// The queue in which a message waits, as service and operation; missing if a span works.
        #[serde(skip_serializing_if = "Option::is_none")]
        queue: Option<&'a Endpoint> = segment.queue.as_ref(),
        /// Start, microseconds since the epoch.
        start_us: u64 = segment.start_us,
        /// End, microseconds since the epoch.
        end_us: u64 = segment.end_us,
    }
}

/// Returns the JSON of `critical-path`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn critical_path(report: &CriticalPathReport) -> Text {
    pretty(&CriticalPath::of(report))
}

/// Returns the JSON of `critical-path --per-trace`.
///
/// # Errors
/// Only if serde_json refuses a string, which it does not.
pub fn per_request(report: &PerRequestReport) -> Text {
    compact(&PerRequest::of(report))
}
