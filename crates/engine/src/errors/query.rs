//! Where errors start and stop, and the requests without them.

use crate::EngineError;
use crate::errors::{ErrorsPart, ErrorsReport};
use crate::queries::Query;
use crate::requests::Selection;
use crate::run::request_pass::RequestPass;
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports where errors start and stop, and the requests without them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// The selected requests.
    pub selection: Selection,
}

impl Query for Errors {
    type Report = ErrorsReport;

    async fn run(self, workers: Workers) -> Result<ErrorsReport, EngineError> {
        if let Some((summary, choice)) = workers.summary_of(&self.selection).await? {
            return Ok(summary.errors(&choice)?);
        }
        let (parts, facts) = workers.request_partials(&self.selection, RequestPass::Errors).await?;
        Ok(ErrorsPart::finish(parts, self.selection.range, facts))
    }
}
