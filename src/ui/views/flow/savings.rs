//! Where a week of work is best spent: what every endpoint would save, ranked.

use super::changes::set_latency;
use super::what_if::back_test_words;
use crate::ui::dom::{El, Keep, button, div, el};
use crate::ui::page::{Focus, Page};
use crate::ui::widgets::export;
use crate::ui::widgets::export::csv_line;
use crate::ui::widgets::frame::WORKING;
use crate::ui::widgets::table::{Column, Table, What, by_number, endpoint, number};
use pathlight_analysis::flow::{EndpointSaving, FASTER_PERCENT, Saving};
use pathlight_query::{Endpoint, SavingsReport};
use pathlight_text::format;
use pathlight_view::flow_choice::FlowPanel;
use pathlight_view::json;
use std::cell::Cell;
use std::rc::Rc;

/// An endpoint at one level.
pub struct SavingRow {
    at: usize,
    level: usize,
    report: Rc<SavingsReport>,
}

impl SavingRow {
    fn endpoint(&self) -> Option<&EndpointSaving> {
        self.report.endpoints.get(self.at)
    }

    fn name(&self) -> (&str, &str) {
        self.endpoint().map_or(("", ""), |e| (&e.service, &e.operation))
    }

    fn saving(&self) -> Saving {
        self.endpoint().and_then(|e| e.saved_us.levels().get(self.level).copied()).unwrap_or_default()
    }

    fn share(&self) -> f64 {
        self.saving().mean / self.report.latency_us.mean.max(1.0)
    }
}

/// The panel.
pub struct SavingsPanel {
    element: El,
    levels: [El; 3],
    level: Rc<Cell<usize>>,
    note: El,
    table: Table<SavingRow>,
    /// Answer and level that are shown.
    shown: (u64, usize),
    _keep: Keep,
}

fn columns() -> Vec<Column<SavingRow>> {
    vec![
        endpoint!("Endpoint", "Every endpoint below the root of a request", |row: &SavingRow| row.name()),
        Column {
            key: "share",
            title: "Of the mean",
            hint: "What the mean latency of the request would lose, as a share of it",
            class: "bar",
            priority: 1,
            order: Some(|a, b| by_number(a.share(), b.share())),
            cell: Box::new(|row| What::Bar(row.share().max(0.0), format::share(row.share()))),
        },
        number!(
            "saved",
            "Mean",
            "Saved of the mean",
            "num" 2,
            |row: &SavingRow| row.saving().mean,
            format::duration
        ),
        number!(
            "p50",
            "p50",
            "Saved of the median",
            "num" 2,
            |row: &SavingRow| row.saving().p50,
            format::duration
        ),
        number!(
            "p95",
            "p95",
            "Saved of the 95th percentile",
            "num" 2,
            |row: &SavingRow| row.saving().p95,
            format::duration
        ),
        number!(
            "p99",
            "p99",
            "Saved of the 99th percentile",
            "num" 2,
            |row: &SavingRow| row.saving().p99,
            format::duration
        ),
        number!(
            "affected",
            "Requests",
            "Requests that become faster if it takes no time",
            "num" 3,
            |row: &SavingRow| row.endpoint().map_or(0, |e| e.affected),
            format::count
        ),
    ]
}

impl SavingsPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page) -> SavingsPanel {
        let keep = Keep::default();
        let level = Rc::new(Cell::new(1));
        let levels = [0, 1, 2].map(|number: usize| {
            let level = level.clone();
            let percent = FASTER_PERCENT[number];
            button(&format!("{percent}{}% faster", format::THIN)).test(&format!("faster-{percent}")).on_click(
                &keep,
                move || {
                    level.set(number);
                    page.refresh();
                },
            )
        });
        let table = Table::new(
            "savings-table",
            "What every endpoint would save",
            ("saved", true),
            columns(),
            |row: &SavingRow| {
                let (service, operation) = row.name();
                vec![
                    ("data-test", "saving".to_owned()),
                    ("data-service", service.to_owned()),
                    ("data-operation", operation.to_owned()),
                    ("data-value", row.saving().mean.to_string()),
                ]
            },
            move |sort| page.change(|address| address.sort = Some(sort)),
        );
        let rows = table.clone();
        let table = table.on_select(move |at| {
            if let Some(row) = rows.rows().get(at) {
                let (service, operation) = row.name();
                page.set_focus(Focus::Endpoint(Endpoint::new(service, operation)));
            }
        });
        let rows = table.clone();
        let table = table.on_open(move |at| {
            if let Some(row) = rows.rows().get(at) {
                let (service, operation) = row.name();
                let endpoint = Endpoint::new(service, operation);
                let share_ppm = -i64::from(FASTER_PERCENT[row.level]) * 10_000;
                page.change(|address| {
                    set_latency(&mut address.choices.flow.changes, &endpoint, share_ppm, 0);
                    address.choices.flow.panel = FlowPanel::WhatIf;
                });
            }
        });
        let segments = div("segments").attr("role", "group").attr("aria-label", "How much").children(&levels);
        let tools = div("tools")
            .child(&segments)
            .child(&div("title muted").text("Open a row to try it as a what-if"))
            .child(&div("grow"))
            .child(&export::menu(page, &keep, "savings", None, formats(page)));
        let note = el("p").class("muted small table-note").test("savings-error");
        let element = div("savings").test("savings").child(&tools).child(table.element()).child(&note);
        SavingsPanel { element, levels, level, note, table, shown: (u64::MAX, 0), _keep: keep }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the answers.
    pub fn update(&mut self, page: Page) {
        let queries = page.queries();
        let level = self.level.get();
        for (number, button) in self.levels.iter().enumerate() {
            button.set_flag("aria-pressed", number == level);
        }
        self.table.set_stale(queries.savings.is_waiting());
        self.table.set_sort(page.address().sort.as_ref());
        self.note.set_text(&back_test_words(queries.back_test.fresh().as_deref()));
        let now = (queries.savings.revision(), level);
        match queries.savings.get() {
            Some(report) if self.shown != now => {
                self.shown = now;
                let row = |at| SavingRow { at, level, report: report.clone() };
                self.table.set_rows(Rc::new((0..report.endpoints.len()).map(row).collect()));
                self.table.set_empty("No request of the root endpoint calls anything.");
            }
            Some(_) => {}
            None => self.table.set_empty(WORKING),
        }
        let selected = match &*page.focus() {
            Focus::Endpoint(Endpoint { service, operation }) => {
                self.table.rows().iter().position(|row| row.name() == (service.as_str(), operation.as_str()))
            }
            _ => None,
        };
        self.table.select(selected);
    }
}

fn formats(page: Page) -> Vec<export::Format> {
    vec![
        (
            "CSV table",
            "csv",
            Box::new(move || {
                let report = page.queries().savings.get()?;
                let mut head =
                    ["service", "operation", "spans", "requests", "affected"].map(str::to_owned).to_vec();
                for percent in FASTER_PERCENT {
                    head.extend(
                        ["mean", "p50", "p95", "p99"].map(|name| format!("saved_{percent}_{name}_us")),
                    );
                }
                let mut out = csv_line(&head);
                for row in &report.endpoints {
                    let mut cells = vec![row.service.clone(), row.operation.clone()];
                    cells.extend([row.spans, row.requests, row.affected].map(|n| n.to_string()));
                    for saving in row.saved_us.levels() {
                        cells.extend(
                            [saving.mean, saving.p50, saving.p95, saving.p99].map(|us| us.to_string()),
                        );
                    }
                    out.push_str(&csv_line(&cells));
                }
                Some(out)
            }),
        ),
        (
            "JSON report",
            "json",
            Box::new(move || {
                let queries = page.queries();
                json::savings(&*queries.savings.get()?, queries.back_test.fresh().as_deref()).ok()
            }),
        ),
    ]
}
