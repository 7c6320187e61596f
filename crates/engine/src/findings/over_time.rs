//! Latency over time, whatever the request type.

use super::TimeBin;
use crate::requests::TypeLatencies;
use pathlight_base::statistics::{Percentiles, Weight, sort_weighted};

/// Bins of latency over time.
const TIME_BINS: u64 = 60;

/// Returns latency over time, in at most sixty bins of equal length.
pub fn over_time(types: &TypeLatencies) -> Vec<TimeBin> {
    let (Some(first), Some(last)) = (types.all().map(|t| t.0).min(), types.all().map(|t| t.0).max()) else {
        return Vec::new();
    };
    let length_us = (last - first) / TIME_BINS + 1;
    let mut bins: Vec<Vec<(u64, Weight)>> = vec![Vec::new(); ((last - first) / length_us) as usize + 1];
    for &(start, latency, weight) in types.all() {
        bins[((start - first) / length_us) as usize].push((latency, weight));
    }
    let mut with_errors = vec![0; bins.len()];
    for start in types.with_errors_us() {
        with_errors[((start - first) / length_us) as usize] += 1;
    }
    let bin = |(i, mut latencies): (usize, Vec<(u64, Weight)>)| {
        sort_weighted(&mut latencies);
        let Percentiles { p50, max, .. } = Percentiles::of_weighted(&latencies);
        TimeBin {
            from_us: first + i as u64 * length_us,
            to_us: first + (i as u64 + 1) * length_us,
            requests: latencies.len() as u64,
            with_errors: with_errors[i],
            p50_us: p50,
            max_us: max,
        }
    };
    bins.into_iter().enumerate().map(bin).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_in_one_bin_of_time() {
        let bins = over_time(&TypeLatencies::every_10_us(&[("a", &[1; 61]), ("b", &[2; 7])]));
        assert_eq!(bins.iter().map(|bin| bin.requests).sum::<u64>(), 68);
        assert!(bins.len() <= 60 && bins.is_sorted_by(|a, b| a.to_us == b.from_us));
        assert!(over_time(&TypeLatencies::default()).is_empty());
    }
}
