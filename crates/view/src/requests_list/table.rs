//! The slowest requests; each opens its timeline.

use crate::address::TraceChoice;
use crate::table::{Column, Table, Unit, Width};
use pathlight_backend::source::jaeger_id;
use pathlight_base::format;
use pathlight_engine::flame::{RequestRow, RequestsReport};
use pathlight_engine::requests::RequestRef;

/// Requests listed at most; more are reached by a narrower percentile range.
pub const LISTED: u32 = 10_000;

impl TraceChoice {
    /// Returns the choice of a request by its ids; a request without a root span is the whole trace.
    pub fn of_request(trace_id: &str, root_span_id: &str) -> TraceChoice {
        TraceChoice {
            trace_id: trace_id.to_owned(),
            root_span_id: Some(root_span_id.to_owned()).filter(|id| !id.is_empty()),
            ..TraceChoice::default()
        }
    }
}

impl From<&RequestRow> for TraceChoice {
    fn from(row: &RequestRow) -> TraceChoice {
        TraceChoice::of_request(&row.trace_id, &row.root_span_id)
    }
}

impl From<&RequestRef> for TraceChoice {
    fn from(request: &RequestRef) -> TraceChoice {
        TraceChoice::of_request(&request.trace_id, &request.root_span_id)
    }
}

/// Returns what stands above the table; `label` says which requests the view speaks of.
pub fn note(label: &str, report: &RequestsReport) -> String {
    let (all, listed) = (report.facts.requests, report.rows.len() as u64);
    if all > listed && listed >= LISTED.into() {
        let (listed, all) = (format::count(listed), format::count(all));
        return format!(
            "The slowest {listed} of {all} requests; narrow the percentile range to reach the others. A click opens the \
             timeline."
        );
    }
    format!("{label}. A click opens the timeline.")
}

/// Returns the table.
pub fn table() -> Table<RequestRow> {
    let columns = vec![
        Column::duration("latency", "Latency", "Duration of the request", |row: &RequestRow| {
            row.latency_us.into()
        }),
        Column::endpoint("Request", "Endpoint of the request's root span", |row: &RequestRow| {
            (&row.service, &row.operation)
        }),
        Column::number(Unit::Moment, "start", "Start (UTC)", "When it began", |row: &RequestRow| {
            row.start_us.into()
        })
        .low(2),
        Column::count("spans", "Spans", "Spans of the request", |row: &RequestRow| row.spans.into()).low(2),
        Column::count("path", "On path", "Spans on the critical path", |row: &RequestRow| {
            row.path_spans.into()
        })
        .low(3),
        Column::count("errors", "Errors", "Error spans", |row: &RequestRow| row.errors.into()).low(2),
        Column::text("trace", "Trace", "Trace id", |row: &RequestRow| jaeger_id(&row.trace_id).into())
            .by(|a, b| a.trace_id.cmp(&b.trace_id))
            .low(3)
            .width(Width::Id),
        Column::text(
            "caller",
            "Caller",
            "Whether the span that made the request is missing",
            |row: &RequestRow| {
                let words = if row.is_incomplete { "not recorded" } else { "" };
                words.into()
            },
        )
        .low(3),
    ];
    Table::new("requests", "Requests", ("latency", true), columns)
        .with_attributes(|row| {
            vec![
                ("data-test", "request".to_owned()),
                ("data-trace", row.trace_id.clone()),
                ("data-value", row.latency_us.to_string()),
            ]
        })
        .search(|row, finder| {
            finder.fits_request(
                &row.trace_id,
                &row.root_span_id,
                &[&row.service, &row.operation, &row.trace_id],
            )
        })
}
