//! The format that OpenTelemetry SDKs print on standard output (the Go exporter's form).

use super::jaeger::{span_id, text, trace_id};
use super::otel;
use super::{Format, LinkList, ParentChoice};
use crate::clock::Clock;
use crate::json::node::{Bad, Node, Number};
use crate::needs::Needs;
use crate::sink::{Fail, Sink};
use pathlight_trace::{SpanId, TraceId, TraceSet};

/// What a span must have.
pub(crate) const NEEDS: Needs = Needs {
    what: "a span of an OpenTelemetry SDK",
    keys: &[&["SpanContext"], &["Name"]],
    start: &["StartTime"],
    duration: &[],
    end: &["EndTime"],
    clock: Clock::Plain,
};

/// Returns the trace id and span id of a span context.
fn context(sink: &mut Sink, set: &mut TraceSet, node: Option<Node<'_>>) -> Result<(TraceId, SpanId), Bad> {
    let Some(node) = node else { return Ok((TraceId::NONE, SpanId::NONE)) };
    let [trace, span] = node.pick(["TraceID", "SpanID"])?;
    Ok((trace_id(sink, set, trace, "TraceID")?, span_id(sink, set, span, "SpanID")?))
}

pub(crate) fn time(sink: &mut Sink, node: Option<Node<'_>>, name: &str) -> Result<Option<Number>, Bad> {
    let Some(given) = text(sink, node, name)? else { return Ok(None) };
    match (nanoseconds(&given.text), node) {
        (Some(ns), _) => Ok(Some(ns)),
        (None, Some(node)) => Err(node.wrong(name, "a time like 2024-01-12T14:57:40.147Z")),
        (None, None) => Ok(None),
    }
}

/// Reads the nanoseconds since the epoch of an RFC 3339 time, which is UTC if it names no zone; a time before it is
/// negative.
pub(crate) fn nanoseconds(text: &str) -> Option<Number> {
    let (date, clock) = text.split_once(['T', 't', ' '])?;
    let mut date = date.split('-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) || !(0..=9999).contains(&year) {
        return None;
    }
    let zone_at = clock.find(['Z', 'z', '+', '-', ' ']).unwrap_or(clock.len());
    let (clock, zone) = clock.split_at(zone_at);
    let offset_s = zone_seconds(zone.trim())?;
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

/// Returns by how many seconds a zone is before UTC: `Z`, `+01:00`, `+0100`, `+0100 CET`, or none.
fn zone_seconds(zone: &str) -> Option<i64> {
    let sign = match zone.as_bytes() {
        [] | [b'Z' | b'z'] | b"UTC" => return Some(0),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    let digits = zone[1..].split(' ').next()?;
    let (hours, minutes) = match digits.split_once(':') {
        Some(parts) => parts,
        None => digits.split_at_checked(2)?,
    };
    let minutes = if minutes.is_empty() { 0 } else { minutes.parse::<i64>().ok()? };
    Some(sign * (hours.parse::<i64>().ok()? * 3600 + minutes * 60))
}

/// Reads a span that stands by itself.
pub(crate) fn span(sink: &mut Sink, set: &mut TraceSet, node: Node<'_>) -> Result<(), Fail> {
    sink.saw(Format::OtelStdout);
    let [own, parent, start, end, resource, scope, library] = node.pick([
        "SpanContext",
        "Parent",
        "StartTime",
        "EndTime",
        "Resource",
        "InstrumentationScope",
        "InstrumentationLibrary",
    ])?;
    let [name, kind, status, attributes, events, links] =
        node.pick(["Name", "SpanKind", "Status", "Attributes", "Events", "Links"])?;
    let (trace, id) = context(sink, set, own)?;
    let mut choice = ParentChoice::default();
    let is_own = |of: TraceId| of.is_none() || of == trace;
    let (of, parent) = context(sink, set, parent)?;
    if is_own(of) {
        choice.reference(parent, false);
    }
    let mut other_links = LinkList::default();
    for link in links.into_iter().flat_map(Node::elements) {
        let [to, attributes] = link?.pick(["SpanContext", "Attributes"])?;
        let follows_from = otel::reference_kind(sink, attributes)?;
        let (of, to) = context(sink, set, to)?;
        match follows_from.filter(|_| is_own(of)) {
            Some(follows_from) => choice.reference(to, follows_from),
            None => other_links.push(of, to),
        }
    }
    other_links.follow(&choice);
    let process = otel::process(sink, set, resource)?;
    let scope = otel::scope(sink, set, scope.or(library))?;
    let span = otel::Span {
        at: node.at,
        id,
        parent: choice,
        start: time(sink, start, "StartTime")?,
        end: time(sink, end, "EndTime")?,
        name,
        kind,
        status,
        attributes,
        events,
        state: own.map(|own| own.pick(["TraceState"])).transpose()?.and_then(|[state]| state),
    };
    if let Some(span) = otel::read(sink, set, span, scope, process)? {
        sink.stage_or_leave(set, node.at, trace, span)?;
        other_links.add_to(set, trace, id)?;
    }
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
        for zone in ["", " UTC", " +0000 UTC", "+0000", "+00"] {
            let time = format!("1970-01-01 00:00:01.5{zone}");
            assert_eq!(nanoseconds(&time), Some(Number::Whole(1_500_000_000)), "{time}");
        }
        assert_eq!(ns("1970-01-01 01:00:01.5 +0100 CET"), Some(Number::Whole(1_500_000_000)));
        for bad in ["yesterday", "1970-01-01 00:00:01 noon", "1970-01-01 00:00:01+x"] {
            assert_eq!(ns(bad), None, "{bad}");
        }
    }
}
