//! The aggregate flow: what holds in (nearly) all invocations (`docs/definitions/execution-flow.md` section 2).

use super::{FlowGraph, LearnedEdge, Order, Relation};
use pathlight_base::sort::CompactSort as _;
use serde::{Deserialize, Serialize};

/// Counts pairs of nodes over invocations: the accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairCounts {
    nodes: u32,
    invocations: u64,
    /// By node, invocations that have it.
    present: Vec<u32>,
    /// At `to * nodes + from`: invocations in which `to` waits for `from`.
    before: Vec<u32>,
    /// At [`place`]: invocations that have both.
    both: Vec<u32>,
}

/// Returns the place of two nodes, which may be one, in a list of all pairs without order: those of the greatest node come last.
fn place(a: usize, b: usize) -> usize {
    let (least, greatest) = (a.min(b), a.max(b));
    greatest * (greatest + 1) / 2 + least
}

fn short(count: u64) -> u32 {
    count.min(u32::MAX.into()) as u32
}

/// Edge shares in millionths.
pub const WHOLE_PPM: u32 = 1_000_000;

impl PairCounts {
    /// Creates counts of no invocations yet, of a parent with so many nodes.
    pub fn new(nodes: u32) -> PairCounts {
        let n = nodes as usize;
        PairCounts {
            nodes,
            invocations: 0,
            present: vec![0; n],
            before: vec![0; n * n],
            both: vec![0; place(0, n)],
        }
    }

    /// Adds one invocation.
    pub fn observe(&mut self, order: &Order) {
        self.invocations += 1;
        let n = self.nodes as usize;
        let children = order.children();
        for (p, child) in children.iter().enumerate() {
            let node = child.node as usize;
            self.present[node] += 1;
            let row = &mut self.before[node * n..(node + 1) * n];
            for &from in order.waits_for(p) {
                row[children[from as usize].node as usize] += 1;
            }
            for other in &children[..p] {
                self.both[place(node, other.node as usize)] += 1;
            }
        }
    }

    /// Sets what was counted elsewhere: invocations, and those that have each node.
    pub fn set_present(&mut self, invocations: u64, present: impl Iterator<Item = u64>) {
        self.invocations = invocations;
        self.present.iter_mut().zip(present).for_each(|(into, n)| *into = short(n));
    }

    /// Sets what was counted elsewhere of two nodes: invocations that have both, and those in which the second waits for
    /// the first and the other way round.
    pub fn set(&mut self, (a, b): (u32, u32), both: u64, before: [u64; 2]) {
        let n = self.nodes as usize;
        let (a, b) = (a as usize, b as usize);
        self.both[place(a, b)] = short(both);
        (self.before[b * n + a], self.before[a * n + b]) = (short(before[0]), short(before[1]));
    }

    /// Adds other invocations of the same nodes.
    pub fn merge(&mut self, other: &PairCounts) {
        self.invocations += other.invocations;
        let add = |into: &mut [u32], from: &[u32]| into.iter_mut().zip(from).for_each(|(a, b)| *a += b);
        add(&mut self.present, &other.present);
        add(&mut self.before, &other.before);
        add(&mut self.both, &other.both);
    }

    /// Returns the invocations.
    pub fn invocations(&self) -> u64 {
        self.invocations
    }

    /// Returns, by node, the number of invocations that have it.
    pub fn present(&self) -> &[u32] {
        &self.present
    }

    /// Returns in how many invocations `to` waits for `from`, and how many have both.
    pub fn support(&self, from: u32, to: u32) -> (u32, u32) {
        let n = self.nodes as usize;
        let (from, to) = (from as usize, to as usize);
        (self.before[to * n + from], self.both[place(from, to)])
    }

    /// Returns the aggregate flow: every edge that holds in at least `tau_ppm` millionths of the invocations that have
    /// both its nodes, added in the order (share descending, count descending, names), without those that would close
    /// a cycle.
    pub fn flow(&self, tau_ppm: u32) -> FlowGraph {
        let mut edges = Vec::new();
        for to in 0..self.nodes {
            for from in 0..self.nodes {
                let (before, both) = self.support(from, to);
                let enough = u64::from(before) * u64::from(WHOLE_PPM) >= u64::from(both) * u64::from(tau_ppm);
                if before > 0 && enough {
                    edges.push(LearnedEdge { from, to, before, both });
                }
            }
        }
        edges.compact_sort_by(|a, b| {
            let share = u64::from(b.before) * u64::from(a.both);
            share
                .cmp(&(u64::from(a.before) * u64::from(b.both)))
                .then_with(|| b.before.cmp(&a.before))
                .then_with(|| (a.from, a.to).cmp(&(b.from, b.to)))
        });
        FlowGraph::new(self.nodes as usize, &edges)
    }

    /// Returns the pairs of nodes that stand in either order: each of the two holds in more of the invocations that have
    /// both than neither does.
    pub fn either_order(&self) -> Relation {
        let mut either = Relation::new(self.nodes as usize);
        for a in 0..self.nodes {
            for b in 0..a {
                let ((there, both), (back, _)) = (self.support(a, b), self.support(b, a));
                if there.min(back) > both.saturating_sub(there).saturating_sub(back) {
                    either.insert(a as usize, b as usize);
                    either.insert(b as usize, a as usize);
                }
            }
        }
        either
    }
}
