//! The heat map: endpoints against requests, with its companion table.

pub mod chart;
pub(crate) mod json;
mod table;

pub use table::{HeatmapRow, cells_csv, endpoints_csv, head_tip, json, legend, table, tip, title};
