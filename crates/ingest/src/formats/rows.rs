//! Jaeger spans as its queues and stores write them: its protobuf model as JSON (Kafka, gRPC gateways, ClickHouse), and
//! rows of its tables in Cassandra. Ids are base64 there, or decimal; values of tags stand under the name of their type.

use super::jaeger::{HostChoice, error_tag, is_error_field, plain, text};
use super::otlp::canonical;
use super::stdout;
use super::{Format, LinkList, ParentChoice};
use crate::clock::Clock;
use crate::json::node::{Bad, Node, Number, Text};
use crate::judge::Needs;
use crate::sink::{Fail, Sink};
use pathlight_trace::{ProcessId, RawSpan, SpanFacts, SpanId, TraceId, TraceSet};
use std::borrow::Cow;

/// What a span must have.
pub(crate) const NEEDS: Needs = Needs {
    what: "a span as Jaeger stores it",
    keys: &[&["traceId", "trace_id"], &["spanId", "span_id"], &["operationName", "operation_name"]],
    start: &["startTime", "start_time"],
    duration: &["duration"],
    end: &[],
    clock: Clock::Plain,
};

/// Returns whether an object with `spanId` or `span_id` is such a span, by its other keys.
pub(crate) fn is_key_of_span(key: &str) -> bool {
    matches!(key, "operationName" | "operation_name" | "process")
}

/// Reads a span that stands by itself.
pub(crate) fn span(sink: &mut Sink, set: &mut TraceSet, node: Node<'_>) -> Result<(), Fail> {
    let [trace, trace_id, id, span_id, parent, parent_span, hash] =
        node.pick(["traceId", "trace_id", "spanId", "span_id", "parent_id", "parentSpanId", "span_hash"])?;
    let [name, operation, refs, references, start, start_time, duration] = node.pick([
        "operationName",
        "operation_name",
        "refs",
        "references",
        "startTime",
        "start_time",
        "duration",
    ])?;
    let [tags, logs, process] = node.pick(["tags", "logs", "process"])?;
    let is_row = hash.is_some() || parent.is_some() || refs.is_some();
    sink.saw(if is_row { Format::JaegerCassandra } else { Format::JaegerProtobuf });
    let mut ids = Ids { sink, set, is_row };
    let own = ids.trace(trace.or(trace_id))?;
    let id = ids.span(id.or(span_id), "spanId")?;
    let (mut choice, mut links) = (ParentChoice::default(), LinkList::default());
    choice.named(ids.span(parent.or(parent_span), "parent_id")?);
    for reference in references.or(refs).into_iter().flat_map(Node::elements) {
        let reference = reference?;
        let [kind, kind_of_row, trace, trace_id, span, span_id] =
            reference.pick(["refType", "ref_type", "traceId", "trace_id", "spanId", "span_id"])?;
        let follows = match kind.or(kind_of_row) {
            // A number of the enum, its name, or Cassandra's word.
            Some(kind) => matches!(&*kind.plain()?.text, "1" | "FOLLOWS_FROM" | "follows-from"),
            None => false,
        };
        let trace = ids.trace(trace.or(trace_id))?;
        let span = ids.span(span.or(span_id), "spanId")?;
        if trace.is_none() || own.is_none() || trace == own {
            choice.reference(span, follows);
        } else {
            links.push(trace, span);
        }
    }
    links.follow(&choice);
    let name = text(sink, name.or(operation), "operationName")?;
    let start = start.or(start_time);
    let start_ns = match start {
        Some(node) if node.is_string() && !is_row => Some(stdout::time(sink, Some(node), "startTime")?),
        _ => None,
    };
    let (start, duration) = match start_ns {
        Some(ns) => (ns.map(to_us), duration.map(seconds).transpose()?.map(to_us)),
        None => (whole(start, "start_time")?, whole(duration, "duration")?),
    };
    let mut facts = SpanFacts::default();
    set.tags.begin();
    each_tag(sink, tags, &mut |key, value| {
        set.tags.add(key, value);
        facts.observe(key, value);
    })?;
    for log in logs.into_iter().flat_map(Node::elements) {
        set.logs += 1;
        let [fields] = log?.pick(["fields"])?;
        let (mut is_error, mut kept) = (false, Vec::new());
        each_tag(sink, fields, &mut |key, value| {
            is_error |= is_error_field(key, value);
            kept.extend(error_tag(key).map(|name| (name, value.to_owned())));
        })?;
        for (name, value) in kept.iter().filter(|_| is_error) {
            set.tags.add(name, value);
        }
    }
    let tags = set.tags.finish();
    let mut flags = facts.flags();
    let parent = choice.choose(&mut flags, &mut set.id_texts);
    let Some((start_us, duration_us)) = sink.times(node.at, start, duration, &mut flags) else {
        return Ok(());
    };
    let process = match process {
        Some(process) => process_of(sink, set, process)?,
        None => sink.unknown_process(set, node.at),
    };
    let operation = set.operation(name.as_ref().map_or("", |n| &n.text));
    let span = RawSpan { id, parent, start_us, duration_us, operation, process, tags, flags };
    sink.stage_or_leave(set, node.at, own, span)?;
    links.add_to(set, own, id)?;
    Ok(())
}

fn process_of(sink: &mut Sink, set: &mut TraceSet, node: Node<'_>) -> Result<ProcessId, Bad> {
    let [service, service_name, tags] = node.pick(["serviceName", "service_name", "tags"])?;
    let service = text(sink, service.or(service_name), "serviceName")?;
    let mut host = HostChoice::default();
    set.tags.begin();
    each_tag(sink, tags, &mut |key, value| {
        host.observe(key, value);
        set.tags.add(key, value);
    })?;
    let tags = set.tags.finish();
    Ok(set.process(service.as_ref().map_or("", |s| &s.text), host.name(), tags))
}

/// Shows every tag of a list to `on`: `{key, vType, vStr, ..}`, `{key, value_type, value_string, ..}`.
fn each_tag(sink: &mut Sink, list: Option<Node<'_>>, on: &mut dyn FnMut(&str, &str)) -> Result<(), Bad> {
    for tag in list.into_iter().flat_map(Node::elements) {
        let tag = tag?;
        let (mut key, mut kind, mut values) = (None, String::new(), [None; 5]);
        for member in tag.members() {
            let (name, value) = member?;
            match &*name {
                "key" => key = text(sink, Some(value), "the key of a tag")?,
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
            Some(value) => plain(sink, value)?,
            None => Text { text: Cow::Borrowed(zero), is_lossy: false },
        };
        on(&key.text, &shown.text);
    }
    Ok(())
}

/// Returns which type's value stands under a key: text, truth, whole number, number, bytes.
fn type_of_value(key: &str) -> Option<usize> {
    Some(match key {
        "vStr" | "v_str" | "value_string" => 0,
        "vBool" | "v_bool" | "value_bool" => 1,
        "vInt64" | "v_int64" | "value_long" => 2,
        "vFloat64" | "v_float64" | "value_double" => 3,
        "vBinary" | "v_binary" | "value_binary" => 4,
        _ => return None,
    })
}

/// Reads ids.
struct Ids<'a> {
    sink: &'a mut Sink,
    set: &'a mut TraceSet,
    is_row: bool,
}

impl Ids<'_> {
    fn trace(&mut self, node: Option<Node<'_>>) -> Result<TraceId, Bad> {
        let Some(id) = text(self.sink, node, "traceId")? else { return Ok(TraceId::NONE) };
        let id = id.text.strip_prefix("0x").unwrap_or(&id.text);
        let id = if self.is_row { Cow::Borrowed(id) } else { canonical(id, 16).into() };
        Ok(TraceId::parse(&id, &mut self.set.id_texts))
    }

    fn span(&mut self, node: Option<Node<'_>>, name: &str) -> Result<SpanId, Bad> {
        if self.is_row || node.is_some_and(|node| !node.is_string()) {
            return decimal_id(self.sink, self.set, node, name);
        }
        let Some(id) = text(self.sink, node, name)? else { return Ok(SpanId::NONE) };
        Ok(SpanId::parse(&canonical(&id.text, 8), &mut self.set.id_texts))
    }
}

/// Returns an id that is written as a decimal number of 64 bits, perhaps negative, bare or in quotes; 16 digits in
/// quotes are hexadecimal.
pub(crate) fn decimal_id(
    sink: &mut Sink,
    set: &mut TraceSet,
    node: Option<Node<'_>>,
    name: &str,
) -> Result<SpanId, Bad> {
    let Some(node) = node else { return Ok(SpanId::NONE) };
    let shown = if node.is_string() { text(sink, Some(node), name)? } else { Some(node.plain()?) };
    let Some(shown) = shown else { return Ok(SpanId::NONE) };
    // Sixteen digits are how hexadecimal ids are written; some have no letter.
    if node.is_string() && shown.text.len() == 16 && shown.text.bytes().all(|digit| digit.is_ascii_hexdigit())
    {
        return Ok(SpanId::parse(&shown.text, &mut set.id_texts));
    }
    let bits = shown.text.parse::<i64>().map(|id| id as u64).or_else(|_| shown.text.parse::<u64>());
    match bits {
        Ok(bits) => Ok(SpanId::hex(bits)),
        Err(_) if node.is_string() => Ok(SpanId::parse(&shown.text, &mut set.id_texts)),
        Err(_) => Err(node.wrong(name, "an id")),
    }
}

/// Reads microseconds as a number or as a number in quotes.
fn whole(node: Option<Node<'_>>, name: &str) -> Result<Option<Number>, Bad> {
    let Some(node) = node else { return Ok(None) };
    let number = match node.string()? {
        Some(text) => crate::json::node::parse_number(text.text.as_bytes()),
        None => node.number()?,
    };
    number.map(Some).ok_or_else(|| node.wrong(name, "a number of microseconds"))
}

/// Reads the nanoseconds of a duration: seconds with their unit (`0.012s`), or a number of nanoseconds.
fn seconds(node: Node<'_>) -> Result<Number, Bad> {
    let wrong = || node.wrong("duration", "a number of seconds like 0.012s");
    let Some(given) = node.string()? else { return node.number()?.map(Number::rounded).ok_or_else(wrong) };
    if given.text.starts_with('-') {
        return Ok(Number::Negative);
    }
    let digits = given.text.strip_suffix('s').ok_or_else(wrong)?;
    let (whole, part) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || part.len() > 9 || !part.bytes().chain(whole.bytes()).all(|b| b.is_ascii_digit()) {
        return Err(wrong());
    }
    let ns = whole.parse::<u64>().ok().and_then(|s| s.checked_mul(1_000_000_000));
    let part = format!("{part:0<9}").parse::<u64>().ok();
    Ok(ns.zip(part).and_then(|(s, ns)| s.checked_add(ns)).map_or(Number::Huge, Number::Whole))
}

fn to_us(ns: Number) -> Number {
    match ns {
        Number::Whole(ns) => Number::Whole(ns / 1000),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_seconds_with_their_unit_or_nanoseconds() {
        let ns = |text: &'static str| seconds(Node { text: text.as_bytes(), at: 0 }).ok();
        assert_eq!(ns("\"0.012s\""), Some(Number::Whole(12_000_000)));
        assert_eq!(ns("\"3s\""), Some(Number::Whole(3_000_000_000)));
        assert_eq!(ns("\"0.000000999s\""), Some(Number::Whole(999)));
        assert_eq!(ns("\"-1s\""), Some(Number::Negative));
        assert_eq!(ns("\"99999999999999999999s\""), Some(Number::Huge));
        assert_eq!(ns("1500"), Some(Number::Whole(1500)));
        for bad in ["\"12\"", "\"s\"", "\"1.s2\"", "\"1e3s\"", "true", "\"+1s\""] {
            assert_eq!(ns(bad), None, "{bad}");
        }
    }
}
