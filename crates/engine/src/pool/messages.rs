//! Messages between page and workers: plain data, whoever carries it.
//!
//! A message may have *attachments*: files (shared by handle) and buffers of bytes (moved, not copied). A call carries a
//! number, and what the worker answers carries the same.

use crate::load::{Chunk, ReadResult};
use pathlight_ingest::{KeptTraces, ReadRules, SplitPoint};
use serde::{Deserialize, Serialize};

/// From the page to a worker.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ToWorker {
    /// Do this and answer with [`FromWorker::Done`] or [`FromWorker::Failed`] of the same number.
    Call(u64, Call),
    /// Nobody waits for the answer to this call any more: stop, and do not answer.
    Cancel(u64),
    /// Stop reading, keep the complete traces and answer.
    StopReading(u64),
    /// Drop the plan of a query.
    EndPlan(u64),
    /// Warm up while there is nothing to do.
    WarmUp,
    /// Answer with [`FromWorker::Pong`]: the page wants to know whether the worker still lives.
    Ping,
}

/// Something a worker is to do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Call {
    /// Read these; one file each is attached. Answered by [`CallDone::Read`].
    Read {
        /// Pieces to read.
        pieces: Vec<Piece>,
        /// Bytes of heap that columns may take.
        heap_limit: u64,
    },
    /// Look for split points in the attached file. Answered by [`CallDone::SplitPoints`].
    FindSplitPoints {
        /// The byte offsets after which they are wanted.
        places: Vec<u64>,
        /// Size of the file if it is packed.
        packed: Option<u64>,
    },
    /// Join what was read. Answered by [`CallDone::Nothing`].
    Seal,
    /// Forget the traces of a group; what was read must be joined before. Answered by [`CallDone::Nothing`].
    Unload {
        /// The group.
        group: u8,
    },
    /// Tell which traces are here, and the values of tags by key. Answered by one attachment.
    Keys,
    /// Work out where traces must go that are at several workers. Keys are attached, one list a worker. Answered by
    /// [`CallDone::Moves`] with the keys of each move attached, and after these what is to be marked, if anything is.
    PlanJoining,
    /// Mark the keys of tags that have too many values in all workers together; they are attached. Answered by
    /// [`CallDone::Nothing`].
    MarkHighCardinality,
    /// Give away the traces of the attached keys. Answered by one attachment.
    TakeTraces,
    /// Take in the attached traces; [`Call::Seal`] joins them. Answered by [`CallDone::Nothing`].
    PutTraces,
    /// Write the demo traces. Answered by one attachment: Jaeger JSON.
    WriteDemo,
    /// Copy columns for a saved report, from this trace on. Answered by [`CallDone::Columns`] with them attached.
    CopyColumns {
        /// Number of the first trace.
        from: u32,
        /// First number of this worker's traces if they lose their ids.
        first: u64,
        /// Parts left out, and the pseudonyms of names, as `saved` of crate view writes them; empty: nothing.
        redaction: String,
    },
    /// Begin the plan of a query; its message is attached. Answered by [`CallDone::Pass`], [`CallDone::Working`] or
    /// [`CallDone::Report`], with the pass, the progress or the report attached.
    Begin {
        /// Number of the plan.
        plan: u64,
        /// State of the data of all workers; plans over the same share what they know. `None`: it is changing.
        data: Option<u64>,
        /// Whether any worker may have read a summary.
        has_summaries: bool,
    },
    /// Merge the attached partials of the last pass. Answered like [`Call::Begin`].
    Merge {
        /// Number of the plan.
        plan: u64,
    },
    /// Run the attached pass over the traces here. Answered by one attachment, the partial.
    Pass {
        /// Number of the plan.
        plan: u64,
    },
}

/// A file or a chunk of one, to be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Name to show.
    pub name: String,
    /// The set of traces it belongs to: 0 or 1.
    pub group: u8,
    /// The traces of it that are kept.
    pub keep: KeptTraces,
    /// What people have said of their traces.
    pub rules: ReadRules,
    /// The part of a file that it is, if it is not a whole one.
    pub chunk: Option<Chunk>,
    /// Whether more follows that is not to be read.
    pub is_cut: bool,
}

/// From a worker to the page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FromWorker {
    /// The worker is up.
    Hello,
    /// Progress of the call with this number.
    Progress(u64, WorkerProgress),
    /// The answer to a call.
    Done(u64, CallDone),
    /// A call that could not be done, for this reason; the worker lives on.
    Failed(u64, String),
    /// The worker is about to die of this.
    Dying(String),
    /// The worker lives.
    Pong,
}

/// The answer to a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum CallDone {
    /// It is done; what it gave, if anything, is attached.
    Nothing,
    /// One result a piece, in order, and then the state of the set.
    Read(Vec<ReadResult>, WorkerProgress),
    /// Split points of the file, ascending; empty if it must be read in one piece.
    SplitPoints(Vec<SplitPoint>),
    /// From worker, to worker; keys are attached in the same order.
    Moves(Vec<(u32, u32)>),
    /// Columns are attached; there are more from this trace on.
    Columns(Option<u32>),
    /// Run the attached pass in every worker.
    Pass,
    /// The query works on: call [`Call::Merge`] again without partials. How far it is, is attached.
    Working,
    /// The report is attached.
    Report,
}

/// Progress of a worker.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerProgress {
    /// Bytes read by this call.
    pub bytes: u64,
    /// Pieces finished by this call.
    pub pieces: u32,
    /// Traces in the worker.
    pub traces: u64,
    /// Spans in the worker.
    pub spans: u64,
    /// Bytes of heap that hold them.
    pub heap: u64,
    /// Size of the worker's wasm memory in bytes.
    pub memory: u64,
}
