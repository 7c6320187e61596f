//! Bursts: slow requests that start close together, more closely than requests do.

use super::candidates::{Sums, untested_finding};
use super::report::{Burst, Facts, Finding, Place};
use pathlight_model::sort::CompactSort as _;
use pathlight_model::stats::fisher_p;

/// Slow requests that make a burst.
const LEAST: usize = 4;
/// A burst lasts at most this part of the time of all requests; what lasts longer is a change, not a burst.
const LONGEST_PART: u64 = 20;
/// How likely the bursts may be by chance.
const CHANCE: f64 = 0.01;
/// Slow requests of the largest burst that is looked for, and in all: of more, the answer is another kind of finding.
const LARGEST: usize = 50;
const MOST_SLOW: usize = 2000;
/// Bursts told.
const MOST: usize = 3;

impl Sums<'_> {
    /// Returns the stretches of time in which the slow requests of all types start, if most of them start in few.
    pub fn bursts(&self) -> Vec<Finding> {
        let mut all: Vec<(u64, bool)> = Vec::new();
        for cut in self.cuts {
            let is_slow = |us: u64| cut.tail_from_us.is_some_and(|from| us >= from);
            all.extend(self.types.times(&cut.name).iter().map(|&(start, us)| (start, is_slow(us))));
        }
        all.compact_sort();
        let found = bursts(&all);
        let in_bursts: u64 = found.iter().map(|burst| burst.slow).sum();
        let slow = all.iter().filter(|request| request.1).count() as u64;
        if found.is_empty() || in_bursts * 2 < slow {
            return Vec::new();
        }
        let facts = Facts::Bursts { bursts: found, requests: all.len() as u64 };
        vec![untested_finding(Place::Data, in_bursts, slow, facts)]
    }
}

/// Finds the bursts among requests by start, each with whether it is slow: at most three, those with most slow
/// requests, by time.
fn bursts(all: &[(u64, bool)]) -> Vec<Burst> {
    let slow: Vec<usize> = (0..all.len()).filter(|&at| all[at].1).collect();
    let (Some(first), Some(last)) = (all.first(), all.last()) else { return Vec::new() };
    if slow.len() > MOST_SLOW {
        return Vec::new();
    }
    let longest_us = (last.0 - first.0) / LONGEST_PART;
    // Any two slow requests could have been the ends of one.
    let tries = (slow.len() * slow.len()).max(1) as f64;
    let mut found: Vec<(f64, usize, usize)> = Vec::new();
    for from in 0..slow.len() {
        for to in (from + LEAST - 1..slow.len()).take(LARGEST) {
            let (a, b) = (slow[from], slow[to]);
            if all[b].0 - all[a].0 > longest_us {
                break;
            }
            let (inside, held) = ((to - from + 1) as u64, (b - a + 1) as u64);
            // Thrice as dense as all are, or not worth the arithmetic.
            if inside * all.len() as u64 <= 3 * held * slow.len() as u64 {
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
    let burst = |(from, to): (usize, usize)| Burst {
        from_us: all[slow[from]].0,
        to_us: all[slow[to]].0 + 1,
        slow: (to - from + 1) as u64,
        requests: (slow[to] - slow[from] + 1) as u64,
    };
    kept.into_iter().map(burst).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slow_requests_that_start_together_are_a_burst() {
        // 200 requests, one a second; those of two stretches of a few milliseconds more are slow.
        let mut all: Vec<(u64, bool)> = (0..200).map(|i| (i * 1_000_000, i % 50 == 7)).collect();
        all.extend((0..6).map(|i| (40_500_000 + i * 9_000, true)));
        all.extend((0..5).map(|i| (120_500_000 + i * 2_000, true)));
        all.sort_unstable();
        let found = bursts(&all);
        let said: Vec<_> = found.iter().map(|b| (b.to_us - b.from_us - 1, b.slow, b.requests)).collect();
        assert_eq!(said, [(45_000, 6, 6), (8_000, 5, 5)]);
    }

    #[test]
    fn slow_requests_spread_over_time_are_none() {
        let all: Vec<(u64, bool)> = (0..300).map(|i| (i * 1000, i % 10 == 3)).collect();
        assert_eq!(bursts(&all), []);
        // A load that comes in bursts as a whole makes no slow ones of it.
        let bursty: Vec<(u64, bool)> = (0..300).map(|i| (i / 20 * 1_000_000 + i % 20, i % 10 == 3)).collect();
        assert_eq!(bursts(&bursty), []);
        assert_eq!(bursts(&[]), []);
    }
}
