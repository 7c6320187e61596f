//! Starts and latencies of requests, by request type; the slowest tenth and the faster half of each type.

use super::{PercentileRange, RequestType, RequestTypes};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Weight, WeightedSum, Weights, sort_weighted};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Request types looked at one by one: those with the most latency in all. The others count in sums only.
const MOST_TYPES: usize = 100;
/// A type with fewer requests has no tail to speak of.
const MIN_REQUESTS: usize = 10;
/// The least requests of a tail.
const MIN_TAIL: usize = 5;

/// Start and latency of a request in microseconds, and how many requests it stands for.
pub type TimedRequest = (u64, u64, Weight);

/// The requests of each type: an accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeLatencies {
    types: BTreeMap<RequestType, Vec<TimedRequest>>,
    /// Starts of the requests with a span in error.
    with_errors_us: Vec<u64>,
}

/// The latency of all requests of a type.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeTime {
    /// The type.
    pub kind: RequestType,
    /// Number of requests seen.
    pub requests: u64,
    /// Sum of their latencies in microseconds, by weight.
    pub latency_us: u128,
}

/// The requests of one type, divided by latency.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeCut {
    /// The type.
    pub name: RequestType,
    /// The requests.
    pub requests: Weights,
    /// Sum of their latencies in microseconds, by weight.
    pub sum_us: u128,
    /// The lower median of their latency: the faster half takes at most this long.
    pub fast_to_us: u64,
    /// The slowest tenth, at least five, takes at least this long; `None` if there are too few requests, or if none is
    /// slower than the median.
    pub tail_from_us: Option<u64>,
    /// The lower median of the tail; 0 without one.
    pub tail_p50_us: u64,
    /// Requests of the faster half, all that are as fast as its last one.
    pub fast: Weights,
    /// Requests of the tail, all that are as slow as its first one.
    pub tail: Weights,
}

impl TypeLatencies {
    /// Lists some requests, each with its number and whether it has a span in error, which are of these types.
    pub fn observe(
        types: &RequestTypes,
        requests: impl Iterator<Item = (u32, TimedRequest, bool)>,
    ) -> TypeLatencies {
        let mut by_number: BTreeMap<u32, Vec<TimedRequest>> = BTreeMap::new();
        let mut with_errors_us = Vec::new();
        for (number, request, has_error) in requests {
            by_number.entry(types.of(number)).or_default().push(request);
            with_errors_us.extend(has_error.then_some(request.0));
        }
        let name = |number: u32| types.names()[number as usize].clone();
        let types = by_number.into_iter().map(|(number, times)| (name(number), times)).collect();
        TypeLatencies { types, with_errors_us }
    }

    /// Joins parts of disjoint requests. The requests of each type come by start, then latency.
    pub fn merge(parts: Vec<TypeLatencies>) -> TypeLatencies {
        let mut all = TypeLatencies::default();
        for mut part in parts {
            all.with_errors_us.append(&mut part.with_errors_us);
            for (name, times) in part.types {
                all.types.entry(name).or_default().extend(times);
            }
        }
        all.types.values_mut().for_each(|times| times.sort_unstable());
        all.with_errors_us.sort_unstable();
        all
    }

    /// Returns how many types there are, and of those with most latency in all, at most a hundred, the name, the number of
    /// requests and the sum of their latencies in microseconds, most first.
    pub fn sums(&self) -> (u64, Vec<TypeTime>) {
        let sum = |(kind, times): (&RequestType, &Vec<TimedRequest>)| TypeTime {
            kind: kind.clone(),
            requests: times.len() as u64,
            latency_us: sum_us(times.iter().map(|&(_, latency_us, weight)| (latency_us, weight))),
        };
        let mut sums: Vec<TypeTime> = self.types.iter().map(sum).collect();
        // Stable: equal ones stay by name.
        sums.sort_by_key(|time| std::cmp::Reverse(time.latency_us));
        sums.truncate(MOST_TYPES);
        (self.types.len() as u64, sums)
    }

    /// Returns the requests of a type, by start.
    pub fn times(&self, name: &RequestType) -> &[TimedRequest] {
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

    /// Returns the starts of the requests with a span in error.
    pub fn with_errors_us(&self) -> &[u64] {
        &self.with_errors_us
    }

    /// Returns the requests of every type.
    pub fn all(&self) -> impl Iterator<Item = &TimedRequest> {
        self.types.values().flatten()
    }
}

/// Returns the sum of latencies by weight, rounded.
fn sum_us(latencies: impl Iterator<Item = (u64, Weight)>) -> u128 {
    let mut sum = WeightedSum::default();
    latencies.for_each(|(us, weight)| sum.add(us, weight));
    sum.rounded()
}

fn weights_of(requests: &[(u64, Weight)]) -> Weights {
    Weights::of(requests.iter().map(|request| request.1))
}

/// Returns how many of some requests come before their weight reaches this part of all.
fn before_part(weights: impl Iterator<Item = Weight>, all: &Weights, parts: u128) -> usize {
    let mut units = 0;
    let reaches = |weight: Weight| {
        units += u128::from(weight.units());
        units * parts >= all.units
    };
    weights.map(reaches).take_while(|reached| !reached).count()
}

/// Returns the lower median of sorted latencies; 0 without any.
fn lower_median_us(sorted: &[(u64, Weight)], all: &Weights) -> u64 {
    sorted.get(before_part(sorted.iter().map(|of| of.1), all, 2)).map_or(0, |of| of.0)
}

impl TypeCut {
    fn of(name: &RequestType, times: &[TimedRequest]) -> TypeCut {
        let mut sorted: Vec<(u64, Weight)> = times.iter().map(|time| (time.1, time.2)).collect();
        sort_weighted(&mut sorted);
        let (n, requests) = (sorted.len(), weights_of(&sorted));
        let fast_to_us = lower_median_us(&sorted, &requests);
        let tenth = 1 + before_part(sorted.iter().rev().map(|of| of.1), &requests, 10);
        let from = (n >= MIN_REQUESTS).then(|| sorted[n - tenth.max(MIN_TAIL)].0);
        let tail_from_us = from.filter(|&from| from > fast_to_us);
        let first = tail_from_us.map_or(n, |from| sorted.partition_point(|of| of.0 < from));
        let (fast, tail) = (&sorted[..sorted.partition_point(|of| of.0 <= fast_to_us)], &sorted[first..]);
        let of_tail = weights_of(tail);
        TypeCut {
            name: name.clone(),
            requests,
            sum_us: sum_us(sorted.iter().copied()),
            fast_to_us,
            fast: weights_of(fast),
            tail: of_tail,
            tail_p50_us: lower_median_us(tail, &of_tail),
            tail_from_us,
        }
    }

    /// Returns the percentile range of the slowest requests, and that of the faster half; `None` if there is no tail.
    pub fn ranges(&self) -> Option<(PercentileRange, PercentileRange)> {
        // By weight, as percentile ranges go.
        let [n, tail, fast] = [&self.requests, &self.tail, &self.fast].map(|of| of.units as u64);
        (tail > 0).then(|| (PercentileRange::of_ranks(n - tail..n, n), PercentileRange::of_ranks(0..fast, n)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_trace::Endpoint;

    impl TypeLatencies {
        /// Returns the requests of these root endpoints and latencies, one every 10 us.
        pub(crate) fn every_10_us(of: &[(&str, &[u64])]) -> TypeLatencies {
            let at = |(i, &us): (usize, &u64)| (i as u64 * 10, us, Weight::ONE);
            let times = |us: &&[u64]| us.iter().enumerate().map(at).collect();
            let types =
                of.iter().map(|(name, us)| (RequestType::whole(Endpoint::new("s", *name)), times(us)));
            TypeLatencies { types: types.collect(), ..TypeLatencies::default() }
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
    fn halves_and_tenths_of_sampled_requests_go_by_weight() {
        let name = RequestType::whole(Endpoint::new("s", "x"));
        // 90 fast ones that stand for ten each, and 100 slow ones that were all kept: a tenth of a thousand.
        let times: Vec<TimedRequest> = (0..190)
            .map(|i| (i, 1000 + i, Weight::of_count(if i < 90 { 10.0 } else { 1.0 }).unwrap_or_default()))
            .collect();
        let cut = TypeCut::of(&name, &times);
        assert_eq!((cut.fast_to_us, cut.tail_from_us, cut.tail.seen), (1049, Some(1090), 100));
        assert_eq!((cut.fast.requests(), cut.tail_p50_us), (500.0, 1139));
        let (tail, fast) = cut.ranges().unwrap();
        assert_eq!((tail, fast), (PercentileRange::open(90_000, 100_000), PercentileRange::open(0, 50_000)));
        // Equal weights are as none.
        let with = |weight: f64| {
            let weight = Weight::of_count(weight).unwrap_or_default();
            let times: Vec<TimedRequest> = (0..57).map(|i| (i, 100 + i * i, weight)).collect();
            let cut = TypeCut::of(&name, &times);
            (cut.fast_to_us, cut.tail_from_us, cut.tail_p50_us, cut.fast.seen, cut.tail.seen, cut.ranges())
        };
        assert_eq!(with(37.5), with(1.0));
    }

    #[test]
    fn tails_are_a_tenth_and_only_the_diagnosis_has_them_of_fewer_than_five() {
        use crate::diagnosis::{DiagnosisSettings, normal_of};
        for n in 10..=60_usize {
            let latencies: Vec<u64> = (1..=n as u64).collect();
            let cut = TypeLatencies::every_10_us(&[("type", &latencies)]).cuts().remove(0);
            let of_findings = n.div_ceil(10).max(5);
            assert_eq!(
                (cut.tail.seen, cut.tail_from_us),
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
