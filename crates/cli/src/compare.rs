//! `pathlight compare`: two sets of traces, or two percentile ranges of one, frame by frame and service by service.

use super::common::{AnalysisOptions, PlacesOption, Sets, latency};
use super::output::stacks;
use super::table::TextColumn::{Left, Right};
use super::table::{TextTable, more};
use super::{Failure, parse};
use pathlight_base::format::{self, DASH, change, duration};
use pathlight_engine::compare::{Basis, CompareReport, MeasuredTime, Presence};
use pathlight_engine::ids::NodeId;
use pathlight_engine::queries;
use pathlight_engine::requests::{PercentileRange, Selection};
use pathlight_view::compare::services::excess_words;
use pathlight_view::compare::{self, DESCRIPTIVE};
use pathlight_view::json;
use std::fmt::Write as _;

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
    let default = |range| if two_sets { PercentileRange::ALL } else { range };
    let range_a = args.range_a.or(settings.range).unwrap_or(default(PercentileRange::open(0, 50_000)));
    let range_b = args.range_b.or(settings.range).unwrap_or(default(PercentileRange::TAIL));
    let a = args.places.of(settings.selection().with_range(range_a));
    let b = Selection { group: u8::from(two_sets), ..a.with_range(range_b) };
    let (a, b) = if two_sets { a.as_baseline_of(b) } else { (a, b) };
    let mut pool = args.sets.load(settings)?;
    let report = pool.run(queries::Compare { a, b })?;
    let basis = if args.basis == "share" { Basis::Share } else { Basis::Mean };
    let measure = if args.exclusive { MeasuredTime::Exclusive } else { MeasuredTime::Subtree };
    match (settings.json, args.folded) {
        (true, _) => settings.print(&(json::compare(&report, basis, measure)? + "\n")),
        (false, true) => settings.print(&stacks(&report.to_folded()?)),
        (false, false) => settings.print_text(&to_text(&report, basis, measure, settings.rows())),
    }
}

fn to_text(report: &CompareReport, basis: Basis, measure: MeasuredTime, rows: usize) -> String {
    let mut out = compare::services::summary(&report.culprit) + "\n\n";
    // Writing to a String cannot fail.
    for (name, side) in [("A", &report.a), ("B", &report.b)] {
        let facts = &side.facts;
        let mean = duration(facts.latency_us.mean);
        let _ = writeln!(out, "{name}: {}, mean {mean}", latency(facts.requests, &facts.latency_us));
    }
    if report.is_descriptive() {
        let _ = writeln!(out, "{DESCRIPTIVE}");
    }
    let say = |value: f64, sign: bool| match (basis, sign) {
        (Basis::Mean, true) => change(value),
        (Basis::Mean, false) => duration(value),
        (Basis::Share, true) => format!("{:+.1} %", 100.0 * value),
        (Basis::Share, false) => format::share(value),
    };
    let mut frames = TextTable::new([
        Right("change"),
        Right("95 % interval"),
        Right("A"),
        Right("B"),
        Right(""),
        Left("where it changed"),
    ]);
    for row in report.ranking(basis, measure).into_iter().take(rows) {
        let frame = row.change;
        let interval = frame
            .interval
            .map_or(DASH.to_owned(), |i| format!("{} .. {}", say(i.low, true), say(i.high, true)));
        let mark = match report.nodes[row.node.index()].presence() {
            Presence::New => "new",
            Presence::Gone => "gone",
            Presence::Both if frame.is_noise => "~",
            Presence::Both => "",
        };
        frames.row([
            say(frame.change, true),
            interval,
            say(frame.a, false),
            say(frame.b, false),
            mark.to_owned(),
            call_path(report, row.node),
        ]);
    }
    let mut services = TextTable::new([
        Right("rank"),
        Right("explains"),
        Right("own work"),
        Right("calls into it"),
        Right("calls it makes"),
        Left("service, per request"),
    ]);
    for row in report.culprit.services.iter().take(rows) {
        services.row([
            row.rank.map_or(DASH.to_owned(), |rank| rank.to_string()),
            change(row.score_us),
            excess_words(row.own),
            excess_words(row.incoming),
            excess_words(row.outgoing),
            row.service.clone(),
        ]);
    }
    let services_left = more(report.culprit.services.len(), rows, "service");
    let frames_left = more(report.ranking(basis, measure).len(), rows, "place");
    let _ = write!(out, "\n{services}{services_left}\n{frames}{frames_left}");
    out
}

fn call_path(report: &CompareReport, node: NodeId) -> String {
    let mut path = Vec::new();
    let mut at = Some(node);
    while let Some(number) = at {
        let node = &report.nodes[number.index()];
        let (service, operation) = report.name(node.endpoint);
        path.push(format!("[{service}] {operation}").trim_end().to_owned());
        at = node.parent;
    }
    path.reverse();
    path.join(" > ")
}
