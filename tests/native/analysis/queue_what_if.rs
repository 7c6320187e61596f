//! Queues in which messages wait longer or shorter: by hand, and against traces that were made so.

use crate::common::{Span, generated, generated_as, set_of, span};
use pathlight::base::statistics::Percentiles;
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{
    ChangeOf, Changes, LatencyChange, QueueName, QueueTimeChange, SubjectTime, WhatIfReport,
};
use pathlight::engine::queries::{Queues, WhatIf};
use pathlight::engine::requests::{RootEndpoint, Selection, Until};
use pathlight::engine::run::native::NativePool;
use pathlight::generate::{Defects, GenerateOptions, Generator, QueueWait};
use pathlight::trace::{Endpoint, SpanKind, TraceSet};
use std::collections::BTreeSet;

fn done(root: &str) -> Selection {
    let root = RootEndpoint::Endpoint(Endpoint::new(root, root));
    Selection { root, until: Until::Done, ..Selection::default() }
}

fn less(share_ppm: i64) -> SubjectTime {
    SubjectTime::By { share_ppm, add_us: 0 }
}

/// Returns changes of the queues that lead to a receiver.
fn of_queues(pool: &mut NativePool, selection: &Selection, receiver: &str, time: &SubjectTime) -> Changes {
    let report = pool.run(Queues { selection: selection.clone() }).unwrap();
    let edges = report.edges.into_iter().filter(|edge| edge.receiver.operation == receiver);
    let queues = edges.map(|edge| QueueTimeChange {
        queue: QueueName { destination: edge.destination, sender: edge.sender, receiver: edge.receiver },
        time: time.clone(),
    });
    Changes { queues: queues.collect(), ..Changes::default() }
}

fn what_if(pool: &mut NativePool, selection: &Selection, changes: Changes) -> WhatIfReport {
    what_if_with(pool, selection, None, changes)
}

fn what_if_with(
    pool: &mut NativePool,
    selection: &Selection,
    baseline: Option<Selection>,
    changes: Changes,
) -> WhatIfReport {
    let (selection, settings) = (selection.clone(), FlowSettings::default());
    pool.run(WhatIf { selection, baseline, settings, changes }).unwrap()
}

fn faster(name: &str, share_ppm: i64) -> Changes {
    let (service, operation) = (name.to_owned(), name.to_owned());
    let change = LatencyChange { service, operation, of: ChangeOf::OwnWork, share_ppm, add_us: 0 };
    Changes { latencies: vec![change], ..Changes::default() }
}

fn consumer(mut of: Span) -> Span {
    of.kind = SpanKind::Consumer;
    of
}

/// The example of `docs/definitions/queues.md` section 2, in milliseconds as microseconds.
fn example() -> TraceSet {
    set_of(&[
        span(1, 0, "A", 1000, 1100),
        span(2, 1, "S", 1090, 1100),
        consumer(span(3, 2, "C", 1150, 1400)),
        span(4, 3, "D", 1200, 1390),
    ])
}

#[test]
fn what_receives_a_message_moves_with_its_time_in_the_queue() {
    let mut pool = NativePool::of(vec![example()]).unwrap();
    let selection = done("A");
    let after = |pool: &mut NativePool, changes| {
        let report = what_if(pool, &selection, changes);
        assert_eq!((report.requests, report.before_us.max), (1, 400));
        let sum = |of: fn(&(u128, u128)) -> u128| {
            report.endpoints.iter().map(|row| of(&(row.before_us, row.after_us))).sum::<u128>()
        };
        assert_eq!((sum(|of| of.0), sum(|of| of.1)), (400, u128::from(report.after_us.max)));
        report.after_us.max
    };
    for (time, expected) in [
        (less(-500_000), 375),
        (less(-1_000_000), 350),
        (less(1_000_000), 450),
        (SubjectTime::By { share_ppm: 0, add_us: 7 }, 407),
        (SubjectTime::By { share_ppm: 0, add_us: -70 }, 350),
    ] {
        let changes = of_queues(&mut pool, &selection, "C", &time);
        assert_eq!(after(&mut pool, changes), expected, "{time:?}");
    }
    // Whatever else gets faster moves what comes after it: A before the message, D in what receives it.
    assert_eq!(after(&mut pool, faster("nobody", -500_000)), 400);
    assert_eq!(after(&mut pool, faster("A", -500_000)), 355);
    assert_eq!(after(&mut pool, faster("S", -500_000)), 395);
    assert_eq!(after(&mut pool, faster("D", -500_000)), 305);
    let queues = of_queues(&mut pool, &selection, "C", &less(-500_000)).queues;
    assert_eq!(after(&mut pool, Changes { queues, ..faster("A", -500_000) }), 330);
    // No answer waits for a message.
    let answer = Selection { until: Until::Answer, ..selection.clone() };
    let changes = of_queues(&mut pool, &answer, "C", &less(-500_000));
    let report = what_if(&mut pool, &answer, changes);
    assert_eq!((report.changed, report.before_us.max, report.after_us.max), (0, 100, 100));
}

#[test]
fn a_chain_of_messages_moves_as_a_whole_and_a_sender_that_goes_on_counts_from_its_start() {
    let mut pool = NativePool::of(vec![set_of(&[
        span(1, 0, "A", 1000, 1100),
        consumer(span(2, 1, "B", 1150, 1400)),
        // Sent by C, which begins 20 after B does and goes on.
        span(3, 2, "C", 1170, 1390),
        consumer(span(4, 3, "E", 1270, 1500)),
        consumer(span(5, 4, "F", 1600, 1700)),
    ])])
    .unwrap();
    let selection = done("A");
    for (receiver, expected) in [("B", 675), ("E", 650), ("F", 650)] {
        let changes = of_queues(&mut pool, &selection, receiver, &less(-500_000));
        let report = what_if(&mut pool, &selection, changes);
        assert_eq!((report.before_us.max, report.after_us.max), (700, expected), "{receiver}");
    }
}

#[test]
fn a_batch_waits_from_its_last_message() {
    let mut spans = Vec::new();
    for (id, end) in [(1, 1005), (2, 1015), (3, 1025), (4, 1035)] {
        let mut send = span(id, 0, "send", end - 5, end);
        send.trace = u128::from(id);
        spans.push(send);
    }
    // One link a span is all that a test span has: four consumers would be four batches of one.
    let mut set = TraceSet::new();
    crate::common::stage(&mut set, &spans);
    let mut receive = consumer(span(9, 0, "receive", 1100, 1200));
    (receive.trace, receive.link) = (9, (1, 1));
    crate::common::stage(&mut set, &[receive]);
    for id in 2..=4u64 {
        use pathlight::trace::{RawLink, SpanId, TraceId};
        let link = |trace: u128, span: u64| (TraceId::hex(trace), SpanId::hex(span));
        let ((trace, span), (to_trace, to_span)) = (link(9, 9), link(u128::from(id), id));
        set.add_link(RawLink { trace, span, to_trace, to_span }).unwrap();
    }
    set.seal().unwrap();
    let mut pool = NativePool::of(vec![set]).unwrap();
    let selection = done("send");
    let changes = of_queues(&mut pool, &selection, "receive", &less(-1_000_000));
    let report = what_if(&mut pool, &selection, changes);
    // All are received when the last is sent, 65 earlier; the requests begin at 1000, 1010, 1020, 1030.
    assert_eq!((report.requests, report.changed), (4, 4));
    assert_eq!((report.before_us.mean, report.after_us.mean), (185.0, 120.0));
}

fn options(seed: u64) -> GenerateOptions {
    let defects = Defects { messages: true, ..Defects::default() };
    GenerateOptions { traces: 400, spans: 20, seed, defects, ..GenerateOptions::default() }
}

/// Returns the requests of generated traces, by root endpoint: whoever receives messages of other traces is none.
fn roots(options: &GenerateOptions) -> Vec<Selection> {
    let generator = Generator::new(options).unwrap();
    let names = (0..options.traces).map(|index| {
        let trace = generator.trace(index);
        let root = &trace.spans[0];
        let service = root.process.map_or("", |process| trace.processes[process as usize].service);
        (service, root.operation)
    });
    let names: BTreeSet<_> = names.collect();
    let of = |(service, operation)| Selection {
        root: RootEndpoint::Endpoint(Endpoint::new(service, operation)),
        until: Until::Done,
        ..Selection::default()
    };
    names.into_iter().map(of).collect()
}

/// Returns p50, p95, p99 and the mean.
fn quantiles(of: &Percentiles) -> [f64; 4] {
    [of.p50, of.p95, of.p99, of.mean]
}

#[test]
fn nothing_changes_in_generated_traces_without_a_change() {
    for seed in 1..=3 {
        let options = options(seed);
        let mut pool = NativePool::of(vec![generated(&options)]).unwrap();
        let plain = Selection { until: Until::Done, ..Selection::default() };
        for selection in roots(&options).into_iter().chain([plain]) {
            // With flows and without.
            for changes in [Changes::default(), faster("nobody", -500_000)] {
                let report = what_if(&mut pool, &selection, changes);
                assert_eq!((report.changed, report.before_us), (0, report.after_us));
            }
        }
    }
}

#[test]
fn queues_that_are_shorter_are_predicted_as_they_are_made() {
    let (mut worst, mut quantiles_seen, mut moved) = (0f64, 0, 0);
    for seed in 1..=5 {
        let options = options(seed);
        let mut before = NativePool::of(vec![generated(&options)]).unwrap();
        for (queue, receiver) in
            [("events", "events handle"), ("orders", "orders handle"), ("audit", "audit store")]
        {
            for percent in [-50, 40] {
                let wait = QueueWait { queue: queue.to_owned(), share_ppm: 10_000 * percent };
                let changed = GenerateOptions { queues: vec![wait], ..options.clone() };
                let mut really = NativePool::of(vec![generated(&changed)]).unwrap();
                for selection in roots(&options) {
                    let time = less(10_000 * i64::from(percent));
                    let changes = of_queues(&mut before, &selection, receiver, &time);
                    let said = what_if(&mut before, &selection, changes);
                    let real = what_if(&mut really, &selection, Changes::default());
                    assert_eq!(said.requests, real.requests);
                    let (was, said) = (quantiles(&said.before_us), quantiles(&said.after_us));
                    for (at, real) in quantiles(&real.before_us).into_iter().enumerate() {
                        let off = (said[at] / real - 1.0).abs();
                        (worst, quantiles_seen) = (worst.max(off), quantiles_seen + 1);
                        moved += u32::from((was[at] / real - 1.0).abs() >= 0.05);
                    }
                }
            }
        }
    }
    println!("worst of {quantiles_seen}: {:.3} %; {moved} moved by at least 5 %", 100.0 * worst);
    assert!(worst < 1e-4 && moved > 500, "{worst} {moved}");
}

#[test]
fn a_queue_as_usual_is_that_of_the_healthy_traces() {
    let (mut worst, mut moved) = (0f64, 0);
    for seed in 1..=5 {
        let healthy = options(seed);
        let wait = QueueWait { queue: "events".to_owned(), share_ppm: 2_000_000 };
        let slow = GenerateOptions { queues: vec![wait], ..healthy.clone() };
        // The reference is other traffic than that with which the result is compared.
        let reference = generated_as(&GenerateOptions { seed: seed + 100, ..healthy.clone() }, 1);
        let mut pool = NativePool::of(vec![generated(&slow), reference]).unwrap();
        let mut really = NativePool::of(vec![generated(&healthy)]).unwrap();
        // Of all requests: those of one page are too few for a level.
        let selection = Selection { until: Until::Done, ..Selection::default() };
        let baseline = Selection { group: 1, ..selection.clone() };
        let changes = of_queues(&mut pool, &selection, "events handle", &SubjectTime::Usual);
        let said = what_if_with(&mut pool, &selection, Some(baseline), changes);
        let real = what_if(&mut really, &selection, Changes::default());
        let (was, said) = (quantiles(&said.before_us), quantiles(&said.after_us));
        let real = quantiles(&real.before_us);
        let off = |of: [f64; 4]| [0, 1, 2, 3].map(|at: usize| 100.0 * (of[at] / real[at] - 1.0));
        println!("seed {seed}: slow {:.1?}, as usual {:.1?}", off(was), off(said));
        worst = off(said).into_iter().fold(worst, |worst, off| worst.max(off.abs()));
        moved += off(was).into_iter().filter(|off| off.abs() >= 5.0).count();
    }
    println!("worst {worst:.2} %; {moved} of 20 moved by at least 5 %");
    assert!(worst < 8.0 && moved >= 12, "{worst} {moved}");
}
