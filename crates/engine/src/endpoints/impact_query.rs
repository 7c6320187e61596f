//! Interior endpoints over all root endpoints.

use crate::EngineError;
use crate::endpoints::{BottomUpPart, BottomUpReport};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports what interior endpoints cost all root endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BottomUp {
    /// The selected requests.
    pub selection: Selection,
}

impl Query for BottomUp {
    type Report = BottomUpReport;

    async fn run(self, workers: Workers) -> Result<BottomUpReport, EngineError> {
        if let Some((summary, choice)) = workers.summary_of(&self.selection).await? {
            return Ok(summary.bottom_up(&choice)?);
        }
        let (parts, facts) = workers.request_partials(&self.selection, ImpactPass).await?;
        Ok(BottomUpPart::finish(parts, self.selection.range, facts))
    }
}

/// Times by root endpoint and endpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ImpactPass;

impl RequestPass for ImpactPass {
    type Part = BottomUpPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        over.sweep(|rows| BottomUpPart::observe(rows.set, rows.table, rows.requests))
    }
}
