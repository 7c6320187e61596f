//! The chain of the heat map: rows of endpoints, columns of requests, then the cells.

use super::EngineError;
use super::study::Study;
use super::workers::Workers;
use pathlight_analysis::critical_path::{ColumnOrder, Columns, EndpointPart, HeatPart, HeatmapReport};
use pathlight_analysis::requests::Selection;

/// A heat map with so many columns at most.
pub(super) async fn heatmap(
    workers: &Workers,
    selection: &Selection,
    order: &ColumnOrder,
    most: u32,
) -> Result<HeatmapReport, EngineError> {
    let (inside, facts) = workers.cut(selection).await?;
    let rows = EndpointPart::finish(inside.study(Study::Rows).await?, selection.range, facts);
    let places: Vec<Vec<(u64, u64)>> = inside.study(Study::Places { order: order.clone() }).await?;
    let columns = Columns::new(places.concat(), most);
    let tied = columns.tied();
    let ties = if tied.is_empty() {
        Vec::new()
    } else {
        let parts: Vec<Vec<_>> = inside.study(Study::Ties { order: order.clone(), tied }).await?;
        parts.into_iter().flatten().collect()
    };
    let edges = columns.edges(ties);
    let cells: Vec<HeatPart> = inside.study(Study::Cells { order: order.clone(), edges }).await?;
    Ok(HeatPart::finish(&cells, rows, order.clone()))
}
