//! Spans with kinds and links, as tests of messages say them.
#![allow(clippy::unwrap_used, reason = "tests")]

use crate::queries::Trace;
use crate::run::native::NativePool;
use pathlight_trace::{Flags, PathSettings, RawLink, RawSpan, SpanId, SpanKind, TraceId, TraceSet};

/// A span as a test says it.
#[derive(Clone, Debug)]
pub struct Span {
    pub trace: u128,
    pub id: u64,
    pub parent: u64,
    pub kind: SpanKind,
    pub times_us: (u64, u64),
    pub name: &'static str,
    pub destination: &'static str,
    pub links: Vec<(u128, u64)>,
}

pub fn span(
    trace: u128,
    id: u64,
    parent: u64,
    kind: SpanKind,
    times_us: (u64, u64),
    name: &'static str,
) -> Span {
    Span { trace, id, parent, kind, times_us, name, destination: "", links: Vec::new() }
}

impl Span {
    pub fn to(self, destination: &'static str) -> Span {
        Span { destination, ..self }
    }

    pub fn linked(self, links: &[(u128, u64)]) -> Span {
        Span { links: links.to_vec(), ..self }
    }
}

/// Returns a pool over these spans, of which traces go to the workers in turn, each service named as its operation.
pub fn pool(spans: &[Span], workers: usize) -> NativePool {
    pool_of(&[spans], workers)
}

/// Returns a pool over the spans of several groups.
pub fn pool_of(groups: &[&[Span]], workers: usize) -> NativePool {
    let mut sets: Vec<TraceSet> = (0..workers).map(|_| TraceSet::new()).collect();
    for (group, spans) in (0..).zip(groups) {
        for span in *spans {
            let set = &mut sets[span.trace as usize % workers];
            set.loading_group = group;
            add(set, span);
        }
    }
    NativePool::of(sets).unwrap()
}

fn add(set: &mut TraceSet, span: &Span) {
    set.tags.begin();
    if !span.destination.is_empty() {
        set.tags.add("messaging.destination.name", span.destination);
    }
    let tags = set.tags.finish();
    set.tags.begin();
    let no_tags = set.tags.finish();
    let raw = RawSpan {
        id: SpanId::hex(span.id),
        parent: SpanId::hex(span.parent),
        start_us: 1_000_000 + span.times_us.0,
        duration_us: span.times_us.1 - span.times_us.0,
        operation: set.names.intern(span.name),
        process: set.process(span.name, "", no_tags),
        tags,
        flags: Flags::of_kind(span.kind),
    };
    let trace = TraceId::hex(span.trace);
    set.stage(trace, raw).unwrap();
    for &(to_trace, to_span) in &span.links {
        let (to_trace, to_span) = (TraceId::hex(to_trace), SpanId::hex(to_span));
        set.add_link(RawLink { trace, span: raw.id, to_trace, to_span }).unwrap();
    }
}

/// The example of `docs/definitions/queues.md`: a message that waits 50 us.
pub fn example() -> Vec<Span> {
    vec![
        span(1, 1, 0, SpanKind::Server, (0, 100), "A"),
        span(1, 2, 1, SpanKind::Internal, (90, 100), "S"),
        span(1, 3, 2, SpanKind::Consumer, (150, 400), "C"),
        span(1, 4, 3, SpanKind::Internal, (200, 390), "D"),
    ]
}

/// Returns the query for a trace with the default settings.
pub fn trace_of(trace: u64) -> Trace {
    Trace {
        trace_id: format!("{trace:032x}"),
        root_span_id: None,
        settings: PathSettings::default(),
        group: 0,
        has_pressures: false,
    }
}
