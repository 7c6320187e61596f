//! How odd requests are over time, as a chart.

use super::table::{self, p_words};
use crate::canvas::PlotBackend;
use crate::ui::dom::{El, div};
use crate::ui::page::{Focus, Page};
use crate::ui::widgets::chart_canvas::ChartCanvas;
use crate::ui::widgets::export;
use crate::ui::widgets::plot_chart::{Plot, ScrolledPlot};
use pathlight_chart::anomalies;
use pathlight_chart::anomalies::AnomalyLayout;
use pathlight_chart::plot::{ChartError, ChartSize};
use pathlight_chart::{Metrics, Theme};
use pathlight_query::AnomalyReport;
use pathlight_text::format;
use pathlight_view::json;
use std::rc::Rc;

/// Size of an exported picture.
const EXPORT_PX: (i32, i32) = (1200, 360);

/// A dot per request.
pub struct Strip {
    page: Page,
    /// What is shown.
    pub report: Option<Rc<AnomalyReport>>,
}

impl Strip {
    /// A strip without dots.
    pub fn new(page: Page) -> Strip {
        Strip { page, report: None }
    }
}

impl Plot for Strip {
    fn height(&self, room: ChartSize) -> i32 {
        room.height
    }

    fn draw(&self, backend: PlotBackend<'_>, size: ChartSize, theme: &Theme) -> Result<(), ChartError> {
        let empty = AnomalyReport::default();
        let report = self.report.as_deref().unwrap_or(&empty);
        anomalies::draw(backend, report, &AnomalyLayout::new(report, size), theme)
    }

    fn part_at(&self, at: (i32, i32), size: ChartSize) -> Option<usize> {
        AnomalyLayout::new(self.report.as_ref()?, size).row_at(at)
    }

    fn tip(&self, part: usize) -> Vec<El> {
        let Some((report, row)) = self.report.as_ref().and_then(|r| Some((r, r.rows.get(part)?))) else {
            return Vec::new();
        };
        let mut lines = vec![
            div("strong").text(&format!(
                "{}, p structure {}, time {}",
                format::duration_us(row.request.latency_us),
                p_words(row.p_structure),
                p_words(row.p_time)
            )),
            div("muted small").text(&format::moment(row.start_us)),
        ];
        lines.extend(
            row.reasons
                .first()
                .map(|reason| div("").text(&format::printable(&report.words(reason, format::duration)))),
        );
        lines
    }

    fn click(&mut self, part: usize) {
        if let Some(row) = self.report.as_ref().and_then(|report| report.rows.get(part)) {
            self.page.set_focus(Focus::Request(super::choice(&row.request)));
        }
    }
}

/// What the view is exported as.
pub fn formats(chart: ChartCanvas<ScrolledPlot<Strip>>) -> Vec<export::Format> {
    let report = |chart: ChartCanvas<ScrolledPlot<Strip>>| chart.look(|chart| chart.plot.report.clone());
    vec![
        (
            "SVG picture",
            "svg",
            Box::new(move || {
                let (width, height) = EXPORT_PX;
                let size = ChartSize { width, height, metrics: Metrics::default() };
                anomalies::export_svg(&*report(chart)?, size, &chart.plain_theme(), "How odd requests are")
                    .ok()
            }),
        ),
        ("CSV table", "csv", Box::new(move || report(chart).map(|report| table::csv(&report)))),
        ("JSON report", "json", Box::new(move || json::anomaly(&*report(chart)?).ok())),
    ]
}
