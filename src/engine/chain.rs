//! From a request to its report: which passes, and what is made of their partials.

use super::cutting::{Cutter, Cutting};
use super::flow::FlowPass;
use super::overview::OverviewPartial;
use super::study::{self, Study, StudyChain};
use super::{
    BandReport, EngineError, PerRequestReport, Report, Request, RequestsReport, SpanKey, SpanReport,
};
use crate::anomaly::vae::TrainingProgress;
use crate::arrange::Arrange;
use crate::critical_path::{
    Aggregate, Band, BandFacts, Cut, ExemplarCandidates, ExemplarTargets, Overlap, RequestRow, Scope,
    TraceReport,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// What every worker does once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Pass {
    Overview,
    /// Sorted latencies of the scope.
    Latencies {
        scope: Scope,
    },
    /// Keys of the requests with one of these latencies.
    Ties {
        scope: Scope,
        latencies_us: Vec<u64>,
    },
    Aggregate {
        scope: Scope,
        cut: Cut,
    },
    Exemplars {
        scope: Scope,
        cut: Cut,
        targets: ExemplarTargets,
    },
    Slowest {
        scope: Scope,
        cut: Cut,
        limit: u32,
    },
    PerRequest {
        scope: Scope,
        cut: Cut,
    },
    Trace {
        trace_id: String,
        root_span_id: Option<String>,
        overlap: Overlap,
        group: u8,
    },
    Span {
        trace_id: String,
        span: SpanKey,
        group: u8,
    },
    /// One look at the requests inside a cut.
    Study {
        scope: Scope,
        cut: Cut,
        study: Study,
    },
    /// One look at invocations.
    Flow {
        scope: Scope,
        pass: Box<FlowPass>,
    },
}

/// What to do next.
#[derive(Debug)]
pub enum Next {
    /// Run this pass on every worker and come back with the partials.
    Ask(Vec<u8>),
    /// There is more to work out: call [`Chain::next`] again without partials, after a look at what else is wanted.
    Working(TrainingProgress),
    /// The answer.
    Done(Box<Report>),
}

enum State {
    Start,
    Single,
    Cutting(Cutter),
    /// A family of analyses that has its own states.
    Study(Box<dyn StudyChain>),
    Aggregate {
        cut: Cut,
        facts: Box<BandFacts>,
    },
    Exemplars {
        targets: ExemplarTargets,
        report: Box<crate::critical_path::CriticalPathReport>,
    },
    List {
        facts: Box<BandFacts>,
    },
    Ended,
}

/// A request on its way to its report.
pub struct Chain {
    request: Request,
    state: State,
}

pub(super) fn read<T: DeserializeOwned>(partials: &[Vec<u8>]) -> Result<Vec<T>, EngineError> {
    partials.iter().map(|bytes| postcard::from_bytes(bytes).map_err(EngineError::from)).collect()
}

/// One partial of several parts: before each its length in bytes, 4 of them, the lowest first.
pub(super) fn frame(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(parts.iter().map(|part| part.len() + 4).sum());
    for part in parts {
        out.extend_from_slice(&(part.len() as u32).to_le_bytes());
        out.extend_from_slice(part);
    }
    out
}

/// The parts of a partial that [`frame`] made.
pub(super) fn unframe(partial: &[u8]) -> Result<Vec<&[u8]>, EngineError> {
    let cut = || EngineError::from(postcard::Error::DeserializeUnexpectedEnd);
    let (mut parts, mut rest) = (Vec::new(), partial);
    while let Some((length, after)) = rest.split_first_chunk() {
        let (part, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
        parts.push(part);
        rest = after;
    }
    if rest.is_empty() { Ok(parts) } else { Err(cut()) }
}

/// The parts of all partials that [`frame`] made.
pub(super) fn read_parts<T: DeserializeOwned>(partials: &[Vec<u8>]) -> Result<Vec<T>, EngineError> {
    let mut parts = Vec::new();
    for partial in partials {
        for part in unframe(partial)? {
            parts.push(postcard::from_bytes(part)?);
        }
    }
    Ok(parts)
}

pub(super) fn ask(pass: &Pass) -> Result<Next, EngineError> {
    Ok(Next::Ask(postcard::to_allocvec(pass)?))
}

impl Chain {
    /// The chain of a request.
    pub fn new(request: Request) -> Chain {
        Chain { request, state: State::Start }
    }

    /// The next step. `partials` are those of the pass asked for last, one per worker in any order; none at first.
    ///
    /// # Errors
    /// [`EngineError`] if a partial is not what was asked for.
    pub fn next(&mut self, partials: Vec<Vec<u8>>) -> Result<Next, EngineError> {
        match std::mem::replace(&mut self.state, State::Ended) {
            State::Start => self.first(),
            State::Single => self.single(&partials),
            State::Cutting(mut cutter) => match cutter.next(&partials)? {
                Cutting::Ask(next) => {
                    self.state = State::Cutting(cutter);
                    Ok(next)
                }
                Cutting::Done(cut, facts) => self.with_cut(cut, facts),
            },
            State::Study(mut study) => {
                let next = study.next(&partials)?;
                self.state = State::Study(study);
                Ok(next)
            }
            State::Aggregate { cut, facts } => {
                let aggregate = Aggregate::merge(read(&partials)?);
                let targets = ExemplarTargets::new(&aggregate);
                let report = Box::new(aggregate.finish(self.band(), *facts));
                let pass = Pass::Exemplars { scope: self.scope(), cut, targets };
                let next = ask(&pass);
                if let Pass::Exemplars { targets, .. } = pass {
                    self.state = State::Exemplars { targets, report };
                }
                next
            }
            State::Exemplars { targets, mut report } => {
                ExemplarCandidates::merge(read(&partials)?, &targets).write(&mut report);
                Ok(Next::Done(Box::new(Report::CriticalPath(*report))))
            }
            State::List { facts } => self.list(*facts, &partials),
            State::Ended => Err(EngineError::Ended),
        }
    }

    fn first(&mut self) -> Result<Next, EngineError> {
        let pass = match &self.request {
            Request::Overview => Pass::Overview,
            Request::Trace { trace_id, root_span_id, overlap, group } => Pass::Trace {
                trace_id: trace_id.clone(),
                root_span_id: root_span_id.clone(),
                overlap: *overlap,
                group: *group,
            },
            Request::Span { trace_id, span, group } => {
                Pass::Span { trace_id: trace_id.clone(), span: span.clone(), group: *group }
            }
            Request::Band { scope, .. }
            | Request::CriticalPath { scope, .. }
            | Request::Requests { scope, .. }
            | Request::PerRequest { scope, .. } => {
                let (cutter, next) = Cutter::start(scope.clone(), self.band())?;
                self.state = State::Cutting(cutter);
                return Ok(next);
            }
            // Families of analyses with chains of their own.
            _ => {
                let (study, next) = study::begin(&self.request)?;
                self.state = State::Study(study);
                return Ok(next);
            }
        };
        self.state = State::Single;
        ask(&pass)
    }

    fn single(&self, partials: &[Vec<u8>]) -> Result<Next, EngineError> {
        let report = match &self.request {
            Request::Overview => Report::Overview(OverviewPartial::merge(read(partials)?).finish()),
            Request::Trace { .. } => {
                Report::Trace(read::<Option<TraceReport>>(partials)?.into_iter().flatten().next())
            }
            _ => Report::Span(read::<Option<SpanReport>>(partials)?.into_iter().flatten().next()),
        };
        Ok(Next::Done(Box::new(report)))
    }

    fn with_cut(&mut self, cut: Cut, facts: Box<BandFacts>) -> Result<Next, EngineError> {
        let scope = self.scope();
        match &self.request {
            Request::Band { band, .. } => {
                Ok(Next::Done(Box::new(Report::Band(BandReport { band: *band, facts: *facts }))))
            }
            Request::Requests { limit, .. } => {
                let pass = Pass::Slowest { scope, cut, limit: *limit };
                self.state = State::List { facts };
                ask(&pass)
            }
            Request::PerRequest { .. } => {
                self.state = State::List { facts };
                ask(&Pass::PerRequest { scope, cut })
            }
            _ => {
                let pass = Pass::Aggregate { scope, cut: cut.clone() };
                self.state = State::Aggregate { cut, facts };
                ask(&pass)
            }
        }
    }

    fn list(&self, facts: BandFacts, partials: &[Vec<u8>]) -> Result<Next, EngineError> {
        let report = if let Request::Requests { limit, .. } = &self.request {
            let mut rows: Vec<RequestRow> =
                read::<Vec<RequestRow>>(partials)?.into_iter().flatten().collect();
            rows.arrange_by(|a, b| {
                (b.latency_us.cmp(&a.latency_us))
                    .then_with(|| (&a.trace_id, &a.root_span_id).cmp(&(&b.trace_id, &b.root_span_id)))
            });
            rows.truncate(*limit as usize);
            Report::Requests(RequestsReport { facts, rows })
        } else {
            let mut requests: Vec<_> =
                read::<Vec<crate::critical_path::RequestPath>>(partials)?.into_iter().flatten().collect();
            requests.arrange_by(|a, b| (&a.trace_id, &a.root_span_id).cmp(&(&b.trace_id, &b.root_span_id)));
            Report::PerRequest(PerRequestReport { facts, requests })
        };
        Ok(Next::Done(Box::new(report)))
    }

    fn scope(&self) -> Scope {
        match &self.request {
            Request::Band { scope, .. }
            | Request::CriticalPath { scope, .. }
            | Request::Requests { scope, .. }
            | Request::PerRequest { scope, .. } => scope.clone(),
            _ => Scope::default(),
        }
    }

    fn band(&self) -> Band {
        match &self.request {
            Request::Band { band, .. }
            | Request::CriticalPath { band, .. }
            | Request::Requests { band, .. }
            | Request::PerRequest { band, .. } => *band,
            _ => Band::ALL,
        }
    }
}
