//! The chain of every request. Each is an `async` function that asks the workers for one pass after the other and puts
//! together what they say.

use super::chain::Pass;
use super::overview::OverviewPartial;
use super::study::Study;
use super::workers::Workers;
use super::{BandReport, EngineError, Report, Request, anomaly, compare, flow, heatmap, paths, tprof};
use pathlight_analysis::critical_path::{
    BottomUpPart, EndpointPart, HistogramsPart, ProposalsPart, SplitPart, TagValuesPart,
};
use pathlight_analysis::errors::ErrorsPart;

/// Answers a request.
///
/// # Errors
/// [`EngineError`] if a partial is not what was asked for.
pub(super) async fn answer(request: Request, workers: Workers) -> Result<Report, EngineError> {
    let workers = &workers;
    Ok(match &request {
        Request::Overview => {
            let parts = workers.ask(&Pass::Overview).await?;
            Report::Overview(OverviewPartial::merge(parts).finish())
        }
        Request::Trace { trace_id, root_span_id, overlap, group } => {
            let (trace_id, root_span_id) = (trace_id.clone(), root_span_id.clone());
            let pass = Pass::Trace { trace_id, root_span_id, overlap: *overlap, group: *group };
            Report::Trace(workers.ask::<Option<_>>(&pass).await?.into_iter().flatten().next())
        }
        Request::Span { trace_id, span, group } => {
            let pass = Pass::Span { trace_id: trace_id.clone(), span: span.clone(), group: *group };
            Report::Span(workers.ask::<Option<_>>(&pass).await?.into_iter().flatten().next())
        }
        Request::Band { scope, band } => {
            let (_, facts) = workers.cut(scope, *band).await?;
            Report::Band(BandReport { band: *band, facts })
        }
        Request::CriticalPath { scope, band } => {
            Report::CriticalPath(paths::critical_path(workers, scope, *band).await?)
        }
        Request::Requests { scope, band, limit } => {
            Report::Requests(paths::requests(workers, scope, *band, *limit).await?)
        }
        Request::PerRequest { scope, band } => {
            Report::PerRequest(paths::per_request(workers, scope, *band).await?)
        }
        Request::Endpoints { scope, band } => {
            let (parts, facts) = workers.study(scope, *band, Study::Rows).await?;
            Report::Endpoints(Box::new(EndpointPart::finish(parts, *band, facts)))
        }
        Request::BottomUp { scope, band } => {
            let (parts, facts) = workers.study(scope, *band, Study::BottomUp).await?;
            Report::BottomUp(Box::new(BottomUpPart::finish(parts, *band, facts)))
        }
        Request::Histograms { scope, band } => {
            let (parts, facts) = workers.study(scope, *band, Study::Histograms).await?;
            Report::Histograms(Box::new(HistogramsPart::finish(parts, *band, facts)))
        }
        Request::Errors { scope, band } => {
            let (parts, facts) = workers.study(scope, *band, Study::Errors).await?;
            Report::Errors(Box::new(ErrorsPart::finish(parts, *band, facts)))
        }
        Request::Split { scope, band, of, key } => {
            let study = Study::Split { of: of.clone(), key: key.clone() };
            let (parts, facts) = workers.study(scope, *band, study).await?;
            Report::Split(Box::new(SplitPart::finish(parts, (of.clone(), key.clone()), *band, facts)))
        }
        Request::Proposals { scope, band, of } => {
            let study = Study::Proposals { of: of.clone() };
            let (parts, facts) = workers.study(scope, *band, study).await?;
            Report::Proposals(Box::new(ProposalsPart::finish(parts, of.clone(), *band, facts)))
        }
        Request::TagValues { scope, band, key } => {
            let study = Study::TagValues { key: key.clone() };
            let (parts, facts) = workers.study(scope, *band, study).await?;
            Report::TagValues(TagValuesPart::finish(parts, key.clone(), facts))
        }
        Request::Heatmap { scope, band, columns, order } => {
            Report::Heatmap(Box::new(heatmap::heatmap(workers, scope, *band, order, *columns).await?))
        }
        Request::Compare { a, band_a, b, band_b } => {
            Report::Compare(Box::new(compare::compare(workers, (a, *band_a), (b, *band_b)).await?))
        }
        Request::Tprof { scope, band, settings } => {
            Report::Tprof(Box::new(tprof::diagnose(workers, (scope, *band), settings).await?))
        }
        Request::TprofCompare { a, band_a, b, band_b, settings } => {
            Report::TprofCompare(tprof::compare(workers, [(a, *band_a), (b, *band_b)], settings).await?)
        }
        Request::Flow { scope, settings } => Report::Flow(flow::flow(workers, scope, *settings).await?),
        Request::FlowParents { scope } => Report::FlowParents(flow::parents(workers, scope).await?),
        Request::FlowEvaluation { scope, settings, min_children } => {
            Report::FlowEvaluation(flow::evaluation(workers, scope, *settings, *min_children).await?)
        }
        Request::WhatIf { scope, settings, changes } => {
            Report::WhatIf(flow::what_if(workers, scope, *settings, changes).await?)
        }
        Request::Savings { scope, settings } => {
            Report::Savings(flow::savings(workers, scope, *settings).await?)
        }
        Request::Anomaly { train, band_train, test, band_test, settings } => {
            let (train, test) = ((train, *band_train), (test, *band_test));
            Report::Anomaly(Box::new(anomaly::detect(workers, train, test, settings).await?))
        }
        Request::AnomalyModel { train, band_train, settings } => {
            Report::AnomalyModel(anomaly::model(workers, (train, *band_train), settings).await?)
        }
        Request::AnomalyEvaluation { scope, band, seed, settings } => {
            let table = anomaly::evaluate(workers, (scope, *band), *seed, settings).await?;
            Report::AnomalyEvaluation(Box::new(table))
        }
    })
}
