//! Savings by faster endpoints.

use super::model;
use crate::EngineError;
use crate::flow::paper::FlowSettings;
use crate::flow::passes::FlowPass;
use crate::flow::{FlowModel, SavingsPart, SavingsReport};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Reports what every endpoint below the requests of a selection would save if it were faster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Savings {
    /// The selected requests.
    pub selection: Selection,
    /// Settings by which flows are learned.
    pub settings: FlowSettings,
}

impl Query for Savings {
    type Report = SavingsReport;

    async fn run(self, workers: Workers) -> Result<SavingsReport, EngineError> {
        let Savings { selection, settings } = self;
        let model = model(&workers, &selection, settings).await?;
        savings(&workers, &selection, model).await
    }
}

/// Returns what every endpoint would save, by a model of the selection's group.
pub(crate) async fn savings(
    workers: &Workers,
    selection: &Selection,
    model: Arc<FlowModel>,
) -> Result<SavingsReport, EngineError> {
    Ok(SavingsPart::merge(workers.flow(selection, FlowPass::Savings { model }).await?).finish())
}
