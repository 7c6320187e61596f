//! The frame of every view of the data: a chart above with its tools, a table below, and words where nothing is drawn.

use crate::dom::{self, El, div};
use crate::page::Page;
use crate::widgets::chart_canvas::{CanvasChart, ChartCanvas};
use crate::widgets::companion::{AnyTable, CompanionTable};
use crate::widgets::names;
use crate::widgets::places::Places;
use crate::widgets::plot_chart::{self, PlotLayout, ScrolledPlot};
use crate::widgets::zoom::{ZoomTools, ZoomableChart};
use pathlight_view::address::Sort;
use pathlight_view::views::View;
pub use pathlight_view::views::WORKING;
use wasm_bindgen::JsCast;

/// Attribute of views whose line between chart and table was moved.
pub const MOVED: &str = "data-moved";
/// Custom property with the height of charts.
pub const HEIGHT: &str = "--chart-height";
/// The least height of a chart with its tools, and the most that it takes of a view.
const LEAST_PX: f64 = 140.0;
const MOST: &str = "58%";

/// A chart of a view, whatever it draws.
trait AnyChart {
    /// Returns whether it is the one of the view that is in sight.
    fn is_shown(&self) -> bool;
    fn needs(&self) -> Option<f64>;
    fn room(&self) -> f64;
    fn leave(&self);
    fn follow_theme(&self) -> bool;
    fn set_stale(&self, stale: bool);
}

impl<C: CanvasChart> AnyChart for ChartCanvas<C> {
    fn is_shown(&self) -> bool {
        matches!(self.element().html().closest("[hidden]"), Ok(None))
    }

    fn needs(&self) -> Option<f64> {
        self.look(CanvasChart::needs)
    }

    /// Returns the height of what the canvas is seen through.
    fn room(&self) -> f64 {
        let area = self.element();
        let scroller = area.html().closest(".chart-scroll").ok().flatten();
        scroller.map_or_else(|| area.size().1, |scroller| f64::from(scroller.client_height()))
    }

    fn leave(&self) {
        ChartCanvas::leave(*self);
    }

    fn follow_theme(&self) -> bool {
        ChartCanvas::follow_theme(*self)
    }

    fn set_stale(&self, stale: bool) {
        self.element().class_if("stale", stale);
    }
}

/// The frame of a view.
pub struct ViewFrame {
    view: View,
    above: Option<El>,
    below: El,
    empty: El,
    charts: Vec<Box<dyn AnyChart>>,
    tables: Vec<Box<dyn AnyTable>>,
    /// Run at the end of every update: zoom tools, choices that views share, and plots that are as high as they need to be.
    last: Vec<Box<dyn Fn()>>,
}

impl ViewFrame {
    /// Returns the frame of a view without a chart.
    pub fn plain(view: View, below: El) -> ViewFrame {
        let (charts, tables, last) = (Vec::new(), Vec::new(), Vec::new());
        ViewFrame { view, above: None, below, empty: div(""), charts, tables, last }
    }

    /// Returns the frame of a view with this chart; tests know the view as `NAME-view` and its words as `NAME-empty`.
    pub fn new<C: CanvasChart>(view: View, name: &str, chart: ChartCanvas<C>, below: El) -> ViewFrame {
        let empty = div("canvas-empty").test(&format!("{name}-empty"));
        empty.show(false);
        chart.element().add(&empty);
        let above = div("view-chart").test(&format!("{name}-view"));
        let frame = ViewFrame::plain(view, below);
        ViewFrame { above: Some(above), empty, charts: vec![Box::new(chart)], ..frame }
    }

    /// Puts this above: tools, legends and the chart itself, in their order.
    pub fn with(self, child: &El) -> ViewFrame {
        if let Some(above) = &self.above {
            above.add(child);
        }
        self
    }

    /// Keeps another chart up to date.
    pub fn also<C: CanvasChart>(mut self, chart: ChartCanvas<C>) -> ViewFrame {
        self.charts.push(Box::new(chart));
        self
    }

    /// Keeps a table of the view up to date.
    pub fn table<R>(mut self, table: CompanionTable<R>) -> ViewFrame {
        self.tables.push(Box::new(table));
        self
    }

    /// Keeps the buttons that zoom up to date.
    pub fn zooms<C: ZoomableChart>(mut self, chart: ChartCanvas<C>, zooms: ZoomTools) -> ViewFrame {
        self.last.push(Box::new(move || zooms.update(chart)));
        self
    }

    /// Keeps the choice between endpoints and services up to date.
    pub fn places(mut self, page: Page, places: Places) -> ViewFrame {
        self.last.push(Box::new(move || places.follow(page)));
        self
    }

    /// Keeps a plot as high as it needs to be.
    pub fn fits<P: PlotLayout>(mut self, chart: ChartCanvas<ScrolledPlot<P>>) -> ViewFrame {
        self.last.push(Box::new(move || plot_chart::fit(chart)));
        self
    }

    /// Returns the first chart that is not hidden: a view may have several, one in the place of the other.
    fn chart_in_sight(&self) -> Option<&dyn AnyChart> {
        self.charts.iter().find(|chart| chart.is_shown()).map(|chart| &**chart)
    }

    /// Returns the chart with its tools.
    pub fn above(&self) -> Option<&El> {
        self.above.as_ref()
    }

    /// Returns what stands below it.
    pub fn below(&self) -> &El {
        &self.below
    }

    /// Returns whether it is the view that was chosen.
    pub fn is_chosen(&self, page: Page) -> bool {
        page.address().view == self.view
    }

    /// Gives the chart the height that it needs and the table the rest, unless the line between them was moved.
    pub fn share_pane(&self) {
        let (Some(above), Some(chart)) = (&self.above, self.chart_in_sight()) else { return };
        let view = above.html().parent_element().and_then(|view| view.dyn_into().ok()).map(El::from_html);
        let Some(view) = view.filter(|view| !view.html().has_attribute(MOVED)) else { return };
        let tools = above.size().1 - chart.room();
        let height =
            chart.needs().map(|needs| format!("min({:.0}px, {MOST})", (needs + tools).max(LEAST_PX)));
        let before = view.html().style().get_property_value(HEIGHT).unwrap_or_default();
        let height = height.unwrap_or_default();
        if before.trim() != height {
            view.style(HEIGHT, &height);
            dom::moved();
        }
    }

    /// Brings the view into sight if it was chosen and there is the data that it needs. Returns whether it is in sight.
    pub fn update(&self, page: Page) -> bool {
        let shown = is_shown(page, self.view);
        self.above.iter().for_each(|above| above.show(shown));
        self.below.show(shown);
        if !shown {
            self.charts.iter().for_each(|chart| chart.leave());
        }
        shown
    }

    /// Paints charts in the colours of the page. Returns whether they are new.
    pub fn follow_theme(&self) -> bool {
        // All of them: not only up to the first that has new ones.
        self.charts.iter().filter(|chart| chart.follow_theme()).count() > 0
    }

    /// Dims what is about to be replaced: the chart and the tables, but not other charts.
    pub fn set_stale(&self, stale: bool) {
        self.chart_in_sight().iter().for_each(|chart| chart.set_stale(stale));
        self.tables.iter().for_each(|table| table.set_stale(stale));
    }

    /// Sorts the tables.
    pub fn set_sort(&self, sort: Option<&Sort>) {
        self.tables.iter().for_each(|table| table.set_sort(sort));
    }

    /// Brings the buttons that zoom up to date, and the height of plots.
    pub fn update_zoom(&self) {
        self.last.iter().for_each(|run| run());
    }

    /// Makes links of the words of the glossary in its titles.
    pub fn link_terms(&self) {
        self.above.iter().chain([&self.below]).for_each(names::link_terms);
    }

    /// Says why nothing is drawn; without words something is.
    pub fn set_text(&self, why: &str) {
        self.empty.set_text(why);
        self.empty.show(!why.is_empty());
    }

    /// Says that work is under way, unless nothing was asked for.
    pub fn wait(&self, is_waiting: bool) {
        self.set_text(if is_waiting { WORKING } else { "" });
    }
}

/// Returns whether a view was chosen and there is the data that it needs.
pub fn is_shown(page: Page, view: View) -> bool {
    has_traces(page) && page.address().view == view && page.lacks(view).is_none()
}

/// Returns whether any trace is loaded.
pub fn has_traces(page: Page) -> bool {
    page.queries().overview.get().is_some_and(|overview| overview.traces > 0)
}
