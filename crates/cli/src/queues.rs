//! `pathlight queues`: how long messages wait between whoever sends them and whoever receives them.

use super::Failure;
use super::common::{Common, PlacesOption};
use super::table::{TextTable, more};
use pathlight_engine::queries;
use pathlight_engine::queues::QueuesReport;
use pathlight_view::{json, queues};
use std::fmt::Write as _;

/// The options of `queues`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    places: PlacesOption,
    /// json, text, or csv for every edge
    #[arg(long, value_name = "FORMAT", value_parser = ["json", "text", "csv"], conflicts_with = "json")]
    format: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut pool = args.common.load()?;
    let selection = args.places.of(args.common.selection());
    let report = pool.run(queries::Queues { selection })?;
    let format = args.common.format(args.format.as_deref());
    match format {
        "json" => args.common.print(&(json::queues(&report)? + "\n")),
        "csv" => args.common.print(&queues::table().filled(report.edges).csv()),
        _ => args.common.print_text(&to_text(&report, args.common.rows())),
    }
}

fn to_text(report: &QueuesReport, rows: usize) -> String {
    // Writing to a String cannot fail.
    let mut out = String::new();
    for sentence in queues::sentences(report) {
        let _ = writeln!(out, "{sentence}");
    }
    if report.edges.is_empty() {
        return out;
    }
    let table = queues::table().filled(report.edges.clone());
    let _ = write!(out, "\n{}", TextTable::of(&table, 3, rows));
    out.push_str(&more(table.rows().len(), rows, "edge"));
    out
}
