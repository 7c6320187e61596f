//! The messages: what can be asked, and the reports that answer it. All of it is plain serde data.

use pathlight_model::trace::Quality;

pub use pathlight_analysis::anomaly::{
    AnomalyReport, AnomalyRow, AnomalySettings, Detector, EvaluationTable, ReasonKind, ReasonRow,
};
pub use pathlight_analysis::critical_path::{
    Affected, Basis, BottomUpReport, CallChain, Change, ColumnOrder, ContextNode, CriticalPathReport,
    DiffNode, DiffReport, DiffSide, EndpointRow, EndpointsReport, Exemplar, Exemplars, FrameSums,
    HeatmapReport, HistogramsReport, ImpactRow, Measure, NotProposed, PathSegment, Presence, ProposalsReport,
    ProposedValue, Quantity, RankedChange, Ratio, RequestNode, RequestPath, RequestRef, RequestRow,
    RequestsReport, RootRow, RowStat, RowTime, ServiceChange, SplitOf, SplitReport, SplitValue, TagProposal,
    TagValueCount, TagValuesReport, TraceReport, Weight,
};
pub use pathlight_analysis::errors::{ErrorNode, ErrorRow, ErrorTotals, ErrorsReport};
pub use pathlight_analysis::flow::{
    Changes, EvaluationReport, FlowParent, FlowReport, FlowSettings, LatencyChange, NodeName, Parallel,
    SavingsReport, WhatIfReport,
};
pub use pathlight_analysis::requests::{
    Filter, Overlap, PercentileRange, RangeFacts, RangeReport, RootEndpoint, Selection,
};
pub use pathlight_analysis::tprof::{
    AggregateTrace, PlaceChange, PlacesReport, SetsReport, Settings as TprofSettings, Statistic, TprofReport,
    TypePlaces,
};
pub use pathlight_model::stats::{Distribution, Effect, Interval, LogHistogram, Moments, Summary};
use serde::{Deserialize, Serialize};

/// A question to the engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Request {
    /// What is loaded; answered by [`Report::Overview`].
    Overview,
    /// How many requests a percentile range holds and their latency; answered by [`Report::Range`]. What costs least to
    /// ask of them.
    Range {
        /// Which requests.
        selection: Selection,
    },
    /// The aggregate calling contexts of a percentile range; answered by [`Report::CriticalPath`].
    CriticalPath {
        /// Which requests.
        selection: Selection,
    },
    /// A page of the requests of a percentile range, slowest first; answered by [`Report::Requests`].
    Requests {
        /// Which requests.
        selection: Selection,
        /// At most this many.
        limit: u32,
    },
    /// The critical path of every request of a percentile range; answered by [`Report::PerRequest`]. Large: for files,
    /// not for pages.
    PerRequest {
        /// Which requests.
        selection: Selection,
    },
    /// Layers, diagnosis and aggregate traces; answered by [`Report::Tprof`].
    Tprof {
        /// Which requests.
        selection: Selection,
        /// Request types, tail, lengths.
        settings: TprofSettings,
    },
    /// Two percentile ranges, or two sets, place by place; answered by [`Report::TprofCompare`].
    TprofCompare {
        /// Side A: which requests.
        a: Selection,
        /// Side B.
        b: Selection,
        /// Request types.
        settings: TprofSettings,
    },
    /// Two percentile ranges, or two sets, frame by frame and service by service; answered by [`Report::Compare`].
    Compare {
        /// Side A: which requests.
        a: Selection,
        /// Side B.
        b: Selection,
    },
    /// Times and call chains by endpoint; answered by [`Report::Endpoints`].
    Endpoints {
        /// Which requests.
        selection: Selection,
    },
    /// Endpoints against requests; answered by [`Report::Heatmap`].
    Heatmap {
        /// Which requests.
        selection: Selection,
        /// At most this many columns; more requests are put together in equal numbers.
        columns: u32,
        /// What columns are ordered by.
        order: ColumnOrder,
    },
    /// Interior endpoints over all root endpoints; answered by [`Report::BottomUp`].
    BottomUp {
        /// Which requests.
        selection: Selection,
    },
    /// Sizes of requests and endpoints; answered by [`Report::Histograms`].
    Histograms {
        /// Which requests.
        selection: Selection,
    },
    /// Latency, or the time of one endpoint, by the values of a tag; answered by [`Report::Split`].
    Split {
        /// Which requests.
        selection: Selection,
        /// What is split.
        of: SplitOf,
        /// The tag or process tag.
        key: String,
    },
    /// Where errors start and stop, and the requests without them; answered by [`Report::Errors`].
    Errors {
        /// Which requests.
        selection: Selection,
    },
    /// The tags whose values differ most, to split by; answered by [`Report::Proposals`].
    Proposals {
        /// Which requests.
        selection: Selection,
        /// What would be split.
        of: SplitOf,
    },
    /// The values of a tag with the requests that have them; answered by [`Report::TagValues`].
    TagValues {
        /// Which requests.
        selection: Selection,
        /// The tag or process tag.
        key: String,
    },
    /// One trace with its critical path; answered by [`Report::Trace`].
    Trace {
        /// Canonical trace id.
        trace_id: String,
        /// Canonical id of the request's root span; `None`: the trace root.
        root_span_id: Option<String>,
        /// Path settings.
        overlap: Overlap,
        /// Which set of traces, see [`Selection::group`].
        group: u8,
    },
    /// Tags and times of one span; answered by [`Report::Span`].
    Span {
        /// Canonical trace id.
        trace_id: String,
        /// Which span of it.
        span: SpanKey,
        /// Which set of traces, see [`Selection::group`].
        group: u8,
    },
    /// The execution flow of the selection's endpoint; answered by [`Report::Flow`].
    Flow {
        /// Whose invocations; its root endpoint is the parent endpoint.
        selection: Selection,
        /// How it is learned.
        settings: FlowSettings,
    },
    /// The endpoints that have a flow; answered by [`Report::FlowParents`].
    FlowParents {
        /// Whose invocations; all parents if its root endpoint is trace roots.
        selection: Selection,
    },
    /// The six predictors of a parent's latency compared on held-out invocations; answered by
    /// [`Report::FlowEvaluation`].
    FlowEvaluation {
        /// Whose invocations; pooled over all parents if its root endpoint is trace roots.
        selection: Selection,
        /// How flows are learned.
        settings: FlowSettings,
        /// Parents none of whose invocations has so many calls are left out when pooling.
        min_children: u32,
    },
    /// The requests of a selection before and after a change; answered by [`Report::WhatIf`]. Flows are learned from
    /// all traces of the selection's group, whatever its root endpoint and filters.
    WhatIf {
        /// Which requests.
        selection: Selection,
        /// How flows are learned.
        settings: FlowSettings,
        /// What is changed.
        changes: Changes,
    },
    /// Which requests of a set are abnormal, and why; answered by [`Report::Anomaly`].
    Anomaly {
        /// The normal requests to learn from.
        train: Selection,
        /// The requests to judge.
        test: Selection,
        /// How.
        settings: AnomalySettings,
    },
    /// A detector trained on normal requests, to be kept as a file; answered by [`Report::AnomalyModel`].
    AnomalyModel {
        /// The normal requests to learn from.
        train: Selection,
        /// What is trained.
        settings: AnomalySettings,
    },
    /// How well detectors find what was made abnormal; answered by [`Report::AnomalyEvaluation`].
    AnomalyEvaluation {
        /// Normal requests: half of them to learn from, the rest to be judged and made abnormal.
        selection: Selection,
        /// Of the halves and of the injections.
        seed: u64,
        /// Accepted rate of false alarms in millionths, and what the auto-encoder is, if it takes part.
        settings: AnomalySettings,
    },
    /// What every endpoint below the requests of a selection would save if it were faster; answered by
    /// [`Report::Savings`].
    Savings {
        /// Which requests.
        selection: Selection,
        /// How flows are learned.
        settings: FlowSettings,
    },
}

/// How a span of a trace is named.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SpanKey {
    /// By its index as in [`TraceReport`].
    Index(u32),
    /// By its canonical id; of several, the first.
    Id(String),
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Report {
    /// See [`Request::Overview`].
    Overview(OverviewReport),
    /// See [`Request::Range`].
    Range(RangeReport),
    /// See [`Request::CriticalPath`].
    CriticalPath(CriticalPathReport),
    /// See [`Request::Requests`].
    Requests(RequestsReport),
    /// See [`Request::PerRequest`].
    PerRequest(PerRequestReport),
    /// See [`Request::Compare`].
    Compare(Box<DiffReport>),
    /// See [`Request::Endpoints`].
    Endpoints(Box<EndpointsReport>),
    /// See [`Request::Heatmap`].
    Heatmap(Box<HeatmapReport>),
    /// See [`Request::BottomUp`].
    BottomUp(Box<BottomUpReport>),
    /// See [`Request::Histograms`].
    Histograms(Box<HistogramsReport>),
    /// See [`Request::Split`].
    Split(Box<SplitReport>),
    /// See [`Request::Errors`].
    Errors(Box<ErrorsReport>),
    /// See [`Request::Proposals`].
    Proposals(Box<ProposalsReport>),
    /// See [`Request::TagValues`].
    TagValues(TagValuesReport),
    /// See [`Request::Tprof`].
    Tprof(Box<TprofReport>),
    /// See [`Request::TprofCompare`].
    TprofCompare(SetsReport),
    /// See [`Request::Trace`]; `None` if no such trace is loaded.
    Trace(Option<TraceReport>),
    /// See [`Request::Span`]; `None` if no such span is loaded.
    Span(Option<SpanReport>),
    /// See [`Request::Flow`]; without nodes if the parent waits for nothing.
    Flow(FlowReport),
    /// See [`Request::FlowParents`]; by (service, operation).
    FlowParents(Vec<FlowParent>),
    /// See [`Request::FlowEvaluation`].
    FlowEvaluation(EvaluationReport),
    /// See [`Request::WhatIf`].
    WhatIf(WhatIfReport),
    /// See [`Request::Savings`].
    Savings(SavingsReport),
    /// See [`Request::Anomaly`].
    Anomaly(Box<AnomalyReport>),
    /// See [`Request::AnomalyModel`]: the file.
    AnomalyModel(Vec<u8>),
    /// See [`Request::AnomalyEvaluation`].
    AnomalyEvaluation(Box<EvaluationTable>),
}

/// The critical paths of the requests of a percentile range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerRequestReport {
    /// What the percentile range holds.
    pub facts: RangeFacts,
    /// By (trace id, root span id).
    pub requests: Vec<RequestPath>,
}

impl PerRequestReport {
    /// The JSON of `critical-path --per-trace --json`: `{requests: [...]}`, see `docs/report-schema.md`.
    ///
    /// # Errors
    /// Only if serde_json refuses a string, which it does not.
    pub fn to_json(&self) -> serde_json::Result<String> {
        #[derive(Serialize)]
        struct Json<'a> {
            requests: &'a [RequestPath],
        }
        serde_json::to_string(&Json { requests: &self.requests })
    }
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
    /// Distinct values, sorted; empty if there are more than [`TagKey::LISTED`].
    pub values: Vec<String>,
    /// Whether there are too many to list or split by.
    pub high_cardinality: bool,
}

impl TagKey {
    /// Most values listed.
    pub const LISTED: usize = 256;
}

/// What is loaded. All but `heap_bytes`, `quality` of repeated spans, `logs` and the set to compare with is about group
/// 0, the set looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OverviewReport {
    /// Number of traces.
    pub traces: u64,
    /// Number of spans.
    pub spans: u64,
    /// Traces of the set to compare with (group 1).
    pub other_traces: u64,
    /// Spans of the set to compare with.
    pub other_spans: u64,
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

/// One span in full.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpanReport {
    /// Canonical trace id.
    pub trace_id: String,
    /// Index of the span within the trace as in [`TraceReport`].
    pub index: u32,
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
