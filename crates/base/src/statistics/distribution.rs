//! A distribution to draw: mean, percentiles, and bins on the axis that suits its range.

use super::{LogHistogram, Percentiles};
use serde::{Deserialize, Serialize};

/// From this ratio of greatest to smallest value on, bins are logarithmic; unless each value can have a bin of its own.
const LOG_FROM: u64 = 32;

/// Some values in numbers and bins.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Distribution {
    /// Number of values.
    pub n: u64,
    /// Arithmetic mean; 0 without values.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Smallest.
    pub min: u64,
    /// Greatest.
    pub max: u64,
    /// Whether the bins are of equal width on a logarithmic axis; else they are on a linear one.
    pub is_log: bool,
    /// Lower edges of the bins and the upper edge of the last one; empty without values.
    pub edges: Vec<u64>,
    /// Values per bin; one less than edges.
    pub counts: Vec<u64>,
}

impl Distribution {
    /// Creates the distribution of sorted values, in at most `bins` bins with whole edges.
    pub fn of_sorted(sorted: &[u64], bins: u32) -> Distribution {
        let (Some(&min), Some(&max)) = (sorted.first(), sorted.last()) else {
            return Distribution::default();
        };
        let is_log = max / min.max(1) >= LOG_FROM && max - min >= u64::from(bins);
        let (edges, counts) = if is_log {
            let histogram = LogHistogram::of_sorted(sorted, bins);
            (histogram.edges_us, histogram.counts)
        } else {
            linear(sorted, min, max, u64::from(bins.max(1)))
        };
        let Percentiles { mean, p50, p95, p99, .. } = Percentiles::of_sorted(sorted);
        Distribution { n: sorted.len() as u64, mean, median: p50, p95, p99, min, max, is_log, edges, counts }
    }
}

fn linear(sorted: &[u64], min: u64, max: u64, bins: u64) -> (Vec<u64>, Vec<u64>) {
    let width = (max - min) / bins + 1;
    let mut edges = vec![min];
    let mut counts = Vec::new();
    let mut from = 0;
    while from < sorted.len() {
        // Beyond the greatest number that there is nothing is left over.
        let edge = edges[counts.len()].checked_add(width).filter(|&edge| edge <= max);
        let to = edge.map_or(sorted.len(), |edge| sorted.partition_point(|&v| v < edge));
        counts.push((to - from) as u64);
        edges.push(edges[counts.len() - 1].saturating_add(width));
        from = to;
    }
    (edges, counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_falls_into_one_bin_on_either_axis() {
        for values in [
            vec![0],
            vec![7, 7, 7],
            (3..200).collect::<Vec<u64>>(),
            (0..2000).map(|i| i * i).collect(),
            vec![0, 1, 99],
            vec![u64::MAX - 3, u64::MAX - 3, u64::MAX - 1],
            vec![u64::MAX / 2, u64::MAX],
        ] {
            let found = Distribution::of_sorted(&values, 20);
            assert_eq!(found.counts.iter().sum::<u64>(), values.len() as u64, "{values:?}");
            assert!(found.edges.is_sorted_by(|a, b| a < b) && found.counts.len() <= 20);
            assert_eq!(found.edges.len(), found.counts.len() + 1);
        }
    }

    #[test]
    fn the_axis_is_logarithmic_where_the_range_asks_for_it() {
        assert!(!Distribution::of_sorted(&[1, 2, 31], 10).is_log);
        assert!(Distribution::of_sorted(&[1, 2, 32], 10).is_log);
        assert!(Distribution::of_sorted(&[0, 100], 10).is_log);
        assert!(!Distribution::of_sorted(&[0, 39], 40).is_log);
        assert!(!Distribution::of_sorted(&[1000, 20_000], 10).is_log);
        assert_eq!(Distribution::of_sorted(&[1, 2, 2, 3], 10).counts, [1, 2, 1]);
    }
}
