//! The report on abnormal requests, in words and as JSON.

use super::call_tree::TreeReason;
use super::paper::FeatureEncoding;
use super::paper::vae::{TrainingProgress, VaeSettings};
use super::query::{RequestLabel, Taught};
use super::{PartOfRequest, ReasonKind};
use crate::requests::RequestRef;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{exp, ln};
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Detector that judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Detector {
    /// Facts of the whole tree.
    #[default]
    Tree,
    /// Vectors: structure and time, calibrated. In the evaluation only.
    Rule,
    /// The paper's auto-encoder.
    Vae(VaeSettings),
    /// The same, with a threshold by requests that it has not learned from. In the evaluation only.
    VaeHeldOut(VaeSettings),
}

impl Detector {
    /// Returns its short name.
    pub fn name(self) -> &'static str {
        match self {
            Detector::Tree => "whole tree",
            Detector::Rule => "rule",
            Detector::Vae(_) => "VAE",
            Detector::VaeHeldOut(_) => "VAE, held-out threshold",
        }
    }
}

/// Settings of a judgement.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AnomalySettings {
    /// Rate of false alarms that is accepted, in millionths.
    pub alpha_ppm: u32,
    /// Share of the training requests that may be abnormal, in millionths: so many are left out.
    pub contaminated_ppm: u32,
    /// Encoding of the auto-encoder's vectors.
    pub encoding: FeatureEncoding,
    /// Detector that judges.
    pub detector: Detector,
    /// A saved model to judge by; the training set is then not looked at.
    pub model: Option<Vec<u8>>,
    /// So many requests are explained, the most anomalous.
    pub explain: u32,
    /// What a reader says of judged requests: their shapes join the baseline or leave it. The auto-encoder takes none.
    pub labels: Vec<RequestLabel>,
}

/// The p-value up to which requests are explained: the greatest rate of false alarms that the page offers.
pub const EXPLAINED_P: f64 = 0.2;
/// Requests that are explained unless more are asked for.
pub const EXPLAINED: u32 = 500;

impl Default for AnomalySettings {
    fn default() -> AnomalySettings {
        AnomalySettings {
            alpha_ppm: 10_000,
            contaminated_ppm: 0,
            encoding: FeatureEncoding::default(),
            detector: Detector::default(),
            model: None,
            explain: EXPLAINED,
            labels: Vec::new(),
        }
    }
}

impl AnomalySettings {
    /// Returns the settings with an auto-encoder of sizes that it can have.
    #[must_use]
    pub fn bounded(mut self) -> AnomalySettings {
        if let Detector::Vae(sizes) | Detector::VaeHeldOut(sizes) = &mut self.detector {
            *sizes = sizes.bounded();
        }
        self
    }
}

/// A set of requests, judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnomalyReport {
    /// Whether there are verdicts. Each request against all others has none, only a rank.
    pub has_verdicts: bool,
    /// The accepted rate of false alarms that the rows are called by: what was asked for, or the least that can fire.
    pub alpha: f64,
    /// Accepted rate of false alarms that was asked for.
    pub asked_alpha: f64,
    /// Share of the training requests that may be abnormal, 0 to 1: so many of the most anomalous were left out.
    pub contaminated: f64,
    /// Detector that judged.
    pub detector: Detector,
    /// Whether delays were tested. The auto-encoder tests none, nor do baselines of earlier versions.
    pub has_delays: bool,
    /// Requests it was trained on.
    pub trained: u64,
    /// Call paths seen in training.
    pub features: u64,
    /// The judged requests, the most anomalous first.
    pub rows: Vec<AnomalyRow>,
    /// Scores of the training requests as [`AnomalyRow::score`], each by what the others say, ascending.
    pub baseline: Vec<f64>,
    /// Start and score of each training request; empty where they are the judged ones too, come from a file, or have
    /// an auto-encoder's.
    pub learned: Vec<(u64, f64)>,
    /// Endpoints as (service, operation).
    pub endpoints: Vec<Endpoint>,
    /// Call paths that reasons name, as endpoint numbers from the root.
    pub paths: Vec<Vec<u32>>,
    /// Progress of the auto-encoder's training.
    pub training: Option<TrainingProgress>,
    /// Of the auto-encoder: its two thresholds.
    pub thresholds: Option<Thresholds>,
    /// What labels have taught the baseline; `None` without any.
    pub taught: Option<Taught>,
}

/// The thresholds of the auto-encoder: by the likelihoods of the requests it has learned from, the paper's, which the
/// verdicts go by; and by those of training requests that were held out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Thresholds {
    /// The score above which a request is abnormal, by those learned from.
    pub learned: f64,
    /// The same by those held out; `None` if none were.
    pub held_out: Option<f64>,
    /// Judged requests that are abnormal by those held out.
    pub abnormal_held_out: u64,
    /// Requests held out.
    pub held_out_requests: Option<u64>,
}

/// One judged request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnomalyRow {
    /// The request.
    pub request: RequestRef,
    /// Start of the request, in microseconds since the epoch.
    pub start_us: u64,
    /// Score of anomaly, by which requests are ranked: the surprise of the stronger verdict, which has no bound. Where no
    /// delay is tested T; of the auto-encoder minus the log-likelihood.
    pub score: f64,
    /// The p-value of both verdicts together: twice the smaller one, at most 1. Where no delay is tested that of the only
    /// verdict.
    pub p: f64,
    /// Share of training requests at least as different. Of the auto-encoder that of the density; 0 with an unseen call
    /// path.
    pub p_different: f64,
    /// Share of training requests at least as delayed; `None` where no delay is tested.
    pub p_delayed: Option<f64>,
    /// The part of the request that leads.
    pub part: PartOfRequest,
    /// Its root was never seen in training: there is no verdict.
    pub is_unknown: bool,
    /// Anomalous enough to have reasons, but not among the requests that are explained.
    pub is_unexplained: bool,
    /// What a reader has said of it: whether it is normal.
    pub label: Option<bool>,
    /// Reasons of both verdicts, delays first; only of the most anomalous. [`AnomalyReport::reasons`] has those to be said.
    pub reasons: Vec<ReasonRow>,
    /// The normal request most like it; only of the most anomalous.
    pub nearest: Option<RequestRef>,
}

/// One reason.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasonRow {
    /// Kind of the reason.
    pub kind: ReasonKind,
    /// The part of the request it is about.
    pub part: PartOfRequest,
    /// Number of the call path in the report.
    pub path: u32,
    /// Of an order: number of the endpoint that the call begins after; `None` for the start of its caller.
    pub after: Option<u32>,
    /// Of a delay: number of the endpoint that the span calls; `None` if it calls none or several.
    pub callee: Option<u32>,
    /// Training calls compared with.
    pub calls: u32,
    /// Those of them that are like this one; 0 of times.
    pub alike: u32,
    /// Microseconds; of a number of calls that number; of an error and the critical path 1 for yes, 0 for no.
    pub value: u64,
    /// 5th and 95th percentile of training, of times and numbers of calls.
    pub baseline: Option<(f64, f64)>,
    /// Of a delay: the longest self time of training, in microseconds.
    pub longest_us: Option<f64>,
}

impl ReasonRow {
    /// Returns whether it is a reason of the verdict *delayed*.
    pub fn is_delay(&self) -> bool {
        self.kind == ReasonKind::Delay
    }
}

/// The verdict on an abnormal request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Abnormal {
    /// Delayed only.
    Delayed,
    /// Different only.
    Different,
    /// Delayed and different.
    Both,
}

/// How many requests have which verdict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// Delayed requests.
    pub delayed: u64,
    /// Different requests.
    pub different: u64,
    /// Those that are both; they count in either.
    pub both: u64,
}

impl VerdictCounts {
    /// Takes note of a request.
    pub fn add(&mut self, is_delayed: bool, is_different: bool) {
        self.delayed += u64::from(is_delayed);
        self.different += u64::from(is_different);
        self.both += u64::from(is_delayed && is_different);
    }

    /// Returns the requests that are delayed, different or both.
    pub fn abnormal(&self) -> u64 {
        self.delayed + self.different - self.both
    }
}

/// Requests with one leading reason.
#[derive(Clone, Debug, PartialEq)]
pub struct ReasonGroup {
    /// The reason in words for all of them.
    pub words: String,
    /// Rows of the report, the most anomalous first.
    pub rows: Vec<usize>,
}

/// The endpoints and call paths that the reasons of a report name so far.
#[derive(Default)]
pub struct ReasonNames {
    endpoints: BTreeMap<Endpoint, u32>,
    paths: BTreeMap<Vec<u32>, u32>,
}

impl ReasonNames {
    fn endpoint(&mut self, report: &mut AnomalyReport, name: &Endpoint) -> u32 {
        let next = report.endpoints.len() as u32;
        let number = *self.endpoints.entry(name.clone()).or_insert(next);
        if number == next {
            report.endpoints.push(name.clone());
        }
        number
    }

    /// Writes a reason with the names of a report.
    pub fn name(&mut self, report: &mut AnomalyReport, reason: &TreeReason) -> ReasonRow {
        let chain: Vec<u32> = reason.path.iter().map(|name| self.endpoint(report, name)).collect();
        let next = report.paths.len() as u32;
        let path = *self.paths.entry(chain.clone()).or_insert(next);
        if path == next {
            report.paths.push(chain);
        }
        let after = reason.after.as_ref().map(|name| self.endpoint(report, name));
        let callee = reason.callee.as_ref().map(|name| self.endpoint(report, name));
        let TreeReason { kind, part, calls, alike, value, range, longest_us, .. } = *reason;
        ReasonRow { kind, part, path, after, callee, calls, alike, value, baseline: range, longest_us }
    }
}

impl AnomalyReport {
    /// Returns the endpoints of a call path, from the root.
    pub fn path(&self, path: u32) -> impl Iterator<Item = (&str, &str)> {
        let chain = self.paths.get(path as usize).into_iter().flatten();
        chain.map(|&endpoint| self.endpoints[endpoint as usize].names())
    }

    /// Returns whether a request is abnormal at the report's rate of false alarms: delayed, different or both.
    pub fn is_abnormal(&self, row: &AnomalyRow) -> bool {
        self.is_delayed(row) || self.is_different(row)
    }

    /// Returns whether a request is delayed at the report's rate of false alarms.
    pub fn is_delayed(&self, row: &AnomalyRow) -> bool {
        row.p_delayed.is_some_and(|p| self.is_within(row, p, self.alpha))
    }

    /// Returns whether a request is different at the report's rate of false alarms.
    pub fn is_different(&self, row: &AnomalyRow) -> bool {
        self.is_within(row, row.p_different, self.alpha)
    }

    /// Returns the verdict on a request; `None` if it is not abnormal.
    pub fn verdict(&self, row: &AnomalyRow) -> Option<Abnormal> {
        match (self.is_delayed(row), self.is_different(row)) {
            (true, true) => Some(Abnormal::Both),
            (true, false) => Some(Abnormal::Delayed),
            (false, true) => Some(Abnormal::Different),
            (false, false) => None,
        }
    }

    fn is_within(&self, row: &AnomalyRow, p: f64, alpha: f64) -> bool {
        // A reader's word counts more. A p-value is a ratio of whole numbers; rounding must not decide.
        self.has_verdicts && !row.is_unknown && row.label != Some(true) && p <= alpha * (1.0 + 1e-9)
    }

    /// Returns whether a request is abnormal by both verdicts as one test.
    pub fn is_abnormal_by_one_test(&self, row: &AnomalyRow) -> bool {
        self.is_within(row, row.p, self.one_alpha())
    }

    /// Returns the rate of false alarms of both verdicts as one test: what was asked for, or the least that can fire.
    pub fn one_alpha(&self) -> f64 {
        match self.has_delays {
            true => self.asked_alpha.max(2.0 / (self.baseline.len() as f64 + 1.0)),
            false => self.alpha,
        }
    }

    /// Returns the requests called abnormal.
    pub fn abnormal(&self) -> usize {
        self.rows.iter().filter(|row| self.is_abnormal(row)).count()
    }

    /// Returns the requests that are abnormal by both verdicts as one test.
    pub fn abnormal_by_one_test(&self) -> usize {
        self.rows.iter().filter(|row| self.is_abnormal_by_one_test(row)).count()
    }

    /// Returns how many requests are delayed, different or both.
    pub fn verdicts(&self) -> VerdictCounts {
        let mut counts = VerdictCounts::default();
        for row in &self.rows {
            counts.add(self.is_delayed(row), self.is_different(row));
        }
        counts
    }

    /// Returns the reasons to be said of a request, the first one first: of a delayed one its delays, of a different one
    /// what is different. Others, which may be as anomalous as some of the baseline, have those of the stronger verdict.
    pub fn reasons<'a>(&self, row: &'a AnomalyRow) -> Vec<&'a ReasonRow> {
        let (delays, others): (Vec<&ReasonRow>, Vec<&ReasonRow>) =
            row.reasons.iter().partition(|reason| reason.is_delay());
        let leads = match (self.is_delayed(row), self.is_different(row)) {
            // The self time of a delay is not said twice.
            (true, true) => {
                let is_told = |of: &ReasonRow| {
                    of.kind == ReasonKind::SelfTime && delays.iter().any(|delay| delay.path == of.path)
                };
                let others: Vec<_> = others.into_iter().filter(|reason| !is_told(reason)).collect();
                return [delays, others].concat();
            }
            (is_delayed, is_different) if is_delayed || is_different => is_delayed,
            _ => row.p_delayed.is_some_and(|p| p < row.p_different),
        };
        let [first, second] = if leads { [delays, others] } else { [others, delays] };
        if first.is_empty() { second } else { first }
    }

    /// Returns the requests that are abnormal, or have no verdict, whose reasons were not looked for.
    pub fn unexplained(&self) -> usize {
        let is_it = |row: &&AnomalyRow| row.is_unexplained && (self.is_abnormal(row) || !self.has_verdicts);
        self.rows.iter().filter(is_it).count()
    }

    /// Returns the report at another rate of false alarms, or the least possible one; nothing is judged again.
    pub fn at(&self, asked_alpha: f64) -> AnomalyReport {
        // A merged baseline has learned from more requests than p-values are made of.
        let alpha = asked_alpha.max(1.0 / (self.baseline.len() as f64 + 1.0));
        AnomalyReport { alpha, asked_alpha, ..self.clone() }
    }

    /// Returns the greatest share of normal requests that either verdict may call abnormal: where training requests may be
    /// abnormal, so many more than the accepted rate.
    pub fn false_alarms(&self) -> f64 {
        (self.alpha + self.contaminated).min(1.0)
    }

    /// Returns the least score that is abnormal, as far as the training requests tell.
    pub fn threshold(&self) -> f64 {
        if self.has_delays {
            // A surprise is -ln p, of either verdict.
            return -ln(self.alpha);
        }
        if let Some(thresholds) = self.thresholds {
            return thresholds.learned;
        }
        let allowed = (self.alpha * (self.baseline.len() as f64 + 1.0) * (1.0 + 1e-9)) as usize;
        let at = self.baseline.len().saturating_sub(allowed.max(1));
        self.baseline.get(at).copied().unwrap_or(0.0)
    }

    /// Returns whether more requests are abnormal than chance explains with a probability of 0.001: then the load or
    /// the release has changed, and not single requests.
    pub fn has_drifted(&self) -> bool {
        let judged = self.rows.iter().filter(|row| !row.is_unknown).count();
        let VerdictCounts { delayed, different, .. } = self.verdicts();
        let tests = if self.has_delays { vec![delayed, different] } else { vec![different] };
        let least = 0.001 / tests.len() as f64;
        let is_more = |n: &u64| binomial_tail(judged, *n as usize, self.false_alarms()) < least;
        self.has_verdicts && tests.iter().any(is_more)
    }

    /// Returns the one of some rows, the most anomalous first, that stands for them where all are labelled: the first of those
    /// with the fewest reasons.
    pub fn typical(&self, rows: &[usize]) -> usize {
        let reasons = |row: &usize| self.reasons(&self.rows[*row]).len();
        rows.iter().copied().min_by_key(reasons).unwrap_or_default()
    }

    /// Returns the abnormal requests by their first reason, the largest group first; without verdicts all that have a
    /// reason.
    pub fn groups(&self) -> Vec<ReasonGroup> {
        self.groups_of(|row| self.is_abnormal(row) || !self.has_verdicts)
    }

    /// Returns some requests by their first reason, the largest group first.
    pub fn groups_of(&self, is_one: impl Fn(&AnomalyRow) -> bool) -> Vec<ReasonGroup> {
        // Call paths that differ only between their root and the caller are one to whoever reads.
        let mut groups: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for (at, row) in self.rows.iter().enumerate() {
            if let Some(reason) = self.reasons(row).first()
                && is_one(row)
            {
                groups.entry(self.leading_words(reason)).or_default().push(at);
            }
        }
        let mut groups: Vec<ReasonGroup> =
            groups.into_iter().map(|(words, rows)| ReasonGroup { words, rows }).collect();
        groups.compact_sort_by_key(|group| (std::cmp::Reverse(group.rows.len()), group.rows[0]));
        groups
    }
}

/// Returns the probability that of `n` events, each of probability `p`, at least `k` happen.
fn binomial_tail(n: usize, k: usize, p: f64) -> f64 {
    if k == 0 || p >= 1.0 {
        return 1.0;
    }
    let (n, mut sum) = (n as f64, 0.0);
    let choose = |i: f64| libm::lgamma(n + 1.0) - libm::lgamma(i + 1.0) - libm::lgamma(n - i + 1.0);
    let mut i = k as f64;
    while i <= n {
        let log = choose(i) + i * ln(p) + (n - i) * ln(1.0 - p);
        // What is too small to count ends the sum once it falls.
        if log < -60.0 && i > n * p {
            break;
        }
        sum += if log < -700.0 { 0.0 } else { exp(log) };
        i += 1.0;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::anomalies::call_tree::one_p;

    #[test]
    fn chance_explains_as_many_alarms_as_the_binomial_distribution_says() {
        // 1 - .9^3, and .1^3.
        assert!((binomial_tail(3, 1, 0.1) - 0.271).abs() < 1e-9);
        assert!((binomial_tail(3, 3, 0.1) - 0.001).abs() < 1e-9);
        assert_eq!(binomial_tail(500, 0, 0.01), 1.0);
        // 5 are expected.
        assert!(binomial_tail(500, 9, 0.01) > 0.001 && binomial_tail(500, 14, 0.01) < 0.001);
        assert!(binomial_tail(500, 500, 0.01) < 1e-12);
    }

    #[test]
    fn requests_are_grouped_by_what_is_said_of_them() {
        let mut report = AnomalyReport { has_verdicts: true, alpha: 0.01, ..AnomalyReport::default() };
        report.endpoints = ["root", "x", "y", "caller", "call"].map(|name| Endpoint::new("s", name)).into();
        report.paths = vec![vec![0, 1, 3, 4], vec![0, 2, 3, 4], vec![0, 3, 4]];
        let row = |path, kind| AnomalyRow {
            request: RequestRef { trace_id: "1".into(), root_span_id: "2".into(), latency_us: 3 },
            start_us: 0,
            score: 9.0,
            p: 0.001,
            p_different: 0.001,
            p_delayed: None,
            part: PartOfRequest::Structure,
            is_unknown: false,
            is_unexplained: false,
            label: None,
            reasons: vec![ReasonRow {
                kind,
                part: PartOfRequest::Structure,
                path,
                after: None,
                callee: None,
                calls: 1,
                alike: 0,
                value: 1,
                baseline: None,
                longest_us: None,
            }],
            nearest: None,
        };
        let missing = ReasonKind::MissingCall;
        report.rows = vec![row(0, ReasonKind::Error), row(0, missing), row(1, missing), row(2, missing)];
        let groups = report.groups();
        assert_eq!(groups[0].words, "call in s called by caller below root is missing");
        assert_eq!(
            groups.iter().map(|group| group.rows.clone()).collect::<Vec<_>>(),
            [vec![1, 2, 3], vec![0]]
        );
    }

    #[test]
    fn a_request_has_the_reasons_of_its_verdict_and_either_makes_it_abnormal() {
        let reason = |kind, path| ReasonRow {
            kind,
            part: PartOfRequest::OnPath,
            path,
            after: None,
            callee: None,
            calls: 9,
            alike: 0,
            value: 60,
            baseline: None,
            longest_us: Some(40.0),
        };
        let row = |p_delayed, p_different| AnomalyRow {
            request: RequestRef { trace_id: "1".into(), root_span_id: "2".into(), latency_us: 3 },
            start_us: 0,
            score: 9.0,
            p: one_p(p_different, Some(p_delayed)),
            p_different,
            p_delayed: Some(p_delayed),
            part: PartOfRequest::OnPath,
            is_unknown: false,
            is_unexplained: false,
            label: None,
            reasons: vec![
                reason(ReasonKind::Delay, 0),
                reason(ReasonKind::NewCall, 1),
                reason(ReasonKind::SelfTime, 0),
            ],
            nearest: None,
        };
        let rows = vec![row(0.01, 0.5), row(0.9, 0.01), row(0.005, 0.005), row(0.1, 0.2), row(0.4, 0.2)];
        let report = AnomalyReport {
            has_verdicts: true,
            has_delays: true,
            alpha: 0.01,
            asked_alpha: 0.01,
            baseline: vec![0.0; 999],
            rows,
            ..AnomalyReport::default()
        };
        assert_eq!(report.verdicts(), VerdictCounts { delayed: 2, different: 2, both: 1 });
        assert_eq!((report.abnormal(), report.abnormal_by_one_test()), (3, 1));
        let kinds = |at: usize| -> Vec<ReasonKind> {
            report.reasons(&report.rows[at]).iter().map(|reason| reason.kind).collect()
        };
        let (delay, new, time) = (ReasonKind::Delay, ReasonKind::NewCall, ReasonKind::SelfTime);
        assert_eq!(kinds(0), [delay]);
        assert_eq!(kinds(1), [new, time]);
        assert_eq!(kinds(2), [delay, new], "its self time is said once");
        assert_eq!((kinds(3), kinds(4)), (vec![delay], vec![new, time]), "the stronger verdict");
        // With few requests one test needs a greater rate than each of two.
        let few = AnomalyReport { baseline: vec![0.0; 99], ..report.clone() };
        assert_eq!((few.one_alpha(), few.abnormal_by_one_test()), (0.02, 3));
    }
}
