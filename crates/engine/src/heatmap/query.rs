//! The heat map: rows of endpoints, columns of requests, then the cells.

use crate::EngineError;
use crate::endpoints::EndpointPart;
use crate::heatmap::{ColumnOrder, Columns, HeatPart, HeatmapReport};
use crate::queries::Query;
use crate::requests::Selection;
use crate::run::request_pass::RequestPass;
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports endpoints against requests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Heatmap {
    /// The selected requests.
    pub selection: Selection,
    /// At most this many columns; more requests are put together in equal numbers.
    pub columns: u32,
    /// The order of the columns.
    pub order: ColumnOrder,
}

impl Query for Heatmap {
    type Report = HeatmapReport;

    async fn run(self, workers: Workers) -> Result<HeatmapReport, EngineError> {
        let Heatmap { selection, columns, order } = self;
        let (requests, facts) = workers.cut(&selection).await?;
        let rows = EndpointPart::finish(requests.partials(RequestPass::Rows).await?, selection.range, facts);
        let pass = RequestPass::Places { order: order.clone() };
        let places: Vec<Vec<(u64, u64)>> = requests.partials(pass).await?;
        let columns = Columns::new(places.concat(), columns);
        let tied = columns.tied();
        let ties = if tied.is_empty() {
            Vec::new()
        } else {
            let pass = RequestPass::Ties { order: order.clone(), tied };
            let parts: Vec<Vec<_>> = requests.partials(pass).await?;
            parts.into_iter().flatten().collect()
        };
        let edges = columns.edges(ties);
        let pass = RequestPass::Cells { order: order.clone(), edges };
        let cells: Vec<HeatPart> = requests.partials(pass).await?;
        Ok(HeatPart::finish(&cells, rows, order))
    }
}
