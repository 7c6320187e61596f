//! Drag and slack of services: the worked example, what holds of any requests, and traces made anew with services that are faster or
//! slower.

use super::headroom::speeds;
use crate::common::{Span, generated, set_of, span};
use pathlight::engine::flow::paper::FlowSettings;
use pathlight::engine::flow::{
    CapacityReport, Changes, ServiceCapacity, Slower, SubjectChange, SubjectTime, WhatIfReport,
};
use pathlight::engine::queries;
use pathlight::engine::requests::{Filter, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::verdict::{ServicePart, Subject};
use pathlight::generate::{GenerateOptions, Generator, Inject, Shape};
use pathlight::view::flow::capacity::{Capacities, notes, read, sentence, what_if_sentence};
use std::collections::BTreeSet;
use std::rc::Rc;

fn pool(options: &GenerateOptions) -> NativePool {
    NativePool::of(vec![generated(options)]).unwrap()
}

fn capacity(pool: &mut NativePool, filters: Vec<Filter>) -> CapacityReport {
    let selection = Selection { filters, ..Selection::default() };
    pool.run(queries::Capacity { selection, settings: FlowSettings::default() }).unwrap()
}

fn what_if(pool: &mut NativePool, filters: Vec<Filter>, changes: Changes) -> WhatIfReport {
    let selection = Selection { filters, ..Selection::default() };
    let settings = FlowSettings::default();
    pool.run(queries::WhatIf { selection, baseline: None, settings, changes }).unwrap()
}

fn own(service: &str, share_ppm: i64, add_us: i64) -> Changes {
    let subject = Subject { service: service.to_owned(), part: ServicePart::Own };
    let change = SubjectChange { subject, time: SubjectTime::By { share_ppm, add_us } };
    Changes { subjects: vec![change], ..Changes::default() }
}

/// Returns how much less the mean is after a change, in microseconds.
fn saved_us(report: &WhatIfReport) -> f64 {
    report.before_us.mean - report.after_us.mean
}

/// Returns the two requests of the worked example in `docs/definitions/execution-flow.md` section 4.
fn example() -> NativePool {
    let request = |trace: u128, cart_us: u64, search_us: u64, bank_us: u64| {
        let of = |id: u64, parent: u64, service: &str, start: u64, end: u64| Span {
            trace,
            service: service.to_owned(),
            ..span(id, parent, "GET", start, end)
        };
        [
            of(1, 0, "gateway", 0, 100_000),
            of(2, 1, "cart", 10_000, 10_000 + cart_us),
            of(3, 1, "search", 10_000, 10_000 + search_us),
            of(4, 1, "bank", 90_000 - bank_us, 90_000),
        ]
    };
    let spans = [request(1, 50_000, 30_000, 25_000), request(2, 20_000, 40_000, 35_000)].concat();
    NativePool::of(vec![set_of(&spans)]).unwrap()
}

#[test]
fn the_worked_example() {
    let mut pool = example();
    let report = capacity(&mut pool, Vec::new());
    assert_eq!((report.requests, report.latency_us), (2, 200_000));
    let row = |service: &str, on_path, drag_us, slack_us| ServiceCapacity {
        service: service.to_owned(),
        requests: 2,
        on_path,
        drag_us,
        slack_us,
    };
    assert_eq!(
        report.services,
        [
            row("bank", 2, 60_000, 0),
            row("gateway", 2, 50_000, 0),
            row("cart", 1, 20_000, 20_000),
            row("search", 1, 20_000, 20_000),
        ]
    );
    let report = Rc::new(report);
    let none = Capacities::new(&report, None);
    assert_eq!(
        sentence(&none),
        "2 requests would end, in the mean, 30.0\u{202f}ms earlier if the own work of bank took no time. cart could take \
         10.0\u{202f}ms longer per request."
    );
    let table = read(
        "service,cpu\ngateway,50\nshop/cart,90\nsearch-7d9f6c5b8-x2x4z,5\nsearch-7d9f6c5b8-k8w2p,15\nmail,3",
    )
    .unwrap();
    let both = Capacities::new(&report, Some(&table));
    let near = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-6, "{a:?} {b}");
    near(both.add_us(1), 12_500.0);
    near(both.add_us(2), 9_000.0);
    near(both.take_us(2), 1_000.0);
    near(both.take_us(3), 9_000.0);
    assert_eq!((both.add_us(0), both.first_to_add(), both.first_to_take()), (None, Some(1), Some(3)));
    assert_eq!(
        sentence(&both),
        "gateway holds up a request by 25.0\u{202f}ms in the mean and is used to 50\u{202f}%: add there first. search could take \
         10.0\u{202f}ms longer per request and is used to 10\u{202f}%: take there first."
    );
    assert!(
        notes(&both).ends_with(
            "1 name of the table matches no service: mail. 1 service has no row in the table: bank."
        )
    );
    let after = what_if(&mut pool, Vec::new(), both.changes().unwrap());
    // 5 ms less of the gateway in both; search takes 8 ms more in the second request, where it is on the path.
    assert_eq!((after.after_us.mean, after.after_us.max), (99_000.0, 103_000));
    let words = what_if_sentence(&both, &after);
    assert!(
        words.starts_with(
            "With the own work of gateway 20\u{202f}% faster and that of search 20\u{202f}% slower: p50"
        ),
        "{words}"
    );
}

#[test]
fn what_a_service_may_take_longer_is_exact_and_its_drag_is_that_of_the_what_if() {
    let mut pool = pool(&GenerateOptions { traces: 60, seed: 17, ..GenerateOptions::default() });
    let report = capacity(&mut pool, Vec::new());
    assert!(report.services.len() >= 8, "{report:?}");
    for row in &report.services {
        let gone = what_if(&mut pool, Vec::new(), own(&row.service, -1_000_000, 0));
        let drag_us = report.mean_drag_us(row);
        assert!((saved_us(&gone) - drag_us).abs() < 1e-6 * drag_us.max(1.0), "{row:?}: {}", saved_us(&gone));
        // Whoever holds up a request is on its path.
        assert!(
            gone.changed <= row.on_path && row.on_path <= row.requests && row.requests <= report.requests
        );
        assert!(row.drag_us <= report.latency_us && row.slack_us <= report.latency_us, "{row:?}");
        // Latency is convex in the time of a service: a fifth less saves a fifth of the drag, or more.
        let fifth = what_if(&mut pool, Vec::new(), own(&row.service, -200_000, 0));
        assert!(saved_us(&fifth) >= 0.2 * drag_us - 1.0, "{row:?}: {}", saved_us(&fifth));
    }
}

/// Returns the requests of generated traces: when each starts, and how long it takes, in microseconds.
fn requests(options: &GenerateOptions) -> Vec<(u64, u64)> {
    let generator = Generator::new(options).unwrap();
    let traces = (0..options.traces).map(|index| generator.trace(index));
    let root = |trace: pathlight::generate::GeneratedTrace| {
        let root = trace.spans.iter().find(|span| span.parent.is_none()).unwrap();
        (root.start_us, root.duration_us)
    };
    traces.map(root).collect()
}

#[test]
fn traces_with_a_service_slower_by_less_than_its_slack_take_as_long() {
    let shop = GenerateOptions { traces: 60, seed: 23, ..GenerateOptions::default() };
    let (mut kept, mut missed, mut worst, mut delayed) = (0, Vec::new(), 0f64, 0);
    for options in [
        shop.clone(),
        GenerateOptions { seed: 24, ..shop.clone() },
        GenerateOptions { shape: Shape::Wide, spans: 40, traces: 40, ..shop.clone() },
        GenerateOptions { shape: Shape::Serial, ..shop.clone() },
    ] {
        let mut loaded = pool(&options);
        let generator = Generator::new(&options).unwrap();
        let before = requests(&options);
        let starts: BTreeSet<u64> = before.iter().map(|request| request.0).collect();
        assert_eq!(starts.len(), before.len());
        let slacks: Vec<CapacityReport> = before
            .iter()
            .map(|&(from_us, _)| capacity(&mut loaded, vec![Filter::Time { from_us, to_us: from_us + 1 }]))
            .collect();
        // The first place of each service at which it works itself.
        let mut seen = BTreeSet::new();
        for place in
            generator.places().iter().filter(|place| place.subspan.is_some() && seen.insert(place.service))
        {
            let visits = |index: usize| {
                let trace = generator.trace(index as u64);
                let service =
                    |process: Option<u32>| process.map_or("", |at| trace.processes[at as usize].service);
                let is_it = trace.spans.iter().filter(|span| {
                    service(span.process) == place.service && span.operation == place.operation
                });
                is_it.count() as u64
            };
            for extra_us in [300, 3_000, 30_000] {
                let inject = Inject { place: place.name.clone(), extra_us, share: 1.0 };
                let after = requests(&GenerateOptions { injects: vec![inject], ..options.clone() });
                for (index, ((_, before_us), (_, after_us))) in before.iter().zip(&after).enumerate() {
                    let row = slacks[index].services.iter().find(|row| row.service == place.service);
                    let (Some(row), visits) = (row, visits(index)) else { continue };
                    if visits == 0 {
                        continue;
                    }
                    if u128::from(extra_us * visits) > row.slack_us {
                        delayed += u64::from(after_us > before_us);
                        continue;
                    }
                    kept += 1;
                    if after_us != before_us {
                        let late = after_us.abs_diff(*before_us) as f64 / *before_us as f64;
                        worst = worst.max(late);
                        missed.push((options.seed, options.shape, place.service, extra_us, index, late));
                    }
                }
            }
        }
    }
    println!(
        "{kept} requests within their slack, {} end later, at worst by {:.2} %; {delayed} beyond it end later",
        missed.len(),
        100.0 * worst
    );
    assert!(kept > 100 && 50 * missed.len() <= kept, "{kept}: {missed:?}");
}

#[test]
fn traces_with_a_faster_service_lose_its_drag() {
    let shop = GenerateOptions { traces: 300, seed: 31, ..GenerateOptions::default() };
    let (mut checked, mut worst, mut fifths) = (0, [0f64; 2], Vec::new());
    for options in [
        shop.clone(),
        GenerateOptions { seed: 32, ..shop.clone() },
        GenerateOptions { shape: Shape::Wide, spans: 40, ..shop.clone() },
        GenerateOptions { shape: Shape::Serial, ..shop.clone() },
    ] {
        let mut loaded = pool(&options);
        let report = capacity(&mut loaded, Vec::new());
        let mean_us = report.latency_us as f64 / report.requests as f64;
        for row in report.services.iter().filter(|row| report.mean_drag_us(row) > 0.01 * mean_us) {
            let of = Slower::Service(row.service.clone());
            for (at, percent) in [100, 20].into_iter().enumerate() {
                let mut speeds = speeds(&options, &of, percent);
                speeds.iter_mut().for_each(|speed| speed.share_ppm = -speed.share_ppm);
                let faster = GenerateOptions { speeds, ..options.clone() };
                let after = requests(&faster).iter().map(|request| request.1 as f64).sum::<f64>();
                let really = mean_us - after / report.requests as f64;
                let said = match percent {
                    100 => report.mean_drag_us(row),
                    _ => {
                        let said =
                            saved_us(&what_if(&mut loaded, Vec::new(), own(&row.service, -200_000, 0)));
                        fifths.push(said / (0.2 * report.mean_drag_us(row)));
                        said
                    }
                };
                // Of the mean latency, as everything that is said of percentiles.
                worst[at] = worst[at].max((said - really).abs() / mean_us);
                checked += 1;
            }
        }
    }
    fifths.sort_by(f64::total_cmp);
    println!(
        "{checked} services and steps: off by {:.3} % of the mean latency at worst without own work, {:.3} % with a fifth less; a \
         fifth less saves {:.2} to {:.2} times a fifth of the drag, {:.2} in the middle",
        100.0 * worst[0],
        100.0 * worst[1],
        fifths[0],
        fifths[fifths.len() - 1],
        fifths[fifths.len() / 2]
    );
    // Most off are services of which a tenth of the requests make two calls side by side: no order of these is learned.
    assert!(checked >= 100 && worst[0] < 0.03 && worst[1] < 0.01, "{checked} {worst:?}");
}

#[test]
fn neither_order_nor_workers_matter() {
    let options = GenerateOptions { traces: 40, seed: 5, ..GenerateOptions::default() };
    let whole = capacity(&mut pool(&options), Vec::new());
    let part = |seed| generated(&GenerateOptions { seed, traces: 20, ..options.clone() });
    let forwards = capacity(&mut NativePool::of(vec![part(5), part(6)]).unwrap(), Vec::new());
    let backwards = capacity(&mut NativePool::of(vec![part(6), part(5)]).unwrap(), Vec::new());
    assert_eq!(forwards, backwards);
    assert!(whole.requests == 40 && forwards.requests == 40);
    let empty = capacity(&mut pool(&GenerateOptions { traces: 0, ..options }), Vec::new());
    assert_eq!(empty, CapacityReport::default());
    assert_eq!(sentence(&Capacities::new(&Rc::new(empty), None)), "There is no request here.");
}
