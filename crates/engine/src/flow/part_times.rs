//! What spans take that change together, such as those of a part of a service, by endpoint.

use super::placed::{SetSpans, TimedSpans};
use super::prepare::OwnTime;
use super::{Visit, WhichRequests};
use crate::flame::{pack_sorted, unpack_sorted};
use pathlight_trace::{Endpoint, EndpointId, Role, TraceRow, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Self times of some spans of requests, by endpoint: the accumulator. Spans that nothing waits for are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartTimes {
    /// Microseconds, sorted, as differences.
    by_endpoint: BTreeMap<Endpoint, Vec<u64>>,
}

impl PartTimes {
    /// Joins accumulators of disjoint requests; the result does not depend on their order.
    pub fn merge(parts: Vec<PartTimes>) -> PartTimes {
        let mut sum: BTreeMap<Endpoint, Vec<u64>> = BTreeMap::new();
        for (name, packed) in parts.into_iter().flat_map(|part| part.by_endpoint) {
            sum.entry(name).or_default().append(&mut unpack_sorted(packed));
        }
        PartTimes::of(sum)
    }

    /// Returns the accumulator of times in any order.
    pub(super) fn of(mut by_endpoint: BTreeMap<Endpoint, Vec<u64>>) -> PartTimes {
        for times in by_endpoint.values_mut() {
            times.sort_unstable();
            *times = pack_sorted(std::mem::take(times));
        }
        PartTimes { by_endpoint }
    }

    /// Returns the times of each endpoint in microseconds, sorted.
    pub fn unpack(self) -> BTreeMap<Endpoint, Vec<u64>> {
        self.by_endpoint.into_iter().map(|(name, packed)| (name, unpack_sorted(packed))).collect()
    }
}

/// Collects the times of some spans in the requests of one set.
pub struct PartTimesRun {
    requests: WhichRequests,
    spans: SetSpans,
    own: OwnTime,
    /// Roots of the requests of the trace at hand that are still to come, and what is left of the one at hand.
    roots: Vec<u32>,
    next: u32,
    end: u32,
    /// By endpoint of the set.
    times_us: Vec<Vec<u64>>,
}

impl PartTimesRun {
    /// Returns a run over the traces `set` holds now.
    pub(crate) fn new(set: &TraceSet, requests: WhichRequests, spans: &TimedSpans) -> PartTimesRun {
        PartTimesRun {
            requests,
            spans: SetSpans::new(set, spans),
            own: OwnTime::default(),
            roots: Vec::new(),
            next: 0,
            end: 0,
            times_us: vec![Vec::new(); set.endpoints().len()],
        }
    }

    /// Finishes the run; returns its accumulator.
    pub fn finish(self, set: &TraceSet) -> PartTimes {
        let found = self.times_us.into_iter().zip(0..).filter(|(times, _)| !times.is_empty());
        PartTimes::of(found.map(|(times, at)| (set.owned_endpoint(EndpointId(at)), times)).collect())
    }
}

impl Visit for PartTimesRun {
    fn wants(&mut self, set: &TraceSet, trace: &TraceRow) -> bool {
        self.requests.wants(set, trace)
    }

    fn begin(&mut self, set: &TraceSet, tree: &Tree) {
        self.requests.of(set, tree, &mut self.roots);
        (self.next, self.end) = (0, 0);
    }

    fn piece(&mut self, set: &TraceSet, tree: &Tree, _: &mut u32) -> Option<usize> {
        if self.next == self.end {
            self.next = self.roots.pop()?;
            self.end = tree.subtree_end[self.next as usize];
        } else if tree.role[self.next as usize] != Role::Sync {
            // Nothing waits for it, nor for what it calls.
            self.next = tree.subtree_end[self.next as usize];
            return Some(1);
        }
        let span = self.next;
        self.next += 1;
        if !self.spans.has(set, tree, span) {
            return Some(1);
        }
        let endpoint = set.named_endpoint(tree.row(span));
        self.times_us[endpoint.0 as usize].push(self.own.self_us(tree, span));
        Some(1 + tree.sync_children(span).count())
    }
}
