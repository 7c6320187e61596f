//! Reading: bytes from a [`BlobSource`] into the trace set, in small steps.

use std::cell::Cell;
use std::rc::Rc;

use super::pace::{StepClock, now_ms};
use super::source::{BlobSource, Block};
use super::{CallState, Worker, memory_bytes};
use pathlight_engine::load::{Chunk, OwnBytes, ReadResult, Reserve};
use pathlight_engine::pool::messages::{CallDone, FromWorker, Piece, WorkerProgress};
use pathlight_ingest::{ErrorKind, IngestError, ReadOptions, Reader};

/// Interval at which progress is reported to the page, in milliseconds.
const PROGRESS_MS: f64 = 80.0;
/// Bytes parsed between two looks at the clock, at least and at most. In between the number follows what the bytes turn
/// out to cost: compressed ones hold many times their number.
const PARSE_BYTES: (u32, u32) = (4 << 10, 512 << 10);
/// Longest duration of one such parse in milliseconds before the next is made smaller.
const PARSE_MS: f64 = 6.0;

/// A call to read some pieces.
pub struct ReadCall {
    /// Number of the call.
    pub call: u64,
    /// The pieces of input to read.
    pub pieces: Vec<Piece>,
    /// Bytes of heap that columns may take.
    pub heap_limit: u64,
    /// Their bytes, the first of them on their way.
    pub source: BlobSource,
    /// State of the call.
    pub state: Rc<Cell<CallState>>,
}

struct Reading<'a> {
    worker: &'a Worker,
    call: u64,
    state: Rc<Cell<CallState>>,
    step: StepClock,
    /// Bytes to parse at once.
    stride: u32,
    bytes: u64,
    /// Bytes of the piece that were fed, and those of them that count.
    fed: u64,
    own: OwnBytes,
    finished: u32,
    reported_ms: f64,
    /// Bytes of heap from which on progress is reported at once: whether the rest will fit must be known before memory
    /// ends.
    tell_from: u64,
    /// Step by which that grows.
    tell_step: u64,
    reserve: Reserve,
}

/// Does the job and answers it.
pub async fn run(worker: &Worker, job: ReadCall) {
    let ReadCall { call, pieces, heap_limit, mut source, state } = job;
    worker.session.borrow_mut().set.set_limit(usize::try_from(heap_limit).unwrap_or(usize::MAX));
    let mut reading = Reading {
        worker,
        call,
        state,
        step: StepClock::begin(),
        stride: 64 << 10,
        bytes: 0,
        fed: 0,
        own: OwnBytes::default(),
        finished: 0,
        reported_ms: now_ms(),
        tell_from: worker.session.borrow().set.heap_bytes() as u64 + heap_limit / 16,
        tell_step: heap_limit / 16,
        reserve: Reserve::default(),
    };
    let mut results: Vec<ReadResult> = pieces.iter().map(|_| ReadResult::Untouched).collect();
    let mut reader: Option<(usize, Reader)> = None;
    let mut used: Option<Block> = None;
    let mut begun_at = 0;
    while reading.state.get() == CallState::Running {
        let block = match source.next(used.take()).await {
            None => break,
            Some(Ok(block)) => block,
            Some(Err(unreadable)) => {
                // What was read of it stays: whole traces are whole.
                reader.take_if(|(piece, _)| *piece == unreadable.piece);
                results[unreadable.piece] = ReadResult::Unreadable(unreadable.reason);
                reading.finished += 1;
                continue;
            }
        };
        let piece = block.piece;
        let (_, open) = reader.get_or_insert_with(|| {
            begun_at = reading.bytes;
            (reading.fed, reading.own) = (0, OwnBytes::of(pieces[piece].chunk.as_ref()));
            worker.session.borrow_mut().set.loading_group = pieces[piece].group;
            (piece, reader_of(&pieces[piece]))
        });
        let fed = reading.feed(open, &block).await;
        let is_stopped = reading.state.get() != CallState::Running;
        if !(block.is_last || open.is_over() || is_stopped || fed.is_err()) {
            used = Some(block);
            continue;
        }
        let Some((_, read)) = reader.take() else { break };
        let bytes = reading.bytes - begun_at;
        let is_whole = read.is_over() || block.is_last && reading.fed == source.size(piece);
        if read.is_over() {
            source.skip(piece);
        }
        let is_cut = fed.is_ok() && (pieces[piece].is_cut || is_stopped && !is_whole);
        let session = &mut *worker.session.borrow_mut();
        let report = if is_cut { read.stop(session) } else { read.finish(session) };
        match fed {
            Err(error) if error.kind == ErrorKind::Memory => {
                results[piece] = ReadResult::Full { report, bytes };
                break;
            }
            // It is none of ours, or has no end that could be found: the rest of it says nothing.
            Err(_) => {
                source.skip(piece);
                let size = source.size(piece);
                reading.bytes += size.saturating_sub(bytes);
                results[piece] = ReadResult::Read { report, bytes: size };
            }
            Ok(()) => results[piece] = ReadResult::Read { report, bytes },
        }
        reading.finished += 1;
        used = Some(block);
    }
    if let Some((piece, read)) = reader {
        results[piece] = ReadResult::Read {
            report: read.stop(&mut *worker.session.borrow_mut()),
            bytes: reading.bytes - begun_at,
        };
    }
    if reading.state.get() != CallState::Cancelled {
        let progress = reading.progress();
        worker.post(&FromWorker::Done(call, CallDone::Read(results, progress)), &[]);
    }
}

fn reader_of(piece: &Piece) -> Reader {
    let options =
        ReadOptions { keep: piece.keep.clone(), rules: piece.rules.clone(), ..ReadOptions::default() };
    Chunk::reader(piece.chunk.as_ref(), &piece.name, options)
}

impl Reading<'_> {
    /// Parses a block of bytes.
    async fn feed(&mut self, reader: &mut Reader, block: &Block) -> Result<(), IngestError> {
        let length = block.bytes.length();
        let mut at = 0;
        while at < length && !reader.is_over() {
            self.pause().await;
            if self.state.get() != CallState::Running {
                break;
            }
            let end = at.saturating_add(self.stride).min(length);
            let began_ms = now_ms();
            let fed = {
                let mut session = self.worker.session.borrow_mut();
                let mut from = at;
                reader.feed_by((end - at) as usize, &mut *session, |room| {
                    let until = from + room.len() as u32;
                    block.bytes.subarray(from, until).copy_to(room);
                    from = until;
                })
            };
            self.worker.grown.set(true);
            fed?;
            if !self.reserve.keep_up(memory_bytes()) {
                // The next traces are refused as where the limit of the page is reached.
                self.worker.session.borrow_mut().set.set_limit(1);
            }
            self.fed += u64::from(end - at);
            self.bytes += self.own.count(u64::from(end - at));
            at = end;
            let took_ms = now_ms() - began_ms;
            if took_ms > PARSE_MS {
                self.stride = (self.stride / 2).max(PARSE_BYTES.0);
            } else if took_ms < PARSE_MS / 4.0 {
                self.stride = (self.stride * 2).min(PARSE_BYTES.1);
            }
        }
        // The end of a piece changes the set too.
        self.pause().await;
        Ok(())
    }

    /// Yields if it is time, and while a pass is under way: it needs the set as it is. Nothing may be waited for between
    /// this and what changes the set, since a pass can begin meanwhile.
    async fn pause(&mut self) {
        if !self.step.is_over() && !self.worker.has_passes() {
            return;
        }
        let heap = self.worker.session.borrow().set.heap_bytes() as u64;
        if now_ms() - self.reported_ms > PROGRESS_MS || heap > self.tell_from {
            self.reported_ms = now_ms();
            self.tell_from = heap + self.tell_step;
            self.worker.post(&FromWorker::Progress(self.call, self.progress()), &[]);
        }
        self.worker.pace.yield_now().await;
        while self.worker.has_passes() {
            self.worker.pace.yield_now().await;
        }
        self.step = StepClock::begin();
    }

    fn progress(&self) -> WorkerProgress {
        self.worker.progress(self.bytes, self.finished)
    }
}
