//! The chains of anomaly detection: vectors of both sides, then training and judging in small steps.

use super::chain::{Next, read_parts};
use super::clock;
use super::cutting::{Cutter, Cutting};
use super::study::{Study, StudyChain, TreeStudy, ask_study};
use super::{EngineError, Report, Request};
use crate::anomaly::vae::{Training, TrainingProgress};
use crate::anomaly::{
    Accuracy, AnomalyReport, AnomalyRow, AnomalySettings, Detector, Encoding, EvaluationRow, EvaluationTable,
    FeaturePart, Features, Injection, Judged, Model, Paths, RuleTraining, StvObserver, Verdict,
    compare_ranks, inject, is_held_out,
};
use crate::critical_path::{Band, Overlap, PathTable, Scope, Subject, TableBuilder, Walk};
use crate::trace::{TraceSet, Tree};

/// Requests judged in one step.
const ROWS_PER_STEP: usize = 512;
/// The oddest requests that are explained, and the p-value up to which they are.
const EXPLAINED: (usize, f64) = (500, 0.1);
/// Requests explained in one step.
const EXPLAINED_PER_STEP: usize = 16;

/// Trains a model, one small step after the other.
struct ModelTraining {
    features: Features,
    settings: (Encoding, Detector),
    rule: Option<RuleTraining>,
    vae: Option<Training>,
    model: Model,
}

impl ModelTraining {
    fn new(features: Features, encoding: Encoding, detector: Detector) -> ModelTraining {
        let (rule, vae, model) = (None, None, Model { encoding, ..Model::default() });
        ModelTraining { features, settings: (encoding, detector), rule, vae, model }
    }

    /// How far the auto-encoder is.
    fn progress(&self) -> TrainingProgress {
        self.vae.as_ref().map(|vae| vae.progress().clone()).unwrap_or_default()
    }

    /// True when done.
    fn step(&mut self) -> bool {
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

    fn finish(mut self) -> (Model, Option<TrainingProgress>) {
        let progress = self.vae.as_ref().map(|vae| vae.progress().clone());
        self.model.rule = self.rule.map(RuleTraining::finish).unwrap_or_default();
        self.model.vae = self.vae.map(Training::finish);
        (self.model, progress)
    }
}

/// Judges requests by a model, one small step after the other.
struct Judging {
    row: usize,
    verdicts: Vec<(Verdict, bool, [f64; 4])>,
}

impl Judging {
    fn new() -> Judging {
        Judging { row: 0, verdicts: Vec::new() }
    }

    /// True when all are judged.
    fn step(&mut self, model: &Model, features: &Features, alpha: f64) -> bool {
        let stride = model.vae.as_ref().map_or(ROWS_PER_STEP, |vae| vae.stride());
        let rows = self.row..features.len().min(self.row + stride);
        self.row = rows.end;
        match &model.vae {
            Some(vae) => self.verdicts.extend(vae.judge(features, rows).into_iter().map(|found| {
                let p_structure = if found.is_unseen { 0.0 } else { 1.0 };
                let verdict = Verdict { p_structure, p_time: found.p, ..Verdict::default() };
                (verdict, found.is_abnormal(), found.rank())
            })),
            None => {
                let judge = model.rule.judge(features);
                self.verdicts.extend(rows.map(|row| {
                    let verdict = judge.verdict(row);
                    let (is_abnormal, rank) = (verdict.is_abnormal(alpha), verdict.rank());
                    (verdict, is_abnormal, rank)
                }));
            }
        }
        self.row == features.len()
    }
}

enum State {
    Cutting(Cutter),
    Vectors,
    Training(Box<ModelTraining>),
    Judging(Judging),
    /// The oddest, and how many of them are explained.
    Explaining(Vec<(usize, Verdict)>, usize),
    Ended,
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
        self.state = State::Judging(Judging::new());
        Ok(Next::Working(TrainingProgress::default()))
    }

    /// Sorts the judged requests and says which are explained.
    fn rank(&mut self, judging: Judging) -> Vec<(usize, Verdict)> {
        let features = &self.features[0];
        let mut order: Vec<usize> = (0..features.len()).collect();
        // Stable: the rows come by id.
        order.sort_by(|&a, &b| compare_ranks(&judging.verdicts[a].2, &judging.verdicts[b].2));
        for &row in &order {
            let (verdict, is_abnormal, _) = &judging.verdicts[row];
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
        let odd = order.into_iter().take(EXPLAINED.0).map(|row| (row, judging.verdicts[row].0.clone()));
        odd.take_while(|(_, verdict)| verdict.p_structure.min(verdict.p_time) < EXPLAINED.1).collect()
    }

    fn explain(&mut self, odd: &[(usize, Verdict)], from: usize) {
        let features = &self.features[0];
        let judge = self.model.rule.judge(features);
        let mut paths = Paths::new(&mut self.report);
        for (place, (row, verdict)) in odd.iter().enumerate().skip(from).take(EXPLAINED_PER_STEP) {
            paths.explain(place, judge.explain(*row, verdict), features, &self.model);
        }
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
                let odd = self.rank(judging);
                self.state = State::Explaining(odd, 0);
                Ok(Next::Working(TrainingProgress::default()))
            }
            State::Explaining(odd, from) => {
                self.explain(&odd, from);
                if from + EXPLAINED_PER_STEP >= odd.len() {
                    return Ok(Next::Done(Box::new(Report::Anomaly(std::mem::take(&mut self.report)))));
                }
                self.state = State::Explaining(odd, from + EXPLAINED_PER_STEP);
                Ok(Next::Working(TrainingProgress::default()))
            }
            State::Ended => Err(EngineError::Ended),
        }
    }
}

/// What the evaluation does next.
enum Stage {
    Cutting(Cutter),
    /// Vectors of the normal requests come.
    Normal,
    Training(Box<ModelTraining>, Option<f64>),
    /// Judging the held-out requests, or their abnormal copies.
    Judging(Judging, Option<f64>),
    /// Vectors of abnormal copies come.
    Abnormal,
    Ended,
}

/// Trains on half of the requests, then judges the other half as it is and made abnormal, for every kind of vectors and
/// every detector (definitions of anomalies, section 4).
pub(super) struct EvaluationChain {
    scope: Scope,
    seed: u64,
    alpha: f64,
    /// What is left to do; the one under way is last.
    runs: Vec<(Encoding, Detector)>,
    cut: crate::critical_path::Cut,
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

    fn judged(&self, judging: Judging) -> Vec<Judged> {
        let is_abnormal = !self.injections.is_empty();
        judging
            .verdicts
            .into_iter()
            .map(|(_, is_called, rank)| Judged { rank, is_called, is_abnormal })
            .collect()
    }

    fn record(&mut self, judging: Judging, score_ms: Option<f64>) {
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
                self.stage = Stage::Judging(Judging::new(), clock::now_ms());
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
                self.stage = Stage::Judging(Judging::new(), clock::now_ms());
                Ok(Next::Working(TrainingProgress::default()))
            }
            Stage::Ended => Err(EngineError::Ended),
        }
    }
}

/// Makes the vectors of one worker's requests, in steps.
pub(super) struct VectorStudy {
    encoding: Encoding,
    overlap: Overlap,
    injection: Option<(Injection, u64)>,
    requests: Vec<u32>,
    at: usize,
    tree: Tree,
    /// Abnormal copies, with their table being built.
    copies: Option<Box<TraceSet>>,
    builder: Option<TableBuilder>,
    table: Option<PathTable>,
    walk: Option<Walk<StvObserver>>,
    lost: (u64, u64),
    done: Option<FeaturePart>,
}

impl VectorStudy {
    pub fn new(
        set: &TraceSet,
        encoding: Encoding,
        injection: Option<(Injection, u64)>,
        overlap: Overlap,
        requests: Vec<u32>,
    ) -> VectorStudy {
        VectorStudy {
            encoding,
            overlap,
            injection,
            requests,
            at: 0,
            tree: Tree::default(),
            copies: injection.map(|_| Box::new(set.without_traces())),
            builder: None,
            table: None,
            walk: None,
            lost: (0, 0),
            done: None,
        }
    }

    /// Makes abnormal copies of the held-out requests; true when all are made.
    fn inject(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        let (Some((how, seed)), Some(copies)) = (self.injection, &mut self.copies) else { return true };
        while let Some(&request) = self.requests.get(self.at) {
            if self.at.is_multiple_of(16) && time_is_up() {
                return false;
            }
            self.at += 1;
            let entry = &table.requests[request as usize];
            if !is_held_out(seed, &set.trace_id_text(entry.trace)) {
                continue;
            }
            self.tree.load(set, entry.trace);
            let root = entry.row - self.tree.first;
            // Where memory ends, the evaluation stands on the copies made so far.
            let Ok(made) = inject(set, &self.tree, root, how, seed, copies) else { return true };
            if let Some(lost) = made {
                let spans = self.tree.subtree_end[root as usize] - root;
                self.lost = (self.lost.0 + u64::from(lost), self.lost.1 + u64::from(spans));
            }
        }
        true
    }

    fn vectors(
        &mut self,
        set: &TraceSet,
        table: &PathTable,
        requests: Vec<u32>,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> bool {
        if self.encoding == Encoding::Scpv {
            self.done = Some(FeaturePart::observe(set, table, &requests));
            return true;
        }
        let mut walk = self.walk.take().unwrap_or_else(|| Walk::new(StvObserver::new(), requests));
        if walk.step(set, table, time_is_up) {
            self.done = Some(walk.finish(set));
            return true;
        }
        self.walk = Some(walk);
        false
    }
}

impl TreeStudy for VectorStudy {
    fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        if self.copies.is_none() {
            let requests = std::mem::take(&mut self.requests);
            return self.vectors(set, table, requests, time_is_up);
        }
        if !self.inject(set, table, time_is_up) {
            return false;
        }
        let Some(copies) = self.copies.take() else { return true };
        if self.table.is_none() {
            let overlap = self.overlap;
            let mut builder = self
                .builder
                .take()
                .unwrap_or_else(|| TableBuilder::new(&copies, &Subject::TraceRoots, overlap));
            if builder.step(&copies, time_is_up) {
                self.table = Some(builder.finish());
            } else {
                (self.builder, self.copies) = (Some(builder), Some(copies));
                return false;
            }
        }
        let Some(own) = self.table.take() else { return true };
        let all = (0..own.requests.len() as u32).collect();
        let is_done = self.vectors(&copies, &own, all, time_is_up);
        (self.table, self.copies) = (Some(own), Some(copies));
        is_done
    }

    fn progress(&self) -> (u64, u64) {
        (self.at as u64, self.requests.len() as u64)
    }

    fn finish(self: Box<Self>, _: &TraceSet) -> Result<Vec<u8>, EngineError> {
        let mut part = self.done.unwrap_or_default();
        part.lost = self.lost;
        Ok(postcard::to_allocvec(&part)?)
    }
}
