//! What-if: some calls faster, slower, gone, or side by side; the whole request before and after; see
//! [`flow_changes`].

use super::changes::ChangeControls;
use crate::dom::{El, Listeners, button, div, el};
use crate::page::Page;
use crate::widgets::still_chart::StillChart;
use crate::widgets::tip::numbers_element;
use crate::widgets::{export, names};
use pathlight_engine::flow::{FlowReport, WhatIfReport};
use pathlight_engine::ids::NodeId;
use pathlight_engine::requests::Until;
use pathlight_view::draw::Metrics;
use pathlight_view::draw::curves::{draw, export_svg};
use pathlight_view::draw::plot::ChartSize;
use pathlight_view::flow::changes::curves;
use pathlight_view::flow::choice::{FlowChoice, FlowPanel};
use pathlight_view::flow::prediction::back_test_words;
use pathlight_view::views::WORKING;
use pathlight_view::{flow, json};
use std::rc::Rc;

/// The panel.
pub struct WhatIfPanel {
    element: El,
    exports: El,
    changes: ChangeControls,
    chart: StillChart,
    figures: El,
    /// What is said where queues change and requests end with their answer, with the way out.
    note: El,
    note_words: El,
    back_test: El,
    endpoints: El,
    /// Revision of the report that is shown.
    shown: Option<u64>,
    keep: Listeners,
}

/// Returns the size of an exported chart.
pub fn export_size() -> ChartSize {
    ChartSize { width: 900, height: 420, metrics: Metrics::default() }
}

/// Changes what the what-if is about, and shows it.
pub fn open(page: Page, set: impl FnOnce(&mut FlowChoice)) {
    page.change(|address| {
        set(&mut address.choices.flow);
        address.choices.flow.panel = FlowPanel::WhatIf;
    });
}

impl WhatIfPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> WhatIfPanel {
        let changes = ChangeControls::new(page, keep);
        let chart = StillChart::new("whatif-chart", "Latency of the request before and after the changes");
        let exports = export::menu(page, keep, "what-if", None, formats(page));
        let figures = div("whatif-figures").test("whatif-figures");
        let back_test = el("p").class("muted small").test("whatif-error");
        let endpoints = div("whatif-endpoints").test("whatif-endpoints");
        let note_words = el("p").class("muted small");
        let until_done = button("Until done").test("whatif-until-done").on_click(keep, move || {
            page.change(|address| address.until = Until::Done);
        });
        let note = div("whatif-note").test("whatif-note").child(&note_words).child(&until_done);
        let facts = div("whatif-facts").child(&figures).child(&note).child(&back_test).child(&endpoints);
        let middle = div("whatif-chart").child(chart.element());
        let exports = div("").test("whatif-tools").child(&exports);
        let element = div("whatif").test("whatif").child(changes.element()).child(&middle).child(&facts);
        let keep = Listeners::default();
        WhatIfPanel {
            element,
            exports,
            changes,
            chart,
            figures,
            note,
            note_words,
            back_test,
            endpoints,
            shown: None,
            keep,
        }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Returns its export menu, which stands above it.
    pub fn exports(&self) -> &El {
        &self.exports
    }

    /// Follows the flow, the selected node and the reports.
    pub fn update(&mut self, page: Page, flow: &Rc<FlowReport>, selected: Option<NodeId>) {
        self.changes.update(page, flow, selected);
        let queries = page.queries();
        let now = queries.what_if.revision();
        if let Some(report) = queries.what_if.get() {
            self.chart.paint(now, |backend, size, theme| draw(backend, &curves(&report, theme), size, theme));
            if self.shown != Some(now) {
                self.show(page, &report);
            }
        } else {
            self.figures.set_text(WORKING);
        }
        let address = page.address();
        let note = flow::changes::no_answer_waits(&address.choices.flow.changes, address.until);
        self.note.show(!note.is_empty());
        self.note_words.set_text(note);
        self.back_test.set_text(&back_test_words(queries.back_test.fresh().as_deref()));
        self.shown = Some(now);
    }

    fn show(&self, page: Page, report: &WhatIfReport) {
        self.keep.clear();
        let table = numbers_element(&flow::changes::numbers(report));
        let words =
            el("p").class("muted small").text(&flow::changes::changed_words(report, page.address().until));
        self.figures.fill([&table, &words]);
        self.endpoints.clear();
        let shares = flow::changes::shares(report, flow::changes::LISTED);
        if shares.is_empty() {
            return;
        }
        self.endpoints.add(&el("h3").text("Share of the latency, before and after"));
        self.endpoints.add(&names::endpoint_list(page, &self.keep, shares));
    }
}

fn formats(page: Page) -> Vec<export::Format> {
    let report = move || page.queries().what_if.get();
    vec![
        (
            "SVG image",
            "svg",
            Box::new(move || {
                let theme = export::theme();
                export_svg(
                    &curves(&*report()?, &theme),
                    export_size(),
                    &theme,
                    "What if: latency before and after",
                )
                .ok()
            }),
        ),
        ("CSV table", "csv", Box::new(move || Some(flow::changes::what_if_csv(&*report()?)))),
        (
            "JSON report",
            "json",
            Box::new(move || json::what_if(&*report()?, page.queries().back_test.fresh().as_deref()).ok()),
        ),
    ]
}
