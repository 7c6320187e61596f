//! The overview above a timeline: how many spans run at each moment of the whole trace.

use super::Timeline;
use crate::draw::{Layer, Metrics, Scene, Theme, Window};
use pathlight_base::steps::in_blocks;
use pathlight_engine::flame::TraceReport;

/// Spans that run and errors, per column of pixels.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Minimap {
    /// Spans that run at some moment of the column.
    pub active: Vec<u32>,
    /// By column: an error starts in it.
    pub errors: Vec<bool>,
    /// The greatest of `active`.
    pub most: u32,
    end_us: u64,
}

impl Minimap {
    /// Counts over all spans, in this many columns. Reads every span: make it once per trace and width.
    pub fn new(timeline: &Timeline, columns: i32) -> Minimap {
        let columns = columns.max(1);
        let pixels = timeline.full().pixels(columns);
        let mut change = vec![0i64; columns as usize + 1];
        let mut errors = vec![false; columns as usize];
        in_blocks(timeline.len(), &mut |block| {
            for span in block.map(|span| span as u32) {
                let (start, end) = timeline.interval_us(span);
                let from = pixels.of(start).clamp(0, columns - 1);
                // A span that ends on the border of two columns is in the first only.
                let to = pixels.of(end.max(start + 1) - 1).clamp(from, columns - 1);
                change[from as usize] += 1;
                change[to as usize + 1] -= 1;
                errors[from as usize] |= timeline.bit(span, TraceReport::ERROR);
            }
        });
        let mut running = 0;
        let active: Vec<u32> = change[..columns as usize]
            .iter()
            .map(|by| {
                running += by;
                running as u32
            })
            .collect();
        let most = active.iter().copied().max().unwrap_or(0);
        Minimap { active, errors, most, end_us: timeline.report().end_us }
    }

    /// Returns the picture, one pixel per column, with what is outside of `window` dimmed.
    pub fn scene(&self, height: i32, window: Window, theme: &Theme, metrics: Metrics) -> Scene {
        let width = self.active.len() as i32;
        let (mut bars, mut over) = (Layer::default(), Layer::default());
        let fill = theme.surface.mix(theme.muted, 0.6);
        let mark = metrics.px(3.0).min(height);
        // Equal columns become one rectangle.
        let mut x = 0;
        for group in self.active.chunk_by(|a, b| a == b) {
            let w = group.len() as i32;
            let h = self.bar_px(group[0], height);
            bars.fill(x, height - h, w, h, fill);
            x += w;
        }
        let mut x = 0;
        for group in self.errors.chunk_by(|a, b| a == b) {
            let w = group.len() as i32;
            if group[0] {
                over.fill(x, 0, w.max(metrics.px(1.0)), mark, theme.error);
            }
            x += w;
        }
        if !window.is_full(self.end_us) {
            let axis = Window::full(self.end_us);
            let px = |at: f64| (at / axis.width() * f64::from(width)).round() as i32;
            let from = px(window.from).clamp(0, width);
            let to = px(window.to).clamp(from, width);
            let veil = theme.background.with_alpha(0.65);
            over.fill(0, 0, from, height, veil);
            over.fill(to, 0, width - to, height, veil);
            let line = metrics.px(2.0);
            for x in [from, to - line] {
                over.fill(x.clamp(0, width - line), 0, line, height, theme.accent);
            }
        }
        let mut scene = Scene::new(width, height, Some(theme.surface));
        scene.layers = vec![bars, over];
        scene.finish()
    }

    /// Returns the height of a column: by the square root, so that one span beside a thousand still shows.
    fn bar_px(&self, active: u32, height: i32) -> i32 {
        if active == 0 {
            return 0;
        }
        let share = (f64::from(active) / f64::from(self.most.max(1))).sqrt();
        ((share * f64::from(height)).round() as i32).clamp(1, height.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::super::model::tests::{small, trace};
    use super::*;

    #[test]
    fn columns_count_the_spans_that_run() {
        let map = Minimap::new(&small(), 10);
        // 0: all; 1: 100 to 400; 2: 200 to 300; 3: 500 to 900; 4: 50 to 60.
        assert_eq!(map.active, [2, 2, 3, 2, 1, 2, 2, 2, 2, 1]);
        assert_eq!(map.most, 3);
    }

    #[test]
    fn every_span_is_in_some_column_even_without_length_or_at_the_end() {
        let spans = [(u32::MAX, 0, 100, 0), (0, 100, 0, TraceReport::ERROR), (0, 40, 0, 0)];
        let map = Minimap::new(&Timeline::new(trace(&spans, &[])), 5);
        assert_eq!(map.active, [1, 1, 2, 1, 2]);
        assert_eq!(map.errors, [false, false, false, false, true]);
        let empty = Minimap::new(&Timeline::default(), 3);
        assert_eq!((empty.active, empty.most), (vec![0; 3], 0));
    }

    #[test]
    fn the_window_is_framed_and_the_rest_veiled() {
        let map = Minimap::new(&small(), 100);
        let theme = Theme::light();
        let metrics = Metrics::default();
        let whole = map.scene(30, Window::full(1000), &theme, metrics);
        assert!(whole.layers[1].fills.iter().all(|f| f.color == theme.error));
        let part = map.scene(30, Window { from: 200.0, to: 700.0 }, &theme, metrics);
        let veils: Vec<_> =
            part.layers[1].fills.iter().filter(|f| !f.color.is_opaque()).map(|f| (f.x, f.w)).collect();
        assert_eq!(veils, [(0, 20), (70, 30)]);
        let inside = |f: &crate::draw::Fill| f.x >= 0 && f.x + f.w <= 100 && f.y >= 0 && f.y + f.h <= 30;
        assert!(part.layers.iter().flat_map(|l| &l.fills).all(inside));
    }
}
