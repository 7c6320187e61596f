//! Places that make the tail slow, or that changed between two sets: places by difference of mean time per trace.

use super::block::{Neighbours, pick};
use super::traces::normal_of;
use super::{DiagnosisSettings, Merging, Traces, TracesPart};
use crate::verdict::ServicesReport;
use pathlight_base::sort::{CompactSort as _, sort_in_steps};
use pathlight_base::statistics::{Interval, MeanError, Moments, welch};
use pathlight_base::steps::{Pace, all_at_once};
use pathlight_trace::{Endpoint, NO_ROW};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// At most so many places are listed for a request type.
const LISTED: usize = 50;

/// Changes of places by request type, types with the greatest change first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlacesReport {
    /// All request types together, each weighted by its tail traces (or those of set B); `null` where there is one type.
    pub all: Option<TypePlaces>,
    /// Request types that can be split, or that both sets have; what grew most first.
    pub types: Vec<TypePlaces>,
    /// Request types that are not compared, by name: of a tail those with fewer than 10 traces, of two sets those that one
    /// of them lacks.
    pub left_out: Vec<TypeLeftOut>,
}

/// A request type that is not compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TypeLeftOut {
    /// Service of the root.
    pub service: String,
    /// Operation of the root, or `key=value`.
    pub operation: String,
    /// Its traces; of two sets those of set A.
    pub a_traces: u64,
    /// Traces of set B.
    pub b_traces: u64,
}

/// The places of one request type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TypePlaces {
    /// Service of the root.
    pub service: String,
    /// Operation of the root, or `key=value`; empty for all together.
    pub operation: String,
    /// Normal traces, or those of set A.
    pub a_traces: u64,
    /// Tail traces, or those of set B.
    pub b_traces: u64,
    /// Number of places, of which `places` lists at most 50.
    pub places_in_all: u64,
    /// Places where time is spent, what grew most first.
    pub places: Vec<PlaceChange>,
}

/// Change of the time of one place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PlaceChange {
    /// Service of the span; for a gap that of the calling side.
    pub service: String,
    /// Operation of the span; for a gap that of the called side.
    pub operation: String,
    /// Number of the subspan, as it is in most spans; `null` for the gap between a client span and its server span, and of a
    /// summary.
    pub subspan: Option<u32>,
    /// The child that begins or ends last before the subspan; `null` where it begins with the span, and for a gap.
    pub previous: Option<Endpoint>,
    /// The child that begins after the subspan; `null` where it ends with the span, and for a gap.
    pub next: Option<Endpoint>,
    /// The called service of a gap; else `null`.
    pub gap_to: Option<String>,
    /// Mean time per normal trace (of set A); a trace without the place counts as 0.
    pub a_us: f64,
    /// Mean time per tail trace (of set B).
    pub b_us: f64,
    /// B minus A.
    pub change_us: f64,
    /// Welch's 95 % interval of the change; `null` where there is nothing to test, and of a summary. Of a tail against normal
    /// traces it describes these traces and is no test.
    pub interval: Option<Interval>,
}

/// An endpoint and where in its spans.
type Key = (u32, Part);

/// Part of a span, by the numbers of endpoints: a subspan by what stands before and after it, or the gap around the
/// only child, by an endpoint of the calling service.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Subspan(Neighbours),
    Gap(u32),
}

/// Times of a place by trace, and how many spans have it as the subspan of which number.
#[derive(Clone, Default)]
struct Sum {
    moments: Moments,
    numbers: BTreeMap<u32, u64>,
}

type Sums = BTreeMap<Key, Sum>;

/// Source of the times of a place.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    key: Key,
    column: usize,
    /// Number of the subspan.
    number: u32,
    /// The list of the traces that count, as places in their group; [`NO_ROW`] for all of them.
    list: u32,
}

/// Returns the places that the traces of a shape pass through, by key, and lists of traces.
async fn sources(
    traces: &Traces,
    group: &[u32],
    rows: &[u32],
    caller_of: &BTreeMap<String, u32>,
    pace: &mut Pace,
) -> (Vec<Source>, Vec<Vec<u32>>) {
    let Some(&first) = group.first() else { return Default::default() };
    let block = traces.block_of(first);
    let shape = &block.shape;
    let service = |position: u32| &traces.endpoints[shape.endpoint[position as usize] as usize].service;
    let (mut out, mut lists) = (Vec::with_capacity(2 * shape.len()), Vec::new());
    for position in 0..shape.len() as u32 {
        let (at, endpoint) = (shape.parts_at(position), shape.endpoint[position as usize]);
        let mut ways = Vec::new();
        if let [child] = *shape.children(position)
            && service(child) != service(position)
        {
            let calls = |at: &u32| traces.traces[group[*at as usize] as usize].calls(position);
            let (callers, others): (Vec<u32>, Vec<u32>) = (0..group.len() as u32).partition(calls);
            if !callers.is_empty() {
                let caller = caller_of.get(service(position)).copied().unwrap_or(NO_ROW);
                let key = (shape.endpoint[child as usize], Part::Gap(caller));
                let list = put_list(&mut lists, callers, group.len());
                // The gap is what both subspans of the client have together.
                out.extend([0, 1].map(|number| Source { key, column: at + number as usize, number, list }));
                if others.is_empty() {
                    continue;
                }
                ways.push(others);
            }
        }
        if ways.is_empty() {
            ways = block.by_way(position, rows);
            pace.spend(rows.len()).await;
        }
        for way in ways {
            let Some(&first) = way.first() else { continue };
            let neighbours = block.neighbours(position, rows[first as usize], pace).await;
            pace.spend(2 * neighbours.len()).await;
            let list = put_list(&mut lists, way, group.len());
            out.extend(neighbours.into_iter().zip(0..).map(|(part, number)| {
                let key = (endpoint, Part::Subspan(part));
                Source { key, column: at + number as usize, number, list }
            }));
        }
    }
    sort_in_steps(&mut out, 1, Source::cmp, pace).await;
    (out, lists)
}

/// Returns the number of a list of traces, of which there are so many in all.
fn put_list(lists: &mut Vec<Vec<u32>>, list: Vec<u32>, in_all: usize) -> u32 {
    if list.len() == in_all {
        return NO_ROW;
    }
    lists.push(list);
    lists.len() as u32 - 1
}

async fn sums(traces: &Traces, group: &[u32], callers: &BTreeMap<String, u32>, pace: &mut Pace) -> Sums {
    let (mut out, mut times) = (Sums::new(), Vec::new());
    for (number, group) in traces.by_shape(group) {
        let (block, rows) = (&traces.blocks[number as usize], traces.rows(&group));
        let (sources, lists) = sources(traces, &group, &rows, callers, pace).await;
        for place in sources.chunk_by(|a, b| a.key == b.key) {
            times.clear();
            times.resize(rows.len(), 0);
            let sum = out.entry(place[0].key).or_default();
            for &Source { column, number, list, .. } in place {
                let us = block.subspans_us.of(column);
                let n = match lists.get(list as usize) {
                    None => {
                        times
                            .iter_mut()
                            .zip(pick(us, &rows))
                            .for_each(|(time, us)| *time = u64::saturating_add(*time, us));
                        rows.len()
                    }
                    Some(list) => {
                        for &at in list {
                            let time = &mut times[at as usize];
                            *time = u64::saturating_add(*time, us[rows[at as usize] as usize]);
                        }
                        list.len()
                    }
                };
                *sum.numbers.entry(number).or_default() += n as u64;
                pace.spend(n).await;
            }
            times.iter().for_each(|&us| sum.moments.add(us));
            pace.spend(rows.len()).await;
        }
    }
    out
}

/// Returns, by service, the first of its endpoints.
fn callers(traces: &Traces) -> BTreeMap<String, u32> {
    let mut out = BTreeMap::new();
    for (number, Endpoint { service, .. }) in traces.endpoints.iter().enumerate() {
        out.entry(service.clone()).or_insert(number as u32);
    }
    out
}

fn changes(traces: &Traces, a: (&Sums, u64), b: (&Sums, u64)) -> Vec<PlaceChange> {
    let keys: BTreeSet<Key> = a.0.keys().chain(b.0.keys()).copied().collect();
    let side = |(sums, n): (&Sums, u64), key| {
        MeanError::new(sums.get(key).map(|sum| sum.moments).unwrap_or_default(), n, 1.0)
    };
    // The number that most spans of both sides give a subspan; of equally many the lowest.
    let number = |key| {
        let mut numbers = BTreeMap::<u32, u64>::new();
        for (&number, &n) in
            [a, b].into_iter().filter_map(|side| side.0.get(key)).flat_map(|sum| &sum.numbers)
        {
            *numbers.entry(number).or_default() += n;
        }
        numbers.into_iter().max_by_key(|&(number, n)| (n, Reverse(number))).map(|(number, _)| number)
    };
    let mut out: Vec<PlaceChange> = keys
        .iter()
        .map(|key| {
            let Endpoint { service: own, operation } = traces.endpoints[key.0 as usize].clone();
            let named = |endpoint: u32| traces.endpoints.get(endpoint as usize).cloned();
            let (subspan, previous, next, caller) = match key.1 {
                Part::Subspan((previous, next)) => (number(key), named(previous), named(next), None),
                Part::Gap(caller) => (None, None, None, named(caller).map(|caller| caller.service)),
            };
            let (a, b) = (side(a, key), side(b, key));
            PlaceChange {
                service: caller.unwrap_or_else(|| own.clone()),
                operation,
                subspan,
                previous,
                next,
                gap_to: matches!(key.1, Part::Gap(_)).then_some(own),
                a_us: a.mean,
                b_us: b.mean,
                change_us: b.mean - a.mean,
                interval: welch(a, b),
            }
        })
        .collect();
    // Stable: equal changes stay by name.
    out.compact_sort_by(|x, y| y.change_us.total_cmp(&x.change_us));
    out
}

/// Means and change of a place over all request types, and the variance of the change as its interval has it.
type Together = (PlaceChange, f64);

/// Returns all request types as one: the mean over the traces of side B, each compared with side A of its own type. So
/// what is slow in many types outweighs what is slower in one, and a type that is slow as a whole is no tail.
fn together(types: &[TypePlaces]) -> Option<TypePlaces> {
    let a_traces = types.iter().map(|kind| kind.a_traces).sum();
    let b_traces: u64 = types.iter().map(|kind| kind.b_traces).sum();
    if types.len() < 2 || b_traces == 0 {
        return None;
    }
    let mut sums: BTreeMap<_, Together> = BTreeMap::new();
    for kind in types {
        let weight = kind.b_traces as f64 / b_traces as f64;
        for place in &kind.places {
            let key = (&place.service, &place.operation, &place.previous, &place.next, &place.gap_to);
            let none = PlaceChange { a_us: 0.0, b_us: 0.0, change_us: 0.0, interval: None, ..place.clone() };
            let (sum, variance) = sums.entry(key).or_insert((none, 0.0));
            sum.a_us += weight * place.a_us;
            sum.b_us += weight * place.b_us;
            sum.change_us += weight * place.change_us;
            // Half the width of an interval adds as a deviation does; what one trace says nothing of is unknown in all.
            let is_unknown = kind.a_traces < 2 || kind.b_traces < 2;
            let same = if is_unknown { f64::NAN } else { 0.0 };
            let half = place.interval.map_or(same, |interval| (interval.high - interval.low) / 2.0);
            *variance += (weight * half).powi(2);
        }
    }
    let with_interval = |(sum, variance): Together| {
        let half = variance.sqrt();
        let (low, high) = (sum.change_us - half, sum.change_us + half);
        PlaceChange { interval: (half > 0.0).then_some(Interval { low, high }), ..sum }
    };
    let mut places: Vec<PlaceChange> = sums.into_values().map(with_interval).collect();
    places.compact_sort_by(|x, y| y.change_us.total_cmp(&x.change_us));
    let (service, operation) = (String::new(), String::new());
    let places_in_all = places.len() as u64;
    Some(TypePlaces { service, operation, a_traces, b_traces, places_in_all, places })
}

fn sorted(mut types: Vec<TypePlaces>, mut left_out: Vec<TypeLeftOut>) -> PlacesReport {
    left_out.compact_sort_by(|x, y| (&x.service, &x.operation).cmp(&(&y.service, &y.operation)));
    let mut all = together(&types);
    let weight = |t: &TypePlaces| t.places.first().map_or(0.0, |p| p.change_us * t.b_traces as f64);
    types.compact_sort_by(|x, y| weight(y).total_cmp(&weight(x)));
    all.iter_mut().chain(&mut types).for_each(|kind| kind.places.truncate(LISTED));
    PlacesReport { all, types, left_out }
}

impl PlacesReport {
    /// Creates the report of request types with all their places, what grew most first, and of those that are not
    /// compared.
    pub fn new(types: Vec<TypePlaces>, left_out: Vec<TypeLeftOut>) -> PlacesReport {
        sorted(types, left_out)
    }

    /// Returns every list: all request types together, then each of them.
    pub fn lists(&self) -> impl Iterator<Item = &TypePlaces> {
        self.all.iter().chain(&self.types)
    }
}

/// Compares side B with side A of the traces of a request type, given as (type, A, B).
async fn of_type(
    traces: &Traces,
    (kind, a, b): (u32, &[u32], &[u32]),
    callers: &BTreeMap<String, u32>,
    pace: &mut Pace,
) -> TypePlaces {
    let (a_traces, b_traces) = (a.len() as u64, b.len() as u64);
    let a = sums(traces, a, callers, pace).await;
    let b = sums(traces, b, callers, pace).await;
    let Endpoint { service, operation } = traces.types[kind as usize].clone();
    let places = changes(traces, (&a, a_traces), (&b, b_traces));
    let places_in_all = places.len() as u64;
    TypePlaces { service, operation, a_traces, b_traces, places_in_all, places }
}

/// Returns a request type with so many traces of each side that is not compared.
fn left_out(traces: &Traces, kind: u32, a_traces: usize, b_traces: usize) -> TypeLeftOut {
    let Endpoint { service, operation } = traces.types[kind as usize].clone();
    TypeLeftOut { service, operation, a_traces: a_traces as u64, b_traces: b_traces as u64 }
}

/// Compares the tail with the normal requests within each request type that can be split.
pub(super) async fn tail_places(
    traces: &Traces,
    settings: &DiagnosisSettings,
    pace: &mut Pace,
) -> PlacesReport {
    let callers = callers(traces);
    let (mut types, mut small) = (Vec::new(), Vec::new());
    for (kind, group) in traces.by_type(&traces.all()) {
        let Some(k) = normal_of(group.len(), settings) else {
            small.push(left_out(traces, kind, group.len(), 0));
            continue;
        };
        let (normal, tail) = group.split_at(k);
        types.push(of_type(traces, (kind, normal, tail), &callers, pace).await);
    }
    sorted(types, small)
}

impl Traces {
    /// Compares set B with set A within each request type that both have; `is_b` says of the number of a trace which
    /// set it is of.
    async fn compare_where(&self, is_b: &[bool], pace: &mut Pace) -> PlacesReport {
        let callers = callers(self);
        let (mut types, mut of_one) = (Vec::new(), Vec::new());
        for (kind, group) in self.by_type(&self.all()) {
            let (b, a): (Vec<u32>, Vec<u32>) = group.iter().partition(|&&t| is_b[t as usize]);
            if a.is_empty() || b.is_empty() {
                of_one.push(left_out(self, kind, a.len(), b.len()));
            } else {
                types.push(of_type(self, (kind, &a, &b), &callers, pace).await);
            }
        }
        sorted(types, of_one)
    }

    /// Compares two sets of parts: B minus A by place within each request type that both have.
    pub fn compare(a: Vec<TracesPart>, b: Vec<TracesPart>) -> PlacesReport {
        all_at_once(async {
            let (mut comparing, mut pace) = (Comparing::default(), Pace::default());
            for (parts, is_b) in [(a, false), (b, true)] {
                for part in parts {
                    comparing.add(part, is_b, &mut pace).await;
                }
            }
            comparing.finish(&mut pace).await
        })
    }
}

/// Two sets of which more parts come.
#[derive(Default)]
pub struct Comparing(Merging);

impl Comparing {
    /// Adds a part of set A or B; the parts of a worker come one after the other, as to [`Merging::add`].
    pub async fn add(&mut self, part: TracesPart, is_b: bool, pace: &mut Pace) {
        // The set is marked by a first letter on the trace id, which no report of this kind names.
        self.0.add(part.marked(if is_b { "b" } else { "a" }), pace).await;
    }

    /// Compares B with A by place within each request type that both have.
    pub async fn finish(self, pace: &mut Pace) -> PlacesReport {
        let traces = self.0.finish(pace).await;
        let is_b: Vec<bool> = traces.traces.iter().map(|t| t.id.starts_with('b')).collect();
        traces.compare_where(&is_b, pace).await
    }
}

/// Two sets: services and places by what changed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SetsReport {
    /// The service that explains that B is slower.
    pub culprit: ServicesReport,
    /// Places by request type.
    pub places: PlacesReport,
}
