//! The calls that processes make, of whom and when: what the limits of [`pool_waits`](super::pool_waits) follow from.

use crate::flame::{Observer, PathFinder, PathTable};
use crate::requests::RequestRef;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use pathlight_base::statistics::{Weight, mix};
use pathlight_trace::calls::{callees, is_call, process_of};
use pathlight_trace::{EndpointId, Interner, Overlap, Role, SpanKind, Symbol, TraceSet, Tree, hash_text};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Calls that are kept at most, those that begin first: 12 MB of a worker.
const MOST_CALLS: usize = if cfg!(debug_assertions) { 1 << 15 } else { 1 << 18 };
/// Requests with long gaps whose ids are kept, of each process and callee.
const MOST_LONGEST: usize = 8;
/// Of a span that is no call.
const NO_PAIR: u32 = u32::MAX;

/// A process that calls, and whom.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Pair {
    pub service: String,
    /// Empty if the input names none: then all spans of the service are of one process.
    pub host: String,
    /// The service that answers; else the peer that tags name, or the operation.
    pub callee: String,
}

/// One call. Its times are those of the clock of the process that makes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Call {
    pub start_us: u64,
    pub us: u64,
    /// Time from the end of what came before in the span that makes it, or from the start of that.
    pub gap_us: u64,
    /// A hash of the request's ids.
    pub request: u64,
    /// A hash of what the gap lies between: the span that makes the call, what came before, and the call.
    pub place: u64,
    /// Whether it is on the critical path of its request, and so is the gap.
    pub is_on_path: bool,
}

/// A request with a long gap: how long, the hash of its ids, and these.
type Long = (Reverse<u64>, u64, RequestRef);

/// The calls of one process and callee.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PairCalls {
    pub calls: Vec<Call>,
    /// The longest gaps on critical paths, longest first.
    pub longest: Vec<Long>,
}

impl PairCalls {
    fn merge(&mut self, other: PairCalls) {
        self.calls.extend(other.calls);
        self.longest.extend(other.longest);
        self.shorten();
    }

    fn shorten(&mut self) {
        self.longest.sort_unstable();
        self.longest.truncate(MOST_LONGEST);
    }
}

/// The calls of some requests.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct PoolCalls {
    /// Some requests stand for several: how many calls really ran at once is not known.
    pub is_sampled: bool,
    /// From this time on, in microseconds since the epoch, no calls are known.
    until_us: Option<u64>,
    pub pairs: BTreeMap<Pair, PairCalls>,
}

impl PoolCalls {
    /// Joins the calls of disjoint requests; the result does not depend on their order.
    pub fn merge(parts: Vec<PoolCalls>) -> PoolCalls {
        let mut sum = PoolCalls::default();
        for part in parts {
            sum.is_sampled |= part.is_sampled;
            sum.until_us = [sum.until_us, part.until_us].into_iter().flatten().min();
            for (pair, calls) in part.pairs {
                sum.pairs.entry(pair).or_default().merge(calls);
            }
        }
        let mut all: Vec<&mut Vec<Call>> = sum.pairs.values_mut().map(|of| &mut of.calls).collect();
        sum.until_us = cut(&mut all, sum.until_us);
        for of in sum.pairs.values_mut() {
            of.calls.sort_unstable();
        }
        sum
    }
}

/// Keeps the calls that begin first, and before `until_us` if there is such a time; returns from when on none is kept.
fn cut(pairs: &mut [&mut Vec<Call>], until_us: Option<u64>) -> Option<u64> {
    let mut starts: Vec<u64> =
        pairs.iter().flat_map(|calls| calls.iter().map(|call| call.start_us)).collect();
    let first_left_out = (starts.len() > MOST_CALLS).then(|| *starts.select_nth_unstable(MOST_CALLS).1);
    let until_us = [until_us, first_left_out].into_iter().flatten().min();
    if let Some(until_us) = until_us {
        pairs.iter_mut().for_each(|calls| calls.retain(|call| call.start_us < until_us));
    }
    until_us
}

/// All calls by process and callee.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PoolCallsPass;

impl RequestPass for PoolCallsPass {
    type Part = PoolCalls;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = PoolCallsObserver::new(over.set, over.settings.overlap);
        over.walk(observer)
    }
}

/// Looks at the requests of one worker.
struct PoolCallsObserver {
    overlap: Overlap,
    finder: PathFinder,
    /// By endpoint.
    hashes: Vec<u64>,
    /// Names of callees, and by tag set the peer that it names.
    callees: Interner,
    peers: FxHashMap<u32, Symbol>,
    /// By service and host of the process, and callee.
    numbers: FxHashMap<(Symbol, Symbol, Symbol), u32>,
    pairs: Vec<PairCalls>,
    kept: usize,
    until_us: Option<u64>,
    is_sampled: bool,
    /// By span of the request: number of its pair, and whether it is on the path.
    pair_of: Vec<u32>,
    is_on_path: Vec<bool>,
    /// Children of a span that it waits for: end, start and number.
    siblings: Vec<(u64, u64, u32)>,
}

impl PoolCallsObserver {
    fn new(set: &TraceSet, overlap: Overlap) -> PoolCallsObserver {
        let hash = |(service, operation): (&str, &str)| mix(hash_text(service) ^ mix(hash_text(operation)));
        PoolCallsObserver {
            overlap,
            finder: PathFinder::default(),
            hashes: set.endpoints().map(hash).collect(),
            callees: Interner::default(),
            peers: FxHashMap::default(),
            numbers: FxHashMap::default(),
            pairs: Vec::new(),
            kept: 0,
            until_us: None,
            is_sampled: false,
            pair_of: Vec::new(),
            is_on_path: Vec::new(),
            siblings: Vec::new(),
        }
    }

    /// Returns whom a call asks.
    fn callee(&mut self, set: &TraceSet, tree: &Tree, call: u32) -> Symbol {
        if let Some(callee) = callees(set, tree, call).next() {
            return self.callees.intern(set.names.get(set.process_of(tree.row(callee)).service));
        }
        let row = tree.row(call);
        let callees = &mut self.callees;
        let peer = *self
            .peers
            .entry(set.tag_set(row).0)
            .or_insert_with(|| set.peer(row).map_or(Symbol::NONE, |peer| callees.intern(&peer)));
        match peer {
            Symbol::NONE => callees.intern(set.endpoint_name(set.recorded_endpoint(row)).1),
            peer => peer,
        }
    }

    /// Finds which spans of a request are calls, of which pair.
    fn find_calls(&mut self, set: &TraceSet, tree: &Tree, root: u32) {
        self.pair_of.clear();
        for span in root..tree.subtree_end[root as usize] {
            let row = tree.row(span);
            let is_waited_for = matches!(tree.role[span as usize], Role::Root | Role::Sync);
            let is_it = match set.kind(row) {
                SpanKind::Client => is_waited_for || tree.role[span as usize] == Role::Async,
                SpanKind::Unspecified => is_call(set, tree, span),
                SpanKind::Internal | SpanKind::Server | SpanKind::Consumer | SpanKind::Producer => false,
            };
            if !is_it {
                self.pair_of.push(NO_PAIR);
                continue;
            }
            let (service, host) = process_of(set, row);
            let key = (service, host, self.callee(set, tree, span));
            let next = self.numbers.len() as u32;
            let pair = *self.numbers.entry(key).or_insert(next);
            if pair == next {
                self.pairs.push(PairCalls::default());
            }
            // A call within a call of the same callee is that call once more.
            let above = tree.parent_of(span).filter(|_| span != root);
            let is_again = above.is_some_and(|above| self.pair_of[(above - root) as usize] == pair);
            self.pair_of.push(if is_again { NO_PAIR } else { pair });
        }
    }

    fn add(&mut self, pair: u32, call: Call, name: impl FnOnce() -> RequestRef) {
        if self.until_us.is_some_and(|until_us| call.start_us >= until_us) {
            return;
        }
        let of = &mut self.pairs[pair as usize];
        of.calls.push(call);
        self.kept += 1;
        let is_full = of.longest.len() == MOST_LONGEST;
        if call.is_on_path && !(is_full && of.longest.last().is_some_and(|last| last.0.0 >= call.gap_us)) {
            of.longest.push((Reverse(call.gap_us), call.request, name()));
            of.shorten();
        }
        if self.kept > 2 * MOST_CALLS {
            let mut all: Vec<&mut Vec<Call>> = self.pairs.iter_mut().map(|of| &mut of.calls).collect();
            self.until_us = cut(&mut all, self.until_us);
            self.kept = all.iter().map(|calls| calls.len()).sum();
        }
    }
}

impl Observer for PoolCallsObserver {
    type Part = PoolCalls;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let facts = &table.requests[request as usize];
        self.is_sampled |= set.has_weights() && set.weight(facts.trace) != Weight::ONE;
        if self.is_sampled {
            return;
        }
        let root = facts.row - tree.first;
        self.find_calls(set, tree, root);
        if self.pair_of.iter().all(|&pair| pair == NO_PAIR) {
            return;
        }
        self.finder.find(set, tree, root, self.overlap);
        self.is_on_path.clear();
        self.is_on_path.resize(self.pair_of.len(), false);
        self.finder.entries().iter().for_each(|entry| self.is_on_path[(entry.span - root) as usize] = true);
        let trace = set.traces()[facts.trace as usize].id.content_hash(&set.id_texts);
        let ids = mix(trace ^ mix(set.span_id(facts.row).bits));
        let call = |span: u32, gap_us: u64, place: u64, is_on_path: bool| {
            let row = tree.row(span);
            let (start_us, us) = (set.start_us(row), set.duration_us(row));
            Call { start_us, us, gap_us, request: ids, place, is_on_path }
        };
        if self.pair_of[0] != NO_PAIR {
            self.add(self.pair_of[0], call(root, 0, 0, false), || RequestRef::of(set, facts));
        }
        for parent in root..tree.subtree_end[root as usize] {
            if !tree.children(parent).any(|child| self.pair_of[(child - root) as usize] != NO_PAIR) {
                continue;
            }
            let of_child = |child: u32| (tree.end_us[child as usize], tree.start_us[child as usize], child);
            let mut siblings = std::mem::take(&mut self.siblings);
            siblings.clear();
            siblings.extend(tree.sync_children(parent).map(of_child));
            siblings.sort_unstable();
            let hash = |span: u32| self.hashes.get(named(set, tree, span)).copied().unwrap_or_default();
            let places: Vec<(u32, Call)> = tree
                .children(parent)
                .filter(|child| self.pair_of[(child - root) as usize] != NO_PAIR)
                .map(|child| {
                    let start_us = tree.start_us[child as usize];
                    let ended = siblings.partition_point(|sibling| sibling.0 <= start_us);
                    // One that takes no time has ended when it begins.
                    let before = siblings[..ended].iter().rev().find(|sibling| sibling.2 != child);
                    let ready_us = before.map_or(tree.start_us[parent as usize], |before| before.0);
                    let place = before.map_or(0, |before| hash(before.2));
                    let place = mix(hash(parent) ^ mix(place ^ mix(hash(child))));
                    let is_on_path = self.is_on_path[(child - root) as usize];
                    (child, call(child, start_us.saturating_sub(ready_us), place, is_on_path))
                })
                .collect();
            self.siblings = siblings;
            for (child, call) in places {
                self.add(self.pair_of[(child - root) as usize], call, || RequestRef::of(set, facts));
            }
        }
    }

    fn finish(mut self, set: &TraceSet) -> PoolCalls {
        let mut all: Vec<&mut Vec<Call>> = self.pairs.iter_mut().map(|of| &mut of.calls).collect();
        self.until_us = cut(&mut all, self.until_us);
        let name =
            |symbol: Symbol| if symbol == Symbol::NONE { "" } else { set.names.get(symbol) }.to_owned();
        let named = self.numbers.into_iter().map(|((service, host, callee), number)| {
            let callee = self.callees.get(callee).to_owned();
            (Pair { service: name(service), host: name(host), callee }, number)
        });
        let mut pairs = BTreeMap::new();
        for (pair, number) in named {
            pairs.insert(pair, std::mem::take(&mut self.pairs[number as usize]));
        }
        if self.is_sampled {
            pairs.clear();
        }
        PoolCalls { is_sampled: self.is_sampled, until_us: self.until_us, pairs }
    }
}

fn named(set: &TraceSet, tree: &Tree, span: u32) -> usize {
    let EndpointId(number) = set.named_endpoint(tree.row(span));
    number as usize
}
