//! The accumulator of the error analysis.

use super::report::{ErrorNode, ErrorRow, ErrorTotals, ErrorsReport};
use crate::critical_path::{Contexts, RequestRef, unpack_sorted};
use crate::ids::{EndpointId, NodeId};
use crate::requests::{PercentileRange, RangeFacts};
use pathlight_model::ordered::OrderedMap;
use pathlight_model::sort::Arrange;
use pathlight_model::stats::Summary;
use pathlight_model::trace::{Endpoint, NO_ROW};
use serde::{Deserialize, Serialize};

/// What the requests of one worker have of errors.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ErrorsPart {
    pub(super) totals: ErrorTotals,
    /// Latencies without the erroring spans, sorted and packed.
    pub(super) without_us: Vec<u64>,
    /// Rows by name; numbered once they are merged.
    pub(super) endpoints: Vec<(Endpoint, ErrorRow)>,
    pub(super) contexts: Contexts<ContextSums>,
}

impl ErrorRow {
    fn merge(&mut self, other: ErrorRow) {
        self.spans += other.spans;
        self.own += other.own;
        self.propagated += other.propagated;
        self.stopped += other.stopped;
        self.requests += other.requests;
        self.path_spans += other.path_spans;
        self.path_errors += other.path_errors;
        self.path_us += other.path_us;
        self.path_error_us += other.path_error_us;
        self.without_path_us += other.without_path_us;
        self.saved_us += other.saved_us;
        if let Some(example) = other.example {
            self.offer(example);
        }
    }

    /// Keeps the slower request (ties: smaller ids).
    pub(super) fn offer(&mut self, request: RequestRef) {
        let key = |r: &RequestRef| std::cmp::Reverse(r.latency_us);
        match &mut self.example {
            Some(kept) if (key(kept), &*kept) <= (key(&request), &request) => {}
            kept => *kept = Some(request),
        }
    }
}

/// One calling context on critical paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ContextSums {
    pub own: u64,
    pub propagated: u64,
    pub stopped: u64,
    /// Requests in which a span in error is here or below.
    pub requests: u64,
    /// Exclusive time in its spans in error.
    pub error_us: u64,
}

impl ErrorsPart {
    /// Joins parts of disjoint requests and finishes.
    pub fn finish(parts: Vec<ErrorsPart>, range: PercentileRange, facts: RangeFacts) -> ErrorsReport {
        let mut totals = ErrorTotals::default();
        let mut without_us = Vec::new();
        let mut endpoints: OrderedMap<Endpoint, ErrorRow> = OrderedMap::new();
        let mut forests = Vec::new();
        for part in parts {
            totals.merge(part.totals);
            without_us.extend(unpack_sorted(part.without_us));
            for (name, sums) in part.endpoints {
                endpoints.entry(name).or_default().merge(sums);
            }
            forests.push(part.contexts);
        }
        without_us.sort();
        let contexts = Contexts::merge(forests, |into, from| {
            into.own += from.own;
            into.propagated += from.propagated;
            into.stopped += from.stopped;
            into.requests += from.requests;
            into.error_us += from.error_us;
        });
        // Every context on a path is one of an endpoint of the requests, and both are by name.
        let names: Vec<Endpoint> = endpoints.keys().cloned().collect();
        let number = |name: &Endpoint| names.binary_search(name).map_or(NO_ROW, |n| n as u32);
        let number_of: Vec<u32> = contexts.endpoints.iter().map(number).collect();
        let mut nodes: Vec<ErrorNode> = Vec::with_capacity(contexts.nodes.len());
        for node in &contexts.nodes {
            let ContextSums { own, propagated, stopped, requests, error_us } = node.value;
            nodes.push(ErrorNode {
                parent: (node.parent != NO_ROW).then_some(NodeId(node.parent)),
                endpoint: EndpointId(number_of[node.endpoint as usize]),
                own,
                propagated,
                stopped,
                requests,
                error_us,
                subtree_us: error_us,
                subtree_errors: own + propagated,
            });
        }
        for i in (0..nodes.len()).rev() {
            if let Some(parent) = nodes[i].parent {
                nodes[parent.index()].subtree_us += nodes[i].subtree_us;
                nodes[parent.index()].subtree_errors += nodes[i].subtree_errors;
            }
        }
        let mut rows: Vec<ErrorRow> = (endpoints.into_values().enumerate())
            .map(|(number, row)| ErrorRow { endpoint: EndpointId(number as u32), ..row })
            .collect();
        // Stable: equal ones stay by name.
        rows.arrange_by_key(|row| std::cmp::Reverse((row.own, row.propagated, row.stopped)));
        let without_us = Summary::of_sorted(&without_us);
        ErrorsReport { range: Some(range), facts, totals, without_us, endpoints: names, rows, nodes }
    }
}
