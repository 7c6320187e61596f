//! What calls take then, as it is written; and the cheapest changes that reach a target, against all sets of them.

use super::flow_queries::{pool, what_if};
use crate::common::{set_of, span};
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{ChangeOf, Changes, CheapestReport, PricedChanges, Quantile};
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::generate::GenerateOptions;
use pathlight::view::flow::written;

fn changes(pool: &NativePool, written_as: &[&str]) -> Changes {
    let wanted: Vec<_> = written_as.iter().map(|text| written::change(text).unwrap()).collect();
    let mut changes = Changes::default();
    written::add_times(&mut changes, pool.sessions(), ChangeOf::OwnWork, &wanted).unwrap();
    changes
}

/// Returns twenty requests of `web`: 10 ms, `cart` for 20, 10, `cash` for 30 with `bank` for 20 in it, 10.
fn chain() -> NativePool {
    let of_trace = |trace: u128| {
        let mut spans = vec![
            span(1, 0, "web", 0, 80_000),
            span(2, 1, "cart", 10_000, 30_000),
            span(3, 1, "cash", 40_000, 70_000),
            span(4, 3, "bank", 45_000, 65_000),
        ];
        spans.iter_mut().for_each(|span| span.trace = trace);
        spans
    };
    NativePool::of(vec![set_of(&(1..=20).flat_map(of_trace).collect::<Vec<_>>())]).unwrap()
}

#[test]
fn calls_take_what_is_written_and_their_parents_follow() {
    let mut pool = chain();
    for (written_as, expected_us) in [
        (&["call:cart:cart=5ms"][..], 65_000.0),
        (&["call:cart:cart=50ms"], 110_000.0),
        // Of the 30 ms of own work of `web` 12 are left, and `cash` has 4 ms beside `bank`.
        (&["web:web=12ms"], 62_000.0),
        (&["cash:cash=4ms"], 74_000.0),
        (&["own:web=12ms", "cash:cash=4ms"], 56_000.0),
        (&["cart:cart<=15ms"], 75_000.0),
        (&["cart:cart<=25ms"], 80_000.0),
        (&["in:bank<=5ms", "cart:cart<=15ms"], 60_000.0),
        // `cart` and `cash`, not `bank`: 20 % of 20 and of the 10 of its own; as whole calls of 20 and of 30.
        (&["ca*:ca*=+20%"], 86_000.0),
        (&["call:ca*:*=+20%"], 90_000.0),
        (&["*=-50%"], 40_000.0),
        (&["ca*<=10ms"], 50_000.0),
    ] {
        let changes = changes(&pool, written_as);
        let report = what_if(&mut pool, changes);
        assert_eq!(report.after_us.p50, expected_us, "{written_as:?}");
        assert_eq!(report.before_us.p99, 80_000.0);
    }
    let wrong = written::change("*x:y=-50%").unwrap();
    let into = &mut Changes::default();
    assert!(written::add_times(into, pool.sessions(), ChangeOf::OwnWork, &[wrong]).is_err());
}

fn cheapest(
    pool: &mut NativePool,
    options: &[PricedChanges],
    quantile: Quantile,
    target_us: u64,
) -> CheapestReport {
    let (selection, settings) = (Selection::default(), FlowSettings::default());
    let options = options.to_vec();
    pool.run(queries::Cheapest { selection, baseline: None, settings, quantile, target_us, options }).unwrap()
}

fn options(pool: &NativePool, written_as: &[&str]) -> Vec<PricedChanges> {
    let texts: Vec<String> = written_as.iter().map(|text| (*text).to_owned()).collect();
    written::options(pool.sessions(), &texts).unwrap()
}

#[test]
fn the_cheapest_changes_are_those_of_all_sets() {
    let mut pool = pool(&GenerateOptions { traces: 60, seed: 3, ..GenerateOptions::default() });
    let faster = [
        "own:catalog=-50% costs 2",
        "in:search=-50% costs 3",
        "in:search=usual costs 1",
        "own:pricing=gone costs 2.5",
        "in:catalog<=20ms costs 1",
    ];
    // One of these makes something slower.
    let mixed = [
        "own:storefront=+30% costs 0",
        "in:search=-50% costs 3",
        "own:catalog=-50% costs 2",
        "own:search=2ms costs 1",
    ];
    let mut reached = 0;
    for written_as in [&faster[..], &mixed[..]] {
        let options = options(&pool, written_as);
        // Every set by a what-if of its own.
        let after: Vec<_> = (0..1usize << options.len())
            .map(|set| {
                let of_set = options.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0);
                let changes = of_set.fold(Changes::default(), |all, (_, of)| all.with(&of.changes));
                what_if(&mut pool, changes).after_us
            })
            .collect();
        let cost = |set: usize| -> u64 {
            let of_set = options.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0);
            of_set.map(|(_, of)| of.cost_thousandths).sum()
        };
        for quantile in [Quantile::P50, Quantile::P95] {
            let (before, all) = (quantile.of(&after[0]), quantile.of(&after[after.len() - 1]));
            for share in [-0.1, 0.3, 0.7, 0.99, 1.2] {
                let target_us = (before - share * (before - all)).round() as u64;
                let report = cheapest(&mut pool, &options, quantile, target_us);
                let expected = (0..after.len())
                    .filter(|&set| quantile.of(&after[set]) <= target_us as f64)
                    .min_by_key(|&set| (cost(set), set.count_ones(), set));
                let name = format!("{written_as:?} {} {target_us}", quantile.name());
                assert_eq!((report.before_us, report.all_us), (before, all), "{name}");
                assert!(report.is_exact);
                let chosen: Option<Vec<&str>> =
                    report.chosen.as_ref().map(|all| all.iter().map(|of| of.change.as_str()).collect());
                let names = |set: usize| -> Vec<&str> {
                    let of_set = options.iter().enumerate().filter(|(at, _)| set & (1 << at) != 0);
                    of_set.map(|(_, of)| of.name.as_str()).collect()
                };
                assert_eq!(chosen, expected.map(names), "{name}");
                if let Some(set) = expected {
                    assert_eq!(report.after_us, quantile.of(&after[set]), "{name}");
                    assert_eq!(report.cost, cost(set) as f64 / 1000.0, "{name}");
                    reached += u32::from(set != 0);
                }
            }
        }
    }
    assert!(reached >= 6, "{reached}");
}

#[test]
fn of_more_than_twelve_changes_a_set_is_found_step_by_step_and_said_to_be() {
    let mut pool = chain();
    let calls = ["cart:cart", "cash:cash", "bank:bank", "web:web"];
    let texts: Vec<String> =
        (0..13).map(|n| format!("{}=-{}% costs {}", calls[n % 4], 10 + n, 1 + n % 3)).collect();
    let options = written::options(pool.sessions(), &texts).unwrap();
    let report = cheapest(&mut pool, &options, Quantile::P50, 60_000);
    assert!(!report.is_exact && report.options == 13);
    assert!(report.after_us <= 60_000.0 && report.tried < 150, "{report:?}");
    let chosen = report.chosen.unwrap();
    assert!(chosen.len() >= 2 && chosen.iter().map(|of| of.cost).sum::<f64>() == report.cost);
    let far = cheapest(&mut pool, &options, Quantile::P50, 1_000);
    assert!(far.chosen.is_none() && far.all_us > 1_000.0);
}
