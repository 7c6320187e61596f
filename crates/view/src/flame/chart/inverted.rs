//! The flame graph of callers: roots are endpoints by their own time, below them who called them.

use super::tree::{frames_of, shift_of};
use super::{FlameTree, Frame, NONE};
use crate::draw::Window;
use pathlight_engine::flame::CriticalPathReport;
use pathlight_engine::ids::{NodeId, ReportEndpoint};
use std::cmp::Reverse;

/// Nodes of a report, each with the time that was reached through it.
type Members = Vec<(NodeId, u64)>;

/// A tree of callers that grows where it is looked at. Node ids stay valid as it grows.
#[derive(Clone, Debug, Default)]
pub struct Inverted {
    frames: Vec<Frame>,
    parent: Vec<u32>,
    endpoint: Vec<ReportEndpoint>,
    depth: Vec<u32>,
    left_us: Vec<u64>,
    width_us: Vec<u64>,
    /// Per node, until it is expanded: nodes of the report with the exclusive time that was reached through them.
    open: Vec<Option<Members>>,
    /// Per node: where its children are, once it is expanded.
    children: Vec<(u32, u32)>,
    roots: u32,
    total_us: u64,
    /// As of the tree.
    shift: u32,
}

impl Inverted {
    /// Returns every endpoint with exclusive time as a root; nothing is expanded yet.
    pub fn new(report: &CriticalPathReport) -> Inverted {
        let mut members: Vec<Members> = vec![Vec::new(); report.endpoints.len()];
        let shift = shift_of(report);
        for (i, node) in report.nodes.iter().enumerate() {
            if node.exclusive_us.sum > 0
                && let Some(list) = members.get_mut(node.endpoint.index())
            {
                list.push((NodeId(i as u32), (node.exclusive_us.sum >> shift) as u64));
            }
        }
        let groups = members.into_iter().enumerate().filter(|(_, list)| !list.is_empty());
        Inverted::of_roots(
            report,
            groups.map(|(endpoint, list)| (ReportEndpoint(endpoint as u32), list)).collect(),
        )
    }

    /// Returns the callers of one endpoint alone: the upper half of a sandwich. Its width is the time on the path in
    /// the endpoint and below it, each microsecond once.
    pub fn callers_of(report: &CriticalPathReport, endpoint: ReportEndpoint) -> Inverted {
        let (topmost, shift) = (super::table::topmost(report), shift_of(report));
        let list: Members = report
            .nodes
            .iter()
            .enumerate()
            .filter(|(i, node)| node.endpoint == endpoint && topmost[*i] && node.subtree_us > 0)
            .map(|(i, node)| (NodeId(i as u32), (node.subtree_us >> shift) as u64))
            .collect();
        Inverted::of_roots(report, if list.is_empty() { Vec::new() } else { vec![(endpoint, list)] })
    }

    fn of_roots(report: &CriticalPathReport, groups: Vec<(ReportEndpoint, Members)>) -> Inverted {
        let mut tree = Inverted { frames: frames_of(report), shift: shift_of(report), ..Inverted::default() };
        tree.add(NONE, 0, groups);
        tree.roots = tree.parent.len() as u32;
        tree.total_us = tree.width_us.iter().sum();
        tree
    }

    /// Returns the nodes so far, as a tree to lay out; node ids are the same, frames are the report's endpoints.
    pub fn tree(&self) -> FlameTree {
        let frames = self.endpoint.iter().map(|endpoint| endpoint.0).collect();
        let mut tree = FlameTree::new(self.parent.clone(), &self.width_us, frames, self.frames.clone());
        tree.shift = self.shift;
        tree
    }

    /// Returns the endpoint of a node.
    pub fn endpoint(&self, node: u32) -> Option<ReportEndpoint> {
        self.endpoint.get(node as usize).copied()
    }

    /// Returns the number of nodes so far.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Returns whether there is no exclusive time at all.
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// Returns the sum of all roots: all exclusive time.
    pub fn total_us(&self) -> u64 {
        self.total_us
    }

    /// Adds the callers of a node, if that was not done before. `report` is the one it was made of.
    pub fn expand(&mut self, report: &CriticalPathReport, node: u32) {
        let Some(members) = self.open.get_mut(node as usize).and_then(Option::take) else { return };
        let caller = |&(at, us): &(NodeId, u64)| {
            let parent = report.nodes.get(at.index())?.parent?;
            Some((report.nodes.get(parent.index())?.endpoint, parent, us))
        };
        let mut callers: Vec<(ReportEndpoint, NodeId, u64)> = members.iter().filter_map(caller).collect();
        callers.sort();
        let mut groups: Vec<(ReportEndpoint, Members)> = Vec::new();
        for (endpoint, at, us) in callers {
            match groups.last_mut() {
                Some((last, list)) if *last == endpoint => match list.last_mut() {
                    Some((same, sum)) if *same == at => *sum += us,
                    _ => list.push((at, us)),
                },
                _ => groups.push((endpoint, vec![(at, us)])),
            }
        }
        self.add(node, self.left_us[node as usize], groups);
    }

    /// Expands whatever is visible in rows before `rows_end` and at least `narrow_px` wide. Returns whether anything
    /// was added: then the tree is to be made anew.
    pub fn expand_visible(
        &mut self,
        report: &CriticalPathReport,
        window: Window,
        width_px: i32,
        narrow_px: i32,
        rows_end: u32,
    ) -> bool {
        let before = self.len();
        let mut todo: Vec<u32> = (0..self.roots).collect();
        while let Some(node) = todo.pop() {
            let i = node as usize;
            let (left, right) = (self.left_us[i], self.left_us[i] + self.width_us[i]);
            let (x, end) = (window.pixel(left, width_px).max(0), window.pixel(right, width_px).min(width_px));
            if end - x < narrow_px.max(1) || self.depth[i] + 1 >= rows_end {
                continue;
            }
            self.expand(report, node);
            let (first, end) = self.children[i];
            todo.extend(first..end);
        }
        self.len() > before
    }

    fn add(&mut self, parent: u32, left_us: u64, groups: Vec<(ReportEndpoint, Members)>) {
        let sum = |list: &Members| list.iter().map(|(_, us)| us).sum::<u64>();
        let mut groups: Vec<_> =
            groups.into_iter().map(|(endpoint, list)| (sum(&list), endpoint, list)).collect();
        groups.sort_by_key(|&(us, endpoint, _)| (Reverse(us), endpoint));
        let first = self.parent.len() as u32;
        let depth = if parent == NONE { 0 } else { self.depth[parent as usize] + 1 };
        let mut at = left_us;
        for (us, endpoint, list) in groups {
            self.parent.push(parent);
            self.endpoint.push(endpoint);
            self.depth.push(depth);
            self.left_us.push(at);
            self.width_us.push(us);
            self.open.push(Some(list));
            self.children.push((0, 0));
            at += us;
        }
        if parent != NONE {
            self.children[parent as usize] = (first, self.parent.len() as u32);
        }
    }
}

/// Returns what an endpoint calls, over all its contexts: the lower half of a sandwich. One root; nodes below it are
/// merged by the path from the endpoint on.
pub fn callees_of(report: &CriticalPathReport, endpoint: ReportEndpoint) -> FlameTree {
    let (topmost, shift) = (super::table::topmost(report), shift_of(report));
    let mut merged: Vec<(u32, ReportEndpoint, u64)> = Vec::new();
    // Report node -> merged node, for what is in the subtree of a topmost node of the endpoint.
    let mut place = vec![NONE; report.nodes.len()];
    let mut known = hashbrown::HashMap::<(u32, ReportEndpoint), u32, rustc_hash::FxBuildHasher>::default();
    for (i, node) in report.nodes.iter().enumerate() {
        let above = node.parent.map_or(NONE, |parent| place[parent.index()]);
        if above == NONE && !(node.endpoint == endpoint && topmost[i]) {
            continue;
        }
        let at = *known.entry((above, node.endpoint)).or_insert_with(|| {
            merged.push((above, node.endpoint, 0));
            merged.len() as u32 - 1
        });
        merged[at as usize].2 += (node.subtree_us >> shift) as u64;
        place[i] = at;
    }
    let widths: Vec<u64> = merged.iter().map(|node| node.2).collect();
    let mut tree = FlameTree::new(
        merged.iter().map(|node| node.0).collect(),
        &widths,
        merged.iter().map(|node| node.1.0).collect(),
        frames_of(report),
    );
    tree.shift = shift;
    tree
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::{large, report};
    use super::*;

    /// Returns the report of 0 { 1 { 2, 3 }, 3 { 2 } } with self times.
    fn small() -> CriticalPathReport {
        report(&[
            (None, 0, 1),
            (Some(0), 1, 2),
            (Some(1), 2, 10),
            (Some(1), 3, 4),
            (Some(0), 3, 8),
            (Some(4), 2, 5),
        ])
    }

    #[test]
    fn roots_are_endpoints_by_their_own_time() {
        let inverted = Inverted::new(&small());
        assert_eq!(inverted.total_us(), 30);
        let tree = inverted.tree();
        let roots: Vec<_> =
            tree.row(0).iter().map(|&n| (tree.frame_index(n), tree.interval_us(n).1)).collect();
        assert_eq!(roots, [(2, 15), (3, 12), (1, 2), (0, 1)]);
        assert_eq!(tree.rows(), 1, "nothing is expanded yet");
    }

    #[test]
    fn expanding_adds_callers_once() {
        let report = small();
        let mut inverted = Inverted::new(&report);
        inverted.expand(&report, 0);
        inverted.expand(&report, 0);
        let tree = inverted.tree();
        let row: Vec<_> = tree.row(1).iter().map(|&n| (tree.frame_index(n), tree.interval_us(n))).collect();
        assert_eq!(row, [(1, (0, 10)), (3, (10, 5))], "op2 is called by op1 and by op3");
        let caller = tree.row(1)[1];
        inverted.expand(&report, caller);
        let tree = inverted.tree();
        assert_eq!(tree.row(2).iter().map(|&n| tree.frame_index(n)).collect::<Vec<_>>(), [0]);
    }

    #[test]
    fn what_shows_is_expanded_and_nothing_else() {
        let report = large(30_000);
        let mut inverted = Inverted::new(&report);
        let full = Window::full(inverted.total_us());
        assert!(inverted.expand_visible(&report, full, 9000, 2, 5));
        let grown = inverted.len();
        assert!(!inverted.expand_visible(&report, full, 9000, 2, 5), "a second time there is nothing to do");
        let tree = inverted.tree();
        assert_eq!(tree.rows(), 5);
        assert!(grown < 30_000);
        // Positions agree with those of the tree that is drawn.
        for node in 0..grown as u32 {
            assert_eq!(
                tree.interval_us(node),
                (inverted.left_us[node as usize], inverted.width_us[node as usize])
            );
        }
        // Closer up there is more to see.
        let close = tree.window_of(tree.row(0)[0]);
        assert!(inverted.expand_visible(&report, close, 9000, 2, 5));
    }

    #[test]
    fn fully_expanded_every_level_adds_up_to_its_callers() {
        let report = large(2_000);
        let mut inverted = Inverted::new(&report);
        let mut node = 0;
        while (node as usize) < inverted.len() {
            inverted.expand(&report, node);
            node += 1;
        }
        let exclusive: u128 = report.nodes.iter().map(|n| n.exclusive_us.sum).sum();
        assert_eq!(u128::from(inverted.total_us()), exclusive);
        assert_eq!(inverted.total_us(), FlameTree::of_report(&report).total_us());
        for node in 0..inverted.len() {
            let (first, end) = inverted.children[node];
            let below: u64 = (first..end).map(|i| inverted.width_us[i as usize]).sum();
            assert!(below <= inverted.width_us[node]);
        }
    }

    #[test]
    fn a_sandwich_has_the_same_width_above_and_below() {
        for report in [small(), large(3_000)] {
            for endpoint in (0..report.endpoints.len() as u32).map(ReportEndpoint) {
                let callers = Inverted::callers_of(&report, endpoint);
                let callees = callees_of(&report, endpoint);
                assert_eq!(callers.total_us(), callees.total_us(), "{endpoint:?}");
            }
        }
        let callees = callees_of(&small(), ReportEndpoint(3));
        assert_eq!(callees.total_us(), 17);
        assert_eq!(callees.row(0).len(), 1);
        assert_eq!(callees.row(1).iter().map(|&n| callees.interval_us(n)).collect::<Vec<_>>(), [(0, 5)]);
    }

    #[test]
    fn an_endpoint_that_calls_itself_is_counted_once_in_its_callees() {
        let report = report(&[(None, 0, 1), (Some(0), 1, 2), (Some(1), 1, 3), (Some(2), 2, 4)]);
        let callees = callees_of(&report, ReportEndpoint(1));
        assert_eq!(callees.total_us(), 9);
        assert_eq!(callees.rows(), 3);
    }
}
