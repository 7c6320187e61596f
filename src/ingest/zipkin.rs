//! Zipkin spans, version 2 and version 1.

use super::jaeger::{number, text};
use super::node::{Bad, Node, Number};
use super::state::{Fail, Format, State};
use crate::trace::{RawSpan, SpanFacts, SpanId, SpanKind, TagSetId, TraceId, TraceSet};

/// The members of a span that are read.
#[derive(Default)]
struct Fields<'a> {
    trace: Option<Node<'a>>,
    id: Option<Node<'a>>,
    parent: Option<Node<'a>>,
    name: Option<Node<'a>>,
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
        let mut fields = Fields::default();
        for found in node.members() {
            let (key, value) = found?;
            let slot = match &*key {
                "traceId" => &mut fields.trace,
                "id" => &mut fields.id,
                "parentId" => &mut fields.parent,
                "name" => &mut fields.name,
                "kind" => &mut fields.kind,
                "timestamp" => &mut fields.timestamp,
                "duration" => &mut fields.duration,
                "localEndpoint" => &mut fields.endpoint,
                "tags" => &mut fields.tags,
                "annotations" => &mut fields.annotations,
                "binaryAnnotations" => &mut fields.binary_annotations,
                _ => continue,
            };
            *slot = Some(value).filter(|v| !v.is_null());
        }
        Ok(fields)
    }
}

/// Service and host of an endpoint object.
fn endpoint(state: &mut State, node: Option<Node<'_>>) -> Result<(String, String), Bad> {
    let (mut service, mut v4, mut v6) = (None, None, None);
    for found in node.into_iter().flat_map(Node::members) {
        match found? {
            (key, value) if key == "serviceName" => service = Some(value).filter(|v| !v.is_null()),
            (key, value) if key == "ipv4" => v4 = Some(value).filter(|v| !v.is_null()),
            (key, value) if key == "ipv6" => v6 = Some(value).filter(|v| !v.is_null()),
            _ => {}
        }
    }
    let service = text(state, service, "serviceName")?.map_or(String::new(), |t| t.text.into_owned());
    let host = text(state, v4.or(v6), "ipv4")?.map_or(String::new(), |t| t.text.into_owned());
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

/// A span by itself.
pub(super) fn span(state: &mut State, set: &mut TraceSet, node: Node<'_>, is_v1: bool) -> Result<(), Fail> {
    state.saw(if is_v1 { Format::Zipkin1 } else { Format::Zipkin2 });
    let fields = Fields::of(node)?;
    let sides = if is_v1 { version_1(state, &fields)? } else { vec![version_2(state, &fields)?] };
    if let Some(list) = fields.annotations {
        set.logs += list.elements().map_while(Result::ok).count() as u64;
    }
    let trace = text(state, fields.trace, "traceId")?;
    let trace = trace.map_or(TraceId::NONE, |t| TraceId::parse(&t.text, &mut set.id_texts));
    let span_id = |state: &mut State, set: &mut TraceSet, node, name: &str| -> Result<SpanId, Bad> {
        Ok(text(state, node, name)?.map_or(SpanId::NONE, |t| SpanId::parse(&t.text, &mut set.id_texts)))
    };
    let id = span_id(state, set, fields.id, "id")?;
    let parent = span_id(state, set, fields.parent, "parentId")?;
    let name = text(state, fields.name, "name")?;
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
        let Some((start_us, duration_us)) = state.times(node.at, side.start, side.duration, &mut flags)
        else {
            continue;
        };
        let span = RawSpan {
            id,
            parent,
            start_us,
            duration_us,
            operation: set.names.intern(name.as_ref().map_or("", |n| &n.text)),
            process: set.process(&side.service, &side.host, TagSetId::EMPTY),
            tags,
            flags,
        };
        state.stage_or_leave(set, node.at, trace, span)?;
    }
    Ok(())
}

fn version_2<'a>(state: &mut State, fields: &Fields<'a>) -> Result<Side<'a>, Bad> {
    let (service, host) = endpoint(state, fields.endpoint)?;
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
        start: number(fields.timestamp, "timestamp")?,
        duration: number(fields.duration, "duration")?,
        tags,
    })
}

/// A span with annotations of both sides becomes two of one id, which normalising pairs.
fn version_1<'a>(state: &mut State, fields: &Fields<'a>) -> Result<Vec<Side<'a>>, Bad> {
    // cs, cr, sr, ss: when, and where.
    let mut core: [Option<(Number, Option<Node<'a>>)>; 4] = [None; 4];
    for annotation in fields.annotations.into_iter().flat_map(Node::elements) {
        let (mut value, mut when, mut place) = (None, None, None);
        for found in annotation?.members() {
            match found? {
                (key, node) if key == "value" => value = Some(node),
                (key, node) if key == "timestamp" => when = Some(node),
                (key, node) if key == "endpoint" => place = Some(node).filter(|n| !n.is_null()),
                _ => {}
            }
        }
        let Some(value) = value else { continue };
        let slot = match &*value.plain()?.text {
            "cs" => 0,
            "cr" => 1,
            "sr" => 2,
            "ss" => 3,
            _ => continue,
        };
        if let Some(when) = number(when, "the timestamp of an annotation")? {
            core[slot] = Some((when.rounded(), place));
        }
    }
    let (timestamp, duration) =
        (number(fields.timestamp, "timestamp")?, number(fields.duration, "duration")?);
    let has_both = (core[0].is_some() || core[1].is_some()) && (core[2].is_some() || core[3].is_some());
    let mut sides = Vec::new();
    for (kind, from, to) in [(SpanKind::Client, core[0], core[1]), (SpanKind::Server, core[2], core[3])] {
        let Some((_, place)) = from.or(to) else { continue };
        let (service, host) = endpoint(state, place)?;
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
        let (mut key, mut value, mut place) = (None, None, None);
        for found in annotation?.members() {
            match found? {
                (name, node) if name == "key" => key = Some(node.plain()?.text),
                (name, node) if name == "value" => value = Some(node.plain()?.text),
                (name, node) if name == "endpoint" => place = Some(node).filter(|n| !n.is_null()),
                _ => {}
            }
        }
        let place = endpoint(state, place)?;
        if somewhere.0.is_empty() {
            somewhere = place.clone();
        }
        if let (Some(key), Some(value)) = (key, value)
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
