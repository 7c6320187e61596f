//! Following the messages of a request: to the asynchronous spans below it, and along links into this trace and others.

use crate::queues::{Receivers, fan_in};
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{NO_ROW, PathSettings, RequestRoots, Role, TraceSet, Tree};
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Ordering;

/// A request is followed into this many traces, its own included.
pub(super) const MOST_TRACES: usize = 100;
/// And to this many spans that are not its own; to few where a test is to see the limit.
pub(super) const MOST_SPANS: usize = if cfg!(test) { 1000 } else { 100_000 };
/// Trees of other traces are forgotten when they have more spans than this.
const SPANS_KEPT: usize = 1_000_000;

/// A set of rows that is larger is made anew for the next request.
const SEEN_KEPT: usize = 1 << 12;

/// The place of the tree of the request itself.
const OWN: u32 = NO_ROW;

/// A span that something waits for, with all below it that is waited for: the request, or the work of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Unit {
    /// Place of its tree.
    tree: u32,
    /// Its top span there.
    pub top: u32,
    /// The unit and the span in its tree that sent it; `None` for the request.
    pub sender: Option<(u32, u32)>,
    /// Received together with other messages: nothing is followed beyond it.
    is_batch: bool,
}

/// A span that was found to do what a unit has sent.
#[derive(Clone, Copy)]
struct Found {
    row: u32,
    /// Place of its tree, of what hangs below its sender.
    tree: Option<u32>,
    unit: u32,
    sender: u32,
    sender_row: u32,
}

/// Follows the requests of one set; keeps its memory from request to request.
#[derive(Default)]
pub(crate) struct Follower {
    settings: PathSettings,
    /// By row of the sender: the row of the receiver, of links. Sorted.
    receivers: Vec<(u32, u32)>,
    /// Traces that links connect with too many others; sorted.
    apart: Vec<u32>,
    /// Trees of traces, whatever their requests, with their places by trace.
    trees: Vec<Tree>,
    places: FxHashMap<u32, u32>,
    units: Vec<Unit>,
    /// Rows at the top of units, and those that were cut.
    seen: FxHashSet<u32>,
    traces: FxHashSet<u32>,
    found: Vec<Found>,
    spans: usize,
    is_cut: bool,
}

impl Follower {
    /// Returns a follower of requests of this set. `apart` are the traces, ascending, out of which and into which no link is
    /// followed.
    pub fn new(set: &TraceSet, settings: PathSettings, apart: Vec<u32>) -> Follower {
        let mut groups: Vec<u8> = set.traces().iter().map(|trace| trace.id.group).collect();
        groups.dedup();
        groups.sort_unstable();
        groups.dedup();
        let has_links = set.links().next().is_some();
        let of_groups = groups.into_iter().filter(|_| has_links);
        let mut receivers: Vec<(u32, u32)> =
            of_groups.flat_map(|group| Receivers::of(set, group).here).collect();
        receivers.compact_sort();
        Follower {
            settings,
            receivers,
            apart,
            trees: Vec::new(),
            places: FxHashMap::default(),
            units: Vec::new(),
            seen: FxHashSet::default(),
            traces: FxHashSet::default(),
            found: Vec::new(),
            spans: 0,
            is_cut: false,
        }
    }

    /// Returns senders and receivers of messages by links, as rows, in order.
    pub fn receivers(&self) -> &[(u32, u32)] {
        &self.receivers
    }

    /// Returns the units of the request that was followed last, each after what sent it; the request comes first.
    pub fn units(&self) -> &[Unit] {
        &self.units
    }

    /// Returns whether something of it was not followed.
    pub fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// Returns the tree of a unit; `own` is that of the request.
    pub fn tree<'a>(&'a self, own: &'a Tree, unit: &Unit) -> &'a Tree {
        if unit.tree == OWN { own } else { &self.trees[unit.tree as usize] }
    }

    /// Follows the request at `root` of a tree: level by level, so that what comes after few messages is kept where there is
    /// too much; on each level by start, then by ids.
    pub fn follow(&mut self, set: &TraceSet, own: &Tree, root: u32) {
        if self.trees.iter().map(Tree::len).sum::<usize>() > SPANS_KEPT {
            self.trees.clear();
            self.places.clear();
        }
        self.units.clear();
        if self.seen.capacity() > SEEN_KEPT {
            // Clearing takes as long as it is large.
            self.seen = FxHashSet::default();
        }
        self.seen.clear();
        self.traces.clear();
        (self.spans, self.is_cut) = (0, false);
        self.enter_trace(own.trace);
        self.seen.insert(own.row(root));
        self.units.push(Unit { tree: OWN, top: root, sender: None, is_batch: false });
        let mut next = 0;
        while next < self.units.len() {
            let mut found = std::mem::take(&mut self.found);
            let level = next..self.units.len();
            next = level.end;
            for unit in level {
                self.scan(own, unit as u32, &mut found);
            }
            let place = |row: u32| {
                let trace = set.traces().partition_point(|trace| trace.end <= row);
                (set.traces()[trace].id, set.span_id(row), row)
            };
            let by_id = |a: u32, b: u32| -> Ordering {
                let (a, b) = (place(a), place(b));
                let order = a.0.compare(b.0, &set.id_texts);
                order.then_with(|| a.1.compare(b.1, &set.id_texts)).then_with(|| a.2.cmp(&b.2))
            };
            found.compact_sort_by(|a, b| {
                let order = set.start_us(a.row).cmp(&set.start_us(b.row));
                order.then_with(|| by_id(a.row, b.row)).then_with(|| by_id(a.sender_row, b.sender_row))
            });
            for found in found.drain(..) {
                if self.seen.insert(found.row) {
                    self.take(set, own, root, &found);
                }
            }
            self.found = found;
        }
    }

    fn enter_trace(&mut self, trace: u32) {
        self.traces.insert(trace);
        self.is_cut |= self.is_apart(trace);
    }

    fn is_apart(&self, trace: u32) -> bool {
        self.apart.binary_search(&trace).is_ok()
    }

    /// Lists what the spans of a unit have sent.
    fn scan(&self, own: &Tree, number: u32, found: &mut Vec<Found>) {
        let unit = self.units[number as usize];
        if unit.is_batch {
            return;
        }
        let tree = self.tree(own, &unit);
        let end = tree.subtree_end[unit.top as usize];
        // Links leave the trace or lead to another part of it; most spans have none.
        let from = self.receivers.partition_point(|of| of.0 < tree.row(unit.top));
        let mut links = self.receivers[from..].iter().copied().peekable();
        let mut span = unit.top;
        while span < end {
            let row = tree.row(span);
            if span != unit.top && tree.role[span as usize] == Role::Async {
                let sender = tree.parent[span as usize];
                let sender_row = tree.row(sender);
                found.push(Found { row, tree: Some(unit.tree), unit: number, sender, sender_row });
                span = tree.subtree_end[span as usize];
                continue;
            }
            while links.next_if(|of| of.0 < row).is_some() {}
            while let Some((_, receiver)) = links.next_if(|of| of.0 == row) {
                found.push(Found { row: receiver, tree: None, unit: number, sender: span, sender_row: row });
            }
            span += 1;
        }
    }

    /// Makes a unit of what was found, unless it is too much or is waited for where it is.
    fn take(&mut self, set: &TraceSet, own: &Tree, root: u32, found: &Found) {
        let tree = match found.tree {
            Some(tree) => tree,
            None => {
                let trace = set.traces().partition_point(|trace| trace.end <= found.row) as u32;
                let from = self.tree(own, &self.units[found.unit as usize]).trace;
                let is_far = trace != from && self.is_apart(trace);
                let is_new = !self.traces.contains(&trace);
                if is_far || is_new && self.traces.len() == MOST_TRACES {
                    self.is_cut = true;
                    return;
                }
                let is_own = trace == own.trace && {
                    let span = found.row - own.first;
                    // What is above the request does not exist for it.
                    if span <= root && root < own.subtree_end[span as usize] {
                        return;
                    }
                    span > root && span < own.subtree_end[root as usize]
                };
                let tree = if is_own { OWN } else { self.load(set, trace) };
                if is_new {
                    self.enter_trace(trace);
                }
                tree
            }
        };
        let mut unit = Unit { tree, top: 0, sender: Some((found.unit, found.sender)), is_batch: false };
        let held = self.tree(own, &unit);
        unit.top = found.row - held.first;
        if !matches!(held.role[unit.top as usize], Role::Async | Role::Root) {
            return;
        }
        let left = MOST_SPANS.saturating_sub(self.spans);
        match unit_spans(held, unit.top, left) {
            Some(spans) => self.spans += spans,
            None => {
                // Nothing more: what is followed must not depend on the sizes of what comes later.
                (self.spans, self.is_cut) = (MOST_SPANS, true);
                return;
            }
        }
        unit.is_batch = fan_in(set, found.row) > 1;
        self.units.push(unit);
    }

    /// Returns the place of the tree of a trace.
    fn load(&mut self, set: &TraceSet, trace: u32) -> u32 {
        let (trees, settings) = (&mut self.trees, self.settings);
        *self.places.entry(trace).or_insert_with(|| {
            let mut tree = Tree::default();
            tree.load_for(set, trace, settings, RequestRoots::All);
            trees.push(tree);
            trees.len() as u32 - 1
        })
    }
}

/// Returns the number of spans of a unit, without those of the units below it; `None` if they are more than `most`.
fn unit_spans(tree: &Tree, top: u32, most: usize) -> Option<usize> {
    let (mut span, mut spans) = (top, 0);
    while span < tree.subtree_end[top as usize] {
        if span != top && tree.role[span as usize] == Role::Async {
            span = tree.subtree_end[span as usize];
            continue;
        }
        spans += 1;
        if spans > most {
            return None;
        }
        span += 1;
    }
    Some(spans)
}
