//! What services cost all requests, as findings (section 8 of `docs/definitions/verdict.md`); and one finding where a slow tail
//! and all requests have their time at one place.

use super::candidates::{Sums, untested_finding};
use super::{CostFacts, CostInTail, Finding, FindingFacts, FindingKind, FindingPlace, SlowTailFacts};
use crate::verdict::ServicePart;
use crate::verdict::one_set::{ServiceCost, costs, exemplar};
use pathlight_base::statistics::Interval;
use pathlight_trace::Endpoint;

/// Least share of all latency that a service must take to be reported.
const SHARE: f64 = 0.05;
/// Services reported at most.
const MOST: usize = 3;
/// A call is a wait if it takes this share of its time outside its callee.
const MOSTLY: f64 = 0.5;

impl Sums<'_> {
    /// Finds the services that cost the requests most.
    pub fn costs(&self) -> Vec<Finding> {
        let all = costs(self.times).into_iter();
        let is_much =
            |cost: &ServiceCost| cost.mean_us() * self.all().requests() >= SHARE * self.total_us().max(1.0);
        all.filter(is_much).take(MOST).map(|cost| self.cost(cost)).collect()
    }

    fn cost(&self, cost: ServiceCost) -> Finding {
        let ends = |of: fn(Interval) -> f64| cost.parts.iter().map(|part| of(part.interval)).sum();
        let interval = Interval { low: ends(|interval| interval.low), high: ends(|interval| interval.high) };
        let (endpoints, largest) = self.own_work(&cost.service);
        let largest = largest.filter(|_| cost.lead() == ServicePart::Own);
        let at = largest.as_ref().map(|(endpoint, _)| endpoint);
        let is_certain = !self.part.waits.iter().any(|((call, callee), waits)| {
            let is_of_it = match cost.lead() {
                ServicePart::Out => call.service == cost.service,
                ServicePart::In | ServicePart::Own => *callee == cost.service,
            };
            is_of_it && waits.is_unsure
        });
        let facts = CostFacts {
            latency_us: self.part.latency.mean(),
            is_certain,
            endpoints,
            halved: None,
            beside: at.map_or_else(Vec::new, |at| self.beside(at, self.part.endpoints[at].time.sum())),
            gap: at.filter(|at| self.unrecorded_us(at).is_some()).and_then(|at| self.gap(at)),
            largest,
            tail: None,
            cost,
        };
        let place = FindingPlace::Service(facts.cost.service.clone());
        let (stake_us, n, lead) = (facts.cost.mean_us(), facts.cost.requests, facts.cost.lead());
        let service = facts.cost.service.clone();
        Finding {
            stake_us,
            interval: Some(interval).filter(|_| self.requests() > 1),
            example: exemplar(self.times, &service, lead).map(|longest| longest.request.clone()),
            ..untested_finding(place, n, self.requests(), FindingFacts::Cost(Box::new(facts)))
        }
    }

    /// Returns how many endpoints of a service have own work on critical paths, and the one with most of it, with its share.
    fn own_work(&self, service: &str) -> (u64, Option<(Endpoint, f64)>) {
        let of_service = self.part.endpoints.iter().filter(|(endpoint, _)| endpoint.service == service);
        let own = of_service
            .map(|(endpoint, sums)| (endpoint, sums.time.sum().saturating_sub(self.waits_us(endpoint))));
        let own: Vec<(&Endpoint, u128)> = own.filter(|(_, us)| *us > 0).collect();
        let all_us: u128 = own.iter().map(|(_, us)| us).sum();
        // Of equal ones the first by name.
        let largest = own.iter().copied().reduce(|best, next| if next.1 > best.1 { next } else { best });
        let largest = largest.map(|(endpoint, us)| (endpoint.clone(), us as f64 / all_us as f64));
        (own.len() as u64, largest)
    }

    /// Returns what calls of an endpoint wait for, by service, in microseconds.
    fn waits(&self, call: &Endpoint) -> impl Iterator<Item = (&str, u128)> {
        let from = (call.clone(), String::new());
        let of_call = self.part.waits.range(from..).take_while(move |((of, _), _)| *of == *call);
        of_call.map(|((_, callee), sums)| (callee.as_str(), sums.us.rounded()))
    }

    /// Returns what calls of an endpoint wait in all, in microseconds.
    pub(super) fn waits_us(&self, call: &Endpoint) -> u128 {
        self.waits(call).map(|(_, us)| us).sum()
    }

    /// Returns the service that calls of an endpoint wait for, if that is most of their time.
    pub(super) fn waits_for(&self, call: &Endpoint) -> Option<&str> {
        let all_us = self.part.endpoints.get(call)?.time.sum() as f64;
        self.waits(call).find(|(_, us)| *us as f64 > MOSTLY * all_us).map(|(callee, _)| callee)
    }
}

/// Returns whether a finding is about the time of a service that another finding is about as a whole.
pub(super) fn is_part_of(finding: &Finding, cost: &Finding) -> bool {
    let FindingFacts::Cost(facts) = &cost.facts else { return false };
    let cost = &facts.cost;
    let has = |part: ServicePart| cost.parts.iter().any(|of| of.part == part);
    let FindingPlace::Endpoint(endpoint) = &finding.place else { return false };
    match (&finding.facts, finding.kind()) {
        (FindingFacts::SlowTail(SlowTailFacts { waits_for: Some(callee), .. }), _) => {
            has(ServicePart::In) && *callee == cost.service
                || has(ServicePart::Out) && endpoint.service == cost.service
        }
        (_, FindingKind::SlowTail | FindingKind::NotInstrumented | FindingKind::WorthMakingFaster) => {
            has(ServicePart::Own) && endpoint.service == cost.service
        }
        _ => false,
    }
}

/// Makes one finding of two about the same time: the other becomes a fact of the one that speaks.
pub(super) fn add_fact(known: &mut Finding, other: &Finding) {
    match (&mut known.facts, &other.facts) {
        (FindingFacts::SlowTail(SlowTailFacts { share, waits_for, .. }), FindingFacts::Cost(facts)) => {
            let is_it = |part: ServicePart| (part == ServicePart::Own) == waits_for.is_none();
            let part = facts.cost.parts.iter().find(|of| is_it(of.part));
            *share = share.or(part.map(|part| facts.share(part.mean_us)));
        }
        (FindingFacts::Cost(facts), FindingFacts::SlowTail(tail)) => {
            if let FindingPlace::Endpoint(at) = &other.place {
                let (at, tail) = (at.clone(), tail.clone());
                facts.tail.get_or_insert(CostInTail { at, n: other.n, of: other.of, facts: tail });
            }
        }
        _ => {}
    }
}
