//! Values of which percentiles are asked: all of them while they are few, counts in bins beyond.

use pathlight_base::statistics::{log_bin, log_bin_middle_us, percentile};
use serde::{Deserialize, Serialize, Serializer};
use std::ops::{BitOrAssign, Shl};

/// Up to so many values are kept as they are, so percentiles are exact.
pub const EXACT: u64 = 10_000;

/// The greatest relative error of a percentile of more than [`EXACT`] values: half of a bin of 1/64 octave.
pub const RELATIVE_ERROR: f64 = 1.0 / 128.0;

/// Microseconds that merge: the result depends on the values alone, not on their order or on how they were grouped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sketch {
    n: u64,
    min_us: u64,
    max_us: u64,
    held: Held,
}

/// Bytes as they stand in a file: what is joined a thousand times is not read number by number before it is needed.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "Stored")]
enum Held {
    /// Differences of the sorted values, seven bits a byte; of up to [`EXACT`] values.
    Values(Vec<u8>),
    /// Of each bin with values the difference of its number from that of the bin before, and how many values it has.
    Bins(Vec<u8>),
}

/// The values as they stand in a file.
#[derive(Serialize, Deserialize)]
enum Stored {
    Values(#[serde(with = "pathlight_base::packed")] Vec<u8>),
    /// Bins of files before version 4.
    Pairs(Vec<(u32, u64)>),
    Bins(#[serde(with = "pathlight_base::packed")] Vec<u8>),
}

impl From<Stored> for Held {
    fn from(stored: Stored) -> Held {
        match stored {
            Stored::Values(bytes) => Held::Values(bytes),
            Stored::Pairs(bins) => Held::Bins(pack_bins(bins)),
            Stored::Bins(bytes) => Held::Bins(bytes),
        }
    }
}

impl Serialize for Held {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let stored = match self {
            Held::Values(bytes) => Stored::Values(bytes.clone()),
            Held::Bins(bytes) => Stored::Bins(bytes.clone()),
        };
        stored.serialize(serializer)
    }
}

impl Default for Held {
    fn default() -> Held {
        Held::Values(Vec::new())
    }
}

/// Appends a number, seven bits a byte.
pub(crate) fn push_number(out: &mut Vec<u8>, number: impl Into<u128>) {
    let mut rest = number.into();
    while rest >= 0x80 {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Reads numbers, seven bits a byte, of as many bits as their type has.
pub(crate) fn each_number<N>(bytes: &[u8], mut each: impl FnMut(N))
where
    N: Copy + From<u8> + BitOrAssign + Shl<u32, Output = N>,
{
    let (mut value, mut shift) = (N::from(0), 0u32);
    for &byte in bytes {
        if shift < 8 * size_of::<N>() as u32 {
            value |= N::from(byte & 0x7f) << shift;
        }
        shift += 7;
        if byte & 0x80 == 0 {
            each(value);
            (value, shift) = (N::from(0), 0);
        }
    }
}

fn pack(sorted: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(sorted.len() * 2);
    let mut last = 0;
    for &value in sorted {
        push_number(&mut out, value - last);
        last = value;
    }
    out
}

fn unpack_each(bytes: &[u8], mut each: impl FnMut(u64)) {
    let mut last = 0u64;
    each_number(bytes, |difference: u64| {
        last = last.wrapping_add(difference);
        each(last);
    });
}

/// Packs bins by number, none twice.
fn pack_bins(bins: impl IntoIterator<Item = (u32, u64)>) -> Vec<u8> {
    let (mut out, mut last) = (Vec::new(), 0);
    for (bin, n) in bins {
        // Out of order it can be only in a file that somebody made, which is then refused.
        push_number(&mut out, u64::from(bin.wrapping_sub(last)));
        push_number(&mut out, n);
        last = bin;
    }
    out
}

fn each_bin(bytes: &[u8], mut each: impl FnMut(u32, u64)) {
    let (mut bin, mut is_number) = (0u32, false);
    each_number(bytes, |number: u64| {
        if is_number {
            each(bin, number);
        } else {
            bin = bin.saturating_add(u32::try_from(number).unwrap_or(u32::MAX));
        }
        is_number = !is_number;
    });
}

fn unpack(bytes: &[u8]) -> Vec<u64> {
    let mut out = Vec::new();
    unpack_each(bytes, |value| out.push(value));
    out
}

fn count(sorted: &[u64]) -> Vec<(u32, u64)> {
    let groups = sorted.chunk_by(|&a, &b| log_bin(a) == log_bin(b));
    groups.map(|group| (log_bin(group[0]), group.len() as u64)).collect()
}

impl Sketch {
    /// Returns the sketch of some values, in any order.
    pub fn of(mut values: Vec<u64>) -> Sketch {
        values.sort_unstable();
        let (Some(&min_us), Some(&max_us)) = (values.first(), values.last()) else {
            return Sketch::default();
        };
        let n = values.len() as u64;
        let held =
            if n <= EXACT { Held::Values(pack(&values)) } else { Held::Bins(pack_bins(count(&values))) };
        Sketch { n, min_us, max_us, held }
    }

    /// Returns the sketch of values counted in bins, however few they are; what it is added to is then counted too.
    pub(crate) fn binned(values: Vec<u64>) -> Sketch {
        let sketch = Sketch::of(values);
        if sketch.n == 0 {
            return sketch;
        }
        let held = Held::Bins(pack_bins(sketch.held.bins()));
        Sketch { held, ..sketch }
    }

    /// Adds the values of another sketch.
    pub fn merge(&mut self, other: &Sketch) {
        if other.n > 0 {
            *self = Sketch::sum([&*self, other].into_iter());
        }
    }

    /// Returns the values of all of these. Many at once cost little more than each by itself: what is kept is sorted
    /// once, and what is counted is counted once.
    pub fn sum<'a>(sketches: impl Iterator<Item = &'a Sketch> + Clone) -> Sketch {
        let of = || sketches.clone().filter(|sketch| sketch.n > 0);
        let n: u64 = of().map(|sketch| sketch.n).sum();
        let (Some(min_us), Some(max_us)) =
            (of().map(|sketch| sketch.min_us).min(), of().map(|sketch| sketch.max_us).max())
        else {
            return Sketch::default();
        };
        let mut lists = of().map_while(|sketch| match &sketch.held {
            Held::Values(bytes) if n <= EXACT => Some(bytes),
            _ => None,
        });
        let mut values = Vec::new();
        lists.by_ref().for_each(|bytes| unpack_each(bytes, |value| values.push(value)));
        let held = if values.len() as u64 == n {
            // A stable sort joins runs.
            values.sort();
            Held::Values(pack(&values))
        } else {
            Held::Bins(pack_bins(Held::count(of().map(|sketch| &sketch.held))))
        };
        Sketch { n, min_us, max_us, held }
    }

    /// Returns how many values there are.
    pub fn n(&self) -> u64 {
        self.n
    }

    /// Returns the greatest value, exactly; 0 without values.
    pub fn max_us(&self) -> u64 {
        self.max_us
    }

    /// Returns the least value, exactly; 0 without values.
    pub fn min_us(&self) -> u64 {
        self.min_us
    }

    /// Returns the sum of all values: exact while they are all kept.
    pub fn sum_us(&self) -> u128 {
        let sum = |sum: u128, (us, n): (u64, u64)| sum.saturating_add(u128::from(us) * u128::from(n));
        self.counts().into_iter().fold(0, sum)
    }

    /// Returns the values in order with how often each is: those of a bin as its middle.
    pub fn counts(&self) -> Vec<(u64, u64)> {
        match &self.held {
            Held::Values(bytes) => {
                unpack(bytes).chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).collect()
            }
            held => {
                let middle = |bin| (log_bin_middle_us(bin) as u64).clamp(self.min_us, self.max_us);
                held.bins().into_iter().map(|(bin, n)| (middle(bin), n)).collect()
            }
        }
    }

    /// Returns its bins by number, with how many values each has.
    pub(crate) fn bins(&self) -> Vec<(u32, u64)> {
        self.held.bins()
    }

    /// Returns the values of these ranks, which is exact if they end where bins do.
    pub(crate) fn of_ranks(&self, ranks: std::ops::Range<u64>) -> Sketch {
        if ranks == (0..self.n) {
            return self.clone();
        }
        match &self.held {
            Held::Values(bytes) => {
                let values = unpack(bytes);
                let end = values.len().min(ranks.end as usize);
                Sketch::of(values[end.min(ranks.start as usize)..end].to_vec())
            }
            held => {
                let mut rank = 0;
                let mut inside = Vec::new();
                for (bin, n) in held.bins() {
                    let (from, to) = (rank.max(ranks.start), (rank + n).min(ranks.end));
                    inside.extend((from < to).then_some((bin, to.saturating_sub(from))));
                    rank += n;
                }
                let middle = |bin: Option<&(u32, u64)>| {
                    bin.map_or(0, |bin| (log_bin_middle_us(bin.0) as u64).clamp(self.min_us, self.max_us))
                };
                Sketch {
                    n: inside.iter().map(|bin| bin.1).sum(),
                    min_us: if ranks.start == 0 { self.min_us } else { middle(inside.first()) },
                    max_us: if ranks.end >= self.n { self.max_us } else { middle(inside.last()) },
                    held: Held::Bins(pack_bins(inside)),
                }
            }
        }
    }

    /// Returns how far a percentile may be off, as a share of itself: 0 while all values are kept.
    pub fn error(&self) -> f64 {
        if matches!(self.held, Held::Values(_)) { 0.0 } else { RELATIVE_ERROR }
    }

    /// Returns the `p`-quantiles (0 to 1), by linear interpolation at (n - 1) p; 0 without values.
    pub fn quantiles<const N: usize>(&self, p: [f64; N]) -> [f64; N] {
        match &self.held {
            Held::Values(bytes) => {
                let values = unpack(bytes);
                p.map(|p| percentile(&values, p))
            }
            held => {
                let bins = held.bins();
                p.map(|p| self.quantile_of(&bins, p))
            }
        }
    }

    fn quantile_of(&self, bins: &[(u32, u64)], p: f64) -> f64 {
        let place = p.clamp(0.0, 1.0) * self.n.saturating_sub(1) as f64;
        let value = |rank: u64| {
            let mut left = rank;
            for &(bin, count) in bins {
                if left < count {
                    return log_bin_middle_us(bin).clamp(self.min_us as f64, self.max_us as f64);
                }
                left -= count;
            }
            self.max_us as f64
        };
        let (low, high) = (value(place as u64), value(place as u64 + 1));
        low + (high - low) * place.fract()
    }

    /// Returns the standard error of the `p`-quantile (Woodruff 1952): half the distance of the quantiles that lie one
    /// standard deviation of a binomial share to both sides.
    pub fn quantile_error(&self, p: f64) -> f64 {
        if self.n < 2 {
            return f64::INFINITY;
        }
        let reach = (p * (1.0 - p) / self.n as f64).sqrt();
        let [low, high] = self.quantiles([p - reach, p + reach]);
        (high - low) / 2.0
    }

    /// Returns how many values of each of two sketches lie above the `p`-quantile of both together. Where one has
    /// bins, or both together would, both are counted by bins.
    pub(crate) fn above(a: &Sketch, b: &Sketch, p: f64) -> [u64; 2] {
        let mut both = a.clone();
        both.merge(b);
        let [limit_us] = both.quantiles([p]);
        [a, b].map(|sketch| match (&both.held, &sketch.held) {
            (Held::Values(_), Held::Values(bytes)) => {
                unpack(bytes).into_iter().filter(|&us| us as f64 > limit_us).count() as u64
            }
            (_, held) => {
                let bins = held.bins().into_iter().filter(|&(bin, _)| log_bin_middle_us(bin) > limit_us);
                bins.map(|(_, n)| n).sum()
            }
        })
    }

    /// Returns the greatest time of which all values are multiples, such as 1000 where a clock shows milliseconds: 0
    /// without values or with binned ones.
    pub fn tick_us(&self) -> u64 {
        let Held::Values(bytes) = &self.held else { return 0 };
        let common = |mut a: u64, mut b: u64| {
            while b > 0 {
                (a, b) = (b, a % b);
            }
            a
        };
        unpack(bytes).into_iter().fold(0, common)
    }

    /// Returns whether it is what [`of`](Self::of) and [`merge`](Self::merge) leave; only then it may be merged and
    /// asked.
    pub(crate) fn is_sound(&self) -> bool {
        match &self.held {
            Held::Values(bytes) => {
                let (mut n, mut first, mut last, mut is_sorted) = (0, None, None, true);
                unpack_each(bytes, |value| {
                    is_sorted &= last.is_none_or(|last| last <= value);
                    (n, last) = (n + 1, Some(value));
                    first = first.or(last);
                });
                n == self.n
                    && n <= EXACT
                    && is_sorted
                    && (first, last) == (Some(self.min_us), Some(self.max_us))
                    || *self == Sketch::default()
            }
            Held::Bins(bytes) => {
                let (mut sum, mut last, mut is_sorted) = (Some(0u64), None, true);
                each_bin(bytes, |bin, n| {
                    is_sorted &= last.is_none_or(|last| last < bin);
                    (sum, last) = (sum.and_then(|sum| sum.checked_add(n)), Some(bin));
                });
                is_sorted
                    && last.is_some_and(|bin| bin <= log_bin(u64::MAX))
                    && sum == Some(self.n)
                    && self.n <= MOST
                    && self.min_us <= self.max_us
            }
        }
    }
}

impl Held {
    fn bins(&self) -> Vec<(u32, u64)> {
        match self {
            Held::Values(bytes) => count(&unpack(bytes)),
            Held::Bins(bytes) => {
                let mut bins = Vec::new();
                each_bin(bytes, |bin, n| bins.push((bin, n)));
                bins
            }
        }
    }

    /// Returns how many values of all of these lie in each bin.
    fn count<'a>(of: impl Iterator<Item = &'a Held>) -> Vec<(u32, u64)> {
        let mut counts: Vec<u64> = Vec::new();
        let mut add = |bin: u32, n: u64| {
            let bin = bin as usize;
            if counts.len() <= bin {
                counts.resize(bin + 1, 0);
            }
            counts[bin] += n;
        };
        for held in of {
            match held {
                Held::Values(bytes) => unpack_each(bytes, |value| add(log_bin(value), 1)),
                Held::Bins(bytes) => each_bin(bytes, &mut add),
            }
        }
        (0..).zip(counts).filter(|&(_, n)| n > 0).collect()
    }
}

/// More of anything is not believed of a file: sums of so many files as there are cannot overflow then.
pub(crate) const MOST: u64 = 1 << 48;

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::Random;
    use proptest::prelude::*;

    #[test]
    fn packing_is_undone() {
        let values = [0, 0, 3, 127, 128, 1 << 40, u64::MAX];
        assert_eq!(unpack(&pack(&values)), values);
        assert_eq!(unpack(&[0xff; 30]), [0u64; 0]);
    }

    #[test]
    fn percentiles_of_many_values_are_within_the_bound_and_those_of_few_exact() {
        let mut random = Random::new(3, 0, 0);
        for n in [1usize, 2, 9_999, 10_000, 10_001, 60_000] {
            let mut value = || {
                let bits = random.below(30);
                random.below(2 << bits)
            };
            let mut values: Vec<u64> = (0..n).map(|_| value()).collect();
            let sketch = Sketch::of(values.clone());
            values.sort_unstable();
            assert_eq!(sketch.error() == 0.0, n <= 10_000);
            for p in [0.0, 0.25, 0.5, 0.9, 0.95, 0.99, 1.0] {
                let (exact, found) = (percentile(&values, p), sketch.quantiles([p])[0]);
                assert!(
                    (found - exact).abs() <= sketch.error() * exact + 1e-6,
                    "{n} {p}: {found} for {exact}"
                );
            }
            assert_eq!(sketch.max_us(), *values.last().unwrap());
            assert!(sketch.is_sound());
        }
    }

    #[test]
    fn the_tick_of_a_clock_is_found() {
        assert_eq!(Sketch::of([vec![5_000; 90], vec![8_000]].concat()).tick_us(), 1_000);
        assert_eq!(Sketch::of(vec![7, 5_000]).tick_us(), 1);
        assert_eq!(Sketch::of(vec![]).tick_us(), 0);
    }

    #[test]
    fn the_standard_error_of_a_median_is_that_of_theory() {
        // Uniform on 0 to 1,000,000: the median of n has a standard deviation of 1,000,000 / (2 sqrt n).
        let sketch = Sketch::of((0..10_000).map(|i| i * 100).collect());
        let error = sketch.quantile_error(0.5);
        assert!((error / 5_000.0 - 1.0).abs() < 0.05, "{error}");
        assert_eq!(Sketch::of(vec![5]).quantile_error(0.5), f64::INFINITY);
    }

    #[test]
    fn values_above_the_common_quantile_are_counted_of_each_side() {
        let [low, high] = [0, 50].map(|shift| Sketch::of((shift..shift + 100).collect()));
        // Of 0 to 99 and 50 to 149 the median lies between 74 and 75.
        assert_eq!(Sketch::above(&low, &high, 0.5), [25, 75]);
        assert_eq!(Sketch::above(&low, &low, 0.5), [50, 50]);
        // In bins, as soon as one side or both together are too many.
        let many = Sketch::of((0..20_000).map(|us| us % 100).collect());
        assert_eq!(Sketch::above(&low, &many, 0.9), [10, 2_000]);
    }

    proptest! {
        #[test]
        fn merging_is_free_of_order_and_grouping(
            parts in prop::collection::vec((prop::collection::vec(0u64..1 << 40, 0..40), 1usize..300), 1..6),
            keys in prop::collection::vec(any::<u32>(), 6),
        ) {
            // Repeated, so that some cases cross the limit.
            let parts: Vec<Vec<u64>> = parts.iter().map(|(v, times)| v.repeat(*times)).collect();
            let whole = Sketch::of(parts.concat());
            let mut order: Vec<usize> = (0..parts.len()).collect();
            order.sort_by_key(|&i| keys[i]);
            let mut left = Sketch::default();
            order.iter().for_each(|&i| left.merge(&Sketch::of(parts[i].clone())));
            prop_assert_eq!(&left, &whole);
            let mut right = Sketch::default();
            for part in parts.iter().rev() {
                let mut sum = Sketch::of(part.clone());
                sum.merge(&right);
                right = sum;
            }
            prop_assert_eq!(&right, &whole);
        }
    }
}
