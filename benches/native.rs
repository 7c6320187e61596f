//! The native half of `cargo xtask bench`: one JSON line a measurement.
//!
//! `native FILE...` reads each file from memory on one thread, then answers the questions a page would ask. Figures are
//! medians of the rounds that fit into about two seconds; ratios between lines of one run are what counts.

#[cfg(not(target_arch = "wasm32"))]
fn main() {
    bench::run();
}

#[cfg(target_arch = "wasm32")]
fn main() {}

#[cfg(not(target_arch = "wasm32"))]
mod bench {
    use pathlight::chart::heatmap::{self, HeatModel, HeatSize, HeatView};
    use pathlight::chart::text::Advances;
    use pathlight::chart::{Metrics, Theme, Window};
    use pathlight::critical_path::{
        Band, EndpointRow, EndpointsReport, Filter, HeatmapReport, Scope, Subject,
    };
    use pathlight::engine::native::Pool;
    use pathlight::engine::{Changes, FlowSettings, LatencyChange, Report, Request};
    use pathlight::ingest::{Options, Reader};
    use pathlight::trace::TraceSet;
    use std::hint::black_box;
    use std::time::{Duration, Instant};

    /// Bytes fed at a time, as a browser's stream does.
    const CHUNK: usize = 256 << 10;
    const ENOUGH: Duration = Duration::from_secs(2);

    pub fn run() {
        heat_map();
        for path in std::env::args().skip(1).filter(|argument| !argument.starts_with("--")) {
            match std::fs::read(&path) {
                Ok(bytes) => file(&path, &bytes),
                Err(error) => eprintln!("{path}: {error}"),
            }
        }
    }

    /// A frame of a heat map of 1,000 endpoints and 10,000 requests, 100 endpoints in each: what a canvas of 1400 by 700
    /// pixels takes to lay out and to colour.
    fn heat_map() {
        let (rows, columns) = (1000u32, 10_000u32);
        let mut report = HeatmapReport {
            rows: EndpointsReport {
                endpoints: (0..rows)
                    .map(|row| (format!("service {}", row % 40), format!("op {row}")))
                    .collect(),
                rows: vec![EndpointRow::default(); rows as usize],
                ..EndpointsReport::default()
            },
            column_requests: vec![1; columns as usize],
            column_latency_us: (0..u64::from(columns)).map(|column| 1000 + column).collect(),
            ..HeatmapReport::default()
        };
        for column in 0..columns {
            for cell in 0..100 {
                report.cell_row.push(cell * 10 + (column * 7 + cell) % 10);
                report.cell_us.push(10);
                report.cell_share_ppm.push((column * 31 + cell * 977) % 20_000);
            }
            report.column_ends.push(report.cell_row.len() as u32);
        }
        let model = HeatModel::new(&report);
        let order: Vec<u32> = (0..rows).collect();
        let size = HeatSize { width: 1400, height: 700, metrics: Metrics::default() };
        let theme = Theme::light();
        for (what, window) in
            [("all columns", Window::full(u64::from(columns))), ("300 columns", Window::of(2000, 2300))]
        {
            let view = HeatView { order: &order, window, scroll_px: 4000, step_px: 1, selected: None };
            let seconds = measure(|| {
                let layout = heatmap::layout(&model, &view, size, &mut Advances { font_px: 12.0 });
                heatmap::raster(&layout, &theme)
            });
            print("1000 x 10000", &format!("heat map frame, {what}"), seconds, serde_json::json!({}));
        }
        print("1000 x 10000", "heat map model", measure(|| HeatModel::new(&report)), serde_json::json!({}));
    }

    fn read(bytes: &[u8]) -> TraceSet {
        let mut set = TraceSet::new();
        let mut reader = Reader::new("bench.json", Options::default());
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

    /// Median seconds of some rounds.
    fn measure<T>(mut work: impl FnMut() -> T) -> f64 {
        let (mut rounds, begun) = (Vec::new(), Instant::now());
        while rounds.is_empty() || begun.elapsed() < ENOUGH && rounds.len() < 21 {
            let start = Instant::now();
            black_box(work());
            rounds.push(start.elapsed());
        }
        rounds.sort_unstable();
        rounds[rounds.len() / 2].as_secs_f64()
    }

    fn print(file: &str, what: &str, seconds: f64, more: serde_json::Value) {
        let mut line = serde_json::json!({ "file": file, "what": what, "seconds": seconds });
        if let (Some(line), Some(more)) = (line.as_object_mut(), more.as_object()) {
            line.extend(more.clone());
        }
        println!("{line}");
    }

    fn file(path: &str, bytes: &[u8]) {
        let seconds = measure(|| read(bytes));
        let set = read(bytes);
        let (spans, traces, heap) = (set.spans(), set.traces().len(), set.heap_bytes());
        let facts = serde_json::json!({
            "bytes": bytes.len(), "spans": spans, "traces": traces,
            "mb_per_s": bytes.len() as f64 / 1e6 / seconds, "heap_per_span": heap as f64 / spans.max(1) as f64,
        });
        print(path, "ingest", seconds, facts);
        drop(set);
        let nothing = || serde_json::json!({});
        let scope = Scope::default();
        let all = Request::CriticalPath { scope: scope.clone(), band: Band::ALL };
        let whole = measure(|| {
            let mut pool = Pool::of(vec![read(bytes)]).ok()?;
            pool.ask(all.clone()).ok()
        });
        let facts = serde_json::json!({ "mb_per_s": bytes.len() as f64 / 1e6 / whole });
        print(path, "critical-path from text", whole, facts);
        let Ok(mut pool) = Pool::of(vec![read(bytes)]) else { return };
        let first = Instant::now();
        let _ = black_box(pool.ask(all.clone()));
        print(path, "critical-path of a new subject", first.elapsed().as_secs_f64(), nothing());
        let slow = Request::CriticalPath {
            scope: scope.clone(),
            band: Band { lo: 95_000, hi: 99_000, closed: false },
        };
        // Asked in turn, since a question asked twice could be remembered.
        let questions = [("critical-path, all", all), ("critical-path, band 95-99", slow)];
        for (what, request) in questions {
            print(path, what, measure(|| pool.ask(request.clone()).ok()), nothing());
        }
        let filters = [
            ("filter by error", Filter::HasError),
            ("filter by tag", Filter::Tag { key: "region".to_owned(), value: "eu-west-1".to_owned() }),
        ];
        for (what, filter) in filters {
            let scope = Scope { filters: vec![filter], ..scope.clone() };
            let request = Request::CriticalPath { scope, band: Band::ALL };
            let other = Request::CriticalPath { scope: Scope::default(), band: Band::ALL };
            let seconds = measure(|| pool.ask(request.clone()).ok())
                .max(measure(|| (pool.ask(other.clone()).ok(), pool.ask(request.clone()).ok())) / 2.0);
            print(path, what, seconds, nothing());
        }
        let settings = FlowSettings::default();
        let Ok(Report::FlowParents(parents)) = pool.ask(Request::FlowParents { scope: scope.clone() }) else {
            return;
        };
        let Some(most) = parents.iter().max_by_key(|parent| parent.invocations) else { return };
        let (service, operation) = (most.service.clone(), most.operation.clone());
        let faster = LatencyChange {
            service: service.clone(),
            operation: operation.clone(),
            share_ppm: -500_000,
            add_us: 0,
        };
        let parent = Scope { subject: Subject::Endpoint { service, operation }, ..scope.clone() };
        let changes = Changes { latencies: vec![faster], parallel: Vec::new() };
        let flows = [
            ("flow of the most frequent parent", Request::Flow { scope: parent.clone(), settings }),
            ("its evaluation", Request::FlowEvaluation { scope: parent, settings, min_children: 2 }),
            ("what-if", Request::WhatIf { scope: scope.clone(), settings, changes }),
            ("savings", Request::Savings { scope: scope.clone(), settings }),
        ];
        for (what, request) in flows {
            print(path, what, measure(|| pool.ask(request.clone()).ok()), nothing());
        }
        print(path, "overview", measure(|| pool.ask(Request::Overview).ok()), nothing());
    }
}
