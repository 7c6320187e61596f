//! Damaged texts: whatever a cut, a lost or a wrong byte breaks, it costs the line in which it stands, and the formats keep
//! every span that is complete.

use crate::common::replay::{FORMATS, TARGETS, fixture_files, project, read as read_once};
use pathlight::ingest::{Ended, FileReport, ProblemKind, ReadOptions, Reader};
use pathlight::trace::TraceSet;
use std::collections::BTreeSet;

/// Reads a text in one piece, in small ones and by the reference way, checks that all give the same, and returns the names
/// of the operations.
fn read(text: &[u8]) -> (BTreeSet<String>, FileReport) {
    let (whole, mut reports) = read_once(text, false, 1, || usize::MAX);
    for (reference, chunk) in [(false, 61), (true, usize::MAX)] {
        let other = read_once(text, reference, 1, || chunk);
        assert_eq!(other.0, whole, "{}", String::from_utf8_lossy(text));
        assert_eq!(other.1, reports, "{}", String::from_utf8_lossy(text));
    }
    let mut set = TraceSet::new();
    let mut reader = Reader::new("input", ReadOptions::default());
    let _ = reader.feed(text, &mut set);
    reader.finish(&mut set);
    set.seal().unwrap();
    let operations = (0..set.spans()).map(|row| set.endpoint_name(set.endpoint(row as u32)).1.to_owned());
    (operations.collect(), reports.remove(0))
}

fn problems(report: &FileReport) -> Vec<(ProblemKind, u64)> {
    report.problems.iter().map(|p| (p.kind, p.count)).collect()
}

fn fixture(name: &str) -> Vec<u8> {
    std::fs::read(project("tests/fixtures/recognition").join(name)).unwrap()
}

/// A format that may be written as one document a line: its name, and the document number `n`, with a span `op<n>`.
type Lines = (&'static str, fn(u64) -> String);

/// All of them. Lists within lists, several spans, brackets and quotes in texts: what a cut may leave open.
const LINES: [Lines; 12] = [
    ("jaeger", |n| {
        let span = |id: u64| {
            format!(
                r#"{{"traceID":"{n:x}","spanID":"{id}","operationName":"op{n}","references":[{{"refType":"CHILD_OF","traceID":"{n:x}","spanID":"1"}}],"startTime":1700000000000000,"duration":9,"tags":[{{"key":"k","type":"string","value":"[{{\"\\"}}],"logs":[{{"timestamp":5,"fields":[{{"key":"event","value":"x"}}]}}],"processID":"p1","warnings":null}}"#
            )
        };
        format!(
            r#"{{"traceID":"{n:x}","spans":[{},{}],"processes":{{"p1":{{"serviceName":"s","tags":[{{"key":"ip","value":"1"}}]}}}},"warnings":null}}"#,
            span(1),
            span(2)
        )
    }),
    ("jaeger api", |n| format!(r#"{{"data":[{}],"total":0,"limit":0,"errors":null}}"#, LINES[0].1(n))),
    ("jaeger-spans", |n| {
        format!(
            r#"{{"traceID":"{n:x}","spanID":"1","operationName":"op{n}","references":[],"startTime":1700000000000000,"duration":9,"tags":[{{"key":"a","value":"]}}"}}],"logs":[],"process":{{"serviceName":"s","tags":[]}}}}"#
        )
    }),
    ("elasticsearch", |n| format!(r#"{{"_index":"i","_source":{}}}"#, LINES[2].1(n))),
    ("otlp", |n| {
        let span = |id: u64| {
            format!(
                r#"{{"traceId":"{n:032x}","spanId":"{id:016x}","name":"op{n}","kind":2,"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000000009000","attributes":[{{"key":"list","value":{{"arrayValue":{{"values":[{{"stringValue":"{{\\\""}}]}}}}}}],"events":[{{"name":"e","attributes":[]}}],"status":{{}}}}"#
            )
        };
        format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"s"}}}}]}},"scopeSpans":[{{"scope":{{"name":"x"}},"spans":[{},{}]}}],"schemaUrl":""}}]}}"#,
            span(1),
            span(2)
        )
    }),
    ("zipkin-v2", |n| {
        let parent = if n.is_multiple_of(2) { r#""parentId":"1","# } else { "" };
        format!(
            r#"{{"traceId":"{n:x}",{parent}"id":"2","name":"op{n}","timestamp":1700000000000000,"duration":7,"localEndpoint":{{"serviceName":"z"}},"tags":{{"a":"[{{\""}},"annotations":[{{"timestamp":5,"value":"v"}}]}}"#
        )
    }),
    ("zipkin-v2 lists", |n| format!("[{},{}]", LINES[5].1(n), LINES[5].1(n))),
    ("zipkin-v1", |n| {
        let at = |us: u64, value: &str| {
            format!(r#"{{"timestamp":{us},"value":"{value}","endpoint":{{"serviceName":"z"}}}}"#)
        };
        format!(
            r#"{{"traceId":"{n:x}","id":"2","name":"op{n}","annotations":[{},{}],"binaryAnnotations":[]}}"#,
            at(1_700_000_000_000_000, "sr"),
            at(1_700_000_000_000_009, "ss")
        )
    }),
    ("otel-stdout", |n| {
        format!(
            r#"{{"Name":"op{n}","SpanContext":{{"TraceID":"{n:032x}","SpanID":"{n:016x}"}},"Parent":{{"TraceID":"{n:032x}","SpanID":"0000000000000000"}},"SpanKind":1,"StartTime":"2024-01-01T00:00:01Z","EndTime":"2024-01-01T00:00:02Z","Attributes":[{{"Key":"a","Value":{{"Type":"STRING","Value":"}}"}}}}],"Resource":[{{"Key":"service.name","Value":{{"Type":"STRING","Value":"s"}}}}]}}"#
        )
    }),
    ("jaeger-protobuf", |n| {
        format!(
            r#"{{"traceId":"{n:032x}","spanId":"{n:016x}","operationName":"op{n}","references":[],"startTime":"2024-01-01T00:00:01Z","duration":"0.001s","tags":[{{"key":"a","vStr":"["}}],"process":{{"serviceName":"s","tags":[]}}}}"#
        )
    }),
    ("jaeger-cassandra", |n| {
        format!(
            r#"{{"trace_id":"0x{n:032x}","span_id":{n},"span_hash":5,"parent_id":0,"operation_name":"op{n}","refs":null,"start_time":1700000000000000,"duration":4,"process":{{"service_name":"s","tags":null}},"tags":[{{"key":"a","value_type":"string","value_string":"{{"}}]}}"#
        )
    }),
    ("next-trace", |n| {
        let span = |id: u64| {
            format!(
                r#"{{"name":"op{n}","duration":9,"timestamp":1000000,"id":{id},"tags":{{"url":"]"}},"startTime":1700000000000,"traceId":"{n:x}"}}"#
            )
        };
        format!("[{},{}]", span(1), span(2))
    }),
];

fn names(numbers: impl Iterator<Item = u64>) -> BTreeSet<String> {
    numbers.map(|n| format!("op{n}")).collect()
}

/// Changes one of five lines in every way that `damage` gives, and checks that all others are read.
fn damaged_lines(damage: fn(&str) -> Vec<String>) {
    for (format, document) in LINES {
        for line in 1..=4 {
            for bad in damage(&document(line)) {
                for space in ["", "\n"] {
                    let lines = (1..=5).map(|n| if n == line { bad.clone() } else { document(n) } + "\n");
                    let text = lines.collect::<Vec<_>>().join(space);
                    let (found, report) = read(text.as_bytes());
                    let missing: Vec<_> =
                        names((1..=5).filter(|&n| n != line)).difference(&found).cloned().collect();
                    assert!(missing.is_empty(), "{format}: {missing:?} of\n{text}");
                    assert_eq!(report.ended, Ended::Whole, "{format}:\n{text}");
                }
            }
        }
    }
}

#[test]
fn a_line_that_is_cut_anywhere_costs_itself_only() {
    damaged_lines(|line| (1..line.len()).map(|cut| line[..cut].to_owned()).collect());
}

#[test]
fn a_line_of_which_a_piece_is_lost_costs_itself_only() {
    damaged_lines(|line| {
        let lost = |from: usize, bytes: usize| {
            format!("{}{}", &line[..from], &line[(from + bytes).min(line.len())..])
        };
        let bytes = |from: usize| if from.is_multiple_of(2) { 1 } else { 2 + from % 60 };
        (1..line.len()).map(|from| lost(from, bytes(from))).collect()
    });
}

#[test]
fn a_line_with_a_wrong_byte_costs_itself_only() {
    damaged_lines(|line| {
        let wrong = |at: usize, byte: &str| format!("{}{byte}{}", &line[..at], &line[at + 1..]);
        (1..line.len()).map(|at| wrong(at, ["\"", "\\", "{", "[", "}", "]", ",", "\u{1}"][at % 8])).collect()
    });
}

#[test]
fn of_two_lines_the_second_is_read_and_of_damaged_ones_none_is_invented() {
    for (format, document) in LINES {
        let (first, second) = (document(1), document(2));
        for cut in 1..first.len() {
            let (found, _) = read(format!("{}\n{second}", &first[..cut]).as_bytes());
            assert!(found.contains("op2"), "{format}, cut at {cut}");
            let (found, _) = read(
                format!(
                    "{first}\n{}\n{}\n{}",
                    &second[..cut.min(second.len() - 1)],
                    &first[..cut],
                    document(3)
                )
                .as_bytes(),
            );
            assert!(found.contains("op1") && found.contains("op3"), "{format}, cut at {cut}: {found:?}");
            assert!(found.iter().all(|name| name.starts_with("op")), "{format}, cut at {cut}: {found:?}");
        }
    }
}

#[test]
fn documents_in_which_every_line_begins_with_a_bracket_are_whole() {
    // A list, traces and spans with one element a line, after one of one line or alone.
    let document = |n: u64| LINES[0].1(n);
    let spread = |n: u64| {
        document(n).replace("},{\"traceID\"", "},\n{\"traceID\"").replace("[{\"traceID\"", "[\n{\"traceID\"")
    };
    let list = format!("[\n{},\n{}\n]", document(1), document(2));
    let answer = format!("{{\"data\":[\n{}\n,\n{}\n]\n,\"total\":0}}", spread(1), spread(2));
    let values = format!(
        "{{\"data\":\n[\n{}\n,\n{}]}}",
        spread(1).replace(":[", ":\n["),
        document(2).replace(":{", ":\n{")
    );
    for text in [list, answer, values] {
        for before in [String::new(), document(3) + "\n", document(3) + "\n\u{feff}"] {
            let text = format!("{before}{text}\n{}\n", document(4));
            let (found, report) = read(text.as_bytes());
            assert_eq!(found, names((1..=4).filter(|&n| n != 3 || !before.is_empty())), "{text}");
            assert!(report.problems.is_empty() && report.ended == Ended::Whole, "{report:?}\n{text}");
        }
    }
}

#[test]
fn byte_order_marks_may_stand_before_every_document() {
    for name in ["bom_each.ndjson", "bom_cat_docs.json"] {
        let (_, report) = read(&fixture(name));
        assert_eq!((report.traces, report.problems.len(), &report.ended), (10, 0, &Ended::Whole), "{name}");
    }
}

#[test]
fn text_in_utf_16_is_read() {
    let marked = fixture("utf16le.json");
    let units = marked[2..].as_chunks::<2>().0;
    let other: Vec<u8> = units.iter().flat_map(|unit| [unit[1], unit[0]]).collect();
    let whole = read(&marked);
    assert_eq!((whole.1.format.as_str(), whole.1.traces), ("jaeger+utf-16", 10));
    for text in [marked[2..].to_vec(), other.clone(), [&b"\xfe\xff"[..], &other].concat()] {
        assert_eq!(read(&text), whole);
    }
    let text = r#"{"traceId":"a","id":"1","name":"😀é","timestamp":5,"duration":7,"localEndpoint":{"serviceName":"z"}}"#;
    let mut units: Vec<u16> = text.encode_utf16().collect();
    let bytes = |units: &[u16]| units.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<u8>>();
    assert_eq!(read(&bytes(&units)).0, BTreeSet::from(["😀é".to_owned()]));
    // Half a character, and half a unit at the end.
    let half = units.iter().position(|unit| (0xdc00..0xe000).contains(unit)).unwrap();
    units.remove(half);
    assert_eq!(read(&[bytes(&units), vec![b' ']].concat()).0, BTreeSet::from(["\u{fffd}é".to_owned()]));
}

#[test]
fn a_cut_line_of_forty_traces_costs_one() {
    let (_, report) = read(&fixture("f1-cut-line.ndjson.gz"));
    assert_eq!((report.traces, &report.ended), (39, &Ended::Whole));
    assert_eq!(problems(&report), [(ProblemKind::BadSyntax, 1)]);
}

#[test]
fn an_archive_without_its_directory_is_cut() {
    let (_, report) = read(&fixture("two_cut_between.zip"));
    assert!(report.traces > 0 && matches!(report.ended, Ended::Cut { .. }), "{report:?}");
    assert_eq!(problems(&report), [(ProblemKind::Truncated, 1)]);
    assert_eq!(
        report.problems[0].example.text,
        "the archive ends without its directory: members may be missing"
    );
}

#[test]
fn a_file_that_is_cut_anywhere_keeps_what_is_complete() {
    for (format, _) in &TARGETS[..FORMATS] {
        for (file, bytes) in fixture_files(format) {
            let whole = read(&bytes).0;
            let mut before = BTreeSet::new();
            for cut in (0..bytes.len()).step_by(10) {
                let (found, _) = read(&bytes[..cut]);
                assert!(found.is_subset(&whole), "{}, cut at {cut}: {found:?}", file.display());
                assert!(
                    found.is_superset(&before),
                    "{}, cut at {cut}: {before:?} to {found:?}",
                    file.display()
                );
                before = found;
            }
        }
    }
}

#[test]
fn a_bad_record_in_the_middle_costs_itself_only() {
    // In each document the start is no time any more.
    let starts = ["1700000000000000000\"", "1700000000000000", "2024-01-01T00:00:01Z\"", "1000000"];
    for (format, document) in LINES {
        let bad = starts.iter().fold(document(16), |line, start| {
            line.replace(&format!("\"{start}"), "[true]").replace(&format!(":{start}"), ":[true]")
        });
        assert_ne!(bad, document(16), "{format}");
        let lines = (1..=31).map(|n| if n == 16 { bad.clone() } else { document(n) });
        let (found, report) = read(lines.collect::<Vec<_>>().join("\n").as_bytes());
        assert_eq!(found, names((1..=31).filter(|&n| n != 16)), "{format}");
        assert!(matches!(problems(&report)[..], [(ProblemKind::WrongType, _)]), "{format}: {report:?}");
        assert_eq!(report.ended, Ended::Whole);
    }
}
