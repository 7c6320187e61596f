//! Training a model and judging by it, both in small steps.

use crate::workers::Workers;
use pathlight_analysis::anomaly::vae::{Training, TrainingProgress, VaeJudge};
use pathlight_analysis::anomaly::{Detector, Encoding, Features, Lookup, Model, RuleTraining, Verdict};

/// Requests judged in one step.
const ROWS_PER_STEP: usize = 512;

/// Trains a model on normal requests; also says how training the auto-encoder went.
pub(super) async fn train(
    workers: &Workers,
    features: Features,
    encoding: Encoding,
    detector: Detector,
) -> (Model, Option<TrainingProgress>) {
    let mut rule = RuleTraining::new(&features);
    loop {
        workers.pause().await;
        if rule.step(&features) {
            break;
        }
    }
    let (mut vae, mut progress) = (None, None);
    if let Detector::Vae(settings) = detector
        && !features.is_empty()
    {
        let mut training = Training::new(&features, settings);
        loop {
            workers.working(training.progress().clone()).await;
            if training.step() {
                break;
            }
        }
        progress = Some(training.progress().clone());
        vae = Some(training.finish());
    }
    (Model { encoding, rule: rule.finish(), vae }, progress)
}

/// The judgement of a request: the verdict, whether it is called abnormal, its rank.
pub(super) type Judgement = (Verdict, bool, [f64; 4]);

/// Judges requests by a model; returns the judgement of each, and what explains it.
pub(super) async fn judge(
    workers: &Workers,
    model: &Model,
    features: &Features,
    alpha: f64,
) -> (Vec<Judgement>, Lookup) {
    let mut vae = model.vae.as_ref().map(|vae| (vae, VaeJudge::new(vae, features)));
    let lookup = model.rule.lookup(features);
    let stride = model.vae.as_ref().map_or(ROWS_PER_STEP, |vae| vae.stride());
    let mut judgements: Vec<Judgement> = Vec::with_capacity(features.len());
    for from in (0..features.len()).step_by(stride) {
        workers.pause().await;
        let rows = from..features.len().min(from + stride);
        if let Some((vae, judge)) = &mut vae {
            judgements.extend(judge.judge(vae, features, rows).into_iter().map(|found| {
                let p_structure = if found.is_unseen { 0.0 } else { 1.0 };
                let verdict = Verdict { p_structure, p_time: found.p, ..Verdict::default() };
                (verdict, found.is_abnormal(), found.rank())
            }));
        } else {
            let judge = model.rule.judge(features, &lookup);
            judgements.extend(rows.map(|row| {
                let verdict = judge.verdict(row);
                let (is_abnormal, rank) = (verdict.is_abnormal(alpha), verdict.rank());
                (verdict, is_abnormal, rank)
            }));
        }
    }
    (judgements, lookup)
}
