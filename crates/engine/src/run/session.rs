//! One worker's data and the passes over it.

use super::Cuts;
use super::Plan;
use super::pass::{NamedPass, Pass};
use super::request_pass::RunningPass;
use super::workers::{opened, sealed};
use crate::EngineError;
use crate::flame::{PathTable, TableBuilder, TraceReport, pack_sorted};
use crate::flow::query::{FlowCache, FlowTask};
use crate::queries;
use crate::queries::Query;
use crate::requests::overview::OverviewPass;
use crate::requests::{
    RequestKey, RequestTypes, RootEndpoint, SelectedRequests, Selection, TypeFacts, TypeNames,
};
use crate::summaries::loaded::JoinTask;
use pathlight_base::encoding;
use pathlight_trace::PathSettings;
use pathlight_trace::{Names, PlaceFacts, PlaceNames, TraceSet, hash_bytes};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many root endpoints keep their tables.
const TABLES_KEPT: usize = 3;
/// How many selections keep their requests: both sides of a comparison and one more.
const SELECTED_KEPT: usize = 3;

/// What places are called: a hash of their names, and whether they are services.
type Naming = (u64, bool);

/// Whose requests a table holds: a root endpoint, with or without those whose caller is not recorded.
type Whose = (RootEndpoint, bool);

/// What tables, selected requests and their types are kept by.
type TableKey = (Naming, Whose, PathSettings);
type SelectedKey = (Naming, Option<TypeNames>, Selection);
type TypesKey = (Naming, TypeNames, Whose, PathSettings);

/// Appends to what is kept, the most recently used last, and lets the first go if there are more.
fn keep<K, V>(list: &mut Vec<(K, Arc<V>)>, most: usize, entry: (K, Arc<V>)) -> Arc<V> {
    if list.len() == most {
        list.remove(0);
    }
    let kept = Arc::clone(&entry.1);
    list.push(entry);
    kept
}

/// A worker's traces with what was computed from them before.
#[derive(Default)]
pub struct Session {
    /// The traces. Call [`invalidate`](Self::invalidate) after changing it.
    pub set: TraceSet,
    /// Most recently used last.
    tables: Vec<(TableKey, Arc<PathTable>)>,
    selected: Vec<(SelectedKey, Arc<SelectedRequests>)>,
    types: Vec<(TypesKey, Arc<RequestTypes>)>,
    /// How rows are named now, and how many traces are.
    named: Option<(Naming, usize)>,
    pub(crate) flows: FlowCache,
    cuts: Cuts,
}

impl Session {
    /// Returns a session without traces.
    pub fn new() -> Session {
        Session::default()
    }

    /// Returns a session over a set.
    pub fn of(set: TraceSet) -> Session {
        let cuts = Cuts::of_data(!set.summaries.is_empty());
        Session { set, cuts, ..Session::default() }
    }

    /// Forgets what was computed: the set has changed.
    pub fn invalidate(&mut self) {
        self.tables.clear();
        self.selected.clear();
        self.types.clear();
        self.flows.clear();
        self.named = None;
        self.cuts = Cuts::of_data(!self.set.summaries.is_empty());
    }

    /// Runs a query over these traces alone, in one go.
    ///
    /// # Errors
    /// [`EngineError`] if memory ends.
    pub fn run<Q: Query>(&mut self, query: Q) -> Result<Q::Report, EngineError> {
        Plan::new(query, &self.cuts.clone()).finish(|pass| Ok(vec![self.run_pass(pass)?]), &mut |_| {})
    }

    /// Runs a pass as [`Plan::next`] wrote it, in one go; the partial.
    ///
    /// # Errors
    /// [`EngineError`] if the bytes are not a pass, or the partial cannot be written.
    pub fn run_pass(&mut self, pass: &[u8]) -> Result<Vec<u8>, EngineError> {
        let mut task = self.start(pass)?;
        loop {
            if let Some(partial) = task.step(self, &mut || false)? {
                return Ok(partial);
            }
        }
    }

    /// Starts a pass as [`Plan::next`] wrote it.
    ///
    /// # Errors
    /// [`EngineError::Message`] if the bytes are not a pass.
    pub fn start(&mut self, pass: &[u8]) -> Result<Task, EngineError> {
        let bytes = opened(pass)?;
        let NamedPass { names, types, incomplete, pass } = encoding::read(bytes)?;
        let flow = FlowTask::new(&pass, bytes);
        let names_hash = names.as_ref().map_or(0, |names| hash_bytes(&encoding::write(names)));
        let naming = (names_hash, pass.settings().is_some_and(|settings| settings.by_service));
        Ok(Task {
            names,
            types,
            naming,
            incomplete,
            pass,
            builder: None,
            overview: None,
            running: None,
            flow,
            join: None,
            progress: (0, 0),
        })
    }

    /// Names all rows, if they are named otherwise.
    fn name_places(&mut self, names: Option<&PlaceNames>, naming: Naming) {
        let wanted = (naming, self.set.traces().len());
        if self.named != Some(wanted) {
            self.set.name_places(names, naming.1);
            self.named = Some(wanted);
        }
    }

    fn table(&mut self, key: &TableKey) -> Option<Arc<PathTable>> {
        let place = self.tables.iter().position(|(known, _)| known == key)?;
        let entry = self.tables.remove(place);
        let table = Arc::clone(&entry.1);
        self.tables.push(entry);
        Some(table)
    }

    fn selected(
        &mut self,
        naming: Naming,
        names: Option<&TypeNames>,
        selection: &Selection,
        (table, whose): (&PathTable, &Whose),
    ) -> Arc<SelectedRequests> {
        // A pass to which types do not matter takes those that were chosen for one to which they do.
        let is_it = |(of, types, key): &SelectedKey| {
            *of == naming && (names.is_none() || types.as_ref() == names) && key == selection
        };
        let found = self.selected.iter().position(|(key, _)| is_it(key));
        let entry = match found {
            Some(place) => self.selected.remove(place),
            None => {
                let types = names.map(|names| self.types_of(naming, names, selection, (table, whose)));
                let selected = SelectedRequests::new(&self.set, table, selection, types);
                ((naming, names.cloned(), selection.clone()), Arc::new(selected))
            }
        };
        keep(&mut self.selected, SELECTED_KEPT, entry)
    }

    /// Returns the types of all requests of a table.
    fn types_of(
        &mut self,
        naming: Naming,
        names: &TypeNames,
        selection: &Selection,
        (table, whose): (&PathTable, &Whose),
    ) -> Arc<RequestTypes> {
        let key = (naming, names.clone(), whose.clone(), selection.settings());
        let entry = match self.types.iter().position(|(known, _)| *known == key) {
            Some(place) => self.types.remove(place),
            None => {
                let rows = table.requests.iter().map(|request| request.row);
                let of = (table.roots, selection.reading);
                (key, Arc::new(RequestTypes::new(&self.set, rows, names, of)))
            }
        };
        keep(&mut self.types, TABLES_KEPT, entry)
    }
}

/// A pass being run over one session, in steps.
pub struct Task {
    names: Option<PlaceNames>,
    types: Option<TypeNames>,
    naming: Naming,
    /// Whether requests whose caller is not recorded count among those of all traces.
    incomplete: bool,
    pass: Pass,
    builder: Option<TableBuilder>,
    overview: Option<OverviewPass>,
    running: Option<RunningPass>,
    flow: Option<FlowTask>,
    join: Option<JoinTask>,
    progress: (u64, u64),
}

impl Task {
    /// Works until done, then returns the partial; or until `time_is_up` returns true.
    ///
    /// # Errors
    /// [`EngineError`] if the partial cannot be written.
    pub fn step(
        &mut self,
        session: &mut Session,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(self.work(session, time_is_up)?.map(sealed))
    }

    fn work(
        &mut self,
        session: &mut Session,
        time_is_up: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        // What shows spans as they were recorded leaves the names for the pass that comes next.
        if self.pass.settings().is_some() {
            session.name_places(self.names.as_ref(), self.naming);
        }
        match &self.pass {
            Pass::Summaries => {
                let join = self.join.get_or_insert_default();
                Ok(join.step(session, time_is_up).map(|joined| encoding::write(&joined)))
            }
            Pass::NamedSummaries { group } => Ok(Some(encoding::write(&session.named_summaries(*group)))),
            Pass::Places => Ok(Some(encoding::write(&PlaceFacts::of(&session.set)))),
            Pass::Names => Ok(Some(encoding::write(&Names::of(&session.set)))),
            Pass::Types { settings } => {
                Ok(Some(encoding::write(&TypeFacts::of(&session.set, settings.reading))))
            }
            Pass::Overview { settings, .. } => {
                let types = || self.types.clone().unwrap_or_default();
                let part = self
                    .overview
                    .get_or_insert_with(|| OverviewPass::new(*settings, types(), self.incomplete));
                let done = part.step(&session.set, time_is_up);
                self.progress = part.progress(&session.set);
                if done { Ok(Some(encoding::write(part.partial()))) } else { Ok(None) }
            }
            Pass::Trace(of) => {
                let report = queries::trace(&session.set, of);
                let room = report.as_ref().map_or(0, TraceReport::room);
                Ok(Some(encoding::write_after(Vec::with_capacity(room), &report)))
            }
            Pass::Pressures(of) => Ok(Some(encoding::write(&queries::pressures(&session.set, of)))),
            Pass::Span { trace_id, span, group } => {
                let report = queries::span(&session.set, trace_id, span, *group);
                Ok(Some(encoding::write(&report)))
            }
            Pass::FindSpans { trace_id, group, search, .. } => {
                let spans = queries::find_spans(&session.set, trace_id, *group, search);
                Ok(Some(encoding::write(&spans)))
            }
            // Of all requests there is no need for the table of paths.
            Pass::Flow { selection, cut: None, pass } if pass.is_of_all(selection) => {
                let Some(task) = &mut self.flow else { return Err(EngineError::Ended) };
                let roots = selection.root.of(&session.set, self.incomplete);
                let partial = task.step(session, (selection, roots), pass, None, time_is_up)?;
                self.progress = task.progress();
                Ok(partial)
            }
            Pass::Latencies { selection, .. }
            | Pass::Ties { selection, .. }
            | Pass::Requests { selection, .. }
            | Pass::Flow { selection, .. } => {
                let whose = (selection.root.clone(), self.incomplete);
                let key = (self.naming, whose.clone(), selection.settings());
                let table = match session.table(&key) {
                    Some(table) => table,
                    None => {
                        let builder = self.builder.get_or_insert_with(|| {
                            let roots = selection.root.of(&session.set, self.incomplete);
                            TableBuilder::new(roots, selection.settings())
                        });
                        let done = builder.step(&session.set, time_is_up);
                        self.progress = builder.progress(&session.set);
                        let Some(builder) = self.builder.take_if(|_| done) else { return Ok(None) };
                        keep(&mut session.tables, TABLES_KEPT, (key, Arc::new(builder.finish())))
                    }
                };
                let types = self.types.as_ref();
                let selected = session.selected(self.naming, types, selection, (&table, &whose));
                match (&self.pass, &mut self.flow) {
                    (Pass::Flow { selection, cut, pass }, Some(task)) => {
                        let cut = cut.clone().unwrap_or_default();
                        let inside = selected.inside(&session.set, &table.requests, &cut);
                        let rows = inside.map(|r| table.requests[r as usize].row).collect();
                        let of = (selection, Some(table.roots));
                        let partial = task.step(session, of, pass, Some(rows), time_is_up)?;
                        self.progress = task.progress();
                        Ok(partial)
                    }
                    (Pass::Requests { cut, pass, .. }, _) => {
                        let running = self.running.get_or_insert_with(|| {
                            let requests = selected.inside(&session.set, &table.requests, cut).collect();
                            let types = selected.types().cloned().unwrap_or_default();
                            RunningPass::new(&session.set, pass, selection.settings(), types, requests)
                        });
                        let partial = running.step(&session.set, &table, pass, time_is_up)?;
                        self.progress = running.progress();
                        Ok(partial)
                    }
                    (Pass::Ties { latencies_us, is_by_type, .. }, _) => {
                        // Requests of one type without a name where types do not matter.
                        let wanted =
                            selected.by_type(*is_by_type, |keys: &mut Vec<u32>, request| keys.push(request));
                        let none = Vec::new();
                        let ties = wanted.into_iter().map(|(name, requests)| {
                            let at = latencies_us.get(&name).unwrap_or(&none);
                            let keys = (requests.into_iter())
                                .map(|r| &table.requests[r as usize])
                                .filter(|r| at.contains(&r.latency_us))
                                .map(|r| RequestKey::of(&session.set, r));
                            (name, keys.collect::<Vec<_>>())
                        });
                        Ok(Some(encoding::write(&ties.collect::<BTreeMap<_, _>>())))
                    }
                    _ => {
                        let is_by_type = matches!(self.pass, Pass::Latencies { is_by_type: true, .. });
                        let latency = |r: u32| table.requests[r as usize].latency_us;
                        let types = selected
                            .by_type(is_by_type, |of: &mut Vec<u64>, request| of.push(latency(request)));
                        let packed = types.into_iter().map(|(name, of)| (name, pack_sorted(of)));
                        Ok(Some(encoding::write(&(packed.collect::<BTreeMap<_, _>>(), selected.coverage()))))
                    }
                }
            }
        }
    }

    /// Returns the traces done and traces in all; (0, 0) before the first step.
    pub fn progress(&self) -> (u64, u64) {
        self.progress
    }
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;

    #[test]
    fn requests_are_chosen_once_whether_their_types_matter_or_not() -> Result<(), EngineError> {
        let mut session = Session::new();
        // Latencies are asked for by type, the paths of all requests are not.
        session.run(queries::CriticalPath { selection: Selection::default() })?;
        assert_eq!((session.tables.len(), session.selected.len(), session.types.len()), (1, 1, 1));
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
        while let crate::run::Next::Pass(pass) = plan.next(partials)? {
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
