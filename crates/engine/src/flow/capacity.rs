//! Drag and slack of services over all requests (`docs/definitions/execution-flow.md` section 4).

use super::faster::FasterTrials;
use super::prepare::{PlacedModel, Preparer};
use super::{Changes, FlowModel, Visit, WhichRequests};
use crate::verdict::answer_of_other_service;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Overlap, TraceRow, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Drag and slack of one service, summed over requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceCapacity {
    /// Service name.
    pub service: String,
    /// Requests in which it works.
    pub requests: u64,
    /// Those of them in which it cannot take longer without delaying the request: it is on the path that decides.
    pub on_path: u64,
    /// How much earlier requests would end if its own work took no time, summed over all requests, in microseconds.
    pub drag_us: u128,
    /// How much longer its own work may take in a request, however that is spread over its spans, before the request ends later;
    /// summed over the requests in which it works, in microseconds.
    pub slack_us: u128,
}

impl ServiceCapacity {
    /// Returns the share of the requests in which it works that have it on the path that decides, from 0 to 1.
    pub fn path_share(&self) -> f64 {
        self.on_path as f64 / self.requests.max(1) as f64
    }

    /// Returns its slack in microseconds per request in which it works.
    pub fn mean_slack_us(&self) -> f64 {
        self.slack_us as f64 / self.requests.max(1) as f64
    }

    fn merge(&mut self, other: &ServiceCapacity) {
        self.requests += other.requests;
        self.on_path += other.on_path;
        self.drag_us += other.drag_us;
        self.slack_us += other.slack_us;
    }
}

/// Drag and slack by service: the accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapacitySums {
    requests: u64,
    latency_us: u128,
    by_service: BTreeMap<String, ServiceCapacity>,
}

/// Drag and slack of services.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CapacityReport {
    /// Selected requests.
    pub requests: u64,
    /// Their latencies as they are, summed, in microseconds.
    pub latency_us: u128,
    /// Services with own work, the greatest drag first (ties: the least slack per request, then by name).
    pub services: Vec<ServiceCapacity>,
}

impl CapacityReport {
    /// Returns the drag of a service in microseconds per request, over all requests.
    pub fn mean_drag_us(&self, service: &ServiceCapacity) -> f64 {
        service.drag_us as f64 / self.requests.max(1) as f64
    }
}

impl CapacitySums {
    /// Joins accumulators of disjoint requests; the result does not depend on their order.
    pub fn merge(parts: Vec<CapacitySums>) -> CapacitySums {
        let mut sum = CapacitySums::default();
        for part in parts {
            sum.requests += part.requests;
            sum.latency_us += part.latency_us;
            for (service, capacity) in part.by_service {
                sum.by_service.entry(service).or_default().merge(&capacity);
            }
        }
        sum
    }

    /// Returns the report.
    pub fn finish(self) -> CapacityReport {
        let named = self.by_service.into_iter().map(|(service, of)| ServiceCapacity { service, ..of });
        let mut services: Vec<ServiceCapacity> = named.collect();
        // Stable: equal ones stay by name.
        services.compact_sort_by(|a, b| {
            b.drag_us.cmp(&a.drag_us).then_with(|| a.mean_slack_us().total_cmp(&b.mean_slack_us()))
        });
        CapacityReport { requests: self.requests, latency_us: self.latency_us, services }
    }
}

enum Stage {
    /// The next span to prepare is the one before this.
    Prepare(u32),
    /// The next invocation to find slacks in is the one before this.
    Slack(usize),
    /// The next group of spans of one service.
    Service(usize),
    Done,
}

/// Finds drag and slack of every service in every trace of a set.
pub struct CapacityRun {
    preparer: Preparer,
    requests: WhichRequests,
    trials: FasterTrials,
    stage: Stage,
    roots: Vec<u32>,
    /// (service, request, span) of the spans of the requests that work themselves, sorted.
    spans: Vec<(u32, u32, u32)>,
    /// By target; [`u64::MAX`] of what no request waits for.
    slack_us: Vec<u64>,
    sums: CapacitySums,
    /// One per service of the set.
    found: Vec<ServiceCapacity>,
    /// By endpoint of the set.
    service_of: Vec<u32>,
}

impl CapacityRun {
    /// Returns a run over the traces `set` holds now.
    pub fn new(
        set: &TraceSet,
        model: &Arc<FlowModel>,
        overlap: Overlap,
        requests: WhichRequests,
    ) -> CapacityRun {
        let (service_of, names) = set.service_numbers();
        let new = |service| ServiceCapacity { service, ..ServiceCapacity::default() };
        CapacityRun {
            preparer: Preparer::new(PlacedModel::new(set, model), overlap, &Changes::default()),
            requests,
            trials: FasterTrials::default(),
            stage: Stage::Done,
            roots: Vec::new(),
            spans: Vec::new(),
            slack_us: Vec::new(),
            sums: CapacitySums::default(),
            found: names.into_iter().map(new).collect(),
            service_of,
        }
    }

    /// Finishes the run; returns its accumulator.
    pub fn finish(mut self) -> CapacitySums {
        for found in self.found.into_iter().filter(|found| found.requests > 0) {
            self.sums.by_service.insert(found.service.clone(), found);
        }
        self.sums
    }

    /// Begins with the requests of a prepared trace.
    fn list_requests(&mut self, set: &TraceSet, tree: &Tree) {
        self.requests.of(set, tree, &mut self.roots);
        let prepared = &self.trials.prepared;
        self.slack_us.clear();
        self.slack_us.resize(prepared.before_us.len(), u64::MAX);
        for &root in &self.roots {
            self.sums.requests += 1;
            self.sums.latency_us += u128::from(prepared.before_us[root as usize]);
            self.slack_us[root as usize] = 0;
        }
        self.trials.begin(tree.len());
    }

    /// Finds the spans that requests wait for, once all slacks are known.
    fn list_spans(&mut self, set: &TraceSet, tree: &Tree) {
        self.spans.clear();
        for &root in &self.roots {
            for span in root..tree.subtree_end[root as usize] {
                let is_own = self.slack_us[span as usize] != u64::MAX
                    && answer_of_other_service(set, tree, span, &self.service_of).is_none();
                if is_own {
                    let service = self.service_of[set.named_endpoint(tree.row(span)).0 as usize];
                    self.spans.push((service, root, span));
                }
            }
        }
        self.spans.sort_unstable();
    }
}

impl Visit for CapacityRun {
    fn wants(&mut self, set: &TraceSet, trace: &TraceRow) -> bool {
        self.requests.wants(set, trace)
    }

    fn begin(&mut self, set: &TraceSet, tree: &Tree) {
        self.preparer.begin(set, tree, &mut self.trials.prepared);
        self.stage = Stage::Prepare(tree.len() as u32);
    }

    fn piece(&mut self, set: &TraceSet, tree: &Tree, _: &mut u32) -> Option<usize> {
        match self.stage {
            Stage::Prepare(0) => {
                self.list_requests(set, tree);
                self.stage = Stage::Slack(self.trials.prepared.invocations.len());
                Some(tree.len())
            }
            Stage::Prepare(next) => {
                let cost = self.preparer.add(set, tree, next - 1, &mut self.trials.prepared);
                self.stage = Stage::Prepare(next - 1);
                Some(cost)
            }
            Stage::Slack(0) => {
                self.list_spans(set, tree);
                self.stage = Stage::Service(0);
                Some(tree.len())
            }
            // Callers stand behind what they call.
            Stage::Slack(next) => {
                self.stage = Stage::Slack(next - 1);
                let FasterTrials { prepared, evaluator, .. } = &mut self.trials;
                let invocation = prepared.invocations[next - 1];
                let slack_us = self.slack_us[invocation.target as usize];
                if slack_us == u64::MAX {
                    return Some(1);
                }
                evaluator.slacks(prepared, invocation, slack_us, &mut self.slack_us);
                Some(invocation.len())
            }
            Stage::Service(from) => {
                let Some(&(service, root, _)) = self.spans.get(from) else {
                    self.stage = Stage::Done;
                    return Some(1);
                };
                let same = self.spans[from..].iter().take_while(|s| (s.0, s.1) == (service, root)).count();
                let spans = self.spans[from..from + same].iter().map(|of| of.2);
                let slacks = spans.clone().map(|span| self.slack_us[span as usize]);
                let slack_us = slacks.min().unwrap_or(0);
                let after_us = self.trials.latency_us(spans, 100, root);
                let drag_us = self.trials.prepared.before_us[root as usize].saturating_sub(after_us);
                let found = &mut self.found[service as usize];
                found.requests += 1;
                found.on_path += u64::from(slack_us == 0);
                found.drag_us += u128::from(drag_us);
                found.slack_us += u128::from(slack_us);
                self.stage = Stage::Service(from + same);
                Some(same + self.trials.take_cost())
            }
            Stage::Done => None,
        }
    }
}
