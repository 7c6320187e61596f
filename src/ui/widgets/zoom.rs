//! What pictures looked at through a window share: keys, buttons, the picture as a file.

use super::export;
use crate::ui::dom::{El, Keep, button};
use crate::ui::page::Page;
use crate::ui::shell::keys::Command;
use crate::ui::widgets::chart_canvas::{CanvasChart, ChartCanvas};
use pathlight_chart::Theme;

/// How far a key moves or zooms.
const STEP: f64 = 0.15;
const ZOOM: f64 = 1.35;
/// Width of an exported picture.
const EXPORT_PX: i32 = 1600;

/// A picture with a window, one thing selected, and matches to step through.
pub trait ZoomableChart: CanvasChart {
    /// Whether something is selected.
    fn has_focus(&self) -> bool;

    /// Whether not everything is in sight.
    fn is_zoomed(&self) -> bool;

    /// Where keys zoom: the middle of what is selected, else of the canvas.
    fn middle(&self) -> f64;

    /// Zooms to what is selected.
    fn zoom_to_selected(&mut self, page: Page);

    /// Selects the next match, or the one before.
    fn step(&mut self, page: Page, forward: bool);

    /// All of it as SVG.
    fn svg(&self, width: i32, theme: &Theme) -> String;

    /// A command that every such picture knows; false if it is another.
    fn common(&mut self, page: Page, command: Command, width: i32) -> bool {
        let width = f64::from(width);
        match command {
            Command::ZoomIn => self.zoom(self.middle(), ZOOM),
            Command::ZoomOut => self.zoom(self.middle(), 1.0 / ZOOM),
            Command::PanLeft => self.pan(width * STEP, 0.0),
            Command::PanRight => self.pan(-width * STEP, 0.0),
            Command::Fit => self.fit(),
            Command::Enter => self.zoom_to_selected(page),
            Command::NextMatch => self.step(page, true),
            Command::PreviousMatch => self.step(page, false),
            Command::Leave if !self.has_focus() && self.is_zoomed() => self.fit(),
            _ => return false,
        }
        page.refresh();
        true
    }
}

/// The buttons that zoom.
pub struct ZoomTools {
    /// "Zoom to selection".
    pub zoom: El,
    /// "Show all".
    pub all: El,
}

impl ZoomTools {
    /// The buttons of a chart canvas; `of` tells their test names from those of other views.
    pub fn new<P: ZoomableChart>(page: Page, keep: &Keep, chart: ChartCanvas<P>, of: &str) -> ZoomTools {
        let zoom = button("Zoom to selection")
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

    /// Offers what can be done.
    pub fn update<P: ZoomableChart>(&self, chart: ChartCanvas<P>) {
        let (selected, zoomed) = chart.look(|chart| (chart.has_focus(), chart.is_zoomed()));
        for (button, on) in [(&self.zoom, selected), (&self.all, zoomed)] {
            if on { button.unset("disabled") } else { button.set("disabled", "") }
        }
    }
}

/// The picture as an SVG file.
pub fn svg_format<P: ZoomableChart>(chart: ChartCanvas<P>) -> export::Format {
    let write = move || {
        let theme = chart.plain_theme();
        chart.look(|chart| Some(chart.svg(EXPORT_PX, &theme)))
    };
    ("SVG picture", "svg", Box::new(write))
}
