//! Rows of other tools: each file is read with the right values.

use crate::common::replay::{FORMATS, TARGETS, project, read};
use pathlight::ingest::{Ended, FileReport, ProblemKind, ReadOptions, ReadRules, Reader};
use pathlight::trace::{Flags, TraceSet};

/// What is in a file: its format, and parent, service, operation, start and duration in microseconds, kind and error of its
/// spans; none if it is refused.
type Right = (&'static str, &'static str, &'static [&'static str]);

/// The same two spans in most: a request of 100 ms, and a call of 60 ms within.
const CART: &str = "<> shop/GET /cart +0 100000 Server";
const GET: &str = "<> shop/GET +0 100000 Server";

/// Small files of each tool, as somebody else wrote them. Starts are after 2026-01-05T10:00:00Z.
const FILES: [Right; 37] = [
    (
        "15-python-console-lines.json",
        "otel-python",
        &[
            "<> agent/run agent +0 100000 Server",
            "<0000000000001001> agent/chat model +10000 80000 Client",
            "<0000000000001002> agent/tool call +30000 40000 Internal",
        ],
    ),
    (
        "15-python-console-pretty.json",
        "otel-python",
        &[
            "<> agent/run agent +0 100000 Server",
            "<0000000000001001> agent/chat model +10000 80000 Client",
            "<0000000000001002> agent/tool call +30000 40000 Internal",
        ],
    ),
    (
        "25-opensearch-dataprepper.json",
        "data-prepper",
        &[
            "<> frontend/client_checkout +0 100000 Client",
            "<0000000000001001> inventory/update_inventory +10000 60000 Server error",
        ],
    ),
    ("27-grafana-frame.json", "", &[]),
    ("azure-appinsights.json", "app-insights", &["<> unknown-service/GET /cart +0 100000 Unspecified"]),
    ("chrome-trace.json", "", &[]),
    (
        "clickhouse-otel_traces-json.json",
        "clickhouse",
        &[CART, "<00f067aa0ba902b7> shop/SELECT +10000 60000 Client error"],
    ),
    (
        "clickhouse-otel_traces.jsonl",
        "clickhouse",
        &[CART, "<00f067aa0ba902b7> shop/SELECT +10000 60000 Client error"],
    ),
    ("datadog-spans-api.json", "datadog", &["<> shop/GET /cart +0 100000 Unspecified"]),
    (
        "datadog-ui-download.json",
        "datadog",
        &[
            "<> shop/GET /cart +0 100000 Unspecified",
            "<0000000000000001> mysql/SELECT +10000 60000 Unspecified",
        ],
    ),
    (
        "datadog-v04.json",
        "datadog",
        &[
            "<> shop/GET /cart +0 100000 Unspecified",
            "<0000000000000001> mysql/SELECT +10000 60000 Unspecified error",
        ],
    ),
    ("dotnet-console.txt", "otel-dotnet", &["<> unknown-service/GET /cart +0 100000 Server"]),
    (
        "elastic-apm-docs.json",
        "elastic-apm",
        &[CART, "<00f067aa0ba902b7> shop/SELECT +10000 60000 Unspecified"],
    ),
    (
        "elastic-apm-intake.ndjson",
        "elastic-apm",
        &[CART, "<00f067aa0ba902b7> shop/SELECT +10000 60000 Client"],
    ),
    ("gcp-cloud-trace-list.json", "google-cloud-trace", &["<> p//cart +0 100000 Server"]),
    (
        "gcp-cloud-trace-v1.json",
        "google-cloud-trace",
        &["<> p//cart +0 100000 Server", "<0000000000000001> p/Spanner.Read +10000 60000 Client"],
    ),
    ("grafana-download-tempo.json", "otlp", &["<> shop/GET /cart +0 100000 Server error"]),
    ("grafana.csv", "grafana", &["<> shop/GET /cart +0 100000 Unspecified"]),
    ("highlight-like-rows.json", "rows", &["<> shop/GET +0 100000 Unspecified"]),
    ("hypothetical-honeycomb.jsonl", "honeycomb", &["<> shop/GET /cart +0 100000 Unspecified"]),
    ("js-console-exporter.txt", "otel-js", &[GET]),
    ("js-readablespan.json", "otel-js", &[GET]),
    (
        "langfuse-observations.json",
        "langfuse",
        &["<> agent/agent +0 3000000 Unspecified", "<o1> agent/llm +500000 2000000 Unspecified"],
    ),
    (
        "langfuse-trace.json",
        "langfuse",
        &["<> agent/agent +0 3000000 Unspecified", "<o1> agent/llm m +500000 2000000 Unspecified"],
    ),
    (
        "langsmith-runs.jsonl",
        "langsmith",
        &[
            "<> agent/AgentExecutor +0 3000000 Unspecified",
            "<018d3b5e-0000-7000-8000-000000000001> agent/ChatOpenAI +500000 2000000 Unspecified",
        ],
    ),
    ("newrelic-traces.json", "new-relic", &["<> shop//cart +0 100000 Unspecified"]),
    ("otlp-float-times.json", "otlp", &["<> unknown-service/GET +0 100000 Server"]),
    ("otlp-long-objects.json", "otlp", &["<> unknown-service/GET +0 100000 Server"]),
    ("otlp-snake-case.json", "otlp", &[GET]),
    ("phoenix-spans.json", "phoenix", &["<> agent/agent +0 3000000 Unspecified"]),
    ("rust-stdout.txt", "otel-rust", &["<> shop/GET +0 100000 Unspecified"]),
    (
        "sentry-event.json",
        "sentry",
        &["<> sentry//cart +0 100000 Server", "<00f067aa0ba902b7> sentry/SELECT +10000 60000 Client"],
    ),
    (
        "skywalking-collector-segment.json",
        "skywalking",
        &["<> shop//cart +0 100000 Server", "<a.b.1.0> shop/mysql +10000 60000 Client"],
    ),
    (
        "skywalking-querytrace.json",
        "skywalking",
        &["<> shop//cart +0 100000 Server", "<seg1.0> shop/Mysql/JDBI/executeQuery +10000 60000 Client"],
    ),
    ("tempo-search.json", "", &[]),
    ("traceloop-flat.json", "rows", &["<> shop/GET +0 100000 Unspecified"]),
    (
        "xray-batch-get-traces.json",
        "xray",
        &[
            "<> api/api -171040894500000 100000 Unspecified",
            "<88ad1df59cd7a7be> api/DynamoDB -171040894490000 60000 Client",
        ],
    ),
];

/// Returns the spans of a file as [`FILES`] tells them, read in several ways that all give the same.
fn spans(bytes: &[u8]) -> (Vec<String>, FileReport) {
    let whole = read(bytes, false, 1, || usize::MAX);
    for (reference, chunk) in [(true, usize::MAX), (false, 7), (true, 100)] {
        assert_eq!(read(bytes, reference, 1, || chunk), whole, "{}", String::from_utf8_lossy(bytes));
    }
    let mut set = TraceSet::new();
    let mut reader = Reader::new("input", ReadOptions::default());
    let _ = reader.feed(bytes, &mut set);
    let report = reader.finish(&mut set);
    set.seal().unwrap();
    let rows = set.traces().iter().flat_map(|trace| trace.rows());
    let spans = rows.map(|row| {
        let parent = set.parent(row);
        let parent = if parent == u32::MAX { String::new() } else { set.span_id_text(parent) };
        let (service, operation) = set.endpoint_name(set.endpoint(row));
        let error = if set.flags(row).has(Flags::ERROR) { " error" } else { "" };
        let start_us = set.start_us(row) as i64 - 1_767_607_200_000_000;
        let (duration_us, kind) = (set.duration_us(row), set.kind(row));
        format!("<{parent}> {service}/{operation} {start_us:+} {duration_us} {kind:?}{error}")
    });
    (spans.collect(), report)
}

/// Checks a file; returns its spans or why it is refused, in words.
fn check((name, format, right): Right, bytes: &[u8]) -> String {
    let (spans, report) = spans(bytes);
    assert_eq!(
        (report.format.as_str(), &spans[..]),
        (format, &right.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()[..]),
        "{name}: {report:?}"
    );
    match &report.ended {
        Ended::Failed(error) => {
            assert!(right.is_empty() && error.next.len() > 40, "{name}: {error}");
            format!("refused: {}", error.reason)
        }
        ended => {
            assert!(!right.is_empty() && *ended == Ended::Whole, "{name}: {ended:?}");
            spans.join("; ")
        }
    }
}

#[test]
fn a_file_of_every_tool_is_read_with_the_right_values() {
    let folder = project("tests/fixtures/recognition/foreign");
    for right in FILES {
        check(right, &std::fs::read(folder.join(right.0)).unwrap());
    }
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
    assert_eq!(files.count(), FILES.len());
}

/// The files as they are kept beside the project, with those that came since.
#[test]
fn every_file_beside_the_project_is_known() {
    let Some(data) = crate::common::shared_data(1) else { return };
    let folder = data.join("../cases/formats");
    let mut table = Vec::new();
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        let right = FILES.iter().find(|right| right.0 == name);
        let right = *right.unwrap_or_else(|| panic!("{name} is not known"));
        let found = check(right, &std::fs::read(file.path()).unwrap());
        table.push(format!("| {name} | {} | {found} |", right.1));
    }
    table.sort();
    // For notes: `--nocapture` shows it.
    println!("| file | format | spans |\n|---|---|---|\n{}", table.join("\n"));
}

/// A record of each format that may be one line: `@` is its number, `#` its start.
const LINES: [(&str, &str); 17] = [
    (
        "otel-python",
        r#"{"name":"op@","context":{"trace_id":"0x@","span_id":"0x@"},"kind":"SpanKind.SERVER","parent_id":null,"start_time":#,"end_time":"2026-01-05T10:00:01Z","status":{"status_code":"UNSET"},"resource":{"attributes":{"service.name":"s"}}}"#,
    ),
    (
        "otel-js",
        r#"{"name":"op@","kind":1,"spanContext":{"traceId":"@","spanId":"@"},"startTime":#,"endTime":[1767607201,0],"duration":[1,0],"attributes":{},"resource":{"attributes":{"service.name":"s"}}}"#,
    ),
    (
        "clickhouse",
        r#"{"Timestamp":#,"TraceId":"@","SpanId":"@","ParentSpanId":"","SpanName":"op@","SpanKind":"Server","ServiceName":"s","Duration":"1000","SpanAttributes":{},"ResourceAttributes":{}}"#,
    ),
    (
        "signoz",
        r#"{"timestamp":#,"trace_id":"@","span_id":"@","parent_span_id":"","name":"op@","duration_nano":5000,"resources_string":{"service.name":"s"}}"#,
    ),
    (
        "elastic-apm",
        r#"{"_source":{"@timestamp":"2026-01-05T10:00:00Z","processor":{"event":"transaction"},"trace":{"id":"@"},"transaction":{"id":"@","name":"op@","duration":{"us":5}},"service":{"name":"s"},"timestamp":{"us":#}}}"#,
    ),
    (
        "data-prepper",
        r#"{"traceId":"@","spanId":"@","parentSpanId":"","name":"op@","startTime":#,"endTime":"2026-01-05T10:00:01Z","durationInNanos":5000,"serviceName":"s"}"#,
    ),
    (
        "datadog",
        r#"[{"trace_id":@,"span_id":@,"parent_id":0,"name":"web","resource":"op@","service":"s","error":0,"meta":{},"start":#,"duration":5000}]"#,
    ),
    (
        "xray",
        r#"{"id":"@","name":"op@","trace_id":"1-@","start_time":#,"end_time":1767607201.5,"http":{},"subsegments":[]}"#,
    ),
    (
        "skywalking",
        r#"{"traceId":"t@","traceSegmentId":"g@","service":"s","spans":[{"operationName":"op@","startTime":#,"endTime":1767607201500,"spanType":0,"spanId":0,"parentSpanId":-1}]}"#,
    ),
    (
        "honeycomb",
        r#"{"Timestamp":#,"trace.trace_id":"@","trace.span_id":"@","name":"op@","service.name":"s","duration_ms":5}"#,
    ),
    (
        "new-relic",
        r#"{"common":{"attributes":{}},"spans":[{"id":"@","trace.id":"@","timestamp":#,"attributes":{"name":"op@","service.name":"s","duration.ms":5}}]}"#,
    ),
    (
        "phoenix",
        r#"{"name":"op@","context":{"trace_id":"@","span_id":"@"},"span_kind":"LLM","parent_id":null,"start_time":#,"end_time":"2026-01-05T10:00:01Z","status_code":"OK"}"#,
    ),
    (
        "langfuse",
        r#"{"id":"@","traceId":"@","type":"SPAN","name":"op@","startTime":#,"endTime":"2026-01-05T10:00:01Z","parentObservationId":null}"#,
    ),
    (
        "langsmith",
        r#"{"id":"@","trace_id":"@","name":"op@","run_type":"llm","start_time":#,"end_time":"2026-01-05T10:00:01","parent_run_id":null}"#,
    ),
    (
        "google-cloud-trace",
        r#"{"projectId":"p","traceId":"@","spans":[{"spanId":"@","name":"op@","startTime":#,"endTime":"2026-01-05T10:00:01Z","labels":{}}]}"#,
    ),
    (
        "sentry",
        r#"{"event_id":"@","transaction":"op@","start_timestamp":#,"timestamp":1767607201.5,"contexts":{"trace":{"trace_id":"@","span_id":"@","op":"http.server"}},"spans":[]}"#,
    ),
    (
        "rows",
        r#"{"trace_id":"@","span_id":"@","parent_span_id":"","span_name":"op@","start_time":#,"end_time":"2026-01-05T10:00:01Z","service_name":"s"}"#,
    ),
];

/// The formats whose records are no lines of JSON: what stands before them, a record as in [`LINES`], and the rest of it.
const BLOCKS: [(&str, &str, &str); 4] = [
    (
        "otel-dotnet",
        "",
        "Activity.TraceId:            @\nActivity.SpanId:             @\nActivity.DisplayName:        op@\n\
         Activity.Kind:               Server\nActivity.StartTime:          #\n\
         Activity.Duration:           00:00:00.0009000\n\n",
    ),
    (
        "otel-rust",
        "Spans\nResource\n\t ->  service.name=String(Owned(\"s\"))\n",
        "Span #0\n\tName         : op@\n\tTraceId      : @\n\tSpanId       : @\n\tParentSpanId : 0000000000000000\n\
         \tKind         : Server\n\tStart time   : #\n\tEnd time     : 2026-01-05 10:00:01.000000\n\
         \tStatus       : Unset\n",
    ),
    (
        "app-insights",
        "timestamp,id,operation_Id,operation_ParentId,name,duration,itemType\n",
        "#,@,@,@,op@,5,request\n",
    ),
    (
        "grafana",
        "traceID,spanID,parentSpanID,operationName,serviceName,startTime,duration\n",
        "@,@,,op@,s,#,5\n",
    ),
];

/// Returns the start of a record as each format writes it.
fn start_of(format: &str) -> &'static str {
    match format {
        "otel-js" => "[1767607200,0]",
        "elastic-apm" => "1767607200000000",
        "datadog" | "signoz" => "1767607200000000000",
        "xray" | "sentry" => "1767607200.5",
        "skywalking" | "new-relic" => "1767607200000",
        _ => "\"2026-01-05T10:00:00Z\"",
    }
}

#[test]
fn a_bad_record_in_the_middle_costs_itself_only() {
    for (format, line) in LINES {
        let write = |n: u64, start: &str| {
            // The key of Elasticsearch begins with the sign too.
            let line = line.replace("\"@timestamp", "\"%timestamp").replace('@', &n.to_string());
            line.replace('%', "@").replace('#', start)
        };
        let lines = |bad: &str| {
            let lines = (11..=41).map(|n| write(n, if n == 26 { bad } else { start_of(format) }));
            lines.collect::<Vec<_>>().join("\n")
        };
        let (all, report) = spans(lines(start_of(format)).as_bytes());
        assert_eq!((all.len(), report.format.as_str()), (31, format), "{report:?}");
        for bad in ["[true]", "{}", "\"yesterday\""] {
            let (found, report) = spans(lines(bad).as_bytes());
            assert_eq!((found.len(), &report.ended), (30, &Ended::Whole), "{format}, {bad}: {report:?}");
            assert!(found.iter().all(|span| !span.contains("op26")), "{format}: {found:?}");
            assert!(
                report.problems.iter().any(|problem| problem.kind == ProblemKind::WrongType),
                "{format}: {report:?}"
            );
        }
        // A line that is cut costs itself too.
        let text = lines(start_of(format));
        let at = text.find("op26").unwrap();
        let cut = format!("{}{}", &text[..at + 4], &text[at + text[at..].find('\n').unwrap()..]);
        let (found, report) = spans(cut.as_bytes());
        assert_eq!((found.len(), &report.ended), (30, &Ended::Whole), "{format}: {report:?}");
    }
}

#[test]
fn a_bad_record_that_is_no_line_of_json_costs_itself_only() {
    for (format, head, record) in BLOCKS {
        let (start, number) = match format {
            "otel-rust" => ("2026-01-05 10:00:00.000000", "Span #0"),
            "grafana" => ("1767607200000", ""),
            _ => ("2026-01-05T10:00:00.0000000Z", ""),
        };
        let text = |bad: &str| {
            let record = |n: u64| {
                let start = if n == 26 { bad } else { start };
                let (before, after) = record.split_at(number.len());
                format!("{before}{}", after.replace('@', &n.to_string()).replace('#', start))
            };
            head.to_owned() + &(11..=41).map(record).collect::<String>()
        };
        let (all, report) = spans(text(start).as_bytes());
        assert_eq!((all.len(), report.format.as_str()), (31, format), "{report:?}");
        for bad in ["yesterday", "[true]"] {
            let (found, report) = spans(text(bad).as_bytes());
            assert_eq!((found.len(), &report.ended), (30, &Ended::Whole), "{format}, {bad}: {report:?}");
            assert!(found.iter().all(|span| !span.contains("op26")), "{format}: {found:?}");
            assert!(
                report.problems.iter().any(|problem| problem.kind == ProblemKind::WrongType),
                "{format}: {report:?}"
            );
        }
    }
}

#[test]
fn of_every_format_that_a_table_reads_a_record_was_made_bad() {
    let formats = TARGETS[..FORMATS].iter().map(|(name, _)| *name).skip_while(|name| *name != "otel-python");
    for format in formats {
        let is_line = LINES.iter().any(|(name, _)| *name == format);
        assert!(is_line || BLOCKS.iter().any(|(name, ..)| *name == format), "{format}");
    }
}

#[test]
fn rows_of_a_form_of_ones_own_are_read_by_a_mapping_only() {
    let text = std::fs::read(project("tests/fixtures/guess/11-ends.json")).unwrap();
    let (found, report) = spans(&text);
    assert!(found.is_empty());
    let Ended::Failed(error) = &report.ended else { panic!("{report:?}") };
    assert!(error.next.contains("pathlight inspect --guess"), "{error}");
    let guess = report.guess.unwrap();
    let map = guess.mapping.parse().unwrap();
    let rules = ReadRules { maps: vec![map], ..ReadRules::default() };
    let (mut set, options) = (TraceSet::new(), ReadOptions { rules, ..ReadOptions::default() });
    let mut reader = Reader::new("input", options);
    reader.feed(&text, &mut set).unwrap();
    let report = reader.finish(&mut set);
    assert_eq!((report.format.as_str(), report.traces, report.problems.len()), ("rows", 10, 0), "{report:?}");
    set.seal().unwrap();
    // No child begins before its parent: starts are ends less durations.
    for row in 0..set.spans() as u32 {
        let parent = set.parent(row);
        assert!(parent == u32::MAX || set.start_us(row) + 1000 >= set.start_us(parent));
    }
}
