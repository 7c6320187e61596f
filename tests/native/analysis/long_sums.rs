//! Sums over more spans of nearly ten years than 64 bits hold.

use crate::common::{Span, set_of, span, times};
use pathlight::engine::diagnosis::DiagnosisSettings;
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::engine::summaries::{Choice, Summary, SummarySettings, read, write};
use pathlight::trace::{LONGEST_US, TraceSet};
use pathlight::view::flame::chart::{FlameTree, endpoint_rows};
use pathlight::view::json;
use pathlight::view::reading::quality;

/// In 2001.
const START_US: u64 = 1_000_000_000_000_000;
const LONG_US: u64 = LONGEST_US - 1;
const SHORT_US: u64 = LONG_US - 1_000;
const N: u64 = 60_000;
/// Sums over all requests: of their latencies, and of what the call takes in each.
const WHOLE_US: u128 = N as u128 * LONG_US as u128;
const CALLS_US: u128 = N as u128 * SHORT_US as u128;

/// Returns requests of `shop`, each of which calls `db`, which fails.
fn requests(numbers: std::ops::Range<u64>) -> TraceSet {
    let request = |number: u64| {
        let trace = u128::from(number) + 1;
        let shop = span(1, 0, "shop", START_US, START_US + LONG_US);
        let db = span(2, 1, "db", START_US, START_US + SHORT_US);
        [Span { trace, ..shop }, Span { trace, error: true, ..db }]
    };
    set_of(&numbers.flat_map(request).collect::<Vec<_>>())
}

fn pool() -> NativePool {
    NativePool::of(vec![requests(0..N / 2), requests(N / 2..N)]).unwrap()
}

#[test]
fn sums_over_requests_are_exact_beyond_64_bits() {
    assert!(CALLS_US > u128::from(u64::MAX));
    let (mut pool, selection) = (pool(), Selection::default());
    let overview = pool.run(queries::Overview::default()).unwrap();
    assert_eq!(overview.quality.span_us, WHOLE_US + CALLS_US);
    assert_eq!(overview.most_time[0], "db");

    let path = pool.run(queries::CriticalPath { selection: selection.clone() }).unwrap();
    assert_eq!((path.facts.latency_sum_us, path.facts.coverage.span_us), (WHOLE_US, WHOLE_US + CALLS_US));
    let [shop, db] = &path.nodes[..] else { panic!("{:?}", path.nodes) };
    assert_eq!((shop.exclusive_us.sum, shop.inclusive_us.sum), (WHOLE_US - CALLS_US, WHOLE_US));
    assert_eq!((shop.subtree_us, db.exclusive_us.sum), (WHOLE_US, CALLS_US));
    assert_eq!(db.exclusive_us.mean, SHORT_US as f64);
    assert!(json::critical_path(&path).unwrap().contains(&format!("\"latency_sum_us\": {WHOLE_US}")));
    let tree = FlameTree::of_report(&path);
    assert_eq!((tree.share(0), tree.time_of(0)), (1.0, WHOLE_US));
    assert_eq!(endpoint_rows(&path)[0].exclusive_us, CALLS_US);

    let endpoints = pool.run(queries::Endpoints { selection: selection.clone() }).unwrap();
    assert_eq!(
        (endpoints.rows[0].exclusive_us.sum, endpoints.rows[0].chains[0].exclusive_us),
        (CALLS_US, CALLS_US)
    );
    let ranked = pool.run(queries::Impact { selection: selection.clone() }).unwrap();
    assert_eq!((ranked.rows[0].exclusive_us, ranked.roots[0].latency_us), (CALLS_US, WHOLE_US));
    let order = Default::default();
    let map = pool.run(queries::Heatmap { selection: selection.clone(), columns: 1, order }).unwrap();
    assert_eq!((map.cell_us, map.column_latency_us), (vec![CALLS_US, WHOLE_US - CALLS_US], vec![WHOLE_US]));
    let errors = pool.run(queries::Errors { selection: selection.clone() }).unwrap();
    assert_eq!((errors.totals.work_us, errors.totals.work_saved_us), (WHOLE_US + CALLS_US, CALLS_US));
    assert_eq!((errors.rows[0].path_us, errors.nodes[0].subtree_us), (CALLS_US, CALLS_US));
    let settings = DiagnosisSettings::default();
    let diagnosis = pool.run(queries::Diagnosis { selection: selection.clone(), settings }).unwrap();
    assert_eq!(diagnosis.report[0].total_us, CALLS_US);
    let compared = pool.run(queries::Compare { a: selection.clone(), b: selection }).unwrap();
    assert_eq!((compared.nodes[1].a.exclusive.sum(), compared.a.facts.latency_sum_us), (CALLS_US, WHOLE_US));
}

#[test]
fn sums_of_summaries_are_exact_beyond_64_bits() {
    let summary = |set: &TraceSet| {
        let file = write(&Summary::observe(set, &SummarySettings::default())).unwrap();
        read(&file).unwrap()
    };
    let merged = Summary::merge(summary(&requests(0..N / 2)), summary(&requests(N / 2..N))).unwrap();
    // In one piece, too.
    for summary in [read(&write(&merged).unwrap()).unwrap(), summary(&requests(0..N))] {
        let choice = Choice::default();
        let path = summary.critical_path(&choice).unwrap();
        assert_eq!((path.facts.latency_sum_us, path.nodes[0].subtree_us), (WHOLE_US, WHOLE_US));
        assert_eq!(path.nodes[1].exclusive_us.sum, CALLS_US);
        assert_eq!(path.facts.latency_us.mean, LONG_US as f64);
        assert_eq!(summary.endpoints(&choice).unwrap().rows[0].exclusive_us.sum, CALLS_US);
        assert_eq!(summary.bottom_up(&choice).unwrap().roots[0].latency_us, WHOLE_US);
        let errors = summary.errors(&choice).unwrap();
        assert_eq!((errors.totals.work_us, errors.rows[0].path_us), (WHOLE_US + CALLS_US, CALLS_US));
        let diagnosis = summary.diagnosis(&choice, &DiagnosisSettings::default()).unwrap();
        assert_eq!(diagnosis.report[0].total_us, CALLS_US);
        let services = summary.services(None).unwrap();
        assert_eq!(services.services().map(|of| of.own_us).max(), Some(CALLS_US));
    }
}

#[test]
fn one_request_with_more_time_than_64_bits_is_said_to_be_inexact_and_breaks_nothing() {
    let mut spans = vec![span(1, 0, "shop", START_US, START_US + LONG_US)];
    spans.extend((0..N).map(|number| span(number + 2, 1, "db", START_US, START_US + SHORT_US)));
    times::check_sets(|| set_of(&spans));
    let query = queries::Overview::default();
    let overview = NativePool::of(vec![set_of(&spans)]).unwrap().run(query).unwrap();
    assert_eq!(overview.quality.span_us, u128::from(LONG_US) + CALLS_US);
    assert!(quality::facts(&overview).iter().any(|note| note.key == "time-sums"));
}
