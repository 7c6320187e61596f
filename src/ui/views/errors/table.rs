//! The table of errors by endpoint.

use crate::ui::page::{Focus, Page};
use crate::ui::widgets::export::csv_line;
use crate::ui::widgets::table::{Column, Table, What, by_number, endpoint, number};
use pathlight_query::{ErrorRow, ErrorsReport};
use pathlight_text::format;
use pathlight_view::address::TraceChoice;
use std::rc::Rc;

/// An endpoint that errors start in, pass through or end in.
pub struct ErrorLine {
    /// Its place in the report.
    at: usize,
    report: Rc<ErrorsReport>,
}

impl ErrorLine {
    /// The lines of a report.
    pub fn of(report: &Rc<ErrorsReport>) -> Vec<ErrorLine> {
        let with_errors = report.rows.iter().enumerate().filter(|(_, row)| row.has_errors());
        with_errors.map(|(at, _)| ErrorLine { at, report: report.clone() }).collect()
    }

    fn row(&self) -> &ErrorRow {
        &self.report.rows[self.at]
    }

    /// Service and operation.
    pub fn name(&self) -> (&str, &str) {
        self.report.name(self.row().endpoint)
    }

    /// Whether a search finds it.
    pub fn fits(&self, text: &str) -> bool {
        let (service, operation) = self.name();
        crate::ui::shell::search::fits(text, &[&format::endpoint(service, operation)])
    }
}

/// The table.
pub fn table(page: Page) -> Table<ErrorLine> {
    let columns = vec![
        endpoint!(
            "Endpoint",
            "Where errors start, pass through or stop; Enter opens the slowest request with one that starts here",
            |line: &ErrorLine| line.name()
        ),
        number!(
            "own",
            "Start",
            "Spans in error whose children are not",
            "num tiny" 1,
            |line: &ErrorLine| line.row().own,
            format::count
        ),
        number!(
            "propagated",
            "Pass on",
            "Spans in error of which a child is in error",
            "num tiny" 2,
            |line: &ErrorLine| line.row().propagated,
            format::count
        ),
        number!(
            "stopped",
            "Stop",
            "Spans not in error of which a child is",
            "num tiny" 1,
            |line: &ErrorLine| line.row().stopped,
            format::count
        ),
        number!(
            "requests",
            "Requests",
            "Requests in which it is in error",
            "num" 3,
            |line: &ErrorLine| line.row().requests,
            format::count
        ),
        Column {
            key: "share",
            title: "On the path",
            hint: "Share of its spans on critical paths that are in error",
            class: "bar",
            priority: 2,
            order: Some(|a: &ErrorLine, b: &ErrorLine| {
                let of = |line: &ErrorLine| line.row().path_share().unwrap_or(0.0);
                by_number(of(a), of(b))
            }),
            cell: Box::new(|line: &ErrorLine| match line.row().path_share() {
                Some(share) => What::Bar(share, format::share(share)),
                None => What::Text(format::DASH.to_owned()),
            }),
        },
        number!(
            "time",
            "Path time",
            "Own time on critical paths of its spans in error",
            "num" 2,
            |line: &ErrorLine| line.row().path_error_us,
            format::duration_us
        ),
        number!(
            "saved",
            "Would save",
            "How much less all latencies would be without its spans in error",
            "num" 1,
            |line: &ErrorLine| line.row().saved_us,
            format::duration_us
        ),
    ];
    let table = Table::new(
        "error-table",
        "Errors by endpoint",
        ("own", true),
        columns,
        |line: &ErrorLine| {
            let (service, operation) = line.name();
            vec![
                ("data-test", "error-line".to_owned()),
                ("data-service", service.to_owned()),
                ("data-operation", operation.to_owned()),
                ("data-own", line.row().own.to_string()),
                ("data-saved", line.row().saved_us.to_string()),
            ]
        },
        move |sort| page.change(|address| address.sort = Some(sort)),
    );
    let (rows, again) = (table.clone(), table.clone());
    table
        .on_select(move |at| {
            if let Some(line) = rows.rows().get(at) {
                let (service, operation) = line.name();
                page.set_focus(Focus::Endpoint((service.to_owned(), operation.to_owned())));
            }
        })
        .on_open(move |at| {
            if let Some(example) = again.rows().get(at).and_then(|line| line.row().example.clone()) {
                page.open_trace(TraceChoice {
                    trace_id: example.trace_id,
                    root_span_id: Some(example.root_span_id).filter(|id| !id.is_empty()),
                    span_id: None,
                });
            }
        })
}

/// The endpoints with errors as comma-separated values.
pub fn csv(report: &ErrorsReport) -> String {
    const HEAD: [&str; 14] = [
        "service",
        "operation",
        "spans",
        "own",
        "propagated",
        "stopped",
        "requests",
        "path_spans",
        "path_errors",
        "path_us",
        "path_error_us",
        "path_without_us",
        "latency_saved_us",
        "example_trace_id",
    ];
    let mut out = csv_line(&HEAD.map(str::to_owned));
    for row in report.rows.iter().filter(|row| row.has_errors()) {
        let (service, operation) = report.name(row.endpoint);
        let numbers = [
            row.spans,
            row.own,
            row.propagated,
            row.stopped,
            row.requests,
            row.path_spans,
            row.path_errors,
            row.path_us,
            row.path_error_us,
            row.without_path_us,
            row.saved_us,
        ];
        let mut cells = vec![service.to_owned(), operation.to_owned()];
        cells.extend(numbers.map(|number| number.to_string()));
        cells.push(row.example.as_ref().map_or_else(String::new, |example| example.trace_id.clone()));
        out.push_str(&csv_line(&cells));
    }
    out
}
