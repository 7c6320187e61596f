//! Requests that answer and go on: what work takes the time after their answer (`docs/definitions/critical-path.md` section 9).

use super::candidates::untested_finding;
use super::{Finding, FindingFacts, FindingPlace, WorkAfterFacts};
use crate::EngineError;
use crate::flame::Collapser;
use crate::requests::{RequestRef, RequestType, Selection, Until};
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use futures_util::future::try_join;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Work goes on for long if all is done so many times as late as the answer.
const LONG: (u128, u128) = (3, 2);
/// Request types that are reported.
const MOST: usize = 3;

/// The requests of one type.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct TypeTimes {
    requests: u64,
    latency_us: u128,
    /// Self time on the paths by endpoint, and whether it is a queue.
    endpoints: BTreeMap<(Endpoint, bool), u128>,
    slowest: RequestRef,
}

impl TypeTimes {
    fn merge(&mut self, other: TypeTimes) {
        self.requests += other.requests;
        self.latency_us += other.latency_us;
        for (endpoint, us) in other.endpoints {
            *self.endpoints.entry(endpoint).or_default() += us;
        }
        self.take_slower(other.slowest);
    }

    fn take_slower(&mut self, other: RequestRef) {
        let key = |of: &RequestRef| (Reverse(of.latency_us), of.trace_id.clone(), of.root_span_id.clone());
        if self.slowest.trace_id.is_empty() || key(&other) < key(&self.slowest) {
            self.slowest = other;
        }
    }
}

/// Times on the paths of requests by type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TypeTimesPass;

impl RequestPass for TypeTimesPass {
    type Part = BTreeMap<RequestType, TypeTimes>;
    const IS_BY_TYPE: bool = true;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        over.sweep(|rows| {
            let mut part: BTreeMap<RequestType, TypeTimes> = BTreeMap::new();
            let mut sums: BTreeMap<(u32, u32, bool), u128> = BTreeMap::new();
            let mut of_type: BTreeMap<u32, TypeTimes> = BTreeMap::new();
            let mut collapser = Collapser::new(rows.set);
            for request in rows.numbers() {
                let (kind, facts) = (rows.types.of(request), &rows.table.requests[request as usize]);
                for entry in collapser.collapse(rows.table, request) {
                    // Only queues are on the path without a span.
                    let key = (kind, entry.endpoint.0, entry.spans == 0);
                    *sums.entry(key).or_default() += u128::from(entry.exclusive_us);
                }
                let times = of_type.entry(kind).or_default();
                times.requests += 1;
                times.latency_us += u128::from(facts.latency_us);
                if facts.latency_us >= times.slowest.latency_us {
                    times.take_slower(RequestRef::of(rows.set, facts));
                }
            }
            for ((kind, endpoint, is_queue), us) in sums {
                let endpoint = rows.set.owned_endpoint(pathlight_trace::EndpointId(endpoint));
                of_type.entry(kind).or_default().endpoints.insert((endpoint, is_queue), us);
            }
            let name = |kind: u32| rows.types.names()[kind as usize].clone();
            part.extend(of_type.into_iter().map(|(kind, times)| (name(kind), times)));
            part
        })
    }
}

/// Returns the request types of which much is done after the answer, most time first; none if nothing can go on.
pub(super) async fn work_after(
    workers: &Workers,
    selection: &Selection,
) -> Result<Vec<Finding>, EngineError> {
    let answers = selection.at_any_latency();
    let (requests, facts) = workers.cut(&answers).await?;
    if facts.coverage.async_spans == 0 && !workers.connections().await?.has_links {
        return Ok(Vec::new());
    }
    let done = Selection { until: Until::Done, ..answers.clone() };
    let followed = async { workers.requests(&done).await?.partials(TypeTimesPass).await };
    let (before, after) = try_join(requests.partials(TypeTimesPass), followed).await?;
    let joined = |parts: Vec<BTreeMap<RequestType, TypeTimes>>| {
        let mut sum: BTreeMap<RequestType, TypeTimes> = BTreeMap::new();
        for (name, times) in parts.into_iter().flatten() {
            sum.entry(name).or_default().merge(times);
        }
        sum
    };
    let before = joined(before);
    let mut found: Vec<(u128, Finding)> = Vec::new();
    for (name, done) in joined(after) {
        let Some(answer) = before.get(&name) else { continue };
        if done.latency_us * LONG.1 > answer.latency_us * LONG.0 {
            let later_us = done.latency_us - answer.latency_us;
            found.push((later_us, finding(name, answer, &done, facts.requests)));
        }
    }
    // Stable: equal ones stay by name.
    found.compact_sort_by_key(|(later_us, _)| Reverse(*later_us));
    Ok(found.into_iter().take(MOST).map(|(_, finding)| finding).collect())
}

fn finding(name: RequestType, answer: &TypeTimes, done: &TypeTimes, of: u64) -> Finding {
    let mean = |us: u128| us as f64 / done.requests.max(1) as f64;
    let later = |(key, us): (&(Endpoint, bool), &u128)| {
        us.saturating_sub(answer.endpoints.get(key).copied().unwrap_or(0))
    };
    // The last of equal ones is taken: the first by name.
    let largest = done.endpoints.iter().rev().max_by_key(|of| later(*of));
    let largest = largest.map(|of| (of.0.0.clone(), mean(later(of)), of.0.1));
    let facts =
        WorkAfterFacts { answer_us: mean(answer.latency_us), done_us: mean(done.latency_us), largest };
    let place = FindingPlace::RequestType(name);
    let example = Some(done.slowest.clone());
    Finding { example, ..untested_finding(place, done.requests, of, FindingFacts::WorkAfter(facts)) }
}
