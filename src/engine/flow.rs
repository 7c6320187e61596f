//! Execution flows as requests: which passes, what a worker does in each, and what is made of the partials.

use super::chain::{Next, Pass, ask, read};
use super::study::StudyChain;
use super::{EngineError, Report, Request, Session};
use crate::arrange::Arrange;
use crate::critical_path::{Scope, Selection, Subject, pack_sorted, unpack_sorted};
use crate::flow::{
    Bindings, CalleeCounter, Callees, Changes, EndpointName, Estimates, EvaluationReport, Flow, FlowParent,
    FlowReport, FlowSample, FlowSettings, InvocationKey, Invocations, KeyFinder, Model, NodeIndex, NodeTable,
    PairCounts, Predictors, Requests, Savings, SavingsRun, Tester, Trainer, Training, Walk, WhatIf,
    WhatIfRun, Within,
};
use crate::trace::TraceSet;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What every worker does once for a flow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum FlowPass {
    /// Callees of one parent or of all.
    Callees { parent: Option<EndpointName>, with_starts: bool },
    /// Keys of the invocations that start at these instants.
    Keys { tables: Vec<NodeTable>, starts_us: Vec<u64> },
    /// Invocations before the cuts.
    Train { tables: Vec<NodeTable>, cuts: Vec<Option<InvocationKey>> },
    /// Estimates of the others.
    Test { tables: Vec<NodeTable>, cuts: Vec<Option<InvocationKey>>, predictors: Vec<Predictors> },
    /// All that a drawing shows but the edges that bind.
    Sample { table: NodeTable },
    /// The edges that bind.
    Bind { table: NodeTable, flow: Flow },
    /// Pairs of all parents.
    Pairs { tables: Vec<NodeTable> },
    /// Latencies before and after a change.
    WhatIf { model: Model, changes: Changes },
    /// What every endpoint would save.
    Savings { model: Model },
}

/// Callees with starts, by parent.
type CalleesPartial = BTreeMap<EndpointName, (Callees, Vec<u64>)>;

/// Partials of passes that a what-if repeats with every move of a slider.
#[derive(Default)]
pub(super) struct FlowCache {
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
}

/// A pass of a flow being run over one session, in steps.
pub(super) struct FlowTask {
    /// The pass as it was asked, if what-ifs repeat it.
    key: Option<Vec<u8>>,
    run: Option<(Walk, Running)>,
    progress: (u64, u64),
}

impl Running {
    /// The work of a pass. `selection` holds the rows of the requests that pass the filters; `None` without filters.
    fn new(set: &TraceSet, scope: &Scope, pass: &FlowPass, selection: Option<Vec<u32>>) -> Running {
        let overlap = scope.overlap;
        let within = selection.clone().map_or_else(Within::default, Within::requests);
        let requests = || match (selection, &scope.subject) {
            (Some(mut rows), _) => {
                rows.sort_unstable();
                Requests::Rows(rows)
            }
            (None, Subject::TraceRoots) => Requests::All(None),
            (None, Subject::Endpoint { service, operation }) => match set.find_endpoint(service, operation) {
                Some(endpoint) => Requests::All(Some(endpoint)),
                None => Requests::Rows(Vec::new()),
            },
        };
        match pass {
            FlowPass::Callees { parent, with_starts } => {
                Running::Callees(Box::new(CalleeCounter::new(set, parent.as_ref(), within, *with_starts)))
            }
            FlowPass::Keys { tables, starts_us } => {
                let found = KeyFinder { starts_us: starts_us.clone(), keys: vec![Vec::new(); tables.len()] };
                Running::Keys(Box::new(Invocations::new(NodeIndex::new(set, tables), within, None, found)))
            }
            FlowPass::Train { tables, cuts } => {
                let trainings = tables.iter().map(|table| Training::new(table.len)).collect();
                let trainer = Trainer { cuts: cuts.clone(), trainings };
                Running::Train(Box::new(Invocations::new(NodeIndex::new(set, tables), within, None, trainer)))
            }
            FlowPass::Test { tables, cuts, predictors } => {
                let tester = Tester::new(cuts.clone(), predictors.clone());
                Running::Test(Box::new(Invocations::new(NodeIndex::new(set, tables), within, None, tester)))
            }
            FlowPass::Sample { table } => {
                let sample = FlowSample::new(table.len);
                Running::Sample(Box::new(Invocations::new(
                    NodeIndex::new(set, [table]),
                    within,
                    Some(overlap),
                    sample,
                )))
            }
            FlowPass::Bind { table, flow } => {
                let bindings = Bindings { flow: flow.clone(), counts: BTreeMap::new() };
                Running::Bind(Box::new(Invocations::new(
                    NodeIndex::new(set, [table]),
                    within,
                    Some(overlap),
                    bindings,
                )))
            }
            FlowPass::Pairs { tables } => {
                let counts: Vec<PairCounts> = tables.iter().map(|table| PairCounts::new(table.len)).collect();
                Running::Pairs(Box::new(Invocations::new(
                    NodeIndex::new(set, tables),
                    within,
                    Some(overlap),
                    counts,
                )))
            }
            FlowPass::WhatIf { model, changes } => {
                let model = Arc::new(model.clone());
                Running::WhatIf(Box::new(WhatIfRun::new(set, model, overlap, requests(), changes)))
            }
            FlowPass::Savings { model } => {
                let model = Arc::new(model.clone());
                Running::Savings(Box::new(SavingsRun::new(set, model, overlap, requests())))
            }
        }
    }

    /// Works until done (true) or until `time_is_up` says so.
    fn step(&mut self, walk: &mut Walk, set: &TraceSet, time_is_up: &mut dyn FnMut() -> bool) -> bool {
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
        }
    }

    /// The partial.
    fn finish(self, set: &TraceSet) -> Result<Vec<u8>, EngineError> {
        Ok(match self {
            Running::Callees(counter) => {
                let mut found: CalleesPartial = counter.finish(set);
                for (_, starts) in found.values_mut() {
                    starts.sort_unstable();
                    *starts = pack_sorted(std::mem::take(starts));
                }
                postcard::to_allocvec(&found)?
            }
            Running::Keys(visit) => postcard::to_allocvec(&visit.observer.keys)?,
            Running::Train(visit) => postcard::to_allocvec(&visit.observer.trainings)?,
            Running::Test(visit) => postcard::to_allocvec(&visit.observer.estimates)?,
            Running::Sample(mut visit) => {
                visit.observer.pack();
                postcard::to_allocvec(&visit.observer)?
            }
            Running::Bind(visit) => postcard::to_allocvec(&visit.observer.counts)?,
            Running::Pairs(visit) => postcard::to_allocvec(&visit.observer)?,
            Running::WhatIf(run) => postcard::to_allocvec(&run.finish(set))?,
            Running::Savings(run) => postcard::to_allocvec(&run.finish(set))?,
        })
    }
}

impl FlowTask {
    /// The task of a pass, if it is a flow's; `bytes` is the pass as it was asked.
    pub fn new(pass: &Pass, bytes: &[u8]) -> Option<FlowTask> {
        let Pass::Flow { pass, .. } = pass else { return None };
        let is_repeated = matches!(**pass, FlowPass::Callees { .. } | FlowPass::Pairs { .. });
        Some(FlowTask { key: is_repeated.then(|| bytes.to_vec()), run: None, progress: (0, 0) })
    }

    /// Traces done and traces in all.
    pub fn progress(&self) -> (u64, u64) {
        self.progress
    }

    /// Works until done, then returns the partial; or until `time_is_up` returns true. `selection` holds the rows of the
    /// requests that pass the filters; `None` without filters.
    pub fn step(
        &mut self,
        session: &mut Session,
        scope: &Scope,
        pass: &FlowPass,
        selection: Option<Vec<u32>>,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        if self.run.is_none()
            && let Some(partial) = self.key.as_ref().and_then(|key| session.flows.find(key))
        {
            return Ok(Some(partial));
        }
        let set = &session.set;
        let (walk, running) = self
            .run
            .get_or_insert_with(|| (Walk::new(scope.group), Running::new(set, scope, pass, selection)));
        let is_done = running.step(walk, set, time_is_up);
        self.progress = walk.progress(set);
        let Some((_, running)) = self.run.take_if(|_| is_done) else { return Ok(None) };
        let partial = running.finish(set)?;
        if let Some(key) = self.key.take() {
            session.flows.keep(key, partial.clone());
        }
        Ok(Some(partial))
    }
}

/// Rows of the roots of the requests that were selected.
pub(super) fn rows_of(table: &crate::critical_path::PathTable, selection: &Selection) -> Vec<u32> {
    selection.requests.iter().map(|&r| table.requests[r as usize].row).collect()
}

enum State {
    Callees,
    Keys { tables: Vec<NodeTable>, ranks: Vec<usize>, counts: (u64, u64) },
    Train { tables: Vec<NodeTable>, cuts: Vec<Option<InvocationKey>>, counts: (u64, u64) },
    Test { parents: u64, counts: (u64, u64) },
    Sample { table: NodeTable, callees: Callees },
    Bind { table: NodeTable, callees: Callees, sample: Box<FlowSample>, flow: Flow },
    Pairs { tables: Vec<NodeTable> },
    WhatIf,
    Savings,
}

/// A flow's request on its way to its report.
pub(super) struct FlowChain {
    request: Request,
    scope: Scope,
    state: State,
}

impl FlowChain {
    /// The chain of a request, and the pass to begin with.
    pub fn start(request: &Request) -> Result<(Box<dyn StudyChain>, Next), EngineError> {
        let scope = match request {
            Request::Flow { scope, .. }
            | Request::FlowParents { scope }
            | Request::FlowEvaluation { scope, .. }
            | Request::WhatIf { scope, .. }
            | Request::Savings { scope, .. } => scope.clone(),
            _ => return Err(EngineError::Ended),
        };
        let parent = match (&scope.subject, request) {
            (_, Request::WhatIf { .. } | Request::Savings { .. }) | (Subject::TraceRoots, _) => None,
            (Subject::Endpoint { service, operation }, _) => Some((service.clone(), operation.clone())),
        };
        let with_starts = matches!(request, Request::FlowEvaluation { .. });
        let chain = FlowChain { request: request.clone(), scope, state: State::Callees };
        let next = chain.ask(FlowPass::Callees { parent, with_starts })?;
        Ok((Box::new(chain), next))
    }

    /// Which requests a pass is about: a model for what-if is learned from the whole group.
    fn scope(&self, pass: &FlowPass) -> Scope {
        let is_model = matches!(self.request, Request::WhatIf { .. } | Request::Savings { .. })
            && matches!(pass, FlowPass::Callees { .. } | FlowPass::Pairs { .. });
        if is_model {
            Scope { overlap: self.scope.overlap, group: self.scope.group, ..Scope::default() }
        } else {
            self.scope.clone()
        }
    }

    fn ask(&self, pass: FlowPass) -> Result<Next, EngineError> {
        ask(&Pass::Flow { scope: self.scope(&pass), pass: Box::new(pass) })
    }

    fn settings(&self) -> FlowSettings {
        match &self.request {
            Request::Flow { settings, .. }
            | Request::FlowEvaluation { settings, .. }
            | Request::WhatIf { settings, .. }
            | Request::Savings { settings, .. } => *settings,
            _ => FlowSettings::default(),
        }
    }

    fn step(&mut self, partials: &[Vec<u8>]) -> Result<Next, EngineError> {
        let tau_ppm = self.settings().tau_ppm;
        match std::mem::replace(&mut self.state, State::Callees) {
            State::Callees => self.with_callees(merge_callees(read(partials)?)),
            State::Keys { tables, ranks, counts } => {
                let mut keys: Vec<Vec<InvocationKey>> = vec![Vec::new(); tables.len()];
                for part in read::<Vec<Vec<InvocationKey>>>(partials)? {
                    keys.iter_mut().zip(part).for_each(|(into, from)| into.extend(from));
                }
                let cuts: Vec<Option<InvocationKey>> = (keys.into_iter().zip(ranks))
                    .map(|(mut keys, rank)| {
                        keys.arrange();
                        keys.into_iter().nth(rank)
                    })
                    .collect();
                let pass = FlowPass::Train { tables: tables.clone(), cuts: cuts.clone() };
                self.state = State::Train { tables, cuts, counts };
                self.ask(pass)
            }
            State::Train { tables, cuts, counts } => {
                let mut sum: Vec<Training> = tables.iter().map(|table| Training::new(table.len)).collect();
                for part in read::<Vec<Training>>(partials)? {
                    sum.iter_mut().zip(part).for_each(|(into, from)| into.merge(from));
                }
                let settings = self.settings();
                let predictors = sum.into_iter().map(|training| training.finish(settings)).collect();
                self.state = State::Test { parents: tables.len() as u64, counts };
                self.ask(FlowPass::Test { tables, cuts, predictors })
            }
            State::Test { parents, counts } => {
                let mut estimates = Estimates::default();
                for part in read::<Estimates>(partials)? {
                    estimates.merge(part);
                }
                estimates.sort();
                Ok(done(Report::FlowEvaluation(self.evaluation(parents, counts, &estimates))))
            }
            State::Sample { table, callees } => {
                let mut sample = FlowSample::new(table.len);
                for mut part in read::<FlowSample>(partials)? {
                    part.unpack();
                    sample.merge(part);
                }
                let flow = sample.pairs.flow(tau_ppm);
                let pass = FlowPass::Bind { table: table.clone(), flow: flow.clone() };
                self.state = State::Bind { table, callees, sample: Box::new(sample), flow };
                self.ask(pass)
            }
            State::Bind { table, callees, sample, flow } => {
                let mut bindings = Bindings { flow, counts: BTreeMap::new() };
                for part in read::<BTreeMap<(u32, u32), u64>>(partials)? {
                    part.into_iter().for_each(|(edge, count)| {
                        *bindings.counts.entry(edge).or_default() += count;
                    });
                }
                Ok(done(Report::Flow(FlowReport::new(&table, &callees, &sample, &bindings))))
            }
            State::Pairs { tables } => {
                let mut sum: Vec<PairCounts> =
                    tables.iter().map(|table| PairCounts::new(table.len)).collect();
                for part in read::<Vec<PairCounts>>(partials)? {
                    sum.iter_mut().zip(&part).for_each(|(into, from)| into.merge(from));
                }
                let flows = sum.into_iter().map(|pairs| pairs.flow(tau_ppm)).collect();
                let model = Model { tables, flows };
                if let Request::WhatIf { changes, .. } = &self.request {
                    let changes = changes.clone();
                    self.state = State::WhatIf;
                    self.ask(FlowPass::WhatIf { model, changes })
                } else {
                    self.state = State::Savings;
                    self.ask(FlowPass::Savings { model })
                }
            }
            State::WhatIf => Ok(done(Report::WhatIf(WhatIf::merge(read(partials)?).finish()))),
            State::Savings => Ok(done(Report::Savings(Savings::merge(read(partials)?).finish()))),
        }
    }

    fn with_callees(&mut self, found: CalleesPartial) -> Result<Next, EngineError> {
        match &self.request {
            Request::FlowParents { .. } => {
                let parents = found.into_iter().map(|(name, (callees, _))| FlowParent {
                    invocations: callees.invocations,
                    childless: callees.childless,
                    nodes: NodeTable::new(name.clone(), &callees).len,
                    most_calls: callees.most,
                    service: name.0,
                    operation: name.1,
                });
                Ok(done(Report::FlowParents(parents.collect())))
            }
            Request::FlowEvaluation { min_children, .. } => {
                // A parent that was chosen is compared whatever its size.
                let least = if self.scope.subject == Subject::TraceRoots { *min_children } else { 0 };
                let (mut tables, mut starts_us, mut ranks) = (Vec::new(), Vec::new(), Vec::new());
                let mut counts = (0, 0);
                for (name, (callees, mut starts)) in found {
                    if callees.most < least {
                        continue;
                    }
                    starts.sort_unstable();
                    let half = starts.len() / 2;
                    let Some(&start) = starts.get(half) else { continue };
                    counts = (counts.0 + half as u64, counts.1 + (starts.len() - half) as u64);
                    ranks.push(half - starts.partition_point(|&s| s < start));
                    starts_us.push(start);
                    tables.push(NodeTable::new(name, &callees));
                }
                let pass = FlowPass::Keys { tables: tables.clone(), starts_us };
                self.state = State::Keys { tables, ranks, counts };
                self.ask(pass)
            }
            Request::Flow { .. } => {
                let Some(parent) = self.parent() else {
                    return Ok(done(Report::Flow(FlowReport::default())));
                };
                let callees = found.into_iter().next().map(|(_, (callees, _))| callees).unwrap_or_default();
                let table = NodeTable::new(parent, &callees);
                let pass = FlowPass::Sample { table: table.clone() };
                self.state = State::Sample { table, callees };
                self.ask(pass)
            }
            _ => {
                let tables: Vec<NodeTable> =
                    found.into_iter().map(|(name, (callees, _))| NodeTable::new(name, &callees)).collect();
                let pass = FlowPass::Pairs { tables: tables.clone() };
                self.state = State::Pairs { tables };
                self.ask(pass)
            }
        }
    }

    fn parent(&self) -> Option<EndpointName> {
        match &self.scope.subject {
            Subject::Endpoint { service, operation } => Some((service.clone(), operation.clone())),
            Subject::TraceRoots => None,
        }
    }

    fn evaluation(&self, parents: u64, counts: (u64, u64), estimates: &Estimates) -> EvaluationReport {
        let min_children = match self.request {
            Request::FlowEvaluation { min_children, .. } => min_children,
            _ => 0,
        };
        EvaluationReport {
            parent: self.parent(),
            parents,
            min_children,
            train: counts.0,
            test: counts.1,
            methods: EvaluationReport::methods_of(estimates),
        }
    }
}

impl StudyChain for FlowChain {
    fn next(&mut self, partials: &[Vec<u8>]) -> Result<Next, EngineError> {
        self.step(partials)
    }
}

fn done(report: Report) -> Next {
    Next::Done(Box::new(report))
}

fn merge_callees(parts: Vec<CalleesPartial>) -> CalleesPartial {
    let mut sum = CalleesPartial::new();
    for part in parts {
        for (name, (callees, starts)) in part {
            let into = sum.entry(name).or_default();
            into.0.merge(callees);
            into.1.extend(unpack_sorted(starts));
        }
    }
    sum.retain(|_, (callees, _)| callees.invocations > 0);
    sum
}
