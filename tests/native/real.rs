//! Golden facts and invariants on the real traces beside the project, where they exist.

use crate::common::{load, real_files, shared_data};
use pathlight::engine::flame::PathFinder;
use pathlight::engine::queries::{self, PlaceDifference};
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::trace::{EndpointId, Flags, Overlap, PathSettings, Reading, RequestRoots, TraceSet, Tree};
use std::collections::{BTreeMap, BTreeSet};

#[test]
fn segments_partition_every_request_of_every_real_file() {
    let files = real_files(&[""], 103);
    let least = if files.len() > 103 { 100_000 } else { 100 };
    let mut requests = 0u64;
    for file in files {
        let set = load(&file, 1 << 16);
        let (mut tree, mut finder, mut roots) = (Tree::default(), PathFinder::default(), Vec::new());
        let readings = [Reading::PLAIN, Reading::real()];
        let traces = 0..set.traces().len() as u32;
        for (trace, reading) in traces.flat_map(|trace| readings.map(|reading| (trace, reading))) {
            let settings = PathSettings { reading, ..PathSettings::default() };
            let rows = set.traces()[trace as usize];
            let mut endpoints: Vec<EndpointId> =
                (rows.first..rows.end).map(|row| set.endpoint(row)).collect();
            endpoints.sort_unstable();
            endpoints.dedup();
            for endpoint in endpoints {
                tree.load_for(&set, trace, settings, RequestRoots::Of(endpoint));
                tree.requests(&set, &mut roots);
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
    assert!(requests > least, "only {requests} requests were found");
}

#[test]
fn what_a_slow_request_takes_longer_than_a_normal_one_is_accounted_for_in_every_real_file() {
    let mut compared = 0;
    for file in real_files(&[""], 103) {
        let mut pool = NativePool::of(vec![load(&file, 1 << 16)]).unwrap();
        let selection = Selection::default();
        let slowest = pool.run(queries::Requests { selection: selection.clone(), limit: 2 }).unwrap();
        for row in slowest.rows {
            let of = queries::Trace {
                trace_id: row.trace_id,
                root_span_id: Some(row.root_span_id),
                settings: selection.settings(),
                group: 0,
                has_pressures: false,
            };
            let query = queries::NearestNormal { of, selection: selection.clone() };
            let report = pool.run(query).unwrap().unwrap_or_default();
            assert_eq!(report.request.latency_us, row.latency_us, "{}", file.display());
            let Some(normal) = &report.normal else {
                assert_eq!(report.others, 0, "{}", file.display());
                continue;
            };
            let (least_us, most_us) = report.normal_us;
            assert!((least_us..=most_us).contains(&normal.latency_us), "{}", file.display());
            let longer_us: i64 = report.places.iter().map(PlaceDifference::longer_us).sum();
            assert_eq!(longer_us, row.latency_us as i64 - normal.latency_us as i64, "{}", file.display());
            compared += 1;
        }
    }
    assert!(compared > 0);
}

/// Returns every span of a file as text: what all formats say alike.
fn spans(set: &TraceSet, with_kind: bool) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for (number, trace) in set.traces().iter().enumerate() {
        for row in trace.rows() {
            let (service, operation) = set.endpoint_name(set.endpoint(row));
            let flags = set.flags(row);
            let kind = if with_kind { flags.kind().name() } else { "" };
            out.insert(format!(
                "{} {} <{}> [{service}] {operation} {}+{} {kind} {}",
                set.trace_id_text(number as u32),
                set.span_id_text(row),
                set.parent_id(row).to_text(&set.id_texts),
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
    let Some(data) = shared_data(4) else { return };
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
