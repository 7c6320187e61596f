//! Execution flows as requests: any number of workers, real traces, and what-if against what really happens.

use crate::cases::case;
use crate::common::{generated, set_of, span};
use pathlight::base::statistics::{Percentiles, Random};
use pathlight::engine::flow::paper::{FlowSettings, Metric};
use pathlight::engine::flow::{
    AnyWay, CallTarget, ChangeOf, Changes, EndpointSaving, EvaluationReport, FlowParent, LatencyChange,
    Quantile, TargetReport, TargetWay, WhatIfReport,
};
use pathlight::engine::ids::NodeId;
use pathlight::engine::queries;
use pathlight::engine::requests::{Filter, PercentileRange, RootEndpoint, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::verdict::ServicePart;
use pathlight::generate::{Defects, GenerateOptions, Generator, Inject, Shape, Speed};
use pathlight::trace::Endpoint;
use pathlight::view::draw::Metrics;
use pathlight::view::flow::chart::{DagItem, DagLayout, DagSizes};

pub(super) fn pool(options: &GenerateOptions) -> NativePool {
    NativePool::of(vec![generated(options)]).unwrap()
}

fn endpoint(service: &str, operation: &str) -> Selection {
    let root = RootEndpoint::Endpoint(Endpoint::new(service, operation));
    Selection { root, ..Selection::default() }
}

/// Selects the slowest tenth of the requests.
fn tail(selection: &Selection) -> Selection {
    let tail = PercentileRange::open(90_000, 100_000);
    Selection { over_all: true, ..selection.with_range(tail) }
}

#[test]
fn flows_what_ifs_and_savings_are_about_the_selected_requests() {
    let options = GenerateOptions { traces: 300, seed: 8, ..GenerateOptions::default() };
    // Set B is slower, so no number of its is one of A's.
    let inject = Inject { place: "auth:Auth/ValidateToken:0".to_owned(), extra_us: 5000, share: 1.0 };
    let b = GenerateOptions { injects: vec![inject], traces: 120, ..options.clone() };
    let mut set = generated(&options);
    let mut both = NativePool::of(vec![generated(&options), crate::common::generated_as(&b, 1)]).unwrap();
    let settings = FlowSettings::default();
    let mut latencies: Vec<(u64, u128)> =
        set.traces().iter().map(|trace| (set.duration_us(trace.first), trace.id.bits)).collect();
    latencies.sort_unstable();
    let slow: Vec<u128> = latencies[270..].iter().map(|(_, id)| *id).collect();
    set.retain(|trace| slow.contains(&trace.id.bits));
    let mut only_tail = NativePool::of(vec![set]).unwrap();
    let whole = Selection::default();

    let savings = both.run(queries::Savings { selection: tail(&whole), settings }).unwrap();
    assert_eq!((savings.requests, savings.latency_us.max), (30, latencies[299].0));
    let changes = || slower("auth", "Auth/ValidateToken", 700);
    let query = queries::WhatIf { selection: tail(&whole), baseline: None, settings, changes: changes() };
    let report = both.run(query).unwrap();
    assert_eq!((report.requests, report.before_curve_us[0] as u64), (30, latencies[270].0));
    for endpoint in
        [Endpoint::new("auth", "Auth/ValidateToken"), Endpoint::new("edge-gateway", "GET /product/{id}")]
    {
        let flow =
            |selection: Selection| queries::Flow { selection, parent: Some(endpoint.clone()), settings };
        let of_tail = both.run(flow(tail(&whole))).unwrap();
        assert_eq!(of_tail, only_tail.run(flow(whole.clone())).unwrap());
        assert!(of_tail.invocations < both.run(flow(whole.clone())).unwrap().invocations);
    }
    // Set B is asked about B.
    let of_b = Selection { group: 1, ..whole.clone() };
    let parents = both.run(queries::FlowParents { selection: of_b.clone() }).unwrap();
    let invocations = |parents: &[FlowParent]| parents.iter().map(|p| p.invocations).sum::<u64>();
    assert!(
        invocations(&parents) < invocations(&both.run(queries::FlowParents { selection: whole }).unwrap())
    );
    assert_eq!(both.run(queries::Savings { selection: tail(&of_b), settings }).unwrap().requests, 12);
    let mut only_b = NativePool::of(vec![generated(&b)]).unwrap();
    let found = vec![Filter::HasError];
    for filters in [Vec::new(), found] {
        let of = |group| Selection { group, filters: filters.clone(), ..Selection::default() };
        let test = |group| queries::FlowEvaluation { selection: of(group), settings, min_children: 2 };
        let of_b = both.run(test(1)).unwrap();
        assert!(of_b.test > 0 && of_b == only_b.run(test(0)).unwrap());
        assert_ne!(of_b, both.run(test(0)).unwrap());
        let changed =
            |group| queries::WhatIf { selection: of(group), baseline: None, settings, changes: changes() };
        let of_b = both.run(changed(1)).unwrap();
        assert!(of_b.requests > 0 && of_b == only_b.run(changed(0)).unwrap());
        assert_ne!(of_b, both.run(changed(0)).unwrap());
    }
}

#[test]
fn a_flow_counts_the_invocations_that_are_not_root_spans() {
    // The client begins the request and only hands on to the server, of the same name: one invocation, which is no root.
    let of_trace = |trace: u64| {
        let mut spans =
            [span(1, 0, "frontend", 0, 500), span(2, 1, "frontend", 100, 450), span(3, 2, "cart", 150, 300)];
        spans.iter_mut().for_each(|span| span.trace = u128::from(trace));
        spans
    };
    let spans: Vec<_> = (1..=50).flat_map(of_trace).collect();
    let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
    let settings = FlowSettings::default();
    let flow = queries::Flow { selection: endpoint("frontend", "frontend"), parent: None, settings };
    let report = pool.run(flow).unwrap();
    assert_eq!((report.invocations, report.called), (50, 50));
}

#[test]
fn calls_of_one_endpoint_one_after_the_other_are_drawn_in_series() {
    // Each try begins when the one before has failed, up to four; then the endpoint calls itself twice. Its inner spans,
    // which wait for nothing, are no invocations of the flow.
    let mut spans = Vec::new();
    for trace in 0..20u64 {
        let tries = 1 + trace % 4;
        let mut trace_spans = vec![span(1, 0, "front", 0, 100 * tries + 250)];
        let call = |id: u64, name: &str, at: u64, end: u64| span(id, 1, name, at, end);
        trace_spans.extend((0..tries).map(|n| call(2 + n, "pay", 100 * n + 10, 100 * n + 60 + trace)));
        let then = 100 * tries;
        trace_spans.extend([call(10, "front", then, then + 99), call(11, "front", then + 100, then + 200)]);
        trace_spans.iter_mut().for_each(|span| span.trace = u128::from(trace) + 1);
        spans.extend(trace_spans);
    }
    let parent = Some(Endpoint::new("front", "front"));
    let query = queries::Flow { selection: Selection::default(), parent, settings: FlowSettings::default() };
    let report = NativePool::of(vec![set_of(&spans)]).unwrap().run(query).unwrap();
    let labels: Vec<&str> = report.nodes.iter().map(|node| node.label.as_str()).collect();
    assert_eq!(
        labels,
        ["front:front#1", "front:front#2", "pay:pay#1", "pay:pay#2", "pay:pay#3", "pay:pay#4"]
    );
    assert_eq!((report.invocations, report.childless), (20, 40));
    let layout = DagLayout::new(&report, DagSizes::for_nodes(report.nodes.len(), Metrics::default()));
    let place = |node: NodeId| layout.boxes.iter().find(|one| one.item == DagItem::Node(node)).unwrap();
    // One row from left to right, and lines from each to the next only: none that comes back to where it began.
    let series = [2, 3, 4, 5, 0, 1].map(NodeId);
    for pair in series.windows(2) {
        let (before, after) = (place(pair[0]), place(pair[1]));
        assert!(before.x + before.w < after.x && before.y == after.y, "{before:?} {after:?}");
    }
    let mut ends: Vec<(DagItem, DagItem)> = layout.lines.iter().map(|line| (line.from, line.to)).collect();
    let mut expected =
        vec![(DagItem::Start, DagItem::Node(series[0])), (DagItem::Node(series[5]), DagItem::Return)];
    expected.extend(series.windows(2).map(|pair| (DagItem::Node(pair[0]), DagItem::Node(pair[1]))));
    ends.sort();
    expected.sort();
    assert_eq!(ends, expected);
}

fn slower(service: &str, operation: &str, add_us: i64) -> Changes {
    let Endpoint { service, operation } = Endpoint::new(service, operation);
    Changes {
        latencies: vec![LatencyChange { service, operation, of: ChangeOf::OwnWork, share_ppm: 0, add_us }],
        ..Changes::default()
    }
}

pub(super) fn what_if(pool: &mut NativePool, changes: Changes) -> WhatIfReport {
    let query = queries::WhatIf {
        selection: Selection::default(),
        baseline: None,
        settings: FlowSettings::default(),
        changes,
    };
    pool.run(query).unwrap()
}

fn evaluate(pool: &mut NativePool, settings: FlowSettings) -> EvaluationReport {
    let query = queries::FlowEvaluation { selection: Selection::default(), settings, min_children: 2 };
    pool.run(query).unwrap()
}

#[test]
fn reports_are_the_same_for_any_number_of_workers_in_any_order() {
    let options =
        GenerateOptions { traces: 150, seed: 5, defects: Defects::ALL, ..GenerateOptions::default() };
    let part = |part: u128| {
        let mut set = generated(&options);
        set.retain(|trace| trace.id.bits % 3 == part);
        set
    };
    let settings = FlowSettings { min_traces: 2, ..FlowSettings::default() };
    let selection = Selection::default();
    let filtered = Selection { filters: vec![Filter::HasError], ..endpoint("catalog", "GET /product/{id}") };
    let cases = [
        case(queries::FlowParents { selection: selection.clone() }),
        case(queries::Flow {
            selection: endpoint("edge-gateway", "GET /product/{id}"),
            parent: None,
            settings,
        }),
        case(queries::FlowEvaluation { selection: selection.clone(), settings, min_children: 2 }),
        case(queries::FlowEvaluation {
            selection: endpoint("edge-gateway", "GET /product/{id}"),
            settings,
            min_children: 2,
        }),
        case(queries::WhatIf {
            selection: selection.clone(),
            baseline: None,
            settings,
            changes: slower("edge-gateway", "GET /product/{id}", -300),
        }),
        case(queries::WhatIf {
            selection: filtered.clone(),
            baseline: None,
            settings,
            changes: slower("catalog", "GET /product/{id}", 900),
        }),
        case(queries::Savings {
            selection: Selection { filters: vec![Filter::HasError], ..selection.clone() },
            settings,
        }),
        case(queries::Savings { selection: tail(&selection), settings }),
        case(queries::Target {
            selection: tail(&selection),
            baseline: Some(selection.clone()),
            settings,
            quantile: Quantile::P95,
            target_us: 30_000,
        }),
        case(queries::WhatIf {
            selection: tail(&selection),
            baseline: None,
            settings,
            changes: slower("edge-gateway", "GET /product/{id}", 900),
        }),
        case(queries::Timeout {
            selection: tail(&selection),
            settings,
            of: CallTarget::Endpoint(Endpoint::new("catalog", "GET /product/{id}")),
            baseline: None,
            timeout_us: None,
        }),
        case(queries::Timeout {
            selection: tail(&selection),
            settings,
            of: CallTarget::Service("catalog".to_owned()),
            baseline: Some(selection.clone()),
            timeout_us: None,
        }),
        case(queries::Mended {
            selection: tail(&selection),
            reference: selection.clone(),
            service: "catalog".to_owned(),
            part: ServicePart::Own,
        }),
        case(queries::Mended {
            selection: filtered,
            reference: selection.clone(),
            service: "pricing".to_owned(),
            part: ServicePart::In,
        }),
        case(queries::Flow {
            selection: tail(&selection),
            parent: Some(Endpoint::new("catalog", "GET /product/{id}")),
            settings,
        }),
        case(queries::FlowVariants {
            selection: tail(&selection),
            parent: Some(Endpoint::new("catalog", "GET /product/{id}")),
            settings,
        }),
        case(queries::Savings { selection, settings }),
    ];
    let mut one = pool(&options);
    let mut three = NativePool::of(vec![part(2), part(0), part(1)]).unwrap();
    for case in cases {
        let (a, b) = (case(&mut one), case(&mut three));
        assert!(a == b, "{} differs between one worker and three", a.0);
    }
}

#[test]
fn nothing_changes_if_nothing_is_changed() {
    let options = GenerateOptions { traces: 200, defects: Defects::ALL, ..GenerateOptions::default() };
    let report = what_if(&mut pool(&options), Changes::default());
    // Roots that stand for themselves are requests too.
    assert!(report.requests > 200);
    assert_eq!((report.changed, report.before_us), (0, report.after_us));
    let total: u128 = report.endpoints.iter().map(|e| e.after_us).sum();
    let sum = report.before_us.mean * report.requests as f64;
    assert!((total as f64 / sum - 1.0).abs() < 1e-3, "shares add up to {total} of {sum}");
}

#[test]
fn the_flow_of_a_generated_parent_is_the_one_it_was_made_with() {
    let options = GenerateOptions { traces: 300, ..GenerateOptions::default() };
    let mut pool = pool(&options);
    let selection = Selection::default();
    let parents = pool.run(queries::FlowParents { selection }).unwrap();
    assert!(parents.len() > 5);
    for parent in parents {
        let query = queries::Flow {
            selection: endpoint(&parent.service, &parent.operation),
            parent: None,
            settings: FlowSettings::default(),
        };
        let report = pool.run(query).unwrap();
        assert_eq!((report.invocations, report.nodes.len()), (parent.invocations, parent.nodes as usize));
        assert!(report.nodes.iter().all(|node| node.invocations <= report.invocations));
        assert!(report.edges.iter().all(|edge| edge.binding <= edge.both && edge.holds <= edge.both));
        // Every node is reached from the start and reaches the return.
        for node in (0..report.nodes.len() as u32).map(|node| Some(NodeId(node))) {
            assert!(report.edges.iter().any(|e| e.to == node) && report.edges.iter().any(|e| e.from == node));
        }
    }
}

#[test]
fn the_ranked_savings_are_those_of_single_what_ifs() {
    let options = GenerateOptions { traces: 120, seed: 3, ..GenerateOptions::default() };
    let mut pool = pool(&options);
    let (selection, settings) = (Selection::default(), FlowSettings::default());
    let savings = pool.run(queries::Savings { selection, settings }).unwrap();
    assert!(savings.endpoints.len() > 20);
    for row in savings.endpoints.iter().step_by(3) {
        for (level, share_ppm) in [-100_000, -500_000, -1_000_000].into_iter().enumerate() {
            let change = LatencyChange {
                service: row.service.clone(),
                operation: row.operation.clone(),
                of: ChangeOf::OwnWork,
                share_ppm,
                add_us: 0,
            };
            let report = what_if(&mut pool, Changes { latencies: vec![change], ..Changes::default() });
            let (before, after, saved) = (report.before_us, report.after_us, row.saved_us.levels()[level]);
            let name = format!("{}:{} at {share_ppm}", row.service, row.operation);
            for (was, is, saved) in [
                (before.mean, after.mean, saved.mean),
                (before.p50, after.p50, saved.p50),
                (before.p95, after.p95, saved.p95),
                (before.p99, after.p99, saved.p99),
            ] {
                assert!((was - is - saved).abs() < 1e-6 * was, "{name}: {was} - {is} is not {saved}");
            }
        }
    }
}

/// Returns p50, p95, p99.
pub(super) fn quantiles(summary: &Percentiles) -> [f64; 3] {
    [summary.p50, summary.p95, summary.p99]
}

#[test]
fn what_if_predicts_injected_delays_at_20_places() {
    let options = GenerateOptions { traces: 400, seed: 11, ..GenerateOptions::default() };
    let places = Generator::new(&options).unwrap().places();
    let mut before = pool(&options);
    let mean = what_if(&mut before, Changes::default()).before_us.mean;
    let mut worst: f64 = 0.0;
    for (i, place) in places.iter().take(20).enumerate() {
        let extra_us = (mean * [0.05, 0.2, 0.5, 1.0][i % 4]) as u64;
        let inject = Inject { place: place.name.clone(), extra_us, share: 1.0 };
        let injected = GenerateOptions { injects: vec![inject], ..options.clone() };
        let really = what_if(&mut pool(&injected), Changes::default()).before_us;
        let report = what_if(&mut before, slower(place.service, place.operation, extra_us as i64));
        for (predicted, actual) in quantiles(&report.after_us).into_iter().zip(quantiles(&really)) {
            let away = (predicted / actual - 1.0).abs();
            worst = worst.max(away);
            assert!(away < 0.05, "{} +{extra_us}: predicted {predicted}, really {actual}", place.name);
        }
    }
    println!("worst of 60 quantiles: {:.2} %", 100.0 * worst);
}

/// Returns the endpoints of 20 places chosen at random: of a shop with serial and parallel calls, of one parent with
/// waves of parallel calls, and of a chain of endpoints nested in themselves.
pub(super) fn chosen_endpoints() -> Vec<(GenerateOptions, String, String)> {
    let shop = GenerateOptions { traces: 400, seed: 11, ..GenerateOptions::default() };
    let wide = GenerateOptions { shape: Shape::Wide, spans: 40, ..shop.clone() };
    let deep = GenerateOptions { shape: Shape::Deep, spans: 41, ..shop.clone() };
    let mut random = Random::new(15, 1, 0);
    let mut chosen = Vec::new();
    for (options, count) in [(shop, 12), (wide, 4), (deep, 4)] {
        let places = Generator::new(&options).unwrap().places();
        let mut endpoints: Vec<(String, String)> =
            places.iter().map(|p| (p.service.to_owned(), p.operation.to_owned())).collect();
        endpoints.sort();
        endpoints.dedup();
        for _ in 0..count {
            let (service, operation) = endpoints.swap_remove(random.below(endpoints.len() as u64) as usize);
            chosen.push((options.clone(), service, operation));
        }
    }
    chosen
}

#[test]
fn what_if_predicts_faster_endpoints_at_20_random_places() {
    let (mut worst, mut effective, mut missed) = (0f64, 0, Vec::new());
    for (options, service, operation) in chosen_endpoints() {
        let mut before = pool(&options);
        for (of, share_ppm) in [
            (ChangeOf::OwnWork, -500_000),
            (ChangeOf::OwnWork, -1_000_000),
            (ChangeOf::WholeCall, -500_000),
            (ChangeOf::WholeCall, -1_000_000),
        ] {
            let speed = Speed {
                endpoint: format!("{service}:{operation}"),
                share_ppm: share_ppm as i32,
                is_whole: of == ChangeOf::WholeCall,
            };
            let change = LatencyChange {
                service: service.clone(),
                operation: operation.clone(),
                of,
                share_ppm,
                add_us: 0,
            };
            let report = what_if(&mut before, Changes { latencies: vec![change], ..Changes::default() });
            let faster = GenerateOptions { speeds: vec![speed.clone()], ..options.clone() };
            let really = what_if(&mut pool(&faster), Changes::default()).before_us;
            effective += usize::from(really.mean < 0.999 * report.before_us.mean);
            for (predicted, actual) in quantiles(&report.after_us).into_iter().zip(quantiles(&really)) {
                let away = (predicted / actual - 1.0).abs();
                worst = worst.max(away);
                if away >= 0.05 {
                    missed.push(format!("{speed:?}: predicted {predicted}, really {actual}"));
                }
            }
        }
    }
    println!("worst of 240 quantiles: {:.2} %; {effective} of 80 change the mean", 100.0 * worst);
    assert!(missed.is_empty(), "{missed:#?}");
    assert!(effective >= 52, "{effective}");
}

/// Returns how many ways of a report reach its target, and how far from it the traces of these options are at worst if they are
/// made once more with what was asked for: at most `bound`, as a share.
fn regenerated(options: &GenerateOptions, report: &TargetReport, bound: f64) -> (usize, f64) {
    let (mut checked, mut worst, target_us) = (0, 0f64, report.target_us as f64);
    for way in report.single.iter().chain(&report.together) {
        let Some(percent) = way.faster_percent else { continue };
        let speeds = way.endpoints.iter().map(|Endpoint { service, operation }| Speed {
            endpoint: format!("{service}:{operation}"),
            share_ppm: -10_000 * percent as i32,
            is_whole: false,
        });
        let faster = GenerateOptions { speeds: speeds.collect(), ..options.clone() };
        let really = report.quantile.of(&what_if(&mut pool(&faster), Changes::default()).before_us);
        // A whole percentage: not above the target, and not by more than a percent of what is saved below it.
        let least = target_us - (report.before_us - way.at_best_us) / percent as f64;
        let away = (really / target_us - 1.0).max(least / really - 1.0).max(0.0);
        worst = worst.max(away);
        assert!(away < bound, "{way:?}: {really} for {target_us}");
        checked += 1;
    }
    (checked, worst)
}

#[test]
fn what_a_target_asks_for_reaches_it_in_regenerated_traces() {
    let options = GenerateOptions { traces: 400, seed: 11, ..GenerateOptions::default() };
    let mut before = pool(&options);
    let (selection, settings) = (Selection::default(), FlowSettings::default());
    let was = what_if(&mut before, Changes::default()).before_us;
    let (mut checked, mut worst) = (0, 0f64);
    for quantile in Quantile::ALL {
        let savings = before.run(queries::Savings { selection: selection.clone(), settings }).unwrap();
        // What the third of the endpoints brings at most: some single ones reach it, and some only together.
        let best = queries::Target {
            selection: selection.clone(),
            baseline: None,
            settings,
            quantile,
            target_us: 1,
        };
        let best = before.run(best).unwrap();
        assert!(best.single.iter().all(|way| way.faster_percent.is_none()) && best.reaching == 0);
        let target_us = best.single[2].at_best_us.ceil() as u64;
        let query =
            queries::Target { selection: selection.clone(), baseline: None, settings, quantile, target_us };
        let report = before.run(query).unwrap();
        assert_eq!((report.requests, report.before_us), (400, quantile.of(&was)));
        assert!(report.reaching >= 3 && savings.endpoints.len() as u64 > report.reaching);
        assert!(report.together.iter().all(|way| way.faster_percent <= report.single[0].faster_percent));
        let (of, away) = regenerated(&options, &report, 0.05);
        (checked, worst) = (checked + of, worst.max(away));
        // Calls take no more than before, and a call of the root endpoint is a request.
        assert!(!report.budgets.is_empty());
        assert!(report.budgets.iter().all(|budget| budget.budget_us <= budget.before_us && budget.calls > 0));
        let reduced = |way: &TargetWay| {
            let of = |e: &Endpoint| {
                report.budgets.iter().any(|b| b.service == e.service && b.operation == e.operation)
            };
            way.endpoints.iter().all(of)
        };
        assert!(
            report.reaching_way() == Some(AnyWay::Endpoints(&report.single[0])) && reduced(&report.single[0])
        );
        assert!(report.budgets[0].budget_us < report.budgets[0].before_us);
        // A target that is reached already asks for nothing.
        let reached = queries::Target {
            selection: selection.clone(),
            baseline: None,
            settings,
            quantile,
            target_us: 1 << 40,
        };
        let reached = before.run(reached).unwrap();
        assert!(reached.is_reached() && reached.single.is_empty() && reached.together.is_empty());
    }
    println!("{checked} ways, at worst {:.2} % from the target", 100.0 * worst);
    assert!(checked >= 12, "{checked}");
}

#[test]
fn what_a_target_asks_for_of_calls_side_by_side_reaches_it_in_regenerated_traces() {
    let options = GenerateOptions {
        traces: 400,
        seed: 11,
        shape: Shape::Wide,
        spans: 40,
        ..GenerateOptions::default()
    };
    let mut before = pool(&options);
    let (mut checked, mut worst) = (0, 0f64);
    for quantile in Quantile::ALL {
        let mut run = |target_us| {
            let (selection, settings) = (Selection::default(), FlowSettings::default());
            before.run(queries::Target { selection, baseline: None, settings, quantile, target_us }).unwrap()
        };
        let best = run(1);
        let [two, three] = best.together.as_slice() else { panic!("{:?}", best.together) };
        assert!(three.at_best_us < two.at_best_us && two.at_best_us < best.single[0].at_best_us);
        // What the best two reach just so, and no single one.
        let report = run(two.at_best_us.ceil() as u64);
        assert_eq!(report.reaching, 0);
        assert!(report.together[1].faster_percent <= report.together[0].faster_percent);
        let (of, away) = regenerated(&options, &report, 0.05);
        (checked, worst) = (checked + of, worst.max(away));
    }
    println!("{checked} ways, at worst {:.2} % from the target", 100.0 * worst);
    assert_eq!(checked, 6);
}

/// Makes requests of a root with these calls (name, start, end), and 10 us of its own after the last.
fn requests(calls: &[(&str, u64, u64)]) -> NativePool {
    let mut spans = Vec::new();
    for trace in 1..=20_u64 {
        let end = calls.iter().map(|call| call.2).max().unwrap_or(0) + 10;
        let mut of_trace = vec![span(1, 0, "root", 1_000, 1_000 + end)];
        let call = |(name, start, end): (&str, u64, u64), id| span(id, 1, name, 1_000 + start, 1_000 + end);
        of_trace.extend(calls.iter().zip(2..).map(|(of, id)| call(*of, id)));
        of_trace.iter_mut().for_each(|span| span.trace = u128::from(trace));
        spans.extend(of_trace);
    }
    NativePool::of(vec![set_of(&spans)]).unwrap()
}

fn target(pool: &mut NativePool, target_us: u64) -> TargetReport {
    let (selection, settings) = (Selection::default(), FlowSettings::default());
    pool.run(queries::Target { selection, baseline: None, settings, quantile: Quantile::P50, target_us })
        .unwrap()
}

#[test]
fn of_calls_side_by_side_the_best_two_are_found_though_each_alone_saves_little() {
    // Of 357: a alone saves 5, b nothing; both together 300.
    let calls = [("a", 0, 300), ("b", 0, 295), ("c", 300, 320), ("d", 320, 335), ("e", 335, 347)];
    let mut pool = requests(&calls);
    let names = |way: &TargetWay| {
        let mut names: Vec<String> = way.endpoints.iter().map(|of| of.operation.clone()).collect();
        names.sort();
        names.concat()
    };
    let report = target(&mut pool, 200);
    assert_eq!((report.before_us, report.reaching), (357.0, 0));
    assert_eq!(report.single.iter().map(names).collect::<Vec<_>>(), ["c", "d", "e", "root", "a"]);
    assert_eq!(names(&report.together[0]), "ab");
    assert_eq!(report.together[0].at_best_us, 57.0);
    // Of 300 there may be left 143.
    assert_eq!(report.together[0].faster_percent, Some(53));
    assert_eq!(names(&report.together[1]), "abc");
    assert!(report.together[1].faster_percent < Some(53));
    // Three side by side, of which two together save no more than two others.
    let calls =
        [("a", 0, 300), ("b", 0, 299), ("c", 0, 298), ("d", 300, 320), ("e", 320, 335), ("f", 335, 347)];
    let report = target(&mut requests(&calls), 100);
    assert_eq!((names(&report.together[0]).as_str(), report.together[0].faster_percent), ("de", None));
    assert_eq!((names(&report.together[1]).as_str(), report.together[1].at_best_us), ("abc", 57.0));
    // What nothing decides is not added.
    let report = target(&mut requests(&[("a", 0, 300)]), 1);
    assert_eq!(report.together.iter().map(names).collect::<Vec<_>>(), ["aroot"]);
}

#[test]
fn every_endpoint_that_reaches_a_target_has_its_percentage() {
    let names: Vec<String> = (0..14).map(|n| format!("call-{n:02}")).collect();
    let calls = names.iter().zip(0..).map(|(name, n): (_, u64)| {
        // The last two are too short.
        (name.as_str(), 100_000 * n, 100_000 * n + if n < 12 { 50_000 + 1_000 * n } else { 20_000 })
    });
    let mut pool = requests(&calls.collect::<Vec<_>>());
    let before_us = target(&mut pool, 1).before_us;
    let report = target(&mut pool, before_us as u64 - 40_000);
    // The root works between its calls.
    assert_eq!((report.reaching, report.single.len()), (13, 13));
    for way in &report.single {
        let whole_us = before_us - way.at_best_us;
        assert_eq!(way.faster_percent, Some((100.0 * 40_000.0 / whole_us).ceil() as u32), "{way:?}");
    }
    // Those that do not reach it are listed up to ten.
    assert_eq!(target(&mut pool, 1).single.len(), 10);
}

#[test]
fn no_saving_of_own_work_is_above_its_time_on_the_critical_path() {
    for options in [
        GenerateOptions { traces: 200, seed: 4, ..GenerateOptions::default() },
        GenerateOptions { traces: 100, shape: Shape::Deep, spans: 31, ..GenerateOptions::default() },
        GenerateOptions { traces: 60, defects: Defects::ALL, ..GenerateOptions::default() },
    ] {
        let mut pool = pool(&options);
        let (selection, settings) = (Selection::default(), FlowSettings::default());
        let savings = pool.run(queries::Savings { selection, settings }).unwrap();
        let impact = pool.run(queries::Impact { selection: Selection::default() }).unwrap();
        let mut checked = 0;
        for row in impact.rows.iter().filter(|row| row.is_interior) {
            let (service, operation) = impact.name(row.endpoint);
            let is_it = |e: &&EndpointSaving| e.service == service && e.operation == operation;
            let Some(saving) = savings.endpoints.iter().find(is_it) else { continue };
            for (level, percent) in saving.saved_us.levels().iter().zip([10.0, 50.0, 100.0]) {
                let most = impact.saving_at_most_us(row, percent) / savings.requests as f64;
                // Each gap is rounded to a microsecond.
                let rounding = 20.0 * saving.spans as f64 / savings.requests as f64;
                assert!(level.mean <= most + rounding, "{service}:{operation}: {} above {most}", level.mean);
                checked += 1;
            }
        }
        assert!(checked >= 10);
    }
}

#[test]
fn flows_predict_real_traces_better_than_the_other_methods() {
    let Some(folder) = crate::common::shared_data(1) else { return };
    let file = folder.join("traceweaver-media/media_load25.json.gz");
    let mut pool = NativePool::of(vec![crate::common::load(&file, 1 << 16)]).unwrap();
    let report = evaluate(&mut pool, FlowSettings::default());
    assert_eq!((report.train, report.test), (3500, 3500));
    let p90 = |name: &str| report.methods.iter().find(|m| m.name == name).unwrap().error.p90;
    let (aggregate, nearest) = (p90("aggregate flow"), p90("nearest-neighbour flow"));
    assert!(aggregate <= 0.15, "aggregate {aggregate}");
    assert!(nearest <= 0.12, "nearest {nearest}");
    for other in ["serial", "parallel", "linear regression", "best critical path"] {
        assert!(aggregate.max(nearest) < p90(other), "{other}: {}", p90(other));
    }
}

#[test]
fn the_likeliest_cluster_predicts_real_traces_better_than_the_nearest_by_deviations() {
    let Some(folder) = crate::common::shared_data(2) else { return };
    // At 90 %, by the paper's distance, by that as a likelihood, and by the likelihood of logarithms.
    for (file, least, most) in [
        ("traceweaver-media/media_load25.json.gz", 0.15, [0.05, 0.02]),
        ("traceweaver-node/node_load25.json.gz", 0.8, [0.0, 0.0]),
    ] {
        let mut pool = NativePool::of(vec![crate::common::load(&folder.join(file), 1 << 16)]).unwrap();
        let mut nearest = |metric| {
            let report = evaluate(&mut pool, FlowSettings { metric, ..FlowSettings::default() });
            report.methods[5].error.p90
        };
        let [paper, gaussian, log] = [Metric::Paper, Metric::Gaussian, Metric::Likelihood].map(&mut nearest);
        assert!(paper > least, "{file}: {paper}");
        assert!(gaussian <= most[0] && log <= most[1] && log <= gaussian, "{file}: {gaussian} {log}");
    }
}
