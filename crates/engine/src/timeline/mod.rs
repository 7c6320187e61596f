//! One trace, and one span of it.

pub(crate) mod query;
pub(crate) mod span;
