//! Reading: bytes from a [`Source`] into the trace set, in small steps.

use std::cell::Cell;
use std::rc::Rc;

use super::pace::{Step, now_ms};
use super::source::{Chunk, Source};
use super::{Wish, Worker};
use crate::wire;
use crate::wire::{Done, FromWorker, Piece, PieceResult, Progress};
use pathlight_ingest::{ErrorKind, IngestError, Options, Reader};
use wasm_bindgen::JsValue;

/// How often the page hears of progress, in milliseconds.
const PROGRESS_MS: f64 = 80.0;
/// Bytes parsed between two looks at the clock, at least and at most. In between the number follows what the bytes turn
/// out to cost: compressed ones hold many times their number.
const PARSE_BYTES: (u32, u32) = (4 << 10, 512 << 10);
/// What one such parse may take in milliseconds before the next is made smaller.
const PARSE_MS: f64 = 6.0;

/// A call to read some pieces.
pub struct Job {
    /// Its number.
    pub call: u64,
    /// What is read.
    pub pieces: Vec<Piece>,
    /// Heap that columns may take.
    pub most_bytes: u64,
    /// Their bytes, the first of them on their way.
    pub source: Source,
    /// What the page wants of it by now.
    pub wish: Rc<Cell<Wish>>,
}

struct Reading<'a> {
    worker: &'a Worker,
    call: u64,
    wish: Rc<Cell<Wish>>,
    step: Step,
    /// Bytes to parse at once.
    stride: u32,
    buffer: Vec<u8>,
    bytes: u64,
    finished: u32,
    told_ms: f64,
}

/// Does the job and answers it.
pub async fn run(worker: &Worker, job: Job) {
    let Job { call, pieces, most_bytes, mut source, wish } = job;
    worker.session.borrow_mut().set.set_limit(usize::try_from(most_bytes).unwrap_or(usize::MAX));
    let mut reading = Reading {
        worker,
        call,
        wish,
        step: Step::begin(),
        stride: 64 << 10,
        buffer: Vec::new(),
        bytes: 0,
        finished: 0,
        told_ms: now_ms(),
    };
    let mut results: Vec<PieceResult> = pieces.iter().map(|_| PieceResult::Untouched).collect();
    let mut reader: Option<(usize, Reader)> = None;
    let mut used: Option<Chunk> = None;
    let mut begun_at = 0;
    while reading.wish.get() == Wish::GoOn {
        let chunk = match source.next(used.take()).await {
            None => break,
            Some(Ok(chunk)) => chunk,
            Some(Err(unreadable)) => {
                // What was read of it stays: whole traces are whole.
                reader.take_if(|(piece, _)| *piece == unreadable.piece);
                results[unreadable.piece] = PieceResult::Unreadable(unreadable.reason);
                reading.finished += 1;
                continue;
            }
        };
        let piece = chunk.piece;
        let (_, open) = reader.get_or_insert_with(|| {
            begun_at = reading.bytes;
            worker.session.borrow_mut().set.loading_group = pieces[piece].group;
            (piece, reader_of(&pieces[piece]))
        });
        let fed = reading.feed(open, &chunk).await;
        let is_stopped = reading.wish.get() != Wish::GoOn;
        if !(chunk.is_last || is_stopped || fed.is_err()) {
            used = Some(chunk);
            continue;
        }
        let Some((_, read)) = reader.take() else { break };
        let bytes = reading.bytes - begun_at;
        let is_cut = is_stopped && fed.is_ok() && !(chunk.is_last && bytes == source.size(piece));
        let report = if is_cut { read.stop() } else { read.finish(&mut worker.session.borrow_mut().set) };
        match fed {
            Err(error) if error.kind == ErrorKind::Memory => {
                results[piece] = PieceResult::Full { report, bytes };
                break;
            }
            // It is none of ours, or has no end that could be found: the rest of it says nothing.
            Err(_) => {
                source.skip(piece);
                let size = source.size(piece);
                reading.bytes += size.saturating_sub(bytes);
                results[piece] = PieceResult::Read { report, bytes: size };
            }
            Ok(()) => results[piece] = PieceResult::Read { report, bytes },
        }
        reading.finished += 1;
        used = Some(chunk);
    }
    if let Some((piece, read)) = reader {
        results[piece] = PieceResult::Read { report: read.stop(), bytes: reading.bytes - begun_at };
    }
    if reading.wish.get() != Wish::Forget {
        let progress = reading.progress();
        let ends: Vec<JsValue> = (results.iter_mut())
            .filter_map(|result| result.report()?.chunk.take())
            .map(|end| wire::buffer(&postcard::to_allocvec(&end).unwrap_or_default()))
            .collect();
        worker.post(&FromWorker::Done(call, Done::Read(results, progress)), &ends);
    }
}

fn reader_of(piece: &Piece) -> Reader {
    let options = Options { keep: piece.keep.clone(), ..Options::default() };
    match &piece.slice {
        Some((from, until)) => Reader::of_chunk(&piece.name, options, from.as_ref(), until.clone()),
        None => Reader::new(&piece.name, options),
    }
}

impl Reading<'_> {
    /// Parses a chunk.
    async fn feed(&mut self, reader: &mut Reader, chunk: &Chunk) -> Result<(), IngestError> {
        let length = chunk.bytes.length();
        let mut at = 0;
        while at < length && self.wish.get() == Wish::GoOn {
            let end = at.saturating_add(self.stride).min(length);
            self.buffer.resize((end - at) as usize, 0);
            chunk.bytes.subarray(at, end).copy_to(&mut self.buffer);
            let began_ms = now_ms();
            let fed = {
                let mut session = self.worker.session.borrow_mut();
                reader.feed(&self.buffer, &mut session.set)
            };
            self.worker.grown.set(true);
            fed?;
            self.bytes += u64::from(end - at);
            at = end;
            let took_ms = now_ms() - began_ms;
            if took_ms > PARSE_MS {
                self.stride = (self.stride / 2).max(PARSE_BYTES.0);
            } else if took_ms < PARSE_MS / 4.0 {
                self.stride = (self.stride * 2).min(PARSE_BYTES.1);
            }
            self.pause().await;
        }
        Ok(())
    }

    /// Gives way if it is time, and while a query runs: it needs the set as it is.
    async fn pause(&mut self) {
        if !self.step.is_over() && !self.worker.is_asked() {
            return;
        }
        if now_ms() - self.told_ms > PROGRESS_MS {
            self.told_ms = now_ms();
            self.worker.post(&FromWorker::Progress(self.call, self.progress()), &[]);
        }
        self.worker.pace.breathe().await;
        while self.worker.is_asked() && self.wish.get() == Wish::GoOn {
            self.worker.pace.breathe().await;
        }
        self.step = Step::begin();
    }

    fn progress(&self) -> Progress {
        self.worker.progress(self.bytes, self.finished)
    }
}
