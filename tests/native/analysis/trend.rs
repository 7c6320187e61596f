//! Trend and check on generated weeks: an injected delay is found, on its day and at its place, and a clean week is quiet.

use crate::common::generated;
use pathlight::engine::compare::compare;
use pathlight::engine::queries::TrendReport;
use pathlight::engine::summaries::{GateRule, Merger, Summary, SummarySettings, check};
use pathlight::engine::trend::{TrendAxis, TrendOfSummaries};
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
        let trend = TrendOfSummaries::of(&days, TrendAxis::Days).unwrap();
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
        let trend = TrendOfSummaries::of(&days, TrendAxis::Days).unwrap();
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

#[test]
fn hours_of_the_day_that_are_slower_are_found_with_their_service() {
    const HOUR_US: u64 = 3_600_000_000;
    let midnight_us = GenerateOptions::default().start_us / (24 * HOUR_US) * 24 * HOUR_US;
    let place = place(3);
    // Two days of twelve hours, of which four are slower; and all of them together, which is of no hour.
    let options = |day: u64, hour: u64, injects: Vec<Inject>| GenerateOptions {
        traces: 250,
        start_us: midnight_us + (24 * day + hour) * HOUR_US,
        injects,
        ..options(7 + day, hour as usize)
    };
    let summary = |day: u64, hour: u64| {
        let injects = if (10..14).contains(&hour) { vec![delay(&place)] } else { Vec::new() };
        Summary::observe(&generated(&options(day, hour, injects)), &SummarySettings::default())
    };
    let hours: Vec<Summary> = (0..2)
        .flat_map(|day| (6..18).map(move |hour| (day, hour)))
        .map(|(day, hour)| summary(day, hour))
        .collect();
    let mut day = Merger::default();
    hours.iter().for_each(|hour| day.add(hour.clone()).unwrap());
    let report = TrendReport::by_hour_of_day(hours.into_iter().chain([day.finish().unwrap()])).unwrap();
    assert_eq!((report.days.len(), report.too_long), (12, 1));
    assert_eq!(
        (report.days[0].name.as_str(), report.days[0].requests, report.days[0].files),
        ("06:00", 500, 2)
    );
    let moved = &report.trend.moved[0];
    let change = report.trend.series[moved.series].change.unwrap();
    assert_eq!(
        (report.days[change.day].name.as_str(), report.days[change.until].name.as_str()),
        ("10:00", "14:00")
    );
    assert!(change.after_us > change.before_us);
    assert_eq!(moved.culprit.services[0].service, place.service);
    // The same hours without a delay differ by chance alone.
    let clean = (6..18)
        .map(|hour| Summary::observe(&generated(&options(0, hour, Vec::new())), &SummarySettings::default()));
    assert_eq!(TrendReport::by_hour_of_day(clean).unwrap().trend.moved, []);
}
