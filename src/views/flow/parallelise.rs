//! Calls that could run side by side; see [`flow::parallelise`].

use super::what_if;
use crate::dom::{El, Listeners, div, el};
use crate::page::{Focus, Page};
use crate::widgets::companion::{AnyTable as _, CompanionTable};
use crate::widgets::export;
use pathlight_view::flow::parallelise::SerialLine;
use pathlight_view::flow::prediction::back_test_words;
use pathlight_view::views::WORKING;
use pathlight_view::{flow, json};

/// The panel.
pub struct ParallelisePanel {
    element: El,
    sentence: El,
    note: El,
    table: CompanionTable<SerialLine>,
    /// Revision of the report that is shown.
    shown: Option<u64>,
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
        let sentence = el("p").class("target-sentence").test("parallelise-sentence");
        let note = el("p").class("muted small table-note").test("parallelise-error");
        let element = div("savings").test("parallelise").child(&tools).child(&sentence);
        let element = element.child(table.element()).child(&note);
        ParallelisePanel { element, sentence, note, table, shown: None }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the reports.
    pub fn update(&mut self, page: Page) {
        let queries = page.queries();
        let is_waiting = queries.parallelise.is_waiting();
        self.table.set_stale(is_waiting);
        self.sentence.class_if("stale", is_waiting);
        self.table.set_sort(page.address().sort.as_ref());
        let error = back_test_words(queries.back_test.fresh().as_deref());
        self.note.set_text(&format!("{} {error}", flow::parallelise::LIMITS));
        let now = Some(queries.parallelise.revision());
        match queries.parallelise.get() {
            Some(report) if self.shown != now => {
                self.shown = now;
                self.sentence.set_text(&flow::parallelise::headline(&report).to_text());
                self.table.set_rows(SerialLine::of(&report), flow::parallelise::EMPTY);
            }
            Some(_) => {}
            None => {
                self.sentence.set_text("");
                self.table.set_empty(WORKING);
            }
        }
        let focus = page.focus().clone();
        self.table.select(|line| {
            line.calls().callees.last().is_some_and(|callee| focus == Focus::Endpoint(callee.clone()))
        });
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
