//! One invocation as an interval order (`docs/definitions/execution-flow.md` section 1).
//!
//! The children stand by (start, end, node). Those a child waits for are then always the first so many of the children
//! in order of their ends, so a number per child says all edges and nothing is ever quadratic in children.

use pathlight_base::steps::in_blocks;
use pathlight_trace::{Overlap, Tree};
use std::collections::BinaryHeap;

/// A child of an invocation, or several folded into one node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Child {
    /// Its node in the parent's table of nodes; any number that orders children of one interval will do.
    pub node: u32,
    /// Its span in the tree; [`NO_ROW`](pathlight_trace::NO_ROW) for a folded node.
    pub span: u32,
    /// Sanitised start in microseconds.
    pub start_us: u64,
    /// Sanitised end, not before the start.
    pub end_us: u64,
}

impl Child {
    /// Returns a span of a tree as a node of its own.
    pub fn of(tree: &Tree, span: u32) -> Child {
        let (start_us, end_us) = (tree.start_us[span as usize], tree.end_us[span as usize]);
        Child { node: span, span, start_us, end_us }
    }

    /// Returns L: its latency in microseconds.
    pub fn latency_us(&self) -> u64 {
        self.end_us - self.start_us
    }
}

/// An invocation: a parent's interval, its children, and which of them each waits for.
#[derive(Clone, Default, Debug)]
pub struct Order {
    start_us: u64,
    end_us: u64,
    children: Vec<Child>,
    /// Places in `children`, by (end, those with a length first, place).
    ends: Vec<u32>,
    /// The inverse: where a child stands in `ends`.
    rank: Vec<u32>,
    /// Number of `ends` that each child waits for; never falling.
    waits: Vec<u32>,
}

/// Effect of a child on the end of its parent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Pressure {
    /// Time by which the parent would end earlier if the child took no time.
    pub drag_us: u64,
    /// Time by which the child may take longer before the parent ends later.
    pub slack_us: u64,
}

impl Order {
    /// Takes an invocation over `[start_us, end_us]` with children inside it, and orders them. With `overlap`, a child
    /// also waits for those whose overlap with it passes for clock skew (`docs/definitions/critical-path.md` section 3);
    /// without, only for those that end before it starts.
    pub fn set(&mut self, start_us: u64, end_us: u64, children: &[Child], overlap: Option<Overlap>) {
        (self.start_us, self.end_us) = (start_us, end_us);
        self.children.clear();
        self.children.extend_from_slice(children);
        self.children.sort_unstable_by_key(|c| (c.start_us, c.end_us, c.node, c.span));
        let children = &self.children;
        self.ends.clear();
        self.ends.extend(0..children.len() as u32);
        self.ends.sort_unstable_by_key(|&p| {
            let child = &children[p as usize];
            (child.end_us, child.start_us == child.end_us, p)
        });
        self.rank.clear();
        self.rank.resize(children.len(), 0);
        in_blocks(self.ends.len(), &mut |block| {
            block.for_each(|x| self.rank[self.ends[x] as usize] = x as u32)
        });
        self.count_waits(overlap);
    }

    fn count_waits(&mut self, overlap: Option<Overlap>) {
        let Order { children, ends, waits, .. } = self;
        let parent_us = self.end_us - self.start_us;
        let end = |x: usize| ends.get(x).map(|&p| &children[p as usize]);
        waits.clear();
        let (mut before, mut later) = (0, 0);
        // The overlap accepted last: (start of the later, end of the earlier), and how many end there.
        let mut accepted = ((u64::MAX, 0), 0);
        in_blocks(children.len(), &mut |block| {
            for p in block {
                let child = &children[p];
                while end(before).is_some_and(|e| {
                    // Of children without length at one instant, each waits for those before it only.
                    e.end_us < child.start_us
                        || e.end_us == child.start_us && (e.start_us < e.end_us || ends[before] < p as u32)
                }) {
                    before += 1;
                }
                let mut extra = 0;
                if let (Some(overlap), Some(next)) = (overlap, end(before))
                    && next.end_us > child.start_us
                    && next.end_us < child.end_us
                    && overlap.tolerates(next.end_us - child.start_us, parent_us)
                {
                    later = later.max(p);
                    while children.get(later).is_some_and(|c| c.start_us <= child.start_us) {
                        later += 1;
                    }
                    // No child may start inside the overlap; none ends there, since `next` is the first to end.
                    if children.get(later).is_none_or(|c| c.start_us >= next.end_us) {
                        let key = (child.start_us, next.end_us);
                        if accepted.0 != key {
                            let ending = (before..ends.len()).take_while(|&x| {
                                end(x).is_some_and(|e| e.end_us == next.end_us && e.start_us < child.start_us)
                            });
                            accepted = (key, ending.count());
                        }
                        extra = accepted.1;
                    }
                }
                waits.push((before + extra) as u32);
            }
        });
    }

    /// Returns the children by (start, end, node).
    pub fn children(&self) -> &[Child] {
        &self.children
    }

    /// Returns the start and end of the parent.
    pub fn interval_us(&self) -> (u64, u64) {
        (self.start_us, self.end_us)
    }

    /// Returns the length of the parent in microseconds.
    pub fn latency_us(&self) -> u64 {
        self.end_us - self.start_us
    }

    /// Returns the places of the children that the child at place `p` waits for, by end.
    pub fn waits_for(&self, p: usize) -> &[u32] {
        &self.ends[..self.waits[p] as usize]
    }

    /// Returns the places of all children, by end.
    pub fn by_end(&self) -> &[u32] {
        &self.ends
    }

    fn latest_end(&self, count: u32) -> u64 {
        match count {
            0 => self.start_us,
            n => self.children[self.ends[n as usize - 1] as usize].end_us,
        }
    }

    /// Returns P: the time from the latest end among those the child waits for (or the parent's start) to its start, in
    /// microseconds; negative down to minus the tolerance where an overlap was accepted.
    pub fn gap_us(&self, p: usize) -> i64 {
        self.children[p].start_us as i64 - self.latest_end(self.waits[p]) as i64
    }

    /// Returns P of the parent's return.
    pub fn return_gap_us(&self) -> u64 {
        self.end_us - self.latest_end(self.ends.len() as u32)
    }

    /// Fills in, by place, how many children it waits for, and how many wait for it. Two invocations of the same nodes
    /// have the same graph if and only if these numbers agree: the sets that are waited for are nested.
    pub fn shape(&self, out: &mut Vec<(u32, u32)>) {
        out.clear();
        let n = self.children.len() as u32;
        out.extend(self.waits.iter().map(|&w| (w, 0)));
        let mut first = 0;
        for (x, &p) in self.ends.iter().enumerate() {
            while (first as usize) < self.waits.len() && self.waits[first as usize] <= x as u32 {
                first += 1;
            }
            out[p as usize].1 = n - first;
        }
    }

    /// Fills `out` with the places of the children on the parent's critical path, latest first: the last to end, and on
    /// from each to the last to end of those it waits for (ties: the earliest start).
    pub fn critical(&self, out: &mut Vec<u32>) {
        out.clear();
        let mut count = self.ends.len() as u32;
        while count > 0 {
            let latest = self.latest_end(count);
            let prefix = &self.ends[..count as usize];
            let first = prefix[prefix.partition_point(|&p| self.children[p as usize].end_us < latest)];
            // Those without length wait for one another: the last of them comes last.
            let has_length = self.children[first as usize].start_us < latest;
            let p = if has_length { first } else { prefix[prefix.len() - 1] };
            out.push(p);
            count = self.waits[p as usize];
        }
    }

    /// Computes drag and slack of every child, by place, in O(n log n).
    pub fn pressures(&self, out: &mut Vec<Pressure>) {
        out.clear();
        let n = self.children.len();
        let length = self.latency_us() as i64;
        // By rank, the place of the first child that waits for it; n is the return.
        let mut first_waiting = vec![n as u32; n];
        let mut x = 0;
        in_blocks(n, &mut |block| {
            for p in block {
                while x < self.waits[p] {
                    first_waiting[x as usize] = p as u32;
                    x += 1;
                }
            }
        });
        // From place p on, the longest way from the ends a child waits for to the return; and of each child the longest
        // way from the parent's start to the return that leads through it.
        let mut rest = vec![0i64; n + 1];
        let mut through = vec![0i64; n];
        rest[n] = self.return_gap_us() as i64;
        in_blocks(n, &mut |block| {
            for p in block.map(|i| n - 1 - i) {
                let child = &self.children[p];
                let after = rest[first_waiting[self.rank[p] as usize] as usize];
                through[p] = (child.end_us - self.start_us) as i64 + after;
                rest[p] = rest[p + 1].max(self.gap_us(p) + child.latency_us() as i64 + after);
            }
        });
        // A way that avoids the child at place p has an edge from a place before p to one after it. Either its tail is
        // waited for by the next place already, or it is still running when the next place starts.
        let mut running: BinaryHeap<(i64, u32)> = BinaryHeap::new();
        in_blocks(n, &mut |block| {
            for p in block {
                let waited = if p + 1 < n { self.waits[p + 1] } else { n as u32 };
                let own = u32::from(waited > 0 && self.ends[waited as usize - 1] == p as u32);
                let tail = (self.latest_end(waited - own) - self.start_us) as i64;
                while running.peek().is_some_and(|&(_, until)| until as usize <= p + 1) {
                    running.pop();
                }
                let avoiding = (tail + rest[p + 1]).max(running.peek().map_or(0, |&(way, _)| way));
                let latency = self.children[p].latency_us();
                out.push(Pressure {
                    drag_us: latency.min((length - avoiding).max(0) as u64),
                    slack_us: (length - through[p]).max(0) as u64,
                });
                running.push((through[p], first_waiting[self.rank[p] as usize]));
            }
        });
    }
}
