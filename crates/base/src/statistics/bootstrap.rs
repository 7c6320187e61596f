//! Seeded bootstrap intervals of percentiles and of their ratios.

use super::{Interval, Random, Weight, Weights, weighted::weighted_or_plain};
use crate::sort::CompactSort as _;

/// Resamples drawn for an interval.
const RESAMPLES: usize = 2000;

/// Resamples drawn for the intervals of shares.
const SHARES: usize = 1000;

/// Draws from the gamma distribution of a shape from 1 up (Marsaglia and Tsang).
fn gamma(random: &mut Random, shape: f64) -> f64 {
    let d = shape - 1.0 / 3.0;
    let c = 1.0 / (9.0 * d).sqrt();
    loop {
        let x = random.normal();
        let v = 1.0 + c * x;
        if v <= 0.0 {
            continue;
        }
        let v = v * v * v;
        if libm::log(random.unit()) < 0.5 * x * x + d - d * v + d * libm::log(v) {
            return d * v;
        }
    }
}

/// Sorted values to draw from.
struct Drawn<'a> {
    sorted: &'a [(u64, Weight)],
    /// Up to and with each value its share of all weight; empty if all weights are equal.
    ends: Vec<f64>,
    /// The effective number of values.
    n: f64,
}

impl Drawn<'_> {
    /// Returns what is drawn from some values; `None` for fewer than two.
    fn of(sorted: &[(u64, Weight)]) -> Option<Drawn<'_>> {
        let all = Weights::of(sorted.iter().map(|of| of.1));
        let mut units = 0;
        let end = |&(_, weight): &(u64, Weight)| {
            units += u128::from(weight.units());
            units as f64 / all.units as f64
        };
        let ends = if all.are_equal() { Vec::new() } else { sorted.iter().map(end).collect() };
        let n = all.effective();
        (n >= 2.0).then_some(Drawn { sorted, ends, n })
    }

    /// Returns the value at a share of all weight.
    fn at(&self, share: f64) -> f64 {
        let place = match self.ends.as_slice() {
            [] => (share * self.n) as usize,
            ends => ends.partition_point(|&end| end <= share),
        };
        self.sorted[place.min(self.sorted.len() - 1)].0 as f64
    }
}

/// Returns the `p`-quantile of a resample of sorted values, drawn from its exact distribution without drawing the
/// resample: the k-th smallest of n uniform numbers is Beta(k, n + 1 - k), and says which value stands there.
fn resampled_percentile(random: &mut Random, drawn: &Drawn, p: f64) -> f64 {
    let n = drawn.n;
    let place = p * (n - 1.0);
    let below = place.floor();
    let (a, b) = (gamma(random, below + 1.0), gamma(random, n - below));
    let low = a / (a + b);
    let left = n - below - 1.0;
    // The next one up, given this one.
    let high = if left < 1.0 { low } else { 1.0 - (1.0 - low) * libm::pow(random.unit(), 1.0 / left) };
    drawn.at(low) + (drawn.at(high) - drawn.at(low)) * (place - below)
}

/// Returns the 95 % bootstrap interval of the ratio of the `p`-quantiles of sorted `values` to that of sorted
/// `reference`; `None` with fewer than two values on a side, or where the reference is 0 too often to tell.
pub fn ratio_interval(
    reference: &[(u64, Weight)],
    values: &[(u64, Weight)],
    p: f64,
    seed: u64,
) -> Option<Interval> {
    let (reference, values) = (Drawn::of(reference)?, Drawn::of(values)?);
    let mut random = Random::new(seed, 0, 0);
    let mut ratios: Vec<f64> = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let below = resampled_percentile(&mut random, &reference, p);
        let above = resampled_percentile(&mut random, &values, p);
        ratios.push(if below > 0.0 { above / below } else { f64::INFINITY });
    }
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[(share * (RESAMPLES - 1) as f64).round() as usize];
    let interval = Interval { low: at(0.025), high: at(0.975) };
    interval.high.is_finite().then_some(interval)
}

/// Returns the ratio of two `p`-quantiles; `None` where there is nothing to divide by.
pub fn ratio(reference: &[(u64, Weight)], values: &[(u64, Weight)], p: f64) -> Option<f64> {
    let below = weighted_or_plain(reference, p);
    (below > 0.0 && !values.is_empty()).then(|| weighted_or_plain(values, p) / below)
}

/// With fewer requests the share that something has of all latency is shown with its interval; from so many on it is
/// narrow.
pub const FEW: usize = 1000;

/// One request: the whole, and the parts of it that something has, as (its number, part).
pub type WholeAndParts = (u64, Vec<(u32, u64)>);

/// Returns the 95 % bootstrap intervals of shares: of what each of `n` things has of the wholes of all requests
/// together. The requests are drawn anew with all their parts. Their order does not matter; `None` with fewer than two
/// of them, and where there is nothing to divide by.
pub fn share_intervals(mut requests: Vec<WholeAndParts>, n: usize, seed: u64) -> Option<Vec<Interval>> {
    if requests.len() < 2 || requests.iter().all(|request| request.0 == 0) {
        return None;
    }
    // Which request is drawn how often must not depend on who read it. Equal ones are as good as each other.
    requests.compact_sort();
    let mut random = Random::new(seed, 0, 0);
    let mut drawn = vec![0_u16; requests.len() * SHARES];
    for sample in 0..SHARES {
        for _ in 0..requests.len() {
            let request = random.below(requests.len() as u64) as usize;
            drawn[request * SHARES + sample] += 1;
        }
    }
    let (mut wholes, mut parts) = (vec![0; SHARES], vec![Vec::new(); n]);
    for ((whole, own), drawn) in requests.into_iter().zip(drawn.chunks(SHARES)) {
        let add = |sums: &mut [u64], us: u64| {
            sums.iter_mut().zip(drawn).for_each(|(sum, &times)| *sum += us * u64::from(times));
        };
        add(&mut wholes, whole);
        for (number, us) in own {
            let sums = &mut parts[number as usize];
            sums.resize(SHARES, 0);
            add(sums, us);
        }
    }
    let interval = |sums: Vec<u64>| {
        let share = |(&part, &whole): (&u64, &u64)| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        let mut shares: Vec<f64> = sums.iter().zip(&wholes).map(share).collect();
        shares.sort_by(f64::total_cmp);
        let at = |p: f64| shares.get((p * (SHARES - 1) as f64).round() as usize).copied().unwrap_or(0.0);
        Interval { low: at(0.025), high: at(0.975) }
    };
    Some(parts.into_iter().map(interval).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::percentile;

    fn ones(values: &[u64]) -> Vec<(u64, Weight)> {
        values.iter().map(|&value| (value, Weight::ONE)).collect()
    }

    #[test]
    fn the_interval_is_that_of_resamples_drawn_one_by_one() {
        let values: Vec<u64> = (0..60).map(|i| 100 + i * i).collect();
        let reference: Vec<u64> = (0..40).map(|i| 90 + i * 7).collect();
        for p in [0.5, 0.95] {
            let mut random = Random::new(7, 0, 0);
            let mut plain: Vec<f64> = (0..RESAMPLES)
                .map(|_| {
                    let mut draw = |of: &[u64]| {
                        let mut resample: Vec<u64> =
                            of.iter().map(|_| of[random.below(of.len() as u64) as usize]).collect();
                        resample.sort_unstable();
                        percentile(&resample, p)
                    };
                    draw(&values) / draw(&reference)
                })
                .collect();
            plain.sort_by(f64::total_cmp);
            let found = ratio_interval(&ones(&reference), &ones(&values), p, 1).unwrap();
            for (end, rank) in [(found.low, 50), (found.high, 1949)] {
                assert!((end / plain[rank] - 1.0).abs() < 0.08, "{p}: {end} against {}", plain[rank]);
            }
        }
    }

    #[test]
    fn equal_groups_have_a_ratio_of_one_inside_and_seeds_repeat() {
        let values: Vec<u64> = (1..500).collect();
        let interval = ratio_interval(&ones(&values), &ones(&values), 0.5, 3).unwrap();
        assert!(interval.low < 1.0 && interval.high > 1.0 && interval.high < 1.3);
        assert_eq!(ratio_interval(&ones(&values), &ones(&values), 0.5, 3), Some(interval));
        assert_eq!(ratio_interval(&ones(&[5]), &ones(&values), 0.5, 3), None);
        assert_eq!(ratio_interval(&ones(&[0, 0, 0]), &ones(&values), 0.5, 3), None);
        assert_eq!(
            ratio_interval(&ones(&[5, 5]), &ones(&[10, 10, 10]), 0.99, 3),
            Some(Interval { low: 2.0, high: 2.0 })
        );
    }

    #[test]
    fn intervals_of_shares_cover_the_truth_and_do_not_depend_on_the_order_of_requests() {
        // Of 100 one thing has 10 to 50, 30 on average; another all of the rest; a third nothing.
        let set = |seed: u64, n: usize| -> Vec<WholeAndParts> {
            let mut random = Random::new(seed, 0, 0);
            let part = |random: &mut Random| 10 + random.below(41);
            (0..n).map(|_| part(&mut random)).map(|us| (100, vec![(0, us), (1, 100 - us)])).collect()
        };
        let covered = (0..200).filter(|&seed| {
            let found = share_intervals(set(seed, 60), 3, 5).unwrap();
            assert_eq!(found[2], Interval { low: 0.0, high: 0.0 });
            assert!((found[0].low + found[1].high - 1.0).abs() < 1e-12);
            (found[0].low..=found[0].high).contains(&0.3)
        });
        let covered = covered.count();
        assert!((178..=198).contains(&covered), "{covered} of 200");
        let width = |n| share_intervals(set(1, n), 3, 5).map(|found| found[0].high - found[0].low).unwrap();
        assert!((width(50) / width(800) / 4.0 - 1.0).abs() < 0.3, "{} {}", width(50), width(800));
        let mut turned = set(3, 40);
        turned.reverse();
        assert_eq!(share_intervals(turned, 3, 5), share_intervals(set(3, 40), 3, 5));
        assert_eq!(share_intervals(set(3, 1), 3, 5), None);
        assert_eq!(share_intervals(vec![(0, Vec::new()); 3], 1, 5), None);
    }

    /// Of three values drawn from 0, 1000 and 1000 the smallest is 0 unless none is (8 of 27 ways), and the next is 0 where two
    /// or all are (7 of 27). The quantile at 1/4 is half way between these two.
    #[test]
    fn a_quantile_of_a_resample_lies_between_two_of_its_values() {
        let values = ones(&[0, 1000, 1000]);
        let drawn = Drawn::of(&values).unwrap();
        let mut random = Random::new(5, 0, 0);
        let found: Vec<f64> = (0..2700).map(|_| resampled_percentile(&mut random, &drawn, 0.25)).collect();
        let often = |value: f64| found.iter().filter(|&&of| of == value).count();
        let (low, between, high) = (often(0.0), often(500.0), often(1000.0));
        assert_eq!(low + between + high, 2700);
        assert!(low.abs_diff(700) < 90 && between.abs_diff(1200) < 90, "{low} {between} {high}");
    }

    #[test]
    fn a_ratio_is_of_the_second_to_the_first() {
        assert_eq!(ratio(&ones(&[10, 20]), &ones(&[30, 60]), 0.5), Some(3.0));
        assert_eq!(ratio(&ones(&[0, 0]), &ones(&[30, 60]), 0.5), None);
        assert_eq!(ratio(&ones(&[10, 20]), &[], 0.5), None);
    }
}
