//! `pathlight trend`: what changed from one summary to the next, and when.

use super::Failure;
use super::common::{OutputOptions, SummaryOptions};
use super::notify::NotifyOption;
use super::summary_files::load_any;
use super::table::{TextTable, more};
use pathlight_base::format::{counted, duration};
use pathlight_engine::queries::{TrendDay, TrendReport};
use pathlight_engine::requests::RootEndpoint;
use pathlight_engine::trend::{TrendAxis, TrendOfSummaries};
use pathlight_view::trend::{self, TrendRow};
use pathlight_view::{json, sampling};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::rc::Rc;

/// The options of `trend`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show the hours of the day (UTC) in place of days: each summary is of an hour
    #[arg(long)]
    hours: bool,
    /// Summaries, or traces, in the order of time: one file or folder per day
    #[arg(required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    reading: SummaryOptions,
    #[command(flatten)]
    notify: NotifyOption,
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
    let report = Rc::new(if args.hours {
        TrendReport::by_hour_of_day(days).map_err(|error| Failure::Usage(error.to_string()))?
    } else {
        let trend = TrendOfSummaries::of(&days, TrendAxis::Days);
        let trend = trend.map_err(|error| Failure::Usage(error.to_string()))?;
        let day = |file: &PathBuf| TrendDay { name: day_name(file), ..TrendDay::default() };
        TrendReport { days: args.files.iter().map(day).collect(), trend, ..TrendReport::default() }
    });
    let names: Vec<String> = report.days.iter().map(|day| day.name.clone()).collect();
    let json = || json::trend(&report.trend, &names);
    args.output.print_report(json, |rows| to_text(&report, rows))?;
    args.notify.send(json)
}

/// Returns what a day is called: its file's name.
fn day_name(file: &std::path::Path) -> String {
    file.file_stem().unwrap_or(file.as_os_str()).to_string_lossy().into_owned()
}

fn to_text(report: &Rc<TrendReport>, rows: usize) -> String {
    let (of, days) = (&report.trend, trend::day_names(report));
    let mut out = String::new();
    // Writing to a String cannot fail.
    if let Some(sampled) = sampling::words::by_weight(&of.weights) {
        let _ = writeln!(out, "{sampled}\n");
    }
    if of.axis == TrendAxis::HourOfDay {
        let _ = writeln!(out, "{}\n", trend::hours_note(report, &RootEndpoint::TraceRoots));
    } else if of.moved.is_empty() {
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
    let table = trend::table().filled(TrendRow::of(report, &RootEndpoint::TraceRoots));
    let left = more(table.rows().len(), rows, "number");
    let _ = write!(out, "{}{left}", TextTable::of(&table, 3, rows));
    out
}
