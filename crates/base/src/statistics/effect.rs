//! The dependence of a time on the group that it is of: a robust effect size over ranks, from counts that merge.

use super::{Interval, t_975};
use serde::{Deserialize, Serialize};

/// Bins of an octave, as a power of two.
const BITS: u32 = 6;

/// Counts of microseconds in bins: exact below 128 us, 1/64 of an octave wide above. Merges exactly, whatever the order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogCounts {
    counts: Vec<u32>,
}

impl LogCounts {
    /// Counts one value.
    pub fn add(&mut self, us: u64) {
        let bin = log_bin(us) as usize;
        if self.counts.len() <= bin {
            self.counts.resize(bin + 1, 0);
        }
        self.counts[bin] += 1;
    }

    /// Adds the counts of other values.
    pub fn merge(&mut self, other: &LogCounts) {
        if self.counts.len() < other.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, count)| *sum += count);
    }

    /// Returns whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// Returns how many values were counted.
    pub fn total(&self) -> u64 {
        self.counts.iter().map(|&count| u64::from(count)).sum()
    }

    /// Returns the middle of the bin that holds the lower median: the median within 1 %; 0 without values.
    pub fn median_us(&self) -> f64 {
        let mut left = self.total().saturating_sub(1) / 2;
        for (bin, &count) in self.counts.iter().enumerate() {
            if left < u64::from(count) {
                return log_bin_middle_us(bin as u32);
            }
            left -= u64::from(count);
        }
        0.0
    }
}

/// Returns the bin of a time: one microsecond wide below 128 us, 1/64 of an octave above.
pub fn log_bin(us: u64) -> u32 {
    let octave = (u64::BITS - us.leading_zeros()).saturating_sub(BITS + 1);
    (octave << BITS) + (us >> octave) as u32
}

/// Returns the middle of a [`log_bin`] in microseconds.
pub fn log_bin_middle_us(bin: u32) -> f64 {
    let octave = (bin >> BITS).saturating_sub(1);
    let low = u64::from(bin - (octave << BITS)) << octave;
    low as f64 + ((1u64 << octave) - 1) as f64 / 2.0
}

/// Effect of a grouping: the part of the differences between values that goes with their group.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// Share of the variance of the ranks that lies between groups, corrected for their number (the epsilon squared of
    /// Kruskal and Wallis): 0 nothing, 1 the group says everything.
    pub share: f64,
    /// Its 95 % interval, by the delta method.
    pub interval: Interval,
    /// Whether the test of Kruskal and Wallis finds a difference at 0.1 %: so strict since many keys are tried at once.
    pub is_certain: bool,
}

/// Returns the effect of the group on the values; `None` for fewer than two groups, an empty one, or values all in one
/// bin.
pub fn rank_effect(groups: &[&LogCounts]) -> Option<Effect> {
    let sizes: Vec<f64> = groups.iter().map(|group| group.total() as f64).collect();
    if groups.len() < 2 || sizes.contains(&0.0) {
        return None;
    }
    let mut all = LogCounts::default();
    groups.iter().for_each(|group| all.merge(group));
    let (n, k) = (sizes.iter().sum::<f64>(), groups.len() as f64);
    // Mid-ranks of the bins about their mean; ranks need no unit, so outliers cannot weigh more than their place.
    let mut before = 0.0;
    let mut ranks = Vec::with_capacity(all.counts.len());
    let mut variance = 0.0;
    for &count in &all.counts {
        let count = f64::from(count);
        let rank = before + (count - n) / 2.0;
        ranks.push(rank);
        variance += count * rank * rank / n;
        before += count;
    }
    if variance <= 0.0 || n <= k {
        return None;
    }
    let cells = |group: &LogCounts| {
        let cells = group.counts.iter().zip(&ranks).filter(|(count, _)| **count > 0);
        cells.map(|(&count, &rank)| (f64::from(count), rank)).collect::<Vec<_>>()
    };
    let means: Vec<f64> = (groups.iter().zip(&sizes))
        .map(|(g, n)| cells(g).iter().map(|(c, r)| c * r).sum::<f64>() / n)
        .collect();
    let between: f64 = means.iter().zip(&sizes).map(|(mean, size)| size * mean * mean / n).sum();
    let explained = between / variance;
    // Squares of what one value more would change.
    let mut influence = 0.0;
    for (group, mean) in groups.iter().zip(&means) {
        for (count, rank) in cells(group) {
            let change = (2.0 * mean * rank - mean * mean - explained * rank * rank) / variance;
            influence += count * change * change / n;
        }
    }
    let share = (1.0 - (1.0 - explained) * (n - 1.0) / (n - k)).max(0.0);
    let reach = t_975(n - k) * (influence / n).sqrt();
    Some(Effect {
        share,
        interval: Interval { low: (share - reach).max(0.0), high: (share + reach).min(1.0) },
        is_certain: (n - 1.0) * explained > chi_square_999(k - 1.0),
    })
}

/// Returns the 99.9 % quantile of chi squared (Wilson and Hilferty).
fn chi_square_999(freedom: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    let root = 1.0 - spread + 3.090_232 * spread.sqrt();
    freedom * root * root * root
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(values: impl IntoIterator<Item = u64>) -> LogCounts {
        let mut out = LogCounts::default();
        values.into_iter().for_each(|us| out.add(us));
        out
    }

    #[test]
    fn bins_hold_their_values_within_one_percent() {
        for us in (0..200).chain([1_000, 65_535, 65_536, 1 << 40, u64::MAX]) {
            let found = counts([us]).median_us();
            assert!((found - us as f64).abs() <= us as f64 * 0.008, "{us}: {found}");
        }
        assert_eq!(counts([1, 2, 3, 60]).median_us(), 2.0);
        let (mut a, b) = (counts([5, 1 << 30]), counts([5, 7]));
        a.merge(&b);
        assert_eq!(a, counts([7, 5, 5, 1 << 30]));
    }

    #[test]
    fn the_effect_is_that_of_the_ranks() {
        // Ranks 1 to 40 in two halves: 4000 of 5330 lies between, corrected by 39/38.
        let (low, high) = (counts(1..=20), counts(21..=40));
        let effect = rank_effect(&[&low, &high]).unwrap();
        assert!((effect.share - (1.0 - (1.0 - 4000.0 / 5330.0) * 39.0 / 38.0)).abs() < 1e-12);
        assert!(effect.is_certain && effect.interval.low > 0.6 && effect.interval.high < 0.9);
        // An outlier changes ranks by one place only.
        let wild = counts((21..=39).chain([1 << 50]));
        assert_eq!(rank_effect(&[&low, &wild]), Some(effect));
    }

    #[test]
    fn what_does_not_differ_has_no_effect() {
        let (even, odd) = (counts((0..60).step_by(2)), counts((1..60).step_by(2)));
        let effect = rank_effect(&[&even, &odd]).unwrap();
        assert!(effect.share < 0.01 && !effect.is_certain, "{effect:?}");
        assert_eq!(rank_effect(&[&even]), None);
        assert_eq!(rank_effect(&[&even, &LogCounts::default()]), None);
        assert_eq!(rank_effect(&[&counts([7, 7]), &counts([7, 7])]), None);
    }

    #[test]
    fn quantiles_of_chi_squared_are_those_of_the_tables() {
        // With one degree of freedom the approximation is 3 % too strict.
        for (freedom, expected) in [(1.0, 10.828), (4.0, 18.467), (20.0, 45.315)] {
            assert!((chi_square_999(freedom) / expected - 1.0).abs() < 0.031);
        }
    }
}
