//! One layer of an input: text, or an archive with more inputs inside.

use super::Masks;
use super::sniff::{self, HEAD, Kind};
use super::utf16::Utf16;
use super::window::Window;
use super::zip::Zip;
use crate::formats::columns::{self, Columns};
use crate::formats::foreign;
use crate::formats::otlp_protobuf::Protobuf;
use crate::formats::saved_report::SavedReport;
use crate::json::walk::{WalkEnd, Walker};
use crate::judge::{Judge, Refusal, Unit};
use crate::state::State;
use crate::{HEAD_BYTES, ProblemKind, SplitPoint, Unpack};
use flate2::{Decompress, FlushDecompress, Status};
use pathlight_trace::{SetFull, TraceSet};

/// Text is taken in pieces of this size, so that what is worked on stays in the processor's cache.
pub(crate) const PIECE: usize = 64 << 10;
/// A trial takes this many at once: little more than its first records, which are read twice.
const TRIAL_PIECE: usize = 4 << 10;
/// Greatest depth of archives inside archives.
const MAX_LAYERS: u32 = 4;

/// What a source needs while it reads.
pub(crate) struct Context<'a> {
    pub state: &'a mut State,
    pub set: &'a mut TraceSet,
    pub reference: bool,
    pub masks: Masks,
}

/// Reason why reading a source stopped.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// The memory for traces is full.
    Full(SetFull),
    /// The format is not recognised; the first bytes, and what they may be.
    Unknown(Vec<u8>, &'static str),
    /// A summary of traces that cannot be unpacked, and why.
    Summary(String),
    /// Its first records are no spans.
    Refused(Refusal),
}

impl From<SetFull> for Stop {
    fn from(full: SetFull) -> Stop {
        Stop::Full(full)
    }
}

/// An input or a part of one.
#[derive(Default)]
pub(crate) struct Source {
    head: Vec<u8>,
    opened: Opened,
    layer: u32,
}

#[derive(Default)]
enum Opened {
    /// Too few bytes read to recognise the format.
    #[default]
    No,
    /// It is looked at whether it holds spans.
    Trial(Box<Trial>),
    Text(Box<Text>),
    Gzip(Box<Gzip>),
    Zip(Box<Zip>),
    Columns(Columns),
    Protobuf(Box<Protobuf>),
    /// An HTML page, which may be a saved report.
    SavedReport(Box<SavedReport>),
    Utf16(Box<Utf16>),
    /// A summary of traces, as far as it was read.
    Summary(Vec<u8>, Unpack),
}

/// A look at the first records, before anything is read.
struct Trial {
    kind: Kind,
    /// What was looked at.
    held: Vec<u8>,
    /// Reads without keeping anything.
    source: Source,
    state: State,
    set: TraceSet,
}

/// A text being read.
struct Text {
    window: Window,
    walker: Walker,
}

/// A gzip file, of one or more members.
struct Gzip {
    inflate: Decompress,
    out: Vec<u8>,
    inner: Source,
    state: GzipState,
    taken: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GzipState {
    /// Inside a member.
    Member,
    /// Between members, or after the last.
    Between,
    /// Damaged, or followed by something else: the rest is not read.
    Done,
}

impl Source {
    /// Returns an input inside `layer` archives.
    pub fn new(layer: u32) -> Source {
        Source { layer, ..Source::default() }
    }

    /// Returns a source for text from a split point on.
    pub fn from_split_point(point: &SplitPoint, reference: bool, masks: Masks) -> Source {
        let text = Text::new(Window::default(), point.at, Walker::from_split_point(point), reference, masks);
        Source { opened: Opened::Text(Box::new(text)), ..Source::default() }
    }

    /// Returns whether this reader has reached the split point in the state that the next reader assumed.
    pub fn meets(&self, point: &SplitPoint, state: &State) -> bool {
        matches!(&self.opened, Opened::Text(text) if text.walker.meets(point, &state.building))
    }

    /// Takes bytes.
    pub fn feed(&mut self, mut bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        if matches!(self.opened, Opened::No) {
            if self.head.len() + bytes.len() < HEAD {
                self.head.extend_from_slice(bytes);
                return Ok(());
            }
            if self.head.is_empty() {
                let skip = self.open(&bytes[..HEAD], cx)?;
                bytes = &bytes[skip..];
            } else {
                self.open_head(&mut bytes, cx)?;
            }
        }
        self.pass(bytes, cx)
    }

    /// Returns memory of this many bytes, of [`PIECE`] at most, for the next bytes; `None` if they have to be
    /// [fed](Self::feed).
    pub fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        match &mut self.opened {
            Opened::Text(text) => text.window.room(bytes.min(PIECE)),
            _ => None,
        }
    }

    /// Takes so many bytes that were written where [`room`](Self::room) is.
    pub fn commit(&mut self, bytes: usize, cx: &mut Context<'_>) -> Result<(), Stop> {
        match &mut self.opened {
            Opened::Text(text) => text.commit(bytes, cx).map_err(Stop::Full),
            _ => Ok(()),
        }
    }

    /// Completes the head from `bytes`, opens the source and passes the head on.
    fn open_head(&mut self, bytes: &mut &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        let (more, rest) = bytes.split_at(bytes.len().min(HEAD - self.head.len()));
        self.head.extend_from_slice(more);
        *bytes = rest;
        let head = std::mem::take(&mut self.head);
        let skip = self.open(&head, cx)?;
        self.pass(&head[skip..], cx)
    }

    /// Recognises the format; returns how many bytes to skip.
    fn open(&mut self, head: &[u8], cx: &mut Context<'_>) -> Result<usize, Stop> {
        let refuse = |what| Err(Stop::Unknown(head[..head.len().min(HEAD)].to_vec(), what));
        let kind = sniff::sniff(head);
        match kind {
            Kind::Text(_) | Kind::Blank(_) | Kind::Protobuf(_) => {
                self.opened = match cx.state.is_recognised {
                    true => Opened::records(kind, cx),
                    false => Opened::Trial(Box::new(Trial::new(kind, cx))),
                };
                return Ok(kind.mark());
            }
            Kind::Gzip | Kind::Zip if self.layer >= MAX_LAYERS => {
                return refuse("archives within archives, more than four deep");
            }
            Kind::Gzip => {
                self.opened = Opened::Gzip(Box::new(Gzip {
                    inflate: Decompress::new_gzip(15),
                    out: Vec::new(),
                    inner: Source::new(self.layer + 1),
                    state: GzipState::Member,
                    taken: 0,
                }));
                cx.state.saw_packing("gzip");
            }
            Kind::Zip => {
                self.opened = Opened::Zip(Box::new(Zip::new(self.layer)));
                cx.state.saw_packing("zip");
            }
            Kind::Utf16(_) if self.layer >= MAX_LAYERS => {
                return refuse("archives within archives, more than four deep");
            }
            Kind::Utf16(order) if !self.open_saved_report(head, "UTF-16 text") => {
                self.opened = Opened::Utf16(Box::new(Utf16::new(order, self.layer + 1)));
                cx.state.saw_packing("utf-16");
            }
            Kind::Columns => {
                self.opened = Opened::Columns(Columns::default());
                return Ok(columns::MAGIC.len());
            }
            Kind::Summary => match cx.state.unpack {
                Some(unpack) => self.opened = Opened::Summary(Vec::new(), unpack),
                None => return refuse("a summary of traces, which pathlight show, trend and check read"),
            },
            Kind::Other(what) if !self.open_saved_report(head, what) => return refuse(what),
            Kind::Unknown if !self.open_saved_report(head, "") => {
                return match foreign::of(head) {
                    Some(foreign) => Err(Stop::Refused(Refusal::foreign(foreign))),
                    None => refuse(""),
                };
            }
            // A saved report.
            Kind::Utf16(_) | Kind::Other(_) | Kind::Unknown => {}
        }
        Ok(0)
    }

    /// Opens an HTML page, which may be a saved report; returns whether it is a page. `what` is what it may be if it turns
    /// out to be none.
    fn open_saved_report(&mut self, head: &[u8], what: &'static str) -> bool {
        let report = SavedReport::of(head, what, self.layer).filter(|_| self.layer < MAX_LAYERS);
        report.map(|report| self.opened = Opened::SavedReport(Box::new(report))).is_some()
    }

    fn pass(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        match &mut self.opened {
            Opened::No => Ok(()),
            Opened::Trial(trial) => {
                let used = trial.feed(bytes, cx)?;
                if !trial.is_done() {
                    return Ok(());
                }
                self.decide(cx)?;
                self.pass(&bytes[used..], cx)
            }
            Opened::Text(text) => text.feed(bytes, cx).map_err(Stop::Full),
            Opened::Gzip(gzip) => gzip.feed(bytes, cx),
            Opened::Zip(zip) => zip.feed(bytes, cx),
            Opened::Utf16(text) => text.feed(bytes, cx),
            Opened::Columns(columns) => columns.feed(bytes, cx),
            Opened::Protobuf(protobuf) => protobuf.feed(bytes, cx),
            Opened::SavedReport(report) => report.feed(bytes, cx),
            Opened::Summary(held, _) => {
                held.try_reserve(bytes.len()).map_err(|_| SetFull)?;
                held.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Ends the trial, and reads what it has seen if that is spans.
    fn decide(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        let Opened::Trial(mut trial) = std::mem::take(&mut self.opened) else { return Ok(()) };
        cx.state.windows.append(&mut trial.windows());
        cx.state.unit = trial.verdict().map_err(Stop::Refused)?.map(|(unit, at, text)| {
            cx.state.problems.note(ProblemKind::OtherUnit, at, || text);
            unit
        });
        self.opened = Opened::records(trial.kind, cx);
        self.pass(&trial.held, cx)
    }

    /// Decides by what was seen, however little that is, and reads it.
    pub fn stop(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        match &mut self.opened {
            Opened::Trial(_) => self.decide(cx),
            Opened::Gzip(gzip) => gzip.inner.stop(cx),
            Opened::Zip(zip) => zip.inner.as_mut().map_or(Ok(()), |inner| inner.stop(cx)),
            Opened::Utf16(text) => text.inner.stop(cx),
            _ => Ok(()),
        }
    }

    /// Finishes reading; returns whether the input was complete.
    pub fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, Stop> {
        if matches!(self.opened, Opened::No) && !self.head.is_empty() {
            self.open_head(&mut &[][..], cx)?;
        }
        if let Opened::Trial(trial) = &mut self.opened {
            trial.finish(cx)?;
            self.decide(cx)?;
        }
        match &mut self.opened {
            Opened::No | Opened::Trial(_) => Ok(WalkEnd::Whole),
            Opened::Text(text) => {
                let end = text.walker.finish(&mut text.window, cx.state, cx.set);
                cx.state.windows.push(std::mem::take(&mut text.window));
                Ok(end?)
            }
            Opened::Gzip(gzip) => gzip.finish(cx),
            Opened::Zip(zip) => zip.finish(cx),
            Opened::Utf16(text) => text.finish(cx),
            Opened::Columns(columns) => Ok(columns.finish()),
            Opened::Protobuf(protobuf) => protobuf.finish(cx),
            Opened::SavedReport(report) => report.finish(cx),
            Opened::Summary(held, unpack) => {
                let summary = unpack(&std::mem::take(held)).map_err(Stop::Summary)?;
                cx.state.add_summary(summary, cx.set.loading_group);
                Ok(WalkEnd::Whole)
            }
        }
    }
}

impl Opened {
    /// Returns a reader of a format whose records are looked at before.
    fn records(kind: Kind, cx: &mut Context<'_>) -> Opened {
        if let Kind::Protobuf(framing) = kind {
            return Opened::Protobuf(Box::new(Protobuf::new(framing)));
        }
        // A byte order mark counts in offsets.
        let at = kind.mark() as u64;
        let window = cx.state.windows.pop().unwrap_or_default();
        let text = Text::new(window, at, Walker::new(at), cx.reference, cx.masks);
        Opened::Text(Box::new(text))
    }
}

impl Trial {
    fn new(kind: Kind, cx: &mut Context<'_>) -> Trial {
        let mut state = State::judging();
        state.windows = std::mem::take(&mut cx.state.windows);
        let mut trial =
            Trial { kind, held: Vec::new(), source: Source::default(), state, set: TraceSet::new() };
        let Context { reference, masks, .. } = *cx;
        let mut own = Context { state: &mut trial.state, set: &mut trial.set, reference, masks };
        trial.source.opened = Opened::records(kind, &mut own);
        trial
    }

    /// Returns whether enough was seen: a split point is looked for in the same bytes ([`is_plain`]).
    fn is_done(&self) -> bool {
        self.room() == 0 || self.state.judge.as_ref().is_none_or(Judge::is_done)
    }

    fn room(&self) -> usize {
        (HEAD_BYTES as usize).saturating_sub(self.kind.mark() + self.held.len())
    }

    /// Looks at bytes, and returns at how many.
    fn feed(&mut self, bytes: &[u8], cx: &Context<'_>) -> Result<usize, Stop> {
        let mut used = 0;
        while used < bytes.len() && !self.is_done() {
            let piece = &bytes[used..bytes.len().min(used + TRIAL_PIECE.min(self.room()))];
            let Context { reference, masks, .. } = *cx;
            let mut own = Context { state: &mut self.state, set: &mut self.set, reference, masks };
            self.source.pass(piece, &mut own)?;
            self.held.extend_from_slice(piece);
            used += piece.len();
        }
        Ok(used)
    }

    fn finish(&mut self, cx: &Context<'_>) -> Result<(), Stop> {
        let Context { reference, masks, .. } = *cx;
        let mut own = Context { state: &mut self.state, set: &mut self.set, reference, masks };
        self.source.finish(&mut own).map(|_| ())
    }

    fn verdict(&self) -> Result<Option<(Unit, u64, String)>, Refusal> {
        let Some(judge) = &self.state.judge else { return Ok(None) };
        judge.verdict(&self.held, self.kind.mark() as u64)
    }

    /// Gives back the memory for text.
    fn windows(&mut self) -> Vec<Window> {
        let mut windows = std::mem::take(&mut self.state.windows);
        if let Opened::Text(text) = &mut self.source.opened {
            windows.push(std::mem::take(&mut text.window));
        }
        windows
    }
}

/// Returns whether a text that begins so holds spans whose times are in the unit of their format.
pub(crate) fn is_plain(head: &[u8]) -> bool {
    let (mut state, mut set) = (State::default(), TraceSet::new());
    let cx = &mut Context { state: &mut state, set: &mut set, reference: false, masks: Masks::Best };
    let kind = sniff::sniff(head);
    let mut trial = Trial::new(kind, cx);
    trial.feed(&head[kind.mark()..], cx).is_ok() && matches!(trial.verdict(), Ok(None))
}

impl Text {
    fn new(mut window: Window, at: u64, mut walker: Walker, reference: bool, masks: Masks) -> Text {
        window.reset(at);
        window.masks = if reference { Masks::Plain } else { masks };
        walker.reference = reference;
        Text { window, walker }
    }

    fn feed(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), SetFull> {
        for piece in bytes.chunks(PIECE) {
            let room = self.window.room(piece.len()).ok_or(SetFull)?;
            room.copy_from_slice(piece);
            self.commit(piece.len(), cx)?;
        }
        Ok(())
    }

    fn commit(&mut self, bytes: usize, cx: &mut Context<'_>) -> Result<(), SetFull> {
        self.window.commit(bytes);
        self.walker.run(&mut self.window, cx.state, cx.set)?;
        self.window.forget(self.walker.keep_from());
        Ok(())
    }
}

impl Gzip {
    fn feed(&mut self, mut bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        self.out.resize(PIECE, 0);
        while !bytes.is_empty() && self.state != GzipState::Done {
            if self.state == GzipState::Between {
                match bytes[0] {
                    0x1f => {
                        self.inflate = Decompress::new_gzip(15);
                        self.state = GzipState::Member;
                    }
                    // Tapes and some tools pad with zeros.
                    0 => {
                        bytes = &bytes[1..];
                        self.taken += 1;
                        continue;
                    }
                    _ => {
                        self.damaged("something follows the compressed data", cx);
                        break;
                    }
                }
            }
            let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self.inflate.decompress(bytes, &mut self.out, FlushDecompress::None);
            let used = (self.inflate.total_in() - before_in) as usize;
            let made = (self.inflate.total_out() - before_out) as usize;
            bytes = &bytes[used..];
            self.taken += used as u64;
            self.inner.feed(&self.out[..made], cx)?;
            match status {
                Ok(Status::StreamEnd) => self.state = GzipState::Between,
                Ok(_) if used == 0 && made == 0 => {
                    self.damaged("the compressed data does not go on", cx);
                }
                Ok(_) => {}
                Err(_) => self.damaged("the compressed data is damaged", cx),
            }
        }
        Ok(())
    }

    fn damaged(&mut self, what: &str, cx: &mut Context<'_>) {
        self.state = GzipState::Done;
        cx.state
            .problems
            .note(ProblemKind::BadMember, self.taken, || format!("{what}; what came before is kept"));
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, Stop> {
        if self.state == GzipState::Member {
            self.damaged("the compressed data ends in the middle", cx);
        }
        self.inner.finish(cx)
    }
}
