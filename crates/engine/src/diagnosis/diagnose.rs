//! The nested diagnosis (section 5): endpoint, request type, part of a span, group.

use super::aggregate::{aggregate_in_steps, exemplars, subspans_near};
use super::block::{Neighbours, sum};
use super::traces::normal_of;
use super::{AggregateTrace, DiagnosisSettings, GroupSubspan, ProblemSubspan, Traces};
use crate::requests::RequestRef;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::steps::Pace;
use pathlight_trace::{Endpoint, NO_ROW};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Tail over normal above which it is a tail issue.
const TAIL_RATIO: u128 = 4;
/// A layer-3 group shatters if its largest layer-4 group holds less than one in so many of its traces.
const SHATTERED: usize = 20;

/// Step 1: an endpoint, with its request types.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiagnosedEndpoint {
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Number of spans.
    pub count: u64,
    /// Mean own time of its spans: all their subspans, also those while a child runs (docs/definitions/tprof.md section 2). It is
    /// neither self time nor the `own_us` of a service in `compare` or `show`, which are about the critical path.
    pub own_us: f64,
    /// Mean times count: own time of all its spans.
    pub total_us: u128,
    /// Number of request types that have it, of which `types` lists the first.
    pub types_in_all: u64,
    /// Request types that have it, most time first.
    pub types: Vec<DiagnosedType>,
}

/// Verdict on a slowness, by the times in the tail and in normal traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum TailVerdict {
    /// Mean own time in the tail is more than 4 times that in normal traces.
    Tail,
    /// The same, with none in normal traces.
    New,
    /// As slow in normal traces as in the tail.
    Always,
    /// Too few traces to say.
    Unsplit,
}

impl TailVerdict {
    /// Compares spans and their own time in normal traces with those in the tail; also says how many times as long they
    /// take there.
    pub fn of(normal: Total, tail: Total) -> (TailVerdict, Option<f64>) {
        let ratio = (normal.sum > 0).then(|| tail.mean() / normal.mean());
        let verdict = if normal.sum == 0 && tail.sum > 0 {
            TailVerdict::New
        } else if tail.sum * u128::from(normal.count) > TAIL_RATIO * normal.sum * u128::from(tail.count) {
            // tail.sum / tail.count > 4 normal.sum / normal.count, without division.
            TailVerdict::Tail
        } else {
            TailVerdict::Always
        };
        (verdict, ratio)
    }

    /// Returns whether it is about the tail, so that only its traces are looked at further.
    pub fn is_of_tail(self) -> bool {
        matches!(self, TailVerdict::Tail | TailVerdict::New)
    }
}

/// Step 2: the endpoint in one request type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiagnosedType {
    /// Service of the root.
    pub service: String,
    /// Operation of the root, and which of its requests.
    pub operation: String,
    /// Traces of this type.
    pub traces: u64,
    /// Traces of this type that have the endpoint.
    pub affected: u64,
    /// Spans of the endpoint in them.
    pub count: u64,
    /// Mean own time of these spans.
    pub own_us: f64,
    /// Mean times count.
    pub total_us: u128,
    /// Mean own time in the tail over that in normal traces; `null` if there is none in normal traces, or no split.
    pub tail_ratio: Option<f64>,
    /// Verdict on its slowness.
    pub verdict: TailVerdict,
    /// Number of parts of spans, of which `spans` lists the first.
    pub spans_in_all: u64,
    /// Parts of spans that the time is in, most time first.
    pub spans: Vec<DiagnosedSpan>,
}

/// Step 3: a part of a span position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiagnosedSpan {
    /// Name of the position; over all shapes, the operation.
    pub name: String,
    /// `child_diff[i]`, `end_diff`, or `span` for a leaf; over all shapes `subspan`.
    pub metric: String,
    /// Whether it is the part of all spans of the endpoint, of whatever shape, as no shape has half of the time.
    pub is_over_shapes: bool,
    /// The child that begins or ends last before the part, in most of these traces; `null` where it begins with the span.
    pub previous: Option<Endpoint>,
    /// The child that begins after the part; `null` where it ends with the span.
    pub next: Option<Endpoint>,
    /// Number of the subspan it points at, in most of these traces; `null` of a summary, as the next.
    pub subspan: Option<u32>,
    /// Number of children of the span.
    pub children: Option<u32>,
    /// Number of values.
    pub count: u64,
    /// Mean of these values.
    pub mean_us: f64,
    /// Mean times count.
    pub total_us: u128,
    /// Number of groups of traces, of which `groups` lists the first.
    pub groups_in_all: u64,
    /// Groups of traces of the same structure.
    pub groups: Vec<DiagnosedGroup>,
}

/// Step 4: the group that shows it best.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DiagnosedGroup {
    /// Traces in it.
    pub traces: u64,
    /// Whether it is a local group: whole-trace groups shattered.
    pub is_local: bool,
    /// Mean of the subspan.
    pub subspan_us: f64,
    /// Mean of its span.
    pub span_us: f64,
    /// Mean x count x share of the span.
    pub score: f64,
    /// Number of its aggregate trace, which is built when it is asked for.
    pub aggregate_trace: u32,
    /// The trace whose starts and ends are nearest to the means (ties by id), then the slowest.
    pub exemplars: Vec<RequestRef>,
    /// The subspans of the span, at most 10 on each side of the one that the part points at.
    pub subspans: Vec<GroupSubspan>,
}

/// The aggregate traces to build: all of them, or that of one group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Aggregates {
    /// All of them.
    All,
    /// That of the group with this `aggregate_trace`.
    One(u32),
    /// The same to be drawn: without spans if it has more than 20,000, which a page would take seconds to take over.
    Drawn(u32),
}

/// Spans of an aggregate trace to be drawn.
const DRAWN: usize = 20_000;

/// Number of values, and their sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Total {
    /// Number of values.
    pub count: u64,
    /// Sum of the values in microseconds.
    pub sum: u128,
}

impl Total {
    /// Adds so many values by their sum.
    pub fn add(&mut self, count: u64, sum: u128) {
        self.count += count;
        self.sum += sum;
    }

    /// Returns the mean of the values; 0 without values.
    pub fn mean(self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }
}

/// The first by sum, greatest first, of rows that come in the order of their keys; equal ones stay by key. Few are kept, so
/// that a million need no sort.
pub struct Top<K> {
    most: usize,
    in_all: u64,
    rows: Vec<(K, Total)>,
}

impl<K> Top<K> {
    fn new(most: u32) -> Top<K> {
        Top { most: most as usize, in_all: 0, rows: Vec::new() }
    }

    fn put(&mut self, key: K, total: Total) {
        self.in_all += 1;
        if self.rows.len() < self.most || self.rows.last().is_some_and(|last| last.1.sum < total.sum) {
            let at = self.rows.partition_point(|row| row.1.sum >= total.sum);
            self.rows.insert(at, (key, total));
            self.rows.truncate(self.most);
        }
    }

    /// Returns how many rows there are, and the first of them by sum.
    pub fn of(rows: impl IntoIterator<Item = (K, Total)>, most: u32) -> (u64, Vec<(K, Total)>) {
        let mut top = Top::new(most);
        rows.into_iter().for_each(|(key, total)| top.put(key, total));
        (top.in_all, top.rows)
    }
}

/// The traces of a request type: all, and by shape.
struct OfType {
    traces: Vec<u32>,
    shapes: Vec<(u32, Vec<u32>)>,
}

/// Traces of one shape, a position and a subspan.
type PartOf<'a> = (Cow<'a, [u32]>, u32, u32);

/// Traces of one shape and order, by how much a subspan of theirs matters.
struct Ranked {
    score: f64,
    /// Sums over its traces.
    subspan_us: u128,
    span_us: u128,
    is_local: bool,
    problem: ProblemSubspan,
    traces: Vec<u32>,
}

/// Subspans of several shapes that stand between the same children, and their time.
#[derive(Default)]
struct JoinedParts<'a> {
    parts: Vec<PartOf<'a>>,
    total: Total,
}

/// Returns the positions of the shape of some traces.
fn positions_of(traces: &Traces, list: &[u32]) -> usize {
    list.first().map_or(0, |&first| traces.block_of(first).shape.len())
}

/// A report in the making.
struct Diagnosis<'a> {
    traces: &'a Traces,
    settings: &'a DiagnosisSettings,
    pace: &'a mut Pace,
    /// Groups so far.
    groups: u32,
    /// `None`: a report is made, which holds no aggregate trace; one of a large trace takes some hundred megabytes.
    wanted: Option<Aggregates>,
    built: Vec<AggregateTrace>,
    /// By group; the same comes again for every part of its spans.
    known: FxHashMap<Vec<u32>, Vec<RequestRef>>,
}

/// Returns how many endpoints there are, the report on the first, and those of its aggregate traces that are wanted.
/// If any are, groups of the report lack exemplars and subspans.
pub(super) async fn diagnose(
    traces: &Traces,
    settings: &DiagnosisSettings,
    wanted: Option<Aggregates>,
    pace: &mut Pace,
) -> (u64, Vec<DiagnosedEndpoint>, Vec<AggregateTrace>) {
    // By endpoint and request type.
    let mut pairs: BTreeMap<(u32, u32), Total> = BTreeMap::new();
    let mut types: BTreeMap<u32, OfType> = BTreeMap::new();
    for (kind, group) in traces.by_type(&traces.all()) {
        let shapes = traces.by_shape(&group);
        for (number, group) in &shapes {
            let (block, rows) = (&traces.blocks[*number as usize], traces.rows(group));
            for (position, &endpoint) in block.shape.endpoint.iter().enumerate() {
                let own = block.own(position as u32, &rows, pace).await;
                pairs.entry((endpoint, kind)).or_default().add(rows.len() as u64, own);
            }
        }
        types.insert(kind, OfType { traces: group, shapes });
    }
    let mut endpoints: BTreeMap<u32, Total> = BTreeMap::new();
    for (&(endpoint, _), total) in &pairs {
        endpoints.entry(endpoint).or_default().add(total.count, total.sum);
    }
    let (built, known) = (Vec::new(), FxHashMap::default());
    let mut work = Diagnosis { traces, settings, pace, groups: 0, wanted, built, known };
    let (endpoints_in_all, endpoints) = Top::of(endpoints, settings.top[0]);
    let mut report = Vec::with_capacity(endpoints.len());
    for (endpoint, total) in endpoints {
        let own = pairs.range((endpoint, 0)..=(endpoint, u32::MAX)).map(|(&(_, kind), &t)| (kind, t));
        let (types_in_all, own) = Top::of(own, settings.top[1]);
        let mut rows = Vec::with_capacity(own.len());
        for (kind, total) in own {
            if let Some(group) = types.get(&kind) {
                rows.push(work.of_type(endpoint, (kind, group), total).await);
            }
        }
        let Endpoint { service, operation } = traces.endpoints[endpoint as usize].clone();
        report.push(DiagnosedEndpoint {
            service,
            operation,
            count: total.count,
            own_us: total.mean(),
            total_us: total.sum,
            types_in_all,
            types: rows,
        });
    }
    (endpoints_in_all, report, work.built)
}

impl Diagnosis<'_> {
    async fn of_type(&mut self, endpoint: u32, (kind, group): (u32, &OfType), total: Total) -> DiagnosedType {
        let traces = self.traces;
        let normal = normal_of(group.traces.len(), self.settings);
        // Traces of a group stand in the order of their numbers.
        let first_tail = normal.and_then(|k| group.traces.get(k)).copied().unwrap_or(u32::MAX);
        let (mut halves, mut affected) = ([Total::default(); 2], 0);
        for (number, group) in &group.shapes {
            let block = &traces.blocks[*number as usize];
            self.pace.spend(block.shape.len() / 4).await;
            let mut positions = block.shape.positions_of(endpoint).peekable();
            if positions.peek().is_none() {
                continue;
            }
            affected += group.len() as u64;
            let rows = traces.rows(group);
            let (normal, tail) = rows.split_at(group.partition_point(|&t| t < first_tail));
            for position in positions {
                for (half, rows) in halves.iter_mut().zip([normal, tail]) {
                    half.add(rows.len() as u64, block.own(position, rows, self.pace).await);
                }
            }
        }
        let [normal_total, tail] = halves;
        let (verdict, tail_ratio) = match normal {
            None => (TailVerdict::Unsplit, None),
            Some(_) => TailVerdict::of(normal_total, tail),
        };
        let is_tail = verdict.is_of_tail();
        let chosen = group.shapes.iter().map(|(number, group)| match is_tail {
            true => (*number, &group[group.partition_point(|&t| t < first_tail)..]),
            false => (*number, group.as_slice()),
        });
        let chosen: Vec<(u32, &[u32])> = chosen.filter(|(_, group)| !group.is_empty()).collect();
        let Endpoint { service, operation } = traces.types[kind as usize].clone();
        let (spans_in_all, spans) = self.of_spans(endpoint, &chosen).await;
        DiagnosedType {
            service,
            operation,
            traces: group.traces.len() as u64,
            affected,
            count: total.count,
            own_us: total.mean(),
            total_us: total.sum,
            tail_ratio,
            verdict,
            spans_in_all,
            spans,
        }
    }

    /// Returns the subspans of an endpoint in traces by shape.
    async fn of_spans(&mut self, endpoint: u32, chosen: &[(u32, &[u32])]) -> (u64, Vec<DiagnosedSpan>) {
        let traces = self.traces;
        let mut parts: Top<PartOf> = Top::new(self.settings.top[2]);
        // Own time of the endpoint in all shapes, and the most in one.
        let (mut in_all, mut most) = (0, 0);
        for &(number, group) in chosen {
            let block = &traces.blocks[number as usize];
            let rows = traces.rows(group);
            self.pace.spend(block.shape.len() / 4 + rows.len()).await;
            let mut own = 0;
            for position in block.shape.positions_of(endpoint) {
                own += block.own(position, &rows, self.pace).await;
                for index in 0..block.shape.parts(position) {
                    let column = block.diffs_us.of(block.shape.parts_at(position) + index);
                    let total = Total { count: rows.len() as u64, sum: sum(column, &rows) };
                    parts.put((group.into(), position, index as u32), total);
                    self.pace.spend(2 * rows.len()).await;
                }
            }
            in_all += own;
            most = own.max(most);
        }
        if most * 2 < in_all {
            drop(parts);
            return self.of_spans_over_shapes(endpoint, chosen).await;
        }
        let mut rows = Vec::with_capacity(parts.rows.len());
        for ((group, position, index), total) in parts.rows {
            let Some(&first) = group.first() else { continue };
            let block = traces.block_of(first);
            // The order of most of them; of equally common ones the last.
            let most = traces.by_local_order(&group, position).into_iter().max_by_key(Vec::len);
            let one = most.and_then(|most| most.first().copied()).unwrap_or(first);
            self.pace.spend(2 * group.len() + block.shape.len() / 4).await;
            let neighbours = block.neighbours(position, traces.traces[one as usize].row, self.pace).await;
            let between = neighbours.get(index as usize).copied().unwrap_or((NO_ROW, NO_ROW));
            let children = block.shape.children(position).len() as u32;
            let metric = match index {
                _ if children == 0 => "span".to_owned(),
                index if index == children => "end_diff".to_owned(),
                index => format!("child_diff[{index}]"),
            };
            let name = block.shape.name(position, &traces.endpoints);
            rows.push(self.of_span((name, metric), between, vec![(group, position, index)], total).await);
        }
        (parts.in_all, rows.into_iter().flatten().collect())
    }

    /// Returns what [`of_spans`](Self::of_spans) returns where no shape has half of the time: subspans of all shapes
    /// together, by what stands before and after them.
    async fn of_spans_over_shapes(
        &mut self,
        endpoint: u32,
        chosen: &[(u32, &[u32])],
    ) -> (u64, Vec<DiagnosedSpan>) {
        let traces = self.traces;
        let mut parts: BTreeMap<Neighbours, JoinedParts> = BTreeMap::new();
        for &(number, group) in chosen {
            let block = &traces.blocks[number as usize];
            let rows = traces.rows(group);
            self.pace.spend(block.shape.len() / 4 + rows.len()).await;
            for position in block.shape.positions_of(endpoint) {
                for way in block.by_way(position, &rows) {
                    let Some(&first) = way.first() else { continue };
                    let neighbours = block.neighbours(position, rows[first as usize], self.pace).await;
                    let own: Vec<u32> = way.iter().map(|&at| rows[at as usize]).collect();
                    for (index, between) in neighbours.into_iter().enumerate() {
                        let column = block.subspans_us.of(block.shape.parts_at(position) + index);
                        let part = parts.entry(between).or_default();
                        part.total.add(own.len() as u64, sum(column, &own));
                        let list = way.iter().map(|&at| group[at as usize]).collect();
                        part.parts.push((Cow::Owned(list), position, index as u32));
                        self.pace.spend(2 * own.len()).await;
                    }
                }
            }
        }
        let parts = parts.into_iter().map(|(between, part)| ((between, part.parts), part.total));
        let (in_all, top) = Top::of(parts, self.settings.top[2]);
        let mut rows = Vec::with_capacity(top.len());
        for ((between, parts), total) in top {
            let name = traces.endpoints[endpoint as usize].operation.clone();
            rows.push(self.of_span((name, "subspan".to_owned()), between, parts, total).await);
        }
        (in_all, rows.into_iter().flatten().collect())
    }

    /// Returns a part of this name and metric, of the traces of one shape or of several, which lies between these
    /// endpoints.
    async fn of_span(
        &mut self,
        (name, metric): (String, String),
        (previous, next): Neighbours,
        parts: Vec<PartOf<'_>>,
        total: Total,
    ) -> Option<DiagnosedSpan> {
        let traces = self.traces;
        let (group, position, subspan) = parts.iter().max_by_key(|part| part.0.len())?;
        let block = traces.block_of(*group.first()?);
        let (subspan, children) = (*subspan, block.shape.children(*position).len() as u32);
        let (groups_in_all, groups) = self.of_groups(&parts).await;
        Some(DiagnosedSpan {
            is_over_shapes: metric == "subspan",
            name,
            metric,
            previous: traces.endpoints.get(previous as usize).cloned(),
            next: traces.endpoints.get(next as usize).cloned(),
            subspan: Some(subspan),
            children: Some(children),
            count: total.count,
            mean_us: total.mean(),
            total_us: total.sum,
            groups_in_all,
            groups,
        })
    }

    /// Returns the groups of traces that these parts are in, of one shape each.
    async fn of_groups(&mut self, parts: &[PartOf<'_>]) -> (u64, Vec<DiagnosedGroup>) {
        let traces = self.traces;
        let mut rows: Vec<Ranked> = Vec::new();
        for (group, position, index) in parts {
            let Some(&first) = group.first() else { continue };
            let mut orders = traces.by_order(group);
            let largest = orders.iter().map(Vec::len).max().unwrap_or(0);
            let is_local = largest * SHATTERED < group.len();
            self.pace.spend(2 * group.len()).await;
            if is_local {
                orders = traces.by_local_order(group, *position);
                self.pace.spend(2 * group.len()).await;
            }
            let block = traces.block_of(first);
            let column = block.subspans_us.of(block.shape.parts_at(*position) + *index as usize);
            rows.extend(orders.into_iter().map(|list| {
                let rows = traces.rows(&list);
                let subspan_us = sum(column, &rows);
                let span_us: u128 = block.durations(*position, &rows).map(u128::from).sum();
                let score = match span_us {
                    0 => 0.0,
                    _ => subspan_us as f64 * subspan_us as f64 / span_us as f64,
                };
                let problem = ProblemSubspan { span: *position, subspan: *index };
                Ranked { score, subspan_us, span_us, is_local, problem, traces: list }
            }));
            self.pace.spend(2 * group.len()).await;
        }
        let in_all = rows.len() as u64;
        rows.compact_sort_by(|a, b| b.score.total_cmp(&a.score));
        rows.truncate(self.settings.top[3] as usize);
        let mut out = Vec::with_capacity(rows.len());
        for Ranked { score, subspan_us, span_us, is_local, problem, traces: list } in rows {
            let n = list.len() as f64;
            let mut group = DiagnosedGroup {
                traces: list.len() as u64,
                is_local,
                subspan_us: subspan_us as f64 / n,
                span_us: span_us as f64 / n,
                score,
                aggregate_trace: self.groups,
                exemplars: Vec::new(),
                subspans: Vec::new(),
            };
            match self.wanted {
                None => {
                    group.subspans = subspans_near(traces, &list, problem, self.pace).await;
                    group.exemplars = self.exemplars(list).await;
                }
                Some(Aggregates::One(number) | Aggregates::Drawn(number)) if number != self.groups => {}
                Some(Aggregates::Drawn(number)) if positions_of(traces, &list) > DRAWN => {
                    let spans_in_all = positions_of(traces, &list) as u64;
                    let exemplars = exemplars(traces, &list, self.pace).await;
                    let traces = list.len() as u64;
                    let trace =
                        AggregateTrace { number, traces, exemplars, spans_in_all, ..Default::default() };
                    self.built.push(trace);
                }
                Some(_) => {
                    let only = is_local.then_some(problem.span);
                    let trace = aggregate_in_steps(traces, &list, only, self.pace).await;
                    self.built.push(AggregateTrace { number: self.groups, problem: Some(problem), ..trace });
                }
            }
            self.groups += 1;
            out.push(group);
        }
        (in_all, out)
    }

    async fn exemplars(&mut self, list: Vec<u32>) -> Vec<RequestRef> {
        if let Some(known) = self.known.get(&list) {
            return known.clone();
        }
        let found = exemplars(self.traces, &list, self.pace).await;
        self.known.insert(list, found.clone());
        found
    }
}
