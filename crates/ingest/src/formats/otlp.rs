//! OpenTelemetry protocol as JSON: resources, scopes, spans.

use super::jaeger::text;
use super::otel;
use super::{LinkList, ParentChoice};
use crate::clock::{Clock, halves};
use crate::json::node::{Bad, Node, Number};
use crate::needs::Needs;
use crate::report::ProblemKind;
use crate::sink::{Fail, Sink};
use pathlight_trace::{ProcessId, RawSpan, SetFull, SpanId, TagSetId, TraceId, TraceSet};

/// What a span must have.
pub(crate) const NEEDS: Needs = Needs {
    what: "an OTLP span",
    keys: &[&["traceId", "trace_id"], &["spanId", "span_id"], &["name"]],
    start: &["startTimeUnixNano", "start_time_unix_nano"],
    duration: &[],
    end: &["endTimeUnixNano", "end_time_unix_nano"],
    clock: Clock::Nanos,
};

/// Reads the resources of a text one after the other. What a resource or a scope holds may come after its spans, which wait
/// for it.
#[derive(Default)]
pub(crate) struct OtlpReader {
    /// The resource being read, as the process that it becomes.
    resource: Option<ProcessId>,
    /// The scope being read, as the tags that it gives its spans.
    scope: Option<TagSetId>,
    waiting: Vec<(TraceId, RawSpan)>,
    /// How many of those that wait have the tags of their scope.
    scoped: usize,
    /// Whether names are written in snake_case, as protobuf spells them.
    is_snake: bool,
}

/// Returns whether under this key stand scopes with their spans.
pub(crate) fn is_scopes(key: &[u8]) -> bool {
    matches!(
        key,
        b"scopeSpans" | b"scope_spans" | b"instrumentationLibrarySpans" | b"instrumentation_library_spans"
    )
}

impl OtlpReader {
    /// Begins a resource, of which nothing is known yet.
    pub fn begin_resource(&mut self) {
        self.resource = None;
    }

    /// Begins a scope, of which nothing is known yet.
    pub fn begin_scope(&mut self) {
        self.scope = None;
    }

    /// Takes note of how names are written, by the key under which the scopes stand.
    pub fn note_spelling(&mut self, key: &[u8]) {
        self.is_snake = key.contains(&b'_');
    }

    /// Reads what a resource is, which becomes the process of its spans.
    pub fn resource(&mut self, sink: &mut Sink, set: &mut TraceSet, node: Node<'_>) -> Result<(), Bad> {
        let [attributes] = node.pick(["attributes"])?;
        self.resource = Some(otel::process(sink, set, attributes)?);
        Ok(())
    }

    /// Reads what a scope is, which becomes tags of its spans.
    pub fn scope(&mut self, sink: &mut Sink, set: &mut TraceSet, node: Node<'_>) -> Result<(), Bad> {
        self.scope = Some(otel::scope(sink, set, Some(node))?);
        Ok(())
    }

    /// Ends a scope: spans that came before its name get it now.
    pub fn finish_scope(&mut self, sink: &mut Sink, set: &mut TraceSet) -> Result<(), SetFull> {
        if let Some(scope) = self.scope.take() {
            for (_, span) in &mut self.waiting[self.scoped..] {
                span.tags = set.tags.union(span.tags, scope);
            }
        }
        self.scoped = self.waiting.len();
        match self.resource {
            Some(process) => self.hand_over(sink, set, process),
            None => Ok(()),
        }
    }

    /// Ends a resource: spans that came before it get it now, or none.
    pub fn finish_resource(&mut self, sink: &mut Sink, set: &mut TraceSet) -> Result<(), SetFull> {
        self.finish_scope(sink, set)?;
        self.resource = None;
        if self.waiting.is_empty() {
            return Ok(());
        }
        let nobody = set.process("", "", TagSetId::EMPTY);
        self.hand_over(sink, set, nobody)
    }

    fn hand_over(&mut self, sink: &mut Sink, set: &mut TraceSet, process: ProcessId) -> Result<(), SetFull> {
        self.scoped = 0;
        for (id, span) in std::mem::take(&mut self.waiting) {
            sink.stage(set, id, RawSpan { process, ..span })?;
        }
        Ok(())
    }

    /// Reads a span of the scope being read.
    pub fn span(&mut self, sink: &mut Sink, set: &mut TraceSet, node: Node<'_>) -> Result<(), Fail> {
        if !node.is_object() {
            return Err(node.wrong("a span", "an object").into());
        }
        let names = match self.is_snake {
            false => {
                ["traceId", "spanId", "parentSpanId", "startTimeUnixNano", "endTimeUnixNano", "traceState"]
            }
            true => [
                "trace_id",
                "span_id",
                "parent_span_id",
                "start_time_unix_nano",
                "end_time_unix_nano",
                "trace_state",
            ],
        };
        let [trace, id, parent, start, end, state] = node.pick(names)?;
        let [name, kind, status, attributes, events, links] =
            node.pick(["name", "kind", "status", "attributes", "events", "links"])?;
        let trace = id_text(sink, trace, "traceId", 16)?;
        let id = id_text(sink, id, "spanId", 8)?;
        let parent_text = id_text(sink, parent, "parentSpanId", 8)?;
        let mut parent = ParentChoice::default();
        parent.reference(SpanId::parse(&parent_text, &mut set.id_texts), false);
        let mut other_links = LinkList::default();
        for link in links.into_iter().flat_map(Node::elements) {
            read_link(sink, set, link?, &trace, &mut parent, &mut other_links)?;
        }
        other_links.follow(&parent);
        let id = SpanId::parse(&id, &mut set.id_texts);
        let span = otel::Span {
            at: node.at,
            id,
            parent,
            start: nanoseconds(sink, start, "startTimeUnixNano")?,
            end: nanoseconds(sink, end, "endTimeUnixNano")?,
            name,
            kind,
            status,
            attributes,
            events,
            state,
        };
        let OtlpReader { resource, scope, .. } = *self;
        let process = resource.unwrap_or(ProcessId(0));
        let Some(span) = otel::read(sink, set, span, scope.unwrap_or(TagSetId::EMPTY), process)? else {
            return Ok(());
        };
        let trace = TraceId::parse(&trace, &mut set.id_texts);
        if trace.is_none() {
            sink.problems.note(ProblemKind::MissingTraceId, node.at, || "a span without a trace id".into());
            return Ok(());
        }
        other_links.add_to(set, trace, id)?;
        if resource.is_some() && scope.is_some() {
            sink.stage(set, trace, span)?;
        } else {
            self.waiting.push((trace, span));
        }
        Ok(())
    }
}

/// Returns an id in hexadecimal or base64, distinguished by length and alphabet; `bytes` is what it should have.
pub(crate) fn canonical(id: &str, bytes: usize) -> String {
    let is_hex = id.len() == 2 * bytes && id.bytes().all(|b| b.is_ascii_hexdigit());
    let body = id.trim_end_matches('=');
    if is_hex || body.len() != (bytes * 4).div_ceil(3) {
        return id.to_owned();
    }
    let (mut out, mut bits, mut have) = (String::with_capacity(2 * bytes), 0u32, 0);
    for byte in body.bytes() {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return id.to_owned(),
        };
        bits = bits << 6 | u32::from(digit);
        have += 6;
        if have >= 8 {
            have -= 8;
            let byte = (bits >> have) as u8;
            out.extend([byte >> 4, byte & 15].map(|d| char::from_digit(u32::from(d), 16).unwrap_or('0')));
        }
    }
    out
}

fn id_text(sink: &mut Sink, node: Option<Node<'_>>, name: &str, bytes: usize) -> Result<String, Bad> {
    Ok(text(sink, node, name)?.map_or(String::new(), |t| canonical(&t.text, bytes)))
}

/// Takes note of a link, which may be a reference to a span of the trace `own`.
fn read_link(
    sink: &mut Sink,
    set: &mut TraceSet,
    link: Node<'_>,
    own: &str,
    choice: &mut ParentChoice,
    links: &mut LinkList,
) -> Result<(), Bad> {
    let [trace, span, trace_of_snake, span_of_snake, attributes] =
        link.pick(["traceId", "spanId", "trace_id", "span_id", "attributes"])?;
    let (trace, span) = (trace.or(trace_of_snake), span.or(span_of_snake));
    let follows_from = otel::reference_kind(sink, attributes)?;
    let trace = id_text(sink, trace, "traceId", 16)?;
    let span = SpanId::parse(&id_text(sink, span, "spanId", 8)?, &mut set.id_texts);
    let is_own = trace.is_empty() || trace.eq_ignore_ascii_case(own);
    match follows_from.filter(|_| is_own) {
        Some(follows_from) => choice.reference(span, follows_from),
        None => links.push(TraceId::parse(&trace, &mut set.id_texts), span),
    }
    Ok(())
}

/// Reads nanoseconds as a decimal text or a number.
fn nanoseconds(sink: &mut Sink, node: Option<Node<'_>>, name: &str) -> Result<Option<Number>, Bad> {
    let Some(node) = node else { return Ok(None) };
    let number = if node.is_string() {
        let Some(text) = text(sink, Some(node), name)? else { return Ok(None) };
        let text = text.text.trim();
        match text.parse::<u64>() {
            Ok(ns) => Number::Whole(ns),
            Err(_) if text.is_empty() => return Ok(None),
            Err(_) if text.starts_with('-') => Number::Negative,
            Err(_) => return Err(node.wrong(name, "a number of nanoseconds")),
        }
    } else if node.is_object() {
        // Programs whose numbers have 53 bits write two halves.
        halves(node)?.ok_or_else(|| node.wrong(name, "a number of nanoseconds"))?
    } else {
        node.number()?.ok_or_else(|| node.wrong(name, "a number of nanoseconds"))?
    };
    Ok(sink.in_unit(Clock::Nanos, Some(number)).map(Number::rounded))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_hexadecimal_or_base64() {
        assert_eq!(canonical("O6VWCcPN5JZJzXfR+dzZNg==", 16), "3ba55609c3cde49649cd77d1f9dcd936");
        assert_eq!(canonical("Sc130fnc2TY=", 8), "49cd77d1f9dcd936");
        assert_eq!(canonical("ab2c1005cfb5390d", 8), "ab2c1005cfb5390d");
        assert_eq!(canonical("odd", 8), "odd");
    }

    #[test]
    fn how_a_trace_was_sampled_is_read() {
        use crate::{ManyInputs, ReadOptions, Reader};
        let span = |number: u32, state: &str| {
            format!(
                r#"{{"traceId":"{number:032x}","spanId":"0000000000000001","name":"get","traceState":{state},
                "startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000001000000"}}"#
            )
        };
        let spans = [
            span(1, r#""rojo=1,ot=th:c""#),
            span(2, r#""rojo=1""#),
            span(3, "7"),
            span(4, r#""ot=p:4""#),
            span(5, r#""ot=rv:7""#),
        ];
        let text = format!(r#"{{"resourceSpans":[{{"scopeSpans":[{{"spans":[{}]}}]}}]}}"#, spans.join(","));
        let mut inputs = ManyInputs::default();
        let mut reader = Reader::new("a.json", ReadOptions::default());
        assert!(reader.feed(text.as_bytes(), &mut inputs).is_ok());
        assert!(reader.finish(&mut inputs).problems.is_empty());
        let mut set = inputs.set;
        assert_eq!(set.seal(), Ok(()));
        let weights: Vec<f64> = (0..5).map(|trace| set.weight(trace).requests()).collect();
        assert_eq!(weights, [4.0, 1.0, 1.0, 16.0, 1.0]);
        // What says nothing of it is no tag, as ever.
        let keys: Vec<_> = set.tags.keys().into_iter().map(|(key, facts)| (key, facts.occurrences)).collect();
        assert_eq!(keys, [("w3c.tracestate", 2)]);
    }
}
