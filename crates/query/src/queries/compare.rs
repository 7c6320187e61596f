//! A comparison: each side is cut, its frames, calls and visits are summed, then both are put together.

use super::Query;
use super::culprit::{culprit, times};
use crate::EngineError;
use crate::request_pass::RequestPass;
use crate::workers::Workers;
use pathlight_analysis::critical_path::{DiffPart, DiffReport, DiffSide};
use pathlight_analysis::culprit::CulpritPart;
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
        let (a, a_times) = side(&workers, self.a).await?;
        let (b, b_times) = side(&workers, self.b).await?;
        let culprit = culprit((&a.0.selection, &a_times), (&b.0.selection, &b_times));
        Ok(DiffPart::finish(a, b, culprit))
    }
}

/// Frames and times of one side.
async fn side(
    workers: &Workers,
    selection: Selection,
) -> Result<((DiffSide, DiffPart), CulpritPart), EngineError> {
    let (requests, facts) = workers.cut(&selection).await?;
    let frames = DiffPart::merge(requests.partials(RequestPass::Diff).await?);
    let times = times(&requests).await?;
    Ok(((DiffSide { selection, facts }, frames), times))
}
