//! A canvas for a chart of plotters that is only looked at; one whose parts can be pointed at is a
//! [`plot_chart`](crate::ui::widgets::plot_chart).

use crate::canvas::{PlotBackend, Surface, theme_of};
use crate::ui::dom;
use crate::ui::dom::{El, div, el};
use pathlight_chart::Theme;
use pathlight_chart::plot::{ChartError, ChartSize};
use std::cell::RefCell;
use web_sys::HtmlCanvasElement;

/// The canvas.
pub struct StillChart {
    area: El,
    canvas: El,
    surface: RefCell<Option<Surface>>,
    /// What was painted: its number, size in CSS pixels, device scale, look of the page.
    painted: RefCell<(u64, (f64, f64), f64, String)>,
}

impl StillChart {
    /// Returns an empty canvas that tests know by this name, and which the style sheet gives a size.
    pub fn new(test: &str, label: &str) -> StillChart {
        let canvas = el("canvas").attr("role", "img").attr("aria-label", label).test(test);
        let area = div("chart").child(&canvas);
        StillChart { area, canvas, surface: RefCell::default(), painted: RefCell::default() }
    }

    /// Returns the element that the canvas fills.
    pub fn element(&self) -> &El {
        &self.area
    }

    /// Returns the canvas.
    pub fn canvas(&self) -> &El {
        &self.canvas
    }

    /// Paints unless this very chart, number `revision`, stands there already.
    pub fn paint(
        &self,
        revision: u64,
        draw: impl FnOnce(PlotBackend, ChartSize, &Theme) -> Result<(), ChartError>,
    ) {
        let (width, height) = self.area.size();
        let scale = dom::window().device_pixel_ratio();
        let now = (revision, (width, height), scale, dom::look());
        if width < 1.0 || height < 1.0 || *self.painted.borrow() == now {
            return;
        }
        let mut slot = self.surface.borrow_mut();
        if self.painted.replace(now).3 != dom::look() {
            *slot = None;
        }
        if slot.is_none() {
            *slot = self.canvas.as_kind::<HtmlCanvasElement>().cloned().and_then(Surface::new);
        }
        let Some(surface) = &mut *slot else { return };
        surface.resize(width, height, scale);
        let (width, height) = surface.size();
        let size = ChartSize { width, height, metrics: surface.metrics() };
        // A chart that cannot be drawn leaves the numbers beside it, which say the same.
        if let Some(backend) = PlotBackend::new(surface) {
            let _ = draw(backend, size, &theme_of(self.canvas.html()));
        }
    }
}
