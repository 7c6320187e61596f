//! Bytes to spans: what a user drops, fetches or pastes becomes columns of a [`TraceSet`](pathlight_trace::TraceSet).
//!
//! A [`Reader`] takes the bytes of one input in parts of any size. It unpacks archives and holds a part of the text ([`bytes`]),
//! walks the shape of the document (`json`), and hands single spans to the format they are of ([`formats`]). Memory holds the columns, one incomplete trace without its text, and one such part.

mod building;
pub mod bytes;
mod clock;
mod context;
mod document;
pub mod formats;
mod guess;
mod json;
mod judge;
mod keep;
mod needs;
mod reader;
mod report;
mod sink;
mod summaries;
mod target;
#[cfg(test)]
mod tests;

pub use bytes::trial::HEAD_BYTES;
pub use guess::{Guess, GuessField, GuessedRow, Mapping};
pub use json::walk::split::{
    FIRST_LOOK_BYTES, SEARCH_BYTES, SplitFinder, SplitPoint, places_to_share, places_to_split,
};
pub use keep::KeptTraces;
pub use reader::{ReadOptions, ReadRules, Reader};
pub use report::{
    Accounts, ChunkEnd, Ended, ErrorKind, Example, FileReport, IngestError, ProblemKind, ReadProblem,
    ReadProgress,
};
pub use summaries::{SummaryCounts, TakeSummaries};
pub use target::{ManyInputs, ReadTarget, ReaderMemory, TargetParts};
