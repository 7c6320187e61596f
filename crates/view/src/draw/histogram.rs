//! Histograms on a logarithmic or linear axis: large ones through plotters, small ones as bars.

use super::axis::{AxisUnit, Scale, ValueAxis};
use super::plot::{self, Area, ChartError, ChartSize, rgba, words};
use super::{Layer, Rgba, Scene, Theme};
use crate::timeline::chart::nice_step;
use pathlight_base::format;
use pathlight_base::statistics::{Distribution, LogHistogram};
use plotters::element::{PathElement, Rectangle, Text};
use plotters::style::Color as _;
use plotters::style::text_anchor::{HPos, VPos};
use plotters_backend::DrawingBackend;

/// Counts of values in bins.
#[derive(Clone, Copy, Debug)]
pub struct Bars<'a> {
    /// Lower edges of the bins and the upper edge of the last one; empty without values.
    pub edges: &'a [u64],
    /// Count per bin; one less than edges.
    pub counts: &'a [u64],
    /// The axis on which bins are equally wide.
    pub scale: Scale,
    /// Unit of the values.
    pub unit: AxisUnit,
}

impl<'a> Bars<'a> {
    /// Returns the bars of a distribution.
    pub fn of(distribution: &'a Distribution, unit: AxisUnit) -> Bars<'a> {
        let scale = if distribution.is_log { Scale::Log } else { Scale::Linear };
        Bars { edges: &distribution.edges, counts: &distribution.counts, scale, unit }
    }

    /// Returns half a bin where every bin is one whole number on a linear axis: the number stands at the middle of its
    /// bar.
    fn shift(&self) -> f64 {
        let whole = self.edges.windows(2).all(|pair| pair[1] - pair[0] == 1);
        if self.scale == Scale::Linear && self.unit == AxisUnit::Count && whole { 0.5 } else { 0.0 }
    }
}

impl<'a> From<&'a LogHistogram> for Bars<'a> {
    fn from(histogram: &'a LogHistogram) -> Bars<'a> {
        let LogHistogram { edges_us, counts } = histogram;
        Bars { edges: edges_us, counts, scale: Scale::Log, unit: AxisUnit::Time }
    }
}

/// Content of a histogram.
#[derive(Clone, Copy, Debug)]
pub struct HistogramView<'a> {
    /// The counts.
    pub bars: Bars<'a>,
    /// The percentile range, as smallest and greatest value; the rest stands back.
    pub range: Option<(u64, u64)>,
    /// Lines to draw, as name and value, for instance percentiles.
    pub lines: &'a [(&'a str, f64)],
}

/// The room of a histogram's bars and its axis of values.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct HistogramAxis {
    /// From values to pixels and back.
    pub values: ValueAxis,
    /// Upper edge.
    pub top: i32,
    /// Lower edge, exclusive.
    pub bottom: i32,
}

impl HistogramAxis {
    /// Returns the axis of bars in a room; `None` without values. Below 90 CSS pixels of height there is no axis of
    /// counts.
    pub fn new(bars: &Bars, size: ChartSize) -> Option<HistogramAxis> {
        let (&low, &high) = (bars.edges.first()?, bars.edges.last()?);
        let (mut from, mut to) = (low as f64, high as f64);
        if bars.counts.len() == 1 {
            // One bar alone does not fill the picture: its neighbours are shown too.
            (from, to) = match bars.scale {
                Scale::Log => (from / 2.0, to * 2.0),
                Scale::Linear => ((2.0 * from - to).max(0.0), 2.0 * to - from),
            };
        }
        let left = if has_counts(size) { size.px(48.0) } else { size.px(8.0) };
        let values = ValueAxis::new((left, size.width - size.px(24.0)), (from, to), bars.scale, bars.unit)?;
        let axis = HistogramAxis { values, top: size.px(16.0), bottom: size.height - size.px(22.0) };
        (axis.bottom > axis.top).then_some(axis)
    }
}

fn has_counts(size: ChartSize) -> bool {
    size.height >= size.px(90.0)
}

/// Draws a histogram with axes on any plotters backend, whose size is `size`.
///
/// # Errors
/// The backend's, in words.
pub fn draw<DB: DrawingBackend>(
    backend: DB,
    view: &HistogramView,
    size: ChartSize,
    theme: &Theme,
) -> Result<(), ChartError> {
    plot::on_backend(backend, theme, |area| draw_in(area, view, size, theme))
}

/// Draws a histogram into an area of this size.
pub(crate) fn draw_in<DB: DrawingBackend>(
    area: &Area<DB>,
    view: &HistogramView,
    size: ChartSize,
    theme: &Theme,
) -> Result<(), ChartError> {
    let px = |css: f64| size.px(css);
    let bars = &view.bars;
    let Some(HistogramAxis { values, top, bottom }) = HistogramAxis::new(bars, size) else { return Ok(()) };
    let most = bars.counts.iter().copied().max().unwrap_or(0).max(1);
    let room = f64::from(bottom - top);
    if has_counts(size) {
        let step = nice_step(most as f64 / 3.0, 0);
        let style = size.text(theme.muted, HPos::Right, VPos::Center);
        for count in (0..=most / step).map(|i| i * step) {
            let y = bottom - (count as f64 / most as f64 * room).round() as i32;
            let line = vec![(values.left, y), (values.right - 1, y)];
            area.draw(&PathElement::new(line, rgba(theme.line))).map_err(words)?;
            let at = (values.left - px(6.0), y);
            area.draw(&Text::new(format::count(count), at, style.clone())).map_err(words)?;
        }
    }
    // Ticks stand where values do: at the middle of a bar that is one whole number.
    let shift = values.pixel(bars.edges[0] as f64 + bars.shift()) - values.pixel(bars.edges[0] as f64);
    let marked = values.moved(shift);
    let rectangle = |[x, y, right, bottom]: [i32; 4], color: Rgba| {
        area.draw(&Rectangle::new([(x, y), (right, bottom)], rgba(color).filled())).map_err(words)
    };
    let brush = view.range.map(|(from, to)| (values.pixel(from as f64), values.pixel(to as f64 + 1.0)));
    if let Some((from, to)) = brush {
        rectangle([from, top, to.max(from + 1), bottom], theme.accent.with_alpha(0.12))?;
    }
    let quiet = theme.background.mix(theme.muted, 0.45);
    // A bar alone may be one value of thousands on the axis: it is still a bar, not a hair.
    let least = if bars.counts.len() == 1 { px(6.0) } else { 1 };
    for (edges, &count) in bars.edges.windows(2).zip(bars.counts) {
        if count == 0 {
            continue;
        }
        let inside = view.range.is_none_or(|(from, to)| edges[1] > from && edges[0] <= to);
        let (x, right) = (values.pixel(edges[0] as f64), values.pixel(edges[1] as f64));
        let gap = if right - x > 3 * px(1.0) { px(1.0) } else { 0 };
        let x = x - (least - (right - x)).max(0) / 2;
        // What is there is seen, however little beside the rest.
        let height = ((count as f64 / most as f64 * room).round() as i32).max(px(1.0));
        let color = if inside { theme.accent } else { quiet };
        rectangle([x, bottom - height, (right - gap).max(x + least), bottom], color)?;
    }
    if let Some((from, to)) = brush {
        for x in [from, to - px(1.0)] {
            rectangle([x, top, x + px(1.0), bottom], theme.accent)?;
        }
    }
    plot::draw_axis(area, (values.left, values.right), &marked, bottom, size, theme)?;
    for (_, value) in view.lines {
        plot::draw_mark(area, &marked, (top, bottom), *value, size, theme)?;
    }
    plot::name_marks(area, &marked, top, view.lines, size, theme)
}

/// Returns the histogram as an SVG document; deterministic.
///
/// # Errors
/// As [`draw`].
pub fn export_svg(
    view: &HistogramView,
    size: ChartSize,
    theme: &Theme,
    title: &str,
) -> Result<String, ChartError> {
    plot::document(size, title, |backend| draw(backend, view, size, theme))
}

/// Returns a tiny histogram without axes, for lists: `range_us` is the range of all rows, so that they can be
/// compared.
pub fn spark(histogram: &LogHistogram, range_us: (u64, u64), width: i32, height: i32, color: Rgba) -> Scene {
    let mut layer = Layer::default();
    let range = (range_us.0 as f64, range_us.1 as f64 + 1.0);
    let axis = ValueAxis::new((0, width), range, Scale::Log, AxisUnit::Time);
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    let pixel = |us: u64| axis.map_or(0, |axis| axis.pixel(us as f64));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::Metrics;

    fn sample() -> LogHistogram {
        let mut values: Vec<u64> = (0..2_000u64).map(|i| 20_000 + i * i % 60_000).collect();
        values.extend((0..40).map(|i| 900_000 + i * 10_000));
        values.sort_unstable();
        LogHistogram::of_sorted(&values, 60)
    }

    fn size(width: i32, height: i32) -> ChartSize {
        ChartSize { width, height, metrics: Metrics::default() }
    }

    #[test]
    fn bars_have_room_for_counts_where_the_picture_is_high() {
        let histogram = sample();
        let edges = |height| {
            let axis = HistogramAxis::new(&Bars::from(&histogram), size(800, height)).unwrap();
            (axis.values.left, axis.values.right, axis.top, axis.bottom)
        };
        assert_eq!(edges(160), (48, 776, 16, 138));
        assert_eq!(edges(80), (8, 776, 16, 58));
    }

    #[test]
    fn one_value_alone_stands_in_the_middle() {
        for (value, scale, unit) in [(5_000, Scale::Log, AxisUnit::Time), (7, Scale::Linear, AxisUnit::Count)]
        {
            let (edges, counts) = ([value, value + 1], [40]);
            let bars = Bars { edges: &edges, counts: &counts, scale, unit };
            let view = HistogramView { bars, range: None, lines: &[] };
            let svg = export_svg(&view, size(400, 160), &Theme::light(), "").unwrap();
            let accent = Theme::light().accent.css().to_uppercase();
            let bar = svg.lines().find(|line| line.starts_with("<rect") && line.contains(&accent)).unwrap();
            let number = |name: &str| -> i32 {
                let from = bar.find(&format!(" {name}=\"")).unwrap() + name.len() + 3;
                bar[from..].split('"').next().unwrap().parse().unwrap()
            };
            let (x, width) = (number("x"), number("width"));
            assert!(x > 48 + 60 && x + width < 376 - 60 && width >= 6, "{x} {width}");
        }
    }

    #[test]
    fn the_first_tick_of_an_axis_that_begins_there_is_whole() {
        let histogram = LogHistogram::of_sorted(&[100, 5_000, 10_000], 30);
        let view = HistogramView { bars: (&histogram).into(), range: None, lines: &[] };
        let svg = export_svg(&view, size(300, 60), &Theme::light(), "").unwrap();
        let at = svg.find("100\u{202f}µs").unwrap();
        let tag = svg[..at].rfind("<text").unwrap();
        let from = tag + svg[tag..].find(" x=\"").unwrap() + 4;
        let middle: f64 = svg[from..].split('"').next().unwrap().parse().unwrap();
        let width = crate::draw::text::Advances { font_px: 11.0 };
        let half = crate::draw::MeasureText::text_px(&mut { width }, "100\u{202f}µs") / 2.0;
        assert!(middle >= half, "{middle} {half}");
    }

    #[test]
    fn marks_that_stand_close_have_one_name_together_and_none_is_without() {
        let histogram = sample();
        let names = |lines: &[(&str, f64)]| {
            let view = HistogramView { bars: (&histogram).into(), range: None, lines };
            let svg = export_svg(&view, size(800, 160), &Theme::light(), "").unwrap();
            let texts =
                svg.split("<text").skip(1).filter_map(|text| text.split('>').nth(1)?.split('<').next());
            texts.map(|text| text.trim().to_owned()).filter(|text| text.starts_with('m')).collect::<Vec<_>>()
        };
        assert_eq!(names(&[("median", 22_000.0), ("mean", 50_000.0)]), ["median", "mean"]);
        let close = [("median", 50_000.0), ("mean", 51_000.0), ("max", 1_200_000.0)];
        assert_eq!(names(&close), ["median, mean", "max"]);
        // By where they stand, whatever the order they come in.
        assert_eq!(names(&[("median", 52_000.0), ("mean", 50_000.0)]), ["mean, median"]);
        assert_eq!(names(&[("max", 900_000.0), ("median", 900_000.0), ("mean", 899_000.0)]).len(), 1);
    }

    #[test]
    fn a_picture_shows_bars_percentile_range_and_lines_and_is_the_same_every_time() {
        let histogram = sample();
        let lines = [("p50", 50_000.0), ("p95", 78_000.0), ("p99", 950_000.0)];
        let view =
            HistogramView { bars: (&histogram).into(), range: Some((70_000, 1_300_000)), lines: &lines };
        let theme = Theme::light();
        let svg = export_svg(&view, size(800, 160), &theme, "Latency of <POST>").unwrap();
        assert_eq!(svg, export_svg(&view, size(800, 160), &theme, "Latency of <POST>").unwrap());
        assert!(svg.contains("<title>Latency of &lt;POST&gt;</title>"));
        assert_eq!(svg.matches("</svg>").count(), 1);
        let quiet = theme.background.mix(theme.muted, 0.45).css().to_uppercase();
        let accent = theme.accent.css().to_uppercase();
        let drawn = histogram.counts.iter().filter(|&&n| n > 0).count();
        let rects = |color: &str| svg.lines().filter(|l| l.starts_with("<rect") && l.contains(color)).count();
        assert_eq!(
            rects(&quiet) + rects(&accent),
            drawn + 3,
            "each bin, the percentile range and its two edges"
        );
        assert!(rects(&quiet) > 3 && rects(&accent) > 6);
        for word in ["p50", "p95", "p99", "100\u{202f}ms", "200\u{202f}ms"] {
            assert!(svg.contains(word), "{word}");
        }
    }

    #[test]
    fn the_axis_is_drawn_below_the_bars() {
        let histogram = sample();
        let view = HistogramView { bars: (&histogram).into(), range: None, lines: &[] };
        let svg = export_svg(&view, size(800, 160), &Theme::light(), "").unwrap();
        let axis = HistogramAxis::new(&Bars::from(&histogram), size(800, 160)).unwrap();
        // The horizontal axis is a line from the first to the last pixel below the bars.
        let line = format!(
            "points=\"{},{} {},{} \"",
            axis.values.left,
            axis.bottom,
            axis.values.right - 1,
            axis.bottom
        );
        assert!(svg.contains(&line), "{line} in {svg}");
    }

    #[test]
    fn without_values_or_room_there_is_an_empty_picture() {
        let none = LogHistogram::default();
        let view = HistogramView { bars: (&none).into(), range: None, lines: &[("p50", 0.0)] };
        for room in [size(800, 160), size(10, 10), size(1, 1)] {
            assert!(export_svg(&view, room, &Theme::dark(), "").unwrap().contains("</svg>"));
        }
        let histogram = sample();
        let view = HistogramView { bars: (&histogram).into(), ..view };
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
