//! The aggregate calling contexts.

use crate::EngineError;
use crate::flame::{Aggregate, CriticalPathReport, ExemplarCandidates, ExemplarTargets};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
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
        let by_weight = facts.counts_weights();
        let aggregate = Aggregate::merge(requests.partials(ContextsPass { by_weight }).await?);
        let targets = ExemplarTargets::new(&aggregate);
        let mut report = aggregate.finish(self.selection.range, facts);
        let found = requests.partials(ExemplarsPass { targets: targets.clone() }).await?;
        ExemplarCandidates::merge(found, &targets).write(&mut report);
        Ok(report)
    }
}

/// Times by calling context.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ContextsPass {
    /// Whether requests count as those that they stand for.
    pub by_weight: bool,
}

impl RequestPass for ContextsPass {
    type Part = Aggregate;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        over.sweep_at_once(move |rows| {
            Aggregate::observe(rows.set, rows.table, rows.numbers(), self.by_weight)
        })
    }
}

/// Requests that may be examples of a calling context.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ExemplarsPass {
    pub targets: ExemplarTargets,
}

impl RequestPass for ExemplarsPass {
    type Part = ExemplarCandidates;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        over.sweep_at_once(move |rows| {
            ExemplarCandidates::observe(rows.set, rows.table, rows.numbers(), &self.targets)
        })
    }
}
