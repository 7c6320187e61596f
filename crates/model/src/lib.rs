//! Recorded traces: trace sets as columns, names, ids, tags, trees with sanitised intervals, and data quality
//! ([`trace`]); statistics ([`stats`]); and the tools that every crate above uses: sorts beside the standard library's
//! ([`sort`]), numbers as bytes ([`packed`]), values as bytes ([`encoding`]) and long work done in steps ([`steps`]).

pub mod encoding;
pub mod packed;
pub mod sort;
pub mod stats;
pub mod steps;
pub mod trace;
