//! A canvas for a chart of plotters that is only looked at; one whose parts can be pointed at is a
//! [`plot_chart`](crate::widgets::plot_chart).

use crate::canvas::{PlotBackend, theme_of};
use crate::dom::{self, El, div, el};
use crate::widgets::filled_canvas::{FilledCanvas, chart_size};
use pathlight_view::draw::Theme;
use pathlight_view::draw::plot::{ChartError, ChartSize};
use std::cell::RefCell;

/// The canvas.
pub struct StillChart {
    filled: FilledCanvas,
    /// State that was painted: its number, size in CSS pixels, device scale, look of the page.
    painted: RefCell<(u64, (f64, f64), f64, String)>,
}

impl StillChart {
    /// Returns an empty canvas that tests know by this name, and which the style sheet gives a size.
    pub fn new(test: &str, label: &str) -> StillChart {
        let canvas = el("canvas").attr("role", "img").attr("aria-label", label).test(test);
        StillChart { filled: FilledCanvas::new(div("chart"), canvas), painted: RefCell::default() }
    }

    /// Returns the element that the canvas fills.
    pub fn element(&self) -> &El {
        self.filled.area()
    }

    /// Paints unless this very chart, number `revision`, stands there already.
    pub fn paint(
        &self,
        revision: u64,
        draw: impl FnOnce(PlotBackend, ChartSize, &Theme) -> Result<(), ChartError>,
    ) {
        let scale = dom::window().device_pixel_ratio();
        let now = (revision, self.filled.area().size(), scale, dom::look());
        if *self.painted.borrow() == now {
            return;
        }
        let Some(surface) = self.filled.surface() else { return };
        self.painted.replace(now);
        let size = chart_size(&surface);
        // A chart that cannot be drawn leaves the numbers beside it, which say the same.
        if let Some(backend) = PlotBackend::new(&surface) {
            let _ = draw(backend, size, &theme_of(self.filled.canvas().html()));
        }
    }
}
