//! Times by the values of a tag.

use crate::EngineError;
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
}

impl Query for Split {
    type Report = SplitReport;

    async fn run(self, workers: Workers) -> Result<SplitReport, EngineError> {
        let pass = SplitPass { of: self.of.clone(), key: self.key.clone() };
        let (parts, facts) = workers.request_partials(&self.selection, pass).await?;
        Ok(SplitPart::finish(parts, (self.of, self.key), self.selection.range, facts))
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
