//! Judging by a trained auto-encoder (paper appendix C).

use super::Vae;
use super::model::Pass;
use crate::anomalies::paper::{FeatureCell, Features};
use pathlight_trace::NO_ROW;
use serde::{Deserialize, Serialize};

/// A request whose log-likelihood is lower than all but this share of the training density is abnormal (appendix C).
pub const P_VALUE: f64 = 0.001;

/// Verdict of the auto-encoder on a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VaeVerdict {
    /// Logarithm of the likelihood.
    pub log_likelihood: f64,
    /// Share of the density of training log-likelihoods at or below it.
    pub p: f64,
    /// The same of the training requests that were held out; `None` if none were.
    pub p_held_out: Option<f64>,
    /// It has a call path that training has not: abnormal by definition.
    pub is_unseen: bool,
}

impl VaeVerdict {
    /// Returns whether it is abnormal (appendix C).
    pub fn is_abnormal(&self) -> bool {
        self.is_unseen || self.p < P_VALUE
    }

    /// Returns whether it is abnormal by the likelihoods of requests that the network had not learned; `None` without
    /// such. The likelihoods of requests that it has learned are too high to be a measure of new ones.
    pub fn is_abnormal_held_out(&self) -> Option<bool> {
        self.p_held_out.map(|p| self.is_unseen || p < P_VALUE)
    }

    /// Returns the key by which requests are ranked; more anomalous ones have smaller keys.
    pub fn rank(&self) -> [f64; 4] {
        [f64::from(u8::from(!self.is_unseen)), self.log_likelihood, 0.0, 0.0]
    }
}

/// Judge made once for an auto-encoder and the features it judges.
pub struct VaeJudge {
    /// Of each call path of the features its column, [`NO_ROW`] where it has none.
    numbers: Vec<u32>,
    density: Density,
    held_out: Density,
    pass: Pass,
}

impl VaeJudge {
    /// Gets ready to judge features.
    pub fn new(vae: &Vae, features: &Features) -> VaeJudge {
        VaeJudge {
            numbers: features.paths.numbers_in(&vae.paths),
            density: Density::new(&vae.likelihoods),
            held_out: Density::new(&vae.held_out),
            pass: vae.pass(),
        }
    }

    /// Judges some rows of the features.
    pub fn judge(&mut self, vae: &Vae, features: &Features, rows: std::ops::Range<usize>) -> Vec<VaeVerdict> {
        let numbers = &self.numbers;
        let (mut input, mut is_unseen) = (Vec::new(), Vec::new());
        for row in rows.clone() {
            let cells = features.row(row).iter();
            let cells = cells.map(|cell| FeatureCell { path: numbers[cell.path as usize], ..*cell });
            is_unseen.push(cells.clone().any(|cell| cell.path == NO_ROW));
            vae.standardise(cells.filter(|cell| cell.path != NO_ROW), &mut input);
        }
        let found = vae.log_likelihoods(&input, rows.start as u64, &mut self.pass);
        let verdicts = found.into_iter().zip(is_unseen).map(|(log_likelihood, is_unseen)| VaeVerdict {
            log_likelihood: f64::from(log_likelihood),
            p: self.density.at_most(&vae.likelihoods, f64::from(log_likelihood)),
            p_held_out: (!vae.held_out.is_empty())
                .then(|| self.held_out.at_most(&vae.held_out, f64::from(log_likelihood))),
            is_unseen,
        });
        verdicts.collect()
    }
}

/// A kernel density of sorted numbers: Gaussian kernels, their width by Silverman's rule.
struct Density {
    width: f64,
}

impl Density {
    fn new(sorted: &[f32]) -> Density {
        let n = sorted.len().max(1) as f64;
        let mean = sorted.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
        let squares: f64 = sorted.iter().map(|x| (f64::from(*x) - mean) * (f64::from(*x) - mean)).sum();
        let at = |p: f64| sorted.get((p * (n - 1.0)) as usize).map_or(0.0, |x| f64::from(*x));
        // A few requests far out must not widen the kernel for all.
        let spread = (squares / n).sqrt().min((at(0.75) - at(0.25)) / 1.34);
        Density { width: (0.9 * spread * libm::pow(n, -0.2)).max(1e-6) }
    }

    /// Returns the share of the density at or below x, of the numbers it was made for.
    fn at_most(&self, sorted: &[f32], x: f64) -> f64 {
        // Beyond eight widths a kernel is all on one side.
        let from = sorted.partition_point(|y| f64::from(*y) < x - 8.0 * self.width);
        let to = sorted.partition_point(|y| f64::from(*y) <= x + 8.0 * self.width);
        let near = sorted[from..to].iter().map(|y| (x - f64::from(*y)) / self.width);
        let within: f64 = near.map(|z| 0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)).sum();
        (from as f64 + within) / sorted.len().max(1) as f64
    }

    /// Returns the greatest log-likelihood that is abnormal.
    fn threshold(&self, sorted: &[f32]) -> Option<f64> {
        let (mut below, mut above) =
            (f64::from(*sorted.first()?) - 8.0 * self.width, f64::from(*sorted.last()?));
        for _ in 0..60 {
            let middle = f64::midpoint(below, above);
            let is_below = self.at_most(sorted, middle) < P_VALUE;
            *(if is_below { &mut below } else { &mut above }) = middle;
        }
        Some(below)
    }
}

impl Vae {
    /// Returns the log-likelihoods below which requests are abnormal: by those learned from, as in the paper, and by
    /// those held out.
    pub fn thresholds(&self) -> [Option<f64>; 2] {
        [&self.likelihoods, &self.held_out].map(|sorted| Density::new(sorted).threshold(sorted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_is_where_the_p_value_is_met() {
        let sorted: Vec<f32> = (0..1000).map(|i| i as f32 / 10.0).collect();
        let density = Density::new(&sorted);
        let threshold = density.threshold(&sorted).unwrap_or(0.0);
        assert!(density.at_most(&sorted, threshold) < P_VALUE);
        assert!(density.at_most(&sorted, threshold + 1e-6) >= P_VALUE);
        assert_eq!(Density::new(&[]).threshold(&[]), None);
    }

    #[test]
    fn the_share_of_a_density_runs_from_none_to_all() {
        let sorted: Vec<f32> = (0..1000).map(|i| i as f32 / 10.0).collect();
        let density = Density::new(&sorted);
        assert!((density.at_most(&sorted, 50.0) - 0.5).abs() < 0.01);
        assert!(density.at_most(&sorted, -1000.0) < 1e-9 && density.at_most(&sorted, 1000.0) > 1.0 - 1e-9);
    }
}
