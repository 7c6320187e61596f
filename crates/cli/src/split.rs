//! `pathlight split`: latency, or the time of one endpoint, by the values of a tag.

use super::common::Common;
use super::table::TextColumn::{Left, Right};
use super::table::{TextTable, more};
use super::{Failure, parse};
use pathlight_base::format::{count, counted, duration};
use pathlight_engine::deployments::DeploymentsReport;
use pathlight_engine::queries;
use pathlight_engine::split::{ProposalsReport, ProposedValue, SplitOf, SplitReport, TagProposal};
use pathlight_trace::Endpoint;
use pathlight_view::deployments::{self, SplitProposal};
use pathlight_view::endpoints::sums_note;
use pathlight_view::{json, split};
use std::fmt::Write as _;

/// The options of `split`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// The tag or process tag; without it, the tags whose values differ most are listed
    #[arg(long, value_name = "KEY")]
    tag: Option<String>,
    /// Split the self time of this endpoint on the critical path instead of the latency; each call is a sample
    #[arg(long, value_name = "SERVICE:OPERATION", value_parser = parse::endpoint)]
    endpoint: Option<Endpoint>,
    /// Sum the numbers of this tag by value, such as tokens or cost
    #[arg(long, value_name = "KEY", requires = "tag")]
    sum: Option<String>,
    /// With `--endpoint`: whether a sample is one call, or all calls of one request together
    #[arg(long, value_parser = ["call", "request"], default_value = "call", requires = "endpoint")]
    per: String,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let of_endpoint = if args.per == "request" { SplitOf::Sums } else { SplitOf::Calls };
    let of = args.endpoint.clone().map_or(SplitOf::Latency, of_endpoint);
    let mut pool = args.common.load()?;
    let selection = args.common.selection();
    let rows = args.common.rows();
    let text = match args.tag.clone() {
        Some(key) => {
            let report = pool.run(queries::Split { selection, of, key, sum: args.sum.clone() })?;
            if args.common.json { json::split(&report)? + "\n" } else { to_text(&report, rows) }
        }
        None => {
            let report = pool.run(queries::Proposals { selection: selection.clone(), of })?;
            if args.common.json {
                json::proposals(&report)? + "\n"
            } else {
                let places = pool.run(queries::Deployments { selection, key: None })?;
                slower_place(&places) + &list(&report, rows)
            }
        }
    };
    if args.common.json { args.common.print(&text) } else { args.common.print_text(&text) }
}

/// Returns the split that shows a place that is slower than others; empty without one.
fn slower_place(report: &DeploymentsReport) -> String {
    let said = deployments::split_proposal(report).map(|SplitProposal { sentence, key, endpoint }| {
        let Endpoint { service, operation } = endpoint;
        format!("{}\n  split --tag {key} --endpoint '{service}:{operation}'\n\n", sentence.to_text())
    });
    said.unwrap_or_default()
}

fn list(report: &ProposalsReport, rows: usize) -> String {
    // Writing to a String cannot fail.
    let mut out = format!("Each sample is the {}.\n\n", report.of.sample_words());
    let mut table = TextTable::new([
        Right("effect"),
        Right("95 % interval"),
        Right("values"),
        Left("tag: slowest and fastest median"),
    ]);
    for TagProposal { key, effect, values } in report.proposals.iter().take(rows) {
        let interval = format!("{:.3} .. {:.3}", effect.interval.low, effect.interval.high);
        let said = |value: Option<&ProposedValue>| {
            value
                .map_or(String::new(), |v| format!("{} {} (n = {})", v.value, duration(v.p50_us), count(v.n)))
        };
        let (slowest, fastest) = (said(values.first()), said(values.last()));
        table.row([
            format!("{:.3}", effect.share),
            interval,
            values.len().to_string(),
            format!("{key}: {slowest}, {fastest}"),
        ]);
    }
    let _ = writeln!(
        out,
        "{table}{}\n{} of {} tags differ by more than chance.",
        more(report.proposals.len(), rows, "tag"),
        report.proposals.len(),
        report.proposals.len() + report.left_out.len()
    );
    out
}

fn to_text(report: &SplitReport, rows: usize) -> String {
    // Writing to a String cannot fail.
    let mut out = format!("Each sample is the {}.\n\n", report.of.sample_words());
    let table = split::table().filled(report.values.clone());
    let table = TextTable::of(&table, 3, rows);
    let _ = writeln!(
        out,
        "{table}{}\n{} without the tag",
        more(report.values.len(), rows, "value"),
        count(report.missing)
    );
    let note = report.sums.as_ref().map(sums_note).unwrap_or_default();
    if !note.is_empty() {
        let _ = writeln!(out, "{note}");
    }
    if report.others.0 > 0 {
        let (values, samples) = report.others;
        let _ = writeln!(out, "{} with {}", counted(samples, "sample"), counted(values, "rarer value"));
    }
    out
}
