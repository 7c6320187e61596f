//! Aggregate traces as Jaeger JSON.

use super::AggregateTrace;
use pathlight_base::sort::CompactSort as _;
use serde_json::{Value, json};

/// Start of an aggregate trace in Jaeger JSON, in microseconds: Jaeger shows nothing for a trace at 0.
const EPOCH_US: u64 = 1_600_000_000_000_000;

/// Returns the aggregate traces as a Jaeger API response, for Jaeger UI.
///
/// # Errors
/// Only if serde_json refuses a string, which it does not.
pub fn to_jaeger(traces: &[AggregateTrace]) -> serde_json::Result<String> {
    let data: Vec<Value> = traces.iter().map(AggregateTrace::to_jaeger).collect();
    serde_json::to_string(
        &json!({ "data": data, "total": data.len(), "limit": 0, "offset": 0, "errors": null }),
    )
}

impl AggregateTrace {
    /// Returns one trace of a Jaeger API response; starts and ends are rounded, halves up.
    fn to_jaeger(&self) -> Value {
        let trace_id = format!("{:032x}", u64::from(self.number) + 1);
        let span_id = |i: u64| format!("{:016x}", i + 1);
        let mut services: Vec<&str> = self.spans.iter().map(|s| s.service.as_str()).collect();
        services.compact_sort();
        services.dedup();
        let process = |service: &str| format!("p{}", services.partition_point(|s| *s < service) + 1);
        let spans = self.spans.iter().enumerate().map(|(i, span)| {
            let references: Vec<Value> = span
                .parent
                .iter()
                .map(|&p| json!({ "refType": "CHILD_OF", "traceID": trace_id, "spanID": span_id(p.into()) }))
                .collect();
            let tag = |key: &str, value: String| json!({ "key": key, "type": "string", "value": value });
            let mut tags = vec![
                tag("tprof.traces", self.traces.to_string()),
                tag("tprof.p50_us", span.duration_us.p50.unwrap_or_default().to_string()),
                tag("tprof.p99_us", span.duration_us.p99.unwrap_or_default().to_string()),
            ];
            tags.extend(span.subspans.iter().enumerate().map(|(index, subspan)| {
                let is_problem =
                    self.problem.is_some_and(|p| p.span as usize == i && p.subspan as usize == index);
                let mark = if is_problem { " PROBLEMATIC" } else { "" };
                tag(&format!("tprof.subspan.{index}"), format!("{} us{mark}", subspan.duration_us.mean))
            }));
            json!({
                "traceID": trace_id, "spanID": span_id(i as u64), "flags": 1, "operationName": span.operation,
                "references": references, "startTime": EPOCH_US + span.start_rounded_us,
                "duration": span.end_rounded_us - span.start_rounded_us, "tags": tags, "logs": [],
                "processID": process(&span.service), "warnings": null,
            })
        });
        let spans: Vec<Value> = spans.collect();
        let processes: serde_json::Map<String, Value> = services
            .iter()
            .map(|service| (process(service), json!({ "serviceName": service, "tags": [] })))
            .collect();
        json!({ "traceID": trace_id, "spans": spans, "processes": processes, "warnings": null })
    }
}
