//! The chain of tprof: the requests are cut, then workers send the times of their traces.

use super::chain::{Next, read_parts};
use super::cutting::{Cutter, Cutting};
use super::study::{Study, StudyChain, ask_study};
use super::{EngineError, Report};
use crate::critical_path::{Band, Cut, PathTable, Scope};
use crate::tprof::{Settings, TraceCollector, Traces, TracesPart};
use crate::trace::{TraceSet, Tree};

/// Requests between two looks at the clock.
const CHUNK: usize = 16;

enum State {
    Cutting(Cutter),
    Traces,
    Ended,
}

/// One set, or two sets to compare.
pub(super) struct TprofChain {
    sides: Vec<(Scope, Band)>,
    settings: Settings,
    done: Vec<Vec<TracesPart>>,
    state: State,
}

impl TprofChain {
    /// Starts with the first side.
    pub fn start(
        sides: Vec<(Scope, Band)>,
        settings: &Settings,
    ) -> Result<(Box<dyn StudyChain>, Next), EngineError> {
        let (scope, band) = sides.first().cloned().ok_or(EngineError::Ended)?;
        let (cutter, next) = Cutter::start(scope, band)?;
        let (settings, done) = (settings.clone(), Vec::new());
        Ok((Box::new(TprofChain { sides, settings, done, state: State::Cutting(cutter) }), next))
    }

    fn ask_traces(&mut self, cut: &Cut) -> Result<Next, EngineError> {
        self.state = State::Traces;
        let study = Study::Traces { tag: self.settings.tag.clone() };
        ask_study(&self.sides[self.done.len()].0, cut, study)
    }
}

impl StudyChain for TprofChain {
    fn next(&mut self, partials: &[Vec<u8>]) -> Result<Next, EngineError> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Cutting(mut cutter) => match cutter.next(partials)? {
                Cutting::Ask(next) => {
                    self.state = State::Cutting(cutter);
                    Ok(next)
                }
                Cutting::Done(cut, _) => self.ask_traces(&cut),
            },
            State::Traces => {
                self.done.push(read_parts(partials)?);
                if let Some((scope, band)) = self.sides.get(self.done.len()).cloned() {
                    let (cutter, next) = Cutter::start(scope, band)?;
                    self.state = State::Cutting(cutter);
                    return Ok(next);
                }
                let last = self.done.pop().unwrap_or_default();
                let report = match self.done.pop() {
                    Some(first) => Report::TprofCompare(Traces::compare(first, last)),
                    None => Report::Tprof(Box::new(Traces::merge(last).finish(&self.settings))),
                };
                Ok(Next::Done(Box::new(report)))
            }
            State::Ended => Err(EngineError::Ended),
        }
    }
}

/// Collects the traces of one worker, in steps.
pub(super) struct TracesStudy {
    collector: TraceCollector,
    requests: Vec<u32>,
    at: usize,
    tree: Tree,
}

impl TracesStudy {
    pub fn new(set: &TraceSet, tag: Option<String>, requests: Vec<u32>) -> TracesStudy {
        TracesStudy { collector: TraceCollector::new(set, tag), requests, at: 0, tree: Tree::default() }
    }

    /// True when done.
    pub fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        let mut left = CHUNK;
        while let Some(&request) = self.requests.get(self.at) {
            if left == 0 {
                if time_is_up() {
                    return false;
                }
                left = CHUNK;
            }
            left -= 1;
            let entry = &table.requests[request as usize];
            self.tree.load(set, entry.trace);
            self.collector.observe(set, &self.tree, entry.row - self.tree.first);
            self.at += 1;
        }
        true
    }

    pub fn progress(&self) -> (u64, u64) {
        (self.at as u64, self.requests.len() as u64)
    }

    pub fn finish(self) -> TracesPart {
        self.collector.finish()
    }
}
