//! What the spans of a part of a service would take if it were as it should be (`docs/definitions/execution-flow.md`
//! section 4).

use super::PartTimes;
use crate::verdict::hit_limit_us;
use pathlight_base::statistics::{Percentiles, percentile};
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Fewer times than this do not show that all of them have moved.
const FEWEST: usize = 20;
/// Ranks at which two distributions are compared, both ends among them: one for each percent.
const RANKS: usize = 101;

/// Self times of the spans of one endpoint, if they were as they should be.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Level {
    /// Times above a limit become the median of the reference; the others stay.
    Limit {
        /// The limit in microseconds.
        limit_us: u64,
        /// The median in microseconds.
        median_us: u64,
    },
    /// Every time becomes that of the same rank in the reference: microseconds in the selected requests and in the
    /// reference, both ascending, by equal steps of the rank. No time rises.
    Ranks(Vec<(u64, u64)>),
    /// The same where times may rise too: the reference is another place, not what is as it should be.
    Moved(Vec<(u64, u64)>),
}

impl Level {
    /// Returns the level of an endpoint; its times in the selected requests and in the reference are sorted. `None` if the
    /// reference has none.
    ///
    /// If few spans are slow, those are, and the rest is as it should be. If the median lies where only the slowest
    /// quarter of the reference lies, most spans are slow, by little or by much, and a limit that is made for outliers
    /// would leave most of them as they are.
    fn of(selected_us: &[u64], reference_us: &[u64]) -> Option<Level> {
        let limit_us = hit_limit_us(reference_us)?;
        let are_enough = selected_us.len().min(reference_us.len()) >= FEWEST;
        if are_enough && percentile(selected_us, 0.5) > percentile(reference_us, 0.75) {
            return Some(Level::Ranks(ranks(selected_us, reference_us)));
        }
        Some(Level::Limit { limit_us, median_us: percentile(reference_us, 0.5).round() as u64 })
    }

    /// Returns what a span takes, in microseconds, that takes so long now.
    pub(super) fn mended_us(&self, us: u64) -> u64 {
        match self {
            &Level::Limit { limit_us, median_us } => {
                if us > limit_us {
                    us.min(median_us)
                } else {
                    us
                }
            }
            Level::Ranks(points) => us.min(at_rank(points, us)),
            Level::Moved(points) => at_rank(points, us),
        }
    }
}

/// Returns the times of equal ranks of two lists, both sorted.
fn ranks(selected_us: &[u64], reference_us: &[u64]) -> Vec<(u64, u64)> {
    let at = |rank: usize| {
        let share = rank as f64 / (RANKS - 1) as f64;
        let [from, to] = [selected_us, reference_us].map(|of| percentile(of, share).round() as u64);
        (from, to)
    };
    (0..RANKS).map(at).collect()
}

/// Returns the second value of ascending points where the first is `us`, in between by a straight line.
fn at_rank(points: &[(u64, u64)], us: u64) -> u64 {
    let below = points.partition_point(|point| point.0 < us);
    let up_to = points.partition_point(|point| point.0 <= us);
    // Equal times are of all the ranks they have: the middle of these.
    let (low, high, part) = if below < up_to {
        (points[below].1, points[up_to - 1].1, 0.5)
    } else {
        let Some(next) = points.get(below) else { return points.last().map_or(us, |point| point.1) };
        let before = points[below.saturating_sub(1)];
        let width = next.0.saturating_sub(before.0).max(1) as f64;
        (before.1, next.1, us.saturating_sub(before.0) as f64 / width)
    };
    low.saturating_add((part * high.saturating_sub(low) as f64).round() as u64)
}

/// Returns the level of messages of a queue, under its receiver.
pub(super) fn learn_waits(
    receiver: &Endpoint,
    selected_us: &[u64],
    reference_us: &[u64],
) -> BTreeMap<Endpoint, Level> {
    Level::of(selected_us, reference_us).map(|level| (receiver.clone(), level)).into_iter().collect()
}

/// Returns the levels of a subject at the endpoints that the reference has.
pub(super) fn learn_levels(selected: PartTimes, reference: PartTimes) -> BTreeMap<Endpoint, Level> {
    let mut reference = reference.unpack();
    let levels = selected.unpack().into_iter().filter_map(|(name, times)| {
        let level = Level::of(&times, &reference.remove(&name)?)?;
        Some((name, level))
    });
    levels.collect()
}

/// Returns the levels of spans that move to another place, at the endpoints of which both places have enough.
pub(super) fn learn_move(selected: PartTimes, reference: PartTimes) -> BTreeMap<Endpoint, Level> {
    let mut reference = reference.unpack();
    let levels = selected.unpack().into_iter().filter_map(|(name, times)| {
        let there = reference.remove(&name)?;
        let are_enough = times.len().min(there.len()) >= FEWEST;
        are_enough.then(|| (name, Level::Moved(ranks(&times, &there))))
    });
    levels.collect()
}

/// Latency of requests as it is, and if a part of a service were as it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MendedLatency {
    /// Latency as it is, in microseconds.
    pub before_us: Percentiles,
    /// Latency if the part were as it should be, in microseconds.
    pub after_us: Percentiles,
    /// Requests whose latency changes.
    pub changed: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_slow_spans_become_the_median_and_the_others_stay() {
        let reference: Vec<u64> = (0..50).map(|at| 10_000 + 100 * at).collect();
        let selected = [&reference[..45], &[30_000, 31_000, 90_000]].concat();
        let level = Level::of(&selected, &reference).unwrap();
        assert_eq!(level, Level::Limit { limit_us: 14_940, median_us: 12_450 });
        assert_eq!([14_940, 14_941, 90_000].map(|us| level.mended_us(us)), [14_940, 12_450, 12_450]);
        assert_eq!(Level::of(&selected, &[]), None);
    }

    #[test]
    fn where_all_moved_each_time_becomes_that_of_its_rank() {
        let reference: Vec<u64> = (0..=100).map(|at| 10_000 + 100 * at).collect();
        // By a constant, and in proportion; none of these is above the limit of a hit.
        for moved in [|us: u64| us + 2_600, |us: u64| us * 5 / 4] {
            let selected: Vec<u64> = reference.iter().map(|&us| moved(us)).collect();
            let level = Level::of(&selected, &reference).unwrap();
            for us in [10_000, 10_040, 13_370, 20_000] {
                let mended = level.mended_us(moved(us));
                assert!(mended.abs_diff(us) <= 1, "{us}: {mended}");
            }
            // Beyond both ends, and never more than it takes.
            assert_eq!([5_000, 90_000].map(|us| level.mended_us(us)), [5_000, 20_000]);
        }
        // Equal times share the middle of their ranks.
        let level = Level::of(&[25_000; 30], &reference).unwrap();
        assert_eq!(level.mended_us(25_000), 15_000);
    }

    #[test]
    fn a_set_and_itself_and_a_few_times_have_not_moved() {
        let times: Vec<u64> = (0..200).map(|at| 1_000 + at * at).collect();
        for us in &times[..195] {
            assert_eq!(Level::of(&times, &times).unwrap().mended_us(*us), *us);
        }
        let few = Level::of(&[500; 19], &[100; 19]).unwrap();
        assert_eq!(few.mended_us(500), 500);
    }

    #[test]
    fn what_moves_takes_what_the_same_rank_takes_there_also_if_that_is_more() {
        let times = |of: &[(&str, u64)]| {
            let times = of.iter().map(|&(name, us)| {
                let times = (0..20).map(|at| us + at).collect();
                (Endpoint::new("s", name), times)
            });
            PartTimes::of(times.collect())
        };
        let levels =
            learn_move(times(&[("a", 100), ("b", 100), ("c", 100)]), times(&[("a", 300), ("b", 40)]));
        let moved = |name: &str, us: u64| Some(levels.get(&Endpoint::new("s", name))?.mended_us(us));
        assert_eq!([moved("a", 107), moved("b", 107), moved("c", 107)], [Some(307), Some(47), None]);
        let few = PartTimes::of([(Endpoint::new("s", "a"), vec![1; 19])].into());
        assert_eq!(learn_move(times(&[("a", 100)]), few), BTreeMap::new());
    }

    #[test]
    fn endpoints_that_the_reference_lacks_have_no_level() {
        let times = |operations: &[&str]| {
            let times = operations.iter().map(|name| (Endpoint::new("s", *name), vec![3, 1, 2]));
            PartTimes::of(times.collect())
        };
        let levels = learn_levels(times(&["a", "b"]), times(&["b", "c"]));
        let limit = Level::Limit { limit_us: 1_002, median_us: 2 };
        assert_eq!(levels, [(Endpoint::new("s", "b"), limit)].into());
    }
}
