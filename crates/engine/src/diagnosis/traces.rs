//! All traces in one order, with what every layer needs of a span.

use super::block::Block;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::Endpoint;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// Settings that the user may choose.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct DiagnosisSettings {
    /// Start of the tail, in thousandths: 900 leaves the slowest tenth.
    pub tail_permille: u32,
    /// Endpoints, request types, span parts and groups in the report.
    pub top: [u32; 4],
    /// At most so many groups of layers 3 and 4 are listed, those with the most time first.
    pub groups: u32,
}

impl Default for DiagnosisSettings {
    fn default() -> DiagnosisSettings {
        DiagnosisSettings { tail_permille: 900, top: [10, 2, 2, 2], groups: 20 }
    }
}

/// One trace of the merged ones.
pub(super) struct Trace {
    pub id: String,
    pub root_span_id: String,
    pub request_type: u32,
    /// Number of the block of its shape, and its row there.
    pub shape: u32,
    pub row: u32,
    /// Duration of its root.
    pub duration_us: u64,
    /// Positions whose kind is client.
    pub callers: Vec<u32>,
}

impl Trace {
    /// Returns whether the span of a position is a client.
    pub fn calls(&self, position: u32) -> bool {
        self.callers.binary_search(&position).is_ok()
    }
}

/// All traces by (root duration, trace id), with shapes and names in an order of names.
pub struct Traces {
    pub(super) endpoints: Vec<Endpoint>,
    /// One block per shape.
    pub(super) blocks: Vec<Block>,
    pub(super) types: Vec<Endpoint>,
    pub(super) traces: Vec<Trace>,
    pub(super) orphans: u64,
}

impl Traces {
    pub(super) fn all(&self) -> Vec<u32> {
        (0..self.traces.len() as u32).collect()
    }

    /// Returns the block of a trace.
    pub(super) fn block_of(&self, trace: u32) -> &Block {
        &self.blocks[self.traces[trace as usize].shape as usize]
    }

    /// Returns where traces of one shape stand in its block.
    pub(super) fn rows(&self, traces: &[u32]) -> Vec<u32> {
        traces.iter().map(|&t| self.traces[t as usize].row).collect()
    }

    /// Groups by a key, in the order of the keys; traces keep their order.
    fn grouped(&self, traces: &[u32], key: impl Fn(&Trace) -> u32) -> Vec<(u32, Vec<u32>)> {
        let mut groups: FxHashMap<u32, Vec<u32>> = FxHashMap::default();
        for &t in traces {
            groups.entry(key(&self.traces[t as usize])).or_default().push(t);
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.compact_sort_by_key(|group| group.0);
        groups
    }

    /// Groups traces by request type; returns the number of each type with its traces, the lowest first.
    pub(super) fn by_type(&self, traces: &[u32]) -> Vec<(u32, Vec<u32>)> {
        self.grouped(traces, |t| t.request_type)
    }

    /// Groups traces by shape, which gives layer 3; returns the number of each shape with its traces, the lowest first.
    pub(super) fn by_shape(&self, traces: &[u32]) -> Vec<(u32, Vec<u32>)> {
        self.grouped(traces, |t| t.shape)
    }

    /// Returns the layer 4 of traces of one shape.
    pub(super) fn by_order(&self, traces: &[u32]) -> Vec<Vec<u32>> {
        let Some(&first) = traces.first() else { return Vec::new() };
        self.by_rank(traces, &self.block_of(first).order)
    }

    /// Returns the local form of layer 4: by the order of the children of one position.
    pub(super) fn by_local_order(&self, traces: &[u32], position: u32) -> Vec<Vec<u32>> {
        let Some(&first) = traces.first() else { return Vec::new() };
        match self.block_of(first).ways(position) {
            Some(ways) => self.by_rank(traces, ways),
            None => vec![traces.to_vec()],
        }
    }

    fn by_rank(&self, traces: &[u32], ranks: &[u32]) -> Vec<Vec<u32>> {
        self.grouped(traces, |t| ranks[t.row as usize]).into_iter().map(|group| group.1).collect()
    }

    /// Returns the traces of every whole layer-4 group: each list has one shape and one order of events.
    pub fn layer_4(&self) -> Vec<Vec<u32>> {
        let mut out = Vec::new();
        for (_, group) in self.by_shape(&self.all()) {
            out.extend(self.by_order(&group));
        }
        out
    }
}

/// Returns how many traces of a group are normal; `None` for a group too small to split.
pub(crate) fn normal_of(n: usize, settings: &DiagnosisSettings) -> Option<usize> {
    (n >= 10).then(|| (n as u64 * u64::from(settings.tail_permille.min(1000)) / 1000) as usize)
}
