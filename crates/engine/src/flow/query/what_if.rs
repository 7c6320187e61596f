//! Requests before and after a change.

use super::model;
use crate::EngineError;
use crate::flow::levels::learn_levels;
use crate::flow::paper::FlowSettings;
use crate::flow::passes::FlowPass;
use crate::flow::{self, CallsOf, Changes, FlowModel, PartTimes, SubjectTime, WhatIfReport};
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::workers::Workers;
use crate::verdict::hit::usual_requests;
use futures_util::future::try_join;
use serde::{Deserialize, Serialize};

/// Reports the requests of a selection before and after a change. Flows are learned from all traces of the selection's
/// group, whatever its root endpoint and filters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WhatIf {
    /// The selected requests.
    pub selection: Selection,
    /// Set A, which says what subjects usually take; `None`: the faster half of each request type does.
    pub baseline: Option<Selection>,
    /// Settings by which flows are learned.
    pub settings: FlowSettings,
    /// The changes.
    pub changes: Changes,
}

impl Query for WhatIf {
    type Report = WhatIfReport;

    async fn run(self, workers: Workers) -> Result<WhatIfReport, EngineError> {
        let WhatIf { selection, baseline, settings, mut changes } = self;
        learn_usual(&workers, &selection, &usual_requests(&selection, baseline.as_ref()), &mut changes)
            .await?;
        let model = model(&workers, &selection, settings).await?;
        Ok(what_if(&workers, &selection, model, changes, CallsOf::Nobody).await?.finish())
    }
}

/// Learns what subjects take in the requests of a reference, where they are to take what is usual.
///
/// # Errors
/// [`EngineError::Summary`] if either selection is of a summary, which lacks single requests.
pub(super) async fn learn_usual(
    workers: &Workers,
    selection: &Selection,
    reference: &Selection,
    changes: &mut Changes,
) -> Result<(), EngineError> {
    for change in changes.subjects.iter_mut().filter(|change| change.time == SubjectTime::Usual) {
        let times = async |of: &Selection| {
            let pass = FlowPass::PartTimes { subject: change.subject.clone() };
            Ok::<_, EngineError>(PartTimes::merge(workers.flow(of, pass).await?))
        };
        let (selected, reference) = try_join(times(selection), times(reference)).await?;
        change.time = SubjectTime::Levels(learn_levels(selected, reference));
    }
    Ok(())
}

/// Returns the requests before and after a change, and these of their calls.
pub(crate) async fn what_if(
    workers: &Workers,
    selection: &Selection,
    model: FlowModel,
    changes: Changes,
    calls: CallsOf,
) -> Result<flow::WhatIfLatencies, EngineError> {
    let pass = FlowPass::WhatIf { model, changes, calls };
    Ok(flow::WhatIfLatencies::merge(workers.flow(selection, pass).await?))
}
