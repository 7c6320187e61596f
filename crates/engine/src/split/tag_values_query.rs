//! The values of a tag.

use crate::EngineError;
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use crate::split::{TagValuesObserver, TagValuesPart, TagValuesReport};
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
        let pass = TagValuesPass { key: self.key.clone() };
        let (parts, facts) = workers.request_partials(&self.selection, pass).await?;
        Ok(TagValuesPart::finish(parts, self.key, facts))
    }
}

/// Requests by value of a tag.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TagValuesPass {
    pub key: String,
}

impl RequestPass for TagValuesPass {
    type Part = TagValuesPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = TagValuesObserver::new(over.set, &self.key);
        over.walk(observer)
    }
}
