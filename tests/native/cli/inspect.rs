//! `pathlight inspect --json`: the documented keys, and what they say of files written by hand.

use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

fn inspect(files: &[&str]) -> (Value, i32) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ingest");
    let mut command = Command::new(env!("CARGO_BIN_EXE_pathlight"));
    command.current_dir(folder).args(["inspect", "--json"]).args(files);
    let output = command.output().unwrap();
    (serde_json::from_slice(&output.stdout).unwrap(), output.status.code().unwrap())
}

#[test]
fn files_are_accounted_for_one_by_one_and_together() {
    let names = ["jaeger/api.json", "jaeger/lines.ndjson", "otlp/export.json"];
    let (mut report, status) = inspect(&names);
    assert_eq!(status, 0);
    let files = report["files"].take();
    let quality = report["quality"].take();
    let bytes: u64 = files.as_array().unwrap().iter().map(|file| file["bytes"].as_u64().unwrap()).sum();
    // One trace of three spans, four times.
    let counts =
        json!({ "version": 1, "traces": 1, "spans": 3, "services": 2, "endpoints": 3, "bytes": bytes });
    assert_eq!(report, {
        let mut all = counts;
        (all["files"], all["quality"]) = (Value::Null, Value::Null);
        all
    });
    assert_eq!(quality["duplicate_spans"], 9);
    for key in [
        "clipped_spans",
        "clipped_us",
        "clipped_share",
        "dropped_spans",
        "orphan_roots",
        "cycles",
        "multi_root_traces",
        "incomplete_traces",
        "async_spans",
    ] {
        assert_eq!(quality[key].as_f64(), Some(0.0), "{key}");
    }
    for (file, (name, spans)) in files.as_array().unwrap().iter().zip(names.into_iter().zip([3, 6, 3])) {
        let format = name.split('/').next().unwrap();
        let mut expected = json!({ "name": name, "format": format, "traces": 1, "spans": spans, "problems": [], "ended": "whole" });
        expected["bytes"] = file["bytes"].clone();
        assert_eq!(*file, expected);
    }
}

#[test]
fn oddities_are_counted_with_an_example() {
    let (report, status) = inspect(&["dirty/processes.json"]);
    assert_eq!(status, 0);
    let file = &report["files"][0];
    assert_eq!(
        file["problems"],
        json!([{ "kind": "unknown_process", "count": 2, "example": {
            "offset": 39,
            "text": "a span names process \"p7\", which its trace does not have",
        } }])
    );
    assert_eq!(report["quality"]["unknown_service_spans"], 2);
}

#[test]
fn what_holds_no_trace_is_reported_and_ends_with_1() {
    let (report, status) = inspect(&["dirty/not-traces.json"]);
    assert_eq!((status, &report["traces"]), (1, &json!(0)));
    assert_eq!(report["files"][0]["ended"]["failed"]["kind"], "other_json");
}
