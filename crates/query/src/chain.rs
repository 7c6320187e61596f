//! From a request to its report, pass by pass.

use super::answer::answer;
use super::flow::FlowPass;
use super::study::Study;
use super::workers::Workers;
use super::{EngineError, Report, Request, SpanKey};
use pathlight_analysis::anomaly::vae::TrainingProgress;
use pathlight_analysis::critical_path::ExemplarTargets;
use pathlight_analysis::requests::{Cut, Overlap, Selection};
use pathlight_model::steps;
use pathlight_model::steps::Job;
use serde::{Deserialize, Serialize};

/// What every worker does once.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Pass {
    Overview,
    /// Sorted latencies of the selection.
    Latencies {
        selection: Selection,
    },
    /// Keys of the requests with one of these latencies.
    Ties {
        selection: Selection,
        latencies_us: Vec<u64>,
    },
    Aggregate {
        selection: Selection,
        cut: Cut,
    },
    Exemplars {
        selection: Selection,
        cut: Cut,
        targets: ExemplarTargets,
    },
    Slowest {
        selection: Selection,
        cut: Cut,
        limit: u32,
    },
    PerRequest {
        selection: Selection,
        cut: Cut,
    },
    Trace {
        trace_id: String,
        root_span_id: Option<String>,
        overlap: Overlap,
        group: u8,
    },
    Span {
        trace_id: String,
        span: SpanKey,
        group: u8,
    },
    /// One look at the requests inside a cut.
    Study {
        selection: Selection,
        cut: Cut,
        study: Study,
    },
    /// One look at invocations.
    Flow {
        selection: Selection,
        pass: Box<FlowPass>,
    },
}

/// What to do next.
#[derive(Debug)]
pub enum Next {
    /// Run this pass on every worker and come back with the partials.
    Ask(Vec<u8>),
    /// There is more to work out: call [`Chain::next`] again without partials, after a look at what else is wanted.
    Working(TrainingProgress),
    /// The answer.
    Done(Box<Report>),
}

/// A request on its way to its report: an `async` function that waits for nothing but what the workers say.
pub struct Chain {
    workers: Workers,
    /// `None` once it has ended.
    job: Option<Job<Result<Report, EngineError>>>,
}

impl Chain {
    /// The chain of a request.
    pub fn new(request: Request) -> Chain {
        let workers = Workers::default();
        Chain { job: Some(Box::pin(answer(request, workers.clone()))), workers }
    }

    /// The next step. `partials` are those of the pass asked for last, one per worker in any order; none at first.
    ///
    /// # Errors
    /// [`EngineError`] if a partial is not what was asked for.
    pub fn next(&mut self, partials: Vec<Vec<u8>>) -> Result<Next, EngineError> {
        let mut job = self.job.take().ok_or(EngineError::Ended)?;
        self.workers.say(partials);
        if let Some(report) = steps::step(&mut job) {
            return Ok(Next::Done(Box::new(report?)));
        }
        self.job = Some(job);
        Ok(self.workers.wanted())
    }

    /// All steps in one go. `run` has a pass run by every worker and gives the partials; `watch` hears how long work
    /// goes.
    ///
    /// # Errors
    /// [`EngineError`] as [`next`](Self::next), and what `run` says.
    pub fn answer(
        mut self,
        mut run: impl FnMut(&[u8]) -> Result<Vec<Vec<u8>>, EngineError>,
        watch: &mut dyn FnMut(&TrainingProgress),
    ) -> Result<Report, EngineError> {
        let mut partials = Vec::new();
        loop {
            partials = match self.next(partials)? {
                Next::Ask(pass) => run(&pass)?,
                Next::Working(progress) => {
                    watch(&progress);
                    Vec::new()
                }
                Next::Done(report) => return Ok(*report),
            };
        }
    }
}
