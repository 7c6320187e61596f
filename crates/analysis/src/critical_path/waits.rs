//! What requests wait for outside of spans: the time of a call before its callee starts and after it ends
//! (`docs/definitions/real-traces.md` section 3). Only said, never taken from the call: all sums keep it as its own time.

use super::path::PathFinder;
use super::report::{SpanWaiting, Waiting};
use super::table::PathTable;
use pathlight_model::sort::Arrange;
use pathlight_model::trace::calls::{awaited_callee, process_of};
use pathlight_model::trace::{Symbol, TraceSet, Tree};
use serde::{Deserialize, Serialize};

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
    let of = |wait: &WaitEntry| SpanWaiting {
        span: wait.context,
        callee: set.names.get(wait.callee).to_owned(),
        us: wait.us,
        is_certain: wait.is_certain,
        halves_us: callee_on_host(set, tree, wait.context).map(|_| (0, 0)),
    };
    let mut waits: Vec<SpanWaiting> = waits.iter().map(of).collect();
    for segment in path.segments() {
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
    waits
}

/// Returns the callee of a call if both are known to be on one host, and so have one clock.
fn callee_on_host(set: &TraceSet, tree: &Tree, call: u32) -> Option<u32> {
    let callee = awaited_callee(set, tree, call)?.callee;
    let hosts = [call, callee].map(|span| process_of(set, tree.row(span)).1);
    (hosts[0] == hosts[1] && hosts[0] != Symbol::NONE).then_some(callee)
}

/// What requests wait for, by key (a calling context or an endpoint) and by service.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct WaitSums {
    /// The services waited for, by name.
    callees: Vec<String>,
    /// By key and callee, each pair once.
    sums: Vec<WaitSum>,
}

/// What requests with one key wait for one service.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct WaitSum {
    key: u32,
    /// Index into the callees.
    callee: u32,
    is_certain: bool,
    us: u64,
    requests: u64,
}

impl WaitSums {
    /// Sums what some requests of a worker wait for; `key` gives the number below `keys` that a context is counted under.
    pub fn observe(
        set: &TraceSet,
        table: &PathTable,
        requests: &[u32],
        keys: usize,
        key: impl Fn(u32) -> u32,
    ) -> WaitSums {
        let all = || {
            requests.iter().flat_map(move |&request| table.waits(request).iter().map(move |w| (request, w)))
        };
        let mut symbols: Vec<u32> = Vec::new();
        // Where the waits of each key lie, together.
        let mut ends = vec![0u32; keys];
        for (_, wait) in all() {
            ends[key(wait.context) as usize] += 1;
            if symbols.last() != Some(&wait.callee.0) {
                symbols.push(wait.callee.0);
            }
        }
        symbols.sort_unstable();
        symbols.dedup();
        let mut before = 0;
        for end in &mut ends {
            before += std::mem::replace(end, before);
        }
        // (callee, request, certain, us) of each.
        let mut waits = vec![(0u32, 0u32, false, 0u64); before as usize];
        for (request, wait) in all() {
            let place = &mut ends[key(wait.context) as usize];
            let callee = symbols.partition_point(|&symbol| symbol < wait.callee.0);
            waits[*place as usize] = (callee as u32, request, wait.is_certain, wait.us);
            *place += 1;
        }
        let mut out = WaitSums {
            callees: symbols.iter().map(|&symbol| set.names.get(Symbol(symbol)).to_owned()).collect(),
            sums: Vec::new(),
        };
        let mut from = 0;
        for (key, &end) in (0..).zip(&ends) {
            let waits = &mut waits[from as usize..end as usize];
            from = end;
            // Stable: those of one request stay together.
            waits.arrange_by_key(|wait| wait.0);
            let mut last = None;
            for &(callee, request, is_certain, us) in waits.iter() {
                let is_new = last != Some((callee, request));
                last = Some((callee, request));
                out.add(WaitSum { key, callee, is_certain, us, requests: u64::from(is_new) });
            }
        }
        out
    }

    /// Appends a sum, or adds it to the last one if that is of the same key and service.
    fn add(&mut self, more: WaitSum) {
        match self.sums.last_mut() {
            Some(sum) if (sum.key, sum.callee) == (more.key, more.callee) => {
                sum.us = sum.us.saturating_add(more.us);
                sum.requests += more.requests;
                sum.is_certain &= more.is_certain;
            }
            _ => self.sums.push(more),
        }
    }

    /// Joins what disjoint requests wait for; each part comes with the number that each of its keys has now.
    pub fn merge(parts: Vec<(WaitSums, &[u32])>) -> WaitSums {
        let mut callees: Vec<String> =
            parts.iter().flat_map(|(part, _)| part.callees.iter().cloned()).collect();
        callees.arrange();
        callees.dedup();
        let mut sums = Vec::with_capacity(parts.iter().map(|(part, _)| part.sums.len()).sum());
        for (part, key_of) in parts {
            let number = |name: &String| callees.partition_point(|callee| callee < name) as u32;
            let callee_of: Vec<u32> = part.callees.iter().map(number).collect();
            sums.extend(part.sums.into_iter().map(|sum| WaitSum {
                key: key_of[sum.key as usize],
                callee: callee_of[sum.callee as usize],
                ..sum
            }));
        }
        sums.arrange_by_key(|sum| (sum.key, sum.callee));
        let mut out = WaitSums { callees, sums: Vec::with_capacity(sums.len()) };
        sums.into_iter().for_each(|sum| out.add(sum));
        out
    }

    /// Takes out, key by key from 0 on, what requests with that key wait for, by name of the service.
    pub fn by_key(&self) -> impl FnMut(u32) -> Vec<Waiting> + '_ {
        let mut rest = self.sums.as_slice();
        move |key| {
            let sums = rest.iter().take_while(|sum| sum.key == key).count();
            let (here, after) = rest.split_at(sums);
            rest = after;
            let waiting = |sum: &WaitSum| Waiting {
                callee: self.callees[sum.callee as usize].clone(),
                us: sum.us,
                requests: sum.requests,
                is_certain: sum.is_certain,
            };
            here.iter().map(waiting).collect()
        }
    }
}
