//! Walking all traces of a set in pieces, and all invocations of some parents.

use super::{Callee, Callees, Child, NodeIndex, Order};
use hashbrown::HashMap;
use pathlight_trace::{
    Endpoint, NO_ROW, Overlap, PathSettings, RequestRoots, Role, TraceRow, TraceSet, Tree,
};
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Something that is done with one trace after another: with each of its spans, unless [`piece`](Self::piece) does otherwise.
pub trait Visit {
    /// Returns whether a trace matters at all.
    fn wants(&mut self, set: &TraceSet, trace: &TraceRow) -> bool;

    /// Prepares for a trace that is about to be worked on.
    fn begin(&mut self, _: &TraceSet, _: &Tree) {}

    /// Looks at a span; returns about how many others it looked at for that, `None` if it passed it over.
    fn span(&mut self, _set: &TraceSet, _tree: &Tree, _span: u32) -> Option<usize> {
        None
    }

    /// Does a piece of work and returns about how many spans it looked at; `None` when the trace is done. `next` is 0 when it
    /// begins and stays as it is left.
    fn piece(&mut self, set: &TraceSet, tree: &Tree, next: &mut u32) -> Option<usize> {
        let from = *next;
        while (*next as usize) < tree.len() {
            let span = *next;
            *next += 1;
            if let Some(others) = self.span(set, tree, span) {
                return Some((*next - from) as usize + others);
            }
        }
        None
    }
}

/// Spans handled between two looks at the clock.
const CHUNK: usize = 8192;

enum Phase {
    NextTrace,
    Sanitise,
    Work,
}

/// A resumable walk over the traces of a set, which must not change meanwhile.
pub struct FlowWalk {
    group: u8,
    trace: u32,
    tree: Tree,
    /// How far the visit of the trace is.
    next: u32,
    settings: PathSettings,
    roots: RequestRoots,
    phase: Phase,
}

impl FlowWalk {
    /// Returns a walk over the traces of one group (see [`Selection::group`](crate::requests::Selection::group)), whose trees are
    /// loaded for the requests with these roots.
    pub fn new(group: u8, settings: PathSettings, roots: RequestRoots) -> FlowWalk {
        let tree = Tree::default();
        FlowWalk { group, trace: 0, tree, next: 0, settings, roots, phase: Phase::NextTrace }
    }

    /// Returns the traces done and traces in all.
    pub fn progress(&self, set: &TraceSet) -> (u64, u64) {
        (u64::from(self.trace), set.traces().len() as u64)
    }

    /// Works until done (true) or until `time_is_up` says so.
    pub fn step(
        &mut self,
        set: &TraceSet,
        visit: &mut impl Visit,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> bool {
        let mut left = CHUNK;
        loop {
            let cost = match self.phase {
                Phase::NextTrace => {
                    let Some(trace) = set.traces().get(self.trace as usize) else { return true };
                    if trace.id.group == self.group && visit.wants(set, trace) {
                        self.tree.begin(set, self.trace, self.settings, self.roots);
                        self.phase = Phase::Sanitise;
                    } else {
                        self.trace += 1;
                    }
                    1 + trace.len() / 16
                }
                Phase::Sanitise => {
                    let before = self.tree.len();
                    if self.tree.step(set, left) {
                        visit.begin(set, &self.tree);
                        self.next = 0;
                        self.phase = Phase::Work;
                    }
                    self.tree.len() - before
                }
                Phase::Work => match visit.piece(set, &self.tree, &mut self.next) {
                    Some(cost) => cost,
                    None => {
                        self.trace += 1;
                        self.phase = Phase::NextTrace;
                        1
                    }
                },
            };
            left = left.saturating_sub(cost);
            if left == 0 {
                if time_is_up() {
                    return false;
                }
                left = CHUNK;
            }
        }
    }

    /// Walks to the end at once.
    pub fn run(mut self, set: &TraceSet, visit: &mut impl Visit) {
        while !self.step(set, visit, &mut || false) {}
    }
}

/// The spans that lie in some requests; none means all spans.
#[derive(Clone, Debug, Default)]
pub struct Within {
    /// Rows of the requests' roots, sorted; no request lies in another.
    roots: Option<Vec<u32>>,
}

impl Within {
    /// Returns the requests with these root rows.
    pub fn requests(mut rows: Vec<u32>) -> Within {
        rows.sort_unstable();
        Within { roots: Some(rows) }
    }

    pub(super) fn has(&self, tree: &Tree, span: u32) -> bool {
        let Some(roots) = &self.roots else { return true };
        let row = tree.row(span);
        let after = roots.partition_point(|&root| root <= row);
        after
            .checked_sub(1)
            .map(|at| roots[at])
            .filter(|&root| root >= tree.first)
            .is_some_and(|root| row < tree.row(tree.subtree_end[(root - tree.first) as usize]))
    }
}

/// Observer of invocations, one by one.
pub trait Observe {
    /// Takes an invocation: span `parent` of the tree, whose endpoint has table number `table`.
    fn observe(&mut self, set: &TraceSet, tree: &Tree, table: u32, parent: u32, order: &Order);
}

/// Visits every invocation of the parents that have a table.
pub struct Invocations<O> {
    /// The observer that gets them.
    pub observer: O,
    index: NodeIndex,
    within: Within,
    overlap: Option<Overlap>,
    is_drawn: bool,
    order: Order,
    children: Vec<Child>,
}

impl<O: Observe> Invocations<O> {
    /// Gives `observer` the invocations by `index`, their edges with or without tolerated overlaps.
    pub fn new(index: NodeIndex, within: Within, overlap: Option<Overlap>, observer: O) -> Invocations<O> {
        let (order, children) = (Order::default(), Vec::new());
        Invocations { observer, index, within, overlap, is_drawn: false, order, children }
    }

    /// Leaves out spans that only hand on to another span of their endpoint.
    #[must_use]
    pub fn drawn(mut self) -> Invocations<O> {
        self.is_drawn = true;
        self
    }
}

/// Returns the span that a span only hands on to: its single call is of its own endpoint, as where both halves of a call have
/// one name.
pub(super) fn handed_to(set: &TraceSet, tree: &Tree, span: u32) -> Option<u32> {
    let mut calls = tree.sync_children(span);
    let only = calls.next().filter(|_| calls.next().is_none())?;
    (set.endpoint(tree.row(only)) == set.endpoint(tree.row(span))).then_some(only)
}

/// Returns the span that answers where a call is handed on within its endpoint: the call itself if it is not.
pub(super) fn answering(set: &TraceSet, tree: &Tree, call: u32) -> u32 {
    std::iter::successors(Some(call), |&span| handed_to(set, tree, span)).last().unwrap_or(call)
}

impl<O: Observe> Visit for Invocations<O> {
    fn wants(&mut self, set: &TraceSet, trace: &TraceRow) -> bool {
        trace.rows().any(|row| self.index.table_of(set.endpoint(row)) != NO_ROW)
    }

    fn span(&mut self, set: &TraceSet, tree: &Tree, span: u32) -> Option<usize> {
        let table = self.index.table_of(set.endpoint(tree.row(span)));
        let is_leaf = tree.subtree_end[span as usize] == span + 1;
        if table == NO_ROW || is_leaf || tree.role[span as usize] == Role::Dropped {
            return None;
        }
        if !self.within.has(tree, span) {
            return None;
        }
        if self.is_drawn && handed_to(set, tree, span).is_some() {
            return None;
        }
        self.index.read(set, tree, span, table, &mut self.children);
        if self.children.is_empty() {
            return None;
        }
        let (start_us, end_us) = (tree.start_us[span as usize], tree.end_us[span as usize]);
        self.order.set(start_us, end_us, &self.children, self.overlap);
        self.observer.observe(set, tree, table, span, &self.order);
        Some(self.children.len())
    }
}

/// What callees are counted for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CalleesFor {
    /// A model, which knows every span.
    Model,
    /// Predictions, which need the starts of invocations too.
    Prediction,
    /// A drawing, which leaves out spans that only hand on to another span of their endpoint.
    Drawing,
}

/// Finds the callees of parents: the first pass.
pub struct CalleeCounter {
    /// By endpoint of the set, without their callees.
    counts: Vec<Callees>,
    wanted: Option<u32>,
    is_empty: bool,
    callees: HashMap<(u32, u32), Callee, FxBuildHasher>,
    /// By endpoint: the invocation that saw it last, and how often.
    seen: Vec<(u64, u32)>,
    invocation: u64,
    called: Vec<u32>,
    /// By endpoint: sanitised starts of its invocations, if asked for.
    starts: Option<Vec<Vec<u64>>>,
    is_drawn: bool,
    /// The calls of an invocation: start and end.
    calls: Vec<(u64, u64)>,
    within: Within,
}

impl CalleeCounter {
    /// Counts the callees of one parent, or of all.
    pub fn new(
        set: &TraceSet,
        parent: Option<&Endpoint>,
        within: Within,
        wanted_for: CalleesFor,
    ) -> CalleeCounter {
        let n = set.endpoints().len();
        let wanted = parent.map(|Endpoint { service, operation }| set.find_endpoint(service, operation));
        CalleeCounter {
            counts: vec![Callees::default(); n],
            wanted: wanted.flatten().map(|e| e.0),
            is_empty: wanted == Some(None),
            callees: HashMap::default(),
            seen: vec![(0, 0); n],
            invocation: 0,
            called: Vec::new(),
            starts: (wanted_for == CalleesFor::Prediction).then(|| vec![Vec::new(); n]),
            is_drawn: wanted_for == CalleesFor::Drawing,
            calls: Vec::new(),
            within,
        }
    }

    /// Adds the time in which calls of an invocation run, and what of it side by side would spare.
    fn add_times(&mut self, tree: &Tree, span: u32, endpoint: u32) {
        let interval = |child: u32| (tree.start_us[child as usize], tree.end_us[child as usize]);
        self.calls.clear();
        self.calls.extend(tree.sync_children(span).map(interval));
        self.calls.sort_unstable();
        let (mut busy_us, mut longest_us, mut until_us) = (0, 0, 0);
        for &(start_us, end_us) in &self.calls {
            busy_us += end_us.saturating_sub(start_us.max(until_us));
            longest_us = longest_us.max(end_us - start_us);
            until_us = until_us.max(end_us);
        }
        let counts = &mut self.counts[endpoint as usize];
        counts.calls_us += busy_us;
        counts.recoverable_us += busy_us - longest_us;
    }

    /// Returns, by endpoint, its callees and the starts of its invocations in no order. One without invocations is no
    /// parent, but may be one in another set.
    pub fn finish(mut self, set: &TraceSet) -> BTreeMap<Endpoint, (Callees, Vec<u64>)> {
        let names: Vec<Endpoint> =
            set.endpoints().map(|(service, operation)| Endpoint::new(service, operation)).collect();
        let mut out: BTreeMap<Endpoint, (Callees, Vec<u64>)> = BTreeMap::new();
        for (endpoint, counts) in self.counts.into_iter().enumerate() {
            if counts.invocations + counts.childless == 0 {
                continue;
            }
            let starts = self.starts.as_mut().map(|s| std::mem::take(&mut s[endpoint]));
            out.insert(names[endpoint].clone(), (counts, starts.unwrap_or_default()));
        }
        for ((parent, callee), facts) in self.callees {
            if let Some((callees, _)) = out.get_mut(&names[parent as usize]) {
                callees.callees.insert(names[callee as usize].clone(), facts);
            }
        }
        out
    }
}

impl Visit for CalleeCounter {
    fn wants(&mut self, set: &TraceSet, trace: &TraceRow) -> bool {
        match self.wanted {
            Some(wanted) => trace.rows().any(|row| set.endpoint(row).0 == wanted),
            None => !self.is_empty,
        }
    }

    fn span(&mut self, set: &TraceSet, tree: &Tree, span: u32) -> Option<usize> {
        let endpoint = set.endpoint(tree.row(span)).0;
        if self.wanted.is_some_and(|wanted| wanted != endpoint)
            || tree.role[span as usize] == Role::Dropped
            || !self.within.has(tree, span)
            || self.is_drawn && handed_to(set, tree, span).is_some()
        {
            return None;
        }
        self.invocation += 1;
        self.called.clear();
        let mut calls = 0;
        for child in tree.sync_children(span) {
            let callee = set.endpoint(tree.row(child)).0;
            let seen = &mut self.seen[callee as usize];
            if seen.0 != self.invocation {
                *seen = (self.invocation, 0);
                self.called.push(callee);
            }
            seen.1 += 1;
            calls += 1;
            let child = if self.is_drawn { answering(set, tree, child) } else { child };
            if tree.sync_children(child).next().is_some() {
                self.callees.entry((endpoint, callee)).or_default().has_calls = true;
            }
        }
        let counts = &mut self.counts[endpoint as usize];
        if calls == 0 {
            counts.childless += 1;
            return None;
        }
        counts.invocations += 1;
        counts.most = counts.most.max(calls);
        for &callee in &self.called {
            let facts = self.callees.entry((endpoint, callee)).or_default();
            facts.most = facts.most.max(self.seen[callee as usize].1);
            facts.invocations += 1;
        }
        if self.is_drawn {
            self.add_times(tree, span, endpoint);
        }
        if let Some(starts) = &mut self.starts {
            starts[endpoint as usize].push(tree.start_us[span as usize]);
        }
        Some(calls as usize)
    }
}
