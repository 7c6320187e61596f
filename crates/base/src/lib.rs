//! Tools that know nothing of traces: numbers and durations in words ([`mod@format`]), the pairs of keys and values that an
//! address carries after its `#` ([`fragment`]), statistics ([`statistics`]), sorts beside the standard library's ([`sort`]),
//! numbers as bytes ([`packed`]), values as bytes ([`encoding`]), values of which few are touched ([`touched`]) and long work
//! done in steps ([`steps`]).

pub mod encoding;
pub mod format;
pub mod fragment;
pub mod packed;
pub mod sort;
pub mod statistics;
pub mod steps;
pub mod touched;
