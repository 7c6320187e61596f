//! Recognises a format by the first bytes of an input.

use super::zstd;
use crate::formats::otlp_protobuf as protobuf;
use crate::formats::otlp_protobuf::Framing;

/// How many first bytes are looked at.
pub(crate) const HEAD: usize = 64;

/// Which byte of two comes first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ByteOrder {
    LowFirst,
    HighFirst,
}

/// What an input is, by its first bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// JSON, as far as one can see, after this many bytes of byte order mark.
    Text(usize),
    Gzip,
    Zstd,
    Zip,
    /// Text in two bytes a unit, as that of Windows.
    Utf16(ByteOrder),
    /// Columns of a saved report.
    Columns,
    /// A summary of traces.
    Summary,
    /// OTLP as protobuf.
    Protobuf(Framing),
    /// Something with a name.
    Other(&'static str),
    /// Nothing known.
    Unknown,
    /// Nothing but space, after this many bytes of byte order mark.
    Blank(usize),
}

impl Kind {
    /// Returns how many bytes of byte order mark stand before the text.
    pub fn mark(self) -> usize {
        match self {
            Kind::Text(mark) | Kind::Blank(mark) => mark,
            _ => 0,
        }
    }
}

/// What a summary of traces begins with, whatever its version (crate `engine` writes them).
const SUMMARY: &[u8] = b"pathlight-summary ";

const MAGIC: [(&[u8], &str); 23] = [
    (b"\xff\xd8\xff", "a JPEG image"),
    (b"\x89PNG", "a PNG image"),
    (b"GIF8", "a GIF image"),
    (b"RIFF", "a media file"),
    (b"%PDF", "a PDF document"),
    (b"BZh", "bzip2 compressed data"),
    (b"\xfd7zXZ", "xz compressed data"),
    (b"7z\xbc\xaf", "a 7-Zip archive"),
    (b"\x04\x22\x4d\x18", "lz4 compressed data"),
    (b"\x1f\x9d", "compress(1) data"),
    (b"PAR1", "a Parquet file"),
    (b"FLR\0", "a recording of Java Flight Recorder"),
    (b"SQLite format 3", "an SQLite database"),
    (b"\x7fELF", "a program"),
    (b"\0asm", "a WebAssembly module"),
    (b"MZ", "a program"),
    (b"PK\x07\x08", "a part of a split zip archive"),
    (b"<?xml", "an XML document"),
    (b"<!", HTML),
    (b"<html", HTML),
    (b"<head", HTML),
    (b"<title", HTML),
    (b"<body", HTML),
];

/// What a server answers in place of traces when it wants a login.
pub(crate) const HTML: &str = "an HTML page";

/// Tells what the first bytes are.
pub(crate) fn sniff(head: &[u8]) -> Kind {
    match head {
        [0x1f, 0x8b, ..] => return Kind::Gzip,
        _ if head.starts_with(zstd::MAGIC) => return Kind::Zstd,
        // The length of a message stands before it.
        [_, _, _, _, rest @ ..] if rest.starts_with(zstd::MAGIC) => return Kind::Zstd,
        _ if crate::formats::columns::begin_with(head) => return Kind::Columns,
        _ if head.starts_with(SUMMARY) => return Kind::Summary,
        [b'P', b'K', 3, 4, ..] | [b'P', b'K', 5, 6, ..] => return Kind::Zip,
        _ => {}
    }
    if let Some(framing) = protobuf::sniff(head) {
        return Kind::Protobuf(framing);
    }
    match head {
        // UTF-32 begins with the same mark.
        [0xff, 0xfe, 0, 0, ..] => return Kind::Other("UTF-32 text"),
        // With a byte order mark, or without one.
        [0xff, 0xfe, ..] | [1..=255, 0, 1..=255, 0, ..] => return Kind::Utf16(ByteOrder::LowFirst),
        // Its list of sample types, each of two small numbers.
        [b'\n', 4..=8, 8, _, 0x10, ..] => return Kind::Other("a profile of pprof"),
        [0xfe, 0xff, ..] | [0, 1..=255, 0, 1..=255, ..] => return Kind::Utf16(ByteOrder::HighFirst),
        _ => {}
    }
    let bom = if head.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let text = head[bom..].trim_ascii_start();
    match text.first() {
        None => return Kind::Blank(bom),
        Some(b'{' | b'[' | b'"' | b'-' | b'0'..=b'9') => return Kind::Text(bom),
        _ if text.starts_with(b"null") || text.starts_with(b"true") || text.starts_with(b"false") => {
            return Kind::Text(bom);
        }
        _ => {}
    }
    let lower = text.to_ascii_lowercase();
    let known = |m: &&(&[u8], &str)| head.starts_with(m.0) || lower.starts_with(m.0);
    match MAGIC.iter().find(known) {
        Some((_, name)) => Kind::Other(name),
        None => Kind::Unknown,
    }
}

/// Returns the first bytes for a message: in hexadecimal, and as text where they are text.
pub(crate) fn quote(head: &[u8]) -> String {
    let head = &head[..head.len().min(16)];
    let hex: Vec<String> = head.iter().map(|b| format!("{b:02x}")).collect();
    let text: String =
        head.iter().map(|&b| if (0x20..0x7f).contains(&b) { b as char } else { '.' }).collect();
    format!("{} \"{text}\"", hex.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_recognised_by_content() {
        assert_eq!(sniff(b"\xef\xbb\xbf [1"), Kind::Text(3));
        assert_eq!(sniff(b"\x1f\x8b\x08"), Kind::Gzip);
        assert_eq!(sniff(b"PK\x03\x04"), Kind::Zip);
        assert_eq!(sniff(b"pathlight-summary 1\n"), Kind::Summary);
        assert_eq!(sniff(b"\xff\xd8\xff\xe0"), Kind::Other("a JPEG image"));
        assert_eq!(sniff(b"\n<!DOCTYPE html>"), Kind::Other("an HTML page"));
        assert_eq!(sniff(b"<!doctype html>"), Kind::Other("an HTML page"));
        assert_eq!(sniff(b"<title>Log in</title>"), Kind::Other("an HTML page"));
        assert_eq!(sniff(b" \n"), Kind::Blank(0));
        for text in [&b"{\0\"\0d\0"[..], b"\xff\xfe{\0", b"[\0\n\0"] {
            assert_eq!(sniff(text), Kind::Utf16(ByteOrder::LowFirst), "{text:?}");
        }
        for text in [&b"\0{\0\"\0d"[..], b"\xfe\xff\0{"] {
            assert_eq!(sniff(text), Kind::Utf16(ByteOrder::HighFirst), "{text:?}");
        }
        assert_eq!(sniff(b"\xff\xfe\0\0{\0\0\0"), Kind::Other("UTF-32 text"));
        assert_eq!(sniff(b"\0asm\x01\0\0\0"), Kind::Other("a WebAssembly module"));
        assert_eq!(sniff(b"hello"), Kind::Unknown);
        // A list of resources: a resource with an attribute, an empty one, none; lengths before it.
        let resource = b"\x0a\x40\x0a\x10\x0a\x0e\x0a\x0cservice.name";
        assert_eq!(sniff(resource), Kind::Protobuf(Framing::One));
        assert_eq!(sniff(b"\x0a\x10\x0a\x00\x12\x0c\x12\x0a"), Kind::Protobuf(Framing::One));
        assert_eq!(sniff(&[&b"\x0a\x00"[..], resource].concat()), Kind::Protobuf(Framing::One));
        assert_eq!(sniff(b"\x0a\x10\x12\x0e\x12\x0c"), Kind::Protobuf(Framing::One));
        assert_eq!(sniff(&[&b"\x00\x01\x00\x50"[..], resource].concat()), Kind::Protobuf(Framing::Fixed));
        assert_eq!(sniff(&[&b"\x80\x01"[..], resource].concat()), Kind::Protobuf(Framing::Varint));
        assert_eq!(sniff(&[&b"\x42"[..], resource].concat()), Kind::Protobuf(Framing::Varint));
        // Line feeds begin texts as well, and braces after them are lengths.
        for text in [
            &b"\n{\n  \"data\""[..],
            b"{\n\n\n\n\n\"data\"",
            b"\n[\n{\n\t\"a\":1",
            b"[\n \n\t\n\r\n\t\n{",
            b"\n\n\n\n\n[1",
        ] {
            assert!(matches!(sniff(text), Kind::Text(_)), "{text:?}");
        }
        assert_eq!(quote(b"ab\xff"), "61 62 ff \"ab.\"");
    }
}
