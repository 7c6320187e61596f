//! Tests of hypotheses: how likely a difference is by chance alone, and which of many differences may be believed.

use super::MeanError;
use super::welch::incomplete_beta;
use crate::sort::CompactSort as _;

/// Returns the two-sided p-value of Welch's test that two means are equal; `None` with fewer than two values on a side or
/// without any variance.
pub fn welch_p(a: MeanError, b: MeanError) -> Option<f64> {
    let (error, freedom) = super::welch::error_and_freedom(a, b)?;
    Some(student_p((b.mean - a.mean) / error.sqrt(), freedom))
}

/// Returns how likely a standard normal number lies at least this far from 0.
pub fn normal_p(z: f64) -> f64 {
    libm::erfc(z.abs() / std::f64::consts::SQRT_2)
}

/// Returns how likely a number of Student's t with so many degrees of freedom lies at least this far from 0.
pub fn student_p(t: f64, freedom: f64) -> f64 {
    // P(|T| > t) = I(v / (v + t^2); v / 2, 1 / 2).
    incomplete_beta(freedom / (freedom + t * t), freedom / 2.0, 0.5)
}

/// Returns the one-sided p-value of Fisher's exact test: `with_a` of `n_a` have something, and `with_b` of `n_b`; how
/// likely would at least `with_a` of the first group have it if the group did not matter?
pub fn fisher_p(with_a: u64, n_a: u64, with_b: u64, n_b: u64) -> f64 {
    let (marked, all) = ((with_a + with_b) as f64, (n_a + n_b) as f64);
    let (n_a, n_b) = (n_a as f64, n_b as f64);
    let choose = |n: f64, k: f64| libm::lgamma(n + 1.0) - libm::lgamma(k + 1.0) - libm::lgamma(n - k + 1.0);
    let mut k = with_a as f64;
    let mut term = libm::exp(choose(n_a, k) + choose(n_b, marked - k) - choose(all, marked));
    let mut sum = 0.0;
    while k <= marked.min(n_a) {
        sum += term;
        // Terms shrink faster and faster once they shrink.
        let next = (n_a - k) * (marked - k) / ((k + 1.0) * (n_b - marked + k + 1.0));
        if next < 1.0 && term < sum * 1e-17 {
            break;
        }
        term *= next;
        k += 1.0;
    }
    sum.min(1.0)
}

/// Returns up to which p-value hypotheses may be rejected so that on average at most `rate` of the rejected ones are true
/// (Benjamini and Hochberg 1995); `None` if none may.
pub fn false_discovery_limit(p: &[f64], rate: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = p.iter().copied().filter(|p| p.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let passes = sorted.iter().enumerate().rev().find(|(i, p)| **p <= rate * (*i as f64 + 1.0) / n);
    passes.map(|(_, p)| *p)
}

/// Returns which of some hypotheses may be rejected, see [`false_discovery_limit`]; in the order of `p`.
pub fn false_discovery(p: &[f64], rate: f64) -> Vec<bool> {
    let limit = false_discovery_limit(p, rate);
    p.iter().map(|p| limit.is_some_and(|limit| *p <= limit)).collect()
}

/// A place in a sequence from which on the values differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChangePoint {
    /// Number of values before it.
    pub before: usize,
    /// Probability of a change this clear by chance.
    pub p: f64,
}

/// Returns where the level of a sequence changes most clearly, by ranks (Pettitt 1979), of the places that `may_split`
/// allows: so many values come before. `None` without such a place.
pub fn change_point(values: &[u64], may_split: impl Fn(usize) -> bool) -> Option<ChangePoint> {
    let n = values.len();
    let mut order: Vec<u32> = (0..n as u32).collect();
    order.compact_sort_by_key(|&i| values[i as usize]);
    // Twice the mid-rank minus n + 1, so that everything stays whole.
    let mut centred = vec![0i64; n];
    let mut below = 0;
    for same in order.chunk_by(|&a, &b| values[a as usize] == values[b as usize]) {
        let rank = 2 * below + same.len() as i64 - n as i64;
        below += same.len() as i64;
        same.iter().for_each(|&i| centred[i as usize] = rank);
    }
    let mut sum = 0i64;
    let mut best: Option<(i64, usize)> = None;
    for (before, rank) in (1..n).zip(&centred) {
        sum += rank;
        if may_split(before) && best.is_none_or(|(most, _)| sum.abs() > most) {
            best = Some((sum.abs(), before));
        }
    }
    let (k, before) = best?;
    let (k, n) = (k as f64, n as f64);
    Some(ChangePoint { before, p: (2.0 * libm::exp(-6.0 * k * k / (n * n * n + n * n))).min(1.0) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::{Moments, Random};

    #[test]
    fn welchs_p_is_that_of_a_table() {
        let side = |values: &[u64]| {
            let mut moments = Moments::default();
            values.iter().for_each(|&v| moments.add(v));
            MeanError::new(moments, values.len() as u64, 1.0)
        };
        // Means 20 and 30 with equal variances of 100: t = 1.2247 with 4 degrees of freedom.
        let p = welch_p(side(&[10, 20, 30]), side(&[20, 30, 40])).unwrap();
        assert!((p - 0.287_864).abs() < 1e-5, "{p}");
        assert_eq!(welch_p(side(&[5, 5]), side(&[7, 7])), None);
    }

    #[test]
    fn fishers_p_counts_the_tables_that_are_as_extreme() {
        // The lady tasting tea: 4 of 4 against 0 of 4 is 1 of 70 ways, 3 against 1 and better 17 of 70.
        assert!((fisher_p(4, 4, 0, 4) - 1.0 / 70.0).abs() < 1e-12);
        assert!((fisher_p(3, 4, 1, 4) - 17.0 / 70.0).abs() < 1e-12);
        assert!((fisher_p(0, 4, 4, 4) - 1.0).abs() < 1e-12);
        assert!(fisher_p(50_000, 100_000, 50_000, 100_000) > 0.4);
    }

    #[test]
    fn false_discoveries_are_those_of_the_paper() {
        // The 15 p-values of the example in Benjamini and Hochberg 1995: the first four are rejected.
        let p = [
            0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719,
            0.6528, 0.7590, 1.0,
        ];
        let rejected = false_discovery(&p, 0.05);
        assert_eq!(rejected.iter().filter(|r| **r).count(), 4);
        assert!(rejected[..4].iter().all(|r| *r));
        assert!(false_discovery(&[], 0.05).is_empty());
    }

    #[test]
    fn a_change_is_found_where_it_is_and_rarely_where_there_is_none() {
        let mut random = Random::new(7, 0, 0);
        let changed: Vec<u64> =
            (0..100).map(|i| random.log_normal_us(if i < 60 { 30.0 } else { 90.0 } * 1e3, 0.3)).collect();
        let found = change_point(&changed, |_| true).unwrap();
        assert!(found.before.abs_diff(60) <= 2 && found.p < 1e-6, "{found:?}");
        let false_ones = (0..200).filter(|_| {
            let same: Vec<u64> = (0..80).map(|_| random.log_normal_us(3e4, 0.8)).collect();
            change_point(&same, |_| true).unwrap().p < 0.05
        });
        assert!(false_ones.count() <= 12);
        assert!(change_point(&[5; 50], |_| true).unwrap().p >= 1.0);
        // Only where it may be.
        let late = change_point(&changed, |before| before >= 70).unwrap();
        assert!(late.before == 70 && late.p > found.p, "{late:?}");
        assert_eq!(change_point(&changed, |_| false), None);
        assert_eq!(change_point(&[7], |_| true), None);
    }
}
