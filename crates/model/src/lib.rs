//! What was recorded: trace sets as columns, names, ids, tags, trees with sanitised intervals, and data quality
//! ([`trace`]); statistics ([`stats`]); and the tools that every crate above uses: one sort ([`sort`]), one map
//! ([`ordered`]), numbers as bytes
//! ([`packed`]), values as bytes ([`flat`]) and long work done in steps ([`steps`]).

pub mod flat;
pub mod ordered;
pub mod packed;
pub mod sort;
pub mod stats;
pub mod steps;
pub mod trace;
