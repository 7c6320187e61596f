//! `pathlight summary`: the endpoints that hold the time, by percentile, with their call chains.

use super::common::{Common, PlacesOption};
use super::{Failure, terminal};
use pathlight_engine::queries;
use pathlight_view::flame::note::ListsBy;
use pathlight_view::{flame, json};

/// Endpoints of each of the four lists.
const TOP: usize = 10;
/// Column at which names and call chains begin in a line.
const CHAIN_AT: usize = 44;

/// The options of `summary`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    places: PlacesOption,
    /// Number of endpoints in each list (default: 10)
    #[arg(long)]
    top: Option<usize>,
    /// Subject of the lists by p50, p95 and p99: `latency`, the requests at these percentiles of their latency; or
    /// `endpoint`, the percentiles of each endpoint's self time over the requests that have it
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
    let selection = args.places.of(args.common.selection());
    let report = pool.run(queries::Endpoints { selection: selection.clone() })?;
    let at = pool.run(queries::AtLatencies { selection })?;
    let by = ListsBy::from_key(&args.lists);
    let format = args.common.format(args.format.as_deref());
    let top = args.top.unwrap_or(if args.common.all { usize::MAX } else { TOP });
    match format {
        "json" => args.common.print(&(json::summary(&report, &at)? + "\n")),
        "markdown" => args.common.print(&flame::note::to_markdown(&report, &at, by, top, None)),
        "csv" => args.common.print(&flame::note::to_csv(&report, &at, None)),
        _ => args
            .common
            .print_text(&terminal::fit_lines(&flame::note::to_text(&report, &at, by, top, None), CHAIN_AT)),
    }
}
