//! The four layers with their statistics (section 2).

use super::statistic::SplitStatistic;
use super::traces::{Settings, Traces, normal_of};
use crate::arrange::Arrange;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// One layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// 1 to 4.
    pub layer: u32,
    /// How many groups there are.
    pub groups_in_all: u64,
    /// The groups listed, those with the most time first.
    pub groups: Vec<Group>,
}

/// One group of traces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Its request type as (service, operation); of layer 1 none, of layers 3 and 4 the root's endpoint.
    pub root: Option<(String, String)>,
    /// Number of traces.
    pub traces: u64,
    /// How many of them are normal; `None` if the group is too small to split.
    pub normal: Option<u64>,
    /// Duration of the root span.
    pub root_us: SplitStatistic,
    /// Layers 1 and 2: by endpoint.
    pub endpoints: Vec<EndpointTimes>,
    /// Layers 3 and 4: by position.
    pub positions: Vec<PositionTimes>,
}

/// Times of an endpoint in a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EndpointTimes {
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Duration of its spans.
    pub duration_us: SplitStatistic,
    /// Their self time.
    pub self_us: SplitStatistic,
}

/// Times of a position in a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PositionTimes {
    /// Number of the parent's position.
    pub parent: Option<u32>,
    /// Service name.
    pub service: String,
    /// Operation name, numbered if its endpoint has several positions.
    pub name: String,
    /// Duration.
    pub duration_us: SplitStatistic,
    /// Layer 3: child_diff by child start.
    pub child_diff_us: Vec<SplitStatistic>,
    /// Layer 3: from the last child's end to the span's; of a leaf its duration.
    pub end_diff_us: Option<SplitStatistic>,
    /// Layer 4: subspans.
    pub subspans_us: Vec<SplitStatistic>,
}

pub(super) fn layers(traces: &Traces, settings: &Settings) -> Vec<Layer> {
    let all = traces.all();
    let first = if all.is_empty() { Vec::new() } else { vec![by_endpoint(traces, &all, None, settings)] };
    let types = traces.by_type(&all);
    let second = types.iter().map(|(kind, group)| by_endpoint(traces, group, Some(*kind), settings));
    let (mut shapes, mut orders) = (Vec::new(), Vec::new());
    for (_, group) in traces.by_shape(&all) {
        orders.extend(traces.by_order(&group, None).into_iter().map(|g| g.1));
        shapes.push(group);
    }
    let listed = |mut groups: Vec<Vec<u32>>, layer: u32| {
        let groups_in_all = groups.len() as u64;
        let time = |g: &Vec<u32>| -> u128 {
            g.iter().map(|&t| u128::from(traces.traces[t as usize].duration_us(0))).sum()
        };
        groups.arrange_by_key(|g| std::cmp::Reverse(time(g)));
        groups.truncate(settings.groups as usize);
        let groups = groups.iter().map(|g| by_position(traces, g, layer, settings)).collect();
        Layer { layer, groups_in_all, groups }
    };
    vec![
        Layer { layer: 1, groups_in_all: first.len() as u64, groups: first },
        Layer { layer: 2, groups_in_all: types.len() as u64, groups: second.collect() },
        listed(shapes, 3),
        listed(orders, 4),
    ]
}

fn head(traces: &Traces, group: &[u32], settings: &Settings) -> (Group, Option<usize>) {
    let normal = normal_of(group.len(), settings);
    let roots = group.iter().map(|&t| traces.traces[t as usize].duration_us(0)).collect();
    let out = Group {
        traces: group.len() as u64,
        normal: normal.map(|k| k as u64),
        root_us: SplitStatistic::of(roots, normal),
        ..Group::default()
    };
    (out, normal)
}

fn by_endpoint(traces: &Traces, group: &[u32], kind: Option<u32>, settings: &Settings) -> Group {
    let (mut out, normal) = head(traces, group, settings);
    out.root = kind.map(|kind| traces.types[kind as usize].clone());
    // By endpoint: durations, self times, and how many of them are of normal traces.
    let mut times: BTreeMap<u32, (Vec<u64>, Vec<u64>, usize)> = BTreeMap::new();
    for (place, &t) in group.iter().enumerate() {
        let (trace, shape) = (&traces.traces[t as usize], traces.shape_of(t));
        for (position, &endpoint) in shape.endpoint.iter().enumerate() {
            let entry = times.entry(endpoint).or_default();
            entry.0.push(trace.duration_us(position as u32));
            entry.1.push(trace.self_us[position]);
            entry.2 += usize::from(normal.is_some_and(|k| place < k));
        }
    }
    out.endpoints = times
        .into_iter()
        .map(|(endpoint, (durations, own, count))| {
            let (service, operation) = traces.endpoints[endpoint as usize].clone();
            EndpointTimes {
                service,
                operation,
                duration_us: SplitStatistic::of(durations, normal.map(|_| count)),
                self_us: SplitStatistic::of(own, normal.map(|_| count)),
            }
        })
        .collect();
    out
}

fn by_position(traces: &Traces, group: &[u32], layer: u32, settings: &Settings) -> Group {
    let (mut out, normal) = head(traces, group, settings);
    let Some(&first) = group.first() else { return out };
    let shape = traces.shape_of(first);
    out.root = Some(traces.endpoints[shape.endpoint[0] as usize].clone());
    for position in 0..shape.len() as u32 {
        let durations = group.iter().map(|&t| traces.traces[t as usize].duration_us(position)).collect();
        let parts = |of: fn(&super::traces::Trace) -> &Vec<u64>| -> Vec<SplitStatistic> {
            (shape.parts_at[position as usize] as usize..shape.parts_at[position as usize + 1] as usize)
                .map(|at| group.iter().map(|&t| of(&traces.traces[t as usize])[at]).collect())
                .map(|values| SplitStatistic::of(values, normal))
                .collect()
        };
        let mut diffs = if layer == 3 { parts(|t| &t.diffs_us) } else { Vec::new() };
        let end_diff_us = diffs.pop();
        let (service, _) = traces.endpoints[shape.endpoint[position as usize] as usize].clone();
        out.positions.push(PositionTimes {
            parent: Some(shape.parent[position as usize]).filter(|&p| p != crate::trace::NO_ROW),
            service,
            name: shape.names[position as usize].clone(),
            duration_us: SplitStatistic::of(durations, normal),
            child_diff_us: diffs,
            end_diff_us,
            subspans_us: if layer == 4 { parts(|t| &t.subspans_us) } else { Vec::new() },
        });
    }
    out
}
