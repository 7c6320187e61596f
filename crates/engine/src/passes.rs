//! Every pass that a query declares beside itself, one a line.

use crate::EngineError;
use crate::anomalies::query::{FactsPass, VectorsPass};
use crate::compare::query::FramesPass;
use crate::deployments::query::DeploymentsPass;
use crate::diagnosis::query::TracesPass;
use crate::endpoints::impact_query::ImpactPass;
use crate::endpoints::query::EndpointsPass;
use crate::endpoints::tag_sums_query::TagSumsPass;
use crate::errors::query::ErrorsPass;
use crate::findings::pool_calls::PoolCallsPass;
use crate::findings::query::FindingsPass;
use crate::findings::tags_query::{PairsPass, TagsPass, TypeLatenciesPass};
use crate::findings::work_after::TypeTimesPass;
use crate::flame::histograms_query::HistogramsPass;
use crate::flame::query::{ContextsPass, ExemplarsPass};
use crate::flow::query::DoneWhatIfPass;
use crate::heatmap::query::{
    CellsPass, ColumnKeysPass, ServiceCellsPass, ServiceRowsPass, ServiceTiesPass, TiedColumnsPass,
};
use crate::instrument::query::InstrumentPass;
use crate::queues::links::HeldPass;
use crate::queues::missing::{HeldTracesPass, MissingTraces};
use crate::queues::query::{ElsewherePass, PathQueuesPass, QueuesPass};
use crate::requests::overview::OverviewPass;
use crate::requests::pseudonyms::NamesPass;
use crate::requests::search::find_spans::FindSpans;
use crate::requests::search::query::SearchPass;
use crate::requests_list::per_request::PathsPass;
use crate::requests_list::query::SlowestPass;
use crate::run::apart::ConnectionsPass;
use crate::run::request_pass::{Over, PackedRequestPass, RequestPass, RunningPass};
use crate::run::set_pass::{Numbered, OverSet, PackedSetPass, RunningSetPass, SetPass};
use crate::split::proposals_query::ProposalsPass;
use crate::split::query::SplitPass;
use crate::split::tag_values_query::TagValuesPass;
use crate::summaries::joined::{JoinPass, NamedPass};
use crate::timeline::jaeger_path::JaegerPath;
use crate::timeline::like::LikePass;
use crate::timeline::linked::LinkedPass;
use crate::timeline::nearest::{LatenciesOfPass, NearestPass, RequestOfPass};
use crate::timeline::query::{Pressures, Trace};
use crate::timeline::span::Span;
use crate::verdict::hit::{HitsPass, RequestTimesPass};
use crate::verdict::hits_query::SubjectRowsPass;
use crate::verdict::query::ServicesPass;
use crate::verdict::service_map_query::ServiceMapPass;
use pathlight_base::encoding::{self, Damaged};

/// Numbers the passes of a list by their places, and makes the list of functions that read and start them.
macro_rules! list {
    ($starts:ident: $start:ty, $read:ident, $numbers:ident, [$($pass:ident,)*]) => {
        #[allow(clippy::enum_variant_names, reason = "the names of the passes")]
        enum $numbers { $($pass),* }

        $(impl Numbered for $pass {
            const PASS: u8 = $numbers::$pass as u8;
        })*

        const $starts: &[$start] = &[$($read::<$pass>),*];
    };
}

type StartRequestPass = fn(&[u8], Over<'_>) -> Result<Box<dyn RunningPass>, EngineError>;
type StartSetPass = fn(&[u8], OverSet) -> Result<Box<dyn RunningSetPass>, EngineError>;

fn read_request_pass<P: RequestPass>(
    bytes: &[u8],
    over: Over<'_>,
) -> Result<Box<dyn RunningPass>, EngineError> {
    Ok(encoding::read::<P>(bytes)?.start(over))
}

fn read_set_pass<P: SetPass>(bytes: &[u8], over: OverSet) -> Result<Box<dyn RunningSetPass>, EngineError> {
    Ok(encoding::read::<P>(bytes)?.start(over))
}

list!(REQUEST_PASSES: StartRequestPass, read_request_pass, RequestPassNumber, [
    CellsPass,
    ColumnKeysPass,
    ContextsPass,
    DeploymentsPass,
    DoneWhatIfPass,
    EndpointsPass,
    ErrorsPass,
    ExemplarsPass,
    FactsPass,
    FindingsPass,
    FramesPass,
    HistogramsPass,
    HitsPass,
    ImpactPass,
    InstrumentPass,
    LatenciesOfPass,
    NearestPass,
    PairsPass,
    PathQueuesPass,
    PathsPass,
    PoolCallsPass,
    ProposalsPass,
    QueuesPass,
    RequestOfPass,
    RequestTimesPass,
    SearchPass,
    ServiceCellsPass,
    ServiceMapPass,
    ServiceRowsPass,
    ServiceTiesPass,
    ServicesPass,
    SlowestPass,
    SplitPass,
    SubjectRowsPass,
    TagSumsPass,
    TagValuesPass,
    TagsPass,
    TiedColumnsPass,
    TracesPass,
    TypeLatenciesPass,
    TypeTimesPass,
    VectorsPass,
]);

list!(SET_PASSES: StartSetPass, read_set_pass, SetPassNumber, [
    ConnectionsPass,
    ElsewherePass,
    FindSpans,
    HeldPass,
    HeldTracesPass,
    JoinPass,
    JaegerPath,
    LikePass,
    LinkedPass,
    MissingTraces,
    NamedPass,
    NamesPass,
    OverviewPass,
    Pressures,
    Span,
    Trace,
]);

/// Starts a pass over the requests of one worker.
///
/// # Errors
/// [`EngineError::Message`] if there is no such pass.
pub(crate) fn start_over(
    pass: &PackedRequestPass,
    over: Over<'_>,
) -> Result<Box<dyn RunningPass>, EngineError> {
    let start = REQUEST_PASSES.get(usize::from(pass.number)).ok_or(Damaged)?;
    start(&pass.bytes, over)
}

/// Starts a pass over the traces of one worker.
///
/// # Errors
/// [`EngineError::Message`] if there is no such pass.
pub(crate) fn start_over_set(
    pass: &PackedSetPass,
    over: OverSet,
) -> Result<Box<dyn RunningSetPass>, EngineError> {
    let start = SET_PASSES.get(usize::from(pass.number)).ok_or(Damaged)?;
    start(&pass.bytes, over)
}
