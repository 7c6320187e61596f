//! Passes over the requests inside a cut: what a worker does for one.

use super::workers::frame;
use crate::EngineError;
use crate::anomalies::query::{InjectionPlan, VectorKind, VectorPass};
use crate::compare::DiffPart;
use crate::compare::services::CulpritObserver;
use crate::diagnosis::query::TracesPass;
use crate::endpoints::{BottomUpPart, EndpointPart};
use crate::errors::ErrorsObserver;
use crate::findings::{FindingsObserver, PairsObserver, TagGroup, TagValue, TagsObserver};
use crate::flame::{
    Aggregate, ExemplarCandidates, ExemplarTargets, HistogramsObserver, Observer, PathTable, Walk,
};
use crate::heatmap::{ColumnEdge, ColumnOrder, HeatPart, sorted_column_keys, tied_column_keys};
use crate::requests::search::{SearchObserver, SpanSearch};
use crate::requests::{RequestTypes, TypeCut, TypeLatencies};
use crate::requests_list::rows::{path_of, slowest};
use crate::split::{ProposalsObserver, SplitObserver, SplitOf, TagValuesObserver};
use pathlight_base::encoding;
use pathlight_trace::PathSettings;
use pathlight_trace::TraceSet;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What to look for in the requests inside a cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum RequestPass {
    /// Times by calling context.
    Aggregate,
    /// Requests that may be examples of a calling context.
    Exemplars { targets: ExemplarTargets },
    /// The slowest requests.
    Slowest { limit: u32 },
    /// The path of every request.
    PerRequest,
    /// Frames of one side of a comparison.
    Diff,
    /// Times of calls and visits by service.
    Culprit,
    /// Start and latency by request type.
    Latencies,
    /// Times of every trace, for tprof.
    Traces,
    /// Times by endpoint.
    Rows,
    /// Times by root endpoint and endpoint.
    BottomUp,
    /// Sizes of requests.
    Histograms,
    /// Facts or vectors of requests, or of abnormal copies of some.
    Vectors { kind: VectorKind, plan: Option<InjectionPlan> },
    /// Times by value of a tag.
    Split { of: SplitOf, key: String },
    /// Times by value of every tag.
    Proposals { of: SplitOf },
    /// Errors, and requests without them.
    Errors,
    /// Where the tails of request types spend more, and what is odd about structures.
    Findings { cuts: Vec<TypeCut> },
    /// Tags of request types.
    FindingTags { groups: Vec<TagGroup> },
    /// Which of these tags the requests of request types have.
    TagPairs { groups: Vec<TagGroup>, tags: Vec<TagValue> },
    /// Requests by value of a tag.
    TagValues { key: String },
    /// Spans, endpoints and requests that a search finds.
    Search { search: SpanSearch },
    /// Sorted places of the requests in an order of columns.
    Places { order: ColumnOrder },
    /// Ids of the requests at these places.
    Ties { order: ColumnOrder, tied: Vec<(u64, u64)> },
    /// Cells of the columns between these edges.
    Cells { order: ColumnOrder, edges: Vec<ColumnEdge> },
}

impl RequestPass {
    /// Returns whether its partial is one part: where parts of fewer requests would be as large.
    fn is_one_part(&self) -> bool {
        matches!(self, RequestPass::Aggregate | RequestPass::Exemplars { .. } | RequestPass::Slowest { .. })
    }

    /// Returns whether it tells request types apart.
    pub fn is_by_type(&self) -> bool {
        matches!(
            self,
            RequestPass::Latencies
                | RequestPass::Traces
                | RequestPass::Findings { .. }
                | RequestPass::FindingTags { .. }
                | RequestPass::TagPairs { .. }
        )
    }
}

/// A pass over the trees of requests, whatever it observes.
pub(crate) trait TreePass {
    fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool;
    fn progress(&self) -> (u64, u64);
    /// Returns what was found, in parts.
    fn finish(self: Box<Self>, set: &TraceSet) -> Vec<Vec<u8>>;
}

impl<O: Observer> TreePass for Walk<O> {
    fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        Walk::step(self, set, table, time_is_up)
    }

    fn progress(&self) -> (u64, u64) {
        Walk::progress(self)
    }

    fn finish(self: Box<Self>, set: &TraceSet) -> Vec<Vec<u8>> {
        vec![encoding::write(&Walk::finish(*self, set))]
    }
}

impl TreePass for TracesPass {
    fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        TracesPass::step(self, set, table, time_is_up)
    }

    fn progress(&self) -> (u64, u64) {
        TracesPass::progress(self)
    }

    fn finish(self: Box<Self>, _: &TraceSet) -> Vec<Vec<u8>> {
        TracesPass::finish(*self)
    }
}

/// Rows of the path table between two looks at the clock, and in one part; few where tests are to see several.
const CHUNK: usize = if cfg!(debug_assertions) { 64 } else { 1 << 16 };

/// A pass being run over one session, in steps.
pub(crate) struct RunningPass {
    state: State,
}

enum State {
    /// Over the path table alone: some requests at a time, each a part for itself.
    Table {
        settings: PathSettings,
        types: Arc<RequestTypes>,
        requests: Vec<u32>,
        next: usize,
        parts: Vec<Vec<u8>>,
    },
    Trees(Box<dyn TreePass>),
    Ended,
}

impl RunningPass {
    /// Starts a pass over some requests of a table; all of the table are of these types, if the pass tells them apart.
    pub fn new(
        set: &TraceSet,
        pass: &RequestPass,
        settings: PathSettings,
        types: Arc<RequestTypes>,
        requests: Vec<u32>,
    ) -> RunningPass {
        let state = match pass {
            RequestPass::Traces => State::Trees(Box::new(TracesPass::new(set, types, settings, requests))),
            RequestPass::Vectors { kind, plan } => {
                State::Trees(Box::new(VectorPass::new(set, *kind, *plan, settings, requests)))
            }
            RequestPass::Culprit => State::Trees(Box::new(Walk::new(
                CulpritObserver::new(set, settings.overlap),
                settings,
                requests,
            ))),
            RequestPass::Split { of, key } => State::Trees(Box::new(Walk::new(
                SplitObserver::new(set, of, key, settings.overlap),
                settings,
                requests,
            ))),
            RequestPass::Proposals { of } => State::Trees(Box::new(Walk::new(
                ProposalsObserver::new(set, of, settings.overlap),
                settings,
                requests,
            ))),
            RequestPass::Findings { cuts } => {
                State::Trees(Box::new(Walk::new(FindingsObserver::new(set, types, cuts), settings, requests)))
            }
            RequestPass::FindingTags { groups } => {
                State::Trees(Box::new(Walk::new(TagsObserver::new(set, types, groups), settings, requests)))
            }
            RequestPass::TagPairs { groups, tags } => {
                let observer = PairsObserver::new(set, types, groups, tags);
                State::Trees(Box::new(Walk::new(observer, settings, requests)))
            }
            RequestPass::TagValues { key } => {
                State::Trees(Box::new(Walk::new(TagValuesObserver::new(set, key), settings, requests)))
            }
            RequestPass::Search { search } => {
                State::Trees(Box::new(Walk::new(SearchObserver::new(set, search), settings, requests)))
            }
            RequestPass::Errors => State::Trees(Box::new(Walk::new(
                ErrorsObserver::new(set, settings.overlap),
                settings,
                requests,
            ))),
            RequestPass::Histograms => {
                State::Trees(Box::new(Walk::new(HistogramsObserver::new(set), settings, requests)))
            }
            _ => State::Table { settings, types, requests, next: 0, parts: Vec::new() },
        };
        RunningPass { state }
    }

    /// Works until done, then returns the partial; or until `time_is_up` returns true.
    pub fn step(
        &mut self,
        set: &TraceSet,
        table: &PathTable,
        pass: &RequestPass,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        match &mut self.state {
            State::Trees(trees) => {
                if !trees.step(set, table, time_is_up) {
                    return Ok(None);
                }
            }
            State::Table { settings, types, requests, next, parts } => loop {
                // Every part has something for each context, so it is no smaller than that.
                let mut left =
                    if pass.is_one_part() { usize::MAX } else { CHUNK.max(table.contexts().len()) };
                let from = *next;
                while *next < requests.len() && left > 0 {
                    left = left.saturating_sub(1 + table.entries(requests[*next]).len());
                    *next += 1;
                }
                parts.push(of_table(set, table, pass, (*settings, types.as_ref()), &requests[from..*next])?);
                if *next == requests.len() {
                    break;
                }
                if time_is_up() {
                    return Ok(None);
                }
            },
            State::Ended => return Err(EngineError::Ended),
        }
        Ok(Some(match std::mem::replace(&mut self.state, State::Ended) {
            State::Table { parts, .. } => frame(&parts),
            State::Trees(trees) => frame(&trees.finish(set)),
            State::Ended => return Err(EngineError::Ended),
        }))
    }

    /// Returns the requests done and requests in all.
    pub fn progress(&self) -> (u64, u64) {
        match &self.state {
            State::Trees(trees) => trees.progress(),
            State::Table { requests, next, .. } => (*next as u64, requests.len() as u64),
            State::Ended => (0, 0),
        }
    }
}

/// Returns the passes for which the path table is enough.
fn of_table(
    set: &TraceSet,
    table: &PathTable,
    pass: &RequestPass,
    (settings, types): (PathSettings, &RequestTypes),
    requests: &[u32],
) -> Result<Vec<u8>, EngineError> {
    let all = || requests.iter().copied();
    Ok(match pass {
        RequestPass::Aggregate => encoding::write(&Aggregate::observe(set, table, all())),
        RequestPass::Exemplars { targets } => {
            encoding::write(&ExemplarCandidates::observe(set, table, all(), targets))
        }
        RequestPass::Slowest { limit } => encoding::write(&slowest(set, table, requests, *limit)),
        RequestPass::Latencies => encoding::write(&TypeLatencies::observe(&table.requests, types, requests)),
        RequestPass::PerRequest => {
            let rows: Vec<_> = all().map(|r| path_of(set, table, r, settings)).collect();
            encoding::write(&rows)
        }
        RequestPass::Diff => encoding::write(&DiffPart::observe(set, table, all())),
        RequestPass::Rows => encoding::write(&EndpointPart::observe(set, table, requests)),
        RequestPass::Places { order } => encoding::write(&sorted_column_keys(set, table, requests, order)),
        RequestPass::Ties { order, tied } => {
            encoding::write(&tied_column_keys(set, table, requests, order, tied))
        }
        RequestPass::Cells { order, edges } => {
            encoding::write(&HeatPart::observe(set, table, requests, order, edges))
        }
        RequestPass::BottomUp => encoding::write(&BottomUpPart::observe(set, table, requests)),
        // Those of trees.
        _ => return Err(EngineError::Ended),
    })
}
