//! The findings: three passes, each about what the one before has found.

use crate::EngineError;
use crate::findings::tags_query::{TagsPass, TypeLatenciesPass};
use crate::findings::{
    Before, FindingsObserver, FindingsPart, FindingsReport, TagGroup, TagsPart, rank, tag_groups,
};
use crate::queues::QueuesPart;
use crate::queues::query::sent;
use crate::requests::{RangeFacts, Selection, TypeCut, TypeLatencies};
use crate::run::query::Query;
use crate::run::range_requests::RangeRequests;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use crate::verdict::ServicesPartial;
use crate::verdict::query::{culprit, services_observer};
use futures_util::future::try_join;
use serde::{Deserialize, Serialize};

/// Reports what is slow, where, why and for whom, best first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// The selected requests.
    pub selection: Selection,
    /// The requests they are compared with: what is normal, or what was before.
    pub baseline: Option<Selection>,
}

impl Query for Findings {
    type Report = FindingsReport;

    async fn run(self, workers: Workers) -> Result<FindingsReport, EngineError> {
        let is_compared = self.baseline.is_some();
        let side = async |selection| {
            workers.over_requests(selection, async |requests| found(requests, is_compared).await).await
        };
        let Some(baseline) = &self.baseline else {
            let (found, facts) = side(&self.selection).await?;
            return Ok(found.rank(facts, None));
        };
        let ((before, before_facts), (found, facts)) =
            try_join(side(baseline), side(&self.selection)).await?;
        let change =
            culprit((baseline, &before.times, &before.sent), (&self.selection, &found.times, &found.sent));
        let report = before.rank(before_facts, None);
        Ok(found.rank(facts, Some(Before { change, report })))
    }
}

/// What the three passes found.
struct Found {
    types: TypeLatencies,
    cuts: Vec<TypeCut>,
    part: FindingsPart,
    times: ServicesPartial,
    sent: QueuesPart,
    groups: Vec<TagGroup>,
    tags: TagsPart,
}

impl Found {
    fn rank(&self, facts: RangeFacts, before: Option<Before>) -> FindingsReport {
        let parts = (&self.part, &self.times, &self.sent);
        rank(facts.by_weight(), &self.types, &self.cuts, parts, (&self.groups, &self.tags), before)
    }
}

/// Runs the three passes over the requests, which may be compared with others.
async fn found(requests: &RangeRequests<'_>, is_compared: bool) -> Result<Found, EngineError> {
    let latencies = async { Ok(TypeLatencies::merge(requests.partials(TypeLatenciesPass).await?)) };
    let (types, sent) = try_join(latencies, sent(requests)).await?;
    let cuts = types.cuts();
    let parts = requests.partials(FindingsPass { cuts: cuts.clone(), is_compared }).await?;
    let (parts, times): (Vec<FindingsPart>, Vec<ServicesPartial>) = parts.into_iter().unzip();
    let (part, times) = (FindingsPart::merge(parts), ServicesPartial::merge(times));
    let groups = tag_groups(&types, &cuts, &part, &times);
    let tags = TagsPart::merge(requests.partials(TagsPass { groups: groups.clone() }).await?);
    Ok(Found { types, cuts, part, times, sent, groups, tags })
}

/// Where the tails of request types spend more, what is odd about structures, and in the same walk the times of services: to
/// walk once more would build every tree again.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FindingsPass {
    pub cuts: Vec<TypeCut>,
    /// Whether the times of services are compared with others.
    pub is_compared: bool,
}

impl RequestPass for FindingsPass {
    type Part = (FindingsPart, ServicesPartial);
    const IS_BY_TYPE: bool = true;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = FindingsObserver::new(
            over.set,
            over.types.clone(),
            &self.cuts,
            over.apart.is_some(),
            over.weighing,
        );
        let services = services_observer(&over, self.is_compared);
        over.walk((observer, services))
    }
}
