//! A look at the first records of an input, before anything is read.

use super::records::Records;
use super::sniff::{self, Kind};
use super::window::Window;
use crate::context::{Context, How, Scratch, Stop};
use crate::formats::foreign;
use crate::formats::rows::{Table, Word};
use crate::judge::{Judge, OtherUnit, Refusal};
use crate::sink::Sink;
use pathlight_trace::TraceSet;
use std::sync::Arc;

/// Bytes of an input that [`SplitFinder::of`](crate::SplitFinder::of) is shown, and that a look at the first records covers
/// at most.
pub const HEAD_BYTES: u64 = 1 << 20;
/// So much is looked at at once: little more than the first records, which are read twice.
const PIECE: usize = 16 << 10;

/// A look at the first records, which keeps nothing of them.
pub(crate) struct Trial {
    pub kind: Kind,
    /// What was looked at.
    pub held: Vec<u8>,
    records: Records,
    judge: Judge,
    sink: Sink,
    set: TraceSet,
    scratch: Scratch,
    how: How,
    /// Whether the first records are no spans as they are usually written: what they are shows in all of the text that is
    /// looked at.
    is_refused: bool,
}

impl Trial {
    /// Returns a look at an input of this kind, by a table if there is one; `windows` are used for its text.
    pub fn new(kind: Kind, windows: Vec<Window>, how: How, table: Option<&Arc<Table>>) -> Trial {
        let mut scratch = Scratch { windows, ..Scratch::default() };
        let (mut judge, mut sink, mut set) = (Judge::default(), Sink::default(), TraceSet::new());
        let cx = Context::new(&mut sink, &mut set, &mut scratch, how);
        let records = Records::of(kind, table, &mut Context { judge: Some(&mut judge), ..cx });
        Trial { kind, held: Vec::new(), records, judge, sink, set, scratch, how, is_refused: false }
    }

    /// Returns whether enough was seen: a split point is looked for in the same bytes ([`is_plain`]).
    pub fn is_done(&self) -> bool {
        self.room() == 0 || self.judge.is_done() && !self.is_refused
    }

    fn room(&self) -> usize {
        (HEAD_BYTES as usize).saturating_sub(self.kind.mark() + self.held.len())
    }

    /// Returns the records with what it takes to look at them.
    fn parts(&mut self) -> (&mut Records, Context<'_>) {
        let Trial { records, judge, sink, set, scratch, how, .. } = self;
        (records, Context { judge: Some(judge), ..Context::new(sink, set, scratch, *how) })
    }

    /// Looks at bytes, and returns at how many.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<usize, Stop> {
        let mut used = 0;
        while used < bytes.len() && !self.is_done() {
            let piece = &bytes[used..bytes.len().min(used + PIECE.min(self.room()))];
            if !self.is_refused {
                let (records, mut cx) = self.parts();
                records.feed(piece, &mut cx)?;
                self.is_refused = self.judge.is_done() && !self.judge.is_of_spans();
            }
            self.held.extend_from_slice(piece);
            used += piece.len();
        }
        Ok(used)
    }

    /// Ends the input.
    pub fn finish(&mut self) -> Result<(), Stop> {
        if self.is_refused {
            return Ok(());
        }
        let (records, mut cx) = self.parts();
        records.finish(&mut cx).map(|_| ())
    }

    /// Returns whether what was seen is spans.
    pub fn is_of_spans(&self) -> bool {
        self.judge.is_of_spans()
    }

    /// Returns the first of these tables by which what was seen is spans, with their unit if that is not the table's.
    pub fn table(&self, tables: &[Arc<Table>]) -> Option<(Arc<Table>, Option<OtherUnit>)> {
        let Kind::Text(_) = self.kind else { return None };
        let keys = foreign::keys(&self.held);
        let has = |key: &String| key.split('|').any(|key| keys.contains(key.as_bytes()));
        let may_be = |table: &&Arc<Table>| {
            table.list(Word::Keys).iter().all(has) && !table.list(Word::Without).iter().any(has)
        };
        tables.iter().filter(may_be).find_map(|table| {
            let mut trial = Trial::new(self.kind, Vec::new(), self.how, Some(table));
            trial.feed(&self.held).ok()?;
            if !trial.judge.is_done() {
                let (records, mut cx) = trial.parts();
                records.look_at_rest(&mut cx);
            }
            trial.is_of_spans().then(|| (Arc::clone(table), trial.judge.other_unit()))
        })
    }

    /// Returns what [`Judge::verdict`] says of what was seen.
    pub fn verdict(&self) -> Result<Option<OtherUnit>, Refusal> {
        self.judge.verdict(&self.held, self.kind.mark() as u64)
    }

    /// Gives back the memory for text.
    pub fn windows(&mut self) -> Vec<Window> {
        let mut windows = std::mem::take(&mut self.scratch.windows);
        if let Records::Text(text) = &mut self.records {
            windows.push(std::mem::take(&mut text.window));
        }
        windows
    }
}

/// Returns whether a text that begins so holds spans whose times are in the unit of their format.
pub(crate) fn is_plain(head: &[u8]) -> bool {
    let kind = sniff::sniff(head);
    let mut trial = Trial::new(kind, Vec::new(), How::default(), None);
    trial.feed(&head[kind.mark()..]).is_ok() && matches!(trial.verdict(), Ok(None))
}
