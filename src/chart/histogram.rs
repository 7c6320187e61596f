//! Histograms of latency on a logarithmic axis: large ones through plotters, small ones as bars.

use super::backend::SvgBackend;
use super::color::Rgba;
use super::scene::{Layer, Metrics, Scene};
use super::timeline::nice_step;
use super::{Theme, format, svg};
use crate::stats::LogHistogram;
use plotters::chart::{ChartBuilder, LabelAreaPosition};
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use plotters::drawing::IntoDrawingArea as _;
use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::text_anchor::{HPos, Pos, VPos};
use plotters::style::{Color as _, FontDesc, FontFamily, FontStyle, RGBAColor, TextStyle};
use plotters_backend::DrawingBackend;

/// A chart could not be drawn; the words are the backend's.
#[derive(Debug, thiserror::Error)]
#[error("the chart could not be drawn: {0}")]
pub struct ChartError(String);

/// What a histogram shows.
#[derive(Clone, Copy, Debug)]
pub struct HistogramView<'a> {
    /// The counts.
    pub histogram: &'a LogHistogram,
    /// The band, as smallest and greatest latency in microseconds; the rest stands back.
    pub band_us: Option<(u64, u64)>,
    /// Lines to draw, as name and microseconds, for instance percentiles.
    pub lines: &'a [(&'a str, f64)],
}

/// The room for a histogram in device pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HistogramSize {
    /// Width.
    pub width: i32,
    /// Height. Below 90 CSS pixels there is no axis of counts.
    pub height: i32,
    /// Device pixels per CSS pixel.
    pub metrics: Metrics,
}

/// Where a histogram's bars stand: pixels to latencies and back, for the brush.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HistogramAxis {
    /// Left edge of the bars' part.
    pub left: i32,
    /// Right edge, exclusive.
    pub right: i32,
    /// Upper edge.
    pub top: i32,
    /// Lower edge, exclusive.
    pub bottom: i32,
    low: f64,
    high: f64,
}

/// The place of a latency on the axis: the logarithm, shifted by one so that 0 has a place.
fn place(us: f64) -> f64 {
    us.max(0.0).ln_1p()
}

impl HistogramAxis {
    /// The axis of a histogram in a room; `None` without values.
    pub fn new(histogram: &LogHistogram, size: HistogramSize) -> Option<HistogramAxis> {
        let (&low, &high) = (histogram.edges_us.first()?, histogram.edges_us.last()?);
        let px = |css: f64| size.metrics.px(css);
        let counts = size.height >= px(90.0);
        let axis = HistogramAxis {
            left: if counts { px(48.0) } else { px(8.0) },
            right: size.width - px(24.0),
            top: px(16.0),
            bottom: size.height - px(22.0),
            low: place(low as f64),
            high: place(high as f64),
        };
        (high > low && axis.right > axis.left && axis.bottom > axis.top).then_some(axis)
    }

    /// The pixel of a latency, within the axis.
    pub fn pixel(&self, us: f64) -> i32 {
        let share = (place(us) - self.low) / (self.high - self.low);
        self.left + (share.clamp(0.0, 1.0) * f64::from(self.right - self.left)).round() as i32
    }

    /// The latency at a pixel, within the axis.
    pub fn us_at(&self, x: i32) -> f64 {
        let share = f64::from(x - self.left) / f64::from(self.right - self.left);
        (self.low + share.clamp(0.0, 1.0) * (self.high - self.low)).exp_m1()
    }

    /// Round latencies to mark, at least `apart_px` from each other, and left enough of the right edge.
    pub fn ticks(&self, apart_px: i32) -> Vec<u64> {
        let (low, high) = (self.low.exp_m1().round() as u64, self.high.exp_m1().round() as u64);
        let powers = || std::iter::successors(Some(1u64), |p| p.checked_mul(10)).take_while(|&p| p <= high);
        let patterns: [(&[u64], usize); 5] = [(&[1, 2, 5], 1), (&[1, 3], 1), (&[1], 1), (&[1], 2), (&[1], 3)];
        let far_enough = |ticks: &[u64]| {
            ticks.windows(2).all(|pair| self.pixel(pair[1] as f64) - self.pixel(pair[0] as f64) >= apart_px)
        };
        for (factors, every) in patterns {
            let ticks: Vec<u64> = powers()
                .step_by(every)
                .flat_map(|power| factors.iter().filter_map(move |f| power.checked_mul(*f)))
                .filter(|at| (low..=high).contains(at))
                .collect();
            if ticks.len() >= 2 && far_enough(&ticks) {
                return ticks;
            }
        }
        // Less than a decade: equal steps.
        let width = f64::from((self.right - self.left).max(1));
        let step = nice_step((high - low) as f64 * f64::from(apart_px) * 1.5 / width, high);
        let ticks: Vec<u64> = (low.div_ceil(step)..=high / step).map(|i| i * step).collect();
        if far_enough(&ticks) { ticks } else { ticks.into_iter().take(1).collect() }
    }
}

/// A round latency in few characters: `200 µs`, `1 ms`, `2 s`, `10 min`.
fn short(us: f64) -> String {
    let (unit, name) = match us {
        us if us < 1e3 => (1.0, "µs"),
        us if us < 1e6 => (1e3, "ms"),
        us if us < 120e6 => (1e6, "s"),
        _ => (60e6, "min"),
    };
    format!("{}{}{name}", format::number(us / unit), format::THIN)
}

/// An axis for plotters with ticks of our choice.
struct Ticked {
    from: f64,
    to: f64,
    ticks: Vec<f64>,
    words: fn(f64) -> String,
}

impl Ranged for Ticked {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = (value - self.from) / (self.to - self.from);
        limit.0 + (share * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() { Vec::new() } else { self.ticks.clone() }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Ticked {
    fn format_ext(&self, value: &f64) -> String {
        (self.words)(*value)
    }
}

/// Draws a histogram with axes on any plotters backend, whose size is `size`.
///
/// # Errors
/// The backend's, in words.
pub fn draw<DB: DrawingBackend>(
    backend: DB,
    view: &HistogramView,
    size: HistogramSize,
    theme: &Theme,
) -> Result<(), ChartError> {
    let px = |css: f64| size.metrics.px(css);
    let root = backend.into_drawing_area();
    root.fill(&rgba(theme.background)).map_err(words)?;
    let Some(axis) = HistogramAxis::new(view.histogram, size) else { return root.present().map_err(words) };
    let most = view.histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    let counts = size.height >= px(90.0);
    let font_px = f64::from(px(11.0));
    let text = |color: Rgba, pos: Pos| -> TextStyle<'static> {
        let font = FontDesc::new(FontFamily::SansSerif, font_px, FontStyle::Normal);
        TextStyle { font, color: rgba(color).to_backend_color(), pos }
    };
    // The grid: plotters places labels and lines, at ticks of our choice.
    let x_ticks = axis.ticks(px(64.0)).into_iter().map(|us| place(us as f64)).collect();
    let y_step = nice_step(most as f64 / 3.0, 0);
    let count = if counts { |at: f64| format::count(at.round() as u64) } else { |_: f64| String::new() };
    let y_ticks = (0..=most / y_step).map(|i| (i * y_step) as f64).collect();
    let mut chart = ChartBuilder::on(&root)
        .margin_top(axis.top)
        .margin_right(size.width - axis.right)
        .set_label_area_size(LabelAreaPosition::Left, axis.left)
        .set_label_area_size(LabelAreaPosition::Bottom, size.height - axis.bottom)
        .build_cartesian_2d(
            Ticked { from: axis.low, to: axis.high, ticks: x_ticks, words: |at| short(at.exp_m1().round()) },
            Ticked { from: 0.0, to: most as f64, ticks: y_ticks, words: count },
        )
        .map_err(words)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .bold_line_style(rgba(theme.line))
        .light_line_style(RGBAColor(0, 0, 0, 0.0))
        .axis_style(rgba(theme.line))
        .set_all_tick_mark_size(px(3.0))
        .x_label_style(text(theme.muted, Pos::new(HPos::Center, VPos::Top)))
        .y_label_style(text(theme.muted, Pos::new(HPos::Right, VPos::Center)))
        .draw()
        .map_err(words)?;
    let rectangle = |[x, y, right, bottom]: [i32; 4], color: Rgba| {
        root.draw(&Rectangle::new([(x, y), (right, bottom)], rgba(color).filled())).map_err(words)
    };
    let brush = view.band_us.map(|(from, to)| (axis.pixel(from as f64), axis.pixel(to as f64 + 1.0)));
    if let Some((from, to)) = brush {
        rectangle([from, axis.top, to.max(from + 1), axis.bottom], theme.accent.with_alpha(0.12))?;
    }
    let quiet = theme.background.mix(theme.muted, 0.45);
    for (edges, &count) in view.histogram.edges_us.windows(2).zip(&view.histogram.counts) {
        if count == 0 {
            continue;
        }
        let inside = view.band_us.is_none_or(|(from, to)| edges[1] > from && edges[0] <= to);
        let (x, right) = (axis.pixel(edges[0] as f64), axis.pixel(edges[1] as f64));
        let gap = if right - x > 3 * px(1.0) { px(1.0) } else { 0 };
        let room = f64::from(axis.bottom - axis.top);
        // What is there is seen, however little beside the rest.
        let height = ((count as f64 / most as f64 * room).round() as i32).max(px(1.0));
        let color = if inside { theme.accent } else { quiet };
        rectangle([x, axis.bottom - height, (right - gap).max(x + 1), axis.bottom], color)?;
    }
    if let Some((from, to)) = brush {
        for x in [from, to - px(1.0)] {
            rectangle([x, axis.top, x + px(1.0), axis.bottom], theme.accent)?;
        }
    }
    let mut taken = i32::MIN;
    for (name, us) in view.lines {
        let x = axis.pixel(*us);
        let points = vec![(x, axis.top), (x, axis.bottom)];
        root.draw(&PathElement::new(points, rgba(theme.text).stroke_width(px(1.0) as u32))).map_err(words)?;
        let style = text(theme.text, Pos::new(HPos::Center, VPos::Bottom));
        let (width, _) = root.estimate_text_size(name, &style).map_err(words)?;
        let half = width as i32 / 2 + 1;
        let middle = x.clamp(half, (size.width - half).max(half));
        if middle - half > taken {
            root.draw(&Text::new(*name, (middle, axis.top - px(2.0)), style)).map_err(words)?;
            taken = middle + half + px(2.0);
        }
    }
    root.present().map_err(words)
}

/// The same as an SVG document; deterministic.
///
/// # Errors
/// As [`draw`].
pub fn export_svg(
    view: &HistogramView,
    size: HistogramSize,
    theme: &Theme,
    title: &str,
) -> Result<String, ChartError> {
    let mut out = String::new();
    let (width, height) = (size.width.max(1) as u32, size.height.max(1) as u32);
    draw(SvgBackend::new(&mut out, width, height), view, size, theme)?;
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

/// A tiny histogram without axes, for lists: `range_us` is the range of all rows, so that they can be compared.
pub fn spark(histogram: &LogHistogram, range_us: (u64, u64), width: i32, height: i32, color: Rgba) -> Scene {
    let mut layer = Layer::default();
    let (low, high) = (place(range_us.0 as f64), place(range_us.1 as f64 + 1.0));
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    let pixel = |us: u64| {
        let share = (place(us as f64) - low) / (high - low);
        (share.clamp(0.0, 1.0) * f64::from(width)).round() as i32
    };
    // The highest bar of each column of pixels.
    let mut bars = vec![0; width.max(0) as usize];
    for (edges, &count) in histogram.edges_us.windows(2).zip(&histogram.counts) {
        let (x, right) = (pixel(edges[0]).min(width - 1), pixel(edges[1]));
        let bar = (count as f64 / most as f64 * f64::from(height)).ceil() as i32;
        for slot in bars.iter_mut().take(right.max(x + 1).max(0) as usize).skip(x.max(0) as usize) {
            *slot = bar.max(*slot);
        }
    }
    let mut x = 0;
    for run in bars.chunk_by(|a, b| a == b) {
        layer.fill(x, height - run[0], run.len() as i32, run[0], color);
        x += run.len() as i32;
    }
    let mut scene = Scene::new(width, height, None);
    scene.layers.push(layer);
    scene
}

fn rgba(color: Rgba) -> RGBAColor {
    let [r, g, b, a] = color.0;
    RGBAColor(r, g, b, f64::from(a) / 255.0)
}

fn words(error: impl std::fmt::Display) -> ChartError {
    ChartError(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> LogHistogram {
        let mut values: Vec<u64> = (0..2_000u64).map(|i| 20_000 + i * i % 60_000).collect();
        values.extend((0..40).map(|i| 900_000 + i * 10_000));
        values.sort_unstable();
        LogHistogram::of_sorted(&values, 60)
    }

    fn size(width: i32, height: i32) -> HistogramSize {
        HistogramSize { width, height, metrics: Metrics::default() }
    }

    #[test]
    fn pixels_and_latencies_go_both_ways() {
        let axis = HistogramAxis::new(&sample(), size(800, 160)).unwrap();
        assert_eq!((axis.left, axis.right, axis.top, axis.bottom), (48, 776, 16, 138));
        assert_eq!(axis.pixel(20_000.0), 48);
        assert_eq!(axis.pixel(0.0), 48);
        assert_eq!(axis.pixel(1e12), 776);
        for x in 48..776 {
            assert_eq!(axis.pixel(axis.us_at(x)), x);
        }
    }

    #[test]
    fn ticks_are_round_within_the_axis_and_apart() {
        for values in
            [vec![0, 7], vec![10, 20], vec![1, 100_000_000], vec![100, 103], vec![84_000, 95_000], vec![3]]
        {
            let histogram = LogHistogram::of_sorted(&values, 30);
            for width in [120, 400, 1600] {
                let axis = HistogramAxis::new(&histogram, size(width, 160)).unwrap();
                let ticks = axis.ticks(64);
                assert!(!ticks.is_empty() || width < 400, "{values:?} {width}");
                let far = |p: &[u64]| axis.pixel(p[1] as f64) - axis.pixel(p[0] as f64) >= 64;
                assert!(ticks.windows(2).all(far), "{values:?} {width} {ticks:?}");
            }
        }
        let wide = LogHistogram::of_sorted(&[1_000, 1_000_000], 30);
        let axis = HistogramAxis::new(&wide, size(900, 160)).unwrap();
        let labels: Vec<_> =
            axis.ticks(64).iter().map(|&us| short(us as f64).replace(format::THIN, " ")).collect();
        assert_eq!(
            labels,
            ["1 ms", "2 ms", "5 ms", "10 ms", "20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1 s"]
        );
    }

    #[test]
    fn a_picture_shows_bars_band_lines_and_is_the_same_every_time() {
        let histogram = sample();
        let lines = [("p50", 50_000.0), ("p95", 78_000.0), ("p99", 950_000.0)];
        let view = HistogramView { histogram: &histogram, band_us: Some((70_000, 1_300_000)), lines: &lines };
        let theme = Theme::light();
        let svg = export_svg(&view, size(800, 160), &theme, "Latency of <POST>").unwrap();
        assert_eq!(svg, export_svg(&view, size(800, 160), &theme, "Latency of <POST>").unwrap());
        assert!(svg.contains("<title>Latency of &lt;POST&gt;</title>"));
        assert_eq!(svg.matches("</svg>").count(), 1);
        let quiet = theme.background.mix(theme.muted, 0.45).css().to_uppercase();
        let accent = theme.accent.css().to_uppercase();
        let drawn = histogram.counts.iter().filter(|&&n| n > 0).count();
        let rects = |color: &str| svg.lines().filter(|l| l.starts_with("<rect") && l.contains(color)).count();
        assert_eq!(rects(&quiet) + rects(&accent), drawn + 3, "each bin, the band and its two edges");
        assert!(rects(&quiet) > 3 && rects(&accent) > 6);
        for word in ["p50", "p95", "p99", "100\u{202f}ms", "200\u{202f}ms"] {
            assert!(svg.contains(word), "{word}");
        }
    }

    #[test]
    fn plotters_puts_its_grid_where_the_axis_says() {
        let histogram = sample();
        let view = HistogramView { histogram: &histogram, band_us: None, lines: &[] };
        let svg = export_svg(&view, size(800, 160), &Theme::light(), "").unwrap();
        let axis = HistogramAxis::new(&histogram, size(800, 160)).unwrap();
        // The horizontal axis is a line from the first to the last pixel below the bars.
        let line = format!("points=\"{},{} {},{} \"", axis.left, axis.bottom, axis.right - 1, axis.bottom);
        assert!(svg.contains(&line), "{line} in {svg}");
    }

    #[test]
    fn without_values_or_room_there_is_an_empty_picture() {
        let none = LogHistogram::default();
        let view = HistogramView { histogram: &none, band_us: None, lines: &[("p50", 0.0)] };
        for room in [size(800, 160), size(10, 10), size(1, 1)] {
            assert!(export_svg(&view, room, &Theme::dark(), "").unwrap().contains("</svg>"));
        }
        let histogram = sample();
        let view = HistogramView { histogram: &histogram, ..view };
        for room in [size(60, 30), size(100, 40), size(200, 60)] {
            assert!(export_svg(&view, room, &Theme::dark(), "").unwrap().contains("</svg>"));
        }
    }

    #[test]
    fn sparks_share_an_axis() {
        let fast = LogHistogram::of_sorted(&[100, 110, 120], 10);
        let slow = LogHistogram::of_sorted(&[100_000, 110_000], 10);
        let range = (100, 110_000);
        let color = Rgba::hex(0x123456);
        let (a, b) = (spark(&fast, range, 80, 16, color), spark(&slow, range, 80, 16, color));
        let extent = |scene: &Scene| {
            let fills = &scene.layers[0].fills;
            (fills.first().map(|f| f.x), fills.last().map(|f| f.x + f.w), fills.iter().map(|f| f.h).max())
        };
        assert_eq!(extent(&a).0, Some(0));
        assert!(extent(&a).1 < Some(5));
        assert_eq!((extent(&b).1, extent(&b).2), (Some(80), Some(16)));
        assert!(spark(&LogHistogram::default(), (0, 0), 80, 16, color).layers[0].fills.is_empty());
    }
}
