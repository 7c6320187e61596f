//! Execution flows: what waits for what below an endpoint, within the requests of a selection. What-ifs learn from all
//! requests, and change those of the selection.

mod capacity;
mod cheapest;
mod evaluation;
mod headroom;
mod mended;
mod parallelise;
mod parents;
mod savings;
mod target;
mod timeout;
mod variants;
mod what_if;

pub use capacity::Capacity;
pub use cheapest::Cheapest;
pub use evaluation::{FlowEvaluation, MIN_CHILDREN, back_test};
pub use headroom::Headroom;
pub use mended::Mended;
pub(crate) use mended::mended;
pub use parallelise::Parallelise;
pub(crate) use parallelise::parallelise;
pub use parents::FlowParents;
pub use savings::Savings;
pub(crate) use savings::savings;
pub use target::Target;
pub use timeout::Timeout;
pub use variants::FlowVariants;
pub(crate) use what_if::DoneWhatIfPass;
pub use what_if::WhatIf;
pub(crate) use what_if::what_if;

use crate::EngineError;
use crate::flow::paper::FlowSettings;
use crate::flow::passes::FlowPass;
use crate::flow::{
    Bindings, Callees, CalleesByParent, CalleesFor, FlowModel, FlowReport, FlowSample, NodeTable, PairCounts,
};
use crate::requests::{RootEndpoint, Selection};
use crate::run::pass::Pass;
use crate::run::query::Query;
use crate::run::workers::Workers;
use pathlight_trace::Endpoint;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Reports the execution flow of an endpoint; without one, the flow has no nodes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flow {
    /// The requests whose invocations are looked at.
    pub selection: Selection,
    /// The parent within them; `None`: their root endpoint.
    pub parent: Option<Endpoint>,
    /// Settings by which the flow is learned.
    pub settings: FlowSettings,
}

impl Query for Flow {
    type Report = FlowReport;

    async fn run(self, workers: Workers) -> Result<FlowReport, EngineError> {
        let Flow { selection, parent, settings } = self;
        let selection = selection.until_answer();
        let Some(parent) = parent.or_else(|| parent_of(&selection)) else { return Ok(FlowReport::default()) };
        if let Some((summary, choice)) = workers.summary_of(&selection).await? {
            return Ok(summary.flow(&choice, &parent, settings.tau_ppm)?);
        }
        let callees = workers.drawn_callees(&selection, &parent).await?;
        let table = NodeTable::new(parent, &callees);
        let mut sample = FlowSample::new(table.len);
        for mut part in
            workers.flow::<FlowSample>(&selection, FlowPass::Sample { table: table.clone() }).await?
        {
            part.unpack();
            sample.merge(part);
        }
        let flow = sample.pairs.flow(settings.tau_ppm);
        let pass = FlowPass::Bind { table: table.clone(), flow: flow.clone() };
        let mut bindings = Bindings::new(flow);
        workers.flow(&selection, pass).await?.into_iter().for_each(|part| bindings.add(part));
        Ok(FlowReport::new(&table, &callees, &sample, &bindings))
    }
}

impl Workers {
    /// Returns what the partials of a pass of a flow hold.
    async fn flow<T: DeserializeOwned>(
        &self,
        selection: &Selection,
        pass: FlowPass,
    ) -> Result<Vec<T>, EngineError> {
        // Flows are those of what is waited for.
        let selection = &selection.clone().until_answer();
        if self.summary_of(selection).await?.is_some() {
            return Err(EngineError::Summary(NEEDS_SPANS.to_owned()));
        }
        let cut = if selection.range.is_all() { None } else { Some(self.cut(selection).await?.0.cut) };
        let selection = selection.at_any_latency();
        self.read(Pass::Flow { selection, cut, pass: Box::new(pass) }).await
    }

    async fn callees(
        &self,
        selection: &Selection,
        parent: Option<Endpoint>,
        wanted: CalleesFor,
    ) -> Result<CalleesByParent, EngineError> {
        Ok(CalleesByParent::merge(self.flow(selection, FlowPass::Callees { parent, wanted }).await?))
    }

    /// Returns the callees of one parent, for a drawing.
    async fn drawn_callees(&self, selection: &Selection, parent: &Endpoint) -> Result<Callees, EngineError> {
        Ok(self.callees(selection, Some(parent.clone()), CalleesFor::Drawing).await?.only())
    }
}

/// Words where a summary cannot answer.
const NEEDS_SPANS: &str = "a summary holds which calls wait for which; what would happen if something were otherwise, and \
                           how well that is predicted, needs the spans of single requests: load the traces, or some of them";

/// Returns the parent that a selection names; `None`: all.
fn parent_of(selection: &Selection) -> Option<Endpoint> {
    match &selection.root {
        RootEndpoint::Endpoint(endpoint) => Some(endpoint.clone()),
        RootEndpoint::TraceRoots => None,
    }
}

/// Learns the flows of all parents from the whole group.
pub(crate) async fn model(
    workers: &Workers,
    selection: &Selection,
    settings: FlowSettings,
) -> Result<Arc<FlowModel>, EngineError> {
    let selection = selection.of_all_requests();
    let tables = workers.callees(&selection, None, CalleesFor::Model).await?.tables(|_| true);
    let mut pairs = tables.each(PairCounts::new);
    let pass = FlowPass::Pairs { tables: tables.clone() };
    for part in workers.flow::<Vec<PairCounts>>(&selection, pass).await? {
        pairs.iter_mut().zip(&part).for_each(|(into, from)| into.merge(from));
    }
    Ok(Arc::new(FlowModel::new(tables, &pairs, settings.tau_ppm)))
}
