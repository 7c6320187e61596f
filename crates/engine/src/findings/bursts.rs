//! Bursts: slow requests that start close together, more closely than requests do.

use super::candidates::{MIN_STARTS, Sums, untested_finding};
use super::{Burst, BurstsFacts, Finding, FindingFacts, FindingPlace};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::fisher_p;

/// Slow requests that make a burst.
const LEAST: u64 = 4;
/// A burst lasts at most this part of the time of all requests; what lasts longer is a change, not a burst.
const LONGEST_PART: u64 = 20;
/// How likely the bursts may be by chance.
const CHANCE: f64 = 0.01;
/// Slow requests of the largest burst that is looked for, and in all: of more, the answer is another kind of finding.
const LARGEST: u64 = 53;
const MOST_SLOW: usize = 2000;
/// Bursts that are reported.
const MOST: usize = 3;

impl Sums<'_> {
    /// Returns the stretches of time in which the slow requests of all types start, if most of them start in few.
    pub fn bursts(&self) -> Vec<Finding> {
        let mut slow: Vec<u64> = Vec::new();
        for cut in self.cuts {
            let is_slow = |us: u64| cut.tail_from_us.is_some_and(|from| us >= from);
            let of_type = self.types.times(&cut.name).iter().filter(|request| is_slow(request.1));
            slow.extend(of_type.map(|request| request.0));
        }
        slow.sort_unstable();
        let mut all: Vec<u64> = self.types.all().map(|request| request.0).collect();
        all.sort_unstable();
        let found = bursts(&all, &slow);
        let (in_bursts, slow) = (found.iter().map(|burst| burst.slow).sum(), slow.len() as u64);
        if found.is_empty() || in_bursts * 2 < slow {
            return Vec::new();
        }
        let facts = FindingFacts::Bursts(BurstsFacts { bursts: found, requests: all.len() as u64 });
        vec![untested_finding(FindingPlace::Data, in_bursts, slow, facts)]
    }
}

/// Finds the bursts among requests by the starts of all and of the slow ones, both sorted: at most three, those with most
/// slow requests, by time. What starts together has no order: a burst has all of it or nothing.
fn bursts(all: &[u64], slow: &[u64]) -> Vec<Burst> {
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Vec::new() };
    if slow.len() > MOST_SLOW || all.chunk_by(|a, b| a == b).count() < MIN_STARTS {
        return Vec::new();
    }
    let longest_us = (last - first) / LONGEST_PART;
    // Any two slow requests could have been the ends of one.
    let tries = (slow.len() * slow.len()).max(1) as f64;
    // The moments at which slow requests start: how many are slow and how many start at all, before it and until it.
    let moments: Vec<[(u64, u64); 2]> = slow
        .chunk_by(|a, b| a == b)
        .map(|same| {
            let count = |of: &[u64], until: bool| {
                of.partition_point(|&start| start < same[0] || until && start == same[0]) as u64
            };
            [false, true].map(|until| (count(slow, until), count(all, until)))
        })
        .collect();
    let start_us = |moment: usize| slow[moments[moment][0].0 as usize];
    let held = |from: usize, to: usize| {
        let (before, until) = (moments[from][0], moments[to][1]);
        (until.0 - before.0, until.1 - before.1)
    };
    let mut found: Vec<(f64, usize, usize)> = Vec::new();
    for from in 0..moments.len() {
        for to in from..moments.len() {
            let (inside, held) = held(from, to);
            if start_us(to) - start_us(from) > longest_us || inside > LARGEST {
                break;
            }
            // Thrice as dense as all are, or not worth the arithmetic.
            if inside < LEAST || inside * all.len() as u64 <= 3 * held * slow.len() as u64 {
                continue;
            }
            let others = (slow.len() as u64 - inside, all.len() as u64 - held);
            let p = fisher_p(inside, held, others.0, others.1) * tries;
            if p < CHANCE {
                found.push((p, from, to));
            }
        }
    }
    // The least likely by chance first; what overlaps it is a part of it.
    found.compact_sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| (a.1, a.2).cmp(&(b.1, b.2))));
    let mut kept: Vec<(usize, usize)> = Vec::new();
    for (_, from, to) in found {
        if kept.len() < MOST && kept.iter().all(|&(a, b)| to < a || b < from) {
            kept.push((from, to));
        }
    }
    kept.compact_sort();
    let burst = |(from, to): (usize, usize)| {
        let (slow, requests) = held(from, to);
        Burst { from_us: start_us(from), to_us: start_us(to) + 1, slow, requests }
    };
    kept.into_iter().map(burst).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the bursts among requests by start, each with whether it is slow.
    fn found(all: &[(u64, bool)]) -> Vec<Burst> {
        let starts = |is_meant: &dyn Fn(&&(u64, bool)) -> bool| {
            let mut starts: Vec<u64> = all.iter().filter(is_meant).map(|request| request.0).collect();
            starts.sort_unstable();
            starts
        };
        bursts(&starts(&|_| true), &starts(&|request| request.1))
    }

    #[test]
    fn slow_requests_that_start_together_are_a_burst() {
        // 200 requests, one a second; those of two stretches of a few milliseconds more are slow.
        let mut all: Vec<(u64, bool)> = (0..200).map(|i| (i * 1_000_000, i % 50 == 7)).collect();
        all.extend((0..6).map(|i| (40_500_000 + i * 9_000, true)));
        all.extend((0..5).map(|i| (120_500_000 + i * 2_000, true)));
        let said: Vec<_> =
            found(&all).iter().map(|b| (b.to_us - b.from_us - 1, b.slow, b.requests)).collect();
        assert_eq!(said, [(45_000, 6, 6), (8_000, 5, 5)]);
    }

    #[test]
    fn slow_requests_spread_over_time_are_none() {
        let all: Vec<(u64, bool)> = (0..300).map(|i| (i * 1000, i % 10 == 3)).collect();
        assert_eq!(found(&all), []);
        // A load that comes in bursts as a whole makes no slow ones of it.
        let bursty: Vec<(u64, bool)> = (0..300).map(|i| (i / 20 * 1_000_000 + i % 20, i % 10 == 3)).collect();
        assert_eq!(found(&bursty), []);
        assert_eq!(found(&[]), []);
    }

    #[test]
    fn what_starts_together_has_no_order() {
        // Clocks of seconds: 30 requests each second, three of them slow; in the fortieth half of them.
        let second = |of: u64| move |i| (of * 1_000_000, if of == 40 { i % 2 == 0 } else { i < 3 });
        let all: Vec<(u64, bool)> = (0..100).flat_map(|of| (0..30).map(second(of))).collect();
        let expected = Burst { from_us: 40_000_000, to_us: 40_000_001, slow: 15, requests: 30 };
        assert_eq!(found(&all), [expected]);
        // Of fewer than 20 moments nothing can be said.
        let few: Vec<(u64, bool)> = (30..49).flat_map(|of| (0..30).map(second(of))).collect();
        assert_eq!(found(&few), []);
    }
}
