//! The messages: what can be asked, and the reports that answer it. All of it is plain serde data.

use crate::trace::Quality;
use serde::{Deserialize, Serialize};

/// Whose latency is looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Subject {
    /// The trace root of every trace.
    #[default]
    TraceRoots,
    /// Every topmost span of one endpoint.
    Endpoint {
        /// Service name.
        service: String,
        /// Operation name.
        operation: String,
    },
}

/// One condition on requests; several must all hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Filter {
    /// Some span of the request, or its process, has this tag.
    Tag {
        /// Tag key.
        key: String,
        /// Tag value.
        value: String,
    },
    /// The request starts in `[from_us, to_us)`, microseconds since the epoch.
    Time {
        /// First microsecond.
        from_us: u64,
        /// One past the last microsecond.
        to_us: u64,
    },
    /// Some span of the request is an error.
    HasError,
    /// Some span of the request is of this endpoint.
    Contains {
        /// Service name.
        service: String,
        /// Operation name.
        operation: String,
    },
}

/// How much two siblings may overlap and still count as one after the other (section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Overlap {
    /// At most this many microseconds; `u64::MAX` is no limit.
    pub overlap_us: u64,
    /// At most this share of the parent's duration, in millionths; `u64::MAX` is no limit.
    pub share_ppm: u64,
}

impl Default for Overlap {
    fn default() -> Self {
        Overlap { overlap_us: 1000, share_ppm: 10_000 }
    }
}

impl Overlap {
    /// The preset of this name: `default`, `paper`, `upstream` or `strict`.
    pub fn preset(name: &str) -> Option<Overlap> {
        Some(match name {
            "default" => Overlap::default(),
            "paper" => Overlap { overlap_us: 1000, share_ppm: u64::MAX },
            "upstream" => Overlap { overlap_us: u64::MAX, share_ppm: 10_000 },
            "strict" => Overlap { overlap_us: 0, share_ppm: 0 },
            _ => return None,
        })
    }
}

/// The requests an analysis is about, before any band is cut.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Scope {
    /// Whose latency.
    pub subject: Subject,
    /// Conditions that must all hold.
    pub filters: Vec<Filter>,
    /// Path settings.
    pub overlap: Overlap,
}

/// A range of latency percentiles in thousandths of a percent: `[lo, hi)`, or `[lo, hi]` if `closed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Band {
    /// Lower end, 0 to 100,000.
    pub lo: u32,
    /// Upper end, 0 to 100,000.
    pub hi: u32,
    /// Whether a request exactly at `hi` belongs to the band: the cumulative reading.
    pub closed: bool,
}

impl Band {
    /// Every request.
    pub const ALL: Band = Band { lo: 0, hi: 100_000, closed: true };

    /// Whether this is every request.
    pub fn is_all(&self) -> bool {
        self.lo == 0 && self.hi >= 100_000
    }
}

/// A question to the engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Request {
    /// What is loaded; answered by [`Report::Overview`].
    Overview,
    /// The aggregate calling contexts of a band; answered by [`Report::CriticalPath`].
    CriticalPath {
        /// Which requests.
        scope: Scope,
        /// Which of them, by latency.
        band: Band,
    },
    /// A page of the requests of a band, slowest first; answered by [`Report::Requests`].
    Requests {
        /// Which requests.
        scope: Scope,
        /// Which of them, by latency.
        band: Band,
        /// At most this many.
        limit: u32,
    },
    /// One trace with its critical path; answered by [`Report::Trace`].
    Trace {
        /// Canonical trace id.
        trace_id: String,
        /// Canonical id of the request's root span; `None`: the trace root.
        root_span_id: Option<String>,
        /// Path settings.
        overlap: Overlap,
    },
    /// Tags and times of one span; answered by [`Report::Span`].
    Span {
        /// Canonical trace id.
        trace_id: String,
        /// Index of the span within the trace as in [`TraceReport`].
        index: u32,
    },
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Report {
    /// See [`Request::Overview`].
    Overview(OverviewReport),
    /// See [`Request::CriticalPath`].
    CriticalPath(CriticalPathReport),
    /// See [`Request::Requests`].
    Requests(RequestsReport),
    /// See [`Request::Trace`]; `None` if no such trace is loaded.
    Trace(Option<TraceReport>),
    /// See [`Request::Span`]; `None` if no such span is loaded.
    Span(Option<SpanReport>),
}

/// Mean and percentiles of some microseconds (linear interpolation at (n - 1) p); all 0 if there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Greatest.
    pub max: u64,
}

/// Counts of values in bins of equal width on a logarithmic axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogHistogram {
    /// Lower edges of the bins in microseconds and the upper edge of the last one; empty without values.
    pub edges_us: Vec<u64>,
    /// Count per bin; one less than edges.
    pub counts: Vec<u64>,
}

/// A request type: trace roots of one endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestType {
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Number of requests.
    pub requests: u64,
    /// Requests whose root span is an error.
    pub errors: u64,
    /// Their latency in microseconds.
    pub latency_us: Summary,
    /// A small histogram of their latency, for a spark line.
    pub spark: LogHistogram,
}

/// An endpoint with its spans, for search.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointCount {
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Number of spans.
    pub spans: u64,
}

/// A tag key, for filters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagKey {
    /// The key.
    pub key: String,
    /// Distinct values, sorted; empty if there are too many.
    pub values: Vec<String>,
    /// Whether there are too many to list or split by.
    pub high_cardinality: bool,
}

/// What is loaded.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverviewReport {
    /// Number of traces.
    pub traces: u64,
    /// Number of spans.
    pub spans: u64,
    /// Number of services.
    pub services: u64,
    /// Spans that are errors.
    pub error_spans: u64,
    /// Log records.
    pub logs: u64,
    /// Earliest start, microseconds since the epoch.
    pub start_us: u64,
    /// Latest end.
    pub end_us: u64,
    /// Bytes of worker heap that hold it.
    pub heap_bytes: u64,
    /// What was odd.
    pub quality: Quality,
    /// Latency of all trace roots.
    pub latency_us: Summary,
    /// Histogram of the same.
    pub histogram: LogHistogram,
    /// Request types, most total time first.
    pub request_types: Vec<RequestType>,
    /// Endpoints by (service, operation).
    pub endpoints: Vec<EndpointCount>,
    /// Tag keys by name.
    pub tag_keys: Vec<TagKey>,
}

/// The requests of a scope, and the band cut out of them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BandFacts {
    /// Requests in the scope.
    pub scope_requests: u64,
    /// Requests in the band.
    pub requests: u64,
    /// Latency of the band.
    pub latency_us: Summary,
    /// Sum of the band's latencies in microseconds.
    pub latency_sum_us: u64,
    /// Latency of the whole scope.
    pub scope_latency_us: Summary,
    /// Histogram of the whole scope.
    pub histogram: LogHistogram,
    /// Smallest and greatest latency in the band.
    pub band_us: (u64, u64),
}

/// A request picked as an example.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exemplar {
    /// Canonical trace id.
    pub trace_id: String,
    /// Canonical id of the request's root span.
    pub root_span_id: String,
    /// Canonical id of the span of the node with the greatest exclusive time.
    pub span_id: String,
    /// Latency of the request in microseconds.
    pub latency_us: u64,
    /// Exclusive time of the node in this request in microseconds.
    pub exclusive_us: u64,
}

/// The greatest, the lower median and the closest to the mean, in this order; fewer if they coincide.
pub type Exemplars = Vec<Exemplar>;

/// Sums and percentiles of one weight of a calling context. The mean is over all requests of the band (absent = 0), the
/// percentiles over the requests that contain the context.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Weight {
    /// Sum in microseconds.
    pub sum: u64,
    /// Mean per request of the band.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// One node of the aggregate critical calling context tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ContextNode {
    /// Index of the parent node; `None` for a root. Parents come first, siblings by (service, operation).
    pub parent: Option<u32>,
    /// Index into [`CriticalPathReport::endpoints`].
    pub endpoint: u32,
    /// Time on the critical path in spans of this context itself.
    pub exclusive_us: Weight,
    /// Sanitised duration of its spans.
    pub inclusive_us: Weight,
    /// Exclusive sum of the node and all below it: its width in a flame graph.
    pub subtree_us: u64,
    /// Requests that contain it.
    pub requests: u64,
    /// Spans.
    pub spans: u64,
    /// Error spans among them.
    pub errors: u64,
    /// Examples.
    pub exemplars: Exemplars,
}

/// The aggregate critical calling context tree of a band.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CriticalPathReport {
    /// Which band.
    pub band: Option<Band>,
    /// What it holds.
    pub facts: BandFacts,
    /// Endpoints as (service, operation), sorted.
    pub endpoints: Vec<(String, String)>,
    /// Nodes in pre-order.
    pub nodes: Vec<ContextNode>,
}

/// One request in a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
}

/// The slowest requests of a band.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RequestsReport {
    /// What the band holds.
    pub facts: BandFacts,
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
    /// Endpoints as (service, operation).
    pub endpoints: Vec<(String, String)>,
    /// Parent index, `u32::MAX` for a root.
    pub parent: Vec<u32>,
    /// Index into `endpoints`.
    pub endpoint: Vec<u32>,
    /// Start before sanitising, relative to `start_us`.
    pub span_start_us: Vec<u64>,
    /// Duration before sanitising.
    pub duration_us: Vec<u64>,
    /// Depth, roots 0.
    pub depth: Vec<u32>,
    /// Bits: [`TraceReport::ERROR`] and the following.
    pub bits: Vec<u8>,
    /// Segments of the critical path in order of time: span index.
    pub segment_span: Vec<u32>,
    /// Their starts, relative.
    pub segment_start_us: Vec<u64>,
    /// Their ends, relative.
    pub segment_end_us: Vec<u64>,
}

impl TraceReport {
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
}

/// One span in full.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanReport {
    /// Canonical trace id.
    pub trace_id: String,
    /// Canonical span id, empty if absent.
    pub span_id: String,
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Kind as exporters write it, empty if unknown.
    pub kind: String,
    /// Host, empty if unknown.
    pub host: String,
    /// Start, microseconds since the epoch.
    pub start_us: u64,
    /// Duration in microseconds.
    pub duration_us: u64,
    /// Own tags, sorted.
    pub tags: Vec<(String, String)>,
    /// Process tags, sorted.
    pub process_tags: Vec<(String, String)>,
}
