//! One record becomes one span.

use super::record::Scope;
use super::table::{Table, Word};
use super::{tags, values};
use crate::clock::Clock;
use crate::formats::jaeger::{HostChoice, text};
use crate::formats::{LinkList, ParentChoice};
use crate::json::node::{Bad, Node, Number};
use crate::needs::Times;
use crate::sink::{Fail, Sink};
use pathlight_trace::{ProcessId, RawSpan, SpanFacts, SpanId, SpanKind, TraceId, TraceSet};

/// Values of a field that says whether a span failed which say that it did not.
const NO_ERROR: [&str; 6] = ["", "0", "false", "null", "None", "[]"];

/// Reads a record as a span and returns its id; `above` is the span in which it is nested.
pub(super) fn span<'s, 'a: 's>(
    sink: &mut Sink,
    set: &mut TraceSet,
    table: &'s Table,
    scope: Scope<'s, 'a>,
    above: SpanId,
) -> Result<SpanId, Fail> {
    let at = scope.record.at;
    sink.saw_number(table.format);
    let own = scope.first(table.list(Word::Trace))?;
    let trace = values::trace_id(sink, set, table, own)?;
    let prefix = prefix(sink, table, scope)?;
    let id = values::span_id(sink, set, table, scope.first(table.list(Word::Span))?, prefix.as_deref())?;
    let is_trace = |parent: &Node<'_>| own.is_some_and(|own| own.text == parent.text);
    let may_be_trace = !table.list(Word::Roots).is_empty();
    let parent = scope.first(table.list(Word::Parent))?.filter(|parent| !may_be_trace || !is_trace(parent));
    let parent = values::span_id(sink, set, table, parent, prefix.as_deref())?;
    let (mut choice, mut links) = (ParentChoice::default(), LinkList::default());
    choice.named(if parent.is_none() { above } else { parent });
    references(sink, set, table, scope, trace, &mut choice, &mut links)?;
    links.follow(&choice);
    let times = times(sink, table, scope)?;
    let mut facts = SpanFacts::default();
    set.tags.begin();
    said_by_fields(sink, set, table, scope, &mut facts)?;
    let mut detail = None;
    let mut on = |key: &str, value: &str| {
        set.tags.add(key, value);
        facts.observe(key, value);
    };
    tags::at_paths(sink, table, scope, table.list(Word::Tags), &mut on)?;
    for pair in table.list(Word::Tag).as_chunks::<2>().0 {
        if let Some(node) = scope.get(&pair[1])?.filter(|node| !tags::is_empty(*node)) {
            tags::each(sink, &pair[0], node, &mut on)?;
        }
    }
    for event in table.list(Word::Events) {
        for event in scope.get(event)?.into_iter().flat_map(Node::elements) {
            set.logs += 1;
            tags::of_event(sink, event?, &mut |key, value| set.tags.add(key, value))?;
        }
    }
    let tags = set.tags.finish();
    let mut flags = facts.flags();
    let parent = choice.choose(&mut flags, &mut set.id_texts);
    let Some((start_us, duration_us)) = sink.times(at, times.start, times.duration, &mut flags) else {
        return Ok(id);
    };
    let process = process(sink, set, table, scope)?;
    let name = text(sink, scope.first(table.list(Word::Name))?, "the name")?;
    if let Some(node) = scope.first(table.list(Word::Detail))? {
        detail = Some(node.plain()?.text.into_owned());
    }
    let name = name.as_ref().map_or("", |name| &name.text);
    let is_told = |detail: &String| name.split([' ', '/', ':']).any(|word| word == detail);
    let operation = match detail.filter(|detail| !detail.is_empty() && !is_told(detail)) {
        Some(detail) => set.operation(&format!("{name} {detail}")),
        None => set.operation(name),
    };
    let span = RawSpan { id, parent, start_us, duration_us, operation, process, tags, flags };
    sink.stage_or_leave(set, at, trace, span)?;
    links.add_to(set, trace, id)?;
    Ok(id)
}

/// Returns what makes ids of spans unique.
fn prefix<'s, 'a: 's>(
    sink: &mut Sink,
    table: &'s Table,
    scope: Scope<'s, 'a>,
) -> Result<Option<String>, Bad> {
    let Some(node) = scope.first(table.list(Word::Compose))? else { return Ok(None) };
    Ok(Some(values::id_text(sink, node, "the id of a segment")?.into_owned()))
}

/// Reads what may be the parent, and links.
fn references<'s, 'a: 's>(
    sink: &mut Sink,
    set: &mut TraceSet,
    table: &'s Table,
    scope: Scope<'s, 'a>,
    own: TraceId,
    choice: &mut ParentChoice,
    links: &mut LinkList,
) -> Result<(), Bad> {
    for (word, may_be_parent) in [(Word::References, true), (Word::Links, false)] {
        let list = scope.first(table.list(word))?;
        for reference in list.into_iter().flat_map(Node::elements) {
            let reference = super::record::Record::of(reference?)?;
            let inner = Scope { record: &reference, around: [None; 3] };
            // A number of the enum, its name, or Cassandra's word.
            let follows = match inner.first(table.list(Word::RefKind))? {
                Some(kind) => matches!(&*kind.plain()?.text, "1" | "FOLLOWS_FROM" | "follows-from"),
                None => false,
            };
            let trace = values::trace_id(sink, set, table, inner.first(table.list(Word::RefTrace))?)?;
            let prefix = match inner.first(table.list(Word::Compose))? {
                Some(node) => Some(values::id_text(sink, node, "the id of a segment")?.into_owned()),
                None => None,
            };
            let span = inner.first(table.list(Word::RefSpan))?;
            let span = values::span_id(sink, set, table, span, prefix.as_deref())?;
            if may_be_parent && (trace.is_none() || own.is_none() || trace == own) {
                choice.reference(span, follows);
            } else {
                links.push(trace, span);
            }
        }
    }
    Ok(())
}

/// Start and duration in microseconds.
struct ReadTimes {
    start: Option<Number>,
    duration: Option<Number>,
}

fn times<'s, 'a: 's>(sink: &Sink, table: &'s Table, scope: Scope<'s, 'a>) -> Result<ReadTimes, Bad> {
    let at = |word| values::stamp(sink, table, word, scope.first(table.list(word))?);
    let (start, end, duration) = (at(Word::Start)?, at(Word::End)?, at(Word::Duration)?);
    let between = start.zip(end).map(|(start, end)| start.until(end));
    let duration = duration.map(values::Stamp::us).or(between);
    // Some write when a span ended and how long it took.
    let start = start.map(values::Stamp::us).or_else(|| match (end?.us().rounded(), duration?.rounded()) {
        (Number::Whole(end), Number::Whole(duration)) => {
            Some(end.checked_sub(duration).map_or(Number::Negative, Number::Whole))
        }
        (other, _) => Some(other),
    });
    Ok(ReadTimes { start, duration })
}

/// Adds what kind, status, error and scope say, as tags and as facts.
fn said_by_fields<'s, 'a: 's>(
    sink: &mut Sink,
    set: &mut TraceSet,
    table: &'s Table,
    scope: Scope<'s, 'a>,
    facts: &mut SpanFacts,
) -> Result<(), Bad> {
    if let Some(node) = scope.first(table.list(Word::Kind))? {
        facts.kind = values::kind(&node.plain()?.text, table.list(Word::Kinds));
        if facts.kind != SpanKind::Unspecified {
            set.tags.add("span.kind", facts.kind.name());
        }
    }
    let mut has_failed = false;
    if let Some(node) = scope.first(table.list(Word::Status))? {
        let word = node.plain()?.text;
        let word = values::meaning(&word, table.list(Word::Statuses));
        let word = word.strip_prefix("STATUS_CODE_").or(word.strip_prefix("StatusCode.")).unwrap_or(word);
        if word == "1" || word.eq_ignore_ascii_case("ok") {
            facts.set_ok();
            set.tags.add("otel.status_code", "OK");
        }
        has_failed = word == "2" || word.eq_ignore_ascii_case("error");
    }
    for path in table.list(Word::Error) {
        if let Some(node) = scope.get(path)? {
            has_failed |= !NO_ERROR.contains(&&*node.plain()?.text);
        }
    }
    if has_failed {
        facts.set_error();
        set.tags.add("error", "true");
        set.tags.add("otel.status_code", "ERROR");
    }
    let message = scope.first(table.list(Word::Message))?;
    let [scope_name, scope_version] = [0, 1].map(|place| table.list(Word::Scope).get(place..=place));
    let of = |path: Option<&'s [String]>| path.map_or(Ok(None), |path| scope.first(path));
    for (key, node) in [
        ("otel.status_description", message),
        ("otel.scope.name", of(scope_name)?),
        ("otel.scope.version", of(scope_version)?),
    ] {
        if let Some(value) = node.filter(|node| node.is_string()) {
            let value = text(sink, Some(value), key)?.map_or("".into(), |value| value.text);
            if !value.is_empty() {
                set.tags.add(key, &value);
            }
        }
    }
    Ok(())
}

fn process<'s, 'a: 's>(
    sink: &mut Sink,
    set: &mut TraceSet,
    table: &'s Table,
    scope: Scope<'s, 'a>,
) -> Result<ProcessId, Bad> {
    let service = text(sink, scope.first(table.list(Word::Service))?, "the service")?;
    let mut host = HostChoice::default();
    let mut named = None;
    set.tags.begin();
    tags::at_paths(sink, table, scope, table.list(Word::Resource), &mut |key, value| {
        host.observe(key, value);
        match key {
            "service.name" => named = Some(value.to_owned()),
            _ => set.tags.add(key, value),
        }
    })?;
    let tags = set.tags.finish();
    let host_field = scope.first(table.list(Word::Host))?;
    let host_field = host_field.map(|node| node.plain()).transpose()?;
    let host = host_field.as_ref().map_or(host.name(), |host| &host.text);
    let service = match &service {
        Some(service) if !service.text.is_empty() => &*service.text,
        _ => named.as_deref().unwrap_or(""),
    };
    if service.is_empty() {
        sink.unknown_process(set, scope.record.at);
    }
    Ok(set.process(service, host, tags))
}

/// Returns the times of a record, or what is wrong with it.
pub(super) fn look<'s, 'a: 's>(table: &'s Table, scope: Scope<'s, 'a>) -> Result<Result<Times, String>, Bad> {
    for (word, name) in [(Word::Trace, "trace id"), (Word::Span, "span id"), (Word::Name, "name")] {
        let found = scope.first(table.list(word))?;
        if found.is_none_or(|node| node.text == b"\"\"") {
            return Ok(Err(format!("{} without a {name}", table.what())));
        }
        if found.is_some_and(|node| node.is_object() || node.is_array()) {
            return Ok(Err(format!("{} whose {name} is no text", table.what())));
        }
    }
    let unit = table.unit(Word::Start);
    let has_number = match scope.first(table.list(Word::Start))? {
        Some(node) => node.number()?.is_some() || node.is_string() && as_number(node)?,
        None => false,
    };
    let clock = if has_number { Clock::Rows(unit as i8) } else { Clock::Plain };
    match times(&Sink::default(), table, scope) {
        Ok(times) => {
            let us = |number: Option<Number>| match number? {
                Number::Whole(us) => Some(us as f64),
                Number::Float(us) => Some(us),
                Number::Negative | Number::Huge => None,
            };
            let start_us = us(times.start).filter(|&us| us != 0.0);
            Ok(Ok(Times { at: scope.record.at, clock, start_us, duration_us: us(times.duration) }))
        }
        Err(bad) if bad.is_syntax => Err(bad),
        Err(bad) => Ok(Err(format!("{} of which {}", table.what(), bad.what))),
    }
}

fn as_number(node: Node<'_>) -> Result<bool, Bad> {
    let text = node.string()?;
    Ok(text.is_some_and(|text| crate::json::node::parse_number(text.text.trim().as_bytes()).is_some()))
}
