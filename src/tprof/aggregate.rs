//! The aggregate trace of a group (section 3): every span and every event at its mean.

use super::statistic::Statistic;
use super::traces::{Traces, events};
use crate::critical_path::{Overlap, PathFinder, RequestRef};
use crate::steps::{Pace, all_at_once};
use crate::trace::{Flags, NO_ROW, RawSpan, SpanId, TagSetId, TraceId, TraceSet, Tree};
use serde::{Deserialize, Serialize};

/// A trace whose spans lie where they lie on average.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AggregateTrace {
    /// Number of traces it stands for.
    pub traces: u64,
    /// Whether the order of events differs between these traces, so that only the target's children keep theirs.
    pub order_varies: bool,
    /// Which part is slow.
    pub problem: Option<Problem>,
    /// The trace whose starts and ends are nearest to the means, then the slowest.
    pub exemplars: Vec<RequestRef>,
    /// Its spans, parents first.
    pub spans: Vec<AggregateSpan>,
    /// Its critical path in order of time, over the rounded starts and ends.
    pub critical_path: Vec<AggregateSegment>,
}

/// A stretch of the critical path of an aggregate trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AggregateSegment {
    /// Span number.
    pub span: u32,
    /// Start in whole microseconds since the root's.
    pub start_us: u64,
    /// End.
    pub end_us: u64,
}

/// The problematic subspan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Problem {
    /// Span number.
    pub span: u32,
    /// Subspan number.
    pub subspan: u32,
}

/// A span of an aggregate trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AggregateSpan {
    /// Number of the parent; `None` for the root.
    pub parent: Option<u32>,
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Name of the position: the operation, numbered if there are several.
    pub name: String,
    /// Mean start in microseconds since the root's.
    pub start_us: f64,
    /// Mean end.
    pub end_us: f64,
    /// Start rounded, halves up.
    pub start_rounded_us: u64,
    /// End rounded, halves up.
    pub end_rounded_us: u64,
    /// Duration of the span.
    pub duration_us: Statistic,
    /// Its subspans; none below the target's level where the order varies.
    pub subspans: Vec<AggregateSubspan>,
}

/// A subspan of an aggregate trace.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AggregateSubspan {
    /// `A0`, `A1`, ... with the name of the position before the number.
    pub name: String,
    /// Mean end in microseconds since the root's start; it begins the mean duration before.
    pub end_us: f64,
    /// Duration.
    pub duration_us: Statistic,
}

/// The aggregate trace of traces of one shape. In `only`, and everywhere if it is `None`, the events have one order.
pub fn aggregate(traces: &Traces, group: &[u32], only: Option<u32>) -> AggregateTrace {
    all_at_once(async { aggregate_in_steps(traces, group, only, &mut Pace::default()).await })
}

/// The same as [`aggregate`], in steps.
pub(super) async fn aggregate_in_steps(
    traces: &Traces,
    group: &[u32],
    only: Option<u32>,
    pace: &mut Pace,
) -> AggregateTrace {
    let Some(&first) = group.first() else { return AggregateTrace::default() };
    let shape = traces.shape_of(first);
    let n = group.len() as u128;
    let member = |t: &u32| &traces.traces[*t as usize];
    // Mean, and the same rounded.
    let mean = |sum: u128| (sum as f64 / n as f64, ((2 * sum + n) / (2 * n)) as u64);
    let sum = |values: &mut dyn Iterator<Item = u64>| -> u128 { values.map(u128::from).sum() };
    let mut spans = Vec::with_capacity(shape.len());
    let mut list = Vec::new();
    // By trace: how far its starts and ends are from the means, n times.
    let mut distance = vec![0u128; group.len()];
    for position in 0..shape.len() {
        let start = sum(&mut group.iter().map(|t| member(t).times.start_us[position]));
        let end = sum(&mut group.iter().map(|t| member(t).times.end_us[position]));
        for (t, distance) in group.iter().zip(&mut distance) {
            let times = &member(t).times;
            *distance += (u128::from(times.start_us[position]) * n).abs_diff(start);
            *distance += (u128::from(times.end_us[position]) * n).abs_diff(end);
        }
        let ((start_us, start_rounded_us), (end_us, end_rounded_us)) = (mean(start), mean(end));
        let mut values: Vec<u64> = group.iter().map(|t| member(t).duration_us(position as u32)).collect();
        let duration_us = Statistic::of(&mut values);
        pace.spend(6 * group.len()).await;
        let mut subspans = Vec::new();
        if only.is_none_or(|p| p as usize == position) {
            events(shape, &member(&first).times, position as u32, &mut list);
            let ends: Vec<u32> = list.iter().filter(|e| e.1 == 2 || e.1 == 9).map(|e| e.3).collect();
            for (index, child) in ends.into_iter().enumerate() {
                let end_us = match child {
                    NO_ROW => end_us,
                    child => mean(sum(&mut group.iter().map(|t| member(t).times.start_us[child as usize]))).0,
                };
                let at = shape.parts_at[position] as usize + index;
                let mut values: Vec<u64> = group.iter().map(|t| member(t).subspans_us[at]).collect();
                let duration_us = Statistic::of(&mut values);
                let name = format!("{} {index}", shape.names[position]);
                subspans.push(AggregateSubspan { name, end_us, duration_us });
                pace.spend(5 * group.len()).await;
            }
        }
        let (service, operation) = traces.endpoints[shape.endpoint[position] as usize].clone();
        spans.push(AggregateSpan {
            parent: Some(shape.parent[position]).filter(|&p| p != NO_ROW),
            service,
            operation,
            name: shape.names[position].clone(),
            start_us,
            end_us,
            start_rounded_us,
            end_rounded_us,
            duration_us,
            subspans,
        });
    }
    let id = |t: u32| &traces.traces[t as usize].times;
    let nearest = group.iter().zip(&distance).min_by(|(s, x), (t, y)| {
        x.cmp(y).then_with(|| (&id(**s).id, &id(**s).root_span_id).cmp(&(&id(**t).id, &id(**t).root_span_id)))
    });
    let mut chosen: Vec<u32> = nearest.map(|(t, _)| *t).into_iter().chain(group.last().copied()).collect();
    chosen.dedup();
    let exemplars = chosen.into_iter().map(|t| RequestRef {
        trace_id: id(t).id.clone(),
        root_span_id: id(t).root_span_id.clone(),
        latency_us: traces.traces[t as usize].duration_us(0),
    });
    pace.spend(20 * spans.len()).await;
    AggregateTrace {
        traces: group.len() as u64,
        order_varies: only.is_some(),
        problem: None,
        exemplars: exemplars.collect(),
        critical_path: critical_path(&spans),
        spans,
    }
}

/// The critical path of spans at their rounded means; none if memory ends.
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
    tree.load(&set, 0);
    finder.find(&set, &tree, 0, Overlap::default());
    let position = |span: u32| set.span_id(tree.row(span)).bits.saturating_sub(1) as u32;
    finder
        .segments()
        .map(|s| AggregateSegment { span: position(s.span), start_us: s.start_us, end_us: s.end_us })
        .collect()
}

/// Start and end of every position by the paper's recursive construction (appendix A): from mean subspans and mean
/// durations of children alone. For traces of one order of events.
pub fn recursive(traces: &Traces, group: &[u32]) -> Vec<(f64, f64)> {
    let Some(&first) = group.first() else { return Vec::new() };
    let shape = traces.shape_of(first);
    let n = group.len() as f64;
    let mut out = vec![(0.0, 0.0); shape.len()];
    let mut list = Vec::new();
    // Durations from the leaves up, starts relative to the parent; then starts from the root down.
    let mut offset = vec![0.0; shape.len()];
    let mut length = vec![0.0; shape.len()];
    for position in (0..shape.len()).rev() {
        events(shape, &traces.traces[first as usize].times, position as u32, &mut list);
        let (mut at, mut index) = (0.0, shape.parts_at[position] as usize);
        for event in &list {
            if event.1 == 2 || event.1 == 9 {
                let sum: u64 = group.iter().map(|t| traces.traces[*t as usize].subspans_us[index]).sum();
                at += sum as f64 / n;
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
