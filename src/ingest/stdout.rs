//! What OpenTelemetry SDKs print on standard output (the Go exporter's form).

use super::jaeger::{HostChoice, error_tag, text};
use super::node::{Bad, Node, Number};
use super::otlp::{kind, microseconds};
use super::state::{Fail, Format, State};
use crate::trace::{RawSpan, SpanFacts, SpanId, TraceId, TraceSet};

/// Trace id and span id of a span context.
fn context(state: &mut State, set: &mut TraceSet, node: Option<Node<'_>>) -> Result<(TraceId, SpanId), Bad> {
    let (mut trace, mut span) = (None, None);
    for found in node.into_iter().flat_map(Node::members) {
        match found? {
            (key, value) if key == "TraceID" => trace = Some(value).filter(|v| !v.is_null()),
            (key, value) if key == "SpanID" => span = Some(value).filter(|v| !v.is_null()),
            _ => {}
        }
    }
    let trace = text(state, trace, "TraceID")?;
    let span = text(state, span, "SpanID")?;
    Ok((
        trace.map_or(TraceId::NONE, |t| TraceId::parse(&t.text, &mut set.id_texts)),
        span.map_or(SpanId::NONE, |t| SpanId::parse(&t.text, &mut set.id_texts)),
    ))
}

/// Adds `[{Key, Value: {Type, Value}}]` to the tag set begun and shows each to `on`.
fn attributes(set: &mut TraceSet, list: Node<'_>, on: &mut impl FnMut(&str, &str)) -> Result<(), Bad> {
    for attribute in list.elements() {
        if let Some((key, value)) = attribute_of(attribute?)? {
            set.tags.add(&key, &value);
            on(&key, &value);
        }
    }
    Ok(())
}

fn attribute_of(node: Node<'_>) -> Result<Option<(String, String)>, Bad> {
    let (mut key, mut value) = (None, None);
    for found in node.members() {
        match found? {
            (name, node) if name == "Key" => key = Some(node.plain()?.text.into_owned()),
            (name, node) if name == "Value" => {
                for inner in node.members() {
                    let (name, node) = inner?;
                    if name == "Value" {
                        value = Some(node.plain()?.text.into_owned());
                    }
                }
            }
            _ => {}
        }
    }
    Ok(key.map(|key| (key, value.unwrap_or_default())))
}

fn time(state: &mut State, node: Option<Node<'_>>, name: &str) -> Result<Option<Number>, Bad> {
    let Some(given) = text(state, node, name)? else { return Ok(None) };
    match (nanoseconds(&given.text), node) {
        (Some(ns), _) => Ok(Some(ns)),
        (None, Some(node)) => Err(node.wrong(name, "a time like 2024-01-12T14:57:40.147Z")),
        (None, None) => Ok(None),
    }
}

/// Nanoseconds since the epoch of an RFC 3339 time; a time before it is negative.
fn nanoseconds(text: &str) -> Option<Number> {
    let (date, clock) = text.split_once(['T', 't', ' '])?;
    let mut date = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(0..=9999).contains(&year) {
        return None;
    }
    let zone_at = clock.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = clock.split_at(zone_at);
    let offset_s = match zone.as_bytes() {
        [b'Z' | b'z'] => 0,
        [sign, ..] => {
            let (hours, minutes) = zone[1..].split_once(':')?;
            let seconds = hours.parse::<i64>().ok()? * 3600 + minutes.parse::<i64>().ok()? * 60;
            if *sign == b'-' { -seconds } else { seconds }
        }
        [] => return None,
    };
    let mut clock = clock.split(':');
    let (hour, minute) = (clock.next()?.parse::<i64>().ok()?, clock.next()?.parse::<i64>().ok()?);
    let seconds = clock.next()?;
    let (whole, part) = seconds.split_once('.').unwrap_or((seconds, ""));
    let digits: String = part.chars().chain("000000000".chars()).take(9).collect();
    // Days since the epoch by the civil calendar, years beginning in March so that leap days come last.
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (153 * m + 2) / 5 + day
        - 1
        - 719_468;
    let second = days * 86_400 + hour * 3600 + minute * 60 + whole.parse::<i64>().ok()? - offset_s;
    match u64::try_from(second) {
        Ok(second) => {
            Some(Number::Whole(second.checked_mul(1_000_000_000)?.checked_add(digits.parse().ok()?)?))
        }
        Err(_) => Some(Number::Negative),
    }
}

/// A span by itself.
pub(super) fn span(state: &mut State, set: &mut TraceSet, node: Node<'_>) -> Result<(), Fail> {
    state.saw(Format::OtelStdout);
    let (mut own, mut parent, mut name, mut start, mut end) = (None, None, None, None, None);
    let (mut attributes_node, mut events, mut resource) = (None, None, None);
    let mut facts = SpanFacts::default();
    for found in node.members() {
        let (key, value) = found?;
        if value.is_null() {
            continue;
        }
        match &*key {
            "SpanContext" => own = Some(value),
            "Parent" => parent = Some(value),
            "Name" => name = Some(value),
            "SpanKind" => facts.kind = kind(value)?,
            "StartTime" => start = Some(value),
            "EndTime" => end = Some(value),
            "Attributes" => attributes_node = Some(value),
            "Events" => events = Some(value),
            "Resource" => resource = Some(value),
            "Status" => {
                for inner in value.members() {
                    let (key, value) = inner?;
                    if key == "Code" && matches!(&*value.plain()?.text, "Error" | "STATUS_CODE_ERROR") {
                        facts.set_error();
                    }
                }
            }
            _ => {}
        }
    }
    let (trace, id) = context(state, set, own)?;
    let (parent_trace, parent) = context(state, set, parent)?;
    let name = text(state, name, "Name")?;
    let start = time(state, start, "StartTime")?;
    let end = time(state, end, "EndTime")?;
    let mut service = String::new();
    let mut host = HostChoice::default();
    set.tags.begin();
    if let Some(list) = resource {
        attributes(set, list, &mut |key, value| {
            if key == "service.name" {
                service = value.to_owned();
            }
            host.observe(key, value);
        })?;
    }
    let process_tags = set.tags.finish();
    let process = set.process(&service, host.name(), process_tags);
    set.tags.begin();
    if let Some(list) = attributes_node {
        attributes(set, list, &mut |key, value| facts.observe(key, value))?;
    }
    for event in events.into_iter().flat_map(Node::elements) {
        set.logs += 1;
        for found in event?.members() {
            let (key, value) = found?;
            if key != "Attributes" {
                continue;
            }
            for attribute in value.elements() {
                if let Some((key, value)) = attribute_of(attribute?)?
                    && key.starts_with("exception.")
                    && let Some(name) = error_tag(&key)
                {
                    set.tags.add(name, &value);
                }
            }
        }
    }
    let tags = set.tags.finish();
    let mut flags = facts.flags();
    let (start, duration) = microseconds(start, end);
    let Some((start_us, duration_us)) = state.times(node.at, start, duration, &mut flags) else {
        return Ok(());
    };
    let is_in_trace = parent_trace.is_none() || parent_trace == trace;
    let span = RawSpan {
        id,
        parent: if is_in_trace { parent } else { SpanId::NONE },
        start_us,
        duration_us,
        operation: set.names.intern(name.as_ref().map_or("", |n| &n.text)),
        process,
        tags,
        flags,
    };
    state.stage_or_leave(set, node.at, trace, span)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_with_fractions_and_zones() {
        let ns = |text| nanoseconds(text);
        assert_eq!(ns("1970-01-01T00:00:01.5Z"), Some(Number::Whole(1_500_000_000)));
        assert_eq!(ns("2024-01-12T14:57:40.147265775Z"), Some(Number::Whole(1_705_071_460_147_265_775)));
        assert_eq!(ns("2024-02-29T01:00:00+01:00"), Some(Number::Whole(1_709_164_800_000_000_000)));
        assert_eq!(ns("1969-12-31T23:59:59Z"), Some(Number::Negative));
        assert_eq!(ns("yesterday"), None);
    }
}
