//! Round times on an axis.

use crate::draw::Window;
use pathlight_base::format;

/// A mark on a time axis.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Tick {
    /// Pixel from the left edge of the axis.
    pub x: i32,
    /// The time, microseconds from the start.
    pub at_us: u64,
    /// The time in words.
    pub label: String,
}

/// Returns the smallest round step that is at least `least_us`: 1, 2 or 5 times a power of ten, or, on an axis that
/// counts minutes (as [`format::tick`] does from two minutes on), 15, 30 and so on.
pub fn nice_step(least_us: f64, end_us: u64) -> u64 {
    let minute = 60_000_000u64;
    if end_us >= 2 * minute && least_us > 5e6 {
        let steps =
            [10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 18_000, 36_000].map(|s| s * 1_000_000);
        if let Some(&step) = steps.iter().find(|&&step| step as f64 >= least_us) {
            return step;
        }
    }
    let mut power = 1u64;
    loop {
        for factor in [1, 2, 5] {
            let step = power * factor;
            // Beyond this the next power would not fit; no axis is as long.
            if step as f64 >= least_us || step > u64::MAX / 20 {
                return step;
            }
        }
        power *= 10;
    }
}

/// Returns the ticks of a window of an axis `width_px` wide that ends at `end_us`, at least `apart_px` from each
/// other.
pub fn ticks(window: Window, width_px: i32, apart_px: i32, end_us: u64) -> Vec<Tick> {
    if width_px <= 0 {
        return Vec::new();
    }
    let step = nice_step(window.width() * f64::from(apart_px.max(1)) / f64::from(width_px), end_us);
    let first = (window.from.max(0.0) / step as f64).ceil() as u64;
    (first..)
        .map(|i| i.saturating_mul(step))
        .take_while(|&at| at as f64 <= window.to && at <= end_us)
        .take(width_px as usize + 1)
        .map(|at_us| Tick {
            x: window.pixel(at_us, width_px),
            at_us,
            label: format::tick(at_us, step, end_us),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_round() {
        for (least, end, want) in [
            (0.001, 100, 1),
            (1.0, 100, 1),
            (1.1, 100, 2),
            (3.0, 100, 5),
            (501.0, 100_000, 1_000),
            (1_900_000.0, 20_000_000, 2_000_000),
            (11_000_000.0, 100_000_000, 20_000_000),
            (11_000_000.0, 500_000_000, 15_000_000),
            (61_000_000.0, 5_000_000_000, 120_000_000),
            (1e12, 1u64 << 45, 1_000_000_000_000),
        ] {
            assert_eq!(nice_step(least, end), want, "{least} {end}");
        }
        assert!(nice_step(1e30, u64::MAX) > 0);
    }

    #[test]
    fn ticks_lie_in_the_window_and_apart() {
        let found = ticks(Window { from: 150.0, to: 1_050.0 }, 900, 100, 2_000);
        let places: Vec<_> = found.iter().map(|t| (t.x, t.at_us)).collect();
        assert_eq!(
            places,
            [
                (50, 200),
                (150, 300),
                (250, 400),
                (350, 500),
                (450, 600),
                (550, 700),
                (650, 800),
                (750, 900),
                (850, 1000)
            ]
        );
        assert_eq!(found[8].label.replace(format::THIN, " "), "1.0 ms");
        for (from, to) in [(0.0, 1.0), (5.5, 6.25), (0.0, 9e9), (1e9, 1e9 + 10.0)] {
            let found = ticks(Window { from, to }, 1000, 80, 9_000_000_000);
            assert!(found.len() <= 13, "{from} {to}");
            assert!(found.iter().all(|t| (0..=1000).contains(&t.x)));
            assert!(found.windows(2).all(|p| p[1].x - p[0].x >= 79));
        }
    }

    #[test]
    fn nothing_to_mark_is_nothing() {
        assert_eq!(ticks(Window::full(0), 0, 80, 0), []);
        assert_eq!(ticks(Window::full(0), 100, 80, 0).len(), 1);
    }
}
