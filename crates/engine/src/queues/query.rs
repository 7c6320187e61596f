//! Messages of requests, by edge.

use super::links::{SpanAddress, held};
use super::observe::{QueuesObserver, QueuesPart, Receiver, Receivers};
use super::report::QueuesReport;
use crate::EngineError;
use crate::requests::Selection;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::set_pass::{OverSet, RunningSetPass, SetPass, at_once};
use crate::run::workers::Workers;
use futures_util::future::try_join;
use pathlight_base::encoding;
use pathlight_trace::PathSettings;
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
        let group = selection.group;
        let pass = ElsewherePass { group, settings: selection.settings() };
        let (others, (requests, facts)) = try_join(workers.partials(pass), workers.cut(&selection)).await?;
        let others = others.concat();
        let addresses = others.iter().map(|(address, _)| address.clone()).collect();
        let pass = QueuesPass { group, others };
        let (held, parts) = try_join(held(&workers, addresses), requests.partials(pass)).await?;
        let lost_senders = held.into_iter().filter(|is_held| !is_held).count() as u64;
        Ok(QueuesPart::finish(parts, selection.range, facts, lost_senders))
    }
}

/// Consumers with links to spans that are not in their worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct ElsewherePass {
    group: u8,
    settings: PathSettings,
}

impl SetPass for ElsewherePass {
    type Part = Vec<(SpanAddress, Receiver)>;

    fn settings(&self) -> Option<PathSettings> {
        Some(self.settings)
    }

    fn start(self, _: OverSet) -> Box<dyn RunningSetPass> {
        at_once(move |set| encoding::write(&Receivers::of(set, self.group).elsewhere(set)))
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
