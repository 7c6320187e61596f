//! What requests wait for outside of spans: the time of a call before its callee starts and after it ends
//! (`docs/definitions/real-traces.md` section 3). Only said, never taken from the call: all sums keep it as its own time.

use super::path::PathFinder;
use super::report::{SpanWaiting, Waiting};
use super::table::PathTable;
use pathlight_model::ordered::OrderedMap;
use pathlight_model::trace::calls::awaited_callee;
use pathlight_model::trace::{Symbol, TraceSet, Tree};
use rustc_hash::FxHashMap;

/// How long one request waits in one calling context for one service.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitEntry {
    /// Context number.
    pub context: u32,
    /// The service of the callees.
    pub callee: Symbol,
    /// Whether spans say their kind: else the caller's own work may be in it.
    pub is_certain: bool,
    /// Microseconds on the critical path.
    pub us: u64,
}

/// Finds what requests wait for; keeps its scratch space.
#[derive(Default)]
pub(super) struct WaitFinder {
    /// (span, place among those found, start and end of the callee) of calls that wait for more than their callee.
    partly: Vec<(u32, usize, u64, u64)>,
}

impl WaitFinder {
    /// Appends what the request of a path waits for; `context_of` has the context of each of its entries.
    pub fn find(
        &mut self,
        set: &TraceSet,
        tree: &Tree,
        path: &PathFinder,
        context_of: &[u32],
        found: &mut Vec<WaitEntry>,
    ) {
        let first = found.len();
        self.partly.clear();
        for (entry, &context) in path.entries().iter().zip(context_of) {
            if entry.exclusive_us == 0 {
                continue;
            }
            let Some(awaited) = awaited_callee(set, tree, entry.span) else { continue };
            let callee = set.process_of(tree.row(awaited.callee)).service;
            let mut wait =
                WaitEntry { context, callee, is_certain: awaited.is_certain, us: entry.exclusive_us };
            if tree.sync_children(entry.span).nth(1).is_some() {
                let (start, end) =
                    (tree.start_us[awaited.callee as usize], tree.end_us[awaited.callee as usize]);
                self.partly.push((entry.span, found.len(), start, end));
                wait.us = 0;
            }
            found.push(wait);
        }
        if !self.partly.is_empty() {
            self.partly.sort_unstable();
            for segment in path.segments() {
                let Ok(at) = self.partly.binary_search_by_key(&segment.span, |call| call.0) else { continue };
                let (_, place, start, end) = self.partly[at];
                let before = segment.end_us.min(start).saturating_sub(segment.start_us);
                let after = segment.end_us.saturating_sub(segment.start_us.max(end));
                found[place].us += before + after;
            }
        }
        // One for each context and service.
        found[first..].sort_unstable_by_key(|wait| (wait.context, wait.callee.0));
        let mut kept = first;
        for at in first..found.len() {
            let wait = found[at];
            if wait.us == 0 {
                continue;
            }
            match found[first..kept].last() {
                Some(last) if (last.context, last.callee) == (wait.context, wait.callee) => {
                    let last = &mut found[kept - 1];
                    last.us = last.us.saturating_add(wait.us);
                    last.is_certain &= wait.is_certain;
                }
                _ => {
                    found[kept] = wait;
                    kept += 1;
                }
            }
        }
        found.truncate(kept);
    }
}

/// Returns what the request of a path waits for, call by call.
pub fn waits_of(set: &TraceSet, tree: &Tree, path: &PathFinder) -> Vec<SpanWaiting> {
    let spans: Vec<u32> = path.entries().iter().map(|entry| entry.span).collect();
    let mut waits = Vec::new();
    // Each span is a context of its own.
    WaitFinder::default().find(set, tree, path, &spans, &mut waits);
    let of = |wait: WaitEntry| SpanWaiting {
        span: wait.context,
        callee: set.names.get(wait.callee).to_owned(),
        us: wait.us,
        is_certain: wait.is_certain,
    };
    waits.into_iter().map(of).collect()
}

/// What requests wait for, by key of the calling context and by service.
pub(super) type WaitsBy = OrderedMap<u32, Waits>;

/// Waiting times by the service waited for.
pub(super) type Waits = OrderedMap<String, Waiting>;

/// Sums what some requests of a worker wait for; `key` gives what a context is counted under.
pub(super) fn sum_waits(
    set: &TraceSet,
    table: &PathTable,
    requests: impl Iterator<Item = u32>,
    key: impl Fn(u32) -> u32,
) -> WaitsBy {
    // With the request that counted last.
    let mut sums: FxHashMap<(u32, u32), (Waiting, u32)> = FxHashMap::default();
    for request in requests {
        for wait in table.waits(request) {
            let (sum, last) = sums.entry((key(wait.context), wait.callee.0)).or_insert_with(|| {
                let callee = set.names.get(wait.callee).to_owned();
                (Waiting { callee, us: 0, requests: 0, is_certain: true }, u32::MAX)
            });
            sum.us = sum.us.saturating_add(wait.us);
            sum.requests += u64::from(*last != request);
            sum.is_certain &= wait.is_certain;
            *last = request;
        }
    }
    let mut by = WaitsBy::new();
    for ((key, _), (sum, _)) in sums {
        by.entry(key).or_default().insert(sum.callee.clone(), sum);
    }
    by
}

/// Adds what other requests wait for.
pub(super) fn join_waits(into: &mut Waits, from: Waits) {
    for (callee, wait) in from {
        let sum = into.entry(callee).or_insert_with(|| Waiting { us: 0, requests: 0, ..wait.clone() });
        sum.us = sum.us.saturating_add(wait.us);
        sum.requests += wait.requests;
        sum.is_certain &= wait.is_certain;
    }
}
