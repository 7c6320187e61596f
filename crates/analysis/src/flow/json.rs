//! The reports as the JSON that the binary prints and the page exports: see `docs/report-schema.md`.

use super::nodes::EndpointName;
use super::report::{ErrorQuantiles, EvaluationReport, FlowParent, FlowReport};
use super::savings::{Saving, SavingsReport};
use super::whatif::{ShareChange, WhatIfReport};
use pathlight_model::stats::Summary;
use serde::Serialize;

#[derive(Serialize)]
struct FlowJson<'a> {
    parent: &'a EndpointName,
    invocations: u64,
    childless: u64,
    latency_us: Summary,
    return_us: Summary,
    repeats_kept: Option<u32>,
    nodes: Vec<NodeJson<'a>>,
    edges: Vec<EdgeJson<'a>>,
    sync_nodes: Vec<SyncJson<'a>>,
}

#[derive(Serialize)]
struct NodeJson<'a> {
    name: &'a str,
    service: &'a str,
    operation: &'a str,
    index: u32,
    invocations: u64,
    latency_us: Summary,
    wait_us: Summary,
    critical_share: f64,
}

#[derive(Serialize)]
struct EdgeJson<'a> {
    from: &'a str,
    to: &'a str,
    support: f64,
    invocations: u64,
    binding_share: f64,
}

#[derive(Serialize)]
struct SyncJson<'a> {
    from: Vec<&'a str>,
    to: Vec<&'a str>,
}

impl FlowReport {
    /// The label of a node number; `start` and `return` for the two ends.
    pub fn label(&self, node: u32) -> &str {
        match node {
            FlowReport::START => "start",
            FlowReport::RETURN => "return",
            _ => self.nodes.get(node as usize).map_or("", |n| &n.label),
        }
    }

    /// The JSON of the command `flow --json`.
    ///
    /// # Errors
    /// Only if serde_json refuses a number, which no report holds.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let names = |nodes: &[u32]| nodes.iter().map(|&node| self.label(node)).collect();
        serde_json::to_string_pretty(&FlowJson {
            parent: &self.parent,
            invocations: self.invocations,
            childless: self.childless,
            latency_us: self.latency_us,
            return_us: self.return_us,
            repeats_kept: self.repeats_kept,
            nodes: (self.nodes.iter())
                .map(|node| NodeJson {
                    name: &node.label,
                    service: &node.service,
                    operation: &node.operation,
                    index: node.index,
                    invocations: node.invocations,
                    latency_us: node.latency_us,
                    wait_us: node.wait_us,
                    critical_share: node.critical_share(),
                })
                .collect(),
            edges: (self.edges.iter())
                .map(|edge| EdgeJson {
                    from: self.label(edge.from),
                    to: self.label(edge.to),
                    support: edge.support(),
                    invocations: edge.both,
                    binding_share: edge.binding_share(),
                })
                .collect(),
            sync_nodes: (self.sync_nodes.iter())
                .map(|sync| SyncJson { from: names(&sync.from), to: names(&sync.to) })
                .collect(),
        })
    }
}

#[derive(Serialize)]
struct EvaluationJson<'a> {
    parent: Option<&'a EndpointName>,
    parents: u64,
    min_children: u32,
    train: u64,
    test: u64,
    methods: Vec<MethodJson<'a>>,
}

#[derive(Serialize)]
struct MethodJson<'a> {
    name: &'a str,
    /// JSON has no infinity: it is `null` here and below.
    error: ErrorQuantiles,
    ratios: &'a [f64],
    errors: &'a [f64],
}

impl EvaluationReport {
    /// The JSON of `flow --evaluate --json`.
    ///
    /// # Errors
    /// Only if serde_json refuses a number, which no report holds.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let methods = self.methods.iter().map(|method| MethodJson {
            name: &method.name,
            error: method.error,
            ratios: &method.ratios,
            errors: &method.errors,
        });
        serde_json::to_string_pretty(&EvaluationJson {
            parent: self.parent.as_ref(),
            parents: self.parents,
            min_children: self.min_children,
            train: self.train,
            test: self.test,
            methods: methods.collect(),
        })
    }
}

#[derive(Serialize)]
struct WhatIfJson<'a> {
    requests: u64,
    changed: u64,
    before: Summary,
    after: Summary,
    before_curve: &'a [f64],
    after_curve: &'a [f64],
    endpoints: &'a [ShareChange],
    model_error: Option<ErrorQuantiles>,
}

impl WhatIfReport {
    /// The JSON of `flow --what-if ... --json`; `back_test` is an evaluation on held-out traces, whose aggregate flow is
    /// the model.
    ///
    /// # Errors
    /// Only if serde_json refuses a number, which no report holds.
    pub fn to_json(&self, back_test: Option<&EvaluationReport>) -> serde_json::Result<String> {
        serde_json::to_string_pretty(&WhatIfJson {
            requests: self.requests,
            changed: self.changed,
            before: self.before_us,
            after: self.after_us,
            before_curve: &self.before_curve_us,
            after_curve: &self.after_curve_us,
            endpoints: &self.endpoints,
            model_error: back_test.and_then(EvaluationReport::flow_error),
        })
    }
}

impl EvaluationReport {
    /// The errors of the aggregate flow; `None` if nothing was tested.
    pub fn flow_error(&self) -> Option<ErrorQuantiles> {
        let method = self.methods.iter().find(|method| method.name == super::METHOD_NAMES[4])?;
        (self.test > 0).then_some(method.error)
    }
}

#[derive(Serialize)]
struct SavingsJson<'a> {
    requests: u64,
    latency_us: Summary,
    endpoints: Vec<SavingJson<'a>>,
    model_error: Option<ErrorQuantiles>,
}

#[derive(Serialize)]
struct SavingJson<'a> {
    service: &'a str,
    operation: &'a str,
    spans: u64,
    requests: u64,
    affected: u64,
    saved_us: SavedJson,
}

#[derive(Serialize)]
struct SavedJson {
    faster_10: Saving,
    faster_50: Saving,
    faster_100: Saving,
}

impl SavingsReport {
    /// The JSON of `flow --savings --json`; `back_test` as for [`WhatIfReport::to_json`].
    ///
    /// # Errors
    /// Only if serde_json refuses a number, which no report holds.
    pub fn to_json(&self, back_test: Option<&EvaluationReport>) -> serde_json::Result<String> {
        let endpoints = self.endpoints.iter().map(|e| SavingJson {
            service: &e.service,
            operation: &e.operation,
            spans: e.spans,
            requests: e.requests,
            affected: e.affected,
            saved_us: SavedJson { faster_10: e.levels[0], faster_50: e.levels[1], faster_100: e.levels[2] },
        });
        serde_json::to_string_pretty(&SavingsJson {
            requests: self.requests,
            latency_us: self.latency_us,
            endpoints: endpoints.collect(),
            model_error: back_test.and_then(EvaluationReport::flow_error),
        })
    }
}

/// The JSON of the parents that have a flow.
///
/// # Errors
/// Only if serde_json refuses a string, which it does not.
pub fn parents_to_json(parents: &[FlowParent]) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Json<'a> {
        parents: &'a [FlowParent],
    }
    serde_json::to_string_pretty(&Json { parents })
}
