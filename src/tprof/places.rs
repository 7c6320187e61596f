//! What makes the tail slow, and what changed between two sets: places by difference of mean time per trace.

use super::traces::{Settings, Traces, normal_of};
use crate::arrange::Arrange;
use crate::stats::{Interval, Moments, Side, welch};
use crate::trace::NO_ROW;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// At most so many places are listed for a request type.
const LISTED: usize = 50;

/// Changes of places by request type, types with the greatest change first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlacesReport {
    /// Request types that can be split, or that both sets have.
    pub types: Vec<TypePlaces>,
}

/// The places of one request type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TypePlaces {
    /// Service of the root, empty for a tag.
    pub service: String,
    /// Operation of the root, or `key=value`.
    pub operation: String,
    /// Normal traces, or those of set A.
    pub a_traces: u64,
    /// Tail traces, or those of set B.
    pub b_traces: u64,
    /// What grew most first.
    pub places: Vec<PlaceChange>,
}

/// How the time of one place differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PlaceChange {
    /// Service of the span; for a gap that of the calling side.
    pub service: String,
    /// Operation of the span; for a gap that of the called side.
    pub operation: String,
    /// Subspan number; `None` for the gap between a client span and its server span.
    pub subspan: Option<u32>,
    /// The called service of a gap.
    pub gap_to: Option<String>,
    /// Mean time per normal trace (set A), absent = 0.
    pub a_us: f64,
    /// Mean time per tail trace (set B).
    pub b_us: f64,
    /// B minus A.
    pub change_us: f64,
    /// Welch's 95 % interval of the change, where there is one.
    pub interval: Option<Interval>,
}

/// (endpoint, subspan or MAX for a gap, endpoint number that names the calling service or MAX).
type Key = (u32, u32, u32);
type Sums = BTreeMap<Key, Moments>;

/// The time of every place in one trace.
fn times(traces: &Traces, trace: u32, caller_of: &BTreeMap<String, u32>, out: &mut BTreeMap<Key, u64>) {
    out.clear();
    let (shape, trace) = (traces.shape_of(trace), &traces.traces[trace as usize]);
    let service = |position: u32| &traces.endpoints[shape.endpoint[position as usize] as usize].0;
    for position in 0..shape.len() as u32 {
        let endpoint = shape.endpoint[position as usize];
        if let [child] = shape.children[position as usize][..]
            && service(child) != service(position)
            && trace.times.callers.binary_search(&position).is_ok()
        {
            let caller = caller_of.get(service(position)).copied().unwrap_or(NO_ROW);
            let gap = trace.duration_us(position) - trace.duration_us(child);
            *out.entry((shape.endpoint[child as usize], u32::MAX, caller)).or_default() += gap;
            continue;
        }
        let at = shape.parts_at[position as usize] as usize;
        for index in 0..shape.parts(position) {
            *out.entry((endpoint, index as u32, NO_ROW)).or_default() += trace.subspans_us[at + index];
        }
    }
}

fn sums(traces: &Traces, group: &[u32], callers: &BTreeMap<String, u32>) -> Sums {
    let (mut out, mut own) = (Sums::new(), BTreeMap::new());
    for &trace in group {
        times(traces, trace, callers, &mut own);
        for (&key, &us) in &own {
            out.entry(key).or_default().add(us);
        }
    }
    out
}

/// By service, the first of its endpoints.
fn callers(traces: &Traces) -> BTreeMap<String, u32> {
    let mut out = BTreeMap::new();
    for (number, (service, _)) in traces.endpoints.iter().enumerate() {
        out.entry(service.clone()).or_insert(number as u32);
    }
    out
}

fn changes(traces: &Traces, a: (&Sums, u64), b: (&Sums, u64)) -> Vec<PlaceChange> {
    let keys: BTreeSet<Key> = a.0.keys().chain(b.0.keys()).copied().collect();
    let side = |(sums, n): (&Sums, u64), key| Side::new(sums.get(key).copied().unwrap_or_default(), n, 1.0);
    let mut out: Vec<PlaceChange> = keys
        .iter()
        .map(|key| {
            let (a, b) = (side(a, key), side(b, key));
            let (own, operation) = traces.endpoints[key.0 as usize].clone();
            let is_gap = key.1 == u32::MAX;
            let caller = traces.endpoints.get(key.2 as usize).map(|e| e.0.clone());
            PlaceChange {
                service: caller.unwrap_or_else(|| own.clone()),
                operation,
                subspan: (!is_gap).then_some(key.1),
                gap_to: is_gap.then_some(own),
                a_us: a.mean,
                b_us: b.mean,
                change_us: b.mean - a.mean,
                interval: welch(a, b),
            }
        })
        .collect();
    // Stable: equal changes stay by name.
    out.arrange_by(|x, y| y.change_us.total_cmp(&x.change_us));
    out.truncate(LISTED);
    out
}

fn sorted(mut types: Vec<TypePlaces>) -> PlacesReport {
    let weight = |t: &TypePlaces| t.places.first().map_or(0.0, |p| p.change_us * t.b_traces as f64);
    types.arrange_by(|x, y| weight(y).total_cmp(&weight(x)));
    PlacesReport { types }
}

/// Tail minus normal within each request type that can be split.
pub(super) fn tail_places(traces: &Traces, settings: &Settings) -> PlacesReport {
    let callers = callers(traces);
    let mut types = Vec::new();
    for (kind, group) in traces.by_type(&traces.all()) {
        let Some(k) = normal_of(group.len(), settings) else { continue };
        let (normal, tail) = group.split_at(k);
        let (a, b) = (sums(traces, normal, &callers), sums(traces, tail, &callers));
        let (service, operation) = traces.types[kind as usize].clone();
        let places = changes(traces, (&a, normal.len() as u64), (&b, tail.len() as u64));
        let (a_traces, b_traces) = (normal.len() as u64, tail.len() as u64);
        types.push(TypePlaces { service, operation, a_traces, b_traces, places });
    }
    sorted(types)
}

impl Traces {
    /// Set B minus set A within each request type that both have; `is_b` says of the number of a trace which set it is of.
    pub(super) fn compare_where(&self, is_b: &[bool]) -> PlacesReport {
        let callers = callers(self);
        let mut types = Vec::new();
        for (kind, group) in self.by_type(&self.all()) {
            let (b, a): (Vec<u32>, Vec<u32>) = group.iter().partition(|&&t| is_b[t as usize]);
            if a.is_empty() || b.is_empty() {
                continue;
            }
            let (service, operation) = self.types[kind as usize].clone();
            let (a_traces, b_traces) = (a.len() as u64, b.len() as u64);
            let (a, b) = (sums(self, &a, &callers), sums(self, &b, &callers));
            let places = changes(self, (&a, a_traces), (&b, b_traces));
            types.push(TypePlaces { service, operation, a_traces, b_traces, places });
        }
        sorted(types)
    }

    /// Compares two sets of parts: B minus A by place within each request type that both have.
    pub fn compare(a: Vec<super::TracesPart>, b: Vec<super::TracesPart>) -> PlacesReport {
        // The set is told by a first letter on the trace id, which no report of this kind names.
        let marked = |parts: Vec<super::TracesPart>, mark: &str| {
            parts.into_iter().map(move |p| p.marked(mark)).collect::<Vec<_>>()
        };
        let traces = Traces::merge([marked(a, "a"), marked(b, "b")].concat());
        let is_b: Vec<bool> = traces.traces.iter().map(|t| t.times.id.starts_with('b')).collect();
        traces.compare_where(&is_b)
    }
}
