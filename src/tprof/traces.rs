//! All traces in one order, with what every layer needs of a span.

use super::aggregate::AggregateTrace;
use super::collect::{TraceTimes, TracesPart};
use super::diagnose::{self, DiagnosedEndpoint};
use super::layers::{self, Layer};
use super::places::{PlacesReport, tail_places};
use crate::arrange::Arrange;
use crate::trace::NO_ROW;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

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
}

/// An event of a span: time, rank, child index, child position; the span's end has none.
type Event = (u64, u8, u32, u32);

/// All traces by (root duration, trace id), with shapes and names in an order of names.
pub struct Traces {
    pub(super) endpoints: Vec<(String, String)>,
    pub(super) shapes: Vec<Shape>,
    pub(super) types: Vec<(String, String)>,
    pub(super) traces: Vec<Trace>,
    pub(super) orphans: u64,
}

fn numbers<T: Ord + Clone>(mut all: Vec<T>) -> Vec<T> {
    all.arrange();
    all.dedup();
    all
}

fn find<T: Ord>(sorted: &[T], value: &T) -> u32 {
    sorted.binary_search(value).unwrap_or(0) as u32
}

impl Shape {
    fn new(positions: Vec<(u32, u32)>, endpoints: &[(String, String)]) -> Shape {
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

impl Trace {
    fn new(times: TraceTimes, shape: &Shape) -> Trace {
        let n = shape.len();
        let parts = shape.parts_at[n] as usize;
        let mut trace = Trace {
            times,
            self_us: Vec::with_capacity(n),
            diffs_us: Vec::with_capacity(parts),
            subspans_us: Vec::with_capacity(parts),
        };
        let mut list = Vec::new();
        for position in 0..n as u32 {
            let times = &trace.times;
            events(shape, times, position, &mut list);
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
        trace
    }

    pub fn duration_us(&self, position: u32) -> u64 {
        self.times.end_us[position as usize] - self.times.start_us[position as usize]
    }
}

impl Traces {
    /// Joins parts of disjoint traces, in any order.
    pub fn merge(parts: Vec<TracesPart>) -> Traces {
        let endpoints = numbers(parts.iter().flat_map(|p| p.endpoints.iter().cloned()).collect());
        let types = numbers(parts.iter().flat_map(|p| p.types.iter().cloned()).collect());
        let mut orphans = 0;
        let mut mapped = Vec::new();
        for part in parts {
            orphans += part.orphans;
            let endpoint: Vec<u32> = part.endpoints.iter().map(|e| find(&endpoints, e)).collect();
            let kind: Vec<u32> = part.types.iter().map(|t| find(&types, t)).collect();
            let rename = |&(e, p): &(u32, u32)| (endpoint.get(e as usize).copied().unwrap_or(0), p);
            let shapes: Vec<Vec<(u32, u32)>> =
                part.shapes.iter().map(|shape| shape.iter().map(rename).collect()).collect();
            mapped.push((shapes, kind, part.traces));
        }
        let positions = numbers(mapped.iter().flat_map(|m| m.0.iter().cloned()).collect());
        let shapes: Vec<Shape> = positions.iter().map(|p| Shape::new(p.clone(), &endpoints)).collect();
        let mut traces = Vec::new();
        for (own, kind, list) in mapped {
            let shape: Vec<u32> = own.iter().map(|s| find(&positions, s)).collect();
            for mut times in list {
                times.shape = shape.get(times.shape as usize).copied().unwrap_or(0);
                times.request_type = kind.get(times.request_type as usize).copied().unwrap_or(0);
                let form = &shapes[times.shape as usize];
                traces.push(Trace::new(times, form));
            }
        }
        traces.arrange_by(|a, b| {
            let key = |t: &Trace| t.duration_us(0);
            (key(a), &a.times.id, &a.times.root_span_id).cmp(&(key(b), &b.times.id, &b.times.root_span_id))
        });
        Traces { endpoints, shapes, types, traces, orphans }
    }

    /// Layers, report, aggregate traces and the list of what makes the tail slow.
    pub fn finish(&self, settings: &Settings) -> TprofReport {
        let mut aggregate_traces = Vec::new();
        let report = diagnose::diagnose(self, settings, &mut aggregate_traces);
        TprofReport {
            traces: self.traces.len() as u64,
            has_orphans: self.orphans,
            layers: layers::layers(self, settings),
            report,
            tail: tail_places(self, settings),
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

    /// The order in which the children of these positions begin and end: `2 * child + is_end`.
    pub(super) fn order_of(&self, trace: &Trace, position: Option<u32>) -> Vec<u32> {
        let shape = &self.shapes[trace.times.shape as usize];
        let (mut list, mut out) = (Vec::new(), Vec::new());
        let positions = match position {
            Some(p) => p..p + 1,
            None => 0..shape.len() as u32,
        };
        for position in positions.filter(|&p| shape.children[p as usize].len() > 1) {
            events(shape, &trace.times, position, &mut list);
            let own = list.iter().filter(|e| e.1 != 9);
            out.extend(own.map(|e| e.3 * 2 + u32::from(e.1 != 2)));
        }
        out
    }

    /// Layer 4 of traces of one shape, or with a position its local form.
    pub(super) fn by_order(&self, traces: &[u32], position: Option<u32>) -> Vec<(Vec<u32>, Vec<u32>)> {
        self.grouped(traces, |t| self.order_of(t, position))
    }

    /// The traces of every whole layer-4 group: each list has one shape and one order of events.
    pub fn layer_4(&self) -> Vec<Vec<u32>> {
        let mut out = Vec::new();
        for (_, group) in self.by_shape(&self.all()) {
            out.extend(self.by_order(&group, None).into_iter().map(|g| g.1));
        }
        out
    }
}

/// How many traces of a group are normal; `None` for a group too small to split.
pub(super) fn normal_of(n: usize, settings: &Settings) -> Option<usize> {
    (n >= 10).then(|| (n as u64 * u64::from(settings.tail_permille.min(1000)) / 1000) as usize)
}
