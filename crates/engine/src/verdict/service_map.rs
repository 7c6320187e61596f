//! The map of services: who calls whom, and how long requests wait for it (`docs/definitions/culprit.md` section 10).

use super::cells::TimeKey;
use super::drift::Drifts;
use super::excess::Scale;
use super::observe::NO_CALLER;
use super::{Certainty, ServicesObserver, ServicesPartial, ServicesReport};
use crate::flame::{Observer, PathTable};
use crate::requests::Weighing;
use pathlight_base::statistics::{Interval, Sample, Weights, welch};
use pathlight_trace::{Flags, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// An interval is as many standard deviations of drift wide, on each side.
const DEVIATIONS: f64 = 2.0;

/// A mean over all requests, microseconds per request; with a baseline also what it was there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MapTime {
    /// The mean, microseconds per request.
    pub mean_us: f64,
    /// The same of the baseline; `null` without one.
    pub baseline_us: Option<f64>,
    /// The 95 % interval of the change (Welch), wider by what drift could make of it; `null` without a baseline, or with
    /// fewer than two requests on a side.
    pub change_us: Option<Interval>,
}

/// A service of the map.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MapService {
    /// Name of the service.
    pub service: String,
    /// Its own work.
    pub own: MapTime,
    /// Requests that use it.
    pub requests: u64,
    /// How often it was entered.
    pub visits: u64,
    /// Visits with an error that begins in it.
    pub failed: u64,
    /// How sure it is that it got slower, as in the comparison of services; `None` if it did not, or without a baseline.
    pub slower: Option<Certainty>,
}

/// Calls of one service by another one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MapCall {
    /// Index of the calling service.
    pub caller: u32,
    /// Index of the service that answers.
    pub service: u32,
    /// How long requests wait for the answers, with all these wait for themselves.
    pub wait: MapTime,
    /// What of that passes outside the spans that answer, microseconds per request: network or queues.
    pub outside_us: f64,
    /// Number of calls.
    pub calls: u64,
    /// The same of the baseline.
    pub baseline_calls: Option<u64>,
    /// Calls whose answer is an error.
    pub failed: u64,
}

/// The services that requests use, and the calls between them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceMapReport {
    /// Requests looked at.
    pub requests: u64,
    /// Requests of the baseline.
    pub baseline_requests: Option<u64>,
    /// The latency of the requests.
    pub latency: MapTime,
    /// The services, those with most own work first (ties: by name); with a baseline also those that only it uses.
    pub services: Vec<MapService>,
    /// The calls, those waited for longest first (ties: by the names of the services).
    pub calls: Vec<MapCall>,
}

/// Sums of the calls of one service by another one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct CallSums {
    /// Time on critical paths in the answers and below, summed within each request.
    inside_us: Sample,
    /// The same with what passes outside.
    wait_us: Sample,
    calls: u64,
    failed: u64,
}

/// The calls between services in some requests, and the times of the services.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServiceMapPart {
    calls: BTreeMap<(String, String), CallSums>,
    services: ServicesPartial,
}

/// Observes the requests of one worker.
pub struct ServiceMapObserver {
    services: ServicesObserver,
    weighing: Weighing,
    /// By calling and answering service.
    calls: FxHashMap<(u32, u32), CallSums>,
    /// Times of the visits of the current request with all below.
    below_us: Vec<u64>,
    /// Visits around the current one, and how many of these are of each pair of services.
    open: Vec<u32>,
    pairs: FxHashMap<(u32, u32), u32>,
    in_request_us: FxHashMap<(u32, u32), (u64, u64)>,
}

impl ServiceMapObserver {
    /// Returns an observer that counts times of services as this one does, each request weighed so.
    pub(crate) fn new(services: ServicesObserver, weighing: Weighing) -> ServiceMapObserver {
        ServiceMapObserver {
            services: services.by(weighing),
            weighing,
            calls: FxHashMap::default(),
            below_us: Vec::new(),
            open: Vec::new(),
            pairs: FxHashMap::default(),
            in_request_us: FxHashMap::default(),
        }
    }

    /// Leaves the visits that a visit called by `caller` is not below.
    fn leave_until(&mut self, caller: u32) {
        let visits = self.services.visits();
        while let Some(&last) = self.open.last().filter(|&&last| last != caller) {
            if let Some(count) = pair(visits, last).and_then(|pair| self.pairs.get_mut(&pair)) {
                *count -= 1;
            }
            self.open.pop();
        }
    }
}

/// Returns the services that call and answer where a visit begins; `None` for that of the request itself.
fn pair(visits: &[super::observe::Visit], at: u32) -> Option<(u32, u32)> {
    let visit = &visits[at as usize];
    (visit.caller != NO_CALLER).then(|| (visits[visit.caller as usize].service, visit.service))
}

impl Observer for ServiceMapObserver {
    type Part = ServiceMapPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        self.services.observe(set, table, tree, request);
        let count = self.services.visits().len() as u32;
        self.below_us.clear();
        self.below_us.extend(self.services.visits().iter().map(|visit| visit.own_us));
        for at in (0..count).rev() {
            let visit = &self.services.visits()[at as usize];
            if visit.caller != NO_CALLER {
                self.below_us[visit.caller as usize] += self.below_us[at as usize] + visit.outside_us;
            }
        }
        self.open.clear();
        self.pairs.clear();
        for at in 0..count {
            self.leave_until(self.services.visits()[at as usize].caller);
            self.open.push(at);
            let Some(pair) = pair(self.services.visits(), at) else { continue };
            let visit = &self.services.visits()[at as usize];
            let is_failed = set.flags(tree.row(visit.entry)).has(Flags::ERROR);
            let sums = self.calls.entry(pair).or_default();
            sums.calls += 1;
            sums.failed += u64::from(is_failed);
            let around = self.pairs.entry(pair).or_default();
            *around += 1;
            // What such a call around it waits for is not waited for twice.
            if *around == 1 {
                let (inside_us, wait_us) = self.in_request_us.entry(pair).or_default();
                let below_us = self.below_us[at as usize];
                *inside_us += below_us;
                *wait_us += below_us + visit.outside_us;
            }
        }
        let weight = self.weighing.weight(set, &table.requests[request as usize]);
        for (pair, (inside_us, wait_us)) in self.in_request_us.drain() {
            let sums = self.calls.entry(pair).or_default();
            sums.inside_us.add(inside_us, weight);
            sums.wait_us.add(wait_us, weight);
        }
    }

    fn finish(self, set: &TraceSet) -> ServiceMapPart {
        let names = self.services.names();
        let name = |service: u32| names[service as usize].clone();
        let calls = self.calls.into_iter().map(|((from, to), sums)| ((name(from), name(to)), sums));
        let calls = calls.collect();
        ServiceMapPart { calls, services: self.services.finish(set) }
    }
}

/// One side of a time: the sum by request, and the weights of all requests.
type Side<'a> = (Option<&'a Sample>, &'a Weights);

impl MapTime {
    /// Returns a time; its mean may drift by this share of itself.
    fn of((values, all): Side<'_>, baseline: Option<Side<'_>>, drift: f64) -> MapTime {
        let none = Sample::default();
        let spread = |(values, all): Side<'_>| values.unwrap_or(&none).among(all);
        let here = spread((values, all));
        let before = baseline.map(spread);
        MapTime {
            mean_us: here.mean,
            baseline_us: before.map(|before| before.mean),
            change_us: before.and_then(|before| {
                let chance = welch(before, here)?;
                let drift_us = DEVIATIONS * drift * before.mean;
                Some(Interval { low: chance.low - drift_us, high: chance.high + drift_us })
            }),
        }
    }

    /// Returns by how much it surely changed, microseconds per request; `None` if it may be as before.
    pub fn sure_change_us(&self) -> Option<f64> {
        self.change_us
            .filter(|change| !change.includes_zero())
            .and(self.baseline_us.map(|us| self.mean_us - us))
    }
}

impl ServiceMapPart {
    /// Joins parts of disjoint requests.
    pub(crate) fn merge(parts: Vec<ServiceMapPart>) -> ServiceMapPart {
        let mut calls: BTreeMap<(String, String), CallSums> = BTreeMap::new();
        let mut services = Vec::with_capacity(parts.len());
        for part in parts {
            for (pair, sums) in part.calls {
                let all = calls.entry(pair).or_default();
                all.inside_us.merge(&sums.inside_us);
                all.wait_us.merge(&sums.wait_us);
                all.calls += sums.calls;
                all.failed += sums.failed;
            }
            services.push(part.services);
        }
        ServiceMapPart { calls, services: ServicesPartial::merge(services) }
    }

    fn own(&self, service: &str) -> Side<'_> {
        let key = TimeKey::Work(service.to_owned());
        (self.services.by_request.get(&key).map(Box::as_ref), &self.services.requests)
    }

    fn wait(&self, pair: &(String, String)) -> Side<'_> {
        (self.calls.get(pair).map(|sums| &sums.wait_us), &self.services.requests)
    }

    /// Returns the map of these requests, against a baseline if there is one.
    pub fn report(&self, baseline: Option<&ServiceMapPart>) -> ServiceMapReport {
        let changes = baseline.map(|before| ServicesReport::of(&before.services, &self.services));
        let drifts = baseline.map(|before| Drifts::of((&before.services, Scale::ONE), &self.services));
        let drift = |name: &str| drifts.as_ref().map_or(0.0, |drifts| drifts.of_service(name));
        let slower = |name: &str| {
            let mut rows = changes.iter().flat_map(|report| &report.services);
            rows.find(|row| row.service == name)?.certainty()
        };
        let counted: BTreeMap<&str, super::ServiceSums<'_>> =
            self.services.services().map(|sums| (sums.service, sums)).collect();
        let mut names: BTreeSet<&str> = counted.keys().copied().collect();
        names.extend(baseline.iter().flat_map(|before| before.services.services().map(|sums| sums.service)));
        let service = |name: &str| {
            let sums = counted.get(name);
            MapService {
                service: name.to_owned(),
                own: MapTime::of(self.own(name), baseline.map(|before| before.own(name)), drift(name)),
                requests: sums.map_or(0, |sums| sums.requests),
                visits: sums.map_or(0, |sums| sums.visits),
                failed: sums.map_or(0, |sums| sums.failed),
                slower: slower(name),
            }
        };
        let mut services: Vec<MapService> = names.into_iter().map(service).collect();
        // Stable: equal ones stay by name.
        services.sort_by(|a, b| b.own.mean_us.total_cmp(&a.own.mean_us));
        let numbers: BTreeMap<&str, u32> = services.iter().map(|one| one.service.as_str()).zip(0..).collect();
        let mut pairs: BTreeSet<&(String, String)> = self.calls.keys().collect();
        pairs.extend(baseline.iter().flat_map(|before| before.calls.keys()));
        let none = CallSums::default();
        let call = |pair: &(String, String)| {
            let sums = self.calls.get(pair).unwrap_or(&none);
            let before = baseline.map(|before| before.wait(pair));
            let wait = MapTime::of(self.wait(pair), before, drift(&pair.1));
            let inside = MapTime::of((Some(&sums.inside_us), &self.services.requests), None, 0.0);
            Some(MapCall {
                caller: *numbers.get(pair.0.as_str())?,
                service: *numbers.get(pair.1.as_str())?,
                wait,
                outside_us: wait.mean_us - inside.mean_us,
                calls: sums.calls,
                baseline_calls: baseline.map(|before| before.calls.get(pair).map_or(0, |sums| sums.calls)),
                failed: sums.failed,
            })
        };
        let mut calls: Vec<MapCall> = pairs.into_iter().filter_map(call).collect();
        calls.sort_by(|a, b| b.wait.mean_us.total_cmp(&a.wait.mean_us));
        let latency = |part: &ServiceMapPart| (part.services.latency_us.clone(), part.services.requests);
        let (here, before) = (latency(self), baseline.map(latency));
        ServiceMapReport {
            requests: here.1.seen,
            baseline_requests: before.as_ref().map(|before| before.1.seen),
            latency: MapTime::of(
                (Some(&here.0), &here.1),
                before.as_ref().map(|before| (Some(&before.0), &before.1)),
                0.0,
            ),
            services,
            calls,
        }
    }
}

impl ServiceMapReport {
    /// Returns the services that call and answer.
    pub fn ends(&self, call: &MapCall) -> Option<[&MapService; 2]> {
        let service = |at: u32| self.services.get(at as usize);
        Some([service(call.caller)?, service(call.service)?])
    }

    /// Returns the longest mean wait for calls of one service by another, of either side, in microseconds.
    pub fn greatest_wait_us(&self) -> f64 {
        let most = |call: &MapCall| call.wait.mean_us.max(call.wait.baseline_us.unwrap_or(0.0));
        self.calls.iter().map(most).fold(0.0, f64::max)
    }

    /// Returns the indices of services, those that no call leads to first, then those that most requests use.
    pub fn entries(&self) -> Vec<u32> {
        let called: BTreeSet<u32> = self.calls.iter().map(|call| call.service).collect();
        let mut order: Vec<u32> = (0..self.services.len() as u32).collect();
        order.sort_by_key(|at| (called.contains(at), Reverse(self.services[*at as usize].requests), *at));
        order
    }
}
