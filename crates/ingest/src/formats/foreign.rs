//! Files of other tools that people drop and that are not read, recognised by their keys, with the way to traces that are read.
//!
//! Only inputs that were not recognised are compared with this list (`judge`), so a signature need not be strict.

use std::collections::BTreeSet;

/// A kind of file that is not read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Foreign {
    /// What it is, with its article.
    pub what: &'static str,
    /// How to get traces that are read, in one sentence or two.
    pub next: &'static str,
    /// Keys of JSON that it has, all of them, wherever they stand; or `text`.
    keys: &'static [&'static str],
    /// What its first line, or one of its lines, begins with.
    text: &'static str,
    /// Other formats have the same keys, those that are read among them.
    pub is_vague: bool,
}

/// How to get traces out of a tool that takes OTLP itself, or whose agents a collector understands.
const COLLECTOR: &str = "Send the same spans through an OpenTelemetry Collector and write them with its file exporter, or \
                         send OTLP to pathlight listen.";
/// How to get traces out of a program that prints its spans.
const EXPORTER: &str = "Let the program export OTLP over HTTP in place of printing, to pathlight listen or to an \
                        OpenTelemetry Collector with the file exporter.";
/// How to get traces where there are none.
const NO_TRACES: &str = "It holds no spans of requests. Export traces from the tracing backend (Jaeger, Tempo, Zipkin), or \
                         OTLP from an OpenTelemetry Collector.";
const DATADOG: &str = "Let the Datadog agents or libraries send to an OpenTelemetry Collector with the datadog receiver, and \
                       write the spans with its file exporter.";
const GRAFANA: &str = "Choose Inspector, Data, Download traces in Grafana instead, or fetch the traces from Tempo: pathlight \
                       fetch --tempo.";

const fn json(what: &'static str, keys: &'static [&'static str], next: &'static str) -> Foreign {
    Foreign { what, next, keys, text: "", is_vague: false }
}

const fn text(what: &'static str, text: &'static str, next: &'static str) -> Foreign {
    Foreign { what, next, keys: &[], text, is_vague: false }
}

/// A list of spans of nobody knows whom.
const fn spans(keys: &'static [&'static str]) -> Foreign {
    Foreign { is_vague: true, ..json("a list of spans in a form that is not known", keys, COLLECTOR) }
}

/// All of them; of several that fit the first counts, so kinds with few keys stand last.
const FOREIGN: [Foreign; 47] = [
    json(
        "the list of traces that a search in Tempo gives, without their spans",
        &["traces", "traceID", "rootServiceName"],
        "Fetch the traces themselves: pathlight fetch --tempo, or Tempo's /api/traces with each id.",
    ),
    json("a table of Grafana (a data frame) and no trace", &["schema", "fields", "data", "values"], GRAFANA),
    json("an answer of Grafana with tables (data frames)", &["results", "frames"], GRAFANA),
    text("a table of spans from Grafana (CSV)", "\"traceID\",\"spanID\"", GRAFANA),
    text("a table of spans from Grafana (CSV)", "traceID,spanID", GRAFANA),
    json("a Datadog export", &["trace_id", "span_id", "resource", "service"], DATADOG),
    json("a Datadog export", &["resource_name", "span_id", "trace_id"], DATADOG),
    json(
        "an AWS X-Ray export",
        &["Segments", "Document"],
        "Let the X-Ray SDKs send to an OpenTelemetry Collector with the awsxray receiver, and write the spans with its file \
         exporter.",
    ),
    json("AWS X-Ray segments", &["trace_id", "start_time", "end_time", "subsegments"], COLLECTOR),
    json("spans of Elastic APM", &["processor", "trace", "timestamp"], COLLECTOR),
    json("events that an Elastic APM agent sends", &["metadata", "transaction"], COLLECTOR),
    json("events that an Elastic APM agent sends", &["transaction_id", "trace_id", "timestamp"], COLLECTOR),
    json("a Sentry event", &["event_id", "contexts", "timestamp"], COLLECTOR),
    json("spans of Sentry", &["start_timestamp", "timestamp", "op"], COLLECTOR),
    json("a New Relic export", &["trace.id", "timestamp"], COLLECTOR),
    json(
        "segments of a SkyWalking agent",
        &["traceSegmentId", "spans"],
        "Let the SkyWalking agents send to an OpenTelemetry Collector with the skywalking receiver, and write the spans with \
         its file exporter.",
    ),
    json(
        "a trace from SkyWalking's API",
        &["segmentId", "spanId", "serviceCode"],
        "Let the SkyWalking agents send to an OpenTelemetry Collector with the skywalking receiver, and write the spans with \
         its file exporter.",
    ),
    json(
        "a trace of Chrome or Perfetto (events of one program)",
        &["traceEvents"],
        "Open it in ui.perfetto.dev. Pathlight reads traces of requests between services.",
    ),
    json(
        "a trace of Chrome or Perfetto (events of one program)",
        &["ph", "ts", "pid"],
        "Open it in ui.perfetto.dev. Pathlight reads traces of requests between services.",
    ),
    json(
        "a profile of speedscope",
        &["profiles", "shared", "frames"],
        "Open it in speedscope.app. Pathlight reads traces.",
    ),
    json(
        "a profile of Firefox",
        &["threads", "libs", "meta"],
        "Open it in profiler.firefox.com. Pathlight reads traces.",
    ),
    json(
        "a CPU profile of V8",
        &["nodes", "callFrame"],
        "Open it in speedscope.app. Pathlight reads traces.",
    ),
    json(
        "a recording of a browser's network (HAR)",
        &["log", "entries", "request"],
        "It holds the requests of one page and no spans of services. Export traces of the services behind it.",
    ),
    json("logs in OTLP", &["resourceLogs"], NO_TRACES),
    json("metrics in OTLP", &["resourceMetrics"], NO_TRACES),
    json("profiles in OTLP", &["resourceProfiles"], NO_TRACES),
    json("an answer of Loki or Prometheus", &["resultType", "result"], NO_TRACES),
    json("a table of Azure Monitor (Application Insights)", &["tables", "columns", "rows"], COLLECTOR),
    json(
        "rows of the collector's ClickHouse table otel_traces",
        &["TraceId", "SpanId", "SpanName"],
        COLLECTOR,
    ),
    json("a trace of Google Cloud Trace", &["projectId", "traceId", "spans"], COLLECTOR),
    json("spans of Honeycomb", &["trace.trace_id", "trace.span_id"], COLLECTOR),
    json(
        "spans of OpenSearch Trace Analytics (Data Prepper)",
        &["traceGroup", "spanId", "traceId"],
        COLLECTOR,
    ),
    json("a Langfuse export", &["parentObservationId"], COLLECTOR),
    json("LangSmith runs", &["run_type", "trace_id"], COLLECTOR),
    json("spans of Arize Phoenix", &["context", "span_kind", "trace_id", "span_id"], COLLECTOR),
    json(
        "what the console exporter of OpenTelemetry for Python prints",
        &["context", "trace_id", "span_id"],
        EXPORTER,
    ),
    json("spans of OpenTelemetry for JavaScript as objects", &["spanContext", "startTime"], EXPORTER),
    text("what the console exporter of OpenTelemetry for JavaScript prints", "traceId: '", EXPORTER),
    text("what the console exporter of OpenTelemetry for .NET prints", "Activity.TraceId:", EXPORTER),
    text("what the console exporter of OpenTelemetry for Rust prints", "Spans\nResource", EXPORTER),
    spans(&["traceId", "spanId"]),
    spans(&["traceID", "spanID"]),
    spans(&["trace_id", "span_id"]),
    json("a log", &["level", "msg"], NO_TRACES),
    json("a log", &["level", "message"], NO_TRACES),
    json("a log", &["severity", "message"], NO_TRACES),
    json("a log", &["log.level", "message"], NO_TRACES),
];

/// Returns what a text is, by its beginning.
pub(crate) fn of(head: &[u8]) -> Option<Foreign> {
    let keys = keys(head);
    let begins = |line: &[u8], with: &str| line.trim_ascii_start().starts_with(with.as_bytes());
    let has_text = |with: &str| match with.split_once('\n') {
        Some(_) => begins(head, with),
        None => head.split(|&byte| byte == b'\n').any(|line| begins(line, with)),
    };
    FOREIGN.into_iter().find(|of| match of.text {
        "" => of.keys.iter().all(|&key| keys.contains(key.as_bytes())),
        text => has_text(text),
    })
}

/// Returns every text in quotes that a colon follows, as it stands there.
pub(crate) fn keys(text: &[u8]) -> BTreeSet<&[u8]> {
    let mut keys = BTreeSet::new();
    let mut at = 0;
    while let Some(quote) = text.get(at..).and_then(|rest| memchr::memchr(b'"', rest)) {
        let start = at + quote + 1;
        let mut end = start;
        while let Some(&byte) = text.get(end).filter(|&&byte| byte != b'"') {
            end += if byte == b'\\' { 2 } else { 1 };
        }
        let Some(after) = text.get(end + 1..) else { break };
        if after.trim_ascii_start().first() == Some(&b':') {
            keys.insert(&text[start..end]);
        }
        at = end + 1;
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_distinguished_from_values() {
        let found = keys(br#"{"a":"b","c\"":[{"d" : 1}],"e"#);
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [&b"a"[..], b"c\\\"", b"d"]);
    }

    #[test]
    fn the_more_exact_signature_counts() {
        let what = |text: &str| of(text.as_bytes()).map(|of| of.what);
        assert_eq!(
            what(r#"[{"traceId":"1","spanId":"2"}]"#),
            Some("a list of spans in a form that is not known")
        );
        assert_eq!(what(r#"{"trace_id":"1","run_type":"llm","span_id":"2"}"#), Some("LangSmith runs"));
        assert_eq!(what(r#"{"menu":"traceEvents"}"#), None);
        assert_eq!(
            what("{\n  traceId: '4bf9',\n"),
            Some("what the console exporter of OpenTelemetry for JavaScript prints")
        );
    }
}
