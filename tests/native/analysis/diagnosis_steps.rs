//! The diagnosis of large traces works in small steps, whatever their shape.

use crate::common::{Span, set_of, span};
use pathlight::base::steps::{Pace, STEP, WorkCount, all_at_once};
use pathlight::engine::diagnosis::{
    Aggregates, DiagnosisReport, DiagnosisSettings, Merging, TraceCollector, TracesPart,
};
use pathlight::engine::queries::{self, Query};
use pathlight::engine::requests::{RequestTypes, Selection, TypeNames};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::run::{Cuts, Plan, PlanStep, Session};
use pathlight::trace::{PathSettings, TraceSet, Tree};
use std::sync::Arc;

const SPANS: u64 = 100_000;
/// Spans between two looks at the clock.
const CHUNK: usize = 512;

/// Makes a trace whose span `i` is below span `parent(i)`, each shorter than its parent. Calls overlap.
fn a_trace(parent: impl Fn(u64) -> u64) -> TraceSet {
    let mut spans: Vec<Span> = vec![span(1, 0, "root", 1000, 1000 + 4 * SPANS)];
    for i in 1..SPANS {
        let above = parent(i);
        let (start, end) = (
            spans[above as usize].start_us,
            spans[above as usize].start_us + spans[above as usize].duration_us,
        );
        let start = start + (i * 7919) % ((end - start) / 2).max(1);
        let length = ((i * 104_729) % (end - start).max(1)).max((end - start) * 9 / 10).min(end - start);
        let name = ["a", "b", "c", "d", "e"][(i * 31 % 5) as usize];
        spans.push(span(i + 1, above + 1, name, start, start + length));
    }
    set_of(&spans)
}

fn shapes() -> [(&'static str, TraceSet); 3] {
    [
        ("a chain", a_trace(|i| i - 1)),
        ("one parent", a_trace(|_| 0)),
        ("ten children each", a_trace(|i| (i - 1) / 10)),
    ]
}

/// Returns what the worker makes of a set, and how often it looked at the clock.
fn part(set: &TraceSet) -> (TracesPart, usize) {
    let roots = set.traces().iter().map(|trace| trace.first);
    let types = Arc::new(RequestTypes::new(set, roots, &TypeNames::default(), Default::default()));
    let (mut collector, mut tree, mut looks) = (TraceCollector::new(set, types), Tree::default(), 0);
    tree.load(set, 0, PathSettings::default());
    while !collector.step(set, &tree, (0, 0), &mut { CHUNK }) {
        looks += 1;
    }
    (collector.take(), looks)
}

/// Returns the report, and the most work between two pauses.
fn report(part: TracesPart) -> (DiagnosisReport, WorkCount) {
    let done = WorkCount::default();
    let counted = done.clone();
    let report = all_at_once(async move {
        let (mut merging, mut pace) = (Merging::default(), Pace::telling(&counted));
        merging.add(part, &mut pace).await;
        let traces = merging.finish(&mut pace).await;
        traces.report(&DiagnosisSettings::default(), &mut pace).await
    });
    (report, done)
}

#[test]
fn no_shape_of_a_large_trace_makes_a_long_step() {
    for (name, set) in shapes() {
        let (part, looks) = part(&set);
        // Each span is looked at for its place, its form and its times.
        assert!(looks > 3 * SPANS as usize / CHUNK, "{name}: {looks} looks at the clock");
        // The forms of a hundred thousand children are looked up in steps too.
        assert!(name != "one parent" || looks > 9 * SPANS as usize / CHUNK, "{looks} looks at the clock");
        let (report, done) = report(part);
        assert_eq!(report.traces, 1, "{name}");
        assert!(done.units() > 30 * SPANS, "{name}: {} units", done.units());
        assert!(done.longest() < 2 * STEP, "{name}: {} units in a step", done.longest());
    }
}

#[test]
fn what_is_written_of_a_large_trace_has_a_step_of_its_own() {
    for (name, set) in shapes() {
        let mut session = Session::of(set);
        let query =
            queries::Diagnosis { selection: Selection::default(), settings: DiagnosisSettings::default() };
        // Requests are found and cut before.
        session.run(query.clone()).unwrap();
        let mut plan = Plan::of_message(&query.to_message(), &Cuts::default()).unwrap();
        let (mut partials, mut most) = (Vec::new(), 0);
        loop {
            match plan.next(std::mem::take(&mut partials)).unwrap() {
                PlanStep::Pass(pass) => {
                    let (mut task, mut steps) = (session.start(&pass).unwrap(), 1);
                    // The clock never ends a step.
                    partials = loop {
                        match task.step(&mut session, &mut || false).unwrap() {
                            Some(partial) => break vec![partial],
                            None => steps += 1,
                        }
                    };
                    most = most.max(steps);
                }
                PlanStep::Working(_) => {}
                PlanStep::Waiting => panic!("{name}: nobody else works"),
                PlanStep::Done(_) => break,
            }
        }
        // Collected; times written; names and shape written; handed over.
        assert_eq!(most, 4, "{name}");
    }
}

#[test]
fn an_aggregate_trace_too_large_to_draw_comes_without_spans() {
    let [_, (_, set), _] = shapes();
    let mut pool = NativePool::of(vec![set]).unwrap();
    let mut of = |wanted| {
        let (selection, settings) = (Selection::default(), DiagnosisSettings::default());
        pool.run(queries::AggregateTraces { selection, settings, wanted }).unwrap().remove(0)
    };
    let (drawn, whole) = (of(Aggregates::Drawn(0)), of(Aggregates::One(0)));
    assert!(whole.spans.len() > 20_000 && drawn.spans.is_empty());
    assert_eq!([drawn.spans_in_all, whole.spans_in_all], [whole.spans.len() as u64; 2]);
    assert_eq!((drawn.number, drawn.traces, &drawn.exemplars), (0, 1, &whole.exemplars));
}

#[test]
fn layers_list_what_somebody_may_read_and_count_the_rest() {
    for (name, set) in shapes() {
        let report = report(part(&set).0).0;
        for layer in &report.layers[2..] {
            let group = &layer.groups[0];
            assert!(group.positions_in_all > 20_000, "{name}: {}", group.positions_in_all);
            let parts = |p: &pathlight::engine::diagnosis::PositionTimes| {
                p.child_diff_us.len() + usize::from(p.end_diff_us.is_some()) + p.subspans_us.len()
            };
            let listed: usize = group.positions.iter().map(|position| 1 + parts(position)).sum();
            assert!((19_000..=20_000).contains(&listed), "{name}, layer {}: {listed}", layer.layer);
            for position in &group.positions {
                assert!([0, position.subspans_in_all as usize].contains(&parts(position)), "{name}");
            }
        }
    }
}
