//! Savings by faster endpoints.

use super::super::FlowPass;
use super::model;
use crate::EngineError;
use crate::Query;
use crate::workers::Workers;
use pathlight_analysis::flow::{self, FlowSettings, SavingsReport};
use pathlight_analysis::requests::Selection;
use serde::{Deserialize, Serialize};

/// Reports what every endpoint below the requests of a selection would save if it were faster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Savings {
    /// The selected requests.
    pub selection: Selection,
    /// How flows are learned.
    pub settings: FlowSettings,
}

impl Query for Savings {
    type Report = SavingsReport;

    async fn run(self, workers: Workers) -> Result<SavingsReport, EngineError> {
        let Savings { selection, settings } = self;
        let model = model(&workers, &selection, settings).await?;
        Ok(flow::Savings::merge(workers.flow(&selection, FlowPass::Savings { model }).await?).finish())
    }
}
