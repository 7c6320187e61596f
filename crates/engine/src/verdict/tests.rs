//! The worked examples of `docs/definitions/verdict.md`, in milliseconds.

use super::cells::{CellKey, ServiceCounts};
use super::{Certainty, ServiceChange, ServicePart, ServicesPartial, ServicesReport};
use pathlight_base::statistics::{Moments, Sample, Weight, Weights};
use pathlight_trace::Endpoint;
use std::cmp::Ordering;

fn own(service: &str, makes_calls: bool) -> CellKey {
    let operation = if makes_calls { "root" } else { "ask" };
    CellKey::Own { entry: Endpoint::new(service, operation), makes_calls }
}

fn edge(caller: &str, callee: &str) -> CellKey {
    CellKey::Edge { caller: caller.to_owned(), callee: Endpoint::new(callee, "ask") }
}

/// A cell, its values in milliseconds, and the reply side of each.
type CellValues = (CellKey, Vec<f64>, f64);

/// Returns so many requests with these cells.
fn set(requests: u64, cells: &[CellValues]) -> ServicesPartial {
    let us = |ms: f64| (ms * 1000.0).round() as u64;
    let requests = Weights::of_ones(requests);
    let mut part = ServicesPartial { requests, ..ServicesPartial::default() };
    let mut latency_sum_us = 0;
    for (key, values, reply_ms) in cells {
        let cell = part.cells.entry(key.clone()).or_default();
        for &ms in values {
            match key {
                CellKey::Edge { .. } => cell.add_call(us(ms), us(*reply_ms), Weight::ONE),
                CellKey::Own { .. } => cell.add(us(ms), Weight::ONE),
            }
            latency_sum_us += u128::from(us(ms));
        }
    }
    part.latency_us = Sample::counted(requests.seen, Moments { sum: latency_sum_us, sum_sq: 0 });
    let latency_us = part.latency_us.clone();
    let counts = ServiceCounts { latency_us, visits: requests, ..ServiceCounts::default() };
    part.services =
        cells.iter().map(|(key, ..)| (key.service().to_owned(), Box::new(counts.clone()))).collect();
    part
}

/// Returns ten requests, each a visit of `f` of 5 ms that calls others, whose own work is 0; half of a call is reply.
fn shop(calls: &[(&str, u64)]) -> ServicesPartial {
    let mut cells = vec![(own("f", true), vec![5.0; 10], 0.0)];
    for &(callee, ms) in calls {
        cells.push((edge("f", callee), vec![ms as f64; 10], ms as f64 / 2.0));
        cells.push((own(callee, false), vec![0.0; 10], 0.0));
    }
    set(10, &cells)
}

/// Returns ten requests: `f` works 5 ms and calls `cart`, which waits this long, and so long of it after the answer.
fn front(wait_ms: f64, reply_ms: f64, cart_ms: f64) -> ServicesPartial {
    set(
        10,
        &[
            (own("f", true), vec![5.0; 10], 0.0),
            (edge("f", "cart"), vec![wait_ms; 10], reply_ms),
            (own("cart", false), vec![cart_ms; 10], 0.0),
        ],
    )
}

fn find<'a>(report: &'a ServicesReport, service: &str) -> &'a ServiceChange {
    report.services.iter().find(|row| row.service == service).unwrap()
}

fn is_near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 0.001 * expected.abs().max(1.0), "{found} instead of {expected}");
}

#[test]
fn one_slow_call_is_the_callees_and_all_slow_calls_are_the_callers() {
    let a = shop(&[("cart", 2), ("pay", 2)]);
    let report = ServicesReport::of(&a, &shop(&[("cart", 52), ("pay", 2)]));
    let cart = report.culprit().unwrap();
    assert_eq!(
        (cart.service.as_str(), cart.rank, cart.certainty()),
        ("cart", Some(1), Some(Certainty::Certain))
    );
    is_near(cart.incoming.excess_us, 50_000.0);
    // C = 0.112; f and pay did not change: rho^2 = 0.5 / 4; V = 0.252 + 0.5.
    is_near(cart.incoming.uncertainty_us, 1734.4);
    is_near(cart.score_us, 49_939.8);
    assert_eq!((find(&report, "pay").score_us, find(&report, "f").score_us), (0.0, 0.0));
    is_near(report.mean_us[1] - report.mean_us[0], 50_000.0);
    is_near(report.mix_us, 0.0);
    let lead = cart.lead.as_ref().unwrap();
    assert_eq!(
        (lead.part, lead.per_call_us, lead.calls, lead.is_whole),
        (ServicePart::In, [2000.0, 52_000.0], [10, 10], false)
    );
    assert_eq!((lead.slower, &lead.slower_callees, &lead.only_caller), (Some(1.0), &None, &None));
    assert_eq!((cart.places[0].other.as_deref(), cart.places[0].operation.as_str()), (Some("f"), "ask"));

    let report = ServicesReport::of(&a, &shop(&[("cart", 52), ("pay", 52)]));
    let first = report.culprit().unwrap();
    assert_eq!(first.service, "f");
    is_near(first.outgoing.excess_us, 100_000.0);
    assert_eq!((find(&report, "cart").score_us, find(&report, "pay").score_us), (0.0, 0.0));
    assert_eq!(first.lead.as_ref().unwrap().slower_callees, Some(Vec::new()));
}

#[test]
fn ten_places_are_listed_and_all_are_counted() {
    let slow = |ms: f64| {
        let mut cells = vec![(own("f", true), vec![5.0; 10], 0.0)];
        for operation in 0..12 {
            let entry = Endpoint::new("f", format!("work {operation}"));
            cells.push((CellKey::Own { entry, makes_calls: false }, vec![ms; 10], 0.0));
        }
        set(10, &cells)
    };
    let report = ServicesReport::of(&slow(2.0), &slow(50.0));
    let first = &report.services[0];
    // Those twelve and where the service is entered.
    assert_eq!((first.places.len(), first.places_in_all), (10, 13));
}

#[test]
fn what_did_not_change_is_below_what_did_and_above_what_got_faster() {
    let a = shop(&[("faster", 60), ("same", 3), ("slower", 4)]);
    let report = ServicesReport::of(&a, &shop(&[("faster", 2), ("same", 4), ("slower", 54), ("new", 23)]));
    let order: Vec<(&str, Option<u32>)> =
        report.services.iter().map(|row| (row.service.as_str(), row.rank)).collect();
    // Of what is not significant, `same` is nearest to it. Calls of others say that those of `new` are as usual.
    assert_eq!(
        order,
        [("slower", Some(1)), ("same", Some(2)), ("f", Some(3)), ("faster", Some(4)), ("new", None)]
    );
    let same = ServicesReport::of(&a, &a);
    assert!(same.culprit().is_none() && same.services.iter().all(|row| row.score_us == 0.0));
}

/// Nobody called `new` before: what all calls between services took stands in, with the spread of single calls.
#[test]
fn calls_that_are_new_are_compared_with_those_by_others() {
    let a = shop(&[("cart", 3), ("pay", 4)]);
    let report = ServicesReport::of(&a, &shop(&[("cart", 3), ("pay", 4), ("new", 3000)]));
    let new = &report.services[0];
    assert_eq!((new.service.as_str(), new.rank, new.may_be_chance), ("new", Some(1), true));
    assert_eq!(new.certainty(), Some(Certainty::Weak));
    is_near(new.incoming.excess_us, 2_996_500.0);
    assert!(report.culprit().is_none(), "nothing of the same kind says what is usual");
}

#[test]
fn one_caller_and_one_callee_are_distinguished_by_the_reply_and_the_own_work() {
    let a = front(2.0, 1.0, 4.0);
    let report = ServicesReport::of(&a, &front(52.0, 1.0, 4.0));
    let first = report.culprit().unwrap();
    let lead = first.lead.as_ref().unwrap();
    assert_eq!((first.service.as_str(), lead.part), ("f", ServicePart::Out));
    assert_eq!(lead.only_callee.as_deref(), Some("cart"));
    is_near(first.outgoing.excess_us, 50_000.0);
    is_near(first.outgoing.uncertainty_us, 1917.0);
    is_near(first.score_us, 49_927.0);

    let report = ServicesReport::of(&a, &front(52.0, 50.0, 4.0));
    let first = report.culprit().unwrap();
    let lead = first.lead.as_ref().unwrap();
    assert_eq!((first.service.as_str(), lead.part), ("cart", ServicePart::In));
    assert_eq!((lead.only_caller.as_deref(), &lead.only_callee), (Some("f"), &None));
    is_near(first.score_us, 49_927.0);

    let report = ServicesReport::of(&a, &front(52.0, 1.0, 24.0));
    let first = report.culprit().unwrap();
    assert_eq!(first.service, "cart");
    is_near(first.own.excess_us, 20_000.0);
    is_near(first.own.uncertainty_us, 3834.0);
    is_near(first.score_us, 69_192.0);

    // Sums of a file that has no reply sides.
    let coarse = ServicesPartial { is_coarse: true, ..a };
    for b in [front(52.0, 1.0, 4.0), front(52.0, 50.0, 4.0)] {
        assert_eq!(ServicesReport::of(&coarse, &b).culprit().unwrap().service, "cart");
    }
}

fn narrow(ms: f64) -> Vec<f64> {
    (0..1000).map(|i| ms * (1.0 + 0.02 * (f64::from(i % 5) - 2.0))).collect()
}

fn wide(ms: f64) -> Vec<f64> {
    (0..1000).map(|i| ms * (0.1 + 1.8 * f64::from(i) / 999.0)).collect()
}

#[test]
fn what_moved_as_a_whole_is_no_drift() {
    let of = |values: fn(f64) -> Vec<f64>, ms: f64| {
        set(
            1000,
            &[
                (own("f", true), values(60.0), 0.0),
                (edge("f", "cart"), vec![0.2; 1000], 0.1),
                (own("cart", false), values(ms), 0.0),
            ],
        )
    };
    let report = ServicesReport::of(&of(narrow, 30.0), &of(narrow, 42.0));
    let first = report.culprit().unwrap();
    assert_eq!((first.service.as_str(), first.lead.as_ref().unwrap().is_whole), ("cart", true));
    is_near(first.own.excess_us, 12_000.0);
    is_near(first.own.uncertainty_us, 3005.0);
    is_near(first.score_us, 11_248.0);

    let report = ServicesReport::of(&of(wide, 30.0), &of(wide, 42.0));
    assert!(report.services.iter().all(|row| !row.is_significant()));
    let cart = find(&report, "cart");
    is_near(cart.own.uncertainty_us, 24_628.0);
    assert!((cart.lead.as_ref().unwrap().slower.unwrap() - 0.29).abs() < 0.05);
}

#[test]
fn one_slow_call_of_a_hundred_is_chance() {
    let of = |last: f64| {
        let mut values = vec![1.0; 99];
        values.push(last);
        set(100, &[(own("cart", false), values, 0.0)])
    };
    let report = ServicesReport::of(&of(1.0), &of(201.0));
    let cart = find(&report, "cart");
    is_near(cart.own.excess_us, 2000.0);
    is_near(cart.own.uncertainty_us, 6170.0);
    assert_eq!(cart.score_us, 0.0);
}

#[test]
fn services_that_are_all_slower_are_slower_in_proportion() {
    let of = |ms: [f64; 4]| {
        let cells = ["a", "b", "c", "d"].into_iter().zip(ms);
        let cells: Vec<CellValues> =
            cells.map(|(service, ms)| (own(service, false), wide(ms), 0.0)).collect();
        set(1000, &cells)
    };
    let report = ServicesReport::of(&of([10.0; 4]), &of([15.0; 4]));
    let alike = report.in_proportion.unwrap();
    assert_eq!((alike.slower, alike.services), (4, 4));
    [alike.growth, alike.least, alike.most].into_iter().for_each(|growth| is_near(growth, 0.5));
    assert!(report.culprit().is_none());

    // One that is slower by far more than the others explains it.
    let report = ServicesReport::of(&of([10.0; 4]), &of([15.0, 15.0, 15.0, 90.0]));
    assert!(report.in_proportion.is_none());
    assert_eq!(report.culprit().unwrap().service, "d");
    // Two are no proportion.
    let report = ServicesReport::of(&of([10.0; 4]), &of([15.0, 15.0, 10.0, 10.0]));
    assert!(report.in_proportion.is_none());
}

#[test]
fn a_side_without_requests_has_no_verdict() {
    let (a, none) = (front(2.0, 1.0, 4.0), ServicesPartial::default());
    let report = ServicesReport::of(&a, &none);
    assert!(report.services.is_empty() && report.culprit().is_none());
    let report = ServicesReport::of(&none, &a);
    assert!(report.culprit().is_none() && report.services.iter().all(|row| row.rank.is_none()));
}

/// A set against itself, or against another window of the same, was called faster or slower by whatever its mean moved.
#[test]
fn a_change_of_the_mean_within_its_interval_is_no_change() {
    let side = |latencies_ms: [u64; 6]| {
        let mut part = ServicesPartial { requests: Weights::of_ones(6), ..ServicesPartial::default() };
        latencies_ms.iter().for_each(|ms| part.latency_us.add(1000 * ms, Weight::ONE));
        part
    };
    let a = side([30, 31, 33, 35, 38, 60]);
    let change = |b: &ServicesPartial| ServicesReport::of(&a, b).mean_change();
    assert_eq!(change(&a), Ordering::Equal);
    assert_eq!(change(&side([31, 31, 32, 36, 38, 66])), Ordering::Equal);
    assert_eq!(change(&side([130, 131, 133, 135, 138, 160])), Ordering::Greater);
    assert_eq!(change(&side([3, 3, 3, 3, 3, 6])), Ordering::Less);
    // Without squares nothing is known of chance.
    let coarse = ServicesPartial { is_coarse: true, ..side([31, 31, 32, 36, 38, 66]) };
    assert_eq!((change(&coarse), ServicesReport::of(&a, &coarse).change_us), (Ordering::Greater, None));
}
