//! How much slower services and calls may become before a percentile of the latency exceeds a limit: sentence and table.

use crate::say::subject::subject_words;
use crate::table::{Column, Number, Table};
use pathlight_base::format::{DASH, THIN, counted, duration, duration_us, printable};
use pathlight_engine::flow::{Changes, HeadroomReport, HeadroomRow, Quantile, Slower};
use pathlight_engine::verdict::{ServicePart, Subject};
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// Returns what a panel says of a limit before there is one; `now_us` is the percentile as it is, if that is known.
pub fn no_limit_words(quantile: Quantile, now_us: Option<f64>) -> String {
    let name = quantile.name();
    let now = now_us.map_or_else(String::new, |us| format!(" (now {})", duration(us)));
    format!(
        "Enter the {name}{now} that requests must not exceed, to see how many times as long the own work of each service, and the \
         calls of each endpoint, may take before they do: each alone."
    )
}

/// Returns how many times as long as now something may take.
fn times_words(row: &HeadroomRow) -> String {
    match row.times() {
        Some(times) => format!("{times:.2}{THIN}\u{d7}"),
        None => format!("over {}{THIN}\u{d7}", 1 + HeadroomReport::MOST_PERCENT / 100),
    }
}

fn name_words(of: &Slower) -> String {
    match of {
        Slower::Service(service) => printable(service),
        Slower::Calls(endpoint) => printable(&endpoint.operation),
    }
}

/// Returns what a report says, in a sentence.
pub fn sentence(report: &HeadroomReport) -> String {
    if report.requests == 0 {
        return "There is no request here.".to_owned();
    }
    let name = report.quantile.name();
    let head = format!("{name} of {} is {}", counted(report.requests, "request"), duration(report.before_us));
    let limit = duration_us(report.limit_us);
    if report.is_exceeded() {
        return format!(
            "{head}, which is above {limit}: there is no headroom. Target says what would bring it down."
        );
    }
    let may = |row: &HeadroomRow| {
        Some(format!("{} may take {:.2} times as long", name_words(&row.of), row.times()?))
    };
    let services = report.rows.iter().filter(|row| matches!(row.of, Slower::Service(_)));
    let services: Vec<String> = services.filter_map(may).take(3).collect();
    let calls = report.rows.iter().filter(|row| matches!(row.of, Slower::Calls(_)));
    let call = calls.filter_map(may).next();
    match (services.is_empty(), call) {
        (true, None) => format!(
            "{head}; nothing that was tried brings it above {limit}, even if it takes {} times as long.",
            1 + HeadroomReport::MOST_PERCENT / 100
        ),
        (true, Some(call)) => format!("{head}. Before it exceeds {limit}, {call}."),
        (false, _) => {
            format!("{head}. Before it exceeds {limit}, the own work of {}.", services.join(", that of "))
        }
    }
}

/// Returns why the table is empty, if it is.
pub fn why_empty(report: &HeadroomReport) -> &'static str {
    if report.is_exceeded() {
        "The limit is exceeded as it is."
    } else {
        "No service works in these requests."
    }
}

/// One service or call, of a report.
pub struct HeadroomLine {
    at: usize,
    report: Rc<HeadroomReport>,
}

impl HeadroomLine {
    /// Returns the rows of a report.
    pub fn of(report: &Rc<HeadroomReport>) -> Vec<HeadroomLine> {
        (0..report.rows.len()).map(|at| HeadroomLine { at, report: report.clone() }).collect()
    }

    /// Returns its place among the rows.
    pub fn at(&self) -> usize {
        self.at
    }

    /// Returns what it changes, for a what-if.
    pub fn changes(&self) -> Changes {
        self.row().of.changes(self.row().longer_percent.unwrap_or(HeadroomReport::MOST_PERCENT))
    }

    /// Returns its endpoint; `None` for a service.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match &self.row().of {
            Slower::Calls(endpoint) => Some(endpoint),
            Slower::Service(_) => None,
        }
    }

    fn row(&self) -> &HeadroomRow {
        &self.report.rows[self.at]
    }

    fn name(&self) -> (Option<(&str, &str)>, String) {
        match &self.row().of {
            Slower::Calls(Endpoint { service, operation }) => {
                (Some((service, operation)), "whole call".to_owned())
            }
            Slower::Service(service) => {
                (None, subject_words(&Subject { service: service.clone(), part: ServicePart::Own }))
            }
        }
    }
}

/// Returns the table.
pub fn table() -> Table<HeadroomLine> {
    let columns = vec![
        Column::call(
            "What becomes slower",
            "The own work of a service, at all of its endpoints, or the whole calls of an endpoint: each alone",
            HeadroomLine::name,
        )
        .by(|a, b| a.row().of.cmp(&b.row().of))
        .csv_as(&["kind", "service", "operation"], |line| match &line.row().of {
            Slower::Service(service) => vec!["service".to_owned(), service.clone(), String::new()],
            Slower::Calls(of) => vec!["calls".to_owned(), of.service.clone(), of.operation.clone()],
        }),
        Column::said(
            "times",
            "May take",
            "How many times as long as now it may take before the percentile exceeds the limit, to a hundredth",
            |line: &HeadroomLine| line.row().times().map_or(Number::None, Number::from),
            |line| times_words(line.row()),
        )
        .csv(&["times"]),
        Column::said(
            "then",
            "Then",
            "The percentile if it takes that long; a dash if it stays within the limit at everything that was tried",
            |line: &HeadroomLine| line.row().then_us.into(),
            |line| match line.row().longer_percent {
                Some(_) => duration(line.row().then_us),
                None => DASH.to_owned(),
            },
        )
        .csv(&["then_us"]),
    ];
    Table::new("headroom-table", "How much slower services and calls may become", ("", false), columns)
        .with_attributes(|line| {
            let times = line.row().times().map_or(Number::None, Number::from);
            vec![("data-test", "room".to_owned()), ("data-value", times.digits())]
        })
}
