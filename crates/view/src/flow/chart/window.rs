//! The part of an execution flow's picture that is in sight, and what is under the pointer.

use super::{DagItem, DagLayout};
use crate::draw::scene::Curve;
use crate::draw::{Metrics, Viewport};

/// Position of a layout on a canvas: its pixels times `zoom`, moved by `x` and `y`, are the canvas' pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DagWindow {
    /// Canvas pixels per pixel of the layout.
    pub zoom: f64,
    /// Position of the layout's left edge.
    pub x: f64,
    /// Position of the layout's upper edge.
    pub y: f64,
}

/// The item under a pixel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DagHit {
    /// A box.
    Box(DagItem),
    /// A line, by its index.
    Line(usize),
}

impl DagWindow {
    /// The smallest zoom at which names that fit into their boxes still do, but for a letter.
    pub const LEGIBLE: f64 = 0.9;
    const MOST: f64 = 4.0;
    const LEAST: f64 = 0.02;

    /// Returns all of a layout in a room of this size, never larger than it is.
    pub fn fit(layout: &DagLayout, (width, height): (i32, i32), metrics: Metrics) -> DagWindow {
        let (w, h) = (f64::from(width), f64::from(height));
        let room = |all: f64| (all - 2.0 * margin(metrics)).max(1.0);
        let zoom = (room(w) / f64::from(layout.width.max(1)))
            .min(room(h) / f64::from(layout.height.max(1)))
            .clamp(Self::LEAST, 1.0);
        let middle = |all: f64, own: i32| (all - f64::from(own) * zoom) / 2.0;
        DagWindow { zoom, x: middle(w, layout.width), y: middle(h, layout.height) }
    }

    /// Returns what is shown first: all of it if that can be read, else its beginning at a size that can.
    pub fn opening(layout: &DagLayout, room: (i32, i32), metrics: Metrics) -> DagWindow {
        let fit = DagWindow::fit(layout, room, metrics);
        if fit.zoom >= Self::LEGIBLE {
            return fit;
        }
        let start = layout.boxes.iter().find(|b| b.item == DagItem::Start);
        let middle = start.map_or(0.0, |b| f64::from(b.y) + f64::from(b.h) / 2.0);
        let zoom = Self::LEGIBLE;
        let window = DagWindow { zoom, x: margin(metrics), y: f64::from(room.1) / 2.0 - middle * zoom };
        window.within(layout, room, metrics)
    }

    /// Returns the window zoomed about a point of the canvas, which keeps its place; a `factor` above 1 shows less.
    #[must_use]
    pub fn zoomed(&self, (x, y): (f64, f64), factor: f64) -> DagWindow {
        let zoom = (self.zoom * factor).clamp(Self::LEAST, Self::MOST);
        let by = zoom / self.zoom;
        DagWindow { zoom, x: x - (x - self.x) * by, y: y - (y - self.y) * by }
    }

    /// Returns the window moved by canvas pixels.
    #[must_use]
    pub fn panned(&self, x: f64, y: f64) -> DagWindow {
        DagWindow { x: self.x + x, y: self.y + y, ..*self }
    }

    /// Returns the window moved as little as needed so that no side has more empty room than its margin; what fits as a
    /// whole stands in the middle.
    #[must_use]
    pub fn within(&self, layout: &DagLayout, (width, height): (i32, i32), metrics: Metrics) -> DagWindow {
        let margin = margin(metrics);
        let place = |at: f64, own: i32, all: i32| {
            let (own, all) = (f64::from(own) * self.zoom, f64::from(all));
            if own + 2.0 * margin <= all { (all - own) / 2.0 } else { at.clamp(all - own - margin, margin) }
        };
        DagWindow { x: place(self.x, layout.width, width), y: place(self.y, layout.height, height), ..*self }
    }

    /// Returns the window moved so that a box is wholly in sight, if it fits.
    #[must_use]
    pub fn revealing(
        &self,
        layout: &DagLayout,
        item: DagItem,
        room: (i32, i32),
        metrics: Metrics,
    ) -> DagWindow {
        let Some(found) = layout.boxes.iter().find(|b| b.item == item) else { return *self };
        let margin = margin(metrics);
        let place = |at: f64, low: i32, own: i32, all: i32| {
            let (low, own) = (f64::from(low) * self.zoom, f64::from(own) * self.zoom);
            at.min(f64::from(all) - margin - low - own).max(margin - low)
        };
        DagWindow {
            x: place(self.x, found.x, found.w, room.0),
            y: place(self.y, found.y, found.h, room.1),
            ..*self
        }
    }

    /// Returns a rectangle of the layout on the canvas: left, upper edge, width and height, at least one pixel each.
    pub fn rectangle(&self, [x, y, w, h]: [i32; 4]) -> [i32; 4] {
        let [left, top] = self.point([x, y]);
        let [right, bottom] = self.point([x + w, y + h]);
        [left, top, (right - left).max(1), (bottom - top).max(1)]
    }

    /// Returns a point of the layout on the canvas.
    pub fn point(&self, [x, y]: [i32; 2]) -> [i32; 2] {
        // Whatever is this far out is out of sight.
        let on =
            |at: i32, move_by: f64| (f64::from(at) * self.zoom + move_by).round().clamp(-1e6, 1e6) as i32;
        [on(x, self.x), on(y, self.y)]
    }

    /// Returns what is under a pixel of the canvas: a box, else a line no further than `near_px`.
    pub fn hit(&self, layout: &DagLayout, x: i32, y: i32, near_px: f64) -> Option<DagHit> {
        let inside = |b: &&super::DagBox| {
            let [left, top, w, h] = self.rectangle([b.x, b.y, b.w, b.h]);
            // What is tiny can still be pointed at.
            let reach = (near_px as i32 - w.min(h) / 2).max(0);
            (left - reach..left + w + reach).contains(&x) && (top - reach..top + h + reach).contains(&y)
        };
        if let Some(found) = layout.boxes.iter().find(inside) {
            return Some(DagHit::Box(found.item));
        }
        let mut best = (near_px, None);
        for (index, line) in layout.lines.iter().enumerate() {
            for pair in line.points.windows(2) {
                let away = distance(self.point(pair[0]), self.point(pair[1]), (f64::from(x), f64::from(y)));
                if away < best.0 {
                    best = (away, Some(DagHit::Line(index)));
                }
            }
        }
        best.1
    }
}

/// The viewport of an execution flow.
#[derive(Clone, Debug, Default)]
pub struct DagViewport {
    layout: DagLayout,
    /// `None` until there is room: then it opens.
    window: Option<DagWindow>,
    room: (i32, i32),
    metrics: Metrics,
}

impl DagViewport {
    /// Returns what is looked at.
    pub fn layout(&self) -> &DagLayout {
        &self.layout
    }

    /// Returns the metrics of the canvas as last placed.
    pub fn metrics(&self) -> Metrics {
        self.metrics
    }

    /// Looks at another layout; `keeps` what is in sight, or begins anew.
    pub fn take(&mut self, layout: DagLayout, keeps: bool) {
        self.layout = layout;
        self.window = self.window.filter(|_| keeps);
    }

    /// Takes the room there is. Returns the window in it: all of the flow stays all of it.
    pub fn place(&mut self, room: (i32, i32), metrics: Metrics) -> DagWindow {
        let was_all = !self.is_zoomed();
        (self.room, self.metrics) = (room, metrics);
        let window = match self.window {
            Some(_) if was_all => DagWindow::fit(&self.layout, room, metrics),
            Some(window) => window.within(&self.layout, room, metrics),
            None => DagWindow::opening(&self.layout, room, metrics),
        };
        self.window = Some(window);
        window
    }

    /// Returns the height in CSS pixels in which all of the layout is seen as large as its width allows, with some room
    /// around it.
    pub fn needs_px(&self) -> f64 {
        let width = f64::from(self.room.0) - 2.0 * margin(self.metrics);
        let zoom = (width / f64::from(self.layout.width.max(1))).clamp(DagWindow::LEGIBLE, 1.0);
        (f64::from(self.layout.height) * zoom + 3.0 * margin(self.metrics)) / self.metrics.scale
    }

    /// Shows all of the flow.
    pub fn fit(&mut self) {
        self.window = Some(DagWindow::fit(&self.layout, self.room, self.metrics));
    }

    /// Brings a box into sight.
    pub fn reveal(&mut self, item: DagItem) {
        let (room, metrics) = (self.room, self.metrics);
        self.window = self.window.map(|window| window.revealing(&self.layout, item, room, metrics));
    }

    /// Returns what is under a pixel of the canvas: a box, else a line no further than `near_px`.
    pub fn hit(&self, (x, y): (i32, i32), near_px: f64) -> Option<DagHit> {
        self.window?.hit(&self.layout, x, y, near_px)
    }

    /// Returns the middle of the canvas.
    pub fn middle_px(&self) -> (f64, f64) {
        (f64::from(self.room.0) / 2.0, f64::from(self.room.1) / 2.0)
    }
}

impl Viewport for DagViewport {
    fn zoom(&mut self, at: (f64, f64), factor: f64) {
        self.window = self.window.map(|window| window.zoomed(at, factor));
    }

    fn pan(&mut self, x: f64, y: f64) {
        self.window = self.window.map(|window| window.panned(x, y));
    }

    fn is_zoomed(&self) -> bool {
        self.window.is_some_and(|window| window != DagWindow::fit(&self.layout, self.room, self.metrics))
    }
}

fn margin(metrics: Metrics) -> f64 {
    f64::from(metrics.px(24.0))
}

/// Returns how far a point is from the curve between two neighbouring points, measured vertically: curves run from left
/// to right.
fn distance(from: [i32; 2], to: [i32; 2], (x, y): (f64, f64)) -> f64 {
    let ([x0, y0], [x1, y1]) = (from.map(f64::from), to.map(f64::from));
    if x < x0 || x > x1 {
        return f64::INFINITY;
    }
    let bend = Curve::bend(from, to);
    let at = |t: f64, [a, b, c, d]: [f64; 4]| {
        let s = 1.0 - t;
        s * s * s * a + 3.0 * s * s * t * b + 3.0 * s * t * t * c + t * t * t * d
    };
    // The horizontal place grows with the parameter, so halving finds it.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..12 {
        let middle = (low + high) / 2.0;
        if at(middle, [x0, bend, bend, x1]) < x { low = middle } else { high = middle }
    }
    (at(low, [y0, y0, y1, y1]) - y).abs()
}

#[cfg(test)]
mod tests {
    use super::super::{DagBox, DagLine};
    use super::*;

    fn layout() -> DagLayout {
        let item = |item, x, y| DagBox { item, x, y, w: 20, h: 10 };
        let (from, to) = (DagItem::Start, DagItem::Return);
        let points = vec![[20, 5], [180, 85]];
        DagLayout {
            width: 200,
            height: 90,
            boxes: vec![item(from, 0, 0), item(to, 180, 80)],
            lines: vec![DagLine { from, to, binding: 1, both: 1, points }],
        }
    }

    const PLAIN: Metrics = Metrics { scale: 1.0 };

    #[test]
    fn fitting_shows_all_in_the_middle_and_never_magnifies() {
        let window = DagWindow::fit(&layout(), (1000, 400), PLAIN);
        assert_eq!(window, DagWindow { zoom: 1.0, x: 400.0, y: 155.0 });
        let small = DagWindow::fit(&layout(), (148, 400), PLAIN);
        assert_eq!((small.zoom, small.x), (0.5, 24.0));
        let opening = DagWindow::opening(&layout(), (100, 400), PLAIN);
        assert_eq!((opening.zoom, opening.x), (DagWindow::LEGIBLE, 24.0));
        let opening = DagWindow::opening(&layout(), (240, 400), PLAIN);
        assert_eq!(opening, DagWindow::fit(&layout(), (240, 400), PLAIN));
    }

    #[test]
    fn zooming_keeps_the_place_under_the_pointer() {
        let window = DagWindow { zoom: 1.0, x: 30.0, y: 10.0 };
        let zoomed = window.zoomed((130.0, 60.0), 2.0);
        assert_eq!((zoomed.point([100, 50]), window.point([100, 50])), ([130, 60], [130, 60]));
        assert_eq!(window.zoomed((0.0, 0.0), 1e9).zoom, 4.0);
    }

    #[test]
    fn a_viewport_opens_once_there_is_room_and_all_stays_all() {
        let mut viewport = DagViewport::default();
        viewport.take(layout(), false);
        viewport.zoom((0.0, 0.0), 2.0);
        assert!(!viewport.is_zoomed(), "there is no room yet");
        assert_eq!(viewport.place((1000, 400), PLAIN), DagWindow { zoom: 1.0, x: 400.0, y: 155.0 });
        assert_eq!(viewport.place((148, 400), PLAIN).zoom, 0.5);
        viewport.zoom(viewport.middle_px(), 2.0);
        assert!(viewport.is_zoomed());
        let zoomed = viewport.place((148, 400), PLAIN);
        viewport.take(layout(), true);
        assert_eq!(viewport.place((148, 400), PLAIN), zoomed);
        viewport.fit();
        assert!(!viewport.is_zoomed());
        assert_eq!(viewport.hit((24, 177), 5.0), Some(DagHit::Box(DagItem::Start)));
    }

    #[test]
    fn boxes_come_before_lines_and_both_are_found_with_some_room() {
        let window = DagWindow { zoom: 1.0, x: 0.0, y: 0.0 };
        let hit = |x, y| window.hit(&layout(), x, y, 5.0);
        assert_eq!(hit(10, 5), Some(DagHit::Box(DagItem::Start)));
        assert_eq!(hit(100, 45), Some(DagHit::Line(0)), "the middle of the curve");
        assert_eq!(hit(100, 48), Some(DagHit::Line(0)));
        assert_eq!(hit(100, 60), None);
        assert_eq!(hit(60, 70), None);
    }

    #[test]
    fn a_box_is_brought_into_sight() {
        let window = DagWindow { zoom: 4.0, x: 0.0, y: 0.0 };
        let moved = window.revealing(&layout(), DagItem::Return, (300, 200), PLAIN);
        let [x, y, w, h] = moved.rectangle([180, 80, 20, 10]);
        assert!(x >= 24 && y >= 24 && x + w <= 276 && y + h <= 176, "{x} {y}");
    }
}
