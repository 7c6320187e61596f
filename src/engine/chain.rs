//! From a request to its report: which passes, and what is made of their partials.

use super::overview::OverviewPartial;
use super::{EngineError, PerRequestReport, Report, Request, RequestsReport, SpanReport};
use crate::critical_path::{
    Aggregate, Band, BandFacts, Cut, ExemplarCandidates, ExemplarTargets, Overlap, RequestKey, RequestRow,
    Scope, TraceReport, unpack_sorted,
};
use crate::stats::{LogHistogram, Summary};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Bins of the latency histogram.
const HISTOGRAM_BINS: u32 = 96;

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
        index: u32,
        group: u8,
    },
}

/// What to do next.
#[derive(Debug)]
pub enum Next {
    /// Run this pass on every worker and come back with the partials.
    Ask(Vec<u8>),
    /// The answer.
    Done(Box<Report>),
}

enum State {
    Start,
    Single,
    Latencies,
    Ties { sorted: Vec<u64>, ranks: std::ops::Range<u64> },
    Aggregate { cut: Cut, facts: Box<BandFacts> },
    Exemplars { targets: ExemplarTargets, report: Box<crate::critical_path::CriticalPathReport> },
    List { facts: Box<BandFacts> },
    Ended,
}

/// A request on its way to its report.
pub struct Chain {
    request: Request,
    state: State,
}

fn read<T: DeserializeOwned>(partials: &[Vec<u8>]) -> Result<Vec<T>, EngineError> {
    partials.iter().map(|bytes| postcard::from_bytes(bytes).map_err(EngineError::from)).collect()
}

fn ask(pass: &Pass) -> Result<Next, EngineError> {
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
            State::Latencies => {
                let mut sorted: Vec<u64> =
                    read::<Vec<u64>>(&partials)?.into_iter().flat_map(unpack_sorted).collect();
                sorted.sort();
                let band = self.band();
                let ranks = band.ranks(sorted.len() as u64);
                if ranks.start == 0 && ranks.end == sorted.len() as u64 {
                    return self.with_cut(Cut::default(), &sorted, ranks);
                }
                // Only requests as slow as the first one inside or the first one past the end can be in doubt.
                let mut edges: Vec<u64> = [ranks.start, ranks.end]
                    .iter()
                    .filter_map(|&r| sorted.get(r as usize).copied())
                    .collect();
                edges.dedup();
                self.state = State::Ties { sorted, ranks };
                ask(&Pass::Ties { scope: self.scope(), latencies_us: edges })
            }
            State::Ties { sorted, ranks } => {
                let mut ties: Vec<RequestKey> =
                    read::<Vec<RequestKey>>(&partials)?.into_iter().flatten().collect();
                ties.sort();
                let key_at = |rank: u64| -> Option<RequestKey> {
                    let latency = *sorted.get(rank as usize)?;
                    let first = sorted.partition_point(|&v| v < latency);
                    let own = ties.iter().filter(|key| key.latency_us == latency);
                    own.clone().nth(rank as usize - first).cloned()
                };
                let cut = Cut {
                    from: if ranks.start == 0 { None } else { key_at(ranks.start) },
                    to: key_at(ranks.end),
                    is_empty: ranks.is_empty(),
                };
                self.with_cut(cut, &sorted, ranks)
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
            Request::Span { trace_id, index, group } => {
                Pass::Span { trace_id: trace_id.clone(), index: *index, group: *group }
            }
            Request::CriticalPath { scope, .. }
            | Request::Requests { scope, .. }
            | Request::PerRequest { scope, .. } => {
                self.state = State::Latencies;
                return ask(&Pass::Latencies { scope: scope.clone() });
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

    fn with_cut(
        &mut self,
        cut: Cut,
        sorted: &[u64],
        ranks: std::ops::Range<u64>,
    ) -> Result<Next, EngineError> {
        let inside = &sorted[ranks.start as usize..ranks.end as usize];
        let facts = Box::new(BandFacts {
            scope_requests: sorted.len() as u64,
            requests: inside.len() as u64,
            latency_us: Summary::of_sorted(inside),
            latency_sum_us: inside.iter().fold(0, |sum: u64, &v| sum.saturating_add(v)),
            scope_latency_us: Summary::of_sorted(sorted),
            histogram: LogHistogram::of_sorted(sorted, HISTOGRAM_BINS),
            band_us: (inside.first().copied().unwrap_or(0), inside.last().copied().unwrap_or(0)),
        });
        let scope = self.scope();
        match &self.request {
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
            rows.sort_by(|a, b| {
                (b.latency_us.cmp(&a.latency_us))
                    .then_with(|| (&a.trace_id, &a.root_span_id).cmp(&(&b.trace_id, &b.root_span_id)))
            });
            rows.truncate(*limit as usize);
            Report::Requests(RequestsReport { facts, rows })
        } else {
            let mut requests: Vec<_> =
                read::<Vec<crate::critical_path::RequestPath>>(partials)?.into_iter().flatten().collect();
            requests.sort_by(|a, b| (&a.trace_id, &a.root_span_id).cmp(&(&b.trace_id, &b.root_span_id)));
            Report::PerRequest(PerRequestReport { facts, requests })
        };
        Ok(Next::Done(Box::new(report)))
    }

    fn scope(&self) -> Scope {
        match &self.request {
            Request::CriticalPath { scope, .. }
            | Request::Requests { scope, .. }
            | Request::PerRequest { scope, .. } => scope.clone(),
            _ => Scope::default(),
        }
    }

    fn band(&self) -> Band {
        match &self.request {
            Request::CriticalPath { band, .. }
            | Request::Requests { band, .. }
            | Request::PerRequest { band, .. } => *band,
            _ => Band::ALL,
        }
    }
}
