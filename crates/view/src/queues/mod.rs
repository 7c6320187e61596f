//! Queues: how long messages wait, in words and by edge.

pub(crate) mod json;
mod table;
mod words;

pub use table::table;
pub use words::{edge, no_messages, sentences};
