//! How much slower services and calls may become.

use super::model;
use crate::EngineError;
use crate::anomalies::paper::vae::TrainingProgress;
use crate::flow::paper::FlowSettings;
use crate::flow::passes::FlowPass;
use crate::flow::query::Savings;
use crate::flow::{
    Changes, EndpointSaving, FlowModel, HeadroomReport, HeadroomRow, Quantile, SavingsReport, Slower,
    TrialSums,
};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
use crate::verdict::ServicesPartial;
use crate::verdict::one_set::sums;
use crate::verdict::query::times;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Services and endpoints that are tried: those with the most time.
const MOST_SERVICES: usize = 12;
const MOST_ENDPOINTS: usize = 12;
/// Steps until a whole percentage is found: the greatest is tried, then what is left is halved.
const STEPS: u64 = 1 + (HeadroomReport::MOST_PERCENT.ilog2() as u64 + 1);

/// Reports how much slower the own work of each service, and the calls of each endpoint, may become before a percentile of the
/// latency of the selected requests exceeds a limit: each alone, by what-ifs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headroom {
    /// The selected requests.
    pub selection: Selection,
    /// Settings by which flows are learned.
    pub settings: FlowSettings,
    /// The percentile of the limit.
    pub quantile: Quantile,
    /// The limit in microseconds.
    pub limit_us: u64,
}

impl Query for Headroom {
    type Report = HeadroomReport;

    async fn run(self, workers: Workers) -> Result<HeadroomReport, EngineError> {
        let Headroom { selection, settings, quantile, limit_us } = self;
        let savings = Savings { selection: selection.clone(), settings }.run(workers.clone()).await?;
        let before_us = quantile.of(&savings.latency_us);
        let mut report =
            HeadroomReport { requests: savings.requests, quantile, limit_us, before_us, rows: Vec::new() };
        if report.requests == 0 || report.is_exceeded() {
            return Ok(report);
        }
        let model = model(&workers, &selection, settings).await?;
        let times = times(&workers.requests(&selection).await?, false).await?;
        let tried = tried(&times, &savings);
        report.rows = Search { workers, model, selection, quantile, limit_us, before_us }.rows(tried).await?;
        // Stable: equal ones stay by name.
        report.rows.compact_sort_by(|a, b| {
            let percent = |row: &HeadroomRow| row.longer_percent.unwrap_or(u32::MAX);
            percent(a).cmp(&percent(b)).then_with(|| b.then_us.total_cmp(&a.then_us))
        });
        Ok(report)
    }
}

/// Returns what is tried: services by own work on critical paths, and endpoints by what they would save, by name.
fn tried(times: &ServicesPartial, savings: &SavingsReport) -> Vec<Slower> {
    let sums = sums(times);
    let mut services: Vec<(&str, u128)> = sums.iter().map(|(name, times)| (*name, times.0)).collect();
    services.retain(|service| service.1 > 0);
    // Stable: equal ones stay by name.
    services.compact_sort_by_key(|service| std::cmp::Reverse(service.1));
    services.truncate(MOST_SERVICES);
    // They stand by what the half of their own work would save.
    let saves = |endpoint: &&EndpointSaving| endpoint.affected > 0;
    let endpoints = savings.endpoints.iter().filter(saves).take(MOST_ENDPOINTS);
    let endpoints = endpoints.map(|of| Slower::Calls(Endpoint::new(&of.service, &of.operation)));
    let services = services.into_iter().map(|(name, _)| Slower::Service(name.to_owned()));
    let mut tried: Vec<Slower> = services.chain(endpoints).collect();
    tried.compact_sort();
    tried
}

struct Search {
    workers: Workers,
    model: Arc<FlowModel>,
    selection: Selection,
    quantile: Quantile,
    limit_us: u64,
    /// The percentile as it is.
    before_us: f64,
}

impl Search {
    /// Returns the percentile after each of some changes, each made alone.
    async fn percentiles_us(&self, step: u64, trials: Vec<Changes>) -> Result<Vec<f64>, EngineError> {
        self.workers.working(TrainingProgress { done: step, of: STEPS, ..TrainingProgress::default() }).await;
        let pass = FlowPass::Trials { model: self.model.clone(), trials };
        let (_, _, saved) = TrialSums::merge(self.workers.flow(&self.selection, pass).await?).finish();
        Ok(saved.iter().map(|(_, saving)| self.before_us - self.quantile.saved_us(saving)).collect())
    }

    /// Finds the greatest percentage of each that stays within the limit. No latency falls as something gets slower, so what is left
    /// is halved, of all at once.
    async fn rows(&self, tried: Vec<Slower>) -> Result<Vec<HeadroomRow>, EngineError> {
        const MOST: u32 = HeadroomReport::MOST_PERCENT;
        let limit_us = self.limit_us as f64;
        let most = self.percentiles_us(0, tried.iter().map(|of| of.changes(MOST)).collect()).await?;
        // What does not matter however slow it is has no headroom: it is no part of the answer.
        let mut rows: Vec<(Slower, u32, u32, f64)> = Vec::new();
        let mut out = Vec::new();
        for (of, then_us) in tried.into_iter().zip(most) {
            if then_us > limit_us {
                rows.push((of, 0, MOST, self.before_us));
            } else {
                out.push(HeadroomRow { of, longer_percent: None, then_us });
            }
        }
        for step in 1.. {
            let middle = |low: u32, high: u32| low + (high - low) / 2;
            let open: Vec<usize> = (0..rows.len()).filter(|&at| rows[at].2 - rows[at].1 > 1).collect();
            if open.is_empty() {
                break;
            }
            let trials = open.iter().map(|&at| rows[at].0.changes(middle(rows[at].1, rows[at].2))).collect();
            let found = self.percentiles_us(step, trials).await?;
            for (at, then_us) in open.into_iter().zip(found) {
                let (_, low, high, us) = &mut rows[at];
                let middle = middle(*low, *high);
                if then_us > limit_us { *high = middle } else { (*low, *us) = (middle, then_us) }
            }
        }
        let row = |(of, percent, _, then_us)| HeadroomRow { of, longer_percent: Some(percent), then_us };
        out.extend(rows.into_iter().map(row));
        out.compact_sort_by(|a, b| a.of.cmp(&b.of));
        Ok(out)
    }
}
