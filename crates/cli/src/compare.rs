//! `pathlight compare`: two sets of traces, or two percentile ranges of one, frame by frame and service by service.

use super::common::{AnalysisOptions, PlacesOption, Sets, latency};
use super::table::{TextTable, more};
use super::{Failure, parse};
use pathlight_base::format::duration;
use pathlight_engine::compare::{Basis, CompareReport, MeasuredTime, ranges};
use pathlight_engine::queries;
use pathlight_engine::requests::{Filter, PercentileRange, Selection};
use pathlight_view::address::choices::Choices;
use pathlight_view::compare::services::ServiceRow;
use pathlight_view::compare::{self, ChangeRow, DESCRIPTIVE, DiffSource};
use pathlight_view::flame::chart::DiffOptions;
use pathlight_view::json;
use std::fmt::Write as _;
use std::rc::Rc;

/// The options of `compare`.
#[derive(Debug, clap::Args)]
#[command(mut_arg("files", |files| files.help("Files, folders (recursive) or `-` of which two percentile ranges are compared")))]
#[command(mut_arg("a", |a| a.help("Files or folders of side A: before, or normal")))]
pub struct Args {
    #[command(flatten)]
    sets: Sets,
    /// Percentile range of side A (default: P0-50 when two percentile ranges are compared, else everything)
    #[arg(long, visible_alias = "band-a", value_parser = parse::range)]
    range_a: Option<PercentileRange>,
    /// Percentile range of side B (default: `tail`, the slowest tenth and at least five requests, when two percentile
    /// ranges are compared, else everything)
    #[arg(long, visible_alias = "band-b", value_parser = parse::range)]
    range_b: Option<PercentileRange>,
    /// Compare the requests that start before a moment (side A) with those since then (side B): microseconds since the epoch,
    /// or UTC such as `2026-11-24 03:06:12`
    #[arg(long, value_name = "MOMENT", value_parser = parse::moment, conflicts_with_all = ["a", "b"])]
    since: Option<u64>,
    /// `mean` microseconds per request, or `share` of each side's latency
    #[arg(long, default_value = "mean", value_parser = ["mean", "share"])]
    basis: String,
    /// Compare the self time of frames instead of their total time
    #[arg(long)]
    exclusive: bool,
    /// Print folded stacks with the microseconds of both sides (the format of difffolded.pl)
    #[arg(long, conflicts_with = "json")]
    folded: bool,
    #[command(flatten)]
    settings: AnalysisOptions,
    #[command(flatten)]
    places: PlacesOption,
}

/// Runs the command.
///
/// # Errors
/// [`Failure::NoTrace`] if a side has none; [`Failure::Usage`] and [`Failure::Io`] as they say.
pub fn run(args: &Args) -> Result<(), Failure> {
    let two_sets = args.sets.are_two("compare")?;
    let settings = &args.settings;
    // What was before says what it should be like, be it another set or another time.
    let has_baseline = two_sets || args.since.is_some();
    let asked = [args.range_a, args.range_b].map(|range| range.or(settings.range));
    let [range_a, range_b] = ranges(asked, has_baseline);
    let mut a = args.places.of(settings.selection().with_range(range_a));
    let mut b = Selection { group: u8::from(two_sets), ..a.with_range(range_b) };
    if let Some(at_us) = args.since {
        a.filters.push(Filter::Time { from_us: 0, to_us: at_us });
        b.filters.push(Filter::Time { from_us: at_us, to_us: u64::MAX });
    }
    let (a, b) = if has_baseline { a.as_baseline_of(b) } else { (a, b) };
    let mut pool = args.sets.load(settings)?;
    let report = pool.run(queries::Compare { a, b })?;
    let basis = if args.basis == "share" { Basis::Share } else { Basis::Mean };
    let measure = if args.exclusive { MeasuredTime::Exclusive } else { MeasuredTime::Subtree };
    match (settings.json, args.folded) {
        (true, _) => settings.print(&(json::compare(&report, basis, measure)? + "\n")),
        (false, true) => settings.print(&report.to_folded()?),
        (false, false) => settings.print_text(&to_text(&Rc::new(report), basis, measure, settings.rows())),
    }
}

fn to_text(report: &Rc<CompareReport>, basis: Basis, measure: MeasuredTime, rows: usize) -> String {
    let mut out = compare::summary(report) + "\n\n";
    // Writing to a String cannot fail.
    for (name, side) in [("A", &report.a), ("B", &report.b)] {
        let facts = &side.facts;
        let mean = duration(facts.latency_us.mean);
        let _ = writeln!(out, "{name}: {}, mean {mean}", latency(facts.requests, &facts.latency_us));
    }
    if report.is_descriptive() {
        let _ = writeln!(out, "{DESCRIPTIVE}");
    }
    let diff = DiffOptions { basis, measure, ..DiffOptions::default() };
    let source = DiffSource::unlaid(report.clone(), &Choices { diff, ..Choices::default() });
    let frames = compare::changes().filled(ChangeRow::of(&Rc::new(source)));
    let services = compare::services::services().filled(ServiceRow::of(&report.culprit));
    let services_left = more(services.rows().len(), rows, "service");
    let frames_left = more(frames.rows().len(), rows, "frame");
    let (services, frames) = (TextTable::of(&services, 2, rows), TextTable::of(&frames, 2, rows));
    let _ = write!(out, "\n{services}{services_left}\n{frames}{frames_left}");
    out
}
