//! How the calls of invocations follow one another, by endpoint: the first pass.

use crate::flow::{Child, Order, Visit, Within};
use crate::names::{join_names, join_sums, numbered};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{log_bin, log_bin_middle_us};
use pathlight_trace::{Endpoint, Flags, Overlap, Role, TraceRow, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Calls of one endpoint by one caller from which on they are a run, however many there are in other invocations.
pub(super) const RUN: u32 = 4;
/// Gaps are usual from half their median to this many times it, and where they differ from it by at most so many microseconds.
const USUAL_TIMES: f64 = 2.0;
const USUAL_US: f64 = 1000.0;
/// Least share of the gaps that must be usual.
const USUAL_SHARE: f64 = 0.95;

/// Times between the end of a call and the start of the one that follows it, by bin.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Gaps(BTreeMap<u32, u64>);

impl Gaps {
    fn add(&mut self, us: i64) {
        *self.0.entry(log_bin(us.max(0) as u64)).or_default() += 1;
    }

    fn merge(&mut self, other: Gaps) {
        other.0.into_iter().for_each(|(bin, count)| *self.0.entry(bin).or_default() += count);
    }

    pub fn len(&self) -> u64 {
        self.0.values().sum()
    }

    /// Returns whether nearly all of them are like the median: then it is the end of the one call that the other waits for, and
    /// no timer or other thread.
    pub fn are_usual(&self) -> bool {
        let half = self.len().div_ceil(2);
        let mut seen = 0;
        let median = self.0.iter().find(|(_, count)| {
            seen += **count;
            seen >= half
        });
        let Some(median_us) = median.map(|(&bin, _)| log_bin_middle_us(bin)) else { return false };
        let from_us = (median_us / USUAL_TIMES).min(median_us - USUAL_US).max(0.0);
        let to_us = (median_us * USUAL_TIMES).max(median_us + USUAL_US);
        let usual = self.0.range(log_bin(from_us as u64)..=log_bin(to_us as u64));
        let usual: u64 = usual.map(|(_, count)| count).sum();
        usual as f64 >= USUAL_SHARE * self.len() as f64
    }
}

/// The calls of one endpoint by one parent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct UnitSums {
    /// Invocations by the number of calls; without those with an error, since what is not called after a failure says nothing.
    pub numbers: BTreeMap<u32, u64>,
    /// All invocations by the number of calls, and those of them in which each call waits for the one before.
    pub runs: BTreeMap<u32, (u64, u64)>,
    /// Gaps between the calls of these.
    pub gaps: Gaps,
    /// What these would save at most, in microseconds: the time of the calls less the longest of each invocation.
    pub most_us: u128,
}

impl UnitSums {
    /// Returns the invocations without an error that make such calls.
    pub fn invocations(&self) -> u64 {
        self.numbers.values().sum()
    }

    /// Returns the most common number of calls, and in how many of these it is that; the least of equally common ones.
    pub fn usual_number(&self) -> (u32, u64) {
        let most = self.numbers.iter().reduce(|best, next| if next.1 > best.1 { next } else { best });
        most.map_or((0, 0), |(&calls, &invocations)| (calls, invocations))
    }

    /// Returns the invocations with at least so many calls: how many, in how many of them each call waits for the one before, and how
    /// many calls they make.
    pub fn runs_from(&self, least: u32) -> (u64, u64, u64) {
        self.runs.range(least..).fold((0, 0, 0), |sum, (&calls, &(n, serial))| {
            (sum.0 + n, sum.1 + serial, sum.2 + u64::from(calls) * n)
        })
    }

    fn merge(&mut self, other: UnitSums) {
        other.numbers.into_iter().for_each(|(calls, n)| *self.numbers.entry(calls).or_default() += n);
        for (calls, (n, serial)) in other.runs {
            let into = self.runs.entry(calls).or_default();
            *into = (into.0 + n, into.1 + serial);
        }
        self.gaps.merge(other.gaps);
        self.most_us += other.most_us;
    }
}

/// Calls of one endpoint that begin when all those of another have ended, by one parent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FollowSums {
    /// Gaps, one for each invocation.
    pub gaps: Gaps,
    /// What side by side would save at most, in microseconds.
    pub most_us: u128,
}

/// How calls follow one another: the accumulator. Names are numbers in one list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SerialSums {
    /// The names, ascending.
    pub(super) names: Vec<Endpoint>,
    /// By parent and callee, ascending.
    pub(super) units: Vec<([u32; 2], UnitSums)>,
    /// By parent and two callees of which the second follows the first, ascending.
    pub(super) follows: Vec<([u32; 3], FollowSums)>,
}

/// Returns the sums of these names.
pub(super) fn find<const N: usize, T>(all: &[([u32; N], T)], key: [u32; N]) -> Option<&T> {
    all.binary_search_by_key(&key, |(key, _)| *key).ok().map(|at| &all[at].1)
}

impl SerialSums {
    /// Joins accumulators of disjoint invocations; the result does not depend on their order.
    pub fn merge(parts: Vec<SerialSums>) -> SerialSums {
        let (names, numbers) = join_names(parts.iter().map(|part| part.names.as_slice()));
        let mut all = SerialSums { names, ..SerialSums::default() };
        for (part, numbers) in parts.into_iter().zip(&numbers) {
            let number = |name: u32| numbers[name as usize];
            all.units.extend(part.units.into_iter().map(|(key, sums)| (key.map(number), sums)));
            all.follows.extend(part.follows.into_iter().map(|(key, sums)| (key.map(number), sums)));
        }
        join_sums(&mut all.units, UnitSums::merge);
        join_sums(&mut all.follows, |into, sums| {
            into.gaps.merge(sums.gaps);
            into.most_us += sums.most_us;
        });
        all
    }
}

/// The calls of one endpoint in the invocation looked at.
#[derive(Clone, Copy)]
struct Unit {
    endpoint: u32,
    calls: u32,
    start_us: u64,
    end_us: u64,
    sum_us: u64,
    longest_us: u64,
    is_serial: bool,
    /// Whether the call before failed: then the next is a retry.
    has_failed: bool,
    /// Place of the call that ended last of those that the first one waits for, and the gap since then.
    after: Option<(u32, i64)>,
}

/// Looks at every invocation of a set.
pub struct SerialRun {
    overlap: Overlap,
    within: Within,
    order: Order,
    children: Vec<Child>,
    units: Vec<Unit>,
    /// By endpoint: the invocation that saw it last, and its place among the units.
    seen: Vec<(u64, u32)>,
    invocation: u64,
    gaps: Vec<(u32, i64)>,
    sums: FxHashMap<[u32; 2], UnitSums>,
    follows: FxHashMap<[u32; 3], FollowSums>,
}

impl SerialRun {
    /// Returns a run over the traces `set` holds now.
    pub fn new(set: &TraceSet, overlap: Overlap, within: Within) -> SerialRun {
        SerialRun {
            overlap,
            within,
            order: Order::default(),
            children: Vec::new(),
            units: Vec::new(),
            seen: vec![(0, 0); set.endpoints().len()],
            invocation: 0,
            gaps: Vec::new(),
            sums: FxHashMap::default(),
            follows: FxHashMap::default(),
        }
    }

    /// Finishes the run; returns its accumulator.
    pub fn finish(self, set: &TraceSet) -> SerialSums {
        let (names, number_of) = numbered(set, self.sums.keys().flatten().copied());
        let number = |endpoint: u32| number_of[endpoint as usize];
        let mut units: Vec<([u32; 2], UnitSums)> =
            self.sums.into_iter().map(|(key, sums)| (key.map(number), sums)).collect();
        let mut follows: Vec<([u32; 3], FollowSums)> =
            self.follows.into_iter().map(|(key, sums)| (key.map(number), sums)).collect();
        units.compact_sort_by_key(|(key, _)| *key);
        follows.compact_sort_by_key(|(key, _)| *key);
        SerialSums { names, units, follows }
    }

    /// Puts the calls of the invocation at hand together by endpoint.
    fn find_units(&mut self, set: &TraceSet, tree: &Tree) {
        self.invocation += 1;
        self.units.clear();
        self.gaps.clear();
        let children = self.order.children();
        let endpoint_of = |child: &Child| set.endpoint(tree.row(child.span)).0;
        for (p, child) in children.iter().enumerate() {
            let has_failed = set.flags(tree.row(child.span)).has(Flags::ERROR);
            let endpoint = endpoint_of(child);
            let last = self.order.waits_for(p).last().copied();
            let gap_us = self.order.gap_us(p);
            let seen = &mut self.seen[endpoint as usize];
            if seen.0 != self.invocation {
                *seen = (self.invocation, self.units.len() as u32);
                self.units.push(Unit {
                    endpoint,
                    calls: 1,
                    start_us: child.start_us,
                    end_us: child.end_us,
                    sum_us: child.latency_us(),
                    longest_us: child.latency_us(),
                    is_serial: true,
                    has_failed,
                    after: last.map(|last| (last, gap_us)),
                });
                continue;
            }
            let unit = &mut self.units[seen.1 as usize];
            // The one that ended last is of the same endpoint, and no other call of it goes on.
            let is_next = last.is_some_and(|last| {
                let last = &children[last as usize];
                endpoint_of(last) == endpoint && last.end_us >= unit.end_us
            });
            unit.is_serial &= is_next;
            if !unit.has_failed {
                self.gaps.push((seen.1, gap_us));
            }
            unit.has_failed = has_failed;
            unit.calls += 1;
            unit.sum_us = unit.sum_us.saturating_add(child.latency_us());
            unit.longest_us = unit.longest_us.max(child.latency_us());
            unit.end_us = unit.end_us.max(child.end_us);
        }
    }

    fn add_units(&mut self, set: &TraceSet, tree: &Tree, span: u32) {
        let parent = set.endpoint(tree.row(span)).0;
        let is_fine = is_fine(set, tree, span, &self.children);
        for unit in &self.units {
            let sums = self.sums.entry([parent, unit.endpoint]).or_default();
            *sums.numbers.entry(unit.calls).or_default() += u64::from(is_fine);
            let runs = sums.runs.entry(unit.calls).or_default();
            *runs = (runs.0 + 1, runs.1 + u64::from(unit.is_serial));
            if unit.is_serial && unit.calls > 1 {
                sums.most_us += u128::from(unit.sum_us - unit.longest_us);
            }
            let Some((last, gap_us)) = unit.after.filter(|_| is_fine) else { continue };
            let last = &self.order.children()[last as usize];
            let before = set.endpoint(tree.row(last.span)).0;
            let before = &self.units[self.seen[before as usize].1 as usize];
            if before.endpoint != unit.endpoint && before.end_us <= last.end_us {
                let sums = self.follows.entry([parent, before.endpoint, unit.endpoint]).or_default();
                sums.gaps.add(gap_us);
                let [a, b] = [before, unit].map(|unit| unit.end_us - unit.start_us);
                sums.most_us += u128::from(a.min(b));
            }
        }
        for &(unit, gap_us) in &self.gaps {
            let unit = &self.units[unit as usize];
            if unit.is_serial {
                self.sums.entry([parent, unit.endpoint]).or_default().gaps.add(gap_us);
            }
        }
    }
}

impl Visit for SerialRun {
    fn wants(&mut self, _: &TraceSet, trace: &TraceRow) -> bool {
        trace.len() > 1
    }

    fn span(&mut self, set: &TraceSet, tree: &Tree, span: u32) -> Option<usize> {
        if !calls_of(tree, &self.within, span, &mut self.children) {
            return None;
        }
        let (start_us, end_us) = (tree.start_us[span as usize], tree.end_us[span as usize]);
        self.order.set(start_us, end_us, &self.children, Some(self.overlap));
        self.find_units(set, tree);
        self.add_units(set, tree, span);
        Some(self.children.len())
    }
}

/// Fills in the calls of an invocation; returns whether there are some.
pub(super) fn calls_of(tree: &Tree, within: &Within, span: u32, out: &mut Vec<Child>) -> bool {
    let is_leaf = tree.subtree_end[span as usize] == span + 1;
    if is_leaf || tree.role[span as usize] == Role::Dropped || !within.has(tree, span) {
        return false;
    }
    out.clear();
    out.extend(tree.sync_children(span).map(|child| Child::of(tree, child)));
    !out.is_empty()
}

/// Returns whether neither an invocation nor any of its calls is in error.
pub(super) fn is_fine(set: &TraceSet, tree: &Tree, span: u32, calls: &[Child]) -> bool {
    let is_fine = |span: u32| !set.flags(tree.row(span)).has(Flags::ERROR);
    is_fine(span) && calls.iter().all(|child| is_fine(child.span))
}
