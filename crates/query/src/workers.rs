//! All workers, as the chain of a request sees them: it asks, and waits for what they say.

use super::EngineError;
use super::chain::{Next, Pass};
use super::study::Study;
use pathlight_analysis::anomaly::vae::TrainingProgress;
use pathlight_analysis::requests::{Cut, RangeFacts, Selection};
use pathlight_model::steps::Done;
use serde::de::DeserializeOwned;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Poll;

/// What lies between the chain and who runs it.
#[derive(Default)]
struct Desk {
    wanted: Option<Next>,
    said: Option<Vec<Vec<u8>>>,
}

/// All workers.
#[derive(Clone, Default)]
pub(super) struct Workers(Arc<Mutex<Desk>>);

impl Workers {
    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands over what the workers said.
    pub fn say(&self, partials: Vec<Vec<u8>>) {
        self.desk().said = Some(partials);
    }

    /// What the chain waits for; a chain that waits for nothing works.
    pub fn wanted(&self) -> Next {
        self.desk().wanted.take().unwrap_or(Next::Working(TrainingProgress::default()))
    }

    async fn want(&self, next: Next) -> Vec<Vec<u8>> {
        *self.desk() = Desk { wanted: Some(next), said: None };
        poll_fn(|_| self.desk().said.take().map_or(Poll::Pending, Poll::Ready)).await
    }

    /// The partials of a pass, one per worker in any order.
    pub async fn run(&self, pass: &Pass) -> Result<Vec<Vec<u8>>, EngineError> {
        Ok(self.want(Next::Ask(postcard::to_allocvec(pass)?)).await)
    }

    /// What the partials of a pass hold.
    pub async fn ask<T: DeserializeOwned>(&self, pass: &Pass) -> Result<Vec<T>, EngineError> {
        self.run(pass)
            .await?
            .iter()
            .map(|bytes| postcard::from_bytes(bytes).map_err(EngineError::from))
            .collect()
    }

    /// Ends a step of work of the chain's own, and tells how far it is.
    pub async fn working(&self, progress: TrainingProgress) {
        self.want(Next::Working(progress)).await;
    }

    /// Ends a step of work of the chain's own.
    pub async fn pause(&self) {
        self.working(TrainingProgress::default()).await;
    }

    /// Work of the chain's own that pauses by itself; tells how much of about `of` units is done.
    pub async fn watch<T>(&self, work: impl Future<Output = T>, done: &Done, of: u64) -> T {
        self.pause().await;
        let mut work = pin!(work);
        poll_fn(|context| {
            let polled = work.as_mut().poll(context);
            if polled.is_pending() {
                let done = done.units().min(of);
                self.desk().wanted =
                    Some(Next::Working(TrainingProgress { done, of: of + 1, ..Default::default() }));
            }
            polled
        })
        .await
    }

    /// One look at the requests of a percentile range.
    pub async fn study<T: DeserializeOwned>(
        &self,
        selection: &Selection,
        study: Study,
    ) -> Result<(Vec<T>, RangeFacts), EngineError> {
        let (inside, facts) = self.cut(selection).await?;
        Ok((inside.study(study).await?, facts))
    }
}

/// The requests of a percentile range, cut out, for looks at them.
pub(super) struct Inside<'a> {
    pub workers: &'a Workers,
    /// At any latency: the range is in the cut.
    pub selection: Selection,
    pub cut: Cut,
}

impl Inside<'_> {
    /// What the partials of a pass over these requests hold.
    pub async fn ask<T: DeserializeOwned>(
        &self,
        pass: impl FnOnce(Selection, Cut) -> Pass,
    ) -> Result<Vec<T>, EngineError> {
        self.workers.ask(&pass(self.selection.clone(), self.cut.clone())).await
    }

    /// The partials of a study, each in its [`parts`].
    pub async fn run(&self, study: Study) -> Result<Vec<Vec<u8>>, EngineError> {
        self.workers
            .run(&Pass::Study { selection: self.selection.clone(), cut: self.cut.clone(), study })
            .await
    }

    /// What the parts of all partials of a study hold.
    pub async fn study<T: DeserializeOwned>(&self, study: Study) -> Result<Vec<T>, EngineError> {
        let partials = self.run(study).await?;
        parts(&partials)?
            .into_iter()
            .map(|part| postcard::from_bytes(part).map_err(EngineError::from))
            .collect()
    }
}

/// One partial of several parts: before each its length in bytes, 4 of them, the lowest first.
pub(super) fn frame(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = Vec::with_capacity(parts.iter().map(|part| part.len() + 4).sum());
    for part in parts {
        out.extend_from_slice(&(part.len() as u32).to_le_bytes());
        out.extend_from_slice(part);
    }
    out
}

/// The parts of all partials that [`frame`] made.
pub(super) fn parts(partials: &[Vec<u8>]) -> Result<Vec<&[u8]>, EngineError> {
    let cut = || EngineError::from(postcard::Error::DeserializeUnexpectedEnd);
    let mut parts = Vec::new();
    for mut rest in partials.iter().map(Vec::as_slice) {
        while let Some((length, after)) = rest.split_first_chunk() {
            let (part, after) =
                after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(cut)?;
            parts.push(part);
            rest = after;
        }
        if !rest.is_empty() {
            return Err(cut());
        }
    }
    Ok(parts)
}
