//! Execution flows: worked examples, properties, and brute force on small invocations.

use crate::common::{Span, set_of, span};
use pathlight::engine::flame::PathFinder;
use pathlight::engine::flow::paper::{
    Clusters, FlowSettings, InvocationKey, Metric, PredictScratch, PredictorTraining, Predictors, error,
};
use pathlight::engine::flow::{
    CallTarget, CallTimeout, CalleeCounter, CalleesByParent, CalleesFor, CallsOf, ChangeOf, Changes, Child,
    FlowGraph, FlowModel, FlowWalk, Invocations, LatencyChange, NodeIndex, Order, PairCounts, Pressure,
    RequestPressure, SyncNode, WhatIfLatencies, WhatIfRun, WhichRequests, Within,
};
use pathlight::engine::ids::NodeId;
use pathlight::trace::{Endpoint, Overlap, PathSettings, RequestRoots, Role, SpanKind, TraceSet, Tree};
use proptest::prelude::*;

/// Makes an invocation over `[start, end]` with children (node, start, end).
fn order_with(start: u64, end: u64, children: &[(u32, u64, u64)], overlap: Option<Overlap>) -> Order {
    let children: Vec<Child> = children
        .iter()
        .map(|&(node, start_us, end_us)| Child { node, span: node, start_us, end_us })
        .collect();
    let mut order = Order::default();
    order.set(start, end, &children, overlap);
    order
}

fn order(end: u64, children: &[(u32, u64, u64)]) -> Order {
    order_with(0, end, children, None)
}

fn key(start_us: u64) -> InvocationKey {
    InvocationKey { start_us, ..InvocationKey::default() }
}

/// Trains predictors of parents with `nodes` nodes on some invocations.
fn train(nodes: u32, orders: &[&Order], settings: FlowSettings) -> Predictors {
    let mut training = PredictorTraining::new(nodes);
    for (i, order) in orders.iter().enumerate() {
        training.observe(order, i as u64, || key(i as u64));
    }
    training.finish(settings)
}

fn estimate(predictors: &Predictors, order: &Order) -> [f64; 6] {
    predictors.estimate(order, &mut PredictScratch::default())
}

const A: u32 = 0;
const B: u32 = 1;
const C: u32 = 2;
const D: u32 = 3;

fn example_1() -> Order {
    order(100, &[(A, 5, 25), (B, 10, 40), (C, 45, 70), (D, 50, 60)])
}

#[test]
fn example_1_gaps_edges_and_predictions() {
    let order = example_1();
    let gaps: Vec<i64> = (0..4).map(|p| order.gap_us(p)).collect();
    assert_eq!(gaps, [5, 10, 5, 10]);
    assert_eq!(order.return_gap_us(), 30);
    let latencies: Vec<u64> = order.children().iter().map(Child::latency_us).collect();
    assert_eq!(latencies, [20, 30, 25, 10]);

    let predictors = train(4, &[&order], FlowSettings { min_traces: 1, ..FlowSettings::default() });
    let reduction = predictors.flow.reduction();
    assert_eq!(reduction, [(A, C), (A, D), (B, C), (B, D)]);
    let sync = FlowGraph::sync_nodes(&reduction);
    assert_eq!(sync.len(), 1);
    assert_eq!(sync[0], SyncNode { from: [A, B].map(NodeId).into(), to: [C, D].map(NodeId).into() });
    let taken = [Some(25), Some(40), Some(30), Some(20)];
    let mut complete = Vec::new();
    assert_eq!(predictors.flow.completion_us(&taken, 30, &mut complete), 100);
    assert_eq!(complete, [25, 40, 70, 60]);

    let [serial, parallel, regression, path, aggregate, nearest] = estimate(&predictors, &order);
    assert_eq!((serial, parallel, path, aggregate, nearest), (145.0, 40.0, 100.0, 100.0, 100.0));
    assert_eq!(error(parallel, 100.0), 1.5);
    // One equation: the shortest weights that fit.
    assert!((regression - 100.0).abs() < 1e-9);

    let paper = train(4, &[&order], FlowSettings { min_traces: 1, ..FlowSettings::paper() });
    assert_eq!(estimate(&paper, &order)[3], 70.0);
    let mut critical = Vec::new();
    order.critical(&mut critical);
    assert_eq!(critical, [2, 1], "c, then b");
}

#[test]
fn example_2_aggregates_keep_what_holds_in_all() {
    let (x, y) = (0, 1);
    let x1 = order(25, &[(x, 0, 10), (y, 12, 20)]);
    let x2 = order(34, &[(y, 0, 8), (x, 10, 30)]);
    let all = FlowSettings { tau_ppm: 1_000_000, ..FlowSettings::default() };
    let predictors = train(2, &[&x1, &x2], all);
    assert!(predictors.flow.reduction().is_empty());
    let check = |order: &Order, aggregate: f64, expected: f64| {
        let own = train(2, &[order], FlowSettings { min_traces: 1, ..all });
        assert_eq!(estimate(&own, order)[5], order.latency_us() as f64);
        let found = estimate(&predictors, order)[4];
        assert_eq!(found, aggregate);
        assert!((error(found, order.latency_us() as f64) - expected).abs() < 5e-5);
    };
    check(&x1, 15.0, 0.6667);
    check(&x2, 26.0, 0.3077);

    let first = example_1();
    let second = order(90, &[(A, 5, 50), (B, 10, 30), (C, 55, 75), (D, 35, 45)]);
    let predictors = train(4, &[&first, &second], all);
    assert_eq!(predictors.flow.reduction(), [(A, C), (B, C), (B, D)]);
    assert_eq!(estimate(&predictors, &first)[4], 100.0);
    assert_eq!(estimate(&predictors, &second)[4], 90.0);
}

/// Returns the training invocations of example 3: F1 in sequence, F2 side by side.
fn example_3() -> [Order; 4] {
    let (x, y) = (0, 1);
    [
        order(20, &[(x, 0, 10), (y, 11, 19)]),
        order(25, &[(x, 0, 12), (y, 13, 23)]),
        order(35, &[(x, 0, 30), (y, 1, 29)]),
        order(40, &[(x, 0, 34), (y, 1, 33)]),
    ]
}

#[test]
fn example_3_the_nearest_cluster_decides() {
    let mut clusters = Clusters::default();
    for (i, order) in example_3().iter().enumerate() {
        clusters.observe(order, i as u64, || key(i as u64));
    }
    let neighbours = clusters.finish(Metric::PaperUnbounded, 2);
    let latencies = [(0, 12), (1, 11)];
    let distances: Vec<(usize, f64)> = neighbours.distances(&latencies).collect();
    assert_eq!(distances, [(0, 5.0), (1, 190.25)]);
    let test = order(30, &[(0, 0, 12), (1, 15, 26)]);
    assert_eq!((test.gap_us(0), test.gap_us(1), test.return_gap_us()), (0, 3, 4));
    let taken = [12, 14];
    assert_eq!(neighbours.completion_us(&latencies, &taken, 4), Some(30));
    assert_eq!(neighbours.completion_by_us(1, &taken, 4), 18);
    assert!((error(18.0, 30.0) - 0.6667).abs() < 5e-5);
    // Other nodes: no cluster fits.
    assert_eq!(neighbours.completion_us(&[(0, 12)], &[12], 4), None);
}

/// Makes a two-call parent P as spans of trace `trace`, times in units of 10 us.
fn pair(trace: u128, at: u64, end: u64, x: (u64, u64), y: (u64, u64)) -> Vec<Span> {
    let mut spans = vec![
        span(1, 0, "P", at, at + 10 * end),
        span(2, 1, "x", at + 10 * x.0, at + 10 * x.1),
        span(3, 1, "y", at + 10 * y.0, at + 10 * y.1),
    ];
    spans.iter_mut().for_each(|s| s.trace = trace);
    spans
}

fn faster(endpoint: &str, share_ppm: i64) -> Changes {
    let (service, operation) = (endpoint.to_owned(), endpoint.to_owned());
    Changes {
        latencies: vec![LatencyChange { service, operation, of: ChangeOf::OwnWork, share_ppm, add_us: 0 }],
        ..Changes::default()
    }
}

/// Returns the latency after a change by a model learned with `learn`, asked about `ask`; strict edges.
fn what_if(learn: &[Span], ask: &[Span], changes: &Changes) -> f64 {
    let report = what_if_of(learn, ask, changes).finish();
    assert_eq!(report.requests, 1);
    report.after_us.p50
}

fn what_if_of(learn: &[Span], ask: &[Span], changes: &Changes) -> WhatIfLatencies {
    what_if_with(learn, ask, changes, &CallsOf::All)
}

/// Learns the flows of all parents of a set, whose edges hold in this share of the invocations.
pub fn learned(set: &TraceSet, overlap: Overlap, tau_ppm: u32) -> FlowModel {
    let walk = || FlowWalk::new(0, PathSettings::default(), RequestRoots::All);
    let mut counter = CalleeCounter::new(set, None, Within::default(), CalleesFor::Model);
    walk().run(set, &mut counter);
    let tables = CalleesByParent::merge(vec![counter.finish(set)]).tables(|_| true);
    let index = NodeIndex::of_tables(set, &tables);
    let mut pairs = Invocations::new(index, Within::default(), Some(overlap), tables.each(PairCounts::new));
    walk().run(set, &mut pairs);
    FlowModel::new(tables, &pairs.observer, tau_ppm)
}

fn what_if_with(learn: &[Span], ask: &[Span], changes: &Changes, calls: &CallsOf) -> WhatIfLatencies {
    let strict = Overlap::preset("strict").unwrap();
    let model = learned(&set_of(learn), strict, 1_000_000);
    let set = set_of(ask);
    let mut run = WhatIfRun::new(&set, &model.into(), strict, WhichRequests::All(None), changes, calls);
    FlowWalk::new(0, PathSettings::default(), RequestRoots::All).run(&set, &mut run);
    WhatIfLatencies::merge(vec![run.finish(&set)])
}

#[test]
fn example_3_what_if_under_either_flow() {
    let (f1, f2) = (
        [pair(1, 1000, 20, (0, 10), (11, 19)), pair(2, 2000, 25, (0, 12), (13, 23))].concat(),
        [pair(1, 1000, 35, (0, 30), (1, 29)), pair(2, 2000, 40, (0, 34), (1, 33))].concat(),
    );
    let test = pair(9, 5000, 30, (0, 12), (15, 26));
    let unchanged = Changes::default();
    assert_eq!(what_if(&f1, &test, &unchanged), 300.0);
    assert_eq!(what_if(&f2, &test, &unchanged), 300.0);
    assert_eq!(what_if(&f1, &test, &faster("y", -500_000)), 245.0);
    assert_eq!(what_if(&f1, &test, &faster("x", -500_000)), 240.0);
    assert_eq!(what_if(&f2, &test, &faster("x", -500_000)), 300.0);
    // Own work of the parent: the 3 between x and y, and the 4 after y.
    assert_eq!(what_if(&f1, &test, &faster("P", -500_000)), 265.0);
    assert_eq!(what_if(&f1, &test, &faster("P", -1_000_000)), 230.0);
}

#[test]
fn of_calls_in_either_order_that_of_the_invocation_counts() {
    let (x_first, y_first) = (pair(1, 1000, 25, (0, 10), (12, 20)), pair(2, 2000, 34, (10, 30), (0, 8)));
    let either = [x_first.clone(), y_first.clone()].concat();
    // Of example 2: no edge is learned. y begins 2 after x, and x 2 after y.
    assert_eq!(what_if(&either, &x_first, &faster("x", -500_000)), 200.0);
    assert_eq!(what_if(&either, &y_first, &faster("x", -500_000)), 240.0);
    assert_eq!(what_if(&either, &y_first, &faster("y", -500_000)), 300.0);
    assert_eq!(what_if(&either, &y_first, &faster("y", 1_000_000)), 420.0);
    // As often side by side as in one of the orders: they may not know of each other.
    let beside = [either.as_slice(), &pair(3, 3000, 25, (0, 10), (5, 20))].concat();
    assert_eq!(what_if(&beside, &x_first, &faster("x", -500_000)), 250.0);
    // In one order and side by side: another thread may make the second.
    let one = [x_first.as_slice(), &pair(2, 2000, 25, (0, 10), (5, 20))].concat();
    assert_eq!(what_if(&one, &x_first, &faster("x", -500_000)), 250.0);
}

#[test]
fn an_endpoint_within_itself_changes_once() {
    // r calls P, which works for 200 before it calls itself, for 100, and for 50 more.
    let spans = [span(1, 0, "r", 0, 500), span(2, 1, "P", 100, 450), span(3, 2, "P", 300, 400)];
    let whole = |share_ppm, add_us| {
        let mut changes = faster("P", share_ppm);
        (changes.latencies[0].of, changes.latencies[0].add_us) = (ChangeOf::WholeCall, add_us);
        changes
    };
    assert_eq!(what_if(&spans, &spans, &faster("P", -500_000)), 325.0);
    assert_eq!(what_if(&spans, &spans, &whole(-500_000, 0)), 325.0);
    assert_eq!(what_if(&spans, &spans, &whole(-1_000_000, 0)), 150.0);
    assert_eq!(what_if(&spans, &spans, &whole(0, 70)), 570.0);
    // All of its own work is not more than there is; what is added is added to each span.
    let add = |add_us| {
        let mut changes = faster("P", 0);
        changes.latencies[0].add_us = add_us;
        changes
    };
    assert_eq!(what_if(&spans, &spans, &add(-60)), 380.0);
    assert_eq!(what_if(&spans, &spans, &add(-150)), 250.0);
    assert_eq!(what_if(&spans, &spans, &add(70)), 640.0);
}

#[test]
fn a_timeout_cuts_calls_and_may_make_them_once_more() {
    // As above: P works for 200, calls itself for 100, and works for 50 more.
    let spans = [span(1, 0, "r", 0, 500), span(2, 1, "P", 100, 450), span(3, 2, "P", 300, 400)];
    let timeout = |after_us, retry_us| {
        let of = CallTarget::Endpoint(Endpoint::new("P", "P"));
        let changes =
            Changes { timeouts: vec![CallTimeout { of, after_us, retry_us }], ..Changes::default() };
        let mut run = what_if_of(&spans, &spans, &changes);
        let calls = run.take_calls().remove(&Endpoint::new("P", "P")).unwrap();
        assert_eq!(calls.before_us, [100, 350]);
        (run.cut(), calls.after_us, run.finish().after_us.p50)
    };
    assert_eq!(timeout(350, vec![]), ((0, 0), vec![100, 350], 500.0));
    assert_eq!(timeout(345, vec![]), ((1, 1), vec![100, 345], 495.0));
    // The outer call is cut as it is once the inner one is: at 330.
    assert_eq!(timeout(80, vec![]), ((2, 1), vec![80, 80], 230.0));
    assert_eq!(timeout(120, vec![30]), ((1, 1), vec![100, 150], 300.0));
    assert_eq!(timeout(90, vec![40]), ((2, 1), vec![130, 130], 280.0));
    // A timeout comes after a change of the latency: 50 and 175 remain.
    let mut both = faster("P", -500_000);
    let timeout = |of, after_us| CallTimeout { of, after_us, retry_us: Vec::new() };
    let endpoint = || CallTarget::Endpoint(Endpoint::new("P", "P"));
    let service = || CallTarget::Service("P".to_owned());
    both.timeouts = vec![timeout(endpoint(), 170)];
    let run = what_if_of(&spans, &spans, &both);
    assert_eq!((run.cut(), run.finish().after_us.p50), ((1, 1), 320.0));
    // The inner call is one of the endpoint and none into the service, which is in P already.
    for (timeouts, cut, after_us) in [
        (vec![timeout(service(), 80)], (1, 1), 230.0),
        (vec![timeout(service(), 340), timeout(endpoint(), 345)], (1, 1), 490.0),
        (vec![timeout(endpoint(), 80), timeout(service(), 340)], (2, 1), 230.0),
    ] {
        let run = what_if_of(&spans, &spans, &Changes { timeouts, ..Changes::default() });
        assert_eq!((run.cut(), run.finish().after_us.p50), (cut, after_us));
    }
}

#[test]
fn calls_into_a_service_are_those_of_all_callers() {
    let kind = |mut span: Span, kind| {
        span.operation = format!("{} {kind:?}", span.service);
        span.kind = kind;
        span
    };
    // r calls P by a call of its own, and q, which records no call, asks P too; P is asked again by what it calls.
    let spans = [
        kind(span(1, 0, "r", 0, 1_000), SpanKind::Server),
        kind(span(2, 1, "r", 100, 300), SpanKind::Client),
        kind(span(3, 2, "P", 120, 280), SpanKind::Server),
        kind(span(4, 1, "q", 400, 900), SpanKind::Server),
        kind(span(5, 4, "P", 500, 850), SpanKind::Server),
        kind(span(6, 5, "P", 550, 800), SpanKind::Client),
        kind(span(7, 6, "x", 560, 790), SpanKind::Server),
        kind(span(8, 7, "x", 600, 700), SpanKind::Client),
        kind(span(9, 8, "P", 610, 690), SpanKind::Server),
    ];
    let of = |service: &str| CallTarget::Service(service.to_owned());
    let listed = |service: &str| {
        let calls = CallsOf::Target(of(service));
        let mut run = what_if_with(&spans, &spans, &Changes::default(), &calls);
        let mut all: Vec<u64> = run.take_calls().into_values().flat_map(|calls| calls.before_us).collect();
        all.sort_unstable();
        all
    };
    assert_eq!(listed("P"), [100, 200, 350]);
    assert_eq!([listed("x"), listed("q"), listed("r")], [vec![250], vec![500], vec![1_000]]);
    assert!(listed("nobody").is_empty());
    let with = |after_us| {
        let timeouts = vec![CallTimeout { of: of("P"), after_us, retry_us: Vec::new() }];
        let run = what_if_of(&spans, &spans, &Changes { timeouts, ..Changes::default() });
        (run.cut(), run.finish().after_us.p50)
    };
    assert_eq!(with(350), ((0, 0), 1_000.0));
    assert_eq!(with(190), ((2, 1), 830.0));
    // The call within the second one is cut first, which leaves 340 of 350.
    assert_eq!(with(90), ((3, 1), 630.0));
}

#[test]
fn children_without_length_at_one_instant_stand_in_a_row() {
    let order = order(10, &[(2, 5, 5), (1, 5, 5), (0, 2, 5), (3, 5, 8)]);
    let waits: Vec<Vec<u32>> = (0..4).map(|p| order.waits_for(p).to_vec()).collect();
    assert_eq!(waits, [vec![], vec![0], vec![0, 1], vec![0, 1, 2]]);
    let own = train(4, &[&order], FlowSettings { min_traces: 1, ..FlowSettings::default() });
    assert_eq!(estimate(&own, &order)[4..], [10.0, 10.0]);
    assert!(estimate(&own, &order)[0] >= 10.0);
}

// ---- properties ----

/// Makes an invocation of some of `nodes` nodes, with touching, nested, equal and empty intervals.
fn invocations(nodes: u32, most: u64) -> impl Strategy<Value = Order> {
    let child = (any::<bool>(), 0..=most, 0..=most / 2);
    (proptest::collection::vec(child, nodes as usize), 0..=most).prop_map(move |(children, tail)| {
        let children: Vec<(u32, u64, u64)> = (children.into_iter().enumerate())
            .filter(|(_, child)| child.0)
            .map(|(node, (_, start, length))| (node as u32, 100 + start, 100 + start + length))
            .collect();
        let end = children.iter().map(|c| c.2).max().unwrap_or(100) + tail;
        order_with(100, end, &children, None)
    })
}

/// Returns (P + L by node, P of the return).
fn taken(order: &Order, nodes: u32) -> (Vec<Option<u64>>, u64) {
    let mut taken = vec![None; nodes as usize];
    for (p, child) in order.children().iter().enumerate() {
        taken[child.node as usize] = Some(order.gap_us(p) as u64 + child.latency_us());
    }
    (taken, order.return_gap_us())
}

fn completion(flow: &FlowGraph, order: &Order) -> u64 {
    let (taken, return_gap) = taken(order, flow.len() as u32);
    flow.completion_us(&taken, return_gap, &mut Vec::new())
}

/// Returns the edges of an invocation, by definition; overlaps up to `overlap_us` count.
fn edges_with(order: &Order, overlap_us: u64) -> Vec<(u32, u32)> {
    let children = order.children();
    let mut edges = Vec::new();
    for (q, to) in children.iter().enumerate() {
        for (p, from) in children.iter().enumerate() {
            let at_once =
                from.start_us == from.end_us && to.start_us == to.end_us && from.end_us == to.start_us;
            let is_before = from.end_us <= to.start_us && (!at_once || from.node < to.node);
            let inside = |us: u64| to.start_us < us && us < from.end_us;
            let is_tolerated = from.end_us > to.start_us
                && from.end_us - to.start_us <= overlap_us
                && from.start_us < to.start_us
                && from.end_us < to.end_us
                && !children.iter().any(|c| inside(c.start_us) || inside(c.end_us));
            if p != q && (is_before || is_tolerated) {
                edges.push((from.node, to.node));
            }
        }
    }
    edges
}

fn edges(order: &Order) -> Vec<(u32, u32)> {
    edges_with(order, 0)
}

fn flow_of(nodes: u32, edges: &[(u32, u32)]) -> FlowGraph {
    let edges: Vec<_> = edges
        .iter()
        .map(|&(from, to)| pathlight::engine::flow::LearnedEdge { from, to, before: 1, both: 1 })
        .collect();
    FlowGraph::new(nodes as usize, &edges)
}

const NODES: u32 = 7;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn counted_edges_are_those_of_the_definition(order in invocations(NODES, 12), overlap_us in 0u64..6) {
        let (start, end) = order.interval_us();
        let children = order.children().to_vec();
        let mut order = Order::default();
        order.set(start, end, &children, Some(Overlap { overlap_us, share_ppm: u64::MAX }));
        let mut found: Vec<(u32, u32)> = (order.children().iter().enumerate())
            .flat_map(|(p, to)| {
                order.waits_for(p).iter().map(|&q| (order.children()[q as usize].node, to.node))
            })
            .collect();
        let mut expected = edges_with(&order, overlap_us);
        found.sort_unstable();
        expected.sort_unstable();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn an_invocations_own_graph_predicts_it_exactly(order in invocations(NODES, 12)) {
        let own = train(NODES, &[&order], FlowSettings { min_traces: 1, ..FlowSettings::default() });
        prop_assert_eq!(completion(&own.flow, &order), order.latency_us());
        let nearest = estimate(&own, &order)[5];
        prop_assert_eq!(nearest, order.latency_us() as f64);
    }

    #[test]
    fn fewer_edges_never_overpredict_and_more_never_lower(
        order in invocations(NODES, 12),
        keep in proptest::collection::vec(any::<bool>(), 64),
        more in 0usize..64,
    ) {
        let all = edges(&order);
        let chosen = |i: usize| keep[i % 64] || i == more;
        let some: Vec<_> = (0..all.len()).filter(|&i| keep[i % 64]).map(|i| all[i]).collect();
        let larger: Vec<_> = (0..all.len()).filter(|&i| chosen(i)).map(|i| all[i]).collect();
        let (some, larger) = (flow_of(NODES, &some), flow_of(NODES, &larger));
        let (low, high) = (completion(&some, &order), completion(&larger, &order));
        prop_assert!(low <= high, "{low} > {high}");
        prop_assert!(high <= order.latency_us());
    }

    #[test]
    fn the_serial_estimate_is_never_too_low(order in invocations(NODES, 12)) {
        let own = train(NODES, &[&order], FlowSettings::default());
        prop_assert!(estimate(&own, &order)[0] >= order.latency_us() as f64);
    }

    #[test]
    fn reduction_and_synchronisation_nodes_change_no_prediction(
        learned in proptest::collection::vec(invocations(NODES, 9), 1..5),
        asked in invocations(NODES, 9),
    ) {
        let mut pairs = PairCounts::new(NODES);
        learned.iter().for_each(|order| pairs.observe(order));
        let flow = pairs.flow(700_000);
        let reduction = flow.reduction();
        // All nodes present, as the reduction is that of the whole flow.
        let (mut taken, return_gap) = taken(&asked, NODES);
        taken.iter_mut().for_each(|t| *t = t.or(Some(3)));
        let expected = flow.completion_us(&taken, return_gap, &mut Vec::new());
        let sync = FlowGraph::sync_nodes(&reduction);
        let replaced = |&(from, to): &(u32, u32)| {
            sync.iter().any(|s| s.from.contains(&NodeId(from)) && s.to.contains(&NodeId(to)))
        };
        let mut edges: Vec<(u32, u32)> = reduction.iter().copied().filter(|e| !replaced(e)).collect();
        for (i, s) in sync.iter().enumerate() {
            edges.extend(s.from.iter().map(|from| (from.0, NODES + i as u32)));
            edges.extend(s.to.iter().map(|to| (NODES + i as u32, to.0)));
            taken.push(Some(0));
        }
        // Longest way by direct edges only, in as many rounds as there are nodes.
        let n = taken.len();
        let mut complete: Vec<u64> = taken.iter().map(|t| t.unwrap_or(0)).collect();
        for _ in 0..n {
            for &(from, to) in &edges {
                let way = complete[from as usize] + taken[to as usize].unwrap_or(0);
                complete[to as usize] = complete[to as usize].max(way);
            }
        }
        prop_assert_eq!(complete.iter().max().copied().unwrap_or(0) + return_gap, expected);
    }

    #[test]
    fn merged_counts_are_counts_of_all(
        orders in proptest::collection::vec(invocations(NODES, 9), 2..7),
        at in 1usize..6,
    ) {
        let settings = FlowSettings { min_traces: 1, ..FlowSettings::default() };
        let at = at.min(orders.len() - 1);
        let learn = |orders: &[Order]| {
            let mut training = PredictorTraining::new(NODES);
            for order in orders {
                let start = order.latency_us();
                training.observe(order, start, || key(start));
            }
            training
        };
        let mut merged = learn(&orders[at..]);
        merged.merge(learn(&orders[..at]));
        prop_assert_eq!(merged.finish(settings), learn(&orders).finish(settings));
    }
}

// ---- drag and slack ----

/// Returns when the parent ends, by the edges `i -> j` of the definition with tolerated overlaps, if child `changed`
/// takes `latency` instead of its own.
fn ends_at(order: &Order, changed: usize, latency: i64) -> i64 {
    let children = order.children();
    let mut complete = vec![0i64; children.len()];
    let mut last = 0;
    for p in 0..children.len() {
        let before: Vec<usize> = order.waits_for(p).iter().map(|&q| q as usize).collect();
        let latest = before.iter().map(|&q| children[q].end_us as i64).max();
        let gap = children[p].start_us as i64 - latest.unwrap_or(order.interval_us().0 as i64);
        let base = before.iter().map(|&q| complete[q]).max().unwrap_or(0);
        let own = if p == changed { latency } else { children[p].latency_us() as i64 };
        complete[p] = base + gap + own;
        last = last.max(complete[p]);
    }
    last + order.return_gap_us() as i64
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn drag_and_slack_agree_with_trying_it(
        order in invocations(NODES, 40),
        overlap_us in 0u64..8,
    ) {
        let (start, end) = order.interval_us();
        let overlap = Overlap { overlap_us, share_ppm: u64::MAX };
        let mut order = order.clone();
        let children = order.children().to_vec();
        order.set(start, end, &children, Some(overlap));
        let length = order.latency_us() as i64;
        let mut found = Vec::new();
        order.pressures(&mut found);
        for (p, &Pressure { drag_us, slack_us }) in found.iter().enumerate() {
            let own = order.children()[p].latency_us() as i64;
            // "By the longest way that avoids it": as if the child and all it holds up for itself were gone.
            let without = avoiding(&order, p);
            prop_assert_eq!(drag_us as i64, own.min(length - without), "drag of {}", p);
            if overlap_us == 0 {
                prop_assert_eq!(drag_us as i64, length - ends_at(&order, p, 0), "drag of {} by trying", p);
            }
            prop_assert_eq!(ends_at(&order, p, own + slack_us as i64), length, "slack of {}", p);
            prop_assert_eq!(ends_at(&order, p, own + slack_us as i64 + 1), length + 1, "slack of {}", p);
        }
    }
}

/// Returns the longest way from start to return that does not lead through child `avoided`, over all edges.
fn avoiding(order: &Order, avoided: usize) -> i64 {
    let children = order.children();
    let mut complete = vec![0i64; children.len()];
    let mut last = 0;
    for p in (0..children.len()).filter(|&p| p != avoided) {
        let before = order.waits_for(p).iter().map(|&q| q as usize);
        let base = before.filter(|&q| q != avoided).map(|q| complete[q]).max().unwrap_or(0);
        complete[p] = base + order.gap_us(p) + children[p].latency_us() as i64;
        last = last.max(complete[p]);
    }
    last + order.return_gap_us() as i64
}

/// Makes random trees: each span of a parent before it, inside it.
fn trees() -> impl Strategy<Value = Vec<Span>> {
    proptest::collection::vec((any::<prop::sample::Index>(), 0u64..=100, 0u64..=100), 1..14).prop_map(|raw| {
        let mut spans = vec![span(1, 0, "n0", 1_000, 2_000)];
        for (i, (parent, from, to)) in raw.into_iter().enumerate() {
            let parent = parent.index(spans.len());
            let (start, length) = (spans[parent].start_us, spans[parent].duration_us);
            let (low, high) = (from.min(to), from.max(to));
            let (low, high) = (start + length * low / 100, start + length * high / 100);
            spans.push(span(i as u64 + 2, parent as u64 + 1, &format!("n{}", i + 1), low, high));
        }
        spans
    })
}

/// Returns when the request ends if span `changed` takes `latency`: bottom-up through the tree, strict edges.
fn request_end(tree: &Tree, changed: Option<(u32, u64)>) -> u64 {
    let mut latency: Vec<u64> = (0..tree.len() as u32).map(|i| tree.duration_us(i)).collect();
    for i in (0..tree.len() as u32).rev() {
        let children: Vec<(u32, u64, u64)> =
            tree.sync_children(i).map(|c| (c, tree.start_us[c as usize], tree.end_us[c as usize])).collect();
        if !children.is_empty() {
            let order = order_with(tree.start_us[i as usize], tree.end_us[i as usize], &children, None);
            let mut complete = vec![0u64; children.len()];
            let mut last = 0;
            for (p, child) in order.children().iter().enumerate() {
                let base = order.waits_for(p).iter().map(|&q| complete[q as usize]).max().unwrap_or(0);
                complete[p] = base + order.gap_us(p) as u64 + latency[child.node as usize];
                last = last.max(complete[p]);
            }
            latency[i as usize] = last + order.return_gap_us();
        }
        if let Some((span, us)) = changed
            && span == i
        {
            latency[i as usize] = us;
        }
    }
    latency[0]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn drag_and_slack_of_a_request_agree_with_trying_it(spans in trees()) {
        let set = set_of(&spans);
        let mut tree = Tree::default();
        tree.load(&set, 0, PathSettings::default());
        let strict = Overlap::preset("strict").unwrap();
        let mut finder = PathFinder::default();
        finder.find(&set, &tree, 0, strict);
        let found = RequestPressure::of(&tree, 0, strict, &finder);
        let length = tree.duration_us(0);
        prop_assert_eq!((found.drag_us[0], found.slack_us[0]), (length, 0));
        for i in 1..tree.len() as u32 {
            let (drag, slack) = (found.drag_us[i as usize], found.slack_us[i as usize]);
            if tree.role[i as usize] == Role::Dropped {
                prop_assert_eq!((drag, slack), (RequestPressure::NONE, RequestPressure::NONE));
                continue;
            }
            prop_assert_eq!(drag, length - request_end(&tree, Some((i, 0))), "drag of span {}", i);
            let own = tree.duration_us(i);
            prop_assert_eq!(request_end(&tree, Some((i, own + slack))), length, "slack of span {}", i);
            prop_assert!(request_end(&tree, Some((i, own + slack + 1))) > length, "slack of span {}", i);
        }
    }
}

#[test]
fn a_fan_out_of_100_000_has_drag_and_slack_at_once() {
    let mut order = Order::default();
    let children: Vec<Child> = (0..100_000u32)
        .map(|i| {
            let start = u64::from(i % 977) * 13;
            Child { node: i, span: i, start_us: start, end_us: start + u64::from(i % 31) }
        })
        .collect();
    order.set(0, 20_000, &children, Some(Overlap::default()));
    let mut found = Vec::new();
    order.pressures(&mut found);
    assert_eq!(found.len(), 100_000);
    assert!(found.iter().any(|p| p.slack_us == 0));
}
