//! The part of an axis that is shown, and how it moves.

/// A range of a view's horizontal axis, in the axis' own unit (microseconds of the trace, or of the sum that a flame
/// graph is wide). It may start and end between whole units; nothing measured is ever computed from it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Window {
    /// Left edge.
    pub from: f64,
    /// Right edge, greater than `from`.
    pub to: f64,
}

impl Window {
    /// Returns a window on a whole axis, from 0 to `total`.
    pub fn full(total: u64) -> Window {
        Window { from: 0.0, to: total.max(1) as f64 }
    }

    /// Returns the window from one whole unit to another; at least one unit wide.
    pub fn of(from: u64, to: u64) -> Window {
        Window { from: from as f64, to: to.max(from.saturating_add(1)) as f64 }
    }

    /// Returns how much is shown.
    pub fn width(&self) -> f64 {
        self.to - self.from
    }

    /// Returns whether all of the axis is shown.
    pub fn is_full(&self, total: u64) -> bool {
        *self == Window::full(total)
    }

    /// Returns how places become pixels in a view `width_px` wide.
    pub fn pixels(&self, width_px: i32) -> Pixels {
        Pixels { from: self.from, scale: f64::from(width_px) / self.width(), end: f64::from(width_px) + 1.0 }
    }

    /// Returns the pixel of one place; see [`Pixels::of`].
    pub fn pixel(&self, at: u64, width_px: i32) -> i32 {
        self.pixels(width_px).of(at)
    }

    /// Returns the place on the axis of a pixel's left edge (or of any fraction of a pixel).
    pub fn at(&self, px: f64, width_px: i32) -> f64 {
        self.from + px / f64::from(width_px.max(1)) * self.width()
    }

    /// Returns the window zoomed about the pixel `px`, which keeps its place: a `factor` above 1 shows less. Stays
    /// within the axis and never shows less than `least`.
    #[must_use]
    pub fn zoomed(&self, px: f64, width_px: i32, factor: f64, total: u64, least: f64) -> Window {
        let whole = Window::full(total).to;
        let width = (self.width() / factor).clamp(least.min(whole), whole);
        let share = px / f64::from(width_px.max(1));
        let from = self.from + share * (self.width() - width);
        Window { from, to: from + width }.within(total)
    }

    /// Returns the window moved by a number of pixels to the right (left if negative), within the axis.
    #[must_use]
    pub fn panned(&self, px: f64, width_px: i32, total: u64) -> Window {
        let by = px / f64::from(width_px.max(1)) * self.width();
        Window { from: self.from + by, to: self.to + by }.within(total)
    }

    /// Returns a window as wide as before, moved as little as needed to lie within the axis.
    #[must_use]
    pub fn within(&self, total: u64) -> Window {
        let whole = Window::full(total).to;
        let width = self.width();
        if width >= whole {
            return Window::full(total);
        }
        let from = self.from.clamp(0.0, whole - width);
        Window { from, to: from + width }
    }

    /// Returns a window on the way to another, for animation: 0 is this one, 1 the other. The width changes by equal
    /// factors in equal steps.
    #[must_use]
    pub fn toward(&self, other: Window, t: f64) -> Window {
        let t = t.clamp(0.0, 1.0);
        if t >= 1.0 {
            return other;
        }
        let width = self.width() * libm::pow(other.width() / self.width(), t);
        let change = other.width() - self.width();
        // The edge moves in step with the width, so that a zoom looks like a zoom about one point.
        let share = if change.abs() < 1e-9 { t } else { (width - self.width()) / change };
        let from = self.from + (other.from - self.from) * share;
        Window { from, to: from + width }
    }
}

/// The pixels of a [`Window`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Pixels {
    from: f64,
    scale: f64,
    end: f64,
}

impl Pixels {
    /// Returns the pixel of a place on the axis, rounded down; outside of the view for what is outside, but never by
    /// more than a pixel, so that it fits any integer. Never decreasing in `at`.
    pub fn of(&self, at: u64) -> i32 {
        let px = ((at as f64 - self.from) * self.scale).clamp(-1.0, self.end);
        // From zero on, cutting off is rounding down, and faster.
        (px + 1.0) as i32 - 1
    }
}

/// Returns the first place from `at` on of a list whose item does not satisfy a condition that only ever turns from
/// true to false; fast if that is near.
pub(crate) fn skip_while<T: Copy>(list: &[T], at: usize, holds: impl Fn(T) -> bool) -> usize {
    let (mut low, mut step) = (at, 1);
    while list.get(low + step - 1).is_some_and(|&item| holds(item)) {
        low += step;
        step *= 2;
    }
    let high = (low + step - 1).min(list.len());
    low + list[low..high].partition_point(|&item| holds(item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zooming_keeps_the_place_under_the_pointer() {
        let window = Window { from: 100.0, to: 300.0 };
        for px in [0.0, 33.0, 400.0] {
            let zoomed = window.zoomed(px, 400, 2.0, 1000, 1.0);
            assert!((zoomed.at(px, 400) - window.at(px, 400)).abs() < 1e-9);
            assert!((zoomed.width() - 100.0).abs() < 1e-9);
        }
    }

    #[test]
    fn a_window_stays_on_its_axis() {
        let window = Window { from: 0.0, to: 500.0 };
        assert_eq!(window.panned(-100.0, 100, 1000), window);
        assert_eq!(window.panned(900.0, 100, 1000), Window { from: 500.0, to: 1000.0 });
        assert_eq!(window.zoomed(0.0, 100, 0.1, 1000, 1.0), Window::full(1000));
        assert!((window.zoomed(50.0, 100, 1e9, 1000, 10.0).width() - 10.0).abs() < 1e-9);
    }

    #[test]
    fn pixels_grow_with_the_place_and_are_bounded() {
        let window = Window { from: 10.5, to: 20.25 };
        let pixels: Vec<i32> = (0..40).map(|at| window.pixel(at, 777)).collect();
        assert!(pixels.windows(2).all(|pair| pair[0] <= pair[1]));
        assert_eq!(window.pixel(0, 777), -1);
        assert_eq!(window.pixel(u64::MAX, 777), 778);
    }

    #[test]
    fn an_empty_axis_has_a_window() {
        let window = Window::full(0);
        assert_eq!(window.pixel(0, 100), 0);
        assert_eq!(Window::of(5, 5), Window { from: 5.0, to: 6.0 });
    }

    #[test]
    fn an_animation_starts_and_ends_where_it_should() {
        let (a, b) = (Window { from: 0.0, to: 1000.0 }, Window { from: 400.0, to: 410.0 });
        assert_eq!(a.toward(b, 0.0), a);
        assert_eq!(a.toward(b, 1.0), b);
        let middle = a.toward(b, 0.5);
        assert!((middle.width() - 100.0).abs() < 1e-9);
        assert!(middle.from > 0.0 && middle.to < 1000.0 && middle.from < 400.0 && middle.to > 410.0);
    }

    #[test]
    fn skipping_finds_the_border_from_anywhere() {
        let list: Vec<u32> = (0..100).collect();
        for border in 0..=100 {
            for at in 0..=border {
                assert_eq!(skip_while(&list, at as usize, |item| item < border), border as usize);
            }
        }
    }
}
