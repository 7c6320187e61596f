//! Shares of latency with their bootstrap intervals, given where requests are few.

use super::{Collapser, PathTable};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{FEW, Interval, Weight, WholeAndParts, share_intervals};
use pathlight_trace::TraceSet;
use serde::{Deserialize, Serialize};

/// Seed of the bootstrap.
const SEED: u64 = 7;

/// Latency and exclusive times by endpoint of each request of a part; none where they are too many for intervals.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FewRequests(Vec<WholeAndParts>);

impl FewRequests {
    /// Notes requests of a worker's table; `number` numbers endpoints of the set anew.
    pub fn observe(
        set: &TraceSet,
        table: &PathTable,
        requests: &[u32],
        mut number: impl FnMut(u32) -> u32,
        weight: impl Fn(u32) -> Weight,
    ) -> FewRequests {
        if requests.len() >= FEW {
            return FewRequests::default();
        }
        // Microseconds of all requests that one stands for.
        let weigh = |us: u64, request: u32| {
            let us = u128::from(us) * u128::from(weight(request).units()) / u128::from(Weight::UNITS);
            u64::try_from(us).unwrap_or(u64::MAX)
        };
        let mut collapser = Collapser::new(set);
        let of_request = |&request: &u32| {
            let entries = collapser.collapse(table, request).iter().filter(|entry| entry.exclusive_us > 0);
            let times = entries.map(|entry| (number(entry.endpoint.0), weigh(entry.exclusive_us, request)));
            (weigh(table.requests[request as usize].latency_us, request), times.collect())
        };
        FewRequests(requests.iter().map(of_request).collect())
    }

    /// Returns intervals of the shares that `n` endpoints have of all latency; `None` from [`FEW`] requests on, and where
    /// there is nothing to tell. Each part comes with the number that its endpoints have among the `n`.
    pub fn intervals(parts: Vec<(FewRequests, Vec<u32>)>, n: usize, requests: u64) -> Option<Vec<Interval>> {
        let mut all: Vec<WholeAndParts> = Vec::new();
        for (part, number) in parts {
            all.extend(part.0.into_iter().map(|(latency_us, mut times)| {
                times.iter_mut().for_each(|time| time.0 = number[time.0 as usize]);
                times.compact_sort();
                (latency_us, times)
            }));
        }
        let is_few = all.len() < FEW && all.len() as u64 == requests;
        is_few.then(|| share_intervals(all, n, SEED)).flatten()
    }
}
