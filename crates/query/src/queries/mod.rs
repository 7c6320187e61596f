//! Every query, one in a file. A query is a plain struct; its plan says which passes it needs and what becomes of their
//! partials.

mod anomalies;
mod bottom_up;
mod compare;
mod critical_path;
mod culprit;
mod diagnosis;
mod endpoints;
mod errors;
mod find_spans;
mod findings;
mod flow;
mod heatmap;
mod histograms;
mod late_findings;
mod names;
mod overview;
mod per_request;
mod proposals;
mod range;
mod requests;
mod search;
mod span;
mod split;
mod tag_values;
mod tags;
mod trace;
mod trend;

pub use anomalies::{Anomalies, AnomalyEvaluation, AnomalyModel, AnomalyVectors};
pub use bottom_up::BottomUp;
pub use compare::Compare;
pub use critical_path::CriticalPath;
pub use culprit::Culprit;
pub use diagnosis::{AggregateTraces, CompareDiagnoses, Diagnosis};
pub use endpoints::{AtLatencies, Endpoints};
pub use errors::Errors;
pub use find_spans::FindSpans;
pub use findings::Findings;
pub use flow::{Flow, FlowEvaluation, FlowParents, Savings, Target, Timeout, WhatIf};
pub use heatmap::Heatmap;
pub use histograms::Histograms;
pub use late_findings::LateFindingsQuery;
pub use names::Pseudonyms;
pub use overview::{
    EndpointCount, MOST_TIME, Overview, OverviewReport, SummaryFacts, TagKey, TypeRow, most_time,
};
pub use per_request::{PerRequest, PerRequestReport};
pub use proposals::Proposals;
pub use range::Range;
pub use requests::Requests;
pub use search::Search;
pub use span::{Span, SpanKey, SpanReport};
pub use split::Split;
pub use tag_values::TagValues;
pub use tags::Tags;
pub use trace::{Pressures, Trace};
pub use trend::{Trend, TrendDay, TrendReport};

pub(super) use anomalies::{InjectionPlan, VectorKind, VectorPass};
pub(super) use diagnosis::TracesPass;
pub(super) use find_spans::find_spans;
pub(super) use flow::{FlowCache, FlowPass, FlowTask};
pub(super) use overview::OverviewPass;
pub(super) use span::span;
pub(super) use trace::{pressures, trace};

use crate::EngineError;
use crate::workers::Workers;
use pathlight_base::encoding;
use pathlight_base::encoding::Damaged;
use pathlight_base::steps::Job;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// What can be found out about loaded traces: a plain struct, with the type of its report.
pub trait Query: Listed + Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + 'static {
    /// The report that comes back.
    type Report: Clone + Debug + PartialEq + Serialize + DeserializeOwned + Send + 'static;

    /// Runs the query: has the workers run one pass after the other and merges their partials.
    #[doc(hidden)]
    fn run(self, workers: Workers) -> impl Future<Output = Result<Self::Report, EngineError>> + Send;

    /// Runs the query; returns its report as bytes. A query whose report is the partial of one worker passes that on unread.
    #[doc(hidden)]
    fn run_to_bytes(self, workers: Workers) -> impl Future<Output = Result<Vec<u8>, EngineError>> + Send {
        async move { Ok(encoding::write(&self.run(workers).await?)) }
    }

    /// Writes the query as a message to the worker that merges, see [`Plan::of_message`](crate::Plan::of_message).
    fn to_message(&self) -> Vec<u8> {
        encoding::write_after(vec![Self::NUMBER], self)
    }

    /// Reads a report from the bytes that a plan of a message gives.
    ///
    /// # Errors
    /// [`EngineError::Message`] if they are not such a report.
    fn read_report(bytes: &[u8]) -> Result<Self::Report, EngineError> {
        Ok(encoding::read(bytes)?)
    }
}

/// A query in the list below.
pub trait Listed {
    /// Its place in the list: the first byte of its messages.
    #[doc(hidden)]
    const NUMBER: u8;
}

/// The work of a query that gives its report as bytes.
pub(super) type Run = Job<Result<Vec<u8>, EngineError>>;

macro_rules! list {
    ($($query:ident,)*) => {
        enum Number { $($query),* }

        $(impl Listed for $query {
            const NUMBER: u8 = Number::$query as u8;
        })*

        /// By number: reads a query and starts it.
        const START: &[fn(&[u8], Workers) -> Result<Run, EngineError>] = &[$(start::<$query>),*];
    };
}

list! {
    AggregateTraces,
    Anomalies,
    AnomalyEvaluation,
    AnomalyModel,
    AnomalyVectors,
    AtLatencies,
    BottomUp,
    Compare,
    CompareDiagnoses,
    CriticalPath,
    Culprit,
    Diagnosis,
    Endpoints,
    Errors,
    FindSpans,
    Findings,
    Flow,
    FlowEvaluation,
    FlowParents,
    LateFindingsQuery,
    Heatmap,
    Histograms,
    Overview,
    PerRequest,
    Pressures,
    Proposals,
    Pseudonyms,
    Range,
    Requests,
    Savings,
    Search,
    Span,
    Split,
    TagValues,
    Tags,
    Target,
    Timeout,
    Trace,
    Trend,
    WhatIf,
}

/// Number of queries; the first byte of a message is below it.
#[doc(hidden)]
pub const COUNT: u8 = START.len() as u8;

fn start<Q: Query>(bytes: &[u8], workers: Workers) -> Result<Run, EngineError> {
    let query: Q = encoding::read(bytes)?;
    Ok(Box::pin(query.run_to_bytes(workers)))
}

/// Starts the query of a message.
pub(super) fn start_message(message: &[u8], workers: Workers) -> Result<Run, EngineError> {
    let no_query = || EngineError::from(Damaged);
    let (number, bytes) = message.split_first().ok_or_else(no_query)?;
    let start = START.get(usize::from(*number)).ok_or_else(no_query)?;
    start(bytes, workers)
}
