//! The chain of a comparison: each side is cut, its frames and its services are summed, then both are put together.

use super::EngineError;
use super::study::Study;
use super::workers::Workers;
use pathlight_analysis::critical_path::{DiffPart, DiffReport, DiffSide, ServiceSums};
use pathlight_analysis::requests::Selection;

pub(super) async fn compare(
    workers: &Workers,
    a: &Selection,
    b: &Selection,
) -> Result<DiffReport, EngineError> {
    let a = side(workers, a).await?;
    let b = side(workers, b).await?;
    Ok(DiffPart::finish(a, b))
}

async fn side(
    workers: &Workers,
    selection: &Selection,
) -> Result<(DiffSide, DiffPart, ServiceSums), EngineError> {
    let (inside, facts) = workers.cut(selection).await?;
    let frames = DiffPart::merge(inside.study(Study::Diff).await?);
    let services = ServiceSums::merge(inside.study(Study::Services).await?);
    Ok((DiffSide { selection: selection.clone(), facts }, frames, services))
}
