//! OpenTelemetry protocol as JSON: resources, scopes, spans.

use super::jaeger::{HostChoice, error_tag, text};
use super::node::{Bad, Node, Number};
use super::report::ProblemKind;
use super::state::{Fail, Format, State};
use crate::trace::{ProcessId, RawSpan, SetFull, SpanFacts, SpanId, SpanKind, TagSetId, TraceId, TraceSet};

pub(super) fn see(state: &mut State) {
    state.saw(Format::Otlp);
}

pub(super) fn begin_resource(state: &mut State) {
    see(state);
    state.resource = None;
}

pub(super) fn begin_scope(_state: &mut State) {}

/// A resource becomes the process of its spans.
pub(super) fn resource(state: &mut State, set: &mut TraceSet, node: Node<'_>) -> Result<(), Bad> {
    let mut service = String::new();
    let mut host = HostChoice::default();
    set.tags.begin();
    if let Some(list) = member(node, "attributes")? {
        attributes(state, set, list, &mut |key, value| {
            if key == "service.name" {
                service = value.to_owned();
            }
            host.observe(key, value);
        })?;
    }
    let tags = set.tags.finish();
    state.resource = Some(set.process(&service, host.name(), tags));
    Ok(())
}

/// Names of scopes say nothing about latency.
pub(super) fn scope(_state: &mut State, _node: Node<'_>) -> Result<(), Bad> {
    Ok(())
}

/// The value of a key, `None` if it is missing or null.
fn member<'a>(node: Node<'a>, name: &str) -> Result<Option<Node<'a>>, Bad> {
    for found in node.members() {
        let (key, value) = found?;
        if key == name {
            return Ok(Some(value).filter(|v| !v.is_null()));
        }
    }
    Ok(None)
}

/// Adds attributes (`[{key, value: {stringValue: ..}}]`) to the tag set begun and shows each to `on`.
fn attributes(
    state: &mut State,
    set: &mut TraceSet,
    list: Node<'_>,
    on: &mut impl FnMut(&str, &str),
) -> Result<(), Bad> {
    for attribute in list.elements() {
        let attribute = attribute?;
        let (mut key, mut value) = (None, None);
        for found in attribute.members() {
            match found? {
                (name, node) if name == "key" => key = Some(node),
                (name, node) if name == "value" => value = Some(node),
                _ => {}
            }
        }
        let Some(key) = text(state, key.filter(|k| !k.is_null()), "the key of an attribute")? else {
            continue;
        };
        let value = match value {
            Some(value) if value.is_object() => value.members().next().transpose()?.map(|(_, inner)| inner),
            other => other,
        };
        match value {
            Some(value) => {
                let shown = value.plain()?;
                if shown.is_lossy {
                    state.lossy(value);
                }
                set.tags.add(&key.text, &shown.text);
                on(&key.text, &shown.text);
            }
            None => {
                set.tags.add(&key.text, "");
                on(&key.text, "");
            }
        }
    }
    Ok(())
}

/// An id in hexadecimal or base64, told apart by length and alphabet; `bytes` is what it should have.
fn canonical(id: &str, bytes: usize) -> String {
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

/// Nanoseconds as a decimal text or a number.
fn nanoseconds(state: &mut State, node: Option<Node<'_>>, name: &str) -> Result<Option<Number>, Bad> {
    let Some(node) = node else { return Ok(None) };
    if node.is_string() {
        let Some(text) = text(state, Some(node), name)? else { return Ok(None) };
        let text = text.text.trim();
        return match text.parse::<u64>() {
            Ok(ns) => Ok(Some(Number::Whole(ns))),
            Err(_) if text.is_empty() => Ok(None),
            Err(_) if text.starts_with('-') => Ok(Some(Number::Negative)),
            Err(_) => Err(node.wrong(name, "a number of nanoseconds")),
        };
    }
    match node.number()? {
        Some(number) => Ok(Some(number.rounded())),
        None => Err(node.wrong(name, "a number of nanoseconds")),
    }
}

/// Start and duration in microseconds from nanoseconds: start = floor(start / 1000), duration = floor((end - start) / 1000).
pub(super) fn microseconds(start: Option<Number>, end: Option<Number>) -> (Option<Number>, Option<Number>) {
    // Zero means "not set" in the protocol.
    let given = |n: Option<Number>| n.filter(|n| *n != Number::Whole(0));
    let (start, end) = (given(start), given(end));
    let duration = match (start, end) {
        (Some(Number::Whole(start)), Some(Number::Whole(end))) => Some(match end.checked_sub(start) {
            Some(ns) => Number::Whole(ns / 1000),
            None => Number::Negative,
        }),
        _ => None,
    };
    let start = start.map(|start| match start {
        Number::Whole(ns) => Number::Whole(ns / 1000),
        other => other,
    });
    (start, duration)
}

/// The kind of an enum number or name.
pub(super) fn kind(node: Node<'_>) -> Result<SpanKind, Bad> {
    let text = node.plain()?;
    Ok(match &*text.text {
        "1" => SpanKind::Internal,
        "2" => SpanKind::Server,
        "3" => SpanKind::Client,
        "4" => SpanKind::Producer,
        "5" => SpanKind::Consumer,
        name => SpanKind::parse(name).unwrap_or_default(),
    })
}

/// A span of the resource being read.
pub(super) fn span(state: &mut State, set: &mut TraceSet, node: Node<'_>) -> Result<(), Fail> {
    if !node.is_object() {
        return Err(node.wrong("a span", "an object").into());
    }
    let (mut trace, mut id, mut parent, mut name) = (None, None, None, None);
    let (mut start, mut end, mut attributes_node, mut events) = (None, None, None, None);
    let mut facts = SpanFacts::default();
    for found in node.members() {
        let (key, value) = found?;
        if value.is_null() {
            continue;
        }
        match &*key {
            "traceId" => trace = Some(value),
            "spanId" => id = Some(value),
            "parentSpanId" => parent = Some(value),
            "name" => name = Some(value),
            "kind" => facts.kind = kind(value)?,
            "startTimeUnixNano" => start = Some(value),
            "endTimeUnixNano" => end = Some(value),
            "attributes" => attributes_node = Some(value),
            "events" => events = Some(value),
            "status" => {
                if let Some(code) = member(value, "code")?
                    && matches!(&*code.plain()?.text, "2" | "STATUS_CODE_ERROR" | "ERROR")
                {
                    facts.set_error();
                }
            }
            _ => {}
        }
    }
    let id_text = |state: &mut State, node, name: &str, bytes| -> Result<String, Bad> {
        Ok(text(state, node, name)?.map_or(String::new(), |t| canonical(&t.text, bytes)))
    };
    let trace = id_text(state, trace, "traceId", 16)?;
    let id = id_text(state, id, "spanId", 8)?;
    let parent = id_text(state, parent, "parentSpanId", 8)?;
    let name = text(state, name, "name")?;
    let start = nanoseconds(state, start, "startTimeUnixNano")?;
    let end = nanoseconds(state, end, "endTimeUnixNano")?;
    set.tags.begin();
    if let Some(list) = attributes_node {
        attributes(state, set, list, &mut |key, value| facts.observe(key, value))?;
    }
    if let Some(events) = events {
        keep_events(set, events)?;
    }
    let tags = set.tags.finish();
    let mut flags = facts.flags();
    let (start, duration) = microseconds(start, end);
    let Some((start_us, duration_us)) = state.times(node.at, start, duration, &mut flags) else {
        return Ok(());
    };
    let trace = TraceId::parse(&trace, &mut set.id_texts);
    if trace.is_none() {
        state.problems.note(ProblemKind::MissingTraceId, node.at, || "a span without a trace id".into());
        return Ok(());
    }
    let span = RawSpan {
        id: SpanId::parse(&id, &mut set.id_texts),
        parent: SpanId::parse(&parent, &mut set.id_texts),
        start_us,
        duration_us,
        operation: set.names.intern(name.as_ref().map_or("", |n| &n.text)),
        process: state.resource.unwrap_or(ProcessId(0)),
        tags,
        flags,
    };
    match state.resource {
        Some(_) => state.stage(set, trace, span)?,
        None => state.waiting.push((trace, span)),
    }
    Ok(())
}

/// Counts events and keeps those of exceptions as tags.
fn keep_events(set: &mut TraceSet, events: Node<'_>) -> Result<(), Bad> {
    for event in events.elements() {
        let event = event?;
        set.logs += 1;
        let is_exception = match member(event, "name")? {
            Some(name) => matches!(&*name.plain()?.text, "exception" | "error"),
            None => false,
        };
        let Some(list) = member(event, "attributes")?.filter(|_| is_exception) else { continue };
        for attribute in list.elements() {
            let attribute = attribute?;
            let (Some(key), Some(value)) = (member(attribute, "key")?, member(attribute, "value")?) else {
                continue;
            };
            let key = key.plain()?;
            if let (Some(name), Some((_, value))) =
                (error_tag(&key.text), value.members().next().transpose()?)
            {
                set.tags.add(name, &value.plain()?.text);
            }
        }
    }
    Ok(())
}

/// Hands over spans that waited for their resource.
pub(super) fn finish_resource(state: &mut State, set: &mut TraceSet) -> Result<(), SetFull> {
    if !state.waiting.is_empty() {
        let process = state.resource.unwrap_or_else(|| set.process("", "", TagSetId::EMPTY));
        for (id, mut span) in std::mem::take(&mut state.waiting) {
            span.process = process;
            state.stage(set, id, span)?;
        }
    }
    state.resource = None;
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

    #[test]
    fn nanoseconds_become_microseconds_by_the_rule() {
        let (start, duration) = microseconds(Some(Number::Whole(1999)), Some(Number::Whole(4998)));
        assert_eq!((start, duration), (Some(Number::Whole(1)), Some(Number::Whole(2))));
        let (_, duration) = microseconds(Some(Number::Whole(5000)), Some(Number::Whole(4000)));
        assert_eq!(duration, Some(Number::Negative));
    }
}
