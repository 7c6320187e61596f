//! The chain of every request. Each is an `async` function that asks the workers for one pass after the other and puts
//! together what they say.

use super::chain::Pass;
use super::overview::OverviewPartial;
use super::study::Study;
use super::workers::Workers;
use super::{EngineError, RangeReport, Report, Request, anomaly, compare, flow, heatmap, paths, tprof};
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
        Request::Range { selection } => {
            let (_, facts) = workers.cut(selection).await?;
            Report::Range(RangeReport { range: selection.range, facts })
        }
        Request::CriticalPath { selection } => {
            Report::CriticalPath(paths::critical_path(workers, selection).await?)
        }
        Request::Requests { selection, limit } => {
            Report::Requests(paths::requests(workers, selection, *limit).await?)
        }
        Request::PerRequest { selection } => {
            Report::PerRequest(paths::per_request(workers, selection).await?)
        }
        Request::Endpoints { selection } => {
            let (parts, facts) = workers.study(selection, Study::Rows).await?;
            Report::Endpoints(Box::new(EndpointPart::finish(parts, selection.range, facts)))
        }
        Request::BottomUp { selection } => {
            let (parts, facts) = workers.study(selection, Study::BottomUp).await?;
            Report::BottomUp(Box::new(BottomUpPart::finish(parts, selection.range, facts)))
        }
        Request::Histograms { selection } => {
            let (parts, facts) = workers.study(selection, Study::Histograms).await?;
            Report::Histograms(Box::new(HistogramsPart::finish(parts, selection.range, facts)))
        }
        Request::Errors { selection } => {
            let (parts, facts) = workers.study(selection, Study::Errors).await?;
            Report::Errors(Box::new(ErrorsPart::finish(parts, selection.range, facts)))
        }
        Request::Split { selection, of, key } => {
            let study = Study::Split { of: of.clone(), key: key.clone() };
            let (parts, facts) = workers.study(selection, study).await?;
            Report::Split(Box::new(SplitPart::finish(
                parts,
                (of.clone(), key.clone()),
                selection.range,
                facts,
            )))
        }
        Request::Proposals { selection, of } => {
            let study = Study::Proposals { of: of.clone() };
            let (parts, facts) = workers.study(selection, study).await?;
            Report::Proposals(Box::new(ProposalsPart::finish(parts, of.clone(), selection.range, facts)))
        }
        Request::TagValues { selection, key } => {
            let study = Study::TagValues { key: key.clone() };
            let (parts, facts) = workers.study(selection, study).await?;
            Report::TagValues(TagValuesPart::finish(parts, key.clone(), facts))
        }
        Request::Heatmap { selection, columns, order } => {
            Report::Heatmap(Box::new(heatmap::heatmap(workers, selection, order, *columns).await?))
        }
        Request::Compare { a, b } => Report::Compare(Box::new(compare::compare(workers, a, b).await?)),
        Request::Tprof { selection, settings } => {
            Report::Tprof(Box::new(tprof::diagnose(workers, selection, settings).await?))
        }
        Request::TprofCompare { a, b, settings } => {
            Report::TprofCompare(tprof::compare(workers, [a, b], settings).await?)
        }
        Request::Flow { selection, settings } => {
            Report::Flow(flow::flow(workers, selection, *settings).await?)
        }
        Request::FlowParents { selection } => Report::FlowParents(flow::parents(workers, selection).await?),
        Request::FlowEvaluation { selection, settings, min_children } => {
            Report::FlowEvaluation(flow::evaluation(workers, selection, *settings, *min_children).await?)
        }
        Request::WhatIf { selection, settings, changes } => {
            Report::WhatIf(flow::what_if(workers, selection, *settings, changes).await?)
        }
        Request::Savings { selection, settings } => {
            Report::Savings(flow::savings(workers, selection, *settings).await?)
        }
        Request::Anomaly { train, test, settings } => {
            Report::Anomaly(Box::new(anomaly::detect(workers, train, test, settings).await?))
        }
        Request::AnomalyModel { train, settings } => {
            Report::AnomalyModel(anomaly::model(workers, train, settings).await?)
        }
        Request::AnomalyEvaluation { selection, seed, settings } => {
            let table = anomaly::evaluate(workers, selection, *seed, settings).await?;
            Report::AnomalyEvaluation(Box::new(table))
        }
    })
}
