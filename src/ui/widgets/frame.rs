//! What every view of the data has: a picture above with its tools, a table below, and words where nothing is drawn.

use crate::ui::dom::{El, div};
use crate::ui::page::Page;
use crate::ui::widgets::chart_canvas::{CanvasChart, ChartCanvas};
use pathlight_view::address::View;

/// What stands where something will be.
pub const WORKING: &str = "Working\u{2026}";

/// The frame of a view.
pub struct Frame {
    view: View,
    above: El,
    below: El,
    empty: El,
}

impl Frame {
    /// Around a chart canvas; tests know the view as `NAME-view` and its words as `NAME-empty`.
    pub fn new<P: CanvasChart>(view: View, name: &str, chart: ChartCanvas<P>, below: El) -> Frame {
        let empty = div("canvas-empty").test(&format!("{name}-empty"));
        empty.show(false);
        chart.element().add(&empty);
        let above = div("stage").test(&format!("{name}-view"));
        Frame { view, above, below, empty }
    }

    /// Puts this above: tools, legends and the chart canvas itself, in their order.
    pub fn with(self, child: &El) -> Frame {
        self.above.add(child);
        self
    }

    /// The picture with its tools.
    pub fn above(&self) -> &El {
        &self.above
    }

    /// The table.
    pub fn below(&self) -> &El {
        &self.below
    }

    /// Whether it is the view that was chosen.
    pub fn is_chosen(&self, page: Page) -> bool {
        page.address().view == self.view
    }

    /// Comes into sight if it was chosen and there is data; whether it is in sight.
    pub fn update(&self, page: Page) -> bool {
        let shown = has_traces(page) && self.is_chosen(page);
        self.above.show(shown);
        self.below.show(shown);
        shown
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

/// Whether any trace is loaded.
pub fn has_traces(page: Page) -> bool {
    page.queries().overview.get().is_some_and(|overview| overview.traces > 0)
}
