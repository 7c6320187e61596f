//! The numbers of a tag, summed.

use crate::EngineError;
use crate::endpoints::{TagSumsObserver, TagSumsPart, TagSumsReport};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports the sums of the numbers of a tag, by endpoint or by the values of another tag.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TagSums {
    /// The selected requests.
    pub selection: Selection,
    /// The tag whose numbers are summed.
    pub key: String,
    /// The tag or process tag whose values they are summed by; `None`: by endpoint.
    pub by: Option<String>,
}

impl Query for TagSums {
    type Report = TagSumsReport;

    async fn run(self, workers: Workers) -> Result<TagSumsReport, EngineError> {
        let pass = TagSumsPass { key: self.key.clone(), by: self.by.clone() };
        let (parts, facts) = workers.request_partials(&self.selection, pass).await?;
        Ok(TagSumsPart::finish(parts, (self.key, self.by), self.selection.range, facts))
    }
}

/// Numbers of a tag by place.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TagSumsPass {
    key: String,
    by: Option<String>,
}

impl RequestPass for TagSumsPass {
    type Part = TagSumsPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = TagSumsObserver::new(over.set, &self.key, self.by.as_deref());
        over.walk(observer)
    }
}
