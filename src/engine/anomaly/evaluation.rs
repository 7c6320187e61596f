//! The evaluation: how well abnormal requests are told from normal ones (definitions of anomalies, section 4).

use super::training::{Judging, ModelTraining};
use crate::anomaly::vae::TrainingProgress;
use crate::anomaly::{
    Accuracy, Detector, Encoding, EvaluationRow, EvaluationTable, Features, Injection, Judged, Model,
    is_held_out,
};
use crate::critical_path::{Cut, Scope};
use crate::engine::chain::{Next, read_parts};
use crate::engine::clock;
use crate::engine::cutting::{Cutter, Cutting};
use crate::engine::study::{Study, StudyChain, ask_study};
use crate::engine::{EngineError, Report, Request};

/// What the evaluation does next.
enum Stage {
    Cutting(Cutter),
    /// Vectors of the normal requests come.
    Normal,
    Training(Box<ModelTraining>, Option<f64>),
    /// Judging the held-out requests, or their abnormal copies.
    Judging(Box<Judging>, Option<f64>),
    /// Vectors of abnormal copies come.
    Abnormal,
    Ended,
}

/// Trains on half of the requests, then judges the other half as it is and made abnormal, for every kind of vectors and
/// every detector (definitions of anomalies, section 4).
pub(in crate::engine) struct EvaluationChain {
    scope: Scope,
    seed: u64,
    alpha: f64,
    /// What is left to do; the one under way is last.
    runs: Vec<(Encoding, Detector)>,
    cut: Cut,
    model: Model,
    /// Of the run under way: verdicts on held-out requests, milliseconds, injections done.
    normal: Vec<Judged>,
    train_ms: Option<f64>,
    features: Features,
    injections: Vec<Injection>,
    table: EvaluationTable,
    stage: Stage,
}

impl EvaluationChain {
    /// Starts by cutting the band.
    pub fn start(request: &Request) -> Result<(Box<dyn StudyChain>, Next), EngineError> {
        let Request::AnomalyEvaluation { scope, band, seed, settings } = request else {
            return Err(EngineError::Ended);
        };
        let mut detectors = vec![Detector::Rule];
        detectors.extend(matches!(settings.detector, Detector::Vae(_)).then_some(settings.detector));
        let encodings = [Encoding::Scpv, Encoding::Stv];
        let runs =
            detectors.iter().rev().flat_map(|&detector| encodings.iter().rev().map(move |&e| (e, detector)));
        let (cutter, next) = Cutter::start(scope.clone(), *band)?;
        let chain = EvaluationChain {
            scope: scope.clone(),
            seed: *seed,
            alpha: f64::from(settings.alpha_ppm) / 1e6,
            runs: runs.collect(),
            cut: Default::default(),
            model: Model::default(),
            normal: Vec::new(),
            train_ms: None,
            features: Features::default(),
            injections: Vec::new(),
            table: EvaluationTable::default(),
            stage: Stage::Cutting(cutter),
        };
        Ok((Box::new(chain), next))
    }

    fn next_run(&mut self) -> Result<Next, EngineError> {
        let Some(&(encoding, _)) = self.runs.last() else {
            self.table.alpha = self.alpha;
            return Ok(Next::Done(Box::new(Report::AnomalyEvaluation(Box::new(std::mem::take(
                &mut self.table,
            ))))));
        };
        (self.stage, self.injections) = (Stage::Normal, Vec::new());
        ask_study(&self.scope, &self.cut, Study::Vectors { encoding, injected: None })
    }

    fn next_injection(&mut self) -> Result<Next, EngineError> {
        let Some(&injection) = Injection::ALL.get(self.injections.len()) else {
            self.runs.pop();
            return self.next_run();
        };
        self.injections.push(injection);
        self.stage = Stage::Abnormal;
        let study = Study::Vectors { encoding: self.model.encoding, injected: Some((injection, self.seed)) };
        ask_study(&self.scope, &self.cut, study)
    }

    fn judging(&self) -> Stage {
        let from = clock::now_ms();
        Stage::Judging(Box::new(Judging::new(&self.model, &self.features)), from)
    }

    fn judged(&self, judging: Box<Judging>) -> Vec<Judged> {
        let is_abnormal = !self.injections.is_empty();
        judging
            .finish()
            .0
            .into_iter()
            .map(|(_, is_called, rank)| Judged { rank, is_called, is_abnormal })
            .collect()
    }

    fn record(&mut self, judging: Box<Judging>, score_ms: Option<f64>) {
        let (Some(&injection), Some(&(encoding, detector))) = (self.injections.last(), self.runs.last())
        else {
            return;
        };
        if injection == Injection::Structure && self.features.lost.1 > 0 {
            self.table.dropped_share = self.features.lost.0 as f64 / self.features.lost.1 as f64;
        }
        let mut judged = self.normal.clone();
        judged.extend(self.judged(judging));
        self.table.rows.push(EvaluationRow {
            detector,
            encoding,
            injection,
            accuracy: Accuracy::of(judged),
            features: self.model.rule.paths.nodes.len() as u64,
            train_ms: self.train_ms,
            score_ms,
        });
    }
}

impl StudyChain for EvaluationChain {
    fn next(&mut self, partials: &[Vec<u8>]) -> Result<Next, EngineError> {
        match std::mem::replace(&mut self.stage, Stage::Ended) {
            Stage::Cutting(mut cutter) => match cutter.next(partials)? {
                Cutting::Ask(next) => {
                    self.stage = Stage::Cutting(cutter);
                    Ok(next)
                }
                Cutting::Done(cut, _) => {
                    self.cut = cut;
                    self.next_run()
                }
            },
            Stage::Normal => {
                let all = Features::merge(read_parts(partials)?);
                let seed = self.seed;
                let train = all.only(|row| !is_held_out(seed, &row.request.trace_id));
                self.features = all.only(|row| is_held_out(seed, &row.request.trace_id));
                (self.table.trained, self.table.held_out) = (train.len() as u64, self.features.len() as u64);
                let Some(&(encoding, detector)) = self.runs.last() else { return Err(EngineError::Ended) };
                let training = Box::new(ModelTraining::new(train, encoding, detector));
                self.stage = Stage::Training(training, clock::now_ms());
                Ok(Next::Working(TrainingProgress::default()))
            }
            Stage::Training(mut training, from) => {
                if !training.step() {
                    let progress = training.progress();
                    self.stage = Stage::Training(training, from);
                    return Ok(Next::Working(progress));
                }
                self.train_ms = clock::since(from);
                self.model = training.finish().0;
                self.stage = self.judging();
                Ok(Next::Working(TrainingProgress::default()))
            }
            Stage::Judging(mut judging, from) => {
                let alpha = self.model.rule.possible_alpha(self.alpha);
                if !judging.step(&self.model, &self.features, alpha) {
                    self.stage = Stage::Judging(judging, from);
                    return Ok(Next::Working(TrainingProgress::default()));
                }
                let score_ms = clock::since(from);
                if self.injections.is_empty() {
                    self.normal = self.judged(judging);
                } else {
                    self.record(judging, score_ms);
                }
                self.next_injection()
            }
            Stage::Abnormal => {
                self.features = Features::merge(read_parts(partials)?);
                self.stage = self.judging();
                Ok(Next::Working(TrainingProgress::default()))
            }
            Stage::Ended => Err(EngineError::Ended),
        }
    }
}
