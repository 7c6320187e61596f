//! The tree of a flame graph: where each node lies, in microseconds.

use crate::draw::{Shade, Window};
use pathlight_base::format;
use pathlight_engine::flame::CriticalPathReport;
use pathlight_trace::Endpoint;
use std::collections::BTreeMap;

/// "No node".
pub const NONE: u32 = u32::MAX;

/// Label and colour, which nodes may share.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    /// Text in the box.
    pub label: String,
    /// The shade of its colour.
    pub shade: Shade,
    /// It is no span of its own: time of the frame above that is spent on the way to a service.
    pub is_waiting: bool,
    /// Time spent waiting that may also be work of the caller.
    pub may_be_caller: bool,
    /// Offset in the label at which the name of the endpoint begins, in bytes: behind the mark of the frame.
    pub name_at: usize,
}

impl Frame {
    /// Returns a frame of spans.
    pub fn new(label: String, shade: Shade) -> Frame {
        Frame { label, shade, is_waiting: false, may_be_caller: false, name_at: 0 }
    }

    /// Returns the name of the endpoint: the label without what is said of the frame.
    pub fn name(&self) -> &str {
        self.label.get(self.name_at..).unwrap_or_default()
    }
}

/// Nested intervals: every node lies within its parent, siblings side by side, the widest first.
#[derive(Clone, Debug, Default)]
pub struct FlameTree {
    parent: Vec<u32>,
    frame: Vec<u32>,
    depth: Vec<u32>,
    left_us: Vec<u64>,
    width_us: Vec<u64>,
    frames: Vec<Frame>,
    /// Nodes by (depth, left); those of no width are left out.
    pub(crate) rows: Vec<u32>,
    /// Left and right edge of each of `rows`.
    pub(crate) row_us: Vec<(u64, u64)>,
    /// Start of each row in `rows`, and the end.
    pub(crate) row_starts: Vec<usize>,
    total_us: u64,
    /// Its microseconds are 2 to this power of those of its times: 0, but for a total beyond 64 bits.
    pub(super) shift: u32,
    /// Nodes from here on are no calling contexts.
    waiting_from: u32,
}

/// Returns by how many bits the times of a report have to be shorter so that their sum fits into 64.
pub(super) fn shift_of(report: &CriticalPathReport) -> u32 {
    let roots = report.nodes.iter().filter(|node| node.parent.is_none());
    let total_us: u128 = roots.map(|node| node.subtree_us).sum();
    (u128::BITS - total_us.leading_zeros()).saturating_sub(u64::BITS)
}

impl FlameTree {
    /// Returns the tree of these nodes: parents (before their children, [`NONE`] for a root), widths, and indices into
    /// `frames`; the three lists are equally long. Children wider than their parent together are cut to its width.
    pub fn new(parent: Vec<u32>, width_us: &[u64], frame: Vec<u32>, frames: Vec<Frame>) -> FlameTree {
        let n = parent.len().min(width_us.len()).min(frame.len());
        // Children of each node, by counting; roots belong to an extra node n.
        let owner = |i: usize| if (parent[i] as usize) < i { parent[i] as usize } else { n };
        let mut starts = vec![0usize; n + 2];
        for i in 0..n {
            starts[owner(i) + 1] += 1;
        }
        for i in 0..=n {
            starts[i + 1] += starts[i];
        }
        let mut next = starts.clone();
        let mut children = vec![0u32; n];
        for i in 0..n {
            let slot = &mut next[owner(i)];
            children[*slot] = i as u32;
            *slot += 1;
        }
        let mut tree = FlameTree {
            depth: vec![0; n],
            left_us: vec![0; n],
            width_us: vec![0; n],
            rows: Vec::with_capacity(n),
            row_us: Vec::with_capacity(n),
            row_starts: vec![0],
            total_us: width_us
                .iter()
                .enumerate()
                .filter(|(i, _)| *i < n && owner(*i) == n)
                .map(|(_, w)| w)
                .sum(),
            shift: 0,
            waiting_from: n as u32,
            parent,
            frame,
            frames,
        };
        // Level by level: the next row is the children of this one, parent by parent.
        let mut level = vec![n as u32];
        while !level.is_empty() {
            let mut below = Vec::new();
            for &node in &level {
                let node = node as usize;
                let (mut at, end, depth) = if node == n {
                    (0, tree.total_us, 0)
                } else {
                    let left = tree.left_us[node];
                    (left, left + tree.width_us[node], tree.depth[node] + 1)
                };
                let group = &mut children[starts[node]..starts[node + 1]];
                group.sort_by_key(|&i| (std::cmp::Reverse(width_us[i as usize]), tree.frame[i as usize], i));
                for &child in group.iter() {
                    let i = child as usize;
                    let width = width_us[i].min(end - at);
                    (tree.depth[i], tree.left_us[i], tree.width_us[i]) = (depth, at, width);
                    at += width;
                    below.push(child);
                }
            }
            for &node in &below {
                let (left, width) = (tree.left_us[node as usize], tree.width_us[node as usize]);
                if width > 0 {
                    tree.rows.push(node);
                    tree.row_us.push((left, left + width));
                }
            }
            if tree.row_starts.last() != Some(&tree.rows.len()) {
                tree.row_starts.push(tree.rows.len());
            }
            level = below;
        }
        tree
    }

    /// Returns the aggregate calling contexts of a percentile range; node and frame indices are those of the report.
    /// After them come nodes for what calls wait for, below the calls.
    pub fn of_report(report: &CriticalPathReport) -> FlameTree {
        let nodes = &report.nodes;
        let shift = shift_of(report);
        let mut widths: Vec<u64> = nodes.iter().map(|node| (node.subtree_us >> shift) as u64).collect();
        let mut parents: Vec<u32> =
            nodes.iter().map(|node| node.parent.map_or(NONE, |parent| parent.0)).collect();
        let mut frame: Vec<u32> = nodes.iter().map(|node| node.endpoint.0).collect();
        let mut frames = frames_of(report);
        let mut known: BTreeMap<(&str, bool), u32> = BTreeMap::new();
        for (at, node) in nodes.iter().enumerate() {
            for wait in &node.waiting {
                let number = *known.entry((&wait.callee, wait.is_certain)).or_insert_with(|| {
                    frames.push(waiting_frame(&wait.callee, wait.is_certain));
                    frames.len() as u32 - 1
                });
                parents.push(at as u32);
                widths.push((wait.us >> shift) as u64);
                frame.push(number);
            }
        }
        let mut tree = FlameTree::new(parents, &widths, frame, frames);
        (tree.waiting_from, tree.shift) = (nodes.len() as u32, shift);
        tree
    }

    /// Returns whether a node is no calling context: time of the one above that is spent waiting for a service.
    pub fn is_waiting(&self, node: u32) -> bool {
        node >= self.waiting_from && (node as usize) < self.len()
    }

    /// Returns the calling context that a node belongs to: itself, or the call that waits.
    pub fn context_of(&self, node: u32) -> u32 {
        if self.is_waiting(node) { self.parent[node as usize] } else { node }
    }

    /// Returns the number of nodes that are calling contexts.
    pub fn contexts(&self) -> usize {
        self.waiting_from as usize
    }

    /// Returns the number of nodes.
    pub fn len(&self) -> usize {
        self.depth.len()
    }

    /// Returns whether there are no nodes.
    pub fn is_empty(&self) -> bool {
        self.depth.is_empty()
    }

    /// Returns the sum of the roots' widths.
    pub fn total_us(&self) -> u64 {
        self.total_us
    }

    /// Returns the time that a width stands for.
    pub fn time_us(&self, width_us: u64) -> u128 {
        u128::from(width_us) << self.shift
    }

    /// Returns the time of a node.
    pub fn time_of(&self, node: u32) -> u128 {
        self.time_us(self.interval_us(node).1)
    }

    /// Returns how many rows there are to draw.
    pub fn rows(&self) -> u32 {
        self.row_starts.len().saturating_sub(1) as u32
    }

    /// Returns the parent of a node, if it has one.
    pub fn parent(&self, node: u32) -> Option<u32> {
        self.parent.get(node as usize).copied().filter(|&parent| parent < node)
    }

    /// Returns the left edge and width of a node; zeros for a node that is not there.
    pub fn interval_us(&self, node: u32) -> (u64, u64) {
        let i = node as usize;
        if i < self.len() { (self.left_us[i], self.width_us[i]) } else { (0, 0) }
    }

    /// Returns the window that a node fills.
    pub fn window_of(&self, node: u32) -> Window {
        let (left, width) = self.interval_us(node);
        Window::of(left, left + width)
    }

    /// Returns the window of all of it.
    pub fn full(&self) -> Window {
        Window::full(self.total_us)
    }

    /// Returns the row of a node.
    pub fn depth(&self, node: u32) -> u32 {
        self.depth.get(node as usize).copied().unwrap_or(0)
    }

    /// Returns the index of a node's frame: the endpoint, for a tree of a report.
    pub fn frame_index(&self, node: u32) -> u32 {
        self.frame.get(node as usize).copied().unwrap_or(NONE)
    }

    /// Returns the label and colour of a node.
    pub fn frame(&self, node: u32) -> Option<&Frame> {
        self.frames.get(self.frame_index(node) as usize)
    }

    /// Returns all frames.
    pub fn frames(&self) -> &[Frame] {
        &self.frames
    }

    /// Returns a node's share of the whole, NaN if that is nothing.
    pub fn share(&self, node: u32) -> f64 {
        self.interval_us(node).1 as f64 / if self.total_us == 0 { f64::NAN } else { self.total_us as f64 }
    }

    /// Returns the nodes from a node up to its root, the node first.
    pub fn ancestry(&self, node: u32) -> impl Iterator<Item = u32> {
        let first = ((node as usize) < self.len()).then_some(node);
        std::iter::successors(first, |&node| self.parent(node))
    }

    /// Returns the node that keys move to: its widest child.
    pub fn child(&self, node: u32) -> Option<u32> {
        let (left, width) = self.interval_us(node);
        let below = self.row(self.depth(node) + 1);
        let first = below.partition_point(|&i| self.left_us[i as usize] < left);
        let mut children = below.iter().skip(first).take_while(|&&i| self.parent(i) == Some(node));
        children.find(|&&i| width > 0 && !self.is_waiting(i)).copied()
    }

    /// Returns the node beside it in its row, to the left or to the right; cousins count.
    pub fn beside(&self, node: u32, right: bool) -> Option<u32> {
        let row = self.row(self.depth(node));
        let at = row.binary_search_by_key(&self.interval_us(node).0, |&i| self.left_us[i as usize]).ok()?;
        let is_context = |i: &&u32| !self.is_waiting(**i);
        if right { row[at + 1..].iter().find(is_context) } else { row[..at].iter().rev().find(is_context) }
            .copied()
    }

    /// Returns the nodes of a row from left to right, none of them empty.
    pub fn row(&self, row: u32) -> &[u32] {
        &self.rows[self.row_places(row)]
    }

    /// Returns where the nodes of a row are in `rows`.
    pub(crate) fn row_places(&self, row: u32) -> std::ops::Range<usize> {
        let row = row as usize;
        match (self.row_starts.get(row), self.row_starts.get(row + 1)) {
            (Some(&start), Some(&end)) => start..end,
            _ => 0..0,
        }
    }
}

/// Returns the label and colour of each endpoint of a report.
pub(crate) fn frames_of(report: &CriticalPathReport) -> Vec<Frame> {
    let frame = |Endpoint { service, operation }: &Endpoint| {
        Frame::new(format::endpoint(service, operation), Shade::service(service))
    };
    report.endpoints.iter().map(frame).collect()
}

/// Returns what the frame of what waits for a service is called; not certain: it may be work of the caller.
pub(crate) fn waiting_label(service: &str, is_certain: bool) -> String {
    let or = if is_certain { "" } else { ", or work of the caller" };
    format!("waiting for {}{or}", format::printable(service))
}

fn waiting_frame(service: &str, is_certain: bool) -> Frame {
    Frame {
        is_waiting: true,
        may_be_caller: !is_certain,
        ..Frame::new(waiting_label(service, is_certain), Shade::service(service))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use pathlight_engine::flame::{ContextNode, Waiting, Weight};
    use pathlight_engine::ids::{NodeId, ReportEndpoint};

    /// Returns a report of nodes (parent, endpoint, exclusive us); endpoints are named by letters of two services.
    pub(crate) fn report(nodes: &[(Option<u32>, u32, u64)]) -> CriticalPathReport {
        let endpoints = nodes.iter().map(|n| n.1).max().map_or(0, |n| n + 1);
        let mut subtree: Vec<u64> = nodes.iter().map(|n| n.2).collect();
        for i in (0..nodes.len()).rev() {
            if let Some(parent) = nodes[i].0 {
                subtree[parent as usize] += subtree[i];
            }
        }
        CriticalPathReport {
            endpoints: (0..endpoints)
                .map(|i| Endpoint::new(format!("service{}", i % 2), format!("op{i}")))
                .collect(),
            nodes: nodes
                .iter()
                .zip(subtree)
                .map(|(&(parent, endpoint, exclusive), subtree_us)| ContextNode {
                    parent: parent.map(NodeId),
                    endpoint: ReportEndpoint(endpoint),
                    exclusive_us: Weight { sum: exclusive.into(), ..Weight::default() },
                    inclusive_us: Weight { sum: subtree_us.into(), ..Weight::default() },
                    subtree_us: subtree_us.into(),
                    requests: 1,
                    spans: 1,
                    errors: 0,
                    waiting: Vec::new(),
                    exemplars: Vec::new(),
                })
                .collect(),
            ..CriticalPathReport::default()
        }
    }

    /// Returns a report with the shape of real ones: `n` nodes, most of them small, a few deep.
    pub(crate) fn large(n: u32) -> CriticalPathReport {
        let mut state = 42u64;
        let mut random = move |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        let mut nodes: Vec<(Option<u32>, u32, u64)> = vec![(None, 0, 1000)];
        for i in 1..n {
            let parent = match random(3) {
                0 => random(u64::from(i)) as u32,
                _ => i - 1 - random(u64::from(i.min(20))) as u32,
            };
            nodes.push((Some(parent), random(500) as u32, random(30) * random(30) * random(30)));
        }
        in_pre_order(report(&nodes))
    }

    fn in_pre_order(mut report: CriticalPathReport) -> CriticalPathReport {
        let n = report.nodes.len();
        let mut children = vec![Vec::new(); n];
        for i in 1..n {
            children[report.nodes[i].parent.unwrap().index()].push(i);
        }
        let (mut order, mut todo) = (Vec::new(), vec![0]);
        while let Some(node) = todo.pop() {
            order.push(node);
            todo.extend(children[node].iter().rev());
        }
        let mut place = vec![NodeId(0); n];
        for (new, &old) in order.iter().enumerate() {
            place[old] = NodeId(new as u32);
        }
        report.nodes = order
            .iter()
            .map(|&old| {
                let mut node = report.nodes[old].clone();
                node.parent = node.parent.map(|parent| place[parent.index()]);
                node
            })
            .collect();
        report
    }

    #[test]
    fn the_widest_child_comes_first_and_own_time_last() {
        // a(10) { b(5), c(20) { d(0) }, e(5) }
        let report =
            report(&[(None, 0, 10), (Some(0), 1, 5), (Some(0), 2, 20), (Some(2), 3, 0), (Some(0), 4, 5)]);
        let tree = FlameTree::of_report(&report);
        assert_eq!(tree.total_us(), 40);
        assert_eq!(tree.interval_us(0), (0, 40));
        assert_eq!(tree.interval_us(2), (0, 20));
        assert_eq!(tree.interval_us(1), (20, 5));
        assert_eq!(tree.interval_us(4), (25, 5));
        assert_eq!(tree.row(1), [2, 1, 4]);
        assert_eq!(tree.row(2), [] as [u32; 0], "d has no width");
        assert_eq!(tree.rows(), 2);
        assert_eq!(tree.depth(3), 2);
        assert_eq!(tree.frame(2).map(|f| f.label.as_str()), Some("op2 @ service0"));
    }

    #[test]
    fn what_a_call_waits_for_stands_below_it_and_is_no_context() {
        let mut report = report(&[(None, 0, 10), (Some(0), 1, 30), (Some(1), 2, 20)]);
        let wait =
            |callee: &str, us| Waiting { callee: callee.to_owned(), us, requests: 1, is_certain: true };
        report.nodes[1].waiting = vec![wait("service0", 25)];
        report.nodes[0].waiting = vec![Waiting { is_certain: false, ..wait("service1", 4) }];
        let tree = FlameTree::of_report(&report);
        assert_eq!((tree.len(), tree.contexts(), tree.total_us()), (5, 3, 60));
        // The node numbers of the report stay.
        assert_eq!(
            tree.frame(4).map(|f| (f.label.as_str(), f.is_waiting)),
            Some(("waiting for service0", true))
        );
        let unsure = tree.frame(3).map(|f| f.label.as_str());
        assert_eq!(unsure, Some("waiting for service1, or work of the caller"));
        assert_eq!(tree.frame(4).map(|f| f.shade), Some(Shade::service("service0")));
        assert_eq!(tree.row(2), [4, 2]);
        assert_eq!((tree.context_of(4), tree.context_of(2)), (1, 2));
        // Keys go to contexts only.
        assert_eq!(tree.child(1), Some(2));
        assert_eq!((tree.beside(2, false), tree.beside(1, true)), (None, None));
    }

    #[test]
    fn keys_move_to_children_parents_and_neighbours() {
        let report =
            report(&[(None, 0, 10), (Some(0), 1, 5), (Some(1), 2, 3), (Some(0), 3, 9), (Some(3), 4, 1)]);
        let tree = FlameTree::of_report(&report);
        assert_eq!(tree.child(0), Some(3));
        assert_eq!(tree.child(1), Some(2));
        assert_eq!(tree.child(2), None);
        assert_eq!(tree.beside(3, true), Some(1));
        assert_eq!(tree.beside(1, true), None);
        assert_eq!(tree.beside(2, false), Some(4), "cousins are neighbours");
        assert_eq!(tree.ancestry(2).collect::<Vec<_>>(), [2, 1, 0]);
    }

    #[test]
    fn several_roots_stand_side_by_side() {
        let tree = FlameTree::of_report(&report(&[(None, 0, 10), (None, 1, 30), (Some(1), 2, 5)]));
        assert_eq!(tree.row(0), [1, 0]);
        assert_eq!(tree.interval_us(1), (0, 35));
        assert_eq!(tree.total_us(), 45);
    }

    #[test]
    fn nothing_and_no_time_make_an_empty_tree() {
        let empty = FlameTree::of_report(&CriticalPathReport::default());
        assert_eq!((empty.rows(), empty.total_us(), empty.is_empty()), (0, 0, true));
        let idle = FlameTree::of_report(&report(&[(None, 0, 0), (Some(0), 1, 0)]));
        assert_eq!((idle.rows(), idle.len()), (0, 2));
        assert!(idle.share(0).is_nan());
        assert_eq!(idle.child(0), None);
    }

    #[test]
    fn children_never_leave_their_parent_and_rows_never_overlap() {
        let report = large(20_000);
        let tree = FlameTree::of_report(&report);
        for node in 0..tree.len() as u32 {
            let (left, width) = tree.interval_us(node);
            assert_eq!(u128::from(width), report.nodes[node as usize].subtree_us);
            if let Some(parent) = tree.parent(node) {
                let (outer, wide) = tree.interval_us(parent);
                assert!(left >= outer && left + width <= outer + wide);
                assert_eq!(tree.depth(node), tree.depth(parent) + 1);
            }
        }
        let mut drawn = 0;
        for row in 0..tree.rows() {
            let row = tree.row(row);
            drawn += row.len();
            for pair in row.windows(2) {
                let (left, width) = tree.interval_us(pair[0]);
                assert!(left + width <= tree.interval_us(pair[1]).0);
            }
        }
        assert_eq!(drawn, report.nodes.iter().filter(|n| n.subtree_us > 0).count());
    }

    #[test]
    fn a_chain_as_deep_as_there_are_nodes_is_no_trouble() {
        let n = 100_000;
        let parents = (0..n).map(|i: u32| i.checked_sub(1).unwrap_or(NONE)).collect();
        let tree = FlameTree::new(parents, &vec![7; n as usize], vec![0; n as usize], Vec::new());
        assert_eq!(tree.rows(), n);
        assert_eq!(tree.depth(n - 1), n - 1);
    }

    #[test]
    fn children_that_claim_too_much_are_cut() {
        let tree = FlameTree::new(vec![NONE, 0, 0], &[10, 8, 8], vec![0; 3], Vec::new());
        assert_eq!(tree.interval_us(1), (0, 8));
        assert_eq!(tree.interval_us(2), (8, 2));
    }
}
