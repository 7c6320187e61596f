//! The first view: what is loaded, and findings as sentences with their charts, reasons and links.

pub mod block;
pub mod charts;
pub mod fingerprint;
pub(crate) mod json;
pub mod links;
mod overview;
mod pool_waits;
mod reasons;
pub(crate) mod sentences;
pub mod since;
pub mod tag_rows;
mod why;
pub mod words;

pub use overview::{
    Card, Cost, ShareBar, TypeLine, about, all_loaded, by_loaded_type, by_service, by_type, cards, coming,
    loaded, ranking_title, self_times, top, types,
};
