//! Traces written by hand and at random, for several test targets.
#![allow(dead_code, reason = "each target uses a part of it")]

use pathlight::trace::{Flags, RawSpan, SpanId, SpanKind, TagSetId, TraceId, TraceSet};

/// A span as a test writes it.
#[derive(Clone, Debug)]
pub struct Span {
    pub trace: u128,
    pub id: u64,
    pub parent: u64,
    pub service: String,
    pub operation: String,
    pub start_us: u64,
    pub duration_us: u64,
    pub kind: SpanKind,
    pub follows_from: bool,
    pub error: bool,
}

/// A span of trace 1 whose service and operation are both `name`, over `[start, end]`; parent 0 is none.
pub fn span(id: u64, parent: u64, name: &str, start: u64, end: u64) -> Span {
    Span {
        trace: 1,
        id,
        parent,
        service: name.to_owned(),
        operation: name.to_owned(),
        start_us: start,
        duration_us: end - start,
        kind: SpanKind::Unspecified,
        follows_from: false,
        error: false,
    }
}

/// Stages spans one by one, in the order given.
pub fn stage(set: &mut TraceSet, spans: &[Span]) {
    for span in spans {
        let mut flags = Flags::of_kind(span.kind);
        flags.set(Flags::FOLLOWS_FROM, span.follows_from);
        flags.set(Flags::ERROR, span.error);
        let raw = RawSpan {
            id: SpanId::hex(span.id),
            parent: SpanId::hex(span.parent),
            start_us: span.start_us,
            duration_us: span.duration_us,
            operation: set.names.intern(&span.operation),
            process: set.process(&span.service, "", TagSetId::EMPTY),
            tags: TagSetId::EMPTY,
            flags,
        };
        set.stage(TraceId::hex(span.trace), raw).unwrap();
    }
}

/// A sealed set of these spans.
pub fn set_of(spans: &[Span]) -> TraceSet {
    let mut set = TraceSet::new();
    stage(&mut set, spans);
    set.seal().unwrap();
    set
}
