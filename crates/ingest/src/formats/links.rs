//! Links of a span: what it names and none of which can be its parent (`docs/definitions/real-traces.md` section 9).

use super::ParentChoice;
use pathlight_trace::{RawLink, SetFull, SpanId, TraceId, TraceSet};

/// The links of the span being read.
#[derive(Default)]
pub(crate) struct LinkList {
    to: Vec<(TraceId, SpanId)>,
}

impl LinkList {
    /// Adds a link to a span, which is of the span's own trace if `trace` is absent; one to no span is left out.
    pub fn push(&mut self, trace: TraceId, span: SpanId) {
        if !span.is_none() {
            self.to.push((trace, span));
        }
    }

    /// Adds the references that say `FOLLOWS_FROM`: whichever turns out to be the parent is no link then.
    pub fn follow(&mut self, choice: &ParentChoice) {
        self.to.extend(choice.other_follows().map(|span| (TraceId::NONE, span)));
    }

    /// Returns them as links of a span.
    pub fn of(self, trace: TraceId, span: SpanId) -> impl Iterator<Item = RawLink> {
        self.to.into_iter().map(move |(to_trace, to_span)| {
            let to_trace = if to_trace.is_none() { trace } else { to_trace };
            RawLink { trace, span, to_trace, to_span }
        })
    }

    /// Adds them to a set as links of a span.
    pub fn add_to(self, set: &mut TraceSet, trace: TraceId, span: SpanId) -> Result<(), SetFull> {
        self.of(trace, span).try_for_each(|link| set.add_link(link))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::columns;
    use crate::{ReadOptions, Reader};
    use pathlight_trace::Portable;

    fn read(input: &[u8]) -> TraceSet {
        let mut set = TraceSet::new();
        let mut reader = Reader::new("input", ReadOptions::default());
        reader.feed(input, &mut set).unwrap();
        reader.finish(&mut set);
        set.seal().unwrap();
        set
    }

    /// Returns (span, trace it leads to, span there) of every link, in hexadecimal.
    fn links(set: &TraceSet) -> Vec<String> {
        let of = |link: pathlight_trace::Link| {
            let from = set.span_id(link.from).bits;
            format!("{from:x} -> {:x}/{:x}", link.trace.bits, link.span.bits)
        };
        set.links().map(of).collect()
    }

    fn jaeger(references: &str) -> String {
        let span = |id: &str, references: &str| {
            format!(
                r#"{{"traceID":"ab","spanID":"{id}","operationName":"work","references":[{references}],"startTime":1700000000000000,"duration":50,"tags":[],"logs":[],"processID":"p1"}}"#
            )
        };
        let (a, b) = (span("a", ""), span("b", references));
        format!(
            r#"{{"data":[{{"traceID":"ab","spans":[{a},{b}],"processes":{{"p1":{{"serviceName":"s","tags":[]}}}}}}]}}"#
        )
    }

    fn reference(kind: &str, trace: &str, span: &str) -> String {
        format!(r#"{{"refType":"{kind}","traceID":"{trace}","spanID":"{span}"}}"#)
    }

    #[test]
    fn references_of_jaeger_that_are_no_parent_are_links() {
        let parent = reference("CHILD_OF", "ab", "a");
        let cases: [(Vec<String>, &[&str]); 6] = [
            (vec![parent.clone()], &[]),
            (vec![reference("FOLLOWS_FROM", "ab", "a")], &[]),
            (vec![parent.clone(), reference("FOLLOWS_FROM", "ab", "a")], &[]),
            (vec![parent.clone(), reference("FOLLOWS_FROM", "ab", "c")], &["b -> ab/c"]),
            (vec![reference("CHILD_OF", "cd", "7"), parent], &["b -> cd/7"]),
            (
                vec![reference("FOLLOWS_FROM", "cd", "7"), reference("FOLLOWS_FROM", "cd", "8")],
                &["b -> cd/7", "b -> cd/8"],
            ),
        ];
        for (references, expected) in cases {
            let set = read(jaeger(&references.join(",")).as_bytes());
            assert_eq!(links(&set), expected, "{references:?}");
            // With a space, as nobody writes it who is read fast.
            let set =
                read(jaeger(&references.join(",")).replace("\"references\":", "\"references\": ").as_bytes());
            assert_eq!(links(&set), expected, "{references:?}");
        }
    }

    #[test]
    fn references_may_come_before_the_id_of_their_trace() {
        let text = jaeger(&[reference("CHILD_OF", "", "a"), reference("FOLLOWS_FROM", "", "c")].join(","));
        let text = text
            .replace(r#""traceID":"ab","spans""#, r#""spans""#)
            .replace(r#""traceID":"ab","spanID""#, r#""spanID""#);
        let text = text.replace(r#""processes":"#, r#""traceID":"ab","processes":"#);
        assert_eq!(links(&read(text.as_bytes())), ["b -> ab/c"]);
    }

    #[test]
    fn links_of_opentelemetry_are_read() {
        let otlp = r#"{"resourceSpans":[{"scopeSpans":[{"spans":[
            {"traceId":"000000000000000000000000000000ab","spanId":"000000000000000b","parentSpanId":"000000000000000a",
             "name":"handle","kind":5,"startTimeUnixNano":"1700000000000000000","endTimeUnixNano":"1700000000000900000",
             "links":[{"traceId":"000000000000000000000000000000cd","spanId":"0000000000000007"},
                      {"traceId":"000000000000000000000000000000ab","spanId":"000000000000000a"},
                      {"spanId":"0000000000000009"}, {"traceId":"000000000000000000000000000000cd"},
                      {"traceId":"000000000000000000000000000000ef","spanId":"0000000000000001",
                       "attributes":[{"key":"opentracing.ref_type","value":{"stringValue":"child_of"}}]}]}]}],
            "resource":{}}]}"#;
        assert_eq!(links(&read(otlp.as_bytes())), ["b -> ab/9", "b -> cd/7", "b -> ef/1"]);
        let stdout = r#"{"Name":"handle","SpanContext":{"TraceID":"000000000000000000000000000000ab","SpanID":"000000000000000b"},
            "Parent":{"TraceID":"00000000000000000000000000000000","SpanID":"0000000000000000"},"SpanKind":5,
            "StartTime":"2024-01-12T14:57:40Z","EndTime":"2024-01-12T14:57:41Z","Attributes":null,"Events":null,
            "Links":[{"SpanContext":{"TraceID":"000000000000000000000000000000cd","SpanID":"0000000000000007"},"Attributes":null}],
            "Status":{"Code":"Unset"},"Resource":null}"#;
        assert_eq!(links(&read(stdout.as_bytes())), ["b -> cd/7"]);
    }

    #[test]
    fn columns_keep_links_and_those_of_earlier_versions_have_none() {
        let text = jaeger(&reference("FOLLOWS_FROM", "cd", "7"));
        let written = |set: &TraceSet, magic: &[u8]| {
            let mut bytes = magic.to_vec();
            columns::write(&Portable::copy(set, 0..1), &mut bytes);
            bytes
        };
        assert_eq!(links(&read(&written(&read(text.as_bytes()), columns::MAGIC))), ["b -> cd/7"]);
        // The last bytes of a record are the numbers of links and of what is asked.
        let mut bytes = written(&read(jaeger("").as_bytes()), b"\x93PLCOL1\n");
        assert_eq!([bytes.pop(), bytes.pop()], [Some(0); 2]);
        let length = (bytes.len() - 12) as u32;
        bytes[8..12].copy_from_slice(&length.to_le_bytes());
        let set = read(&bytes);
        assert_eq!((set.spans(), links(&set).len()), (2, 0));
    }
}
