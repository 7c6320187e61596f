//! Objects that stand alone: single spans of any format, and what is none.

use crate::context::Context;
use crate::formats::rows::{self, RowReader};
use crate::formats::{jaeger, next, otlp, stdout, zipkin};
use crate::json::node::Node;
use crate::needs::Needs;
use crate::sink::{Fail, Sink};
use pathlight_trace::TraceSet;

/// Returns whether an object must be walked into: it is no single span, by a table if there is one.
pub(crate) fn holds_documents(node: Node<'_>, rows: Option<&RowReader>) -> bool {
    if let Some(rows) = rows {
        return rows.holds_records(node);
    }
    for (key, value) in node.members().map_while(Result::ok) {
        let is_container = match &*key {
            "data" | "result" | "hits" | "_source" | "trace" | "traces" => {
                value.is_array() || value.is_object()
            }
            "spans" | "resourceSpans" | "resource_spans" | "batches" => value.is_array(),
            key => otlp::is_scopes(key.as_bytes()) && value.is_array(),
        };
        if is_container {
            return true;
        }
    }
    // Bad syntax may hide a container behind it; walking finds out.
    node.members().any(|m| m.is_err())
}

/// Takes a single object, by a table if there is one; whether it was a span.
pub(crate) fn take(cx: &mut Context<'_>, node: Node<'_>, rows: Option<&mut RowReader>) -> Result<bool, Fail> {
    if let Some(rows) = rows {
        return rows.take(cx, node);
    }
    let mut keys: Vec<String> = Vec::new();
    let mut kind = Kind::default();
    for member in node.members() {
        let (key, value) = member?;
        kind.observe(&key, value);
        if keys.len() < 6 {
            keys.push(key.into_owned());
        }
    }
    if let Some(format) = kind.format() {
        match &mut cx.judge {
            Some(judge) => return Ok(judge.record(format.needs(), node)?),
            None => format.read(cx.sink, cx.set, node)?,
        }
        return Ok(true);
    }
    if kind.error {
        note_server_error(cx.sink, node);
        return Ok(false);
    }
    if kind.empty_answer {
        cx.sink.is_known = true;
        return Ok(false);
    }
    if kind.bulk_action && keys.len() == 1 {
        return Ok(false);
    }
    cx.note_other(node.at, || match keys.len() {
        0 => "an empty object".into(),
        _ => format!("an object with the keys {}", keys.join(", ")),
    });
    Ok(false)
}

/// What the keys of an object say it is.
#[derive(Default)]
struct Kind {
    jaeger_span: bool,
    stdout_span: bool,
    zipkin_id: bool,
    zipkin_trace: bool,
    zipkin_v1: bool,
    zipkin_endpoint: bool,
    row_id: bool,
    row: bool,
    cassandra: bool,
    attributes: bool,
    id: bool,
    start_time: bool,
    timestamp: bool,
    error: bool,
    empty_answer: bool,
    bulk_action: bool,
}

/// A format of single spans.
#[derive(Clone, Copy)]
enum Single {
    Jaeger,
    Stdout,
    Row,
    Cassandra,
    Next,
    Zipkin1,
    Zipkin2,
}

impl Single {
    fn needs(self) -> &'static Needs {
        match self {
            Single::Jaeger => &jaeger::NEEDS_ALONE,
            Single::Stdout => &stdout::NEEDS,
            Single::Row | Single::Cassandra => &rows::NEEDS,
            Single::Next => &next::NEEDS,
            Single::Zipkin1 | Single::Zipkin2 => &zipkin::NEEDS,
        }
    }

    fn read(self, sink: &mut Sink, set: &mut TraceSet, node: Node<'_>) -> Result<(), Fail> {
        match self {
            Single::Jaeger => jaeger::single_span(sink, set, node),
            Single::Stdout => stdout::span(sink, set, node),
            Single::Row | Single::Cassandra => {
                let is_row = matches!(self, Single::Cassandra);
                let table = if is_row { rows::cassandra() } else { rows::jaeger_protobuf() };
                table.map_or(Ok(()), |table| rows::single(sink, set, table, node))
            }
            Single::Next => next::span(sink, set, node),
            Single::Zipkin1 => zipkin::span(sink, set, node, true),
            Single::Zipkin2 => zipkin::span(sink, set, node, false),
        }
    }
}

impl Kind {
    /// Returns the format of the span that it is.
    fn format(&self) -> Option<Single> {
        let is_next = self.start_time && self.timestamp && self.id && !self.zipkin_endpoint;
        Some(match self {
            _ if self.jaeger_span => Single::Jaeger,
            _ if self.stdout_span => Single::Stdout,
            _ if self.row_id && self.row && self.cassandra => Single::Cassandra,
            _ if self.row_id && self.row => Single::Row,
            // What OpenTelemetry for JavaScript prints has the same keys otherwise.
            _ if self.attributes => return None,
            _ if self.zipkin_trace && is_next => Single::Next,
            _ if self.zipkin_trace && self.zipkin_id && self.zipkin_v1 => Single::Zipkin1,
            _ if self.zipkin_trace && self.zipkin_id => Single::Zipkin2,
            _ => return None,
        })
    }

    fn observe(&mut self, key: &str, value: Node<'_>) {
        match key {
            "spanID" => self.jaeger_span = true,
            "SpanContext" => self.stdout_span = value.is_object(),
            "traceId" => self.zipkin_trace = value.is_string(),
            "id" => {
                self.id = true;
                self.zipkin_id = value.is_string();
            }
            "localEndpoint" => self.zipkin_endpoint = true,
            "spanId" | "span_id" => self.row_id = true,
            "span_hash" | "parent_id" | "refs" => self.cassandra |= !value.is_null(),
            "attributes" => self.attributes |= value.is_object(),
            // Zipkin has no such key.
            "startTime" => self.start_time = true,
            "timestamp" => self.timestamp = true,
            "binaryAnnotations" => self.zipkin_v1 = true,
            // Annotations of version 1 say where they were made.
            "annotations" => {
                let first = value.elements().map_while(Result::ok).next();
                let keys = first.into_iter().flat_map(Node::members).map_while(Result::ok);
                self.zipkin_v1 |= keys.into_iter().any(|(key, _)| key == "endpoint");
            }
            "errors" => self.error |= value.is_array(),
            "error" => self.error |= value.is_object(),
            "data" | "resourceSpans" | "spans" => self.empty_answer |= value.is_null(),
            "index" | "create" | "update" | "delete" => self.bulk_action |= value.is_object(),
            _ => self.row |= rows::is_key_of_span(key),
        }
    }
}

/// Keeps the message of a server's error answer: `errors: [{code, msg}]`, or `error: {httpCode, message}`.
pub(crate) fn note_server_error(sink: &mut Sink, node: Node<'_>) {
    let (mut code, mut message) = (None, None);
    // Answers nest their message one or two levels deep.
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        if message.is_some() {
            break;
        }
        todo.extend(node.elements().map_while(Result::ok).take(1));
        for (key, value) in node.members().map_while(Result::ok) {
            match &*key {
                "errors" | "error" => todo.push(value),
                "code" | "httpCode" => code = value.plain().ok(),
                "msg" | "message" => message = value.string().ok().flatten(),
                _ => {}
            }
        }
    }
    let Some(message) = message else { return };
    let code = code.map(|c| format!(" ({})", c.text)).unwrap_or_default();
    let text: String = message.text.chars().take(300).collect();
    sink.server_error.get_or_insert_with(|| (node.at, format!("{text:?}{code}")));
}
