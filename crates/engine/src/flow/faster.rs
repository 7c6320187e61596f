//! A prepared trace in which the own work of some spans is faster: only what waits for them is looked at again.

use super::changes::scaled_us;
use super::prepare::{Evaluator, Prepared, Stretches};
use pathlight_trace::NO_ROW;
use std::collections::BinaryHeap;

/// Tries, one after the other, in one trace.
#[derive(Default)]
pub(super) struct FasterTrials {
    pub prepared: Prepared,
    pub evaluator: Evaluator,
    stretches: Stretches,
    /// Spans of the trace.
    spans: u32,
    /// (span, number) of folded groups, sorted.
    groups: Vec<(u32, u32)>,
    /// By target: the trial in which its own work changed last.
    faster: Vec<u64>,
    /// By target: the trial that changed it last, and to what.
    tried: Vec<(u64, u64)>,
    /// By target: the trial that queued it last.
    queued: Vec<u64>,
    /// By target, for the trial that queued it last: the call of it that changed last.
    changed: Vec<u32>,
    /// By target, if it changed: the call that changed before it, of the same caller.
    changed_before: Vec<u32>,
    calls: Vec<u32>,
    trial: u64,
    queue: BinaryHeap<(u32, u32)>,
    /// Calls evaluated since [`take_cost`](Self::take_cost).
    cost: usize,
}

impl FasterTrials {
    /// Begins with a trace of so many spans, which is prepared.
    pub fn begin(&mut self, spans: usize) {
        self.spans = spans as u32;
        let targets = self.prepared.before_us.len();
        self.groups.clear();
        self.groups.extend((spans..targets).map(|g| (self.prepared.caller_of[g], g as u32)));
        self.groups.sort_unstable();
        self.tried.clear();
        self.tried.resize(targets, (0, 0));
        for list in [&mut self.faster, &mut self.queued] {
            list.clear();
            list.resize(targets, 0);
        }
        for list in [&mut self.changed, &mut self.changed_before] {
            list.clear();
            list.resize(targets, NO_ROW);
        }
        self.stretches.set(&self.prepared, &mut self.evaluator);
        self.trial = 0;
    }

    /// Returns about how many calls were looked at since this was last asked.
    pub fn take_cost(&mut self) -> usize {
        std::mem::take(&mut self.cost)
    }

    /// Returns the latency of the request with this root if the own work of some of its spans were so many percent faster.
    pub fn latency_us(&mut self, own: impl Iterator<Item = u32>, percent: u32, root: u32) -> u64 {
        self.trial += 1;
        let trial = self.trial;
        let share_ppm = -i64::from(percent) * 10_000;
        for span in own {
            self.enqueue(span);
            self.faster[span as usize] = trial;
            // Some of its own work may lie within its folded calls.
            let first = self.groups.partition_point(|group| group.0 < span);
            for at in first..self.groups.len() {
                let (caller, group) = self.groups[at];
                if caller != span {
                    break;
                }
                self.enqueue(group);
                self.faster[group as usize] = trial;
            }
        }
        while let Some((_, target)) = self.queue.pop() {
            let (t, prepared) = (target as usize, &self.prepared);
            let tried = &self.tried;
            let latency = |c: u32| match tried[c as usize] {
                (at, us) if at == trial => us,
                _ => prepared.before_us[c as usize],
            };
            let own_ppm = if self.faster[t] == trial { share_ppm } else { 0 };
            let us = match prepared.invocations.get(prepared.invocation_of[t] as usize) {
                Some(&invocation) if invocation.is_group && own_ppm == 0 => {
                    self.calls.clear();
                    let mut changed = self.changed[t];
                    while changed != NO_ROW {
                        self.calls.push(prepared.call_of[changed as usize]);
                        changed = self.changed_before[changed as usize];
                    }
                    let (evaluator, calls) = (&mut self.evaluator, &mut self.calls);
                    let (us, cost) = self.stretches.faster(prepared, invocation, evaluator, calls, latency);
                    self.cost += cost;
                    us
                }
                Some(&invocation) => {
                    self.cost += invocation.len();
                    self.evaluator.run(prepared, invocation, own_ppm, latency)
                }
                None => scaled_us(prepared.before_us[t], own_ppm),
            };
            self.tried[t] = (trial, us);
            let caller = self.prepared.caller_of[t];
            if us != self.prepared.before_us[t] && target != root && caller != NO_ROW {
                self.enqueue(caller);
                self.changed_before[t] = self.changed[caller as usize];
                self.changed[caller as usize] = target;
            }
        }
        match self.tried[root as usize] {
            (at, us) if at == trial => us,
            _ => self.prepared.before_us[root as usize],
        }
    }

    fn enqueue(&mut self, target: u32) {
        if self.queued[target as usize] != self.trial {
            self.queued[target as usize] = self.trial;
            self.changed[target as usize] = NO_ROW;
            self.queue.push((self.place(target), target));
        }
    }

    /// Returns the place of a target; callees have greater places than their callers: a folded group stands right after the
    /// span it is of.
    fn place(&self, target: u32) -> u32 {
        if target < self.spans { 2 * target } else { 2 * self.prepared.caller_of[target as usize] + 1 }
    }
}
