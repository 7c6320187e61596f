//! The spans of one trace that a search finds.

use super::trace::find_trace;
use crate::EngineError;
use crate::Query;
use crate::pass::Pass;
use crate::workers::Workers;
use pathlight_analysis::search::{SpanSearch, found_spans};
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
    /// Which set of traces, see [`Selection::group`](pathlight_analysis::requests::Selection::group).
    pub group: u8,
    /// The search.
    pub search: SpanSearch,
}

impl Query for FindSpans {
    /// Indices as in [`TraceReport`](pathlight_analysis::critical_path::TraceReport), ascending.
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
