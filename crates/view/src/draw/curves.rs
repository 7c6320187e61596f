//! Charts of curves through plotters: latencies before and after a change, and how far predictions are off.

use super::axis::{AxisUnit, Scale, ValueAxis};
use super::plot::{self, Area, ChartError, ChartSize, rgba, words};
use super::{Rgba, Theme};
use pathlight_base::format;
use plotters::element::{PathElement, Text};
use plotters::style::Color as _;
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::DrawingBackend;

/// An axis: what its values are, and from where to where.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Axis {
    /// Latencies in microseconds, logarithmic.
    Latency {
        /// Smallest.
        from_us: u64,
        /// Greatest.
        to_us: u64,
    },
    /// Shares of 1, the whole range.
    Share,
    /// Ratios, logarithmic.
    Ratio {
        /// Smallest, above 0.
        from: f64,
        /// Greatest.
        to: f64,
    },
}

/// A curve with its name.
#[derive(Clone, PartialEq, Debug)]
pub struct NamedCurve<'a> {
    /// Name in the legend.
    pub name: &'a str,
    /// Colour of the curve.
    pub color: Rgba,
    /// Whether it is drawn thicker than the others.
    pub strong: bool,
    /// Its points in values of the axes; what lies outside is drawn at the edge.
    pub points: Vec<(f64, f64)>,
}

/// Place of the names of the curves: in the corner that the curves leave free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Legend {
    /// Beside the chart, where the page says them.
    Elsewhere,
    /// Upper left.
    TopLeft,
    /// Lower right.
    BottomRight,
}

/// Content of a chart of curves.
#[derive(Clone, Debug)]
pub struct CurvesView<'a> {
    /// The horizontal axis and its name.
    pub x: (Axis, &'a str),
    /// The vertical axis and its name.
    pub y: (Axis, &'a str),
    /// The curves, from back to front.
    pub curves: Vec<NamedCurve<'a>>,
    /// A value of the vertical axis that is drawn as a line.
    pub rule: Option<f64>,
    /// Place of the names of the curves.
    pub legend: Legend,
}

/// Ratios that are marked on an axis, as far as they lie on it.
const RATIOS: [f64; 15] = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0];

/// An axis between two pixels.
#[derive(Clone, Copy)]
struct Placed {
    axis: Axis,
    /// Pixel of the smallest value.
    low: i32,
    /// Pixel of the greatest.
    high: i32,
}

impl Axis {
    /// Returns the place of a value: its logarithm where the axis is logarithmic; a latency's is shifted by one, so
    /// that 0 has a place.
    fn place(self, value: f64) -> f64 {
        match self {
            Axis::Latency { .. } => libm::log1p(value.max(0.0)),
            Axis::Share => value,
            Axis::Ratio { .. } => value.max(f64::MIN_POSITIVE).ln(),
        }
    }

    fn ends(self) -> (f64, f64) {
        match self {
            Axis::Latency { from_us, to_us } => (from_us as f64, to_us.max(from_us + 1) as f64),
            Axis::Share => (0.0, 1.0),
            Axis::Ratio { from, to } => (from, to.max(from * 1.001)),
        }
    }
}

impl Placed {
    fn pixel(&self, value: f64) -> i32 {
        let (from, to) = self.axis.ends();
        let (from, to) = (self.axis.place(from), self.axis.place(to));
        // Beyond the ends, also infinitely far, is the edge.
        let share = ((self.axis.place(value) - from) / (to - from)).clamp(0.0, 1.0);
        self.low + (share * f64::from(self.high - self.low)).round() as i32
    }

    /// Returns the values to mark with their words, at least `apart_px` from each other.
    fn ticks(&self, apart_px: i32) -> Vec<(f64, String)> {
        let (from, to) = self.axis.ends();
        let values: Vec<(f64, String)> = match self.axis {
            Axis::Latency { .. } => {
                let axis = ValueAxis::new((self.low, self.high), (from, to), Scale::Log, AxisUnit::Time);
                let marks = |axis: ValueAxis| {
                    axis.ticks(apart_px).into_iter().map(move |us| (us as f64, axis.tick_words(us)))
                };
                axis.map(|axis| marks(axis).collect()).unwrap_or_default()
            }
            Axis::Share => [0u32, 25, 50, 75, 100]
                .map(|percent| (f64::from(percent) / 100.0, format!("{percent}{}%", format::THIN)))
                .to_vec(),
            Axis::Ratio { .. } => {
                let inside = RATIOS.into_iter().filter(|ratio| (from..=to).contains(ratio));
                inside.map(|ratio| (ratio, format::number(ratio))).collect()
            }
        };
        // The mark of a perfect estimate stays, whatever is dropped beside it.
        let near = |a: f64, b: f64| (self.pixel(a) - self.pixel(b)).abs() < apart_px;
        let perfect = |value: f64| matches!(self.axis, Axis::Ratio { .. }) && value == 1.0;
        let has_perfect = values.iter().any(|(value, _)| perfect(*value));
        let mut kept: Vec<(f64, String)> = Vec::new();
        for (value, text) in values {
            let hidden = kept.last().is_some_and(|(last, _)| near(*last, value))
                || has_perfect && !perfect(value) && near(1.0, value);
            if !hidden || perfect(value) {
                kept.push((value, text));
            }
        }
        kept
    }
}

/// Draws curves with axes and a legend on any plotters backend, whose size is `size`.
///
/// # Errors
/// The backend's, in words.
pub fn draw<DB: DrawingBackend>(
    backend: DB,
    view: &CurvesView,
    size: ChartSize,
    theme: &Theme,
) -> Result<(), ChartError> {
    plot::on_backend(backend, theme, |area| draw_in(area, view, size, theme))
}

fn draw_in<DB: DrawingBackend>(
    area: &Area<DB>,
    view: &CurvesView,
    size: ChartSize,
    theme: &Theme,
) -> Result<(), ChartError> {
    let px = |css: f64| size.px(css);
    let (left, right, top, bottom) = (px(52.0), size.width - px(16.0), px(24.0), size.height - px(38.0));
    if right - left < px(40.0) || bottom - top < px(24.0) {
        return Ok(());
    }
    let x = Placed { axis: view.x.0, low: left, high: right };
    let y = Placed { axis: view.y.0, low: bottom, high: top };
    let line = |points: Vec<(i32, i32)>, color: Rgba, css: f64| {
        area.draw(&PathElement::new(points, rgba(color).stroke_width(px(css) as u32))).map_err(words)
    };
    let text = |at: (i32, i32), words_of: &str, color: Rgba, horizontal: HPos, vertical: VPos| {
        let style = size.text(color, horizontal, vertical);
        area.draw(&Text::new(words_of.to_owned(), at, style)).map_err(words)
    };
    for (value, label) in x.ticks(px(56.0)) {
        let at = x.pixel(value);
        line(vec![(at, top), (at, bottom)], theme.line, 1.0)?;
        text((at, bottom + px(6.0)), &label, theme.muted, HPos::Center, VPos::Top)?;
    }
    for (value, label) in y.ticks(px(18.0)) {
        let at = y.pixel(value);
        line(vec![(left, at), (right, at)], theme.line, 1.0)?;
        text((left - px(6.0), at), &label, theme.muted, HPos::Right, VPos::Center)?;
    }
    if let Some(rule) = view.rule {
        let at = y.pixel(rule);
        line(vec![(left, at), (right, at)], theme.muted, 1.0)?;
    }
    let css_of = |curve: &NamedCurve| if curve.strong { 2.5 } else { 1.5 };
    for curve in view.curves.iter().filter(|curve| curve.points.len() > 1) {
        let points = curve.points.iter().map(|&(across, up)| (x.pixel(across), y.pixel(up))).collect();
        line(points, curve.color, css_of(curve))?;
    }
    text((right, size.height - px(4.0)), view.x.1, theme.muted, HPos::Right, VPos::Bottom)?;
    text((px(4.0), px(4.0)), view.y.1, theme.muted, HPos::Left, VPos::Top)?;
    let step = px(15.0);
    let high = step * view.curves.len() as i32;
    let (from, first) = match view.legend {
        Legend::Elsewhere => return Ok(()),
        Legend::TopLeft => (left + px(8.0), top + px(4.0)),
        Legend::BottomRight => (right - px(170.0), bottom - px(4.0) - high),
    };
    for (number, curve) in view.curves.iter().enumerate() {
        let at = first + step * number as i32 + step / 2;
        line(vec![(from, at), (from + px(16.0), at)], curve.color, css_of(curve))?;
        text((from + px(22.0), at), curve.name, theme.text, HPos::Left, VPos::Center)?;
    }
    Ok(())
}

/// Returns the curves as an SVG document; deterministic.
///
/// # Errors
/// As [`draw`].
pub fn export_svg(
    view: &CurvesView,
    size: ChartSize,
    theme: &Theme,
    title: &str,
) -> Result<String, ChartError> {
    plot::document(size, title, |backend| draw(backend, view, size, theme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Metrics;

    fn size(width: i32, height: i32) -> ChartSize {
        ChartSize { width, height, metrics: Metrics::default() }
    }

    fn picture(x: Axis, y: Axis, points: Vec<(f64, f64)>, size: ChartSize) -> String {
        let curves = vec![NamedCurve { name: "a <b>", color: Rgba::hex(0x123456), strong: true, points }];
        let view =
            CurvesView { x: (x, "across"), y: (y, "up"), curves, rule: Some(1.0), legend: Legend::TopLeft };
        export_svg(&view, size, &Theme::light(), "T").unwrap()
    }

    /// Returns the points of the curve itself.
    fn points_of(svg: &str) -> Vec<(i32, i32)> {
        let line = svg.lines().find(|l| l.starts_with("<polyline") && l.contains("#123456")).unwrap();
        let list = line.split("points=\"").nth(1).unwrap().split('"').next().unwrap();
        let number = |text: &str| text.parse().unwrap();
        list.split_whitespace()
            .map(|p| p.split_once(',').map(|(x, y)| (number(x), number(y))).unwrap())
            .collect()
    }

    #[test]
    fn a_curve_runs_from_corner_to_corner_and_infinity_is_the_edge() {
        let latency = Axis::Latency { from_us: 1000, to_us: 100_000 };
        let svg =
            picture(latency, Axis::Share, vec![(1000.0, 0.0), (10_000.0, 0.5), (1e5, 1.0)], size(468, 262));
        // 400 by 200 pixels between the axes.
        assert_eq!(points_of(&svg), [(52, 224), (252, 124), (452, 24)]);
        for word in ["a &lt;b&gt;", "across", "up", "10\u{202f}ms", "50\u{202f}%", "<title>T</title>"] {
            assert!(svg.contains(word), "{word} in {svg}");
        }
        let ratio = Axis::Ratio { from: 0.1, to: 10.0 };
        let svg =
            picture(Axis::Share, ratio, vec![(0.0, 0.0), (0.5, 1.0), (1.0, f64::INFINITY)], size(468, 262));
        assert_eq!(points_of(&svg), [(52, 224), (252, 124), (452, 24)]);
        assert!(
            svg.contains(">\n1\n<") || svg.contains(">1<"),
            "the line of a perfect estimate is marked: {svg}"
        );
    }

    #[test]
    fn without_room_or_points_there_is_an_empty_picture() {
        for room in [size(1, 1), size(60, 200), size(400, 40)] {
            assert!(picture(Axis::Share, Axis::Share, Vec::new(), room).contains("</svg>"));
        }
        let same = Axis::Latency { from_us: 7, to_us: 7 };
        assert!(picture(same, Axis::Share, vec![(7.0, 0.0), (7.0, 1.0)], size(400, 200)).contains("</svg>"));
    }
}
