//! What readers fill.

use crate::context::Scratch;
use crate::sink::SinkMemory;
use crate::summaries::TakeSummaries;
use pathlight_trace::TraceSet;

/// What a [`Reader`](crate::Reader) fills: a [`TraceSet`] by itself, or with what its owner keeps beside it.
pub trait ReadTarget {
    /// Returns what is filled.
    fn parts(&mut self) -> TargetParts<'_>;
}

/// The parts of a [`ReadTarget`].
pub struct TargetParts<'a> {
    /// Takes spans.
    pub set: &'a mut TraceSet,
    /// What readers of this set leave to each other; `None`: each begins anew.
    pub memory: Option<&'a mut ReaderMemory>,
    /// Takes summaries of traces; `None`: they are refused.
    pub summaries: Option<&'a mut dyn TakeSummaries>,
}

impl ReadTarget for TraceSet {
    fn parts(&mut self) -> TargetParts<'_> {
        TargetParts { set: self, memory: None, summaries: None }
    }
}

/// What readers of one set leave to each other: what they have learned of tags and names, and memory. It is of no use with
/// another set, whose names and tags have other numbers.
#[derive(Default)]
pub struct ReaderMemory {
    pub(crate) sink: SinkMemory,
    pub(crate) scratch: Scratch,
}

/// A set that is filled from many inputs, the sooner for what readers leave to each other.
#[derive(Default)]
pub struct ManyInputs {
    /// The set. Another one must not take its place: what readers remember is of this one.
    pub set: TraceSet,
    memory: ReaderMemory,
}

impl ReadTarget for ManyInputs {
    fn parts(&mut self) -> TargetParts<'_> {
        TargetParts { set: &mut self.set, memory: Some(&mut self.memory), summaries: None }
    }
}
