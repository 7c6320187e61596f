//! Starts and latencies of requests, by request type; the slowest tenth and the faster half of each type.

use super::{PercentileRange, RequestEntry, RequestType, RequestTypes};
use pathlight_base::sort::CompactSort as _;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Request types looked at one by one: those with the most latency in all. The others count in sums only.
const MOST_TYPES: usize = 100;
/// A type with fewer requests has no tail to speak of.
const MIN_REQUESTS: usize = 10;
/// The least requests of a tail.
const MIN_TAIL: usize = 5;

/// Start and latency in microseconds of the requests of each type: an accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeLatencies {
    types: BTreeMap<RequestType, Vec<(u64, u64)>>,
}

/// The latency of all requests of a type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeTime {
    /// The type.
    pub kind: RequestType,
    /// Number of requests.
    pub requests: u64,
    /// Sum of their latencies in microseconds.
    pub latency_us: u128,
}

/// The requests of one type, divided by latency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeCut {
    /// The type.
    pub name: RequestType,
    /// Number of requests.
    pub requests: u64,
    /// Sum of their latencies in microseconds.
    pub sum_us: u128,
    /// The lower median of their latency: the faster half takes at most this long.
    pub fast_to_us: u64,
    /// The slowest tenth, at least five, takes at least this long; `None` if there are too few requests, or if none is
    /// slower than the median.
    pub tail_from_us: Option<u64>,
    /// The lower median of the tail; 0 without one.
    pub tail_p50_us: u64,
    /// Requests of the faster half, all that are as fast as its last one.
    pub fast: u64,
    /// Requests of the tail, all that are as slow as its first one.
    pub tail: u64,
}

impl TypeLatencies {
    /// Lists some of all requests of a worker, which are of these types.
    pub fn observe(all: &[RequestEntry], types: &RequestTypes, requests: &[u32]) -> TypeLatencies {
        let mut by_number: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        for &number in requests {
            let request = &all[number as usize];
            by_number.entry(types.of(number)).or_default().push((request.start_us, request.latency_us));
        }
        let name = |number: u32| types.names()[number as usize].clone();
        TypeLatencies { types: by_number.into_iter().map(|(number, times)| (name(number), times)).collect() }
    }

    /// Joins parts of disjoint requests. The requests of each type come by start, then latency.
    pub fn merge(parts: Vec<TypeLatencies>) -> TypeLatencies {
        let mut all = TypeLatencies::default();
        for part in parts {
            for (name, times) in part.types {
                all.types.entry(name).or_default().extend(times);
            }
        }
        all.types.values_mut().for_each(|times| times.sort_unstable());
        all
    }

    /// Returns how many types there are, and of those with most latency in all, at most a hundred, the name, the number of
    /// requests and the sum of their latencies in microseconds, most first.
    pub fn sums(&self) -> (u64, Vec<TypeTime>) {
        let sum = |(kind, times): (&RequestType, &Vec<(u64, u64)>)| TypeTime {
            kind: kind.clone(),
            requests: times.len() as u64,
            latency_us: times.iter().map(|&(_, latency_us)| u128::from(latency_us)).sum(),
        };
        let mut sums: Vec<TypeTime> = self.types.iter().map(sum).collect();
        // Stable: equal ones stay by name.
        sums.sort_by_key(|time| std::cmp::Reverse(time.latency_us));
        sums.truncate(MOST_TYPES);
        (self.types.len() as u64, sums)
    }

    /// Returns the start and latency of the requests of a type, by start.
    pub fn times(&self, name: &RequestType) -> &[(u64, u64)] {
        self.types.get(name).map_or(&[], Vec::as_slice)
    }

    /// Returns the types with the most latency, at most a hundred, most first, each divided by latency.
    pub fn cuts(&self) -> Vec<TypeCut> {
        let mut cuts: Vec<TypeCut> =
            self.types.iter().map(|(name, times)| TypeCut::of(name, times)).collect();
        // Stable: equal ones stay by name.
        cuts.compact_sort_by_key(|cut| std::cmp::Reverse(cut.sum_us));
        cuts.truncate(MOST_TYPES);
        cuts
    }

    /// Returns the start and latency of the requests of every type.
    pub fn all(&self) -> impl Iterator<Item = &(u64, u64)> {
        self.types.values().flatten()
    }
}

impl TypeCut {
    fn of(name: &RequestType, times: &[(u64, u64)]) -> TypeCut {
        let mut sorted: Vec<u64> = times.iter().map(|time| time.1).collect();
        sorted.sort_unstable();
        let n = sorted.len();
        let at = |rank: usize| sorted.get(rank).copied().unwrap_or(0);
        let fast_to_us = at(n.saturating_sub(1) / 2);
        let tail = n.div_ceil(10).max(MIN_TAIL);
        let tail_from_us = (n >= MIN_REQUESTS).then(|| at(n - tail)).filter(|&from| from > fast_to_us);
        let slow = tail_from_us.map_or(0, |from| n - sorted.partition_point(|&us| us < from));
        TypeCut {
            name: name.clone(),
            requests: n as u64,
            sum_us: sorted.iter().map(|&us| u128::from(us)).sum(),
            fast_to_us,
            fast: sorted.partition_point(|&us| us <= fast_to_us) as u64,
            tail: slow as u64,
            tail_p50_us: if slow > 0 { at(n - slow + (slow - 1) / 2) } else { 0 },
            tail_from_us,
        }
    }

    /// Returns the percentile range of the slowest requests, and that of the faster half; `None` if there is no tail.
    pub fn ranges(&self) -> Option<(PercentileRange, PercentileRange)> {
        let n = self.requests;
        (self.tail > 0).then(|| {
            (PercentileRange::of_ranks(n - self.tail..n, n), PercentileRange::of_ranks(0..self.fast, n))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_trace::Endpoint;

    impl TypeLatencies {
        /// Returns the requests of these root endpoints and latencies, one every 10 us.
        pub(crate) fn every_10_us(of: &[(&str, &[u64])]) -> TypeLatencies {
            let times = |us: &&[u64]| us.iter().enumerate().map(|(i, &us)| (i as u64 * 10, us)).collect();
            let types =
                of.iter().map(|(name, us)| (RequestType::whole(Endpoint::new("s", *name)), times(us)));
            TypeLatencies { types: types.collect() }
        }
    }

    #[test]
    fn the_tail_is_a_tenth_of_its_own_type_and_never_of_another() {
        let fast: Vec<u64> = (1..=100).collect();
        let slow: Vec<u64> = (1..=12).map(|us| us * 1000).collect();
        let of = [("fast", &fast[..]), ("slow", &slow), ("few", &[5; 9]), ("equal", &[7; 40])];
        let cuts = TypeLatencies::every_10_us(&of).cuts();
        let said: Vec<(&str, u64, Option<u64>)> =
            cuts.iter().map(|c| (c.name.root.operation.as_str(), c.fast_to_us, c.tail_from_us)).collect();
        assert_eq!(
            said,
            [("slow", 6000, Some(8000)), ("fast", 50, Some(91)), ("equal", 7, None), ("few", 5, None)]
        );
    }

    #[test]
    fn tails_are_a_tenth_and_only_the_diagnosis_has_them_of_fewer_than_five() {
        use crate::diagnosis::{DiagnosisSettings, normal_of};
        for n in 10..=60_usize {
            let latencies: Vec<u64> = (1..=n as u64).collect();
            let cut = TypeLatencies::every_10_us(&[("type", &latencies)]).cuts().remove(0);
            let of_findings = n.div_ceil(10).max(5);
            assert_eq!(
                (cut.tail, cut.tail_from_us),
                (of_findings as u64, Some((n - of_findings + 1) as u64)),
                "{n}"
            );
            // As in tprof: the normal ones are rounded down, and one trace of ten is a tail.
            let of_diagnosis = n - normal_of(n, &DiagnosisSettings::default()).unwrap();
            assert_eq!(of_diagnosis, n.div_ceil(10), "{n}");
            assert!(of_diagnosis == of_findings || n <= 40);
        }
        assert_eq!(normal_of(9, &DiagnosisSettings::default()), None);
    }
}
