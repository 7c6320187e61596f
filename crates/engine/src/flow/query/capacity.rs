//! Drag and slack of services.

use super::model;
use crate::EngineError;
use crate::flow::paper::FlowSettings;
use crate::flow::passes::FlowPass;
use crate::flow::{CapacityReport, CapacitySums};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports drag and slack of every service that works in the requests of a selection: how much earlier requests would end without
/// its own work, and how much longer that may take before they end later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capacity {
    /// The selected requests.
    pub selection: Selection,
    /// Settings by which flows are learned.
    pub settings: FlowSettings,
}

impl Query for Capacity {
    type Report = CapacityReport;

    async fn run(self, workers: Workers) -> Result<CapacityReport, EngineError> {
        let Capacity { selection, settings } = self;
        let model = model(&workers, &selection, settings).await?;
        let parts = workers.flow(&selection, FlowPass::Capacity { model }).await?;
        Ok(CapacitySums::merge(parts).finish())
    }
}
