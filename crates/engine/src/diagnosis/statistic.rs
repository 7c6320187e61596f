//! Count, mean, deviation and percentiles, of all traces and of both halves.

use pathlight_base::statistics::{Moments, percentile_in_steps};
use pathlight_base::steps::Pace;
use serde::{Deserialize, Serialize};

/// Values added up between two pauses.
const CHUNK: usize = 1 << 14;

/// Statistics of some times in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeStatistics {
    /// Number of values.
    pub count: u64,
    /// Mean; 0 without values.
    pub mean: f64,
    /// Sample standard deviation; 0 for fewer than two.
    pub sd: f64,
    /// Median, interpolated; `null` where only sums are known.
    pub p50: Option<f64>,
    /// 99th percentile, interpolated; `null` where only sums are known.
    pub p99: Option<f64>,
}

/// Statistics of a group of traces, of its normal and of its tail traces, in microseconds; these are missing where a group is
/// not split, for it has fewer than 10 traces, and of a summary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SplitStatistic {
    /// Statistic over all traces.
    pub all: TimeStatistics,
    /// Statistic over the normal traces.
    pub normal: Option<TimeStatistics>,
    /// Statistic over the traces of the tail.
    pub tail: Option<TimeStatistics>,
}

impl TimeStatistics {
    /// Summarises values in any order, which is changed.
    pub async fn of(values: &mut [u64], pace: &mut Pace) -> TimeStatistics {
        TimeStatistics::with(moments(values, pace).await, values, pace).await
    }

    /// Creates the statistic of values of which only the sums are known.
    pub fn of_sums(moments: Moments, count: u64) -> TimeStatistics {
        let (mean, sd) = (moments.mean(count), moments.variance(count).sqrt());
        TimeStatistics { count, mean, sd, p50: None, p99: None }
    }

    async fn with(moments: Moments, values: &mut [u64], pace: &mut Pace) -> TimeStatistics {
        TimeStatistics {
            p50: Some(percentile_in_steps(values, 0.5, pace).await),
            p99: Some(percentile_in_steps(values, 0.99, pace).await),
            ..TimeStatistics::of_sums(moments, values.len() as u64)
        }
    }
}

async fn moments(values: &[u64], pace: &mut Pace) -> Moments {
    let mut moments = Moments::default();
    for values in values.chunks(CHUNK) {
        values.iter().for_each(|&v| moments.add(v));
        pace.spend(values.len()).await;
    }
    moments
}

impl SplitStatistic {
    /// Summarises values in the order of the group's traces, the first `normal` of them of the normal half. Their order
    /// is changed.
    pub async fn of(values: &mut [u64], normal: Option<usize>, pace: &mut Pace) -> SplitStatistic {
        let Some(k) = normal else {
            return SplitStatistic {
                all: TimeStatistics::of(values, pace).await,
                ..SplitStatistic::default()
            };
        };
        let (a, b) = values.split_at_mut(k);
        let (a_moments, b_moments) = (moments(a, pace).await, moments(b, pace).await);
        let normal = TimeStatistics::with(a_moments, a, pace).await;
        let tail = TimeStatistics::with(b_moments, b, pace).await;
        let mut both = a_moments;
        both.merge(b_moments);
        let all = TimeStatistics::with(both, values, pace).await;
        SplitStatistic { all, normal: Some(normal), tail: Some(tail) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::percentile;
    use pathlight_base::steps::all_at_once;
    use proptest::prelude::*;

    fn at_once<T>(work: impl AsyncFnOnce(&mut Pace) -> T) -> T {
        all_at_once(async { work(&mut Pace::default()).await })
    }

    fn of(values: &[u64], normal: Option<usize>) -> SplitStatistic {
        at_once(async |pace| SplitStatistic::of(&mut values.to_vec(), normal, pace).await)
    }

    /// Computes the statistic by sorting, as the definition has it.
    fn plain(values: &[u64]) -> TimeStatistics {
        let mut sorted = values.to_vec();
        sorted.sort_unstable();
        let (moments, count) = (at_once(async |pace| moments(&sorted, pace).await), sorted.len() as u64);
        TimeStatistics {
            count,
            mean: moments.mean(count),
            sd: moments.variance(count).sqrt(),
            p50: Some(percentile(&sorted, 0.5)),
            p99: Some(percentile(&sorted, 0.99)),
        }
    }

    proptest! {
        #[test]
        fn selection_gives_what_sorting_gives(
            small in prop::collection::vec(0..9_u64, 0..300),
            large in prop::collection::vec(any::<u64>(), 0..300),
            share in 0..=100_usize,
        ) {
            for values in [small, large] {
                let k = values.len() * share / 100;
                let (normal, tail) = (plain(&values[..k]), plain(&values[k..]));
                let split = SplitStatistic { all: plain(&values), normal: Some(normal), tail: Some(tail) };
                prop_assert_eq!(of(&values, Some(k)), split);
                let whole = SplitStatistic { all: plain(&values), ..SplitStatistic::default() };
                prop_assert_eq!(of(&values, None), whole);
            }
        }
    }
}
