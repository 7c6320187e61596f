//! The aggregate trace of a group (section 3): every span and every event at its mean.

use super::block::{pick, sum};
use super::events::{is_span_end, is_start};
use super::{TimeStatistics, Traces};
use crate::flame::PathFinder;
use crate::requests::RequestRef;
use pathlight_base::steps::{Pace, all_at_once};
use pathlight_trace::{
    Endpoint, Flags, NO_ROW, Overlap, PathSettings, RawSpan, SpanId, TagSetId, TraceId, TraceSet, Tree,
};
use serde::{Deserialize, Serialize};

/// A trace whose spans lie where they lie on average.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AggregateTrace {
    /// The `aggregate_trace` of its group in the diagnosis.
    pub number: u32,
    /// Number of traces it stands for.
    pub traces: u64,
    /// Whether the order of events differs between these traces, so that only the target's children keep theirs.
    pub order_varies: bool,
    /// The slow subspan; `null` if none is.
    pub problem: Option<ProblemSubspan>,
    /// The trace whose starts and ends are nearest to the means (ties by id), then the slowest.
    pub exemplars: Vec<RequestRef>,
    /// Number of aggregate spans, those left out included.
    pub spans_in_all: u64,
    /// The aggregate spans, parents first.
    pub spans: Vec<AggregateSpan>,
    /// Its critical path in order of time, over the rounded starts and ends.
    pub critical_path: Vec<AggregateSegment>,
}

/// A stretch of the critical path of an aggregate trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AggregateSegment {
    /// Span number.
    pub span: u32,
    /// Start since the root's start.
    pub start_us: u64,
    /// End since the root's start.
    pub end_us: u64,
}

/// The problematic subspan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProblemSubspan {
    /// Span number.
    pub span: u32,
    /// Subspan number.
    pub subspan: u32,
}

/// A span of an aggregate trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AggregateSpan {
    /// Number of the parent; `null` for the root.
    pub parent: Option<u32>,
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Name of the position: the operation, numbered if there are several.
    pub name: String,
    /// Mean start since the root's start.
    pub start_us: f64,
    /// Mean end since the root's start.
    pub end_us: f64,
    /// Start rounded, halves up.
    pub start_rounded_us: u64,
    /// End rounded, halves up.
    pub end_rounded_us: u64,
    /// Duration of the span.
    pub duration_us: TimeStatistics,
    /// Its subspans; none below the target's level where the order varies.
    pub subspans: Vec<AggregateSubspan>,
}

/// A subspan of an aggregate trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AggregateSubspan {
    /// `A0`, `A1`, ... with the name of the position before the number.
    pub name: String,
    /// Name of the child that begins or ends last before it; `null` where it begins with the span.
    pub after: Option<String>,
    /// Name of the child whose start ends it; `null` where it ends with the span.
    pub before: Option<String>,
    /// Mean end in microseconds since the root's start; it begins the mean duration before.
    pub end_us: f64,
    /// Duration of the subspan.
    pub duration_us: TimeStatistics,
}

/// Returns the aggregate trace of traces of one shape. In `only`, and everywhere if it is `None`, the events have one
/// order.
pub fn aggregate(traces: &Traces, group: &[u32], only: Option<u32>) -> AggregateTrace {
    all_at_once(async { aggregate_in_steps(traces, group, only, &mut Pace::default()).await })
}

/// Returns what [`aggregate`] returns, in steps.
pub(super) async fn aggregate_in_steps(
    traces: &Traces,
    group: &[u32],
    only: Option<u32>,
    pace: &mut Pace,
) -> AggregateTrace {
    let mut trace = without_subspans(traces, group, pace).await;
    trace.order_varies = only.is_some();
    put_subspans(&mut trace, traces, group, only, pace).await;
    trace
}

/// A subspan of a group's span, of those next to the problematic one, and what it lies between.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupSubspan {
    /// Number of the subspan.
    pub subspan: u32,
    /// Name of its span with that number.
    pub name: String,
    /// Name of the child that begins or ends last before it; `null` where it begins with the span.
    pub after: Option<String>,
    /// Name of the child whose start ends it; `null` where it ends with the span.
    pub before: Option<String>,
    /// Whether it is the problematic one.
    pub is_problem: bool,
    /// Duration of the subspan.
    pub duration_us: TimeStatistics,
}

/// Subspans on each side of the problematic one that a group of traces has.
const NEIGHBOURS: usize = 10;

/// Returns the subspans of a position around one of them.
pub(super) async fn subspans_near(
    traces: &Traces,
    group: &[u32],
    ProblemSubspan { span, subspan }: ProblemSubspan,
    pace: &mut Pace,
) -> Vec<GroupSubspan> {
    let Some(&first) = group.first() else { return Vec::new() };
    let (block, rows) = (traces.block_of(first), traces.rows(group));
    let shape = &block.shape;
    let around = block.children_around(span, traces.traces[first as usize].row, pace).await;
    let own = shape.name(span, &traces.endpoints);
    let name = |child: u32| (child != NO_ROW).then(|| shape.name(child, &traces.endpoints));
    let mut values = Vec::with_capacity(rows.len());
    let from = (subspan as usize).saturating_sub(NEIGHBOURS);
    let mut out = Vec::new();
    for (at, &(after, before)) in
        around.iter().enumerate().skip(from).take(subspan as usize + NEIGHBOURS + 1 - from)
    {
        values.clear();
        values.extend(pick(block.subspans_us.of(shape.parts_at(span) + at), &rows));
        out.push(GroupSubspan {
            subspan: at as u32,
            name: format!("{own} {at}"),
            after: name(after),
            before: name(before),
            is_problem: at == subspan as usize,
            duration_us: TimeStatistics::of(&mut values, pace).await,
        });
        pace.spend(rows.len() + shape.len() / 4).await;
    }
    out
}

/// Returns the trace of a group whose starts and ends are nearest to the means, and the slowest.
pub(super) async fn exemplars(traces: &Traces, group: &[u32], pace: &mut Pace) -> Vec<RequestRef> {
    let Some(&first) = group.first() else { return Vec::new() };
    let (block, rows) = (traces.block_of(first), traces.rows(group));
    let mut distance = vec![0u128; group.len()];
    for position in 0..block.shape.len() {
        far(block.start_us.of(position), &rows, &mut distance);
        far(block.end_us.of(position), &rows, &mut distance);
        pace.spend(3 * rows.len()).await;
    }
    nearest_and_slowest(traces, group, &distance)
}

/// Returns the traces of a group that are nearest to the means and slowest.
fn nearest_and_slowest(traces: &Traces, group: &[u32], distance: &[u128]) -> Vec<RequestRef> {
    let id = |t: u32| (&traces.traces[t as usize].id, &traces.traces[t as usize].root_span_id);
    let nearest =
        group.iter().zip(distance).min_by(|(s, x), (t, y)| x.cmp(y).then_with(|| id(**s).cmp(&id(**t))));
    let mut chosen: Vec<u32> = nearest.map(|(t, _)| *t).into_iter().chain(group.last().copied()).collect();
    chosen.dedup();
    let exemplars = chosen.into_iter().map(|t| RequestRef {
        trace_id: id(t).0.clone(),
        root_span_id: id(t).1.clone(),
        latency_us: traces.traces[t as usize].duration_us,
    });
    exemplars.collect()
}

/// Returns what does not depend on the order of events: all but the subspans.
async fn without_subspans(traces: &Traces, group: &[u32], pace: &mut Pace) -> AggregateTrace {
    let Some(&first) = group.first() else { return AggregateTrace::default() };
    let (block, rows) = (traces.block_of(first), traces.rows(group));
    let shape = &block.shape;
    let n = group.len() as u64;
    let mut names = shape.names(&traces.endpoints, pace).await;
    let mut spans = Vec::with_capacity(shape.len());
    // By trace: how far its starts and ends are from the means, n times.
    let mut distance = vec![0u128; group.len()];
    let mut values = Vec::with_capacity(group.len());
    for position in 0..shape.len() as u32 {
        let start = far(block.start_us.of(position as usize), &rows, &mut distance);
        let end = far(block.end_us.of(position as usize), &rows, &mut distance);
        values.clear();
        values.extend(block.durations(position, &rows));
        let duration_us = TimeStatistics::of(&mut values, pace).await;
        pace.spend(4 * rows.len()).await;
        let Endpoint { service, operation } =
            traces.endpoints[shape.endpoint[position as usize] as usize].clone();
        spans.push(AggregateSpan {
            parent: Some(shape.parent[position as usize]).filter(|&p| p != NO_ROW),
            service,
            operation,
            name: names.next(position),
            start_us: mean(start, n),
            end_us: mean(end, n),
            start_rounded_us: rounded(start, n),
            end_rounded_us: rounded(end, n),
            duration_us,
            subspans: Vec::new(),
        });
    }
    pace.spend(20 * spans.len()).await;
    AggregateTrace {
        number: 0,
        traces: n,
        order_varies: false,
        problem: None,
        exemplars: nearest_and_slowest(traces, group, &distance),
        critical_path: critical_path(&spans),
        spans_in_all: spans.len() as u64,
        spans,
    }
}

/// Writes the subspans of `only`, or of all spans, into an aggregate trace of this group.
async fn put_subspans(
    trace: &mut AggregateTrace,
    traces: &Traces,
    group: &[u32],
    only: Option<u32>,
    pace: &mut Pace,
) {
    let Some(&first) = group.first() else { return };
    let (block, rows) = (traces.block_of(first), traces.rows(group));
    let mut values = Vec::with_capacity(rows.len());
    for position in 0..trace.spans.len() {
        let mut subspans = Vec::new();
        if only.is_none_or(|p| p as usize == position) {
            let around =
                block.children_around(position as u32, traces.traces[first as usize].row, pace).await;
            let columns = block.shape.parts_at(position as u32)..;
            let name = |child: u32| trace.spans.get(child as usize).map(|span| span.name.clone());
            for ((index, (after, before)), column) in around.into_iter().enumerate().zip(columns) {
                values.clear();
                values.extend(pick(block.subspans_us.of(column), &rows));
                subspans.push(AggregateSubspan {
                    name: format!("{} {index}", trace.spans[position].name),
                    after: name(after),
                    before: name(before),
                    end_us: match before {
                        NO_ROW => trace.spans[position].end_us,
                        child => trace.spans[child as usize].start_us,
                    },
                    duration_us: TimeStatistics::of(&mut values, pace).await,
                });
                pace.spend(rows.len()).await;
            }
        }
        trace.spans[position].subspans = subspans;
    }
}

fn mean(sum: u128, n: u64) -> f64 {
    sum as f64 / n as f64
}

/// Returns the mean in whole microseconds, halves up.
fn rounded(sum: u128, n: u64) -> u64 {
    let n = u128::from(n);
    ((2 * sum + n) / (2 * n)) as u64
}

/// Returns the sum of a column over some rows; adds to the distance of each row how far it is from the mean, as often
/// as there are rows.
fn far(column: &[u64], rows: &[u32], distance: &mut [u128]) -> u128 {
    let (n, sum) = (rows.len() as u64, sum(column, rows));
    let values = pick(column, rows).zip(distance);
    let greatest = pick(column, rows).max().unwrap_or(0);
    // Products of 64 bits cost a fraction of those of 128; those are for times of millions of years.
    match (u64::try_from(sum), greatest.checked_mul(n)) {
        (Ok(sum), Some(_)) => values.for_each(|(us, far)| *far += u128::from((us * n).abs_diff(sum))),
        _ => values.for_each(|(us, far)| *far += (u128::from(us) * u128::from(n)).abs_diff(sum)),
    }
    sum
}

/// Returns the critical path of spans at their rounded means; none if memory ends.
fn critical_path(spans: &[AggregateSpan]) -> Vec<AggregateSegment> {
    let mut set = TraceSet::new();
    let number = |position: usize| SpanId::hex(position as u64 + 1);
    let mut raw: Vec<RawSpan> = spans
        .iter()
        .enumerate()
        .map(|(position, span)| RawSpan {
            id: number(position),
            parent: span.parent.map_or(SpanId::NONE, |parent| number(parent as usize)),
            start_us: span.start_rounded_us,
            duration_us: span.end_rounded_us - span.start_rounded_us,
            operation: set.names.intern(&span.operation),
            process: set.process(&span.service, "", TagSetId::EMPTY),
            tags: TagSetId::EMPTY,
            flags: Flags::default(),
        })
        .collect();
    if set.add_trace(TraceId::hex(1), &mut raw).and_then(|()| set.seal()).is_err() || set.traces().is_empty()
    {
        return Vec::new();
    }
    let (mut tree, mut finder) = (Tree::default(), PathFinder::default());
    tree.load(&set, 0, PathSettings::default());
    finder.find(&set, &tree, 0, Overlap::default());
    let position = |span: u32| set.span_id(tree.row(span)).bits.saturating_sub(1) as u32;
    finder
        .segments()
        .map(|s| AggregateSegment { span: position(s.span), start_us: s.start_us, end_us: s.end_us })
        .collect()
}

/// Returns the start and end of every position by the paper's recursive construction (appendix A): from mean subspans
/// and mean durations of children alone. For traces of one order of events.
pub fn recursive(traces: &Traces, group: &[u32]) -> Vec<(f64, f64)> {
    let Some(&first) = group.first() else { return Vec::new() };
    let (block, rows) = (traces.block_of(first), traces.rows(group));
    let shape = &block.shape;
    let n = group.len() as f64;
    let mut out = vec![(0.0, 0.0); shape.len()];
    // Durations from the leaves up, starts relative to the parent; then starts from the root down.
    let mut offset = vec![0.0; shape.len()];
    let mut length = vec![0.0; shape.len()];
    for position in (0..shape.len()).rev() {
        let (mut at, mut index) = (0.0, shape.parts_at(position as u32));
        let events =
            all_at_once(async { block.events(position as u32, rows[0], &mut Pace::default()).await });
        for event in events {
            if is_start(&event) || is_span_end(&event) {
                at += sum(block.subspans_us.of(index), &rows) as f64 / n;
                index += 1;
                match event.3 {
                    NO_ROW => length[position] = at,
                    child => offset[child as usize] = at,
                }
            } else {
                at = offset[event.3 as usize] + length[event.3 as usize];
            }
        }
    }
    for position in 0..shape.len() {
        let begin = match shape.parent[position] {
            NO_ROW => 0.0,
            parent => out[parent as usize].0 + offset[position],
        };
        out[position] = (begin, begin + length[position]);
    }
    out
}
