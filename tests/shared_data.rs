//! Golden facts and invariants on the real traces beside the project, where they exist.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use common::{files_below, load, shared_data};
use pathlight::critical_path::{Band, Overlap, PathFinder, Scope};
use pathlight::engine::{Report, Request, native::Pool};
use pathlight::trace::{EndpointId, Tree};
use std::collections::BTreeMap;

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
        let request = Request::CriticalPath { scope: Scope::default(), band: Band::ALL };
        let Report::CriticalPath(report) =
            Pool::of(vec![load(&file, 1 << 16)]).unwrap().ask(request).unwrap()
        else {
            unreachable!()
        };
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
