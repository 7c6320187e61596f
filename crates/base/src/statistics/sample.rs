//! Sums of values of requests: each once where every request stands for itself, else by weight.

use super::{MeanError, Moments, Weight, WeightedMoments, Weights};
use serde::{Deserialize, Serialize};

/// Number and exact sums of some values: an accumulator. As long as all weights are 1 it holds and costs little more than
/// [`Moments`] and a number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The values as long as all weights are 1.
    n: u64,
    sums: Moments,
    /// All values once some weight is not 1.
    weighted: Option<Box<WeightedMoments>>,
}

impl Sample {
    /// Returns `n` values of weight 1 with these sums.
    pub fn counted(n: u64, sums: Moments) -> Sample {
        Sample { n, sums, weighted: None }
    }

    /// Adds one value.
    #[inline]
    pub fn add(&mut self, value: u64, weight: Weight) {
        if weight == Weight::ONE && self.weighted.is_none() {
            self.n += 1;
            self.sums.add(value);
        } else {
            self.by_weight().add(value, weight);
        }
    }

    /// Adds the sums of other values.
    pub fn merge(&mut self, other: &Sample) {
        if self.weighted.is_none() && other.weighted.is_none() {
            self.n += other.n;
            self.sums.merge(other.sums);
        } else {
            self.by_weight().merge(&other.moments());
        }
    }

    /// Returns these values without some of them.
    #[must_use]
    pub fn without(&self, some: &Sample) -> Sample {
        if self.weighted.is_none() {
            let (sum, sum_sq) = (self.sums.sum, self.sums.sum_sq);
            let sum = sum.saturating_sub(some.sums.sum);
            let sum_sq = sum_sq.saturating_sub(some.sums.sum_sq);
            return Sample::counted(self.n.saturating_sub(some.n), Moments { sum, sum_sq });
        }
        let weighted = Some(Box::new(self.moments().without(&some.moments())));
        Sample { weighted, ..Sample::default() }
    }

    /// Returns the number of values seen.
    pub fn n(&self) -> u64 {
        self.weighted.as_ref().map_or(self.n, |moments| moments.weights.seen)
    }

    /// Returns the weights of the values.
    pub fn weights(&self) -> Weights {
        self.weighted.as_ref().map_or_else(|| Weights::of_ones(self.n), |moments| moments.weights)
    }

    /// Returns the sum of the values by weight, rounded.
    pub fn sum(&self) -> u128 {
        self.weighted.as_ref().map_or(self.sums.sum, |moments| moments.rounded_sum())
    }

    /// Returns the mean of the values; 0 without any.
    pub fn mean(&self) -> f64 {
        self.spread().mean
    }

    /// Returns what intervals and tests need of the values.
    pub fn spread(&self) -> MeanError {
        self.among(&self.weights())
    }

    /// Returns the same of all of some requests, of which those without a value count as 0.
    pub fn among(&self, all: &Weights) -> MeanError {
        match &self.weighted {
            None if all.are_ones() => MeanError::new(self.sums, all.seen, 1.0),
            None => self.moments().among(all),
            Some(moments) => moments.among(all),
        }
    }

    fn moments(&self) -> WeightedMoments {
        match &self.weighted {
            None => WeightedMoments::of_ones(self.n, self.sums),
            Some(moments) => **moments,
        }
    }

    #[cold]
    fn by_weight(&mut self) -> &mut WeightedMoments {
        let counted = (std::mem::take(&mut self.n), std::mem::take(&mut self.sums));
        self.weighted.get_or_insert_with(|| Box::new(WeightedMoments::of_ones(counted.0, counted.1)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Random, welch};

    fn of(values: &[(u64, f64)]) -> Sample {
        let mut sample = Sample::default();
        values.iter().for_each(|&(us, w)| sample.add(us, Weight::of_count(w).unwrap_or_default()));
        sample
    }

    #[test]
    fn equal_weights_are_as_none_to_the_last_bit() {
        let mut random = Random::new(31, 0, 0);
        let values: Vec<u64> = (0..500).map(|_| random.log_normal_us(4e4, 1.1)).collect();
        let with = |weight: f64| of(&values.iter().map(|&us| (us, weight)).collect::<Vec<_>>());
        let (plain, all) = (with(1.0), Weights::of_ones(700));
        for weight in [2.0, 17.5, 1000.0] {
            let weighted = with(weight);
            assert_eq!(weighted.spread(), plain.spread());
            let alike = Weights::of(vec![Weight::of_count(weight).unwrap_or_default(); 700]);
            assert_eq!(weighted.among(&alike), plain.among(&all), "{weight}");
            assert_eq!(weighted.sum(), (plain.sum() as f64 * weight).round() as u128);
        }
        // What is all of weight 1 among other weights is as it is alone.
        let mut mixed = of(&[(7, 3.0)]);
        mixed.merge(&plain);
        assert_eq!(mixed.without(&of(&[(7, 3.0)])).spread().mean, plain.mean());
    }

    #[test]
    fn parts_merge_in_any_order_and_come_off_again() {
        let (a, b) = (of(&[(10, 1.0), (20, 1.0)]), of(&[(30, 8.0), (50, 2.5)]));
        let (mut ab, mut ba) = (a.clone(), b.clone());
        ab.merge(&b);
        ba.merge(&a);
        assert_eq!(ab, ba);
        assert_eq!((ab.n(), ab.weights().requests(), ab.sum()), (4, 12.5, 10 + 20 + 240 + 125));
        assert_eq!(ab.mean(), 395.0 / 12.5);
        let rest = ab.without(&b);
        assert_eq!((rest.n(), rest.mean(), rest.weights().effective()), (2, 15.0, 2.0));
        assert_eq!(ab.without(&a).spread(), b.spread());
    }

    /// The example of the definition: 10, 20, 30 of weights 1, 1, 8.
    #[test]
    fn the_variance_goes_with_the_effective_number() {
        let spread = of(&[(10, 1.0), (20, 1.0), (30, 8.0)]).spread();
        let n: f64 = 100.0 / 66.0;
        assert!((spread.n - n).abs() < 1e-12 && spread.mean == 27.0);
        let squared_error = (289.0 + 49.0 + 576.0) / 100.0;
        assert!((spread.variance / spread.n - squared_error * n / (n - 1.0)).abs() < 1e-9);
        assert_eq!(welch(spread, spread), None, "fewer than two effective requests");
    }
}
