//! The auto-encoder: what it learns, its thresholds, parts of time.

use super::anomalies::{alpha, judged, normal, trace};
use crate::common::Span;
use crate::common::random::sets_of;
use pathlight::base::statistics::Random;
use pathlight::engine::anomalies::paper::vae::{Vae, VaeSettings};
use pathlight::engine::anomalies::{AnomalyBaseline, AnomalySettings, Detector, PartOfRequest};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::view::{anomalies, json};

#[test]
fn the_auto_encoder_learns_and_tells_odd_times() {
    let mut random = Random::new(3, 0, 0);
    let mut test = normal(901..1000);
    for number in 2001..2050 {
        let b = random.log_normal_us(4000.0, 0.1);
        test.extend(trace(number, b + 5300, &[("B", 1, 100, 100 + b), ("C", 1, 200 + b, 5200 + b)]));
    }
    let vae = VaeSettings { hidden: 24, latent: 3, flow: 2, epochs: 60, parts: 0, seed: 2 };
    let settings = AnomalySettings { detector: Detector::Vae(vae), ..alpha(0.01) };
    let report = judged(&normal(1..800), &test, settings);
    let losses = &report.training.as_ref().unwrap().losses;
    assert_eq!(losses.len(), 60);
    assert!(losses[59] < losses[0] - 1.0, "{losses:?}");
    // The 49 odd ones are all ranked before the normal ones.
    let odd = |row: &str| u64::from_str_radix(&row[20..], 16).unwrap() > 2000;
    assert!(report.rows[..49].iter().all(|row| odd(&row.request.trace_id)));
    assert!(report.rows[..49].iter().all(|row| report.is_abnormal(row)));
}

/// Returns the auto-encoder that these requests teach.
fn network(spans: &[Span], sizes: VaeSettings) -> Vae {
    let spans: Vec<(bool, Span)> = spans.iter().map(|s| (false, s.clone())).collect();
    let settings = AnomalySettings { detector: Detector::Vae(sizes), ..alpha(0.01) };
    let query = queries::AnomalyModel { train: Selection::default(), test: Selection::default(), settings };
    let bytes = NativePool::of(sets_of(&spans, 1)).unwrap().run(query).unwrap();
    AnomalyBaseline::from_bytes(&bytes).unwrap().vae.unwrap().1
}

#[test]
fn what_is_held_out_changes_nothing_of_the_network_but_its_threshold() {
    let sizes = VaeSettings { hidden: 4, latent: 2, flow: 1, epochs: 2, parts: 0, seed: 3 };
    let before = network(&normal(1..61), sizes);
    let mut held_out = 0;
    for number in 1..61_u32 {
        let mut spans = normal(1..61);
        for span in spans.iter_mut().filter(|span| span.trace == u128::from(number)) {
            span.duration_us += 40;
        }
        let after = network(&spans, sizes);
        // One that is not learned from moves no weight, and so no likelihood of those that are.
        if before.likelihoods() == after.likelihoods() {
            held_out += 1;
            assert_ne!(before.held_out(), after.held_out(), "{number}");
        }
    }
    assert_eq!(held_out, before.held_out().len());
    assert_eq!(before.likelihoods().len() + held_out, 60);
    // A tenth, by chance.
    assert!((1..16).contains(&held_out), "{held_out}");
}

#[test]
fn the_auto_encoder_learns_the_same_of_times_in_another_unit() {
    let sizes = VaeSettings { hidden: 4, latent: 2, flow: 1, epochs: 2, parts: 0, seed: 3 };
    let learned = |unit: u64| {
        let spans = (1..61).flat_map(|number| {
            let (b, c) = (2 + number % 3, 5 + number % 4);
            let times = [("B", 1, 1, 1 + b), ("C", 1, 2 + b, 2 + b + c)];
            trace(
                number,
                unit * (b + c + 3),
                &times.map(|(name, up, from, to)| (name, up, unit * from, unit * to)),
            )
        });
        network(&spans.collect::<Vec<_>>(), sizes).likelihoods().to_vec()
    };
    // A power of two: not even rounding differs. Deviations are less than a microsecond.
    assert_eq!(learned(1), learned(1024));
}

#[test]
fn a_report_of_the_auto_encoder_has_both_thresholds() {
    let sizes = VaeSettings { hidden: 16, latent: 2, flow: 2, epochs: 30, parts: 0, seed: 4 };
    let settings = AnomalySettings { detector: Detector::Vae(sizes), ..alpha(0.01) };
    let mut test = normal(901..1000);
    test.extend(trace(2001, 9300, &[("B", 1, 100, 4100), ("C", 1, 4200, 9200)]));
    let report = judged(&normal(1..400), &test, settings);
    let thresholds = report.thresholds.unwrap();
    // Nothing has an unseen call path, so a verdict is a comparison with a threshold.
    for row in &report.rows {
        assert_eq!(report.is_abnormal(row), row.score > thresholds.learned, "{row:?} {thresholds:?}");
    }
    let above = report.rows.iter().filter(|row| row.score > thresholds.held_out.unwrap()).count();
    assert_eq!(above as u64, thresholds.abnormal_held_out);
    assert!(above >= 1 && thresholds.held_out != Some(thresholds.learned));
    assert!(anomalies::title(&report).contains("held out of training"), "{}", anomalies::title(&report));
    let json = json::anomaly(&report, None).unwrap();
    assert!(json.contains("\"held_out_requests\": "), "{json}");
}

#[test]
fn a_sliding_window_forgets_what_is_older_than_fourteen_parts() {
    // Sixteen parts of eight traces. Only the first calls Y and Z; one of the fifteenth calls Z again, one of the last Y.
    let mut spans = Vec::new();
    for number in 0..128u64 {
        let also = match (number / 8, number % 8) {
            (0, 0..4) | (15, 3) => Some("Y"),
            (0, _) | (14, 3) => Some("Z"),
            _ => None,
        };
        let mut one = match also {
            Some(name) => trace(number + 1, 6300, &[("B", 1, 100, 1100), (name, 1, 1200, 6200)]),
            None => trace(number + 1, 6300 + number % 5, &[("B", 1, 100, 1100 + number % 3)]),
        };
        one.iter_mut().for_each(|span| span.start_us += number * 1_000_000);
        spans.extend(one);
    }
    let sizes = VaeSettings { hidden: 4, latent: 2, flow: 1, epochs: 1, parts: 16, seed: 3 };
    let settings = AnomalySettings { detector: Detector::Vae(sizes), ..alpha(0.01) };
    let spans: Vec<(bool, Span)> = spans.into_iter().map(|s| (false, s)).collect();
    let all = Selection::default();
    let first_us = spans.iter().map(|(_, span)| span.start_us).min().unwrap();
    let query = queries::Anomalies { train: all.clone(), test: all, settings: settings.clone() };
    let report = NativePool::of(sets_of(&spans, 2)).unwrap().run(query).unwrap();
    assert!(report.has_verdicts);
    let row = |number: u64| {
        let id = format!("{:032x}", number + 1);
        report.rows.iter().find(|row| row.request.trace_id == id).unwrap()
    };
    // Fourteen parts come first; then each is judged by the fourteen before it.
    assert!(
        (0..112).all(|number| row(number).is_unknown) && (112..128).all(|number| !row(number).is_unknown)
    );
    // The first part still teaches the fifteenth, and no longer the last.
    assert_ne!(row(14 * 8 + 3).part, PartOfRequest::Structure);
    let last = row(15 * 8 + 3);
    assert!(last.part == PartOfRequest::Structure && last.p == 0.0 && report.is_abnormal(last), "{last:?}");
    assert!(
        anomalies::title(&report)
            .contains("112 have nothing in the 14 parts of time before them to learn from: no verdict")
    );
    // Of two sets, the second is judged, and the picture of the first has no scores of another detector.
    let of_two: Vec<(bool, Span)> =
        spans.iter().map(|(_, span)| (span.start_us >= first_us + 112 * 1_000_000, span.clone())).collect();
    let (train, test) = (Selection::default(), Selection { group: 1, ..Selection::default() });
    let query = queries::Anomalies { train, test, settings };
    let report = NativePool::of(sets_of(&of_two, 2)).unwrap().run(query).unwrap();
    assert_eq!((report.rows.len(), report.learned.len()), (16, 0));
    assert!(report.rows.iter().all(|row| !row.is_unknown) && !report.baseline.is_empty());
}

#[test]
fn the_auto_encoder_and_the_rule_are_no_defaults() {
    assert_eq!(AnomalySettings::default().detector, Detector::Tree);
    assert_eq!((VaeSettings::default().flow, VaeSettings::default().parts), (10, 0));
    let spans: Vec<(bool, Span)> = normal(1..60).into_iter().map(|s| (false, s)).collect();
    let query = queries::AnomalyEvaluation {
        selection: Selection::default(),
        seed: 9,
        splits: 0,
        settings: alpha(0.1),
    };
    let table = NativePool::of(sets_of(&spans, 1)).unwrap().run(query).unwrap();
    assert!(table.rows.iter().all(|row| matches!(row.detector, Detector::Tree | Detector::Rule)));
}
