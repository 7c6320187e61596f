//! The report of a search: spans by endpoint, and requests.

use super::{RequestSearch, SpanSearch, SpanTests};
use crate::flame::{Observer, PathTable};
use crate::requests::{RangeFacts, RequestRef};
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, EndpointId, Role, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Requests listed; of more, the slowest.
const MOST_REQUESTS: usize = 50_000;

/// The accumulator of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchPart {
    /// Spans found, by endpoint.
    endpoints: BTreeMap<Endpoint, u64>,
    requests: u64,
    found: Vec<RequestRef>,
}

/// An endpoint with spans that are found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundEndpoint {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Spans that are found.
    pub spans: u64,
}

/// Hits of a search in the requests of a percentile range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchReport {
    /// Requests and latencies of the percentile range.
    pub facts: RangeFacts,
    /// Spans found.
    pub spans: u64,
    /// Requests found.
    pub requests: u64,
    /// Endpoints with spans that are found, by service and operation.
    pub endpoints: Vec<FoundEndpoint>,
    /// Requests found, slowest first (ties by id), at most 50,000.
    pub found: Vec<RequestRef>,
}

/// Sorts, slowest first, ties by id, and keeps no more than are listed.
fn list(found: &mut Vec<RequestRef>) {
    found.compact_sort_by(|a, b| {
        (b.latency_us.cmp(&a.latency_us))
            .then_with(|| (&a.trace_id, &a.root_span_id).cmp(&(&b.trace_id, &b.root_span_id)))
    });
    found.truncate(MOST_REQUESTS);
}

impl SearchPart {
    /// Joins parts of disjoint requests and finishes.
    pub fn finish(parts: Vec<SearchPart>, facts: RangeFacts) -> SearchReport {
        let mut report = SearchReport { facts, ..SearchReport::default() };
        let mut endpoints: BTreeMap<Endpoint, u64> = BTreeMap::new();
        for part in parts {
            report.requests += part.requests;
            report.found.extend(part.found);
            for (endpoint, spans) in part.endpoints {
                report.spans += spans;
                *endpoints.entry(endpoint).or_default() += spans;
            }
        }
        list(&mut report.found);
        report.endpoints =
            endpoints.into_iter().map(|(endpoint, spans)| FoundEndpoint { endpoint, spans }).collect();
        report
    }
}

/// Searches the requests of one worker.
pub struct SearchObserver {
    tests: SpanTests,
    /// Spans found, by endpoint.
    spans: Vec<u64>,
    part: SearchPart,
}

impl SearchObserver {
    /// Returns an observer of requests of this set.
    pub fn new(set: &TraceSet, search: &SpanSearch) -> SearchObserver {
        SearchObserver {
            tests: SpanTests::new(set, search),
            spans: vec![0; set.endpoints().len()],
            part: SearchPart::default(),
        }
    }
}

impl Observer for SearchObserver {
    type Part = SearchPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let entry = &table.requests[request as usize];
        let root = entry.row - tree.first;
        let mut whole = RequestSearch::new(&self.tests);
        for i in root..tree.subtree_end[root as usize] {
            if tree.role[i as usize] == Role::Dropped {
                continue;
            }
            let row = tree.row(i);
            whole.observe(&self.tests, set, row);
            if self.tests.finds(set, row) {
                self.spans[set.endpoint(row).0 as usize] += 1;
            }
        }
        if whole.is_found(&self.tests) {
            self.part.requests += 1;
            self.part.found.push(RequestRef::of(set, entry));
            // Sorting now and then keeps no more than twice what is listed.
            if self.part.found.len() >= 2 * MOST_REQUESTS {
                list(&mut self.part.found);
            }
        }
    }

    fn finish(mut self, set: &TraceSet) -> SearchPart {
        list(&mut self.part.found);
        let found = self.spans.iter().enumerate().filter(|(_, spans)| **spans > 0);
        self.part.endpoints =
            found.map(|(at, spans)| (set.owned_endpoint(EndpointId(at as u32)), *spans)).collect();
        self.part
    }
}
