//! The critical path against worked examples and against its invariants on random traces.

use crate::cases::{Case, case};
use crate::common::random::any_reading;
use crate::common::{Span, set_of, span, stage};
use pathlight::engine::flame::PathFinder;
use pathlight::engine::queries;
use pathlight::engine::requests::{
    Filter, GroupBy, PercentileRange, RangeReport, RootEndpoint, Selection, Until,
};
use pathlight::engine::run::native::NativePool;
use pathlight::trace::{
    Endpoint, EndpointId, Flags, NO_ROW, Overlap, PathSettings, Quality, RequestRoots, Role, SpanKind,
    TraceSet, TraceShape, Tree,
};
use pathlight::view::reading;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Returns the segments of trace 0's root as (operation, start, end).
fn path(spans: &[Span], overlap: Overlap) -> Vec<(String, u64, u64)> {
    let set = set_of(spans);
    let mut tree = Tree::default();
    tree.load(&set, 0, PathSettings::plain(Overlap::default()));
    let mut finder = PathFinder::default();
    finder.find(&set, &tree, 0, overlap);
    let name = |i: u32| set.endpoint_name(set.endpoint(tree.row(i))).1.to_owned();
    finder.segments().map(|s| (name(s.span), s.start_us, s.end_us)).collect()
}

fn segments(expected: &[(&str, u64, u64)]) -> Vec<(String, u64, u64)> {
    expected.iter().map(|&(name, start, end)| (name.to_owned(), start, end)).collect()
}

#[test]
fn touching_siblings_are_all_on_the_path() {
    let spans = [
        span(1, 0, "R", 100, 200),
        span(2, 1, "A", 110, 130),
        span(3, 1, "B", 130, 150),
        span(4, 1, "C", 150, 170),
        span(5, 1, "D", 170, 190),
    ];
    let expected = [
        ("R", 100, 110),
        ("A", 110, 130),
        ("B", 130, 150),
        ("C", 150, 170),
        ("D", 170, 190),
        ("R", 190, 200),
    ];
    assert_eq!(path(&spans, Overlap::preset("strict").unwrap()), segments(&expected));
}

#[test]
fn a_tolerated_overlap_moves_the_earlier_subtree_left() {
    // B starts 100 us before A ends: 1 % of the parent. A and its child move left by 100.
    let spans = [
        span(1, 0, "R", 100_000, 110_000),
        span(2, 1, "A", 101_000, 104_100),
        span(3, 2, "A2", 102_000, 103_000),
        span(4, 1, "B", 104_000, 109_000),
    ];
    let expected = [
        ("R", 100_000, 100_900),
        ("A", 100_900, 101_900),
        ("A2", 101_900, 102_900),
        ("A", 102_900, 104_000),
        ("B", 104_000, 109_000),
        ("R", 109_000, 110_000),
    ];
    assert_eq!(path(&spans, Overlap::default()), segments(&expected));
    let strict = [("R", 100_000, 104_000), ("B", 104_000, 109_000), ("R", 109_000, 110_000)];
    assert_eq!(path(&spans, Overlap::preset("strict").unwrap()), segments(&strict));
    // One microsecond more is too much.
    let mut longer = spans.clone();
    longer[1].duration_us += 1;
    assert_eq!(path(&longer, Overlap::default()), segments(&strict));
}

#[test]
fn an_overlap_of_exactly_a_millisecond_is_too_much_for_the_paper() {
    let overlapping = |by_us: u64| {
        [
            span(1, 0, "R", 100_000, 110_000),
            span(2, 1, "A", 101_000, 104_000 + by_us),
            span(3, 1, "B", 104_000, 109_000),
        ]
    };
    let has_a = |by_us: u64| {
        path(&overlapping(by_us), Overlap::preset("paper").unwrap()).iter().any(|segment| segment.0 == "A")
    };
    assert!(has_a(999));
    assert!(!has_a(1000));
}

#[test]
fn an_overlap_with_a_third_sibling_inside_is_not_skew() {
    let spans = [
        span(1, 0, "R", 100_000, 110_000),
        span(2, 1, "A", 101_000, 104_100),
        span(3, 1, "X", 104_050, 104_060),
        span(4, 1, "B", 104_000, 109_000),
    ];
    let expected = [("R", 100_000, 104_000), ("B", 104_000, 109_000), ("R", 109_000, 110_000)];
    assert_eq!(path(&spans, Overlap::default()), segments(&expected));
}

#[test]
fn accepted_overlaps_of_calls_in_sequence_are_counted_with_their_distribution() {
    let overlapping = |trace: u128, by_us: u64, third: bool| {
        let mut spans = vec![
            span(1, 0, "R", 100_000, 110_000),
            span(2, 1, "A", 101_000, 104_000 + by_us),
            span(3, 1, "B", 104_000, 109_000),
        ];
        if third {
            spans.push(span(4, 1, "X", 104_010, 104_020));
        }
        spans.into_iter().map(move |s| Span { trace, ..s })
    };
    // 100 us are 1 % of the parent: the most that is accepted. A third call inside is none in sequence.
    let spans: Vec<Span> = overlapping(1, 100, false)
        .chain(overlapping(2, 101, false))
        .chain(overlapping(3, 40, true))
        .chain(overlapping(4, 3, false))
        .chain(overlapping(5, 0, false))
        .collect();
    let query = |preset| {
        let overlap = Overlap::preset(preset).unwrap();
        let settings = PathSettings { overlap, ..PathSettings::default() };
        let sets = vec![set_of(&spans[..6]), set_of(&spans[6..])];
        NativePool::of(sets)
            .unwrap()
            .run(queries::Overview { settings, by: GroupBy::Root, ..queries::Overview::default() })
            .unwrap()
    };
    let overview = query("default");
    let overlaps = &overview.sequences.overlaps;
    assert_eq!((overlaps.calls, overlaps.traces, overlaps.sum_us, overlaps.max_us), (2, 2, 103, 100));
    assert_eq!(overlaps.bins().collect::<Vec<_>>(), [(2, 4, 1), (64, 128, 1)]);
    let notes = reading::words::sequences(&overview);
    assert!(notes[0].words.contains("in 40.0\u{202f}% of the traces"), "{}", notes[0].words);
    assert_eq!((notes.len(), notes[0].calls, notes[0].bins.len()), (1, 2, 2));
    assert_eq!(query("strict").sequences.overlaps.calls, 0);
    assert_eq!(query("paper").sequences.overlaps.calls, 3);
}

#[test]
fn gaps_between_calls_in_sequence_are_counted_beside_overlaps() {
    let mut spans = vec![
        span(1, 0, "R", 0, 1000),
        // Runs beside all others and comes after none.
        span(2, 1, "X", 0, 1000),
        span(3, 1, "A", 10, 100),
        // 7 us after A; an empty call at its start leaves that gap.
        span(4, 1, "B", 107, 200),
        span(5, 1, "empty", 107, 107),
        // Touches B.
        span(6, 1, "C", 200, 300),
        // Overlaps C by 2 us, which pass for skew.
        span(7, 1, "D", 298, 400),
        // 500 us after D: both calls that begin there.
        span(8, 1, "E", 900, 950),
        span(9, 1, "E", 900, 960),
        // Nobody waits for it.
        span(10, 1, "late", 980, 2000),
    ];
    spans[9].follows_from = true;
    let other = [span(1, 0, "R", 0, 90), span(2, 1, "A", 0, 40), span(3, 1, "B", 41, 90)];
    spans.extend(other.map(|s| Span { trace: 2, ..s }));
    let of = |sets| {
        let query = queries::Overview { by: GroupBy::Root, ..queries::Overview::default() };
        NativePool::of(sets).unwrap().run(query).unwrap()
    };
    let overview = of(vec![set_of(&spans[..10]), set_of(&spans[10..])]);
    let gaps = &overview.sequences.gaps;
    // B and the empty call 7 us, D none since it overlaps, both E 500 us, B of the other trace 1 us.
    assert_eq!((gaps.calls, gaps.traces, gaps.sum_us, gaps.max_us), (5, 2, 1015, 500));
    assert_eq!(gaps.bins().collect::<Vec<_>>(), [(1, 2, 1), (4, 8, 2), (256, 512, 2)]);
    assert_eq!(overview.sequences.overlaps.calls, 1);
    let notes = reading::words::sequences(&overview);
    assert_eq!((notes[1].calls, notes[1].what), (5, "begin after the one before has ended"));
    assert!(notes[1].words.contains("in 100.0\u{202f}% of the traces"), "{}", notes[1].words);
    assert_eq!(overview.sequences, of(vec![set_of(&spans)]).sequences);
}

#[test]
fn a_child_moved_before_its_parent_is_clipped_there() {
    // A starts with its parent; moved left by 50 it loses its first 50.
    let spans = [
        span(1, 0, "R", 100_000, 110_000),
        span(2, 1, "A", 100_000, 104_050),
        span(3, 2, "A2", 100_010, 100_040),
        span(4, 1, "B", 104_000, 110_000),
    ];
    let expected = [("A", 100_000, 104_000), ("B", 104_000, 110_000)];
    assert_eq!(path(&spans, Overlap::default()), segments(&expected));
}

#[test]
fn a_span_is_clipped_dropped_or_left_alone() {
    let mut spans = vec![
        span(1, 0, "R", 100, 200),
        span(2, 1, "both", 50, 250),
        span(3, 1, "before", 10, 100),
        span(4, 3, "below", 50, 60),
        span(5, 1, "edge", 200, 200),
        span(6, 1, "async", 150, 400),
    ];
    spans[5].follows_from = true;
    let set = set_of(&spans);
    let (mut tree, mut quality) = (Tree::default(), Quality::default());
    tree.load_counting(&set, 0, PathSettings::plain(Overlap::default()), &mut quality);
    let find = |name: &str| {
        (0..tree.len()).find(|&i| set.endpoint_name(set.endpoint(tree.row(i as u32))).1 == name).unwrap()
    };
    assert_eq!((tree.start_us[find("both")], tree.end_us[find("both")]), (100, 200));
    assert_eq!((tree.role[find("before")], tree.role[find("below")]), (Role::Dropped, Role::Dropped));
    assert_eq!(tree.role[find("edge")], Role::Sync);
    assert_eq!((tree.role[find("async")], tree.end_us[find("async")]), (Role::Async, 400));
    assert_eq!((quality.clipped_spans, quality.clipped_us), (1, 100));
    assert_eq!((quality.dropped_subtrees, quality.dropped_spans, quality.async_spans), (1, 2, 1));
}

#[test]
fn a_shared_id_becomes_a_client_with_its_server_as_child() {
    for server_first in [false, true] {
        let mut client = span(7, 1, "client", 110, 190);
        client.kind = SpanKind::Client;
        let mut server = span(7, 1, "server", 120, 180);
        server.kind = SpanKind::Server;
        if server_first {
            server.duration_us = 75;
        }
        let spans = [span(1, 0, "R", 100, 200), server, client, span(8, 7, "below", 130, 140)];
        let set = set_of(&spans);
        let name = |row: u32| set.endpoint_name(set.endpoint(row)).1;
        let parents: Vec<(&str, &str)> = (1..4).map(|row| (name(row), name(set.parent(row)))).collect();
        assert_eq!(parents, [("client", "R"), ("server", "client"), ("below", "server")]);
    }
}

#[test]
fn cycles_are_cut_at_the_earliest_span_and_orphans_are_roots() {
    let mut spans = [
        span(1, 3, "a", 120, 200),
        span(2, 1, "b", 110, 200),
        span(3, 2, "c", 130, 200),
        span(4, 4, "self", 10, 20),
        span(5, 99, "orphan", 10, 500),
    ];
    let set = set_of(&spans[..4]);
    let shape = set.traces()[0].shape;
    // What names itself names nothing: it is a root, and the trace complete.
    assert_eq!((shape.roots, shape.orphans, shape.cycles), (2, 1, 1));
    assert!(!shape.is_incomplete());
    spans[3] = span(4, 98, "self", 10, 20);
    let set = set_of(&spans);
    let shape = set.traces()[0].shape;
    assert_eq!((shape.roots, shape.orphans, shape.cycles), (3, 3, 1));
    assert!(shape.is_incomplete());
    // No parentless root: the longest orphan root leads.
    assert_eq!(set.endpoint_name(set.endpoint(0)).1, "orphan");
    let cut = (0..5).find(|&row| set.endpoint_name(set.endpoint(row)).1 == "b").unwrap();
    assert!(set.flags(cut).has(Flags::CYCLE));
}

/// Returns the parent of every span by name, and the shape of the trace.
fn parents(spans: &[Span]) -> (BTreeMap<String, String>, TraceShape) {
    let set = set_of(spans);
    let name = |row: u32| set.endpoint_name(set.endpoint(row)).1.to_owned();
    let parent = |row| if set.parent(row) == NO_ROW { String::new() } else { name(set.parent(row)) };
    let parents = (0..set.spans() as u32).map(|row| (name(row), parent(row)));
    (parents.collect(), set.traces()[0].shape)
}

#[test]
fn a_reference_to_a_span_below_is_a_link() {
    let follows = |span: Span| Span { follows_from: true, ..span };
    let chain = |root: Span| vec![root, span(2, 1, "b", 110, 190), span(3, 2, "c", 120, 180)];
    let (of, shape) = parents(&chain(follows(span(1, 3, "a", 100, 200))));
    assert_eq!((of["a"].as_str(), of["b"].as_str(), of["c"].as_str()), ("", "a", "b"));
    assert_eq!((shape.orphans, shape.cycles), (0, 0));
    // Of several that follow the one that starts first stays on top.
    let pair = [follows(span(1, 2, "a", 100, 200)), follows(span(2, 1, "b", 150, 300))];
    assert_eq!(parents(&pair).0["b"], "a");
    // A second reference, to a span that is not below, is the parent after all; one to a missing span makes an orphan.
    let second = |second| Span { second, ..follows(span(1, 3, "a", 100, 200)) };
    let mut spans = chain(second(4));
    spans.push(span(4, 0, "d", 90, 300));
    assert_eq!(parents(&spans).0["a"], "d");
    let (of, shape) = parents(&chain(second(9)));
    assert_eq!((of["a"].as_str(), shape.orphans, shape.cycles), ("", 1, 0));
    // What is there goes before what is not.
    let (of, shape) = parents(&[span(1, 0, "a", 100, 200), Span { second: 1, ..span(2, 9, "b", 110, 190) }]);
    assert_eq!((of["b"].as_str(), shape.orphans), ("a", 0));
    // A cycle of parents is cut where a span names another one too.
    let (of, shape) = parents(&[
        span(1, 3, "a", 100, 200),
        Span { second: 4, ..span(2, 1, "b", 110, 190) },
        span(3, 2, "c", 120, 180),
        span(4, 0, "d", 90, 300),
    ]);
    assert_eq!((of["b"].as_str(), of["a"].as_str(), shape.cycles), ("d", "c", 0));
}

#[test]
fn missing_starts_come_from_the_tree_and_a_clock_at_zero_is_kept() {
    let set = set_of(&[span(1, 0, "R", 0, 100), span(2, 1, "A", 10, 50)]);
    assert_eq!(set.start_us(0), 0);
    let set = set_of(&[span(1, 0, "R", 0, 100), span(2, 1, "A", 1_000_010, 1_000_050)]);
    assert_eq!(set.start_us(0), 1_000_010);
    let set = set_of(&[span(1, 0, "R", 5000, 5100), span(2, 1, "A", 0, 20), span(3, 2, "B", 0, 10)]);
    assert_eq!((set.start_us(1), set.start_us(2)), (5000, 5000));
}

#[test]
fn long_chains_and_wide_fans_work() {
    let n = 100_000;
    let chain: Vec<Span> = (1..=n).map(|i| span(i, i - 1, "hop", 1_000_000 + i, 2_000_000 - i)).collect();
    let set = set_of(&chain);
    let mut tree = Tree::default();
    tree.load(&set, 0, PathSettings::plain(Overlap::default()));
    let mut finder = PathFinder::default();
    finder.find(&set, &tree, 0, Overlap::default());
    assert_eq!(finder.entries().len(), n as usize);
    let fan: Vec<Span> = std::iter::once(span(1, 0, "root", 1_000_000, 3_000_000))
        .chain((2..=n).map(|i| span(i, 1, "leaf", 1_000_000 + 10 * i, 1_000_009 + 10 * i)))
        .collect();
    let set = set_of(&fan);
    tree.load(&set, 0, PathSettings::plain(Overlap::default()));
    finder.find(&set, &tree, 0, Overlap::default());
    assert_eq!(finder.entries().len(), n as usize);
}

#[test]
fn siblings_that_start_together_stand_longest_first_in_whatever_order_they_came() {
    let n = 3_000;
    let leaf = |i| span(i, 1, "leaf", 1_000_000, 1_000_001 + i * 7919 % 50);
    let mut spans: Vec<Span> = (2..=n).map(leaf).chain([span(1, 0, "root", 1_000_000, 3_000_000)]).collect();
    let rows = |spans: &[Span]| {
        let set = set_of(spans);
        (0..n as u32).map(|row| (set.duration_us(row), set.span_id_text(row))).collect::<Vec<_>>()
    };
    let found = rows(&spans);
    assert!(found.is_sorted_by(|a, b| (b.0, &a.1) < (a.0, &b.1)));
    spans.reverse();
    assert_eq!(rows(&spans), found);
}

prop_compose! {
    /// Makes a trace with every defect: orphans, cycles, repeated ids, zero lengths, skew, async spans, missing starts.
    fn any_spans(max: usize)(
        raw in prop::collection::vec(
            (0u64..2, 1u64..25, 0u64..26, 0u8..5, 0u64..60, 0u64..60, 0u8..6, 0u8..12), 1..max)
    ) -> Vec<Span> {
        raw.into_iter().map(|(trace, id, parent, name, start, duration, kind, odd)| {
            let mut out = span(id, parent, ["a", "b", "c", "d", "e"][name as usize], 0, 0);
            out.trace = u128::from(trace) + 1;
            // Steps of 97 us against a tolerance of 1000 us make overlaps that pass and overlaps that do not.
            out.start_us = if odd == 0 { 0 } else { 50_000 + start * 97 };
            out.duration_us = duration * 197;
            out.kind = [SpanKind::Unspecified, SpanKind::Client, SpanKind::Server, SpanKind::Producer,
                SpanKind::Consumer, SpanKind::Internal][kind as usize];
            out.follows_from = odd == 1 || odd == 4;
            // The second of two parents, which may be the span itself, below it or missing.
            out.second = if odd == 3 || odd == 4 { (id * 7 + start) % 28 } else { 0 };
            out.error = odd == 2;
            out
        }).collect()
    }
}

fn any_settings() -> impl Strategy<Value = PathSettings> {
    (prop::sample::select(Overlap::PRESETS.to_vec()), any_reading()).prop_map(|(name, reading)| {
        PathSettings { overlap: Overlap::preset(name).unwrap(), reading, by_service: false }
    })
}

fn cases(settings: PathSettings) -> Vec<Case> {
    let PathSettings { overlap, reading, .. } = settings;
    let endpoint = |name: &str| RootEndpoint::Endpoint(Endpoint::new(name, name));
    let selection = |root, filters| Selection { root, filters, overlap, reading, ..Selection::default() };
    let until_done = |selection| Selection { until: Until::Done, ..selection };
    let slow = PercentileRange::open(30_000, 90_000);
    let contains = Filter::Contains(Endpoint::new("b", "b"));
    vec![
        case(queries::CriticalPath { selection: selection(RootEndpoint::TraceRoots, vec![]) }),
        case(queries::CriticalPath { selection: selection(endpoint("a"), vec![]).with_range(slow) }),
        case(queries::CriticalPath { selection: selection(endpoint("c"), vec![contains, Filter::HasError]) }),
        case(queries::PerRequest { selection: selection(endpoint("b"), vec![]) }),
        case(queries::CriticalPath { selection: until_done(selection(RootEndpoint::TraceRoots, vec![])) }),
        case(queries::PerRequest {
            selection: until_done(selection(endpoint("b"), vec![]).with_range(slow)),
        }),
        case(queries::Range { selection: selection(endpoint("a"), vec![]).with_range(slow) }),
        case(queries::Requests { selection: selection(endpoint("a"), vec![]).with_range(slow), limit: 2 }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn segments_partition_every_request(spans in any_spans(40), settings in any_settings()) {
        let set = set_of(&spans);
        let (mut tree, mut finder, mut roots) = (Tree::default(), PathFinder::default(), Vec::new());
        for trace in 0..set.traces().len() as u32 {
            let endpoints = (0..set.endpoints().len() as u32).map(|e| RequestRoots::Of(EndpointId(e)));
            let mut covered = Vec::new();
            for of in endpoints.chain([RequestRoots::All, RequestRoots::Complete]) {
                tree.load_for(&set, trace, settings, of);
                tree.requests(&set, &mut roots);
                covered.clear();
                covered.resize(tree.len(), false);
                for &root in &roots {
                    // Two requests never share a span, and one that is chosen is measured by its own interval.
                    for span in root..tree.subtree_end[root as usize] {
                        prop_assert!(!std::mem::replace(&mut covered[span as usize], true));
                    }
                    prop_assert_eq!(tree.duration_us(root), set.duration_us(tree.row(root)));
                    finder.find(&set, &tree, root, settings.overlap);
                    let mut at = tree.start_us[root as usize];
                    for segment in finder.segments() {
                        prop_assert_eq!(segment.start_us, at);
                        prop_assert!(segment.end_us > segment.start_us);
                        at = segment.end_us;
                    }
                    prop_assert_eq!(at, tree.end_us[root as usize]);
                    let own: u64 = finder.entries().iter().map(|e| e.exclusive_us).sum();
                    prop_assert_eq!(own, tree.duration_us(root));
                }
            }
        }
    }

    #[test]
    fn a_step_at_a_time_finds_the_same_path(spans in any_spans(40), step in 1usize..5, settings in any_settings()) {
        let set = set_of(&spans);
        let mut at_once = Tree::default();
        let (mut tree, mut whole, mut stepped) = (Tree::default(), PathFinder::default(), PathFinder::default());
        for trace in 0..set.traces().len() as u32 {
            tree.begin(&set, trace, settings, RequestRoots::All);
            while !tree.step(&set, step) {}
            at_once.load(&set, trace, settings);
            prop_assert_eq!(&at_once.role, &tree.role);
            prop_assert_eq!(&at_once.start_us, &tree.start_us);
            whole.find(&set, &tree, 0, Overlap::default());
            stepped.begin(&set, &tree, 0, Overlap::default());
            while !stepped.step(&set, &tree, step) {}
            prop_assert_eq!(whole.entries(), stepped.entries());
        }
    }

    #[test]
    fn neither_order_nor_workers_nor_fragments_change_a_report(
        spans in any_spans(40), settings in any_settings(), seed in any::<u64>(), workers in 1usize..5
    ) {
        let mut shuffled = spans.clone();
        shuffled.sort_by_key(|s| (s.id ^ s.start_us).wrapping_mul(seed | 1));
        for case in cases(settings) {
            let report = |sets: Vec<TraceSet>| case(&mut NativePool::of(sets).unwrap());
            let expected = report(vec![set_of(&spans)]);
            prop_assert_eq!(&expected, &report(vec![set_of(&shuffled)]));
            // Spans dealt out blindly: traces are split over workers and over loads.
            let mut sets: Vec<TraceSet> = (0..workers).map(|_| TraceSet::new()).collect();
            for (i, span) in shuffled.iter().enumerate() {
                stage(&mut sets[i % workers], std::slice::from_ref(span));
                if i % 7 == 6 {
                    sets[i % workers].seal().unwrap();
                }
            }
            prop_assert_eq!(&expected, &report(sets));
        }
        let overview = |spans: &[Span]| {
            let report = NativePool::of(vec![set_of(spans)]).unwrap().run(queries::Overview { settings, by: GroupBy::Root, ..queries::Overview::default() }).unwrap();
            (report.reading, report.request_types)
        };
        prop_assert_eq!(overview(&spans), overview(&shuffled));
    }

    #[test]
    fn the_flame_graph_adds_up_to_the_latencies_of_its_range(spans in any_spans(60), lo in 0u32..100, width in 1u32..100) {
        let range = PercentileRange::open(lo * 1000, (lo + width).min(100) * 1000);
        let query = queries::CriticalPath { selection: Selection::default().with_range(range) };
        let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
        let report = pool.run(query).unwrap();
        let own: u128 = report.nodes.iter().map(|n| n.exclusive_us.sum).sum();
        let roots: u128 = report.nodes.iter().filter(|n| n.parent.is_none()).map(|n| n.subtree_us).sum();
        prop_assert_eq!(own, report.facts.latency_sum_us);
        prop_assert_eq!(roots, report.facts.latency_sum_us);
        let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
        let alone = pool.run(queries::Range { selection: Selection::default().with_range(range) }).unwrap();
        prop_assert_eq!(alone, RangeReport { range, facts: report.facts });
    }
}
