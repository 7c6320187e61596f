//! Saved reports: the columns come back as they were, and what is no such file is told apart.

use pathlight::generate::{GenerateOptions, write_jaeger};
use pathlight::ingest::{Ended, KeptTraces, ReadOptions, Reader};
use pathlight::trace::{TraceSet, dump};
use pathlight::view::export::saved;
use std::collections::{BTreeMap, BTreeSet};

fn read(name: &str, bytes: &[u8], chunk: usize, group: u8) -> (TraceSet, pathlight::ingest::FileReport) {
    let mut set = TraceSet::new();
    set.loading_group = group;
    let mut reader = Reader::new(name, ReadOptions::default());
    for chunk in bytes.chunks(chunk) {
        reader.feed(chunk, &mut set).unwrap();
    }
    let report = reader.finish(&mut set);
    set.seal().unwrap();
    (set, report)
}

fn columns(set: &TraceSet) -> Vec<u8> {
    let mut out = Vec::new();
    let mut from = Some(0);
    while let Some(first) = from {
        let (bytes, next) = saved::columns(set, first, &Default::default(), 1).unwrap();
        out.extend_from_slice(&bytes);
        from = next;
    }
    out
}

/// Makes traces with every defect the generator knows, more than one record of them.
fn traces() -> TraceSet {
    let mut json = Vec::new();
    let options = GenerateOptions {
        traces: 600,
        spans: 30,
        defects: pathlight::generate::Defects::ALL,
        ..GenerateOptions::default()
    };
    write_jaeger(&options, &mut json).unwrap();
    read("traces.json", &json, 1 << 20, 0).0
}

/// Returns everything in a set but how often a tag was read, since columns hold a set of tags once, and the ids of messages,
/// which are too many: which of them are kept depends on the order of spans.
fn written(set: &TraceSet) -> String {
    let mut lines = Vec::new();
    for line in dump(set).lines().filter(|line| !line.starts_with("key \"messaging.message_id\"")) {
        let line = match line.split_once(" messaging.message_id=\"") {
            Some((before, after)) => {
                format!("{before}{}", after.split_once('"').map_or("", |(_, rest)| rest))
            }
            None => line.to_owned(),
        };
        lines.push(match line.split_once("occurrences: ") {
            Some((before, after)) if line.starts_with("key ") => {
                format!("{before}{}", after.trim_start_matches(|c: char| c.is_ascii_digit()))
            }
            _ => line,
        });
    }
    lines.join("\n")
}

#[test]
fn columns_come_back_as_they_were_however_they_are_cut() {
    let set = traces();
    assert!(set.spans() > 2 * 8192, "{} spans are one record", set.spans());
    let bytes = columns(&set);
    for chunk in [bytes.len(), 7919, 61] {
        let (again, report) = read("saved", &bytes, chunk, 0);
        let (found, expected) = (written(&again), written(&set));
        let other = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
        assert!(found == expected, "read in pieces of {chunk}: {other:?}");
        assert_eq!((report.ended, report.format.as_str()), (Ended::Whole, "pathlight"));
        assert_eq!(report.traces, set.traces().len() as u64);
        // Spans that lost against another of their id are written too, for the next fragment of their trace.
        assert!(report.spans >= set.spans() as u64, "{} of {} spans", report.spans, set.spans());
        // Saved once more: spans put aside may stand in another order, the traces are the same.
        assert!(written(&read("saved", &columns(&again), chunk, 0).0) == written(&set), "saved again");
    }
}

#[test]
fn columns_loaded_to_be_compared_are_of_the_other_group() {
    let (set, _) = read("saved", &columns(&traces()), 1 << 16, 1);
    assert!(set.traces().iter().all(|trace| trace.id.group == 1));
}

#[test]
fn of_columns_a_part_can_be_kept() {
    let mut json = Vec::new();
    write_jaeger(&GenerateOptions { traces: 90, spans: 5, ..GenerateOptions::default() }, &mut json).unwrap();
    let bytes = columns(&read("traces.json", &json, 1 << 20, 0).0);
    let kept = |bytes: &[u8], keep: &KeptTraces| {
        let mut set = TraceSet::new();
        let mut reader = Reader::new("input", ReadOptions { keep: keep.clone(), ..ReadOptions::default() });
        reader.feed(bytes, &mut set).unwrap();
        let report = reader.finish(&mut set);
        set.seal().unwrap();
        let mut ids: Vec<String> = (0..set.traces().len() as u32).map(|at| set.trace_id_text(at)).collect();
        ids.sort();
        (ids, report.traces, report.spans, report.ended)
    };
    let (all, ..) = kept(&bytes, &KeptTraces::All);
    let set = read("columns", &bytes, 1 << 20, 0).0;
    let (service, operation) = set.endpoint_name(set.endpoint(0));
    let (service, operation) = (service.to_owned(), operation.to_owned());
    let mut traces: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for (number, trace) in (0..).zip(set.traces()) {
        for row in trace.rows() {
            traces.entry(set.endpoint_name(set.endpoint(row)).0).or_default().insert(number);
        }
    }
    let (rare, _) = traces.iter().min_by_key(|(_, traces)| traces.len()).unwrap();
    let nobody = KeptTraces::Service("nobody".to_owned());
    for keep in [
        KeptTraces::Sample(3),
        KeptTraces::Service((*rare).to_owned()),
        KeptTraces::RequestType { service, operation },
        nobody,
    ] {
        let some = kept(&bytes, &keep);
        // Which those are, the traces as JSON say.
        assert_eq!(some, kept(&json, &keep), "{keep:?}");
        assert!(some.0.len() < all.len(), "{keep:?}");
    }
}

#[test]
fn cut_or_damaged_columns_keep_what_is_whole() {
    let set = traces();
    let bytes = columns(&set);
    let (some, report) = read("cut", &bytes[..bytes.len() - 1], 4096, 0);
    assert!(some.spans() >= 8192 && some.spans() < set.spans());
    assert!(matches!(report.ended, Ended::Cut { .. }), "{:?}", report.ended);
    let mut damaged = bytes;
    let at = damaged.len() - 2000;
    damaged[at..].fill(0xff);
    let (some, report) = read("damaged", &damaged, 4096, 0);
    assert!(some.spans() >= 8192 && some.spans() <= set.spans());
    assert!(report.ended != Ended::Whole || !report.problems.is_empty());
}
