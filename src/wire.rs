//! What page and workers say to each other.
//!
//! A message is an array: first the envelope, a small plain object; then its attachments, Blobs (shared by handle) and
//! ArrayBuffers (transferred, never copied). A call carries a number, and its answers carry the same.

use js_sys::{Array, ArrayBuffer, Uint8Array};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use wasm_bindgen::{JsCast, JsValue};

use pathlight_ingest::{FileReport, Keep, SplitPoint};

/// From the page to a worker.
#[derive(Debug, Serialize, Deserialize)]
pub enum ToWorker {
    /// Do this and answer with [`FromWorker::Done`] or [`FromWorker::Failed`] of the same number.
    Call(u64, Call),
    /// Nobody waits for the answer of this call any more: stop and say nothing.
    Forget(u64),
    /// Stop reading, keep the complete traces and answer.
    StopReading(u64),
    /// Drop the plan of a query.
    EndPlan(u64),
    /// Get ready for a load while there is nothing to do.
    WarmUp,
}

/// Something a worker is asked to do.
#[derive(Debug, Serialize, Deserialize)]
pub enum Call {
    /// Read these; one Blob each is attached. Answered by [`Done::Read`].
    Read {
        /// What is read.
        pieces: Vec<Piece>,
        /// Heap that columns may take.
        most_bytes: u64,
    },
    /// Find a split point after each of these offsets of the attached Blob. Answered by [`Done::SplitPoints`].
    Cut(Vec<u64>),
    /// Join what was read. Answered by [`Done::Nothing`].
    Seal,
    /// Forget the traces of a group; what was read must be joined before. Answered by [`Done::Nothing`].
    Unload {
        /// The group.
        group: u8,
    },
    /// Which traces are here? Answered by one attachment.
    TraceKeys,
    /// Where must traces go that are at several workers? Key lists are attached, one a worker. Answered by
    /// [`Done::Moves`] with the keys of each move attached.
    PlanMoves,
    /// Give away the traces of the attached keys. Answered by one attachment.
    TakeTraces,
    /// Take in the attached traces; [`Call::Seal`] joins them. Answered by [`Done::Nothing`].
    PutTraces,
    /// Write the demo traces. Answered by one attachment: Jaeger JSON.
    Demo,
    /// Copy columns for a saved report, from this trace on. Answered by [`Done::Columns`] with them attached.
    CopyColumns {
        /// Number of the first trace.
        from: u32,
    },
    /// A query begins; its message is attached. Answered by [`Done::Pass`], [`Done::Working`] or [`Done::Report`], with
    /// the pass, the progress or the report attached.
    Begin {
        /// Number of the plan.
        plan: u64,
        /// State of the data of all workers; plans over the same share what they know. `None`: it is changing.
        data: Option<u64>,
    },
    /// The partials of the last pass are attached; answered like [`Call::Begin`].
    Merge {
        /// Number of the plan.
        plan: u64,
    },
    /// Run the attached pass over the traces here. Answered by one attachment.
    Pass {
        /// Number of the plan.
        plan: u64,
    },
}

/// A file or a part of one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// Name to show.
    pub name: String,
    /// Which set of traces it belongs to, see [`Selection::group`](pathlight_query::Selection::group).
    pub group: u8,
    /// Which traces of it are kept.
    pub keep: Keep,
    /// Of a slice of a file: where it starts and ends; `None` within is the start or end of the file.
    pub slice: Option<(Option<SplitPoint>, Option<SplitPoint>)>,
}

/// From a worker to the page.
#[derive(Debug, Serialize, Deserialize)]
pub enum FromWorker {
    /// The worker listens.
    Hello,
    /// How far a call is.
    Progress(u64, Progress),
    /// The answer to a call.
    Done(u64, Done),
    /// A call that could not be done; the worker lives on.
    Failed(u64, String),
    /// The worker is about to die of this.
    Dying(String),
}

/// The answer to a call.
#[derive(Debug, Serialize, Deserialize)]
pub enum Done {
    /// It is done; whatever is to be said is attached.
    Nothing,
    /// One result a piece, in order, and then the state of the set. For every slice that has a report a
    /// [`ChunkEnd`](pathlight_ingest::ChunkEnd) is attached, in order.
    Read(Vec<PieceResult>, Progress),
    /// Where the file can be cut, in order; none if it must be read in one piece.
    SplitPoints(Vec<SplitPoint>),
    /// From worker, to worker; keys are attached in the same order.
    Moves(Vec<(u32, u32)>),
    /// Columns are attached; there are more from this trace on.
    Columns(Option<u32>),
    /// Run the attached pass everywhere.
    Pass,
    /// More is to be worked out: call [`Call::Merge`] again without partials. How far it is, is attached.
    Working,
    /// The report is attached.
    Report,
}

impl PieceResult {
    /// What was found, if it was begun.
    pub fn report(&mut self) -> Option<&mut FileReport> {
        match self {
            PieceResult::Read { report, .. } | PieceResult::Full { report, .. } => Some(report),
            PieceResult::Unreadable(_) | PieceResult::Untouched => None,
        }
    }
}

/// What became of one piece.
#[derive(Debug, Serialize, Deserialize)]
pub enum PieceResult {
    /// Read to its end, or to where reading was stopped.
    Read {
        /// What was found.
        report: FileReport,
        /// Bytes read.
        bytes: u64,
    },
    /// The browser could not read it: gone, changed since it was chosen, not permitted.
    Unreadable(String),
    /// Memory ended; what came before is kept.
    Full {
        /// What was found until then.
        report: FileReport,
        /// Bytes read.
        bytes: u64,
    },
    /// Not begun, because reading was stopped or memory ended before.
    Untouched,
}

/// How far reading is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
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

/// A message ready for `postMessage`: itself and what to transfer.
pub struct Packed {
    /// The message.
    pub message: JsValue,
    /// The buffers that move.
    pub transfer: JsValue,
}

/// Packs a message; every attached ArrayBuffer is moved when it is posted.
pub fn pack<T: Serialize>(envelope: &T, attachments: &[JsValue]) -> Packed {
    // Plain data; only a number beyond 2^53 could fail, and then the other side says that it cannot read it.
    let message = Array::of1(&serde_wasm_bindgen::to_value(envelope).unwrap_or(JsValue::NULL));
    let transfer = Array::new();
    for attachment in attachments {
        message.push(attachment);
        if attachment.is_instance_of::<ArrayBuffer>() {
            transfer.push(attachment);
        }
    }
    Packed { message: message.into(), transfer: transfer.into() }
}

/// The envelope and the attachments of a message; `None` if it is none of ours.
pub fn unpack<T: DeserializeOwned>(message: &JsValue) -> Option<(T, Vec<JsValue>)> {
    let parts = message.dyn_ref::<Array>()?;
    let envelope = serde_wasm_bindgen::from_value(parts.get(0)).ok()?;
    Some((envelope, parts.iter().skip(1).collect()))
}

/// Bytes as an attachment that can be moved.
pub fn buffer(bytes: &[u8]) -> JsValue {
    Uint8Array::from(bytes).buffer().into()
}

/// The bytes of an attachment; empty if it is no buffer.
pub fn bytes(attachment: &JsValue) -> Vec<u8> {
    match attachment.dyn_ref::<ArrayBuffer>() {
        Some(buffer) => Uint8Array::new(buffer).to_vec(),
        None => Vec::new(),
    }
}

/// A JavaScript error in words.
pub fn words(error: &JsValue) -> String {
    match error.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => error.as_string().unwrap_or_else(|| format!("{error:?}")),
    }
}
