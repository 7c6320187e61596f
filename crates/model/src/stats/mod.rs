//! Percentiles, intervals, histograms: small pure functions.

mod bootstrap;
mod density;
mod distribution;
mod effect;
mod math;
mod random;
mod summary;
mod welch;

pub use bootstrap::{ratio, ratio_interval};
pub use density::LogAxis;
pub use distribution::Distribution;
pub use effect::{Effect, LogCounts, rank_effect};
pub use math::{exp, ln};
pub use random::{Random, mix};
pub use summary::{LogHistogram, Summary, percentile, select_percentile};
pub use welch::{Interval, Moments, Side, t_975, welch};
