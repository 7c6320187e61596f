//! One trace ready for what-if: every invocation with its gaps relative to the learned flow
//! (`docs/definitions/execution-flow.md` section 4).
//!
//! An edge counts where the flow has it and the invocation itself does not contradict it: then no gap is below minus
//! the tolerance, and unchanged latencies give every span its own duration exactly. So does the order of this very
//! invocation, across a pause, of two calls that other invocations have in the other order.

use super::changes::scaled_us;
use super::{Changes, Child, FlowGraph, NodeIndex, NodeTables, Order, PairCounts, Relation};
use pathlight_trace::{Endpoint, NO_ROW, Overlap, Role, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// Model of the parents of a set of traces.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowModel {
    /// Nodes by parent.
    pub tables: NodeTables,
    /// The flow of each table.
    pub flows: Vec<FlowGraph>,
    /// Of each table, the pairs of nodes that stand in either order.
    either: Vec<Relation>,
}

impl FlowModel {
    /// Returns what the counts of each table say.
    pub fn new(tables: NodeTables, counts: &[PairCounts], tau_ppm: u32) -> FlowModel {
        let flows = counts.iter().map(|pairs| pairs.flow(tau_ppm)).collect();
        FlowModel { tables, flows, either: counts.iter().map(PairCounts::either_order).collect() }
    }
}

/// A model with its nodes in one set.
#[derive(Clone)]
pub(super) struct PlacedModel {
    model: Arc<FlowModel>,
    index: NodeIndex,
}

impl PlacedModel {
    /// Finds the nodes of a model in a set.
    pub fn new(set: &TraceSet, model: &Arc<FlowModel>) -> PlacedModel {
        PlacedModel { model: Arc::clone(model), index: NodeIndex::of_tables(set, &model.tables) }
    }
}

/// A call within an [`Invocation`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// A span, or the number of a folded group from the tree's length on.
    pub target: u32,
    gap_us: i64,
    /// The part of the gap in which no call of the parent runs: the parent's own work.
    own_us: u64,
    /// End of its list; it begins where the one before ends.
    waits_end: u32,
}

/// An invocation, its calls by start.
#[derive(Clone, Copy, Debug)]
pub(super) struct Invocation {
    /// The span it is of, or a folded group's number.
    pub target: u32,
    first: u32,
    end: u32,
    return_gap_us: i64,
    return_own_us: u64,
    first_wait: u32,
    /// Whether its calls wait for prefixes of one list rather than each for its own.
    pub is_group: bool,
}

impl Invocation {
    /// Returns the number of calls.
    pub fn len(self) -> usize {
        (self.end - self.first) as usize
    }
}

/// One trace, prepared.
#[derive(Default)]
pub(super) struct Prepared {
    /// Bottom-up: those of a span's descendants before its own.
    pub invocations: Vec<Invocation>,
    calls: Vec<Call>,
    /// Call of each target.
    pub call_of: Vec<u32>,
    waits: Vec<u32>,
    /// By target, its invocation; [`NO_ROW`] for a leaf.
    pub invocation_of: Vec<u32>,
    /// By target, the target that waits for it; [`NO_ROW`] if none does.
    pub caller_of: Vec<u32>,
    /// Endpoint by target; that of its caller for a folded group.
    pub endpoint_of: Vec<u32>,
    /// By target, its length as it was.
    pub before_us: Vec<u64>,
    /// By span, its self time: when none of the calls it waits for runs.
    pub self_us: Vec<u64>,
}

impl Prepared {
    /// Returns whether a span of the request with this root is the request or a call that is waited for; a consumer's
    /// subtree ends at its producer.
    pub fn is_waited_for(&self, span: u32, root: u32) -> bool {
        span == root || self.caller_of[span as usize] != NO_ROW
    }

    /// Ends the invocation of a target whose calls and waits began at these places.
    fn close(
        &mut self,
        order: &Order,
        own: &OwnTime,
        target: u32,
        (first, first_wait): (u32, u32),
        is_group: bool,
    ) {
        let return_gap_us = order.return_gap_us();
        let end_us = order.interval_us().1;
        self.invocation_of[target as usize] = self.invocations.len() as u32;
        self.invocations.push(Invocation {
            target,
            first,
            end: self.calls.len() as u32,
            return_gap_us: return_gap_us as i64,
            return_own_us: own.between(end_us - return_gap_us, end_us),
            first_wait,
            is_group,
        });
    }
}

/// Times in which a span works itself: the stretches in which none of its calls runs.
#[derive(Default)]
pub(crate) struct OwnTime {
    start_us: u64,
    /// Start and end of each call, in order.
    calls: Vec<(u64, u64)>,
    /// Stretches with calls, disjoint and in order: start, end, and all time in such stretches up to the end.
    busy: Vec<(u64, u64, u64)>,
}

impl OwnTime {
    /// Returns the self time of a span: when none of the calls it waits for runs.
    pub fn self_us(&mut self, tree: &Tree, span: u32) -> u64 {
        self.set(tree, span);
        self.until(tree.end_us[span as usize])
    }

    fn set(&mut self, tree: &Tree, span: u32) {
        self.start_us = tree.start_us[span as usize];
        let interval = |child: u32| (tree.start_us[child as usize], tree.end_us[child as usize]);
        self.calls.clear();
        self.calls.extend(tree.sync_children(span).map(interval));
        // Siblings stand by start as it was recorded; clocks that were set may have changed their order.
        self.calls.sort_unstable();
        self.busy.clear();
        for &(start, end) in &self.calls {
            match self.busy.last_mut() {
                Some(last) if start <= last.1 => {
                    last.2 += end.saturating_sub(last.1);
                    last.1 = last.1.max(end);
                }
                last => {
                    let before = last.map_or(0, |last| last.2);
                    self.busy.push((start, end, before + (end - start)));
                }
            }
        }
    }

    /// Returns own time from the start of the span to an instant.
    fn until(&self, at_us: u64) -> u64 {
        let begun = self.busy.partition_point(|busy| busy.0 < at_us);
        let busy = begun.checked_sub(1).map_or(0, |last| {
            let (_, end, sum) = self.busy[last];
            sum - end.saturating_sub(at_us)
        });
        at_us.saturating_sub(self.start_us).saturating_sub(busy)
    }

    fn between(&self, from_us: u64, to_us: u64) -> u64 {
        if from_us >= to_us { 0 } else { self.until(to_us) - self.until(from_us) }
    }
}

/// Prepares traces; keeps its scratch space.
pub(super) struct Preparer {
    model: Arc<FlowModel>,
    index: NodeIndex,
    overlap: Overlap,
    /// By table, edges taken out of its flow.
    removed: FxHashMap<u32, Vec<(u32, u32)>>,
    /// By table, groups of nodes between which all edges are taken out: by node, whether it is one of them.
    beside: FxHashMap<u32, Vec<Vec<bool>>>,
    order: Order,
    own: OwnTime,
    children: Vec<Child>,
    rows: Vec<u64>,
    covered: Vec<u64>,
}

impl Preparer {
    pub fn new(of: PlacedModel, overlap: Overlap, changes: &Changes) -> Preparer {
        let PlacedModel { model, index } = of;
        let tables = &model.tables;
        let mut removed: FxHashMap<u32, Vec<(u32, u32)>> = FxHashMap::default();
        for change in &changes.parallel {
            let parent = Endpoint::new(&change.service, &change.operation);
            let Some(at) = tables.place(&parent) else { continue };
            let table = tables.named(at);
            if let (Some(a), Some(b)) = (table.find(&change.first), table.find(&change.second)) {
                removed.entry(at as u32).or_default().extend([(a, b), (b, a)]);
            }
        }
        let mut beside: FxHashMap<u32, Vec<Vec<bool>>> = FxHashMap::default();
        for calls in &changes.beside {
            let Some(at) = tables.place(&calls.parent) else { continue };
            let table = tables.named(at);
            let called = table.callees.iter().filter(|callee| calls.callees.contains(&callee.name));
            let mut group = vec![false; table.len as usize];
            for callee in called {
                let nodes = callee.kept + u32::from(callee.has_rest);
                (callee.base..callee.base + nodes).for_each(|node| group[node as usize] = true);
            }
            beside.entry(at as u32).or_default().push(group);
        }
        Preparer {
            index,
            model,
            overlap,
            removed,
            beside,
            order: Order::default(),
            own: OwnTime::default(),
            children: Vec::new(),
            rows: Vec::new(),
            covered: Vec::new(),
        }
    }

    /// Forgets the trace before.
    pub fn begin(&self, set: &TraceSet, tree: &Tree, out: &mut Prepared) {
        out.invocations.clear();
        out.calls.clear();
        out.waits.clear();
        let n = tree.len();
        out.invocation_of.clear();
        out.invocation_of.resize(n, NO_ROW);
        out.caller_of.clear();
        out.caller_of.resize(n, NO_ROW);
        out.call_of.clear();
        out.call_of.resize(n, NO_ROW);
        out.before_us.clear();
        out.before_us.extend((0..n as u32).map(|i| tree.duration_us(i)));
        out.self_us.clone_from(&out.before_us);
        out.endpoint_of.clear();
        out.endpoint_of.extend((0..n as u32).map(|i| set.endpoint(tree.row(i)).0));
    }

    /// Prepares the invocation of a span, if it waits for any call. Spans come last one first.
    pub fn add(&mut self, set: &TraceSet, tree: &Tree, span: u32, out: &mut Prepared) -> usize {
        if tree.subtree_end[span as usize] == span + 1 || tree.role[span as usize] == Role::Dropped {
            return 1;
        }
        let endpoint = set.endpoint(tree.row(span));
        let table = self.index.table_of(endpoint);
        if table == NO_ROW {
            // Every endpoint with calls has a table unless it has none that are waited for.
            return 1;
        }
        self.index.read(set, tree, span, table, &mut self.children);
        if self.children.is_empty() {
            return 1;
        }
        out.self_us[span as usize] = self.own.self_us(tree, span);
        for child in &mut self.children {
            if child.span == NO_ROW {
                let group = out.before_us.len() as u32;
                child.span = group;
                let members: Vec<Child> =
                    self.index.folded().iter().filter(|m| m.node == child.node).copied().collect();
                out.before_us.push(child.latency_us());
                out.endpoint_of.push(endpoint.0);
                out.invocation_of.push(NO_ROW);
                out.caller_of.push(span);
                out.call_of.push(NO_ROW);
                self.order.set(child.start_us, child.end_us, &members, Some(self.overlap));
                push_group(&self.order, &self.own, group, out);
            } else {
                out.caller_of[child.span as usize] = span;
            }
        }
        let (start_us, end_us) = (tree.start_us[span as usize], tree.end_us[span as usize]);
        self.order.set(start_us, end_us, &self.children, Some(self.overlap));
        self.push(table, span, out);
        1 + self.children.len()
    }

    fn push(&mut self, table: u32, target: u32, out: &mut Prepared) {
        let FlowModel { flows, either, .. } = &*self.model;
        let (order, flow, either) = (&self.order, &flows[table as usize], &either[table as usize]);
        let (removed, beside) = (self.removed.get(&table), self.beside.get(&table));
        let is_kept = |from: u32, to: u32| {
            let is_beside = |group: &Vec<bool>| group[from as usize] && group[to as usize];
            removed.is_none_or(|removed| !removed.contains(&(from, to)))
                && beside.is_none_or(|beside| !beside.iter().any(is_beside))
        };
        let children = order.children();
        let words = children.len().div_ceil(64);
        self.rows.clear();
        self.rows.resize(children.len() * words, 0);
        let (first, first_wait) = (out.calls.len() as u32, out.waits.len() as u32);
        let start_us = order.interval_us().0;
        // Calls at places before this one have all ended when those from it on begin: the last pause.
        let (mut paused, mut all_ended_us) = (0, start_us);
        for (p, child) in children.iter().enumerate() {
            if child.start_us >= all_ended_us {
                paused = p;
            }
            all_ended_us = all_ended_us.max(child.end_us);
            let mut latest = start_us;
            for &q in order.waits_for(p) {
                let earlier = &children[q as usize];
                let is_here = (q as usize) < paused && either.has(earlier.node as usize, child.node as usize);
                if is_here || flow.has(earlier.node, child.node) {
                    latest = latest.max(earlier.end_us);
                    if is_kept(earlier.node, child.node) {
                        self.rows[p * words + q as usize / 64] |= 1 << (q % 64);
                    }
                }
            }
            // Only the edges that the others do not imply.
            self.covered.clear();
            self.covered.extend_from_slice(&self.rows[p * words..(p + 1) * words]);
            for word in (0..words).rev() {
                while self.covered[word] != 0 {
                    let bit = 63 - self.covered[word].leading_zeros() as usize;
                    let q = 64 * word + bit;
                    self.covered[word] &= !(1 << bit);
                    let implied = &self.rows[q * words..q * words + word + 1];
                    self.covered.iter_mut().zip(implied).for_each(|(left, row)| *left &= !row);
                    out.waits.push(q as u32);
                }
            }
            out.call_of[child.span as usize] = out.calls.len() as u32;
            out.calls.push(Call {
                target: child.span,
                gap_us: child.start_us as i64 - latest as i64,
                own_us: self.own.between(latest, child.start_us),
                waits_end: out.waits.len() as u32,
            });
        }
        out.close(order, &self.own, target, (first, first_wait), false);
    }
}

/// Adds a folded group, which keeps the graph of this very invocation.
fn push_group(order: &Order, own: &OwnTime, target: u32, out: &mut Prepared) {
    let (first, first_wait) = (out.calls.len() as u32, out.waits.len() as u32);
    for (p, child) in order.children().iter().enumerate() {
        out.caller_of[child.span as usize] = target;
        let gap_us = order.gap_us(p);
        let from_us = child.start_us.saturating_add_signed(-gap_us);
        out.call_of[child.span as usize] = out.calls.len() as u32;
        out.calls.push(Call {
            target: child.span,
            gap_us,
            own_us: own.between(from_us, child.start_us),
            waits_end: first_wait + order.waits_for(p).len() as u32,
        });
    }
    out.waits.extend_from_slice(order.by_end());
    out.close(order, own, target, (first, first_wait), true);
}

/// Folded groups in stretches: each begins with a call that waits for all before it. All later calls move alike with the
/// end of a stretch, so what a few calls change is found in their stretches alone, however many calls the group has.
#[derive(Default)]
pub(super) struct Stretches {
    /// The first call of each, and how long it takes; those of a group one after the other.
    starts: Vec<(u32, i64)>,
    /// By call, whether it decides when its stretch ends.
    decides: Vec<bool>,
}

impl Stretches {
    /// Finds those of a prepared trace, all of whose groups are there.
    pub fn set(&mut self, prepared: &Prepared, evaluator: &mut Evaluator) {
        self.starts.clear();
        self.decides.clear();
        self.decides.resize(prepared.calls.len(), false);
        for &invocation in prepared.invocations.iter().filter(|invocation| invocation.is_group) {
            let from = self.starts.len();
            // What stands first in the list that all wait for prefixes of: how many, and up to which call.
            let (mut listed, mut up_to) = (invocation.first_wait, 0);
            for call in invocation.first..invocation.end {
                let waits_end = prepared.calls[call as usize].waits_end;
                let more = &prepared.waits[listed as usize..waits_end as usize];
                up_to = more.iter().fold(up_to, |up_to, &q| up_to.max(q + 1));
                listed = waits_end;
                let before = call - invocation.first;
                if listed - invocation.first_wait == before && up_to == before {
                    self.starts.push((call, 0));
                }
            }
            for at in from..self.starts.len() {
                let (start, end) = (self.starts[at].0, self.end_of(at, invocation));
                let before = |target: u32| prepared.before_us[target as usize];
                self.starts[at].1 = evaluator.complete(prepared, invocation, start..end, 0, before);
                let complete = evaluator.complete_us.iter().zip(0..);
                let mut deciding = complete.max_by_key(|&(us, _)| *us).map_or(NO_ROW, |(_, call)| call);
                while deciding != NO_ROW {
                    self.decides[(start + deciding) as usize] = true;
                    deciding = evaluator.bound_to[deciding as usize];
                }
            }
        }
    }

    fn end_of(&self, stretch: usize, invocation: Invocation) -> u32 {
        self.starts.get(stretch + 1).map_or(invocation.end, |next| next.0.min(invocation.end))
    }

    /// Returns how long a folded group takes if of its calls only some take less time, `changed` by number; and how
    /// many calls were looked at for that. What did not decide when a stretch ends does so no sooner by being faster.
    pub fn faster(
        &self,
        prepared: &Prepared,
        invocation: Invocation,
        evaluator: &mut Evaluator,
        changed: &mut Vec<u32>,
        latency_us: impl Fn(u32) -> u64,
    ) -> (u64, usize) {
        let (mut us, mut cost) = (prepared.before_us[invocation.target as usize] as i64, changed.len());
        changed.retain(|&call| self.decides[call as usize]);
        changed.sort_unstable();
        let mut done = 0;
        for &call in changed.iter() {
            if call < done {
                continue;
            }
            let at = self.starts.partition_point(|start| start.0 <= call) - 1;
            let (start, was) = self.starts[at];
            done = self.end_of(at, invocation);
            cost += (done - start) as usize;
            us += evaluator.complete(prepared, invocation, start..done, 0, &latency_us) - was;
        }
        (us.max(0) as u64, cost)
    }
}

/// Returns a gap of which `own_us` are own work, after that changes by `own_ppm` millionths.
fn changed_gap_us(gap_us: i64, own_us: u64, own_ppm: i64) -> i64 {
    match own_ppm {
        0 => gap_us,
        _ => gap_us - own_us as i64 + scaled_us(own_us, own_ppm) as i64,
    }
}

/// Space to evaluate invocations in.
#[derive(Default)]
pub(super) struct Evaluator {
    /// By call of the invocation evaluated last: when it completes, from the parent's start.
    complete_us: Vec<i64>,
    /// By call, the call it binds to: the last to complete of those it waits for; [`NO_ROW`] if none.
    bound_to: Vec<u32>,
    /// By call: when it has to complete, for [`slacks`](Self::slacks).
    until_us: Vec<i64>,
}

impl Evaluator {
    /// Returns how long an invocation takes if its calls take `latency_us(target)` and its own work changes by
    /// `own_ppm` millionths.
    pub fn run(
        &mut self,
        prepared: &Prepared,
        invocation: Invocation,
        own_ppm: i64,
        latency_us: impl Fn(u32) -> u64,
    ) -> u64 {
        let calls = invocation.first..invocation.end;
        let last = self.complete(prepared, invocation, calls, own_ppm, latency_us);
        let Invocation { return_gap_us, return_own_us, .. } = invocation;
        (last + changed_gap_us(return_gap_us, return_own_us, own_ppm)).max(0) as u64
    }

    /// Completes some calls of an invocation that wait for none outside of these, or the first of which waits for all
    /// before it. Returns when the last of them completes, counted from when the first could begin.
    fn complete(
        &mut self,
        prepared: &Prepared,
        invocation: Invocation,
        calls: Range<u32>,
        own_ppm: i64,
        latency_us: impl Fn(u32) -> u64,
    ) -> i64 {
        self.complete_us.clear();
        self.bound_to.clear();
        let before = calls.start - invocation.first;
        let mut from = invocation.first_wait + before;
        let (mut base, mut binding, mut last) = (0, NO_ROW, 0);
        for call in &prepared.calls[calls.start as usize..calls.end as usize] {
            if !invocation.is_group {
                (base, binding) = (0, NO_ROW);
            }
            for &q in &prepared.waits[from as usize..call.waits_end as usize] {
                let complete = self.complete_us[(q - before) as usize];
                if binding == NO_ROW || complete > base {
                    (base, binding) = (complete, q - before);
                }
            }
            from = call.waits_end;
            // A call that takes no time completes no earlier than what it waits for.
            let gap_us = changed_gap_us(call.gap_us, call.own_us, own_ppm);
            let own = (gap_us + latency_us(call.target) as i64).max(0);
            self.complete_us.push(base + own);
            self.bound_to.push(binding);
            last = last.max(base + own);
        }
        last
    }

    /// Fills in, for each call of an invocation that may itself take `slack_us` longer, how much longer the call may take before
    /// what is above ends later.
    pub fn slacks(&mut self, prepared: &Prepared, invocation: Invocation, slack_us: u64, out: &mut [u64]) {
        self.run(prepared, invocation, 0, |target| prepared.before_us[target as usize]);
        let calls = &prepared.calls[invocation.first as usize..invocation.end as usize];
        let last = self.complete_us.iter().copied().max().unwrap_or(0);
        let latest = last.saturating_add_unsigned(slack_us);
        // By call, when it has to complete; each is final when its turn comes, since nothing waits for a later one.
        self.until_us.clear();
        self.until_us.resize(calls.len(), latest);
        let mut until_us = latest;
        for (p, call) in calls.iter().enumerate().rev() {
            let from = match p.checked_sub(1) {
                Some(before) => calls[before].waits_end,
                None => invocation.first_wait,
            };
            let own_us = (call.gap_us + prepared.before_us[call.target as usize] as i64).max(0);
            let start_us = self.until_us[p] - own_us;
            // Later calls of a group wait for all that this one waits for, too.
            until_us = if invocation.is_group { until_us.min(start_us) } else { start_us };
            for &q in &prepared.waits[from as usize..call.waits_end as usize] {
                let until = &mut self.until_us[q as usize];
                *until = (*until).min(until_us);
            }
            out[call.target as usize] = (self.until_us[p] - self.complete_us[p]).max(0) as u64;
        }
    }

    /// Returns the calls of the invocation that was run last, and when each completes, in microseconds from its start.
    pub fn completions<'a>(
        &'a self,
        prepared: &'a Prepared,
        invocation: Invocation,
    ) -> impl Iterator<Item = (u32, i64)> + 'a {
        let calls = &prepared.calls[invocation.first as usize..invocation.end as usize];
        calls.iter().map(|call| call.target).zip(self.complete_us.iter().copied())
    }

    /// Returns the calls that decided when the invocation run last ended, latest first.
    pub fn critical<'a>(
        &'a self,
        prepared: &'a Prepared,
        invocation: Invocation,
    ) -> impl Iterator<Item = u32> + 'a {
        let last = (0..self.complete_us.len() as u32)
            .max_by_key(|&c| (self.complete_us[c as usize], std::cmp::Reverse(c)));
        let mut at = last.unwrap_or(NO_ROW);
        std::iter::from_fn(move || {
            let call = (at != NO_ROW).then_some(at)?;
            at = self.bound_to[call as usize];
            Some(prepared.calls[(invocation.first + call) as usize].target)
        })
    }
}
