//! Whether tprof names what is known to be slow: a delay at one place of generated traces (paper section 4.2, Fig. 6), and
//! of recorded ones ([`media`]).
//!
//! The 20 most used places, and 20 drawn at random among all at which a delay costs anything, are delayed one at a time,
//! each in traces of a seed of its own, by shares of the mean latency of the same traces without the delay; then by the
//! whole of it in 7 % of the traces only; and, as the tail bug of the paper's section 4.2.1, by it and by ten times as much
//! in 2 % of the traces. A delay counts as found where the first line of the report (or of the list of what makes the tail
//! of all request types slow) is its subspan. Beside the rank of its endpoint by structure stand those by average
//! duration, of all spans and of those in the slowest tenth of the traces: over all traces together, and grouped by root
//! only (layer 2), as in the paper's Table 2.

mod media;
mod steps;

use crate::shared::{median, read, row};
use pathlight::base::statistics::Random;
use pathlight::engine::diagnosis::{DiagnosisReport, DiagnosisSettings, TailVerdict};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::Session;
use pathlight::generate::{GenerateOptions, Generator, Inject, Shape, TopologyPlace, write_jaeger};

const GROUP: &str = "Diagnosis of injected delays";
/// Places, and seeds.
const CASES: usize = 20;
/// Of so many the true subspan has to come first.
const BAR: &str = "> 18";
const TRACES: u64 = 1000;
/// Delays of every trace, in thousandths of the mean latency.
const DELAYS: [u64; 5] = [50, 100, 200, 500, 1000];
/// The delay the bar holds for, and the one whose ranks are reported.
const HALF: u64 = 500;
const FIFTH: u64 = 200;
/// Share of the traces with a rare delay.
const RARE: f64 = 0.07;
/// That of the paper's fault, and how long it takes in thousandths of the mean latency.
const FAULT: f64 = 0.02;
const FAULTS: [u64; 2] = [1000, 10_000];

/// Returns a row for each delay, of all parts but [`steps`] or of one of them. What was not found is written to stderr.
pub fn run(part: Option<&str>) -> std::io::Result<Vec<String>> {
    // The one part that takes times.
    if part == Some("steps") {
        return steps::steps();
    }
    let wanted = |name: &str| part.is_none_or(|part| part == name);
    let mut rows = Vec::new();
    let mut places = generator(&options(1, Vec::new()))?.places();
    if wanted("random") {
        let mut draw = Random::new(15, 0, 0);
        let mut random: Vec<TopologyPlace> = Vec::new();
        while random.len() < CASES {
            let place = &places[draw.below(places.len() as u64) as usize];
            if !random.contains(place) && costs(place)? {
                random.push(place.clone());
            }
        }
        rows.extend(of_places("places drawn at random, ", &random, false)?);
    }
    if wanted("used") {
        places.truncate(CASES);
        rows.extend(of_places("", &places, true)?);
    }
    if wanted("recorded") {
        rows.extend(media::run()?);
    }
    Ok(rows)
}

/// Returns rows of these places.
fn of_places(which: &str, places: &[TopologyPlace], bars: bool) -> std::io::Result<Vec<String>> {
    let mut found_often = [0; DELAYS.len()];
    let (mut found_rare, mut rare_by_report) = (0, 0);
    let (mut faults, mut ranks) = ([[0; 3]; FAULTS.len()], Ranks::default());
    for (case, place) in places.iter().enumerate() {
        let seed = case + 1;
        let mean_us = mean_latency_us(&generator(&options(seed, Vec::new()))?);
        let with = |permille: u64, share: f64| {
            let extra_us = mean_us * permille / 1000;
            tprof(&options(seed, vec![Inject { place: place.name.clone(), extra_us, share }]))
        };
        for (found, permille) in found_often.iter_mut().zip(DELAYS) {
            let report = with(permille, 1.0)?;
            let is_first = is_first_of_report(place, &report);
            *found += usize::from(is_first);
            if permille == FIFTH {
                ranks.add(&report, place.service, place.operation);
            }
            if !is_first && permille >= HALF {
                eprintln!(
                    "{} in all (passed by {:.1} %), seed {seed}, {permille} permille: {}",
                    place.name,
                    100.0 * place.share,
                    head(&report)
                );
            }
        }
        let report = with(1000, RARE)?;
        rare_by_report += usize::from(is_first_of_report(place, &report));
        let is_first = is_first_of_tail(place, &report);
        found_rare += usize::from(is_first);
        if !is_first {
            eprintln!("{} rarely, seed {seed}: {}", place.name, tail_head(&report));
        }
        for (found, permille) in faults.iter_mut().zip(FAULTS) {
            let report = with(permille, FAULT)?;
            let is_first = is_first_of_report(place, &report);
            let verdict = report.report.first().and_then(|first| Some(first.types.first()?.verdict));
            found[0] += usize::from(is_first);
            found[1] +=
                usize::from(is_first && matches!(verdict, Some(TailVerdict::Tail | TailVerdict::New)));
            found[2] += usize::from(is_first_of_tail(place, &report));
        }
    }
    let of = format!("of {}", places.len());
    let put = |what: String, found: usize, budget: &str| {
        row(GROUP, &format!("{which}{what}"), found as f64, &of, if bars { budget } else { "" })
    };
    let times = |permille: u64| permille as f64 / 1e3;
    let mut rows: Vec<String> = DELAYS
        .iter()
        .zip(found_often)
        .map(|(&permille, found)| {
            let what = format!("in every trace, {} x the mean latency: first in the report", times(permille));
            put(what, found, if permille == HALF { BAR } else { "" })
        })
        .collect();
    let rare = "in 7 % of the traces, 1 x the mean latency: first in";
    rows.push(put(format!("{rare} the report"), rare_by_report, ""));
    rows.push(put(format!("{rare} the list of the tail"), found_rare, BAR));
    for (permille, [first, marked, in_tail]) in FAULTS.into_iter().zip(faults) {
        let fault = format!("in 2 % of the traces, {} x the mean latency: first in", times(permille));
        rows.push(put(format!("{fault} the report"), first, ""));
        rows.push(put(format!("{fault} the report, and marked as one of the tail"), marked, ""));
        rows.push(put(format!("{fault} the list of the tail"), in_tail, ""));
    }
    rows.extend(ranks.rows(&format!("{which}in every trace, {} x the mean latency", times(FIFTH))));
    Ok(rows)
}

/// Ranks of the delayed endpoint: by structure, by the mean duration of its spans, and by that in the slowest tenth; the
/// last two over all traces together (layer 1), and within the traces of one root (layer 2).
#[derive(Default)]
struct Ranks([Vec<f64>; 5]);

impl Ranks {
    fn add(&mut self, report: &DiagnosisReport, service: &str, operation: &str) {
        let by_structure = report
            .report
            .iter()
            .position(|row| (row.service.as_str(), row.operation.as_str()) == (service, operation));
        // An endpoint beyond the report's end has the rank after it.
        self.0[0].push(by_structure.unwrap_or(report.report.len()) as f64 + 1.0);
        for (layer, ranks) in report.layers.iter().take(2).zip(self.0[1..].chunks_mut(2)) {
            // Of layer 2 a row is an endpoint within the traces of one root.
            let means: Vec<(bool, [f64; 2])> = layer
                .groups
                .iter()
                .flat_map(|group| &group.endpoints)
                .map(|row| {
                    let is_it = (row.service.as_str(), row.operation.as_str()) == (service, operation);
                    (is_it, [row.duration_us.all.mean, row.duration_us.tail.map_or(0.0, |tail| tail.mean)])
                })
                .collect();
            for (by, ranks) in ranks.iter_mut().enumerate() {
                // The best of its rows, as there is one for each root that calls it.
                let own = means.iter().filter(|row| row.0).map(|row| row.1[by]).reduce(f64::max);
                let Some(own) = own else { continue };
                ranks.push(means.iter().filter(|row| row.1[by] > own).count() as f64 + 1.0);
            }
        }
    }

    fn rows(&self, what: &str) -> Vec<String> {
        let by = [
            "by structure",
            "by mean duration",
            "by mean duration in the slowest tenth",
            "by mean duration, grouped by root",
            "by mean duration in the slowest tenth, grouped by root",
        ];
        let each = by.iter().zip(&self.0).flat_map(|(by, ranks)| {
            let first = ranks.iter().filter(|rank| **rank == 1.0).count();
            let of = format!("of {}", ranks.len());
            [
                row(GROUP, &format!("{what}: endpoint first {by}"), first as f64, &of, ""),
                row(
                    GROUP,
                    &format!("{what}: median rank of the endpoint {by}"),
                    median(ranks.clone()),
                    "",
                    "",
                ),
            ]
        });
        each.collect()
    }
}

fn options(seed: usize, injects: Vec<Inject>) -> GenerateOptions {
    GenerateOptions {
        traces: TRACES,
        shape: Shape::Mixed,
        seed: seed as u64,
        injects,
        ..GenerateOptions::default()
    }
}

fn generator(options: &GenerateOptions) -> std::io::Result<Generator> {
    Generator::new(options).map_err(std::io::Error::other)
}

/// Returns whether any request waits for a delay at a place.
fn costs(place: &TopologyPlace) -> std::io::Result<bool> {
    let plain = mean_latency_us(&generator(&options(1, Vec::new()))?);
    let inject = Inject { place: place.name.clone(), extra_us: plain, share: 1.0 };
    Ok(mean_latency_us(&generator(&options(1, vec![inject]))?) > plain)
}

/// Returns the mean latency in microseconds, from the first start to the last end, without the work that nobody waits
/// for where it comes last.
fn mean_latency_us(generator: &Generator) -> u64 {
    mean((0..generator.options().traces).map(|index| generator.trace(index).spans[0].duration_us))
}

/// Returns the mean, rounded down.
fn mean(values: impl Iterator<Item = u64>) -> u64 {
    let (sum, n) = values.fold((0, 0), |(sum, n), value| (sum + value, n + 1));
    sum / n.max(1)
}

fn tprof(options: &GenerateOptions) -> std::io::Result<DiagnosisReport> {
    let mut text = Vec::new();
    write_jaeger(options, &mut text)?;
    let mut session = Session::of(read(&text));
    // Every endpoint has its rank.
    let settings = DiagnosisSettings { top: [u32::MAX, 1, 1, 1], ..DiagnosisSettings::default() };
    let selection = Selection::default();
    let report = session.run(queries::Diagnosis { selection, settings });
    report.map_err(|error| std::io::Error::other(error.to_string()))
}

/// Returns the called service of a gap, by the name of its place: `caller->called:operation gap`.
fn called(place: &TopologyPlace) -> Option<&str> {
    if place.subspan.is_some() {
        return None;
    }
    Some(place.name.split_once("->")?.1.split_once(':')?.0)
}

/// Returns whether a place comes first in the report; a gap is the client span before its only child.
fn is_first_of_report(place: &TopologyPlace, report: &DiagnosisReport) -> bool {
    let Some(endpoint) = report.report.first() else { return false };
    let span = endpoint.types.first().and_then(|kind| kind.spans.first());
    endpoint.service == place.service
        && endpoint.operation == place.operation
        && span.is_some_and(|span| span.subspan == Some(place.subspan.unwrap_or(0)))
}

fn is_first_of_tail(place: &TopologyPlace, report: &DiagnosisReport) -> bool {
    let first = report.tail.lists().next().and_then(|list| list.places.first());
    first.is_some_and(|first| {
        first.service == place.service
            && first.operation == place.operation
            && first.subspan == place.subspan
            && first.gap_to.as_deref() == called(place)
    })
}

fn head(report: &DiagnosisReport) -> String {
    let Some(endpoint) = report.report.first() else { return "nothing".to_owned() };
    let span = endpoint.types.first().and_then(|kind| kind.spans.first());
    format!(
        "{} {} subspan {:?} comes first",
        endpoint.service,
        endpoint.operation,
        span.and_then(|span| span.subspan)
    )
}

fn tail_head(report: &DiagnosisReport) -> String {
    let first = report.tail.lists().next().and_then(|list| list.places.first());
    first.map_or("nothing".to_owned(), |first| {
        format!(
            "{} {} subspan {:?} {:?} comes first",
            first.service, first.operation, first.subspan, first.gap_to
        )
    })
}
