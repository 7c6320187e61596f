//! Single requests: the slowest ones, and the path of each.

pub(crate) mod per_request;
pub(crate) mod query;
pub(crate) mod rows;
