//! The requests that an analysis is about: a [`Selection`] names them, and [`SelectedRequests`] are those of one worker.

mod chosen;
mod entry;
mod latencies;
pub(crate) mod overview;
pub(crate) mod pseudonyms;
pub(crate) mod query;
mod range;
pub mod search;
mod selected;
mod selection;
mod types;
mod weighing;

pub use chosen::{ChosenSigns, LatencyLimit};
pub use entry::{RequestEntry, RequestKey, RequestRef};
pub use latencies::{TimedRequest, TypeCut, TypeLatencies, TypeTime};
pub(crate) use range::some_of;
pub use range::{PercentileRange, RangeFacts, RangeMark, RangeReport, WeightedFacts};
pub use selected::{Cut, Ends, SelectedRequests};
pub use selection::{Filter, HitFilter, OnlyFilter, RootEndpoint, Selection, Until};
pub use types::{GroupBy, RequestType, RequestTypes, TypeFacts, TypeNames};
pub use weighing::Weighing;

pub use pathlight_trace::{Overlap, PathSettings, Reading, ReadingRule, RequestRoots};
