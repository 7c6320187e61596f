//! All traces in one order, with what every layer needs of a span.

use super::aggregate::AggregateTrace;
use super::collect::{TraceTimes, TracesPart};
use super::diagnose::{self, DiagnosedEndpoint};
use super::layers::{self, Layer};
use super::merge::Merging;
use super::places::{PlacesReport, tail_places};
use crate::arrange::Arrange;
use crate::steps::{Pace, all_at_once};
use crate::trace::NO_ROW;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the user may choose.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Settings {
    /// Request types are the values of this tag instead of the root's endpoints.
    pub tag: Option<String>,
    /// Where the tail begins, in thousandths: 900 leaves the slowest tenth.
    pub tail_permille: u32,
    /// Endpoints, request types, span parts and groups in the report.
    pub top: [u32; 4],
    /// At most so many groups of layers 3 and 4 are listed, those with the most time first.
    pub groups: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { tag: None, tail_permille: 900, top: [10, 2, 2, 2], groups: 20 }
    }
}

/// The answer: layers, nested report, aggregate traces and what makes the tail slow.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TprofReport {
    /// Traces analysed.
    pub traces: u64,
    /// Requests kept out because their trace has an orphan root.
    pub has_orphans: u64,
    /// Layers 1 to 4.
    pub layers: Vec<Layer>,
    /// How many endpoints there are.
    pub endpoints_in_all: u64,
    /// The diagnosis, worst endpoint first.
    pub report: Vec<DiagnosedEndpoint>,
    /// What makes the tail slow, by request type.
    pub tail: PlacesReport,
    /// Aggregate traces the report points at.
    pub aggregate_traces: Vec<AggregateTrace>,
}

/// A shape with its links.
pub(super) struct Shape {
    pub endpoint: Vec<u32>,
    pub parent: Vec<u32>,
    pub children: Vec<Vec<u32>>,
    /// Where the subspans of a position begin; a position has one more than children.
    pub parts_at: Vec<u32>,
    /// `operation#2`, or the operation alone where an endpoint has one position.
    pub names: Vec<String>,
}

/// One trace with derived times.
pub(super) struct Trace {
    pub times: TraceTimes,
    pub self_us: Vec<u64>,
    /// child_diff[] and end_diff of every position, one after the other.
    pub diffs_us: Vec<u64>,
    pub subspans_us: Vec<u64>,
    /// Number of its order of events, see [`Traces::orders`].
    pub order: u32,
}

/// An event of a span: time, rank, child index, child position; the span's end has none.
type Event = (u64, u8, u32, u32);

/// All traces by (root duration, trace id), with shapes and names in an order of names.
pub struct Traces {
    pub(super) endpoints: Vec<(String, String)>,
    pub(super) shapes: Vec<Shape>,
    pub(super) types: Vec<(String, String)>,
    pub(super) traces: Vec<Trace>,
    /// Orders in which children begin and end, see [`Trace::order_of`].
    pub(super) orders: Vec<Vec<u32>>,
    pub(super) orphans: u64,
}

impl Shape {
    pub fn new(positions: Vec<(u32, u32)>, endpoints: &[(String, String)]) -> Shape {
        let endpoint: Vec<u32> = positions.iter().map(|p| p.0).collect();
        let parent: Vec<u32> = positions.iter().map(|p| p.1).collect();
        let mut children = vec![Vec::new(); parent.len()];
        for (position, &above) in parent.iter().enumerate() {
            if above != NO_ROW {
                children[above as usize].push(position as u32);
            }
        }
        let mut parts_at = Vec::with_capacity(parent.len() + 1);
        let mut at = 0;
        for below in &children {
            parts_at.push(at);
            at += below.len() as u32 + 1;
        }
        parts_at.push(at);
        let mut count: FxHashMap<u32, u32> = FxHashMap::default();
        endpoint.iter().for_each(|&e| *count.entry(e).or_default() += 1);
        let mut seen: FxHashMap<u32, u32> = FxHashMap::default();
        let names = endpoint.iter().map(|&e| {
            let number = seen.entry(e).or_default();
            *number += 1;
            let operation = &endpoints[e as usize].1;
            if count[&e] > 1 { format!("{operation}#{number}") } else { operation.clone() }
        });
        let names = names.collect();
        Shape { endpoint, parent, children, parts_at, names }
    }

    pub fn len(&self) -> usize {
        self.endpoint.len()
    }

    pub fn parts(&self, position: u32) -> usize {
        self.children[position as usize].len() + 1
    }
}

/// The events of a position in order (section 2).
pub(super) fn events(shape: &Shape, times: &TraceTimes, position: u32, out: &mut Vec<Event>) {
    out.clear();
    let below = &shape.children[position as usize];
    let mut ranked: Vec<(u64, u64, u32)> =
        below.iter().map(|&c| (times.start_us[c as usize], times.end_us[c as usize], c)).collect();
    ranked.arrange();
    for (index, &(start, end, child)) in ranked.iter().enumerate() {
        out.push((start, 2, index as u32, child));
        out.push((end, if start == end { 3 } else { 1 }, index as u32, child));
    }
    out.push((times.end_us[position as usize], 9, 0, NO_ROW));
    out.arrange();
}

/// Adds the order in which children begin and end, from the events of a position: `2 * child + is_end`. One child has one
/// order only.
fn put_order(shape: &Shape, position: u32, events: &[Event], out: &mut Vec<u32>) {
    if shape.children[position as usize].len() > 1 {
        let own = events.iter().filter(|e| e.1 != 9);
        out.extend(own.map(|e| e.3 * 2 + u32::from(e.1 != 2)));
    }
}

impl Trace {
    /// The trace, and its order of events as [`order_of`](Self::order_of) all positions; `order` is not set.
    pub fn new(times: TraceTimes, shape: &Shape) -> (Trace, Vec<u32>) {
        let n = shape.len();
        let parts = shape.parts_at[n] as usize;
        let mut trace = Trace {
            times,
            self_us: Vec::with_capacity(n),
            diffs_us: Vec::with_capacity(parts),
            subspans_us: Vec::with_capacity(parts),
            order: 0,
        };
        let (mut list, mut order) = (Vec::new(), Vec::new());
        for position in 0..n as u32 {
            let times = &trace.times;
            events(shape, times, position, &mut list);
            put_order(shape, position, &list, &mut order);
            let begin = times.start_us[position as usize];
            let (mut before, mut child_start, mut last_end) = (begin, begin, begin);
            let mut covered = 0;
            let duration = times.end_us[position as usize] - begin;
            for &(time, rank, _, child) in &list {
                match rank {
                    2 => {
                        trace.subspans_us.push(time - before);
                        trace.diffs_us.push(time - child_start);
                        child_start = time;
                        let end = times.end_us[child as usize];
                        covered += end.saturating_sub(last_end.max(time));
                        last_end = last_end.max(end);
                    }
                    9 => {
                        trace.subspans_us.push(time - before);
                        trace.diffs_us.push(time - last_end);
                    }
                    _ => {}
                }
                before = time;
            }
            trace.self_us.push(duration - covered);
        }
        (trace, order)
    }

    /// The order in which the children of a position begin and end.
    pub fn order_of(&self, shape: &Shape, position: u32) -> Vec<u32> {
        let (mut list, mut order) = (Vec::new(), Vec::new());
        events(shape, &self.times, position, &mut list);
        put_order(shape, position, &list, &mut order);
        order
    }

    pub fn duration_us(&self, position: u32) -> u64 {
        self.times.end_us[position as usize] - self.times.start_us[position as usize]
    }
}

impl Traces {
    /// Joins parts of disjoint traces, in any order.
    pub fn merge(parts: Vec<TracesPart>) -> Traces {
        all_at_once(async {
            let (mut merging, mut pace) = (Merging::default(), Pace::default());
            for part in parts {
                merging.add(part, &mut pace).await;
            }
            merging.finish(&mut pace).await
        })
    }

    /// Layers, report, aggregate traces and the list of what makes the tail slow.
    pub fn finish(&self, settings: &Settings) -> TprofReport {
        all_at_once(async { self.report(settings, &mut Pace::default()).await })
    }

    /// The same as [`finish`](Self::finish), in steps.
    pub async fn report(&self, settings: &Settings, pace: &mut Pace) -> TprofReport {
        let (endpoints_in_all, report, aggregate_traces) = diagnose::diagnose(self, settings, pace).await;
        TprofReport {
            traces: self.traces.len() as u64,
            has_orphans: self.orphans,
            layers: layers::layers(self, settings, pace).await,
            endpoints_in_all,
            report,
            tail: tail_places(self, settings, pace).await,
            aggregate_traces,
        }
    }

    pub(super) fn all(&self) -> Vec<u32> {
        (0..self.traces.len() as u32).collect()
    }

    pub(super) fn shape_of(&self, trace: u32) -> &Shape {
        &self.shapes[self.traces[trace as usize].times.shape as usize]
    }

    /// Groups by a key, in the order of the keys; traces keep their order.
    pub(super) fn grouped<K: Ord + std::hash::Hash>(
        &self,
        traces: &[u32],
        key: impl Fn(&Trace) -> K,
    ) -> Vec<(K, Vec<u32>)> {
        let mut groups: FxHashMap<K, Vec<u32>> = FxHashMap::default();
        for &t in traces {
            groups.entry(key(&self.traces[t as usize])).or_default().push(t);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.arrange_by(|a, b| a.0.cmp(&b.0));
        groups
    }

    /// Request types.
    pub(super) fn by_type(&self, traces: &[u32]) -> Vec<(u32, Vec<u32>)> {
        self.grouped(traces, |t| t.times.request_type)
    }

    /// Layer 3.
    pub(super) fn by_shape(&self, traces: &[u32]) -> Vec<(u32, Vec<u32>)> {
        self.grouped(traces, |t| t.times.shape)
    }

    /// Layer 4 of traces of one shape.
    pub(super) fn by_order(&self, traces: &[u32]) -> Vec<Vec<u32>> {
        let mut groups = self.grouped(traces, |t| t.order);
        groups.arrange_by(|a, b| self.orders[a.0 as usize].cmp(&self.orders[b.0 as usize]));
        groups.into_iter().map(|g| g.1).collect()
    }

    /// The local form of layer 4: by the order of the children of one position.
    pub(super) async fn by_local_order(
        &self,
        traces: &[u32],
        position: u32,
        pace: &mut Pace,
    ) -> Vec<Vec<u32>> {
        let mut groups: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
        for &t in traces {
            let shape = self.shape_of(t);
            let order = self.traces[t as usize].order_of(shape, position);
            groups.entry(order).or_default().push(t);
            pace.spend(4 * shape.parts(position)).await;
        }
        groups.into_values().collect()
    }

    /// The traces of every whole layer-4 group: each list has one shape and one order of events.
    pub fn layer_4(&self) -> Vec<Vec<u32>> {
        let mut out = Vec::new();
        for (_, group) in self.by_shape(&self.all()) {
            out.extend(self.by_order(&group));
        }
        out
    }
}

/// How many traces of a group are normal; `None` for a group too small to split.
pub(super) fn normal_of(n: usize, settings: &Settings) -> Option<usize> {
    (n >= 10).then(|| (n as u64 * u64::from(settings.tail_permille.min(1000)) / 1000) as usize)
}
