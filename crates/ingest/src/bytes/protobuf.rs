//! Protobuf on the wire, and the messages of OTLP as the JSON of the same protocol. Nothing here recurses.

use super::window::MAX_DEPTH;
use std::io::Write as _;

/// Why a varint, a tag or a length cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wire {
    More,
    Bad,
}

/// Returns a varint and how many bytes it has.
pub(crate) fn varint(bytes: &[u8]) -> Result<(u64, usize), Wire> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().enumerate().take(10) {
        value |= u64::from(byte & 127) << (7 * i);
        if byte < 128 {
            return Ok((value, i + 1));
        }
    }
    Err(if bytes.len() < 10 { Wire::More } else { Wire::Bad })
}

/// Where the value of a field stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Field {
    pub number: u64,
    /// 0 varint, 1 eight bytes, 2 a length and so many bytes, 5 four bytes.
    pub wire: u8,
    /// Bytes of tag and length, and of the value.
    pub head: usize,
    pub length: u64,
}

/// Returns the field that bytes begin with.
pub(crate) fn field(bytes: &[u8]) -> Result<Field, Wire> {
    let (tag, head) = varint(bytes)?;
    let (number, wire) = (tag >> 3, (tag & 7) as u8);
    let (head, length) = match wire {
        0 => (head, varint(&bytes[head..])?.1 as u64),
        1 => (head, 8),
        2 => {
            let (length, more) = varint(&bytes[head..])?;
            (head + more, length)
        }
        5 => (head, 4),
        _ => return Err(Wire::Bad),
    };
    if number == 0 || length > 1 << 62 {
        return Err(Wire::Bad);
    }
    Ok(Field { number, wire, head, length })
}

/// A message of the protocol.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Message {
    Request,
    ResourceSpans,
    ScopeSpans,
    Resource,
    Scope,
    Span,
    Event,
    Link,
    Status,
    KeyValue,
    AnyValue,
    Array,
    Map,
}

/// What a field is in JSON.
#[derive(Clone, Copy, PartialEq, Eq)]
enum As {
    Text,
    /// An id in hexadecimal.
    Id,
    Base64,
    Bool,
    /// The number of an enum.
    Number,
    /// A signed number, as the protocol writes it: in quotes.
    Signed,
    /// Eight bytes, in quotes.
    Fixed,
    /// Four bytes.
    Fixed32,
    Double,
    One(Message),
    /// Any number of messages.
    List(Message),
}

impl As {
    /// Returns the wire type that such a field has.
    fn wire(self) -> u8 {
        match self {
            As::Bool | As::Number | As::Signed => 0,
            As::Fixed | As::Double => 1,
            As::Fixed32 => 5,
            As::Text | As::Id | As::Base64 | As::One(_) | As::List(_) => 2,
        }
    }
}

impl Message {
    /// Returns the fields by number, with their names in JSON: those that are read, and after them, if `all` are
    /// wanted, the others.
    fn fields(self, all: bool) -> &'static [(u64, &'static str, As)] {
        use Message::{
            AnyValue, Array, Event, KeyValue, Link, Map, Resource, ResourceSpans, Scope, ScopeSpans, Span,
            Status,
        };
        let (fields, read): (&'static [(u64, &'static str, As)], usize) = match self {
            Message::Request => (&[(1, "resourceSpans", As::List(ResourceSpans))], 1),
            ResourceSpans => (
                &[
                    (1, "resource", As::One(Resource)),
                    (2, "scopeSpans", As::List(ScopeSpans)),
                    (3, "schemaUrl", As::Text),
                ],
                2,
            ),
            ScopeSpans => {
                (&[(1, "scope", As::One(Scope)), (2, "spans", As::List(Span)), (3, "schemaUrl", As::Text)], 2)
            }
            Resource => (&[(1, "attributes", As::List(KeyValue))], 1),
            Scope => {
                (&[(1, "name", As::Text), (2, "version", As::Text), (3, "attributes", As::List(KeyValue))], 2)
            }
            Span => (
                &[
                    (1, "traceId", As::Id),
                    (2, "spanId", As::Id),
                    (4, "parentSpanId", As::Id),
                    (5, "name", As::Text),
                    (6, "kind", As::Number),
                    (7, "startTimeUnixNano", As::Fixed),
                    (8, "endTimeUnixNano", As::Fixed),
                    (9, "attributes", As::List(KeyValue)),
                    (11, "events", As::List(Event)),
                    (15, "status", As::One(Status)),
                    (13, "links", As::List(Link)),
                    (3, "traceState", As::Text),
                    (16, "flags", As::Fixed32),
                ],
                11,
            ),
            Event => (
                &[
                    (2, "name", As::Text),
                    (3, "attributes", As::List(KeyValue)),
                    (1, "timeUnixNano", As::Fixed),
                ],
                2,
            ),
            Link => (
                &[
                    (1, "traceId", As::Id),
                    (2, "spanId", As::Id),
                    (4, "attributes", As::List(KeyValue)),
                    (3, "traceState", As::Text),
                ],
                3,
            ),
            Status => (&[(2, "message", As::Text), (3, "code", As::Number)], 2),
            KeyValue => (&[(1, "key", As::Text), (2, "value", As::One(AnyValue))], 2),
            AnyValue => (
                &[
                    (1, "stringValue", As::Text),
                    (2, "boolValue", As::Bool),
                    (3, "intValue", As::Signed),
                    (4, "doubleValue", As::Double),
                    (5, "arrayValue", As::One(Array)),
                    (6, "kvlistValue", As::One(Map)),
                    (7, "bytesValue", As::Base64),
                ],
                7,
            ),
            Array => (&[(1, "values", As::List(AnyValue))], 1),
            Map => (&[(1, "values", As::List(KeyValue))], 1),
        };
        if all { fields } else { &fields[..read] }
    }
}

/// Returns an `ExportTraceServiceRequest` (or any list of resources) as JSON in one line, with all that its spans say; `None` if
/// it is no protobuf, or nested deeper than 128.
pub fn otlp_json(request: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    write(Message::Request, request, true, &mut out).ok().map(|()| out)
}

/// Why a message cannot be written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Broken {
    Syntax,
    TooDeep,
}

/// A message that is being written.
struct Open<'a> {
    message: Message,
    bytes: &'a [u8],
    /// Place of the field in [`Message::fields`], and how many bytes were searched for it.
    field: usize,
    searched: usize,
    is_empty: bool,
    in_list: bool,
}

impl<'a> Open<'a> {
    fn new(message: Message, bytes: &'a [u8]) -> Open<'a> {
        Open { message, bytes, field: 0, searched: 0, is_empty: true, in_list: false }
    }

    /// Returns the next value of a field; of one that is no list, the last.
    fn next(&mut self, number: u64, what: As) -> Result<Option<&'a [u8]>, Broken> {
        let mut last = None;
        while self.searched < self.bytes.len() {
            let found = field(&self.bytes[self.searched..]).map_err(|_| Broken::Syntax)?;
            let start = self.searched + found.head;
            let value = usize::try_from(found.length)
                .ok()
                .and_then(|length| self.bytes.get(start..start.checked_add(length)?))
                .ok_or(Broken::Syntax)?;
            self.searched = start + value.len();
            if found.number == number && found.wire == what.wire() {
                last = Some(value);
                if matches!(what, As::List(_)) {
                    break;
                }
            }
        }
        Ok(last)
    }
}

/// Writes a message as JSON. Fields may stand in any order and lists in parts; of a field given twice the last counts.
/// Without `all`, fields that no reader asks for are left out.
pub(crate) fn write(message: Message, bytes: &[u8], all: bool, out: &mut Vec<u8>) -> Result<(), Broken> {
    let mut open = vec![Open::new(message, bytes)];
    out.push(b'{');
    while let Some(top) = open.last_mut() {
        let Some(&(number, name, what)) = top.message.fields(all).get(top.field) else {
            out.push(b'}');
            open.pop();
            continue;
        };
        let value = top.next(number, what)?;
        match value {
            Some(_) if top.in_list => out.push(b','),
            Some(_) => {
                if !top.is_empty {
                    out.push(b',');
                }
                out.push(b'"');
                out.extend_from_slice(name.as_bytes());
                out.extend_from_slice(b"\":");
                if let As::List(_) = what {
                    out.push(b'[');
                    top.in_list = true;
                }
                top.is_empty = false;
            }
            None if top.in_list => out.push(b']'),
            None => {}
        }
        if value.is_none() || !top.in_list {
            top.in_list = false;
            top.field += 1;
            top.searched = 0;
        }
        match (what, value) {
            (_, None) => {}
            (As::One(inner) | As::List(inner), Some(value)) => {
                if open.len() as u32 >= MAX_DEPTH {
                    return Err(Broken::TooDeep);
                }
                out.push(b'{');
                open.push(Open::new(inner, value));
            }
            (_, Some(value)) => write_value(what, value, out)?,
        }
    }
    Ok(())
}

fn write_value(what: As, value: &[u8], out: &mut Vec<u8>) -> Result<(), Broken> {
    let number = || varint(value).map(|(number, _)| number).map_err(|_| Broken::Syntax);
    let fixed = || value.first_chunk().map(|bytes| u64::from_le_bytes(*bytes)).ok_or(Broken::Syntax);
    // Writing into memory does not fail.
    let _ = match what {
        As::Text => {
            write_text(value, out);
            Ok(())
        }
        As::Id => {
            out.push(b'"');
            out.extend(
                value.iter().flat_map(|byte| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]),
            );
            out.push(b'"');
            Ok(())
        }
        As::Base64 => {
            write_base64(value, out);
            Ok(())
        }
        As::Bool => write!(out, "{}", number()? != 0),
        As::Number => write!(out, "{}", number()?),
        As::Signed => write!(out, "\"{}\"", number()? as i64),
        As::Fixed => write!(out, "\"{}\"", fixed()?),
        As::Fixed32 => {
            let bytes = value.first_chunk().ok_or(Broken::Syntax)?;
            write!(out, "{}", u32::from_le_bytes(*bytes))
        }
        As::Double => {
            let x = f64::from_bits(fixed()?);
            match x.abs() {
                // As JSON libraries write it.
                size if x.is_finite() && (size == 0.0 || (1e-6..1e21).contains(&size)) => write!(out, "{x}"),
                _ if x.is_finite() => write!(out, "{x:e}"),
                _ if x.is_nan() => write!(out, "\"NaN\""),
                _ => write!(out, "\"{}Infinity\"", if x < 0.0 { "-" } else { "" }),
            }
        }
        As::One(_) | As::List(_) => Ok(()),
    };
    Ok(())
}

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Writes bytes in quotes, so that reading them gives the same bytes.
fn write_text(text: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for &byte in text {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            0..0x20 => {
                out.extend_from_slice(b"\\u00");
                out.extend([HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            }
            _ => out.push(byte),
        }
    }
    out.push(b'"');
}

/// The digits of base64.
pub(crate) const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends bytes in base64, in quotes.
pub(crate) fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for chunk in bytes.chunks(3) {
        let bits =
            chunk.iter().enumerate().fold(0, |bits, (i, &byte)| bits | u32::from(byte) << (16 - 8 * i));
        out.extend((0..4).map(|i| match i <= chunk.len() {
            true => DIGITS[(bits >> (18 - 6 * i)) as usize & 63],
            false => b'=',
        }));
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(message: Message, bytes: &[u8]) -> Result<String, Broken> {
        let mut out = Vec::new();
        write(message, bytes, true, &mut out).map(|()| String::from_utf8_lossy(&out).into_owned())
    }

    fn len(number: u8, value: &[u8]) -> Vec<u8> {
        [&[number << 3 | 2, value.len() as u8], value].concat()
    }

    #[test]
    fn values_are_written_as_the_protocol_writes_them() {
        let value = |bytes: &[u8]| json(Message::AnyValue, bytes);
        let double = |x: f64| [&[0x21], &x.to_bits().to_le_bytes()[..]].concat();
        for (bytes, text) in [
            (len(1, b"a\"b\\\n"), r#"{"stringValue":"a\"b\\\u000a"}"#),
            (vec![0x10, 1], r#"{"boolValue":true}"#),
            (vec![0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1], r#"{"intValue":"-1"}"#),
            (double(1.5), r#"{"doubleValue":1.5}"#),
            (double(1e300), r#"{"doubleValue":1e300}"#),
            (double(f64::NAN), r#"{"doubleValue":"NaN"}"#),
            (
                len(5, &[len(1, &[0x18, 7]), len(1, &len(1, b"x"))].concat()),
                r#"{"arrayValue":{"values":[{"intValue":"7"},{"stringValue":"x"}]}}"#,
            ),
            (len(5, b""), r#"{"arrayValue":{}}"#),
            (len(7, b"abcd"), r#"{"bytesValue":"YWJjZA=="}"#),
            (Vec::new(), "{}"),
        ] {
            assert_eq!(value(&bytes).as_deref(), Ok(text));
        }
        assert_eq!(value(&[0x0a, 5, b'a']), Err(Broken::Syntax));
        assert_eq!(value(&[0x0b]), Err(Broken::Syntax));
        // A field of another wire type is none of ours.
        assert_eq!(value(&[0x08, 5]).as_deref(), Ok("{}"));
    }

    #[test]
    fn lists_in_parts_are_joined_and_of_two_values_the_last_counts() {
        let attribute = |key: &[u8]| len(9, &len(1, key));
        let span = [attribute(b"a"), len(5, b"x"), attribute(b"b"), len(5, b"y")].concat();
        let text = r#"{"name":"y","attributes":[{"key":"a"},{"key":"b"}]}"#;
        assert_eq!(json(Message::Span, &span).as_deref(), Ok(text));
    }

    #[test]
    fn what_is_nested_too_deep_is_refused_without_recursion() {
        // A list of one value, inside another, and so on.
        let nested = |times: usize| {
            let mut value = vec![0x10, 1];
            for tag in (0..2 * times).map(|level| [0x0a, 0x2a][level % 2]) {
                let mut outer = vec![tag];
                let mut length = value.len();
                while length > 127 {
                    outer.push(length as u8 | 128);
                    length >>= 7;
                }
                outer.push(length as u8);
                value = [outer, value].concat();
            }
            json(Message::AnyValue, &value)
        };
        assert!(nested(60).is_ok());
        assert_eq!(nested(2000), Err(Broken::TooDeep));
    }
}
