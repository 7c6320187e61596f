//! Suggested values of a tag say how many requests would be left.

use pathlight::engine::queries;
use pathlight::engine::requests::search::{SearchReport, SpanSearch};
use pathlight::engine::requests::{Filter, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::split::{TagValueCount, TagValuesReport};
use pathlight::trace::{RawSpan, SpanId, TagSetId, TraceId, TraceSet};

fn push(set: &mut TraceSet, trace: u128, id: u64, zone: &str, of_process: &str) {
    let mut tags = |value: &str| -> TagSetId {
        set.tags.begin();
        if !value.is_empty() {
            set.tags.add("zone", value);
        }
        set.tags.finish()
    };
    let (own, of_process) = (tags(zone), tags(of_process));
    let raw = RawSpan {
        id: SpanId::hex(id),
        parent: SpanId::hex(u64::from(id > 1)),
        start_us: 1000 + id,
        duration_us: 100 - id,
        operation: set.names.intern("op"),
        process: set.process("service", "", of_process),
        tags: own,
        flags: Default::default(),
    };
    set.stage(TraceId::hex(trace), raw).unwrap();
}

/// Makes three requests, two spans each, in two workers: zones eu and eu; eu of the process and us; none.
fn pool() -> NativePool {
    let (mut one, mut two) = (TraceSet::new(), TraceSet::new());
    push(&mut one, 1, 1, "eu", "");
    push(&mut one, 1, 2, "eu", "");
    push(&mut two, 2, 1, "", "eu");
    push(&mut two, 2, 2, "us", "");
    push(&mut two, 3, 1, "", "");
    push(&mut two, 3, 2, "", "");
    NativePool::of(vec![one, two]).unwrap()
}

fn values(pool: &mut NativePool, selection: &Selection, key: &str) -> TagValuesReport {
    let query = queries::TagValues { selection: selection.clone(), key: key.to_owned() };
    pool.run(query).unwrap()
}

fn requests(pool: &mut NativePool, selection: Selection) -> u64 {
    let report = pool.run(queries::CriticalPath { selection }).unwrap();
    report.facts.requests
}

#[test]
fn the_count_beside_a_value_is_what_its_filter_leaves() {
    let mut pool = pool();
    let all = Selection::default();
    let row = |value: &str, requests| TagValueCount { value: value.to_owned(), requests };
    let report = values(&mut pool, &all, "zone");
    assert_eq!(report.values, [row("eu", 2), row("us", 1)]);
    assert_eq!((report.facts.requests, report.others), (3, 0));
    for row in report.values {
        let tag = Filter::Tag { key: "zone".to_owned(), value: row.value.clone() };
        let selection = Selection { filters: vec![tag], ..all.clone() };
        assert_eq!(requests(&mut pool, selection), row.requests, "{}", row.value);
    }
    // Under a filter, what would be left of what is left.
    let us = Filter::Tag { key: "zone".to_owned(), value: "us".to_owned() };
    let under = values(&mut pool, &Selection { filters: vec![us], ..all }, "zone");
    assert_eq!(under.values, [row("eu", 1), row("us", 1)]);
}

#[test]
fn a_tag_nobody_has_has_no_values() {
    let report = values(&mut pool(), &Selection::default(), "no such tag");
    assert!(report.values.is_empty() && report.others == 0 && !report.high_cardinality);
}

fn search(pool: &mut NativePool, text: &str) -> SearchReport {
    let search = SpanSearch::parse(text);
    pool.run(queries::Search { selection: Selection::default(), search }).unwrap()
}

#[test]
fn a_search_finds_spans_and_the_requests_that_its_filters_leave() {
    let mut pool = pool();
    // Requests: eu, eu; eu of the process and us; none. Zones of a process are those of all its spans.
    for (text, spans, found) in [
        ("zone=eu", 3, 2),
        ("zone=us", 1, 1),
        ("zone=", 4, 2),
        // A span without it, though of the request some span has it.
        ("-zone=eu", 3, 1),
        ("zone=eu -zone=us", 3, 1),
        ("zone=us OR -zone=", 3, 2),
        ("op @ service zone=eu", 3, 2),
        ("\"OP @\" -service", 0, 0),
        ("nowhere=", 0, 0),
    ] {
        let report = search(&mut pool, text);
        assert_eq!((report.spans, report.requests), (spans, found), "{text}");
        assert_eq!(report.found.len() as u64, found, "{text}");
        assert_eq!(report.endpoints.iter().map(|found| found.spans).sum::<u64>(), spans, "{text}");
        let filters = Filter::of_search(SpanSearch::parse(text));
        let selection = Selection { filters, ..Selection::default() };
        assert_eq!(requests(&mut pool, selection), found, "{text}");
        let whole = Filter::Search(SpanSearch::parse(text));
        let selection = Selection { filters: vec![whole], ..Selection::default() };
        assert_eq!(requests(&mut pool, selection), found, "{text} in one filter");
    }
}

#[test]
fn spans_of_one_trace_are_found_by_their_place() {
    let mut pool = pool();
    let traces = search(&mut pool, "zone=us").found;
    let mut find = |text: &str| {
        let query = queries::FindSpans {
            trace_id: traces[0].trace_id.clone(),
            settings: Selection::default().settings(),
            group: 0,
            search: SpanSearch::parse(text),
        };
        pool.run(query).unwrap()
    };
    assert_eq!(
        [find("zone=us"), find("-zone=us"), find("op"), find("no")],
        [vec![1], vec![0], vec![0, 1], vec![]]
    );
}
