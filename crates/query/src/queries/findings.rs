//! The findings: three passes, each about what the one before has found.

use super::Query;
use super::culprit::{culprit, times};
use crate::EngineError;
use crate::request_pass::RequestPass;
use crate::workers::Workers;
use pathlight_analysis::findings::{FindingsPart, FindingsReport, TagsPart, over_time, rank, tag_groups};
use pathlight_analysis::requests::{Selection, TypeLatencies};
use serde::{Deserialize, Serialize};

/// Reports what is slow, where, why and for whom, best first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Findings {
    /// Which requests.
    pub selection: Selection,
    /// The requests they are compared with: what is normal, or what was before.
    pub baseline: Option<Selection>,
}

impl Query for Findings {
    type Report = FindingsReport;

    async fn run(self, workers: Workers) -> Result<FindingsReport, EngineError> {
        let (requests, facts) = workers.cut(&self.selection).await?;
        let types = TypeLatencies::merge(requests.partials(RequestPass::Latencies).await?);
        let cuts = types.cuts();
        let part =
            FindingsPart::merge(requests.partials(RequestPass::Findings { cuts: cuts.clone() }).await?);
        let groups = tag_groups(&types, &cuts, &part);
        let tags =
            TagsPart::merge(requests.partials(RequestPass::FindingTags { groups: groups.clone() }).await?);
        let mut over_time_before = Vec::new();
        let change = match &self.baseline {
            Some(baseline) => {
                let (before, _) = workers.cut(baseline).await?;
                let latencies = TypeLatencies::merge(before.partials(RequestPass::Latencies).await?);
                over_time_before = over_time(&latencies);
                let before = times(&before).await?;
                Some(culprit((baseline, &before), (&self.selection, &times(&requests).await?)))
            }
            None => None,
        };
        let report = rank(facts, &types, &cuts, &part, (&groups, &tags), change);
        Ok(FindingsReport { over_time_before, ..report })
    }
}
