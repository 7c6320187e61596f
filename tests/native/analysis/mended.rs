//! A part of a service as it should be, or faster or slower by an amount: by hand, and against traces that were made so.

use crate::common::{generated, generated_as, set_of, span, stage};
use pathlight::base::statistics::Percentiles;
use pathlight::engine::compare::{Basis, MeasuredTime};
use pathlight::engine::findings::{FindingFacts, TagsReport};
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{Changes, MendedLatency, Quantile, SubjectChange, SubjectTime, WhatIfReport};
use pathlight::engine::queries::{Compare, Findings, LateFindingsQuery, Mended, Target, WhatIf};
use pathlight::engine::requests::{PercentileRange, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::verdict::ServicePart::{self, In, Out, Own};
use pathlight::engine::verdict::Subject;
use pathlight::generate::{GenerateOptions, Generator, Inject, Speed};
use pathlight::trace::{SpanKind, TraceSet};
use pathlight::view::address::Address;
use pathlight::view::address::comparing::ComparedSide;
use pathlight::view::findings::links::{show_what_if, what_if_words};
use pathlight::view::flow::choice::FlowPanel;
use pathlight::view::json;
use pathlight::view::views::View;
use serde_json::Value;

fn of_group(group: u8) -> Selection {
    Selection { group, ..Selection::default() }
}

/// Returns the requests of set A with a part of a service as in the reference.
fn mended(
    pool: &mut NativePool,
    reference: Selection,
    (service, part): (&str, ServicePart),
) -> MendedLatency {
    let service = service.to_owned();
    pool.run(Mended { selection: of_group(0), reference, service, part }).unwrap()
}

/// Returns the requests of set A after changes of parts of services.
fn what_if(
    pool: &mut NativePool,
    baseline: Option<Selection>,
    changes: &[((&str, ServicePart), SubjectTime)],
) -> WhatIfReport {
    let subjects = changes.iter().map(|((service, part), time)| SubjectChange {
        subject: Subject { service: (*service).to_owned(), part: *part },
        time: time.clone(),
    });
    let changes = Changes { subjects: subjects.collect(), ..Changes::default() };
    pool.run(WhatIf { selection: of_group(0), baseline, settings: FlowSettings::default(), changes }).unwrap()
}

/// Makes a request of a front end that calls `store` and then works for 2 ms; times in milliseconds: own work before the
/// call, on the way, in the store, on the way back.
fn request(set: &mut TraceSet, trace: u128, [before, way, store, back]: [u64; 4]) {
    let (begin, answer) = (before, before + way);
    let end = answer + store + back;
    let spans = [
        (1, 0, "front", SpanKind::Server, 0, end + 2),
        (2, 1, "front", SpanKind::Client, begin, end),
        (3, 2, "store", SpanKind::Server, answer, answer + store),
    ];
    let spans = spans.map(|(id, parent, name, kind, from, to)| {
        let mut span = span(id, parent, name, 1_000 * (1_000 + from), 1_000 * (1_000 + to));
        span.operation = format!("{name} {kind:?}");
        (span.trace, span.kind) = (trace, kind);
        span
    });
    stage(set, &spans);
}

#[test]
fn only_what_is_slow_in_the_part_becomes_what_it_takes_in_the_reference() {
    let set = |group: u8, slow: [u64; 4], often: u128| {
        let mut set = TraceSet::new();
        set.loading_group = group;
        for trace in 1..=40 {
            request(&mut set, trace, if trace <= often { slow } else { [6, 4, 5, 1] });
        }
        set.seal().unwrap();
        set
    };
    let parts = [("front", Own), ("front", Out), ("store", In), ("store", Own)];
    for (slow, at) in [
        ([106, 4, 5, 1], &[0][..]),
        ([6, 104, 5, 1], &[1, 2]),
        ([6, 4, 5, 101], &[1, 2]),
        ([6, 4, 105, 1], &[3]),
    ] {
        // Few are slow, and all are.
        for often in [4, 40] {
            let healthy = set(1, slow, 0);
            let mut pool = NativePool::of(vec![set(0, slow, often), healthy]).unwrap();
            for (number, part) in parts.into_iter().enumerate() {
                let report = mended(&mut pool, of_group(1), part);
                let is_slow = at.contains(&number);
                assert_eq!(report.before_us.max, 118_000, "{slow:?} {part:?}");
                assert_eq!(report.after_us.max, if is_slow { 18_000 } else { 118_000 }, "{slow:?} {part:?}");
                assert_eq!(report.changed, if is_slow { often as u64 } else { 0 }, "{slow:?} {part:?}");
                assert_eq!(is_slow, report.after_us != report.before_us);
            }
        }
    }
    // A service that is not there, and a reference that lacks it, change nothing.
    let alone = set_of(&[span(1, 0, "front", 0, 10)]);
    let mut pool = NativePool::of(vec![set(0, [106, 4, 5, 1], 4), alone]).unwrap();
    for part in [("store", Own), ("nobody", Own), ("front", Out)] {
        let report = mended(&mut pool, of_group(1), part);
        assert_eq!((report.changed, report.after_us), (0, report.before_us));
    }
}

#[test]
fn parts_of_services_take_a_share_or_some_time_more_or_less() {
    let mut set = TraceSet::new();
    for trace in 1..=4 {
        request(&mut set, trace, [6, 4, 5, 1]);
    }
    set.seal().unwrap();
    let mut pool = NativePool::of(vec![set]).unwrap();
    let by = |share_ppm, add_us| SubjectTime::By { share_ppm, add_us };
    let half = || by(-500_000, 0);
    for (changes, after_us) in [
        (vec![(("front", Own), half())], 14_000),
        (vec![(("front", Out), half())], 15_500),
        (vec![(("store", In), half())], 15_500),
        (vec![(("store", Own), half())], 15_500),
        (vec![(("store", In), half()), (("front", Out), half())], 14_250),
        (vec![(("store", In), by(-1_000_000, 0)), (("store", Own), by(1_000_000, 0))], 18_000),
        (vec![(("store", In), by(0, -9_000))], 13_000),
        (vec![(("store", In), by(0, 2_000))], 20_000),
        (vec![(("store", Own), by(100_000, 700))], 19_200),
        (vec![(("store", Out), half()), (("front", In), half()), (("nobody", Own), half())], 18_000),
    ] {
        let report = what_if(&mut pool, None, &changes);
        assert_eq!((report.before_us.max, report.after_us.max), (18_000, after_us), "{changes:?}");
        assert_eq!(report.changed, if after_us == 18_000 { 0 } else { 4 });
    }
}

/// What is wrong at every place of a part of a service.
#[derive(Clone, Copy, Debug)]
enum Fault {
    /// Each visit takes 20 ms more, in so large a share of the traces: others at each place.
    Delay(f64),
    /// Own work takes so many percent more, in all traces.
    OwnWork(i32),
}

impl Fault {
    /// Returns options with which the traces have the fault and are else the same.
    fn of(self, options: &GenerateOptions, (service, part): (&str, ServicePart)) -> GenerateOptions {
        let (within, into, out) = (format!("{service}:"), format!("->{service}:"), format!("{service}->"));
        let places = Generator::new(options).unwrap().places();
        let places = places.into_iter().filter(|place| match part {
            Own => place.name.starts_with(&within),
            In => place.name.contains(&into),
            Out => place.name.starts_with(&out),
        });
        let mut faulty = options.clone();
        for place in places {
            match self {
                Fault::Delay(share) => {
                    faulty.injects.push(Inject { place: place.name, extra_us: 20_000, share });
                }
                Fault::OwnWork(percent) => {
                    let endpoint = format!("{}:{}", place.service, place.operation);
                    let speed = Speed { endpoint, share_ppm: 10_000 * percent, is_whole: false };
                    if !faulty.speeds.contains(&speed) {
                        faulty.speeds.push(speed);
                    }
                }
            }
        }
        faulty
    }
}

fn options(seed: u64) -> GenerateOptions {
    GenerateOptions { traces: 400, seed, ..GenerateOptions::default() }
}

/// Returns by how many percent each of p50, p95 and p99 differs from what it really is.
fn errors(said: &Percentiles, really: &Percentiles) -> [f64; 3] {
    let of = |of: &Percentiles| [of.p50, of.p95, of.p99];
    let (said, really) = (of(said), of(really));
    [0, 1, 2].map(|at| 100.0 * (said[at] / really[at] - 1.0))
}

/// Errors of one part and fault over all seeds, in percent.
#[derive(Default)]
struct Row {
    /// Of p50, p95 and p99 with the fault: their sums.
    faulty: [f64; 3],
    /// Of the mended ones: the greatest and their sums.
    worst: [f64; 3],
    sum: [f64; 3],
}

const SEEDS: u64 = 6;

#[test]
fn what_is_said_of_faulty_traces_is_what_the_healthy_ones_take() {
    let delays = [Fault::Delay(0.1), Fault::Delay(1.0)];
    let own = [delays.as_slice(), &[Fault::OwnWork(40), Fault::OwnWork(150)]].concat();
    let mut faults = Vec::new();
    for service in ["auth", "user-profile", "catalog", "storefront"] {
        faults.extend(own.iter().map(|fault| ((service, Own), *fault)));
    }
    for part in [("auth", In), ("user-profile", In), ("pricing", In), ("storefront", Out)] {
        faults.extend(delays.map(|fault| (part, fault)));
    }
    let mut rows: Vec<Row> = faults.iter().map(|_| Row::default()).collect();
    // Of percentiles that the fault moves by at least 5 %: how many, and the sum of what is off.
    let (mut moved, mut off, mut healthy_worst) = (0, 0.0, 0f64);
    for seed in 1..=SEEDS {
        let options = options(seed);
        // The reference is other traffic than that with which the result is compared.
        let reference = || generated_as(&GenerateOptions { seed: seed + 100, ..options.clone() }, 1);
        let mut healthy = NativePool::of(vec![generated(&options), reference()]).unwrap();
        for (&(part, fault), row) in faults.iter().zip(&mut rows) {
            let unchanged = mended(&mut healthy, of_group(1), part);
            let really = unchanged.before_us;
            healthy_worst =
                errors(&unchanged.after_us, &really).iter().fold(healthy_worst, |a, b| a.max(b.abs()));
            let sets = vec![generated(&fault.of(&options, part)), reference()];
            let report = mended(&mut NativePool::of(sets).unwrap(), of_group(1), part);
            let (faulty, after) = (errors(&report.before_us, &really), errors(&report.after_us, &really));
            for at in 0..3 {
                let away = after[at].abs();
                row.faulty[at] += faulty[at];
                row.worst[at] = row.worst[at].max(away);
                row.sum[at] += away;
                if faulty[at] >= 5.0 {
                    moved += 1;
                    off += away;
                }
            }
        }
    }
    println!("p50, p95, p99 in percent off: with the fault, mended at worst, mended in the mean");
    let text = |of: [f64; 3]| of.map(|percent| format!("{percent:6.2}")).join(" ");
    let mean = |sum: [f64; 3]| text(sum.map(|sum| sum / SEEDS as f64));
    for (((service, part), fault), row) in faults.iter().zip(&rows) {
        let (with, worst, mean) = (mean(row.faulty), text(row.worst), mean(row.sum));
        println!("{:30} {with} | {worst} | {mean}", format!("{service} {part:?}, {fault:?}"));
    }
    let worst = rows.iter().flat_map(|row| row.worst).fold(0.0, f64::max);
    let off = off / f64::from(moved);
    println!(
        "worst {worst:.2}; {moved} moved by the fault, {off:.2} off in the mean; healthy {healthy_worst:.2}"
    );
    assert!(moved >= 250, "{moved}");
    assert!(worst < 5.0 && healthy_worst < 5.0, "{worst} {healthy_worst}");
    assert!(off < 0.5, "{off}");
}

#[test]
fn a_part_of_a_service_that_takes_less_or_more_is_predicted_as_it_is_made() {
    let (mut worst, mut moved) = (0f64, 0);
    for (service, part) in [
        ("auth", In),
        ("user-profile", In),
        ("pricing", In),
        ("storefront", Out),
        ("auth", Own),
        ("catalog", Own),
    ] {
        for seed in 1..=SEEDS {
            // Waits of the generator are short: they are made long enough to matter, then changed.
            let options = Fault::Delay(1.0).of(&options(seed), (service, part));
            let mut before = NativePool::of(vec![generated(&options)]).unwrap();
            for percent in [-50, 40] {
                let changed = Fault::OwnWork(percent).of(&options, (service, part));
                let really = what_if(&mut NativePool::of(vec![generated(&changed)]).unwrap(), None, &[]);
                let time = SubjectTime::By { share_ppm: 10_000 * i64::from(percent), add_us: 0 };
                let said = what_if(&mut before, None, &[((service, part), time)]);
                let really = really.before_us;
                let away = errors(&said.after_us, &really);
                println!("{service} {part:?} {percent:+} %: {away:.2?}");
                moved += errors(&said.before_us, &really).iter().filter(|of| of.abs() >= 5.0).count();
                worst = away.iter().fold(worst, |worst, of| worst.max(of.abs()));
            }
        }
    }
    println!("worst of 216 percentiles: {worst:.2} %; {moved} moved by the change");
    assert!(worst < 0.5 && moved >= 200, "{worst} {moved}");
}

#[test]
fn what_a_target_asks_of_parts_of_services_reaches_it_in_regenerated_traces() {
    let (mut worst, mut off) = (0f64, 0f64);
    let parts = [("auth", In), ("user-profile", In), ("pricing", In), ("catalog", Own), ("storefront", Own)];
    for (at, (service, part)) in parts.into_iter().enumerate() {
        let quantile = Quantile::ALL[at % 3];
        let healthy = options(at as u64 + 1);
        // What is asked about is made long enough to matter.
        let options = Fault::Delay(1.0).of(&healthy, (service, part));
        let reference = generated_as(&GenerateOptions { seed: at as u64 + 101, ..healthy.clone() }, 1);
        let mut before = NativePool::of(vec![generated(&options), reference]).unwrap();
        let gone = SubjectTime::By { share_ppm: -1_000_000, add_us: 0 };
        let gone = what_if(&mut before, None, &[((service, part), gone)]);
        let (before_us, at_best_us) = (quantile.of(&gone.before_us), quantile.of(&gone.after_us));
        let target_us = ((before_us + at_best_us) / 2.0).ceil() as u64;
        let (selection, settings) = (of_group(0), FlowSettings::default());
        let query = Target { selection, baseline: Some(of_group(1)), settings, quantile, target_us };
        let report = before.run(query).unwrap();
        assert!(report.parts.is_sorted_by(|a, b| a.at_best_us <= b.at_best_us));
        assert!(report.parts.iter().all(|part| part.at_best_us < report.before_us));
        let asked = report.parts.iter().find(|of| (&*of.service, of.part) == (service, part));
        let asked = asked.unwrap_or_else(|| panic!("no {service} {part:?} in {:?}", report.parts));
        assert_eq!((report.before_us, asked.at_best_us), (before_us, at_best_us));
        let percent = asked.less_percent.unwrap();
        let latency_us = |options: &GenerateOptions| {
            let mut pool = NativePool::of(vec![generated(options)]).unwrap();
            quantile.of(&what_if(&mut pool, None, &[]).before_us)
        };
        let really = latency_us(&Fault::OwnWork(-(percent as i32)).of(&options, (service, part)));
        // A whole percentage: not above the target, and not by more than a percent of what is saved below it.
        let least = target_us as f64 - (before_us - at_best_us) / f64::from(percent);
        worst = worst.max(really / target_us as f64 - 1.0).max(least / really - 1.0);
        off = off.max((asked.usual_us / latency_us(&healthy) - 1.0).abs());
        println!("{service} {part:?} {percent} %: {really} for {target_us}; as usual {}", asked.usual_us);
    }
    println!("at worst {:.2} % from the target; as usual {:.2} % off", 100.0 * worst, 100.0 * off);
    assert!(worst < 0.02 && off < 0.05, "{worst} {off}");
}

#[test]
fn a_what_if_with_what_is_usual_is_the_mended_latency() {
    let options = options(1);
    let faulty = Fault::Delay(0.1).of(&options, ("auth", In));
    let healthy = generated_as(&GenerateOptions { seed: 101, ..options }, 1);
    let mut pool = NativePool::of(vec![generated(&faulty), healthy]).unwrap();
    let faster_half = of_group(0).with_range(PercentileRange::open(0, 50_000));
    for (baseline, reference) in [(None, faster_half), (Some(of_group(1)), of_group(1))] {
        let report = what_if(&mut pool, baseline, &[(("auth", In), SubjectTime::Usual)]);
        let found =
            MendedLatency { before_us: report.before_us, after_us: report.after_us, changed: report.changed };
        assert!(found.changed > 0);
        assert_eq!(found, mended(&mut pool, reference, ("auth", In)));
    }
}

#[test]
fn the_what_if_that_a_finding_leads_to_says_what_the_finding_says() {
    let faulty = Fault::Delay(0.2).of(&options(1), ("auth", In));
    let mut led = 0;
    for is_of_sets in [false, true] {
        let mut address = Address::default();
        let (sets, selection, baseline) = if is_of_sets {
            address.compare_sets();
            (vec![generated(&options(101)), generated_as(&faulty, 1)], of_group(1), Some(of_group(0)))
        } else {
            (vec![generated(&faulty)], of_group(0), None)
        };
        let mut pool = NativePool::of(sets).unwrap();
        let query = Findings { selection: selection.clone(), baseline: baseline.clone() };
        let report = pool.run(query).unwrap();
        let late = pool.run(LateFindingsQuery::of(selection.clone(), baseline, &report)).unwrap();
        let report = report.with(&late);
        let leading = report.findings.iter().filter(|finding| what_if_words(finding).is_some());
        for finding in leading {
            show_what_if(finding, &mut address);
            assert_eq!((address.view, address.choices.flow.panel), (View::Flow, FlowPanel::WhatIf));
            let flow = &address.choices.flow;
            let query = WhatIf {
                selection: address.selection(),
                baseline: is_of_sets.then(|| address.side(ComparedSide::A)),
                settings: flow.settings(),
                changes: flow.changes.clone(),
            };
            let found = pool.run(query).unwrap();
            if let FindingFacts::OneAfterTheOther(facts) = &finding.facts {
                let saved_us = found.before_us.mean - found.after_us.mean;
                assert!((saved_us - facts.group.saved_us.mean).abs() < 0.01, "{saved_us}: {finding:?}");
            } else {
                let said = finding.mended.unwrap();
                assert_eq!((found.before_us, found.after_us), (said.before_us, said.after_us), "{finding:?}");
            }
            led += 1;
        }
    }
    assert!(led > 0);
}

#[test]
fn findings_and_compare_have_the_same_object_of_what_is_to_blame() {
    let faulty = Fault::Delay(0.3).of(&options(1), ("auth", In));
    let sets = vec![generated(&options(101)), generated_as(&faulty, 1)];
    let mut pool = NativePool::of(sets).unwrap();
    let (selection, baseline) = (of_group(1), Some(of_group(0)));
    let report = pool.run(Findings { selection: selection.clone(), baseline: baseline.clone() }).unwrap();
    let late = pool.run(LateFindingsQuery::of(selection.clone(), baseline, &report)).unwrap();
    let findings = json::findings(&report.with(&late), &TagsReport::default(), PercentileRange::ALL).unwrap();
    let findings: Value = serde_json::from_str(&findings).unwrap();
    let compared = pool.run(Compare { a: of_group(0), b: selection }).unwrap();
    let compared = json::compare(&compared, Basis::Mean, MeasuredTime::Subtree).unwrap();
    let compared: Value = serde_json::from_str(&compared).unwrap();
    let (of_findings, of_compare) = (&findings["findings"][0]["blamed"], &compared["blamed"]);
    assert_eq!((&of_findings["service"], &of_findings["part"]), (&"auth".into(), &"in".into()));
    assert_eq!(of_findings["certainty"], "certain");
    let (keys, later): (Vec<&String>, Vec<&String>) =
        of_findings.as_object().unwrap().keys().partition(|key| of_findings[*key] == of_compare[*key]);
    assert!(later.iter().all(|key| ["evidence", "hit", "mended_us"].contains(&key.as_str())), "{later:?}");
    assert!(keys.len() >= 12 && !of_findings["callers"].as_array().unwrap().is_empty());
    assert!(of_compare["hit"].is_null() && of_compare["mended_us"].is_null());
    // A fifth of what the requests take is gone, and those that the fault hits are counted.
    let of = |value: &Value| value.as_f64().unwrap();
    assert!(of(&of_findings["mended_us"]["mean"]) < of(&findings["latency_us"]["mean"]) - 1_000.0);
    assert!(of(&of_findings["hit"]["hit"]) > 20.0, "{of_findings}");
    let [low, high] = [0, 1].map(|at| of(&of_findings["interval"][at]));
    assert!(low > 0.0 && low < of(&of_findings["time_us"]) && of(&of_findings["time_us"]) < high);
    // Nobody is to blame for what a set and itself differ by.
    let same = pool.run(Compare { a: of_group(0), b: of_group(0) }).unwrap();
    let same: Value =
        serde_json::from_str(&json::compare(&same, Basis::Mean, MeasuredTime::Subtree).unwrap()).unwrap();
    assert!(same["blamed"].is_null());
}

#[test]
fn of_one_set_the_faster_half_is_the_reference() {
    let (mut worst, mut moved) = (0f64, 0);
    for part in [("auth", Own), ("auth", In), ("user-profile", In), ("pricing", In)] {
        for seed in 1..=SEEDS {
            let options = options(seed);
            let mut faulty = NativePool::of(vec![generated(&Fault::Delay(0.1).of(&options, part))]).unwrap();
            let mut healthy = NativePool::of(vec![generated(&options)]).unwrap();
            let half = of_group(0).with_range(PercentileRange::open(0, 50_000));
            let report = mended(&mut faulty, half.clone(), part);
            let really = mended(&mut healthy, half, part).before_us;
            moved += errors(&report.before_us, &really).iter().filter(|of| **of >= 3.0).count();
            worst = errors(&report.after_us, &really).iter().fold(worst, |worst, of| worst.max(of.abs()));
        }
    }
    println!("worst of 72 percentiles: {worst:.2} %; {moved} moved by the fault");
    assert!(worst < 2.0 && moved >= 24, "{worst} {moved}");
}
