//! A canvas with its 2D context, and what is known of the context's state.

use super::widths::{Font, Widths};
use pathlight_view::draw::caption::LONGEST_PX;
use pathlight_view::draw::scene::{Align, Curve};
use pathlight_view::draw::{MeasureText, Metrics, Rgba, Scene};
use std::cell::RefCell;
use wasm_bindgen::{Clamped, JsCast as _};
use web_sys::{CanvasRenderingContext2d, HtmlCanvasElement, ImageData};

/// Settings last made on the context, so that each is made again only when it changes.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) fill: Option<Rgba>,
    pub(crate) font: Option<Font>,
    pub(crate) align: Option<Align>,
    pub(crate) baseline: Option<&'static str>,
}

/// An HTML canvas to paint on, in device pixels.
pub struct Surface {
    pub(crate) canvas: HtmlCanvasElement,
    pub(crate) context: CanvasRenderingContext2d,
    pub(crate) known: RefCell<Known>,
    pub(crate) widths: RefCell<Widths>,
    family: String,
    metrics: Metrics,
}

impl Surface {
    /// Returns the surface of a canvas; `None` if the browser gives no 2D context. Text is set in the canvas' own
    /// `font-family`.
    pub fn new(canvas: HtmlCanvasElement) -> Option<Surface> {
        let context = canvas.get_context("2d").ok()??.dyn_into::<CanvasRenderingContext2d>().ok()?;
        let family = web_sys::window()
            .and_then(|window| window.get_computed_style(&canvas).ok()?)
            .and_then(|style| style.get_property_value("font-family").ok())
            .filter(|family| !family.is_empty())
            .unwrap_or_else(|| "system-ui, sans-serif".into());
        Some(Surface {
            canvas,
            context,
            known: RefCell::default(),
            widths: RefCell::default(),
            family,
            metrics: Metrics::default(),
        })
    }

    /// Returns the canvas.
    pub fn canvas(&self) -> &HtmlCanvasElement {
        &self.canvas
    }

    /// Makes the backing store fit a canvas of this size in CSS pixels on a display with `scale` device pixels per CSS
    /// pixel. Returns whether anything changed; the canvas is then empty and must be painted. The canvas' size in the
    /// page is the style sheet's business.
    pub fn resize(&mut self, css_width: f64, css_height: f64, scale: f64) -> bool {
        let scale = if scale.is_finite() && scale > 0.0 { scale } else { 1.0 };
        let size = |css: f64| (css * scale).round().clamp(1.0, LONGEST_PX.into()) as u32;
        let (width, height) = (size(css_width), size(css_height));
        if (width, height) == (self.canvas.width(), self.canvas.height()) && scale == self.metrics.scale {
            return false;
        }
        self.canvas.set_width(width);
        self.canvas.set_height(height);
        self.metrics = Metrics { scale };
        self.forget();
        true
    }

    /// Returns the width and height in device pixels.
    pub fn size(&self) -> (i32, i32) {
        (self.canvas.width() as i32, self.canvas.height() as i32)
    }

    /// Returns how CSS pixels become device pixels here.
    pub fn metrics(&self) -> Metrics {
        self.metrics
    }

    /// Measures text in the surface's font.
    pub fn measure(&self, font_px: i32, bold: bool) -> CanvasMeasure<'_> {
        CanvasMeasure { surface: self, font: (font_px, bold) }
    }

    /// Paints a scene over what is there.
    pub fn paint(&self, scene: &Scene) {
        let context = &self.context;
        let (width, height) = (f64::from(scene.width), f64::from(scene.height));
        match scene.background {
            Some(color) => {
                self.set_fill(color);
                context.fill_rect(0.0, 0.0, width, height);
            }
            None => context.clear_rect(0.0, 0.0, width, height),
        }
        self.paint_over(scene);
    }

    /// Paints the layers of a scene over what is there, its background left out.
    pub fn paint_over(&self, scene: &Scene) {
        let context = &self.context;
        self.set_baseline("alphabetic");
        for layer in &scene.layers {
            for fill in &layer.fills {
                self.set_fill(fill.color);
                context.fill_rect(f64::from(fill.x), f64::from(fill.y), f64::from(fill.w), f64::from(fill.h));
            }
            for curve in &layer.curves {
                self.stroke(curve);
            }
            for text in &layer.texts {
                self.set_font((text.font_px, text.bold));
                self.set_fill(text.color);
                self.set_align(text.align);
                // The only error is a canvas without a document; there is nothing to be done about it here.
                let _ = context.fill_text(&text.text, f64::from(text.x), f64::from(text.y));
            }
        }
    }

    /// Puts pixels (red, green, blue, alpha) in place of what is there; how many rows there are, their number says.
    pub fn put_pixels(&self, x: i32, y: i32, width: i32, rgba: &[u8]) {
        // Either fails only for an empty picture, or one with half a row.
        if let Ok(data) = ImageData::new_with_u8_clamped_array(Clamped(rgba), width.max(0) as u32) {
            let _ = self.context.put_image_data(&data, f64::from(x), f64::from(y));
        }
    }

    fn stroke(&self, curve: &Curve) {
        let Some(&[x, y]) = curve.points.first() else { return };
        let context = &self.context;
        context.set_stroke_style_str(&curve.color.css());
        context.set_line_width(f64::from(curve.width));
        context.begin_path();
        context.move_to(f64::from(x), f64::from(y));
        for pair in curve.points.windows(2) {
            let bend = Curve::bend(pair[0], pair[1]);
            let [x, y] = pair[1].map(f64::from);
            context.bezier_curve_to(bend, f64::from(pair[0][1]), bend, y, x, y);
        }
        context.stroke();
    }

    /// Forgets what is known of the context's state: after a resize, or after somebody else drew.
    pub(crate) fn forget(&self) {
        *self.known.borrow_mut() = Known::default();
    }

    pub(crate) fn set_fill(&self, color: Rgba) {
        if self.known.borrow_mut().fill.replace(color) != Some(color) {
            self.context.set_fill_style_str(&color.css());
        }
    }

    pub(crate) fn set_font(&self, font: Font) {
        if self.known.borrow_mut().font.replace(font) != Some(font) {
            let (px, bold) = font;
            self.context.set_font(&format!("{}{px}px {}", if bold { "bold " } else { "" }, self.family));
        }
    }

    pub(crate) fn set_align(&self, align: Align) {
        if self.known.borrow_mut().align.replace(align) != Some(align) {
            self.context.set_text_align(match align {
                Align::Left => "left",
                Align::Center => "center",
                Align::Right => "right",
            });
        }
    }

    pub(crate) fn set_baseline(&self, baseline: &'static str) {
        if self.known.borrow_mut().baseline.replace(baseline) != Some(baseline) {
            self.context.set_text_baseline(baseline);
        }
    }
}

/// Measures text in one font of a [`Surface`]; see [`Surface::measure`].
pub struct CanvasMeasure<'a> {
    surface: &'a Surface,
    font: Font,
}

impl MeasureText for CanvasMeasure<'_> {
    fn char_px(&mut self, c: char) -> f64 {
        let mut widths = self.surface.widths.borrow_mut();
        let widths = widths.of(self.font);
        if let Some(width) = widths.known(c) {
            return width;
        }
        self.surface.set_font(self.font);
        let mut buffer = [0; 4];
        let width =
            self.surface.context.measure_text(c.encode_utf8(&mut buffer)).map_or(0.0, |text| text.width());
        widths.learn(c, width);
        width
    }
}
