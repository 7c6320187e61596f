//! What services and calls take by where they run.

use super::{DeploymentsObserver, DeploymentsPart, DeploymentsReport};
use crate::EngineError;
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use serde::{Deserialize, Serialize};

/// Reports which versions, zones, hosts and the like of a service are slower than its others in the same minutes, and what calls
/// wait that go from one place to another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Deployments {
    /// The selected requests.
    pub selection: Selection,
    /// The tag of processes; `None`: all that are known to say where something runs.
    pub key: Option<String>,
}

impl Query for Deployments {
    type Report = DeploymentsReport;

    async fn run(self, workers: Workers) -> Result<DeploymentsReport, EngineError> {
        let Deployments { selection, key } = self;
        // It is own work and waits that are compared, which do not depend on what happens after the answer.
        let selection = selection.until_answer();
        let pass = DeploymentsPass { key: key.clone() };
        let (parts, facts) = workers.request_partials(&selection, pass).await?;
        Ok(DeploymentsPart::merge(parts).finish(selection.range, facts, key))
    }
}

/// Times by tags of processes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DeploymentsPass {
    key: Option<String>,
}

impl RequestPass for DeploymentsPass {
    type Part = DeploymentsPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let (overlap, weighing) = (over.settings.overlap, over.weighing);
        let observer = DeploymentsObserver::new(over.set, overlap, weighing, self.key.as_deref());
        over.walk(observer)
    }
}
