//! Training the auto-encoder: through the engine as the page does, and by itself.

use super::shared::{read, row};
use pathlight::engine::anomalies::paper::vae::{Training, VaeSettings};
use pathlight::engine::anomalies::paper::{FeaturePart, Features};
use pathlight::engine::anomalies::{AnomalySettings, Detector};
use pathlight::engine::flame::PathTable;
use pathlight::engine::queries;
use pathlight::engine::requests::{RootEndpoint, Selection};
use pathlight::engine::run::Session;
use pathlight::trace::PathSettings;
use std::fmt::Write as _;

/// Returns Jaeger JSON of requests with `columns` call paths, of which each has `present`, one after the other.
fn requests(requests: u64, columns: u64, present: u64) -> String {
    let mut out = String::from("{\"data\":[");
    for trace in 0..requests {
        let _ =
            write!(out, "{}{{\"traceID\":\"{:x}\",\"spans\":[", if trace > 0 { "," } else { "" }, trace + 1);
        let mut at = 1_700_000_000_000_000 + trace * 1_000_000;
        let start = at;
        let mut calls = String::new();
        for call in 0..present {
            let operation = (trace * 7 + call * columns.div_ceil(present)) % columns;
            let duration = 100 + (trace * 31 + operation * 17) % 97;
            let _ = write!(
                calls,
                ",{{\"traceID\":\"{:x}\",\"spanID\":\"{:x}\",\"operationName\":\"op{operation}\",\
                 \"references\":[{{\"refType\":\"CHILD_OF\",\"traceID\":\"{:x}\",\"spanID\":\"1\"}}],\
                 \"startTime\":{at},\"duration\":{duration},\"processID\":\"p\"}}",
                trace + 1,
                call + 2,
                trace + 1,
            );
            at += duration;
        }
        let _ = write!(
            out,
            "{{\"traceID\":\"{:x}\",\"spanID\":\"1\",\"operationName\":\"root\",\"references\":[],\
             \"startTime\":{start},\"duration\":{},\"processID\":\"p\"}}{calls}],\
             \"processes\":{{\"p\":{{\"serviceName\":\"s\"}}}}}}",
            trace + 1,
            at - start,
        );
    }
    out.push_str("]}");
    out
}

/// Trains a network of 500 hidden and 10 latent variables; three rows. `is_quick` trains a twentieth.
pub fn training(now_ms: &dyn Fn() -> f64, group: &str, budgets: bool, is_quick: bool) -> Vec<String> {
    let mut rows = Vec::new();
    let share = if is_quick { 20 } else { 1 };
    let train = |traces: u64, columns: u64, epochs: u32| -> f64 {
        let mut session = Session::of(read(requests(traces, columns - 1, 60).as_bytes()));
        let network = VaeSettings { epochs, ..VaeSettings::default() };
        let settings = AnomalySettings { detector: Detector::Vae(network), ..AnomalySettings::default() };
        let query =
            queries::AnomalyModel { train: Selection::default(), test: Selection::default(), settings };
        let start = now_ms();
        let model = session.run(query);
        let took_ms = now_ms() - start;
        assert!(model.is_ok());
        took_ms
    };
    let budget = |budget: &str| if budgets { budget.to_owned() } else { String::new() };
    let seconds = train(5_000 / share, 500, 20) / 1e3 * share as f64;
    rows.push(row(group, "5,000 requests of 500 call paths, 20 epochs", seconds, "s", &budget("< 60")));
    // Learning alone: without reading the requests, and without the likelihoods of all at the end.
    let set = read(requests(2_048 / share, 1_999, 60).as_bytes());
    let table = PathTable::build(&set, &RootEndpoint::TraceRoots, PathSettings::default());
    let all: Vec<u32> = (0..table.requests.len() as u32).collect();
    let features = Features::merge(vec![FeaturePart::observe(&set, &table, &all)]);
    for (flow, what) in [(10, "2000-500-10, ten steps of flow"), (0, "2000-500-10, no flow")] {
        let epochs = 4;
        let mut training = Training::new(&features, VaeSettings { flow, epochs, ..VaeSettings::default() });
        let start = now_ms();
        while training.progress().losses.len() < epochs as usize {
            training.step();
        }
        let rate = (training.learned() * epochs as usize) as f64 / (now_ms() - start) * 1e3;
        rows.push(row(group, what, rate, "requests/s", &budget("> 1800")));
    }
    rows
}
