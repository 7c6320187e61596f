//! Requests by verdict and by reason, and what keeps them in all views.

use super::severity::severity_behind;
use crate::address::Address;
use pathlight_base::format::{count, counted, duration_us, moment, printable};
use pathlight_engine::anomalies::{Abnormal, AnomalyReport, ReasonGroup};
use pathlight_engine::requests::{Filter, OnlyFilter};
use std::rc::Rc;

/// Requests that have something in common.
pub struct GroupLine {
    /// Number of requests.
    pub requests: u64,
    /// What they have in common, in words.
    pub words: String,
    /// Rows of the report, the most anomalous first.
    pub rows: Vec<usize>,
}

/// Requests listed of a group.
pub const LISTED: usize = 20;
/// Words of the button that keeps the requests of a group.
pub const ONLY: &str = "Only these, in all views";
/// What is said of it beside the pointer.
pub const ONLY_HINT: &str = "Filters all views: keeps these requests, at most 100 of them";

/// What can be said of a request or group: words of the button, what is said beside the pointer, the name in tests, and
/// whether it is normal.
pub const LABELS: [(&str, &str, &str, bool); 2] = [
    (
        "This is normal",
        "Requests like it join the baseline, as one of twenty at least; Save baseline keeps that",
        "anomaly-normal-label",
        true,
    ),
    (
        "This is the incident",
        "Requests of the baseline that are like it leave it; Save baseline keeps that",
        "anomaly-incident-label",
        false,
    ),
];

/// Groups that are listed.
const GROUPS: usize = 8;

/// Returns the largest groups of requests by their first reason.
pub fn groups(report: &AnomalyReport) -> Vec<GroupLine> {
    let line = |group: ReasonGroup| GroupLine {
        requests: group.rows.len() as u64,
        words: printable(&group.words),
        rows: group.rows,
    };
    report.groups().into_iter().take(GROUPS).map(line).collect()
}

/// Returns the sign of a verdict, which its dots have too.
pub fn sign(verdict: Abnormal) -> char {
    match verdict {
        Abnormal::Delayed => '\u{25b2}',
        Abnormal::Different => '\u{25cf}',
        Abnormal::Both => '\u{25c6}',
    }
}

/// Returns the requests of each verdict, those that are both apart; nothing where no delay is tested.
pub fn verdict_lines(report: &AnomalyReport) -> Vec<GroupLine> {
    if !report.has_delays {
        return Vec::new();
    }
    let line = |(verdict, words)| {
        let is_it = |at: &usize| report.verdict(&report.rows[*at]) == Some(verdict);
        let rows: Vec<usize> = (0..report.rows.len()).filter(is_it).collect();
        let requests = rows.len() as u64;
        GroupLine { requests, words: format!("{} {} {words}", sign(verdict), count(requests)), rows }
    };
    let verdicts = [
        (Abnormal::Delayed, "delayed"),
        (Abnormal::Different, "different"),
        (Abnormal::Both, "delayed and different"),
    ];
    verdicts.map(line).into_iter().filter(|line| line.requests > 0).collect()
}

/// Returns what the list of a group says of a request.
pub fn request_words(report: &AnomalyReport, at: usize) -> String {
    let row = &report.rows[at];
    let (latency, start) = (duration_us(row.request.latency_us), moment(row.start_us));
    format!("{latency}{}; {start}", severity_behind(report, row))
}

/// Keeps some judged requests of a set in all views, in place of those chosen before; the most anomalous, if they are too
/// many.
pub fn keep_only(address: &mut Address, report: &AnomalyReport, rows: &[usize], group: u8) {
    let requests = rows.iter().map(|&row| &report.rows[row].request);
    address.add_filter(Filter::Only(OnlyFilter::of(group, requests)));
}

/// Returns a report about the judged requests that are kept in all views. Their verdicts are those among all.
pub fn kept(report: Rc<AnomalyReport>, address: &Address) -> Rc<AnomalyReport> {
    let group = super::sides(address).1.group;
    let filters = address.filters.iter().filter_map(|filter| match filter {
        Filter::Only(only) => Some(only),
        _ => None,
    });
    filters.fold(report, |report, only| {
        let mut left = (*report).clone();
        left.rows.retain(|row| only.keeps(group, &row.request));
        Rc::new(left)
    })
}

/// Returns what the list of groups leaves out, in words; empty if nothing.
pub fn more_groups(report: &AnomalyReport) -> String {
    let groups = report.groups();
    let left = groups.get(GROUPS..).unwrap_or_default();
    let requests = left.iter().map(|group| group.rows.len() as u64).sum();
    match left.len() as u64 {
        0 => String::new(),
        more => format!("{} with {} not listed", counted(more, "other reason"), counted(requests, "request")),
    }
}
