//! Parts that the public JSON of several reports shares: how a struct of keys is declared, and the keys that many have.

use crate::sampling::json::WeightedOf;
use pathlight_base::format::is_steering;
use pathlight_base::statistics::{Interval, Percentiles};
use pathlight_engine::flame::Waiting;
use pathlight_engine::requests::{PercentileRange, RangeFacts, Until};
use serde::Serialize;

/// The text of a report. Errors only if serde_json refuses a value, which no report holds.
pub(crate) type Text = serde_json::Result<String>;

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
        pub(crate) struct $name $(<$life>)? {
            $($(#[$meaning])* $key: $type,)*
        }

        impl $(<$life>)? $name $(<$life>)? {
            pub(crate) fn of($($argument: $of),*) -> Self {
                Self { $($key: $value,)* }
            }
        }
    };
}
pub(crate) use public_json;

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
        /// Number of requests in the percentile range.
        requests: u64 = facts.requests,
        /// The percentile range as `[from, to]`, in percent.
        band: [f64; 2] = percent(range),
        /// Latencies of the requests.
        latency_us: Percentiles = facts.latency_us,
        /// Sum of their latencies.
        latency_sum_us: u128 = facts.latency_sum_us,
        /// The requests that they stand for, where traces were sampled and say so; else left out.
        #[serde(skip_serializing_if = "Option::is_none")]
        weighted: Option<WeightedOf> = facts.weighted.as_ref().map(WeightedOf::of),
        /// `done` if requests end when everything is done that they lead to; missing if they end with their answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        until: Option<&'static str> = (facts.until == Until::Done).then_some(facts.until.name()),
        /// Requests of any latency that lead to more than was followed; missing if they end with their answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        cut: Option<u64> = (facts.until == Until::Done).then_some(facts.cut),
    }
}

/// Returns a percentile range as `[from, to]` in percent; that of all requests if none is given.
pub(crate) fn percent(range: Option<PercentileRange>) -> [f64; 2] {
    let range = range.unwrap_or(PercentileRange::ALL);
    [f64::from(range.lo) / 1000.0, f64::from(range.hi) / 1000.0]
}

/// Returns an interval as `[low, high]`.
pub(crate) fn ends(interval: Interval) -> [f64; 2] {
    [interval.low, interval.high]
}

/// Version of the keys: it grows when one goes or changes its meaning. New keys leave it as it is.
pub const VERSION: u32 = 1;

/// A report with the version of its keys before them.
#[derive(Serialize)]
struct Versioned<'a, R> {
    version: u32,
    #[serde(flatten)]
    report: &'a R,
}

impl<'a, R> Versioned<'a, R> {
    fn of(report: &'a R) -> Self {
        Versioned { version: VERSION, report }
    }
}

/// Writes a report for people: one key a line.
pub(crate) fn pretty(report: &impl Serialize) -> Text {
    serde_json::to_string_pretty(&Versioned::of(report)).map(shown)
}

/// Writes a report that is too long to be read: on one line.
pub(crate) fn compact(report: &impl Serialize) -> Text {
    serde_json::to_string(&Versioned::of(report)).map(shown)
}

/// Returns JSON in which what [steers](is_steering) a terminal or a reader is written as `\\uXXXX`, which means the same. JSON
/// itself does so only with the first 32 characters, and such characters can only stand in its texts.
fn shown(json: String) -> String {
    let steers = |c: char| c >= '\u{7f}' && is_steering(c);
    if !json.contains(steers) {
        return json;
    }
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            c if steers(c) => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_steer_are_written_as_numbers_and_mean_the_same() {
        let name = "a\u{1b}[2J\u{7}\u{7f}\u{9b}2J\u{202e}\u{2028}\u{feff}é日\u{202f}";
        let report = std::collections::BTreeMap::from([("name", name)]);
        for json in [pretty(&report).unwrap(), compact(&report).unwrap()] {
            assert!(!json.chars().any(|c| c != '\n' && is_steering(c)), "{json:?}");
            assert!(json.contains("\\u202e") && json.contains("é日\u{202f}"), "{json}");
            let read: serde_json::Value = serde_json::from_str(&json).unwrap();
            assert_eq!(read, serde_json::json!({ "version": VERSION, "name": name }));
        }
    }
}
