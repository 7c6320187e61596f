//! Savings of every endpoint if its own work were faster: where a week of work is best spent.

use super::faster::FasterTrials;
use super::prepare::{PlacedModel, Preparer};
use super::{Changes, FlowModel, Visit, WhichRequests};
use crate::flame::{pack_sorted, unpack_sorted};
use crate::verdict::answer_of_other_service;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Interval, Moments, Percentiles};
use pathlight_trace::{Endpoint, Overlap, TraceRow, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Speedups of endpoints, in percent.
pub const FASTER_PERCENT: [u32; 3] = [10, 50, 100];

/// Latencies that one endpoint changes, before and after; both sorted, as differences.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ChangedLatencies {
    before_us: Vec<u64>,
    after_us: Vec<u64>,
    /// Time that these requests save.
    saved: Moments,
}

impl ChangedLatencies {
    /// Returns those of some requests: before, after.
    pub fn of(pairs: &[(u64, u64)]) -> ChangedLatencies {
        let packed = |mut values: Vec<u64>| {
            values.sort_unstable();
            pack_sorted(values)
        };
        let mut saved = Moments::default();
        pairs.iter().for_each(|p| saved.add(p.0.saturating_sub(p.1)));
        ChangedLatencies {
            before_us: packed(pairs.iter().map(|p| p.0).collect()),
            after_us: packed(pairs.iter().map(|p| p.1).collect()),
            saved,
        }
    }

    /// Adds those of other requests.
    pub fn merge(&mut self, other: ChangedLatencies) {
        merge_sorted(&mut self.before_us, other.before_us);
        merge_sorted(&mut self.after_us, other.after_us);
        self.saved.merge(other.saved);
    }

    /// Returns how many there are, and what they save among all requests, whose latencies are sorted.
    pub fn finish(self, all: (&[u64], &Percentiles)) -> (u64, Saving) {
        let (before, after) = (unpack_sorted(self.before_us), unpack_sorted(self.after_us));
        (before.len() as u64, saving(all, (&before, &after), self.saved))
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct EndpointChanges {
    spans: u64,
    waiting_spans: u64,
    requests: u64,
    levels: [ChangedLatencies; 3],
}

/// Latencies, and by endpoint those it changes: the accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavingsPart {
    /// Sorted, as differences.
    latencies_us: Vec<u64>,
    by_endpoint: BTreeMap<Endpoint, EndpointChanges>,
}

/// Saving at each quantile of the requests' latency, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Saving {
    /// Saved of the mean.
    pub mean: f64,
    /// The 95 % interval of that, over requests; how far the model is off comes on top.
    pub mean_interval: Option<Interval>,
    /// Saved of the median.
    pub p50: f64,
    /// Saved of the 95th percentile.
    pub p95: f64,
    /// Saved of the 99th percentile.
    pub p99: f64,
}

/// Savings of an endpoint if it were faster.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SavedAt {
    /// If its own work were 10 % faster.
    pub faster_10: Saving,
    /// If its own work were 50 % faster.
    pub faster_50: Saving,
    /// If its own work took no time.
    pub faster_100: Saving,
}

impl SavedAt {
    /// Returns the savings at each of [`FASTER_PERCENT`].
    pub fn levels(&self) -> [Saving; 3] {
        [self.faster_10, self.faster_50, self.faster_100]
    }
}

/// Savings of one endpoint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct EndpointSaving {
    /// Service name.
    pub service: String,
    /// Operation name.
    pub operation: String,
    /// Its spans in the requests, but those that nothing waits for.
    pub spans: u64,
    /// Those of them that are calls which another service answers: their own work is waiting for it.
    pub waiting_spans: u64,
    /// Requests that have such a span.
    pub requests: u64,
    /// Requests that become faster if its own work takes no time.
    pub affected: u64,
    /// Reduction of the requests' latency.
    pub saved_us: SavedAt,
}

/// The ranked table of possible savings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SavingsReport {
    /// Selected requests.
    pub requests: u64,
    /// Latencies of these requests as they are.
    pub latency_us: Percentiles,
    /// Endpoints, the greatest saving of the mean at 50 % first (ties: at 100 %, then names).
    pub endpoints: Vec<EndpointSaving>,
}

/// Adds values to others, both in the form of `pack_sorted`.
pub(super) fn merge_sorted(lists: &mut Vec<u64>, packed: Vec<u64>) {
    let mut values = unpack_sorted(std::mem::take(lists));
    values.append(&mut unpack_sorted(packed));
    values.sort();
    *lists = pack_sorted(values);
}

impl SavingsPart {
    /// Joins accumulators of disjoint requests; the result does not depend on their order.
    pub fn merge(parts: Vec<SavingsPart>) -> SavingsPart {
        let mut sum = SavingsPart::default();
        for part in parts {
            merge_sorted(&mut sum.latencies_us, part.latencies_us);
            for (name, changes) in part.by_endpoint {
                let into = sum.by_endpoint.entry(name).or_default();
                into.spans += changes.spans;
                into.waiting_spans += changes.waiting_spans;
                into.requests += changes.requests;
                for (level, changed) in into.levels.iter_mut().zip(changes.levels) {
                    level.merge(changed);
                }
            }
        }
        sum
    }

    /// Returns the report.
    pub fn finish(self) -> SavingsReport {
        let sorted = unpack_sorted(self.latencies_us);
        let latency_us = Percentiles::of_sorted(&sorted);
        let mut endpoints: Vec<EndpointSaving> = Vec::with_capacity(self.by_endpoint.len());
        for (Endpoint { service, operation }, changes) in self.by_endpoint {
            let [(_, faster_10), (_, faster_50), (affected, faster_100)] =
                changes.levels.map(|changed| changed.finish((&sorted, &latency_us)));
            let (spans, waiting_spans, requests) = (changes.spans, changes.waiting_spans, changes.requests);
            let saved_us = SavedAt { faster_10, faster_50, faster_100 };
            endpoints.push(EndpointSaving {
                service,
                operation,
                spans,
                waiting_spans,
                requests,
                affected,
                saved_us,
            });
        }
        // Stable: equal ones stay by name.
        endpoints.compact_sort_by(|a, b| {
            let (a, b) = (a.saved_us, b.saved_us);
            (b.faster_50.mean.total_cmp(&a.faster_50.mean))
                .then_with(|| b.faster_100.mean.total_cmp(&a.faster_100.mean))
        });
        SavingsReport { requests: sorted.len() as u64, latency_us, endpoints }
    }
}

/// Returns the saving if the latencies `before` among all become `after`; all three sorted. `saved` are the
/// differences.
fn saving(
    (all, latency_us): (&[u64], &Percentiles),
    (before, after): (&[u64], &[u64]),
    saved: Moments,
) -> Saving {
    let n = all.len() as u64;
    let quantile = |millionths: u64, was: f64| was - quantile_of_changed(all, before, after, millionths);
    Saving {
        mean: saved.mean(n),
        mean_interval: saved.interval(n),
        p50: quantile(500_000, latency_us.p50),
        p95: quantile(950_000, latency_us.p95),
        p99: quantile(990_000, latency_us.p99),
    }
}

/// Returns a quantile of `all` without `removed` and with `added`, without building that list: all three are sorted
/// and the last two equally long.
fn quantile_of_changed(all: &[u64], removed: &[u64], added: &[u64], millionths: u64) -> f64 {
    let Some(last) = all.len().checked_sub(1) else { return 0.0 };
    let place = millionths * last as u64;
    let (below, part) = (place / 1_000_000, place % 1_000_000);
    let up_to = |list: &[u64], value: u64| list.partition_point(|&v| v <= value) as u64;
    let at_rank = |rank: u64| {
        let (mut low, mut high) = (0, all[last].max(added.last().copied().unwrap_or(0)));
        while low < high {
            let middle = low + (high - low) / 2;
            let count = up_to(all, middle) + up_to(added, middle) - up_to(removed, middle);
            if count > rank { high = middle } else { low = middle + 1 }
        }
        low
    };
    let (low, high) = (at_rank(below), at_rank((below + 1).min(last as u64)));
    (u128::from(low) * 1_000_000 + u128::from(high - low) * u128::from(part)) as f64 / 1e6
}

enum Stage {
    /// The next span to prepare is the one before this.
    Prepare(u32),
    /// The next group of spans of one endpoint.
    Endpoint(usize),
    Done,
}

#[derive(Clone, Default)]
struct Found {
    spans: u64,
    waiting_spans: u64,
    requests: u64,
    /// Latencies (before, after) at each level of speed-up, in microseconds.
    levels: [Vec<(u64, u64)>; 3],
}

/// Tries every endpoint at every level in every trace of a set.
pub struct SavingsRun {
    preparer: Preparer,
    requests: WhichRequests,
    trials: FasterTrials,
    stage: Stage,
    roots: Vec<u32>,
    /// (endpoint, request, span) of the spans of the requests, sorted.
    spans: Vec<(u32, u32, u32)>,
    latencies: Vec<u64>,
    /// One per endpoint of the set.
    found: Vec<Found>,
    /// Service of every endpoint of the set.
    service_of: Vec<String>,
}

impl SavingsRun {
    /// Returns a run over the traces `set` holds now.
    pub fn new(
        set: &TraceSet,
        model: &Arc<FlowModel>,
        overlap: Overlap,
        requests: WhichRequests,
    ) -> SavingsRun {
        SavingsRun {
            preparer: Preparer::new(PlacedModel::new(set, model), overlap, &Changes::default()),
            requests,
            trials: FasterTrials::default(),
            stage: Stage::Done,
            roots: Vec::new(),
            spans: Vec::new(),
            latencies: Vec::new(),
            found: vec![Found::default(); set.endpoints().len()],
            service_of: set.endpoints().map(|(service, _)| service.to_owned()).collect(),
        }
    }

    /// Finishes the run; returns its accumulator.
    pub fn finish(mut self, set: &TraceSet) -> SavingsPart {
        self.latencies.sort_unstable();
        let mut by_endpoint = BTreeMap::new();
        for ((service, operation), found) in set.endpoints().zip(self.found) {
            if found.spans > 0 {
                let levels = found.levels.map(|pairs| ChangedLatencies::of(&pairs));
                let Found { spans, waiting_spans, requests, .. } = found;
                let changes = EndpointChanges { spans, waiting_spans, requests, levels };
                by_endpoint.insert(Endpoint::new(service, operation), changes);
            }
        }
        SavingsPart { latencies_us: pack_sorted(self.latencies), by_endpoint }
    }

    fn list_spans(&mut self, set: &TraceSet, tree: &Tree) {
        let mut roots = std::mem::take(&mut self.roots);
        self.requests.of(set, tree, &mut roots);
        self.spans.clear();
        for &root in &roots {
            self.latencies.push(self.trials.prepared.before_us[root as usize]);
            for span in root..tree.subtree_end[root as usize] {
                // Only what somebody waits for can save anything.
                if self.trials.prepared.is_waited_for(span, root) {
                    let endpoint = set.endpoint(tree.row(span)).0;
                    self.spans.push((endpoint, root, span));
                    let is_waiting = answer_of_other_service(set, tree, span, &self.service_of).is_some();
                    self.found[endpoint as usize].waiting_spans += u64::from(is_waiting);
                }
            }
        }
        self.roots = roots;
        self.spans.sort_unstable();
        self.trials.begin(tree.len());
    }
}

impl Visit for SavingsRun {
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
                self.list_spans(set, tree);
                self.stage = Stage::Endpoint(0);
                Some(tree.len())
            }
            Stage::Prepare(next) => {
                let cost = self.preparer.add(set, tree, next - 1, &mut self.trials.prepared);
                self.stage = Stage::Prepare(next - 1);
                Some(cost)
            }
            Stage::Endpoint(from) => {
                let Some(&(endpoint, root, _)) = self.spans.get(from) else {
                    self.stage = Stage::Done;
                    return Some(1);
                };
                let same = self.spans[from..].iter().take_while(|s| (s.0, s.1) == (endpoint, root)).count();
                let before = self.trials.prepared.before_us[root as usize];
                // The fastest first: no prediction falls as a callee gets slower, so what this leaves alone all do.
                for (level, percent) in FASTER_PERCENT.into_iter().enumerate().rev() {
                    let spans = self.spans[from..from + same].iter().map(|of| of.2);
                    let after = self.trials.latency_us(spans, percent, root);
                    if after != before {
                        self.found[endpoint as usize].levels[level].push((before, after));
                    } else if percent == 100 {
                        break;
                    }
                }
                let found = &mut self.found[endpoint as usize];
                found.spans += same as u64;
                found.requests += 1;
                self.stage = Stage::Endpoint(from + same);
                Some(same + self.trials.take_cost())
            }
            Stage::Done => None,
        }
    }
}
