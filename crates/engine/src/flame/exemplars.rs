//! Picking example requests for every calling context (`docs/definitions/critical-path.md` section 4).

use super::table::ContextEntry;
use super::{Aggregate, CriticalPathReport, Exemplar, PathTable, SpanName};
use crate::requests::RequestRef;
use pathlight_trace::{Endpoint, NO_ROW, TraceSet};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Target of the search for exemplars: the merged tree with, per node, the lower median and the sum of its exclusive
/// values.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExemplarTargets {
    requests: u64,
    endpoints: Vec<Endpoint>,
    /// (parent or [`NO_ROW`], endpoint) in the order of the report's nodes.
    nodes: Vec<(u32, u32)>,
    /// (lower median, sum) of exclusive microseconds.
    values: Vec<(u64, u128)>,
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
/// kept by request.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ExemplarCandidates {
    requests: Vec<RequestRef>,
    /// Those of all nodes, each once.
    candidates: Vec<Exemplar>,
    /// Per node of the targets, by number or [`NO_ROW`]: greatest, lower median, closest to the mean.
    nodes: Vec<[u32; 3]>,
}

/// Returns how far a value is from a node's mean over all requests, times the number of requests.
fn distance(value: u64, sum: u128, requests: u64) -> u128 {
    (u128::from(value) * u128::from(requests)).abs_diff(sum)
}

/// A candidate while a worker looks at its own requests: number of the request, [`NO_ROW`] for none, and of its entry.
type Found = (u32, u32);

impl ExemplarCandidates {
    /// Returns the best candidates among some requests of a worker's table.
    pub fn observe(
        set: &TraceSet,
        table: &PathTable,
        requests: impl Iterator<Item = u32>,
        targets: &ExemplarTargets,
    ) -> ExemplarCandidates {
        let node_of = match_contexts(set, table, targets);
        let mut found: Vec<[Found; 3]> = vec![[(NO_ROW, 0); 3]; targets.nodes.len()];
        let entry_of = |(request, at): Found| -> Option<(u32, &ContextEntry)> {
            (request != NO_ROW).then(|| (request, &table.entries(request)[at as usize]))
        };
        for request in requests {
            for (entry, at) in table.entries(request).iter().zip(0..) {
                let node = node_of[entry.context as usize];
                if node == NO_ROW {
                    continue;
                }
                let (median, sum) = targets.values[node as usize];
                let score = |e: &ContextEntry| distance(e.exclusive_us, sum, targets.requests);
                let smaller_id = |other: u32| table.compare_ids(set, request, other) == Ordering::Less;
                let slots = &mut found[node as usize];
                let greatest = entry_of(slots[0]).is_none_or(|(other, e)| {
                    match entry.exclusive_us.cmp(&e.exclusive_us) {
                        Ordering::Equal => smaller_id(other),
                        order => order == Ordering::Greater,
                    }
                });
                let middle = entry.exclusive_us == median
                    && entry_of(slots[1]).is_none_or(|(other, _)| smaller_id(other));
                let closest = entry_of(slots[2]).is_none_or(|(other, e)| match score(entry).cmp(&score(e)) {
                    Ordering::Equal => smaller_id(other),
                    order => order == Ordering::Less,
                });
                for (slot, takes) in slots.iter_mut().zip([greatest, middle, closest]) {
                    if takes {
                        *slot = (request, at);
                    }
                }
            }
        }
        drop(node_of);
        let mut out = ExemplarCandidates { nodes: Vec::with_capacity(found.len()), ..Default::default() };
        let mut number_of = vec![NO_ROW; table.requests.len()];
        for slots in found {
            let mut node = [NO_ROW; 3];
            for (kind, slot) in slots.into_iter().enumerate() {
                let Some((request, entry)) = entry_of(slot) else { continue };
                // One request has one entry of a node.
                if let Some(same) = slots[..kind].iter().position(|other| *other == slot) {
                    node[kind] = node[same];
                    continue;
                }
                let number = &mut number_of[request as usize];
                if *number == NO_ROW {
                    *number = out.requests.len() as u32;
                    out.requests.push(RequestRef::of(set, &table.requests[request as usize]));
                }
                node[kind] = out.candidates.len() as u32;
                out.candidates.push(Exemplar {
                    request: *number,
                    span: SpanName::of(set.span_id(entry.row), set),
                    exclusive_us: entry.exclusive_us,
                });
            }
            out.nodes.push(node);
        }
        out
    }

    /// Joins candidates of disjoint requests for the same targets.
    pub fn merge(parts: Vec<ExemplarCandidates>, targets: &ExemplarTargets) -> ExemplarCandidates {
        let mut parts = parts.into_iter();
        let Some(mut joined) = parts.next() else { return ExemplarCandidates::default() };
        for part in parts {
            let first_request = joined.requests.len() as u32;
            let first = joined.candidates.len() as u32;
            joined.requests.extend(part.requests);
            let moved = part.candidates.into_iter();
            joined.candidates.extend(moved.map(|e| Exemplar { request: e.request + first_request, ..e }));
            let ExemplarCandidates { requests, candidates, nodes } = &mut joined;
            for ((slots, others), &(_, sum)) in nodes.iter_mut().zip(part.nodes).zip(&targets.values) {
                let score = |e: &Exemplar| distance(e.exclusive_us, sum, targets.requests);
                for (kind, (slot, other)) in slots.iter_mut().zip(others).enumerate() {
                    if other == NO_ROW {
                        continue;
                    }
                    let candidate = &candidates[(other + first) as usize];
                    let takes = *slot == NO_ROW || {
                        let old = &candidates[*slot as usize];
                        let order = match kind {
                            0 => old.exclusive_us.cmp(&candidate.exclusive_us),
                            1 => Ordering::Equal,
                            _ => score(candidate).cmp(&score(old)),
                        };
                        let id = |e: &Exemplar| {
                            let request = &requests[e.request as usize];
                            (request.trace_id.as_str(), request.root_span_id.as_str())
                        };
                        order.then_with(|| id(candidate).cmp(&id(old))) == Ordering::Less
                    };
                    if takes {
                        *slot = other + first;
                    }
                }
            }
        }
        joined
    }

    /// Writes the exemplars into the report of the same tree, each request once per node; requests are numbered as nodes
    /// name them.
    pub fn write(mut self, report: &mut CriticalPathReport) {
        let mut number_of = vec![NO_ROW; self.requests.len()];
        for (node, slots) in report.nodes.iter_mut().zip(self.nodes) {
            let is_first = |kind: &usize| slots[*kind] != NO_ROW && !slots[..*kind].contains(&slots[*kind]);
            node.exemplars.reserve_exact((0..3).filter(is_first).count());
            for kind in (0..3).filter(is_first) {
                let mut exemplar = std::mem::take(&mut self.candidates[slots[kind] as usize]);
                let number = &mut number_of[exemplar.request as usize];
                if *number == NO_ROW {
                    *number = report.examples.len() as u32;
                    report.examples.push(std::mem::take(&mut self.requests[exemplar.request as usize]));
                }
                exemplar.request = *number;
                node.exemplars.push(exemplar);
            }
        }
    }
}

/// Returns the target node of each context of a table, [`NO_ROW`] where there is none.
fn match_contexts(set: &TraceSet, table: &PathTable, targets: &ExemplarTargets) -> Vec<u32> {
    let find = |name: &Endpoint| set.find_endpoint(&name.service, &name.operation);
    let endpoints: Vec<_> = targets.endpoints.iter().map(find).collect();
    let mut node_of = vec![NO_ROW; table.contexts().len()];
    let mut context_of: Vec<u32> = Vec::with_capacity(targets.nodes.len());
    let mut guess = 0;
    for (node, &(parent, endpoint)) in (0..).zip(&targets.nodes) {
        let above = if parent == NO_ROW { NO_ROW } else { context_of[parent as usize] };
        let context = match endpoints[endpoint as usize] {
            Some(endpoint) if parent == NO_ROW || above != NO_ROW => {
                table.own_context(above, endpoint, guess)
            }
            _ => NO_ROW,
        };
        if context != NO_ROW {
            guess = context + 1;
            node_of[context as usize] = node;
        }
        context_of.push(context);
    }
    node_of
}
