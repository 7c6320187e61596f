//! Jaeger JSON through the public reader: shapes of documents, dirty input, chunk boundaries.

use pathlight::ingest::{Ended, ErrorKind, FileReport, ProblemKind, ReadOptions, Reader};
use pathlight::trace::{TraceSet, dump};

fn read(text: &[u8], chunk: usize) -> (String, FileReport) {
    let mut set = TraceSet::new();
    let mut reader = Reader::new("input", ReadOptions::default());
    for chunk in text.chunks(chunk) {
        if reader.feed(chunk, &mut set).is_err() {
            break;
        }
    }
    let report = reader.finish(&mut set);
    set.seal().expect("memory");
    (dump(&set), report)
}

/// Reads a text in one chunk, checks that tiny chunks give the same, and returns what came of it.
fn both(text: &str) -> (String, FileReport) {
    let whole = read(text.as_bytes(), usize::MAX);
    for chunk in [1, 7, 64] {
        assert_eq!(read(text.as_bytes(), chunk), whole, "in chunks of {chunk}: {text}");
    }
    whole
}

fn span(id: &str, more: &str) -> String {
    format!(
        r#"{{"traceID":"a1","spanID":"{id}","operationName":"op-{id}","references":[],"startTime":1000,"duration":10,"tags":[],"logs":[],"processID":"p1","warnings":null{more}}}"#
    )
}

fn trace(spans: &[String]) -> String {
    format!(
        r#"{{"traceID":"a1","spans":[{}],"processes":{{"p1":{{"serviceName":"shop","tags":[{{"key":"hostname","type":"string","value":"h1"}}]}}}}}}"#,
        spans.join(",")
    )
}

fn problems(report: &FileReport) -> Vec<(ProblemKind, u64)> {
    report.problems.iter().map(|p| (p.kind, p.count)).collect()
}

fn failure(report: &FileReport) -> (ErrorKind, String) {
    match &report.ended {
        Ended::Failed(error) => (error.kind, error.to_string()),
        other => panic!("not failed: {other:?}"),
    }
}

#[test]
fn all_wrappings_of_a_trace_give_the_same_columns() {
    let one = trace(&[span("1", ""), span("2", "")]);
    let (bare, report) = both(&one);
    assert_eq!((report.format.as_str(), report.traces, report.spans), ("jaeger", 1, 2));
    assert!(report.problems.is_empty() && report.ended == Ended::Whole, "{report:?}");
    assert!(bare.contains("\"shop\" \"op-1\" @\"h1\""), "{bare}");
    for text in [
        format!("{{\"data\":[{one}],\"total\":0,\"errors\":null}}"),
        format!("{{\"total\":0,\"data\":{one}}}"),
        format!("[{one}]"),
        format!("[[{one}]]"),
        format!("\u{feff}\n{one}\n"),
        format!("{one}\n{one}\n"),
        format!("{one}{one}"),
        one.replace(",\"", " ,\n \"").replace(':', " : "),
        one.replace("\"spans\"", "\"sp\\u0061ns\""),
    ] {
        let (columns, report) = both(&text);
        let without_counts =
            |s: &str| s.lines().filter(|l| !l.starts_with("key")).collect::<Vec<_>>().join("\n");
        assert_eq!(without_counts(&columns), without_counts(&bare), "{text}");
        assert_eq!((report.traces, report.ended), (1, Ended::Whole), "{text}");
    }
}

#[test]
fn processes_may_come_first_and_the_trace_id_last() {
    let one = trace(&[span("1", "")]);
    let (expected, _) = both(&one);
    let body = one.strip_prefix(r#"{"traceID":"a1","#).expect("prefix").strip_suffix('}').expect("suffix");
    let (spans, processes) = body.split_once(",\"processes\"").expect("processes");
    let turned = format!("{{\"_comment\":[1,{{}}],\"processes\"{processes},{spans},\"traceID\":\"a1\"}}");
    assert_eq!(both(&turned).0, expected);
}

#[test]
fn the_parent_is_chosen_by_kind_of_reference_and_trace() {
    let reference = |kind: &str, trace: &str, id: &str| {
        format!(r#"{{"refType":"{kind}","traceID":"{trace}","spanID":"{id}"}}"#)
    };
    let with = |references: &[String], more: &str| {
        let child = span("9", more)
            .replace("\"references\":[]", &format!("\"references\":[{}]", references.join(",")));
        let (columns, _) = both(&trace(&[span("1", ""), span("2", ""), child]));
        let line = columns.lines().find(|l| l.contains("op-9")).expect("line").to_owned();
        (
            line.split('(').nth(1).expect("parent")[..16].trim_start_matches('0').to_owned(),
            line.contains("follows-from"),
        )
    };
    let follows = reference("FOLLOWS_FROM", "a1", "1");
    let child = reference("CHILD_OF", "00A1", "2");
    let link = reference("CHILD_OF", "ff", "1");
    assert_eq!(with(&[follows.clone(), child.clone()], ""), ("2".into(), false));
    assert_eq!(with(&[link.clone(), follows.clone()], ""), ("1".into(), true));
    assert_eq!(with(&[link.clone(), follows], ",\"parentSpanID\":\"2\""), ("2".into(), false));
    assert_eq!(with(&[reference("CHILD_OF", "", "1")], ""), ("1".into(), false));
    // The first to another span of the trace: one that is missing or the span itself is passed over.
    let (missing, own) = (reference("CHILD_OF", "a1", "7"), reference("CHILD_OF", "a1", "9"));
    for first in [missing.clone(), own.clone(), child.clone()] {
        let expected = if first == child { "2" } else { "1" };
        let second = reference("CHILD_OF", "a1", "1");
        assert_eq!(with(&[first, second], ""), (expected.into(), false));
    }
    let follows = reference("FOLLOWS_FROM", "a1", "1");
    assert_eq!(with(&[missing.clone(), follows.clone()], ""), ("1".into(), true));
    assert_eq!(with(&[own.clone(), missing.clone()], ""), ("7".into(), false));
    let columns = |references: &[String]| {
        let references = format!("\"references\":[{}]", references.join(","));
        both(&trace(&[span("1", ""), span("9", "").replace("\"references\":[]", &references)])).0
    };
    assert!(columns(&[own.clone(), missing]).contains("orphan"));
    assert!(columns(std::slice::from_ref(&own)).contains("orphans: 0, cycles: 0"));
    assert!(columns(&[own.clone(), follows]).contains("#0 (0000000000000001)"));
}

#[test]
fn dirty_times_follow_the_rules_and_are_counted() {
    let change = |from: &str, to: &str| span("2", "").replace(from, to);
    let cases = [
        (change("\"duration\":10", "\"duration\":-3"), "1000+0", ProblemKind::NegativeDuration),
        (
            change("\"duration\":10", "\"duration\":18446744073709551613"),
            "1000+0",
            ProblemKind::NegativeDuration,
        ),
        (change(",\"duration\":10", ""), "1000+0", ProblemKind::MissingDuration),
        (change("\"startTime\":1000", "\"startTime\":null"), "1000+10 ", ProblemKind::MissingStart),
    ];
    for (span2, shown, kind) in cases {
        let child = span2.replace(
            "\"references\":[]",
            r#""references":[{"refType":"CHILD_OF","traceID":"a1","spanID":"1"}]"#,
        );
        let (columns, report) = both(&trace(&[span("1", ""), child.clone()]));
        let line = columns.lines().find(|l| l.contains("op-2")).expect("line");
        assert!(line.contains(shown), "{line}");
        assert_eq!(problems(&report), [(kind, 1)], "{child}");
    }
    let (columns, report) = both(&trace(&[span("1", ""), change("1000", "9223372036854775800")]));
    assert!(!columns.contains("op-2"));
    assert_eq!(problems(&report), [(ProblemKind::TimeOutOfRange, 1)]);
    let (columns, _) =
        both(&trace(&[change("\"duration\":10", "\"duration\":2.5").replace("1000", "1.0005e3")]));
    assert!(columns.contains("1001+3"), "{columns}");
}

#[test]
fn a_start_of_0_is_placed_and_an_end_beyond_all_calendars_leaves_its_span_out() {
    let child = span("2", "")
        .replace("\"references\":[]", r#""references":[{"refType":"CHILD_OF","traceID":"a1","spanID":"1"}]"#);
    let (columns, report) = both(&trace(&[span("1", ""), child.replace("1000", "0")]));
    let line = columns.lines().find(|l| l.contains("op-2")).expect("line");
    assert!(line.contains("1000+10 ") && line.contains("start-missing"), "{line}");
    assert_eq!(problems(&report), [(ProblemKind::MissingStart, 1)]);
    assert_eq!(report.problems[0].example.text, "a start of 0");
    // A root without a start begins with the earliest span below it.
    let (columns, _) = both(&trace(&[span("1", "").replace("1000", "0"), child.clone()]));
    let line = columns.lines().find(|l| l.contains("op-1")).expect("line");
    assert!(line.contains("1000+10 "), "{line}");
    let late = child.replace("\"duration\":10", "\"duration\":9223372036854775000");
    let (columns, report) = both(&trace(&[span("1", ""), late]));
    assert!(columns.contains("op-1") && !columns.contains("op-2"));
    assert_eq!(problems(&report), [(ProblemKind::TimeOutOfRange, 1)]);
}

#[test]
fn missing_and_null_lists_are_empty() {
    let expected = both(&trace(&[span("1", "")])).0;
    for (list, other) in [
        ("references", ""),
        ("tags", ""),
        ("logs", ""),
        ("references", "null"),
        ("tags", "null"),
        ("logs", "null"),
    ] {
        let (from, to) = (
            format!("\"{list}\":[],"),
            if other.is_empty() { String::new() } else { format!("\"{list}\":{other},") },
        );
        let (columns, report) = both(&trace(&[span("1", "").replace(&from, &to)]));
        assert_eq!((columns, report.problems.len()), (expected.clone(), 0), "{list} {other}");
    }
}

#[test]
fn a_text_above_64_mib_costs_its_trace() {
    let long = format!(",\"x\":\"{}\"", "y".repeat((64 << 20) + 1));
    let text = format!("[{},{}]", trace(&[span("1", &long)]).replace("a1", "b2"), trace(&[span("2", "")]));
    let (columns, report) = read(text.as_bytes(), 1 << 20);
    assert!(columns.contains("op-2") && !columns.contains("op-1"));
    assert_eq!(problems(&report), [(ProblemKind::TooLong, 1)]);
}

#[test]
fn a_span_of_an_unknown_process_is_of_an_unknown_service() {
    let (columns, report) = both(&trace(&[span("1", "").replace("p1", "p7"), span("2", "")]));
    assert!(columns.contains("\"unknown-service\" \"op-1\"") && columns.contains("\"shop\" \"op-2\""));
    assert_eq!(problems(&report), [(ProblemKind::UnknownProcess, 1)]);
    let bare = trace(&[span("1", "")]);
    let (columns, _) = both(&format!("{}}}", bare.split(",\"processes\"").next().expect("split")));
    assert!(columns.contains("\"unknown-service\" \"op-1\""));
}

#[test]
fn a_wrong_type_costs_its_trace_and_no_other() {
    let bad = trace(&[span("1", "").replace("a1", "b2"), span("2", "").replace("1000", "\"soon\"")])
        .replace("a1", "b2");
    let text = format!("{{\"data\":[{bad},{}]}}", trace(&[span("3", "")]));
    let (columns, report) = both(&text);
    assert!(columns.contains("op-3") && !columns.contains("op-1"));
    assert_eq!(problems(&report), [(ProblemKind::WrongType, 1)]);
    let example = &report.problems[0].example;
    assert_eq!(example.offset, text.find("\"soon\"").expect("soon") as u64);
    assert_eq!(example.text, "startTime is the text \"soon\", not a number of microseconds");
}

#[test]
fn bad_syntax_cuts_a_document_and_skips_a_line() {
    let good = trace(&[span("1", "")]);
    let other = good.replace("a1", "b2");
    let text = format!("{{\"data\":[{good},{{\"traceID\":\"b2\" \"spans\":[]}},{other}]}}");
    let (columns, report) = both(&text);
    assert!(columns.contains("op-1") && report.traces == 1);
    assert!(matches!(report.ended, Ended::Cut { .. }), "{report:?}");
    let bad_lines =
        ["{\"traceID\":\"c3,\"spans\":[", "{\"traceID\":\"c3\",\"spans\":[}", "{nonsense}", "{\"a\":\"x\n"];
    for bad in bad_lines {
        for text in [
            format!("{good}\n{bad}\n{other}\n"),
            format!("{bad}\n{good}\n{other}\n"),
            format!("{good}\n{other}\n{bad}\n"),
        ] {
            let (_, report) = both(&text);
            assert_eq!(report.traces, 2, "{text}");
            assert_eq!(report.ended, Ended::Whole, "{text}");
            assert_eq!(problems(&report), [(ProblemKind::BadSyntax, 1)], "{text}");
        }
    }
}

#[test]
fn a_truncated_file_keeps_every_complete_trace() {
    let text =
        format!("{{\"data\":[{},{}]}}", trace(&[span("1", "")]), trace(&[span("2", "")]).replace("a1", "b2"));
    let second = text.find("\"b2\"").expect("second trace");
    for cut in [second, second + 60, text.len() - 3] {
        let (columns, report) = both(&text[..cut]);
        assert!(columns.contains("op-1") && !columns.contains("op-2"));
        assert_eq!(report.ended, Ended::Cut { offset: cut as u64 });
        assert_eq!(problems(&report), [(ProblemKind::Truncated, 1)]);
    }
}

#[test]
fn deep_nesting_costs_its_trace() {
    for depth in [100, 200] {
        let deep = format!(",\"x\":{}{}", "[".repeat(depth), "]".repeat(depth));
        let text =
            format!("[{},{}]", trace(&[span("1", &deep)]).replace("a1", "b2"), trace(&[span("2", "")]));
        let (columns, report) = both(&text);
        assert!(columns.contains("op-2"));
        assert_eq!(columns.contains("op-1"), depth == 100);
        assert_eq!(problems(&report).first(), (depth == 200).then_some(&(ProblemKind::TooDeep, 1)));
    }
}

#[test]
fn invalid_utf8_is_replaced() {
    let mut text = trace(&[span("1", "")]).into_bytes();
    let at = text.windows(4).position(|w| w == b"op-1").expect("operation");
    text[at] = 0xff;
    let (columns, report) = read(&text, usize::MAX);
    assert!(columns.contains("\u{fffd}p-1"), "{columns}");
    assert_eq!(problems(&report), [(ProblemKind::InvalidUtf8, 1)]);
}

#[test]
fn what_is_no_trace_gets_its_sentence() {
    let cases: [(&[u8], ErrorKind, &str); 9] = [
        (b"", ErrorKind::Empty, "the file is empty"),
        (b" \n", ErrorKind::Empty, "white space"),
        (b"{\"data\":[]}", ErrorKind::NoTraces, "empty one"),
        (
            b"{\"data\":null,\"total\":0,\"errors\":[{\"code\":404,\"msg\":\"trace not found\"}]}",
            ErrorKind::ServerError,
            "\"trace not found\" (404)",
        ),
        (b"{\"menu\":{\"id\":1},\"x\":2}", ErrorKind::OtherJson, "an object with the keys menu, x"),
        (b"[1,2]", ErrorKind::OtherJson, "1 where a trace should be"),
        (
            b"\xff\xd8\xff\xe0\0\x10JFIF",
            ErrorKind::NotRecognised,
            "ff d8 ff e0 00 10 4a 46 49 46 \"......JFIF\"",
        ),
        (b"hello, world", ErrorKind::NotRecognised, "\"hello, world\""),
        (b"[INFO] started", ErrorKind::NotRecognised, "begins with 5b 49"),
    ];
    for (text, kind, words) in cases {
        for chunk in [1, usize::MAX] {
            let (_, report) = read(text, chunk);
            let (found, sentence) = failure(&report);
            assert_eq!(found, kind, "{sentence}");
            assert!(sentence.contains(words) && sentence.starts_with("input: "), "{sentence}");
        }
    }
}
