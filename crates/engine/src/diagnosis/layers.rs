//! The four layers with their statistics (section 2).

use super::block::pick;
use super::traces::normal_of;
use super::{DiagnosisSettings, SplitStatistic, Traces};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::steps::Pace;
use pathlight_trace::Endpoint;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Endpoints of the groups of layer 2, and positions and parts of them in layer 3 and in layer 4: there may be a million, which
/// nobody reads and which a page would take seconds to take over.
const MOST: usize = 20_000;

/// One layer.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupingLayer {
    /// Number of the layer, 1 to 4.
    pub layer: u32,
    /// Number of groups.
    pub groups_in_all: u64,
    /// The groups listed, those with the most time first.
    pub groups: Vec<TraceGroup>,
}

/// One group of traces.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TraceGroup {
    /// Its request type as `[service, operation]`; of layer 1 none, of layers 3 and 4 the root's endpoint.
    pub root: Option<Endpoint>,
    /// Number of traces.
    pub traces: u64,
    /// Number of them outside the tail; `null` if the group is too small to split.
    pub normal: Option<u64>,
    /// Duration of the root span.
    pub root_us: SplitStatistic,
    /// Layers 1 and 2: the times of every endpoint, by name. Of layer 2 the groups with the most time are listed, until they
    /// have 20,000 endpoints.
    pub endpoints: Vec<EndpointTimes>,
    /// Layers 3 and 4: how many positions its tree has.
    pub positions_in_all: u64,
    /// Layers 3 and 4: the times of every position in the tree, parents first. Of a layer the first 20,000 positions and
    /// parts are listed, in the order of its groups.
    pub positions: Vec<PositionTimes>,
}

/// Times of an endpoint in a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndpointTimes {
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Duration of the endpoint's spans.
    pub duration_us: SplitStatistic,
    /// Self time of these spans.
    pub self_us: SplitStatistic,
    /// Own time of these spans: all their subspans, also those while a child runs; `null` of a summary. The diagnosis is
    /// ranked by its sum, mean times count.
    pub own_us: Option<SplitStatistic>,
}

/// Times of a position in a group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PositionTimes {
    /// Number of the parent's position; `null` for the root.
    pub parent: Option<u32>,
    /// Service name.
    pub service: String,
    /// Operation name, numbered if its endpoint has several positions.
    pub name: String,
    /// Number of its subspans; none is listed where there are more than the layer has room for.
    pub subspans_in_all: u64,
    /// Duration of the span.
    pub duration_us: SplitStatistic,
    /// Layer 3: from the start of the span to that of its first child, then from the start of each child to that of the next.
    pub child_diff_us: Vec<SplitStatistic>,
    /// Layer 3: time from the last child's end to the span's end; of a leaf its duration.
    pub end_diff_us: Option<SplitStatistic>,
    /// Layer 4: durations of the subspans.
    pub subspans_us: Vec<SplitStatistic>,
}

pub(super) async fn layers(
    traces: &Traces,
    settings: &DiagnosisSettings,
    pace: &mut Pace,
) -> Vec<GroupingLayer> {
    let all = traces.all();
    let mut first = Vec::new();
    if !all.is_empty() {
        first.push(by_endpoint(traces, &all, None, settings, pace).await);
    }
    let (mut shapes, mut orders) = (Vec::new(), Vec::new());
    for (_, group) in traces.by_shape(&all) {
        pace.spend(4 * group.len()).await;
        orders.extend(traces.by_order(&group));
        shapes.push(group);
    }
    vec![
        GroupingLayer { layer: 1, groups_in_all: first.len() as u64, groups: first },
        of_types(traces, &all, settings, pace).await,
        listed(traces, shapes, 3, settings, pace).await,
        listed(traces, orders, 4, settings, pace).await,
    ]
}

/// Puts groups of traces with the most time first.
fn by_time<T>(traces: &Traces, groups: Vec<T>, of: impl Fn(&T) -> &Vec<u32>) -> Vec<T> {
    let duration_us = |trace: &u32| u128::from(traces.traces[*trace as usize].duration_us);
    let mut timed: Vec<(u128, T)> =
        groups.into_iter().map(|group| (of(&group).iter().map(duration_us).sum(), group)).collect();
    timed.compact_sort_by_key(|group| std::cmp::Reverse(group.0));
    timed.into_iter().map(|(_, group)| group).collect()
}

/// Returns layer 2, by request type.
async fn of_types(
    traces: &Traces,
    all: &[u32],
    settings: &DiagnosisSettings,
    pace: &mut Pace,
) -> GroupingLayer {
    let types = by_time(traces, traces.by_type(all), |(_, group)| group);
    pace.spend(4 * traces.traces.len()).await;
    let groups_in_all = types.len() as u64;
    let (mut listed, mut left) = (Vec::new(), MOST);
    for (kind, group) in types {
        if left == 0 {
            break;
        }
        let group = by_endpoint(traces, &group, Some(kind), settings, pace).await;
        left = left.saturating_sub(group.endpoints.len());
        listed.push((kind, group));
    }
    listed.compact_sort_by_key(|(kind, _)| *kind);
    GroupingLayer { layer: 2, groups_in_all, groups: listed.into_iter().map(|(_, group)| group).collect() }
}

/// Returns the layer 3 or 4 of these groups: those with the most time.
async fn listed(
    traces: &Traces,
    groups: Vec<Vec<u32>>,
    layer: u32,
    settings: &DiagnosisSettings,
    pace: &mut Pace,
) -> GroupingLayer {
    let groups_in_all = groups.len() as u64;
    let mut groups = by_time(traces, groups, |group| group);
    pace.spend(4 * traces.traces.len()).await;
    groups.truncate(settings.groups as usize);
    let mut out = Vec::with_capacity(groups.len());
    let mut left = MOST;
    for group in &groups {
        out.push(by_position(traces, group, layer, &mut left, settings, pace).await);
    }
    GroupingLayer { layer, groups_in_all, groups: out }
}

async fn head(
    traces: &Traces,
    group: &[u32],
    settings: &DiagnosisSettings,
    pace: &mut Pace,
) -> (TraceGroup, Option<usize>) {
    let normal = normal_of(group.len(), settings);
    let mut roots: Vec<u64> = group.iter().map(|&t| traces.traces[t as usize].duration_us).collect();
    let out = TraceGroup {
        traces: group.len() as u64,
        normal: normal.map(|k| k as u64),
        root_us: SplitStatistic::of(&mut roots, normal, pace).await,
        ..TraceGroup::default()
    };
    (out, normal)
}

async fn by_endpoint(
    traces: &Traces,
    group: &[u32],
    kind: Option<u32>,
    settings: &DiagnosisSettings,
    pace: &mut Pace,
) -> TraceGroup {
    let (mut out, normal) = head(traces, group, settings, pace).await;
    out.root = kind.map(|kind| traces.types[kind as usize].clone());
    // Traces of a group stand in the order of their numbers.
    let first_tail = normal.and_then(|k| group.get(k)).copied().unwrap_or(u32::MAX);
    // By endpoint the times of normal traces and of the tail.
    let mut times: FxHashMap<u32, [EndpointValues; 2]> = FxHashMap::default();
    for (number, group) in traces.by_shape(group) {
        let (block, rows) = (&traces.blocks[number as usize], traces.rows(&group));
        let (normal, tail) = rows.split_at(group.partition_point(|&t| t < first_tail));
        for (position, &endpoint) in block.shape.endpoint.iter().enumerate() {
            for (half, rows) in times.entry(endpoint).or_default().iter_mut().zip([normal, tail]) {
                half.durations.extend(block.durations(position as u32, rows));
                half.self_us.extend(pick(block.self_us.of(position), rows));
                block.own_of_each(position as u32, rows, &mut half.own, pace).await;
            }
            pace.spend(rows.len()).await;
        }
    }
    let mut times: Vec<_> = times.into_iter().collect();
    times.compact_sort_by_key(|row| row.0);
    for (endpoint, [mut all, tail]) in times {
        let Endpoint { service, operation } = traces.endpoints[endpoint as usize].clone();
        let count = normal.map(|_| all.own.len());
        all.durations.extend(tail.durations);
        all.self_us.extend(tail.self_us);
        all.own.extend(tail.own);
        let duration_us = SplitStatistic::of(&mut all.durations, count, pace).await;
        let self_us = SplitStatistic::of(&mut all.self_us, count, pace).await;
        let own_us = Some(SplitStatistic::of(&mut all.own, count, pace).await);
        out.endpoints.push(EndpointTimes { service, operation, duration_us, self_us, own_us });
    }
    out
}

/// Durations, self times and own times of the spans of an endpoint.
#[derive(Default)]
struct EndpointValues {
    durations: Vec<u64>,
    self_us: Vec<u64>,
    own: Vec<u64>,
}

async fn by_position(
    traces: &Traces,
    group: &[u32],
    layer: u32,
    left: &mut usize,
    settings: &DiagnosisSettings,
    pace: &mut Pace,
) -> TraceGroup {
    let (mut out, normal) = head(traces, group, settings, pace).await;
    let Some(&first) = group.first() else { return out };
    let (block, rows) = (traces.block_of(first), traces.rows(group));
    let shape = &block.shape;
    let part = if layer == 3 { &block.diffs_us } else { &block.subspans_us };
    let mut values = Vec::with_capacity(rows.len());
    out.root = Some(traces.endpoints[shape.endpoint[0] as usize].clone());
    out.positions_in_all = shape.len() as u64;
    let mut names = shape.names(&traces.endpoints, pace).await;
    for position in 0..shape.len() as u32 {
        if *left == 0 {
            break;
        }
        values.clear();
        values.extend(block.durations(position, &rows));
        let duration_us = SplitStatistic::of(&mut values, normal, pace).await;
        let (in_all, mut parts) = (shape.parts(position), Vec::new());
        *left -= 1;
        if in_all <= *left {
            *left -= in_all;
            for at in (shape.parts_at(position)..).take(in_all) {
                values.clear();
                values.extend(pick(part.of(at), &rows));
                parts.push(SplitStatistic::of(&mut values, normal, pace).await);
            }
        }
        let end_diff_us = if layer == 3 { parts.pop() } else { None };
        let (child_diff_us, subspans_us) = if layer == 3 { (parts, Vec::new()) } else { (Vec::new(), parts) };
        let Endpoint { service, .. } = traces.endpoints[shape.endpoint[position as usize] as usize].clone();
        out.positions.push(PositionTimes {
            parent: Some(shape.parent[position as usize]).filter(|&p| p != pathlight_trace::NO_ROW),
            service,
            name: names.next(position),
            subspans_in_all: in_all as u64,
            duration_us,
            child_diff_us,
            end_diff_us,
            subspans_us,
        });
    }
    out
}
