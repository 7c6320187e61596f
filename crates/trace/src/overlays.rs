//! Overlay spans (`docs/definitions/real-traces.md` section 1): a second span for the same work, beside the calls it
//! covers.

use super::{Role, SpanKind, TraceSet, Tree};

/// Tags that name what a span calls. A span with one of them is no overlay.
pub const PEER_KEYS: [&str; 8] = [
    "peer.service",
    "rpc.service",
    "db.system",
    "db.name",
    "db.namespace",
    "messaging.destination.name",
    "server.address",
    "net.peer.name",
];

/// The shortest overlay in microseconds, and its least share of its parent in percent.
const LEAST_US: u64 = 100;
const LEAST_OF_PARENT: u64 = 30;
/// Least part of the overlay that the calls cover, and of the calls that the overlay covers, in percent.
const LEAST_COVERED: u64 = 90;

/// Returns whether a span may be an overlay, by itself: `parent_us` and `us` are durations as sanitised. That it has
/// no child is seen later.
pub(super) fn may_be(set: &TraceSet, row: u32, us: u64, parent_row: u32, parent_us: u64) -> bool {
    us >= LEAST_US
        && u128::from(us) * 100 >= u128::from(parent_us) * u128::from(LEAST_OF_PARENT)
        && matches!(set.kind(row), SpanKind::Internal | SpanKind::Unspecified)
        && set.process_of(row).service == set.process_of(parent_row).service
}

/// Times covered by the calls beside a span, for many queries in one sweep.
#[derive(Default, Clone, Debug)]
pub(super) struct Calls {
    /// Intervals of calls by start.
    intervals: Vec<(u64, u64)>,
    /// By number of intervals from the start on: length of their union, and their greatest end.
    covered: Vec<(u64, u64)>,
}

impl Calls {
    /// Reads the calls among the children of a span: what has children, is a client or a producer, or is of another service.
    fn read(&mut self, set: &TraceSet, tree: &Tree, parent: u32) {
        self.intervals.clear();
        let service = set.process_of(tree.row(parent)).service;
        for child in tree.sync_children(parent) {
            let row = tree.row(child);
            let is_call = tree.subtree_end[child as usize] > child + 1
                || matches!(set.kind(row), SpanKind::Client | SpanKind::Producer)
                || set.process_of(row).service != service;
            let (start, end) = (tree.start_us[child as usize], tree.end_us[child as usize]);
            if is_call && start < end {
                self.intervals.push((start, end));
            }
        }
        self.intervals.sort_unstable();
        self.covered.clear();
        self.covered.push((0, 0));
        let (mut length, mut until) = (0, 0);
        for &(start, end) in &self.intervals {
            length += end.saturating_sub(start.max(until));
            until = until.max(end);
            self.covered.push((length, until));
        }
    }

    /// Returns the number of intervals that start before a time.
    fn before(&self, time: u64) -> usize {
        self.intervals.partition_point(|&(start, _)| start < time)
    }

    /// Returns the length of the union up to a time.
    fn covered_until(&self, time: u64) -> u64 {
        // What those that start earlier cover beyond the time is one piece.
        let (length, until) = self.covered[self.before(time)];
        length - until.saturating_sub(time)
    }

    /// Returns whether a span over `[start, end]` lies over the calls that overlap it.
    fn are_under(&self, start: u64, end: u64) -> bool {
        let (first, last) = (self.before(start), self.before(end));
        let starts_first = self.covered[first].1 <= start;
        if !starts_first || first == last {
            return false;
        }
        let covered = self.covered_until(end) - self.covered_until(start);
        // As long as the calls are: cut to the span, a short one beside a longer one would do.
        let hull = self.covered[last].1 - self.intervals[first].0;
        let is_most = |of: u64| u128::from(covered) * 100 >= u128::from(of) * u128::from(LEAST_COVERED);
        is_most(end - start) && is_most(hull)
    }
}

/// Gives overlays among `candidates`, parent and span each, their role. The tree is sanitised.
pub(super) fn mark(set: &TraceSet, tree: &mut Tree, candidates: &mut Vec<(u32, u32)>, calls: &mut Calls) {
    candidates.retain(|&(parent, span)| {
        let is_only = tree.subtree_end[parent as usize] == parent + 2;
        !is_only && tree.subtree_end[span as usize] == span + 1
    });
    // Those of one parent stand together.
    candidates.sort_unstable();
    let mut read = None;
    for &(parent, span) in candidates.iter() {
        let at = span as usize;
        if read != Some(parent) {
            calls.read(set, tree, parent);
            read = Some(parent);
        }
        let tags = set.tag_set(tree.row(span));
        if calls.are_under(tree.start_us[at], tree.end_us[at])
            && PEER_KEYS.iter().all(|key| set.tags.stored_values(tags, key).next().is_none())
        {
            tree.role[at] = Role::Overlay;
        }
    }
}
