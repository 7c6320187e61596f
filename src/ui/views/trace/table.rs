//! The companion table of the timeline: every span of the trace.

use crate::ui::dom::{div, span};
use crate::ui::page::{Focus, Page};
use crate::ui::widgets::export::csv_line;
use crate::ui::widgets::names;
use crate::ui::widgets::table::{Column, Table, What, number};
use pathlight_query::{Endpoint, TraceReport};
use pathlight_text::format;
use std::rc::Rc;

/// A trace with what is summed up over it.
pub struct TraceRows {
    /// The trace.
    pub report: Rc<TraceReport>,
    /// Time of each span's own segments of the critical path in microseconds.
    own_us: Vec<u64>,
}

impl TraceRows {
    /// Sums up a trace.
    pub fn new(report: Rc<TraceReport>) -> TraceRows {
        let mut own_us = vec![0; report.endpoint.len()];
        let times = report.segment_start_us.iter().zip(&report.segment_end_us);
        for (at, (start, end)) in report.segment_span.iter().zip(times) {
            if let Some(sum) = own_us.get_mut(*at as usize) {
                *sum += end.saturating_sub(*start);
            }
        }
        TraceRows { report, own_us }
    }

    /// Duration of the request in microseconds.
    pub fn latency_us(&self) -> u64 {
        self.report.duration_us.get(self.report.request_root as usize).copied().unwrap_or(0)
    }
}

/// A span.
pub struct SpanRow {
    /// Its index.
    pub at: u32,
    /// Its trace.
    pub trace: Rc<TraceRows>,
}

static NOBODY: Endpoint = Endpoint { service: String::new(), operation: String::new() };

impl SpanRow {
    fn name(&self) -> &Endpoint {
        let report = &self.trace.report;
        let endpoint = report.endpoint.get(self.at as usize);
        endpoint.and_then(|at| report.endpoints.get(*at as usize)).unwrap_or(&NOBODY)
    }

    fn of(&self, column: &[u64]) -> u64 {
        column.get(self.at as usize).copied().unwrap_or(0)
    }

    fn depth(&self) -> u32 {
        self.trace.report.depth.get(self.at as usize).copied().unwrap_or(0)
    }

    fn bits(&self) -> u8 {
        self.trace.report.bits.get(self.at as usize).copied().unwrap_or(0)
    }

    fn own(&self) -> u64 {
        self.of(&self.trace.own_us)
    }

    fn start(&self) -> u64 {
        self.of(&self.trace.report.span_start_us)
    }

    fn duration(&self) -> u64 {
        self.of(&self.trace.report.duration_us)
    }

    /// Drag or slack in microseconds; `None` if the request does not wait for the span.
    fn pressure(&self, of: fn(&TraceReport) -> &Vec<u64>) -> Option<u64> {
        let us = of(&self.trace.report).get(self.at as usize).copied();
        us.filter(|us| *us != TraceReport::NOT_WAITED)
    }

    fn drag(&self) -> Option<u64> {
        self.pressure(|report| &report.drag_us)
    }

    fn slack(&self) -> Option<u64> {
        self.pressure(|report| &report.slack_us)
    }

    fn words(&self) -> String {
        let words: Vec<&str> = [
            (TraceReport::ERROR, "error"),
            (TraceReport::ON_PATH, "path"),
            (TraceReport::ASYNC, "async"),
            (TraceReport::CLIPPED, "clipped"),
            (TraceReport::DROPPED, "dropped"),
            (TraceReport::ORPHAN, "orphan"),
        ]
        .into_iter()
        .filter(|(bit, _)| self.bits() & bit != 0)
        .map(|(_, words)| words)
        .collect();
        words.join(", ")
    }
}

fn pressure_cell(us: Option<u64>) -> What {
    match us {
        Some(us) => What::Number(format::duration_us(us), us.to_string()),
        None => What::Text(format::DASH.to_owned()),
    }
}

/// Levels of indentation that are shown.
const DEEPEST: u32 = 16;

/// The table.
pub fn table(page: Page) -> Table<SpanRow> {
    let columns = vec![
        Column {
            key: "span",
            title: "Span",
            hint: "Operation and service, in the order of the timeline",
            class: "wide",
            priority: 1,
            order: Some(|a: &SpanRow, b: &SpanRow| a.at.cmp(&b.at)),
            cell: Box::new(|row: &SpanRow| {
                let Endpoint { service, operation } = row.name();
                let name = names::endpoint(service, operation);
                let depth = row.depth();
                let deep = if depth > DEEPEST { format!("{depth} ") } else { String::new() };
                What::Element(
                    div("indented")
                        .styled("padding-left", &format!("{}px", depth.min(DEEPEST) * 10))
                        .child(&span("muted", &deep))
                        .child(&name),
                )
            }),
        },
        number!("start", "Start", "From the start of the trace", "num" 2, |row: &SpanRow| row.start(), format::duration_us),
        number!("duration", "Duration", "As reported", "num" 1, |row: &SpanRow| row.duration(), format::duration_us),
        Column {
            key: "own",
            title: "Own on path",
            hint: "Time of the span itself on the critical path of the request",
            class: "bar",
            priority: 1,
            order: Some(|a, b| a.own().cmp(&b.own())),
            cell: Box::new(|row| {
                let share = row.own() as f64 / row.trace.latency_us().max(1) as f64;
                let words =
                    if row.own() > 0 { format::duration_us(row.own()) } else { format::DASH.to_owned() };
                What::Bar(share, words)
            }),
        },
        Column {
            key: "drag",
            title: "Drag",
            hint: "How much earlier the request would end without the span and all below it",
            class: "num",
            priority: 2,
            order: Some(|a, b| a.drag().cmp(&b.drag())),
            cell: Box::new(|row| pressure_cell(row.drag())),
        },
        Column {
            key: "slack",
            title: "Slack",
            hint: "How much longer the span may take before the request ends later",
            class: "num",
            priority: 3,
            order: Some(|a, b| a.slack().cmp(&b.slack())),
            cell: Box::new(|row| pressure_cell(row.slack())),
        },
        Column {
            key: "what",
            title: "What",
            hint: "On the critical path, error, asynchronous, clipped, dropped, orphan",
            class: "what muted",
            priority: 3,
            order: Some(|a, b| a.bits().cmp(&b.bits())),
            cell: Box::new(|row| What::Text(row.words())),
        },
    ];
    let table = Table::new(
        "span-table",
        "Spans of the trace",
        ("span", false),
        columns,
        |row: &SpanRow| {
            let Endpoint { service, operation } = row.name().clone();
            vec![
                ("data-test", "span".to_owned()),
                ("data-span", row.at.to_string()),
                ("data-service", service),
                ("data-operation", operation),
                ("data-value", row.own().to_string()),
            ]
        },
        move |sort| page.change(|address| address.sort = Some(sort)),
    );
    let rows = table.clone();
    table.on_select(move |at| {
        if let Some(row) = rows.rows().get(at) {
            page.set_focus(Focus::Span(row.at));
        }
    })
}

/// The trace as comma-separated values, one line a span.
pub fn csv(trace: &Rc<TraceRows>) -> String {
    let head = [
        "span",
        "parent",
        "service",
        "operation",
        "start_us",
        "duration_us",
        "own_path_us",
        "drag_us",
        "slack_us",
        "what",
    ];
    let mut out = csv_line(&head.map(str::to_owned));
    let cell = |us: Option<u64>| us.map_or_else(String::new, |us| us.to_string());
    for at in 0..trace.report.endpoint.len() as u32 {
        let row = SpanRow { at, trace: trace.clone() };
        let Endpoint { service, operation } = row.name().clone();
        let parent = trace.report.parent.get(at as usize).filter(|parent| **parent != u32::MAX);
        out.push_str(&csv_line(&[
            at.to_string(),
            parent.map_or_else(String::new, |parent| parent.to_string()),
            service,
            operation,
            row.start().to_string(),
            row.duration().to_string(),
            row.own().to_string(),
            cell(row.drag()),
            cell(row.slack()),
            row.words(),
        ]));
    }
    out
}
