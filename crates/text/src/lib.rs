//! Text without knowledge of traces: numbers and durations in words ([`mod@format`]), and the pairs of keys and values that an
//! address carries after its `#` ([`fragment`]).

pub mod format;
pub mod fragment;
