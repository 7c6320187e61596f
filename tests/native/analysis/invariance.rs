//! Every analysis of requests gives the same report for any order of spans and any number of workers.

use crate::cases::{Case, case};
use crate::common::random::{any_reading, any_traces, sets_of, shuffled};
use pathlight::engine::heatmap::{ColumnOrder, WAITING};
use pathlight::engine::queries;
use pathlight::engine::requests::{Filter, PercentileRange, RootEndpoint, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::split::SplitOf;
use pathlight::trace::{Endpoint, Reading};
use proptest::prelude::*;

fn cases(reading: Reading) -> Vec<Case> {
    let roots = Selection { reading, ..Selection::default() };
    let endpoint =
        |name: &str| Selection { root: RootEndpoint::Endpoint(Endpoint::new(name, name)), ..roots.clone() };
    let (bulk, tail) = (PercentileRange::open(0, 50_000), PercentileRange::open(50_000, 100_000));
    let filtered = Selection { filters: vec![Filter::HasError], ..endpoint("b") };
    let of_row = ColumnOrder::Row(Endpoint::new("c", "c"));
    let columns = |columns, order| queries::Heatmap { selection: roots.clone(), columns, order };
    let by_service = |columns, order| {
        let selection = Selection { by_service: true, ..roots.clone() };
        queries::Heatmap { selection, columns, order }
    };
    let split =
        |of, key: &str| queries::Split { selection: roots.clone(), of, key: key.to_owned(), sum: None };
    vec![
        case(queries::Compare { a: roots.clone(), b: Selection { group: 1, ..roots.clone() } }),
        case(queries::Compare { a: roots.with_range(bulk), b: roots.with_range(tail) }),
        case(queries::Endpoints { selection: roots.with_range(tail) }),
        case(queries::Endpoints { selection: filtered.clone() }),
        case(queries::Findings {
            selection: Selection { group: 1, ..roots.clone() },
            baseline: Some(roots.clone()),
        }),
        case(queries::Findings { selection: roots.clone(), baseline: None }),
        case(queries::Findings { selection: endpoint("b").with_range(tail), baseline: None }),
        case(queries::Impact { selection: roots.clone() }),
        case(queries::Impact { selection: endpoint("b").with_range(bulk) }),
        case(queries::Histograms { selection: roots.with_range(tail) }),
        case(queries::Errors { selection: roots.clone() }),
        case(queries::Errors { selection: endpoint("b").with_range(tail) }),
        case(queries::Histograms { selection: filtered.clone() }),
        case(queries::Queues { selection: roots.clone() }),
        case(queries::Queues { selection: endpoint("b").with_range(tail) }),
        case(split(SplitOf::Latency, "zone")),
        case(split(SplitOf::Calls(Endpoint::new("c", "c")), "zone")),
        case(split(SplitOf::Sums(Endpoint::new("c", "c")), "zone")),
        case(queries::Proposals { selection: roots.with_range(tail), of: SplitOf::Latency }),
        case(queries::TagSums { selection: roots.clone(), key: "tokens".to_owned(), by: None }),
        case(queries::TagSums {
            selection: roots.with_range(tail),
            key: "tokens".to_owned(),
            by: Some("zone".to_owned()),
        }),
        case(columns(3, ColumnOrder::Latency)),
        case(columns(1000, ColumnOrder::Start)),
        case(columns(4, of_row.clone())),
        case(queries::Heatmap { selection: endpoint("a").with_range(tail), columns: 2, order: of_row }),
        case(by_service(1000, ColumnOrder::Start)),
        case(by_service(3, ColumnOrder::Row(Endpoint::new("c", WAITING)))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn neither_order_nor_workers_change_a_report(
        spans in any_traces(80), seed in any::<u64>(), workers in 1usize..5, reading in any_reading()
    ) {
        let mut one = NativePool::of(sets_of(&spans, 1)).unwrap();
        let mut many = NativePool::of(sets_of(&shuffled(&spans, seed), workers)).unwrap();
        for case in cases(reading) {
            prop_assert_eq!(case(&mut one), case(&mut many));
        }
    }
}
