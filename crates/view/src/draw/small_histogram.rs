//! The latencies of one or two sides in a strip as high as a line of text: A as a grey area, B as a line.

use super::axis::{AxisUnit, Scale, ValueAxis};
use super::plot::ChartSize;
use super::{Layer, Scene, Theme};
use pathlight_base::statistics::LogHistogram;

/// Content of the strip. Without a second side the only one is drawn as A is.
#[derive(Clone, Copy, Debug)]
pub struct SmallHistogram<'a> {
    /// The side that views speak of.
    pub shown: &'a LogHistogram,
    /// The other side.
    pub other: Option<&'a LogHistogram>,
    /// Whether the side that views speak of is B.
    pub is_b: bool,
    /// Least and greatest latency of the percentile range, in microseconds; `None`: all.
    pub range_us: Option<(u64, u64)>,
}

impl SmallHistogram<'_> {
    /// Returns the axis of latencies, on which both sides have room; `None` without values.
    pub fn axis(&self, size: ChartSize) -> Option<ValueAxis> {
        let ends = |of: &LogHistogram| Some((*of.edges_us.first()?, *of.edges_us.last()?));
        let (mut low, mut high) = ends(self.shown).or_else(|| self.other.and_then(ends))?;
        if let Some((from, to)) = self.other.and_then(ends) {
            (low, high) = (low.min(from), high.max(to));
        }
        // One latency alone stands in the middle.
        let is_one = self.shown.counts.len() == 1 && self.other.is_none();
        let (low, high) = if is_one { (low / 2, high.saturating_mul(2)) } else { (low, high) };
        let edges = (size.px(2.0), size.width - size.px(2.0));
        ValueAxis::new(edges, (low as f64, high as f64), Scale::Log, AxisUnit::Time)
    }

    /// Returns the strip as a picture without text.
    pub fn scene(&self, size: ChartSize, theme: &Theme) -> Scene {
        let mut scene = Scene::new(size.width, size.height, None);
        let Some(axis) = self.axis(size) else { return scene };
        let (grey, blue) = (theme.background.mix(theme.muted, 0.6), theme.accent);
        let (a, b) = match (self.is_b, self.other) {
            (true, other) => (other, Some(self.shown)),
            (false, other) => (Some(self.shown), other),
        };
        // A range is the same latencies on neither side: only that of the side shown is marked.
        let is_out =
            |edges: &[u64]| self.range_us.is_some_and(|(from, to)| edges[1] <= from || edges[0] > to);
        let (mut area, mut line) = (Layer::default(), Layer::default());
        for (edges, x, width, height) in a.into_iter().flat_map(|of| steps(of, axis, size)) {
            let is_quiet = !self.is_b && is_out(edges);
            let color = if is_quiet { theme.background.mix(grey, 0.45) } else { grey };
            area.fill(x, size.height - height, width, height, color);
        }
        let thick = size.px(1.5);
        let mut before = 0;
        for (edges, x, width, height) in b.into_iter().flat_map(|of| steps(of, axis, size)) {
            let color = if self.is_b && is_out(edges) { theme.background.mix(blue, 0.4) } else { blue };
            let top = size.height - height.max(thick);
            line.fill(x, top, width, thick, color);
            // The upright from the step before.
            let (low, high) = (before.max(height), before.min(height));
            line.fill(x, size.height - low.max(thick), thick, low - high, color);
            before = height;
        }
        scene.layers = vec![area, line];
        scene
    }
}

/// Returns the steps of a histogram from left to right: the latencies, left edge, width and height of each.
fn steps(
    of: &LogHistogram,
    axis: ValueAxis,
    size: ChartSize,
) -> impl Iterator<Item = (&[u64], i32, i32, i32)> {
    let most = of.counts.iter().copied().max().unwrap_or(0).max(1);
    let room = f64::from(size.height - size.px(2.0));
    of.edges_us.windows(2).zip(&of.counts).map(move |(edges, &count)| {
        let (x, right) = (axis.pixel(edges[0] as f64), axis.pixel(edges[1] as f64));
        // What is there is seen, however little beside the rest.
        let least = if count > 0 { size.px(1.5) } else { 0 };
        let height = ((count as f64 / most as f64 * room).round() as i32).max(least);
        (edges, x, (right - x).max(1), height)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draw::{Metrics, Rgba};

    const SIZE: ChartSize = ChartSize { width: 260, height: 36, metrics: Metrics { scale: 1.0 } };

    fn colors(layer: &Layer) -> Vec<Rgba> {
        let mut colors: Vec<Rgba> = layer.fills.iter().map(|fill| fill.color).collect();
        colors.dedup();
        colors
    }

    #[test]
    fn both_sides_share_an_axis_a_is_grey_and_b_a_line_whichever_is_shown() {
        let fast = LogHistogram::of_sorted(&[1_000, 1_100, 1_200], 10);
        let slow = LogHistogram::of_sorted(&[1_000_000, 1_100_000], 10);
        let theme = Theme::light();
        for (shown, other, is_b) in [(&slow, &fast, true), (&fast, &slow, false)] {
            let view = SmallHistogram { shown, other: Some(other), is_b, range_us: None };
            let layers = view.scene(SIZE, &theme).layers;
            assert_eq!(colors(&layers[1]), [theme.accent]);
            assert!(layers[0].fills.iter().all(|fill| fill.x < 100 && fill.color != theme.accent));
            assert!(layers[1].fills.iter().any(|fill| fill.x > 200));
        }
    }

    #[test]
    fn what_lies_outside_the_range_stands_back_and_nothing_is_drawn_of_nothing() {
        let all = LogHistogram::of_sorted(&[1_000, 10_000, 100_000], 20);
        let view =
            SmallHistogram { shown: &all, other: None, is_b: false, range_us: Some((50_000, 100_000)) };
        let scene = view.scene(SIZE, &Theme::light());
        assert_eq!(colors(&scene.layers[0]).len(), 2);
        assert!(scene.layers[1].fills.is_empty());
        let none = LogHistogram::default();
        let view = SmallHistogram { shown: &none, ..view };
        assert_eq!((view.axis(SIZE), view.scene(SIZE, &Theme::light()).layers.len()), (None, 0));
        // One latency alone.
        let one = LogHistogram::of_sorted(&[5_000], 10);
        let view = SmallHistogram { shown: &one, range_us: None, ..view };
        let fill = view.scene(SIZE, &Theme::light()).layers[0].fills[0];
        assert!((60..200).contains(&fill.x), "{fill:?}");
    }
}
