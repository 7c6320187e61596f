//! The traces that a selection holds, for all analyses of requests.

use crate::common::{Span, set_of, span, stage};
use pathlight::engine::queries::{self, SpanKey};
use pathlight::engine::requests::{
    Filter, GroupBy, OnlyFilter, PercentileRange, RangeMark, RequestType, RootEndpoint, Selection,
};
use pathlight::engine::run::native::NativePool;
use pathlight::trace::{Endpoint, RawSpan, SpanId, TagSetId, TraceId, TraceSet};

/// Returns the latencies of the requests of a selection, slowest first.
fn latencies(pool: &mut NativePool, selection: Selection) -> Vec<u64> {
    let query = queries::Requests { selection, limit: 1000 };
    let report = pool.run(query).unwrap();
    report.rows.iter().map(|row| row.latency_us).collect()
}

fn of_trace(trace: u128, mut spans: Vec<Span>) -> Vec<Span> {
    spans.iter_mut().for_each(|s| s.trace = trace);
    spans
}

#[test]
fn one_trace_id_in_two_sets_is_two_traces() {
    let a = [span(1, 0, "R", 100, 200), span(2, 1, "A", 110, 150)];
    let b = [span(1, 0, "R", 100, 300), span(3, 1, "B", 110, 150)];
    // Fragments of both come to both workers, and the second load adds to each.
    let mut sets = vec![TraceSet::new(), TraceSet::new()];
    for (i, (x, y)) in a.iter().zip(&b).enumerate() {
        let set = &mut sets[i];
        set.loading_group = 1;
        stage(set, std::slice::from_ref(y));
        set.loading_group = 0;
        stage(set, std::slice::from_ref(x));
    }
    let mut pool = NativePool::of(sets).unwrap();
    assert_eq!(latencies(&mut pool, Selection::default()), [100]);
    assert_eq!(latencies(&mut pool, Selection { group: 1, ..Selection::default() }), [200]);
    let overview = pool.run(queries::Overview::default()).unwrap();
    assert_eq!((overview.traces, overview.spans), (1, 2));
    assert_eq!((overview.other_traces, overview.other_spans), (1, 2));
    for (group, operation) in [(0, "A"), (1, "B")] {
        let overview = pool.run(queries::Overview { group, ..Default::default() }).unwrap();
        assert_eq!((overview.traces, overview.other_traces, overview.request_types.len()), (1, 1, 1));
        assert_eq!(overview.latency_us.p50, f64::from(100 * (1 + u32::from(group))));
        let names: Vec<&str> = overview.endpoints.iter().map(|of| of.operation.as_str()).collect();
        assert_eq!(names, [operation, "R"]);
        let query = queries::Span { trace_id: format!("{:032x}", 1), span: SpanKey::Index(1), group };
        let found = pool.run(query).unwrap().unwrap();
        assert_eq!(found.operation, operation);
    }
}

#[test]
fn removing_one_set_leaves_the_other() {
    let mut set = set_of(&[span(1, 0, "R", 100, 200)]);
    set.loading_group = 1;
    stage(&mut set, &[span(1, 0, "R", 100, 300)]);
    set.seal().unwrap();
    set.retain(|trace| trace.id.group == 1);
    assert_eq!(set.traces().len(), 1);
    assert_eq!(set.find_trace(TraceId::hex(1)), None);
    assert_eq!(set.find_trace(TraceId::hex(1).in_group(1)), Some(0));
    assert_eq!(set.duration_us(0), 200);
}

/// Makes three requests: 1 has an error in a child, 2 calls B and starts late, 3 is plain; `zone` is a tag of single
/// spans and `host` one of a process.
fn tagged() -> TraceSet {
    let mut set = TraceSet::new();
    let mut failing = of_trace(1, vec![span(1, 0, "R", 1000, 1100), span(2, 1, "A", 1010, 1050)]);
    failing[1].error = true;
    stage(&mut set, &failing);
    stage(&mut set, &of_trace(2, vec![span(1, 0, "R", 2000, 2200), span(2, 1, "B", 2010, 2050)]));
    set.tags.begin();
    set.tags.add("zone", "eu");
    let zone = set.tags.finish();
    set.tags.begin();
    set.tags.add("host", "h3");
    let host = set.tags.finish();
    let mut push = |id, parent, start_us, duration_us, tags, process_tags| {
        let raw = RawSpan {
            id: SpanId::hex(id),
            parent: SpanId::hex(parent),
            start_us,
            duration_us,
            operation: set.names.intern("R"),
            process: set.process("R", "", process_tags),
            tags,
            flags: Default::default(),
        };
        set.stage(TraceId::hex(3), raw).unwrap();
    };
    push(1, 0, 3000, 300, TagSetId::EMPTY, TagSetId::EMPTY);
    push(2, 1, 3010, 10, zone, host);
    // Wholly outside its parent: dropped, so what it has counts for nothing.
    stage(&mut set, &of_trace(2, vec![span(9, 1, "outside", 9000, 9001)]));
    set.seal().unwrap();
    set
}

#[test]
fn filters_keep_the_requests_they_name() {
    let mut pool = NativePool::of(vec![tagged()]).unwrap();
    let mut kept = |filters: Vec<Filter>| latencies(&mut pool, Selection { filters, ..Selection::default() });
    let tag = |key: &str, value: &str| Filter::Tag { key: key.to_owned(), value: value.to_owned() };
    let contains = |name: &str| Filter::Contains(Endpoint::new(name, name));
    assert_eq!(kept(vec![]), [300, 200, 100]);
    assert_eq!(kept(vec![Filter::HasError]), [100]);
    assert_eq!(kept(vec![contains("B")]), [200]);
    assert_eq!(kept(vec![contains("R")]), [300, 200, 100]);
    assert_eq!(kept(vec![contains("outside")]), Vec::<u64>::new());
    assert_eq!(kept(vec![contains("nowhere")]), Vec::<u64>::new());
    assert_eq!(kept(vec![tag("zone", "eu")]), [300]);
    assert_eq!(kept(vec![tag("host", "h3")]), [300]);
    assert_eq!(kept(vec![tag("zone", "h3")]), Vec::<u64>::new());
    let time = |from_us, to_us| Filter::Time { from_us, to_us };
    assert_eq!(kept(vec![time(1000, 2000)]), [100]);
    assert_eq!(kept(vec![time(1001, 2001)]), [200]);
    assert_eq!(kept(vec![time(0, 3000), Filter::HasError]), [100]);
    assert_eq!(kept(vec![contains("B"), Filter::HasError]), Vec::<u64>::new());
    // Single requests of the first set; they choose nothing in another one.
    let only = |group, trace: u32| {
        let request = (format!("{trace:032x}"), format!("{:016x}", 1));
        Filter::Only(OnlyFilter { group, requests: vec![request] })
    };
    assert_eq!(kept(vec![only(0, 3)]), [300]);
    assert_eq!(kept(vec![only(0, 77)]), Vec::<u64>::new());
    assert_eq!(kept(vec![only(1, 77)]), [300, 200, 100]);
}

#[test]
fn filters_look_at_the_request_and_not_at_its_whole_trace() {
    let mut spans = vec![
        span(1, 0, "R", 0, 1000),
        span(2, 1, "E", 100, 200),
        span(3, 1, "E", 300, 450),
        span(4, 3, "X", 310, 320),
    ];
    spans[3].error = true;
    let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
    let root = RootEndpoint::Endpoint(Endpoint::new("E", "E"));
    let mut kept = |filters: Vec<Filter>| {
        latencies(&mut pool, Selection { root: root.clone(), filters, ..Selection::default() })
    };
    assert_eq!(kept(vec![]), [150, 100]);
    assert_eq!(kept(vec![Filter::HasError]), [150]);
    assert_eq!(kept(vec![Filter::Time { from_us: 0, to_us: 300 }]), [100]);
}

#[test]
fn a_percentile_range_is_that_of_each_request_type_unless_over_all() {
    // Ten requests of a fast root endpoint and ten of a slow one; half of these also call another service.
    let request = |number: u64| {
        let (name, us) = if number <= 10 { ("fast", number) } else { ("slow", 1000 * number) };
        let mut spans = vec![span(1, 0, name, 1_000_000, 1_000_000 + us)];
        if number > 15 {
            spans.push(span(2, 1, "other", 1_000_100, 1_000_200));
        }
        of_trace(number.into(), spans)
    };
    let spans: Vec<Span> = (1..=20).flat_map(request).collect();
    // On two workers the same as on one.
    let (odd, even): (Vec<Span>, Vec<Span>) = spans.iter().cloned().partition(|span| span.trace % 2 == 1);
    for sets in [vec![set_of(&spans)], vec![set_of(&odd), set_of(&even)]] {
        let mut pool = NativePool::of(sets).unwrap();
        let tail = PercentileRange::open(90_000, 100_000);
        let of = |by| Selection { by, ..Selection::default().with_range(tail) };
        assert_eq!(latencies(&mut pool, of(GroupBy::Root)), [20_000, 10]);
        assert_eq!(latencies(&mut pool, of(GroupBy::Shape)), [20_000, 15_000, 10]);
        // Two shapes of half of the slow requests each are told apart by default.
        assert_eq!(latencies(&mut pool, of(GroupBy::Automatic)), [20_000, 15_000, 10]);
        let over_all = Selection { over_all: true, ..of(GroupBy::Root) };
        assert_eq!(latencies(&mut pool, over_all), [20_000, 19_000]);
        let kind = RequestType { root: Endpoint::new("slow", "slow"), part: "without calls".to_owned() };
        let filters = vec![Filter::Type(kind)];
        let of_type = Selection { filters, by: GroupBy::Shape, ..Selection::default() };
        assert_eq!(latencies(&mut pool, of_type), [15_000, 14_000, 13_000, 12_000, 11_000]);
        // What is offered says what it holds, and no range is empty.
        let facts = pool.run(queries::Range { selection: of(GroupBy::Root) }).unwrap().facts;
        assert_eq!((facts.types, facts.marks[0].requests, facts.marks[1].requests), (2, 20, 10));
        // The slower half of ten of each type is five, and each has its own end.
        let of_types = |mark: RangeMark| (mark.requests, mark.least_us, mark.most_us);
        assert_eq!(of_types(facts.marks[1]), (10, (1, 11_000), (5, 15_000)));
        assert_eq!(of_types(facts.marks[4]), (1, (20_000, 20_000), (20_000, 20_000)));
        let five = Selection { range: PercentileRange::TAIL, ..of(GroupBy::Root) };
        let slower: Vec<u64> = (16..=20).rev().map(|ms| ms * 1000).chain((6..=10).rev()).collect();
        assert_eq!(latencies(&mut pool, five), slower);
        let nothing = PercentileRange::open(99_000, 100_000);
        let few = Selection { range: nothing, ..of(GroupBy::Root) };
        assert_eq!(latencies(&mut pool, few), [20_000]);
    }
}

#[test]
fn services_are_ranked_by_the_time_that_somebody_waits_for_them() {
    let spans = [
        span(1, 0, "front", 0, 100),
        // Two calls that overlap cover 60 of the front's 100.
        span(2, 1, "cart", 10, 50),
        span(3, 1, "stock", 30, 70),
        // Within the time of the stock: nobody waits for it, nor for what it calls.
        span(4, 1, "advert", 35, 65),
        span(5, 4, "images", 36, 64),
        span(6, 2, "store", 10, 49),
    ];
    // front 40, stock 40, store 39, cart 1.
    let expected = ["front", "stock", "store", "cart", "advert", "images"].map(str::to_owned);
    let most = |spans: &[Span]| {
        NativePool::of(vec![set_of(spans)]).unwrap().run(queries::Overview::default()).unwrap().most_time
    };
    assert_eq!(most(&spans), expected);
    let mut backwards = spans.to_vec();
    backwards.reverse();
    assert_eq!(most(&backwards), expected);
    // Two workers with a part of the traces each, and a dozen at most.
    let many: Vec<Span> = (0..20u32)
        .flat_map(|n| {
            let name = format!("s{n:02}");
            let end_us = 100 + u64::from(n);
            of_trace(u128::from(n) + 1, vec![span(1, 0, &name, 0, end_us)])
        })
        .collect();
    let whole = most(&many);
    assert_eq!(whole, (8..20).rev().map(|n| format!("s{n:02}")).collect::<Vec<_>>());
    let halves = vec![set_of(&many[..7]), set_of(&many[7..])];
    assert_eq!(NativePool::of(halves).unwrap().run(queries::Overview::default()).unwrap().most_time, whole);
}
