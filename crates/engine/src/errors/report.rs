//! The report of the error analysis.

use super::ErrorMessages;
use crate::flame::{ContextNode, CriticalPathReport, TooDeep, Weight, fold};
use crate::ids::{NodeId, ReportEndpoint};
use crate::requests::{PercentileRange, RangeFacts, RequestRef};
use pathlight_base::statistics::Percentiles;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sums over all requests of a percentile range, by weight.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorTotals {
    /// Requests with a span in error.
    pub requests: u64,
    /// Requests with one on the critical path.
    pub path_requests: u64,
    /// Requests whose root is in error.
    pub failed_requests: u64,
    /// Spans.
    pub spans: u64,
    /// Errors that start: no child is in error.
    pub own: u64,
    /// Errors passed on: some child is in error too.
    pub propagated: u64,
    /// Spans without an error of which some child is in error.
    pub stopped: u64,
    /// Sum of the durations of all spans that are waited for, in microseconds.
    pub work_us: u128,
    /// The part of it in erroring spans.
    pub work_saved_us: u128,
    /// Time on critical paths in erroring spans and all below them.
    pub inside_us: u128,
    /// Reduction of the latencies without the erroring spans.
    pub saved_us: u128,
    /// The part of it that is the latency of requests whose root is in error.
    pub failed_us: u128,
}

impl ErrorTotals {
    /// Adds the totals of other requests.
    pub(super) fn merge(&mut self, other: ErrorTotals) {
        self.requests += other.requests;
        self.path_requests += other.path_requests;
        self.failed_requests += other.failed_requests;
        self.spans += other.spans;
        self.own += other.own;
        self.propagated += other.propagated;
        self.stopped += other.stopped;
        self.work_us = self.work_us.saturating_add(other.work_us);
        self.work_saved_us = self.work_saved_us.saturating_add(other.work_saved_us);
        self.inside_us = self.inside_us.saturating_add(other.inside_us);
        self.saved_us = self.saved_us.saturating_add(other.saved_us);
        self.failed_us = self.failed_us.saturating_add(other.failed_us);
    }

    pub(super) fn counts(&self) -> [u64; 7] {
        [
            self.spans,
            self.own,
            self.propagated,
            self.stopped,
            self.requests,
            self.path_requests,
            self.failed_requests,
        ]
    }

    /// Returns the spans in error.
    pub fn errors(&self) -> u64 {
        self.own + self.propagated
    }
}

/// One endpoint of the requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorRow {
    /// Index into [`ErrorsReport::endpoints`].
    pub endpoint: ReportEndpoint,
    /// Its spans.
    pub spans: u64,
    /// Errors that start in it.
    pub own: u64,
    /// Errors passed on by it.
    pub propagated: u64,
    /// Errors of its children that end in it.
    pub stopped: u64,
    /// Requests in which it is in error.
    pub requests: u64,
    /// Its spans on critical paths.
    pub path_spans: u64,
    /// Errors among them.
    pub path_errors: u64,
    /// Exclusive time of its spans on critical paths in microseconds.
    pub path_us: u128,
    /// The part of it in spans in error.
    pub path_error_us: u128,
    /// Exclusive time on the critical paths that requests would have without any erroring span.
    pub without_path_us: u128,
    /// Reduction of the latencies without its spans in error alone. In each request those 64 endpoints are
    /// tried whose errors take the most time on the path.
    pub saved_us: u128,
    /// The slowest request in which an error starts here.
    pub example: Option<RequestRef>,
}

impl ErrorRow {
    /// Returns the spans in error.
    pub fn errors(&self) -> u64 {
        self.own + self.propagated
    }

    /// Returns whether errors start in it, pass through it or end in it.
    pub fn has_errors(&self) -> bool {
        self.errors() + self.stopped > 0
    }

    /// Returns the share of its spans on critical paths that are in error, 0 to 1; `None` if none is there.
    pub fn path_share(&self) -> Option<f64> {
        (self.path_spans > 0).then(|| self.path_errors as f64 / self.path_spans as f64)
    }
}

/// A calling context on the way to spans in error on critical paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorNode {
    /// Index of the parent node; `None` for a root. Parents come first, siblings by (service, operation).
    pub parent: Option<NodeId>,
    /// Index into [`ErrorsReport::endpoints`].
    pub endpoint: ReportEndpoint,
    /// Its spans on critical paths in which an error starts.
    pub own: u64,
    /// Those that pass one on.
    pub propagated: u64,
    /// Those that stop one.
    pub stopped: u64,
    /// Requests in which a span in error is here or below.
    pub requests: u64,
    /// Exclusive time on critical paths of its spans in error in microseconds.
    pub error_us: u128,
    /// The same of it and all below.
    pub subtree_us: u128,
    /// Spans in error of it and all below.
    pub subtree_errors: u64,
}

/// Endpoints that were not tried: in a request with errors of many endpoints on its path, only those with the most time
/// are taken out each for itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Untried {
    /// Requests with such endpoints.
    pub requests: u64,
    /// Number of requests in which each endpoint was not tried, by name: it would save at least what its row says.
    pub endpoints: Vec<(Endpoint, u64)>,
}

/// Errors in the requests of a percentile range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorsReport {
    /// The percentile range.
    pub range: Option<PercentileRange>,
    /// Facts of its requests.
    pub facts: RangeFacts,
    /// Sums.
    pub totals: ErrorTotals,
    /// Latency without the erroring spans.
    pub without_us: Percentiles,
    /// Endpoints as (service, operation), sorted.
    pub endpoints: Vec<Endpoint>,
    /// One row an endpoint of the requests, most own errors first, then most passed on, most stopped (ties by name).
    pub rows: Vec<ErrorRow>,
    /// The error paths: nodes in pre-order.
    pub nodes: Vec<ErrorNode>,
    /// Endpoints that were not tried; unknown of a summary.
    pub untried: Untried,
    /// What errors say; unknown of a summary.
    pub messages: ErrorMessages,
}

impl Untried {
    /// Returns what was not tried in disjoint sets of requests, as one.
    pub(super) fn merge(parts: Vec<Untried>) -> Untried {
        let requests = parts.iter().map(|part| part.requests).sum();
        let mut endpoints: BTreeMap<Endpoint, u64> = BTreeMap::new();
        for (name, requests) in parts.into_iter().flat_map(|part| part.endpoints) {
            *endpoints.entry(name).or_default() += requests;
        }
        Untried { requests, endpoints: endpoints.into_iter().collect() }
    }
}

impl ErrorsReport {
    /// Returns the error paths as folded stacks, weighed by the time in erroring spans.
    ///
    /// # Errors
    /// [`TooDeep`].
    pub fn to_folded(&self) -> Result<String, TooDeep> {
        fold(self.nodes.iter().map(|node| {
            let error_us = node.error_us;
            (node.parent, self.name(node.endpoint), (error_us > 0).then_some(error_us))
        }))
    }

    /// Returns the error paths as calling contexts whose time is that of spans in error: what a flame graph of them
    /// draws. Nodes and endpoints have the same numbers.
    pub fn paths(&self) -> CriticalPathReport {
        let node = |node: &ErrorNode| ContextNode {
            parent: node.parent,
            endpoint: node.endpoint,
            exclusive_us: Weight {
                sum: node.error_us,
                mean: node.error_us as f64 / self.facts.weights().requests().max(1.0),
                ..Weight::default()
            },
            inclusive_us: Weight::default(),
            subtree_us: node.subtree_us,
            requests: node.requests,
            spans: node.own + node.propagated + node.stopped,
            errors: node.own + node.propagated,
            waiting: Vec::new(),
            exemplars: Vec::new(),
        };
        CriticalPathReport {
            range: self.range,
            facts: self.facts.clone(),
            endpoints: self.endpoints.clone(),
            nodes: self.nodes.iter().map(node).collect(),
            examples: Vec::new(),
        }
    }

    /// Returns the number of requests that those of the percentile range stand for: what the numbers of requests here are of.
    pub fn requests(&self) -> u64 {
        self.facts.weights().rounded()
    }

    /// Returns the service and operation of an endpoint number.
    pub fn name(&self, endpoint: ReportEndpoint) -> (&str, &str) {
        self.endpoints.get(endpoint.index()).map_or(("", ""), Endpoint::names)
    }
}
