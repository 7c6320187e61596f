//! The end of a load: single spans become traces, fragments of one trace are joined.

use super::{RawSpan, SetFull, TraceId, TraceSet};
use pathlight_base::sort::CompactSort as _;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Spans sorted at a time; sorted runs are merged afterwards, so that no step takes long.
const RUN: usize = 1 << 14;
/// Traces looked at between two looks at the clock.
const TRACES: usize = 1 << 12;

/// A span and the trace it is of.
type UnattachedSpan = (TraceId, RawSpan);

/// Sealing under way: a resumable task. Until it is done the set misses what it works on.
pub struct Sealing {
    unattached: UnattachedSpans,
    state: State,
    /// The limit of the set; it does not count while spans only move.
    limit: Option<usize>,
}

#[derive(Clone, Copy)]
enum State {
    /// Making traces of staged spans.
    Staged,
    /// Taking out the traces that have several fragments; the next one to look at.
    Gather(usize),
    /// Making traces of those.
    Join,
    Done,
}

/// Spans on their way to traces.
#[derive(Default)]
struct UnattachedSpans {
    all: Vec<UnattachedSpan>,
    /// Everything before is in sorted runs.
    sorted: usize,
    /// The first span of each run that is not taken: (trace, place), smallest first.
    heads: BinaryHeap<Reverse<(TraceId, usize)>>,
    trace: Vec<RawSpan>,
}

impl UnattachedSpans {
    fn of(all: Vec<UnattachedSpan>) -> UnattachedSpans {
        UnattachedSpans { all, ..UnattachedSpans::default() }
    }

    /// Goes on; whether all of them are in traces of the set.
    fn step(&mut self, set: &mut TraceSet, is_over: &mut dyn FnMut() -> bool) -> Result<bool, SetFull> {
        while self.sorted < self.all.len() {
            let end = self.all.len().min(self.sorted + RUN);
            // Stable, so that spans of one trace stay in the order they came.
            self.all[self.sorted..end].sort_by_key(|&(id, _)| id);
            self.heads.push(Reverse((self.all[self.sorted].0, self.sorted)));
            self.sorted = end;
            if is_over() {
                return Ok(false);
            }
        }
        while let Some(&Reverse((id, _))) = self.heads.peek() {
            while let Some(&Reverse((next, mut place))) = self.heads.peek()
                && next == id
            {
                self.heads.pop();
                let run_end = self.all.len().min((place / RUN + 1) * RUN);
                while place < run_end && self.all[place].0 == id {
                    self.trace.push(self.all[place].1);
                    place += 1;
                }
                if place < run_end {
                    self.heads.push(Reverse((self.all[place].0, place)));
                }
            }
            set.add_grouped(id, &mut self.trace)?;
            if is_over() {
                return Ok(false);
            }
        }
        self.all = Vec::new();
        Ok(true)
    }
}

impl Sealing {
    /// Begins with what the set has staged.
    pub fn begin(set: &mut TraceSet) -> Sealing {
        set.lift_links();
        Sealing {
            unattached: UnattachedSpans::of(std::mem::take(&mut set.staged)),
            state: State::Staged,
            limit: set.max_bytes.take(),
        }
    }

    /// Goes on until `is_over` says that it is enough for now, looked at about every millisecond but for a single trace of
    /// very many spans; whether everything is done.
    ///
    /// # Errors
    /// [`SetFull`] when memory ends; the set stays valid, without the spans that were still on their way.
    pub fn step(&mut self, set: &mut TraceSet, is_over: &mut dyn FnMut() -> bool) -> Result<bool, SetFull> {
        let done = self.advance(set, is_over);
        if !matches!(done, Ok(false)) {
            set.max_bytes = self.limit;
        }
        done
    }

    fn advance(&mut self, set: &mut TraceSet, is_over: &mut dyn FnMut() -> bool) -> Result<bool, SetFull> {
        loop {
            match self.state {
                State::Staged | State::Join => {
                    if !self.unattached.step(set, is_over)? {
                        return Ok(false);
                    }
                    let is_joined = matches!(self.state, State::Join) || set.split.is_empty();
                    self.state = if is_joined { State::Done } else { State::Gather(0) };
                    if is_joined {
                        set.place_links();
                        set.shrink();
                    } else {
                        set.split.compact_sort();
                        set.split.dedup();
                    }
                }
                State::Gather(mut at) => {
                    let end = set.traces.len().min(at + TRACES);
                    for number in at..end {
                        let trace = set.traces[number];
                        if set.split.binary_search(&trace.id).is_ok() {
                            let spans = trace.rows().map(|row| (trace.id, set.raw(row)));
                            self.unattached.all.extend(spans);
                        }
                    }
                    at = end;
                    self.state = State::Gather(at);
                    if at == set.traces.len() {
                        self.take_out(set);
                        self.state = State::Join;
                    }
                    if is_over() {
                        return Ok(false);
                    }
                }
                State::Done => return Ok(true),
            }
        }
    }

    /// Drops the fragments that were gathered; spans put aside for their traces come back.
    fn take_out(&mut self, set: &mut TraceSet) {
        let ids = std::mem::take(&mut set.split);
        let is_split = |id: &TraceId| ids.binary_search(id).is_ok();
        let (back, keep) = std::mem::take(&mut set.duplicates).into_iter().partition(|(id, _)| is_split(id));
        set.duplicates = keep;
        self.unattached.all.extend::<Vec<UnattachedSpan>>(back);
        self.unattached.sorted = 0;
        set.retain(|trace| !is_split(&trace.id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Flags, SpanId, TagSetId, dump};

    /// Returns single spans of many traces in runs of several, and fragments of some of those traces.
    fn unsealed() -> TraceSet {
        let mut set = TraceSet::new();
        let process = set.process("service", "", TagSetId::EMPTY);
        let operation = set.names.intern("operation");
        let span = |number: u64, start_us: u64| RawSpan {
            id: SpanId::hex(number + 1),
            parent: SpanId::hex(number / 3),
            start_us,
            duration_us: 1000 - number % 7,
            operation,
            process,
            tags: TagSetId::EMPTY,
            flags: Flags::default(),
        };
        for number in 0..3 * RUN as u64 + 17 {
            let trace = number * 7919 % 1009;
            assert_eq!(set.stage(TraceId::hex(u128::from(trace) + 1), span(number / 1009, number)), Ok(()));
        }
        for trace in 0..300 {
            let mut fragment = (100..104).map(|number| span(number, 5)).collect();
            assert_eq!(set.add_trace(TraceId::hex(trace % 150 + 1), &mut fragment), Ok(()));
        }
        set
    }

    #[test]
    fn in_the_smallest_steps_it_is_the_same_as_at_once() {
        let mut at_once = unsealed();
        assert_eq!(at_once.seal(), Ok(()));
        let mut in_steps = unsealed();
        let mut sealing = Sealing::begin(&mut in_steps);
        let mut steps = 1;
        while sealing.step(&mut in_steps, &mut || true) == Ok(false) {
            steps += 1;
        }
        assert!(steps > 1000, "{steps} steps");
        assert_eq!((at_once.traces().len(), at_once.staged_spans()), (1009, 0));
        assert!(dump(&in_steps) == dump(&at_once));
    }

    #[test]
    fn little_is_reserved_once_sealed() {
        let mut set = unsealed();
        for trace in 0..70_000u64 {
            let mut spans = vec![set.raw(0)];
            set.tags.begin();
            set.tags.add("number", &(trace % 4000).to_string());
            set.tags.add("other", &(trace / 4000).to_string());
            spans[0].tags = set.tags.finish();
            assert_eq!(set.add_trace(TraceId::hex(u128::from(trace) + 10_000), &mut spans), Ok(()));
        }
        let before = set.heap_bytes();
        assert_eq!(set.seal(), Ok(()));
        assert!(set.heap_bytes() < before);
        let spans = set.columns.start_us.len();
        for (reserved, len) in [
            (set.columns.start_us.capacity(), spans),
            (set.columns.tag_set.capacity(), spans),
            (set.traces.capacity(), set.traces.len()),
        ] {
            assert!(reserved <= len + len / 64, "{reserved} for {len}");
        }
        // A copy of a list reserves nothing ahead.
        let (reserved, needed) = (set.tags.heap_bytes(), set.tags.clone().heap_bytes());
        assert!(reserved <= needed + needed / 64, "{reserved} bytes of tags for {needed}");
    }

    #[test]
    fn a_limit_that_is_reached_does_not_keep_spans_from_their_traces() {
        let mut set = unsealed();
        let spans = set.staged_spans() + set.spans();
        set.set_limit(1);
        assert_eq!(set.seal(), Ok(()));
        assert!(set.spans() > spans / 2);
        assert_eq!(set.stage(TraceId::hex(1), set.raw(0)), Err(SetFull));
    }
}
