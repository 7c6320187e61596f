//! The error analysis in words, for the page and the command line.

use pathlight_query::{ErrorRow, ErrorsReport};
use pathlight_text::format::{count, counted, duration, duration_us, share_of};

/// What happened, where errors start and stop, what they cost: a sentence each; one alone if there are none.
pub fn sentences(report: &ErrorsReport) -> Vec<String> {
    let (facts, totals) = (&report.facts, &report.totals);
    if totals.requests == 0 {
        return vec![format!("No errors among {}.", counted(facts.requests, "request"))];
    }
    let mut out = vec![format!(
        "Requests with errors: {} of {} ({}); {} as a whole.",
        count(totals.requests),
        count(facts.requests),
        share_of(totals.requests, facts.requests),
        match totals.failed_requests {
            0 => "none fails".to_owned(),
            1 => "1 fails".to_owned(),
            failed => format!("{} fail", count(failed)),
        }
    )];
    if let Some(row) = most(report, |row| row.own) {
        let (own, name) = (count(row.own), endpoint(report, row));
        out.push(format!("Errors start in {}, most in {name} ({own}).", counted(totals.own, "span")));
    }
    out.push(match most(report, |row| row.stopped) {
        Some(row) => format!(
            "They stop in {} that are not in error, most in {} ({}).",
            counted(totals.stopped, "span"),
            endpoint(report, row),
            count(row.stopped)
        ),
        None => "None is stopped on its way to the root.".to_owned(),
    });
    if totals.saved_us == 0 {
        out.push("They cost no latency: whatever is in error, requests wait for something else.".to_owned());
    } else {
        let failed = match totals.failed_us {
            0 => String::new(),
            us => format!(", {} of that in requests that fail as a whole", duration_us(us)),
        };
        out.push(format!(
            "Without the erroring spans requests would take {} less ({} of all latency{failed}): p50 {} instead of {}, p95 {} instead of {}.",
            duration_us(totals.saved_us),
            share_of(totals.saved_us, facts.latency_sum_us),
            duration(report.without_us.p50),
            duration(facts.latency_us.p50),
            duration(report.without_us.p95),
            duration(facts.latency_us.p95),
        ));
    }
    out.push(format!(
        "Erroring spans are {} of all work, {} on their own.",
        share_of(totals.work_saved_us, totals.work_us),
        duration_us(totals.work_saved_us),
    ));
    out
}

/// The row with the most of something (ties: the first); `None` if none has any.
fn most(report: &ErrorsReport, of: impl Fn(&ErrorRow) -> u64) -> Option<&ErrorRow> {
    report.rows.iter().rev().max_by_key(|row| of(row)).filter(|row| of(row) > 0)
}

fn endpoint(report: &ErrorsReport, row: &ErrorRow) -> String {
    let (service, operation) = report.name(row.endpoint);
    format!("[{service}] {operation}")
}
