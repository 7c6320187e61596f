//! The figures of the CRISP paper, on the sets there are: how many traces suffice for the endpoints that matter (section 7.1),
//! and its Table 2 (features, training and inference by the auto-encoder) over public traces, where they are at hand.

use crate::shared::{median, read, row};
use pathlight::engine::anomalies::paper::FeatureEncoding;
use pathlight::engine::anomalies::paper::vae::VaeSettings;
use pathlight::engine::anomalies::{AnomalySettings, Detector, EvaluationRow};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::Session;
use pathlight::generate::{GenerateOptions, Generator, Shape, trace_json};
use pathlight::ingest::{ReadOptions, Reader};
use pathlight::trace::TraceSet;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Error;

/// Endpoints that are compared.
const TOP: usize = 20;
/// Requests of the largest sample, and of the other that all are compared with.
const MOST: u64 = 100_000;
/// Requests of a sample, and how many samples of that size.
const SAMPLES: [(u64, u64); 4] = [(100, 20), (1000, 20), (10_000, 10), (MOST, 1)];
/// Requests read at once.
const CHUNK: u64 = 2000;

/// Sets in the folder of real traces.
const SETS: [(&str, &str); 6] = [
    ("media", "traceweaver-media/media_load25.json.gz"),
    ("hotel, load 25", "traceweaver-hotel/hotel_load25.json.gz"),
    ("hotel, load 100", "traceweaver-hotel/hotel_load100.json.gz"),
    ("node, load 25", "traceweaver-node/node_load25.json.gz"),
    ("node, load 100", "traceweaver-node/node_load100.json.gz"),
    ("node, file I/O", "traceweaver-node-fileio/node_0.json.gz"),
];

/// Returns the rows of one part or of both.
pub fn run(part: Option<&str>) -> std::io::Result<Vec<String>> {
    let mut rows = Vec::new();
    if part.is_none_or(|part| part == "samples") {
        rows.extend(samples()?);
    }
    if part.is_none_or(|part| part == "features") {
        rows.extend(features()?);
    }
    Ok(rows)
}

/// Time on the critical path by endpoint.
type Times = BTreeMap<(String, String), u128>;

/// Measures how much the endpoints with the most time on the critical path are those of other requests of the same
/// load.
fn samples() -> std::io::Result<Vec<String>> {
    let group = "How many traces suffice (CRISP 7.1)";
    let reference = top(&sums(2, 0..MOST)?);
    // In parts, of which samples are put together.
    let least = SAMPLES[0].0;
    let fine: Vec<Times> = (0..SAMPLES[1].0 * SAMPLES[1].1 / least)
        .map(|at| sums(1, at * least..(at + 1) * least))
        .collect::<Result<_, _>>()?;
    let whole = fine.len() as u64 * least;
    let coarse: Vec<Times> = (whole..MOST)
        .step_by(10_000)
        .map(|from| sums(1, from..MOST.min(from + 10_000)))
        .collect::<Result<_, _>>()?;
    let mut rows = Vec::new();
    for (requests, count) in SAMPLES {
        let overlaps = (0..count).map(|sample| {
            let from = sample * requests;
            let parts: Vec<&Times> = if from + requests <= whole {
                fine[(from / least) as usize..((from + requests) / least) as usize].iter().collect()
            } else if requests == MOST {
                fine.iter().chain(&coarse).collect()
            } else {
                coarse.get((sample - whole / requests) as usize).into_iter().collect()
            };
            let mut sum = Times::new();
            for (name, us) in parts.into_iter().flatten() {
                *sum.entry(name.clone()).or_default() += us;
            }
            top(&sum).intersection(&reference).count() as f64
        });
        let overlaps: Vec<f64> = overlaps.collect();
        let least = overlaps.iter().copied().fold(f64::INFINITY, f64::min);
        let what = format!(
            "{requests} requests: of the first {TOP} endpoints on the critical path those of 100,000 others"
        );
        let of = format!("of {TOP}");
        rows.push(row(group, &format!("{what}, median of {count} samples"), median(overlaps), &of, ""));
        rows.push(row(group, &format!("{what}, fewest"), least, &of, ""));
    }
    Ok(rows)
}

fn top(times: &Times) -> BTreeSet<(String, String)> {
    let mut rows: Vec<_> = times.iter().collect();
    rows.sort_by(|a, b| b.1.cmp(a.1).then_with(|| a.0.cmp(b.0)));
    rows.into_iter().take(TOP).map(|row| row.0.clone()).collect()
}

/// Sums the time of each endpoint on the critical path over these requests of the shop, in microseconds.
fn sums(seed: u64, requests: std::ops::Range<u64>) -> std::io::Result<Times> {
    let options = GenerateOptions { traces: MOST, shape: Shape::Mixed, seed, ..GenerateOptions::default() };
    let generator = Generator::new(&options).map_err(Error::other)?;
    let mut out = Times::new();
    for from in requests.clone().step_by(CHUNK as usize) {
        let texts: Vec<String> =
            (from..requests.end.min(from + CHUNK)).map(|index| trace_json(&generator.trace(index))).collect();
        let mut session = Session::of(read(format!("{{\"data\":[{}]}}", texts.join(",")).as_bytes()));
        let report = session.run(queries::Impact { selection: Selection::default() }).map_err(failed)?;
        for found in &report.rows {
            let (service, operation) = report.name(found.endpoint);
            *out.entry((service.to_owned(), operation.to_owned())).or_default() += found.exclusive_us;
        }
    }
    Ok(out)
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::other(error.to_string())
}

/// Measures the columns of Table 2: endpoints, the largest trace, call paths of whole trees and of critical paths, and
/// the times of the auto-encoder on each.
fn features() -> std::io::Result<Vec<String>> {
    let group = "Auto-encoder on public traces (CRISP, Table 2)";
    let data = std::env::var("PATHLIGHT_DATA").unwrap_or_else(|_| "../shared/data".to_owned());
    let mut rows = Vec::new();
    for (name, file) in SETS {
        let path = std::path::Path::new(&data).join(file);
        if !path.is_file() {
            eprintln!("skipped: {name}, as there is no {file} in PATHLIGHT_DATA");
            continue;
        }
        let mut set = TraceSet::new();
        let mut reader = Reader::new(file, ReadOptions::default());
        reader.feed(&std::fs::read(path)?, &mut set).map_err(failed)?;
        reader.finish(&mut set);
        set.seal().map_err(failed)?;
        let mut put = |what: &str, value: f64, unit: &str| {
            rows.push(row(group, &format!("{name}: {what}"), value, unit, ""));
        };
        put("unique endpoints", set.endpoints().len() as f64, "");
        put("largest trace", set.traces().iter().map(|trace| trace.len()).max().unwrap_or(0) as f64, "spans");
        let settings =
            AnomalySettings { detector: Detector::Vae(VaeSettings::default()), ..AnomalySettings::default() };
        let query =
            queries::AnomalyEvaluation { selection: Selection::default(), seed: 1, splits: 0, settings };
        let table = Session::of(set).run(query).map_err(failed)?;
        put("requests to learn from", table.trained as f64, "");
        for (encoding, what) in
            [(FeatureEncoding::Stv, "whole trees (STV)"), (FeatureEncoding::Scpv, "critical paths (SCPV)")]
        {
            let is_it = |found: &&EvaluationRow| {
                matches!(found.detector, Detector::Vae(_)) && found.encoding == Some(encoding)
            };
            let Some(found) = table.rows.iter().find(is_it) else { continue };
            put(&format!("call paths, {what}"), found.features as f64, "");
            if let Some(ms) = found.train_ms {
                put(&format!("training, {what}"), ms / 1e3, "s");
            }
            if let Some(ms) = found.score_ms {
                let thousand = ms * 1000.0 / table.held_out.max(1) as f64;
                put(&format!("inference of 1,000 requests, {what}"), thousand, "ms");
            }
        }
    }
    Ok(rows)
}
