//! The axis of values of a chart: pixels to values and back, and the round values to mark.

use crate::timeline::chart::nice_step;
use pathlight_base::format;

/// Scale of an axis.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Scale {
    /// Equal factors take equal room; everything is shifted by one, so that 0 has a place.
    #[default]
    Log,
    /// Equal differences take equal room.
    Linear,
}

impl Scale {
    fn place(self, value: f64) -> f64 {
        match self {
            Scale::Log => libm::log1p(value.max(0.0)),
            Scale::Linear => value,
        }
    }

    fn value(self, place: f64) -> f64 {
        match self {
            Scale::Log => libm::expm1(place),
            Scale::Linear => place,
        }
    }
}

/// Unit of the values.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum AxisUnit {
    /// Microseconds.
    #[default]
    Time,
    /// Things that are counted.
    Count,
}

impl AxisUnit {
    /// Returns a value in full, as figures beside a chart say it: `84.1 ms`, `12.5`.
    pub fn words(self, value: f64) -> String {
        match self {
            AxisUnit::Time => format::duration(value),
            AxisUnit::Count => format::number(value),
        }
    }

    /// Returns a round value in few characters: `200 µs`, `1 ms`, `2 s`, `10 min`, `1 000`.
    fn short(self, value: u64) -> String {
        let us = value as f64;
        let (unit, name) = match us {
            _ if self == AxisUnit::Count => return format::count(value),
            us if us < 1e3 => (1.0, "µs"),
            us if us < 1e6 => (1e3, "ms"),
            us if us < 120e6 => (1e6, "s"),
            _ => (60e6, "min"),
        };
        format!("{}{}{name}", format::number(us / unit), format::THIN)
    }
}

/// Mapping of values to the place between two pixels.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ValueAxis {
    /// Pixel of the smallest value.
    pub left: i32,
    /// Pixel of the greatest value, greater than `left`.
    pub right: i32,
    low: f64,
    high: f64,
    scale: Scale,
    unit: AxisUnit,
}

impl ValueAxis {
    /// Returns the axis from one value to a greater one; `None` without room.
    pub fn new(
        (left, right): (i32, i32),
        (from, to): (f64, f64),
        scale: Scale,
        unit: AxisUnit,
    ) -> Option<ValueAxis> {
        let (low, high) = (scale.place(from), scale.place(to));
        (high > low && right > left).then_some(ValueAxis { left, right, low, high, scale, unit })
    }

    /// Returns this axis, some pixels further to the right.
    #[must_use]
    pub fn moved(self, by: i32) -> ValueAxis {
        ValueAxis { left: self.left + by, right: self.right + by, ..self }
    }

    /// Returns the pixel of a value, within the axis.
    pub fn pixel(&self, value: f64) -> i32 {
        let share = (self.scale.place(value) - self.low) / (self.high - self.low);
        self.left + (share.clamp(0.0, 1.0) * f64::from(self.right - self.left)).round() as i32
    }

    /// Returns the value at a pixel, within the axis.
    pub fn value_at(&self, x: i32) -> f64 {
        let share = f64::from(x - self.left) / f64::from(self.right - self.left);
        self.scale.value(self.low + share.clamp(0.0, 1.0) * (self.high - self.low))
    }

    /// Returns the round values to mark, at least `apart_px` from each other.
    pub fn ticks(&self, apart_px: i32) -> Vec<u64> {
        let (low, high) = (self.scale.value(self.low), self.scale.value(self.high));
        let (low, high) = (low.round() as u64, high.round() as u64);
        let far_enough = |ticks: &[u64]| {
            ticks.windows(2).all(|pair| self.pixel(pair[1] as f64) - self.pixel(pair[0] as f64) >= apart_px)
        };
        if self.scale == Scale::Log {
            let powers =
                || std::iter::successors(Some(1u64), |p| p.checked_mul(10)).take_while(|&p| p <= high);
            let patterns: [(&[u64], usize); 5] =
                [(&[1, 2, 5], 1), (&[1, 3], 1), (&[1], 1), (&[1], 2), (&[1], 3)];
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
        }
        // A linear axis, or less than a decade: equal steps.
        let width = f64::from((self.right - self.left).max(1));
        let room = if self.scale == Scale::Log { 1.5 } else { 1.0 };
        let end_us = if self.unit == AxisUnit::Time { high } else { 0 };
        let step = nice_step((high - low) as f64 * f64::from(apart_px) * room / width, end_us);
        let ticks: Vec<u64> = (low.div_ceil(step)..=high / step).map(|i| i * step).collect();
        if far_enough(&ticks) { ticks } else { ticks.into_iter().take(1).collect() }
    }

    /// Returns the words of a tick.
    pub fn tick_words(&self, value: u64) -> String {
        self.unit.short(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_and_values_go_both_ways() {
        for scale in [Scale::Log, Scale::Linear] {
            let axis = ValueAxis::new((48, 776), (20_000.0, 1e6), scale, AxisUnit::Time).unwrap();
            assert_eq!((axis.pixel(20_000.0), axis.pixel(0.0), axis.pixel(1e12)), (48, 48, 776));
            for x in 48..776 {
                assert_eq!(axis.pixel(axis.value_at(x)), x);
            }
        }
        assert_eq!(ValueAxis::new((0, 100), (5.0, 5.0), Scale::Log, AxisUnit::Time), None);
        assert_eq!(ValueAxis::new((100, 100), (5.0, 6.0), Scale::Log, AxisUnit::Time), None);
    }

    #[test]
    fn ticks_are_round_within_the_axis_and_apart() {
        let ranges = [(0.0, 8.0), (10.0, 21.0), (1.0, 1e8), (100.0, 104.0), (84_000.0, 95_001.0), (3.0, 4.0)];
        for (range, scale) in ranges.into_iter().flat_map(|r| [(r, Scale::Log), (r, Scale::Linear)]) {
            for width in [120, 400, 1600] {
                let axis = ValueAxis::new((48, width - 24), range, scale, AxisUnit::Time).unwrap();
                let ticks = axis.ticks(64);
                assert!(!ticks.is_empty() || width < 400, "{range:?} {width}");
                assert!(ticks.iter().all(|&at| (range.0..=range.1).contains(&(at as f64))));
                let far = |p: &[u64]| axis.pixel(p[1] as f64) - axis.pixel(p[0] as f64) >= 64;
                assert!(ticks.windows(2).all(far), "{range:?} {scale:?} {width} {ticks:?}");
            }
        }
    }

    #[test]
    fn ticks_are_said_in_few_characters() {
        let words = |axis: ValueAxis| -> Vec<String> {
            axis.ticks(64).iter().map(|&at| axis.tick_words(at).replace(format::THIN, " ")).collect()
        };
        let time = ValueAxis::new((48, 876), (1_000.0, 1_000_001.0), Scale::Log, AxisUnit::Time).unwrap();
        let want = ["1 ms", "2 ms", "5 ms", "10 ms", "20 ms", "50 ms", "100 ms", "200 ms", "500 ms", "1 s"];
        assert_eq!(words(time), want);
        let count = ValueAxis::new((48, 300), (0.0, 2_400.0), Scale::Linear, AxisUnit::Count).unwrap();
        assert_eq!(words(count), ["0", "1 000", "2 000"]);
    }
}
