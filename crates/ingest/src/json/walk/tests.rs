//! Shapes of documents, each read in pieces of every small size and at once, and what is left of damaged ones. Problems stand
//! with the offset of their first example.

use crate::{Ended, ProblemKind, ReadOptions, Reader};
use pathlight_trace::TraceSet;

/// Spans that were read, by their ids, and problems as (kind, offset).
type Read = (Vec<String>, Vec<(ProblemKind, u64)>, Ended);

fn read_in(text: &[u8], piece: usize) -> Read {
    let mut set = TraceSet::new();
    let mut reader = Reader::new("input", ReadOptions::default());
    for bytes in text.chunks(piece) {
        let _ = reader.feed(bytes, &mut set);
    }
    let report = reader.finish(&mut set);
    set.seal().unwrap();
    let rows = set.traces().iter().flat_map(|trace| trace.rows());
    let mut ids: Vec<String> =
        rows.map(|row| set.span_id_text(row).trim_start_matches('0').to_owned()).collect();
    ids.sort_unstable();
    let problems = report.problems.iter().map(|problem| (problem.kind, problem.example.offset)).collect();
    (ids, problems, report.ended)
}

/// Returns what a text gives, whatever its pieces.
fn read(text: impl AsRef<[u8]>) -> Read {
    let text = text.as_ref();
    let whole = read_in(text, text.len());
    for piece in [1, 2, 3, 7, 50] {
        let shown = String::from_utf8_lossy(text);
        assert_eq!(read_in(text, piece), whole, "pieces of {piece}: {shown}");
    }
    whole
}

/// A span of Zipkin.
fn zipkin(id: &str) -> String {
    format!(
        r#"{{"traceId":"a1","id":"{id}","name":"n","timestamp":1000,"duration":5,"localEndpoint":{{"serviceName":"s"}}}}"#
    )
}

/// A span in a trace of Jaeger.
fn span(id: &str) -> String {
    format!(
        r#"{{"traceID":"a1","spanID":"{id}","operationName":"o","startTime":1000,"duration":5,"processID":"p"}}"#
    )
}

/// A trace of Jaeger with these spans.
fn jaeger(id: &str, spans: &[String]) -> String {
    let spans = spans.join(",");
    format!(r#"{{"traceID":"{id}","spans":[{spans}],"processes":{{"p":{{"serviceName":"s"}}}}}}"#)
}

/// An export of OTLP, its resource behind its spans if that is asked for.
fn otlp(id: &str, is_late: bool) -> String {
    let resource = r#""resource":{"attributes":[{"key":"service.name","value":{"stringValue":"s"}}]}"#;
    let scopes = format!(
        r#""scopeSpans":[{{"scope":{{"name":"x"}},"spans":[{{"traceId":"a1","spanId":"{id}","name":"o","startTimeUnixNano":"1000","endTimeUnixNano":"3000"}}]}}]"#
    );
    let (first, second) = if is_late { (scopes.as_str(), resource) } else { (resource, scopes.as_str()) };
    format!(r#"{{"resourceSpans":[{{{first},{second}}}]}}"#)
}

/// A row of `otel_traces` in ClickHouse.
fn row(id: &str) -> String {
    format!(
        r#"{{"Timestamp":"1970-01-01 00:00:01.000000000","TraceId":"a1","SpanId":"{id}","ParentSpanId":"","SpanName":"o","SpanKind":"Server","ServiceName":"s","ResourceAttributes":{{}},"SpanAttributes":{{}},"Duration":"5000","StatusCode":"Unset"}}"#
    )
}

fn whole(ids: &[&str]) -> Read {
    (ids.iter().map(|id| (*id).to_owned()).collect(), Vec::new(), Ended::Whole)
}

#[test]
fn every_shape_is_walked_to_its_spans() {
    let (b, c) = (zipkin("b"), zipkin("c"));
    let trace = jaeger("a1", &[span("b"), span("c")]);
    let texts = [
        format!("[{b},{c}]"),
        format!("[[{b}],[ ],[{c}]]"),
        format!("{b}\n{c}\n"),
        format!("{b}{c}"),
        format!("\u{feff}{b}\n\u{feff}{c}\n"),
        format!("{}\n", trace),
        format!(r#"{{"data":[{trace}],"total":0,"errors":null}}"#),
        format!(
            r#"{{ "hits" : {{ "total" : 2 , "hits" : [ {{ "_source" : {b} }} , {{ "_source" : {c} }} ] }} }}"#
        ),
        format!(r#"{{"result":{{"data":[{b},{c}]}}}}"#),
        format!("{}\n{}\n", otlp("b", false), otlp("c", true)),
        format!("[{},{}]", otlp("b", true), otlp("c", false)),
        // Rows by a table, alone and in an answer beside what is none.
        format!("{}\n{}\n", row("b"), row("c")),
        format!(r#"{{"meta":[{{"name":"TraceId"}}],"data":[{},{}],"rows":2}}"#, row("b"), row("c")),
        // A key may be written with escapes, and what follows is found however it is spaced.
        format!(
            r#"{{"d\u0061ta" :
            [{b} , {c}
        ]}}"#
        ),
    ];
    for text in texts {
        assert_eq!(read(&text), whole(&["b", "c"]), "{text}");
    }
}

/// Returns what was read of a text whose end was reached, with problems at these offsets.
fn but(ids: &[&str], problems: &[(ProblemKind, usize)]) -> Read {
    let problems = problems.iter().map(|&(kind, at)| (kind, at as u64)).collect();
    (whole(ids).0, problems, Ended::Whole)
}

#[test]
fn a_damaged_line_costs_itself_and_is_named_by_its_place() {
    use ProblemKind::{BadSyntax, NotTraces, TooDeep};
    let (b, c, d) = (zipkin("b"), zipkin("c"), zipkin("d"));
    let second = b.len() + 1;
    let lines = |middle: &str| read(format!("{b}\n{middle}\n{d}\n"));
    assert_eq!(lines(&c[..40]), but(&["b", "d"], &[(BadSyntax, second + 40)]));
    // A value is missing before the comma behind `"duration":`.
    let value = c.find("5,").unwrap();
    assert_eq!(lines(&c.replacen("5,", ",", 1)), but(&["b", "d"], &[(BadSyntax, second + value)]));
    for (middle, at) in
        [("nonsense", 0), ("{\"a\" 1}", 5), ("{1:2}", 1), ("{\"k\ny\":1}", 3), ("{\"a\":1;}", 6)]
    {
        assert_eq!(lines(middle), but(&["b", "d"], &[(BadSyntax, second + at)]), "{middle}");
    }
    for middle in ["12", "-1.5e3", "true", "null", "\"text\"", "[7]"] {
        let at = second + middle.find('7').unwrap_or(0);
        assert_eq!(lines(middle), but(&["b", "d"], &[(NotTraces, at)]), "{middle}");
    }
    // The bracket at depth 128 is one too many, and the line does not end what it begins.
    let deep = [(TooDeep, second + 128), (BadSyntax, second + 600)];
    assert_eq!(lines(&"[".repeat(600)), but(&["b", "d"], &deep));
    // In a first line too, if what follows it, blank lines aside, is a document.
    for blank in ["", "\n", " \n\t\n"] {
        assert_eq!(read(format!("{{\"a\" 1}}\n{blank}{b}\n")), but(&["b"], &[(BadSyntax, 5)]));
    }
    let (ids, problems, ended) = read(format!("{{\"a\" 1}}\nnonsense\n{b}\n"));
    assert!(ids.is_empty() && problems == [(BadSyntax, 5)] && matches!(ended, Ended::Failed(_)), "{ended:?}");
    // After the first document any number of lines may be passed over.
    assert_eq!(lines("nonsense\nmore of it\n\n-"), but(&["b", "d"], &[(BadSyntax, second)]));
    // With the byte order mark of the next, and not with the number before it.
    let marked = read(format!("{b}\nnonsense 77\n\u{feff}{d}\n"));
    assert_eq!(marked, but(&["b", "d"], &[(BadSyntax, second)]));
    // The beginning of a byte order mark at the end of a text is none.
    let begun = [b.as_bytes(), b"\n\xef\xbb"].concat();
    assert_eq!(read(begun), but(&["b"], &[(BadSyntax, second)]));
}

#[test]
fn a_document_that_is_cut_or_damaged_keeps_what_was_read_of_it() {
    let (b, c, d) = (zipkin("b"), zipkin("c"), zipkin("d"));
    let cut = |text: String, ids: &[&str]| {
        let offset = text.len() as u64;
        let expected = (whole(ids).0, vec![(ProblemKind::Truncated, offset)], Ended::Cut { offset });
        assert_eq!(read(&text), expected, "{text}");
    };
    cut(format!("[{b},{c},{}", &d[..30]), &["b", "c"]);
    cut(format!("[{b},{c}"), &["b", "c"]);
    cut(format!("{{\"data\":[{},{}", jaeger("a1", &[span("b")]), &jaeger("a2", &[span("c")])[..60]), &["b"]);
    cut(format!("{}\n{}", otlp("b", false), &otlp("c", false)[..100]), &["b"]);
    // Without its comma nothing more is read of a list.
    let offset = b.len() as u64 + 2;
    let expected = (whole(&["b"]).0, vec![(ProblemKind::BadSyntax, offset)], Ended::Cut { offset });
    assert_eq!(read(format!("[{b} {c}]")), expected);
}

#[test]
fn a_trace_with_a_span_that_is_none_is_left_out_and_the_next_is_read() {
    let of = |first: &str| format!("{{\"data\":[{first},{}]}}", jaeger("a2", &[span("c")]));
    let seven = of(&jaeger("a1", &[span("b"), "7".to_owned()]));
    let at = seven.find(",7]").unwrap() + 1;
    assert_eq!(read(&seven), but(&["c"], &[(ProblemKind::WrongType, at)]));
    let no_list = jaeger("a1", &[span("b")]).replace("[{", "{\"x\":{").replace("}],", "}},");
    assert_eq!(read(of(&no_list)), but(&["c"], &[(ProblemKind::NotTraces, 9)]));
    let no_table = jaeger("a1", &[span("b")]).replace("{\"p\":{\"serviceName\":\"s\"}}", "[]");
    let at = no_table.find("[]").unwrap() + 9;
    assert_eq!(read(of(&no_table)), but(&["c"], &[(ProblemKind::WrongType, at)]));
}
