//! The reports of critical-path analysis: plain serde data.

use crate::ids::{NodeId, ReportEndpoint};
use crate::requests::{PercentileRange, RangeFacts, RequestRef};
use crate::verdict::TimedSubject;
use pathlight_base::statistics::{
    Percentiles, Weight as RequestWeight, Weights, percentile, weighted_sum_us,
};
use pathlight_trace::{Endpoint, Interner, RequestWork, SpanId, TraceSet};
use serde::{Deserialize, Serialize};

/// A request picked as an example. A report may have a million of them, so it holds no texts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exemplar {
    /// Index into [`CriticalPathReport::examples`].
    pub request: u32,
    /// The span of the node with the greatest exclusive time.
    pub span: SpanName,
    /// Exclusive time of the node in this request in microseconds.
    pub exclusive_us: u64,
}

/// A span's id, valid without the set of its trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SpanName {
    /// A hexadecimal one; 0 is absent.
    Number(u64),
    /// Any other.
    Text(String),
}

impl Default for SpanName {
    fn default() -> SpanName {
        SpanName::Number(0)
    }
}

impl SpanName {
    /// Returns the name of an id of a set.
    pub fn of(id: SpanId, set: &TraceSet) -> SpanName {
        if id.text { SpanName::Text(id.to_text(&set.id_texts)) } else { SpanName::Number(id.bits) }
    }

    /// Returns the canonical id; empty if absent.
    pub fn to_text(&self) -> String {
        match self {
            SpanName::Number(bits) => SpanId::hex(*bits).to_text(&Interner::default()),
            SpanName::Text(text) => text.clone(),
        }
    }
}

/// The greatest, the lower median and the closest to the mean, in this order; fewer if they coincide.
pub type Exemplars = Vec<Exemplar>;

/// Sums and percentiles of one weight of a calling context. The mean is over all requests of the percentile range
/// (absent = 0), the percentiles over the requests that contain the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Weight {
    /// Sum in microseconds.
    pub sum: u128,
    /// Mean per request of the percentile range.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

impl Weight {
    /// Summarises the sorted values of the requests that contain something, out of `requests` in the percentile range.
    pub fn of_sorted(sorted: &[u64], requests: u64) -> Weight {
        let sum = sorted.iter().map(|&us| u128::from(us)).sum::<u128>();
        Weight {
            sum,
            mean: if requests == 0 { 0.0 } else { sum as f64 / requests as f64 },
            p50: percentile(sorted, 0.50),
            p95: percentile(sorted, 0.95),
            p99: percentile(sorted, 0.99),
        }
    }
}

impl Weight {
    /// Summarises the sorted values of the requests that contain something, by weight; `whole` are the weights of all requests
    /// in the percentile range.
    pub fn of_weighted(sorted: &[(u64, RequestWeight)], whole: &Weights) -> Weight {
        let Percentiles { p50, p95, p99, .. } = Percentiles::of_weighted(sorted);
        let (units, one) = (weighted_sum_us(sorted), u128::from(RequestWeight::UNITS));
        let mean = match whole.are_equal() {
            true => {
                let sum: u128 = sorted.iter().map(|&(us, _)| u128::from(us)).sum();
                sum as f64 / whole.seen.max(1) as f64
            }
            false => units as f64 / whole.units as f64,
        };
        Weight { sum: units.saturating_add(one / 2) / one, mean, p50, p95, p99 }
    }
}

/// Time that calls take on the critical path before their callee starts and after it ends: network or queue. It is part
/// of their exclusive time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waiting {
    /// The service of the callees.
    pub callee: String,
    /// Sum in microseconds.
    pub us: u128,
    /// Requests that wait for it.
    pub requests: u64,
    /// Whether spans say their kind: else the caller's own work may be in it.
    pub is_certain: bool,
}

/// One node of the aggregate critical calling context tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextNode {
    /// Index of the parent node; `None` for a root. Parents come first, siblings by (service, operation).
    pub parent: Option<NodeId>,
    /// Index into [`CriticalPathReport::endpoints`].
    pub endpoint: ReportEndpoint,
    /// Time on the critical path in spans of this context itself.
    pub exclusive_us: Weight,
    /// Sanitised duration of its spans.
    pub inclusive_us: Weight,
    /// Exclusive sum of the node and all below it: its width in a flame graph.
    pub subtree_us: u128,
    /// Requests that contain it.
    pub requests: u64,
    /// Spans.
    pub spans: u64,
    /// Error spans among them.
    pub errors: u64,
    /// Waiting within its exclusive time, by service.
    pub waiting: Vec<Waiting>,
    /// Examples.
    pub exemplars: Exemplars,
}

/// The aggregate critical calling context tree of a percentile range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CriticalPathReport {
    /// The percentile range of the report.
    pub range: Option<PercentileRange>,
    /// Requests and latencies of the range.
    pub facts: RangeFacts,
    /// Endpoints as (service, operation), sorted.
    pub endpoints: Vec<Endpoint>,
    /// Nodes in pre-order.
    pub nodes: Vec<ContextNode>,
    /// The requests that are examples of nodes.
    pub examples: Vec<RequestRef>,
}

impl CriticalPathReport {
    /// Returns service and operation of an endpoint.
    pub fn name(&self, endpoint: ReportEndpoint) -> (&str, &str) {
        self.endpoints.get(endpoint.index()).map_or(("", ""), Endpoint::names)
    }

    /// Returns the requests that are examples of a node, each with what it is an example of.
    pub fn examples_of<'a>(
        &'a self,
        node: &'a ContextNode,
    ) -> impl Iterator<Item = (&'a RequestRef, &'a Exemplar)> {
        let request =
            |exemplar: &'a Exemplar| Some((self.examples.get(exemplar.request as usize)?, exemplar));
        node.exemplars.iter().filter_map(request)
    }
}

/// One request in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestRow {
    /// Canonical trace id.
    pub trace_id: String,
    /// Canonical id of the request's root span.
    pub root_span_id: String,
    /// Service of the root span.
    pub service: String,
    /// Operation of the root span.
    pub operation: String,
    /// Start, microseconds since the epoch.
    pub start_us: u64,
    /// Latency in microseconds.
    pub latency_us: u64,
    /// Spans of the request's subtree, dropped ones not counted.
    pub spans: u32,
    /// Error spans among them.
    pub errors: u32,
    /// Spans on the critical path.
    pub path_spans: u32,
    /// Whether its caller is not recorded.
    pub is_incomplete: bool,
}

/// The slowest requests of a percentile range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestsReport {
    /// Requests and latencies of the percentile range.
    pub facts: RangeFacts,
    /// Rows, slowest first (ties: smaller trace id, then root span id).
    pub rows: Vec<RequestRow>,
}

/// One trace in columns; index i is the same span everywhere, in pre-order (trace root first, children by start).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceReport {
    /// Canonical trace id.
    pub trace_id: String,
    /// Index of the request's root span.
    pub request_root: u32,
    /// Earliest start, microseconds since the epoch; the other times are relative to it.
    pub start_us: u64,
    /// Latest end, relative.
    pub end_us: u64,
    /// The work of the request.
    pub work: RequestWork,
    /// Endpoints as (service, operation).
    pub endpoints: Vec<Endpoint>,
    /// Parent index, `u32::MAX` for a root.
    #[serde(with = "pathlight_base::packed")]
    pub parent: Vec<u32>,
    /// Index into `endpoints`.
    #[serde(with = "pathlight_base::packed")]
    pub endpoint: Vec<u32>,
    /// Start before sanitising, relative to `start_us`.
    #[serde(with = "pathlight_base::packed")]
    pub span_start_us: Vec<u64>,
    /// Duration before sanitising.
    #[serde(with = "pathlight_base::packed")]
    pub duration_us: Vec<u64>,
    /// Depth, roots 0.
    #[serde(with = "pathlight_base::packed")]
    pub depth: Vec<u32>,
    /// Bits: [`TraceReport::ERROR`] and the following.
    #[serde(with = "pathlight_base::packed")]
    pub bits: Vec<u8>,
    /// Segments of the critical path in order of time: span index.
    #[serde(with = "pathlight_base::packed")]
    pub segment_span: Vec<u32>,
    /// Starts of the segments, in microseconds from `start_us`.
    #[serde(with = "pathlight_base::packed")]
    pub segment_start_us: Vec<u64>,
    /// Ends of the segments, in microseconds from `start_us`.
    #[serde(with = "pathlight_base::packed")]
    pub segment_end_us: Vec<u64>,
    /// By span, how much earlier the request would end if the span and all below it took no time;
    /// [`TraceReport::NOT_WAITED`] if the request does not wait for it.
    #[serde(with = "pathlight_base::packed")]
    pub drag_us: Vec<u64>,
    /// By span, how much longer it may take before the request ends later; likewise.
    #[serde(with = "pathlight_base::packed")]
    pub slack_us: Vec<u64>,
    /// Waiting of calls on the critical path outside of spans.
    pub waiting: Vec<SpanWaiting>,
    /// The own work of a service, or waiting for one, that takes the most time on the critical path; `None` if it takes none.
    pub largest: Option<TimedSubject>,
    /// Spans whose caller stopped waiting for them, so that they are cut at its end; ascending.
    pub caller_stopped: Vec<u32>,
    /// Asynchronous spans that go on after their parent has ended, and were not recorded as asynchronous; ascending.
    pub outlives_parent: Vec<u32>,
    /// Likewise those that began long after their caller had ended.
    pub caller_gave_up: Vec<u32>,
}

/// Time that a call on the critical path takes before its callee starts and after it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanWaiting {
    /// Index of the call.
    pub span: u32,
    /// The service of its callee.
    pub callee: String,
    /// Microseconds.
    pub us: u64,
    /// Whether spans say their kind: else the caller's own work may be in it.
    pub is_certain: bool,
    /// The parts of it before the callee starts and after it ends; `None` unless both are on one host, since with two
    /// clocks only the sum is known.
    pub halves_us: Option<(u64, u64)>,
}

impl TraceReport {
    /// No drag and no slack: asynchronous, left out, or not below the request's root.
    pub const NOT_WAITED: u64 = u64::MAX;
    /// The span is an error.
    pub const ERROR: u8 = 1;
    /// The span is on the critical path of the request.
    pub const ON_PATH: u8 = 2;
    /// The parent does not wait for it.
    pub const ASYNC: u8 = 4;
    /// Left out: wholly outside its parent.
    pub const DROPPED: u8 = 8;
    /// Clipped to its parent.
    pub const CLIPPED: u8 = 16;
    /// An orphan root.
    pub const ORPHAN: u8 = 32;
    /// A second span for the work of the calls beside it.
    pub const OVERLAY: u8 = 64;
    /// Its clock was set: it stands where it is taken to have been.
    pub const MOVED: u8 = 128;

    /// Returns room for it as bytes: a little more than its columns and names take.
    pub fn room(&self) -> usize {
        let short = [&self.parent, &self.endpoint, &self.depth, &self.segment_span];
        let long = [
            &self.span_start_us,
            &self.duration_us,
            &self.segment_start_us,
            &self.segment_end_us,
            &self.drag_us,
            &self.slack_us,
        ];
        let short = short.map(Vec::len).into_iter().sum::<usize>();
        let long = long.map(Vec::len).into_iter().sum::<usize>();
        let names =
            self.endpoints.iter().map(|endpoint| endpoint.service.len() + endpoint.operation.len() + 20);
        // The lists at the end hold few of the spans, if any.
        let columns =
            self.bits.len() + size_of::<u32>() * short + size_of::<u64>() * long + names.sum::<usize>();
        columns + columns / 16 + (1 << 10)
    }

    /// Returns whether the caller of a span stopped waiting for it. Such a span is cut, and no clock is to blame.
    pub fn is_caller_stopped(&self, span: u32) -> bool {
        self.caller_stopped.binary_search(&span).is_ok()
    }

    /// Returns whether an asynchronous span is so because it goes on after its parent has ended.
    pub fn is_outlives_parent(&self, span: u32) -> bool {
        self.outlives_parent.binary_search(&span).is_ok()
    }

    /// Returns whether an asynchronous span is so because it began long after its caller had ended.
    pub fn is_caller_gave_up(&self, span: u32) -> bool {
        self.caller_gave_up.binary_search(&span).is_ok()
    }
}

/// One segment of a request's critical path, on the moved clock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathSegment {
    /// Canonical span id; of a queue, that of the span that sent the message.
    pub span_id: String,
    /// Canonical id of its trace, if that is not the trace of the request.
    pub trace_id: Option<String>,
    /// The place of the queue, if a message waits to be received.
    pub queue: Option<Endpoint>,
    /// Start, microseconds since the epoch.
    pub start_us: u64,
    /// End, microseconds since the epoch.
    pub end_us: u64,
}

/// One node of the critical calling context tree of one request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestNode {
    /// Its number; node 0 is the root.
    pub id: u32,
    /// Number of the parent, which comes first; `None` for the root.
    pub parent: Option<u32>,
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Exclusive time on the path in microseconds.
    pub exclusive_us: u64,
    /// Sanitised duration of its spans in microseconds.
    pub inclusive_us: u64,
    /// Spans on the critical path.
    pub spans: u32,
}

impl RequestNode {
    /// Returns its endpoint.
    pub fn endpoint(&self) -> Endpoint {
        Endpoint::new(self.service.as_str(), self.operation.as_str())
    }
}

/// The critical path of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestPath {
    /// Canonical trace id.
    pub trace_id: String,
    /// Canonical id of the request's root span.
    pub root_span_id: String,
    /// Latency in microseconds: the sum of the segments.
    pub latency_us: u64,
    /// Its work until its answer.
    pub work: RequestWork,
    /// Segments in order of time on the moved clock; they partition the latency.
    pub segments: Vec<PathSegment>,
    /// Calling contexts, in pre-order, siblings by (service, operation).
    pub nodes: Vec<RequestNode>,
}
