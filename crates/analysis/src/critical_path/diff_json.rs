//! The comparison as the JSON that the binary prints and the page exports.

use super::diff_report::{Basis, DiffReport, DiffSide, FrameSums, Measure, Presence};
use super::json::{fold, percent};
use super::services::ServiceChange;
use pathlight_model::stats::{Interval, Summary};
use serde::Serialize;

#[derive(Serialize)]
struct Json<'a> {
    a: JsonSide,
    b: JsonSide,
    by: &'static str,
    measure: &'static str,
    nodes: Vec<JsonNode<'a>>,
    changes: Vec<JsonChange<'a>>,
    services: Vec<JsonService<'a>>,
}

#[derive(Serialize)]
struct JsonSide {
    set: &'static str,
    band: [f64; 2],
    requests: u64,
    latency_us: Summary,
    latency_sum_us: u64,
}

#[derive(Serialize)]
struct JsonFrame<'a> {
    requests: u64,
    exclusive_us: JsonTime,
    subtree_us: JsonTime,
    example: Option<JsonExample<'a>>,
}

#[derive(Serialize)]
struct JsonTime {
    sum: u64,
    mean: f64,
    share: f64,
}

#[derive(Serialize)]
struct JsonExample<'a> {
    trace_id: &'a str,
    root_span_id: &'a str,
    latency_us: u64,
    subtree_us: u64,
}

#[derive(Serialize)]
struct JsonNode<'a> {
    id: usize,
    parent: Option<u32>,
    service: &'a str,
    operation: &'a str,
    a: JsonFrame<'a>,
    b: JsonFrame<'a>,
    change: f64,
    interval: Option<[f64; 2]>,
    noise: bool,
    new: bool,
    gone: bool,
}

#[derive(Serialize)]
struct JsonChange<'a> {
    rank: usize,
    node: u32,
    service: &'a str,
    operation: &'a str,
    measure: &'static str,
    a: f64,
    b: f64,
    change: f64,
    interval: Option<[f64; 2]>,
    noise: bool,
    new: bool,
    gone: bool,
}

#[derive(Serialize)]
struct JsonService<'a> {
    service: &'a str,
    rank: u32,
    a_us: f64,
    b_us: f64,
    change_us: f64,
    interval: Option<[f64; 2]>,
}

impl Basis {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Mean => "mean",
            Basis::Share => "share",
        }
    }
}

impl Measure {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Subtree => "subtree",
            Measure::Exclusive => "exclusive",
        }
    }
}

fn ends(interval: Option<Interval>) -> Option<[f64; 2]> {
    interval.map(|interval| [interval.low, interval.high])
}

impl DiffReport {
    /// Folded stacks of both sides, one line a context with own time in either, `[service] operation;... A B` in
    /// microseconds: what `difffolded.pl` writes and `flamegraph.pl` reads.
    pub fn to_folded(&self) -> String {
        fold(self.nodes.iter().map(|node| {
            let (a, b) = (node.a.exclusive.sum, node.b.exclusive.sum);
            (node.parent, self.name(node.endpoint), (a > 0 || b > 0).then(|| format!("{a} {b}")))
        }))
    }

    /// The JSON of the command `compare --json`: see `docs/report-schema.md`.
    ///
    /// # Errors
    /// Only if serde_json refuses a number, which no report holds.
    pub fn to_json(&self, basis: Basis, measure: Measure) -> serde_json::Result<String> {
        let side = |side: &DiffSide| JsonSide {
            set: if side.selection.group == 0 { "A" } else { "B" },
            band: percent(side.selection.range),
            requests: side.facts.requests,
            latency_us: side.facts.latency_us,
            latency_sum_us: side.facts.latency_sum_us,
        };
        let frame = |sums: &FrameSums, side: &DiffSide| {
            let total = side.facts.latency_sum_us;
            let time = |sum: u64, mean: f64| JsonTime {
                sum,
                mean,
                share: if total == 0 { 0.0 } else { sum as f64 / total as f64 },
            };
            let requests = side.facts.requests;
            JsonFrame {
                requests: sums.requests,
                exclusive_us: time(sums.exclusive.sum, sums.exclusive.mean(requests)),
                subtree_us: time(sums.subtree.sum, sums.subtree.mean(requests)),
                example: sums.example.and_then(|at| self.examples.get(at as usize)).map(|request| {
                    JsonExample {
                        trace_id: &request.trace_id,
                        root_span_id: &request.root_span_id,
                        latency_us: request.latency_us,
                        subtree_us: sums.example_us,
                    }
                }),
            }
        };
        let nodes = self.nodes.iter().enumerate().map(|(id, node)| {
            let (service, operation) = self.name(node.endpoint);
            let change = self.change(id as u32, basis, measure);
            JsonNode {
                id,
                parent: node.parent,
                service,
                operation,
                a: frame(&node.a, &self.a),
                b: frame(&node.b, &self.b),
                change: change.change,
                interval: ends(change.interval),
                noise: change.is_noise,
                new: node.presence() == Presence::New,
                gone: node.presence() == Presence::Gone,
            }
        });
        let changes = self.ranking(basis, measure).into_iter().enumerate().map(|(place, row)| {
            let node = &self.nodes[row.node as usize];
            let (service, operation) = self.name(node.endpoint);
            JsonChange {
                rank: place + 1,
                node: row.node,
                service,
                operation,
                measure: row.measure.name(),
                a: row.change.a,
                b: row.change.b,
                change: row.change.change,
                interval: ends(row.change.interval),
                noise: row.change.is_noise,
                new: node.presence() == Presence::New,
                gone: node.presence() == Presence::Gone,
            }
        });
        let services = self.services.iter().map(|row: &ServiceChange| JsonService {
            service: &row.service,
            rank: row.rank,
            a_us: row.a_us,
            b_us: row.b_us,
            change_us: row.change_us,
            interval: ends(row.interval),
        });
        serde_json::to_string_pretty(&Json {
            a: side(&self.a),
            b: side(&self.b),
            by: basis.name(),
            measure: measure.name(),
            nodes: nodes.collect(),
            changes: changes.collect(),
            services: services.collect(),
        })
    }
}
