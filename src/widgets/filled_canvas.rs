//! A canvas that fills an area of the page and is painted in its look.

use crate::canvas::Surface;
use crate::dom::{self, El};
use pathlight_view::draw::plot::ChartSize;
use std::cell::{RefCell, RefMut};
use web_sys::HtmlCanvasElement;

/// The canvas with what it is painted on.
pub struct FilledCanvas {
    area: El,
    canvas: El,
    /// With the look whose fonts and colours it knows.
    surface: RefCell<Option<(String, Surface)>>,
}

impl FilledCanvas {
    /// Fills an area with a canvas.
    pub fn new(area: El, canvas: El) -> FilledCanvas {
        FilledCanvas { area: area.child(&canvas), canvas, surface: RefCell::default() }
    }

    /// Returns the area.
    pub fn area(&self) -> &El {
        &self.area
    }

    /// Returns the canvas.
    pub fn canvas(&self) -> &El {
        &self.canvas
    }

    /// Returns what to paint on, as large as the area; `None` while the area is out of sight.
    pub fn surface(&self) -> Option<RefMut<'_, Surface>> {
        let (width, height) = self.area.size();
        if width < 1.0 || height < 1.0 {
            return None;
        }
        let look = dom::look();
        let mut slot = self.surface.borrow_mut();
        if slot.as_ref().is_none_or(|(of, _)| *of != look) {
            // Only once it is in the page does the canvas have a font.
            let canvas = self.canvas.as_kind::<HtmlCanvasElement>().cloned();
            *slot = canvas.and_then(Surface::new).map(|surface| (look, surface));
        }
        let mut surface = RefMut::filter_map(slot, |slot| slot.as_mut().map(|(_, surface)| surface)).ok()?;
        surface.resize(width, height, dom::window().device_pixel_ratio());
        Some(surface)
    }

    /// Returns its size in device pixels and how CSS pixels become these, as last painted; `None` before.
    pub fn size(&self) -> Option<ChartSize> {
        self.surface.borrow().as_ref().map(|(_, surface)| chart_size(surface))
    }

    /// Returns device pixels per CSS pixel, as last painted.
    pub fn scale(&self) -> f64 {
        self.size().map_or(1.0, |size| size.metrics.scale)
    }
}

/// Returns the size of a surface as charts take it.
pub fn chart_size(surface: &Surface) -> ChartSize {
    let (width, height) = surface.size();
    ChartSize { width, height, metrics: surface.metrics() }
}
