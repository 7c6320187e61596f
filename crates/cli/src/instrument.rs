//! `pathlight instrument`: where one more span would tell most about what requests wait for.

use super::Failure;
use super::common::Common;
use super::table::{TextTable, more};
use pathlight_engine::instrument::InstrumentReport;
use pathlight_engine::queries;
use pathlight_view::instrument::{self, InstrumentLine};
use pathlight_view::json;
use std::fmt::Write as _;
use std::rc::Rc;

/// The options of `instrument`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// json, text, or csv for every row
    #[arg(long, value_name = "FORMAT", value_parser = ["json", "text", "csv"], conflicts_with = "json")]
    format: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut pool = args.common.load()?;
    let selection = args.common.selection();
    let report = Rc::new(pool.run(queries::Instrument { selection })?);
    match args.common.format(args.format.as_deref()) {
        "json" => args.common.print(&(json::instrument(&report)? + "\n")),
        "csv" => args.common.print(&instrument::table().filled(InstrumentLine::of(&report)).csv()),
        _ => args.common.print_text(&to_text(&report, args.common.rows())),
    }
}

fn to_text(report: &Rc<InstrumentReport>, rows: usize) -> String {
    let mut out = instrument::headline(report).to_text() + "\n";
    let Some(first) = report.rows.first() else { return out };
    // Writing to a String cannot fail.
    let _ = writeln!(out, "\n{}", instrument::advice(first));
    if let Some(code) = instrument::snippet(first) {
        let lines = code.lines().map(|line| format!("    {line}\n")).collect::<String>();
        let _ = writeln!(out, "\n{}", lines.trim_end());
    }
    let table = instrument::table().filled(InstrumentLine::of(report));
    let _ = writeln!(
        out,
        "\n{}{}\n{}",
        TextTable::of(&table, 2, rows),
        more(report.rows.len(), rows, "row"),
        instrument::LIMITS
    );
    out
}
