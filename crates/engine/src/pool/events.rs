//! Events go into the pool, commands come out of it.

use super::messages::{FromWorker, ToWorker};
use crate::load::MemoryForecast;
use pathlight_ingest::{FileReport, KeptTraces};
use std::ops::Range;

/// Workers at most: beyond, memory and the reading of files set the speed.
pub const MOST_WORKERS: usize = 16;

/// Milliseconds between two [`PoolInput::Tick`]s.
pub const TICK_MS: u32 = 5000;

/// Something that happened, for [`PoolState::handle`](super::PoolState::handle). `P` is a buffer of bytes as the page has
/// it; the pool passes buffers on without looking into them.
#[derive(Clone, Debug, PartialEq)]
pub enum PoolInput<P> {
    /// The user loads these files, (name, bytes) each, into the set of a group, besides what is loaded. During a load they
    /// join it.
    Load {
        /// The files.
        files: Vec<(String, u64)>,
        /// The group, 0 or 1.
        group: u8,
    },
    /// The user takes a group away. What is loaded into it later stays.
    Unload {
        /// The group.
        group: u8,
    },
    /// The user ends the load under way and keeps what was read until now, or drops everything that this load brought.
    CancelLoad {
        /// Whether what was read is kept.
        keep: bool,
    },
    /// The user goes on with a load that will not fit, from its start, keeping only these of its traces. [`KeptTraces::All`]
    /// goes on until memory ends.
    Resume(KeptTraces),
    /// The user clears everything.
    Clear,
    /// The page waits for its first file: workers get ready for it.
    WarmUp,
    /// Some seconds are over ([`TICK_MS`]): workers that are waited for are asked whether they live.
    Tick,
    /// The turn of the event loop in which [`PoolCommand::Wake`] came is over.
    Wake,
    /// A query is to be run. Its number is the caller's.
    Query {
        /// Number of the query.
        query: u64,
        /// The message that [`Query::to_message`](crate::run::query::Query::to_message) wrote.
        message: Vec<u8>,
    },
    /// The columns of all workers are wanted, for a saved report. The number is the caller's, distinct from those of
    /// queries.
    Save {
        /// Number of the copy.
        save: u64,
        /// Parts left out, for the workers to read.
        redaction: String,
    },
    /// The demo traces are wanted, as a file of Jaeger JSON. The number is like that of a copy.
    WriteDemo {
        /// Number of the copy.
        save: u64,
    },
    /// Nobody waits for this query or copy any more.
    Cancel(u64),
    /// A worker has sent a message.
    Message {
        /// Its slot.
        slot: usize,
        /// Its serial number.
        serial: u64,
        /// The message.
        message: FromWorker,
        /// Buffers attached.
        attachments: Vec<P>,
    },
    /// A worker has ended.
    WorkerLost {
        /// Its slot.
        slot: usize,
        /// Its serial number.
        serial: u64,
        /// The reason, as far as the browser gave one.
        reason: String,
    },
    /// The browser refuses to start a worker.
    StartRefused {
        /// Its slot.
        slot: usize,
        /// Its serial number.
        serial: u64,
        /// The browser's words.
        reason: String,
    },
}

/// Something to be done, from [`PoolState::handle`](super::PoolState::handle), in this order.
#[derive(Clone, Debug, PartialEq)]
pub enum PoolCommand<P> {
    /// Start a worker in a slot. The serial number tells it from others that had the slot before.
    Start {
        /// The slot.
        slot: usize,
        /// The serial number.
        serial: u64,
    },
    /// End the worker in a slot.
    Stop {
        /// The slot.
        slot: usize,
    },
    /// Post a message to the worker in a slot.
    Post {
        /// The slot.
        slot: usize,
        /// The message.
        message: ToWorker,
        /// Buffers attached.
        attachments: Vec<Attachment<P>>,
    },
    /// Tell the page.
    Tell(PoolEvent),
    /// Come back with [`PoolInput::Wake`] after this turn of the event loop, so that several loads of one turn become one.
    Wake,
    /// A query works on; how far it is, is packed in the buffer.
    Working {
        /// Number of the query.
        query: u64,
        /// Progress of the query.
        progress: P,
    },
    /// A query has ended, with its packed report or without.
    Answer {
        /// Number of the query.
        query: u64,
        /// The report.
        result: Result<P, QueryError>,
    },
    /// A copy of the columns, or the demo, has ended: the buffers of each worker, or why there are none.
    Saved {
        /// Number of the copy.
        save: u64,
        /// The columns.
        result: Result<Vec<Vec<P>>, String>,
    },
}

/// Something that goes to a worker with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attachment<P> {
    /// A buffer, moved.
    Move(P),
    /// A copy of a buffer.
    Copy(P),
    /// Bytes of the pool.
    Bytes(Vec<u8>),
    /// Some bytes of a file, by handle.
    File {
        /// Number of the file, counted from the first that was loaded, or since [`PoolInput::Clear`].
        source: usize,
        /// Range of the bytes.
        range: Range<u64>,
    },
}

/// Reason why a query has no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// The loaded data has changed; [`PoolEvent::Loaded`] follows, run it again then.
    #[error("what is loaded has changed")]
    Stale,
    /// A worker died over it and reads its files again; run it again after [`PoolEvent::Loaded`].
    #[error("a worker ended and is being replaced")]
    WorkerLost,
    /// It cannot be run, for this reason.
    #[error("{0}")]
    Failed(String),
}

/// Event of a pool that is reported to the page.
#[derive(Clone, Debug, PartialEq)]
pub enum PoolEvent {
    /// A worker is up.
    Ready,
    /// Progress of a load; at most four times a second.
    Progress(LoadProgress),
    /// Queries about the complete traces so far make sense; the reports will change.
    Preliminary,
    /// A load that will not fit. It waits for [`PoolInput::Resume`] or [`PoolInput::CancelLoad`]; queries about the
    /// complete traces so far make sense.
    WillNotFit(MemoryForecast),
    /// A load has ended: run queries anew, what was known has changed.
    Loaded(LoadOutcome),
    /// A worker died. It is replaced and reads its files again; [`Loaded`](PoolEvent::Loaded) follows.
    WorkerLost {
        /// Name of the input it was reading, or empty.
        name: String,
        /// The reason, as far as the browser gave one.
        reason: String,
    },
    /// The pool cannot work, or not with what it was given.
    Failed(UserError),
}

/// Progress of a load.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoadProgress {
    /// Bytes read.
    pub bytes: u64,
    /// Bytes of all files of this load.
    pub total_bytes: u64,
    /// Traces held so far, earlier loads included; single spans become traces at the end of a load.
    pub traces: u64,
    /// Spans held so far, earlier loads included.
    pub spans: u64,
    /// Files finished.
    pub files_done: u32,
    /// Files of this load.
    pub files: u32,
    /// Speed, smoothed, in 10^6 bytes a second.
    pub mb_per_s: f64,
    /// Time left, if it is known.
    pub seconds_left: Option<f64>,
}

/// Result of a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LoadOutcome {
    /// One a file that was read, in the order the files were given.
    pub reports: Vec<FileReport>,
    /// Inputs that could not be read at all, or not to their end for want of memory.
    pub errors: Vec<UserError>,
    /// The user ended it.
    pub cancelled: bool,
}

/// An error as it is shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserError {
    /// The problem, in one sentence.
    pub message: String,
    /// File, place, the browser's own words.
    pub detail: String,
    /// The next step for the user.
    pub next_step: String,
}

/// Limits of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Files of this many bytes or more are read by several workers, in chunks of half that at least.
    pub large_file: u64,
    /// Bytes of heap of a worker that columns may take. wasm memory ends at 4 GiB; the rest serves the buffers of a load
    /// and the analyses.
    pub memory: u64,
    /// Workers at most; it cannot be more than the pool was made for.
    pub workers: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { large_file: crate::load::LARGE_FILE_BYTES, memory: 3_200 << 20, workers: MOST_WORKERS }
    }
}

impl Limits {
    /// Returns the limits that an address asks for by keys like `limit-large-file=65536`: for tests and for trying out.
    pub fn from_keys(keys: &[(String, String)]) -> Limits {
        let mut limits = Limits::default();
        for (key, value) in keys {
            let Ok(number) = value.parse::<u64>() else { continue };
            match key.as_str() {
                "limit-large-file" => limits.large_file = number,
                "limit-memory" => limits.memory = number,
                "limit-workers" => limits.workers = number as usize,
                _ => {}
            }
        }
        limits
    }
}
