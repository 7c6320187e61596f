//! Means, percentiles and histograms of values with weights (`docs/definitions/sampling.md`).

use super::{Interval, LogHistogram, MeanError, Moments, Percentiles, Weight, Weights, percentile, t_975};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;

/// Quantiles are reckoned in millionths of units of weight.
const WHOLE: u128 = 1_000_000;

/// Returns the `p`-quantile (0 to 1) of values with weights, sorted by value; 0 without values. With W the sum of the weights
/// and h = p (W - 1) it lies between the values at h rounded down and at the next whole number; a value is at r if the weights
/// before it sum to at most r, and with its own to more.
pub fn weighted_percentile(sorted: &[(u64, Weight)], p: f64) -> f64 {
    let units = units_of(sorted).map(|(_, units)| units).sum();
    percentile_of_units(units_of(sorted), units, p)
}

/// Returns values with the units of their weights.
fn units_of(sorted: &[(u64, Weight)]) -> impl Iterator<Item = (u64, u128)> {
    sorted.iter().map(|&(value, weight)| (value, u128::from(weight.units())))
}

fn percentile_of_units(sorted: impl Iterator<Item = (u64, u128)>, units: u128, p: f64) -> f64 {
    let one = u128::from(Weight::UNITS);
    let place = (p.clamp(0.0, 1.0) * WHOLE as f64).round() as u128 * units.saturating_sub(one);
    let (below, part) = (place / (WHOLE * one), place % (WHOLE * one));
    let (mut low, mut high) = (0, 0);
    let mut before = 0u128;
    let mut is_low_found = false;
    for (value, weight) in sorted {
        before = before.saturating_add(weight);
        // Where no value lies beyond, it is the last.
        high = value;
        if !is_low_found {
            low = value;
            is_low_found = below * one < before;
        }
        if (below + 1) * one < before {
            break;
        }
    }
    // As without weights: in integers up to the last division. Below 2^64 times 2^28, so nothing overflows.
    (u128::from(low) * WHOLE * one + u128::from(high - low) * part) as f64 / (WHOLE * one) as f64
}

impl Percentiles {
    /// Returns the summary of values with weights, sorted by value. Equal weights give the summary of the values alone.
    pub fn of_weighted(sorted: &[(u64, Weight)]) -> Percentiles {
        let weights = Weights::of(sorted.iter().map(|(_, weight)| *weight));
        if weights.are_equal() {
            let values: Vec<u64> = sorted.iter().map(|(value, _)| *value).collect();
            return Percentiles::of_sorted(&values);
        }
        let at = |p| percentile_of_units(units_of(sorted), weights.units, p);
        Percentiles {
            mean: weighted_sum_us(sorted) as f64 / weights.units as f64,
            p50: at(0.50),
            p95: at(0.95),
            p99: at(0.99),
            max: sorted.last().map_or(0, |last| last.0),
        }
    }
}

/// Returns the sum of values times weights, in 1/256 of their unit; it stays at the end of 128 bits.
pub fn weighted_sum_us(values: &[(u64, Weight)]) -> u128 {
    let products = values.iter().map(|&(value, weight)| u128::from(value) * u128::from(weight.units()));
    products.fold(0u128, u128::saturating_add)
}

/// An exact sum of values by weight: an accumulator.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WeightedSum {
    /// In 1/256 of the unit of the values.
    units: u128,
}

impl WeightedSum {
    /// Adds one value.
    pub fn add(&mut self, value: u64, weight: Weight) {
        self.units = self.units.saturating_add(u128::from(value) * u128::from(weight.units()));
    }

    /// Adds another sum.
    pub fn merge(&mut self, other: WeightedSum) {
        self.units = self.units.saturating_add(other.units);
    }

    /// Returns the sum, rounded.
    pub fn rounded(self) -> u128 {
        let units = u128::from(Weight::UNITS);
        self.units.saturating_add(units / 2) / units
    }

    /// Returns the quotient of two sums, rounded down; 0 if the second is.
    pub fn over(self, other: WeightedSum) -> u128 {
        self.units.checked_div(other.units).unwrap_or(0)
    }
}

impl LogHistogram {
    /// Returns the histogram of values with weights, sorted by value; counts are requests, rounded.
    pub fn of_weighted(sorted: &[(u64, Weight)], bins: u32) -> LogHistogram {
        let units: Vec<(u64, u64)> =
            sorted.iter().map(|&(value, weight)| (value, u64::from(weight.units()))).collect();
        let mut histogram = LogHistogram::of_counts(&units, bins);
        let one = u64::from(Weight::UNITS);
        histogram.counts.iter_mut().for_each(|count| *count = (*count + one / 2) / one);
        histogram
    }
}

/// Returns the 95 % interval of a percentile of values with weights, sorted by value: between the quantiles that the
/// effective number of requests leaves open, by the normal approximation of ranks. `None` where fewer than ten effective
/// requests lie beyond the percentile, which are too few.
pub fn weighted_percentile_interval(sorted: &[(u64, Weight)], p: f64) -> Option<Interval> {
    let effective = Weights::of(sorted.iter().map(|(_, weight)| *weight)).effective();
    if effective * p.min(1.0 - p) < 10.0 {
        return None;
    }
    // How much of the weight lies below the true percentile varies as a weighted share does.
    let squares = units_of(sorted).map(|(value, units)| (value, units, units * units));
    let error = share_error(squares, weighted_percentile(sorted, p), p);
    let reach = t_975(effective - 1.0) * error;
    let at = |p: f64| weighted_or_plain(sorted, p);
    Some(Interval { low: at(p - reach), high: at(p + reach) })
}

pub(super) fn weighted_or_plain(sorted: &[(u64, Weight)], p: f64) -> f64 {
    if Weights::of(sorted.iter().map(|(_, weight)| *weight)).are_equal() {
        let values: Vec<u64> = sorted.iter().map(|(value, _)| *value).collect();
        return percentile(&values, p);
    }
    weighted_percentile(sorted, p)
}

/// Returns the standard error of the share of the weight at or below a value, of which `p` is the estimate: sqrt(sum w^2 (i -
/// p)^2) / sum w, with i = 1 at or below it and 0 above. Of each value the units of its weights and the sum of their squares.
fn share_error(values: impl Iterator<Item = (u64, u128, u128)>, value: f64, p: f64) -> f64 {
    let (mut below, mut above, mut units) = (0u128, 0u128, 0u128);
    for (at, of, squares) in values {
        units = units.saturating_add(of);
        let sum = if at as f64 <= value { &mut below } else { &mut above };
        *sum = sum.saturating_add(squares);
    }
    if units == 0 {
        return 0.0;
    }
    ((below as f64 * (1.0 - p) * (1.0 - p) + above as f64 * p * p) / (units as f64 * units as f64)).sqrt()
}

/// Returns the `p`-quantile of values that many requests have each, sorted by value, as [`weighted_percentile`] does, and its
/// standard error (Woodruff 1952): half the distance of the quantiles that lie one standard error of the share of the weight
/// to both sides. Both 0 without values.
pub fn grouped_percentile(sorted: &[(u64, Weights)], p: f64) -> (f64, f64) {
    let all = || sorted.iter().map(|(value, of)| (*value, of.units));
    let units = all().fold(0, |sum: u128, (_, units)| sum.saturating_add(units));
    let at = |p: f64| percentile_of_units(all(), units, p);
    let value = at(p);
    let squares = sorted.iter().map(|(value, of)| (*value, of.units, of.squares));
    let reach = share_error(squares, value, p);
    (value, (at(p + reach) - at(p - reach)) / 2.0)
}

/// An exact sum of 256 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct WideSum {
    high: u128,
    low: u128,
}

impl WideSum {
    fn add(&mut self, other: WideSum) {
        let (low, carry) = self.low.overflowing_add(other.low);
        self.low = low;
        self.high = self.high.wrapping_add(other.high).wrapping_add(u128::from(carry));
    }

    /// Returns the product of two numbers.
    fn product(a: u128, b: u128) -> WideSum {
        const HALF: u32 = 64;
        const MASK: u128 = (1 << HALF) - 1;
        let (a1, a0, b1, b0) = (a >> HALF, a & MASK, b >> HALF, b & MASK);
        let mut sum = WideSum { high: a1 * b1, low: a0 * b0 };
        for middle in [a1 * b0, a0 * b1] {
            sum.add(WideSum { high: middle >> HALF, low: middle << HALF });
        }
        sum
    }

    /// Returns this sum times a number, without what lies beyond 256 bits.
    fn times(self, factor: u128) -> WideSum {
        let mut product = WideSum::product(self.low, factor);
        product.high = product.high.wrapping_add(self.high.wrapping_mul(factor));
        product
    }

    /// Returns the difference from a sum that is not greater.
    fn less(self, other: WideSum) -> WideSum {
        let (low, borrow) = self.low.overflowing_sub(other.low);
        WideSum { high: self.high.wrapping_sub(other.high).wrapping_sub(u128::from(borrow)), low }
    }

    /// Returns the quotient by a number below 2^64, without what lies beyond 128 bits.
    fn over(self, divisor: u128) -> u128 {
        let mut rest = self.high % divisor;
        let mut quotient = 0u128;
        for limb in [self.low >> 64, self.low & u128::from(u64::MAX)] {
            let part = (rest << 64) | limb;
            quotient = (quotient << 64) | (part / divisor);
            rest = part % divisor;
        }
        quotient
    }

    /// Returns the difference as a number with a sign.
    fn minus(self, other: WideSum) -> f64 {
        let is_negative = (self.high, self.low) < (other.high, other.low);
        let (more, less) = if is_negative { (other, self) } else { (self, other) };
        let (low, borrow) = more.low.overflowing_sub(less.low);
        let size = (more.high - less.high - u128::from(borrow)) as f64 * 2f64.powi(128) + low as f64;
        if is_negative { -size } else { size }
    }
}

/// Exact sums of values and weights for a mean and its uncertainty: an accumulator. Weights are below 2^32 and values that were
/// read below 2^63, so that sums of squares of both are below 2^190 for each request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WeightedMoments {
    /// The weights of the requests, of those without a value too: these count as 0.
    pub weights: Weights,
    sum: u128,
    sum_w2: WideSum,
    sum_w2_sq: WideSum,
}

impl WeightedMoments {
    /// Adds one value.
    pub fn add(&mut self, value: u64, weight: Weight) {
        let (value, units) = (u128::from(value), u128::from(weight.units()));
        self.weights.add(weight);
        self.sum = self.sum.saturating_add(value * units);
        self.sum_w2.add(WideSum::product(value, units * units));
        self.sum_w2_sq.add(WideSum::product(value * value, units * units));
    }

    /// Adds the sums of other values.
    pub fn merge(&mut self, other: &WeightedMoments) {
        self.weights.merge(&other.weights);
        self.sum = self.sum.saturating_add(other.sum);
        self.sum_w2.add(other.sum_w2);
        self.sum_w2_sq.add(other.sum_w2_sq);
    }

    /// Returns the weighted mean; 0 without values.
    pub fn mean(&self) -> f64 {
        if self.weights.units == 0 { 0.0 } else { self.sum as f64 / self.weights.units as f64 }
    }

    /// Returns the squared standard error of the mean (Hansen and Hurwitz): sum w^2 (x - mean)^2 / (sum w)^2.
    pub fn squared_error(&self) -> f64 {
        if self.weights.units == 0 {
            return 0.0;
        }
        // Exactly about the nearest whole number, and from there to the mean: squares of great numbers must not cancel.
        let near = (self.sum + self.weights.units / 2) / self.weights.units;
        let rest = near as f64 - self.mean();
        let squares = WideSum::product(near * near, self.weights.squares);
        let mut left = self.sum_w2_sq;
        left.add(squares);
        let about = left.minus(self.sum_w2.times(2 * near));
        let slope = self.sum_w2.minus(WideSum::product(near, self.weights.squares));
        let spread = about + 2.0 * rest * slope + rest * rest * self.weights.squares as f64;
        let units = self.weights.units as f64;
        (spread / (units * units)).max(0.0)
    }

    /// Returns `n` values of weight 1 with these sums.
    pub fn of_ones(n: u64, sums: Moments) -> WeightedMoments {
        let units = u128::from(Weight::UNITS);
        WeightedMoments {
            weights: Weights::of_ones(n),
            sum: sums.sum.saturating_mul(units),
            sum_w2: WideSum::product(sums.sum, units * units),
            sum_w2_sq: WideSum::product(sums.sum_sq, units * units),
        }
    }

    /// Returns the sums without those of some of these values.
    #[must_use]
    pub fn without(&self, some: &WeightedMoments) -> WeightedMoments {
        WeightedMoments {
            weights: self.weights.without(&some.weights),
            sum: self.sum.saturating_sub(some.sum),
            sum_w2: self.sum_w2.less(some.sum_w2),
            sum_w2_sq: self.sum_w2_sq.less(some.sum_w2_sq),
        }
    }

    /// Returns the sum of values times weights, rounded.
    pub fn rounded_sum(&self) -> u128 {
        let units = u128::from(Weight::UNITS);
        self.sum.saturating_add(units / 2) / units
    }

    /// Returns what intervals and tests need of the values of all of some requests, of which those without one count as 0: the
    /// effective number, the mean, and a variance such that variance / number is the squared standard error. Equal weights give
    /// exactly what the values alone do.
    pub fn among(&self, all: &Weights) -> MeanError {
        if let Some((weight, _)) = all.range.filter(|_| all.are_equal()) {
            let units = u128::from(weight.units());
            let sums = Moments { sum: self.sum / units, sum_sq: self.sum_w2_sq.over(units * units) };
            return MeanError::new(sums, all.seen, 1.0);
        }
        let (n, of_all) = (all.effective(), WeightedMoments { weights: *all, ..*self });
        // The estimate of the variance has one degree of freedom less, as without weights.
        let variance = if n > 1.0 { of_all.squared_error() * n * n / (n - 1.0) } else { 0.0 };
        MeanError { n, mean: of_all.mean(), variance }
    }

    /// Returns the 95 % interval of the mean; `None` for fewer than two effective requests.
    pub fn interval(&self) -> Option<Interval> {
        self.among(&self.weights).interval()
    }
}

/// Sorts values by value, then by weight: what is made of them does not depend on their order.
pub fn sort_weighted(values: &mut [(u64, Weight)]) {
    values.sort_unstable_by_key(|&(value, weight)| (value, Reverse(weight)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Moments, Random};

    fn weight(requests: f64) -> Weight {
        Weight::of_count(requests).unwrap_or_default()
    }

    fn example() -> [(u64, Weight); 3] {
        [(10_000, weight(1.0)), (20_000, weight(1.0)), (30_000, weight(8.0))]
    }

    #[test]
    fn the_example_of_the_definition() {
        let of = Percentiles::of_weighted(&example());
        assert_eq!((of.mean, of.p50, of.max), (27_000.0, 30_000.0, 30_000));
        assert_eq!(weighted_sum_us(&example()), 270_000 * 256);
        let mut moments = WeightedMoments::default();
        example().iter().for_each(|&(value, weight)| moments.add(value, weight));
        assert_eq!(moments.mean(), 27_000.0);
        // (17^2 + 7^2 + 64 * 3^2) / 100, in squared milliseconds.
        assert!((moments.squared_error() / 1e6 - (289.0 + 49.0 + 576.0) / 100.0).abs() < 1e-9);
        assert_eq!(moments.interval(), None, "fewer than two effective requests");
        // Ranks of weights 1, 1, 8: the value at 1 is the second.
        assert_eq!(weighted_percentile(&example(), 1.0 / 9.0), 19_999.99);
    }

    #[test]
    fn equal_weights_are_as_weight_1() {
        let mut random = Random::new(11, 0, 0);
        let values: Vec<u64> = {
            let mut values: Vec<u64> = (0..997).map(|_| random.log_normal_us(3e4, 0.9)).collect();
            values.sort_unstable();
            values
        };
        let with = |requests: f64| values.iter().map(|&v| (v, weight(requests))).collect::<Vec<_>>();
        let plain = Percentiles::of_sorted(&values);
        for requests in [1.0, 2.0, 17.5, 1e6] {
            assert_eq!(Percentiles::of_weighted(&with(requests)), plain, "{requests}");
        }
        assert_eq!(LogHistogram::of_weighted(&with(1.0), 40), LogHistogram::of_sorted(&values, 40));
        // The general rule gives the same for weight 1, bit by bit.
        for p in [0.0, 0.25, 0.5, 0.95, 0.99, 1.0] {
            assert_eq!(weighted_percentile(&with(1.0), p).to_bits(), percentile(&values, p).to_bits(), "{p}");
        }
        let mut moments = (WeightedMoments::default(), Moments::default());
        for &value in &values {
            moments.0.add(value, weight(3.0));
            moments.1.add(value);
        }
        let (weighted, plain) =
            (moments.0.interval().unwrap(), moments.1.interval(values.len() as u64).unwrap());
        assert!(
            (weighted.low / plain.low - 1.0).abs() < 1e-9 && (weighted.high / plain.high - 1.0).abs() < 1e-9
        );
    }

    #[test]
    fn a_whole_weight_is_so_many_requests() {
        let mut random = Random::new(5, 0, 0);
        for _ in 0..200 {
            let mut weighted: Vec<(u64, Weight)> = (0..1 + random.below(40))
                .map(|_| (random.below(50), weight((1 + random.below(6)) as f64)))
                .collect();
            sort_weighted(&mut weighted);
            let repeated: Vec<u64> = weighted
                .iter()
                .flat_map(|&(value, weight)| std::iter::repeat_n(value, weight.requests() as usize))
                .collect();
            for p in [0.0, 0.1, 0.5, 0.77, 0.95, 0.99, 1.0] {
                let (found, wanted) = (weighted_percentile(&weighted, p), percentile(&repeated, p));
                assert!((found - wanted).abs() < 1e-9, "{p}: {found} {wanted} {weighted:?}");
            }
        }
    }

    #[test]
    fn sums_are_exact_in_any_order() {
        let mut random = Random::new(3, 0, 0);
        let values: Vec<(u64, Weight)> = (0..300)
            .map(|_| (random.below(1 << 62), Weight::of_units(random.below(1 << 32) as u32)))
            .collect();
        let mut whole = WeightedMoments::default();
        values.iter().for_each(|&(value, weight)| whole.add(value, weight));
        let mut parts = WeightedMoments::default();
        for part in values.rchunks(7) {
            let mut sums = WeightedMoments::default();
            part.iter().for_each(|&(value, weight)| sums.add(value, weight));
            parts.merge(&sums);
        }
        assert_eq!(parts, whole);
        // Long equal times have no variance at all.
        let mut equal = WeightedMoments::default();
        (0..1000).for_each(|i| equal.add(3_600_000_017, Weight::of_units(256 + i * 77)));
        assert_eq!(equal.squared_error(), 0.0);
    }

    #[test]
    fn intervals_of_percentiles_hold_the_truth_about_as_often_as_they_say() {
        let mut random = Random::new(19, 0, 0);
        let mut all: Vec<u64> = (0..20_000).map(|_| random.log_normal_us(5e4, 0.8)).collect();
        all.sort_unstable();
        // Slow ones are all kept, one of 20 of the others.
        let cut = percentile(&all, 0.97) as u64;
        let (mut held, mut tried) = (0, 0);
        for draw in 0..200 {
            let mut random = Random::new(23, draw, 0);
            let kept: Vec<(u64, Weight)> = all
                .iter()
                .filter_map(|&us| match us > cut {
                    true => Some((us, Weight::ONE)),
                    false => (random.below(20) == 0).then(|| (us, weight(20.0))),
                })
                .collect();
            for p in [0.5, 0.95] {
                if let Some(interval) = weighted_percentile_interval(&kept, p) {
                    tried += 1;
                    let truth = percentile(&all, p);
                    held += usize::from(interval.low <= truth && truth <= interval.high);
                }
            }
        }
        assert!(tried == 400 && held * 100 >= 92 * tried, "{held} of {tried}");
        assert_eq!(weighted_percentile_interval(&example(), 0.5), None);
    }

    #[test]
    fn values_that_many_have_give_the_percentiles_of_single_ones() {
        let single = [(10, 1.0), (20, 1.0), (20, 3.0), (30, 8.0), (40, 2.0)].map(|(v, w)| (v, weight(w)));
        let grouped = [(10, &single[..1]), (20, &single[1..3]), (30, &single[3..4]), (40, &single[4..])]
            .map(|(value, of)| (value, Weights::of(of.iter().map(|(_, weight)| *weight))));
        for p in [0.0, 0.1, 0.3, 0.5, 0.9, 0.95, 1.0] {
            assert_eq!(grouped_percentile(&grouped, p).0, weighted_percentile(&single, p), "{p}");
        }
        // Of the median 30 a share of 13 / 15 lies at or below: sqrt((1 + 10 + 64) / 4 + 4 / 4) / 15 = 0.296 to both sides, the
        // quantiles at 0.204 and 0.796 are 20 and 30.
        let (median, error) = grouped_percentile(&grouped, 0.5);
        assert_eq!((median, error), (30.0, 5.0));
        assert_eq!(grouped_percentile(&[], 0.5), (0.0, 0.0));
    }

    #[test]
    fn the_error_of_a_share_is_that_of_the_definition() {
        // Weights 3 at 10 and 4 at 20: sqrt(9 * 0.75^2 + 16 * 0.25^2) / 7 of a quarter that lies at or below 10.
        let values = [(10, 3, 9), (20, 4, 16)];
        let found = share_error(values.into_iter(), 10.0, 0.25);
        assert!((found - (5.0625f64 + 1.0).sqrt() / 7.0).abs() < 1e-12, "{found}");
        assert_eq!(share_error(std::iter::empty(), 10.0, 0.25), 0.0);
    }

    #[test]
    fn wide_sums_are_divided_and_subtracted_exactly() {
        for (a, b) in [((1 << 100) + 12_345, (1 << 63) + 77), ((1 << 127) + 12_345, (1 << 64) - 59)] {
            assert_eq!(WideSum::product(a, b).over(b), a);
        }
        // 7 * 2^128 / 2 is 3 * 2^128 and half of it, of which only the half has room.
        assert_eq!(WideSum { high: 7, low: 0 }.over(2), 1 << 127);
        let of = |number| WideSum::product(number, 1);
        assert_eq!((of(3).minus(of(5)), of(5).minus(of(3))), (-2.0, 2.0));
        let above = WideSum { high: 1, low: 1 };
        assert_eq!((above.minus(of(2)), of(2).minus(above)), (2f64.powi(128), -2f64.powi(128)));
    }

    #[test]
    fn a_request_without_a_value_counts_as_0_and_one_with_0_too() {
        let mut moments = WeightedMoments::default();
        moments.add(10, weight(2.0));
        let mut all = moments.weights;
        all.add(weight(1.0));
        // The mean is 20 / 3, its squared error (2^2 (10/3)^2 + (20/3)^2) / 3^2 = 800 / 81; 9 / 5 requests are effective, and
        // 800 / 81 * (9 / 5)^2 / (4 / 5) is 40.
        let found = moments.among(&all);
        assert!((found.mean - 20.0 / 3.0).abs() < 1e-12 && (found.n - 1.8).abs() < 1e-12, "{found:?}");
        assert!((found.variance - 40.0).abs() < 1e-9, "{found:?}");
        moments.add(0, weight(1.0));
        assert_eq!(moments.among(&moments.weights), found);
        let mut zeros = WeightedMoments::default();
        zeros.add(0, weight(1.0));
        zeros.add(0, weight(5.0));
        assert_eq!((zeros.mean(), zeros.squared_error()), (0.0, 0.0));
    }
}
