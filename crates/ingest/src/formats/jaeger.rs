//! Jaeger's JSON: spans and processes, the reference way.

use super::{Format, LinkList, ParentChoice};
use crate::clock::Clock;
use crate::json::node::{Bad, Node, Number, Text};
use crate::needs::Needs;
use crate::sink::{Fail, Sink};
use pathlight_trace::{HOST_KEYS, ProcessId, RawSpan, SpanFacts, SpanId, TraceId, TraceSet};

/// What a span must have.
pub(crate) const NEEDS: Needs = Needs {
    what: "a Jaeger span",
    keys: &[&["spanID"], &["operationName"]],
    start: &["startTime"],
    duration: &["duration"],
    end: &[],
    clock: Clock::Micros,
};

/// What it must have if it stands alone.
pub(crate) const NEEDS_ALONE: Needs =
    Needs { keys: &[&["spanID"], &["operationName"], &["traceID"]], ..NEEDS };

/// The members of a span that are read.
struct Fields<'a> {
    trace_id: Option<Node<'a>>,
    span_id: Option<Node<'a>>,
    parent: Option<Node<'a>>,
    operation: Option<Node<'a>>,
    references: Option<Node<'a>>,
    start: Option<Node<'a>>,
    duration: Option<Node<'a>>,
    tags: Option<Node<'a>>,
    tag: Option<Node<'a>>,
    logs: Option<Node<'a>>,
    process: Option<Node<'a>>,
    process_id: Option<Node<'a>>,
    is_elastic: bool,
}

impl<'a> Fields<'a> {
    fn of(node: Node<'a>) -> Result<Fields<'a>, Bad> {
        let [trace_id, span_id, parent, operation, references, start] =
            node.pick(["traceID", "spanID", "parentSpanID", "operationName", "references", "startTime"])?;
        let [duration, tags, tag, logs, process, process_id, millis] =
            node.pick(["duration", "tags", "tag", "logs", "process", "processID", "startTimeMillis"])?;
        let is_elastic = millis.is_some() || tag.is_some();
        Ok(Fields {
            trace_id,
            span_id,
            parent,
            operation,
            references,
            start,
            duration,
            tags,
            tag,
            logs,
            process,
            process_id,
            is_elastic,
        })
    }
}

/// Returns a text field; `None` if it is missing.
pub(crate) fn text<'a>(sink: &mut Sink, node: Option<Node<'a>>, name: &str) -> Result<Option<Text<'a>>, Bad> {
    let Some(node) = node else { return Ok(None) };
    match node.string()? {
        Some(text) => {
            if text.is_lossy {
                sink.lossy(node);
            }
            Ok(Some(text))
        }
        None => Err(node.wrong(name, "text")),
    }
}

/// Returns a value as text, whatever it is.
pub(crate) fn plain<'a>(sink: &mut Sink, node: Node<'a>) -> Result<Text<'a>, Bad> {
    let text = node.plain()?;
    if text.is_lossy {
        sink.lossy(node);
    }
    Ok(text)
}

/// Returns a number field of microseconds; `None` if it is missing.
pub(crate) fn number(node: Option<Node<'_>>, name: &str) -> Result<Option<Number>, Bad> {
    let Some(node) = node else { return Ok(None) };
    match node.number()? {
        Some(number) => Ok(Some(number)),
        None => Err(node.wrong(name, "a number of microseconds")),
    }
}

/// Returns a list; missing and null are empty.
fn list<'a>(node: Option<Node<'a>>, name: &str) -> Result<Option<Node<'a>>, Bad> {
    match node {
        Some(node) if !node.is_array() => Err(node.wrong(name, "a list")),
        other => Ok(other),
    }
}

/// Returns the trace id of a text field, absent if missing.
pub(crate) fn trace_id(
    sink: &mut Sink,
    set: &mut TraceSet,
    node: Option<Node<'_>>,
    name: &str,
) -> Result<TraceId, Bad> {
    let text = text(sink, node, name)?;
    Ok(text.map_or(TraceId::NONE, |t| TraceId::parse(&t.text, &mut set.id_texts)))
}

/// Returns the span id of a text field, absent if missing.
pub(crate) fn span_id(
    sink: &mut Sink,
    set: &mut TraceSet,
    node: Option<Node<'_>>,
    name: &str,
) -> Result<SpanId, Bad> {
    let text = text(sink, node, name)?;
    Ok(text.map_or(SpanId::NONE, |t| SpanId::parse(&t.text, &mut set.id_texts)))
}

/// Adds a list of `{key, value}` to the tag set begun and shows each to `on`: the number of its key, its key, and its value
/// if it has one. A map is read as well.
fn tag_list(
    sink: &mut Sink,
    set: &mut TraceSet,
    node: Option<Node<'_>>,
    on: &mut impl FnMut(u32, &str, Option<&str>),
) -> Result<(), Bad> {
    let Some(node) = node else { return Ok(()) };
    if node.is_object() {
        return tag_map(sink, set, Some(node), false, on);
    }
    for tag in list(Some(node), "tags")?.into_iter().flat_map(Node::elements) {
        let tag = tag?;
        if !tag.is_object() {
            return Err(tag.wrong("a tag", "an object"));
        }
        let [key, value] = tag.pick(["key", "value"])?;
        let Some(key) = text(sink, key, "the key of a tag")? else { continue };
        add_tag(sink, set, &key.text, value, on)?;
    }
    Ok(())
}

/// Adds a map of tags; with `dots`, `@` in keys is a dot.
fn tag_map(
    sink: &mut Sink,
    set: &mut TraceSet,
    node: Option<Node<'_>>,
    dots: bool,
    on: &mut impl FnMut(u32, &str, Option<&str>),
) -> Result<(), Bad> {
    let Some(node) = node else { return Ok(()) };
    if !node.is_object() {
        return Err(node.wrong("tag", "an object"));
    }
    for member in node.members() {
        let (key, value) = member?;
        if dots && key.contains('@') {
            add_tag(sink, set, &key.replace('@', "."), Some(value), on)?;
        } else {
            add_tag(sink, set, &key, Some(value), on)?;
        }
    }
    Ok(())
}

fn add_tag(
    sink: &mut Sink,
    set: &mut TraceSet,
    key: &str,
    value: Option<Node<'_>>,
    on: &mut impl FnMut(u32, &str, Option<&str>),
) -> Result<(), Bad> {
    let number = set.tags.key(key);
    let Some(value) = value else {
        set.tags.add_value(number, "");
        on(number, key, None);
        return Ok(());
    };
    let text = plain(sink, value)?;
    set.tags.add_value(number, &text.text);
    on(number, key, Some(&text.text));
    Ok(())
}

/// Counts the objects directly in an array, whatever else stands there.
fn count_objects(text: &[u8]) -> u64 {
    let (mut count, mut depth, mut at) = (0, 0u32, 0);
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while let Some(&byte) = text.get(at) {
                    match byte {
                        b'"' => break,
                        b'\\' => at += 2,
                        _ => at += 1,
                    }
                }
            }
            b'{' | b'[' => {
                count += u64::from(depth == 1 && byte == b'{');
                depth += 1;
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    count
}

/// Words without which logs hold no error event; only with them they are read.
pub(crate) const ERROR_WORDS: [&[u8]; 2] = [b"exception", b"\"error"];

fn may_hold_errors(logs: &[u8]) -> bool {
    ERROR_WORDS.iter().any(|word| memchr::memmem::find(logs, word).is_some())
}

/// Returns whether a field of an event makes it an error event. What OpenTelemetry calls the name of an event is
/// Jaeger's field `event`.
pub(crate) fn is_error_field(key: &str, value: &str) -> bool {
    match key {
        "event" => matches!(value, "error" | "exception"),
        _ => key.starts_with("exception.") || key == "error.object",
    }
}

/// Returns what is kept of an error event, as tags of its span.
pub(crate) fn error_tag(key: &str) -> Option<&'static str> {
    match key {
        "exception.type" => Some("exception.type"),
        "exception.message" => Some("exception.message"),
        "error.kind" => Some("error.kind"),
        "error.object" => Some("error.object"),
        "message" => Some("error.message"),
        _ => None,
    }
}

/// Keeps the error events of a span as tags. Logs that cannot be read are left.
fn keep_error_events(set: &mut TraceSet, logs: Node<'_>) {
    for log in logs.elements() {
        let Ok(log) = log else { return };
        let fields = log.members().filter_map(Result::ok).find(|(key, _)| key == "fields");
        let mut is_error = false;
        let mut kept = Vec::new();
        for field in fields.into_iter().flat_map(|(_, node)| node.elements()).filter_map(Result::ok) {
            let part = |name: &str| {
                let node = field.members().filter_map(Result::ok).find(|(key, _)| key == name)?.1;
                node.plain().ok()
            };
            let (Some(key), Some(value)) = (part("key"), part("value")) else { continue };
            is_error |= is_error_field(&key.text, &value.text);
            kept.extend(error_tag(&key.text).map(|name| (name, value)));
        }
        for (name, value) in kept.iter().filter(|_| is_error) {
            set.tags.add(name, &value.text);
        }
    }
}

/// Returns a process, whatever object it stands in.
pub(crate) fn process(sink: &mut Sink, set: &mut TraceSet, node: Node<'_>) -> Result<ProcessId, Bad> {
    process_and_keys(sink, set, node, &mut |_| {})
}

/// Returns a process as [`process`] does, and shows the number of each key of its tags to `on_key`.
pub(crate) fn process_and_keys(
    sink: &mut Sink,
    set: &mut TraceSet,
    node: Node<'_>,
    on_key: &mut impl FnMut(u32),
) -> Result<ProcessId, Bad> {
    if !node.is_object() {
        return Err(node.wrong("a process", "an object"));
    }
    let [service, tags, tag] = node.pick(["serviceName", "tags", "tag"])?;
    let service = text(sink, service, "serviceName")?;
    let mut host = HostChoice::default();
    let mut observe = |number, key: &str, value: Option<&str>| {
        on_key(number);
        host.observe(key, value.unwrap_or_default());
    };
    set.tags.begin();
    tag_list(sink, set, tags, &mut observe)?;
    tag_map(sink, set, tag, true, &mut observe)?;
    let tags = set.tags.finish();
    Ok(set.process(service.as_ref().map_or("", |s| &s.text), host.name(), tags))
}

/// The best of the tags that name a host.
#[derive(Default)]
pub(crate) struct HostChoice {
    best: Option<(usize, String)>,
}

impl HostChoice {
    pub fn observe(&mut self, key: &str, value: &str) {
        if let Some(rank) = HOST_KEYS.iter().position(|&k| k == key)
            && !value.is_empty()
            && self.best.as_ref().is_none_or(|(best, _)| rank < *best)
        {
            self.best = Some((rank, value.to_owned()));
        }
    }

    pub fn name(&self) -> &str {
        self.best.as_ref().map_or("", |(_, name)| name)
    }
}

fn references(
    sink: &mut Sink,
    set: &mut TraceSet,
    node: Option<Node<'_>>,
    own: TraceId,
    choice: &mut ParentChoice,
    links: &mut LinkList,
) -> Result<(), Bad> {
    for reference in list(node, "references")?.into_iter().flat_map(Node::elements) {
        let reference = reference?;
        if !reference.is_object() {
            return Err(reference.wrong("a reference", "an object"));
        }
        let [kind, trace, span] = reference.pick(["refType", "traceID", "spanID"])?;
        let follows = text(sink, kind, "refType")?.is_some_and(|t| t.text == "FOLLOWS_FROM");
        let trace = trace_id(sink, set, trace, "traceID")?;
        let span = span_id(sink, set, span, "spanID")?;
        if trace.is_none() || own.is_none() || trace == own {
            choice.reference(span, follows);
        } else {
            links.push(trace, span);
        }
    }
    links.follow(choice);
    Ok(())
}

/// What a span says besides its place.
struct Read<'a> {
    own: TraceId,
    span: RawSpan,
    links: LinkList,
    process: Option<Node<'a>>,
    process_id: Option<Text<'a>>,
}

/// Reads a span; `None` if its times leave it out.
fn read<'a>(
    sink: &mut Sink,
    set: &mut TraceSet,
    at: u64,
    fields: Fields<'a>,
    trace: Option<TraceId>,
) -> Result<Option<Read<'a>>, Bad> {
    let own = trace_id(sink, set, fields.trace_id, "traceID")?;
    let id = span_id(sink, set, fields.span_id, "spanID")?;
    let operation = text(sink, fields.operation, "operationName")?;
    let (mut choice, mut links) = (ParentChoice::default(), LinkList::default());
    choice.named(span_id(sink, set, fields.parent, "parentSpanID")?);
    let home = if own.is_none() { trace.unwrap_or(TraceId::NONE) } else { own };
    references(sink, set, fields.references, home, &mut choice, &mut links)?;
    let start = sink.in_unit(Clock::Micros, number(fields.start, "startTime")?);
    let duration = sink.in_unit(Clock::Micros, number(fields.duration, "duration")?);
    let process_id = text(sink, fields.process_id, "processID")?;
    let mut facts = SpanFacts::default();
    let mut observe = |_, key: &str, value: Option<&str>| {
        if let Some(value) = value {
            facts.observe(key, value);
        }
    };
    set.tags.begin();
    tag_list(sink, set, fields.tags, &mut observe)?;
    tag_map(sink, set, fields.tag, true, &mut observe)?;
    if let Some(logs) = fields.logs.filter(|l| l.is_array()) {
        set.logs += count_objects(logs.text);
        if may_hold_errors(logs.text) {
            keep_error_events(set, logs);
        }
    }
    let tags = set.tags.finish();
    let mut flags = facts.flags();
    let parent = choice.choose(&mut flags, &mut set.id_texts);
    let Some((start_us, duration_us)) = sink.times(at, start, duration, &mut flags) else {
        return Ok(None);
    };
    let operation = set.operation(operation.as_ref().map_or("", |o| &o.text));
    let span = RawSpan { id, parent, start_us, duration_us, operation, process: ProcessId(0), tags, flags };
    Ok(Some(Read { own, span, links, process: fields.process, process_id }))
}

/// Reads a span of the trace under construction.
pub(crate) fn span_of_trace(sink: &mut Sink, set: &mut TraceSet, node: Node<'_>) -> Result<(), Bad> {
    if !node.is_object() {
        return Err(node.wrong("a span", "an object"));
    }
    let fields = Fields::of(node)?;
    let trace = sink.building.id;
    let Some(mut read) = read(sink, set, node.at, fields, trace)? else { return Ok(()) };
    read.span.process = match read.process {
        Some(inline) => {
            sink.building.has_inline_process = true;
            process(sink, set, inline)?
        }
        None => {
            let name = read.process_id.as_ref().map_or(&b""[..], |p| p.text.as_bytes());
            sink.building.process(name, node.at)
        }
    };
    let own = if read.own.is_none() { trace.unwrap_or(TraceId::NONE) } else { read.own };
    sink.building.links.extend(read.links.of(own, read.span.id));
    sink.building.push(read.own, read.span);
    Ok(())
}

/// Reads a span that stands alone, with its process.
pub(crate) fn single_span(sink: &mut Sink, set: &mut TraceSet, node: Node<'_>) -> Result<(), Fail> {
    let fields = Fields::of(node)?;
    sink.saw(if fields.is_elastic { Format::Elasticsearch } else { Format::JaegerSpans });
    let Some(mut read) = read(sink, set, node.at, fields, None)? else { return Ok(()) };
    read.span.process = match read.process {
        Some(inline) => process(sink, set, inline)?,
        None => sink.unknown_process(set, node.at),
    };
    sink.stage_or_leave(set, node.at, read.own, read.span)?;
    read.links.add_to(set, read.own, read.span.id)?;
    Ok(())
}
