//! Training the detectors of vectors and judging by them, in small steps.

use crate::workers::Workers;
use pathlight_analysis::anomaly::vae::{Training, TrainingProgress, Vae, VaeJudge, VaeSettings, VaeVerdict};
use pathlight_analysis::anomaly::{Features, Rule, RuleTraining, Verdict};

/// Requests judged in one step.
const ROWS_PER_STEP: usize = 512;

/// Trains the rule.
pub(super) async fn train_rule(workers: &Workers, features: &Features) -> Rule {
    let mut rule = RuleTraining::new(features);
    loop {
        workers.pause().await;
        if rule.step(features) {
            return rule.finish();
        }
    }
}

/// Trains the auto-encoder, on at least one request; also says how that went.
pub(super) async fn train_vae(
    workers: &Workers,
    features: &Features,
    settings: VaeSettings,
) -> (Vae, TrainingProgress) {
    let mut training = Training::new(features, settings);
    loop {
        workers.working(training.progress().clone()).await;
        if training.step() {
            let progress = training.progress().clone();
            return (training.finish(), progress);
        }
    }
}

/// Judges vectors by the rule.
pub(super) async fn judge_by_rule(workers: &Workers, rule: &Rule, features: &Features) -> Vec<Verdict> {
    let lookup = rule.lookup(features);
    let judge = rule.judge(features, &lookup);
    let mut verdicts = Vec::with_capacity(features.len());
    for from in (0..features.len()).step_by(ROWS_PER_STEP) {
        workers.pause().await;
        verdicts.extend((from..features.len().min(from + ROWS_PER_STEP)).map(|row| judge.verdict(row)));
    }
    verdicts
}

/// Judges vectors by the auto-encoder.
pub(super) async fn judge_by_vae(workers: &Workers, vae: &Vae, features: &Features) -> Vec<VaeVerdict> {
    let mut judge = VaeJudge::new(vae, features);
    let mut verdicts = Vec::with_capacity(features.len());
    for from in (0..features.len()).step_by(vae.stride()) {
        workers.pause().await;
        verdicts.extend(judge.judge(vae, features, from..features.len().min(from + vae.stride())));
    }
    verdicts
}
