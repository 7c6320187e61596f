//! Oddities in the structure of one request: calls made again after an error, calls that all take equally long.

use pathlight_base::statistics::{Sample, Weight, WeightedSum, Weights, log_bin, log_bin_middle_us};
use pathlight_trace::calls::caller_stopped;
use pathlight_trace::{EndpointId, Flags, Role, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Durations from here on are counted one by one: 40 ms, so that the counts around a timeout of 50 ms are known.
const MIN_COUNTED_US: u64 = 40_000;
/// A span of which one child takes this share waits for that child; what ends it is found there.
const ONE_CHILD: f64 = 0.95;

/// Calls of one endpoint made again after an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RetrySums {
    pub calls: Weights,
    /// Microseconds from the start of the failed call to that of the next, per request.
    pub cost: Sample,
}

impl RetrySums {
    pub fn merge(&mut self, other: RetrySums) {
        self.calls.merge(&other.calls);
        self.cost.merge(&other.cost);
    }
}

/// How long the spans of an endpoint take that somebody waits for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Durations {
    pub spans: u64,
    /// The spans that are too short to be counted one by one, and their time together.
    pub short: Weights,
    pub short_us: WeightedSum,
    /// The others whose caller stopped waiting.
    pub stopped: u64,
    /// The others by bin of duration, but those that wait for one child.
    pub bins: BTreeMap<u32, Weights>,
}

impl Durations {
    pub fn merge(&mut self, other: Durations) {
        self.spans += other.spans;
        self.short.merge(&other.short);
        self.short_us.merge(other.short_us);
        self.stopped += other.stopped;
        for (bin, spans) in other.bins {
            self.bins.entry(bin).or_default().merge(&spans);
        }
    }
}

impl Durations {
    /// Counts a span of this duration; one that is long and `explained` by a child counts as a span only.
    fn add(&mut self, us: u64, weight: Weight, explained: impl FnOnce() -> bool) {
        self.spans += 1;
        if us < MIN_COUNTED_US {
            self.short.add(weight);
            self.short_us.add(us, weight);
        } else if !explained() {
            self.bins.entry(log_bin(us)).or_default().add(weight);
        }
    }
}

/// Returns the value at which the weight by bin reaches so many units, in microseconds: the middle of its bin; 0 if there are
/// fewer.
pub(super) fn value_at(bins: impl Iterator<Item = (u32, u128)>, units: u128) -> f64 {
    let mut left = units;
    for (bin, units) in bins {
        if left <= units {
            return log_bin_middle_us(bin);
        }
        left -= units;
    }
    0.0
}

/// The calls of one endpoint below the span looked at.
#[derive(Clone, Copy, Default)]
struct Calls {
    /// Number of the span looked at, from 1 on: others have left nothing behind.
    parent: u64,
    /// Latest end of a call.
    end_us: u64,
    /// Start of the last call, and whether it failed.
    last_start_us: u64,
    has_failed: bool,
}

/// Returns whether nearly all of a span's time is that of one child.
fn waits_for_one(tree: &Tree, span: u32) -> bool {
    let least_us = (tree.duration_us(span) as f64 * ONE_CHILD) as u64;
    tree.sync_children(span).any(|child| tree.duration_us(child) >= least_us)
}

/// Returns the longest stretch of a span in which none of its children runs; `None` of a span without children.
fn longest_stretch_us(tree: &Tree, span: u32) -> Option<u64> {
    let (mut at, mut longest) = (tree.start_us[span as usize], None);
    for child in tree.sync_children(span) {
        let stretch = tree.start_us[child as usize].saturating_sub(at);
        longest = Some(stretch.max(longest.unwrap_or(0)));
        at = at.max(tree.end_us[child as usize]);
    }
    longest.map(|longest| longest.max(tree.end_us[span as usize].saturating_sub(at)))
}

/// Sweeps requests; its sums are by numbers of the set.
pub(super) struct Structure {
    calls: Vec<Calls>,
    number: u64,
    pub retries: FxHashMap<u32, RetrySums>,
    /// One per endpoint.
    pub durations: Vec<Durations>,
    /// The same of the longest stretch in which no call runs: a call that nobody recorded may end there by its timeout.
    pub stretches: Vec<Durations>,
    /// What each endpoint that was called again cost the current request.
    costs: Vec<(u32, u64)>,
    /// How many requests it counts as.
    pub weight: Weight,
}

impl Structure {
    pub fn new(set: &TraceSet) -> Structure {
        let endpoints = set.endpoints().len();
        Structure {
            calls: vec![Calls::default(); endpoints],
            number: 0,
            retries: FxHashMap::default(),
            durations: vec![Durations::default(); endpoints],
            stretches: vec![Durations::default(); endpoints],
            costs: Vec::new(),
            weight: Weight::ONE,
        }
    }

    /// Looks at one span of the request below `root`, which is of this endpoint, and at its calls.
    pub fn look(&mut self, set: &TraceSet, tree: &Tree, (root, span): (u32, u32), endpoint: u32) {
        self.number += 1;
        if span == root || tree.role[span as usize] == Role::Sync {
            let us = tree.duration_us(span);
            let durations = &mut self.durations[endpoint as usize];
            durations.add(us, self.weight, || waits_for_one(tree, span));
            durations.stopped += u64::from(us >= MIN_COUNTED_US && caller_stopped(set, tree, span));
            // A short span has no long stretch.
            let stretch_us = if us < MIN_COUNTED_US { Some(0) } else { longest_stretch_us(tree, span) };
            if let Some(us) = stretch_us {
                self.stretches[endpoint as usize].add(us, self.weight, || false);
            }
        }
        if tree.subtree_end[span as usize] <= span + 2 {
            // One child at most.
            return;
        }
        for child in tree.sync_children(span) {
            self.call(set, tree, child);
        }
    }

    fn call(&mut self, set: &TraceSet, tree: &Tree, child: u32) {
        let row = tree.row(child);
        let endpoint = set.endpoint(row).0;
        let (start, end) = (tree.start_us[child as usize], tree.end_us[child as usize]);
        let calls = &mut self.calls[endpoint as usize];
        if calls.parent != self.number {
            *calls = Calls { parent: self.number, ..Calls::default() };
        } else if start >= calls.end_us && calls.has_failed {
            self.costs.push((endpoint, start - calls.last_start_us));
        }
        calls.end_us = calls.end_us.max(end);
        calls.last_start_us = start;
        calls.has_failed = set.flags(row).has(Flags::ERROR);
    }

    /// Ends a request of which all spans were looked at. `on_path_us` is the time that an endpoint's spans on the critical
    /// path take.
    pub fn end_request(&mut self, on_path_us: impl Fn(EndpointId) -> u64) {
        self.costs.sort_unstable();
        for same in self.costs.chunk_by(|a, b| a.0 == b.0) {
            let sums = self.retries.entry(same[0].0).or_default();
            same.iter().for_each(|_| sums.calls.add(self.weight));
            let cost = same.iter().map(|call| u128::from(call.1)).sum::<u128>();
            sums.cost.add(cost.min(on_path_us(EndpointId(same[0].0)).into()) as u64, self.weight);
        }
        self.costs.clear();
    }
}
