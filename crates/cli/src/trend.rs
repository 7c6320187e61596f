//! `pathlight trend`: what changed from one summary to the next, and when.

use super::Failure;
use super::common::{OutputOptions, SummaryOptions};
use super::summary_files::load_any;
use super::table::TextColumn::{Left, Right};
use super::table::{TextTable, more};
use pathlight_base::format::{counted, duration, harmless, probability};
use pathlight_engine::trend::{Series, TrendOfSummaries};
use pathlight_view::{json, trend};
use std::fmt::Write as _;
use std::path::PathBuf;

/// The options of `trend`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Summaries, or traces, in the order of time: one file or folder per day
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reading: SummaryOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if a day has no trace; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let settings = args.reading.settings();
    let days: Vec<_> = (args.files.iter())
        .map(|file| load_any(std::slice::from_ref(file), &settings, args.reading.threads))
        .collect::<Result<_, _>>()?;
    let trend = TrendOfSummaries::of(&days).map_err(|error| Failure::Usage(error.to_string()))?;
    let names: Vec<String> = args.files.iter().map(|file| day_name(file)).collect();
    args.output.print_report(|| json::trend(&trend, &names), |rows| to_text(&trend, &names, rows))
}

/// Returns what a day is called: its file's name.
fn day_name(file: &std::path::Path) -> String {
    file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

fn to_text(of: &TrendOfSummaries, days: &[String], rows: usize) -> String {
    let days: Vec<String> = days.iter().map(|day| harmless(day)).collect();
    let mut out = String::new();
    // Writing to a String cannot fail.
    if of.moved.is_empty() {
        let _ = writeln!(
            out,
            "No change of 5 % or more beyond chance over {}.\n",
            counted(days.len() as u64, "day")
        );
    }
    for moved in &of.moved {
        let Some(change) = trend::moved_words(of, moved, &days, duration) else { continue };
        let _ = writeln!(out, "{change}\n{}\n", trend::explanation(of, moved, duration));
    }
    let mut table = TextTable::new(
        [Right("change"), Right("since"), Right("p")]
            .into_iter()
            .chain(days.iter().map(|day| Right(day)))
            .chain([Left("number")]),
    );
    let mut series: Vec<&Series> = of.series.iter().collect();
    // Stable: what is equally clear stays by name.
    series.sort_by(|a, b| trend::clearness(a).total_cmp(&trend::clearness(b)));
    for series in series.into_iter().take(rows) {
        let certain = series.change.filter(|change| change.is_certain);
        let points =
            series.points.iter().map(|point| point.map_or(String::new(), |point| duration(point.value)));
        let reported = match certain {
            Some(change) => [format!("{:+.1} %", 100.0 * change.growth()), days[change.day].clone()],
            None => Default::default(),
        };
        let p = series.change.map_or(String::new(), |change| probability(change.p));
        table.row(reported.into_iter().chain([p]).chain(points).chain([trend::name(series)]));
    }
    let _ = write!(out, "{table}{}", more(of.series.len(), rows, "number"));
    out
}
