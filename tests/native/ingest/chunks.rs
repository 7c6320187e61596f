//! Parts of a text: read in chunks by several readers it gives what one reader gives, wherever it is cut and whatever is
//! in it; and of all its traces a part can be kept.

use crate::common::archives::gzip;
use crate::common::generated_jaeger;
use crate::common::replay::feed_by;
use pathlight::generate::{Defects, Shape};
use pathlight::ingest::{Ended, FileReport, KeptTraces, ReadOptions, Reader, SplitFinder, SplitPoint};
use pathlight::trace::{TraceSet, dump};
use proptest::prelude::*;

fn feed(mut reader: Reader, text: &[u8], set: &mut TraceSet) -> FileReport {
    for chunk in text.chunks(777) {
        if feed_by(&mut reader, chunk, set).is_err() || reader.is_over() {
            break;
        }
    }
    reader.finish(set)
}

fn by_one(text: &[u8]) -> (String, FileReport) {
    let mut set = TraceSet::new();
    let report = feed(Reader::new("input", ReadOptions::default()), text, &mut set);
    set.seal().unwrap();
    (dump(&set), report)
}

/// Returns the split points found from these places on.
fn split_points(text: &[u8], head: usize, places: &[usize]) -> Vec<SplitPoint> {
    let Some(finder) = SplitFinder::of(&text[..head.min(text.len())]) else { return Vec::new() };
    let mut split_points: Vec<SplitPoint> = (places.iter())
        .filter_map(|&place| finder.find(text.get(place..)?, place as u64))
        .filter(|point| point.at > 0)
        .collect();
    split_points.sort_by_key(|point| point.at);
    split_points.dedup();
    split_points
}

/// Returns what readers of the chunks give together; `None` if they find that one of the split points is none.
fn by_chunks(text: &[u8], split_points: &[SplitPoint], keep: &KeptTraces) -> Option<(String, FileReport)> {
    let mut set = TraceSet::new();
    let mut reports = Vec::new();
    for number in 0..=split_points.len() {
        let from = number.checked_sub(1).map(|before| &split_points[before]);
        let until = split_points.get(number).cloned();
        let start = from.map_or(0, |point| point.at as usize);
        let end = until.as_ref().map_or(text.len(), |point| point.at as usize);
        let options = ReadOptions { keep: keep.clone(), ..ReadOptions::default() };
        let reader = Reader::of_chunk("input", options, from, until);
        reports.push(feed(reader, &text[start..end], &mut set));
    }
    // In any order, as workers take them.
    let whole = FileReport::of_chunks(reports)?;
    set.seal().unwrap();
    Some((dump(&set), whole))
}

/// Reads a text in chunks and compares; returns how many split points were used, or `None` if they did not agree.
fn compare(name: &str, text: &[u8], head: usize, places: &[usize]) -> Option<usize> {
    let split_points = split_points(text, head, places);
    let in_chunks = by_chunks(text, &split_points, &KeptTraces::All)?;
    assert_eq!(
        in_chunks,
        by_one(text),
        "{name}, cut at {:?}",
        split_points.iter().map(|s| s.at).collect::<Vec<_>>()
    );
    Some(split_points.len())
}

/// Returns what readers of the shares of a packed text give together, which begin after these places of the text; `None` if
/// they find that it cannot be shared there.
fn by_shares(text: &[u8], packed: &[u8], places: &[u64]) -> Option<(String, FileReport)> {
    let finder = SplitFinder::of(&text[..20_000])?;
    let points: Vec<SplitPoint> =
        places.iter().zip(1..).map(|(&place, at)| SplitPoint::in_packed(at, place, &finder)).collect();
    let mut set = TraceSet::new();
    let mut reports = Vec::new();
    for number in 0..=points.len() {
        let from = number.checked_sub(1).map(|before| &points[before]);
        let until = points.get(number).cloned();
        let reader = Reader::of_chunk("input", ReadOptions::default(), from, until);
        reports.push(feed(reader, packed, &mut set));
    }
    let whole = FileReport::of_chunks(reports)?;
    set.seal().unwrap();
    Some((dump(&set), whole))
}

fn every(step: usize, text: &[u8]) -> Vec<usize> {
    (step..text.len()).step_by(step).collect()
}

/// Returns a Jaeger trace of `spans` spans whose last tag has this value, as JSON text.
fn trace(id: u32, spans: u32, value: &str) -> String {
    let spans: Vec<String> = (1..=spans)
        .map(|span| {
            format!(
                r#"{{"traceID":"{id:x}","spanID":"{span:x}","operationName":"op","references":[{{"refType":"CHILD_OF","traceID":"{id:x}","spanID":"1"}}],"startTime":{span},"duration":9,"tags":[{{"key":"k","value":"{value}"}}],"logs":[],"processID":"p1"}}"#
            )
        })
        .collect();
    format!(
        r#"{{"traceID":"{id:x}","spans":[{}],"processes":{{"p1":{{"serviceName":"s{}","tags":[]}}}}}}"#,
        spans.join(","),
        id % 3
    )
}

#[test]
fn generated_traces_are_cut_between_any_two() {
    for defects in [Defects::default(), "all".parse().unwrap()] {
        let text = generated_jaeger(20, 60, Shape::Mixed, defects);
        let used = compare("generated", &text, 20_000, &every(3000, &text)).unwrap();
        assert!(used > 40, "{used} split points in {} bytes", text.len());
    }
}

#[test]
fn every_shape_of_document_is_cut() {
    let traces: Vec<String> = (1..60).map(|id| trace(id, 3, "v")).collect();
    let zipkin = |id: usize| {
        format!(
            r#"{{"traceId":"{:x}","id":"{:x}","name":"n","timestamp":5,"duration":7,"localEndpoint":{{"serviceName":"z"}}}}"#,
            1 + id / 4,
            1 + id
        )
    };
    let resource = |id: usize| {
        format!(
            r#"{{"resource":{{"attributes":[{{"key":"service.name","value":{{"stringValue":"r{}"}}}}]}},"scopeSpans":[{{"scope":{{"name":"x"}},"spans":[{{"traceId":"{:032x}","spanId":"{:016x}","name":"o","startTimeUnixNano":"1000","endTimeUnixNano":"9000"}}]}}]}}"#,
            id % 5,
            1 + id / 3,
            1 + id
        )
    };
    let resources: Vec<String> = (0..80).map(resource).collect();
    let spans: Vec<String> = (0..80).map(zipkin).collect();
    let nested: Vec<String> = spans.chunks(4).map(|group| format!("[{}]", group.join(","))).collect();
    let jaeger_spans: Vec<String> = (1..80)
        .map(|id| {
            format!(
                r#"{{"traceID":"{:x}","spanID":"{id:x}","operationName":"o","startTime":3,"duration":2,"tags":[],"process":{{"serviceName":"p","tags":[]}}}}"#,
                1 + id / 4
            )
        })
        .collect();
    let hits: Vec<String> =
        jaeger_spans.iter().map(|span| format!(r#"{{"_index":"i","_source":{span}}}"#)).collect();
    let bulk: Vec<String> = jaeger_spans.iter().map(|span| format!("{{\"index\":{{}}}}\n{span}")).collect();
    let texts = [
        ("api answer", format!(r#"{{"data":[{}],"errors":null}}"#, traces.join(","))),
        ("api answer in lines", format!("{{\"data\":[\n{}\n]}}", traces.join(",\n"))),
        ("array of traces", format!("[{}]", traces.join(" , "))),
        ("lines of traces", traces.join("\n")),
        ("otlp", format!(r#"{{"resourceSpans":[{}]}}"#, resources.join(","))),
        ("otlp in a result", format!(r#"{{"result":{{"resourceSpans":[{}]}}}}"#, resources.join(","))),
        (
            "otlp in lines",
            resources
                .chunks(2)
                .map(|two| format!("{{\"resourceSpans\":[{}]}}", two.join(",")))
                .collect::<Vec<_>>()
                .join("\n"),
        ),
        ("zipkin", format!("[{}]", spans.join(","))),
        ("zipkin of arrays", format!("[{}]", nested.join(","))),
        ("zipkin in lines", spans.join("\r\n")),
        ("anonymizer", format!("[{}]", jaeger_spans.join(",\n  "))),
        ("elasticsearch answer", format!(r#"{{"took":1,"hits":{{"total":9,"hits":[{}]}}}}"#, hits.join(","))),
        ("elasticsearch bulk", bulk.join("\n")),
    ];
    for (name, text) in texts {
        for head in [1500, 4000] {
            let used = compare(name, text.as_bytes(), head, &every(911, text.as_bytes()));
            assert!(used.is_some_and(|used| used > 4), "{name}: {used:?} split points");
        }
    }
}

#[test]
fn shares_of_a_packed_text_give_what_one_reader_gives() {
    const MB: u64 = 1 << 20;
    let lines: Vec<String> = (1..12_000).map(|id| trace(id, 2, "v")).collect();
    let texts = [
        ("generated", generated_jaeger(80, 90, Shape::Mixed, Defects::default())),
        ("with defects", generated_jaeger(80, 90, Shape::Mixed, "all".parse().unwrap())),
        ("lines", lines.join("\n").into_bytes()),
    ];
    for (name, text) in texts {
        let packed = gzip(&text);
        let end = text.len() as u64;
        assert!(end > 4 * MB, "{name}: {end} bytes");
        let one = by_one(&packed);
        // In the middle of the text, near its beginning, and where there is less to come than a look covers.
        for places in
            [vec![2 * MB], vec![MB / 2, 3 * MB], vec![MB, 2 * MB, 3 * MB], vec![3 * MB, end - 100_000]]
        {
            let Some(together) = by_shares(&text, &packed, &places) else { panic!("{name} at {places:?}") };
            assert_eq!(together.1, one.1, "{name} at {places:?}");
            assert!(together.0 == one.0, "{name} at {places:?}");
        }
        for places in [vec![2 * MB, 2 * MB + 1], vec![end - 10], vec![end + MB]] {
            assert!(by_shares(&text, &packed, &places).is_none(), "{name} at {places:?}");
        }
    }
}

#[test]
fn of_a_damaged_packed_text_shares_give_what_one_reader_gives_or_nothing() {
    let text = (1..12_000).map(|id| trace(id, 2, "v")).collect::<Vec<_>>().join("\n");
    let packed = gzip(text.as_bytes());
    let mut shared = 0;
    for share in [0.1, 0.4, 0.6, 0.9, 0.999] {
        let at = (packed.len() as f64 * share) as usize;
        let mut damaged = packed.clone();
        damaged[at..at + 8].fill(0x55);
        for bytes in [&packed[..at], &damaged] {
            if let Some(together) = by_shares(text.as_bytes(), bytes, &[2 << 20]) {
                let one = by_one(bytes);
                assert_eq!(together.1, one.1, "damaged at {share}");
                assert!(together.0 == one.0, "damaged at {share}");
                shared += 1;
            }
        }
    }
    assert!(shared >= 4, "{shared} could be shared");
}

#[test]
fn strings_that_look_like_traces_deceive_nobody() {
    let looks = [
        r#"},{\"traceID\":\"1\",\"spans\":[{\"traceID\""#,
        r#"\\\"},{"#,
        r#"]}]},{"#,
        r#"\\"#,
        r#"\n{\"traceID\":\"9\",\"spans\":[]}"#,
        r#" , {\\\"traceID\\\":\\\"1\\\",\\\"spans\\\":["#,
    ];
    for value in looks {
        let traces: Vec<String> = (1..40).map(|id| trace(id, 4, value)).collect();
        let text = format!(r#"{{"data":[{}]}}"#, traces.join(","));
        for step in [97, 1013] {
            let used = compare(value, text.as_bytes(), 5000, &every(step, text.as_bytes()));
            assert!(used.is_some_and(|used| used > 10), "{value}: {used:?}");
        }
    }
    // A forged document whose quotes match: only the reader before it can tell, and it does.
    let forged = r#","x":[{"traceID":"1","spans":[{"traceID":"1","spanID":"2","operationName":"o","references":[],"startTime":1,"duration":1,"tags":[],"logs":[],"processID":"p"}],"processes":{}},{"traceID":"2","spans":[]}]"#;
    let traces: Vec<String> = (1..40)
        .map(|id| trace(id, 4, "v").replacen(r#","processes""#, &format!(r#"{forged},"processes""#), 1))
        .collect();
    let text = format!(r#"{{"data":[{}]}}"#, traces.join(","));
    let mut refused = 0;
    for place in every(331, text.as_bytes()) {
        refused += usize::from(compare("forged", text.as_bytes(), 5000, &[place]).is_none());
    }
    assert!(refused > 0, "the forged traces were never met");
}

#[test]
fn damage_is_reported_as_one_reader_reports_it_or_the_chunks_do_not_agree() {
    let whole: Vec<String> = (1..60).map(|id| trace(id, 3, "v")).collect();
    let mut bad_type = whole.clone();
    bad_type[30] = bad_type[30].replace("\"startTime\":1", "\"startTime\":{}");
    let mut bad_syntax = whole.clone();
    bad_syntax[30] = bad_syntax[30].replace("\"startTime\":1", "\"startTime\":,");
    let mut cut_off: Vec<u8> = format!(r#"{{"data":[{}]}}"#, whole.join(",")).into_bytes();
    cut_off.truncate(cut_off.len() - 300);
    let agrees = |name: &str, text: &[u8]| compare(name, text, 5000, &every(2000, text)).is_some();
    assert!(agrees("wrong type", format!("[{}]", bad_type.join(",")).as_bytes()));
    assert!(agrees("truncated", &cut_off));
    assert!(agrees("a bad line", bad_syntax.join("\n").as_bytes()));
    assert!(agrees("a bad line", format!("{}\n{{\"x\":\n\n", bad_syntax.join("\n")).as_bytes()));
    assert!(!agrees("bad syntax within", format!("[{}]", bad_syntax.join(",")).as_bytes()));
    // One line that goes on after bad syntax in its array.
    let text = format!("{{\"data\":[{}]}}\n{}", bad_syntax.join(","), whole.join("\n"));
    assert!(!agrees("bad syntax in a line", text.as_bytes()));
}

#[test]
fn one_huge_trace_is_read_by_one_reader() {
    let among = |own: &str| format!(r#"{{"data":[{},{own},{}]}}"#, trace(1, 2, "v"), trace(3, 2, "v"));
    let own = trace(2, 400, "v");
    let in_lines = own.replace("},{\"traceID", "},\n  {\"traceID");
    for (name, text, used) in [
        ("alone", format!(r#"{{"data":[{own}]}}"#), 0),
        ("in an array", format!("[{own}]"), 0),
        ("among others", among(&own), 2),
        ("in lines", among(&in_lines).replacen("{", "{\n", 1), 2),
        ("in lines of a list", format!("[\n{in_lines}\n]"), 0),
        ("a line of its own", own.clone(), 0),
        ("twice", format!("[{own},{},{own}]", trace(4, 300, "v")), 2),
    ] {
        let text = text.as_bytes();
        for step in [300, 5000, 9001] {
            let mut places = every(step, text);
            places.insert(0, 200);
            assert_eq!(compare(name, text, 3000, &places), Some(used), "{name}, every {step}");
        }
    }
}

#[test]
fn a_huge_trace_with_something_odd_is_reported_as_one_reader_reports_it() {
    let own = trace(2, 400, "v");
    let span_200 = r#"{"traceID":"2","spanID":"c8""#;
    assert!(own.contains(span_200));
    let processes = r#""processes":{"p1":{"serviceName":"s2","tags":[]}}"#;
    let odd = [
        ("another trace", own.replace(span_200, r#"{"traceID":"9","spanID":"c8""#)),
        ("no trace", own.replace(span_200, r#"{"spanID":"c8""#)),
        (
            "the object says another trace",
            own.replacen(r#"{"traceID":"2","spans""#, r#"{"traceID":"7","spans""#, 1),
        ),
        ("another trace at its end", own.replace(r#""processes""#, r#""traceID":"7","processes""#)),
        (
            "a process in a span",
            own.replace(span_200, &format!(r#"{},"process":{{"serviceName":"x"}}"#, span_200)),
        ),
        ("an unknown process", own.replace(r#""processes":{"p1""#, r#""processes":{"p2""#)),
        ("no processes", own.replace(r#""processes":{"p1""#, r#""x":{"p1""#)),
        (
            "two tables of processes",
            own.replace(r#""processes":{"#, r#""processes":{"p1":{"serviceName":"first"}},"processes":{"#)
                .replacen(r#""spans":["#, r#""processes":{"p1":{"serviceName":"zeroth"}},"spans":["#, 1),
        ),
        (
            "processes first",
            own.replace(&format!(",{processes}"), "").replacen(
                r#""spans""#,
                &format!(r#"{processes},"spans""#),
                1,
            ),
        ),
        (
            "a bad span",
            own.replace(
                &format!(r#"{span_200},"operationName":"op""#),
                &format!(r#"{span_200},"operationName":[]"#),
            ),
        ),
    ];
    let used = |name: &str, own: &str, after: &str| {
        let text = format!(r#"{{"data":[{},{own}{after}"#, trace(1, 9, "v"));
        compare(name, text.as_bytes(), 3000, &every(701, text.as_bytes()))
    };
    let after = format!(",{}]}}", trace(3, 9, "v"));
    for (name, own) in &odd {
        let used = used(name, own, &after);
        assert!(used.is_some_and(|used| used > 0), "{name}: {used:?}");
    }
    assert_eq!(used("cut off", &own[..own.len() - 200], ""), Some(1));
    // Only one reader can say that nothing is read after bad syntax.
    assert_eq!(used("bad syntax", &own.replace(span_200, &format!("{span_200},,")), &after), None);
}

#[test]
fn of_some_traces_that_are_kept_chunks_give_the_same() {
    let traces: Vec<String> = (1..40).map(|id| trace(id, if id == 20 { 400 } else { 3 }, "v")).collect();
    let text = format!("[{}]", traces.join(","));
    let points = split_points(text.as_bytes(), 3000, &every(2000, text.as_bytes()));
    assert!(points.len() > 5, "{} split points", points.len());
    for keep in [KeptTraces::Service("s2".into()), KeptTraces::Sample(3)] {
        let (set, report) = kept(text.as_bytes(), keep.clone());
        assert_eq!(by_chunks(text.as_bytes(), &points, &keep), Some((dump(&set), report)));
    }
}

#[test]
fn a_trace_in_two_chunks_is_one_trace() {
    let halves = [trace(7, 3, "v"), trace(8, 3, "v"), trace(7, 5, "v"), trace(9, 3, "v")];
    let text = format!("[{}]", halves.join(","));
    let split_points = split_points(text.as_bytes(), 600, &[600, 1900]);
    assert_eq!(split_points.len(), 2);
    let in_chunks = by_chunks(text.as_bytes(), &split_points, &KeptTraces::All).unwrap();
    assert_eq!((in_chunks.1.traces, in_chunks.1.spans), (3, 14));
    assert_eq!(by_one(text.as_bytes()), in_chunks);
}

#[test]
fn what_is_no_text_of_traces_is_not_cut() {
    for text in [&b"\x1f\x8b\x08\0\0\0"[..], b"", b"{\"name\":\"x\"}", b"hello", b"[1,2,3]", b"{\"data\":["] {
        assert!(SplitFinder::of(text).is_none(), "{:?}", String::from_utf8_lossy(text));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn cut_anywhere_it_is_the_same_or_refused(
        values in prop::collection::vec("[a-z{}\\[\\],:\" \\\\]{0,12}", 12),
        lines in any::<bool>(),
        head in 300_usize..6000,
        places in prop::collection::vec(0_usize..30_000, 0..6),
        damage in prop::option::of((0_usize..30_000, any::<u8>())),
    ) {
        let traces: Vec<String> = (values.iter().zip(1..))
            .map(|(value, id)| trace(id, if id % 5 == 0 { 50 } else { 1 + id % 4 }, &value.replace('\\', "\\\\").replace('"', "\\\"")))
            .collect();
        let text = if lines { traces.join("\n") } else { format!("{{\"data\":[{}]}}", traces.join(",")) };
        let mut text = text.into_bytes();
        if let Some((place, byte)) = damage && place < text.len() {
            text[place] = byte;
        }
        // It may refuse, but never differ.
        compare("random", &text, head, &places);
    }
}

/// Returns what a set holds of a text of which only some traces are kept.
fn kept(text: &[u8], keep: KeptTraces) -> (TraceSet, FileReport) {
    let options = ReadOptions { keep, ..ReadOptions::default() };
    let mut set = TraceSet::new();
    let report = feed(Reader::new("input", options), text, &mut set);
    set.seal().unwrap();
    (set, report)
}

fn ids(set: &TraceSet) -> Vec<String> {
    let mut ids: Vec<String> = (0..set.traces().len() as u32).map(|trace| set.trace_id_text(trace)).collect();
    ids.sort_unstable();
    ids
}

#[test]
fn a_sample_is_the_same_in_every_form_of_the_text() {
    let traces: Vec<String> = (1..200).map(|id| trace(id, 3, "v")).collect();
    let array = format!("[{}]", traces.join(","));
    let (sample, report) = kept(array.as_bytes(), KeptTraces::Sample(4));
    let chosen = ids(&sample);
    assert!((25..80).contains(&chosen.len()), "{} of 199", chosen.len());
    assert_eq!((report.traces as usize, report.spans as usize), (chosen.len(), 3 * chosen.len()));
    assert_eq!(ids(&kept(traces.join("\n").as_bytes(), KeptTraces::Sample(4)).0), chosen);
    // The id may be that of the spans only, and spans may stand alone.
    let inner = array.replace(r#","spans":["#, r#","x":0,"spans":["#);
    let inner =
        (1..200).fold(inner, |text, id| text.replace(&format!(r#"{{"traceID":"{id:x}","x""#), r#"{"x""#));
    assert_eq!(ids(&kept(inner.as_bytes(), KeptTraces::Sample(4)).0), chosen);
    let single: Vec<String> = (1..200)
        .map(|id| {
            format!(
                r#"{{"traceID":"{id:x}","spanID":"1","operationName":"o","startTime":3,"duration":2,"process":{{"serviceName":"p"}}}}"#
            )
        })
        .collect();
    assert_eq!(ids(&kept(single.join("\n").as_bytes(), KeptTraces::Sample(4)).0), chosen);
    assert_eq!(ids(&kept(array.as_bytes(), KeptTraces::Sample(1)).0).len(), 199);
}

#[test]
fn traces_of_a_service_or_a_request_type_are_kept_whole() {
    let traces: Vec<String> = (1..100).map(|id| trace(id, 3, "v")).collect();
    let text = format!("[{}]", traces.join(","));
    let (set, report) = kept(text.as_bytes(), KeptTraces::Service("s1".into()));
    assert_eq!((set.traces().len(), report.spans), (33, 99));
    let keep =
        |operation: &str| KeptTraces::RequestType { service: "s2".into(), operation: operation.into() };
    // Span 1 names itself as its parent: no trace has a root by its own word.
    assert_eq!(kept(text.as_bytes(), keep("op")).0.traces().len(), 0);
    let rooted = text.replace(r#""spanID":"1"}]"#, r#""spanID":"9"}]"#).replace(
        r#""spanID":"1","operationName":"op","references":[{"refType":"CHILD_OF","traceID""#,
        r#""spanID":"1","operationName":"root","references":[],"x":[{"traceID""#,
    );
    assert_eq!(kept(rooted.as_bytes(), keep("root")).0.traces().len(), 33);
    let (none, report) = kept(rooted.as_bytes(), keep("other"));
    assert_eq!((none.traces().len(), report.ended), (0, Ended::Whole));
}
