//! Savings where a parent calls more endpoints than a flow has nodes: the work grows with their number, and what is said of
//! each is what trying it alone says.

use crate::analysis::flow::learned;
use crate::common::{Span, set_of, span};
use pathlight::base::statistics::Random;
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{ChangeOf, Changes, LatencyChange, SavingsRun, Visit, WhichRequests};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::trace::{Overlap, PathSettings, TraceSet, Tree};
use std::sync::Arc;

/// How calls follow each other.
#[derive(Clone, Copy, Debug)]
enum Calls {
    Serial,
    Parallel,
    /// Each begins somewhere in the one before.
    Overlapping,
    /// Waves of eight, of which all end before the next begins.
    Waves,
}

/// Makes a request that calls so many endpoints once each.
fn request(number: u64, endpoints: u64, calls: Calls, random: &mut Random) -> Vec<Span> {
    let (mut at, mut end, mut spans) = (1000, 1000, Vec::new());
    for call in 0..endpoints {
        let us = 200 + random.below(300);
        let start = match calls {
            Calls::Serial => end + random.below(20),
            Calls::Parallel => 1000 + random.below(150),
            Calls::Overlapping => at + 100 + random.below(50),
            Calls::Waves if call % 8 == 0 => end + 20,
            Calls::Waves => at + random.below(20),
        };
        (at, end) = (start, end.max(start + us));
        let id = number * 100_000 + 1 + call;
        spans.push(span(id, number * 100_000, &format!("called-{call:05}"), start, start + us));
    }
    spans.push(span(number * 100_000, 0, "root", 1000, end + 50));
    spans.iter_mut().for_each(|span| span.trace = u128::from(number));
    spans
}

/// Counts the spans that are looked at to try every endpoint of a set of one trace.
fn cost(set: &TraceSet) -> usize {
    let overlap = Overlap::default();
    let model = learned(set, overlap, FlowSettings::default().tau_ppm);
    let mut run = SavingsRun::new(set, &Arc::new(model), overlap, WhichRequests::All(None));
    let mut tree = Tree::default();
    tree.load(set, 0, PathSettings::default());
    run.begin(set, &tree);
    let mut next = 0;
    std::iter::from_fn(|| run.piece(set, &tree, &mut next)).sum()
}

#[test]
fn savings_grow_with_the_number_of_endpoints_and_not_with_its_square() {
    for calls in [Calls::Serial, Calls::Parallel, Calls::Overlapping, Calls::Waves] {
        let mut points = Vec::new();
        for endpoints in [500_u64, 1000, 2000, 4000] {
            let spans = request(1, endpoints, calls, &mut Random::new(9, 0, 0));
            points.push(((endpoints as f64).ln(), (cost(&set_of(&spans)) as f64).ln()));
        }
        // From below the limit of nodes to far beyond it, and beyond it alone.
        let exponent = |a: usize, b: usize| (points[b].1 - points[a].1) / (points[b].0 - points[a].0);
        println!("{calls:?}: exponent {:.2}, beyond 1,000 {:.2}", exponent(0, 3), exponent(1, 3));
        assert!(exponent(1, 3) < 1.15, "{calls:?}: {:.2}", exponent(1, 3));
    }
}

#[test]
fn what_folded_calls_save_is_what_trying_each_alone_says() {
    let mut some = 0;
    for calls in [Calls::Serial, Calls::Parallel, Calls::Overlapping, Calls::Waves] {
        let mut random = Random::new(9, 1, 0);
        let spans: Vec<Span> = (1..=5).flat_map(|n| request(n, 640, calls, &mut random)).collect();
        let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
        let (selection, settings) = (Selection::default(), FlowSettings::default());
        let savings = pool.run(queries::Savings { selection: selection.clone(), settings }).unwrap();
        assert_eq!(savings.endpoints.len(), 641);
        // The last by name are folded.
        for _ in 0..10 {
            let name = format!("called-{:05}", 505 + random.below(135));
            let row = savings.endpoints.iter().find(|row| row.operation == name).unwrap();
            for (level, percent) in row.saved_us.levels().iter().zip([10, 50, 100]) {
                let faster = LatencyChange {
                    of: ChangeOf::default(),
                    service: row.service.clone(),
                    operation: row.operation.clone(),
                    share_ppm: -10_000 * percent,
                    add_us: 0,
                };
                let changes = Changes { latencies: vec![faster], ..Changes::default() };
                let query =
                    queries::WhatIf { selection: selection.clone(), baseline: None, settings, changes };
                let tried = pool.run(query).unwrap();
                let saved = tried.before_us.p95 - tried.after_us.p95;
                assert!((level.p95 - saved).abs() < 1e-6, "{calls:?} {} {percent}", row.operation);
                let mean = tried.before_us.mean - tried.after_us.mean;
                assert!((level.mean - mean).abs() < 1e-6, "{calls:?} {} {percent}", row.operation);
                some += usize::from(mean > 0.0);
            }
        }
    }
    assert!(some >= 30, "{some}");
}
