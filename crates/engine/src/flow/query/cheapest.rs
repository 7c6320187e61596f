//! The cheapest changes that bring a percentile of the latency down to a target.

use super::model;
use super::what_if::{learn_usual, what_if};
use crate::EngineError;
use crate::anomalies::paper::vae::TrainingProgress;
use crate::flow::cheapest::{CheapestSearch, members};
use crate::flow::paper::FlowSettings;
use crate::flow::{CallsOf, Changes, CheapestReport, ChosenChange, PricedChanges, Quantile};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
use crate::verdict::hit::usual_requests;
use serde::{Deserialize, Serialize};

/// Reports the cheapest set of some changes that brings a percentile of the latency of the selected requests down to a target: each set
/// is learned and computed as by a what-if.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cheapest {
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
    /// The changes to choose from; those beyond [`Cheapest::MOST`] are not.
    pub options: Vec<PricedChanges>,
}

impl Cheapest {
    /// Most changes to choose from.
    pub const MOST: usize = 40;
}

impl Query for Cheapest {
    type Report = CheapestReport;

    async fn run(self, workers: Workers) -> Result<CheapestReport, EngineError> {
        let Cheapest { selection, baseline, settings, quantile, target_us, mut options } = self;
        options.truncate(Cheapest::MOST);
        let reference = usual_requests(&selection, baseline.as_ref());
        for option in &mut options {
            learn_usual(&workers, &selection, &reference, &mut option.changes).await?;
        }
        let model = model(&workers, &selection, settings).await?;
        let mut search = CheapestSearch::new(&options, target_us);
        let is_exact = options.len() <= CheapestReport::EXACT;
        let mut report = CheapestReport {
            quantile,
            target_us,
            options: options.len() as u64,
            is_exact,
            ..CheapestReport::default()
        };
        // As it is, and with all changes, in any case: both are said.
        let mut next = Some(0);
        let found = loop {
            let set = match next.take() {
                Some(set) => set,
                None if !search.known.contains_key(&search.all()) => search.all(),
                None => match if is_exact { search.exact() } else { search.greedy() } {
                    Ok(found) => break found,
                    Err(set) => set,
                },
            };
            let (done, of) = (search.known.len() as u64, bound(options.len()));
            workers.working(TrainingProgress { done: done.min(of), of, ..TrainingProgress::default() }).await;
            let changes = members(set).fold(Changes::default(), |all, at| all.with(&options[at].changes));
            let after =
                what_if(&workers, &selection, model.clone(), changes, CallsOf::Nobody).await?.finish();
            report.requests = after.requests;
            search.known.insert(set, quantile.of(&after.after_us));
        };
        let us = |set| search.known.get(&set).copied().unwrap_or_default();
        (report.before_us, report.all_us) = (us(0), us(search.all()));
        report.tried = search.known.len() as u64;
        report.after_us = us(found.unwrap_or(0));
        report.cost = thousandths(search.cost(found.unwrap_or(0)));
        report.chosen = found.map(|set| {
            let chosen = members(set).map(|at| &options[at]);
            let change = |of: &PricedChanges| ChosenChange {
                change: of.name.clone(),
                cost: thousandths(of.cost_thousandths),
            };
            chosen.map(change).collect()
        });
        Ok(report)
    }
}

fn thousandths(cost: u64) -> f64 {
    cost as f64 / 1000.0
}

/// Returns about how many sets are tried at most.
fn bound(options: usize) -> u64 {
    if options <= CheapestReport::EXACT { 1 << options } else { (options * (options + 3) / 2 + 2) as u64 }
}
