//! All traces in one order, with what every layer needs of a span.

use super::aggregate::AggregateTrace;
use super::block::Block;
use super::collect::TracesPart;
use super::diagnose::{self, Aggregates, DiagnosedEndpoint, DiagnosedGroup};
use super::layers::{self, Layer};
use super::merge::Merging;
use super::places::{PlacesReport, tail_places};
use pathlight_model::sort::Arrange;
use pathlight_model::steps::{Pace, all_at_once};
use pathlight_model::trace::Endpoint;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

/// What the user may choose.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Settings {
    /// Where the tail begins, in thousandths: 900 leaves the slowest tenth.
    pub tail_permille: u32,
    /// Endpoints, request types, span parts and groups in the report.
    pub top: [u32; 4],
    /// At most so many groups of layers 3 and 4 are listed, those with the most time first.
    pub groups: u32,
}

impl Default for Settings {
    fn default() -> Settings {
        Settings { tail_permille: 900, top: [10, 2, 2, 2], groups: 20 }
    }
}

/// The diagnosis: groups of traces in four layers, what is slow and where, and what makes the tail slow.
/// Request types are those of `--by`; with `--tag KEY` the values of that tag.
///
/// With `--aggregate N` the aggregate trace of a group is printed instead, with `--format jaeger` all of them, or that one,
/// as a Jaeger API response.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TprofReport {
    /// Requests analysed.
    pub traces: u64,
    /// Requests kept out because their trace has an orphan root.
    pub has_orphans: u64,
    /// The groups of layers 1 to 4; of layers 3 and 4 the 20 with the most time.
    pub layers: Vec<Layer>,
    /// How many endpoints there are, of which `report` lists the first.
    pub endpoints_in_all: u64,
    /// The diagnosis, the endpoint with the most self time first.
    pub report: Vec<DiagnosedEndpoint>,
    /// What makes the tail slow, by request type.
    pub tail: PlacesReport,
    /// What is to be known of a diagnosis of a summary; `null` of traces.
    pub summary: Option<OfSummary>,
}

/// A diagnosis of a summary has neither groups of traces nor layers 3 and 4, percentiles and intervals. Request types are
/// root endpoints, their traces are those of any latency, and the tail begins at the nearest end of a latency bin.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OfSummary {
    /// Endpoints of request types that have more places than a summary tells apart: they have no parts, and are not among
    /// what makes the tail slow.
    pub too_wide: u64,
    /// Requests kept out because their trace has several roots.
    pub has_roots: u64,
}

impl TprofReport {
    /// Returns the group with this `aggregate_trace`.
    pub fn group(&self, number: u32) -> Option<&DiagnosedGroup> {
        let types = self.report.iter().flat_map(|endpoint| &endpoint.types);
        let mut groups = types.flat_map(|kind| &kind.spans).flat_map(|span| &span.groups);
        groups.find(|group| group.aggregate_trace == number)
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
    /// Joins parts of disjoint traces, in any order.
    pub fn merge(parts: Vec<TracesPart>) -> Traces {
        all_at_once(async {
            let (mut merging, mut pace) = (Merging::default(), Pace::default());
            for part in parts {
                merging.add(part, &mut pace).await;
            }
            merging.finish(&mut pace).await
        })
    }

    /// Layers, report and the list of what makes the tail slow.
    pub fn finish(&self, settings: &Settings) -> TprofReport {
        all_at_once(async { self.report(settings, &mut Pace::default()).await })
    }

    /// Returns what [`finish`](Self::finish) returns, in steps.
    pub async fn report(&self, settings: &Settings, pace: &mut Pace) -> TprofReport {
        let (endpoints_in_all, report, _) = diagnose::diagnose(self, settings, None, pace).await;
        TprofReport {
            traces: self.traces.len() as u64,
            has_orphans: self.orphans,
            layers: layers::layers(self, settings, pace).await,
            endpoints_in_all,
            report,
            tail: tail_places(self, settings, pace).await,
            summary: None,
        }
    }

    /// Returns the aggregate traces that the report with these settings points at, or one of them, in steps.
    pub async fn aggregates(
        &self,
        settings: &Settings,
        wanted: Aggregates,
        pace: &mut Pace,
    ) -> Vec<AggregateTrace> {
        diagnose::diagnose(self, settings, Some(wanted), pace).await.2
    }

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
        groups.arrange_by_key(|group| group.0);
        groups
    }

    /// Returns the request types.
    pub(super) fn by_type(&self, traces: &[u32]) -> Vec<(u32, Vec<u32>)> {
        self.grouped(traces, |t| t.request_type)
    }

    /// Returns the layer 3.
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
pub(crate) fn normal_of(n: usize, settings: &Settings) -> Option<usize> {
    (n >= 10).then(|| (n as u64 * u64::from(settings.tail_permille.min(1000)) / 1000) as usize)
}
