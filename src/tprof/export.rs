//! The report as JSON, as Markdown for a ticket, and aggregate traces as Jaeger JSON.

use super::aggregate::AggregateTrace;
use super::diagnose::{DiagnosedSpan, DiagnosedType, Verdict};
use super::places::PlaceChange;
use super::traces::TprofReport;
use crate::arrange::Arrange;
use serde_json::{Value, json};
use std::fmt::Write as _;

/// Start of an aggregate trace in Jaeger JSON, in microseconds: Jaeger shows nothing for a trace at 0.
const EPOCH_US: u64 = 1_600_000_000_000_000;

fn time(us: f64) -> String {
    if us < 1e3 {
        format!("{us:.1} µs")
    } else if us < 1e6 {
        format!("{:.2} ms", us / 1e3)
    } else {
        format!("{:.2} s", us / 1e6)
    }
}

impl DiagnosedType {
    /// The request type as one name.
    pub fn name(&self) -> String {
        if self.service.is_empty() {
            self.operation.clone()
        } else {
            format!("{} in {}", self.operation, self.service)
        }
    }

    /// How the slowness is spread, in words.
    pub fn words(&self) -> String {
        let share = 100.0 * self.affected as f64 / self.traces.max(1) as f64;
        let spread = match (self.verdict, self.tail_ratio) {
            (Verdict::Tail, Some(ratio)) => format!("mostly in the tail: {ratio:.1} times the normal"),
            (Verdict::Tail | Verdict::New, _) => "in the tail only".to_owned(),
            (Verdict::Always, Some(ratio)) => format!("not only in the tail: {ratio:.1} times the normal"),
            (Verdict::Always, None) => "without any time of its own".to_owned(),
            (Verdict::Unsplit, _) => "too few traces to tell a tail".to_owned(),
        };
        format!("in {share:.1} % of {} ({} traces), {spread}", self.name(), self.traces)
    }
}

impl DiagnosedSpan {
    /// Where in the span the time goes, in words.
    pub fn words(&self) -> String {
        match (self.subspan, self.children) {
            (_, 0) => "is slow itself; it calls nothing".to_owned(),
            (0, _) => "is slow before its first child".to_owned(),
            (i, n) if i == n => "is slow after its last child".to_owned(),
            (i, _) => format!("is slow between the starts of children {i} and {}", i + 1),
        }
    }
}

impl PlaceChange {
    /// The place in words.
    pub fn name(&self) -> String {
        match (&self.gap_to, self.subspan) {
            (Some(to), _) => format!("the network between {} and {} in {to}", self.service, self.operation),
            (None, i) => format!("subspan {} of {} in {}", i.unwrap_or(0), self.operation, self.service),
        }
    }
}

impl TprofReport {
    /// The JSON of `tprof --json`, see `docs/report-schema.md`.
    ///
    /// # Errors
    /// Only if serde_json refuses a number, which no report holds.
    pub fn to_json(&self) -> serde_json::Result<String> {
        serde_json::to_string_pretty(self)
    }

    /// The report in words, as Markdown.
    pub fn to_markdown(&self) -> String {
        let mut out = format!("# tprof: {} traces\n\n", self.traces);
        // Writing to a String cannot fail.
        if self.has_orphans > 0 {
            let _ = writeln!(out, "{} more have orphans and are left out.\n", self.has_orphans);
        }
        for (place, endpoint) in self.report.iter().enumerate() {
            let _ = writeln!(
                out,
                "{}. **{}** in {}: {} of its own per call, {} calls, {} in all",
                place + 1,
                endpoint.operation,
                endpoint.service,
                time(endpoint.self_us),
                endpoint.count,
                time(endpoint.total_us as f64)
            );
            for kind in &endpoint.types {
                let _ = writeln!(out, "   - {}; {} calls", kind.words(), kind.count);
                for span in &kind.spans {
                    let _ = writeln!(
                        out,
                        "     - {} in {} {}: {} on average ({}, {} spans)",
                        span.name,
                        endpoint.service,
                        span.words(),
                        time(span.mean_us),
                        span.metric,
                        span.count
                    );
                    for group in &span.groups {
                        let _ = writeln!(
                            out,
                            "       - {} of {} in {} traces{}, aggregate trace {}",
                            time(group.subspan_us),
                            time(group.span_us),
                            group.traces,
                            if group.is_local { " (order varies)" } else { "" },
                            group.aggregate_trace
                        );
                    }
                }
            }
        }
        for kind in self.tail.types.iter().filter(|kind| !kind.places.is_empty()) {
            let _ = writeln!(out, "\n## What makes the tail of {} slow\n", kind.operation);
            for place in kind.places.iter().take(5) {
                let range = place.interval.map_or_else(String::new, |range| {
                    format!(", 95 % interval {} to {}", time_signed(range.low), time_signed(range.high))
                });
                let _ = writeln!(
                    out,
                    "- {}: {} more in the tail ({} against {}{range})",
                    place.name(),
                    time_signed(place.change_us),
                    time(place.b_us),
                    time(place.a_us)
                );
            }
        }
        out
    }

    /// The aggregate traces as a Jaeger API response, for Jaeger UI.
    ///
    /// # Errors
    /// Only if serde_json refuses a string, which it does not.
    pub fn to_jaeger(&self) -> serde_json::Result<String> {
        let data: Vec<Value> = self
            .aggregate_traces
            .iter()
            .enumerate()
            .map(|(i, trace)| trace.to_jaeger(i as u64 + 1))
            .collect();
        serde_json::to_string(
            &json!({ "data": data, "total": data.len(), "limit": 0, "offset": 0, "errors": null }),
        )
    }
}

fn time_signed(us: f64) -> String {
    if us < 0.0 { format!("-{}", time(-us)) } else { time(us) }
}

impl AggregateTrace {
    /// One trace of a Jaeger API response; starts and ends are rounded, halves up.
    pub fn to_jaeger(&self, number: u64) -> Value {
        let trace_id = format!("{number:032x}");
        let span_id = |i: u64| format!("{:016x}", i + 1);
        let mut services: Vec<&str> = self.spans.iter().map(|s| s.service.as_str()).collect();
        services.arrange();
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
                tag("tprof.p50_us", span.duration_us.p50.to_string()),
                tag("tprof.p99_us", span.duration_us.p99.to_string()),
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
