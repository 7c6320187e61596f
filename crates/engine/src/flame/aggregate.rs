//! The aggregate critical calling context tree: observe requests, merge, finish (`docs/definitions/critical-path.md` section 4; paper 5.3).

use super::wait_sums::WaitSums;
use super::{Context, ContextNode, Contexts, CriticalPathReport, PathTable, Weight};
use crate::ids::{NodeId, ReportEndpoint};
use crate::requests::{PercentileRange, RangeFacts};
use pathlight_base::statistics::{Weight as RequestWeight, Weights, sort_weighted};
use pathlight_trace::{Endpoint, NO_ROW, TraceSet};
use serde::{Deserialize, Serialize};

/// Returns sorted values as differences, which serialise to a few bytes each.
pub fn pack_sorted(mut values: Vec<u64>) -> Vec<u64> {
    pack(&mut values);
    values
}

/// Does in place what [`pack_sorted`] does.
fn pack(values: &mut [u64]) {
    let mut last = 0;
    for value in values {
        let now = *value;
        *value = now - last;
        last = now;
    }
}

/// Returns the inverse of [`pack_sorted`].
pub fn unpack_sorted(mut values: Vec<u64>) -> Vec<u64> {
    unpack(&mut values);
    values
}

/// Does in place what [`unpack_sorted`] does.
fn unpack(values: &mut [u64]) {
    let mut last = 0u64;
    for value in values {
        last = last.wrapping_add(*value);
        *value = last;
    }
}

/// The accumulator: calling contexts with their sums and values. There may be a million of contexts with a value each, so
/// the values of all lie in one list.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Aggregate {
    /// Requests observed.
    pub requests: u64,
    contexts: Contexts<Sums>,
    /// Exclusive microseconds, context by context, of each request that has the context; sorted and packed.
    exclusive: Vec<u64>,
    /// Inclusive microseconds, likewise.
    inclusive: Vec<u64>,
    /// By context.
    waits: WaitSums,
    /// Weights of the requests, if they count.
    weights: Option<WeightColumns>,
}

/// Weights of requests, beside their values.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct WeightColumns {
    /// Those of all requests.
    all: Weights,
    /// Of each exclusive value.
    exclusive: Vec<RequestWeight>,
    /// Of each inclusive value.
    inclusive: Vec<RequestWeight>,
}

/// Sums of a context.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct Sums {
    /// Requests that have the context, and so values of it in each list.
    requests: u32,
    spans: u64,
    errors: u64,
}

impl Aggregate {
    /// Sums some requests of a worker's table, `by_weight` as the requests that they stand for.
    pub fn observe(
        set: &TraceSet,
        table: &PathTable,
        requests: impl Iterator<Item = u32>,
        by_weight: bool,
    ) -> Aggregate {
        let chosen: Vec<u32> = requests.collect();
        let mut sums = vec![Sums::default(); table.contexts().len()];
        // Entries by context: counted first, so that the values of one context lie together.
        for &request in &chosen {
            for entry in table.entries(request) {
                let sums = &mut sums[entry.context as usize];
                sums.requests += 1;
                sums.spans += u64::from(entry.spans);
                sums.errors += u64::from(entry.errors);
            }
        }
        let (mut place, total) = begins(sums.iter());
        let mut exclusive = vec![0u64; total];
        let mut inclusive = vec![0u64; total];
        let weight = |request: u32| set.weight(table.requests[request as usize].trace);
        let mut weights = by_weight.then(|| {
            let (mut place, mut column) = (place.clone(), vec![RequestWeight::ONE; total]);
            for &request in &chosen {
                for entry in table.entries(request) {
                    let place = &mut place[entry.context as usize];
                    column[*place] = weight(request);
                    *place += 1;
                }
            }
            let all = Weights::of(chosen.iter().map(|&request| weight(request)));
            WeightColumns { all, inclusive: column.clone(), exclusive: column }
        });
        for &request in &chosen {
            for entry in table.entries(request) {
                let place = &mut place[entry.context as usize];
                exclusive[*place] = entry.exclusive_us;
                inclusive[*place] = entry.inclusive_us;
                *place += 1;
            }
        }
        drop(place);
        // Contexts that no chosen request has are left out; what is left has other numbers.
        let mut number_of = vec![NO_ROW; sums.len()];
        let found = sums.iter().zip(&mut number_of).filter(|(sums, _)| sums.requests > 0);
        found.zip(0..).for_each(|((_, number), next)| *number = next);
        let values = sums.into_iter().map(|sums| Some(sums).filter(|sums| sums.requests > 0)).collect();
        let contexts = Contexts::of_table(set, table, values);
        match &mut weights {
            None => {
                for column in [&mut exclusive, &mut inclusive] {
                    each(&contexts, column, |values| {
                        values.sort_unstable();
                        pack(values);
                    });
                }
            }
            Some(weights) => {
                sort_by_weight(&contexts, &mut exclusive, &mut weights.exclusive);
                sort_by_weight(&contexts, &mut inclusive, &mut weights.inclusive);
            }
        }
        let key = |context: u32| number_of[context as usize];
        let keys = contexts.nodes.len();
        let waits = match by_weight {
            true => {
                WaitSums::observe(set, table, &chosen, keys, key, |request| weight(request).units().into())
            }
            false => WaitSums::observe(set, table, &chosen, keys, key, |_| 1),
        };
        Aggregate { requests: chosen.len() as u64, contexts, exclusive, inclusive, waits, weights }
    }

    /// Joins accumulators of disjoint requests; the result does not depend on their order.
    pub fn merge(parts: Vec<Aggregate>) -> Aggregate {
        let requests = parts.iter().map(|part| part.requests).sum();
        let (mut forests, mut exclusive, mut inclusive) = (Vec::new(), Vec::new(), Vec::new());
        let (mut waits, mut counts) = (Vec::new(), Vec::new());
        let mut weights: Option<(Weights, Vec<_>, Vec<_>)> = None;
        for part in parts {
            if let Some(of_part) = part.weights {
                let (all, exclusive, inclusive) = weights.get_or_insert_default();
                all.merge(&of_part.all);
                exclusive.push(of_part.exclusive);
                inclusive.push(of_part.inclusive);
            }
            let of_part: Vec<u32> = part.contexts.nodes.iter().map(|node| node.value.requests).collect();
            counts.push(of_part);
            forests.push(part.contexts);
            exclusive.push(part.exclusive);
            inclusive.push(part.inclusive);
            waits.push(part.waits);
        }
        let (contexts, parts) = Contexts::merge_placed(forests, |into: &mut Sums, from| {
            into.requests += from.requests;
            into.spans += from.spans;
            into.errors += from.errors;
        });
        let places: Vec<Vec<u32>> = parts.into_iter().map(|part| part.nodes).collect();
        // All parts have weights, or none has.
        let weights = weights.map(|(all, exclusive, inclusive)| {
            let place = |parts| placed(&contexts, parts, &counts, &places);
            WeightColumns { all, exclusive: place(exclusive), inclusive: place(inclusive) }
        });
        let column = |parts: Vec<Vec<u64>>| {
            let (mut place, total) = begins(contexts.nodes.iter().map(|node| &node.value));
            let mut joined = vec![0u64; total];
            for ((mut part, counts), places) in parts.into_iter().zip(&counts).zip(&places) {
                let mut rest = part.as_mut_slice();
                for (&count, &node) in counts.iter().zip(places) {
                    let (values, after) = std::mem::take(&mut rest).split_at_mut(count as usize);
                    rest = after;
                    unpack(values);
                    let place = &mut place[node as usize];
                    joined[*place..*place + values.len()].copy_from_slice(values);
                    *place += values.len();
                }
            }
            joined
        };
        let (mut exclusive, mut inclusive) = (column(exclusive), column(inclusive));
        let mut weights = weights;
        match &mut weights {
            None => {
                for column in [&mut exclusive, &mut inclusive] {
                    each(&contexts, column, |values| {
                        // A stable sort joins the runs of the parts.
                        values.sort();
                        pack(values);
                    });
                }
            }
            Some(weights) => {
                sort_by_weight(&contexts, &mut exclusive, &mut weights.exclusive);
                sort_by_weight(&contexts, &mut inclusive, &mut weights.inclusive);
            }
        }
        let waits = WaitSums::merge(waits.into_iter().zip(places.iter().map(Vec::as_slice)).collect());
        Aggregate { requests, contexts, exclusive, inclusive, waits, weights }
    }

    /// Returns the report of a merged accumulator; exemplars are found by another pass.
    pub fn finish(mut self, range: PercentileRange, facts: RangeFacts) -> CriticalPathReport {
        let requests = self.requests;
        let by_weight = self.weights.take();
        let weights = |mut column: Vec<u64>, of: &dyn Fn(&WeightColumns) -> &Vec<RequestWeight>| {
            let mut weights: Vec<Weight> = Vec::with_capacity(self.contexts.nodes.len());
            let mut rest = by_weight.as_ref().map(|columns| of(columns).as_slice()).unwrap_or_default();
            each(&self.contexts, &mut column, |values| {
                unpack(values);
                weights.push(match &by_weight {
                    None => Weight::of_sorted(values, requests),
                    Some(WeightColumns { all, .. }) => {
                        let (here, after) = rest.split_at(values.len());
                        rest = after;
                        let pairs: Vec<_> = values.iter().copied().zip(here.iter().copied()).collect();
                        Weight::of_weighted(&pairs, all)
                    }
                });
            });
            weights
        };
        let exclusive = weights(std::mem::take(&mut self.exclusive), &|columns| &columns.exclusive);
        let inclusive = weights(std::mem::take(&mut self.inclusive), &|columns| &columns.inclusive);
        let facts = match by_weight.is_some() {
            // Parts are rounded, so that their sum is the whole.
            true => facts.by_weight_with_sum(exclusive.iter().map(|weight| weight.sum).sum()),
            false => facts,
        };
        let unit = if by_weight.is_some() { RequestWeight::UNITS } else { 1 };
        let mut waiting = self.waits.by_key(unit.into());
        let mut nodes: Vec<ContextNode> = Vec::with_capacity(self.contexts.nodes.len());
        let weights = exclusive.into_iter().zip(inclusive);
        for (Context { parent, endpoint, value }, (exclusive_us, inclusive_us)) in
            self.contexts.nodes.iter().zip(weights)
        {
            nodes.push(ContextNode {
                parent: (*parent != NO_ROW).then_some(NodeId(*parent)),
                endpoint: ReportEndpoint(*endpoint),
                exclusive_us,
                inclusive_us,
                subtree_us: exclusive_us.sum,
                requests: value.requests.into(),
                spans: value.spans,
                errors: value.errors,
                waiting: waiting(nodes.len() as u32),
                exemplars: Vec::new(),
            });
        }
        drop(waiting);
        for i in (0..nodes.len()).rev() {
            if let Some(parent) = nodes[i].parent {
                nodes[parent.index()].subtree_us += nodes[i].subtree_us;
            }
        }
        let endpoints = self.contexts.endpoints;
        CriticalPathReport { range: Some(range), facts, endpoints, nodes, examples: Vec::new() }
    }

    /// Returns the endpoints as (service, operation).
    pub fn endpoints(&self) -> &[Endpoint] {
        &self.contexts.endpoints
    }

    /// Returns the shape of the merged tree: (parent or [`NO_ROW`], endpoint number) of each node.
    pub fn shape(&self) -> Vec<(u32, u32)> {
        self.contexts.shape()
    }

    /// Returns per node the lower median of its exclusive values and their sum.
    pub fn targets(&self) -> Vec<(u64, u128)> {
        let mut rest = self.exclusive.as_slice();
        let target = |node: &Context<Sums>| {
            let (packed, after) = rest.split_at(node.value.requests as usize);
            rest = after;
            let middle = packed.len().saturating_sub(1) / 2;
            let (mut value, mut median, mut sum) = (0u64, 0, 0u128);
            for (at, difference) in packed.iter().enumerate() {
                value = value.wrapping_add(*difference);
                sum += u128::from(value);
                if at == middle {
                    median = value;
                }
            }
            (median, sum)
        };
        self.contexts.nodes.iter().map(target).collect()
    }
}

/// Returns where the values of each context begin, and how many there are.
fn begins<'a>(sums: impl ExactSizeIterator<Item = &'a Sums>) -> (Vec<usize>, usize) {
    let mut total = 0;
    let mut begins = Vec::with_capacity(sums.len());
    for sums in sums {
        begins.push(total);
        total += sums.requests as usize;
    }
    (begins, total)
}

/// Puts the weights of parts where their values are, context by context; `places` are the numbers of their contexts.
fn placed(
    contexts: &Contexts<Sums>,
    parts: Vec<Vec<RequestWeight>>,
    counts: &[Vec<u32>],
    places: &[Vec<u32>],
) -> Vec<RequestWeight> {
    let (mut place, total) = begins(contexts.nodes.iter().map(|node| &node.value));
    let mut joined = vec![RequestWeight::ONE; total];
    for ((part, counts), places) in parts.iter().zip(counts).zip(places) {
        let mut rest = part.as_slice();
        for (&count, &node) in counts.iter().zip(places) {
            let (weights, after) = rest.split_at(count as usize);
            rest = after;
            let place = &mut place[node as usize];
            joined[*place..*place + weights.len()].copy_from_slice(weights);
            *place += weights.len();
        }
    }
    joined
}

/// Sorts and packs the values of each context, with their weights.
fn sort_by_weight(contexts: &Contexts<Sums>, column: &mut [u64], weights: &mut [RequestWeight]) {
    let mut rest = weights;
    each(contexts, column, |values| {
        let (here, after) = std::mem::take(&mut rest).split_at_mut(values.len());
        rest = after;
        let mut pairs: Vec<_> = values.iter().copied().zip(here.iter().copied()).collect();
        sort_weighted(&mut pairs);
        for ((value, weight), pair) in values.iter_mut().zip(here).zip(pairs) {
            (*value, *weight) = pair;
        }
        pack(values);
    });
}

/// Does something with the values of each context in turn.
fn each(contexts: &Contexts<Sums>, column: &mut [u64], mut work: impl FnMut(&mut [u64])) {
    let mut rest = column;
    for node in &contexts.nodes {
        let (values, after) = rest.split_at_mut(node.value.requests as usize);
        rest = after;
        work(values);
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
