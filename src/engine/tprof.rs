//! The chain of tprof: the requests are cut, then workers send the times of their traces.

use super::chain::{Next, read_parts, unframe};
use super::cutting::{Cutter, Cutting};
use super::study::{Study, StudyChain, ask_study};
use super::{EngineError, Report};
use crate::anomaly::vae::TrainingProgress;
use crate::critical_path::{Band, Cut, PathTable, Scope, ServiceSums, rank_services};
use crate::steps::{self, Done, Job, Pace};
use crate::tprof::{Comparing, Merging, SetsReport, Settings, TraceCollector, TracesPart};
use crate::trace::{TraceSet, Tree};

/// Spans between two looks at the clock; the least a trace counts for; and positions in one part, which is read in one
/// step.
const CHUNK: usize = 512;
const LEAST: usize = 32;
const PART: usize = 1 << 13;
/// About how many units of work come of a byte that workers send; only for telling how far it is.
const UNITS_PER_BYTE: u64 = 24;

enum State {
    Cutting(Cutter),
    Traces { cut: Cut, requests: u64 },
    Services { requests: u64 },
    Working { job: Job<Result<Report, EngineError>>, done: Done, of: u64 },
    Ended,
}

/// One set, or two sets to compare.
pub(super) struct TprofChain {
    sides: Vec<(Scope, Band)>,
    settings: Settings,
    /// By side what workers sent of its traces, and of its services with the number of its requests.
    traces: Vec<Vec<Vec<u8>>>,
    services: Vec<(ServiceSums, u64)>,
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
        let state = State::Cutting(cutter);
        let (traces, services) = (Vec::new(), Vec::new());
        Ok((Box::new(TprofChain { sides, settings: settings.clone(), traces, services, state }), next))
    }

    /// The next side, or the report once all are there.
    fn go_on(&mut self) -> Result<Next, EngineError> {
        if let Some((scope, band)) = self.sides.get(self.traces.len()).cloned() {
            let (cutter, next) = Cutter::start(scope, band)?;
            self.state = State::Cutting(cutter);
            return Ok(next);
        }
        let bytes: usize = self.traces.iter().flatten().map(Vec::len).sum();
        let done = Done::default();
        let pace = Pace::telling(&done);
        let mut traces = std::mem::take(&mut self.traces);
        let job: Job<Result<Report, EngineError>> = match traces.pop().map(|last| (last, traces.pop())) {
            Some((b, Some(a))) => Box::pin(compare([a, b], std::mem::take(&mut self.services), pace)),
            Some((only, None)) => Box::pin(diagnose(only, self.settings.clone(), pace)),
            None => return Err(EngineError::Ended),
        };
        self.state = State::Working { job, done, of: bytes as u64 * UNITS_PER_BYTE + 1 };
        Ok(Next::Working(TrainingProgress::default()))
    }
}

async fn diagnose(partials: Vec<Vec<u8>>, settings: Settings, mut pace: Pace) -> Result<Report, EngineError> {
    let mut merging = Merging::default();
    for part in partials.iter().map(|partial| unframe(partial)).collect::<Result<Vec<_>, _>>()?.concat() {
        merging.add(postcard::from_bytes(part)?, &mut pace).await;
    }
    let traces = merging.finish(&mut pace).await;
    drop(partials);
    Ok(Report::Tprof(Box::new(traces.report(&settings, &mut pace).await)))
}

async fn compare(
    sides: [Vec<Vec<u8>>; 2],
    services: Vec<(ServiceSums, u64)>,
    mut pace: Pace,
) -> Result<Report, EngineError> {
    let mut comparing = Comparing::default();
    for (partials, is_b) in sides.iter().zip([false, true]) {
        for part in partials.iter().map(|partial| unframe(partial)).collect::<Result<Vec<_>, _>>()?.concat() {
            comparing.add(postcard::from_bytes(part)?, is_b, &mut pace).await;
        }
    }
    let places = comparing.finish(&mut pace).await;
    let services = match services.as_slice() {
        [(a, a_requests), (b, b_requests)] => rank_services(a, *a_requests, b, *b_requests),
        _ => Vec::new(),
    };
    Ok(Report::TprofCompare(SetsReport { services, places }))
}

impl StudyChain for TprofChain {
    fn next(&mut self, partials: &[Vec<u8>]) -> Result<Next, EngineError> {
        // The side that is under way.
        let side = self.traces.len();
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Cutting(mut cutter) => match cutter.next(partials)? {
                Cutting::Ask(next) => {
                    self.state = State::Cutting(cutter);
                    Ok(next)
                }
                Cutting::Done(cut, facts) => {
                    let study = Study::Traces { tag: self.settings.tag.clone() };
                    let next = ask_study(&self.sides[side].0, &cut, study);
                    self.state = State::Traces { cut, requests: facts.requests };
                    next
                }
            },
            State::Traces { cut, requests } => {
                let partials = partials.to_vec();
                if self.sides.len() == 1 {
                    self.traces.push(partials);
                    return self.go_on();
                }
                let next = ask_study(&self.sides[side].0, &cut, Study::Services);
                self.traces.push(partials);
                self.state = State::Services { requests };
                next
            }
            State::Services { requests } => {
                self.services.push((ServiceSums::merge(read_parts(partials)?), requests));
                self.go_on()
            }
            State::Working { mut job, done, of } => match steps::step(&mut job) {
                Some(report) => Ok(Next::Done(Box::new(report?))),
                None => {
                    let progress =
                        TrainingProgress { done: done.units().min(of - 1), of, ..Default::default() };
                    self.state = State::Working { job, done, of };
                    Ok(Next::Working(progress))
                }
            },
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
    parts: Vec<Result<Vec<u8>, postcard::Error>>,
}

impl TracesStudy {
    pub fn new(set: &TraceSet, tag: Option<String>, requests: Vec<u32>) -> TracesStudy {
        let collector = TraceCollector::new(set, tag);
        TracesStudy { collector, requests, at: 0, tree: Tree::default(), parts: Vec::new() }
    }

    fn put(&mut self, part: &TracesPart) {
        self.parts.push(postcard::to_allocvec(part));
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
            let entry = &table.requests[request as usize];
            self.tree.load(set, entry.trace);
            self.collector.observe(set, &self.tree, entry.row - self.tree.first);
            left = left.saturating_sub(self.tree.len().max(LEAST));
            self.at += 1;
            if self.collector.positions() >= PART {
                let part = self.collector.take_traces();
                self.put(&part);
            }
        }
        true
    }

    pub fn progress(&self) -> (u64, u64) {
        (self.at as u64, self.requests.len() as u64)
    }

    /// Names first, then the traces.
    pub fn finish(mut self) -> Result<Vec<Vec<u8>>, EngineError> {
        let rest = self.collector.take_traces();
        self.put(&rest);
        let names = postcard::to_allocvec(&self.collector.finish());
        Ok([names].into_iter().chain(self.parts).collect::<Result<_, _>>()?)
    }
}
