//! Times by endpoint, whatever the call path: rows of the heat map and of the textual summary (`docs/definitions/critical-path.md` section 5).

use crate::flame::TimeColumn;
use crate::flame::shares::FewRequests;
use crate::flame::wait_sums::WaitSums;
use crate::flame::{Collapser, Contexts, Placed, Waiting, Weight};
use crate::ids;
use crate::names::numbered;
use crate::requests::{PercentileRange, RangeFacts};
use crate::run::request_pass::Rows;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Interval, Weight as RequestWeight, WeightedSum, Weights};
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Call chains kept for each endpoint.
pub const CHAINS: usize = 5;

/// The accumulator of endpoint rows.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct EndpointPart {
    requests: Weights,
    /// One row for each endpoint of the chains.
    rows: Vec<RowPart>,
    /// Each request, where they are few, with its endpoints by number.
    few: FewRequests,
    /// By number of the endpoint.
    waits: WaitSums,
    /// Exclusive time and number of requests of every calling context, for the chains; endpoints ascending.
    chains: Contexts<(WeightedSum, u64)>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct RowPart {
    spans: u64,
    errors: u64,
    /// Of each request that has the endpoint.
    exclusive: TimeColumn,
    inclusive: TimeColumn,
}

impl EndpointPart {
    /// Sums some requests of a worker's table.
    pub(crate) fn observe(all: &Rows) -> EndpointPart {
        let &Rows { set, table, requests, .. } = all;
        let mut collapser = Collapser::new(set);
        let mut rows: Vec<RowPart> = vec![RowPart::default(); set.endpoints().len()];
        let mut chains: Vec<Option<(WeightedSum, u64)>> = vec![None; table.contexts().len()];
        let mut weights = Weights::default();
        for &request in requests {
            let weight = all.weight(request);
            weights.add(weight);
            for entry in collapser.collapse(table, request) {
                let row = &mut rows[entry.endpoint.0 as usize];
                row.spans += entry.spans;
                row.errors += entry.errors;
                row.exclusive.push(entry.exclusive_us, weight);
                row.inclusive.push(entry.inclusive_us, weight);
            }
            for entry in table.entries(request) {
                let (exclusive_us, count) = chains[entry.context as usize].get_or_insert_default();
                exclusive_us.add(entry.exclusive_us, weight);
                *count += 1;
            }
        }
        // What waits is on a path, so its endpoint has a name.
        let is_on_path = |row: &RowPart| row.exclusive.requests() > 0;
        let on_path = (0..).zip(&rows).filter(|(_, row)| is_on_path(row)).map(|(endpoint, _)| endpoint);
        let (names, number_of) = numbered(set, on_path);
        let of = |context: u32| number_of[table.contexts()[context as usize].1.0 as usize];
        let units = |request: u32| all.weight(request).units().into();
        let waits = WaitSums::observe(set, table, requests, names.len(), of, units);
        let number = |endpoint| number_of[endpoint as usize];
        let few = FewRequests::observe(set, table, requests, number, |request| all.weight(request));
        let mut rows: Vec<(u32, RowPart)> =
            number_of.iter().copied().zip(rows).filter(|(_, row)| is_on_path(row)).collect();
        rows.compact_sort_by_key(|(number, _)| *number);
        let rows = rows.into_iter().map(|(_, row)| RowPart {
            exclusive: row.exclusive.packed(),
            inclusive: row.inclusive.packed(),
            ..row
        });
        let chains = Contexts::of_numbered(table, chains, (names, &number_of));
        EndpointPart { requests: weights, rows: rows.collect(), few, waits, chains }
    }

    /// Joins parts of disjoint requests and finishes: one row an endpoint, by (service, operation).
    pub fn finish(
        mut parts: Vec<EndpointPart>,
        range: PercentileRange,
        facts: RangeFacts,
    ) -> EndpointsReport {
        let forests = parts.iter_mut().map(|part| std::mem::take(&mut part.chains)).collect();
        let (contexts, placed) = Contexts::merge_placed(forests, |into, from| {
            into.0.merge(from.0);
            into.1 += from.1;
        });
        let contexts = contexts.map(|(us, requests)| (us.rounded(), requests));
        let chains = top_chains(&contexts);
        let mut requests = Weights::default();
        let mut rows: Vec<(u32, RowPart)> = Vec::new();
        let (mut few, mut waits) = (Vec::new(), Vec::new());
        for (part, Placed { endpoints: numbers, .. }) in parts.into_iter().zip(&placed) {
            requests.merge(&part.requests);
            rows.extend(numbers.iter().copied().zip(part.rows));
            waits.push((part.waits, numbers.as_slice()));
            few.push((part.few, numbers.clone()));
        }
        rows.compact_sort_by_key(|(number, _)| *number);
        let waits = WaitSums::merge(waits);
        let mut waiting = waits.by_key(RequestWeight::UNITS.into());
        let mut report = EndpointsReport {
            range: Some(range),
            facts,
            endpoints: contexts.endpoints,
            ..EndpointsReport::default()
        };
        for (same, chains) in rows.chunk_by(|a, b| a.0 == b.0).zip(chains) {
            let rows = || same.iter().map(|(_, row)| row);
            let weight =
                |column: fn(&RowPart) -> &TimeColumn| TimeColumn::summary(rows().map(column), &requests);
            report.rows.push(EndpointTotals {
                exclusive_us: weight(|row| &row.exclusive),
                inclusive_us: weight(|row| &row.inclusive),
                requests: rows().map(|row| row.exclusive.requests()).sum(),
                spans: rows().map(|row| row.spans).sum(),
                errors: rows().map(|row| row.errors).sum(),
                waiting: waiting(same[0].0),
                chains,
                share_interval: None,
            });
        }
        report.by_weight();
        if let Some(intervals) = FewRequests::intervals(few, report.rows.len(), report.facts.requests) {
            for (row, interval) in report.rows.iter_mut().zip(intervals) {
                row.share_interval = Some(interval);
            }
        }
        report
    }
}

/// Returns, by endpoint, its chains with the most exclusive time (ties: more requests, then names).
pub fn top_chains(contexts: &Contexts<(u128, u64)>) -> Vec<Vec<CallChain>> {
    let mut nodes_of: Vec<Vec<u32>> = vec![Vec::new(); contexts.endpoints.len()];
    for (number, node) in contexts.nodes.iter().enumerate() {
        nodes_of[node.endpoint as usize].push(number as u32);
    }
    let value = |node: u32| contexts.nodes[node as usize].value;
    nodes_of
        .into_iter()
        .map(|mut nodes| {
            // Stable: what is equal stays in pre-order, which is by names.
            nodes.sort_by_key(|&node| std::cmp::Reverse(value(node)));
            nodes.truncate(CHAINS);
            nodes
                .into_iter()
                .map(|node| CallChain {
                    path: contexts.chain(node).into_iter().map(ids::ReportEndpoint).collect(),
                    exclusive_us: value(node).0,
                    requests: value(node).1,
                })
                .collect()
        })
        .collect()
}

/// A path of endpoints from a request's root down to an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallChain {
    /// Numbers of the endpoints, the root's first and the endpoint itself last.
    pub path: Vec<ids::ReportEndpoint>,
    /// Sum of the exclusive time spent in this chain in microseconds.
    pub exclusive_us: u128,
    /// Requests that have it.
    pub requests: u64,
}

/// One endpoint on the critical paths of a percentile range, over all call paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EndpointTotals {
    /// Time on the critical path in its own spans, per request.
    pub exclusive_us: Weight,
    /// Sanitised duration of its spans on the path, per request; where it calls itself, all of them.
    pub inclusive_us: Weight,
    /// Requests that have it on the path.
    pub requests: u64,
    /// Spans on the critical path.
    pub spans: u64,
    /// Errors among them.
    pub errors: u64,
    /// Waiting within its exclusive time, by service.
    pub waiting: Vec<Waiting>,
    /// Its chains with the most exclusive time, at most [`CHAINS`].
    pub chains: Vec<CallChain>,
    /// The 95 % bootstrap interval of its share of all latency; `None` from 1,000 requests on, and of a summary.
    pub share_interval: Option<Interval>,
}

/// The endpoints on the critical paths of a percentile range.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EndpointsReport {
    /// The percentile range of the report.
    pub range: Option<PercentileRange>,
    /// Requests and latencies of the range.
    pub facts: RangeFacts,
    /// (service, operation) of each row, sorted.
    pub endpoints: Vec<Endpoint>,
    /// One row an endpoint, in the order of `endpoints`.
    pub rows: Vec<EndpointTotals>,
}

/// The time that rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RowTime {
    /// Own time on the path.
    #[default]
    Exclusive,
    /// Sanitised duration.
    Inclusive,
}

/// The number of it that rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RowStat {
    /// Median.
    P50,
    /// 95th percentile.
    P95,
    /// 99th percentile.
    P99,
    /// Mean per request of the percentile range.
    Mean,
    /// Sum.
    #[default]
    Total,
}

impl RowStat {
    /// Every one, in the order they are offered.
    pub const ALL: [RowStat; 5] = [RowStat::P50, RowStat::P95, RowStat::P99, RowStat::Mean, RowStat::Total];

    /// Returns this number of a weight.
    pub fn of(self, weight: &Weight) -> f64 {
        match self {
            RowStat::P50 => weight.p50,
            RowStat::P95 => weight.p95,
            RowStat::P99 => weight.p99,
            RowStat::Mean => weight.mean,
            RowStat::Total => weight.sum as f64,
        }
    }

    /// Returns the word for it.
    pub fn name(self) -> &'static str {
        match self {
            RowStat::P50 => "p50",
            RowStat::P95 => "p95",
            RowStat::P99 => "p99",
            RowStat::Mean => "mean",
            RowStat::Total => "total",
        }
    }
}

impl EndpointsReport {
    /// Returns the numbers of the rows, greatest first (ties by service, operation).
    pub fn order(&self, time: RowTime, stat: RowStat) -> Vec<ids::ReportEndpoint> {
        let value = |row: ids::ReportEndpoint| {
            let row = &self.rows[row.index()];
            stat.of(if time == RowTime::Exclusive { &row.exclusive_us } else { &row.inclusive_us })
        };
        let mut order: Vec<_> = (0..self.rows.len() as u32).map(ids::ReportEndpoint).collect();
        order.compact_sort_by(|&a, &b| match value(b).total_cmp(&value(a)) {
            Ordering::Equal => a.cmp(&b),
            order => order,
        });
        order
    }

    /// Makes the facts of a report by weight what its rows are: their sum is the whole.
    pub(crate) fn by_weight(&mut self) {
        let sum_us = self.rows.iter().map(|row| row.exclusive_us.sum).sum();
        self.facts = std::mem::take(&mut self.facts).by_weight_with_sum(sum_us);
    }

    /// Returns the share of the percentile range's latency spent in a row's own spans, 0 to 1.
    pub fn share(&self, row: ids::ReportEndpoint) -> f64 {
        let total = self.facts.latency_sum_us;
        if total == 0 { 0.0 } else { self.rows[row.index()].exclusive_us.sum as f64 / total as f64 }
    }

    /// Returns the service and operation of an endpoint number.
    pub fn name(&self, endpoint: ids::ReportEndpoint) -> (&str, &str) {
        self.endpoints.get(endpoint.index()).map_or(("", ""), Endpoint::names)
    }
}
