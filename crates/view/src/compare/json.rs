//! The comparison of two sides.

use super::services_json::{Leading, Queue, Service, Stopped};
use crate::compare;
use crate::json::blamed::Blamed;
use crate::json::parts::{Text, ends, percent, pretty, public_json};
use pathlight_base::statistics::Percentiles;
use pathlight_base::statistics::Sample;
use pathlight_engine::compare::{
    Basis, Change, CompareReport, CompareSide, FrameSums, MeasuredTime, Presence, RankedChange,
};
use pathlight_engine::ids::NodeId;
use pathlight_engine::requests::RequestRef;
use pathlight_engine::verdict::{FailingService, InProportion};

public_json! {
    /// Two sets of traces (`-a FILE... -b FILE...`), or two percentile ranges of one set (`--range-a P0-50 --range-b P95-100`).
    /// The same trace id in both sets is two traces.
    ///
    /// With `--folded` instead: one line per frame with self time on either side, `[service] operation;[service] operation A
    /// B` in microseconds, as `difffolded.pl` writes and `flamegraph.pl` reads it.
    Comparison<'a>(report: &'a CompareReport, basis: Basis, measure: MeasuredTime) {
        /// The side before, or the normal one.
        a: Side = Side::of(&report.a),
        /// The side after, or the slow one.
        b: Side = Side::of(&report.b),
        /// Divisor of numbers: `mean` (microseconds per request) or `share` (of the side's total latency, 0 to 1).
        by: &'static str = basis.name(),
        /// The time of a frame that is compared: `subtree` (it and all below it) or `exclusive` (with `--exclusive`).
        measure: &'static str = measure.name(),
        /// Whether a side was chosen by its latency (a percentile range): the sides then differ by choice, and intervals
        /// describe these requests and are no test.
        descriptive: bool = report.is_descriptive(),
        /// The union of both critical calling context trees in pre-order, siblings by (service, operation).
        nodes: Vec<Node<'a>> = (0..report.nodes.len())
            .map(|id| Node::of(report, id, &report.change(NodeId(id as u32), basis, measure)))
            .collect(),
        /// The table of changes: first what is more than noise, then by size. With the measure `subtree` a frame that
        /// appeared or vanished stands for itself and all below it, every other frame for its self time: each
        /// microsecond of the whole change is counted once, by the frame where it happens.
        changes: Vec<RankedRow<'a>> = report
            .ranking(basis, measure)
            .iter()
            .enumerate()
            .map(|(place, row)| RankedRow::of(report, place, row))
            .collect(),
        /// The service that explains that side B is slower, in words; see docs/definitions/verdict.md.
        verdict: String = compare::services::verdict(&report.culprit).to_text(),
        /// The part of the service that explains it; `null` if none surely does. Hit requests, since when, and what the latency
        /// would be, only `findings --baseline` finds out.
        blamed: Option<Blamed<'a>> = Blamed::of_change(&report.culprit),
        /// The leading statement of the verdict.
        headline: Leading<'a> = Leading::of(report.culprit.headline()),
        /// The rise that nearly all services share, so that no single one explains it; `null` if they do not.
        in_proportion: Option<InProportion> = report.culprit.in_proportion,
        /// Visits that end before calls they made on side A, those that concern most requests first.
        stops: Vec<Stopped<'a>> = report.culprit.stops.iter().map(Stopped::of).collect(),
        /// The part of the change of the mean latency that no service took longer for, in microseconds per request:
        /// side B makes other calls, or other numbers of them.
        mix_us: f64 = report.culprit.mix_us,
        /// Services that side B uses, the best explanation first.
        services: Vec<Service<'a>> = Service::all(&report.culprit),
        /// Services in which errors begin, those that fail more often than on side A first.
        failing: &'a [FailingService] = &report.culprit.failing,
        /// Queues in which messages of both sides wait, those that explain most first.
        queues: Vec<Queue<'a>> = report.culprit.queues.iter().map(Queue::of).collect(),
    }
}

public_json! {
    /// The requests of one side.
    Side(side: &CompareSide) {
        /// The set of traces: `A` or `B`.
        set: &'static str = if side.selection.group == 0 { "A" } else { "B" },
        /// The percentile range as `[from, to]`, in percent.
        band: [f64; 2] = percent(Some(side.selection.range)),
        /// Number of requests in it.
        requests: u64 = side.facts.requests,
        /// Latencies of the requests.
        latency_us: Percentiles = side.facts.latency_us,
        /// Sum of their latencies.
        latency_sum_us: u128 = side.facts.latency_sum_us,
    }
}

public_json! {
    /// One frame of the flame graph.
    Node<'a>(report: &'a CompareReport, id: usize, change: &Change) {
        /// Number of the node.
        id: usize = id,
        /// Number of its parent; `null` for a root.
        parent: Option<u32> = report.nodes[id].parent.map(|at| at.0),
        /// Service name.
        service: &'a str = report.name(report.nodes[id].endpoint).0,
        /// Operation name.
        operation: &'a str = report.name(report.nodes[id].endpoint).1,
        /// The frame on side A.
        a: Frame<'a> = Frame::of(report, &report.nodes[id].a, &report.a),
        /// The frame on side B.
        b: Frame<'a> = Frame::of(report, &report.nodes[id].b, &report.b),
        #[serde(flatten)]
        difference: Difference = Difference::of(change, report.nodes[id].presence()),
    }
}

public_json! {
    /// A frame on one side.
    Frame<'a>(report: &'a CompareReport, sums: &FrameSums, side: &CompareSide) {
        /// Requests that have it.
        requests: u64 = sums.requests,
        /// Its self time on the critical path.
        exclusive_us: FrameTime = FrameTime::of(&sums.exclusive, side),
        /// Time on the critical path of it and all below it.
        subtree_us: FrameTime = FrameTime::of(&sums.subtree, side),
        /// The request with the greatest subtree time.
        example: Option<Example<'a>> = sums
            .example
            .and_then(|at| report.examples.get(at as usize))
            .map(|request| Example::of(request, sums.example_us)),
    }
}

public_json! {
    /// Time of a frame on one side.
    FrameTime(times: &Sample, side: &CompareSide) {
        /// Over all requests of the side.
        sum: u128 = times.sum(),
        /// Per request of the side; requests without the frame count as 0.
        mean: f64 = times.among(&side.facts.weights()).mean,
        /// Share of the side's total latency.
        share: f64 = match side.facts.latency_sum_us {
            0 => 0.0,
            total => times.sum() as f64 / total as f64,
        },
    }
}

public_json! {
    /// An example of a frame.
    Example<'a>(request: &'a RequestRef, subtree_us: u64) {
        #[serde(flatten)]
        request: &'a RequestRef = request,
        /// Time of the frame and all below it in this request.
        subtree_us: u64 = subtree_us,
    }
}

public_json! {
    /// The change from side A to side B.
    Difference(change: &Change, presence: Presence) {
        /// B minus A, in the unit of `by`.
        change: f64 = change.change,
        /// Welch's 95 % interval of the change as `[low, high]`; `null` where there is nothing to test: fewer than two requests
        /// on a side, or no variance. With `by` = `share` the times of each request are divided by the side's mean latency.
        interval: Option<[f64; 2]> = change.interval.map(ends),
        /// Whether the change is no clearer than chance among all frames: false discoveries are kept at 5 % (Benjamini and
        /// Hochberg).
        noise: bool = change.is_noise,
        /// Whether the frame stands on side B only.
        new: bool = presence == Presence::New,
        /// Whether the frame stands on side A only.
        gone: bool = presence == Presence::Gone,
    }
}

public_json! {
    /// One row of the table of changes.
    RankedRow<'a>(report: &'a CompareReport, place: usize, row: &RankedChange) {
        /// Place in the table, from 1.
        rank: usize = place + 1,
        /// Number of the frame in `nodes`.
        node: u32 = row.node.0,
        /// Service name.
        service: &'a str = report.name(report.nodes[row.node.index()].endpoint).0,
        /// Operation name.
        operation: &'a str = report.name(report.nodes[row.node.index()].endpoint).1,
        /// The time of the frame that this row is about: `subtree` or `exclusive`.
        measure: &'static str = row.measure.name(),
        /// Side A, in the unit of `by`.
        a: f64 = row.change.a,
        /// Side B.
        b: f64 = row.change.b,
        #[serde(flatten)]
        difference: Difference = Difference::of(&row.change, report.nodes[row.node.index()].presence()),
    }
}

/// Returns the JSON of `compare`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn compare(report: &CompareReport, basis: Basis, measure: MeasuredTime) -> Text {
    pretty(&Comparison::of(report, basis, measure))
}
