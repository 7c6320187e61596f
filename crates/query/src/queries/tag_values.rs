//! The values of a tag.

use crate::EngineError;
use crate::Query;
use crate::request_pass::RequestPass;
use crate::workers::Workers;
use pathlight_analysis::critical_path::{TagValuesPart, TagValuesReport};
use pathlight_analysis::requests::Selection;
use serde::{Deserialize, Serialize};

/// Reports the values of a tag, with the requests that have them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagValues {
    /// The selected requests.
    pub selection: Selection,
    /// The tag or process tag.
    pub key: String,
}

impl Query for TagValues {
    type Report = TagValuesReport;

    async fn run(self, workers: Workers) -> Result<TagValuesReport, EngineError> {
        let pass = RequestPass::TagValues { key: self.key.clone() };
        let (parts, facts) = workers.request_partials(&self.selection, pass).await?;
        Ok(TagValuesPart::finish(parts, self.key, facts))
    }
}
