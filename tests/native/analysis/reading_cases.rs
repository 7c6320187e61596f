//! Traces as real tools write them (`tests/fixtures/reading/`), each with what is right about it.

use crate::common::load;
use pathlight::engine::diagnosis::DiagnosisSettings;
use pathlight::engine::findings::{FindingKind, FindingPlace, FindingsReport};
use pathlight::engine::queries::{self, OverviewReport};
use pathlight::engine::requests::{GroupBy, RootEndpoint, Selection, Until};
use pathlight::engine::run::native::NativePool;
use pathlight::trace::{Endpoint, PathSettings, Reading, ReadingFinding, TraceSet};
use pathlight::view::address::Address;
use pathlight::view::findings::{links as finding_links, words as finding_words};
use pathlight::view::reading;
use pathlight::view::views::View;
use std::collections::BTreeMap;
use std::path::Path;

fn case(file: &str) -> TraceSet {
    load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reading").join(file), 1 << 12)
}

fn pool(file: &str) -> NativePool {
    NativePool::of(vec![case(file)]).unwrap()
}

fn at(service: &str, operation: &str) -> Selection {
    Selection { root: RootEndpoint::Endpoint(Endpoint::new(service, operation)), ..Selection::default() }
}

fn overview(pool: &mut NativePool) -> OverviewReport {
    pool.run(queries::Overview::default()).unwrap()
}

fn findings(pool: &mut NativePool, selection: Selection) -> FindingsReport {
    pool.run(queries::Findings { selection, baseline: None }).unwrap()
}

/// Returns milliseconds with one decimal.
fn ms(us: f64) -> f64 {
    (us / 100.0).round() / 10.0
}

/// Returns requests, median and 95th percentile of their latency in milliseconds.
fn latency(pool: &mut NativePool, selection: Selection) -> (u64, f64, f64) {
    let facts = pool.run(queries::Range { selection }).unwrap().facts;
    (facts.requests, ms(facts.latency_us.p50), ms(facts.latency_us.p95))
}

/// Returns the mean self time on the path by operation, in milliseconds per request.
fn path(pool: &mut NativePool, selection: Selection) -> BTreeMap<String, f64> {
    let report = pool.run(queries::Endpoints { selection }).unwrap();
    let named = report.endpoints.iter().zip(&report.rows);
    named.map(|(of, row)| (of.operation.clone(), ms(row.exclusive_us.mean))).collect()
}

fn milliseconds(of: &[(&str, f64)]) -> BTreeMap<String, f64> {
    of.iter().map(|&(name, ms)| (name.to_owned(), ms)).collect()
}

/// Checks that a file is one request of a complete trace with this path.
#[track_caller]
fn is_one_request(file: &str, expected: &[(&str, f64)]) {
    let mut pool = pool(file);
    let all: f64 = expected.iter().map(|(_, ms)| ms).sum();
    assert_eq!(latency(&mut pool, Selection::default()), (1, all, all));
    assert_eq!(path(&mut pool, Selection::default()), milliseconds(expected));
    let quality = overview(&mut pool).quality;
    assert_eq!((quality.incomplete_traces, quality.orphan_roots, quality.cycles), (0, 0, 0));
    assert_eq!((quality.clipped_spans, quality.dropped_spans), (0, 0));
}

#[test]
fn references_of_a_bridge_are_parents() {
    is_one_request("03-ref-type-child-of.json", &[("bbb", 20.0), ("aaa", 20.0), ("ccc", 60.0)]);
}

#[test]
fn a_span_is_not_its_own_parent() {
    is_one_request("12-self-reference.json", &[("gateway", 5.0), ("AuthCheck", 3.0), ("LoadUser", 2.0)]);
}

#[test]
fn a_link_to_a_descendant_leaves_a_trace_complete() {
    is_one_request("13-link-to-descendant.json", &[("import", 2.0), ("parse", 3.0), ("store", 5.0)]);
}

#[test]
fn of_several_parents_the_first_that_is_there_counts() {
    is_one_request("34-two-parents-first-missing.json", &[("join", 60.0), ("merge", 40.0)]);
}

#[test]
fn work_after_the_answer_is_said_and_can_be_looked_at() {
    let mut pool = pool("04-root-shorter-than-trace.json.gz");
    let (requests, p50, p95) = latency(&mut pool, Selection::default());
    assert!(requests == 30 && (32.2..=32.5).contains(&p50) && (32.2..=32.5).contains(&p95), "{p50} {p95}");
    let report = findings(&mut pool, Selection::default());
    let first = &report.findings[0];
    assert_eq!(first.kind(), FindingKind::OutsideRequests);
    assert_eq!(first.place, FindingPlace::Endpoint(Endpoint::new("worker", "orders process")));
    let text = finding_words::sentence(first).to_text();
    assert!(text.contains("is work that no request waits for: 60 spans over 52.2"), "{text}");
    assert!(text.contains("orders process @ worker (30 spans of 900"), "{text}");
    // The page leads there.
    let mut address = Address::default();
    finding_links::show(first, &mut address);
    assert_eq!((address.view, address.selection()), (View::Flame, at("worker", "orders process")));
    assert_eq!(latency(&mut pool, address.selection()), (30, 900.0, 900.0));
    assert_eq!(
        path(&mut pool, address.selection()),
        milliseconds(&[("orders process", 60.0), ("INSERT ledger", 840.0)])
    );
    let coverage = overview(&mut pool).outside.coverage;
    assert_eq!((coverage.traces, coverage.async_spans, coverage.async_us), (30, 60, 30 * 1_740_000));
    let words = reading::words::scope(&coverage, requests);
    assert!(words.starts_with("of 30 traces; 98.") && words.contains("runs asynchronously"), "{words}");
}

#[test]
fn two_requests_of_one_trace_are_two_requests() {
    let mut pool = pool("22-two-requests-one-trace.json");
    let report = overview(&mut pool);
    let rows: Vec<_> =
        report.request_types.iter().map(|row| (row.requests, row.errors, row.latency_us.max)).collect();
    assert_eq!(rows, [(2, 2, 28_000)]);
    assert_eq!(report.latency_us.mean, 25_500.0);
    assert_eq!(report.request_types[0].kind.part, "(caller not recorded)");
    assert_eq!(report.reading.found[&ReadingFinding::Incomplete].spans, 2);
    assert_eq!(
        reading::words::scope(&report.outside.coverage, 2),
        "of 1 trace whose callers are not recorded"
    );
}

#[test]
fn every_call_of_a_caller_that_exports_nothing_is_a_request() {
    let mut pool = pool("28-foreign-caller-10-calls.json.gz");
    let facts = pool.run(queries::Range { selection: Selection::default() }).unwrap().facts;
    let latency = &facts.latency_us;
    assert_eq!(facts.requests, 1000);
    assert_eq!([latency.p50, latency.p95, latency.p99, latency.mean].map(ms), [16.6, 65.0, 97.7, 22.6]);
    let words = reading::words::scope(&facts.coverage, facts.requests);
    assert_eq!(words, "of 100 traces whose callers are not recorded");
    let types = overview(&mut pool).request_types;
    assert_eq!(types.len(), 1);
    assert_eq!(types[0].kind.name(), Endpoint::new("catalog", "GET /item (caller not recorded)"));
    // The type can be chosen.
    let mut address = Address::default();
    address.look_at_type(&types[0].kind);
    assert_eq!(pool.run(queries::Range { selection: address.selection() }).unwrap().facts.requests, 1000);
    // Diagnosis and flow read each as a tree.
    let settings = DiagnosisSettings::default();
    let report = pool.run(queries::Diagnosis { selection: Selection::default(), settings }).unwrap();
    assert_eq!((report.traces, report.has_orphans), (1000, 0));
    // Read plainly, one of ten is kept: the longest.
    let plain = Selection { reading: Reading::PLAIN, ..Selection::default() };
    assert_eq!(pool.run(queries::Range { selection: plain }).unwrap().facts.requests, 100);
}

#[test]
fn steps_of_a_workflow_that_still_runs_are_all_analysed() {
    let mut pool = pool("38-root-still-running.json");
    assert_eq!(latency(&mut pool, Selection::default()), (10, 50_000.0, 50_000.0));
    let coverage = overview(&mut pool).outside.coverage;
    assert_eq!((coverage.traces, coverage.incomplete, coverage.unattached_us), (1, 10, 0));
}

#[test]
fn requests_that_start_together_say_nothing_about_time() {
    for file in ["29-tied-starts-cron.json.gz", "29b-one-instant.json.gz"] {
        let report = findings(&mut pool(file), Selection::default());
        let about_time = |kind: FindingKind| matches!(kind, FindingKind::SinceWhen | FindingKind::Bursts);
        let found: Vec<_> = report.findings.iter().filter(|of| about_time(of.kind())).collect();
        assert!(found.is_empty(), "{file}: {found:?}");
    }
}

#[test]
fn nobody_waits_for_a_consumer_whatever_its_parent() {
    let mut of_driver = pool("32-consumer-below-internal.json.gz");
    assert_eq!(latency(&mut of_driver, Selection::default()), (40, 20.0, 20.0));
    assert_eq!(
        path(&mut of_driver, Selection::default()),
        milliseconds(&[("POST /call", 18.0), ("Send IncomingCall", 2.0)])
    );
    let incoming = at("callhandler", "IncomingCall");
    assert_eq!(latency(&mut of_driver, incoming.clone()), (40, 499.7, 499.7));
    assert_eq!(path(&mut of_driver, incoming)["load customer"], 440.0);
    let mut two = pool("33-two-messages.json.gz");
    assert_eq!(latency(&mut two, at("callhandler", "m0")), (30, 843.0, 843.0));
    assert_eq!(latency(&mut two, at("callhandler", "m1")), (30, 677.0, 677.0));
    let mut cascade = pool("33b-cascade.json.gz");
    assert_eq!(latency(&mut cascade, at("callhandler", "m0")), (30, 798.3, 798.3));
    assert_eq!(latency(&mut cascade, at("live-data", "m2")), (30, 598.5, 598.5));
    assert_eq!(path(&mut cascade, at("live-data", "m2"))["UPDATE"], 580.0);
    for pool in [&mut of_driver, &mut two, &mut cascade] {
        let report = overview(pool);
        let quality = report.quality;
        assert_eq!((quality.clipped_spans, quality.dropped_spans, quality.incomplete_traces), (0, 0, 0));
        assert!(report.reading.found.contains_key(&ReadingFinding::Consumers));
    }
    // Without the rule they are cut or dropped.
    let settings = PathSettings { reading: Reading::PLAIN, ..PathSettings::default() };
    let plain = cascade
        .run(queries::Overview { settings, by: GroupBy::Root, ..queries::Overview::default() })
        .unwrap();
    assert!(plain.quality.clipped_spans > 0 && plain.quality.dropped_spans > 0);
}

#[test]
fn traces_that_are_joined_by_links_are_requests_of_their_own() {
    assert_eq!(latency(&mut pool("26-batch-links.json"), Selection::default()).0, 21);
}

#[test]
fn an_error_of_a_server_follows_from_its_code() {
    let set = case("35-http-errors.json");
    let rows = 0..set.spans() as u32;
    let errors: Vec<bool> = rows.map(|row| set.flags(row).has(pathlight::trace::Flags::ERROR)).collect();
    // 404; 503; 200; error = false; 500, which the application says is no error.
    assert_eq!(errors, [false, true, false, false, false]);
}

#[test]
fn a_regression_is_explained_by_the_service_that_is_slower() {
    let mut set = TraceSet::new();
    for (group, file) in [(0, "30-regression-a.json.gz"), (1, "30-regression-b.json.gz")] {
        set.loading_group = group;
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/reading");
        crate::common::load_into(&mut set, &folder.join(file), 1 << 16);
    }
    set.seal().unwrap();
    let mut pool = NativePool::of(vec![set]).unwrap();
    let (a, b) = (Selection::default(), Selection { group: 1, ..Selection::default() });
    let report = pool.run(queries::ServiceChanges { a, b }).unwrap();
    let first = &report.services[0];
    assert_eq!(first.service, "db");
    assert!((11_500.0..12_500.0).contains(&first.own.excess_us), "{:?}", first.own);
}

/// Returns by edge (sender, receiver): messages, median and longest time in the queue in milliseconds, greatest fan-in.
fn queues(file: &str) -> Vec<(String, u64, f64, f64, u32)> {
    let report = pool(file).run(queries::Queues { selection: Selection::default() }).unwrap();
    let of = |edge: &pathlight::engine::queues::QueueEdge| {
        let names = format!("{} -> {}", edge.sender.operation, edge.receiver.operation);
        (names, edge.messages, ms(edge.wait_us.p50), ms(edge.wait_us.max as f64), edge.most_fan_in)
    };
    report.edges.iter().map(of).collect()
}

#[test]
fn messages_wait_between_sender_and_receiver() {
    let edge = |names: &str, messages, p50, longest| (names.to_owned(), messages, p50, longest, 1);
    let found = queues("04-root-shorter-than-trace.json.gz");
    assert_eq!(found, [edge("orders publish -> orders process", 30, 215.5, 230.0)]);
    let found = queues("32-consumer-below-internal.json.gz");
    assert_eq!(found, [edge("Send IncomingCall -> IncomingCall", 40, 0.3, 0.3)]);
    // One of a sender that still runs, one of a sender that has ended.
    let found = queues("33-two-messages.json.gz");
    assert_eq!(found, [edge("Send m0 -> m0", 30, 1.7, 1.7), edge("Send m1 -> m1", 30, 0.5, 0.5)]);
    let found = queues("33b-cascade.json.gz");
    assert_eq!(found, [edge("Send m0 -> m0", 30, 1.7, 1.7), edge("Send m2 -> m2", 30, 0.5, 0.5)]);
}

#[test]
fn a_batch_in_another_trace_belongs_to_its_senders() {
    let found = queues("26-batch-links.json");
    assert_eq!(found, [("publish -> poll batch".to_owned(), 20, 48.0, 48.0, 20)]);
    let mut pool = pool("26-batch-links.json");
    let report = overview(&mut pool);
    assert_eq!((report.traces, report.links.resolved, report.links.unresolved), (21, 20, 0));
    let note = reading::words::links(report.links);
    assert_eq!((note.count, note.meaning.as_str()), (20, "All of them lead to spans that are loaded."));
}

fn until_done(selection: Selection) -> Selection {
    Selection { until: Until::Done, ..selection }
}

/// Returns the mean times on the path until everything is done, as [`path`] does, of queues by their receiver.
fn path_until_done(pool: &mut NativePool, selection: Selection) -> BTreeMap<String, f64> {
    let times = path(pool, until_done(selection)).into_iter();
    let name = |name: String| match name.split_once(" -> ") {
        Some((_, receiver)) => format!("queue to {}", receiver.split(" (").next().unwrap_or("")),
        None => name,
    };
    times.map(|(of, ms)| (name(of), ms)).collect()
}

#[test]
fn work_goes_on_after_the_answer() {
    let mut orders = pool("04-root-shorter-than-trace.json.gz");
    assert_eq!(latency(&mut orders, Selection::default()), (30, 32.3, 32.5));
    assert_eq!(latency(&mut orders, until_done(Selection::default())).1, 1146.8);
    let expected = [
        ("POST /orders", 27.3),
        ("orders publish", 4.0),
        ("queue to orders process", 215.5),
        ("orders process", 60.0),
        ("INSERT ledger", 840.0),
    ];
    assert_eq!(path_until_done(&mut orders, Selection::default()), milliseconds(&expected));
    let report = findings(&mut orders, Selection::default());
    let late = queries::LateFindingsQuery::of(Selection::default(), None, &report);
    let report = report.with(&orders.run(late).unwrap());
    let after = report.findings.iter().find(|of| of.kind() == FindingKind::WorkAfter).unwrap();
    let words = finding_words::sentence(after).to_text();
    assert!(words.contains("comes after 32.3"), "{words}");
    assert!(words.contains("work goes on for 1.11"), "{words}");
    assert!(words.contains("840") && words.contains("INSERT ledger"), "{words}");
    let mut address = Address::parse("range=P95-99");
    finding_links::show(after, &mut address);
    assert_eq!((address.view, address.selection().until), (View::Flame, Until::Done));
    assert_eq!(latency(&mut orders, address.selection()).0, 30);
}

#[test]
fn requests_are_done_with_what_received_their_messages() {
    let mut batch = pool("26-batch-links.json");
    let expected = [("publish", 1.9), ("queue to poll batch", 45.7), ("poll batch", 900.0)];
    assert_eq!(latency(&mut batch, until_done(Selection::default())), (21, 950.0, 950.0));
    assert_eq!(path_until_done(&mut batch, Selection::default()), milliseconds(&expected));
    let mut driver = pool("32-consumer-below-internal.json.gz");
    assert_eq!(latency(&mut driver, until_done(Selection::default())), (40, 507.0, 507.0));
    let expected = [
        ("POST /call", 5.0),
        ("Send IncomingCall", 2.0),
        ("queue to IncomingCall", 0.3),
        ("IncomingCall", 59.7),
        ("load customer", 440.0),
    ];
    assert_eq!(path_until_done(&mut driver, Selection::default()), milliseconds(&expected));
    // All that these lead to is done before they answer.
    for file in ["33-two-messages.json.gz", "33b-cascade.json.gz"] {
        let mut pool = pool(file);
        let answer = latency(&mut pool, Selection::default());
        assert_eq!(latency(&mut pool, until_done(Selection::default())), answer);
    }
    // The first message sends another, which ends later.
    let mut cascade = pool("33b-cascade.json.gz");
    let first = at("callhandler", "m0");
    assert_eq!(latency(&mut cascade, until_done(first.clone())), (30, 898.3, 898.3));
    let expected = [("m0", 298.3), ("Send m2", 1.0), ("queue to m2", 0.5), ("m2", 18.5), ("UPDATE", 580.0)];
    assert_eq!(path_until_done(&mut cascade, first), milliseconds(&expected));
}
