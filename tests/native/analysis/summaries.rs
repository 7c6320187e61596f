//! Summaries: the same bytes whatever the order and grouping of merges, and the numbers of the analyses themselves.

use crate::common::random::{any_reading, any_traces, sets_of};
use crate::common::stored::sections;
use crate::common::{Span, generated, generated_as, set_of, span};
use pathlight::engine::compare::{Basis, MeasuredTime, compare};
use pathlight::engine::queries;
use pathlight::engine::requests::{PercentileRange, RootEndpoint, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::summaries::{Choice, Merger, OTHERS, Summary, SummarySettings, read, write};
use pathlight::generate::GenerateOptions;
use pathlight::trace::{Endpoint, PathSettings, Reading, TraceSet};
use pathlight::view::json;
use pathlight::view::summaries::Selected;
use proptest::prelude::*;
use std::collections::BTreeSet;

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
        // Neither does what each of them sums together, as long as it is read again.
        let few = |number: u128| read(&write(&part(number).with_roots(1).unwrap()).unwrap()).unwrap();
        let all_at_once = Summary::join((0..parts).map(few).collect()).unwrap();
        let in_turn = order.iter().try_fold(Summary::default(), |sum, &i| Summary::merge(few(i), sum)).unwrap();
        prop_assert_eq!(write(&in_turn).unwrap(), write(&all_at_once).unwrap());
        prop_assert_eq!(all_at_once.requests(), read(&whole).unwrap().requests());
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

/// Returns a summary of requests with several hundred root endpoints.
fn of_many_roots(seed: u64) -> Summary {
    let options = GenerateOptions { roots: 60, ..shop(300, seed) };
    summary(&generated(&options), &SummarySettings::default())
}

#[test]
fn root_endpoints_with_little_time_are_summed_together_by_service() {
    let all = of_many_roots(1);
    let few = read(&write(&all.clone().with_roots(10).unwrap()).unwrap()).unwrap();
    let is_others = |root: &&Endpoint| root.operation == OTHERS;
    let (others, kept): (Vec<&Endpoint>, Vec<&Endpoint>) = few.roots.keys().partition(is_others);
    assert_eq!((kept.len(), few.lesser.len()), (10, all.roots.len() - 10));
    assert_eq!(few.root_endpoints(), all.root_endpoints());
    assert!(!others.is_empty() && others.len() < 10, "{others:?}");
    // Each has its latencies; those with the most time have all.
    let time = |root: &Endpoint| all.roots[root].latency_us.sum;
    let least = kept.iter().map(|root| time(root)).min().unwrap();
    assert!(few.lesser.keys().all(|root| time(root) <= least));
    for root in all.roots.keys() {
        assert_eq!(few.root(Some(root)), all.root(Some(root)));
        let choice = Choice { root: Some(root.clone()), ..Choice::default() };
        let found = few.errors(&choice);
        if few.lesser.contains_key(root) {
            let refused = found.unwrap_err();
            assert!(refused.is_together() && refused.to_string().contains(OTHERS), "{refused}");
            assert!(few.critical_path(&choice).unwrap_err().is_together());
            assert!(few.flow_parents(&choice, None).is_err() && few.services(Some(root)).is_err());
            assert!(few.facts(&choice).requests > 0);
        } else {
            assert_eq!(found.unwrap().totals, all.errors(&choice).unwrap().totals);
        }
    }
    // Over all requests nothing is lost.
    let choice = Choice::default();
    assert_eq!(few.facts(&choice).latency_us, all.facts(&choice).latency_us);
    assert_eq!(few.errors(&choice).unwrap().totals, all.errors(&choice).unwrap().totals);
    let services = |of: &Summary| {
        let part = of.services(None).unwrap();
        part.services()
            .map(|of| (of.service.to_owned(), of.requests, of.visits, of.own_us))
            .collect::<Vec<_>>()
    };
    assert_eq!(services(&few), services(&all));
    let calls =
        |of: &Summary| of.services(None).unwrap().calls().map(|of| (of.calls, of.us)).collect::<Vec<_>>();
    assert_eq!(calls(&few), calls(&all));
    let self_us = |of: &Summary| {
        let report = of.endpoints(&choice).unwrap();
        let mut sums = std::collections::BTreeMap::<String, u128>::new();
        for (name, row) in report.endpoints.iter().zip(&report.rows) {
            *sums.entry(name.service.clone()).or_default() += row.exclusive_us.sum;
        }
        sums
    };
    assert_eq!(self_us(&few), self_us(&all));
    let (roots, share) = few.lesser_share();
    assert!(roots == few.lesser.len() as u64 && share > 0.0 && share < 1.0);
    assert_eq!(few.clone().into_roots().map(|(_, part)| part.requests()).sum::<u64>(), all.requests());
}

#[test]
fn what_one_file_sums_together_the_whole_does_whatever_the_order() {
    let parts = [1, 2, 3].map(|seed| write(&of_many_roots(seed).with_roots(20).unwrap()).unwrap());
    let whole = |order: [usize; 3]| {
        let mut merger = Merger::default();
        order.iter().for_each(|&number| merger.add(read(&parts[number]).unwrap()).unwrap());
        merger.finish().unwrap()
    };
    let in_turn = |order: [usize; 3]| {
        let add = |sum: Summary, number: usize| Summary::merge(read(&parts[number]).unwrap(), sum).unwrap();
        order.into_iter().fold(Summary::default(), add)
    };
    let sum = whole([0, 1, 2]);
    assert!(sum.lesser.keys().all(|root| !sum.roots.contains_key(root)));
    let lesser = parts.iter().flat_map(|part| read(part).unwrap().lesser.into_keys());
    assert_eq!(sum.lesser.keys().cloned().collect::<BTreeSet<_>>(), lesser.collect());
    for order in [[2, 1, 0], [1, 0, 2]] {
        assert!(write(&whole(order)).unwrap() == write(&sum).unwrap());
        assert!(write(&in_turn(order)).unwrap() == write(&sum).unwrap());
    }
    let all = [1, 2, 3].map(of_many_roots).to_vec();
    let all = Summary::join(all).unwrap();
    assert_eq!(sum.requests(), all.requests());
    // Two sides are of the same requests, root endpoint by root endpoint, also where one knows more of one.
    let (few, many) = (read(&parts[0]).unwrap(), of_many_roots(1));
    let report = compare(&few, &many, None).unwrap();
    assert!(
        report.nodes.iter().all(|node| node.a.requests == node.b.requests),
        "the same requests on both sides"
    );
}

#[test]
fn root_endpoints_that_differ_in_values_alone_are_one_where_they_are_many() {
    let named = |names: u32, name: fn(u32) -> String| {
        let spans = (0..names).flat_map(|number| {
            let trace = u128::from(number + 1);
            let root = span(1, 0, "shop", 0, 100 + u64::from(number));
            [Span { trace, operation: name(number), ..root }, Span { trace, ..span(2, 1, "db", 10, 50) }]
        });
        summary(&set_of(&spans.collect::<Vec<_>>()), &SummarySettings::default()).with_roots(1000).unwrap()
    };
    let by_id = |number: u32| format!("GET /user/{}", 7000 + number);
    assert_eq!(named(100, by_id).roots.len(), 100);
    let folded = named(101, by_id);
    let by_route = named(101, |_| "GET /user/{n}".to_owned());
    assert_eq!(folded.roots, by_route.roots);
    let of = |summary: &Summary| {
        let mut sections = sections(&write(summary).unwrap());
        // Single requests keep their names.
        sections.retain(|section| section.0 != "anomalies");
        sections
    };
    assert!(of(&folded) == of(&by_route));
    // More of them are the same root endpoint.
    let more = Summary::merge(named(50, by_id), folded).unwrap().with_roots(1000).unwrap();
    assert_eq!(more.roots.keys().collect::<Vec<_>>(), [&Endpoint::new("shop", "GET /user/{n}")]);
    assert_eq!(more.requests(), 151);
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
