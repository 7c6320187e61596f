//! The six predictors of a parent's latency, compared.

use super::parent_of;
use crate::EngineError;
use crate::flow::paper::{FlowSettings, InvocationKey, PredictorTraining};
use crate::flow::passes::FlowPass;
use crate::flow::{CalleesFor, Estimates, EvaluationReport};
use crate::requests::Selection;
use crate::run::Ask;
use crate::run::query::Query;
use crate::run::workers::Workers;
use pathlight_base::sort::CompactSort as _;
use serde::{Deserialize, Serialize};

/// Reports how well the six predictors do: they learn from the earlier half of each parent's invocations, and are tested
/// on the others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowEvaluation {
    /// The selection of invocations; pooled over all parents without a root endpoint.
    pub selection: Selection,
    /// Settings by which flows are learned.
    pub settings: FlowSettings,
    /// Parents none of whose invocations has so many calls are left out when pooling.
    pub min_children: u32,
}

/// Calls that a parent needs so that the predictors are tested on its invocations, unless something else is asked for.
pub const MIN_CHILDREN: u32 = 2;

/// Asks how well the model does on held-out invocations of all parents, whichever requests a what-if is about.
///
/// # Errors
/// Those of whoever is asked.
pub fn back_test<A: Ask>(
    of: &mut A,
    selection: &Selection,
    settings: FlowSettings,
    min_children: u32,
) -> Result<EvaluationReport, A::Error> {
    of.ask(FlowEvaluation { selection: selection.of_all_requests(), settings, min_children })
}

impl Query for FlowEvaluation {
    type Report = EvaluationReport;

    async fn run(self, workers: Workers) -> Result<EvaluationReport, EngineError> {
        let FlowEvaluation { selection, settings, min_children } = self;
        let parent = parent_of(&selection);
        // A parent that was chosen is compared whatever its size.
        let least = if parent.is_none() { min_children } else { 0 };
        let (mut starts_us, mut ranks, mut counts) = (Vec::new(), Vec::new(), (0, 0));
        let found = workers.callees(&selection, parent.clone(), CalleesFor::Prediction).await?;
        let tables = found.tables(|parent| {
            let starts = parent.starts_us();
            let half = starts.len() / 2;
            let Some(&start) = starts.get(half).filter(|_| parent.callees.most >= least) else {
                return false;
            };
            counts = (counts.0 + half as u64, counts.1 + (starts.len() - half) as u64);
            ranks.push(half - starts.partition_point(|&s| s < start));
            starts_us.push(start);
            true
        });
        let mut keys: Vec<Vec<InvocationKey>> = tables.each(|_| Vec::new());
        let pass = FlowPass::Keys { tables: tables.clone(), starts_us };
        for part in workers.flow::<Vec<Vec<InvocationKey>>>(&selection, pass).await? {
            keys.iter_mut().zip(part).for_each(|(into, from)| into.extend(from));
        }
        let cuts: Vec<Option<InvocationKey>> = (keys.into_iter().zip(ranks))
            .map(|(mut keys, rank)| {
                keys.compact_sort();
                keys.into_iter().nth(rank)
            })
            .collect();
        let mut trainings = tables.each(PredictorTraining::new);
        let pass = FlowPass::Train { tables: tables.clone(), cuts: cuts.clone() };
        for part in workers.flow::<Vec<PredictorTraining>>(&selection, pass).await? {
            trainings.iter_mut().zip(part).for_each(|(into, from)| into.merge(from));
        }
        let predictors = trainings.into_iter().map(|training| training.finish(settings)).collect();
        let parents = tables.of.len() as u64;
        let mut estimates = Estimates::default();
        for part in workers.flow(&selection, FlowPass::Test { tables, cuts, predictors }).await? {
            estimates.merge(part);
        }
        estimates.sort();
        Ok(EvaluationReport {
            parent,
            parents,
            min_children,
            train: counts.0,
            test: counts.1,
            methods: EvaluationReport::methods_of(&estimates),
        })
    }
}
