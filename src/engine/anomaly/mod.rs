//! The chains of anomaly detection: vectors of both sides, then training and judging in small steps.

mod evaluation;
mod training;
mod vectors;

pub(super) use evaluation::EvaluationChain;
pub(super) use vectors::VectorStudy;

use self::training::{Judging, ModelTraining};
use super::chain::{Next, read_parts};
use super::cutting::{Cutter, Cutting};
use super::study::{Study, StudyChain, ask_study};
use super::{EngineError, Report, Request};
use crate::anomaly::vae::TrainingProgress;
use crate::anomaly::{
    AnomalyReport, AnomalyRow, AnomalySettings, Detector, Features, Lookup, Model, ReasonNames, Verdict,
    compare_ranks,
};
use crate::arrange::Arrange;
use crate::critical_path::{Band, Scope};

/// The oddest requests that are explained, and the p-value up to which they are.
const EXPLAINED: (usize, f64) = (500, 0.1);
/// Requests explained in one step.
const EXPLAINED_PER_STEP: usize = 16;

enum State {
    Cutting(Cutter),
    Vectors,
    Training(Box<ModelTraining>),
    Judging(Box<Judging>),
    Explaining(Explaining),
    Ended,
}

/// The oddest requests, and how many of them are explained.
struct Explaining {
    odd: Vec<(usize, Verdict)>,
    done: usize,
    lookup: Lookup,
    names: ReasonNames,
}

/// Trains on one side and judges the other.
pub(super) struct AnomalyChain {
    /// The side to learn from, unless a model is given; then the side to judge, unless only a model is wanted.
    sides: Vec<(Scope, Band)>,
    settings: AnomalySettings,
    wants_model: bool,
    features: Vec<Features>,
    model: Model,
    report: Box<AnomalyReport>,
    state: State,
}

impl AnomalyChain {
    /// Starts with the side to learn from, or with the only one.
    pub fn start(request: &Request) -> Result<(Box<dyn StudyChain>, Next), EngineError> {
        let (sides, settings) = match request {
            Request::Anomaly { train, band_train, test, band_test, settings } => {
                (vec![(train, band_train), (test, band_test)], settings)
            }
            Request::AnomalyModel { train, band_train, settings } => (vec![(train, band_train)], settings),
            _ => return Err(EngineError::Ended),
        };
        let wants_model = sides.len() == 1;
        let model = match &settings.model {
            Some(bytes) => Model::from_bytes(bytes)?,
            None => Model { encoding: settings.encoding, ..Model::default() },
        };
        let skipped = usize::from(settings.model.is_some() && !wants_model);
        let mut chain = AnomalyChain {
            sides: sides.into_iter().skip(skipped).map(|(scope, band)| (scope.clone(), *band)).collect(),
            settings: settings.clone(),
            wants_model,
            features: Vec::new(),
            model,
            report: Box::default(),
            state: State::Ended,
        };
        let next = chain.next_side()?;
        Ok((Box::new(chain), next))
    }

    fn next_side(&mut self) -> Result<Next, EngineError> {
        let (scope, band) = self.sides[self.features.len()].clone();
        let (cutter, next) = Cutter::start(scope, band)?;
        self.state = State::Cutting(cutter);
        Ok(next)
    }

    fn is_trained(&self) -> bool {
        self.settings.model.is_some()
    }

    /// The vectors of a side are there.
    fn with_vectors(&mut self) -> Result<Next, EngineError> {
        if self.features.len() < self.sides.len() {
            return self.next_side();
        }
        if self.is_trained() {
            return self.begin_judging(None);
        }
        let features = self.features.remove(0);
        let training = ModelTraining::new(features, self.settings.encoding, self.settings.detector);
        self.state = State::Training(Box::new(training));
        Ok(Next::Working(TrainingProgress::default()))
    }

    fn begin_judging(&mut self, training: Option<TrainingProgress>) -> Result<Next, EngineError> {
        if self.wants_model {
            return Ok(Next::Done(Box::new(Report::AnomalyModel(self.model.to_bytes()?))));
        }
        let asked = f64::from(self.settings.alpha_ppm) / 1e6;
        let has_vae = self.model.vae.is_some();
        *self.report = AnomalyReport {
            alpha: if has_vae { crate::anomaly::vae::P_VALUE } else { self.model.rule.possible_alpha(asked) },
            asked_alpha: asked,
            detector: match self.settings.detector {
                Detector::Vae(settings) if has_vae => Detector::Vae(settings),
                _ if has_vae => Detector::Vae(Default::default()),
                _ => Detector::Rule,
            },
            trained: self.model.rule.len() as u64,
            features: self.model.rule.paths.nodes.len() as u64,
            training,
            ..AnomalyReport::default()
        };
        self.state = State::Judging(Box::new(Judging::new(&self.model, &self.features[0])));
        Ok(Next::Working(TrainingProgress::default()))
    }

    /// Sorts the judged requests and says which are explained.
    fn rank(&mut self, judging: Box<Judging>) -> Explaining {
        let features = &self.features[0];
        let (said, lookup) = judging.finish();
        let mut order: Vec<usize> = (0..features.len()).collect();
        // Stable: the rows come by id.
        order.arrange_by(|&a, &b| compare_ranks(&said[a].2, &said[b].2));
        for &row in &order {
            let (verdict, is_abnormal, _) = &said[row];
            let facts = &features.rows[row];
            self.report.rows.push(AnomalyRow {
                request: facts.request.clone(),
                start_us: facts.start_us,
                p_structure: verdict.p_structure,
                p_time: verdict.p_time,
                is_abnormal: *is_abnormal,
                reasons: Vec::new(),
                nearest: None,
            });
        }
        let odd = order.into_iter().take(EXPLAINED.0).map(|row| (row, said[row].0.clone()));
        let odd = odd.take_while(|(_, verdict)| verdict.p_structure.min(verdict.p_time) < EXPLAINED.1);
        Explaining { odd: odd.collect(), done: 0, lookup, names: ReasonNames::default() }
    }

    /// Explains some more of the oddest; true when all are.
    fn explain(&mut self, explaining: &mut Explaining) -> bool {
        let Explaining { odd, done, lookup, names } = explaining;
        let features = &self.features[0];
        let judge = self.model.rule.judge(features, lookup);
        for (place, (row, verdict)) in odd.iter().enumerate().skip(*done).take(EXPLAINED_PER_STEP) {
            names.explain(&mut self.report, place, judge.explain(*row, verdict), features, &self.model);
        }
        *done += EXPLAINED_PER_STEP;
        *done >= odd.len()
    }
}

impl StudyChain for AnomalyChain {
    fn next(&mut self, partials: &[Vec<u8>]) -> Result<Next, EngineError> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Cutting(mut cutter) => match cutter.next(partials)? {
                Cutting::Ask(next) => {
                    self.state = State::Cutting(cutter);
                    Ok(next)
                }
                Cutting::Done(cut, _) => {
                    self.state = State::Vectors;
                    let study = Study::Vectors { encoding: self.model.encoding, injected: None };
                    ask_study(&self.sides[self.features.len()].0, &cut, study)
                }
            },
            State::Vectors => {
                self.features.push(Features::merge(read_parts(partials)?));
                self.with_vectors()
            }
            State::Training(mut training) => {
                if !training.step() {
                    let progress = training.progress();
                    self.state = State::Training(training);
                    return Ok(Next::Working(progress));
                }
                let (model, progress) = training.finish();
                self.model = model;
                self.begin_judging(progress)
            }
            State::Judging(mut judging) => {
                if !judging.step(&self.model, &self.features[0], self.report.alpha) {
                    self.state = State::Judging(judging);
                    return Ok(Next::Working(TrainingProgress::default()));
                }
                self.state = State::Explaining(self.rank(judging));
                Ok(Next::Working(TrainingProgress::default()))
            }
            State::Explaining(mut explaining) => {
                if self.explain(&mut explaining) {
                    return Ok(Next::Done(Box::new(Report::Anomaly(std::mem::take(&mut self.report)))));
                }
                self.state = State::Explaining(explaining);
                Ok(Next::Working(TrainingProgress::default()))
            }
            State::Ended => Err(EngineError::Ended),
        }
    }
}
