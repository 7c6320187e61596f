//! Messages between the spans of a timeline, and the traces that they connect.

use crate::say::sentence::Sentence;
use pathlight_base::format::{agreeing, count, counted, duration_us};
use pathlight_engine::flame::TraceReport;
use pathlight_engine::queries::{JoinedTraces, MOST_SPANS, MOST_TRACES, SpanMessage};
use pathlight_trace::Endpoint;

/// A message that a span sent or received.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageRow {
    /// The span on the other side, by its index among the joined traces.
    pub other: u32,
    /// Whether it was sent by the span; else it was received.
    pub is_sent: bool,
    /// To whom, or from whom, and how long it waited.
    pub words: Sentence,
}

fn endpoint(report: &TraceReport, span: u32) -> Endpoint {
    let at = report.endpoint.get(span as usize).and_then(|at| report.endpoints.get(*at as usize));
    at.cloned().unwrap_or_default()
}

fn waits(wait_us: u64) -> String {
    match wait_us {
        0 => "at once".to_owned(),
        us => format!("after {} in the queue", duration_us(us)),
    }
}

/// Returns the messages of a span: those that sent it first, then those that it sent, by the span on the other side.
pub fn rows(joined: &JoinedTraces, span: u32) -> Vec<MessageRow> {
    let row = |other, is_sent, wait_us| {
        let words =
            Sentence::default().name(&endpoint(&joined.trace, other)).text(", ").number(waits(wait_us));
        MessageRow { other, is_sent, words }
    };
    let received = joined.messages.iter().filter(|message| message.receiver == span);
    let sent = joined.messages.iter().filter(|message| message.sender == span);
    received
        .map(|message| row(message.sender, false, message.wait_us))
        .chain(sent.map(|message| row(message.receiver, true, message.wait_us)))
        .collect()
}

/// Returns what the tip of a span says of the messages that it received.
pub(crate) fn received_words(report: &TraceReport, messages: &[SpanMessage]) -> Option<String> {
    let first = messages.first()?;
    let Endpoint { service, operation } = endpoint(report, first.sender);
    let from = pathlight_base::format::endpoint(&service, &operation);
    Some(match messages.len() as u64 {
        1 => format!("Received {}, from {from}", waits(first.wait_us)),
        n => {
            let longest = messages.iter().map(|message| message.wait_us).max().unwrap_or(0);
            format!("Received {} together, the longest {}", counted(n, "message"), waits(longest))
        }
    })
}

/// Returns what stands on the button that puts linked traces on the same axis; `None` if there are none.
pub fn button(joined: &JoinedTraces) -> Option<String> {
    let others = (joined.traces.len() as u64).saturating_sub(1);
    (others > 0).then(|| counted(others, "linked trace"))
}

/// Returns what is on the axis, and what is not.
pub fn sentence(joined: &JoinedTraces) -> String {
    let messages = joined.messages.len() as u64;
    let mut out = format!(
        "{} on one axis, with {} between them; the path is that of the request chosen.",
        counted(joined.traces.len() as u64, "trace"),
        counted(messages, "message"),
    );
    out.push_str(&missing(joined));
    out
}

/// Returns which traces that messages lead to are not on the axis, after a space; empty if all are.
pub fn missing(joined: &JoinedTraces) -> String {
    let mut out = String::new();
    if joined.left_out > 0 {
        out.push_str(&format!(
            " {} {} left out, with all that follows from there: at most {} traces and {} spans stand on one axis.",
            counted(joined.left_out, "other linked trace"),
            agreeing(joined.left_out, "is", "are"),
            MOST_TRACES,
            count(MOST_SPANS as u64),
        ));
    }
    if joined.not_loaded > 0 {
        out.push_str(&format!(
            " {} {} not loaded.",
            counted(joined.not_loaded, "linked trace"),
            agreeing(joined.not_loaded, "is", "are"),
        ));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_engine::queries::JoinedTrace;

    fn joined() -> JoinedTraces {
        let trace = TraceReport {
            endpoints: vec![Endpoint::new("shop", "send"), Endpoint::new("mail", "handle")],
            endpoint: vec![0, 1],
            parent: vec![u32::MAX, u32::MAX],
            ..TraceReport::default()
        };
        let traces = [("a", 0), ("b", 1)].map(|(id, first)| JoinedTrace { trace_id: id.to_owned(), first });
        let messages = vec![SpanMessage { sender: 0, receiver: 1, sent_us: 10, wait_us: 50 }];
        JoinedTraces { trace, traces: traces.to_vec(), messages, ..JoinedTraces::default() }
    }

    #[test]
    fn a_span_names_who_sent_it_and_what_it_sent() {
        let of = |span| {
            let rows = rows(&joined(), span).into_iter();
            rows.map(|row| (row.other, row.is_sent, row.words.to_text().replace('\u{202f}', " ")))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(0), [(1, true, "handle @ mail, after 50 \u{b5}s in the queue".to_owned())]);
        assert_eq!(of(1), [(0, false, "send @ shop, after 50 \u{b5}s in the queue".to_owned())]);
    }

    #[test]
    fn what_is_not_on_the_axis_is_said() {
        assert_eq!(button(&joined()).as_deref(), Some("1 linked trace"));
        assert_eq!(
            sentence(&joined()),
            "2 traces on one axis, with 1 message between them; the path is that of the request chosen."
        );
        let cut = JoinedTraces { left_out: 3, not_loaded: 1, ..joined() };
        let words = missing(&cut);
        assert!(words.contains("3 other linked traces are left out") && words.contains("at most 100 traces"));
        assert!(words.ends_with(" 1 linked trace is not loaded."), "{words}");
    }
}
