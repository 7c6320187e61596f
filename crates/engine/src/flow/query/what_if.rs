//! Requests before and after a change.

use super::{NEEDS_SPANS, model};
use crate::EngineError;
use crate::flow::done::DoneWhatIf;
use crate::flow::levels::{learn_levels, learn_move, learn_waits};
use crate::flow::paper::FlowSettings;
use crate::flow::passes::FlowPass;
use crate::flow::placed::TimedSpans;
use crate::flow::{
    self, CallsOf, Changes, FlowModel, PartTimes, QueueTimeChange, SubjectTime, WaitTime, WhatIfReport,
};
use crate::queues::query::sent;
use crate::requests::{Selection, Until};
use crate::run::query::Query;
use crate::run::range_requests::RangeRequests;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use crate::verdict::hit::usual_requests;
use futures_util::future::try_join;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

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
        if selection.until == Until::Done {
            return until_done(&workers, &selection, settings, changes).await;
        }
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
    let is_usual = |change: &&mut QueueTimeChange| change.time == SubjectTime::Usual;
    let mut queues: Vec<&mut QueueTimeChange> = changes.queues.iter_mut().filter(is_usual).collect();
    if selection.until == Until::Done && !queues.is_empty() {
        let sent = async |of: &Selection| Ok::<_, EngineError>(workers.over_requests(of, sent).await?.0);
        let (selected, reference) = try_join(sent(selection), sent(reference)).await?;
        for QueueTimeChange { queue, time } in &mut queues {
            let (selected, reference) = (selected.waits_us(queue), reference.waits_us(queue));
            *time = SubjectTime::Levels(learn_waits(&queue.receiver, &selected, &reference));
        }
    }
    let times = async |of: &Selection, spans: TimedSpans| {
        Ok::<_, EngineError>(PartTimes::merge(workers.flow(of, FlowPass::PartTimes { spans }).await?))
    };
    for change in changes.subjects.iter_mut().filter(|change| change.time == SubjectTime::Usual) {
        let spans = || TimedSpans::Subject(change.subject.clone());
        let (selected, reference) = try_join(times(selection, spans()), times(reference, spans())).await?;
        change.time = SubjectTime::Levels(learn_levels(selected, reference));
    }
    // Places are compared within the selected requests.
    for change in changes.moves.iter_mut().filter(|change| change.levels.is_none()) {
        let [moved, there] = [false, true].map(|is_there| times(selection, change.spans(is_there)));
        let (moved, there) = try_join(moved, there).await?;
        change.levels = Some(learn_move(moved, there));
    }
    for change in changes.waits.iter_mut().filter(|change| change.time == WaitTime::Within) {
        let spans = |cross| TimedSpans::Calls { calls: change.calls.clone(), cross };
        let (across, within) =
            try_join(times(selection, spans(true)), times(selection, spans(false))).await?;
        change.time = WaitTime::Levels(learn_move(across, within));
    }
    Ok(())
}

/// Reports requests until everything is done. Flows are learned only if they matter.
async fn until_done(
    workers: &Workers,
    selection: &Selection,
    settings: FlowSettings,
    changes: Changes,
) -> Result<WhatIfReport, EngineError> {
    if workers.summary_of(selection).await?.is_some() {
        return Err(EngineError::Summary(NEEDS_SPANS.to_owned()));
    }
    let model = match changes.has_more_than_queues() {
        true => Some(model(workers, selection, settings).await?),
        false => None,
    };
    let pass = DoneWhatIfPass { model, changes };
    let found = async |requests: &RangeRequests<'_>| requests.partials(pass).await;
    let (parts, _) = workers.over_requests(selection, found).await?;
    Ok(flow::WhatIfLatencies::merge(parts).finish())
}

/// Latencies until everything is done, before and after a change.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DoneWhatIfPass {
    /// `None` if only times in queues change.
    model: Option<Arc<FlowModel>>,
    changes: Changes,
}

impl RequestPass for DoneWhatIfPass {
    type Part = flow::WhatIfLatencies;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let follower = over.follower().unwrap_or_default();
        let model = (self.model, over.settings.overlap);
        let observer = DoneWhatIf::new(over.set, follower, model, &self.changes);
        over.walk(observer)
    }
}

/// Returns the requests before and after a change, and these of their calls.
pub(crate) async fn what_if(
    workers: &Workers,
    selection: &Selection,
    model: Arc<FlowModel>,
    changes: Changes,
    calls: CallsOf,
) -> Result<flow::WhatIfLatencies, EngineError> {
    let pass = FlowPass::WhatIf { model, changes, calls };
    Ok(flow::WhatIfLatencies::merge(workers.flow(selection, pass).await?))
}
