//! Warm-up: work on made-up traces before there is a file.
//!
//! A browser compiles wasm twice: first fast and badly, then well, but only what it has seen running. Until then
//! reading is two to three times slower. So while the page waits for a file, its first worker reads made-up traces and
//! runs the queries that follow every load. What the compiler makes of that is shared by all workers of the page.

use std::fmt::Write as _;
use std::rc::Rc;

use super::Worker;
use super::pace::{Step, now_ms};
use pathlight_analysis::requests::{PathSettings, Selection};
use pathlight_ingest::{Options, Reader};
use pathlight_model::trace::TraceSet;
use pathlight_query::{Session, queries};

/// Spans per made-up trace, and traces that are read at a time.
const SPANS: u32 = 40;
const TRACES: u32 = 25;
/// Milliseconds of work in all.
const WARM_UP_MS: f64 = 250.0;

/// Reads and runs queries for a while, in steps; ends with the first call of the page.
pub async fn warm_up(worker: Rc<Worker>) {
    let text = text();
    let mut worked_ms = 0.0;
    let mut has_queried = false;
    while worked_ms < WARM_UP_MS && !worker.is_called.get() {
        let (began_ms, step) = (now_ms(), Step::begin());
        while !step.is_over() {
            let set = read(&text);
            if !std::mem::replace(&mut has_queried, true) {
                query(set);
            }
        }
        worked_ms += now_ms() - began_ms;
        worker.pace.yield_now().await;
    }
}

fn read(text: &str) -> TraceSet {
    let mut set = TraceSet::new();
    let mut reader = Reader::new("", Options::default());
    // Errors are ignored: the first real file would meet them again, and then they are shown.
    let _ = reader.feed(text.as_bytes(), &mut set);
    reader.finish(&mut set);
    let _ = set.seal();
    set
}

/// Runs the queries of every view, and those of the first views.
fn query(set: TraceSet) {
    let mut session = Session::of(set);
    let selection = Selection::default();
    let _ = session.run(queries::Overview::default());
    let _ = session.run(queries::Range { selection: selection.clone() });
    let _ = session.run(queries::CriticalPath { selection: selection.clone() });
    let _ = session.run(queries::Endpoints { selection });
    let of = queries::Trace {
        trace_id: format!("{:032x}", 1),
        root_span_id: None,
        settings: PathSettings::default(),
        group: 0,
        has_pressures: false,
    };
    let _ = session.run(of.clone());
    let _ = session.run(queries::Pressures { of });
}

/// Returns the traces as Jaeger exports them: every span calls the next two.
fn text() -> String {
    let mut text = "{\"data\":[".to_owned();
    for trace in 1..=TRACES {
        // Writing to a String cannot fail.
        let _ =
            write!(text, "{}{{\"traceID\":\"{trace:032x}\",\"spans\":[", if trace == 1 { "" } else { "," });
        for span in 1..=SPANS {
            let (comma, operation, process) = (if span == 1 { "" } else { "," }, span % 7, span % 3);
            let (start_us, duration_us) = (1_700_000_000_000_000 + u64::from(span) * 10, 1000 / span);
            let _ = write!(
                text,
                "{comma}{{\"traceID\":\"{trace:032x}\",\"spanID\":\"{span:016x}\",\"flags\":1,\
                 \"operationName\":\"operation {operation}\",\"references\":["
            );
            if span > 1 {
                let parent = span / 2;
                let _ = write!(
                    text,
                    "{{\"refType\":\"CHILD_OF\",\"traceID\":\"{trace:032x}\",\"spanID\":\"{parent:016x}\"}}"
                );
            }
            let _ = write!(
                text,
                "],\"startTime\":{start_us},\"duration\":{duration_us},\"tags\":[\
                 {{\"key\":\"span.kind\",\"type\":\"string\",\"value\":\"server\"}},\
                 {{\"key\":\"http.status_code\",\"type\":\"int64\",\"value\":200}},\
                 {{\"key\":\"cache.hit\",\"type\":\"bool\",\"value\":true}}],\
                 \"logs\":[],\"processID\":\"p{process}\",\"warnings\":null}}"
            );
        }
        text.push_str("],\"processes\":{");
        for process in 0..3 {
            let comma = if process == 0 { "" } else { "," };
            let _ =
                write!(text, "{comma}\"p{process}\":{{\"serviceName\":\"service {process}\",\"tags\":[]}}");
        }
        text.push_str("},\"warnings\":null}");
    }
    text.push_str("]}");
    text
}
