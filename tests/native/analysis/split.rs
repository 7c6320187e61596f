//! Splitting times by a tag: a worked example, and samples that add up.

use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::engine::split::{NotProposed, ProposalsReport, SplitOf, SplitReport};
use pathlight::trace::{Endpoint, RawSpan, SpanId, TagSetId, TraceId, TraceSet};
use pathlight::view::json;

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

/// Makes 12 requests of 100 to 111 us in zone eu, 6 of twice that in us, one without; each calls E twice, on two hosts.
fn zones(workers: usize) -> NativePool {
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
    NativePool::of(sets).unwrap()
}

fn split(pool: &mut NativePool, of: SplitOf, key: &str) -> SplitReport {
    let query = queries::Split { selection: Selection::default(), of, key: key.to_owned(), sum: None };
    pool.run(query).unwrap()
}

/// Splits by all calls of E of a request together.
fn of_e() -> SplitOf {
    SplitOf::Sums(Endpoint::new("E", "E"))
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
    assert!(json::split(&report).is_ok());
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
    let nobody = SplitOf::Calls(Endpoint::new("E", "none"));
    assert!(split(&mut pool, nobody, "host").values.is_empty());
    assert!(split(&mut pool, SplitOf::Latency, "no such key").values.is_empty());
}

/// Makes 12 requests whose 10 calls of E are on host `many`, and 12 with one call on host `one`; every call takes 10
/// us.
fn calls(workers: usize) -> NativePool {
    let mut sets: Vec<TraceSet> = (0..workers).map(|_| TraceSet::new()).collect();
    for i in 0..24u64 {
        let set = &mut sets[i as usize % workers];
        let (host, calls) = if i < 12 { ("many", 10) } else { ("one", 1) };
        push(set, u128::from(i) + 1, 1, "R", (0, 200), "", "");
        for call in 0..calls {
            push(set, u128::from(i) + 1, 2 + call, "E", (12 * call, 12 * call + 10), "", host);
        }
    }
    NativePool::of(sets).unwrap()
}

fn of_calls() -> SplitOf {
    SplitOf::Calls(Endpoint::new("E", "E"))
}

#[test]
fn single_calls_are_no_slower_where_requests_make_more_of_them() {
    let mut pool = calls(2);
    let said = |report: &SplitReport| -> Vec<(String, u64, f64, Option<f64>)> {
        report.values.iter().map(|v| (v.value.clone(), v.n, v.us.p50, v.ratios[0].ratio)).collect()
    };
    let report = split(&mut pool, of_calls(), "host");
    let expected = [("many".to_owned(), 120, 10.0, Some(1.0)), ("one".to_owned(), 12, 10.0, Some(1.0))];
    assert_eq!(said(&report), expected);
    let value =
        |report: &SplitReport| serde_json::from_str::<serde_json::Value>(&json::split(report).unwrap());
    assert_eq!(value(&report).unwrap()["per"], "call");
    let report = split(&mut pool, of_e(), "host");
    let expected = [("many".to_owned(), 12, 100.0, Some(1.0)), ("one".to_owned(), 12, 10.0, Some(0.1))];
    assert_eq!(said(&report), expected);
    assert_eq!(value(&report).unwrap()["per"], "request");
    // Which tags are worth it goes by the same samples.
    assert_eq!(proposals(&mut pool, of_calls()).samples, 132);
    assert_eq!(proposals(&mut pool, of_e()).samples, 24);
}

#[test]
fn workers_do_not_change_a_split() {
    let cases = [(SplitOf::Latency, "zone"), (of_e(), "host"), (of_e(), "zone"), (of_calls(), "host")];
    for (of, key) in cases {
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
    let report = split(&mut NativePool::of(vec![set]).unwrap(), SplitOf::Latency, "zone");
    assert_eq!((report.values.len(), report.others), (20, (5, 5)));
    assert_eq!((report.values[0].value.as_str(), report.values[5].value.as_str()), ("z00", "z05"));
}

/// Makes 90 requests that last 1 to 90 us: slow in one half of the regions, whatever the host; `id` names each.
fn regions(workers: usize) -> NativePool {
    let mut sets: Vec<TraceSet> = (0..workers).map(|_| TraceSet::new()).collect();
    for i in 0..90u64 {
        let set = &mut sets[i as usize % workers];
        let tags = [
            ("region", if i < 45 { "eu" } else { "us" }.to_owned()),
            ("host", format!("h{}", i % 3)),
            ("rare", if i < 75 { "no" } else { "yes" }.to_owned()),
            ("version", "7".to_owned()),
            ("id", format!("{i:03}")),
        ];
        set.tags.begin();
        for (key, value) in &tags {
            set.tags.add(key, value);
        }
        // Of several values the smallest counts.
        set.tags.add("region", "zz");
        let own = set.tags.finish();
        set.tags.begin();
        set.tags.add("region", "of the process");
        let of_process = set.tags.finish();
        let raw = RawSpan {
            id: SpanId::hex(1),
            parent: SpanId::hex(0),
            start_us: 1000,
            duration_us: i + 1,
            operation: set.names.intern("R"),
            process: set.process("R", "", of_process),
            tags: own,
            flags: Default::default(),
        };
        set.stage(TraceId::hex(u128::from(i) + 1), raw).unwrap();
    }
    NativePool::of(sets).unwrap()
}

fn proposals(pool: &mut NativePool, of: SplitOf) -> ProposalsReport {
    let query = queries::Proposals { selection: Selection::default(), of };
    pool.run(query).unwrap()
}

#[test]
fn tags_whose_values_differ_are_proposed_and_others_left_out_for_a_reason() {
    let report = proposals(&mut regions(1), SplitOf::Latency);
    assert_eq!(report.samples, 90);
    let [proposal] = report.proposals.as_slice() else { panic!("{:?}", report.proposals) };
    assert_eq!(proposal.key, "region");
    let said: Vec<(&str, u64, f64)> =
        proposal.values.iter().map(|v| (v.value.as_str(), v.n, v.p50_us)).collect();
    assert_eq!(said, [("us", 45, 68.0), ("eu", 45, 23.0)]);
    // Halves of the ranks 1 to 90: 22.5 squared of (90 squared - 1) / 12, corrected by 89/88.
    let explained: f64 = 22.5 * 22.5 * 12.0 / 8099.0;
    assert!((proposal.effect.share - (1.0 - (1.0 - explained) * 89.0 / 88.0)).abs() < 1e-12);
    let left_out: Vec<(&str, NotProposed)> =
        report.left_out.iter().map(|(key, why)| (key.as_str(), *why)).collect();
    assert_eq!(
        left_out,
        [
            ("host", NotProposed::NoDifference),
            ("id", NotProposed::TooManyValues),
            ("rare", NotProposed::TooFewSamples),
            ("version", NotProposed::TooFewSamples),
        ]
    );
    assert!(json::proposals(&report).is_ok());
}

#[test]
fn proposals_for_an_endpoint_go_by_the_samples_of_a_split() {
    let report = proposals(&mut zones(1), of_e());
    assert_eq!(report.samples, 19);
    let named: Vec<&str> = report.left_out.iter().map(|(key, _)| key.as_str()).collect();
    assert_eq!((report.proposals.len(), named), (0, vec!["host", "zone"]));
}

#[test]
fn workers_do_not_change_proposals() {
    let one = proposals(&mut regions(1), SplitOf::Latency);
    for workers in 2..5 {
        assert_eq!(one, proposals(&mut regions(workers), SplitOf::Latency));
    }
    let of_spans = proposals(&mut zones(1), of_e());
    assert_eq!(of_spans, proposals(&mut zones(3), of_e()));
}
