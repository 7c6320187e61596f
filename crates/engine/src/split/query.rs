//! Times by the values of a tag.

use crate::EngineError;
use crate::endpoints::tag_sums_query::TagSums;
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use crate::split::{SplitObserver, SplitOf, SplitPart, SplitReport};
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
    /// The tag whose numbers are summed by value.
    pub sum: Option<String>,
}

impl Query for Split {
    type Report = SplitReport;

    async fn run(self, workers: Workers) -> Result<SplitReport, EngineError> {
        let pass = SplitPass { of: self.of.clone(), key: self.key.clone() };
        let (parts, facts) = workers.request_partials(&self.selection, pass).await?;
        let mut report = SplitPart::finish(parts, (self.of, self.key.clone()), self.selection.range, facts);
        if let Some(key) = self.sum {
            let sums = TagSums { selection: self.selection, key, by: Some(self.key) };
            report.take_sums(sums.run(workers).await?);
        }
        Ok(report)
    }
}

/// Times by value of a tag.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SplitPass {
    pub of: SplitOf,
    pub key: String,
}

impl RequestPass for SplitPass {
    type Part = SplitPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = SplitObserver::new(
            over.set,
            &self.of,
            &self.key,
            (over.settings.overlap, over.done_path()),
            over.weighing,
        );
        over.walk(observer)
    }
}
