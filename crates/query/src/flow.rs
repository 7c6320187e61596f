//! Execution flows as requests: which passes, what a worker does in each, and what is made of the partials.

use super::chain::Pass;
use super::workers::Workers;
use super::{EngineError, Session};
use pathlight_analysis::critical_path::{pack_sorted, unpack_sorted};
use pathlight_analysis::flow::{
    Bindings, CalleeCounter, Callees, Changes, EndpointName, Estimates, EvaluationReport, Flow, FlowParent,
    FlowReport, FlowSample, FlowSettings, InvocationKey, Invocations, KeyFinder, Model, NodeIndex, NodeTable,
    PairCounts, Predictors, Requests, Savings, SavingsReport, SavingsRun, Tester, Trainer, Training, Walk,
    WhatIf, WhatIfReport, WhatIfRun, Within,
};
use pathlight_analysis::requests::{RootEndpoint, SelectedRequests, Selection};
use pathlight_model::sort::Arrange;
use pathlight_model::trace::TraceSet;
use serde::de::DeserializeOwned;
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
    /// The work of a pass. `rows` are those of the roots of the requests that pass the filters; `None` without filters.
    fn new(set: &TraceSet, selection: &Selection, pass: &FlowPass, rows: Option<Vec<u32>>) -> Running {
        let overlap = selection.overlap;
        let within = rows.clone().map_or_else(Within::default, Within::requests);
        let requests = || match (rows, &selection.root) {
            (Some(mut rows), _) => {
                rows.sort_unstable();
                Requests::Rows(rows)
            }
            (None, RootEndpoint::TraceRoots) => Requests::All(None),
            (None, RootEndpoint::Endpoint { service, operation }) => {
                match set.find_endpoint(service, operation) {
                    Some(endpoint) => Requests::All(Some(endpoint)),
                    None => Requests::Rows(Vec::new()),
                }
            }
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

    /// Works until done, then returns the partial; or until `time_is_up` returns true. `rows` are those of the roots
    /// of the requests that pass the filters; `None` without filters.
    pub fn step(
        &mut self,
        session: &mut Session,
        selection: &Selection,
        pass: &FlowPass,
        rows: Option<Vec<u32>>,
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
            .get_or_insert_with(|| (Walk::new(selection.group), Running::new(set, selection, pass, rows)));
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
pub(super) fn rows_of(
    table: &pathlight_analysis::critical_path::PathTable,
    selected: &SelectedRequests,
) -> Vec<u32> {
    selected.requests.iter().map(|&r| table.requests[r as usize].row).collect()
}

impl Workers {
    /// What the partials of a pass of a flow hold. Flows are of all latencies.
    async fn flow<T: DeserializeOwned>(
        &self,
        selection: &Selection,
        pass: FlowPass,
    ) -> Result<Vec<T>, EngineError> {
        self.ask(&Pass::Flow { selection: selection.at_any_latency(), pass: Box::new(pass) }).await
    }

    async fn callees(
        &self,
        selection: &Selection,
        parent: Option<EndpointName>,
        with_starts: bool,
    ) -> Result<CalleesPartial, EngineError> {
        Ok(merge_callees(self.flow(selection, FlowPass::Callees { parent, with_starts }).await?))
    }
}

/// The parent that a selection names; `None`: all.
fn parent_of(selection: &Selection) -> Option<EndpointName> {
    match &selection.root {
        RootEndpoint::Endpoint { service, operation } => Some((service.clone(), operation.clone())),
        RootEndpoint::TraceRoots => None,
    }
}

/// The endpoints that have a flow.
pub(super) async fn parents(
    workers: &Workers,
    selection: &Selection,
) -> Result<Vec<FlowParent>, EngineError> {
    let found = workers.callees(selection, parent_of(selection), false).await?;
    let parents = found.into_iter().map(|(name, (callees, _))| FlowParent {
        invocations: callees.invocations,
        childless: callees.childless,
        nodes: NodeTable::new(name.clone(), &callees).len,
        most_calls: callees.most,
        service: name.0,
        operation: name.1,
    });
    Ok(parents.collect())
}

/// The flow of the selection's endpoint; without one, a flow without nodes.
pub(super) async fn flow(
    workers: &Workers,
    selection: &Selection,
    settings: FlowSettings,
) -> Result<FlowReport, EngineError> {
    let Some(parent) = parent_of(selection) else { return Ok(FlowReport::default()) };
    let found = workers.callees(selection, Some(parent.clone()), false).await?;
    let callees = found.into_iter().next().map(|(_, (callees, _))| callees).unwrap_or_default();
    let table = NodeTable::new(parent, &callees);
    let mut sample = FlowSample::new(table.len);
    for mut part in workers.flow::<FlowSample>(selection, FlowPass::Sample { table: table.clone() }).await? {
        part.unpack();
        sample.merge(part);
    }
    let flow = sample.pairs.flow(settings.tau_ppm);
    let pass = FlowPass::Bind { table: table.clone(), flow: flow.clone() };
    let mut bindings = Bindings { flow, counts: BTreeMap::new() };
    for part in workers.flow::<BTreeMap<(u32, u32), u64>>(selection, pass).await? {
        part.into_iter().for_each(|(edge, count)| *bindings.counts.entry(edge).or_default() += count);
    }
    Ok(FlowReport::new(&table, &callees, &sample, &bindings))
}

/// The six predictors compared: learned from the earlier half of each parent's invocations, tested on the others.
pub(super) async fn evaluation(
    workers: &Workers,
    selection: &Selection,
    settings: FlowSettings,
    min_children: u32,
) -> Result<EvaluationReport, EngineError> {
    let parent = parent_of(selection);
    // A parent that was chosen is compared whatever its size.
    let least = if parent.is_none() { min_children } else { 0 };
    let (mut tables, mut starts_us, mut ranks) = (Vec::new(), Vec::new(), Vec::new());
    let mut counts = (0, 0);
    for (name, (callees, mut starts)) in workers.callees(selection, parent.clone(), true).await? {
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
    let mut keys: Vec<Vec<InvocationKey>> = vec![Vec::new(); tables.len()];
    let pass = FlowPass::Keys { tables: tables.clone(), starts_us };
    for part in workers.flow::<Vec<Vec<InvocationKey>>>(selection, pass).await? {
        keys.iter_mut().zip(part).for_each(|(into, from)| into.extend(from));
    }
    let cuts: Vec<Option<InvocationKey>> = (keys.into_iter().zip(ranks))
        .map(|(mut keys, rank)| {
            keys.arrange();
            keys.into_iter().nth(rank)
        })
        .collect();
    let mut trainings: Vec<Training> = tables.iter().map(|table| Training::new(table.len)).collect();
    let pass = FlowPass::Train { tables: tables.clone(), cuts: cuts.clone() };
    for part in workers.flow::<Vec<Training>>(selection, pass).await? {
        trainings.iter_mut().zip(part).for_each(|(into, from)| into.merge(from));
    }
    let predictors = trainings.into_iter().map(|training| training.finish(settings)).collect();
    let parents = tables.len() as u64;
    let mut estimates = Estimates::default();
    for part in workers.flow(selection, FlowPass::Test { tables, cuts, predictors }).await? {
        estimates.merge(part);
    }
    estimates.sort();
    Ok(EvaluationReport {
        parent,
        parents,
        min_children,
        train: counts.0,
        test: counts.1,
        methods: EvaluationReport::methods_of(&estimates),
    })
}

/// Flows of all parents, learned from the whole group.
async fn model(
    workers: &Workers,
    selection: &Selection,
    settings: FlowSettings,
) -> Result<Model, EngineError> {
    let selection = Selection { overlap: selection.overlap, group: selection.group, ..Selection::default() };
    let found = workers.callees(&selection, None, false).await?;
    let tables: Vec<NodeTable> =
        found.into_iter().map(|(name, (callees, _))| NodeTable::new(name, &callees)).collect();
    let mut pairs: Vec<PairCounts> = tables.iter().map(|table| PairCounts::new(table.len)).collect();
    let pass = FlowPass::Pairs { tables: tables.clone() };
    for part in workers.flow::<Vec<PairCounts>>(&selection, pass).await? {
        pairs.iter_mut().zip(&part).for_each(|(into, from)| into.merge(from));
    }
    let flows = pairs.into_iter().map(|pairs| pairs.flow(settings.tau_ppm)).collect();
    Ok(Model { tables, flows })
}

/// The requests of a selection before and after a change.
pub(super) async fn what_if(
    workers: &Workers,
    selection: &Selection,
    settings: FlowSettings,
    changes: &Changes,
) -> Result<WhatIfReport, EngineError> {
    let model = model(workers, selection, settings).await?;
    let pass = FlowPass::WhatIf { model, changes: changes.clone() };
    Ok(WhatIf::merge(workers.flow(selection, pass).await?).finish())
}

/// What every endpoint below the requests of a selection would save.
pub(super) async fn savings(
    workers: &Workers,
    selection: &Selection,
    settings: FlowSettings,
) -> Result<SavingsReport, EngineError> {
    let model = model(workers, selection, settings).await?;
    Ok(Savings::merge(workers.flow(selection, FlowPass::Savings { model }).await?).finish())
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
