//! Six ways to look at a request, made one score, and the conformal test (`docs/definitions/anomaly.md` section 3).

use super::super::PartOfRequest;
use crate::anomalies::sets::FOLDS;
use pathlight_base::statistics::ln;
use serde::{Deserialize, Serialize};

/// Of each part the greatest surprise, and the sum of surprises.
pub type ViewScores = [f64; 6];

/// The share of the sum of all views in a score: it decides among equals.
const SUM_SHARE: f64 = 0.001;

/// Verdict on a request: how anomalous it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeVerdict {
    /// The score T: requests are ranked by it. It has no bound and is no probability.
    pub score: f64,
    /// Share of training requests at least as anomalous, 1 / (n + 1) at least.
    pub p: f64,
    /// The part of the request that leads.
    pub part: PartOfRequest,
    /// Its root was never seen in training: there is no verdict.
    pub is_unknown: bool,
}

impl TreeVerdict {
    /// Returns whether a request is abnormal at a rate of false alarms, of which the model's least is possible.
    pub fn is_abnormal(&self, alpha: f64) -> bool {
        // A p-value is a ratio of whole numbers; rounding must not decide.
        !self.is_unknown && self.p <= alpha * (1.0 + 1e-9)
    }
}

/// Scores of training requests, each judged by the other folds.
#[derive(Clone, Debug, Default)]
pub struct Views {
    views: [View; 6],
    /// Final scores of each fold, ascending.
    by_fold: [Vec<f64>; FOLDS],
}

/// One of the views.
#[derive(Clone, Debug, Default)]
struct View {
    /// Ascending.
    sorted: Vec<f64>,
    beyond: Beyond,
}

/// An exponential tail beyond the greatest of sorted scores.
#[derive(Clone, Copy, Debug, Default)]
struct Beyond {
    n: f64,
    k: f64,
    from: f64,
    scale: f64,
}

impl Beyond {
    fn of(sorted: &[f64]) -> Beyond {
        let n = sorted.len();
        if n == 0 {
            return Beyond { scale: 1.0, ..Beyond::default() };
        }
        let k = (n - 1).min(n.div_ceil(20).max(3));
        let from = sorted[n - 1 - k];
        let excess: f64 = sorted[n - k..].iter().map(|x| x - from).sum();
        let (n, k) = (n as f64, k as f64);
        let mean = if k > 0.0 { excess / k } else { 0.0 };
        Beyond { n, k, from, scale: (mean * (k + 2.0) / (k + 1.0)).max(1.0) }
    }

    fn surprise(&self, x: f64) -> f64 {
        let far = ln((self.n + 1.0) / (self.k + 1.0)) + (x - self.from) / self.scale;
        far.max(ln(self.n + 1.0))
    }
}

/// Returns the numbers at least as great as x.
fn at_least(sorted: &[f64], x: f64) -> usize {
    sorted.len() - sorted.partition_point(|&y| y < x)
}

impl View {
    fn surprise(&self, x: f64) -> f64 {
        match at_least(&self.sorted, x) {
            0 => self.beyond.surprise(x),
            n => ln((self.sorted.len() as f64 + 1.0) / (n as f64 + 1.0)),
        }
    }

    /// Returns the surprise of one of the sorted scores, ranked without itself.
    fn own_surprise(&self, x: f64) -> f64 {
        let n = self.sorted.len();
        match at_least(&self.sorted, x) {
            0 | 1 => Beyond::of(&self.sorted[..n.saturating_sub(1)]).surprise(x),
            others => ln(n as f64 / others as f64),
        }
    }
}

/// Returns one score of six surprises.
fn score(surprises: &ViewScores) -> f64 {
    surprises.iter().fold(0.0f64, |most, s| most.max(*s)) + SUM_SHARE * surprises.iter().sum::<f64>()
}

fn part(surprises: &ViewScores) -> PartOfRequest {
    let mut leading = 0;
    for view in 1..surprises.len() {
        if surprises[view] > surprises[leading] {
            leading = view;
        }
    }
    [PartOfRequest::Structure, PartOfRequest::OnPath, PartOfRequest::OffPath][leading / 2]
}

impl Views {
    /// Makes the views of the fold and scores of each training request.
    pub fn new(calibration: &[(u8, ViewScores)]) -> Views {
        let views = std::array::from_fn(|view| {
            let mut sorted: Vec<f64> = calibration.iter().map(|(_, scores)| scores[view]).collect();
            sorted.sort_by(f64::total_cmp);
            let beyond = Beyond::of(&sorted);
            View { sorted, beyond }
        });
        let mut views = Views { views, by_fold: Default::default() };
        let scored: Vec<(u8, f64)> =
            calibration.iter().map(|(fold, scores)| (*fold, score(&views.own(scores)))).collect();
        scored.iter().for_each(|&(fold, score)| views.by_fold[usize::from(fold)].push(score));
        views.by_fold.iter_mut().for_each(|scores| scores.sort_by(f64::total_cmp));
        views
    }

    fn own(&self, scores: &ViewScores) -> ViewScores {
        std::array::from_fn(|view| self.views[view].own_surprise(scores[view]))
    }

    /// Returns all scores of training requests, ascending.
    pub(super) fn scores(&self) -> Vec<f64> {
        let mut all = self.by_fold.concat();
        all.sort_by(f64::total_cmp);
        all
    }

    fn p(&self, at_least: usize) -> f64 {
        let n = self.by_fold.iter().map(Vec::len).sum::<usize>();
        (1 + at_least) as f64 / (n + 1) as f64
    }

    /// Returns the verdict of a training request, from its own scores.
    pub fn own_verdict(&self, scores: &ViewScores) -> TreeVerdict {
        let surprises = self.own(scores);
        let score = score(&surprises);
        let others = self.by_fold.iter().map(|of_fold| at_least(of_fold, score)).sum::<usize>();
        TreeVerdict { score, p: self.p(others.saturating_sub(1)), part: part(&surprises), is_unknown: false }
    }

    /// Returns the verdict of another request, from its scores with each fold left out.
    pub fn verdict(&self, by_fold: &[ViewScores; FOLDS]) -> TreeVerdict {
        let (mut sum, mut others, mut surprises) = (0.0, 0, ViewScores::default());
        for (scores, of_fold) in by_fold.iter().zip(&self.by_fold) {
            let here: ViewScores = std::array::from_fn(|view| self.views[view].surprise(scores[view]));
            let here_score = score(&here);
            others += at_least(of_fold, here_score);
            sum += here_score;
            surprises.iter_mut().zip(here).for_each(|(sum, s)| *sum += s);
        }
        let score = sum / FOLDS as f64;
        TreeVerdict { score, p: self.p(others), part: part(&surprises), is_unknown: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration(n: usize) -> Vec<(u8, ViewScores)> {
        (0..n).map(|i| ((i % FOLDS) as u8, [i as f64, 0.0, 0.0, 0.0, 0.0, 0.0])).collect()
    }

    #[test]
    fn a_p_value_is_the_share_of_training_at_least_as_anomalous() {
        let views = Views::new(&calibration(99));
        let of = |x: f64| views.verdict(&[[x, 0.0, 0.0, 0.0, 0.0, 0.0]; FOLDS]);
        assert_eq!(of(500.0).p, 0.01);
        assert_eq!(of(0.0).p, 1.0);
        // 49 of 99 are greater than 49.5.
        assert!((of(49.5).p - 0.5).abs() < 0.011, "{}", of(49.5).p);
        assert!(of(500.0).score > of(200.0).score && of(200.0).part == PartOfRequest::Structure);
        let path = views.verdict(&[[0.0, 0.0, 0.0, 9.0, 0.0, 0.0]; FOLDS]);
        assert_eq!((path.part, path.p), (PartOfRequest::OnPath, 0.01));
    }

    #[test]
    fn a_training_request_is_ranked_without_itself() {
        let views = Views::new(&calibration(99));
        let own = |i: usize| views.own_verdict(&calibration(99)[i].1);
        // 50 of 99 are at least as great as the middle, itself included.
        assert!((own(49).p - 0.5).abs() < 0.011);
        assert!((own(98).p - 0.01).abs() < 1e-12, "{}", own(98).p);
        assert!(own(98).score > own(97).score);
    }

    #[test]
    fn beyond_all_scores_a_surprise_grows_by_the_mean_excess() {
        let beyond = Beyond::of(&[0.0, 1.0, 2.0, 4.0, 9.0]);
        // k = 3 of 5, from 1: excesses 1, 3 and 8, mean 4, times 5/4.
        assert_eq!((beyond.k, beyond.from, beyond.scale), (3.0, 1.0, 5.0));
        assert!((beyond.surprise(11.0) - (ln(6.0 / 4.0) + 2.0)).abs() < 1e-9);
        assert!((beyond.surprise(9.5) - ln(6.0)).abs() < 0.4);
    }
}
