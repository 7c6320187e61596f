//! A flow: which node waits for which, transitively closed.

use crate::ids::NodeId;
use pathlight_base::sort::CompactSort as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A relation on the numbers below `n`, one row of bits a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Relation {
    n: u32,
    words: u32,
    bits: Vec<u64>,
}

impl Relation {
    /// Returns the empty relation.
    pub fn new(n: usize) -> Relation {
        let words = n.div_ceil(64);
        Relation { n: n as u32, words: words as u32, bits: vec![0; n * words] }
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.n as usize
    }

    /// Returns whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Returns whether `item` is in `row`.
    pub fn has(&self, row: usize, item: usize) -> bool {
        self.bits[row * self.words as usize + item / 64] >> (item % 64) & 1 == 1
    }

    /// Puts `item` into `row`.
    pub fn insert(&mut self, row: usize, item: usize) {
        self.bits[row * self.words as usize + item / 64] |= 1 << (item % 64);
    }

    /// Takes `item` out of `row`.
    pub fn remove(&mut self, row: usize, item: usize) {
        self.bits[row * self.words as usize + item / 64] &= !(1 << (item % 64));
    }

    /// Returns the words of a row.
    pub fn row(&self, row: usize) -> &[u64] {
        let words = self.words as usize;
        &self.bits[row * words..(row + 1) * words]
    }

    /// Returns the items of a row, ascending.
    pub fn items(&self, row: usize) -> impl Iterator<Item = usize> + '_ {
        items(self.row(row))
    }

    /// Adds all items of row `from` to row `to`.
    fn absorb(&mut self, to: usize, from: usize) {
        let words = self.words as usize;
        for word in 0..words {
            self.bits[to * words + word] |= self.bits[from * words + word];
        }
    }
}

/// Returns the numbers of the bits that are set.
pub(super) fn items(words: &[u64]) -> impl Iterator<Item = usize> + '_ {
    words.iter().enumerate().flat_map(|(at, &word)| {
        let mut left = word;
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| left.trailing_zeros() as usize)?;
            left &= left - 1;
            Some(64 * at + bit)
        })
    })
}

/// An edge of a flow as learned: `from` ends before `to` starts in `before` of the `both` invocations that have both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LearnedEdge {
    /// Node that is waited for.
    pub from: u32,
    /// Node that waits.
    pub to: u32,
    /// Invocations in which it holds.
    pub before: u32,
    /// Invocations with both nodes.
    pub both: u32,
}

/// Synchronisation: each of `to` waits for each of `from`, and `from` is waited for by nothing else directly.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncNode {
    /// At least two nodes.
    pub from: Vec<NodeId>,
    /// At least two nodes.
    pub to: Vec<NodeId>,
}

/// Order among the nodes of a parent endpoint: which waits for which. Start and return are implied: everything waits
/// for the start, and the return for everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowGraph {
    /// By node, all nodes it waits for, directly or not.
    waits: Relation,
    /// The nodes, each after all it waits for.
    sequence: Vec<u32>,
}

impl FlowGraph {
    /// Returns the flow of `n` nodes with these edges, the preferred ones first: one that would close a cycle is left
    /// out.
    pub fn new(n: usize, edges: &[LearnedEdge]) -> FlowGraph {
        let pairs = edges.iter().map(|e| (e.from as usize, e.to as usize));
        let mut direct = Relation::new(n);
        for (from, to) in pairs.clone() {
            direct.insert(to, from);
        }
        if let Some(flow) = FlowGraph::of_acyclic(direct) {
            return flow;
        }
        let mut waits = Relation::new(n);
        for (from, to) in pairs {
            if from == to || waits.has(from, to) || waits.has(to, from) {
                continue;
            }
            // Everything after `to`, and `to` itself, now waits for `from` and what is before it.
            for row in 0..n {
                if row == to || waits.has(row, to) {
                    waits.absorb(row, from);
                    waits.insert(row, from);
                }
            }
        }
        FlowGraph::of_acyclic(waits).unwrap_or_default()
    }

    /// Closes a relation of direct edges; `None` if it has a cycle.
    fn of_acyclic(direct: Relation) -> Option<FlowGraph> {
        let n = direct.len();
        let mut missing: Vec<u32> =
            (0..n).map(|row| direct.row(row).iter().map(|w| w.count_ones()).sum()).collect();
        let mut followers: Vec<Vec<u32>> = vec![Vec::new(); n];
        for row in 0..n {
            for item in direct.items(row) {
                followers[item].push(row as u32);
            }
        }
        let mut sequence: Vec<u32> = (0..n as u32).filter(|&i| missing[i as usize] == 0).collect();
        let mut at = 0;
        while at < sequence.len() {
            for &next in &followers[sequence[at] as usize] {
                missing[next as usize] -= 1;
                if missing[next as usize] == 0 {
                    sequence.push(next);
                }
            }
            at += 1;
        }
        if sequence.len() < n {
            return None;
        }
        let mut waits = direct.clone();
        for &row in &sequence {
            for item in direct.items(row as usize) {
                waits.absorb(row as usize, item);
            }
        }
        Some(FlowGraph { waits, sequence })
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.waits.len()
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.waits.is_empty()
    }

    /// Returns whether `to` waits for `from`, directly or not.
    pub fn has(&self, from: u32, to: u32) -> bool {
        self.waits.has(to as usize, from as usize)
    }

    /// Returns, by node, all it waits for.
    pub fn waits(&self) -> &Relation {
        &self.waits
    }

    /// Returns the nodes, each after all it waits for.
    pub fn sequence(&self) -> &[u32] {
        &self.sequence
    }

    /// Returns the edges that the others do not imply, by (from, to).
    pub fn reduction(&self) -> Vec<(u32, u32)> {
        let mut edges = Vec::new();
        let mut place = vec![0; self.len()];
        for (at, &node) in self.sequence.iter().enumerate() {
            place[node as usize] = at;
        }
        let mut before: Vec<usize> = Vec::new();
        let mut implied = Vec::new();
        for to in 0..self.len() {
            before.clear();
            before.extend(self.waits.items(to));
            before.compact_sort_by_key(|&node| std::cmp::Reverse(place[node]));
            implied.clear();
            implied.resize(self.waits.words as usize, 0u64);
            for &from in &before {
                if implied[from / 64] >> (from % 64) & 1 == 0 {
                    edges.push((from as u32, to as u32));
                    implied.iter_mut().zip(self.waits.row(from)).for_each(|(a, b)| *a |= b);
                }
            }
        }
        edges.compact_sort();
        edges
    }

    /// Finds groups of at least two nodes with the same at least two successors in the reduction.
    pub fn sync_nodes(reduction: &[(u32, u32)]) -> Vec<SyncNode> {
        let mut groups: BTreeMap<Vec<NodeId>, Vec<NodeId>> = BTreeMap::new();
        for edges in reduction.chunk_by(|a, b| a.0 == b.0).filter(|edges| edges.len() > 1) {
            groups.entry(edges.iter().map(|e| NodeId(e.1)).collect()).or_default().push(NodeId(edges[0].0));
        }
        let mut out: Vec<SyncNode> = groups
            .into_iter()
            .filter(|(_, from)| from.len() > 1)
            .map(|(to, from)| SyncNode { from, to })
            .collect();
        out.compact_sort_by(|a, b| a.from.cmp(&b.from));
        out
    }

    /// Returns when the parent returns, in microseconds from its start, if each present node takes `taken[node]` (P +
    /// L) after the last of those it waits for, and the return `return_gap_us` after all.
    ///
    /// `taken` is by node, `None` for those that are absent: what they imply holds without them.
    pub fn completion_us(&self, taken: &[Option<u64>], return_gap_us: u64, scratch: &mut Vec<u64>) -> u64 {
        scratch.clear();
        scratch.resize(self.len(), 0);
        let mut last = 0;
        for &node in &self.sequence {
            let Some(own) = taken[node as usize] else { continue };
            // Absent nodes complete at 0 and so never decide.
            let before = self.waits.items(node as usize).map(|item| scratch[item]).max().unwrap_or(0);
            scratch[node as usize] = before + own;
            last = last.max(before + own);
        }
        last + return_gap_us
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(n: usize, pairs: &[(u32, u32)]) -> FlowGraph {
        let edges: Vec<LearnedEdge> =
            pairs.iter().map(|&(from, to)| LearnedEdge { from, to, before: 1, both: 1 }).collect();
        FlowGraph::new(n, &edges)
    }

    #[test]
    fn a_flow_is_closed_and_its_reduction_is_smallest() {
        let flow = flow(4, &[(0, 1), (1, 2), (0, 2), (2, 3)]);
        assert!(flow.has(0, 3) && !flow.has(3, 0));
        assert_eq!(flow.reduction(), [(0, 1), (1, 2), (2, 3)]);
    }

    #[test]
    fn an_edge_that_closes_a_cycle_is_left_out_and_preferred_ones_stay() {
        assert_eq!(flow(3, &[(0, 1), (1, 2), (2, 0)]).reduction(), [(0, 1), (1, 2)]);
        assert_eq!(flow(3, &[(2, 0), (1, 2), (0, 1)]).reduction(), [(1, 2), (2, 0)]);
    }

    #[test]
    fn complete_pairs_of_groups_meet_in_one_synchronisation_node() {
        let pairs: Vec<(u32, u32)> = (0..70).flat_map(|a| (70..75).map(move |b| (a, b))).collect();
        let sync = FlowGraph::sync_nodes(&flow(80, &pairs).reduction());
        let nodes = |range: std::ops::Range<u32>| range.map(NodeId).collect();
        assert_eq!(sync, [SyncNode { from: nodes(0..70), to: nodes(70..75) }]);
        assert!(FlowGraph::sync_nodes(&flow(3, &[(0, 2), (1, 2)]).reduction()).is_empty());
    }
}
