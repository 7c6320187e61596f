//! The spans of one trace that a search finds.

use crate::EngineError;
use crate::requests::search::{SpanSearch, found_spans};
use crate::run::query::Query;
use crate::run::set_pass::{OverSet, RunningSetPass, SetPass, at_once};
use crate::run::workers::Workers;
use crate::timeline::query::find_trace;
use pathlight_base::encoding;
use pathlight_trace::PathSettings;
use serde::{Deserialize, Serialize};

/// Finds spans of one trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindSpans {
    /// Canonical trace id.
    pub trace_id: String,
    /// Settings by which it is read: the names of spans.
    pub settings: PathSettings,
    /// The set of traces, see [`Selection::group`](crate::requests::Selection::group).
    pub group: u8,
    /// The search.
    pub search: SpanSearch,
}

impl Query for FindSpans {
    /// Indices as in [`TraceReport`](crate::flame::TraceReport), ascending.
    type Report = Vec<u32>;

    async fn run(self, workers: Workers) -> Result<Vec<u32>, EngineError> {
        Ok(encoding::read::<Option<_>>(&workers.only_partial(self).await?)?.unwrap_or_default())
    }
}

impl SetPass for FindSpans {
    type Part = Option<Vec<u32>>;

    fn settings(&self) -> Option<PathSettings> {
        Some(self.settings)
    }

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        at_once(move |set| {
            let trace = find_trace(set, &self.trace_id, self.group);
            encoding::write(&trace.map(|trace| found_spans(set, trace, &self.search)))
        })
    }
}
