//! Queries and rows of the result, for the native bench and the one in a browser's worker.
#![allow(dead_code, reason = "each half uses a part of it")]

use pathlight::engine::anomalies::AnomalySettings;
use pathlight::engine::diagnosis::DiagnosisSettings;
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{Changes, LatencyChange};
use pathlight::engine::heatmap::ColumnOrder;
use pathlight::engine::queries::{self, Query};
use pathlight::engine::requests::{Filter, PercentileRange, RootEndpoint, Selection};
use pathlight::engine::run::Session;
use pathlight::engine::split::SplitOf;
use pathlight::ingest::{ReadOptions, Reader};
use pathlight::trace::{Endpoint, TraceSet};
use std::hint::black_box;

/// Bytes fed at a time, as a browser's stream does.
pub const CHUNK: usize = 256 << 10;

/// Returns a line that `cargo xtask bench` understands. `budget` is like `< 300` or `> 2`, or empty.
pub fn row(group: &str, what: &str, value: f64, unit: &str, budget: &str) -> String {
    format!("bench\t{group}\t{what}\t{value}\t{unit}\t{budget}")
}

/// Reads a text into a sealed set.
pub fn read(bytes: &[u8]) -> TraceSet {
    let mut set = TraceSet::new();
    let mut reader = Reader::new("bench.json", ReadOptions::default());
    for chunk in bytes.chunks(CHUNK) {
        if reader.feed(chunk, &mut set).is_err() {
            break;
        }
    }
    reader.finish(&mut set);
    // A set that is full keeps what it has.
    let _ = set.seal();
    set
}

/// Returns the middle of some figures.
pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_unstable_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// Returns the slope of a line through points on logarithmic axes: how a cost grows with a size.
pub fn exponent(points: &[(f64, f64)]) -> f64 {
    let logs: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (x.ln(), y.ln())).collect();
    let n = logs.len() as f64;
    let mean = |pick: fn(&(f64, f64)) -> f64| logs.iter().map(pick).sum::<f64>() / n;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let covariance: f64 = logs.iter().map(|(x, y)| (x - mx) * (y - my)).sum();
    covariance / logs.iter().map(|(x, _)| (x - mx).powi(2)).sum::<f64>()
}

/// Returns the milliseconds that a query takes; `now_ms` is a clock.
fn timed(session: &mut Session, now_ms: &dyn Fn() -> f64, query: impl Query) -> f64 {
    let start = now_ms();
    let _ = black_box(session.run(query));
    now_ms() - start
}

/// Runs every query that a page would over a million spans, with the budgets that hold in a browser; one row a query.
pub fn analyses(set: TraceSet, now_ms: &dyn Fn() -> f64, group: &str, budgets: bool) -> Vec<String> {
    let mut rows = Vec::new();
    let mut session = Session::of(set);
    let session = &mut session;
    let mut put = |what: &str, ms: f64, budget_ms: f64| {
        let budget = if budgets { format!("< {budget_ms}") } else { String::new() };
        rows.push(row(group, what, ms, "ms", &budget));
    };
    let Ok(overview) = session.run(queries::Overview::default()) else { return rows };
    let all = Selection::default();
    let of = |selection: &Selection, range: PercentileRange| queries::CriticalPath {
        selection: selection.with_range(range),
    };
    let range = |lo: u32, hi: u32| PercentileRange::open(lo * 1000, hi * 1000);
    put("first aggregate", timed(session, now_ms, of(&all, PercentileRange::ALL)), 2000.0);
    let ranges = [range(95, 99), range(50, 95), range(0, 50)];
    put(
        "change of percentile range",
        median(ranges.map(|b| timed(session, now_ms, of(&all, b))).into()),
        300.0,
    );
    let filters = [
        Filter::HasError,
        Filter::Tag { key: "region".to_owned(), value: "eu-west-1".to_owned() },
        Filter::Tag { key: "region".to_owned(), value: "us-east-1".to_owned() },
    ];
    let filtered = filters.map(|filter| Selection { filters: vec![filter], ..all.clone() });
    put(
        "change of filter",
        median(filtered.map(|s| timed(session, now_ms, of(&s, PercentileRange::ALL))).into()),
        300.0,
    );
    let mut endpoints = overview.endpoints.clone();
    endpoints.sort_by_key(|endpoint| std::cmp::Reverse(endpoint.spans));
    let selection_of = |service: &str, operation: &str| Selection {
        root: RootEndpoint::Endpoint(Endpoint::new(service, operation)),
        ..all.clone()
    };
    let roots = endpoints.iter().take(3).map(|e| selection_of(&e.service, &e.operation));
    let changes =
        roots.map(|selection| timed(session, now_ms, of(&selection, PercentileRange::ALL))).collect();
    put("change of endpoint", median(changes), 300.0);
    let mut put_median = |what: &str, rounds: [f64; 3]| put(what, median(rounds.into()), 500.0);
    let heatmap = queries::Heatmap { selection: all.clone(), columns: 2000, order: ColumnOrder::Latency };
    put_median("heat map", [(); 3].map(|()| timed(session, now_ms, heatmap.clone())));
    let bottom_up = queries::Impact { selection: all.clone() };
    put_median("bottom-up", [(); 3].map(|()| timed(session, now_ms, bottom_up.clone())));
    let histograms = queries::Histograms { selection: all.clone() };
    put_median("histograms", [(); 3].map(|()| timed(session, now_ms, histograms.clone())));
    let split =
        queries::Split { selection: all.clone(), of: SplitOf::Latency, key: "region".to_owned(), sum: None };
    put_median("split by a tag", [(); 3].map(|()| timed(session, now_ms, split.clone())));
    let endpoints = queries::Endpoints { selection: all.clone() };
    put_median("endpoints", [(); 3].map(|()| timed(session, now_ms, endpoints.clone())));
    put(
        "compare two percentile ranges",
        timed(
            session,
            now_ms,
            queries::Compare { a: all.with_range(range(0, 50)), b: all.with_range(range(95, 100)) },
        ),
        500.0,
    );
    let settings = FlowSettings::default();
    if let Ok(parents) = session.run(queries::FlowParents { selection: all.clone() })
        && let Some(parent) = parents.iter().max_by_key(|parent| parent.invocations)
    {
        let selection = selection_of(&parent.service, &parent.operation);
        let flow = queries::Flow { selection: selection.clone(), parent: None, settings };
        put("execution flow of one parent", timed(session, now_ms, flow), 300.0);
        let evaluation = queries::FlowEvaluation { selection, settings, min_children: 2 };
        put("its evaluation", timed(session, now_ms, evaluation), 2000.0);
    }
    let tprof = queries::Diagnosis { selection: all.clone(), settings: DiagnosisSettings::default() };
    put("tprof, four layers and report", timed(session, now_ms, tprof), 2000.0);
    let rule =
        queries::Anomalies { train: all.clone(), test: all.clone(), settings: AnomalySettings::default() };
    put("abnormal requests: train and judge", timed(session, now_ms, rule), 3000.0);
    // The later half by the earlier: ten thousand requests each.
    let middle_us = overview.start_us / 2 + overview.end_us / 2;
    let [mut train, mut test] = [all.clone(), all.clone()];
    train.filters.push(Filter::Time { from_us: 0, to_us: middle_us });
    test.filters.push(Filter::Time { from_us: middle_us, to_us: u64::MAX });
    let halves = queries::Anomalies { train, test, settings: AnomalySettings::default() };
    put("abnormal requests: learn from one half, judge the other", timed(session, now_ms, halves), 3000.0);
    let findings = queries::Findings { selection: all.clone(), baseline: None };
    let first = timed(session, now_ms, findings.clone());
    put("findings: the first", first, 1000.0);
    if let Ok(report) = session.run(findings) {
        let tags = timed(session, now_ms, queries::Tags { selection: all.clone() });
        let late = timed(session, now_ms, queries::LateFindingsQuery::of(all, None, &report));
        put("findings: tags", tags, 1000.0);
        put("findings: all of them", first + tags + late, 5000.0);
    }
    rows
}

/// Learns from all requests of a set and judges them: one row.
pub fn abnormal(set: TraceSet, now_ms: &dyn Fn() -> f64, group: &str) -> String {
    let mut session = Session::of(set);
    let all = Selection::default();
    // Names and paths are known by the time that somebody asks.
    let _ = session.run(queries::CriticalPath { selection: all.clone() });
    let query = queries::Anomalies { train: all.clone(), test: all, settings: AnomalySettings::default() };
    row(group, "one worker: train and judge", timed(&mut session, now_ms, query), "ms", "< 3000")
}

/// Measures what-if over all requests of a smaller set: asked for the first time, and again as a slider moves.
pub fn what_if(set: TraceSet, now_ms: &dyn Fn() -> f64, group: &str, budgets: bool) -> Vec<String> {
    let mut session = Session::of(set);
    let Ok(parents) = session.run(queries::FlowParents { selection: Selection::default() }) else {
        return Vec::new();
    };
    let Some(parent) = parents.iter().max_by_key(|parent| parent.invocations) else { return Vec::new() };
    let query = |percent: i64| queries::WhatIf {
        selection: Selection::default(),
        baseline: None,
        settings: FlowSettings::default(),
        changes: Changes {
            latencies: vec![LatencyChange {
                of: Default::default(),
                service: parent.service.clone(),
                operation: parent.operation.clone(),
                share_ppm: -10_000 * percent,
                add_us: 0,
            }],
            ..Changes::default()
        },
    };
    let budget = if budgets { "< 200" } else { "" };
    let first = timed(&mut session, now_ms, query(50));
    let moved = median([40, 30, 20].map(|percent| timed(&mut session, now_ms, query(percent))).into());
    vec![
        row(group, "what-if asked first, 100,000 spans", first, "ms", ""),
        row(group, "what-if as a slider moves, 100,000 spans", moved, "ms", budget),
    ]
}
