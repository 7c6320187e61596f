//! The textual summary of a percentile range, to be copied into a ticket: where requests at percentiles of their latency
//! spend it, or the top endpoints by percentiles of their self time.

use crate::endpoints::share_range;
use crate::say::selection::range_words;
use crate::table::{Number, write_line};
use pathlight_base::format::{DASH, count, counted, duration, markdown, printable, share_of};
use pathlight_base::statistics::Interval;
use pathlight_engine::endpoints::{CallChain, EndpointsReport, RowStat, RowTime};
use pathlight_engine::ids::ReportEndpoint;
use pathlight_trace::{Endpoint, Pseudonyms};
use std::borrow::Cow;
use std::fmt::Write as _;

/// The percentiles that each have a list.
const LISTS: [RowStat; 3] = [RowStat::P50, RowStat::P95, RowStat::P99];

/// Pseudonyms of names, if names are left out.
pub type NamesLeftOut<'a> = Option<&'a Pseudonyms>;

/// Spelling of a name: by [`printable`], [`markdown`] or as it is.
#[derive(Clone, Copy)]
struct Spelling<'a>(fn(&str) -> String, NamesLeftOut<'a>);

fn shown<'a>(
    report: &'a EndpointsReport,
    number: ReportEndpoint,
    names: NamesLeftOut<'_>,
) -> Cow<'a, Endpoint> {
    let endpoint = &report.endpoints[number.index()];
    names.map_or(Cow::Borrowed(endpoint), |names| Cow::Owned(names.endpoint(endpoint)))
}

fn endpoint(
    report: &EndpointsReport,
    number: ReportEndpoint,
    Spelling(spell, names): Spelling<'_>,
) -> String {
    let endpoint = shown(report, number, names);
    format!("[{}] {}", spell(&endpoint.service), spell(&endpoint.operation))
}

fn chain_text(report: &EndpointsReport, chain: &CallChain, spell: Spelling<'_>) -> String {
    let names: Vec<String> = chain.path.iter().map(|&number| endpoint(report, number, spell)).collect();
    names.join(" > ")
}

fn heading(report: &EndpointsReport) -> String {
    let facts = &report.facts;
    let latency = facts.said_us();
    format!(
        "{}, latency p50 {}, p95 {}, p99 {}",
        counted(facts.requests, "request"),
        duration(latency.p50),
        duration(latency.p95),
        duration(latency.p99),
    )
}

/// One line of the summary: the time of an endpoint, its share of all latency with the interval if there is one,
/// requests that have it.
struct Cells {
    time: String,
    share: String,
    interval: String,
    requests: String,
}

fn cells(report: &EndpointsReport, number: ReportEndpoint, stat: RowStat) -> Cells {
    let row = &report.rows[number.index()];
    Cells {
        time: duration(stat.of(&row.exclusive_us)),
        share: share_of(row.exclusive_us.sum, report.facts.latency_sum_us),
        interval: row.share_interval.map(share_range).unwrap_or_default(),
        requests: count(row.requests),
    }
}

/// Returns whether shares have intervals.
fn has_intervals(report: &EndpointsReport) -> bool {
    report.rows.iter().any(|row| row.share_interval.is_some())
}

/// The head of the intervals of shares.
const INTERVAL: &str = "95\u{202f}% interval";

/// Subject of the lists of the note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListsBy {
    /// Requests near p50, p95 and p99 of their latency: where they spend it, on average.
    Latency,
    /// Every endpoint for itself: p50, p95 and p99 of its time, over the requests that have it.
    Endpoint,
}

/// The choices, each by its key and in words.
pub const LISTS_BY: [(&str, &str); 2] = [
    ("latency", "of requests at p50, p95, p99 of latency"),
    ("endpoint", "of endpoints by p50, p95, p99 of their time"),
];

impl ListsBy {
    /// Returns the choice of a key.
    pub fn from_key(key: &str) -> ListsBy {
        if key == "endpoint" { ListsBy::Endpoint } else { ListsBy::Latency }
    }
}

/// One list: the report it is of, its order, and the heads of list and time.
struct List<'a> {
    report: &'a EndpointsReport,
    stat: RowStat,
    head: String,
    time: &'static str,
}

/// Returns the lists of a summary; `at` are the reports of [`AtLatencies`](pathlight_engine::queries::AtLatencies).
fn lists<'a>(report: &'a EndpointsReport, at: &'a [EndpointsReport], by: ListsBy) -> Vec<List<'a>> {
    if by == ListsBy::Endpoint {
        let list = |stat: RowStat| {
            let words = "of self time on the critical path, over the requests that have the endpoint there";
            let head = format!("Top endpoints by the {} {words}", stat.name());
            List { report, stat, head, time: stat.name() }
        };
        return LISTS.map(list).into();
    }
    let list = |(stat, report): (RowStat, &'a EndpointsReport)| {
        let facts = &report.facts;
        let range = report.range.map(range_words).unwrap_or_default();
        let head = format!(
            "Where requests at the {} of latency spend it ({range}: {}, {} on average)",
            stat.name(),
            counted(facts.requests, "request"),
            duration(facts.mean_us()),
        );
        List { report, stat: RowStat::Mean, head, time: "mean" }
    };
    LISTS.into_iter().zip(at).map(list).collect()
}

/// Returns the summary as plain text: for each percentile the `top` endpoints with their call chains.
pub fn to_text(
    report: &EndpointsReport,
    at: &[EndpointsReport],
    by: ListsBy,
    top: usize,
    names: NamesLeftOut<'_>,
) -> String {
    let spell = Spelling(printable, names);
    let mut out = heading(report) + "\n";
    for List { report, stat, head, time } in lists(report, at, by) {
        // Writing to a String cannot fail.
        let few = has_intervals(report);
        let width = if few { 20 } else { 0 };
        let interval = if few { INTERVAL } else { "" };
        let _ = writeln!(
            out,
            "\n{head}\n{time:>12} {:>9}{interval:>width$} {:>9}  endpoint",
            "share", "requests"
        );
        for number in report.order(RowTime::Exclusive, stat).into_iter().take(top) {
            let Cells { time, share, interval, requests } = cells(report, number, stat);
            let name = endpoint(report, number, spell);
            let _ = writeln!(out, "{time:>12} {share:>9}{interval:>width$} {requests:>9}  {name}");
            for chain in &report.rows[number.index()].chains {
                let part = share_of(chain.exclusive_us, report.rows[number.index()].exclusive_us.sum);
                let _ = writeln!(out, "{:>34}{part:>8}  {}", "", chain_text(report, chain, spell));
            }
        }
        if let Some(words) = more(report, top) {
            let _ = writeln!(out, "{:>34}{words}", "");
        }
    }
    out
}

/// Returns what is said of the endpoints that a list leaves out; `None` if it leaves out none.
fn more(report: &EndpointsReport, top: usize) -> Option<String> {
    let left = report.rows.len().saturating_sub(top) as u64;
    (left > 0).then(|| format!("and {}", counted(left, "other endpoint")))
}

/// Returns the summary as Markdown: one table for each percentile.
pub fn to_markdown(
    report: &EndpointsReport,
    at: &[EndpointsReport],
    by: ListsBy,
    top: usize,
    names: NamesLeftOut<'_>,
) -> String {
    let spell = Spelling(markdown, names);
    let mut out = heading(report) + "\n";
    for List { report, stat, head, time } in lists(report, at, by) {
        let few = has_intervals(report);
        let column = |cell: &str| if few { format!(" {cell} |") } else { String::new() };
        let _ = writeln!(
            out,
            "\n### {head}\n\n\
             | endpoint | {time} | share |{} requests | main call path |\n|---|---:|---:|{}---:|---|",
            column(INTERVAL),
            column("---:").replace(' ', ""),
        );
        for number in report.order(RowTime::Exclusive, stat).into_iter().take(top) {
            let Cells { time, share, interval, requests } = cells(report, number, stat);
            let main = report.rows[number.index()].chains.first();
            let main = main.map_or(DASH.to_owned(), |chain| chain_text(report, chain, spell));
            let name = endpoint(report, number, spell);
            let interval = column(&interval);
            let _ = writeln!(out, "| {name} | {time} | {share} |{interval} {requests} | {main} |");
        }
        if let Some(words) = more(report, top) {
            let _ = writeln!(out, "\n{words}");
        }
    }
    out
}

/// Returns every endpoint as CSV, times in microseconds, most total exclusive time first. `exclusive_p99_us` is about
/// the requests that have the endpoint, `exclusive_at_p99_us` the mean of the requests at the p99 of their latency.
/// `share_low` and `share_high` are empty from 1,000 requests on.
pub fn to_csv(report: &EndpointsReport, at: &[EndpointsReport], names: NamesLeftOut<'_>) -> String {
    let spell = Spelling(str::to_owned, names);
    let mut fields = vec!["service".to_owned(), "operation".to_owned()];
    for time in ["exclusive", "inclusive"] {
        fields.extend(RowStat::ALL.iter().map(|stat| format!("{time}_{}_us", stat.name())));
    }
    fields.extend(LISTS.iter().zip(at).map(|(stat, _)| format!("exclusive_at_{}_us", stat.name())));
    let rest = ["share", "share_low", "share_high", "requests", "spans", "errors", "main_call_chain"];
    fields.extend(rest.map(str::to_owned));
    let mut out = String::new();
    write_line(&fields, &mut out);
    for number in report.order(RowTime::Exclusive, RowStat::Total) {
        let row = &report.rows[number.index()];
        let (service, operation) = report.name(number);
        let endpoint = shown(report, number, names);
        fields.clear();
        fields.extend([endpoint.service.clone(), endpoint.operation.clone()]);
        for weight in [&row.exclusive_us, &row.inclusive_us] {
            fields.extend(RowStat::ALL.iter().map(|stat| stat.of(weight).to_string()));
        }
        for at in at {
            // Endpoints are sorted by name.
            let here = at.endpoints.binary_search_by(|known| known.names().cmp(&(service, operation)));
            fields.push(here.map_or(0.0, |here| at.rows[here].exclusive_us.mean).to_string());
        }
        let end = |of: fn(Interval) -> f64| Number::from(row.share_interval.map(of)).digits();
        fields.push(report.share(number).to_string());
        fields.extend([end(|interval| interval.low), end(|interval| interval.high)]);
        fields.extend([row.requests.to_string(), row.spans.to_string(), row.errors.to_string()]);
        let chain = row.chains.first().map(|chain| chain_text(report, chain, spell));
        fields.push(chain.unwrap_or_default());
        write_line(&fields, &mut out);
    }
    out
}
