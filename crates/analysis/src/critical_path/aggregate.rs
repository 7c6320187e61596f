//! The aggregate critical calling context tree: observe requests, merge, finish (`docs/definitions/critical-path.md` section 4; paper 5.3).

use super::contexts::{Context, Contexts};
use super::report::{ContextNode, CriticalPathReport, Weight};
use super::table::PathTable;
use super::waits::{Waits, join_waits, sum_waits};
use crate::ids::{EndpointId, NodeId};
use crate::requests::{PercentileRange, RangeFacts};
use pathlight_model::trace::{Endpoint, NO_ROW, TraceSet};
use serde::{Deserialize, Serialize};

/// Returns sorted values as differences, which serialise to a few bytes each.
pub fn pack_sorted(mut values: Vec<u64>) -> Vec<u64> {
    let mut last = 0;
    for value in &mut values {
        let now = *value;
        *value = now - last;
        last = now;
    }
    values
}

/// Returns the inverse of [`pack_sorted`].
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
    contexts: Contexts<Values>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Values {
    spans: u64,
    errors: u64,
    /// Exclusive microseconds of each request that has the context; sorted and packed.
    exclusive: Vec<u64>,
    /// Inclusive microseconds, likewise.
    inclusive: Vec<u64>,
    waits: Waits,
}

impl Values {
    /// Changes both lists.
    fn map(mut self, change: impl Fn(Vec<u64>) -> Vec<u64>) -> Values {
        self.exclusive = change(self.exclusive);
        self.inclusive = change(self.inclusive);
        self
    }
}

impl Aggregate {
    /// Sums some requests of a worker's table.
    pub fn observe(set: &TraceSet, table: &PathTable, requests: impl Iterator<Item = u32>) -> Aggregate {
        let contexts = table.contexts().len();
        // Entries by context: counted first, so that the values of one context lie together.
        let mut counts = vec![0usize; contexts + 1];
        let chosen: Vec<u32> = requests.collect();
        for &request in &chosen {
            for entry in table.entries(request) {
                counts[entry.context as usize + 1] += 1;
            }
        }
        for i in 1..counts.len() {
            counts[i] += counts[i - 1];
        }
        let total = counts[contexts];
        let mut place = counts.clone();
        let mut exclusive = vec![0u64; total];
        let mut inclusive = vec![0u64; total];
        let mut sums = vec![(0u64, 0u64); contexts];
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
        let mut waits = sum_waits(set, table, chosen.iter().copied(), |context| context);
        let values = (counts.windows(2).zip(sums)).zip(0u32..).map(|((ends, (spans, errors)), context)| {
            let sorted = |all: &[u64]| {
                let mut values = all[ends[0]..ends[1]].to_vec();
                values.sort_unstable();
                pack_sorted(values)
            };
            let (exclusive, inclusive) = (sorted(&exclusive), sorted(&inclusive));
            let waits = waits.remove(&context).unwrap_or_default();
            (!exclusive.is_empty()).then_some(Values { spans, errors, exclusive, inclusive, waits })
        });
        let contexts = Contexts::of_table(set, table, values.collect());
        Aggregate { requests: chosen.len() as u64, contexts }
    }

    /// Joins accumulators of disjoint requests; the result does not depend on their order.
    pub fn merge(parts: Vec<Aggregate>) -> Aggregate {
        let requests = parts.iter().map(|part| part.requests).sum();
        let unpacked = parts.into_iter().map(|part| part.contexts.map(|values| values.map(unpack_sorted)));
        let contexts = Contexts::merge(unpacked.collect(), |into, mut from| {
            into.spans += from.spans;
            into.errors += from.errors;
            into.exclusive.append(&mut from.exclusive);
            into.inclusive.append(&mut from.inclusive);
            join_waits(&mut into.waits, from.waits);
        });
        let packed = |mut values: Vec<u64>| {
            // A stable sort joins the runs of the parts.
            values.sort();
            pack_sorted(values)
        };
        Aggregate { requests, contexts: contexts.map(|values| values.map(packed)) }
    }

    /// Returns the report of a merged accumulator; exemplars are found by another pass.
    pub fn finish(self, range: PercentileRange, facts: RangeFacts) -> CriticalPathReport {
        let requests = self.requests;
        let mut nodes: Vec<ContextNode> = Vec::with_capacity(self.contexts.nodes.len());
        for Context { parent, endpoint, value } in self.contexts.nodes {
            let weight = |packed: Vec<u64>| Weight::of_sorted(&unpack_sorted(packed), requests);
            let count = value.exclusive.len() as u64;
            let exclusive_us = weight(value.exclusive);
            nodes.push(ContextNode {
                parent: (parent != NO_ROW).then_some(NodeId(parent)),
                endpoint: EndpointId(endpoint),
                exclusive_us,
                inclusive_us: weight(value.inclusive),
                subtree_us: exclusive_us.sum,
                requests: count,
                spans: value.spans,
                errors: value.errors,
                waiting: value.waits.into_values().collect(),
                exemplars: Vec::new(),
            });
        }
        for i in (0..nodes.len()).rev() {
            if let Some(parent) = nodes[i].parent {
                nodes[parent.index()].subtree_us += nodes[i].subtree_us;
            }
        }
        CriticalPathReport { range: Some(range), facts, endpoints: self.contexts.endpoints, nodes }
    }

    /// Returns the endpoints as (service, operation).
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.contexts.endpoints
    }

    /// Returns the shape of the merged tree: (parent or [`NO_ROW`], endpoint number) of each node.
    pub fn shape(&self) -> Vec<(u32, u32)> {
        self.contexts.nodes.iter().map(|node| (node.parent, node.endpoint)).collect()
    }

    /// Returns, for each node, the lower median of its exclusive values, their sum, and the number of requests
    /// observed.
    pub fn targets(&self) -> Vec<(u64, u64)> {
        let nodes = self.contexts.nodes.iter();
        nodes
            .map(|node| {
                let sorted = unpack_sorted(node.value.exclusive.clone());
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
