//! Files for the bench of the page that `pathlight generate` does not make: many frames, many endpoints.

use e2e::failure::Outcome;
use serde_json::{Value, json};
use std::path::Path;

/// Returns a name of letters alone: numbers would make templates of names.
fn name(mut number: u32) -> String {
    let mut letters = String::new();
    loop {
        letters.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
        if number == 0 {
            return letters;
        }
    }
}

/// Returns a span of Jaeger JSON; parents come first.
fn span(trace: u32, id: u32, parent: Option<u32>, operation: &str, (start_us, us): (u64, u64)) -> Value {
    let parent = parent.map(|parent| {
        json!({ "refType": "CHILD_OF", "traceID": format!("{trace:x}"), "spanID": format!("{parent:x}") })
    });
    json!({
        "traceID": format!("{trace:x}"), "spanID": format!("{id:x}"), "operationName": operation, "processID": "p1",
        "references": parent.into_iter().collect::<Vec<Value>>(), "startTime": 1_700_000_000_000_000 + start_us,
        "duration": us, "tags": [], "logs": [],
    })
}

/// Writes traces unless they are there.
fn write(path: &Path, traces: impl Iterator<Item = (u32, Vec<Value>)>) -> Outcome {
    if path.is_file() {
        return Ok(());
    }
    let traces: Vec<Value> = traces
        .map(|(trace, spans)| {
            let processes = json!({ "p1": { "serviceName": "service", "tags": [] } });
            json!({ "traceID": format!("{trace:x}"), "spans": spans, "processes": processes })
        })
        .collect();
    Ok(std::fs::write(path, json!({ "data": traces }).to_string())?)
}

/// Writes one trace of calls one after the other that each make calls one after the other, all of other names.
pub fn tree(path: &Path, calls: u32, each: u32) -> Outcome {
    let us = 10 * u64::from(each);
    let mut spans = vec![span(1, 1, None, "root", (0, us * u64::from(calls)))];
    for call in 0..calls {
        let (id, start_us) = (2 + call * (each + 1), us * u64::from(call));
        spans.push(span(1, id, Some(1), &name(id), (start_us, us)));
        let inner = (0..each).map(|at| {
            let own = id + 1 + at;
            span(1, own, Some(id), &name(own), (start_us + 10 * u64::from(at), 10))
        });
        spans.extend(inner);
    }
    write(path, std::iter::once((1, spans)))
}

/// Writes requests that each call ten of the endpoints, one after the other.
pub fn requests(path: &Path, requests: u32, endpoints: u32) -> Outcome {
    let request = |trace: u32| {
        let calls = (0..10).map(|at| {
            let us = u64::from(50 + (trace * 31 + at * 977) % 200);
            span(trace, 2 + at, Some(1), &name((trace * 7 + at * 53) % endpoints), (300 * u64::from(at), us))
        });
        let root = span(trace, 1, None, "root", (0, 6000));
        (trace, std::iter::once(root).chain(calls).collect::<Vec<Value>>())
    };
    write(path, (1..=requests).map(request))
}
