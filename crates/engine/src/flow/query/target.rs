//! Changes that bring a percentile of the latency down to a target.

use super::model;
use super::what_if::{learn_usual, what_if};
use crate::EngineError;
use crate::anomalies::paper::vae::TrainingProgress;
use crate::flow::paper::FlowSettings;
use crate::flow::query::Savings;
use crate::flow::{
    self, AnyWay, CallsOf, Changes, EndpointSaving, FlowModel, Quantile, SavingsReport, ShareChange,
    TargetPart, TargetReport, TargetWay,
};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
use crate::verdict::hit::usual_requests;
use crate::verdict::one_set::sums;
use crate::verdict::query::times;
use crate::verdict::{ServicePart, ServicesPartial};
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Reports which endpoints and which parts of services, and how much faster, would bring a percentile of the latency of the
/// selected requests down to a target: learned and computed as by a what-if.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// The selected requests.
    pub selection: Selection,
    /// Set A, which says what subjects usually take; `None`: the faster half of each request type does.
    pub baseline: Option<Selection>,
    /// Settings by which flows are learned.
    pub settings: FlowSettings,
    /// The percentile of the target.
    pub quantile: Quantile,
    /// The target value, in microseconds.
    pub target_us: u64,
}

impl Query for Target {
    type Report = TargetReport;

    async fn run(self, workers: Workers) -> Result<TargetReport, EngineError> {
        let Target { selection, baseline, settings, quantile, target_us } = self;
        let savings = Savings { selection: selection.clone(), settings }.run(workers.clone()).await?;
        let mut report = TargetReport::new(&savings, quantile, target_us);
        if report.is_reached() {
            return Ok(TargetReport { single: Vec::new(), ..report });
        }
        let model = model(&workers, &selection, settings).await?;
        report.parts = parts(&times(&workers.requests(&selection).await?, false).await?, &savings);
        let of_parts = PART * report.parts.len() as u64;
        let of = LEAST * (report.reaching + 2 * FINAL as u64) + GROWN + of_parts + 1;
        let before_us = report.before_us;
        let reference = usual_requests(&selection, baseline.as_ref());
        let mut search = Search { workers, model, selection, quantile, target_us, before_us, done: 0, of };
        for way in &mut report.single {
            way.faster_percent = search.least(AnyWay::Endpoints(&*way)).await?;
        }
        search.find_together(&mut report).await?;
        for part in &mut report.parts {
            search.try_part(part, &reference).await?;
        }
        report.parts.retain(|part| part.at_best_us < before_us);
        // Stable: equal ones stay by name.
        report.parts.compact_sort_by(|a, b| a.at_best_us.total_cmp(&b.at_best_us));
        if let Some((way, percent)) = report.reaching_way().and_then(|way| Some((way, way.percent()?))) {
            let calls = search.at(way.changes(percent), CallsOf::All).await?.take_calls();
            report.set_budgets(calls);
        }
        Ok(report)
    }
}

/// Steps towards the least percentage that are guesses; the rest halve what is left.
const GUESSES: u64 = 3;
/// What-ifs that find a whole percentage from 1 to 100, at most: the guesses, and 7 halvings.
const LEAST: u64 = GUESSES + 7;

/// Endpoints tried beside those that are gone already: so many of those that then decide most of the latency...
const DECIDING: usize = 4;
/// ...and so many of those that bring the percentile down most alone.
const SINGLE: usize = 3;
const BESIDE: u64 = (DECIDING + SINGLE) as u64;
/// Ways of one size of which the least percentage is found, and from which larger ones are grown.
const FINAL: usize = 3;
/// What-ifs at most for all ways to be grown: none, one, two and three endpoints.
const GROWN: u64 = 1 + BESIDE + BESIDE * BESIDE + (FINAL as u64 + 1) * BESIDE;

/// Parts of services that are tried, of own work and of waiting for services alike: those with the most time.
const PARTS: usize = 8;
/// What-ifs at most for one of them: gone, as usual, and to find the percentage.
const PART: u64 = 2 + LEAST;

/// Returns the parts of services that take most time, by name. Own work of a service with a single endpoint is that of the
/// endpoint.
fn parts(times: &ServicesPartial, savings: &SavingsReport) -> Vec<TargetPart> {
    let has_several = |service: &str| {
        let works = |of: &&EndpointSaving| of.service == service && 2 * of.waiting_spans <= of.spans;
        savings.endpoints.iter().filter(works).count() > 1
    };
    let sums = sums(times);
    let most = |part: ServicePart| {
        let time_us = |(_, times): &(&str, (u128, u128))| match part {
            ServicePart::Own => times.0,
            _ => times.1,
        };
        let mut services: Vec<(&str, (u128, u128))> =
            sums.iter().map(|(name, times)| (*name, *times)).collect();
        services.retain(|of| time_us(of) > 0 && (part != ServicePart::Own || has_several(of.0)));
        // Stable: equal ones stay by name.
        services.compact_sort_by(|a, b| time_us(b).cmp(&time_us(a)));
        services.truncate(PARTS);
        services.into_iter().map(move |(service, _)| (service.to_owned(), part))
    };
    let mut found: Vec<(String, ServicePart)> = most(ServicePart::Own).chain(most(ServicePart::In)).collect();
    found.compact_sort();
    let part = |(service, part)| TargetPart {
        service,
        part,
        less_percent: None,
        at_best_us: f64::INFINITY,
        usual_us: f64::INFINITY,
    };
    found.into_iter().map(part).collect()
}

/// A way at its best, and who decides the latency then.
struct Grown {
    way: TargetWay,
    deciding: Vec<Endpoint>,
}

struct Search {
    workers: Workers,
    model: Arc<FlowModel>,
    selection: Selection,
    quantile: Quantile,
    target_us: u64,
    /// The percentile as it is.
    before_us: f64,
    /// What-ifs made, and made at most.
    done: u64,
    of: u64,
}

impl Search {
    /// Returns the requests, and these calls, after changes.
    async fn at(&mut self, changes: Changes, calls: CallsOf) -> Result<flow::WhatIfLatencies, EngineError> {
        let (done, of) = (self.done, self.of);
        self.workers.working(TrainingProgress { done, of, ..TrainingProgress::default() }).await;
        self.done += 1;
        what_if(&self.workers, &self.selection, self.model.clone(), changes, calls).await
    }

    /// Returns the percentile after changes.
    async fn percentile_us(&mut self, changes: Changes) -> Result<f64, EngineError> {
        Ok(self.quantile.of(&self.at(changes, CallsOf::Nobody).await?.finish().after_us))
    }

    /// Returns the least percentage that reaches the target, if any does. No latency rises as something gets faster.
    async fn least(&mut self, way: AnyWay<'_>) -> Result<Option<u32>, EngineError> {
        let (target_us, until) = (self.target_us as f64, self.done + LEAST);
        if way.at_best_us() > target_us {
            return Ok(None);
        }
        let (mut low, mut high) = ((0, self.before_us), (100, way.at_best_us()));
        for step in 0.. {
            if high.0 - low.0 <= 1 {
                break;
            }
            // What is saved is nearly proportional to the percentage.
            let share = (low.1 - target_us) / (low.1 - high.1);
            let guess = low.0 + (share * f64::from(high.0 - low.0)).ceil() as u32;
            let middle = if step < GUESSES { guess } else { (low.0 + high.0) / 2 };
            let percent = middle.clamp(low.0 + 1, high.0 - 1);
            let us = self.percentile_us(way.changes(percent)).await?;
            let reached = if us <= target_us { &mut high } else { &mut low };
            *reached = (percent, us);
        }
        self.done = until;
        Ok(Some(high.0))
    }

    /// Finds what a part of a service brings: gone, at least to reach the target, and as in the reference.
    async fn try_part(&mut self, part: &mut TargetPart, reference: &Selection) -> Result<(), EngineError> {
        let until = self.done + PART;
        part.at_best_us = self.percentile_us(part.changes(100)).await?;
        if part.at_best_us < self.before_us {
            part.less_percent = self.least(AnyWay::Part(&*part)).await?;
            let mut usual = part.usual();
            learn_usual(&self.workers, &self.selection, reference, &mut usual).await?;
            part.usual_us = self.percentile_us(usual).await?;
        }
        self.done = until;
        Ok(())
    }

    /// Returns endpoints without any own work, and who decides then.
    async fn gone(&mut self, endpoints: Vec<Endpoint>) -> Result<Grown, EngineError> {
        let mut way = TargetWay { endpoints, faster_percent: None, at_best_us: self.before_us };
        let mut report = self.at(way.changes(100), CallsOf::Nobody).await?.finish();
        way.at_best_us = self.quantile.of(&report.after_us);
        // Stable: equal ones stay as they were.
        report.endpoints.compact_sort_by(|a, b| {
            b.after_us
                .cmp(&a.after_us)
                .then_with(|| (&a.service, &a.operation).cmp(&(&b.service, &b.operation)))
        });
        let name = |of: &ShareChange| Endpoint::new(&of.service, &of.operation);
        let deciding = report.endpoints.iter().filter(|of| of.after_us > 0).map(name);
        let deciding: Vec<Endpoint> =
            deciding.filter(|of| !way.endpoints.contains(of)).take(DECIDING).collect();
        Ok(Grown { way, deciding })
    }

    /// Returns ways with one endpoint more: who decides then, or is best alone.
    async fn grow(&mut self, from: &[Grown], single: &[Endpoint]) -> Result<Vec<Grown>, EngineError> {
        let mut grown: Vec<Grown> = Vec::new();
        for Grown { way, deciding } in from {
            for one in deciding.iter().chain(single) {
                let endpoints = [way.endpoints.as_slice(), std::slice::from_ref(one)].concat();
                if !way.endpoints.contains(one) && !grown.iter().any(|grown| grown.way.is_of(&endpoints)) {
                    grown.push(self.gone(endpoints).await?);
                }
            }
        }
        Ok(grown)
    }

    /// Finds the best two and the best three endpoints. Of calls side by side each alone may save nothing, so the second is looked
    /// for with the first gone. Not all pairs are tried.
    async fn find_together(&mut self, report: &mut TargetReport) -> Result<(), EngineError> {
        let single: Vec<Endpoint> =
            report.single.iter().take(SINGLE).filter_map(|way| way.endpoints.first().cloned()).collect();
        let none = self.gone(Vec::new()).await?;
        let mut from = self.grow(&[none], &single).await?;
        let percents = report.single.iter().map(|way| way.rank().0);
        let mut fewer = (percents.min().unwrap_or(u32::MAX), self.before_us);
        fewer.1 = report.single.first().map_or(fewer.1, |way| way.at_best_us);
        for _ in [2, 3] {
            from = self.grow(&from, &single).await?;
            // Those that decide one after the other, whatever each saves before all of them are gone.
            let Some(chain) = from.first().map(|grown| grown.way.endpoints.clone()) else { break };
            // Stable: equal ones stay as they were.
            from.compact_sort_by(|a, b| a.way.at_best_us.total_cmp(&b.way.at_best_us));
            if let Some(chain) = from.iter().skip(FINAL).position(|grown| grown.way.is_of(&chain)) {
                from.swap(FINAL, FINAL + chain);
            }
            from.truncate(FINAL + 1);
            for grown in from.iter_mut().take(FINAL) {
                grown.way.faster_percent = self.least(AnyWay::Endpoints(&grown.way)).await?;
            }
            let best = from.iter().map(|grown| &grown.way).take(FINAL).min_by(|a, b| {
                let (a, b) = (a.rank(), b.rank());
                a.0.cmp(&b.0).then_with(|| a.1.total_cmp(&b.1))
            });
            if let Some(best) = best.filter(|way| way.rank().0 <= fewer.0 && way.at_best_us < fewer.1) {
                fewer = best.rank();
                report.together.push(best.clone());
            }
        }
        Ok(())
    }
}
