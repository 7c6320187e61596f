//! Sentences about where one more span would tell most.

use crate::diagnosis::words::between_endpoints;
use crate::say::sentence::Sentence;
use pathlight_base::format::{duration, printable, share};
use pathlight_engine::instrument::{InstrumentReport, InstrumentRow};

/// Says what the ranking cannot know.
pub const LIMITS: &str = "A span that cuts a stretch at any point leaves two thirds of what is unknown of it on average. Where in the \
                          code it is best put, only somebody who knows the code can say.";

/// Says why the table is empty.
pub const EMPTY: &str = "There is no request here.";

/// Returns where in its spans a place lies.
pub(super) fn place_words(row: &InstrumentRow) -> String {
    match row.callee.as_deref() {
        Some("") => "the call, which nothing answers that has spans".to_owned(),
        Some(callee) => format!("in {}, which has no spans", printable(callee)),
        None if row.previous.is_none() && row.next.is_none() => "all of it, as it makes no calls".to_owned(),
        None => between_endpoints(row.previous.as_ref(), row.next.as_ref()),
    }
}

/// Returns the answer of a report: how long stretches are, and where a span would tell most.
pub fn headline(report: &InstrumentReport) -> Sentence {
    let out = Sentence::default();
    let Some(first) = report.rows.first() else { return out.text(EMPTY) };
    let out = out.text("On average, a microsecond of latency lies in a stretch of ");
    let out =
        out.number(duration(report.unknown_us)).text(" that no span divides. One more span tells most in ");
    let out = out.name(&first.endpoint).text(&format!(", {}: it would make that ", place_words(first)));
    let out = out.number(duration(report.unknown_us - first.gain_us)).text(". The place takes ");
    let out = out.number(duration(first.us)).text(" per request, ").number(share(first.share));
    out.text(" of the latency.")
}

/// Returns what to do at a place.
pub fn advice(row: &InstrumentRow) -> String {
    match (&row.callee, &row.language) {
        (Some(callee), _) => {
            let callee =
                if callee.is_empty() { "What answers this call".to_owned() } else { printable(callee) };
            format!(
                "{callee} has no spans: instrument it. If that cannot be, its own log of slow requests says more."
            )
        }
        (None, Some(language)) => {
            format!(
                "{} is written in {}. A span there:",
                printable(&row.endpoint.service),
                printable(language)
            )
        }
        (None, None) => format!(
            "{} does not say its language (the tag telemetry.sdk.language). A span there, in Go:",
            printable(&row.endpoint.service)
        ),
    }
}
