//! The chart of the anomaly of requests over time.

use crate::canvas::PlotBackend;
use crate::dom::El;
use crate::page::{Focus, Page};
use crate::widgets::chart_canvas::ChartCanvas;
use crate::widgets::companion::CompanionTable;
use crate::widgets::plot_chart::{self, PlotLayout, ScrolledPlot};
use crate::widgets::{export, tip};
use pathlight_engine::anomalies::AnomalyReport;
use pathlight_view::anomalies::chart::AnomalyLayout;
use pathlight_view::anomalies::{self, AnomalyLine};
use pathlight_view::draw::Theme;
use pathlight_view::draw::plot::{ChartError, ChartSize};
use pathlight_view::{anomalies as view, json};
use std::rc::Rc;

/// Size of an exported image.
const EXPORT_PX: (i32, i32) = (1200, 360);

/// A dot per request.
pub struct Strip {
    /// The page.
    pub page: Page,
    /// The report that is drawn.
    pub report: Rc<AnomalyReport>,
    /// Requests that a search finds.
    pub found: Option<Vec<bool>>,
}

impl PlotLayout for Strip {
    fn height(&self, room: ChartSize) -> i32 {
        room.height
    }

    fn draw(&self, backend: PlotBackend<'_>, size: ChartSize, theme: &Theme) -> Result<(), ChartError> {
        let layout = AnomalyLayout::new(&self.report, size);
        anomalies::chart::draw(backend, &self.report, &layout, self.found.as_deref(), theme)
    }

    fn part_at(&self, at: (i32, i32), size: ChartSize) -> Option<usize> {
        AnomalyLayout::new(&self.report, size).row_at(at)
    }

    fn tip(&self, part: usize) -> Vec<El> {
        tip::elements(&view::tip(&self.report, part))
    }

    fn click(&mut self, part: usize) {
        if let Some(row) = self.report.rows.get(part) {
            self.page.set_focus(Focus::Request((&row.request).into()));
        }
    }
}

/// Returns what the view is exported as.
pub fn formats(
    page: Page,
    chart: ChartCanvas<ScrolledPlot<Strip>>,
    table: CompanionTable<AnomalyLine>,
) -> Vec<export::Format> {
    let report = move || super::shown(page);
    vec![
        plot_chart::svg_format(chart, EXPORT_PX, move |_, size, theme| {
            anomalies::chart::export_svg(&*report()?, size, theme, "How anomalous requests are").ok()
        }),
        ("CSV table", "csv", Box::new(move || table.csv())),
        (
            "JSON report",
            "json",
            Box::new(move || {
                let hits = super::hits(page);
                json::anomaly(&*report()?, hits.as_deref().and_then(Option::as_ref)).ok()
            }),
        ),
    ]
}
