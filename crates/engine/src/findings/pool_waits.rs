//! Calls that wait before they begin because as many others run as ever do at once, as behind a pool of connections
//! (`docs/definitions/findings.md` section 13).

use super::candidates::untested_finding;
use super::pool_calls::{Call, Pair, PairCalls, PoolCalls, PoolCallsPass};
use super::rank::WORTH_SHARE;
use super::{Finding, FindingFacts, FindingPlace, PoolWaitsFacts};
use crate::EngineError;
use crate::requests::{RangeFacts, RequestRef, Selection};
use crate::run::workers::Workers;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Sample, Weight, Weights};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Findings at most.
const MOST: usize = 3;
/// Calls that must have found so many others running, at least.
const LEAST_WAITING: i64 = 30;
/// For so many calls that find that many running when they could begin, at most one does when it begins.
const TIMES: i64 = 16;
/// This share of the calls that wait takes the one place that became free.
const REFILL: (usize, usize) = (3, 4);
/// Half of the calls that wait begin within this part of the mean time between two ends.
const SOON: f64 = 0.25;
/// Calls of a place that did not wait, from which follows how long its gap usually is.
const LEAST_USUAL: usize = 5;
/// A call counts as ended so much before its end: this part of the mean call.
const EARLY: u64 = 32;
/// Clocks of milliseconds.
const COARSE_US: u64 = 1_000;

/// How many calls of one callee each process of a service makes at once at most.
struct Limit<'a> {
    at_once: usize,
    processes: Vec<Process<'a>>,
}

/// The calls of one process, by start.
struct Process<'a> {
    host: &'a str,
    calls: &'a [Call],
    running: Running,
    /// By place, the gap of calls that do not wait.
    usual_us: FxHashMap<u64, u64>,
}

/// When calls begin and end.
struct Running {
    starts: Vec<u64>,
    /// Ends, made earlier by what does not count.
    early_ends: Vec<u64>,
    /// Ends, with the request.
    ends: Vec<(u64, u64)>,
    early_us: u64,
}

impl Running {
    fn of(calls: &[Call]) -> Running {
        let total_us: u128 = calls.iter().map(|call| u128::from(call.us)).sum();
        let mean_us = (total_us / calls.len().max(1) as u128) as u64;
        let is_coarse = calls.iter().all(|call| call.start_us.is_multiple_of(COARSE_US));
        let early_us = (mean_us / EARLY).max(if is_coarse { COARSE_US } else { 1 });
        let mut starts: Vec<u64> = calls.iter().map(|call| call.start_us).collect();
        let early = |call: &Call| call.start_us + call.us.saturating_sub(early_us);
        let mut early_ends: Vec<u64> = calls.iter().map(early).collect();
        let mut ends: Vec<(u64, u64)> =
            calls.iter().map(|call| (call.start_us + call.us, call.request)).collect();
        starts.sort_unstable();
        early_ends.sort_unstable();
        ends.sort_unstable();
        Running { starts, early_ends, ends, early_us }
    }

    /// Returns how many calls run that began before a time.
    fn at(&self, us: u64) -> usize {
        let begun = self.starts.partition_point(|&start_us| start_us < us);
        begun - self.early_ends.partition_point(|&end_us| end_us < us)
    }

    /// Returns when the last call before a time ended, and of which request.
    fn last_end(&self, us: u64) -> Option<(u64, u64)> {
        let ended = self.ends.partition_point(|&(end_us, _)| end_us <= us + self.early_us);
        self.ends[..ended].last().copied()
    }

    /// Looks at a call that could begin so long after what came before.
    fn look(&self, call: &Call, usual_us: u64) -> Looked {
        let could_us = call.start_us - call.gap_us.saturating_sub(usual_us).min(call.start_us);
        let last = self.last_end(call.start_us);
        let begun = self.starts.partition_point(|&start_us| start_us < call.start_us);
        Looked {
            at_could: self.at(could_us),
            at_start: self.at(call.start_us),
            whole_at_start: begun
                - self.ends.partition_point(|&(end_us, _)| end_us <= call.start_us).min(begun),
            wait_us: call.start_us - could_us,
            since_end_us: last.map_or(u64::MAX, |(end_us, _)| call.start_us.saturating_sub(end_us)),
            is_after_other: last.is_some_and(|(_, request)| request != call.request),
        }
    }
}

/// What is seen of one call: how many others run when it could begin and when it does.
struct Looked {
    at_could: usize,
    at_start: usize,
    /// The same with the whole of each call.
    whole_at_start: usize,
    wait_us: u64,
    since_end_us: u64,
    is_after_other: bool,
}

impl Looked {
    fn waits(&self, at_once: usize) -> bool {
        self.at_could >= at_once && self.at_start < at_once
    }

    /// Returns whether it is seen to wait for a limit: calls of one request may need each other.
    fn shows(&self, at_once: usize) -> bool {
        self.waits(at_once) && self.is_after_other
    }
}

impl<'a> Process<'a> {
    fn of(host: &'a str, calls: &'a [Call]) -> Process<'a> {
        let mut gaps: FxHashMap<u64, Vec<u64>> = FxHashMap::default();
        calls.iter().for_each(|call| gaps.entry(call.place).or_default().push(call.gap_us));
        // The shortest tenth waits for nothing.
        let usual_us = gaps.into_iter().map(|(place, mut gaps)| (place, lower(&mut gaps, 10))).collect();
        Process { host, calls, running: Running::of(calls), usual_us }
    }

    fn looked(&self) -> impl Iterator<Item = Looked> {
        self.calls.iter().map(|call| self.running.look(call, self.usual_us[&call.place]))
    }

    /// Takes over how long gaps usually are, now that it is known which calls did not wait.
    fn learn(&mut self, at_once: usize) {
        let mut gaps: FxHashMap<u64, Vec<u64>> = FxHashMap::default();
        for (call, looked) in self.calls.iter().zip(self.looked()) {
            let ready_us = call.start_us.saturating_sub(call.gap_us);
            if looked.at_could < at_once && self.running.at(ready_us) < at_once {
                gaps.entry(call.place).or_default().push(call.gap_us);
            }
        }
        for (place, mut gaps) in gaps.into_iter().filter(|(_, gaps)| gaps.len() >= LEAST_USUAL) {
            self.usual_us.insert(place, lower(&mut gaps, 2));
        }
    }
}

/// Returns the value below which one of so many values lies.
fn lower(values: &mut [u64], of: usize) -> u64 {
    let at = values.len() / of;
    *values.select_nth_unstable(at).1
}

impl<'a> Limit<'a> {
    /// Finds out whether the calls of the processes have a limit.
    fn of(mut processes: Vec<Process<'a>>) -> Option<Limit<'a>> {
        let looked =
            |processes: &[Process]| -> Vec<Looked> { processes.iter().flat_map(Process::looked).collect() };
        let at_once = least_limit(&looked(&processes))?;
        processes.iter_mut().for_each(|process| process.learn(at_once));
        let looked = looked(&processes);
        let us: u128 = processes.iter().flat_map(|of| of.calls).map(|call| u128::from(call.us)).sum();
        let mean_us = us as f64 / looked.len() as f64;
        (least_limit(&looked) == Some(at_once) && fills_places(&looked, at_once, mean_us))
            .then_some(Limit { at_once, processes })
    }
}

/// Returns the least number of calls that many find running when they could begin, and hardly any when it does.
fn least_limit(looked: &[Looked]) -> Option<usize> {
    let most = looked.iter().map(|call| call.at_could.max(call.at_start)).max()?;
    // By number: how many more, or fewer, calls show this limit than that below it, and how many begin in spite of it.
    let (mut shows, mut despite) = (vec![0i64; most + 2], vec![0i64; most + 2]);
    for call in looked {
        despite[1] += 1;
        despite[call.at_start + 1] -= 1;
        if call.is_after_other && call.at_start < call.at_could {
            shows[call.at_start + 1] += 1;
            shows[call.at_could + 1] -= 1;
        }
    }
    let (mut found, mut against) = (0, 0);
    (1..=most).find(|&at_once| {
        found += shows[at_once];
        against += despite[at_once];
        found >= LEAST_WAITING && TIMES * against <= found
    })
}

/// Returns whether calls that wait begin when one of the others ends, so that as many run as before.
fn fills_places(looked: &[Looked], at_once: usize, mean_us: f64) -> bool {
    let waiting = || looked.iter().filter(|call| call.shows(at_once));
    let mut since_end_us: Vec<u64> = waiting().map(|call| call.since_end_us).collect();
    let filling = waiting().filter(|call| call.whole_at_start + 1 >= at_once).count();
    filling * REFILL.1 >= since_end_us.len() * REFILL.0
        && lower(&mut since_end_us, 2) as f64 <= SOON * mean_us / at_once as f64
}

/// Waits of one service for one callee.
#[derive(Default)]
struct Waits {
    processes: u64,
    calls: u64,
    waiting: u64,
    wait_us: u128,
    /// By request, on its critical path.
    path_us: FxHashMap<u64, u64>,
    longest: Option<(Reverse<u64>, RequestRef)>,
}

impl Waits {
    /// Adds the selected calls of a process.
    fn add(&mut self, process: &Process, at_once: usize, selected: &PairCalls) {
        let (mut waiting, mut of_request) = (0, FxHashMap::<u64, u64>::default());
        for call in &selected.calls {
            // One that only a root endpoint of its own has.
            let Some(&usual_us) = process.usual_us.get(&call.place) else { continue };
            let looked = process.running.look(call, usual_us);
            if looked.waits(at_once) && looked.wait_us > 0 {
                waiting += 1;
                self.wait_us += u128::from(looked.wait_us);
                if call.is_on_path {
                    *of_request.entry(call.request).or_default() += looked.wait_us;
                }
            }
        }
        self.calls += selected.calls.len() as u64;
        self.waiting += waiting;
        self.processes += u64::from(waiting > 0);
        let longest = selected.longest.iter().find(|(_, request, _)| of_request.contains_key(request));
        let longest = longest.map(|(gap_us, _, request)| (*gap_us, request.clone()));
        self.longest = self.longest.take().into_iter().chain(longest).min();
        of_request.into_iter().for_each(|(request, us)| *self.path_us.entry(request).or_default() += us);
    }

    /// Returns the finding, if what the waits surely cost is worth a word.
    fn finding(self, (service, callee): (&str, &str), at_once: usize, facts: &RangeFacts) -> Option<Finding> {
        let mut cost = Sample::default();
        self.path_us.values().for_each(|&us| cost.add(us, Weight::ONE));
        let mut requests = Weights::default();
        (0..facts.requests).for_each(|_| requests.add(Weight::ONE));
        let stake_us = cost.sum() as f64 / facts.requests.max(1) as f64;
        let interval = cost.among(&requests).interval();
        let least_us = interval.map_or(0.0, |interval| interval.low);
        if least_us < WORTH_SHARE * facts.latency_us.mean {
            return None;
        }
        let found = PoolWaitsFacts {
            callee: callee.to_owned(),
            at_once: at_once as u64,
            processes: self.processes,
            calls: self.calls,
            waiting: self.waiting,
            mean_us: self.wait_us as f64 / self.waiting.max(1) as f64,
        };
        let place = FindingPlace::Service(service.to_owned());
        let found = untested_finding(place, cost.n(), facts.requests, FindingFacts::PoolWaits(found));
        let example = self.longest.map(|(_, request)| request);
        Some(Finding { stake_us, interval, example, ..found })
    }
}

/// Returns the callees that services wait for before they call, most time first.
pub(super) async fn pool_waits(
    workers: &Workers,
    selection: &Selection,
) -> Result<Vec<Finding>, EngineError> {
    // Whatever is selected, all calls take the places.
    let all = selection.of_all_requests().until_answer();
    let selection = selection.clone().until_answer();
    let calls = calls_of(workers, &all).await?;
    if calls.is_sampled {
        return Ok(Vec::new());
    }
    let mut processes: BTreeMap<(&str, &str), Vec<Process>> = BTreeMap::new();
    for (pair, of) in &calls.pairs {
        let names = (pair.service.as_str(), pair.callee.as_str());
        processes.entry(names).or_default().push(Process::of(&pair.host, &of.calls));
    }
    let limits = processes.into_iter().filter_map(|(names, of)| Some((names, Limit::of(of)?)));
    let limits: Vec<((&str, &str), Limit)> = limits.collect();
    if limits.is_empty() {
        return Ok(Vec::new());
    }
    let (_, facts) = workers.cut(&selection).await?;
    let chosen;
    let selected = if selection == all {
        &calls
    } else {
        chosen = calls_of(workers, &selection).await?;
        &chosen
    };
    let found = limits.iter().filter_map(|&((service, callee), ref limit)| {
        let mut waits = Waits::default();
        for process in &limit.processes {
            let name = |name: &str| name.to_owned();
            let pair = Pair { service: name(service), host: name(process.host), callee: name(callee) };
            if let Some(of) = selected.pairs.get(&pair) {
                waits.add(process, limit.at_once, of);
            }
        }
        waits.finding((service, callee), limit.at_once, &facts)
    });
    let mut found: Vec<Finding> = found.collect();
    // Stable: equal ones stay by name.
    found.compact_sort_by(|a, b| b.stake_us.total_cmp(&a.stake_us));
    found.truncate(MOST);
    Ok(found)
}

async fn calls_of(workers: &Workers, selection: &Selection) -> Result<PoolCalls, EngineError> {
    Ok(PoolCalls::merge(workers.requests(selection).await?.partials(PoolCallsPass).await?))
}
