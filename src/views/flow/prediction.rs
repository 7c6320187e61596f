//! The accuracy of six predictions of the latency of held-out invocations, as a table and two plots; see [`flow_prediction`].

use super::what_if::export_size;
use crate::dom::{El, Listeners, div, el};
use crate::page::Page;
use crate::widgets::controls::{self, Segments};
use crate::widgets::export;
use crate::widgets::still_chart::StillChart;
use pathlight_engine::flow::EvaluationReport;
use pathlight_view::draw::curves::{draw, export_svg};
use pathlight_view::flow::prediction::{
    CAPTION, HEADS, LEAST_CHILDREN, PredictionPlot, color_of, curves, is_flow,
};
use pathlight_view::views::WORKING;
use pathlight_view::{flow, json};

/// The panel.
pub struct PredictionPanel {
    element: El,
    scopes: Segments,
    least: Segments,
    title: El,
    table: El,
    charts: [StillChart; 2],
    /// Revision of the report, and whether the theme is dark, that are shown.
    shown: Option<(u64, bool)>,
}

impl PredictionPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> PredictionPanel {
        let pool = move |pooled: bool| move || page.change(|address| address.choices.flow.pooled = pooled);
        let scopes = Segments::new("Whose invocations")
            .button(keep, ("This parent", "", "of-parent"), pool(false))
            .button(keep, ("All parents", "", "of-all"), pool(true));
        let mut least = Segments::new("Least calls");
        for children in LEAST_CHILDREN {
            let hint = "Parents none of whose invocations has so many calls are left out";
            let words = (&*format!("\u{2265} {children} calls"), hint, &*format!("least-{children}"));
            least = least.button(keep, words, move || {
                page.change(|address| address.choices.flow.min_children = Some(children));
            });
        }
        let charts = [(PredictionPlot::Ratios, "ratio-chart"), (PredictionPlot::Errors, "error-chart")]
            .map(|(plot, test)| StillChart::new(test, plot.label()));
        let title = div("title muted").test("prediction-title");
        let exports = export::menu(page, keep, "prediction", None, formats(page));
        let tools = div("tools")
            .child(scopes.element())
            .child(least.element())
            .child(&title)
            .child(&div("grow"))
            .child(&exports);
        let table = div("prediction-table").test("prediction-table");
        let body = div("prediction-body").child(&table).children(charts.iter().map(StillChart::element));
        let element = div("prediction").test("prediction").child(&tools).child(&body);
        PredictionPanel { element, scopes, least, title, table, charts, shown: None }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the reports.
    pub fn update(&mut self, page: Page) {
        let address = page.address();
        let choice = &address.choices.flow;
        self.scopes.press(usize::from(choice.pooled));
        // None of them where a link asks for another number.
        let least = LEAST_CHILDREN.iter().position(|children| choice.least_children() == *children);
        self.least.press(least.unwrap_or(usize::MAX));
        (0..LEAST_CHILDREN.len()).for_each(|at| controls::enable(self.least.at(at), choice.pooled));
        let slot = &page.queries().evaluation;
        self.element.class_if("stale", slot.is_waiting());
        let Some(report) = slot.get() else {
            self.title.set_text(WORKING);
            return;
        };
        for (chart, plot) in self.charts.iter().zip(PredictionPlot::ALL) {
            chart.paint(slot.revision(), |backend, size, theme| {
                draw(backend, &curves(&report, plot, false, theme), size, theme)
            });
        }
        let now = Some((slot.revision(), export::theme().dark));
        if self.shown != now {
            self.shown = now;
            self.title.set_text(&flow::prediction::title(&report));
            self.table.fill([&table_of(&report)]);
        }
    }
}

fn table_of(report: &EvaluationReport) -> El {
    // Above the methods stands nothing, and an empty head would be read out as one.
    let head = HEADS.iter().fold(el("tr").child(&el("td")), |row, title| {
        row.child(&el("th").class("num").attr("scope", "col").text(title))
    });
    let theme = export::theme();
    let body = el("tbody");
    for (number, method) in report.methods.iter().enumerate() {
        let swatch = div("swatch").styled("background", &color_of(number, &theme).css());
        let row = el("tr")
            .class(if is_flow(number) { "strong" } else { "" })
            .test("method")
            .attr("data-method", &method.name)
            .child(&el("th").attr("scope", "row").child(&swatch).text(&method.name));
        body.add(&flow::prediction::errors(method).iter().fold(row, |row, (words, digits)| {
            row.child(&el("td").class("num").attr("data-value", digits).text(words))
        }));
    }
    let caption = el("caption").text(CAPTION);
    el("table").class("weights").child(&caption).child(&el("thead").child(&head)).child(&body)
}

fn formats(page: Page) -> Vec<export::Format> {
    let report = move || page.queries().evaluation.get();
    let chart = |plot: PredictionPlot| -> Box<dyn Fn() -> Option<String>> {
        Box::new(move || {
            let theme = export::theme();
            export_svg(&curves(&*report()?, plot, true, &theme), export_size(), &theme, plot.title()).ok()
        })
    };
    vec![
        ("SVG image of the ratios", "ratios.svg", chart(PredictionPlot::Ratios)),
        ("SVG image of the errors", "errors.svg", chart(PredictionPlot::Errors)),
        ("CSV table", "csv", Box::new(move || Some(flow::prediction::prediction_csv(&*report()?)))),
        ("JSON report", "json", Box::new(move || json::flow_evaluation(&*report()?).ok())),
    ]
}
