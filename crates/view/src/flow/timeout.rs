//! The effect of a timeout of calls, in words and numbers.

use crate::say::tip::Numbers;
use crate::table::{Column, csv};
use pathlight_base::format::{self, count, counted, duration, duration_us, printable, share};
use pathlight_base::statistics::Percentiles;
use pathlight_engine::flow::{CallTarget, TimeoutReport};

/// Words of a panel as long as no call is selected.
pub const NO_CALL: &str =
    "Select a call in the chart above or under Calls to give it a timeout, or all calls into a service.";

/// Returns the choice of no service: value and words.
pub(super) fn selected_call() -> (String, String) {
    (String::new(), "The selected call".to_owned())
}

/// Returns what can have a timeout: the selected call, which is an empty value, and the calls into each of these services;
/// values and words.
pub fn options(services: &[String]) -> Vec<(String, String)> {
    let into = services.iter().map(|service| (service.clone(), into_words(service)));
    [selected_call()].into_iter().chain(into).collect()
}

/// Returns a name of all calls into a service.
fn into_words(service: &str) -> String {
    format!("All calls into {}", printable(service))
}

/// Returns a name of the calls of a target.
pub fn calls_words(of: &CallTarget) -> String {
    match of {
        CallTarget::Endpoint(of) => format!("Calls of {}", format::endpoint(&of.service, &of.operation)),
        CallTarget::Service(service) => into_words(service),
    }
}

/// Returns a short name of the calls of a target.
pub fn target_words(of: &CallTarget) -> String {
    match of {
        CallTarget::Endpoint(endpoint) => printable(&endpoint.operation),
        CallTarget::Service(service) => into_words(service),
    }
}

/// Heads of the columns: the latency of the requests.
const HEADS: [&str; 3] = ["as it is", "failing fast", "retried once"];

/// A number of a latency.
type Figure = fn(&Percentiles) -> f64;

/// Numbers of a latency, with their names.
const ROWS: [(&str, Figure); 4] =
    [("p50", |of| of.p50), ("p95", |of| of.p95), ("p99", |of| of.p99), ("mean", |of| of.mean)];

fn latencies(report: &TimeoutReport) -> [&Percentiles; 3] {
    [&report.latency_us, &report.failing_fast_us, &report.retried_us]
}

/// Returns the latency of the requests as a table.
pub fn numbers(report: &TimeoutReport) -> Numbers {
    let rows = ROWS.map(|(name, of)| {
        let cells = latencies(report).map(|latency| (duration(of(latency)), of(latency).to_string()));
        (name.to_owned(), cells.to_vec())
    });
    Numbers { heads: HEADS.map(str::to_owned).to_vec(), rows: rows.to_vec() }
}

/// Returns what the timeout cuts, in a sentence.
pub fn cut_words(report: &TimeoutReport) -> String {
    if report.calls == 0 {
        return format!("None of {} waits for such a call.", counted(report.requests, "request"));
    }
    let calls = format!("{} of {}", count(report.cut_calls), counted(report.calls, "call"));
    format!(
        "A timeout of {} cuts {calls} ({}), in {} of {}.",
        duration_us(report.timeout_us),
        share(report.cut_calls as f64 / report.calls as f64),
        count(report.cut_requests),
        counted(report.requests, "request"),
    )
}

/// Returns what a retry is taken to be.
pub fn retry_words(report: &TimeoutReport) -> String {
    format!(
        "A retry takes what a call drawn at random takes, cut by the timeout too: {} on average. Callers go on as if the call \
         had returned.",
        duration_us(report.retry_us)
    )
}

/// Returns what is said of the timeout that is suggested.
pub fn suggested_words(report: &TimeoutReport) -> String {
    let suggested = duration_us(report.suggested_us);
    let (calls, of) = match report.usual_calls {
        Some(calls) => (calls, " of A"),
        None => (report.calls, ""),
    };
    if calls < TimeoutReport::SUGGESTED_CUTS_ONE_OF as u64 {
        return format!("Of so few calls{of} {suggested} cuts none: it is the longest.");
    }
    format!("{suggested} is the least that cuts at most 0.1 % of the calls{of}.")
}

/// Returns the latency of the requests as comma-separated values.
pub fn timeout_csv(report: &TimeoutReport) -> String {
    type Row = (&'static str, [f64; 3]);
    let columns = [
        Column::text_field("quantile", |row: &Row| row.0.into()),
        Column::field("as_it_is_us", |row| row.1[0].into()),
        Column::field("failing_fast_us", |row| row.1[1].into()),
        Column::field("retried_once_us", |row| row.1[2].into()),
    ];
    csv(&columns, &ROWS.map(|(name, of)| (name, latencies(report).map(of))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> TimeoutReport {
        let summary = |us: f64| Percentiles { mean: us, p50: us + 1.0, p95: us + 2.0, p99: us + 3.0, max: 9 };
        TimeoutReport {
            requests: 320,
            calls: 2_000,
            timeout_us: 200_000,
            suggested_us: 250_000,
            retry_us: 40_000,
            cut_calls: 12,
            cut_requests: 11,
            latency_us: summary(30.0),
            failing_fast_us: summary(10.0),
            retried_us: summary(20.0),
            ..TimeoutReport::default()
        }
    }

    #[test]
    fn a_timeout_says_what_it_cuts() {
        let mut report = report();
        assert_eq!(
            cut_words(&report),
            "A timeout of 200\u{202f}ms cuts 12 of 2\u{202f}000 calls (0.6\u{202f}%), in 11 of 320 requests."
        );
        assert!(retry_words(&report).contains("too: 40.0\u{202f}ms on average."));
        assert_eq!(
            suggested_words(&report),
            "250\u{202f}ms is the least that cuts at most 0.1 % of the calls."
        );
        report.calls = 999;
        assert_eq!(suggested_words(&report), "Of so few calls 250\u{202f}ms cuts none: it is the longest.");
        report.usual_calls = Some(3_000);
        assert_eq!(
            suggested_words(&report),
            "250\u{202f}ms is the least that cuts at most 0.1 % of the calls of A."
        );
        report.usual_calls = Some(3);
        assert!(suggested_words(&report).starts_with("Of so few calls of A 250"));
        report.calls = 0;
        assert_eq!(cut_words(&report), "None of 320 requests waits for such a call.");
    }

    #[test]
    fn calls_are_named_by_their_target() {
        let service = CallTarget::Service("cart".to_owned());
        let endpoint = CallTarget::Endpoint(pathlight_trace::Endpoint::new("cart", "GET /"));
        assert_eq!([&service, &endpoint].map(target_words), ["All calls into cart", "GET /"]);
        assert_eq!([&service, &endpoint].map(calls_words), ["All calls into cart", "Calls of GET / @ cart"]);
        let offered = options(&["a".to_owned(), "cart".to_owned()]);
        assert_eq!(offered[0], (String::new(), "The selected call".to_owned()));
        assert_eq!(offered[2], ("cart".to_owned(), "All calls into cart".to_owned()));
    }

    #[test]
    fn numbers_and_files_have_three_columns() {
        let report = report();
        let numbers = numbers(&report);
        assert_eq!(numbers.heads, HEADS);
        assert_eq!(numbers.rows[2].0, "p99");
        let digits: Vec<&str> = numbers.rows[2].1.iter().map(|cell| cell.1.as_str()).collect();
        assert_eq!(digits, ["33", "13", "23"]);
        let csv = timeout_csv(&report);
        assert_eq!(csv.lines().next(), Some("quantile,as_it_is_us,failing_fast_us,retried_once_us"));
        assert_eq!(csv.lines().last(), Some("mean,30,10,20"));
    }
}
