//! Anomaly detection: vectors of both sides, then training and judging in small steps.

mod evaluation;
mod training;
mod vectors;

pub use evaluation::AnomalyEvaluation;
pub(crate) use vectors::{Made, Told, VectorPass};

use self::training::{Judgement, judge, train};
use super::Query;
use crate::EngineError;
use crate::request_pass::RequestPass;
use crate::workers::Workers;
use pathlight_analysis::anomaly::{
    AnomalyReport, AnomalyRow, AnomalySettings, Detector, Encoding, Features, Model, ReasonNames, Verdict,
    compare_ranks,
};
use pathlight_analysis::requests::Selection;
use pathlight_model::sort::Arrange;
use serde::{Deserialize, Serialize};

/// The oddest requests that are explained, and the p-value up to which they are.
const EXPLAINED: (usize, f64) = (500, 0.1);
/// Requests explained in one step.
const EXPLAINED_PER_STEP: usize = 16;

/// Reports which requests are abnormal, and why: trains on one side, unless a model is given, and judges the other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anomalies {
    /// The normal requests to learn from.
    pub train: Selection,
    /// The requests to judge.
    pub test: Selection,
    /// How.
    pub settings: AnomalySettings,
}

impl Query for Anomalies {
    type Report = AnomalyReport;

    async fn run(self, workers: Workers) -> Result<AnomalyReport, EngineError> {
        let Anomalies { train: normal, test, settings } = self;
        let (model, features, training) = match given(&settings)? {
            Some(model) => {
                let features = vectors(&workers, &test, model.encoding).await?;
                (model, features, None)
            }
            None => {
                let normal = vectors(&workers, &normal, settings.encoding).await?;
                let features = vectors(&workers, &test, settings.encoding).await?;
                let (model, training) = train(&workers, normal, settings.encoding, settings.detector).await;
                (model, features, training)
            }
        };
        let asked = f64::from(settings.alpha_ppm) / 1e6;
        let has_vae = model.vae.is_some();
        let mut report = AnomalyReport {
            alpha: if has_vae {
                pathlight_analysis::anomaly::vae::P_VALUE
            } else {
                model.rule.possible_alpha(asked)
            },
            asked_alpha: asked,
            detector: match settings.detector {
                Detector::Vae(settings) if has_vae => Detector::Vae(settings),
                _ if has_vae => Detector::Vae(Default::default()),
                _ => Detector::Rule,
            },
            trained: model.rule.len() as u64,
            features: model.rule.paths.nodes.len() as u64,
            training,
            ..AnomalyReport::default()
        };
        let (judgements, lookup) = judge(&workers, &model, &features, report.alpha).await;
        let odd = rank(&mut report, &features, &judgements);
        let mut names = ReasonNames::default();
        let judge = model.rule.judge(&features, &lookup);
        for (place, (row, verdict)) in odd.into_iter().enumerate() {
            if place % EXPLAINED_PER_STEP == 0 {
                workers.pause().await;
            }
            names.explain(&mut report, place, judge.explain(row, verdict), &features, &model);
        }
        Ok(report)
    }
}

/// Reports a detector trained on normal requests, to be kept as a file; one that is given comes back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnomalyModel {
    /// The normal requests to learn from.
    pub train: Selection,
    /// What is trained.
    pub settings: AnomalySettings,
}

impl Query for AnomalyModel {
    /// The file.
    type Report = Vec<u8>;

    async fn run(self, workers: Workers) -> Result<Vec<u8>, EngineError> {
        let AnomalyModel { train: normal, settings } = self;
        let model = match given(&settings)? {
            Some(model) => model,
            None => {
                let normal = vectors(&workers, &normal, settings.encoding).await?;
                train(&workers, normal, settings.encoding, settings.detector).await.0
            }
        };
        Ok(model.to_bytes()?)
    }
}

/// The model that settings hold.
fn given(settings: &AnomalySettings) -> Result<Option<Model>, EngineError> {
    Ok(settings.model.as_ref().map(|bytes| Model::from_bytes(bytes)).transpose()?)
}

async fn vectors(
    workers: &Workers,
    selection: &Selection,
    encoding: Encoding,
) -> Result<Features, EngineError> {
    let pass = RequestPass::Vectors { told: Told::Vectors(encoding), made: None };
    let (parts, _) = workers.request_partials(selection, pass).await?;
    Ok(Features::merge(parts))
}

/// Writes the judged requests, the oddest first, and says which are explained.
fn rank<'a>(
    report: &mut AnomalyReport,
    features: &Features,
    judgements: &'a [Judgement],
) -> Vec<(usize, &'a Verdict)> {
    let mut order: Vec<usize> = (0..features.len()).collect();
    // Stable: the rows come by id.
    order.arrange_by(|&a, &b| compare_ranks(&judgements[a].2, &judgements[b].2));
    for &row in &order {
        let (verdict, is_abnormal, _) = &judgements[row];
        let facts = &features.rows[row];
        report.rows.push(AnomalyRow {
            request: facts.request.clone(),
            start_us: facts.start_us,
            p_structure: verdict.p_structure,
            p_time: verdict.p_time,
            is_abnormal: *is_abnormal,
            reasons: Vec::new(),
            nearest: None,
        });
    }
    let odd = order.into_iter().take(EXPLAINED.0).map(|row| (row, &judgements[row].0));
    odd.take_while(|(_, verdict)| verdict.p_structure.min(verdict.p_time) < EXPLAINED.1).collect()
}
