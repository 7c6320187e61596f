//! What would bring a percentile of the latency down to a target.

use super::passes::FlowPass;
use super::{Savings, model};
use crate::EngineError;
use crate::queries::Query;
use crate::workers::Workers;
use pathlight_analysis::flow::{
    self, ChangeOf, Changes, FlowSettings, LatencyChange, Model, Quantile, TargetReport, TargetWay,
};
use pathlight_analysis::requests::Selection;
use serde::{Deserialize, Serialize};

/// Reports which endpoints, and how much faster, would bring a percentile of the latency of the selected requests down to a
/// target: own work, learned and computed as by a what-if.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Which requests.
    pub selection: Selection,
    /// How flows are learned.
    pub settings: FlowSettings,
    /// Which percentile.
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
        let search = Search { model: model(&workers, &selection, settings).await?, selection, quantile };
        for way in &mut report.single {
            if way.at_best_us <= target_us as f64 {
                search.least(&workers, way, target_us).await?;
            }
        }
        for way in &mut report.together {
            way.at_best_us = search.at(&workers, way, 100).await?;
            if way.at_best_us <= target_us as f64 {
                search.least(&workers, way, target_us).await?;
            }
        }
        Ok(report)
    }
}

struct Search {
    model: Model,
    selection: Selection,
    quantile: Quantile,
}

impl Search {
    /// The percentile if the endpoints are so many percent faster.
    async fn at(&self, workers: &Workers, way: &TargetWay, percent: u32) -> Result<f64, EngineError> {
        let latencies = way.endpoints.iter().map(|endpoint| LatencyChange {
            service: endpoint.service.clone(),
            operation: endpoint.operation.clone(),
            of: ChangeOf::OwnWork,
            share_ppm: -10_000 * i64::from(percent),
            add_us: 0,
        });
        let changes = Changes { latencies: latencies.collect(), parallel: Vec::new() };
        let pass = FlowPass::WhatIf { model: self.model.clone(), changes };
        let report = flow::WhatIf::merge(workers.flow(&self.selection, pass).await?).finish();
        Ok(self.quantile.of(&report.after_us))
    }

    /// Finds the least percentage that reaches the target; 100 does. No latency rises as something gets faster.
    async fn least(&self, workers: &Workers, way: &mut TargetWay, target_us: u64) -> Result<(), EngineError> {
        let (mut low, mut high) = (0, 100);
        while high - low > 1 {
            let middle = (low + high) / 2;
            let reaches = self.at(workers, way, middle).await? <= target_us as f64;
            (low, high) = if reaches { (low, middle) } else { (middle, high) };
        }
        way.faster_percent = Some(high);
        Ok(())
    }
}
