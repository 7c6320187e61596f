//! Generated traces with any combination of defects, through all analyses: what must hold of every report holds.

use crate::cases::{Case, case};
use crate::common::generated;
use pathlight::base::encoding;
use pathlight::engine::anomalies::paper::FeatureEncoding;
use pathlight::engine::anomalies::{AnomalySettings, RequestLabel};
use pathlight::engine::diagnosis::{Aggregates, DiagnosisReport, DiagnosisSettings};
use pathlight::engine::flame::TraceReport;
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{CallTarget, Changes, PricedChanges, Quantile};
use pathlight::engine::heatmap::ColumnOrder;
use pathlight::engine::queries::{self, Query, SpanKey};
use pathlight::engine::requests::search::SpanSearch;
use pathlight::engine::requests::{PercentileRange, RootEndpoint, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::split::SplitOf;
use pathlight::engine::summaries::{Summary, SummarySettings, write};
use pathlight::engine::trend::{TrendAxis, TrendOfSummaries};
use pathlight::engine::verdict::ServicePart;
use pathlight::generate::{Defects, GenerateOptions, Shape};
use pathlight::trace::{Endpoint, PathSettings, TraceSet};
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;
use std::collections::{BTreeMap, BTreeSet};

prop_compose! {
    fn any_options()(
        bits in any::<u16>(), shape in 0u8..3, spans in 1u64..40, seed in any::<u64>()
    ) -> GenerateOptions {
        let bit = |at: u8| bits >> at & 1 == 1;
        let defects = Defects {
            orphans: bit(0),
            cycles: bit(1),
            duplicates: bit(2),
            zero_length: bit(3),
            skew: bit(4),
            several_roots: bit(5),
            missing_processes: bit(6),
            asynchronous: bit(7),
            outside: bit(8),
            overlay: bit(9),
            fire_and_forget: bit(10),
            generic_names: bit(11),
            ids_in_names: bit(12),
            queues: bit(13),
            messages: bit(14),
        };
        let shape = [Shape::Wide, Shape::Deep, Shape::Mixed][usize::from(shape)];
        GenerateOptions { traces: 20, spans, shape, seed, defects, ..GenerateOptions::default() }
    }
}

/// Returns the traces in three sets: every third trace in each.
fn dealt(options: &GenerateOptions) -> Vec<TraceSet> {
    let deal = |rest: usize| {
        let mut set = generated(options);
        let ids: Vec<_> = set.traces().iter().map(|trace| trace.id).collect();
        set.retain(|trace| ids.iter().position(|id| *id == trace.id).is_some_and(|at| at % 3 == rest));
        set
    };
    (0..3).map(deal).collect()
}

/// The places of a group: the number of the parent, service and operation of each.
type Places<'a> = Vec<(Option<u32>, &'a str, &'a str)>;

/// Returns how many traces the groups of a layer hold that have the same positions.
fn by_positions(report: &DiagnosisReport, layer: usize) -> BTreeMap<Places<'_>, u64> {
    let mut out = BTreeMap::new();
    for group in &report.layers[layer].groups {
        let positions = group.positions.iter().map(|at| (at.parent, at.service.as_str(), at.name.as_str()));
        *out.entry(positions.collect()).or_default() += group.traces;
    }
    out
}

/// Checks that what flame graph, endpoints, ranking and culprits show as parts of a whole adds up to it.
fn parts_add_up(
    pool: &mut NativePool,
    selection: &Selection,
    a: &Selection,
    b: &Selection,
) -> TestCaseResult {
    let path = pool.run(queries::CriticalPath { selection: selection.clone() }).unwrap();
    let whole = path.facts.latency_sum_us;
    let mut widths: Vec<u128> = path.nodes.iter().map(|node| node.exclusive_us.sum).collect();
    let mut own: BTreeMap<(&str, &str), u128> = BTreeMap::new();
    let mut roots = 0;
    // Parents stand first, so all that is below a node has been added.
    for (at, node) in path.nodes.iter().enumerate().rev() {
        prop_assert_eq!(node.subtree_us, widths[at]);
        match node.parent {
            Some(parent) => widths[parent.0 as usize] += widths[at],
            None => roots += widths[at],
        }
        prop_assert!(node.waiting.iter().map(|of| of.us).sum::<u128>() <= node.exclusive_us.sum);
        *own.entry(path.name(node.endpoint)).or_default() += node.exclusive_us.sum;
    }
    prop_assert_eq!(roots, whole);

    // The same time by endpoint, whatever the path; its chains are some of its paths.
    let endpoints = pool.run(queries::Endpoints { selection: selection.clone() }).unwrap();
    let rows = endpoints.endpoints.iter().map(Endpoint::names).zip(&endpoints.rows);
    let found: BTreeMap<_, _> = rows.map(|(name, row)| (name, row.exclusive_us.sum)).collect();
    prop_assert_eq!(found, own);
    for row in &endpoints.rows {
        let own = row.exclusive_us.sum;
        prop_assert!(row.chains.iter().map(|chain| chain.exclusive_us).sum::<u128>() <= own);
        prop_assert!(row.waiting.iter().map(|of| of.us).sum::<u128>() <= own);
        prop_assert!(
            row.share_interval.is_none_or(|of| 0.0 <= of.low && of.low <= of.high && of.high <= 1.0)
        );
    }

    // Over all root endpoints: the parts of an endpoint are its impact, those of a root endpoint its latency.
    let ranking = pool.run(queries::Impact { selection: selection.clone() }).unwrap();
    let mut of_roots = vec![0; ranking.roots.len()];
    for row in &ranking.rows {
        prop_assert!(row.interior_us <= row.exclusive_us);
        prop_assert_eq!(row.affected.iter().map(|of| of.exclusive_us).sum::<u128>(), row.exclusive_us);
        row.affected.iter().for_each(|of| of_roots[of.root as usize] += of.exclusive_us);
    }
    let latencies: Vec<u128> = ranking.roots.iter().map(|root| root.latency_us).collect();
    prop_assert_eq!((latencies.iter().sum::<u128>(), of_roots), (ranking.facts.latency_sum_us, latencies));

    // What services took longer for, and the other calls, are the change of the mean latency.
    let culprit = pool.run(queries::ServiceChanges { a: a.clone(), b: b.clone() }).unwrap();
    let parts = culprit.services.iter().flat_map(|service| service.parts());
    let excess: f64 = parts.map(|(_, part)| part.excess_us).sum();
    let [before, after] = culprit.mean_us;
    let sum = excess + culprit.mix_us;
    prop_assert!(
        (sum - (after - before)).abs() <= 1e-6 * after.max(before).max(1.0),
        "{} of {:?}",
        sum,
        culprit
    );
    for service in &culprit.services {
        prop_assert!(
            (service.share * after - service.score_us).abs() <= 1e-6 * after.max(1.0),
            "{:?}",
            service
        );
    }
    Ok(())
}

/// Queries to compare by their reports, and which kinds there are.
#[derive(Default)]
struct Cases {
    all: Vec<Case>,
    /// The first bytes of their messages.
    kinds: BTreeSet<u8>,
}

impl Cases {
    fn add<Q: Query>(&mut self, query: Q) {
        self.kinds.extend(query.to_message().first());
        self.all.push(case(query));
    }

    /// Adds the overview, without the memory that the sets take, and without copies of spans: those left out while reading
    /// stay counted in a set that keeps a part of its traces only.
    fn add_overview(&mut self) {
        let query = queries::Overview::default();
        self.kinds.extend(query.to_message().first());
        self.all.push(Box::new(move |pool| {
            let mut report = pool.run(query.clone()).unwrap();
            report.heap_bytes = 0;
            report.quality.duplicate_spans = 0;
            ("Overview".to_owned(), encoding::write(&report))
        }));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn defects_in_any_combination_break_no_invariant(options in any_options()) {
        let mut one = NativePool::of(vec![generated(&options)]).unwrap();
        let mut three = NativePool::of(dealt(&options)).unwrap();
        let selection = Selection::default();
        let settings = FlowSettings::default();

        // Whichever of several summaries comes first, and however they are grouped, the sum is the same file.
        let summed = SummarySettings::new(RootEndpoint::TraceRoots, PathSettings::default());
        let parts: Vec<Summary> =
            three.sessions().iter().map(|session| Summary::observe(&session.set, &summed)).collect();
        let merge = |a: Summary, b: Summary| Summary::merge(a, b).unwrap();
        let part = |at: usize| parts[at].clone();
        let joined = write(&merge(merge(part(0), part(1)), part(2))).unwrap();
        let others = [
            merge(part(2), merge(part(1), part(0))),
            merge(part(1), merge(part(0), part(2))),
            Summary::join(vec![part(2), part(0), part(1)]).unwrap(),
        ];
        for other in &others {
            prop_assert!(write(other).unwrap() == joined, "another order of summaries");
        }
        let days = [part(0), part(1), part(2), part(0), merge(part(1), part(2))];
        let trend = TrendOfSummaries::of(&days, TrendAxis::Days).unwrap();
        prop_assert!(trend.series.iter().all(|series| series.points.len() == days.len()));

        // Every moment of a request belongs to one span of its path.
        let halves = [(0, 50_000), (50_000, 100_000)]
            .map(|(from, to)| selection.with_range(PercentileRange::open(from, to)));
        parts_add_up(&mut one, &selection, &halves[0], &halves[1])?;

        // The shares of a request add to one, but for what is rounded away of each.
        let order = ColumnOrder::Latency;
        let heatmap = one.run(queries::Heatmap { selection: selection.clone(), columns: 1000, order }).unwrap();
        for column in 0..heatmap.column_requests.len() {
            let shares: Vec<u32> = heatmap.cells(column).map(|cell| heatmap.cell_share_ppm[cell]).collect();
            let sum: u32 = shares.iter().sum();
            if heatmap.column_latency_us[column] > 0 {
                prop_assert!(sum <= 1_000_000 && sum + shares.len() as u32 >= 1_000_000, "{} of {} cells", sum, shares.len());
            }
        }

        // No span saves more than it and all below it take on the path, nor more than its parent; and the path of a request
        // has no gap and no overlap.
        let ids: Vec<String> = {
            let set = &one.sessions()[0].set;
            (0..set.traces().len() as u32).map(|trace| set.trace_id_text(trace)).collect()
        };
        for trace_id in ids {
            let settings = selection.settings();
            let query = queries::Trace {
                trace_id,
                root_span_id: None,
                settings,
                group: 0,
                has_pressures: true,
            };
            let trace = one.run(query.clone()).unwrap().unwrap();
            // The page asks in two steps, and has the same in the end.
            let mut early = one.run(queries::Trace { has_pressures: false, ..query.clone() }).unwrap().unwrap();
            prop_assert!(early.drag_us.is_empty() && early.slack_us.is_empty());
            let late = one.run(queries::Pressures { of: query }).unwrap().unwrap();
            (early.drag_us, early.slack_us) = (late.drag_us, late.slack_us);
            prop_assert_eq!(&early, &trace);
            let mut on_path_us = vec![0; trace.parent.len()];
            for (at, &span) in trace.segment_span.iter().enumerate() {
                on_path_us[span as usize] += trace.segment_end_us[at] - trace.segment_start_us[at];
            }
            for span in (0..trace.parent.len()).rev() {
                // Parents stand first, so all that is below has been added.
                let (own_us, drag_us) = (on_path_us[span], trace.drag_us[span]);
                let parent = trace.parent[span] as usize;
                if let Some(sum) = on_path_us.get_mut(parent) {
                    *sum += own_us;
                }
                if drag_us != TraceReport::NOT_WAITED {
                    prop_assert!(drag_us <= own_us && drag_us <= trace.duration_us[span]);
                    prop_assert!(trace.drag_us.get(parent).is_none_or(|parents| drag_us <= *parents));
                }
            }
            let mut segments: Vec<(u64, u64)> =
                trace.segment_start_us.iter().copied().zip(trace.segment_end_us.iter().copied()).collect();
            segments.sort_unstable();
            prop_assert!(segments.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{:?}", segments);
        }

        // Changing nothing changes nothing.
        let changes = Changes::default();
        let what_if = one.run(queries::WhatIf { selection: selection.clone(), baseline: None, settings, changes }).unwrap();
        prop_assert_eq!((what_if.changed, &what_if.before_us), (0, &what_if.after_us));

        // Each layer holds every trace once; the fourth takes the groups of the third apart.
        let listed = DiagnosisSettings { groups: 1000, ..DiagnosisSettings::default() };
        let diagnosis = one.run(queries::Diagnosis { selection: selection.clone(), settings: listed }).unwrap();
        for layer in &diagnosis.layers {
            prop_assert_eq!(layer.groups.iter().map(|group| group.traces).sum::<u64>(), diagnosis.traces);
            prop_assert_eq!(layer.groups_in_all, layer.groups.len() as u64);
        }
        prop_assert_eq!(by_positions(&diagnosis, 2), by_positions(&diagnosis, 3));

        // One set or three: the same bytes, of every query there is.
        let whole = selection.clone();
        let [bulk, tail] = halves;
        let overview = one.run(queries::Overview::default()).unwrap();
        let root = overview.endpoints.first().map(|of| Endpoint::new(&of.service, &of.operation)).unwrap_or_default();
        let parents = one.run(queries::FlowParents { selection: whole.clone() }).unwrap();
        let parent = parents.iter().map(|of| Endpoint::new(&of.service, &of.operation)).next();
        let found = one.run(queries::Findings { selection: whole.clone(), baseline: Some(bulk.clone()) }).unwrap();
        let trace_id = one.sessions()[0].set.trace_id_text(0);
        let anomaly = AnomalySettings::default;
        let tprof = DiagnosisSettings::default;
        let paths = PathSettings::default;
        let key = || "host".to_owned();
        let search = || SpanSearch::parse("error= OR db");
        let evaluation =
            queries::AnomalyEvaluation { selection: whole.clone(), seed: 1, splits: 2, settings: anomaly() };
        let fault = queries::LabelledFault {
            normal: bulk.clone(),
            faulty: tail.clone(),
            service: "edge-gateway".to_owned(),
            seed: 1,
            splits: 1,
            settings: anomaly(),
        };
        let mut cases = Cases::default();
        cases.add_overview();
        cases.add(queries::Range { selection: tail.clone() });
        cases.add(queries::Requests { selection: tail.clone(), limit: 5 });
        cases.add(queries::AtLatencies { selection: whole.clone() });
        cases.add(queries::PathsAtLatencies { selection: whole.clone() });
        cases.add(queries::ServiceMap { selection: tail.clone(), baseline: Some(whole.clone()) });
        cases.add(queries::CriticalPath { selection: whole.clone() });
        cases.add(queries::Endpoints { selection: tail.clone() });
        cases.add(queries::PerRequest { selection: whole.clone() });
        cases.add(queries::Impact { selection: whole.clone() });
        cases.add(queries::Heatmap { selection: whole.clone(), columns: 7, order: ColumnOrder::Latency });
        cases.add(queries::Histograms { selection: whole.clone() });
        cases.add(queries::Errors { selection: whole.clone() });
        cases.add(queries::Queues { selection: whole.clone() });
        cases.add(fault.clone());
        cases.add(queries::FlowParents { selection: whole.clone() });
        cases.add(queries::Flow { selection: whole.clone(), parent, settings });
        cases.add(queries::FlowVariants { selection: whole.clone(), parent: Some(root.clone()), settings });
        cases.add(queries::FlowEvaluation { selection: whole.clone(), settings, min_children: 1 });
        cases.add(queries::WhatIf { selection: whole.clone(), baseline: None, settings, changes: Changes::default() });
        cases.add(queries::Savings { selection: whole.clone(), settings });
        cases.add(queries::Parallelise { selection: whole.clone(), settings });
        cases.add(queries::Headroom { selection: whole.clone(), settings, quantile: Quantile::P95, limit_us: 1_000_000_000 });
        cases.add(queries::Deployments { selection: whole.clone(), key: None });
        cases.add(queries::Capacity { selection: whole.clone(), settings });
        cases.add(queries::Instrument { selection: whole.clone() });
        cases.add(queries::Cheapest { selection: whole.clone(), baseline: None, settings, quantile: Quantile::P95, target_us: 1, options: vec![PricedChanges::default(); 2] });
        cases.add(queries::Target { selection: whole.clone(), baseline: None, settings, quantile: Quantile::P95, target_us: 1 });
        cases.add(queries::Timeout { selection: whole.clone(), baseline: None, settings, of: CallTarget::Endpoint(root.clone()), timeout_us: None });
        for part in [ServicePart::Own, ServicePart::In, ServicePart::Out] {
            let (selection, reference, service) = (tail.clone(), bulk.clone(), root.service.clone());
            cases.add(queries::Mended { selection, reference, service, part });
        }
        cases.add(queries::Diagnosis { selection: whole.clone(), settings: tprof() });
        cases.add(queries::AggregateTraces { selection: whole.clone(), settings: tprof(), wanted: Aggregates::One(0) });
        cases.add(queries::CompareDiagnoses { a: bulk.clone(), b: tail.clone() });
        cases.add(queries::Anomalies { train: whole.clone(), test: whole.clone(), settings: anomaly() });
        cases.add(queries::Anomalies { train: bulk.clone(), test: tail.clone(), settings: anomaly() });
        let (train, test) = (whole.clone(), tail.clone());
        cases.add(queries::AnomalyModel { train, test, settings: anomaly() });
        for (is_normal, train) in [(true, &bulk), (false, &whole)] {
            let labels = vec![RequestLabel { trace_id: trace_id.clone(), root_span_id: None, is_normal }];
            let settings = AnomalySettings { labels, ..anomaly() };
            let (train, test) = (train.clone(), whole.clone());
            cases.add(queries::AnomalyModel { train: train.clone(), test: test.clone(), settings: settings.clone() });
            cases.add(queries::Anomalies { train, test, settings });
        }
        cases.add(evaluation.clone());
        cases.add(queries::AnomalyVectors { train: bulk.clone(), test: Some(tail.clone()), encoding: FeatureEncoding::default() });
        cases.add(queries::Findings { selection: whole.clone(), baseline: None });
        cases.add(queries::Findings { selection: tail.clone(), baseline: Some(bulk.clone()) });
        cases.add(queries::LateFindingsQuery::of(whole.clone(), Some(bulk.clone()), &found));
        cases.add(queries::Tags { selection: whole.clone() });
        cases.add(queries::TagValues { selection: whole.clone(), key: key() });
        cases.add(queries::TagSums { selection: whole.clone(), key: key(), by: None });
        cases.add(queries::TagSums { selection: whole.clone(), key: key(), by: Some(key()) });
        cases.add(queries::Proposals { selection: whole.clone(), of: SplitOf::Latency });
        cases.add(queries::Split { selection: whole.clone(), of: SplitOf::Latency, key: key(), sum: None });
        cases.add(queries::Split { selection: whole.clone(), of: SplitOf::Calls(root), key: key(), sum: None });
        cases.add(queries::Search { selection: whole.clone(), search: search() });
        cases.add(queries::ServiceChanges { a: bulk.clone(), b: tail.clone() });
        cases.add(queries::VerdictHits { a: bulk.clone(), b: tail.clone() });
        cases.add(queries::Compare { a: whole.clone(), b: whole.clone() });
        cases.add(queries::Compare { a: bulk, b: tail });
        let trace = queries::Trace {
            trace_id: trace_id.clone(),
            root_span_id: None,
            settings: paths(),
            group: 0,
            has_pressures: false,
        };
        cases.add(queries::Pressures { of: trace.clone() });
        cases.add(queries::LinkedTraces { of: trace.clone() });
        cases.add(queries::AmongLike { of: trace.clone() });
        cases.add(queries::JaegerPath { of: trace.clone() });
        cases.add(queries::NearestNormal { of: trace.clone(), selection: whole.clone() });
        cases.add(queries::MissingTraces { group: 0 });
        cases.add(trace);
        cases.add(queries::FindSpans { trace_id: trace_id.clone(), settings: paths(), group: 0, search: search() });
        cases.add(queries::Span { trace_id, span: SpanKey::Index(0), group: 0 });
        cases.add(queries::NamePseudonyms {});
        cases.add(queries::Trend::default());
        let lacking: Vec<u8> = (0..queries::COUNT).filter(|kind| !cases.kinds.contains(kind)).collect();
        prop_assert!(lacking.is_empty(), "queries, by their place in the list of crate engine: {:?}", lacking);
        let differ = cases.all.iter().filter_map(|case| {
            let (query, report) = case(&mut one);
            (case(&mut three).1 != report).then_some(query)
        });
        // Evaluations also say how long they took.
        let takes_time = |query: &String| ["AnomalyEvaluation", "LabelledFault"].iter().any(|of| query.starts_with(of));
        let differ = differ.filter(|query| !takes_time(query));
        prop_assert_eq!(differ.collect::<Vec<_>>(), Vec::<String>::new());
        let [of_one, of_three] = [&mut one, &mut three].map(|pool| {
            let mut table = pool.run(evaluation.clone()).unwrap();
            for row in &mut table.rows {
                (row.train_ms, row.score_ms) = (None, None);
            }
            table
        });
        prop_assert_eq!(of_one, of_three);
        let [of_one, of_three] = [&mut one, &mut three].map(|pool| {
            let mut report = pool.run(fault.clone()).unwrap();
            for row in &mut report.detectors {
                (row.train_ms, row.score_ms) = (None, None);
            }
            report
        });
        prop_assert_eq!(of_one, of_three);
    }
}
