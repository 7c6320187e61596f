//! Zstandard files, of one or more frames.

use super::nested::Nested;
use crate::context::{Context, Stop, WalkEnd};
use crate::report::ProblemKind;
use ruzstd::decoding::FrameDecoder;
use std::io::Read as _;

/// What a frame begins with.
pub(crate) const MAGIC: &[u8] = b"\x28\xb5\x2f\xfd";
/// What a frame that holds no data begins with, apart from half of its first byte.
const SKIPPED: &[u8] = b"\x2a\x4d\x18";
/// Longest header of a frame.
const MAX_HEADER: usize = 18;
/// Bytes handed on at a time.
const PIECE: usize = 64 << 10;
/// An empty block that is the last of its frame, and a checksum: what a frame lacks that is cut off.
const END: &[u8] = &[1, 0, 0, 0, 0, 0, 0];

/// A file, of one or more frames.
pub(crate) struct Zstd<S> {
    decoder: FrameDecoder,
    pub inner: S,
    state: State,
    /// Bytes that wait for the rest of their block.
    held: Vec<u8>,
    out: Vec<u8>,
    taken: u64,
    has_checksum: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before a frame.
    Between,
    /// Before a block.
    Block,
    /// So many bytes of a frame without data are left.
    Skip(usize),
    /// Damaged, or followed by something else: the rest is not read.
    Done,
}

impl<S: Nested> Zstd<S> {
    /// Returns a file whose content is inside `layer` containers.
    pub fn new(layer: u32) -> Zstd<S> {
        Zstd {
            decoder: FrameDecoder::new(),
            inner: S::inside(layer),
            state: State::Between,
            held: Vec::new(),
            out: vec![0; PIECE],
            taken: 0,
            has_checksum: false,
        }
    }

    /// Takes bytes.
    pub fn feed(&mut self, bytes: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        for piece in bytes.chunks(PIECE) {
            if self.state == State::Done {
                return Ok(());
            }
            self.held.extend_from_slice(piece);
            let mut held = std::mem::take(&mut self.held);
            let mut used = 0;
            while let Some(more) = self.step(&held[used..], false, cx)? {
                used += more;
                self.taken += more as u64;
            }
            held.drain(..used);
            self.held = held;
        }
        Ok(())
    }

    /// Takes the next header, block or part of what is skipped; returns its bytes, or `None` if more must come first.
    fn step(&mut self, rest: &[u8], is_all: bool, cx: &mut Context<'_>) -> Result<Option<usize>, Stop> {
        match self.state {
            State::Done => Ok(None),
            State::Skip(left) => {
                let skipped = left.min(rest.len());
                self.state = if left == skipped { State::Between } else { State::Skip(left - skipped) };
                Ok((skipped > 0).then_some(skipped))
            }
            State::Between if rest.len() < MAX_HEADER && !is_all || rest.is_empty() => Ok(None),
            State::Between => Ok(self.begin(rest, cx)),
            State::Block => {
                let Some(&[a, b, c]) = rest.first_chunk::<3>() else { return Ok(None) };
                let header = u32::from_le_bytes([a, b, c, 0]);
                let is_last = header & 1 == 1;
                // A block of one byte that repeats says how often in place of its size.
                let size = if header >> 1 & 3 == 1 { 1 } else { (header >> 3) as usize };
                let end = 3 + size + if is_last && self.has_checksum { 4 } else { 0 };
                let Some(block) = rest.get(..end) else { return Ok(None) };
                if is_last {
                    self.state = State::Between;
                }
                self.decode(block, cx)?;
                Ok(Some(end))
            }
        }
    }

    fn begin(&mut self, rest: &[u8], cx: &mut Context<'_>) -> Option<usize> {
        if let [0x50..=0x5f, ..] = rest
            && rest[1..].starts_with(SKIPPED)
            && let Some(size) = rest[4..].first_chunk()
        {
            let size = u32::from_le_bytes(*size) as usize;
            self.state = if size > 0 { State::Skip(size) } else { State::Between };
            return Some(8);
        }
        // The collector writes the length of each message before it.
        if rest.get(4..).is_some_and(|rest| rest.starts_with(MAGIC)) && !rest.starts_with(MAGIC) {
            return Some(4);
        }
        let mut source = rest;
        if !rest.starts_with(MAGIC) || self.decoder.init(&mut source).is_err() {
            self.damaged("the compressed data is damaged", cx);
            return None;
        }
        self.has_checksum = rest[4] & 4 != 0;
        self.state = State::Block;
        Some(rest.len() - source.len())
    }

    /// Decodes a block, and hands on what is known by it.
    fn decode(&mut self, block: &[u8], cx: &mut Context<'_>) -> Result<(), Stop> {
        if self.decoder.decode_from_to(block, &mut []).is_err() {
            self.damaged("the compressed data is damaged", cx);
            return Ok(());
        }
        loop {
            match self.decoder.read(&mut self.out) {
                Ok(0) | Err(_) => return Ok(()),
                Ok(made) => self.inner.feed(&self.out[..made], cx)?,
            }
        }
    }

    fn damaged(&mut self, what: &str, cx: &mut Context<'_>) {
        self.state = State::Done;
        let problems = &mut cx.sink.problems;
        problems.note(ProblemKind::BadMember, self.taken, || format!("{what}; what came before is kept"));
    }

    /// Ends the file.
    pub fn finish(&mut self, cx: &mut Context<'_>) -> Result<WalkEnd, Stop> {
        let held = std::mem::take(&mut self.held);
        let mut used = 0;
        while let Some(more) = self.step(&held[used..], true, cx)? {
            used += more;
        }
        if self.state == State::Block {
            // What the decoder holds back comes out at the end of a frame.
            self.decode(END, cx)?;
        }
        if !matches!(self.state, State::Between | State::Done) {
            self.damaged("the compressed data ends in the middle", cx);
        }
        self.inner.finish(cx)
    }
}
