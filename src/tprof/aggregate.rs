//! The aggregate trace of a group (section 3): every span and every event at its mean.

use super::statistic::Statistic;
use super::traces::{Traces, events};
use crate::trace::NO_ROW;
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
    /// Trace ids: closest to the mean duration, then slowest.
    pub exemplars: Vec<String>,
    /// Its spans, parents first.
    pub spans: Vec<AggregateSpan>,
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
    let Some(&first) = group.first() else { return AggregateTrace::default() };
    let shape = traces.shape_of(first);
    let n = group.len() as u128;
    let member = |t: &u32| &traces.traces[*t as usize];
    let mean_at = |values: &mut dyn Iterator<Item = u64>| {
        let sum: u128 = values.map(u128::from).sum();
        (sum as f64 / n as f64, ((2 * sum + n) / (2 * n)) as u64)
    };
    let mut spans = Vec::with_capacity(shape.len());
    let mut list = Vec::new();
    for position in 0..shape.len() {
        let (start_us, start_rounded_us) =
            mean_at(&mut group.iter().map(|t| member(t).times.start_us[position]));
        let (end_us, end_rounded_us) = mean_at(&mut group.iter().map(|t| member(t).times.end_us[position]));
        let mut values: Vec<u64> = group.iter().map(|t| member(t).duration_us(position as u32)).collect();
        let duration_us = Statistic::of(&mut values);
        let mut subspans = Vec::new();
        if only.is_none_or(|p| p as usize == position) {
            events(shape, &member(&first).times, position as u32, &mut list);
            let ends = list.iter().filter(|e| e.1 == 2 || e.1 == 9);
            for (index, event) in ends.enumerate() {
                let (end_us, _) = match event.3 {
                    NO_ROW => (end_us, 0),
                    child => mean_at(&mut group.iter().map(|t| member(t).times.start_us[child as usize])),
                };
                let at = shape.parts_at[position] as usize + index;
                let mut values: Vec<u64> = group.iter().map(|t| member(t).subspans_us[at]).collect();
                let duration_us = Statistic::of(&mut values);
                let name = format!("{} {index}", shape.names[position]);
                subspans.push(AggregateSubspan { name, end_us, duration_us });
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
    let sum: u128 = group.iter().map(|t| u128::from(member(t).duration_us(0))).sum();
    let nearest = group.iter().min_by_key(|t| (u128::from(member(t).duration_us(0)) * n).abs_diff(sum));
    let mut exemplars: Vec<String> =
        nearest.into_iter().chain(group.last()).map(|t| member(t).times.id.clone()).collect();
    exemplars.dedup();
    AggregateTrace {
        traces: group.len() as u64,
        order_varies: only.is_some(),
        problem: None,
        exemplars,
        spans,
    }
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
