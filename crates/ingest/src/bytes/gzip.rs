//! Gzip files, of one or more members.

use super::nested::Nested;
use crate::context::{Context, PIECE, Stop, WalkEnd};
use crate::report::ProblemKind;
use flate2::{Decompress, FlushDecompress, Status};

/// A gzip file, of one or more members.
pub(crate) struct Gzip<S> {
    inflate: Decompress,
    out: Vec<u8>,
    pub inner: S,
    state: State,
    taken: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Inside a member.
    Member,
    /// Between members, or after the last.
    Between,
    /// Damaged, or followed by something else: the rest is not read.
    Done,
}

impl<S: Nested> Gzip<S> {
    /// Returns a file whose content is inside `layer` containers.
    pub fn new(layer: u32) -> Gzip<S> {
        Gzip::of(S::inside(layer))
    }

    /// Returns a file with this content, of which nothing is read yet.
    pub fn of(inner: S) -> Gzip<S> {
        Gzip { inflate: Decompress::new_gzip(15), out: Vec::new(), inner, state: State::Member, taken: 0 }
    }

    /// Takes bytes.
    pub fn feed(&mut self, mut bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        self.out.resize(PIECE, 0);
        while !bytes.is_empty() && self.state != State::Done {
            if self.state == State::Between {
                match bytes[0] {
                    0x1f => {
                        self.inflate = Decompress::new_gzip(15);
                        self.state = State::Member;
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
                Ok(Status::StreamEnd) => self.state = State::Between,
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
        self.state = State::Done;
        cx.sink
            .problems
            .note(ProblemKind::BadMember, self.taken, || format!("{what}; what came before is kept"));
    }

    /// Ends the file.
    pub fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, Stop> {
        if self.state == State::Member {
            self.damaged("the compressed data ends in the middle", cx);
        }
        self.inner.finish(cx)
    }
}
