//! Errors: in words (for the command line too), as the flame graph of the paths that lead to them, and by endpoint.

use crate::say::tip::TipLine;
use crate::table::{Attributes, Column, Table};
use pathlight_base::format::{self, count, counted, duration, duration_us, share_of};
use pathlight_engine::errors::{ErrorMessage, ErrorRow, ErrorsReport};
use pathlight_engine::ids::NodeId;
use pathlight_engine::requests::Filter;
use std::rc::Rc;

/// Returns what happened, where errors start and stop, what they cost: a sentence each; one alone if there are none.
pub fn sentences(report: &ErrorsReport) -> Vec<String> {
    let (facts, totals) = (&report.facts, &report.totals);
    if totals.requests == 0 {
        return vec![format!("No errors among {}.", counted(facts.requests, "request"))];
    }
    let mut out = vec![format!(
        "Requests with errors: {} of {} ({}); {} as a whole.",
        count(totals.requests),
        count(report.requests()),
        share_of(totals.requests, report.requests()),
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
    if let Some((message, errors)) = report.messages.most.first() {
        let (text, of) = (format::printable(&message.text), counted(totals.own, "error"));
        let say = format::agreeing(*errors, "says", "say");
        out.push(format!("{} of {of} {say} \u{201c}{text}\u{201d}.", count(*errors)));
    }
    out.push(match most(report, |row| row.stopped) {
        Some(row) => format!(
            "They stop in {} that are not in error, most in {} ({}).",
            counted(totals.stopped, "span"),
            endpoint(report, row),
            count(row.stopped)
        ),
        None => "None stops before the root.".to_owned(),
    });
    if totals.saved_us == 0 {
        out.push("They cost no latency: meanwhile requests wait for something else.".to_owned());
    } else {
        let failed = match totals.failed_us {
            0 => String::new(),
            us => format!(", {} of that in requests that fail as a whole", duration_us(us)),
        };
        // One that reads the same has nothing to say.
        let (now, without) = (&facts.latency_us, &report.without_us);
        let percentiles =
            [("p50", without.p50, now.p50), ("p95", without.p95, now.p95), ("p99", without.p99, now.p99)];
        let changed = percentiles
            .map(|(name, without, now)| (name, duration(without), duration(now)))
            .into_iter()
            .filter(|(_, without, now)| without != now)
            .map(|(name, without, now)| format!("{name} {without} instead of {now}"))
            .collect::<Vec<String>>()
            .join(", ");
        out.push(format!(
            "Without the error spans, all requests together would take {} less ({} of all latency{failed}){}{changed}.",
            duration_us(totals.saved_us),
            share_of(totals.saved_us, facts.latency_sum_us),
            if changed.is_empty() { "" } else { ": " },
        ));
    }
    if report.untried.requests > 0 {
        out.push(untried_words(report));
    }
    out.push(format!(
        "Error spans take {} of the time of all spans that are waited for: {}.",
        share_of(totals.work_saved_us, totals.work_us),
        duration_us(totals.work_saved_us),
    ));
    out
}

/// Messages that the page lists.
const LISTED_MESSAGES: usize = 5;

/// A message of errors as a line.
pub struct MessageLine {
    /// Number of errors that have it.
    pub errors: String,
    /// What it says.
    pub text: String,
    /// Where these errors start, and the tag that says it.
    pub origin: String,
    /// The filter that keeps the requests with the tag.
    pub filter: Filter,
}

/// Returns the most frequent messages of errors.
pub fn messages(report: &ErrorsReport) -> Vec<MessageLine> {
    let most = report.messages.most.iter().take(LISTED_MESSAGES);
    most.map(|(ErrorMessage { endpoint, tag, text }, errors)| MessageLine {
        errors: count(*errors),
        text: format::printable(text),
        origin: format!("{}, {tag}", format::endpoint(&endpoint.service, &endpoint.operation)),
        filter: Filter::Tag { key: tag.clone(), value: text.clone() },
    })
    .collect()
}

/// Returns what is said below the messages: how many others there are, and how many errors have none.
pub fn other_messages(report: &ErrorsReport) -> String {
    let of = &report.messages;
    let others = of.in_all - of.in_all.min(LISTED_MESSAGES as u64);
    let others = (others > 0).then(|| counted(others, "other message"));
    let without = (of.without > 0).then(|| format!("{} without a message", counted(of.without, "error")));
    others.into_iter().chain(without).collect::<Vec<String>>().join(", ")
}

/// Returns what was not tried in requests with errors of many endpoints.
fn untried_words(report: &ErrorsReport) -> String {
    let untried = &report.untried;
    format!(
        "In {} more than 64 endpoints have errors on the critical path: only the 64 with the most time there were taken \
         out alone, so what {} would save is at least what is said.",
        counted(untried.requests, "request"),
        counted(untried.endpoints.len() as u64, "endpoint"),
    )
}

/// Returns the row with the most of something (ties: the first); `None` if none has any.
fn most(report: &ErrorsReport, of: impl Fn(&ErrorRow) -> u64) -> Option<&ErrorRow> {
    report.rows.iter().rev().max_by_key(|row| of(row)).filter(|row| of(row) > 0)
}

fn endpoint(report: &ErrorsReport, row: &ErrorRow) -> String {
    let (service, operation) = report.name(row.endpoint);
    format::endpoint(service, operation)
}

/// Words in place of the percentile range in the title where the report is of all requests.
pub const ANY_LATENCY: &str = "Requests of any latency";

/// Returns the title of the view; `label` says which requests it speaks of.
pub fn title(label: &str, report: &ErrorsReport) -> String {
    let us: u128 = report.nodes.iter().map(|node| node.error_us).sum();
    format!("{label}: {} on critical paths in error spans", duration_us(us))
}

/// Returns what an empty table says.
pub fn no_errors(report: &ErrorsReport) -> String {
    format!("No errors among {}", counted(report.facts.requests, "request"))
}

/// Returns why there is no flame graph although there are requests; empty if there is one.
pub fn why_no_graph(report: &ErrorsReport) -> String {
    if report.totals.requests == 0 {
        no_errors(report)
    } else if report.nodes.is_empty() {
        "No error lies on a critical path: meanwhile requests wait for something else.".to_owned()
    } else if report.nodes.iter().all(|node| node.error_us == 0) {
        "Error spans on critical paths have no self time.".to_owned()
    } else {
        String::new()
    }
}

/// Returns what the tip says of a node of the error paths, below its name.
pub fn tip(report: &ErrorsReport, node: NodeId) -> Vec<TipLine> {
    let Some(node) = report.nodes.get(node.index()) else { return Vec::new() };
    let lines = [
        format!(
            "{} on critical paths in error spans here and below, {} of all latency; {} here",
            duration_us(node.subtree_us),
            share_of(node.subtree_us, report.facts.latency_sum_us),
            duration_us(node.error_us)
        ),
        format!(
            "errors that start here: {}; passed on: {}; stopped: {}",
            count(node.own),
            count(node.propagated),
            count(node.stopped)
        ),
        format!(
            "{} of {} requests lead through it to an error",
            count(node.requests),
            count(report.requests())
        ),
    ];
    lines.into_iter().map(TipLine::Text).collect()
}

/// An endpoint that errors start in, pass through or end in.
pub struct ErrorEndpointRow {
    at: usize,
    report: Rc<ErrorsReport>,
}

impl ErrorEndpointRow {
    /// Returns the lines of a report.
    pub fn of(report: &Rc<ErrorsReport>) -> Vec<ErrorEndpointRow> {
        let with_errors = report.rows.iter().enumerate().filter(|(_, row)| row.has_errors());
        with_errors.map(|(at, _)| ErrorEndpointRow { at, report: report.clone() }).collect()
    }

    /// Returns its numbers.
    pub fn row(&self) -> &ErrorRow {
        &self.report.rows[self.at]
    }

    /// Returns service and operation.
    pub fn name(&self) -> (&str, &str) {
        self.report.name(self.row().endpoint)
    }

    fn attributes(&self) -> Attributes {
        let (service, operation) = self.name();
        vec![
            ("data-test", "error-line".to_owned()),
            ("data-service", service.to_owned()),
            ("data-operation", operation.to_owned()),
            ("data-own", self.row().own.to_string()),
            ("data-saved", self.row().saved_us.to_string()),
        ]
    }
}

/// Returns how many errors an endpoint has, for the detail panel: names and values; none without any. Most lie on no
/// critical path, of which the panel speaks else.
pub fn facts(report: &ErrorsReport, service: &str, operation: &str) -> Vec<(&'static str, String)> {
    let row = report.rows.iter().find(|row| report.name(row.endpoint) == (service, operation));
    let Some(row) = row.filter(|row| row.has_errors()) else { return Vec::new() };
    let [own, propagated, stopped] = [row.own, row.propagated, row.stopped].map(count);
    let mut facts = vec![("Errors that start here", own), ("Passed on", propagated), ("Stopped", stopped)];
    if row.path_spans > 0 {
        let on_path = format!("{} of {}", count(row.path_errors), counted(row.path_spans, "span"));
        facts.push(("In error on the critical path", on_path));
    }
    facts
}

/// Returns the companion table.
pub fn table() -> Table<ErrorEndpointRow> {
    let columns = vec![
        Column::endpoint(
            "Endpoint",
            "Where errors start, pass through or stop; Enter opens the slowest request with one that starts here",
            ErrorEndpointRow::name,
        )
        .csv(&["service", "operation"]),
        Column::field("spans", |line| line.row().spans.into()),
        Column::count("own", "Start", "Spans in error whose children are not", |line: &ErrorEndpointRow| {
            line.row().own.into()
        })
        .tiny()
        .csv(&["own"]),
        Column::count("propagated", "Pass on", "Spans in error of which a child is in error", |line: &ErrorEndpointRow| {
            line.row().propagated.into()
        })
        .low(2)
        .tiny()
        .csv(&["propagated"]),
        Column::count("stopped", "Stop", "Spans not in error of which a child is", |line: &ErrorEndpointRow| {
            line.row().stopped.into()
        })
        .tiny()
        .csv(&["stopped"]),
        Column::count("requests", "Requests", "Requests in which it is in error", |line: &ErrorEndpointRow| {
            line.row().requests.into()
        })
        .low(3)
        .csv(&["requests"]),
        Column::field("path_spans", |line| line.row().path_spans.into()),
        Column::field("path_errors", |line| line.row().path_errors.into()),
        Column::share(
            "share",
            "On the path",
            "Share of its spans on critical paths that are in error",
            |line: &ErrorEndpointRow| line.row().path_share().into(),
        )
        .low(2),
        Column::field("path_us", |line| line.row().path_us.into()),
        Column::duration(
            "time",
            "Path time",
            "Self time on critical paths of its spans in error",
            |line: &ErrorEndpointRow| line.row().path_error_us.into(),
        )
        .low(2)
        .csv(&["path_error_us"]),
        Column::field("path_without_us", |line| line.row().without_path_us.into()),
        Column::duration(
            "saved",
            "Would save",
            "How much less time all requests together would take without its spans in error",
            |line: &ErrorEndpointRow| line.row().saved_us.into(),
        )
        .csv(&["latency_saved_us"]),
        Column::text_field("example_trace_id", |line| {
            line.row().example.as_ref().map_or("", |example| &example.trace_id).into()
        }),
    ];
    Table::new("error-table", "Errors by endpoint", ("own", true), columns)
        .with_attributes(ErrorEndpointRow::attributes)
        .search(|line, finder| finder.fits_endpoint(line.name()))
}
