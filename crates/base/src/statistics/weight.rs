//! The weight of a request: how many requests it stands for where traces were sampled (`docs/definitions/sampling.md`).

use serde::{Deserialize, Serialize};

/// How many requests one stands for, in units of 1/256: exact for integers and halves, else off by at most 0.2 %.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Weight(u32);

/// Bits of a threshold of `tracestate`.
const THRESHOLD_BITS: u32 = 56;

impl Default for Weight {
    fn default() -> Weight {
        Weight::ONE
    }
}

impl Weight {
    /// Units of one request.
    pub const UNITS: u32 = 256;
    /// The weight of a request that stands for itself.
    pub const ONE: Weight = Weight(Weight::UNITS);
    /// The greatest weight, 2^24 - 1/256; greater ones become it.
    pub const MOST: Weight = Weight(u32::MAX);

    /// Returns the weight of so many units of 1/256; of fewer than one request, one.
    pub fn of_units(units: u32) -> Weight {
        Weight(units.max(Weight::UNITS))
    }

    /// Returns the weight of one of so many requests; `None` if that is no number from 1 up.
    pub fn of_count(requests: f64) -> Option<Weight> {
        // A cast of a float stops at the greatest integer.
        (requests.is_finite() && requests >= 1.0)
            .then(|| Weight::of_units((requests * f64::from(Weight::UNITS)).round() as u32))
    }

    /// Returns the weight of a request kept with this probability; `None` if that is none above 0.
    pub fn of_rate(probability: f64) -> Option<Weight> {
        (probability > 0.0 && probability <= 1.0).then(|| Weight::of_count(1.0 / probability)).flatten()
    }

    /// Returns the weight that follows from the rejection threshold of `tracestate`, of 56 bits: 2^56 / (2^56 - T).
    pub fn of_threshold(threshold: u64) -> Option<Weight> {
        let kept = (1u64 << THRESHOLD_BITS).checked_sub(threshold).filter(|&kept| kept > 0)?;
        let units = ((u128::from(Weight::UNITS) << THRESHOLD_BITS) + u128::from(kept / 2)) / u128::from(kept);
        Some(Weight::of_units(u32::try_from(units).unwrap_or(u32::MAX)))
    }

    /// Returns 2 to a power.
    pub fn of_power(power: u32) -> Weight {
        Weight(
            Weight::UNITS
                .checked_shl(power)
                .filter(|&units| units >> power == Weight::UNITS)
                .unwrap_or(u32::MAX),
        )
    }

    /// Returns the units of 1/256.
    pub fn units(self) -> u32 {
        self.0
    }

    /// Returns the number of requests.
    pub fn requests(self) -> f64 {
        f64::from(self.0) / f64::from(Weight::UNITS)
    }
}

/// Sums of weights of some requests: an accumulator. Exact, so in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Weights {
    /// Requests seen.
    pub seen: u64,
    /// Sum of their weights in units of 1/256.
    pub units: u128,
    /// Sum of the squares of these units.
    pub squares: u128,
    /// The least and the greatest weight; `None` without requests.
    pub range: Option<(Weight, Weight)>,
}

impl Weights {
    /// Takes note of one request.
    pub fn add(&mut self, weight: Weight) {
        let units = u128::from(weight.units());
        self.seen += 1;
        self.units += units;
        // A square is below 2^64, so 2^64 of them fit.
        self.squares += units * units;
        self.widen((weight, weight));
    }

    /// Returns whether these may be sums of some of the requests of others.
    pub fn may_be_among(&self, all: &Weights) -> bool {
        self.seen <= all.seen && self.units <= all.units
    }

    /// Adds the sums of other requests.
    pub fn merge(&mut self, other: &Weights) {
        self.seen += other.seen;
        self.units = self.units.saturating_add(other.units);
        self.squares = self.squares.saturating_add(other.squares);
        other.range.into_iter().for_each(|range| self.widen(range));
    }

    fn widen(&mut self, (least, greatest): (Weight, Weight)) {
        let range = self.range.get_or_insert((least, greatest));
        *range = (range.0.min(least), range.1.max(greatest));
    }

    /// Returns the sums of requests.
    pub fn of(weights: impl IntoIterator<Item = Weight>) -> Weights {
        let mut sums = Weights::default();
        weights.into_iter().for_each(|weight| sums.add(weight));
        sums
    }

    /// Returns the sums of requests that stand for themselves.
    pub fn of_ones(seen: u64) -> Weights {
        let (n, units) = (u128::from(seen), u128::from(Weight::UNITS));
        let range = (seen > 0).then_some((Weight::ONE, Weight::ONE));
        Weights { seen, units: n * units, squares: n * units * units, range }
    }

    /// Returns the sums without those of some of these requests; the range stays.
    #[must_use]
    pub fn without(&self, some: &Weights) -> Weights {
        let units = self.units.saturating_sub(some.units);
        let squares = self.squares.saturating_sub(some.squares);
        Weights { seen: self.seen.saturating_sub(some.seen), units, squares, range: self.range }
    }

    /// Returns whether each request stands for itself.
    pub fn are_ones(&self) -> bool {
        self.range.is_none_or(|(_, greatest)| greatest == Weight::ONE)
    }

    /// Returns whether all weights are the same: then shares, means and percentiles are those of weight 1.
    pub fn are_equal(&self) -> bool {
        self.range.is_none_or(|(least, greatest)| least == greatest)
    }

    /// Returns the number of requests that those seen stand for.
    pub fn requests(&self) -> f64 {
        self.units as f64 / f64::from(Weight::UNITS)
    }

    /// Returns the effective number of requests, (sum w)^2 / sum w^2: it takes the place of their number where something is
    /// uncertain. Of equal weights it is the number seen.
    pub fn effective(&self) -> f64 {
        if self.are_equal() {
            return self.seen as f64;
        }
        let sum = self.units as f64;
        if self.seen == 0 { 0.0 } else { sum * sum / self.squares as f64 }
    }

    /// Returns which share of the requests some of them are; 0 without any.
    pub fn share(&self, some: &Weights) -> f64 {
        if self.are_equal() {
            return some.seen as f64 / self.seen.max(1) as f64;
        }
        some.units as f64 / self.units.max(1) as f64
    }

    /// Returns the number of requests that those seen stand for, rounded.
    pub fn rounded(&self) -> u64 {
        let units = u128::from(Weight::UNITS);
        u64::try_from(self.units.saturating_add(units / 2) / units).unwrap_or(u64::MAX)
    }

    /// Returns how many of the effective number some of these requests are.
    pub fn effective_part(&self, some: &Weights) -> f64 {
        if self.are_equal() { some.seen as f64 } else { self.share(some) * self.effective() }
    }

    /// Returns how many of the effective number some of these requests are, and that number, both rounded: for tests of counts.
    pub fn effective_counts(&self, some: &Weights) -> (u64, u64) {
        (self.effective_part(some).round() as u64, self.effective().round() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_are_read_as_the_definition_says() {
        assert_eq!(Weight::of_threshold(0xc0_0000_0000_0000).map(Weight::requests), Some(4.0));
        assert_eq!(Weight::of_threshold(0x80_0000_0000_0000).map(Weight::requests), Some(2.0));
        assert_eq!(Weight::of_threshold(0), Some(Weight::ONE));
        assert_eq!(Weight::of_threshold((1 << 56) - 1), Some(Weight::MOST));
        assert_eq!(Weight::of_threshold(1 << 56), None);
        assert_eq!(Weight::of_power(3).requests(), 8.0);
        assert_eq!([24, 31, 62].map(Weight::of_power), [Weight::MOST; 3]);
        assert_eq!(Weight::of_power(23).requests(), 8_388_608.0);
        assert_eq!(Weight::of_count(2.5).map(Weight::requests), Some(2.5));
        assert_eq!([0.99, f64::NAN, f64::INFINITY, -3.0].map(Weight::of_count), [None; 4]);
        assert_eq!(Weight::of_rate(0.001).map(Weight::requests), Some(1000.0));
        assert_eq!([0.0, 1.01, f64::NAN].map(Weight::of_rate), [None; 3]);
        assert_eq!(Weight::of_rate(1e-300), Some(Weight::MOST));
        // Off by at most 0.2 %.
        for count in [1.001, 1.3, 1.999, 7.77] {
            let weight = Weight::of_count(count).unwrap_or_default().requests();
            assert!((weight / count - 1.0).abs() < 0.002, "{count}: {weight}");
        }
    }

    #[test]
    fn the_effective_number_is_that_of_the_definition() {
        let weights = [1.0, 1.0, 8.0].map(|w| Weight::of_count(w).unwrap_or_default());
        let sums = Weights::of(weights);
        assert_eq!((sums.seen, sums.requests()), (3, 10.0));
        assert!((sums.effective() - 100.0 / 66.0).abs() < 1e-12);
        let equal = Weights::of([Weight::of_power(5); 7]);
        assert_eq!((equal.effective(), equal.requests()), (7.0, 224.0));
        // In parts, in another order.
        let mut parts = Weights::of(weights[2..].iter().copied());
        parts.merge(&Weights::of(weights[..2].iter().copied()));
        assert_eq!(parts, sums);
        assert_eq!(Weights::default().effective(), 0.0);
        assert_eq!(Weights::of_ones(3), Weights::of([Weight::ONE; 3]));
        // Of weights 1, 1, 8 the last is 80 %, and 1.2 of 1.5 effective requests.
        let last = Weights::of([weights[2]]);
        assert_eq!((sums.share(&last), sums.effective_counts(&last)), (0.8, (1, 2)));
        assert_eq!(sums.without(&last).effective(), 2.0);
        assert_eq!(equal.effective_counts(&Weights::of([Weight::of_power(5); 3])), (3, 7));
    }
}
