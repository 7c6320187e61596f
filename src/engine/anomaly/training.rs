//! Training a model and judging by it, both in small steps.

use crate::anomaly::vae::{Training, TrainingProgress, VaeJudge};
use crate::anomaly::{Detector, Encoding, Features, Lookup, Model, RuleTraining, Verdict};

/// Requests judged in one step.
const ROWS_PER_STEP: usize = 512;

/// Trains a model, one small step after the other.
pub(super) struct ModelTraining {
    features: Features,
    settings: (Encoding, Detector),
    rule: Option<RuleTraining>,
    vae: Option<Training>,
    model: Model,
}

impl ModelTraining {
    /// A training on normal requests.
    pub fn new(features: Features, encoding: Encoding, detector: Detector) -> ModelTraining {
        let (rule, vae, model) = (None, None, Model { encoding, ..Model::default() });
        ModelTraining { features, settings: (encoding, detector), rule, vae, model }
    }

    /// How far the auto-encoder is.
    pub fn progress(&self) -> TrainingProgress {
        self.vae.as_ref().map(|vae| vae.progress().clone()).unwrap_or_default()
    }

    /// True when done.
    pub fn step(&mut self) -> bool {
        if let Some(vae) = &mut self.vae {
            return vae.step();
        }
        let rule = self.rule.get_or_insert_with(|| RuleTraining::new(&self.features));
        if !rule.step(&self.features) {
            return false;
        }
        match self.settings.1 {
            Detector::Vae(settings) if !self.features.is_empty() => {
                self.vae = Some(Training::new(&self.features, settings));
                false
            }
            _ => true,
        }
    }

    /// The model, and how training the auto-encoder went.
    pub fn finish(mut self) -> (Model, Option<TrainingProgress>) {
        let progress = self.vae.as_ref().map(|vae| vae.progress().clone());
        self.model.rule = self.rule.map(RuleTraining::finish).unwrap_or_default();
        self.model.vae = self.vae.map(Training::finish);
        (self.model, progress)
    }
}

/// What is said of a judged request: the verdict, whether it is called abnormal, its rank.
pub(super) type Said = (Verdict, bool, [f64; 4]);

/// Judges requests by a model, one small step after the other.
pub(super) struct Judging {
    row: usize,
    lookup: Lookup,
    vae: Option<VaeJudge>,
    said: Vec<Said>,
}

impl Judging {
    /// Gets ready to judge requests.
    pub fn new(model: &Model, features: &Features) -> Judging {
        let vae = model.vae.as_ref().map(|vae| VaeJudge::new(vae, features));
        Judging { row: 0, lookup: model.rule.lookup(features), vae, said: Vec::with_capacity(features.len()) }
    }

    /// True when all are judged.
    pub fn step(&mut self, model: &Model, features: &Features, alpha: f64) -> bool {
        let stride = model.vae.as_ref().map_or(ROWS_PER_STEP, |vae| vae.stride());
        let rows = self.row..features.len().min(self.row + stride);
        self.row = rows.end;
        match (&model.vae, &mut self.vae) {
            (Some(vae), Some(judge)) => {
                self.said.extend(judge.judge(vae, features, rows).into_iter().map(|found| {
                    let p_structure = if found.is_unseen { 0.0 } else { 1.0 };
                    let verdict = Verdict { p_structure, p_time: found.p, ..Verdict::default() };
                    (verdict, found.is_abnormal(), found.rank())
                }));
            }
            _ => {
                let judge = model.rule.judge(features, &self.lookup);
                self.said.extend(rows.map(|row| {
                    let verdict = judge.verdict(row);
                    let (is_abnormal, rank) = (verdict.is_abnormal(alpha), verdict.rank());
                    (verdict, is_abnormal, rank)
                }));
            }
        }
        self.row == features.len()
    }

    /// What was said of each request, and what explains it.
    pub fn finish(self) -> (Vec<Said>, Lookup) {
        (self.said, self.lookup)
    }
}
