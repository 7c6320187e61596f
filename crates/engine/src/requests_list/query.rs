//! The slowest requests.

use crate::EngineError;
use crate::flame::{RequestRow, RequestsReport};
use crate::queries::Query;
use crate::requests::Selection;
use crate::run::request_pass::RequestPass;
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
        let pass = RequestPass::Slowest { limit: self.limit };
        let (parts, facts) = workers.request_partials::<Vec<RequestRow>>(&self.selection, pass).await?;
        let mut rows = parts.concat();
        rows.compact_sort_by(|a, b| {
            (b.latency_us.cmp(&a.latency_us))
                .then_with(|| (&a.trace_id, &a.root_span_id).cmp(&(&b.trace_id, &b.root_span_id)))
        });
        rows.truncate(self.limit as usize);
        Ok(RequestsReport { facts, rows })
    }
}
