//! The evaluation by a real fault whose place is known (`docs/definitions/anomaly.md` section 7).

use super::evaluation::{Trained, Vectors, alarms, compared, split_seed};
use super::{facts, vectors};
use crate::EngineError;
use crate::anomalies::call_tree::Scratch;
use crate::anomalies::paper::{FeatureEncoding, Features, Judged, is_held_out};
use crate::anomalies::{AnomalySettings, Detector, FalseAlarmRow, VerdictCounts};
use crate::requests::{RequestRef, Selection};
use crate::run::clock;
use crate::run::query::Query;
use crate::run::workers::Workers;
use crate::verdict::hit::{RequestTimes, request_times};
use crate::verdict::{ServicePart, Subject};
use pathlight_base::steps::Pace;
use serde::{Deserialize, Serialize};

/// A fault hits a request strongly if a part of the service at fault takes more than so many times the longest of normal.
const TIMES: u64 = 3;
/// And at least so many microseconds.
const LEAST_US: u64 = 20_000;

/// Reports how many of the requests that a fault hits strongly are found, and how many normal ones are called abnormal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabelledFault {
    /// Requests without the fault, to learn from.
    pub normal: Selection,
    /// Requests while the fault was there.
    pub faulty: Selection,
    /// The service at fault.
    pub service: String,
    /// Of the halves of the normal requests.
    pub seed: u64,
    /// So many times the normal requests are halved.
    pub splits: u32,
    /// Accepted rate of false alarms in millionths, and what the auto-encoder is, if it takes part.
    pub settings: AnomalySettings,
}

/// What a detector finds of a fault, and what it costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FaultDetector {
    /// The detector.
    pub detector: Detector,
    /// Content of its vectors; `None` of the detector that needs none.
    pub encoding: Option<FeatureEncoding>,
    /// Of the requests that the fault hits strongly those that it calls abnormal.
    pub found: u64,
    /// Share of normal requests that it calls abnormal, mean of the halvings; `None` where they cannot be halved.
    pub false_alarms: Option<f64>,
    /// Call paths seen in training.
    pub features: u64,
    /// Milliseconds of training, and of judging all requests while the fault was there; `None` where there is no clock.
    pub train_ms: Option<f64>,
    /// Likewise.
    pub score_ms: Option<f64>,
}

/// What is found of a fault.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LabelledReport {
    /// Requests learned from.
    pub trained: u64,
    /// Accepted rate of false alarms, or the least that can fire.
    pub alpha: f64,
    /// Requests judged while the fault was there.
    pub judged: u64,
    /// Those of them that it hits strongly.
    pub hit: u64,
    /// The verdicts on these.
    pub found: VerdictCounts,
    /// Those of these that are abnormal by both verdicts as one test.
    pub found_by_one_test: u64,
    /// Normal requests called abnormal; `None` where they cannot be halved.
    pub false_alarms: Option<FalseAlarmRow>,
    /// The default detector, and those it is compared with.
    pub detectors: Vec<FaultDetector>,
}

impl LabelledReport {
    /// Returns the share of the requests hit that are abnormal; `None` if none is hit.
    pub fn recall(&self) -> Option<f64> {
        (self.hit > 0).then(|| self.found.abnormal() as f64 / self.hit as f64)
    }
}

impl Query for LabelledFault {
    type Report = LabelledReport;

    async fn run(self, workers: Workers) -> Result<LabelledReport, EngineError> {
        let LabelledFault { normal, faulty, service, seed, splits, settings } = self;
        let subjects = ServicePart::ALL.map(|part| Subject { service: service.clone(), part });
        let usual = request_times(&workers, &normal, &subjects).await?;
        let times = request_times(&workers, &faulty, &subjects).await?;
        let hit = hit_strongly(&usual, &times);
        let sides = [normal.with_recorded_calls(), faulty.with_recorded_calls()];
        let (normal, faulty) = (facts(&workers, &sides[0]).await?, facts(&workers, &sides[1]).await?);
        let asked_alpha = f64::from(settings.alpha_ppm) / 1e6;
        let rows: Vec<u32> = (0..normal.len() as u32).collect();
        let trained = Trained::on(&normal, &rows, settings.contaminated_ppm).await;
        let alpha = trained.model.possible_alpha(asked_alpha);
        let one_alpha = trained.model.possible_one_alpha(asked_alpha);
        let located = trained.tables.locate(&trained.model, &faulty.dictionary);
        let (mut scratch, mut pace) = (Scratch::default(), Pace::default());
        let mut report = LabelledReport {
            trained: trained.model.learned(),
            alpha,
            judged: faulty.len() as u64,
            false_alarms: alarms(&workers, &normal, (seed, splits), asked_alpha, usize::MAX).await,
            ..LabelledReport::default()
        };
        let from = clock::now_ms();
        for (row, judged) in faulty.rows.iter().enumerate() {
            let verdict = trained.tables.judge(&trained.model, &located, &faulty, row, &mut scratch);
            if hit.binary_search(&judged.facts.request).is_ok() {
                report.hit += 1;
                report.found.add(verdict.is_delayed(alpha), verdict.is_different(alpha));
                report.found_by_one_test += u64::from(verdict.is_within(verdict.p(), one_alpha));
            }
            pace.spend(1_000).await;
        }
        report.detectors.push(FaultDetector {
            detector: Detector::Tree,
            encoding: None,
            found: report.found.abnormal(),
            false_alarms: report.false_alarms.map(|row| row.abnormal.mean),
            features: trained.model.dictionary.paths.nodes.len() as u64,
            train_ms: trained.train_ms,
            score_ms: clock::since(from),
        });
        for (detector, encoding) in compared(settings.detector) {
            let normal = vectors(&workers, &sides[0], encoding).await?;
            let faulty = vectors(&workers, &sides[1], encoding).await?;
            let split = (seed, splits, asked_alpha);
            report
                .detectors
                .extend(others(&workers, (detector, encoding), [&normal, &faulty], &hit, split).await);
        }
        Ok(report)
    }
}

/// Returns what a detector of vectors finds among faulty requests, and how many normal ones it calls abnormal over the same
/// halvings as the default detector; of the auto-encoder a second row has the threshold of held-out requests.
async fn others(
    workers: &Workers,
    (detector, encoding): (Detector, FeatureEncoding),
    [normal, faulty]: [&Features; 2],
    hit: &[RequestRef],
    (seed, splits, alpha): (u64, u32, f64),
) -> Vec<FaultDetector> {
    let from = clock::now_ms();
    let trained = Vectors::train(workers, normal, detector).await;
    let train_ms = clock::since(from);
    let from = clock::now_ms();
    let (learned, held_out) = trained.judge(workers, faulty, alpha, true).await;
    let score_ms = clock::since(from);
    let alarms = vector_alarms(workers, normal, detector, (seed, splits, alpha)).await;
    let is_hit: Vec<bool> = faulty.rows.iter().map(|row| hit.binary_search(&row.request).is_ok()).collect();
    let row = |detector, judged: &[Judged], false_alarms| FaultDetector {
        detector,
        encoding: Some(encoding),
        found: judged.iter().zip(&is_hit).filter(|(judged, is_hit)| **is_hit && judged.is_called).count()
            as u64,
        false_alarms,
        features: trained.paths() as u64,
        train_ms,
        score_ms,
    };
    let mut rows = vec![row(detector, &learned, alarms.map(|shares| shares[0]))];
    if let Detector::Vae(sizes) = detector {
        rows.push(row(Detector::VaeHeldOut(sizes), &held_out, alarms.map(|shares| shares[1])));
    }
    rows
}

/// Returns the mean share of normal requests that a detector of vectors calls abnormal over several halvings; of the
/// auto-encoder also by the threshold of held-out requests.
async fn vector_alarms(
    workers: &Workers,
    normal: &Features,
    detector: Detector,
    (seed, splits, alpha): (u64, u32, f64),
) -> Option<[f64; 2]> {
    let mut shares: Vec<[f64; 2]> = Vec::new();
    for split in 0..splits {
        let seed = split_seed(seed, split);
        let [judged, learned] =
            [true, false].map(|is| normal.only(|row| is_held_out(seed, &row.request.trace_id) == is));
        if judged.is_empty() || learned.is_empty() {
            continue;
        }
        let trained = Vectors::train(workers, &learned, detector).await;
        let (found, held_out) = trained.judge(workers, &judged, alpha, false).await;
        let share =
            |found: &[Judged]| found.iter().filter(|one| one.is_called).count() as f64 / judged.len() as f64;
        shares.push([share(&found), share(&held_out)]);
    }
    let mean = |at: usize| shares.iter().map(|share| share[at]).sum::<f64>() / shares.len() as f64;
    (!shares.is_empty()).then(|| [mean(0), mean(1)])
}

/// Returns the requests, ascending, in which some subject takes much longer than in any normal one.
fn hit_strongly(usual: &RequestTimes, times: &RequestTimes) -> Vec<RequestRef> {
    let longest = |subject: usize| usual.values().filter_map(|times| times[subject]).max();
    let longest = ServicePart::ALL.iter().enumerate().map(|(subject, _)| longest(subject));
    let longest: Vec<Option<u64>> = longest.collect();
    let is_long = |(us, longest): (&Option<u64>, &Option<u64>)| match (us, longest) {
        (Some(us), Some(longest)) => *us >= LEAST_US && *us > TIMES * longest,
        _ => false,
    };
    let is_hit = |times: &[Option<u64>]| times.iter().zip(&longest).any(is_long);
    times.iter().filter(|(_, times)| is_hit(times)).map(|(request, _)| request.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_hit_strongly_where_it_takes_thrice_the_longest_of_normal_and_20_ms() {
        let of = |number: u8, times| {
            let trace_id = number.to_string();
            (RequestRef { trace_id, root_span_id: "1".into(), latency_us: 9 }, times)
        };
        let usual = RequestTimes::from([of(0, vec![Some(7_000), Some(10), None])]);
        let times = RequestTimes::from([
            of(1, vec![Some(21_001), None, None]),
            of(2, vec![Some(21_000), Some(19_999), None]),
            of(3, vec![None, Some(20_000), None]),
            of(4, vec![None, None, Some(90_000)]),
        ]);
        let ids: Vec<String> = hit_strongly(&usual, &times).into_iter().map(|hit| hit.trace_id).collect();
        assert_eq!(ids, ["1", "3"], "nothing is known of calls that no normal request makes");
    }
}
