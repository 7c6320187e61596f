//! How much slower services and calls may become before a percentile exceeds a limit; see [`flow::headroom`].

use super::time_field::TimeField;
use crate::dom::{El, Listeners, button, div, el, span};
use crate::page::{Focus, Page};
use crate::widgets::companion::{AnyTable as _, CompanionTable};
use crate::widgets::controls::Segments;
use crate::widgets::export;
use pathlight_engine::flow::Quantile;
use pathlight_view::flow::choice::FlowPanel;
use pathlight_view::flow::headroom::HeadroomLine;
use pathlight_view::flow::prediction::back_test_words;
use pathlight_view::views::WORKING;
use pathlight_view::{flow, json};
use std::cell::Cell;
use std::rc::Rc;

/// The panel.
pub struct HeadroomPanel {
    element: El,
    quantiles: Segments,
    quantile: Rc<Cell<Quantile>>,
    time: TimeField,
    progress: [El; 2],
    sentence: El,
    note: El,
    table: CompanionTable<HeadroomLine>,
    /// Revision of the report that is shown.
    shown: Option<u64>,
}

impl HeadroomPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> HeadroomPanel {
        let quantile = Rc::new(Cell::new(Quantile::default()));
        let mut quantiles = Segments::new("Percentile");
        for of in Quantile::ALL {
            let quantile = quantile.clone();
            let words = (of.name(), "", &*format!("headroom-{}", of.name()));
            quantiles = quantiles.button(keep, words, move || {
                quantile.set(of);
                page.change(|address| {
                    if let Some(limit) = &mut address.choices.flow.headroom {
                        limit.0 = of;
                    }
                });
                page.refresh();
            });
        }
        let of = quantile.clone();
        let label = ("What the percentile must not exceed", "300 ms");
        let time = TimeField::new(page, keep, "headroom-time", label, move |us| {
            page.change(|address| address.choices.flow.headroom = us.map(|us| (of.get(), us)));
        });
        let table = CompanionTable::sorted_alone(flow::headroom::table())
            .on_select(move |line| {
                let call = line.endpoint().map(|endpoint| Focus::Endpoint(endpoint.clone()));
                page.set_focus(call.unwrap_or_default());
            })
            .on_open(move |line| {
                let changes = line.changes();
                page.change(|address| {
                    address.choices.flow.changes = changes;
                    address.choices.flow.panel = FlowPanel::WhatIf;
                });
            });
        let cancel = button("Cancel").test("headroom-cancel").on_click(keep, move || {
            page.change(|address| address.choices.flow.headroom = None);
        });
        let progress = [span("muted fixed", "").attr("role", "status").test("headroom-progress"), cancel];
        let tools = div("tools")
            .child(quantiles.element())
            .child(&el("label").class("fixed").text("at most ").child(time.input()))
            .children(&progress)
            .child(&div("title muted").text("Open a row to try it as a what-if"))
            .child(&div("grow"))
            .child(&export::menu(page, keep, "headroom", None, formats(page, table)));
        let sentence = el("p").class("target-sentence").test("headroom-sentence");
        let note = el("p").class("muted small table-note").test("headroom-error");
        let element = div("savings").test("headroom").child(&tools).child(time.trouble()).child(&sentence);
        let element = element.child(table.element()).child(&note);
        HeadroomPanel { element, quantiles, quantile, time, progress, sentence, note, table, shown: None }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows address and reports.
    pub fn update(&mut self, page: Page) {
        let queries = page.queries();
        let limit = page.address().choices.flow.headroom;
        self.quantile.set(limit.map_or(self.quantile.get(), |limit| limit.0));
        self.quantiles.press(self.quantile.get() as usize);
        self.time.show(limit.map(|limit| limit.1));
        let is_waiting = queries.headroom.is_waiting();
        let progress = queries.headroom.progress().filter(|_| is_waiting);
        self.progress.iter().for_each(|part| part.show(progress.is_some()));
        if let Some(progress) = progress {
            self.progress[0].set_text(&flow::target::progress_words(progress.done, progress.of));
        }
        self.table.set_stale(is_waiting);
        self.sentence.class_if("stale", is_waiting);
        let report = queries.headroom.get().filter(|_| limit.is_some());
        let has_rows = report.as_ref().is_some_and(|report| !report.rows.is_empty());
        self.table.show(has_rows);
        self.note.show(has_rows);
        self.note.set_text(&back_test_words(queries.back_test.fresh().as_deref()));
        let Some(report) = report else {
            let now = queries.range.fresh().map(|range| self.quantile.get().of(range.facts.counted_us()));
            let words = match limit {
                Some(_) => WORKING.to_owned(),
                None => flow::headroom::no_limit_words(self.quantile.get(), now),
            };
            self.sentence.set_text(&words);
            self.shown = None;
            return;
        };
        let now = Some(queries.headroom.revision());
        if self.shown != now {
            self.shown = now;
            self.sentence.set_text(&flow::headroom::sentence(&report));
            self.table.set_rows(HeadroomLine::of(&report), flow::headroom::why_empty(&report));
        }
        let focus = page.focus().clone();
        self.table.select(|line| {
            line.endpoint().is_some_and(|endpoint| focus == Focus::Endpoint(endpoint.clone()))
        });
    }
}

fn formats(page: Page, table: CompanionTable<HeadroomLine>) -> Vec<export::Format> {
    // A table of an earlier limit is not what is shown.
    let is_shown = move || page.address().choices.flow.headroom.is_some();
    vec![
        ("CSV table", "csv", Box::new(move || table.csv().filter(|_| is_shown()))),
        (
            "JSON report",
            "json",
            Box::new(move || {
                let queries = page.queries();
                let report = queries.headroom.fresh().filter(|_| is_shown())?;
                json::flow_headroom(&report, queries.back_test.fresh().as_deref()).ok()
            }),
        ),
    ]
}
