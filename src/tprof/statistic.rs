//! Count, mean, deviation and percentiles, of all traces and of both halves.

use crate::stats::{Moments, percentile};
use serde::{Deserialize, Serialize};

/// Statistics of some microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Statistic {
    /// How many values.
    pub count: u64,
    /// Mean; 0 without values.
    pub mean: f64,
    /// Sample standard deviation; 0 for fewer than two.
    pub sd: f64,
    /// Median, interpolated.
    pub p50: f64,
    /// 99th percentile, interpolated.
    pub p99: f64,
}

/// Statistics of a group and of its normal and tail half; the halves are missing where a group is not split.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SplitStatistic {
    /// Of all traces.
    pub all: Statistic,
    /// Of the normal half.
    pub normal: Option<Statistic>,
    /// Of the tail.
    pub tail: Option<Statistic>,
}

impl Statistic {
    /// Of values in any order; they are sorted.
    pub fn of(values: &mut [u64]) -> Statistic {
        values.sort_unstable();
        let mut moments = Moments::default();
        values.iter().for_each(|&v| moments.add(v));
        let count = values.len() as u64;
        Statistic {
            count,
            mean: moments.mean(count),
            sd: moments.variance(count).sqrt(),
            p50: percentile(values, 0.5),
            p99: percentile(values, 0.99),
        }
    }
}

impl SplitStatistic {
    /// Of values in the order of the group's traces, the first `normal` of them of the normal half.
    pub fn of(mut values: Vec<u64>, normal: Option<usize>) -> SplitStatistic {
        let halves = normal.map(|k| {
            let (a, b) = values.split_at_mut(k);
            (Statistic::of(a), Statistic::of(b))
        });
        SplitStatistic {
            all: Statistic::of(&mut values),
            normal: halves.map(|h| h.0),
            tail: halves.map(|h| h.1),
        }
    }
}
