//! The sums for a diagnosis in a summary: the times of endpoints and of the parts of their spans, by latency bin
//! (`docs/definitions/summary.md` section 1, `tprof.md` section 2).

use crate::diagnosis::{SpanEvent, Subspans, child_events, span_end};
use crate::flame::{Observer, PathTable, Reusable};
use crate::names::join_names;
use crate::summaries::LatencyBin;
use crate::summaries::maps::by_key;
use crate::summaries::names::SetNames;
use crate::summaries::section::{Kind, Renaming, RootSums};
use crate::summaries::sketch::{MOST, each_number, push_number};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::Moments;
use pathlight_base::touched::Touched;
use pathlight_trace::{Endpoint, ReadingRule, SpanKind, TraceSet, Tree};
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::mem::take;

/// Parts of the spans of an endpoint, in the requests of a root endpoint, beyond which they are not listed one by one.
pub const MOST_PLACES: usize = 64;

/// Latency bins, each by the difference of its number from the one before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct LatencyBins(#[serde(with = "pathlight_base::packed")] Vec<u8>);

impl LatencyBins {
    fn of(bins: impl IntoIterator<Item = LatencyBin>) -> LatencyBins {
        let (mut out, mut last) = (Vec::new(), 0);
        for LatencyBin { number, requests, us } in bins {
            push_number(&mut out, number - last);
            push_number(&mut out, requests);
            push_number(&mut out, us);
            last = number;
        }
        LatencyBins(out)
    }

    /// Returns the bins by number.
    pub fn list(&self) -> Vec<LatencyBin> {
        let (mut out, mut place, mut next) = (Vec::new(), 0, LatencyBin::default());
        each_number(&self.0, |number: u128| {
            match place {
                0 => next.number = next.number.saturating_add(u32::try_from(number).unwrap_or(u32::MAX)),
                1 => next.requests = u64::try_from(number).unwrap_or(u64::MAX),
                _ => {
                    next.us = number;
                    out.push(next);
                }
            }
            place = (place + 1) % 3;
        });
        out
    }

    fn join<'a>(of: impl Iterator<Item = &'a LatencyBins>) -> LatencyBins {
        let lists: Vec<Vec<LatencyBin>> = of.map(LatencyBins::list).collect();
        LatencyBins::of(LatencyBin::join(lists.iter().map(Vec::as_slice)))
    }

    fn is_sound(&self) -> bool {
        let (list, last) = (self.list(), LatencyBin::of_latency(u64::MAX));
        list.is_sorted_by(|a, b| a.number < b.number)
            && list.iter().all(|bin| bin.number <= last && (1..=MOST).contains(&bin.requests))
    }
}

/// Place of a part in its span: by what stands before and after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Place {
    /// The endpoint of the child that begins or ends last before it, counted from 1; 0 for the start of the span.
    pub previous: u32,
    /// The endpoint of the child that begins next, counted from 1; 0 for the end of the span.
    pub next: u32,
    /// The span is a client's, and its only child belongs to another service.
    pub is_gap: bool,
}

impl Place {
    fn renumbered(self, numbers: &[u32]) -> Place {
        let moved = |place: u32| place.checked_sub(1).map_or(0, |number| numbers[number as usize] + 1);
        Place { previous: moved(self.previous), next: moved(self.next), ..self }
    }
}

/// The time of a part of spans; in how many spans there is one stands in the bins as requests.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct PlaceTimes {
    pub place: Place,
    pub times: LatencyBins,
}

/// The spans of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct EndpointSums {
    pub endpoint: u32,
    /// Requests that have it.
    pub requests: u64,
    pub duration_us: Moments,
    pub self_us: Moments,
    /// Spans and their own time.
    pub own: LatencyBins,
    /// It has more than [`MOST_PLACES`] parts, which are then left out.
    pub is_too_wide: bool,
    /// The parts of spans that call something: those that call nothing have what is left of the own time.
    pub places: Vec<PlaceTimes>,
}

/// Sums of each endpoint in the requests of one root endpoint, however far from their critical paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiagnosisSums {
    /// Requests kept out, as spans of their traces lack their parents.
    pub(crate) orphans: u64,
    /// Requests kept out, as their traces have several roots that count as one request.
    pub(crate) several_roots: u64,
    /// Names, sorted; numbers below are places here.
    pub(crate) endpoints: Vec<Endpoint>,
    /// Requests and their latency.
    pub(crate) requests: LatencyBins,
    pub(crate) latency_us: Moments,
    /// Sums by endpoint.
    pub(crate) rows: Vec<EndpointSums>,
}

impl EndpointSums {
    fn join(mut parts: Vec<EndpointSums>) -> EndpointSums {
        // Renamed endpoints may leave places out of order, or twice.
        if parts.len() == 1 && parts[0].places.is_sorted_by(|a, b| a.place < b.place) {
            return parts.pop().unwrap_or_default();
        }
        let own = LatencyBins::join(parts.iter().map(|part| &part.own));
        let mut out = EndpointSums { own, ..EndpointSums::default() };
        let mut places: BTreeMap<Place, Vec<LatencyBins>> = BTreeMap::new();
        for part in parts {
            out.endpoint = part.endpoint;
            out.requests += part.requests;
            out.duration_us.merge(part.duration_us);
            out.self_us.merge(part.self_us);
            out.is_too_wide |= part.is_too_wide;
            for PlaceTimes { place, times } in part.places {
                places.entry(place).or_default().push(times);
            }
        }
        if !out.is_too_wide {
            let joined = |(place, times): (Place, Vec<LatencyBins>)| PlaceTimes {
                place,
                times: LatencyBins::join(times.iter()),
            };
            out.places = places.into_iter().map(joined).collect();
        }
        out.without_too_many()
    }

    fn without_too_many(mut self) -> EndpointSums {
        self.is_too_wide |= self.places.len() > MOST_PLACES;
        if self.is_too_wide {
            self.places = Vec::new();
        }
        self
    }

    fn renumbered(mut self, numbers: &[u32]) -> EndpointSums {
        self.endpoint = numbers[self.endpoint as usize];
        self.places.iter_mut().for_each(|of| of.place = of.place.renumbered(numbers));
        self
    }

    /// Returns every part of its spans with its time by bin; that of spans that call nothing last.
    pub fn parts(&self) -> Vec<(Place, Vec<LatencyBin>)> {
        if self.is_too_wide {
            return Vec::new();
        }
        let mut out: Vec<(Place, Vec<LatencyBin>)> =
            self.places.iter().map(|of| (of.place, of.times.list())).collect();
        let mut rest: BTreeMap<u32, LatencyBin> =
            self.own.list().into_iter().map(|bin| (bin.number, bin)).collect();
        for (place, bins) in &out {
            for bin in bins {
                let Some(rest) = rest.get_mut(&bin.number) else { continue };
                rest.us = rest.us.saturating_sub(bin.us);
                // Each span that calls something has one part that begins with it.
                let begins = if place.previous == 0 { bin.requests } else { 0 };
                rest.requests = rest.requests.saturating_sub(begins);
            }
        }
        let rest: Vec<LatencyBin> = rest.into_values().filter(|bin| bin.requests > 0).collect();
        if !rest.is_empty() {
            out.push((Place { previous: 0, next: 0, is_gap: false }, rest));
        }
        out
    }

    fn is_sound(&self, endpoints: u32) -> bool {
        let is_place = |of: &PlaceTimes| {
            of.place.previous.max(of.place.next) <= endpoints
                && (of.place.previous, of.place.next) != (0, 0)
                && of.times.is_sound()
        };
        self.endpoint < endpoints
            && self.requests <= MOST
            && self.own.is_sound()
            && self.places.len() <= MOST_PLACES
            && self.places.is_sorted_by(|a, b| a.place < b.place)
            && self.places.iter().all(is_place)
    }
}

impl RootSums for DiagnosisSums {
    const KIND: Kind = Kind { name: "diagnosis", version: 1, words: "what a diagnosis needs" };

    fn join(parts: Vec<DiagnosisSums>) -> DiagnosisSums {
        let requests = LatencyBins::join(parts.iter().map(|part| &part.requests));
        let mut out = DiagnosisSums { requests, ..DiagnosisSums::default() };
        let (endpoints, numbers) = join_names(parts.iter().map(|part| part.endpoints.as_slice()));
        out.endpoints = endpoints;
        let mut rows = Vec::with_capacity(parts.len());
        for (part, numbers) in parts.into_iter().zip(&numbers) {
            out.orphans += part.orphans;
            out.several_roots += part.several_roots;
            out.latency_us.merge(part.latency_us);
            let renumbered = part.rows.into_iter().map(|row| row.renumbered(numbers));
            rows.push(renumbered.map(|row| (row.endpoint, row)).collect::<Vec<(u32, EndpointSums)>>());
        }
        out.rows = by_key(rows.into_iter()).into_values().map(EndpointSums::join).collect();
        out
    }

    fn renamed(mut self, renaming: Renaming<'_>) -> DiagnosisSums {
        renaming.names(&mut self.endpoints);
        // Joining brings names into their order.
        DiagnosisSums::join(vec![self])
    }

    fn is_sound(&self) -> bool {
        let endpoints = self.endpoints.len() as u32;
        self.orphans.max(self.several_roots) <= MOST
            && self.requests.is_sound()
            && self.endpoints.is_sorted_by(|a, b| a < b)
            && self.rows.is_sorted_by(|a, b| a.endpoint < b.endpoint)
            && self.rows.iter().all(|row| row.is_sound(endpoints))
    }
}

/// Data of a worker about an endpoint.
#[derive(Clone, Copy, Default)]
struct Seen {
    /// The request that had it last, counted from 1.
    last: u64,
    requests: u64,
    duration_us: Moments,
    self_us: Moments,
}

/// An endpoint, a part of its spans or `None` for all of them, and a bin.
type Key = (u32, Option<Place>, u32);

/// Sums the spans of the requests of one set.
pub(crate) struct DiagnosisObserver {
    names: SetNames,
    orphans: u64,
    several_roots: u64,
    requests: u64,
    latency_us: Moments,
    bins: BTreeMap<u32, LatencyBin>,
    seen: Touched<Seen>,
    times: FxHashMap<Key, (u64, u128)>,
    events: Vec<SpanEvent>,
}

impl DiagnosisObserver {
    /// Returns an observer that has seen nothing.
    pub fn new(set: &TraceSet) -> DiagnosisObserver {
        DiagnosisObserver {
            seen: Touched::default(),
            names: SetNames::of(set),
            orphans: 0,
            several_roots: 0,
            requests: 0,
            latency_us: Moments::default(),
            bins: BTreeMap::new(),
            times: FxHashMap::default(),
            events: Vec::new(),
        }
    }

    fn add(&mut self, key: Key, us: u64) {
        let (n, sum) = self.times.entry(key).or_default();
        *n += 1;
        *sum += u128::from(us);
    }

    /// Takes note of a span in a request of this bin. The order of events is that of `tprof.md` section 2; of children
    /// that begin and end together, those of one endpoint are alike here.
    fn look(&mut self, set: &TraceSet, tree: &Tree, span: u32, bin: u32) {
        let number = self.names.number_of[set.endpoint(tree.row(span)).0 as usize];
        let (begin, end) = (tree.start_us[span as usize], tree.end_us[span as usize]);
        self.events.clear();
        for child in tree.sync_children(span) {
            let (start, end) = (tree.start_us[child as usize], tree.end_us[child as usize]);
            let endpoint = self.names.number_of[set.endpoint(tree.row(child)).0 as usize];
            self.events.extend(child_events(start, end, endpoint));
        }
        let service = |number: u32| &self.names.names[number as usize].service;
        let is_gap = matches!(self.events[..], [(_, _, _, child), _]
            if set.kind(tree.row(span)) == SpanKind::Client && service(child) != service(number));
        let (mut own, mut subspans) = (end - begin, Subspans::new(begin));
        if !self.events.is_empty() {
            self.events.push(span_end(end));
            self.events.sort_unstable();
            own = 0;
            let events = take(&mut self.events);
            for found in events.iter().filter_map(|event| subspans.pass(event)) {
                // Counted from 1; none is 0.
                let [previous, next] = [found.previous, found.next].map(|child| child.wrapping_add(1));
                self.add((number, Some(Place { previous, next, is_gap }), bin), found.us);
                own += found.us;
            }
            self.events = events;
        }
        self.add((number, None, bin), own);
        let seen = self.seen.at(number);
        seen.requests += u64::from(seen.last != self.requests);
        seen.last = self.requests;
        seen.duration_us.add(end - begin);
        seen.self_us.add(end - begin - subspans.covered_us);
    }
}

impl Observer for DiagnosisObserver {
    type Part = DiagnosisSums;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let root = table.requests[request as usize].row - tree.first;
        let shape = set.traces()[tree.trace as usize].shape;
        if !tree.is_structure_known(set) {
            self.orphans += 1;
            return;
        }
        if root == 0 && shape.roots > 1 && !tree.settings.reading.has(ReadingRule::Roots) {
            self.several_roots += 1;
            return;
        }
        self.requests += 1;
        let latency_us = table.requests[request as usize].latency_us;
        let number = LatencyBin::of_latency(latency_us);
        self.latency_us.add(latency_us);
        let bin = self.bins.entry(number).or_insert(LatencyBin { number, ..LatencyBin::default() });
        bin.requests += 1;
        bin.us += u128::from(latency_us);
        tree.awaited(root).for_each(|span| self.look(set, tree, span, number));
    }

    fn finish(mut self, set: &TraceSet) -> DiagnosisSums {
        self.take(set)
    }
}

impl Reusable for DiagnosisObserver {
    fn take(&mut self, _: &TraceSet) -> DiagnosisSums {
        let mut times: Vec<(Key, (u64, u128))> = self.times.drain().collect();
        times.compact_sort_by_key(|of| of.0);
        let bins = |of: &[(Key, (u64, u128))]| {
            LatencyBins::of(of.iter().map(|&((_, _, number), (requests, us))| LatencyBin {
                number,
                requests,
                us,
            }))
        };
        let mut rows: Vec<EndpointSums> = Vec::new();
        for of in times.chunk_by(|a, b| (a.0.0, a.0.1) == (b.0.0, b.0.1)) {
            let (endpoint, place, _) = of[0].0;
            // What all spans have comes first.
            if let Some(place) = place
                && let Some(row) = rows.last_mut()
            {
                row.places.push(PlaceTimes { place, times: bins(of) });
                continue;
            }
            let &mut Seen { requests, duration_us, self_us, .. } = self.seen.at(endpoint);
            let own = bins(of);
            rows.push(EndpointSums {
                endpoint,
                requests,
                duration_us,
                self_us,
                own,
                ..EndpointSums::default()
            });
        }
        self.seen.take();
        self.requests = 0;
        // A child is a span of its own, so it has a row.
        let (endpoints, places) = self.names.used(rows.iter().map(|row| row.endpoint).collect());
        let rows = rows.into_iter().map(|row| row.without_too_many().renumbered(places)).collect();
        DiagnosisSums {
            orphans: take(&mut self.orphans),
            several_roots: take(&mut self.several_roots),
            endpoints,
            requests: LatencyBins::of(take(&mut self.bins).into_values()),
            latency_us: take(&mut self.latency_us),
            rows,
        }
    }
}
