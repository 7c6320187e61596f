//! Recognition: a file is of a format if nearly all of its first records are spans of it; else it is refused in a sentence
//! that names what it is and what to do. Times in another unit are read in it, and that is said.

use crate::common::archives::{DEFLATED, zip};
use crate::common::replay::{project, read};
use pathlight::ingest::{Ended, ErrorKind, FileReport, IngestError, ProblemKind, SplitFinder};

/// Returns the columns and the account of a text, read in several ways that all give the same.
fn same(text: &[u8]) -> (String, FileReport) {
    let whole = read(text, false, 1, || usize::MAX);
    for (reference, chunk) in [(true, usize::MAX), (false, 7), (true, 100)] {
        assert_eq!(read(text, reference, 1, || chunk), whole, "{}", String::from_utf8_lossy(text));
    }
    let (columns, mut reports) = whole;
    (columns, reports.remove(0))
}

fn refusal(text: &[u8]) -> IngestError {
    let (columns, report) = same(text);
    let nothing = read(b"", false, 1, || 1).0;
    assert_eq!(columns, nothing, "something of it was kept");
    match report.ended {
        Ended::Failed(error) => error,
        other => panic!("{other:?} of {}", String::from_utf8_lossy(text)),
    }
}

fn spans(report: &FileReport) -> u64 {
    assert_eq!(report.ended, Ended::Whole, "{report:?}");
    report.spans
}

/// Small files of tools that hold no spans that can be read, and what they are called.
const FOREIGN: [(&str, &str); 3] = [
    ("27-grafana-frame.json", "a table of Grafana (a data frame) and no trace"),
    ("chrome-trace.json", "a trace of Chrome or Perfetto (events of one program)"),
    ("tempo-search.json", "the list of traces that a search in Tempo gives, without their spans"),
];

#[test]
fn a_file_of_another_tool_is_refused_by_its_name_with_a_way_out() {
    for (name, what) in FOREIGN {
        let bytes = std::fs::read(project("tests/fixtures/recognition/foreign").join(name)).unwrap();
        let error = refusal(&bytes);
        assert_eq!(error.kind, ErrorKind::Foreign, "{name}: {error}");
        assert_eq!(error.reason, format!("this looks like {what}"), "{name}");
        assert!(error.next.ends_with('.') && error.next.len() > 40, "{name}: {}", error.next);
        // As a member of an archive too, beside one that is read.
        let own = jaeger(3, "");
        let (_, report) = same(&zip(&[("a.json", &bytes, DEFLATED), ("b.json", own.as_bytes(), DEFLATED)]));
        assert_eq!(spans(&report), 3, "{name}");
        let [problem] = &report.problems[..] else { panic!("{name}: {report:?}") };
        assert_eq!(problem.kind, ProblemKind::BadMember, "{name}");
        assert!(problem.example.text.contains(what), "{name}: {problem:?}");
    }
}

/// Returns a Jaeger trace of so many spans, then `more` elements of its list.
fn jaeger(spans: usize, more: &str) -> String {
    let spans: Vec<String> = (1..=spans)
        .map(|n| {
            format!(r#"{{"traceID":"a1","spanID":"{n:x}","operationName":"op","references":[],"startTime":1700000000000000,"duration":9,"tags":[],"logs":[],"processID":"p1"}}"#)
        })
        .collect();
    format!(
        r#"{{"traceID":"a1","spans":[{}{more}],"processes":{{"p1":{{"serviceName":"s","tags":[]}}}}}}"#,
        spans.join(",")
    )
}

#[test]
fn one_record_of_ten_may_be_something_else_and_of_fewer_one() {
    let texts = |good: usize, bad: usize| {
        let zipkin = (1..=good).map(|n| {
            format!(r#"{{"traceId":"a","id":"{n:x}","name":"n","timestamp":1700000000000000,"duration":7,"localEndpoint":{{"serviceName":"z"}}}}"#)
        });
        let lines: Vec<String> =
            zipkin.chain((0..bad).map(|_| r#"{"level":"info","text":"hello"}"#.to_owned())).collect();
        [lines.join("\n"), format!("[{}]", lines.join(","))]
    };
    for (good, bad, is_read) in [
        (1, 0, true),
        (0, 1, false),
        (1, 1, true),
        (1, 2, false),
        (8, 1, true),
        (7, 2, false),
        (9, 1, true),
        (8, 2, false),
        (90, 10, true),
        (89, 11, false),
        (100, 5000, true),
    ] {
        for text in texts(good, bad) {
            if is_read {
                let (_, report) = same(text.as_bytes());
                assert_eq!(spans(&report), good as u64, "{good} and {bad}");
                assert_eq!(report.problems.first().map_or(0, |problem| problem.count), bad as u64);
                continue;
            }
            let error = refusal(text.as_bytes());
            assert_eq!(error.kind, ErrorKind::OtherJson, "{error}");
            let begin = if good == 0 {
                "it is JSON but holds no traces".to_owned()
            } else {
                format!("only {good} of its first {} records are spans", (good + bad).min(100))
            };
            assert!(error.reason.starts_with(&begin), "{good} and {bad}: {error}");
            assert!(error.reason.ends_with("an object with the keys level, text"), "{error}");
        }
    }
}

#[test]
fn one_key_is_no_format() {
    for (text, why) in [
        (r#"{"spans":[{"a":1},{"a":2}]}"#, "a Jaeger span without spanID"),
        (r#"{"spans":["a","b"]}"#, "the text \"a\" where a Jaeger span should be"),
        (r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"a":1}]}]}]}"#, "an OTLP span without traceId"),
        (r#"{"id":"x","traceId":"y","type":"SPAN","name":"agent"}"#, "a Zipkin span without timestamp"),
        (r#"{"SpanContext":{},"x":1}"#, "a span of an OpenTelemetry SDK without Name"),
        (r#"{"data":{"frames":[]}}"#, "an object with the keys frames"),
    ] {
        let error = refusal(text.as_bytes());
        assert_eq!(
            (error.kind, error.reason),
            (ErrorKind::OtherJson, format!("it is JSON but holds no traces: {why}"))
        );
    }
    for (text, why) in [
        (
            r#"{"data":[{"traceID":"1","spans":[{"spanID":"1","operationName":"x","startTime":"2026-01-05"}]}]}"#,
            "a Jaeger span whose startTime is the text \"2026-01-05\"",
        ),
        (r#"{"traceID":"1","spanID":"2","startTime":5,"duration":5}"#, "a Jaeger span without operationName"),
    ] {
        let error = refusal(text.as_bytes());
        let reason = format!("this looks like a list of spans in a form that is not known: {why}");
        assert_eq!((error.kind, error.reason), (ErrorKind::Foreign, reason));
    }
    // What is repaired is there: a start, a duration.
    let (_, report) =
        same(jaeger(3, r#",{"traceID":"a1","spanID":"9","operationName":"op","processID":"p1"}"#).as_bytes());
    assert_eq!(spans(&report), 4);
}

#[test]
fn what_is_damaged_or_empty_says_nothing_about_the_format() {
    for text in [
        jaeger(1, "")[..60].to_owned(),
        r#"{"data":[],"total":0}"#.to_owned(),
        r#"{"data":null,"errors":[{"code":500,"msg":"no"}]}"#.to_owned(),
        r#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"#.to_owned(),
    ] {
        let kind = refusal(text.as_bytes()).kind;
        assert!(!matches!(kind, ErrorKind::Foreign | ErrorKind::OtherJson), "{kind:?}: {text}");
    }
}

#[test]
fn a_large_file_of_another_tool_is_refused_at_its_beginning() {
    let event = r#"{"name":"GET /cart","ph":"X","ts":0,"dur":100000,"pid":1,"tid":1,"cat":"x"}"#;
    let events = vec![event; 40_000].join(",");
    let error = refusal_once(&format!(r#"{{"traceEvents":[{events}]}}"#));
    assert_eq!(error.reason, "this looks like a trace of Chrome or Perfetto (events of one program)");
}

fn refusal_once(text: &str) -> IngestError {
    match read(text.as_bytes(), false, 1, || 1 << 16).1.remove(0).ended {
        Ended::Failed(error) => error,
        other => panic!("{other:?}"),
    }
}

/// Start and duration of three spans in microseconds.
fn times() -> [(u64, u64); 3] {
    [(1_700_000_000_000_000, 1_500_000), (1_700_000_000_250_000, 1_000_000), (1_700_000_001_000_000, 0)]
}

#[test]
fn times_in_another_unit_are_read_in_it_and_said() {
    let jaeger = |start: &dyn Fn(u64) -> String| {
        let spans = times().into_iter().enumerate().map(|(n, (at, long))| {
            format!(r#"{{"traceID":"a1","spanID":"{}","operationName":"op","references":[],"startTime":{},"duration":{},"tags":[],"logs":[],"processID":"p1"}}"#, n + 1, start(at), start(long))
        });
        let spans: Vec<String> = spans.collect();
        format!(
            r#"{{"traceID":"a1","spans":[{}],"processes":{{"p1":{{"serviceName":"s","tags":[]}}}}}}"#,
            spans.join(",")
        )
    };
    let zipkin = |write: &dyn Fn(u64) -> String| {
        let spans = times().into_iter().enumerate().map(|(n, (at, long))| {
            format!(r#"{{"traceId":"a1","id":"{}","name":"op","timestamp":{},"duration":{},"localEndpoint":{{"serviceName":"s"}}}}"#, n + 1, write(at), write(long))
        });
        let spans: Vec<String> = spans.collect();
        format!("[{}]", spans.join(","))
    };
    let zipkin_1 = |write: &dyn Fn(u64) -> String| {
        let spans = times().into_iter().enumerate().map(|(n, (at, long))| {
            let side = |us: u64, value: &str| {
                format!(r#"{{"timestamp":{},"value":"{value}","endpoint":{{"serviceName":"s"}}}}"#, write(us))
            };
            format!(
                r#"{{"traceId":"a1","id":"{}","name":"op","timestamp":{},"annotations":[{},{}]}}"#,
                n + 1,
                write(at),
                side(at, "sr"),
                side(at + long, "ss")
            )
        });
        let spans: Vec<String> = spans.collect();
        format!("[{}]", spans.join(","))
    };
    let otlp = |write: &dyn Fn(u64) -> String| {
        let spans = times().into_iter().enumerate().map(|(n, (at, long))| {
            format!(r#"{{"traceId":"000000000000000000000000000000a1","spanId":"{:016x}","name":"op","startTimeUnixNano":{},"endTimeUnixNano":{}}}"#, n + 1, write(at), write(at + long))
        });
        let spans: Vec<String> = spans.collect();
        format!(
            r#"{{"resourceSpans":[{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"s"}}}}]}},"scopeSpans":[{{"spans":[{}]}}]}}]}}"#,
            spans.join(",")
        )
    };
    let in_us = |us: u64| us.to_string();
    let in_ns = |us: u64| (us * 1000).to_string();
    let in_ms = |us: u64| (us / 1000).to_string();
    let in_s = |us: u64| format!("{}.{:06}", us / 1_000_000, us % 1_000_000);
    let in_text = |us: u64| format!("\"{us}\"");
    type Write<'a> = &'a dyn Fn(&dyn Fn(u64) -> String) -> String;
    let micros: [Write<'_>; 3] = [&jaeger, &zipkin, &zipkin_1];
    let mut cases: Vec<(String, String, &str)> = Vec::new();
    for write in micros {
        for (text, unit) in
            [(write(&in_s), "seconds"), (write(&in_ms), "milliseconds"), (write(&in_ns), "nanoseconds")]
        {
            cases.push((write(&in_us), text, unit));
        }
    }
    for (text, unit) in [
        (otlp(&in_s), "seconds"),
        (otlp(&in_ms), "milliseconds"),
        (otlp(&in_us), "microseconds"),
        (otlp(&in_text), "microseconds"),
    ] {
        cases.push((otlp(&in_ns), text, unit));
    }
    for (usual, text, unit) in cases {
        let (columns, report) = same(usual.as_bytes());
        assert_eq!((spans(&report), report.problems.len()), (3, 0), "{report:?}");
        let (found, report) = same(text.as_bytes());
        assert_eq!(found, columns, "{text}");
        let [problem] = &report.problems[..] else { panic!("{report:?}") };
        assert_eq!((problem.kind, problem.count), (ProblemKind::OtherUnit, 1));
        let begin = format!("the times are read as {unit}: ");
        assert!(problem.example.text.starts_with(&begin), "{problem:?}");
        // Chunks would not know of it.
        assert!(SplitFinder::of(text.as_bytes()).is_none() && SplitFinder::of(usual.as_bytes()).is_some());
    }
}

#[test]
fn times_that_no_other_unit_explains_stay_as_they_are() {
    let with = |times: &[(u64, u64)]| {
        let spans: Vec<String> = (times.iter().enumerate())
            .map(|(n, (start, duration))| {
                format!(r#"{{"traceID":"a1","spanID":"{}","operationName":"op","startTime":{start},"duration":{duration},"processID":"p1"}}"#, n + 1)
            })
            .collect();
        format!(r#"{{"traceID":"a1","spans":[{}],"processes":{{}}}}"#, spans.join(","))
    };
    let kinds = |times: &[(u64, u64)]| {
        let (columns, report) = same(with(times).as_bytes());
        let kinds: Vec<ProblemKind> = report.problems.iter().map(|problem| problem.kind).collect();
        (kinds.contains(&ProblemKind::OtherUnit), kinds.contains(&ProblemKind::TimeOutOfRange), columns)
    };
    let second = 1_700_000_000;
    // In seconds; half of them only; one does not fit; spans of days; most longer than a minute.
    assert!(kinds(&[(second, 1), (second, 2)]).0);
    assert!(!kinds(&[(second, 1), (second * 1_000_000, 2)]).0);
    assert!(!kinds(&[(second, 1), (second, 2), (5_000_000_000, 1)]).0);
    assert!(!kinds(&[(second, 1), (second, 90_000)]).0);
    assert!(!kinds(&[(second, 1), (second, 61), (second, 70)]).0);
    // Of clocks that begin at 0 nothing is said.
    let (is_other, is_left_out, columns) = kinds(&[(1000, 10), (1001, 5)]);
    assert!(!is_other && !is_left_out && columns.contains("1000+10 "), "{columns}");
    // A start in seconds beside times in nanoseconds is no unit: what is left has its times.
    let (is_other, is_left_out, _) = kinds(&[(second, 1_764_000_000_000_000_000), (second * 1_000_000, 5)]);
    assert!(!is_other && is_left_out);
}

#[test]
fn spans_of_next_js_begin_with_their_machine() {
    // Twelve days after its start, which as milliseconds would be in 2001.
    let text = r#"[{"name":"op","duration":900,"timestamp":1036800000000,"id":177,"tags":{},"startTime":1700000000000,"traceId":"a1"}]"#;
    let (columns, report) = same(text.as_bytes());
    assert!(report.problems.is_empty() && columns.contains("1036800000000+900 "), "{columns}");
}
