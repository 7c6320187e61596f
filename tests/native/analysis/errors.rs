//! Errors: a worked example, and what must hold for any traces.

use crate::common::random::{any_traces, sets_of};
use crate::common::{Span, set_of, span};
use pathlight::engine::errors::ErrorsReport;
use pathlight::engine::queries;
use pathlight::engine::requests::Selection;
use pathlight::engine::run::native::NativePool;
use pathlight::trace::SpanKind;
use pathlight::view::{errors as error_view, json};
use proptest::prelude::*;

fn errors(pool: &mut NativePool, selection: Selection) -> ErrorsReport {
    pool.run(queries::Errors { selection }).unwrap()
}

/// Makes a trace: a gateway asks a shop [10,90], which asks a stock [20,40], in error, beside a cache [20,30], in error
/// too, and then a bank [50,80] with a card [60,70] that fails through it: own, own off the path, propagated and own.
fn shop(trace: u128, bank_fails: bool) -> Vec<Span> {
    let mut spans = vec![
        span(1, 0, "gateway", 0, 100),
        span(2, 1, "shop", 10, 90),
        span(3, 2, "stock", 20, 40),
        span(4, 2, "cache", 20, 30),
        span(5, 2, "bank", 50, 80),
        span(6, 5, "card", 60, 70),
        span(7, 1, "log", 95, 130),
    ];
    spans.iter_mut().for_each(|s| s.trace = trace);
    spans[6].follows_from = true;
    spans[6].error = true;
    (spans[2].error, spans[3].error) = (true, true);
    (spans[4].error, spans[5].error) = (bank_fails, bank_fails);
    spans
}

#[test]
fn errors_start_pass_on_and_stop_where_they_do() {
    let mut spans = shop(1, true);
    let healthy = vec![span(1, 0, "gateway", 0, 50), span(2, 1, "shop", 0, 50)];
    spans.extend(healthy.into_iter().map(|s| Span { trace: 2, ..s }));
    let report = errors(&mut NativePool::of(vec![set_of(&spans)]).unwrap(), Selection::default());

    let totals = report.totals;
    assert_eq!((report.facts.requests, totals.requests, totals.failed_requests), (2, 1, 0));
    assert_eq!((totals.own, totals.propagated, totals.stopped), (4, 1, 2));
    // Work is what is waited for: the log is not.
    assert_eq!(
        (totals.work_us, totals.work_saved_us),
        (100 + 80 + 20 + 10 + 30 + 10 + 50 + 50, 20 + 10 + 30 + 10)
    );
    // Without errors the shop returns after 30 us: gaps of 10 before the stock, the bank and its return.
    assert_eq!((totals.saved_us, totals.inside_us, totals.failed_us), (50, 50, 0));
    assert_eq!((report.without_us.p50, report.without_us.max), (50.0, 50));

    let rows: Vec<_> = (report.rows.iter())
        .map(|r| (report.name(r.endpoint).0, r.own, r.propagated, r.stopped, r.path_error_us, r.saved_us))
        .collect();
    assert_eq!(
        rows,
        [
            ("cache", 1, 0, 0, 0, 0),
            ("card", 1, 0, 0, 10, 10),
            ("log", 1, 0, 0, 0, 0),
            // The bank waits for the cache as well.
            ("stock", 1, 0, 0, 20, 10),
            ("bank", 0, 1, 0, 20, 30),
            ("gateway", 0, 0, 1, 0, 0),
            ("shop", 0, 0, 1, 0, 0),
        ]
    );
    let shop = report.rows.last().unwrap();
    assert_eq!((shop.path_us, shop.without_path_us, shop.path_spans, shop.path_errors), (80, 80, 2, 0));
    assert_eq!(report.rows[1].example.as_ref().unwrap().latency_us, 100);
    assert_eq!(report.rows[4].path_share(), Some(1.0));

    let nodes: Vec<_> = (report.nodes.iter())
        .map(|n| {
            (
                report.name(n.endpoint).0,
                n.parent.map(|at| at.0),
                n.own,
                n.propagated,
                n.error_us,
                n.subtree_us,
            )
        })
        .collect();
    assert_eq!(
        nodes,
        [
            ("gateway", None, 0, 0, 0, 50),
            ("shop", Some(0), 0, 0, 0, 50),
            ("bank", Some(1), 0, 1, 20, 30),
            ("card", Some(2), 1, 0, 10, 10),
            ("stock", Some(1), 1, 0, 20, 20),
        ]
    );
    assert_eq!(
        report.to_folded().unwrap(),
        "[gateway] gateway;[shop] shop;[bank] bank 20\n\
         [gateway] gateway;[shop] shop;[bank] bank;[card] card 10\n\
         [gateway] gateway;[shop] shop;[stock] stock 20\n"
    );
    assert!(json::errors(&report).is_ok());
    assert!(error_view::sentences(&report)[0].starts_with("Requests with errors: 1 of 2"));
}

#[test]
fn a_request_whose_root_fails_is_saved_as_a_whole() {
    let mut spans = shop(1, false);
    spans[0].error = true;
    let report = errors(&mut NativePool::of(vec![set_of(&spans)]).unwrap(), Selection::default());
    assert_eq!(
        (report.totals.failed_requests, report.totals.failed_us, report.totals.saved_us),
        (1, 100, 100)
    );
    assert_eq!((report.without_us.max, report.totals.inside_us), (0, 100));
    assert!(report.rows.iter().all(|row| row.without_path_us == 0));
}

#[test]
fn without_errors_there_is_nothing_to_say() {
    let report =
        errors(&mut NativePool::of(vec![set_of(&[span(1, 0, "R", 0, 9)])]).unwrap(), Selection::default());
    assert_eq!((report.totals.requests, report.totals.saved_us, report.nodes.len()), (0, 0, 0));
    assert_eq!(error_view::sentences(&report), ["No errors among 1 request."]);
    assert_eq!((report.rows[0].path_us, report.rows[0].without_path_us), (9, 9));
}

#[test]
fn endpoints_that_are_not_tried_alone_are_counted_and_said() {
    // 70 calls one after the other, of endpoints of their own, all in error: the 64 with the most time are tried.
    let names: Vec<String> = (0..70).map(|i| format!("e{i:02}")).collect();
    let mut spans = vec![span(1, 0, "A", 0, 100_000)];
    let mut at = 0;
    for (name, i) in names.iter().zip(0u64..) {
        spans.push(Span { error: true, ..span(2 + i, 1, name, at, at + 100 + i) });
        at += 200 + i;
    }
    let report = errors(&mut NativePool::of(vec![set_of(&spans)]).unwrap(), Selection::default());
    let left: Vec<(&str, u64)> = report
        .untried
        .endpoints
        .iter()
        .map(|(name, requests)| (name.operation.as_str(), *requests))
        .collect();
    assert_eq!(report.untried.requests, 1);
    assert_eq!(left, [("e00", 1), ("e01", 1), ("e02", 1), ("e03", 1), ("e04", 1), ("e05", 1)]);
    assert!(report.rows.iter().all(|row| (row.saved_us == 0)
        == (row.own == 0 || left.iter().any(|l| l.0 == report.name(row.endpoint).1))));
    let said = error_view::sentences(&report).join(" ");
    assert!(
        said.contains("In 1 request more than 64 endpoints have errors") && said.contains("6 endpoints"),
        "{said}"
    );
    let value: serde_json::Value = serde_json::from_str(&json::errors(&report).unwrap()).unwrap();
    assert_eq!(value["untried_requests"], 1);
    let row = value["endpoints"].as_array().unwrap().iter().find(|row| row["operation"] == "e00").unwrap();
    assert_eq!(row["untried_requests"], 1);
}

#[test]
fn a_long_chain_and_a_wide_fan_of_errors_are_no_trouble() {
    let n = 20_000;
    let chain = (0..n).map(|i| Span { error: i > n / 2, ..span(i + 1, i, "deep", i, 3 * n - i) });
    let fan = (0..n).map(|i| {
        let (start, end) = if i == 0 { (0, 3 * n) } else { (3 * i, 3 * i + 2) };
        // Every operation is another, as where ids stand in names.
        let name = format!("op{i}");
        Span { trace: 2, error: i > 0, ..span(i + 1, u64::from(i > 0), &name, start, end.min(3 * n)) }
    });
    let spans: Vec<Span> = chain.chain(fan).collect();
    let report = errors(&mut NativePool::of(vec![set_of(&spans)]).unwrap(), Selection::default());
    assert_eq!(report.totals.own, n);
    assert_eq!(report.totals.saved_us, u128::from((3 * n - 2 * (n / 2 + 1)) + 2 * (n - 1)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn sums_agree_and_nothing_gets_longer(spans in any_traces(80)) {
        let mut pool = NativePool::of(sets_of(&spans, 1)).unwrap();
        let report = errors(&mut pool, Selection::default());
        let totals = report.totals;
        let sum = |of: fn(&pathlight::engine::errors::ErrorRow) -> u64| report.rows.iter().map(of).sum::<u64>();
        prop_assert_eq!((sum(|r| r.own), sum(|r| r.propagated), sum(|r| r.stopped)), (totals.own, totals.propagated, totals.stopped));
        let time = |of: fn(&pathlight::engine::errors::ErrorRow) -> u128| report.rows.iter().map(of).sum::<u128>();
        prop_assert_eq!(time(|r| r.path_us), report.facts.latency_sum_us);
        prop_assert_eq!(time(|r| r.without_path_us), report.facts.latency_sum_us - totals.saved_us);
        prop_assert!(totals.failed_us <= totals.saved_us && totals.saved_us <= report.facts.latency_sum_us);
        prop_assert!(report.rows.iter().all(|r| r.saved_us <= totals.saved_us));
        prop_assert_eq!(report.nodes.iter().map(|n| n.error_us).sum::<u128>(), time(|r| r.path_error_us));
        prop_assert!(time(|r| r.path_error_us) <= totals.inside_us);
        prop_assert!(report.nodes.iter().all(|n| n.subtree_errors > 0));
    }
}

#[test]
fn kinds_do_not_matter_to_the_counterfactual() {
    let mut spans = shop(1, true);
    spans.iter_mut().for_each(|s| s.kind = SpanKind::Server);
    let report = errors(&mut NativePool::of(vec![set_of(&spans)]).unwrap(), Selection::default());
    assert_eq!(report.totals.saved_us, 50);
}
