//! The slowest requests; each opens its timeline.

mod table;

pub use table::{LISTED, note, table};
