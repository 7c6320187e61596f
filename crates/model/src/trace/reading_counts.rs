//! What the rules for real traces did to a set, with one example each (`docs/definitions/real-traces.md`).

use super::calls::{answer, is_call, process_name};
use super::clocks::{Pair, pair_of};
use super::ids::TraceId;
use super::reading::Rule;
use super::set::TraceSet;
use super::tree::{Role, Tree, is_declared_async};
use crate::ordered::OrderedMap;
use crate::sort::Arrange;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Something that was found in spans.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// Second spans for the work of the calls beside them.
    Overlay,
    /// Calls that are named with what they call.
    Callees,
    /// Calls that take longer than their callee.
    Waiting,
    /// Spans whose name stands for many names with values in them.
    Templates,
    /// Spans that outlive their parent in the same process.
    NobodyWaits,
    /// Spans whose clock was set.
    Clocks,
    /// Callees that began after their caller gave up.
    GaveUp,
    /// Callees that go on after their caller stopped waiting, and are cut.
    StoppedWaiting,
}

impl Found {
    /// The rule that finds it.
    pub fn rule(self) -> Rule {
        match self {
            Found::Overlay => Rule::Overlay,
            Found::Callees => Rule::Callees,
            Found::Waiting => Rule::Waiting,
            Found::Templates => Rule::Templates,
            Found::NobodyWaits | Found::StoppedWaiting => Rule::NobodyWaits,
            Found::Clocks | Found::GaveUp => Rule::Clocks,
        }
    }

    /// Its key in JSON and in tests.
    pub fn key(self) -> &'static str {
        match self {
            Found::Overlay
            | Found::Callees
            | Found::Waiting
            | Found::Templates
            | Found::NobodyWaits
            | Found::Clocks => self.rule().key(),
            Found::GaveUp => "gave-up",
            Found::StoppedWaiting => "stopped-waiting",
        }
    }
}

/// How often, and where to look.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundCount {
    /// Number of spans.
    pub spans: u64,
    /// Canonical id of one trace with such a span: the smallest.
    pub example: String,
}

/// The clocks of two processes, in the traces in which one calls the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockPair {
    /// Traces with such calls.
    pub traces: u64,
    /// How far callees were moved in traces in which they were, in microseconds, sorted.
    pub shifts_us: Vec<i64>,
}

impl ClockPair {
    /// Shifts up to this are no fault of a clock.
    const FAULT_US: i64 = 1_000;
    /// The fewest traces that can show a fault, and the share of them, in percent, that must agree.
    const FAULT_TRACES: u64 = 20;
    const FAULT_SHARE: u64 = 95;

    /// The lower median of the shifts of all traces, 0 where nothing was moved, in microseconds.
    pub fn median_us(&self) -> i64 {
        let still = (self.traces as usize).saturating_sub(self.shifts_us.len());
        let earlier = self.shifts_us.partition_point(|&shift| shift < 0);
        let middle = (self.traces.max(1) as usize - 1) / 2;
        let at = match middle {
            _ if middle < earlier => Some(middle),
            _ if middle < earlier + still => None,
            _ => Some(middle - still),
        };
        at.and_then(|at| self.shifts_us.get(at)).copied().unwrap_or(0)
    }

    /// Whether a clock is wrong: nearly always to the same side, by more than a millisecond.
    pub fn is_fault(&self) -> bool {
        let earlier = self.shifts_us.partition_point(|&shift| shift < -Self::FAULT_US) as u64;
        let later =
            (self.shifts_us.len() - self.shifts_us.partition_point(|&shift| shift <= Self::FAULT_US)) as u64;
        self.traces >= Self::FAULT_TRACES && earlier.max(later) * 100 >= self.traces * Self::FAULT_SHARE
    }
}

/// Counts of all that was found; an accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReadingCounts {
    /// What was found at all.
    pub found: OrderedMap<Found, FoundCount>,
    /// By caller and callee, each `service` or `service@host`: clocks that were set in some trace.
    pub clocks: OrderedMap<(String, String), ClockPair>,
}

impl ReadingCounts {
    /// Adds the counts of other traces.
    pub fn merge(&mut self, other: ReadingCounts) {
        for (found, count) in other.found {
            let into = self.found.entry(found).or_default();
            if into.spans == 0 || count.example < into.example {
                into.example = count.example;
            }
            into.spans += count.spans;
        }
        for (pair, clock) in other.clocks {
            let into = self.clocks.entry(pair).or_default();
            into.traces += clock.traces;
            into.shifts_us.extend(clock.shifts_us);
            into.shifts_us.arrange();
        }
    }

    /// Leaves out pairs whose clocks were never set, once all parts are merged.
    pub fn drop_right_clocks(&mut self) {
        self.clocks.retain(|_, clock| !clock.shifts_us.is_empty());
    }
}

/// Counts while trees of one set pass by.
#[derive(Default)]
pub struct ReadingObserver {
    found: OrderedMap<Found, (u64, Option<TraceId>)>,
    pairs: HashMap<Pair, ClockPair, FxBuildHasher>,
    /// By pair in the current trace: how far callees were moved.
    here: HashMap<Pair, i64, FxBuildHasher>,
}

impl ReadingObserver {
    /// Takes note of a trace once its tree is loaded.
    pub fn observe(&mut self, set: &TraceSet, tree: &Tree) {
        let trace = set.traces()[tree.trace as usize].id;
        let mut note = |found| {
            let (spans, example) = self.found.entry(found).or_default();
            *spans += 1;
            if example.is_none_or(|id: TraceId| trace.compare(id, &set.id_texts) == Ordering::Less) {
                *example = Some(trace);
            }
        };
        let has_clocks = tree.settings.reading.has(Rule::Clocks);
        let has_waiting = tree.settings.reading.has(Rule::Waiting);
        self.here.clear();
        for span in 0..tree.len() as u32 {
            if set.says_callee(tree.row(span)) {
                note(Found::Callees);
            }
            if set.is_folded(tree.row(span)) {
                note(Found::Templates);
            }
            if has_waiting
                && let Some(answer) = answer(set, tree, span)
                && tree.duration_us(answer.callee) < tree.duration_us(span)
            {
                note(Found::Waiting);
            }
            let Some(parent) = tree.parent_of(span) else { continue };
            let (row, parent_row) = (tree.row(span), tree.row(parent));
            let shift = tree.clock_shift_us(span);
            if shift != 0 {
                note(Found::Clocks);
            }
            let pair = pair_of(set, tree, parent, span);
            let is_other = pair.0 != pair.1;
            match tree.role[span as usize] {
                Role::Overlay => note(Found::Overlay),
                Role::Async if !is_declared_async(set, row, parent_row) => {
                    note(if is_other { Found::GaveUp } else { Found::NobodyWaits });
                }
                Role::Sync if is_other && is_call(set, tree, parent) => {
                    if tree.outlasts_parent(set, span) {
                        note(Found::StoppedWaiting);
                    }
                    if has_clocks {
                        self.here.insert(pair, shift - tree.clock_shift_us(parent));
                    }
                }
                _ => {}
            }
        }
        for (pair, shift) in self.here.drain() {
            let clock = self.pairs.entry(pair).or_default();
            clock.traces += 1;
            if shift != 0 {
                clock.shifts_us.push(shift);
            }
        }
    }

    /// The counts.
    pub fn finish(self, set: &TraceSet) -> ReadingCounts {
        let found = self.found.into_iter().map(|(found, (spans, example))| {
            let example = example.map(|id| id.to_text(&set.id_texts)).unwrap_or_default();
            (found, FoundCount { spans, example })
        });
        let mut counts = ReadingCounts { found: found.collect(), clocks: OrderedMap::new() };
        for ((caller, callee), mut clock) in self.pairs {
            clock.shifts_us.arrange();
            counts.clocks.insert((process_name(set, caller), process_name(set, callee)), clock);
        }
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_wrong_if_it_nearly_always_errs_to_one_side() {
        let pair = |traces, shifts_us: Vec<i64>| ClockPair { traces, shifts_us };
        let mut shifts = vec![-2_000; 19];
        assert!(!pair(19, shifts.clone()).is_fault(), "too few traces");
        assert!(pair(20, shifts.clone()).is_fault());
        assert!(!pair(21, shifts.clone()).is_fault(), "19 of 21 is below 95 %");
        shifts.push(3_000);
        assert!(pair(20, shifts.clone()).is_fault());
        assert_eq!(pair(20, shifts).median_us(), -2_000);
        assert!(!pair(20, vec![1_000; 20]).is_fault());
        assert!(pair(20, vec![1_001; 20]).is_fault());
        // Traces in which nothing moved stand between both sides.
        assert_eq!(pair(5, vec![-7, 8]).median_us(), 0);
        assert_eq!(pair(5, vec![-9, -8, -7, 8]).median_us(), -7);
        assert_eq!(pair(4, vec![5, 6, 7]).median_us(), 5);
    }
}
