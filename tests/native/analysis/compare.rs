//! Comparing percentile ranges and sets: worked examples, exact sums, real faults.

use crate::common::random::{any_traces, sets_of};
use crate::common::{Span, set_of, span, stage};
use pathlight::base::statistics::{Interval, Random};
use pathlight::engine::compare::{Basis, CompareReport, MeasuredTime, Presence};
use pathlight::engine::ids::NodeId;
use pathlight::engine::queries::Compare;
use pathlight::engine::requests::{PercentileRange, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::trace::TraceSet;
use pathlight::view::address::choices::Choices;
use pathlight::view::compare::{DESCRIPTIVE, DiffSource};
use pathlight::view::json;
use proptest::prelude::*;
use std::rc::Rc;

const BULK: PercentileRange = PercentileRange::open(0, 50_000);
const TAIL: PercentileRange = PercentileRange::open(50_000, 100_000);

fn compare(pool: &mut NativePool, query: Compare) -> CompareReport {
    pool.run(query).unwrap()
}

fn ranges(a: PercentileRange, b: PercentileRange) -> Compare {
    let of = |range| Selection { over_all: true, ..Selection::default().with_range(range) };
    Compare { a: of(a), b: of(b) }
}

fn sets() -> Compare {
    Compare { a: Selection::default(), b: Selection { group: 1, ..Selection::default() } }
}

/// Makes a trace of the story of the paper's Fig. 12: R calls A; slow requests call C as well, which reads D.
fn story(trace: u128, a_us: u64, d_us: u64) -> Vec<Span> {
    let mut at = 1000 + 10;
    let mut spans = vec![span(2, 1, "A", at, at + a_us)];
    at += a_us;
    if d_us > 0 {
        spans.push(span(3, 1, "C", at, at + d_us + 4));
        spans.push(span(4, 3, "D", at + 2, at + 2 + d_us));
        at += d_us + 4;
    }
    spans.push(span(1, 0, "R", 1000, at + 10));
    spans.iter_mut().for_each(|s| s.trace = trace);
    spans
}

fn tail_story() -> Vec<Span> {
    let requests = [(40, 0), (42, 0), (44, 0), (46, 0), (41, 90), (43, 92), (45, 94), (47, 96)];
    requests.iter().enumerate().flat_map(|(i, &(a, d))| story(i as u128 + 1, a, d)).collect()
}

fn frame(report: &CompareReport, name: &str) -> NodeId {
    NodeId(report.nodes.iter().position(|n| report.name(n.endpoint).1 == name).unwrap() as u32)
}

#[test]
fn a_call_that_only_the_tail_makes_is_the_first_change() {
    let mut pool = NativePool::of(vec![set_of(&tail_story())]).unwrap();
    let report = compare(&mut pool, ranges(BULK, TAIL));
    for basis in [Basis::Mean, Basis::Share] {
        let rows = report.ranking(basis, MeasuredTime::Subtree);
        let first = &report.nodes[rows[0].node.index()];
        assert_eq!((report.name(first.endpoint).1, first.presence()), ("C", Presence::New), "{basis:?}");
        assert!(!rows[0].change.is_noise && rows[0].change.interval.is_some());
        // D is part of what C brought; A and R are the only others.
        assert_eq!(rows.len(), 3);
    }
    let own = report.ranking(Basis::Mean, MeasuredTime::Exclusive);
    assert_eq!(report.name(report.nodes[own[0].node.index()].endpoint).1, "D");
    assert_eq!(own.len(), 4);
}

#[test]
fn sums_changes_and_intervals_are_those_worked_out_by_hand() {
    let mut pool = NativePool::of(vec![set_of(&tail_story())]).unwrap();
    let report = compare(&mut pool, ranges(BULK, TAIL));
    assert_eq!((report.a.facts.latency_sum_us, report.b.facts.latency_sum_us), (252, 644));
    let a = &report.nodes[frame(&report, "A").index()];
    assert_eq!((a.a.exclusive.sum(), a.b.exclusive.sum()), (172, 176));
    assert_eq!((a.a.exclusive.n(), a.a.exclusive.spread().variance), (4, 20.0 / 3.0));
    let c = &report.nodes[frame(&report, "C").index()];
    assert_eq!((c.b.exclusive.sum(), c.b.subtree.sum(), c.b.requests), (16, 388, 4));
    // A: 40 42 44 46 and 41 43 45 47. Means 43, 44; both variances 20 / 3; squared error 10 / 3, 6 degrees of freedom.
    let change = report.change(frame(&report, "A"), Basis::Mean, MeasuredTime::Subtree);
    let reach = 2.446912 * (10.0f64 / 3.0).sqrt();
    let interval = change.interval.unwrap();
    assert_eq!((change.a, change.b, change.change), (43.0, 44.0, 1.0));
    assert!((interval.low - (1.0 - reach)).abs() < 1e-5 && (interval.high - (1.0 + reach)).abs() < 1e-5);
    assert!(change.is_noise);
    // As shares: 172 of 252 and 176 of 644.
    let share = report.change(frame(&report, "A"), Basis::Share, MeasuredTime::Subtree);
    assert!((share.a - 172.0 / 252.0).abs() < 1e-12 && (share.b - 176.0 / 644.0).abs() < 1e-12);
    assert!(!share.is_noise);
    // The root's share is all of it on both sides.
    let root = report.change(frame(&report, "R"), Basis::Share, MeasuredTime::Subtree);
    assert!((root.a - 1.0).abs() < 1e-12 && root.change.abs() < 1e-12);
    let example = &report.examples[c.b.example.unwrap() as usize];
    assert_eq!((example.trace_id.as_str(), c.b.example_us), (format!("{:032x}", 8).as_str(), 100));
}

#[test]
fn a_frame_is_tested_among_the_requests_of_its_root_endpoint() {
    // 600 requests of sixty types; two of ten are slow by a call.
    let mut random = Random::new(3, 0, 0);
    let spans = (0..600u64).flat_map(|i| {
        let root = format!("R{}", i % 60);
        let us = 1000 + random.below(100) + i % 60 * 400;
        let slow = if i / 60 >= 8 { 3 * us } else { 0 };
        let mut spans = vec![span(1, 0, &root, 0, us + slow), span(2, 1, "A", 10, 10 + us / 2 + slow)];
        spans.iter_mut().for_each(|s| s.trace = u128::from(i) + 1);
        spans
    });
    let mut pool = NativePool::of(vec![set_of(&spans.collect::<Vec<_>>())]).unwrap();
    let tail = PercentileRange::open(80_000, 100_000);
    let [a, b] = [BULK, tail].map(|range| Selection::default().with_range(range));
    let report = compare(&mut pool, Compare { a, b });
    let reported = |report: &CompareReport| {
        let rows = report.ranking(Basis::Mean, MeasuredTime::Subtree);
        rows.iter().filter(|row| !row.change.is_noise && row.change.change > 0.0).count()
    };
    // Two requests against five of each type, and their call takes several times as long.
    assert!(reported(&report) > 50, "{}", reported(&report));
    // Among all requests, of which one in sixty has it, no frame changes clearly.
    let mut mixed = CompareReport { root_of: Vec::new(), ..report };
    (mixed.a.selection.over_all, mixed.b.selection.over_all) = (true, true);
    assert_eq!(reported(&mixed.judged()), 0);
}

#[test]
fn nothing_is_tested_with_one_request_on_a_side() {
    let mut pool = NativePool::of(vec![set_of(&tail_story())]).unwrap();
    let report = compare(&mut pool, ranges(BULK, PercentileRange::open(90_000, 100_000)));
    assert_eq!(report.b.facts.requests, 1);
    let rows = report.ranking(Basis::Mean, MeasuredTime::Subtree);
    assert!(rows.iter().all(|row| row.change.interval.is_none() && !row.change.is_noise));
    assert_eq!(report.name(report.nodes[rows[0].node.index()].endpoint).1, "C");
}

#[test]
fn of_hundreds_of_frames_that_did_not_change_hardly_any_is_reported() {
    let (mut outside, mut reported, mut frames) = (0, 0, 0);
    for seed in 0..5 {
        let mut random = Random::new(seed, 0, 0);
        let mut spans = Vec::new();
        for trace in 1..=60u128 {
            let mut at = 1000;
            let mut put = |mut one: Span| {
                one.trace = trace;
                spans.push((trace % 2 == 0, one));
            };
            for child in 0..100u8 {
                let until = at + 100 + random.below(100);
                // Letters, as numbers would be taken for values.
                let name: String =
                    [child / 10, child % 10].map(|digit| char::from(b'a' + digit)).iter().collect();
                put(span(u64::from(child) + 2, 1, &name, at, until));
                at = until;
            }
            put(span(1, 0, "R", 1000, at));
        }
        let mut pool = NativePool::of(sets_of(&spans, 1)).unwrap();
        let report = compare(&mut pool, sets());
        let rows = report.ranking(Basis::Mean, MeasuredTime::Exclusive);
        frames += rows.len();
        reported += rows.iter().filter(|row| !row.change.is_noise && row.change.change != 0.0).count();
        let is_outside = |interval: Interval| interval.low > 0.0 || interval.high < 0.0;
        outside += rows.iter().filter(|row| row.change.interval.is_some_and(is_outside)).count();
    }
    assert_eq!(frames, 505);
    assert!(outside >= 10 && reported <= 2, "{outside} outside their intervals, {reported} reported");
}

#[test]
fn the_table_tells_every_microsecond_of_the_change_once() {
    let mut pool = NativePool::of(vec![set_of(&tail_story())]).unwrap();
    let report = compare(&mut pool, ranges(BULK, TAIL));
    for measure in [MeasuredTime::Subtree, MeasuredTime::Exclusive] {
        let reported: f64 = report.ranking(Basis::Mean, measure).iter().map(|row| row.change.change).sum();
        assert!((reported - (161.0 - 63.0)).abs() < 1e-9);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn frames_add_up_to_latencies_and_changes_to_the_whole_change(spans in any_traces(60)) {
        let mut pool = NativePool::of(sets_of(&spans, 2)).unwrap();
        let report = compare(&mut pool, sets());
        for (side, of) in [(&report.a, 0), (&report.b, 1)] {
            let sums = |n: &pathlight::engine::compare::CompareNode| if of == 0 { n.a.clone() } else { n.b.clone() };
            let own: u128 = report.nodes.iter().map(|n| sums(n).exclusive.sum()).sum();
            let roots: u128 = report.nodes.iter().filter(|n| n.parent.is_none()).map(|n| sums(n).subtree.sum()).sum();
            prop_assert_eq!((own, roots), (side.facts.latency_sum_us, side.facts.latency_sum_us));
        }
        let whole = report.b.facts.latency_us.mean - report.a.facts.latency_us.mean;
        let reported: f64 = report.ranking(Basis::Mean, MeasuredTime::Subtree).iter().map(|row| row.change.change).sum();
        prop_assert!((whole - reported).abs() < 1e-6);
        prop_assert!(json::compare(&report, Basis::Share, MeasuredTime::Exclusive).is_ok());
    }
}

#[test]
fn intervals_between_ranges_are_labelled_as_descriptive_and_those_of_two_sets_are_not() {
    let said = |report: CompareReport| {
        let value: serde_json::Value =
            serde_json::from_str(&json::compare(&report, Basis::Mean, MeasuredTime::Subtree).unwrap())
                .unwrap();
        let descriptive = value["descriptive"].as_bool().unwrap();
        // Self time varies in A alone.
        let varying = report.nodes.iter().position(|node| report.name(node.endpoint).1 == "A").unwrap();
        let source = DiffSource::unlaid(Rc::new(report), &Choices::default());
        let certainty = source.certainty(NodeId(varying as u32));
        assert!(certainty.contains("(95 %)"), "{certainty}");
        (descriptive, certainty.contains(DESCRIPTIVE))
    };
    let story = |slower: u64| -> Vec<Span> {
        (1..=20).flat_map(|trace: u64| story(u128::from(trace), 100 + 7 * trace + slower, 10)).collect()
    };
    let mut pool = NativePool::of(vec![set_of(&story(0))]).unwrap();
    let halves = ranges(PercentileRange::open(0, 50_000), PercentileRange::open(50_000, 100_000));
    assert_eq!(said(compare(&mut pool, halves)), (true, true));
    let mut b = TraceSet::new();
    b.loading_group = 1;
    stage(&mut b, &story(40));
    let mut pool = NativePool::of(vec![set_of(&story(0)), b]).unwrap();
    assert_eq!(said(compare(&mut pool, sets())), (false, false));
}
