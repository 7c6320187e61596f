//! The formats, and what reports call them.

/// The names of formats, in the order of [`Format`]; those of tables (`rows/tables/`) follow.
pub(crate) const FORMATS: [&str; 35] = [
    "jaeger",
    "jaeger-ui",
    "jaeger-spans",
    "elasticsearch",
    "otlp",
    "zipkin-v2",
    "zipkin-v1",
    "otel-stdout",
    "pathlight",
    "otlp-protobuf",
    "jaeger-protobuf",
    "jaeger-cassandra",
    "next-trace",
    "summary",
    "otel-python",
    "otel-js",
    "otel-dotnet",
    "otel-rust",
    "clickhouse",
    "signoz",
    "elastic-apm",
    "data-prepper",
    "datadog",
    "xray",
    "skywalking",
    "honeycomb",
    "new-relic",
    "phoenix",
    "langfuse",
    "langsmith",
    "google-cloud-trace",
    "app-insights",
    "sentry",
    "grafana",
    "rows",
];

/// A format with a reader of its own that was recognised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Format {
    /// Whole traces with a process table.
    Jaeger = 0,
    /// Whole traces, a process in every span.
    JaegerUi = 1,
    /// Single Jaeger spans with their process (the anonymizer's).
    JaegerSpans = 2,
    /// Single Jaeger spans as Elasticsearch keeps them.
    Elasticsearch = 3,
    /// OpenTelemetry protocol.
    Otlp = 4,
    /// Zipkin.
    Zipkin2 = 5,
    /// Old Zipkin.
    Zipkin1 = 6,
    /// What OpenTelemetry SDKs print.
    OtelStdout = 7,
    /// Columns of a saved report.
    Columns = 8,
    /// OpenTelemetry protocol in its binary form.
    OtlpProtobuf = 9,
    /// What Next.js writes into `.next/trace`.
    NextTrace = 12,
    /// A summary of traces.
    Summary = 13,
}
