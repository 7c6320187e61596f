//! `pathlight errors`: where errors start and stop, and what the requests would be without them.

use super::Failure;
use super::common::{Common, PlacesOption};
use super::table::{TextTable, more};
use pathlight_engine::errors::ErrorsReport;
use pathlight_engine::queries;
use pathlight_view::errors::ErrorEndpointRow;
use pathlight_view::{errors, json};
use std::fmt::Write as _;
use std::rc::Rc;

/// The options of `errors`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    places: PlacesOption,
    /// json, text, or the error paths as folded stacks
    #[arg(long, value_name = "FORMAT", value_parser = ["json", "text", "folded"], conflicts_with = "json")]
    format: Option<String>,
    /// Number of endpoints that the text lists (default: 15)
    #[arg(long)]
    top: Option<usize>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    args.common.needs_answers()?;
    let mut pool = args.common.load()?;
    let selection = args.places.of(args.common.selection());
    let report = pool.run(queries::Errors { selection })?;
    let format = args.common.format(args.format.as_deref());
    match format {
        "json" => args.common.print(&(json::errors(&report)? + "\n")),
        "folded" => args.common.print(&report.to_folded()?),
        _ => args.common.print_text(&to_text(&Rc::new(report), args.top.unwrap_or(args.common.rows()))),
    }
}

fn to_text(report: &Rc<ErrorsReport>, top: usize) -> String {
    // Writing to a String cannot fail.
    let mut out = String::new();
    for sentence in errors::sentences(report) {
        let _ = writeln!(out, "{sentence}");
    }
    if report.totals.requests == 0 {
        return out;
    }
    let table = errors::table().filled(ErrorEndpointRow::of(report));
    let _ = write!(out, "\n{}", TextTable::of(&table, 3, top));
    out.push_str(&more(table.rows().len(), top, "endpoint"));
    out
}
