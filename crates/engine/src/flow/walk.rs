//! Walking all traces of a set in pieces, and all invocations of some parents.

use super::{Child, NodeIndex, Order};
use pathlight_trace::{NO_ROW, Overlap, PathSettings, RequestRoots, Role, TraceRow, TraceSet, Tree};

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
