//! The map of services: its times are those of the findings and of the requests, and changes are coloured only if they are sure.

use crate::common::{generated, generated_as, set_of, span};
use pathlight::engine::queries;
use pathlight::engine::requests::{PercentileRange, Selection};
use pathlight::engine::run::native::NativePool;
use pathlight::engine::verdict::service_map::{MapCall, ServiceMapReport};
use pathlight::generate::{GenerateOptions, Inject};
use pathlight::trace::TraceSet;

fn options(traces: u64, seed: u64) -> GenerateOptions {
    GenerateOptions { traces, seed, ..GenerateOptions::default() }
}

fn map(pool: &mut NativePool, selection: Selection, baseline: Option<Selection>) -> ServiceMapReport {
    pool.run(queries::ServiceMap { selection, baseline }).unwrap()
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= 1e-6 * a.abs().max(b.abs()).max(1.0)
}

fn call<'a>(report: &'a ServiceMapReport, names: [&str; 2]) -> &'a MapCall {
    let is_it = |call: &&MapCall| report.ends(call).unwrap().map(|one| one.service.as_str()) == names;
    report.calls.iter().find(is_it).unwrap()
}

#[test]
fn own_work_and_what_passes_outside_are_the_latency_and_the_times_of_the_findings() {
    let mut pool = NativePool::of(vec![generated(&options(150, 3))]).unwrap();
    for range in [PercentileRange::ALL, PercentileRange::TAIL] {
        let selection = Selection::default().with_range(range);
        let report = map(&mut pool, selection.clone(), None);
        let own: f64 = report.services.iter().map(|one| one.own.mean_us).sum();
        let outside: f64 = report.calls.iter().map(|call| call.outside_us).sum();
        assert!(report.services.len() > 5 && report.calls.len() > 5, "{report:?}");
        assert!(
            near(own + outside, report.latency.mean_us),
            "{own} and {outside} of {}",
            report.latency.mean_us
        );
        let findings = pool.run(queries::Findings { selection, baseline: None }).unwrap();
        assert!(findings.services.len() > 5, "{}", findings.services.len());
        for time in &findings.services {
            let at = report.services.iter().position(|one| one.service == time.service).unwrap();
            let into = report.calls.iter().filter(|call| call.service as usize == at);
            assert!(near(report.services[at].own.mean_us, time.own_us), "{}", time.service);
            assert!(near(into.map(|call| call.outside_us).sum(), time.waiting_us), "{}", time.service);
        }
        // Nobody waits for a call longer than the request takes, and of any call for no longer than with all around it.
        for call in &report.calls {
            assert!(call.outside_us <= call.wait.mean_us + 1e-6);
            assert!(call.wait.mean_us <= report.latency.mean_us + 1e-6);
            assert!(call.failed <= call.calls && call.calls > 0);
        }
    }
}

#[test]
fn any_number_of_workers_draws_the_same_map() {
    let set = || generated(&options(60, 4));
    let mut one = NativePool::of(vec![set()]).unwrap();
    let mut halves = [set(), set()];
    for (half, set) in halves.iter_mut().enumerate() {
        set.retain(|trace| trace.id.bits as usize % 2 == half);
    }
    let mut two = NativePool::of(halves.into_iter().collect::<Vec<TraceSet>>()).unwrap();
    let whole = map(&mut one, Selection::default(), None);
    assert_eq!(whole, map(&mut two, Selection::default(), None));
    assert_eq!(whole.requests, 60);
}

#[test]
fn a_call_that_got_slower_is_the_one_that_surely_changed_most() {
    let inject = Inject { place: "auth:Auth/ValidateToken:0".to_owned(), extra_us: 50_000, share: 1.0 };
    let after = GenerateOptions { injects: vec![inject], ..options(120, 6) };
    let mut pool = NativePool::of(vec![generated(&options(120, 5)), generated_as(&after, 1)]).unwrap();
    let (a, b) = (Selection::default(), Selection { group: 1, ..Selection::default() });
    let report = map(&mut pool, b, Some(a.clone()));
    assert_eq!((report.requests, report.baseline_requests), (120, Some(120)));
    let change = |call: &MapCall| call.wait.sure_change_us().unwrap_or(0.0);
    let most = report.calls.iter().max_by(|a, b| change(a).total_cmp(&change(b))).unwrap();
    let [_, service] = report.ends(most).unwrap();
    assert_eq!(service.service, "auth");
    assert!(change(most) > 5_000.0, "{most:?}");
    assert!(service.slower.is_some() && service.own.sure_change_us() > Some(5_000.0), "{service:?}");
    // Against itself nothing changed.
    let same = map(&mut pool, a.clone(), Some(a));
    assert!(same.calls.iter().all(|call| call.wait.sure_change_us().is_none()));
    assert!(same.services.iter().all(|one| one.own.sure_change_us().is_none() && one.slower.is_none()));
}

#[test]
fn a_service_that_calls_back_is_not_waited_for_twice() {
    // a waits 90 of 100 us for b, which waits 50 for a again, which waits 20 for b.
    let spans =
        [span(1, 0, "a", 0, 100), span(2, 1, "b", 5, 95), span(3, 2, "a", 10, 60), span(4, 3, "b", 20, 40)];
    let mut pool = NativePool::of(vec![set_of(&spans)]).unwrap();
    let report = map(&mut pool, Selection::default(), None);
    let there = call(&report, ["a", "b"]);
    assert_eq!((there.calls, there.wait.mean_us), (2, 90.0));
    let back = call(&report, ["b", "a"]);
    assert_eq!((back.calls, back.wait.mean_us), (1, 50.0));
    let own = |name: &str| report.services.iter().find(|one| one.service == name).unwrap().own.mean_us;
    assert_eq!((own("a"), own("b")), (10.0 + 30.0, 40.0 + 20.0));
}
