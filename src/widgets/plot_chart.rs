//! Plots of plotters on a canvas that may be higher than its window: what is under the pointer, and scrolling.

use crate::canvas::{PlotBackend, Surface};
use crate::dom::{El, div};
use crate::widgets::chart_canvas::{CanvasChart, ChartCanvas, Pointed};
use crate::widgets::export;
use crate::widgets::filled_canvas::chart_size;
use pathlight_view::draw::plot::{ChartError, ChartSize};
use pathlight_view::draw::{Metrics, Theme, Viewport};

/// A chart of parts, drawn through plotters.
pub trait PlotLayout: 'static {
    /// Returns the height it needs in device pixels, given the room it has.
    fn height(&self, room: ChartSize) -> i32;

    /// Returns whether no more height than it needs is of use to it.
    fn is_compact(&self) -> bool {
        false
    }

    /// Draws it.
    ///
    /// # Errors
    /// The backend's, in words.
    fn draw(&self, backend: PlotBackend<'_>, size: ChartSize, theme: &Theme) -> Result<(), ChartError>;

    /// Returns the part at a pixel.
    fn part_at(&self, at: (i32, i32), size: ChartSize) -> Option<usize>;

    /// Returns the lines of the tip of a part.
    fn tip(&self, part: usize) -> Vec<El>;

    /// Handles a click on a part.
    fn click(&mut self, part: usize);
}

/// A [`PlotLayout`] on a canvas that scrolls where the plot is higher than the room it has.
pub struct ScrolledPlot<P> {
    /// The drawing.
    pub plot: P,
    scroller: Scroller,
    size: ChartSize,
}

/// The element that scrolls, and device pixels per CSS pixel.
struct Scroller(El, f64);

impl Viewport for Scroller {
    fn zoom(&mut self, _at: (f64, f64), _factor: f64) {}

    fn pan(&mut self, _x: f64, y: f64) {
        let top = f64::from(self.0.html().scroll_top()) - y / self.1;
        self.0.html().set_scroll_top(top.round() as i32);
    }
}

/// Puts a plot on a canvas. Returns the canvas and the element around it, which scrolls.
pub fn scrolled<P: PlotLayout>(plot: P, test: &str, label: &str) -> (ChartCanvas<ScrolledPlot<P>>, El) {
    let scroller = div("chart-scroll");
    let size = ChartSize { width: 1, height: 1, metrics: Metrics::default() };
    let chart = ScrolledPlot { plot, scroller: Scroller(scroller.clone(), 1.0), size };
    let chart = ChartCanvas::new(chart, test, label);
    scroller.add(chart.element());
    (chart, scroller)
}

/// Returns the export of a chart as an image of this width and height in pixels, in plain colours.
pub fn svg_format<P: PlotLayout>(
    chart: ChartCanvas<ScrolledPlot<P>>,
    (width, height): (i32, i32),
    write: impl Fn(&P, ChartSize, &Theme) -> Option<String> + 'static,
) -> export::Format {
    let size = ChartSize { width, height, metrics: Metrics::default() };
    let write = move || chart.look(|chart| write(&chart.plot, size, &export::theme()));
    ("SVG image", "svg", Box::new(write))
}

/// Makes the canvas as high as its chart wants to be, at least as high as the window.
pub fn fit<P: PlotLayout>(chart: ChartCanvas<ScrolledPlot<P>>) {
    let scale = crate::dom::window().device_pixel_ratio();
    let height = chart.look(|chart| {
        let (width, height) = chart.scroller.0.size();
        let px = |css: f64| (css * scale).round() as i32;
        let room = ChartSize { width: px(width), height: px(height), metrics: Metrics { scale } };
        f64::from(chart.plot.height(room)) / scale
    });
    chart.element().style("height", &format!("max(100%, {:.0}px)", height.floor()));
    chart.paint();
}

impl<P: PlotLayout> CanvasChart for ScrolledPlot<P> {
    type Hit = usize;

    fn paint(&mut self, surface: &Surface, theme: &Theme) {
        self.size = chart_size(surface);
        self.scroller.1 = self.size.metrics.scale;
        // A chart that cannot be drawn leaves the table below it, which says the same.
        if let Some(backend) = PlotBackend::new(surface) {
            let _ = self.plot.draw(backend, self.size, theme);
        }
    }

    fn viewport(&mut self) -> &mut dyn Viewport {
        &mut self.scroller
    }

    fn needs(&self) -> Option<f64> {
        let room = ChartSize { height: 1, ..self.size };
        self.plot.is_compact().then(|| f64::from(self.plot.height(room)) / self.size.metrics.scale)
    }

    fn hit(&self, at: (i32, i32)) -> Option<usize> {
        self.plot.part_at(at, self.size)
    }

    fn tip(&self, part: &usize) -> Vec<El> {
        self.plot.tip(*part)
    }

    fn click(&mut self, pointed: Pointed) -> bool {
        let part = self.hit(pointed.at).filter(|_| pointed.count == 1);
        part.into_iter().for_each(|part| self.plot.click(part));
        part.is_some()
    }
}
