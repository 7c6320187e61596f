//! The spans of one trace that a search finds.

use crate::EngineError;
use crate::queries::Query;
use crate::requests::search::{SpanSearch, found_spans};
use crate::run::pass::Pass;
use crate::run::workers::Workers;
use crate::timeline::query::find_trace;
use pathlight_base::encoding;
use pathlight_trace::PathSettings;
use pathlight_trace::TraceSet;
use serde::{Deserialize, Serialize};

/// Finds spans of one trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindSpans {
    /// Canonical trace id.
    pub trace_id: String,
    /// How it is read: what spans are called.
    pub settings: PathSettings,
    /// Which set of traces, see [`Selection::group`](crate::requests::Selection::group).
    pub group: u8,
    /// The search.
    pub search: SpanSearch,
}

impl Query for FindSpans {
    /// Indices as in [`TraceReport`](crate::flame::TraceReport), ascending.
    type Report = Vec<u32>;

    async fn run(self, workers: Workers) -> Result<Vec<u32>, EngineError> {
        let FindSpans { trace_id, settings, group, search } = self;
        let pass = Pass::FindSpans { trace_id, group, settings, search };
        Ok(encoding::read::<Option<_>>(&workers.only_partial(pass).await?)?.unwrap_or_default())
    }
}

/// Returns what a worker finds in a trace; `None` if it has none such.
pub(crate) fn find_spans(set: &TraceSet, trace_id: &str, group: u8, search: &SpanSearch) -> Option<Vec<u32>> {
    Some(found_spans(set, find_trace(set, trace_id, group)?, search))
}
