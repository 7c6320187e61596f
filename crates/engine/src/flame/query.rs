//! The aggregate calling contexts.

use crate::EngineError;
use crate::endpoints::query::AtLatencies;
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

/// Reports the aggregate calling contexts at three latencies: of the requests near the median, the 95th and the 99th
/// percentile of their latency, as [`AtLatencies`] takes them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathsAtLatencies {
    /// The selected requests.
    pub selection: Selection,
}

impl Query for PathsAtLatencies {
    /// One report for each of [`AtLatencies::PERCENTS`].
    type Report = Vec<CriticalPathReport>;

    async fn run(self, workers: Workers) -> Result<Vec<CriticalPathReport>, EngineError> {
        let mut reports = Vec::with_capacity(AtLatencies::PERCENTS.len());
        for selection in AtLatencies::selections(&self.selection) {
            reports.push(CriticalPath { selection }.run(workers.clone()).await?);
        }
        Ok(reports)
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
