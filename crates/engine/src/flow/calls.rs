//! Calls of an endpoint or into a service, and their latencies before and after a change, by endpoint.

use super::CallTarget;
use crate::flame::{pack_sorted, unpack_sorted};
use crate::verdict::ServiceCalls;
use pathlight_trace::{Endpoint, EndpointId, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Choice of the calls that a what-if lists one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallsOf {
    /// Nobody's.
    #[default]
    Nobody,
    /// Those of one target.
    Target(CallTarget),
    /// The calls of all endpoints.
    All,
}

/// Latencies of the calls of an endpoint in the selected requests, requests themselves among them; those that nothing waits
/// for are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallTimes {
    /// Latencies as they are in microseconds, sorted.
    pub before_us: Vec<u64>,
    /// After the change, sorted.
    pub after_us: Vec<u64>,
}

impl CallTimes {
    /// Returns all of these together.
    pub(super) fn joined(parts: impl IntoIterator<Item = CallTimes>) -> CallTimes {
        let mut all = CallTimes::default();
        for mut part in parts {
            all.before_us.append(&mut part.before_us);
            all.after_us.append(&mut part.after_us);
        }
        all.sort();
        all
    }

    fn each(&mut self, change: impl Fn(Vec<u64>) -> Vec<u64>) {
        for list in [&mut self.before_us, &mut self.after_us] {
            *list = change(std::mem::take(list));
        }
    }

    fn sort(&mut self) {
        self.each(|mut list| {
            list.sort_unstable();
            list
        });
    }
}

/// [`CallTimes`] by endpoint, packed: the accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PackedCalls(BTreeMap<Endpoint, CallTimes>);

impl PackedCalls {
    /// Joins accumulators of disjoint requests; the result does not depend on their order.
    pub fn merge(parts: Vec<PackedCalls>) -> PackedCalls {
        let mut sum: BTreeMap<Endpoint, CallTimes> = BTreeMap::new();
        for part in parts {
            for (name, mut times) in part.unpack() {
                let into = sum.entry(name).or_default();
                into.before_us.append(&mut times.before_us);
                into.after_us.append(&mut times.after_us);
            }
        }
        for times in sum.values_mut() {
            times.sort();
            times.each(pack_sorted);
        }
        PackedCalls(sum)
    }

    /// Returns the calls of each endpoint.
    pub fn unpack(mut self) -> BTreeMap<Endpoint, CallTimes> {
        self.0.values_mut().for_each(|times| times.each(unpack_sorted));
        self.0
    }
}

/// Finds the calls of a target in one set.
pub(super) enum CallSpans {
    /// Spans of an endpoint, if the set has it.
    Endpoint(Option<EndpointId>),
    /// Calls into a service.
    Service(ServiceCalls),
}

impl CallSpans {
    /// Returns the calls of a target in this set.
    pub fn new(set: &TraceSet, of: &CallTarget) -> CallSpans {
        match of {
            CallTarget::Endpoint(Endpoint { service, operation }) => {
                CallSpans::Endpoint(set.find_endpoint(service, operation))
            }
            CallTarget::Service(service) => CallSpans::Service(ServiceCalls::new(set, service)),
        }
    }

    /// Returns whether a span is one of them.
    pub fn has(&self, set: &TraceSet, tree: &Tree, span: u32) -> bool {
        match self {
            CallSpans::Endpoint(endpoint) => *endpoint == Some(set.endpoint(tree.row(span))),
            CallSpans::Service(calls) => calls.has(set, tree, span),
        }
    }
}

/// Collects the calls of one set.
pub(super) struct CallList {
    wanted: WantedCalls,
    by_endpoint: Vec<CallTimes>,
}

enum WantedCalls {
    Nobody,
    Of(CallSpans),
    All,
}

impl CallList {
    pub fn new(set: &TraceSet, of: &CallsOf) -> CallList {
        let wanted = match of {
            CallsOf::Nobody => WantedCalls::Nobody,
            CallsOf::Target(target) => WantedCalls::Of(CallSpans::new(set, target)),
            CallsOf::All => WantedCalls::All,
        };
        CallList { wanted, by_endpoint: vec![CallTimes::default(); set.endpoints().len()] }
    }

    /// Returns whether no call is asked about.
    pub fn is_empty(&self) -> bool {
        matches!(self.wanted, WantedCalls::Nobody | WantedCalls::Of(CallSpans::Endpoint(None)))
    }

    /// Adds a call, if it is asked about: its latency before and after.
    pub fn add(&mut self, set: &TraceSet, tree: &Tree, span: u32, [before_us, after_us]: [u64; 2]) {
        let is_wanted = match &self.wanted {
            WantedCalls::Nobody => false,
            WantedCalls::Of(calls) => calls.has(set, tree, span),
            WantedCalls::All => true,
        };
        if is_wanted {
            let times = &mut self.by_endpoint[set.endpoint(tree.row(span)).0 as usize];
            times.before_us.push(before_us);
            times.after_us.push(after_us);
        }
    }

    /// Finishes the run; returns its accumulator.
    pub fn finish(self, set: &TraceSet) -> PackedCalls {
        let found = set.endpoints().zip(self.by_endpoint).filter(|(_, times)| !times.before_us.is_empty());
        let packed = found.map(|((service, operation), mut times)| {
            times.sort();
            times.each(pack_sorted);
            (Endpoint::new(service, operation), times)
        });
        PackedCalls(packed.collect())
    }
}
