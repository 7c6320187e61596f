//! tprof: structural aggregation and diagnosis (SoCC '21), in four layers.
//!
//! Workers turn requests into [`TracesPart`]s: canonical shapes and, per trace, when every position begins and ends. Parts
//! merge into [`Traces`], whose order depends on names, times and ids only; layers, the nested report, the list of what makes
//! the tail slow and, when they are asked for, aggregate traces are all computed from it.

mod aggregate;
mod block;
mod collect;
mod diagnose;
mod events;
mod export;
mod layers;
mod merge;
mod numbers;
mod places;
pub(crate) mod query;
mod report;
mod statistic;
pub(crate) mod summed;
mod summed_report;
mod traces;

pub use aggregate::{
    AggregateSegment, AggregateSpan, AggregateSubspan, AggregateTrace, GroupSubspan, ProblemSubspan,
    aggregate, recursive,
};
pub use collect::{TraceCollector, TracesPart};
pub use diagnose::{
    Aggregates, DiagnosedEndpoint, DiagnosedGroup, DiagnosedSpan, DiagnosedType, TailVerdict, Top, Total,
};
pub use events::{SpanEvent, Subspan, Subspans, child_events, span_end};
pub use export::to_jaeger;
pub use layers::{EndpointTimes, GroupingLayer, PositionTimes, TraceGroup};
pub use merge::Merging;
pub use places::{Comparing, PlaceChange, PlacesReport, SetsReport, TypeLeftOut, TypePlaces};
pub use report::{DiagnosisReport, OfSummary};
pub use statistic::{SplitStatistic, TimeStatistics};
pub use summed::MOST_PLACES;
pub use traces::{DiagnosisSettings, Traces};

#[cfg(test)]
pub(crate) use traces::normal_of;
