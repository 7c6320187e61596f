//! Bottom-up ranking and histograms: worked examples, and sums that agree whichever way they are taken.

use crate::common::random::{any_traces, sets_of};
use crate::common::{Span, generated, set_of, span};
use pathlight::engine::endpoints::ImpactReport;
use pathlight::engine::flame::{HistogramsReport, Quantity};
use pathlight::engine::heatmap::{ColumnOrder, WAITING};
use pathlight::engine::ids::ReportEndpoint;
use pathlight::engine::queries;
use pathlight::engine::requests::{RootEndpoint, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::verdict::{ServicePart, Subject, TimedSubject};
use pathlight::generate::{GenerateOptions, Generator, Inject};
use pathlight::trace::Endpoint;
use pathlight::view::json;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

fn bottom_up(pool: &mut NativePool) -> ImpactReport {
    let query = queries::Impact { selection: Selection::default() };
    pool.run(query).unwrap()
}

fn histograms(pool: &mut NativePool) -> HistogramsReport {
    let query = queries::Histograms { selection: Selection::default() };
    pool.run(query).unwrap()
}

fn in_trace(trace: u128, mut spans: Vec<Span>) -> Vec<Span> {
    spans.iter_mut().for_each(|s| s.trace = trace);
    spans
}

/// Makes requests of root endpoints P (latency 100, twice) and Q (latency 60). Both call X; Q calls P as well; P calls
/// itself in trace 2.
fn three() -> Vec<Span> {
    [
        in_trace(1, vec![span(1, 0, "P", 0, 100), span(2, 1, "X", 10, 50)]),
        in_trace(2, vec![span(1, 0, "P", 0, 100), span(2, 1, "P", 10, 30), span(3, 1, "X", 40, 60)]),
        in_trace(3, vec![span(1, 0, "Q", 0, 60), span(2, 1, "P", 10, 30), span(3, 2, "X", 15, 20)]),
    ]
    .concat()
}

#[test]
fn endpoints_are_ranked_by_what_they_cost_all_roots() {
    let report = bottom_up(&mut NativePool::of(vec![set_of(&three())]).unwrap());
    let roots: Vec<(&str, u64, u128)> =
        report.roots.iter().map(|r| (report.name(r.endpoint).1, r.requests, r.latency_us)).collect();
    assert_eq!(roots, [("P", 2, 200), ("Q", 1, 60)]);
    let rows: Vec<(&str, bool, u128, u128, u64)> = report
        .rows
        .iter()
        .map(|r| (report.name(r.endpoint).1, r.is_interior, r.exclusive_us, r.interior_us, r.requests))
        .collect();
    // P: 60 of its own in trace 1, 80 in trace 2 (20 of it below the root), 15 in trace 3. Q is only a root.
    assert_eq!(
        rows,
        [("P", true, 60 + 80 + 15, 20 + 15, 3), ("X", true, 40 + 20 + 5, 65, 3), ("Q", false, 40, 0, 1)]
    );
    let p = &report.rows[0];
    let affected: Vec<(u32, u128, u64)> =
        p.affected.iter().map(|a| (a.root, a.exclusive_us, a.requests)).collect();
    assert_eq!(affected, [(0, 140, 2), (1, 15, 1)]);
    assert!((report.share_in(&p.affected[1]) - 0.25).abs() < 1e-12);
    assert!((report.share(p) - 155.0 / 260.0).abs() < 1e-12);
    assert_eq!(report.saving_at_most_us(p, 20.0), 31.0);
}

#[test]
fn sizes_are_counted_as_the_paper_counts_them() {
    let mut spans = vec![
        span(1, 0, "R", 0, 100),
        span(2, 1, "A", 10, 50),
        span(3, 2, "B", 20, 40),
        // Touches A: not at the same time. Overlaps C.
        span(4, 1, "A", 50, 90),
        span(5, 1, "C", 60, 95),
        // Empty, inside B.
        span(6, 3, "D", 30, 30),
        // Nobody waits for it, but it is there.
        span(7, 1, "E", 80, 200),
        // Outside its parent: part of nothing.
        span(8, 1, "F", 500, 600),
    ];
    spans[6].follows_from = true;
    let spans = [spans, in_trace(2, vec![span(1, 0, "A", 0, 10)])].concat();
    let report = histograms(&mut NativePool::of(vec![set_of(&spans)]).unwrap());
    let said: BTreeMap<&str, (u64, u64, u64, f64)> =
        report.distributions.iter().map(|(q, d)| (q.key(), (d.n, d.min, d.max, d.mean))).collect();
    assert_eq!(said["spans"], (2, 1, 7, 4.0));
    assert_eq!(said["endpoints"], (2, 1, 6, 3.5));
    assert_eq!(said["latency_us"], (2, 10, 100, 55.0));
    assert_eq!(said["longest_call_chain"], (2, 1, 4, 2.5));
    // R, A, B, D at 30; R, A, C, E at 80.
    assert_eq!(said["max_concurrency"], (2, 1, 4, 2.5));
    // R works 10 us before A and 5 after C, A 20 and 40, B 20, C 35, D none; E and F are not waited for. The other 10.
    assert_eq!(said["work_us"], (2, 10, 130, 70.0));
    assert_eq!(said["parallelism_percent"], (2, 100, 130, 115.0));
    // R, C, the first A, B (which waits for the empty D): C ends last and overlaps the second A.
    assert_eq!(said["critical_path_spans"], (2, 1, 5, 3.0));
    assert_eq!(said["critical_path_endpoints"], (2, 1, 5, 3.0));
    // R calls A, C, E; A calls B; B calls D.
    assert_eq!(said["callers_per_endpoint"], (6, 0, 1, 5.0 / 6.0));
    assert_eq!(said["spans_per_endpoint"], (6, 1, 3, 8.0 / 6.0));
    assert_eq!(said["critical_path_spans_per_endpoint"], (6, 0, 2, 1.0));
    assert_eq!(report.distributions.iter().map(|(q, _)| *q).collect::<Vec<_>>(), Quantity::ALL);
}

#[test]
fn calls_on_and_off_the_critical_path_are_counted() {
    let mut spans = vec![
        span(1, 0, "R", 0, 100),
        span(2, 1, "A", 10, 50),
        // Runs beside A and ends earlier: no path passes through it.
        span(3, 1, "B", 10, 40),
        span(4, 1, "A", 50, 90),
        // Begins with the second A and ends earlier.
        span(5, 1, "B", 50, 60),
        span(6, 1, "E", 80, 200),
    ];
    spans[5].follows_from = true;
    let other = vec![span(1, 0, "R", 0, 100), span(2, 1, "B", 20, 90)];
    let mut pool = NativePool::of(vec![set_of(&spans), set_of(&in_trace(2, other))]).unwrap();
    let (mut report, sizes) = (bottom_up(&mut pool), histograms(&mut pool));
    assert!(report.rows.iter().all(|row| row.calls.is_none()));
    report.count_calls(&sizes);
    let calls: BTreeMap<&str, Option<(u64, u64)>> =
        report.rows.iter().map(|row| (report.name(row.endpoint).1, row.calls)).collect();
    // E is on no path, so it is not ranked.
    let expected = [("A", Some((2, 0))), ("B", Some((1, 2))), ("R", Some((2, 0)))];
    assert_eq!(calls, BTreeMap::from(expected));
    let e = sizes.calls.iter().find(|calls| calls.endpoint.operation == "E").unwrap();
    assert_eq!((e.on_path, e.off_path), (0, 1));
    let text: serde_json::Value = serde_json::from_str(&json::endpoints(&report, 10.0).unwrap()).unwrap();
    let b = text["rows"].as_array().unwrap().iter().find(|row| row["operation"] == "B").unwrap();
    assert_eq!((&b["calls_on_path"], &b["calls_off_path"]), (&1.into(), &2.into()));
    // They are those of the histograms of spans per endpoint.
    let sum = |key: &str| {
        let (_, of) = sizes.distributions.iter().find(|(quantity, _)| quantity.key() == key).unwrap();
        (of.mean * of.n as f64).round() as u64
    };
    let on_path: u64 = sizes.calls.iter().map(|calls| calls.on_path).sum();
    let all: u64 = sizes.calls.iter().map(|calls| calls.on_path + calls.off_path).sum();
    assert_eq!((on_path, all), (sum("critical_path_spans_per_endpoint"), sum("spans_per_endpoint")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn impacts_add_up_to_all_latency_and_to_each_roots_flame_graph(spans in any_traces(80)) {
        let mut pool = NativePool::of(sets_of(&spans, 2)).unwrap();
        let report = bottom_up(&mut pool);
        let total = report.facts.latency_sum_us;
        prop_assert_eq!(report.rows.iter().map(|row| row.exclusive_us).sum::<u128>(), total);
        prop_assert_eq!(report.roots.iter().map(|root| root.latency_us).sum::<u128>(), total);
        // By root endpoint: the same sums taken from the flame graph of all requests.
        let flame = pool.run(queries::CriticalPath { selection: Selection::default() }).unwrap();
        let mut by_pair: BTreeMap<(String, String), u128> = BTreeMap::new();
        let mut root_of: Vec<ReportEndpoint> = Vec::new();
        for node in &flame.nodes {
            root_of.push(node.parent.map_or(node.endpoint, |parent| root_of[parent.index()]));
            let pair = (root_of[root_of.len() - 1], node.endpoint);
            let name = |endpoint| flame.name(endpoint).1.to_owned();
            *by_pair.entry((name(pair.0), name(pair.1))).or_default() += node.exclusive_us.sum;
        }
        by_pair.retain(|_, us| *us > 0);
        let mut found = BTreeMap::new();
        for row in &report.rows {
            for affected in &row.affected {
                let root = report.roots[affected.root as usize].endpoint;
                let key = (report.name(root).1.to_owned(), report.name(row.endpoint).1.to_owned());
                prop_assert!(found.insert(key, affected.exclusive_us).is_none());
            }
        }
        prop_assert_eq!(found, by_pair);
        prop_assert!(json::endpoints(&report, 10.0).is_ok());
    }

    #[test]
    fn histograms_count_every_request_and_every_endpoint_once(spans in any_traces(80)) {
        let mut pool = NativePool::of(sets_of(&spans, 2)).unwrap();
        let report = histograms(&mut pool);
        for (quantity, of) in &report.distributions {
            prop_assert_eq!(of.counts.iter().sum::<u64>(), of.n, "{:?}", quantity);
            let per_endpoint = matches!(quantity, Quantity::Callers | Quantity::Appearances | Quantity::PathAppearances);
            if !per_endpoint {
                prop_assert_eq!(of.n, report.facts.requests);
            }
        }
        let of = |quantity| &report.distributions.iter().find(|(q, _)| *q == quantity).unwrap().1;
        let sum = |quantity| (of(quantity).mean * of(quantity).n as f64).round();
        // Spans counted by request and by endpoint are the same spans.
        prop_assert_eq!(sum(Quantity::Spans), sum(Quantity::Appearances));
        prop_assert_eq!(sum(Quantity::PathSpans), sum(Quantity::PathAppearances));
        prop_assert!(of(Quantity::Concurrency).max <= of(Quantity::Spans).max);
        let selection = Selection { root: RootEndpoint::Endpoint(Endpoint::new("x", "x")), ..Selection::default() };
        let none = pool.run(queries::Histograms { selection }).unwrap();
        prop_assert!(none.distributions.iter().all(|(_, of)| of.n == 0));
    }
}

#[test]
fn shares_of_few_requests_have_an_interval_whoever_read_them() {
    let spans = three();
    let whole = bottom_up(&mut NativePool::of(vec![set_of(&spans)]).unwrap());
    // P has 155 of 260; alone it has 0.6, 0.8 and 0.25 of a request.
    let p = whole.rows[0].share_interval.unwrap();
    assert!(p.low >= 0.25 && p.low < 155.0 / 260.0 && p.high > 155.0 / 260.0 && p.high <= 0.8, "{p:?}");
    let parts = [&spans[5..8], &spans[..2], &spans[2..5]].map(set_of);
    assert_eq!(bottom_up(&mut NativePool::of(parts.into()).unwrap()), whole);
    let text = json::endpoints(&whole, 50.0).unwrap();
    assert!(text.contains("share_interval"), "{text}");
    // Of many it is narrow, and not reported.
    let many = |n: u64| -> Vec<Span> {
        let request = |i: u64| [span(1, 0, "P", 0, 100 + i), span(2, 1, "X", 10, 50)].to_vec();
        (1..=n).flat_map(|i| in_trace(u128::from(i), request(i))).collect()
    };
    let interval = |n| bottom_up(&mut NativePool::of(vec![set_of(&many(n))]).unwrap()).rows[0].share_interval;
    assert!(interval(999).is_some() && interval(1000).is_none());
}

#[test]
fn the_largest_subject_of_a_trace_is_that_of_the_services_of_its_request() {
    // Some requests wait long for calls, others work.
    let options = GenerateOptions { traces: 40, seed: 8, ..GenerateOptions::default() };
    let places = Generator::new(&options).unwrap().places();
    let place = places.into_iter().find(|place| place.name.contains("->auth:")).unwrap().name;
    let options =
        GenerateOptions { injects: vec![Inject { place, extra_us: 200_000, share: 0.5 }], ..options };
    let mut parts = BTreeSet::new();
    for number in 0..options.traces {
        let mut set = generated(&options);
        let id = set.traces()[number as usize].id;
        let trace_id = set.trace_id_text(number as u32);
        set.retain(|trace| trace.id == id);
        let selection = Selection { by_service: true, ..Selection::default() };
        let settings = selection.settings();
        let mut pool = NativePool::of(vec![set]).unwrap();
        let query = queries::Trace { trace_id, root_span_id: None, settings, group: 0, has_pressures: false };
        let TimedSubject { subject, time_us } = pool.run(query).unwrap().unwrap().largest.unwrap();
        let report = pool.run(queries::Impact { selection }).unwrap();
        let services = report.rows.iter().filter_map(|row| {
            let (own_us, waiting_us) = row.service_us?;
            let name = |part| Subject { service: report.name(row.endpoint).0.to_owned(), part };
            Some([(own_us, name(ServicePart::Own)), (waiting_us, name(ServicePart::In))])
        });
        let mut times: Vec<(u128, Subject)> = services.flatten().collect();
        times.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        parts.insert(subject.part);
        assert_eq!((u128::from(time_us), subject), times.remove(0));
    }
    assert!(parts.len() > 1, "{parts:?}");
}

#[test]
fn the_heat_map_by_service_divides_latency_as_endpoints_by_service_do() {
    for (seed, columns, order) in [
        (8, 7, ColumnOrder::Latency),
        (9, 1000, ColumnOrder::Start),
        (10, 13, ColumnOrder::Row(Endpoint::new("auth", WAITING))),
    ] {
        let options = GenerateOptions { traces: 60, seed, ..GenerateOptions::default() };
        let place =
            Generator::new(&options).unwrap().places().into_iter().find(|of| of.name.contains("->auth:"));
        let inject = Inject { place: place.unwrap().name, extra_us: 200_000, share: 0.5 };
        let mut pool =
            NativePool::of(vec![generated(&GenerateOptions { injects: vec![inject], ..options })]).unwrap();
        let selection = Selection { by_service: true, ..Selection::default() };
        let impact = pool.run(queries::Impact { selection: selection.clone() }).unwrap();
        let map = pool.run(queries::Heatmap { selection, columns, order: order.clone() }).unwrap();
        let of_row = |name: &Endpoint| {
            let at = map.rows.endpoints.binary_search(name).ok();
            at.map_or(0, |at| map.rows.rows[at].exclusive_us.sum)
        };
        let mut waiting = 0;
        for row in &impact.rows {
            let (own_us, waiting_us) = row.service_us.unwrap();
            let service = impact.name(row.endpoint).0;
            let times = ["", WAITING].map(|operation| of_row(&Endpoint::new(service, operation)));
            assert_eq!(times, [own_us, waiting_us], "{service}");
            waiting += waiting_us;
        }
        assert!(waiting > 0 && map.rows.rows.len() > impact.rows.len());
        let sum: u128 = map.rows.rows.iter().map(|row| row.exclusive_us.sum).sum();
        assert_eq!(sum, map.rows.facts.latency_sum_us);
        let mut by_row = vec![0; map.rows.rows.len()];
        let mut ordered = Vec::new();
        for column in 0..map.column_requests.len() {
            let mut of_column = 0;
            let mut key = 0;
            for cell in map.cells(column) {
                by_row[map.cell_row[cell] as usize] += map.cell_us[cell];
                of_column += map.cell_us[cell];
                let is_key = |name: &Endpoint| order == ColumnOrder::Row(name.clone());
                if is_key(&map.rows.endpoints[map.cell_row[cell] as usize]) {
                    key += map.cell_us[cell];
                }
            }
            assert_eq!(of_column, map.column_latency_us[column]);
            ordered.push(key / u128::from(map.column_requests[column]));
        }
        let sums: Vec<u128> = map.rows.rows.iter().map(|row| row.exclusive_us.sum).collect();
        assert_eq!(by_row, sums);
        assert!(ordered.is_sorted(), "{ordered:?}");
        assert_eq!(ordered.last() > Some(&0), matches!(order, ColumnOrder::Row(_)));
    }
}
