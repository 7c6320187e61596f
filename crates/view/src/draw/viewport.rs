//! The part of a chart in sight, and how wheel, drag, pinch and keys change it. All charts of the page are looked at
//! through a [`Viewport`].

use super::Window;

/// Duration of the way from one window to another.
const MOVE_MS: f64 = 180.0;

/// The visible part of a chart. Places and distances are pixels of the canvas.
pub trait Viewport {
    /// Zooms about a point, which keeps its place; a factor above 1 shows less.
    fn zoom(&mut self, at: (f64, f64), factor: f64);

    /// Moves what is shown, as a sheet under the hand: to the right and down if positive.
    fn pan(&mut self, x: f64, y: f64);

    /// Returns whether not everything is in sight.
    fn is_zoomed(&self) -> bool {
        false
    }

    /// Goes on its way, at once where motion is unwelcome (`is_still`). Returns whether it still moves.
    fn advance(&mut self, _now_ms: f64, _is_still: bool) -> bool {
        false
    }
}

/// A window on its way to another.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Move {
    from: Window,
    to: Window,
    /// Time when it began; known with the first frame.
    began_ms: Option<f64>,
}

/// The viewport of a chart with a horizontal axis and rows below each other.
#[derive(Clone, Debug, PartialEq)]
pub struct AxisViewport {
    window: Window,
    moving: Option<Move>,
    scroll_px: f64,
    /// The axis goes from 0 to here.
    total: u64,
    /// The narrowest window.
    least: f64,
    left_px: i32,
    plot_px: i32,
    rows_px: i32,
    scroll_end_px: f64,
}

impl AxisViewport {
    /// Returns the viewport of an empty chart that never shows less than `least` units of its axis.
    pub fn new(least: f64) -> AxisViewport {
        AxisViewport {
            window: Window::full(0),
            moving: None,
            scroll_px: 0.0,
            total: 0,
            least,
            left_px: 0,
            plot_px: 1,
            rows_px: 1,
            scroll_end_px: 0.0,
        }
    }

    /// Shows all of an axis of this length, from the first row on.
    pub fn open(&mut self, total: u64) {
        self.total = total;
        self.show(Window::full(total));
        self.scroll_px = 0.0;
    }

    /// Shows the same part of an axis that has another length now.
    pub fn rescale(&mut self, total: u64) {
        let (aim, scale) = (self.aim(), total as f64 / self.total.max(1) as f64);
        self.total = total;
        let from = aim.from * scale;
        self.show(Window { from, to: (aim.to * scale).max(from + 1.0) }.within(total));
    }

    /// Takes the room there is: where the axis begins, how wide it is, how high the rows in sight are together, and how
    /// far they can be scrolled.
    pub fn place(&mut self, left_px: i32, plot_px: i32, rows_px: i32, scroll_end_px: i64) {
        (self.left_px, self.plot_px, self.rows_px) = (left_px, plot_px, rows_px.max(0));
        self.scroll_end_px = scroll_end_px as f64;
        self.scroll_px = self.scroll_px.clamp(0.0, self.scroll_end_px);
    }

    /// Returns the part of the axis that is shown.
    pub fn window(&self) -> Window {
        self.window
    }

    /// Returns the part that will be shown once nothing moves.
    pub fn aim(&self) -> Window {
        self.moving.map_or(self.window, |moving| moving.to)
    }

    /// Returns how far it is scrolled down.
    pub fn scroll_px(&self) -> i64 {
        self.scroll_px as i64
    }

    /// Shows a part of the axis at once.
    pub fn show(&mut self, to: Window) {
        self.window = to;
        self.moving = None;
    }

    /// Goes to a part of the axis.
    pub fn go(&mut self, to: Window) {
        if to != self.aim() {
            self.moving = Some(Move { from: self.window, to, began_ms: None });
        }
    }

    /// Goes to all of the axis.
    pub fn fit(&mut self) {
        self.go(Window::full(self.total));
    }

    /// Scrolls so that this much is above what is in sight.
    pub fn scroll_to(&mut self, px: f64) {
        self.scroll_px = px.clamp(0.0, self.scroll_end_px);
    }

    /// Scrolls up to the first row.
    pub fn scroll_to_start(&mut self) {
        self.scroll_px = 0.0;
    }

    /// Scrolls as little as needed to bring a row into sight that lies so far below the first and is so high.
    pub fn reveal_row(&mut self, top_px: f64, height_px: f64) {
        let room = f64::from(self.rows_px);
        if top_px < self.scroll_px {
            self.scroll_px = top_px;
        } else if top_px + height_px > self.scroll_px + room {
            self.scroll_px = top_px + height_px - room;
        }
    }

    /// Returns how many pixels so many units of the axis will have.
    pub fn px_of(&self, units: f64) -> f64 {
        units / self.aim().width() * f64::from(self.plot_px)
    }

    /// Returns where keys zoom: at the middle of a part of the axis if that is in sight, else of the canvas.
    pub fn middle_px(&self, part: Option<(f64, f64)>) -> f64 {
        let plot = f64::from(self.plot_px);
        let at = part.map(|(from, to)| self.px_of((from + to) / 2.0 - self.aim().from));
        f64::from(self.left_px) + at.filter(|at| (0.0..=plot).contains(at)).unwrap_or(plot / 2.0)
    }
}

impl Viewport for AxisViewport {
    fn zoom(&mut self, (x, _): (f64, f64), factor: f64) {
        let x = (x - f64::from(self.left_px)).max(0.0);
        self.show(self.aim().zoomed(x, self.plot_px, factor, self.total, self.least));
    }

    fn pan(&mut self, x: f64, y: f64) {
        self.show(self.aim().panned(-x, self.plot_px, self.total));
        self.scroll_px = (self.scroll_px - y).clamp(0.0, self.scroll_end_px);
    }

    fn is_zoomed(&self) -> bool {
        !self.aim().is_full(self.total)
    }

    fn advance(&mut self, now_ms: f64, is_still: bool) -> bool {
        let Some(moving) = self.moving else { return false };
        let began = moving.began_ms.unwrap_or(now_ms);
        let t = if is_still { 1.0 } else { ((now_ms - began) / MOVE_MS).clamp(0.0, 1.0) };
        // Slows down towards its end.
        self.window = moving.from.toward(moving.to, 1.0 - (1.0 - t).powi(3));
        self.moving = (t < 1.0).then_some(Move { began_ms: Some(began), ..moving });
        self.moving.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn viewport() -> AxisViewport {
        let mut viewport = AxisViewport::new(4.0);
        viewport.open(1_000);
        viewport.place(100, 500, 200, 300);
        viewport
    }

    #[test]
    fn zooming_keeps_the_place_under_the_pointer_and_stays_on_the_axis() {
        let mut viewport = viewport();
        viewport.zoom((350.0, 7.0), 2.0);
        assert_eq!(viewport.window(), Window { from: 250.0, to: 750.0 });
        assert!(viewport.is_zoomed());
        viewport.zoom((0.0, 0.0), 1e9);
        assert_eq!(viewport.window().width(), 4.0, "never less than the least");
        viewport.zoom((100.0, 0.0), 1e-9);
        assert!(!viewport.is_zoomed());
    }

    #[test]
    fn panning_moves_the_axis_and_scrolls_within_bounds() {
        let mut viewport = viewport();
        viewport.zoom((100.0, 0.0), 2.0);
        viewport.pan(-50.0, -40.0);
        assert_eq!((viewport.window(), viewport.scroll_px()), (Window { from: 50.0, to: 550.0 }, 40));
        viewport.pan(1e9, -1e9);
        assert_eq!((viewport.window().from, viewport.scroll_px()), (0.0, 300));
        viewport.place(100, 500, 200, 10);
        assert_eq!(viewport.scroll_px(), 10, "less to scroll now");
    }

    #[test]
    fn it_slides_to_where_it_goes_and_jumps_where_motion_is_unwelcome() {
        let (mut viewport, to) = (viewport(), Window { from: 100.0, to: 200.0 });
        viewport.go(to);
        assert_eq!((viewport.window(), viewport.aim()), (Window::full(1_000), to));
        assert!(viewport.advance(1_000.0, false), "the first frame says when it begins");
        assert_eq!(viewport.window(), Window::full(1_000));
        assert!(viewport.advance(1_090.0, false));
        assert!(viewport.window().width() < 500.0, "more than half of the way is behind it");
        assert!(!viewport.advance(1_180.0, false));
        assert_eq!(viewport.window(), to);
        viewport.fit();
        assert!(!viewport.advance(0.0, true));
        assert!(!viewport.is_zoomed());
        viewport.go(Window::full(1_000));
        assert!(!viewport.advance(0.0, false), "it is there already");
    }

    #[test]
    fn a_longer_axis_keeps_what_is_looked_at() {
        let mut viewport = viewport();
        viewport.show(Window { from: 250.0, to: 500.0 });
        viewport.rescale(2_000);
        assert_eq!(viewport.window(), Window { from: 500.0, to: 1_000.0 });
        viewport.open(10);
        assert_eq!((viewport.window(), viewport.scroll_px()), (Window::full(10), 0));
    }

    #[test]
    fn a_row_is_scrolled_to_only_if_it_is_out_of_sight() {
        let mut viewport = viewport();
        for (top, scrolled) in [(100.0, 0), (190.0, 10), (50.0, 10), (0.0, 0)] {
            viewport.reveal_row(top, 20.0);
            assert_eq!(viewport.scroll_px(), scrolled, "{top}");
        }
    }

    #[test]
    fn keys_zoom_at_what_is_selected_if_that_is_in_sight() {
        let mut viewport = viewport();
        assert_eq!(viewport.middle_px(None), 350.0);
        assert_eq!(viewport.middle_px(Some((100.0, 300.0))), 200.0);
        viewport.show(Window { from: 500.0, to: 600.0 });
        assert_eq!(viewport.middle_px(Some((100.0, 300.0))), 350.0);
        assert_eq!(viewport.px_of(10.0), 50.0);
    }
}
