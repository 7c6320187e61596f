//! Looks at the requests inside a cut: what a worker does for one, and the chains that ask for them.

use super::chain::{Next, Pass, ask};
use super::compare::CompareChain;
use super::{EngineError, Request};
use crate::critical_path::{Cut, DiffPart, PathTable, Scope, ServicePart};
use crate::trace::TraceSet;
use serde::{Deserialize, Serialize};

/// What to look for in the requests inside a cut.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Study {
    /// Frames of one side of a comparison.
    Diff,
    /// Self time by service.
    Services,
}

/// A chain of a family of analyses.
pub(super) trait StudyChain: Send {
    /// The next step, with the partials of the pass asked for last.
    fn next(&mut self, partials: &[Vec<u8>]) -> Result<Next, EngineError>;
}

/// The chain of a request, and the pass to begin with.
pub(super) fn begin(request: &Request) -> Result<(Box<dyn StudyChain>, Next), EngineError> {
    match request {
        Request::Compare { a, band_a, b, band_b } => CompareChain::start([(a, band_a), (b, band_b)]),
        _ => Err(EngineError::Ended),
    }
}

/// The pass of a study.
pub(super) fn ask_study(scope: &Scope, cut: &Cut, study: Study) -> Result<Next, EngineError> {
    ask(&Pass::Study { scope: scope.clone(), cut: cut.clone(), study })
}

/// A study being made over one session, in steps.
pub(super) enum Part {
    Diff(Vec<u32>),
    Services(Box<ServicePart>),
    Done,
}

impl Part {
    /// Starts a study of some requests of a table.
    pub fn new(
        set: &TraceSet,
        _table: &PathTable,
        _scope: &Scope,
        requests: impl Iterator<Item = u32>,
        study: &Study,
    ) -> Part {
        match study {
            Study::Diff => Part::Diff(requests.collect()),
            Study::Services => Part::Services(Box::new(ServicePart::new(set, requests.collect()))),
        }
    }

    /// Works until done, then returns the partial; or until `time_is_up` returns true.
    pub fn step(
        &mut self,
        set: &TraceSet,
        table: &PathTable,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let is_done = match self {
            Part::Services(part) => part.step(set, table, time_is_up),
            Part::Diff(_) | Part::Done => true,
        };
        if !is_done {
            return Ok(None);
        }
        Ok(Some(match std::mem::replace(self, Part::Done) {
            Part::Diff(requests) => {
                postcard::to_allocvec(&DiffPart::observe(set, table, requests.into_iter()))?
            }
            Part::Services(part) => postcard::to_allocvec(&part.finish())?,
            Part::Done => return Err(EngineError::Ended),
        }))
    }

    /// Requests done and requests in all.
    pub fn progress(&self) -> (u64, u64) {
        match self {
            Part::Services(part) => part.progress(),
            Part::Diff(_) | Part::Done => (0, 0),
        }
    }
}
