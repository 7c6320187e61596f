//! Sentences about messages that wait.

use crate::address::{Address, Beside, TraceChoice};
use crate::flow::choice::FlowPanel;
use crate::say::sentence::Sentence;
use crate::views::View;
use pathlight_base::format::{self, agreeing, counted, duration, duration_us};
use pathlight_engine::queues::{QueueChange, QueueEdge, QueuesReport};
use pathlight_trace::Endpoint;

/// Says how long messages wait on average, how long before if that is known, and where.
pub(crate) fn wait(
    out: Sentence,
    (sender, receiver, destination): (&Endpoint, &Endpoint, &str),
    mean_us: f64,
    before_us: Option<f64>,
) -> Sentence {
    let out = out.text("Messages wait ").number(duration(mean_us));
    let out = match destination {
        "" => out,
        destination => out.text(" in ").text(&format::printable(destination)),
    };
    let out = match before_us {
        Some(before_us) => out.text(" (").number(duration(before_us)).text(" before)"),
        None => out,
    };
    out.text(", from ").name(sender).text(" to ").name(receiver)
}

/// Returns how much longer the messages of a queue wait than before.
pub fn longer(queue: &QueueChange) -> Sentence {
    let QueueChange { sender, receiver, destination, mean_us: [before, after], .. } = queue;
    wait(Sentence::default(), (sender, receiver, destination), *after, Some(*before)).text(".")
}

/// Returns what is said in place of an empty table.
pub fn no_messages(report: &QueuesReport) -> String {
    format!("No messages among {}.", counted(report.facts.requests, "request"))
}

/// Returns what a row is called in a chart: its queue, or who receives.
pub(crate) fn short_name(edge: &QueueEdge) -> String {
    match edge.destination.as_str() {
        "" => format::endpoint(&edge.receiver.service, &edge.receiver.operation),
        destination => format::printable(destination),
    }
}

/// Returns what is said of the message of an edge that waited longest.
pub fn longest(edge: &QueueEdge) -> Sentence {
    let out = Sentence::default().text("The longest message");
    let out = match edge.destination.as_str() {
        "" => out,
        destination => out.text(" in ").text(&format::printable(destination)),
    };
    let out = out.text(" waits ").number(duration_us(edge.longest.wait_us));
    out.text(", from ").name(&edge.sender).text(" to ").name(&edge.receiver).text(".")
}

/// Returns the trace to open for the message of an edge that waited longest, at the span that sends, with the traces that
/// its messages connect.
pub fn longest_trace(edge: &QueueEdge) -> TraceChoice {
    TraceChoice {
        trace_id: edge.longest.sender_trace_id.clone(),
        span_id: Some(edge.longest.sender_span_id.clone()).filter(|id| !id.is_empty()),
        beside: Beside::Linked,
        ..TraceChoice::default()
    }
}

/// Sets the page up for the queues of the selection.
pub fn show(address: &mut Address) {
    address.choices.flow.panel = FlowPanel::Queues;
    address.view = View::Flow;
}

/// Returns what stands above the table of two sets.
pub fn sides_sentence(before: &QueuesReport, report: &QueuesReport) -> String {
    let of = |report: &QueuesReport| {
        let messages = report.messages();
        let mean_us = report.sum_us() as f64 / messages.max(1) as f64;
        format!("{}, mean {}", counted(messages, "message"), duration(mean_us))
    };
    format!("In queues, A: {}; B: {}.", of(before), of(report))
}

/// Returns why the traces that a report is of have no table; empty if they have one.
pub fn why_empty(before: Option<&QueuesReport>, report: &QueuesReport) -> String {
    match before {
        Some(before) if before.edges.is_empty() && report.edges.is_empty() => {
            format!(
                "No messages in A or B: {} and {}.",
                counted(before.facts.requests, "request"),
                counted(report.facts.requests, "request")
            )
        }
        None if report.edges.is_empty() => no_messages(report),
        _ => String::new(),
    }
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
                    "{} of {} {} {} in queues{}.",
                    counted(messages, "message"),
                    counted(report.facts.requests, "request"),
                    agreeing(messages, "waits", "wait"),
                    duration_us(report.sum_us()),
                    match messages {
                        0 | 1 => String::new(),
                        n => format!(" in all, {} each", duration(report.sum_us() as f64 / n as f64)),
                    },
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
            requests: 1,
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
