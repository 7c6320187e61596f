//! One trace, one span of it, and a trace with those that its messages connect it with, or with the normal one most like it.

pub(crate) mod jaeger_path;
pub(crate) mod join;
pub(crate) mod like;
pub(crate) mod linked;
pub(crate) mod nearest;
pub(crate) mod query;
pub(crate) mod span;
