//! The chain of a comparison: each side is cut, its frames and its services are summed, then both are put together.

use super::EngineError;
use super::study::Study;
use super::workers::Workers;
use pathlight_analysis::critical_path::{Band, DiffPart, DiffReport, DiffSide, Scope, ServiceSums};

pub(super) async fn compare(
    workers: &Workers,
    a: (&Scope, Band),
    b: (&Scope, Band),
) -> Result<DiffReport, EngineError> {
    let a = side(workers, a).await?;
    let b = side(workers, b).await?;
    Ok(DiffPart::finish(a, b))
}

async fn side(
    workers: &Workers,
    (scope, band): (&Scope, Band),
) -> Result<(DiffSide, DiffPart, ServiceSums), EngineError> {
    let (inside, facts) = workers.cut(scope, band).await?;
    let frames = DiffPart::merge(inside.study(Study::Diff).await?);
    let services = ServiceSums::merge(inside.study(Study::Services).await?);
    Ok((DiffSide { scope: scope.clone(), band: Some(band), facts }, frames, services))
}
