//! The diagnosis (tprof): the requests are cut, then workers send the times of their traces.

use crate::EngineError;
use crate::diagnosis::{
    AggregateTrace, Aggregates, Comparing, DiagnosisReport, DiagnosisSettings, Merging, SetsReport,
    TraceCollector, Traces, TracesPart,
};
use crate::flame::PathTable;
use crate::queues::query::sent;
use crate::requests::{RequestTypes, Selection};
use crate::run::partials::parts;
use crate::run::query::Query;
use crate::run::request_pass::{Over, RequestPass, RunningPass};
use crate::run::workers::Workers;
use crate::verdict::query::{culprit, times};
use futures_util::future::{try_join, try_join3};
use pathlight_base::encoding;
use pathlight_base::steps::{Pace, WorkCount};
use pathlight_trace::{PathSettings, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Units between two looks at the clock, of which a span takes about five; the least a trace counts for; and positions in one
/// part, which is read in one step.
const CHUNK: usize = 2048;
const LEAST: usize = 32;
const PART: usize = 1 << 13;
/// Spans of a trace of which each thing that is written has a step of its own.
const HUGE: usize = 1 << 16;
/// Bytes that are read in a unit of work.
const BYTES_PER_UNIT: usize = 8;
/// About how many units of work come of a byte that workers send; only for telling how far it is.
const UNITS_PER_BYTE: u64 = 24;

/// Reports layers and diagnosis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnosis {
    /// The selected requests.
    pub selection: Selection,
    /// Tail, lengths.
    pub settings: DiagnosisSettings,
}

impl Query for Diagnosis {
    type Report = DiagnosisReport;

    async fn run(self, workers: Workers) -> Result<DiagnosisReport, EngineError> {
        let Diagnosis { selection, settings } = self;
        let selection = selection.until_answer();
        if let Some((summary, choice)) = workers.summary_of(&selection).await? {
            return Ok(summary.diagnosis(&choice, &settings)?);
        }
        with_traces(&workers, &selection, async |traces, pace| traces.report(&settings, pace).await).await
    }
}

/// Builds aggregate traces that the diagnosis with the same selection and settings points at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AggregateTraces {
    /// The selected requests.
    pub selection: Selection,
    /// Tail, lengths.
    pub settings: DiagnosisSettings,
    /// The aggregate traces that are wanted.
    pub wanted: Aggregates,
}

impl Query for AggregateTraces {
    type Report = Vec<AggregateTrace>;

    async fn run(self, workers: Workers) -> Result<Vec<AggregateTrace>, EngineError> {
        let AggregateTraces { selection, settings, wanted } = self;
        let selection = selection.until_answer();
        workers.needs_traces(&selection, "an aggregate trace stands for").await?;
        let build = async |traces: Traces, pace: &mut Pace| traces.aggregates(&settings, wanted, pace).await;
        with_traces(&workers, &selection, build).await
    }
}

/// Joins the traces of a selection and does long work on them, which reports its progress and can be cancelled.
async fn with_traces<T>(
    workers: &Workers,
    selection: &Selection,
    work: impl AsyncFnOnce(Traces, &mut Pace) -> T,
) -> Result<T, EngineError> {
    let requests = workers.requests(selection).await?;
    let partials = requests.run(TracesPass).await?;
    let (of, done) = (units(&partials), WorkCount::default());
    let mut pace = Pace::telling(&done);
    let work = async move {
        let mut merging = Merging::default();
        for bytes in parts(&partials)? {
            let part = encoding::read(bytes)?;
            pace.spend(bytes.len() / BYTES_PER_UNIT).await;
            merging.add(part, &mut pace).await;
        }
        let traces = merging.finish(&mut pace).await;
        drop(partials);
        Ok(work(traces, &mut pace).await)
    };
    workers.watch(work, &done, of).await
}

/// Reports how two sides differ, place by place and service by service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareDiagnoses {
    /// The requests of side A.
    pub a: Selection,
    /// The selected requests of side B.
    pub b: Selection,
}

impl Query for CompareDiagnoses {
    type Report = SetsReport;

    async fn run(self, workers: Workers) -> Result<SetsReport, EngineError> {
        let side = async |selection: Selection| {
            let selection = &selection.until_answer();
            let what = "what changed between two sets, place by place, is found in";
            workers.needs_traces(selection, what).await?;
            let requests = workers.requests(selection).await?;
            try_join3(requests.run(TracesPass), times(&requests, true), sent(&requests)).await
        };
        let ((a_traces, a_times, a_sent), (b_traces, b_times, b_sent)) =
            try_join(side(self.a.clone()), side(self.b.clone())).await?;
        let traces = [a_traces, b_traces];
        let (of, done) = (traces.iter().map(|side| units(side)).sum(), WorkCount::default());
        let mut pace = Pace::telling(&done);
        let work = async move {
            let mut comparing = Comparing::default();
            for (partials, is_b) in traces.iter().zip([false, true]) {
                for bytes in parts(partials)? {
                    let part = encoding::read(bytes)?;
                    pace.spend(bytes.len() / BYTES_PER_UNIT).await;
                    comparing.add(part, is_b, &mut pace).await;
                }
            }
            let places = comparing.finish(&mut pace).await;
            let culprit = culprit((&self.a, &a_times, &a_sent), (&self.b, &b_times, &b_sent));
            Ok(SetsReport { culprit, places })
        };
        workers.watch(work, &done, of).await
    }
}

/// Returns the units of work that come of what workers sent.
fn units(partials: &[Vec<u8>]) -> u64 {
    partials.iter().map(|partial| partial.len() as u64 * UNITS_PER_BYTE).sum()
}

/// Times of every trace.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct TracesPass;

impl RequestPass for TracesPass {
    type Part = TracesPart;
    const IS_BY_TYPE: bool = true;

    fn start(self, over: Over<'_>) -> Box<dyn RunningPass> {
        Box::new(TracesRun::new(over.set, over.types, over.settings, over.requests))
    }
}

/// Collects the traces of one worker, in steps.
struct TracesRun {
    collector: TraceCollector,
    requests: Vec<u32>,
    at: usize,
    tree: Tree,
    is_loading: bool,
    is_loaded: bool,
    settings: PathSettings,
    parts: Vec<Vec<u8>>,
    /// The names and shapes that the parts refer to, and the traces that are in none of them; the last thing to be written.
    names: Option<Vec<u8>>,
}

impl TracesRun {
    pub fn new(
        set: &TraceSet,
        types: Arc<RequestTypes>,
        settings: PathSettings,
        requests: Vec<u32>,
    ) -> TracesRun {
        let collector = TraceCollector::new(set, types);
        TracesRun {
            collector,
            requests,
            at: 0,
            tree: Tree::default(),
            is_loading: false,
            is_loaded: false,
            settings,
            parts: Vec::new(),
            names: None,
        }
    }
}

impl RunningPass for TracesRun {
    fn step(&mut self, set: &TraceSet, table: &PathTable, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        let mut left = CHUNK;
        let mut is_begun = false;
        while self.names.is_none() {
            if left == 0 {
                if time_is_up() {
                    return false;
                }
                left = CHUNK;
            }
            // Times of a large trace take as long as a step to write, and so do its names and its shape at the end.
            let (is_large, is_huge) = (self.tree.len() >= PART, self.tree.len() >= HUGE);
            let is_writing = self.collector.positions() >= PART || self.at >= self.requests.len();
            if is_writing && is_huge && is_begun {
                return false;
            }
            is_begun = true;
            if self.collector.positions() >= PART {
                self.parts.push(encoding::write(&self.collector.take_traces()));
                left = if is_large { 0 } else { left };
                continue;
            }
            let Some(&request) = self.requests.get(self.at) else {
                self.names = Some(encoding::write(&self.collector.take()));
                return !(is_huge || is_large && time_is_up());
            };
            let entry = &table.requests[request as usize];
            if !self.is_loaded {
                if !self.is_loading {
                    self.tree.begin(set, entry.trace, self.settings, table.roots);
                }
                let before = self.tree.len();
                self.is_loaded = self.tree.step(set, left);
                self.is_loading = !self.is_loaded;
                left = left.saturating_sub(self.tree.len() - before);
                continue;
            }
            let root = entry.row - self.tree.first;
            let before = left;
            if !self.collector.step(set, &self.tree, (request, root), &mut left) {
                continue;
            }
            left = if is_large { 0 } else { left.min(before.saturating_sub(LEAST)) };
            self.is_loaded = false;
            self.at += 1;
        }
        true
    }

    fn progress(&self) -> (u64, u64) {
        (self.at as u64, self.requests.len() as u64)
    }

    /// Returns the names first, then the traces.
    fn finish(self: Box<Self>, _: &TraceSet) -> Vec<Vec<u8>> {
        self.names.into_iter().chain(self.parts).collect()
    }
}
