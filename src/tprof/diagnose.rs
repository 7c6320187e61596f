//! The nested diagnosis (section 5): endpoint, request type, part of a span, group.

use super::aggregate::{AggregateTrace, Problem, aggregate_in_steps};
use super::traces::{Settings, Trace, Traces, normal_of};
use crate::arrange::Arrange;
use crate::steps::Pace;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Tail over normal above which it is a tail issue.
const TAIL_RATIO: u128 = 4;
/// A layer-3 group shatters if its largest layer-4 group holds less than one in so many of its traces.
const SHATTERED: usize = 20;

/// Step 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiagnosedEndpoint {
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Number of spans.
    pub count: u64,
    /// Mean self time.
    pub self_us: f64,
    /// Mean times count.
    pub total_us: u64,
    /// How many request types have it.
    pub types_in_all: u64,
    /// Step 2.
    pub types: Vec<DiagnosedType>,
}

/// Whether a slowness is one of the tail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Mean self time in the tail is more than 4 times that in normal traces.
    Tail,
    /// The same, with none in normal traces.
    New,
    /// As slow in normal traces.
    Always,
    /// Too few traces to say.
    Unsplit,
}

/// Step 2: the endpoint in one request type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiagnosedType {
    /// Service of the root, empty for a tag.
    pub service: String,
    /// Operation of the root, or `key=value`.
    pub operation: String,
    /// Traces of this type.
    pub traces: u64,
    /// Traces of this type that have the endpoint.
    pub affected: u64,
    /// Spans of the endpoint in them.
    pub count: u64,
    /// Mean self time.
    pub self_us: f64,
    /// Mean times count.
    pub total_us: u64,
    /// Tail over normal; `None` if there is none in normal traces, or no split.
    pub tail_ratio: Option<f64>,
    /// What follows.
    pub verdict: Verdict,
    /// How many parts of spans there are.
    pub spans_in_all: u64,
    /// Step 3.
    pub spans: Vec<DiagnosedSpan>,
}

/// Step 3: a part of a span position.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DiagnosedSpan {
    /// Name of the position.
    pub name: String,
    /// `child_diff[i]`, `end_diff`, or `span` for a leaf.
    pub metric: String,
    /// Number of the subspan it points at.
    pub subspan: u32,
    /// Number of children of the span.
    pub children: u32,
    /// Number of values.
    pub count: u64,
    /// Mean.
    pub mean_us: f64,
    /// Mean times count.
    pub total_us: u64,
    /// How many groups there are.
    pub groups_in_all: u64,
    /// Step 4.
    pub groups: Vec<DiagnosedGroup>,
}

/// Step 4: the group that shows it best.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    /// Number of its aggregate trace.
    pub aggregate_trace: u32,
}

/// Count and sum.
#[derive(Clone, Copy, Default)]
struct Total {
    count: u64,
    sum: u128,
}

impl Total {
    fn add(&mut self, us: u64) {
        self.count += 1;
        self.sum += u128::from(us);
    }

    fn mean(self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }
}

/// How many there are, and the first `n` by sum, greatest first; equal ones by key.
fn top<K: Ord>(totals: BTreeMap<K, Total>, n: u32) -> (u64, Vec<(K, Total)>) {
    let mut rows: Vec<(K, Total)> = totals.into_iter().collect();
    let in_all = rows.len() as u64;
    rows.arrange_by_key(|row| Reverse(row.1.sum));
    rows.truncate(n as usize);
    (in_all, rows)
}

/// A report in the making.
struct Diagnosis<'a> {
    traces: &'a Traces,
    settings: &'a Settings,
    pace: &'a mut Pace,
    aggregates: Vec<AggregateTrace>,
    /// Aggregate traces by their group and, for local ones, position.
    known: FxHashMap<(Vec<u32>, Option<u32>), u32>,
}

/// How many endpoints there are, the report on the first, and the aggregate traces it points at.
pub(super) async fn diagnose(
    traces: &Traces,
    settings: &Settings,
    pace: &mut Pace,
) -> (u64, Vec<DiagnosedEndpoint>, Vec<AggregateTrace>) {
    // By endpoint and request type.
    let mut pairs: FxHashMap<(u32, u32), Total> = FxHashMap::default();
    for (number, trace) in traces.traces.iter().enumerate() {
        let endpoints = &traces.shape_of(number as u32).endpoint;
        for (own, &endpoint) in trace.self_us.iter().zip(endpoints) {
            pairs.entry((endpoint, trace.times.request_type)).or_default().add(*own);
        }
        pace.spend(endpoints.len()).await;
    }
    let pairs: BTreeMap<(u32, u32), Total> = pairs.into_iter().collect();
    let mut endpoints: BTreeMap<u32, Total> = BTreeMap::new();
    for (&(endpoint, _), total) in &pairs {
        let sum = endpoints.entry(endpoint).or_default();
        (sum.count, sum.sum) = (sum.count + total.count, sum.sum + total.sum);
    }
    let types: BTreeMap<u32, Vec<u32>> = traces.by_type(&traces.all()).into_iter().collect();
    let mut work = Diagnosis { traces, settings, pace, aggregates: Vec::new(), known: FxHashMap::default() };
    let (endpoints_in_all, endpoints) = top(endpoints, settings.top[0]);
    let mut report = Vec::with_capacity(endpoints.len());
    for (endpoint, total) in endpoints {
        let own =
            pairs.range((endpoint, 0)..=(endpoint, u32::MAX)).map(|(&(_, kind), &t)| (kind, t)).collect();
        let (types_in_all, own) = top(own, settings.top[1]);
        let mut rows = Vec::with_capacity(own.len());
        for (kind, total) in own {
            if let Some(group) = types.get(&kind) {
                rows.push(work.of_type(endpoint, (kind, group), total).await);
            }
        }
        let (service, operation) = traces.endpoints[endpoint as usize].clone();
        report.push(DiagnosedEndpoint {
            service,
            operation,
            count: total.count,
            self_us: total.mean(),
            total_us: total.sum as u64,
            types_in_all,
            types: rows,
        });
    }
    (endpoints_in_all, report, work.aggregates)
}

impl Diagnosis<'_> {
    async fn of_type(&mut self, endpoint: u32, (kind, group): (u32, &[u32]), total: Total) -> DiagnosedType {
        let traces = self.traces;
        let normal = normal_of(group.len(), self.settings);
        let (mut halves, mut affected) = ([Total::default(); 2], 0);
        for (place, &t) in group.iter().enumerate() {
            let half = usize::from(normal.is_some_and(|k| place >= k));
            let before = halves[half].count;
            let endpoints = &traces.shape_of(t).endpoint;
            for (own, _) in
                traces.traces[t as usize].self_us.iter().zip(endpoints).filter(|p| *p.1 == endpoint)
            {
                halves[half].add(*own);
            }
            affected += u64::from(halves[half].count > before);
            self.pace.spend(endpoints.len() / 4).await;
        }
        let [usual, tail] = halves;
        let verdict = match normal {
            None => Verdict::Unsplit,
            Some(_) if usual.sum == 0 && tail.sum > 0 => Verdict::New,
            // tail.sum / tail.count > 4 usual.sum / usual.count, without division.
            Some(_)
                if tail.sum * u128::from(usual.count) > TAIL_RATIO * usual.sum * u128::from(tail.count) =>
            {
                Verdict::Tail
            }
            Some(_) => Verdict::Always,
        };
        let chosen = match (verdict, normal) {
            (Verdict::Tail | Verdict::New, Some(k)) => &group[k..],
            _ => group,
        };
        let (service, operation) = traces.types[kind as usize].clone();
        let has_ratio = normal.is_some() && usual.sum > 0;
        let (spans_in_all, spans) = self.of_spans(endpoint, chosen).await;
        DiagnosedType {
            service,
            operation,
            traces: group.len() as u64,
            affected,
            count: total.count,
            self_us: total.mean(),
            total_us: total.sum as u64,
            tail_ratio: has_ratio.then(|| tail.mean() / usual.mean()),
            verdict,
            spans_in_all,
            spans,
        }
    }

    async fn of_spans(&mut self, endpoint: u32, chosen: &[u32]) -> (u64, Vec<DiagnosedSpan>) {
        let traces = self.traces;
        let groups: BTreeMap<u32, Vec<u32>> = traces.by_shape(chosen).into_iter().collect();
        // By shape, position, and subspan.
        let mut parts: BTreeMap<(u32, u32, u32), Total> = BTreeMap::new();
        for (&number, group) in &groups {
            let shape = &traces.shapes[number as usize];
            for position in (0..shape.len() as u32).filter(|&p| shape.endpoint[p as usize] == endpoint) {
                for index in 0..shape.parts(position) as u32 {
                    let at = (shape.parts_at[position as usize] + index) as usize;
                    let total = parts.entry((number, position, index)).or_default();
                    group.iter().for_each(|&t| total.add(traces.traces[t as usize].diffs_us[at]));
                    self.pace.spend(group.len()).await;
                }
            }
        }
        let (in_all, top) = top(parts, self.settings.top[2]);
        let mut rows = Vec::with_capacity(top.len());
        for ((number, position, index), total) in top {
            let Some(group) = groups.get(&number) else { continue };
            let shape = &traces.shapes[number as usize];
            let children = shape.children[position as usize].len() as u32;
            let (groups_in_all, groups) = self.of_groups(group, position, index).await;
            rows.push(DiagnosedSpan {
                name: shape.names[position as usize].clone(),
                metric: match index {
                    _ if children == 0 => "span".to_owned(),
                    index if index == children => "end_diff".to_owned(),
                    index => format!("child_diff[{index}]"),
                },
                subspan: index,
                children,
                count: total.count,
                mean_us: total.mean(),
                total_us: total.sum as u64,
                groups_in_all,
                groups,
            });
        }
        (in_all, rows)
    }

    async fn of_groups(&mut self, group: &[u32], position: u32, index: u32) -> (u64, Vec<DiagnosedGroup>) {
        let traces = self.traces;
        let Some(&first) = group.first() else { return (0, Vec::new()) };
        let mut orders = traces.by_order(group);
        let largest = orders.iter().map(Vec::len).max().unwrap_or(0);
        let is_local = largest * SHATTERED < group.len();
        self.pace.spend(2 * group.len()).await;
        if is_local {
            orders = traces.by_local_order(group, position, self.pace).await;
        }
        let in_all = orders.len() as u64;
        let at = (traces.shape_of(first).parts_at[position as usize] + index) as usize;
        let sum = |list: &[u32], of: &dyn Fn(&Trace) -> u64| -> u128 {
            list.iter().map(|&t| u128::from(of(&traces.traces[t as usize]))).sum()
        };
        let mut rows: Vec<(f64, u128, u128, Vec<u32>)> = orders
            .into_iter()
            .map(|list| {
                let subspan = sum(&list, &|t| t.subspans_us[at]);
                let span = sum(&list, &|t| t.duration_us(position));
                let score = if span == 0 { 0.0 } else { subspan as f64 * subspan as f64 / span as f64 };
                (score, subspan, span, list)
            })
            .collect();
        self.pace.spend(2 * group.len()).await;
        rows.arrange_by(|a, b| b.0.total_cmp(&a.0));
        rows.truncate(self.settings.top[3] as usize);
        let mut out = Vec::with_capacity(rows.len());
        for (score, subspan, span, list) in rows {
            let n = list.len() as f64;
            out.push(DiagnosedGroup {
                traces: list.len() as u64,
                is_local,
                subspan_us: subspan as f64 / n,
                span_us: span as f64 / n,
                score,
                aggregate_trace: self
                    .aggregate(list, is_local.then_some(position), Problem { span: position, subspan: index })
                    .await,
            });
        }
        (in_all, out)
    }

    /// The number of a group's aggregate trace with this problem. Groups come again for every part of their spans.
    async fn aggregate(&mut self, list: Vec<u32>, only: Option<u32>, problem: Problem) -> u32 {
        let number = self.aggregates.len() as u32;
        let key = (list, only);
        let mut trace = match self.known.get(&key) {
            Some(&known) => self.aggregates[known as usize].clone(),
            None => aggregate_in_steps(self.traces, &key.0, only, self.pace).await,
        };
        trace.problem = Some(problem);
        self.aggregates.push(trace);
        self.known.insert(key, number);
        number
    }
}
