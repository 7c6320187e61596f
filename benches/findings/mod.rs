//! Whether the findings name what is known to be wrong: one cause at a time in generated traces, at places drawn with a
//! fixed seed, and sets in which nothing is wrong.
//!
//! A cause is put into some of the traces of a set: into all of them, a few, those of one region, those after a moment.
//! It is a delay at a place of the shop, or a call that fails and is made again. Of the places in the shop those count at
//! which a delay can cost what is asked: what nobody waits for can not. A cause is found where a finding names its
//! endpoint or service (the tag, for one region) and is of its kind, or of one that is listed as acceptable below.

use crate::shared::{read, row};
use pathlight::base::statistics::Random;
use pathlight::engine::EngineError;
use pathlight::engine::findings::{Finding, FindingKind, FindingPlace, FindingsReport};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::Session;
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{
    GenerateOptions, GeneratedSpan, GeneratedTrace, Generator, Inject, Shape, TopologyPlace, trace_json,
};
use pathlight::ingest::{ReadOptions, Reader};
use pathlight::trace::TraceSet;

/// Places drawn for each cause.
const CASES: usize = 20;
/// Requests in a set.
const TRACES: u64 = 1000;
/// What the delay of all traces costs, in percent of the mean latency.
const STAKES: [u64; 4] = [5, 10, 20, 50];
/// The stake the bar holds for.
const STAKE: u64 = 20;
/// Share of the traces that are slow now and then.
const RARE: f64 = 0.07;
/// Share of the traces with a call that runs into its timeout, and of those with a repeated call.
const SOMETIMES: f64 = 0.1;
const TIMEOUT_US: u64 = 2_000_000;

/// Faults of Online Boutique that make requests slow.
const LABELLED: [&str; 7] = ["00", "05", "11", "13", "14", "16", "21"];

/// What is wrong.
#[derive(Clone, Copy, PartialEq)]
enum Cause {
    Everywhere(u64),
    Rare,
    Region,
    SinceHalf,
    Timeout,
    Retries,
}

impl Cause {
    fn words(self) -> String {
        match self {
            Cause::Everywhere(stake) => format!("slow in every trace by {stake} % of the mean latency"),
            Cause::Rare => "slow by the mean latency in 7 % of the traces that come by".to_owned(),
            Cause::Region => format!("slow in one region by {STAKE} % of the mean latency"),
            Cause::SinceHalf => format!("slow since half of the time by {STAKE} % of the mean latency"),
            Cause::Timeout => "a call takes 2 s in 10 % of the traces that make it".to_owned(),
            Cause::Retries => {
                format!(
                    "a call fails and is made again in 10 % of the traces that make it, for {STAKE} % of the mean latency"
                )
            }
        }
    }

    /// Returns the kinds of finding that say so.
    fn kinds(self) -> &'static [FindingKind] {
        match self {
            Cause::Everywhere(_) => &[FindingKind::HotSpot, FindingKind::Waiting, FindingKind::SlowTail],
            Cause::Rare => &[FindingKind::SlowTail],
            Cause::Region => &[FindingKind::Who],
            Cause::SinceHalf => &[FindingKind::SinceWhen],
            Cause::Timeout => &[FindingKind::Timeout],
            Cause::Retries => &[FindingKind::Retries],
        }
    }

    /// Returns how many of the cases have to come first, and among the first three.
    fn bars(self) -> (&'static str, &'static str) {
        match self {
            Cause::Everywhere(STAKE) => ("> 17", "> 19"),
            Cause::Everywhere(_) | Cause::Rare => ("", ""),
            _ => ("", "> 17"),
        }
    }
}

/// Returns a row or two for each cause. What was not found is written to stderr.
pub fn run() -> std::io::Result<Vec<String>> {
    let group = "Findings of injected causes";
    let mut rows = Vec::new();
    let causes = STAKES.map(Cause::Everywhere).into_iter();
    let others = [Cause::Rare, Cause::Region, Cause::SinceHalf, Cause::Timeout, Cause::Retries];
    for cause in causes.chain(others) {
        let (mut first, mut first_three) = (0, 0);
        for case in 0..CASES as u64 {
            let (place, report) = injected(cause, case)?;
            let rank = report.findings.iter().position(|finding| says(finding, cause, &place));
            first += usize::from(rank == Some(0));
            first_three += usize::from(rank.is_some_and(|rank| rank < 3));
            if rank != Some(0) {
                let found: Vec<String> = report.findings.iter().take(3).map(head).collect();
                eprintln!(
                    "{}, {}, seed {case}: rank {rank:?}; {}",
                    cause.words(),
                    place.name,
                    found.join("; ")
                );
            }
        }
        let of = format!("of {CASES}");
        rows.push(row(group, &format!("{}: first", cause.words()), first as f64, &of, cause.bars().0));
        let what = format!("{}: among the first three", cause.words());
        rows.push(row(group, &what, first_three as f64, &of, cause.bars().1));
    }
    rows.extend(two_at_a_time(group)?);
    rows.extend(labelled(group)?);
    let mut wrong = 0;
    for case in 0..CASES as u64 {
        let generator = generator(&options(1000 + case, Vec::new()))?;
        let report = findings((0..TRACES).map(|index| generator.trace(index)))?;
        // The shop has slow requests and errors of its own; they are no false findings.
        let own = [FindingKind::SlowTail, FindingKind::Errors];
        for finding in report.findings.iter().filter(|f| f.kind().is_causal() && !own.contains(&f.kind())) {
            wrong += 1;
            eprintln!(
                "nothing wrong, seed {case}: {} {:?} n {} of {}",
                head(finding),
                finding.facts,
                finding.n,
                finding.of
            );
        }
    }
    let what = "false causes in 20 sets in which nothing is wrong";
    rows.push(row(group, what, f64::from(wrong), "", "< 2"));
    Ok(rows)
}

/// Looks for two causes in one set: a place that is slow in every trace, and calls of another that run into a timeout.
fn two_at_a_time(group: &str) -> std::io::Result<Vec<String>> {
    let causes = [Cause::Everywhere(STAKE), Cause::Timeout];
    let (mut first, mut both) = (0, 0);
    for case in 0..CASES as u64 {
        let (slow, _) = injected(causes[0], case)?;
        let (late, _) = injected(causes[1], case + 500)?;
        let plain = generator(&options(case, Vec::new()))?;
        let mean_us = mean_latency_us(&plain);
        let inject =
            |place: &TopologyPlace, extra_us, share| Inject { place: place.name.clone(), extra_us, share };
        let probe = generator(&options(case, vec![inject(&slow, mean_us, 1.0)]))?;
        let gain = mean_latency_us(&probe).saturating_sub(mean_us).max(1);
        let injects = vec![
            inject(&slow, mean_us * mean_us / gain * STAKE / 100, 1.0),
            inject(&late, TIMEOUT_US, SOMETIMES),
        ];
        let generator = generator(&options(case, injects))?;
        let report = findings((0..TRACES).map(|index| generator.trace(index)))?;
        let rank = |cause, place: &TopologyPlace| {
            report.findings.iter().position(|finding| says(finding, cause, place)).unwrap_or(usize::MAX)
        };
        let ranks = [rank(causes[0], &slow), rank(causes[1], &late)];
        first += usize::from(ranks.contains(&0));
        both += usize::from(ranks.iter().all(|rank| *rank < 3));
        if ranks.iter().any(|rank| *rank >= 3) {
            let found: Vec<String> = report.findings.iter().take(3).map(head).collect();
            eprintln!(
                "two, {} and {}, seed {case}: ranks {ranks:?}; {}",
                slow.name,
                late.name,
                found.join("; ")
            );
        }
    }
    let of = format!("of {CASES}");
    let words = "two at a time, slow in every trace and a timeout";
    Ok(vec![
        row(group, &format!("{words}: first is one of them"), first as f64, &of, ""),
        row(group, &format!("{words}: both among the first three"), both as f64, &of, ""),
    ])
}

/// Looks for latency faults of real services, with labels, in the folder of `PATHLIGHT_DATA` or beside the repository;
/// returns nothing without them.
fn labelled(group: &str) -> std::io::Result<Vec<String>> {
    let data = std::env::var("PATHLIGHT_DATA").unwrap_or_else(|_| "../shared/data".to_owned());
    let folder = std::path::Path::new(&data).join("onlineboutique-nezha-2022-08-22/cases");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut first = 0;
    for case in LABELLED {
        let folder = folder.join(format!("case-{case}"));
        let label: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("label.json"))?)?;
        let load = |name: &str, group: u8| -> std::io::Result<TraceSet> {
            let mut set = TraceSet::new();
            set.loading_group = group;
            let mut reader = Reader::new(name, ReadOptions::default());
            reader.feed(&std::fs::read(folder.join(name))?, &mut set).map_err(std::io::Error::other)?;
            reader.finish(&mut set);
            set.seal().map_err(std::io::Error::other)?;
            Ok(set)
        };
        let sets = vec![load("normal.json.gz", 0)?, load("fault.json.gz", 1)?];
        let [a, b] = [0, 1].map(|group| Selection { group, ..Selection::default() });
        let mut pool = NativePool::of(sets).map_err(std::io::Error::other)?;
        let report = pool.run(queries::Findings { selection: b, baseline: Some(a) });
        let report = report.map_err(|error| std::io::Error::other(error.to_string()))?;
        let named =
            report.findings.iter().find(|finding| finding.kind().is_causal()).map(|finding| &finding.place);
        let is_it = |place: &&FindingPlace| matches!(place, FindingPlace::Service(service) if label["culprit_service"] == **service);
        first += u32::from(named.as_ref().is_some_and(is_it));
        if !named.as_ref().is_some_and(is_it) {
            eprintln!("labelled fault {case}, {}: {named:?}", label["culprit_service"]);
        }
    }
    let what = "labelled faults of real services: the first names the service";
    let of = format!("of {}", LABELLED.len());
    Ok(vec![row(group, what, f64::from(first), &of, "> 6")])
}

fn options(seed: u64, injects: Vec<Inject>) -> GenerateOptions {
    GenerateOptions { traces: TRACES, shape: Shape::Mixed, seed, injects, ..GenerateOptions::default() }
}

fn generator(options: &GenerateOptions) -> std::io::Result<Generator> {
    Generator::new(options).map_err(std::io::Error::other)
}

/// Draws a place, puts the cause there and asks for the findings.
fn injected(cause: Cause, case: u64) -> std::io::Result<(TopologyPlace, FindingsReport)> {
    let plain = generator(&options(case, Vec::new()))?;
    let mean_us = mean_latency_us(&plain);
    let mut draw = Random::new(case, 77, 0);
    let places = plain.places();
    loop {
        let place = places[draw.below(places.len() as u64) as usize].clone();
        let slow = |extra_us| {
            generator(&options(case, vec![Inject { place: place.name.clone(), extra_us, share: 1.0 }]))
        };
        // What a delay by the mean latency costs on average; a delay costs in proportion.
        let gain = mean_latency_us(&slow(mean_us)?).saturating_sub(mean_us);
        if gain * 20 < mean_us || (cause == Cause::Retries && place.subspan.is_none()) {
            continue;
        }
        let extra_us = match cause {
            Cause::Everywhere(stake) => mean_us * mean_us / gain * stake / 100,
            Cause::Region | Cause::SinceHalf => mean_us * mean_us / gain * STAKE / 100,
            Cause::Rare => mean_us,
            Cause::Timeout => TIMEOUT_US,
            // Only to ask which traces make the call.
            Cause::Retries => 1,
        };
        let slow = slow(extra_us)?;
        let mut chance = Random::new(case, 78, 0);
        let region = plain.trace(0).processes[0].region;
        let hits: Vec<bool> = (0..TRACES)
            .map(|index| match cause {
                Cause::Everywhere(_) => true,
                Cause::Rare => slow.is_touched(index) && chance.unit() < RARE,
                Cause::Region => plain.trace(index).processes[0].region == region,
                Cause::SinceHalf => index >= TRACES / 2,
                Cause::Timeout | Cause::Retries => slow.is_touched(index) && chance.unit() < SOMETIMES,
            })
            .collect();
        let hit = hits.iter().filter(|hit| **hit).count().max(1) as u64;
        let traces = (0..TRACES).zip(hits).map(|(index, is_hit)| {
            if is_hit && cause == Cause::Retries {
                let mut trace = plain.trace(index);
                repeat_call(&mut trace, &place, mean_us * STAKE / 100 * TRACES / hit);
                return trace;
            }
            if is_hit { slow.trace(index) } else { plain.trace(index) }
        });
        let report = findings(traces)?;
        return Ok((place, report));
    }
}

/// Has the first call of a place's endpoint fail after `us`, and made again.
fn repeat_call(trace: &mut GeneratedTrace, place: &TopologyPlace, us: u64) {
    let is_it = |span: &&GeneratedSpan| {
        let service = span.process.map(|process| trace.processes[process as usize].service);
        span.parent.is_some() && service == Some(place.service) && span.operation == place.operation
    };
    let Some(called) = trace.spans.iter().filter(is_it).min_by_key(|span| span.start_us).cloned() else {
        return;
    };
    let (from_us, mut waiting) = (called.start_us, called.parent);
    for span in trace.spans.iter_mut().filter(|span| span.start_us >= from_us) {
        span.start_us += us;
    }
    while let Some(parent) = waiting {
        let span = trace.spans.iter_mut().find(|span| span.span_id == parent.span_id);
        waiting = span.and_then(|span| {
            span.duration_us += us;
            span.parent
        });
    }
    let mut failed = called;
    failed.span_id ^= 0x5a5a_5a5a;
    failed.duration_us = us;
    failed.error = true;
    trace.spans.push(failed);
}

/// Returns the mean latency of all traces in microseconds, from the first start to the last end of the root.
fn mean_latency_us(generator: &Generator) -> u64 {
    let sum: u64 = (0..TRACES).map(|index| generator.trace(index).spans[0].duration_us).sum();
    sum / TRACES
}

/// Returns the findings with what is found out later, as the page shows them.
fn findings(traces: impl Iterator<Item = GeneratedTrace>) -> std::io::Result<FindingsReport> {
    let traces: Vec<String> = traces.map(|trace| trace_json(&trace)).collect();
    let mut session = Session::of(read(format!("{{\"data\":[{}]}}", traces.join(",")).as_bytes()));
    let other = |error: EngineError| std::io::Error::other(error.to_string());
    let all = Selection::default();
    let query = queries::Findings { selection: all.clone(), baseline: None };
    let report = session.run(query).map_err(other)?;
    let late = queries::LateFindingsQuery::of(all, None, &report);
    Ok(report.with(&session.run(late).map_err(other)?))
}

/// Returns whether a finding names cause and place.
fn says(finding: &Finding, cause: Cause, place: &TopologyPlace) -> bool {
    let is_kind = |kind: &FindingKind| cause.kinds().contains(kind);
    // The called service of a gap, by the name of its place: `caller->called:operation gap`.
    let called =
        place.name.split_once("->").and_then(|(_, rest)| rest.split_once(':')).map(|(called, _)| called);
    let is_place = match &finding.place {
        // Calls may be named with their callee, `GetAds -> ads`.
        FindingPlace::Endpoint(endpoint) => {
            let operation = endpoint.operation.split(" -> ").next().unwrap_or_default();
            (endpoint.service.as_str(), operation) == (place.service, place.operation)
        }
        FindingPlace::Service(service) => service == place.service || Some(service.as_str()) == called,
        // Whom and since when it hurts is said of request types and tags, not of the place.
        FindingPlace::Tag { key, .. } => cause == Cause::Region && key.contains("region"),
        FindingPlace::RequestType(_) => cause == Cause::SinceHalf,
        FindingPlace::Data => false,
    };
    // Of a service that is the reason of another finding, both are said.
    finding.explains.iter().any(|other| says(other, cause, place))
        || is_place && (is_kind(&finding.kind()) || finding.also.iter().any(is_kind))
}

fn head(finding: &Finding) -> String {
    format!("{:?} {:?} {:.0} us", finding.kind(), finding.place, finding.stake_us)
}
