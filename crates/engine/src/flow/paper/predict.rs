//! The six predictors of a parent's latency (`docs/definitions/execution-flow.md` section 3).

use super::super::{FlowGraph, Order, PairCounts};
use super::{Clusters, InvocationKey, Metric, Neighbours, Products};
use pathlight_base::sort::CompactSort as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Settings by which flows are learned and compared.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct FlowSettings {
    /// Share of the invocations with both nodes in which an edge must hold, in millionths.
    pub tau_ppm: u32,
    /// The metric by which clusters are near.
    pub metric: Metric,
    /// Invocations that make a cluster.
    pub min_traces: u32,
    /// Whether the best critical path ends with P of the return.
    pub path_has_return: bool,
}

impl Default for FlowSettings {
    fn default() -> Self {
        FlowSettings { tau_ppm: 990_000, metric: Metric::Likelihood, min_traces: 5, path_has_return: true }
    }
}

impl FlowSettings {
    /// Returns the settings of the paper.
    pub fn paper() -> FlowSettings {
        FlowSettings { tau_ppm: 1_000_000, metric: Metric::Paper, min_traces: 5, path_has_return: false }
    }
}

/// Number of predictors.
pub const METHODS: usize = 6;
/// Their names in the order of all tables: those of the paper's Table 1.
pub const METHOD_NAMES: [&str; METHODS] = [
    "serial",
    "parallel",
    "linear regression",
    "best critical path",
    "aggregate flow",
    "nearest-neighbour flow",
];

/// All that the predictors of one parent endpoint learn from: the accumulator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct PredictorTraining {
    pairs: PairCounts,
    clusters: Clusters,
    products: Products,
    /// Critical paths as sorted nodes.
    paths: BTreeSet<Vec<u32>>,
    #[serde(skip)]
    scratch: (Vec<u32>, Vec<u32>),
}

impl PredictorTraining {
    /// Creates a training of no invocations yet, of a parent with so many nodes.
    pub fn new(nodes: u32) -> PredictorTraining {
        PredictorTraining {
            pairs: PairCounts::new(nodes),
            products: Products::new(nodes),
            ..PredictorTraining::default()
        }
    }

    /// Adds one invocation, ordered without overlaps. `key` makes its key, its start is `start_us`.
    pub fn observe(&mut self, order: &Order, start_us: u64, key: impl FnOnce() -> InvocationKey) {
        self.pairs.observe(order);
        self.clusters.observe(order, start_us, key);
        self.products.observe(order);
        let (places, path) = &mut self.scratch;
        order.critical(places);
        path.clear();
        path.extend(places.iter().map(|&p| order.children()[p as usize].node));
        path.sort_unstable();
        if !self.paths.contains(path.as_slice()) {
            self.paths.insert(path.clone());
        }
    }

    /// Adds other invocations of the same parent.
    pub fn merge(&mut self, other: PredictorTraining) {
        self.pairs.merge(&other.pairs);
        self.clusters.merge(other.clusters);
        self.products.merge(&other.products);
        self.paths.extend(other.paths);
    }

    /// Finishes learning; returns the predictors.
    pub fn finish(self, settings: FlowSettings) -> Predictors {
        Predictors {
            flow: self.pairs.flow(settings.tau_ppm),
            neighbours: self.clusters.finish(settings.metric, settings.min_traces),
            weights: self.products.solve(),
            paths: self.paths.into_iter().collect(),
            path_has_return: settings.path_has_return,
        }
    }
}

/// Six predictors of one parent endpoint, trained.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Predictors {
    /// The aggregate flow.
    pub flow: FlowGraph,
    /// The clusters.
    pub neighbours: Neighbours,
    /// By node, its weight in the regression.
    pub weights: Vec<f64>,
    paths: Vec<Vec<u32>>,
    path_has_return: bool,
}

/// Space that the predictions of one parent endpoint need, kept from one to the next.
#[derive(Default)]
pub struct PredictScratch {
    by_node: Vec<Option<u64>>,
    latencies: Vec<(u32, u64)>,
    taken: Vec<(u32, u64)>,
    values: Vec<u64>,
    complete: Vec<u64>,
    /// The paths that fit the nodes seen last, and these nodes.
    fitting: (Vec<u32>, Vec<u32>),
}

impl Predictors {
    /// Returns the six estimates of an invocation's latency in microseconds, in the order of [`METHOD_NAMES`]. `order`
    /// holds it without overlaps.
    pub fn estimate(&self, order: &Order, scratch: &mut PredictScratch) -> [f64; METHODS] {
        let PredictScratch { by_node, latencies, taken, values, complete, fitting } = scratch;
        by_node.clear();
        by_node.resize(self.flow.len(), None);
        latencies.clear();
        taken.clear();
        let return_gap_us = order.return_gap_us();
        let (mut serial, mut parallel) = (return_gap_us, 0);
        for (p, child) in order.children().iter().enumerate() {
            // Without overlaps no gap is negative.
            let own = order.gap_us(p).max(0) as u64 + child.latency_us();
            serial = serial.saturating_add(own);
            parallel = parallel.max(own);
            by_node[child.node as usize] = Some(own);
            latencies.push((child.node, child.latency_us()));
            taken.push((child.node, own));
        }
        latencies.compact_sort();
        taken.compact_sort();
        let regression: f64 =
            latencies.iter().map(|&(node, us)| self.weights[node as usize] * us as f64).sum();
        if !fitting.1.iter().copied().eq(latencies.iter().map(|l| l.0)) || fitting.1.is_empty() {
            let fits = |path: &Vec<u32>| path.iter().all(|&node| by_node[node as usize].is_some());
            let paths = self.paths.iter().enumerate().filter(|(_, path)| fits(path));
            fitting.0 = paths.map(|(at, _)| at as u32).collect();
            fitting.1 = latencies.iter().map(|l| l.0).collect();
        }
        let length = |path: &[u32]| path.iter().filter_map(|&node| by_node[node as usize]).sum::<u64>();
        let longest = fitting.0.iter().map(|&at| length(&self.paths[at as usize])).max().unwrap_or(0);
        let path = longest + if self.path_has_return { return_gap_us } else { 0 };
        let aggregate = self.flow.completion_us(by_node, return_gap_us, complete);
        values.clear();
        values.extend(taken.iter().map(|t| t.1));
        let nearest = self.neighbours.completion_us(latencies, values, return_gap_us).unwrap_or(aggregate);
        [serial as f64, parallel as f64, regression.max(0.0), path as f64, aggregate as f64, nearest as f64]
    }
}

/// Returns the error of an estimate: max / min - 1, 0 if both are equal, infinite if one is 0.
pub fn error(estimate_us: f64, actual_us: f64) -> f64 {
    if estimate_us == actual_us {
        0.0
    } else if estimate_us <= 0.0 || actual_us <= 0.0 {
        f64::INFINITY
    } else {
        estimate_us.max(actual_us) / estimate_us.min(actual_us) - 1.0
    }
}
