//! One trace with sanitised intervals (`docs/definitions/critical-path.md` section 2; paper section 5.2), read by the rules
//! of `docs/definitions/real-traces.md` that are chosen.

use super::calls::process_of;
use super::overlays::{self, Calls};
use super::{
    EndpointId, Flags, NO_ROW, PathSettings, Quality, Reading, ReadingRule, SpanKind, TraceSet, clocks,
};

/// Relation of a span to its parent after sanitising.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Role {
    /// No parent in the trace; or the root of a request that was chosen: what is above does not exist for it, and its
    /// interval is its own.
    #[default]
    Root,
    /// The parent waits for it; its interval lies inside the parent's.
    Sync,
    /// The parent does not wait (`FOLLOWS_FROM`, a consumer, or what outlives its parent); its interval is its own.
    Async,
    /// A second span for the work of the calls beside it: a leaf nobody waits for by itself. Its interval lies inside the
    /// parent's.
    Overlay,
    /// Wholly outside its parent, or below such a span: part of nothing.
    Dropped,
}

/// Choice of the spans that are roots of a trace's requests.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum RequestRoots {
    /// The trace root; if [`ReadingRule::Roots`] applies also others (`docs/definitions/real-traces.md` sections 8 and 10).
    #[default]
    All,
    /// The same but for those whose caller is not recorded.
    Complete,
    /// Every topmost span of an endpoint.
    Of(EndpointId),
    /// The span of a row.
    Row(u32),
}

/// A sanitised trace. Indices are local: span `i` is row `first + i` of the set, in pre-order, so the subtree of `i` is
/// `i..subtree_end[i]`.
#[derive(Default, Clone, Debug)]
pub struct Tree {
    /// The trace's number in its set.
    pub trace: u32,
    /// Row of span 0.
    pub first: u32,
    /// Settings with which the trace was read.
    pub settings: PathSettings,
    /// The roots of its requests.
    roots: RequestRoots,
    /// Local index of the parent, [`NO_ROW`] for a root.
    pub parent: Vec<u32>,
    /// One past the last span of the subtree.
    pub subtree_end: Vec<u32>,
    /// Sanitised start in microseconds.
    pub start_us: Vec<u64>,
    /// Sanitised end in microseconds.
    pub end_us: Vec<u64>,
    /// Role of every span.
    pub role: Vec<Role>,
    /// Offsets between the clocks of processes.
    offsets: clocks::Offsets,
    /// Shift of the clock of every span before anything was cut, in microseconds; empty if no clock was shifted.
    shift_us: Vec<i64>,
    /// The root of the chosen request that was entered last, [`NO_ROW`] outside.
    inside: u32,
    /// Whether clocks were looked at already.
    has_clocks: bool,
    /// Spans that may be overlays, each behind its parent.
    candidates: Vec<(u32, u32)>,
    calls: Calls,
}

impl Tree {
    /// Sanitises a trace of `set`, reusing this tree's memory.
    pub fn load(&mut self, set: &TraceSet, trace: u32, settings: PathSettings) {
        self.load_for(set, trace, settings, RequestRoots::All);
    }

    /// Sanitises a trace as [`load`](Self::load) does, for the requests with these roots.
    pub fn load_for(&mut self, set: &TraceSet, trace: u32, settings: PathSettings, roots: RequestRoots) {
        self.begin(set, trace, settings, roots);
        while !self.step(set, usize::MAX) {}
    }

    /// Sanitises a trace as [`load`](Self::load) does, and adds what was found to `quality`.
    pub fn load_counting(
        &mut self,
        set: &TraceSet,
        trace: u32,
        settings: PathSettings,
        quality: &mut Quality,
    ) {
        self.load(set, trace, settings);
        quality.observe_trace(set, self);
    }

    /// Returns what it was loaded with.
    pub fn settings(&self) -> PathSettings {
        self.settings
    }

    /// Starts a resumable load for the requests with these roots; call [`step`](Self::step) until it returns true.
    pub fn begin(&mut self, set: &TraceSet, trace: u32, settings: PathSettings, roots: RequestRoots) {
        let row = set.traces()[trace as usize];
        self.trace = trace;
        self.first = row.first;
        self.settings = settings;
        self.roots = roots;
        self.offsets.clear();
        self.has_clocks = !settings.reading.has(ReadingRule::Clocks);
        self.clear();
        let n = row.len();
        self.parent.reserve(n);
        self.subtree_end.reserve(n);
        self.start_us.reserve(n);
        self.end_us.reserve(n);
        self.role.reserve(n);
    }

    fn clear(&mut self) {
        self.parent.clear();
        self.subtree_end.clear();
        self.start_us.clear();
        self.end_us.clear();
        self.role.clear();
        self.shift_us.clear();
        self.candidates.clear();
        self.inside = NO_ROW;
    }

    /// Sanitises up to about `spans` more spans; true when all are done.
    pub fn step(&mut self, set: &TraceSet, spans: usize) -> bool {
        let n = set.traces()[self.trace as usize].len();
        let to = n.min(self.parent.len().saturating_add(spans));
        while self.parent.len() < to {
            if self.push(set, self.parent.len()) {
                self.set_clocks(set);
            }
        }
        if to < n {
            return false;
        }
        self.close();
        if !self.candidates.is_empty() {
            let (mut candidates, mut calls) =
                (std::mem::take(&mut self.candidates), std::mem::take(&mut self.calls));
            overlays::mark(set, self, &mut candidates, &mut calls);
            (self.candidates, self.calls) = (candidates, calls);
        }
        true
    }

    /// Finds where subtrees end.
    fn close(&mut self) {
        // Pre-order: a subtree ends where that of its last child ends; children come after their parent.
        for i in (0..self.len()).rev() {
            let parent = self.parent[i];
            if parent != NO_ROW {
                let parent = parent as usize;
                self.subtree_end[parent] = self.subtree_end[parent].max(self.subtree_end[i]);
            }
        }
    }

    /// Finds offsets of clocks from raw times, and starts again.
    fn set_clocks(&mut self, set: &TraceSet) {
        self.has_clocks = true;
        let done = self.len();
        self.clear();
        for i in 0..set.traces()[self.trace as usize].len() {
            let row = self.first + i as u32;
            let parent_row = set.parent(row);
            let is_root = parent_row == NO_ROW;
            self.parent.push(if is_root { NO_ROW } else { parent_row - self.first });
            self.subtree_end.push(i as u32 + 1);
            self.start_us.push(set.start_us(row));
            self.end_us.push(set.start_us(row) + set.duration_us(row));
            self.role.push(match is_root {
                true => Role::Root,
                false if is_declared_async(set, row, parent_row, self.settings.reading) => Role::Async,
                false => Role::Sync,
            });
        }
        self.close();
        self.offsets = clocks::offsets(set, self);
        self.clear();
        // What was done stays done, so that steps only go on.
        while self.len() < done {
            self.push(set, self.len());
        }
    }

    /// Adds span `i`; returns whether it shows that clocks have to be looked at.
    fn push(&mut self, set: &TraceSet, i: usize) -> bool {
        let row = self.first + i as u32;
        let duration = set.duration_us(row);
        let parent_row = set.parent(row);
        self.subtree_end.push(i as u32 + 1);
        let mut needs_clocks = false;
        let mut shift = 0;
        let mut start = set.start_us(row);
        let mut end = start + duration;
        let role = if parent_row == NO_ROW {
            self.parent.push(NO_ROW);
            self.is_chosen(set, i as u32, NO_ROW);
            Role::Root
        } else {
            let parent = parent_row - self.first;
            self.parent.push(parent);
            let is_chosen = self.is_chosen(set, i as u32, parent);
            let parent = parent as usize;
            if !self.offsets.is_empty() {
                shift =
                    self.shift_us[parent].saturating_add(clocks::offset(set, &self.offsets, parent_row, row));
                start = start.saturating_add_signed(shift);
                end = start + duration;
            }
            let (ps, pe) = (self.start_us[parent], self.end_us[parent]);
            let reading = self.settings.reading;
            needs_clocks =
                !self.has_clocks && (start < ps || end > pe) && is_other_process(set, row, parent_row);
            let is_dropped = self.role[parent] == Role::Dropped;
            let keeps_own = !is_dropped || reading.has(ReadingRule::Consumers);
            if is_chosen {
                Role::Root
            } else if keeps_own
                && (is_declared_async(set, row, parent_row, reading)
                    || end > pe && self.is_left(set, i, start, end))
            {
                // No clock above says anything about it.
                (shift, start) = (0, set.start_us(row));
                end = start + duration;
                Role::Async
            } else if is_dropped
                || (end <= ps || start >= pe) && !(start == end && (start == ps || start == pe))
            {
                Role::Dropped
            } else {
                (start, end) = (start.max(ps), end.min(pe));
                if reading.has(ReadingRule::Overlay)
                    && overlays::may_be(set, row, end - start, parent_row, pe - ps)
                {
                    self.candidates.push((parent as u32, i as u32));
                }
                Role::Sync
            }
        };
        if !self.offsets.is_empty() {
            self.shift_us.push(shift);
        }
        self.start_us.push(start);
        self.end_us.push(end);
        self.role.push(role);
        needs_clocks
    }

    /// Returns whether span `i` is the root of a request that was chosen; spans come in pre-order.
    fn is_chosen(&mut self, set: &TraceSet, i: u32, parent: u32) -> bool {
        let endpoint = match self.roots {
            RequestRoots::All | RequestRoots::Complete => return false,
            RequestRoots::Row(row) => return self.row(i) == row,
            RequestRoots::Of(endpoint) => endpoint,
        };
        // What comes after a subtree hangs above it.
        if self.inside != NO_ROW && (parent == NO_ROW || parent < self.inside) {
            self.inside = NO_ROW;
        }
        let is_chosen = self.inside == NO_ROW && set.is_of(self.row(i), endpoint);
        if is_chosen {
            self.inside = i;
        }
        is_chosen
    }

    /// Returns whether the parent of span `i`, which ends after it, does not wait for the span over `[start, end]`
    /// (`docs/definitions/real-traces.md` sections 6 and 7).
    fn is_left(&self, set: &TraceSet, i: usize, start: u64, end: u64) -> bool {
        let row = self.first + i as u32;
        let parent_row = set.parent(row);
        let parent_end = self.raw_end_us(set, parent_row - self.first);
        if end <= parent_end {
            return false;
        }
        let starts_after = start >= parent_end;
        let reading = self.settings.reading;
        if is_other_process(set, row, parent_row) {
            // Its caller gave up before it began.
            return reading.has(ReadingRule::Clocks)
                && starts_after
                && clocks::qualifies(set, parent_row, row);
        }
        reading.has(ReadingRule::NobodyWaits) && (starts_after || self.overruns(set, row, end - parent_end))
    }

    /// Returns whether this much after the end of its parent is more than skew or rounding, and a good part of the
    /// row's span.
    fn overruns(&self, set: &TraceSet, row: u32, overrun_us: u64) -> bool {
        let parent_row = set.parent(row);
        // Clocks of milliseconds round both ends.
        let is_coarse = [row, parent_row].iter().all(|&row| set.start_us(row).is_multiple_of(1_000));
        let beyond_rounding_us = overrun_us.saturating_sub(if is_coarse { 1_000 } else { 0 });
        !self.settings.overlap.tolerates(beyond_rounding_us, set.duration_us(parent_row))
            && overrun_us >= set.duration_us(row).div_ceil(10)
    }

    /// Returns whether a child goes on for a good part of its time after its parent has ended, before anything is cut.
    pub fn outlasts_parent(&self, set: &TraceSet, i: u32) -> bool {
        let Some(parent) = self.parent_of(i) else { return false };
        let overrun_us = self.raw_end_us(set, i).saturating_sub(self.raw_end_us(set, parent));
        overrun_us > 0 && self.overruns(set, self.row(i), overrun_us)
    }

    fn raw_end_us(&self, set: &TraceSet, i: u32) -> u64 {
        self.raw_start_us(set, i) + set.duration_us(self.row(i))
    }

    /// Returns the start of a span before anything was cut, its clock set, in microseconds since the epoch.
    pub fn raw_start_us(&self, set: &TraceSet, i: u32) -> u64 {
        set.start_us(self.row(i)).saturating_add_signed(self.clock_shift_us(i))
    }

    /// Returns how far the clock of a span was set, in microseconds; positive is later.
    pub fn clock_shift_us(&self, i: u32) -> i64 {
        self.shift_us.get(i as usize).copied().unwrap_or(0)
    }

    /// Returns the number of spans, dropped ones included.
    pub fn len(&self) -> usize {
        self.parent.len()
    }

    /// Returns whether nothing is loaded.
    pub fn is_empty(&self) -> bool {
        self.parent.is_empty()
    }

    /// Returns the row of a span in the set.
    pub fn row(&self, i: u32) -> u32 {
        self.first + i
    }

    /// Returns the parent of a span; `None` for a root.
    pub fn parent_of(&self, i: u32) -> Option<u32> {
        let parent = self.parent[i as usize];
        (parent != NO_ROW).then_some(parent)
    }

    /// Returns the sanitised duration in microseconds.
    pub fn duration_us(&self, i: u32) -> u64 {
        self.end_us[i as usize] - self.start_us[i as usize]
    }

    /// Returns all children of a span, whatever their role, by raw start.
    pub fn children(&self, i: u32) -> impl Iterator<Item = u32> {
        let end = self.subtree_end[i as usize];
        let mut at = i + 1;
        std::iter::from_fn(move || {
            let child = (at < end).then_some(at)?;
            at = self.subtree_end[child as usize];
            Some(child)
        })
    }

    /// Returns the children a span waits for.
    pub fn sync_children(&self, i: u32) -> impl Iterator<Item = u32> {
        self.children(i).filter(|&c| self.role[c as usize] == Role::Sync)
    }

    /// Returns the spans that the request at `root` waits for, itself first, each before those below it. What nobody waits for
    /// is left out with all below it.
    pub fn awaited(&self, root: u32) -> impl Iterator<Item = u32> {
        let (mut next, end) = (root, self.subtree_end[root as usize]);
        std::iter::from_fn(move || {
            while next < end {
                let span = next;
                if span == root || self.role[span as usize] == Role::Sync {
                    next = span + 1;
                    return Some(span);
                }
                next = self.subtree_end[span as usize];
            }
            None
        })
    }

    /// Returns whether a span [is an orphan](Flags::is_orphan).
    pub fn is_orphan(&self, set: &TraceSet, i: u32) -> bool {
        set.flags(self.row(i)).is_orphan()
    }

    /// Returns whether the structure of the trace is known: no span of it hangs below one that is missing, or all of its
    /// parts are requests of their own.
    pub fn is_structure_known(&self, set: &TraceSet) -> bool {
        let shape = set.traces()[self.trace as usize].shape;
        shape.orphans == 0 || shape.is_incomplete() && self.settings.reading.has(ReadingRule::Roots)
    }

    /// Returns whether the trace lacks its root, so that its requests begin where callers are not recorded; never if other
    /// requests were chosen.
    pub(super) fn is_incomplete(&self, set: &TraceSet) -> bool {
        matches!(self.roots, RequestRoots::All | RequestRoots::Complete)
            && self.settings.reading.has(ReadingRule::Roots)
            && !self.is_empty()
            && self.is_orphan(set, 0)
    }

    /// Returns the roots of the trace, the trace root first, then by start.
    pub(super) fn trace_roots(&self) -> impl Iterator<Item = u32> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let root = at;
            at = *self.subtree_end.get(root as usize)?;
            Some(root)
        })
    }

    /// Fills `out` with the roots of the requests for which the trace was loaded.
    pub fn requests(&self, set: &TraceSet, out: &mut Vec<u32>) {
        out.clear();
        match self.roots {
            RequestRoots::Of(endpoint) => {
                let mut i = 0;
                while (i as usize) < self.len() {
                    let is_chosen = set.is_of(self.row(i), endpoint);
                    out.extend(is_chosen.then_some(i));
                    i = if is_chosen { self.subtree_end[i as usize] } else { i + 1 };
                }
            }
            RequestRoots::Row(row) => out.push(row - self.first),
            _ if self.is_empty() => {}
            _ if !self.settings.reading.has(ReadingRule::Roots) => out.push(0),
            RequestRoots::All if self.is_incomplete(set) => out.extend(self.trace_roots()),
            RequestRoots::Complete if self.is_incomplete(set) => {}
            RequestRoots::All | RequestRoots::Complete => self.parentless_requests(set, out),
        }
    }

    /// Adds the trace root, and the other parentless roots that start outside every earlier one or are at least half as
    /// long.
    fn parentless_requests(&self, set: &TraceSet, out: &mut Vec<u32>) {
        let least_us = self.duration_us(0).div_ceil(2);
        let mut until_us = 0;
        for i in self.trace_roots().filter(|&i| !self.is_orphan(set, i)) {
            if i == 0 || self.start_us[i as usize] >= until_us || self.duration_us(i) >= least_us {
                out.push(i);
            }
            until_us = until_us.max(self.end_us[i as usize]);
        }
    }
}

/// Returns whether the trace itself says that the parent of a row does not wait.
pub fn is_declared_async(set: &TraceSet, row: u32, parent_row: u32, reading: Reading) -> bool {
    let flags = set.flags(row);
    flags.has(Flags::FOLLOWS_FROM)
        || flags.kind() == SpanKind::Consumer
            && (reading.has(ReadingRule::Consumers) || set.kind(parent_row) == SpanKind::Producer)
}

fn is_other_process(set: &TraceSet, a: u32, b: u32) -> bool {
    process_of(set, a) != process_of(set, b)
}

#[cfg(test)]
#[path = "tree_tests.rs"]
mod tests;
