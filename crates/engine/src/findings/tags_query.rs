//! Tags by themselves: which tell slow requests from the others.

use crate::EngineError;
use crate::findings::{
    FindingTag, PairsObserver, PairsPart, TagGroup, TagsObserver, TagsPart, TagsReport, tail_groups,
};
use crate::requests::{Selection, TypeLatencies};
use crate::run::query::Query;
use crate::run::range_requests::RangeRequests;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use futures_util::future::try_join;
use serde::{Deserialize, Serialize};

/// Reports the tags, and pairs of tags, that tell slow requests from the others: of a percentile range from all requests
/// outside it, else the slowest tenth of each request type from the rest of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tags {
    /// The selected requests.
    pub selection: Selection,
}

/// Counts of requests, and of the slow ones among them.
struct Sides<'a> {
    all: RangeRequests<'a>,
    /// `None`: the groups say which are slow.
    slow: Option<RangeRequests<'a>>,
    groups: Vec<TagGroup>,
}

impl Sides<'_> {
    async fn tags(&self) -> Result<TagsPart, EngineError> {
        let pass = TagsPass { groups: self.groups.clone() };
        let Some(slow) = &self.slow else { return Ok(TagsPart::merge(self.all.partials(pass).await?)) };
        let (all, slow) = try_join(self.all.partials(pass.clone()), slow.partials(pass)).await?;
        Ok(TagsPart::merge(all).with_slow(&TagsPart::merge(slow)))
    }

    async fn pairs(&self, tags: &[FindingTag]) -> Result<PairsPart, EngineError> {
        let pass = PairsPass { groups: self.groups.clone(), tags: tags.to_vec() };
        let Some(slow) = &self.slow else { return Ok(PairsPart::merge(self.all.partials(pass).await?)) };
        let (all, slow) = try_join(self.all.partials(pass.clone()), slow.partials(pass)).await?;
        Ok(PairsPart::merge(all).with_slow(&PairsPart::merge(slow)))
    }
}

impl Query for Tags {
    type Report = TagsReport;

    async fn run(self, workers: Workers) -> Result<TagsReport, EngineError> {
        let is_of_range = !self.selection.range.is_all();
        let all = workers.requests(&self.selection.at_any_latency()).await?;
        let slow = if is_of_range { Some(workers.requests(&self.selection).await?) } else { None };
        let cuts = TypeLatencies::merge(all.partials(TypeLatenciesPass).await?).cuts();
        let sides = Sides { all, slow, groups: tail_groups(&cuts, is_of_range) };
        let tags = sides.tags().await?;
        let paired = tags.paired();
        let pairs = if paired.len() > 1 { sides.pairs(&paired).await? } else { PairsPart::default() };
        Ok(tags.rows(&paired, &pairs))
    }
}

/// Tags of request types.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TagsPass {
    pub groups: Vec<TagGroup>,
}

impl RequestPass for TagsPass {
    type Part = TagsPart;
    const IS_BY_TYPE: bool = true;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = TagsObserver::new(over.set, over.types.clone(), &self.groups, over.weighing);
        over.walk(observer)
    }
}

/// Which of these tags the requests of request types have.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PairsPass {
    pub groups: Vec<TagGroup>,
    pub tags: Vec<FindingTag>,
}

impl RequestPass for PairsPass {
    type Part = PairsPart;
    const IS_BY_TYPE: bool = true;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = PairsObserver::new(over.set, over.types.clone(), &self.groups, &self.tags);
        over.walk(observer)
    }
}

/// Start and latency by request type.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TypeLatenciesPass;

impl RequestPass for TypeLatenciesPass {
    type Part = TypeLatencies;
    const IS_BY_TYPE: bool = true;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        over.sweep(|rows| {
            let timed = |number: u32| {
                let request = &rows.table.requests[number as usize];
                let timed = (request.start_us, request.latency_us, rows.weight(number));
                (number, timed, request.errors > 0)
            };
            TypeLatencies::observe(rows.types, rows.numbers().map(timed))
        })
    }
}
