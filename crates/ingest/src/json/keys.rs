//! Keys of Jaeger spans, recognised by one word.

use super::view::View;

/// A key of a span; the first seven must be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    Trace,
    Span,
    Operation,
    Start,
    Duration,
    ProcessId,
    Tags,
    References,
    Logs,
    Process,
    Parent,
    /// A key whose value is passed over.
    Other,
}

impl Key {
    /// Returns a key and the place of its value; `None` is a surprise.
    #[inline(always)]
    pub fn read(view: View<'_>, at: usize) -> Option<(Key, usize)> {
        if let Some(known) = Key::known(view.text, at) {
            return Some(known);
        }
        let (key, value) = view.key(at)?;
        let key = match key {
            b"traceID" => Key::Trace,
            b"spanID" => Key::Span,
            b"operationName" => Key::Operation,
            b"startTime" => Key::Start,
            b"duration" => Key::Duration,
            b"processID" => Key::ProcessId,
            b"tags" => Key::Tags,
            b"references" => Key::References,
            b"logs" => Key::Logs,
            b"process" => Key::Process,
            b"parentSpanID" => Key::Parent,
            b"tag" => return None,
            _ if memchr::memchr(b'\\', key).is_some() => return None,
            _ => Key::Other,
        };
        Some((key, value))
    }

    /// Returns the key at a place and the place of its value, for keys written as exporters do, `"key":value` without
    /// spaces: recognised by their first eight bytes.
    #[inline(always)]
    fn known(text: &[u8], at: usize) -> Option<(Key, usize)> {
        const fn word(text: &[u8; 8]) -> u64 {
            u64::from_le_bytes(*text)
        }
        const TRACE: u64 = word(b"\"traceID");
        const SPAN: u64 = word(b"\"spanID\"");
        const OPERATION: u64 = word(b"\"operati");
        const START: u64 = word(b"\"startTi");
        const DURATION: u64 = word(b"\"duratio");
        const PROCESS: u64 = word(b"\"process");
        const TAGS: u64 = word(b"\"tags\":[");
        const REFERENCES: u64 = word(b"\"referen");
        const LOGS: u64 = word(b"\"logs\":[");
        const FLAGS: u64 = word(b"\"flags\":");
        const WARNINGS: u64 = word(b"\"warning");
        let bytes = text.get(at..)?.first_chunk::<17>()?;
        let load = |from: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[from + i]));
        let (key, length) = match load(0) {
            TRACE if bytes[8..10] == *b"\":" => (Key::Trace, 10),
            SPAN if bytes[8] == b':' => (Key::Span, 9),
            OPERATION if load(8) == word(b"onName\":") => (Key::Operation, 16),
            START if bytes[8..12] == *b"me\":" => (Key::Start, 12),
            DURATION if bytes[8..11] == *b"n\":" => (Key::Duration, 11),
            PROCESS if bytes[8..12] == *b"ID\":" => (Key::ProcessId, 12),
            TAGS => (Key::Tags, 7),
            REFERENCES if load(6) == word(b"ences\":[") => (Key::References, 13),
            LOGS => (Key::Logs, 7),
            FLAGS => (Key::Other, 8),
            WARNINGS if bytes[8..11] == *b"s\":" => (Key::Other, 11),
            _ => return None,
        };
        (bytes[length] > b' ').then_some((key, at + length))
    }
}
