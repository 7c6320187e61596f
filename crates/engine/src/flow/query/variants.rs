//! The variants of an endpoint's flow.

use super::parent_of;
use crate::EngineError;
use crate::flow::paper::FlowSettings;
use crate::flow::passes::FlowPass;
use crate::flow::variants::{VariantSample, VariantStep};
use crate::flow::{Bindings, FlowReport, FlowVariantsReport, NodeTable, VariantCallees, VariantKey};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Reports which calls the invocations of an endpoint make, how many make the same ones, the flow of each, and what decides which.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowVariants {
    /// The requests whose invocations are looked at.
    pub selection: Selection,
    /// The parent within them; `None`: their root endpoint.
    pub parent: Option<Endpoint>,
    /// Settings by which the flows are learned; so many invocations make a variant as make a cluster.
    pub settings: FlowSettings,
}

impl Query for FlowVariants {
    type Report = FlowVariantsReport;

    async fn run(self, workers: Workers) -> Result<FlowVariantsReport, EngineError> {
        let FlowVariants { selection, parent, settings } = self;
        let Some(parent) = parent.or_else(|| parent_of(&selection)) else {
            return Ok(FlowVariantsReport::default());
        };
        let known = workers.drawn_callees(&selection, &parent).await?;
        let of = VariantCallees::new(parent, &known);
        let pass = |step| FlowPass::Variants { of: of.clone(), step };
        let mut counts: BTreeMap<VariantKey, u64> = BTreeMap::new();
        for part in workers.flow::<BTreeMap<VariantKey, u64>>(&selection, pass(VariantStep::Count)).await? {
            part.into_iter().for_each(|(key, n)| *counts.entry(key).or_default() += n);
        }
        let listed = FlowVariantsReport::listed(&counts, settings.min_traces);
        let tables: Vec<(VariantKey, NodeTable)> =
            listed.iter().map(|(key, n)| (key.clone(), of.table(key, &known, *n))).collect();
        let mut sample = VariantSample::new(tables.iter().map(|of| &of.1));
        let step = VariantStep::Sample(tables.clone());
        for part in workers.flow::<VariantSample>(&selection, pass(step)).await? {
            sample.merge(part);
        }
        let flows = sample.flows.iter().map(|of| of.pairs.flow(settings.tau_ppm));
        let mut bindings: Vec<Bindings> = flows.map(Bindings::new).collect();
        let bound = tables.iter().cloned().zip(&bindings);
        let bound = bound.map(|((key, table), of)| (key, table, of.flow.clone())).collect();
        let step = VariantStep::Bind(bound);
        for part in workers.flow::<Vec<BTreeMap<(u32, u32), u64>>>(&selection, pass(step)).await? {
            bindings.iter_mut().zip(part).for_each(|(into, from)| into.add(from));
        }
        let flow = |(((key, table), sample), bindings): (((&VariantKey, &NodeTable), _), _)| {
            FlowReport::new(table, &of.of(key, &known, 0), sample, bindings)
        };
        let tables = tables.iter().map(|(key, table)| (key, table));
        let flows = tables.zip(&sample.flows).zip(&bindings).map(flow).collect();
        Ok(FlowVariantsReport::new(&of, &counts, listed, &sample.features, flows))
    }
}
