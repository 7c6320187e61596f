//! Shared by all formats of OpenTelemetry spans. Kind, status, scope and events become what Jaeger makes of them, so that
//! a trace has the same columns whichever way it was exported.

use super::ParentChoice;
use super::jaeger::{HostChoice, error_tag, is_error_field, text};
use crate::json::node::{Bad, Node, Number, Text};
use crate::sink::Sink;
use pathlight_trace::{
    ProcessId, RawSpan, SpanFacts, SpanId, SpanKind, TRACE_STATE, TagSetId, TraceSet, says_weight,
};
use std::borrow::Cow;

/// A span as its writer spelled it.
pub(crate) struct Span<'a> {
    /// Byte offset of its object.
    pub at: u64,
    pub id: SpanId,
    pub parent: ParentChoice,
    /// Nanoseconds since the epoch.
    pub start: Option<Number>,
    /// The end, likewise.
    pub end: Option<Number>,
    pub name: Option<Node<'a>>,
    pub kind: Option<Node<'a>>,
    pub status: Option<Node<'a>>,
    pub attributes: Option<Node<'a>>,
    pub events: Option<Node<'a>>,
    /// `tracestate`.
    pub state: Option<Node<'a>>,
}

/// Reads a span with the tags of its scope; `None` if its times leave it out.
pub(crate) fn read(
    sink: &mut Sink,
    set: &mut TraceSet,
    span: Span<'_>,
    scope: TagSetId,
    process: ProcessId,
) -> Result<Option<RawSpan>, Bad> {
    let name = text(sink, span.name, "name")?;
    let mut facts = SpanFacts::default();
    set.tags.begin();
    set.tags.add_set(scope);
    if let Some(node) = span.kind {
        facts.kind = kind(node)?;
        if facts.kind != SpanKind::Unspecified {
            set.tags.add("span.kind", facts.kind.name());
        }
    }
    if let Some(status) = span.status {
        add_status(sink, set, status, &mut facts)?;
    }
    each_attribute(sink, span.attributes, &mut |key, value| {
        set.tags.add(key, value);
        facts.observe(key, value);
    })?;
    // What Jaeger keeps of it, where it says how the trace was sampled.
    let state = span.state.filter(|state| state.is_string());
    if let Some(state) = text(sink, state, "traceState")?.filter(|state| says_weight(&state.text)) {
        set.tags.add(TRACE_STATE, &state.text);
    }
    for event in span.events.into_iter().flat_map(Node::elements) {
        add_event(sink, set, event?)?;
    }
    let tags = set.tags.finish();
    let mut flags = facts.flags();
    let (start, duration) = microseconds(span.start, span.end);
    let Some((start_us, duration_us)) = sink.times(span.at, start, duration, &mut flags) else {
        return Ok(None);
    };
    let operation = set.operation(name.as_ref().map_or("", |n| &n.text));
    let id = span.id;
    let parent = span.parent.choose(&mut flags, &mut set.id_texts);
    Ok(Some(RawSpan { id, parent, start_us, duration_us, operation, process, tags, flags }))
}

/// Returns whether the attributes of a link say that it is a reference of OpenTracing, and that one that says `FOLLOWS_FROM`:
/// bridges and translators write so what does not fit into the id of the parent. `None`: it is a link.
pub(crate) fn reference_kind(sink: &mut Sink, attributes: Option<Node<'_>>) -> Result<Option<bool>, Bad> {
    let mut follows_from = None;
    each_attribute(sink, attributes, &mut |key, value| {
        if key == "opentracing.ref_type" {
            follows_from = match value {
                "child_of" => Some(false),
                "follows_from" => Some(true),
                _ => None,
            };
        }
    })?;
    Ok(follows_from)
}

/// Returns the process that the attributes of a resource describe.
pub(crate) fn process(
    sink: &mut Sink,
    set: &mut TraceSet,
    attributes: Option<Node<'_>>,
) -> Result<ProcessId, Bad> {
    let mut service = String::new();
    let mut host = HostChoice::default();
    set.tags.begin();
    each_attribute(sink, attributes, &mut |key, value| {
        host.observe(key, value);
        if key == "service.name" {
            service = value.to_owned();
        } else {
            set.tags.add(key, value);
        }
    })?;
    let tags = set.tags.finish();
    Ok(set.process(&service, host.name(), tags))
}

/// Returns the tags that a scope gives its spans.
pub(crate) fn scope(sink: &mut Sink, set: &mut TraceSet, node: Option<Node<'_>>) -> Result<TagSetId, Bad> {
    let Some(node) = node else { return Ok(TagSetId::EMPTY) };
    let [name, name_of_go, version, version_of_go] = node.pick(["name", "Name", "version", "Version"])?;
    let name = text(sink, name.or(name_of_go), "the name of a scope")?;
    let version = text(sink, version.or(version_of_go), "the version of a scope")?;
    set.tags.begin();
    for (key, value) in [("otel.scope.name", name), ("otel.scope.version", version)] {
        if let Some(value) = value.filter(|v| !v.text.is_empty()) {
            set.tags.add(key, &value.text);
        }
    }
    Ok(set.tags.finish())
}

/// Returns the kind of an enum number or name.
fn kind(node: Node<'_>) -> Result<SpanKind, Bad> {
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

fn add_status(sink: &mut Sink, set: &mut TraceSet, node: Node<'_>, facts: &mut SpanFacts) -> Result<(), Bad> {
    let [code, code_of_go, message, description] = node.pick(["code", "Code", "message", "Description"])?;
    // Go counts the other way round than the protocol.
    let numbers = if code_of_go.is_some() { ["2", "1"] } else { ["1", "2"] };
    if let Some(code) = code.or(code_of_go) {
        let code = code.plain()?.text;
        let is = |number: &str, word: &str| {
            code == number || code.strip_prefix("STATUS_CODE_").unwrap_or(&code).eq_ignore_ascii_case(word)
        };
        if is(numbers[0], "OK") {
            facts.set_ok();
            set.tags.add("otel.status_code", "OK");
        } else if is(numbers[1], "ERROR") {
            facts.set_error();
            set.tags.add("error", "true");
            set.tags.add("otel.status_code", "ERROR");
        }
    }
    let message = text(sink, message.or(description), "the message of a status")?;
    if let Some(message) = message.filter(|m| !m.text.is_empty()) {
        set.tags.add("otel.status_description", &message.text);
    }
    Ok(())
}

/// Counts an event; one of an error is kept as tags.
fn add_event(sink: &mut Sink, set: &mut TraceSet, node: Node<'_>) -> Result<(), Bad> {
    set.logs += 1;
    let [name, name_of_go, attributes, attributes_of_go] =
        node.pick(["name", "Name", "attributes", "Attributes"])?;
    let mut is_error = match name.or(name_of_go) {
        Some(name) => is_error_field("event", &name.plain()?.text),
        None => false,
    };
    let mut kept = Vec::new();
    each_attribute(sink, attributes.or(attributes_of_go), &mut |key, value| {
        is_error |= is_error_field(key, value);
        kept.extend(error_tag(key).map(|name| (name, value.to_owned())));
    })?;
    for (name, value) in kept.iter().filter(|_| is_error) {
        set.tags.add(name, value);
    }
    Ok(())
}

/// Shows every attribute of a list to `on`: `{key, value: {stringValue: ..}}` or Go's `{Key, Value: {Type, Value}}`.
fn each_attribute(
    sink: &mut Sink,
    list: Option<Node<'_>>,
    on: &mut dyn FnMut(&str, &str),
) -> Result<(), Bad> {
    for attribute in list.into_iter().flat_map(Node::elements) {
        let [key, key_of_go, value, value_of_go] = attribute?.pick(["key", "Key", "value", "Value"])?;
        let Some(key) = text(sink, key.or(key_of_go), "the key of an attribute")? else { continue };
        let Some(value) = value.or(value_of_go) else {
            on(&key.text, "");
            continue;
        };
        let shown = any_value(value)?;
        if shown.is_lossy {
            sink.lossy(value);
        }
        on(&key.text, &shown.text);
    }
    Ok(())
}

/// Returns what is inside an `AnyValue`, and whether it is the list of one.
fn inside(value: Node<'_>) -> Result<(Option<Node<'_>>, bool), Bad> {
    if !value.is_object() {
        return Ok((Some(value), value.is_array()));
    }
    let [kind_of_go, of_go, array] = value.pick(["Type", "Value", "arrayValue"])?;
    Ok(match (kind_of_go, array) {
        (Some(_), _) => (of_go, of_go.is_some_and(Node::is_array)),
        (None, Some(array)) => (array.pick(["values"])?[0], true),
        (None, None) => match value.members().next().transpose()? {
            Some((key, inner)) if key == "array_value" => (inner.pick(["values"])?[0], true),
            first => (first.map(|(_, inner)| inner), false),
        },
    })
}

/// Returns a value as text, as Jaeger shows it: a list is written as JSON. What is nested deeper stays as it was
/// written.
pub(super) fn any_value(value: Node<'_>) -> Result<Text<'_>, Bad> {
    let (inner, is_list) = inside(value)?;
    let Some(inner) = inner else {
        return Ok(Text { text: Cow::Borrowed(if is_list { "[]" } else { "" }), is_lossy: false });
    };
    if !is_list {
        return inner.plain();
    }
    let (mut out, mut is_lossy) = (String::from("["), false);
    for element in inner.elements() {
        let element = element?;
        // The protocol writes whole numbers as text.
        let [whole, whole_of_snake] = element.pick(["intValue", "int_value"])?;
        let whole = whole.or(whole_of_snake);
        let (Some(inner), _) = inside(element)? else { continue };
        let text = match whole {
            Some(whole) => whole.plain()?.text,
            None => String::from_utf8_lossy(inner.text),
        };
        if out.len() > 1 {
            out.push(',');
        }
        is_lossy |= std::str::from_utf8(inner.text).is_err();
        out.push_str(&text);
    }
    out.push(']');
    Ok(Text { text: Cow::Owned(out), is_lossy })
}

/// Returns the start and duration in microseconds from nanoseconds: start = floor(start / 1000), duration = floor((end
/// - start) / 1000).
fn microseconds(start: Option<Number>, end: Option<Number>) -> (Option<Number>, Option<Number>) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_become_microseconds_by_the_rule() {
        let (start, duration) = microseconds(Some(Number::Whole(1999)), Some(Number::Whole(4998)));
        assert_eq!((start, duration), (Some(Number::Whole(1)), Some(Number::Whole(2))));
        let (_, duration) = microseconds(Some(Number::Whole(5000)), Some(Number::Whole(4000)));
        assert_eq!(duration, Some(Number::Negative));
    }

    #[test]
    fn values_are_shown_as_jaeger_shows_them() {
        let shown = |text: &'static str| {
            any_value(Node { text: text.as_bytes(), at: 0 }).map(|t| t.text.into_owned())
        };
        for (text, value) in [
            (r#"{"stringValue":"a\"b"}"#, "a\"b"),
            (r#"{"intValue":"7"}"#, "7"),
            (r#"{"boolValue":true}"#, "true"),
            (r#"{"arrayValue":{"values":[{"stringValue":"a"},{"intValue":"7"}]}}"#, r#"["a",7]"#),
            (r#"{"arrayValue":{}}"#, "[]"),
            (r#"{"array_value":{"values":[{"string_value":"a"},{"int_value":"7"}]}}"#, r#"["a",7]"#),
            (r#"{"Type":"STRINGSLICE","Value":["a", "b"]}"#, r#"["a","b"]"#),
            (r#"{"Type":"INT64","Value":1}"#, "1"),
            (r#"{}"#, ""),
        ] {
            assert_eq!(shown(text), Ok(value.to_owned()), "{text}");
        }
    }
}
