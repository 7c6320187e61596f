//! Changes that bring a percentile of the latency down to a target; see [`flow_target`].

use super::cheapest::CheapestList;
use super::limit_field::LimitField;
use super::what_if;
use crate::dom::{El, Listeners, button, div, el};
use crate::page::{Focus, Page};
use crate::widgets::companion::{AnyTable as _, CompanionTable};
use crate::widgets::controls;
use crate::widgets::{export, names};
use pathlight_engine::flow::TargetReport;
use pathlight_view::flow::prediction::back_test_words;
use pathlight_view::flow::target::TargetLine;
use pathlight_view::views::WORKING;
use pathlight_view::{flow, json};
use std::cell::Cell;
use std::rc::Rc;

/// The panel.
pub struct TargetPanel {
    element: El,
    target: LimitField,
    sentence: El,
    error: El,
    attempt: El,
    body: El,
    table: CompanionTable<TargetLine>,
    budgets: El,
    cheapest: CheapestList,
    /// The way that was clicked.
    chosen: Rc<Cell<Option<usize>>>,
    /// Revision of the report that is shown.
    shown: Option<u64>,
    keep: Listeners,
}

/// Puts the changes of a way into the what-if.
fn attempt(page: Page, line: &TargetLine) {
    what_if::open(page, |flow| flow.changes = line.changes());
}

impl TargetPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> TargetPanel {
        let label = "What the percentile is to be";
        let target = LimitField::new(page, keep, ("target", label), |flow| &mut flow.target);
        let chosen = Rc::new(Cell::new(None));
        let select = chosen.clone();
        let table = CompanionTable::sorted_alone(flow::target::table())
            .on_select(move |line| {
                select.set(Some(line.at()));
                // A part of a service is no call, and one in focus would be chosen in its place.
                let call = line.first().map(|endpoint| Focus::Endpoint(endpoint.clone()));
                page.set_focus(call.unwrap_or_default());
            })
            .on_open(move |line| attempt(page, line));
        let which = chosen.clone();
        let attempt = button("Try it in What if")
            .attr("title", "Enter, or double-click the row: the whole request with this faster")
            .test("target-try")
            .on_click(keep, move || {
                let at = which.get();
                table.look(|table| {
                    let line = table.rows().iter().find(|line| Some(line.at()) == at);
                    line.into_iter().for_each(|line| attempt(page, line));
                });
            });
        let tools = div("tools")
            .children(&target.inputs())
            .child(&attempt)
            .children(target.progress())
            .child(&div("grow"))
            .child(&export::menu(page, keep, "target", None, formats(page, table)));
        let sentence = el("p").class("target-sentence").test("target-sentence");
        let error = el("p").class("muted small table-note").test("target-error");
        let budgets = div("whatif-endpoints target-budgets").test("target-budgets");
        let body = div("target-body").child(table.element()).child(&budgets);
        let element = div("target").test("target").child(&tools).child(target.trouble()).child(&sentence);
        let cheapest = CheapestList::new();
        let element = element.child(cheapest.element()).child(&body).child(&error);
        TargetPanel {
            element,
            target,
            sentence,
            error,
            attempt,
            body,
            table,
            budgets,
            cheapest,
            chosen,
            shown: None,
            keep: Listeners::default(),
        }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows address and reports.
    pub fn update(&mut self, page: Page) {
        let queries = page.queries();
        let target = page.address().choices.flow.target;
        self.cheapest.update(page);
        let is_waiting = queries.target.is_waiting();
        self.target.show(target, queries.target.progress().filter(|_| is_waiting));
        self.table.set_stale(is_waiting);
        self.sentence.class_if("stale", is_waiting);
        let report = queries.target.get().filter(|_| target.is_some());
        let has_ways = report.as_ref().is_some_and(|report| report.ways().next().is_some());
        self.body.show(has_ways);
        self.error.show(has_ways);
        self.attempt.show(has_ways);
        self.error.set_text(&back_test_words(queries.back_test.fresh().as_deref()));
        let Some(report) = report else {
            let words = match target {
                Some(_) => WORKING.to_owned(),
                None => flow::target::no_target_words(self.target.quantile(), self.target.now_us(page)),
            };
            self.sentence.set_text(&words);
            self.shown = None;
            return;
        };
        let now = Some(queries.target.revision());
        if self.shown != now {
            self.shown = now;
            self.chosen.set(report.reaching_way().and_then(|way| report.ways().position(|of| of == way)));
            self.show_report(page, &report);
        }
        self.select(page);
    }

    /// Tries another endpoint in focus, as by a click into the chart, as another way.
    fn select(&self, page: Page) {
        if let Focus::Endpoint(endpoint) = &*page.focus() {
            let ways: Vec<usize> = self.table.look(|table| {
                let of = table.rows().iter().filter(|line| line.first() == Some(endpoint));
                of.map(TargetLine::at).collect()
            });
            if !self.chosen.get().is_some_and(|at| ways.contains(&at)) {
                self.chosen.set(ways.first().copied().or(self.chosen.get()));
            }
        }
        self.table.select_at(self.chosen.get());
        controls::enable(&self.attempt, self.chosen.get().is_some());
    }

    fn show_report(&self, page: Page, report: &Rc<TargetReport>) {
        self.sentence.set_text(&flow::target::sentence(report));
        self.table.set_rows(TargetLine::of(report), flow::target::why_empty(report));
        self.keep.clear();
        self.budgets.clear();
        let (rows, others) = flow::target::budgets(report, flow::changes::LISTED);
        self.budgets.show(!rows.is_empty());
        self.budgets.add(&el("h3").text(&flow::target::budget_title(report)));
        self.budgets.add(&names::endpoint_list(page, &self.keep, rows));
        self.budgets.add(&el("p").class("muted small").text(&others));
    }
}

fn formats(page: Page, table: CompanionTable<TargetLine>) -> Vec<export::Format> {
    // A table of an earlier target is not what is shown.
    let is_shown = move || page.address().choices.flow.target.is_some();
    vec![
        ("CSV table", "csv", Box::new(move || table.csv().filter(|_| is_shown()))),
        (
            "JSON report",
            "json",
            Box::new(move || {
                let queries = page.queries();
                let report = queries.target.fresh().filter(|_| is_shown())?;
                json::flow_target(&report, queries.back_test.fresh().as_deref()).ok()
            }),
        ),
    ]
}
