//! What-if: some endpoints faster or slower, or two calls side by side (`docs/definitions/execution-flow.md` section 4).

use super::calls::{CallList, PackedCalls};
use super::changed::ChangedTree;
use super::prepare::Evaluator;
use super::prepare::PlacedModel;
use super::{CallTimes, CallsOf, Changes, FlowModel, Visit};
use crate::flame::{pack_sorted, unpack_sorted};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Percentiles, percentile};
use pathlight_trace::{Endpoint, EndpointId, Overlap, TraceRow, TraceSet, Tree};
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
            WhichRequests::All(Some(endpoint)) => trace.rows().any(|row| set.endpoint(row) == *endpoint),
            WhichRequests::Rows(rows) => {
                rows.get(rows.partition_point(|&row| row < trace.first)).is_some_and(|&row| row < trace.end)
            }
        }
    }
}

/// Time on the way that decides, by endpoint, before and after: microseconds.
pub(super) type Shares = BTreeMap<Endpoint, (u128, u128)>;

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

    /// Returns the accumulator of some requests: their latencies before and after in any order, and time on the way that
    /// decides them.
    pub(super) fn of(
        (mut before_us, mut after_us): (Vec<u64>, Vec<u64>),
        changed: u64,
        shares: Shares,
    ) -> Self {
        before_us.sort_unstable();
        after_us.sort_unstable();
        let (before_us, after_us) = (pack_sorted(before_us), pack_sorted(after_us));
        WhatIfLatencies { before_us, after_us, changed, shares, ..WhatIfLatencies::default() }
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
    Change,
    Record,
    Done,
}

/// Makes a change in every trace of a set.
pub struct WhatIfRun {
    changed: ChangedTree,
    evaluator: Evaluator,
    requests: WhichRequests,
    /// Calls that are cut, and requests that have one.
    cut: (u64, u64),
    stage: Stage,
    roots: Vec<u32>,
    before: Vec<u64>,
    after: Vec<u64>,
    /// Requests whose latency changed.
    differ: u64,
    /// One per endpoint of the set.
    shares: Vec<(u128, u128)>,
    stack: Vec<(u32, f64)>,
    calls: CallList,
}

impl WhatIfRun {
    /// Returns a run over the traces `set` holds now.
    pub fn new(
        set: &TraceSet,
        model: &Arc<FlowModel>,
        overlap: Overlap,
        requests: WhichRequests,
        changes: &Changes,
        calls: &CallsOf,
    ) -> WhatIfRun {
        WhatIfRun {
            changed: ChangedTree::new(set, PlacedModel::new(set, model), overlap, changes),
            evaluator: Evaluator::default(),
            requests,
            cut: (0, 0),
            stage: Stage::Done,
            roots: Vec::new(),
            before: Vec::new(),
            after: Vec::new(),
            differ: 0,
            shares: vec![(0, 0); set.endpoints().len()],
            stack: Vec::new(),
            calls: CallList::new(set, calls),
        }
    }

    /// Finishes the run; returns its accumulator.
    pub fn finish(self, set: &TraceSet) -> WhatIfLatencies {
        let named = set.endpoints().zip(&self.shares).filter(|(_, share)| **share != (0, 0));
        let shares = named.map(|((s, o), &share)| (Endpoint::new(s, o), share)).collect();
        let latencies = WhatIfLatencies::of((self.before, self.after), self.differ, shares);
        WhatIfLatencies { cut: self.cut, calls: self.calls.finish(set), ..latencies }
    }

    /// Lists the calls of a request, up to span `end`, and counts those that are cut.
    fn list_calls(&mut self, set: &TraceSet, tree: &Tree, root: u32, end: u32) {
        let mut cut = 0;
        let changed = &self.changed;
        for span in (root..end).filter(|span| changed.prepared.is_waited_for(*span, root)) {
            let at = span as usize;
            self.calls.add(set, tree, span, [changed.prepared.before_us[at], changed.after_us[at]]);
            cut += u64::from(changed.is_cut(at));
        }
        self.cut = (self.cut.0 + cut, self.cut.1 + u64::from(cut > 0));
    }

    /// Gives each endpoint its own time on the way that decides the latency of span `root`.
    fn attribute(&mut self, root: u32, is_after: bool) {
        let (changed, evaluator) = (&self.changed, &mut self.evaluator);
        let prepared = &changed.prepared;
        self.stack.clear();
        self.stack.push((root, 1.0));
        while let Some((target, weight)) = self.stack.pop() {
            let t = target as usize;
            let own_ppm = if is_after { changed.own_ppm(t) } else { 0 };
            let (latency, inner) = if is_after {
                (changed.after_us[t], changed.inner_us[t])
            } else {
                (prepared.before_us[t], prepared.before_us[t])
            };
            // A change of an endpoint by a share shrinks all below it alike; what is added is its own.
            let kept = if inner > latency { latency as f64 / inner as f64 } else { 1.0 };
            let mut own = latency as f64 - kept * inner as f64;
            let mut waited = 0;
            if let Some(&invocation) = prepared.invocations.get(prepared.invocation_of[t] as usize) {
                let us = |c: u32| {
                    if is_after { changed.after_us[c as usize] } else { prepared.before_us[c as usize] }
                };
                evaluator.run(prepared, invocation, own_ppm, us);
                for call in evaluator.critical(prepared, invocation) {
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
        self.changed.begin(set, tree);
        self.stage = Stage::Change;
    }

    fn piece(&mut self, set: &TraceSet, tree: &Tree, _: &mut u32) -> Option<usize> {
        match self.stage {
            Stage::Change => {
                let cost = self.changed.piece(set, tree);
                if cost.is_none() {
                    self.stage = Stage::Record;
                }
                Some(cost.unwrap_or(1))
            }
            Stage::Record => {
                let mut roots = std::mem::take(&mut self.roots);
                self.requests.of(set, tree, &mut roots);
                for &root in &roots {
                    let (before, after) = self.changed.latency_us(root);
                    self.before.push(before);
                    self.after.push(after);
                    self.differ += u64::from(before != after);
                    self.attribute(root, false);
                    self.attribute(root, true);
                    if !self.calls.is_empty() || self.changed.has_timeouts() {
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
