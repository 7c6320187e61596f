//! Archives: gzip of several members, zip in all its variants, and mixtures, in any chunks.

use crate::common::archives::{DEFLATED, STORED, Way, gzip, zip};
use pathlight::ingest::{Ended, ErrorKind, FileReport, ProblemKind, ReadOptions, Reader};
use pathlight::trace::{TraceSet, dump};

fn read(bytes: &[u8], chunk: usize) -> (String, FileReport) {
    let mut set = TraceSet::new();
    let mut reader = Reader::new("input", ReadOptions::default());
    for chunk in bytes.chunks(chunk) {
        if reader.feed(chunk, &mut set).is_err() {
            break;
        }
    }
    let mut report = reader.finish(&mut set);
    if matches!(report.ended, Ended::Failed(_)) {
        // How much was fed before the reader refused more.
        report.bytes = 0;
    }
    set.seal().expect("memory");
    (dump(&set), report)
}

fn both(bytes: &[u8]) -> (String, FileReport) {
    let whole = read(bytes, usize::MAX);
    for chunk in [1, 13, 1000] {
        assert_eq!(read(bytes, chunk), whole, "in chunks of {chunk}");
    }
    whole
}

fn trace(id: &str) -> Vec<u8> {
    format!(
        r#"{{"data":[{{"traceID":"{id}","spans":[{{"traceID":"{id}","spanID":"1","operationName":"op-{id}","references":[],"startTime":5,"duration":9,"tags":[],"logs":[],"processID":"p1"}}],"processes":{{"p1":{{"serviceName":"s","tags":[]}}}}}}]}}"#
    )
    .into_bytes()
}

fn kinds(report: &FileReport) -> Vec<(ProblemKind, u64)> {
    report.problems.iter().map(|p| (p.kind, p.count)).collect()
}

#[test]
fn what_zstd_has_packed_is_read_and_of_a_cut_file_what_came_before() {
    for (file, bytes) in crate::common::replay::packed() {
        let name = file.file_name().unwrap().to_str().unwrap();
        let whole = crate::common::replay::read(&bytes, false, 1, || usize::MAX);
        assert_eq!(crate::common::replay::read(&bytes, false, 1, || 3), whole, "{name}");
        let report = &whole.1[0];
        assert_eq!((report.traces, report.spans, report.problems.len()), (1, 3, 0), "{name}: {report:?}");
        assert!(report.format.ends_with("+zstd"), "{name}: {}", report.format);
        // The frame is cut in the middle of its last block.
        let cut = &crate::common::replay::read(&bytes[..bytes.len() - 9], false, 1, || usize::MAX).1[0];
        assert!(cut.problems.iter().any(|problem| problem.kind == ProblemKind::BadMember), "{name}: {cut:?}");
    }
}

#[test]
fn gzip_members_are_one_text() {
    let text = trace("a1");
    let (first, second) = text.split_at(70);
    let (columns, report) = both(&[gzip(first), gzip(second), vec![0; 512]].concat());
    assert_eq!((report.format.as_str(), report.traces, report.ended), ("jaeger+gzip", 1, Ended::Whole));
    assert_eq!(columns, both(&text).0);
}

#[test]
fn damaged_gzip_keeps_what_came_before() {
    let text = [trace("a1"), b"\n".to_vec(), trace("b2")].concat();
    let first_lines = gzip(&[text.clone(), b"\n".to_vec()].concat());
    let broken = [first_lines.clone(), gzip(&trace("c3"))[..40].to_vec()].concat();
    let (_, report) = both(&broken);
    assert_eq!(report.traces, 2);
    assert_eq!(kinds(&report)[0], (ProblemKind::BadMember, 1));
    let (_, report) = both(&[first_lines, b"junk".to_vec()].concat());
    assert_eq!((report.traces, kinds(&report)), (2, vec![(ProblemKind::BadMember, 1)]));
}

#[test]
fn every_way_of_writing_a_zip_member_is_read() {
    let (a, b, c) = (trace("a1"), trace("b2"), trace("c3"));
    for deflated in [false, true] {
        for zip64 in [false, true] {
            for descriptor in [None, Some(true), Some(false)] {
                let way = Way { deflated, zip64, descriptor, ..STORED };
                if !deflated && descriptor.is_some() {
                    continue;
                }
                let (columns, report) =
                    both(&zip(&[("a.json", &a, way), ("b.json", &b, way), ("c/d.json", &c, way)]));
                assert_eq!(
                    (report.format.as_str(), report.traces, &report.ended),
                    ("jaeger+zip", 3, &Ended::Whole)
                );
                assert!(report.problems.is_empty(), "{report:?}");
                assert!(["op-a1", "op-b2", "op-c3"].iter().all(|op| columns.contains(op)));
            }
        }
    }
}

#[test]
fn archives_nest_and_mix() {
    let lines = [trace("a1"), b"\n".to_vec(), trace("b2"), b"\n".to_vec()].concat();
    let inner = zip(&[("deep.json", &trace("c3"), DEFLATED)]);
    let otlp = br#"{"resourceSpans":[{"scopeSpans":[{"spans":[{"traceId":"d4","spanId":"1","name":"n","startTimeUnixNano":"5000","endTimeUnixNano":"9000"}]}]}]}"#;
    let archive = zip(&[
        ("folder/", b"", STORED),
        ("lines.ndjson.gz", &gzip(&lines), STORED),
        ("inner.zip", &inner, DEFLATED),
        ("otlp.json", otlp, DEFLATED),
        ("empty.json", b"", STORED),
        ("__MACOSX/._x", b"\0\0noise", STORED),
    ]);
    let (_, report) = both(&gzip(&archive));
    assert_eq!((report.format.as_str(), report.traces), ("jaeger+otlp+gzip+zip", 4));
    assert!(report.problems.is_empty(), "{report:?}");
}

#[test]
fn members_that_cannot_be_read_are_passed_over() {
    let a = trace("a1");
    let encrypted = Way { flags: 1, ..STORED };
    let strange = Way { method: Some(93), ..STORED };
    let archive = zip(&[
        ("secret.json", b"xxxx", encrypted),
        ("new.json", b"yyyy", strange),
        ("photo.jpg", b"\xff\xd8\xff\xe0 a photo", DEFLATED),
        ("a.json", &a, DEFLATED),
    ]);
    let (columns, report) = both(&archive);
    assert!(columns.contains("op-a1"));
    assert_eq!(kinds(&report), [(ProblemKind::BadMember, 3)]);
    assert!(report.problems[0].example.text.starts_with("secret.json: "), "{report:?}");
}

#[test]
fn a_cut_or_damaged_zip_keeps_what_came_before() {
    let (a, b) = (trace("a1"), trace("b2"));
    let archive = zip(&[("a.json", &a, DEFLATED), ("b.json", &b, DEFLATED)]);
    let second = archive.windows(6).position(|w| w == b"b.json").expect("second member");
    let (columns, report) = both(&archive[..second + 60]);
    assert!(columns.contains("op-a1") && matches!(report.ended, Ended::Cut { .. }), "{report:?}");
    let mut broken = archive.clone();
    broken[second - 30] ^= 0x40;
    let (columns, report) = both(&broken);
    assert!(columns.contains("op-a1"));
    assert_eq!(kinds(&report), [(ProblemKind::BadMember, 1)]);
    let mut wrong_sum = archive;
    wrong_sum[14] ^= 1;
    let (_, report) = both(&wrong_sum);
    assert_eq!((report.traces, kinds(&report)), (2, vec![(ProblemKind::BadMember, 1)]));
}

#[test]
fn packed_zeros_do_not_fill_memory() {
    // 64 MiB of spaces in 64 KiB, five archives deep where four are allowed.
    let bomb = gzip(&vec![b' '; 64 << 20]);
    let mut set = TraceSet::new();
    let mut reader = Reader::new("bomb", ReadOptions::default());
    reader.feed(&bomb, &mut set).expect("spaces are text");
    let report = reader.finish(&mut set);
    assert!(matches!(&report.ended, Ended::Failed(error) if error.kind == ErrorKind::Empty), "{report:?}");
    let nested = (0..5).fold(trace("a1"), |inner, _| gzip(&inner));
    let (_, report) = both(&nested);
    assert!(
        matches!(&report.ended, Ended::Failed(error) if error.kind == ErrorKind::NotRecognised),
        "{report:?}"
    );
}
