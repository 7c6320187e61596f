//! Zipkin spans, version 2 and version 1.

use super::Format;
use super::jaeger::{self, span_id, text, trace_id};
use crate::clock::Clock;
use crate::json::node::{Bad, Node, Number};
use crate::needs::Needs;
use crate::sink::{Fail, Sink};
use pathlight_trace::{RawSpan, SpanFacts, SpanKind, TagSetId, TraceSet};

/// What a span must have. Most of it may be missing.
pub(crate) const NEEDS: Needs = Needs {
    what: "a Zipkin span",
    keys: &[
        &["traceId"],
        &["id"],
        &["timestamp", "localEndpoint", "duration", "kind", "shared", "annotations", "binaryAnnotations"],
    ],
    start: &["timestamp"],
    duration: &["duration"],
    end: &[],
    clock: Clock::Micros,
};

/// Returns a number field of microseconds; `None` if it is missing.
fn number(sink: &Sink, node: Option<Node<'_>>, name: &str) -> Result<Option<Number>, Bad> {
    Ok(sink.in_unit(Clock::Micros, jaeger::number(node, name)?))
}

/// The members of a span that say what happened; the others say where it belongs.
struct Fields<'a> {
    kind: Option<Node<'a>>,
    timestamp: Option<Node<'a>>,
    duration: Option<Node<'a>>,
    endpoint: Option<Node<'a>>,
    tags: Option<Node<'a>>,
    annotations: Option<Node<'a>>,
    binary_annotations: Option<Node<'a>>,
}

impl<'a> Fields<'a> {
    fn of(node: Node<'a>) -> Result<Fields<'a>, Bad> {
        let [kind, timestamp, duration, endpoint, tags, annotations, binary_annotations] = node.pick([
            "kind",
            "timestamp",
            "duration",
            "localEndpoint",
            "tags",
            "annotations",
            "binaryAnnotations",
        ])?;
        Ok(Fields { kind, timestamp, duration, endpoint, tags, annotations, binary_annotations })
    }
}

/// Returns the service and host of an endpoint object.
fn endpoint(sink: &mut Sink, node: Option<Node<'_>>) -> Result<(String, String), Bad> {
    let Some(node) = node else { return Ok((String::new(), String::new())) };
    let [service, v4, v6] = node.pick(["serviceName", "ipv4", "ipv6"])?;
    let service = text(sink, service, "serviceName")?.map_or(String::new(), |t| t.text.into_owned());
    let host = text(sink, v4.or(v6), "ipv4")?.map_or(String::new(), |t| t.text.into_owned());
    Ok((service, host))
}

/// One side of a span: kind, where, when, and its tags.
struct Side<'a> {
    kind: SpanKind,
    service: String,
    host: String,
    start: Option<Number>,
    duration: Option<Number>,
    tags: Vec<(std::borrow::Cow<'a, str>, std::borrow::Cow<'a, str>)>,
}

/// Reads a span that stands by itself.
pub(crate) fn span(sink: &mut Sink, set: &mut TraceSet, node: Node<'_>, is_v1: bool) -> Result<(), Fail> {
    sink.saw(if is_v1 { Format::Zipkin1 } else { Format::Zipkin2 });
    let fields = Fields::of(node)?;
    let sides = if is_v1 { version_1(sink, &fields)? } else { vec![version_2(sink, &fields)?] };
    if let Some(list) = fields.annotations {
        set.logs += list.elements().map_while(Result::ok).count() as u64;
    }
    let [trace, id, parent, name] = node.pick(["traceId", "id", "parentId", "name"])?;
    let trace = trace_id(sink, set, trace, "traceId")?;
    let id = span_id(sink, set, id, "id")?;
    let parent = span_id(sink, set, parent, "parentId")?;
    let name = text(sink, name, "name")?;
    for side in sides {
        let mut facts = SpanFacts::default();
        facts.kind = side.kind;
        set.tags.begin();
        for (key, value) in &side.tags {
            facts.observe(key, value);
            // In Zipkin the tag itself marks the error, its value is the message.
            if key == "error" && value != "false" {
                facts.set_error();
            }
            set.tags.add(key, value);
        }
        let tags = set.tags.finish();
        let mut flags = facts.flags();
        let Some((start_us, duration_us)) = sink.times(node.at, side.start, side.duration, &mut flags) else {
            continue;
        };
        let span = RawSpan {
            id,
            parent,
            start_us,
            duration_us,
            operation: set.operation(name.as_ref().map_or("", |n| &n.text)),
            process: set.process(&side.service, &side.host, TagSetId::EMPTY),
            tags,
            flags,
        };
        sink.stage_or_leave(set, node.at, trace, span)?;
    }
    Ok(())
}

fn version_2<'a>(sink: &mut Sink, fields: &Fields<'a>) -> Result<Side<'a>, Bad> {
    let (service, host) = endpoint(sink, fields.endpoint)?;
    let kind = match fields.kind {
        Some(kind) => SpanKind::parse(&kind.plain()?.text).unwrap_or_default(),
        None => SpanKind::Unspecified,
    };
    let mut tags = Vec::new();
    for found in fields.tags.into_iter().flat_map(Node::members) {
        let (key, value) = found?;
        tags.push((key, value.plain()?.text));
    }
    Ok(Side {
        kind,
        service,
        host,
        start: number(sink, fields.timestamp, "timestamp")?,
        duration: number(sink, fields.duration, "duration")?,
        tags,
    })
}

/// Returns a span with annotations of both sides becomes two of one id, which normalising pairs.
fn version_1<'a>(sink: &mut Sink, fields: &Fields<'a>) -> Result<Vec<Side<'a>>, Bad> {
    // cs, cr, sr, ss: when, and where.
    let mut core: [Option<(Number, Option<Node<'a>>)>; 4] = [None; 4];
    for annotation in fields.annotations.into_iter().flat_map(Node::elements) {
        let [value, when, place] = annotation?.pick(["value", "timestamp", "endpoint"])?;
        let Some(value) = value else { continue };
        let slot = match &*value.plain()?.text {
            "cs" => 0,
            "cr" => 1,
            "sr" => 2,
            "ss" => 3,
            _ => continue,
        };
        if let Some(when) = number(sink, when, "the timestamp of an annotation")? {
            core[slot] = Some((when.rounded(), place));
        }
    }
    let (timestamp, duration) =
        (number(sink, fields.timestamp, "timestamp")?, number(sink, fields.duration, "duration")?);
    let has_both = (core[0].is_some() || core[1].is_some()) && (core[2].is_some() || core[3].is_some());
    let mut sides = Vec::new();
    for (kind, from, to) in [(SpanKind::Client, core[0], core[1]), (SpanKind::Server, core[2], core[3])] {
        let Some((_, place)) = from.or(to) else { continue };
        let (service, host) = endpoint(sink, place)?;
        let between = match (from, to) {
            (Some((Number::Whole(from), _)), Some((Number::Whole(to), _))) => {
                Some(to.checked_sub(from).map_or(Number::Negative, Number::Whole))
            }
            _ => None,
        };
        // `timestamp` and `duration` belong to who began the span: the client, if both sides are here.
        let owns = !has_both || kind == SpanKind::Client;
        sides.push(Side {
            kind,
            service,
            host,
            start: from.map(|f| f.0).or(timestamp.filter(|_| owns)),
            duration: between.or(duration.filter(|_| owns)),
            tags: Vec::new(),
        });
    }
    let mut tags = Vec::new();
    let mut somewhere = (String::new(), String::new());
    for annotation in fields.binary_annotations.into_iter().flat_map(Node::elements) {
        let [key, value, place] = annotation?.pick(["key", "value", "endpoint"])?;
        let place = endpoint(sink, place)?;
        if somewhere.0.is_empty() {
            somewhere = place.clone();
        }
        if let (Some(key), Some(value)) = (key, value)
            && let (key, value) = (key.plain()?.text, value.plain()?.text)
            && !matches!(&*key, "sa" | "ca" | "lc")
        {
            tags.push((key, value, place.0));
        }
    }
    if sides.is_empty() {
        let (service, host) = somewhere;
        sides.push(Side {
            kind: SpanKind::Unspecified,
            service,
            host,
            start: timestamp,
            duration,
            tags: Vec::new(),
        });
    }
    // A tag belongs to the side whose service wrote it; to all if none did.
    for (key, value, service) in tags {
        let is_known = sides.iter().any(|side| side.service == service);
        for side in sides.iter_mut().filter(|side| !is_known || side.service == service) {
            side.tags.push((key.clone(), value.clone()));
        }
    }
    Ok(sides)
}
