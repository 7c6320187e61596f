//! Splitting times by a tag: a worked example, and samples that add up.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, reason = "the lint sees only functions marked as tests, not their helpers")]

use pathlight::critical_path::{Band, Scope, SplitOf, SplitReport};
use pathlight::engine::{Report, Request, native::Pool};
use pathlight::trace::{RawSpan, SpanId, TagSetId, TraceId, TraceSet};

fn push(set: &mut TraceSet, trace: u128, id: u64, name: &str, at: (u64, u64), zone: &str, host: &str) {
    let mut tags = |key: &str, value: &str| {
        set.tags.begin();
        if !value.is_empty() {
            set.tags.add(key, value);
        }
        set.tags.finish()
    };
    let (own, of_process): (TagSetId, TagSetId) = (tags("zone", zone), tags("host", host));
    let raw = RawSpan {
        id: SpanId::hex(id),
        parent: SpanId::hex(u64::from(id > 1)),
        start_us: 1000 + at.0,
        duration_us: at.1 - at.0,
        operation: set.names.intern(name),
        process: set.process(name, "", of_process),
        tags: own,
        flags: Default::default(),
    };
    set.stage(TraceId::hex(trace), raw).unwrap();
}

/// 12 requests of 100 to 111 us in zone eu, 6 of twice that in us, one without; each calls E twice, on two hosts.
fn zones(workers: usize) -> Pool {
    let mut sets: Vec<TraceSet> = (0..workers).map(|_| TraceSet::new()).collect();
    for i in 0..19u64 {
        let set = &mut sets[i as usize % workers];
        let (zone, latency) = match i {
            0..12 => ("eu", 100 + i),
            12..18 => ("us", 200 + 2 * (i - 12)),
            _ => ("", 50),
        };
        push(set, u128::from(i) + 1, 1, "R", (0, latency), zone, "");
        push(set, u128::from(i) + 1, 2, "E", (5, 15 + i), "", "h1");
        push(set, u128::from(i) + 1, 3, "E", (15 + i, 16 + i), "h2-own", "h2");
    }
    Pool::of(sets).unwrap()
}

fn split(pool: &mut Pool, of: SplitOf, key: &str) -> SplitReport {
    let request = Request::Split { scope: Scope::default(), band: Band::ALL, of, key: key.to_owned() };
    let Report::Split(report) = pool.ask(request).unwrap() else { panic!() };
    *report
}

fn of_e() -> SplitOf {
    SplitOf::Endpoint { service: "E".to_owned(), operation: "E".to_owned() }
}

#[test]
fn latency_is_split_by_the_tag_of_the_root_and_compared_with_the_most_common_value() {
    let report = split(&mut zones(1), SplitOf::Latency, "zone");
    let said: Vec<(&str, u64, f64)> =
        report.values.iter().map(|v| (v.value.as_str(), v.n, v.us.p50)).collect();
    assert_eq!(said, [("eu", 12, 105.5), ("us", 6, 205.0)]);
    assert_eq!(report.missing, 1);
    let [median, p95, _] = report.values[1].ratios;
    assert!((median.ratio.unwrap() - 205.0 / 105.5).abs() < 1e-12);
    let interval = median.interval.unwrap();
    assert!(interval.low > 1.8 && interval.low <= median.ratio.unwrap());
    assert!(interval.high < 2.1 && interval.high >= median.ratio.unwrap());
    assert!(p95.ratio.unwrap() > 1.0);
    assert_eq!(report.values[0].ratios[0].ratio, Some(1.0));
    // The violins stand apart on their common axis.
    let peak = |density: &[f64]| density.iter().position(|&d| d == 1.0).unwrap();
    assert!(peak(&report.values[0].density) < peak(&report.values[1].density));
    assert_eq!(report.points_us.len(), report.values[0].density.len());
    assert!(report.to_json().is_ok());
}

#[test]
fn time_of_an_endpoint_is_split_span_by_span_with_own_tags_before_those_of_the_process() {
    let mut pool = zones(2);
    let report = split(&mut pool, of_e(), "host");
    let sums: Vec<(&str, u64, f64)> =
        report.values.iter().map(|v| (v.value.as_str(), v.n, v.us.mean * v.n as f64)).collect();
    // 10 + i on h1, 1 on h2, in every request.
    assert_eq!(sums, [("h1", 19, 361.0), ("h2", 19, 19.0)]);
    assert_eq!(report.missing, 0);
    let report = split(&mut pool, of_e(), "zone");
    assert_eq!((report.values[0].value.as_str(), report.values[0].n, report.missing), ("h2-own", 19, 19));
    let nobody = SplitOf::Endpoint { service: "E".to_owned(), operation: "none".to_owned() };
    assert!(split(&mut pool, nobody, "host").values.is_empty());
    assert!(split(&mut pool, SplitOf::Latency, "no such key").values.is_empty());
}

#[test]
fn workers_do_not_change_a_split() {
    for (of, key) in [(SplitOf::Latency, "zone"), (of_e(), "host"), (of_e(), "zone")] {
        let one = split(&mut zones(1), of.clone(), key);
        for workers in 2..5 {
            assert_eq!(one, split(&mut zones(workers), of.clone(), key));
        }
    }
}

#[test]
fn rare_values_are_counted_and_left_out() {
    let mut set = TraceSet::new();
    for i in 0..30u64 {
        push(&mut set, u128::from(i) + 1, 1, "R", (0, 100), &format!("z{:02}", i % 25), "");
    }
    let report = split(&mut Pool::of(vec![set]).unwrap(), SplitOf::Latency, "zone");
    assert_eq!((report.values.len(), report.others), (20, (5, 5)));
    assert_eq!((report.values[0].value.as_str(), report.values[5].value.as_str()), ("z00", "z05"));
}
