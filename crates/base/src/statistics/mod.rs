//! Percentiles, intervals, histograms: small pure functions.

mod bootstrap;
mod density;
mod distribution;
mod effect;
mod percentiles;
mod random;
mod sample;
mod testing;
mod weight;
mod weighted;
pub mod welch;

pub use bootstrap::{FEW, WholeAndParts, ratio, ratio_interval, share_intervals};
pub use density::LogAxis;
pub use distribution::Distribution;
pub use effect::{Effect, LogCounts, log_bin, log_bin_middle_us, rank_effect};
// Those of the standard library differ in the last bit between targets, which is enough to change a rounded microsecond.
pub use libm::{exp, log as ln};
pub use percentiles::{LogHistogram, Percentiles, percentile, percentile_in_steps, select_percentile};
pub use random::{Random, mix};
pub use sample::Sample;
pub use testing::{
    ChangePoint, change_point, false_discovery, false_discovery_limit, fisher_p, normal_p, student_p, welch_p,
};
pub use weight::{Weight, Weights};
pub use weighted::{
    WeightedMoments, WeightedSum, grouped_percentile, sort_weighted, weighted_percentile,
    weighted_percentile_interval, weighted_sum_us,
};
pub use welch::{Interval, MeanError, Moments, t_975, welch};
