//! Interior endpoints ranked by what improving them is worth, over every root endpoint at once (`docs/definitions/critical-path.md` section 6; paper 6.2).

use crate::flame::shares::FewRequests;
use crate::flame::{Collapser, HistogramsReport};
use crate::ids::ReportEndpoint;
use crate::names::{join_names, join_sums, numbered};
use crate::requests::{PercentileRange, RangeFacts};
use crate::run::request_pass::Rows;
use crate::verdict::ServicesPartial;
use crate::verdict::one_set::sums;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Interval, Weight};
use pathlight_trace::{Endpoint, NO_ROW};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The accumulator: times by (root endpoint, endpoint), in units of 1/256 microseconds.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct ImpactPart {
    /// The names of endpoints, ascending.
    names: Vec<Endpoint>,
    /// By root endpoint, ascending: requests, sum of latencies.
    roots: Vec<(u32, (u64, u128))>,
    /// By endpoint and root endpoint, ascending.
    pairs: Vec<((u32, u32), PairSums)>,
    /// Each request, where they are few.
    few: FewRequests,
}

/// Time that requests of one root endpoint spend in one endpoint.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
struct PairSums {
    exclusive_us: u128,
    /// The part of it that is not in the roots of requests.
    interior_us: u128,
    requests: u64,
    /// Requests that have it below their root.
    interior_requests: u64,
}

impl PairSums {
    /// Adds other sums, of which each microsecond is so many units.
    fn merge(&mut self, other: PairSums, units: u128) {
        self.exclusive_us += other.exclusive_us * units;
        self.interior_us += other.interior_us * units;
        self.requests += other.requests;
        self.interior_requests += other.interior_requests;
    }
}

/// One root endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootRow {
    /// Index into [`ImpactReport::endpoints`].
    pub endpoint: ReportEndpoint,
    /// Number of requests.
    pub requests: u64,
    /// Sum of their latencies in microseconds.
    pub latency_us: u128,
}

/// Cost of an endpoint to one root endpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Affected {
    /// Index into [`ImpactReport::roots`].
    pub root: u32,
    /// Exclusive time on the critical paths of its requests in microseconds.
    pub exclusive_us: u128,
    /// Its requests that have the endpoint on their path.
    pub requests: u64,
}

/// One endpoint with its impact.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImpactRow {
    /// Index into [`ImpactReport::endpoints`].
    pub endpoint: ReportEndpoint,
    /// Impact: exclusive time on all critical paths in microseconds.
    pub exclusive_us: u128,
    /// The part of it spent below the roots of requests; the rest is time of requests of this endpoint itself.
    pub interior_us: u128,
    /// Whether it occurs below the root of any request.
    pub is_interior: bool,
    /// Requests that have it on their path.
    pub requests: u64,
    /// The 95 % bootstrap interval of its share of all latency; `None` from 1,000 requests on.
    pub share_interval: Option<Interval>,
    /// The root endpoints whose requests it takes time of, most time first.
    pub affected: Vec<Affected>,
    /// Where places are services: its own work, and what calls into it take outside its spans, in microseconds over all
    /// requests.
    pub service_us: Option<(u128, u128)>,
    /// Its spans on critical paths, and all others, once they are counted; not of a service.
    pub calls: Option<(u64, u64)>,
}

impl ImpactRow {
    /// Returns whether it is ranked: an endpoint below the root of some request, or a service.
    pub fn is_listed(&self) -> bool {
        self.is_interior || self.service_us.is_some()
    }

    /// Returns what it takes of all requests, in microseconds: of a service its own work and waiting for it. Over all rows it
    /// sums to all latency.
    pub fn time_us(&self) -> u128 {
        self.service_us.map_or(self.exclusive_us, |(own_us, waiting_us)| own_us + waiting_us)
    }
}

/// Endpoints ranked over all root endpoints.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImpactReport {
    /// The percentile range of the report.
    pub range: Option<PercentileRange>,
    /// Requests and latencies of the range.
    pub facts: RangeFacts,
    /// Endpoints as (service, operation), sorted.
    pub endpoints: Vec<Endpoint>,
    /// Root endpoints, most time first.
    pub roots: Vec<RootRow>,
    /// Interior endpoints by impact, then those that are only roots; ties by (service, operation). All impacts add up
    /// to all latency.
    pub rows: Vec<ImpactRow>,
}

impl ImpactPart {
    /// Sums some requests of a worker's table.
    pub(crate) fn observe(all: &Rows) -> ImpactPart {
        let &Rows { set, table, requests, .. } = all;
        let units = |request: u32| u128::from(all.weight(request).units());
        let mut collapser = Collapser::new(set);
        let mut roots: BTreeMap<u32, (u64, u128)> = BTreeMap::new();
        let mut pairs: hashbrown::HashMap<(u32, u32), PairSums, rustc_hash::FxBuildHasher> =
            hashbrown::HashMap::default();
        for &request in requests {
            let facts = &table.requests[request as usize];
            let root = set.endpoint(facts.row).0;
            let of_root = roots.entry(root).or_default();
            of_root.0 += 1;
            of_root.1 += u128::from(facts.latency_us) * units(request);
            // The root's own context, and whether its endpoint is also called below it.
            let is_root = |c: u32| table.contexts()[c as usize].0 == NO_ROW;
            let (mut own_us, mut recurs) = (0, false);
            for entry in table.entries(request) {
                if is_root(entry.context) {
                    own_us = entry.exclusive_us;
                } else {
                    recurs |= table.contexts()[entry.context as usize].1.0 == root;
                }
            }
            for entry in collapser.collapse(table, request) {
                let is_own = entry.endpoint.0 == root;
                let sums = PairSums {
                    exclusive_us: entry.exclusive_us.into(),
                    interior_us: (entry.exclusive_us - if is_own { own_us } else { 0 }).into(),
                    requests: 1,
                    interior_requests: u64::from(!is_own || recurs),
                };
                pairs.entry((entry.endpoint.0, root)).or_default().merge(sums, units(request));
            }
        }
        let endpoints = pairs.keys().map(|(endpoint, _)| *endpoint);
        let (names, number_of) = numbered(set, endpoints.chain(roots.keys().copied()));
        let number = |endpoint: u32| number_of[endpoint as usize];
        let few = FewRequests::observe(set, table, requests, number, |request| all.weight(request));
        let pairs =
            pairs.into_iter().map(|((endpoint, root), sums)| ((number(endpoint), number(root)), sums));
        let mut out = ImpactPart {
            names,
            roots: roots.into_iter().map(|(root, sums)| (number(root), sums)).collect(),
            pairs: pairs.collect(),
            few,
        };
        out.roots.sort_unstable_by_key(|(root, _)| *root);
        out.pairs.sort_unstable_by_key(|(pair, _)| *pair);
        out
    }

    /// Joins parts of disjoint requests and finishes.
    pub fn finish(parts: Vec<ImpactPart>, range: PercentileRange, facts: RangeFacts) -> ImpactReport {
        let (names, numbers) = join_names(parts.iter().map(|part| part.names.as_slice()));
        let (mut roots, mut pairs, mut few) = (Vec::new(), Vec::new(), Vec::new());
        for (part, numbers) in parts.into_iter().zip(numbers) {
            let number = |name: u32| numbers[name as usize];
            roots.extend(part.roots.into_iter().map(|(root, sums)| (number(root), sums)));
            let of_part = part.pairs.into_iter();
            pairs.extend(of_part.map(|((endpoint, root), sums)| ((number(endpoint), number(root)), sums)));
            few.push((part.few, numbers));
        }
        join_sums(&mut roots, |into, (requests, latency_us)| {
            *into = (into.0 + requests, into.1 + latency_us);
        });
        join_sums(&mut pairs, |into: &mut PairSums, sums| into.merge(sums, 1));
        let intervals = FewRequests::intervals(few, names.len(), facts.requests);
        let units = u128::from(Weight::UNITS);
        let whole = |us: u128| (us + units / 2) / units;
        for (_, sums) in &mut pairs {
            (sums.exclusive_us, sums.interior_us) = (whole(sums.exclusive_us), whole(sums.interior_us));
        }
        // Parts are rounded, so that their sum is the whole.
        let facts = facts.by_weight_with_sum(pairs.iter().map(|(_, sums)| sums.exclusive_us).sum());
        let mut report = ImpactReport { range: Some(range), facts, ..ImpactReport::default() };
        report.roots = roots
            .into_iter()
            .map(|(endpoint, (requests, latency_us))| RootRow {
                endpoint: ReportEndpoint(endpoint),
                requests,
                latency_us: whole(latency_us),
            })
            .collect();
        // Stable sorts here and below: what is equal stays by name.
        report.roots.compact_sort_by_key(|root| std::cmp::Reverse(root.latency_us));
        let mut place = vec![0; names.len()];
        for (number, root) in report.roots.iter().enumerate() {
            place[root.endpoint.index()] = number as u32;
        }
        for ((endpoint, root), sums) in pairs {
            let endpoint = ReportEndpoint(endpoint);
            if report.rows.last().is_none_or(|row: &ImpactRow| row.endpoint != endpoint) {
                let share_interval = intervals.as_ref().and_then(|all| all.get(endpoint.index()).copied());
                report.rows.push(ImpactRow { endpoint, share_interval, ..ImpactRow::default() });
            }
            let Some(row) = report.rows.last_mut() else { continue };
            row.exclusive_us += sums.exclusive_us;
            row.interior_us += sums.interior_us;
            row.requests += sums.requests;
            row.is_interior |= sums.interior_requests > 0;
            if sums.exclusive_us > 0 {
                let (root, requests) = (place[root as usize], sums.requests);
                row.affected.push(Affected { root, exclusive_us: sums.exclusive_us, requests });
            }
        }
        for row in &mut report.rows {
            row.affected.compact_sort_by_key(|affected| std::cmp::Reverse(affected.exclusive_us));
        }
        report.rows.compact_sort_by_key(|row| (!row.is_interior, std::cmp::Reverse(row.exclusive_us)));
        report.endpoints = names;
        report
    }
}

impl ImpactReport {
    /// Divides all latency among services: what calls into a service wait is no longer their callers'.
    pub(super) fn divide(&mut self, times: &ServicesPartial) {
        let sums = sums(times);
        for row in &mut self.rows {
            let service = self.endpoints.get(row.endpoint.index()).map(|endpoint| endpoint.service.as_str());
            if let Some(service_us) = service.and_then(|service| sums.get(service)) {
                row.service_us = Some(*service_us);
                row.share_interval = None;
            }
        }
        self.rows.compact_sort_by_key(|row| (!row.is_listed(), std::cmp::Reverse(row.time_us())));
        let sum_us = self.rows.iter().map(ImpactRow::time_us).sum();
        self.facts = std::mem::take(&mut self.facts).by_weight_with_sum(sum_us);
    }

    /// Takes over from the histograms of the same requests how many spans of each endpoint are on critical paths, and how many
    /// are not.
    pub fn count_calls(&mut self, of: &HistogramsReport) {
        for row in self.rows.iter_mut().filter(|row| row.service_us.is_none()) {
            let endpoint = self.endpoints.get(row.endpoint.index());
            let at =
                endpoint.and_then(|name| of.calls.binary_search_by(|calls| calls.endpoint.cmp(name)).ok());
            row.calls = at.map(|at| (of.calls[at].on_path, of.calls[at].off_path));
        }
    }

    /// Returns the share of all latency spent in a row's endpoint, 0 to 1.
    pub fn share(&self, row: &ImpactRow) -> f64 {
        ratio(row.time_us(), self.facts.latency_sum_us)
    }

    /// Returns the share of a root endpoint's latency that an endpoint takes, 0 to 1.
    pub fn share_in(&self, affected: &Affected) -> f64 {
        ratio(affected.exclusive_us, self.roots[affected.root as usize].latency_us)
    }

    /// Returns the most that could be saved, in microseconds over all requests, if the endpoint took `percent` less
    /// time. What is really saved is less wherever other work then becomes the last to finish.
    pub fn saving_at_most_us(&self, row: &ImpactRow, percent: f64) -> f64 {
        let own_us = row.service_us.map_or(row.exclusive_us, |(own_us, _)| own_us);
        own_us as f64 * percent.clamp(0.0, 100.0) / 100.0
    }

    /// Returns the service and operation of an endpoint number.
    pub fn name(&self, endpoint: ReportEndpoint) -> (&str, &str) {
        self.endpoints.get(endpoint.index()).map_or(("", ""), Endpoint::names)
    }
}

fn ratio(part: u128, whole: u128) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}
