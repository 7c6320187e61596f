//! Every query, one in a file. A query is a plain struct; its plan says which passes it needs and what becomes of their
//! partials.

pub use crate::anomalies::query::{
    Anomalies, AnomalyEvaluation, AnomalyModel, AnomalyVectors, LabelledFault,
};
pub use crate::compare::query::Compare;
pub use crate::deployments::query::Deployments;
pub use crate::diagnosis::query::{AggregateTraces, CompareDiagnoses, Diagnosis};
pub use crate::endpoints::impact_query::Impact;
pub use crate::endpoints::query::{AtLatencies, Endpoints};
pub use crate::endpoints::tag_sums_query::TagSums;
pub use crate::errors::query::Errors;
pub use crate::findings::late_query::LateFindingsQuery;
pub use crate::findings::query::Findings;
pub use crate::findings::tags_query::Tags;
pub use crate::flame::histograms_query::Histograms;
pub use crate::flame::query::{CriticalPath, PathsAtLatencies};
pub use crate::flow::query::{
    Capacity, Cheapest, Flow, FlowEvaluation, FlowParents, FlowVariants, Headroom, Mended, Parallelise,
    Savings, Target, Timeout, WhatIf,
};
pub use crate::heatmap::query::Heatmap;
pub use crate::instrument::query::Instrument;
pub use crate::queues::missing::MissingTraces;
pub use crate::queues::query::Queues;
pub use crate::requests::overview::{
    EndpointCount, MOST_TIME, Overview, OverviewReport, SummaryFacts, TagKey, TypeRow, most_time,
};
pub use crate::requests::pseudonyms::NamePseudonyms;
pub use crate::requests::query::Range;
pub use crate::requests::search::find_spans::FindSpans;
pub use crate::requests::search::query::Search;
pub use crate::requests_list::per_request::{PerRequest, PerRequestReport};
pub use crate::requests_list::query::Requests;
pub use crate::split::proposals_query::Proposals;
pub use crate::split::query::Split;
pub use crate::split::tag_values_query::TagValues;
pub use crate::timeline::jaeger_path::{DifferenceCause, JaegerPath, PathDifference};
pub use crate::timeline::join::{JoinedTrace, JoinedTraces, SpanMessage};
pub use crate::timeline::like::{AmongLike, LikeRank};
pub use crate::timeline::linked::{LinkedTraces, MOST_SPANS, MOST_TRACES};
pub use crate::timeline::nearest::{NearestNormal, NearestNormalReport, PlaceDifference};
pub use crate::timeline::query::{Pressures, Trace};
pub use crate::timeline::span::{Span, SpanKey, SpanReport};
pub use crate::trend::query::{Trend, TrendDay, TrendReport};
pub use crate::verdict::hits_query::VerdictHits;
pub use crate::verdict::query::ServiceChanges;
pub use crate::verdict::service_map_query::ServiceMap;

use crate::EngineError;
pub use crate::run::query::{ListedQuery, Query};
use crate::run::workers::Workers;
use crate::run::{Cuts, Plan};
use pathlight_base::encoding::{self, Damaged};
use pathlight_base::steps::SteppedJob;

/// The work of a query that gives its report as bytes.
pub(crate) type Run = SteppedJob<Result<Vec<u8>, EngineError>>;

macro_rules! list {
    ($($query:ident,)*) => {
        enum Number { $($query),* }

        $(impl ListedQuery for $query {
            const NUMBER: u8 = Number::$query as u8;
        })*

        /// By number: reads a query and starts it.
        const START: &[fn(&[u8], Workers) -> Result<Run, EngineError>] = &[$(start::<$query>),*];
    };
}

list! {
    AggregateTraces,
    AmongLike,
    Anomalies,
    AnomalyEvaluation,
    AnomalyModel,
    AnomalyVectors,
    AtLatencies,
    Impact,
    Compare,
    CompareDiagnoses,
    CriticalPath,
    ServiceChanges,
    Diagnosis,
    Endpoints,
    Errors,
    FindSpans,
    Findings,
    Flow,
    FlowEvaluation,
    FlowParents,
    JaegerPath,
    LabelledFault,
    LateFindingsQuery,
    LinkedTraces,
    Mended,
    MissingTraces,
    NearestNormal,
    Heatmap,
    Histograms,
    Overview,
    PathsAtLatencies,
    PerRequest,
    Pressures,
    Proposals,
    NamePseudonyms,
    Queues,
    Range,
    Requests,
    Savings,
    Search,
    ServiceMap,
    Span,
    Split,
    TagSums,
    TagValues,
    Tags,
    Target,
    Timeout,
    Trace,
    Trend,
    VerdictHits,
    WhatIf,
    Parallelise,
    Headroom,
    Deployments,
    Capacity,
    Instrument,
    FlowVariants,
    Cheapest,
}

/// Number of queries; the first byte of a message is below it.
#[doc(hidden)]
pub const COUNT: u8 = START.len() as u8;

fn start<Q: Query>(bytes: &[u8], workers: Workers) -> Result<Run, EngineError> {
    let query: Q = encoding::read(bytes)?;
    Ok(Box::pin(query.run_to_bytes(workers)))
}

impl Plan<Vec<u8>> {
    /// Returns the plan of the query in a message that [`Query::to_message`] wrote; its report comes as bytes, for
    /// [`Query::read_report`].
    ///
    /// # Errors
    /// [`EngineError::Message`] if the bytes are no such message.
    pub fn of_message(message: &[u8], cuts: &Cuts) -> Result<Plan<Vec<u8>>, EngineError> {
        let no_query = || EngineError::from(Damaged);
        let (number, bytes) = message.split_first().ok_or_else(no_query)?;
        let start = START.get(usize::from(*number)).ok_or_else(no_query)?;
        Plan::starting(cuts, |workers| start(bytes, workers))
    }
}
