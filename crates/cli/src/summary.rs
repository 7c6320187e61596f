//! `pathlight summary`: the endpoints that hold the time, by percentile, with their call chains.

use super::Failure;
use super::common::Common;
use pathlight_query::queries;
use pathlight_view::json;
use pathlight_view::summary::{self, ListsBy};

/// The options of `summary`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// How many endpoints each list has
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// What the lists by p50, p95 and p99 are about: `latency`, the requests at these percentiles of their latency; or
    /// `endpoint`, the percentiles of each endpoint's own time over the requests that have it
    #[arg(long, value_parser = ["latency", "endpoint"], default_value = "latency")]
    lists: String,
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
    let report = pool.run(queries::Endpoints { selection: selection.clone() })?;
    let at = pool.run(queries::AtLatencies { selection })?;
    let by = ListsBy::from_key(&args.lists);
    let format = args.format.as_deref().unwrap_or(if args.common.json { "json" } else { "text" });
    let text = match format {
        "json" => json::summary(&report, &at)? + "\n",
        "markdown" => summary::to_markdown(&report, &at, by, args.top),
        "csv" => summary::to_csv(&report, &at),
        _ => summary::to_text(&report, &at, by, args.top),
    };
    args.common.print(&text)
}
