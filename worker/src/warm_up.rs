//! Warm-up: work on made-up traces before there is a file.
//!
//! A browser compiles wasm twice: first fast and badly, then well, but only what it has seen running. Until then
//! reading is two to three times slower. So while the page waits for a file, its first worker reads made-up traces and
//! runs the queries that follow every load. What the compiler makes of that is shared by all workers of the page.

use std::rc::Rc;

use super::Worker;
use super::pace::{StepClock, now_ms};
use pathlight_engine::queries;
use pathlight_engine::requests::Selection;
use pathlight_engine::run::Session;
use pathlight_generate::{GenerateOptions, write_jaeger};
use pathlight_ingest as ingest;
use pathlight_ingest::Reader;
use pathlight_trace::{PathSettings, TraceSet};

/// Traces that are read at a time, of some forty spans each.
const TRACES: u64 = 40;
/// Milliseconds of reading, which comes first, and then of queries, which the compiler sees running less often.
const READING_MS: f64 = 250.0;
const QUERIES_MS: f64 = 350.0;

/// Reads and runs queries for a while, in steps; ends with the first call of the page.
pub async fn warm_up(worker: Rc<Worker>) {
    let mut text = Vec::new();
    // Writing to a Vec cannot fail, and the options are our own.
    let _ =
        write_jaeger(&GenerateOptions { spans: 40, traces: TRACES, ..GenerateOptions::default() }, &mut text);
    let mut worked_ms = 0.0;
    let is_called = || worker.is_called.get();
    while worked_ms < READING_MS && !is_called() {
        let (began_ms, step) = (now_ms(), StepClock::begin());
        while !step.is_over() {
            read(&text);
        }
        worked_ms += now_ms() - began_ms;
        worker.pace.yield_now().await;
    }
    while worked_ms < READING_MS + QUERIES_MS && !is_called() {
        let mut session = Session::of(read(&text));
        for query in QUERIES {
            let began_ms = now_ms();
            query(&mut session);
            worked_ms += now_ms() - began_ms;
            worker.pace.yield_now().await;
            if is_called() {
                return;
            }
        }
    }
}

fn read(text: &[u8]) -> TraceSet {
    let mut set = TraceSet::new();
    let mut reader = Reader::new("", ingest::ReadOptions::default());
    // Errors are ignored: the first real file would meet them again, and then they are shown.
    let _ = reader.feed(text, &mut set);
    reader.finish(&mut set);
    let _ = set.seal();
    set
}

/// The queries of every view, and those of the first views.
const QUERIES: [fn(&mut Session); 6] = [
    |session| drop(session.run(queries::Overview::default())),
    |session| drop(session.run(queries::Range { selection: Selection::default() })),
    |session| drop(session.run(queries::CriticalPath { selection: Selection::default() })),
    |session| drop(session.run(queries::Findings { selection: Selection::default(), baseline: None })),
    |session| drop(session.run(queries::Endpoints { selection: Selection::default() })),
    |session| {
        if session.set.traces().is_empty() {
            return;
        }
        let of = queries::Trace {
            trace_id: session.set.trace_id_text(0),
            root_span_id: None,
            settings: PathSettings::default(),
            group: 0,
            has_pressures: false,
        };
        drop(session.run(of.clone()));
        drop(session.run(queries::Pressures { of }));
    },
];
