//! Trend and check on generated weeks: an injected delay is found, on its day and at its place, and a clean week is quiet.

use crate::common::generated;
use pathlight::engine::compare::compare;
use pathlight::engine::summaries::{GateRule, Summary, SummarySettings, check};
use pathlight::engine::trend::TrendOfSummaries;
use pathlight::engine::verdict::ServicesReport;
use pathlight::generate::{GenerateOptions, Generator, Inject, TopologyPlace};

/// Days of a week before the delay.
const BEFORE: usize = 4;
const DELAY_US: u64 = 40_000;

fn options(seed: u64, day: usize) -> GenerateOptions {
    GenerateOptions { traces: 700, spans: 30, seed: seed * 1000 + day as u64, ..GenerateOptions::demo() }
}

/// Makes a week of summaries, from the fifth day on with a delay.
fn week(seed: u64, inject: Option<&Inject>) -> Vec<Summary> {
    let day = |day: usize| {
        let injects = inject.filter(|_| day >= BEFORE).into_iter().cloned().collect();
        Summary::observe(
            &generated(&GenerateOptions { injects, ..options(seed, day) }),
            &SummarySettings::default(),
        )
    };
    (0..7).map(day).collect()
}

/// Finds own work of a span that 10 to 95 % of the requests pass and wait for, another one for each seed.
fn place(seed: u64) -> TopologyPlace {
    let mut places = Generator::new(&options(1, 0)).unwrap().places();
    places.retain(|place| place.subspan.is_some() && (0.1..0.95).contains(&place.share));
    let mean_us = |injects: Vec<Inject>| {
        let day = Summary::observe(
            &generated(&GenerateOptions { injects, ..options(seed, 0) }),
            &SummarySettings::default(),
        );
        day.root(None).unwrap().percentiles().mean
    };
    let clean_us = mean_us(Vec::new());
    // What nobody waits for is no regression: the same requests have to take 5 % longer.
    let is_felt = |place: &&TopologyPlace| mean_us(vec![delay(place)]) > 1.05 * clean_us;
    let first = seed as usize * 37 % places.len();
    let in_turn = places[first..].iter().chain(&places[..first]).find(is_felt);
    in_turn.unwrap().clone()
}

fn delay(place: &TopologyPlace) -> Inject {
    Inject { place: place.name.clone(), extra_us: DELAY_US, share: 1.0 }
}

#[test]
fn a_delay_is_found_on_its_day_and_at_its_place_in_nine_of_ten_weeks() {
    let rules: [GateRule; 2] = ["mean>10%".parse().unwrap(), "p95>10%".parse().unwrap()];
    let (mut by_trend, mut by_check, mut misses) = (0, 0, Vec::new());
    for seed in 0..10 {
        let place = place(seed);
        let inject = delay(&place);
        let days = week(seed, Some(&inject));
        let trend = TrendOfSummaries::of(&days).unwrap();
        let first_of = |culprit: &ServicesReport| culprit.services.first().map(|row| row.service.clone());
        let first =
            trend.moved.first().map(|moved| (moved.day, first_of(&moved.culprit).unwrap_or_default()));
        let is_found = first == Some((BEFORE, place.service.to_owned()));
        by_trend += u32::from(is_found);
        let [before, after] = [&days[BEFORE - 1], &days[BEFORE]];
        let broken = check(before, after, &rules).unwrap().into_iter().find(|verdict| verdict.is_broken);
        let named = broken
            .and_then(|verdict| first_of(&compare(before, after, Some(&verdict.root)).unwrap().culprit));
        by_check += u32::from(named.as_deref() == Some(place.service));
        if !is_found || named.as_deref() != Some(place.service) {
            misses.push(format!("{seed}: {} trend {first:?} check {named:?}", place.name));
        }
    }
    assert!(by_trend >= 9 && by_check >= 9, "trend {by_trend}, check {by_check} of 10: {misses:#?}");
}

#[test]
fn at_most_one_of_twenty_clean_weeks_has_an_alarm() {
    let rules: [GateRule; 3] =
        ["mean>10%", "p95>10%", "endpoint self p95>20%"].map(|text| text.parse().unwrap());
    let (mut by_trend, mut by_check) = (Vec::new(), Vec::new());
    for seed in 100..120 {
        let days = week(seed, None);
        let trend = TrendOfSummaries::of(&days).unwrap();
        assert!(trend.series.iter().filter(|series| series.change.is_some()).count() > 50);
        by_trend.extend(trend.moved.first().map(|moved| format!("{seed}: {:?}", trend.series[moved.series])));
        let broken = check(&days[BEFORE - 1], &days[BEFORE], &rules)
            .unwrap()
            .into_iter()
            .find(|verdict| verdict.is_broken);
        by_check.extend(broken.map(|verdict| format!("{seed}: {verdict:?}")));
    }
    assert!(by_trend.len() <= 1 && by_check.len() <= 1, "{by_trend:#?} {by_check:#?}");
}
