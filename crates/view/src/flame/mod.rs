//! The flame graph of the critical path, its table of calling contexts, and the note about a percentile range for a ticket.

pub mod bands;
pub mod chart;
pub(crate) mod json;
pub mod note;
pub(crate) mod table;
pub mod tree;

pub use table::{
    FlameRow, FlameSource, callees, callees_words, inverted_tip, services, table, tip, title, waiting_tip,
};
