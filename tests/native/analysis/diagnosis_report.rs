//! The report of a diagnosis and its words: types, lists, sentences and tables.

use super::diagnosis::{a_trace, a_type, part, report, report_by};
use crate::common::{Span, generated, set_of, stage};
use pathlight::base::format::THIN;
use pathlight::engine::diagnosis::{DiagnosisSettings, SetsReport, TailVerdict, Traces};
use pathlight::engine::queries;
use pathlight::engine::requests::{GroupBy, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::trace::{SpanKind, TraceSet};
use pathlight::view::compare::DESCRIPTIVE;
use pathlight::view::diagnosis::tables::{changed_places, layers_csv, positions_csv, slow_tail};
use pathlight::view::diagnosis::words::{lines, markdown, sets_markdown};
use pathlight::view::table::Rows;
use pathlight::view::{diagnosis, json};

#[test]
fn a_tag_makes_the_request_types_and_the_threshold_the_tail() {
    let spans: Vec<Span> = (1..=20)
        .flat_map(|number| {
            let mut spans = a_trace(number, 100 * number, &[]);
            spans[0].zone = if number <= 12 {
                "eu"
            } else if number < 20 {
                "us"
            } else {
                ""
            };
            spans
        })
        .collect();
    let settings = DiagnosisSettings { tail_permille: 500, ..DiagnosisSettings::default() };
    let found = report_by(vec![set_of(&spans)], GroupBy::Tag("zone".to_owned()), settings);
    let types: Vec<(&str, u64, Option<u64>)> = found.layers[1]
        .groups
        .iter()
        .map(|g| (g.root.as_ref().unwrap().operation.as_str(), g.traces, g.normal))
        .collect();
    assert_eq!(types, [("A (no zone)", 1, None), ("A zone=eu", 12, Some(6)), ("A zone=us", 7, None)]);
    assert_eq!(found.layers[0].groups[0].normal, Some(10));
    assert_eq!(found.tail.types.len(), 1);
    assert_eq!((found.tail.types[0].a_traces, found.tail.types[0].b_traces), (6, 6));
    let kinds = &found.report[0];
    assert_eq!((kinds.types.len(), kinds.types_in_all), (2, 3));
    assert_eq!(kinds.types[0].verdict, TailVerdict::Unsplit);
    let more: Vec<u64> = lines(&found).iter().filter(|l| l.level == 2).map(|l| l.more).collect();
    assert_eq!(more, [0, 1]);
}

#[test]
fn two_sets_are_compared_by_place_and_by_service() {
    let set = |group, slow: u64| {
        let traces = (1..=12).map(|i| a_trace(i, 100 + i + slow, &[("B", 10 + slow, 20 + slow)]));
        let mut spans: Vec<Span> = traces.flatten().collect();
        // No gaps between a client and its server.
        spans.iter_mut().for_each(|span| span.kind = SpanKind::Internal);
        let mut set = TraceSet::new();
        set.loading_group = group;
        stage(&mut set, &spans);
        set
    };
    let (a, b) = (Selection::default(), Selection { group: 1, ..Selection::default() });
    let query = queries::CompareDiagnoses { a, b };
    let report = NativePool::of(vec![set(0, 0), set(1, 40)]).unwrap().run(query).unwrap();
    let kind = &report.places.types[0];
    assert_eq!((kind.a_traces, kind.b_traces), (12, 12));
    let first = &kind.places[0];
    assert_eq!((first.operation.as_str(), first.subspan, first.change_us), ("A", Some(0), 40.0));
    // 40 µs are below what a clock can be trusted with.
    let services = &report.culprit.services;
    assert_eq!(
        (services[0].service.as_str(), services[0].own.excess_us, services[0].score_us),
        ("A", 40.0, 0.0)
    );
    assert_eq!(services[1].own.excess_us, 0.0);
    let text = sets_markdown(&report).replace(THIN, " ");
    assert!(text.contains("95 % interval") && !text.contains(DESCRIPTIVE), "{text}");
    assert!(
        text.contains(
            "No service changed beyond the usual drift. The largest suspicion is A, its own work: +40 µs"
        ),
        "{text}"
    );
    assert!(text.contains("- A in A before \u{201c}B\u{201d}: +40 µs (50 µs against 10 µs"), "{text}");
    assert!(json::diagnosis_sets(&SetsReport::default()).is_ok());
}

#[test]
fn the_report_is_a_tree_of_sentences_and_markdown_for_a_ticket() {
    let mut spans: Vec<Span> = (1..10).flat_map(|i| a_trace(i, 10, &[("B", 2, 5)])).collect();
    spans.extend(a_trace(10, 100, &[("B", 92, 95)]));
    let report = report(vec![set_of(&spans)]);
    let plain = |text: &str| text.replace(THIN, " ");
    let lines = lines(&report);
    let levels: Vec<u32> = lines.iter().map(|line| line.level).collect();
    assert_eq!(levels[..8], [1, 2, 3, 4, 5, 5, 3, 4]);
    let words: Vec<String> = lines.iter().map(|line| plain(&line.words)).collect();
    assert_eq!(words[0], "A in A takes 16 µs of its own per call, 160 µs in all (n = 10)");
    let spread = "in 100.0 % of A in A, mostly in the tail: 13.9 times the normal";
    assert_eq!(words[1], format!("{spread} (10 of 10 traces); 16 µs per call, 160 µs in all (n = 10)"));
    let slow = "A in A is slow before \u{201c}B\u{201d}";
    assert_eq!(words[2], format!("{slow}, {spread}; 92 µs on average (n = 1)"));
    assert_eq!(
        words[3],
        "A takes 92 µs of its 100 µs before \u{201c}B\u{201d}, on average, in 1 trace of one shape and order"
    );
    assert_eq!(
        words[4],
        "A 0, before \u{201c}B\u{201d}: 92 µs on average, p50 92 µs, p99 92 µs (n = 1): the problematic subspan"
    );
    assert!(lines[4].is_problem && !lines[5].is_problem);
    assert_eq!(lines[0].aggregate, lines[3].aggregate);
    let text = plain(&markdown(&report, None));
    // It says how this order differs from that of Endpoints.
    let ranked = "Ranked by the own time of all calls, including those that run in parallel with others; Endpoints and Findings count only what \
                  requests wait for.";
    assert!(text.starts_with(&format!("# Diagnosis of 10 traces\n\n{ranked}\n\n1. A in A takes")), "{text}");
    assert!(text.contains(&format!("\n      - {slow}")), "{text}");
    assert!(!text.contains("problematic"), "{text}");
    assert!(
        text.contains("## What makes the tail of A in A slow: 1 slow trace against 9 normal ones"),
        "{text}"
    );
    assert!(text.contains("- A in A before \u{201c}B\u{201d}: +90 µs (92 µs against 2 µs"), "{text}");
}

#[test]
fn the_diagnosis_is_made_in_steps_that_tell_how_far_it_is() {
    use pathlight::generate::GenerateOptions;
    let set = generated(&GenerateOptions { traces: 2000, spans: 20, seed: 3, ..GenerateOptions::default() });
    let settings = DiagnosisSettings::default();
    let query = queries::Diagnosis { selection: Selection::default(), settings: settings.clone() };
    let mut reported = Vec::new();
    let stepped =
        NativePool::of(vec![set]).unwrap().run_watched(query, &mut |p| reported.push((p.done, p.of)));
    assert!(reported.len() > 3 && reported.is_sorted(), "{reported:?}");
    assert!(reported.iter().all(|(done, of)| done <= of), "{reported:?}");
    let set = generated(&GenerateOptions { traces: 2000, spans: 20, seed: 3, ..GenerateOptions::default() });
    assert!(stepped.unwrap() == Traces::merge(vec![part(&set)]).finish(&settings));
}

#[test]
fn what_the_lists_of_places_leave_out_is_counted_and_said() {
    // 60 children of 70 names, so that there are more places than are listed; and a type with too few traces for a tail.
    let names: Vec<String> = (0..60).map(|i| format!("c{i:02}")).collect();
    let children: Vec<(&str, u64, u64)> =
        names.iter().zip(0..).map(|(name, i)| (name.as_str(), 10 * i, 10 * i + 5)).collect();
    let mut spans: Vec<Span> = (1..=10).flat_map(|number| a_trace(number, 700 + number, &children)).collect();
    let mut few = a_trace(11, 10, &[]);
    few[0].operation = "rare".to_owned();
    spans.extend(few);
    let tail = report(vec![set_of(&spans)]).tail;
    let kind = &tail.types[0];
    assert_eq!((kind.places.len(), kind.places_in_all), (50, 121));
    assert_eq!(
        tail.left_out.iter().map(|kind| (kind.operation.as_str(), kind.a_traces)).collect::<Vec<_>>(),
        [("rare", 1)]
    );
    let said = diagnosis::words::left_out(&tail, false);
    assert_eq!(said[0], "71 places in 1 list not shown: each list has only the 50 that grew most.");
    assert_eq!(
        said[1],
        "1 request type with 1 trace is left out, since a type needs 10 traces to tell its tail: rare in A."
    );
    let text = markdown(&report(vec![set_of(&spans)]), None);
    assert!(text.contains("- and 116 other places") && text.contains(&said[1]), "{text}");
    // Of two sets, types that one of them lacks.
    let (a, b) = (a_type("X", 1, 60), [a_type("X", 1, 60), a_type("Y", 11, 60)].concat());
    let places = Traces::compare(vec![part(&set_of(&a))], vec![part(&set_of(&b))]);
    assert_eq!(
        places.left_out.iter().map(|kind| (kind.a_traces, kind.b_traces)).collect::<Vec<_>>(),
        [(0, 10)]
    );
    assert_eq!(
        diagnosis::words::left_out(&places, true),
        ["1 request type with 10 traces is only in B and cannot be compared: Y in Y."]
    );
}

#[test]
fn intervals_of_the_slow_tail_are_labelled_as_descriptive_and_those_of_two_sets_are_not() {
    let traces = (1..=20).flat_map(|number| a_trace(number, 100 * number, &[("B", 10, 20 + number)]));
    let settings = DiagnosisSettings { tail_permille: 500, ..DiagnosisSettings::default() };
    let found = report_by(vec![set_of(&traces.collect::<Vec<Span>>())], GroupBy::default(), settings);
    assert!(found.tail.types[0].places[0].interval.is_some());
    assert_eq!(diagnosis::words::tail_notes(&found.tail), [DESCRIPTIVE]);
    let text = markdown(&found, None);
    assert!(text.contains("95 % interval") && text.ends_with(&format!("\n{DESCRIPTIVE}\n")), "{text}");
    let value: serde_json::Value = serde_json::from_str(&json::diagnosis(&found).unwrap()).unwrap();
    assert_eq!(value["text"].as_array().unwrap().last().unwrap(), DESCRIPTIVE);
    // A tail of one trace has no interval, so there is nothing to label.
    let one = report(vec![set_of(&a_type("X", 1, 60))]);
    assert!(
        diagnosis::words::tail_notes(&one.tail).is_empty() && !markdown(&one, None).contains(DESCRIPTIVE)
    );
    let hints = [slow_tail(), changed_places()].map(|table| {
        let heads = table.heads();
        heads.iter().find(|head| head.key == "interval").unwrap().hint.contains(DESCRIPTIVE)
    });
    assert_eq!(hints, [true, false]);
}

#[test]
fn layers_1_and_2_are_a_table() {
    let spans = [a_type("X", 1, 60), a_type("Y", 11, 60)].concat();
    let csv = layers_csv(&report(vec![set_of(&spans)]));
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].starts_with("layer,service,operation,request_type,traces,spans,self_sum_us,self_mean_us"),
        "{csv}"
    );
    // All traces: X, Y and B; then each type with its root and B. Most self time first.
    assert_eq!(lines.iter().filter(|line| line.starts_with("1,")).count(), 3);
    assert_eq!(lines.iter().filter(|line| line.starts_with("2,")).count(), 4);
    assert!(lines.iter().any(|line| line.starts_with("1,B,B,all traces,20,20,")), "{csv}");
    assert!(lines.iter().any(|line| line.starts_with("2,B,B,X in X,10,10,")), "{csv}");
}

#[test]
fn layers_3_and_4_are_a_table_of_positions_and_their_parts() {
    // T1 of the definition, and a trace of the same shape in another order.
    let mut spans = a_trace(1, 10, &[("B", 1, 3), ("C", 5, 8)]);
    spans.extend(a_trace(2, 20, &[("B", 3, 9), ("C", 11, 17)]));
    spans.extend(a_trace(3, 100, &[("B", 10, 60), ("C", 20, 30)]));
    let found = report(vec![set_of(&spans)]);
    let csv = positions_csv(&found);
    let lines: Vec<&str> = csv.lines().collect();
    let head = "layer,service,operation,request_type,traces,spans,part,sum_us,mean_us,sd_us,p50_us,p99_us";
    assert!(lines[0].starts_with(head), "{csv}");
    // Layer 3 is one group: A with three parts, and two leaves; layer 4 two groups of the same.
    let of = |start: &str| -> Vec<&&str> { lines.iter().filter(|line| line.starts_with(start)).collect() };
    assert_eq!((of("3,").len(), of("4,").len()), (6, 12));
    // From the start of A to that of B: 1, 3 and 10; from that to C's: 4, 8 and 10; after the last: 2, 3 and 40.
    let has = |start: &str| assert_eq!(of(start).len(), 1, "{start}: {csv}");
    has("3,A,A,\"A in A, group 1\",3,3,child_diff[0],14,");
    has("3,A,A,\"A in A, group 1\",3,3,child_diff[1],22,");
    has("3,A,A,\"A in A, group 1\",3,3,end_diff,45,15,");
    // The greatest time is that of the third trace alone.
    has("4,A,A,\"A in A, group 1\",1,1,subspans[1],10,10,0,10,10");
    has("4,A,A,\"A in A, group 2\",2,2,duration,30,15,7.07");
    has("4,A,A,\"A in A, group 2\",2,2,subspans[2],5,2.5,0.7");
}

#[test]
fn layers_1_and_2_have_own_time_beside_self_time() {
    // B runs from 10 to 60 while A starts C at 20: A works 10 before, 10 more until C starts, and 40 after B.
    let found = report(vec![set_of(&a_trace(1, 100, &[("B", 10, 60), ("C", 20, 30)]))]);
    let a = &found.layers[0].groups[0].endpoints[0];
    let own = a.own_us.unwrap().all;
    assert_eq!((a.self_us.all.mean, own.mean, own.count), (50.0, 60.0, 1));
    // It is what the report is ranked by.
    let ranked = &found.report[0];
    assert_eq!((ranked.operation.as_str(), ranked.own_us, ranked.total_us), ("A", 60.0, 60));
    let csv = layers_csv(&found);
    assert!(csv.lines().next().unwrap().contains(",own_sum_us,own_mean_us,"), "{csv}");
}
