//! Overlaps up to which calls pass for one after the other, and gaps between such calls (`docs/definitions/critical-path.md`
//! section 3; CRISP, paper Fig. 8).

use super::Tree;
use pathlight_base::sort::sort_by_number;
use pathlight_base::steps::in_blocks;
use serde::{Deserialize, Serialize};

/// Overlaps of calls in sequence that the tolerance accepts, or gaps between such calls, over all spans that make calls.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SequenceTimes {
    /// Calls that begin so long before, or after, the end of the call that they come after.
    pub calls: u64,
    /// Traces with such a call.
    pub traces: u64,
    /// Sum of the overlaps or gaps.
    pub sum_us: u128,
    /// The longest one.
    pub max_us: u64,
    /// Number of those that last at least 1, 2, 4, 8, ... microseconds, and less than the next of these.
    pub by_doubling: Vec<u64>,
}

/// Scratch space of a sweep, kept from trace to trace.
#[derive(Clone, Debug, Default)]
pub struct SequenceSweep {
    /// The calls of one parent, by their starts and by their ends in microseconds.
    starts: Vec<(u64, u32)>,
    ends: Vec<(u64, u32)>,
}

/// Overlaps and gaps of calls in sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallsInSequence {
    /// Overlaps that the tolerance accepts.
    pub overlaps: SequenceTimes,
    /// Gaps from the end of the call before to the start.
    pub gaps: SequenceTimes,
}

impl CallsInSequence {
    /// Takes note of a trace once its tree is loaded.
    pub fn observe_trace(&mut self, tree: &Tree, sweep: &mut SequenceSweep) {
        let before = (self.overlaps.calls, self.gaps.calls);
        in_blocks(tree.len(), &mut |block| {
            for parent in block.map(|i| i as u32) {
                sweep.starts.clear();
                sweep.starts.extend(tree.sync_children(parent).map(|c| (tree.start_us[c as usize], c)));
                if sweep.starts.len() > 1 {
                    self.observe_calls(tree, tree.duration_us(parent), sweep);
                }
            }
        });
        self.overlaps.traces += u64::from(self.overlaps.calls > before.0);
        self.gaps.traces += u64::from(self.gaps.calls > before.1);
    }

    fn observe_calls(&mut self, tree: &Tree, parent_us: u64, sweep: &mut SequenceSweep) {
        let (start, end) = (|c: u32| tree.start_us[c as usize], |c: u32| tree.end_us[c as usize]);
        let SequenceSweep { starts, ends } = sweep;
        ends.clear();
        ends.extend(starts.iter().map(|&(_, c)| (end(c), c)));
        sort_by_number(starts);
        sort_by_number(ends);
        let (mut ended, mut later) = (0, 0);
        // Calls that ended earlier than the one looked at begins, and the last end of a call with a length.
        let (mut earlier, mut last_end) = (0, None);
        in_blocks(starts.len(), &mut |block| {
            for at in block {
                let (from, call) = starts[at];
                while ends.get(earlier).is_some_and(|&(end, _)| end < from) {
                    earlier += 1;
                }
                while let Some(&(end, other)) = ends.get(ended).filter(|&&(end, _)| end <= from) {
                    last_end = if start(other) < end { Some(end) } else { last_end };
                    ended += 1;
                }
                while starts.get(later).is_some_and(|&(start, _)| start <= from) {
                    later += 1;
                }
                // The first to end after the call began: any other would end inside the overlap.
                let overlap_us = ends.get(ended).and_then(|&(first_end, _)| {
                    let is_quiet = starts.get(later).is_none_or(|&(start, _)| start >= first_end);
                    let mut same_end = ends[ended..].iter().take_while(|&&(end, _)| end == first_end);
                    let overlap_us = first_end.saturating_sub(from);
                    let is_accepted = first_end < end(call)
                        && is_quiet
                        && at > 0
                        && tree.settings().overlap.tolerates(overlap_us, parent_us)
                        && same_end.any(|&(_, c)| start(c) < from);
                    is_accepted.then_some(overlap_us)
                });
                // One that ends just when the call begins leaves no gap.
                let touches = last_end == Some(from);
                let before = earlier.checked_sub(1).filter(|_| !touches).map(|last| ends[last].0);
                match (overlap_us, before) {
                    (Some(us), _) => self.overlaps.add(us),
                    (None, Some(before)) => self.gaps.add(from - before),
                    (None, None) => {}
                }
            }
        });
    }

    /// Adds what was seen in other traces.
    pub fn merge(&mut self, other: &CallsInSequence) {
        self.overlaps.merge(&other.overlaps);
        self.gaps.merge(&other.gaps);
    }
}

impl SequenceTimes {
    fn add(&mut self, us: u64) {
        self.calls += 1;
        self.sum_us += u128::from(us);
        self.max_us = self.max_us.max(us);
        let bin = us.max(1).ilog2() as usize;
        if self.by_doubling.len() <= bin {
            self.by_doubling.resize(bin + 1, 0);
        }
        self.by_doubling[bin] += 1;
    }

    /// Adds those of other traces.
    pub fn merge(&mut self, other: &SequenceTimes) {
        self.calls += other.calls;
        self.traces += other.traces;
        self.sum_us += other.sum_us;
        self.max_us = self.max_us.max(other.max_us);
        if self.by_doubling.len() < other.by_doubling.len() {
            self.by_doubling.resize(other.by_doubling.len(), 0);
        }
        self.by_doubling.iter_mut().zip(&other.by_doubling).for_each(|(into, from)| *into += from);
    }

    /// Returns their mean in microseconds; 0 without any.
    pub fn mean_us(&self) -> f64 {
        if self.calls == 0 { 0.0 } else { self.sum_us as f64 / self.calls as f64 }
    }

    /// Returns the parts of the distribution that hold some: from, to below which, and how many.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64, u64)> {
        let bins = (0u32..).zip(&self.by_doubling);
        bins.filter(|(_, count)| **count > 0)
            .map(|(at, &count)| (1u64 << at, 1u64.checked_shl(at + 1).unwrap_or(u64::MAX), count))
    }
}
