//! The diagnosis of tprof: its lines as a tree, its tables, and the aggregate trace of the chosen line.

pub mod choice;
pub(crate) mod json;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod tree;
mod view;
pub mod words;

pub use view::{
    Evidence, ORDER_VARIES, WHY_NO_CHANGE, list_csv, list_words, more_words, note, open_words,
    progress_words, services, tails, tip, title, why_empty, why_no_sides, why_no_tail,
};
