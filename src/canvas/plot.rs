//! plotters on a surface: plotters-canvas for lines and shapes, our own text and rectangles.
//!
//! plotters-canvas sets font and fill for every element, knows no device pixel ratio and leaves text sizes to plotters,
//! which on wasm measures them through the document with an inline style, against a strict `style-src`.

use super::Surface;
use pathlight_view::draw::backend::ink;
use pathlight_view::draw::scene::Align;
use pathlight_view::draw::{MeasureText as _, Rgba};
use plotters_backend::text_anchor::{HPos, VPos};
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontStyle,
    FontTransform,
};
use plotters_canvas::CanvasBackend;

type Result<T> = std::result::Result<T, DrawingErrorKind<<CanvasBackend as DrawingBackend>::ErrorType>>;

/// A plotters backend on a [`Surface`], in device pixels.
pub struct PlotBackend<'a> {
    surface: &'a Surface,
    shapes: CanvasBackend,
}

impl<'a> PlotBackend<'a> {
    /// Returns a backend that paints over what is on the surface; `None` if the browser gives no context.
    pub fn new(surface: &'a Surface) -> Option<PlotBackend<'a>> {
        let shapes = CanvasBackend::with_canvas_object(surface.canvas().clone())?;
        Some(PlotBackend { surface, shapes })
    }
}

fn font(style: &impl BackendTextStyle) -> (i32, bool) {
    (style.size().round().max(1.0) as i32, matches!(style.style(), FontStyle::Bold))
}

impl DrawingBackend for PlotBackend<'_> {
    type ErrorType = <CanvasBackend as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.shapes.get_size()
    }

    fn ensure_prepared(&mut self) -> Result<()> {
        Ok(())
    }

    fn present(&mut self) -> Result<()> {
        Ok(())
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Result<()> {
        self.draw_rect(point, (point.0 + 1, point.1 + 1), &color, true)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Result<()> {
        if !fill {
            return self.shapes.draw_rect(upper_left, bottom_right, style, false);
        }
        let color = ink(style.color());
        if color != Rgba::CLEAR {
            self.surface.set_fill(color);
            self.surface.context.fill_rect(
                f64::from(upper_left.0),
                f64::from(upper_left.1),
                f64::from(bottom_right.0 - upper_left.0),
                f64::from(bottom_right.1 - upper_left.1),
            );
        }
        Ok(())
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Result<()> {
        self.shapes.draw_line(from, to, style)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Result<()> {
        self.shapes.draw_path(path, style)
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Result<()> {
        self.surface.known.borrow_mut().fill = None;
        self.shapes.draw_circle(center, radius, style, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        vertices: I,
        style: &S,
    ) -> Result<()> {
        self.surface.known.borrow_mut().fill = None;
        self.shapes.fill_polygon(vertices, style)
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, pos: BackendCoord) -> Result<()> {
        let color = ink(style.color());
        if color == Rgba::CLEAR {
            return Ok(());
        }
        let surface = self.surface;
        surface.set_font(font(style));
        surface.set_fill(color);
        surface.set_align(match style.anchor().h_pos {
            HPos::Left => Align::Left,
            HPos::Center => Align::Center,
            HPos::Right => Align::Right,
        });
        surface.set_baseline(match style.anchor().v_pos {
            VPos::Top => "top",
            VPos::Center => "middle",
            VPos::Bottom => "bottom",
        });
        let quarters = match style.transform() {
            FontTransform::None => 0.0,
            FontTransform::Rotate90 => 1.0,
            FontTransform::Rotate180 => 2.0,
            FontTransform::Rotate270 => 3.0,
        };
        let context = &surface.context;
        let (x, y) = (f64::from(pos.0), f64::from(pos.1));
        // Painting text fails only where there is no document to paint in.
        if quarters == 0.0 {
            let _ = context.fill_text(text, x, y);
        } else {
            // The state that is known is saved and restored with the rest.
            context.save();
            let _ = context.translate(x, y);
            let _ = context.rotate(quarters * std::f64::consts::FRAC_PI_2);
            let _ = context.fill_text(text, 0.0, 0.0);
            context.restore();
        }
        Ok(())
    }

    fn estimate_text_size<S: BackendTextStyle>(&self, text: &str, style: &S) -> Result<(u32, u32)> {
        let (px, bold) = font(style);
        let width = self.surface.measure(px, bold).text_px(text).ceil() as u32;
        Ok((width, px as u32))
    }
}
