//! tprof against its worked examples, and against its invariants on random and generated traces.

use crate::common::{Span, load, real_files, set_of, span, stage};
use pathlight::engine::diagnosis::{
    AggregateTrace, Aggregates, DiagnosisReport, DiagnosisSettings, TailVerdict, TraceCollector, Traces,
    TracesPart, aggregate, recursive, to_jaeger,
};
use pathlight::engine::queries;
use pathlight::engine::requests::{GroupBy, RequestTypes, Selection, TypeNames};
use pathlight::engine::run::native::NativePool;
use pathlight::trace::{PathSettings, Reading, SpanKind, TraceSet, Tree};
use pathlight::view::diagnosis::words::{lines, markdown, place_name, types_left_out};
use pathlight::view::json;
use proptest::prelude::*;
use std::sync::Arc;

pub(super) fn part(set: &TraceSet) -> TracesPart {
    let roots = set.traces().iter().map(|trace| trace.first);
    let types = Arc::new(RequestTypes::new(set, roots, &TypeNames::default(), Default::default()));
    let (mut collector, mut tree) = (TraceCollector::new(set, types), Tree::default());
    for trace in 0..set.traces().len() as u32 {
        tree.load(set, trace, PathSettings::default());
        collector.observe(set, &tree, trace, 0);
    }
    collector.take()
}

fn traces(spans: &[Span]) -> Traces {
    Traces::merge(vec![part(&set_of(spans))])
}

pub(super) fn report(sets: Vec<TraceSet>) -> DiagnosisReport {
    report_with(sets, DiagnosisSettings::default())
}

fn report_with(sets: Vec<TraceSet>, settings: DiagnosisSettings) -> DiagnosisReport {
    report_by(sets, GroupBy::Automatic, settings)
}

pub(super) fn report_by(sets: Vec<TraceSet>, by: GroupBy, settings: DiagnosisSettings) -> DiagnosisReport {
    let query = queries::Diagnosis { selection: Selection { by, ..Selection::default() }, settings };
    NativePool::of(sets).unwrap().run(query).unwrap()
}

/// Returns every aggregate trace that the report points at.
fn aggregates(sets: Vec<TraceSet>) -> Vec<AggregateTrace> {
    of_groups(sets, Aggregates::All)
}

fn of_groups(sets: Vec<TraceSet>, wanted: Aggregates) -> Vec<AggregateTrace> {
    let (selection, settings) = (Selection::default(), DiagnosisSettings::default());
    NativePool::of(sets).unwrap().run(queries::AggregateTraces { selection, settings, wanted }).unwrap()
}

/// Makes trace `number`: A over `[0, end]` with these children, all moved away from time 0.
pub(super) fn a_trace(number: u64, end: u64, children: &[(&str, u64, u64)]) -> Vec<Span> {
    let base = 1000;
    let mut spans = vec![span(number * 100, 0, "A", base, base + end)];
    for (i, &(name, start, end)) in children.iter().enumerate() {
        spans.push(span(number * 100 + 1 + i as u64, number * 100, name, base + start, base + end));
    }
    spans.iter_mut().for_each(|s| s.trace = u128::from(number));
    spans
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-3
}

#[test]
fn the_six_orders_have_the_subspans_of_figure_4() {
    let rows = [
        ([("B", 1, 3), ("C", 5, 8)], [1.0, 2.0, 2.0], 5.0),
        ([("B", 5, 8), ("C", 1, 3)], [1.0, 2.0, 2.0], 5.0),
        ([("B", 1, 5), ("C", 3, 8)], [1.0, 2.0, 2.0], 3.0),
        ([("B", 1, 8), ("C", 3, 5)], [1.0, 2.0, 2.0], 3.0),
        ([("B", 3, 8), ("C", 1, 5)], [1.0, 2.0, 2.0], 3.0),
        ([("B", 3, 5), ("C", 1, 8)], [1.0, 2.0, 2.0], 3.0),
    ];
    let mut all = Vec::new();
    for (number, (children, subspans, own)) in rows.iter().enumerate() {
        let spans = a_trace(number as u64 + 1, 10, children);
        let report = report(vec![set_of(&spans)]);
        let found: Vec<f64> =
            report.layers[3].groups[0].positions[0].subspans_us.iter().map(|s| s.all.mean).collect();
        assert_eq!(found, subspans, "order {number}");
        assert_eq!(report.layers[0].groups[0].endpoints[0].self_us.all.mean, *own, "order {number}");
        all.extend(spans);
    }
    let report = report(vec![set_of(&all)]);
    assert_eq!((report.layers[2].groups_in_all, report.layers[3].groups_in_all), (1, 6));
}

#[test]
fn t1_means_of_two_traces_make_one_aggregate_trace() {
    let mut spans = a_trace(1, 10, &[("B", 1, 3), ("C", 5, 8)]);
    spans.extend(a_trace(2, 20, &[("B", 3, 9), ("C", 11, 17)]));
    let report = report(vec![set_of(&spans)]);
    let group = &report.layers[3].groups[0];
    let a = &group.positions[0];
    assert_eq!(a.subspans_us.iter().map(|s| s.all.mean).collect::<Vec<_>>(), [2.0, 2.0, 2.5]);
    let d = a.duration_us.all;
    assert!(near(d.mean, 15.0) && near(d.sd, 7.0711), "{d:?}");
    assert!(near(d.p50.unwrap(), 15.0) && near(d.p99.unwrap(), 19.9), "{d:?}");
    assert!(a.duration_us.normal.is_none());
    let means: Vec<f64> = group.positions.iter().map(|p| p.duration_us.all.mean).collect();
    assert_eq!(means, [15.0, 4.0, 4.5]);
    let own = report.layers[0].groups[0].endpoints[0].self_us.all;
    assert_eq!((own.count, own.mean), (2, 6.5));
    let third = &report.layers[2].groups[0].positions[0];
    assert_eq!(third.child_diff_us.iter().map(|s| s.all.mean).collect::<Vec<_>>(), [2.0, 6.0]);
    assert_eq!(third.end_diff_us.unwrap().all.mean, 2.5);
    let aggregates = aggregates(vec![set_of(&spans)]);
    let drawn: Vec<(f64, f64)> = aggregates[0].spans.iter().map(|s| (s.start_us, s.end_us)).collect();
    assert_eq!(drawn, [(0.0, 15.0), (2.0, 6.0), (8.0, 12.5)]);
    // Halves round up.
    assert_eq!(aggregates[0].spans[2].end_rounded_us, 13);
}

#[test]
fn t2_shapes_and_orders_group_five_traces() {
    let rows: [&[(&str, u64, u64)]; 5] = [
        &[("B", 1, 5), ("C", 3, 8)],
        &[("B", 1, 8), ("C", 3, 5)],
        &[("C", 1, 5), ("B", 3, 8)],
        &[("B", 1, 3), ("C", 5, 8)],
        &[("B", 1, 3)],
    ];
    let spans: Vec<Span> =
        rows.iter().enumerate().flat_map(|(i, row)| a_trace(i as u64 + 1, 10, row)).collect();
    let report = report(vec![set_of(&spans)]);
    assert_eq!((report.layers[2].groups_in_all, report.layers[3].groups_in_all), (2, 5));
    let by_name: Vec<(u64, f64)> = report.layers[0].groups[0]
        .endpoints
        .iter()
        .map(|e| (e.self_us.all.count, e.self_us.all.mean * e.self_us.all.count as f64))
        .collect();
    assert_eq!(by_name, [(5, 22.0), (5, 20.0), (4, 14.0)]);
    let group = &report.layers[2].groups[0];
    assert_eq!(group.traces, 4);
    let a = &group.positions[0];
    assert_eq!(a.child_diff_us.iter().map(|s| s.all.mean).collect::<Vec<_>>(), [1.0, 2.5]);
    assert_eq!(a.end_diff_us.unwrap().all.mean, 2.0);
    assert_eq!(
        (group.positions[1].duration_us.all.mean, group.positions[2].duration_us.all.mean),
        (4.5, 3.5)
    );
}

#[test]
fn t3_a_slow_start_in_one_trace_of_ten_is_a_tail_issue() {
    let mut spans: Vec<Span> = (1..10).flat_map(|i| a_trace(i, 10, &[("B", 2, 5)])).collect();
    spans.extend(a_trace(10, 100, &[("B", 92, 95)]));
    let report = report(vec![set_of(&spans)]);
    assert_eq!(report.layers[0].groups[0].normal, Some(9));
    let a = &report.report[0];
    assert_eq!((a.operation.as_str(), a.own_us, a.total_us), ("A", 16.0, 160));
    assert_eq!((report.report[1].operation.as_str(), report.report[1].total_us), ("B", 30));
    let kind = &a.types[0];
    assert_eq!(kind.verdict, TailVerdict::Tail);
    assert!(near(kind.tail_ratio.unwrap(), 97.0 / 7.0));
    let found: Vec<(&str, f64, u32)> =
        kind.spans.iter().map(|s| (s.metric.as_str(), s.mean_us, s.subspan.unwrap())).collect();
    assert_eq!(found, [("child_diff[0]", 92.0, 0), ("end_diff", 5.0, 1)]);
    assert!(near(kind.spans[0].groups[0].score, 84.64));
    let whole = &report.layers[3].groups[0].positions[0];
    assert!(near(whole.subspans_us[0].all.mean, 11.0) && near(whole.duration_us.all.mean, 19.0));
    let traces = traces(&spans);
    let group: Vec<u32> = (0..10).collect();
    let drawn: Vec<(f64, f64)> =
        aggregate(&traces, &group, None).spans.iter().map(|s| (s.start_us, s.end_us)).collect();
    assert_eq!(drawn, [(0.0, 19.0), (11.0, 14.0)]);
    let place = &report.tail.types[0].places[0];
    assert_eq!((place.operation.as_str(), place.subspan, place.change_us), ("A", Some(0), 90.0));
    let text = markdown(&report, None);
    assert!(text.contains("mostly in the tail: 13.9 times the normal"), "{text}");
    assert!(text.contains("A in A is slow before \u{201c}B\u{201d}"), "{text}");
}

#[test]
fn own_time_counts_what_a_span_does_while_a_call_runs() {
    // Between its two calls A works for 60, while B runs: 2 + 60 + 3 are its own, B takes 70.
    let spans: Vec<Span> = (1..=20).flat_map(|i| a_trace(i, 75, &[("B", 2, 72), ("C", 62, 70)])).collect();
    let report = report(vec![set_of(&spans)]);
    let found: Vec<(&str, f64)> = report.report.iter().map(|e| (e.operation.as_str(), e.own_us)).collect();
    assert_eq!(found, [("B", 70.0), ("A", 65.0), ("C", 8.0)]);
    assert_eq!(report.report[1].total_us, 20 * 65);
    // By self time it would be last.
    let own: Vec<f64> = report.layers[0].groups[0].endpoints.iter().map(|e| e.self_us.all.mean).collect();
    assert_eq!(own, [5.0, 70.0, 8.0]);
}

#[test]
fn a_place_is_what_stands_before_and_after_it_and_not_a_number() {
    // After a hit A writes its answer, which is slow in the tail; after a miss a SELECT stands in between.
    let spans: Vec<Span> = (1..=40)
        .flat_map(|i| {
            let slow = if i > 36 { 500 } else { 0 };
            match i % 2 {
                0 => a_trace(i, 100 + slow, &[("cache get", 10, 20)]),
                _ => a_trace(i, 180 + slow, &[("cache get", 10, 20), ("SELECT", 60, 100)]),
            }
        })
        .collect();
    let report = report(vec![set_of(&spans)]);
    let places = &report.tail.lists().next().unwrap().places;
    let words: Vec<(String, f64)> = places.iter().map(|place| (place_name(place), place.change_us)).collect();
    let of = |name: &str| words.iter().find(|row| row.0 == name).map(|row| row.1);
    // Of four slow traces two are hits.
    assert!(of("A in A after \u{201c}cache get\u{201d}").unwrap() > 240.0, "{words:?}");
    assert!(of("A in A after \u{201c}SELECT\u{201d}").unwrap() > 240.0, "{words:?}");
    assert!(
        of("A in A between \u{201c}cache get\u{201d} and \u{201c}SELECT\u{201d}").unwrap().abs() < 10.0,
        "{words:?}"
    );
    assert!(words.iter().all(|row| !row.0.contains("child")), "{words:?}");
    // The same sentences stand in JSON.
    let parsed: serde_json::Value = serde_json::from_str(&json::diagnosis(&report).unwrap()).unwrap();
    let said = |what: &str| {
        parsed["text"].as_array().unwrap().iter().any(|line| line.as_str().unwrap().contains(what))
    };
    assert!(said("A in A after \u{201c}SELECT\u{201d}: +") && said("What makes the tail of"), "{parsed}");
    assert_eq!(parsed["tail"]["types"][0]["places"][0]["next"], serde_json::Value::Null);
}

#[test]
fn where_no_shape_has_half_of_the_time_the_parts_are_those_of_all_shapes() {
    // Every trace calls `page` another number of times, so each has a shape of its own; then it renders for 300.
    let trace = |i: u64| {
        let pages: Vec<(&str, u64, u64)> = (0..i).map(|n| ("page", 10 + 20 * n, 25 + 20 * n)).collect();
        let end = 25 + 20 * i;
        let calls = [&pages[..], &[("SELECT", end, end + 30)]].concat();
        a_trace(i, end + 330, &calls)
    };
    let spans: Vec<Span> = (1..=12).flat_map(trace).collect();
    let report = report(vec![set_of(&spans)]);
    let kind = &report.report[0].types[0];
    assert_eq!(report.report[0].operation, "A");
    let first = &kind.spans[0];
    let previous = first.previous.as_ref().map(|child| child.operation.as_str());
    assert!(first.is_over_shapes && first.next.is_none());
    assert_eq!(
        (first.count, first.mean_us, previous, first.metric.as_str()),
        (12, 300.0, Some("SELECT"), "subspan")
    );
    assert_eq!((first.groups_in_all, first.groups.len(), first.groups[0].traces), (12, 2, 1));
    let text = markdown(&report, None);
    assert!(
        text.contains(
            "A in A is slow after \u{201c}SELECT\u{201d} (over traces of all shapes, since the shapes differ)"
        ),
        "{text}"
    );
    // Of one shape nothing changes.
    let spans: Vec<Span> = (1..=12).flat_map(|_| trace(3)).collect();
    let spans: Vec<Span> = spans.into_iter().zip(0..).map(|(s, n)| Span { trace: n / 5 + 1, ..s }).collect();
    let report = self::report(vec![set_of(&spans)]);
    assert!(!report.report[0].types[0].spans[0].is_over_shapes);
}

#[test]
fn of_many_request_types_layer_2_lists_those_with_the_most_time() {
    // In letters, since numbers in names fold. Ten endpoints each; the later, the slower.
    let name = |number: u64| -> String {
        [676, 26, 1].map(|of| char::from(b'a' + (number / of % 26) as u8)).iter().collect()
    };
    let calls = ["b", "c", "d", "e", "f", "g", "h", "i", "j"].map(|name| (name, 1, 2));
    let spans: Vec<Span> = (1..=2_100)
        .flat_map(|number| {
            let mut spans = a_trace(number, 10 + number, &calls);
            spans[0].operation = name(number);
            spans
        })
        .collect();
    let report = report_by(vec![set_of(&spans)], GroupBy::Root, DiagnosisSettings::default());
    let layer = &report.layers[1];
    assert_eq!((layer.groups_in_all, layer.groups.len()), (2_100, 2_000));
    let listed = layer.groups.iter().map(|group| group.root.clone().unwrap().operation);
    assert!(listed.eq((101..=2_100).map(name)));
    let words = types_left_out(&report).unwrap();
    assert_eq!(words, "Layer 2 has the 2\u{202f}000 request types with the most time, of 2\u{202f}100.");
}

#[test]
fn traces_with_orphans_stay_out_and_several_roots_get_one_above() {
    let mut spans = a_trace(1, 10, &[("B", 2, 5)]);
    spans.extend(a_trace(2, 10, &[]));
    spans.push(Span { trace: 2, ..span(290, 299, "lost", 1000, 1005) });
    spans.extend(a_trace(3, 10, &[]));
    spans.push(Span { trace: 3, ..span(390, 0, "Z", 1004, 1030) });
    // Read plainly: else several roots are several requests.
    let selection = Selection { reading: Reading::PLAIN, ..Selection::default() };
    let query = queries::Diagnosis { selection, settings: DiagnosisSettings::default() };
    let report = NativePool::of(vec![set_of(&spans)]).unwrap().run(query).unwrap();
    assert_eq!((report.traces, report.has_orphans), (2, 1));
    let group =
        report.layers[1].groups.iter().find(|g| g.root.as_ref().unwrap().service == "(synthetic)").unwrap();
    assert_eq!(group.root_us.all.mean, 30.0);
}

#[test]
fn the_gap_between_client_and_server_is_a_place_of_its_own() {
    let spans: Vec<Span> = (1..=20)
        .flat_map(|i| {
            let gap = if i == 20 { 500 } else { i };
            let mut spans = a_trace(i, 2000, &[("B", 100, 1000 + gap)]);
            spans[1].kind = SpanKind::Client;
            let server = span(i * 100 + 50, i * 100 + 1, "S", 1100 + gap, 1900 + gap);
            spans.push(Span { trace: u128::from(i), kind: SpanKind::Server, ..server });
            spans[0].kind = SpanKind::Internal;
            spans[0].duration_us += gap;
            spans
        })
        .collect();
    let report = report(vec![set_of(&spans)]);
    let place = &report.tail.types[0].places[0];
    assert_eq!((place.service.as_str(), place.gap_to.as_deref(), place.subspan), ("B", Some("S"), None));
}

/// Makes ten traces of a type: in one of them B takes `more` time.
pub(super) fn a_type(root: &str, first: u64, more: u64) -> Vec<Span> {
    let mut spans = Vec::new();
    for number in first..first + 10 {
        let late = if number == first { more } else { 0 };
        let mut trace = a_trace(number, 100 + late, &[("B", 10, 50 + late)]);
        (trace[0].service, trace[0].operation) = (root.to_owned(), root.to_owned());
        spans.extend(trace);
    }
    spans
}

#[test]
fn what_is_slow_in_many_types_outweighs_what_is_slower_in_one() {
    // B is late by 60 in the tail of two types; a third waits 100 in its own root instead.
    let mut spans = [a_type("X", 1, 60), a_type("Y", 11, 60)].concat();
    for number in 21..31 {
        let end = if number == 21 { 200 } else { 100 };
        let mut trace = a_trace(number, end, &[("B", 10, 50)]);
        (trace[0].service, trace[0].operation) = ("Z".to_owned(), "Z".to_owned());
        spans.extend(trace);
    }
    let tail = report(vec![set_of(&spans)]).tail;
    let first = &tail.types[0];
    assert_eq!((first.operation.as_str(), first.places[0].change_us), ("Z", 100.0));
    let all = tail.all.unwrap();
    assert_eq!((all.a_traces, all.b_traces), (27, 3));
    assert_eq!((all.places[0].operation.as_str(), all.places[0].subspan), ("B", Some(0)));
    // 60 in two of three tail traces.
    assert!(near(all.places[0].change_us, 40.0) && near(all.places[0].b_us - all.places[0].a_us, 40.0));
    // One tail trace a type says nothing of how sure that is.
    assert_eq!(all.places[0].interval, None);
    let text = markdown(&report(vec![set_of(&spans)]), None);
    assert!(text.contains("## What makes the tail of all request types slow: 3 slow traces"), "{text}");
    // One type alone needs no other list.
    assert_eq!(report(vec![set_of(&a_type("X", 1, 60))]).tail.all, None);
}

#[test]
fn the_critical_path_of_an_aggregate_trace_runs_over_its_rounded_means() {
    let mut spans = a_trace(1, 10, &[("B", 1, 3), ("C", 5, 8)]);
    spans.extend(a_trace(2, 20, &[("B", 3, 9), ("C", 11, 17)]));
    let trace = &aggregates(vec![set_of(&spans)])[0];
    let path: Vec<(&str, u64, u64)> = trace
        .critical_path
        .iter()
        .map(|s| (trace.spans[s.span as usize].name.as_str(), s.start_us, s.end_us))
        .collect();
    assert_eq!(path, [("A", 0, 2), ("B", 2, 6), ("A", 6, 8), ("C", 8, 13), ("A", 13, 15)]);
}

#[test]
fn the_nearest_trace_is_that_whose_starts_and_ends_are_nearest_to_the_means() {
    let of = |children: &[(u64, u64)]| {
        let spans: Vec<Span> = (1..)
            .zip(children)
            .flat_map(|(number, &(start, end))| a_trace(number, 100, &[("B", start, end)]))
            .collect();
        let set = || vec![set_of(&spans)];
        let trace = aggregates(set()).remove(0);
        let report = report(set());
        assert_eq!(report.group(0).unwrap().exemplars, trace.exemplars);
        trace.exemplars.iter().map(|e| e.trace_id.trim_start_matches('0').to_owned()).collect::<Vec<_>>()
    };
    // All take as long; of equally slow ones the last by id counts as the slowest.
    assert_eq!(of(&[(10, 20), (30, 40), (20, 31), (90, 95)]), ["2", "4"]);
    // Both are as far from the means.
    assert_eq!(of(&[(10, 20), (30, 40)]), ["1", "2"]);
}

/// Makes 60 traces of A, slow before it calls X and then Y; X calls six at once, in another order every time.
fn shattered() -> Vec<Span> {
    let mut spans = Vec::new();
    for number in 1..=60u64 {
        spans.extend(a_trace(number, 1000, &[("X", 500, 600), ("Y", 700, 710)]));
        let mut left: Vec<u64> = (0..6).collect();
        let mut code = number;
        for place in 0..6u64 {
            let which = left.remove((code % left.len() as u64) as usize);
            code /= 6 - place;
            let start = 1500 + 10 * place;
            let name = ["p", "q", "r", "s", "t", "u"][which as usize];
            let child = span(number * 100 + 10 + which, number * 100 + 1, name, start, start + 25);
            spans.push(Span { trace: u128::from(number), ..child });
        }
    }
    spans
}

#[test]
fn where_whole_traces_shatter_groups_are_local() {
    let report = report(vec![set_of(&shattered())]);
    let layer = &report.layers[3];
    assert!(layer.groups_in_all > 40, "{} groups", layer.groups_in_all);
    let span = &report.report[0].types[0].spans[0];
    assert_eq!((span.name.as_str(), span.metric.as_str()), ("A", "child_diff[0]"));
    assert_eq!((span.groups.len(), span.groups_in_all), (1, 1));
    let group = &span.groups[0];
    assert!(group.is_local && group.traces == 60 && group.subspan_us == 500.0);
    let trace = &aggregates(vec![set_of(&shattered())])[group.aggregate_trace as usize];
    assert!(trace.order_varies);
    // Only the target keeps the order of its calls, so only it has subspans.
    let with_subspans: Vec<&str> =
        trace.spans.iter().filter(|s| !s.subspans.is_empty()).map(|s| s.name.as_str()).collect();
    assert_eq!(with_subspans, ["A"]);
    assert!(
        lines(&report).iter().any(|line| line.words.contains("only the calls of this span keep their order"))
    );
}

/// Checks on every layer-4 group that the mean form is the recursive form, and containment and order.
fn check_aggregates(traces: &Traces) {
    for group in traces.layer_4() {
        let mean = aggregate(traces, &group, None);
        for (span, (start, end)) in mean.spans.iter().zip(recursive(traces, &group)) {
            assert!((span.start_us - start).abs() < 1e-6 * (1.0 + start), "{} {start}", span.start_us);
            assert!((span.end_us - end).abs() < 1e-6 * (1.0 + end), "{} {end}", span.end_us);
            assert!(span.start_rounded_us <= span.end_rounded_us);
            if let Some(parent) = span.parent {
                let parent = &mean.spans[parent as usize];
                assert!(parent.start_us <= span.start_us && span.end_us <= parent.end_us);
                assert!(parent.start_rounded_us <= span.start_rounded_us);
                assert!(span.end_rounded_us <= parent.end_rounded_us);
            }
            assert!(span.subspans.is_sorted_by(|a, b| a.end_us <= b.end_us));
        }
    }
}

#[test]
fn aggregates_of_shared_data_agree_with_the_recursive_construction() {
    let folders = ["traceweaver-hotel", "traceweaver-media", "dsb-media-latenseer"];
    for file in real_files(&folders, 4) {
        check_aggregates(&Traces::merge(vec![part(&load(&file, 1 << 20))]));
    }
}

#[test]
fn aggregates_of_generated_data_agree_with_the_recursive_construction() {
    use pathlight::generate::{GenerateOptions, write_jaeger};
    let mut bytes = Vec::new();
    let options = GenerateOptions { traces: 300, spans: 20, seed: 77, ..GenerateOptions::default() };
    write_jaeger(&options, &mut bytes).unwrap();
    let mut set = TraceSet::new();
    let mut reader = pathlight::ingest::Reader::new("x.json", pathlight::ingest::ReadOptions::default());
    reader.feed(&bytes, &mut set).unwrap();
    reader.finish(&mut set);
    set.seal().unwrap();
    let traces = Traces::merge(vec![part(&set)]);
    check_aggregates(&traces);
    // What is exported is a Jaeger file that reads back as it was written.
    let built = aggregates(vec![set]);
    let json = to_jaeger(&built).unwrap();
    let mut back = TraceSet::new();
    let mut reader = pathlight::ingest::Reader::new("y.json", pathlight::ingest::ReadOptions::default());
    reader.feed(json.as_bytes(), &mut back).unwrap();
    reader.finish(&mut back);
    back.seal().unwrap();
    let spans: usize = built.iter().map(|t| t.spans.len()).sum();
    assert_eq!((back.traces().len(), back.spans()), (built.len(), spans));
}

#[test]
fn the_diagnosis_of_large_traces_holds_no_copy_of_them_and_builds_one_when_asked() {
    let children: Vec<(String, u64, u64)> =
        (0..2_000).map(|i| (format!("c{}", i % 7), 10 * i, 10 * i + 5)).collect();
    let children: Vec<(&str, u64, u64)> = children.iter().map(|(n, s, e)| (n.as_str(), *s, *e)).collect();
    let spans: Vec<Span> =
        (1..=3).flat_map(|number| a_trace(number * 1_000, 20_000 + number, &children)).collect();
    let sets = || vec![set_of(&spans)];
    let report = report(sets());
    let groups = report.report.iter().flat_map(|row| &row.types).flat_map(|kind| &kind.spans);
    let groups: Vec<_> = groups.flat_map(|span| &span.groups).collect();
    assert!(groups.len() > 10, "{}", groups.len());
    // A position alone has several numbers and two names; a group of the report is far less than its 2,001 positions.
    let bytes = serde_json::to_vec(&report.report).unwrap().len();
    assert!(bytes < 5_000 * groups.len(), "{bytes} bytes for {} groups", groups.len());
    let all = aggregates(sets());
    assert_eq!(all.len(), groups.len());
    for (group, trace) in groups.iter().zip(&all) {
        assert_eq!((trace.number, trace.spans.len()), (group.aggregate_trace, 2_001));
        assert_eq!(group.exemplars, trace.exemplars);
        let problem = trace.problem.unwrap();
        let span = &trace.spans[problem.span as usize];
        for near in &group.subspans {
            let whole = &span.subspans[near.subspan as usize];
            assert_eq!((&near.name, near.duration_us), (&whole.name, whole.duration_us));
        }
        let mut numbers = group.subspans.iter().map(|near| near.subspan);
        assert!(numbers.any(|number| number == problem.subspan));
    }
    let last = all.last().unwrap();
    assert_eq!(of_groups(sets(), Aggregates::One(last.number)), std::slice::from_ref(last));
    assert!(of_groups(sets(), Aggregates::One(last.number + 1)).is_empty());
}

prop_compose! {
    fn any_spans(max: usize)(
        raw in prop::collection::vec(
            (0u64..6, 1u64..9, 0u64..9, 0u8..4, 0u64..30, 0u64..40, 0u8..4, 0u8..20), 1..max)
    ) -> Vec<Span> {
        raw.into_iter().map(|(trace, id, parent, name, start, duration, kind, odd)| {
            let parent = if id == 1 { 0 } else { parent % id };
            let mut out = span(id, parent, ["a", "b", "c", "d"][name as usize], 0, 0);
            out.trace = u128::from(trace) + 1;
            out.start_us = 50_000 + start * 97;
            out.duration_us = duration * 197;
            out.kind = [SpanKind::Unspecified, SpanKind::Client, SpanKind::Server, SpanKind::Internal]
                [kind as usize];
            out.follows_from = odd == 1;
            out
        }).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn aggregate_traces_are_valid_and_equal_the_recursive_construction(spans in any_spans(60)) {
        check_aggregates(&traces(&spans));
    }

    #[test]
    fn neither_order_nor_workers_change_the_report(
        spans in any_spans(60), seed in any::<u64>(), workers in 1usize..5
    ) {
        let expected = json::diagnosis(&report(vec![set_of(&spans)])).unwrap();
        let built = aggregates(vec![set_of(&spans)]);
        let mut shuffled = spans.clone();
        shuffled.sort_by_key(|s| (s.id ^ s.start_us).wrapping_mul(seed | 1));
        let sets = || {
            let mut sets: Vec<TraceSet> = (0..workers).map(|_| TraceSet::new()).collect();
            for (i, span) in shuffled.iter().enumerate() {
                stage(&mut sets[i % workers], std::slice::from_ref(span));
            }
            sets
        };
        prop_assert_eq!(expected, json::diagnosis(&report(sets())).unwrap());
        prop_assert_eq!(built, aggregates(sets()));
    }
}
