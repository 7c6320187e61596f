//! Tests of names of places.

use crate::places::*;
use crate::set::Columns;
use crate::{Flags, RawSpan, SpanId, TagSetId, TraceId};

/// A span as (parent, service, operation, kind, tags), numbered from 1 in its trace.
type Spec<'a> = (u64, &'a str, &'a str, SpanKind, &'a [(&'a str, &'a str)]);

fn set(traces: &[&[Spec]]) -> TraceSet {
    let mut set = TraceSet::new();
    for (trace, spans) in traces.iter().enumerate() {
        let mut raw = Vec::new();
        for (number, &(parent, service, operation, kind, tags)) in spans.iter().enumerate() {
            set.tags.begin();
            tags.iter().for_each(|(key, value)| set.tags.add(key, value));
            let tags = set.tags.finish();
            raw.push(RawSpan {
                id: SpanId::hex(number as u64 + 1),
                parent: SpanId::hex(parent),
                start_us: 1000 + number as u64,
                duration_us: 100 - number as u64,
                operation: set.names.intern(operation),
                process: set.process(service, "", TagSetId::EMPTY),
                tags,
                flags: Flags::of_kind(kind),
            });
        }
        assert_eq!(set.add_trace(TraceId::hex(trace as u128 + 1), &mut raw), Ok(()));
    }
    set
}

fn name(set: &mut TraceSet, reading: Reading) {
    let names = PlaceFacts::of(set).names(reading);
    set.name_places(Some(&names), false);
}

/// Returns what the rows are called.
fn shown(set: &TraceSet) -> Vec<&str> {
    (0..set.spans() as u32).map(|row| set.endpoint_name(set.endpoint(row)).1).collect()
}

const REAL: fn() -> Reading = Reading::real;
use SpanKind::{Client, Server, Unspecified};

/// Returns one more name of one shape than are kept apart.
fn hundred_and_one_names() -> Vec<String> {
    (0..101).map(|i| format!("GET /user/{}", 1000 + i)).collect()
}

/// Returns a trace of a single span for each name.
fn roots(names: &[String]) -> Vec<[Spec<'_>; 1]> {
    names.iter().map(|name| -> [Spec; 1] { [(0, "a", name, Server, &[])] }).collect()
}

#[test]
fn a_call_says_its_callee_where_there_are_several() {
    let mut set = set(&[
        &[(0, "a", "GET /", Server, &[]), (1, "a", "HTTP GET", Client, &[]), (2, "b", "read", Server, &[])],
        &[(0, "a", "GET /", Server, &[]), (1, "a", "HTTP GET", Client, &[]), (2, "c", "read", Server, &[])],
        &[(0, "a", "GET /", Server, &[]), (1, "a", "HTTP GET", Client, &[]), (2, "c", "list", Server, &[])],
        &[(0, "a", "GET /", Server, &[]), (1, "a", "POST", Client, &[]), (2, "c", "list", Server, &[])],
    ]);
    name(&mut set, REAL());
    let calls = [1, 4, 7, 10].map(|row| shown(&set)[row]);
    assert_eq!(calls, ["HTTP GET -> b", "HTTP GET -> c read", "HTTP GET -> c list", "POST"]);
    assert!(set.says_callee(1) && !set.says_callee(10) && !set.says_callee(0));
    // As recorded again, and found by that name all the time.
    let recorded = set.find_endpoint("a", "HTTP GET").unwrap();
    let named = set.find_endpoint("a", "HTTP GET -> b").unwrap();
    assert!(set.is_of(1, recorded) && set.is_of(1, named) && !set.is_of(4, named));
    set.name_places(None, false);
    assert_eq!(shown(&set)[1], "HTTP GET");
    assert!(set.is_of(1, recorded) && !set.is_of(0, recorded));
}

#[test]
fn what_is_not_recorded_is_named_by_tags() {
    let call = |tags| -> [Spec; 2] { [(0, "a", "GET /", Server, &[]), (1, "a", "query", Client, tags)] };
    let tags: [&[(&str, &str)]; 5] = [
        &[("db.system", "mysql"), ("db.name", "shop"), ("net.peer.name", "x")],
        &[("server.address", "mail.example.com:25")],
        &[("net.peer.name", "10.0.0.7:80")],
        &[("server.address", "[::1]:80")],
        &[("peer.service", "pay"), ("db.system", "mysql")],
    ];
    let traces: Vec<[Spec; 2]> = tags.into_iter().map(call).collect();
    let traces: Vec<&[Spec]> = traces.iter().map(|trace| trace.as_slice()).collect();
    let mut set = set(&traces);
    name(&mut set, REAL());
    let calls: Vec<&str> = shown(&set).into_iter().skip(1).step_by(2).collect();
    let expected = ["mysql shop", "mail.example.com", "{ip}", "{ip}", "pay"];
    assert_eq!(calls, expected.map(|peer| format!("query -> {peer} (not instrumented)")));
}

#[test]
fn without_kinds_only_the_calling_half_says_its_callee() {
    let chain = |last| -> [Spec; 4] {
        [
            (0, "a", "root", Unspecified, &[]),
            (1, "a", "call", Unspecified, &[]),
            (2, "b", "serve", Unspecified, &[]),
            (3, last, "work", Unspecified, &[]),
        ]
    };
    let mut set = set(&[&chain("c"), &chain("d")]);
    name(&mut set, REAL());
    // `serve` enters b, and is no calling half; `call` has one callee.
    assert_eq!(shown(&set)[..4], ["root", "call", "serve", "work"]);
}

#[test]
fn the_hundred_and_first_name_folds_them_all() {
    let names = hundred_and_one_names();
    let traces = roots(&names);
    let slices: Vec<&[Spec]> = traces.iter().map(|trace| trace.as_slice()).collect();
    let mut few = set(&slices[..100]);
    name(&mut few, REAL());
    assert_eq!(shown(&few)[7], "GET /user/1007");
    let mut many = set(&slices);
    name(&mut many, REAL());
    assert!(shown(&many).iter().all(|&name| name == "GET /user/{n}") && many.is_folded(3));
    name(&mut many, REAL().with(ReadingRule::Templates, false));
    assert_eq!(shown(&many)[7], "GET /user/1007");
    // Two workers, some of whose names are the same, say what one says, in either order.
    let (mut a, b) = (PlaceFacts::of(&set(&slices[..60])), PlaceFacts::of(&set(&slices[40..])));
    let mut other = b.clone();
    other.merge(a.clone());
    a.merge(b);
    let one = PlaceFacts::of(&set(&[&slices[..60], &slices[40..]].concat()));
    assert_eq!((&a, &other), (&one, &one));
}

/// Makes a set with a span for each of these numbers of users, by service.
fn users(parts: &[(&str, std::ops::Range<u32>)]) -> TraceSet {
    let mut set = TraceSet::new();
    for (service, numbers) in parts {
        for number in numbers.clone() {
            let mut raw = vec![RawSpan {
                id: SpanId::hex(1),
                parent: SpanId::NONE,
                start_us: 1000,
                duration_us: 10,
                operation: set.operation(&format!("GET /user/{}", 1000 + number)),
                process: set.process(service, "", TagSetId::EMPTY),
                tags: TagSetId::EMPTY,
                flags: Flags::default(),
            }];
            let trace = TraceId::hex(set.traces().len() as u128 + 1);
            assert_eq!(set.add_trace(trace, &mut raw), Ok(()));
        }
    }
    set
}

#[test]
fn names_beyond_what_a_set_keeps_fold_those_of_every_service_in_any_order() {
    let many = 0..MOST_RECORDED + 10;
    let (half, few) = (MOST_RECORDED / 2, 50_000..50_060);
    let orders: [Vec<TraceSet>; 5] = [
        vec![users(&[("a", many.clone()), ("b", few.clone())])],
        vec![users(&[("b", few.clone()), ("a", many.clone())])],
        vec![users(&[("a", many.clone())]), users(&[("b", few.clone())])],
        vec![users(&[("b", few.clone()), ("a", 0..half)]), users(&[("a", half..many.end)])],
        vec![users(&[("b", 50_000..50_030), ("a", many.clone()), ("b", 50_030..50_060)])],
    ];
    for mut sets in orders {
        let mut facts = PlaceFacts::default();
        sets.iter().for_each(|set| facts.merge(PlaceFacts::of(set)));
        let names = facts.names(REAL());
        for set in &mut sets {
            set.name_places(Some(&names), false);
            assert!(shown(set).iter().all(|&name| name == "GET /user/{n}"), "{:?}", &shown(set)[..3]);
        }
    }
    // With no more than a set keeps, each service counts for itself.
    let mut set = users(&[("a", 0..300), ("b", few)]);
    name(&mut set, REAL());
    assert_eq!((shown(&set)[0], shown(&set)[300]), ("GET /user/{n}", "GET /user/51000"));
}

#[test]
fn a_set_that_grows_is_named_on_and_services_are_places() {
    let trace: [Spec; 3] =
        [(0, "a", "GET /", Server, &[]), (1, "a", "HTTP GET", Client, &[]), (2, "b", "read", Server, &[])];
    let mut set = set(&[&trace]);
    let names = PlaceNames {
        calls: [(Endpoint::new("a", "HTTP GET"), BTreeSet::new())].into(),
        ..PlaceNames::default()
    };
    set.name_places(Some(&names), true);
    let services = |set: &TraceSet| {
        let name = |row| set.endpoint_name(set.endpoint(row));
        (0..set.spans() as u32).map(name).map(|(s, o)| (s.to_owned(), o.to_owned())).collect::<Vec<_>>()
    };
    let of = |service: &str| (service.to_owned(), String::new());
    assert_eq!(services(&set), [of("a"), of("a"), of("b")]);
    set.name_places(Some(&names), false);
    assert_eq!(shown(&set), ["GET /", "HTTP GET -> b", "read"]);
    let mut raw: Vec<RawSpan> = (0..3).map(|row| set.raw(row)).collect();
    assert_eq!(set.add_trace(TraceId::hex(9), &mut raw), Ok(()));
    set.name_places(Some(&names), false);
    assert_eq!(shown(&set)[3..], ["GET /", "HTTP GET -> b", "read"]);
}

#[test]
fn a_row_costs_38_bytes_and_2_more_where_places_have_other_names() {
    let names = hundred_and_one_names();
    let traces = roots(&names);
    let slices: Vec<&[Spec]> = traces.iter().map(|trace| trace.as_slice()).collect();
    let mut set = set(&slices);
    name(&mut set, REAL());
    // All of them, so that none is added unseen.
    let Columns { start_us, duration_us, span_id, parent, endpoint, process, tag_set, flags, odd_parents } =
        &set.columns;
    let longs = [start_us, duration_us, span_id].map(|column| size_of_val(column.as_slice()));
    let numbers = [parent, tag_set].map(|column| size_of_val(column.as_slice()));
    let short = [endpoint, process, &set.places.column].map(|column| {
        assert!(matches!(column, Numbers::Short(_)));
        2 * column.len()
    });
    let flags = size_of_val(flags.as_slice());
    let recorded: usize = longs.into_iter().chain(numbers).chain(short).chain([flags]).sum();
    assert!(odd_parents.is_empty());
    assert_eq!(recorded, (38 + 2) * 101);
}
