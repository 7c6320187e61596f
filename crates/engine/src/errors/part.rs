//! The accumulator of the error analysis.

use super::{ErrorNode, ErrorRow, ErrorTotals, ErrorsReport, Untried};
use crate::flame::Contexts;
use crate::flame::TimeColumn;
use crate::ids::{NodeId, ReportEndpoint};
use crate::requests::{PercentileRange, RangeFacts, RequestRef};
use crate::summaries::section::Renaming;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Percentiles, Weight};
use pathlight_trace::{Endpoint, NO_ROW};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Errors in the requests of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ErrorsPart {
    pub(super) totals: ErrorTotals,
    /// Rows by name; numbered once they are merged.
    pub(super) endpoints: Vec<(Endpoint, ErrorRow)>,
    pub(super) contexts: Contexts<ContextSums>,
}

/// The same as version 1 of summaries has it.
#[derive(Deserialize)]
pub(super) struct Part1 {
    totals: ErrorTotals,
    /// Always empty.
    _without_us: Vec<u64>,
    endpoints: Vec<(Endpoint, ErrorRow)>,
    contexts: Contexts<ContextSums>,
}

impl From<Part1> for ErrorsPart {
    fn from(part: Part1) -> ErrorsPart {
        ErrorsPart { totals: part.totals, endpoints: part.endpoints, contexts: part.contexts }
    }
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
        self.path_us = self.path_us.saturating_add(other.path_us);
        self.path_error_us = self.path_error_us.saturating_add(other.path_error_us);
        self.without_path_us = self.without_path_us.saturating_add(other.without_path_us);
        self.saved_us = self.saved_us.saturating_add(other.saved_us);
        if let Some(example) = other.example {
            self.offer(example);
        }
    }

    fn counts(&self) -> [u64; 7] {
        [
            self.spans,
            self.own,
            self.propagated,
            self.stopped,
            self.requests,
            self.path_spans,
            self.path_errors,
        ]
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
    pub error_us: u128,
}

impl ContextSums {
    fn counts(&self) -> [u64; 4] {
        [self.own, self.propagated, self.stopped, self.requests]
    }
}

impl ErrorsPart {
    /// Joins parts of disjoint requests.
    pub fn merge(parts: Vec<ErrorsPart>) -> ErrorsPart {
        let mut totals = ErrorTotals::default();
        let mut endpoints: BTreeMap<Endpoint, ErrorRow> = BTreeMap::new();
        let mut forests = Vec::new();
        for part in parts {
            totals.merge(part.totals);
            for (name, sums) in part.endpoints {
                endpoints.entry(name).or_default().merge(sums);
            }
            forests.push(part.contexts);
        }
        let contexts = Contexts::merge(forests, |into, from| {
            into.own += from.own;
            into.propagated += from.propagated;
            into.stopped += from.stopped;
            into.requests += from.requests;
            into.error_us = into.error_us.saturating_add(from.error_us);
        });
        let endpoints = endpoints.into_iter().collect();
        ErrorsPart { totals, endpoints, contexts }
    }

    /// Renames a root endpoint; what it leaves has to be merged.
    pub(crate) fn rename(&mut self, renaming: Renaming<'_>) {
        let names = self.endpoints.iter_mut().map(|(name, _)| name).chain(&mut self.contexts.endpoints);
        names.for_each(|name| renaming.names(std::slice::from_mut(name)));
    }

    /// Returns numbers of requests and spans, and times in microseconds, rounded, of those in units of 1/256.
    #[must_use]
    pub fn rounded(mut self) -> ErrorsPart {
        const UNITS: u64 = Weight::UNITS as u64;
        let number = |n: &mut u64| *n = n.saturating_add(UNITS / 2) / UNITS;
        let time = |us: &mut u128| *us = us.saturating_add(u128::from(UNITS / 2)) / u128::from(UNITS);
        let totals = &mut self.totals;
        let ErrorTotals { requests, path_requests, failed_requests, spans, own, propagated, stopped, .. } =
            totals;
        [requests, path_requests, failed_requests, spans, own, propagated, stopped]
            .into_iter()
            .for_each(number);
        let ErrorTotals { work_us, work_saved_us, inside_us, saved_us, failed_us, .. } = totals;
        [work_us, work_saved_us, inside_us, saved_us, failed_us].into_iter().for_each(time);
        for (_, row) in &mut self.endpoints {
            let ErrorRow { spans, own, propagated, stopped, requests, path_spans, path_errors, .. } = row;
            [spans, own, propagated, stopped, requests, path_spans, path_errors].into_iter().for_each(number);
            let ErrorRow { path_us, path_error_us, without_path_us, saved_us, .. } = row;
            [path_us, path_error_us, without_path_us, saved_us].into_iter().for_each(time);
        }
        for node in &mut self.contexts.nodes {
            let ContextSums { own, propagated, stopped, requests, error_us } = &mut node.value;
            [own, propagated, stopped, requests].into_iter().for_each(number);
            time(error_us);
        }
        self
    }

    /// Returns whether it can be merged and asked, if it came from elsewhere: endpoints and contexts exist, and no
    /// number of spans or requests is above `most`. Times may be as long as they are.
    pub fn is_sound(&self, most: u64) -> bool {
        let names: BTreeSet<&Endpoint> = self.endpoints.iter().map(|(name, _)| name).collect();
        let rows = self.endpoints.iter().flat_map(|(_, row)| row.counts());
        let nodes = self.contexts.nodes.iter().flat_map(|node| node.value.counts());
        self.contexts.is_sound()
            && self.contexts.endpoints.iter().all(|name| names.contains(name))
            && self.totals.counts().into_iter().chain(rows).chain(nodes).all(|count| count <= most)
    }

    /// Joins parts of disjoint requests and finishes.
    pub(crate) fn finish(
        all: Vec<(ErrorsPart, Untried, TimeColumn)>,
        range: PercentileRange,
        facts: RangeFacts,
    ) -> ErrorsReport {
        let (mut parts, mut untried, mut without_us) = (Vec::new(), Vec::new(), Vec::new());
        for (part, of_untried, of_without) in all {
            parts.push(part);
            untried.push(of_untried);
            without_us.push(of_without);
        }
        let without_us = TimeColumn::percentiles(without_us.iter());
        let report = ErrorsPart::merge(parts).rounded().report(without_us, range, facts.by_weight());
        ErrorsReport { untried: Untried::merge(untried), ..report }
    }

    /// Finishes into a report; `without_us` is the latency without the erroring spans.
    pub fn report(self, without_us: Percentiles, range: PercentileRange, facts: RangeFacts) -> ErrorsReport {
        let ErrorsPart { totals, endpoints, contexts, .. } = self;
        let endpoints: BTreeMap<Endpoint, ErrorRow> = endpoints.into_iter().collect();
        // Every context on a path is one of an endpoint of the requests, and both are by name.
        let names: Vec<Endpoint> = endpoints.keys().cloned().collect();
        let number = |name: &Endpoint| names.binary_search(name).map_or(NO_ROW, |n| n as u32);
        let number_of: Vec<u32> = contexts.endpoints.iter().map(number).collect();
        let mut nodes: Vec<ErrorNode> = Vec::with_capacity(contexts.nodes.len());
        for node in &contexts.nodes {
            let ContextSums { own, propagated, stopped, requests, error_us } = node.value;
            nodes.push(ErrorNode {
                parent: (node.parent != NO_ROW).then_some(NodeId(node.parent)),
                endpoint: ReportEndpoint(number_of[node.endpoint as usize]),
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
                let below_us = nodes[i].subtree_us;
                nodes[parent.index()].subtree_us = nodes[parent.index()].subtree_us.saturating_add(below_us);
                nodes[parent.index()].subtree_errors += nodes[i].subtree_errors;
            }
        }
        let mut rows: Vec<ErrorRow> = (endpoints.into_values().enumerate())
            .map(|(number, row)| ErrorRow { endpoint: ReportEndpoint(number as u32), ..row })
            .collect();
        // Stable: equal ones stay by name.
        rows.compact_sort_by_key(|row| std::cmp::Reverse((row.own, row.propagated, row.stopped)));
        ErrorsReport {
            range: Some(range),
            facts,
            totals,
            without_us,
            endpoints: names,
            rows,
            nodes,
            ..ErrorsReport::default()
        }
    }
}
