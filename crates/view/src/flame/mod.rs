//! The flame graph of the critical path, its table of calling contexts, and the note about a percentile range for a ticket.

pub mod chart;
pub(crate) mod json;
pub mod note;
pub(crate) mod table;
pub mod tree;

/// Frames of what waits for a service are called so, and the service.
pub(crate) const WAITING_FOR: &str = "waiting for ";

pub use table::{
    FlameRow, FlameSource, callees, callees_words, inverted_tip, services, table, tip, title, waiting_tip,
};
