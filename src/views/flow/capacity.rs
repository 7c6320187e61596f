//! Drag and slack of services, and with a table of utilisation where to add capacity and where to take it; see
//! [`flow::capacity`].

use super::what_if;
use crate::dom::{El, Listeners, button, div, el};
use crate::page::Page;
use crate::page::utilisation::table_in;
use crate::widgets::companion::{AnyTable as _, CompanionTable};
use crate::widgets::{controls, export};
use pathlight_engine::flow::paper::FlowSettings;
use pathlight_engine::queries;
use pathlight_engine::requests::Selection;
use pathlight_view::flow::capacity::{
    self, Capacities, CapacityLine, INVITATION, NoUtilisation, Utilisation,
};
use pathlight_view::flow::prediction::back_test_words;
use pathlight_view::json;
use pathlight_view::views::{View, WORKING};
use std::cell::RefCell;
use std::rc::Rc;
use wasm_bindgen_futures::spawn_local;
use web_sys::HtmlInputElement;

/// Wants drag and slack, and once a table says where to add and to take, what both bring.
pub fn want(page: Page, selection: Selection, settings: FlowSettings) {
    let queries = page.queries();
    queries.capacity.want(page, queries::Capacity { selection: selection.clone(), settings });
    if queries.capacity.fresh().is_some()
        && let Some(changes) = capacities(page).and_then(|of| of.changes())
    {
        let query = queries::WhatIf { selection, baseline: None, settings, changes };
        queries.capacity_what_if.want(page, query);
    }
}

/// Returns what is known of services; `None` before there is a report.
fn capacities(page: Page) -> Option<Rc<Capacities>> {
    let report = page.queries().capacity.get()?;
    let table = page.utilisation().and_then(Result::ok);
    Some(Rc::new(Capacities::new(&report, table.as_deref())))
}

/// The report and the table that something was made of.
type Shown = (u64, Option<Rc<Utilisation>>);

/// The part of the panel below its choice.
pub struct CapacityPart {
    tools: El,
    element: El,
    drop_line: El,
    forget: El,
    both: El,
    endpoints: El,
    trouble: El,
    sentence: El,
    effect: El,
    notes: El,
    table: CompanionTable<CapacityLine>,
    shown: Option<Shown>,
    /// The service that was selected last.
    selected: Rc<RefCell<Option<String>>>,
}

impl CapacityPart {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> CapacityPart {
        let selected: Rc<RefCell<Option<String>>> = Rc::default();
        let chosen = selected.clone();
        let table = CompanionTable::sorted_alone(capacity::table())
            .on_select(move |line| {
                chosen.replace(Some(line.service().to_owned()));
                page.refresh();
            })
            .on_open(move |line| what_if::open(page, |flow| flow.changes = line.changes()));
        let file = file_field(page, keep);
        let pick = file.clone();
        let open = button("Open table")
            .attr("title", "Columns service,cpu in percent or as shares of 1; the text of kubectl top with CPU%; what Prometheus answers")
            .test("utilisation-open")
            .on_click(keep, move || pick.html().click());
        let forget = button("Forget table")
            .test("utilisation-forget")
            .on_click(keep, move || page.give_utilisation(None));
        let both = button("Both in What if")
            .attr("title", "More for the service to add to, less for the one to take from: the whole request")
            .test("capacity-both")
            .on_click(keep, move || {
                if let Some(changes) = capacities(page).and_then(|of| of.changes()) {
                    what_if::open(page, |flow| flow.changes = changes);
                }
            });
        let chosen = selected.clone();
        let endpoints = button("Its endpoints")
            .attr("title", "The endpoints of the selected service")
            .test("capacity-endpoints")
            .on_click(keep, move || {
                if let Some(service) = chosen.borrow().clone() {
                    page.step(|address| {
                        address.view = View::Endpoints;
                        address.search = service;
                    });
                }
            });
        let drop_line = div("title muted").test("utilisation-line");
        let tools = div("tools-part")
            .child(&drop_line)
            .child(&file)
            .child(&open)
            .child(&forget)
            .child(&div("grow"))
            .child(&endpoints)
            .child(&both)
            .child(&div("").test("capacity-tools").child(&export::menu(
                page,
                keep,
                "capacity",
                None,
                formats(page, table),
            )));
        let trouble = el("p").class("time-trouble").attr("role", "alert").test("utilisation-trouble");
        let sentence = el("p").class("target-sentence").test("capacity-sentence");
        let effect = el("p").class("target-sentence").test("capacity-effect");
        let notes = el("p").class("muted small table-note").test("capacity-notes");
        let element =
            div("headroom-part capacity").test("capacity-part").children([&trouble, &sentence, &effect]);
        let element = element.child(table.element()).child(&notes);
        CapacityPart {
            tools,
            element,
            drop_line,
            forget,
            both,
            endpoints,
            trouble,
            sentence,
            effect,
            notes,
            table,
            shown: None,
            selected,
        }
    }

    /// Returns the tools, to stand behind the choice of the panel's parts.
    pub fn tools(&self) -> &El {
        &self.tools
    }

    /// Returns what stands below the tools.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the table and the reports.
    pub fn update(&mut self, page: Page) {
        let queries = page.queries();
        let given = page.utilisation();
        let trouble = given.as_ref().and_then(|given| given.as_ref().err());
        self.trouble.show(trouble.is_some());
        self.trouble.set_text(trouble.map_or("", String::as_str));
        let table = given.as_ref().and_then(|given| given.as_ref().ok());
        self.drop_line.set_text(if table.is_some() {
            "Open a row to try it as a what-if"
        } else {
            INVITATION
        });
        self.forget.show(given.is_some());
        controls::enable(&self.endpoints, self.selected.borrow().is_some());
        let is_waiting = queries.capacity.is_waiting();
        self.table.set_stale(is_waiting);
        self.sentence.class_if("stale", is_waiting);
        let of = capacities(page);
        let changes = of.as_ref().and_then(|of| of.changes());
        self.both.show(changes.is_some());
        let after = queries.capacity_what_if.get().filter(|_| changes.is_some());
        self.effect.show(changes.is_some());
        self.effect.class_if("stale", queries.capacity_what_if.is_waiting());
        match (&of, &after) {
            (Some(of), Some(after)) => self.effect.set_text(&capacity::what_if_sentence(of, after)),
            _ => self.effect.set_text(WORKING),
        }
        // One paragraph, since the table needs the room.
        let left_open = of.as_ref().map(|of| capacity::notes(of)).unwrap_or_default();
        let tested = back_test_words(queries.back_test.fresh().as_deref());
        self.notes.set_text(format!("{left_open} {tested}").trim());
        let Some(of) = of else {
            self.sentence.set_text("");
            self.table.set_empty(WORKING);
            return;
        };
        let now = (queries.capacity.revision(), table.cloned());
        let is_shown = self.shown.as_ref().is_some_and(|shown| is_same(shown, &now));
        if !is_shown {
            self.shown = Some(now);
            self.sentence.set_text(&capacity::sentence(&of));
            self.table.set_rows(CapacityLine::of(&of), capacity::why_empty());
        }
        let selected = self.selected.borrow();
        self.table.select(|line| selected.as_deref() == Some(line.service()));
    }
}

fn is_same(a: &Shown, b: &Shown) -> bool {
    let same_table = match (&a.1, &b.1) {
        (Some(a), Some(b)) => Rc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    };
    a.0 == b.0 && same_table
}

/// Returns the field behind the button that asks for a file.
fn file_field(page: Page, keep: &Listeners) -> El {
    let file = el("input").attr("type", "file").attr("hidden", "").test("utilisation-file");
    let field = file.clone();
    file.on(keep, "change", move |_| {
        let Some(input) = field.as_kind::<HtmlInputElement>() else { return };
        let chosen = input.files().and_then(|files| files.get(0));
        // The same file may be chosen again.
        input.set_value("");
        let Some(chosen) = chosen else { return };
        spawn_local(async move {
            let given = table_in(&chosen).await;
            page.give_utilisation(Some(
                given.unwrap_or_else(|| Err(format!("{}: {}.", chosen.name(), NoUtilisation::Other))),
            ));
        });
    })
}

fn formats(page: Page, table: CompanionTable<CapacityLine>) -> Vec<export::Format> {
    vec![
        ("CSV table", "csv", Box::new(move || table.csv())),
        (
            "JSON report",
            "json",
            Box::new(move || {
                let (of, queries) = (capacities(page)?, page.queries());
                let after = queries.capacity_what_if.fresh().filter(|_| of.changes().is_some());
                json::flow_capacity(&of, after.as_deref(), queries.back_test.fresh().as_deref()).ok()
            }),
        ),
    ]
}
