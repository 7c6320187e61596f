//! The textual summary of a percentile range: top endpoints by percentiles of their exclusive time, to be copied into a
//! ticket.

use pathlight_query::{CallChain, EndpointId, EndpointsReport, RowStat, RowTime};
use pathlight_text::format::{DASH, count, counted, duration, markdown, printable, share_of};
use std::fmt::Write as _;

/// The percentiles that each have a list.
const LISTS: [RowStat; 3] = [RowStat::P50, RowStat::P95, RowStat::P99];

/// How a name is written: [`printable`] or [`markdown`].
type Spelling = fn(&str) -> String;

fn endpoint(report: &EndpointsReport, number: EndpointId, spell: Spelling) -> String {
    let (service, operation) = report.name(number);
    format!("[{}] {}", spell(service), spell(operation))
}

fn chain_text(report: &EndpointsReport, chain: &CallChain, spell: Spelling) -> String {
    let names: Vec<String> = chain.path.iter().map(|&number| endpoint(report, number, spell)).collect();
    names.join(" > ")
}

fn heading(report: &EndpointsReport) -> String {
    let facts = &report.facts;
    let latency = &facts.latency_us;
    format!(
        "{}, latency p50 {}, p95 {}, p99 {}",
        counted(facts.requests, "request"),
        duration(latency.p50),
        duration(latency.p95),
        duration(latency.p99),
    )
}

/// One line of the summary: endpoint number, its time, its share of all latency, requests that have it.
fn cells(report: &EndpointsReport, number: EndpointId, stat: RowStat) -> (String, String, String) {
    let row = &report.rows[number.index()];
    let share = share_of(row.exclusive_us.sum, report.facts.latency_sum_us);
    (duration(stat.of(&row.exclusive_us)), share, count(row.requests))
}

/// The summary as plain text: for each percentile the `top` endpoints with their call chains.
pub fn to_text(report: &EndpointsReport, top: usize) -> String {
    let mut out = heading(report) + "\n";
    for stat in LISTS {
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "\nTop endpoints by {} of exclusive time on the critical path\n{:>12} {:>9} {:>9}  endpoint",
            stat.name(),
            stat.name(),
            "share",
            "requests"
        );
        for number in report.order(RowTime::Exclusive, stat).into_iter().take(top) {
            let (time, share, requests) = cells(report, number, stat);
            let _ =
                writeln!(out, "{time:>12} {share:>9} {requests:>9}  {}", endpoint(report, number, printable));
            for chain in &report.rows[number.index()].chains {
                let part = share_of(chain.exclusive_us, report.rows[number.index()].exclusive_us.sum);
                let _ = writeln!(out, "{:>34}{part:>8}  {}", "", chain_text(report, chain, printable));
            }
        }
    }
    out
}

/// The summary as Markdown: one table for each percentile.
pub fn to_markdown(report: &EndpointsReport, top: usize) -> String {
    let mut out = heading(report) + "\n";
    for stat in LISTS {
        let _ = writeln!(
            out,
            "\n### Top endpoints by {name} of exclusive time on the critical path\n\n\
             | endpoint | {name} | share | requests | main call chain |\n|---|---:|---:|---:|---|",
            name = stat.name()
        );
        for number in report.order(RowTime::Exclusive, stat).into_iter().take(top) {
            let (time, share, requests) = cells(report, number, stat);
            let main = report.rows[number.index()].chains.first();
            let main = main.map_or(DASH.to_owned(), |chain| chain_text(report, chain, markdown));
            let name = endpoint(report, number, markdown);
            let _ = writeln!(out, "| {name} | {time} | {share} | {requests} | {main} |");
        }
    }
    out
}

/// A field of CSV, quoted where it must be (RFC 4180).
fn field(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Every endpoint as CSV, times in microseconds, most total exclusive time first.
pub fn to_csv(report: &EndpointsReport) -> String {
    let mut out = String::from("service,operation");
    for time in ["exclusive", "inclusive"] {
        for stat in RowStat::ALL {
            let _ = write!(out, ",{time}_{}_us", stat.name());
        }
    }
    out.push_str(",share,requests,spans,errors,main_call_chain\r\n");
    for number in report.order(RowTime::Exclusive, RowStat::Total) {
        let row = &report.rows[number.index()];
        let (service, operation) = report.name(number);
        let _ = write!(out, "{},{}", field(service), field(operation));
        for weight in [&row.exclusive_us, &row.inclusive_us] {
            for stat in RowStat::ALL {
                let _ = write!(out, ",{}", stat.of(weight));
            }
        }
        let chain =
            row.chains.first().map(|chain| chain_text(report, chain, str::to_owned)).unwrap_or_default();
        let _ = write!(
            out,
            ",{},{},{},{},{}\r\n",
            report.share(number),
            row.requests,
            row.spans,
            row.errors,
            field(&chain)
        );
    }
    out
}
