//! The passes of execution flows: what a worker does in each.

use crate::EngineError;
use crate::flow::paper::{InvocationKey, PredictorTraining, Predictors};
use crate::flow::placed::TimedSpans;
use crate::flow::variants::{VariantBinder, VariantCounter, VariantSampler, VariantStep};
use crate::flow::{
    ArgumentRun, Bindings, CallPair, CalleeCounter, CalleesFor, CallsOf, CapacityRun, Changes, FlowGraph,
    FlowModel, FlowSample, FlowWalk, Invocations, KeyFinder, NodeIndex, NodeTable, NodeTables, PairCounts,
    PartTimesRun, SavingsRun, SerialRun, Tester, Trainer, TrialsRun, VariantCallees, WhatIfRun,
    WhichRequests, Within,
};
use crate::requests::{RootEndpoint, Selection};
use pathlight_base::encoding;
use pathlight_trace::{Endpoint, Overlap, RequestRoots, TraceSet};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Pass of every worker for a flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum FlowPass {
    /// Callees of one parent or of all.
    Callees { parent: Option<Endpoint>, wanted: CalleesFor },
    /// Keys of the invocations that start at these instants.
    Keys { tables: NodeTables, starts_us: Vec<u64> },
    /// Invocations before the cuts.
    Train { tables: NodeTables, cuts: Vec<Option<InvocationKey>> },
    /// Estimates of the others.
    Test { tables: NodeTables, cuts: Vec<Option<InvocationKey>>, predictors: Vec<Predictors> },
    /// All that a drawing shows but the edges that bind.
    Sample { table: NodeTable },
    /// The edges that bind.
    Bind { table: NodeTable, flow: FlowGraph },
    /// Pairs of all parents.
    Pairs { tables: NodeTables },
    /// Latencies before and after a change: of requests, and of these calls.
    WhatIf { model: Arc<FlowModel>, changes: Changes, calls: CallsOf },
    /// Savings of every endpoint.
    Savings { model: Arc<FlowModel> },
    /// Drag and slack of every service.
    Capacity { model: Arc<FlowModel> },
    /// Self times of some spans.
    PartTimes { spans: TimedSpans },
    /// How calls follow one another.
    Serial,
    /// What tags of calls have in common.
    Arguments { pairs: Vec<CallPair> },
    /// Latencies before and after changes, each made alone.
    Trials { model: Arc<FlowModel>, trials: Vec<Changes> },
    /// Variants of an endpoint's flow.
    Variants { of: VariantCallees, step: VariantStep },
}

impl FlowPass {
    /// Returns whether it looks at all requests of the selection's root endpoint, or at all there are: then all spans
    /// of the parent are invocations.
    pub fn is_of_all(&self, selection: &Selection) -> bool {
        let parent = match self {
            FlowPass::Callees { parent, .. } => parent.as_ref(),
            FlowPass::Sample { table } | FlowPass::Bind { table, .. } => Some(&table.parent),
            FlowPass::Variants { of, .. } => Some(&of.parent),
            _ => None,
        };
        let is_within = match (parent, &selection.root) {
            (Some(parent), RootEndpoint::Endpoint(root)) => parent != root,
            _ => false,
        };
        selection.filters.is_empty() && !is_within
    }
}

/// Partials of passes that a what-if repeats with every move of a slider.
#[derive(Default)]
pub(crate) struct FlowCache {
    entries: Vec<(Vec<u8>, Vec<u8>)>,
}

impl FlowCache {
    const ENTRIES: usize = 4;

    pub fn clear(&mut self) {
        self.entries.clear();
    }

    fn find(&self, pass: &[u8]) -> Option<Vec<u8>> {
        self.entries.iter().find(|(key, _)| key == pass).map(|(_, partial)| partial.clone())
    }

    fn keep(&mut self, pass: Vec<u8>, partial: Vec<u8>) {
        if self.entries.len() == FlowCache::ENTRIES {
            self.entries.remove(0);
        }
        self.entries.push((pass, partial));
    }
}

enum Running {
    Callees(Box<CalleeCounter>),
    Keys(Box<Invocations<KeyFinder>>),
    Train(Box<Invocations<Trainer>>),
    Test(Box<Invocations<Tester>>),
    Sample(Box<Invocations<FlowSample>>),
    Bind(Box<Invocations<Bindings>>),
    Pairs(Box<Invocations<Vec<PairCounts>>>),
    WhatIf(Box<WhatIfRun>),
    Savings(Box<SavingsRun>),
    Capacity(Box<CapacityRun>),
    PartTimes(Box<PartTimesRun>),
    Serial(Box<SerialRun>),
    Arguments(Box<ArgumentRun>),
    Trials(Box<TrialsRun>),
    CountVariants(Box<VariantCounter>),
    SampleVariants(Box<(VariantSampler, VariantCallees)>),
    BindVariants(Box<VariantBinder>),
}

/// A pass of a flow being run over one session, in steps.
pub(crate) struct FlowTask {
    /// The bytes of the pass, if what-ifs repeat it.
    key: Option<Vec<u8>>,
    run: Option<(FlowWalk, Running)>,
    progress: (u64, u64),
}

impl Running {
    /// Returns the work of a pass over requests with these roots, `None`: none. `rows` are those of the roots of the selected
    /// requests; `None`: all there are.
    fn new(
        set: &TraceSet,
        overlap: Overlap,
        roots: Option<RequestRoots>,
        pass: &FlowPass,
        rows: Option<Vec<u32>>,
    ) -> Running {
        let within = rows.clone().map_or_else(Within::default, Within::requests);
        let requests = || match (rows, roots) {
            (Some(mut rows), _) => {
                rows.sort_unstable();
                WhichRequests::Rows(rows)
            }
            (None, None) => WhichRequests::Rows(Vec::new()),
            (None, Some(RequestRoots::Of(endpoint))) => WhichRequests::All(Some(endpoint)),
            (None, Some(_)) => WhichRequests::All(None),
        };
        match pass {
            FlowPass::Callees { parent, wanted } => {
                Running::Callees(Box::new(CalleeCounter::new(set, parent.as_ref(), within, *wanted)))
            }
            FlowPass::Keys { tables, starts_us } => {
                let found =
                    KeyFinder { starts_us: starts_us.clone(), keys: vec![Vec::new(); tables.of.len()] };
                Running::Keys(Box::new(Invocations::new(
                    NodeIndex::of_tables(set, tables),
                    within,
                    None,
                    found,
                )))
            }
            FlowPass::Train { tables, cuts } => {
                let trainings = tables.each(PredictorTraining::new);
                let trainer = Trainer { cuts: cuts.clone(), trainings };
                Running::Train(Box::new(Invocations::new(
                    NodeIndex::of_tables(set, tables),
                    within,
                    None,
                    trainer,
                )))
            }
            FlowPass::Test { tables, cuts, predictors } => {
                let tester = Tester::new(cuts.clone(), predictors.clone());
                Running::Test(Box::new(Invocations::new(
                    NodeIndex::of_tables(set, tables),
                    within,
                    None,
                    tester,
                )))
            }
            FlowPass::Sample { table } => {
                let sample = FlowSample::new(table.len);
                Running::Sample(Box::new(
                    Invocations::new(NodeIndex::new(set, [table]), within, Some(overlap), sample).drawn(),
                ))
            }
            FlowPass::Bind { table, flow } => {
                let bindings = Bindings::new(flow.clone());
                Running::Bind(Box::new(
                    Invocations::new(NodeIndex::new(set, [table]), within, Some(overlap), bindings).drawn(),
                ))
            }
            FlowPass::Pairs { tables } => {
                let counts = tables.each(PairCounts::new);
                Running::Pairs(Box::new(Invocations::new(
                    NodeIndex::of_tables(set, tables),
                    within,
                    Some(overlap),
                    counts,
                )))
            }
            FlowPass::WhatIf { model, changes, calls } => {
                Running::WhatIf(Box::new(WhatIfRun::new(set, model, overlap, requests(), changes, calls)))
            }
            FlowPass::Savings { model } => {
                Running::Savings(Box::new(SavingsRun::new(set, model, overlap, requests())))
            }
            FlowPass::Capacity { model } => {
                Running::Capacity(Box::new(CapacityRun::new(set, model, overlap, requests())))
            }
            FlowPass::PartTimes { spans } => {
                Running::PartTimes(Box::new(PartTimesRun::new(set, requests(), spans)))
            }
            FlowPass::Serial => Running::Serial(Box::new(SerialRun::new(set, overlap, within))),
            FlowPass::Arguments { pairs } => {
                Running::Arguments(Box::new(ArgumentRun::new(set, within, pairs)))
            }
            FlowPass::Trials { model, trials } => {
                Running::Trials(Box::new(TrialsRun::new(set, model, overlap, requests(), trials)))
            }
            FlowPass::Variants { of, step } => match step {
                VariantStep::Count => Running::CountVariants(Box::new(VariantCounter::new(set, of, within))),
                VariantStep::Sample(variants) => {
                    let sampler = VariantSampler::new((set, of), within, overlap, variants);
                    Running::SampleVariants(Box::new((sampler, of.clone())))
                }
                VariantStep::Bind(variants) => {
                    Running::BindVariants(Box::new(VariantBinder::new((set, of), within, overlap, variants)))
                }
            },
        }
    }

    /// Works until done (true) or until `time_is_up` says so.
    fn step(&mut self, walk: &mut FlowWalk, set: &TraceSet, time_is_up: &mut dyn FnMut() -> bool) -> bool {
        match self {
            Running::Callees(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::Keys(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::Train(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::Test(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::Sample(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::Bind(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::Pairs(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::WhatIf(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::Savings(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::Capacity(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::PartTimes(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::Serial(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::Arguments(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::Trials(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::CountVariants(visit) => walk.step(set, visit.as_mut(), time_is_up),
            Running::SampleVariants(visit) => walk.step(set, &mut visit.0, time_is_up),
            Running::BindVariants(visit) => walk.step(set, visit.as_mut(), time_is_up),
        }
    }

    /// Returns the partial.
    fn finish(self, set: &TraceSet) -> Vec<u8> {
        match self {
            Running::Callees(counter) => encoding::write(&counter.finish(set)),
            Running::Keys(visit) => encoding::write(&visit.observer.keys),
            Running::Train(visit) => encoding::write(&visit.observer.trainings),
            Running::Test(visit) => encoding::write(&visit.observer.estimates),
            Running::Sample(mut visit) => {
                visit.observer.pack();
                encoding::write(&visit.observer)
            }
            Running::Bind(visit) => encoding::write(&visit.observer.counts),
            Running::Pairs(visit) => encoding::write(&visit.observer),
            Running::WhatIf(run) => encoding::write(&run.finish(set)),
            Running::Savings(run) => encoding::write(&run.finish(set)),
            Running::Capacity(run) => encoding::write(&run.finish()),
            Running::PartTimes(run) => encoding::write(&run.finish(set)),
            Running::Serial(run) => encoding::write(&run.finish(set)),
            Running::Arguments(run) => encoding::write(&run.finish(set)),
            Running::Trials(run) => encoding::write(&run.finish()),
            Running::CountVariants(run) => encoding::write(&run.finish()),
            Running::SampleVariants(run) => {
                let (sampler, of) = *run;
                encoding::write(&sampler.finish(set, &of))
            }
            Running::BindVariants(run) => encoding::write(&run.finish()),
        }
    }
}

impl FlowTask {
    /// Returns the task of a pass; `bytes` are those of the pass with its names and its cut.
    pub fn new(pass: &FlowPass, bytes: &[u8]) -> FlowTask {
        let is_repeated = matches!(pass, FlowPass::Callees { .. } | FlowPass::Pairs { .. });
        FlowTask { key: is_repeated.then(|| bytes.to_vec()), run: None, progress: (0, 0) }
    }

    /// Returns the traces done and traces in all.
    pub fn progress(&self) -> (u64, u64) {
        self.progress
    }

    /// Works until done, then returns the partial; or until `time_is_up` returns true. `roots` are those of all requests of
    /// the root endpoint, `rows` those of the selected ones; `None`: all there are.
    pub fn step(
        &mut self,
        (set, known): (&TraceSet, &mut FlowCache),
        (selection, roots): (&Selection, Option<RequestRoots>),
        pass: &FlowPass,
        rows: Option<Vec<u32>>,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        if self.run.is_none()
            && let Some(partial) = self.key.as_ref().and_then(|key| known.find(key))
        {
            return Ok(Some(partial));
        }
        let (walk, running) = self.run.get_or_insert_with(|| {
            let walk = FlowWalk::new(selection.group, selection.settings(), roots.unwrap_or_default());
            (walk, Running::new(set, selection.overlap, roots, pass, rows))
        });
        let is_done = running.step(walk, set, time_is_up);
        self.progress = walk.progress(set);
        let Some((_, running)) = self.run.take_if(|_| is_done) else { return Ok(None) };
        let partial = running.finish(set);
        if let Some(key) = self.key.take() {
            known.keep(key, partial.clone());
        }
        Ok(Some(partial))
    }
}
