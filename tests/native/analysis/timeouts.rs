//! Timeouts of calls, against traces that were made with them.

use super::flow_queries::{chosen_endpoints, pool, quantiles, what_if};
use crate::common::generated;
use pathlight::base::statistics::Percentiles;
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{CallTarget, Changes, TimeoutReport};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{GenerateOptions, Generator, GiveUp};
use pathlight::trace::Endpoint;
use std::collections::BTreeSet;

/// Returns what the calls of an endpoint take in the traces of these options.
fn call_latencies(options: &GenerateOptions, service: &str, operation: &str) -> Vec<u64> {
    let set = generated(options);
    let endpoint = set.find_endpoint(service, operation).unwrap();
    let rows = (0..set.spans() as u32).filter(|row| set.endpoint(*row) == endpoint);
    rows.map(|row| set.duration_us(row)).collect()
}

/// Asks what a timeout of calls cuts, by all requests.
fn ask(pool: &mut NativePool, of: CallTarget, timeout_us: Option<u64>) -> TimeoutReport {
    let (selection, settings) = (Selection::default(), FlowSettings::default());
    pool.run(queries::Timeout { selection, baseline: None, settings, of, timeout_us }).unwrap()
}

#[test]
fn a_timeout_is_what_regenerated_traces_show_at_20_random_places() {
    // Failing fast, and retried.
    let (mut worst, mut effective, mut checked) = ([0f64; 2], [0; 2], [0; 2]);
    let mut missed = [Vec::new(), Vec::new()];
    for (options, service, operation) in chosen_endpoints() {
        let mut before = pool(&options);
        let of = CallTarget::Endpoint(Endpoint::new(&service, &operation));
        let mut timeout = |timeout_us| ask(&mut before, of.clone(), timeout_us);
        let suggested = timeout(None);
        assert!(suggested.calls > 0 && suggested.timeout_us == suggested.suggested_us);
        assert!(1_000 * suggested.cut_calls <= suggested.calls, "{suggested:?}");
        let retries_us = call_latencies(&options, &service, &operation);
        for of in [|calls: &Percentiles| calls.p50, |calls: &Percentiles| calls.p95] {
            let after_us = of(&suggested.call_latency_us).ceil() as u64;
            let report = timeout(Some(after_us));
            assert!(report.cut_calls > 0 && report.cut_requests <= report.cut_calls.min(report.requests));
            assert!(report.retry_us <= after_us);
            // A retry costs time that failing fast does not.
            assert!(report.retried_us.mean >= report.failing_fast_us.mean);
            let endpoint = format!("{service}:{operation}");
            for (at, predicted) in [&report.failing_fast_us, &report.retried_us].into_iter().enumerate() {
                let retries_us = if at == 0 { Vec::new() } else { retries_us.clone() };
                let given_up = GiveUp { endpoint: endpoint.clone(), after_us, retries_us };
                let given_up = GenerateOptions { timeouts: vec![given_up], ..options.clone() };
                let really = what_if(&mut pool(&given_up), Changes::default()).before_us;
                effective[at] += usize::from((really.mean / report.latency_us.mean - 1.0).abs() > 0.001);
                for (predicted, actual) in quantiles(predicted).into_iter().zip(quantiles(&really)) {
                    let away = (predicted / actual - 1.0).abs();
                    worst[at] = worst[at].max(away);
                    checked[at] += 1;
                    if away >= 0.05 {
                        missed[at]
                            .push(format!("{endpoint} {after_us}: predicted {predicted}, really {actual}"));
                    }
                }
            }
        }
    }
    for (at, name) in ["failing fast", "retried"].into_iter().enumerate() {
        let (percent, missed) = (100.0 * worst[at], &missed[at]);
        println!("{name}: worst of {} quantiles {percent:.2} %, {} missed", checked[at], missed.len());
        println!("{} of 40 change the mean\n{}", effective[at], missed.join("\n"));
    }
    assert_eq!(checked, [120, 120]);
    assert!(missed[0].is_empty(), "{missed:#?}");
    // Where the request is little more than that call, and few of the requests have a second one, chance decides much of it.
    assert!(missed[1].len() <= 5 && missed[1].iter().all(|miss| miss.contains("chain-")), "{missed:#?}");
    assert!(worst[1] < 0.2, "{worst:?}");
    assert!(effective.iter().all(|&effective| effective >= 15), "{effective:?}");
}

#[test]
fn a_timeout_of_all_calls_into_a_service_is_what_regenerated_traces_show() {
    // Failing fast, and retried.
    let (mut worst, mut effective, mut checked) = ([0f64; 2], [0; 2], [0; 2]);
    for (at, service) in ["auth", "user-profile", "catalog", "pricing", "search"].into_iter().enumerate() {
        let options = GenerateOptions { traces: 400, seed: 11 + at as u64, ..GenerateOptions::default() };
        let into = format!("->{service}:");
        let places = Generator::new(&options).unwrap().places();
        let callers: BTreeSet<(&str, &str)> = places
            .iter()
            .filter(|place| place.name.contains(&into))
            .map(|place| (place.service, place.operation))
            .collect();
        let mut before = pool(&options);
        let of = CallTarget::Service(service.to_owned());
        let mut timeout = |timeout_us| ask(&mut before, of.clone(), timeout_us);
        let mut calls: Vec<u64> = callers
            .iter()
            .filter(|(caller, operation)| generated(&options).find_endpoint(caller, operation).is_some())
            .flat_map(|(caller, operation)| call_latencies(&options, caller, operation))
            .collect();
        calls.sort_unstable();
        let suggested = timeout(None);
        assert_eq!((suggested.calls as usize, suggested.operation), (calls.len(), None), "{service}");
        assert_eq!(Some(suggested.call_latency_us.max), calls.last().copied());
        for of in [|calls: &Percentiles| calls.p50, |calls: &Percentiles| calls.p95] {
            let after_us = of(&suggested.call_latency_us).ceil() as u64;
            let report = timeout(Some(after_us));
            for (at, predicted) in [&report.failing_fast_us, &report.retried_us].into_iter().enumerate() {
                let retries_us = if at == 0 { Vec::new() } else { calls.clone() };
                let given_up = callers.iter().map(|(caller, operation)| GiveUp {
                    endpoint: format!("{caller}:{operation}"),
                    after_us,
                    retries_us: retries_us.clone(),
                });
                let given_up = GenerateOptions { timeouts: given_up.collect(), ..options.clone() };
                let really = what_if(&mut pool(&given_up), Changes::default()).before_us;
                effective[at] += usize::from((really.mean / report.latency_us.mean - 1.0).abs() > 0.001);
                for (predicted, actual) in quantiles(predicted).into_iter().zip(quantiles(&really)) {
                    worst[at] = worst[at].max((predicted / actual - 1.0).abs());
                    checked[at] += 1;
                }
            }
        }
    }
    println!("of {checked:?} quantiles the worst are off by {worst:?}; {effective:?} change the mean");
    assert_eq!(checked, [30, 30]);
    assert!(worst[0] < 0.01 && worst[1] < 0.05, "{worst:?}");
    assert!(effective.iter().all(|&effective| effective >= 5), "{effective:?}");
}
