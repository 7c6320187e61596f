//! Endpoints against requests (`docs/definitions/critical-path.md` section 5; paper Fig. 10).

mod observe;
pub(crate) mod query;
mod subjects;

pub(crate) use observe::sorted_column_keys;
pub use observe::{ColumnEdge, ColumnOrder, Columns, HeatPart, HeatmapReport, tied_column_keys};
pub use subjects::WAITING;
