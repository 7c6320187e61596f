//! The layout of an execution flow: layers from left to right, start to return, as a plain value in device pixels.
//!
//! A small layered layout of our own: longest-way layers, barycentre sweeps against crossings, columns stacked and drawn
//! towards their neighbours. A general crate would bring a graph type and floating-point coordinates for what is a few
//! hundred lines here, and would know neither synchronisation nodes nor that all edges of one end share their way.

use pathlight_engine::flow::FlowReport;
use pathlight_engine::ids::NodeId;
use std::collections::{BTreeMap, BTreeSet};

/// Sizes in device pixels, each greater than 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DagSizes {
    /// Width of a call's box.
    pub node_w: i32,
    /// Height of a call's box.
    pub node_h: i32,
    /// Side of start, return and a synchronisation node.
    pub dot: i32,
    /// Between columns.
    pub gap_x: i32,
    /// Between boxes of a column.
    pub gap_y: i32,
}

/// The part of a flow that a box stands for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DagItem {
    /// The parent begins.
    Start,
    /// A node of the report.
    Node(NodeId),
    /// A synchronisation node of the report.
    Sync(u32),
    /// The parent returns.
    Return,
}

/// The box of a node or call, with its place in pixels.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DagBox {
    /// The node or call that the box stands for.
    pub item: DagItem,
    /// Left edge.
    pub x: i32,
    /// Upper edge.
    pub y: i32,
    /// Width.
    pub w: i32,
    /// Height.
    pub h: i32,
}

/// An edge as a line from the right side of a box to the left side of another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DagLine {
    /// The box where the line begins.
    pub from: DagItem,
    /// The box where the line ends.
    pub to: DagItem,
    /// Number of times it binds; summed over the edges that a synchronisation node replaces.
    pub binding: u64,
    /// Invocations in which the edge could bind.
    pub both: u64,
    /// Its points from left to right, at least two.
    pub points: Vec<[i32; 2]>,
}

/// A flow laid out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DagLayout {
    /// Width of all boxes together, from 0.
    pub width: i32,
    /// Height likewise.
    pub height: i32,
    /// Start, nodes, synchronisation nodes, return.
    pub boxes: Vec<DagBox>,
    /// The lines, sorted by (from, to).
    pub lines: Vec<DagLine>,
}

/// Sweeps against crossings, and to draw boxes towards their neighbours.
const SWEEPS: usize = 8;

/// A place in a column: a box, or a point where a long edge passes.
#[derive(Clone, Copy)]
struct Spot {
    layer: u32,
    w: i32,
    h: i32,
    y: i32,
}

#[derive(Default)]
struct Graph {
    spots: Vec<Spot>,
    /// One list per spot.
    left: Vec<Vec<u32>>,
    right: Vec<Vec<u32>>,
    /// By layer, spots from top to bottom.
    layers: Vec<Vec<u32>>,
}

impl DagLayout {
    /// Lays out a flow. Empty if it has no nodes.
    pub fn new(report: &FlowReport, sizes: DagSizes) -> DagLayout {
        let n = report.nodes.len();
        if n == 0 {
            return DagLayout::default();
        }
        let mut items = vec![DagItem::Start];
        items.extend((0..n as u32).map(|node| DagItem::Node(NodeId(node))));
        items.extend((0..report.sync_nodes.len() as u32).map(DagItem::Sync));
        items.push(DagItem::Return);
        let size = |item: &DagItem| match item {
            DagItem::Node(_) => (sizes.node_w, sizes.node_h),
            _ => (sizes.dot, sizes.dot),
        };
        let boxes: Vec<(DagItem, (i32, i32))> = items.iter().map(|item| (*item, size(item))).collect();
        let last = items.len() as u32 - 1;
        DagLayout::of_graph(&boxes, edges(report), Some(last), (sizes.gap_x, sizes.gap_y))
    }

    /// Lays out boxes of these widths and heights. Edges, as numbers of boxes with how often they bind and could, make no
    /// circle; each leads to the right, and all long ones into `shared_end` share their way.
    pub(crate) fn of_graph(
        boxes: &[(DagItem, (i32, i32))],
        edges: BTreeMap<(u32, u32), (u64, u64)>,
        shared_end: Option<u32>,
        (gap_x, gap_y): (i32, i32),
    ) -> DagLayout {
        let layers = layers(boxes.len(), &edges);
        let mut graph = Graph::default();
        for (&(_, (w, h)), &layer) in boxes.iter().zip(&layers) {
            graph.add(Spot { layer, w, h, y: 0 });
        }
        let ways: Vec<Vec<u32>> = graph.route(&edges, shared_end);
        graph.order();
        graph.stack(gap_y);
        graph.finish(boxes, edges, &ways, gap_x)
    }
}

/// Returns the edges by (from, to) as numbers of items, those of synchronisation nodes replaced, with (binding, both).
fn edges(report: &FlowReport) -> BTreeMap<(u32, u32), (u64, u64)> {
    let n = report.nodes.len() as u32;
    let last = n + report.sync_nodes.len() as u32 + 1;
    let place = |node: NodeId| node.0 + 1;
    // The nodes before a synchronisation node have no other successors.
    let mut sync_of: BTreeMap<NodeId, u32> = BTreeMap::new();
    for (number, sync) in report.sync_nodes.iter().enumerate() {
        sync_of.extend(sync.from.iter().map(|&node| (node, n + 1 + number as u32)));
    }
    let mut out: BTreeMap<(u32, u32), (u64, u64)> = BTreeMap::new();
    for edge in &report.edges {
        let (from, to) = (edge.from.map_or(0, place), edge.to.map_or(last, place));
        let pairs = match edge.from.and_then(|node| sync_of.get(&node)) {
            Some(&sync) => vec![(from, sync), (sync, to)],
            None => vec![(from, to)],
        };
        for pair in pairs {
            let sum = out.entry(pair).or_default();
            *sum = (sum.0 + edge.binding, sum.1.max(edge.both));
        }
    }
    out
}

/// Returns, by item, the length of the longest way from the start.
fn layers(items: usize, edges: &BTreeMap<(u32, u32), (u64, u64)>) -> Vec<u32> {
    let mut followers = vec![Vec::new(); items];
    let mut missing = vec![0u32; items];
    for &(from, to) in edges.keys() {
        followers[from as usize].push(to);
        missing[to as usize] += 1;
    }
    let mut layer = vec![0u32; items];
    let mut ready: Vec<u32> = (0..items as u32).filter(|&i| missing[i as usize] == 0).collect();
    while let Some(item) = ready.pop() {
        for &next in &followers[item as usize] {
            layer[next as usize] = layer[next as usize].max(layer[item as usize] + 1);
            missing[next as usize] -= 1;
            if missing[next as usize] == 0 {
                ready.push(next);
            }
        }
    }
    layer
}

impl Graph {
    fn add(&mut self, spot: Spot) -> u32 {
        let number = self.spots.len() as u32;
        let layer = spot.layer as usize;
        if self.layers.len() <= layer {
            self.layers.resize(layer + 1, Vec::new());
        }
        self.layers[layer].push(number);
        self.spots.push(spot);
        self.left.push(Vec::new());
        self.right.push(Vec::new());
        number
    }

    /// Leads every edge through the columns between its ends; all long edges out of one box, and all into the return,
    /// share their way. Returns the spots of each edge.
    fn route(&mut self, edges: &BTreeMap<(u32, u32), (u64, u64)>, last: Option<u32>) -> Vec<Vec<u32>> {
        let mut shared: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut joined: BTreeSet<(u32, u32)> = BTreeSet::new();
        let mut ways = Vec::with_capacity(edges.len());
        for &(from, to) in edges.keys() {
            let mut way = vec![from];
            let (first, end) = (self.spots[from as usize].layer, self.spots[to as usize].layer);
            for layer in first + 1..end {
                let owner = if Some(to) == last { to } else { from };
                let spot = match shared.get(&(owner, layer)) {
                    Some(&spot) => spot,
                    None => {
                        let spot = self.add(Spot { layer, w: 0, h: 1, y: 0 });
                        shared.insert((owner, layer), spot);
                        spot
                    }
                };
                way.push(spot);
            }
            way.push(to);
            for pair in way.windows(2) {
                if joined.insert((pair[0], pair[1])) {
                    self.right[pair[0] as usize].push(pair[1]);
                    self.left[pair[1] as usize].push(pair[0]);
                }
            }
            ways.push(way);
        }
        ways
    }

    /// Sweeps to the right and back, each column ordered by the middle of its neighbours' places; the order with the
    /// fewest crossings stays.
    fn order(&mut self) {
        let mut place = vec![0usize; self.spots.len()];
        let mut best = (self.crossings(&mut place), self.layers.clone());
        for sweep in 0..SWEEPS {
            if best.0 == 0 {
                break;
            }
            let is_right = sweep % 2 == 0;
            let count = self.layers.len();
            for step in 1..count {
                let layer = if is_right { step } else { count - 1 - step };
                let beside = if is_right { layer - 1 } else { layer + 1 };
                for (at, &spot) in self.layers[beside].iter().enumerate() {
                    place[spot as usize] = at;
                }
                let neighbours = if is_right { &self.left } else { &self.right };
                // In thousandths, so that it stays whole.
                let middle = |spot: u32, at: usize| {
                    let near = &neighbours[spot as usize];
                    match near.len() {
                        0 => at * 1000,
                        n => near.iter().map(|&s| place[s as usize] * 1000).sum::<usize>() / n,
                    }
                };
                let mut keyed: Vec<(usize, u32)> =
                    self.layers[layer].iter().enumerate().map(|(at, &s)| (middle(s, at), s)).collect();
                keyed.sort_by_key(|&(key, _)| key);
                self.layers[layer] = keyed.into_iter().map(|(_, spot)| spot).collect();
            }
            let crossings = self.crossings(&mut place);
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        self.layers = best.1;
    }

    /// Counts the pairs of edges between neighbouring columns that cross.
    fn crossings(&self, place: &mut [usize]) -> u64 {
        let mut total = 0;
        let mut tree: Vec<u32> = Vec::new();
        for pair in self.layers.windows(2) {
            for (at, &spot) in pair[1].iter().enumerate() {
                place[spot as usize] = at;
            }
            tree.clear();
            tree.resize(pair[1].len() + 1, 0);
            let mut drawn = 0u64;
            for &spot in &pair[0] {
                let ends = || self.right[spot as usize].iter().map(|&s| place[s as usize]);
                // Those drawn before that end further down are crossed.
                for end in ends() {
                    let (mut at, mut above) = (end + 1, 0);
                    while at > 0 {
                        above += u64::from(tree[at]);
                        at &= at - 1;
                    }
                    total += drawn - above;
                }
                for end in ends() {
                    let mut at = end + 1;
                    while at < tree.len() {
                        tree[at] += 1;
                        at += at & at.wrapping_neg();
                    }
                    drawn += 1;
                }
            }
        }
        total
    }

    /// Stacks every column, then draws it towards the middle of its neighbours.
    fn stack(&mut self, gap_y: i32) {
        for layer in &self.layers {
            let mut y = 0;
            for &spot in layer {
                let spot = &mut self.spots[spot as usize];
                spot.y = y;
                y += spot.h + gap_y;
            }
            for &spot in layer {
                self.spots[spot as usize].y -= y / 2;
            }
        }
        let count = self.layers.len();
        for sweep in 0..SWEEPS {
            let is_right = sweep % 2 == 0;
            for step in 1..count {
                let layer = if is_right { step } else { count - 1 - step };
                let spots = &self.layers[layer];
                let wanted: Vec<i32> = spots.iter().map(|&spot| self.wanted_y(spot, is_right)).collect();
                let mut least = i32::MIN;
                let mut away = 0i64;
                for (&spot, &wanted) in spots.iter().zip(&wanted) {
                    let spot = &mut self.spots[spot as usize];
                    spot.y = wanted.max(least);
                    least = spot.y + spot.h + gap_y;
                    away += i64::from(spot.y - wanted);
                }
                let shift = (away / spots.len().max(1) as i64) as i32;
                for &spot in spots {
                    self.spots[spot as usize].y -= shift;
                }
            }
        }
    }

    fn wanted_y(&self, spot: u32, from_left: bool) -> i32 {
        let near = if from_left { &self.left[spot as usize] } else { &self.right[spot as usize] };
        let own = &self.spots[spot as usize];
        if near.is_empty() {
            return own.y;
        }
        let middle = |s: &u32| i64::from(2 * self.spots[*s as usize].y + self.spots[*s as usize].h);
        let sum: i64 = near.iter().map(middle).sum();
        ((sum / near.len() as i64 - i64::from(own.h)) / 2) as i32
    }

    fn finish(
        &self,
        boxes: &[(DagItem, (i32, i32))],
        edges: BTreeMap<(u32, u32), (u64, u64)>,
        ways: &[Vec<u32>],
        gap_x: i32,
    ) -> DagLayout {
        let top = self.spots.iter().map(|s| s.y).min().unwrap_or(0);
        let mut columns = Vec::with_capacity(self.layers.len());
        let mut width = 0;
        for layer in &self.layers {
            let widest = layer.iter().map(|&s| self.spots[s as usize].w).max().unwrap_or(0);
            columns.push((width, widest));
            width += widest + gap_x;
        }
        let left_of = |spot: &Spot| {
            let (x, widest) = columns[spot.layer as usize];
            x + (widest - spot.w) / 2
        };
        let placed: Vec<DagBox> = (boxes.iter().zip(&self.spots))
            .map(|(&(item, _), spot)| DagBox {
                item,
                x: left_of(spot),
                y: spot.y - top,
                w: spot.w,
                h: spot.h,
            })
            .collect();
        let lines = edges.into_iter().zip(ways).map(|((ends, (binding, both)), way)| {
            let mut points = Vec::with_capacity(2 * way.len());
            for (at, &number) in way.iter().enumerate() {
                let spot = &self.spots[number as usize];
                let y = spot.y - top + spot.h / 2;
                let (x, widest) = columns[spot.layer as usize];
                if at == 0 {
                    points.push([left_of(spot) + spot.w, y]);
                } else if at + 1 == way.len() {
                    points.push([left_of(spot), y]);
                } else {
                    points.extend([[x, y], [x + widest, y]]);
                }
            }
            let (from, to) = (boxes[ends.0 as usize].0, boxes[ends.1 as usize].0);
            DagLine { from, to, binding, both, points }
        });
        DagLayout {
            width: (width - gap_x).max(0),
            height: self.spots.iter().map(|s| s.y - top + s.h).max().unwrap_or(0),
            lines: lines.collect(),
            boxes: placed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::flow::{FlowEdge, FlowNode, SyncNode};

    const SIZES: DagSizes = DagSizes { node_w: 120, node_h: 30, dot: 12, gap_x: 40, gap_y: 10 };

    fn report(n: u32, pairs: &[(u32, u32)], sync_nodes: Vec<SyncNode>) -> FlowReport {
        let node = |i: u32| FlowNode {
            label: i.to_string(),
            service: "s".to_owned(),
            operation: i.to_string(),
            index: 1,
            invocations: 1,
            latency_us: Default::default(),
            wait_us: Default::default(),
            histogram: Default::default(),
            critical: 0,
            has_calls: false,
        };
        let node_of = |i: u32| Some(NodeId(i));
        let mut pairs: Vec<_> = pairs.iter().map(|&(from, to)| (node_of(from), node_of(to))).collect();
        for i in (0..n).map(node_of) {
            if !pairs.iter().any(|p| p.1 == i) {
                pairs.push((None, i));
            }
            if !pairs.iter().any(|p| p.0 == i) {
                pairs.push((i, None));
            }
        }
        let edge = |(from, to)| FlowEdge { from, to, both: 1, holds: 1, binding: 1 };
        let edges = pairs.into_iter().map(edge).collect();
        FlowReport { nodes: (0..n).map(node).collect(), edges, sync_nodes, ..FlowReport::default() }
    }

    /// Checks that boxes do not overlap, lines run to the right from box to box, and all lies inside.
    fn check(layout: &DagLayout) {
        for (i, a) in layout.boxes.iter().enumerate() {
            assert!(a.x >= 0 && a.y >= 0 && a.x + a.w <= layout.width && a.y + a.h <= layout.height);
            for b in &layout.boxes[i + 1..] {
                let apart = a.x + a.w <= b.x || b.x + b.w <= a.x || a.y + a.h <= b.y || b.y + b.h <= a.y;
                assert!(apart, "{a:?} and {b:?}");
            }
        }
        for line in &layout.lines {
            assert!(line.points.windows(2).all(|p| p[0][0] <= p[1][0]), "{line:?}");
            let find = |item| layout.boxes.iter().find(|b| b.item == item).unwrap();
            let (from, to) = (find(line.from), find(line.to));
            assert_eq!(line.points[0], [from.x + from.w, from.y + from.h / 2]);
            assert_eq!(line.points.last(), Some(&[to.x, to.y + to.h / 2]));
        }
    }

    #[test]
    fn groups_stand_one_over_the_other_on_both_sides_of_their_synchronisation() {
        let [a, b, c, d] = [0, 1, 2, 3].map(NodeId);
        let sync = vec![SyncNode { from: vec![a, b], to: vec![c, d] }];
        let layout = DagLayout::new(&report(4, &[(0, 2), (0, 3), (1, 2), (1, 3)], sync), SIZES);
        check(&layout);
        let x = |item| layout.boxes.iter().find(|b| b.item == item).map(|b| b.x).unwrap();
        assert_eq!(x(DagItem::Node(a)), x(DagItem::Node(b)));
        assert_eq!(x(DagItem::Node(c)), x(DagItem::Node(d)));
        assert!(x(DagItem::Node(a)) < x(DagItem::Sync(0)) && x(DagItem::Sync(0)) < x(DagItem::Node(c)));
        assert_eq!(layout.lines.len(), 8);
    }

    #[test]
    fn two_chains_do_not_cross() {
        let layout = DagLayout::new(&report(4, &[(0, 3), (1, 2)], Vec::new()), SIZES);
        check(&layout);
        let y =
            |node| layout.boxes.iter().find(|b| b.item == DagItem::Node(NodeId(node))).map(|b| b.y).unwrap();
        assert_eq!(y(0) < y(1), y(3) < y(2));
    }

    #[test]
    fn flows_of_3_and_of_200_nodes_are_laid_out() {
        check(&DagLayout::new(&report(3, &[(0, 1), (1, 2)], Vec::new()), SIZES));
        let pairs: Vec<(u32, u32)> = (0..200u32)
            .flat_map(|i| [(i, i + 7 + i % 5), (i, i + 40 + i % 3)])
            .filter(|&(_, to)| to < 200)
            .collect();
        let layout = DagLayout::new(&report(200, &pairs, Vec::new()), SIZES);
        check(&layout);
        assert_eq!(layout.boxes.len(), 202);
        assert_eq!(DagLayout::new(&report(0, &[], Vec::new()), SIZES), DagLayout::default());
    }
}
