//! Where one more span would tell most.

use crate::common::stored::{loaded, read_generated};
use pathlight::engine::instrument::{InstrumentReport, InstrumentRow};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::generate::GenerateOptions;
use pathlight::view::instrument::{advice, headline, snippet};
use pathlight_trace::TraceSet;
use serde_json::{Value, json};

fn report(sets: Vec<TraceSet>) -> InstrumentReport {
    NativePool::of(sets).unwrap().run(queries::Instrument { selection: Selection::default() }).unwrap()
}

fn span(
    trace: u32,
    id: u32,
    parent: u32,
    (operation, from, to): (&str, u64, u64),
    tags: &[(&str, &str)],
) -> Value {
    let tags: Vec<Value> =
        tags.iter().map(|(key, value)| json!({"key": key, "type": "string", "value": value})).collect();
    let references = match parent {
        0 => json!([]),
        _ => {
            json!([{"refType": "CHILD_OF", "traceID": format!("{trace:x}"), "spanID": format!("{parent:x}")}])
        }
    };
    json!({
        "traceID": format!("{trace:x}"), "spanID": format!("{id:x}"), "operationName": operation, "references": references,
        "startTime": 1_700_000_000_000_000u64 + from, "duration": to - from, "tags": tags, "logs": [], "processID": "p",
    })
}

/// A request of 100 us: `cache get` from 10 to 20, a statement from 70 to 90, and perhaps a span between them.
fn cart(between: Option<(u64, u64)>) -> TraceSet {
    let mut spans = vec![
        span(1, 1, 0, ("GET /cart", 0, 100), &[("span.kind", "server")]),
        span(1, 2, 1, ("cache get", 10, 20), &[]),
        span(
            1,
            3,
            1,
            ("SELECT", 70, 90),
            &[("span.kind", "client"), ("db.system", "mysql"), ("db.name", "shop")],
        ),
    ];
    if let Some((from, to)) = between {
        spans.push(span(1, 4, 1, ("price", from, to), &[]));
    }
    let tags = json!([{"key": "telemetry.sdk.language", "type": "string", "value": "java"}]);
    let process = json!({"serviceName": "cart", "tags": tags});
    let text = json!({"data": [{"traceID": "1", "spans": spans, "processes": {"p": process}}]});
    loaded(text.to_string().as_bytes())
}

/// Operation, the calls before and after, what is called, time, and three hundred times the gain.
type Place = (String, Option<String>, Option<String>, Option<String>, f64, f64);

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-9
}

#[test]
fn the_longest_stretch_comes_first_with_what_a_span_there_tells() {
    let found = report(vec![cart(None)]);
    // Stretches of 10, 10, 50, 20 and 10 us: 3,200 / 100.
    assert!(close(found.unknown_us, 32.0), "{found:?}");
    let rows: Vec<_> = found
        .rows
        .iter()
        .map(|InstrumentRow { endpoint, previous, next, callee, gain_us, us, .. }| {
            let name = |of: &Option<pathlight_trace::Endpoint>| of.as_ref().map(|of| of.operation.clone());
            (
                endpoint.operation.clone(),
                name(previous),
                name(next),
                callee.clone(),
                *us,
                (gain_us * 300.0).round(),
            )
        })
        .collect();
    let some = |text: &str| Some(text.to_owned());
    let expected = [
        ("GET /cart".to_owned(), some("cache get"), some("SELECT"), None, 50.0, 2500.0),
        ("SELECT".to_owned(), None, None, some("mysql shop"), 20.0, 400.0),
        ("GET /cart".to_owned(), None, some("cache get"), None, 10.0, 100.0),
        ("GET /cart".to_owned(), some("SELECT"), None, None, 10.0, 100.0),
        ("cache get".to_owned(), None, None, None, 10.0, 100.0),
    ];
    let names = |rows: &[Place]| {
        let mut rows = rows.to_vec();
        rows[2..].sort_by(|a, b| a.partial_cmp(b).unwrap());
        rows
    };
    let strip = |name: Option<String>| name.map(|name| name.trim_end_matches(" -> mysql shop").to_owned());
    let rows: Vec<_> = (rows.into_iter())
        .map(|(a, b, c, d, us, gain)| (strip(Some(a)).unwrap(), strip(b), strip(c), d, us, gain))
        .collect();
    assert_eq!(names(&rows), names(&expected));
    let first = &found.rows[0];
    assert!(snippet(first).unwrap().starts_with("Span span = GlobalOpenTelemetry.getTracer(\"cart\")"));
    assert_eq!(snippet(&found.rows[1]), None);
    assert_eq!(advice(first), "cart is written in java. A span there:");
    assert!(
        headline(&found).to_text().contains("between \u{201c}cache get\u{201d} and"),
        "{}",
        headline(&found).to_text()
    );
}

#[test]
fn with_a_span_there_stretches_are_as_much_shorter_as_it_cuts_them() {
    let without = report(vec![cart(None)]);
    // In the middle, at a quarter, and at the very end, where it cuts off next to nothing.
    for ((from, to), expected) in [((20, 45), 19.5), ((20, 33), 22.38), ((69, 70), 31.02)] {
        let with = report(vec![cart(Some((from, to)))]);
        let lengths = [10.0, 10.0, (to - from) as f64, (70 - to + from - 20) as f64, 20.0, 10.0];
        let squares: f64 = lengths.iter().map(|us| us * us).sum();
        assert!(close(with.unknown_us, squares / 100.0), "{with:?}");
        assert!((with.unknown_us - expected).abs() < 0.01, "{}", with.unknown_us);
    }
    // On average over all points at which the span may end, it is what was promised.
    let unknown: Vec<f64> = (21..70u64).map(|to| report(vec![cart(Some((20, to)))]).unknown_us).collect();
    let mean = unknown.iter().sum::<f64>() / unknown.len() as f64;
    let promised = without.unknown_us - without.rows[0].gain_us;
    assert!((mean - promised).abs() < 0.2, "{mean} {promised}");
}

#[test]
fn places_and_the_network_are_all_of_the_latency_however_traces_are_spread() {
    let options = GenerateOptions { traces: 300, seed: 11, ..GenerateOptions::default() };
    let one = report(vec![read_generated(&options)]);
    let rows: f64 = one.rows.iter().map(|row| row.share).sum();
    assert!(one.places_in_all as usize == one.rows.len(), "some are not listed");
    assert!((rows + one.network_share - 1.0).abs() < 1e-9, "{rows} {}", one.network_share);
    let us: f64 = one.rows.iter().map(|row| row.us).sum();
    let mean_us = one.facts.latency_sum_us as f64 / one.facts.requests as f64;
    assert!((us / (1.0 - one.network_share) / mean_us - 1.0).abs() < 1e-9, "{us} {mean_us}");
    assert!(one.rows.windows(2).all(|pair| pair[0].gain_us >= pair[1].gain_us));
}
