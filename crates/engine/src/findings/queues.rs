//! Messages that wait in queues, as findings (section 12 of `docs/definitions/verdict.md`).

use super::candidates::untested_finding;
use super::{Finding, FindingFacts, FindingPlace, QueueFacts};
use crate::queues::{GreatestQueue, QueueChange, QueuesPart, greatest};
use crate::verdict::{Headline, ServicesReport};

/// Queues reported at most.
const MOST: usize = 3;

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
    let GreatestQueue { name, messages, requests: senders, sum_us, longest } = greatest(sent)?;
    let stake_us = sum_us as f64 / requests.max(1) as f64;
    if stake_us < latency_us {
        return None;
    }
    let (sender, receiver, destination) = name;
    let place = FindingPlace::Endpoint(receiver.clone());
    let mean_us = sum_us as f64 / messages.max(1) as f64;
    let facts =
        QueueFacts { sender, receiver, destination, messages, mean_us, before_us: None, latency_us, longest };
    Some(Finding { stake_us, ..untested_finding(place, senders, requests, FindingFacts::Queue(facts)) })
}
