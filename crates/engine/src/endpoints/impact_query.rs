//! Interior endpoints over all root endpoints.

use crate::EngineError;
use crate::endpoints::{ImpactPart, ImpactReport};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::range_requests::RangeRequests;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use crate::verdict::query::times;
use futures_util::future::try_join;
use serde::{Deserialize, Serialize};

/// Reports what interior endpoints cost all root endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Impact {
    /// The selected requests.
    pub selection: Selection,
}

impl Query for Impact {
    type Report = ImpactReport;

    async fn run(self, workers: Workers) -> Result<ImpactReport, EngineError> {
        if let Some((summary, choice)) = workers.summary_of(&self.selection).await? {
            return Ok(summary.bottom_up(&choice)?);
        }
        let by_service = self.selection.by_service;
        let passes = async |requests: &RangeRequests<'_>| {
            let services =
                async { if by_service { times(requests, false).await.map(Some) } else { Ok(None) } };
            try_join(requests.partials(ImpactPass), services).await
        };
        let ((parts, services), facts) = workers.over_requests(&self.selection, passes).await?;
        let mut report = ImpactPart::finish(parts, self.selection.range, facts);
        services.iter().for_each(|services| report.divide(services));
        Ok(report)
    }
}

/// Times by root endpoint and endpoint.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ImpactPass;

impl RequestPass for ImpactPass {
    type Part = ImpactPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        over.sweep(ImpactPart::observe)
    }
}
