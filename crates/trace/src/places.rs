//! The names of places: names with values by their template, calls by what they call, or every span by its service
//! (`docs/definitions/real-traces.md` sections 2 and 5).
//!
//! The choice among a name, its template and its callee is made over all that is loaded: every worker reports its
//! [`PlaceFacts`], merged they give [`PlaceNames`], and each set names its rows by these. Names depend on what was
//! recorded, not on clocks and cuts.

use super::numbers::Numbers;
use super::templates::MOST_RECORDED;
use super::{
    Endpoint, EndpointId, Interner, NO_ROW, PEER_KEYS, Reading, ReadingRule, SpanKind, Symbol, TraceSet,
    hash_text, is_declared_async, template,
};
use hashbrown::{HashMap, HashSet};
use pathlight_base::steps::in_blocks;
use rustc_hash::FxBuildHasher;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Distinct names of one template up to which each stays as it is.
const MOST_NAMES: usize = 100;
/// Operations of one callee that facts distinguish: one, or several.
const SEVERAL: usize = 2;

/// The share of traces with their root, in percent, beside which requests whose caller is not recorded do not count.
const LEAST_ROOTED: u64 = 5;

/// Of a tag pair that names no peer.
const NO_PLACE: u8 = u8::MAX;

/// Target of a call: a service, or a name from tags where no callee was recorded.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
struct Callee {
    name: String,
    is_recorded: bool,
}

/// Facts from which names are decided over all that is loaded: names with values, targets of calls, and traces that
/// lack their root; an accumulator over all sets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceFacts {
    /// By template: the names that it stands for, at most one more than stay.
    names: BTreeMap<Endpoint, BTreeSet<String>>,
    /// By template, whatever the service: the least hashes of its names, at most one more than a set keeps.
    hashes: BTreeMap<String, BTreeSet<u64>>,
    /// Templates of which some set did not keep all names.
    full: BTreeSet<String>,
    /// By template of the call: its callees with templates of their operations, at most [`SEVERAL`].
    calls: BTreeMap<Endpoint, BTreeMap<Callee, BTreeSet<String>>>,
    /// Traces, and those with a parentless root.
    traces: u64,
    rooted: u64,
}

/// Names of places, decided over all that is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlaceNames {
    /// Templates that stand for their names.
    folded: BTreeSet<Endpoint>,
    /// By template: calls that are named with their callee, and the callees of which the operation is said too.
    calls: BTreeMap<Endpoint, BTreeSet<Callee>>,
    /// Names in tags that are services with spans of their own: where one of their spans is missing, it was lost.
    recorded: BTreeSet<String>,
}

impl PlaceFacts {
    /// Returns what a set holds.
    pub fn of(set: &TraceSet) -> PlaceFacts {
        let mut facts = PlaceFacts::default();
        // The table also has what rows were called under other names.
        let mut is_recorded = vec![false; set.endpoints.rows.len()];
        let recorded = &set.columns.endpoint;
        (0..recorded.len() as u32).for_each(|row| is_recorded[recorded.at(row) as usize] = true);
        let templates: Vec<Endpoint> = (set.endpoints().zip(&is_recorded))
            .map(|((service, operation), &is_recorded)| {
                let template = template(operation);
                if let (Cow::Owned(template), true) = (&template, is_recorded) {
                    let names = facts.names.entry(Endpoint::new(service, template.as_str())).or_default();
                    if names.len() <= MOST_NAMES {
                        names.insert(operation.to_owned());
                    }
                    insert_hash(facts.hashes.entry(template.clone()).or_default(), hash_text(operation));
                }
                Endpoint::new(service, template)
            })
            .collect();
        for (&(_, operation), _) in set.endpoints.rows.iter().zip(&is_recorded).filter(|(_, is)| **is) {
            if set.is_full_template(operation) {
                facts.full.insert(set.names.get(operation).to_owned());
            }
        }
        facts.traces = set.traces().len() as u64;
        facts.rooted = set.traces().iter().filter(|trace| !trace.shape.is_incomplete()).count() as u64;
        let mut seen: HashSet<(u32, Target), FxBuildHasher> = HashSet::default();
        let mut targets = Targets::new(set, None);
        for trace in set.traces() {
            targets.find(set, trace.first, trace.end);
            in_blocks(trace.len(), &mut |block| {
                for (row, &target) in (trace.first + block.start as u32..).zip(&targets.found[block]) {
                    seen.extend(target.map(|target| (recorded.at(row), target)));
                }
            });
        }
        for (call, target) in seen {
            let callees = facts.calls.entry(templates[call as usize].clone()).or_default();
            let (callee, operation) = match target {
                Target::Endpoint(number) => {
                    let Endpoint { service, operation } = templates[number as usize].clone();
                    (Callee { name: service, is_recorded: true }, operation)
                }
                Target::Peer(peer) => {
                    let name = targets.peers.get(Symbol(peer)).to_owned();
                    (Callee { name, is_recorded: false }, String::new())
                }
            };
            let operations = callees.entry(callee).or_default();
            operations.insert(operation);
            if operations.len() > SEVERAL {
                operations.pop_last();
            }
        }
        facts
    }

    /// Adds what another set holds.
    pub fn merge(&mut self, other: PlaceFacts) {
        self.traces += other.traces;
        self.rooted += other.rooted;
        for (template, names) in other.names {
            let into = self.names.entry(template).or_default();
            into.extend(names);
            while into.len() > MOST_NAMES + 1 {
                into.pop_last();
            }
        }
        for (template, hashes) in other.hashes {
            let into = self.hashes.entry(template).or_default();
            hashes.into_iter().for_each(|hash| insert_hash(into, hash));
        }
        self.full.extend(other.full);
        for (call, callees) in other.calls {
            let into = self.calls.entry(call).or_default();
            for (callee, operations) in callees {
                let into = into.entry(callee).or_default();
                into.extend(operations);
                while into.len() > SEVERAL {
                    into.pop_last();
                }
            }
        }
    }

    /// Returns whether so many traces have their root that requests whose caller is not recorded are not counted with the
    /// others.
    pub fn have_roots(&self) -> bool {
        self.rooted > 0 && self.rooted * 100 >= self.traces * LEAST_ROOTED
    }

    /// Returns the templates that stand for their names: those of many names in the service, and those of which all
    /// services together have more names than a set keeps, since which of them were kept follows from the order of
    /// reading.
    pub(super) fn folded(&self) -> BTreeSet<Endpoint> {
        let is_over = |template: &str| {
            self.full.contains(template)
                || self.hashes.get(template).is_some_and(|hashes| hashes.len() > MOST_RECORDED as usize)
        };
        let many = self
            .names
            .iter()
            .filter(|(template, names)| names.len() > MOST_NAMES || is_over(&template.operation));
        many.map(|(template, _)| template.clone()).collect()
    }

    /// Returns what tags name as called, where no callee was recorded.
    pub(super) fn peers(&self) -> impl Iterator<Item = &str> {
        let callees = self.calls.values().flat_map(BTreeMap::keys);
        callees.filter(|callee| !callee.is_recorded).map(|callee| callee.name.as_str())
    }

    /// Returns what places are called under a reading.
    pub fn names(&self, reading: Reading) -> PlaceNames {
        let mut names = PlaceNames::default();
        if reading.has(ReadingRule::Templates) {
            names.folded = self.folded();
        }
        if reading.has(ReadingRule::Callees) {
            let all = || self.calls.values().flat_map(BTreeMap::keys);
            let services: BTreeSet<&str> =
                all().filter(|callee| callee.is_recorded).map(|callee| callee.name.as_str()).collect();
            let peers = all().filter(|callee| !callee.is_recorded && services.contains(callee.name.as_str()));
            names.recorded = peers.map(|callee| callee.name.clone()).collect();
            for (call, callees) in &self.calls {
                let several = callees.iter().filter(|(_, operations)| operations.len() >= SEVERAL);
                let several: BTreeSet<Callee> = several.map(|(callee, _)| callee.clone()).collect();
                let different: BTreeSet<&str> = callees.keys().map(|callee| callee.name.as_str()).collect();
                if different.len() > 1 || !several.is_empty() {
                    names.calls.insert(call.clone(), several);
                }
            }
        }
        names
    }
}

/// Adds a hash; of more than a set keeps names, the greatest is left out.
fn insert_hash(hashes: &mut BTreeSet<u64>, hash: u64) {
    hashes.insert(hash);
    if hashes.len() > MOST_RECORDED as usize + 1 {
        hashes.pop_last();
    }
}

/// Target of a call of one set.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Target {
    /// Number of the endpoint as recorded.
    Endpoint(u32),
    /// Number among the peers that tags name.
    Peer(u32),
}

/// Finds what calls call, trace by trace.
struct Targets {
    /// By endpoint as recorded: whether its calls matter; empty: all.
    wanted: Vec<bool>,
    /// By tag pair: the place of its key in [`PEER_KEYS`], [`NO_PLACE`] if it names no peer.
    place_of: Vec<u8>,
    peers: Interner,
    /// By pairs that name a peer, by place: its number.
    known: HashMap<[u32; PEER_KEYS.len()], Option<u32>, FxBuildHasher>,
    /// One per row of the trace.
    callee: Vec<u32>,
    /// By row: children that are waited for, and whether the last of them is of another service.
    waits: Vec<(u32, bool)>,
    found: Vec<Option<Target>>,
}

impl Targets {
    fn new(set: &TraceSet, wanted: Option<Vec<bool>>) -> Targets {
        let place = |key: u32| PEER_KEYS.iter().position(|peer| *peer == set.tags.key_name(key));
        let places: Vec<u8> = (0..set.tags.key_count() as u32)
            .map(|key| place(key).filter(|_| !set.tags.is_high_cardinality(key)))
            .map(|place| place.map_or(NO_PLACE, |place| place as u8))
            .collect();
        let place_of = if places.iter().all(|&place| place == NO_PLACE) {
            Vec::new()
        } else {
            (0..set.tags.pairs() as u32).map(|pair| places[set.tags.pair(pair).0 as usize]).collect()
        };
        Targets {
            wanted: wanted.unwrap_or_default(),
            place_of,
            peers: Interner::default(),
            known: HashMap::default(),
            callee: Vec::new(),
            waits: Vec::new(),
            found: Vec::new(),
        }
    }

    /// Finds the targets of the rows of a trace.
    fn find(&mut self, set: &TraceSet, first: u32, end: u32) {
        let n = (end - first) as usize;
        self.callee.clear();
        self.callee.resize(n, NO_ROW);
        self.waits.clear();
        self.waits.resize(n, (0, false));
        let service = |row: u32| set.process_of(row).service;
        // Backwards: what is written last is the first child.
        for row in (first..end).rev() {
            let parent = set.parent(row);
            if parent == NO_ROW {
                continue;
            }
            let p = (parent - first) as usize;
            let is_other = service(row) != service(parent);
            if is_other || matches!(set.kind(row), SpanKind::Server | SpanKind::Consumer) {
                self.callee[p] = row;
            }
            if !is_declared_async(set, row, parent, Reading::real()) {
                self.waits[p] = (self.waits[p].0 + 1, is_other);
            }
        }
        self.found.clear();
        for row in first..end {
            let i = (row - first) as usize;
            let endpoint = set.columns.endpoint.at(row) as usize;
            let is_wanted = self.wanted.is_empty() || self.wanted.get(endpoint).copied().unwrap_or(false);
            let parent = set.parent(row);
            let is_call = is_wanted
                && match set.kind(row) {
                    SpanKind::Client | SpanKind::Producer => true,
                    SpanKind::Unspecified => {
                        let is_entry = parent == NO_ROW || service(row) != service(parent);
                        self.waits[i] == (1, true) && !is_entry
                    }
                    SpanKind::Internal | SpanKind::Server | SpanKind::Consumer => false,
                };
            let target = match self.callee[i] {
                _ if !is_call => None,
                NO_ROW => self.peer(set, row).map(Target::Peer),
                callee => Some(Target::Endpoint(set.columns.endpoint.at(callee))),
            };
            self.found.push(target);
        }
    }

    /// Returns the peer that the tags of a row name.
    fn peer(&mut self, set: &TraceSet, row: u32) -> Option<u32> {
        if self.place_of.is_empty() {
            return None;
        }
        let value = |pair: u32| (pair != NO_ROW).then(|| set.tags.pair(pair).1);
        let mut pairs = [NO_ROW; PEER_KEYS.len()];
        for &pair in set.tags.pairs_of(set.tag_set(row)) {
            let Some(kept) = pairs.get_mut(usize::from(self.place_of[pair as usize])) else { continue };
            // Of several values of a key, the smallest.
            if value(*kept).is_none_or(|kept| value(pair).is_some_and(|value| value < kept)) {
                *kept = pair;
            }
        }
        let peers = &mut self.peers;
        *(self.known.entry(pairs))
            .or_insert_with(|| peer_name(pairs.map(value)).map(|name| peers.intern(&name).0))
    }
}

/// Returns what the first of the tags says, by place in [`PEER_KEYS`]: a database with its name, a host without its
/// port.
fn peer_name(values: [Option<&str>; PEER_KEYS.len()]) -> Option<String> {
    let [service, rpc, system, name, namespace, destination, address, host] =
        values.map(|value| value.filter(|value| !value.is_empty()));
    let database = system.map(|system| match name.or(namespace) {
        Some(name) => format!("{system} {name}"),
        None => system.to_owned(),
    });
    let named = service.or(rpc).map(str::to_owned).or(database).or(destination.map(str::to_owned));
    let name = named.or_else(|| {
        let host = address.or(host)?;
        let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
        let host = match host.rsplit_once(':') {
            Some((name, port)) if is_port(port) && (!name.contains(':') || name.ends_with(']')) => name,
            _ => host,
        };
        let number = host.trim_matches(['[', ']']);
        Some(if number.parse::<std::net::IpAddr>().is_ok() { "{ip}".to_owned() } else { host.to_owned() })
    });
    name.filter(|name| !name.is_empty())
}

/// The names of the rows of one set.
#[derive(Default)]
pub(super) struct Places {
    names: Option<PlaceNames>,
    /// Endpoint by row, for as many rows as are named; empty: as recorded.
    column: Numbers,
    traces: usize,
    /// By endpoint as recorded: what its rows are called without a callee.
    base: Vec<u32>,
    /// By endpoint: that of its service. Empty: places are endpoints.
    services: Vec<u32>,
}

impl Places {
    pub fn forget_rows(&mut self) {
        self.column.clear();
        self.traces = 0;
    }

    pub fn heap_bytes(&self) -> usize {
        self.column.heap_bytes() + (self.base.capacity() + self.services.capacity()) * 4
    }
}

impl TraceSet {
    /// Names all rows: by these names, or as recorded; and by service alone if places are services. Call it again when the
    /// set has grown.
    pub fn name_places(&mut self, names: Option<&PlaceNames>, by_service: bool) {
        let names = names.filter(|names| **names != PlaceNames::default());
        if self.places.names.as_ref() != names {
            self.places = Places { names: names.cloned(), ..Places::default() };
        }
        if self.places.traces < self.traces.len() && self.places.names.is_some() {
            self.name_rows();
        }
        self.places.services.clear();
        if by_service {
            let mut services = Vec::with_capacity(self.endpoints.rows.len());
            let none = self.names.intern("");
            // Those of services come to the end of the table, and stand for themselves.
            while services.len() < self.endpoints.rows.len() {
                let service = self.endpoints.rows[services.len()].0;
                services.push(self.endpoints.insert((service, none)));
            }
            self.places.services = services;
        }
    }

    fn name_rows(&mut self) {
        let mut places = std::mem::take(&mut self.places);
        if let Some(names) = &places.names {
            for number in places.base.len()..self.endpoints.rows.len() {
                let (service, operation) = self.endpoint_name(EndpointId(number as u32));
                let folded = match template(operation) {
                    Cow::Owned(template) => Some(Endpoint::new(service, template)),
                    Cow::Borrowed(_) => None,
                };
                let folded = folded.filter(|folded| names.folded.contains(folded));
                let base = folded
                    .map_or(number as u32, |folded| self.intern_endpoint(number as u32, &folded.operation));
                places.base.push(base);
            }
            let is_listed = |(service, operation): (&str, &str)| {
                names.calls.contains_key(&Endpoint::new(service, template(operation)))
            };
            let wanted: Vec<bool> = self.endpoints().map(is_listed).collect();
            let has_calls = wanted.contains(&true);
            let mut targets = Targets::new(self, Some(wanted));
            let mut called: HashMap<(u32, Target), u32, FxBuildHasher> = HashMap::default();
            // Memory that is not there is asked for again row by row.
            let _ = places.column.try_reserve_exact(self.spans() - places.column.len());
            for trace in places.traces..self.traces.len() {
                let (first, end) = (self.traces[trace].first, self.traces[trace].end);
                if !has_calls {
                    for row in first..end {
                        places.column.push(places.base[self.columns.endpoint.at(row) as usize]);
                    }
                    continue;
                }
                targets.find(self, first, end);
                for row in first..end {
                    let number = self.columns.endpoint.at(row);
                    let shown = match targets.found[(row - first) as usize] {
                        None => places.base[number as usize],
                        Some(target) => *called.entry((number, target)).or_insert_with(|| {
                            let name = self.name_of_call(
                                names,
                                number,
                                places.base[number as usize],
                                target,
                                &targets,
                            );
                            self.intern_endpoint(number, &name)
                        }),
                    };
                    places.column.push(shown);
                }
            }
        }
        places.traces = self.traces.len();
        self.places = places;
    }

    fn intern_endpoint(&mut self, number: u32, operation: &str) -> u32 {
        let service = self.endpoints.rows[number as usize].0;
        let operation = self.names.intern(operation);
        self.endpoints.insert((service, operation))
    }

    /// Returns the operation of a call with its callee.
    fn name_of_call(
        &self,
        names: &PlaceNames,
        number: u32,
        base: u32,
        target: Target,
        targets: &Targets,
    ) -> String {
        let (service, recorded) = self.endpoint_name(EndpointId(number));
        let operation = self.endpoint_name(EndpointId(base)).1;
        let several = names.calls.get(&Endpoint::new(service, template(recorded)));
        match target {
            Target::Peer(peer) => {
                let peer = targets.peers.get(Symbol(peer));
                let lacks = if names.recorded.contains(peer) { "" } else { " (not instrumented)" };
                format!("{operation} -> {peer}{lacks}")
            }
            Target::Endpoint(callee) => {
                let (service, called) = self.endpoint_name(EndpointId(callee));
                let callee = Callee { name: service.to_owned(), is_recorded: true };
                if several.is_some_and(|several| several.contains(&callee)) {
                    let folded = Endpoint::new(service, template(called));
                    let called = if names.folded.contains(&folded) { &folded.operation } else { called };
                    format!("{operation} -> {service} {called}")
                } else {
                    format!("{operation} -> {service}")
                }
            }
        }
    }

    /// Returns the peer that the tags of a row name: a service, a database, a queue or a host.
    pub fn peer(&self, row: u32) -> Option<String> {
        let tags = self.tag_set(row);
        peer_name(PEER_KEYS.map(|key| self.tags.value(tags, key)))
    }

    /// Returns the endpoint of a row by the names that apply, also where places are services.
    pub fn named_endpoint(&self, row: u32) -> EndpointId {
        EndpointId(self.places.column.get(row).unwrap_or_else(|| self.columns.endpoint.at(row)))
    }

    /// Returns the endpoint of a row as recorded.
    pub fn recorded_endpoint(&self, row: u32) -> EndpointId {
        EndpointId(self.columns.endpoint.at(row))
    }

    /// Returns what a row is called: its endpoint by the names that apply, or that of its service.
    pub fn endpoint(&self, row: u32) -> EndpointId {
        let named = self.named_endpoint(row);
        EndpointId(self.places.services.get(named.0 as usize).copied().unwrap_or(named.0))
    }

    /// Returns whether a row is of an endpoint, by the names that apply or as recorded.
    pub fn is_of(&self, row: u32, endpoint: EndpointId) -> bool {
        self.named_endpoint(row) == endpoint || self.recorded_endpoint(row) == endpoint
    }

    /// Returns whether the name of a row stands for many names with values in them.
    pub fn is_folded(&self, row: u32) -> bool {
        let recorded = self.columns.endpoint.at(row);
        let base = self.places.base.get(recorded as usize);
        base.is_some_and(|&base| {
            base != recorded || self.is_full_template(self.endpoints.rows[base as usize].1)
        })
    }

    /// Returns whether a row is named with what it calls.
    pub fn says_callee(&self, row: u32) -> bool {
        let named = self.named_endpoint(row).0;
        let recorded = self.columns.endpoint.at(row);
        named != recorded && self.places.base.get(recorded as usize).is_none_or(|&base| base != named)
    }
}

#[cfg(test)]
#[path = "places_tests.rs"]
mod tests;
