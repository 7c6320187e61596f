//! Tags by themselves: which tell slow requests from the others.

use crate::EngineError;
use crate::findings::{PairsPart, TagGroup, TagValue, TagsPart, TagsReport, tail_groups};
use crate::queries::Query;
use crate::requests::{Selection, TypeLatencies};
use crate::run::request_pass::RequestPass;
use crate::run::workers::{RangeRequests, Workers};
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
        let pass = RequestPass::FindingTags { groups: self.groups.clone() };
        let all = TagsPart::merge(self.all.partials(pass.clone()).await?);
        Ok(match &self.slow {
            Some(slow) => all.with_slow(&TagsPart::merge(slow.partials(pass).await?)),
            None => all,
        })
    }

    async fn pairs(&self, tags: &[TagValue]) -> Result<PairsPart, EngineError> {
        let pass = RequestPass::TagPairs { groups: self.groups.clone(), tags: tags.to_vec() };
        let all = PairsPart::merge(self.all.partials(pass.clone()).await?);
        Ok(match &self.slow {
            Some(slow) => all.with_slow(&PairsPart::merge(slow.partials(pass).await?)),
            None => all,
        })
    }
}

impl Query for Tags {
    type Report = TagsReport;

    async fn run(self, workers: Workers) -> Result<TagsReport, EngineError> {
        let is_of_range = !self.selection.range.is_all();
        let (all, _) = workers.cut(&self.selection.at_any_latency()).await?;
        let slow = if is_of_range { Some(workers.cut(&self.selection).await?.0) } else { None };
        let cuts = TypeLatencies::merge(all.partials(RequestPass::Latencies).await?).cuts();
        let sides = Sides { all, slow, groups: tail_groups(&cuts, is_of_range) };
        let tags = sides.tags().await?;
        let paired = tags.paired();
        let pairs = if paired.len() > 1 { sides.pairs(&paired).await? } else { PairsPart::default() };
        Ok(tags.rows(&paired, &pairs))
    }
}
