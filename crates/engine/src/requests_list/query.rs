//! The slowest requests.

use super::rows::slowest;
use crate::EngineError;
use crate::flame::{RequestRow, RequestsReport};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use pathlight_base::sort::CompactSort as _;
use serde::{Deserialize, Serialize};

/// Reports requests, slowest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requests {
    /// The selected requests.
    pub selection: Selection,
    /// At most this many.
    pub limit: u32,
}

impl Query for Requests {
    type Report = RequestsReport;

    async fn run(self, workers: Workers) -> Result<RequestsReport, EngineError> {
        let pass = SlowestPass { limit: self.limit };
        let (parts, facts) = workers.request_partials(&self.selection, pass).await?;
        let mut rows = parts.concat();
        rows.compact_sort_by(|a, b| {
            (b.latency_us.cmp(&a.latency_us))
                .then_with(|| (&a.trace_id, &a.root_span_id).cmp(&(&b.trace_id, &b.root_span_id)))
        });
        rows.truncate(self.limit as usize);
        Ok(RequestsReport { facts, rows })
    }
}

/// The slowest requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SlowestPass {
    pub limit: u32,
}

impl RequestPass for SlowestPass {
    type Part = Vec<RequestRow>;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        over.sweep_at_once(move |rows| slowest(rows.set, rows.table, rows.requests, self.limit))
    }
}
