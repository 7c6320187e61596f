//! A comparison: each side is cut, its frames and its services are summed, then both are put together.

use super::Query;
use crate::EngineError;
use crate::request_pass::RequestPass;
use crate::workers::Workers;
use pathlight_analysis::critical_path::{DiffPart, DiffReport, DiffSide, ServiceSums};
use pathlight_analysis::requests::Selection;
use serde::{Deserialize, Serialize};

/// Reports how two sides differ, frame by frame and service by service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    /// The requests of side A.
    pub a: Selection,
    /// Those of side B.
    pub b: Selection,
}

impl Query for Compare {
    type Report = DiffReport;

    async fn run(self, workers: Workers) -> Result<DiffReport, EngineError> {
        let a = side(&workers, self.a).await?;
        let b = side(&workers, self.b).await?;
        Ok(DiffPart::finish(a, b))
    }
}

async fn side(
    workers: &Workers,
    selection: Selection,
) -> Result<(DiffSide, DiffPart, ServiceSums), EngineError> {
    let (requests, facts) = workers.cut(&selection).await?;
    let frames = DiffPart::merge(requests.partials(RequestPass::Diff).await?);
    let services = ServiceSums::merge(requests.partials(RequestPass::Services).await?);
    Ok((DiffSide { selection, facts }, frames, services))
}
