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
