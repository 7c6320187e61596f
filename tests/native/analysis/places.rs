//! The names of places: calls by what they call, names with values by their template, every span by its service.

use crate::common::{Span, generated, set_of, span};
use pathlight::engine::queries::{self, OverviewReport};
use pathlight::engine::requests::{GroupBy, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{Defects, GenerateOptions};
use pathlight::trace::{Endpoint, PathSettings, Reading, ReadingRule, TraceSet};
use std::collections::{BTreeMap, BTreeSet};

fn options(defects: Defects) -> GenerateOptions {
    GenerateOptions { traces: 200, spans: 40, defects, ..GenerateOptions::default() }
}

/// Makes a pool of generated traces, over so many workers.
fn pool(defects: Defects, workers: u64) -> NativePool {
    let part = |number| -> TraceSet {
        let mut set = generated(&options(defects));
        set.retain(|trace| trace.first as u64 % workers == number);
        set
    };
    NativePool::of((0..workers).map(part).collect()).unwrap()
}

fn overview(pool: &mut NativePool, reading: Reading) -> OverviewReport {
    let settings = PathSettings { reading, ..PathSettings::default() };
    OverviewReport {
        heap_bytes: 0,
        ..pool.run(queries::Overview { settings, by: GroupBy::Root, ..queries::Overview::default() }).unwrap()
    }
}

/// Counts the spans by endpoint.
fn endpoints(report: &OverviewReport) -> BTreeMap<(String, String), u64> {
    let endpoints = report.endpoints.iter();
    endpoints.map(|e| ((e.service.clone(), e.operation.clone()), e.spans)).collect()
}

fn names() -> Reading {
    Reading::PLAIN.with(ReadingRule::Callees, true).with(ReadingRule::Templates, true)
}

#[test]
fn ids_in_names_are_one_name_again() {
    let clean = endpoints(&overview(&mut pool(Defects::default(), 1), Reading::PLAIN));
    let defects = Defects { ids_in_names: true, ..Defects::default() };
    let plain = overview(&mut pool(defects, 1), Reading::PLAIN);
    let real = overview(&mut pool(defects, 1), names());
    assert!(plain.endpoints.len() > 3 * clean.len());
    // Endpoints with few requests keep their names.
    let many = |place: &(&(String, String), &u64)| *place.1 > 150;
    let folded = endpoints(&real);
    let mut compared = 0;
    for ((service, operation), spans) in clean.iter().filter(many) {
        let named = (service.clone(), format!("{operation}/{{n}}"));
        let found = folded.get(&named).or_else(|| folded.get(&(service.clone(), operation.clone())));
        assert_eq!(found, Some(spans), "{service} {operation}");
        compared += u32::from(folded.contains_key(&named));
    }
    assert!(compared >= 5, "{compared} templates");
    assert!(real.reading.found.contains_key(&pathlight::trace::ReadingFinding::Templates));
}

#[test]
fn generic_names_say_what_they_call() {
    let defects = Defects { generic_names: true, ..Defects::default() };
    let mut pool = pool(defects, 1);
    let calls = |report: &OverviewReport| -> BTreeSet<String> {
        let generic = report.endpoints.iter().filter(|e| e.operation.starts_with("HTTP GET"));
        generic.map(|e| format!("{}: {}", e.service, e.operation)).collect()
    };
    let plain = overview(&mut pool, Reading::PLAIN);
    let real = overview(&mut pool, names());
    assert!(calls(&plain).iter().all(|call| call.ends_with("HTTP GET")));
    assert!(calls(&real).len() > calls(&plain).len(), "{:?}", calls(&real));
    // No span is lost, and nothing but calls is named otherwise.
    let spans = |report: &OverviewReport| report.endpoints.iter().map(|e| e.spans).sum::<u64>();
    assert_eq!(spans(&plain), spans(&real));
    let others = |report: &OverviewReport| {
        let mut all = endpoints(report);
        all.retain(|(_, operation), _| !operation.starts_with("HTTP GET"));
        all
    };
    assert_eq!(others(&plain), others(&real));
}

#[test]
fn any_number_of_workers_gives_the_same_names() {
    let defects = Defects { generic_names: true, ids_in_names: true, ..Defects::default() };
    let (mut one, mut four) = (pool(defects, 1), pool(defects, 4));
    let query = |by_service| {
        let selection = Selection { reading: Reading::real(), by_service, ..Selection::default() };
        queries::CriticalPath { selection }
    };
    // One after the other, so that names change there and back.
    for by_service in [false, true, false] {
        let (a, b) = (one.run(query(by_service)).unwrap(), four.run(query(by_service)).unwrap());
        assert_eq!((&a.endpoints, &a.nodes), (&b.endpoints, &b.nodes));
    }
    assert_eq!(overview(&mut one, Reading::real()), overview(&mut four, Reading::real()));
    assert_eq!(overview(&mut one, Reading::PLAIN), overview(&mut four, Reading::PLAIN));
}

#[test]
fn a_root_endpoint_is_found_by_both_names() {
    let defects = Defects { ids_in_names: true, ..Defects::default() };
    let options = GenerateOptions { traces: 1500, spans: 5, ..options(defects) };
    let mut pool = NativePool::of(vec![generated(&options)]).unwrap();
    let folded = overview(&mut pool, names())
        .request_types
        .into_iter()
        .find(|t| t.kind.root.operation.ends_with("{n}"))
        .unwrap();
    let recorded = overview(&mut pool, Reading::PLAIN).request_types;
    let template = folded.kind.root.operation.trim_end_matches("{n}");
    let one = recorded.iter().find(|t| t.kind.root.operation.starts_with(template)).unwrap();
    let mut requests = |operation: &str| {
        let root = pathlight::engine::requests::RootEndpoint::Endpoint(Endpoint::new(
            &one.kind.root.service,
            operation,
        ));
        let selection = Selection { reading: names(), root, ..Selection::default() };
        pool.run(queries::Range { selection }).unwrap().facts.requests
    };
    assert_eq!(requests(&folded.kind.root.operation), folded.requests);
    assert_eq!(requests(&one.kind.root.operation), one.requests);
}

/// Makes a service that calls itself and another, which calls back.
fn nested() -> Vec<Span> {
    let of = |service: &str, span: Span| Span { service: service.to_owned(), ..span };
    vec![
        of("a", span(1, 0, "GET /", 0, 100)),
        of("a", span(2, 1, "work", 10, 90)),
        of("b", span(3, 2, "read", 20, 80)),
        of("b", span(4, 3, "disk", 30, 60)),
        of("a", span(5, 4, "ask", 40, 50)),
    ]
}

#[test]
fn by_service_callers_and_callees_of_one_service_are_one_frame() {
    let mut pool = NativePool::of(vec![set_of(&nested())]).unwrap();
    let selection = Selection { by_service: true, reading: Reading::PLAIN, ..Selection::default() };
    let report = pool.run(queries::CriticalPath { selection: selection.clone() }).unwrap();
    let frames: Vec<(&str, &str, u128, u128)> = (report.nodes.iter())
        .map(|n| {
            let (service, operation) = report.name(n.endpoint);
            (service, operation, n.exclusive_us.sum, n.inclusive_us.sum)
        })
        .collect();
    // 20 + 20 of the outer a, 10 + 30 + 10 of b without the call back.
    assert_eq!(frames, [("a", "", 40, 100), ("b", "", 50, 60), ("a", "", 10, 10)]);
    let rows = pool.run(queries::Endpoints { selection }).unwrap();
    let times: Vec<(&str, u128)> =
        (0..rows.rows.len()).map(|i| (rows.endpoints[i].names().0, rows.rows[i].exclusive_us.sum)).collect();
    assert_eq!(times, [("a", 50), ("b", 50)]);
}

#[test]
fn by_service_errors_are_those_of_all_its_endpoints() {
    let mut spans = nested();
    // "ask" fails, "disk" with it; "read" does not.
    spans.iter_mut().filter(|span| span.id >= 4).for_each(|span| span.error = true);
    let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
    let selection = Selection { by_service: true, reading: Reading::PLAIN, ..Selection::default() };
    let report = pool.run(queries::Errors { selection }).unwrap();
    let mut rows: Vec<_> = (report.rows.iter())
        .map(|row| (report.name(row.endpoint), row.own, row.propagated, row.stopped))
        .collect();
    rows.sort();
    assert_eq!(rows, [(("a", ""), 1, 0, 0), (("b", ""), 0, 1, 1)]);
    // The frames are those of the critical path.
    let nodes: Vec<_> = (report.nodes.iter())
        .map(|node| (report.name(node.endpoint).0, node.own, node.propagated, node.stopped, node.error_us))
        .collect();
    assert_eq!(nodes, [("a", 0, 0, 0, 0), ("b", 0, 1, 1, 20), ("a", 1, 0, 0, 10)]);
}

#[test]
fn services_have_the_time_of_their_endpoints() {
    let mut pool = pool(Defects::default(), 2);
    let mut times = |by_service| {
        let selection = Selection { by_service, ..Selection::default() };
        let report = pool.run(queries::Impact { selection }).unwrap();
        let mut sums: BTreeMap<String, u128> = BTreeMap::new();
        for row in &report.rows {
            *sums.entry(report.name(row.endpoint).0.to_owned()).or_default() += row.exclusive_us;
        }
        // All latency is divided, also where waiting for a service is that service's.
        let divided: u128 = report.rows.iter().map(|row| row.time_us()).sum();
        assert_eq!(divided, report.facts.latency_sum_us);
        assert_eq!(report.rows.iter().any(|row| row.service_us.is_some_and(|us| us.1 > 0)), by_service);
        (report.rows.len(), sums)
    };
    let ((endpoints, of_endpoints), (services, of_services)) = (times(false), times(true));
    assert_eq!(of_endpoints, of_services);
    assert!(services == of_services.len() && services < endpoints);
}
