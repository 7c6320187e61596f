//! Where one more span would tell most.

use super::{InstrumentObserver, InstrumentPart, InstrumentReport};
use crate::EngineError;
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports in which places of the code one more span would tell most about what requests wait for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instrument {
    /// The selected requests.
    pub selection: Selection,
}

impl Query for Instrument {
    type Report = InstrumentReport;

    async fn run(self, workers: Workers) -> Result<InstrumentReport, EngineError> {
        // A span of what happens after the answer would not shorten what anybody waits for.
        let selection = self.selection.until_answer();
        let (parts, facts) = workers.request_partials(&selection, InstrumentPass).await?;
        Ok(InstrumentReport::of(InstrumentPart::merge(parts), selection.range, facts))
    }
}

/// Stretches of critical paths without a span.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct InstrumentPass;

impl RequestPass for InstrumentPass {
    type Part = InstrumentPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = InstrumentObserver::new(over.set, over.settings.overlap, over.weighing);
        over.walk(observer)
    }
}
