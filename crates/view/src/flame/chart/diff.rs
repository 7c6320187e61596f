//! The differential flame graph: the frames of two sides in one tree, coloured by change (`docs/definitions/critical-path.md` section 4).

use super::{FlameTree, Frame, NONE};
use crate::draw::Shade;
use pathlight_base::format;
use pathlight_base::statistics::Weight;
use pathlight_engine::compare::{
    Basis, Change, CompareReport, CompareSide, FrameSums, MeasuredTime, Presence,
};
use pathlight_engine::ids::NodeId;

/// The side that decides the width of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DiffWidth {
    /// Self time of the larger side plus all frames below, so frames of one side only stay visible.
    #[default]
    Larger,
    /// Self time of side B plus all frames below.
    B,
}

/// Options of a differential flame graph.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiffOptions {
    /// Mean time per request, or share of a side's latency.
    pub basis: Basis,
    /// Total time of a frame, or its self time.
    pub measure: MeasuredTime,
    /// Width of frames.
    pub width: DiffWidth,
    /// Changes smaller than this part of side A's mean latency, in millionths, are grey.
    pub least_ppm: u32,
}

/// Two sides as one flame graph. Widths of the tree are nanoseconds a request, or billionths of a side's latency.
#[derive(Clone, Debug, Default)]
pub struct DiffFlame {
    /// Nodes are those of the report; every node has a frame of its own.
    pub tree: FlameTree,
    /// The change, in the unit of the basis, that has the strongest colour; 0 if nothing changed.
    pub scale: f64,
    /// Frames coloured by their change.
    pub changed: u32,
    /// Frames grey for noise, or because they changed too little.
    pub grey: u32,
}

/// Returns whether a frame is coloured as changed: the change was tested, is more than noise, and is not smaller than the options say.
pub fn counts_as_changed(report: &CompareReport, options: &DiffOptions, change: &Change) -> bool {
    let unit = match options.basis {
        Basis::Mean => report.a.facts.mean_us(),
        Basis::Share => 1.0,
    };
    let least = unit * f64::from(options.least_ppm) / 1e6;
    report.is_tested() && !change.is_noise && change.change != 0.0 && change.change.abs() >= least
}

/// Returns the self time of a frame on one side, in the unit of widths.
fn own(sums: &FrameSums, side: &CompareSide, basis: Basis) -> u64 {
    let (unit, whole) = match basis {
        // In units of 1/256 request.
        Basis::Mean => (1000 * u128::from(Weight::UNITS), side.facts.weights().units),
        Basis::Share => (1_000_000_000, side.facts.latency_sum_us),
    };
    (sums.exclusive.sum() * unit).checked_div(whole).unwrap_or(0) as u64
}

impl DiffFlame {
    /// Returns the differential flame graph of a report.
    ///
    /// A frame is as wide as its self time and all frames below it. [`DiffWidth`] says whose self time counts.
    pub fn new(report: &CompareReport, options: &DiffOptions) -> DiffFlame {
        let nodes = &report.nodes;
        let mut widths: Vec<u64> = nodes
            .iter()
            .map(|node| {
                let b = own(&node.b, &report.b, options.basis);
                match options.width {
                    DiffWidth::Larger => b.max(own(&node.a, &report.a, options.basis)),
                    DiffWidth::B => b,
                }
            })
            .collect();
        for at in (0..nodes.len()).rev() {
            if let Some(parent) = nodes[at].parent {
                widths[parent.index()] += widths[at];
            }
        }
        let changes: Vec<Change> = (0..nodes.len() as u32)
            .map(|at| report.change(NodeId(at), options.basis, options.measure))
            .collect();
        let is_changed: Vec<bool> =
            changes.iter().map(|change| counts_as_changed(report, options, change)).collect();
        let sizes = changes
            .iter()
            .zip(&is_changed)
            .filter(|(_, is_changed)| **is_changed)
            .map(|(c, _)| c.change.abs());
        let scale = sizes.fold(0.0, f64::max);
        let frames = nodes.iter().zip(changes.iter().zip(&is_changed)).map(|(node, (change, is_changed))| {
            let (service, operation) = report.name(node.endpoint);
            let mark = match node.presence() {
                Presence::New => "new: ",
                Presence::Gone => "gone: ",
                Presence::Both => "",
            };
            let shade = if *is_changed {
                Shade::Change((change.change / scale * 100.0).round() as i8)
            } else {
                Shade::Grey
            };
            let label = format!("{mark}{}", format::endpoint(service, operation));
            Frame { name_at: mark.len(), ..Frame::new(label, shade) }
        });
        let frames: Vec<Frame> = frames.collect();
        let changed = is_changed.iter().filter(|is_changed| **is_changed).count() as u32;
        let parents = nodes.iter().map(|node| node.parent.map_or(NONE, |parent| parent.0)).collect();
        let tree = FlameTree::new(parents, &widths, (0..nodes.len() as u32).collect(), frames);
        DiffFlame { tree, scale, changed, grey: nodes.len() as u32 - changed }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::{Moments, Sample};
    use pathlight_engine::compare::CompareNode;
    use pathlight_engine::ids::ReportEndpoint;
    use pathlight_engine::requests::RangeFacts;
    use pathlight_trace::Endpoint;

    fn side(requests: u64, latency_sum_us: u128) -> CompareSide {
        let facts = RangeFacts { requests, latency_sum_us, ..RangeFacts::default() };
        CompareSide { facts, ..CompareSide::default() }
    }

    /// Returns sums over requests that all take the same times.
    fn sums(requests: u64, own_us: u64, subtree_us: u64) -> FrameSums {
        let times = |us: u64| {
            let mut times = Sample::default();
            (0..requests).for_each(|_| times.add(us, Weight::ONE));
            times
        };
        FrameSums { requests, exclusive: times(own_us), subtree: times(subtree_us), ..FrameSums::default() }
    }

    /// Returns a report in which r calls steady, gone (A only) and new (B only). A: 4 requests of 100 us, B: 2 of 150
    /// us.
    fn report() -> CompareReport {
        let node = |parent: Option<u32>, endpoint, a, b| CompareNode {
            parent: parent.map(NodeId),
            endpoint: ReportEndpoint(endpoint),
            a,
            b,
        };
        let none = FrameSums::default();
        CompareReport {
            a: side(4, 400),
            b: side(2, 300),
            endpoints: ["gone", "new", "r", "steady"].map(|o| Endpoint::new("s", o)).to_vec(),
            nodes: vec![
                node(None, 2, sums(4, 10, 100), sums(2, 10, 150)),
                node(Some(0), 0, sums(4, 40, 40), none.clone()),
                node(Some(0), 1, none, sums(2, 90, 90)),
                node(Some(0), 3, sums(4, 50, 50), sums(2, 50, 50)),
            ],
            ..CompareReport::default()
        }
        .judged()
    }

    fn widths(flame: &DiffFlame) -> Vec<u64> {
        (0..flame.tree.len() as u32).map(|node| flame.tree.interval_us(node).1).collect()
    }

    fn shades(flame: &DiffFlame) -> Vec<Shade> {
        flame.tree.frames().iter().map(|frame| frame.shade).collect()
    }

    #[test]
    fn frames_of_both_sides_have_room_and_the_colour_of_their_change() {
        let flame = DiffFlame::new(&report(), &DiffOptions::default());
        // Nanoseconds: 10 + 40 + 90 + 50 us.
        assert_eq!(widths(&flame), [190_000, 40_000, 90_000, 50_000]);
        assert_eq!(flame.scale, 90.0);
        assert_eq!(shades(&flame), [Shade::Change(56), Shade::Change(-44), Shade::Change(100), Shade::Grey]);
        let labels: Vec<&str> = flame.tree.frames().iter().map(|frame| frame.label.as_str()).collect();
        assert_eq!(labels, ["r @ s", "gone: gone @ s", "new: new @ s", "steady @ s"]);
        let names: Vec<&str> = flame.tree.frames().iter().map(Frame::name).collect();
        assert_eq!(names, ["r @ s", "gone @ s", "new @ s", "steady @ s"]);
        assert_eq!((flame.changed, flame.grey), (3, 1));
    }

    #[test]
    fn side_b_alone_has_no_room_for_what_is_gone() {
        let flame = DiffFlame::new(&report(), &DiffOptions { width: DiffWidth::B, ..DiffOptions::default() });
        assert_eq!(widths(&flame), [150_000, 0, 90_000, 50_000]);
        assert_eq!(flame.tree.row(1), [2, 3]);
    }

    #[test]
    fn shares_are_of_each_sides_own_latency() {
        let options =
            DiffOptions { basis: Basis::Share, measure: MeasuredTime::Exclusive, ..DiffOptions::default() };
        let flame = DiffFlame::new(&report(), &options);
        // r 10 % against 6.7 %, steady 50 % against 33.3 %.
        assert_eq!(widths(&flame), [1_600_000_000, 400_000_000, 600_000_000, 500_000_000]);
        assert_eq!(
            shades(&flame),
            [Shade::Change(-6), Shade::Change(-67), Shade::Change(100), Shade::Change(-28)]
        );
    }

    #[test]
    fn noise_and_small_changes_are_grey() {
        let mut noisy = report();
        // Own times of new: 0 and 180 us, so the interval of its mean includes 0.
        noisy.nodes[2].b.subtree = Sample::counted(2, Moments { sum: 180, sum_sq: 180 * 180 });
        let flame = DiffFlame::new(&noisy.judged(), &DiffOptions::default());
        assert_eq!(shades(&flame)[2], Shade::Grey);
        // Half of side A's mean latency is 50 us: only new and r changed by as much.
        let flame = DiffFlame::new(&report(), &DiffOptions { least_ppm: 500_000, ..DiffOptions::default() });
        assert_eq!(shades(&flame)[1], Shade::Grey);
        assert_eq!(flame.changed, 2);
    }

    #[test]
    fn what_cannot_be_tested_is_grey() {
        let mut report = report();
        report.b = side(1, 150);
        let flame = DiffFlame::new(&report, &DiffOptions::default());
        assert_eq!((flame.changed, flame.grey), (0, 4));
    }

    #[test]
    fn nothing_compared_is_an_empty_picture() {
        let flame = DiffFlame::new(&CompareReport::default(), &DiffOptions::default());
        assert_eq!((flame.tree.len(), flame.scale), (0, 0.0));
    }
}
