//! One layer of an input: text, or an archive with more inputs inside.

use super::converted::{Converted, LOOK_BYTES};
use super::gzip::Gzip;
use super::nested::Nested;
use super::records::{Records, Text};
use super::share::Share;
use super::sniff::{self, HEAD, Kind};
use super::trial::Trial;
use super::utf16::Utf16;
use super::window::Window;
use super::zip::Zip;
use super::zstd::Zstd;
use crate::context::{Context, How, PIECE, Stop, WalkEnd};
use crate::formats::columns::{self, Columns};
use crate::formats::saved_report::SavedReport;
use crate::formats::{foreign, rows};
use crate::json::walk::Walker;
use crate::json::walk::split::{PackedPlace, SplitPoint};
use crate::judge::Refusal;
use crate::report::ProblemKind;
use pathlight_trace::SetFull;
use std::sync::Arc;

/// Greatest depth of archives inside archives.
const MAX_LAYERS: u32 = 4;

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
    Records(Records),
    Gzip(Box<Gzip<Source>>),
    /// A gzip file of which others read a part.
    Share(Box<Gzip<Share>>),
    Zstd(Box<Zstd<Source>>),
    Zip(Box<Zip<Source>>),
    Columns(Columns),
    /// An HTML page, which may be a saved report.
    SavedReport(Box<SavedReport<Source>>),
    Utf16(Box<Utf16<Source>>),
    /// A text that is no JSON: what it is shows in more of it.
    Lines(Vec<u8>),
    /// Rows that are no JSON.
    Converted(Box<Converted<Source>>),
    /// A summary of traces, as far as it was read.
    Summary(Vec<u8>),
}

impl Source {
    /// Returns a source for text from a split point on.
    pub fn from_split_point(point: &SplitPoint, how: How) -> Source {
        let text = Text::new(Window::default(), point.at, Walker::from_split_point(point), how);
        Source { opened: Opened::Records(Records::Text(Box::new(text))), ..Source::default() }
    }

    /// Returns a source for one share of a gzip file, between two places in its text.
    pub fn of_share(from: Option<&PackedPlace>, until: Option<&PackedPlace>) -> Source {
        Source { opened: Opened::Share(Box::new(Gzip::of(Share::new(from, until, 1)))), ..Source::default() }
    }

    /// Returns whether nothing of what follows is read: its share of the input is over.
    pub fn is_over(&self) -> bool {
        matches!(&self.opened, Opened::Share(gzip) if gzip.inner.is_over())
    }

    /// Returns whether its share of the input, if it has one, was read from split point to split point.
    pub fn agrees(&self) -> bool {
        !matches!(&self.opened, Opened::Share(gzip) if !gzip.inner.agrees())
    }

    /// Returns whether this reader has reached the split point in the state that the next reader assumed.
    pub fn meets(&self, point: &SplitPoint) -> bool {
        matches!(&self.opened, Opened::Records(Records::Text(text)) if text.walker.meets(point))
    }

    /// Returns memory of this many bytes, of [`PIECE`] at most, for the next bytes; `None` if they have to be
    /// [fed](Self::feed).
    pub fn room(&mut self, bytes: usize) -> Option<&mut [u8]> {
        match &mut self.opened {
            Opened::Records(Records::Text(text)) => text.window.room(bytes.min(PIECE)),
            _ => None,
        }
    }

    /// Takes so many bytes that were written where [`room`](Self::room) is.
    pub fn commit(&mut self, bytes: usize, cx: &mut Context<'_>) -> Result<(), Stop> {
        match &mut self.opened {
            Opened::Records(Records::Text(text)) => text.commit(bytes, cx).map_err(Stop::Full),
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
                self.opened = match cx.how.is_recognised {
                    true => Opened::Records(Records::of(kind, None, cx)),
                    false => {
                        let windows = std::mem::take(&mut cx.scratch.windows);
                        Opened::Trial(Box::new(Trial::new(kind, windows, cx.how, None)))
                    }
                };
                return Ok(kind.mark());
            }
            Kind::Gzip | Kind::Zstd | Kind::Zip if self.layer >= MAX_LAYERS => {
                return refuse("archives within archives, more than four deep");
            }
            Kind::Gzip => {
                self.opened = Opened::Gzip(Box::new(Gzip::new(self.layer + 1)));
                cx.sink.saw_packing("gzip");
            }
            Kind::Zstd => {
                self.opened = Opened::Zstd(Box::new(Zstd::new(self.layer + 1)));
                cx.sink.saw_packing("zstd");
            }
            Kind::Zip => {
                self.opened = Opened::Zip(Box::new(Zip::new(self.layer)));
                cx.sink.saw_packing("zip");
            }
            Kind::Utf16(_) if self.layer >= MAX_LAYERS => {
                return refuse("archives within archives, more than four deep");
            }
            Kind::Utf16(order) if !self.open_saved_report(head, "UTF-16 text") => {
                self.opened = Opened::Utf16(Box::new(Utf16::new(order, self.layer + 1)));
                cx.sink.saw_packing("utf-16");
            }
            Kind::Columns => {
                self.opened = Opened::Columns(Columns::of(head));
                return Ok(columns::MAGIC.len());
            }
            Kind::Summary if cx.summaries.is_none() => {
                return refuse("a summary of traces, which pathlight show, trend and check read");
            }
            Kind::Summary => self.opened = Opened::Summary(Vec::new()),
            Kind::Other(what) if !self.open_saved_report(head, what) => return refuse(what),
            Kind::Unknown if !self.open_saved_report(head, "") => {
                self.opened = Opened::Lines(Vec::new());
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
                let used = trial.feed(bytes)?;
                if !trial.is_done() {
                    return Ok(());
                }
                self.decide(cx)?;
                self.pass(&bytes[used..], cx)
            }
            Opened::Lines(held) => {
                let more = bytes.len().min(LOOK_BYTES - held.len());
                held.extend_from_slice(&bytes[..more]);
                if held.len() < LOOK_BYTES {
                    return Ok(());
                }
                self.decide_lines(cx)?;
                self.pass(&bytes[more..], cx)
            }
            Opened::Converted(text) => text.feed(bytes, cx),
            Opened::Records(records) => records.feed(bytes, cx),
            Opened::Gzip(gzip) => gzip.feed(bytes, cx),
            Opened::Share(gzip) => gzip.feed(bytes, cx),
            Opened::Zstd(zstd) => zstd.feed(bytes, cx),
            Opened::Zip(zip) => zip.feed(bytes, cx),
            Opened::Utf16(text) => text.feed(bytes, cx),
            Opened::Columns(columns) => columns.feed(bytes, cx),
            Opened::SavedReport(report) => report.feed(bytes, cx),
            Opened::Summary(held) => {
                held.try_reserve(bytes.len()).map_err(|_| SetFull)?;
                held.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Tells what a text is by its first lines, and reads them.
    fn decide_lines(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        let Opened::Lines(held) = std::mem::take(&mut self.opened) else { return Ok(()) };
        if let Some(text) = Converted::of(&held, self.layer) {
            self.opened = Opened::Converted(Box::new(text));
            return self.pass(&held, cx);
        }
        Err(match foreign::of(&held) {
            Some(foreign) => Stop::Refused(Refusal::foreign(foreign)),
            None => Stop::Unknown(held[..held.len().min(HEAD)].to_vec(), ""),
        })
    }

    /// Ends the trial, and reads what it has seen if that is spans.
    fn decide(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        let Opened::Trial(mut trial) = std::mem::take(&mut self.opened) else { return Ok(()) };
        cx.scratch.windows.append(&mut trial.windows());
        let said: Vec<_> = cx.maps.iter().map(|map| Arc::clone(&map.0)).collect();
        let find = || trial.table(&said).or_else(|| trial.table(rows::tables()));
        let found = if trial.is_of_spans() { None } else { find() };
        if found.is_none()
            && !trial.is_of_spans()
            && let Some(text) = Converted::of(&trial.held, self.layer)
        {
            self.opened = Opened::Converted(Box::new(text));
            return self.pass(&trial.held, cx);
        }
        let (table, unit) = match found {
            Some((table, unit)) => (Some(table), unit),
            None => match trial.verdict() {
                Ok(unit) => (None, unit),
                Err(refusal) => return Err(Stop::Refused(refusal.with_guess(&trial.held))),
            },
        };
        cx.sink.unit = unit.map(|(unit, at, text)| {
            cx.sink.problems.note(ProblemKind::OtherUnit, at, || text);
            unit
        });
        self.opened = Opened::Records(Records::of(trial.kind, table.as_ref(), cx));
        self.pass(&trial.held, cx)
    }
}

impl Nested for Source {
    fn inside(layer: u32) -> Source {
        Source { layer, ..Source::default() }
    }

    fn feed(&mut self, mut bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
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

    fn stop(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        match &mut self.opened {
            Opened::Trial(_) => self.decide(cx),
            Opened::Lines(..) => {
                self.decide_lines(cx)?;
                self.stop(cx)
            }
            Opened::Converted(text) => text.inner.stop(cx),
            Opened::Gzip(gzip) => gzip.inner.stop(cx),
            Opened::Share(gzip) => gzip.inner.stop(cx),
            Opened::Zstd(zstd) => zstd.inner.stop(cx),
            Opened::Zip(zip) => zip.inner.as_mut().map_or(Ok(()), |inner| inner.stop(cx)),
            Opened::Utf16(text) => text.inner.stop(cx),
            _ => Ok(()),
        }
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, Stop> {
        if matches!(self.opened, Opened::No) && !self.head.is_empty() {
            self.open_head(&mut &[][..], cx)?;
        }
        if let Opened::Lines(..) = self.opened {
            self.decide_lines(cx)?;
        }
        if let Opened::Trial(trial) = &mut self.opened {
            trial.finish()?;
            self.decide(cx)?;
        }
        match &mut self.opened {
            Opened::No | Opened::Trial(_) | Opened::Lines(..) => Ok(WalkEnd::Whole),
            Opened::Converted(text) => text.finish(cx),
            Opened::Records(records) => records.finish(cx),
            Opened::Gzip(gzip) => gzip.finish(cx),
            Opened::Share(gzip) => match gzip.inner.end_looks(cx)? {
                // How the input ends, others see.
                true => Ok(WalkEnd::Whole),
                false => gzip.finish(cx),
            },
            Opened::Zstd(zstd) => zstd.finish(cx),
            Opened::Zip(zip) => zip.finish(cx),
            Opened::Utf16(text) => text.finish(cx),
            Opened::Columns(columns) => Ok(columns.finish()),
            Opened::SavedReport(report) => report.finish(cx),
            Opened::Summary(held) => {
                cx.take_summary(&std::mem::take(held))?;
                Ok(WalkEnd::Whole)
            }
        }
    }
}
