//! Services in which errors begin: failing requests are often faster, so times do not show them.

use super::cells::ServiceCounts;
use super::{FailingService, ServicesPartial};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::fisher_p;

/// How often chance may say that some service fails more often.
const ERROR: f64 = 0.05;

/// Returns the services with errors on either side, the greatest growth first (ties: more failures, then names).
pub(super) fn failing(a: &ServicesPartial, b: &ServicesPartial) -> Vec<FailingService> {
    let of =
        |part: &ServicesPartial, service: &String| part.services.get(service).cloned().unwrap_or_default();
    let tests = b.services.keys().filter(|service| a.services.contains_key(*service)).count().max(1);
    let only_a = a.services.keys().filter(|service| !b.services.contains_key(*service));
    let mut rows: Vec<FailingService> = b
        .services
        .keys()
        .chain(only_a)
        .filter_map(|service| {
            let (of_a, of_b) = (of(a, service), of(b, service));
            let growth = growth(&of_a, &of_b);
            let [(failed_a, visits_a), (failed_b, visits_b)] =
                [&of_a, &of_b].map(|of| of.visits.effective_counts(&of.failed));
            let chance = fisher_p(failed_b, visits_b, failed_a, visits_a);
            let is_certain = growth > 0.0 && chance < ERROR / tests as f64;
            let share = b.requests.share(&of_b.latency_us.weights());
            (of_a.failed.seen + of_b.failed.seen > 0).then(|| FailingService {
                service: service.clone(),
                a_calls: of_a.visits.rounded(),
                a_failed: of_a.failed.rounded(),
                b_calls: of_b.visits.rounded(),
                b_failed: of_b.failed.rounded(),
                growth,
                impact: if is_certain { growth * share } else { 0.0 },
            })
        })
        .collect();
    rows.compact_sort_by(|x, y| {
        (y.growth.total_cmp(&x.growth))
            .then_with(|| y.b_failed.cmp(&x.b_failed))
            .then_with(|| x.service.cmp(&y.service))
    });
    rows
}

/// Returns B's share of failures less the greatest that A's calls let expect of as many calls. What A says of the rate
/// is a beta distribution with Jeffreys' prior, so the number of failures is beta-binomial.
fn growth(a: &ServiceCounts, b: &ServiceCounts) -> f64 {
    if b.visits.seen == 0 {
        return -a.visits.share(&a.failed);
    }
    // Of sampled calls so many as they say as much as.
    let counts = |of: &ServiceCounts| (of.visits.effective_part(&of.failed), of.visits.effective());
    let ((failed_a, visits_a), (failed_b, n)) = (counts(a), counts(b));
    let (alpha, beta) = (failed_a + 0.5, visits_a - failed_a + 0.5);
    let sum = alpha + beta;
    let mean = n * alpha / sum;
    let variance = n * alpha * beta * (sum + n) / (sum * sum * (sum + 1.0));
    (failed_b - mean - 2.0 * variance.sqrt()) / n
}

#[cfg(test)]
mod tests {
    use super::*;
    use pathlight_base::statistics::{Moments, Sample, Weights};

    fn counts(visits: u64, failed: u64) -> ServiceCounts {
        let [visits, failed] = [visits, failed].map(Weights::of_ones);
        ServiceCounts { visits, failed, ..ServiceCounts::default() }
    }

    #[test]
    fn few_failures_after_none_are_chance_and_many_are_growth() {
        // Alpha 0.5, beta 1000.5: mean 0.4995, variance 1.0 of 1000 calls, so up to 2.5 failures are nothing.
        assert!(growth(&counts(1000, 0), &counts(1000, 2)) < 0.0);
        let grown = growth(&counts(1000, 0), &counts(1000, 3));
        assert!(grown > 0.0 && grown < 0.001, "{grown}");
        // 310 of 1000 after 2 of 1000: 31 % less 0.25 % less twice the deviation of 0.22 %.
        let grown = growth(&counts(1000, 2), &counts(1000, 310));
        assert!((grown - 0.303).abs() < 0.001, "{grown}");
        // With nothing before there is nothing to grow from, whatever happens.
        assert!(growth(&counts(0, 0), &counts(50, 50)) < 0.0);
    }

    #[test]
    fn what_chance_may_do_to_one_of_many_services_has_no_impact() {
        let set = |failed: u64| {
            let mut part = ServicesPartial { requests: Weights::of_ones(200), ..ServicesPartial::default() };
            for number in 0..10 {
                let latency_us = Sample::counted(100, Moments::default());
                let of = ServiceCounts { latency_us, ..counts(170, if number == 0 { failed } else { 0 }) };
                part.services.insert(format!("s{number}"), Box::new(of));
            }
            part
        };
        let row = |failed| failing(&set(0), &set(failed)).remove(0);
        // 6 of 170 after none: likely 1 time in 66, and one of ten services may.
        assert!(row(6).growth > 0.0 && row(6).impact == 0.0);
        let many = row(40);
        assert!((many.impact - many.growth / 2.0).abs() < 1e-12 && many.impact > 0.1);
    }
}
