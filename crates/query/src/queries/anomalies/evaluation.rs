//! The evaluation: how well abnormal requests are told from normal ones (`docs/definitions/anomaly.md` section 4).

use super::training::{judge, train};
use crate::queries::Query;
use crate::request_pass::RequestPass;
use crate::workers::Workers;
use crate::{EngineError, clock};
use pathlight_analysis::anomaly::{
    Accuracy, AnomalySettings, Detector, Encoding, EvaluationRow, EvaluationTable, Features, Injection,
    Judged, Model, is_held_out,
};
use pathlight_analysis::requests::Selection;
use serde::{Deserialize, Serialize};

/// Reports how well detectors find what was made abnormal. Trains on half of the requests, then judges the other half as
/// it is and made abnormal, for every kind of vectors and every detector (`docs/definitions/anomaly.md` section 4).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnomalyEvaluation {
    /// Normal requests: half of them to learn from, the rest to be judged and made abnormal.
    pub selection: Selection,
    /// Of the halves and of the injections.
    pub seed: u64,
    /// Accepted rate of false alarms in millionths, and what the auto-encoder is, if it takes part.
    pub settings: AnomalySettings,
}

impl Query for AnomalyEvaluation {
    type Report = EvaluationTable;

    async fn run(self, workers: Workers) -> Result<EvaluationTable, EngineError> {
        let AnomalyEvaluation { selection, seed, settings } = self;
        let (requests, _) = workers.cut(&selection).await?;
        let alpha = f64::from(settings.alpha_ppm) / 1e6;
        let mut table = EvaluationTable { alpha, ..EvaluationTable::default() };
        let mut detectors = vec![Detector::Rule];
        detectors.extend(matches!(settings.detector, Detector::Vae(_)).then_some(settings.detector));
        let encodings = [Encoding::Scpv, Encoding::Stv];
        for (detector, encoding) in detectors.into_iter().flat_map(|d| encodings.map(|e| (d, e))) {
            let all =
                Features::merge(requests.partials(RequestPass::Vectors { encoding, injected: None }).await?);
            let trained = all.only(|row| !is_held_out(seed, &row.request.trace_id));
            let held_out = all.only(|row| is_held_out(seed, &row.request.trace_id));
            drop(all);
            (table.trained, table.held_out) = (trained.len() as u64, held_out.len() as u64);
            let from = clock::now_ms();
            let (model, _) = train(&workers, trained, encoding, detector).await;
            let train_ms = clock::since(from);
            let alpha = model.rule.possible_alpha(alpha);
            let normal = judged(&workers, &model, &held_out, alpha, false).await;
            for injection in Injection::ALL {
                let pass = RequestPass::Vectors { encoding, injected: Some((injection, seed)) };
                let copies = Features::merge(requests.partials(pass).await?);
                let from = clock::now_ms();
                let abnormal = judged(&workers, &model, &copies, alpha, true).await;
                let score_ms = clock::since(from);
                if injection == Injection::Structure && copies.lost.1 > 0 {
                    table.dropped_share = copies.lost.0 as f64 / copies.lost.1 as f64;
                }
                table.rows.push(EvaluationRow {
                    detector,
                    encoding,
                    injection,
                    accuracy: Accuracy::of([normal.as_slice(), &abnormal].concat()),
                    features: model.rule.paths.nodes.len() as u64,
                    train_ms,
                    score_ms,
                });
            }
        }
        Ok(table)
    }
}

async fn judged(
    workers: &Workers,
    model: &Model,
    features: &Features,
    alpha: f64,
    is_abnormal: bool,
) -> Vec<Judged> {
    let (judgements, _) = judge(workers, model, features, alpha).await;
    judgements.into_iter().map(|(_, is_called, rank)| Judged { rank, is_called, is_abnormal }).collect()
}
