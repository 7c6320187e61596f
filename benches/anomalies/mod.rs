//! Whether abnormal requests are found, and only they: the evaluation of the default detector on real traces, where they are
//! at hand, and on generated sets. Of several sets the worst counts.

use crate::shared::{read, row};
use pathlight::engine::anomalies::paper::Injection;
use pathlight::engine::anomalies::{AnomalySettings, Detector, EvaluationTable, SPLITS};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::Session;
use pathlight::generate::{GenerateOptions, write_jaeger};
use pathlight::ingest::{ReadOptions, Reader};
use pathlight::trace::TraceSet;
use std::io::{self, Error};
use std::path::Path;

/// Sets in the folder of real traces.
const SETS: [&str; 5] = [
    "traceweaver-hotel/hotel_load25.json.gz",
    "traceweaver-hotel/hotel_load100.json.gz",
    "traceweaver-media/media_load25.json.gz",
    "traceweaver-node/node_load25.json.gz",
    "traceweaver-node/node_load100.json.gz",
];
/// Seeds of the generated sets, and their traces.
const SEEDS: std::ops::RangeInclusive<u64> = 1..=5;
const TRACES: u64 = 1000;
/// Fewer training requests are shown, and not held to a rate.
const ENOUGH: f64 = 200.0;
/// Budgets: the injection, of real and of generated sets the least AUPRC, and of both the least share found.
const WANTED: [(Injection, &str, &str, &str); 4] = [
    (Injection::Recipe, "> 0.99", "> 0.99", "> 0.98"),
    (Injection::Structure, "> 0.97", "", ""),
    (Injection::Retry, "> 0.95", "> 0.93", ""),
    (Injection::Repeated, "> 0.95", "> 0.93", ""),
];

/// Evaluates; figures of each set are written to stderr.
pub fn run() -> io::Result<Vec<String>> {
    let mut real = Vec::new();
    if let Some(data) = std::env::var_os("PATHLIGHT_DATA") {
        for file in SETS {
            let path = Path::new(&data).join(file);
            if path.is_file() {
                real.push(evaluate(file, real_set(file, &std::fs::read(path)?)?)?);
            } else {
                eprintln!("skipped: there is no {file} in PATHLIGHT_DATA");
            }
        }
    }
    let mut generated = Vec::new();
    for seed in SEEDS {
        let mut text = Vec::new();
        write_jaeger(&GenerateOptions { traces: TRACES, seed, ..GenerateOptions::default() }, &mut text)?;
        generated.push(evaluate(&format!("seed {seed}"), read(&text))?);
    }
    let mut rows = Vec::new();
    for (kind, tables, is_real) in [("real", &real, true), ("generated", &generated, false)] {
        if tables.is_empty() {
            continue;
        }
        let kind = format!("{} {kind} sets, the worst", tables.len());
        for injection in Injection::ALL.into_iter().filter(|injection| injection.is_abnormal()) {
            accuracy(&kind, tables, injection, is_real, &mut rows);
        }
    }
    false_alarms(&[real, generated].concat(), &mut rows);
    Ok(rows)
}

fn real_set(name: &str, bytes: &[u8]) -> io::Result<TraceSet> {
    let mut set = TraceSet::new();
    let mut reader = Reader::new(name, ReadOptions::default());
    reader.feed(bytes, &mut set).map_err(Error::other)?;
    reader.finish(&mut set);
    set.seal().map_err(Error::other)?;
    Ok(set)
}

fn evaluate(name: &str, set: TraceSet) -> io::Result<EvaluationTable> {
    let (selection, settings) = (Selection::default(), AnomalySettings::default());
    let query = queries::AnomalyEvaluation { selection, seed: 1, splits: SPLITS, settings };
    let table = Session::of(set).run(query).map_err(Error::other)?;
    for row in table.rows.iter().filter(|row| row.detector == Detector::Tree) {
        let (accuracy, named) = (&row.accuracy, row.named.unwrap_or(f64::NAN));
        eprintln!(
            "{name}: {}, contaminated {}: {:.4} / {:.3} / {named:.2}",
            row.injection.name(),
            row.contaminated,
            accuracy.auprc,
            accuracy.recall
        );
    }
    eprintln!("{name}: {:?}", table.false_alarms);
    Ok(table)
}

/// Adds the least figures of some sets to `out`, a row each.
fn accuracy(
    kind: &str,
    tables: &[EvaluationTable],
    injection: Injection,
    is_real: bool,
    out: &mut Vec<String>,
) {
    let group = "Anomalies of injected causes";
    let wanted = WANTED.iter().find(|(which, ..)| *which == injection);
    let (real, generated, found) = wanted.map_or(("", "", ""), |&(_, a, b, c)| (a, b, c));
    for contaminated in [false, true] {
        let rows = || {
            let all = tables.iter().flat_map(|table| &table.rows);
            all.filter(move |row| {
                let is_it = (row.detector, row.injection) == (Detector::Tree, injection);
                is_it && row.accuracy.abnormal > 0 && (row.contaminated > 0.0) == contaminated
            })
        };
        let least = |figures: &mut dyn Iterator<Item = f64>| figures.fold(f64::NAN, f64::min);
        let clean = if contaminated { ", one in twenty of training abnormal" } else { "" };
        let what = format!("{kind}: {}{clean}", injection.name());
        let (auprc, recall) = (
            least(&mut rows().map(|row| row.accuracy.auprc)),
            least(&mut rows().map(|row| row.accuracy.recall)),
        );
        if auprc.is_nan() {
            continue;
        }
        let bar = if is_real { real } else { generated };
        let bars = if contaminated { ("", "") } else { (bar, found) };
        out.push(row(group, &format!("{what}: AUPRC"), auprc, "", bars.0));
        out.push(row(group, &format!("{what}: share found"), recall, "", bars.1));
        let named = least(&mut rows().filter_map(|row| row.named));
        if !named.is_nan() {
            out.push(row(group, &format!("{what}: first reason names the place"), named, "", ""));
        }
    }
}

/// Adds to `out` how many normal requests are called abnormal, as multiples of the accepted rate.
fn false_alarms(tables: &[EvaluationTable], out: &mut Vec<String>) {
    let group =
        format!("False alarms of anomalies, {} sets, mean of {SPLITS} halvings of each", tables.len());
    let all = || tables.iter().flat_map(|table| &table.false_alarms);
    let mut put = |what: &str, times: &[f64], budgets: (&str, &str)| {
        let mean = times.iter().sum::<f64>() / times.len() as f64;
        let greatest = times.iter().copied().fold(f64::NAN, f64::max);
        out.push(row(&group, &format!("{what}: mean"), mean, "times alpha", budgets.0));
        out.push(row(&group, &format!("{what}: of the worst set"), greatest, "times alpha", budgets.1));
    };
    let many: Vec<f64> =
        all().filter(|row| row.trained >= ENOUGH).map(|row| row.abnormal.mean / row.alpha).collect();
    put("half of a set to learn from", &many, ("< 1.5", "< 2.5"));
    for few in [20.0, 50.0, 100.0] {
        let rows: Vec<f64> =
            all().filter(|row| row.trained == few).map(|row| row.abnormal.mean / row.alpha).collect();
        put(&format!("{few} requests to learn from"), &rows, ("", ""));
    }
}
