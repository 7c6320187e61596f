//! Paths until everything is done, worked out by hand.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::queries::{CriticalPath, PerRequest};
use crate::requests::{RootEndpoint, Selection, Until};
use crate::test_spans::{Span, example, pool, span};
use pathlight_trace::{Endpoint, PathSettings, Reading, Role, SpanKind, TraceSet, Tree};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn done() -> Selection {
    Selection { until: Until::Done, ..Selection::default() }
}

fn of(name: &str) -> RootEndpoint {
    RootEndpoint::Endpoint(Endpoint::new(name, name))
}

/// Returns by request, in the order of ids, the segments as (name, microseconds), whatever the number of workers and the
/// order of spans.
fn paths(spans: &[Span], selection: &Selection) -> Vec<Vec<(String, u64)>> {
    let turned: Vec<Span> = spans.iter().rev().cloned().collect();
    let report = pool(spans, 1).run(PerRequest { selection: selection.clone() }).unwrap();
    let whole = pool(spans, 1).run(CriticalPath { selection: selection.clone() }).unwrap();
    for workers in 1..4 {
        for spans in [spans, turned.as_slice()] {
            let mut pool = pool(spans, workers);
            assert_eq!(pool.run(PerRequest { selection: selection.clone() }).unwrap(), report, "{workers}");
            assert_eq!(pool.run(CriticalPath { selection: selection.clone() }).unwrap(), whole, "{workers}");
        }
    }
    let name = |trace: &str, id: &str| {
        let is_it =
            |span: &&Span| format!("{:032x}", span.trace) == trace && format!("{:016x}", span.id) == id;
        spans.iter().find(is_it).unwrap().name.to_owned()
    };
    let of_request = |request: &crate::flame::RequestPath| {
        let mut at = request.segments.first().map_or(0, |first| first.start_us);
        let said = request.segments.iter().map(|segment| {
            assert_eq!(std::mem::replace(&mut at, segment.end_us), segment.start_us);
            let name = match &segment.queue {
                Some(queue) => format!("{}: {}", queue.service, queue.operation),
                None => name(segment.trace_id.as_ref().unwrap_or(&request.trace_id), &segment.span_id),
            };
            (name, segment.end_us - segment.start_us)
        });
        let said: Vec<(String, u64)> = said.collect();
        assert_eq!(said.iter().map(|segment| segment.1).sum::<u64>(), request.latency_us);
        let own: u64 = request.nodes.iter().map(|node| node.exclusive_us).sum();
        assert_eq!(own, request.latency_us);
        said
    };
    assert_eq!(
        whole.nodes.iter().map(|node| node.exclusive_us.sum).sum::<u128>(),
        whole.facts.latency_sum_us
    );
    report.requests.iter().map(of_request).collect()
}

fn said(path: &[(&str, u64)]) -> Vec<(String, u64)> {
    path.iter().map(|&(name, us)| (name.to_owned(), us)).collect()
}

#[test]
fn the_path_goes_back_from_what_is_done_last_through_the_queue_to_what_sent_it() {
    let spans = example();
    assert_eq!(paths(&spans, &Selection::default()), [said(&[("A", 90), ("S", 10)])]);
    let queue = "queue: S (S) -> C (C)";
    let expected = [("A", 90), ("S", 10), (queue, 50), ("C", 50), ("D", 190), ("C", 10)];
    assert_eq!(paths(&spans, &done()), [said(&expected)]);
    let consumer = Selection { root: of("C"), ..done() };
    assert_eq!(paths(&spans, &consumer), [said(&[("C", 50), ("D", 190), ("C", 10)])]);
    // Read plainly it is waited for, and left out since it is outside.
    let plain = Selection { reading: Reading::PLAIN, ..done() };
    assert_eq!(paths(&spans, &plain), [said(&[("A", 90), ("S", 10)])]);
}

#[test]
fn a_sender_that_goes_on_is_left_when_its_message_is_received() {
    let mut spans = example();
    spans[0].times_us = (0, 300);
    spans[1].times_us = (90, 300);
    spans.push(span(1, 5, 2, SpanKind::Client, (100, 140), "E"));
    spans.push(span(1, 6, 2, SpanKind::Client, (145, 290), "F"));
    let expected = [("A", 90), ("S", 10), ("E", 40), ("S", 10), ("C", 50), ("D", 190), ("C", 10)];
    assert_eq!(paths(&spans, &done()), [said(&expected)]);
}

#[test]
fn what_came_before_the_sender_is_on_the_path_and_what_came_after_is_not() {
    let mut spans = example();
    spans.push(span(1, 5, 1, SpanKind::Client, (10, 80), "before"));
    spans.push(span(1, 6, 1, SpanKind::Client, (40, 95), "beside"));
    let queue = "queue: S (S) -> C (C)";
    let expected =
        [("A", 10), ("before", 70), ("A", 10), ("S", 10), (queue, 50), ("C", 50), ("D", 190), ("C", 10)];
    assert_eq!(paths(&spans, &done()), [said(&expected)]);
}

#[test]
fn links_are_followed_into_other_traces_and_beyond() {
    let mut spans = example();
    // D sends to another trace, which sends to a third one.
    spans.push(span(2, 1, 0, SpanKind::Consumer, (500, 600), "E").linked(&[(1, 4)]));
    spans.push(span(2, 2, 1, SpanKind::Producer, (550, 560), "F"));
    spans.push(span(3, 1, 0, SpanKind::Consumer, (700, 710), "G").linked(&[(2, 2)]));
    let expected = [
        ("A", 90),
        ("S", 10),
        ("queue: S (S) -> C (C)", 50),
        ("C", 50),
        ("D", 190),
        ("queue: D (D) -> E (E)", 110),
        ("E", 50),
        ("F", 10),
        ("queue: F (F) -> G (G)", 140),
        ("G", 10),
    ];
    let found = paths(&spans, &done());
    assert_eq!(found[0], said(&expected));
    assert_eq!(found[1], said(&[("E", 50), ("F", 10), ("queue: F (F) -> G (G)", 140), ("G", 10)]));
    assert_eq!(found[2], said(&[("G", 10)]));
}

#[test]
fn a_batch_counts_for_each_of_its_senders_and_nothing_beyond_it_does() {
    let mut spans: Vec<Span> = (1..=3)
        .map(|trace| span(trace, 7, 0, SpanKind::Producer, (10 * trace as u64, 10 * trace as u64 + 5), "P"))
        .collect();
    spans.push(span(9, 1, 0, SpanKind::Consumer, (100, 200), "B").linked(&[(1, 7), (2, 7), (3, 7)]));
    spans.push(span(9, 2, 1, SpanKind::Producer, (150, 155), "Q"));
    spans.push(span(9, 3, 2, SpanKind::Consumer, (300, 310), "C"));
    let found = paths(&spans, &done());
    let queue = "queue: P (P) -> B (B)";
    for (found, wait) in found.iter().zip([85, 75, 65]) {
        assert_eq!(*found, said(&[("P", 5), (queue, wait), ("B", 50), ("Q", 5), ("B", 45)]));
    }
    // As a request of its own it goes on.
    assert_eq!(found[3], said(&[("B", 50), ("Q", 5), ("queue: Q (Q) -> C (C)", 145), ("C", 10)]));
}

#[test]
fn rings_of_messages_end_and_what_was_received_before_it_was_sent_waits_for_nothing() {
    let mut spans = vec![
        span(1, 1, 0, SpanKind::Consumer, (0, 100), "A").linked(&[(2, 1)]),
        span(2, 1, 0, SpanKind::Consumer, (50, 400), "B").linked(&[(1, 1)]),
    ];
    let found = paths(&spans, &done());
    assert_eq!(found, [said(&[("A", 50), ("B", 350)]), said(&[("B", 350)])]);
    // Its receiver began before the request did.
    spans[1].times_us = (0, 400);
    spans[0].times_us = (20, 100);
    assert_eq!(paths(&spans, &done())[0], said(&[("B", 380)]));
}

#[test]
fn at_most_a_hundred_traces_are_followed_and_a_cut_is_counted() {
    let chain = |n: u128| -> Vec<Span> {
        let of = |trace: u128| {
            let start_us = 10 * trace as u64;
            let links = if trace > 1 { vec![(trace - 1, 1)] } else { Vec::new() };
            Span { links, ..span(trace, 1, 0, SpanKind::Consumer, (start_us, start_us + 4), "C") }
        };
        (1..=n).map(of).collect()
    };
    for (n, latency, cut) in [(100, 994, 0), (101, 994, 1), (150, 994, 50), (1001, 4, 1001)] {
        for workers in [1, 3] {
            let report = pool(&chain(n), workers).run(PerRequest { selection: done() }).unwrap();
            assert_eq!(report.requests[0].latency_us, latency, "{n} in {workers}");
            assert_eq!(report.facts.cut, cut, "{n} in {workers}");
        }
    }
}

#[test]
fn of_too_many_spans_those_that_begin_first_are_followed() {
    let mut spans = vec![span(1, 1, 0, SpanKind::Server, (0, 100), "A")];
    // Messages of 51 spans each: 19 of them are 969 spans.
    for message in 1..=30 {
        let (id, start_us) = (message * 100, 1000 * message);
        spans.push(span(1, id, 1, SpanKind::Consumer, (start_us, start_us + 500), "C"));
        for child in 1..=50 {
            spans.push(span(1, id + child, id, SpanKind::Internal, (start_us + child, start_us + 500), "D"));
        }
    }
    let turned: Vec<Span> = spans.iter().rev().cloned().collect();
    for spans in [spans, turned] {
        let report = pool(&spans, 1).run(PerRequest { selection: done() }).unwrap();
        assert_eq!((report.requests[0].latency_us, report.facts.cut), (19_500, 1));
    }
}

#[test]
fn a_set_without_messages_is_the_same_until_its_answer_and_until_done() {
    let spans = &example()[..2];
    assert_eq!(paths(spans, &done()), paths(spans, &Selection::default()));
}

const KINDS: [SpanKind; 6] = [
    SpanKind::Unspecified,
    SpanKind::Client,
    SpanKind::Server,
    SpanKind::Producer,
    SpanKind::Consumer,
    SpanKind::Internal,
];

prop_compose! {
    /// Makes up to 24 spans of three traces, of which some are asynchronous and some have links.
    fn any_spans()(
        raw in prop::collection::vec(
            (1u128..4, any::<u64>(), 0usize..8, 0u64..60, 0u64..40, prop::collection::vec((1u128..4, 1u64..25), 0..3)),
            1..24,
        )
    ) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        for ((trace, chance, kind, start, duration, links), id) in raw.into_iter().zip(1..) {
            let above: Vec<&Span> = spans.iter().filter(|span| span.trace == trace).collect();
            let parent = above.get(chance as usize % (above.len() + 1)).copied();
            // Most begin within their parent.
            let (from, kind) = (parent.map_or(0, |parent| parent.times_us.0), KINDS.get(kind).copied());
            let start_us = from + start * 50;
            let times_us = (start_us, start_us + duration * 70);
            let name = ["a", "b", "c", "d"][chance as usize / 64 % 4];
            let links = if chance % 3 == 0 { links } else { Vec::new() };
            let parent = parent.map_or(0, |parent| parent.id);
            let kind = kind.unwrap_or(SpanKind::Consumer);
            spans.push(Span { links, ..span(trace, id, parent, kind, times_us, name) });
        }
        spans
    }
}

/// Returns by request, as (trace id, root span id), how long everything takes that it leads to, found by trying all: from
/// span to span, while there are new ones.
fn latencies(set: &TraceSet) -> BTreeMap<(String, String), u64> {
    let mut trees: Vec<Tree> = Vec::new();
    for trace in 0..set.traces().len() as u32 {
        trees.push(Tree::default());
        trees[trace as usize].load(set, trace, PathSettings::default());
    }
    let tree_of =
        |row: u32| trees.iter().find(|tree| row >= tree.first && row < tree.first + tree.len() as u32);
    let role = |row: u32| tree_of(row).map(|tree| tree.role[(row - tree.first) as usize]).unwrap();
    let is_top = |row: u32| matches!(role(row), Role::Async | Role::Root);
    let top_of = |row: u32| {
        let mut top = row;
        while !is_top(top) {
            top = set.parent(top);
        }
        top
    };
    let links: Vec<(u32, u32)> = set
        .links()
        .filter(|link| set.kind(link.from) == SpanKind::Consumer)
        .filter_map(|link| {
            let trace = set.traces()[set.find_trace(link.trace)? as usize];
            let sender = trace.rows().find(|&row| set.span_id(row) == link.span)?;
            Some((sender, link.from))
        })
        .collect();
    let fan_in = |row: u32| {
        let parent = set.parent(row);
        let is_sent = parent != pathlight_trace::NO_ROW && set.kind(parent) == SpanKind::Producer;
        set.links().filter(|link| link.from == row).count() + usize::from(is_sent)
    };
    let mut out = BTreeMap::new();
    for (number, tree) in trees.iter().enumerate() {
        let mut requests = Vec::new();
        tree.requests(set, &mut requests);
        for root in requests.into_iter().map(|root| tree.row(root)) {
            let mut tops = vec![root];
            let mut next = 0;
            while let Some(&top) = tops.get(next) {
                next += 1;
                if top != root && fan_in(top) > 1 {
                    continue;
                }
                let below = (0..set.spans() as u32)
                    .filter(|&row| row != top && role(row) == Role::Async && top_of(set.parent(row)) == top);
                let linked = links.iter().filter(|of| top_of(of.0) == top && is_top(of.1)).map(|of| of.1);
                for found in below.chain(linked) {
                    if !tops.contains(&found) {
                        tops.push(found);
                    }
                }
            }
            let end = |&row: &u32| set.start_us(row) + set.duration_us(row);
            let done_us = tops.iter().map(end).max().unwrap() - set.start_us(root);
            out.insert((set.trace_id_text(number as u32), set.span_id_text(root)), done_us);
        }
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// That segments partition the latency, and that neither order nor workers matter, is asserted by `paths`.
    #[test]
    fn paths_partition_all_until_it_is_done(spans in any_spans(), is_all in any::<bool>()) {
        let selection = if is_all { done() } else { Selection { root: of("b"), ..done() } };
        paths(&spans, &selection);
        if is_all {
            let mut pool = pool(&spans, 1);
            let report = pool.run(PerRequest { selection }).unwrap();
            let found: BTreeMap<_, _> = report.requests.into_iter()
                .map(|request| ((request.trace_id, request.root_span_id), request.latency_us))
                .collect();
            prop_assert_eq!(found, latencies(&pool.sessions()[0].set));
        }
    }
}
