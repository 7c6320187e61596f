//! What is told of abnormal requests, in words and as JSON.

use super::accuracy::Accuracy;
use super::features::{Encoding, Features};
use super::inject::Injection;
use super::model::Model;
use super::rule::{Explanation, Reason};
use super::vae::{TrainingProgress, VaeSettings};
use crate::critical_path::{Contexts, RequestRef};
use pathlight_model::trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What judges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Detector {
    /// Facts of the whole tree.
    Tree,
    /// Vectors: structure and time, calibrated.
    #[default]
    Rule,
    /// The paper's auto-encoder.
    Vae(VaeSettings),
}

impl Detector {
    /// Its short name.
    pub fn name(self) -> &'static str {
        match self {
            Detector::Tree => "whole tree",
            Detector::Rule => "rule",
            Detector::Vae(_) => "VAE",
        }
    }
}

/// Settings of a judgement.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AnomalySettings {
    /// Rate of false alarms that is accepted, in millionths.
    pub alpha_ppm: u32,
    /// What the vectors hold.
    pub encoding: Encoding,
    /// What judges.
    pub detector: Detector,
    /// A saved model to judge by; the training set is then not looked at.
    pub model: Option<Vec<u8>>,
}

impl Default for AnomalySettings {
    fn default() -> AnomalySettings {
        AnomalySettings {
            alpha_ppm: 10_000,
            encoding: Encoding::default(),
            detector: Detector::default(),
            model: None,
        }
    }
}

/// A set of requests, judged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AnomalyReport {
    /// The accepted rate of false alarms that the rows are called by: what was asked for, or the least that can fire.
    pub alpha: f64,
    /// What was asked for.
    pub asked_alpha: f64,
    /// What judged.
    pub detector: Detector,
    /// Requests it was trained on.
    pub trained: u64,
    /// Call paths seen in training: the columns of its vectors.
    pub features: u64,
    /// The judged requests, the oddest first.
    pub rows: Vec<AnomalyRow>,
    /// Endpoints as (service, operation).
    pub endpoints: Vec<Endpoint>,
    /// Call paths that reasons name, as endpoint numbers from the root.
    pub paths: Vec<Vec<u32>>,
    /// How the training of the auto-encoder went.
    pub training: Option<TrainingProgress>,
}

/// One judged request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnomalyRow {
    /// Which request.
    pub request: RequestRef,
    /// When it started, in microseconds since the epoch.
    pub start_us: u64,
    /// p-value of its structure. Of the auto-encoder 0 with an unseen call path, else 1.
    pub p_structure: f64,
    /// p-value of its times. Of the auto-encoder that of its likelihood.
    pub p_time: f64,
    /// Whether it is abnormal at the report's rate.
    pub is_abnormal: bool,
    /// Why; only of the oddest.
    pub reasons: Vec<ReasonRow>,
    /// The normal request most like it; only of the oddest.
    pub nearest: Option<RequestRef>,
}

/// What a reason says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// Training has it never or seldom.
    NewPath,
    /// Similar training requests have it.
    MissingPath,
    /// Longer than usual.
    Slower,
    /// Shorter than usual.
    Faster,
}

/// One reason.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReasonRow {
    /// What it says.
    pub kind: ReasonKind,
    /// Number of the call path in the report.
    pub path: u32,
    /// Training requests it stands on.
    pub requests: u32,
    /// Time on the path, microseconds; 0 for a path that is new or missing.
    pub us: u64,
    /// Time over the usual median; 0 likewise.
    pub factor: f64,
    /// 5th and 95th percentile of training, microseconds; 0 likewise.
    pub usual_us: (f64, f64),
}

/// The endpoints and call paths that the reasons of a report name so far.
#[derive(Default)]
pub struct ReasonNames {
    endpoints: BTreeMap<Endpoint, u32>,
    paths: BTreeMap<Vec<u32>, u32>,
}

impl ReasonNames {
    fn number(&mut self, report: &mut AnomalyReport, of: &Contexts<()>, path: u32) -> u32 {
        let mut chain = Vec::new();
        for endpoint in of.chain(path) {
            let name = &of.endpoints[endpoint as usize];
            let next = report.endpoints.len() as u32;
            let number = *self.endpoints.entry(name.clone()).or_insert(next);
            if number == next {
                report.endpoints.push(name.clone());
            }
            chain.push(number);
        }
        let next = report.paths.len() as u32;
        let number = *self.paths.entry(chain.clone()).or_insert(next);
        if number == next {
            report.paths.push(chain);
        }
        number
    }

    /// Writes an explanation into a row of the report.
    pub fn explain(
        &mut self,
        report: &mut AnomalyReport,
        row: usize,
        explanation: Explanation,
        judged: &Features,
        model: &Model,
    ) {
        let reasons = explanation.reasons.iter().map(|reason| {
            let plain = |kind, path, requests| ReasonRow {
                kind,
                path,
                requests,
                us: 0,
                factor: 0.0,
                usual_us: (0.0, 0.0),
            };
            match *reason {
                Reason::NewPath { path, requests } => {
                    plain(ReasonKind::NewPath, self.number(report, &judged.paths, path), requests)
                }
                Reason::MissingPath { path, requests } => {
                    plain(ReasonKind::MissingPath, self.number(report, &model.rule.paths, path), requests)
                }
                Reason::Time { path, us, factor, usual_us, requests, .. } => {
                    let kind = if factor < 1.0 { ReasonKind::Faster } else { ReasonKind::Slower };
                    let path = self.number(report, &judged.paths, path);
                    ReasonRow { us, factor, usual_us, ..plain(kind, path, requests) }
                }
            }
        });
        let reasons = reasons.collect();
        let row = &mut report.rows[row];
        (row.reasons, row.nearest) = (reasons, explanation.nearest);
    }
}

impl AnomalyReport {
    /// Endpoints of a call path, from the root.
    pub fn path(&self, path: u32) -> impl Iterator<Item = (&str, &str)> {
        let chain = self.paths.get(path as usize).into_iter().flatten();
        chain.map(|&endpoint| {
            let Endpoint { service, operation } = &self.endpoints[endpoint as usize];
            (service.as_str(), operation.as_str())
        })
    }

    /// Requests called abnormal.
    pub fn abnormal(&self) -> usize {
        self.rows.iter().filter(|row| row.is_abnormal).count()
    }

    /// A reason in words; `time` writes microseconds.
    pub fn words(&self, reason: &ReasonRow, time: impl Fn(f64) -> String) -> String {
        let chain: Vec<(&str, &str)> = self.path(reason.path).collect();
        let (service, operation) = chain.last().copied().unwrap_or_default();
        let caller =
            chain.iter().rev().nth(1).map_or(String::new(), |(service, operation)| {
                format!(", called by {operation} in {service},")
            });
        let of = |n: u32| format!("{n} of {} normal requests", self.trained);
        match reason.kind {
            ReasonKind::NewPath if reason.requests == 0 => {
                format!("{operation} in {service}{caller} is new on the critical path")
            }
            ReasonKind::NewPath => {
                let has = of(reason.requests);
                format!("{operation} in {service}{caller} is on the critical path, which only {has} have")
            }
            ReasonKind::MissingPath => {
                let has = of(reason.requests);
                format!("{operation} in {service}{caller} is missing on the critical path; {has} have it")
            }
            ReasonKind::Slower | ReasonKind::Faster => {
                let (factor, word) = match reason.factor < 1.0 {
                    true => (1.0 / reason.factor.max(1e-9), "faster"),
                    false => (reason.factor, "slower"),
                };
                let (low, high) = reason.usual_us;
                format!(
                    "{operation} in {service}{caller} is {factor:.1} times {word} than usual: {} where {} to {} is normal",
                    time(reason.us as f64),
                    time(low),
                    time(high),
                )
            }
        }
    }
}

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
    /// One row per detector, vectors and injection.
    pub rows: Vec<EvaluationRow>,
}

/// One row of the evaluation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EvaluationRow {
    /// What judged.
    pub detector: Detector,
    /// What the vectors held; `None` of the detector that needs none.
    pub encoding: Option<Encoding>,
    /// How requests were made abnormal.
    pub injection: Injection,
    /// Share of the training requests that were abnormal too, 0 to 1.
    pub contaminated: f64,
    /// The figures.
    pub accuracy: Accuracy,
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
