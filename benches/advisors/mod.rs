//! Whether what advisors say comes true: generated traces of which it is known what slows them down, and traces that are
//! generated once more with what was advised. Seeds and places are drawn, and fixed.

use crate::shared::{median, read, row};
use pathlight::base::statistics::{Percentiles, Random};
use pathlight::engine::deployments::DeploymentOf;
use pathlight::engine::findings::{FindingFacts, FindingPlace, PoolWaitsFacts, ask_findings};
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{
    CallsBeside, CallsBetween, Changes, HeadroomRow, Quantile, Slower, WaitChange, WaitTime, WhatIfReport,
};
use pathlight::engine::queries::{self, Query};
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{
    GenerateOptions, Generator, PairNeed, Pool, SerialPair, Shape, Speed, write_jaeger,
};
use pathlight::trace::SpanKind;
use std::collections::BTreeMap;
use std::io;

const GROUP: &str = "Advisors, against generated traces";
/// Sets of each kind.
const SETS: u64 = 6;
/// Instances of each service that makes calls through a pool.
const INSTANCES: u64 = 3;
/// Part of the time for which the connections of a pool are taken.
const LOAD: f64 = 0.85;

/// Compares what advisors say with what is known; what was missed is written to stderr.
pub fn run() -> io::Result<Vec<String>> {
    let mut rows = Vec::new();
    parallelise(&mut rows)?;
    deployments(&mut rows)?;
    network(&mut rows)?;
    headroom(&mut rows)?;
    pools(&mut rows)?;
    Ok(rows)
}

/// Returns a generator of random numbers for a set of a kind.
fn draw(kind: u64, set: u64) -> Random {
    Random::new(57, kind, set)
}

fn loaded(options: &GenerateOptions) -> io::Result<NativePool> {
    let mut text = Vec::new();
    write_jaeger(options, &mut text)?;
    NativePool::of(vec![read(&text)]).map_err(io::Error::other)
}

fn ask<Q: Query>(pool: &mut NativePool, query: Q) -> io::Result<Q::Report> {
    pool.run(query).map_err(io::Error::other)
}

fn what_if(pool: &mut NativePool, changes: Changes) -> io::Result<WhatIfReport> {
    let (selection, settings) = (Selection::default(), FlowSettings::default());
    ask(pool, queries::WhatIf { selection, baseline: None, settings, changes })
}

/// Returns how far predicted percentiles of the latency are off in percent, the most of p50, p95 and p99.
fn off(predicted: &Percentiles, really: &Percentiles) -> f64 {
    let pairs = [(predicted.p50, really.p50), (predicted.p95, really.p95), (predicted.p99, really.p99)];
    pairs.into_iter().map(|(a, b)| 100.0 * (a / b - 1.0).abs()).fold(0.0, f64::max)
}

fn greatest(figures: &[f64]) -> f64 {
    figures.iter().copied().fold(0.0, f64::max)
}

/// Calls of which it is known whether one needs the other.
fn parallelise(rows: &mut Vec<String>) -> io::Result<()> {
    let pair_of = |calls: &CallsBeside| {
        let [first, second] = &calls.callees[..] else { return None };
        let is_it = |pair: &SerialPair| {
            (pair.service, pair.operation) == (&*calls.parent.service, &*calls.parent.operation)
                && (pair.first, pair.second) == (&*first.operation, &*second.operation)
        };
        SerialPair::all().into_iter().find(is_it)
    };
    let free = SerialPair::all().into_iter().filter(|pair| pair.need == PairNeed::None).count();
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for set in 0..SETS {
        let seed = draw(0, set).below(100_000);
        let options =
            GenerateOptions { shape: Shape::Serial, traces: 2400, seed, ..GenerateOptions::default() };
        let (selection, settings) = (Selection::default(), FlowSettings::default());
        let report = ask(&mut loaded(&options)?, queries::Parallelise { selection, settings })?;
        let needs: Vec<PairNeed> =
            report.groups.iter().filter_map(|group| pair_of(&group.calls)).map(|pair| pair.need).collect();
        found.push(needs.iter().filter(|need| **need == PairNeed::None).count() as f64);
        wrong.push(needs.iter().take(10).filter(|need| **need != PairNeed::None).count() as f64);
    }
    let of_free = format!("of {free}");
    let least = found.iter().copied().fold(f64::INFINITY, f64::min);
    let mut put = |what: &str, value: f64, unit: &str, budget: &str| {
        rows.push(row(GROUP, &format!("parallelise, {SETS} sets: {what}"), value, unit, budget));
    };
    put("calls that need not wait and are found, median", median(found), &of_free, "");
    put("the same of the worst set", least, &of_free, "> 17");
    put("false ones among the first ten of the worst set", greatest(&wrong), "of 10", "< 3");
    Ok(())
}

fn shop(seed: u64) -> GenerateOptions {
    GenerateOptions { traces: 1_500, seed, ..GenerateOptions::default() }
}

/// New versions of two services of the shop, one 1.5 and one 1.16 times as slow in what it does itself; and hosts, which say
/// nothing.
fn deployments(rows: &mut Vec<String>) -> io::Result<()> {
    let (mut found, mut hosts, mut slow_hosts) = ([0, 0], 0, 0);
    for set in 0..SETS {
        let mut pool = loaded(&shop(draw(1, set).below(100_000)))?;
        let selection = Selection::default();
        let report = ask(&mut pool, queries::Deployments { selection: selection.clone(), key: None })?;
        for (at, service) in ["recommendation", "search"].into_iter().enumerate() {
            let of = DeploymentOf::Service(service.to_owned());
            found[at] += u32::from(report.sure().any(|row| row.key == "version" && row.of == of));
        }
        let key = Some("hostname".to_owned());
        let report = ask(&mut pool, queries::Deployments { selection, key })?;
        hosts += report.rows.len();
        slow_hosts += report.sure().count();
    }
    let of_sets = format!("of {SETS}");
    let of_hosts = format!("of {hosts}");
    rows.extend([
        row(GROUP, "deployments: a version 1.5 times as slow is found", found[0].into(), &of_sets, ""),
        row(GROUP, "deployments: a version 1.16 times as slow is found", found[1].into(), &of_sets, ""),
        row(GROUP, "deployments: random hosts that are called slow", slow_hosts as f64, &of_hosts, ""),
    ]);
    Ok(())
}

/// All waits at half, and calls between zones as those within one.
fn network(rows: &mut Vec<String>) -> io::Result<()> {
    let half = WaitTime::By { share_ppm: -500_000, add_us: 0 };
    let across =
        CallsBetween { across: Some("cloud.availability_zone".to_owned()), ..CallsBetween::default() };
    let waits = |calls, time| Changes { waits: vec![WaitChange { calls, time }], ..Changes::default() };
    let (mut errors, mut without) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for set in 0..SETS {
        let plain = shop(draw(2, set).below(100_000));
        let zoned = GenerateOptions { zones: Some(4.0), ..plain.clone() };
        let cases = [
            (
                waits(CallsBetween::default(), half.clone()),
                plain.clone(),
                GenerateOptions { network: 0.5, ..plain },
            ),
            (
                waits(across.clone(), WaitTime::Within),
                zoned.clone(),
                GenerateOptions { zones: Some(1.0), ..zoned },
            ),
        ];
        for (at, (changes, options, truth)) in cases.into_iter().enumerate() {
            let predicted = what_if(&mut loaded(&options)?, changes)?;
            let really = what_if(&mut loaded(&truth)?, Changes::default())?.before_us;
            errors[at].push(off(&predicted.after_us, &really));
            without[at].push(off(&predicted.before_us, &really));
        }
    }
    for (at, what) in ["all waits at half", "no call crosses a zone"].into_iter().enumerate() {
        let mut put = |words: &str, value: f64, budget: &str| {
            let what = format!("what-if, {what}, {SETS} sets: {words} of p50, p95 and p99");
            rows.push(row(GROUP, &what, value, "%", budget));
        };
        put("greatest error", greatest(&errors[at]), "< 5");
        put("greatest error of a guess that nothing changes", greatest(&without[at]), "");
    }
    Ok(())
}

/// Returns what makes something so many percent slower when the traces are made.
fn speeds(options: &GenerateOptions, of: &Slower, percent: u32) -> io::Result<Vec<Speed>> {
    let share_ppm = 10_000 * percent as i32;
    let service = match of {
        Slower::Calls(of) => {
            let endpoint = format!("{}:{}", of.service, of.operation);
            return Ok(vec![Speed { endpoint, share_ppm, is_whole: true }]);
        }
        Slower::Service(service) => service,
    };
    // Calls that another service answers have gaps only: what passes outside the answer is not own work.
    let places = Generator::new(options).map_err(io::Error::other)?.places();
    let own = places.iter().filter(|place| place.service == service && place.subspan.is_some());
    let mut endpoints: Vec<String> = own.map(|place| format!("{service}:{}", place.operation)).collect();
    endpoints.sort();
    endpoints.dedup();
    let speed = |endpoint| Speed { endpoint, share_ppm, is_whole: false };
    Ok(endpoints.into_iter().map(speed).collect())
}

/// Services and calls that become as slow as headroom says they may, drawn among all that have some.
fn headroom(rows: &mut Vec<String>) -> io::Result<()> {
    let mut errors = Vec::new();
    for set in 0..SETS {
        let mut random = draw(3, set);
        let shape = [Shape::Mixed, Shape::Wide, Shape::Serial][set as usize % 3];
        let seed = random.below(100_000);
        let options = GenerateOptions { shape, spans: 40, traces: 400, seed, ..GenerateOptions::default() };
        let quantile = [Quantile::P95, Quantile::P99][set as usize % 2];
        let mut pool = loaded(&options)?;
        let before_us = quantile.of(&what_if(&mut pool, Changes::default())?.before_us);
        let limit_us = (before_us * (1.1 + 0.2 * random.unit())) as u64;
        let (selection, settings) = (Selection::default(), FlowSettings::default());
        let report = ask(&mut pool, queries::Headroom { selection, settings, quantile, limit_us })?;
        let has_some = |row: &&HeadroomRow| row.longer_percent.is_some_and(|percent| percent > 0);
        let mut left: Vec<&HeadroomRow> = report.rows.iter().filter(has_some).collect();
        for _ in 0..4 {
            if left.is_empty() {
                break;
            }
            let of = left.swap_remove(random.below(left.len() as u64) as usize);
            let percent = of.longer_percent.unwrap_or(0);
            let slower = GenerateOptions { speeds: speeds(&options, &of.of, percent)?, ..options.clone() };
            let really_us = quantile.of(&what_if(&mut loaded(&slower)?, Changes::default())?.before_us);
            let error = 100.0 * (of.then_us / really_us - 1.0).abs();
            if error > 5.0 {
                eprintln!("headroom, seed {seed}: {:?} {percent} % longer: {error:.1} % off", of.of);
            }
            errors.push(error);
        }
    }
    let what = format!("headroom, {} services and calls as slow as they may become: ", errors.len());
    rows.push(row(GROUP, &format!("{what}greatest error of the percentile"), greatest(&errors), "%", "< 5"));
    rows.push(row(GROUP, &format!("{what}median error"), median(errors), "%", ""));
    Ok(())
}

/// Returns the times of the calls between two services of all traces: of the pairs that take most.
fn busiest(options: &GenerateOptions) -> io::Result<Vec<((&'static str, &'static str), u64)>> {
    let generator = Generator::new(options).map_err(io::Error::other)?;
    let mut us: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for trace in (0..options.traces).map(|index| generator.trace(index)) {
        let service = |process: Option<u32>| process.map_or("", |of| trace.processes[of as usize].service);
        for span in trace.spans.iter().filter(|span| span.kind == SpanKind::Server) {
            let parent = span.parent.and_then(|of| trace.spans.iter().find(|p| p.span_id == of.span_id));
            let Some(call) = parent else { continue };
            *us.entry((service(call.process), service(span.process))).or_default() += call.duration_us;
        }
    }
    let mut us: Vec<_> = us.into_iter().collect();
    us.sort_by_key(|(_, us)| std::cmp::Reverse(*us));
    us.truncate(6);
    Ok(us)
}

/// Pools of connections between two services, and the same traces without.
fn pools(rows: &mut Vec<String>) -> io::Result<()> {
    let (mut right, mut wrong) = (0, 0);
    for set in 0..SETS {
        let mut random = draw(4, set);
        let seed = random.below(100_000);
        let options = GenerateOptions { spans: 20, ..shop(seed) };
        let busiest = busiest(&options)?;
        let ((service, peer), us) = busiest[random.below(busiest.len() as u64) as usize];
        let connections = 1 + random.below(8) as usize;
        let spread_us = (us as f64 / (INSTANCES as f64 * connections as f64 * LOAD)) as u64;
        let pool = Pool { service: service.to_owned(), peer: peer.to_owned(), connections };
        let without = GenerateOptions { spread_us, ..options };
        let with = GenerateOptions { pool: Some(pool), ..without.clone() };
        let mut is_right = false;
        for (place, facts) in waits(&with)? {
            let is_it = place == FindingPlace::Service(service.to_owned()) && facts.callee == peer;
            is_right |= is_it && facts.at_once == connections as u64;
            wrong += u32::from(!is_it || facts.at_once != connections as u64);
        }
        wrong += waits(&without)?.len() as u32;
        right += u32::from(is_right);
        if !is_right {
            eprintln!("pools, seed {seed}: {service}>{peer}={connections} is not found");
        }
    }
    let of_sets = format!("of {SETS}");
    rows.extend([
        row(GROUP, "pools: found with their connections", right.into(), &of_sets, ""),
        row(GROUP, "pools: found with others, or where there is none", wrong.into(), "", "< 1"),
    ]);
    Ok(())
}

fn waits(options: &GenerateOptions) -> io::Result<Vec<(FindingPlace, PoolWaitsFacts)>> {
    let report = ask_findings(&mut loaded(options)?, Selection::default(), None).map_err(io::Error::other)?;
    let facts = report.findings.into_iter().filter_map(|finding| match finding.facts {
        FindingFacts::PoolWaits(facts) => Some((finding.place, facts)),
        _ => None,
    });
    Ok(facts.collect())
}
