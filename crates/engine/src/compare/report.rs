//! The report of a comparison: frames of both sides, what changed and whether it is more than noise.

use crate::ids::{NodeId, ReportEndpoint};
use crate::requests::{PercentileRange, RangeFacts, RequestRef, Selection};
use crate::verdict::ServicesReport;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{
    Interval, MeanError, Sample, Weights, false_discovery_limit, fisher_p, welch, welch_p,
};
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Which requests one side of a comparison is, and what they are like.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompareSide {
    /// The selected requests.
    pub selection: Selection,
    /// Requests and latencies of its percentile range.
    pub facts: RangeFacts,
}

/// One frame on one side: exact sums over the requests that have it, by weight. Requests that do not, count as 0.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameSums {
    /// Requests seen that have it.
    pub requests: u64,
    /// Own time on the critical path, per request, in microseconds.
    pub exclusive: Sample,
    /// Time on the critical path of the frame and all below it, per request, in microseconds.
    pub subtree: Sample,
    /// The request with the greatest subtree time (ties: smaller ids): index into [`CompareReport::examples`].
    pub example: Option<u32>,
    /// Time of its subtree in the exemplar, in microseconds.
    pub example_us: u64,
}

impl FrameSums {
    pub(crate) fn join(&mut self, other: &FrameSums, examples: &[RequestRef]) {
        self.requests += other.requests;
        self.exclusive.merge(&other.exclusive);
        self.subtree.merge(&other.subtree);
        let name = |sums: &FrameSums| sums.example.map(|example| &examples[example as usize]);
        let order = other.example_us.cmp(&self.example_us).then_with(|| name(self).cmp(&name(other)));
        if self.example.is_none() || other.example.is_some() && order == Ordering::Greater {
            (self.example, self.example_us) = (other.example, other.example_us);
        }
    }
}

/// One frame on both sides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareNode {
    /// Index of the parent node; `None` for a root. Parents come first, siblings by (service, operation).
    pub parent: Option<NodeId>,
    /// Index into [`CompareReport::endpoints`].
    pub endpoint: ReportEndpoint,
    /// Side A.
    pub a: FrameSums,
    /// Side B.
    pub b: FrameSums,
}

/// On which sides a frame stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Presence {
    /// On both.
    Both,
    /// On side B only.
    New,
    /// On side A only.
    Gone,
}

/// What a side's numbers are divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Basis {
    /// By its requests: mean microseconds per request.
    #[default]
    Mean,
    /// By its total latency: shares from 0 to 1.
    Share,
}

impl Basis {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Mean => "mean",
            Basis::Share => "share",
        }
    }
}

/// Which time of a frame is compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MeasuredTime {
    /// The frame's and that of all below it.
    #[default]
    Subtree,
    /// The frame's own.
    Exclusive,
}

impl MeasuredTime {
    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            MeasuredTime::Subtree => "subtree",
            MeasuredTime::Exclusive => "exclusive",
        }
    }
}

/// The change of one frame, B minus A, in the unit of the [`Basis`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Side A.
    pub a: f64,
    /// Side B.
    pub b: f64,
    /// B minus A.
    pub change: f64,
    /// Welch's 95 % interval; `None` where there is nothing to test: fewer than two requests on a side, or no variance.
    pub interval: Option<Interval>,
    /// No clearer than chance allows among so many frames: see [`CompareReport::judged`].
    pub is_noise: bool,
}

/// One row of the table of changes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedChange {
    /// Index of the node.
    pub node: NodeId,
    /// Which time of it the change is about.
    pub measure: MeasuredTime,
    /// The change.
    pub change: Change,
}

/// Two sides compared frame by frame and service by service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompareReport {
    /// Before, or the bulk.
    pub a: CompareSide,
    /// After, or the tail.
    pub b: CompareSide,
    /// Endpoints as (service, operation), sorted.
    pub endpoints: Vec<Endpoint>,
    /// The union of both trees, in pre-order.
    pub nodes: Vec<CompareNode>,
    /// Example requests of frames.
    pub examples: Vec<RequestRef>,
    /// Which service explains that B is slower.
    pub culprit: ServicesReport,
    /// By [`Basis`] and [`MeasuredTime`]: up to which p-value the change of a frame is more than noise.
    pub largest_p: [[f64; 2]; 2],
    /// By node: the root of its tree, where each root endpoint is tested by itself; else empty.
    pub root_of: Vec<NodeId>,
}

/// Changes that are reported although there is none: so many of those reported, on average.
const FALSE_DISCOVERIES: f64 = 0.05;

impl CompareNode {
    /// Returns on which sides it stands.
    pub fn presence(&self) -> Presence {
        match (self.a.requests, self.b.requests) {
            (0, _) => Presence::New,
            (_, 0) => Presence::Gone,
            _ => Presence::Both,
        }
    }
}

impl CompareReport {
    /// Tests all frames together, by Welch's test and with false discoveries at 5 % (Benjamini and Hochberg 1995): of
    /// hundreds of frames some lie outside their 95 % interval by chance.
    pub fn judged(mut self) -> CompareReport {
        if self.is_within_types() {
            let mut roots: Vec<NodeId> = Vec::with_capacity(self.nodes.len());
            for (number, node) in self.nodes.iter().enumerate() {
                roots.push(node.parent.map_or(NodeId(number as u32), |parent| roots[parent.index()]));
            }
            self.root_of = roots;
        }
        for basis in [Basis::Mean, Basis::Share] {
            for measure in [MeasuredTime::Subtree, MeasuredTime::Exclusive] {
                let nodes = (0..self.nodes.len() as u32).map(NodeId);
                let p: Vec<f64> = nodes.filter_map(|node| self.p(node, basis, measure)).collect();
                // Without one that passes, none is as small as this.
                let limit = false_discovery_limit(&p, FALSE_DISCOVERIES).unwrap_or(-1.0);
                self.largest_p[basis as usize][measure as usize] = limit;
            }
        }
        self
    }

    /// Returns whether the sides were chosen by their latency, so that they differ by choice: intervals then describe
    /// and are no test.
    pub fn is_descriptive(&self) -> bool {
        [&self.a, &self.b].iter().any(|side| side.selection.range != PercentileRange::ALL)
    }

    /// Returns whether both sides are cut out of each type of the same requests: then each has as many of a type as
    /// was asked for, whatever the latencies, and a frame, which only requests of its root endpoint can have, is
    /// tested among these. Among all requests it would be 0 in most, and so vary too much for any change to be seen.
    fn is_within_types(&self) -> bool {
        let (a, b) = (&self.a.selection, &self.b.selection);
        let is_cut = a.range != PercentileRange::ALL && b.range != PercentileRange::ALL;
        is_cut && !a.over_all && a.with_range(b.range) == *b
    }

    /// Returns whether both sides are the same requests of one set: nothing can have changed.
    pub fn is_of_same_requests(&self) -> bool {
        let (a, b) = (&self.a, &self.b);
        let is_equal = a.facts.requests == b.facts.requests && a.facts.range_us == b.facts.range_us;
        is_equal
            && a.facts.requests > 0
            && a.selection.group == b.selection.group
            && self.nodes.iter().all(|CompareNode { a, b, .. }| {
                // Examples are numbered on each side by itself.
                (&a.requests, &a.exclusive, &a.subtree) == (&b.requests, &b.exclusive, &b.subtree)
            })
    }

    /// Returns whether both sides have requests enough for a test: two.
    pub fn is_tested(&self) -> bool {
        self.a.facts.requests.min(self.b.facts.requests) >= 2
    }

    /// Returns of both sides the requests among which a node is tested: all, or those of its root endpoint.
    fn tested(&self, node: NodeId) -> [Weights; 2] {
        match self.root_of.get(node.index()).map(|root| &self.nodes[root.index()]) {
            Some(root) => [&root.a, &root.b].map(|sums| sums.exclusive.weights()),
            None => [&self.a, &self.b].map(|side| side.facts.weights()),
        }
    }

    /// Returns what both sides have of a node.
    fn sides(&self, node: NodeId, basis: Basis, measure: MeasuredTime) -> [MeanError; 2] {
        let tested = self.tested(node);
        let node = &self.nodes[node.index()];
        let side = |sums: &FrameSums, side: &CompareSide, tested: &Weights| {
            let (all, n) = (side.facts.weights().requests(), tested.requests());
            let unit = match basis {
                Basis::Mean => 1.0,
                Basis::Share if side.facts.latency_sum_us == 0 => 1.0,
                Basis::Share => side.facts.latency_sum_us as f64 / all,
            };
            // Per request of all, whichever vary.
            let unit = if n > 0.0 { unit * all / n } else { unit };
            let times = match measure {
                MeasuredTime::Subtree => &sums.subtree,
                MeasuredTime::Exclusive => &sums.exclusive,
            };
            times.among(tested).per(unit)
        };
        [side(&node.a, &self.a, &tested[0]), side(&node.b, &self.b, &tested[1])]
    }

    /// Returns how likely the change of a node is by chance: by Welch's test, and within types also by how many
    /// requests have it (Fisher's, two-sided), unless all have; `None` where nothing can be tested.
    fn p(&self, node: NodeId, basis: Basis, measure: MeasuredTime) -> Option<f64> {
        let [a, b] = self.sides(node, basis, measure);
        let longer = welch_p(a, b)?;
        let (tested, sums) = (self.tested(node), &self.nodes[node.index()]);
        if self.root_of.is_empty() || (sums.a.requests, sums.b.requests) == (tested[0].seen, tested[1].seen) {
            return Some(longer);
        }
        let counts = |all: &Weights, sums: &FrameSums| all.effective_counts(&sums.exclusive.weights());
        let ((has_a, of_a), (has_b, of_b)) = (counts(&tested[0], &sums.a), counts(&tested[1], &sums.b));
        let more = fisher_p(has_b, of_b, has_a, of_a).min(fisher_p(has_a, of_a, has_b, of_b));
        // Two tests of one frame, the second of two sides.
        Some((2.0 * longer.min(2.0 * more)).min(1.0))
    }

    /// Returns the change of a node.
    pub fn change(&self, node: NodeId, basis: Basis, measure: MeasuredTime) -> Change {
        let [a, b] = self.sides(node, basis, measure);
        let limit = self.largest_p[basis as usize][measure as usize];
        Change {
            a: a.mean,
            b: b.mean,
            change: b.mean - a.mean,
            interval: welch(a, b),
            is_noise: match self.p(node, basis, measure) {
                Some(p) => p.is_nan() || p > limit,
                // Of a root endpoint with one request on a side nothing is known.
                None => !self.root_of.is_empty() && a.n.min(b.n) < 2.0,
            },
        }
    }

    /// Returns the table of changes: what is more than noise first, then by size of the change, frames on one side
    /// only before others of the same size, then in the order of nodes.
    ///
    /// Under [`MeasuredTime::Exclusive`] every frame stands for its own time. Under [`MeasuredTime::Subtree`] a frame that
    /// appeared or vanished stands for itself and all below it, any other one for its own time, so that every
    /// microsecond of the whole change is reported once and by the frame where it happens: callers do not come before the
    /// call that made them slow. Frames inside one that appeared or vanished have no row of their own then.
    pub fn ranking(&self, basis: Basis, measure: MeasuredTime) -> Vec<RankedChange> {
        let mut rows = Vec::new();
        // Whether the frame lies within one that appeared or vanished, or is one.
        let mut is_inside = vec![false; self.nodes.len()];
        for (number, node) in self.nodes.iter().enumerate() {
            let within = node.parent.is_some_and(|parent| is_inside[parent.index()]);
            let is_one_sided = node.presence() != Presence::Both;
            is_inside[number] = within || is_one_sided;
            let measure = match measure {
                MeasuredTime::Subtree if within => continue,
                MeasuredTime::Subtree if is_one_sided => MeasuredTime::Subtree,
                _ => MeasuredTime::Exclusive,
            };
            let node = NodeId(number as u32);
            rows.push(RankedChange { node, measure, change: self.change(node, basis, measure) });
        }
        // Shares are quotients: what is equal but for their rounding is equal.
        let size = |row: &RankedChange| {
            let scaled =
                if basis == Basis::Share { row.change.change * 1e9 } else { row.change.change * 1e3 };
            scaled.abs().round()
        };
        let is_both = |row: &RankedChange| self.nodes[row.node.index()].presence() == Presence::Both;
        rows.compact_sort_by(|x, y| {
            (x.change.is_noise.cmp(&y.change.is_noise))
                .then_with(|| size(y).total_cmp(&size(x)))
                .then_with(|| is_both(x).cmp(&is_both(y)))
                .then_with(|| x.node.cmp(&y.node))
        });
        rows
    }

    /// Returns the service and operation of an endpoint number.
    pub fn name(&self, endpoint: ReportEndpoint) -> (&str, &str) {
        self.endpoints.get(endpoint.index()).map_or(("", ""), Endpoint::names)
    }
}
