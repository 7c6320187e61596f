//! The second pass: what requests spend where, what the tail of each type does otherwise than its faster half, and what
//! is odd about their structure.

use super::redundant::{Redundant, RedundantSums};
use super::siblings::{SiblingSums, Siblings};
use super::structure::{Durations, RetrySums, Structure};
use super::{Outside, OutsidePart};
use crate::flame::{Collapser, Observer, PathTable};
use crate::requests::{RequestRef, RequestTypes, TypeCut, Weighing};
use pathlight_base::statistics::{Sample, Weight, WeightedSum, Weights};
use pathlight_trace::calls::{process_name, process_of};
use pathlight_trace::{Endpoint, EndpointId, Flags, NO_ROW, Role, Symbol, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

/// A callee that begins this much before its call has another clock.
const SKEW_US: i128 = 1_000;

/// Time on the critical path in one endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PathSums {
    /// Exclusive time of each request that has it on its path.
    pub time: Sample,
    /// The part of the time in requests in which it has calls of its own.
    pub between_us: WeightedSum,
    /// Requests in which errors begin in it.
    pub failing: Weights,
}

/// What calls wait for a service.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WaitSums {
    /// Time on the critical path.
    pub us: WeightedSum,
    /// The caller's own work may be in it.
    pub is_unsure: bool,
}

impl WaitSums {
    fn merge(&mut self, other: WaitSums) {
        self.us.merge(other.us);
        self.is_unsure |= other.is_unsure;
    }
}

/// One endpoint in the requests of a type: its time on the path in the faster half and in the tail.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TailSums {
    pub fast: Sample,
    pub tail: Sample,
    /// Least and greatest latency of the tail's requests with it, and all of them.
    pub latency_us: (u64, u64),
    pub latencies_us: Sample,
}

/// Requests of a type with and without errors.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ErrorSums {
    pub latency: Sample,
    /// Of these, the requests whose root is in error.
    pub of_failed_root: Sample,
    pub without: Sample,
}

/// The accumulator of the second pass.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FindingsPart {
    pub(super) latency: Sample,
    pub(super) endpoints: BTreeMap<Endpoint, PathSums>,
    /// By number of the cut, and endpoint.
    pub(super) tails: BTreeMap<(u32, Endpoint), TailSums>,
    /// Sums by the number of the cut.
    pub(super) errors: BTreeMap<u32, ErrorSums>,
    /// The slowest request of each cut, and of those in which errors begin in an endpoint.
    pub(super) slowest: BTreeMap<u32, RequestRef>,
    pub(super) failing: BTreeMap<Endpoint, RequestRef>,
    pub(super) retries: BTreeMap<Endpoint, RetrySums>,
    pub(super) redundant: BTreeMap<Endpoint, RedundantSums>,
    /// The slowest request with repeated calls of an endpoint.
    pub(super) repeating: BTreeMap<Endpoint, RequestRef>,
    pub(super) durations: BTreeMap<Endpoint, Durations>,
    /// The longest stretches in which no call runs, of spans that make calls.
    pub(super) stretches: BTreeMap<Endpoint, Durations>,
    /// What calls wait on the critical path outside their callee, by call and service waited for.
    pub(super) waits: BTreeMap<(Endpoint, String), WaitSums>,
    pub(super) siblings: SiblingSums,
    /// Traces, and those of which every root lacks its parent.
    pub(super) traces: u64,
    pub(super) rootless: u64,
    /// By the processes of a call and of its callee: spans that begin before their call, or lie outside it.
    pub(super) skewed: BTreeMap<(String, String), u64>,
    /// Spans, and those without parent, left out, cut.
    pub(super) spans: u64,
    pub(super) orphans: u64,
    pub(super) dropped: u64,
    pub(super) clipped: u64,
    /// What no request waits for.
    pub(super) outside: OutsidePart,
}

impl ErrorSums {
    /// Returns latencies of the requests that have an error below their root alone.
    pub fn with_root_that_did_not_fail(&self) -> Sample {
        self.latency.without(&self.of_failed_root)
    }
}

/// Keeps the slower of two requests; of equally slow ones the first by id.
fn slower(into: &mut RequestRef, other: RequestRef) {
    let key = |r: &RequestRef| (std::cmp::Reverse(r.latency_us), r.trace_id.clone(), r.root_span_id.clone());
    if key(&other) < key(into) {
        *into = other;
    }
}

fn join<K: Ord, V>(into: &mut BTreeMap<K, V>, from: BTreeMap<K, V>, mut merge: impl FnMut(&mut V, V)) {
    for (key, value) in from {
        match into.entry(key) {
            Entry::Vacant(place) => {
                place.insert(value);
            }
            Entry::Occupied(known) => merge(known.into_mut(), value),
        }
    }
}

impl FindingsPart {
    /// Joins parts of disjoint requests.
    pub fn merge(parts: Vec<FindingsPart>) -> FindingsPart {
        let mut parts = parts.into_iter();
        let mut all = parts.next().unwrap_or_default();
        let path = |into: &mut PathSums, from: PathSums| {
            into.time.merge(&from.time);
            into.between_us.merge(from.between_us);
            into.failing.merge(&from.failing);
        };
        for part in parts {
            all.latency.merge(&part.latency);
            join(&mut all.endpoints, part.endpoints, path);
            join(&mut all.tails, part.tails, |into, from| {
                if into.tail.n() == 0 {
                    into.latency_us = from.latency_us;
                } else if from.tail.n() > 0 {
                    into.latency_us.0 = into.latency_us.0.min(from.latency_us.0);
                    into.latency_us.1 = into.latency_us.1.max(from.latency_us.1);
                }
                into.fast.merge(&from.fast);
                into.tail.merge(&from.tail);
                into.latencies_us.merge(&from.latencies_us);
            });
            join(&mut all.errors, part.errors, |into, from| {
                into.latency.merge(&from.latency);
                into.of_failed_root.merge(&from.of_failed_root);
                into.without.merge(&from.without);
            });
            join(&mut all.slowest, part.slowest, slower);
            join(&mut all.failing, part.failing, slower);
            join(&mut all.retries, part.retries, RetrySums::merge);
            join(&mut all.redundant, part.redundant, RedundantSums::merge);
            join(&mut all.repeating, part.repeating, slower);
            join(&mut all.durations, part.durations, Durations::merge);
            join(&mut all.stretches, part.stretches, Durations::merge);
            join(&mut all.waits, part.waits, WaitSums::merge);
            all.siblings.merge(part.siblings);
            all.traces += part.traces;
            all.rootless += part.rootless;
            join(&mut all.skewed, part.skewed, |into, from| *into += from);
            all.spans += part.spans;
            all.orphans += part.orphans;
            all.dropped += part.dropped;
            all.clipped += part.clipped;
            all.outside.merge(part.outside);
        }
        all
    }
}

/// Sums the requests of one worker.
pub struct FindingsObserver {
    weighing: Weighing,
    cuts: Vec<TypeCut>,
    types: Arc<RequestTypes>,
    /// By number of the type: that of its cut, [`NO_ROW`] if none.
    cut_of: Vec<u32>,
    collapser: Collapser,
    structure: Structure,
    siblings: Siblings,
    redundant: Redundant,
    /// By the processes of a call and of its callee, each service and host.
    skewed: FxHashMap<[(Symbol, Symbol); 2], u64>,
    endpoints: Vec<PathSums>,
    tails: FxHashMap<(u32, u32), TailSums>,
    failing: BTreeMap<u32, RequestRef>,
    repeating: BTreeMap<u32, RequestRef>,
    /// By endpoint: the request in which it was seen last with a call of its own, and in which errors began in it.
    has_calls: Vec<u64>,
    has_failed: Vec<u64>,
    inclusive_us: FxHashMap<u32, u64>,
    /// By endpoint of the call and number of the service's name.
    waits: FxHashMap<(u32, u32), WaitSums>,
    number: u64,
    last_trace: Option<u32>,
    outside: Outside,
    part: FindingsPart,
}

impl FindingsObserver {
    /// Returns an observer of requests of this set, which are of these types, divided by these cuts.
    pub fn new(
        set: &TraceSet,
        types: Arc<RequestTypes>,
        cuts: &[TypeCut],
        is_until_done: bool,
        weighing: Weighing,
    ) -> FindingsObserver {
        let endpoints = set.endpoints().len();
        let numbers: BTreeMap<_, u32> = cuts.iter().map(|cut| &cut.name).zip(0..).collect();
        let cut_of = types.names().iter().map(|name| numbers.get(name).copied().unwrap_or(NO_ROW)).collect();
        FindingsObserver {
            weighing,
            cuts: cuts.to_vec(),
            types,
            cut_of,
            collapser: Collapser::new(set),
            structure: Structure::new(set),
            siblings: Siblings::new(set),
            redundant: Redundant::new(set),
            skewed: FxHashMap::default(),
            endpoints: vec![PathSums::default(); endpoints],
            tails: FxHashMap::default(),
            failing: BTreeMap::new(),
            repeating: BTreeMap::new(),
            has_calls: vec![0; endpoints],
            has_failed: vec![0; endpoints],
            inclusive_us: FxHashMap::default(),
            waits: FxHashMap::default(),
            number: 0,
            last_trace: None,
            outside: Outside::new(is_until_done),
            part: FindingsPart::default(),
        }
    }

    /// Looks at every span of the request, once: whether errors begin in it, whether and how it calls anything.
    fn sweep(&mut self, set: &TraceSet, tree: &Tree, root: u32, weight: Weight) -> Vec<u32> {
        let mut origins = Vec::new();
        self.structure.weight = weight;
        self.siblings.weight = weight;
        for i in root..tree.subtree_end[root as usize] {
            let row = tree.row(i);
            if tree.role[i as usize] == Role::Dropped {
                continue;
            }
            let endpoint = set.endpoint(row).0;
            let is_leaf = tree.subtree_end[i as usize] == i + 1;
            if !is_leaf && tree.sync_children(i).next().is_some() {
                self.has_calls[endpoint as usize] = self.number;
            }
            self.structure.look(set, tree, (root, i), endpoint);
            if !is_leaf {
                self.siblings.look(set, tree, i, endpoint);
            }
            if set.flags(row).has(Flags::ERROR) {
                let is_own = tree.children(i).all(|child| !set.flags(tree.row(child)).has(Flags::ERROR));
                if is_own && self.has_failed[endpoint as usize] != self.number {
                    self.has_failed[endpoint as usize] = self.number;
                    origins.push(endpoint);
                }
            }
        }
        if self.redundant.is_on() {
            (root + 1..tree.subtree_end[root as usize]).for_each(|i| self.redundant.look(set, tree, i));
        }
        origins
    }

    /// Takes note of the data quality of a trace, once.
    fn inspect(&mut self, set: &TraceSet, tree: &Tree) {
        if self.last_trace.replace(tree.trace) == Some(tree.trace) {
            return;
        }
        self.outside.look(set, tree);
        let (part, shape) = (&mut self.part, set.traces()[tree.trace as usize].shape);
        part.traces += 1;
        part.rootless += u64::from(shape.is_incomplete());
        part.spans += tree.len() as u64;
        part.orphans += u64::from(shape.orphans);
        for i in 0..tree.len() as u32 {
            if let Some(pair) = skewed(set, tree, i) {
                *self.skewed.entry(pair).or_default() += 1;
            }
            match tree.role[i as usize] {
                Role::Dropped => part.dropped += 1,
                Role::Sync => {
                    let raw = set.duration_us(tree.row(i));
                    part.clipped += u64::from(tree.duration_us(i) < raw);
                }
                _ => {}
            }
        }
    }
}

impl Observer for FindingsObserver {
    type Part = FindingsPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let facts = &table.requests[request as usize];
        let (root, latency_us) = (facts.row - tree.first, facts.latency_us);
        self.number += 1;
        self.inspect(set, tree);
        let weight = self.weighing.weight(set, facts);
        let origins = self.sweep(set, tree, root, weight);
        self.part.latency.add(latency_us, weight);
        let cut = self.cut_of[self.types.of(request) as usize];
        let (is_fast, is_tail) = self.cuts.get(cut as usize).map_or((false, false), |cut| {
            let is_tail = cut.tail_from_us.is_some_and(|from| latency_us >= from);
            (cut.tail_from_us.is_some() && latency_us <= cut.fast_to_us, is_tail)
        });
        for wait in table.waits(request) {
            let call = table.contexts()[wait.context as usize].1.0;
            let sums = self.waits.entry((call, wait.callee.0)).or_default();
            sums.us.add(wait.us, weight);
            sums.is_unsure |= !wait.is_certain;
        }
        self.inclusive_us.clear();
        for entry in self.collapser.collapse(table, request) {
            let endpoint = entry.endpoint.0;
            let us = entry.exclusive_us;
            let between_us = if self.has_calls[endpoint as usize] == self.number { us } else { 0 };
            let sums = &mut self.endpoints[endpoint as usize];
            sums.time.add(us, weight);
            sums.between_us.add(between_us, weight);
            self.inclusive_us.insert(endpoint, entry.inclusive_us);
            if is_fast || is_tail {
                let sums = self.tails.entry((cut, endpoint)).or_default();
                if is_fast {
                    sums.fast.add(us, weight);
                } else {
                    let (low, high) = sums.latency_us;
                    let is_first = sums.tail.n() == 0;
                    sums.latency_us =
                        (if is_first { latency_us } else { low.min(latency_us) }, high.max(latency_us));
                    sums.tail.add(us, weight);
                    sums.latencies_us.add(latency_us, weight);
                }
            }
        }
        let errors = self.part.errors.entry(cut).or_default();
        if facts.errors > 0 {
            errors.latency.add(latency_us, weight);
            if set.flags(facts.row).has(Flags::ERROR) {
                errors.of_failed_root.add(latency_us, weight);
            }
        } else {
            errors.without.add(latency_us, weight);
        }
        for endpoint in origins {
            self.endpoints[endpoint as usize].failing.add(weight);
            note_slowest(&mut self.failing, endpoint, set, facts);
        }
        if cut != NO_ROW {
            note_slowest(&mut self.part.slowest, cut, set, facts);
        }
        let inclusive_us = &self.inclusive_us;
        let on_path_us = |endpoint: u32| inclusive_us.get(&endpoint).copied().unwrap_or(0);
        self.structure.end_request(|endpoint| on_path_us(endpoint.0));
        let repeating = &mut self.repeating;
        self.redundant
            .end_request(weight, on_path_us, |endpoint| note_slowest(repeating, endpoint, set, facts));
    }

    fn finish(self, set: &TraceSet) -> FindingsPart {
        let name = |number: u32| set.owned_endpoint(EndpointId(number));
        let mut part = self.part;
        part.outside = self.outside.finish(set);
        for (number, sums) in self.endpoints.into_iter().enumerate() {
            if sums.time.n() + sums.failing.seen > 0 {
                part.endpoints.insert(name(number as u32), sums);
            }
        }
        part.tails = self.tails.into_iter().map(|((cut, e), sums)| ((cut, name(e)), sums)).collect();
        part.failing = self.failing.into_iter().map(|(e, request)| (name(e), request)).collect();
        let waits = self.waits.into_iter();
        part.waits = waits
            .map(|((call, callee), times)| ((name(call), set.names.get(Symbol(callee)).to_owned()), times))
            .collect();
        let structure = self.structure;
        part.retries = structure.retries.into_iter().map(|(e, sums)| (name(e), sums)).collect();
        let named = |of: Vec<Durations>| {
            let of = of.into_iter().enumerate().filter(|(_, of)| of.spans > 0);
            of.map(|(endpoint, of)| (name(endpoint as u32), of)).collect()
        };
        part.durations = named(structure.durations);
        part.stretches = named(structure.stretches);
        part.siblings = self.siblings.finish(set);
        part.redundant = self.redundant.sums.into_iter().map(|(e, sums)| (name(e), sums)).collect();
        part.repeating = self.repeating.into_iter().map(|(e, request)| (name(e), request)).collect();
        let process = |process| process_name(set, process);
        part.skewed =
            self.skewed.into_iter().map(|([a, b], spans)| ((process(a), process(b)), spans)).collect();
        part
    }
}

/// Returns the processes of a span's parent and of the span, if it begins a millisecond before its parent, or lies
/// outside it, although clocks were set: what ends after its parent may be a call that was given up, but nothing
/// begins before it is called.
fn skewed(set: &TraceSet, tree: &Tree, span: u32) -> Option<[(Symbol, Symbol); 2]> {
    let parent = tree.parent_of(span).filter(|&parent| tree.role[parent as usize] != Role::Dropped)?;
    let is_skewed = match tree.role[span as usize] {
        Role::Dropped => true,
        Role::Sync => {
            let start_us = |of| i128::from(set.start_us(tree.row(of))) + i128::from(tree.clock_shift_us(of));
            start_us(span) + SKEW_US < start_us(parent)
        }
        _ => false,
    };
    let pair = [parent, span].map(|span| process_of(set, tree.row(span)));
    (is_skewed && pair[0] != pair[1]).then_some(pair)
}

/// Keeps a request if it is slower than the one known.
fn note_slowest(
    known: &mut BTreeMap<u32, RequestRef>,
    key: u32,
    set: &TraceSet,
    request: &crate::requests::RequestEntry,
) {
    match known.get_mut(&key) {
        // Most are faster: their ids need not be written.
        Some(into) if into.latency_us > request.latency_us => {}
        Some(into) => slower(into, RequestRef::of(set, request)),
        None => {
            known.insert(key, RequestRef::of(set, request));
        }
    }
}
