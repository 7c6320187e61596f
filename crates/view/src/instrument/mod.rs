//! Where one more span would tell most: sentences, table, code for it, and JSON.

pub(crate) mod json;
mod snippet;
mod table;
mod words;

pub use snippet::snippet;
pub use table::{InstrumentLine, table};
pub use words::{EMPTY, LIMITS, advice, headline};
