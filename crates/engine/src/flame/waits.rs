//! Waits of requests outside of spans: the time of a call before its callee starts and after it ends
//! (`docs/definitions/real-traces.md` section 3). Only said, never taken from the call: all sums keep it as its own time.

use super::{PathFinder, SpanWaiting};
use pathlight_base::steps::in_blocks;
use pathlight_trace::calls::{awaited_callee, process_of};
use pathlight_trace::{Symbol, TraceSet, Tree};

/// Time that one request waits in one calling context for one service.
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
        in_blocks(path.entries().len().min(context_of.len()), &mut |block| {
            for (entry, &context) in path.entries()[block.clone()].iter().zip(&context_of[block]) {
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
        });
        if !self.partly.is_empty() {
            self.partly.sort_unstable();
            let mut segments = path.segments();
            in_blocks(segments.len(), &mut |block| {
                for segment in segments.by_ref().take(block.len()) {
                    let Ok(at) = self.partly.binary_search_by_key(&segment.span, |call| call.0) else {
                        continue;
                    };
                    let (_, place, start, end) = self.partly[at];
                    let before = segment.end_us.min(start).saturating_sub(segment.start_us);
                    let after = segment.end_us.saturating_sub(segment.start_us.max(end));
                    found[place].us += before + after;
                }
            });
        }
        join_waits(found, first);
    }
}

/// Makes one of those of a list, from a place on, that are of one context and service.
pub(super) fn join_waits(found: &mut Vec<WaitEntry>, first: usize) {
    found[first..].sort_unstable_by_key(|wait| (wait.context, wait.callee.0));
    let mut kept = first;
    in_blocks(found.len() - first, &mut |block| {
        for at in block {
            let wait = found[first + at];
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
    });
    found.truncate(kept);
}

/// Returns what the request of a path waits for, call by call.
pub fn waits_of(set: &TraceSet, tree: &Tree, path: &PathFinder) -> Vec<SpanWaiting> {
    let spans: Vec<u32> = path.entries().iter().map(|entry| entry.span).collect();
    let mut waits = Vec::new();
    // Each span is a context of its own.
    WaitFinder::default().find(set, tree, path, &spans, &mut waits);
    let of = |wait: &WaitEntry| SpanWaiting {
        span: wait.context,
        callee: set.names.get(wait.callee).to_owned(),
        us: wait.us,
        is_certain: wait.is_certain,
        halves_us: callee_on_host(set, tree, wait.context).map(|_| (0, 0)),
    };
    let mut waits: Vec<SpanWaiting> = waits.iter().map(of).collect();
    let mut segments = path.segments();
    in_blocks(segments.len(), &mut |block| {
        for segment in segments.by_ref().take(block.len()) {
            // By span, ascending.
            if let Ok(at) = waits.binary_search_by_key(&segment.span, |wait| wait.span)
                && let Some((before, after)) = &mut waits[at].halves_us
                && let Some(callee) = callee_on_host(set, tree, segment.span)
            {
                let (start, end) = (tree.start_us[callee as usize], tree.end_us[callee as usize]);
                *before += segment.end_us.min(start).saturating_sub(segment.start_us);
                *after += segment.end_us.saturating_sub(segment.start_us.max(end));
            }
        }
    });
    waits
}

/// Returns the callee of a call if both are known to be on one host, and so have one clock.
fn callee_on_host(set: &TraceSet, tree: &Tree, call: u32) -> Option<u32> {
    let callee = awaited_callee(set, tree, call)?.callee;
    let hosts = [call, callee].map(|span| process_of(set, tree.row(span)).1);
    (hosts[0] == hosts[1] && hosts[0] != Symbol::NONE).then_some(callee)
}
