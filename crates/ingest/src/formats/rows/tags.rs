//! Tags, in all the ways rows write them: objects, lists of keys with values, texts of JSON, members with a prefix.

use super::record::Scope;
use super::table::Table;
use crate::formats::jaeger::{error_tag, is_error_field, plain, text};
use crate::formats::otel::any_value;
use crate::json::node::{Bad, Node, Text};
use crate::sink::Sink;
use std::borrow::Cow;

/// Objects within objects that become one tag; what is deeper stays text.
const MAX_DEPTH: usize = 8;

/// Takes a tag: its key and its value.
pub(super) type OnTag<'t> = &'t mut dyn FnMut(&str, &str);

/// Shows every tag at these paths of a record to `on`.
pub(super) fn at_paths<'s, 'a: 's>(
    sink: &mut Sink,
    table: &Table,
    scope: Scope<'s, 'a>,
    paths: &'s [String],
    on: OnTag<'_>,
) -> Result<(), Bad> {
    for path in paths {
        if let Some(prefix) = path.strip_suffix('*') {
            for (key, value) in &scope.record.members {
                let Some(key) = key.strip_prefix(prefix).filter(|key| !key.is_empty()) else { continue };
                if prefix.is_empty() && table.names(key) || is_empty(*value) {
                    continue;
                }
                // OpenSearch has no dots in names.
                tree(sink, &key.replace('@', "."), *value, on)?;
            }
            continue;
        }
        let (path, has_name) = path.strip_prefix('+').map_or((path.as_str(), false), |path| (path, true));
        if let Some(node) = scope.get(path)? {
            let name = path.trim_start_matches('^');
            if is_empty(node) {
                continue;
            }
            let name = if has_name || !is_many(node) { name } else { "" };
            if !table.names_below(path) {
                each(sink, name, node, on)?;
                continue;
            }
            // What is a field of the span is no tag too.
            each(sink, name, node, &mut |key, value| {
                let is_field =
                    if name.is_empty() { table.names(&format!("{path}.{key}")) } else { table.names(key) };
                if !is_field {
                    on(key, value);
                }
            })?;
        }
    }
    Ok(())
}

/// Returns whether a value says nothing: tables as text have something in every column.
pub(super) fn is_empty(node: Node<'_>) -> bool {
    matches!(node.text, b"" | b"null" | b"\"\"" | b"\"[]\"" | b"\"{}\"")
}

fn is_many(node: Node<'_>) -> bool {
    node.is_object() || node.is_array() || is_json(node)
}

/// Returns whether a text begins as an object or a list of JSON does.
fn is_json(node: Node<'_>) -> bool {
    matches!(node.text, [b'"', b'{', ..] | [b'"', b'[', b'{', ..])
}

/// Shows the tags of a value to `on`; their keys begin with `name`, if there is one.
pub(super) fn each(sink: &mut Sink, name: &str, node: Node<'_>, on: OnTag<'_>) -> Result<(), Bad> {
    if is_json(node) {
        let Some(text) = node.string()? else { return Ok(()) };
        let inner = Node { text: text.text.trim().as_bytes(), at: node.at };
        // What looks like JSON and is none is a text.
        let is_whole = serde_json::from_slice::<serde::de::IgnoredAny>(inner.text).is_ok();
        return match is_whole {
            true if inner.is_array() => list(sink, inner, on),
            true => tree(sink, name, inner, on),
            false if name.is_empty() => Ok(()),
            false => {
                on(name, &text.text);
                Ok(())
            }
        };
    }
    if node.is_array() && node.elements().next().is_some_and(|first| first.is_ok_and(Node::is_object)) {
        return list(sink, node, on);
    }
    tree(sink, name, node, on)
}

/// Shows a value to `on`, or what is in an object, with keys joined by dots.
fn tree(sink: &mut Sink, name: &str, node: Node<'_>, on: OnTag<'_>) -> Result<(), Bad> {
    let mut todo = vec![(name.to_owned(), node, 0)];
    while let Some((name, node, depth)) = todo.pop() {
        if !node.is_object() || depth >= MAX_DEPTH {
            let shown = plain(sink, node)?;
            if !name.is_empty() {
                on(&name, &shown.text);
            }
            continue;
        }
        for member in node.members() {
            let (key, value) = member?;
            let key = if name.is_empty() { key.into_owned() } else { format!("{name}.{key}") };
            match value.is_object() {
                true => todo.push((key, value, depth + 1)),
                false => on(&key, &plain(sink, value)?.text),
            }
        }
    }
    Ok(())
}

/// Shows every tag of a list: `{key, value}`, `{key, vType, vStr, ..}`, `{key, value_type, value_string, ..}`.
pub(super) fn list(sink: &mut Sink, list: Node<'_>, on: OnTag<'_>) -> Result<(), Bad> {
    for tag in list.elements() {
        let tag = tag?;
        let (mut key, mut kind, mut values) = (None, String::new(), [None; 6]);
        for member in tag.members() {
            let (name, value) = member?;
            match &*name {
                "key" | "Key" => key = text(sink, Some(value), "the key of a tag")?,
                "vType" | "v_type" | "value_type" => kind = value.plain()?.text.to_ascii_lowercase(),
                _ => {
                    if let Some(place) = type_of_value(&name) {
                        values[place] = Some(value).filter(|value| !value.is_null());
                    }
                }
            }
        }
        let Some(key) = key else { continue };
        // Zero values are left out, and a missing type is text.
        let (place, zero) = match &*kind {
            "1" | "bool" => (1, "false"),
            "2" | "int64" => (2, "0"),
            "3" | "float64" => (3, "0"),
            "4" | "binary" => (4, ""),
            "0" | "string" => (0, ""),
            _ => (values.iter().position(Option::is_some).unwrap_or(0), ""),
        };
        let shown = match values[place] {
            Some(value) if place == UNTYPED => any_value(value)?,
            Some(value) => plain(sink, value)?,
            None => Text { text: Cow::Borrowed(zero), is_lossy: false },
        };
        on(&key.text, &shown.text);
    }
    Ok(())
}

/// The place of a value that says its type itself.
const UNTYPED: usize = 5;

/// Returns which type's value stands under a key: text, truth, whole number, number, bytes, any.
fn type_of_value(key: &str) -> Option<usize> {
    Some(match key {
        "vStr" | "v_str" | "value_string" => 0,
        "vBool" | "v_bool" | "value_bool" => 1,
        "vInt64" | "v_int64" | "value_long" => 2,
        "vFloat64" | "v_float64" | "value_double" => 3,
        "vBinary" | "v_binary" | "value_binary" => 4,
        "value" | "Value" => UNTYPED,
        _ => return None,
    })
}

/// Shows what is kept of an event of an error, as tags of its span.
pub(super) fn of_event(sink: &mut Sink, event: Node<'_>, on: OnTag<'_>) -> Result<(), Bad> {
    let [name, title, fields, data, attributes] =
        event.pick(["name", "Name", "fields", "data", "attributes"])?;
    let mut is_error = match name.or(title) {
        Some(name) => is_error_field("event", &name.plain()?.text),
        None => false,
    };
    let mut kept = Vec::new();
    each(sink, "", fields.or(data).or(attributes).unwrap_or(event), &mut |key, value| {
        is_error |= is_error_field(key, value);
        kept.extend(error_tag(key).map(|name| (name, value.to_owned())));
    })?;
    for (name, value) in kept.iter().filter(|_| is_error) {
        on(name, value);
    }
    Ok(())
}
