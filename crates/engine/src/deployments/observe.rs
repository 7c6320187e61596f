//! Times by the values of tags of processes: the accumulator.

use super::DeploymentOf;
use super::keys::{DeploymentKind, kind_of};
use crate::flame::{Observer, PathFinder, PathTable};
use crate::flow::OwnTime;
use crate::requests::Weighing;
use crate::verdict::answer_of_other_service;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Sample, Weight, Weights};
use pathlight_trace::{EndpointId, Overlap, TraceSet, Tree, hash_text};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A key with more values is left out: each has too few requests.
const MOST_VALUES: usize = 64;
/// Width of the slots of time in which values are compared.
pub(super) const MINUTE_US: u64 = 60_000_000;
/// Numbers in the place of a pair of key and value: calls that stay within one value, and that go from one to another.
const WITHIN: u32 = u32::MAX - 1;
const ACROSS: u32 = u32::MAX;

/// Where it runs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Where {
    Value(String),
    /// Calls whose two sides have one value.
    Within,
    /// Calls whose two sides have different values.
    Across,
}

/// Times of one thing in the requests of one root endpoint and one minute.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Cell {
    /// One value for each request: the mean of its visits or calls, in microseconds.
    pub us: Sample,
    /// One value for each request: the sum of what they take on the critical path, in microseconds.
    pub path_us: Sample,
}

impl Cell {
    pub fn merge(&mut self, other: &Cell) {
        self.us.merge(&other.us);
        self.path_us.merge(&other.path_us);
    }
}

/// By a hash of the root endpoint, and the minute.
pub(super) type Cells = BTreeMap<(u64, u64), Cell>;

/// All of one thing in one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Seen {
    /// Start of the first request, microseconds since the epoch.
    pub first_us: u64,
    pub cells: Cells,
}

impl Seen {
    fn merge(&mut self, other: Seen) {
        self.first_us =
            if self.cells.is_empty() { other.first_us } else { self.first_us.min(other.first_us) };
        for (at, cell) in other.cells {
            self.cells.entry(at).or_default().merge(&cell);
        }
    }
}

/// By place, of one key.
pub(super) type ByPlace = BTreeMap<DeploymentOf, BTreeMap<Where, Seen>>;

/// Times by key; of a key with too many values nothing is known.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct DeploymentsPart {
    pub(super) requests: Weights,
    pub(super) keys: BTreeMap<String, Option<ByPlace>>,
}

impl DeploymentsPart {
    /// Joins accumulators of disjoint requests; the result does not depend on their order.
    pub fn merge(parts: Vec<DeploymentsPart>) -> DeploymentsPart {
        let mut sum = DeploymentsPart::default();
        for part in parts {
            sum.requests.merge(&part.requests);
            for (key, by_place) in part.keys {
                let into = sum.keys.entry(key).or_insert_with(|| Some(ByPlace::new()));
                match (into.as_mut(), by_place) {
                    (Some(all), Some(by_place)) => {
                        for (of, places) in by_place {
                            let into = all.entry(of).or_default();
                            places.into_iter().for_each(|(at, seen)| into.entry(at).or_default().merge(seen));
                        }
                    }
                    _ => *into = None,
                }
            }
        }
        for by_place in sum.keys.values_mut() {
            let is_more = by_place.as_ref().is_some_and(has_too_many);
            *by_place = by_place.take().filter(|_| !is_more);
        }
        sum
    }
}

/// Returns whether something has more values than are compared.
fn has_too_many(by_place: &ByPlace) -> bool {
    by_place.values().any(|places| places.len() > MOST_VALUES)
}

/// A visit of a service: the spans of it below the one that enters it.
struct Visit {
    /// Number of the service.
    service: u32,
    /// The span that enters it.
    entry: u32,
    own_us: u64,
    path_us: u64,
}

/// What takes time, by numbers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Thing {
    Service(u32),
    Endpoint(u32),
    /// Services that call and are called.
    Calls(u32, u32),
}

/// With the number of the pair of key and value; of calls [`WITHIN`] or [`ACROSS`], with the number of the key.
type Place = (Thing, u32, u32);

/// Looks at the requests of one worker.
pub struct DeploymentsObserver {
    overlap: Overlap,
    weighing: Weighing,
    finder: PathFinder,
    own: OwnTime,
    /// By endpoint, the number of its service; names of services by number.
    service_of: Vec<u32>,
    services: Vec<String>,
    /// By number of a key: whether its values are compared.
    is_wanted: Vec<bool>,
    /// Numbers of those of which the values of both sides of a call are compared.
    place_keys: Vec<u32>,
    requests: Weights,
    /// By place, then number of the root endpoint and minute.
    cells: FxHashMap<(Place, u32, u64), Cell>,
    firsts: FxHashMap<Place, u64>,
    visits: Vec<Visit>,
    /// By span of the request: time on the path; and its visit.
    path_us: Vec<u64>,
    visit_of: Vec<u32>,
    /// Place, self time and time on the path of all visits and calls of the request.
    found: Vec<(Place, u64, u64)>,
    pairs: Vec<u32>,
}

const NO_VISIT: u32 = u32::MAX;

impl DeploymentsObserver {
    /// Returns an observer of requests of this set: by all tags of processes that are known to say where they run, or by this one.
    pub fn new(
        set: &TraceSet,
        overlap: Overlap,
        weighing: Weighing,
        key: Option<&str>,
    ) -> DeploymentsObserver {
        let (service_of, services) = set.service_numbers();
        let is_wanted = |name: &str| key.map_or_else(|| kind_of(name).is_some(), |key| name == key);
        // Nobody knows what a tag is about that only a person has chosen.
        let is_place = |name: &str| kind_of(name).is_none_or(|kind| kind == DeploymentKind::Place);
        let names = || (0..set.tags.key_count() as u32).map(|number| (number, set.tags.key_name(number)));
        let place_keys = names().filter(|(_, name)| is_wanted(name) && is_place(name));
        DeploymentsObserver {
            is_wanted: names().map(|(_, name)| is_wanted(name)).collect(),
            place_keys: place_keys.map(|(number, _)| number).collect(),
            overlap,
            weighing,
            finder: PathFinder::default(),
            own: OwnTime::default(),
            service_of,
            services,
            requests: Weights::default(),
            cells: FxHashMap::default(),
            firsts: FxHashMap::default(),
            visits: Vec::new(),
            path_us: Vec::new(),
            visit_of: Vec::new(),
            found: Vec::new(),
            pairs: Vec::new(),
        }
    }

    /// Lists the wanted pairs that a span, else its process, has; of several values of a key the smallest.
    fn list_pairs(&mut self, set: &TraceSet, row: u32) {
        self.pairs.clear();
        for tags in [set.tag_set(row), set.process_of(row).tags] {
            let before = self.pairs.len();
            for &pair in set.tags.pairs_of(tags) {
                let (key, value) = set.tags.pair(pair);
                if !self.is_wanted[key as usize] {
                    continue;
                }
                match self.pairs.iter().position(|&known| set.tags.pair(known).0 == key) {
                    None => self.pairs.push(pair),
                    Some(at) if at >= before && value < set.tags.pair(self.pairs[at]).1 => {
                        self.pairs[at] = pair
                    }
                    Some(_) => {}
                }
            }
        }
    }

    /// Notes what a call waits for outside of its answer, by whether both run in the same place.
    fn note_call(&mut self, set: &TraceSet, (call, answer): (u32, u32), us: u64, path_us: u64) {
        let service = |row: u32| self.service_of[set.named_endpoint(row).0 as usize];
        let calls = Thing::Calls(service(call), service(answer));
        let value = |row: u32, key: &str| set.tags.value(set.process_of(row).tags, key);
        for &key in &self.place_keys {
            let name = set.tags.key_name(key);
            if let (Some(from), Some(to)) = (value(call, name), value(answer, name)) {
                self.found.push(((calls, if from == to { WITHIN } else { ACROSS }, key), us, path_us));
            }
        }
    }

    /// Notes the own work of all visits of the request.
    fn note_visits(&mut self, set: &TraceSet, tree: &Tree) {
        for Visit { service, entry, own_us, path_us } in std::mem::take(&mut self.visits) {
            let row = tree.row(entry);
            // What is named after whom a call asks runs nobody knows where.
            if set.names.get(set.process_of(row).service) != self.services[service as usize] {
                continue;
            }
            self.list_pairs(set, row);
            for thing in [Thing::Service(service), Thing::Endpoint(set.named_endpoint(row).0)] {
                let found = self.pairs.iter().map(|&pair| ((thing, pair, 0), own_us, path_us));
                self.found.extend(found);
            }
        }
    }

    /// Finds the visits and calls of a request.
    fn look(&mut self, set: &TraceSet, tree: &Tree, root: u32) {
        self.finder.find(set, tree, root, self.overlap);
        self.finder.span_times_us(tree, root, &mut self.path_us);
        self.visit_of.clear();
        self.visit_of.resize(self.path_us.len(), NO_VISIT);
        for span in tree.awaited(root) {
            let (row, at) = (tree.row(span), (span - root) as usize);
            let service = self.service_of[set.named_endpoint(row).0 as usize];
            let above = tree
                .parent_of(span)
                .filter(|_| span != root)
                .map(|parent| self.visit_of[(parent - root) as usize]);
            let visit = match above
                .filter(|&visit| self.visits.get(visit as usize).is_some_and(|it| it.service == service))
            {
                Some(visit) => visit,
                None => {
                    self.visits.push(Visit { service, entry: span, own_us: 0, path_us: 0 });
                    self.visits.len() as u32 - 1
                }
            };
            self.visit_of[at] = visit;
            let (us, path_us) = (self.own.self_us(tree, span), self.path_us[at]);
            match answer_of_other_service(set, tree, span, &self.service_of) {
                Some(answer) => self.note_call(set, (row, tree.row(answer)), us, path_us),
                None => {
                    let visit = &mut self.visits[visit as usize];
                    visit.own_us = visit.own_us.saturating_add(us);
                    visit.path_us = visit.path_us.saturating_add(path_us);
                }
            }
        }
        self.note_visits(set, tree);
    }

    fn add(&mut self, root: EndpointId, start_us: u64, weight: Weight) {
        self.found.compact_sort();
        for same in self.found.chunk_by(|a, b| a.0 == b.0) {
            let place = same[0].0;
            let sum = |of: fn(&(Place, u64, u64)) -> u64| same.iter().map(of).fold(0, u64::saturating_add);
            let cell = self.cells.entry((place, root.0, start_us / MINUTE_US)).or_default();
            cell.us.add(sum(|found| found.1) / same.len() as u64, weight);
            cell.path_us.add(sum(|found| found.2), weight);
            let first = self.firsts.entry(place).or_insert(u64::MAX);
            *first = start_us.min(*first);
        }
        self.found.clear();
    }
}

impl Observer for DeploymentsObserver {
    type Part = DeploymentsPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let entry = &table.requests[request as usize];
        let root = entry.row - tree.first;
        let weight = self.weighing.weight(set, entry);
        self.requests.add(weight);
        let start_us = tree.start_us[root as usize];
        self.look(set, tree, root);
        self.add(set.named_endpoint(entry.row), start_us, weight);
    }

    fn finish(self, set: &TraceSet) -> DeploymentsPart {
        let service = |number: u32| self.services[number as usize].clone();
        let hash = |(service, operation): (&str, &str)| hash_text(&format!("{service}\n{operation}"));
        let hashes: Vec<u64> = set.endpoints().map(hash).collect();
        let mut keys: BTreeMap<String, Option<ByPlace>> = BTreeMap::new();
        let names = |(thing, at, key): Place| {
            let of = match thing {
                Thing::Service(number) => DeploymentOf::Service(service(number)),
                Thing::Endpoint(number) => DeploymentOf::Endpoint(set.owned_endpoint(EndpointId(number))),
                Thing::Calls(caller, callee) => DeploymentOf::Calls(service(caller), service(callee)),
            };
            match at {
                WITHIN => (key, of, Where::Within),
                ACROSS => (key, of, Where::Across),
                pair => {
                    let (key, value) = set.tags.pair(pair);
                    (key, of, Where::Value(value.to_owned()))
                }
            }
        };
        let mut named: FxHashMap<Place, Cells> = FxHashMap::default();
        for ((place, root, minute), cell) in self.cells {
            named.entry(place).or_default().insert((hashes[root as usize], minute), cell);
        }
        for (place, cells) in named {
            let (key, of, at) = names(place);
            let seen = Seen { first_us: self.firsts[&place], cells };
            let by_place =
                keys.entry(set.tags.key_name(key).to_owned()).or_insert_with(|| Some(ByPlace::new()));
            if let Some(by_place) = by_place {
                by_place.entry(of).or_default().insert(at, seen);
            }
        }
        for (number, _) in self.is_wanted.iter().enumerate().filter(|(_, wanted)| **wanted) {
            // Values of such a key are not stored, so no worker can say which requests have it.
            let key = set.tags.key_name(number as u32);
            let is_unknown = set.tags.is_high_cardinality(number as u32);
            if is_unknown || keys.get(key).is_some_and(|by_place| by_place.as_ref().is_some_and(has_too_many))
            {
                keys.insert(key.to_owned(), None);
            }
        }
        DeploymentsPart { requests: self.requests, keys }
    }
}
