//! Looks at the requests inside a cut: what a worker does for one.

use super::EngineError;
use super::anomaly::VectorStudy;
use super::tprof::TracesStudy;
use super::workers::frame;
use pathlight_analysis::anomaly::{Encoding, Injection};
use pathlight_analysis::critical_path::{
    BottomUpPart, ColumnEdge, ColumnOrder, DiffPart, EndpointPart, HeatPart, HistogramsObserver, Observer,
    PathTable, ProposalsObserver, ServiceObserver, SplitObserver, SplitOf, TagValuesObserver, Walk,
    sorted_places, tied_places,
};
use pathlight_analysis::errors::ErrorsObserver;
use pathlight_analysis::requests::Overlap;
use pathlight_model::trace::TraceSet;
use serde::{Deserialize, Serialize};

/// What to look for in the requests inside a cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Study {
    /// Frames of one side of a comparison.
    Diff,
    /// Self time by service.
    Services,
    /// Times of every trace, for tprof.
    Traces { tag: Option<String> },
    /// Times by endpoint.
    Rows,
    /// Times by root endpoint and endpoint.
    BottomUp,
    /// Sizes of requests.
    Histograms,
    /// Vectors of requests, or of their abnormal copies.
    Vectors { encoding: Encoding, injected: Option<(Injection, u64)> },
    /// Times by value of a tag.
    Split { of: SplitOf, key: String },
    /// Times by value of every tag.
    Proposals { of: SplitOf },
    /// Errors, and requests without them.
    Errors,
    /// Requests by value of a tag.
    TagValues { key: String },
    /// Sorted places of the requests in an order of columns.
    Places { order: ColumnOrder },
    /// Ids of the requests at these places.
    Ties { order: ColumnOrder, tied: Vec<(u64, u64)> },
    /// Cells of the columns between these edges.
    Cells { order: ColumnOrder, edges: Vec<ColumnEdge> },
}

/// A study of the trees of requests, whatever it observes.
pub(super) trait TreeStudy {
    fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool;
    fn progress(&self) -> (u64, u64);
    /// What was found, in parts.
    fn finish(self: Box<Self>, set: &TraceSet) -> Result<Vec<Vec<u8>>, EngineError>;
}

impl<O: Observer> TreeStudy for Walk<O> {
    fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        Walk::step(self, set, table, time_is_up)
    }

    fn progress(&self) -> (u64, u64) {
        Walk::progress(self)
    }

    fn finish(self: Box<Self>, set: &TraceSet) -> Result<Vec<Vec<u8>>, EngineError> {
        Ok(vec![postcard::to_allocvec(&Walk::finish(*self, set))?])
    }
}

impl TreeStudy for TracesStudy {
    fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        TracesStudy::step(self, set, table, time_is_up)
    }

    fn progress(&self) -> (u64, u64) {
        TracesStudy::progress(self)
    }

    fn finish(self: Box<Self>, _: &TraceSet) -> Result<Vec<Vec<u8>>, EngineError> {
        TracesStudy::finish(*self)
    }
}

/// Rows of the path table between two looks at the clock, and in one part; few where tests are to see several.
const CHUNK: usize = if cfg!(debug_assertions) { 64 } else { 1 << 16 };

/// A study being made over one session, in steps.
pub(super) struct Part {
    state: State,
}

enum State {
    /// Over the path table alone: some requests at a time, each a part for itself.
    Table {
        requests: Vec<u32>,
        next: usize,
        parts: Vec<Vec<u8>>,
    },
    Trees(Box<dyn TreeStudy>),
    Ended,
}

impl Part {
    /// Starts a study of some requests of a table.
    pub fn new(set: &TraceSet, study: &Study, overlap: Overlap, requests: Vec<u32>) -> Part {
        let state = match study {
            Study::Traces { tag } => State::Trees(Box::new(TracesStudy::new(set, tag.clone(), requests))),
            Study::Vectors { encoding, injected } => {
                State::Trees(Box::new(VectorStudy::new(set, *encoding, *injected, overlap, requests)))
            }
            Study::Services => State::Trees(Box::new(Walk::new(ServiceObserver::new(set), requests))),
            Study::Split { of, key } => {
                State::Trees(Box::new(Walk::new(SplitObserver::new(set, of, key, overlap), requests)))
            }
            Study::Proposals { of } => {
                State::Trees(Box::new(Walk::new(ProposalsObserver::new(set, of, overlap), requests)))
            }
            Study::TagValues { key } => {
                State::Trees(Box::new(Walk::new(TagValuesObserver::new(set, key), requests)))
            }
            Study::Errors => State::Trees(Box::new(Walk::new(ErrorsObserver::new(set, overlap), requests))),
            Study::Histograms => State::Trees(Box::new(Walk::new(HistogramsObserver::new(set), requests))),
            _ => State::Table { requests, next: 0, parts: Vec::new() },
        };
        Part { state }
    }

    /// Works until done, then returns the partial; or until `time_is_up` returns true.
    pub fn step(
        &mut self,
        set: &TraceSet,
        table: &PathTable,
        study: &Study,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        match &mut self.state {
            State::Trees(trees) => {
                if !trees.step(set, table, time_is_up) {
                    return Ok(None);
                }
            }
            State::Table { requests, next, parts } => loop {
                // Every part has something for each context, so it is no smaller than that.
                let mut left = CHUNK.max(table.contexts().len());
                let from = *next;
                while *next < requests.len() && left > 0 {
                    left = left.saturating_sub(1 + table.entries(requests[*next]).len());
                    *next += 1;
                }
                parts.push(of_table(set, table, study, &requests[from..*next])?);
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
            State::Trees(trees) => frame(&trees.finish(set)?),
            State::Ended => return Err(EngineError::Ended),
        }))
    }

    /// Requests done and requests in all.
    pub fn progress(&self) -> (u64, u64) {
        match &self.state {
            State::Trees(trees) => trees.progress(),
            State::Table { requests, next, .. } => (*next as u64, requests.len() as u64),
            State::Ended => (0, 0),
        }
    }
}

/// The studies that the path table alone answers.
fn of_table(
    set: &TraceSet,
    table: &PathTable,
    study: &Study,
    requests: &[u32],
) -> Result<Vec<u8>, EngineError> {
    Ok(match study {
        Study::Diff => postcard::to_allocvec(&DiffPart::observe(set, table, requests.iter().copied()))?,
        Study::Rows => postcard::to_allocvec(&EndpointPart::observe(set, table, requests))?,
        Study::Places { order } => postcard::to_allocvec(&sorted_places(set, table, requests, order))?,
        Study::Ties { order, tied } => {
            postcard::to_allocvec(&tied_places(set, table, requests, order, tied))?
        }
        Study::Cells { order, edges } => {
            postcard::to_allocvec(&HeatPart::observe(set, table, requests, order, edges))?
        }
        Study::BottomUp => postcard::to_allocvec(&BottomUpPart::observe(set, table, requests))?,
        // Those of trees.
        _ => return Err(EngineError::Ended),
    })
}
