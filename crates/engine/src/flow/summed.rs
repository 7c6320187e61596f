//! Execution flows in a summary: what waits for what below each endpoint (`docs/definitions/summary.md` section 1).
//!
//! The number of calls of a parent decides which of them have a node of their own in a flow learned from traces.
//! Parts that merge cannot know that, so here the first [`REPEATS`] calls of each callee always have one.

use super::walk::{answering, handed_to};
use crate::flame::{Observer, PathTable, Reusable};
use crate::flow::{
    Bindings, Callee, Callees, Child, FlowParent, FlowReport, FlowSample, NodeTable, Order, PairCounts,
};
use crate::names::join_names;
use crate::summaries::maps::by_key;
use crate::summaries::names::SetNames;
use crate::summaries::section::{Kind, Renaming, RootSums};
use crate::summaries::sketch::MOST;
use crate::summaries::{Lacks, Sketch};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{LogHistogram, Percentiles};
use pathlight_trace::{Endpoint, Overlap, Role, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Calls of a callee in one invocation that have nodes of their own; those after them share one.
pub const REPEATS: u32 = 8;
/// Nodes of a parent beyond which only its calls are counted.
pub const MOST_NODES: usize = 64;
/// Bits of a node's number that say which call of its callee it is.
const INDEX_BITS: u32 = 4;
/// Bins of a node's histogram, as of traces.
const NODE_BINS: u32 = 24;

/// Times: an exact sum, and bins. All values of all calls would be most of a file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Times {
    sum_us: u128,
    sketch: Sketch,
}

/// A callee of a parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct CalleePart {
    endpoint: u32,
    facts: Callee,
}

/// A call of a parent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct NodeTimes {
    /// Number of the callee's endpoint, and which call of it from 1; one more than [`REPEATS`] for all further ones.
    node: u32,
    latency: Times,
    wait: Times,
    counts: NodeCounts,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct NodeCounts {
    /// Invocations in which it is on the parent's critical path.
    critical: u64,
    /// Invocations in which it waits for no other call.
    first: u64,
    /// Invocations in which it ends last.
    last: u64,
}

/// Two calls of a parent, the lower number first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Pair {
    nodes: (u32, u32),
    counts: PairSums,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct PairSums {
    /// Invocations that have both.
    both: u64,
    /// Those in which the second waits for the first, and the other way round.
    before: [u64; 2],
    /// Those in which it ends last of all that is waited for.
    binds: [u64; 2],
}

/// The invocations of one endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct Parent {
    endpoint: u32,
    invocations: u64,
    childless: u64,
    most: u32,
    latency: Times,
    /// Before the return.
    wait: Times,
    callees: Vec<CalleePart>,
    /// It has more than [`MOST_NODES`] nodes, which are then left out.
    is_too_wide: bool,
    nodes: Vec<NodeTimes>,
    pairs: Vec<Pair>,
}

/// The execution flows of the requests of one root endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSums {
    /// Names, sorted; numbers below are places here.
    endpoints: Vec<Endpoint>,
    /// The parents, by endpoint.
    parents: Vec<Parent>,
}

/// Reason why a summary has no flow of a parent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFlow {
    /// It holds no flows.
    #[error(transparent)]
    Lacks(#[from] Lacks),
    /// There are too many calls.
    #[error(
        "{0} makes {1} different calls, and a summary holds the order of at most {MOST_NODES} of an endpoint; load the traces, or some of them, to see it"
    )]
    TooWide(String, u32),
}

impl Times {
    fn of(values: Vec<u64>) -> Times {
        Times { sum_us: values.iter().map(|&us| u128::from(us)).sum(), sketch: Sketch::binned(values) }
    }

    fn join<'a>(of: impl Iterator<Item = &'a Times> + Clone) -> Times {
        Times {
            sum_us: of.clone().fold(0, |sum: u128, times| sum.saturating_add(times.sum_us)),
            sketch: Sketch::sum(of.map(|times| &times.sketch)),
        }
    }

    fn percentiles(&self) -> Percentiles {
        let [p50, p95, p99] = self.sketch.quantiles([0.50, 0.95, 0.99]);
        let mean = self.sum_us as f64 / self.sketch.n().max(1) as f64;
        Percentiles { mean, p50, p95, p99, max: self.sketch.max_us() }
    }
}

impl NodeCounts {
    fn add(&mut self, other: NodeCounts) {
        self.critical += other.critical;
        self.first += other.first;
        self.last += other.last;
    }
}

impl PairSums {
    fn add(&mut self, other: PairSums) {
        self.both += other.both;
        for side in 0..2 {
            self.before[side] += other.before[side];
            self.binds[side] += other.binds[side];
        }
    }
}

impl NodeTimes {
    fn join(parts: Vec<NodeTimes>) -> NodeTimes {
        let mut counts = NodeCounts::default();
        parts.iter().for_each(|part| counts.add(part.counts));
        NodeTimes {
            node: parts.first().map_or(0, |part| part.node),
            latency: Times::join(parts.iter().map(|part| &part.latency)),
            wait: Times::join(parts.iter().map(|part| &part.wait)),
            counts,
        }
    }
}

impl Parent {
    fn join(parts: Vec<Parent>) -> Parent {
        let mut out = Parent {
            latency: Times::join(parts.iter().map(|part| &part.latency)),
            wait: Times::join(parts.iter().map(|part| &part.wait)),
            is_too_wide: parts.iter().any(|part| part.is_too_wide),
            ..Parent::default()
        };
        let mut nodes: BTreeMap<u32, Vec<NodeTimes>> = BTreeMap::new();
        for part in parts {
            out.endpoint = part.endpoint;
            out.invocations += part.invocations;
            out.childless += part.childless;
            out.most = out.most.max(part.most);
            out.callees.extend(part.callees);
            out.pairs.extend(part.pairs);
            for node in part.nodes {
                nodes.entry(node.node).or_default().push(node);
            }
        }
        out.callees.compact_sort_by_key(|callee| callee.endpoint);
        out.callees.dedup_by(
            |CalleePart { endpoint, facts: from }, CalleePart { endpoint: at, facts: into }| {
                let is_same = endpoint == at;
                if is_same {
                    into.merge(*from);
                }
                is_same
            },
        );
        out.pairs.compact_sort_by_key(|pair| pair.nodes);
        out.pairs.dedup_by(|from, into| {
            let is_same = from.nodes == into.nodes;
            if is_same {
                into.counts.add(from.counts);
            }
            is_same
        });
        out.nodes = nodes.into_values().map(NodeTimes::join).collect();
        out.without_too_many()
    }

    fn without_too_many(mut self) -> Parent {
        self.is_too_wide |= self.nodes.len() > MOST_NODES;
        if self.is_too_wide {
            (self.nodes, self.pairs) = (Vec::new(), Vec::new());
        }
        self
    }

    /// Returns this parent with other numbers of endpoints. Of a pair the lower number stands first.
    fn renumbered(mut self, numbers: &[u32]) -> Parent {
        let endpoint = |number: u32| numbers[number as usize];
        let node = |node: u32| endpoint(node >> INDEX_BITS) << INDEX_BITS | node & ((1 << INDEX_BITS) - 1);
        self.endpoint = endpoint(self.endpoint);
        self.callees.iter_mut().for_each(|callee| callee.endpoint = endpoint(callee.endpoint));
        self.nodes.iter_mut().for_each(|of| of.node = node(of.node));
        for Pair { nodes: (first, second), counts } in &mut self.pairs {
            (*first, *second) = (node(*first), node(*second));
            if first > second {
                std::mem::swap(first, second);
                counts.before.reverse();
                counts.binds.reverse();
            }
        }
        // Two that became one.
        self.pairs.retain(|pair| pair.nodes.0 != pair.nodes.1);
        self
    }

    fn callees(&self, endpoints: &[Endpoint]) -> Callees {
        let callees = self.callees.iter();
        let named = callees.map(|callee| (endpoints[callee.endpoint as usize].clone(), callee.facts));
        let mut named: Vec<(Endpoint, Callee)> = named.collect();
        named.compact_sort_by(|a, b| a.0.cmp(&b.0));
        Callees {
            invocations: self.invocations,
            childless: self.childless,
            most: self.most,
            callees: named,
            ..Callees::default()
        }
    }

    fn table(&self, endpoints: &[Endpoint]) -> NodeTable {
        let parent = endpoints[self.endpoint as usize].clone();
        NodeTable::folded(parent, &self.callees(endpoints), REPEATS)
    }

    fn is_sound(&self, endpoints: &[Endpoint]) -> bool {
        let count = endpoints.len() as u32;
        let is_known = |node: &u32| self.nodes.binary_search_by_key(node, |of| of.node).is_ok();
        let is_node = |of: &NodeTimes| {
            of.node >> INDEX_BITS < count
                && of.latency.sketch.is_sound()
                && of.wait.sketch.is_sound()
                && of.counts.critical.max(of.counts.first).max(of.counts.last) <= MOST
        };
        let is_pair = |pair: &Pair| {
            let PairSums { both, before, binds } = pair.counts;
            is_known(&pair.nodes.0)
                && is_known(&pair.nodes.1)
                && both <= MOST
                && before.into_iter().chain(binds).all(|n| n <= both)
        };
        self.endpoint < count
            && self.invocations.max(self.childless) <= MOST
            && self.latency.sketch.is_sound()
            && self.wait.sketch.is_sound()
            && self.callees.is_sorted_by(|a, b| a.endpoint < b.endpoint)
            && self.callees.iter().all(|of| of.endpoint < count && of.facts.invocations <= MOST)
            && self.nodes.len() <= MOST_NODES
            && self.nodes.is_sorted_by(|a, b| a.node < b.node)
            && self.nodes.iter().all(is_node)
            && self.pairs.is_sorted_by(|a, b| a.nodes < b.nodes)
            && self.pairs.iter().all(is_pair)
            && (self.is_too_wide || self.nodes.len() == self.table(endpoints).len as usize)
    }
}

impl FlowSums {
    fn find(&self, parent: &Endpoint) -> Option<&Parent> {
        let number = self.endpoints.binary_search(parent).ok()? as u32;
        let place = self.parents.binary_search_by_key(&number, |of| of.endpoint).ok()?;
        self.parents.get(place)
    }

    /// Returns the endpoints that have a flow, by name; of one endpoint, or of all.
    pub(crate) fn parents(&self, only: Option<&Endpoint>) -> Vec<FlowParent> {
        let named = self.parents.iter().map(|of| (&self.endpoints[of.endpoint as usize], of));
        let wanted = named.filter(|(name, of)| of.invocations > 0 && only.is_none_or(|only| only == *name));
        let parents = wanted.map(|(name, of)| FlowParent {
            service: name.service.clone(),
            operation: name.operation.clone(),
            invocations: of.invocations,
            childless: of.childless,
            nodes: of.table(&self.endpoints).len,
            most_calls: of.most,
            calls_us: 0,
            recoverable_us: 0,
        });
        parents.collect()
    }

    /// Returns the flow of a parent; an empty one if it has none. How often an edge binds is a lower bound: only
    /// invocations count in which its start ends last of all the calls that its end waits for there, in the flow or
    /// not.
    ///
    /// # Errors
    /// [`NoFlow::TooWide`].
    pub(crate) fn report(&self, parent: &Endpoint, tau_ppm: u32) -> Result<FlowReport, NoFlow> {
        let Some(of) = self.find(parent).filter(|of| of.invocations > 0) else {
            return Ok(FlowReport { parent: parent.clone(), ..FlowReport::default() });
        };
        let callees = of.callees(&self.endpoints);
        let table = of.table(&self.endpoints);
        if of.is_too_wide {
            let (service, operation) = parent.names();
            return Err(NoFlow::TooWide(format!("{service}:{operation}"), table.len));
        }
        let place = |node: u32| of.nodes.partition_point(|known| known.node < node) as u32;
        let mut bindings: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        let mut pairs = PairCounts::new(table.len);
        pairs.set_present(of.invocations, of.nodes.iter().map(|node| node.latency.sketch.n()));
        for Pair { nodes: (a, b), counts } in &of.pairs {
            let (a, b) = (place(*a), place(*b));
            pairs.set((a, b), counts.both, counts.before);
            bindings.insert((a, b), counts.binds[0]);
            bindings.insert((b, a), counts.binds[1]);
        }
        for (node, NodeTimes { counts, .. }) in (0..).zip(&of.nodes) {
            bindings.insert((Bindings::START, node), counts.first);
            bindings.insert((node, Bindings::RETURN), counts.last);
        }
        let flow = pairs.flow(tau_ppm);
        let mut sample = FlowSample::new(table.len);
        sample.pairs = pairs;
        let mut report = FlowReport::new(&table, &callees, &sample, &Bindings { flow, counts: bindings });
        report.invocations = of.invocations;
        (report.latency_us, report.return_us) = (of.latency.percentiles(), of.wait.percentiles());
        for (into, node) in report.nodes.iter_mut().zip(&of.nodes) {
            into.invocations = node.latency.sketch.n();
            into.critical = node.counts.critical;
            (into.latency_us, into.wait_us) = (node.latency.percentiles(), node.wait.percentiles());
            into.histogram = LogHistogram::of_counts(&node.latency.sketch.counts(), NODE_BINS);
        }
        Ok(report)
    }
}

impl RootSums for FlowSums {
    const KIND: Kind = Kind { name: "flow", version: 1, words: "execution flows" };

    fn join(parts: Vec<FlowSums>) -> FlowSums {
        let (endpoints, numbers) = join_names(parts.iter().map(|part| part.endpoints.as_slice()));
        let parents = parts.into_iter().zip(&numbers).map(|(part, numbers)| {
            let parents = part.parents.into_iter().map(|parent| parent.renumbered(numbers));
            parents.map(|parent| (parent.endpoint, parent)).collect::<Vec<(u32, Parent)>>()
        });
        let parents = by_key(parents).into_values().map(Parent::join).collect();
        FlowSums { endpoints, parents }
    }

    fn renamed(mut self, renaming: Renaming<'_>) -> FlowSums {
        renaming.names(&mut self.endpoints);
        // Joining brings names into their order.
        FlowSums::join(vec![self])
    }

    fn is_sound(&self) -> bool {
        self.endpoints.len() < 1 << (u32::BITS - INDEX_BITS)
            && self.endpoints.is_sorted_by(|a, b| a < b)
            && self.parents.is_sorted_by(|a, b| a.endpoint < b.endpoint)
            && self.parents.iter().all(|parent| parent.is_sound(&self.endpoints))
    }
}

/// Data of a worker about a call.
#[derive(Default)]
struct Seen {
    latency_us: Vec<u64>,
    wait_us: Vec<u64>,
    counts: NodeCounts,
}

/// Data of a worker about a parent; numbers are places in its names.
#[derive(Default)]
struct Invocations {
    invocations: u64,
    childless: u64,
    most: u32,
    latency_us: Vec<u64>,
    wait_us: Vec<u64>,
    callees: FxHashMap<u32, Callee>,
    is_too_wide: bool,
    nodes: FxHashMap<u32, Seen>,
    pairs: FxHashMap<(u32, u32), PairSums>,
}

/// Sums the flows of the requests of one set.
pub(crate) struct FlowObserver {
    overlap: Overlap,
    names: SetNames,
    parents: FxHashMap<u32, Invocations>,
    /// By name: the invocation that called it last, and how often.
    seen: Vec<(u64, u32)>,
    invocation: u64,
    spans: Vec<(u64, u64, u32)>,
    children: Vec<Child>,
    order: Order,
    strict: Order,
    places: Vec<u32>,
}

impl FlowObserver {
    /// Returns an observer that has seen nothing.
    pub fn new(set: &TraceSet, overlap: Overlap) -> FlowObserver {
        let names = SetNames::of(set);
        FlowObserver {
            overlap,
            seen: vec![(0, 0); names.names.len()],
            names,
            parents: FxHashMap::default(),
            invocation: 0,
            spans: Vec::new(),
            children: Vec::new(),
            order: Order::default(),
            strict: Order::default(),
            places: Vec::new(),
        }
    }

    /// Takes note of the calls of a span.
    fn look(&mut self, set: &TraceSet, tree: &Tree, span: u32) {
        if handed_to(set, tree, span).is_some() {
            return;
        }
        let number = |span: u32| self.names.number_of[set.endpoint(tree.row(span)).0 as usize];
        let parent = self.parents.entry(number(span)).or_default();
        let interval = |c: u32| (tree.start_us[c as usize], tree.end_us[c as usize], c);
        self.spans.clear();
        self.spans.extend(tree.sync_children(span).map(interval));
        if self.spans.is_empty() {
            parent.childless += 1;
            return;
        }
        self.spans.sort_unstable();
        self.invocation += 1;
        parent.invocations += 1;
        parent.most = parent.most.max(self.spans.len() as u32);
        self.children.clear();
        for &(start_us, end_us, span) in &self.spans {
            let callee = number(span);
            let seen = &mut self.seen[callee as usize];
            let is_new = seen.0 != self.invocation;
            *seen = (self.invocation, if is_new { 1 } else { seen.1 + 1 });
            let facts = parent.callees.entry(callee).or_default();
            facts.invocations += u64::from(is_new);
            facts.most = facts.most.max(seen.1);
            facts.has_calls |= tree.sync_children(answering(set, tree, span)).next().is_some();
            let node = callee << INDEX_BITS | seen.1.min(REPEATS + 1);
            // Spans come by start, so a folded node begins where its first one does.
            match self.children.iter_mut().find(|child| seen.1 > REPEATS + 1 && child.node == node) {
                Some(folded) => folded.end_us = folded.end_us.max(end_us),
                None => self.children.push(Child { node, span, start_us, end_us }),
            }
        }
        let (start_us, end_us) = (tree.start_us[span as usize], tree.end_us[span as usize]);
        self.strict.set(start_us, end_us, &self.children, None);
        parent.latency_us.push(end_us - start_us);
        parent.wait_us.push(self.strict.return_gap_us());
        if !parent.is_too_wide {
            self.order.set(start_us, end_us, &self.children, Some(self.overlap));
            parent.count(&self.order, &self.strict, &mut self.places);
        }
    }
}

impl Invocations {
    fn count(&mut self, order: &Order, strict: &Order, places: &mut Vec<u32>) {
        for (p, child) in strict.children().iter().enumerate() {
            let node = self.nodes.entry(child.node).or_default();
            node.latency_us.push(child.latency_us());
            node.wait_us.push(strict.gap_us(p).max(0) as u64);
        }
        if self.nodes.len() > MOST_NODES {
            self.is_too_wide = true;
            (self.nodes, self.pairs) = Default::default();
            return;
        }
        let children = order.children();
        let Invocations { nodes, pairs, .. } = self;
        order.critical(places);
        places.iter().for_each(|&p| counts_of(nodes, &children[p as usize]).critical += 1);
        if let Some(&last) = order.by_end().last() {
            counts_of(nodes, &children[last as usize]).last += 1;
        }
        for (p, child) in children.iter().enumerate() {
            let waits = order.waits_for(p);
            if waits.is_empty() {
                counts_of(nodes, child).first += 1;
            }
            children[..p].iter().for_each(|other| pair_of(pairs, other, child).0.both += 1);
            for &other in waits {
                let (sums, side) = pair_of(pairs, &children[other as usize], child);
                sums.before[side] += 1;
            }
            if let Some(&last) = waits.last() {
                let (sums, side) = pair_of(pairs, &children[last as usize], child);
                sums.binds[side] += 1;
            }
        }
    }
}

fn counts_of<'a>(nodes: &'a mut FxHashMap<u32, Seen>, of: &Child) -> &'a mut NodeCounts {
    &mut nodes.entry(of.node).or_default().counts
}

/// Returns the sums of two calls, and on which side the later call is the second: the lower number stands first.
fn pair_of<'a>(
    pairs: &'a mut FxHashMap<(u32, u32), PairSums>,
    from: &Child,
    to: &Child,
) -> (&'a mut PairSums, usize) {
    let nodes = (from.node.min(to.node), from.node.max(to.node));
    (pairs.entry(nodes).or_default(), usize::from(from.node > to.node))
}

impl Observer for FlowObserver {
    type Part = FlowSums;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let root = table.requests[request as usize].row - tree.first;
        for span in root..tree.subtree_end[root as usize] {
            if tree.role[span as usize] != Role::Dropped {
                self.look(set, tree, span);
            }
        }
    }

    fn finish(mut self, set: &TraceSet) -> FlowSums {
        self.take(set)
    }
}

impl Reusable for FlowObserver {
    fn take(&mut self, _: &TraceSet) -> FlowSums {
        let mut found: Vec<(u32, Invocations)> = self.parents.drain().collect();
        found.compact_sort_by_key(|(number, _)| *number);
        let parents =
            found.into_iter().map(|(endpoint, of)| {
                let mut callees: Vec<CalleePart> =
                    of.callees.into_iter().map(|(endpoint, facts)| CalleePart { endpoint, facts }).collect();
                callees.compact_sort_by_key(|callee| callee.endpoint);
                let nodes = of.nodes.into_iter().map(|(node, Seen { latency_us, wait_us, counts })| {
                    NodeTimes { node, latency: Times::of(latency_us), wait: Times::of(wait_us), counts }
                });
                let mut nodes: Vec<NodeTimes> = nodes.collect();
                nodes.compact_sort_by_key(|of| of.node);
                let mut pairs: Vec<Pair> =
                    of.pairs.into_iter().map(|(nodes, counts)| Pair { nodes, counts }).collect();
                pairs.compact_sort_by_key(|pair| pair.nodes);
                Parent {
                    endpoint,
                    invocations: of.invocations,
                    childless: of.childless,
                    most: of.most,
                    latency: Times::of(of.latency_us),
                    wait: Times::of(of.wait_us),
                    callees,
                    is_too_wide: of.is_too_wide,
                    nodes,
                    pairs,
                }
            });
        let parents: Vec<Parent> = parents.collect();
        let mut used: Vec<u32> = parents.iter().map(|parent| parent.endpoint).collect();
        used.extend(parents.iter().flat_map(|parent| &parent.callees).map(|callee| callee.endpoint));
        let (endpoints, places) = self.names.used(used);
        let parents = parents.into_iter().map(|parent| parent.renumbered(places)).collect();
        FlowSums { endpoints, parents }
    }
}
