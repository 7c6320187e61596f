//! Suggested values of a tag say how many requests would be left.

use pathlight::analysis::critical_path::{TagValueCount, TagValuesReport};
use pathlight::analysis::requests::{Filter, Selection};
use pathlight::model::trace::{RawSpan, SpanId, TagSetId, TraceId, TraceSet};
use pathlight::query::native::Pool;
use pathlight::query::queries;

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

/// Three requests, two spans each, in two workers: zones eu and eu; eu of the process and us; none.
fn pool() -> Pool {
    let (mut one, mut two) = (TraceSet::new(), TraceSet::new());
    push(&mut one, 1, 1, "eu", "");
    push(&mut one, 1, 2, "eu", "");
    push(&mut two, 2, 1, "", "eu");
    push(&mut two, 2, 2, "us", "");
    push(&mut two, 3, 1, "", "");
    push(&mut two, 3, 2, "", "");
    Pool::of(vec![one, two]).unwrap()
}

fn values(pool: &mut Pool, selection: &Selection, key: &str) -> TagValuesReport {
    let query = queries::TagValues { selection: selection.clone(), key: key.to_owned() };
    pool.run(query).unwrap()
}

fn requests(pool: &mut Pool, selection: Selection) -> u64 {
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
