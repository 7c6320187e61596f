use super::super::types::*;
use pathlight_trace::{Flags, HighCardinalityKeys, RawSpan, SpanId, SpanKind, TagSetId, TraceId};

/// A span as (parent, service, operation, tags), numbered from 1 in its trace.
type Spec<'a> = (u64, &'a str, &'a str, &'a [(&'a str, &'a str)]);

fn set(traces: &[Vec<Spec>]) -> TraceSet {
    let mut set = TraceSet::new();
    for (trace, spans) in traces.iter().enumerate() {
        let mut raw = Vec::new();
        for (number, &(parent, service, operation, tags)) in spans.iter().enumerate() {
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
                flags: Flags::of_kind(SpanKind::Unspecified),
            });
        }
        assert_eq!(set.add_trace(TraceId::hex(trace as u128 + 1), &mut raw), Ok(()));
    }
    set
}

/// Returns the way that was chosen, and the parts that the requests are of.
fn parts(set: &TraceSet, by: &GroupBy) -> (GroupBy, Vec<String>) {
    let names = TypeFacts::of(set, Reading::real()).names(by);
    let types =
        RequestTypes::new(set, set.traces().iter().map(|trace| trace.first), &names, Default::default());
    let parts = (0..set.traces().len() as u32).map(|r| types.names()[types.of(r) as usize].part.clone());
    (names.by, parts.collect())
}

/// Returns a request of a gateway that calls these operations of other services.
fn calls<'a>(operations: &[&'a str]) -> Vec<Spec<'a>> {
    let mut spans: Vec<Spec> = vec![(0, "front", "Recv.", &[])];
    spans.extend(operations.iter().map(|operation| -> Spec { (1, "back", operation, &[]) }));
    spans
}

#[test]
fn requests_of_one_root_are_of_types_by_what_they_call() {
    let mut traces = vec![calls(&["List", "Get"]); 6];
    traces.extend(vec![calls(&["List", "Get", "PlaceOrder"]); 3]);
    traces.push(calls(&[]));
    let set = set(&traces);
    let (by, parts) = parts(&set, &GroupBy::Automatic);
    assert_eq!(by, GroupBy::Shape);
    assert_eq!(parts[0], "with Get");
    assert_eq!((parts[6].as_str(), parts[9].as_str()), ("with PlaceOrder", "without calls"));
    // What is below another service is not called by the root's.
    let mut deep = calls(&["List"]);
    deep.push((2, "third", "Read", &[]));
    let set = self::set(&[deep, calls(&["List"])]);
    assert_eq!(self::parts(&set, &GroupBy::Shape).1, ["", ""]);
}

#[test]
fn shapes_with_the_same_rarest_callee_have_names_of_their_own() {
    let traces = [calls(&["a"]), calls(&["a", "b"]), calls(&["b"]), calls(&["b"]), calls(&["b"])];
    let (_, parts) = parts(&set(&traces), &GroupBy::Shape);
    assert_eq!(parts, ["with a", "with a, b", "with b", "with b", "with b"]);
}

#[test]
fn routes_come_from_tags_paths_and_the_only_call() {
    let root = |tags| -> Vec<Spec> { vec![(0, "front", "/*", tags)] };
    let traces = [
        root(&[("http.route", "/cart/{id}"), ("http.url", "http://x/other")]),
        root(&[("http.url", "https://shop:80/user/8123/cart?x=1")]),
        root(&[("url.path", "/plain")]),
        vec![(0, "front", "/*", &[] as &[_]), (1, "back", "list", &[])],
        // A bare method says nothing: what it calls does.
        vec![(0, "front", "/*", &[]), (1, "back", "GET", &[]), (2, "back", "find", &[])],
        root(&[]),
    ];
    let (by, parts) = parts(&set(&traces), &GroupBy::Automatic);
    assert_eq!(by, GroupBy::Route);
    assert_eq!(parts, ["/cart/{id}", "/user/{n}/cart", "/plain", "list", "find", "(no route)"]);
}

#[test]
fn one_type_is_enough_where_nothing_tells_requests_apart() {
    let set = set(&vec![calls(&["a", "b"]); 5]);
    assert_eq!(parts(&set, &GroupBy::Automatic), (GroupBy::Root, vec![String::new(); 5]));
    assert_eq!(parts(&set, &GroupBy::Route).1, vec![String::new(); 5]);
    let tagged = self::set(&[vec![(0, "a", "x", &[("k", "1")] as &[_])], vec![(0, "a", "x", &[])]]);
    assert_eq!(parts(&tagged, &GroupBy::Tag("k".to_owned())).1, ["k=1", "(no k)"]);
}

#[test]
fn facts_of_several_workers_are_those_of_one() {
    let traces: Vec<Vec<Spec>> =
        [calls(&["a"]), calls(&["b", "c"]), calls(&["c"]), calls(&["a"])].into_iter().collect();
    let whole = TypeFacts::of(&set(&traces), Reading::real());
    let (mut left, right) = (
        TypeFacts::of(&set(&traces[..1]), Reading::real()),
        TypeFacts::of(&set(&traces[1..]), Reading::real()),
    );
    let mut other = right.clone();
    other.merge(left.clone());
    left.merge(right);
    assert_eq!((&left, &other), (&whole, &whole));
}

/// Returns facts and types of the requests as so many workers see them together, each with every so manieth trace.
fn by_workers(traces: &[Vec<Spec>], workers: usize) -> (TypeFacts, Vec<(usize, String)>) {
    let part = |worker| traces.iter().skip(worker).step_by(workers).cloned().collect::<Vec<_>>();
    let mut sets: Vec<TraceSet> = (0..workers).map(|worker| set(&part(worker))).collect();
    let high_cardinality = HighCardinalityKeys::of(sets.iter().map(|set| set.tags.key_values()));
    sets.iter_mut().for_each(|set| set.mark_high_cardinality(&high_cardinality));
    let mut facts = TypeFacts::default();
    sets.iter().rev().for_each(|set| facts.merge(TypeFacts::of(set, Reading::real())));
    let names = facts.names(&GroupBy::Route);
    let mut types: Vec<(usize, String)> = Vec::new();
    for (worker, set) in sets.iter().enumerate() {
        let of =
            RequestTypes::new(set, set.traces().iter().map(|trace| trace.first), &names, Default::default());
        let types_of = (0..set.traces().len()).map(|r| of.names()[of.of(r as u32) as usize].part.clone());
        types.extend(types_of.enumerate().map(|(at, part)| (worker + at * workers, part)));
    }
    types.sort();
    (facts, types)
}

#[test]
fn routes_of_more_addresses_than_are_stored_are_the_same_for_any_number_of_workers() {
    let word = |i: usize| i.to_string().bytes().map(|digit| char::from(digit + 49)).collect::<String>();
    // Few paths with many numbers in them, and many paths; in both some requests state their route.
    for is_many in [false, true] {
        let paths =
            |i: usize| if is_many { format!("/{}", word(i)) } else { format!("/{}/{i}", word(i % 7)) };
        let addresses: Vec<String> = (0..13_000).map(|i| format!("http://shop{}", paths(i))).collect();
        let tags: Vec<[(&str, &str); 1]> = (addresses.iter().enumerate())
            .map(|(i, address)| match i % 5 {
                0 => [("http.route", if i % 2 == 0 { "/even" } else { "/odd" })],
                _ => [("http.url", address.as_str())],
            })
            .collect();
        let traces: Vec<Vec<Spec>> =
            tags.iter().map(|tags| vec![(0, "front", "/*", tags as &[_]), (1, "back", "get", &[])]).collect();
        let (facts, types) = by_workers(&traces, 1);
        let routes: BTreeSet<&str> = types.iter().map(|(_, part)| part.as_str()).collect();
        let expected = if is_many { 3 } else { 9 };
        assert_eq!(routes.len(), expected, "{routes:?}");
        assert_eq!(facts.last_source(), Some(if is_many { RouteSource::Tag } else { RouteSource::Other }));
        for workers in [2, 3, 5] {
            assert!(by_workers(&traces, workers).1 == types, "{workers} workers");
        }
    }
}

#[test]
fn ways_are_read_as_they_are_written() {
    for by in [
        GroupBy::Automatic,
        GroupBy::Root,
        GroupBy::Route,
        GroupBy::Shape,
        GroupBy::Tag("http.route".to_owned()),
    ] {
        assert_eq!(GroupBy::parse(&by.key()), Some(by));
    }
    assert_eq!((GroupBy::parse("tag="), GroupBy::parse("x")), (None, None));
}

#[test]
fn requests_are_of_types_by_whether_they_pass_through_a_service() {
    let mut deep = calls(&["List"]);
    deep.push((2, "third", "Read", &[]));
    // The same service twice in one request is one pass.
    deep.push((2, "third", "Read", &[]));
    let set = set(&[deep, calls(&["List"]), calls(&[])]);
    let through = |service: &str| parts(&set, &GroupBy::Through(service.to_owned())).1;
    assert_eq!(through("third"), ["through third", "not through third", "not through third"]);
    assert_eq!(through("back"), ["through back", "through back", "not through back"]);
    assert_eq!(through("front"), ["through front"; 3], "the root's own");
    assert_eq!(through("nobody"), ["not through nobody"; 3]);
    let by = GroupBy::Through("a=b".to_owned());
    assert_eq!((by.key().as_ref(), GroupBy::parse(&by.key())), ("through=a=b", Some(by.clone())));
    assert_eq!((GroupBy::parse("through="), GroupBy::parse("thru=x")), (None, None));
}
