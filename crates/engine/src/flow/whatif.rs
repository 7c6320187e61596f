//! What-if: some endpoints faster or slower, or two calls side by side (`docs/definitions/execution-flow.md` section 4).

use super::calls::{CallList, CallSpans, PackedCalls};
use super::changes::scaled_us;
use super::prepare::{Evaluator, Prepared, Preparer};
use super::{
    CallTimeout, CallTimes, CallsOf, ChangeOf, Changes, FlowModel, Level, SubjectChange, SubjectTime, Visit,
};
use crate::flame::{pack_sorted, unpack_sorted};
use crate::verdict::SubjectSpans;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Percentiles, percentile};
use pathlight_trace::{Endpoint, EndpointId, NO_ROW, Overlap, TraceRow, TraceSet, Tree, hash_text};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The requests of a trace that are looked at.
#[derive(Clone, Debug)]
pub enum WhichRequests {
    /// All for which trees are loaded; if given, every topmost span of the endpoint.
    All(Option<EndpointId>),
    /// Those with these root rows, sorted.
    Rows(Vec<u32>),
}

impl WhichRequests {
    /// Fills in the local indices of the roots.
    pub(super) fn of(&self, set: &TraceSet, tree: &Tree, out: &mut Vec<u32>) {
        match self {
            WhichRequests::All(_) => tree.requests(set, out),
            WhichRequests::Rows(rows) => {
                out.clear();
                let end = tree.first + tree.len() as u32;
                let from = rows.partition_point(|&row| row < tree.first);
                out.extend(rows[from..].iter().take_while(|&&row| row < end).map(|row| row - tree.first));
            }
        }
    }

    pub(super) fn wants(&self, set: &TraceSet, trace: &TraceRow) -> bool {
        match self {
            WhichRequests::All(None) => true,
            WhichRequests::All(Some(endpoint)) => {
                (trace.first..trace.end).any(|row| set.endpoint(row) == *endpoint)
            }
            WhichRequests::Rows(rows) => {
                rows.get(rows.partition_point(|&row| row < trace.first)).is_some_and(|&row| row < trace.end)
            }
        }
    }
}

/// Time on the way that decides, by endpoint, before and after: microseconds.
type Shares = BTreeMap<Endpoint, (u128, u128)>;

/// Latencies before and after a change: the accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhatIfLatencies {
    /// Sorted, as differences.
    before_us: Vec<u64>,
    /// Sorted, as differences.
    after_us: Vec<u64>,
    /// Requests whose latency changed.
    changed: u64,
    shares: Shares,
    calls: PackedCalls,
    /// Calls that timeouts cut, and requests that have one.
    cut: (u64, u64),
}

impl WhatIfLatencies {
    /// Joins accumulators of disjoint requests; the result does not depend on their order.
    pub fn merge(parts: Vec<WhatIfLatencies>) -> WhatIfLatencies {
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let mut sum = WhatIfLatencies::default();
        let mut calls = Vec::new();
        for part in parts {
            calls.push(part.calls);
            before.extend(unpack_sorted(part.before_us));
            after.extend(unpack_sorted(part.after_us));
            sum.changed += part.changed;
            sum.cut = (sum.cut.0 + part.cut.0, sum.cut.1 + part.cut.1);
            for (name, (a, b)) in part.shares {
                let into = sum.shares.entry(name).or_default();
                into.0 += a;
                into.1 += b;
            }
        }
        before.sort();
        after.sort();
        (sum.before_us, sum.after_us) = (pack_sorted(before), pack_sorted(after));
        sum.calls = PackedCalls::merge(calls);
        sum
    }

    /// Returns the calls that were asked for, by endpoint.
    pub fn take_calls(&mut self) -> BTreeMap<Endpoint, CallTimes> {
        std::mem::take(&mut self.calls).unpack()
    }

    /// Returns how many calls timeouts cut, and how many requests have such a call.
    pub fn cut(&self) -> (u64, u64) {
        self.cut
    }

    /// Returns the report.
    pub fn finish(self) -> WhatIfReport {
        let (before, after) = (unpack_sorted(self.before_us), unpack_sorted(self.after_us));
        let curve = |sorted: &[u64]| {
            let points = if sorted.is_empty() { 0 } else { WhatIfReport::CURVE_POINTS };
            (0..points).map(|i| percentile(sorted, i as f64 / (points - 1) as f64)).collect()
        };
        let total = |sorted: &[u64]| sorted.iter().map(|&v| v as f64).sum::<f64>().max(1.0);
        let totals = (total(&before), total(&after));
        let endpoints =
            self.shares.into_iter().map(|(Endpoint { service, operation }, (before_us, after_us))| {
                ShareChange {
                    service,
                    operation,
                    before_us,
                    after_us,
                    before_share: before_us as f64 / totals.0,
                    after_share: after_us as f64 / totals.1,
                }
            });
        let mut endpoints: Vec<ShareChange> = endpoints.collect();
        let change = |e: &ShareChange| (e.after_share - e.before_share).abs();
        // Stable: equal changes stay by name.
        endpoints.compact_sort_by(|a, b| change(b).total_cmp(&change(a)));
        WhatIfReport {
            requests: before.len() as u64,
            changed: self.changed,
            before_us: Percentiles::of_sorted(&before),
            after_us: Percentiles::of_sorted(&after),
            before_curve_us: curve(&before),
            after_curve_us: curve(&after),
            endpoints,
        }
    }
}

/// Share of the requests' latency that an endpoint accounts for, before and after a change.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ShareChange {
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Its self time on the way that decides the requests' latency, summed over all requests, in microseconds.
    pub before_us: u128,
    /// That time after the change, in microseconds.
    pub after_us: u128,
    /// Share of the sum of latencies.
    pub before_share: f64,
    /// That share after the change.
    pub after_share: f64,
}

/// Effect of a change on the requests of a selection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WhatIfReport {
    /// Selected requests.
    pub requests: u64,
    /// Requests whose latency changes.
    pub changed: u64,
    /// Their latency as it is, in microseconds.
    #[serde(rename = "before")]
    pub before_us: Percentiles,
    /// Their latency as predicted, in microseconds.
    #[serde(rename = "after")]
    pub after_us: Percentiles,
    /// Latency as it is at the quantiles 0, 1/200, ..., 1, in microseconds; empty without requests.
    #[serde(rename = "before_curve")]
    pub before_curve_us: Vec<f64>,
    /// Latency after the change at these quantiles.
    #[serde(rename = "after_curve")]
    pub after_curve_us: Vec<f64>,
    /// Endpoints, the greatest change of share first.
    pub endpoints: Vec<ShareChange>,
}

impl WhatIfReport {
    /// Points of a curve.
    pub const CURVE_POINTS: usize = 201;
}

enum Stage {
    /// The next span to prepare is the one before this.
    Prepare(u32),
    Evaluate(usize),
    Record,
    Done,
}

/// A change of a subject, in one set.
struct SetSubject {
    spans: SubjectSpans,
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

impl SetSubject {
    /// Returns the change in this set; `None` for what is usual as long as nobody has learned it.
    fn of(set: &TraceSet, change: &SubjectChange) -> Option<SetSubject> {
        let time = match &change.time {
            &SubjectTime::By { share_ppm, add_us } => SetTime::By { share_ppm, add_us },
            SubjectTime::Usual => return None,
            SubjectTime::Levels(by_endpoint) => {
                let mut levels = vec![None; set.endpoints().len()];
                for (name, level) in by_endpoint {
                    if let Some(endpoint) = set.find_endpoint(&name.service, &name.operation) {
                        levels[endpoint.0 as usize] = Some(level.clone());
                    }
                }
                SetTime::Levels(levels)
            }
        };
        Some(SetSubject { spans: SubjectSpans::new(set, &change.subject), time })
    }
}

/// Makes a change in every trace of a set.
pub struct WhatIfRun {
    preparer: Preparer,
    requests: WhichRequests,
    /// By endpoint of the set: changes in order.
    changes: Vec<Vec<(ChangeOf, i64, i64)>>,
    /// Shorter ones first.
    timeouts: Vec<(CallSpans, CallTimeout)>,
    /// By span, its timeout; [`NO_ROW`] without one; empty if there are none.
    timeout_of: Vec<u32>,
    subjects: Vec<SetSubject>,
    /// By span: its self time after the changes of subjects, and what they add at its end; empty without any.
    mended_us: Vec<u64>,
    added_us: Vec<u64>,
    /// Of the id of the trace at hand.
    trace_hash: u64,
    /// Calls that are cut, and requests that have one.
    cut: (u64, u64),
    /// By target: whether it lies within a call of its own endpoint, which changes as a whole.
    is_nested: Vec<bool>,
    /// By span: whether it lies within a call of the endpoint that is looked for.
    is_inside: Vec<bool>,
    prepared: Prepared,
    evaluator: Evaluator,
    stage: Stage,
    roots: Vec<u32>,
    /// By target: latency from its calls, and after its own change.
    inner_us: Vec<u64>,
    after_us: Vec<u64>,
    before: Vec<u64>,
    after: Vec<u64>,
    changed: u64,
    /// One per endpoint of the set.
    shares: Vec<(u128, u128)>,
    stack: Vec<(u32, f64)>,
    calls: CallList,
}

impl WhatIfRun {
    /// Returns a run over the traces `set` holds now.
    pub fn new(
        set: &TraceSet,
        model: Arc<FlowModel>,
        overlap: Overlap,
        requests: WhichRequests,
        changes: &Changes,
        calls: &CallsOf,
    ) -> WhatIfRun {
        let n = set.endpoints().len();
        let mut by_endpoint = vec![Vec::new(); n];
        for change in &changes.latencies {
            if let Some(endpoint) = set.find_endpoint(&change.service, &change.operation) {
                by_endpoint[endpoint.0 as usize].push((change.of, change.share_ppm, change.add_us));
            }
        }
        let timeouts = changes.timeouts.iter();
        let mut timeouts: Vec<(CallSpans, CallTimeout)> =
            timeouts.map(|timeout| (CallSpans::new(set, &timeout.of), timeout.clone())).collect();
        timeouts.sort_by_key(|(_, timeout)| timeout.after_us);
        WhatIfRun {
            timeouts,
            timeout_of: Vec::new(),
            subjects: changes.subjects.iter().filter_map(|change| SetSubject::of(set, change)).collect(),
            mended_us: Vec::new(),
            added_us: Vec::new(),
            trace_hash: 0,
            cut: (0, 0),
            preparer: Preparer::new(set, model, overlap, &changes.parallel),
            requests,
            changes: by_endpoint,
            is_nested: Vec::new(),
            is_inside: Vec::new(),
            prepared: Prepared::default(),
            evaluator: Evaluator::default(),
            stage: Stage::Done,
            roots: Vec::new(),
            inner_us: Vec::new(),
            after_us: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            changed: 0,
            shares: vec![(0, 0); n],
            stack: Vec::new(),
            calls: CallList::new(set, calls),
        }
    }

    /// Finishes the run; returns its accumulator.
    pub fn finish(mut self, set: &TraceSet) -> WhatIfLatencies {
        self.before.sort_unstable();
        self.after.sort_unstable();
        let named = set.endpoints().zip(&self.shares).filter(|(_, share)| **share != (0, 0));
        WhatIfLatencies {
            before_us: pack_sorted(self.before),
            after_us: pack_sorted(self.after),
            changed: self.changed,
            cut: self.cut,
            shares: named.map(|((s, o), &share)| (Endpoint::new(s, o), share)).collect(),
            calls: self.calls.finish(set),
        }
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
    fn own_ppm(&self, target: usize) -> i64 {
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

    /// Finds the self time of a prepared span after the changes of subjects.
    fn mend(&mut self, set: &TraceSet, tree: &Tree, span: u32) {
        let endpoint = set.named_endpoint(tree.row(span));
        let (mut mended_us, mut added_us) = (self.prepared.self_us[span as usize], 0u64);
        for SetSubject { spans, time } in &self.subjects {
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
        let WhatIfRun { prepared, changes, is_nested, is_inside, .. } = self;
        is_nested.clear();
        is_nested.resize(prepared.before_us.len(), false);
        let is_whole = |of: &[(ChangeOf, i64, i64)]| of.iter().any(|change| change.0 == ChangeOf::WholeCall);
        for (endpoint, _) in changes.iter().enumerate().filter(|(_, of)| is_whole(of)) {
            let is_it = |span: usize| prepared.endpoint_of[span] as usize == endpoint;
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

    /// Lists the calls of a request, up to span `end`, and counts those that are cut.
    fn list_calls(&mut self, set: &TraceSet, tree: &Tree, root: u32, end: u32) {
        let mut cut = 0;
        for span in (root..end).filter(|span| self.prepared.is_waited_for(*span, root)) {
            let at = span as usize;
            self.calls.add(set, tree, span, [self.prepared.before_us[at], self.after_us[at]]);
            let timeout = self.timeout(at);
            cut += u64::from(timeout.is_some_and(|of| of.cuts(self.before_timeout(at, self.inner_us[at]))));
        }
        self.cut = (self.cut.0 + cut, self.cut.1 + u64::from(cut > 0));
    }

    /// Gives each endpoint its own time on the way that decides the latency of span `root`.
    fn attribute(&mut self, root: u32, is_after: bool) {
        let prepared = &self.prepared;
        self.stack.clear();
        self.stack.push((root, 1.0));
        while let Some((target, weight)) = self.stack.pop() {
            let t = target as usize;
            let own_ppm = if is_after { self.own_ppm(t) } else { 0 };
            let (latency, inner) = if is_after {
                (self.after_us[t], self.inner_us[t])
            } else {
                (prepared.before_us[t], prepared.before_us[t])
            };
            // A change of an endpoint by a share shrinks all below it alike; what is added is its own.
            let kept = if inner > latency { latency as f64 / inner as f64 } else { 1.0 };
            let mut own = latency as f64 - kept * inner as f64;
            let mut waited = 0;
            if let Some(&invocation) = prepared.invocations.get(prepared.invocation_of[t] as usize) {
                let us = |c: u32| {
                    if is_after { self.after_us[c as usize] } else { prepared.before_us[c as usize] }
                };
                self.evaluator.run(prepared, invocation, own_ppm, us);
                for call in self.evaluator.critical(prepared, invocation) {
                    waited += us(call);
                    self.stack.push((call, weight * kept));
                }
            }
            own += kept * inner.saturating_sub(waited) as f64;
            let share = &mut self.shares[prepared.endpoint_of[t] as usize];
            let sum = if is_after { &mut share.1 } else { &mut share.0 };
            *sum += (weight * own).round() as u128;
        }
    }
}

impl Visit for WhatIfRun {
    fn wants(&mut self, set: &TraceSet, trace: &TraceRow) -> bool {
        self.requests.wants(set, trace)
    }

    fn begin(&mut self, set: &TraceSet, tree: &Tree) {
        self.preparer.begin(set, tree, &mut self.prepared);
        if !self.subjects.is_empty() {
            self.mended_us.resize(tree.len(), 0);
            self.added_us.resize(tree.len(), 0);
        }
        if !self.timeouts.is_empty() {
            self.trace_hash = hash_text(&set.trace_id_text(tree.trace));
            self.timeout_of.resize(tree.len(), NO_ROW);
        }
        self.stage = Stage::Prepare(tree.len() as u32);
    }

    fn piece(&mut self, set: &TraceSet, tree: &Tree) -> Option<usize> {
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
                if !self.subjects.is_empty() {
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
                    self.stage = Stage::Record;
                    return Some(1);
                };
                let t = invocation.target as usize;
                let (own_ppm, after_us) = (self.own_ppm(t), &self.after_us);
                let inner = self.evaluator.run(&self.prepared, invocation, own_ppm, |c| after_us[c as usize]);
                self.inner_us[t] = inner;
                self.after_us[t] = if t < tree.len() { self.apply(t, inner) } else { inner };
                self.stage = Stage::Evaluate(at + 1);
                Some(invocation.len())
            }
            Stage::Record => {
                let mut roots = std::mem::take(&mut self.roots);
                self.requests.of(set, tree, &mut roots);
                for &root in &roots {
                    let (before, after) =
                        (self.prepared.before_us[root as usize], self.after_us[root as usize]);
                    self.before.push(before);
                    self.after.push(after);
                    self.changed += u64::from(before != after);
                    self.attribute(root, false);
                    self.attribute(root, true);
                    if !(self.calls.is_empty() && self.timeouts.is_empty()) {
                        self.list_calls(set, tree, root, tree.subtree_end[root as usize]);
                    }
                }
                self.roots = roots;
                self.stage = Stage::Done;
                Some(tree.len())
            }
            Stage::Done => None,
        }
    }
}
