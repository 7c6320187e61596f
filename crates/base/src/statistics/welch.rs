//! Sums that are exact, and Welch's interval for the difference of two means.

use serde::{Deserialize, Serialize};
use std::sync::LazyLock;

/// Exact sum and sum of squares of some values. How many values there are is kept apart: absent ones count as 0. No times
/// that were read reach the end of 128 bits; numbers in a summary that was changed by hand may, and stay there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// Sum.
    pub sum: u128,
    /// Sum of squares.
    pub sum_sq: u128,
}

impl Moments {
    /// Adds one value.
    pub fn add(&mut self, value: u64) {
        self.sum = self.sum.saturating_add(value.into());
        self.sum_sq = self.sum_sq.saturating_add(u128::from(value) * u128::from(value));
    }

    /// Adds the sums of other values.
    pub fn merge(&mut self, other: Moments) {
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_sq = self.sum_sq.saturating_add(other.sum_sq);
    }

    /// Returns the mean of `n` values; 0 without any.
    pub fn mean(self, n: u64) -> f64 {
        if n == 0 { 0.0 } else { self.sum as f64 / n as f64 }
    }

    /// Returns the sample variance of `n` values; 0 for fewer than two.
    pub fn variance(self, n: u64) -> f64 {
        if n < 2 {
            return 0.0;
        }
        // n times the sum of squares minus the square of the sum, exactly unless the values are beyond reason.
        let spread = match (self.sum_sq.checked_mul(u128::from(n)), self.sum.checked_mul(self.sum)) {
            (Some(squares), Some(square)) => squares.saturating_sub(square) as f64,
            _ => (self.sum_sq as f64 * n as f64 - self.sum as f64 * self.sum as f64).max(0.0),
        };
        spread / (n as f64 * (n - 1) as f64)
    }

    /// Returns the 95 % interval of the mean of `n` values (Student's, not below 0); `None` for fewer than two.
    pub fn interval(self, n: u64) -> Option<Interval> {
        MeanError::new(self, n, 1.0).interval()
    }
}

/// A 95 % confidence interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

impl Interval {
    /// Returns whether zero lies inside or on an end.
    pub fn includes_zero(self) -> bool {
        self.low <= 0.0 && self.high >= 0.0
    }
}

/// Mean and squared standard error of the mean of one side, in any unit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MeanError {
    /// Number of values; of values with weights the effective one.
    pub n: f64,
    /// Mean of the values.
    pub mean: f64,
    /// Sample variance of the values.
    pub variance: f64,
}

impl MeanError {
    /// Returns a side of `n` values, each divided by `unit`.
    pub fn new(moments: Moments, n: u64, unit: f64) -> MeanError {
        MeanError { n: n as f64, mean: moments.mean(n), variance: moments.variance(n) }.per(unit)
    }

    /// Returns the same of values that are each divided by `unit`.
    #[must_use]
    pub fn per(self, unit: f64) -> MeanError {
        MeanError { mean: self.mean / unit, variance: self.variance / (unit * unit), ..self }
    }

    /// Returns the squared standard error of the mean; 0 without values.
    pub fn squared_error(&self) -> f64 {
        if self.n > 0.0 { self.variance / self.n } else { 0.0 }
    }

    /// Returns the 95 % interval of the mean (Student's, not below 0); `None` for fewer than two values.
    pub fn interval(&self) -> Option<Interval> {
        if self.n < 2.0 {
            return None;
        }
        let reach = t_975(self.n - 1.0) * self.squared_error().sqrt();
        Some(Interval { low: (self.mean - reach).max(0.0), high: self.mean + reach })
    }
}

/// Returns Welch's 95 % interval of `b.mean - a.mean`; `None` with fewer than two values on a side or without any
/// variance.
pub fn welch(a: MeanError, b: MeanError) -> Option<Interval> {
    let (error, freedom) = error_and_freedom(a, b)?;
    let reach = t_975(freedom) * error.sqrt();
    let change = b.mean - a.mean;
    Some(Interval { low: change - reach, high: change + reach })
}

/// Returns the squared standard error of a difference of means and its degrees of freedom (Satterthwaite).
pub(super) fn error_and_freedom(a: MeanError, b: MeanError) -> Option<(f64, f64)> {
    if a.n < 2.0 || b.n < 2.0 {
        return None;
    }
    let (va, vb) = (a.squared_error(), b.squared_error());
    let error = va + vb;
    if error <= 0.0 || !error.is_finite() {
        return None;
    }
    Some((error, error * error / (va * va / (a.n - 1.0) + vb * vb / (b.n - 1.0))))
}

/// Steps of the grid over 1 / degrees of freedom.
const GRID: usize = 128;

/// The 97.5 % quantiles of Student's t at 1 / degrees of freedom = 0, 1/128, ... 1 and one step beyond.
static QUANTILES: LazyLock<[f64; GRID + 2]> =
    LazyLock::new(|| std::array::from_fn(|i| solve_t_975(i as f64 / GRID as f64)));

/// Returns the 97.5 % quantile of Student's t with `freedom` degrees of freedom, from 1 up; exact to 1e-6 of itself.
pub fn t_975(freedom: f64) -> f64 {
    let place = (GRID as f64 / freedom.max(1.0)).clamp(0.0, GRID as f64);
    // Cubic through the four grid points around.
    let first = (place.floor() as usize).saturating_sub(1).min(GRID - 2);
    let x = place - first as f64;
    let y = &QUANTILES[first..first + 4];
    let weights = [
        -(x - 1.0) * (x - 2.0) * (x - 3.0) / 6.0,
        x * (x - 2.0) * (x - 3.0) / 2.0,
        -x * (x - 1.0) * (x - 3.0) / 2.0,
        x * (x - 1.0) * (x - 2.0) / 6.0,
    ];
    y.iter().zip(weights).map(|(y, w)| y * w).sum()
}

/// Returns the 97.5 % quantile of Student's t by bisection, at 1 / degrees of freedom.
fn solve_t_975(inverse: f64) -> f64 {
    if inverse <= 0.0 {
        return 1.959_963_984_540_054;
    }
    let freedom = 1.0 / inverse;
    let (mut low, mut high) = (1.0, 20.0);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        // P(|T| > t) = I(v / (v + t^2); v / 2, 1 / 2).
        let outside = incomplete_beta(freedom / (freedom + middle * middle), freedom / 2.0, 0.5);
        if outside > 0.05 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

/// Returns the regularised incomplete beta function, by its continued fraction (Lentz).
pub(super) fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return if x <= 0.0 { 0.0 } else { 1.0 };
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta_below(1.0 - x, b, a);
    }
    incomplete_beta_below(x, a, b)
}

fn incomplete_beta_below(x: f64, a: f64, b: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let log_front =
        a * libm::log(x) + b * libm::log1p(-x) + libm::lgamma(a + b) - libm::lgamma(a) - libm::lgamma(b);
    let away = |v: f64| if v.abs() < TINY { TINY } else { v };
    let (mut c, mut d) = (1.0, 1.0 / away(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..500 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        for term in [even, odd] {
            d = 1.0 / away(1.0 + term * d);
            c = away(1.0 + term / c);
            fraction *= c * d;
        }
        if (c * d - 1.0).abs() < 1e-15 {
            break;
        }
    }
    libm::exp(log_front) * fraction / a
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moments(values: &[u64]) -> Moments {
        let mut out = Moments::default();
        values.iter().for_each(|&v| out.add(v));
        out
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        let table = [
            (1.0, 12.706205),
            (1.5, 6.016663),
            (2.0, 4.302653),
            (3.0, 3.182446),
            (4.7, 2.620726),
            (10.0, 2.228139),
            (30.0, 2.042272),
            (120.0, 1.979930),
            (1e9, 1.959964),
        ];
        for (freedom, expected) in table {
            let found = t_975(freedom);
            assert!((found - expected).abs() < 1e-6 * expected, "{freedom}: {found} instead of {expected}");
        }
    }

    #[test]
    fn the_interval_is_welchs() {
        // Two samples worked out by hand: means 20 and 30, variances 100 and 25, n 3 and 4.
        let a = MeanError::new(moments(&[10, 20, 30]), 3, 1.0);
        let b = MeanError::new(moments(&[24, 29, 31, 36]), 4, 1.0);
        assert_eq!((a.variance, b.mean), (100.0, 30.0));
        assert!((b.variance - 74.0 / 3.0).abs() < 1e-12);
        let error: f64 = 100.0 / 3.0 + 74.0 / 12.0;
        let freedom = error * error / ((100.0f64 / 3.0).powi(2) / 2.0 + (74.0f64 / 12.0).powi(2) / 3.0);
        let interval = welch(a, b).unwrap();
        assert!((interval.high - 10.0 - t_975(freedom) * error.sqrt()).abs() < 1e-9);
        assert!((interval.low + interval.high - 20.0).abs() < 1e-9);
        assert!(interval.includes_zero());
    }

    #[test]
    fn absent_values_are_zeros_and_nothing_is_tested_without_variance() {
        // Values 0, 0, 6: mean 2, variance 12.
        let with_zeros = moments(&[6]);
        assert_eq!((with_zeros.mean(3), with_zeros.variance(3)), (2.0, 12.0));
        let constant = MeanError::new(moments(&[5, 5, 5]), 3, 1.0);
        assert_eq!(welch(constant, MeanError::new(Moments::default(), 9, 1.0)), None);
        assert_eq!(
            welch(MeanError::new(moments(&[5]), 1, 1.0), MeanError::new(moments(&[5, 9]), 2, 1.0)),
            None
        );
        assert!(welch(constant, MeanError::new(with_zeros, 3, 1.0)).is_some());
    }

    #[test]
    fn the_variance_of_long_equal_times_is_exactly_zero() {
        let hour = 3_600_000_017;
        assert_eq!(moments(&[hour; 1000]).variance(1000), 0.0);
    }

    #[test]
    fn in_another_unit_a_mean_is_divided_and_a_variance_twice() {
        let of_us = MeanError { n: 3.0, mean: 20_000.0, variance: 4_000_000.0 };
        assert_eq!(of_us.per(1000.0), MeanError { n: 3.0, mean: 20.0, variance: 4.0 });
    }
}
