//! A worker ends while a query is worked out, for every query that there is.

use super::super::tests::*;
use super::sim::Sim;
use crate::anomalies::AnomalySettings;
use crate::anomalies::paper::FeatureEncoding;
use crate::diagnosis::{Aggregates, DiagnosisSettings};
use crate::findings::FindingsReport;
use crate::flow::paper::FlowSettings;
use crate::flow::{CallTarget, Changes, PricedChanges, Quantile};
use crate::heatmap::ColumnOrder;
use crate::pool::QueryError;
use crate::queries::{self, ListedQuery as _, SpanKey};
use crate::requests::search::SpanSearch;
use crate::requests::{PercentileRange, Selection};
use crate::split::SplitOf;
use crate::verdict::ServicePart;
use pathlight_trace::{Endpoint, PathSettings};
use std::collections::BTreeSet;

/// Returns a message of every query.
fn every() -> Vec<Vec<u8>> {
    let all = Selection::default;
    let (a, b) = (
        all().with_range(PercentileRange::open(0, 50_000)),
        all().with_range(PercentileRange::open(50_000, 100_000)),
    );
    let (settings, search) = (FlowSettings::default(), || SpanSearch::parse("error= OR db"));
    let (trace_id, root) = (format!("{:032x}", 3), Endpoint::new("s", "op0"));
    let (tprof, anomaly) = (DiagnosisSettings::default, AnomalySettings::default);
    let trace = || queries::Trace {
        trace_id: trace_id.clone(),
        root_span_id: None,
        settings: PathSettings::default(),
        group: 0,
        has_pressures: true,
    };
    let found = FindingsReport::default();
    let key = || "http.status_code".to_owned();
    [
        queries::Overview::default().to_message(),
        queries::CriticalPath { selection: all() }.to_message(),
        queries::Impact { selection: all() }.to_message(),
        queries::Compare { a: a.clone(), b: b.clone() }.to_message(),
        queries::ServiceChanges { a: a.clone(), b: b.clone() }.to_message(),
        queries::VerdictHits { a: a.clone(), b: b.clone() }.to_message(),
        queries::Diagnosis { selection: all(), settings: tprof() }.to_message(),
        queries::AggregateTraces { selection: all(), settings: tprof(), wanted: Aggregates::One(0) }
            .to_message(),
        queries::CompareDiagnoses { a: a.clone(), b: b.clone() }.to_message(),
        queries::Endpoints { selection: all() }.to_message(),
        queries::Errors { selection: all() }.to_message(),
        queries::Findings { selection: b.clone(), baseline: Some(a.clone()) }.to_message(),
        queries::LateFindingsQuery::of(b.clone(), Some(a.clone()), &found).to_message(),
        queries::Flow { selection: all(), parent: Some(root.clone()), settings }.to_message(),
        queries::FlowParents { selection: all() }.to_message(),
        queries::FlowEvaluation { selection: all(), settings, min_children: 1 }.to_message(),
        queries::WhatIf { selection: all(), baseline: None, settings, changes: Changes::default() }
            .to_message(),
        queries::Savings { selection: all(), settings }.to_message(),
        queries::Target { selection: all(), baseline: None, settings, quantile: Quantile::P95, target_us: 1 }
            .to_message(),
        queries::Timeout {
            selection: all(),
            baseline: None,
            settings,
            of: CallTarget::Endpoint(root.clone()),
            timeout_us: None,
        }
        .to_message(),
        queries::Mended {
            selection: b.clone(),
            reference: a.clone(),
            service: root.service.clone(),
            part: ServicePart::Own,
        }
        .to_message(),
        queries::Heatmap { selection: all(), columns: 40, order: ColumnOrder::Start }.to_message(),
        queries::Histograms { selection: all() }.to_message(),
        queries::AtLatencies { selection: all() }.to_message(),
        queries::Range { selection: all() }.to_message(),
        queries::Requests { selection: all(), limit: 5 }.to_message(),
        queries::PerRequest { selection: all() }.to_message(),
        queries::Tags { selection: all() }.to_message(),
        queries::TagValues { selection: all(), key: key() }.to_message(),
        queries::TagSums { selection: all(), key: key(), by: None }.to_message(),
        queries::Proposals { selection: all(), of: SplitOf::Latency }.to_message(),
        queries::Split { selection: all(), of: SplitOf::Calls(root), key: key(), sum: None }.to_message(),
        queries::Search { selection: all(), search: search() }.to_message(),
        queries::NamePseudonyms {}.to_message(),
        queries::Anomalies { train: a.clone(), test: b.clone(), settings: anomaly() }.to_message(),
        queries::AnomalyModel { train: all(), test: all(), settings: anomaly() }.to_message(),
        queries::AnomalyEvaluation { selection: all(), seed: 1, splits: 1, settings: anomaly() }.to_message(),
        queries::AnomalyVectors {
            train: a.clone(),
            test: Some(b.clone()),
            encoding: FeatureEncoding::default(),
        }
        .to_message(),
        queries::LabelledFault {
            normal: a,
            faulty: b,
            service: "s".to_owned(),
            seed: 1,
            splits: 1,
            settings: anomaly(),
        }
        .to_message(),
        trace().to_message(),
        queries::Pressures { of: trace() }.to_message(),
        queries::FindSpans {
            trace_id: trace_id.clone(),
            settings: PathSettings::default(),
            group: 0,
            search: search(),
        }
        .to_message(),
        queries::Span { trace_id: trace_id.clone(), span: SpanKey::Index(0), group: 0 }.to_message(),
        queries::Trend::default().to_message(),
        queries::Queues { selection: all() }.to_message(),
        queries::LinkedTraces { of: trace() }.to_message(),
        queries::MissingTraces { group: 0 }.to_message(),
        queries::PathsAtLatencies { selection: all() }.to_message(),
        queries::ServiceMap { selection: all().with_range(PercentileRange::TAIL), baseline: Some(all()) }
            .to_message(),
        queries::AmongLike { of: trace() }.to_message(),
        queries::JaegerPath { of: trace() }.to_message(),
        queries::Parallelise { selection: all(), settings }.to_message(),
        queries::Headroom { selection: all(), settings, quantile: Quantile::P95, limit_us: 1_000_000 }
            .to_message(),
        queries::Deployments { selection: all(), key: None }.to_message(),
        queries::NearestNormal { of: trace(), selection: all() }.to_message(),
        queries::Capacity { selection: all(), settings }.to_message(),
        queries::Instrument { selection: all() }.to_message(),
        queries::FlowVariants { selection: all(), parent: None, settings }.to_message(),
        queries::Cheapest {
            selection: all(),
            baseline: None,
            settings,
            quantile: Quantile::P95,
            target_us: 1,
            options: vec![PricedChanges::default(); 2],
        }
        .to_message(),
    ]
    .into()
}

/// Asks a query; returns its answer, and the steps until it came.
fn answer(sim: &mut Sim, number: u64, message: &[u8]) -> (Result<Vec<u8>, QueryError>, u32) {
    let before = sim.steps;
    sim.query(number, message);
    sim.run_until_idle();
    (sim.answers.remove(&number).unwrap(), sim.steps - before)
}

#[test]
fn a_worker_may_end_in_the_middle_of_every_query() {
    let messages = every();
    let numbers: BTreeSet<u8> = messages.iter().map(|message| message[0]).collect();
    let missing: Vec<u8> = (0..queries::COUNT).filter(|number| !numbers.contains(number)).collect();
    assert!(missing.is_empty(), "the queries {missing:?} are not among them");
    // Evaluations also say how long they took, so that of these only the length can be compared.
    let evaluations = [queries::AnomalyEvaluation::NUMBER, queries::LabelledFault::NUMBER];
    // By message: what nobody disturbs, and how many steps that takes.
    let load = || {
        let mut sim = Sim::new(3, 5);
        sim.load(&texts());
        sim
    };
    let mut sim = load();
    let undisturbed: Vec<_> = (1..).zip(&messages).map(|(n, message)| answer(&mut sim, n, message)).collect();
    let mut lost = 0;
    for third in 0..3 {
        let mut sim = load();
        for (at, (message, (expected, steps))) in messages.iter().zip(&undisturbed).enumerate() {
            let number = 10 + 2 * at as u64;
            sim.query(number, message);
            for _ in 0..steps * third / 3 {
                sim.step();
            }
            sim.kill(at % 3);
            sim.run_until_idle();
            let mut found = sim.answers.remove(&number).unwrap();
            if matches!(found, Err(QueryError::WorkerLost | QueryError::Stale)) {
                // As the page does: what was wanted is asked again.
                lost += 1;
                found = answer(&mut sim, number + 1, message).0;
            }
            let short =
                |answer: &Result<Vec<u8>, QueryError>| answer.as_ref().map(Vec::len).map_err(Clone::clone);
            let is_same = match evaluations.contains(&message[0]) {
                true => short(&found) == short(expected),
                false => found == *expected,
            };
            assert!(
                is_same,
                "query {at}, a worker ended after {third} thirds of {steps} steps: {:?} in place of {:?}",
                short(&found),
                short(expected)
            );
            assert_eq!(sim.traces(0), 269);
        }
    }
    // Most queries wait for the worker that ends; one that finds its traces elsewhere does not.
    assert!(lost > 2 * messages.len(), "only {lost} of {} queries lost their worker", 3 * messages.len());
}
