//! The checks of replays and fuzz targets: whatever the bytes, the fast and the reference way of reading give the same,
//! however the bytes are cut, and nothing panics.

use super::archives::{DEFLATED, STORED, Way, gzip, zip};
use super::generated_jaeger;
use pathlight::generate::{Defects, Shape};
use pathlight::ingest::bytes::Masks;
use pathlight::ingest::{FileReport, IngestError, ManyInputs, ReadOptions, ReadTarget, Reader};
use pathlight::trace::dump;
use std::path::{Path, PathBuf};

/// A kind of input: its name and the bytes that are changed.
pub type Target = (&'static str, fn() -> Vec<Vec<u8>>);

/// How many of the targets are formats; the others are texts of many lines, archives and saved reports.
pub const FORMATS: usize = 33;

/// Every target: each format, texts of many lines, each kind of archive, saved reports.
pub const TARGETS: [Target; 38] = [
    ("jaeger", || [fixtures("jaeger"), generated()].concat()),
    ("jaeger-ui", || fixtures("jaeger-ui")),
    ("jaeger-spans", || fixtures("jaeger-spans")),
    ("elasticsearch", || fixtures("elasticsearch")),
    ("otlp", || fixtures("otlp")),
    ("zipkin-v2", || fixtures("zipkin-v2")),
    ("zipkin-v1", || fixtures("zipkin-v1")),
    ("otel-stdout", || fixtures("otel-stdout")),
    ("otlp-protobuf", || fixtures("otlp-protobuf")),
    ("jaeger-protobuf", || fixtures("jaeger-protobuf")),
    ("jaeger-cassandra", || fixtures("jaeger-cassandra")),
    ("next-trace", || fixtures("next-trace")),
    ("otel-python", || fixtures("otel-python")),
    ("otel-js", || fixtures("otel-js")),
    ("otel-dotnet", || fixtures("otel-dotnet")),
    ("otel-rust", || fixtures("otel-rust")),
    ("clickhouse", || fixtures("clickhouse")),
    ("signoz", || fixtures("signoz")),
    ("elastic-apm", || fixtures("elastic-apm")),
    ("data-prepper", || fixtures("data-prepper")),
    ("datadog", || fixtures("datadog")),
    ("xray", || fixtures("xray")),
    ("skywalking", || fixtures("skywalking")),
    ("honeycomb", || fixtures("honeycomb")),
    ("new-relic", || fixtures("new-relic")),
    ("phoenix", || fixtures("phoenix")),
    ("langfuse", || fixtures("langfuse")),
    ("langsmith", || fixtures("langsmith")),
    ("google-cloud-trace", || fixtures("google-cloud-trace")),
    ("app-insights", || fixtures("app-insights")),
    ("sentry", || fixtures("sentry")),
    ("grafana", || fixtures("grafana")),
    ("rows", || fixtures("rows")),
    ("lines", lines),
    ("gzip", gzips),
    ("zstd", || packed().into_iter().map(|(_, bytes)| bytes).collect()),
    ("zip", zips),
    ("saved-report", saved_reports),
];

/// Returns where something of the project is. The fuzz targets are a package two folders further down.
pub fn project(path: &str) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    if here.ends_with("tools/fuzz") { here.join("../..").join(path) } else { here.join(path) }
}

/// Returns the files of a folder, sorted, with their contents; none if there is no such folder.
fn files(folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(project(folder)).into_iter().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.into_iter().map(|file| (file.clone(), std::fs::read(file).unwrap())).collect()
}

/// Returns the files of a folder of `tests/fixtures/ingest`, sorted, with their contents.
pub fn fixture_files(folder: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let files = files(&format!("tests/fixtures/ingest/{folder}"));
    assert!(!files.is_empty(), "there are no fixtures {folder}");
    files
}

/// Returns the inputs of a target that were found to break something once, and those that fuzzing has kept since each
/// runs code that no other runs (`cargo xtask fuzz`).
pub fn kept(target: &str) -> Vec<Vec<u8>> {
    let folders = ["found", "corpus"].map(|kind| files(&format!("tools/fuzz/{kind}/{target}")));
    folders.into_iter().flatten().map(|(_, bytes)| bytes).collect()
}

fn fixtures(folder: &str) -> Vec<Vec<u8>> {
    fixture_files(folder).into_iter().map(|(_, bytes)| bytes).collect()
}

/// Returns small generated exports, one of them with every defect.
fn generated() -> Vec<Vec<u8>> {
    let export = |spans, traces, defects| generated_jaeger(spans, traces, Shape::Mixed, defects);
    // In the last one lists of tags come again and again.
    vec![
        export(6, 3, "all".parse().unwrap()),
        export(4, 2, Defects::default()),
        export(12, 16, Defects::default()),
    ]
}

/// Returns every format, line by line, in one text and each format in its own.
fn lines() -> Vec<Vec<u8>> {
    let folders = [
        "jaeger",
        "elasticsearch",
        "otlp",
        "zipkin-v2",
        "otel-stdout",
        "jaeger-protobuf",
        "jaeger-cassandra",
        "next-trace",
    ];
    let texts = folders.iter().flat_map(|folder| fixture_files(folder));
    let texts = texts.filter(|(file, _)| file.extension().is_some_and(|e| e != "json"));
    let mut texts: Vec<Vec<u8>> = texts.map(|(_, bytes)| bytes).collect();
    texts.push(texts.concat());
    texts
}

fn gzips() -> Vec<Vec<u8>> {
    let two_members = |text: &Vec<u8>| {
        let (first, second) = text.split_at(text.len() / 3);
        [gzip(first), gzip(second)].concat()
    };
    lines().iter().map(two_members).collect()
}

/// Returns files packed with zstd, which only reads here.
pub fn packed() -> Vec<(PathBuf, Vec<u8>)> {
    files("tests/fixtures/packed")
}

fn zips() -> Vec<Vec<u8>> {
    let (jaeger, otlp) = (&fixtures("jaeger")[0], &fixtures("otlp")[0]);
    let ways = [
        STORED,
        DEFLATED,
        Way { zip64: true, ..DEFLATED },
        Way { descriptor: Some(true), ..DEFLATED },
        Way { descriptor: Some(false), zip64: true, ..DEFLATED },
    ];
    let inner = zip(&[("inner.json", otlp, DEFLATED)]);
    let mut archives: Vec<Vec<u8>> =
        ways.iter().map(|&way| zip(&[("a.json", jaeger, way), ("b.json", otlp, way)])).collect();
    archives.push(zip(&[("a.json.gz", &gzip(jaeger), STORED), ("b.zip", &inner, DEFLATED)]));
    archives
}

/// Returns reports as earlier versions saved them, in UTF-8 and in UTF-16, and one with two blocks.
fn saved_reports() -> Vec<Vec<u8>> {
    let folder = project("tests/golden/upgrade/0.1");
    let reports = ["report.html", "report2.html"].map(|name| std::fs::read(folder.join(name)).unwrap());
    [&reports[..], &[reports[0].repeat(2)]].concat()
}

/// A seeded stream of numbers, the same everywhere.
pub struct Random(pub u64);

impl Random {
    /// Returns the next number, of 31 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    /// Returns a number below `n`; 0 for 0.
    pub fn below(&mut self, n: usize) -> usize {
        self.next() as usize % n.max(1)
    }

    /// Returns a number below 2 to the power of `power`, more often a small one.
    pub fn skewed(&mut self, power: usize) -> usize {
        let most = 1 << self.below(power);
        self.below(most)
    }
}

/// Returns columns and account of a text read `times` into one set, in chunks of the sizes that `chunk` says.
pub fn read(
    text: &[u8],
    reference: bool,
    times: u32,
    chunk: impl FnMut() -> usize,
) -> (String, Vec<FileReport>) {
    read_by(text, &ReadOptions { reference, ..ReadOptions::default() }, times, chunk)
}

/// Returns the same by these options.
pub fn read_by(
    text: &[u8],
    options: &ReadOptions,
    times: u32,
    mut chunk: impl FnMut() -> usize,
) -> (String, Vec<FileReport>) {
    let mut inputs = ManyInputs::default();
    let mut reports = Vec::new();
    for _ in 0..times {
        let mut reader = Reader::new("input", options.clone());
        let mut rest = text;
        while !rest.is_empty() {
            let (now, later) = rest.split_at(chunk().clamp(1, rest.len()));
            rest = later;
            // Either way of feeding may follow the other.
            let fed = match now.len() % 2 {
                0 => reader.feed(now, &mut inputs),
                _ => feed_by(&mut reader, now, &mut inputs),
            };
            if fed.is_err() {
                break;
            }
        }
        let mut report = reader.finish(&mut inputs);
        // A reader that gives up stops counting bytes, and that depends on the chunk.
        report.bytes = 0;
        reports.push(report);
    }
    inputs.set.seal().unwrap();
    (dump(&inputs.set), reports)
}

/// Feeds bytes by writing them where the reader wants them.
pub fn feed_by(reader: &mut Reader, bytes: &[u8], into: &mut dyn ReadTarget) -> Result<(), IngestError> {
    let mut rest = bytes;
    let fed = reader.feed_by(bytes.len(), into, |room| {
        let (now, later) = rest.split_at(room.len());
        room.copy_from_slice(now);
        rest = later;
    });
    assert!(rest.is_empty() || fed.is_err(), "bytes are left");
    fed
}

/// Reads bytes in every way and fails if two ways differ.
pub fn check(bytes: &[u8], random: &mut Random) {
    // The second time, what was remembered of the first is at work.
    let times = 1 + u32::from(random.below(4) == 0);
    let whole = read(bytes, true, times, || usize::MAX);
    assert_eq!(read(bytes, false, times, || usize::MAX), whole, "the fast and the reference way differ");
    let size = 1 + random.skewed(12);
    assert_eq!(read(bytes, false, times, || 1 + random.below(size)), whole, "chunks change the fast way");
    for masks in [Masks::Baseline, Masks::Words] {
        let options = ReadOptions { masks, ..ReadOptions::default() };
        assert_eq!(
            read_by(bytes, &options, times, || usize::MAX),
            whole,
            "{masks:?} differs from the best masks"
        );
    }
    assert_eq!(read(bytes, true, times, || 1 + random.below(size)), whole, "chunks change the reference way");
}

/// Checks the same; the chunks follow from the bytes, so that a finding repeats.
pub fn check_alone(bytes: &[u8]) {
    let seed = bytes.iter().fold(bytes.len() as u64, |sum, &byte| sum.wrapping_mul(31) + u64::from(byte));
    check(bytes, &mut Random(seed));
}

/// Most changes of one text, as a power of 2. Few are common, since after many little is left of a text.
const DEEPEST: usize = 9;

/// Returns the bytes of one case of a target: one of its texts with some changes.
fn case(texts: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut text = texts[random.below(texts.len())].clone();
    for _ in 0..1 + random.skewed(DEEPEST) {
        let other = &texts[random.below(texts.len())];
        mutate(&mut text, other, random);
    }
    text
}

/// Returns the seed of a case, from the seed of its run and its number.
fn case_seed(run: u64, number: u64) -> u64 {
    (run ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15)).rotate_left(29).wrapping_mul(0xBF58_476D_1CE4_E5B9)
}

/// Runs cases of a target from a seed until `more` says no; how many.
///
/// A case that fails ends the test, with the seed that repeats it alone.
pub fn replay(target: Target, run: u64, mut more: impl FnMut(u64) -> bool) -> u64 {
    let (name, texts) = target;
    let texts = texts();
    let mut number = 0;
    while more(number) {
        let seed = case_seed(run, number);
        if let Err(panic) = std::panic::catch_unwind(|| one(&texts, seed)) {
            println!("target {name}: PATHLIGHT_REPLAY={name}:{seed} repeats this case");
            std::panic::resume_unwind(panic);
        }
        number += 1;
    }
    number
}

/// Checks one case by its seed.
pub fn one(texts: &[Vec<u8>], seed: u64) {
    let mut random = Random(seed);
    let bytes = case(texts, &mut random);
    check(&bytes, &mut random);
}

/// What matters to a reader of JSON.
const PIECES: [&[u8]; 34] = [
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
    b"true",
    b"\"tags\":null,",
    b"\"references\":[{}],",
    b"\"spans\":[],",
    b"\"processes\":{},",
    b"\"resource\":{},",
    b"\"scope\":{\"name\":\"s\"},",
    b"\"error\":{\"message\":\"m\"},",
    b"\xef\xbb\xbf",
    b"\x1f\x8b\x08",
];

/// Changes a text a little. `other` is where pieces may come from.
pub fn mutate(text: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    if text.is_empty() {
        return;
    }
    let at = random.below(text.len());
    let piece = PIECES[random.below(PIECES.len())];
    match random.below(10) {
        0 => text[at] = random.next() as u8,
        1 => insert(text, at, piece),
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
            insert(text, at, &piece);
        }
        5 => {
            // A value in the place of another.
            let from = random.below(other.len());
            if let (Some(old), Some(new)) = (value_from(text, at), value_from(other, from)) {
                text.splice(old, other[new].iter().copied());
            }
        }
        6 => {
            // A value, or a member with its key, once more or not at all.
            let Some(value) = value_from(text, at) else { return };
            let piece = text[value.clone()].to_vec();
            match random.below(3) {
                0 => drop(text.drain(value)),
                1 => insert(text, value.end, &[b",", piece.as_slice()].concat()),
                _ => insert(text, value.start, &[piece.as_slice(), b","].concat()),
            }
        }
        7 => {
            // Around a value: deeper, or in quotes.
            let Some(value) = value_from(text, at) else { return };
            let depth = if random.below(8) == 0 { 126 + random.below(5) } else { 1 };
            let (open, close): (&[u8], &[u8]) =
                [(&b"["[..], &b"]"[..]), (b"{\"data\":", b"}"), (b"\"", b"\"")][random.below(3)];
            insert(text, value.end, &close.repeat(depth));
            insert(text, value.start, &open.repeat(depth));
        }
        8 if random.below(8) == 0 => text.truncate(at),
        _ => {
            if let Some(digit) = text[at..].iter_mut().find(|b| b.is_ascii_digit()) {
                *digit = b"0123456789.-e\"x"[random.below(15)];
            }
        }
    }
    // Texts must not grow without end.
    text.truncate(64 << 10);
}

fn insert(text: &mut Vec<u8>, at: usize, piece: &[u8]) {
    text.splice(at..at, piece.iter().copied());
}

/// Returns where the first value at or after a place stands: an object, a list or a string with all its brackets.
fn value_from(text: &[u8], at: usize) -> Option<std::ops::Range<usize>> {
    let start = at + text.get(at..)?.iter().position(|b| matches!(b, b'{' | b'[' | b'"'))?;
    let (mut depth, mut in_string, mut is_escaped) = (0u32, false, false);
    for (place, &byte) in text.iter().enumerate().skip(start) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if in_string => is_escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => depth += 1,
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 && !in_string {
            return Some(start..place + 1);
        }
    }
    None
}
