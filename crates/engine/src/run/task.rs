//! Running the passes of a message over one session, in steps.

use super::apart::traces_of;
use super::partials::{frame, opened, parts, sealed};
use super::pass::{NamedPass, Pass};
use super::query::Query;
use super::request_pass::{self, Over, RunningPass};
use super::session::{Naming, Whose};
use super::set_pass::{OverSet, RunningSetPass};
use super::{Plan, Session};
use crate::EngineError;
use crate::flame::{PathTable, TableBuilder, pack_sorted};
use crate::flow::passes::FlowTask;
use crate::passes::{start_over, start_over_set};
use crate::requests::{RequestKey, SelectedRequests, Selection, TypeFacts, TypeNames, Until, Weighing};
use pathlight_base::encoding;
use pathlight_base::statistics::Weight;
use pathlight_trace::{PlaceFacts, hash_bytes};
use std::collections::BTreeMap;
use std::sync::Arc;

impl Session {
    /// Runs a query over these traces alone, in one go.
    ///
    /// # Errors
    /// [`EngineError`] if memory ends.
    pub fn run<Q: Query>(&mut self, query: Q) -> Result<Q::Report, EngineError> {
        Plan::new(query, &self.cuts.clone()).finish(|pass| Ok(vec![self.run_pass(pass)?]), &mut |_| {})
    }

    /// Runs what [`Plan::next`] wrote, in one go; returns the partial.
    ///
    /// # Errors
    /// [`EngineError`] if the bytes hold no passes, or the partial cannot be written.
    pub fn run_pass(&mut self, pass: &[u8]) -> Result<Vec<u8>, EngineError> {
        let mut task = self.start(pass)?;
        loop {
            if let Some(partial) = task.step(self, &mut || false)? {
                return Ok(partial);
            }
        }
    }

    /// Starts what [`Plan::next`] wrote: one pass, or several that run one after the other.
    ///
    /// # Errors
    /// [`EngineError::Message`] if the bytes hold no passes.
    pub fn start(&self, message: &[u8]) -> Result<Task, EngineError> {
        let message = [opened(message)?];
        let passes = parts(&message)?.into_iter().map(PassTask::new).collect::<Result<_, _>>()?;
        Ok(Task { passes, partials: Vec::new() })
    }
}

/// The passes of a message being run over one session, in steps.
pub struct Task {
    passes: Vec<PassTask>,
    /// Of the passes that are done.
    partials: Vec<Vec<u8>>,
}

impl Task {
    /// Works until done, then returns the partial, of several passes their partials in a frame; or until `time_is_up`
    /// returns true.
    ///
    /// # Errors
    /// [`EngineError`] if the partial cannot be written.
    pub fn step(
        &mut self,
        session: &mut Session,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        while let Some(pass) = self.passes.get_mut(self.partials.len()) {
            let Some(partial) = pass.work(session, time_is_up)? else { return Ok(None) };
            self.partials.push(partial);
            if self.partials.len() < self.passes.len() && time_is_up() {
                return Ok(None);
            }
        }
        let partial = match self.partials.as_mut_slice() {
            [one] => std::mem::take(one),
            several => frame(several),
        };
        Ok(Some(sealed(partial)))
    }

    /// Returns the traces done and traces in all, as if all passes were as long as the one under way; (0, 0) before the
    /// first step.
    pub fn progress(&self) -> (u64, u64) {
        let (done, passes) = (self.partials.len() as u64, self.passes.len() as u64);
        let at = self.passes.get(self.partials.len()).or(self.passes.last());
        let (of_pass, traces) = at.map_or((0, 0), |pass| pass.progress);
        (done * traces + of_pass, passes * traces)
    }
}

/// One pass.
struct PassTask {
    named: NamedPass,
    naming: Naming,
    /// How requests are grouped into types, once it is read.
    types: Option<Arc<TypeNames>>,
    builder: Option<TableBuilder>,
    /// The requests it is about, once they are chosen: the session may let them go while other passes take their steps.
    selected: Option<Arc<SelectedRequests>>,
    running: Option<Box<dyn RunningPass>>,
    over_set: Option<Box<dyn RunningSetPass>>,
    flow: Option<FlowTask>,
    progress: (u64, u64),
}

impl PassTask {
    fn new(bytes: &[u8]) -> Result<PassTask, EngineError> {
        let named: NamedPass = encoding::read(bytes)?;
        let flow = match &named.pass {
            Pass::Flow { pass, .. } => Some(FlowTask::new(pass, bytes)),
            _ => None,
        };
        let names_hash = named.names.as_ref().map_or(0, |names| hash_bytes(names.bytes()));
        let naming = (names_hash, named.pass.settings().is_some_and(|settings| settings.by_service));
        Ok(PassTask {
            named,
            naming,
            types: None,
            builder: None,
            selected: None,
            running: None,
            over_set: None,
            flow,
            progress: (0, 0),
        })
    }

    fn work(
        &mut self,
        session: &mut Session,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        // What shows spans as they were recorded leaves the names for the pass that comes next.
        if self.named.pass.settings().is_some() {
            session.name_places(self.named.names.as_deref(), self.naming)?;
        }
        if let Some(packed) = self.named.types.take() {
            self.types = Some(session.type_names(packed)?);
        }
        let incomplete = self.named.incomplete;
        match &self.named.pass {
            Pass::Places => Ok(Some(encoding::write(&PlaceFacts::of(&session.set)))),
            Pass::Types { settings } => {
                Ok(Some(encoding::write(&TypeFacts::of(&session.set, settings.reading))))
            }
            Pass::Set(pass) => {
                let running = match &mut self.over_set {
                    Some(running) => running,
                    none => {
                        let (types, summaries) = (self.types.clone(), session.summaries.clone());
                        none.insert(start_over_set(pass, OverSet { types, incomplete, summaries })?)
                    }
                };
                let partial = running.step(&session.set, time_is_up);
                self.progress = running.progress(&session.set);
                Ok(partial)
            }
            // Of all requests there is no need for the table of paths.
            Pass::Flow { selection, cut: None, pass } if pass.is_of_all(selection) => {
                let Some(task) = &mut self.flow else { return Err(EngineError::Ended) };
                let roots = selection.root.of(&session.set, incomplete);
                let (over, of) = ((&session.set, &mut session.flows), (selection, roots));
                let partial = task.step(over, of, pass, None, time_is_up)?;
                self.progress = task.progress();
                Ok(partial)
            }
            Pass::Latencies { selection, .. }
            | Pass::Ties { selection, .. }
            | Pass::Requests { selection, .. }
            | Pass::Flow { selection, .. } => {
                let selection = selection.clone();
                match self.table(session, &selection, time_is_up) {
                    Some((table, whose)) => {
                        self.over_table(session, &selection, (&table, &whose), time_is_up)
                    }
                    None => Ok(None),
                }
            }
        }
    }

    /// Returns the table of the critical paths of the requests of a selection, in whatever range, and whose requests these
    /// are; `None` if the time is up before it is built.
    fn table(
        &mut self,
        session: &mut Session,
        selection: &Selection,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> Option<(Arc<PathTable>, Whose)> {
        let whose = (selection.root.clone(), self.named.incomplete);
        let key = (self.naming, whose.clone(), selection.settings(), selection.until);
        if let Some(table) = session.table(&key) {
            return Some((table, whose));
        }
        let builder = self.builder.get_or_insert_with(|| {
            let roots = selection.root.of(&session.set, self.named.incomplete);
            match selection.until {
                Until::Answer => TableBuilder::new(roots, selection.settings()),
                Until::Done => {
                    let apart = traces_of(&session.set, &self.named.apart);
                    TableBuilder::until_done(&session.set, roots, selection.settings(), apart)
                }
            }
        });
        let done = builder.step(&session.set, time_is_up);
        self.progress = builder.progress(&session.set);
        let builder = self.builder.take_if(|_| done)?;
        Some((session.keep_table(key, builder), whose))
    }

    /// Runs a pass over the requests of a selection.
    fn over_table(
        &mut self,
        session: &mut Session,
        selection: &Selection,
        (table, whose): (&PathTable, &Whose),
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        let types = self.types.as_ref();
        let choose = || session.selected(self.naming, types, selection, (table, whose));
        let selected = self.selected.get_or_insert_with(choose).clone();
        match (&self.named.pass, &mut self.flow) {
            (Pass::Flow { cut, pass, .. }, Some(task)) => {
                let inside = session.inside(&selected, table, &cut.clone().unwrap_or_default())?;
                let rows = inside.iter().map(|&request| table.requests[request as usize].row).collect();
                let (over, of) = ((&session.set, &mut session.flows), (selection, Some(table.roots)));
                let partial = task.step(over, of, pass, Some(rows), time_is_up)?;
                self.progress = task.progress();
                Ok(partial)
            }
            (Pass::Requests { cut, pass, .. }, _) => {
                if self.running.is_none() {
                    let requests = session.inside(&selected, table, cut)?.to_vec();
                    let types = selected.types().cloned().unwrap_or_default();
                    let settings = selection.settings();
                    let apart = match selection.until {
                        Until::Answer => None,
                        Until::Done => Some(traces_of(&session.set, &self.named.apart)),
                    };
                    let weighing = Weighing::of(selection, &session.set);
                    let over = Over { set: &session.set, settings, weighing, apart, types, requests };
                    self.running = Some(start_over(pass, over)?);
                }
                let partial = request_pass::step(&mut self.running, &session.set, table, time_is_up);
                if let Some(running) = &self.running {
                    self.progress = running.progress();
                }
                Ok(partial)
            }
            (Pass::Ties { latencies_us, is_by_type, .. }, _) => {
                // Requests of one type without a name where types do not matter.
                let wanted = selected.by_type(*is_by_type, |keys: &mut Vec<u32>, request| keys.push(request));
                let none = Vec::new();
                let ties = wanted.into_iter().map(|(name, requests)| {
                    let at = latencies_us.get(&name).unwrap_or(&none);
                    let keys = (requests.into_iter())
                        .map(|request| &table.requests[request as usize])
                        .filter(|request| at.contains(&request.latency_us))
                        .map(|request| {
                            (RequestKey::of(&session.set, request), session.set.weight(request.trace))
                        });
                    (name, keys.collect::<Vec<_>>())
                });
                Ok(Some(encoding::write(&ties.collect::<BTreeMap<_, _>>())))
            }
            _ => {
                let is_by_type = !selection.over_all;
                let latency = |request: u32| table.requests[request as usize].latency_us;
                let types =
                    selected.by_type(is_by_type, |of: &mut Vec<u64>, request| of.push(latency(request)));
                let packed = types.into_iter().map(|(name, of)| (name, pack_sorted(of)));
                let cut =
                    selected.requests.iter().filter(|&&request| table.requests[request as usize].is_cut);
                let cut = cut.count() as u64;
                // In the same order; none where each request stands for itself.
                let weight = |request: u32| session.set.weight(table.requests[request as usize].trace);
                let weights = session.set.has_weights().then(|| {
                    selected.by_type(is_by_type, |of: &mut Vec<Weight>, request| of.push(weight(request)))
                });
                let packed = packed.collect::<BTreeMap<_, _>>();
                Ok(Some(encoding::write(&(packed, weights, selected.coverage(), cut))))
            }
        }
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::queries;
    use crate::requests::Selection;
    use crate::run::{Cuts, PlanStep};

    #[test]
    fn requests_are_chosen_once_whether_their_types_matter_or_not() -> Result<(), EngineError> {
        let mut session = Session::new();
        // Latencies are asked for by type, the paths of all requests are not.
        session.run(queries::CriticalPath { selection: Selection::default() })?;
        assert_eq!(session.kept(), (1, 1, 1));
        Ok(())
    }

    /// Any of the changed bytes would be another pass, or none, or make the worker end.
    #[test]
    fn a_damaged_pass_or_partial_is_an_error() -> Result<(), EngineError> {
        let is_damaged = |error| matches!(error, Some(EngineError::Message(_)));
        let mut session = Session::new();
        let mut plan = Plan::new(queries::CriticalPath { selection: Selection::default() }, &Cuts::default());
        let mut partials = Vec::new();
        let mut passes = 0;
        while let PlanStep::Pass(pass) = plan.next(partials)? {
            passes += 1;
            for place in 0..pass.len() {
                let mut damaged = pass.clone();
                damaged[place] ^= 1 << (place % 8);
                assert!(is_damaged(session.start(&damaged).err()), "byte {place} of pass {passes}");
                assert!(is_damaged(session.start(&pass[..place]).err()), "{place} bytes of pass {passes}");
            }
            partials = vec![session.run_pass(&pass)?];
        }
        assert!(passes > 2, "{passes} passes");
        let mut plan = Plan::new(queries::CriticalPath { selection: Selection::default() }, &Cuts::default());
        plan.next(Vec::new())?;
        assert!(is_damaged(plan.next(vec![Vec::new()]).err()));
        Ok(())
    }
}
