//! The shape of documents: from the top of a text down to single spans, which come out as whole pieces of text.
//!
//! Any of the accepted documents is walked by one machine, since what a document is often shows late. An object is
//! *undecided* until a key tells a container from a span; containers are streamed, spans are handed over whole. Nothing
//! but one undecided object, or one span, is ever held.

use super::node::{Bad, Node};
use crate::bytes::window::{Framed, MAX_DEPTH, MAX_UNIT, Scan, TOO_DEEP, TOO_LONG, Window};
use crate::context::{Context, WalkEnd};
use crate::document;
use crate::formats::otlp::{self, OtlpReader};
use crate::formats::rows::RowReader;
use crate::formats::{Format, jaeger};
use crate::report::ProblemKind;
use crate::sink::Fail;
use lines::{BYTE_ORDER_MARK, Mark, Resync, byte_order_mark, next_byte};
use pathlight_trace::SetFull;
use serde::{Deserialize, Serialize};

mod lines;
mod rows;
mod spans;
pub(crate) mod split;
#[cfg(test)]
mod tests;

/// An open container.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
enum Frame {
    /// An array of documents.
    Documents,
    /// An object that is or holds documents.
    Document,
    /// An object that is left out.
    Spoiled,
    /// A Jaeger trace.
    Trace,
    /// The spans of a Jaeger trace.
    Spans,
    /// The processes of a Jaeger trace.
    Processes,
    /// An array of OTLP resources with their spans.
    Resources,
    /// An OTLP resource with its spans.
    Resource,
    /// An array of OTLP scopes with their spans.
    Scopes,
    /// An OTLP scope with its spans.
    Scope,
    /// The spans of an OTLP scope.
    ScopeSpans,
}

impl Frame {
    fn is_array(self) -> bool {
        matches!(self, Frame::Documents | Frame::Spans | Frame::Resources | Frame::Scopes | Frame::ScopeSpans)
    }
}

/// What may come next in the innermost container.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Expect {
    /// A value (or key), or the end of an empty container.
    First,
    /// A value (or key) after a comma.
    Another,
    /// A comma or the end.
    Comma,
}

/// What is done with a value once it is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Use {
    /// Passed over.
    Skip,
    /// Passed over for now: a member of an undecided object.
    Member,
    /// A bare value where a document should be.
    Scalar,
    /// An object that is a span, if it is like the one before it.
    Guess,
    Span,
    TraceId,
    Process,
    Errors,
    Resource,
    ScopeName,
    ScopeSpan,
}

/// Keys under which answers of servers and search engines hold documents.
const WRAPPERS: [&[u8]; 6] = [b"data", b"result", b"hits", b"_source", b"trace", b"traces"];

enum Step {
    On,
    Starved,
}

/// The walk through one text.
pub(crate) struct Walker {
    frames: Vec<Frame>,
    expect: Option<Expect>,
    /// Everything before is done.
    pos: u64,
    unit: Option<(Use, Scan)>,
    /// Start of the innermost object while it is undecided; its text is held from there.
    undecided: Option<u64>,
    /// Whether the last document was a single span, so that the next may be taken whole.
    guess: bool,
    /// Documents at the top begun so far, and where the last one begins.
    documents: u64,
    document: u64,
    /// Where the first document begins of those on the same line.
    first_of_line: u64,
    /// Whether the first document was without a line break so far, apart from [`line`](Self::line).
    one_line: bool,
    /// Where the line begins before whose first byte the walk stands; nobody has looked yet what stands there.
    line: Option<u64>,
    /// How far the line after that one was looked at in vain.
    looked: u64,
    /// Whether no text comes any more.
    is_ended: bool,
    /// Where the walk began.
    start: u64,
    /// Whether it only looks for split points, which are checked: lines are not looked at ahead.
    is_probe: bool,
    /// Looks for the next line that begins a document.
    resync: Option<Resync>,
    /// Nothing after this is read.
    dead: Option<u64>,
    /// Key of the value being read.
    key: Vec<u8>,
    /// Where a span begins that the fast reader did not understand, and how far the text reached then.
    surprise: (u64, u64),
    /// Reads by the reference way only.
    pub reference: bool,
    otlp: OtlpReader,
    /// Reads by a table, if the text is of a format that has one.
    pub rows: Option<RowReader>,
}

impl Walker {
    /// Returns a walk from an offset.
    pub fn new(pos: u64) -> Walker {
        Walker {
            frames: Vec::new(),
            expect: None,
            pos,
            unit: None,
            undecided: None,
            guess: false,
            documents: 0,
            document: pos,
            first_of_line: pos,
            one_line: true,
            line: None,
            looked: 0,
            is_ended: false,
            start: pos,
            is_probe: false,
            resync: None,
            dead: None,
            key: Vec::new(),
            surprise: (u64::MAX, 0),
            reference: false,
            otlp: OtlpReader::default(),
            rows: None,
        }
    }

    /// Returns the first offset that is still needed.
    pub fn keep_from(&self) -> u64 {
        let unit = match self.unit {
            Some((Use::Skip, scan)) => scan.next,
            Some((_, scan)) if scan.is_unlimited() => scan.next,
            Some((_, scan)) => scan.start,
            None => self.pos,
        };
        // With the byte before: it may be a line break.
        unit.min(self.undecided.unwrap_or(u64::MAX)).saturating_sub(1)
    }

    /// Walks as far as the window reaches.
    pub fn run(&mut self, window: &mut Window, cx: &mut Context<'_>) -> Result<(), SetFull> {
        while self.dead.is_none() {
            if let Step::Starved = self.step(window, cx)? {
                break;
            }
        }
        if self.dead.is_some() {
            self.otlp.finish_resource(cx.sink, cx.set)?;
            self.pos = window.end();
        }
        Ok(())
    }

    /// Ends the text; `end` is its length.
    pub fn finish(&mut self, window: &mut Window, cx: &mut Context<'_>) -> Result<WalkEnd, SetFull> {
        let end = window.end();
        self.is_ended = true;
        self.run(window, cx)?;
        if let Some((Use::Guess, scan)) = self.unit {
            // It does not end; if it is a container, what it holds counts.
            self.abandon_guess(scan);
            self.run(window, cx)?;
        }
        if self.frames.is_empty() && self.unit.is_some_and(|(what, _)| what == Use::Scalar) {
            // Only now it is known where a bare number ends.
            window.push(b" ");
            self.run(window, cx)?;
        }
        if let Some(at) = self.dead {
            return Ok(WalkEnd::Cut(at));
        }
        if let Some(resync) = self.resync {
            return Ok(if resync.is_strict { WalkEnd::Cut(resync.at) } else { WalkEnd::Whole });
        }
        if self.frames.is_empty() && self.unit.is_none() {
            return Ok(WalkEnd::Whole);
        }
        cx.sink.problems.note(ProblemKind::Truncated, end, || {
            "the text ends in the middle of a document; what was complete is kept".into()
        });
        cx.sink.building.begin(0);
        self.otlp.finish_resource(cx.sink, cx.set)?;
        Ok(WalkEnd::Cut(end))
    }

    fn step(&mut self, window: &mut Window, cx: &mut Context<'_>) -> Result<Step, SetFull> {
        if let Some(resync) = self.resync {
            self.otlp.finish_resource(cx.sink, cx.set)?;
            return Ok(self.find_line(resync, window));
        }
        if let Some((what, mut scan)) = self.unit.take() {
            let framed = window.frame(&mut scan);
            return self.framed(what, scan, framed, window, cx);
        }
        let Some(byte) = self.skip_space(window) else { return Ok(Step::Starved) };
        let Some(&frame) = self.frames.last() else {
            return Ok(self.begin_document(byte, window, cx));
        };
        if let Some(step) = self.begin_line(frame, byte, window, cx) {
            return Ok(step);
        }
        let close = if frame.is_array() { b']' } else { b'}' };
        match self.expect {
            Some(Expect::First | Expect::Comma) if byte == close => {
                self.pos += 1;
                self.close(frame, window, cx)?;
                Ok(Step::On)
            }
            Some(Expect::Comma) if byte == b',' => {
                self.pos += 1;
                self.expect = Some(Expect::Another);
                Ok(Step::On)
            }
            Some(Expect::Comma) => {
                let what = if frame.is_array() { "a comma or ]" } else { "a comma or }" };
                self.syntax_error(self.pos, &format!("{what} is missing"), cx);
                Ok(Step::On)
            }
            _ if frame.is_array() => {
                if frame == Frame::Spans && byte == b'{' && !self.spans(window, cx)? {
                    return Ok(Step::On);
                }
                self.begin_value(frame, byte, cx);
                Ok(Step::On)
            }
            _ => Ok(self.begin_member(frame, byte, window, cx)),
        }
    }

    /// Begins a value at the top of the text.
    fn begin_document(&mut self, byte: u8, window: &Window, cx: &mut Context<'_>) -> Step {
        // Files that were put together have a mark before each.
        match byte_order_mark(window.rest(self.pos), self.is_ended) {
            Mark::None => {}
            Mark::Whole => {
                self.pos += BYTE_ORDER_MARK.len() as u64;
                return Step::On;
            }
            Mark::Begun => return Step::Starved,
        }
        if self.line.is_some() {
            self.first_of_line = self.pos;
        }
        self.pass_line();
        self.documents += 1;
        self.document = self.pos;
        match byte {
            b'{' | b'[' => {
                self.one_line = true;
                self.begin_value(Frame::Documents, byte, cx);
            }
            b'"' | b'-' | b'0'..=b'9' | b't' | b'f' | b'n' => {
                self.unit = Some((Use::Scalar, Scan::new(self.pos, byte, 0)));
            }
            _ => self.syntax_error(self.pos, "this is no JSON", cx),
        }
        Step::On
    }

    /// Begins a value in an array.
    fn begin_value(&mut self, frame: Frame, byte: u8, cx: &mut Context<'_>) {
        let what = match (frame, byte) {
            (Frame::Documents, b'{') if self.guess => Use::Guess,
            (Frame::Documents, b'{') => {
                self.undecided = Some(self.pos);
                return self.descend(Frame::Document, cx);
            }
            (Frame::Documents, b'[') => return self.descend(Frame::Documents, cx),
            (Frame::Documents, _) => Use::Scalar,
            (Frame::Spans, _) => Use::Span,
            (Frame::Resources, b'{') => {
                cx.sink.saw(Format::Otlp);
                self.otlp.begin_resource();
                return self.descend(Frame::Resource, cx);
            }
            (Frame::Scopes, b'{') => {
                self.otlp.begin_scope();
                return self.descend(Frame::Scope, cx);
            }
            (Frame::ScopeSpans, _) => Use::ScopeSpan,
            _ => Use::Skip,
        };
        self.unit = Some((what, Scan::new(self.pos, byte, self.frames.len() as u32)));
    }

    fn descend(&mut self, frame: Frame, cx: &mut Context<'_>) {
        if self.frames.len() as u32 >= MAX_DEPTH {
            cx.sink
                .problems
                .note(ProblemKind::TooDeep, self.pos, || "documents nested deeper than 128".into());
            self.undecided = None;
            let first = if frame.is_array() { b'[' } else { b'{' };
            let mut scan = Scan::new(self.pos, first, 0);
            scan.unlimited();
            self.unit = Some((Use::Skip, scan));
            return;
        }
        self.frames.push(frame);
        self.expect = Some(Expect::First);
        self.pos += 1;
    }

    /// Returns a key, its colon and the first byte of its value.
    fn begin_member(&mut self, frame: Frame, byte: u8, window: &mut Window, cx: &mut Context<'_>) -> Step {
        if byte != b'"' {
            self.syntax_error(self.pos, "a key is missing", cx);
            return Step::On;
        }
        let mut scan = Scan::new(self.pos, byte, 0);
        let end = match window.frame(&mut scan) {
            Framed::Whole(end) => end,
            Framed::More => return Step::Starved,
            Framed::Bad(at) => {
                self.syntax_error(at, "a key does not end on its line", cx);
                return Step::On;
            }
            Framed::TooDeep(_) | Framed::TooLong | Framed::Line(_) => {
                self.syntax_error(self.pos, "a key is longer than 64 MiB", cx);
                return Step::On;
            }
        };
        let mut at = end;
        let Some(colon) = next_byte(window, &mut at) else { return Step::Starved };
        if colon != b':' {
            self.syntax_error(at, "a colon is missing", cx);
            return Step::On;
        }
        at += 1;
        let Some(first) = next_byte(window, &mut at) else { return Step::Starved };
        if matches!(first, b'{' | b'[') && window.begins_line(at) {
            match self.begins_document(at, window) {
                None => return Step::Starved,
                Some(true) => {
                    self.broken_line(at, cx);
                    return Step::On;
                }
                Some(false) => self.one_line = false,
            }
        }
        self.key.clear();
        let quoted = window.text(self.pos, end);
        if memchr::memchr(b'\\', quoted).is_some() {
            let decoded = super::node::decode(quoted);
            self.key.extend(decoded.iter().flat_map(|t| t.text.bytes()));
        } else {
            self.key.extend_from_slice(&quoted[1..quoted.len() - 1]);
        }
        self.pos = at;
        self.choose(frame, first, cx);
        Step::On
    }

    /// Chooses what is done with the value of a key.
    fn choose(&mut self, frame: Frame, first: u8, cx: &mut Context<'_>) {
        let key = self.key.as_slice();
        if let (Frame::Document, Some(rows)) = (frame, &self.rows) {
            let is_within = matches!(first, b'[' | b'{') && rows.is_within(key);
            return self.choose_in_rows(is_within, first, cx);
        }
        let what = match (frame, key, first) {
            (Frame::Document, b"spans", b'[') if self.undecided.is_some() => {
                return self.restart_as(Frame::Trace, cx);
            }
            (Frame::Document, _, b'[') if otlp::is_scopes(key) && self.undecided.is_some() => {
                self.otlp.note_spelling(key);
                cx.sink.saw(Format::Otlp);
                self.otlp.begin_resource();
                return self.restart_as(Frame::Resource, cx);
            }
            (Frame::Document, b"resourceSpans" | b"batches" | b"resource_spans", b'[') => {
                self.undecided = None;
                cx.sink.saw(Format::Otlp);
                return self.descend(Frame::Resources, cx);
            }
            (Frame::Document, _, b'[' | b'{') if WRAPPERS.contains(&key) => {
                return self.descend_into_wrapper(first, cx);
            }
            (Frame::Document, b"errors", b'[') if self.undecided.is_none() => Use::Errors,
            (Frame::Document, _, _) if self.undecided.is_some() => Use::Member,
            (Frame::Trace, b"traceID", _) => Use::TraceId,
            (Frame::Trace, b"spans", b'[') => return self.descend(Frame::Spans, cx),
            (Frame::Trace, b"processes", b'{') => return self.descend(Frame::Processes, cx),
            (Frame::Trace, b"spans" | b"processes", b'{' | b'[' | b'"' | b'0'..=b'9' | b't' | b'f') => {
                let bad = Bad::wrong_type(
                    self.pos,
                    format!("{} of a trace has the wrong type", String::from_utf8_lossy(key)),
                );
                self.spoil(&bad, ProblemKind::WrongType, cx);
                Use::Skip
            }
            (Frame::Processes, _, _) => Use::Process,
            (Frame::Resource, b"resource", b'{') => Use::Resource,
            (Frame::Resource, _, b'[') if otlp::is_scopes(key) => {
                self.otlp.note_spelling(key);
                return self.descend(Frame::Scopes, cx);
            }
            (Frame::Scope, b"scope" | b"instrumentationLibrary" | b"instrumentation_library", b'{') => {
                Use::ScopeName
            }
            (Frame::Scope, b"spans", b'[') => return self.descend(Frame::ScopeSpans, cx),
            _ => Use::Skip,
        };
        self.unit = Some((what, Scan::new(self.pos, first, self.frames.len() as u32)));
    }

    /// Reads the undecided object again from its start, now that it is known what it is.
    fn restart_as(&mut self, frame: Frame, cx: &mut Context<'_>) {
        let Some(start) = self.undecided.take() else { return };
        if frame == Frame::Trace {
            cx.sink.is_known = true;
            cx.sink.building.begin(start);
        }
        self.guess = false;
        if let Some(last) = self.frames.last_mut() {
            *last = frame;
        }
        self.pos = start + 1;
        self.expect = Some(Expect::First);
    }

    /// Ends the innermost container; its closing bracket is passed.
    fn close(&mut self, frame: Frame, window: &mut Window, cx: &mut Context<'_>) -> Result<(), SetFull> {
        self.frames.pop();
        self.expect = Some(Expect::Comma);
        match frame {
            Frame::Trace => cx.sink.finish_trace(cx.set)?,
            Frame::Resource => self.otlp.finish_resource(cx.sink, cx.set)?,
            Frame::Scope => self.otlp.finish_scope(cx.sink, cx.set)?,
            Frame::Document => {
                if let Some(start) = self.undecided.take() {
                    let node = Node { text: window.text(start, self.pos), at: start };
                    let taken = document::take(cx, node, self.rows.as_mut());
                    self.guess = self.note_failure(taken, Use::Guess, cx)?.unwrap_or(false);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Handles a value whose end was looked for.
    fn framed(
        &mut self,
        what: Use,
        mut scan: Scan,
        framed: Framed,
        window: &mut Window,
        cx: &mut Context<'_>,
    ) -> Result<Step, SetFull> {
        let too_long = |at| Bad::syntax(at, TOO_LONG);
        match framed {
            Framed::Whole(end) => {
                if !scan.is_unlimited() {
                    if end - scan.start > MAX_UNIT {
                        self.spoil(&too_long(scan.start), ProblemKind::TooLong, cx);
                    } else {
                        self.pos = end;
                        self.expect = Some(Expect::Comma);
                        return self.take(what, scan, end, window, cx);
                    }
                }
                self.pos = end;
                self.expect = Some(Expect::Comma);
                Ok(Step::On)
            }
            Framed::More => {
                if what == Use::Guess && scan.next - scan.start > 1 << 20 {
                    self.abandon_guess(scan);
                    return Ok(Step::On);
                }
                self.unit = Some((what, scan));
                Ok(Step::Starved)
            }
            _ if what == Use::Guess => {
                self.abandon_guess(scan);
                Ok(Step::On)
            }
            Framed::Line(at) => {
                let begins = self.begins_document(at, window);
                if begins == Some(true) {
                    self.broken_line(at, cx);
                    return Ok(Step::On);
                }
                if begins == Some(false) {
                    self.one_line = false;
                    scan.pass_line(at);
                }
                self.unit = Some((what, scan));
                Ok(if begins.is_none() { Step::Starved } else { Step::On })
            }
            Framed::Bad(at) => {
                self.syntax_error(at, "a control character in a string, or a stray backslash", cx);
                Ok(Step::On)
            }
            Framed::TooDeep(at) => {
                self.spoil(&Bad::syntax(at, TOO_DEEP), ProblemKind::TooDeep, cx);
                scan.unlimited();
                self.unit = Some((what, scan));
                Ok(Step::On)
            }
            Framed::TooLong => {
                self.spoil(&too_long(scan.start), ProblemKind::TooLong, cx);
                scan.unlimited();
                self.unit = Some((what, scan));
                Ok(Step::On)
            }
        }
    }

    /// Walks into an object instead of taking it whole.
    fn abandon_guess(&mut self, scan: Scan) {
        self.unit = None;
        self.guess = false;
        self.undecided = Some(scan.start);
        self.frames.push(Frame::Document);
        self.expect = Some(Expect::First);
        self.pos = scan.start + 1;
    }

    /// Uses a whole value.
    fn take(
        &mut self,
        what: Use,
        scan: Scan,
        end: u64,
        window: &mut Window,
        cx: &mut Context<'_>,
    ) -> Result<Step, SetFull> {
        if let Use::Skip | Use::Member = what {
            // Its text may be forgotten already.
            return Ok(Step::On);
        }
        let node = Node { text: window.text(scan.start, end), at: scan.start };
        if let Some(judge) = cx.judge.as_deref_mut() {
            let needs = match what {
                Use::Span => Some(&jaeger::NEEDS),
                Use::ScopeSpan => Some(&otlp::NEEDS),
                Use::Scalar | Use::Guess | Use::Errors => None,
                _ => return Ok(Step::On),
            };
            if let Some(needs) = needs {
                let judged = judge.record(needs, node).map_err(Fail::Bad);
                self.note_failure(judged, what, cx)?;
                return Ok(Step::On);
            }
        }
        let taken = match what {
            Use::Skip | Use::Member => Ok(()),
            Use::Span => {
                if cx.sink.building.is_bad {
                    return Ok(Step::On);
                }
                let is_odd = self.surprise.0 == scan.start && end <= self.surprise.1;
                let fast = match is_odd || !node.is_object() || !self.may_be_fast(cx) {
                    true => None,
                    false => cx.scratch.fast.span_of_trace(cx.sink, cx.set, node.text, scan.start),
                };
                match fast {
                    None => jaeger::span_of_trace(cx.sink, cx.set, node).map_err(Fail::Bad),
                    Some((_, Ok(()))) => return Ok(Step::On),
                    Some((_, Err(bad))) => Err(Fail::Bad(bad)),
                }
            }
            Use::Process => match cx.sink.building.is_bad || node.is_null() {
                true => Ok(()),
                false => self.process(node, cx).map_err(Fail::Bad),
            },
            Use::TraceId => {
                match jaeger::trace_id(cx.sink, cx.set, Some(node).filter(|n| !n.is_null()), "traceID") {
                    Ok(id) => {
                        cx.sink.building.id = Some(id);
                        if !id.is_none() && !cx.sink.wants(id, cx.set) {
                            cx.sink.building.discard();
                        }
                        Ok(())
                    }
                    Err(bad) => Err(Fail::Bad(bad)),
                }
            }
            Use::Errors => {
                document::note_server_error(cx.sink, node);
                Ok(())
            }
            Use::Resource => self.otlp.resource(cx.sink, cx.set, node).map_err(Fail::Bad),
            Use::ScopeName => self.otlp.scope(cx.sink, cx.set, node).map_err(Fail::Bad),
            Use::ScopeSpan => self.otlp.span(cx.sink, cx.set, node),
            Use::Scalar => {
                if serde_json::from_slice::<serde::de::IgnoredAny>(node.text).is_err() {
                    Err(Bad::syntax(node.at, "this is no JSON").into())
                } else {
                    cx.note_other(node.at, || format!("{} where a trace should be", node.describe()));
                    Ok(())
                }
            }
            Use::Guess => match document::holds_documents(node, self.rows.as_ref()) {
                true => {
                    self.abandon_guess(scan);
                    return Ok(Step::On);
                }
                false => {
                    let taken = document::take(cx, node, self.rows.as_mut());
                    self.guess = self.note_failure(taken, what, cx)?.unwrap_or(false);
                    return Ok(Step::On);
                }
            },
        };
        self.note_failure(taken, what, cx)?;
        Ok(Step::On)
    }

    /// Reads an entry of the process table of the trace under construction; the key is its name.
    fn process(&mut self, node: Node<'_>, cx: &mut Context<'_>) -> Result<(), Bad> {
        let process = match self.reference {
            true => jaeger::process(cx.sink, cx.set, node)?,
            false => cx.scratch.fast.process(cx.sink, cx.set, node)?,
        };
        cx.sink.building.define_process(&self.key, process);
        Ok(())
    }

    /// Returns a value; notes a failure to read it where it belongs, and returns `None`.
    fn note_failure<T>(
        &mut self,
        taken: Result<T, Fail>,
        what: Use,
        cx: &mut Context<'_>,
    ) -> Result<Option<T>, SetFull> {
        match taken {
            Ok(value) => return Ok(Some(value)),
            Err(Fail::Full(full)) => return Err(full),
            Err(Fail::Bad(bad)) if bad.is_syntax => self.syntax_error(bad.at, &bad.what, cx),
            Err(Fail::Bad(bad)) => match what {
                Use::Span | Use::Process | Use::TraceId => self.spoil(&bad, ProblemKind::WrongType, cx),
                _ => cx.sink.problems.note(ProblemKind::WrongType, bad.at, || bad.what.clone()),
            },
        }
        Ok(None)
    }

    /// Leaves out the trace (or the document, or the span) a value belongs to.
    fn spoil(&mut self, bad: &Bad, kind: ProblemKind, cx: &mut Context<'_>) {
        cx.sink.problems.note(kind, bad.at, || bad.what.clone());
        if self.frames.contains(&Frame::Trace) {
            cx.sink.building.discard();
        } else if self.undecided.take().is_some()
            && let Some(last) = self.frames.last_mut()
        {
            *last = Frame::Spoiled;
        }
    }
}
