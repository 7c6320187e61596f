//! The trace of the timeline: alone, or on one axis with those that its messages connect it with, or with a normal request.

use super::queries::Queries;
use pathlight_engine::flame::TraceReport;
use pathlight_engine::queries::{JoinedTraces, NearestNormalReport};
use pathlight_view::address::Beside;
use std::rc::Rc;

/// What the timeline shows.
#[derive(Clone, PartialEq)]
pub enum ShownTrace {
    /// One trace.
    One(Rc<Option<TraceReport>>),
    /// Those that its messages connect it with beside it.
    Joined(Rc<Option<JoinedTraces>>),
    /// A normal request beside it.
    BesideNormal(Rc<Option<NearestNormalReport>>),
}

impl ShownTrace {
    /// Returns what is known of the trace that is to be shown; `None` while that is nothing. Several traces come in place of
    /// the one once they are known.
    pub fn of(queries: &Queries, beside: Beside) -> Option<ShownTrace> {
        let (several, is_waiting) = match beside {
            Beside::Nothing => (None, false),
            Beside::Linked => {
                let joined = queries.linked.get().filter(|joined| joined.is_some());
                (joined.map(ShownTrace::Joined), queries.linked.is_waiting())
            }
            Beside::Normal => {
                let report = queries.nearest.get().filter(|report| report.is_some());
                (report.map(ShownTrace::BesideNormal), queries.nearest.is_waiting())
            }
        };
        match several {
            None if is_waiting => None,
            None => Some(ShownTrace::One(queries.trace.get()?)),
            several => several,
        }
    }

    /// Returns the report: `None` if no such trace is loaded.
    pub fn report(&self) -> Option<&TraceReport> {
        match self {
            ShownTrace::One(report) => report.as_ref().as_ref(),
            _ => Some(&self.joined()?.trace),
        }
    }

    /// Returns the traces if they are several.
    pub fn joined(&self) -> Option<&JoinedTraces> {
        match self {
            ShownTrace::One(_) => None,
            ShownTrace::Joined(joined) => joined.as_ref().as_ref(),
            ShownTrace::BesideNormal(report) => Some(&report.as_ref().as_ref()?.joined),
        }
    }

    /// Returns the request beside a normal one.
    pub fn beside_normal(&self) -> Option<&NearestNormalReport> {
        match self {
            ShownTrace::BesideNormal(report) => report.as_ref().as_ref(),
            _ => None,
        }
    }

    /// Returns the place of a span of a trace; `None` if the trace is not among them.
    pub fn index_of(&self, trace_id: &str, span: u32) -> Option<u32> {
        match self.joined() {
            None => Some(span),
            Some(joined) => joined.index_of(trace_id, span),
        }
    }

    /// Returns the trace of a span, and the index of the span in it.
    pub fn place_of(&self, span: u32) -> Option<(String, u32)> {
        match self.joined() {
            None => Some((self.report()?.trace_id.clone(), span)),
            Some(joined) => joined.place_of(span).map(|(trace_id, span)| (trace_id.to_owned(), span)),
        }
    }
}
