//! Stretches of critical paths without a span: the accumulator.

use crate::flame::{Observer, PathFinder, PathTable, Segment};
use crate::requests::Weighing;
use crate::verdict::answer_of_other_service;
use pathlight_base::statistics::Weight;
use pathlight_trace::{Endpoint, EndpointId, NO_ROW, Overlap, SpanKind, Symbol, TagSetId, TraceSet, Tree};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Tags of processes that say in which language a service is written.
const LANGUAGE_KEY: &str = "telemetry.sdk.language";
/// What Jaeger's own clients say of themselves, such as `Go-2.30.0`.
const CLIENT_KEY: &str = "jaeger.version";

/// A place where a stretch lies.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub(super) struct Place {
    pub endpoint: Endpoint,
    /// The call that ends before it, and the call that begins after it; `None` where the span itself begins or ends.
    pub previous: Option<Endpoint>,
    pub next: Option<Endpoint>,
    /// What the span calls, if nothing answers that has spans; empty if nobody knows its name.
    pub callee: Option<String>,
}

/// Lengths of stretches, by the units of the weights of their requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Stretches {
    pub n: u128,
    /// Microseconds.
    pub us: u128,
    /// Their squares.
    pub squares: u128,
}

impl Stretches {
    fn add(&mut self, us: u64, weight: Weight) {
        let (us, units) = (u128::from(us), u128::from(weight.units()));
        self.n = self.n.saturating_add(units);
        self.us = self.us.saturating_add(us * units);
        self.squares = self.squares.saturating_add((us * us).saturating_mul(units));
    }

    pub fn merge(&mut self, other: Stretches) {
        self.n = self.n.saturating_add(other.n);
        self.us = self.us.saturating_add(other.us);
        self.squares = self.squares.saturating_add(other.squares);
    }
}

/// Stretches of some requests by place.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct InstrumentPart {
    /// Units of the weights of the requests.
    pub(super) requests: u128,
    /// All stretches; also those between a call and its answer in another service, where no span can stand.
    pub(super) all: Stretches,
    pub(super) network: Stretches,
    pub(super) places: BTreeMap<Place, Stretches>,
    /// By service: its language.
    pub(super) languages: BTreeMap<String, String>,
}

impl InstrumentPart {
    /// Joins accumulators of disjoint requests; the result does not depend on their order.
    pub fn merge(parts: Vec<InstrumentPart>) -> InstrumentPart {
        let mut sum = InstrumentPart::default();
        for part in parts {
            sum.requests = sum.requests.saturating_add(part.requests);
            sum.all.merge(part.all);
            sum.network.merge(part.network);
            for (place, stretches) in part.places {
                sum.places.entry(place).or_default().merge(stretches);
            }
            for (service, language) in part.languages {
                note_language(&mut sum.languages, service, language);
            }
        }
        sum
    }
}

/// Of several languages of a service the first by name stays.
fn note_language(languages: &mut BTreeMap<String, String>, service: String, language: String) {
    languages
        .entry(service)
        .and_modify(|known| {
            if language < *known {
                known.clone_from(&language);
            }
        })
        .or_insert(language);
}

/// A place by numbers of the set; [`NO_ROW`] is nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    endpoint: u32,
    previous: u32,
    next: u32,
    /// Number of the callee in `callees`.
    callee: u32,
}

/// Looks at the requests of one worker.
pub struct InstrumentObserver {
    overlap: Overlap,
    weighing: Weighing,
    finder: PathFinder,
    /// By endpoint, the number of its service.
    service_of: Vec<u32>,
    requests: u128,
    all: Stretches,
    network: Stretches,
    places: FxHashMap<Key, Stretches>,
    callees: Vec<String>,
    numbers: FxHashMap<String, u32>,
    /// Services with the tags of their processes.
    processes: FxHashSet<(Symbol, TagSetId)>,
    segments: Vec<Segment>,
}

impl InstrumentObserver {
    /// Returns an observer of requests of this set.
    pub fn new(set: &TraceSet, overlap: Overlap, weighing: Weighing) -> InstrumentObserver {
        InstrumentObserver {
            overlap,
            weighing,
            finder: PathFinder::default(),
            service_of: set.service_numbers().0,
            requests: 0,
            all: Stretches::default(),
            network: Stretches::default(),
            places: FxHashMap::default(),
            callees: Vec::new(),
            numbers: FxHashMap::default(),
            processes: FxHashSet::default(),
            segments: Vec::new(),
        }
    }

    /// Returns the number of what a span calls if that has no spans: the span may be named after it.
    fn callee(&mut self, set: &TraceSet, tree: &Tree, span: u32) -> u32 {
        let row = tree.row(span);
        if tree.children(span).next().is_some() {
            return NO_ROW;
        }
        let (named, _) = set.endpoint_name(set.named_endpoint(row));
        let is_named_after = named != set.names.get(set.process_of(row).service);
        let name = match (is_named_after, set.kind(row)) {
            (true, _) => named.to_owned(),
            (false, SpanKind::Client) => set.peer(row).unwrap_or_default(),
            _ => return NO_ROW,
        };
        if let Some(&known) = self.numbers.get(&name) {
            return known;
        }
        let number = self.callees.len() as u32;
        self.callees.push(name.clone());
        self.numbers.insert(name, number);
        number
    }
}

/// Returns the child of a span below which another one is, or `None` if it is not below it.
fn child_towards(tree: &Tree, span: u32, below: u32) -> Option<u32> {
    let mut at = below;
    loop {
        let parent = tree.parent_of(at).filter(|_| at > span)?;
        if parent == span {
            return Some(at);
        }
        at = parent;
    }
}

impl Observer for InstrumentObserver {
    type Part = InstrumentPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let entry = &table.requests[request as usize];
        let weight = self.weighing.weight(set, entry);
        self.requests = self.requests.saturating_add(u128::from(weight.units()));
        self.finder.find(set, tree, entry.row - tree.first, self.overlap);
        let mut segments = std::mem::take(&mut self.segments);
        segments.clear();
        segments.extend(self.finder.segments());
        for (at, segment) in segments.iter().enumerate() {
            let (span, us) = (segment.span, segment.end_us - segment.start_us);
            self.all.add(us, weight);
            if answer_of_other_service(set, tree, span, &self.service_of).is_some() {
                self.network.add(us, weight);
                continue;
            }
            let process = set.process_of(tree.row(span));
            self.processes.insert((process.service, process.tags));
            let endpoint_of = |span: u32| set.named_endpoint(tree.row(span)).0;
            let beside = |at: Option<usize>| {
                let other = at.and_then(|at| segments.get(at))?;
                child_towards(tree, span, other.span).map(endpoint_of)
            };
            let key = Key {
                endpoint: endpoint_of(span),
                previous: beside(at.checked_sub(1)).unwrap_or(NO_ROW),
                next: beside(Some(at + 1)).unwrap_or(NO_ROW),
                callee: self.callee(set, tree, span),
            };
            self.places.entry(key).or_default().add(us, weight);
        }
        self.segments = segments;
    }

    fn finish(self, set: &TraceSet) -> InstrumentPart {
        let named = |number: u32| (number != NO_ROW).then(|| set.owned_endpoint(EndpointId(number)));
        let mut places: BTreeMap<Place, Stretches> = BTreeMap::new();
        for (key, stretches) in self.places {
            let place = Place {
                endpoint: set.owned_endpoint(EndpointId(key.endpoint)),
                previous: named(key.previous),
                next: named(key.next),
                callee: self.callees.get(key.callee as usize).cloned(),
            };
            places.entry(place).or_default().merge(stretches);
        }
        let mut languages = BTreeMap::new();
        for (service, tags) in self.processes {
            let value = |key: &str| set.tags.value(tags, key);
            let client = || value(CLIENT_KEY).and_then(|client| client.split('-').next());
            if let Some(language) = value(LANGUAGE_KEY).or_else(client).filter(|name| !name.is_empty()) {
                note_language(&mut languages, set.names.get(service).to_owned(), language.to_lowercase());
            }
        }
        let InstrumentObserver { requests, all, network, .. } = self;
        InstrumentPart { requests, all, network, places, languages }
    }
}
