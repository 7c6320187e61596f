//! OpenTelemetry protocol as JSON: resources, scopes, spans.

use super::jaeger::text;
use super::otel;
use crate::ProblemKind;
use crate::json::node::{Bad, Node, Number};
use crate::judge::{Clock, Needs};
use crate::state::{Fail, Format, ParentChoice, State};
use pathlight_trace::{ProcessId, RawSpan, SetFull, SpanId, TagSetId, TraceId, TraceSet};

/// What a span must have.
pub(crate) const NEEDS: Needs = Needs {
    what: "an OTLP span",
    keys: &[&["traceId"], &["spanId"], &["name"]],
    start: &["startTimeUnixNano"],
    duration: &[],
    end: &["endTimeUnixNano"],
    clock: Clock::Nanos,
};

/// The resource and the scope being read, and the spans that came before them.
#[derive(Default)]
pub(crate) struct Around {
    resource: Option<ProcessId>,
    scope: Option<TagSetId>,
    waiting: Vec<(TraceId, RawSpan)>,
    /// How many of those that wait have the tags of their scope.
    scoped: usize,
}

pub(crate) fn see(state: &mut State) {
    state.saw(Format::Otlp);
}

pub(crate) fn begin_resource(state: &mut State) {
    state.around.resource = None;
}

pub(crate) fn begin_scope(state: &mut State) {
    state.around.scope = None;
}

/// Reads a resource, which becomes the process of its spans.
pub(crate) fn resource(state: &mut State, set: &mut TraceSet, node: Node<'_>) -> Result<(), Bad> {
    let [attributes] = node.pick(["attributes"])?;
    state.around.resource = Some(otel::process(state, set, attributes)?);
    Ok(())
}

/// Reads a scope, which becomes tags of its spans.
pub(crate) fn scope(state: &mut State, set: &mut TraceSet, node: Node<'_>) -> Result<(), Bad> {
    state.around.scope = Some(otel::scope(state, set, Some(node))?);
    Ok(())
}

/// Ends a scope: spans that came before its name get it now.
pub(crate) fn finish_scope(state: &mut State, set: &mut TraceSet) -> Result<(), SetFull> {
    let Around { resource, scope, waiting, scoped } = &mut state.around;
    if let Some(scope) = scope.take() {
        for (_, span) in &mut waiting[*scoped..] {
            span.tags = set.tags.union(span.tags, scope);
        }
    }
    *scoped = waiting.len();
    match *resource {
        Some(process) => hand_over(state, set, process),
        None => Ok(()),
    }
}

/// Ends a resource: spans that came before it get it now, or none.
pub(crate) fn finish_resource(state: &mut State, set: &mut TraceSet) -> Result<(), SetFull> {
    finish_scope(state, set)?;
    state.around.resource = None;
    if state.around.waiting.is_empty() {
        return Ok(());
    }
    let nobody = set.process("", "", TagSetId::EMPTY);
    hand_over(state, set, nobody)
}

fn hand_over(state: &mut State, set: &mut TraceSet, process: ProcessId) -> Result<(), SetFull> {
    state.around.scoped = 0;
    for (id, span) in std::mem::take(&mut state.around.waiting) {
        state.stage(set, id, RawSpan { process, ..span })?;
    }
    Ok(())
}

/// Returns an id in hexadecimal or base64, told apart by length and alphabet; `bytes` is what it should have.
pub(crate) fn canonical(id: &str, bytes: usize) -> String {
    let is_hex = id.len() == 2 * bytes && id.bytes().all(|b| b.is_ascii_hexdigit());
    let body = id.trim_end_matches('=');
    if is_hex || body.len() != (bytes * 4).div_ceil(3) {
        return id.to_owned();
    }
    let (mut out, mut bits, mut have) = (String::with_capacity(2 * bytes), 0u32, 0);
    for byte in body.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return id.to_owned(),
        };
        bits = bits << 6 | u32::from(digit);
        have += 6;
        if have >= 8 {
            have -= 8;
            let byte = (bits >> have) as u8;
            out.extend([byte >> 4, byte & 15].map(|d| char::from_digit(u32::from(d), 16).unwrap_or('0')));
        }
    }
    out
}

fn id_text(state: &mut State, node: Option<Node<'_>>, name: &str, bytes: usize) -> Result<String, Bad> {
    Ok(text(state, node, name)?.map_or(String::new(), |t| canonical(&t.text, bytes)))
}

/// Takes note of a link that is a reference to a span of the trace `own`.
fn reference(
    state: &mut State,
    set: &mut TraceSet,
    link: Node<'_>,
    own: &str,
    choice: &mut ParentChoice,
) -> Result<(), Bad> {
    let [trace, span, attributes] = link.pick(["traceId", "spanId", "attributes"])?;
    let Some(follows_from) = otel::reference_kind(state, attributes)? else { return Ok(()) };
    let trace = id_text(state, trace, "traceId", 16)?;
    let span = id_text(state, span, "spanId", 8)?;
    if trace.is_empty() || trace.eq_ignore_ascii_case(own) {
        choice.reference(SpanId::parse(&span, &mut set.id_texts), follows_from);
    }
    Ok(())
}

/// Reads nanoseconds as a decimal text or a number.
fn nanoseconds(state: &mut State, node: Option<Node<'_>>, name: &str) -> Result<Option<Number>, Bad> {
    let Some(node) = node else { return Ok(None) };
    let number = if node.is_string() {
        let Some(text) = text(state, Some(node), name)? else { return Ok(None) };
        let text = text.text.trim();
        match text.parse::<u64>() {
            Ok(ns) => Number::Whole(ns),
            Err(_) if text.is_empty() => return Ok(None),
            Err(_) if text.starts_with('-') => Number::Negative,
            Err(_) => return Err(node.wrong(name, "a number of nanoseconds")),
        }
    } else {
        node.number()?.ok_or_else(|| node.wrong(name, "a number of nanoseconds"))?
    };
    Ok(state.in_unit(Clock::Nanos, Some(number)).map(Number::rounded))
}

/// Reads a span of the scope being read.
pub(crate) fn span(state: &mut State, set: &mut TraceSet, node: Node<'_>) -> Result<(), Fail> {
    if !node.is_object() {
        return Err(node.wrong("a span", "an object").into());
    }
    let [trace, id, parent, start, end] =
        node.pick(["traceId", "spanId", "parentSpanId", "startTimeUnixNano", "endTimeUnixNano"])?;
    let [name, kind, status, attributes, events, links] =
        node.pick(["name", "kind", "status", "attributes", "events", "links"])?;
    let trace = id_text(state, trace, "traceId", 16)?;
    let id = id_text(state, id, "spanId", 8)?;
    let parent_text = id_text(state, parent, "parentSpanId", 8)?;
    let mut parent = ParentChoice::default();
    parent.reference(SpanId::parse(&parent_text, &mut set.id_texts), false);
    for link in links.into_iter().flat_map(Node::elements) {
        reference(state, set, link?, &trace, &mut parent)?;
    }
    let span = otel::Span {
        at: node.at,
        id: SpanId::parse(&id, &mut set.id_texts),
        parent,
        start: nanoseconds(state, start, "startTimeUnixNano")?,
        end: nanoseconds(state, end, "endTimeUnixNano")?,
        name,
        kind,
        status,
        attributes,
        events,
    };
    let Around { resource, scope, .. } = state.around;
    let process = resource.unwrap_or(ProcessId(0));
    let Some(span) = otel::read(state, set, span, scope.unwrap_or(TagSetId::EMPTY), process)? else {
        return Ok(());
    };
    let trace = TraceId::parse(&trace, &mut set.id_texts);
    if trace.is_none() {
        state.problems.note(ProblemKind::MissingTraceId, node.at, || "a span without a trace id".into());
    } else if resource.is_some() && scope.is_some() {
        state.stage(set, trace, span)?;
    } else {
        state.around.waiting.push((trace, span));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hexadecimal_or_base64() {
        assert_eq!(canonical("O6VWCcPN5JZJzXfR+dzZNg==", 16), "3ba55609c3cde49649cd77d1f9dcd936");
        assert_eq!(canonical("Sc130fnc2TY=", 8), "49cd77d1f9dcd936");
        assert_eq!(canonical("ab2c1005cfb5390d", 8), "ab2c1005cfb5390d");
        assert_eq!(canonical("odd", 8), "odd");
    }
}
