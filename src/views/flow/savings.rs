//! The saving by every endpoint, ranked; see [`flow_savings`].

use super::what_if;
use crate::dom::{El, Listeners, div, el};
use crate::page::{Focus, Page};
use crate::widgets::companion::{AnyTable as _, CompanionTable};
use crate::widgets::controls::Segments;
use crate::widgets::export;
use pathlight_base::format;
use pathlight_engine::flow::FASTER_PERCENT;
use pathlight_view::flow::changes::set_latency;
use pathlight_view::flow::prediction::back_test_words;
use pathlight_view::flow::savings::SavingLine;
use pathlight_view::views::WORKING;
use pathlight_view::{flow, json};
use std::cell::Cell;
use std::rc::Rc;

/// The panel.
pub struct SavingsPanel {
    element: El,
    levels: Segments,
    level: Rc<Cell<usize>>,
    note: El,
    table: CompanionTable<SavingLine>,
    /// Revision of the report, and the level, that are shown.
    shown: Option<(u64, usize)>,
}

impl SavingsPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> SavingsPanel {
        let level = Rc::new(Cell::new(1));
        let mut levels = Segments::new("How much");
        for (number, percent) in FASTER_PERCENT.into_iter().enumerate() {
            let level = level.clone();
            let words = (
                &*format!("{percent}{}% faster", format::THIN),
                "Its own work",
                &*format!("faster-{percent}"),
            );
            levels = levels.button(keep, words, move || {
                level.set(number);
                page.refresh();
            });
        }
        let table = CompanionTable::new(page, flow::savings::table())
            .on_select(move |line| page.set_focus(Focus::endpoint(line.name())))
            .on_open(move |line| {
                let (endpoint, amount) = line.change();
                what_if::open(page, |flow| set_latency(&mut flow.changes, &endpoint, amount));
            });
        let tools = div("tools")
            .child(levels.element())
            .child(&div("title muted").text("Open a row to try it as a what-if"))
            .child(&div("grow"))
            .child(&export::menu(page, keep, "savings", None, formats(page, table)));
        let note = el("p").class("muted small table-note").test("savings-error");
        let element = div("savings").test("savings").child(&tools).child(table.element()).child(&note);
        SavingsPanel { element, levels, level, note, table, shown: None }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the reports.
    pub fn update(&mut self, page: Page) {
        let queries = page.queries();
        let level = self.level.get();
        self.levels.press(level);
        self.table.set_stale(queries.savings.is_waiting());
        self.table.set_sort(page.address().sort.as_ref());
        self.note.set_text(&back_test_words(queries.back_test.fresh().as_deref()));
        let now = Some((queries.savings.revision(), level));
        match queries.savings.get() {
            Some(report) if self.shown != now => {
                self.shown = now;
                let why = "No request of the root endpoint calls anything.";
                self.table.set_rows(SavingLine::of(&report, level), why);
            }
            Some(_) => {}
            None => self.table.set_empty(WORKING),
        }
        let focus = page.focus().clone();
        self.table.select(|line| focus == Focus::endpoint(line.name()));
    }
}

fn formats(page: Page, table: CompanionTable<SavingLine>) -> Vec<export::Format> {
    vec![
        ("CSV table", "csv", Box::new(move || table.csv())),
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
