//! OpenTelemetry protocol as protobuf: one message of resources (`TracesData`, `ExportTraceServiceRequest`, Tempo's `Trace`,
//! which are alike), or many, each with its length before it (the collector's file exporter: four bytes; `protodelim` and
//! others: a varint).
//!
//! Messages around spans are walked as they come. A span, a resource or a scope is taken whole and written as the JSON of the
//! same protocol, which [`otlp`] reads: what a field means stands there once.

use super::Format;
use super::otlp::{self, OtlpReader};
use crate::bytes::protobuf::{Broken, Field, Message, Wire, field, varint, write};
use crate::bytes::window::{MAX_UNIT, TOO_DEEP, TOO_LONG};
use crate::context::{Context, PIECE, Stop, WalkEnd};
use crate::json::node::{Bad, Node};
use crate::report::ProblemKind;
use crate::sink::Fail;
use pathlight_trace::SetFull;

/// Distinguishes messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Framing {
    /// The input is one message.
    One,
    /// Before each stands its length as a varint.
    Varint,
    /// Before each stands its length in four bytes, the highest first.
    Fixed,
}

/// Tells from the first bytes whether they are OTLP, and how it is framed. Text is never taken for it: up to the first key
/// of an attribute every byte has to fit.
pub(crate) fn sniff(head: &[u8]) -> Option<Framing> {
    if is_message(head, u64::MAX) {
        return Some(Framing::One);
    }
    if let Some((length, rest)) = head.split_first_chunk::<4>()
        && is_message(rest, u64::from(u32::from_be_bytes(*length)))
    {
        return Some(Framing::Fixed);
    }
    let (length, used) = varint(head).ok()?;
    is_message(&head[used..], length).then_some(Framing::Varint)
}

/// Returns whether bytes begin with a list of resources, in a message of this length.
fn is_message(bytes: &[u8], mut room: u64) -> bool {
    // Tags that may come first in a list of resources, in a resource with its spans, in a resource, in an attribute.
    const FIRST: [&[u8]; 4] = [&[0x0a], &[0x0a, 0x12, 0x1a], &[0x0a, 0x10, 0x1a], &[0x0a]];
    let mut rest = bytes;
    while let Some(after) = rest.strip_prefix(b"\x0a\x00") {
        // A resource with nothing in it; another follows.
        (room, rest) = (room.saturating_sub(2), after);
    }
    for tags in FIRST {
        let Some((tag, after)) = rest.split_first().filter(|(tag, _)| tags.contains(tag)) else {
            return false;
        };
        if *tag != 0x0a {
            // No text has this byte.
            return true;
        }
        let Ok((length, used)) = varint(after) else { return false };
        if length.saturating_add(used as u64) >= room {
            return false;
        }
        (room, rest) = (length, &after[used..]);
        if length == 0 {
            // An empty resource; its spans follow.
            return rest.first() == Some(&0x12);
        }
    }
    rest.first().is_some_and(u8::is_ascii_graphic)
}

/// A message that is walked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    Message,
    Resource,
    Scope,
}

/// A message that is taken whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Unit {
    Resource,
    Scope,
    Span,
}

/// OTLP being read.
pub(crate) struct Protobuf {
    framing: Framing,
    held: Vec<u8>,
    /// How many of the bytes held are read.
    read: usize,
    /// Offset of the first byte held.
    base: u64,
    /// Open messages with the offsets of their ends.
    open: Vec<(Level, u64)>,
    /// Everything before this offset is passed over.
    skip_to: u64,
    /// Nothing after this is read.
    dead: Option<u64>,
    json: Vec<u8>,
    otlp: OtlpReader,
}

impl Protobuf {
    pub fn new(framing: Framing) -> Protobuf {
        let open = if framing == Framing::One { vec![(Level::Message, u64::MAX)] } else { Vec::new() };
        Protobuf {
            framing,
            held: Vec::new(),
            read: 0,
            base: 0,
            open,
            skip_to: 0,
            dead: None,
            json: Vec::new(),
            otlp: OtlpReader::default(),
        }
    }

    fn at(&self) -> u64 {
        self.base + self.read as u64
    }

    /// Takes bytes.
    pub fn feed(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        cx.sink.saw(Format::OtlpProtobuf);
        for mut piece in bytes.chunks(PIECE) {
            if self.held.is_empty() {
                // What is passed over need not be held.
                let skip = self.skip_to.saturating_sub(self.base).min(piece.len() as u64);
                self.base += skip;
                piece = &piece[skip as usize..];
            }
            if self.dead.is_some() {
                break;
            }
            if self.held.try_reserve(piece.len()).is_err() {
                return Err(Stop::Full(SetFull));
            }
            self.held.extend_from_slice(piece);
            while self.dead.is_none() && self.step(cx)? {}
            let read = std::mem::take(&mut self.read);
            self.held.drain(..read);
            self.base += read as u64;
        }
        Ok(())
    }

    /// Reads one field around spans, or ends a message; whether it may go on.
    fn step(&mut self, cx: &mut Context<'_>) -> Result<bool, SetFull> {
        let skip = self.skip_to.saturating_sub(self.at()).min((self.held.len() - self.read) as u64);
        self.read += skip as usize;
        let at = self.at();
        if at < self.skip_to {
            return Ok(false);
        }
        let Some(&(level, end)) = self.open.last() else { return Ok(self.begin_message(cx)) };
        if at == end {
            self.close(level, cx)?;
            return Ok(true);
        }
        let rest = &self.held[self.read..];
        let found = match field(rest) {
            Err(Wire::More) if at + (rest.len() as u64) < end => return Ok(false),
            found => found,
        };
        let whole = found.ok().and_then(|found| {
            let value_at = at + found.head as u64;
            (value_at <= end && found.length <= end - value_at).then_some((found, value_at))
        });
        let Some((found, value_at)) = whole else {
            self.bad(at, cx);
            return Ok(true);
        };
        let unit = match (level, found.number, found.wire) {
            (Level::Message, 1, 2) => return Ok(self.descend(Level::Resource, &found, value_at)),
            // Spans stood below 1000 for a while.
            (Level::Resource, 2 | 1000, 2) => return Ok(self.descend(Level::Scope, &found, value_at)),
            (Level::Resource, 1, 2) => Unit::Resource,
            (Level::Scope, 1, 2) => Unit::Scope,
            (Level::Scope, 2, 2) => Unit::Span,
            _ => {
                self.skip_to = value_at + found.length;
                return Ok(true);
            }
        };
        if found.length > MAX_UNIT {
            cx.sink.problems.note(ProblemKind::TooLong, at, || TOO_LONG.into());
            self.skip_to = value_at + found.length;
            return Ok(true);
        }
        let start = self.read + found.head;
        let Some(value) = self.held.get(start..start + found.length as usize) else { return Ok(false) };
        let mut json = std::mem::take(&mut self.json);
        let taken = take(unit, value, value_at, &mut self.otlp, &mut json, cx);
        self.json = json;
        self.read = start + found.length as usize;
        match taken {
            Ok(()) => {}
            Err(Fail::Full(full)) => return Err(full),
            Err(Fail::Bad(bad)) => {
                let kind = if bad.is_syntax { ProblemKind::BadSyntax } else { ProblemKind::WrongType };
                cx.sink.problems.note(kind, bad.at, || bad.what.clone());
            }
        }
        Ok(true)
    }

    /// Begins the next of many messages.
    fn begin_message(&mut self, cx: &mut Context<'_>) -> bool {
        let (at, rest) = (self.at(), &self.held[self.read..]);
        if rest.is_empty() {
            return false;
        }
        let length = match self.framing {
            Framing::Fixed => match rest.first_chunk::<4>() {
                Some(length) => Ok((u64::from(u32::from_be_bytes(*length)), 4)),
                None => Err(Wire::More),
            },
            _ => varint(rest),
        };
        match length {
            Ok((length, used)) if length < 1 << 62 => {
                self.read += used;
                self.open.push((Level::Message, at + used as u64 + length));
                true
            }
            Err(Wire::More) => false,
            _ => {
                self.bad(at, cx);
                true
            }
        }
    }

    fn descend(&mut self, level: Level, found: &Field, value_at: u64) -> bool {
        match level {
            Level::Scope => self.otlp.begin_scope(),
            _ => self.otlp.begin_resource(),
        }
        self.read += found.head;
        self.open.push((level, value_at + found.length));
        true
    }

    fn close(&mut self, level: Level, cx: &mut Context<'_>) -> Result<(), SetFull> {
        self.open.pop();
        match level {
            Level::Message => Ok(()),
            Level::Resource => self.otlp.finish_resource(cx.sink, cx.set),
            Level::Scope => self.otlp.finish_scope(cx.sink, cx.set),
        }
    }

    /// Passes over the rest of the innermost message. If nobody knows where that ends, nothing more is read.
    fn bad(&mut self, at: u64, cx: &mut Context<'_>) {
        cx.sink.problems.note(ProblemKind::BadSyntax, at, || "this is no protobuf".into());
        match self.open.last() {
            Some(&(_, end)) if end != u64::MAX => self.skip_to = end,
            _ => self.dead = Some(at),
        }
    }

    /// Ends the input.
    pub fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, Stop> {
        let end = self.base + self.held.len() as u64;
        let is_whole =
            self.held.is_empty() && end >= self.skip_to && self.open.iter().all(|o| o.1 == u64::MAX);
        self.otlp.finish_resource(cx.sink, cx.set)?;
        if let Some(at) = self.dead {
            return Ok(WalkEnd::Cut(at));
        }
        if is_whole {
            return Ok(WalkEnd::Whole);
        }
        cx.sink.problems.note(ProblemKind::Truncated, end, || {
            "the data ends in the middle of a message; what was complete is kept".into()
        });
        Ok(WalkEnd::Cut(end))
    }
}

/// Uses a whole message.
fn take(
    unit: Unit,
    value: &[u8],
    at: u64,
    otlp: &mut OtlpReader,
    json: &mut Vec<u8>,
    cx: &mut Context<'_>,
) -> Result<(), Fail> {
    json.clear();
    let message = match unit {
        Unit::Resource => Message::Resource,
        Unit::Scope => Message::Scope,
        Unit::Span => Message::Span,
    };
    match write(message, value, false, json) {
        Ok(()) => {}
        Err(Broken::Syntax) => return Err(Bad::syntax(at, "a message that is no protobuf").into()),
        Err(Broken::TooDeep) => {
            cx.sink.problems.note(ProblemKind::TooDeep, at, || TOO_DEEP.into());
            return Ok(());
        }
    }
    let node = Node { text: json, at };
    match unit {
        Unit::Resource => Ok(otlp.resource(cx.sink, cx.set, node)?),
        Unit::Scope => Ok(otlp.scope(cx.sink, cx.set, node)?),
        Unit::Span => match &mut cx.judge {
            Some(judge) => judge.record(&otlp::NEEDS, node).map(|_| ()).map_err(Fail::Bad),
            None => otlp.span(cx.sink, cx.set, node),
        },
    }
}
