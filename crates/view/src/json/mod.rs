//! Public JSON: what `pathlight COMMAND --json` prints and what the page exports. `docs/report-schema.md` lists the keys;
//! a test writes it from the doc comments here and in the reports.
//!
//! A report whose fields are the public keys is written as it is. Every other report has one struct here that says, key by
//! key, what it means and how it follows from the report.

mod anomaly;
mod compare;
mod critical_path;
mod culprit;
mod diagnosis;
mod endpoints;
mod errors;
mod findings;
mod flow;
mod inspect;
#[cfg(feature = "schema")]
pub mod schema;
mod split;
mod summaries;
mod summary;
mod trend;

pub use anomaly::{anomaly, anomaly_evaluation, vectors};
pub use compare::compare;
pub use critical_path::{critical_path, per_request};
pub use diagnosis::{aggregate_trace, diagnosis, diagnosis_sets};
pub use endpoints::{endpoints, histograms};
pub use errors::errors;
pub use findings::findings;
pub use flow::{flow, flow_evaluation, flow_parents, flow_target, flow_timeout, savings, what_if};
pub use inspect::inspect;
pub use split::{proposals, split};
pub use summaries::show;
pub use summary::{heatmap, summary};
pub use trend::trend;

use pathlight_analysis::critical_path::Waiting;
use pathlight_analysis::requests::{PercentileRange, RangeFacts};
use pathlight_model::stats::{Interval, Summary};
use serde::Serialize;

/// The text of a report. Errors only if serde_json refuses a value, which no report holds.
type Text = serde_json::Result<String>;

/// Declares a struct of public JSON together with its constructor `of`, so that every key stands once: its meaning, its
/// name, its type, and its value in terms of the constructor's arguments.
macro_rules! public_json {
    (
        $(#[$about:meta])*
        $name:ident $(<$life:lifetime>)? ($($argument:ident: $of:ty),* $(,)?) {
            $($(#[$meaning:meta])* $key:ident: $type:ty = $value:expr,)*
        }
    ) => {
        $(#[$about])*
        #[derive(serde::Serialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub(super) struct $name $(<$life>)? {
            $($(#[$meaning])* $key: $type,)*
        }

        impl $(<$life>)? $name $(<$life>)? {
            pub(super) fn of($($argument: $of),*) -> Self {
                Self { $($key: $value,)* }
            }
        }
    };
}
use public_json;

public_json! {
    /// Time on the critical path on the way to a service.
    WaitingFor<'a>(wait: &'a Waiting) {
        /// `network`, or `network or caller` where spans have no kind: then the caller's own work may be in it.
        kind: &'static str = if wait.is_certain { "network" } else { "network or caller" },
        /// The service that is waited for.
        callee: &'a str = &wait.callee,
        /// Sum in microseconds.
        sum_us: u128 = wait.us,
        /// Requests that wait.
        traces: u64 = wait.requests,
    }
}

public_json! {
    /// The requests that a report is about.
    Requests(facts: &RangeFacts, range: Option<PercentileRange>) {
        /// How many requests lie in the percentile range.
        requests: u64 = facts.requests,
        /// The percentile range as `[from, to]`, in percent.
        band: [f64; 2] = percent(range),
        /// Latencies of the requests.
        latency_us: Summary = facts.latency_us,
        /// Sum of their latencies.
        latency_sum_us: u128 = facts.latency_sum_us,
    }
}

/// Returns a percentile range as `[from, to]` in percent; that of all requests if none is given.
fn percent(range: Option<PercentileRange>) -> [f64; 2] {
    let range = range.unwrap_or(PercentileRange::ALL);
    [f64::from(range.lo) / 1000.0, f64::from(range.hi) / 1000.0]
}

/// Returns an interval as `[low, high]`.
fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

/// Writes a report for people: one key a line.
fn pretty(report: &impl Serialize) -> Text {
    serde_json::to_string_pretty(report)
}

/// Writes a report that is too long to be read: on one line.
fn compact(report: &impl Serialize) -> Text {
    serde_json::to_string(report)
}
