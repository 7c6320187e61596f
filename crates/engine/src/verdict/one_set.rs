//! What services cost the requests of one set, without a baseline (section 8 of `docs/definitions/verdict.md`).

use super::attribute::{CALLEES, caller_shares};
use super::cells::{CellKey, TimeKey};
use super::{ServiceExemplar, ServicePart, ServicesPartial};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Interval, Sample, Weights, t_975};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Halving own work saves this share of it; waiting could vanish.
const HALVED: f64 = 0.5;
/// Parts of a service with at least this share of its greatest one are named with it.
const JOIN: f64 = 0.25;

/// What a part of a service takes of each request.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PartCost {
    /// The part.
    pub part: ServicePart,
    /// Mean time per request in microseconds. Of waiting for the service it is all of it, over all callers; of calls out of it
    /// what these would wait whoever answers.
    pub mean_us: f64,
    /// The 95 % interval of the mean, not below 0; from 0 on for a single request.
    pub interval: Interval,
    /// What it would surely save, microseconds per request: own work halved, or the service's share of waits gone.
    pub cost_us: f64,
}

/// What a service costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServiceCost {
    /// Name of the service.
    pub service: String,
    /// Its part with the greatest cost, then those with at least a quarter of that.
    pub parts: Vec<PartCost>,
    /// Where its first part is a wait: the services on the other side, the one with most first, each with its share of it from
    /// 0 to 1.
    pub others: Vec<(String, f64)>,
    /// Requests that use it.
    pub requests: u64,
}

/// The time of a service on critical paths, microseconds per request. Over all services it sums to the mean latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceTime {
    /// Name of the service.
    pub service: String,
    /// Its own work.
    pub own_us: f64,
    /// What calls into it take outside its spans, over all callers.
    pub waiting_us: f64,
}

impl ServiceCost {
    /// Returns what its parts would surely save, microseconds per request.
    pub fn cost_us(&self) -> f64 {
        self.parts.iter().map(|part| part.cost_us).sum()
    }

    /// Returns the time of its parts, microseconds per request.
    pub fn mean_us(&self) -> f64 {
        self.parts.iter().map(|part| part.mean_us).sum()
    }

    /// Returns its greatest part.
    pub fn lead(&self) -> ServicePart {
        self.parts.first().map_or(ServicePart::Own, |part| part.part)
    }
}

/// A mean with its variance, microseconds per request.
#[derive(Clone, Copy, Default)]
struct Mean {
    us: f64,
    variance: f64,
}

impl Mean {
    fn of(us: &Sample, requests: &Weights) -> Mean {
        let spread = us.among(requests);
        Mean { us: spread.mean, variance: spread.squared_error() }
    }

    fn add(&mut self, other: Mean, share: f64) {
        self.us += other.us * share;
        self.variance += other.variance * share * share;
    }
}

/// Returns the caller's share of what calls of each pair of services wait: as of two sets, with the wait itself in place of
/// what calls take longer.
fn shares(part: &ServicesPartial) -> BTreeMap<(&str, &str), (f64, bool)> {
    let mut waits: BTreeMap<(&str, &str), Sample> = BTreeMap::new();
    let mut replies: BTreeMap<(&str, &str), Sample> = BTreeMap::new();
    let mut work: BTreeMap<&str, Sample> = BTreeMap::new();
    for (key, cell) in &part.cells {
        match key {
            CellKey::Edge { caller, callee } => {
                let pair = (caller.as_str(), callee.service.as_str());
                waits.entry(pair).or_default().merge(&cell.us);
                replies.entry(pair).or_default().merge(&cell.reply_us);
            }
            CellKey::Own { entry, .. } => work.entry(&entry.service).or_default().merge(&cell.us),
        }
    }
    let per_call_us: BTreeMap<(&str, &str), f64> =
        waits.iter().map(|(&pair, waits)| (pair, waits.mean())).collect();
    caller_shares(&per_call_us, |caller, callee| {
        let reply_us = replies[&(caller, callee)].mean();
        let work_us = work.get(callee).map_or(0.0, Sample::mean);
        part.is_coarse || reply_us.max(work_us) >= CALLEES * per_call_us[&(caller, callee)]
    })
}

/// Times of a service by part, and its waits by the service on the other side.
#[derive(Default)]
struct Times<'a> {
    /// What is said to be the service's.
    parts: [Mean; 3],
    /// What of it would be gone if the service were.
    costs: [Mean; 3],
    others: [BTreeMap<&'a str, f64>; 3],
}

impl<'a> Times<'a> {
    fn add(&mut self, part: ServicePart, other: Option<&'a str>, time: Mean, share: f64) {
        // Waiting for a service is said whole; calls out of another are a part of it.
        let said = if part == ServicePart::In { 1.0 } else { share };
        self.parts[part as usize].add(time, said);
        self.costs[part as usize].add(time, share);
        if let Some(other) = other {
            *self.others[part as usize].entry(other).or_default() += time.us * said;
        }
    }
}

/// Returns the times of all requests in services, by name: own work, and what calls into each take outside its spans, in
/// microseconds.
pub fn sums(part: &ServicesPartial) -> BTreeMap<&str, (u128, u128)> {
    let mut sums: BTreeMap<&str, (u128, u128)> = BTreeMap::new();
    for (key, us) in &part.by_request {
        let (TimeKey::Work(service) | TimeKey::Wait(_, service)) = key;
        let (own_us, waiting_us) = sums.entry(service).or_default();
        *(if matches!(key, TimeKey::Work(_)) { own_us } else { waiting_us }) += us.sum();
    }
    sums
}

/// Returns the times of all services, by name.
pub fn times(part: &ServicesPartial) -> Vec<ServiceTime> {
    let mean_us = |us: u128| us as f64 / part.requests.requests().max(1.0);
    let time = |(service, (own_us, waiting_us)): (&str, (u128, u128))| ServiceTime {
        service: service.to_owned(),
        own_us: mean_us(own_us),
        waiting_us: mean_us(waiting_us),
    };
    sums(part).into_iter().map(time).collect()
}

/// Returns the request and span in which a part of a service takes longest at once.
pub fn exemplar<'a>(
    part: &'a ServicesPartial,
    service: &str,
    of: ServicePart,
) -> Option<&'a ServiceExemplar> {
    let cells = part.cells.iter().filter(|(key, _)| match (key, of) {
        (CellKey::Own { entry, .. }, ServicePart::Own) => entry.service == service,
        (CellKey::Edge { callee, .. }, ServicePart::In) => callee.service == service,
        (CellKey::Edge { caller, .. }, ServicePart::Out) => caller == service,
        _ => false,
    });
    // Of equal ones the first by its cell.
    let exemplars = cells.filter_map(|(_, cell)| cell.exemplar.as_ref());
    exemplars.reduce(|best, next| if next.time_us > best.time_us { next } else { best })
}

/// Returns what each service costs, the greatest first (ties: by time, then by name).
pub fn costs(part: &ServicesPartial) -> Vec<ServiceCost> {
    let requests = &part.requests;
    let shares = shares(part);
    let mut times: BTreeMap<&str, Times> = BTreeMap::new();
    for (key, us) in &part.by_request {
        let time = Mean::of(us, requests);
        match key {
            TimeKey::Work(service) => {
                times.entry(service).or_default().add(ServicePart::Own, None, time, 1.0);
            }
            TimeKey::Wait(caller, callee) => {
                let (of_caller, _) =
                    shares.get(&(caller.as_str(), callee.as_str())).copied().unwrap_or_default();
                let calling = times.entry(caller).or_default();
                calling.add(ServicePart::Out, Some(callee), time, of_caller);
                let called = times.entry(callee).or_default();
                called.add(ServicePart::In, Some(caller), time, 1.0 - of_caller);
            }
        }
    }
    // Of a single request nothing is sure.
    let n = requests.effective();
    let reach = (n >= 2.0).then(|| t_975(n - 1.0));
    let mut costs: Vec<ServiceCost> =
        times.into_iter().filter_map(|(service, times)| cost(part, service, times, reach)).collect();
    let key = |cost: &ServiceCost| (cost.cost_us(), cost.mean_us());
    costs.compact_sort_by(|x, y| greater_first(key(x), key(y)));
    costs
}

fn greater_first(x: (f64, f64), y: (f64, f64)) -> Ordering {
    y.0.total_cmp(&x.0).then_with(|| y.1.total_cmp(&x.1))
}

/// Returns what a service costs; `None` if it takes no time.
fn cost(all: &ServicesPartial, service: &str, times: Times, reach: Option<f64>) -> Option<ServiceCost> {
    let interval = |Mean { us, variance }: Mean| {
        let reach_us = reach.map_or(us, |reach| reach * variance.sqrt());
        Interval { low: (us - reach_us).max(0.0), high: us + reach_us }
    };
    let names = [ServicePart::Own, ServicePart::In, ServicePart::Out];
    let saved = |part: ServicePart| if part == ServicePart::Own { HALVED } else { 1.0 };
    // By what is surely saved; where nothing is sure, by what is saved on average.
    let mut parts: Vec<(PartCost, (f64, f64))> = (names.into_iter().zip(times.parts).zip(times.costs))
        .map(|((part, time), cost)| {
            let cost_us = saved(part) * interval(cost).low;
            let of_part = PartCost { part, mean_us: time.us, interval: interval(time), cost_us };
            (of_part, (cost_us, saved(part) * cost.us))
        })
        .collect();
    // Stable: equal ones stay in their order.
    parts.compact_sort_by(|(_, x), (_, y)| greater_first(*x, *y));
    let (sure_us, mean_us) = parts[0].1;
    let is_much = |(sure, mean): (f64, f64)| {
        if sure_us > 0.0 {
            sure > 0.0 && sure >= JOIN * sure_us
        } else {
            mean > 0.0 && mean >= JOIN * mean_us
        }
    };
    let parts: Vec<PartCost> =
        parts.into_iter().filter(|(_, saved)| is_much(*saved)).map(|(part, _)| part).collect();
    let lead = parts.first()?;
    let mut others: Vec<(String, f64)> = (times.others[lead.part as usize].iter())
        .filter(|(_, us)| **us > 0.0)
        .map(|(&other, us)| (other.to_owned(), us / lead.mean_us))
        .collect();
    others.compact_sort_by(|x, y| y.1.total_cmp(&x.1));
    let requests = all.services.get(service).map_or(0, |counts| counts.latency_us.n());
    Some(ServiceCost { service: service.to_owned(), parts, others, requests })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::Weight;
    use pathlight_trace::Endpoint;

    /// Returns 20 requests: `front` works 40 ms and waits 30 ms for `cart`, 1 ms of it after the answer; `cart` works 2 ms.
    fn set(requests: u64) -> ServicesPartial {
        let mut part = ServicesPartial { requests: Weights::of_ones(requests), ..ServicesPartial::default() };
        let own =
            |service: &str, makes_calls| CellKey::Own { entry: Endpoint::new(service, "x"), makes_calls };
        let edge = CellKey::Edge { caller: "front".to_owned(), callee: Endpoint::new("cart", "x") };
        for _ in 0..requests {
            part.cells.entry(own("front", true)).or_default().add(40_000, Weight::ONE);
            part.cells.entry(own("cart", false)).or_default().add(2000, Weight::ONE);
            part.cells.entry(edge.clone()).or_default().add_call(30_000, 1000, Weight::ONE);
            let times = [
                (TimeKey::Work("front".to_owned()), 40_000),
                (TimeKey::Work("cart".to_owned()), 2000),
                (TimeKey::Wait("front".to_owned(), "cart".to_owned()), 30_000),
            ];
            times
                .into_iter()
                .for_each(|(key, us)| part.by_request.entry(key).or_default().add(us, Weight::ONE));
        }
        part
    }

    #[test]
    fn parts_of_a_service_that_cost_much_are_one_finding() {
        let found = costs(&set(20));
        let of = |cost: &ServiceCost| {
            let parts: Vec<ServicePart> = cost.parts.iter().map(|part| part.part).collect();
            (cost.service.clone(), parts, cost.cost_us())
        };
        let found: Vec<_> = found.iter().map(of).collect();
        assert_eq!(
            found,
            [
                ("front".to_owned(), vec![ServicePart::Out, ServicePart::Own], 50_000.0),
                ("cart".to_owned(), vec![ServicePart::Own], 1000.0),
            ]
        );
        let single = &costs(&set(1))[0];
        assert_eq!(
            (single.service.as_str(), single.cost_us()),
            ("front", 0.0),
            "one request says nothing of others"
        );
        assert_eq!((single.lead(), single.mean_us()), (ServicePart::Out, 70_000.0));
        let time =
            |name: &str, own_us, waiting_us| ServiceTime { service: name.to_owned(), own_us, waiting_us };
        assert_eq!(times(&set(20)), [time("cart", 2000.0, 30_000.0), time("front", 40_000.0, 0.0)]);
        let coarse = ServicesPartial { is_coarse: true, ..set(20) };
        assert_eq!(of(&costs(&coarse)[0]), ("cart".to_owned(), vec![ServicePart::In], 30_000.0));
    }

    #[test]
    fn what_varies_costs_its_lower_end() {
        let mut part = set(20);
        let us = part.by_request.entry(TimeKey::Work("rare".to_owned())).or_default();
        us.add(1_000_000, Weight::ONE);
        // Once in 20 requests: the interval of the mean holds 0.
        let costs = costs(&part);
        let rare = costs.iter().find(|cost| cost.service == "rare").unwrap();
        assert_eq!((rare.cost_us(), rare.mean_us()), (0.0, 50_000.0));
    }
}
