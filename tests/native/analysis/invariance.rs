//! Every analysis of requests gives the same report for any order of spans and any number of workers.

use crate::common::random::{any_traces, sets_of, shuffled};
use pathlight::analysis::critical_path::{Band, ColumnOrder, Filter, Scope, SplitOf, Subject};
use pathlight::query::Request;
use pathlight::query::native::Pool;
use proptest::prelude::*;

fn requests() -> Vec<Request> {
    let roots = Scope::default();
    let endpoint = |name: &str| Scope {
        subject: Subject::Endpoint { service: name.to_owned(), operation: name.to_owned() },
        ..Scope::default()
    };
    let (bulk, tail) =
        (Band { lo: 0, hi: 50_000, closed: false }, Band { lo: 50_000, hi: 100_000, closed: false });
    let filtered = Scope { filters: vec![Filter::HasError], ..endpoint("b") };
    let of_row = ColumnOrder::Row { service: "c".to_owned(), operation: "c".to_owned() };
    let columns = |columns, order| Request::Heatmap { scope: roots.clone(), band: Band::ALL, columns, order };
    let split =
        |of, key: &str| Request::Split { scope: roots.clone(), band: Band::ALL, of, key: key.to_owned() };
    vec![
        Request::Compare {
            a: roots.clone(),
            band_a: Band::ALL,
            b: Scope { group: 1, ..roots.clone() },
            band_b: Band::ALL,
        },
        Request::Compare { a: roots.clone(), band_a: bulk, b: roots.clone(), band_b: tail },
        Request::Endpoints { scope: roots.clone(), band: tail },
        Request::Endpoints { scope: filtered.clone(), band: Band::ALL },
        Request::BottomUp { scope: roots.clone(), band: Band::ALL },
        Request::BottomUp { scope: endpoint("b"), band: bulk },
        Request::Histograms { scope: roots.clone(), band: tail },
        Request::Errors { scope: roots.clone(), band: Band::ALL },
        Request::Errors { scope: endpoint("b"), band: tail },
        Request::Histograms { scope: filtered.clone(), band: Band::ALL },
        split(SplitOf::Latency, "zone"),
        split(SplitOf::Endpoint { service: "c".to_owned(), operation: "c".to_owned() }, "zone"),
        Request::Proposals { scope: roots.clone(), band: tail, of: SplitOf::Latency },
        columns(3, ColumnOrder::Latency),
        columns(1000, ColumnOrder::Start),
        columns(4, of_row.clone()),
        Request::Heatmap { scope: endpoint("a"), band: tail, columns: 2, order: of_row },
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn neither_order_nor_workers_change_a_report(
        spans in any_traces(80), seed in any::<u64>(), workers in 1usize..5
    ) {
        let mut one = Pool::of(sets_of(&spans, 1)).unwrap();
        let mut many = Pool::of(sets_of(&shuffled(&spans, seed), workers)).unwrap();
        for request in requests() {
            prop_assert_eq!(one.ask(request.clone()).unwrap(), many.ask(request.clone()).unwrap(), "{:?}", request);
        }
    }
}
