//! Requests before and after a change.

use super::model;
use crate::EngineError;
use crate::flow::paper::FlowSettings;
use crate::flow::passes::FlowPass;
use crate::flow::{self, CallsOf, Changes, FlowModel, WhatIfReport};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports the requests of a selection before and after a change. Flows are learned from all traces of the selection's
/// group, whatever its root endpoint and filters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhatIf {
    /// The selected requests.
    pub selection: Selection,
    /// Settings by which flows are learned.
    pub settings: FlowSettings,
    /// The changes.
    pub changes: Changes,
}

impl Query for WhatIf {
    type Report = WhatIfReport;

    async fn run(self, workers: Workers) -> Result<WhatIfReport, EngineError> {
        let WhatIf { selection, settings, changes } = self;
        let model = model(&workers, &selection, settings).await?;
        Ok(what_if(&workers, &selection, model, changes, CallsOf::Nobody).await?.finish())
    }
}

/// Returns the requests before and after a change, and these of their calls.
pub(crate) async fn what_if(
    workers: &Workers,
    selection: &Selection,
    model: FlowModel,
    changes: Changes,
    calls: CallsOf,
) -> Result<flow::WhatIfLatencies, EngineError> {
    let pass = FlowPass::WhatIf { model, changes, calls };
    Ok(flow::WhatIfLatencies::merge(workers.flow(selection, pass).await?))
}
