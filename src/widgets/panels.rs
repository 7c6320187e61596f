//! A chart of panels, one of which can be enlarged.

use super::chart_canvas::ChartCanvas;
use super::plot_chart::{self, PlotLayout, ScrolledPlot};
use super::tip;
use crate::canvas::PlotBackend;
use crate::dom::{El, Listeners, button};
use crate::page::{Focus, Page};
use pathlight_view::draw::Theme;
use pathlight_view::draw::multiples::MultiplesGrid;
use pathlight_view::draw::plot::{ChartError, ChartSize};
use pathlight_view::keys::KeyCommand;
use pathlight_view::say::tip::TipLine;

/// Content of panels.
pub trait DrawPanels: 'static {
    /// Returns how many there are.
    fn panels(&self) -> usize;

    /// Draws all of them, or the one that is enlarged.
    ///
    /// # Errors
    /// The backend's, in words.
    fn draw(
        &self,
        backend: PlotBackend<'_>,
        enlarged: Option<usize>,
        size: ChartSize,
        theme: &Theme,
    ) -> Result<(), ChartError>;

    /// Returns the lines of the tip of a panel.
    fn tip(&self, panel: usize, is_enlarged: bool) -> Vec<TipLine>;
}

/// The panels, and which one is enlarged.
pub struct Panels<D> {
    page: Page,
    /// The panels.
    pub of: D,
    /// The number of the enlarged one.
    pub enlarged: Option<usize>,
}

/// Panels on a canvas.
pub type PanelChart<D> = ChartCanvas<ScrolledPlot<Panels<D>>>;

impl<D: DrawPanels> PlotLayout for Panels<D> {
    fn height(&self, room: ChartSize) -> i32 {
        if self.enlarged.is_some() {
            room.height
        } else {
            MultiplesGrid::new(self.of.panels(), room).height()
        }
    }

    fn draw(&self, backend: PlotBackend<'_>, size: ChartSize, theme: &Theme) -> Result<(), ChartError> {
        self.of.draw(backend, self.enlarged, size, theme)
    }

    fn part_at(&self, at: (i32, i32), size: ChartSize) -> Option<usize> {
        self.enlarged.or_else(|| MultiplesGrid::new(self.of.panels(), size).at(at))
    }

    fn tip(&self, part: usize) -> Vec<El> {
        tip::elements(&self.of.tip(part, self.enlarged.is_some()))
    }

    fn click(&mut self, part: usize) {
        self.enlarged = if self.enlarged.is_some() { None } else { Some(part) };
        self.page.refresh();
    }
}

/// Puts panels on a canvas. Returns it, the element around it, which scrolls, and the button that shows all panels again.
pub fn chart<D: DrawPanels>(
    page: Page,
    keep: &Listeners,
    of: D,
    test: &str,
    label: &str,
) -> (PanelChart<D>, El, El) {
    let (chart, scroller) = plot_chart::scrolled(Panels { page, of, enlarged: None }, test, label);
    let all = button("Show all").test(&format!("{test}-all")).on_click(keep, move || show_all(page, chart));
    (chart, scroller, all)
}

fn show_all<D: DrawPanels>(page: Page, chart: PanelChart<D>) {
    chart.with(|chart| chart.plot.enlarged = None);
    page.refresh();
}

/// Offers to show all panels where one is enlarged.
pub fn show_choices<D: DrawPanels>(chart: PanelChart<D>, all: &El) {
    let (enlarged, panels) = chart.look(|chart| (chart.plot.enlarged, chart.plot.of.panels()));
    all.show(enlarged.is_some());
    chart.canvas().set("data-enlarged", &enlarged.map_or_else(String::new, |at| at.to_string()));
    chart.canvas().set("data-panels", &panels.to_string());
}

/// Follows a command of the keyboard that shows all panels again. Returns false if it is none for them.
pub fn command<D: DrawPanels>(page: Page, chart: PanelChart<D>, command: KeyCommand) -> bool {
    let is_enlarged = chart.look(|chart| chart.plot.enlarged.is_some());
    let is_ours = is_enlarged
        && matches!(command, KeyCommand::Fit | KeyCommand::Leave)
        && *page.focus() == Focus::Nothing;
    if is_ours {
        show_all(page, chart);
    }
    is_ours
}
