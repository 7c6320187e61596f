//! Redundant calls, against traces of which it is known what is asked again.

use crate::common::generated;
use crate::common::stored::read_generated;
use pathlight::engine::findings::{Finding, FindingFacts, FindingPlace, FindingsReport, RedundantFacts};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{GenerateOptions, Generator, Shape};
use pathlight::trace::{Endpoint, TraceSet};
use pathlight::view::findings::words::sentence;

const READ_ROW: &str = "SELECT row";

fn findings(set: TraceSet) -> FindingsReport {
    let query = queries::Findings { selection: Selection::default(), baseline: None };
    NativePool::of(vec![set]).unwrap().run(query).unwrap()
}

fn redundant(report: &FindingsReport) -> Vec<(&Finding, RedundantFacts)> {
    let facts = |finding: &&'_ Finding| match finding.facts {
        FindingFacts::RedundantCalls(facts) => Some(facts),
        _ => None,
    };
    report.findings.iter().filter_map(|finding| Some((finding, facts(&finding)?))).collect()
}

/// Returns how many traces read rows of a service several times, how many reads repeat the first, and their time in microseconds.
fn repeats(options: &GenerateOptions, service: &str) -> (u64, u64, u64) {
    let generator = Generator::new(options).unwrap();
    let (mut traces, mut calls, mut us) = (0, 0, 0);
    for index in 0..options.traces {
        let trace = generator.trace(index);
        let is_read = |span: &&pathlight::generate::GeneratedSpan| {
            span.operation == READ_ROW
                && span.process.is_some_and(|p| trace.processes[p as usize].service == service)
        };
        let mut reads: Vec<(u64, u64)> =
            trace.spans.iter().filter(is_read).map(|span| (span.start_us, span.duration_us)).collect();
        reads.sort_unstable();
        traces += u64::from(reads.len() > 1);
        calls += reads.iter().skip(1).count() as u64;
        us += reads.iter().skip(1).map(|read| read.1).sum::<u64>();
    }
    (traces, calls, us)
}

#[test]
fn the_same_row_read_again_is_found_and_other_rows_are_not() {
    for seed in 1..=3 {
        let options =
            GenerateOptions { shape: Shape::Serial, traces: 880, seed, ..GenerateOptions::default() };
        let report = findings(read_generated(&options));
        let mut found = redundant(&report);
        found.sort_by(|a, b| a.0.place.cmp(&b.0.place));
        let places: Vec<&FindingPlace> = found.iter().map(|(finding, _)| &finding.place).collect();
        let place = |service| FindingPlace::Endpoint(Endpoint::new(service, READ_ROW));
        assert_eq!(places, [&place("row-store"), &place("same-row")], "seed {seed}");
        for ((finding, facts), service) in found.iter().zip(["row-store", "same-row"]) {
            let (traces, calls, us) = repeats(&options, service);
            assert!(traces > 10, "{traces}");
            assert_eq!((finding.n, finding.of, facts.repeats), (traces, 880, calls), "{service}");
            // Below one span, or below two.
            assert_eq!(facts.by_same_caller, if service == "same-row" { calls } else { 0 });
            let stake_us = us as f64 / 880.0;
            // Clocks of the store are set at times, and then a call is cut to that of its caller.
            assert!((finding.stake_us / stake_us - 1.0).abs() < 1e-3, "{}: {stake_us}", finding.stake_us);
            let text = sentence(finding).to_text();
            let advice =
                if service == "same-row" { "could be one call." } else { "could be cached for the request." };
            assert!(text.ends_with(advice), "{text}");
            assert!(finding.example.is_some());
        }
        // Without tags nothing is known.
        assert!(redundant(&findings(generated(&options))).is_empty());
    }
}
