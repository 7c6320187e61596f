//! The requests of the percentile range, slowest first; each opens its timeline.

use super::findings::why_empty;
use crate::ui::dom::{El, div};
use crate::ui::page::{Focus, Page, Part};
use crate::ui::shell::queries::REQUESTS_LISTED;
use crate::ui::shell::search::{Last, Search, fits};
use crate::ui::widgets::frame::has_traces;
use crate::ui::widgets::table::{Column, Table, What, endpoint, number};
use pathlight_query::RequestRow;
use pathlight_text::format;
use pathlight_view::address::{TraceChoice, View};
use std::rc::Rc;

/// The view.
pub struct Requests {
    element: El,
    note: El,
    table: Table<RequestRow>,
    search: Search,
    shown: u64,
    searched: Last<u64>,
}

fn choice(row: &RequestRow) -> TraceChoice {
    TraceChoice {
        trace_id: row.trace_id.clone(),
        root_span_id: Some(row.root_span_id.clone()).filter(|id| !id.is_empty()),
        span_id: None,
    }
}

impl Requests {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, search: &Search) -> Requests {
        let columns = vec![
            number!(
                "latency",
                "Latency",
                "Duration of the request",
                "num" 1,
                |row: &RequestRow| row.latency_us,
                format::duration_us
            ),
            endpoint!("Request", "Endpoint of the request's root span", |row: &RequestRow| (
                &row.service,
                &row.operation
            )),
            number!(
                "start",
                "Start (UTC)",
                "When it began",
                "num moment" 2,
                |row: &RequestRow| row.start_us,
                |us: u64| format::moment(us / 1000 * 1000)
            ),
            number!("spans", "Spans", "Spans of the request", "num" 2, |row: &RequestRow| u64::from(row.spans), format::count),
            number!(
                "path",
                "On path",
                "Spans on the critical path",
                "num" 3,
                |row: &RequestRow| u64::from(row.path_spans),
                format::count
            ),
            number!("errors", "Errors", "Error spans", "num" 2, |row: &RequestRow| u64::from(row.errors), format::count),
            Column {
                key: "trace",
                title: "Trace",
                hint: "Trace id",
                class: "text mono",
                priority: 3,
                order: Some(|a: &RequestRow, b: &RequestRow| a.trace_id.cmp(&b.trace_id)),
                cell: Box::new(|row: &RequestRow| {
                    What::Text(row.trace_id.trim_start_matches('0').to_owned())
                }),
            },
        ];
        let table = Table::new(
            "requests",
            "Requests",
            ("latency", true),
            columns,
            |row: &RequestRow| {
                vec![
                    ("data-test", "request".to_owned()),
                    ("data-trace", row.trace_id.clone()),
                    ("data-value", row.latency_us.to_string()),
                ]
            },
            move |sort| page.change(|address| address.sort = Some(sort)),
        );
        let (rows, again) = (table.clone(), table.clone());
        let table = table
            .on_select(move |at| {
                if let Some(row) = rows.rows().get(at) {
                    page.set_focus(Focus::Request(choice(row)));
                }
            })
            .click_opens()
            .on_open(move |at| {
                if let Some(row) = again.rows().get(at) {
                    page.open_trace(choice(row));
                }
            });
        let note = div("table-note muted");
        let element = div("requests-view").child(&note).child(table.element());
        Requests { element, note, table, search: search.clone(), shown: 0, searched: Last::default() }
    }

    /// Its element.
    pub fn element(&self) -> &El {
        &self.element
    }
}

impl Part for Requests {
    fn update(&mut self, page: Page) {
        let shown = has_traces(page) && page.address().view == View::Requests;
        self.element.show(shown);
        if !shown {
            return;
        }
        let queries = page.queries();
        let revision = queries.requests.revision();
        if let Some(report) = queries.requests.get().filter(|_| self.shown != revision) {
            self.shown = revision;
            self.table.set_rows(Rc::new(report.rows.clone()));
            let listed = report.rows.len() as u64;
            let words = if report.facts.requests > listed && listed >= REQUESTS_LISTED.into() {
                format!(
                    "The slowest {} of {} requests; narrow the percentile range to reach the others. A click opens the timeline.",
                    format::count(listed),
                    format::count(report.facts.requests)
                )
            } else {
                format!("{}, slowest first. A click opens the timeline.", page.selection_label())
            };
            self.note.set_text(&words);
            if let Some(range) = queries.range.get() {
                self.table.set_empty(&why_empty(page, &range.facts));
            }
        }
        self.table.set_stale(queries.requests.is_waiting());
        self.table.set_sort(page.address().sort.as_ref());
        let text = page.address().search.clone();
        if self.searched.is_new(&text, revision) {
            let names = |row: &RequestRow| fits(&text, &[&row.service, &row.operation, &row.trace_id]);
            let matches = self.table.mark(&text, names);
            let table = self.table.clone();
            self.search.publish(matches, None, move |page, forward| {
                if let Some(row) = table.neighbour(forward).and_then(|at| table.rows().get(at).map(choice)) {
                    page.set_focus(Focus::Request(row));
                }
            });
        }
        let rows = self.table.rows();
        let selected = match &*page.focus() {
            Focus::Request(chosen) => rows.iter().position(|row| choice(row) == *chosen),
            _ => None,
        };
        self.table.select(selected);
    }
}
