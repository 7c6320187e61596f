//! The diagnosis: what stands around its tree, its tables and the aggregate trace of the chosen line.

use crate::address::Address;
use crate::address::comparing::Against;
use crate::diagnosis::choice::{DiagnosisChoice, DiagnosisList};
use crate::diagnosis::tables::{layers_csv, places_csv, positions_csv, report_csv, services_csv};
use crate::diagnosis::words::statistic_words;
use crate::instrument::{self, InstrumentLine};
use crate::say::tip::TipLine;
use crate::timeline::chart::{Timeline, part_name};
use crate::views::WORKING;
use pathlight_base::format::{THIN, count, counted, duration, duration_us, share};
use pathlight_engine::diagnosis::{AggregateTrace, DiagnosisReport, SetsReport, TimeStatistics};
use pathlight_engine::flame::TraceReport;
use pathlight_engine::instrument::InstrumentReport;
use pathlight_engine::queries::{OverviewReport, most_time};
use pathlight_engine::requests::RequestRef;
use pathlight_trace::Endpoint;
use std::rc::Rc;

/// Starts of the tail to choose from, in thousandths.
const TAILS: [u32; 5] = [500, 750, 900, 950, 990];

/// Returns the services with the most time on the critical path of an aggregate trace, with their shares of it (ties: by
/// name).
pub fn services(trace: &AggregateTrace) -> Vec<(String, f64)> {
    let segments = trace.critical_path.iter().filter_map(|segment| {
        let span = trace.spans.get(segment.span as usize)?;
        Some((span.service.as_str(), segment.end_us.saturating_sub(segment.start_us)))
    });
    most_time(segments)
}

/// Returns the name of a list, and what it is.
pub fn list_words(list: DiagnosisList) -> (&'static str, &'static str) {
    match list {
        DiagnosisList::Report => ("Report", "What is slow, where in its span, and in which group of traces"),
        DiagnosisList::Tail => {
            ("Slow tail", "What slow traces spend more time on than normal ones of the same request type")
        }
        DiagnosisList::Places => ("Changed places", "Where side B spends more time than side A"),
        DiagnosisList::Services => {
            ("Changed services", "Which service explains that side B is slower than side A")
        }
        DiagnosisList::Layers => (
            "Layers 1 and 2",
            "The times of every endpoint, over all traces (1) and in each request type (2)",
        ),
        DiagnosisList::Positions => (
            "Layers 3 and 4",
            "The times of every position and of its parts, in traces of one shape (3), and of one order of calls (4)",
        ),
        DiagnosisList::Instrument => (
            "Instrument next",
            "Where one more span would tell most about what requests wait for, with code for it",
        ),
    }
}

/// Returns where the tail may begin: thousandths, and words. The chosen place is one of them.
pub fn tails(chosen_permille: u32) -> Vec<(String, String)> {
    let mut tails = TAILS.to_vec();
    tails.push(chosen_permille);
    tails.sort_unstable();
    tails.dedup();
    let words = |permille: u32| format!("slowest {}", share(f64::from(1000 - permille) / 1000.0));
    tails.into_iter().map(|permille| (permille.to_string(), words(permille))).collect()
}

/// Returns which traces were looked at; `label` is that of the selection.
pub fn note(label: &str, report: &DiagnosisReport) -> String {
    let mut note = format!("{label}: {}", counted(report.traces, "trace"));
    if report.has_orphans > 0 {
        let orphans = count(report.has_orphans);
        note.push_str(&format!("; {orphans} more left out, as spans of theirs have no parent"));
    }
    note
}

/// Returns why there is nothing to diagnose; empty if there is. `why_none` says why there are no requests.
pub fn why_empty(report: &DiagnosisReport, why_none: String) -> String {
    match (report.report.is_empty(), report.has_orphans) {
        (false, _) => String::new(),
        (true, 0) => why_none,
        (true, orphans) => format!(
            "All {} have spans whose parent is missing, so their shape is not known. Load whole traces.",
            counted(orphans, "trace")
        ),
    }
}

/// Returns why nothing makes a tail slow, where nothing does.
pub fn why_no_tail(report: &DiagnosisReport) -> &'static str {
    match report.traces {
        0 => "There is no trace to look at.",
        _ => "No request type has the 10 traces that it takes to tell a tail.",
    }
}

/// Reasons why no place changed, and why no service did, where none did.
pub const WHY_NO_CHANGE: [&str; 2] =
    ["The two sides have no request type in common.", "Side B has no request."];

/// Returns why no two sides can be compared; empty if they can.
pub fn why_no_sides(
    address: &Address,
    overview: Option<&OverviewReport>,
    report: Option<&SetsReport>,
) -> &'static str {
    let lacks_set = overview.is_some_and(|overview| overview.other_traces == 0);
    match address.comparison {
        None => {
            "Nothing is compared yet. Choose Compare with\u{2026} above to load a second set, or two percentile ranges in \
             the Compare view."
        }
        Some(comparison) if comparison.against == Against::Set && lacks_set => {
            "The second set is not loaded. Drop its files on \u{201c}Compare as B\u{201d}, or choose Compare \
             with\u{2026}, Files\u{2026}"
        }
        _ if report.is_none() => WORKING,
        _ => "",
    }
}

/// Returns how far the diagnosis is.
pub fn progress_words(done: u64, of: u64) -> String {
    format!("Diagnosing\u{2026} {}{THIN}%", 100 * done / of.max(1))
}

/// Returns the title of an aggregate trace; empty for none.
pub fn title(trace: &AggregateTrace) -> String {
    if trace.spans.is_empty() {
        return match trace.spans_in_all {
            0 => String::new(),
            spans => format!(
                "Aggregate of {} of {} each, too many to draw: pathlight diagnosis --aggregate {} writes it",
                counted(trace.traces, "trace"),
                counted(spans, "span"),
                trace.number
            ),
        };
    }
    let problem = trace.problem.and_then(|problem| {
        let span = trace.spans.get(problem.span as usize)?;
        Some((span, span.subspans.get(problem.subspan as usize)?))
    });
    let words = format!("Aggregate of {}", counted(trace.traces, "trace"));
    let Some((span, subspan)) = problem else { return words };
    format!(
        "{words}: {} takes {} of {}",
        part_name(span, subspan),
        duration(subspan.duration_us.mean),
        duration(span.duration_us.mean)
    )
}

/// Words for an aggregate trace whose calls come in different orders: in short, and beside the pointer.
pub const ORDER_VARIES: [&str; 2] = [
    "order varies",
    "These traces have one shape, but only the calls of the problematic span keep their order",
];

/// Returns what a button does that opens a real trace.
pub fn open_words(request: &RequestRef) -> String {
    format!("Open trace {} ({})", request.trace_id, duration_us(request.latency_us))
}

/// The evidence of a line of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evidence {
    /// The aggregate trace of its group.
    Aggregate,
    /// The trace nearest to its aggregate trace.
    Nearest,
    /// The slowest trace of its group.
    Slowest,
    /// Its endpoint in the flame graph.
    Flame,
    /// The flow of its endpoint.
    Flow,
}

impl Evidence {
    /// All kinds, in the order of the page.
    pub const ALL: [Evidence; 5] =
        [Evidence::Aggregate, Evidence::Nearest, Evidence::Slowest, Evidence::Flame, Evidence::Flow];

    /// Returns the kinds that a line of this level has: what is slowest is known of a group of traces, and of a summary no
    /// group is.
    pub fn of_line(level: u32, has_group: bool) -> impl Iterator<Item = Evidence> {
        Evidence::ALL.into_iter().filter(move |kind| match kind {
            Evidence::Slowest => has_group && level == 4,
            Evidence::Aggregate | Evidence::Nearest => has_group,
            Evidence::Flame | Evidence::Flow => true,
        })
    }

    /// Returns the name that the page and tests know it by.
    pub fn key(self) -> &'static str {
        match self {
            Evidence::Aggregate => "aggregate",
            Evidence::Nearest => "nearest",
            Evidence::Slowest => "slowest",
            Evidence::Flame => "flame",
            Evidence::Flow => "flow",
        }
    }

    /// Returns the words of the link, and what it shows.
    pub fn words(self) -> (&'static str, &'static str) {
        match self {
            Evidence::Aggregate => ("aggregate trace", "Show the aggregate trace of its group above"),
            Evidence::Nearest => ("nearest trace", "Open the real trace nearest to the aggregate trace"),
            Evidence::Slowest => ("slowest trace", "Open the slowest trace of its group"),
            Evidence::Flame => ("flame", "Show the endpoint in the flame graph"),
            Evidence::Flow => ("flow", "Show what the endpoint waits for"),
        }
    }
}

/// Returns the words of the button that lists more lines of a level, of which there are `more`.
pub fn more_words(level: u32, more: u64) -> String {
    let what = [
        ("endpoint", "endpoints"),
        ("request type", "request types"),
        ("part of a span", "parts of spans"),
        ("group of traces", "groups of traces"),
    ];
    let (one, several) = what.get(level.saturating_sub(1) as usize).copied().unwrap_or_default();
    let next = more.min(DiagnosisChoice::more(level).into());
    match more {
        1 => format!("Show 1 more {one}"),
        _ if next == more => format!("Show {} more {several}", count(more)),
        _ => format!("Show {} of {} more {several}", count(next), count(more)),
    }
}

/// Returns a list as comma-separated values; `None` as long as its report is not there.
pub fn list_csv(
    list: DiagnosisList,
    report: Option<&DiagnosisReport>,
    sets: Option<&SetsReport>,
    instrument: Option<&Rc<InstrumentReport>>,
) -> Option<String> {
    match list {
        DiagnosisList::Report => report.map(report_csv),
        DiagnosisList::Tail => report.map(|report| places_csv(&report.tail)),
        DiagnosisList::Places => sets.map(|sets| places_csv(&sets.places)),
        DiagnosisList::Services => sets.map(|sets| services_csv(&sets.culprit)),
        DiagnosisList::Layers => report.map(layers_csv),
        DiagnosisList::Positions => report.map(positions_csv),
        DiagnosisList::Instrument => {
            instrument.map(|report| instrument::table().filled(InstrumentLine::of(report)).csv())
        }
    }
}

fn statistic(us: &TimeStatistics) -> TipLine {
    TipLine::Text(statistic_words(us))
}

/// Returns what the tip says of a span of an aggregate trace: of the one with this number, in this row of its timeline, and
/// of one of its subspans if the pointer is on that.
pub fn tip(
    trace: &AggregateTrace,
    number: u32,
    (timeline, row): (&Timeline, u32),
    subspan: Option<u32>,
) -> Vec<TipLine> {
    let Some(span) = trace.spans.get(number as usize) else { return Vec::new() };
    let mut lines =
        vec![TipLine::Endpoint(Endpoint::new(&span.service, &span.name)), statistic(&span.duration_us)];
    if timeline.bit(row, TraceReport::ON_PATH) {
        lines.push(TipLine::Muted("on the critical path of the aggregate trace".to_owned()));
    }
    if let Some(part) = subspan.and_then(|at| span.subspans.get(at as usize)) {
        lines.push(TipLine::Strong(part_name(span, part)));
        lines.push(statistic(&part.duration_us));
        if timeline.problem_of(row).map(|part| part.index) == subspan {
            lines.push(TipLine::Strong("The problematic subspan".to_owned()));
        }
    }
    if trace.order_varies {
        let words = "The order of calls varies: where spans lie is the mean over all orders";
        lines.push(TipLine::Muted(words.to_owned()));
    }
    lines
}
