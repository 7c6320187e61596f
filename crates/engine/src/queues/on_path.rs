//! The messages that requests lead to until everything is done, with what each takes of the way to the end
//! (`docs/definitions/verdict.md` section 12).

use super::observe::{EdgeKey, EdgePart, QueuesPart, ReceivedBy, example, queue_between, since_us};
use super::report::QueueExample;
use crate::flame::done::DonePath;
use crate::flame::{Observer, PathTable, pack_sorted};
use pathlight_base::statistics::Moments;
use pathlight_trace::{EndpointId, Interner, SpanKind, Symbol, TraceSet, Tree};
use rustc_hash::FxHashMap;
use std::cmp::Reverse;

/// Messages of one edge.
#[derive(Default)]
struct Messages {
    waits_us: Vec<u64>,
    /// Time of each on the path.
    path_us: Vec<u64>,
    /// That of the request at hand, and of all.
    in_request_us: u64,
    by_request: Moments,
    early: u64,
    consumed: u64,
    requests: u64,
    latency_sum_us: u128,
    /// The last request that leads to one.
    last: Option<u32>,
    longest: QueueExample,
}

/// Collects the messages of the requests of one worker.
pub(super) struct PathObserver {
    done: DonePath,
    destinations: Interner,
    edges: FxHashMap<EdgeKey, Messages>,
    /// Edges of the request at hand.
    touched: Vec<EdgeKey>,
}

impl PathObserver {
    /// Returns an observer of requests whose paths are found so.
    pub fn new(done: DonePath) -> PathObserver {
        let destinations = Interner::default();
        PathObserver { done, destinations, edges: FxHashMap::default(), touched: Vec::new() }
    }
}

impl Observer for PathObserver {
    type Part = QueuesPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let PathObserver { done, destinations, edges, touched } = self;
        let entry = &table.requests[request as usize];
        done.find(set, tree, entry.row - tree.first);
        // By row of the receiver; few.
        let on_path: Vec<(u32, u64)> = (done.parts(tree).filter_map(|part| part.message))
            .map(|message| (message.receiver, message.end_us - message.start_us))
            .collect();
        for unit in done.units(tree) {
            let Some((sending, sender)) = unit.sent_by else { continue };
            let (row, sender_row) = (unit.tree.row(unit.top), sending.row(sender));
            let start_us = unit.tree.start_us[unit.top as usize];
            let sent_us = sending.raw_start_us(set, sender);
            let since_us = since_us(sent_us, sent_us.saturating_add(set.duration_us(sender_row)), start_us);
            let wait_us = start_us.saturating_sub(since_us);
            let path_us = on_path.iter().find(|of| of.0 == row).map_or(0, |of| of.1);
            let named = queue_between(set, sender_row, row);
            let key = (set.endpoint(sender_row).0, set.endpoint(row).0, destinations.intern(named).0);
            let messages = edges.entry(key).or_default();
            if messages.last.replace(request) != Some(request) {
                touched.push(key);
                messages.requests += 1;
                messages.latency_sum_us += u128::from(entry.latency_us);
            }
            messages.in_request_us += path_us;
            messages.early += u64::from(start_us < since_us);
            messages.consumed += u64::from(set.kind(row) == SpanKind::Consumer);
            if messages.waits_us.is_empty() || wait_us >= messages.longest.wait_us {
                let found = example(set, &[], (wait_us, sender_row, ReceivedBy::Row(row)));
                let order = |of: &QueueExample| (Reverse(of.wait_us), of.clone());
                if messages.waits_us.is_empty() || order(&found) < order(&messages.longest) {
                    messages.longest = found;
                }
            }
            messages.waits_us.push(wait_us);
            messages.path_us.push(path_us);
        }
        for key in touched.drain(..) {
            if let Some(messages) = edges.get_mut(&key) {
                messages.by_request.add(std::mem::take(&mut messages.in_request_us));
            }
        }
    }

    fn finish(self, set: &TraceSet) -> QueuesPart {
        let name = |endpoint: u32| set.owned_endpoint(EndpointId(endpoint));
        let mut part = QueuesPart::default();
        for ((sender, receiver, named), messages) in self.edges {
            let sorted = |mut us: Vec<u64>| {
                us.sort_unstable();
                pack_sorted(us)
            };
            let named = self.destinations.get(Symbol(named)).to_owned();
            let edge = EdgePart {
                fan_in: [(1, messages.waits_us.len() as u64)].into_iter().collect(),
                waits_us: sorted(messages.waits_us),
                path_us: sorted(messages.path_us),
                by_request: messages.by_request,
                early: messages.early,
                consumed: messages.consumed,
                requests: messages.requests,
                latency_sum_us: messages.latency_sum_us,
                longest: messages.longest,
            };
            part.edges.insert((name(sender), name(receiver), named), edge);
        }
        part
    }
}
