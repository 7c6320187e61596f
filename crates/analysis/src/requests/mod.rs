//! Which requests an analysis is about: a [`Selection`] names them, and [`SelectedRequests`] are those of one worker.

mod range;
mod selected;
mod selection;

pub use pathlight_model::trace::{Overlap, PathSettings, Reading, Rule};
pub use range::{PercentileRange, RangeFacts, RangeReport};
pub use selected::{Cut, RequestEntry, RequestKey, SelectedRequests};
pub use selection::{Filter, RootEndpoint, Selection};
