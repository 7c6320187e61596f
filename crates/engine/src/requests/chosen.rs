//! Signs that traces without weights were chosen: by latency, by errors, or by a rate limit (`docs/definitions/sampling.md`
//! section 4).

use super::RequestType;
use pathlight_trace::{Endpoint, Flags, TraceRow, TraceSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Limits that samplers are given, in microseconds.
const ROUND_US: [u64; 6] = [100_000, 250_000, 500_000, 1_000_000, 2_000_000, 5_000_000];
/// On one side of a limit there are so many times as many requests as on the other.
const DROP: usize = 5;
/// Fewer requests above a limit say nothing of a drop.
const LEAST_DENSE: usize = 20;
/// So many requests above a limit are a sign for themselves.
const ENOUGH_ABOVE: u64 = 50;
/// Shares of requests with errors: more than this here, less than that in the other set.
const MANY_ERRORS: f64 = 0.20;
const FEW_ERRORS: f64 = 0.02;
/// Types that must have the same number of requests in each minute, of so many minutes, at most so many of each.
const SAME_TYPES: u64 = 3;
const LEAST_MINUTES: usize = 5;
const MOST_PER_MINUTE: u64 = 100;
/// Of a type that is spread over more minutes its minutes are not counted.
const MOST_MINUTES: usize = 1_440;

/// The latency at which requests of a type begin to be kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LatencyLimit {
    /// The type.
    pub kind: RequestType,
    /// The limit in microseconds.
    pub at_us: u64,
    /// Requests just above it, and as far below it.
    pub around: (u64, u64),
    /// All requests above it.
    pub above: u64,
}

/// Signs that the traces of the set looked at were chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChosenSigns {
    /// Share of requests with errors, and that in the other set, where it is far less.
    pub errors: Option<(f64, f64)>,
    /// A limit of latency; of several types the one with the most requests above it.
    pub latency: Option<LatencyLimit>,
    /// Types of which each minute has the same number of requests, and that number.
    pub rate: Option<(u64, u64)>,
}

impl ChosenSigns {
    /// Returns whether they are enough to say so: two signs, or many requests above a limit.
    pub fn are_enough(&self) -> bool {
        let signs = [self.errors.is_some(), self.latency.is_some(), self.rate.is_some()];
        signs.into_iter().filter(|is_there| *is_there).count() >= 2
            || self.latency.as_ref().is_some_and(|limit| limit.above >= ENOUGH_ABOVE)
    }
}

/// What the signs are found in: an accumulator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ChosenPart {
    /// By root endpoint and set: traces, and those with an error.
    roots: BTreeMap<Endpoint, [(u64, u64); 2]>,
    /// By type: requests by minute; `None` if they are spread over too many.
    minutes: BTreeMap<RequestType, Option<BTreeMap<u64, u64>>>,
}

impl ChosenPart {
    /// Adds what was found in other traces.
    pub fn merge(&mut self, other: ChosenPart) {
        for (root, counts) in other.roots {
            let into = self.roots.entry(root).or_default();
            for (into, of) in into.iter_mut().zip(counts) {
                *into = (into.0 + of.0, into.1 + of.1);
            }
        }
        for (kind, minutes) in other.minutes {
            let into = self.minutes.entry(kind).or_insert_with(|| Some(BTreeMap::new()));
            match (into.as_mut(), minutes) {
                (Some(sum), Some(minutes)) => {
                    minutes.into_iter().for_each(|(minute, n)| *sum.entry(minute).or_default() += n);
                }
                _ => *into = None,
            }
        }
    }

    /// Takes note of the starts of the requests of a type.
    pub fn observe_type(&mut self, kind: &RequestType, starts_us: impl Iterator<Item = u64>) {
        let mut minutes: BTreeMap<u64, u64> = BTreeMap::new();
        for start_us in starts_us {
            *minutes.entry(start_us / 60_000_000).or_default() += 1;
            if minutes.len() > MOST_MINUTES {
                self.minutes.insert(kind.clone(), None);
                return;
            }
        }
        self.minutes.insert(kind.clone(), Some(minutes));
    }

    /// Takes note of how many traces of each root endpoint have an error.
    pub fn take_roots(&mut self, set: &TraceSet, roots: &RootCounts) {
        for (number, counts) in (0..).zip(&roots.0) {
            if counts.iter().any(|of| of.0 > 0) {
                self.roots.insert(set.owned_endpoint(pathlight_trace::EndpointId(number)), *counts);
            }
        }
    }

    /// Returns the signs; `types` are the sorted latencies of each type.
    pub fn finish<'a>(self, types: impl Iterator<Item = (&'a RequestType, &'a [u64])>) -> ChosenSigns {
        let limits = types.filter_map(|(kind, sorted)| limit_of(kind, sorted));
        // Of equal ones the first by name.
        let latency = limits.reduce(|most, next| if next.above > most.above { next } else { most });
        ChosenSigns { errors: self.errors(), latency, rate: self.rate() }
    }

    fn errors(&self) -> Option<(f64, f64)> {
        let (mut here, mut there) = ((0, 0), (0, 0));
        for [a, b] in self.roots.values().filter(|[a, b]| a.0 > 0 && b.0 > 0) {
            here = (here.0 + a.0, here.1 + a.1);
            there = (there.0 + b.0, there.1 + b.1);
        }
        let share = |(traces, with_error): (u64, u64)| with_error as f64 / traces.max(1) as f64;
        (share(here) > MANY_ERRORS && share(there) < FEW_ERRORS).then(|| (share(here), share(there)))
    }

    fn rate(&self) -> Option<(u64, u64)> {
        let mut types: BTreeMap<u64, u64> = BTreeMap::new();
        for minutes in self.minutes.values().flatten() {
            // The first and the last are cut off somewhere.
            let inner = minutes.len().saturating_sub(2);
            let (Some(first), Some(last)) = (minutes.keys().next(), minutes.keys().next_back()) else {
                continue;
            };
            let mut counts = minutes.values().skip(1).take(inner);
            let Some(&count) = counts.next() else { continue };
            let is_steady = inner >= LEAST_MINUTES && last - first + 1 == minutes.len() as u64;
            if is_steady && count <= MOST_PER_MINUTE && counts.all(|of| *of == count) {
                *types.entry(count).or_default() += 1;
            }
        }
        // Of equal ones the smallest number.
        let most = types.into_iter().rev().max_by_key(|&(_, types)| types)?;
        (most.1 >= SAME_TYPES).then_some((most.1, most.0))
    }
}

/// Traces, and those with an error, by root endpoint and set.
#[derive(Default)]
pub(super) struct RootCounts(Vec<[(u64, u64); 2]>);

impl RootCounts {
    /// Takes note of a trace.
    pub fn observe(&mut self, set: &TraceSet, trace: &TraceRow) {
        let root = set.endpoint(trace.first).0 as usize;
        if self.0.len() <= root {
            self.0.resize(set.endpoints().len(), [(0, 0); 2]);
        }
        let has_error = trace.rows().any(|row| set.flags(row).has(Flags::ERROR));
        let of = &mut self.0[root][usize::from(trace.id.group.min(1))];
        *of = (of.0 + 1, of.1 + u64::from(has_error));
    }
}

/// Returns the limit at which requests of a type begin, if there is one: within 5 % above it there are five times as many as
/// within 5 % below it, and beyond they go on. Where all end there, it is a timeout.
fn limit_of(kind: &RequestType, sorted: &[u64]) -> Option<LatencyLimit> {
    let count =
        |from: u64, to: u64| sorted.partition_point(|&us| us < to) - sorted.partition_point(|&us| us < from);
    let limits = ROUND_US.into_iter().filter_map(|at_us| {
        let step = at_us / 20;
        let (below, above) = (count(at_us - step, at_us), count(at_us, at_us + step));
        let beyond = count(at_us + step, at_us + 2 * step);
        (above >= LEAST_DENSE && above >= DROP * below && 3 * beyond >= above).then(|| LatencyLimit {
            kind: kind.clone(),
            at_us,
            around: (above as u64, below as u64),
            above: (sorted.len() - sorted.partition_point(|&us| us < at_us)) as u64,
        })
    });
    limits.reduce(|most, next| if next.above > most.above { next } else { most })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::Random;

    fn kind(name: &str) -> RequestType {
        RequestType::whole(Endpoint::new("shop", name))
    }

    fn latencies(seed: u64, n: u64, keeps: impl Fn(u64, &mut Random) -> bool) -> Vec<u64> {
        let mut random = Random::new(seed, 0, 0);
        let mut kept: Vec<u64> = Vec::new();
        for _ in 0..n {
            let us = random.log_normal_us(2e5, 0.7);
            if keeps(us, &mut random) {
                kept.push(us);
            }
        }
        kept.sort_unstable();
        kept
    }

    #[test]
    fn a_limit_of_latency_is_recognised_and_not_imagined() {
        let (mut found, mut imagined) = (0, 0);
        for seed in 0..200 {
            let chosen = latencies(seed, 20_000, |us, random| us >= 500_000 || random.below(100) == 0);
            let limit = limit_of(&kind("get"), &chosen);
            found +=
                usize::from(limit.is_some_and(|limit| limit.at_us == 500_000 && limit.above >= ENOUGH_ABOVE));
            let all = latencies(seed, 2_000, |_, _| true);
            imagined += usize::from(limit_of(&kind("get"), &all).is_some());
            let drawn = latencies(seed, 20_000, |_, random| random.below(10) == 0);
            imagined += usize::from(limit_of(&kind("get"), &drawn).is_some());
        }
        assert!(found == 200 && imagined == 0, "{found} found, {imagined} imagined");
        // Calls that end at a timeout.
        let mut timeouts = latencies(1, 2_000, |us, _| us < 600_000);
        timeouts.extend((0..300).map(|i| 1_000_000 + i * 20));
        assert_eq!(limit_of(&kind("get"), &timeouts), None);
    }

    #[test]
    fn two_signs_are_enough_and_one_only_if_it_is_strong() {
        let limit = |above| LatencyLimit { kind: kind("get"), at_us: 500_000, around: (20, 1), above };
        let with = |errors, above: Option<u64>, rate| ChosenSigns { errors, latency: above.map(limit), rate };
        assert!(!with(None, None, None).are_enough());
        assert!(!with(Some((0.5, 0.01)), None, None).are_enough());
        assert!(!with(None, Some(49), None).are_enough());
        assert!(with(None, Some(50), None).are_enough());
        assert!(with(Some((0.5, 0.01)), None, Some((3, 10))).are_enough());
    }

    #[test]
    fn a_rate_limit_and_many_errors_are_recognised() {
        let mut part = ChosenPart::default();
        let starts = |per_minute: u64, minutes: u64| {
            (0..minutes).flat_map(move |m| (0..per_minute).map(move |i| m * 60_000_000 + i * 1000))
        };
        for name in ["a", "b"] {
            part.observe_type(&kind(name), starts(10, 8));
        }
        part.observe_type(&kind("other"), starts(9, 8));
        let signs = |part: &ChosenPart| part.clone().finish(std::iter::empty());
        assert_eq!(signs(&part).rate, None, "two types are not several");
        let mut more = ChosenPart::default();
        more.observe_type(&kind("c"), starts(10, 7));
        more.roots.insert(Endpoint::new("shop", "c"), [(100, 30), (1000, 10)]);
        part.merge(more);
        assert_eq!((signs(&part).rate, signs(&part).errors), (Some((3, 10)), Some((0.3, 0.01))));
        // A minute with another number.
        let mut less = ChosenPart::default();
        less.observe_type(&kind("c"), std::iter::once(3 * 60_000_000));
        part.merge(less);
        assert_eq!(signs(&part).rate, None);
    }
}
