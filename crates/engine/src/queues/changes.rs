//! How much longer messages wait than before (`docs/definitions/verdict.md` section 12).

use super::QueueExample;
use super::observe::{EdgeName, EdgePart, QueuesPart};
use crate::flame::done::queue_service;
use crate::verdict::{Certainty, Excess, excesses};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::Interval;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// The time in the queue of the messages of an edge, in a set and in the one it is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct QueueChange {
    /// The endpoint that sends.
    pub sender: Endpoint,
    /// The endpoint that receives.
    pub receiver: Endpoint,
    /// Name of the queue or topic; empty if none was recorded.
    pub destination: String,
    /// Messages of A and of B.
    pub messages: [u64; 2],
    /// Mean time in the queue of a message of A and of B, in microseconds.
    pub mean_us: [f64; 2],
    /// Requests of B that send such messages.
    pub requests: u64,
    /// What B's messages wait longer, microseconds per request of B; of requests until everything is done on the way to their
    /// end.
    pub excess: Excess,
    /// It is part of the latency: requests end when everything is done.
    pub is_in_latency: bool,
    /// Below 5 % of the latency of the requests of B that send such messages; below 1 % if the edge moved as a whole.
    pub is_weak: bool,
    /// It rests on so few messages that their order may be chance.
    pub may_be_chance: bool,
    /// The message of B that waited longest.
    pub longest: QueueExample,
}

impl QueueChange {
    fn name(&self) -> EdgeName {
        (self.sender.clone(), self.receiver.clone(), self.destination.clone())
    }

    /// Returns what orders queues: microseconds per request of B beyond drift and chance.
    pub fn score_us(&self) -> f64 {
        self.excess.score_us()
    }

    /// Returns whether messages surely wait longer.
    pub fn is_sure(&self) -> bool {
        self.score_us() > 0.0 && !self.is_weak && !self.may_be_chance
    }

    /// Returns how sure it is that messages wait longer; `None` unless the score is positive.
    pub fn certainty(&self) -> Option<Certainty> {
        (self.score_us() > 0.0).then(|| self.excess.certainty(self.is_sure()))
    }
}

/// Returns whether most messages of an edge were received by a consumer. What merely outlives its parent waits in no queue.
fn is_queue(part: &EdgePart) -> bool {
    2 * part.consumed > part.waits_us().len() as u64
}

/// Returns how much longer the messages of B wait than those of A, by edges that both have; the greatest score first, then by
/// names. `requests` are those of B.
pub(crate) fn changes(a: &QueuesPart, b: &QueuesPart, requests: u64) -> Vec<QueueChange> {
    let mut rows: Vec<QueueChange> = Vec::new();
    let mut times_us: Vec<[Vec<u64>; 2]> = Vec::new();
    for (name, after) in b.edges.iter().filter(|(_, part)| is_queue(part)) {
        let Some(before) = a.edges.get(name).filter(|part| is_queue(part)) else { continue };
        let times = [before, after].map(EdgePart::counted_us);
        let waits_us = [before, after].map(EdgePart::waits_us);
        let (sender, receiver, destination) = name.clone();
        rows.push(QueueChange {
            sender,
            receiver,
            destination,
            messages: [0, 1].map(|side: usize| times[side].len() as u64),
            mean_us: [0, 1].map(|side: usize| mean_us(&waits_us[side])),
            is_in_latency: after.is_on_path(),
            requests: after.requests,
            // Filled in below.
            excess: Excess::default(),
            is_weak: false,
            may_be_chance: false,
            longest: after.longest.clone(),
        });
        times_us.push(times);
    }
    for (row, found) in rows.iter_mut().zip(excesses(&times_us, requests)) {
        let latency_us = b.edges.get(&row.name()).map_or(0, |part| part.latency_sum_us);
        row.excess = found.excess;
        row.is_weak = row.score_us() > 0.0
            && row.score_us() * (requests as f64) < found.least_share() * latency_us as f64;
        row.may_be_chance = found.may_be_chance;
    }
    // Stable: equal ones stay by name.
    rows.compact_sort_by(|x, y| y.score_us().total_cmp(&x.score_us()));
    rows
}

fn mean_us(times_us: &[u64]) -> f64 {
    times_us.iter().map(|&us| u128::from(us)).sum::<u128>() as f64 / times_us.len().max(1) as f64
}

/// Returns what each edge takes of the latency of requests until everything is done, most first, then by names: with the 95 %
/// interval of its mean per request. Nothing of requests that end with their answer.
pub(crate) fn costliest(part: &QueuesPart, requests: u64) -> Vec<(GreatestQueue, Interval)> {
    let edges = part.edges.iter().filter(|(_, part)| part.is_on_path() && is_queue(part));
    let mut found: Vec<(GreatestQueue, Interval)> = edges
        .map(|(name, part)| {
            let mean_us = part.by_request.mean(requests);
            let none = Interval { low: 0.0, high: 2.0 * mean_us };
            (of_edge(name, part), part.by_request.interval(requests).unwrap_or(none))
        })
        .collect();
    // Stable: of equal ones by names.
    found.compact_sort_by_key(|(queue, _)| Reverse(queue.path_us));
    found
}

/// Returns the time of each queue in the latency of requests until everything is done, by the service that stands for it in
/// paths: microseconds over all requests.
pub(crate) fn path_times(part: &QueuesPart) -> BTreeMap<String, u128> {
    let mut times = BTreeMap::new();
    for ((_, _, destination), part) in part.edges.iter().filter(|(_, part)| part.by_request.sum > 0) {
        *times.entry(queue_service(destination)).or_default() += part.by_request.sum;
    }
    times
}

/// The edge in whose queue most time is spent.
pub(crate) struct GreatestQueue {
    /// The edge.
    pub name: EdgeName,
    /// Its messages.
    pub messages: u64,
    /// Requests that send them.
    pub requests: u64,
    /// Their time in the queue together, in microseconds.
    pub sum_us: u128,
    /// What of that is on the way until everything is done; 0 of requests that end with their answer.
    pub path_us: u128,
    /// The message that waited longest.
    pub longest: QueueExample,
}

fn of_edge(name: &EdgeName, part: &EdgePart) -> GreatestQueue {
    let waits_us = part.waits_us();
    GreatestQueue {
        name: name.clone(),
        messages: waits_us.len() as u64,
        requests: part.requests,
        sum_us: waits_us.iter().map(|&us| u128::from(us)).sum(),
        path_us: part.by_request.sum,
        longest: part.longest.clone(),
    }
}

/// Returns the edge in whose queue most time is spent (ties: the first by name); `None` without messages to consumers.
pub(crate) fn greatest(part: &QueuesPart) -> Option<GreatestQueue> {
    let queues = part.edges.iter().filter(|(_, part)| is_queue(part)).map(|(name, part)| of_edge(name, part));
    queues.reduce(|best, next| if next.sum_us > best.sum_us { next } else { best })
}
