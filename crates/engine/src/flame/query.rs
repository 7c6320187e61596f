//! The aggregate calling contexts.

use crate::EngineError;
use crate::flame::{Aggregate, CriticalPathReport, ExemplarCandidates, ExemplarTargets};
use crate::queries::Query;
use crate::requests::Selection;
use crate::run::request_pass::RequestPass;
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports the aggregate calling contexts of the critical paths.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CriticalPath {
    /// The selected requests.
    pub selection: Selection,
}

impl Query for CriticalPath {
    type Report = CriticalPathReport;

    async fn run(self, workers: Workers) -> Result<CriticalPathReport, EngineError> {
        if let Some((summary, choice)) = workers.summary_of(&self.selection).await? {
            return Ok(summary.critical_path(&choice)?);
        }
        let (requests, facts) = workers.cut(&self.selection).await?;
        let aggregate = Aggregate::merge(requests.partials(RequestPass::Aggregate).await?);
        let targets = ExemplarTargets::new(&aggregate);
        let mut report = aggregate.finish(self.selection.range, facts);
        let found = requests.partials(RequestPass::Exemplars { targets: targets.clone() }).await?;
        ExemplarCandidates::merge(found, &targets).write(&mut report);
        Ok(report)
    }
}
