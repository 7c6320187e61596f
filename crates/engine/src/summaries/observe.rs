//! From traces to a summary.

use super::by_weight;
use super::section::{ByRoot, Summed};
use super::sections::Sections;
use super::{LatencyBin, RootPart, Sketch, Summary, SummarySettings};
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
use crate::requests::{Selection, Weighing};
use crate::verdict::{ServicesObserver, ServicesPartial};
use pathlight_base::statistics::Moments;
use pathlight_base::touched::Touched;
use pathlight_trace::{Endpoint, EndpointId, TraceSet};
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};

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
    failed: u64,
    spans: u64,
    latencies: Vec<u64>,
    endpoints: FxHashMap<u32, Values>,
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
            root.failed += u64::from(request.errors > 0);
            root.spans += u64::from(request.spans);
            root.latencies.push(request.latency_us);
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
        let contexts = Contexts::merge(vec![Contexts::of_table(set, &table, nodes.collect())], |_, _| ());
        let frames = ComparePart::merge(vec![ComparePart::observe(
            set,
            &table,
            0..table.requests.len() as u32,
            weighing,
        )]);
        let name = |endpoint: u32| set.owned_endpoint(EndpointId(endpoint));
        let mut parts: BTreeMap<Endpoint, RootPart> = BTreeMap::new();
        let (mut endpoints, mut services): (ByRoot<SummedEndpoints>, ByRoot<ServicesPartial>) =
            Default::default();
        let (mut errors, mut flow, mut diagnosis) = (ByRoot::new(), ByRoot::new(), ByRoot::new());
        let overlap = settings.path.overlap;
        let observers = (ServicesObserver::new(set, overlap).by(weighing), ErrorsObserver::new(set, overlap));
        let observers = (observers, (FlowObserver::new(set, overlap), DiagnosisObserver::new(set)));
        let mut walk = Walk::new(observers, settings.path, Vec::new());
        for (root, found) in roots {
            let root = name(root);
            let ((of_services, (of_errors, _, without)), (of_flow, of_diagnosis)) =
                walk.over(found.numbers, set, &table);
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
            let part = RootPart {
                failed: found.failed,
                spans: found.spans,
                latency_us: moments(&found.latencies),
                bins: LatencyBin::of(&found.latencies),
                latency: Sketch::of(found.latencies),
            };
            parts.insert(root, part);
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
                anomalies: Summed::Here(NormalRequests::observe(set, settings.path, &table)),
            },
            by_weight: by_weight::observe(set, &table, weighing),
            lesser: BTreeMap::new(),
            unknown: BTreeSet::new(),
        }
    }
}
