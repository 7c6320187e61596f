//! The map of services.

use crate::EngineError;
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use crate::verdict::ServicesObserver;
use crate::verdict::service_map::{ServiceMapObserver, ServiceMapPart, ServiceMapReport};
use serde::{Deserialize, Serialize};

/// Reports which services the requests of a selection use, who calls whom, and how long the requests wait for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServiceMap {
    /// The selected requests.
    pub selection: Selection,
    /// Requests to compare them with.
    pub baseline: Option<Selection>,
}

/// Words where a summary cannot answer.
const NEEDS_SPANS: &str = "a summary does not hold how long requests wait for each call of a service; the map of services needs \
                           the spans of single requests: load the traces, or some of them";

impl Query for ServiceMap {
    type Report = ServiceMapReport;

    async fn run(self, workers: Workers) -> Result<ServiceMapReport, EngineError> {
        let side = async |selection: &Selection| {
            // Flows end with the answer, and so does their map. Visits need the operations.
            let selection = Selection { by_service: false, ..selection.clone().until_answer() };
            if workers.summary_of(&selection).await?.is_some() {
                return Err(EngineError::Summary(NEEDS_SPANS.to_owned()));
            }
            let parts = workers.requests(&selection).await?.partials(ServiceMapPass).await?;
            Ok(ServiceMapPart::merge(parts))
        };
        let here = side(&self.selection).await?;
        let baseline = match &self.baseline {
            Some(baseline) => Some(side(baseline).await?),
            None => None,
        };
        Ok(here.report(baseline.as_ref()))
    }
}

/// Calls between services and their times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ServiceMapPass;

impl RequestPass for ServiceMapPass {
    type Part = ServiceMapPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let services = ServicesObserver::new(over.set, over.settings.overlap);
        let observer = ServiceMapObserver::new(services, over.weighing);
        over.walk(observer)
    }
}
