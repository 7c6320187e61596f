//! Habits of real instrumentation, applied to a clean trace (`docs/definitions/real-traces.md`): the truth stays known.

use super::build::About;
use super::topology::Role;
use super::{BuiltReference, GeneratedSpan, GeneratedTrace};
use pathlight_base::statistics::Random;
use pathlight_trace::SpanKind;
use std::collections::BTreeMap;

/// Clocks are off by this many microseconds, and up to as many more.
const OFF_US: u64 = 5_000;
const OFF_MORE_US: u64 = 45_000;

/// Returns a span of the parent's process that the clean trace does not have.
fn beside(parent: &GeneratedSpan, random: &mut Random, operation: &'static str) -> GeneratedSpan {
    GeneratedSpan {
        span_id: random.number().max(1),
        parent: Some(BuiltReference { span_id: parent.span_id, follows_from: false }),
        operation,
        kind: SpanKind::Internal,
        error: false,
        about: About {
            role: Role::Internal,
            peer: "",
            statement: "",
            own_error: false,
            hit: None,
            retry: false,
            passed: None,
            early: false,
            ..parent.about
        },
        ..parent.clone()
    }
}

/// Adds a second span for the work of long outgoing calls, beside each of them.
pub(super) fn overlay(trace: &mut GeneratedTrace, random: &mut Random) {
    let by_id: BTreeMap<u64, &GeneratedSpan> = trace.spans.iter().map(|span| (span.span_id, span)).collect();
    let mut by_parent: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for span in &trace.spans {
        if let Some(above) = span.parent {
            by_parent
                .entry(above.span_id)
                .or_default()
                .push((span.start_us, span.start_us + span.duration_us));
        }
    }
    let mut added = Vec::new();
    for call in trace.spans.iter().filter(|span| span.kind == SpanKind::Client && span.duration_us >= 200) {
        let Some(above) = call.parent.filter(|above| !above.follows_from) else { continue };
        let Some(parent) = by_id.get(&above.span_id) else { continue };
        let (from, to) = (parent.start_us, parent.start_us + parent.duration_us);
        let end = call.start_us + call.duration_us;
        let is_inside = call.start_us > from && end < to;
        // It may end a little later than the call: then it is what the parent seems to wait for.
        let overlay = (call.start_us - 1, (end + call.duration_us / 100).min(to));
        // Beside a call that is under way before it, or goes on after it, it looks like work.
        let is_across = by_parent[&above.span_id].iter().any(|&(start, end)| {
            start < call.start_us && end >= call.start_us || start < overlay.1 && end > overlay.1
        });
        if !is_inside || is_across || call.duration_us * 100 < parent.duration_us * 35 {
            continue;
        }
        let mut span = beside(parent, random, "FilteringWebHandler.handle");
        (span.start_us, span.duration_us) = (overlay.0, overlay.1 - overlay.0);
        added.push(span);
    }
    trace.spans.append(&mut added);
}

/// Adds work that outlives the span that starts it, in the same process.
pub(super) fn fire_and_forget(trace: &mut GeneratedTrace, random: &mut Random) {
    let mut added = Vec::new();
    for parent in trace.spans.iter().filter(|span| span.duration_us >= 40 && span.kind != SpanKind::Client) {
        if random.below(4) != 0 {
            continue;
        }
        let mut span = beside(parent, random, "flush");
        span.start_us = parent.start_us + parent.duration_us / 2;
        // Not in whole milliseconds, which rounding might explain.
        span.start_us += u64::from(span.start_us.is_multiple_of(1000));
        span.duration_us = 2 * parent.duration_us;
        added.push(span);
    }
    trace.spans.append(&mut added);
}

/// Has callees begin later and end earlier, by half of what they take before and after all that they call: the rest of
/// their call is network or queue.
pub(super) fn queues(trace: &mut GeneratedTrace, random: &mut Random) {
    // Earliest start and latest end of what is below a span.
    let mut below: BTreeMap<u64, (u64, u64)> = BTreeMap::new();
    for span in &trace.spans {
        let Some(above) = span.parent else { continue };
        let end = span.start_us + span.duration_us;
        let known = below.entry(above.span_id).or_insert((span.start_us, end));
        *known = (known.0.min(span.start_us), known.1.max(end));
    }
    let is_callee = |span: &&mut GeneratedSpan| span.kind == SpanKind::Server && span.parent.is_some();
    for span in trace.spans.iter_mut().filter(is_callee) {
        let (start, end) = (span.start_us, span.start_us + span.duration_us);
        let middle = start + span.duration_us / 2;
        let (first, last) = below.get(&span.span_id).copied().unwrap_or((middle, middle));
        let before = random.below(1 + first.saturating_sub(start) / 2);
        let after = random.below(1 + end.saturating_sub(last) / 2);
        span.start_us += before;
        span.duration_us -= before + after;
    }
}

/// Sets the clock of every process but that of the root wrong, each by an offset of its own.
pub(super) fn skew(trace: &mut GeneratedTrace, random: &mut Random) {
    let Some(root) = trace.spans.first().and_then(|span| span.process) else { return };
    let mut offsets: Vec<i64> = Vec::with_capacity(trace.processes.len());
    for process in 0..trace.processes.len() as u32 {
        let off = (OFF_US + random.below(OFF_MORE_US)) as i64;
        let off = if random.below(2) == 0 { off } else { -off };
        offsets.push(if process == root { 0 } else { off });
    }
    for span in &mut trace.spans {
        let offset = span.process.map_or(0, |process| offsets[process as usize]);
        span.start_us = span.start_us.saturating_add_signed(offset);
    }
}

/// Names every outgoing call after its method alone.
pub(super) fn generic_names(trace: &mut GeneratedTrace) {
    for span in trace.spans.iter_mut().filter(|span| span.kind == SpanKind::Client) {
        span.operation = "HTTP GET";
    }
}

/// Adds a number to the name of every span of kind server.
pub(super) fn ids_in_names(trace: &mut GeneratedTrace, random: &mut Random) {
    for span in trace.spans.iter_mut().filter(|span| span.kind == SpanKind::Server) {
        span.name_value = Some(10_000 + random.below(90_000));
    }
}
