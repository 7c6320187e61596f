//! Calls that could run side by side.

use super::model;
use crate::EngineError;
use crate::flow::paper::FlowSettings;
use crate::flow::passes::FlowPass;
use crate::flow::{
    ArgumentSums, CallPair, Candidates, FlowModel, ParalleliseReport, SerialGroup, SerialSums, TrialSums,
};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
use pathlight_base::sort::CompactSort as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Groups that are tried, of those that could save most.
const TRIED: usize = 40;

/// Reports which calls always run one after the other though nothing in the traces says that they must, and what the selected
/// requests would save if they ran side by side. How calls follow one another is learned from all requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parallelise {
    /// The selected requests.
    pub selection: Selection,
    /// Settings by which flows are learned: calls run one after the other if they do in this share of the invocations.
    pub settings: FlowSettings,
}

impl Query for Parallelise {
    type Report = ParalleliseReport;

    async fn run(self, workers: Workers) -> Result<ParalleliseReport, EngineError> {
        let Parallelise { selection, settings } = self;
        let model = model(&workers, &selection, settings).await?;
        parallelise(&workers, &selection, settings, model).await
    }
}

/// Returns the calls that could run side by side, and what that saves by a model of the selection's group.
pub(crate) async fn parallelise(
    workers: &Workers,
    selection: &Selection,
    settings: FlowSettings,
    model: Arc<FlowModel>,
) -> Result<ParalleliseReport, EngineError> {
    let whole = selection.of_all_requests();
    let sums = SerialSums::merge(workers.flow(&whole, FlowPass::Serial).await?);
    let candidates = Candidates::new(&sums, settings.tau_ppm);
    let mut arguments: BTreeMap<CallPair, ArgumentSums> = BTreeMap::new();
    let pass = FlowPass::Arguments { pairs: candidates.pairs() };
    for part in workers.flow::<BTreeMap<CallPair, ArgumentSums>>(&whole, pass).await? {
        part.into_iter().for_each(|(pair, sums)| arguments.entry(pair).or_default().merge(sums));
    }
    let (mut groups, dependent) = (candidates.groups(&arguments), candidates.dependent(&arguments));
    let found = groups.len() as u64;
    groups.truncate(TRIED);
    let tried = groups.len() as u64;
    let pass = FlowPass::Trials { model, trials: groups.iter().map(SerialGroup::changes).collect() };
    let sums = TrialSums::merge(workers.flow(selection, pass).await?);
    let (latency_us, requests, saved) = sums.finish();
    for (group, (affected, saved_us)) in groups.iter_mut().zip(saved) {
        (group.affected, group.saved_us) = (affected, saved_us);
    }
    groups.retain(|group| group.affected > 0);
    // Stable: equal ones stay as they were.
    groups.compact_sort_by(|a, b| b.saved_us.mean.total_cmp(&a.saved_us.mean));
    Ok(ParalleliseReport { requests, latency_us, groups, found, tried, dependent })
}
