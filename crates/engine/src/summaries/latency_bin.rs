//! Latency bins: what lets a percentile range be cut out of a summary.

use super::sketch::MOST;
use crate::requests::PercentileRange;
use pathlight_base::statistics::log_bin;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

/// What the requests of one latency bin have of something.
///
/// Latency bins are fixed: an eighth of an octave wide, 6 to 12.5 % of the latency. A slower request never lies in a
/// lower bin, so the requests from one bin on are exactly the slowest so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyBin {
    /// Number of the bin.
    pub number: u32,
    /// Requests.
    pub requests: u64,
    /// Sum of their times in microseconds.
    pub us: u128,
}

/// The bins that come nearest to a percentile range, and the range that they are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyBinRange {
    /// Numbers of the bins.
    pub bins: Range<u32>,
    /// Ranks of the requests in them, of all by latency.
    pub ranks: Range<u64>,
    /// Number of all requests.
    pub of: u64,
}

impl LatencyBin {
    /// Returns the number of the bin of a latency.
    pub fn of_latency(us: u64) -> u32 {
        log_bin(us) >> 3
    }

    /// Returns the bins of some latencies.
    pub(crate) fn of(latencies: &[u64]) -> Vec<LatencyBin> {
        let mut bins: BTreeMap<u32, LatencyBin> = BTreeMap::new();
        for &us in latencies {
            let number = LatencyBin::of_latency(us);
            let bin = bins.entry(number).or_insert(LatencyBin { number, ..LatencyBin::default() });
            bin.requests += 1;
            bin.us += u128::from(us);
        }
        bins.into_values().collect()
    }

    /// Returns whether a list is by number and can be added to others.
    pub(crate) fn are_sound(list: &[LatencyBin]) -> bool {
        let last = LatencyBin::of_latency(u64::MAX);
        list.is_sorted_by(|a, b| a.number < b.number)
            && list.iter().all(|bin| bin.number <= last && bin.requests <= MOST)
    }

    /// Sums what lies in the bins of some numbers: requests and microseconds.
    pub(crate) fn sum(list: &[LatencyBin], numbers: &Range<u32>) -> (u64, u128) {
        let inside = list.iter().filter(|bin| numbers.contains(&bin.number));
        inside.fold((0, 0), |(n, us): (u64, u128), bin| (n + bin.requests, us.saturating_add(bin.us)))
    }

    /// Joins lists, each by number.
    pub(crate) fn join<'a>(lists: impl Iterator<Item = &'a [LatencyBin]>) -> Vec<LatencyBin> {
        // Numbers are below 512, so that counting takes less than sorting.
        let mut sums: Vec<LatencyBin> = Vec::new();
        for bin in lists.flatten() {
            let place = bin.number as usize;
            if sums.len() <= place {
                sums.resize(place + 1, LatencyBin::default());
            }
            let into = &mut sums[place];
            into.number = bin.number;
            into.requests += bin.requests;
            into.us = into.us.saturating_add(bin.us);
        }
        sums.retain(|bin| bin.requests > 0);
        // Summaries keep many lists of few bins.
        sums.shrink_to_fit();
        sums
    }
}

impl LatencyBinRange {
    /// Cuts the bins of all requests: each end of the range is taken to the nearest end of a bin. Never empty if there
    /// are requests.
    pub fn of(bins: &[LatencyBin], range: PercentileRange) -> LatencyBinRange {
        let of = bins.iter().map(|bin| bin.requests).sum();
        let wanted = range.ranks(of);
        // Ends of bins: rank of the first request, and number of the bin that begins there.
        let mut ends = vec![(0, bins.first().map_or(0, |bin| bin.number))];
        let mut rank = 0;
        for (place, bin) in bins.iter().enumerate() {
            rank += bin.requests;
            ends.push((rank, bins.get(place + 1).map_or(bin.number + 1, |next| next.number)));
        }
        let nearest = |rank: u64, among: &[(u64, u32)]| {
            (0..among.len()).min_by_key(|&i| among[i].0.abs_diff(rank)).unwrap_or(0)
        };
        let from = nearest(wanted.start, &ends[..ends.len() - 1]);
        let to = if ends.len() > 1 {
            from + 1 + nearest(wanted.end.max(wanted.start), &ends[from + 1..])
        } else {
            from
        };
        LatencyBinRange { bins: ends[from].1..ends[to].1, ranks: ends[from].0..ends[to].0, of }
    }

    /// Returns the percentile range that the bins are.
    pub fn range(&self) -> PercentileRange {
        PercentileRange::of_ranks(self.ranks.clone(), self.of)
    }

    /// Sums what lies in the bins: requests and microseconds.
    pub fn sum(&self, bins: &[LatencyBin]) -> (u64, u128) {
        LatencyBin::sum(bins, &self.bins)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slower_requests_are_never_in_lower_bins() {
        let mut last = 0;
        for us in (0..300_000).chain((20..63).map(|bit| 1 << bit)) {
            let bin = LatencyBin::of_latency(us);
            assert!(bin >= last, "{us}");
            last = bin;
        }
    }

    #[test]
    fn a_cut_is_the_requests_it_says() {
        let latencies: Vec<u64> = (1..=1000).map(|i| i * i).collect();
        let bins = LatencyBin::of(&latencies);
        for (lo, hi) in [(0, 100_000), (95_000, 100_000), (0, 50_000), (50_000, 95_000), (99_900, 100_000)] {
            let cut = LatencyBinRange::of(&bins, PercentileRange::open(lo, hi));
            let sum: u64 = latencies[cut.ranks.start as usize..cut.ranks.end as usize].iter().sum();
            assert_eq!(cut.sum(&bins), (cut.ranks.end - cut.ranks.start, sum.into()));
            assert!(cut.ranks.end > cut.ranks.start);
            // A bin holds at most 6 % of these requests, so neither end moves by more than half of that.
            assert!(cut.ranks.start.abs_diff(u64::from(lo) / 100) <= 32, "{cut:?}");
        }
        let none = LatencyBinRange::of(&[], PercentileRange::ALL);
        assert_eq!((none.ranks, none.of), (0..0, 0));
    }
}
