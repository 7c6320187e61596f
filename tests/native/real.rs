//! Golden facts and invariants on the real traces beside the project, where they exist.

use crate::common::{files_below, load, read_into, shared_data};
use pathlight::analysis::critical_path::PathFinder;
use pathlight::analysis::requests::{Overlap, Selection};
use pathlight::model::trace::{EndpointId, Flags, TraceSet, Tree};
use pathlight::query::native::Pool;
use pathlight::query::queries;
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn exclusive_times_match_all_test_cases_of_crisp() {
    let Some(data) = shared_data() else { return };
    let files = files_below(&data.join("crisp-test-cases"));
    assert_eq!(files.len(), 33);
    for file in files {
        let json: serde_json::Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let testing = &json["testing"];
        let expected = testing.get("opTimeExclusive").unwrap_or(&testing[0]);
        let expected: BTreeMap<String, u64> =
            expected.as_object().unwrap().iter().map(|(k, v)| (k.clone(), v.as_u64().unwrap())).collect();
        let query = queries::CriticalPath { selection: Selection::default() };
        let report = Pool::of(vec![load(&file, 1 << 16)]).unwrap().run(query).unwrap();
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        for node in &report.nodes {
            let (service, operation) = report.name(node.endpoint);
            *found.entry(format!("[{service}] {operation}")).or_default() += node.exclusive_us.sum;
        }
        // The public tool leaves out what has no time of its own in some cases and lists it in others.
        let times = |map: &BTreeMap<String, u64>| -> Vec<(String, u64)> {
            map.iter().filter(|(_, v)| **v > 0).map(|(k, v)| (k.clone(), *v)).collect()
        };
        assert_eq!(times(&found), times(&expected), "{}", file.display());
    }
}

#[test]
fn segments_partition_every_request_of_every_real_file() {
    let Some(data) = shared_data() else { return };
    let mut requests = 0u64;
    for file in files_below(&data) {
        let set = load(&file, 1 << 16);
        let (mut tree, mut finder, mut roots) = (Tree::default(), PathFinder::default(), Vec::new());
        for trace in 0..set.traces().len() as u32 {
            tree.load(&set, trace);
            let rows = set.traces()[trace as usize];
            let mut endpoints: Vec<EndpointId> =
                (rows.first..rows.end).map(|row| set.endpoint(row)).collect();
            endpoints.sort_unstable();
            endpoints.dedup();
            for endpoint in endpoints {
                tree.requests(&set, Some(endpoint), &mut roots);
                for &root in &roots {
                    finder.find(&set, &tree, root, Overlap::default());
                    let mut at = tree.start_us[root as usize];
                    for segment in finder.segments() {
                        assert_eq!(segment.start_us, at, "{}", file.display());
                        assert!(segment.end_us > segment.start_us);
                        at = segment.end_us;
                    }
                    assert_eq!(at, tree.end_us[root as usize], "{}", file.display());
                    requests += 1;
                }
            }
        }
    }
    assert!(requests > 100_000, "only {requests} requests were found");
}

/// Whether CRISP's public tool takes a span for an error: any text under `error`, logs that speak of one, every HTTP
/// status from 400 on, any gRPC status that is not OK.
fn is_error_to_crisp(span: &serde_json::Value) -> bool {
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let tags = list(&span["tags"]);
    let fields: Vec<serde_json::Value> =
        list(&span["logs"]).iter().flat_map(|log| list(&log["fields"])).collect();
    tags.iter().any(|tag| match tag["key"].as_str().unwrap() {
        "error" => tag["type"] == "string" || tag["value"] == true,
        "http.status_code" => tag["value"].as_u64().unwrap() >= 400,
        "grpc.status" => tag["value"] != "OK",
        _ => false,
    }) || fields.iter().any(|field| match field["key"].as_str().unwrap() {
        "error.object" => true,
        "error" => field["type"] == "string",
        "event" => field["value"] == "error",
        _ => false,
    })
}

/// (`totalWork`, `timeSavedOnWork`, `timeSavedOnCP`, `noErrCP`) of a case.
type Counterfactual = (u64, u64, u64, BTreeMap<String, u64>);

fn counterfactual(name: &str, bytes: &[u8]) -> Counterfactual {
    let mut set = TraceSet::new();
    read_into(&mut set, name, bytes, 1 << 16);
    set.seal().unwrap();
    let query = queries::Errors { selection: Selection::default() };
    let report = Pool::of(vec![set]).unwrap().run(query).unwrap();
    let mut path: BTreeMap<String, u64> = BTreeMap::new();
    for row in report.rows.iter().filter(|row| row.without_path_us > 0) {
        let (service, operation) = report.name(row.endpoint);
        path.insert(format!("[{service}] {operation}"), row.without_path_us);
    }
    (report.totals.work_us, report.totals.work_saved_us, report.totals.saved_us, path)
}

#[test]
fn requests_without_errors_match_the_test_cases_of_crisp() {
    let Some(data) = shared_data() else { return };
    let (mut cases, mut paths, mut by_definition) = (0, 0, Vec::new());
    for file in files_below(&data.join("crisp-test-cases")) {
        let bytes = std::fs::read(&file).unwrap();
        let mut json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        let testing = json["testing"].clone();
        let Some(work) = testing.get("totalWork") else { continue };
        cases += 1;
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let us = |key: &str| testing[key].as_u64().unwrap();
        let mut expected = (work.as_u64().unwrap(), us("timeSavedOnWork"), us("timeSavedOnCP"));
        if name == "test_cases__21" {
            // 390 and not 395: S3 overlaps the end of S2 by 5 us and is taken out, but S2 itself still ends at 210. The
            // public tool cuts it at 205, where S3 began, and lets the parent end before its child.
            expected.2 = 390;
        }
        // Its counterfactual, on what it takes for errors.
        for span in json["data"][0]["spans"].as_array_mut().unwrap() {
            let is_error = is_error_to_crisp(span);
            span["tags"] = serde_json::json!([{"key": "error", "type": "bool", "value": is_error}]);
        }
        let found = counterfactual(&name, json.to_string().as_bytes());
        assert_eq!((found.0, found.1, found.2), expected, "{name}");
        if let Some(path) = testing["noErrCP"].as_object() {
            paths += 1;
            let path: BTreeMap<String, u64> =
                path.iter().map(|(name, us)| (name.clone(), us.as_u64().unwrap())).collect();
            assert_eq!(found.3, path, "{name}");
        }
        // The same on what our definitions take for errors.
        let own = counterfactual(&name, &bytes);
        if (own.0, own.1, own.2) != expected {
            by_definition.push(name);
        }
    }
    assert_eq!((cases, paths), (23, 16));
    // What differs by definition only: `error` with a text other than "true" (13 to 18), errors in logs (12, 15, 18),
    // `http.status_code` 400 to 499 of spans that are no clients (16, 19 to 25), `grpc.status`, which is no tag of any
    // convention (16).
    let by_number = [12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25];
    let mut expected: Vec<String> = by_number.iter().map(|n| format!("test_cases__{n}")).collect();
    expected.sort();
    assert_eq!(by_definition, expected);
}

/// Every span of a file as text: what all formats say alike.
fn spans(set: &TraceSet, with_kind: bool) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for (number, trace) in set.traces().iter().enumerate() {
        for row in trace.first..trace.end {
            let (service, operation) = set.endpoint_name(set.endpoint(row));
            let flags = set.flags(row);
            let kind = if with_kind { flags.kind().name() } else { "" };
            out.insert(format!(
                "{} {} <{}> [{service}] {operation} {}+{} {kind} {}",
                set.trace_id_text(number as u32),
                set.span_id_text(row),
                set.raw(row).parent.to_text(&set.id_texts),
                set.start_us(row),
                set.duration_us(row),
                if flags.has(Flags::ERROR) { "error" } else { "" },
            ));
        }
    }
    out
}

#[test]
fn one_trace_in_two_formats_gives_the_same_columns() {
    let Some(data) = shared_data() else { return };
    let buildkit = |name: &str| load(&data.join("buildkit-buildx-pair").join(name), 1 << 12);
    assert_eq!(spans(&buildkit("otlp.json"), true), spans(&buildkit("bktraces.json"), true));
    // Jaeger did not write the kind of internal spans yet.
    assert_eq!(spans(&buildkit("otlp.json"), false), spans(&buildkit("jaeger.json"), false));
    for pair in ["authenticate_error", "pushbytes"] {
        let side = |format: &str| {
            let set = load(&data.join(format!("perses-otlp-jaeger-pairs/{pair}_{format}.json")), 1 << 12);
            let tags = set.traces().iter().flat_map(|t| t.first..t.end).map(|row| {
                let tags = set.tags.get(set.tag_set(row)).map(|(key, value)| format!("{key}={value}"));
                (set.span_id_text(row), tags.collect::<BTreeSet<_>>())
            });
            (spans(&set, true), tags.collect::<BTreeMap<_, _>>())
        };
        assert_eq!(side("otlp"), side("jaeger"), "{pair}");
    }
}
