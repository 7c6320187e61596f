//! Endpoints against requests (`docs/definitions/critical-path.md` section 5; paper Fig. 10).

mod observe;
pub(crate) mod query;
mod subjects;

pub use observe::{
    ColumnEdge, ColumnOrder, Columns, HeatPart, HeatmapReport, sorted_column_keys, tied_column_keys,
};
pub use subjects::WAITING;
