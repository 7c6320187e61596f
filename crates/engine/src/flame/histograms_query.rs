//! Sizes of requests and endpoints.

use crate::EngineError;
use crate::flame::{HistogramsObserver, HistogramsPart, HistogramsReport};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports the sizes of requests and endpoints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Histograms {
    /// The selected requests.
    pub selection: Selection,
}

impl Query for Histograms {
    type Report = HistogramsReport;

    async fn run(self, workers: Workers) -> Result<HistogramsReport, EngineError> {
        if let Some((summary, choice)) = workers.summary_of(&self.selection).await? {
            return Ok(summary.histograms(&choice));
        }
        let (parts, facts) = workers.request_partials(&self.selection, HistogramsPass).await?;
        Ok(HistogramsPart::finish(parts, self.selection.range, facts))
    }
}

/// Sizes of requests.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct HistogramsPass;

impl RequestPass for HistogramsPass {
    type Part = HistogramsPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = HistogramsObserver::new(over.set);
        over.walk(observer)
    }
}
