//! The parts of reports: plain serde data of the analyses, under one name.

pub use pathlight_analysis::anomaly::{
    AnomalyReport, AnomalyRow, AnomalySettings, Detector, Encoding, EvaluationTable, Part, ReasonGroup,
    ReasonKind, ReasonRow, VectorRow, VectorsReport,
};
pub use pathlight_analysis::critical_path::{
    Affected, Basis, BottomUpReport, CallChain, Change, ColumnOrder, ContextNode, CriticalPathReport,
    DiffNode, DiffReport, DiffSide, EndpointRow, EndpointsReport, Exemplar, Exemplars, FrameSums,
    HeatmapReport, HistogramsReport, ImpactRow, Measure, NotProposed, PathSegment, Presence, ProposalsReport,
    ProposedValue, Quantity, RankedChange, Ratio, RequestNode, RequestPath, RequestRow, RequestsReport,
    RootRow, RowStat, RowTime, SpanWaiting, SplitOf, SplitReport, SplitValue, TagProposal, TagValueCount,
    TagValuesReport, TooDeep, TraceReport, Waiting, Weight,
};
pub use pathlight_analysis::culprit::{
    CulpritExemplar, CulpritPlace, CulpritReport, CulpritService, Excess, FailingService, Lead, ServicePart,
    Vanished,
};
pub use pathlight_analysis::errors::{ErrorNode, ErrorRow, ErrorTotals, ErrorsReport};
pub use pathlight_analysis::findings::{
    BesideCall, Burst, ChangedThen, Facts, Finding, FindingKind, FindingPoint, FindingsReport, Gap,
    GrowsWith, Halved, LateFindings, Place, SharedTag, TagRow, TagValue, TagsReport, TimeBin,
};
pub use pathlight_analysis::flow::{
    CallBudget, CallTimeout, ChangeOf, Changes, EvaluationReport, FlowParent, FlowReport, FlowSettings,
    LatencyChange, NodeName, Parallel, Quantile, RequestPressure, SavingsReport, TargetReport, TargetWay,
    TimeoutReport, WhatIfReport,
};
pub use pathlight_analysis::ids::{EndpointId, NodeId};
pub use pathlight_analysis::requests::{
    Filter, GroupBy, PercentileRange, RangeFacts, RangeMark, RangeReport, RequestRef, RequestType,
    RootEndpoint, Selection,
};
pub use pathlight_analysis::search::{
    Condition, FoundEndpoint, SERVICE, SearchReport, ServiceChoice, SpanSearch, Token, quoted,
    service_choice, token_at, with_service,
};
pub use pathlight_analysis::tprof::{
    AggregateSpan, AggregateSubspan, AggregateTrace, Aggregates, DiagnosedGroup, GroupSubspan, PlaceChange,
    PlacesReport, SetsReport, Settings as TprofSettings, Statistic, TprofReport, TypeLeftOut, TypePlaces,
};
pub use pathlight_base::statistics::{Distribution, Effect, Interval, LogHistogram, Moments, Summary};
pub use pathlight_trace::Endpoint;
pub use pathlight_trace::{Overlap, PathSettings, Reading, Rule};
