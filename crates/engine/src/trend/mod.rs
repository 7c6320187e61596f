//! Numbers over time, and the days on which they changed (`docs/definitions/summary.md` section 8).

pub(crate) mod query;
mod summed;

pub use summed::{DayChange, Moved, NoTrend, Series, TrendAxis, TrendOfSummaries};
