//! Every format of single spans, by small documents written by hand, and by real files where they exist.

use crate::common::replay::{FORMATS, TARGETS, fixture_files};
use pathlight::ingest::{Ended, FileReport, ProblemKind, ReadOptions, Reader};
use pathlight::trace::{Flags, SpanKind, TraceSet};
use std::collections::{BTreeMap, BTreeSet};

fn read(text: impl AsRef<[u8]>) -> (TraceSet, FileReport) {
    let text = text.as_ref();
    let mut reports = Vec::new();
    for chunk in [text.len().max(1), 1, 7, 64] {
        let mut set = TraceSet::new();
        let mut reader = Reader::new("input", ReadOptions::default());
        for piece in text.chunks(chunk) {
            if reader.feed(piece, &mut set).is_err() {
                break;
            }
        }
        let report = reader.finish(&mut set);
        set.seal().unwrap();
        reports.push((rows(&set), report, set));
    }
    let (first, report, set) = reports.remove(0);
    for (rows, other, _) in reports {
        assert_eq!((&rows, &other), (&first, &report), "chunks changed the result");
    }
    (set, report)
}

/// Returns trace id, span id, parent id, service, operation, start, duration, kind, error of every span.
fn rows(set: &TraceSet) -> Vec<String> {
    let mut out = Vec::new();
    for (number, trace) in set.traces().iter().enumerate() {
        for row in trace.rows() {
            let parent = set.parent(row);
            let parent = if parent == u32::MAX { String::new() } else { set.span_id_text(parent) };
            let (service, operation) = set.endpoint_name(set.endpoint(row));
            out.push(format!(
                "{} {} <{parent}> {service}/{operation} {}+{} {:?} {}",
                &set.trace_id_text(number as u32)[24..],
                set.span_id_text(row),
                set.start_us(row),
                set.duration_us(row),
                set.kind(row),
                set.flags(row).has(Flags::ERROR),
            ));
        }
    }
    out.sort();
    out
}

/// One trace, written by hand in every format and every way it may be wrapped: a folder a format.
#[test]
fn every_format_gives_the_same_columns() {
    let expected = [
        "000000a1 00000000000000b1 <> gate/GET / 1000000+900 Server false @h1",
        "000000a1 00000000000000b2 <00000000000000b1> gate/call shop 1000100+700 Client true @h1",
        "000000a1 00000000000000b3 <00000000000000b2> shop/get item 1000200+500 Server false @h2",
    ];
    let plain = [
        "000000a1 00000000000000b1 <> next.js/GET / 1000000+900 Unspecified false @",
        "000000a1 00000000000000b2 <00000000000000b1> next.js/call shop 1000100+700 Unspecified false @",
        "000000a1 00000000000000b3 <00000000000000b2> next.js/get item 1000200+500 Unspecified false @",
    ];
    let agents = plain
        .map(|row| row.replace("next.js", "agent").replace("700 Unspecified false", "700 Unspecified true"));
    // The number of a span is unique in its segment only.
    let segments = expected.map(|row| {
        row.replace("00000000000000b1", "g.0")
            .replace("00000000000000b2", "g.1")
            .replace("00000000000000b3", "s.0")
    });
    // A segment is named as its service, and has no kind.
    let documents = expected.map(|row| {
        let row = row.replace("GET /", "gate").replace("get item", "shop");
        row.replace("Server", "Unspecified")
    });
    for (format, _) in &TARGETS[..FORMATS] {
        for (file, bytes) in fixture_files(format) {
            let (set, report) = read(&bytes);
            let hosts = set.traces().iter().flat_map(|trace| trace.rows()).map(|row| {
                let host = set.names.get(set.process_of(row).host);
                (set.span_id_text(row), host)
            });
            let hosts: BTreeMap<String, &str> = hosts.collect();
            let host = |row: &String| hosts[row.split(' ').nth(1).unwrap()];
            let found: Vec<String> = rows(&set).iter().map(|row| format!("{row} @{}", host(row))).collect();
            match *format {
                // Spans of one program: without kind, service and host of their own.
                "next-trace" => assert_eq!(found, plain, "{}", file.display()),
                "phoenix" | "langfuse" | "langsmith" => assert_eq!(found, agents, "{}", file.display()),
                "skywalking" => assert_eq!(found, segments, "{}", file.display()),
                "xray" => assert_eq!(found, documents, "{}", file.display()),
                _ => assert_eq!(found, expected, "{}", file.display()),
            }
            assert_eq!(report.format, *format, "{}", file.display());
            assert!(report.problems.is_empty() && report.ended == Ended::Whole, "{report:?}");
        }
    }
}

#[test]
fn otlp_becomes_what_jaeger_makes_of_it() {
    let text = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}},
        {"key":"region","value":{"stringValue":"eu"}}]},"scopeSpans":[{"scope":{"name":"http","version":"1.2"},"spans":[
        {"traceId":"0000000000000000000000000000000a","spanId":"00000000000000b1","name":"q","kind":3,
         "startTimeUnixNano":"5000000","endTimeUnixNano":"6000000","status":{"code":2,"message":"refused"},
         "attributes":[{"key":"list","value":{"arrayValue":{"values":[{"stringValue":"a"},{"intValue":"7"}]}}}],
         "links":[{"traceId":"0000000000000000000000000000000a","spanId":"00000000000000b9"}],
         "events":[{"name":"exception","attributes":[{"key":"exception.type","value":{"stringValue":"Timeout"}}]},
                   {"name":"sent","attributes":[{"key":"message","value":{"stringValue":"not kept"}}]}]}]}]}]}"#;
    let (set, report) = read(text);
    assert!(report.problems.is_empty(), "{report:?}");
    let tags = |id| set.tags.get(id).map(|(key, value)| format!("{key}={value}")).collect::<BTreeSet<_>>();
    let expected = [
        "error=true",
        "exception.type=Timeout",
        "list=[\"a\",7]",
        "otel.scope.name=http",
        "otel.scope.version=1.2",
        "otel.status_code=ERROR",
        "otel.status_description=refused",
        "span.kind=client",
    ];
    assert_eq!(tags(set.tag_set(0)), expected.map(str::to_owned).into());
    assert_eq!(tags(set.process_of(0).tags), ["region=eu".to_owned()].into());
    // A link is no parent, not even a missing one.
    assert_eq!(rows(&set), ["0000000a 00000000000000b1 <> shop/q 5000+1000 Client true"]);
    assert_eq!((set.traces()[0].shape.orphans, set.logs), (0, 2));
}

const OTLP_SPANS: &str = r#"[{"traceId":"0000000000000000000000000000000a","spanId":"00000000000000b1","name":"GET /","kind":2,
  "startTimeUnixNano":"5000999","endTimeUnixNano":"9000998","attributes":[{"key":"http.status_code","value":{"intValue":"503"}}]},
 {"traceId":"AAAAAAAAAAAAAAAAAAAACg==","spanId":"AAAAAAAAALI=","parentSpanId":"AAAAAAAAALE=","name":"q",
  "kind":"SPAN_KIND_CLIENT","startTimeUnixNano":6000000,"endTimeUnixNano":7000000,"status":{"code":"STATUS_CODE_ERROR"}}]"#;

#[test]
fn otlp_is_read_in_all_its_wrappings() {
    let resource = r#""resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]}"#;
    let inner = format!(r#"{{{resource},"scopeSpans":[{{"scope":{{}},"spans":{OTLP_SPANS}}}]}}"#);
    let old = format!(
        r#"{{"instrumentationLibrarySpans":[{{"instrumentationLibrary":{{}},"spans":{OTLP_SPANS}}}],{resource}}}"#
    );
    let expected = [
        "0000000a 00000000000000b1 <> shop/GET / 5000+3999 Server true",
        "0000000a 00000000000000b2 <00000000000000b1> shop/q 6000+1000 Client true",
    ];
    for text in [
        format!(r#"{{"resourceSpans":[{inner}]}}"#),
        format!(r#"{{"resourceSpans":[{old}]}}"#),
        format!(r#"{{"result":{{"resourceSpans":[{inner}]}}}}"#),
        format!(r#"{{"batches":[{inner}]}}"#),
        format!(r#"{{"trace":{{"batches":[{inner}]}}}}"#),
        format!("{{\"resourceSpans\":[{}]}}\n{{\"resourceSpans\":[]}}\n", inner.replace('\n', "")),
    ] {
        let (set, report) = read(&text);
        assert_eq!(rows(&set), expected, "{text}");
        assert_eq!((report.format.as_str(), report.traces, report.spans), ("otlp", 1, 2), "{text}");
    }
}

#[test]
fn zipkin_spans_with_a_shared_id_become_client_and_server() {
    let text = r#"[[{"traceId":"a","id":"1","kind":"SERVER","name":"get","timestamp":100,"duration":90,
        "localEndpoint":{"serviceName":"gate"}},
      {"traceId":"a","id":"2","parentId":"1","kind":"CLIENT","name":"call","timestamp":110,"duration":70,
        "localEndpoint":{"serviceName":"gate"},"tags":{"error":"refused"}},
      {"traceId":"a","id":"2","parentId":"1","kind":"SERVER","shared":true,"name":"call","timestamp":120,"duration":50,
        "localEndpoint":{"serviceName":"shop"}},
      {"traceId":"a","id":"3","parentId":"2","name":"below","timestamp":130,"localEndpoint":{"serviceName":"shop"}}]]"#;
    let (set, report) = read(text);
    assert_eq!(report.format, "zipkin-v2");
    let id = |i: u64| format!("{i:016x}");
    assert_eq!(
        rows(&set),
        [
            format!("0000000a {} <> gate/get 100+90 Server false", id(1)),
            format!("0000000a {} <{}> gate/call 110+70 Client true", id(2), id(1)),
            format!("0000000a {} <{}> shop/call 120+50 Server false", id(2), id(2)),
            format!("0000000a {} <{}> shop/below 130+0 Unspecified false", id(3), id(2)),
        ]
    );
}

#[test]
fn a_zipkin_v1_span_with_both_sides_becomes_two() {
    let at = |service: &str| format!(r#""endpoint":{{"serviceName":"{service}","ipv4":"10.0.0.1"}}"#);
    let (gate, shop) = (at("gate"), at("shop"));
    let text = format!(
        r#"[{{"traceId":"a","id":"2","name":"call","annotations":[
            {{"timestamp":100,"value":"cs",{gate}}},{{"timestamp":110,"value":"sr",{shop}}},
            {{"timestamp":180,"value":"ss",{shop}}},{{"timestamp":190,"value":"cr",{gate}}}],
            "binaryAnnotations":[{{"key":"http.status_code","value":"500",{shop}}}]}}]"#
    );
    let (set, report) = read(&text);
    assert_eq!(report.format, "zipkin-v1");
    let id = format!("{:016x}", 2);
    assert_eq!(
        rows(&set),
        [
            format!("0000000a {id} <{id}> shop/call 110+70 Server true"),
            format!("0000000a {id} <> gate/call 100+90 Client false"),
        ]
    );
}

#[test]
fn what_an_sdk_prints_is_read_one_after_the_other() {
    let span = |id: &str, parent: &str| {
        format!(
            r#"{{"Name":"work","SpanContext":{{"TraceID":"{:032x}","SpanID":"{id}"}},
            "Parent":{{"TraceID":"{:032x}","SpanID":"{parent}"}},"SpanKind":1,
            "StartTime":"1970-01-01T00:00:01.000005Z","EndTime":"1970-01-01T01:00:01.000025+01:00",
            "Attributes":null,"Status":{{"Code":"Unset"}},
            "Resource":[{{"Key":"service.name","Value":{{"Type":"STRING","Value":"cli"}}}}]}}"#,
            10, 10
        )
    };
    let text = format!(
        "{}\n{}",
        span("00000000000000b1", "0000000000000000"),
        span("00000000000000b2", "00000000000000b1")
    );
    let (set, report) = read(&text);
    assert_eq!((report.format.as_str(), report.spans), ("otel-stdout", 2));
    assert_eq!(set.kind(0), SpanKind::Internal);
    assert_eq!(
        rows(&set),
        [
            "0000000a 00000000000000b1 <> cli/work 1000005+20 Internal false",
            "0000000a 00000000000000b2 <00000000000000b1> cli/work 1000005+20 Internal false",
        ]
    );
}

#[test]
fn spans_of_one_trace_meet_over_files_and_formats() {
    let mut set = TraceSet::new();
    // Of some the services or ids are others.
    let others = ["next-trace", "phoenix", "langfuse", "langsmith", "skywalking", "xray"];
    for (format, _) in TARGETS[..FORMATS].iter().filter(|(format, _)| !others.contains(format)) {
        for (_, bytes) in fixture_files(format) {
            let mut reader = Reader::new("input", ReadOptions::default());
            reader.feed(&bytes, &mut set).unwrap();
            reader.finish(&mut set);
        }
    }
    set.seal().unwrap();
    assert_eq!((set.traces().len(), set.spans()), (1, 3));
}

#[test]
fn a_cut_text_of_single_spans_keeps_every_complete_span() {
    // All spans in one object, or no JSON, in which places count otherwise.
    let others =
        ["query.json", "download.json", "frame.json", "batch.json", "tree.json", "trace.json", "list.json"];
    for (format, _) in &TARGETS[2..FORMATS] {
        for (file, bytes) in fixture_files(format) {
            let name = file.file_name().unwrap().to_str().unwrap();
            let is_other = others.contains(&name) && *format != "langfuse" && *format != "honeycomb";
            if is_other || name.ends_with(".csv") || name.ends_with(".txt") || *format == "skywalking" {
                continue;
            }
            let whole = rows(&read(&bytes).0);
            // The id of the last span, as the format writes it.
            let ids = [
                &b"00000000000000b3"[..],
                b"AAAAAAAAALM=",
                b"\0\0\0\0\0\0\0\xb3",
                b"id\":179",
                b"span_id\": 179",
                b"\"179\"",
            ];
            let last =
                ids.iter().filter_map(|id| bytes.windows(id.len()).rposition(|part| part == *id)).max();
            let last = last.unwrap();
            let (set, report) = read(&bytes[..last + 16]);
            let kept = rows(&set);
            assert!(kept.iter().all(|row| whole.contains(row)), "{}: {kept:?}", file.display());
            assert!(kept.len() >= 2, "{}: {kept:?}", file.display());
            let is_cut = matches!(report.ended, Ended::Cut { offset } if offset == last as u64 + 16);
            assert!(is_cut, "{}: {:?}", file.display(), report.ended);
            assert_eq!(report.problems.last().map(|p| p.kind), Some(ProblemKind::Truncated));
        }
    }
}

#[test]
fn a_row_of_cassandra_has_negative_decimal_ids() {
    let row = |id: &str, parent: &str| {
        format!(
            r#"{{"trace_id":"0x0000000000000000000000000000000a","span_id":{id},"span_hash":-7,"parent_id":{parent},
            "operation_name":"q","refs":null,"start_time":5,"duration":"4","process":{{"service_name":"shop","tags":null}},
            "tags":[{{"key":"error","value_type":"bool","value_string":"","value_bool":true}}],
            "logs":[{{"ts":6,"fields":[{{"key":"event","value_type":"string","value_string":"error"}},
                {{"key":"message","value_type":"string","value_string":"refused"}}]}}]}}"#
        )
    };
    let (set, report) = read(format!("[{},{}]", row("-1", "0"), row("\"-2\"", "-1")));
    assert_eq!(report.format, "jaeger-cassandra");
    assert!(report.problems.is_empty(), "{report:?}");
    assert_eq!(
        rows(&set),
        [
            "0000000a fffffffffffffffe <ffffffffffffffff> shop/q 5+4 Unspecified true",
            "0000000a ffffffffffffffff <> shop/q 5+4 Unspecified true",
        ]
    );
    let tags: Vec<_> = set.tags.get(set.tag_set(0)).collect();
    assert_eq!((tags, set.logs), (vec![("error", "true"), ("error.message", "refused")], 2));
}

#[test]
fn a_damaged_message_of_many_costs_itself_only() {
    let whole = std::fs::read(
        std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/fixtures/ingest/otlp-protobuf/collector.pb"),
    );
    let mut bytes = whole.unwrap();
    let length = u32::from_be_bytes(*bytes.first_chunk().unwrap()) as usize;
    // The length of the scope in the first message says more than there is.
    let scope = bytes.windows(6).position(|at| at[0] == 0x12 && at[3..] == [0x0a, 0x0b, 0x0a]).unwrap();
    (bytes[scope + 1], bytes[scope + 2]) = (0xff, 0x7f);
    let (set, report) = read(&bytes);
    assert_eq!((set.spans(), report.ended.clone()), (1, Ended::Whole), "{report:?}");
    assert_eq!(report.problems.iter().map(|p| p.kind).collect::<Vec<_>>(), [ProblemKind::BadSyntax]);
    assert!(report.problems[0].example.offset < length as u64);
}
