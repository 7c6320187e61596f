//! Histograms over all requests of the size, depth and parallelism of traces (`docs/definitions/critical-path.md` section 6; paper Fig. 13 to
//! 20).

use super::{Observer, PathTable, pack_sorted, unpack_sorted};
use crate::requests::{PercentileRange, RangeFacts};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::Distribution;
use pathlight_trace::{Endpoint, NO_ROW, RequestWork, Role, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// Bins of each histogram.
const BINS: u32 = 40;

/// Quantity that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Quantity {
    /// Spans of a request (Fig. 13).
    Spans,
    /// Distinct endpoints of a request (Fig. 14).
    Endpoints,
    /// Latency in microseconds (Fig. 15).
    Latency,
    /// Spans on the longest call chain of a request, its root included (Fig. 16).
    Depth,
    /// Distinct endpoints that call an endpoint (Fig. 17).
    Callers,
    /// Most spans of a request that overlap in time (Fig. 18).
    Concurrency,
    /// Work of a request in microseconds.
    Work,
    /// Parallelism of a request in percent.
    Parallelism,
    /// Spans on the critical path of a request (Fig. 19).
    PathSpans,
    /// Distinct endpoints on the critical path of a request (Fig. 20).
    PathEndpoints,
    /// Spans of an endpoint, over all requests.
    Appearances,
    /// Spans of an endpoint on critical paths, over all requests.
    PathAppearances,
}

impl Quantity {
    /// All of them, in the order of the report.
    pub const ALL: [Quantity; 12] = [
        Quantity::Spans,
        Quantity::Endpoints,
        Quantity::Latency,
        Quantity::Depth,
        Quantity::Callers,
        Quantity::Concurrency,
        Quantity::Work,
        Quantity::Parallelism,
        Quantity::PathSpans,
        Quantity::PathEndpoints,
        Quantity::Appearances,
        Quantity::PathAppearances,
    ];

    /// Returns its key in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Quantity::Spans => "spans",
            Quantity::Endpoints => "endpoints",
            Quantity::Latency => "latency_us",
            Quantity::Depth => "longest_call_chain",
            Quantity::Callers => "callers_per_endpoint",
            Quantity::Concurrency => "max_concurrency",
            Quantity::Work => "work_us",
            Quantity::Parallelism => "parallelism_percent",
            Quantity::PathSpans => "critical_path_spans",
            Quantity::PathEndpoints => "critical_path_endpoints",
            Quantity::Appearances => "spans_per_endpoint",
            Quantity::PathAppearances => "critical_path_spans_per_endpoint",
        }
    }

    /// Returns what a heading says.
    pub fn title(self) -> &'static str {
        match self {
            Quantity::Spans => "Spans per request",
            Quantity::Endpoints => "Endpoints per request",
            Quantity::Latency => "Latency",
            Quantity::Depth => "Longest call path",
            Quantity::Callers => "Callers per endpoint",
            Quantity::Concurrency => "Most spans at once",
            Quantity::Work => "Work",
            Quantity::Parallelism => "Work in % of latency",
            Quantity::PathSpans => "Spans on the path",
            Quantity::PathEndpoints => "Endpoints on the path",
            Quantity::Appearances => "Spans per endpoint",
            Quantity::PathAppearances => "Path spans per endpoint",
        }
    }
}

/// Quantities of a request: the places of [`Quantity::ALL`] without those of endpoints.
const OF_REQUESTS: usize = 9;

/// Histograms over the requests of a percentile range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HistogramsReport {
    /// The percentile range of the report.
    pub range: Option<PercentileRange>,
    /// Requests and latencies of the range.
    pub facts: RangeFacts,
    /// One distribution for each of [`Quantity::ALL`], in that order.
    pub distributions: Vec<(Quantity, Distribution)>,
    /// Calls of each endpoint, by name; none of a summary.
    pub calls: Vec<EndpointCalls>,
}

/// Spans of an endpoint over all requests, each trace once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct EndpointCalls {
    /// The endpoint.
    pub endpoint: Endpoint,
    /// Spans on critical paths.
    pub on_path: u64,
    /// All other spans.
    pub off_path: u64,
}

/// Counts of quantities over some requests; merges with those of other requests into [`HistogramsReport`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HistogramsPart {
    /// Values of the requests by quantity, sorted and packed.
    of_requests: [Vec<u64>; OF_REQUESTS],
    endpoints: Vec<EndpointSums>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct EndpointSums {
    name: Endpoint,
    spans: u64,
    path_spans: u64,
    /// Places of its callers in the list of endpoints.
    callers: Vec<u32>,
}

/// Spans, spans on the path, and callers of an endpoint.
type NameSums<'a> = (u64, u64, BTreeSet<&'a Endpoint>);

impl HistogramsPart {
    /// Joins parts of disjoint requests and finishes.
    pub fn finish(parts: Vec<HistogramsPart>, range: PercentileRange, facts: RangeFacts) -> HistogramsReport {
        let mut of_requests: [Vec<u64>; OF_REQUESTS] = Default::default();
        let mut endpoints: BTreeMap<&Endpoint, NameSums<'_>> = BTreeMap::new();
        for part in &parts {
            for (all, own) in of_requests.iter_mut().zip(&part.of_requests) {
                all.extend(unpack_sorted(own.clone()));
            }
            for endpoint in &part.endpoints {
                let sums = endpoints.entry(&endpoint.name).or_default();
                sums.0 += endpoint.spans;
                sums.1 += endpoint.path_spans;
                sums.2.extend(endpoint.callers.iter().map(|&caller| &part.endpoints[caller as usize].name));
            }
        }
        let [spans, unique, latency, depth, concurrency, work, parallelism, path_spans, path_unique] =
            of_requests;
        let of_endpoints =
            |value: &dyn Fn(&NameSums<'_>) -> u64| -> Vec<u64> { endpoints.values().map(value).collect() };
        let values = [
            spans,
            unique,
            latency,
            depth,
            of_endpoints(&|sums| sums.2.len() as u64),
            concurrency,
            work,
            parallelism,
            path_spans,
            path_unique,
            of_endpoints(&|sums| sums.0),
            of_endpoints(&|sums| sums.1),
        ];
        let distributions = Quantity::ALL.into_iter().zip(values).map(|(quantity, mut values)| {
            values.sort_unstable();
            (quantity, Distribution::of_sorted(&values, BINS))
        });
        let distributions = distributions.collect();
        let calls = endpoints.iter().map(|(endpoint, &(spans, on_path, _))| EndpointCalls {
            endpoint: (*endpoint).clone(),
            on_path,
            off_path: spans.saturating_sub(on_path),
        });
        HistogramsReport { range: Some(range), facts, distributions, calls: calls.collect() }
    }
}

/// Counts the requests of one worker.
pub struct HistogramsObserver {
    of_requests: [Vec<u64>; OF_REQUESTS],
    /// By endpoint: spans, spans on paths.
    spans: Vec<u64>,
    path_spans: Vec<u64>,
    calls: hashbrown::HashSet<(u32, u32), rustc_hash::FxBuildHasher>,
    /// By endpoint: the last request that had it, and the last that had it on its path.
    seen: Vec<u32>,
    on_path: Vec<u32>,
    stamp: u32,
    depth: Vec<u32>,
    events: Vec<(u64, Event)>,
    calls_of_span: Vec<(u64, u64)>,
}

/// In this order at one time, so that spans that touch do not overlap and an empty one overlaps what it lies in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    End,
    Start,
    EmptyEnd,
}

impl HistogramsObserver {
    /// Returns an observer of requests of this set.
    pub fn new(set: &TraceSet) -> HistogramsObserver {
        let endpoints = set.endpoints().len();
        HistogramsObserver {
            of_requests: Default::default(),
            spans: vec![0; endpoints],
            path_spans: vec![0; endpoints],
            calls: hashbrown::HashSet::default(),
            seen: vec![0; endpoints],
            on_path: vec![0; endpoints],
            stamp: 0,
            depth: Vec::new(),
            events: Vec::new(),
            calls_of_span: Vec::new(),
        }
    }
}

impl Observer for HistogramsObserver {
    type Part = HistogramsPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let facts = &table.requests[request as usize];
        self.stamp += 1;
        let root = facts.row - tree.first;
        let end = tree.subtree_end[root as usize];
        let (mut unique, mut deepest) = (0, 0);
        self.depth.clear();
        self.depth.resize((end - root) as usize, 0);
        self.events.clear();
        for i in root..end {
            let at = i as usize;
            if tree.role[at] == Role::Dropped {
                continue;
            }
            let endpoint = set.endpoint(tree.row(i)).0;
            self.spans[endpoint as usize] += 1;
            if std::mem::replace(&mut self.seen[endpoint as usize], self.stamp) != self.stamp {
                unique += 1;
            }
            let depth = if i == root {
                1
            } else {
                let parent = tree.parent[at];
                // What nobody waits for may hang below a span that is left out.
                if tree.role[parent as usize] != Role::Dropped {
                    self.calls.insert((set.endpoint(tree.row(parent)).0, endpoint));
                }
                self.depth[(parent - root) as usize] + 1
            };
            self.depth[at - root as usize] = depth;
            deepest = deepest.max(depth);
            let (start, stop) = (tree.start_us[at], tree.end_us[at]);
            // An overlay is the work of the calls beside it, seen a second time.
            if tree.role[at] != Role::Overlay {
                self.events.push((start, Event::Start));
                self.events.push((stop, if start == stop { Event::EmptyEnd } else { Event::End }));
            }
        }
        self.events.sort_unstable();
        let (mut open, mut most) = (0u64, 0);
        for &(_, event) in &self.events {
            if event == Event::Start {
                open += 1;
                most = most.max(open);
            } else {
                open -= 1;
            }
        }
        let work = RequestWork::of(tree, root, &mut self.calls_of_span);
        let mut path_unique = 0;
        for entry in table.entries(request) {
            let endpoint = table.contexts()[entry.context as usize].1.0 as usize;
            self.path_spans[endpoint] += u64::from(entry.spans);
            if std::mem::replace(&mut self.on_path[endpoint], self.stamp) != self.stamp {
                path_unique += 1;
            }
        }
        let values = [
            u64::from(facts.spans),
            unique,
            facts.latency_us,
            u64::from(deepest),
            most,
            work.work_us,
            work.percent(),
            u64::from(facts.path_spans),
            path_unique,
        ];
        for (all, value) in self.of_requests.iter_mut().zip(values) {
            all.push(value);
        }
    }

    fn finish(self, set: &TraceSet) -> HistogramsPart {
        let mut place = vec![NO_ROW; self.spans.len()];
        let mut endpoints: Vec<EndpointSums> = Vec::new();
        for (number, (service, operation)) in set.endpoints().enumerate() {
            if self.spans[number] > 0 {
                place[number] = endpoints.len() as u32;
                endpoints.push(EndpointSums {
                    name: Endpoint::new(service, operation),
                    spans: self.spans[number],
                    path_spans: self.path_spans[number],
                    callers: Vec::new(),
                });
            }
        }
        let mut calls: Vec<(u32, u32)> = self.calls.into_iter().collect();
        calls.compact_sort();
        for (caller, callee) in calls {
            endpoints[place[callee as usize] as usize].callers.push(place[caller as usize]);
        }
        let of_requests = self.of_requests.map(|mut values| {
            values.sort_unstable();
            pack_sorted(values)
        });
        HistogramsPart { of_requests, endpoints }
    }
}
