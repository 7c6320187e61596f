//! The reading of files in words: progress, errors, data quality, and traces that come when others are loaded already.

pub mod file_errors;
pub mod intake;
pub(crate) mod json;
pub mod loading;
pub mod quality;
pub mod words;
