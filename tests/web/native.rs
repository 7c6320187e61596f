//! Properties that hold in a browser as they do natively.
//!
//! The native side is what the binary wrote just before, into the folder of `PATHLIGHT_NATIVE`.

use pathlight::engine::anomalies::paper::vae::VaeSettings;
use pathlight::engine::anomalies::{AnomalySettings, Detector};
use pathlight::engine::queries::{self, Query};
use pathlight::engine::requests::{RootEndpoint, Selection};
use pathlight::engine::run::{Cuts, Plan, PlanStep, Session};
use pathlight::generate::{GenerateOptions, Generator, Shape, write_jaeger};
use pathlight::ingest::{self, Ended, Reader};
use pathlight::trace::{Endpoint, Overlap, SpanId, TraceId, TraceSet};
use pathlight::view::json;
use wasm_bindgen_test::wasm_bindgen_test;

/// A file of the native side.
macro_rules! native {
    ($name:literal) => {
        include_str!(concat!(env!("PATHLIGHT_NATIVE", "run `cargo xtask test wasm`"), "/", $name))
    };
}

/// Loads the native traces, read in pieces of this many bytes.
fn load(piece: usize) -> Session {
    let mut set = TraceSet::new();
    let mut reader = Reader::new("traces.json", ingest::ReadOptions::default());
    for bytes in native!("traces.json").as_bytes().chunks(piece) {
        reader.feed(bytes, &mut set).unwrap();
    }
    assert!(!matches!(reader.finish(&mut set).ended, Ended::Failed(_)));
    set.seal().unwrap();
    Session::of(set)
}

/// Runs a query over a single session.
fn run<Q: Query>(session: &mut Session, query: Q) -> Q::Report {
    let mut plan = Plan::new(query, &Cuts::default());
    let mut partials = Vec::new();
    loop {
        match plan.next(partials).unwrap() {
            PlanStep::Done(report) => return report,
            PlanStep::Working(_) => partials = Vec::new(),
            PlanStep::Waiting => panic!("there is no other plan"),
            PlanStep::Pass(pass) => {
                let mut task = session.start(&pass).unwrap();
                // Interrupted all the time, as a busy worker is.
                partials = vec![loop {
                    if let Some(partial) = task.step(session, &mut || true).unwrap() {
                        break partial;
                    }
                }];
            }
        }
    }
}

#[wasm_bindgen_test]
fn a_sample_is_drawn_as_the_binary_draws_it() {
    let mut texts = TraceSet::new().id_texts;
    let known = ["4bf92f3577b34da6a3ce929d0e0e4736", "checkout 17"];
    let hashes = known.map(|text| TraceId::parse(text, &mut texts).content_hash(&texts));
    assert_eq!(hashes, [0x7bc1_eca1_b669_634b, 0x364d_da8f_6b79_a3a4]);
}

/// Fails with the place of the first difference rather than with two long texts.
#[track_caller]
fn assert_same(what: &str, browser: &str, native: &str) {
    if browser == native {
        return;
    }
    let same = browser.bytes().zip(native.bytes()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| text.chars().skip(same.saturating_sub(60)).take(160).collect::<String>();
    panic!("{what} differs at byte {same}:\nbrowser: {}\nnative:  {}", around(browser), around(native));
}

fn selection(overlap: &str) -> Selection {
    let root = RootEndpoint::Endpoint(Endpoint::new("edge-gateway", "HTTP GET"));
    let overlap = Overlap::preset(overlap).unwrap();
    Selection { root, overlap, reading: overlap.implied_reading(), ..Selection::default() }
}

#[wasm_bindgen_test]
fn generated_traces_are_the_same_bytes() {
    let options = GenerateOptions {
        traces: 150,
        spans: 20,
        shape: Shape::Mixed,
        seed: 11,
        defects: "all".parse().unwrap(),
        ..GenerateOptions::default()
    };
    assert!(Generator::new(&options).is_ok());
    let mut bytes = Vec::new();
    write_jaeger(&options, &mut bytes).unwrap();
    assert_same("traces", &String::from_utf8(bytes).unwrap(), native!("traces.json"));
}

#[wasm_bindgen_test]
fn reports_are_the_same_text_however_the_file_comes_in() {
    for piece in [61, 4096, usize::MAX] {
        let mut session = load(piece);
        let report = run(&mut session, queries::CriticalPath { selection: Selection::default() });
        assert_same("all requests", &(json::critical_path(&report).unwrap() + "\n"), native!("all.json"));
    }
}

#[wasm_bindgen_test]
fn reports_of_a_percentile_range_of_one_endpoint_with_the_settings_of_the_paper_are_the_same_text() {
    let range = pathlight::view::address::parse_range("50-95").unwrap();
    let report =
        run(&mut load(1 << 16), queries::CriticalPath { selection: selection("paper").with_range(range) });
    assert_same(
        "the percentile range",
        &(json::critical_path(&report).unwrap() + "\n"),
        native!("range.json"),
    );
}

#[wasm_bindgen_test]
fn the_path_of_every_request_is_the_same_text() {
    let query = queries::PerRequest { selection: Selection::default() };
    let report = run(&mut load(1 << 16), query);
    assert_same("paths", &(json::per_request(&report).unwrap() + "\n"), native!("per-trace.json"));
}

#[wasm_bindgen_test]
fn the_auto_encoder_learns_the_same_bits() {
    let network = VaeSettings { hidden: 13, epochs: 2, ..VaeSettings::default() };
    let settings = AnomalySettings { detector: Detector::Vae(network), ..AnomalySettings::default() };
    let all = Selection::default();
    let query = queries::Anomalies { train: all.clone(), test: all, settings };
    let report = run(&mut load(1 << 16), query);
    assert_same("anomalies", &(json::anomaly(&report, None).unwrap() + "\n"), native!("anomaly.json"));
}

#[wasm_bindgen_test]
fn ids_wider_than_a_pointer_keep_all_their_bits() {
    let mut set = TraceSet::new();
    let span = SpanId::parse("fedcba9876543210", &mut set.id_texts);
    assert_eq!(span, SpanId::hex(0xfedc_ba98_7654_3210));
    let trace = TraceId::parse("FEDCBA98765432100123456789abcdef", &mut set.id_texts);
    assert_eq!(trace.to_text(&set.id_texts), "fedcba98765432100123456789abcdef");
}
