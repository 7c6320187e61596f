//! Times and call chains by endpoint.

use super::Query;
use crate::EngineError;
use crate::request_pass::RequestPass;
use crate::workers::Workers;
use pathlight_analysis::critical_path::{EndpointPart, EndpointsReport};
use pathlight_analysis::requests::Selection;
use serde::{Deserialize, Serialize};

/// Reports times and call chains by endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoints {
    /// Which requests.
    pub selection: Selection,
}

impl Query for Endpoints {
    type Report = EndpointsReport;

    async fn run(self, workers: Workers) -> Result<EndpointsReport, EngineError> {
        if let Some((summary, choice)) = workers.summary_of(&self.selection).await? {
            return Ok(summary.endpoints(&choice));
        }
        let (parts, facts) = workers.request_partials(&self.selection, RequestPass::Rows).await?;
        Ok(EndpointPart::finish(parts, self.selection.range, facts))
    }
}
