//! Texts that are no JSON and hold rows all the same, which are read as the same rows in JSON, one a line. Places are then
//! counted in that.

use super::blocks::Blocks;
use super::csv::Csv;
use super::nested::Nested;
use super::script::Script;
use crate::context::{Context, PIECE, Stop, WalkEnd};
use crate::judge::Refusal;
use crate::report::ProblemKind;

/// Bytes of a text that are looked at to tell what it is.
pub(crate) const LOOK_BYTES: usize = 64 << 10;

/// How a text is made JSON.
enum Converter {
    Csv(Csv),
    Script(Script),
    Blocks(Blocks),
}

/// A text being read.
pub(crate) struct Converted<S> {
    converter: Converter,
    pub inner: S,
    out: Vec<u8>,
    /// Bytes written.
    written: u64,
}

impl<S: Nested> Converted<S> {
    /// Returns the text that begins so, inside `layer` archives; `None` if it is none of these.
    pub fn of(head: &[u8], layer: u32) -> Option<Converted<S>> {
        let converter = if Script::begins(head) {
            Converter::Script(Script::default())
        } else if let Some(blocks) = Blocks::of(head) {
            Converter::Blocks(blocks)
        } else {
            Converter::Csv(Csv::of(head)?)
        };
        Some(Converted { converter, inner: S::inside(layer), out: Vec::new(), written: 0 })
    }

    /// Takes bytes.
    pub fn feed(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        for piece in bytes.chunks(PIECE) {
            match &mut self.converter {
                Converter::Csv(csv) => csv.feed(piece, &mut self.out),
                Converter::Script(script) => script.feed(piece, &mut self.out),
                Converter::Blocks(blocks) => blocks.feed(piece, &mut self.out),
            }
            self.pass(cx)?;
        }
        Ok(())
    }

    fn pass(&mut self, cx: &mut Context<'_>) -> Result<(), Stop> {
        self.written += self.out.len() as u64;
        let fed = self.inner.feed(&self.out, cx);
        self.out.clear();
        match fed {
            Err(stop) => Err(self.said_of(stop)),
            Ok(()) => Ok(()),
        }
    }

    /// Returns why the rows are refused, in words for what they were.
    fn said_of(&self, stop: Stop) -> Stop {
        match (stop, &self.converter) {
            (Stop::Refused(refusal), Converter::Csv(_)) => {
                let reason = refusal.reason.replacen("it is JSON but", "it is a table (CSV) but", 1);
                Stop::Refused(Refusal {
                    reason: reason.replacen("an object with the keys", "columns", 1),
                    ..refusal
                })
            }
            (stop, _) => stop,
        }
    }

    /// Ends the text.
    pub fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, Stop> {
        let left = match &mut self.converter {
            Converter::Csv(csv) => csv.finish(&mut self.out),
            Converter::Script(script) => script.finish(&mut self.out),
            Converter::Blocks(blocks) => blocks.finish(&mut self.out),
        };
        self.pass(cx)?;
        let end = self.inner.finish(cx).map_err(|stop| self.said_of(stop))?;
        let problems = &mut cx.sink.problems;
        problems.note_many(ProblemKind::BadSyntax, left.bad, self.written, || {
            "rows with fewer or more values than there are columns".into()
        });
        if left.is_cut && end == WalkEnd::Whole {
            problems.note(ProblemKind::Truncated, self.written, || {
                "the text ends in the middle of a row; what was complete is kept".into()
            });
            return Ok(WalkEnd::Cut(self.written));
        }
        Ok(end)
    }
}
