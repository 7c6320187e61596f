//! The rooms that work on spans, from bytes to analyses: the crate `pathlight-analysis`, which `pathlight` re-exports.
//!
//! It is a crate of its own for one reason: it is optimised for speed, and the rest of the page, which is more code but
//! runs once a click, for size.

pub mod anomaly;
pub mod arrange;
pub mod critical_path;
pub mod errors;
pub mod flow;
pub mod ingest;
pub mod packed;
pub mod stats;
pub mod steps;
pub mod tprof;
pub mod trace;
