//! The view models of the flow on a small report: `a`, then `b` twice, then all rarer calls.

use crate::address::Address;
use crate::draw::Theme;
use crate::draw::curves::{Axis, Legend};
use crate::flow::changes::{ChangeAt, ChangeTarget, Wanted};
use crate::flow::chart::{DagHit, DagItem, DagLayout, DagSizes};
use crate::flow::prediction::PredictionPlot;
use crate::flow::savings::SavingLine;
use crate::flow::{self, CallLine, written};
use crate::say::tip::TipLine;
use crate::search::finder::Finder;
use crate::table::{CellText, Rows as _};
use pathlight_base::statistics::{LogHistogram, Percentiles};
use pathlight_engine::flow::paper::METHOD_NAMES;
use pathlight_engine::flow::{
    CallTarget, CallTimeout, ChangeOf, Changes, EndpointSaving, ErrorQuantiles, EvaluationReport, FlowEdge,
    FlowNode, FlowParent, FlowReport, MethodErrors, SavedAt, Saving, SavingsReport, ShareChange,
    WhatIfReport,
};
use pathlight_engine::ids::NodeId;
use pathlight_engine::queues::{QueueEdge, QueuesReport};
use pathlight_engine::requests::{RootEndpoint, Until};
use pathlight_engine::verdict::{ServicePart, Subject};
use pathlight_trace::Endpoint;
use std::rc::Rc;

fn summary(mean: f64) -> Percentiles {
    Percentiles { mean, p50: mean + 1.0, p95: mean + 2.0, p99: mean + 3.0, max: 9 }
}

fn node(label: &str, operation: &str, index: u32) -> FlowNode {
    FlowNode {
        label: label.to_owned(),
        service: if operation.is_empty() { String::new() } else { "s".to_owned() },
        operation: operation.to_owned(),
        index,
        invocations: 4,
        latency_us: summary(10.0),
        wait_us: summary(20.5),
        histogram: LogHistogram::default(),
        critical: 1,
        has_calls: operation == "a",
    }
}

fn report() -> FlowReport {
    let edge = |from: Option<u32>, to: Option<u32>| {
        let [from, to] = [from, to].map(|node| node.map(NodeId));
        FlowEdge { from, to, both: 4, holds: 4, binding: 3 }
    };
    FlowReport {
        parent: Endpoint::new("shop", "GET /"),
        invocations: 4,
        latency_us: summary(2_000.0),
        return_us: summary(7.0),
        nodes: vec![
            node("s:a", "a", 1),
            node("s:b#1", "b", 1),
            node("s:b#2", "b", 2),
            node("(other callees)", "", 1),
        ],
        edges: vec![
            edge(None, Some(0)),
            edge(Some(0), Some(2)),
            edge(Some(1), Some(2)),
            edge(Some(2), Some(3)),
            edge(Some(3), None),
        ],
        ..FlowReport::default()
    }
}

fn parent(operation: &str, invocations: u64, nodes: u32) -> FlowParent {
    let (service, operation) = ("s".to_owned(), operation.to_owned());
    FlowParent {
        service,
        operation,
        invocations,
        childless: 0,
        nodes,
        most_calls: nodes,
        calls_us: 0,
        recoverable_us: 0,
    }
}

#[test]
fn the_parent_that_is_shown_is_the_one_gone_to_or_the_root_endpoint_or_the_widest() {
    let shown = |parents: &[FlowParent]| {
        flow::shown_parent(&Address::default(), Some(parents)).map(|parent| parent.operation)
    };
    assert_eq!(shown(&[]), None);
    let parents = [parent("many", 700, 1), parent("wide", 40, 6), parent("wide too", 40, 6)];
    assert_eq!(shown(&parents), Some("wide".to_owned()), "most calls; of equal ones the first by name");
    let parents = [parent("many", 700, 2), parent("once", 1, 60)];
    assert_eq!(shown(&parents), Some("many".to_owned()), "not one that was hardly ever called");
    assert_eq!(shown(&parents[1..]), Some("once".to_owned()));
    let mut address =
        Address { root: RootEndpoint::Endpoint(Endpoint::new("x", "root")), ..Address::default() };
    assert_eq!(flow::shown_parent(&address, None), Some(Endpoint::new("x", "root")));
    address.choices.flow.go_to(Endpoint::new("y", "inner"), Some(Endpoint::new("x", "root")));
    assert_eq!(flow::shown_parent(&address, None), Some(Endpoint::new("y", "inner")));
    address.choices.flow.go_to(Endpoint::new("x", "root"), None);
    assert_eq!(address.choices.flow.parents, [Endpoint::new("x", "root")], "going back shortens the way");
    assert_eq!(flow::shown_parent(&Address::default(), None), None);
}

#[test]
fn parents_are_offered_by_the_size_of_their_flow_and_the_shown_one_in_any_case() {
    let parents = [parent("small", 9, 1), parent("large", 2, 5)];
    let words = |shown: &Endpoint| flow::parent_options(&parents, Some(shown));
    let option = |value: &str, words: &str| (value.to_owned(), words.to_owned());
    let both = [option("1", "large @ s (5 calls)"), option("0", "small @ s (1 call)")];
    assert_eq!(words(&Endpoint::new("s", "small")), (both.to_vec(), "0".to_owned()));
    let (options, chosen) = words(&Endpoint::new("s", "leaf"));
    assert_eq!((options[0].clone(), chosen.as_str()), (option("", "leaf @ s"), ""));
    let many: Vec<FlowParent> = (0..600).map(|at| parent(&at.to_string(), 1, 600 - at)).collect();
    let (options, chosen) = flow::parent_options(&many, Some(&Endpoint::new("s", "599")));
    assert_eq!((options.len(), chosen.as_str()), (501, "599"));
}

#[test]
fn titles_tips_and_facts_speak_of_a_flow() {
    let mut report = report();
    assert_eq!(flow::title(&report, &[]), "4 invocations, 4 calls, mean 2.00\u{202f}ms (n = 4)");
    report.nodes[0].service = "t".to_owned();
    let [most, least] = [("s".to_owned(), 80.0 / 120.0), ("t".to_owned(), 40.0 / 120.0)];
    assert_eq!(flow::services(&report), [most, least], "without the calls that have no node of their own");
    report.nodes[0].service = "s".to_owned();
    (report.invocations, report.repeats_kept, report.has_others) = (30, Some(8), true);
    assert_eq!(
        flow::title(&report, &[]),
        "30 invocations, 4 calls, mean 2.00\u{202f}ms; repeats above #8 folded; the rarest calls share one node"
    );
    (report.called, report.repeats_kept, report.has_others) = (15, None, false);
    let calls = "4 calls, mean 2.00\u{202f}ms";
    assert_eq!(flow::title(&report, &[]), format!("30 invocations (15 are not root spans), {calls}"));
    report.called = 1;
    assert_eq!(flow::title(&report, &[]), format!("30 invocations (1 is not a root span), {calls}"));
    report.called = 30;
    assert_eq!(
        flow::title(&report, &[]),
        format!("30 invocations, {calls}"),
        "all are called: there is nothing to mix up"
    );
    let layout = DagLayout::new(&report, DagSizes::for_nodes(4, crate::draw::Metrics::default()));
    let tip = |hit| flow::tip(&report, &layout, hit);
    let lines = tip(DagHit::Box(DagItem::Node(NodeId(0))));
    assert_eq!(lines[0], TipLine::Endpoint(Endpoint::new("s", "a")));
    assert_eq!(
        lines[3..],
        [
            TipLine::Text("On the critical path in 25.0\u{202f}% of 4 invocations".to_owned()),
            TipLine::Muted("The wait before it is own work of shop".to_owned()),
            TipLine::Hint("Double click: its own flow".to_owned())
        ]
    );
    let TipLine::Numbers(numbers) = &lines[2] else { panic!("{lines:?}") };
    assert_eq!(numbers.rows[1].0, "wait");
    assert_eq!(numbers.rows[1].1[0].1, "20.5");
    let others = tip(DagHit::Box(DagItem::Node(NodeId(3))));
    assert_eq!((others.len(), &others[0]), (5, &TipLine::Strong("All rarer calls".to_owned())));
    assert_eq!(tip(DagHit::Box(DagItem::Return)).len(), 3);
    let at = layout.lines.iter().position(|line| line.to == DagItem::Node(NodeId(3))).unwrap();
    assert_eq!(
        tip(DagHit::Line(at)),
        [
            TipLine::Text("(other callees) waits for s:b#2".to_owned()),
            TipLine::Muted("Binds in 75.0\u{202f}% of 4 invocations".to_owned()),
            TipLine::Muted("What passes between is own work of shop".to_owned())
        ]
    );
    // A span that only calls another service may be the calling half.
    let calling = FlowReport { nodes: report.nodes[..1].to_vec(), ..report.clone() };
    let last = flow::tip(&calling, &layout, DagHit::Box(DagItem::Return)).pop();
    assert_eq!(last, Some(TipLine::Muted("That is waiting for s, or own work of shop".to_owned())));
    let facts = flow::facts(&report, &Endpoint::new("s", "a")).unwrap();
    assert_eq!(facts.head, "As a call of GET / @ shop");
    assert_eq!((facts.pairs[4].clone(), facts.opens), (("Seen in", "4 of 30".to_owned()), true));
    assert!(!flow::facts(&report, &Endpoint::new("s", "b")).unwrap().opens);
    assert!(flow::facts(&report, &Endpoint::new("s", "c")).is_none());
    assert_eq!(flow::services(&report), [("s".to_owned(), 1.0)], "what has no service has no colour");
    assert_eq!(flow::found(&report, &Finder::of_text("B s")), Some(vec![false, true, true, false]));
    assert_eq!(flow::found(&report, &Finder::of_text(" ")), None);
}

#[test]
fn why_no_flow_is_drawn_depends_on_what_is_known() {
    let (address, filtered) = (Address::default(), Address::parse("error=1"));
    let (parent, empty, full) = (Endpoint::new("s", "leaf"), FlowReport::default(), report());
    let why = |parent, report, is_waiting| flow::why_empty(&address, parent, report, is_waiting);
    assert_eq!(why(Some(&parent), Some(&full), true), "");
    assert_eq!(
        why(Some(&parent), Some(&empty), false),
        "leaf @ s waits for no call. Choose another parent above."
    );
    let words = flow::why_empty(&filtered, Some(&parent), Some(&empty), false);
    assert!(words.starts_with("leaf @ s waits for no call in the selected requests."), "{words}");
    assert_eq!(why(Some(&parent), Some(&empty), true), crate::views::WORKING);
    assert_eq!(why(Some(&parent), None, false), crate::views::WORKING);
    assert_eq!(why(None, None, true), crate::views::WORKING);
    assert_eq!(why(None, None, false), "No endpoint here waits for any call.");
}

#[test]
fn calls_are_lines_with_what_they_wait_for() {
    let mut table = flow::table();
    table.set_rows(CallLine::of(&Rc::new(report())));
    let csv = table.csv();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "call,service,operation,invocations,critical_share,latency_mean_us,latency_p50_us,latency_p95_us,\
         latency_p99_us,wait_mean_us,wait_p50_us,wait_p95_us,wait_p99_us,waits_for"
    );
    assert_eq!(lines[1], "s:a,s,a,4,0.25,10,11,12,13,20.5,21.5,22.5,23.5,start");
    assert!(lines[3].ends_with(",\"a, b\""), "{}", lines[3]);
    assert!(lines[4].starts_with("(other callees),,,4,"), "{}", lines[4]);
    let b = Some(Endpoint::new("s", "b"));
    assert_eq!(table.cell(0, 1), CellText::Call(b.clone(), String::new()));
    assert_eq!(table.cell(0, 2), CellText::Call(b, "call 2".to_owned()));
    assert_eq!(table.cell(0, 3), CellText::Call(None, "All rarer calls".to_owned()));
    let by_call = crate::address::Sort { column: "call".to_owned(), descending: false };
    assert_eq!(table.order(Some(&by_call), None), [3, 0, 1, 2]);
}

#[test]
fn changes_are_made_said_and_taken_away() {
    let (report, a) = (report(), Endpoint::new("s", "a"));
    let mut changes = Changes::default();
    flow::changes::set_latency(&mut changes, &a, (ChangeOf::WholeCall, -50, 0));
    flow::changes::set_latency(&mut changes, &a, (ChangeOf::OwnWork, 20, 1_500));
    assert_eq!(flow::changes::latency_change(&changes, &a), (ChangeOf::OwnWork, 20, 1_500));
    flow::changes::set_parallel(&mut changes, &report, [0, 2].map(NodeId));
    flow::changes::set_parallel(&mut changes, &report, [0, 2].map(NodeId));
    flow::changes::set_parallel(&mut changes, &report, [0, 99].map(NodeId));
    assert_eq!(
        flow::changes::chips(&changes),
        [
            (ChangeAt::Latency(0), "a: own work 20.0\u{202f}% slower, +1.50\u{202f}ms".to_owned()),
            (ChangeAt::Parallel(0), "a beside b".to_owned())
        ]
    );
    assert_eq!(flow::changes::changed_nodes(&report, &changes), [true, false, true, false]);
    let timeout = |of: &CallTarget, retry_us| CallTimeout { of: of.clone(), after_us: 2_000, retry_us };
    let call = CallTarget::Endpoint(Endpoint::new("s", "c"));
    let service = CallTarget::Service("s".to_owned());
    flow::changes::set_timeout(&mut changes, timeout(&call, vec![]));
    flow::changes::set_timeout(&mut changes, timeout(&service, vec![]));
    flow::changes::set_timeout(&mut changes, timeout(&call, vec![300, 700]));
    let chips = flow::changes::chips(&changes);
    let said = [
        "All calls into s: given up after 2.00\u{202f}ms",
        "c: given up after 2.00\u{202f}ms, retried once (500\u{202f}\u{b5}s)",
    ];
    assert_eq!(chips[2..], [0, 1].map(|at| (ChangeAt::Timeout(at), said[at].to_owned())));
    ChangeAt::Timeout(0).remove(&mut changes);
    ChangeAt::Timeout(0).remove(&mut changes);
    flow::changes::set_latency(&mut changes, &a, (ChangeOf::OwnWork, 0, 0));
    ChangeAt::Parallel(0).remove(&mut changes);
    assert_eq!(changes, Changes::default());
    assert_eq!(
        [
            (ChangeOf::OwnWork, 0, 0),
            (ChangeOf::WholeCall, -100, 0),
            (ChangeOf::WholeCall, -50, 0),
            (ChangeOf::OwnWork, -100, 0),
            (ChangeOf::OwnWork, 0, -5)
        ]
        .map(flow::changes::amount_words),
        [
            "as it is",
            "gone",
            "whole call 50.0\u{202f}% faster",
            "own work gone",
            "own work \u{2212}5\u{202f}\u{b5}s"
        ]
    );
    let near = flow::changes::neighbours(&report, NodeId(2));
    assert_eq!(near.iter().map(|(node, _)| node.0).collect::<Vec<_>>(), [0, 1, 3]);
    assert_eq!(near[1].1, "s:b#1");
}

#[test]
fn subjects_change_by_an_amount_or_to_what_is_usual() {
    let subject = |part| Subject { service: "cart".to_owned(), part };
    let [own, waiting, out] = [ServicePart::Own, ServicePart::In, ServicePart::Out]
        .map(|part| ChangeTarget::Subject(subject(part)));
    let mut changes = Changes::default();
    let amount = |percent, add_us| Wanted::By((ChangeOf::OwnWork, percent, add_us));
    assert_eq!(own.wanted(&changes), amount(0, 0));
    assert_eq!(own.words(amount(0, 0)), "as it is");
    for (target, wanted) in [
        (&own, amount(30, 1_500)),
        (&waiting, Wanted::Usual),
        (&waiting, amount(-50, 0)),
        (&out, amount(-100, 20)),
        (&own, Wanted::Usual),
    ] {
        target.set(&mut changes, wanted);
        assert_eq!(target.wanted(&changes), wanted);
    }
    let chips = flow::changes::chips(&changes);
    assert_eq!(
        chips,
        [
            (ChangeAt::Subject(0), "Own work of cart: as usual".to_owned()),
            (ChangeAt::Subject(1), "Waiting for cart: 50.0\u{202f}% less".to_owned()),
            (ChangeAt::Subject(2), "Calls out of cart: 20\u{202f}\u{b5}s per call".to_owned()),
        ]
    );
    assert_eq!(own.words(amount(30, 1_500)), "30.0\u{202f}% more, +1.50\u{202f}ms per span");
    own.set(&mut changes, amount(0, 0));
    ChangeAt::Subject(1).remove(&mut changes);
    assert_eq!(
        changes.subjects.iter().map(|change| &change.subject).collect::<Vec<_>>(),
        [&subject(ServicePart::In)]
    );
    let offered = flow::changes::subject_options(&["a".to_owned(), "b".to_owned()], &[]);
    let words: Vec<&str> = offered.iter().map(|(_, words)| words.as_str()).collect();
    let network = &*flow::changes::network_words();
    let parts = ["Waiting for a", "Waiting for b", "Own work of a", "Own work of b", network];
    assert_eq!((words[0], &words[1..]), ("The selected call", &parts[..]));
    assert_eq!(Subject::parse(&offered[0].0), None);
    assert_eq!(
        Subject::parse(&offered[4].0),
        Some(Subject { service: "b".to_owned(), part: ServicePart::Own })
    );
    let all = ChangeTarget::parse(&offered[5].0).unwrap();
    let half = Wanted::By((ChangeOf::OwnWork, -50, 0));
    all.set(&mut changes, half);
    assert_eq!((all.wanted(&changes), changes.waits.len()), (half, 1));
    let said = flow::changes::chips(&changes)
        .into_iter()
        .map(|(_, words)| words)
        .find(|words| words.starts_with("Network"));
    assert_eq!(said, Some(format!("{network}: 50.0\u{202f}% less")));
    all.set(&mut changes, Wanted::By((ChangeOf::OwnWork, 0, 0)));
    assert!(changes.waits.is_empty());
}

#[test]
fn a_what_if_says_before_and_after() {
    let share = |operation: &str, after_us| ShareChange {
        service: "s".to_owned(),
        operation: operation.to_owned(),
        before_us: 5,
        after_us,
        before_share: 0.5,
        after_share: 0.25,
    };
    let report = WhatIfReport {
        requests: 1_200,
        changed: 3,
        before_us: summary(10.0),
        after_us: Percentiles { p50: 6.0, ..summary(10.0) },
        before_curve_us: vec![4.0, 8.0, 16.0],
        after_curve_us: vec![2.5, 8.0],
        endpoints: vec![share("a", 3), share("b", 5)],
    };
    assert_eq!(flow::changes::changed_words(&report, Until::Answer), "3 of 1\u{202f}200 requests change.");
    let shares = flow::changes::shares(&report, flow::changes::LISTED);
    assert_eq!(shares, [(Endpoint::new("s", "a"), "50.0\u{202f}% \u{2192} 25.0\u{202f}%".to_owned())]);
    let numbers = flow::changes::numbers(&report);
    assert_eq!((numbers.heads[2].as_str(), numbers.rows[0].0.as_str()), ("change", "p50"));
    assert_eq!(numbers.rows[0].1[1], ("6\u{202f}\u{b5}s".to_owned(), "6".to_owned()));
    assert_eq!(numbers.rows[1].1[2].0, pathlight_base::format::DASH);
    assert_eq!(
        flow::changes::what_if_csv(&report),
        "quantile,before_us,after_us\r\np50,11,6\r\np95,12,12\r\np99,13,13\r\nmean,10,10\r\n"
    );
    let curves = flow::changes::curves(&report, &Theme::light());
    assert_eq!(curves.x.0, Axis::Latency { from_us: 2, to_us: 16 });
    assert_eq!(curves.curves[0].points, [(4.0, 0.0), (8.0, 0.5), (16.0, 1.0)]);
    let none =
        flow::changes::curves(&WhatIfReport { before_curve_us: Vec::new(), ..report }, &Theme::light());
    assert!(none.curves[0].points.is_empty());
}

#[test]
fn predictions_are_given_with_their_errors() {
    let method = |at: usize| MethodErrors {
        name: METHOD_NAMES[at].to_owned(),
        error: ErrorQuantiles { p50: 0.125, p90: 0.5, p95: 1.0, p99: f64::INFINITY },
        ratios: vec![0.5, 2.0],
        errors: vec![0.0, 1.0],
    };
    let mut report = EvaluationReport {
        parents: 2,
        train: 1_000,
        test: 1,
        methods: (0..METHOD_NAMES.len()).map(method).collect(),
        ..EvaluationReport::default()
    };
    assert_eq!(
        flow::prediction::title(&report),
        "2 parents: learned from 1\u{202f}000, tested on 1 later invocation"
    );
    assert_eq!(
        flow::prediction::back_test_words(Some(&report)),
        "Back-tested on 1 held-out invocation of 2 parents, the model is off by 12.5\u{202f}% in the median and \
         off by 50.0\u{202f}% at the 90th percentile."
    );
    report
        .methods
        .iter_mut()
        .for_each(|method| method.error = ErrorQuantiles { p90: 0.0002, ..ErrorQuantiles::default() });
    assert!(
        flow::prediction::back_test_words(Some(&report))
            .ends_with("the model is exact in the median and off by <0.1\u{202f}% at the 90th percentile.")
    );
    report.methods.iter_mut().for_each(|method| method.error = ErrorQuantiles::default());
    assert!(
        flow::prediction::back_test_words(Some(&report))
            .ends_with("the model is exact in the median and at the 90th percentile.")
    );
    report.methods = (0..METHOD_NAMES.len()).map(method).collect();
    let errors = flow::prediction::errors(&report.methods[0]);
    assert_eq!(errors[0], ("0.12".to_owned(), "0.125".to_owned()));
    assert_eq!(errors[3].0, "\u{221e}");
    let csv = flow::prediction::prediction_csv(&report);
    assert!(csv.starts_with("method,p50,p90,p95,p99\r\nserial,0.125,0.5,1,inf\r\n"), "{csv}");
    let theme = Theme::light();
    let ratios = flow::prediction::curves(&report, PredictionPlot::Ratios, false, &theme);
    assert_eq!((ratios.legend, ratios.curves[5].points[1]), (Legend::Elsewhere, (1.0, 2.0)));
    let errors = flow::prediction::curves(&report, PredictionPlot::Errors, true, &theme);
    assert_eq!((errors.legend, errors.curves[0].points[1]), (Legend::BottomRight, (2.0, 1.0)));
    assert!(errors.curves[4].strong && !errors.curves[3].strong);
    report.test = 0;
    report.parent = Some(Endpoint::new("s", "a"));
    assert_eq!(flow::prediction::title(&report), "a @ s: no invocation to test on");
    assert!(flow::prediction::back_test_words(Some(&report)).starts_with("There is no held-out invocation"));
    assert!(flow::prediction::back_test_words(None).starts_with("Testing the model"));
}

#[test]
fn savings_are_ranked_at_one_level_and_written_at_all() {
    let saving = |mean| Saving { mean, mean_interval: None, p50: 1.0, p95: 2.0, p99: 3.5 };
    let row = |operation: &str, mean| EndpointSaving {
        service: "s".to_owned(),
        operation: operation.to_owned(),
        spans: 8,
        waiting_spans: 0,
        requests: 4,
        affected: 2,
        saved_us: SavedAt {
            faster_10: saving(mean),
            faster_50: saving(5.0 * mean),
            faster_100: saving(-1.0),
        },
    };
    let report = SavingsReport {
        requests: 4,
        latency_us: summary(100.0),
        endpoints: vec![row("a", 1.0), row("b", 2.0)],
    };
    let report = Rc::new(report);
    let mut table = flow::savings::table();
    table.set_rows(SavingLine::of(&report, 1));
    assert_eq!(table.order(None, None), [1, 0]);
    assert_eq!(table.cell(1, 1), CellText::Bar(0.1, "10.0\u{202f}%".to_owned()));
    assert_eq!(table.attributes(1)[3], ("data-value", "10".to_owned()));
    assert_eq!(table.rows()[0].change(), (Endpoint::new("s", "a"), (ChangeOf::OwnWork, -50, 0)));
    let csv = table.csv();
    assert_eq!(
        csv.lines().nth(1),
        Some("s,a,8,4,2,1,1,2,3.5,5,1,2,3.5,-1,1,2,3.5"),
        "every level, whichever is shown"
    );
    assert!(csv.starts_with("service,operation,spans,requests,affected,saved_10_mean_us,saved_10_p50_us,"));
    table.set_rows(SavingLine::of(&report, 2));
    assert_eq!(table.cell(1, 0), CellText::Bar(0.0, "\u{2212}1.0\u{202f}%".to_owned()));
}

#[test]
fn a_queue_is_offered_changed_and_said() {
    let edge = QueueEdge {
        sender: Endpoint::new("shop", "publish"),
        receiver: Endpoint::new("mail", "handle"),
        destination: "orders".to_owned(),
        ..QueueEdge::default()
    };
    let (value, words) = flow::changes::subject_options(&[], std::slice::from_ref(&edge)).pop().unwrap();
    assert_eq!(words, "Messages in orders, publish to handle");
    let target = ChangeTarget::parse(&value).unwrap();
    assert_eq!(target, ChangeTarget::Queue(flow::changes::queue_of(&edge)));
    let mut changes = Changes::default();
    let half = Wanted::By((ChangeOf::OwnWork, -50, 0));
    target.set(&mut changes, half);
    assert_eq!(target.wanted(&changes), half);
    let chips = flow::changes::chips(&changes);
    assert_eq!(chips[0].1, "Messages in orders, publish to handle: 50.0\u{202f}% less");
    assert!(flow::changes::no_answer_waits(&changes, Until::Answer).contains("No answer waits"));
    assert_eq!(flow::changes::no_answer_waits(&changes, Until::Done), "");
    target.set(&mut changes, Wanted::Usual);
    assert_eq!((changes.queues.len(), target.words(Wanted::Usual)), (1, "as usual".to_owned()));
    chips[0].0.remove(&mut changes);
    assert_eq!(changes, Changes::default());
}

#[test]
fn a_queue_is_written_by_its_name_or_by_whoever_receives() {
    let edge = |destination: &str, operation: &str| QueueEdge {
        sender: Endpoint::new("shop", "publish"),
        receiver: Endpoint::new("mail", operation),
        destination: destination.to_owned(),
        ..QueueEdge::default()
    };
    let report = QueuesReport {
        edges: vec![edge("orders", "handle"), edge("orders", "store"), edge("", "log")],
        ..QueuesReport::default()
    };
    let add = |text: &str| {
        let mut changes = Changes::default();
        let wanted = written::change(text).unwrap();
        written::add_queues(&mut changes, &report, &[wanted])?;
        Ok::<usize, String>(changes.queues.len())
    };
    assert_eq!((add("queue:orders=-50%"), add("queue:mail:log=usual")), (Ok(2), Ok(1)));
    let known = "no queue \"x\" in these traces: there are queue:mail:log, queue:orders";
    assert_eq!(add("queue:x=gone"), Err(known.to_owned()));
}
