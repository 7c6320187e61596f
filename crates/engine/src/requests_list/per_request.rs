//! The critical path of every request.

use super::rows::path_of;
use crate::EngineError;
use crate::flame::RequestPath;
use crate::requests::{RangeFacts, Selection};
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use pathlight_base::sort::CompactSort as _;
use serde::{Deserialize, Serialize};

/// Reports the critical path of every request. Large: for files, not for pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PerRequest {
    /// The selected requests.
    pub selection: Selection,
}

impl Query for PerRequest {
    type Report = PerRequestReport;

    async fn run(self, workers: Workers) -> Result<PerRequestReport, EngineError> {
        let (parts, facts) = workers.request_partials(&self.selection, PathsPass).await?;
        let mut requests: Vec<RequestPath> = parts.into_iter().flat_map(Vec::into_iter).collect();
        requests.compact_sort_by(|a, b| (&a.trace_id, &a.root_span_id).cmp(&(&b.trace_id, &b.root_span_id)));
        Ok(PerRequestReport { facts, requests })
    }
}

/// The critical paths of the requests of a percentile range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PerRequestReport {
    /// Requests and latencies of the percentile range.
    pub facts: RangeFacts,
    /// By (trace id, root span id).
    pub requests: Vec<RequestPath>,
}

/// The path of every request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PathsPass;

impl RequestPass for PathsPass {
    type Part = Vec<RequestPath>;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let mut done = over.done_path();
        over.sweep(move |rows| {
            let path = |request| path_of(rows.set, rows.table, request, rows.settings, done.as_mut());
            rows.numbers().map(path).collect::<Vec<_>>()
        })
    }
}
