//! Several what-ifs, each by itself, in one pass.

use super::changed::ChangedTree;
use super::prepare::PlacedModel;
use super::savings::{ChangedLatencies, Saving};
use super::{Changes, FlowModel, Visit, WhichRequests};
use crate::flame::{pack_sorted, unpack_sorted};
use pathlight_base::statistics::Percentiles;
use pathlight_trace::{Endpoint, Overlap, TraceRow, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Latencies, and by trial those that it changes: the accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrialSums {
    /// Sorted, as differences.
    latencies_us: Vec<u64>,
    trials: Vec<ChangedLatencies>,
}

impl TrialSums {
    /// Joins accumulators of disjoint requests and of the same trials; the result does not depend on their order.
    pub fn merge(parts: Vec<TrialSums>) -> TrialSums {
        let (mut latencies, mut sum) = (Vec::new(), TrialSums::default());
        for part in parts {
            latencies.extend(unpack_sorted(part.latencies_us));
            sum.trials.resize(part.trials.len().max(sum.trials.len()), ChangedLatencies::default());
            sum.trials.iter_mut().zip(part.trials).for_each(|(into, from)| into.merge(from));
        }
        latencies.sort();
        sum.latencies_us = pack_sorted(latencies);
        sum
    }

    /// Returns the latencies as they are, how many there are, and for each trial how many it changes and what it saves; percentiles
    /// that rise save less than nothing.
    pub fn finish(self) -> (Percentiles, u64, Vec<(u64, Saving)>) {
        let sorted = unpack_sorted(self.latencies_us);
        let latency_us = Percentiles::of_sorted(&sorted);
        let trials = self.trials.into_iter().map(|trial| trial.finish((&sorted, &latency_us)));
        (latency_us, sorted.len() as u64, trials.collect())
    }
}

enum Stage {
    /// The trial at hand.
    Trial(usize),
    Done,
}

/// Makes changes, each by itself, in every trace of a set.
pub struct TrialsRun {
    requests: WhichRequests,
    trials: Vec<Trial>,
    stage: Stage,
    roots: Vec<u32>,
    latencies: Vec<u64>,
}

struct Trial {
    /// Endpoints of which a trace has to have one to be changed; `None`: any may be.
    at: Option<Vec<u32>>,
    changed: ChangedTree,
    /// Latencies that change: before, after.
    found: Vec<(u64, u64)>,
}

impl Trial {
    fn matters(&self, set: &TraceSet, tree: &Tree) -> bool {
        let has =
            |at: &Vec<u32>| (0..tree.len() as u32).any(|span| at.contains(&set.endpoint(tree.row(span)).0));
        self.at.as_ref().is_none_or(has)
    }
}

impl TrialsRun {
    /// Returns a run over the traces `set` holds now.
    pub fn new(
        set: &TraceSet,
        model: &Arc<FlowModel>,
        overlap: Overlap,
        requests: WhichRequests,
        trials: &[Changes],
    ) -> TrialsRun {
        let model = PlacedModel::new(set, model);
        let trial = |changes: &Changes| Trial {
            at: endpoints_of(set, changes),
            changed: ChangedTree::new(set, model.clone(), overlap, changes),
            found: Vec::new(),
        };
        let trials = trials.iter().map(trial).collect();
        TrialsRun { requests, trials, stage: Stage::Done, roots: Vec::new(), latencies: Vec::new() }
    }

    /// Finishes the run; returns its accumulator.
    pub fn finish(mut self) -> TrialSums {
        self.latencies.sort_unstable();
        TrialSums {
            latencies_us: pack_sorted(self.latencies),
            trials: self.trials.into_iter().map(|trial| ChangedLatencies::of(&trial.found)).collect(),
        }
    }

    /// Goes on to the next trial that matters to the trace, from a place on.
    fn go_on(&mut self, set: &TraceSet, tree: &Tree, from: usize) {
        let next = self.trials.iter().skip(from).position(|trial| trial.matters(set, tree));
        self.stage = next.map_or(Stage::Done, |next| Stage::Trial(from + next));
        if let Stage::Trial(at) = self.stage {
            self.trials[at].changed.begin(set, tree);
        }
    }
}

/// Returns the endpoints of a set at which changes are made: callers of calls that run side by side, endpoints that change;
/// `None` if there are others.
fn endpoints_of(set: &TraceSet, changes: &Changes) -> Option<Vec<u32>> {
    let only = Changes {
        latencies: changes.latencies.clone(),
        beside: changes.beside.clone(),
        ..Changes::default()
    };
    if *changes != only {
        return None;
    }
    let parents = changes.beside.iter().map(|calls| calls.parent.clone());
    let changed = changes.latencies.iter().map(|change| Endpoint::new(&change.service, &change.operation));
    let number = |of: Endpoint| Some(set.find_endpoint(&of.service, &of.operation)?.0);
    Some(parents.chain(changed).filter_map(number).collect())
}

impl Visit for TrialsRun {
    fn wants(&mut self, set: &TraceSet, trace: &TraceRow) -> bool {
        self.requests.wants(set, trace)
    }

    fn begin(&mut self, set: &TraceSet, tree: &Tree) {
        self.requests.of(set, tree, &mut self.roots);
        self.latencies.extend(self.roots.iter().map(|&root| tree.duration_us(root)));
        self.go_on(set, tree, 0);
    }

    fn piece(&mut self, set: &TraceSet, tree: &Tree, _: &mut u32) -> Option<usize> {
        let Stage::Trial(at) = self.stage else { return None };
        let trial = &mut self.trials[at];
        if let Some(cost) = trial.changed.piece(set, tree) {
            return Some(cost);
        }
        let latencies = self.roots.iter().map(|&root| trial.changed.latency_us(root));
        trial.found.extend(latencies.filter(|(before, after)| before != after));
        self.go_on(set, tree, at + 1);
        Some(1 + tree.len() / 8)
    }
}
