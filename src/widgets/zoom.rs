//! Shared by charts that are looked at through a window: keys, buttons, the chart as a file.

use super::export;
use crate::dom::{El, Listeners, button};
use crate::page::Page;
use crate::widgets::chart_canvas::{CanvasChart, ChartCanvas};
use pathlight_view::draw::Theme;
use pathlight_view::keys::KeyCommand;

/// Share of the visible width by which a key moves the chart.
const STEP: f64 = 0.15;
/// Factor by which a key zooms.
const ZOOM: f64 = 1.35;
/// Share of the visible height that Page Up and Page Down scroll.
const PAGE: f64 = 0.8;
/// Width of an exported chart.
const EXPORT_PX: i32 = 1600;

/// A chart that is zoomed, with one thing selected and matches of a search to step through.
pub trait ZoomableChart: CanvasChart {
    /// Returns whether something is selected.
    fn has_focus(&self) -> bool;

    /// Returns where keys zoom: the middle of what is selected, else of the canvas.
    fn middle(&self) -> (f64, f64);

    /// Zooms to what is selected.
    fn zoom_to_selected(&mut self, page: Page);

    /// Selects the next match, or the one before.
    fn step(&mut self, page: Page, forward: bool);

    /// Selects what is beside the selected. Returns false for other commands.
    fn walk(&mut self, _page: Page, _command: KeyCommand) -> bool {
        false
    }

    /// Returns all of it as SVG, whatever part is in sight.
    fn svg(&mut self, width: i32, theme: &Theme) -> String;

    /// Follows a command of the keyboard, on a canvas of this size. Returns false if it is not one for charts.
    fn command(&mut self, page: Page, command: KeyCommand, (width, height): (i32, i32)) -> bool {
        let (width, height) = (f64::from(width), f64::from(height));
        let middle = self.middle();
        match command {
            command if self.walk(page, command) => {}
            KeyCommand::ZoomIn => self.viewport().zoom(middle, ZOOM),
            KeyCommand::ZoomOut => self.viewport().zoom(middle, 1.0 / ZOOM),
            KeyCommand::PanLeft => self.viewport().pan(width * STEP, 0.0),
            KeyCommand::PanRight => self.viewport().pan(-width * STEP, 0.0),
            KeyCommand::PageUp => self.viewport().pan(0.0, height * PAGE),
            KeyCommand::PageDown => self.viewport().pan(0.0, -height * PAGE),
            KeyCommand::Fit => self.fit(),
            KeyCommand::Enter => self.zoom_to_selected(page),
            KeyCommand::NextMatch => self.step(page, true),
            KeyCommand::PreviousMatch => self.step(page, false),
            KeyCommand::Leave if !self.has_focus() && self.viewport().is_zoomed() => self.fit(),
            _ => return false,
        }
        page.refresh();
        true
    }
}

/// Follows a command of the keyboard. Returns false if it is not one for charts.
pub fn command<C: ZoomableChart>(chart: ChartCanvas<C>, page: Page, command: KeyCommand) -> bool {
    let size = chart.size();
    chart.with(|chart| chart.command(page, command, size))
}

/// The buttons that zoom.
pub struct ZoomTools {
    /// "Zoom to focus".
    pub zoom: El,
    /// "Show all".
    pub all: El,
}

impl ZoomTools {
    /// Returns the buttons of a chart canvas; `of` tells their test names from those of other views.
    pub fn new<P: ZoomableChart>(page: Page, keep: &Listeners, chart: ChartCanvas<P>, of: &str) -> ZoomTools {
        chart.on_zoom(move || page.refresh());
        let zoom = button("Zoom to focus")
            .attr("title", "Enter, or click it again")
            .test(&format!("zoom-selection{of}"))
            .on_click(keep, move || {
                chart.with(|chart| chart.zoom_to_selected(page));
                page.refresh();
            });
        let all = button("Show all")
            .attr("title", "F, or double-click")
            .test(&format!("fit{of}"))
            .on_click(keep, move || chart.with(CanvasChart::fit));
        ZoomTools { zoom, all }
    }

    /// Enables the buttons that have an effect now.
    pub fn update<P: ZoomableChart>(&self, chart: ChartCanvas<P>) {
        let (selected, zoomed) = (chart.look(ZoomableChart::has_focus), chart.is_zoomed());
        for (button, on) in [(&self.zoom, selected), (&self.all, zoomed)] {
            if on { button.unset("disabled") } else { button.set("disabled", "") }
        }
    }
}

/// Returns the format of the chart as an SVG file.
pub fn svg_format<P: ZoomableChart>(chart: ChartCanvas<P>) -> export::Format {
    let write = move || Some(chart.with(|chart| chart.svg(EXPORT_PX, &export::theme())));
    ("SVG image", "svg", Box::new(write))
}
