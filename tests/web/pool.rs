//! The pool of workers in a real browser.

use pathlight::base::encoding;
use std::cell::RefCell;
use std::rc::Rc;

use js_sys::{Array, Function, Promise, Uint8Array};
use pathlight::boot::Boot;
use pathlight::engine::pool::{Limits, LoadOutcome, PoolEvent, QueryError};
use pathlight::engine::queries::{self, OverviewReport};
use pathlight::engine::requests::{PercentileRange, Selection};
use pathlight::generate::{GenerateOptions, write_jaeger};
use pathlight::ingest::Ended;
use pathlight::pool::{Input, PagePool};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use wasm_bindgen_test::wasm_bindgen_test;
use web_sys::{Blob, ErrorEvent, Worker};

/// A pool with what it said and the workers it has started.
struct Bench {
    pool: PagePool,
    events: Rc<RefCell<Vec<PoolEvent>>>,
    workers: Array,
}

impl Bench {
    fn new(workers: usize) -> Bench {
        // The runner serves this test as a module, so its workers are modules too.
        let body = "const source = `import { initSync, start_worker } from \"${location.origin}/wasm-bindgen-test.js\";
                onmessage = ({ data }) => { initSync({ module: data }); start_worker(); };
                addEventListener('unhandledrejection', ({ reason }) => setTimeout(() => { throw reason; }));`;
            const address = URL.createObjectURL(new Blob([source], { type: 'text/javascript' }));
            return () => {
                const worker = new Worker(address, { type: 'module' });
                worker.postMessage(module);
                workers.push(worker);
                return worker;
            };";
        let started = Array::new();
        let make = Function::new_with_args("module, workers", body);
        let start_worker = make.call2(&JsValue::NULL, &wasm_bindgen::module(), &started).unwrap();
        let events: Rc<RefCell<Vec<PoolEvent>>> = Rc::default();
        let heard = events.clone();
        let pool = PagePool::with_workers(Boot::new(start_worker.unchecked_into()), workers, move |event| {
            heard.borrow_mut().push(event);
        });
        Bench { pool, events, workers: started }
    }

    /// Waits until the pool has said so; a minute at most.
    async fn until<T>(&self, mut is_it: impl FnMut(&PoolEvent) -> Option<T>) -> T {
        for _ in 0..6000 {
            let found = {
                let mut events = self.events.borrow_mut();
                let place = events.iter().position(|event| is_it(event).is_some());
                place.and_then(|place| events.drain(..=place).next_back())
            };
            if let Some(found) = found {
                return is_it(&found).unwrap();
            }
            sleep(10).await;
        }
        panic!("never heard; instead {:?}", self.events.borrow());
    }

    async fn loaded(&self) -> LoadOutcome {
        self.until(|event| match event {
            PoolEvent::Loaded(outcome) => Some(outcome.clone()),
            _ => None,
        })
        .await
    }

    async fn load(&self, inputs: Vec<Input>) -> LoadOutcome {
        self.pool.load(inputs);
        self.loaded().await
    }

    async fn overview(&self) -> OverviewReport {
        self.pool.run(&queries::Overview::default()).await.unwrap()
    }

    /// Returns everything the page shows, as bytes; how much memory holds it is the workers' own affair.
    async fn reports(&self) -> Vec<Vec<u8>> {
        let range = PercentileRange::open(50_000, 99_000);
        let selection = Selection::default().with_range(range);
        let mut overview = self.overview().await;
        overview.heap_bytes = 0;
        let mut reports = vec![encoding::write(&overview)];
        let path = self.pool.run(&queries::CriticalPath { selection: selection.clone() }).await.unwrap();
        reports.push(encoding::write(&path));
        let requests = self.pool.run(&queries::Requests { selection, limit: 50 }).await.unwrap();
        reports.push(encoding::write(&requests));
        reports
    }

    fn kill(&self, worker: u32) {
        let worker: Worker = self.workers.get(worker).unchecked_into();
        worker.dispatch_event(&ErrorEvent::new("error").unwrap()).unwrap();
    }
}

async fn sleep(ms: i32) {
    let promise = Promise::new(&mut |resolve, _| {
        web_sys::window()
            .unwrap()
            .set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, ms)
            .unwrap();
    });
    JsFuture::from(promise).await.unwrap();
}

fn text(traces: u64, seed: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write_jaeger(&GenerateOptions { traces, spans: 20, seed, ..GenerateOptions::default() }, &mut out)
        .unwrap();
    out
}

fn input(name: &str, bytes: &[u8]) -> Input {
    let parts = Array::of1(&Uint8Array::from(bytes));
    Input { name: name.to_owned(), blob: Blob::new_with_u8_array_sequence(&parts).unwrap() }
}

/// Makes a file that takes a while: the same traces over and over, without a copy of them for each time.
fn long_input(name: &str) -> Input {
    let text = text(500, 1);
    let text = std::str::from_utf8(&text).unwrap().trim();
    let (from, to) = (text.find('[').unwrap() + 1, text.rfind(']').unwrap());
    let traces = Blob::new_with_str_sequence(&Array::of1(&text[from..to].into())).unwrap();
    let parts = Array::of1(&"{\"data\":[".into());
    for turn in 0..100 {
        if turn > 0 {
            parts.push(&",".into());
        }
        parts.push(&traces);
    }
    parts.push(&"]}".into());
    Input { name: name.to_owned(), blob: Blob::new_with_blob_sequence(&parts).unwrap() }
}

/// Returns many small files and some large ones, the same every time.
fn inputs() -> Vec<Input> {
    let mut inputs: Vec<Input> =
        (0..40).map(|seed| input(&format!("small-{seed}.json"), &text(3, seed + 100))).collect();
    inputs.extend((0..3).map(|seed| input(&format!("large-{seed}.json"), &text(100, seed))));
    inputs
}

#[wasm_bindgen_test]
async fn many_workers_give_the_same_bytes_as_one() {
    let one = Bench::new(1);
    let outcome = one.load(inputs()).await;
    assert!(outcome.errors.is_empty(), "{:?}", outcome.errors);
    let names: Vec<&str> = outcome.reports.iter().map(|report| report.name.as_str()).collect();
    assert_eq!((names.len(), names[0], names[42]), (43, "small-0.json", "large-2.json"));
    assert_eq!(one.overview().await.traces, 420);
    let expected = one.reports().await;
    for workers in [2, 5] {
        let many = Bench::new(workers);
        many.load(inputs()).await;
        assert!(many.workers.length() as usize == workers, "not all workers were used");
        assert_eq!(many.reports().await, expected, "{workers} workers");
    }
}

/// Returns limits under which files of this many bytes are read by several workers.
fn large_file(bytes: u64) -> Limits {
    Limits { large_file: bytes, ..Limits::default() }
}

#[wasm_bindgen_test]
async fn a_large_file_in_chunks_gives_what_one_reader_gives() {
    let one = Bench::new(1);
    let expected = one.load(vec![input("large", &text(300, 5))]).await;
    let reports = one.reports().await;
    for workers in [2, 4] {
        let many = Bench::new(workers);
        many.pool.set_limits(large_file(64 << 10));
        let outcome = many.load(vec![input("large", &text(300, 5))]).await;
        assert!(many.workers.length() as usize == workers, "the file was not cut");
        assert_eq!(outcome.reports, expected.reports);
        assert_eq!(many.reports().await, reports, "{workers} workers");
        // A chunk of a worker that died is read again like any file.
        many.kill(1);
        many.loaded().await;
        assert_eq!(many.reports().await, reports, "{workers} workers, one of them new");
    }
}

#[wasm_bindgen_test]
async fn a_file_that_looks_like_one_to_be_cut_and_is_none_is_read_again_in_one_piece() {
    // In every trace there stand, as a value nobody asked for, other traces.
    let whole = String::from_utf8(text(200, 6)).unwrap();
    let inner = &whole[whole.find("[{").unwrap()..=whole.rfind(']').unwrap()];
    let text = format!(r#"{{"data":[{},"x":{inner}}}]}}"#, &inner[1..inner.len() - 2]);
    let one = Bench::new(1);
    let expected = one.load(vec![input("tricky", text.as_bytes())]).await;
    assert_eq!(one.overview().await.traces, 200);
    let many = Bench::new(3);
    many.pool.set_limits(large_file(64 << 10));
    let outcome = many.load(vec![input("tricky", text.as_bytes())]).await;
    assert_eq!((outcome.reports, outcome.errors), (expected.reports, expected.errors));
    assert_eq!(many.reports().await, one.reports().await);
}

#[wasm_bindgen_test]
async fn parts_of_one_trace_in_several_files_meet_wherever_they_were_read() {
    let bench = Bench::new(3);
    // Each file holds the same two traces, but every span of a file only there.
    let file = |at: u32| {
        let trace = |id: &str| {
            let parent = if at == 0 {
                String::new()
            } else {
                format!(r#"{{"refType":"CHILD_OF","traceID":"{id}","spanID":"{:016x}"}}"#, at)
            };
            format!(
                r#"{{"traceID":"{id}","spans":[{{"traceID":"{id}","spanID":"{:016x}","operationName":"op{at}",
                "references":[{parent}],"startTime":{},"duration":{},"tags":[],"logs":[],"processID":"p1"}}],
                "processes":{{"p1":{{"serviceName":"s{at}","tags":[]}}}}}}"#,
                at + 1,
                1_000_000 + at,
                1000 - 2 * at
            )
        };
        let text = format!(r#"{{"data":[{},{}]}}"#, trace("00000000000000aa"), trace("00000000000000bb"));
        // Large enough to be dealt alone.
        input(&format!("{at}.json"), format!("{text}{}", " ".repeat(300 << 10)).as_bytes())
    };
    bench.load((0..6).map(file).collect()).await;
    let overview = bench.overview().await;
    assert_eq!((overview.traces, overview.spans, overview.quality.orphan_roots), (2, 12, 0));
}

#[wasm_bindgen_test]
async fn a_second_load_adds_and_clear_forgets() {
    let bench = Bench::new(2);
    bench.load(vec![input("a", &text(30, 1))]).await;
    bench.load(vec![input("b", &text(20, 2))]).await;
    assert_eq!(bench.overview().await.traces, 50);
    bench.pool.clear();
    assert_eq!(bench.overview().await.traces, 0);
    bench.load(vec![input("c", &text(10, 3))]).await;
    assert_eq!(bench.overview().await.traces, 10);
}

#[wasm_bindgen_test]
async fn a_warm_up_leaves_nothing_behind_and_gives_way_to_a_load() {
    let [plain, warmed, interrupted] = [(); 3].map(|()| Bench::new(1));
    warmed.pool.warm_up();
    sleep(30).await;
    assert_eq!(warmed.overview().await.traces, 0);
    interrupted.pool.warm_up();
    for bench in [&interrupted, &plain, &warmed] {
        bench.load(inputs()).await;
    }
    assert_eq!(plain.reports().await, warmed.reports().await);
    assert_eq!(plain.reports().await, interrupted.reports().await);
}

#[wasm_bindgen_test]
async fn a_set_to_compare_with_comes_and_goes_beside_the_set_looked_at() {
    let bench = Bench::new(2);
    bench.load(vec![input("a", &text(30, 1))]).await;
    let alone = bench.reports().await.split_off(1);
    bench.pool.load_group(vec![input("b", &text(30, 1)), input("c", &text(5, 2))], 1);
    bench.loaded().await;
    let overview = bench.overview().await;
    assert_eq!((overview.traces, overview.other_traces), (30, 35));
    bench.pool.unload_group(1);
    bench.pool.load_group(vec![input("d", &text(7, 3))], 1);
    bench.loaded().await;
    assert_eq!(bench.overview().await.other_traces, 7);
    bench.pool.unload_group(1);
    bench.loaded().await;
    let overview = bench.overview().await;
    assert_eq!((overview.traces, overview.other_traces, overview.other_spans), (30, 0, 0));
    assert_eq!(bench.reports().await.split_off(1), alone);
}

#[wasm_bindgen_test]
async fn a_cancelled_load_keeps_what_was_read_or_leaves_what_was_there() {
    let bench = Bench::new(2);
    bench.load(vec![input("before", &text(50, 9))]).await;
    let before = bench.reports().await;
    let (first, second) = (long_input("one"), long_input("two"));

    bench.pool.load(vec![first.clone(), second.clone()]);
    bench.until(|event| matches!(event, PoolEvent::Progress(p) if p.spans > 0).then_some(())).await;
    bench.pool.cancel_load(false);
    assert!(bench.loaded().await.cancelled);
    assert_eq!(bench.reports().await, before);

    bench.pool.load(vec![first, second]);
    bench.until(|event| matches!(event, PoolEvent::Progress(p) if p.spans > 3000).then_some(())).await;
    bench.pool.cancel_load(true);
    assert!(bench.loaded().await.cancelled);
    let traces = bench.overview().await.traces;
    assert!(traces > 50, "{traces} traces were kept");
}

#[wasm_bindgen_test]
async fn a_dead_worker_is_replaced_and_reads_its_files_again() {
    let bench = Bench::new(2);
    bench.load(inputs()).await;
    let before = bench.reports().await;
    for worker in [0, 1] {
        bench.kill(worker);
        bench.until(|event| matches!(event, PoolEvent::WorkerLost { .. }).then_some(())).await;
        bench.loaded().await;
        assert_eq!(bench.reports().await, before, "after the end of worker {worker}");
    }
    assert_eq!(bench.workers.length(), 4);
}

#[wasm_bindgen_test]
async fn of_a_file_that_kills_its_worker_twice_what_comes_before_is_kept() {
    let bench = Bench::new(1);
    bench.pool.load(vec![long_input("deadly")]);
    for worker in 0..2 {
        bench.until(|event| matches!(event, PoolEvent::Progress(p) if p.spans > 0).then_some(())).await;
        bench.kill(worker);
        bench.until(|event| matches!(event, PoolEvent::WorkerLost { .. }).then_some(())).await;
    }
    let outcome = bench.loaded().await;
    assert_eq!(outcome.errors.len(), 1, "{:?}", outcome.errors);
    let said = &outcome.errors[0].message;
    assert!(said.contains("deadly ended a worker twice; of what begins at byte 0, only"), "{said}");
    let kept = bench.overview().await.traces;
    assert!(kept > 0, "of {said}");
    assert!(outcome.reports.iter().all(|report| report.ended == Ended::Stopped), "{:?}", outcome.reports);
    bench.load(vec![input("good", &text(10, 2))]).await;
    assert_eq!(bench.overview().await.traces, kept + 10);
}

#[wasm_bindgen_test]
async fn questions_under_way_end_when_the_data_changes_and_later_ones_wait_for_it() {
    let bench = Bench::new(2);
    bench.load(vec![input("a", &text(300, 1))]).await;
    let pool = bench.pool.clone();
    let early = Rc::new(RefCell::new(None));
    let answer = early.clone();
    wasm_bindgen_futures::spawn_local(async move {
        let result = pool.run(&queries::Overview::default()).await;
        *answer.borrow_mut() = Some(result);
    });
    sleep(0).await;
    bench.pool.clear();
    sleep(0).await;
    assert!(matches!(&*early.borrow(), Some(Err(QueryError::Stale) | Ok(_))), "{:?}", early.borrow());
}
