//! The variants of the flow: the calls of hits, misses and errors, side by side, and what decides which; see [`flow::variants`].

use super::report_table::{ReportTable, Said};
use crate::canvas::theme_of;
use crate::dom::{self, El, Listeners, div, el};
use crate::page::{Focus, Page};
use crate::widgets::companion::CompanionTable;
use crate::widgets::export;
use crate::widgets::filled_canvas::FilledCanvas;
use pathlight_engine::flow::FlowVariantsReport;
use pathlight_view::draw::Metrics;
use pathlight_view::flow::variants::chart::VariantsLayout;
use pathlight_view::flow::variants::{self, VariantLine};
use pathlight_view::json;

/// What was painted: revision of the report, width in CSS pixels, device scale, look of the page.
type Painted = (u64, f64, f64, String);

/// The panel.
pub struct VariantsPanel {
    element: El,
    report: ReportTable<VariantLine>,
    chart: FilledCanvas,
    painted: Painted,
}

impl VariantsPanel {
    /// Builds the elements and their listeners.
    pub fn new(page: Page, keep: &Listeners) -> VariantsPanel {
        let table = CompanionTable::sorted_alone(variants::table()).on_select(move |line| {
            let call = line.call().cloned();
            page.set_focus(call.map(Focus::Endpoint).unwrap_or_default());
        });
        let tools = div("tools")
            .child(&div("title muted").text("Invocations that make the same calls, each with its flow"))
            .child(&div("grow"))
            .child(&export::menu(page, keep, "variants", None, formats(page, table)));
        let report = ReportTable::new("variants-sentence", table);
        let canvas = el("canvas")
            .attr("role", "img")
            .attr(
                "aria-label",
                "The flows of the most common variants; the table above says what decides which",
            )
            .test("variants-chart");
        let chart = FilledCanvas::new(div("chart variants-chart"), canvas);
        let note = el("p").class("muted small table-note").text(variants::LIMITS);
        let element = div("variants").test("variants").child(&tools).child(&report.sentence);
        let element = element.child(table.element()).child(&note).child(chart.area());
        VariantsPanel { element, report, chart, painted: Painted::default() }
    }

    /// Returns its root element.
    pub fn element(&self) -> &El {
        &self.element
    }

    /// Follows the reports.
    pub fn update(&mut self, page: Page) {
        let said = Said {
            headline: variants::headline,
            lines: VariantLine::of,
            empty: variants::EMPTY,
            endpoint: VariantLine::call,
        };
        let slot = &page.queries().variants;
        let report = self.report.update(page, slot, &said);
        // One flow alone is that of the chart above.
        let report = report.filter(|report| report.variants.len() > 1);
        self.chart.area().show(report.is_some());
        if let Some(report) = report {
            self.paint(slot.revision(), &report);
        }
    }

    /// Paints the flows, unless they stand there already.
    fn paint(&mut self, revision: u64, report: &FlowVariantsReport) {
        let scale = dom::window().device_pixel_ratio();
        let width = self.chart.area().size().0;
        let now = (revision, width, scale, dom::look());
        if width < 1.0 || self.painted == now {
            return;
        }
        let metrics = Metrics { scale };
        let layout = VariantsLayout::new(report, (width * scale) as i32, metrics);
        self.chart.area().style("height", &format!("{:.0}px", (f64::from(layout.height) / scale).ceil()));
        let Some(surface) = self.chart.surface() else { return };
        let theme = theme_of(self.chart.canvas().html());
        let mut label = surface.measure(metrics.font_px(), false);
        let mut small = surface.measure(metrics.px(11.0), false);
        let measures = [&mut label as &mut dyn pathlight_view::draw::MeasureText, &mut small];
        surface.paint(&variants::chart::scene(&layout, report, metrics, &theme, measures));
        self.painted = now;
    }
}

fn formats(page: Page, table: CompanionTable<VariantLine>) -> Vec<export::Format> {
    let report = move || page.queries().variants.get();
    vec![
        (
            "SVG image",
            "svg",
            Box::new(move || Some(variants::chart::export_svg(&*report()?, &export::theme()))),
        ),
        ("CSV table", "csv", Box::new(move || table.csv())),
        ("JSON report", "json", Box::new(move || json::flow_variants(&*report()?).ok())),
    ]
}
