//! Which requests an analysis is about: a [`Selection`] names them, and [`SelectedRequests`] are those of one worker.

mod latencies;
mod range;
mod selected;
mod selection;
mod types;

pub use latencies::{TypeCut, TypeLatencies};
pub use pathlight_model::trace::{Overlap, PathSettings, Reading, Rule};
pub use range::{PercentileRange, RangeFacts, RangeMark, RangeReport};
pub use selected::{Cut, Ends, RequestEntry, RequestKey, SelectedRequests};
pub use selection::{Filter, RootEndpoint, Selection};
pub use types::{GroupBy, RequestType, RequestTypes, TypeFacts, TypeNames};
