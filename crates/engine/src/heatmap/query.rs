//! The heat map: rows of endpoints, columns of requests, then the cells.

use crate::EngineError;
use crate::endpoints::EndpointPart;
use crate::endpoints::query::EndpointsPass;
use crate::heatmap::observe::WeightedKey;
use crate::heatmap::subjects::{CellsObserver, RowsObserver, ServiceRows, TiesObserver};
use crate::heatmap::{
    ColumnEdge, ColumnOrder, Columns, HeatPart, HeatmapReport, sorted_column_keys, tied_column_keys,
};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use futures_util::future::try_join;
use serde::{Deserialize, Serialize};

/// Reports endpoints against requests; by service, own work of services and waiting for them.
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
        if selection.by_service {
            let parts = requests.partials(ServiceRowsPass { order: order.clone() }).await?;
            let keys = parts.iter().map(|part: &ServiceRows| part.keys.clone()).collect::<Vec<_>>().concat();
            let rows = ServiceRows::finish(parts, selection.range, facts);
            let columns = Columns::new(keys, columns);
            let tied = columns.tied();
            let ties: Vec<Vec<_>> = match tied.is_empty() {
                true => Vec::new(),
                false => requests.partials(ServiceTiesPass { order: order.clone(), tied }).await?,
            };
            let edges = columns.edges(ties.concat());
            let pass = ServiceCellsPass { order: order.clone(), edges };
            return Ok(HeatPart::finish(&requests.partials(pass).await?, rows, order));
        }
        let keys = requests.partials(ColumnKeysPass { order: order.clone() });
        let (rows, keys) = try_join(requests.partials(EndpointsPass), keys).await?;
        let rows = EndpointPart::finish(rows, selection.range, facts);
        let columns = Columns::new(keys.concat(), columns);
        let tied = columns.tied();
        let ties = if tied.is_empty() {
            Vec::new()
        } else {
            let pass = TiedColumnsPass { order: order.clone(), tied };
            let parts: Vec<Vec<_>> = requests.partials(pass).await?;
            parts.into_iter().flatten().collect()
        };
        let edges = columns.edges(ties);
        let pass = CellsPass { order: order.clone(), edges };
        let cells: Vec<HeatPart> = requests.partials(pass).await?;
        Ok(HeatPart::finish(&cells, rows, order))
    }
}

/// Sorted keys of the requests in an order of columns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ColumnKeysPass {
    pub order: ColumnOrder,
}

impl RequestPass for ColumnKeysPass {
    type Part = Vec<WeightedKey>;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        over.sweep(move |rows| sorted_column_keys(rows, &self.order))
    }
}

/// Ids of the requests with these keys.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TiedColumnsPass {
    pub order: ColumnOrder,
    pub tied: Vec<(u64, u64)>,
}

impl RequestPass for TiedColumnsPass {
    type Part = Vec<((u64, u64), String, String)>;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        over.sweep(move |rows| tied_column_keys(rows.set, rows.table, rows.requests, &self.order, &self.tied))
    }
}

/// Cells of the columns between these edges.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct CellsPass {
    pub order: ColumnOrder,
    pub edges: Vec<ColumnEdge>,
}

impl RequestPass for CellsPass {
    type Part = HeatPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        over.sweep(move |rows| HeatPart::observe(rows, &self.order, &self.edges))
    }
}

/// Rows of services, and sorted keys of the requests in an order of columns.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ServiceRowsPass {
    pub order: ColumnOrder,
}

impl RequestPass for ServiceRowsPass {
    type Part = ServiceRows;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = RowsObserver::new(over.set, over.settings.overlap, self.order, over.weighing);
        over.walk(observer)
    }
}

/// Ids of the requests with these keys, where rows are of services.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ServiceTiesPass {
    pub order: ColumnOrder,
    pub tied: Vec<(u64, u64)>,
}

impl RequestPass for ServiceTiesPass {
    type Part = Vec<((u64, u64), String, String)>;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = TiesObserver::new(over.set, over.settings.overlap, self.order, self.tied);
        over.walk(observer)
    }
}

/// Cells of the columns between these edges, where rows are of services.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ServiceCellsPass {
    pub order: ColumnOrder,
    pub edges: Vec<ColumnEdge>,
}

impl RequestPass for ServiceCellsPass {
    type Part = HeatPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer =
            CellsObserver::new(over.set, over.settings.overlap, self.order, self.edges).by(over.weighing);
        over.walk(observer)
    }
}
