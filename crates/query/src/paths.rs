//! The chains of what tells of single paths: their calling contexts, and lists of requests.

use super::chain::Pass;
use super::workers::Workers;
use super::{EngineError, PerRequestReport, RequestsReport};
use pathlight_analysis::critical_path::{
    Aggregate, CriticalPathReport, ExemplarCandidates, ExemplarTargets, RequestPath, RequestRow,
};
use pathlight_analysis::requests::Selection;
use pathlight_model::sort::Arrange;

pub(super) async fn critical_path(
    workers: &Workers,
    selection: &Selection,
) -> Result<CriticalPathReport, EngineError> {
    let (inside, facts) = workers.cut(selection).await?;
    let aggregate = Aggregate::merge(inside.ask(|selection, cut| Pass::Aggregate { selection, cut }).await?);
    let targets = ExemplarTargets::new(&aggregate);
    let mut report = aggregate.finish(selection.range, facts);
    let asked = targets.clone();
    let found = inside.ask(|selection, cut| Pass::Exemplars { selection, cut, targets: asked }).await?;
    ExemplarCandidates::merge(found, &targets).write(&mut report);
    Ok(report)
}

/// The slowest requests first, so many at most.
pub(super) async fn requests(
    workers: &Workers,
    selection: &Selection,
    limit: u32,
) -> Result<RequestsReport, EngineError> {
    let (inside, facts) = workers.cut(selection).await?;
    let parts: Vec<Vec<RequestRow>> =
        inside.ask(|selection, cut| Pass::Slowest { selection, cut, limit }).await?;
    let mut rows = parts.concat();
    rows.arrange_by(|a, b| {
        (b.latency_us.cmp(&a.latency_us))
            .then_with(|| (&a.trace_id, &a.root_span_id).cmp(&(&b.trace_id, &b.root_span_id)))
    });
    rows.truncate(limit as usize);
    Ok(RequestsReport { facts, rows })
}

pub(super) async fn per_request(
    workers: &Workers,
    selection: &Selection,
) -> Result<PerRequestReport, EngineError> {
    let (inside, facts) = workers.cut(selection).await?;
    let parts: Vec<Vec<RequestPath>> =
        inside.ask(|selection, cut| Pass::PerRequest { selection, cut }).await?;
    let mut requests: Vec<RequestPath> = parts.into_iter().flatten().collect();
    requests.arrange_by(|a, b| (&a.trace_id, &a.root_span_id).cmp(&(&b.trace_id, &b.root_span_id)));
    Ok(PerRequestReport { facts, requests })
}
