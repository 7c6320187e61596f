//! Anomaly detection: vectors, the rule and its calibration, injections, saved models, the evaluation.

use crate::common::random::{any_traces, sets_of, shuffled};
use crate::common::{Span, set_of, span};
use pathlight::base::statistics::Random;
use pathlight::engine::anomalies::paper::vae::VaeSettings;
use pathlight::engine::anomalies::paper::{
    FeatureEncoding, FeaturePart, Features, Injection, StvObserver, TrainedRule, inject,
};
use pathlight::engine::anomalies::{
    AnomalyBaseline, AnomalyReport, AnomalyRow, AnomalySettings, Detector, EvaluationTable, PartOfRequest,
    ReasonKind,
};
use pathlight::engine::flame::{PathTable, Walk};
use pathlight::engine::queries;
use pathlight::engine::requests::{RootEndpoint, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::trace::{PathSettings, TraceSet, Tree};
use pathlight::view::{anomalies, json};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Makes trace `number`: A over `[0, end]` with these spans below it (name, parent, start, end), moved away from time
/// 0.
pub(super) fn trace(number: u64, end: u64, below: &[(&str, u64, u64, u64)]) -> Vec<Span> {
    let base = 10_000;
    let mut spans = vec![span(1, 0, "A", base, base + end)];
    for (i, &(name, parent, start, end)) in below.iter().enumerate() {
        spans.push(span(2 + i as u64, parent, name, base + start, base + end));
    }
    spans.iter_mut().for_each(|s| s.trace = u128::from(number));
    spans
}

fn scpv(set: &TraceSet) -> Features {
    let table = PathTable::build(set, &RootEndpoint::TraceRoots, PathSettings::default());
    let all: Vec<u32> = (0..table.requests.len() as u32).collect();
    Features::merge(vec![FeaturePart::observe(set, &table, &all)])
}

fn stv(set: &TraceSet) -> Features {
    let table = PathTable::build(set, &RootEndpoint::TraceRoots, PathSettings::default());
    let mut walk =
        Walk::new(StvObserver::new(), PathSettings::default(), (0..table.requests.len() as u32).collect());
    while !walk.step(set, &table, &mut || false) {}
    Features::merge(vec![walk.finish(set)])
}

/// Returns the microseconds by call path, in words, of a row.
fn named(features: &Features, row: usize) -> Vec<(String, u64)> {
    let cells = features.row(row).iter().map(|cell| {
        let chain = features.paths.chain(cell.path);
        let names: Vec<&str> = chain
            .iter()
            .map(|&endpoint| features.paths.endpoints[endpoint as usize].operation.as_str())
            .collect();
        (names.join(">"), cell.us)
    });
    cells.collect()
}

fn pairs(of: &[(&str, u64)]) -> Vec<(String, u64)> {
    of.iter().map(|&(name, us)| (name.to_owned(), us)).collect()
}

#[test]
fn the_vector_of_a_request_has_the_exclusive_time_of_each_critical_call_path() {
    // B, then C twice (once below B); D runs beside B and ends before it: not critical.
    let spans = trace(1, 100, &[("B", 1, 10, 40), ("C", 2, 15, 25), ("C", 1, 50, 90), ("D", 1, 12, 30)]);
    let set = set_of(&spans);
    assert_eq!(named(&scpv(&set), 0), pairs(&[("A", 30), ("A>B", 20), ("A>B>C", 10), ("A>C", 40)]));
    // All call paths: A less the union of B, C and D.
    let all = [("A", 30), ("A>B", 20), ("A>B>C", 10), ("A>C", 40), ("A>D", 18)];
    assert_eq!(named(&stv(&set), 0), pairs(&all));
}

#[test]
fn a_call_path_of_no_time_is_present_and_one_that_is_missing_is_not() {
    let mut spans = trace(1, 50, &[("B", 1, 0, 50)]);
    spans.extend(trace(2, 50, &[]));
    let features = scpv(&set_of(&spans));
    assert_eq!(named(&features, 0), pairs(&[("A", 0), ("A>B", 50)]));
    assert_eq!(named(&features, 1), pairs(&[("A", 50)]));
}

/// Makes normal traces: B of about 1,000 us, then C of about 5,000 us.
pub(super) fn normal(numbers: std::ops::Range<u64>) -> Vec<Span> {
    let mut spans = Vec::new();
    for number in numbers {
        let mut random = Random::new(7, 0, number);
        let (b, c) = (random.log_normal_us(1000.0, 0.1), random.log_normal_us(5000.0, 0.1));
        spans.extend(trace(number, b + c + 300, &[("B", 1, 100, 100 + b), ("C", 1, 200 + b, 200 + b + c)]));
    }
    spans
}

pub(super) fn judged(train: &[Span], test: &[Span], settings: AnomalySettings) -> AnomalyReport {
    let mut spans: Vec<(bool, Span)> = train.iter().map(|s| (false, s.clone())).collect();
    spans.extend(test.iter().map(|s| (true, s.clone())));
    ask(sets_of(&spans, 2), settings)
}

fn ask(sets: Vec<TraceSet>, settings: AnomalySettings) -> AnomalyReport {
    let query = queries::Anomalies {
        train: Selection::default(),
        test: Selection { group: 1, ..Selection::default() },
        settings,
    };
    NativePool::of(sets).unwrap().run(query).unwrap()
}

pub(super) fn alpha(share: f64) -> AnomalySettings {
    AnomalySettings { alpha_ppm: (share * 1e6) as u32, ..AnomalySettings::default() }
}

#[test]
fn requests_that_are_not_explained_are_counted_and_say_so() {
    let odd: Vec<Span> = (901..907).flat_map(|number| trace(number, 5300, &[("C", 1, 200, 5200)])).collect();
    let settings = AnomalySettings { explain: 4, ..alpha(0.01) };
    let report = judged(&normal(1..501), &odd, settings.clone());
    assert_eq!((report.abnormal(), report.unexplained()), (6, 2));
    let with = report.rows.iter().filter(|row| !row.reasons.is_empty()).count();
    assert_eq!(with, 4);
    let last = &report.rows[5];
    assert_eq!(
        anomalies::reasons(&report, last),
        ["Its reasons are not worked out: it is not among the 4 most anomalous requests."]
    );
    assert!(anomalies::title(&report).ends_with("; the reasons of 2 are not worked out"));
    let (words, next) = anomalies::unexplained(&report, 4).unwrap();
    assert_eq!((words.as_str(), next), ("Explain 2 more of 2 without reasons", 504));
    let value: serde_json::Value = serde_json::from_str(&json::anomaly(&report, None).unwrap()).unwrap();
    assert_eq!((&value["unexplained"], &value["traces"][5]["unexplained"]), (&2.into(), &true.into()));
    let all = judged(&normal(1..501), &odd, AnomalySettings { explain: next, ..settings });
    assert_eq!((all.unexplained(), anomalies::unexplained(&all, next)), (0, None));
}

#[test]
fn vectors_are_exported_over_the_call_paths_of_both_sets() {
    let train = trace(1, 100, &[("B", 1, 10, 40), ("C", 2, 15, 25), ("D", 1, 12, 30)]);
    let test = trace(2, 100, &[("B", 1, 10, 40), ("E", 1, 50, 90)]);
    let mut spans: Vec<(bool, Span)> = train.iter().map(|s| (false, s.clone())).collect();
    spans.extend(test.iter().map(|s| (true, s.clone())));
    let ask = |encoding, workers| {
        let test = Some(Selection { group: 1, ..Selection::default() });
        let query = queries::AnomalyVectors { train: Selection::default(), test, encoding };
        NativePool::of(sets_of(&spans, workers)).unwrap().run(query).unwrap()
    };
    let csv = anomalies::vectors_csv(&ask(FeatureEncoding::Scpv, 1));
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(
        lines[0],
        "set,trace_id,root_span_id,start_us,latency_us,A: A,A: A > B: B,A: A > B: B > C: C,A: A > E: E"
    );
    let cells = |line: &str| line.splitn(6, ',').nth(5).unwrap().to_owned();
    // D is on no critical path; what a request does not have is empty.
    assert_eq!([cells(lines[1]), cells(lines[2])], ["70,20,10,", "30,30,,40"]);
    assert!(lines[1].starts_with("train,") && lines[2].starts_with("test,"));
    let stv = ask(FeatureEncoding::Stv, 2);
    assert_eq!(stv.paths.len(), 5);
    assert_eq!(stv, ask(FeatureEncoding::Stv, 1));
    let value: serde_json::Value = serde_json::from_str(&json::vectors(&stv).unwrap()).unwrap();
    assert_eq!(value["encoding"], "STV");
    assert_eq!(value["paths"][3], serde_json::json!([["A", "A"], ["D", "D"]]));
    assert_eq!(value["requests"][0]["cells"][3], serde_json::json!([3, 18]));
    assert_eq!(value["requests"][1]["cells"].as_array().unwrap().len(), 3);
}

#[test]
fn what_is_anomalous_is_found_and_explained() {
    let mut odd = trace(901, 31_300, &[("B", 1, 100, 26_100), ("C", 1, 26_200, 31_200)]);
    odd.extend(trace(902, 6300, &[("B", 1, 100, 1100), ("C", 1, 1200, 6200), ("N", 3, 2000, 3000)]));
    odd.extend(trace(903, 5300, &[("C", 1, 200, 5200)]));
    odd.extend(trace(904, 6300, &[("B", 1, 100, 1100), ("C", 1, 1200, 6200)]));
    odd.extend(trace(905, 7300, &[("B", 1, 100, 1100), ("B", 1, 1150, 2150), ("C", 1, 2250, 7250)]));
    let report = judged(&normal(1..501), &odd, alpha(0.01));
    assert_eq!((report.trained, report.features, report.alpha, report.has_verdicts), (500, 3, 0.01, true));
    // The baseline over time, to be drawn beside what is judged: the scores that the threshold is made of.
    let mut learned: Vec<f64> = report.learned.iter().map(|(_, score)| *score).collect();
    learned.sort_by(f64::total_cmp);
    assert_eq!(learned, report.baseline);
    assert!(report.learned.iter().all(|(start_us, _)| *start_us == 10_000));
    let row = |number: u64| {
        report.rows.iter().find(|row| row.request.trace_id.ends_with(&format!("{number:x}"))).unwrap()
    };
    let first = |number| {
        let reason = row(number).reasons[0];
        (reason.kind, report.path(reason.path).last().unwrap().1.to_owned(), reason)
    };
    for number in [901, 902, 903, 905] {
        assert!(report.is_abnormal(row(number)), "{:?}", row(number));
        assert_eq!(row(number).p_different, 1.0 / 501.0);
    }

    // B takes 26 times as long, and so does the request; the reason is B: it is delayed, and different by ratio.
    let (kind, name, delay) = first(901);
    assert_eq!((kind, name.as_str(), delay.value, delay.calls), (ReasonKind::Delay, "B", 26_000, 500));
    assert!(delay.longest_us.is_some_and(|us| us > 1200.0 && us < 1600.0), "{delay:?}");
    assert_eq!((row(901).p_delayed, row(901).p), (Some(1.0 / 501.0), 2.0 / 501.0));
    let slow = row(901).reasons[1];
    assert_eq!((slow.kind, row(901).part), (ReasonKind::SelfTime, PartOfRequest::OnPath));
    let (low, high) = slow.baseline.unwrap();
    assert!(low > 800.0 && low < 900.0 && high > 1100.0 && high < 1250.0, "{low} {high}");
    // In no other of these anything takes longer than ever.
    assert!([902, 903, 904, 905].iter().all(|number| !report.is_delayed(row(*number))));
    assert!(row(901).reasons.iter().all(|reason| reason.kind != ReasonKind::Latency));

    let (kind, name, new) = first(902);
    assert_eq!((kind, name.as_str(), new.alike, new.calls), (ReasonKind::NewCall, "N", 0, 500));
    let (kind, name, missing) = first(903);
    assert_eq!((kind, name.as_str(), missing.alike, missing.calls), (ReasonKind::MissingCall, "B", 0, 500));
    assert!(row(903).nearest.is_some() && row(903).part == PartOfRequest::Structure);
    let (kind, name, again) = first(905);
    assert_eq!((kind, name.as_str(), again.value), (ReasonKind::CallCount, "B", 2));

    assert!(!report.is_abnormal(row(904)));
    assert_eq!(report.abnormal(), 4);
    // Four of five are more than chance explains.
    assert!(report.has_drifted());
    assert_eq!(report.groups().iter().map(|group| group.rows.len()).collect::<Vec<_>>(), [1; 4]);
}

#[test]
fn with_few_traces_the_rate_is_raised_until_an_alarm_is_possible() {
    // 49 training traces: a p-value is never below 1/50.
    let report = judged(&normal(1..50), &trace(901, 900_000, &[("B", 1, 100, 890_000)]), alpha(0.01));
    assert_eq!((report.alpha, report.asked_alpha, report.rows[0].p_delayed), (0.02, 0.01, Some(0.02)));
    // One test of both verdicts needs a greater rate.
    assert_eq!((report.one_alpha(), report.rows[0].p, report.abnormal_by_one_test()), (0.04, 0.04, 1));
    assert_eq!(report.abnormal(), 1);
    assert_eq!(judged(&normal(1..100), &normal(901..902), alpha(0.01)).alpha, 0.01);
}

#[test]
fn each_request_against_all_others_has_a_rank_and_no_verdict() {
    let mut spans = normal(1..200);
    spans.extend(trace(901, 31_300, &[("B", 1, 100, 26_100), ("C", 1, 26_200, 31_200)]));
    let spans: Vec<(bool, Span)> = spans.into_iter().map(|span| (false, span)).collect();
    let all = Selection::default();
    let query = queries::Anomalies { train: all.clone(), test: all, settings: alpha(0.01) };
    let report = NativePool::of(sets_of(&spans, 2)).unwrap().run(query).unwrap();
    assert_eq!((report.has_verdicts, report.abnormal(), report.rows.len()), (false, 0, 200));
    assert!(report.rows[0].request.trace_id.ends_with("385"));
    assert_eq!(report.rows[0].reasons[0].kind, ReasonKind::Delay);
    // Each is ranked without itself, so the p-values are 1/201, 2/201, ... but for ties.
    let mut p: Vec<f64> = report.rows.iter().map(|row| row.p_different).collect();
    p.sort_by(f64::total_cmp);
    assert!(p[0] == 1.0 / 201.0 && (p[100] - 0.5).abs() < 0.02, "{p:?}");
}

#[test]
fn the_same_ids_in_two_sets_are_two_requests() {
    // B has the traces of A, and one of them is slow there.
    let mut b: Vec<Span> = normal(1..200).into_iter().filter(|span| span.trace != 7).collect();
    b.extend(trace(7, 31_300, &[("B", 1, 100, 26_100), ("C", 1, 26_200, 31_200)]));
    let report = judged(&normal(1..200), &b, alpha(0.01));
    assert_eq!(report.abnormal(), 1);
    assert!(report.rows[0].request.trace_id.ends_with("07") && report.is_abnormal(&report.rows[0]));
}

#[test]
fn a_root_that_training_has_not_gets_no_verdict() {
    let mut other = normal(901..903);
    other
        .iter_mut()
        .filter(|span| span.trace == 901 && span.id == 1)
        .for_each(|span| span.operation = "Z".into());
    let report = judged(&normal(1..200), &other, alpha(0.01));
    assert_eq!(report.rows.iter().map(|row| row.is_unknown).collect::<Vec<_>>(), [false, true]);
    assert_eq!(report.abnormal(), 0);
}

#[test]
fn training_with_abnormal_requests_leaves_them_out() {
    let mut train = normal(1..200);
    train.extend(trace(1001, 31_300, &[("B", 1, 100, 26_100), ("C", 1, 26_200, 31_200)]));
    train.extend(trace(1002, 91_300, &[("B", 1, 100, 1100), ("C", 1, 1200, 91_200)]));
    train.extend(trace(1003, 6300, &[("B", 1, 100, 1100), ("C", 1, 1200, 6200), ("N", 3, 2000, 3000)]));
    train.extend(trace(1004, 5300, &[("C", 1, 200, 5200)]));
    train.extend(trace(1005, 1300, &[("B", 1, 100, 1100)]));
    // Slower than all normal ones, but less anomalous than those.
    let odd = trace(2001, 7800, &[("B", 1, 100, 2600), ("C", 1, 2700, 7700)]);
    let as_is = judged(&train, &odd, alpha(0.01));
    assert_eq!(as_is.abnormal(), 0);
    let cleaned = judged(&train, &odd, AnomalySettings { contaminated_ppm: 30_000, ..alpha(0.01) });
    assert_eq!((cleaned.abnormal(), cleaned.trained), (1, 198));
    // So many more false alarms are possible, which the report says and reckons with.
    assert_eq!((as_is.contaminated, cleaned.contaminated), (0.0, 0.03));
    let words = "; since up to 3.0\u{202f}% of the baseline may be abnormal, up to 4.0\u{202f}% of normal requests may be called abnormal";
    assert!(anomalies::title(&cleaned).ends_with(words), "{}", anomalies::title(&cleaned));
    let value: serde_json::Value = serde_json::from_str(&json::anomaly(&cleaned, None).unwrap()).unwrap();
    assert_eq!(value["contaminated"], 0.03);
    let mut many = cleaned.clone();
    let normal = AnomalyRow { p_different: 1.0, p_delayed: Some(1.0), ..many.rows[0].clone() };
    many.rows.extend(vec![cleaned.rows[0].clone(); 6]);
    many.rows.extend(vec![normal; 93]);
    // 7 of 100 are too many at 1 %, and not at 4 %.
    assert!(!many.has_drifted() && AnomalyReport { contaminated: 0.0, ..many }.has_drifted());
    // A saved baseline knows it too.
    let spans: Vec<(bool, Span)> = train.iter().map(|s| (false, s.clone())).collect();
    let settings = AnomalySettings { contaminated_ppm: 30_000, ..alpha(0.01) };
    let query = queries::AnomalyModel { train: Selection::default(), test: Selection::default(), settings };
    let bytes = NativePool::of(sets_of(&spans, 1)).unwrap().run(query).unwrap();
    assert_eq!(AnomalyBaseline::from_bytes(&bytes).unwrap().to_bytes(), bytes);
    let judged: Vec<(bool, Span)> = odd.iter().map(|s| (true, s.clone())).collect();
    let by_file = ask(sets_of(&judged, 1), AnomalySettings { model: Some(bytes), ..alpha(0.01) });
    assert_eq!((by_file.contaminated, by_file.rows), (0.03, cleaned.rows));
}

/// Returns the spans as those of one service: waits are facts only there.
fn of_one_service(mut spans: Vec<Span>) -> Vec<Span> {
    spans.iter_mut().for_each(|span| span.service = "S".to_owned());
    spans
}

/// Returns the kinds of the reasons of the most anomalous request, the operations that they name, and their values.
fn reasons(report: &AnomalyReport) -> Vec<(ReasonKind, &str, u64)> {
    let reasons = report.rows[0].reasons.iter();
    reasons.map(|reason| (reason.kind, report.path(reason.path).last().unwrap().1, reason.value)).collect()
}

#[test]
fn order_waits_what_reaches_out_and_the_critical_path_are_reasons() {
    let normal = of_one_service(normal(1..501));
    let said = |spans: Vec<Span>| judged(&normal, &of_one_service(spans), alpha(0.01));
    // C first, then B.
    let report = said(trace(901, 6300, &[("C", 1, 100, 5100), ("B", 1, 5200, 6200)]));
    assert_eq!(reasons(&report)[0].0, ReasonKind::Order, "{:?}", reasons(&report));
    assert!(report.is_abnormal(&report.rows[0]) && report.rows[0].part == PartOfRequest::Structure);
    // C begins 20 ms after B has ended, where 100 us is normal: nobody works meanwhile but A.
    let report = said(trace(901, 26_200, &[("B", 1, 100, 1100), ("C", 1, 21_100, 26_100)]));
    let waits = reasons(&report).contains(&(ReasonKind::Wait, "C", 20_000));
    assert!(
        waits && reasons(&report).contains(&(ReasonKind::SelfTime, "A", 20_200)),
        "{:?}",
        reasons(&report)
    );
    assert_eq!(anomalies::severity(&report, &report.rows[0]), "delayed, and different");
    // A ends 3 ms before C, which it no longer waits for.
    let report = said(trace(901, 3200, &[("B", 1, 100, 1100), ("C", 1, 1200, 6200)]));
    let kinds = reasons(&report);
    assert!(kinds.iter().any(|reason| reason.0 == ReasonKind::Outside), "{kinds:?}");
    assert!(kinds.contains(&(ReasonKind::CriticalPath, "C", 0)), "{kinds:?}");
}

#[test]
fn calls_that_do_not_occur_together_are_a_reason() {
    let of = |number: u64, names: [&str; 2]| {
        trace(number, 2300, &[(names[0], 1, 100, 1100), (names[1], 1, 1200, 2200)])
    };
    let normal: Vec<Span> = (1..501)
        .flat_map(|number| of(number, if number % 2 == 0 { ["B", "C"] } else { ["D", "E"] }))
        .collect();
    let report = judged(&normal, &of(901, ["B", "E"]), alpha(0.01));
    let ((kind, name, _), first) = (reasons(&report)[0], report.rows[0].reasons[0]);
    assert_eq!((kind, name, first.alike, first.calls), (ReasonKind::Combination, "A", 0, 500));
    assert!(report.is_abnormal(&report.rows[0]));
}

/// Makes a trace with B of about 5,000 us, beside it D of so many, and E, inside D or after it; in some a call F.
fn parallel(number: u64, d_us: u64, is_inside: bool, has_f: bool) -> Vec<Span> {
    let b_us = Random::new(8, 0, number).log_normal_us(5000.0, 0.1);
    let e = if is_inside { (200, 400) } else { (110 + d_us, 150 + d_us) };
    let mut below = vec![("B", 1, 100, 100 + b_us), ("D", 1, 110, 110 + d_us), ("E", 1, e.0, e.1)];
    if has_f {
        below.push(("F", 1, 150 + b_us, 180 + b_us));
    }
    trace(number, 300 + b_us, &below)
}

#[test]
fn what_is_off_the_critical_path_does_not_delay_unless_it_covers_a_sibling() {
    for (is_inside, severity) in [(false, "slow, but not delayed"), (true, "slow calls")] {
        let d_us = |number| Random::new(9, 0, number).log_normal_us(1000.0, 0.1);
        // One in fifty calls F.
        let normal: Vec<Span> =
            (1..501).flat_map(|number| parallel(number, d_us(number), is_inside, number % 50 == 0)).collect();
        for has_f in [false, true] {
            let report = judged(&normal, &parallel(901, 4000, is_inside, has_f), alpha(0.01));
            let row = &report.rows[0];
            let kinds = reasons(&report);
            // Reasons of structure come first, whatever leads.
            assert_eq!(kinds[0].0 == ReasonKind::NewCall, has_f, "{kinds:?}");
            assert!(kinds.contains(&(ReasonKind::SelfTime, "D", 4000)), "{kinds:?}");
            assert_eq!(row.part, if is_inside { PartOfRequest::Covering } else { PartOfRequest::OffPath });
            assert!(report.is_abnormal(row));
            assert_eq!(anomalies::severity(&report, row), severity, "{kinds:?}");
            let value: serde_json::Value =
                serde_json::from_str(&json::anomaly(&report, None).unwrap()).unwrap();
            assert_eq!(value["traces"][0]["part"], "off_path");
        }
    }
}

#[test]
fn the_rule_judges_a_request_of_the_training_set_by_the_rest() {
    let features = scpv(&set_of(&normal(1..200)));
    let rule = TrainedRule::train(&features);
    let lookup = rule.lookup(&features);
    let judge = rule.judge(&features, &lookup);
    let mut p_values: Vec<f64> = (0..features.len()).map(|row| judge.verdict(row).p_time).collect();
    p_values.sort_by(f64::total_cmp);
    // Each has its own place among the calibration scores, so the p-values are 2/200, 3/200, ... but for ties.
    assert_eq!(p_values[0], 2.0 / 200.0);
    assert!((p_values[98] - 0.5).abs() < 0.02, "{}", p_values[98]);
}

#[test]
fn a_saved_model_judges_as_the_one_that_was_trained() {
    let (train, mut test) = (normal(1..120), normal(901..950));
    test.extend(trace(990, 7000, &[("B", 1, 100, 6000), ("X", 1, 6100, 6900)]));
    let vae = Detector::Vae(VaeSettings { hidden: 8, latent: 2, flow: 1, epochs: 3, parts: 0, seed: 5 });
    for detector in [Detector::Tree, vae] {
        let settings = AnomalySettings { detector, ..alpha(0.05) };
        let spans: Vec<(bool, Span)> =
            train.iter().map(|s| (false, s.clone())).chain(test.iter().map(|s| (true, s.clone()))).collect();
        let query = queries::AnomalyModel {
            train: Selection::default(),
            test: Selection::default(),
            settings: settings.clone(),
        };
        let mut pool = NativePool::of(sets_of(&spans, 3)).unwrap();
        let bytes = pool.run(query).unwrap();
        assert_eq!(AnomalyBaseline::from_bytes(&bytes).unwrap().to_bytes(), bytes);
        let mut direct = ask(sets_of(&spans, 2), settings.clone());
        let saved = ask(sets_of(&spans, 1), AnomalySettings { model: Some(bytes.clone()), ..settings });
        direct.training = None;
        assert_eq!(direct.rows, saved.rows);
        assert_eq!(direct.rows[0].request.trace_id, format!("{:032x}", 990));
        assert!(
            AnomalyBaseline::from_bytes(&bytes[..bytes.len() - 9]).is_err()
                && AnomalyBaseline::from_bytes(b"{}").is_err()
        );
    }
}

#[test]
fn a_model_that_somebody_has_changed_is_refused_or_judges() {
    let vae = Detector::Vae(VaeSettings { hidden: 4, latent: 2, flow: 1, epochs: 1, parts: 0, seed: 5 });
    let mut accepted = 0;
    for detector in [Detector::Tree, vae] {
        let settings = AnomalySettings { detector, ..alpha(0.05) };
        let spans: Vec<(bool, Span)> = normal(1..40).iter().map(|s| (false, s.clone())).collect();
        let query = queries::AnomalyModel {
            train: Selection::default(),
            test: Selection::default(),
            settings: settings.clone(),
        };
        let bytes = NativePool::of(sets_of(&spans, 1)).unwrap().run(query).unwrap();
        // A model of the format before has no checksum: 26 bytes of name and 8 of checksum go.
        let body = &bytes[34..];
        let judged: Vec<(bool, Span)> = normal(50..55).iter().map(|s| (true, s.clone())).collect();
        let mut random = Random::new(7, 0, 0);
        for _ in 0..600 {
            let mut changed = body.to_vec();
            let at = random.below(changed.len() as u64) as usize;
            changed[at] = random.below(256) as u8;
            let changed = [&b"pathlight anomaly model 2\n"[..], &changed].concat();
            if AnomalyBaseline::from_bytes(&changed).is_ok() {
                accepted += 1;
                let settings = AnomalySettings { model: Some(changed), ..settings.clone() };
                assert_eq!(ask(sets_of(&judged, 1), settings).rows.len(), 5);
            }
        }
    }
    // Changed names and counts are sound too.
    assert!((100..1100).contains(&accepted), "{accepted} of 1,200 are accepted");
}

#[test]
fn recipes_change_what_they_say_and_nothing_else() {
    let spans = trace(
        5,
        1000,
        &[("B", 1, 10, 400), ("C", 2, 20, 100), ("D", 2, 120, 300), ("E", 1, 500, 900), ("F", 5, 510, 520)],
    );
    let set = set_of(&spans);
    let mut tree = Tree::default();
    tree.load(&set, 0, PathSettings::default());
    let rows = |set: &TraceSet| -> BTreeMap<String, (u64, u64)> {
        let rows = 0..set.spans() as u32;
        rows.map(|row| (set.span_id_text(row), (set.start_us(row), set.duration_us(row)))).collect()
    };
    let before = rows(&set);
    for seed in 0..40 {
        let copy = |how| {
            let mut out = set.without_traces();
            let made = inject(&set, &tree, 0, how, seed, &mut out).unwrap().unwrap();
            (rows(&out), made.lost)
        };
        let durations = |rows: &BTreeMap<String, (u64, u64)>| {
            let mut durations: Vec<u64> = rows.values().map(|(_, duration)| *duration).collect();
            durations.sort_unstable();
            durations
        };
        // round(0.2 * 5) = 1 span, with what hangs below it.
        let (dropped, lost) = copy(Injection::Structure);
        assert!(
            lost >= 1 && dropped.len() + lost as usize == 6 && dropped.contains_key(&set.span_id_text(0))
        );
        assert!(dropped.iter().all(|(id, times)| before[id] == *times));
        let (permuted, lost) = copy(Injection::Durations);
        assert_eq!((lost, durations(&permuted)), (0, durations(&before)));
        assert!(permuted.iter().all(|(id, (start, _))| before[id].0 == *start));
        let (both, lost) = copy(Injection::Recipe);
        assert!(lost >= 1 && both.len() + lost as usize == 6);
        let (slower, _) = copy(Injection::Slower { percent: 300 });
        let root = set.span_id_text(0);
        let extra = slower[&root].1 - before[&root].1;
        let longer: Vec<&String> = slower.keys().filter(|id| slower[*id].1 == 3 * before[*id].1).collect();
        assert!(longer.iter().any(|id| extra == 2 * before[*id].1), "{slower:?}");
    }
    let mut out = set.without_traces();
    let alone = set_of(&trace(6, 10, &[]));
    tree.load(&alone, 0, PathSettings::default());
    assert_eq!(inject(&alone, &tree, 0, Injection::Recipe, 1, &mut out).unwrap(), None);
}

fn table(mut pool: NativePool) -> EvaluationTable {
    let vae = Detector::Vae(VaeSettings { hidden: 4, latent: 2, flow: 0, epochs: 1, parts: 0, seed: 1 });
    let settings = AnomalySettings { detector: vae, ..alpha(0.1) };
    let query = queries::AnomalyEvaluation { selection: Selection::default(), seed: 9, splits: 3, settings };
    let mut table = pool.run(query).unwrap();
    table.rows.iter_mut().for_each(|row| (row.train_ms, row.score_ms) = (None, None));
    table
}

#[test]
fn the_evaluation_finds_the_injected_and_prints_every_pair() {
    let spans: Vec<(bool, Span)> = normal(1..400).into_iter().map(|s| (false, s)).collect();
    let table = table(NativePool::of(sets_of(&spans, 2)).unwrap());
    // The whole tree, with and without abnormal requests in training, and on two kinds of vectors the rule and the
    // auto-encoder by either of its thresholds.
    assert_eq!(table.rows.len(), (2 + 2 * 3) * Injection::ALL.len());
    for pair in table.rows.windows(2).filter(|pair| matches!(pair[1].detector, Detector::VaeHeldOut(_))) {
        assert!(matches!(pair[0].detector, Detector::Vae(_)) && pair[0].injection == pair[1].injection);
        // One network ranks; only who is called abnormal differs.
        assert_eq!(pair[0].accuracy.auprc, pair[1].accuracy.auprc);
    }
    assert_eq!(table.trained + table.held_out, 399);
    // With 20, 50 and 100 training requests, and with a half.
    let trained: Vec<f64> = table.false_alarms.iter().map(|row| row.trained.round()).collect();
    assert_eq!((trained.len(), &trained[..3]), (4, &[20.0, 50.0, 100.0][..]));
    assert!(trained[3] > 150.0 && trained[3] < 250.0, "{trained:?}");
    for row in &table.false_alarms {
        assert!(row.splits == 3 && row.alpha == 0.1, "{row:?}");
        let share = row.abnormal;
        assert!(share.mean > 0.0 && share.mean < 0.25 && share.mean < share.greatest, "{row:?}");
    }
    let few = normal(1..90).into_iter().map(|s| (false, s)).collect::<Vec<_>>();
    let few = self::table(NativePool::of(sets_of(&few, 1)).unwrap());
    let least = few.false_alarms.iter().map(|row| row.trained).fold(f64::MAX, f64::min);
    assert!(least == 20.0 && few.false_alarms.iter().all(|row| row.trained < 100.0), "{few:?}");
    assert!(anomalies::false_alarms(&few)[0].starts_with("With 20 training requests, "), "{few:?}");
    let rule = table.rows.iter().find(|row| {
        (row.detector, row.encoding, row.injection)
            == (Detector::Rule, Some(FeatureEncoding::Scpv), Injection::Structure)
    });
    // Dropping a span of three is always seen.
    assert!(rule.unwrap().accuracy.auprc > 1.0 - 1e-9);
    let of = |injection| {
        table.rows.iter().find(|row| (row.detector, row.injection) == (Detector::Tree, injection)).unwrap()
    };
    let calls = [Injection::Structure, Injection::Retry, Injection::Repeated, Injection::Error];
    for injection in calls {
        let found = of(injection);
        assert!(found.accuracy.auprc > 0.99 && found.accuracy.recall == 1.0, "{injection:?} {found:?}");
        assert!(found.named > Some(0.9), "{injection:?} {found:?}");
    }
    // No calls are parallel, so none can be made serial.
    assert_eq!(of(Injection::Serial).accuracy.abnormal, 0);
    let ten = of(Injection::OneSlower { percent: 1000, is_on_path: true });
    assert!(ten.accuracy.recall > 0.99 && ten.named > Some(0.9), "{ten:?}");
    // One of the two spans below the root, of three.
    assert!((table.dropped_share - 1.0 / 3.0).abs() < 1e-12);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn reports_depend_on_neither_order_nor_workers(spans in any_traces(60), workers in 1usize..4, seed in any::<u64>()) {
        let settings = alpha(0.2);
        let one = ask(sets_of(&spans, 1), settings.clone());
        let many = ask(sets_of(&shuffled(&spans, seed), workers), settings);
        prop_assert_eq!(one, many);
        let one = table(NativePool::of(sets_of(&spans, 1)).unwrap());
        let many = table(NativePool::of(sets_of(&shuffled(&spans, seed), workers)).unwrap());
        prop_assert_eq!(one, many);
    }
}
