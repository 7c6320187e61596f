//! The surprise of a number among those of training (`docs/definitions/anomaly.md` section 2).

use super::categories::{Counts, without};
use crate::anomalies::sets::FOLDS;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{exp, ln};

/// Steps of a quantised logarithm in one unit of it.
const STEPS: f64 = 100.0;
/// Buckets of a power of two in the table of [`Quantiser`]: each is narrower than a step.
const BUCKET_BITS: u32 = 8;

/// The quantised logarithm of an amount of at least 1, quickly.
#[derive(Clone, Debug)]
pub struct Quantiser {
    /// Of each bucket the quantised logarithm of its least amount.
    first: Vec<u16>,
    /// Of each quantised logarithm the least amount that has it.
    least: Vec<u64>,
}

fn bucket(amount: u64) -> usize {
    let octave = amount.ilog2();
    let fraction = match octave.checked_sub(BUCKET_BITS) {
        Some(down) => amount >> down,
        None => amount << (BUCKET_BITS - octave),
    };
    (octave << BUCKET_BITS) as usize + (fraction & ((1 << BUCKET_BITS) - 1)) as usize
}

fn quantised(amount: u64) -> u16 {
    (STEPS * ln(amount as f64) + 0.5) as u16
}

impl Default for Quantiser {
    fn default() -> Quantiser {
        let top = quantised(u64::MAX) as usize;
        let mut least = vec![u64::MAX; top + 2];
        // The least amount of each: by bisection, since rounding of a logarithm is all that counts.
        for (q, least) in least.iter_mut().enumerate().take(top + 1) {
            let (mut low, mut high) = (1u64, u64::MAX);
            while low < high {
                let middle = low + (high - low) / 2;
                if usize::from(quantised(middle)) >= q { high = middle } else { low = middle + 1 }
            }
            *least = low;
        }
        let amounts = (0..64 << BUCKET_BITS).map(|bucket: u64| {
            let (octave, fraction) = (bucket >> BUCKET_BITS, bucket & ((1 << BUCKET_BITS) - 1));
            let amount = (1u128 << octave) + ((u128::from(fraction) << octave) >> BUCKET_BITS);
            quantised(amount as u64)
        });
        Quantiser { first: amounts.collect(), least }
    }
}

impl Quantiser {
    /// Returns a hundred times the natural logarithm of an amount, rounded; that of 0 is that of 1.
    pub fn of(&self, amount: u64) -> u16 {
        let amount = amount.clamp(1, u64::MAX - 1);
        let mut q = self.first[bucket(amount)];
        while amount >= self.least[usize::from(q) + 1] {
            q += 1;
        }
        q
    }
}

/// Returns the amount that a quantised logarithm stands for.
pub fn amount(q: u16) -> f64 {
    exp(f64::from(q) / STEPS)
}

/// Numbers as quantised logarithms, ascending, each with how many training calls of each fold have it.
pub type Histogram = Vec<(u16, Counts)>;

/// Joins histograms.
pub fn join<'a>(histograms: impl Iterator<Item = &'a Histogram>) -> Histogram {
    let mut all: Histogram = histograms.flatten().copied().collect();
    all.compact_sort_by_key(|(q, _)| *q);
    all.dedup_by(|(q, from), (kept, into)| {
        let is_same = q == kept;
        if is_same {
            into.iter_mut().zip(from).for_each(|(into, from)| *into += *from);
        }
        is_same
    });
    all
}

/// Prior of how far other numbers lie beyond those of training: excesses are exponential with a mean that has a prior.
#[derive(Clone, Copy, Debug)]
pub struct Prior {
    /// Excesses that the prior counts for.
    pub weight: f64,
    /// Mean of these excesses of logarithms.
    pub mean: f64,
}

/// The prior of times.
pub const TIMES: Prior = Prior { weight: 2.0, mean: 0.4 };
/// The prior of numbers of calls.
pub const COUNTS: Prior = Prior { weight: 1.0, mean: 0.25 };

/// One end of the numbers that four folds leave.
#[derive(Clone, Copy, Debug, Default)]
struct End {
    /// The outermost number.
    edge: u16,
    /// Excesses summed, the number they are measured from, and how many there are.
    excess: f64,
    from: u16,
    k: u32,
}

impl End {
    /// Reads it from the outermost number inwards; `n` numbers are left.
    fn of<'a>(outermost: impl Iterator<Item = &'a (u16, Counts)>, n: u32, left_out: usize) -> End {
        if n == 0 {
            return End::default();
        }
        let k = (n - 1).min((n.div_ceil(50)).max(3));
        let mut end = End { k, ..End::default() };
        let (mut seen, mut sum) = (0u32, 0.0);
        for (q, counts) in outermost {
            let here = without(counts, left_out);
            if here == 0 {
                continue;
            }
            if seen == 0 {
                end.edge = *q;
            }
            let taken = here.min(k - seen.min(k));
            sum += f64::from(taken) * f64::from(*q);
            seen += here;
            if seen > k {
                end.from = *q;
                break;
            }
        }
        end.excess = (sum - f64::from(k) * f64::from(end.from)).abs() / STEPS;
        end
    }
}

/// Numbers of training that four folds leave: how many there are, and both ends.
#[derive(Clone, Copy, Debug)]
pub struct Tail {
    prior: Prior,
    left_out: usize,
    n: u32,
    high: End,
    low: End,
}

impl Tail {
    /// Reads it from a histogram.
    pub fn new(histogram: &[(u16, Counts)], prior: Prior, left_out: usize) -> Tail {
        let n = histogram.iter().map(|(_, counts)| without(counts, left_out)).sum();
        let high = End::of(histogram.iter().rev(), n, left_out);
        let low = End::of(histogram.iter(), n, left_out);
        Tail { prior, left_out, n, high, low }
    }

    /// Returns the training calls.
    pub fn len(&self) -> u32 {
        self.n
    }

    /// Returns whether all of them have one number, which is returned.
    pub fn only_value(&self) -> Option<u16> {
        (self.n > 0 && self.high.edge == self.low.edge).then_some(self.high.edge)
    }

    /// Returns the surprise of a number on one side, where so many are at least as far out.
    fn side(&self, passed: u32, q: u16, is_high: bool) -> f64 {
        match passed {
            0 => self.beyond(q, is_high),
            _ => ln((f64::from(self.n) + 1.0) / f64::from(1 + passed)) - std::f64::consts::LN_2,
        }
    }

    /// Returns the surprise of a number beyond those that four folds have.
    fn beyond(&self, q: u16, is_high: bool) -> f64 {
        let n = f64::from(self.n);
        let end = if is_high { &self.high } else { &self.low };
        let x = (f64::from(q) - f64::from(end.from)).abs() / STEPS;
        let Prior { weight, mean } = self.prior;
        let k = f64::from(end.k);
        let fall = (k + weight) * ln(1.0 + x / (end.excess + weight * mean));
        let s = ln((n + 1.0) / (k + 1.0)) + fall;
        s.max(ln(n + 1.0)) - std::f64::consts::LN_2
    }

    /// Returns the surprise of a number, at least 0, by the histogram that this was read from: what [`TailCounts::surprise`]
    /// says, in time linear in the histogram.
    pub fn surprise(&self, histogram: &[(u16, Counts)], q: u16) -> f64 {
        if self.n == 0 {
            return 0.0;
        }
        let (mut above, mut below, mut is_seen) = (0, 0, false);
        for (value, counts) in histogram {
            let here = without(counts, self.left_out);
            above += if *value >= q { here } else { 0 };
            below += if *value <= q { here } else { 0 };
            is_seen |= *value == q;
        }
        let side = |passed, is_high| match self.side(passed, q, is_high) {
            s if is_seen || passed > 0 => f64::from(s as f32),
            s => s,
        };
        side(above, true).max(side(below, false)).max(0.0)
    }
}

/// Returns the table of places of ascending numbers; none where it would be much larger than they are.
fn places(values: &[u16]) -> Vec<u16> {
    let (Some(&least), Some(&greatest)) = (values.first(), values.last()) else { return Vec::new() };
    if usize::from(greatest - least) >= 4 * values.len() {
        return Vec::new();
    }
    let mut at = 0;
    let place = |q: u16| {
        while values[at] < q {
            at += 1;
        }
        at as u16
    };
    (least..=greatest).map(place).collect()
}

/// Numbers of training, for any fold left out, as a table.
#[derive(Clone, Debug)]
pub struct TailCounts {
    /// Numbers seen, ascending.
    values: Vec<u16>,
    /// By difference to the least number, the place of the first that is at least as great; empty where numbers seen are
    /// too far apart for that.
    places: Vec<u16>,
    /// Of each number the surprise of at least as great ones and of at most as great ones, with each fold left out.
    surprises: Vec<[[f32; FOLDS]; 2]>,
    /// What each fold that is left out leaves.
    tails: [Tail; FOLDS],
}

impl TailCounts {
    /// Learns from a histogram.
    pub fn new(histogram: &Histogram, prior: Prior) -> TailCounts {
        let values: Vec<u16> = histogram.iter().map(|(q, _)| *q).collect();
        let tails = std::array::from_fn(|fold| Tail::new(histogram, prior, fold));
        let mut surprises = vec![[[0.0; FOLDS]; 2]; histogram.len()];
        for (fold, tail) in tails.iter().enumerate() {
            for side in [0, 1] {
                let mut passed = 0;
                for place in 0..histogram.len() {
                    let at = if side == 0 { histogram.len() - 1 - place } else { place };
                    let (q, counts) = &histogram[at];
                    passed += without(counts, fold);
                    surprises[at][side][fold] = tail.side(passed, *q, side == 0) as f32;
                }
            }
        }
        TailCounts { places: places(&values), values, surprises, tails }
    }

    /// Returns what is left without a fold.
    pub fn without(&self, fold: usize) -> &Tail {
        &self.tails[fold]
    }

    /// Returns the place of the first number seen that is at least as great.
    fn place(&self, q: u16) -> usize {
        match self.values.first() {
            Some(least) if !self.places.is_empty() => {
                let place = self.places.get(usize::from(q.saturating_sub(*least)));
                place.map_or(self.values.len(), |place| usize::from(*place))
            }
            _ => self.values.partition_point(|&value| value < q),
        }
    }

    /// Returns the surprise of a number with a fold left out, at least 0.
    pub fn surprise(&self, fold: usize, q: u16) -> f64 {
        let tail = self.without(fold);
        if tail.len() == 0 {
            return 0.0;
        }
        let at = self.place(q);
        if self.values.get(at) == Some(&q) {
            let [high, low] = &self.surprises[at];
            return f64::from(high[fold].max(low[fold])).max(0.0);
        }
        let high =
            if q > tail.high.edge { tail.beyond(q, true) } else { f64::from(self.surprises[at][0][fold]) };
        let low = if q < tail.low.edge {
            tail.beyond(q, false)
        } else {
            f64::from(self.surprises[at - 1][1][fold])
        };
        high.max(low).max(0.0)
    }
}

/// Returns the quantile of a histogram over all folds, as an amount; `None` of an empty one.
pub fn percentile(histogram: &Histogram, share: f64) -> Option<f64> {
    let here = |counts: &[u32; FOLDS]| counts.iter().map(|count| u64::from(*count)).sum::<u64>();
    let total: u64 = histogram.iter().map(|(_, counts)| here(counts)).sum();
    let place = (share * total.saturating_sub(1) as f64) as u64;
    let mut passed = 0;
    let found = histogram.iter().find(|(_, counts)| {
        passed += here(counts);
        passed > place
    });
    found.map(|(q, _)| amount(*q))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::f64::consts::LN_2;

    /// Returns a histogram of numbers that all belong to fold 0, so that fold 1 leaves all of them.
    fn of(values: &[u16]) -> Histogram {
        let one = |&q: &u16| vec![(q, [1, 0, 0, 0, 0])];
        let ones: Vec<Histogram> = values.iter().map(one).collect();
        join(ones.iter())
    }

    #[test]
    fn quantised_logarithms_are_those_of_the_definition() {
        let quantiser = Quantiser::default();
        for amount in (1..5000).chain([1 << 20, (1 << 33) + 7, u64::MAX / 3]) {
            assert_eq!(quantiser.of(amount), quantised(amount), "{amount}");
        }
        assert_eq!((quantiser.of(0), quantiser.of(u64::MAX)), (0, 4436));
    }

    #[test]
    fn within_the_numbers_of_training_a_surprise_is_a_rank_on_both_sides() {
        let tail = TailCounts::new(&of(&[10, 20, 30, 40, 50, 60, 70]), TIMES);
        // 20: 2 of 7 are at most as great, so p = 3/8; 6 at least as great.
        assert!((tail.surprise(1, 20) - (ln(8.0 / 3.0) - LN_2)).abs() < 1e-6);
        // Between two: 2 are below.
        assert!((tail.surprise(1, 25) - tail.surprise(1, 20)).abs() < 1e-6);
        assert_eq!(tail.surprise(1, 40), 0.0);
        // With its only fold left out nothing is known.
        assert_eq!((tail.surprise(0, 900), tail.without(0).len()), (0.0, 0));
    }

    #[test]
    fn beyond_them_a_surprise_grows_by_a_pareto_tail() {
        let tail = TailCounts::new(&of(&[100, 110, 120, 130, 140, 150, 160]), TIMES);
        // k = 3: from the fourth greatest, 130, the excesses are .1, .2 and .3.
        let by_hand = |x: f64| ln(8.0 / 4.0) + 5.0 * ln(1.0 + x / (0.6 + 0.8)) - LN_2;
        assert!((tail.surprise(1, 330) - by_hand(2.0)).abs() < 1e-9);
        assert!((tail.surprise(1, 1) - (ln(2.0) + 5.0 * ln(1.0 + 1.29 / 1.4) - LN_2)).abs() < 1e-9);
        // Never less than one beyond all others.
        assert!((tail.surprise(1, 161) - (ln(8.0) - LN_2)).abs() < 1e-9);
        assert_eq!(tail.without(1).only_value(), None);
        assert_eq!(TailCounts::new(&of(&[7, 7]), COUNTS).without(1).only_value(), Some(7));
    }

    #[test]
    fn a_number_is_found_by_a_table_as_by_a_search() {
        for values in [vec![5], vec![7, 8, 10, 13, 14, 20], vec![3, 400, 4000], vec![]] {
            let tail = TailCounts::new(&of(&values), TIMES);
            assert_eq!(tail.places.is_empty(), values.is_empty() || values[0] == 3);
            for q in (0..30).chain([399, 400, 401, 3999, 4000, 4436]) {
                assert_eq!(tail.place(q), values.partition_point(|&value| value < q), "{q} in {values:?}");
            }
        }
    }

    #[test]
    fn a_surprise_without_a_table_is_that_of_the_table() {
        let histogram =
            [(10, [1, 0, 2, 0, 0]), (20, [0, 4, 0, 0, 0]), (23, [0; FOLDS]), (90, [3, 0, 0, 0, 0])];
        for (histogram, prior) in [(&histogram[..], TIMES), (&histogram[..1], COUNTS), (&[], TIMES)] {
            let table = TailCounts::new(&histogram.to_vec(), prior);
            for (fold, q) in (0..FOLDS).flat_map(|fold| (0..100).map(move |q| (fold, q))) {
                let tail = Tail::new(histogram, prior, fold);
                assert_eq!(tail.surprise(histogram, q), table.surprise(fold, q), "{q} without {fold}");
            }
        }
    }

    #[test]
    fn a_fold_left_out_takes_its_numbers_along() {
        let histogram = vec![(10, [1, 0, 0, 0, 0]), (20, [0, 4, 0, 0, 0]), (90, [3, 0, 0, 0, 0])];
        let tail = TailCounts::new(&histogram, TIMES);
        assert_eq!([0, 1, 2].map(|fold| tail.without(fold).len()), [4, 4, 8]);
        // Without fold 0 all are 20, and 90 is beyond: excesses are 0.
        assert_eq!(tail.without(0).only_value(), Some(20));
        assert!((tail.surprise(0, 90) - (ln(5.0 / 4.0) + 5.0 * ln(1.0 + 0.7 / 0.8) - LN_2)).abs() < 1e-6);
        assert_eq!(percentile(&histogram, 0.5).map(|x| (100.0 * ln(x)).round()), Some(20.0));
    }
}
