//! A summary as the reports that traces give, for views that need no spans (`docs/definitions/summary.md` section 9).

use super::{Lacks, LatencyBin, LatencyBinRange, RootPart, Sketch, Summary};
use crate::endpoints::{
    Affected, EndpointTotals, EndpointsReport, ImpactReport, ImpactRow, RootRow, SummedEndpoint, top_chains,
};
use crate::errors::ErrorsReport;
use crate::errors::summed::ErrorSums;
use crate::flame::summed::FlameSums;
use crate::flame::{
    Context, ContextNode, Contexts, CriticalPathReport, Exemplar, HistogramsReport, NodePart, Quantity,
    SpanName, Weight, topmost,
};
use crate::flow::{FlowParent, FlowReport, NoFlow};
use crate::ids::{NodeId, ReportEndpoint};
use crate::requests::{PercentileRange, RangeFacts, RangeMark, RequestRef, Until};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Distribution, LogHistogram, Percentiles};
use pathlight_trace::{Coverage, Endpoint, NO_ROW};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Bins of the latency histogram, as of traces.
pub(super) const HISTOGRAM_BINS: u32 = 96;
/// Bins of other histograms.
const BINS: u32 = 40;

/// Which requests of a summary a report is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// Their root endpoint; `None` for all.
    pub root: Option<Endpoint>,
    /// Which of them, by latency: the nearest that latency bins allow.
    pub range: PercentileRange,
    /// Whether the range is cut out of all requests together, not out of those of each root endpoint.
    pub over_all: bool,
}

/// The requests of one root endpoint that a choice holds.
#[derive(Clone)]
struct Tree<'a> {
    root: &'a Endpoint,
    part: &'a RootPart,
    /// Its calling contexts, where they are asked for: numbers of nodes, the first of which is the root.
    nodes: Range<usize>,
    bins: Range<u32>,
    /// Ranks of the requests, of those of the root endpoint by latency.
    ranks: Range<u64>,
}

impl Tree<'_> {
    /// Returns the requests and microseconds that lie in the bins.
    fn sum(&self, bins: &[LatencyBin]) -> (u64, u128) {
        LatencyBin::sum(bins, &self.bins)
    }
}

/// What is summed of an endpoint over all trees.
#[derive(Default)]
struct EndpointSums {
    self_us: u128,
    total_us: u128,
    requests: u64,
    spans: u64,
    errors: u64,
    self_time: Sketch,
    total_time: Sketch,
}

fn weight(sketch: &Sketch, sum: u128, requests: u64) -> Weight {
    let [p50, p95, p99] = sketch.quantiles([0.50, 0.95, 0.99]);
    Weight { sum, mean: sum as f64 / requests.max(1) as f64, p50, p95, p99 }
}

fn percentiles(sketch: &Sketch, sum_us: u128) -> Percentiles {
    let Weight { mean, p50, p95, p99, .. } = weight(sketch, sum_us, sketch.n());
    Percentiles { mean, p50, p95, p99, max: sketch.max_us() }
}

/// Cuts a percentile range out of root endpoints, or out of all of them together.
fn within(mut trees: Vec<Tree<'_>>, is_over_all: bool, range: PercentileRange) -> Vec<Tree<'_>> {
    let all: Vec<LatencyBin> = if is_over_all {
        LatencyBin::join(trees.iter().map(|tree| tree.part.bins.as_slice()))
    } else {
        Vec::new()
    };
    for tree in &mut trees {
        let bins = &tree.part.bins;
        tree.bins = LatencyBinRange::of(if is_over_all { &all } else { bins }, range).bins;
        let below = |end: u32| bins.iter().filter(move |bin| bin.number < end).map(|bin| bin.requests);
        tree.ranks = below(tree.bins.start).sum()..below(tree.bins.end).sum();
    }
    trees
}

fn latencies(trees: &[Tree]) -> Sketch {
    let mut out = Sketch::default();
    trees.iter().for_each(|tree| out.merge(&tree.part.latency.of_ranks(tree.ranks.clone())));
    out
}

fn latency_sum_us(trees: &[Tree]) -> u128 {
    trees.iter().fold(0, |sum: u128, tree| sum.saturating_add(tree.sum(&tree.part.bins).1))
}

impl Summary {
    fn facts_of(&self, choice: &Choice, trees: &[Tree]) -> RangeFacts {
        let within = |range: PercentileRange| within(trees.to_vec(), choice.over_all, range);
        let any = within(PercentileRange::ALL);
        let (all, inside) = (latencies(&any), latencies(trees));
        let mark = |range: &PercentileRange| {
            let trees = within(*range);
            let held = |trees: &[Tree]| {
                let held = latencies(trees);
                (held.n(), held.min_us(), held.max_us())
            };
            RangeMark::of(trees.chunks(if choice.over_all { trees.len().max(1) } else { 1 }).map(held))
        };
        let sum_us = latency_sum_us(trees);
        RangeFacts {
            all_requests: all.n(),
            requests: inside.n(),
            latency_us: percentiles(&inside, sum_us),
            latency_sum_us: sum_us,
            all_latency_us: percentiles(&all, latency_sum_us(&any)),
            histogram: LogHistogram::of_counts(&all.counts(), HISTOGRAM_BINS),
            range_us: (inside.min_us(), inside.max_us()),
            marks: PercentileRange::PRESETS.iter().map(mark).collect(),
            types: if choice.over_all { 1 } else { trees.len().max(1) as u64 },
            coverage: Coverage::default(),
            until: Until::Answer,
            cut: 0,
            weighted: if choice.range.is_all() { self.weighted_facts(choice.root.as_ref()) } else { None },
        }
    }

    /// Returns the root endpoints of a choice with their requests in its percentile range, by name.
    fn trees<'a>(&'a self, choice: &'a Choice) -> Vec<Tree<'a>> {
        let tree = |(root, part)| Tree { root, part, nodes: 0..0, bins: 0..0, ranks: 0..0 };
        let trees = match &choice.root {
            Some(root) => self.part(root).map(|part| tree((root, part))).into_iter().collect(),
            None => self.roots.iter().map(tree).collect(),
        };
        within(trees, choice.over_all, choice.range)
    }

    /// Returns them with their calling contexts.
    fn flame_trees<'a>(&'a self, choice: &'a Choice) -> Result<(&'a FlameSums, Vec<Tree<'a>>), Lacks> {
        let flame = self.of_root(&self.sections.flame, choice.root.as_ref())?;
        let nodes = flame.trees();
        let mut trees = self.trees(choice);
        // Every root endpoint has a tree; a file made by hand may say otherwise.
        trees.retain_mut(|tree| match nodes.get(tree.root) {
            Some(nodes) => {
                tree.nodes = nodes.clone();
                true
            }
            None => false,
        });
        Ok((flame, trees))
    }

    /// Returns what a percentile range holds.
    pub fn facts(&self, choice: &Choice) -> RangeFacts {
        self.facts_of(choice, &self.trees(choice))
    }

    /// Returns the aggregate calling contexts. Self time and requests are those of the percentile range; percentiles,
    /// total time, spans and errors are over requests of any latency.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn critical_path(&self, choice: &Choice) -> Result<CriticalPathReport, Lacks> {
        let (FlameSums { contexts, .. }, trees) = self.flame_trees(choice)?;
        let facts = self.facts_of(choice, &trees);
        let examples = self.examples()?;
        let mut named: Vec<RequestRef> = Vec::new();
        let mut nodes: Vec<ContextNode> = Vec::new();
        let mut place_of: Vec<u32> = vec![NO_ROW; contexts.nodes.len()];
        for tree in &trees {
            for number in tree.nodes.clone() {
                let context = &contexts.nodes[number];
                let part = &context.value;
                let (requests, self_us) = tree.sum(&part.bins);
                let is_root = context.parent == NO_ROW;
                let parent = if is_root { NO_ROW } else { place_of[context.parent as usize] };
                // A request has with a context all those above it; a file made by hand may say otherwise.
                if requests == 0 || !is_root && parent == NO_ROW {
                    continue;
                }
                place_of[number] = nodes.len() as u32;
                let parent = (!is_root).then_some(NodeId(parent));
                let total_us = part.inclusive.sum_us();
                let example = examples.get(number).copied().flatten().map(|(request, us)| {
                    named.push(request.clone());
                    // A summary knows no spans.
                    Exemplar { request: named.len() as u32 - 1, span: SpanName::default(), exclusive_us: us }
                });
                nodes.push(ContextNode {
                    parent,
                    endpoint: ReportEndpoint(context.endpoint),
                    exclusive_us: weight(&part.exclusive, self_us, facts.requests),
                    inclusive_us: weight(&part.inclusive, total_us, facts.all_requests),
                    subtree_us: self_us,
                    requests,
                    spans: part.spans,
                    errors: part.errors,
                    waiting: Vec::new(),
                    exemplars: example.into_iter().collect(),
                });
            }
        }
        for number in (0..nodes.len()).rev() {
            if let Some(parent) = nodes[number].parent {
                let own = nodes[number].subtree_us;
                let above = &mut nodes[parent.index()].subtree_us;
                *above = above.saturating_add(own);
            }
        }
        let endpoints = contexts.endpoints.clone();
        Ok(CriticalPathReport { range: Some(choice.range), facts, endpoints, nodes, examples: named })
    }

    /// Sums by (root endpoint, endpoint) of contexts in the percentile range, in which order names have.
    fn pairs(
        &self,
        contexts: &Contexts<NodePart>,
        trees: &[Tree],
    ) -> Result<BTreeMap<(u32, u32), EndpointSums>, Lacks> {
        let endpoints = self.sections.endpoints.get()?;
        let mut pairs: BTreeMap<(u32, u32), EndpointSums> = BTreeMap::new();
        let nodes: Vec<(u32, u32)> = contexts.nodes.iter().map(|node| (node.parent, node.endpoint)).collect();
        let topmost = topmost(&nodes);
        for tree in trees {
            let root = contexts.nodes[tree.nodes.start].endpoint;
            for number in tree.nodes.clone() {
                let node = &contexts.nodes[number];
                let (requests, self_us) = tree.sum(&node.value.bins);
                if requests == 0 {
                    continue;
                }
                let sums = pairs.entry((root, node.endpoint)).or_default();
                sums.self_us = sums.self_us.saturating_add(self_us);
                if topmost[number] {
                    sums.total_us = sums.total_us.saturating_add(node.value.inclusive.sum_us());
                    sums.total_time.merge(&node.value.inclusive);
                }
                // A request may have several contexts of an endpoint.
                sums.requests = (sums.requests + requests).min(tree.ranks.end - tree.ranks.start);
            }
        }
        for ((root, endpoint), sums) in pairs.iter_mut() {
            let known = endpoints.get(&contexts.endpoints[*root as usize]);
            let known = known.and_then(|parts| parts.get(&contexts.endpoints[*endpoint as usize]));
            let Some(SummedEndpoint { spans, errors, self_time, .. }) = known else { continue };
            (sums.spans, sums.errors, sums.self_time) = (*spans, *errors, self_time.clone());
            sums.requests = sums.requests.min(self_time.n());
        }
        Ok(pairs)
    }

    /// Returns the times by endpoint, whatever the call path. Percentiles, total time, spans and errors are over
    /// requests of any latency; percentiles of total time are those of call paths.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn endpoints(&self, choice: &Choice) -> Result<EndpointsReport, Lacks> {
        let (FlameSums { contexts, .. }, trees) = self.flame_trees(choice)?;
        let facts = self.facts_of(choice, &trees);
        let mut by_endpoint: BTreeMap<u32, EndpointSums> = BTreeMap::new();
        for ((_, endpoint), sums) in self.pairs(contexts, &trees)? {
            let into = by_endpoint.entry(endpoint).or_default();
            into.self_us = into.self_us.saturating_add(sums.self_us);
            into.total_us = into.total_us.saturating_add(sums.total_us);
            into.requests += sums.requests;
            into.spans += sums.spans;
            into.errors += sums.errors;
            into.self_time.merge(&sums.self_time);
            into.total_time.merge(&sums.total_time);
        }
        // Of several root endpoints only those in sight: numbers of rows are numbers of endpoints.
        let mut names: Vec<Endpoint> = Vec::new();
        let mut number_of = vec![NO_ROW; contexts.endpoints.len()];
        for &endpoint in by_endpoint.keys() {
            number_of[endpoint as usize] = names.len() as u32;
            names.push(contexts.endpoints[endpoint as usize].clone());
        }
        let mut chains: Contexts<(u128, u64)> = Contexts { endpoints: names, nodes: Vec::new() };
        let mut place_of = vec![NO_ROW; contexts.nodes.len()];
        for tree in &trees {
            for number in tree.nodes.clone() {
                let node = &contexts.nodes[number];
                let (requests, self_us) = tree.sum(&node.value.bins);
                let parent = if node.parent == NO_ROW { NO_ROW } else { place_of[node.parent as usize] };
                if requests > 0 && (node.parent == NO_ROW || parent != NO_ROW) {
                    place_of[number] = chains.nodes.len() as u32;
                    let endpoint = number_of[node.endpoint as usize];
                    chains.nodes.push(Context { parent, endpoint, value: (self_us, requests) });
                }
            }
        }
        let rows = by_endpoint.into_values().zip(top_chains(&chains)).map(|(sums, chains)| EndpointTotals {
            exclusive_us: weight(&sums.self_time, sums.self_us, facts.requests),
            inclusive_us: weight(&sums.total_time, sums.total_us, facts.all_requests),
            requests: sums.requests,
            spans: sums.spans,
            errors: sums.errors,
            waiting: Vec::new(),
            chains,
            share_interval: None,
        });
        let rows = rows.collect();
        Ok(EndpointsReport { range: Some(choice.range), facts, endpoints: chains.endpoints, rows })
    }

    /// Returns what interior endpoints cost the root endpoints.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn bottom_up(&self, choice: &Choice) -> Result<ImpactReport, Lacks> {
        let (FlameSums { contexts, .. }, trees) = self.flame_trees(choice)?;
        let facts = self.facts_of(choice, &trees);
        let node_of = |tree: &Tree| &contexts.nodes[tree.nodes.start];
        let mut roots: Vec<RootRow> = trees
            .iter()
            .map(|tree| RootRow {
                endpoint: ReportEndpoint(node_of(tree).endpoint),
                requests: tree.ranks.end - tree.ranks.start,
                latency_us: latency_sum_us(std::slice::from_ref(tree)),
            })
            .filter(|root| root.requests > 0)
            .collect();
        // Stable sorts here and below: what is equal stays by name.
        roots.compact_sort_by_key(|root| std::cmp::Reverse(root.latency_us));
        let place_of: BTreeMap<u32, u32> = roots.iter().map(|root| root.endpoint.0).zip(0..).collect();
        // What root contexts spend themselves is no interior time; endpoints that are called below are interior.
        let own_us: BTreeMap<u32, u128> = trees
            .iter()
            .map(|tree| (node_of(tree).endpoint, tree.sum(&node_of(tree).value.bins).1))
            .collect();
        let below = trees.iter().flat_map(|tree| tree.nodes.start + 1..tree.nodes.end);
        let called: BTreeSet<u32> = below.map(|node| contexts.nodes[node].endpoint).collect();
        let mut rows: BTreeMap<u32, ImpactRow> = BTreeMap::new();
        for ((root, endpoint), sums) in self.pairs(contexts, &trees)? {
            let row = rows.entry(endpoint).or_insert_with(|| ImpactRow {
                endpoint: ReportEndpoint(endpoint),
                is_interior: called.contains(&endpoint),
                ..ImpactRow::default()
            });
            let own = if root == endpoint { own_us.get(&root).copied().unwrap_or(0) } else { 0 };
            row.exclusive_us = row.exclusive_us.saturating_add(sums.self_us);
            row.interior_us = row.interior_us.saturating_add(sums.self_us.saturating_sub(own));
            row.requests += sums.requests;
            if let Some(&root) = place_of.get(&root).filter(|_| sums.self_us > 0) {
                let (exclusive_us, requests) = (sums.self_us, sums.requests);
                row.affected.push(Affected { root, exclusive_us, requests });
            }
        }
        let mut rows: Vec<ImpactRow> = rows.into_values().collect();
        for row in &mut rows {
            row.affected.compact_sort_by_key(|affected| std::cmp::Reverse(affected.exclusive_us));
        }
        rows.compact_sort_by_key(|row| (!row.is_interior, std::cmp::Reverse(row.exclusive_us)));
        let endpoints = contexts.endpoints.clone();
        Ok(ImpactReport { range: Some(choice.range), facts, endpoints, roots, rows })
    }

    /// Returns where errors start and stop in the requests of any latency.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn errors(&self, choice: &Choice) -> Result<ErrorsReport, Lacks> {
        let choice = Choice { range: PercentileRange::ALL, ..choice.clone() };
        let ErrorSums { part, without } = self.sums(&self.sections.errors, choice.root.as_ref())?;
        let without_us = percentiles(&without, without.sum_us());
        Ok(part.report(without_us, choice.range, self.facts(&choice)))
    }

    /// Returns the endpoints that have a flow, or the one named, over requests of any latency.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn flow_parents(&self, choice: &Choice, only: Option<&Endpoint>) -> Result<Vec<FlowParent>, Lacks> {
        Ok(self.sums(&self.sections.flow, choice.root.as_ref())?.parents(only))
    }

    /// Returns the execution flow of a parent over requests of any latency; an empty one if it has none. How often an
    /// edge binds is a lower bound.
    ///
    /// # Errors
    /// [`NoFlow`].
    pub fn flow(&self, choice: &Choice, parent: &Endpoint, tau_ppm: u32) -> Result<FlowReport, NoFlow> {
        self.sums(&self.sections.flow, choice.root.as_ref())?.report(parent, tau_ppm)
    }

    /// Returns the histogram of latency; sizes of requests are not in a summary.
    pub fn histograms(&self, choice: &Choice) -> HistogramsReport {
        let trees = self.trees(choice);
        let facts = self.facts_of(choice, &trees);
        let inside = latencies(&trees);
        let counts = inside.counts();
        let latency = if inside.error() == 0.0 {
            let values = counts.iter().flat_map(|&(us, n)| std::iter::repeat_n(us, n as usize));
            Distribution::of_sorted(&values.collect::<Vec<u64>>(), BINS)
        } else {
            let LogHistogram { edges_us, counts } = LogHistogram::of_counts(&counts, BINS);
            let Percentiles { mean, p50, p95, p99, max } = facts.latency_us;
            let (n, min) = (inside.n(), inside.min_us());
            Distribution { n, mean, median: p50, p95, p99, min, max, is_log: true, edges: edges_us, counts }
        };
        let distributions = vec![(Quantity::Latency, latency)];
        HistogramsReport { range: Some(choice.range), facts, distributions, calls: Vec::new() }
    }
}
