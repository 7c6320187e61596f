//! `pathlight findings`: what is slow, where, why and for whom, in sentences.

use super::Failure;
use super::common::Common;
use pathlight_query::queries;
use pathlight_view::finding_words;
use pathlight_view::json;

/// The options of `findings`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    common: Common,
    /// `markdown` for an incident note
    #[arg(long, value_parser = ["text", "json", "markdown"])]
    format: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if the input has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let mut pool = args.common.load()?;
    let selection = args.common.selection();
    let range = selection.range;
    let report = pool.run(queries::Findings { selection })?;
    let format = args.format.as_deref().unwrap_or(if args.common.json { "json" } else { "text" });
    let text = match format {
        "json" => json::findings(&report, range)? + "\n",
        "markdown" => finding_words::to_markdown(&report, None),
        _ => finding_words::to_text(&report),
    };
    args.common.print(&text)
}
