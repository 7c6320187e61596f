//! The chains of anomaly detection: vectors of both sides, then training and judging in small steps.

mod evaluation;
mod training;
mod vectors;

pub(super) use evaluation::evaluate;
pub(super) use vectors::VectorStudy;

use self::training::{Said, judge, train};
use super::EngineError;
use super::study::Study;
use super::workers::Workers;
use pathlight_analysis::anomaly::{
    AnomalyReport, AnomalyRow, AnomalySettings, Detector, Encoding, Features, Model, ReasonNames, Verdict,
    compare_ranks,
};
use pathlight_analysis::requests::Selection;
use pathlight_model::sort::Arrange;

/// The oddest requests that are explained, and the p-value up to which they are.
const EXPLAINED: (usize, f64) = (500, 0.1);
/// Requests explained in one step.
const EXPLAINED_PER_STEP: usize = 16;

/// Trains on one side, unless a model is given, and judges the other.
pub(super) async fn detect(
    workers: &Workers,
    normal: &Selection,
    judged: &Selection,
    settings: &AnomalySettings,
) -> Result<AnomalyReport, EngineError> {
    let (model, features, training) = match given(settings)? {
        Some(model) => {
            let features = vectors(workers, judged, model.encoding).await?;
            (model, features, None)
        }
        None => {
            let normal = vectors(workers, normal, settings.encoding).await?;
            let features = vectors(workers, judged, settings.encoding).await?;
            let (model, training) = train(workers, normal, settings.encoding, settings.detector).await;
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
    let (said, lookup) = judge(workers, &model, &features, report.alpha).await;
    let odd = rank(&mut report, &features, &said);
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

/// The file of a model, trained on one side unless it is given.
pub(super) async fn model(
    workers: &Workers,
    normal: &Selection,
    settings: &AnomalySettings,
) -> Result<Vec<u8>, EngineError> {
    let model = match given(settings)? {
        Some(model) => model,
        None => {
            let normal = vectors(workers, normal, settings.encoding).await?;
            train(workers, normal, settings.encoding, settings.detector).await.0
        }
    };
    Ok(model.to_bytes()?)
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
    let (parts, _) = workers.study(selection, Study::Vectors { encoding, injected: None }).await?;
    Ok(Features::merge(parts))
}

/// Writes the judged requests, the oddest first, and says which are explained.
fn rank<'a>(report: &mut AnomalyReport, features: &Features, said: &'a [Said]) -> Vec<(usize, &'a Verdict)> {
    let mut order: Vec<usize> = (0..features.len()).collect();
    // Stable: the rows come by id.
    order.arrange_by(|&a, &b| compare_ranks(&said[a].2, &said[b].2));
    for &row in &order {
        let (verdict, is_abnormal, _) = &said[row];
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
    let odd = order.into_iter().take(EXPLAINED.0).map(|row| (row, &said[row].0));
    odd.take_while(|(_, verdict)| verdict.p_structure.min(verdict.p_time) < EXPLAINED.1).collect()
}
