//! The excess of the values of B over those of A, with what chance and drift could make of it (section 2 of
//! `docs/definitions/verdict.md`).

use super::Excess;
use super::cells::Cell;
use pathlight_base::statistics::{MeanError, Sample, Weights, ln};
use std::collections::BTreeMap;

/// Fewer values than this on a side are few: drift is not learned from them, and their order is tested too.
pub(super) const FEW: f64 = 10.0;
/// A standard deviation of a cell's mean below which no clock can be trusted: 0.05 ms, in microseconds.
const LEAST_DEVIATION_US: f64 = 50.0;
/// The uncertainty is two standard deviations of drift and so many of chance.
const CHANCE: f64 = 3.0;
/// The smaller side of n values makes the variance 1 + SMALL / n times as large.
const SMALL: f64 = 4.0;
/// How often chance may say that some cell moved as a whole.
const ERROR: f64 = 0.05;
/// A cell moved as a whole if at least this share of its values certainly did.
const WHOLE: f64 = 0.6;

/// An excess before the root of its variance is taken, so that excesses add; microseconds per request of B.
#[derive(Clone, Copy, Default)]
pub(super) struct Sum {
    /// What A's values let expect.
    pub expected_us: f64,
    /// B minus A.
    pub excess_us: f64,
    /// Variance of the excess if nothing had changed, by chance and drift.
    pub variance: f64,
    /// Variance of the excess as the values themselves spread.
    pub spread: f64,
}

impl Sum {
    pub fn add(&mut self, other: Sum) {
        self.expected_us += other.expected_us;
        self.excess_us += other.excess_us;
        self.variance += other.variance;
        self.spread += other.spread;
    }

    /// Returns this share of the sum.
    pub fn part(self, share: f64) -> Sum {
        Sum {
            expected_us: self.expected_us * share,
            excess_us: self.excess_us * share,
            variance: self.variance * share * share,
            spread: self.spread * share * share,
        }
    }

    pub fn excess(self) -> Excess {
        Excess { excess_us: self.excess_us, uncertainty_us: 2.0 * self.variance.sqrt() }
    }

    /// Returns whether it grew by more than twice the deviation of the values themselves.
    pub fn has_grown(self) -> bool {
        self.excess_us > 2.0 * self.spread.sqrt()
    }
}

/// By how much the values of A are taken to be greater than they were measured.
#[derive(Clone, Copy)]
pub(super) struct Scale {
    pub factor: f64,
    /// The same for bins of histograms.
    bins: u16,
}

impl Scale {
    /// As they were measured.
    pub const ONE: Scale = Scale { factor: 1.0, bins: 0 };

    /// Returns the scale that makes values `1 + growth` times as great; growth is above 0.
    pub fn grown_by(growth: f64) -> Scale {
        let factor = 1.0 + growth;
        Scale { factor, bins: (8.0 * ln(factor) / std::f64::consts::LN_2).round() as u16 }
    }

    /// Returns the bin of the scaled values of a bin; that of 0 stays.
    pub fn bin(self, bin: u16) -> u16 {
        if bin == 0 { 0 } else { bin.saturating_add(self.bins) }
    }
}

/// How like the values of a cell of B those of A are that it is compared with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Likeness {
    /// The same cell.
    Same,
    /// Other cells of the same service, or of the same two.
    Similar,
    /// Calls by others.
    Any,
}

/// Returns the sum of squared deviations from the mean.
fn squares(of: MeanError) -> f64 {
    of.variance * (of.n - 1.0).max(0.0)
}

/// Returns the excess of values of B over some of A, per request of B. The mean of A may drift by this share of itself.
pub(super) fn excess_of(
    (before, scale): (&Sample, Scale),
    after: &Sample,
    likeness: Likeness,
    drift: f64,
    requests: &Weights,
) -> Sum {
    let weight = after.weights().requests() / requests.requests();
    let (before, after) = (before.spread(), after.spread());
    let (n, k) = (before.n, after.n);
    let mean_us = before.mean * scale.factor;
    let squares_of_b = squares(after);
    let squares = squares(before) * scale.factor * scale.factor;
    let of_a = ((squares + mean_us * mean_us) / n).max(LEAST_DEVIATION_US * LEAST_DEVIATION_US);
    // Where A lacks the cell itself, one more value of B that deviates by its mean.
    let more = if likeness == Likeness::Same { 0.0 } else { after.mean * after.mean };
    let of_b = ((squares_of_b + more) / k).max(of_a);
    let of_mean_a = if likeness == Likeness::Any { of_a } else { of_a / n };
    let chance = (of_mean_a + of_b / k) * (1.0 + SMALL / n.min(k));
    let drift_us = drift * mean_us;
    Sum {
        expected_us: weight * mean_us,
        excess_us: weight * (after.mean - mean_us),
        variance: weight * weight * (CHANCE * CHANCE / 4.0 * chance + drift_us * drift_us),
        spread: weight * weight * (squares / (n * n) + squares_of_b / (k * k)),
    }
}

/// Returns how much of a share of values that differ chance may make of n and k values, among so many tests.
pub(super) fn chance_margin(n: f64, k: f64, tests: usize) -> f64 {
    (ln(tests.max(1) as f64 / ERROR) / 2.0 * (1.0 / n + 1.0 / k)).sqrt()
}

/// Returns whether values moved as a whole: at least this share of n and k of them is greater (or all is smaller) in B.
pub(super) fn is_whole(share: f64, (n, k): (f64, f64), tests: usize) -> bool {
    n > 0.0 && k > 0.0 && share - chance_margin(n, k, tests) >= WHOLE
}

/// Returns whether the values of a cell moved as a whole, towards where their mean moved, among so many cells.
pub(super) fn moved_as_a_whole((before, scale): (&Cell, Scale), after: &Cell, tests: usize) -> bool {
    if before.n() == 0 || after.n() == 0 {
        return false;
    }
    let [all_before, all_after] = [before, after].map(|cell| cell.us.weights());
    let mut bins: BTreeMap<u16, f64> = BTreeMap::new();
    for (&bin, &count) in &before.histogram {
        *bins.entry(scale.bin(bin)).or_default() += count as f64 / all_before.units as f64;
    }
    for (&bin, &count) in &after.histogram {
        *bins.entry(bin).or_default() -= count as f64 / all_after.units as f64;
    }
    let is_slower = after.us.mean() >= before.us.mean() * scale.factor;
    let distance = greatest_sum(bins.into_values().map(|share| if is_slower { share } else { -share }));
    is_whole(distance, (all_before.effective(), all_after.effective()), tests)
}

/// Returns the greatest sum of the first values, of however many, at least 0: of differences of two histograms their one-sided
/// Kolmogorov distance.
pub(super) fn greatest_sum(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut most) = (0.0, 0.0f64);
    for value in values {
        sum += value;
        most = most.max(sum);
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::Weight;

    #[test]
    fn scaled_bins_are_those_of_scaled_values_and_that_of_0_stays() {
        let scale = Scale::grown_by(0.5);
        // 8 log2 1.5 = 4.68.
        assert_eq!((scale.bin(0), scale.bin(1), scale.bin(100)), (0, 6, 105));
        assert_eq!(Scale::ONE.bin(7), 7);
    }

    /// 1,000 values each, three cells.
    #[test]
    fn the_margin_of_a_distance_is_that_of_the_definition() {
        assert!((chance_margin(1000.0, 1000.0, 3) - 0.064).abs() < 0.0005);
        assert!(is_whole(0.67, (1000.0, 1000.0), 3) && !is_whole(0.66, (1000.0, 1000.0), 3));
        assert!(!is_whole(1.0, (0.0, 1000.0), 3));
    }

    fn sample(values: &[u64]) -> Sample {
        let mut sample = Sample::default();
        values.iter().for_each(|&us| sample.add(us, Weight::ONE));
        sample
    }

    /// Returns expected time, excess, variance and spread of the mean of B.
    fn excess(a: (&[u64], Scale), b: &[u64], likeness: Likeness, requests: u64) -> [f64; 4] {
        let sum = excess_of((&sample(a.0), a.1), &sample(b), likeness, 0.1, &Weights::of_ones(requests));
        [sum.expected_us, sum.excess_us, sum.variance, sum.spread]
    }

    #[test]
    fn an_excess_is_that_of_the_definition() {
        // n = 2, m = 1000, k = 4, mean of B 2000, SS 20,000 in each; 4 calls in 8 requests, so w = 1/2.
        let (a, b) = ([900, 1100], [1900, 2000, 2000, 2100]);
        let of = |likeness| excess((&a, Scale::ONE), &b, likeness, 8);
        // vA = (20,000 + 1000^2) / 2 = 510,000 = vB; C = (255,000 + 127,500) * 3; V = (2.25 C + 100^2) / 4.
        assert_eq!(of(Likeness::Same), [500.0, 500.0, 647_968.75, 1562.5]);
        // vB = (20,000 + 2000^2) / 4 = 1,005,000; C = (255,000 + 251,250) * 3.
        assert_eq!(of(Likeness::Similar), [500.0, 500.0, 856_796.875, 1562.5]);
        // vA in place of vA / 2: C = (510,000 + 251,250) * 3.
        assert_eq!(of(Likeness::Any), [500.0, 500.0, 1_287_109.375, 1562.5]);
        // Half as great again: m = 1500, SS of A = 45,000; vA = 1,147,500 = vB; C = (573,750 + 286,875) * 3.
        let scaled = excess((&a, Scale::grown_by(0.5)), &b, Likeness::Same, 8);
        assert_eq!(scaled, [750.0, 250.0, (2.25 * 2_581_875.0 + 22_500.0) / 4.0, (11_250.0 + 1250.0) / 4.0]);
        // vA = 50^2, though (0 + 10^2) / 2 is less; C = (1250 + 1250) * 3.
        assert_eq!(
            excess((&[10, 10], Scale::ONE), &[20, 20], Likeness::Same, 2),
            [10.0, 10.0, 16_876.0, 0.0]
        );
    }

    #[test]
    fn sums_of_excesses_are_added_and_divided() {
        let mut sum = Sum { expected_us: 100.0, excess_us: 10.0, variance: 16.0, spread: 25.0 };
        assert!(!sum.has_grown(), "10 is twice the root of 25, not more");
        let uncertain = sum.excess();
        assert_eq!((uncertain.excess_us, uncertain.uncertainty_us), (10.0, 8.0));
        let half = sum.part(0.5);
        assert_eq!([half.expected_us, half.excess_us, half.variance, half.spread], [50.0, 5.0, 4.0, 6.25]);
        sum.add(half);
        assert_eq!([sum.expected_us, sum.excess_us, sum.variance, sum.spread], [150.0, 15.0, 20.0, 31.25]);
        assert!(sum.has_grown());
    }

    #[test]
    fn the_greatest_sum_is_that_of_any_number_of_first_values() {
        assert_eq!(greatest_sum([0.25, 0.5, -0.75, 0.5].into_iter()), 0.75);
        assert_eq!((greatest_sum([-1.0, 0.5].into_iter()), greatest_sum(std::iter::empty())), (0.0, 0.0));
    }

    #[test]
    fn a_cell_moved_as_a_whole_if_most_of_its_values_did() {
        // 100 values each: sqrt(ln(1 / 0.05) / 2 * 2 / 100) = 0.173 for one cell, 0.245 for twenty.
        let cell = |slow: usize| {
            let mut cell = Cell::default();
            (0..100).for_each(|number| cell.add(if number < slow { 2000 } else { 1000 }, Weight::ONE));
            cell
        };
        let moved = |a: usize, b: usize, scale, cells| moved_as_a_whole((&cell(a), scale), &cell(b), cells);
        let one = |a, b| moved(a, b, Scale::ONE, 1);
        assert!(one(0, 100) && one(100, 0) && one(0, 80) && one(80, 0));
        assert!(!one(0, 77) && !one(77, 0) && !one(50, 50));
        assert!(!moved(0, 80, Scale::ONE, 20) && moved(0, 85, Scale::ONE, 20));
        // Twice as great are 8 bins: A's values are expected where B's are, or beyond.
        assert!(!moved(0, 100, Scale::grown_by(1.0), 1) && moved(0, 0, Scale::grown_by(1.0), 1));
        assert!(!moved_as_a_whole((&Cell::default(), Scale::ONE), &cell(0), 1));
        assert!(!moved_as_a_whole((&cell(0), Scale::ONE), &Cell::default(), 1));
    }
}
