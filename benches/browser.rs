//! The worker's half of `cargo xtask bench`: the engine in wasm in one worker of Chromium, and `JSON.parse` of the same
//! text in that same worker. Run by wasm-bindgen's test runner; a row of results is a line that begins with `bench`.
#![cfg(target_arch = "wasm32")]

mod network;
mod shared;

use pathlight::generate::{GenerateOptions, Shape, write_jaeger};
use pathlight::ingest::{ReadOptions, Reader};
use pathlight::trace::TraceSet;
use shared::{abnormal, analyses, median, read, row, what_if};
use std::hint::black_box;
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_test::{console_log, wasm_bindgen_test, wasm_bindgen_test_configure};
use web_sys::DedicatedWorkerGlobalScope;

wasm_bindgen_test_configure!(run_in_dedicated_worker);

/// A large run, or one twenty times smaller.
const SCALE: u64 = if option_env!("PATHLIGHT_BENCH_QUICK").is_some() { 1 } else { 20 };

fn now_ms() -> f64 {
    let selection: DedicatedWorkerGlobalScope = js_sys::global().unchecked_into();
    selection.performance().map_or_else(js_sys::Date::now, |clock| clock.now())
}

fn print(rows: Vec<String>) {
    rows.iter().for_each(|row| console_log!("{row}"));
}

/// Returns the options of the set of a scale: 450 traces and 50,000 spans for 1.
fn options(scale: u64) -> GenerateOptions {
    GenerateOptions {
        spans: 111,
        traces: 450 * scale,
        shape: Shape::Mixed,
        seed: 1,
        ..GenerateOptions::default()
    }
}

/// Hands what is written to a reader, so that the text is never held.
struct Feed<'a> {
    reader: Reader,
    set: &'a mut TraceSet,
}

impl std::io::Write for Feed<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.reader.feed(bytes, self.set).map_err(std::io::Error::other)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn generated(options: &GenerateOptions) -> TraceSet {
    let mut set = TraceSet::new();
    let mut feed = Feed { reader: Reader::new("generated", ReadOptions::default()), set: &mut set };
    let written = write_jaeger(options, &mut std::io::BufWriter::with_capacity(1 << 18, &mut feed));
    let Feed { reader, set: filled } = feed;
    reader.finish(filled);
    assert!(written.is_ok() && set.seal().is_ok());
    set
}

#[wasm_bindgen_test]
fn text_in_memory() {
    let group = "Ingest, one worker, text in memory";
    let mut text = Vec::new();
    assert!(write_jaeger(&options(SCALE.div_ceil(4)), &mut text).is_ok());
    let megabytes = text.len() as f64 / 1e6;
    let held = JsValue::from_str(std::str::from_utf8(&text).unwrap_or_default());
    let rounds = |work: &mut dyn FnMut()| {
        let rounds = (0..5).map(|_| {
            let start = now_ms();
            work();
            now_ms() - start
        });
        median(rounds.collect())
    };
    let ours = rounds(&mut || drop(black_box(read(&text))));
    drop(text);
    let parse = js_sys::Function::new_with_args(
        "text",
        "const start = performance.now(); JSON.parse(text); return performance.now() - start",
    );
    let theirs = (0..5).filter_map(|_| parse.call1(&JsValue::NULL, &held).ok()?.as_f64());
    let theirs = median(theirs.collect());
    print(vec![
        row(group, "JSON.parse", megabytes / theirs * 1e3, "MB/s", ""),
        row(group, "read into columns", megabytes / ours * 1e3, "MB/s", ""),
        row(group, "read into columns against JSON.parse", theirs / ours, "times", "> 2"),
    ]);
}

#[wasm_bindgen_test]
fn questions() {
    let group = "Analyses, one worker in Chromium";
    let set = generated(&options(SCALE));
    let spans = set.spans() as f64;
    console_log!("{}", row(group, "spans loaded", spans, "", ""));
    print(analyses(set, &now_ms, group, true));
    print(what_if(generated(&options(SCALE.div_ceil(10))), &now_ms, group, true));
}

/// Twice as many requests as elsewhere, of half as many spans.
#[wasm_bindgen_test]
fn abnormal_requests() {
    let options = GenerateOptions { spans: 50, traces: 1000 * SCALE, ..options(1) };
    let group = "Abnormal requests among 20,000 of 50 spans";
    console_log!("{}", abnormal(generated(&options), &now_ms, group));
}

#[wasm_bindgen_test]
fn training() {
    let is_quick = option_env!("PATHLIGHT_BENCH_QUICK").is_some();
    print(network::training(&now_ms, "Auto-encoder, one worker in Chromium", true, is_quick));
}
