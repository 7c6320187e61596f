//! Whether tprof names what is known to be slow: a delay at one place of generated traces (paper section 4.2, Fig. 6).
//!
//! The 20 most used places are delayed one at a time, each in traces of a seed of its own, by shares of the mean
//! latency of the same traces without the delay; and once more by the whole of it in 7 % of the traces only. A delay
//! counts as found where the first line of the report (or of the list of what makes the tail of all request types slow)
//! is its subspan.

use crate::shared::{read, row};
use pathlight::analysis::requests::Selection;
use pathlight::generate::{Generator, Inject, Options, Place, Shape, write_jaeger};
use pathlight::query::{Session, TprofReport, TprofSettings, queries};

/// Places, and seeds.
const CASES: usize = 20;
/// Of so many the true subspan has to come first.
const BAR: &str = "> 18";
const TRACES: u64 = 1000;
/// Delays of every trace, in thousandths of the mean latency.
const DELAYS: [u64; 5] = [50, 100, 200, 500, 1000];
/// The delay the bar holds for.
const HALF: u64 = 500;
/// Share of the traces with a rare delay.
const RARE: f64 = 0.07;

/// A row for each delay. What was not found is told on stderr.
pub fn run() -> std::io::Result<Vec<String>> {
    let options = |seed: usize, injects: Vec<Inject>| Options {
        traces: TRACES,
        shape: Shape::Mixed,
        seed: seed as u64,
        injects,
        ..Options::default()
    };
    let generator = |options: &Options| Generator::new(options).map_err(std::io::Error::other);
    let mut places = generator(&options(1, Vec::new()))?.places();
    places.truncate(CASES);
    let mut found_often = [0; DELAYS.len()];
    let (mut found_rare, mut rare_by_report) = (0, 0);
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
            if !is_first && permille >= HALF {
                eprintln!("{} in all, seed {seed}, {permille} permille: {}", place.name, head(&report));
            }
        }
        let report = with(1000, RARE)?;
        rare_by_report += usize::from(is_first_of_report(place, &report));
        let is_first = is_first_of_tail(place, &report);
        found_rare += usize::from(is_first);
        if !is_first {
            eprintln!("{} rarely, seed {seed}: {}", place.name, tail_head(&report));
        }
    }
    let put = |what: String, found: usize, budget: &str| {
        row("Diagnosis of injected delays", &what, found as f64, &format!("of {}", places.len()), budget)
    };
    let mut rows: Vec<String> = DELAYS
        .iter()
        .zip(found_often)
        .map(|(&permille, found)| {
            let what =
                format!("in every trace, {} x the mean latency: first in the report", permille as f64 / 1e3);
            put(what, found, if permille == HALF { BAR } else { "" })
        })
        .collect();
    let rare = "in 7 % of the traces, 1 x the mean latency: first in";
    rows.push(put(format!("{rare} the report"), rare_by_report, ""));
    rows.push(put(format!("{rare} the list of the tail"), found_rare, BAR));
    Ok(rows)
}

/// From the first start to the last end, without the work that nobody waits for where it comes last.
fn mean_latency_us(generator: &Generator) -> u64 {
    let traces = generator.options().traces;
    let sum: u64 = (0..traces).map(|index| generator.trace(index).spans[0].duration_us).sum();
    sum / traces.max(1)
}

fn tprof(options: &Options) -> std::io::Result<TprofReport> {
    let mut text = Vec::new();
    write_jaeger(options, &mut text)?;
    let mut session = Session::of(read(&text));
    let (selection, settings) = (Selection::default(), TprofSettings::default());
    let report = session.run(queries::Diagnosis { selection, settings });
    report.map_err(|error| std::io::Error::other(error.to_string()))
}

/// The called service of a gap, by the name of its place: `caller->called:operation gap`.
fn called(place: &Place) -> Option<&str> {
    if place.subspan.is_some() {
        return None;
    }
    Some(place.name.split_once("->")?.1.split_once(':')?.0)
}

/// A gap is the client span before its only child.
fn is_first_of_report(place: &Place, report: &TprofReport) -> bool {
    let Some(endpoint) = report.report.first() else { return false };
    let span = endpoint.types.first().and_then(|kind| kind.spans.first());
    endpoint.service == place.service
        && endpoint.operation == place.operation
        && span.is_some_and(|span| span.subspan == place.subspan.unwrap_or(0))
}

fn is_first_of_tail(place: &Place, report: &TprofReport) -> bool {
    let first = report.tail.lists().next().and_then(|list| list.places.first());
    first.is_some_and(|first| {
        first.service == place.service
            && first.operation == place.operation
            && first.subspan == place.subspan
            && first.gap_to.as_deref() == called(place)
    })
}

fn head(report: &TprofReport) -> String {
    let Some(endpoint) = report.report.first() else { return "nothing".to_owned() };
    let span = endpoint.types.first().and_then(|kind| kind.spans.first());
    format!(
        "{} {} subspan {:?} comes first",
        endpoint.service,
        endpoint.operation,
        span.map(|span| span.subspan)
    )
}

fn tail_head(report: &TprofReport) -> String {
    let first = report.tail.lists().next().and_then(|list| list.places.first());
    first.map_or("nothing".to_owned(), |first| {
        format!(
            "{} {} subspan {:?} {:?} comes first",
            first.service, first.operation, first.subspan, first.gap_to
        )
    })
}
