//! The endpoints that have a flow.

use super::parent_of;
use crate::EngineError;
use crate::flow::{CalleesFor, FlowParent, NodeTable};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
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
        let parents = found.into_iter().map(|(name, (callees, _))| FlowParent {
            invocations: callees.invocations,
            childless: callees.childless,
            nodes: NodeTable::new(name.clone(), &callees).len,
            most_calls: callees.most,
            calls_us: callees.calls_us,
            recoverable_us: callees.recoverable_us,
            service: name.service,
            operation: name.operation,
        });
        Ok(parents.collect())
    }
}
