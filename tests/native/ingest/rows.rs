//! Rows of other tools: each file is read with the right values.

use crate::common::replay::{project, read};
use pathlight::ingest::{Ended, FileReport, ReadOptions, Reader};
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
    let rows = set.traces().iter().flat_map(|trace| trace.first..trace.end);
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

fn check((name, format, right): Right, bytes: &[u8]) {
    let (spans, report) = spans(bytes);
    assert_eq!(
        (report.format.as_str(), &spans[..]),
        (format, &right.iter().map(|s| (*s).to_owned()).collect::<Vec<_>>()[..]),
        "{name}: {report:?}"
    );
    match &report.ended {
        Ended::Failed(error) => assert!(right.is_empty() && error.next.len() > 40, "{name}: {error}"),
        ended => assert!(!right.is_empty() && *ended == Ended::Whole, "{name}: {ended:?}"),
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
    for file in std::fs::read_dir(folder).unwrap() {
        let file = file.unwrap();
        let name = file.file_name().into_string().unwrap();
        let right = FILES.iter().find(|right| right.0 == name);
        check(*right.unwrap_or_else(|| panic!("{name} is not known")), &std::fs::read(file.path()).unwrap());
    }
}
