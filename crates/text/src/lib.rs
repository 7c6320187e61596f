//! Text without knowledge of traces: numbers and durations in words ([`mod@format`]), the pairs of keys and values that an
//! address carries after its `#` ([`fragment`]), and bytes inside a page ([`mod@dense`]).

pub mod dense;
pub mod format;
pub mod fragment;
