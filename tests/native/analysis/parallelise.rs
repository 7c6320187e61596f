//! Calls that could run side by side, against traces of which it is known which calls need which.

use crate::common::stored::read_generated;
use crate::common::{Span, set_of, span};
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{CallsBeside, Changes, ParalleliseReport};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{GenerateOptions, PairNeed, SerialPair, Shape};
use pathlight::trace::Endpoint;

fn parallelise(pool: &mut NativePool) -> ParalleliseReport {
    let (selection, settings) = (Selection::default(), FlowSettings::default());
    pool.run(queries::Parallelise { selection, settings }).unwrap()
}

fn options(seed: u64) -> GenerateOptions {
    GenerateOptions { shape: Shape::Serial, traces: 2400, seed, ..GenerateOptions::default() }
}

/// Returns the pair of calls that a group is about; `None`: calls of one endpoint.
fn pair_of(calls: &CallsBeside) -> Option<SerialPair> {
    let [first, second] = &calls.callees[..] else { return None };
    let is_it = |pair: &SerialPair| {
        (pair.service, pair.operation) == (&*calls.parent.service, &*calls.parent.operation)
            && (pair.first, pair.second) == (&*first.operation, &*second.operation)
    };
    SerialPair::all().into_iter().find(is_it)
}

#[test]
fn calls_that_need_not_wait_are_found_and_those_that_must_are_not() {
    let free = SerialPair::all().into_iter().filter(|pair| pair.need == PairNeed::None).count();
    assert_eq!(free, 20);
    for seed in 1..=5 {
        let mut pool = NativePool::of(vec![read_generated(&options(seed))]).unwrap();
        let report = parallelise(&mut pool);
        let needs: Vec<PairNeed> =
            report.groups.iter().filter_map(|group| pair_of(&group.calls)).map(|pair| pair.need).collect();
        let found = needs.iter().filter(|need| **need == PairNeed::None).count();
        let is_false = |need: &&PairNeed| **need != PairNeed::None;
        let first_ten = needs.iter().take(10).filter(is_false).count();
        // Queries of the rows of a list need the list, and not one another.
        let rows = report.groups.iter().filter(|group| group.calls.callees.len() == 1).count();
        println!(
            "seed {seed}: {found} of {free} found, {} false, {first_ten} of the first ten; {rows} alone; {} depend; {} found, {} tried",
            needs.iter().filter(is_false).count(),
            report.dependent,
            report.found,
            report.tried
        );
        assert!(found >= 18 && first_ten <= 2, "{needs:?}");
        // A value that was handed on is seen at all eight endpoints that do. And two calls lead to one row, which nothing before them
        // names: it may be that the first has found it.
        assert_eq!(report.dependent, 9, "seed {seed}");
    }
}

#[test]
fn what_side_by_side_saves_is_what_regenerated_traces_take() {
    let (mut worst, mut least) = (0f64, f64::INFINITY);
    for seed in 1..=3 {
        let options = options(seed);
        let mut before = NativePool::of(vec![read_generated(&options)]).unwrap();
        let report = parallelise(&mut before);
        let groups = report.groups.iter().filter(|group| pair_of(&group.calls).is_some());
        let beside: Vec<CallsBeside> = groups.clone().map(|group| group.calls.clone()).collect();
        let what_if = |pool: &mut NativePool, changes| {
            let (selection, settings) = (Selection::default(), FlowSettings::default());
            pool.run(queries::WhatIf { selection, baseline: None, settings, changes }).unwrap()
        };
        let predicted = what_if(&mut before, Changes { beside, ..Changes::default() });
        // Requests of different endpoints: what groups save of the mean adds up.
        let saved: f64 = groups.map(|group| group.saved_us.mean).sum();
        let all = predicted.before_us.mean - predicted.after_us.mean;
        assert!((saved / all - 1.0).abs() < 1e-6, "{saved} and {all}");
        let really = GenerateOptions { is_side_by_side: true, ..options };
        let really = what_if(&mut NativePool::of(vec![read_generated(&really)]).unwrap(), Changes::default())
            .before_us;
        let (was, after) = (predicted.before_us, predicted.after_us);
        least = least.min(1.0 - really.mean / was.mean);
        for (was, after, really) in [
            (was.mean, after.mean, really.mean),
            (was.p50, after.p50, really.p50),
            (was.p95, after.p95, really.p95),
            (was.p99, after.p99, really.p99),
        ] {
            worst = worst.max((after / really - 1.0).abs());
            assert!((after / really - 1.0).abs() < 0.05, "{was}: predicted {after}, really {really}");
        }
    }
    println!("worst of 12: {:.2} %; the mean falls by at least {:.1} %", 100.0 * worst, 100.0 * least);
    assert!(least > 0.05, "{least}");
}

/// Makes requests of a root that calls these one after the other, with these gaps before them; each takes 10 ms and a little
/// more.
fn requests(n: u64, calls: impl Fn(u64) -> Vec<(&'static str, u64)>) -> Vec<Span> {
    let mut spans = Vec::new();
    for trace in 1..=n {
        let (mut at, mut of_trace) = (1_000, Vec::new());
        for (id, (name, gap)) in (2..).zip(calls(trace)) {
            let us = 10_000 + 37 * (trace * id % 29);
            of_trace.push(span(id, 1, name, at + gap, at + gap + us));
            at += gap + us;
        }
        of_trace.push(span(1, 0, "root", 1_000, at + 100));
        of_trace.iter_mut().for_each(|span| span.trace = u128::from(trace));
        spans.extend(of_trace);
    }
    spans
}

fn groups(spans: &[Span]) -> Vec<Vec<String>> {
    let report = parallelise(&mut NativePool::of(vec![set_of(spans)]).unwrap());
    let names = |callees: &[Endpoint]| callees.iter().map(|callee| callee.operation.clone()).collect();
    report.groups.iter().map(|group| names(&group.calls.callees)).collect()
}

#[test]
fn a_chain_is_one_group_and_saves_all_but_the_longest() {
    let spans = requests(30, |_| vec![("a", 0), ("b", 200), ("c", 200), ("d", 200)]);
    let report = parallelise(&mut NativePool::of(vec![set_of(&spans)]).unwrap());
    let [group] = &report.groups[..] else { panic!("{:?}", report.groups) };
    assert_eq!(group.calls.callees.len(), 4);
    assert_eq!((group.affected, group.mean_calls), (30, 4.0));
    // About 40 ms become about 10.
    assert!((29_000.0..33_000.0).contains(&group.saved_us.mean), "{:?}", group.saved_us);
}

#[test]
fn calls_of_one_endpoint_are_a_group_from_four_on_or_if_there_are_always_as_many() {
    assert_eq!(groups(&requests(30, |_| vec![("a", 0), ("a", 100)])), [["a"]]);
    assert_eq!(groups(&requests(30, |trace| vec![("a", 0); 1 + trace as usize % 3])), [[""; 0]; 0]);
    assert_eq!(groups(&requests(30, |trace| vec![("a", 0); 4 + trace as usize % 3])), [["a"]]);
}

#[test]
fn no_group_is_made_of_calls_that_may_depend_on_each_other() {
    let none: [[&str; 0]; 0] = [];
    // The second is not always called, nor always as often.
    let seldom =
        |trace: u64| if trace.is_multiple_of(5) { vec![("a", 0)] } else { vec![("a", 0), ("b", 100)] };
    assert_eq!(groups(&requests(50, seldom)), none);
    let more = |trace: u64| [vec![("a", 0)], vec![("b", 100); 1 + trace as usize % 3]].concat();
    assert_eq!(groups(&requests(50, more)), none);
    // Another one comes first at times.
    let swapped = |trace: u64| {
        let (a, b) = if trace.is_multiple_of(10) { ("b", "a") } else { ("a", "b") };
        vec![(a, 0), (b, 100)]
    };
    assert_eq!(groups(&requests(50, swapped)), none);
    // It begins when it likes, not when the first has ended.
    let timed = |trace: u64| vec![("a", 0), ("b", trace * 2_000)];
    assert_eq!(groups(&requests(50, timed)), none);
    // A few times show nothing.
    assert_eq!(groups(&requests(19, |_| vec![("a", 0), ("b", 100)])), none);
    assert_eq!(groups(&requests(20, |_| vec![("a", 0), ("b", 100)])), [["a", "b"]]);
    assert_eq!(groups(&requests(1, |_| vec![("a", 0); 6])), [["a"]]);
}

#[test]
fn a_failure_hides_calls_and_makes_them_again() {
    // One in ten fails: what comes after it is not called then.
    let short =
        |trace: u64| if trace.is_multiple_of(10) { vec![("a", 0)] } else { vec![("a", 0), ("b", 100)] };
    let mut spans = requests(100, short);
    assert_eq!(groups(&spans), [[""; 0]; 0]);
    let failing = spans.iter_mut().filter(|span| span.trace % 10 == 0 && span.operation == "a");
    failing.for_each(|span| span.error = true);
    assert_eq!(groups(&spans), [["a", "b"]]);
    // Each run has a call that fails and is made again long after.
    let mut runs =
        requests(10, |_| vec![("a", 10), ("a", 10), ("a", 10), ("a", 60_000), ("a", 10), ("a", 10)]);
    assert_eq!(groups(&runs), [[""; 0]; 0]);
    runs.iter_mut().filter(|span| span.id == 4).for_each(|span| span.error = true);
    assert_eq!(groups(&runs), [["a"]]);
}

#[test]
fn a_value_that_the_parent_had_follows_from_no_call() {
    const ZONES: [&str; 8] = ["z-001", "z-002", "z-003", "z-004", "z-005", "z-006", "z-007", "z-008"];
    let with = |knows: bool| {
        let mut spans = requests(40, |_| vec![("a", 0), ("b", 100)]);
        for span in &mut spans {
            if span.operation != "root" || knows {
                span.zone = ZONES[span.trace as usize % 8];
            }
        }
        spans
    };
    let none: [[&str; 0]; 0] = [];
    assert_eq!(groups(&with(false)), none);
    assert_eq!(groups(&with(true)), [["a", "b"]]);
}
