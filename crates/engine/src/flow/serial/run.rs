//! What the requests would take if groups of calls ran side by side: the third pass, all groups in one.

use crate::flame::{pack_sorted, unpack_sorted};
use crate::flow::changed::ChangedTree;
use crate::flow::savings::{ChangedLatencies, Saving};
use crate::flow::{CallsBeside, Changes, FlowModel, Visit, WhichRequests};
use pathlight_base::statistics::Percentiles;
use pathlight_trace::{Overlap, TraceRow, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Latencies, and by group those that it changes: the accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SideBySideSums {
    /// Sorted, as differences.
    latencies_us: Vec<u64>,
    groups: Vec<ChangedLatencies>,
}

impl SideBySideSums {
    /// Joins accumulators of disjoint requests and of the same groups; the result does not depend on their order.
    pub fn merge(parts: Vec<SideBySideSums>) -> SideBySideSums {
        let (mut latencies, mut sum) = (Vec::new(), SideBySideSums::default());
        for part in parts {
            latencies.extend(unpack_sorted(part.latencies_us));
            sum.groups.resize(part.groups.len().max(sum.groups.len()), ChangedLatencies::default());
            sum.groups.iter_mut().zip(part.groups).for_each(|(into, from)| into.merge(from));
        }
        latencies.sort();
        sum.latencies_us = pack_sorted(latencies);
        sum
    }

    /// Returns the latencies as they are, how many there are, and for each group how many it changes and what it saves.
    pub fn finish(self) -> (Percentiles, u64, Vec<(u64, Saving)>) {
        let sorted = unpack_sorted(self.latencies_us);
        let latency_us = Percentiles::of_sorted(&sorted);
        let groups = self.groups.into_iter().map(|group| group.finish((&sorted, &latency_us)));
        (latency_us, sorted.len() as u64, groups.collect())
    }
}

enum Stage {
    /// The group at hand.
    Group(usize),
    Done,
}

/// Runs groups of calls side by side, each by itself, in every trace of a set.
pub struct SideBySideRun {
    requests: WhichRequests,
    groups: Vec<Group>,
    stage: Stage,
    roots: Vec<u32>,
    latencies: Vec<u64>,
}

struct Group {
    /// The endpoint of the parent; `None`: the set has none.
    parent: Option<u32>,
    changed: ChangedTree,
    /// Latencies that change: before, after.
    found: Vec<(u64, u64)>,
}

impl SideBySideRun {
    /// Returns a run over the traces `set` holds now.
    pub fn new(
        set: &TraceSet,
        model: Arc<FlowModel>,
        overlap: Overlap,
        requests: WhichRequests,
        groups: &[CallsBeside],
    ) -> SideBySideRun {
        let groups = groups.iter().map(|calls| {
            let parent = set.find_endpoint(&calls.parent.service, &calls.parent.operation);
            let changes = Changes { beside: vec![calls.clone()], ..Changes::default() };
            let changed = ChangedTree::new(set, model.clone(), overlap, &changes);
            Group { parent: parent.map(|parent| parent.0), changed, found: Vec::new() }
        });
        let groups = groups.collect();
        SideBySideRun { requests, groups, stage: Stage::Done, roots: Vec::new(), latencies: Vec::new() }
    }

    /// Finishes the run; returns its accumulator.
    pub fn finish(mut self) -> SideBySideSums {
        self.latencies.sort_unstable();
        SideBySideSums {
            latencies_us: pack_sorted(self.latencies),
            groups: self.groups.into_iter().map(|group| ChangedLatencies::of(&group.found)).collect(),
        }
    }

    /// Goes on to the next group whose parent the trace has, from a place on.
    fn go_on(&mut self, set: &TraceSet, tree: &Tree, from: usize) {
        let is_there = |group: &Group| {
            let at = |span: u32| Some(set.endpoint(tree.row(span)).0);
            group.parent.is_some() && (0..tree.len() as u32).any(|span| at(span) == group.parent)
        };
        let next = self.groups.iter().skip(from).position(is_there);
        self.stage = next.map_or(Stage::Done, |next| Stage::Group(from + next));
        if let Stage::Group(at) = self.stage {
            self.groups[at].changed.begin(set, tree);
        }
    }
}

impl Visit for SideBySideRun {
    fn wants(&mut self, set: &TraceSet, trace: &TraceRow) -> bool {
        self.requests.wants(set, trace)
    }

    fn begin(&mut self, set: &TraceSet, tree: &Tree) {
        self.requests.of(set, tree, &mut self.roots);
        self.latencies.extend(self.roots.iter().map(|&root| tree.duration_us(root)));
        self.go_on(set, tree, 0);
    }

    fn piece(&mut self, set: &TraceSet, tree: &Tree) -> Option<usize> {
        let Stage::Group(at) = self.stage else { return None };
        let group = &mut self.groups[at];
        if let Some(cost) = group.changed.piece(set, tree) {
            return Some(cost);
        }
        let latencies = self.roots.iter().map(|&root| group.changed.latency_us(root));
        group.found.extend(latencies.filter(|(before, after)| before != after));
        self.go_on(set, tree, at + 1);
        Some(1 + tree.len() / 8)
    }
}
