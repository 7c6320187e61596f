//! From a query to its report, pass by pass.

use super::Cuts;
use super::partials::{opened, sealed};
use super::query::Query;
use super::workers::{Wanted, Workers};
use crate::EngineError;
use crate::anomalies::paper::vae::TrainingProgress;
use pathlight_base::steps::{self, SteppedJob};

/// What to do next.
#[derive(Debug)]
pub enum PlanStep<R> {
    /// Run this pass on every worker and come back with the partials.
    Pass(Vec<u8>),
    /// There is more to work out: call [`Plan::next`] again without partials, after a look at what else is wanted.
    Working(TrainingProgress),
    /// Another plan over the same data is finding out what this one needs: call [`Plan::next`] again without partials
    /// once that one has gone on, or has ended.
    Waiting,
    /// The report.
    Done(R),
}

/// A query on its way to its report: an `async` function that waits for nothing but the partials of workers.
pub struct Plan<R> {
    workers: Workers,
    /// `None` once it has ended.
    job: Option<SteppedJob<Result<R, EngineError>>>,
}

impl<R> Plan<R> {
    /// Returns the plan of a query. `cuts` are those known of the same data.
    pub fn new<Q: Query<Report = R>>(query: Q, cuts: &Cuts) -> Plan<R> {
        let workers = Workers::new(cuts);
        Plan { job: Some(Box::pin(query.run(workers.clone()))), workers }
    }

    /// Returns the plan whose work `start` starts.
    pub(crate) fn starting(
        cuts: &Cuts,
        start: impl FnOnce(Workers) -> Result<SteppedJob<Result<R, EngineError>>, EngineError>,
    ) -> Result<Plan<R>, EngineError> {
        let workers = Workers::new(cuts);
        Ok(Plan { job: Some(start(workers.clone())?), workers })
    }

    /// Returns the next step. `partials` are those of the last pass, one per worker in any order; none at first.
    ///
    /// # Errors
    /// [`EngineError`] if a partial is not one of the last pass.
    pub fn next(&mut self, mut partials: Vec<Vec<u8>>) -> Result<PlanStep<R>, EngineError> {
        let mut job = self.job.take().ok_or(EngineError::Ended)?;
        for partial in &mut partials {
            let length = opened(partial)?.len();
            partial.truncate(length);
        }
        self.workers.put(partials)?;
        loop {
            let steps = self.workers.steps();
            if let Some(report) = steps::step(&mut job) {
                return Ok(PlanStep::Done(report?));
            }
            // What one part of the plan found out, another may have waited for.
            if self.workers.steps() == steps {
                break;
            }
        }
        self.job = Some(job);
        Ok(match self.workers.wanted() {
            Wanted::Pass(pass) => PlanStep::Pass(sealed(pass)),
            Wanted::Working(progress) => PlanStep::Working(progress),
            Wanted::Others => PlanStep::Waiting,
        })
    }

    /// Runs all steps in one go; no other plan may be under way with the same cuts. `run` has a pass run by every
    /// worker and gives the partials; `watch` hears how long work goes.
    ///
    /// # Errors
    /// [`EngineError`] as [`next`](Self::next), and what `run` says.
    pub fn finish(
        mut self,
        mut run: impl FnMut(&[u8]) -> Result<Vec<Vec<u8>>, EngineError>,
        watch: &mut dyn FnMut(&TrainingProgress),
    ) -> Result<R, EngineError> {
        let mut partials = Vec::new();
        loop {
            partials = match self.next(partials)? {
                PlanStep::Pass(pass) => run(&pass)?,
                PlanStep::Working(progress) => {
                    watch(&progress);
                    Vec::new()
                }
                PlanStep::Done(report) => return Ok(report),
                // Whoever could end the wait is not here.
                PlanStep::Waiting => return Err(EngineError::Ended),
            };
        }
    }
}
