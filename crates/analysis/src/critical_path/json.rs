//! The report as the JSON that the binary prints and the page exports, and as folded stacks.

use super::report::{CriticalPathReport, Exemplar, Weight};
use crate::requests::{PercentileRange, RangeFacts};
use pathlight_model::stats::Summary;
use serde::Serialize;
use std::fmt::{Display, Write as _};

#[derive(Serialize)]
struct Json<'a> {
    requests: u64,
    band: [f64; 2],
    latency_us: Summary,
    latency_sum_us: u64,
    nodes: Vec<JsonNode<'a>>,
}

#[derive(Serialize)]
struct JsonNode<'a> {
    id: usize,
    parent: Option<u32>,
    service: &'a str,
    operation: &'a str,
    exclusive_us: Weight,
    inclusive_us: Weight,
    subtree_us: u64,
    traces: u64,
    spans: u64,
    errors: u64,
    exemplars: &'a [Exemplar],
}

/// A percentile range as `[lo, hi]` in percent.
pub fn percent(range: PercentileRange) -> [f64; 2] {
    [f64::from(range.lo) / 1000.0, f64::from(range.hi) / 1000.0]
}

impl CriticalPathReport {
    /// The JSON of the command `critical-path --json`: see `docs/report-schema.md`.
    ///
    /// # Errors
    /// Only if serde_json refuses a number, which no report holds.
    pub fn to_json(&self) -> serde_json::Result<String> {
        let range = self.range.unwrap_or(PercentileRange::ALL);
        let nodes = self.nodes.iter().enumerate().map(|(id, node)| {
            let (service, operation) = self.name(node.endpoint);
            JsonNode {
                id,
                parent: node.parent,
                service,
                operation,
                exclusive_us: node.exclusive_us,
                inclusive_us: node.inclusive_us,
                subtree_us: node.subtree_us,
                traces: node.requests,
                spans: node.spans,
                errors: node.errors,
                exemplars: &node.exemplars,
            }
        });
        let RangeFacts { requests, latency_us, latency_sum_us, .. } = self.facts;
        serde_json::to_string_pretty(&Json {
            requests,
            band: percent(range),
            latency_us,
            latency_sum_us,
            nodes: nodes.collect(),
        })
    }

    /// Service and operation of an endpoint number.
    pub fn name(&self, endpoint: u32) -> (&str, &str) {
        self.endpoints.get(endpoint as usize).map_or(("", ""), |(s, o)| (s, o))
    }

    /// The contexts with exclusive time as folded stacks.
    pub fn to_folded(&self) -> String {
        fold(self.nodes.iter().map(|node| {
            let own_us = node.exclusive_us.sum;
            (node.parent, self.name(node.endpoint), (own_us > 0).then_some(own_us))
        }))
    }
}

/// Folded stacks of nodes in pre-order, each with its parent, (service, operation) and what stands behind its stack:
/// one line a node with something there, `[service] operation;[service] operation us`. A semicolon or a line break
/// within a name becomes a colon or a space, since the format cannot say it.
pub fn fold<'a, T: Display>(
    nodes: impl Iterator<Item = (Option<u32>, (&'a str, &'a str), Option<T>)>,
) -> String {
    let mut out = String::new();
    // The way from the root to the node: numbers, and where the text of each ends.
    let mut way: Vec<(u32, usize)> = Vec::new();
    let mut text = String::new();
    for (number, (parent, (service, operation), own)) in nodes.enumerate() {
        while way.last().map(|&(number, _)| number) != parent && way.pop().is_some() {}
        text.truncate(way.last().map_or(0, |&(_, end)| end));
        let clean = |name: &str| name.replace(';', ":").replace(['\n', '\r'], " ");
        let separator = if text.is_empty() { "" } else { ";" };
        // Writing to a String cannot fail.
        let _ = write!(text, "{separator}[{}] {}", clean(service), clean(operation));
        way.push((number as u32, text.len()));
        if let Some(own) = own {
            let _ = writeln!(out, "{text} {own}");
        }
    }
    out
}
