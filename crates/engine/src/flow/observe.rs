//! Accumulators of the passes over invocations.

use super::paper::{InvocationKey, METHODS, PredictScratch, PredictorTraining, Predictors, error};
use super::{FlowGraph, Observe, Order, PairCounts};
use crate::flame::{pack_sorted, unpack_sorted};
use pathlight_trace::{TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Returns the key of the invocation at span `parent`.
pub fn key_of(set: &TraceSet, tree: &Tree, parent: u32) -> InvocationKey {
    InvocationKey {
        start_us: tree.start_us[parent as usize],
        trace_id: set.trace_id_text(tree.trace),
        span_id: set.span_id_text(tree.row(parent)),
    }
}

/// Returns whether an invocation stands before `cut`; `None` is after all.
fn is_before(set: &TraceSet, tree: &Tree, parent: u32, cut: Option<&InvocationKey>) -> bool {
    let Some(cut) = cut else { return true };
    let start = tree.start_us[parent as usize];
    start < cut.start_us || start == cut.start_us && key_of(set, tree, parent) < *cut
}

/// Counts pairs for every table.
impl Observe for Vec<PairCounts> {
    fn observe(&mut self, _: &TraceSet, _: &Tree, table: u32, _: u32, order: &Order) {
        self[table as usize].observe(order);
    }
}

/// Trains on the invocations before the cut of each table.
pub struct Trainer {
    /// The cut of each table.
    pub cuts: Vec<Option<InvocationKey>>,
    /// The training of each table.
    pub trainings: Vec<PredictorTraining>,
}

impl Observe for Trainer {
    fn observe(&mut self, set: &TraceSet, tree: &Tree, table: u32, parent: u32, order: &Order) {
        let table = table as usize;
        if is_before(set, tree, parent, self.cuts[table].as_ref()) {
            let start_us = tree.start_us[parent as usize];
            self.trainings[table].observe(order, start_us, || key_of(set, tree, parent));
        }
    }
}

/// Collects the keys of the invocations that start at the given instant of each table.
pub struct KeyFinder {
    /// The instant of each table.
    pub starts_us: Vec<u64>,
    /// The keys found, one list per table.
    pub keys: Vec<Vec<InvocationKey>>,
}

impl Observe for KeyFinder {
    fn observe(&mut self, set: &TraceSet, tree: &Tree, table: u32, parent: u32, _: &Order) {
        if tree.start_us[parent as usize] == self.starts_us[table as usize] {
            self.keys[table as usize].push(key_of(set, tree, parent));
        }
    }
}

/// Estimates against actual latencies: by method, each list sorted by [`Estimates::sort`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimates {
    /// Estimate / actual.
    pub ratios: [Vec<f64>; METHODS],
    /// [`error`] of each.
    pub errors: [Vec<f64>; METHODS],
}

impl Estimates {
    /// Adds the estimates of one invocation, one of each method, and its actual latency.
    pub fn push(&mut self, estimates_us: [f64; METHODS], actual_us: u64) {
        let actual = actual_us as f64;
        for (method, estimate) in estimates_us.into_iter().enumerate() {
            self.ratios[method].push(if estimate == actual { 1.0 } else { estimate / actual });
            self.errors[method].push(error(estimate, actual));
        }
    }

    /// Adds the estimates of other invocations.
    pub fn merge(&mut self, other: Estimates) {
        let all = self.ratios.iter_mut().chain(&mut self.errors);
        for (into, from) in all.zip(other.ratios.into_iter().chain(other.errors)) {
            into.extend(from);
        }
    }

    /// Sorts every list, so that nothing depends on the order of invocations.
    pub fn sort(&mut self) {
        for list in self.ratios.iter_mut().chain(&mut self.errors) {
            list.sort_by(f64::total_cmp);
        }
    }
}

/// Estimates the invocations from the cut of each table on.
pub struct Tester {
    /// The cut of each table.
    pub cuts: Vec<Option<InvocationKey>>,
    /// The predictors of each table.
    pub predictors: Vec<Predictors>,
    scratch: Vec<PredictScratch>,
    /// The estimates over all tables.
    pub estimates: Estimates,
}

impl Tester {
    /// Returns a tester that has seen nothing.
    pub fn new(cuts: Vec<Option<InvocationKey>>, predictors: Vec<Predictors>) -> Tester {
        let scratch = predictors.iter().map(|_| PredictScratch::default()).collect();
        Tester { cuts, predictors, scratch, estimates: Estimates::default() }
    }
}

impl Observe for Tester {
    fn observe(&mut self, set: &TraceSet, tree: &Tree, table: u32, parent: u32, order: &Order) {
        let table = table as usize;
        if !is_before(set, tree, parent, self.cuts[table].as_ref()) {
            let estimates = self.predictors[table].estimate(order, &mut self.scratch[table]);
            self.estimates.push(estimates, order.latency_us());
        }
    }
}

/// Latencies and waits of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeSample {
    /// Latency L of the node in every invocation that has it.
    pub latency_us: Vec<u64>,
    /// The parent's own work P before the node, in the same invocations.
    pub wait_us: Vec<u64>,
    /// Invocations in which it is on the parent's critical path.
    pub critical: u64,
}

/// All that a flow's drawing shows of the invocations of one parent, but the edges that bind.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FlowSample {
    /// Edges, with tolerated overlaps.
    pub pairs: PairCounts,
    /// Latencies of the parent.
    pub latency_us: Vec<u64>,
    /// Invocations that lie in another span.
    pub called: u64,
    /// P of the return.
    pub return_us: Vec<u64>,
    /// The sample of each node.
    pub nodes: Vec<NodeSample>,
    #[serde(skip)]
    scratch: (Order, Vec<u32>),
}

impl FlowSample {
    /// Creates a sample of no invocations yet, of a parent with so many nodes.
    pub fn new(nodes: u32) -> FlowSample {
        FlowSample {
            pairs: PairCounts::new(nodes),
            nodes: vec![NodeSample::default(); nodes as usize],
            ..FlowSample::default()
        }
    }

    fn lists(&mut self) -> impl Iterator<Item = &mut Vec<u64>> {
        let of_nodes = self.nodes.iter_mut().flat_map(|node| [&mut node.latency_us, &mut node.wait_us]);
        [&mut self.latency_us, &mut self.return_us].into_iter().chain(of_nodes)
    }

    /// Sorts every list and writes it as differences, which are short in a message.
    pub fn pack(&mut self) {
        for list in self.lists() {
            list.sort_unstable();
            *list = pack_sorted(std::mem::take(list));
        }
    }

    /// Undoes [`pack`](Self::pack).
    pub fn unpack(&mut self) {
        for list in self.lists() {
            *list = unpack_sorted(std::mem::take(list));
        }
    }

    /// Adds other invocations of the same parent; neither is packed. Lists stay sorted if they were.
    pub fn merge(&mut self, mut other: FlowSample) {
        self.pairs.merge(&other.pairs);
        self.called += other.called;
        for (into, from) in self.nodes.iter_mut().zip(&other.nodes) {
            into.critical += from.critical;
        }
        for (into, from) in self.lists().zip(other.lists()) {
            into.append(from);
            into.sort();
        }
    }
}

impl Observe for FlowSample {
    fn observe(&mut self, _: &TraceSet, tree: &Tree, _: u32, parent: u32, order: &Order) {
        self.called += u64::from(tree.parent_of(parent).is_some());
        self.pairs.observe(order);
        self.latency_us.push(order.latency_us());
        let (strict, places) = &mut self.scratch;
        order.critical(places);
        let children = order.children();
        for &p in &*places {
            self.nodes[children[p as usize].node as usize].critical += 1;
        }
        let parent = order.interval_us();
        strict.set(parent.0, parent.1, children, None);
        for (p, child) in strict.children().iter().enumerate() {
            let node = &mut self.nodes[child.node as usize];
            node.latency_us.push(child.latency_us());
            node.wait_us.push(strict.gap_us(p).max(0) as u64);
        }
        self.return_us.push(strict.return_gap_us());
    }
}

/// Counts which edges of a flow bind: by (from, to), invocations in which `from` ends last of all that `to` waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bindings {
    /// The flow.
    pub flow: FlowGraph,
    /// By edge; [`START`](Self::START) and [`RETURN`](Self::RETURN) included.
    pub counts: BTreeMap<(u32, u32), u64>,
}

impl Bindings {
    /// The node before all.
    pub const START: u32 = u32::MAX;
    /// The node after all.
    pub const RETURN: u32 = u32::MAX - 1;

    /// Creates the counts of no invocations yet.
    pub fn new(flow: FlowGraph) -> Bindings {
        Bindings { flow, counts: BTreeMap::new() }
    }

    /// Adds the counts of other invocations.
    pub fn add(&mut self, counts: BTreeMap<(u32, u32), u64>) {
        counts.into_iter().for_each(|(edge, n)| *self.counts.entry(edge).or_default() += n);
    }
}

impl Observe for Bindings {
    fn observe(&mut self, _: &TraceSet, _: &Tree, _: u32, _: u32, order: &Order) {
        let children = order.children();
        let mut count = |from, to| *self.counts.entry((from, to)).or_default() += 1;
        for (p, child) in children.iter().enumerate() {
            let before = order.waits_for(p).iter().rev().map(|&q| children[q as usize].node);
            let mut in_flow = before.filter(|&node| self.flow.has(node, child.node));
            count(in_flow.next().unwrap_or(Bindings::START), child.node);
        }
        if let Some(&last) = order.by_end().last() {
            count(children[last as usize].node, Bindings::RETURN);
        }
    }
}
