//! The numbers of a tag by endpoint: tokens, cost, time to the first token.

use crate::address::choices::with_chosen;
use crate::table::{Column, PER_REQUEST, Table, WHEN_PRESENT};
use pathlight_base::format;
use pathlight_engine::endpoints::{TagSum, TagSumsReport};
use pathlight_engine::queries::OverviewReport;
use pathlight_trace::is_measure;

/// What a column of sums says of itself.
pub const SUM_HINT: &str = "Sum of the numbers of the tag chosen at the top";

/// The numbers of a tag at one endpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct SumLine {
    sum: TagSum,
    per_request: f64,
}

impl SumLine {
    /// Returns the lines of a report.
    pub fn all(report: &TagSumsReport) -> Vec<SumLine> {
        report
            .rows
            .iter()
            .map(|row| SumLine { sum: row.clone(), per_request: report.per_request(row) })
            .collect()
    }

    fn name(&self) -> (&str, &str) {
        self.sum.place.names()
    }
}

/// Returns the table of sums by endpoint.
pub fn sums() -> Table<SumLine> {
    let columns = vec![
        Column::endpoint("Endpoint", "Operation and service", SumLine::name),
        Column::count("sum", "sum", "Sum of the numbers of the tag", |line: &SumLine| line.sum.sum.into()),
        Column::count("request", "per request", "The sum divided by all requests", |line: &SumLine| {
            line.per_request.into()
        })
        .group(PER_REQUEST),
        Column::count(
            "present",
            "when present",
            "The sum divided by the requests that have it",
            |line: &SumLine| line.sum.when_present().into(),
        )
        .group(WHEN_PRESENT),
        Column::count("span", "per span", "Mean of the spans that have a number", |line: &SumLine| {
            line.sum.per_span().into()
        }),
        Column::count("max", "max", "Greatest number", |line: &SumLine| line.sum.max.into()),
        Column::count("requests", "requests", "Requests that have it", |line: &SumLine| {
            line.sum.requests.into()
        }),
        Column::count("spans", "spans", "Spans that have a number", |line: &SumLine| line.sum.spans.into()),
    ];
    Table::new("sums-table", "Numbers of a tag by endpoint", ("sum", true), columns)
}

/// Returns what is said of the sums beside their table; empty if there is nothing.
pub fn sums_note(report: &TagSumsReport) -> String {
    let key = format::printable(&report.key);
    if report.is_unknown {
        return format!("{key} has too many values to be stored, so its sums are not known.");
    }
    if report.rows.is_empty() {
        return format!("No span of these requests has a number under {key}.");
    }
    match report.is_rounded {
        true => format!("{key} has too many values to be stored exactly: each is rounded to three digits."),
        false => String::new(),
    }
}

/// Returns the keys of tags that may be summed: first what calls of a language model take, then other numbers. `chosen` is
/// the one in the address, which these traces may not have.
pub fn sum_keys(overview: &OverviewReport, chosen: Option<&str>) -> Vec<String> {
    let (measures, others): (Vec<&str>, Vec<&str>) = overview.number_keys().partition(|key| is_measure(key));
    with_chosen(measures.into_iter().chain(others), chosen)
}
