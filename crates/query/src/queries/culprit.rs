//! Which service explains the difference of two sides.

use super::Query;
use crate::EngineError;
use crate::request_pass::RequestPass;
use crate::workers::{RangeRequests, Workers};
use pathlight_analysis::culprit::{CulpritPart, CulpritReport};
use pathlight_analysis::requests::Selection;
use serde::{Deserialize, Serialize};

/// Reports which service explains that one side is slower than the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Culprit {
    /// The requests of side A.
    pub a: Selection,
    /// The selected requests of side B.
    pub b: Selection,
}

impl Query for Culprit {
    type Report = CulpritReport;

    async fn run(self, workers: Workers) -> Result<CulpritReport, EngineError> {
        let (a, _) = workers.cut(&self.a).await?;
        let a = times(&a).await?;
        let (b, _) = workers.cut(&self.b).await?;
        Ok(culprit((&self.a, &a), (&self.b, &times(&b).await?)))
    }
}

/// Returns the times of the requests of one side.
pub(super) async fn times(requests: &RangeRequests<'_>) -> Result<CulpritPart, EngineError> {
    Ok(CulpritPart::merge(requests.partials(RequestPass::Culprit).await?))
}

/// Returns the ranking of two sides.
pub(super) fn culprit(a: (&Selection, &CulpritPart), b: (&Selection, &CulpritPart)) -> CulpritReport {
    CulpritReport { is_of_one_set: a.0.group == b.0.group, ..CulpritReport::of(a.1, b.1) }
}
