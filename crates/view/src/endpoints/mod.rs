//! Endpoints over all root endpoints at once: how large requests are, and which endpoint is worth improving.

pub(crate) mod json;
mod sums;
mod table;

pub use sums::{SUM_HINT, SumLine, sum_keys, sums, sums_note};
pub use table::{
    ImpactLine, label, on_paths, ranking, ranking_csv, ranking_title, savings, share_range, sizes_csv,
    sizes_tip, sizes_title, why_empty, why_no_endpoint,
};
