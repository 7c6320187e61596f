//! Bytes to spans: what a user drops, fetches or pastes becomes columns of a [`TraceSet`](pathlight_trace::TraceSet).
//!
//! A [`Reader`] takes the bytes of one input in parts of any size. It tells the format by content (`sniff`), unpacks archives
//! (`source`), walks the shape of the document (`walk`) over the part of the text that is held (`window`), and hands single
//! spans to the format they are of. Memory holds the columns, one incomplete trace without its text, and one such part.

pub mod columns;
mod document;
mod fast;
mod foreign;
mod jaeger;
mod judge;
mod keep;
mod keys;
mod lists;
mod masks;
mod memo;
mod next;
mod node;
mod otel;
mod otlp;
mod protobuf;
mod reader;
mod report;
mod rows;
mod saved_report;
mod sniff;
mod source;
mod state;
mod stdout;
mod utf16;
mod view;
mod walk;
mod window;
mod wire;
mod zip;
mod zipkin;

pub use keep::Keep;
pub use masks::Masks;
pub use reader::{Options, Reader, Unpack};
pub use report::{
    Accounts, ChunkEnd, Ended, ErrorKind, Example, FileReport, IngestError, PartEnd, Problem, ProblemKind,
    Progress,
};
pub use walk::split::{HEAD_BYTES, SEARCH_BYTES, SplitFinder, SplitPoint, places_to_split};
pub use wire::otlp_json;
