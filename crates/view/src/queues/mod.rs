//! Queues: how long messages wait, in words and by edge.

pub mod chart;
pub(crate) mod json;
mod sides;
mod table;
mod words;

pub use sides::{QueueRow, sides_table, tip};
pub use table::table;
pub use words::{
    edge, longer, longest, longest_trace, no_messages, sentences, show, sides_sentence, why_empty,
};
pub(crate) use words::{short_name, wait};
