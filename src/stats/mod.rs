//! Percentiles, intervals, histograms: small pure functions.

mod summary;

pub use summary::{LogHistogram, Summary, percentile};
