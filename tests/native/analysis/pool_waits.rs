//! Calls that wait for a connection, against traces of which it is known which pool they have.

use crate::common::stored::read_generated;
use pathlight::engine::findings::{Finding, FindingFacts, FindingPlace, PoolWaitsFacts, ask_findings};
use pathlight::engine::requests::{PercentileRange, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{GenerateOptions, Generator, Pool};
use pathlight::trace::{Portable, SpanKind, TraceSet};
use pathlight::view::findings::words::sentence;
use std::collections::BTreeMap;

/// Instances of each service.
const INSTANCES: u64 = 3;
/// Part of the time for which connections are taken.
const LOAD: f64 = 0.85;
/// Seeds and connections, drawn once.
const SETS: [(u64, usize); 7] =
    [(8_213, 1), (4_077, 2), (1_384, 3), (7_759, 4), (9_432, 5), (3_191, 8), (6_007, 12)];

fn options(seed: u64) -> GenerateOptions {
    GenerateOptions { spans: 20, traces: 1_500, seed, ..GenerateOptions::default() }
}

/// Returns the time of the calls between two services of all traces, by both: of those pairs that take most.
fn busiest(options: &GenerateOptions) -> Vec<((&'static str, &'static str), u64)> {
    let generator = Generator::new(options).unwrap();
    let mut us: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for trace in (0..options.traces).map(|index| generator.trace(index)) {
        let service = |process: Option<u32>| trace.processes[process.unwrap() as usize].service;
        for span in trace.spans.iter().filter(|span| span.kind == SpanKind::Server) {
            let parent = span.parent.and_then(|of| trace.spans.iter().find(|p| p.span_id == of.span_id));
            let Some(call) = parent else { continue };
            *us.entry((service(call.process), service(span.process))).or_default() += call.duration_us;
        }
    }
    let mut us: Vec<_> = us.into_iter().collect();
    us.sort_by_key(|(_, us)| std::cmp::Reverse(*us));
    us.truncate(6);
    us
}

fn mean_latency_us(options: &GenerateOptions) -> f64 {
    let generator = Generator::new(options).unwrap();
    let us: u64 = (0..options.traces).map(|index| generator.trace(index).spans[0].duration_us).sum();
    us as f64 / options.traces as f64
}

fn found(sets: Vec<TraceSet>, selection: Selection) -> Vec<(Finding, PoolWaitsFacts)> {
    let mut pool = NativePool::of(sets).unwrap();
    let report = ask_findings(&mut pool, selection, None).unwrap();
    let facts = |finding: Finding| match finding.facts.clone() {
        FindingFacts::PoolWaits(facts) => Some((finding, facts)),
        _ => None,
    };
    report.findings.into_iter().filter_map(facts).collect()
}

/// Returns options with a pool of which the connections are taken for most of the time.
fn with_pool(seed: u64, connections: usize) -> (GenerateOptions, Pool) {
    let options = options(seed);
    let busiest = busiest(&options);
    let ((service, peer), us) = busiest[seed as usize % busiest.len()];
    let pool = Pool { service: service.to_owned(), peer: peer.to_owned(), connections };
    let spread_us = us as f64 / (INSTANCES as f64 * connections as f64 * LOAD);
    (GenerateOptions { spread_us: spread_us as u64, pool: Some(pool.clone()), ..options }, pool)
}

fn is_about((finding, facts): &(Finding, PoolWaitsFacts), pool: &Pool) -> bool {
    finding.place == FindingPlace::Service(pool.service.clone()) && facts.callee == pool.peer
}

#[test]
fn pools_are_found_with_their_connections_and_none_where_nothing_waits() {
    let (mut right, mut wrong, mut shares) = (0, Vec::new(), Vec::new());
    for (seed, connections) in SETS {
        let (options, pool) = with_pool(seed, connections);
        let without = GenerateOptions { pool: None, ..options.clone() };
        let cost_us = mean_latency_us(&options) - mean_latency_us(&without);
        let (it, others): (Vec<_>, Vec<_>) = found(vec![read_generated(&options)], Selection::default())
            .into_iter()
            .partition(|of| is_about(of, &pool));
        wrong.extend(others.iter().map(|(finding, _)| sentence(finding).to_text()));
        for (finding, facts) in it.iter().filter(|(_, facts)| facts.at_once == connections as u64) {
            right += 1;
            shares.push(finding.stake_us / cost_us);
            assert!(facts.processes == INSTANCES && facts.waiting < facts.calls && finding.example.is_some());
        }
        let nothing = found(vec![read_generated(&without)], Selection::default());
        wrong.extend(nothing.iter().map(|(finding, _)| sentence(finding).to_text()));
    }
    println!(
        "{right} of {} pools with their connections, {shares:.2?} of what they cost; wrong: {wrong:#?}",
        SETS.len()
    );
    assert!(right == SETS.len() && wrong.is_empty());
    // Of calls side by side each counts from the end of the one before.
    assert!(shares.iter().all(|share| (0.4..1.05).contains(share)), "{shares:?}");
}

#[test]
fn a_limit_is_the_same_in_several_workers_and_for_some_requests_and_unknown_of_samples() {
    let (options, pool) = with_pool(6_620, 3);
    let set = read_generated(&options);
    let traces = set.traces().len() as u32;
    let some = |from: u32| {
        let mut some = TraceSet::new();
        Portable::copy(&set, (from..traces).step_by(2)).add_to(&mut some).unwrap();
        some.seal().unwrap();
        some
    };
    let halves = found(vec![some(0), some(1)], Selection::default());
    let slowest = Selection { range: PercentileRange::open(50_000, 100_000), ..Selection::default() };
    let slow = found(vec![some(0), some(1)], slowest);
    let sampled = GenerateOptions { sample: Some("p=0.5".parse().unwrap()), ..options };
    assert_eq!(found(vec![read_generated(&sampled)], Selection::default()), []);
    let whole = found(vec![set], Selection::default());
    assert_eq!(halves, whole);
    assert!(is_about(&whole[0], &pool) && is_about(&slow[0], &pool));
    let (all, slow) = (&whole[0].1, &slow[0].1);
    assert_eq!((all.at_once, slow.at_once), (3, 3));
    assert!(slow.waiting <= all.waiting && slow.calls < all.calls);
    let text = sentence(&whole[0].0).to_text();
    let begins = format!(
        "No more than 3 calls of {} run at once in any of the 3 processes of {}: ",
        pool.peer, pool.service
    );
    assert!(
        text.starts_with(&begins) && text.contains("before they begin, until one of the others ends."),
        "{text}"
    );
}
