//! Times by the values of a tag.

use crate::EngineError;
use crate::Query;
use crate::request_pass::RequestPass;
use crate::workers::Workers;
use pathlight_analysis::critical_path::{SplitOf, SplitPart, SplitReport};
use pathlight_analysis::requests::Selection;
use serde::{Deserialize, Serialize};

/// Reports latency, or the time of one endpoint, by the values of a tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Split {
    /// The selected requests.
    pub selection: Selection,
    /// The quantity that is split.
    pub of: SplitOf,
    /// The tag or process tag.
    pub key: String,
}

impl Query for Split {
    type Report = SplitReport;

    async fn run(self, workers: Workers) -> Result<SplitReport, EngineError> {
        let pass = RequestPass::Split { of: self.of.clone(), key: self.key.clone() };
        let (parts, facts) = workers.request_partials(&self.selection, pass).await?;
        Ok(SplitPart::finish(parts, (self.of, self.key), self.selection.range, facts))
    }
}
