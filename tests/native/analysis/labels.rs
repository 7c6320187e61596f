//! What labels of requests teach the detector of anomalies.

use super::anomalies::{alpha, judged, normal, trace};
use crate::common::random::sets_of;
use crate::common::{Span, generated_as};
use pathlight::base::statistics::Random;
use pathlight::engine::anomalies::{
    AnomalyBaseline, AnomalyReport, AnomalyRow, AnomalySettings, RequestLabel, Taught,
};
use pathlight::engine::queries;
use pathlight::engine::requests::{RequestRef, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{GenerateOptions, Generator, Inject, Speed, TopologyPlace};
use pathlight::view::address::Address;
use pathlight::view::anomalies;
use std::collections::BTreeSet;

/// Returns a label of the request of trace `number`.
fn label(number: u64, is_normal: bool) -> RequestLabel {
    RequestLabel { trace_id: format!("{number:032x}"), root_span_id: None, is_normal }
}

fn with(labels: &[RequestLabel]) -> AnomalySettings {
    AnomalySettings { labels: labels.to_vec(), ..alpha(0.01) }
}

/// Returns whether the request of trace `number` is abnormal.
fn is_abnormal(report: &AnomalyReport, number: u64) -> bool {
    let row = report.rows.iter().find(|row| row.request.trace_id == format!("{number:032x}"));
    report.is_abnormal(row.unwrap())
}

/// Trace `number` as the others are, with a new call.
fn with_new_call(number: u64) -> Vec<Span> {
    trace(number, 6300, &[("B", 1, 100, 1100), ("C", 1, 1200, 6200), ("N", 3, 2000, 3000)])
}

/// Trace `number` with a B that takes so long.
fn slow(number: u64, us: u64) -> Vec<Span> {
    trace(number, us + 5300, &[("B", 1, 100, us + 100), ("C", 1, us + 200, us + 5200)])
}

#[test]
fn a_normal_label_makes_requests_of_that_shape_normal_and_no_others() {
    let odd = [with_new_call(901), with_new_call(902), slow(903, 25_000), slow(904, 24_000)].concat();
    let before = judged(&normal(1..501), &odd, alpha(0.01));
    assert_eq!([901, 902, 903, 904].map(|n| is_abnormal(&before, n)), [true; 4]);
    assert_eq!(before.taught, None);
    let report = judged(&normal(1..501), &odd, with(&[label(901, true)]));
    assert_eq!([901, 902, 903, 904].map(|n| is_abnormal(&report, n)), [false, false, true, true]);
    assert_eq!(report.taught, Some(Taught { normal: 1, like_normal: 1, ..Taught::default() }));
    assert_eq!(report.trained, 502);
    let title = anomalies::title(&report);
    assert!(title.ends_with("; 1 request labelled normal and 1 like it count as baseline"), "{title}");
    // A delay is normal up to what was called so.
    let slower = judged(&normal(1..501), &odd, with(&[label(904, true)]));
    assert_eq!([901, 903, 904].map(|n| is_abnormal(&slower, n)), [true, true, false]);
    let longer = judged(&normal(1..501), &odd, with(&[label(903, true)]));
    assert_eq!([901, 903, 904].map(|n| is_abnormal(&longer, n)), [true, false, false]);
    // One that is not there teaches nothing.
    let other = judged(&normal(1..501), &odd, with(&[label(999, true)]));
    assert_eq!(other.taught, Some(Taught { unknown: 1, ..Taught::default() }));
    let p = |report: &AnomalyReport| -> Vec<f64> { report.rows.iter().map(|row| row.p).collect() };
    assert_eq!(p(&other), p(&before), "to learn again from the same requests changes nothing");
}

#[test]
fn what_is_like_the_incident_leaves_the_baseline() {
    let mut train = normal(1..501);
    (0..12).for_each(|n| train.extend(slow(1001 + n, 20_000 + 500 * n)));
    let odd = [slow(901, 24_000), slow(902, 22_000), with_new_call(903)].concat();
    let before = judged(&train, &odd, alpha(0.01));
    assert_eq!([901, 902, 903].map(|n| is_abnormal(&before, n)), [false, false, true]);
    let report = judged(&train, &odd, with(&[label(901, false)]));
    assert_eq!([901, 902, 903].map(|n| is_abnormal(&report, n)), [true; 3]);
    assert_eq!(report.taught, Some(Taught { incident: 1, left_out: 12, ..Taught::default() }));
    assert_eq!(report.trained, 500);
    assert_eq!(anomalies::severity(&report, &report.rows[0]), "the incident, you said");
}

#[test]
fn a_saved_baseline_keeps_what_it_was_taught_and_can_be_taught_more() {
    let mut train = normal(1..501);
    (0..12).for_each(|n| train.extend(slow(1001 + n, 20_000 + 500 * n)));
    let odd = [with_new_call(901), slow(902, 22_000)].concat();
    let save = |settings: AnomalySettings| {
        let mut spans: Vec<(bool, Span)> = train.iter().map(|s| (false, s.clone())).collect();
        spans.extend(odd.iter().map(|s| (true, s.clone())));
        let (train, test) = (Selection::default(), Selection { group: 1, ..Selection::default() });
        let query = queries::AnomalyModel { train, test, settings };
        NativePool::of(sets_of(&spans, 2)).unwrap().run(query).unwrap()
    };
    let labels = [label(901, true), label(902, false)];
    let fresh = [with_new_call(911), slow(912, 23_000)].concat();
    let by = |bytes: Vec<u8>| {
        assert_eq!(AnomalyBaseline::from_bytes(&bytes).unwrap().to_bytes(), bytes);
        let report = judged(&normal(1..2), &fresh, AnomalySettings { model: Some(bytes), ..alpha(0.01) });
        [911, 912].map(|n| is_abnormal(&report, n))
    };
    let plain = save(alpha(0.01));
    assert_eq!(by(plain.clone()), [true, false]);
    assert_eq!(by(save(with(&labels))), [false, true]);
    // The same, one label after the other.
    let once = save(AnomalySettings { model: Some(plain), ..with(&labels[..1]) });
    assert_eq!(by(once.clone()), [false, false]);
    assert_eq!(by(save(AnomalySettings { model: Some(once), ..with(&labels[1..]) })), [false, true]);
}

#[test]
fn labels_stand_in_the_address() {
    let mut address = Address::default();
    let request = RequestRef { trace_id: "ab".into(), root_span_id: "1".into(), latency_us: 3 };
    address.anomaly.toggle_label(&request, true);
    assert_eq!(address.anomaly.label(&request), Some(true));
    let fragment = address.to_fragment();
    assert!(fragment.contains("label=normal:1:ab"), "{fragment}");
    assert_eq!(Address::parse(&fragment).anomaly, address.anomaly);
    // Another word takes the place of the first, and the same takes it back.
    address.anomaly.toggle_label(&request, false);
    assert_eq!(address.anomaly.label(&request), Some(false));
    address.anomaly.toggle_label(&request, false);
    assert_eq!((address.anomaly.label(&request), address.anomaly.labels.len()), (None, 0));
    assert!(Address::parse("#view=anomalies&label=x&label=normal:1").anomaly.labels.is_empty());
}

/// What a release changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DriftKind {
    /// Four endpoints take two to six times as long.
    FourSlower,
    /// All take 1.5 times as long.
    AllSlower,
    /// Calls that were made one after the other are made side by side.
    SideBySide,
}

/// A release after which some endpoints take longer, and an incident in a few of its requests.
struct Drift {
    pool: NativePool,
    /// Traces of the judged set that the incident touches.
    incident: BTreeSet<String>,
}

impl Drift {
    fn new(kind: DriftKind, seed: u64, traces: u64) -> Drift {
        let before = GenerateOptions { traces, seed, ..GenerateOptions::default() };
        let mut after = GenerateOptions { seed: seed + 1000, ..before.clone() };
        let mut places = Generator::new(&before).unwrap().places();
        places.retain(|place| place.share > 0.2);
        let mut random = Random::new(seed, 0, 0);
        random.shuffle(&mut places);
        let mut slower = BTreeSet::new();
        for place in &places {
            let endpoint = format!("{}:{}", place.service, place.operation);
            let (most, share_ppm) = match kind {
                DriftKind::FourSlower => (4, 1_000_000 + random.below(4_000_000) as i32),
                DriftKind::AllSlower => (usize::MAX, 500_000),
                DriftKind::SideBySide => (0, 0),
            };
            if slower.len() < most && slower.insert(endpoint.clone()) {
                after.speeds.push(Speed { endpoint, share_ppm, is_whole: false });
            }
        }
        after.is_side_by_side = kind == DriftKind::SideBySide;
        // The incident is elsewhere.
        let elsewhere =
            |place: &&TopologyPlace| !slower.contains(&format!("{}:{}", place.service, place.operation));
        let place = places.iter().rev().find(elsewhere).unwrap_or(&places[0]);
        after.injects.push(Inject { place: place.name.clone(), extra_us: 20_000, share: 0.1 });
        let generator = Generator::new(&after).unwrap();
        let touched = (0..traces).filter(|&index| generator.is_touched(index));
        let incident = touched.map(|index| format!("{:032x}", generator.trace(index).trace_id)).collect();
        let sets = vec![generated_as(&before, 0), generated_as(&after, 1)];
        Drift { pool: NativePool::of(sets).unwrap(), incident }
    }

    fn judge(&mut self, labels: &[RequestLabel]) -> AnomalyReport {
        let (train, test) = (Selection::default(), Selection { group: 1, ..Selection::default() });
        self.pool.run(queries::Anomalies { train, test, settings: with(labels) }).unwrap()
    }

    /// Returns precision and recall among the requests that are not labelled.
    fn rates(&self, report: &AnomalyReport) -> (f64, f64) {
        let rows = || report.rows.iter().filter(|row| row.label.is_none());
        let is_true = |row: &&AnomalyRow| self.incident.contains(&row.request.trace_id);
        let called = rows().filter(|row| report.is_abnormal(row));
        let found = called.clone().filter(is_true).count() as f64;
        (found / called.count() as f64, found / rows().filter(is_true).count() as f64)
    }
}

/// Labels the first request of the largest group that has none yet, as it is, so many times, and looks again each time.
fn teach(drift: &mut Drift, times: usize) -> (AnomalyReport, Vec<RequestLabel>) {
    let mut labels: Vec<RequestLabel> = Vec::new();
    let mut report = drift.judge(&labels);
    for _ in 0..times {
        let groups = report.groups();
        let next = groups.iter().find_map(|group| {
            let row = &report.rows[report.typical(&group.rows)];
            row.label.is_none().then_some(&row.request)
        });
        let Some(RequestRef { trace_id, root_span_id, .. }) = next.cloned() else { break };
        let is_normal = !drift.incident.contains(&trace_id);
        labels.push(RequestLabel { trace_id, root_span_id: Some(root_span_id), is_normal });
        report = drift.judge(&labels);
    }
    (report, labels)
}

/// What five labels teach of a drift.
struct Lesson {
    /// Requests that the incident touches.
    incident: usize,
    /// Requests called abnormal, before and after.
    called: [usize; 2],
    precision: [f64; 2],
    recall: [f64; 2],
}

impl Lesson {
    fn new(kind: DriftKind, seed: u64) -> Lesson {
        let mut drift = Drift::new(kind, seed, 400);
        let before = drift.judge(&[]);
        let (after, labels) = teach(&mut drift, 5);
        assert!(labels.len() <= 5);
        let rates = [&before, &after].map(|report| drift.rates(report));
        Lesson {
            incident: drift.incident.len(),
            called: [before.abnormal(), after.abnormal()],
            precision: rates.map(|(precision, _)| precision),
            recall: rates.map(|(_, recall)| recall),
        }
    }

    /// Returns the share of the missing precision that the labels bring.
    fn gain(&self) -> f64 {
        let [before, after] = self.precision;
        (after - before) / (1.0 - before)
    }
}

const KINDS: [DriftKind; 3] = [DriftKind::FourSlower, DriftKind::AllSlower, DriftKind::SideBySide];

#[test]
fn five_labels_raise_the_precision_under_drift() {
    for kind in [DriftKind::FourSlower, DriftKind::SideBySide] {
        let lesson = Lesson::new(kind, 1);
        assert!(lesson.gain() > 0.5, "{kind:?}: {:?}", lesson.precision);
        assert!(lesson.recall[1] > lesson.recall[0] - 0.1, "{kind:?}: {:?}", lesson.recall);
    }
}

#[test]
#[ignore = "takes minutes; prints what five labels teach in 30 draws"]
fn labels_in_many_draws() {
    for kind in KINDS {
        let mut gains = Vec::new();
        for seed in 11..=20 {
            let lesson = Lesson::new(kind, seed);
            gains.push(lesson.gain());
            let Lesson { incident, called, precision, recall } = lesson;
            println!(
                "{kind:?} {seed}: {incident} hit, {called:?} called, precision {precision:.2?}, recall {recall:.2?}"
            );
        }
        let mean = gains.iter().sum::<f64>() / gains.len() as f64;
        println!("{kind:?}: of what was missing {mean:.2}; each: {gains:.2?}");
    }
}
