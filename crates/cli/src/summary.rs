//! `pathlight summary`: the endpoints that hold the time, by percentile, with their call chains.

use super::Failure;
use super::common::Common;
use pathlight_query::{RowStat, RowTime, queries};
use pathlight_view::json;
use pathlight_view::summary;

/// The options of `summary`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// How many endpoints each list has
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// `markdown` for a ticket, `csv` for every endpoint
    #[arg(long, value_parser = ["text", "json", "markdown", "csv"], conflicts_with = "json")]
    format: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut pool = args.common.load()?;
    let selection = args.common.selection();
    let report = pool.run(queries::Endpoints { selection })?;
    let format = args.format.as_deref().unwrap_or(if args.common.json { "json" } else { "text" });
    let text = match format {
        "json" => json::summary(&report, RowTime::Exclusive, RowStat::Total)? + "\n",
        "markdown" => summary::to_markdown(&report, args.top),
        "csv" => summary::to_csv(&report),
        _ => summary::to_text(&report, args.top),
    };
    args.common.print(&text)
}
