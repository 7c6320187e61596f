//! Request types: which requests are compared with each other (`docs/definitions/real-traces.md` section 4).
//!
//! Every worker tells its [`TypeFacts`]; merged over all that is loaded they give [`TypeNames`], and by these each worker
//! finds the type of its requests ([`RequestTypes`]). Types depend on what was recorded, never on durations: a fault must
//! not change them.

use crate::names::{join_names, numbered};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::mix;
use pathlight_base::steps::in_blocks;
use pathlight_trace::{
    ADDRESS_KEYS, Endpoint, EndpointId, NO_ROW, Reading, ReadingRule, RequestRoots, TraceSet,
    address_template, hash_bytes, is_declared_async,
};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Shapes and routes of one root endpoint that are counted apart; of one with more, all requests are of one type.
const MOST_COUNTED: usize = 1000;
/// Shapes and routes of one root endpoint that are types of their own: the most frequent ones.
const MOST_NAMED: usize = 50;
/// More shapes than this of one root endpoint are no types that anybody would recognise.
const MOST_SHAPES: usize = 20;
/// The share of a root endpoint's requests, in percent, from which a type is worth a distinction.
const LEAST_PERCENT: u64 = 5;

/// Grouping of requests into types.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum GroupBy {
    /// By route, shape or root endpoint: the first that tells enough.
    #[default]
    Automatic,
    /// By the endpoint at the root.
    Root,
    /// By root endpoint and route.
    Route,
    /// By root endpoint and the endpoints that the service of the root calls.
    Shape,
    /// By root endpoint and the value of a tag.
    Tag(String),
    /// By root endpoint and whether some span is of this service.
    Through(String),
}

impl GroupBy {
    /// Returns its word in options and addresses; of a tag `tag=KEY`, of a service `through=SERVICE`.
    pub fn key(&self) -> Cow<'static, str> {
        match self {
            GroupBy::Automatic => "automatic".into(),
            GroupBy::Root => "root".into(),
            GroupBy::Route => "route".into(),
            GroupBy::Shape => "shape".into(),
            GroupBy::Tag(key) => format!("tag={key}").into(),
            GroupBy::Through(service) => format!("through={service}").into(),
        }
    }

    /// Reads what [`key`](Self::key) writes.
    pub fn parse(text: &str) -> Option<GroupBy> {
        Some(match text {
            "automatic" => GroupBy::Automatic,
            "root" => GroupBy::Root,
            "route" => GroupBy::Route,
            "shape" => GroupBy::Shape,
            _ => {
                let (way, name) = text.split_once('=').filter(|(_, name)| !name.is_empty())?;
                match way {
                    "tag" => GroupBy::Tag(name.to_owned()),
                    "through" => GroupBy::Through(name.to_owned()),
                    _ => return None,
                }
            }
        })
    }
}

/// A request type: a root endpoint, or a part of its requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct RequestType {
    /// The endpoint at the root.
    pub root: Endpoint,
    /// The part of its requests: a route, `with` what they call, a tag with its value, `through` a service; empty: all.
    pub part: String,
}

impl RequestType {
    /// Returns the type of all requests of a root endpoint.
    pub fn whole(root: Endpoint) -> RequestType {
        RequestType { root, part: String::new() }
    }

    /// Returns service and operation with the part: what the type is called.
    pub fn name(&self) -> Endpoint {
        match self.part.as_str() {
            "" => self.root.clone(),
            part => Endpoint::new(&self.root.service, format!("{} {part}", self.root.operation)),
        }
    }
}

/// Source of a request's route. One that has more values than a worker stores does not count, nor does any after it,
/// lest workers differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
enum RouteSource {
    /// The tag [`ROUTE_KEY`]. The first: as many as are counted of these do not depend on the others.
    Tag,
    /// An address, or where there is none the only endpoint called.
    Other,
}

/// The part of a root endpoint's requests whose caller is not recorded.
const NO_CALLER: &str = "(caller not recorded)";

/// The tag that states a route.
const ROUTE_KEY: &str = "http.route";

/// Shapes and routes of the requests of one root endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct RootFacts {
    requests: u64,
    /// Number of requests by source and by route; requests without one are not in it. At most one more than
    /// [`MOST_COUNTED`].
    routes: BTreeMap<(RouteSource, String), u64>,
    /// By hash of the set: requests, and the numbers of the set, ascending. At most one more than [`MOST_COUNTED`].
    shapes: BTreeMap<u64, (u64, Vec<u32>)>,
    /// Requests by the number of what they call.
    callees: BTreeMap<u32, u64>,
}

/// Facts that decide over request types; an accumulator over all sets.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeFacts {
    /// The names of root endpoints and of what they call, ascending.
    names: Vec<Endpoint>,
    /// By number of the root endpoint's name.
    roots: BTreeMap<u32, RootFacts>,
    /// The tag [`ROUTE_KEY`] has too many values: some requests have lost theirs.
    is_tag_lost: bool,
    /// Addresses have too many templates.
    are_addresses_lost: bool,
}

/// Grouping of requests into types, decided over all that is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TypeNames {
    /// The grouping; never automatic.
    pub by: GroupBy,
    /// By root endpoint whose requests are of several types, and by hash of the shape: what stands behind its name. A
    /// shape that is not there is one of the others.
    shapes: BTreeMap<Endpoint, BTreeMap<u64, String>>,
    /// By root endpoint whose requests are of several types: the routes that are types.
    routes: BTreeMap<Endpoint, BTreeSet<String>>,
    /// The last source whose routes count, if any; of other groupings none.
    last_source: Option<RouteSource>,
}

fn keep_first<K: Ord, V>(map: &mut BTreeMap<K, V>) {
    while map.len() > MOST_COUNTED + 1 {
        map.pop_last();
    }
}

impl TypeFacts {
    /// Returns what a set holds under a reading. Requests whose caller is not recorded are types by their endpoint.
    pub fn of(set: &TraceSet, reading: Reading) -> TypeFacts {
        let mut facts = TypeFacts {
            is_tag_lost: set.tags.has_too_many_values(ROUTE_KEY),
            are_addresses_lost: ADDRESS_KEYS
                .iter()
                .filter_map(|key| set.tags.find_key(key))
                .any(|key| set.tags.stores_nothing(key)),
            ..TypeFacts::default()
        };
        // By endpoint of the set, until all are known.
        let mut found: FxHashMap<u32, RootFacts> = FxHashMap::default();
        let mut visit = Visit::new(reading);
        for trace in set.traces() {
            if trace.shape.is_incomplete() && reading.has(ReadingRule::Roots) {
                continue;
            }
            let is_root = |row: &u32| set.parent(*row) == NO_ROW && !set.flags(*row).is_orphan();
            let mut roots: Vec<u32> = trace.rows().filter(is_root).collect();
            if roots.is_empty() {
                roots.extend((trace.first < trace.end).then_some(trace.first));
            }
            for row in roots {
                visit.look(set, row, trace.end);
                let of = found.entry(set.named_endpoint(row).0).or_default();
                of.requests += 1;
                if let Some(route) = visit.route(set, row, trace.end) {
                    *of.routes.entry(route).or_default() += 1;
                    keep_first(&mut of.routes);
                }
                let callees = || visit.callees.iter().map(|&(endpoint, _)| endpoint);
                of.shapes.entry(visit.shape(set)).or_insert_with(|| (0, callees().collect())).0 += 1;
                keep_first(&mut of.shapes);
                callees().for_each(|callee| *of.callees.entry(callee).or_default() += 1);
            }
        }
        let named = found.iter().flat_map(|(root, of)| std::iter::once(root).chain(of.callees.keys()));
        let (names, number_of) = numbered(set, named.copied());
        facts.names = names;
        facts.roots = renumbered(found, &number_of).collect();
        facts
    }

    /// Adds what another set holds.
    pub fn merge(&mut self, other: TypeFacts) {
        self.is_tag_lost |= other.is_tag_lost;
        self.are_addresses_lost |= other.are_addresses_lost;
        let (names, numbers) = join_names([self.names.as_slice(), &other.names]);
        self.names = names;
        self.roots = renumbered(std::mem::take(&mut self.roots), &numbers[0]).collect();
        for (root, from) in renumbered(other.roots, &numbers[1]) {
            let into = self.roots.entry(root).or_default();
            into.requests += from.requests;
            for (route, count) in from.routes {
                *into.routes.entry(route).or_default() += count;
            }
            keep_first(&mut into.routes);
            for (hash, (count, callees)) in from.shapes {
                into.shapes.entry(hash).or_insert((0, callees)).0 += count;
            }
            keep_first(&mut into.shapes);
            for (callee, count) in from.callees {
                *into.callees.entry(callee).or_default() += count;
            }
        }
    }

    /// Returns the last source whose routes count.
    fn last_source(&self) -> Option<RouteSource> {
        let last = if self.are_addresses_lost { RouteSource::Tag } else { RouteSource::Other };
        (!self.is_tag_lost).then_some(last)
    }

    /// Returns how requests are grouped by this.
    pub fn names(&self, by: &GroupBy) -> TypeNames {
        let by = match by {
            GroupBy::Automatic => self.choose(),
            by => by.clone(),
        };
        let last_source = (by == GroupBy::Route).then(|| self.last_source()).flatten();
        let mut names = TypeNames { by, last_source, ..TypeNames::default() };
        for (root, facts) in &self.roots {
            let root = &self.names[*root as usize];
            match names.by {
                GroupBy::Route => {
                    let Some(routes) = facts.routes(names.last_source) else { continue };
                    let mut routes: Vec<(&str, u64)> = routes.into_iter().collect();
                    // Stable: equal ones stay by name.
                    routes.compact_sort_by_key(|route| std::cmp::Reverse(route.1));
                    let named = routes.iter().take(MOST_NAMED).map(|(route, _)| (*route).to_owned());
                    names.routes.insert(root.clone(), named.collect());
                }
                GroupBy::Shape if facts.has_shapes() => {
                    names.shapes.insert(root.clone(), facts.shape_names(&self.names));
                }
                _ => {}
            }
        }
        names
    }

    /// Chooses by route, if some root endpoint then falls into two or more types of 5 % of its requests each; else by
    /// shape, if the same holds and no root endpoint would have more than 20; else by root endpoint.
    fn choose(&self) -> GroupBy {
        let mut roots = self.roots.values();
        let divides = |counts: &mut dyn Iterator<Item = u64>, of: u64| {
            counts.filter(|count| count * 100 >= of * LEAST_PERCENT).count() >= 2
        };
        let by_route = roots.clone().any(|facts| {
            facts.routes(self.last_source()).is_some_and(|routes| {
                let none = facts.requests.saturating_sub(routes.values().sum());
                divides(&mut routes.values().copied().chain([none]), facts.requests)
            })
        });
        if by_route {
            return GroupBy::Route;
        }
        let is_known = roots.clone().all(|facts| facts.shapes.len() <= MOST_SHAPES);
        let by_shape =
            roots.any(|facts| divides(&mut facts.shapes.values().map(|shape| shape.0), facts.requests));
        if is_known && by_shape { GroupBy::Shape } else { GroupBy::Root }
    }
}

/// Returns facts of root endpoints by other numbers: to each of theirs the new one.
fn renumbered(
    roots: impl IntoIterator<Item = (u32, RootFacts)>,
    numbers: &[u32],
) -> impl Iterator<Item = (u32, RootFacts)> {
    let number = |old: u32| numbers[old as usize];
    roots.into_iter().map(move |(root, mut of)| {
        for (_, callees) in of.shapes.values_mut() {
            callees.iter_mut().for_each(|callee| *callee = number(*callee));
            callees.sort_unstable();
        }
        of.callees = of.callees.into_iter().map(|(callee, requests)| (number(callee), requests)).collect();
        (number(root), of)
    })
}

impl RootFacts {
    /// Returns the requests by route, if these tell the requests apart and are few enough.
    fn routes(&self, last: Option<RouteSource>) -> Option<BTreeMap<&str, u64>> {
        let counted = || self.routes.iter().filter(|((source, _), _)| Some(*source) <= last);
        let mut routes: BTreeMap<&str, u64> = BTreeMap::new();
        for ((_, route), count) in counted() {
            *routes.entry(route).or_default() += count;
        }
        let has_none = routes.values().sum::<u64>() < self.requests;
        let types = routes.len() + usize::from(has_none && !routes.is_empty());
        let is_whole = counted().count() <= MOST_COUNTED;
        (is_whole && (2..=MOST_COUNTED).contains(&types)).then_some(routes)
    }

    fn has_shapes(&self) -> bool {
        (2..=MOST_COUNTED).contains(&self.shapes.len())
    }

    /// Returns the names of the most frequent shapes: by the rarest of what they call, and where that is not enough by
    /// the next.
    fn shape_names(&self, endpoints: &[Endpoint]) -> BTreeMap<u64, String> {
        let mut shapes: Vec<(u64, u64, Vec<u32>)> = (self.shapes.iter())
            .map(|(&hash, (count, callees))| {
                let mut callees = callees.clone();
                // Stable: equally rare ones stay by name.
                callees.compact_sort_by_key(|callee| self.callees.get(callee).copied().unwrap_or(0));
                (hash, *count, callees)
            })
            .collect();
        shapes.compact_sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.2.cmp(&b.2)));
        shapes.truncate(MOST_NAMED);
        let shapes: Vec<(u64, Vec<Cow<str>>)> = shapes
            .into_iter()
            .map(|(hash, _, callees)| {
                (hash, callees.into_iter().map(|callee| said(&endpoints[callee as usize])).collect())
            })
            .collect();
        let mut names = BTreeMap::new();
        for (at, (hash, callees)) in shapes.iter().enumerate() {
            // One more than the most that another shape begins with too.
            let alike = |other: &[Cow<str>]| callees.iter().zip(other).take_while(|(a, b)| a == b).count();
            let others = shapes.iter().enumerate().filter(|(place, _)| *place != at);
            let shared = others.map(|(_, (_, other))| alike(other)).max().unwrap_or(0);
            let said = match &callees[..callees.len().min(shared + 1)] {
                [] => "without calls".to_owned(),
                callees => format!("with {}", callees.join(", ")),
            };
            let is_only = !names.values().any(|known| *known == said);
            names.insert(*hash, if is_only { said } else { format!("{said} ({hash:016x})") });
        }
        names
    }
}

/// Returns what a callee is called in the name of a shape: its operation, with the service where that is only a method
/// of HTTP.
fn said(callee: &Endpoint) -> Cow<'_, str> {
    if is_method(&callee.operation) {
        format!("{} {}", callee.service, callee.operation).into()
    } else {
        callee.operation.as_str().into()
    }
}

/// Returns whether an operation is the bare name of a method of HTTP.
fn is_method(operation: &str) -> bool {
    let method = operation.strip_prefix("HTTP ").unwrap_or(operation);
    matches!(method, "GET" | "POST" | "PUT" | "DELETE" | "PATCH" | "HEAD" | "OPTIONS" | "HTTP")
}

/// Calls of the service of a request's root; keeps its memory from request to request.
struct Visit {
    reading: Reading,
    /// By row from the root on: whether it is a span of the visit.
    is_part: Vec<bool>,
    /// Endpoints called, by number, each with the row of one of its spans.
    callees: Vec<(u32, u32)>,
}

impl Visit {
    fn new(reading: Reading) -> Visit {
        Visit { reading, is_part: Vec::new(), callees: Vec::new() }
    }

    /// Looks at the request whose root is a row; `end` is that of its trace.
    fn look(&mut self, set: &TraceSet, root: u32, end: u32) {
        let service = set.process_of(root).service;
        self.callees.clear();
        self.is_part.clear();
        self.is_part.push(true);
        let mut is_inside = true;
        in_blocks((end - root - 1) as usize, &mut |block| {
            for row in block.map(|i| root + 1 + i as u32) {
                let parent = set.parent(row);
                is_inside &= parent != NO_ROW && parent >= root;
                if !is_inside {
                    return;
                }
                let is_waited_for = self.is_part[(parent - root) as usize]
                    && !is_declared_async(set, row, parent, self.reading);
                let is_own = set.process_of(row).service == service;
                self.is_part.push(is_waited_for && is_own);
                if is_waited_for && !is_own {
                    self.callees.push((set.named_endpoint(row).0, row));
                }
            }
        });
        self.callees.sort_unstable();
        self.callees.dedup_by_key(|callee| callee.0);
    }

    /// Returns a hash of the set of endpoints called, the same in every worker.
    fn shape(&self, set: &TraceSet) -> u64 {
        let hash = |&(number, _): &(u32, u32)| {
            let (service, operation) = set.endpoint_name(EndpointId(number));
            mix(hash_bytes(service.as_bytes()) ^ mix(hash_bytes(operation.as_bytes())))
        };
        // A sum, since numbers of endpoints differ from worker to worker.
        self.callees.iter().map(hash).fold(1, u64::wrapping_add)
    }

    /// Returns the route of the request: its tag, its path, or the only endpoint it calls.
    fn route(&self, set: &TraceSet, root: u32, end: u32) -> Option<(RouteSource, String)> {
        let tags = set.tag_set(root);
        if let Some(route) = set.tags.value(tags, ROUTE_KEY).filter(|value| !value.is_empty()) {
            return Some((RouteSource::Tag, route.to_owned()));
        }
        // Of several the smallest template: which of the addresses are stored depends on what was read before.
        let path = ADDRESS_KEYS.into_iter().find_map(|key| {
            let paths = set.tags.stored_values(tags, key).map(address_template);
            paths.filter(|path| !path.is_empty()).min()
        });
        Some((RouteSource::Other, path.map(Cow::into_owned).or_else(|| self.only_callee(set, end))?))
    }

    /// Returns the operation of the only endpoint called, and where that is a bare method of HTTP, of its only child.
    fn only_callee(&self, set: &TraceSet, end: u32) -> Option<String> {
        let &[(number, row)] = self.callees.as_slice() else { return None };
        let operation = set.endpoint_name(EndpointId(number)).1;
        if !is_method(operation) {
            return Some(operation.to_owned());
        }
        let below =
            (row + 1..end).take_while(|&below| set.parent(below) != NO_ROW && set.parent(below) >= row);
        let mut children = below.filter(|&below| set.parent(below) == row);
        match (children.next(), children.next()) {
            (Some(only), None) => Some(set.endpoint_name(set.named_endpoint(only)).1.to_owned()),
            _ => Some(operation.to_owned()),
        }
    }
}

/// The types of some requests of one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RequestTypes {
    /// By request: the number of its type.
    of: Vec<u32>,
    /// The type with this number.
    names: Vec<RequestType>,
}

impl RequestTypes {
    /// Finds the types of requests by the rows of their roots; `of` are the roots for which trees are loaded.
    pub fn new(
        set: &TraceSet,
        rows: impl Iterator<Item = u32>,
        names: &TypeNames,
        (of, reading): (RequestRoots, Reading),
    ) -> RequestTypes {
        let has_incomplete = reading.has(ReadingRule::Roots) && matches!(of, RequestRoots::All);
        let mut types = RequestTypes::default();
        let mut numbers: FxHashMap<RequestType, u32> = FxHashMap::default();
        // Most requests are of few types: of these the number follows from numbers.
        let mut known: FxHashMap<(EndpointId, u64), u32> = FxHashMap::default();
        let mut visit = Visit::new(reading);
        for row in rows {
            let root = set.named_endpoint(row);
            let mut number = |key: Option<u64>, part: &dyn Fn() -> String| {
                let mut find = || {
                    let name = RequestType { root: set.owned_endpoint(root), part: part() };
                    let next = numbers.len() as u32;
                    *numbers.entry(name.clone()).or_insert_with(|| {
                        types.names.push(name);
                        next
                    })
                };
                match key {
                    Some(key) => *known.entry((root, key)).or_insert_with(find),
                    None => find(),
                }
            };
            let end = || {
                let traces = set.traces();
                traces.get(traces.partition_point(|trace| trace.end <= row)).map_or(row, |trace| trace.end)
            };
            let found = match &names.by {
                _ if has_incomplete && set.flags(row).is_orphan() => number(None, &|| NO_CALLER.to_owned()),
                GroupBy::Automatic | GroupBy::Root => number(Some(0), &String::new),
                GroupBy::Shape => {
                    visit.look(set, row, end());
                    let shape = visit.shape(set);
                    number(Some(shape), &|| match names.shapes.get(&set.owned_endpoint(root)) {
                        Some(shapes) => shapes.get(&shape).map_or("other shapes", String::as_str).to_owned(),
                        None => String::new(),
                    })
                }
                GroupBy::Route => {
                    visit.look(set, row, end());
                    number(None, &|| match names.routes.get(&set.owned_endpoint(root)) {
                        Some(routes) => {
                            let route = visit.route(set, row, end());
                            match route.filter(|(source, _)| Some(*source) <= names.last_source) {
                                None => "(no route)".to_owned(),
                                Some((_, route)) if routes.contains(&route) => route,
                                Some(_) => "(other routes)".to_owned(),
                            }
                        }
                        None => String::new(),
                    })
                }
                GroupBy::Tag(key) => number(None, &|| match value_of(set, row, end(), key) {
                    Some(value) => format!("{key}={value}"),
                    None => format!("(no {key})"),
                }),
                GroupBy::Through(service) => {
                    let is_through = passes_through(set, row, end(), service);
                    number(Some(is_through.into()), &|| {
                        format!("{}through {service}", if is_through { "" } else { "not " })
                    })
                }
            };
            types.of.push(found);
        }
        types
    }

    /// Returns the number of the type of a request.
    pub fn of(&self, request: u32) -> u32 {
        self.of[request as usize]
    }

    /// Returns the types by number.
    pub fn names(&self) -> &[RequestType] {
        &self.names
    }
}

/// Returns the value of a tag in a request: that of its first span that has it, or whose process has it.
fn value_of<'a>(set: &'a TraceSet, root: u32, end: u32, key: &str) -> Option<&'a str> {
    let is_inside = |row: &u32| *row == root || set.parent(*row) != NO_ROW && set.parent(*row) >= root;
    (root..end).take_while(is_inside).find_map(|row| {
        let own = set.tags.value(set.tag_set(row), key);
        own.or_else(|| set.tags.value(set.process_of(row).tags, key))
    })
}

/// Returns whether some span of a request is of this service.
fn passes_through(set: &TraceSet, root: u32, end: u32, service: &str) -> bool {
    let Some(service) = set.names.find(service) else { return false };
    let is_inside = |row: &u32| *row == root || set.parent(*row) != NO_ROW && set.parent(*row) >= root;
    (root..end).take_while(is_inside).any(|row| set.process_of(row).service == service)
}

#[cfg(test)]
#[path = "types_tests.rs"]
mod tests;
