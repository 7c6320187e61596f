//! Saved reports opened as files: their traces come in, and other pages are refused.

use crate::common::archives::{DEFLATED, gzip, zip};
use crate::common::replay::read;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use pathlight::ingest::{Ended, ErrorKind, FileReport, ProblemKind, ReadOptions, Reader};
use pathlight::trace::{TraceSet, dump};
use pathlight::view::export::saved;

/// What stands before the data of a block.
const START: &str = "<script type=\"application/octet-stream;base64\" class=\"report-part\">";

/// Returns the columns of a trace.
fn columns(id: &str) -> Vec<u8> {
    let json = format!(
        r#"[{{"traceId": "{id}", "id": "a", "name": "op-{id}", "timestamp": 5, "duration": 9,
            "localEndpoint": {{"serviceName": "s"}}}}]"#
    );
    let set = set_of(&[json.as_bytes()]);
    saved::columns(&set, 0, &saved::ExportRedaction::default(), 1).unwrap().0
}

fn set_of(inputs: &[&[u8]]) -> TraceSet {
    let mut set = TraceSet::new();
    for input in inputs {
        let mut reader = Reader::new("input", ReadOptions::default());
        reader.feed(input, &mut set).unwrap();
        reader.finish(&mut set);
    }
    set.seal().unwrap();
    set
}

/// Returns bytes as base64.
fn base64(bytes: &[u8]) -> String {
    BASE64_STANDARD.encode(bytes)
}

/// Returns a page with such blocks, among scripts that look like some.
fn page(parts: &[String]) -> String {
    let blocks: String = parts.iter().map(|part| format!("{START}{part}</script>\n")).collect();
    format!(
        "<!doctype html>\n<title>Pathlight</title>\n<script type=\"application/json\" id=\"report\">{{}}</script>\n\
         {blocks}<script>if (a<b) c = \"<script type=\\\"application/octet-stream;\";</script>\n"
    )
}

fn utf16(text: &str) -> Vec<u8> {
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(u16::to_le_bytes).collect()
}

/// Returns what is read of a file, in one piece and the same in pieces of any size.
fn opened(bytes: &[u8]) -> (String, FileReport) {
    let whole = read(bytes, false, 1, || usize::MAX);
    for piece in [1, 7, 100] {
        assert!(read(bytes, false, 1, || piece) == whole, "in pieces of {piece}");
    }
    let (dump, mut reports) = whole;
    (dump, reports.remove(0))
}

fn kinds(report: &FileReport) -> Vec<(ProblemKind, u64)> {
    report.problems.iter().map(|problem| (problem.kind, problem.count)).collect()
}

#[test]
fn its_traces_come_in_from_every_kind_of_page() {
    let (a, b) = (columns("a1"), columns("b2"));
    let expected = dump(&set_of(&[&a, &b]));
    let text = page(&[base64(&gzip(&a)), base64(&gzip(&b))]);
    let marked = [b"\xef\xbb\xbf\n", text.as_bytes()].concat();
    for file in [text.clone().into_bytes(), marked, utf16(&text)] {
        let (found, report) = opened(&file);
        assert!(found == expected, "{found}");
        assert_eq!((report.format.as_str(), report.traces, report.spans), ("pathlight+gzip", 2, 2));
        assert!(report.ended == Ended::Whole && report.problems.is_empty(), "{report:?}");
        let (found, report) =
            opened(&zip(&[("login.html", b"<!doctype html>", DEFLATED), ("a.html", &file, DEFLATED)]));
        assert!(found == expected, "{found}");
        assert_eq!(kinds(&report), [(ProblemKind::BadMember, 1)]);
        assert!(
            report.problems[0].example.text.starts_with("login.html: passed over: an HTML page"),
            "{report:?}"
        );
    }
}

#[test]
fn cut_anywhere_it_keeps_what_is_whole() {
    let (a, b) = (columns("a1"), columns("b2"));
    let blocks = [&a, &b].map(|columns| base64(&gzip(columns)));
    let text = page(&blocks);
    // Where a trace is known, at the latest: before the checksum of its gzip file.
    let known = blocks.each_ref().map(|block| text.find(block.as_str()).unwrap() + block.len());
    let begun = blocks.each_ref().map(|block| text.find(block.as_str()).unwrap());
    for end in 0..=text.len() {
        let (_, report) = opened(&text.as_bytes()[..end]);
        let traces = known.iter().filter(|&&known| known <= end).count() as u64;
        assert!(
            report.traces == traces || known.iter().any(|known| (end..end + 16).contains(known)),
            "{end}: {report:?}"
        );
        let is_inside = begun.iter().zip(&known).any(|(begin, known)| (*begin..=*known).contains(&end));
        match &report.ended {
            Ended::Failed(error) if end < begun[0] => {
                let kind = if end == 0 { ErrorKind::Empty } else { ErrorKind::NotRecognised };
                assert_eq!(error.kind, kind, "{end}");
            }
            Ended::Failed(error) => {
                assert!(is_inside && error.kind == ErrorKind::NothingReadable, "{end}: {error:?}")
            }
            Ended::Cut { offset } => assert!(is_inside && *offset == end as u64, "{end}: {report:?}"),
            ended => assert!(*ended == Ended::Whole && !is_inside, "{end}: {ended:?}"),
        }
        assert_eq!(
            report.problems.iter().any(|problem| problem.kind == ProblemKind::Truncated),
            is_inside,
            "{end}"
        );
    }
}

#[test]
fn of_a_damaged_block_it_is_said_and_the_others_are_read() {
    let (a, b) = (columns("a1"), columns("b2"));
    let blocks = [&a, &b].map(|columns| base64(&gzip(columns)));
    let with = |first: String| opened(page(&[first, blocks[1].clone()]).as_bytes());
    let at = blocks[0].len() / 2;
    let (before, after) = blocks[0].split_at(at);
    let other = if after.starts_with('A') { "B" } else { "A" };
    // A character that is no base64, another letter, the end missing, data behind the end, no gzip file at all.
    let (bad, end) = ((ProblemKind::BadSyntax, 1), (ProblemKind::BadMember, 1));
    for (first, problems, traces) in [
        (format!("{before}-{after}"), vec![bad, end], 1),
        (format!("{before}{other}{}", &after[1..]), vec![end], 1),
        (before.to_owned(), vec![end], 1),
        (format!("{}=={}", blocks[0].trim_end_matches('='), blocks[0]), vec![bad], 2),
        (base64(b"something else"), vec![end], 1),
    ] {
        let (found, report) = with(first.clone());
        assert!(found.contains("op-b2"), "{first}: {found}");
        assert_eq!((kinds(&report), report.traces), (problems, traces), "{first}: {report:?}");
    }
    let (_, report) = with(format!("{before}-{after}"));
    let bad = START.len() + at + 1 + page(&[]).find("<script>").unwrap();
    assert_eq!(
        (&report.ended, report.problems[0].example.offset),
        (&Ended::Cut { offset: bad as u64 }, bad as u64)
    );
    let (_, report) = opened(page(&[before.to_owned()]).as_bytes());
    assert!(
        matches!(&report.ended, Ended::Failed(error) if error.kind == ErrorKind::NothingReadable),
        "{report:?}"
    );
}

#[test]
fn another_page_is_refused_at_its_end() {
    let login = "<!doctype html>\n<title>Log in</title>";
    let long = format!("{login}{}", "<p>&lt;script class=\"report-part\"&gt;</p>\n".repeat(5000));
    let say = "it looks like an HTML page; it begins with 3c 21 64 6f 63 74 79 70 65 20 68 74 6d 6c 3e 0a \"<!doctype html>.\"";
    let of_text = "its content is not recognised; it begins with 3c 70 3e 78 \"<p>x\"";
    let of_utf16 = "it looks like UTF-16 text; it begins with ff fe 3c 00 70 00 3e 00 \"..<.p.>.\"";
    for (bytes, reason, next) in [
        (login.as_bytes(), say, "log in there in this browser"),
        (long.as_bytes(), say, "log in there in this browser"),
        (b"<p>x", of_text, "saved reports (.html)"),
        (&utf16("<p>"), of_utf16, "saved reports (.html)"),
    ] {
        let (_, report) = opened(bytes);
        let Ended::Failed(error) = &report.ended else { panic!("{report:?}") };
        assert_eq!((error.kind, error.reason.as_str()), (ErrorKind::NotRecognised, reason));
        assert!(error.next.contains(next), "{}", error.next);
    }
}

#[test]
fn pages_within_pages_end_somewhere() {
    let nested = |depth| (0..depth).fold(columns("a1"), |inner, _| page(&[base64(&inner)]).into_bytes());
    assert_eq!(opened(&nested(4)).1.traces, 1);
    let (_, report) = opened(&nested(5));
    assert_eq!((report.traces, kinds(&report)), (0, vec![(ProblemKind::BadMember, 1)]));
}
