//! Parts of traces whose text several readers share.
//!
//! A reader that begins or ends inside a trace does not know the processes of its spans: Jaeger writes them after the spans.
//! So its part of the trace is kept as it is until [`TraceSet::seal`] finds all parts in one set.

use super::{ProcessId, RawSpan, SetFull, TagSetId, TraceId, TraceSet};
use pathlight_base::steps::in_blocks;
use std::collections::BTreeMap;

/// The spans of a trace between two byte offsets of its text.
#[derive(Debug)]
pub struct TracePart {
    /// Id of the trace.
    pub trace: TraceId,
    /// Number of the input; offsets of others mean something else.
    pub file: u32,
    /// End of the part before; `None`: the trace begins in this one.
    pub from: Option<u64>,
    /// Start of the next part; `None`: the trace ends in this one.
    pub until: Option<u64>,
    /// The spans; a process is a place in `processes`.
    pub spans: Vec<RawSpan>,
    /// Name of each process in the trace, and the process itself if this part defines it.
    pub processes: Vec<(String, Option<ProcessId>)>,
}

impl TraceSet {
    /// Keeps a part of a trace of the [`loading_group`](Self::loading_group) until [`seal`](Self::seal) finds all others.
    pub fn add_part(&mut self, part: TracePart) {
        self.parts.push(TracePart { trace: part.trace.in_group(self.loading_group), ..part });
    }

    /// Returns the ids of the traces that have parts here; one may come several times.
    pub fn traces_in_parts(&self) -> impl Iterator<Item = TraceId> {
        self.parts.iter().map(|part| part.trace)
    }

    /// Drops the parts of some traces: the others will not come.
    pub fn forget_parts(&mut self, is_forgotten: impl Fn(TraceId) -> bool) {
        self.parts.retain(|part| !is_forgotten(part.trace));
    }

    pub(super) fn spans_in_parts(&self) -> usize {
        self.parts.iter().map(|part| part.spans.len()).sum()
    }

    /// Takes out the traces of which all parts are there.
    pub(super) fn take_joined(&mut self) -> Vec<Vec<TracePart>> {
        let mut first = Vec::new();
        let mut later: BTreeMap<(TraceId, u32, u64), TracePart> = BTreeMap::new();
        for part in std::mem::take(&mut self.parts) {
            match part.from {
                None => first.push(part),
                Some(from) => {
                    later.insert((part.trace, part.file, from), part);
                }
            }
        }
        let mut joined = Vec::new();
        for part in first {
            let (trace, file) = (part.trace, part.file);
            let mut until = part.until;
            let mut parts = vec![part];
            while let Some(next) = until.and_then(|at| later.remove(&(trace, file, at))) {
                until = next.until;
                parts.push(next);
            }
            match until {
                None => joined.push(parts),
                Some(_) => self.parts.extend(parts),
            }
        }
        self.parts.extend(later.into_values());
        joined
    }

    /// Makes a trace of all its parts.
    pub(super) fn add_joined(&mut self, parts: Vec<TracePart>) -> Result<(), SetFull> {
        let Some(trace) = parts.first().map(|part| part.trace) else { return Ok(()) };
        let said = parts.iter().flat_map(|part| &part.processes);
        let known: BTreeMap<String, ProcessId> =
            said.filter_map(|(name, process)| Some((name.clone(), (*process)?))).collect();
        let mut spans = Vec::new();
        spans.try_reserve_exact(parts.iter().map(|part| part.spans.len()).sum()).map_err(|_| SetFull)?;
        for part in parts {
            let names = part.processes.iter().map(|(name, _)| known.get(name).copied());
            let processes: Vec<ProcessId> = names
                .map(|process| process.unwrap_or_else(|| self.process("", "", TagSetId::EMPTY)))
                .collect();
            let with_process =
                |&span: &RawSpan| Some(RawSpan { process: *processes.get(span.process.0 as usize)?, ..span });
            in_blocks(part.spans.len(), &mut |block| {
                spans.extend(part.spans[block].iter().filter_map(with_process));
            });
        }
        self.add_grouped(trace, &mut spans)
    }
}
