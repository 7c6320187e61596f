//! How much slower services and calls may become before a percentile exceeds a limit; see [`flow::headroom`].

use super::capacity::CapacityPart;
use super::limit_field::LimitField;
use super::what_if;
use crate::dom::{El, Listeners, div, el};
use crate::page::{Focus, Page};
use crate::widgets::companion::{AnyTable as _, CompanionTable};
use crate::widgets::controls::Segments;
use crate::widgets::export;
use pathlight_view::flow::headroom::HeadroomLine;
use pathlight_view::flow::prediction::back_test_words;
use pathlight_view::views::WORKING;
use pathlight_view::{flow, json};

/// The panel.
pub struct HeadroomPanel {
    element: El,
    /// Until a limit, or drag and slack of services.
    parts: Segments,
    limit_tools: El,
    limit_part: El,
    capacity: CapacityPart,
    limit: LimitField,
    sentence: El,
    note: El,
    table: CompanionTable<HeadroomLine>,
    /// Revision of the report that is shown.
    shown: Option<u64>,
}

impl HeadroomPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> HeadroomPanel {
        let label = "What the percentile must not exceed";
        let limit = LimitField::new(page, keep, ("headroom", label), |flow| &mut flow.headroom);
        let table = CompanionTable::sorted_alone(flow::headroom::table())
            .on_select(move |line| {
                let call = line.endpoint().map(|endpoint| Focus::Endpoint(endpoint.clone()));
                page.set_focus(call.unwrap_or_default());
            })
            .on_open(move |line| what_if::open(page, |flow| flow.changes = line.changes()));
        let part = move |capacity| page.change(|address| address.choices.flow.capacity = capacity);
        let parts = Segments::new("What may become slower")
            .button(
                keep,
                (
                    "Until a limit",
                    "How much slower each may become before a percentile exceeds a limit",
                    "headroom-limit",
                ),
                move || part(false),
            )
            .button(
                keep,
                (
                    "By service",
                    "Drag and slack of services: where to add capacity and where to take it",
                    "headroom-capacity",
                ),
                move || part(true),
            );
        let limit_tools = div("tools-part")
            .children(&limit.inputs())
            .children(limit.progress())
            .child(&div("title muted").text("Open a row to try it as a what-if"))
            .child(&div("grow"))
            .child(&export::menu(page, keep, "headroom", None, formats(page, table)));
        let sentence = el("p").class("target-sentence").test("headroom-sentence");
        let note = el("p").class("muted small table-note").test("headroom-error");
        let limit_part = div("headroom-part").children([limit.trouble(), &sentence]);
        let limit_part = limit_part.child(table.element()).child(&note);
        let capacity = CapacityPart::new(page, keep);
        let tools = div("tools").child(parts.element()).child(&limit_tools).child(capacity.tools());
        let element = div("savings").test("headroom").child(&tools);
        let element = element.child(&limit_part).child(capacity.element());
        HeadroomPanel {
            element,
            parts,
            limit_tools,
            limit_part,
            capacity,
            limit,
            sentence,
            note,
            table,
            shown: None,
        }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows address and reports.
    pub fn update(&mut self, page: Page) {
        let is_capacity = page.address().choices.flow.capacity;
        self.parts.press(usize::from(is_capacity));
        [&self.limit_tools, &self.limit_part].into_iter().for_each(|part| part.show(!is_capacity));
        self.capacity.tools().show(is_capacity);
        self.capacity.element().show(is_capacity);
        if is_capacity {
            return self.capacity.update(page);
        }
        let queries = page.queries();
        let limit = page.address().choices.flow.headroom;
        let is_waiting = queries.headroom.is_waiting();
        self.limit.show(limit, queries.headroom.progress().filter(|_| is_waiting));
        self.table.set_stale(is_waiting);
        self.sentence.class_if("stale", is_waiting);
        let report = queries.headroom.get().filter(|_| limit.is_some());
        let has_rows = report.as_ref().is_some_and(|report| !report.rows.is_empty());
        self.table.show(has_rows);
        self.note.show(has_rows);
        self.note.set_text(&back_test_words(queries.back_test.fresh().as_deref()));
        let Some(report) = report else {
            let words = match limit {
                Some(_) => WORKING.to_owned(),
                None => flow::headroom::no_limit_words(self.limit.quantile(), self.limit.now_us(page)),
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
