//! `cargo run -p e2e -- jaeger`: the stand-in for Jaeger, started by hand.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use e2e::failure::{Failure, Outcome, fail};
use e2e::jaeger::{Jaeger, Ways};
use e2e::process::pathlight;
use serde_json::{Value, json};

/// The help.
pub const USAGE: &str = "\
jaeger [OPTION VALUE]...   a stand-in for Jaeger and its UI with 30 traces, until it is interrupted; to try docs/jaeger-ui.md
    --port PORT (16686)   --version 1.76|2.20|HEAD (HEAD)   --base-path PATH   --ui-config FILE (.json or .js)";

/// Reads the command line and serves.
pub async fn run(arguments: &[String]) -> Outcome {
    let (mut port, mut version, mut base, mut config) = (16686, "HEAD", "", "null".to_owned());
    for pair in arguments.chunks(2) {
        let [option, value] = pair else { return fail(format!("usage: {USAGE}")) };
        match option.as_str() {
            "--port" => port = value.parse().map_err(|_| Failure(format!("{value} is no port")))?,
            "--version" => version = value,
            "--base-path" => base = value.trim_end_matches('/'),
            "--ui-config" => config = std::fs::read_to_string(value)?,
            _ => return fail(format!("usage: {USAGE}")),
        }
    }
    let traces = pathlight(&["generate", "--traces", "30", "--spans", "20", "--seed", "6"])?;
    let mut traces: Value = serde_json::from_slice(&traces)?;
    bring_up_to_now(&mut traces);
    let jaeger = Jaeger::start_at(port, &traces, Ways::of(version, base, &config))?;
    println!("{}{base}/search?service=edge-gateway", jaeger.url);
    loop {
        tokio::time::sleep(Duration::from_secs(3600)).await;
    }
}

/// Moves traces as a whole, so that the last span begins a minute ago and the search of the last hour finds them.
fn bring_up_to_now(document: &mut Value) {
    let starts = |document: &Value| -> Vec<u64> {
        let traces = document["data"].as_array().into_iter().flatten();
        traces.flat_map(e2e::jaeger::spans).filter_map(|(_, span)| span["startTime"].as_u64()).collect()
    };
    let last = starts(document).into_iter().max().unwrap_or_default();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_micros() as u64;
    let later = now.saturating_sub(60_000_000).saturating_sub(last);
    for trace in document["data"].as_array_mut().into_iter().flatten() {
        for span in trace["spans"].as_array_mut().into_iter().flatten() {
            span["startTime"] = json!(span["startTime"].as_u64().unwrap_or_default() + later);
        }
    }
}
