//! The tags to split by.

use crate::EngineError;
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use crate::split::{ProposalsObserver, ProposalsPart, ProposalsReport, SplitOf};
use serde::{Deserialize, Serialize};

/// Reports the tags whose values differ most, to split by.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Proposals {
    /// The selected requests.
    pub selection: Selection,
    /// The quantity that would be split.
    pub of: SplitOf,
}

impl Query for Proposals {
    type Report = ProposalsReport;

    async fn run(self, workers: Workers) -> Result<ProposalsReport, EngineError> {
        let pass = ProposalsPass { of: self.of.clone() };
        let (parts, facts) = workers.request_partials(&self.selection, pass).await?;
        Ok(ProposalsPart::finish(parts, self.of, self.selection.range, facts))
    }
}

/// Times by value of every tag.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ProposalsPass {
    pub of: SplitOf,
}

impl RequestPass for ProposalsPass {
    type Part = ProposalsPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = ProposalsObserver::new(over.set, &self.of, (over.settings.overlap, over.done_path()));
        over.walk(observer)
    }
}
