//! Redundant calls, against traces of which it is known what is asked again.

use crate::common::generated;
use crate::common::stored::{loaded, read_generated};
use pathlight::engine::findings::{Finding, FindingFacts, FindingPlace, FindingsReport, RedundantFacts};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{GenerateOptions, Generator, Shape};
use pathlight::ingest::formats::columns::{MAGIC, write};
use pathlight::trace::{Endpoint, MAX_VALUES_PER_KEY, Portable, TraceSet};
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

/// Returns traces in which one span makes two calls, as Jaeger writes them: the statements of both are given by number of the trace.
fn asking(traces: usize, statements: impl Fn(usize) -> [String; 2]) -> Vec<u8> {
    let span = |trace: usize, id: usize, parent: usize, (start, us): (usize, usize), tags: String| {
        format!(
            r#"{{"traceID":"{:x}","spanID":"{id:x}","operationName":"{}","startTime":{},"duration":{us},"processID":"p",
                "references":[{}],"tags":[{tags}]}}"#,
            trace + 1,
            if parent == 0 { "handle" } else { "query" },
            1_700_000_000_000_000 + 1_000_000 * trace + start,
            match parent {
                0 => String::new(),
                _ => format!(r#"{{"refType":"CHILD_OF","traceID":"{:x}","spanID":"{parent:x}"}}"#, trace + 1),
            }
        )
    };
    let tag = |key: &str, value: &str| format!(r#"{{"key":"{key}","type":"string","value":"{value}"}}"#);
    let written = (0..traces).map(|trace| {
        let [first, second] = statements(trace).map(|statement| {
            [tag("span.kind", "client"), tag("db.system", "postgresql"), tag("db.statement", &statement)]
                .join(",")
        });
        let spans = [
            span(trace, 1, 0, (0, 1_000), tag("span.kind", "server")),
            span(trace, 2, 1, (100, 300), first),
            span(trace, 3, 1, (500, 400), second),
        ];
        format!(
            r#"{{"traceID":"{:x}","spans":[{}],"processes":{{"p":{{"serviceName":"shop","tags":[]}}}}}}"#,
            trace + 1,
            spans.join(",")
        )
    });
    format!(r#"{{"data":[{}]}}"#, written.collect::<Vec<_>>().join(",")).into_bytes()
}

/// Returns a statement that is longer than what is stored of it, and ends like this.
fn long(end: &str) -> String {
    format!("SELECT * FROM rows WHERE id IN ({}{end})", "17, ".repeat(100))
}

/// Returns the repeats that are found, and how many requests have them, in one worker and after all traces have gone to another set.
fn repeats_in(bytes: &[u8]) -> Vec<Option<(u64, u64)>> {
    let set = loaded(bytes);
    let mut columns = MAGIC.to_vec();
    write(&Portable::copy(&set, 0..set.traces().len() as u32), &mut columns);
    let moved = loaded(&columns);
    let of = |set: TraceSet| {
        let report = findings(set);
        let found = redundant(&report);
        assert!(found.len() < 2);
        found.first().map(|(finding, facts)| (facts.repeats, finding.n))
    };
    [set, moved].into_iter().map(of).collect()
}

#[test]
fn long_statements_are_the_same_if_all_of_them_is() {
    let same = asking(30, |trace| [long(&trace.to_string()), long(&trace.to_string())]);
    assert_eq!(repeats_in(&same), [Some((30, 30)); 2]);
    let other = asking(30, |trace| [long(&trace.to_string()), long(&(trace + 1).to_string())]);
    assert_eq!(repeats_in(&other), [None; 2]);
    // What is cut has a place for a parameter, or writes.
    let open = asking(30, |_| [long("$1"), long("$1")]);
    assert_eq!(repeats_in(&open), [None; 2]);
    let writes =
        asking(30, |_| [long("1").replace("SELECT", "DELETE"), long("1").replace("SELECT", "DELETE")]);
    assert_eq!(repeats_in(&writes), [None; 2]);
}

#[test]
fn statements_of_which_there_are_too_many_are_compared_too() {
    let traces = 3 * MAX_VALUES_PER_KEY as usize;
    let statement = |id: usize| format!("SELECT * FROM rows WHERE id = {id}");
    // Every fourth trace asks twice.
    let some =
        asking(traces, |trace| [trace, if trace % 4 == 0 { trace } else { trace + traces }].map(statement));
    let repeats = traces.div_ceil(4) as u64;
    assert_eq!(repeats_in(&some), [Some((repeats, repeats)); 2]);
    // The longest half of them is cut as well.
    let half = asking(traces, |trace| {
        let ask = |id: usize| if trace % 2 == 0 { long(&id.to_string()) } else { statement(id) };
        [trace, if trace % 4 == 0 { trace } else { trace + traces }].map(ask)
    });
    assert_eq!(repeats_in(&half), [Some((repeats, repeats)); 2]);
}
