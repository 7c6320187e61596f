//! The number of requests in a percentile range, and their latency.

use crate::EngineError;
use crate::requests::{RangeReport, Selection};
use crate::run::query::Query;
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports how many requests a selection holds, and their latency: the query that costs least.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Range {
    /// The selected requests.
    pub selection: Selection,
}

impl Query for Range {
    type Report = RangeReport;

    async fn run(self, workers: Workers) -> Result<RangeReport, EngineError> {
        if let Some((summary, choice)) = workers.summary_of(&self.selection).await? {
            return Ok(RangeReport { range: choice.range, facts: summary.facts(&choice) });
        }
        let (_, facts) = workers.cut(&self.selection).await?;
        Ok(RangeReport { range: self.selection.range, facts: facts.by_weight() })
    }
}
