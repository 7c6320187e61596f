//! The endpoints that have a flow.

use super::parent_of;
use crate::EngineError;
use crate::flow::{CalleesFor, FlowParent};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};

/// Reports the endpoints that have a flow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowParents {
    /// The selection of invocations; those of all parents without a root endpoint.
    pub selection: Selection,
}

impl Query for FlowParents {
    /// The parents, sorted by (service, operation).
    type Report = Vec<FlowParent>;

    async fn run(self, workers: Workers) -> Result<Vec<FlowParent>, EngineError> {
        let selection = self.selection.until_answer();
        if let Some((summary, choice)) = workers.summary_of(&selection).await? {
            return Ok(summary.flow_parents(&choice, parent_of(&selection).as_ref())?);
        }
        let found = workers.callees(&selection, parent_of(&selection), CalleesFor::Drawing).await?;
        let parents = found.parents().map(|(Endpoint { service, operation }, parent)| FlowParent {
            invocations: parent.callees.invocations,
            childless: parent.callees.childless,
            nodes: parent.nodes(),
            most_calls: parent.callees.most,
            calls_us: parent.callees.calls_us,
            recoverable_us: parent.callees.recoverable_us,
            service: service.clone(),
            operation: operation.clone(),
        });
        Ok(parents.collect())
    }
}
