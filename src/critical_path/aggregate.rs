//! The aggregate critical calling context tree: observe requests, merge, finish (definitions section 4; paper 5.3).

use super::report::{BandFacts, ContextNode, CriticalPathReport, Weight};
use super::scope::Band;
use super::table::PathTable;
use crate::trace::{NO_ROW, TraceSet};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Sorted values as differences, which serialise to a few bytes each.
pub fn pack_sorted(mut values: Vec<u64>) -> Vec<u64> {
    let mut last = 0;
    for value in &mut values {
        let now = *value;
        *value = now - last;
        last = now;
    }
    values
}

/// The inverse of [`pack_sorted`].
pub fn unpack_sorted(mut values: Vec<u64>) -> Vec<u64> {
    let mut last = 0u64;
    for value in &mut values {
        last = last.wrapping_add(*value);
        *value = last;
    }
    values
}

/// The accumulator: calling contexts with their sums and values.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Aggregate {
    /// Requests observed.
    pub requests: u64,
    endpoints: Vec<(String, String)>,
    nodes: Vec<Node>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Node {
    /// Node number of the parent, which comes first; [`NO_ROW`] for a root.
    parent: u32,
    endpoint: u32,
    spans: u64,
    errors: u64,
    /// Exclusive microseconds of each request that has the context; sorted and packed.
    exclusive: Vec<u64>,
    /// Inclusive microseconds, likewise.
    inclusive: Vec<u64>,
}

impl Aggregate {
    /// Sums some requests of a worker's table.
    pub fn observe(set: &TraceSet, table: &PathTable, requests: impl Iterator<Item = u32>) -> Aggregate {
        let mut out = Aggregate::default();
        let contexts = table.contexts();
        // Entries by context: counted first, so that the values of one context lie together.
        let mut counts = vec![0usize; contexts.len() + 1];
        let mut chosen = Vec::new();
        for request in requests {
            out.requests += 1;
            chosen.push(request);
            for entry in table.entries(request) {
                counts[entry.context as usize + 1] += 1;
            }
        }
        for i in 1..counts.len() {
            counts[i] += counts[i - 1];
        }
        let total = counts[contexts.len()];
        let mut place = counts.clone();
        let mut exclusive = vec![0u64; total];
        let mut inclusive = vec![0u64; total];
        let mut sums = vec![(0u64, 0u64); contexts.len()];
        for &request in &chosen {
            for entry in table.entries(request) {
                let c = entry.context as usize;
                exclusive[place[c]] = entry.exclusive_us;
                inclusive[place[c]] = entry.inclusive_us;
                place[c] += 1;
                sums[c].0 += u64::from(entry.spans);
                sums[c].1 += u64::from(entry.errors);
            }
        }
        let mut names: BTreeMap<u32, u32> = BTreeMap::new();
        let mut node_of = vec![NO_ROW; contexts.len()];
        for (c, &(parent, endpoint)) in contexts.iter().enumerate() {
            let values = counts[c]..counts[c + 1];
            if values.is_empty() {
                continue;
            }
            let name = *names.entry(endpoint.0).or_insert_with(|| {
                let (service, operation) = set.endpoint_name(endpoint);
                out.endpoints.push((service.to_owned(), operation.to_owned()));
                out.endpoints.len() as u32 - 1
            });
            let sorted = |all: &[u64]| {
                let mut values = all[values.clone()].to_vec();
                values.sort_unstable();
                pack_sorted(values)
            };
            node_of[c] = out.nodes.len() as u32;
            out.nodes.push(Node {
                parent: if parent == NO_ROW { NO_ROW } else { node_of[parent as usize] },
                endpoint: name,
                spans: sums[c].0,
                errors: sums[c].1,
                exclusive: sorted(&exclusive),
                inclusive: sorted(&inclusive),
            });
        }
        out
    }

    /// Joins accumulators of disjoint requests; the result does not depend on their order.
    pub fn merge(parts: Vec<Aggregate>) -> Aggregate {
        let mut endpoints: BTreeMap<(String, String), u32> = BTreeMap::new();
        for part in &parts {
            for name in &part.endpoints {
                endpoints.entry(name.clone()).or_insert(0);
            }
        }
        for (number, place) in endpoints.values_mut().enumerate() {
            *place = number as u32;
        }
        let mut nodes: Vec<Node> = Vec::new();
        let mut index: BTreeMap<(u32, u32), u32> = BTreeMap::new();
        let mut requests = 0;
        for part in parts {
            requests += part.requests;
            let names: Vec<u32> = part.endpoints.iter().map(|name| endpoints[name]).collect();
            let mut moved: Vec<u32> = Vec::with_capacity(part.nodes.len());
            for mut node in part.nodes {
                node.parent = if node.parent == NO_ROW { NO_ROW } else { moved[node.parent as usize] };
                node.endpoint = names[node.endpoint as usize];
                node.exclusive = unpack_sorted(node.exclusive);
                node.inclusive = unpack_sorted(node.inclusive);
                let number = *index.entry((node.parent, node.endpoint)).or_insert(nodes.len() as u32);
                moved.push(number);
                match nodes.get_mut(number as usize) {
                    None => nodes.push(node),
                    Some(sum) => {
                        sum.spans += node.spans;
                        sum.errors += node.errors;
                        sum.exclusive.append(&mut node.exclusive);
                        sum.inclusive.append(&mut node.inclusive);
                    }
                }
            }
        }
        // Pre-order, siblings by name: endpoint numbers are sorted by name already.
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); nodes.len()];
        let mut roots = Vec::new();
        for (&(parent, _), &number) in &index {
            if parent == NO_ROW { roots.push(number) } else { children[parent as usize].push(number) }
        }
        let mut stack: Vec<u32> = roots.into_iter().rev().collect();
        let mut order = Vec::with_capacity(nodes.len());
        let mut place = vec![NO_ROW; nodes.len()];
        while let Some(number) = stack.pop() {
            place[number as usize] = order.len() as u32;
            order.push(number);
            stack.extend(children[number as usize].iter().rev());
        }
        let mut sorted = Vec::with_capacity(nodes.len());
        for number in order {
            let mut node = std::mem::take(&mut nodes[number as usize]);
            if node.parent != NO_ROW {
                node.parent = place[node.parent as usize];
            }
            for values in [&mut node.exclusive, &mut node.inclusive] {
                // A stable sort joins the runs of the parts.
                values.sort();
                *values = pack_sorted(std::mem::take(values));
            }
            sorted.push(node);
        }
        Aggregate { requests, endpoints: endpoints.into_keys().collect(), nodes: sorted }
    }

    /// The report of a merged accumulator; exemplars are found by another pass.
    pub fn finish(self, band: Band, facts: BandFacts) -> CriticalPathReport {
        let requests = self.requests;
        let mut nodes: Vec<ContextNode> = Vec::with_capacity(self.nodes.len());
        for node in self.nodes {
            let weight = |packed: Vec<u64>| Weight::of_sorted(&unpack_sorted(packed), requests);
            let count = node.exclusive.len() as u64;
            let exclusive_us = weight(node.exclusive);
            nodes.push(ContextNode {
                parent: (node.parent != NO_ROW).then_some(node.parent),
                endpoint: node.endpoint,
                exclusive_us,
                inclusive_us: weight(node.inclusive),
                subtree_us: exclusive_us.sum,
                requests: count,
                spans: node.spans,
                errors: node.errors,
                exemplars: Vec::new(),
            });
        }
        for i in (0..nodes.len()).rev() {
            if let Some(parent) = nodes[i].parent {
                nodes[parent as usize].subtree_us += nodes[i].subtree_us;
            }
        }
        CriticalPathReport { band: Some(band), facts, endpoints: self.endpoints, nodes }
    }

    /// Endpoints as (service, operation).
    pub fn endpoints(&self) -> &[(String, String)] {
        &self.endpoints
    }

    /// For each node (parent or [`NO_ROW`], endpoint number): the shape of the merged tree.
    pub fn shape(&self) -> Vec<(u32, u32)> {
        self.nodes.iter().map(|node| (node.parent, node.endpoint)).collect()
    }

    /// Per node the lower median of its exclusive values, their sum, and the number of requests observed.
    pub fn targets(&self) -> Vec<(u64, u64)> {
        self.nodes
            .iter()
            .map(|node| {
                let sorted = unpack_sorted(node.exclusive.clone());
                let median = sorted.get(sorted.len().saturating_sub(1) / 2).copied().unwrap_or(0);
                (median, sorted.iter().fold(0u64, |sum, &v| sum.saturating_add(v)))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_is_undone() {
        let values = vec![0, 3, 3, 1 << 62, u64::MAX];
        assert_eq!(unpack_sorted(pack_sorted(values.clone())), values);
    }
}
