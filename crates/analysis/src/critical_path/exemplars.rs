//! Picking example requests for every calling context (`docs/definitions/critical-path.md` section 4).

use super::aggregate::Aggregate;
use super::diff_report::RequestRef;
use super::report::{CriticalPathReport, Exemplar};
use super::table::{ContextEntry, PathTable};
use pathlight_model::trace::{Endpoint, Interner, NO_ROW, SpanId, TraceSet};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// What to look for: the merged tree with, per node, the lower median and the sum of its exclusive values.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExemplarTargets {
    requests: u64,
    endpoints: Vec<Endpoint>,
    /// (parent or [`NO_ROW`], endpoint) in the order of the report's nodes.
    nodes: Vec<(u32, u32)>,
    /// (lower median, sum) of exclusive microseconds.
    values: Vec<(u64, u64)>,
}

impl ExemplarTargets {
    /// Returns the targets of a merged accumulator.
    pub fn new(aggregate: &Aggregate) -> ExemplarTargets {
        ExemplarTargets {
            requests: aggregate.requests,
            endpoints: aggregate.endpoints().to_vec(),
            nodes: aggregate.shape(),
            values: aggregate.targets(),
        }
    }
}

/// The best candidates of some requests; an accumulator. There may be a million of nodes and few requests, so texts are
/// kept by request, and made for what the report shows only.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExemplarCandidates {
    requests: Vec<RequestRef>,
    /// Per node of the targets: greatest, lower median, closest to the mean.
    nodes: Vec<[Option<Candidate>; 3]>,
}

/// A span of a node in a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Candidate {
    /// Number in the list of requests.
    request: u32,
    span: SpanName,
    exclusive_us: u64,
}

/// A span's id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum SpanName {
    Number(u64),
    Text(String),
}

/// Returns how far a value is from a node's mean over all requests, times the number of requests.
fn distance(value: u64, sum: u64, requests: u64) -> u128 {
    (u128::from(value) * u128::from(requests)).abs_diff(u128::from(sum))
}

/// A candidate while a worker looks at its own requests: table request and entry.
type Found = Option<(u32, ContextEntry)>;

impl ExemplarCandidates {
    /// Returns the best candidates among some requests of a worker's table.
    pub fn observe(
        set: &TraceSet,
        table: &PathTable,
        requests: impl Iterator<Item = u32>,
        targets: &ExemplarTargets,
    ) -> ExemplarCandidates {
        let node_of = match_contexts(set, table, targets);
        let mut found: Vec<[Found; 3]> = vec![[None; 3]; targets.nodes.len()];
        for request in requests {
            for entry in table.entries(request) {
                let node = node_of[entry.context as usize];
                if node == NO_ROW {
                    continue;
                }
                let (median, sum) = targets.values[node as usize];
                let score = |e: &ContextEntry| distance(e.exclusive_us, sum, targets.requests);
                let smaller_id = |other: u32| table.compare_ids(set, request, other) == Ordering::Less;
                let slots = &mut found[node as usize];
                let greatest =
                    slots[0].is_none_or(|(other, e)| match entry.exclusive_us.cmp(&e.exclusive_us) {
                        Ordering::Equal => smaller_id(other),
                        order => order == Ordering::Greater,
                    });
                let middle =
                    entry.exclusive_us == median && slots[1].is_none_or(|(other, _)| smaller_id(other));
                let closest = slots[2].is_none_or(|(other, e)| match score(entry).cmp(&score(&e)) {
                    Ordering::Equal => smaller_id(other),
                    order => order == Ordering::Less,
                });
                for (slot, takes) in slots.iter_mut().zip([greatest, middle, closest]) {
                    if takes {
                        *slot = Some((request, *entry));
                    }
                }
            }
        }
        let mut named = Vec::new();
        let mut numbers = hashbrown::HashMap::with_hasher(rustc_hash::FxBuildHasher);
        let mut name = |found: Found| {
            let (request, entry) = found?;
            let number = *numbers.entry(request).or_insert_with(|| {
                named.push(RequestRef::of(set, &table.requests[request as usize]));
                named.len() as u32 - 1
            });
            let id = set.span_id(entry.row);
            let span =
                if id.text { SpanName::Text(id.to_text(&set.id_texts)) } else { SpanName::Number(id.bits) };
            Some(Candidate { request: number, span, exclusive_us: entry.exclusive_us })
        };
        let nodes = found.into_iter().map(|slots| slots.map(&mut name)).collect();
        ExemplarCandidates { requests: named, nodes }
    }

    /// Joins candidates of disjoint requests for the same targets.
    pub fn merge(parts: Vec<ExemplarCandidates>, targets: &ExemplarTargets) -> ExemplarCandidates {
        let mut requests: Vec<RequestRef> = Vec::new();
        let mut nodes: Vec<[Option<Candidate>; 3]> = vec![const { [None, None, None] }; targets.nodes.len()];
        for part in parts {
            let first = requests.len() as u32;
            requests.extend(part.requests);
            for (number, candidates) in part.nodes.into_iter().enumerate().take(targets.nodes.len()) {
                let (_, sum) = targets.values[number];
                let score = |e: &Candidate| distance(e.exclusive_us, sum, targets.requests);
                for (kind, candidate) in candidates.into_iter().enumerate() {
                    let Some(mut candidate) = candidate else { continue };
                    candidate.request += first;
                    let slot = &mut nodes[number][kind];
                    let takes = slot.as_ref().is_none_or(|old| {
                        let order = match kind {
                            0 => old.exclusive_us.cmp(&candidate.exclusive_us),
                            1 => Ordering::Equal,
                            _ => score(&candidate).cmp(&score(old)),
                        };
                        let id = |e: &Candidate| {
                            let request = &requests[e.request as usize];
                            (request.trace_id.as_str(), request.root_span_id.as_str())
                        };
                        order.then_with(|| id(&candidate).cmp(&id(old))) == Ordering::Less
                    });
                    if takes {
                        *slot = Some(candidate);
                    }
                }
            }
        }
        ExemplarCandidates { requests, nodes }
    }

    /// Writes the exemplars into the report of the same tree, each request once per node.
    pub fn write(self, report: &mut CriticalPathReport) {
        let numbers = Interner::default();
        for (node, candidates) in report.nodes.iter_mut().zip(self.nodes) {
            for (kind, candidate) in candidates.iter().enumerate() {
                let Some(found) = candidate.as_ref().filter(|_| !candidates[..kind].contains(candidate))
                else {
                    continue;
                };
                let Some(request) = self.requests.get(found.request as usize) else { continue };
                node.exemplars.push(Exemplar {
                    trace_id: request.trace_id.clone(),
                    root_span_id: request.root_span_id.clone(),
                    span_id: match &found.span {
                        SpanName::Number(bits) => SpanId::hex(*bits).to_text(&numbers),
                        SpanName::Text(text) => text.clone(),
                    },
                    latency_us: request.latency_us,
                    exclusive_us: found.exclusive_us,
                });
            }
        }
    }
}

/// Returns the target node of each context of a table, [`NO_ROW`] where there is none.
fn match_contexts(set: &TraceSet, table: &PathTable, targets: &ExemplarTargets) -> Vec<u32> {
    let mut index =
        hashbrown::HashMap::with_capacity_and_hasher(targets.nodes.len(), rustc_hash::FxBuildHasher);
    for (number, &(parent, endpoint)) in targets.nodes.iter().enumerate() {
        let Endpoint { service, operation } = &targets.endpoints[endpoint as usize];
        if let Some(endpoint) = set.find_endpoint(service, operation) {
            index.insert((parent, endpoint), number as u32);
        }
    }
    let mut node_of: Vec<u32> = Vec::with_capacity(table.contexts().len());
    for &(parent, endpoint) in table.contexts() {
        let parent_node = if parent == NO_ROW { NO_ROW } else { node_of[parent as usize] };
        let node = if parent != NO_ROW && parent_node == NO_ROW {
            NO_ROW
        } else {
            index.get(&(parent_node, endpoint)).copied().unwrap_or(NO_ROW)
        };
        node_of.push(node);
    }
    node_of
}
