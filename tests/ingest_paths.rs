//! The fast and the reference way of reading give the same, whatever the text and however it is cut.
#![cfg(not(target_arch = "wasm32"))]

use pathlight::generate::{Defects, Options as Generated, Shape, write_jaeger};
use pathlight::ingest::{FileReport, Options, Reader};
use pathlight::trace::{TraceSet, dump};
use std::path::{Path, PathBuf};

/// A seeded stream of numbers, the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n.max(1)
    }
}

fn read(text: &[u8], reference: bool, mut chunk: impl FnMut() -> usize) -> (String, FileReport) {
    let mut set = TraceSet::new();
    let mut options = Options::default();
    options.reference = reference;
    let mut reader = Reader::new("input", options);
    let mut rest = text;
    while !rest.is_empty() {
        let (now, later) = rest.split_at(chunk().clamp(1, rest.len()));
        rest = later;
        if reader.feed(now, &mut set).is_err() {
            break;
        }
    }
    let mut report = reader.finish(&mut set);
    set.seal().expect("memory");
    // A reader that gives up stops counting bytes, and that depends on the chunk.
    report.bytes = 0;
    (dump(&set), report)
}

fn generated(spans: u64, traces: u64, shape: Shape, defects: Defects) -> Vec<u8> {
    let options = Generated { spans, traces, shape, seed: 3, defects, ..Generated::default() };
    let mut out = Vec::new();
    write_jaeger(&options, &mut out).expect("generated");
    out
}

fn fixtures() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ingest");
    let mut folders = vec![folder];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push((path.clone(), std::fs::read(path).expect("fixture")));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn generated_traces_read_the_same_both_ways() {
    for (shape, defects) in [
        (Shape::Mixed, Defects::default()),
        (Shape::Mixed, "all".parse().expect("defects")),
        (Shape::Wide, Defects::default()),
        (Shape::Deep, Defects::default()),
    ] {
        let text = generated(60, 40, shape, defects);
        let fast = read(&text, false, || usize::MAX);
        assert_eq!(read(&text, true, || usize::MAX), fast);
        let mut random = Random(1);
        assert_eq!(read(&text, false, || random.below(5000)), fast);
    }
}

#[test]
fn many_values_of_a_key_read_the_same_both_ways() {
    // Tags and processes that are remembered must notice when a key stops storing values.
    let mut text = String::from("[");
    for trace in 0..40 {
        let spans: Vec<String> = (0..200)
            .map(|i| {
                let n = if trace % 3 == 2 { i } else { trace * 200 + i };
                format!(
                    r#"{{"traceID":"{:x}","spanID":"{:x}","operationName":"o","references":[],"startTime":1,"duration":1,"tags":[{{"key":"n","type":"int64","value":{n}}},{{"key":"s","type":"string","value":"a\n{n}"}}],"logs":[],"processID":"p{}"}}"#,
                    trace + 1,
                    i + 1,
                    i % 2
                )
            })
            .collect();
        text += &format!(
            r#"{{"traceID":"{:x}","spans":[{}],"processes":{{"p0":{{"serviceName":"a","tags":[{{"key":"n","value":7}}]}},"p1":{{"serviceName":"b","tags":[]}}}}}},"#,
            trace + 1,
            spans.join(",")
        );
    }
    text.pop();
    text.push(']');
    let fast = read(text.as_bytes(), false, || usize::MAX);
    assert!(fast.0.contains("high_cardinality: true") && fast.1.problems.is_empty());
    assert_eq!(read(text.as_bytes(), true, || usize::MAX), fast);
}

#[test]
fn mutated_texts_read_the_same_both_ways() {
    let mut texts: Vec<Vec<u8>> =
        fixtures().into_iter().map(|(_, bytes)| bytes).filter(|b| b.len() < 20_000).collect();
    texts.push(generated(6, 3, Shape::Mixed, "all".parse().expect("defects")));
    texts.push(generated(4, 2, Shape::Mixed, Defects::default()));
    let mut random = Random(11);
    let rounds = if cfg!(debug_assertions) { 150 } else { 2000 };
    for text in &texts {
        for _ in 0..rounds {
            let mut text = text.clone();
            for _ in 0..1 + random.below(4) {
                mutate(&mut text, &mut random);
            }
            let whole = read(&text, true, || usize::MAX);
            let shown = || String::from_utf8_lossy(&text).into_owned();
            assert_eq!(read(&text, false, || usize::MAX), whole, "{}", shown());
            let size = 1 + random.below(200);
            assert_eq!(read(&text, false, || 1 + random.below(size)), whole, "{}", shown());
        }
    }
}

/// Changes a text a little, mostly into something that matters to a reader of JSON.
fn mutate(text: &mut Vec<u8>, random: &mut Random) {
    const PIECES: [&[u8]; 24] = [
        b"\"",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b",",
        b":",
        b"null",
        b"-1",
        b"0",
        b"\n",
        b"\n{",
        b" ",
        b"1e3",
        b"1.5",
        b"18446744073709551615",
        b"9223372036854775807",
        b"\xff",
        b"\\u0041",
        b"\\ud800",
        b"[]",
        b"{}",
        b"\"x\"",
    ];
    if text.is_empty() {
        return;
    }
    let at = random.below(text.len());
    let piece = PIECES[random.below(PIECES.len())];
    match random.below(6) {
        0 => text[at] = random.next() as u8,
        1 => {
            text.splice(at..at, piece.iter().copied());
        }
        2 => {
            let end = (at + piece.len()).min(text.len());
            text.splice(at..end, piece.iter().copied());
        }
        3 => {
            let end = (at + 1 + random.below(8)).min(text.len());
            text.drain(at..end);
        }
        4 => {
            // A piece of the text itself, somewhere else.
            let from = random.below(text.len());
            let piece = text[from..(from + random.below(80)).min(text.len())].to_vec();
            text.splice(at..at, piece);
        }
        _ => {
            if random.below(8) == 0 {
                text.truncate(at);
            } else if let Some(digit) = text[at..].iter_mut().find(|b| b.is_ascii_digit()) {
                *digit = b"0123456789.-e\"x"[random.below(15)];
            }
        }
    }
}
