//! How much slower services and calls may become, against traces in which they are.

use crate::common::generated;
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{Changes, HeadroomReport, Quantile, Slower};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{GenerateOptions, Generator, Shape, Speed};
use pathlight::view::flow::headroom::sentence;

fn pool(options: &GenerateOptions) -> NativePool {
    NativePool::of(vec![generated(options)]).unwrap()
}

fn headroom(pool: &mut NativePool, quantile: Quantile, limit_us: u64) -> HeadroomReport {
    let (selection, settings) = (Selection::default(), FlowSettings::default());
    pool.run(queries::Headroom { selection, settings, quantile, limit_us }).unwrap()
}

fn quantile_us(pool: &mut NativePool, quantile: Quantile) -> f64 {
    let (selection, settings) = (Selection::default(), FlowSettings::default());
    let what_if = queries::WhatIf { selection, baseline: None, settings, changes: Changes::default() };
    quantile.of(&pool.run(what_if).unwrap().before_us)
}

/// Returns what makes something so many percent slower when the traces are made.
pub(super) fn speeds(options: &GenerateOptions, of: &Slower, percent: u32) -> Vec<Speed> {
    let share_ppm = 10_000 * percent as i32;
    let service = match of {
        Slower::Calls(of) => {
            let endpoint = format!("{}:{}", of.service, of.operation);
            return vec![Speed { endpoint, share_ppm, is_whole: true }];
        }
        Slower::Service(service) => service,
    };
    // Calls that another service answers have gaps only: what passes outside the answer is not own work.
    let places = Generator::new(options).unwrap().places();
    let own = places.iter().filter(|place| place.service == service && place.subspan.is_some());
    let mut endpoints: Vec<String> = own.map(|place| format!("{service}:{}", place.operation)).collect();
    endpoints.sort();
    endpoints.dedup();
    endpoints.into_iter().map(|endpoint| Speed { endpoint, share_ppm, is_whole: false }).collect()
}

#[test]
fn what_may_become_slower_reaches_the_limit_in_regenerated_traces() {
    let shop = GenerateOptions { traces: 300, seed: 11, ..GenerateOptions::default() };
    let wide = GenerateOptions { shape: Shape::Wide, spans: 40, ..shop.clone() };
    let serial = GenerateOptions { shape: Shape::Serial, ..shop.clone() };
    let (mut checked, mut worst) = ([0, 0], 0f64);
    for (options, quantile, times) in [
        (&shop, Quantile::P95, 1.2),
        (&shop, Quantile::P99, 1.1),
        (&wide, Quantile::P95, 1.3),
        (&serial, Quantile::P99, 1.1),
    ] {
        let mut before = pool(options);
        let limit_us = (times * quantile_us(&mut before, quantile)) as u64;
        let report = headroom(&mut before, quantile, limit_us);
        assert!(
            !report.is_exceeded()
                && report.rows.is_sorted_by_key(|row| row.longer_percent.unwrap_or(u32::MAX))
        );
        for of_service in [true, false] {
            let is_it = |of: &Slower| matches!(of, Slower::Service(_)) == of_service;
            let rows = report
                .rows
                .iter()
                .filter(|row| is_it(&row.of) && row.longer_percent.is_some_and(|it| it > 0));
            for row in rows.take(4) {
                let percent = row.longer_percent.unwrap_or(0);
                let slower = GenerateOptions { speeds: speeds(options, &row.of, percent), ..options.clone() };
                let really = quantile_us(&mut pool(&slower), quantile);
                let away = (really / row.then_us - 1.0).abs();
                worst = worst.max(away);
                assert!(row.then_us <= limit_us as f64, "{row:?}");
                assert!(away < 0.05, "{row:?}: really {really}");
                checked[usize::from(of_service)] += 1;
            }
        }
    }
    println!("{checked:?} calls and services, at worst {:.2} % off", 100.0 * worst);
    assert!(checked[0] + checked[1] >= 20, "{checked:?}");
}

#[test]
fn one_percent_more_than_the_headroom_exceeds_the_limit() {
    let mut pool = pool(&GenerateOptions { traces: 100, seed: 3, ..GenerateOptions::default() });
    let limit_us = (1.25 * quantile_us(&mut pool, Quantile::P95)) as u64;
    let report = headroom(&mut pool, Quantile::P95, limit_us);
    let mut some = 0;
    for row in &report.rows {
        let Some(percent) = row.longer_percent else {
            assert!(row.then_us <= limit_us as f64);
            continue;
        };
        let mut at = |percent| {
            let (selection, settings) = (Selection::default(), FlowSettings::default());
            let changes = row.of.changes(percent);
            let after =
                pool.run(queries::WhatIf { selection, baseline: None, settings, changes }).unwrap().after_us;
            Quantile::P95.of(&after)
        };
        assert!((at(percent) - row.then_us).abs() < 1e-6 && at(percent) <= limit_us as f64, "{row:?}");
        assert!(at(percent + 1) > limit_us as f64, "{row:?}");
        some += 1;
    }
    assert!(some >= 5, "{report:?}");
}

#[test]
fn a_limit_that_is_exceeded_leaves_no_headroom() {
    let mut pool = pool(&GenerateOptions { traces: 50, ..GenerateOptions::default() });
    let report = headroom(&mut pool, Quantile::P99, 1);
    assert!(report.is_exceeded() && report.rows.is_empty());
    let text = sentence(&report);
    assert!(text.contains("there is no headroom"), "{text}");
    let none = headroom(
        &mut NativePool::of(vec![generated(&GenerateOptions { traces: 0, ..GenerateOptions::default() })])
            .unwrap(),
        Quantile::P99,
        1,
    );
    assert_eq!(sentence(&none), "There is no request here.");
    // So far away that nothing reaches it.
    let far = headroom(&mut pool, Quantile::P99, 1 << 50);
    assert!(!far.rows.is_empty() && far.rows.iter().all(|row| row.longer_percent.is_none()));
}
