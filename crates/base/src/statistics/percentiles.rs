//! Mean, percentiles and logarithmic histograms of microseconds.

use crate::steps::Pace;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::cmp::Ordering;

/// Mean and percentiles of some times in microseconds (linear interpolation at (n - 1) p); all 0 if there are none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Percentiles {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// Greatest.
    pub max: u64,
}

/// Counts of values in bins of equal width on a logarithmic axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LogHistogram {
    /// Lower edges of the bins in microseconds and the upper edge of the last one; empty without values.
    pub edges_us: Vec<u64>,
    /// Count per bin; one less than edges.
    pub counts: Vec<u64>,
}

/// Returns the `p`-quantile (0 to 1) of sorted values by linear interpolation at (n - 1) p; 0 without values.
pub fn percentile(sorted: &[u64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return 0.0 };
    let (below, part) = place(last, p);
    between(sorted[below], sorted[(below + 1).min(last)], part)
}

/// Returns the [`percentile`] of values in any order, in linear time; changes their order.
pub fn select_percentile(values: &mut [u64], p: f64) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    let (below, part) = place(last, p);
    let (_, &mut low, above) = values.select_nth_unstable(below);
    let next = if part == 0 { None } else { above.iter().min() };
    between(low, next.copied().unwrap_or(low), part)
}

/// Fewer values are selected from at once; so many are looked at between two pauses; and buckets of one look at all.
const FEW: usize = 1 << 15;
const CHUNK: usize = 1 << 14;
const BUCKETS: usize = 1 << 11;

/// Returns what [`select_percentile`] returns, in steps.
pub async fn percentile_in_steps(values: &mut [u64], p: f64, pace: &mut Pace) -> f64 {
    let Some(last) = values.len().checked_sub(1) else { return 0.0 };
    if values.len() <= FEW {
        pace.spend(2 * values.len()).await;
        return select_percentile(values, p);
    }
    let (mut rank, part) = place(last, p);
    // Those among which the rank is, and the least of those above them.
    let (mut among, mut above) = (Cow::Borrowed(&*values), None);
    let (low, next) = loop {
        if among.len() <= FEW {
            let mut values = among.into_owned();
            pace.spend(12 * values.len()).await;
            values.sort_unstable();
            break (values[rank], values.get(rank + 1).copied().or(above));
        }
        let (mut least, mut greatest) = (u64::MAX, 0);
        for chunk in among.chunks(CHUNK) {
            chunk.iter().for_each(|&value| (least, greatest) = (least.min(value), greatest.max(value)));
            pace.spend(CHUNK).await;
        }
        if least == greatest {
            break (least, if rank + 1 < among.len() { Some(least) } else { above });
        }
        let shift = (u64::BITS - (greatest - least).leading_zeros()).saturating_sub(BUCKETS.ilog2());
        let bucket = |value: u64| ((value - least) >> shift) as usize;
        let mut counts = vec![0; BUCKETS];
        for chunk in among.chunks(CHUNK) {
            chunk.iter().for_each(|&value| counts[bucket(value)] += 1);
            pace.spend(CHUNK).await;
        }
        let mut wanted = 0;
        while rank >= counts[wanted] {
            rank -= counts[wanted];
            wanted += 1;
        }
        let mut kept = Vec::with_capacity(counts[wanted]);
        for chunk in among.chunks(CHUNK) {
            for &value in chunk {
                match bucket(value).cmp(&wanted) {
                    Ordering::Less => {}
                    Ordering::Equal => kept.push(value),
                    Ordering::Greater => above = Some(above.map_or(value, |above: u64| above.min(value))),
                }
            }
            pace.spend(CHUNK).await;
        }
        among = Cow::Owned(kept);
    };
    between(low, next.unwrap_or(low), part)
}

/// Quantiles are reckoned in millionths and integers up to the last division, so that 68,672.15 does not read
/// 68,672.14999999997.
const WHOLE: u64 = 1_000_000;

/// Returns where a quantile lies: the place below it, and how far it is to the next one.
fn place(last: usize, p: f64) -> (usize, u64) {
    let place = (p.clamp(0.0, 1.0) * WHOLE as f64).round() as u64 * last as u64;
    ((place / WHOLE) as usize, place % WHOLE)
}

fn between(low: u64, high: u64, part: u64) -> f64 {
    let steps = u128::from(high - low) * u128::from(part);
    (u128::from(low) * u128::from(WHOLE) + steps) as f64 / WHOLE as f64
}

impl Percentiles {
    /// Returns the summary of sorted values.
    pub fn of_sorted(sorted: &[u64]) -> Percentiles {
        let sum: u128 = sorted.iter().map(|&v| u128::from(v)).sum();
        Percentiles {
            mean: if sorted.is_empty() { 0.0 } else { sum as f64 / sorted.len() as f64 },
            p50: percentile(sorted, 0.50),
            p95: percentile(sorted, 0.95),
            p99: percentile(sorted, 0.99),
            max: sorted.last().copied().unwrap_or(0),
        }
    }
}

impl LogHistogram {
    /// Counts values in at most `bins` bins from the smallest to the greatest of sorted values. Edges are whole
    /// microseconds, so the bins of small values are fewer.
    pub fn of_sorted(sorted: &[u64], bins: u32) -> LogHistogram {
        let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else {
            return LogHistogram::default();
        };
        let mut from = 0;
        let below = |edge| {
            let to = sorted.partition_point(|&v| v < edge);
            (to - std::mem::replace(&mut from, to)) as u64
        };
        LogHistogram::over((first, last), bins, below)
    }

    /// Returns the histogram of sorted values, each with how often it occurs.
    pub fn of_counts(counts: &[(u64, u64)], bins: u32) -> LogHistogram {
        let (Some(&(first, _)), Some(&(last, _))) = (counts.first(), counts.last()) else {
            return LogHistogram::default();
        };
        let mut rest = counts;
        let below = |edge| {
            let (inside, after) = rest.split_at(rest.partition_point(|&(v, _)| v < edge));
            rest = after;
            inside.iter().map(|&(_, n)| n).sum()
        };
        LogHistogram::over((first, last), bins, below)
    }

    /// Counts values in bins from the smallest to the greatest value; `below` counts the values below an edge that it
    /// has not counted yet.
    fn over((first, last): (u64, u64), bins: u32, below: impl FnMut(u64) -> u64) -> LogHistogram {
        let (low, high) = (first.max(1) as f64, last.max(1) as f64 + 1.0);
        let step = (high / low).ln() / f64::from(bins.max(1));
        let mut edges_us = vec![first];
        for i in 1..bins {
            let edge = (low * (step * f64::from(i)).exp()).round() as u64;
            if edge > *edges_us.last().unwrap_or(&0) && edge <= last {
                edges_us.push(edge);
            }
        }
        edges_us.push(last + 1);
        let counts = edges_us[1..].iter().copied().map(below).collect();
        LogHistogram { edges_us, counts }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steps::{STEP, WorkCount, all_at_once};

    #[test]
    fn percentiles_interpolate_between_ranks() {
        assert_eq!(percentile(&[10, 20], 0.5), 15.0);
        assert_eq!(percentile(&[10, 20], 0.99), 19.9);
        assert_eq!(percentile(&[7], 0.99), 7.0);
        assert_eq!(percentile(&[], 0.5), 0.0);
    }

    #[test]
    fn in_steps_percentiles_are_the_same() {
        let random = |i: u64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let kinds: [fn(u64, u64) -> u64; 5] =
            [|_, r| r, |i, _| i, |_, _| 7, |i, r| if i % 1000 == 0 { r } else { i % 5 }, |_, r| r >> 40];
        for kind in kinds {
            for p in [0.0, 0.001, 0.5, 0.99, 0.9999, 1.0] {
                let mut values: Vec<u64> = (0..3 * FEW as u64).map(|i| kind(i, random(i))).collect();
                let done = WorkCount::default();
                let found = all_at_once(async {
                    percentile_in_steps(&mut values, p, &mut Pace::telling(&done)).await
                });
                assert_eq!(found, select_percentile(&mut values, p), "{p}");
                assert!(done.longest() <= 3 * STEP, "{}", done.longest());
            }
        }
    }

    #[test]
    fn every_value_falls_into_one_bin() {
        for values in
            [vec![0], vec![0, 0, 1, 2], (1..5000).map(|i| i * i).collect::<Vec<u64>>(), vec![5, 5, 5]]
        {
            let histogram = LogHistogram::of_sorted(&values, 40);
            assert_eq!(histogram.counts.iter().sum::<u64>(), values.len() as u64);
            assert!(histogram.edges_us.is_sorted_by(|a, b| a < b));
            assert_eq!(histogram.edges_us.len(), histogram.counts.len() + 1);
            let counts: Vec<(u64, u64)> =
                values.chunk_by(|a, b| a == b).map(|same| (same[0], same.len() as u64)).collect();
            assert_eq!(LogHistogram::of_counts(&counts, 40), histogram);
        }
    }

    #[test]
    fn in_steps_the_value_after_the_last_of_many_equal_ones_is_found() {
        // The median is half way from the last of those of the lower half to the first of the other.
        let mut values = [vec![0; FEW + 1], vec![1000; FEW + 1]].concat();
        let done = WorkCount::default();
        let found =
            all_at_once(async { percentile_in_steps(&mut values, 0.5, &mut Pace::telling(&done)).await });
        assert_eq!(found, 500.0);
    }
}
