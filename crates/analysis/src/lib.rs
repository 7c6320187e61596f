//! The analyses. Each one observes requests one by one, merges with others of its kind in any order, and finishes into
//! a report.

pub mod anomaly;
pub mod critical_path;
pub mod culprit;
pub mod errors;
pub mod findings;
pub mod flow;
pub mod ids;
pub mod requests;
pub mod search;
pub mod tprof;
