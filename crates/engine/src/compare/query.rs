//! A comparison: each side is cut, its frames, calls and visits are summed, then both are put together.

use crate::EngineError;
use crate::compare::{ComparePart, CompareReport, CompareSide};
use crate::queues::QueuesPart;
use crate::queues::query::sent;
use crate::requests::{PercentileRange, Selection};
use crate::run::query::Query;
use crate::run::range_requests::RangeRequests;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use crate::summaries::loaded::SummaryOf;
use crate::summaries::{Choice, OtherSettings, Summary};
use crate::verdict::ServicesPartial;
use crate::verdict::query::{culprit, times};
use futures_util::future::{try_join, try_join3};
use pathlight_trace::PathSettings;
use serde::{Deserialize, Serialize};

/// Reports how two sides differ, frame by frame and service by service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    /// The requests of side A.
    pub a: Selection,
    /// The selected requests of side B.
    pub b: Selection,
}

/// Returns the percentile ranges of both sides: those asked for; else everything where one side is a baseline, and the slow
/// requests against the faster half where both sides are of one set.
pub fn ranges(asked: [Option<PercentileRange>; 2], has_baseline: bool) -> [PercentileRange; 2] {
    let usual = match has_baseline {
        true => [PercentileRange::ALL; 2],
        false => [PercentileRange::open(0, 50_000), PercentileRange::TAIL],
    };
    [0, 1].map(|side| asked[side].unwrap_or(usual[side]))
}

impl Query for Compare {
    type Report = CompareReport;

    async fn run(self, workers: Workers) -> Result<CompareReport, EngineError> {
        let Compare { a, b } = self;
        // Traces against a summary are read as the summary was.
        let summaries = (workers.summary_of(&a).await?, workers.summary_of(&b).await?);
        let settings = match &summaries {
            (Some((a, _)), Some((b, _))) if a.settings != b.settings => {
                return Err(EngineError::Summary(OtherSettings.to_string()));
            }
            (Some((summary, _)), _) | (_, Some((summary, _))) => Some(summary.settings.path),
            _ => None,
        };
        let read = |selection: Selection| match settings {
            Some(PathSettings { overlap, reading, by_service }) => {
                Selection { overlap, reading, by_service, ..selection }
            }
            None => selection,
        };
        let ((a, a_times, a_sent), (b, b_times, b_sent)) =
            try_join(side(&workers, read(a), &summaries.1), side(&workers, read(b), &summaries.0)).await?;
        let culprit = culprit((&a.0.selection, &a_times, &a_sent), (&b.0.selection, &b_times, &b_sent));
        Ok(ComparePart::finish(a, b, culprit))
    }
}

/// Returns frames, times and messages of one side, beside the summary of the other side if it is one; a summary has no
/// messages.
async fn side(
    workers: &Workers,
    selection: Selection,
    other: &Option<(SummaryOf, Choice)>,
) -> Result<((CompareSide, ComparePart), ServicesPartial, QueuesPart), EngineError> {
    if let Some((summary, choice)) = workers.summary_of(&selection).await? {
        if !choice.range.is_all() {
            return Err(EngineError::Summary(
                "a summary compares over requests of any latency, not in a percentile range: choose All, or load the traces".to_owned(),
            ));
        }
        let both = [&*summary, other.as_ref().map_or(&*summary, |(other, _)| other)];
        let summary = &Summary::alike(&both)[0];
        let ((mut side, frames), times) = summary.side(&choice, selection.group)?;
        side.selection = selection;
        return Ok(((side, frames), times, QueuesPart::default()));
    }
    let found = async |requests: &RangeRequests<'_>| {
        try_join3(requests.partials(FramesPass), times(requests, true), sent(requests)).await
    };
    let ((frames, times, sent), facts) = workers.over_requests(&selection, found).await?;
    Ok(((CompareSide { selection, facts: facts.by_weight() }, ComparePart::merge(frames)), times, sent))
}

/// Frames of one side of a comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct FramesPass;

impl RequestPass for FramesPass {
    type Part = ComparePart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        over.sweep(|rows| ComparePart::observe(rows.set, rows.table, rows.numbers(), rows.weighing))
    }
}
