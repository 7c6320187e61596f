//! Queries: a plan of passes over all workers.

use super::Pool;
use super::call::{CallError, Reply};
use crate::wire;
use crate::wire::{Call, Done, ToWorker};
use futures_channel::oneshot;
use pathlight_analysis::anomaly::vae::TrainingProgress;
use pathlight_query::Query;

/// Why a query has no report.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// What is loaded has changed; [`PoolEvent::Loaded`](super::PoolEvent::Loaded) follows, run it again then.
    #[error("what is loaded has changed")]
    Stale,
    /// A worker died over it and reads its files again; run it again after
    /// [`PoolEvent::Loaded`](super::PoolEvent::Loaded).
    #[error("a worker ended and is being replaced")]
    WorkerLost,
    /// It cannot be run, in words.
    #[error("{0}")]
    Failed(String),
}

/// Drops the plan of a query in its coordinator.
struct PlanEnd<'a> {
    pool: &'a Pool,
    plan: u64,
}

impl Drop for PlanEnd<'_> {
    fn drop(&mut self) {
        self.pool.post(COORDINATOR, &ToWorker::EndPlan(self.plan), &[]);
    }
}

/// The slot of the worker that merges.
pub(crate) const COORDINATOR: usize = 0;

/// Deaths over one query after which it is not tried again.
const MOST_DEATHS: u32 = 2;

impl Pool {
    /// Runs a query on all workers. During a load the report is about the complete traces so far.
    ///
    /// Dropping the future cancels the query.
    ///
    /// # Errors
    /// [`QueryError`].
    pub async fn run<Q: Query>(&self, query: &Q) -> Result<Q::Report, QueryError> {
        let message = query.to_message().map_err(|error| QueryError::Failed(error.to_string()))?;
        let report = self.run_message(message, &|_| {}).await?;
        Q::read_report(&report).map_err(|error| QueryError::Failed(error.to_string()))
    }

    /// Runs the query of a message; the report as bytes. `watch` hears how a long training goes.
    ///
    /// # Errors
    /// [`QueryError`].
    pub async fn run_message(
        &self,
        query: Vec<u8>,
        watch: &dyn Fn(TrainingProgress),
    ) -> Result<Vec<u8>, QueryError> {
        while self.0.is_joining.get() {
            let (sender, receiver) = oneshot::channel();
            self.0.waiting.borrow_mut().push(sender);
            // A sender that is gone lets the query go on as well.
            let _ = receiver.await;
        }
        if self.0.killers.borrow().get(&query).is_some_and(|&deaths| deaths >= MOST_DEATHS) {
            let sentence = "Workers ended over this query more than once; it is not run again.";
            return Err(QueryError::Failed(sentence.to_owned()));
        }
        let generation = self.0.generation.get();
        let result = self.run_plan(&query, watch).await;
        result.map_err(|error| match error {
            CallError::Failed(reason) => QueryError::Failed(reason),
            _ if self.0.generation.get() != generation => QueryError::Stale,
            CallError::Stale => QueryError::Stale,
            CallError::Lost => {
                *self.0.killers.borrow_mut().entry(query).or_default() += 1;
                QueryError::WorkerLost
            }
        })
    }

    async fn run_plan(&self, query: &[u8], watch: &dyn Fn(TrainingProgress)) -> Result<Vec<u8>, CallError> {
        let plan = self.number();
        let _end = PlanEnd { pool: self, plan };
        // While files are read, the data changes from one query to the next.
        let data = (!self.is_loading()).then(|| self.0.generation.get());
        let query = [wire::buffer(query)];
        let mut answer = self.call(COORDINATOR, Call::Begin { plan, data }, &query).await?;
        loop {
            let (done, attachments) = answer;
            let body = attachments.first().map(wire::bytes).unwrap_or_default();
            match done {
                Done::Report => return Ok(body),
                Done::Working => {
                    if let Ok(progress) = postcard::from_bytes(&body) {
                        watch(progress);
                    }
                    answer = self.call(COORDINATOR, Call::Merge { plan }, &[]).await?;
                }
                Done::Pass => {
                    let replies: Vec<Reply> = self
                        .slots()
                        .into_iter()
                        .map(|slot| self.call(slot, Call::Pass { plan }, &[wire::buffer(&body)]))
                        .collect();
                    let mut partials = Vec::with_capacity(replies.len());
                    for reply in replies {
                        partials.extend(reply.await?.1);
                    }
                    answer = self.call(COORDINATOR, Call::Merge { plan }, &partials).await?;
                }
                _ => return Err(CallError::Failed("a worker answered something else".to_owned())),
            }
        }
    }
}
