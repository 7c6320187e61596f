//! Which service's time changed: self time per request and service (`docs/definitions/tprof.md` section 5).

use super::table::PathTable;
use super::walk::Observer;
use pathlight_model::sort::Arrange;
use pathlight_model::stats::{Interval, Moments, Side, welch};
use pathlight_model::trace::{Role, SpanKind, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Self time per request by service, summed over requests: an accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceSums {
    services: BTreeMap<String, Moments>,
}

/// The change of one service's self time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceChange {
    /// Service name.
    pub service: String,
    /// Mean self time per request on side A in microseconds.
    pub a_us: f64,
    /// Mean self time per request on side B.
    pub b_us: f64,
    /// B minus A.
    pub change_us: f64,
    /// Welch's 95 % interval of the change; `None` where there is nothing to test.
    pub interval: Option<Interval>,
    /// Place in the list, from 1: what grew most is first.
    pub rank: u32,
}

impl ServiceSums {
    /// Joins accumulators of disjoint requests.
    pub fn merge(parts: Vec<ServiceSums>) -> ServiceSums {
        let mut out = ServiceSums::default();
        for part in parts {
            for (service, moments) in part.services {
                out.services.entry(service).or_default().merge(moments);
            }
        }
        out
    }
}

/// The services of both sides, what grew most first (ties by name).
pub fn rank_services(
    a: &ServiceSums,
    a_requests: u64,
    b: &ServiceSums,
    b_requests: u64,
) -> Vec<ServiceChange> {
    let mut names: Vec<&String> = a.services.keys().chain(b.services.keys()).collect();
    names.arrange();
    names.dedup();
    let side = |sums: &ServiceSums, name: &String, requests| {
        Side::new(sums.services.get(name).copied().unwrap_or_default(), requests, 1.0)
    };
    let mut rows: Vec<ServiceChange> = names
        .into_iter()
        .map(|name| {
            let (a, b) = (side(a, name, a_requests), side(b, name, b_requests));
            ServiceChange {
                service: name.clone(),
                a_us: a.mean,
                b_us: b.mean,
                change_us: b.mean - a.mean,
                interval: welch(a, b),
                rank: 0,
            }
        })
        .collect();
    // Stable: equal changes stay by name.
    rows.arrange_by(|x, y| y.change_us.total_cmp(&x.change_us));
    for (place, row) in rows.iter_mut().enumerate() {
        row.rank = place as u32 + 1;
    }
    rows
}

/// Sums the requests of one worker.
pub struct ServiceObserver {
    /// Service number of every endpoint, and service names.
    service_of: Vec<u32>,
    names: Vec<String>,
    sums: Vec<Moments>,
    /// By service: time in the current request; nothing is left behind by a request.
    current: Vec<u64>,
    touched: Vec<u32>,
}

impl ServiceObserver {
    /// An observer of requests of this set.
    pub fn new(set: &TraceSet) -> ServiceObserver {
        let mut numbers: BTreeMap<&str, u32> = BTreeMap::new();
        let mut names = Vec::new();
        let service_of = set.endpoints().map(|(service, _)| {
            *numbers.entry(service).or_insert_with(|| {
                names.push(service.to_owned());
                names.len() as u32 - 1
            })
        });
        let service_of = service_of.collect();
        ServiceObserver {
            service_of,
            sums: vec![Moments::default(); names.len()],
            current: vec![0; names.len()],
            touched: Vec::new(),
            names,
        }
    }
}

impl Observer for ServiceObserver {
    type Part = ServiceSums;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let root = table.requests[request as usize].row - tree.first;
        let end = tree.subtree_end[root as usize];
        let service_of = &self.service_of;
        let service = |i: u32| service_of[set.endpoint(tree.row(i)).0 as usize];
        let mut at = root;
        while at < end {
            if at != root && tree.role[at as usize] != Role::Sync {
                // What nobody waits for, and what was dropped, is no part of the request's time.
                at = tree.subtree_end[at as usize];
                continue;
            }
            let (covered_us, only_child) = children_of(tree, at);
            let own_us = tree.duration_us(at) - covered_us;
            let kind = set.kind(tree.row(at));
            let is_client = matches!(kind, SpanKind::Client | SpanKind::Unspecified);
            let payer = match only_child {
                // The gap between a client span and its server span is the network on the way to the server.
                Some(child) if is_client => service(child),
                _ => service(at),
            };
            let time = &mut self.current[payer as usize];
            if *time == 0 && own_us > 0 {
                self.touched.push(payer);
            }
            *time += own_us;
            at += 1;
        }
        for service in self.touched.drain(..) {
            let time = std::mem::take(&mut self.current[service as usize]);
            self.sums[service as usize].add(time);
        }
    }

    fn finish(self, _: &TraceSet) -> ServiceSums {
        let sums = self.names.into_iter().zip(self.sums);
        ServiceSums { services: sums.filter(|(_, moments)| moments.sum > 0).collect() }
    }
}

/// Microseconds of a span that its synchronous children cover, and its only synchronous child if it has just one.
fn children_of(tree: &Tree, span: u32) -> (u64, Option<u32>) {
    let (mut covered_us, mut until_us, mut only) = (0, tree.start_us[span as usize], None);
    let mut count = 0;
    // Children come by start.
    for child in tree.sync_children(span) {
        let (start, end) = (tree.start_us[child as usize], tree.end_us[child as usize]);
        if end > until_us {
            covered_us += end - start.max(until_us);
            until_us = end;
        }
        count += 1;
        only = (count == 1).then_some(child);
    }
    (covered_us, only)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sums(of: &[(&str, &[u64])]) -> ServiceSums {
        let mut out = ServiceSums::default();
        for (service, values) in of {
            for &value in *values {
                out.services.entry((*service).to_owned()).or_default().add(value);
            }
        }
        out
    }

    #[test]
    fn services_are_ranked_by_growth_and_absent_ones_count_as_zero() {
        let a = sums(&[("slower", &[10, 20]), ("same", &[5, 5]), ("gone", &[30, 50])]);
        let b = sums(&[("slower", &[70, 80]), ("same", &[5, 5]), ("new", &[8])]);
        let rows = rank_services(&a, 2, &b, 2);
        let said: Vec<(&str, f64, u32)> =
            rows.iter().map(|r| (r.service.as_str(), r.change_us, r.rank)).collect();
        assert_eq!(said, [("slower", 60.0, 1), ("new", 4.0, 2), ("same", 0.0, 3), ("gone", -40.0, 4)]);
        assert!(rows[0].interval.is_some_and(|i| !i.includes_zero()) && rows[2].interval.is_none());
    }
}
