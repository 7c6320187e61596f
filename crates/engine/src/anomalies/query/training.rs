//! Training the detectors of vectors and judging by them, in small steps.

use crate::anomalies::paper::vae::{
    Training, TrainingProgress, Vae, VaeJudge, VaeSettings, VaeVerdict, WINDOW,
};
use crate::anomalies::paper::{Features, RuleTraining, RuleVerdict, TrainedRule};
use crate::run::workers::Workers;

/// Requests judged in one step.
const ROWS_PER_STEP: usize = 512;

/// Trains the rule.
pub(crate) async fn train_rule(workers: &Workers, features: &Features) -> TrainedRule {
    let mut rule = RuleTraining::new(features);
    loop {
        workers.pause().await;
        if rule.step(features) {
            return rule.finish();
        }
    }
}

/// Trains the auto-encoder, on at least one request; also says how that went. It is one training (from 0) of several.
pub(crate) async fn train_vae(
    workers: &Workers,
    features: &Features,
    settings: VaeSettings,
    (at, of): (u32, u32),
) -> (Vae, TrainingProgress) {
    let mut training = Training::new(features, settings);
    loop {
        let TrainingProgress { done, of: steps, losses } = training.progress().clone();
        let (done, all) = (done + steps * u64::from(at), steps * u64::from(of));
        workers.working(TrainingProgress { done, of: all, losses }).await;
        if training.step() {
            let progress = training.progress().clone();
            return (training.finish(), progress);
        }
    }
}

/// Judges vectors by the rule.
pub(crate) async fn judge_by_rule(
    workers: &Workers,
    rule: &TrainedRule,
    features: &Features,
) -> Vec<RuleVerdict> {
    let lookup = rule.lookup(features);
    let judge = rule.judge(features, &lookup);
    let mut verdicts = Vec::with_capacity(features.len());
    for from in (0..features.len()).step_by(ROWS_PER_STEP) {
        workers.pause().await;
        verdicts.extend((from..features.len().min(from + ROWS_PER_STEP)).map(|row| judge.verdict(row)));
    }
    verdicts
}

/// The parts of time of some requests: as many equal ones, of which each has the [`WINDOW`] ones before it to learn from.
pub(crate) struct Parts {
    first_us: u64,
    length_us: u64,
    number: u32,
}

impl Parts {
    /// Divides the time from the first start of a request to the last into `number` parts.
    pub fn new(sets: &[&Features], number: u32) -> Parts {
        let starts = || sets.iter().flat_map(|set| set.rows.iter().map(|row| row.start_us));
        let (first_us, last_us) = (starts().min().unwrap_or(0), starts().max().unwrap_or(0));
        let length_us = (last_us - first_us + 1).div_ceil(u64::from(number.max(1)));
        Parts { first_us, length_us, number }
    }

    /// Returns the part of a start.
    fn of(&self, start_us: u64) -> u32 {
        ((start_us - self.first_us) / self.length_us) as u32
    }

    /// Returns the requests that a part is judged by.
    pub fn before(&self, part: u32, features: &Features) -> Features {
        let window = part.saturating_sub(WINDOW)..part;
        features.only(|row| window.contains(&self.of(row.start_us)))
    }

    /// Returns what the last part and the requests after it are judged by, a sliding window that has come to the end.
    pub fn last(&self, features: &Features) -> Features {
        self.before(self.number, features)
    }

    /// Trains once for each part that has a whole window before it, and judges what began in it; the rest, and what has
    /// nothing to be judged by, has no verdict. Also gives the last network and how its training went.
    pub async fn judge(
        &self,
        workers: &Workers,
        (normal, test): (&Features, &Features),
        settings: VaeSettings,
    ) -> (Vec<Option<VaeVerdict>>, Option<(Vae, TrainingProgress)>) {
        let (mut verdicts, mut last) = (vec![None; test.len()], None);
        for part in WINDOW..self.number {
            let learned = self.before(part, normal);
            let judged: Vec<usize> =
                (0..test.len()).filter(|&row| self.of(test.rows[row].start_us) == part).collect();
            if learned.is_empty() || judged.is_empty() {
                continue;
            }
            let place = (part - WINDOW, self.number - WINDOW);
            let (vae, went) = train_vae(workers, &learned, settings, place).await;
            let rows = test.only(|row| self.of(row.start_us) == part);
            for (row, verdict) in judged.into_iter().zip(judge_by_vae(workers, &vae, &rows).await) {
                verdicts[row] = Some(verdict);
            }
            last = Some((vae, went));
        }
        (verdicts, last)
    }
}

/// Judges vectors by the auto-encoder.
pub(crate) async fn judge_by_vae(workers: &Workers, vae: &Vae, features: &Features) -> Vec<VaeVerdict> {
    let mut judge = VaeJudge::new(vae, features);
    let mut verdicts = Vec::with_capacity(features.len());
    for from in (0..features.len()).step_by(vae.stride()) {
        workers.pause().await;
        verdicts.extend(judge.judge(vae, features, from..features.len().min(from + vae.stride())));
    }
    verdicts
}
