//! `pathlight endpoints`: interior endpoints ranked by what they cost all root endpoints together.

use super::common::{Common, PlacesOption};
use super::table::{TextTable, more};
use super::{Failure, parse};
use pathlight_base::format::{counted, duration_us, endpoint, printable, share};
use pathlight_engine::endpoints::{Affected, ImpactReport, TagSumsReport};
use pathlight_engine::queries;
use pathlight_view::endpoints::{self, ImpactLine, SumLine};
use pathlight_view::json;
use std::fmt::Write as _;

/// The options of `endpoints`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    places: PlacesOption,
    /// Assumed speedup of an endpoint, in percent, for the upper bound of what that would save
    #[arg(long, default_value_t = 10.0, value_name = "PERCENT", value_parser = parse::percent)]
    faster: f64,
    /// Sum the numbers of this tag by endpoint instead, such as tokens or cost: those on no critical path and roots too
    #[arg(long, value_name = "KEY", conflicts_with = "faster")]
    sum: Option<String>,
    /// Number of endpoints that the text lists (default: 15)
    #[arg(long)]
    top: Option<usize>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut pool = args.common.load()?;
    let selection = args.places.of(args.common.selection());
    if let Some(key) = args.sum.clone() {
        let report = pool.run(queries::TagSums { selection, key, by: None })?;
        return args.common.print_report(|| json::tag_sums(&report), |rows| sums(&report, args, rows));
    }
    let sizes = (!selection.by_service).then(|| queries::Histograms { selection: selection.clone() });
    let mut report = pool.run(queries::Impact { selection })?;
    if let Some(sizes) = sizes {
        report.count_calls(&pool.run(sizes)?);
    }
    args.common.print_report(|| json::endpoints(&report, args.faster), |rows| to_text(&report, args, rows))
}

fn sums(report: &TagSumsReport, args: &Args, rows: usize) -> String {
    let top = args.top.unwrap_or(rows);
    // Writing to a String cannot fail.
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} of {}, by endpoint.",
        printable(&report.key),
        counted(report.facts.requests, "request")
    );
    let note = endpoints::sums_note(report);
    if !note.is_empty() {
        let _ = writeln!(out, "{note}");
    }
    if report.rows.is_empty() {
        return out;
    }
    let table = endpoints::sums().filled(SumLine::all(report));
    let printed = TextTable::of(&table, 3, top);
    format!("{out}\n{printed}{}", more(table.rows().len(), top, "endpoint"))
}

fn to_text(report: &ImpactReport, args: &Args, rows: usize) -> String {
    let total = report.facts.latency_sum_us;
    let top = args.top.unwrap_or(rows);
    // Writing to a String cannot fail.
    let mut out = String::new();
    let _ = writeln!(
        out,
        "{} of {}, {} in all. At most: what a request would save on average if the endpoint were {} % faster.\n",
        counted(report.facts.requests, "request"),
        counted(report.roots.len() as u64, "root endpoint"),
        duration_us(total),
        args.faster,
    );
    let table = endpoints::ranking().filled(ImpactLine::faster_by(report, args.faster));
    let roots = |line: &ImpactLine| {
        let affected = line.affected();
        let words = |root: &Affected| {
            let (service, operation) = report.name(report.roots[root.root as usize].endpoint);
            format!("{:>8} of {}", share(report.share_in(root)), endpoint(service, operation))
        };
        let mut remarks: Vec<String> = affected.iter().take(3).map(words).collect();
        let left = affected.len().saturating_sub(3) as u64;
        remarks.extend((left > 0).then(|| format!("{:>8} and {}", "", counted(left, "more root endpoint"))));
        remarks
    };
    let printed = TextTable::with_remarks(&table, 3, top, roots);
    format!("{out}{printed}{}", more(table.rows().len(), top, "endpoint"))
}
