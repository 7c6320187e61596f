//! Messages whose times in the queue are known.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::QueuesReport;
use crate::findings::{Finding, FindingFacts, FindingKind};
use crate::queries::{Findings, JoinedTraces, LinkedTraces, MissingTraces, Overview, Queues, Trace};
use crate::requests::{PercentileRange, RootEndpoint, Selection};
use crate::test_spans::{Span, example, pool, pool_of, span};
use crate::verdict::Headline;
use pathlight_trace::{Endpoint, PathSettings, Reading, SpanKind};

fn of(spans: &[Span], workers: usize, selection: &Selection) -> QueuesReport {
    pool(spans, workers).run(Queues { selection: selection.clone() }).unwrap()
}

/// Returns the report, which is the same for other orders and numbers of workers.
fn report(spans: &[Span], selection: &Selection) -> QueuesReport {
    let report = of(spans, 1, selection);
    let turned: Vec<Span> = spans.iter().rev().cloned().collect();
    assert_eq!(of(&turned, 1, selection), report);
    for workers in [2, 3] {
        assert_eq!(of(spans, workers, selection), report, "{workers} workers");
        assert_eq!(of(&turned, workers, selection), report, "{workers} workers");
    }
    report
}

/// Returns each edge: names, messages, sum, and mean and greatest fan-in.
fn edges(report: &QueuesReport) -> Vec<(String, u64, u128, f64, u32)> {
    let of = |edge: &super::QueueEdge| {
        let names = format!("{}->{} {}", edge.sender.operation, edge.receiver.operation, edge.destination);
        (names.trim_end().to_owned(), edge.messages, edge.sum_us, edge.fan_in, edge.most_fan_in)
    };
    report.edges.iter().map(of).collect()
}

#[test]
fn a_message_waits_from_the_end_of_its_sender() {
    let found = report(&example(), &Selection::default());
    assert_eq!(edges(&found), [("S->C".to_owned(), 1, 50, 1.0, 1)]);
    let edge = &found.edges[0];
    assert_eq!((edge.wait_us.p50, edge.wait_us.p95, edge.wait_us.max, edge.early), (50.0, 50.0, 50, 0));
    let longest = &edge.longest;
    assert_eq!(longest.wait_us, 50);
    assert_eq!(longest.sender_trace_id, longest.receiver_trace_id);
    assert!(longest.sender_span_id.ends_with('2') && longest.receiver_span_id.ends_with('3'));
    // What the message does is a request of its own, which sends nothing.
    let root = RootEndpoint::Endpoint(Endpoint::new("C", "C"));
    assert_eq!(report(&example(), &Selection { root, ..Selection::default() }).edges, []);
    // Read plainly the consumer is waited for.
    let plain = Selection { reading: Reading::PLAIN, ..Selection::default() };
    assert_eq!(report(&example(), &plain).edges, []);
}

#[test]
fn of_a_sender_that_goes_on_the_start_counts() {
    let mut spans = example();
    // The sender lasts until its message is handled; another one is received before it is sent.
    spans[1].times_us = (90, 300);
    spans[0].times_us = (0, 300);
    spans.extend([
        span(1, 5, 1, SpanKind::Internal, (200, 210), "late S"),
        span(1, 6, 5, SpanKind::Consumer, (195, 900), "C"),
    ]);
    let found = report(&spans, &Selection::default());
    assert_eq!(edges(&found), [("S->C".to_owned(), 1, 60, 1.0, 1), ("late S->C".to_owned(), 1, 0, 1.0, 1)]);
    assert_eq!((found.edges[0].early, found.edges[1].early), (0, 1));
}

/// Returns traces of which `n` publish, at 10 us one after the other for 5 us, into a batch that is received at 100 us, and
/// a single message to the same consumer.
fn batch(n: u128) -> Vec<Span> {
    let publish = |trace: u128| {
        let start_us = 10 * (trace as u64 - 1);
        span(trace, 7, 0, SpanKind::Producer, (start_us, start_us + 5), "publish").to("orders")
    };
    let mut spans: Vec<Span> = (1..=n + 1).map(publish).collect();
    let links: Vec<(u128, u64)> = (1..=n).map(|trace| (trace, 7)).collect();
    let receive = |trace, times_us| span(trace, 1, 0, SpanKind::Consumer, times_us, "batch");
    spans.push(receive(10_000, (100, 500)).linked(&links));
    spans.push(receive(10_001, (2000, 2500)).linked(&[(n + 1, 7), (n + 1, 999), (4_000_000, 7)]));
    spans
}

#[test]
fn a_batch_belongs_to_all_its_senders() {
    let spans = batch(4);
    let found = report(&spans, &Selection::default());
    // 95, 85, 75, 65 of the batch; 2000 - 45 of the other, which has three links of which two lead nowhere.
    let receivers = 1.0 + 1.0 / 3.0;
    assert_eq!(edges(&found), [("publish->batch orders".to_owned(), 5, 2275, 5.0 / receivers, 4)]);
    let edge = &found.edges[0];
    assert_eq!((edge.wait_us.p50, edge.wait_us.max), (85.0, 1955));
    assert_eq!(edge.longest.sender_trace_id, format!("{:0>32}", 5));
    assert_eq!(edge.longest.receiver_trace_id, format!("{:0>32x}", 10_001));
    assert_eq!(found.lost_senders, 2);
    assert_eq!((found.facts.requests, found.messages()), (7, 5));
    // The slowest of all requests are those that receive.
    let range = PercentileRange::open(70_000, 100_000);
    let slow = Selection { range, over_all: true, ..Selection::default() };
    assert_eq!(report(&spans, &slow).edges, []);
}

#[test]
fn traces_that_are_too_many_to_be_moved_count_as_well() {
    let spans = batch(1200);
    for workers in [1, 2, 3] {
        let mut pool = pool(&spans, workers);
        let found = pool.run(Queues { selection: Selection::default() }).unwrap();
        assert_eq!((found.messages(), found.edges[0].most_fan_in, found.lost_senders), (1201, 1200, 2));
        let links = pool.run(Overview::default()).unwrap().links;
        assert_eq!((links.resolved, links.unresolved), (1201, 2), "{workers} workers");
    }
}

#[test]
fn who_has_a_parent_and_links_has_messages_of_both() {
    let mut spans = example();
    spans.push(span(2, 9, 0, SpanKind::Producer, (20, 30), "other"));
    spans[2].links = vec![(2, 9), (1, 2)];
    let found = report(&spans, &Selection::default());
    assert_eq!(edges(&found), [("other->C".to_owned(), 1, 120, 1.0, 1), ("S->C".to_owned(), 1, 50, 1.0, 1)]);
    // A producer above it has sent one of the messages.
    spans[1].kind = SpanKind::Producer;
    let found = report(&spans, &Selection::default());
    assert_eq!(edges(&found), [("other->C".to_owned(), 1, 120, 2.0, 2), ("S->C".to_owned(), 1, 50, 2.0, 2)]);
}

/// Returns the traces on one axis with a trace, which are the same for other orders and numbers of workers.
fn joined(spans: &[Span], trace: u128) -> Option<JoinedTraces> {
    let of = Trace {
        trace_id: format!("{trace:032x}"),
        root_span_id: None,
        settings: PathSettings::default(),
        group: 0,
        has_pressures: false,
    };
    let run = |spans: &[Span], workers| pool(spans, workers).run(LinkedTraces { of: of.clone() }).unwrap();
    let found = run(spans, 1);
    let turned: Vec<Span> = spans.iter().rev().cloned().collect();
    for workers in [1, 2, 3] {
        assert_eq!(run(&turned, workers), found, "{workers} workers");
        assert_eq!(run(spans, workers), found, "{workers} workers");
    }
    found
}

/// Returns the numbers of the traces in their order, and their messages as (sender, receiver, wait) by the names of spans.
fn said(joined: &JoinedTraces) -> (Vec<u128>, Vec<(String, String, u64)>) {
    let ids = joined.traces.iter().map(|trace| u128::from_str_radix(&trace.trace_id, 16).unwrap());
    let report = &joined.trace;
    let name = |span: u32| report.endpoints[report.endpoint[span as usize] as usize].operation.clone();
    let messages = joined.messages.iter().map(|of| (name(of.sender), name(of.receiver), of.wait_us));
    (ids.collect(), messages.collect())
}

/// Trace 1 sends to C of trace 2, which trace 5 sends to as well; below C, D sends to E of trace 3, which also links to
/// trace 9 that is not there.
fn journey() -> Vec<Span> {
    use SpanKind::{Consumer, Producer, Server};
    vec![
        span(1, 1, 0, Server, (0, 100), "A"),
        span(1, 2, 1, Producer, (90, 100), "S"),
        span(2, 3, 0, Consumer, (150, 400), "C").linked(&[(1, 2), (5, 7)]),
        span(2, 4, 3, Producer, (200, 210), "D"),
        span(3, 5, 0, Consumer, (300, 350), "E").linked(&[(2, 4), (9, 99)]),
        span(5, 7, 0, Producer, (20, 30), "T"),
        span(6, 8, 0, Consumer, (500, 600), "of no message"),
    ]
}

#[test]
fn linked_traces_are_followed_from_what_was_sent_and_to_what_sent_it() {
    let message = |from: &str, to: &str, us| (from.to_owned(), to.to_owned(), us);
    let found = joined(&journey(), 1).unwrap();
    let (traces, messages) = said(&found);
    assert_eq!(traces, [1, 2, 3], "the other sender of the batch did nothing for trace 1");
    assert_eq!(messages, [message("S", "C", 50), message("D", "E", 90)]);
    assert_eq!((found.left_out, found.not_loaded), (0, 0));
    // On one axis, each below its own root.
    assert_eq!((found.trace.start_us, found.trace.end_us), (1_000_000, 400));
    assert_eq!(found.trace.span_start_us, [0, 90, 150, 200, 300]);
    assert_eq!(found.trace.parent, [u32::MAX, 0, u32::MAX, 2, u32::MAX]);
    assert_eq!(
        (found.place_of(3), found.index_of(&found.traces[2].trace_id, 0)),
        (Some((&*found.traces[1].trace_id, 1)), Some(4))
    );
    // The path is that of the request alone.
    let path: u64 =
        found.trace.segment_end_us.iter().sum::<u64>() - found.trace.segment_start_us.iter().sum::<u64>();
    assert_eq!((path, found.trace.request_root), (100, 0));
    let found = joined(&journey(), 3).unwrap();
    let (traces, messages) = said(&found);
    assert_eq!(traces, [1, 5, 2, 3]);
    assert_eq!(messages, [message("S", "C", 50), message("T", "C", 120), message("D", "E", 90)]);
    assert_eq!((found.left_out, found.not_loaded), (0, 1));
    assert_eq!((found.trace.request_root, found.trace.segment_span.clone()), (5, vec![5]));
    assert_eq!(said(&joined(&journey(), 6).unwrap()).0, [6]);
    assert_eq!(joined(&journey(), 77), None);
}

#[test]
fn at_most_a_hundred_traces_stand_on_one_axis() {
    let mut spans = vec![span(1, 1, 0, SpanKind::Producer, (0, 10), "send")];
    for number in 0..150u64 {
        let (trace, at) = (u128::from(1000 + number), 20 + number);
        spans.push(span(trace, 2, 0, SpanKind::Consumer, (at, at + 5), "handle").linked(&[(1, 1)]));
    }
    let found = joined(&spans, 1).unwrap();
    assert_eq!((found.traces.len(), found.left_out, found.messages.len()), (100, 51, 99));
    // A trace of more spans than there is room for is left out as a whole.
    let mut spans = journey();
    spans.extend((0..100_000).map(|id| span(3, 1_000 + id, 5, SpanKind::Internal, (301, 302), "work")));
    let of = Trace {
        trace_id: format!("{:032x}", 1),
        root_span_id: None,
        settings: PathSettings::default(),
        group: 0,
        has_pressures: false,
    };
    let found = pool(&spans, 1).run(LinkedTraces { of }).unwrap().unwrap();
    assert_eq!((said(&found).0, found.left_out), (vec![1, 2], 1));
}

#[test]
fn traces_that_are_linked_to_and_not_loaded_are_named() {
    for workers in [1, 2, 3] {
        let report = pool(&journey(), workers).run(MissingTraces { group: 0 }).unwrap();
        assert_eq!((report.traces, report.trace_ids), (1, vec![format!("{:032x}", 9)]), "{workers} workers");
    }
    let whole: Vec<Span> = journey().into_iter().filter(|span| span.trace != 3).collect();
    assert_eq!(pool(&whole, 2).run(MissingTraces { group: 0 }).unwrap().traces, 0);
}

/// Returns 40 requests of 30 ms that send a message each, which waits so many milliseconds and up to 10 % less or more.
fn waiting(wait_ms: u64) -> Vec<Span> {
    use SpanKind::{Consumer, Producer, Server};
    let request = |number: u64| {
        let (trace, at_us) = (u128::from(number + 1), 1_000_000 * number);
        let received_us = at_us + 10_000 + wait_ms * (900 + 5 * (number % 40));
        let id = 10 * (number + 1);
        [
            span(trace, id, 0, Server, (at_us, at_us + 30_000 + 10 * (number % 7)), "shop"),
            span(trace, id + 1, id, Producer, (at_us + 5_000, at_us + 10_000), "send"),
            span(trace, id + 2, id + 1, Consumer, (received_us, received_us + 2_000), "handle").to("orders"),
        ]
    };
    (0..40).flat_map(request).collect()
}

#[test]
fn messages_that_wait_longer_than_before_lead_where_no_service_is_slower() {
    let selection = |group| Selection { group, ..Selection::default() };
    let found = |a: &[Span], b: &[Span], workers| {
        let query = Findings { selection: selection(1), baseline: Some(selection(0)) };
        pool_of(&[a, b], workers).run(query).unwrap()
    };
    let (before, after) = (waiting(40), waiting(1800));
    let report = found(&before, &after, 1);
    assert_eq!(found(&before, &after, 3), report);
    let first = &report.findings[0];
    let FindingFacts::Changed(change) = &first.facts else { panic!("{first:?}") };
    let Headline::Queue(queue) = change.headline() else { panic!("{:?}", change.headline()) };
    assert_eq!((queue.destination.as_str(), queue.messages, queue.requests), ("orders", [40, 40], 40));
    let means_ms = queue.mean_us.map(|us| (us / 1000.0).round());
    assert_eq!(means_ms, [40.0, 1796.0], "the messages of the card are those of the verdict");
    assert_eq!(first.stake_us, queue.excess.excess_us);
    assert!((queue.excess.excess_us - (queue.mean_us[1] - queue.mean_us[0])).abs() < 1.0);
    assert!(report.findings.iter().all(|finding| finding.kind() != FindingKind::Queue), "it is said once");
    // A set against itself, and the other way round: nothing got slower.
    for (a, b) in [(&before, &before), (&after, &before)] {
        let report = found(a, b, 1);
        let FindingFacts::Changed(change) = &report.findings[0].facts else { panic!() };
        assert_eq!(change.sure_queues().count(), 0);
        assert!(!matches!(change.headline(), Headline::Queue(_)));
    }
}

#[test]
fn messages_of_one_set_are_a_finding_where_they_wait_longer_than_answers_take() {
    let kinds = |spans: &[Span]| {
        let query = Findings { selection: Selection::default(), baseline: None };
        let report = pool(spans, 2).run(query).unwrap();
        let is_queue = |finding: &&Finding| finding.kind() == FindingKind::Queue;
        report.findings.iter().filter(is_queue).map(|finding| finding.stake_us.round()).collect::<Vec<f64>>()
    };
    assert_eq!(kinds(&waiting(20)), [] as [f64; 0], "20 ms beside answers of 30 ms");
    assert_eq!(kinds(&waiting(40)), [39_900.0]);
}
