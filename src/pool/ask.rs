//! Questions: a chain of passes over all workers.

use super::Pool;
use super::call::{CallError, Reply};
use crate::wire;
use crate::wire::{Call, Done, ToWorker};
use futures_channel::oneshot;
use pathlight_analysis::anomaly::vae::TrainingProgress;
use pathlight_query::{Report, Request};

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// What is loaded has changed; [`PoolEvent::Loaded`](super::PoolEvent::Loaded) follows, ask again then.
    #[error("what is loaded has changed")]
    Stale,
    /// A worker died over it and reads its files again; ask again after
    /// [`PoolEvent::Loaded`](super::PoolEvent::Loaded).
    #[error("a worker ended and is being replaced")]
    WorkerLost,
    /// The engine cannot answer, in words.
    #[error("{0}")]
    Failed(String),
}

/// Drops the state of a question in its coordinator.
struct ChainEnd<'a> {
    pool: &'a Pool,
    chain: u64,
}

impl Drop for ChainEnd<'_> {
    fn drop(&mut self) {
        self.pool.post(COORDINATOR, &ToWorker::EndChain(self.chain), &[]);
    }
}

/// The slot of the worker that merges.
pub(crate) const COORDINATOR: usize = 0;

/// Deaths over one question after which it is not tried again.
const MOST_DEATHS: u32 = 2;

impl Pool {
    /// Asks all workers. During a load the answer is about the complete traces so far.
    ///
    /// Dropping the future cancels the question.
    ///
    /// # Errors
    /// [`AskError`].
    pub async fn ask(&self, request: Request) -> Result<Report, AskError> {
        self.ask_watching(request, &|_| {}).await
    }

    /// Like [`ask`](Self::ask); `watch` hears how a long training goes.
    ///
    /// # Errors
    /// [`AskError`].
    pub async fn ask_watching(
        &self,
        request: Request,
        watch: &dyn Fn(TrainingProgress),
    ) -> Result<Report, AskError> {
        while self.0.is_joining.get() {
            let (sender, receiver) = oneshot::channel();
            self.0.waiting.borrow_mut().push(sender);
            // A sender that is gone lets the question go on as well.
            let _ = receiver.await;
        }
        let request = postcard::to_allocvec(&request).map_err(|error| AskError::Failed(error.to_string()))?;
        if self.0.killers.borrow().get(&request).is_some_and(|&deaths| deaths >= MOST_DEATHS) {
            let sentence = "Workers ended over this question more than once; it is not asked again.";
            return Err(AskError::Failed(sentence.to_owned()));
        }
        let generation = self.0.generation.get();
        let result = self.run_chain(&request, watch).await;
        result.map_err(|error| match error {
            CallError::Failed(reason) => AskError::Failed(reason),
            _ if self.0.generation.get() != generation => AskError::Stale,
            CallError::Stale => AskError::Stale,
            CallError::Lost => {
                *self.0.killers.borrow_mut().entry(request).or_default() += 1;
                AskError::WorkerLost
            }
        })
    }

    async fn run_chain(&self, request: &[u8], watch: &dyn Fn(TrainingProgress)) -> Result<Report, CallError> {
        let chain = self.number();
        let _end = ChainEnd { pool: self, chain };
        let request = [wire::buffer(request)];
        let mut answer = self.call(COORDINATOR, Call::Begin { chain }, &request).await?;
        loop {
            let (done, attachments) = answer;
            let body = attachments.first().map(wire::bytes).unwrap_or_default();
            match done {
                Done::Report => {
                    return postcard::from_bytes(&body).map_err(|error| CallError::Failed(error.to_string()));
                }
                Done::Working => {
                    if let Ok(progress) = postcard::from_bytes(&body) {
                        watch(progress);
                    }
                    answer = self.call(COORDINATOR, Call::Merge { chain }, &[]).await?;
                }
                Done::Ask => {
                    let replies: Vec<Reply> = self
                        .slots()
                        .into_iter()
                        .map(|slot| self.call(slot, Call::Pass { chain }, &[wire::buffer(&body)]))
                        .collect();
                    let mut partials = Vec::with_capacity(replies.len());
                    for reply in replies {
                        partials.extend(reply.await?.1);
                    }
                    answer = self.call(COORDINATOR, Call::Merge { chain }, &partials).await?;
                }
                _ => return Err(CallError::Failed("a worker answered something else".to_owned())),
            }
        }
    }
}
