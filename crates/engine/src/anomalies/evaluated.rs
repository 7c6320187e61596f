//! What an evaluation reports.

use super::paper::{Accuracy, FeatureEncoding, Injection};
use super::{Detector, VerdictCounts};
use serde::{Deserialize, Serialize};

/// The evaluation (`docs/definitions/anomaly.md` section 4): detectors and vectors side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EvaluationTable {
    /// The accepted rate of false alarms.
    pub alpha: f64,
    /// Requests trained on.
    pub trained: u64,
    /// Normal requests held out.
    pub held_out: u64,
    /// Share of the spans that "spans dropped" really lost, subtrees included.
    pub dropped_share: f64,
    /// Number of normal requests that are called abnormal, by the number of training requests.
    pub false_alarms: Vec<FalseAlarmRow>,
    /// One row per detector, vectors and injection.
    pub rows: Vec<EvaluationRow>,
}

/// Number of times training requests are halved anew unless something else is asked for.
pub const SPLITS: u32 = 20;

/// Normal requests that the default detector calls abnormal, over several ways to halve them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FalseAlarmRow {
    /// Requests trained on, mean.
    pub trained: f64,
    /// Ways to halve them.
    pub splits: u32,
    /// The accepted rate of false alarms, or the least that can fire: the greatest of all splits.
    pub alpha: f64,
    /// Share of the held-out normal requests that is called abnormal.
    pub abnormal: AlarmShare,
    /// Share of them that is called delayed.
    pub delayed: AlarmShare,
    /// Share of them that is called different.
    pub different: AlarmShare,
}

/// Share of normal requests that has a verdict, 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AlarmShare {
    /// Mean of all splits.
    pub mean: f64,
    /// The greatest of all splits.
    pub greatest: f64,
}

impl FalseAlarmRow {
    /// Takes note of another split: the verdicts on so many normal requests.
    pub fn add(&mut self, trained: usize, alpha: f64, found: VerdictCounts, judged: usize) {
        self.splits += 1;
        let part = 1.0 / f64::from(self.splits);
        self.trained += (trained as f64 - self.trained) * part;
        self.alpha = self.alpha.max(alpha);
        let all = [
            (&mut self.abnormal, found.abnormal()),
            (&mut self.delayed, found.delayed),
            (&mut self.different, found.different),
        ];
        for (share, n) in all {
            let here = n as f64 / judged as f64;
            share.mean += (here - share.mean) * part;
            share.greatest = share.greatest.max(here);
        }
    }
}

/// One row of the evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvaluationRow {
    /// Detector that judged.
    pub detector: Detector,
    /// Encoding of the vectors; `None` of the detector that needs none.
    pub encoding: Option<FeatureEncoding>,
    /// The way requests were made abnormal.
    pub injection: Injection,
    /// Share of the training requests that were abnormal too, 0 to 1.
    pub contaminated: f64,
    /// The figures.
    pub accuracy: Accuracy,
    /// Area under the curve where requests are ranked by one verdict alone, delayed and different; `None` of detectors with one
    /// verdict.
    pub auprc_alone: Option<[f64; 2]>,
    /// Share of the abnormal requests that is found by both verdicts as one test; `None` of detectors with one verdict.
    pub one_test_recall: Option<f64>,
    /// Of the abnormal requests called so, the share whose first reason names the endpoint at which they were made
    /// abnormal; `None` where there is no such place, or no reason.
    pub named: Option<f64>,
    /// Call paths seen in training.
    pub features: u64,
    /// Milliseconds of training and of judging everything; `None` where there is no clock.
    pub train_ms: Option<f64>,
    /// Likewise.
    pub score_ms: Option<f64>,
}
