//! The report as the JSON that the binary prints and the page exports, and as folded stacks.

use super::report::{ErrorNode, ErrorRow, ErrorsReport};
use crate::critical_path::{RequestRef, fold, percent};
use crate::requests::PercentileRange;
use pathlight_model::stats::Summary;
use serde::Serialize;

#[derive(Serialize)]
struct Json<'a> {
    requests: u64,
    band: [f64; 2],
    requests_with_errors: u64,
    requests_with_errors_on_path: u64,
    failed_requests: u64,
    spans: u64,
    own: u64,
    propagated: u64,
    stopped: u64,
    work_us: u64,
    work_saved_us: u64,
    latency_sum_us: u64,
    inside_us: u64,
    latency_saved_us: u64,
    failed_us: u64,
    latency_us: Summary,
    latency_without_us: Summary,
    endpoints: Vec<JsonRow<'a>>,
    nodes: Vec<JsonNode<'a>>,
}

#[derive(Serialize)]
struct JsonRow<'a> {
    service: &'a str,
    operation: &'a str,
    spans: u64,
    own: u64,
    propagated: u64,
    stopped: u64,
    requests: u64,
    path_spans: u64,
    path_errors: u64,
    path_error_share: Option<f64>,
    path_us: u64,
    path_error_us: u64,
    path_without_us: u64,
    latency_saved_us: u64,
    example: Option<&'a RequestRef>,
}

#[derive(Serialize)]
struct JsonNode<'a> {
    id: usize,
    parent: Option<u32>,
    service: &'a str,
    operation: &'a str,
    own: u64,
    propagated: u64,
    stopped: u64,
    requests: u64,
    error_us: u64,
    subtree_us: u64,
    subtree_errors: u64,
}

impl ErrorsReport {
    /// The JSON of the command `errors --json`: see `docs/report-schema.md`.
    ///
    /// # Errors
    /// Only if serde_json refuses a number, which no report holds.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let totals = &self.totals;
        serde_json::to_string_pretty(&Json {
            requests: self.facts.requests,
            band: percent(self.range.unwrap_or(PercentileRange::ALL)),
            requests_with_errors: totals.requests,
            requests_with_errors_on_path: totals.path_requests,
            failed_requests: totals.failed_requests,
            spans: totals.spans,
            own: totals.own,
            propagated: totals.propagated,
            stopped: totals.stopped,
            work_us: totals.work_us,
            work_saved_us: totals.work_saved_us,
            latency_sum_us: self.facts.latency_sum_us,
            inside_us: totals.inside_us,
            latency_saved_us: totals.saved_us,
            failed_us: totals.failed_us,
            latency_us: self.facts.latency_us,
            latency_without_us: self.without_us,
            endpoints: self.rows.iter().map(|row| self.json_row(row)).collect(),
            nodes: self.nodes.iter().enumerate().map(|(id, node)| self.json_node(id, node)).collect(),
        })
    }

    fn json_row<'a>(&'a self, row: &'a ErrorRow) -> JsonRow<'a> {
        let (service, operation) = self.name(row.endpoint);
        JsonRow {
            service,
            operation,
            spans: row.spans,
            own: row.own,
            propagated: row.propagated,
            stopped: row.stopped,
            requests: row.requests,
            path_spans: row.path_spans,
            path_errors: row.path_errors,
            path_error_share: row.path_share(),
            path_us: row.path_us,
            path_error_us: row.path_error_us,
            path_without_us: row.without_path_us,
            latency_saved_us: row.saved_us,
            example: row.example.as_ref(),
        }
    }

    fn json_node(&self, id: usize, node: &ErrorNode) -> JsonNode<'_> {
        let (service, operation) = self.name(node.endpoint);
        JsonNode {
            id,
            parent: node.parent,
            service,
            operation,
            own: node.own,
            propagated: node.propagated,
            stopped: node.stopped,
            requests: node.requests,
            error_us: node.error_us,
            subtree_us: node.subtree_us,
            subtree_errors: node.subtree_errors,
        }
    }

    /// The error paths as folded stacks, weighed by the time in erroring spans.
    pub fn to_folded(&self) -> String {
        fold(self.nodes.iter().map(|node| {
            let error_us = node.error_us;
            (node.parent, self.name(node.endpoint), (error_us > 0).then_some(error_us))
        }))
    }
}
