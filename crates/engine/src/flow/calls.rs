//! Latencies of single calls before and after a change, by endpoint.

use crate::flame::{pack_sorted, unpack_sorted};
use pathlight_trace::{Endpoint, TraceSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Choice of the calls that a what-if lists one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallsOf {
    /// Nobody's.
    #[default]
    Nobody,
    /// The calls of one endpoint.
    Endpoint(Endpoint),
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

/// Collects the calls of one set.
pub(super) struct CallList {
    /// By endpoint of the set; `None` for those nobody asks about.
    by_endpoint: Vec<Option<CallTimes>>,
    is_empty: bool,
}

impl CallList {
    pub fn new(set: &TraceSet, of: &CallsOf) -> CallList {
        let is_wanted = |name: (&str, &str)| match of {
            CallsOf::Nobody => false,
            CallsOf::Endpoint(endpoint) => (&*endpoint.service, &*endpoint.operation) == name,
            CallsOf::All => true,
        };
        let by_endpoint: Vec<Option<CallTimes>> =
            set.endpoints().map(|name| is_wanted(name).then(CallTimes::default)).collect();
        CallList { is_empty: by_endpoint.iter().all(Option::is_none), by_endpoint }
    }

    /// Returns whether no call is asked about.
    pub fn is_empty(&self) -> bool {
        self.is_empty
    }

    /// Adds a call of an endpoint.
    pub fn add(&mut self, endpoint: u32, before_us: u64, after_us: u64) {
        if let Some(times) = &mut self.by_endpoint[endpoint as usize] {
            times.before_us.push(before_us);
            times.after_us.push(after_us);
        }
    }

    /// Finishes the run; returns its accumulator.
    pub fn finish(self, set: &TraceSet) -> PackedCalls {
        let found = set.endpoints().zip(self.by_endpoint).filter_map(|((service, operation), times)| {
            let mut times = times.filter(|times| !times.before_us.is_empty())?;
            times.sort();
            times.each(pack_sorted);
            Some((Endpoint::new(service, operation), times))
        });
        PackedCalls(found.collect())
    }
}
