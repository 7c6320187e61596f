//! The rules for real traces (`docs/definitions/real-traces.md`) against worked examples.

use crate::common::{Span, set_of, span};
use SpanKind::{Client, Consumer, Internal, Server, Unspecified};
use pathlight::engine::flame::{PathFinder, TraceReport};
use pathlight::engine::queries;
use pathlight::engine::requests::{RootEndpoint, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::trace::{
    Coverage, Endpoint, EndpointId, Overlap, PathSettings, Reading, ReadingRule, RequestRoots, Role,
    SpanKind, TraceSet, Tree,
};
use std::collections::BTreeMap;

pub(super) fn only(rule: ReadingRule) -> Reading {
    Reading::PLAIN.with(rule, true)
}

/// Returns the span as one of this service and kind.
fn of(service: &str, kind: SpanKind, span: Span) -> Span {
    Span { service: service.to_owned(), kind, ..span }
}

fn tree(set: &TraceSet, reading: Reading) -> Tree {
    let mut tree = Tree::default();
    tree.load(set, 0, PathSettings { reading, ..PathSettings::default() });
    tree
}

/// Returns role, start and end of every span, by operation.
fn read(spans: &[Span], reading: Reading) -> Vec<(String, Role, u64, u64)> {
    let set = set_of(spans);
    let tree = tree(&set, reading);
    let mut out: Vec<_> = (0..tree.len())
        .map(|i| {
            let name = set.endpoint_name(set.endpoint(tree.row(i as u32))).1.to_owned();
            (name, tree.role[i], tree.start_us[i], tree.end_us[i])
        })
        .collect();
    out.sort_by(|a, b| a.0.cmp(&b.0));
    out
}

fn role(spans: &[Span], reading: Reading, name: &str) -> Role {
    read(spans, reading).into_iter().find(|row| row.0 == name).unwrap().1
}

/// Returns the segments of the trace root as (operation, start, end).
fn path(spans: &[Span], reading: Reading) -> Vec<(String, u64, u64)> {
    let set = set_of(spans);
    let tree = tree(&set, reading);
    let mut finder = PathFinder::default();
    finder.find(&set, &tree, 0, Overlap::default());
    let name = |i: u32| set.endpoint_name(set.endpoint(tree.row(i))).1.to_owned();
    finder.segments().map(|s| (name(s.span), s.start_us, s.end_us)).collect()
}

fn segments(expected: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    expected.iter().map(|&(name, start, end)| (name.to_owned(), start * 1000, end * 1000)).collect()
}

/// Makes a gateway's request over [0, 100] ms with a leaf L and a call C that has a callee S.
fn gateway(leaf: (u64, u64), call: (u64, u64)) -> Vec<Span> {
    let ms = |id, parent, name, (start, end): (u64, u64)| {
        span(id, parent, name, 1_000_000 + start * 1000, 1_000_000 + end * 1000)
    };
    let mut spans = vec![
        of("gateway", Server, ms(1, 0, "parent", (0, 100))),
        of("gateway", Internal, ms(2, 1, "L", leaf)),
        of("gateway", Client, ms(3, 1, "C", call)),
        of("service", Server, ms(4, 3, "S", (call.0 + 1, call.1 - 1))),
    ];
    spans.iter_mut().for_each(|span| span.start_us -= 1_000_000);
    spans
}

#[test]
fn a_leaf_beside_the_call_it_covers_is_an_overlay() {
    let rule = only(ReadingRule::Overlay);
    let expected = [("parent", 0, 3), ("C", 3, 4), ("S", 4, 98), ("C", 98, 99), ("parent", 99, 100)];
    // Ends before the call, or after it: the same path.
    for leaf in [(1, 98), (1, 100)] {
        let spans = gateway(leaf, (3, 99));
        assert_eq!(role(&spans, rule, "L"), Role::Overlay);
        assert_eq!(path(&spans, rule), segments(&expected));
        assert_eq!(role(&spans, Reading::PLAIN, "L"), Role::Sync);
    }
    // Read plainly, the leaf that ends last takes the time of the call.
    let plain = [("parent", 0, 1), ("L", 1, 100)];
    assert_eq!(path(&gateway((1, 100), (3, 99)), Reading::PLAIN), segments(&plain));
}

#[test]
fn what_does_not_cover_the_calls_beside_it_is_work() {
    let rule = only(ReadingRule::Overlay);
    // Over before the call begins; begins after it; goes on long after it; is over long before it.
    for (leaf, call) in [((1, 40), (60, 99)), ((5, 99), (3, 99)), ((1, 99), (3, 80)), ((2, 40), (3, 99))] {
        assert_eq!(role(&gateway(leaf, call), rule, "L"), Role::Sync, "{leaf:?} beside {call:?}");
    }
    // Shorter than 0.3 of its parent.
    assert_eq!(role(&gateway((1, 30), (1, 30)), rule, "L"), Role::Sync);
    assert_eq!(role(&gateway((1, 31), (1, 31)), rule, "L"), Role::Overlay);
    let change = |change: &dyn Fn(&mut Vec<Span>)| {
        let mut spans = gateway((1, 98), (3, 99));
        change(&mut spans);
        role(&spans, rule, "L")
    };
    // A call; of another service; not a leaf; the other is no call either.
    assert_eq!(change(&|spans| spans[1].kind = Client), Role::Sync);
    assert_eq!(change(&|spans| spans[1].service = "other".to_owned()), Role::Sync);
    assert_eq!(change(&|spans| spans.push(of("gateway", Internal, span(9, 2, "x", 2000, 3000)))), Role::Sync);
    assert_eq!(
        change(&|spans| {
            spans.pop();
            spans[2].kind = Internal;
        }),
        Role::Sync
    );
    // Without kinds too.
    assert_eq!(change(&|spans| spans.iter_mut().for_each(|span| span.kind = Unspecified)), Role::Overlay);
}

#[test]
fn an_overlay_may_cover_several_calls() {
    let mut spans = gateway((1, 98), (3, 50));
    spans.push(of("gateway", Client, span(5, 1, "D", 51_000, 99_000)));
    assert_eq!(role(&spans, only(ReadingRule::Overlay), "L"), Role::Overlay);
    // A gap of 20 ms between them is too much.
    spans[4] = of("gateway", Client, span(5, 1, "D", 70_000, 99_000));
    assert_eq!(role(&spans, only(ReadingRule::Overlay), "L"), Role::Sync);
}

#[test]
fn an_overlay_is_neither_waited_for_nor_left_out() {
    let set = set_of(&gateway((1, 98), (3, 99)));
    let tree = tree(&set, only(ReadingRule::Overlay));
    let calls: Vec<u32> = tree.sync_children(0).collect();
    assert_eq!(calls.len(), 1);
    let leaf = set.find_endpoint("gateway", "L").unwrap();
    let mut requests = Vec::new();
    let mut tree = Tree::default();
    let settings = PathSettings { reading: only(ReadingRule::Overlay), ..PathSettings::default() };
    tree.load_for(&set, 0, settings, RequestRoots::Of(leaf));
    tree.requests(&set, &mut requests);
    assert_eq!(requests.len(), 1);
}

#[test]
fn nobody_waits_for_what_outlives_its_parent_in_one_process() {
    let rule = only(ReadingRule::NobodyWaits);
    // The parent over [1, 101] ms tolerates 1 ms, 1 % of it.
    let spans = |start, end| {
        vec![
            of("a", Unspecified, span(1, 0, "parent", 1_000, 101_000)),
            of("a", Unspecified, span(2, 1, "child", start, end)),
        ]
    };
    let role_of = |start, end| role(&spans(start, end), rule, "child");
    assert_eq!(role_of(50_001, 102_000), Role::Sync);
    assert_eq!(role_of(50_001, 107_000), Role::Async);
    // Less than a tenth of the child.
    assert_eq!(role_of(20_001, 105_000), Role::Sync);
    // Both starts in whole milliseconds: rounding may be another one.
    assert_eq!(role_of(95_000, 103_000), Role::Sync);
    assert_eq!(role_of(95_001, 102_002), Role::Async);
    assert_eq!(role_of(95_000, 103_001), Role::Async);
    // Begins at the end.
    assert_eq!(role_of(101_000, 101_500), Role::Async);
    assert_eq!(role_of(101_000, 101_000), Role::Sync);
    assert_eq!(role(&spans(50_001, 107_000), Reading::PLAIN, "child"), Role::Sync);
    // Its time is the parent's, and its own interval is whole.
    assert_eq!(path(&spans(50_000, 190_000), rule), segments(&[("parent", 1, 101)]));
    let asynchronous = ("child".to_owned(), Role::Async, 50_000, 190_000);
    assert_eq!(read(&spans(50_000, 190_000), rule)[0], asynchronous);
    // The end of a parent that was cut itself is where it really ended.
    let mut cut = spans(50_000, 99_000);
    cut.insert(0, of("b", Unspecified, span(9, 0, "root", 1_000, 61_000)));
    cut[1].parent = 9;
    assert_eq!(role(&cut, rule, "child"), Role::Sync);
    // A call of another process is cut as ever.
    let mut remote = spans(50_000, 190_000);
    remote[1].service = "b".to_owned();
    assert_eq!(role(&remote, rule, "child"), Role::Sync);
}

/// Makes a client over `call` with the server of another process over `server`, below a root from 0 to 1 s.
fn remote(call: (u64, u64), server: (u64, u64)) -> Vec<Span> {
    vec![
        of("a", Server, span(1, 0, "root", 0, 1_000_000)),
        of("a", Client, span(2, 1, "call", call.0, call.1)),
        of("b", Server, span(3, 2, "server", server.0, server.1)),
        of("b", Internal, span(4, 3, "work", server.0, server.1)),
    ]
}

fn interval(spans: &[Span], reading: Reading, name: &str) -> (Role, u64, u64) {
    let row = read(spans, reading).into_iter().find(|row| row.0 == name).unwrap();
    (row.1, row.2, row.3)
}

#[test]
fn a_callee_is_moved_into_its_call() {
    let rule = only(ReadingRule::Clocks);
    let of_server = |call, server| interval(&remote(call, server), rule, "server");
    let call = (100_000, 150_000);
    // 30 ms long, 40 ms late: 10 of them are too late.
    assert_eq!(of_server(call, (130_000, 160_000)), (Role::Sync, 120_000, 150_000));
    assert_eq!(of_server(call, (90_000, 120_000)), (Role::Sync, 100_000, 130_000));
    // What is below moves along.
    let below = interval(&remote(call, (130_000, 160_000)), rule, "work");
    assert_eq!(below, (Role::Sync, 120_000, 150_000));
    // Wholly outside: dropped without the rule.
    assert_eq!(of_server(call, (160_000, 190_000)), (Role::Sync, 120_000, 150_000));
    let plain = interval(&remote(call, (160_000, 190_000)), Reading::PLAIN, "server");
    assert_eq!(plain.0, Role::Dropped);
    // Up to 1 ms is cut as ever, unless the callee would be dropped.
    assert_eq!(of_server(call, (121_000, 151_000)), (Role::Sync, 121_000, 150_000));
    assert_eq!(of_server((100_000, 100_300), (100_400, 100_500)), (Role::Sync, 100_200, 100_300));
    // A callee longer than its call gives no offset.
    assert_eq!(of_server(call, (90_000, 160_000)), (Role::Sync, 100_000, 150_000));
}

#[test]
fn a_large_offset_needs_a_callee_that_fills_half_of_its_call() {
    let rule = only(ReadingRule::Clocks);
    let call = (100_000, 150_000);
    let fills = interval(&remote(call, (600_000, 630_000)), rule, "server");
    assert_eq!(fills, (Role::Sync, 120_000, 150_000));
    // Began long after its caller gave up.
    let late = interval(&remote(call, (600_000, 610_000)), rule, "server");
    assert_eq!(late, (Role::Async, 600_000, 610_000));
    // Without a kind, and of one host as far as is known, nothing says that clocks differ.
    let mut kindless = remote(call, (160_000, 190_000));
    kindless.iter_mut().for_each(|span| span.kind = Unspecified);
    assert_eq!(interval(&kindless, rule, "server").0, Role::Dropped);
}

/// Returns the report of the trace of some spans, read as a real one.
fn report(spans: &[Span]) -> TraceReport {
    let set = set_of(spans);
    let settings = PathSettings { reading: Reading::real(), ..PathSettings::default() };
    let query = queries::Trace {
        trace_id: set.trace_id_text(0),
        root_span_id: None,
        settings,
        group: 0,
        has_pressures: false,
    };
    NativePool::of(vec![set]).unwrap().run(query).unwrap().unwrap()
}

#[test]
fn a_trace_says_why_nobody_waits_for_a_span() {
    let late = report(&remote((100_000, 150_000), (600_000, 610_000)));
    assert_eq!((late.caller_gave_up.as_slice(), late.outlives_parent.as_slice()), (&[2][..], &[][..]));
    assert!(late.is_caller_gave_up(2) && late.bits[2] & TraceReport::ASYNC != 0);
    let mut spans = remote((100_000, 150_000), (101_000, 149_000));
    // Its parent ends at 149 ms.
    spans[3] = of("b", Internal, span(4, 3, "work", 120_000, 190_000));
    let outlives = report(&spans);
    assert_eq!(
        (outlives.outlives_parent.as_slice(), outlives.caller_gave_up.as_slice()),
        (&[3][..], &[][..])
    );
    assert!(outlives.is_outlives_parent(3) && !outlives.is_outlives_parent(2));
    // What is recorded as asynchronous needs no reason.
    spans[3].follows_from = true;
    let declared = report(&spans);
    assert_eq!(
        (declared.bits[3] & TraceReport::ASYNC, declared.outlives_parent.len()),
        (TraceReport::ASYNC, 0)
    );
}

#[test]
fn on_one_host_waiting_is_told_apart_before_and_after_the_callee() {
    let on = |hosts: [&'static str; 2]| {
        let mut spans = remote((10_000, 90_000), (30_000, 85_000));
        spans.iter_mut().for_each(|span| span.host = hosts[usize::from(span.service == "b")]);
        let waiting = report(&spans).waiting;
        assert_eq!((waiting.len(), waiting[0].us), (1, 25_000));
        waiting[0].halves_us
    };
    assert_eq!(on(["h", "h"]), Some((20_000, 5_000)));
    assert_eq!(on(["h", "i"]), None, "two clocks");
    assert_eq!(on(["", ""]), None, "perhaps two clocks");
}

#[test]
fn a_trace_says_whose_caller_stopped_waiting() {
    // By row of the tree: root, call, server. The server goes on for 30 of its 60 ms; or for no good part of it.
    for (end, expected) in [(180_000, &[2][..]), (152_000, &[])] {
        let report = report(&remote((100_000, 150_000), (99_000, end)));
        assert_eq!(report.caller_stopped, expected, "{:?}", report.bits);
        assert!(report.is_caller_stopped(2) == (end == 180_000) && !report.is_caller_stopped(1));
    }
}

#[test]
fn one_offset_serves_all_calls_between_two_processes() {
    let rule = only(ReadingRule::Clocks);
    let mut spans = remote((100_000, 150_000), (140_000, 180_000));
    spans.push(of("a", Client, span(5, 1, "second call", 200_000, 300_000)));
    spans.push(of("b", Server, span(6, 5, "second", 240_000, 320_000)));
    // The first says 30 to 40 ms earlier, the second 20 to 40.
    assert_eq!(interval(&spans, rule, "server"), (Role::Sync, 110_000, 150_000));
    assert_eq!(interval(&spans, rule, "second"), (Role::Sync, 210_000, 290_000));
    // The second says 50 to 60 ms earlier now: between 40 and 50 both overrun by 10 ms in all; the nearest to 0 is 40.
    spans[5].start_us = 260_000;
    spans[5].duration_us = 90_000;
    assert_eq!(interval(&spans, rule, "server"), (Role::Sync, 100_000, 140_000));
    assert_eq!(interval(&spans, rule, "second"), (Role::Sync, 220_000, 300_000));
}

#[test]
fn offsets_add_up_along_calls_and_never_move_the_root() {
    let rule = only(ReadingRule::Clocks);
    let mut spans = remote((100_000, 190_000), (160_000, 240_000));
    spans.push(of("b", Client, span(5, 4, "next call", 170_000, 230_000)));
    spans.push(of("c", Server, span(6, 5, "next", 150_000, 200_000)));
    // b is 50 ms ahead of a, and c 20 ms behind b: 30 ms ahead of a.
    assert_eq!(interval(&spans, rule, "server"), (Role::Sync, 110_000, 190_000));
    assert_eq!(interval(&spans, rule, "next"), (Role::Sync, 120_000, 170_000));
    assert_eq!(interval(&spans, rule, "root"), (Role::Root, 0, 1_000_000));
}

/// Makes the example of messages: a root over [0, 100] ms, a span around sending, a consumer with a child.
fn message(sender: SpanKind) -> Vec<Span> {
    let ms = |id, parent, name, start: u64, end: u64| span(id, parent, name, start * 1000, end * 1000);
    vec![
        of("driver", Server, ms(1, 0, "A", 0, 100)),
        of("driver", sender, ms(2, 1, "S", 90, 100)),
        of("worker", Consumer, ms(3, 2, "C", 150, 400)),
        of("worker", Client, ms(4, 3, "D", 200, 390)),
    ]
}

/// Returns the segments of the only request of an endpoint, and its latency, in milliseconds.
fn of_endpoint(spans: &[Span], reading: Reading, name: &str) -> (Vec<(String, u64, u64)>, u64) {
    let set = set_of(spans);
    let endpoint = set.endpoints().position(|(_, operation)| operation == name).unwrap() as u32;
    let (mut tree, mut requests) = (Tree::default(), Vec::new());
    let settings = PathSettings { reading, ..PathSettings::default() };
    tree.load_for(&set, 0, settings, RequestRoots::Of(EndpointId(endpoint)));
    tree.requests(&set, &mut requests);
    assert_eq!(requests.len(), 1, "{name}");
    let mut finder = PathFinder::default();
    finder.find(&set, &tree, requests[0], Overlap::default());
    let name = |i: u32| set.endpoint_name(set.endpoint(tree.row(i))).1.to_owned();
    (
        finder.segments().map(|s| (name(s.span), s.start_us, s.end_us)).collect(),
        tree.duration_us(requests[0]) / 1000,
    )
}

#[test]
fn nobody_waits_for_a_consumer() {
    let rule = only(ReadingRule::Consumers);
    for sender in [Internal, Server, Client, SpanKind::Producer, Unspecified] {
        let spans = message(sender);
        assert_eq!(interval(&spans, rule, "C"), (Role::Async, 150_000, 400_000), "{sender:?}");
        assert_eq!(interval(&spans, rule, "D"), (Role::Sync, 200_000, 390_000));
        assert_eq!(path(&spans, rule), segments(&[("A", 0, 90), ("S", 90, 100)]));
        let of_c = segments(&[("C", 150, 200), ("D", 200, 390), ("C", 390, 400)]);
        assert_eq!(of_endpoint(&spans, rule, "C"), (of_c, 250));
    }
    // Read plainly it is dropped, unless the sender is a producer.
    assert_eq!(role(&message(Internal), Reading::PLAIN, "C"), Role::Dropped);
    assert_eq!(role(&message(SpanKind::Producer), Reading::PLAIN, "C"), Role::Async);
    // Below a span that is dropped it keeps its interval too.
    let mut below = message(Internal);
    (below[1].start_us, below[1].duration_us) = (110_000, 10_000);
    // A start of 0 would pass for a missing one.
    below.iter_mut().for_each(|span| span.start_us += 1_000_000);
    assert_eq!((role(&below, rule, "S"), role(&below, rule, "C")), (Role::Dropped, Role::Async));
    assert_eq!(interval(&below, rule, "D"), (Role::Sync, 1_200_000, 1_390_000));
}

#[test]
fn a_request_that_is_chosen_is_measured_by_its_own_span() {
    // The callee goes on after its caller gave up; a span below a dropped one.
    let spans = remote((100_000, 150_000), (110_000, 190_000));
    for reading in [Reading::PLAIN, Reading::real()] {
        assert_eq!(interval(&spans, reading, "server"), (Role::Sync, 110_000, 150_000));
        assert_eq!(of_endpoint(&spans, reading, "server"), (segments(&[("work", 110, 190)]), 80));
    }
    let mut dropped = remote((100_000, 150_000), (600_000, 610_000));
    dropped.iter_mut().for_each(|span| span.kind = Unspecified);
    assert_eq!(role(&dropped, Reading::PLAIN, "work"), Role::Dropped);
    assert_eq!(of_endpoint(&dropped, Reading::PLAIN, "server"), (segments(&[("work", 600, 610)]), 10));
    assert_eq!(of_endpoint(&dropped, Reading::PLAIN, "work").1, 10);
}

#[test]
fn no_clock_above_an_asynchronous_span_moves_it() {
    let mut spans = remote((100_000, 150_000), (160_000, 190_000));
    // The server is 40 ms late, and so are the clocks of all below it.
    spans[3] = of("b", Internal, span(4, 3, "work", 165_000, 180_000));
    spans.push(of("b", Consumer, span(5, 3, "message", 170_000, 175_000)));
    spans.push(of("b", Internal, span(6, 5, "below", 171_000, 174_000)));
    let reading = only(ReadingRule::Clocks).with(ReadingRule::Consumers, true);
    assert_eq!(interval(&spans, reading, "work"), (Role::Sync, 125_000, 140_000));
    assert_eq!(interval(&spans, reading, "message"), (Role::Async, 170_000, 175_000));
    assert_eq!(interval(&spans, reading, "below"), (Role::Sync, 171_000, 174_000));
}

#[test]
fn every_orphan_root_of_a_trace_without_its_root_is_a_request() {
    let spans = [
        span(2, 1, "first", 0, 100),
        span(3, 1, "second", 10, 40),
        span(4, 3, "below", 15, 20),
        span(5, 9, "third", 300, 1300),
    ];
    let requests = |spans: &[Span], reading, roots| {
        let set = set_of(spans);
        let (mut tree, mut requests) = (Tree::default(), Vec::new());
        tree.load_for(&set, 0, PathSettings { reading, ..PathSettings::default() }, roots);
        tree.requests(&set, &mut requests);
        let coverage = Coverage::of(&set, &tree, &requests);
        let name = |i: &u32| set.endpoint_name(set.endpoint(tree.row(*i))).1.to_owned();
        (requests.iter().map(name).collect::<Vec<_>>(), coverage)
    };
    let rule = only(ReadingRule::Roots);
    let (names, coverage) = requests(&spans, rule, RequestRoots::All);
    // The longest stands for the trace and comes first.
    assert_eq!(names, ["third", "first", "second"]);
    assert_eq!(
        (coverage.traces, coverage.incomplete, coverage.span_us, coverage.unattached_us),
        (1, 3, 1135, 0)
    );
    let (names, coverage) = requests(&spans, rule, RequestRoots::Complete);
    assert_eq!((names.len(), coverage.traces, coverage.left_out), (0, 0, 3));
    let (names, coverage) = requests(&spans, Reading::PLAIN, RequestRoots::All);
    assert_eq!((names, coverage.unattached_us), (vec!["third".to_owned()], 135));
    // With its root, what hangs below missing spans is unattached, and comes last.
    let mut rooted = spans.to_vec();
    rooted.push(span(7, 0, "root", 50, 60));
    let (names, coverage) = requests(&rooted, rule, RequestRoots::All);
    assert_eq!(
        (names, coverage.unattached_us, coverage.unattached_spans),
        (vec!["root".to_owned()], 1135, 4)
    );
}

#[test]
fn requests_without_a_recorded_caller_count_unless_enough_traces_have_their_root() {
    // Of 100 traces so many have their root.
    let pool = |rooted: u128| {
        let spans = (1..=100).flat_map(|trace| {
            let parent = if trace <= rooted { 0 } else { 9 };
            [
                Span { trace, ..span(1, parent, "a", 1000, 2000) },
                Span { trace, ..span(2, parent, "b", 3000, 4000) },
            ]
        });
        let spans: Vec<Span> = spans.collect();
        // In two workers.
        NativePool::of(vec![set_of(&spans[..90]), set_of(&spans[90..])]).unwrap()
    };
    let facts = |rooted, selection: Selection| pool(rooted).run(queries::Range { selection }).unwrap().facts;
    let counts = |rooted, selection| {
        let facts = facts(rooted, selection);
        (facts.requests, facts.coverage.traces, facts.coverage.incomplete, facts.coverage.left_out)
    };
    // Of the rooted ones both roots are requests: the second starts after the first.
    assert_eq!(counts(0, Selection::default()), (200, 100, 200, 0));
    assert_eq!(counts(4, Selection::default()), (200, 100, 192, 0));
    assert_eq!(counts(5, Selection::default()), (10, 5, 0, 190));
    assert_eq!(counts(5, Selection { incomplete: true, ..Selection::default() }), (200, 100, 190, 0));
    let plain = Selection { reading: Reading::PLAIN, ..Selection::default() };
    assert_eq!(counts(5, plain), (100, 100, 0, 0));
    // Chosen by their endpoint they always count.
    let root = RootEndpoint::Endpoint(Endpoint::new("b", "b"));
    assert_eq!(counts(5, Selection { root, ..Selection::default() }), (100, 100, 0, 0));
    let overview = |rooted| {
        let report = pool(rooted).run(queries::Overview::default()).unwrap();
        let parts = report.request_types.iter().map(|row| (row.kind.part.clone(), row.requests));
        (parts.collect::<Vec<_>>(), report.outside.coverage.left_out)
    };
    let incomplete = ("(caller not recorded)".to_owned(), 100);
    assert_eq!(overview(0), (vec![incomplete.clone(), incomplete], 0));
    assert_eq!(overview(5), (vec![(String::new(), 5), (String::new(), 5)], 190));
}

#[test]
fn roots_that_stand_for_themselves_are_requests() {
    let roots = |reading| {
        let spans = [
            span(1, 0, "first", 0, 100),
            // Within the first and short; within it and half as long; after it; within the one before.
            span(2, 0, "short", 10, 59),
            span(3, 0, "long", 20, 70),
            span(4, 0, "later", 100, 110),
            span(5, 0, "inside", 105, 107),
            // Its parent is missing.
            span(6, 99, "orphan", 200, 300),
        ];
        let set = set_of(&spans);
        let tree = tree(&set, reading);
        let mut requests = Vec::new();
        tree.requests(&set, &mut requests);
        let name = |i: &u32| set.endpoint_name(set.endpoint(tree.row(*i))).1.to_owned();
        requests.iter().map(name).collect::<Vec<_>>()
    };
    assert_eq!(roots(only(ReadingRule::Roots)), ["first", "long", "later"]);
    assert_eq!(roots(Reading::PLAIN), ["first"]);
}

/// Returns what the requests of a set wait for: by service, microseconds on the path and whether that is certain.
fn waiting(set: TraceSet, reading: Reading) -> BTreeMap<String, (u128, bool)> {
    let mut pool = NativePool::of(vec![set]).unwrap();
    let selection = Selection { reading, ..Selection::default() };
    let report = pool.run(queries::CriticalPath { selection: selection.clone() }).unwrap();
    let mut sums: BTreeMap<String, (u128, bool)> = BTreeMap::new();
    for wait in report.nodes.iter().flat_map(|node| &node.waiting) {
        let sum = sums.entry(wait.callee.clone()).or_insert((0, true));
        *sum = (sum.0 + wait.us, sum.1 && wait.is_certain);
    }
    // The table of endpoints says the same.
    let rows = pool.run(queries::Endpoints { selection }).unwrap().rows;
    let of_rows: u128 = rows.iter().flat_map(|row| &row.waiting).map(|wait| wait.us).sum();
    assert_eq!(of_rows, sums.values().map(|sum| sum.0).sum::<u128>());
    sums
}

#[test]
fn what_a_call_takes_outside_its_callee_is_waiting() {
    // The gateway's call over [10, 90] ms, its callee over [30, 85].
    let call = |children: &[Span]| {
        let mut spans = vec![
            of("gateway", Server, span(1, 0, "parent", 0, 100_000)),
            of("gateway", Client, span(2, 1, "C", 10_000, 90_000)),
            of("service", Server, span(3, 2, "S", 30_000, 85_000)),
        ];
        spans.extend(children.iter().cloned());
        spans
    };
    let of_service = |us, is_certain| BTreeMap::from([("service".to_owned(), (us, is_certain))]);
    assert_eq!(waiting(set_of(&call(&[])), only(ReadingRule::Waiting)), of_service(25_000, true));
    assert_eq!(waiting(set_of(&call(&[])), Reading::PLAIN), BTreeMap::new());
    // The call's own work is no waiting: opening a connection over [12, 20].
    let connect = of("gateway", Internal, span(4, 2, "connect", 12_000, 20_000));
    assert_eq!(waiting(set_of(&call(&[connect])), only(ReadingRule::Waiting)), of_service(17_000, true));
    // Without kinds it may be work of the caller too.
    let mut kindless = call(&[]);
    kindless.iter_mut().for_each(|span| span.kind = Unspecified);
    assert_eq!(waiting(set_of(&kindless), only(ReadingRule::Waiting)), of_service(25_000, false));
    // Nobody serves it: it is work that happens to be of another service.
    let mut unserved = call(&[]);
    unserved[2].kind = Internal;
    assert_eq!(waiting(set_of(&unserved), only(ReadingRule::Waiting)), BTreeMap::new());
    // A callee that nobody waits for.
    let mut forgotten = call(&[]);
    forgotten[2].follows_from = true;
    assert_eq!(waiting(set_of(&forgotten), only(ReadingRule::Waiting)), BTreeMap::new());
}
