//! The answer of a report in a sentence, and its rows below: what Parallelise and Deployments are.

use crate::dom::{El, el};
use crate::page::slot::Slot;
use crate::page::{Focus, Page};
use crate::widgets::companion::{AnyTable as _, CompanionTable};
use pathlight_engine::queries::Query;
use pathlight_trace::Endpoint;
use pathlight_view::say::sentence::Sentence;
use pathlight_view::views::WORKING;
use std::rc::Rc;

/// What a report of a query says.
pub struct Said<Q: Query, L> {
    pub headline: fn(&Q::Report) -> Sentence,
    pub lines: fn(&Rc<Q::Report>) -> Vec<L>,
    /// Why the table is empty, if it is.
    pub empty: &'static str,
    /// The endpoint that has the focus while a line is selected.
    pub endpoint: fn(&L) -> Option<&Endpoint>,
}

/// Sentence and table.
pub struct ReportTable<L: 'static> {
    pub sentence: El,
    pub table: CompanionTable<L>,
    /// Revision of the report that is shown.
    shown: Option<u64>,
}

impl<L> ReportTable<L> {
    /// Returns a table with its sentence, which tests know by `name`.
    pub fn new(name: &str, table: CompanionTable<L>) -> ReportTable<L> {
        ReportTable { sentence: el("p").class("target-sentence").test(name), table, shown: None }
    }

    /// Follows a report; returns it.
    pub fn update<Q: Query>(
        &mut self,
        page: Page,
        slot: &Slot<Q>,
        said: &Said<Q, L>,
    ) -> Option<Rc<Q::Report>> {
        let is_waiting = slot.is_waiting();
        self.table.set_stale(is_waiting);
        self.sentence.class_if("stale", is_waiting);
        self.table.set_sort(page.address().sort.as_ref());
        let now = Some(slot.revision());
        let report = slot.get();
        match &report {
            Some(report) if self.shown != now => {
                self.shown = now;
                self.sentence.set_text(&(said.headline)(report).to_text());
                self.table.set_rows((said.lines)(report), said.empty);
            }
            Some(_) => {}
            None => {
                self.sentence.set_text("");
                self.table.set_empty(WORKING);
            }
        }
        let focus = page.focus().clone();
        let of = said.endpoint;
        self.table.select(|line| of(line).is_some_and(|endpoint| focus == Focus::Endpoint(endpoint.clone())));
        report
    }
}
