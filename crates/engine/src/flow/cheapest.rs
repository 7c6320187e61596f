//! The cheapest of some changes that bring a percentile of the latency down to a target.

use super::{Changes, LatencyChange, Quantile, SubjectTime, WaitTime};
use serde::{Deserialize, Serialize};

/// Changes that can be made for a price.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PricedChanges {
    /// How it is called in the report.
    pub name: String,
    /// The changes, which are made together or not at all.
    pub changes: Changes,
    /// The price in thousandths of whatever prices are in.
    pub cost_thousandths: u64,
}

/// A change that was chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChosenChange {
    /// The change as it was written.
    pub change: String,
    /// Its price.
    pub cost: f64,
}

/// The cheapest set of changes that reaches a target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CheapestReport {
    /// Selected requests.
    pub requests: u64,
    /// The percentile of the target.
    pub quantile: Quantile,
    /// The percentile as it is, in microseconds.
    pub before_us: f64,
    /// The target value, in microseconds.
    pub target_us: u64,
    /// Number of changes to choose from.
    pub options: u64,
    /// The percentile if all of them were made, in microseconds.
    pub all_us: f64,
    /// The changes that are chosen, in the order in which they were given; empty if the target is reached as it is; `null` if no set
    /// that was tried reaches it.
    pub chosen: Option<Vec<ChosenChange>>,
    /// What they cost together; 0 without any.
    pub cost: f64,
    /// The percentile with them, in microseconds; without any as it is.
    pub after_us: f64,
    /// Whether no cheaper set reaches it: up to 12 changes. Of more, the best by effect per price is added one by one, and what is not
    /// needed is taken out again: a cheaper set may exist.
    pub is_exact: bool,
    /// Sets of changes that were tried, of `2^options` that there are.
    pub tried: u64,
}

impl CheapestReport {
    /// Most changes of which the cheapest set is surely found.
    pub const EXACT: usize = 12;

    /// Returns whether there is nothing to do.
    pub fn is_reached(&self) -> bool {
        self.before_us <= self.target_us as f64
    }
}

impl Changes {
    /// Returns these changes and others together.
    #[must_use]
    pub fn with(mut self, other: &Changes) -> Changes {
        let Changes { latencies, parallel, beside, timeouts, subjects, queues, moves, waits } = other;
        self.latencies.extend_from_slice(latencies);
        self.parallel.extend_from_slice(parallel);
        self.beside.extend_from_slice(beside);
        self.timeouts.extend_from_slice(timeouts);
        self.subjects.extend_from_slice(subjects);
        self.queues.extend_from_slice(queues);
        self.moves.extend_from_slice(moves);
        self.waits.extend_from_slice(waits);
        self
    }

    /// Returns whether they can make nothing slower.
    fn is_only_faster(&self) -> bool {
        let Changes { latencies, parallel: _, beside: _, timeouts, subjects, queues, moves, waits } = self;
        let is_less = |share_ppm: i64, add_us: i64| share_ppm <= 0 && add_us <= 0;
        let latency = |of: &LatencyChange| is_less(of.share_ppm, of.add_us);
        let subject = |time: &SubjectTime| match time {
            SubjectTime::By { share_ppm, add_us } => is_less(*share_ppm, *add_us),
            // What is usual is never more than it is.
            SubjectTime::Usual | SubjectTime::Levels(_) => true,
        };
        let wait = |time: &WaitTime| match time {
            WaitTime::By { share_ppm, add_us } => is_less(*share_ppm, *add_us),
            WaitTime::Within | WaitTime::Levels(_) => false,
        };
        latencies.iter().all(latency)
            && timeouts.iter().all(|timeout| timeout.retry_us.is_empty())
            && subjects.iter().all(|change| subject(&change.time))
            && queues.iter().all(|change| subject(&change.time))
            && moves.is_empty()
            && waits.iter().all(|change| wait(&change.time))
    }
}

/// A set of options, one bit each.
type Set = u64;

/// Which sets to try, step by step: whoever drives it says what each brings.
pub(super) struct CheapestSearch {
    costs: Vec<u64>,
    target_us: f64,
    /// Whether more changes never make it slower.
    is_monotone: bool,
    /// What is known of sets.
    pub known: std::collections::BTreeMap<Set, f64>,
}

impl CheapestSearch {
    pub fn new(options: &[PricedChanges], target_us: u64) -> CheapestSearch {
        CheapestSearch {
            costs: options.iter().map(|of| of.cost_thousandths).collect(),
            target_us: target_us as f64,
            is_monotone: options.iter().all(|of| of.changes.is_only_faster()),
            known: std::collections::BTreeMap::new(),
        }
    }

    pub fn cost(&self, set: Set) -> u64 {
        members(set).fold(0, |sum: u64, at| sum.saturating_add(self.costs.get(at).copied().unwrap_or(0)))
    }

    pub fn all(&self) -> Set {
        (1 << self.costs.len()) - 1
    }

    fn rank(&self, set: Set) -> (u64, u32, Set) {
        (self.cost(set), set.count_ones(), set)
    }

    fn reaches(&self, set: Set) -> Result<bool, Set> {
        self.known.get(&set).map(|us| *us <= self.target_us).ok_or(set)
    }

    /// Returns the cheapest set that reaches the target, `None` if there is none; or the next set of which it has to be known what it
    /// brings.
    pub fn exact(&self) -> Result<Option<Set>, Set> {
        let n = self.costs.len();
        if !self.is_monotone {
            let mut sets: Vec<Set> = (0..=self.all()).collect();
            sets.sort_by_key(|&set| self.rank(set));
            for set in sets {
                if self.reaches(set)? {
                    return Ok(Some(set));
                }
            }
            return Ok(None);
        }
        // Branch and bound: whoever lacks too much cannot get there, and whoever is there needs nothing more.
        let mut best: Option<Set> = None;
        let mut open: Vec<(Set, Set, usize)> = vec![(0, self.all(), 0)];
        while let Some((with, may_have, next)) = open.pop() {
            let (cost, count, _) = self.rank(with);
            let is_worse = best.is_some_and(|best| {
                let (least, fewest, _) = self.rank(best);
                (cost, count) > (least, fewest)
            });
            if is_worse || !self.reaches(may_have)? {
                continue;
            }
            if self.reaches(with)? {
                best = Some(best.filter(|best| self.rank(*best) < self.rank(with)).unwrap_or(with));
            } else if next < n {
                open.push((with, may_have & !(1 << next), next + 1));
                open.push((with | 1 << next, may_have, next + 1));
            }
        }
        Ok(best)
    }

    /// Returns a cheap set that reaches the target, as [`exact`](Self::exact).
    pub fn greedy(&self) -> Result<Option<Set>, Set> {
        let mut set: Set = 0;
        while !self.reaches(set)? {
            let now_us = self.us(set)?;
            let mut best: Option<(f64, usize)> = None;
            for at in (0..self.costs.len()).filter(|at| set & (1 << at) == 0) {
                let less_us = now_us - self.us(set | 1 << at)?;
                let each = less_us / (self.costs[at].max(1) as f64);
                best = best.filter(|(most, _)| *most >= each).or(Some((each, at)));
            }
            let Some((_, at)) = best else { return Ok(None) };
            set |= 1 << at;
        }
        // The dearest first; of equal ones the last.
        let mut chosen: Vec<usize> = members(set).collect();
        chosen.sort_by_key(|&at| std::cmp::Reverse((self.costs[at], at)));
        for at in chosen {
            if self.reaches(set & !(1 << at))? {
                set &= !(1 << at);
            }
        }
        Ok(Some(set))
    }

    fn us(&self, set: Set) -> Result<f64, Set> {
        self.known.get(&set).copied().ok_or(set)
    }
}

/// Returns the places of the options in a set.
pub(super) fn members(set: Set) -> impl Iterator<Item = usize> {
    (0..Set::BITS as usize).filter(move |at| set & (1 << at) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::Random;

    /// Options that take this many microseconds off a chain of calls, and each of these costs.
    fn options(costs: &[u64], is_faster: bool) -> Vec<PricedChanges> {
        let change = LatencyChange {
            service: String::new(),
            operation: String::new(),
            of: super::super::ChangeOf::OwnWork,
            share_ppm: if is_faster { -1 } else { 1 },
            add_us: 0,
        };
        let changes = Changes { latencies: vec![change], ..Changes::default() };
        let priced =
            |&cost| PricedChanges { name: String::new(), changes: changes.clone(), cost_thousandths: cost };
        costs.iter().map(priced).collect()
    }

    fn drive(
        mut search: CheapestSearch,
        us: impl Fn(Set) -> f64,
        step: impl Fn(&CheapestSearch) -> Result<Option<Set>, Set>,
    ) -> (Option<Set>, usize) {
        loop {
            match step(&search) {
                Ok(found) => return (found, search.known.len()),
                Err(set) => {
                    assert!(search.known.insert(set, us(set)).is_none(), "asked twice");
                }
            }
        }
    }

    /// Two chains side by side: option i takes `less[i]` off chain i % 2, so one alone may bring nothing.
    fn latency_us(less: &[u64], set: Set) -> f64 {
        let mut chains = [1000i64, 900];
        members(set).for_each(|at| chains[at % 2] -= less[at] as i64);
        chains[0].max(chains[1]).max(0) as f64
    }

    #[test]
    fn the_cheapest_set_is_that_of_all_sets() {
        let (mut reached, mut tried) = (0, 0);
        for seed in 0..300 {
            let mut random = Random::new(seed, 0, 0);
            let n = 1 + random.below(9) as usize;
            let costs: Vec<u64> = (0..n).map(|_| random.below(5)).collect();
            let less: Vec<u64> = (0..n).map(|_| random.below(300)).collect();
            let target = 400 + random.below(600);
            let us = |set| latency_us(&less, set);
            for is_faster in [true, false] {
                let search = CheapestSearch::new(&options(&costs, is_faster), target);
                let (least, all) = (|set: Set| search.rank(set), search.all());
                let expected =
                    (0..=all).filter(|&set| us(set) <= target as f64).min_by_key(|&set| least(set));
                let search = CheapestSearch::new(&options(&costs, is_faster), target);
                let (found, sets) = drive(search, us, CheapestSearch::exact);
                assert_eq!(found, expected, "seed {seed}");
                if is_faster {
                    reached += u32::from(found.is_some_and(|set| set != 0));
                    tried += sets * 100 / (1 << n);
                }
            }
        }
        assert!(reached > 100, "{reached}");
        assert!(tried / 300 < 60, "{tried}");
    }

    #[test]
    fn where_there_is_a_set_one_is_found_by_steps_and_nothing_in_it_is_needless() {
        for seed in 0..100 {
            let mut random = Random::new(seed, 1, 0);
            let costs: Vec<u64> = (0..16).map(|_| 1 + random.below(5)).collect();
            let less: Vec<u64> = (0..16).map(|_| random.below(120)).collect();
            let us = |set| latency_us(&less, set);
            let search = CheapestSearch::new(&options(&costs, true), 600);
            let all = search.all();
            let (found, sets) = drive(search, us, CheapestSearch::greedy);
            assert_eq!(found.is_some(), us(all) <= 600.0, "seed {seed}");
            assert!(sets < 300, "{sets}");
            let Some(found) = found else { continue };
            assert!(us(found) <= 600.0);
            assert!(members(found).all(|at| us(found & !(1 << at)) > 600.0), "seed {seed}");
        }
    }
}
