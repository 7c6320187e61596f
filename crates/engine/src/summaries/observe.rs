//! From traces to a summary.

use super::by_weight;
use super::fewer::{LesserRoot, Plan};
use super::section::{ByRoot, Summed};
use super::sections::Sections;
use super::{LatencyBin, OtherSettings, RootPart, Sketch, Summary, SummarySettings};
use crate::anomalies::summed::NormalRequests;
use crate::compare::ComparePart;
use crate::diagnosis::summed::DiagnosisObserver;
use crate::endpoints::SummedEndpoint;
use crate::endpoints::summed::SummedEndpoints;
use crate::errors::summed::ErrorSums;
use crate::errors::{ErrorsObserver, ErrorsPart};
use crate::flame::summed::FlameSums;
use crate::flame::{Contexts, NodePart, PathTable, Walk};
use crate::flow::summed::FlowObserver;
use crate::requests::{RequestEntry, Selection, Weighing};
use crate::verdict::{ServicesObserver, ServicesPartial};
use pathlight_base::statistics::Moments;
use pathlight_base::touched::Touched;
use pathlight_trace::{Endpoint, EndpointId, TraceSet};
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What the requests of a set have of one context or endpoint.
#[derive(Default)]
struct Values {
    spans: u64,
    errors: u64,
    exclusive: Vec<u64>,
    inclusive: Vec<u64>,
    bins: BTreeMap<u32, LatencyBin>,
}

/// The requests of a set with one root endpoint.
#[derive(Default)]
struct Requests {
    numbers: Vec<u32>,
    latencies: Latencies,
    endpoints: FxHashMap<u32, Values>,
}

/// Latencies of requests.
#[derive(Default)]
struct Latencies {
    failed: u64,
    spans: u64,
    us: Vec<u64>,
}

impl Latencies {
    fn add(&mut self, request: &RequestEntry) {
        self.failed += u64::from(request.errors > 0);
        self.spans += u64::from(request.spans);
        self.us.push(request.latency_us);
    }

    fn part(self) -> RootPart {
        RootPart {
            failed: self.failed,
            spans: self.spans,
            latency_us: moments(&self.us),
            bins: LatencyBin::of(&self.us),
            latency: Sketch::of(self.us),
        }
    }
}

fn moments(values: &[u64]) -> Moments {
    let mut out = Moments::default();
    values.iter().for_each(|&us| out.add(us));
    out
}

impl Summary {
    /// Summarises all traces of a sealed set.
    pub fn observe(set: &TraceSet, settings: &SummarySettings) -> Summary {
        let table = PathTable::build(set, &settings.root, settings.path);
        let normal = NormalRequests::observe(set, settings.path, &table);
        Summary::of_table(set, &table, settings, normal)
    }

    /// Summarises all traces of a sealed set by its table, with some requests to judge others by.
    pub(super) fn of_table(
        set: &TraceSet,
        table: &PathTable,
        settings: &SummarySettings,
        normal: NormalRequests,
    ) -> Summary {
        // Sketches count each request once, and so does what has no sums by weight beside them.
        let weighing = Weighing::of(&Selection::default(), set);
        let mut contexts: Vec<Values> = table.contexts().iter().map(|_| Values::default()).collect();
        let mut roots: FxHashMap<u32, Requests> = FxHashMap::default();
        let mut start_us: Option<(u64, u64)> = None;
        // By endpoint: spans, errors and self time in the request at hand.
        let mut in_request: Touched<(u64, u64, u64)> = Touched::default();
        for (number, request) in (0u32..).zip(&table.requests) {
            let root = roots.entry(set.endpoint(request.row).0).or_default();
            root.numbers.push(number);
            root.latencies.add(request);
            let start = request.start_us;
            start_us = Some(start_us.map_or((start, start), |(a, b)| (a.min(start), b.max(start))));
            let bin = LatencyBin::of_latency(request.latency_us);
            for entry in table.entries(number) {
                let values = &mut contexts[entry.context as usize];
                values.spans += u64::from(entry.spans);
                values.errors += u64::from(entry.errors);
                values.exclusive.push(entry.exclusive_us);
                values.inclusive.push(entry.inclusive_us);
                let sums =
                    values.bins.entry(bin).or_insert(LatencyBin { number: bin, ..LatencyBin::default() });
                sums.requests += 1;
                sums.us += u128::from(entry.exclusive_us);
                let sums = in_request.at(table.contexts()[entry.context as usize].1.0);
                sums.0 += u64::from(entry.spans);
                sums.1 += u64::from(entry.errors);
                sums.2 += entry.exclusive_us;
            }
            for (endpoint, (spans, errors, us)) in in_request.take() {
                let values = root.endpoints.entry(endpoint).or_default();
                values.spans += spans;
                values.errors += errors;
                values.exclusive.push(us);
            }
        }
        let nodes = contexts.into_iter().map(|values| {
            (!values.exclusive.is_empty()).then(|| NodePart {
                spans: values.spans,
                errors: values.errors,
                exclusive: Sketch::of(values.exclusive),
                inclusive: Sketch::of(values.inclusive),
                bins: values.bins.into_values().collect(),
            })
        });
        // Merging brings contexts into their order, which does not depend on that of the traces.
        let contexts = Contexts::merge(vec![Contexts::of_table(set, table, nodes.collect())], |_, _| ());
        let frames = ComparePart::merge(vec![ComparePart::observe(
            set,
            table,
            0..table.requests.len() as u32,
            weighing,
        )]);
        let name = |endpoint: u32| set.owned_endpoint(EndpointId(endpoint));
        let mut parts: BTreeMap<Endpoint, RootPart> = BTreeMap::new();
        let (mut endpoints, mut services): (ByRoot<SummedEndpoints>, ByRoot<ServicesPartial>) =
            Default::default();
        let (mut errors, mut flow, mut diagnosis) = (ByRoot::new(), ByRoot::new(), ByRoot::new());
        let overlap = settings.path.overlap;
        let times = ServicesObserver::new(set, overlap).compared(true).by(weighing);
        let observers = (times, ErrorsObserver::new(set, overlap));
        let observers = (observers, (FlowObserver::new(set, overlap), DiagnosisObserver::new(set)));
        let mut walk = Walk::new(observers, settings.path, Vec::new());
        for (root, found) in roots {
            let root = name(root);
            let ((of_services, (of_errors, _, without)), (of_flow, of_diagnosis)) =
                walk.over(found.numbers, set, table);
            let without = Sketch::of(without.into_us());
            // Merging brings names and contexts into their order.
            let of_errors = ErrorSums { part: ErrorsPart::merge(vec![of_errors]).rounded(), without };
            let of_endpoints = found.endpoints.into_iter().map(|(endpoint, values)| {
                let part = SummedEndpoint {
                    spans: values.spans,
                    errors: values.errors,
                    self_us: moments(&values.exclusive),
                    self_time: Sketch::of(values.exclusive),
                };
                (name(endpoint), part)
            });
            endpoints.insert(root.clone(), of_endpoints.collect());
            services.insert(root.clone(), of_services);
            errors.insert(root.clone(), of_errors);
            flow.insert(root.clone(), of_flow);
            diagnosis.insert(root.clone(), of_diagnosis);
            parts.insert(root, found.latencies.part());
        }
        Summary {
            settings: settings.clone(),
            traces: set.traces().len() as u64,
            spans: set.spans() as u64,
            start_us,
            roots: parts,
            sections: Sections {
                flame: Summed::Here(FlameSums { contexts, frames }),
                endpoints: Summed::Here(endpoints),
                services: Summed::Here(services),
                errors: Summed::Here(errors),
                flow: Summed::Here(flow),
                diagnosis: Summed::Here(diagnosis),
                anomalies: Summed::Here(normal),
            },
            by_weight: by_weight::observe(set, table, weighing),
            lesser: BTreeMap::new(),
            unknown: BTreeSet::new(),
        }
    }

    /// Summarises all traces of a sealed set as a plan says. The root endpoints of the set get the names of the plan first, so
    /// those that are summed together are observed as one: where each has a single request, in a tenth of the time.
    ///
    /// # Errors
    /// [`OtherSettings`] never, as all is of one set.
    pub(super) fn observe_planned(
        set: &mut TraceSet,
        settings: &SummarySettings,
        plan: &Plan,
    ) -> Result<Summary, OtherSettings> {
        let table = PathTable::build(set, &settings.root, settings.path);
        // Requests to judge others by keep the names that they have.
        let normal = NormalRequests::observe(set, settings.path, &table);
        let weighing = Weighing::of(&Selection::default(), set);
        let mut weights = by_weight::observe(set, &table, weighing);
        let mut places: FxHashMap<u32, Option<Place>> = FxHashMap::default();
        for of_trace in table.requests.chunk_by(|a, b| a.trace == b.trace) {
            for request in of_trace {
                let from = set.endpoint(request.row);
                let place = match places.entry(from.0) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(Place::of(set, from, plan)),
                };
                let Some(place) = place else { continue };
                let rows = set.traces()[request.trace as usize].rows();
                let mut names = rows.clone().map(|row| set.endpoint(row));
                place.is_alone &= of_trace.len() == 1 && names.all(|name| name != place.to);
                place.rows.push(rows);
                place.latencies.add(request);
            }
        }
        let mut lesser = Vec::new();
        for (from, place) in places {
            let Some(place) = place.filter(|place| place.is_alone) else { continue };
            let from = EndpointId(from);
            place.rows.into_iter().for_each(|rows| set.rename(rows, from, place.to));
            if let Some(name) = place.lesser {
                let weights = weights.remove(&set.owned_endpoint(from)).map(|of| of.without_endpoints());
                lesser.push((name, LesserRoot { part: place.latencies.part(), weights }));
            }
        }
        let table = PathTable::build(set, &settings.root, settings.path);
        let sum = Summary::of_table(set, &table, settings, normal).planned(plan)?;
        Ok(sum.with_lesser(lesser))
    }
}

/// A root endpoint whose requests are summed under another name.
struct Place {
    to: EndpointId,
    /// The name under which it is kept by itself beside that.
    lesser: Option<Endpoint>,
    /// Rows of the traces of its requests.
    rows: Vec<Range<u32>>,
    latencies: Latencies,
    /// Whether no other request and no span with the new name is in these traces. Where there are, the sums are renamed
    /// and not the spans.
    is_alone: bool,
}

impl Place {
    fn of(set: &mut TraceSet, root: EndpointId, plan: &Plan) -> Option<Place> {
        let root = set.owned_endpoint(root);
        let to = plan.to(&root)?;
        Some(Place {
            to: set.add_endpoint(&to.service, &to.operation),
            lesser: plan.lesser(&root),
            rows: Vec::new(),
            latencies: Latencies::default(),
            is_alone: true,
        })
    }
}
