//! tprof: structural aggregation and diagnosis (SoCC '21), in four layers.
//!
//! Workers turn requests into [`TracesPart`]s: canonical shapes and, per trace, when every position begins and ends. Parts
//! merge into [`Traces`], whose order depends on names, times and ids only; layers, aggregate traces, the nested report
//! and the list of what makes the tail slow are all computed from it.

mod aggregate;
mod block;
mod collect;
mod diagnose;
mod export;
mod layers;
mod merge;
mod places;
mod statistic;
mod traces;

pub use aggregate::{
    AggregateSegment, AggregateSpan, AggregateSubspan, AggregateTrace, Problem, aggregate, recursive,
};
pub use collect::{TraceCollector, TracesPart};
pub use diagnose::{DiagnosedEndpoint, DiagnosedGroup, DiagnosedSpan, DiagnosedType, Verdict};
pub use layers::{EndpointTimes, Group, Layer, PositionTimes};
pub use merge::Merging;
pub use places::{Comparing, PlaceChange, PlacesReport, SetsReport, TypePlaces};
pub use statistic::{SplitStatistic, Statistic};
pub use traces::{Settings, TprofReport, Traces};
