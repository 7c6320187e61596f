//! The findings: three passes, each about what the one before has found.

use crate::EngineError;
use crate::compare::services::query::{culprit, times};
use crate::findings::{Before, FindingsPart, FindingsReport, TagsPart, rank, tag_groups};
use crate::queries::Query;
use crate::requests::{RangeFacts, Selection, TypeLatencies};
use crate::run::request_pass::RequestPass;
use crate::run::workers::{RangeRequests, Workers};
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
        let (requests, facts) = workers.cut(&self.selection).await?;
        let before = match &self.baseline {
            Some(baseline) => {
                let (normal, facts) = workers.cut(baseline).await?;
                let report = find(&normal, facts, None).await?;
                let normal = times(&normal).await?;
                let change = culprit((baseline, &normal), (&self.selection, &times(&requests).await?));
                Some(Before { change, report })
            }
            None => None,
        };
        find(&requests, facts, before).await
    }
}

/// Runs the three passes over the requests and returns the ranked findings.
async fn find(
    requests: &RangeRequests<'_>,
    facts: RangeFacts,
    before: Option<Before>,
) -> Result<FindingsReport, EngineError> {
    let types = TypeLatencies::merge(requests.partials(RequestPass::Latencies).await?);
    let cuts = types.cuts();
    let part = FindingsPart::merge(requests.partials(RequestPass::Findings { cuts: cuts.clone() }).await?);
    let groups = tag_groups(&types, &cuts, &part);
    let tags = TagsPart::merge(requests.partials(RequestPass::FindingTags { groups: groups.clone() }).await?);
    Ok(rank(facts, &types, &cuts, &part, (&groups, &tags), before))
}
