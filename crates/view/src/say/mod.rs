//! Sentences built from parts, the glossary, tips, and the words for a selection.

pub mod glossary;
pub mod request_types;
pub mod selection;
pub mod sentence;
pub mod subject;
pub mod tip;

/// A percentile that changes by less than this share of itself is said to stay as it is.
pub const LEAST_CHANGE: f64 = 0.005;
