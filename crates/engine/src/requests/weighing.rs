//! How many requests each request counts as: the one way by which a pass gets the weight of a request.

use super::{RequestEntry, Selection};
use pathlight_base::statistics::Weight;
use pathlight_trace::TraceSet;

/// Whether requests count as those that they stand for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Weighing {
    counts: bool,
}

impl Weighing {
    /// Returns what counts in a selection of the requests of a set.
    pub fn of(selection: &Selection, set: &TraceSet) -> Weighing {
        Weighing { counts: !selection.unweighted && set.has_weights() }
    }

    /// Returns how many requests one counts as.
    #[inline]
    pub fn weight(self, set: &TraceSet, request: &RequestEntry) -> Weight {
        if self.counts { set.weight(request.trace) } else { Weight::ONE }
    }
}
