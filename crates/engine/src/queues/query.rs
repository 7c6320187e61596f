//! Messages of requests, by edge.

use super::links::{SpanAddress, held};
use super::observe::{QueuesObserver, QueuesPart, Receiver, Receivers};
use super::on_path::PathObserver;
use super::report::QueuesReport;
use crate::EngineError;
use crate::flame::done::DonePath;
use crate::requests::{Selection, Until};
use crate::run::query::Query;
use crate::run::range_requests::RangeRequests;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::set_pass::{OverSet, RunningSetPass, SetPass, at_once};
use crate::run::workers::Workers;
use futures_util::future::try_join;
use pathlight_base::encoding;
use pathlight_trace::{PathSettings, SpanKind};
use serde::{Deserialize, Serialize};

/// Reports how long the messages that requests send wait until they are received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queues {
    /// The selected requests: those that send.
    pub selection: Selection,
}

impl Query for Queues {
    type Report = QueuesReport;

    async fn run(self, workers: Workers) -> Result<QueuesReport, EngineError> {
        let Queues { selection } = self;
        let found = async |requests: &RangeRequests<'_>| {
            let (others, _) = elsewhere(requests).await?;
            let addresses = others.iter().map(|(address, _)| address.clone()).collect();
            let pass = QueuesPass { group: requests.selection().group, others };
            try_join(held(requests.workers(), addresses), requests.partials(pass)).await
        };
        let ((held, parts), facts) = workers.over_requests(&selection, found).await?;
        let lost_senders = held.into_iter().filter(|is_held| !is_held).count() as u64;
        Ok(QueuesPart::merge(parts).finish(selection.range, facts, lost_senders))
    }
}

/// Returns the messages that requests send, or all that they lead to until everything is done; none, without a look at the requests, if nothing that is loaded is a consumer.
pub(crate) async fn sent(requests: &RangeRequests<'_>) -> Result<QueuesPart, EngineError> {
    let (others, has_consumers) = elsewhere(requests).await?;
    if !has_consumers {
        return Ok(QueuesPart::default());
    }
    let parts = match requests.selection().until {
        Until::Answer => requests.partials(QueuesPass { group: requests.selection().group, others }).await?,
        Until::Done => requests.partials(PathQueuesPass).await?,
    };
    Ok(QueuesPart::merge(parts))
}

/// Returns the consumers of all workers with links to spans that are not in their worker, and whether there is any
/// consumer.
async fn elsewhere(
    requests: &RangeRequests<'_>,
) -> Result<(Vec<(SpanAddress, Receiver)>, bool), EngineError> {
    let selection = requests.selection();
    let pass = ElsewherePass { group: selection.group, settings: selection.settings() };
    let (others, has_consumers): (Vec<_>, Vec<bool>) =
        requests.workers().partials(pass).await?.into_iter().unzip();
    Ok((others.concat(), has_consumers.contains(&true)))
}

/// Consumers with links to spans that are not in their worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ElsewherePass {
    group: u8,
    settings: PathSettings,
}

impl SetPass for ElsewherePass {
    /// The consumers, and whether the worker has any consumer, linked or not.
    type Part = (Vec<(SpanAddress, Receiver)>, bool);

    fn settings(&self) -> Option<PathSettings> {
        Some(self.settings)
    }

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        at_once(move |set| {
            let is_consumer = |row: u32| set.kind(row) == SpanKind::Consumer;
            let mut traces = set.traces().iter().filter(|trace| trace.id.group == self.group);
            let has_consumers = traces.any(|trace| trace.rows().any(is_consumer));
            encoding::write(&(Receivers::of(set, self.group).elsewhere(set), has_consumers))
        })
    }
}

/// The messages that requests send.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct QueuesPass {
    group: u8,
    /// What some worker received without knowing from whom.
    others: Vec<(SpanAddress, Receiver)>,
}

impl RequestPass for QueuesPass {
    type Part = QueuesPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let observer = QueuesObserver::new(over.set, self.group, self.others);
        over.walk(observer)
    }
}

/// The messages that requests lead to until everything is done.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct PathQueuesPass;

impl RequestPass for PathQueuesPass {
    type Part = QueuesPart;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        let done = over.done_path().unwrap_or_else(|| DonePath::new(over.set, over.settings, Vec::new()));
        over.walk(PathObserver::new(done))
    }
}
