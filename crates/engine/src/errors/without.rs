//! One request without some of its spans: their time is taken out, and what happened after them moves earlier as far as
//! the happens-before relations allow.
//!
//! Within an invocation every call keeps its gap to the latest of those it waited for, and the return its gap to the
//! last call. So a request from which nothing is taken keeps its latency exactly, and no span ever ends later.

use crate::flow::{Child, Order};
use pathlight_trace::{Overlap, Role, Tree};

/// Result of a run about a span.
#[derive(Clone, Copy, Default)]
struct Mark {
    /// The run; marks of others are void.
    run: u32,
    is_gone: bool,
    length_us: u64,
}

/// Takes spans out of requests; keeps its scratch space from request to request.
#[derive(Default)]
pub struct Without {
    run: u32,
    marks: Vec<Mark>,
    /// By span whose parent was replayed: the run, and the start from the parent's start in microseconds.
    begins: Vec<(u32, i64)>,
    /// Spans to replay.
    changed: Vec<u32>,
    order: Order,
    children: Vec<Child>,
    /// By place of the call: when it completes, from the parent's start.
    complete_us: Vec<i64>,
    moved: Tree,
    /// By span: its start before clipping, on the moved clock.
    raw_start_us: Vec<i64>,
}

impl Without {
    /// Returns the latency of the request with this root if the spans `gone`, with all below them, took no time. They
    /// must be spans the request waits for.
    pub fn take_out(&mut self, tree: &Tree, root: u32, overlap: Overlap, gone: &[u32]) -> u64 {
        self.run += 1;
        let run = self.run;
        self.marks.resize(self.marks.len().max(tree.len()), Mark::default());
        self.begins.resize(self.marks.len(), (0, 0));
        for &span in gone {
            self.marks[span as usize] = Mark { run, is_gone: true, length_us: 0 };
        }
        self.changed.clear();
        for &span in gone {
            let mut at = span;
            while at != root {
                at = tree.parent[at as usize];
                if self.marks[at as usize].run == run {
                    break;
                }
                self.marks[at as usize] = Mark { run, is_gone: false, length_us: tree.duration_us(at) };
                self.changed.push(at);
            }
        }
        // Children have greater numbers than their parents.
        self.changed.sort_unstable();
        while let Some(span) = self.changed.pop() {
            self.replay(tree, span, overlap);
        }
        self.length_us(tree, root)
    }

    fn length_us(&self, tree: &Tree, span: u32) -> u64 {
        let mark = &self.marks[span as usize];
        if mark.run == self.run { mark.length_us } else { tree.duration_us(span) }
    }

    /// Lets the calls of a span take what they take now.
    fn replay(&mut self, tree: &Tree, span: u32, overlap: Overlap) {
        self.children.clear();
        self.children.extend(tree.sync_children(span).map(|child| Child::of(tree, child)));
        let (start_us, end_us) = (tree.start_us[span as usize], tree.end_us[span as usize]);
        self.order.set(start_us, end_us, &self.children, Some(overlap));
        self.complete_us.clear();
        let (mut base_us, mut last_us, mut seen) = (0, 0, 0);
        for (place, child) in self.order.children().iter().enumerate() {
            // Calls by start wait for ever more of those by end.
            let waits_for = self.order.waits_for(place);
            for &earlier in &waits_for[seen..] {
                base_us = self.complete_us[earlier as usize].max(base_us);
            }
            seen = waits_for.len();
            let length_us = self.length_us(tree, child.span) as i64;
            let complete_us = base_us + (self.order.gap_us(place) + length_us).max(0);
            self.begins[child.span as usize] = (self.run, complete_us - length_us);
            self.complete_us.push(complete_us);
            last_us = complete_us.max(last_us);
        }
        self.marks[span as usize].length_us = last_us as u64 + self.order.return_gap_us();
    }

    /// Returns the request as it would be, after [`take_out`](Self::take_out): a tree in which its spans stand where
    /// they would, and those taken out are dropped.
    pub fn moved(&mut self, tree: &Tree, root: u32) -> &Tree {
        if self.moved.trace != tree.trace || self.moved.len() != tree.len() {
            self.moved.clone_from(tree);
        }
        self.raw_start_us.resize(self.marks.len(), 0);
        self.raw_start_us[root as usize] = tree.start_us[root as usize] as i64;
        for span in root..tree.subtree_end[root as usize] {
            let i = span as usize;
            let (parent, role) = (tree.parent[i] as usize, tree.role[i]);
            let is_gone = self.marks[i].run == self.run && self.marks[i].is_gone;
            let is_below = span != root;
            if is_gone || role == Role::Dropped || is_below && self.moved.role[parent] == Role::Dropped {
                self.moved.role[i] = Role::Dropped;
                continue;
            }
            if is_below {
                let begin_us = match self.begins[i] {
                    (run, begin_us) if run == self.run => begin_us,
                    _ => tree.start_us[i] as i64 - tree.start_us[parent] as i64,
                };
                self.raw_start_us[i] = self.raw_start_us[parent] + begin_us;
            }
            let start_us = self.raw_start_us[i];
            let end_us = start_us + self.length_us(tree, span) as i64;
            let (mut start_us, mut end_us) = (start_us.max(0) as u64, end_us.max(0) as u64);
            if is_below && matches!(role, Role::Sync | Role::Overlay) {
                // An overlap that passed for skew may now reach before the parent's start.
                let (from_us, to_us) = (self.moved.start_us[parent], self.moved.end_us[parent]);
                (start_us, end_us) = (start_us.clamp(from_us, to_us), end_us.clamp(from_us, to_us));
            }
            self.moved.role[i] = role;
            (self.moved.start_us[i], self.moved.end_us[i]) = (start_us, end_us);
        }
        &self.moved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_trace::NO_ROW;

    /// Returns the spans as (parent, start, end), in pre-order.
    fn tree(spans: &[(u32, u64, u64)]) -> Tree {
        let mut tree = Tree::default();
        for (i, &(parent, start_us, end_us)) in spans.iter().enumerate() {
            tree.parent.push(parent);
            tree.subtree_end.push(i as u32 + 1);
            tree.start_us.push(start_us);
            tree.end_us.push(end_us);
            tree.role.push(if parent == NO_ROW { Role::Root } else { Role::Sync });
        }
        for i in (1..spans.len()).rev() {
            let parent = spans[i].0 as usize;
            tree.subtree_end[parent] = tree.subtree_end[parent].max(tree.subtree_end[i]);
        }
        tree
    }

    fn latency(tree: &Tree, gone: &[u32]) -> u64 {
        Without::default().take_out(tree, 0, Overlap::default(), gone)
    }

    /// Returns a span from 0 to 110 with calls at 10 to 20, 15 to 35, 30 to 40 (beside the one before), 50 to 60, 70 to
    /// 100 with 80 to 90 in it.
    fn six() -> Tree {
        tree(&[
            (NO_ROW, 0, 110),
            (0, 10, 20),
            (0, 15, 35),
            (0, 30, 40),
            (0, 50, 60),
            (0, 70, 100),
            (5, 80, 90),
        ])
    }

    #[test]
    fn calls_keep_their_gaps_and_wait_for_what_they_waited_for() {
        assert_eq!(latency(&six(), &[]), 110);
        // The one beside it still ends at 35.
        assert_eq!(latency(&six(), &[3]), 105);
        assert_eq!(latency(&six(), &[3, 4, 6]), 85);
        // The first is waited for by the one that ends at 40; the second ends before it, and nobody else waits longer.
        assert_eq!(latency(&six(), &[1]), 105);
        assert_eq!(latency(&six(), &[2]), 110);
        assert_eq!(latency(&six(), &[0]), 0);
        assert_eq!(latency(&six(), &[5, 6]), 80);
    }

    #[test]
    fn the_moved_request_is_as_long_as_it_would_take() {
        let tree = six();
        let mut without = Without::default();
        assert_eq!(without.take_out(&tree, 0, Overlap::default(), &[3, 4, 6]), 85);
        let moved = without.moved(&tree, 0);
        let at = |i: usize| (moved.start_us[i], moved.end_us[i]);
        assert_eq!((at(0), at(1), at(2), at(5)), ((0, 85), (10, 20), (15, 35), (55, 75)));
        assert_eq!([3, 4, 6].map(|i: usize| moved.role[i]), [Role::Dropped; 3]);
    }

    #[test]
    fn an_overlap_that_passes_for_skew_is_no_waiting() {
        // The third waits for the second, which ends 5 us into it.
        let spans = [(NO_ROW, 0, 600), (0, 10, 210), (0, 205, 305), (0, 300, 600)];
        assert_eq!(latency(&tree(&spans), &[1, 2, 3]), 10);
        assert_eq!(latency(&tree(&spans), &[1, 3]), 105);
    }
}
