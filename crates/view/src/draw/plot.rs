//! Shared by the charts that plotters draws: colours, text, ticks, SVG documents.

use super::axis::ValueAxis;
use super::backend::SvgBackend;
use super::{MeasureText, Metrics, Rgba, Theme, svg};
use plotters::coord::Shift;
use plotters::drawing::{DrawingArea, IntoDrawingArea as _};
use plotters::element::{PathElement, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontDesc, FontFamily, FontStyle, RGBAColor, TextStyle};
use plotters_backend::DrawingBackend;

/// A chart could not be drawn; the words are the backend's.
#[derive(Debug, thiserror::Error)]
#[error("the chart could not be drawn: {0}")]
pub struct ChartError(String);

/// Area that a chart is drawn on.
pub type Area<DB> = DrawingArea<DB, Shift>;

/// The room for a chart in device pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ChartSize {
    /// Width.
    pub width: i32,
    /// Height.
    pub height: i32,
    /// Device pixels per CSS pixel.
    pub metrics: Metrics,
}

impl ChartSize {
    /// Returns a length in CSS pixels.
    pub fn px(&self, css: f64) -> i32 {
        self.metrics.px(css)
    }

    /// Returns a style of text of our size.
    pub(crate) fn text(&self, color: Rgba, horizontal: HPos, vertical: VPos) -> TextStyle<'static> {
        let font = FontDesc::new(FontFamily::SansSerif, f64::from(self.px(11.0)), FontStyle::Normal);
        TextStyle { font, color: rgba(color).to_backend_color(), pos: Pos::new(horizontal, vertical) }
    }
}

pub(crate) fn rgba(color: Rgba) -> RGBAColor {
    let [r, g, b, a] = color.0;
    RGBAColor(r, g, b, f64::from(a) / 255.0)
}

pub(crate) fn words(error: impl std::fmt::Display) -> ChartError {
    ChartError(error.to_string())
}

/// Draws a whole chart on a backend of this size.
pub(crate) fn on_backend<DB: DrawingBackend>(
    backend: DB,
    theme: &Theme,
    paint: impl FnOnce(&Area<DB>) -> Result<(), ChartError>,
) -> Result<(), ChartError> {
    let root = backend.into_drawing_area();
    root.fill(&rgba(theme.background)).map_err(words)?;
    paint(&root)?;
    root.present().map_err(words)
}

/// Draws the line of an axis from one pixel to another, with the ticks of its values and their words, which stay within
/// the area's width.
pub(crate) fn draw_axis<DB: DrawingBackend>(
    area: &Area<DB>,
    (left, right): (i32, i32),
    axis: &ValueAxis,
    y: i32,
    size: ChartSize,
    theme: &Theme,
) -> Result<(), ChartError> {
    let px = |css: f64| size.px(css);
    let line = |from: (i32, i32), to: (i32, i32)| {
        area.draw(&PathElement::new(vec![from, to], rgba(theme.line))).map_err(words)
    };
    line((left, y), (right - 1, y))?;
    let style = size.text(theme.muted, HPos::Center, VPos::Top);
    for value in axis.ticks(px(64.0)) {
        let x = axis.pixel(value as f64);
        if x > right {
            // The end of the last bar, where values stand at the middle of theirs.
            continue;
        }
        line((x, y), (x, y + px(3.0)))?;
        let label = axis.tick_words(value);
        let (width, _) = area.estimate_text_size(&label, &style).map_err(words)?;
        let half = width as i32 / 2 + 1;
        let middle = x.clamp(half, (size.width - half).max(half));
        area.draw(&Text::new(label, (middle, y + px(6.0)), style.clone())).map_err(words)?;
    }
    Ok(())
}

/// Function that cuts a text that is too long: [`elide`](super::text::elide) or
/// [`elide_middle`](super::text::elide_middle).
pub(crate) type Cut = fn(&str, f64, &mut dyn MeasureText) -> Option<String>;

/// Returns as much of a text as fits into so many pixels; `None` if nothing of it does.
pub(crate) fn fitting<DB: DrawingBackend>(
    area: &Area<DB>,
    text: &str,
    room_px: i32,
    style: &TextStyle,
    cut: Cut,
) -> Option<String> {
    let width = |text: &str| area.estimate_text_size(text, style).map_or(0.0, |(width, _)| f64::from(width));
    if width(text) <= f64::from(room_px) {
        return Some(text.to_owned());
    }
    cut(text, f64::from(room_px), &mut Widths(|c: char| width(c.encode_utf8(&mut [0; 4]))))
}

/// Measures by a function of characters.
struct Widths<F>(F);

impl<F: Fn(char) -> f64> MeasureText for Widths<F> {
    fn char_px(&mut self, c: char) -> f64 {
        (self.0)(c)
    }
}

/// Draws an upright line at a value.
pub(crate) fn draw_mark<DB: DrawingBackend>(
    area: &Area<DB>,
    axis: &ValueAxis,
    (top, bottom): (i32, i32),
    value: f64,
    size: ChartSize,
    theme: &Theme,
) -> Result<(), ChartError> {
    let x = axis.pixel(value);
    let stroke = rgba(theme.text).stroke_width(size.px(1.0) as u32);
    area.draw(&PathElement::new(vec![(x, top), (x, bottom)], stroke)).map_err(words)
}

/// Writes the names of marks above them; those that would stand on each other stand there together, in the order of
/// their marks.
pub(crate) fn name_marks<DB: DrawingBackend>(
    area: &Area<DB>,
    axis: &ValueAxis,
    top: i32,
    marks: &[(&str, f64)],
    size: ChartSize,
    theme: &Theme,
) -> Result<(), ChartError> {
    let style = size.text(theme.text, HPos::Center, VPos::Bottom);
    let mut marks: Vec<(i32, &str)> = marks.iter().map(|(name, value)| (axis.pixel(*value), *name)).collect();
    marks.sort();
    // Name, its middle, and half its width; then the pixels of its first and last mark.
    let placed = |name: String, (first, last): (i32, i32)| -> Result<_, ChartError> {
        let (width, _) = area.estimate_text_size(&name, &style).map_err(words)?;
        let half = width as i32 / 2 + 1;
        let middle = ((first + last) / 2).clamp(half, (size.width - half).max(half));
        Ok((name, middle, half, (first, last)))
    };
    let mut names: Vec<(String, i32, i32, (i32, i32))> = Vec::new();
    for (x, name) in marks {
        let mut next = placed(name.to_owned(), (x, x))?;
        while let Some(before) = names.pop_if(|before| before.1 + before.2 + size.px(2.0) >= next.1 - next.2)
        {
            next = placed(format!("{}, {}", before.0, next.0), (before.3.0, next.3.1))?;
        }
        names.push(next);
    }
    for (name, middle, _, _) in names {
        area.draw(&Text::new(name, (middle, top - size.px(2.0)), style.clone())).map_err(words)?;
    }
    Ok(())
}

/// Writes a chart as an SVG document with a title; deterministic.
pub(crate) fn document(
    size: ChartSize,
    title: &str,
    paint: impl FnOnce(SvgBackend<'_>) -> Result<(), ChartError>,
) -> Result<String, ChartError> {
    let mut out = String::new();
    paint(SvgBackend::new(&mut out, size.width.max(1) as u32, size.height.max(1) as u32))?;
    let mut element = String::from("\n<title>");
    svg::escape(&mut element, title);
    element.push_str("</title>");
    // plotters writes no title: it goes behind the first tag.
    if let Some(end) = out.find('>') {
        out.insert_str(end + 1, &element);
        out.insert_str(end, " role=\"img\"");
    }
    Ok(out)
}
