//! Whether `trend` and `check` name the day and the place of a regression: generated weeks with a delay from the fifth day
//! on, at places drawn with fixed seeds, and weeks in which nothing is wrong.
//!
//! Of the places in the shop those count at which a delay can cost what is asked: what nobody waits for can not. `trend` is
//! right if the first change that it tells is of that day, and the service that explains it, or the endpoint whose time
//! changed, is that of the place. `check`, with the rules of `docs/ci.md`, compares each day with the one before; it is right
//! if it fails on that day and on no other, and names the service or endpoint.

use crate::shared::{read, row};
use pathlight::base::statistics::Random;
use pathlight::engine::compare::compare;
use pathlight::engine::summaries::{GateRule, Summary, SummarySettings, check};
use pathlight::engine::trend::{TrendAxis, TrendOfSummaries};
use pathlight::engine::verdict::ServicesReport;
use pathlight::generate::{GenerateOptions, Generator, Inject, TopologyPlace, write_jaeger};
use pathlight::trace::Endpoint;
use std::io;

/// Days of a week.
const DAYS: u64 = 7;
/// Days before the delay.
const BEFORE: usize = 4;
/// Requests of a day.
const TRACES: u64 = 1000;
/// What the delay costs, in percent of the mean latency.
const STAKE: u64 = 20;
/// Weeks with a delay, and without.
const DELAYED: u64 = 10;
const CLEAN: u64 = 20;
/// The rules of `docs/ci.md`.
const RULES: [&str; 3] = ["p95>10%", "mean>10%", "endpoint self p95>20%"];

/// Counts the weeks in which `trend` and `check` are right, and their false alarms; what was missed is written to stderr.
pub fn run() -> io::Result<Vec<String>> {
    let rules = RULES.map(str::parse::<GateRule>).into_iter().collect::<Result<Vec<_>, _>>();
    let rules = rules.map_err(io::Error::other)?;
    let group = "Weeks with one regression, and without";
    let (mut by_trend, mut by_check) = (0, 0);
    for seed in 1..=DELAYED {
        let (place, inject) = delay(seed)?;
        let days = week(seed, Some(&inject))?;
        let (is_right, reported) = trend(&days, &place)?;
        let (is_caught, caught) = checks(&days, &rules, &place)?;
        by_trend += u32::from(is_right);
        by_check += u32::from(is_caught);
        if !is_right || !is_caught {
            eprintln!(
                "seed {seed}, {} +{} us: trend: {reported}; check: {caught}",
                place.name, inject.extra_us
            );
        }
    }
    let (mut alarms, mut failed, mut pairs) = (0, 0, 0);
    for seed in 1..=CLEAN {
        let days = week(1000 + seed, None)?;
        let moved = TrendOfSummaries::of(&days, TrendAxis::Days).map_err(io::Error::other)?.moved;
        alarms += u32::from(!moved.is_empty());
        let broken = failing(&days, &rules)?;
        pairs += days.len() - 1;
        failed += broken.len();
        if !moved.is_empty() || !broken.is_empty() {
            let roots: Vec<&Endpoint> = moved.iter().map(|moved| &moved.root).collect();
            eprintln!("clean, seed {seed}: trend: {roots:?}; check fails on days {broken:?}");
        }
    }
    let of = format!("of {DELAYED}");
    let what = format!("slower by {STAKE} % of the mean latency since day {}", BEFORE + 1);
    let of_clean = format!("of {CLEAN}");
    let of_pairs = format!("of {pairs}");
    Ok(vec![
        row(group, &format!("{what}: trend names day and place"), f64::from(by_trend), &of, "> 9"),
        row(group, &format!("{what}: check names day and place"), f64::from(by_check), &of, "> 9"),
        row(group, "clean weeks: alarms of trend", f64::from(alarms), &of_clean, "< 1"),
        row(group, "clean weeks: days on which check fails", failed as f64, &of_pairs, "< 1"),
    ])
}

fn options(seed: u64, day: u64) -> GenerateOptions {
    GenerateOptions { traces: TRACES, seed: seed * 100 + day, ..GenerateOptions::default() }
}

fn summary(options: &GenerateOptions) -> io::Result<Summary> {
    let mut text = Vec::new();
    write_jaeger(options, &mut text)?;
    Ok(Summary::observe(&read(&text), &SummarySettings::default()))
}

/// Returns the summaries of a week, a day each, with a delay from the fifth one on.
fn week(seed: u64, inject: Option<&Inject>) -> io::Result<Vec<Summary>> {
    let of_day = |day: u64| {
        let injects = inject.filter(|_| day >= BEFORE as u64).into_iter().cloned().collect();
        summary(&GenerateOptions { injects, ..options(seed, day) })
    };
    (0..DAYS).map(of_day).collect()
}

/// Draws a place, and a delay there that costs a share of the mean latency.
fn delay(seed: u64) -> io::Result<(TopologyPlace, Inject)> {
    let options = options(seed, DAYS);
    let generator = |injects: Vec<Inject>| {
        Generator::new(&GenerateOptions { injects, ..options.clone() }).map_err(io::Error::other)
    };
    let mean_us = |generator: &Generator| {
        (0..TRACES).map(|index| generator.trace(index).spans[0].duration_us).sum::<u64>() / TRACES
    };
    let plain = generator(Vec::new())?;
    let (places, plain_us) = (plain.places(), mean_us(&plain));
    let mut draw = Random::new(seed, 79, 0);
    loop {
        let place = places[draw.below(places.len() as u64) as usize].clone();
        let inject = |extra_us| Inject { place: place.name.clone(), extra_us, share: 1.0 };
        // What a delay by the mean latency costs on average; a delay costs in proportion.
        let gain = mean_us(&generator(vec![inject(plain_us)])?).saturating_sub(plain_us);
        if gain * 20 >= plain_us {
            let inject = inject(plain_us * plain_us / gain * STAKE / 100);
            return Ok((place, inject));
        }
    }
}

/// Returns whether a service or an endpoint is that of a place; of a gap also the called service,
/// `caller->called:operation gap`.
fn is_at(place: &TopologyPlace, culprit: &ServicesReport, endpoint: Option<&Endpoint>) -> bool {
    let called =
        place.name.split_once("->").and_then(|(_, rest)| rest.split_once(':')).map(|(called, _)| called);
    let first = culprit.services.first().filter(|row| row.rank.is_some()).map(|row| row.service.as_str());
    first.is_some_and(|first| first == place.service || Some(first) == called)
        || endpoint.is_some_and(|endpoint| {
            (endpoint.service.as_str(), endpoint.operation.as_str()) == (place.service, place.operation)
        })
}

/// Returns whether `trend` is right, and what it says first.
fn trend(days: &[Summary], place: &TopologyPlace) -> io::Result<(bool, String)> {
    let trend = TrendOfSummaries::of(days, TrendAxis::Days).map_err(io::Error::other)?;
    let Some(first) = trend.moved.first() else { return Ok((false, "nothing".to_owned())) };
    let endpoint = trend.series[first.series].endpoint.as_ref();
    let service = first.culprit.services.first().map(|row| &row.service);
    let reported = format!("day {}, {service:?}, {endpoint:?}", first.day + 1);
    Ok((first.day == BEFORE && is_at(place, &first.culprit, endpoint), reported))
}

/// Returns the days, from 1, on which `check` fails against the day before.
fn failing(days: &[Summary], rules: &[GateRule]) -> io::Result<Vec<usize>> {
    let mut failing = Vec::new();
    for (two, day) in days.windows(2).zip(2..) {
        let verdicts = check(&two[0], &two[1], rules).map_err(io::Error::other)?;
        failing.extend(verdicts.iter().any(|verdict| verdict.is_broken).then_some(day));
    }
    Ok(failing)
}

/// Returns whether `check` is right, and what it says.
fn checks(days: &[Summary], rules: &[GateRule], place: &TopologyPlace) -> io::Result<(bool, String)> {
    let failed = failing(days, rules)?;
    let [before, after] = [&days[BEFORE - 1], &days[BEFORE]];
    let verdicts = check(before, after, rules).map_err(io::Error::other)?;
    let broken = verdicts.into_iter().find(|verdict| verdict.is_broken);
    let Some(broken) = broken else { return Ok((false, format!("fails on days {failed:?}"))) };
    let culprit = compare(before, after, Some(&broken.root)).map_err(io::Error::other)?.culprit;
    let service = culprit.services.first().map(|row| &row.service);
    let said = format!("fails on days {failed:?}, {service:?}, {:?}", broken.endpoint);
    Ok((failed == [BEFORE + 1] && is_at(place, &culprit, broken.endpoint.as_ref()), said))
}
