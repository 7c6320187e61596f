//! The evaluation: how well abnormal requests are separated from normal ones (`docs/definitions/anomaly.md` section 7).

use super::training::{judge_by_rule, judge_by_vae, train_rule, train_vae};
use crate::EngineError;
use crate::anomalies::call_tree::{
    Explainer, FactPart, Located, RequestFacts, Scratch, Tables, TreeModel, TreeReason,
};
use crate::anomalies::paper::vae::Vae;
use crate::anomalies::paper::{
    Accuracy, FeatureEncoding, Features, Injection, Judged, TrainedRule, Victims, is_held_out,
};
use crate::anomalies::query::{FactsPass, InjectionPlan, VectorsPass};
use crate::anomalies::{
    AnomalySettings, Detector, EvaluationRow, EvaluationTable, FalseAlarmRow, ReasonKind, VerdictCounts,
};
use crate::requests::Selection;
use crate::run::clock;
use crate::run::query::Query;
use crate::run::range_requests::RangeRequests;
use crate::run::workers::Workers;
use pathlight_base::statistics::{Random, mix};
use pathlight_base::steps::Pace;
use serde::{Deserialize, Serialize};

/// The share of training requests that are abnormal where training is contaminated, in millionths; so much is left out.
const CONTAMINATED_PPM: u32 = 50_000;
/// So few training requests are looked at too.
const FEW: [usize; 3] = [20, 50, 100];

/// Reports how well detectors find what was made abnormal. Trains on half of the requests, then judges the other half as
/// it is and made abnormal in every way, by the default detector and by those it is compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnomalyEvaluation {
    /// Normal requests: half of them to learn from, the rest to be judged and made abnormal.
    pub selection: Selection,
    /// Of the halves and of the injections.
    pub seed: u64,
    /// So many times the requests are halved anew, to see how many normal ones are called abnormal.
    pub splits: u32,
    /// Accepted rate of false alarms in millionths, and what the auto-encoder is, if it takes part.
    pub settings: AnomalySettings,
}

impl Query for AnomalyEvaluation {
    type Report = EvaluationTable;

    async fn run(self, workers: Workers) -> Result<EvaluationTable, EngineError> {
        let AnomalyEvaluation { selection, seed, splits, settings } = self;
        let settings = settings.bounded();
        let selection = selection.with_recorded_calls();
        workers.needs_traces(&selection, "the evaluation changes").await?;
        let requests = workers.requests(&selection).await?;
        let alpha = f64::from(settings.alpha_ppm) / 1e6;
        let mut table = EvaluationTable { alpha, ..EvaluationTable::default() };
        whole(&workers, &requests, (seed, splits), alpha, &mut table).await?;
        for (detector, encoding) in compared(settings.detector) {
            let vectors = |plan| VectorsPass { encoding, plan };
            let all = Features::merge(requests.partials(vectors(None)).await?);
            let trained = all.only(|row| !is_held_out(seed, &row.request.trace_id));
            let held_out = all.only(|row| is_held_out(seed, &row.request.trace_id));
            drop(all);
            let from = clock::now_ms();
            let trained = Vectors::train(&workers, &trained, detector).await;
            let train_ms = clock::since(from);
            let (normal, normal_held_out) = trained.judge(&workers, &held_out, alpha, false).await;
            for injection in Injection::ALL {
                let pass = vectors(Some((injection, seed, Victims::HeldOut)));
                let copies = Features::merge(requests.partials(pass).await?);
                let from = clock::now_ms();
                let (abnormal, abnormal_held_out) =
                    trained.judge(&workers, &copies, alpha, injection.is_abnormal()).await;
                let score_ms = clock::since(from);
                let row = EvaluationRow {
                    detector,
                    encoding: Some(encoding),
                    injection,
                    contaminated: 0.0,
                    accuracy: accuracy(&normal, &abnormal, injection),
                    auprc_alone: None,
                    one_test_recall: None,
                    named: None,
                    features: trained.paths() as u64,
                    train_ms,
                    score_ms,
                };
                table.rows.push(row.clone());
                if let Detector::Vae(sizes) = detector {
                    table.rows.push(EvaluationRow {
                        detector: Detector::VaeHeldOut(sizes),
                        accuracy: accuracy(&normal_held_out, &abnormal_held_out, injection),
                        ..row
                    });
                }
            }
        }
        Ok(table)
    }
}

/// Returns the detectors of vectors that the default one is compared with, the auto-encoder if it is the one asked for.
pub(super) fn compared(asked: Detector) -> Vec<(Detector, FeatureEncoding)> {
    let mut detectors = vec![Detector::Rule];
    detectors.extend(matches!(asked, Detector::Vae(_)).then_some(asked));
    let encodings = [FeatureEncoding::Scpv, FeatureEncoding::Stv];
    detectors.into_iter().flat_map(|detector| encodings.map(|encoding| (detector, encoding))).collect()
}

/// Returns the seed of one of several ways to halve requests. The first is the one that all other figures are of.
pub(super) fn split_seed(seed: u64, split: u32) -> u64 {
    if split == 0 { seed } else { mix(seed ^ u64::from(split) << 32) }
}

/// Returns the figures of normal and abnormal requests; where nothing is abnormal, of the latter alone.
fn accuracy(normal: &[Judged], abnormal: &[Judged], injection: Injection) -> Accuracy {
    let normal = if injection.is_abnormal() { normal } else { &[] };
    Accuracy::of([normal, abnormal].concat())
}

async fn parts(
    requests: &RangeRequests<'_>,
    plan: Option<InjectionPlan>,
) -> Result<Vec<FactPart>, EngineError> {
    requests.partials(FactsPass { plan }).await
}

/// A trained default detector, ready to judge.
pub(super) struct Trained {
    pub model: TreeModel,
    pub tables: Tables,
    pub train_ms: Option<f64>,
}

/// Requests judged by the default detector.
#[derive(Default)]
struct JudgedRequests {
    judged: Vec<Judged>,
    /// The same ranked by one verdict alone: delayed, and different.
    alone: [Vec<Judged>; 2],
    /// Those that are abnormal by both verdicts as one test.
    by_one_test: u64,
    /// Those called abnormal whose first reason names the place, and those of which it could.
    named: (u64, u64),
}

impl Trained {
    /// Learns from rows of facts.
    pub async fn on(facts: &RequestFacts, rows: &[u32], contaminated_ppm: u32) -> Trained {
        let from = clock::now_ms();
        let (model, tables, _) = TreeModel::train(facts, rows, contaminated_ppm, &mut Pace::default()).await;
        Trained { model, tables, train_ms: clock::since(from) }
    }

    /// Judges rows of facts at an accepted rate of false alarms.
    async fn judge(
        &self,
        facts: &RequestFacts,
        located: &Located,
        rows: &[u32],
        (asked_alpha, is_abnormal): (f64, bool),
    ) -> JudgedRequests {
        let alpha = self.model.possible_alpha(asked_alpha);
        let one_alpha = self.model.possible_one_alpha(asked_alpha);
        let explainer = Explainer::new(&self.model, &self.tables, located, facts);
        let (mut scratch, mut pace) = (Scratch::default(), Pace::default());
        let mut out = JudgedRequests::default();
        for &row in rows {
            let verdict = self.tables.judge(&self.model, located, facts, row as usize, &mut scratch);
            let is_called = verdict.is_abnormal(alpha);
            out.by_one_test += u64::from(verdict.is_within(verdict.p(), one_alpha));
            let rank = [-verdict.rank(), -verdict.score, 0.0, 0.0];
            out.judged.push(Judged { rank, is_called, is_abnormal });
            let delayed = verdict.delayed.map_or(0.0, |delayed| delayed.surprise);
            for (alone, surprise) in out.alone.iter_mut().zip([delayed, verdict.different.surprise]) {
                alone.push(Judged { rank: [-surprise, 0.0, 0.0, 0.0], is_called, is_abnormal });
            }
            if let Some(places) = &facts.rows[row as usize].injected
                && is_called
                && !places.is_empty()
            {
                let why = explainer.explain(row as usize, &verdict, false, &mut scratch);
                // As a report says them: of a delayed request its delays come first, of others they are not said.
                let is_told =
                    |reason: &&TreeReason| verdict.is_delayed(alpha) || reason.kind != ReasonKind::Delay;
                let first = why.reasons.iter().find(is_told);
                let place = first.and_then(|reason| reason.path.last());
                out.named.0 += u64::from(place.is_some_and(|place| places.contains(place)));
                out.named.1 += 1;
            }
            pace.spend(1_000).await;
        }
        out
    }
}

/// Returns the rows that are judged, and those that are learned from.
fn halves(all: &RequestFacts, seed: u64) -> (Vec<u32>, Vec<u32>) {
    let is_out = |row: &u32| is_held_out(seed, &all.rows[*row as usize].facts.request.trace_id);
    (0..all.len() as u32).partition(is_out)
}

/// Returns the normal requests called abnormal, where few of a half are learned from, and where all are.
async fn false_alarms(
    workers: &Workers,
    all: &RequestFacts,
    splits: (u64, u32),
    asked_alpha: f64,
) -> Vec<FalseAlarmRow> {
    let mut rows = Vec::new();
    for most in FEW.into_iter().chain([usize::MAX]) {
        rows.extend(alarms(workers, all, splits, asked_alpha, most).await);
    }
    rows
}

/// Returns the normal requests called abnormal over several ways to halve all of them, where at most so many of a half are
/// learned from; `None` where no half has more than these.
pub(super) async fn alarms(
    workers: &Workers,
    all: &RequestFacts,
    (seed, splits): (u64, u32),
    asked_alpha: f64,
    most: usize,
) -> Option<FalseAlarmRow> {
    let mut row = FalseAlarmRow { alpha: asked_alpha, ..FalseAlarmRow::default() };
    let mut scratch = Scratch::default();
    for split in 0..splits {
        workers.pause().await;
        let seed = split_seed(seed, split);
        let (held_out, mut learned) = halves(all, seed);
        let is_all = most == usize::MAX;
        if held_out.is_empty() || learned.len() <= if is_all { 0 } else { most } {
            continue;
        }
        Random::new(seed, 0, 0).shuffle(&mut learned);
        learned.truncate(most);
        learned.sort_unstable();
        let trained = Trained::on(all, &learned, 0).await;
        let alpha = trained.model.possible_alpha(asked_alpha);
        let located = trained.tables.own(&trained.model);
        let (mut found, mut pace) = (VerdictCounts::default(), Pace::default());
        for &judged in &held_out {
            let verdict = trained.tables.judge(&trained.model, &located, all, judged as usize, &mut scratch);
            found.add(verdict.is_delayed(alpha), verdict.is_different(alpha));
            pace.spend(1_000).await;
        }
        row.add(learned.len(), alpha, found, held_out.len());
    }
    (row.splits > 0).then_some(row)
}

/// Evaluates the default detector, on training requests as they are, and with abnormal ones among them.
async fn whole(
    workers: &Workers,
    requests: &RangeRequests<'_>,
    (seed, splits): (u64, u32),
    asked_alpha: f64,
    table: &mut EvaluationTable,
) -> Result<(), EngineError> {
    let all = RequestFacts::merge(parts(requests, None).await?);
    table.false_alarms = false_alarms(workers, &all, (seed, splits), asked_alpha).await;
    let (held_out, learned) = halves(&all, seed);
    (table.trained, table.held_out) = (learned.len() as u64, held_out.len() as u64);
    let clean = Trained::on(&all, &learned, 0).await;
    // Some of the training requests give way to abnormal copies of themselves.
    let mut both = parts(requests, None).await?;
    both.extend(parts(requests, Some((Injection::Recipe, seed, Victims::Training))).await?);
    let mixed = RequestFacts::merge(both);
    let is_learned = |row: &u32| {
        let row = &mixed.rows[*row as usize];
        let id = &row.facts.request.trace_id;
        row.injected.is_some() || !is_held_out(seed, id) && !Victims::Training.has(seed, id)
    };
    let learned: Vec<u32> = (0..mixed.len() as u32).filter(is_learned).collect();
    let contaminated = Trained::on(&mixed, &learned, CONTAMINATED_PPM).await;
    for (trained, share) in [(clean, 0.0), (contaminated, f64::from(CONTAMINATED_PPM) / 1e6)] {
        let located = trained.tables.locate(&trained.model, &all.dictionary);
        let normal = trained.judge(&all, &located, &held_out, (asked_alpha, false)).await;
        for injection in Injection::ALL {
            let copies =
                RequestFacts::merge(parts(requests, Some((injection, seed, Victims::HeldOut))).await?);
            if injection == Injection::Structure && copies.lost.1 > 0 {
                table.dropped_share = copies.lost.0 as f64 / copies.lost.1 as f64;
            }
            let located = trained.tables.locate(&trained.model, &copies.dictionary);
            let rows: Vec<u32> = (0..copies.len() as u32).collect();
            let from = clock::now_ms();
            let JudgedRequests { judged: abnormal, alone, by_one_test, named: (named, could) } =
                trained.judge(&copies, &located, &rows, (asked_alpha, injection.is_abnormal())).await;
            let auprc = |verdict: usize| accuracy(&normal.alone[verdict], &alone[verdict], injection).auprc;
            table.rows.push(EvaluationRow {
                detector: Detector::Tree,
                encoding: None,
                injection,
                contaminated: share,
                accuracy: accuracy(&normal.judged, &abnormal, injection),
                auprc_alone: Some([auprc(0), auprc(1)]),
                one_test_recall: (!rows.is_empty()).then(|| by_one_test as f64 / rows.len() as f64),
                named: (could > 0).then(|| named as f64 / could as f64),
                features: trained.model.dictionary.paths.nodes.len() as u64,
                train_ms: trained.train_ms,
                score_ms: clock::since(from),
            });
        }
    }
    Ok(())
}

/// A trained detector of vectors.
pub(super) enum Vectors {
    Rule(TrainedRule),
    Vae(Vae),
}

impl Vectors {
    /// Learns from all rows of the vectors.
    pub async fn train(workers: &Workers, features: &Features, detector: Detector) -> Vectors {
        match detector {
            Detector::Vae(settings) if !features.is_empty() => {
                Vectors::Vae(train_vae(workers, features, settings, (0, 1)).await.0)
            }
            _ => Vectors::Rule(train_rule(workers, features).await),
        }
    }

    /// Returns the number of call paths it has learned.
    pub fn paths(&self) -> usize {
        match self {
            Vectors::Rule(rule) => rule.paths.nodes.len(),
            Vectors::Vae(vae) => vae.paths.nodes.len(),
        }
    }

    /// Judges vectors; of the auto-encoder also by its threshold of held-out requests, where there is one.
    pub async fn judge(
        &self,
        workers: &Workers,
        features: &Features,
        alpha: f64,
        is_abnormal: bool,
    ) -> (Vec<Judged>, Vec<Judged>) {
        match self {
            Vectors::Rule(rule) => {
                let alpha = rule.possible_alpha(alpha);
                let verdicts = judge_by_rule(workers, rule, features).await.into_iter();
                let judged = verdicts.map(|verdict| Judged {
                    rank: verdict.rank(),
                    is_called: verdict.is_abnormal(alpha),
                    is_abnormal,
                });
                (judged.collect(), Vec::new())
            }
            Vectors::Vae(vae) => {
                let verdicts = judge_by_vae(workers, vae, features).await.into_iter();
                let judged = verdicts.map(|verdict| {
                    let one = |is_called| Judged { rank: verdict.rank(), is_called, is_abnormal };
                    (one(verdict.is_abnormal()), one(verdict.is_abnormal_held_out() == Some(true)))
                });
                judged.unzip()
            }
        }
    }
}
