//! plotters to SVG, with text measured by the built-in table: native and wasm give the same bytes.

use super::svg::FONTS;
use super::text::Advances;
use super::{MeasureText as _, Rgba};
use plotters::prelude::SVGBackend;
use plotters_backend::text_anchor::Pos;
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind, FontFamily,
    FontStyle, FontTransform,
};

/// plotters-svg writes fonts smaller than asked by this factor.
const SVG_FONT: f64 = 1.24;

/// Returns a plotters colour as ours.
pub fn ink(color: BackendColor) -> Rgba {
    let (r, g, b) = color.rgb;
    if color.alpha <= 0.0 { Rgba::CLEAR } else { Rgba([r, g, b, 255]).with_alpha(color.alpha) }
}

/// A plotters backend that writes SVG into a string.
pub struct SvgBackend<'a> {
    inner: SVGBackend<'a>,
}

impl<'a> SvgBackend<'a> {
    /// Writes a picture of this size into `out`; it is complete once presented.
    pub fn new(out: &'a mut String, width: u32, height: u32) -> SvgBackend<'a> {
        SvgBackend { inner: SVGBackend::with_string(out, (width, height)) }
    }
}

/// A text style with its size corrected and our fonts.
struct Corrected<'s, S>(&'s S);

impl<S: BackendTextStyle> BackendTextStyle for Corrected<'_, S> {
    type FontError = S::FontError;

    fn color(&self) -> BackendColor {
        self.0.color()
    }

    fn size(&self) -> f64 {
        self.0.size() * SVG_FONT
    }

    fn transform(&self) -> FontTransform {
        self.0.transform()
    }

    fn style(&self) -> FontStyle {
        self.0.style()
    }

    fn anchor(&self) -> Pos {
        self.0.anchor()
    }

    fn family(&self) -> FontFamily<'_> {
        FontFamily::Name(FONTS)
    }

    fn layout_box(&self, text: &str) -> Result<((i32, i32), (i32, i32)), Self::FontError> {
        self.0.layout_box(text)
    }

    fn draw<E, DrawFunc: FnMut(i32, i32, BackendColor) -> Result<(), E>>(
        &self,
        text: &str,
        pos: BackendCoord,
        draw: DrawFunc,
    ) -> Result<Result<(), E>, Self::FontError> {
        self.0.draw(text, pos, draw)
    }
}

type Drawn<'a, T> = Result<T, DrawingErrorKind<<SVGBackend<'a> as DrawingBackend>::ErrorType>>;

impl<'a> DrawingBackend for SvgBackend<'a> {
    type ErrorType = <SVGBackend<'a> as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.inner.get_size()
    }

    fn ensure_prepared(&mut self) -> Drawn<'a, ()> {
        self.inner.ensure_prepared()
    }

    fn present(&mut self) -> Drawn<'a, ()> {
        self.inner.present()
    }

    fn draw_pixel(&mut self, point: BackendCoord, color: BackendColor) -> Drawn<'a, ()> {
        self.inner.draw_pixel(point, color)
    }

    fn draw_line<S: BackendStyle>(
        &mut self,
        from: BackendCoord,
        to: BackendCoord,
        style: &S,
    ) -> Drawn<'a, ()> {
        self.inner.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Drawn<'a, ()> {
        self.inner.draw_rect(upper_left, bottom_right, style, fill)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Drawn<'a, ()> {
        self.inner.draw_path(path, style)
    }

    fn draw_circle<S: BackendStyle>(
        &mut self,
        center: BackendCoord,
        radius: u32,
        style: &S,
        fill: bool,
    ) -> Drawn<'a, ()> {
        self.inner.draw_circle(center, radius, style, fill)
    }

    fn fill_polygon<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        vertices: I,
        style: &S,
    ) -> Drawn<'a, ()> {
        self.inner.fill_polygon(vertices, style)
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, pos: BackendCoord) -> Drawn<'a, ()> {
        self.inner.draw_text(text, &Corrected(style), pos)
    }

    fn estimate_text_size<S: BackendTextStyle>(&self, text: &str, style: &S) -> Drawn<'a, (u32, u32)> {
        let width = Advances { font_px: style.size() }.text_px(text).ceil() as u32;
        Ok((width, style.size().ceil() as u32))
    }
}
