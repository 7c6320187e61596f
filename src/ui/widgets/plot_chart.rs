//! Plots of plotters on a canvas that may be higher than its window: what is under the pointer, and scrolling.

use crate::canvas::{PlotBackend, Surface};
use crate::ui::dom::{El, div};
use crate::ui::widgets::chart_canvas::{CanvasChart, ChartCanvas, Pointed, Tip};
use pathlight_chart::Theme;
use pathlight_chart::plot::{ChartError, ChartSize};

/// A chart of parts, drawn through plotters.
pub trait Plot: 'static {
    /// The height it needs in device pixels, given the room it has.
    fn height(&self, room: ChartSize) -> i32;

    /// Draws it.
    ///
    /// # Errors
    /// The backend's, in words.
    fn draw(&self, backend: PlotBackend<'_>, size: ChartSize, theme: &Theme) -> Result<(), ChartError>;

    /// The part at a pixel.
    fn part_at(&self, at: (i32, i32), size: ChartSize) -> Option<usize>;

    /// The lines of the tip of a part.
    fn tip(&self, part: usize) -> Vec<El>;

    /// A part is clicked.
    fn click(&mut self, part: usize);
}

/// A [`Plot`] on a canvas that scrolls where the plot is higher than the room it has.
pub struct ScrolledPlot<P> {
    /// What is drawn.
    pub plot: P,
    scroller: El,
    tip: Tip,
    size: ChartSize,
}

/// Puts a plot on a canvas. Returns the canvas and the element around it, which scrolls.
pub fn scrolled<P: Plot>(plot: P, test: &str, label: &str) -> (ChartCanvas<ScrolledPlot<P>>, El) {
    let scroller = div("chart-scroll");
    let size = ChartSize { width: 1, height: 1, metrics: pathlight_chart::Metrics::default() };
    let chart = ScrolledPlot { plot, scroller: scroller.clone(), tip: Tip::new(), size };
    let chart = ChartCanvas::new(chart, test, label);
    scroller.add(chart.element());
    (chart, scroller)
}

impl<P: Plot> ScrolledPlot<P> {
    /// Hides the tip, since the view goes out of sight.
    pub fn leave(&self) {
        self.tip.hide();
    }
}

/// Makes the canvas as high as its chart wants to be, at least as high as the window.
pub fn fit<P: Plot>(chart: ChartCanvas<ScrolledPlot<P>>) {
    let scale = crate::ui::dom::window().device_pixel_ratio();
    let height = chart.look(|chart| {
        let (width, height) = chart.scroller.size();
        let px = |css: f64| (css * scale).round() as i32;
        let room =
            ChartSize { width: px(width), height: px(height), metrics: pathlight_chart::Metrics { scale } };
        f64::from(chart.plot.height(room)) / scale
    });
    chart.element().style("height", &format!("max(100%, {:.0}px)", height.floor()));
    chart.paint();
}

impl<P: Plot> CanvasChart for ScrolledPlot<P> {
    fn paint(&mut self, surface: &Surface, theme: &Theme, _now_ms: f64) -> bool {
        let (width, height) = surface.size();
        self.size = ChartSize { width, height, metrics: surface.metrics() };
        // A chart that cannot be drawn leaves the table below it, which says the same.
        if let Some(backend) = PlotBackend::new(surface) {
            let _ = self.plot.draw(backend, self.size, theme);
        }
        false
    }

    fn zoom(&mut self, _x: f64, _factor: f64) {}

    fn pan(&mut self, _x: f64, y: f64) {
        let scroller = self.scroller.html();
        let css = y / self.size.metrics.scale;
        scroller.set_scroll_top((f64::from(scroller.scroll_top()) - css).round() as i32);
    }

    fn hover(&mut self, pointed: Option<Pointed>) -> bool {
        let part = pointed.and_then(|pointed| self.plot.part_at(pointed.at, self.size));
        match (pointed, part) {
            (Some(pointed), Some(part)) => self.tip.show(pointed.client, &self.plot.tip(part)),
            _ => self.tip.hide(),
        }
        false
    }

    fn click(&mut self, pointed: Pointed) {
        if let Some(part) = self.plot.part_at(pointed.at, self.size).filter(|_| pointed.count == 1) {
            self.tip.hide();
            self.plot.click(part);
        }
    }

    fn fit(&mut self) {}
}
