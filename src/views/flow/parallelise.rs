//! Calls that could run side by side; see [`flow::parallelise`].

use super::report_table::{ReportTable, Said};
use super::what_if;
use crate::dom::{El, Listeners, div, el};
use crate::page::{Focus, Page};
use crate::widgets::companion::CompanionTable;
use crate::widgets::export;
use pathlight_view::flow::parallelise::SerialLine;
use pathlight_view::flow::prediction::back_test_words;
use pathlight_view::{flow, json};

/// The panel.
pub struct ParallelisePanel {
    element: El,
    note: El,
    report: ReportTable<SerialLine>,
}

impl ParallelisePanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> ParallelisePanel {
        let table = CompanionTable::new(page, flow::parallelise::table())
            .on_select(move |line| {
                let call = line.calls().callees.last().cloned();
                page.set_focus(call.map(Focus::Endpoint).unwrap_or_default());
            })
            .on_open(move |line| {
                what_if::open(page, |flow| {
                    (flow.parents, flow.changes) = (vec![line.calls().parent.clone()], line.changes());
                });
            });
        let tools = div("tools")
            .child(&div("title muted").text("Open a row to try it as a what-if"))
            .child(&div("grow"))
            .child(&export::menu(page, keep, "parallelise", None, formats(page, table)));
        let report = ReportTable::new("parallelise-sentence", table);
        let note = el("p").class("muted small table-note").test("parallelise-error");
        let element = div("savings").test("parallelise").child(&tools).child(&report.sentence);
        let element = element.child(table.element()).child(&note);
        ParallelisePanel { element, note, report }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the reports.
    pub fn update(&mut self, page: Page) {
        let queries = page.queries();
        let error = back_test_words(queries.back_test.fresh().as_deref());
        self.note.set_text(&format!("{} {error}", flow::parallelise::LIMITS));
        let said = Said {
            headline: flow::parallelise::headline,
            lines: SerialLine::of,
            empty: flow::parallelise::EMPTY,
            endpoint: |line| line.calls().callees.last(),
        };
        self.report.update(page, &queries.parallelise, &said);
    }
}

fn formats(page: Page, table: CompanionTable<SerialLine>) -> Vec<export::Format> {
    vec![
        ("CSV table", "csv", Box::new(move || table.csv())),
        (
            "JSON report",
            "json",
            Box::new(move || {
                let queries = page.queries();
                json::parallelise(&*queries.parallelise.get()?, queries.back_test.fresh().as_deref()).ok()
            }),
        ),
    ]
}
