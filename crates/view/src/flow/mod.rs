//! The execution flow of a parent endpoint: its chart, its calls, predictions, and what changes would save.

pub mod capacity;
pub mod changes;
pub mod chart;
pub mod cheapest;
pub mod choice;
pub mod headroom;
pub(crate) mod json;
pub mod map;
pub mod parallelise;
pub mod prediction;
pub mod price;
pub mod savings;
mod table;
pub mod target;
#[cfg(test)]
mod tests;
pub mod timeout;
pub mod variants;
pub mod written;

pub use table::{
    CallFacts, CallLine, chart_title, endpoint_of, facts, found, opens, panel_words, parent_options,
    services, shown_parent, table, tip, title, why_empty,
};
