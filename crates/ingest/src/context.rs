//! What the readers of bytes are given beside their bytes, and how reading ends.

use crate::bytes::masks::Masks;
use crate::bytes::window::Window;
use crate::formats::jaeger_fast::FastReader;
use crate::guess::Mapping;
use crate::judge::{Judge, Refusal};
use crate::sink::Sink;
use crate::summaries::TakeSummaries;
use pathlight_trace::{SetFull, TraceSet};

/// Text is taken in pieces of this size, so that what is worked on stays in the processor's cache.
pub(crate) const PIECE: usize = 64 << 10;

/// What a source needs while it reads.
pub(crate) struct Context<'a> {
    pub sink: &'a mut Sink,
    pub set: &'a mut TraceSet,
    pub scratch: &'a mut Scratch,
    /// Looks at the records in place of reading them, if the question is what they are.
    pub judge: Option<&'a mut Judge>,
    /// Takes summaries of traces; `None`: they are refused.
    pub summaries: Option<&'a mut dyn TakeSummaries>,
    /// What people have said of rows that no format is known of.
    pub maps: &'a [Mapping],
    /// Name of the input.
    pub name: &'a str,
    pub how: How,
}

/// What readers of the same set leave to each other.
#[derive(Default)]
pub(crate) struct Scratch {
    /// Reads Jaeger's spans by what it has met before.
    pub fast: FastReader,
    /// Windows not in use.
    pub windows: Vec<Window>,
}

/// In which way an input is read.
#[derive(Clone, Copy, Default)]
pub(crate) struct How {
    /// Reads by the slow reference way only.
    pub reference: bool,
    /// How the shape of a text is looked at by the fast way.
    pub masks: Masks,
    /// Whether somebody has looked at the first records before.
    pub is_recognised: bool,
}

impl<'a> Context<'a> {
    /// Returns what a source needs that is read and whose summaries are refused.
    pub fn new(sink: &'a mut Sink, set: &'a mut TraceSet, scratch: &'a mut Scratch, how: How) -> Context<'a> {
        Context { sink, set, scratch, judge: None, summaries: None, maps: &[], name: "", how }
    }

    /// Takes note of JSON that is no trace.
    pub fn note_other(&mut self, at: u64, text: impl FnOnce() -> String) {
        match &mut self.judge {
            Some(judge) => judge.other(at, text),
            None => self.sink.note_other(at, text),
        }
    }

    /// Hands on a summary of traces.
    pub fn take_summary(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let Some(summaries) = &mut self.summaries else { return Ok(()) };
        let name = match &self.sink.problems.member {
            Some(member) if !member.is_empty() => format!("{}/{member}", self.name),
            _ => self.name.to_owned(),
        };
        let counts = summaries.take(name, self.set.loading_group, bytes).map_err(Stop::Summary)?;
        self.sink.count_summary(counts.traces, counts.spans);
        Ok(())
    }
}

/// How a walk ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum WalkEnd {
    Whole,
    Cut(u64),
}

/// Reason why reading a source stopped.
#[derive(Clone, Debug)]
pub(crate) enum Stop {
    /// The memory for traces is full.
    Full(SetFull),
    /// The format is not recognised; the first bytes, and what they may be.
    Unknown(Vec<u8>, &'static str),
    /// A summary of traces that cannot be read, and why.
    Summary(String),
    /// Its first records are no spans.
    Refused(Refusal),
}

impl From<SetFull> for Stop {
    fn from(full: SetFull) -> Stop {
        Stop::Full(full)
    }
}
