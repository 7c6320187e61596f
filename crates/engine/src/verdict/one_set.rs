//! What services cost the requests of one set, without a baseline (section 8 of `docs/definitions/verdict.md`). Not
//! yet what findings of one set are ordered by.

use super::attribute::{CALLEES, caller_shares};
use super::cells::{CellKey, TimeKey};
use super::excess::Values;
use super::{ServicePart, ServicesPartial};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Moments, t_975};
use std::collections::BTreeMap;

/// Halving own work saves this share of it; waiting could vanish.
const HALVED: f64 = 0.5;
/// Parts of a service with at least this share of its greatest one are named with it.
const JOIN: f64 = 0.25;

/// What a part of a service takes of each request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PartCost {
    /// The part.
    pub part: ServicePart,
    /// Mean time per request in microseconds.
    pub mean_us: f64,
    /// Lower end of the 95 % interval of the mean, not below 0; microseconds.
    pub low_us: f64,
}

/// What a service costs.
#[derive(Clone, Debug, PartialEq)]
pub struct ServiceCost {
    /// Name of the service.
    pub service: String,
    /// Its greatest part, then those with at least a quarter of its cost.
    pub parts: Vec<PartCost>,
    /// What these would surely save, microseconds per request: own work halved, waiting gone.
    pub cost_us: f64,
}

impl PartCost {
    /// Returns what it would surely save, microseconds per request.
    pub fn cost_us(&self) -> f64 {
        if self.part == ServicePart::Own { HALVED * self.low_us } else { self.low_us }
    }
}

/// A mean with its variance, microseconds per request.
#[derive(Clone, Copy, Default)]
struct Mean {
    us: f64,
    variance: f64,
}

impl Mean {
    fn of(us: Moments, requests: u64) -> Mean {
        Mean { us: us.mean(requests), variance: us.variance(requests) / requests as f64 }
    }

    fn add(&mut self, other: Mean, share: f64) {
        self.us += other.us * share;
        self.variance += other.variance * share * share;
    }
}

/// Returns the caller's share of what calls of each pair of services wait: as of two sets, with the wait itself in place of
/// what calls take longer.
fn shares(part: &ServicesPartial) -> BTreeMap<(&str, &str), (f64, bool)> {
    let mut waits: BTreeMap<(&str, &str), Values> = BTreeMap::new();
    let mut replies: BTreeMap<(&str, &str), Moments> = BTreeMap::new();
    let mut work: BTreeMap<&str, Values> = BTreeMap::new();
    for (key, cell) in &part.cells {
        let values = Values { n: cell.n, us: cell.us };
        match key {
            CellKey::Edge { caller, callee } => {
                let pair = (caller.as_str(), callee.service.as_str());
                waits.entry(pair).or_default().add(values);
                replies.entry(pair).or_default().merge(cell.reply_us);
            }
            CellKey::Own { entry, .. } => work.entry(&entry.service).or_default().add(values),
        }
    }
    let per_call_us = waits.iter().map(|(&pair, values)| (pair, values.mean_us())).collect();
    caller_shares(&per_call_us, |caller, callee| {
        let calls = waits[&(caller, callee)];
        let reply_us = replies[&(caller, callee)].mean(calls.n);
        let work_us = work.get(callee).map_or(0.0, |values| values.mean_us());
        part.is_coarse || reply_us.max(work_us) >= CALLEES * calls.mean_us()
    })
}

/// Returns what each service costs, the greatest first (ties: by name); those that cost nothing for sure are left out.
pub fn costs(part: &ServicesPartial) -> Vec<ServiceCost> {
    let requests = part.requests;
    let Some(freedom) = requests.checked_sub(1).filter(|freedom| *freedom > 0) else { return Vec::new() };
    let shares = shares(part);
    let mut means: BTreeMap<&str, [Mean; 3]> = BTreeMap::new();
    let mut give = |service, part: ServicePart, mean: Mean, share: f64| {
        means.entry(service).or_default()[part as usize].add(mean, share);
    };
    for (key, &us) in &part.by_request {
        let mean = Mean::of(us, requests);
        match key {
            TimeKey::Work(service) => give(service.as_str(), ServicePart::Own, mean, 1.0),
            TimeKey::Wait(caller, callee) => {
                let (of_caller, _) =
                    shares.get(&(caller.as_str(), callee.as_str())).copied().unwrap_or_default();
                give(caller.as_str(), ServicePart::Out, mean, of_caller);
                give(callee.as_str(), ServicePart::In, mean, 1.0 - of_caller);
            }
        }
    }
    let reach = t_975(freedom as f64);
    let cost = |(service, means): (&str, [Mean; 3])| {
        let names = [ServicePart::Own, ServicePart::In, ServicePart::Out];
        let mut parts: Vec<PartCost> = names
            .into_iter()
            .zip(means)
            .map(|(part, Mean { us, variance })| PartCost {
                part,
                mean_us: us,
                low_us: (us - reach * variance.sqrt()).max(0.0),
            })
            .collect();
        // Stable: equal ones stay in their order.
        parts.compact_sort_by(|x, y| y.cost_us().total_cmp(&x.cost_us()));
        let least_us = JOIN * parts[0].cost_us();
        parts.retain(|part| part.cost_us() > 0.0 && part.cost_us() >= least_us);
        let cost_us = parts.iter().map(PartCost::cost_us).sum();
        ServiceCost { service: service.to_owned(), parts, cost_us }
    };
    let mut costs: Vec<ServiceCost> = means.into_iter().map(cost).filter(|cost| cost.cost_us > 0.0).collect();
    costs.compact_sort_by(|x, y| y.cost_us.total_cmp(&x.cost_us));
    costs
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_trace::Endpoint;

    /// Returns 20 requests: `front` works 40 ms and waits 30 ms for `cart`, 1 ms of it after the answer; `cart` works 2 ms.
    fn set(requests: u64) -> ServicesPartial {
        let mut part = ServicesPartial { requests, ..ServicesPartial::default() };
        let own =
            |service: &str, makes_calls| CellKey::Own { entry: Endpoint::new(service, "x"), makes_calls };
        let edge = CellKey::Edge { caller: "front".to_owned(), callee: Endpoint::new("cart", "x") };
        for _ in 0..requests {
            part.cells.entry(own("front", true)).or_default().add(40_000);
            part.cells.entry(own("cart", false)).or_default().add(2000);
            part.cells.entry(edge.clone()).or_default().add_call(30_000, 1000);
            let times = [
                (TimeKey::Work("front".to_owned()), 40_000),
                (TimeKey::Work("cart".to_owned()), 2000),
                (TimeKey::Wait("front".to_owned(), "cart".to_owned()), 30_000),
            ];
            times.into_iter().for_each(|(key, us)| part.by_request.entry(key).or_default().add(us));
        }
        part
    }

    #[test]
    fn parts_of_a_service_that_cost_much_are_one_finding() {
        let found = costs(&set(20));
        let of = |cost: &ServiceCost| {
            let parts: Vec<ServicePart> = cost.parts.iter().map(|part| part.part).collect();
            (cost.service.clone(), parts, cost.cost_us)
        };
        let found: Vec<_> = found.iter().map(of).collect();
        assert_eq!(
            found,
            [
                ("front".to_owned(), vec![ServicePart::Out, ServicePart::Own], 50_000.0),
                ("cart".to_owned(), vec![ServicePart::Own], 1000.0),
            ]
        );
        assert!(costs(&set(1)).is_empty(), "one request says nothing of others");
        let coarse = ServicesPartial { is_coarse: true, ..set(20) };
        assert_eq!(of(&costs(&coarse)[0]), ("cart".to_owned(), vec![ServicePart::In], 30_000.0));
    }

    #[test]
    fn what_varies_costs_its_lower_end() {
        let mut part = set(20);
        let us = part.by_request.entry(TimeKey::Work("rare".to_owned())).or_default();
        us.add(1_000_000);
        // Once in 20 requests: the interval of the mean holds 0.
        assert!(costs(&part).iter().all(|cost| cost.service != "rare"));
    }
}
