//! Traces written by hand and at random, for several test targets.
#![allow(dead_code, reason = "each target uses a part of it")]
#![allow(clippy::unwrap_used, reason = "the lint sees only functions marked as tests, not their helpers")]

pub mod archives;
pub mod random;
pub mod replay;
pub mod report;
pub mod spoken;
pub mod stored;
pub mod times;
pub mod words;

use pathlight::generate::{Defects, GenerateOptions, Shape, write_jaeger};
use pathlight::trace::{
    Flags, RawLink, RawSpan, SpanId, SpanKind, SpanReference, TagSetId, TraceId, TraceSet, several_parents,
};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// Returns generated traces as a Jaeger export.
pub fn generated_jaeger(spans: u64, traces: u64, shape: Shape, defects: Defects) -> Vec<u8> {
    let options = GenerateOptions { spans, traces, shape, seed: 3, defects, ..GenerateOptions::default() };
    let mut out = Vec::new();
    write_jaeger(&options, &mut out).unwrap();
    out
}

/// A span as a test writes it.
#[derive(Clone, Debug)]
pub struct Span {
    pub trace: u128,
    pub id: u64,
    pub parent: u64,
    pub service: String,
    /// The host of its process; empty is none.
    pub host: &'static str,
    pub operation: String,
    pub start_us: u64,
    pub duration_us: u64,
    pub kind: SpanKind,
    pub follows_from: bool,
    /// The id of a second parent, `CHILD_OF`; 0 is none.
    pub second: u64,
    /// Trace and span that it links to; span 0 is none.
    pub link: (u128, u64),
    pub error: bool,
    /// The value of its tag `zone`; empty is none.
    pub zone: &'static str,
}

/// Returns a span of trace 1 whose service and operation are both `name`, over `[start, end]`; parent 0 is none.
pub fn span(id: u64, parent: u64, name: &str, start: u64, end: u64) -> Span {
    Span {
        trace: 1,
        id,
        parent,
        service: name.to_owned(),
        host: "",
        operation: name.to_owned(),
        start_us: start,
        duration_us: end - start,
        kind: SpanKind::Unspecified,
        follows_from: false,
        second: 0,
        link: (0, 0),
        error: false,
        zone: "",
    }
}

/// Stages spans one by one, in the order given.
pub fn stage(set: &mut TraceSet, spans: &[Span]) {
    spans.iter().for_each(|span| stage_tagged(set, span, &[]));
}

/// Stages a span with more tags.
pub fn stage_tagged(set: &mut TraceSet, span: &Span, tags: &[(&str, String)]) {
    let mut flags = Flags::of_kind(span.kind);
    flags.set(Flags::FOLLOWS_FROM, span.follows_from);
    flags.set(Flags::ERROR, span.error);
    let mut parent = SpanId::hex(span.parent);
    if span.second != 0 {
        let first = SpanReference { id: parent, follows_from: span.follows_from };
        let mut references = [first, SpanReference { id: SpanId::hex(span.second), follows_from: false }];
        references.sort_by_key(|reference| reference.follows_from);
        parent = several_parents(&references, &mut set.id_texts);
        flags.set(Flags::FOLLOWS_FROM, false);
        flags.set(Flags::SEVERAL_PARENTS, true);
    }
    set.tags.begin();
    if !span.zone.is_empty() {
        set.tags.add("zone", span.zone);
        // A number whose sums depend on the order they are made in.
        set.tags.add("tokens", &(1.0 / span.id as f64).to_string());
    }
    tags.iter().for_each(|(key, value)| set.tags.add(key, value));
    let tags = set.tags.finish();
    let raw = RawSpan {
        id: SpanId::hex(span.id),
        parent,
        start_us: span.start_us,
        duration_us: span.duration_us,
        operation: set.names.intern(&span.operation),
        process: set.process(&span.service, span.host, TagSetId::EMPTY),
        tags,
        flags,
    };
    let trace = TraceId::hex(span.trace);
    set.stage(trace, raw).unwrap();
    if span.link.1 != 0 {
        let (to_trace, to_span) = (TraceId::hex(span.link.0), SpanId::hex(span.link.1));
        set.add_link(RawLink { trace, span: raw.id, to_trace, to_span }).unwrap();
    }
}

/// Returns a sealed set of these spans.
pub fn set_of(spans: &[Span]) -> TraceSet {
    let mut set = TraceSet::new();
    stage(&mut set, spans);
    set.seal().unwrap();
    set
}

/// Returns the folder of the golden cases.
pub fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

/// Returns the file `input.json` of every case of a suite of golden cases, sorted.
pub fn golden_inputs(suite: &str) -> Vec<PathBuf> {
    let mut files = files_below(&golden_folder().join(suite));
    files.retain(|file| file.ends_with("input.json"));
    files
}

/// Returns the folder of real traces: `PATHLIGHT_DATA`, or `../shared/data` beside the project.
///
/// Without it a test skips this many cases, which is said: on standard output, and in the file that `cargo xtask test`
/// names in `PATHLIGHT_SKIPPED` to count them.
#[track_caller]
pub fn shared_data(cases: u32) -> Option<PathBuf> {
    let folder = match std::env::var_os("PATHLIGHT_DATA") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
    };
    if folder.is_dir() {
        return Some(folder);
    }
    skip(cases, "real traces");
    None
}

/// Says that so many cases of the calling test are skipped, and what they need; see [`shared_data`].
#[track_caller]
pub fn skip(cases: u32, need: &str) {
    let test = std::panic::Location::caller();
    let line = format!("skipped: {cases} cases of {}:{}, which need {need}\n", test.file(), test.line());
    print!("{line}");
    if let Some(file) = std::env::var_os("PATHLIGHT_SKIPPED") {
        let mut file = std::fs::File::options().create(true).append(true).open(file).unwrap();
        file.write_all(line.as_bytes()).unwrap();
    }
}

/// Returns CRISP's test cases, and after them all files of these folders of [`shared_data`].
#[track_caller]
pub fn real_files(folders: &[&str], cases: u32) -> Vec<PathBuf> {
    let mut files = golden_inputs("crisp");
    if let Some(data) = shared_data(cases) {
        files.extend(folders.iter().flat_map(|folder| files_below(&data.join(folder))));
    }
    files
}

/// Returns all files below a folder, sorted.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}

/// Reads a file into a sealed set, in chunks of `chunk` bytes.
pub fn load(path: &Path, chunk: usize) -> TraceSet {
    let mut set = TraceSet::new();
    load_into(&mut set, path, chunk);
    set.seal().unwrap();
    set
}

/// Adds a file to a set, unsealed, in chunks of `chunk` bytes.
pub fn load_into(set: &mut TraceSet, path: &Path, chunk: usize) {
    let name = path.file_name().unwrap().to_string_lossy();
    read_into(set, &name, &std::fs::read(path).unwrap(), chunk);
}

/// Adds the bytes of a file to a set, unsealed, in chunks of `chunk` bytes.
pub fn read_into(set: &mut TraceSet, name: &str, bytes: &[u8], chunk: usize) {
    let mut reader = pathlight::ingest::Reader::new(name, pathlight::ingest::ReadOptions::default());
    for chunk in bytes.chunks(chunk) {
        if reader.feed(chunk, set).is_err() {
            break;
        }
    }
    reader.finish(set);
}

/// Returns generated traces as a sealed set, without tags and without the way through a file.
pub fn generated(options: &GenerateOptions) -> TraceSet {
    generated_as(options, 0)
}

/// Returns the same as group 0 or 1: set A or B of a comparison.
pub fn generated_as(options: &GenerateOptions, group: u8) -> TraceSet {
    let generator = pathlight::generate::Generator::new(options).unwrap();
    let mut set = TraceSet::new();
    set.loading_group = group;
    for index in 0..options.traces {
        let trace = generator.trace(index);
        let mut spans: Vec<RawSpan> = (trace.spans.iter())
            .map(|span| {
                let service = span.process.map_or("", |p| trace.processes[p as usize].service);
                let mut flags = Flags::of_kind(span.kind);
                flags.set(Flags::FOLLOWS_FROM, span.parent.is_some_and(|p| p.follows_from));
                flags.set(Flags::ERROR, span.error);
                RawSpan {
                    id: SpanId::hex(span.span_id),
                    parent: span.parent.map_or(SpanId::NONE, |p| SpanId::hex(p.span_id)),
                    start_us: span.start_us,
                    duration_us: span.duration_us,
                    operation: set.names.intern(&span.name()),
                    process: set.process(service, "", TagSetId::EMPTY),
                    tags: TagSetId::EMPTY,
                    flags,
                }
            })
            .collect();
        let trace_id = |id: u64| TraceId::hex(id.into());
        for span in &trace.spans {
            for &(to_trace, to_span) in &span.links {
                let (trace, to_trace) = (trace_id(trace.trace_id), trace_id(to_trace));
                let (span, to_span) = (SpanId::hex(span.span_id), SpanId::hex(to_span));
                set.add_link(RawLink { trace, span, to_trace, to_span }).unwrap();
            }
        }
        set.add_trace(trace_id(trace.trace_id), &mut spans).unwrap();
    }
    set.seal().unwrap();
    set
}

/// An empty folder of a test, removed at its end.
pub struct Scratch(PathBuf);

impl Scratch {
    /// Makes it; `name` is the test's.
    pub fn new(name: &str) -> Scratch {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Scratch(folder)
    }

    /// Returns where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
