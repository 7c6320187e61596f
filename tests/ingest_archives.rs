//! Archives: gzip of several members, zip in all its variants, and mixtures, in any chunks.
#![cfg(not(target_arch = "wasm32"))]

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use pathlight::ingest::{Ended, ErrorKind, FileReport, Options, ProblemKind, Reader};
use pathlight::trace::{TraceSet, dump};
use std::io::Write as _;

fn read(bytes: &[u8], chunk: usize) -> (String, FileReport) {
    let mut set = TraceSet::new();
    let mut reader = Reader::new("input", Options::default());
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

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("packed");
    encoder.finish().expect("packed")
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(bytes).expect("packed");
    encoder.finish().expect("packed")
}

/// How a member is written.
#[derive(Clone, Copy, Default)]
struct Way {
    deflated: bool,
    zip64: bool,
    /// Lengths after the data, with a signature or without.
    descriptor: Option<bool>,
    flags: u16,
    method: Option<u16>,
}

fn zip(members: &[(&str, &[u8], Way)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, bytes, way) in members {
        let data = if way.deflated { deflate(bytes) } else { bytes.to_vec() };
        let mut crc = Crc::new();
        crc.update(bytes);
        let flags = way.flags | if way.descriptor.is_some() { 8 } else { 0 };
        let method = way.method.unwrap_or(if way.deflated { 8 } else { 0 });
        out.extend(b"PK\x03\x04");
        out.extend(45u16.to_le_bytes());
        out.extend(flags.to_le_bytes());
        out.extend(method.to_le_bytes());
        out.extend([0; 4]);
        let known = way.descriptor.is_none();
        out.extend(if known { crc.sum() } else { 0 }.to_le_bytes());
        let short = |n: usize| {
            if way.zip64 {
                u32::MAX
            } else if known {
                n as u32
            } else {
                0
            }
        };
        out.extend(short(data.len()).to_le_bytes());
        out.extend(short(bytes.len()).to_le_bytes());
        out.extend((name.len() as u16).to_le_bytes());
        let mut extra = vec![0x55, 0x54, 5, 0, 1, 0, 0, 0, 0];
        if way.zip64 {
            extra.extend([1, 0, 16, 0]);
            extra.extend(if known { bytes.len() as u64 } else { 0 }.to_le_bytes());
            extra.extend(if known { data.len() as u64 } else { 0 }.to_le_bytes());
        }
        out.extend((extra.len() as u16).to_le_bytes());
        out.extend(name.as_bytes());
        out.extend(extra);
        out.extend(&data);
        if let Some(has_signature) = way.descriptor {
            if has_signature {
                out.extend(b"PK\x07\x08");
            }
            out.extend(crc.sum().to_le_bytes());
            for n in [data.len(), bytes.len()] {
                match way.zip64 {
                    true => out.extend((n as u64).to_le_bytes()),
                    false => out.extend((n as u32).to_le_bytes()),
                }
            }
        }
    }
    // A directory follows; it is not looked at.
    out.extend(b"PK\x01\x02");
    out.extend([0; 42]);
    out.extend(b"PK\x05\x06");
    out.extend([0; 18]);
    out
}

const STORED: Way = Way { deflated: false, zip64: false, descriptor: None, flags: 0, method: None };
const DEFLATED: Way = Way { deflated: true, ..STORED };

fn kinds(report: &FileReport) -> Vec<(ProblemKind, u64)> {
    report.problems.iter().map(|p| (p.kind, p.count)).collect()
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
    let mut reader = Reader::new("bomb", Options::default());
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
