//! The reports of execution flows: plain serde data.

use super::paper::{METHOD_NAMES, METHODS};
use super::{Bindings, Callees, Estimates, FlowGraph, FlowSample, NodeTable, SyncNode};
use crate::ids::NodeId;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{LogHistogram, Percentiles};
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};

/// Bins of a node's histogram.
const NODE_BINS: u32 = 24;

/// One node of a parent's flow: a callee, or one of its repeats.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowNode {
    /// `service:operation`, with `#k` where the callee repeats, `#rest` for repeats folded into one.
    pub label: String,
    /// Service; empty for all callees that have no node of their own.
    pub service: String,
    /// Operation.
    pub operation: String,
    /// Number of the call among those of the callee in an invocation, from 1; 0 for all further ones.
    pub index: u32,
    /// Invocations that have it.
    pub invocations: u64,
    /// L in these.
    pub latency_us: Percentiles,
    /// P in these: from the latest end before its start to its start.
    pub wait_us: Percentiles,
    /// Histogram of L.
    pub histogram: LogHistogram,
    /// Invocations in which it is on the parent's critical path.
    pub critical: u64,
    /// Whether its endpoint waits for calls of its own: it has a flow to go on to.
    pub has_calls: bool,
}

impl FlowNode {
    /// Returns the share of the invocations that have it in which it is on the parent's critical path.
    pub fn critical_share(&self) -> f64 {
        self.critical as f64 / self.invocations.max(1) as f64
    }
}

/// One edge of a flow's transitive reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowEdge {
    /// The node that ends; `None`: the parent starts.
    pub from: Option<NodeId>,
    /// The node that waits; `None`: the parent returns.
    pub to: Option<NodeId>,
    /// Invocations that have both ends.
    pub both: u64,
    /// Those in which the edge holds.
    pub holds: u64,
    /// Those in which it binds: `from` ends last of all that `to` waits for.
    pub binding: u64,
}

impl FlowEdge {
    /// Returns the share of the invocations with both ends in which it holds.
    pub fn support(&self) -> f64 {
        self.holds as f64 / self.both.max(1) as f64
    }

    /// Returns the share of the invocations with both ends in which it binds.
    pub fn binding_share(&self) -> f64 {
        self.binding as f64 / self.both.max(1) as f64
    }
}

/// The execution flow of a parent endpoint: what waits for what, learned from all its invocations.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowReport {
    /// The parent.
    pub parent: Endpoint,
    /// Its spans that wait for some call.
    pub invocations: u64,
    /// Invocations that lie in another span: the others are roots. 0 from a summary, which does not know.
    pub called: u64,
    /// Its spans that wait for none.
    pub childless: u64,
    /// Latency of the invocations.
    pub latency_us: Percentiles,
    /// P of the return.
    pub return_us: Percentiles,
    /// By (service, operation, index), folded repeats after the others.
    pub nodes: Vec<FlowNode>,
    /// The transitive reduction with start and return, by (from, to): the start before all nodes, the return after them.
    pub edges: Vec<FlowEdge>,
    /// Groups whose edges a drawing replaces by a synchronisation node.
    pub sync_nodes: Vec<SyncNode>,
    /// Repeats of a callee above this one are folded into one node; `None` if nothing is.
    pub repeats_kept: Option<u32>,
    /// Whether the rarest callees share one node.
    pub has_others: bool,
}

impl FlowReport {
    /// Returns the label of a node.
    pub fn label(&self, node: NodeId) -> &str {
        self.nodes.get(node.index()).map_or("", |node| &node.label)
    }

    /// Returns the labels of both ends of an edge; `start` and `return` where it has no node.
    pub fn labels(&self, edge: &FlowEdge) -> [&str; 2] {
        [
            edge.from.map_or("start", |node| self.label(node)),
            edge.to.map_or("return", |node| self.label(node)),
        ]
    }

    /// Returns the report of a table, what was sampled over its invocations (sorted, unpacked) and which edges bind.
    pub fn new(table: &NodeTable, callees: &Callees, sample: &FlowSample, bindings: &Bindings) -> FlowReport {
        let flow = &bindings.flow;
        let nodes = (0..table.len).zip(&sample.nodes).map(|(node, facts)| {
            let name = table.name(node);
            let after = table.callees.partition_point(|c| c.base <= node);
            let callee = after.checked_sub(1).and_then(|at| table.callees.get(at));
            FlowNode {
                label: table.label(node),
                service: name.service,
                operation: name.operation,
                index: name.index,
                invocations: facts.latency_us.len() as u64,
                latency_us: Percentiles::of_sorted(&facts.latency_us),
                wait_us: Percentiles::of_sorted(&facts.wait_us),
                histogram: LogHistogram::of_sorted(&facts.latency_us, NODE_BINS),
                critical: facts.critical,
                has_calls: table.others != Some(node) && callee.is_some_and(|c| c.has_calls),
            }
        });
        let reduction = flow.reduction();
        FlowReport {
            parent: table.parent.clone(),
            invocations: sample.latency_us.len() as u64,
            called: sample.called,
            childless: callees.childless,
            latency_us: Percentiles::of_sorted(&sample.latency_us),
            return_us: Percentiles::of_sorted(&sample.return_us),
            nodes: nodes.collect(),
            edges: edges(flow, &reduction, sample, bindings),
            sync_nodes: FlowGraph::sync_nodes(&reduction),
            repeats_kept: table.repeats_kept,
            has_others: table.others.is_some(),
        }
    }
}

fn edges(
    flow: &FlowGraph,
    reduction: &[(u32, u32)],
    sample: &FlowSample,
    bindings: &Bindings,
) -> Vec<FlowEdge> {
    let binding = |from: u32, to: u32| bindings.counts.get(&(from, to)).copied().unwrap_or(0);
    let mut waits = vec![false; flow.len()];
    let mut waited_for = vec![false; flow.len()];
    let mut out: Vec<FlowEdge> = Vec::with_capacity(reduction.len());
    for &(from, to) in reduction {
        (waited_for[from as usize], waits[to as usize]) = (true, true);
        let (holds, both) = sample.pairs.support(from, to);
        out.push(FlowEdge {
            from: Some(NodeId(from)),
            to: Some(NodeId(to)),
            both: u64::from(both),
            holds: u64::from(holds),
            binding: binding(from, to),
        });
    }
    for node in 0..flow.len() as u32 {
        let present = u64::from(sample.pairs.present()[node as usize]);
        let end = |from, to, binding| FlowEdge { from, to, both: present, holds: present, binding };
        if !waits[node as usize] {
            out.push(end(None, Some(NodeId(node)), binding(Bindings::START, node)));
        }
        if !waited_for[node as usize] {
            out.push(end(Some(NodeId(node)), None, binding(node, Bindings::RETURN)));
        }
    }
    out.compact_sort_by_key(|edge| (edge.from, edge.to.is_none(), edge.to));
    out
}

/// A parent endpoint that has a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowParent {
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Its spans that wait for some call.
    pub invocations: u64,
    /// Its spans that wait for none.
    pub childless: u64,
    /// Number of nodes of its flow.
    pub nodes: u32,
    /// Most calls in one invocation.
    pub most_calls: u32,
    /// Time in which some of its calls runs, summed over the invocations, in microseconds; 0 from a summary.
    pub calls_us: u64,
    /// The part of `calls_us` that goes if the calls of each invocation all run side by side; 0 from a summary.
    pub recoverable_us: u64,
}

impl FlowParent {
    /// A parent of which less than this part of the greatest `calls_us` is recoverable is ranked by the time of its calls.
    const LITTLE: u64 = 100;
    /// A parent with fewer invocations is hardly ever called.
    pub const FEW: u64 = 30;

    /// Returns the parents in the order in which their flows tell most: by what is recoverable, then by the time of their
    /// calls; ties by size, then as they are.
    pub fn by_worth(parents: &[FlowParent]) -> Vec<usize> {
        let most_us = parents.iter().map(|parent| parent.calls_us).max().unwrap_or(0);
        let worth = |at: &usize| {
            let of = &parents[*at];
            let recoverable_us = of.recoverable_us;
            let is_little = recoverable_us < most_us / Self::LITTLE;
            let is_common = of.invocations >= Self::FEW;
            let time = (if is_little { 0 } else { recoverable_us }, of.calls_us);
            (time, is_common, of.nodes, of.most_calls, of.invocations)
        };
        let mut order: Vec<usize> = (0..parents.len()).collect();
        // Stable: equal ones stay by name.
        order.compact_sort_by(|a, b| worth(b).cmp(&worth(a)));
        order
    }

    /// Returns the endpoint of the parent whose flow tells most; `None` if there is none.
    pub fn most_worth(parents: &[FlowParent]) -> Option<Endpoint> {
        let first = &parents[*FlowParent::by_worth(parents).first()?];
        Some(Endpoint::new(&first.service, &first.operation))
    }
}

/// Quantiles of the errors of one predictor. An error is max / min - 1 of estimate and actual latency, infinite if one
/// is 0; JSON writes infinity as `null`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ErrorQuantiles {
    /// Median.
    pub p50: f64,
    /// 90th percentile.
    pub p90: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
}

/// Errors of one predictor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MethodErrors {
    /// `serial`, `parallel`, `linear regression`, `best critical path`, `aggregate flow` or `nearest-neighbour flow`.
    pub name: String,
    /// Quantiles of its errors.
    pub error: ErrorQuantiles,
    /// Estimate / actual at the quantiles 0, 1/200, ..., 1 (Figure 2, left); empty without invocations.
    pub ratios: Vec<f64>,
    /// Error at the same quantiles (Figure 2, right, is 1 more).
    pub errors: Vec<f64>,
}

/// Six predictors of a parent's latency, learned from the first half of the invocations of each parent (by start, trace id,
/// span id) and tested on the rest; without a parent pooled over all parents that have enough calls (Table 1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EvaluationReport {
    /// The parent as `[service, operation]`; `null` if pooled over all that have enough calls.
    pub parent: Option<Endpoint>,
    /// Parents compared.
    pub parents: u64,
    /// Calls that some invocation of a parent must have for the parent to be compared (`--min-children`, default 2; preset
    /// `paper` 5).
    pub min_children: u32,
    /// Invocations learned from.
    pub train: u64,
    /// Invocations predicted.
    pub test: u64,
    /// The predictors.
    pub methods: Vec<MethodErrors>,
}

impl EvaluationReport {
    /// Points of a curve.
    pub const CURVE_POINTS: usize = 201;

    /// Returns the errors of the aggregate flow; `None` if nothing was tested.
    pub fn flow_error(&self) -> Option<ErrorQuantiles> {
        let method = self.methods.iter().find(|method| method.name == METHOD_NAMES[4])?;
        (self.test > 0).then_some(method.error)
    }

    /// Returns the methods of sorted estimates.
    pub fn methods_of(estimates: &Estimates) -> Vec<MethodErrors> {
        let curve = |sorted: &[f64]| {
            let points = if sorted.is_empty() { 0 } else { Self::CURVE_POINTS };
            (0..points).map(|i| quantile(sorted, i as f64 / (points - 1) as f64)).collect()
        };
        (0..METHODS)
            .map(|method| {
                let errors = &estimates.errors[method];
                let at = |p| quantile(errors, p);
                MethodErrors {
                    name: METHOD_NAMES[method].to_owned(),
                    error: ErrorQuantiles { p50: at(0.5), p90: at(0.9), p95: at(0.95), p99: at(0.99) },
                    ratios: curve(&estimates.ratios[method]),
                    errors: curve(errors),
                }
            })
            .collect()
    }
}

/// Returns the `p`-quantile of sorted values, some of which may be infinite, by linear interpolation at (n - 1) p.
fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let place = p * last as f64;
    let below = place.floor() as usize;
    let (low, high) = (sorted[below.min(last)], sorted[(below + 1).min(last)]);
    let part = place - below as f64;
    if low == high || part == 0.0 { low } else { low + (high - low) * part }
}
