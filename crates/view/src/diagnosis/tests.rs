//! Tests of the words around the tree, the tables and the aggregate trace of the diagnosis.

use crate::address::Address;
use crate::address::comparing::{Against, ComparedSide, Comparison};
use crate::diagnosis::choice::DiagnosisList;
use crate::diagnosis::tree::ReportTree;
use crate::diagnosis::words::DiagnosisLine;
use crate::diagnosis::{self, Evidence};
use crate::search::finder::Finder;
use crate::views::WORKING;
use pathlight_engine::diagnosis::{
    AggregateSegment, AggregateSpan, AggregateSubspan, AggregateTrace, DiagnosisReport, ProblemSubspan,
    SetsReport, TimeStatistics,
};
use pathlight_engine::queries::OverviewReport;
use pathlight_engine::requests::{PercentileRange, RequestRef};
use pathlight_trace::Endpoint;

fn statistic(mean: f64) -> TimeStatistics {
    TimeStatistics { mean, ..TimeStatistics::default() }
}

#[test]
fn the_title_names_the_problematic_subspan() {
    let subspan = |name: &str, [after, before]: [Option<&str>; 2], mean| AggregateSubspan {
        name: name.to_owned(),
        after: after.map(str::to_owned),
        before: before.map(str::to_owned),
        end_us: 0.0,
        duration_us: statistic(mean),
    };
    let span = AggregateSpan {
        parent: None,
        service: "shop".to_owned(),
        operation: "GET /".to_owned(),
        name: "GET /".to_owned(),
        start_us: 0.0,
        end_us: 400.0,
        start_rounded_us: 0,
        end_rounded_us: 400,
        duration_us: statistic(400.0),
        subspans: vec![
            subspan("GET / 0", [None, Some("pay")], 10.0),
            subspan("GET / 1", [Some("pay"), None], 300.0),
        ],
    };
    let child =
        AggregateSpan { parent: Some(0), name: "pay".to_owned(), subspans: Vec::new(), ..span.clone() };
    let mut trace = AggregateTrace { traces: 12, spans: vec![span, child], ..AggregateTrace::default() };
    assert_eq!(diagnosis::title(&trace), "Aggregate of 12 traces");
    trace.problem = Some(ProblemSubspan { span: 0, subspan: 1 });
    assert_eq!(
        diagnosis::title(&trace),
        "Aggregate of 12 traces: GET / after \u{201c}pay\u{201d} takes 300\u{202f}\u{b5}s of 400\u{202f}\u{b5}s"
    );
    let segment = |span, start_us, end_us| AggregateSegment { span, start_us, end_us };
    trace.spans[1].service = "bank".to_owned();
    trace.critical_path = vec![segment(0, 0, 100), segment(1, 100, 400)];
    let shares = [("bank".to_owned(), 0.75), ("shop".to_owned(), 0.25)];
    assert_eq!(diagnosis::services(&trace), shares);
    assert_eq!(diagnosis::title(&AggregateTrace::default()), "");
    let large = AggregateTrace { number: 3, traces: 1, spans_in_all: 30_000, ..AggregateTrace::default() };
    let said = "Aggregate of 1 trace of 30\u{202f}000 spans each, too many to draw: pathlight diagnosis --aggregate 3 \
                writes it";
    assert_eq!(diagnosis::title(&large), said);
    let request = RequestRef { trace_id: "ab".to_owned(), root_span_id: String::new(), latency_us: 2_500 };
    assert_eq!(diagnosis::open_words(&request), "Open trace ab (2.50\u{202f}ms)");
    assert_eq!(diagnosis::progress_words(1, 3), "Diagnosing\u{2026} 33\u{202f}%");
    assert_eq!(diagnosis::progress_words(0, 0), "Diagnosing\u{2026} 0\u{202f}%");
}

#[test]
fn settings_that_a_link_chose_are_offered_too() {
    let words = |chosen| diagnosis::tails(chosen).into_iter().map(|(value, _)| value).collect::<Vec<_>>();
    assert_eq!(words(950), ["500", "750", "900", "950", "990"]);
    assert_eq!(words(800), ["500", "750", "800", "900", "950", "990"]);
    assert_eq!(diagnosis::tails(950)[3].1, "slowest 5.0\u{202f}%");
}

#[test]
fn the_note_and_the_empty_states_say_what_was_left_out() {
    let mut report = DiagnosisReport { traces: 1, ..DiagnosisReport::default() };
    assert_eq!(diagnosis::note("All requests", &report), "All requests: 1 trace");
    assert_eq!(diagnosis::why_empty(&report, "None passes.".to_owned()), "None passes.");
    assert!(diagnosis::why_no_tail(&report).starts_with("No request type has"));
    (report.traces, report.has_orphans) = (0, 3);
    assert!(diagnosis::note("A", &report).ends_with("; 3 more left out, as spans of theirs have no parent"));
    assert!(diagnosis::why_empty(&report, String::new()).starts_with("All 3 traces have spans whose parent"));
    assert_eq!(diagnosis::why_no_tail(&report), "There is no trace to look at.");
}

#[test]
fn sides_are_compared_once_there_are_two() {
    let mut address = Address::default();
    let (mut overview, sets) = (OverviewReport::default(), SetsReport::default());
    let why = |address: &Address, overview: &OverviewReport, sets| {
        diagnosis::why_no_sides(address, Some(overview), sets)
    };
    assert!(why(&address, &overview, Some(&sets)).starts_with("Nothing is compared yet."));
    address.comparison = Some(Comparison {
        against: Against::Set,
        side: ComparedSide::A,
        other: PercentileRange::ALL,
        swapped: false,
    });
    assert!(why(&address, &overview, Some(&sets)).starts_with("The second set is not loaded."));
    overview.other_traces = 1;
    assert_eq!(why(&address, &overview, Some(&sets)), "");
    assert_eq!(why(&address, &overview, None), WORKING);
}

#[test]
fn a_line_of_a_group_has_all_evidence_and_others_not_the_slowest_trace() {
    let keys = |level| Evidence::of_line(level, true).map(Evidence::key).collect::<Vec<_>>();
    assert_eq!(keys(4), ["aggregate", "nearest", "slowest", "flame", "flow"]);
    assert_eq!(keys(3), ["aggregate", "nearest", "flame", "flow"]);
    assert_eq!(diagnosis::more_words(1, 25), "Show 10 of 25 more endpoints");
    assert_eq!(diagnosis::more_words(4, 1), "Show 1 more group of traces");
}

#[test]
fn lines_that_a_search_finds_are_walked_round_the_ends() {
    let line = |words: &str| DiagnosisLine {
        level: 1,
        words: words.to_owned(),
        endpoint: Endpoint::default(),
        value: 0.0,
        aggregate: None,
        is_problem: false,
        more: 0,
    };
    let lines = ["pay in shop", "cart in shop", "pay in bank"].map(line).to_vec();
    let tree = ReportTree::new(lines, &ReportTree::default());
    assert_eq!(tree.found(&Finder::of_text("PAY")), [0, 2]);
    assert_eq!(tree.found(&Finder::of_text("shop pay")), [0]);
    assert_eq!(
        [0, 1, 2].map(|at| tree.next_found(&Finder::of_text("pay"), at, true)),
        [Some(2), Some(2), Some(0)]
    );
    assert_eq!(
        [0, 1, 2].map(|at| tree.next_found(&Finder::of_text("pay"), at, false)),
        [Some(2), Some(0), Some(0)]
    );
    assert_eq!(tree.next_found(&Finder::of_text("none"), 1, true), None);
}

#[test]
fn each_list_has_a_file_of_its_own() {
    let (report, sets) = (DiagnosisReport::default(), SetsReport::default());
    let instrument = std::rc::Rc::default();
    let heads = DiagnosisList::ALL.map(|list| {
        let csv = diagnosis::list_csv(list, Some(&report), Some(&sets), Some(&instrument)).unwrap();
        csv.split(',').next().unwrap().to_owned()
    });
    assert_eq!(heads, ["level", "request_type", "request_type", "rank", "layer", "layer", "service"]);
    assert_eq!(diagnosis::list_csv(DiagnosisList::Places, Some(&report), None, None), None);
    assert_eq!(diagnosis::list_csv(DiagnosisList::Tail, None, Some(&sets), None), None);
}
