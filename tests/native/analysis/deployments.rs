//! Places that are slower than others, against traces whose truth is known: new versions of two services that are slower, and
//! zones between which the network takes longer.

use crate::common::stored::read_generated;
use pathlight::engine::deployments::{DeploymentOf, DeploymentRow, DeploymentsReport};
use pathlight::engine::findings::{FindingFacts, FindingKind, ask_findings};
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{CallsBetween, Changes, Move, WaitChange, WaitTime, WhatIfReport};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::generate::GenerateOptions;
use pathlight_base::statistics::Percentiles;

const ZONE: &str = "cloud.availability_zone";

fn pool(options: &GenerateOptions) -> NativePool {
    NativePool::of(vec![read_generated(options)]).unwrap()
}

fn deployments(pool: &mut NativePool, key: Option<&str>) -> DeploymentsReport {
    let key = key.map(str::to_owned);
    pool.run(queries::Deployments { selection: Selection::default(), key }).unwrap()
}

fn what_if(pool: &mut NativePool, changes: Changes) -> WhatIfReport {
    let (selection, settings) = (Selection::default(), FlowSettings::default());
    pool.run(queries::WhatIf { selection, baseline: None, settings, changes }).unwrap()
}

fn options(seed: u64) -> GenerateOptions {
    GenerateOptions { traces: 1_500, seed, ..GenerateOptions::default() }
}

#[test]
fn slow_versions_are_found_and_no_others() {
    let (mut found, mut wrong, mut rows) = ([0, 0], Vec::new(), 0);
    for seed in 0..6 {
        let report = deployments(&mut pool(&options(seed)), None);
        assert!(report.keys.iter().any(|key| key.key == "version") && report.left_out.is_empty());
        rows += report.sure().count();
        for row in report.sure() {
            match (&row.of, row.key.as_str(), row.of.service()) {
                (DeploymentOf::Service(_), "version", "recommendation") => found[0] += 1,
                (DeploymentOf::Service(_), "version", "search") => found[1] += 1,
                (DeploymentOf::Endpoint(_), "version", "recommendation" | "search") => {}
                _ => wrong.push((seed, row.of.clone(), row.key.clone(), row.value.clone())),
            }
        }
        // None of them is known to be new: both ran from the start.
        assert_eq!(report.firsts, []);
        // As fast as the old ones, nothing is left to find.
        let same = GenerateOptions { is_canary_as_fast: true, ..options(seed) };
        let report = deployments(&mut pool(&same), Some("version"));
        wrong.extend(report.sure().map(|row| (seed, row.of.clone(), row.key.clone(), row.value.clone())));
    }
    println!("slow versions found in 6 sets: {found:?}; others called slow: {wrong:?}");
    // A service that does a third more itself, in a fifteenth of the requests, is not always sure.
    assert!(found[0] == 6 && found[1] >= 3, "{found:?}");
    // 5 % of what is called slow may be so by chance, of these seeds some more: an endpoint says again what its service does. A fifth
    // would be more than chance.
    assert!(5 * wrong.len() <= rows, "{} of {rows}: {wrong:?}", wrong.len());
}

#[test]
fn calls_between_zones_are_found_and_none_where_the_network_is_the_same() {
    let report = deployments(&mut pool(&GenerateOptions { zones: Some(3.0), ..options(7) }), None);
    let calls = |row: &&DeploymentRow| matches!(row.of, DeploymentOf::Calls(..));
    let found: Vec<_> = report.sure().filter(calls).collect();
    assert!(found.len() >= 25 && found.iter().all(|row| row.key == ZONE && row.value.is_none()));
    let mut times: Vec<f64> = found.iter().map(|row| row.beside.times().unwrap()).collect();
    times.sort_by(f64::total_cmp);
    assert!((2.8..3.2).contains(&times[times.len() / 2]) && times[0] > 2.0, "{times:?}");
    let report = deployments(&mut pool(&GenerateOptions { zones: Some(1.0), ..options(7) }), Some(ZONE));
    assert_eq!(report.keys.len(), 1);
    assert!(report.sure().next().is_none(), "{:?}", report.sure().next());
}

#[test]
fn random_labels_are_rarely_called_slow() {
    // The host of an instance is drawn apart from everything else.
    let (mut rows, mut sure) = (0, 0);
    for seed in 20..30 {
        let report = deployments(&mut pool(&options(seed)), Some("hostname"));
        rows += report.rows.len();
        // Each kind of row is a family of its own: of ten sets and three kinds some 1.5 families may have one.
        sure += report.sure().count();
    }
    println!("random hosts: {sure} of {rows} rows are called slow");
    assert!(rows > 500 && sure <= 4, "{sure} of {rows}");
}

/// Returns how far predicted percentiles of the latency are off, the most of p50, p95 and p99.
fn off(predicted: &Percentiles, really: &Percentiles) -> f64 {
    let pairs = [(predicted.p50, really.p50), (predicted.p95, really.p95), (predicted.p99, really.p99)];
    pairs.into_iter().map(|(a, b)| (a / b - 1.0).abs()).fold(0.0, f64::max)
}

#[test]
fn what_ifs_of_places_are_what_regenerated_traces_take() {
    let (mut worst, mut gains) = ([0f64; 3], [0f64; 3]);
    for seed in [31, 32, 33] {
        let zoned = GenerateOptions { zones: Some(4.0), ..options(seed) };
        let mut loaded = pool(&zoned);
        let moves = ["recommendation", "search"].map(|service| {
            let report = deployments(&mut loaded, Some("version"));
            let is_it = |row: &&DeploymentRow| row.of == DeploymentOf::Service(service.to_owned());
            let row = report.rows.iter().find(is_it).unwrap().clone();
            let [value] = <[String; 1]>::try_from(row.others).unwrap();
            Move { service: Some(service.to_owned()), key: "version".to_owned(), value, levels: None }
        });
        let across = |time| {
            let calls = CallsBetween { across: Some(ZONE.to_owned()), ..CallsBetween::default() };
            Changes { waits: vec![WaitChange { calls, time }], ..Changes::default() }
        };
        for (at, (changes, truth)) in [
            (
                Changes { moves: moves.to_vec(), ..Changes::default() },
                GenerateOptions { is_canary_as_fast: true, ..zoned.clone() },
            ),
            (across(WaitTime::Within), GenerateOptions { zones: Some(1.0), ..zoned.clone() }),
            (
                across(WaitTime::By { share_ppm: -500_000, add_us: 0 }),
                GenerateOptions { zones: Some(2.0), ..zoned.clone() },
            ),
        ]
        .into_iter()
        .enumerate()
        {
            let predicted = what_if(&mut loaded, changes);
            let really = what_if(&mut pool(&truth), Changes::default()).before_us;
            worst[at] = worst[at].max(off(&predicted.after_us, &really));
            gains[at] = gains[at].max(off(&predicted.before_us, &really));
        }
    }
    println!("off by at most {worst:.4?}, where nothing predicted would be off by {gains:.4?}");
    assert!(worst.iter().all(|off| *off < 0.05), "{worst:?}");
    assert!(gains[1] > 0.05 && gains[2] > 0.05, "{gains:?}");
}

#[test]
fn a_network_twice_as_fast_is_what_regenerated_traces_take() {
    let half = |calls| {
        let time = WaitTime::By { share_ppm: -500_000, add_us: 0 };
        Changes { waits: vec![WaitChange { calls, time }], ..Changes::default() }
    };
    let (mut worst, mut gains) = (0f64, 0f64);
    for seed in [51, 52, 53] {
        let loaded = options(seed);
        let predicted = what_if(&mut pool(&loaded), half(CallsBetween::default()));
        let truth = GenerateOptions { network: 0.5, ..loaded };
        let really = what_if(&mut pool(&truth), Changes::default()).before_us;
        worst = worst.max(off(&predicted.after_us, &really));
        gains = gains.max(off(&predicted.before_us, &really));
    }
    println!(
        "all waits at half: off by at most {worst:.4}, where nothing predicted would be off by {gains:.4}"
    );
    assert!(worst < 0.01 && gains > 0.03, "{worst} {gains}");
}

#[test]
fn findings_name_places_that_cost_enough_and_lead_to_their_what_if() {
    let mut loaded = pool(&GenerateOptions { zones: Some(4.0), ..options(41) });
    let report = ask_findings(&mut loaded, Selection::default(), None).unwrap();
    let found: Vec<_> =
        report.findings.iter().filter(|finding| finding.kind() == FindingKind::SlowerPlace).collect();
    let first = found.first().unwrap();
    let FindingFacts::SlowerPlace(facts) = &first.facts else { panic!("{first:?}") };
    assert!(facts.row.key == ZONE && facts.pairs > 10 && first.stake_us > 1_000.0, "{first:?}");
    let mut address = pathlight::view::address::Address::default();
    pathlight::view::findings::links::show_what_if(first, &mut address);
    let waits = address.choices.flow.changes.waits.clone();
    let all = CallsBetween { across: Some(ZONE.to_owned()), ..CallsBetween::default() };
    assert_eq!(waits, [WaitChange { calls: all, time: WaitTime::Within }]);
    assert_eq!(
        pathlight::view::address::Address::parse(&address.to_fragment()).choices.flow.changes.waits,
        waits
    );
}
