//! Numbers over time: what changed, since when, and where.

pub mod chart;
pub(crate) mod json;
pub mod over_time;
mod table;

pub use table::{
    MovedWords, NEEDS_SUMMARIES, TrendRow, changes, day_names, dim, explanation, hours_note, moved_words,
    note, panels, table, tip, to_csv,
};
