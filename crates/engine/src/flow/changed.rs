//! One trace before and after some changes: what each span takes, from the leaves to the roots
//! (`docs/definitions/execution-flow.md` section 4).

use super::calls::CallSpans;
use super::changes::scaled_us;
use super::placed::{SetSpans, TimedSpans};
use super::prepare::{Evaluator, PlacedModel, Prepared, Preparer};
use super::{CallTimeout, ChangeOf, Changes, Level, SubjectChange, SubjectTime, WaitChange, WaitTime};
use pathlight_trace::{Endpoint, NO_ROW, Overlap, Role, TraceSet, Tree, hash_text};
use std::collections::{BTreeMap, BTreeSet};

enum Stage {
    /// The next span to prepare is the one before this.
    Prepare(u32),
    Evaluate(usize),
    Done,
}

/// Another time for some spans, in one set.
struct SetChange {
    spans: SetSpans,
    time: SetTime,
}

enum SetTime {
    By {
        share_ppm: i64,
        add_us: i64,
    },
    /// By endpoint of the set.
    Levels(Vec<Option<Level>>),
}

impl SetTime {
    fn levels(set: &TraceSet, by_endpoint: &BTreeMap<Endpoint, Level>) -> SetTime {
        let mut levels = vec![None; set.endpoints().len()];
        for (name, level) in by_endpoint {
            if let Some(endpoint) = set.find_endpoint(&name.service, &name.operation) {
                levels[endpoint.0 as usize] = Some(level.clone());
            }
        }
        SetTime::Levels(levels)
    }
}

impl SetChange {
    /// Returns the changes of the times of spans in this set, but what nobody has learned yet.
    fn all(set: &TraceSet, changes: &Changes) -> Vec<SetChange> {
        let new = |spans: TimedSpans, time| SetChange { spans: SetSpans::new(set, &spans), time };
        let subjects = changes.subjects.iter().filter_map(|SubjectChange { subject, time }| {
            let time = match time {
                &SubjectTime::By { share_ppm, add_us } => SetTime::By { share_ppm, add_us },
                SubjectTime::Usual => return None,
                SubjectTime::Levels(levels) => SetTime::levels(set, levels),
            };
            Some(new(TimedSpans::Subject(subject.clone()), time))
        });
        let moves = changes.moves.iter().filter_map(|change| {
            let time = SetTime::levels(set, change.levels.as_ref()?);
            Some(new(change.spans(false), time))
        });
        let waits = changes.waits.iter().filter_map(|WaitChange { calls, time }| {
            let time = match time {
                &WaitTime::By { share_ppm, add_us } => SetTime::By { share_ppm, add_us },
                WaitTime::Within => return None,
                WaitTime::Levels(levels) => SetTime::levels(set, levels),
            };
            Some(new(TimedSpans::Calls { calls: calls.clone(), cross: true }, time))
        });
        subjects.chain(moves).chain(waits).collect()
    }
}

/// Makes some changes in one trace after another.
pub(super) struct ChangedTree {
    preparer: Preparer,
    /// By endpoint of the set: changes in order.
    changes: Vec<Vec<(ChangeOf, i64, i64)>>,
    /// Shorter ones first.
    timeouts: Vec<(CallSpans, CallTimeout)>,
    /// By span, its timeout; [`NO_ROW`] without one; empty if there are none.
    timeout_of: Vec<u32>,
    /// Subjects, moves and waits.
    times: Vec<SetChange>,
    /// By span: its self time after these, and what they add at its end; empty without any.
    mended_us: Vec<u64>,
    added_us: Vec<u64>,
    /// Of the id of the trace at hand.
    trace_hash: u64,
    /// By target: whether it lies within a call of its own endpoint, which changes as a whole.
    is_nested: Vec<bool>,
    /// By span: whether it lies within a call of the endpoint that is looked for.
    is_inside: Vec<bool>,
    pub prepared: Prepared,
    evaluator: Evaluator,
    stage: Stage,
    /// By target: latency from its calls, and after its own change.
    pub inner_us: Vec<u64>,
    pub after_us: Vec<u64>,
}

impl ChangedTree {
    /// Returns changes that are made in no trace yet, over the traces `set` holds now.
    pub fn new(set: &TraceSet, model: PlacedModel, overlap: Overlap, changes: &Changes) -> ChangedTree {
        let mut by_endpoint = vec![Vec::new(); set.endpoints().len()];
        for change in &changes.latencies {
            if let Some(endpoint) = set.find_endpoint(&change.service, &change.operation) {
                by_endpoint[endpoint.0 as usize].push((change.of, change.share_ppm, change.add_us));
            }
        }
        let timeouts = changes.timeouts.iter();
        let mut timeouts: Vec<(CallSpans, CallTimeout)> =
            timeouts.map(|timeout| (CallSpans::new(set, &timeout.of), timeout.clone())).collect();
        timeouts.sort_by_key(|(_, timeout)| timeout.after_us);
        ChangedTree {
            preparer: Preparer::new(model, overlap, changes),
            changes: by_endpoint,
            timeouts,
            timeout_of: Vec::new(),
            times: SetChange::all(set, changes),
            mended_us: Vec::new(),
            added_us: Vec::new(),
            trace_hash: 0,
            is_nested: Vec::new(),
            is_inside: Vec::new(),
            prepared: Prepared::default(),
            evaluator: Evaluator::default(),
            stage: Stage::Done,
            inner_us: Vec::new(),
            after_us: Vec::new(),
        }
    }

    /// Returns whether calls are given up.
    pub fn has_timeouts(&self) -> bool {
        !self.timeouts.is_empty()
    }

    /// Begins with a trace.
    pub fn begin(&mut self, set: &TraceSet, tree: &Tree) {
        self.preparer.begin(set, tree, &mut self.prepared);
        if !self.times.is_empty() {
            self.mended_us.resize(tree.len(), 0);
            self.added_us.resize(tree.len(), 0);
        }
        if !self.timeouts.is_empty() {
            self.trace_hash = hash_text(&set.trace_id_text(tree.trace));
            self.timeout_of.resize(tree.len(), NO_ROW);
        }
        self.stage = Stage::Prepare(tree.len() as u32);
    }

    /// Does a piece of the work and returns about how many spans it looked at; `None` when all spans have their times.
    pub fn piece(&mut self, set: &TraceSet, tree: &Tree) -> Option<usize> {
        match self.stage {
            Stage::Prepare(0) => {
                let prepared = &self.prepared;
                self.inner_us.clone_from(&prepared.before_us);
                self.after_us.clone_from(&prepared.before_us);
                self.find_nested(tree.len());
                // Leaves are final here; the others follow bottom-up.
                for t in 0..tree.len() {
                    if self.prepared.invocation_of[t] == NO_ROW {
                        self.inner_us[t] = scaled_us(self.inner_us[t], self.own_ppm(t));
                        self.after_us[t] = self.apply(t, self.inner_us[t]);
                    }
                }
                self.stage = Stage::Evaluate(0);
                Some(1 + tree.len() / 8)
            }
            Stage::Prepare(next) => {
                let cost = self.preparer.add(set, tree, next - 1, &mut self.prepared);
                if !self.times.is_empty() {
                    self.mend(set, tree, next - 1);
                }
                if !self.timeouts.is_empty() {
                    let timeout = self.timeouts.iter().position(|(calls, _)| calls.has(set, tree, next - 1));
                    self.timeout_of[(next - 1) as usize] = timeout.map_or(NO_ROW, |at| at as u32);
                }
                self.stage = Stage::Prepare(next - 1);
                Some(cost)
            }
            Stage::Evaluate(at) => {
                let Some(&invocation) = self.prepared.invocations.get(at) else {
                    self.stage = Stage::Done;
                    return None;
                };
                let t = invocation.target as usize;
                let (own_ppm, after_us) = (self.own_ppm(t), &self.after_us);
                let inner = self.evaluator.run(&self.prepared, invocation, own_ppm, |c| after_us[c as usize]);
                self.inner_us[t] = inner;
                self.after_us[t] = if t < tree.len() { self.apply(t, inner) } else { inner };
                self.stage = Stage::Evaluate(at + 1);
                Some(invocation.len())
            }
            Stage::Done => None,
        }
    }

    /// Returns what a span takes, before and after.
    pub fn latency_us(&self, span: u32) -> (u64, u64) {
        (self.prepared.before_us[span as usize], self.after_us[span as usize])
    }

    /// Fills in when each span begins and ends after the changes, in microseconds from the start of what nothing waits for
    /// and that it is part of. Spans that are no part of anything have an empty interval.
    pub fn intervals(&mut self, tree: &Tree, out: &mut Vec<(u64, u64)>) {
        out.clear();
        out.resize(self.prepared.before_us.len(), (0, 0));
        for span in 0..tree.len() {
            if matches!(tree.role[span], Role::Async | Role::Root) {
                out[span] = (0, self.after_us[span]);
            }
            // Callers stand before their calls, and a group is placed with its caller.
            self.place_calls(span, out);
        }
    }

    fn place_calls(&mut self, target: usize, out: &mut [(u64, u64)]) {
        let Some(&invocation) = self.prepared.invocations.get(self.prepared.invocation_of[target] as usize)
        else {
            return;
        };
        let (own_ppm, after_us) = (self.own_ppm(target), &self.after_us);
        self.evaluator.run(&self.prepared, invocation, own_ppm, |call| after_us[call as usize]);
        let (start, end) = out[target];
        // What shrinks as a whole shrinks all within; what is longer than its calls ask for is so at its end.
        let whole_us = u128::from(self.inner_us[target].max(self.after_us[target]).max(1));
        let at = |us: u64| start + (u128::from(us) * u128::from(end - start) / whole_us) as u64;
        let mut groups = Vec::new();
        for (call, complete_us) in self.evaluator.completions(&self.prepared, invocation) {
            let done_us = complete_us.max(0) as u64;
            let begun_us = done_us.saturating_sub(after_us[call as usize]);
            out[call as usize] = (at(begun_us), at(done_us));
            groups.extend((call as usize >= self.prepared.self_us.len()).then_some(call as usize));
        }
        groups.into_iter().for_each(|group| self.place_calls(group, out));
    }

    /// Returns whether a call is given up.
    pub fn is_cut(&self, span: usize) -> bool {
        let timeout = self.timeout(span);
        timeout.is_some_and(|of| of.cuts(self.before_timeout(span, self.inner_us[span])))
    }

    /// Returns the latency of a span after the changes of its endpoint and its timeout, given what it takes with its
    /// own work changed.
    fn apply(&self, target: usize, latency_us: u64) -> u64 {
        let us = self.before_timeout(target, latency_us);
        match self.timeout(target) {
            Some(timeout) if timeout.cuts(us) => timeout.given_up_us(self.trace_hash, target as u64),
            _ => us,
        }
    }

    fn timeout(&self, target: usize) -> Option<&CallTimeout> {
        let timeout = *self.timeout_of.get(target)?;
        self.timeouts.get(timeout as usize).map(|(_, timeout)| timeout)
    }

    fn before_timeout(&self, target: usize, latency_us: u64) -> u64 {
        let changes = &self.changes[self.prepared.endpoint_of[target] as usize];
        let us = latency_us.saturating_add(self.added_us.get(target).copied().unwrap_or(0));
        changes.iter().fold(us, |us, &(of, share_ppm, add_us)| match of {
            ChangeOf::OwnWork => us.saturating_add_signed(add_us.max(0)),
            ChangeOf::WholeCall if self.is_nested[target] => us,
            ChangeOf::WholeCall => scaled_us(us, share_ppm).saturating_add_signed(add_us),
        })
    }

    /// Returns by how many millionths the own work of a span changes; a folded group has that of its caller.
    pub fn own_ppm(&self, target: usize) -> i64 {
        let prepared = &self.prepared;
        let changes = &self.changes[prepared.endpoint_of[target] as usize];
        if changes.is_empty() && self.mended_us.is_empty() {
            return 0;
        }
        let span = if target < prepared.self_us.len() { target } else { prepared.caller_of[target] as usize };
        let self_us = i128::from(prepared.self_us[span].max(1));
        let mended = match self.mended_us.get(span) {
            Some(&us) if us != prepared.self_us[span] => (i128::from(us) * 1_000_000 + self_us / 2) / self_us,
            _ => 1_000_000,
        };
        let factor = changes.iter().fold(mended, |factor, &(of, share_ppm, add_us)| match of {
            ChangeOf::OwnWork => {
                let share = factor * (1_000_000 + i128::from(share_ppm)) / 1_000_000;
                (share + i128::from(add_us.min(0)) * 1_000_000 / self_us).max(0)
            }
            ChangeOf::WholeCall => factor,
        });
        i64::try_from(factor - 1_000_000).unwrap_or(0)
    }

    /// Finds the self time of a prepared span after the changes of times of spans.
    fn mend(&mut self, set: &TraceSet, tree: &Tree, span: u32) {
        let endpoint = set.named_endpoint(tree.row(span));
        let (mut mended_us, mut added_us) = (self.prepared.self_us[span as usize], 0u64);
        for SetChange { spans, time } in &self.times {
            match time {
                SetTime::By { share_ppm, add_us } if spans.has(set, tree, span) => {
                    mended_us = scaled_us(mended_us, *share_ppm).saturating_add_signed((*add_us).min(0));
                    added_us = added_us.saturating_add_signed((*add_us).max(0));
                }
                SetTime::Levels(levels) => {
                    if let Some(level) = &levels[endpoint.0 as usize]
                        && spans.has(set, tree, span)
                    {
                        mended_us = level.mended_us(mended_us);
                    }
                }
                SetTime::By { .. } => {}
            }
        }
        (self.mended_us[span as usize], self.added_us[span as usize]) = (mended_us, added_us);
    }

    /// Finds the spans within another of their endpoint, where an endpoint changes as a whole.
    fn find_nested(&mut self, spans: usize) {
        let ChangedTree { prepared, changes, is_nested, is_inside, .. } = self;
        is_nested.clear();
        is_nested.resize(prepared.before_us.len(), false);
        let is_whole = |of: &[(ChangeOf, i64, i64)]| of.iter().any(|change| change.0 == ChangeOf::WholeCall);
        // The set may have very many more endpoints than the trace.
        let of_trace = prepared.endpoint_of[..spans].iter().copied();
        let whole: BTreeSet<u32> =
            of_trace.filter(|endpoint| is_whole(&changes[*endpoint as usize])).collect();
        for endpoint in whole {
            let is_it = |span: usize| prepared.endpoint_of[span] == endpoint;
            is_inside.clear();
            // Callers stand before their calls.
            for (span, nested) in is_nested.iter_mut().enumerate().take(spans) {
                let mut caller = prepared.caller_of[span];
                if caller != NO_ROW && caller as usize >= spans {
                    caller = prepared.caller_of[caller as usize];
                }
                let inside = caller != NO_ROW && (is_it(caller as usize) || is_inside[caller as usize]);
                is_inside.push(inside);
                *nested |= inside && is_it(span);
            }
        }
    }
}
