//! What would bring a percentile of the latency down to a target.

use super::what_if::what_if;
use super::{Savings, model};
use crate::EngineError;
use crate::queries::Query;
use crate::workers::Workers;
use pathlight_analysis::anomaly::vae::TrainingProgress;
use pathlight_analysis::flow::{self, CallsOf, FlowSettings, Model, Quantile, TargetReport, TargetWay};
use pathlight_analysis::requests::Selection;
use serde::{Deserialize, Serialize};

/// Reports which endpoints, and how much faster, would bring a percentile of the latency of the selected requests down to a
/// target: own work, learned and computed as by a what-if.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The selected requests.
    pub selection: Selection,
    /// How flows are learned.
    pub settings: FlowSettings,
    /// The percentile of the target.
    pub quantile: Quantile,
    /// What it is to be, in microseconds.
    pub target_us: u64,
}

impl Query for Target {
    type Report = TargetReport;

    async fn run(self, workers: Workers) -> Result<TargetReport, EngineError> {
        let Target { selection, settings, quantile, target_us } = self;
        let savings = Savings { selection: selection.clone(), settings }.run(workers.clone()).await?;
        let mut report = TargetReport::new(&savings, quantile, target_us);
        if report.is_reached() {
            return Ok(TargetReport { single: Vec::new(), together: Vec::new(), ..report });
        }
        let model = model(&workers, &selection, settings).await?;
        let reaches = |way: &TargetWay| way.at_best_us <= target_us as f64;
        let single = report.single.iter().filter(|way| reaches(way)).count() as u64;
        let of = HALVINGS * single + (HALVINGS + 1) * report.together.len() as u64 + 1;
        let mut search = Search { workers, model, selection, quantile, done: 0, of };
        for way in report.single.iter_mut().filter(|way| reaches(way)) {
            search.least(way, target_us).await?;
        }
        for way in &mut report.together {
            let at_best = search.at(way, 100, CallsOf::Nobody).await?.finish();
            way.at_best_us = quantile.of(&at_best.after_us);
            if reaches(way) {
                search.least(way, target_us).await?;
            }
        }
        if let Some((way, percent)) = report.reaching_way().and_then(|way| Some((way, way.faster_percent?))) {
            let calls = search.at(way, percent, CallsOf::All).await?.take_calls();
            report.set_budgets(calls);
        }
        Ok(report)
    }
}

/// What-ifs that find a whole percentage from 1 to 100.
const HALVINGS: u64 = 7;

struct Search {
    workers: Workers,
    model: Model,
    selection: Selection,
    quantile: Quantile,
    /// What-ifs made, and made at most.
    done: u64,
    of: u64,
}

impl Search {
    /// Returns the requests, and these calls, if the endpoints are so many percent faster.
    async fn at(
        &mut self,
        way: &TargetWay,
        percent: u32,
        calls: CallsOf,
    ) -> Result<flow::WhatIf, EngineError> {
        let (done, of) = (self.done, self.of);
        self.workers.working(TrainingProgress { done, of, ..TrainingProgress::default() }).await;
        self.done += 1;
        what_if(&self.workers, &self.selection, self.model.clone(), way.changes(percent), calls).await
    }

    /// Finds the least percentage that reaches the target; 100 does. No latency rises as something gets faster.
    async fn least(&mut self, way: &mut TargetWay, target_us: u64) -> Result<(), EngineError> {
        let (mut low, mut high) = (0, 100);
        while high - low > 1 {
            let middle = (low + high) / 2;
            let report = self.at(way, middle, CallsOf::Nobody).await?.finish();
            let reaches = self.quantile.of(&report.after_us) <= target_us as f64;
            (low, high) = if reaches { (low, middle) } else { (middle, high) };
        }
        way.faster_percent = Some(high);
        Ok(())
    }
}
