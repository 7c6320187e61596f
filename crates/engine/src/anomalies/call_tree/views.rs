//! Six ways to look at a request, made one score, the delay, and the conformal test of each (`docs/definitions/anomaly.md` section 3).

use super::super::PartOfRequest;
use crate::anomalies::sets::FOLDS;
use pathlight_base::statistics::ln;
use serde::{Deserialize, Serialize};

/// Of each part the greatest surprise, and the sum of surprises.
pub type ViewScores = [f64; 6];

/// The share of the sum of all views in a score: it decides among equals.
const SUM_SHARE: f64 = 0.001;

/// Result of one test of a request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TestResult {
    /// Share of training requests at least as anomalous, 1 / (n + 1) at least.
    pub p: f64,
    /// How surprising that is: -ln p; beyond all training requests it grows with the distance. It has no bound.
    pub surprise: f64,
}

/// Verdict on a request: how anomalous it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeVerdict {
    /// The score T of how different it is. It has no bound and is no probability.
    pub score: f64,
    /// The test of that score.
    pub different: TestResult,
    /// The test of its delay; `None` by a baseline of an earlier version, which has none.
    pub delayed: Option<TestResult>,
    /// The part of the request that leads in its difference.
    pub part: PartOfRequest,
    /// Its root was never seen in training: there is no verdict.
    pub is_unknown: bool,
}

/// Verdict on a request whose root was never seen in training.
pub(super) const UNKNOWN: TreeVerdict = TreeVerdict {
    score: 0.0,
    different: TestResult { p: 1.0, surprise: 0.0 },
    delayed: None,
    part: PartOfRequest::Structure,
    is_unknown: true,
};

/// Returns one p-value of several tests, by Bonferroni's rule: the least, times their number.
pub fn one_p(different: f64, delayed: Option<f64>) -> f64 {
    delayed.map_or(different, |delayed| (2.0 * different.min(delayed)).min(1.0))
}

impl TreeVerdict {
    /// Returns one p-value of both tests.
    pub fn p(&self) -> f64 {
        one_p(self.different.p, self.delayed.map(|delayed| delayed.p))
    }

    /// Returns by what requests are ranked: the greater of both surprises; of a baseline that has no test of the delay, the
    /// score.
    pub fn rank(&self) -> f64 {
        self.delayed.map_or(self.score, |delayed| delayed.surprise.max(self.different.surprise))
    }

    /// Returns whether a request is abnormal by either test at a rate of false alarms, of which the model's least is
    /// possible.
    pub fn is_abnormal(&self, alpha: f64) -> bool {
        self.is_delayed(alpha) || self.is_different(alpha)
    }

    /// Returns whether a request is delayed at a rate of false alarms.
    pub fn is_delayed(&self, alpha: f64) -> bool {
        self.delayed.is_some_and(|delayed| self.is_within(delayed.p, alpha))
    }

    /// Returns whether a request is different at a rate of false alarms.
    pub fn is_different(&self, alpha: f64) -> bool {
        self.is_within(self.different.p, alpha)
    }

    /// Returns whether a p-value of this verdict is at most a rate of false alarms.
    pub fn is_within(&self, p: f64, alpha: f64) -> bool {
        // A p-value is a ratio of whole numbers; rounding must not decide.
        !self.is_unknown && p <= alpha * (1.0 + 1e-9)
    }
}

/// Scores of training requests, each judged by the other folds.
#[derive(Clone, Debug, Default)]
pub struct Views {
    views: [View; 6],
    different: Test,
    delayed: Option<Test>,
    /// The verdict on each training request, in the order of the calibration.
    pub own: Vec<TreeVerdict>,
}

/// Some scores of training requests, each by what the other folds say.
#[derive(Clone, Debug, Default)]
struct View {
    /// Ascending.
    sorted: Vec<f64>,
    beyond: Beyond,
}

/// A test: other requests are compared with the scores of training requests, fold by fold.
#[derive(Clone, Debug, Default)]
struct Test {
    all: View,
    /// The scores of each fold, ascending.
    by_fold: [Vec<f64>; FOLDS],
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

/// Returns the numbers at least as great as x. Rounding does not decide: those of a file may come from a program whose
/// logarithms differ in the last bit.
fn at_least(sorted: &[f64], x: f64) -> usize {
    let x = x - 1e-9 * x.abs();
    sorted.len() - sorted.partition_point(|&y| y < x)
}

impl View {
    fn of(scores: impl Iterator<Item = f64>) -> View {
        let mut sorted: Vec<f64> = scores.collect();
        sorted.sort_by(f64::total_cmp);
        let beyond = Beyond::of(&sorted);
        View { sorted, beyond }
    }

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

impl Test {
    fn new(scores: impl Iterator<Item = (u8, f64)> + Clone) -> Test {
        let all = View::of(scores.clone().map(|(_, score)| score));
        let mut by_fold: [Vec<f64>; FOLDS] = Default::default();
        scores.for_each(|(fold, score)| by_fold[usize::from(fold)].push(score));
        by_fold.iter_mut().for_each(|scores| scores.sort_by(f64::total_cmp));
        Test { all, by_fold }
    }

    fn p(&self, at_least: usize) -> f64 {
        (1 + at_least) as f64 / (self.all.sorted.len() + 1) as f64
    }

    /// Returns the result of a training request, ranked without itself.
    fn of_own(&self, score: f64) -> TestResult {
        let others = at_least(&self.all.sorted, score);
        TestResult { p: self.p(others.saturating_sub(1)), surprise: self.all.own_surprise(score) }
    }

    /// Returns the result of another request, from its scores with each fold left out.
    fn of_other(&self, scores: &[f64; FOLDS]) -> TestResult {
        let others = scores.iter().zip(&self.by_fold).map(|(score, of_fold)| at_least(of_fold, *score)).sum();
        let p = self.p(others);
        let surprise = match others {
            0 => scores.iter().map(|&score| self.all.beyond.surprise(score)).sum::<f64>() / FOLDS as f64,
            _ => -ln(p),
        };
        TestResult { p, surprise }
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
    /// Makes the views of the fold and scores of each training request, and of the delay of each; none by earlier versions.
    pub fn new(calibration: &[(u8, ViewScores)], delays: &[f64]) -> Views {
        let views = std::array::from_fn(|view| View::of(calibration.iter().map(|(_, scores)| scores[view])));
        let mut views = Views { views, ..Views::default() };
        let surprises: Vec<ViewScores> =
            calibration.iter().map(|(_, scores)| views.own_surprises(scores)).collect();
        let folds = || calibration.iter().map(|(fold, _)| *fold);
        views.different = Test::new(folds().zip(surprises.iter().map(score)));
        if !delays.is_empty() {
            views.delayed = Some(Test::new(folds().zip(delays.iter().copied())));
        }
        let own = surprises.iter().enumerate().map(|(at, own)| views.verdict_of(own, delays.get(at)));
        views.own = own.collect();
        views
    }

    fn own_surprises(&self, scores: &ViewScores) -> ViewScores {
        std::array::from_fn(|view| self.views[view].own_surprise(scores[view]))
    }

    /// Returns whether there is a test of the delay.
    pub fn has_delays(&self) -> bool {
        self.delayed.is_some()
    }

    /// Returns the verdict of a training request, from its own scores and its delay.
    pub fn own_verdict(&self, scores: &ViewScores, delay: f64) -> TreeVerdict {
        self.verdict_of(&self.own_surprises(scores), Some(&delay))
    }

    /// Returns the verdict of a training request, from its surprises and its delay.
    fn verdict_of(&self, surprises: &ViewScores, delay: Option<&f64>) -> TreeVerdict {
        let score = score(surprises);
        let delayed = self.delayed.as_ref().zip(delay).map(|(test, delay)| test.of_own(*delay));
        let different = self.different.of_own(score);
        TreeVerdict { score, different, delayed, part: part(surprises), is_unknown: false }
    }

    /// Returns the verdict of another request, from its scores and delays with each fold left out.
    pub fn verdict(&self, by_fold: &[ViewScores; FOLDS], delays: &[f64; FOLDS]) -> TreeVerdict {
        let mut surprises = ViewScores::default();
        let scores = by_fold.map(|scores| {
            let here: ViewScores = std::array::from_fn(|view| self.views[view].surprise(scores[view]));
            surprises.iter_mut().zip(here).for_each(|(sum, s)| *sum += s);
            score(&here)
        });
        TreeVerdict {
            score: scores.iter().sum::<f64>() / FOLDS as f64,
            different: self.different.of_other(&scores),
            delayed: self.delayed.as_ref().map(|test| test.of_other(delays)),
            part: part(&surprises),
            is_unknown: false,
        }
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
        let views = Views::new(&calibration(99), &[]);
        let of = |x: f64| views.verdict(&[[x, 0.0, 0.0, 0.0, 0.0, 0.0]; FOLDS], &[0.0; FOLDS]);
        assert_eq!(of(500.0).different.p, 0.01);
        assert_eq!((of(0.0).different.p, of(0.0).delayed), (1.0, None));
        // 49 of 99 are greater than 49.5.
        assert!((of(49.5).different.p - 0.5).abs() < 0.011, "{}", of(49.5).different.p);
        assert!(of(500.0).score > of(200.0).score && of(200.0).part == PartOfRequest::Structure);
        let path = views.verdict(&[[0.0, 0.0, 0.0, 9.0, 0.0, 0.0]; FOLDS], &[0.0; FOLDS]);
        assert_eq!((path.part, path.different.p), (PartOfRequest::OnPath, 0.01));
    }

    #[test]
    fn a_training_request_is_ranked_without_itself() {
        let views = Views::new(&calibration(99), &[]);
        let own = |i: usize| views.own[i];
        // 50 of 99 are at least as great as the middle, itself included.
        assert!((own(49).different.p - 0.5).abs() < 0.011);
        assert!((own(98).different.p - 0.01).abs() < 1e-12, "{}", own(98).different.p);
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

    #[test]
    fn a_delay_is_tested_as_in_the_example_of_the_definition() {
        let delays: Vec<f64> = [0.0; 19].into_iter().chain([1.0, 2.0, 3.0, 4.0, 6.0]).collect();
        let views = Views::new(&calibration(24), &delays);
        let of = |x: f64| views.verdict(&[[0.0; 6]; FOLDS], &[x; FOLDS]).delayed.unwrap();
        let own = |x: f64| views.own_verdict(&[0.0; 6], x).delayed.unwrap();
        assert!((of(3.0).surprise - 1.8326).abs() < 1e-4 && (of(3.0).p - 4.0 / 25.0).abs() < 1e-12);
        assert!((of(8.0).surprise - 3.8897).abs() < 1e-4 && (of(8.0).p - 1.0 / 25.0).abs() < 1e-12);
        assert!((own(4.0).surprise - 2.4849).abs() < 1e-4 && (own(6.0).surprise - 3.7918).abs() < 1e-4);
        assert_eq!((of(0.0).p, of(0.0).surprise), (1.0, 0.0));
        // Beyond all, whatever the tail says of the greatest among the others.
        assert_eq!(of(6.5).p, 1.0 / 25.0);
    }

    #[test]
    fn one_test_of_two_is_half_as_sure_and_a_request_is_abnormal_by_either() {
        let test = |p: f64| TestResult { p, surprise: -ln(p) };
        let verdict = TreeVerdict {
            score: 7.0,
            different: test(0.3),
            delayed: Some(test(0.01)),
            part: PartOfRequest::OnPath,
            is_unknown: false,
        };
        assert_eq!((verdict.p(), verdict.rank()), (0.02, -ln(0.01)));
        assert!(verdict.is_abnormal(0.01) && !verdict.is_abnormal(0.005));
        assert_eq!(TreeVerdict { delayed: Some(test(0.7)), different: test(0.8), ..verdict }.p(), 1.0);
        let earlier = TreeVerdict { delayed: None, ..verdict };
        assert_eq!((earlier.p(), earlier.rank(), earlier.is_abnormal(0.01)), (0.3, 7.0, false));
        assert!(!UNKNOWN.is_abnormal(1.0));
    }
}
