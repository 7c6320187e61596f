//! Requests that a subject hits, against generated faults of which it is known which requests they delay.

use crate::common::generated_as;
use pathlight::base::statistics::Random;
use pathlight::engine::anomalies::AnomalySettings;
use pathlight::engine::findings::Finding;
use pathlight::engine::queries;
use pathlight::engine::requests::{Filter, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::verdict::{HitRequests, ServicePart, Subject, SubjectRow};
use pathlight::generate::{GenerateOptions, Generator, Inject};
use pathlight::view::anomalies;
use pathlight::view::anomalies::hits::HitRows;
use std::collections::BTreeSet;

const TRACES: u64 = 400;

/// Returns the ids of the requests that a selection keeps.
fn kept(pool: &mut NativePool, selection: Selection) -> BTreeSet<String> {
    let limit = u32::MAX;
    let report = pool.run(queries::Requests { selection, limit }).unwrap();
    report.rows.into_iter().map(|row| row.trace_id).collect()
}

/// Returns what the findings of two sets, or of B alone, say of a subject that one of them is about.
fn found(pool: &mut NativePool, a: Option<Selection>, b: &Selection) -> Vec<(Subject, HitRequests)> {
    let query = queries::Findings { selection: b.clone(), baseline: a.clone() };
    let report = pool.run(query).unwrap();
    let late = pool.run(queries::LateFindingsQuery::of(b.clone(), a, &report)).unwrap();
    let hit = |finding: &Finding| Some((finding.subject()?, finding.hit?));
    report.with(&late).findings.iter().filter_map(hit).collect()
}

#[test]
fn requests_that_a_fault_delays_are_hit_and_few_others() {
    let places = Generator::new(&GenerateOptions::default()).unwrap().places();
    // Of calls into a service and of work of a service; in enough requests to say what is usual.
    let places: Vec<_> = places
        .iter()
        .filter(|place| place.share >= 0.3 && (place.subspan.is_some() || place.name.contains("->")))
        .collect();
    let (mut recall, mut others, mut compared) = ([0usize; 2], [0usize; 2], 0);
    for seed in 0..30u64 {
        let chosen = Random::new(seed, 1, 0).unit() * places.len() as f64;
        let place = places[chosen as usize];
        let subject = match place.subspan {
            Some(_) => Subject { service: place.service.to_owned(), part: ServicePart::Own },
            None => {
                let callee = place.name.split_once("->").unwrap().1.split_once(':').unwrap().0;
                Subject { service: callee.to_owned(), part: ServicePart::In }
            }
        };
        let share = if seed % 2 == 0 { 0.1 } else { 0.35 };
        let inject = Inject { place: place.name.clone(), extra_us: 300_000, share };
        let options = GenerateOptions { traces: TRACES, seed: 2 * seed, ..GenerateOptions::default() };
        let faulty = GenerateOptions { seed: 2 * seed + 1, injects: vec![inject], ..options.clone() };
        let mut pool = NativePool::of(vec![generated_as(&options, 0), generated_as(&faulty, 1)]).unwrap();
        let (a, all) = (Selection::default(), Selection { group: 1, ..Selection::default() });
        let b = Selection { filters: vec![Filter::hit(subject.clone())], ..all.clone() };
        let (a, b) = a.as_baseline_of(b);
        let hit = kept(&mut pool, b);
        let generator = Generator::new(&faulty).unwrap();
        let id = |index| format!("{:032x}", generator.trace(index).trace_id);
        let delayed: BTreeSet<String> = (0..TRACES).filter(|&i| generator.is_touched(i)).map(id).collect();
        recall[0] += hit.intersection(&delayed).count();
        recall[1] += delayed.len();
        others[0] += hit.difference(&delayed).count();
        others[1] += TRACES as usize - delayed.len();
        // The findings count what the filter keeps.
        for (of, counted) in found(&mut pool, Some(a), &all) {
            if of == subject {
                assert_eq!(counted.hit, hit.len() as u64, "seed {seed}: {subject}");
            }
        }
        compared += usize::from(one_by_one(&mut pool, &all));
    }
    assert!(compared >= 20, "only in {compared} of 30 a verdict names a service");
    println!(
        "of {} delayed requests {} are hit, of {} others {}",
        recall[1], recall[0], others[1], others[0]
    );
    assert!(recall[0] * 100 >= recall[1] * 95, "{recall:?}");
    assert!(others[0] * 100 <= others[1] * 2, "{others:?}");
}

/// Compares the requests that the verdict on both sets hits, one by one, with those that the filter of its subject keeps and
/// with those that are delayed. Returns whether the verdict names a subject.
fn one_by_one(pool: &mut NativePool, all: &Selection) -> bool {
    let (train, test) = Selection::default().as_baseline_of(all.clone());
    let query = queries::VerdictHits { a: train.clone(), b: test.clone() };
    let Some(hits) = pool.run(query).unwrap() else { return false };
    let filters = vec![Filter::hit(hits.subject.clone())];
    let (_, filtered) = Selection::default().as_baseline_of(Selection { filters, ..all.clone() });
    let ids = |rows: &mut dyn Iterator<Item = &SubjectRow>| {
        rows.map(|row| row.request.trace_id.clone()).collect::<BTreeSet<String>>()
    };
    let hit = ids(&mut hits.rows.iter().filter(|row| row.is_hit()));
    assert_eq!(hit, kept(pool, filtered), "{}", hits.subject);
    assert_eq!(hits.counts().hit, hit.len() as u64);
    let settings = AnomalySettings::default();
    let report = pool.run(queries::Anomalies { train, test, settings }).unwrap();
    let HitRows { both, only_hit, only_delayed } = HitRows::of(&report, &hits);
    assert_eq!((both.len() + only_hit.len()) as u64, hits.counts().hit);
    assert_eq!((both.len() + only_delayed.len()) as u64, report.verdicts().delayed);
    // Each request about which both disagree is explained.
    for row in only_hit.into_iter().chain(only_delayed) {
        let words = anomalies::hits::words(&report, &hits, &report.rows[row]).unwrap();
        assert!(words.contains(" but not "), "{words}");
    }
    true
}

#[test]
fn without_a_baseline_the_faster_half_says_what_is_usual() {
    let options = GenerateOptions { traces: TRACES, seed: 5, ..GenerateOptions::default() };
    for workers in [1, 3] {
        let sets = (0..workers).map(|at| {
            let mut set = generated_as(&options, 0);
            set.retain(|trace| trace.id.bits % workers == at);
            set
        });
        let mut pool = NativePool::of(sets.collect()).unwrap();
        let all = Selection::default();
        let found = found(&mut pool, None, &all);
        assert!(!found.is_empty());
        for (subject, counted) in found {
            let filters = vec![Filter::hit(subject.clone())];
            let hit = kept(&mut pool, Selection { filters, ..all.clone() });
            assert_eq!(counted.hit, hit.len() as u64, "{subject}");
            assert!(counted.hit <= counted.judged && counted.judged + counted.too_few <= TRACES);
        }
    }
}
