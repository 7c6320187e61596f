//! Where one more span would tell most, as JSON.

use super::snippet;
use crate::json::parts::{Text, percent, pretty, public_json};
use pathlight_engine::instrument::{InstrumentReport, InstrumentRow};
use pathlight_trace::Endpoint;

public_json! {
    /// Where one more span would tell most about what requests wait for.
    Instrument<'a>(report: &'a InstrumentReport) {
        /// Number of requests in the percentile range.
        requests: u64 = report.facts.requests,
        /// The percentile range as `[from, to]`, in percent.
        band: [f64; 2] = percent(Some(report.range)),
        /// Mean length of the stretch without a span in which a microsecond of latency lies, microseconds.
        unknown_us: f64 = report.unknown_us,
        /// Share of the latency between calls and their answers in other services, where no span can stand; 0 to 1.
        network_share: f64 = report.network_share,
        /// Number of places, of which `places` has at most 200.
        places_in_all: u64 = report.places_in_all,
        /// Places, the greatest gain first.
        places: Vec<Unseen<'a>> = report.rows.iter().map(Unseen::of).collect(),
    }
}

public_json! {
    /// A place in which a span could stand.
    Unseen<'a>(row: &'a InstrumentRow) {
        /// Service of the span in which it lies.
        service: &'a str = &row.endpoint.service,
        /// Operation of the span.
        operation: &'a str = &row.endpoint.operation,
        /// The call that ends before it, as `[service, operation]`; `null` where the span begins.
        previous: Option<[&'a str; 2]> = row.previous.as_ref().map(names),
        /// The call that begins after it; `null` where the span ends.
        next: Option<[&'a str; 2]> = row.next.as_ref().map(names),
        /// What the span calls, if that has no spans: it would have to be instrumented; empty if nobody knows its name, `null` where
        /// the span itself works.
        callee: Option<&'a str> = row.callee.as_deref(),
        /// Language of the service, as its SDK says; `null` if it does not.
        language: Option<&'a str> = row.language.as_deref(),
        /// Mean time on the critical path per request, microseconds.
        us: f64 = row.us,
        /// The same as a share of the latency of all requests, 0 to 1.
        share: f64 = row.share,
        /// Stretches per request.
        stretches: f64 = row.stretches,
        /// Mean length of the stretch in which a microsecond of this place lies, microseconds.
        stretch_us: f64 = row.stretch_us,
        /// How much `unknown_us` would shrink with a span here, microseconds.
        gain_us: f64 = row.gain_us,
        /// Code that makes the span; `null` where what is called has to be instrumented.
        code: Option<String> = snippet(row),
    }
}

fn names(endpoint: &Endpoint) -> [&str; 2] {
    [&endpoint.service, &endpoint.operation]
}

/// Returns the JSON of `instrument`.
///
/// # Errors
/// Only if serde_json refuses a number, which no report holds.
pub fn instrument(report: &InstrumentReport) -> Text {
    pretty(&Instrument::of(report))
}
