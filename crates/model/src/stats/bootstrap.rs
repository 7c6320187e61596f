//! Seeded bootstrap intervals of percentiles and of their ratios.

use super::random::Random;
use super::summary::percentile;
use super::welch::Interval;

/// Resamples drawn for an interval.
const RESAMPLES: usize = 2000;

/// Gamma of a shape from 1 up (Marsaglia and Tsang).
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

/// The `p`-quantile of a resample of sorted values, drawn from its exact distribution without drawing the resample: the
/// k-th smallest of n uniform numbers is Beta(k, n + 1 - k), and says which value stands there.
fn resampled_percentile(random: &mut Random, sorted: &[u64], p: f64) -> f64 {
    let n = sorted.len() as f64;
    let place = p * (n - 1.0);
    let below = place.floor();
    let (a, b) = (gamma(random, below + 1.0), gamma(random, n - below));
    let low = a / (a + b);
    let left = n - below - 1.0;
    // The next one up, given this one.
    let high = if left < 1.0 { low } else { 1.0 - (1.0 - low) * libm::pow(random.unit(), 1.0 / left) };
    let at = |u: f64| sorted[((u * n) as usize).min(sorted.len() - 1)] as f64;
    at(low) + (at(high) - at(low)) * (place - below)
}

/// The 95 % bootstrap interval of the ratio of the `p`-quantiles of sorted `values` to that of sorted `reference`;
/// `None` with fewer than two values on a side, or where the reference is 0 too often to tell.
pub fn ratio_interval(reference: &[u64], values: &[u64], p: f64, seed: u64) -> Option<Interval> {
    if reference.len() < 2 || values.len() < 2 {
        return None;
    }
    let mut random = Random::new(seed, 0, 0);
    let mut ratios: Vec<f64> = Vec::with_capacity(RESAMPLES);
    for _ in 0..RESAMPLES {
        let below = resampled_percentile(&mut random, reference, p);
        let above = resampled_percentile(&mut random, values, p);
        ratios.push(if below > 0.0 { above / below } else { f64::INFINITY });
    }
    ratios.sort_by(f64::total_cmp);
    let at = |share: f64| ratios[(share * (RESAMPLES - 1) as f64).round() as usize];
    let interval = Interval { low: at(0.025), high: at(0.975) };
    interval.high.is_finite().then_some(interval)
}

/// The ratio of two `p`-quantiles; `None` where there is nothing to divide by.
pub fn ratio(reference: &[u64], values: &[u64], p: f64) -> Option<f64> {
    let below = percentile(reference, p);
    (below > 0.0 && !values.is_empty()).then(|| percentile(values, p) / below)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let found = ratio_interval(&reference, &values, p, 1).unwrap();
            for (end, rank) in [(found.low, 50), (found.high, 1949)] {
                assert!((end / plain[rank] - 1.0).abs() < 0.08, "{p}: {end} against {}", plain[rank]);
            }
        }
    }

    #[test]
    fn equal_groups_have_a_ratio_of_one_inside_and_seeds_repeat() {
        let values: Vec<u64> = (1..500).collect();
        let interval = ratio_interval(&values, &values, 0.5, 3).unwrap();
        assert!(interval.low < 1.0 && interval.high > 1.0 && interval.high < 1.3);
        assert_eq!(ratio_interval(&values, &values, 0.5, 3), Some(interval));
        assert_eq!(ratio_interval(&[5], &values, 0.5, 3), None);
        assert_eq!(ratio_interval(&[0, 0, 0], &values, 0.5, 3), None);
        assert_eq!(ratio_interval(&[5, 5], &[10, 10, 10], 0.99, 3), Some(Interval { low: 2.0, high: 2.0 }));
    }
}
