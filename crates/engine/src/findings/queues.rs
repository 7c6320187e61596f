//! Messages that wait in queues, as findings (section 12 of `docs/definitions/verdict.md`).

use super::candidates::untested_finding;
use super::{Finding, FindingFacts, FindingPlace, QueueFacts};
use crate::queues::{GreatestQueue, QueueChange, QueuesPart, costliest, greatest, path_times};
use crate::verdict::one_set::ServiceTime;
use crate::verdict::{Headline, ServicesReport};
use pathlight_base::statistics::Interval;

/// Queues reported at most.
const MOST: usize = 3;

/// A queue of one set is reported if it surely takes this share of the latency.
const WORTH_SHARE: f64 = 0.05;

/// Returns the times of services with those of queues beside them, microseconds per request: none of requests that end with
/// their answer.
pub(super) fn with_queues(
    mut services: Vec<ServiceTime>,
    sent: &QueuesPart,
    requests: u64,
) -> Vec<ServiceTime> {
    for (service, sum_us) in path_times(sent) {
        let waiting_us = sum_us as f64 / requests.max(1) as f64;
        match services.iter_mut().find(|known| known.service == service) {
            Some(known) => known.waiting_us += waiting_us,
            None => services.push(ServiceTime { service, own_us: 0.0, waiting_us }),
        }
    }
    services.sort_by(|a, b| a.service.cmp(&b.service));
    services
}

/// Returns the queues in which messages surely wait longer than before, but for that of which the verdict speaks first.
/// `requests` are those of the selection, and their mean latency in microseconds.
pub(super) fn slower_queues(report: &ServicesReport, latency_us: f64) -> Vec<Finding> {
    let is_said = usize::from(matches!(report.headline(), Headline::Queue(_)));
    let of = |queue: &QueueChange| {
        let QueueChange { excess, sender, receiver, destination, longest, .. } = queue.clone();
        let (stake_us, interval) = (excess.excess_us, excess.interval());
        let facts = QueueFacts {
            sender,
            receiver: receiver.clone(),
            destination,
            messages: queue.messages[1],
            mean_us: queue.mean_us[1],
            before_us: Some(queue.mean_us[0]),
            latency_us,
            path_us: queue.is_in_latency.then_some(stake_us),
            longest,
        };
        let facts = FindingFacts::Queue(facts);
        let place = FindingPlace::Endpoint(receiver);
        Finding {
            stake_us,
            interval: Some(interval),
            ..untested_finding(place, queue.requests, report.requests[1], facts)
        }
    };
    report.sure_queues().skip(is_said).take(MOST).map(of).collect()
}

/// Returns the queue with most time of one set, if its messages wait at least as long as all answers take: then more time
/// passes in it than in all else until the requests are done. `requests` are all, and their mean latency in microseconds.
pub(super) fn longest_queue(sent: &QueuesPart, (requests, latency_us): (u64, f64)) -> Option<Finding> {
    let queue = greatest(sent)?;
    let stake_us = queue.sum_us as f64 / requests.max(1) as f64;
    (stake_us >= latency_us)
        .then(|| Finding { stake_us, ..queue_of_one_set(queue, None, (requests, latency_us)) })
}

/// Returns the queues of one set that take most of the latency of requests until everything is done, if they surely take a
/// share of it. `requests` are all, and their mean latency in microseconds.
pub(super) fn queues_on_path(sent: &QueuesPart, (requests, latency_us): (u64, f64)) -> Vec<Finding> {
    let of = |(queue, interval): (GreatestQueue, Interval)| {
        let stake_us = queue.path_us as f64 / requests.max(1) as f64;
        let found = queue_of_one_set(queue, Some(stake_us), (requests, latency_us));
        Finding { stake_us, interval: Some(interval), ..found }
    };
    let is_worth = |(_, interval): &(GreatestQueue, Interval)| interval.low >= WORTH_SHARE * latency_us;
    costliest(sent, requests).into_iter().filter(is_worth).take(MOST).map(of).collect()
}

/// Returns the finding about a queue of one set, without its stake.
fn queue_of_one_set(
    queue: GreatestQueue,
    path_us: Option<f64>,
    (requests, latency_us): (u64, f64),
) -> Finding {
    let GreatestQueue { name, messages, requests: senders, sum_us, longest, .. } = queue;
    let (sender, receiver, destination) = name;
    let place = FindingPlace::Endpoint(receiver.clone());
    let facts = QueueFacts {
        sender,
        receiver,
        destination,
        messages,
        mean_us: sum_us as f64 / messages.max(1) as f64,
        before_us: None,
        latency_us,
        path_us,
        longest,
    };
    untested_finding(place, senders, requests, FindingFacts::Queue(facts))
}
