//! Sentences about messages that wait.

use pathlight_base::format::{self, agreeing, counted, duration, duration_us};
use pathlight_engine::queues::{QueueEdge, QueuesReport};

/// Returns what is said in place of an empty table.
pub fn no_messages(report: &QueuesReport) -> String {
    format!("No messages among {}.", counted(report.facts.requests, "request"))
}

/// Returns the name of an edge: its queue, if it has a name, and who sends to whom.
pub fn edge(edge: &QueueEdge) -> String {
    let [sender, receiver] =
        [&edge.sender, &edge.receiver].map(|of| format::endpoint(&of.service, &of.operation));
    let names = format!("from {sender} to {receiver}");
    match edge.destination.as_str() {
        "" => names,
        destination => format!("in {}, {names}", format::printable(destination)),
    }
}

/// Returns how many messages wait, how long, and where most of that is; what does not fit is said after it.
pub fn sentences(report: &QueuesReport) -> Vec<String> {
    let mut out = match report.edges.first() {
        None => vec![no_messages(report)],
        Some(most) => {
            let messages = report.messages();
            vec![
                format!(
                    "{} of {} {} {} in queues.",
                    counted(messages, "message"),
                    counted(report.facts.requests, "request"),
                    agreeing(messages, "waits", "wait"),
                    duration_us(report.sum_us()),
                ),
                format!(
                    "Most of that {}: p50 {}, p95 {}, p99 {}.",
                    edge(most),
                    duration(most.wait_us.p50),
                    duration(most.wait_us.p95),
                    duration(most.wait_us.p99)
                ),
            ]
        }
    };
    let early = report.early();
    if early > 0 {
        out.push(format!(
            "{} {} received before {} sent, by clocks that were set, and {} as 0.",
            counted(early, "message"),
            agreeing(early, "was", "were"),
            agreeing(early, "it was", "they were"),
            agreeing(early, "counts", "count"),
        ));
    }
    if report.lost_senders > 0 {
        out.push(format!(
            "{} of consumers {} to senders that are not loaded.",
            counted(report.lost_senders, "link"),
            agreeing(report.lost_senders, "leads", "lead"),
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::Percentiles;
    use pathlight_engine::queues::QueueExample;
    use pathlight_trace::Endpoint;

    #[test]
    fn sentences_name_the_queue_in_which_most_is_waited() {
        let mut report = QueuesReport::default();
        report.facts.requests = 7;
        assert_eq!(sentences(&report), ["No messages among 7 requests."]);
        report.edges = vec![QueueEdge {
            sender: Endpoint::new("shop", "send"),
            receiver: Endpoint::new("mail", "handle"),
            destination: "orders".to_owned(),
            messages: 1,
            wait_us: Percentiles { mean: 50.0, p50: 50.0, p95: 50.0, p99: 50.0, max: 50 },
            sum_us: 50,
            early: 1,
            fan_in: 1.0,
            most_fan_in: 1,
            longest: QueueExample::default(),
        }];
        report.lost_senders = 2;
        assert_eq!(
            sentences(&report),
            [
                "1 message of 7 requests waits 50\u{202f}\u{b5}s in queues.",
                "Most of that in orders, from send @ shop to handle @ mail: p50 50\u{202f}\u{b5}s, p95 50\u{202f}\u{b5}s, p99 50\u{202f}\u{b5}s.",
                "1 message was received before it was sent, by clocks that were set, and counts as 0.",
                "2 links of consumers lead to senders that are not loaded.",
            ]
        );
    }
}
