//! Summaries: the same bytes whatever the order and grouping of merges, and the numbers of the analyses themselves.

use crate::common::random::{any_reading, any_traces, sets_of};
use crate::common::{Span, generated, generated_as, set_of};
use pathlight::engine::compare::{Basis, MeasuredTime, compare};
use pathlight::engine::queries;
use pathlight::engine::requests::{PercentileRange, RootEndpoint, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::summaries::{Merger, Summary, SummarySettings, read, write};
use pathlight::generate::GenerateOptions;
use pathlight::trace::{Endpoint, PathSettings, Reading, TraceSet};
use pathlight::view::json;
use pathlight::view::summaries::Selected;
use proptest::prelude::*;

fn settings(reading: Reading) -> SummarySettings {
    SummarySettings::new(RootEndpoint::TraceRoots, PathSettings { reading, ..PathSettings::default() })
}

fn summary(set: &TraceSet, settings: &SummarySettings) -> Summary {
    Summary::observe(set, settings)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn neither_order_nor_grouping_changes_a_summary(
        spans in any_traces(80), reading in any_reading(), parts in 1u128..6, keys in prop::collection::vec(any::<u32>(), 6)
    ) {
        let spans: Vec<Span> = spans.into_iter().map(|(_, span)| span).collect();
        let settings = settings(reading);
        let whole = write(&summary(&set_of(&spans), &settings)).unwrap();
        let part = |number: u128| {
            let own: Vec<Span> = spans.iter().filter(|span| span.trace % parts == number).cloned().collect();
            summary(&set_of(&own), &settings)
        };
        let mut order: Vec<u128> = (0..parts).collect();
        order.sort_by_key(|&i| keys[i as usize]);
        let mut merger = Merger::default();
        for &i in &order {
            merger.add(part(i)).unwrap();
        }
        prop_assert_eq!(&write(&merger.finish().unwrap()).unwrap(), &whole);
        let in_turn = order.iter().rev().try_fold(Summary::default(), |sum, &i| Summary::merge(part(i), sum));
        let in_turn = write(&in_turn.unwrap()).unwrap();
        prop_assert_eq!(&in_turn, &whole);
        prop_assert_eq!(&write(&read(&whole).unwrap()).unwrap(), &whole, "reading undoes writing");
    }

    #[test]
    fn two_summaries_compare_as_their_traces_do(spans in any_traces(80), reading in any_reading()) {
        let side = |group: bool| {
            let own: Vec<Span> = spans.iter().filter(|(b, _)| *b == group).map(|(_, span)| span.clone()).collect();
            summary(&set_of(&own), &settings(reading))
        };
        let (a, b) = (side(false), side(true));
        let reading = settings(reading).path.reading;
        // A summary never leaves out requests whose caller is not recorded.
        let a_selection = Selection { reading, incomplete: true, ..Selection::default() };
        let b_selection = Selection { group: 1, ..a_selection.clone() };
        let mut pool = NativePool::of(sets_of(&spans, 2)).unwrap();
        let mut of_traces = pool.run(queries::Compare { a: a_selection, b: b_selection }).unwrap();
        // Summaries have no messages.
        of_traces.culprit.queues.clear();
        prop_assume!(of_traces.a.facts.requests > 0 && of_traces.b.facts.requests > 0);
        let text = |report| json::compare(report, Basis::Mean, MeasuredTime::Subtree).unwrap();
        let of_summaries = compare(&a, &b, None).unwrap();
        prop_assert_eq!(text(&of_summaries), text(&of_traces));
    }
}

fn shop(traces: u64, seed: u64) -> GenerateOptions {
    GenerateOptions { traces, spans: 30, seed, ..GenerateOptions::demo() }
}

#[test]
fn contexts_of_all_requests_and_of_a_root_endpoint_are_those_of_the_flame_graph() {
    let set = generated(&shop(400, 5));
    let summary = summary(&set, &SummarySettings::default());
    let busiest = summary.roots.iter().max_by_key(|(_, part)| part.requests()).unwrap().0.clone();
    for root in [None, Some(&busiest)] {
        let selection = Selection {
            root: root.map_or(RootEndpoint::TraceRoots, |root| RootEndpoint::Endpoint(root.clone())),
            ..Selection::default()
        };
        let mut pool = NativePool::of(vec![generated(&shop(400, 5))]).unwrap();
        let report = pool.run(queries::CriticalPath { selection }).unwrap();
        let selected = Selected::of(&summary, root, PercentileRange::ALL).unwrap();
        assert_eq!(selected.part.percentiles(), report.facts.latency_us);
        assert_eq!(selected.requests, report.facts.requests);
        let expected: Vec<_> = report
            .nodes
            .iter()
            .map(|node| {
                let (service, operation) = report.name(node.endpoint);
                let exclusive = (node.exclusive_us.sum, node.exclusive_us.p95);
                (Endpoint::new(service, operation), exclusive, node.subtree_us, node.requests, node.errors)
            })
            .collect();
        let nodes = selected.nodes.unwrap();
        let found: Vec<_> = nodes
            .iter()
            .map(|node| {
                let exclusive = (node.self_us, node.part.exclusive.quantiles([0.95])[0]);
                (node.endpoint.clone(), exclusive, node.total_us, node.requests, node.part.errors)
            })
            .collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn a_percentile_range_of_a_summary_is_exactly_the_requests_it_says() {
    let set = generated(&shop(600, 6));
    let summary = summary(&set, &SummarySettings::default());
    let mut pool = NativePool::of(vec![generated(&shop(600, 6))]).unwrap();
    for (lo, hi) in [(0, 50_000), (50_000, 95_000), (95_000, 100_000)] {
        let asked = PercentileRange::open(lo, hi);
        let selected = Selected::of(&summary, None, asked).unwrap();
        // The analysis of all traces, asked for the range that the summary took, has the same sums.
        let selection = Selection { over_all: true, ..Selection::default().with_range(selected.cut.range()) };
        let report = pool.run(queries::CriticalPath { selection }).unwrap();
        assert_eq!(selected.requests, report.facts.requests);
        assert!(selected.requests > 0 && selected.requests < 600);
        assert!(u64::from(lo).abs_diff(selected.cut.ranks.start * 1000 / 6) < 5_000, "{:?}", selected.cut);
        let expected: Vec<_> =
            report.nodes.iter().map(|n| (n.exclusive_us.sum, n.subtree_us, n.requests)).collect();
        let nodes = selected.nodes.unwrap();
        let found: Vec<_> = nodes.iter().map(|n| (n.self_us, n.total_us, n.requests)).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn damaged_files_and_other_settings_are_refused_in_words() {
    let set = generated_as(&shop(50, 1), 0);
    let bytes = write(&summary(&set, &SummarySettings::default())).unwrap();
    assert!(read(&bytes).is_ok());
    assert!(read(b"{\"data\": []}").unwrap_err().to_string().contains("summarise"));
    assert!(read(b"pathlight-summary 99\nxyz").unwrap_err().to_string().contains("version 99"));
    for at in [25, bytes.len() / 2, bytes.len() - 1] {
        assert!(read(&bytes[..at]).unwrap_err().to_string().contains("damaged"), "cut at {at}");
    }
    let mut missed = 0;
    for at in (20..bytes.len()).step_by(97) {
        let mut changed = bytes.clone();
        changed[at] ^= 0x20;
        // Some bits mean nothing: the time and system of a gzip header, what fills the last byte of packed data.
        missed += u32::from(read(&changed).is_ok_and(|found| write(&found).unwrap() != bytes));
    }
    assert_eq!(missed, 0);
    let other = summary(&set, &settings(Reading::PLAIN));
    assert!(Summary::merge(read(&bytes).unwrap(), other).is_err());
}
