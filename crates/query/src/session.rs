//! One worker's data and the passes over it.

use super::chain::Pass;
use super::flow::{self, FlowCache, FlowTask};
use super::overview::OverviewPart;
use super::study::Part;
use super::{Chain, EngineError, Report, Request, detail};
use pathlight_analysis::critical_path::{
    Aggregate, ExemplarCandidates, Overlap, PathTable, RequestKey, Scope, Selection, Subject, TableBuilder,
    pack_sorted,
};
use pathlight_model::trace::TraceSet;
use std::sync::Arc;

/// How many subjects keep their tables.
const TABLES_KEPT: usize = 3;
/// How many scopes keep their requests: both sides of a comparison and one more.
const SELECTIONS_KEPT: usize = 3;

/// A worker's traces with what was computed from them before.
#[derive(Default)]
pub struct Session {
    /// The traces. Call [`invalidate`](Self::invalidate) after changing it.
    pub set: TraceSet,
    /// Most recently used last.
    tables: Vec<((Subject, Overlap), Arc<PathTable>)>,
    selections: Vec<(Scope, Arc<Selection>)>,
    pub(super) flows: FlowCache,
}

impl Session {
    /// A session without traces.
    pub fn new() -> Session {
        Session::default()
    }

    /// A session over a set.
    pub fn of(set: TraceSet) -> Session {
        Session { set, ..Session::default() }
    }

    /// Forgets what was computed: the set has changed.
    pub fn invalidate(&mut self) {
        self.tables.clear();
        self.selections.clear();
        self.flows.clear();
    }

    /// Answers a request from these traces alone, in one go.
    ///
    /// # Errors
    /// [`EngineError`] if memory ends.
    pub fn ask(&mut self, request: Request) -> Result<Report, EngineError> {
        Chain::new(request).answer(|pass| Ok(vec![self.run(pass)?]), &mut |_| {})
    }

    /// Runs a pass as [`Chain::next`] wrote it, in one go; the partial.
    ///
    /// # Errors
    /// [`EngineError`] if the bytes are not a pass, or the partial cannot be written.
    pub fn run(&mut self, pass: &[u8]) -> Result<Vec<u8>, EngineError> {
        let mut task = self.start(pass)?;
        loop {
            if let Some(partial) = task.step(self, &mut || false)? {
                return Ok(partial);
            }
        }
    }

    /// Starts a pass as [`Chain::next`] wrote it.
    ///
    /// # Errors
    /// [`EngineError::Message`] if the bytes are not a pass.
    pub fn start(&mut self, pass: &[u8]) -> Result<Task, EngineError> {
        let bytes = pass;
        let pass: Pass = postcard::from_bytes(bytes)?;
        let flow = FlowTask::new(&pass, bytes);
        Ok(Task { pass, builder: None, overview: None, part: None, flow, progress: (0, 0) })
    }

    fn table(&mut self, scope: &Scope) -> Option<Arc<PathTable>> {
        let place =
            self.tables.iter().position(|(key, _)| key.0 == scope.subject && key.1 == scope.overlap)?;
        let entry = self.tables.remove(place);
        let table = Arc::clone(&entry.1);
        self.tables.push(entry);
        Some(table)
    }

    fn selection(&mut self, scope: &Scope, table: &PathTable) -> Arc<Selection> {
        let found = self.selections.iter().position(|(key, _)| key == scope);
        let entry = match found {
            Some(place) => self.selections.remove(place),
            None => (scope.clone(), Arc::new(Selection::new(&self.set, table, scope))),
        };
        if self.selections.len() == SELECTIONS_KEPT {
            self.selections.remove(0);
        }
        let selection = Arc::clone(&entry.1);
        self.selections.push(entry);
        selection
    }
}

/// A pass being run over one session, in steps.
pub struct Task {
    pass: Pass,
    builder: Option<TableBuilder>,
    overview: Option<OverviewPart>,
    part: Option<Part>,
    flow: Option<FlowTask>,
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
        match &self.pass {
            Pass::Overview => {
                let part = self.overview.get_or_insert_with(|| OverviewPart::new(&session.set));
                let done = part.step(&session.set, time_is_up);
                self.progress = part.progress(&session.set);
                if done { Ok(Some(postcard::to_allocvec(part.partial())?)) } else { Ok(None) }
            }
            Pass::Trace { trace_id, root_span_id, overlap, group } => {
                let number = detail::find_trace(&session.set, trace_id, *group);
                let report =
                    number.map(|n| detail::trace(&session.set, n, root_span_id.as_deref(), *overlap));
                Ok(Some(postcard::to_allocvec(&report)?))
            }
            Pass::Span { trace_id, span, group } => {
                let number = detail::find_trace(&session.set, trace_id, *group);
                let report = number.and_then(|n| detail::span(&session.set, n, span));
                Ok(Some(postcard::to_allocvec(&report)?))
            }
            // Without filters there is no need for the table of paths.
            Pass::Flow { scope, pass } if scope.filters.is_empty() => {
                let Some(task) = &mut self.flow else { return Err(EngineError::Ended) };
                let partial = task.step(session, scope, pass, None, time_is_up)?;
                self.progress = task.progress();
                Ok(partial)
            }
            Pass::Latencies { scope }
            | Pass::Ties { scope, .. }
            | Pass::Aggregate { scope, .. }
            | Pass::Exemplars { scope, .. }
            | Pass::Slowest { scope, .. }
            | Pass::PerRequest { scope, .. }
            | Pass::Study { scope, .. }
            | Pass::Flow { scope, .. } => {
                let table = match session.table(scope) {
                    Some(table) => table,
                    None => {
                        let builder = self.builder.get_or_insert_with(|| {
                            TableBuilder::new(&session.set, &scope.subject, scope.overlap)
                        });
                        let done = builder.step(&session.set, time_is_up);
                        self.progress = builder.progress(&session.set);
                        let Some(builder) = self.builder.take_if(|_| done) else { return Ok(None) };
                        let table = Arc::new(builder.finish());
                        if session.tables.len() == TABLES_KEPT {
                            session.tables.remove(0);
                        }
                        session.tables.push(((scope.subject.clone(), scope.overlap), Arc::clone(&table)));
                        table
                    }
                };
                let selection = session.selection(scope, &table);
                if let (Pass::Flow { scope, pass }, Some(task)) = (&self.pass, &mut self.flow) {
                    let rows = flow::rows_of(&table, &selection);
                    let partial = task.step(session, scope, pass, Some(rows), time_is_up)?;
                    self.progress = task.progress();
                    return Ok(partial);
                }
                if let Pass::Study { cut, study, .. } = &self.pass {
                    let part = self.part.get_or_insert_with(|| {
                        let requests = selection.inside(&session.set, &table, cut).collect();
                        Part::new(&session.set, study, scope.overlap, requests)
                    });
                    let partial = part.step(&session.set, &table, study, time_is_up)?;
                    self.progress = part.progress();
                    return Ok(partial);
                }
                self.run(&session.set, &table, &selection).map(Some)
            }
        }
    }

    /// Traces done and traces in all; (0, 0) before the first step.
    pub fn progress(&self) -> (u64, u64) {
        self.progress
    }

    /// The passes over a finished table.
    fn run(&self, set: &TraceSet, table: &PathTable, selection: &Selection) -> Result<Vec<u8>, EngineError> {
        let requests = |cut| selection.inside(set, table, cut);
        Ok(match &self.pass {
            Pass::Ties { latencies_us, .. } => {
                let ties: Vec<RequestKey> = selection
                    .requests
                    .iter()
                    .map(|&r| &table.requests[r as usize])
                    .filter(|r| latencies_us.contains(&r.latency_us))
                    .map(|r| RequestKey::of(set, r))
                    .collect();
                postcard::to_allocvec(&ties)?
            }
            Pass::Aggregate { cut, .. } => {
                postcard::to_allocvec(&Aggregate::observe(set, table, requests(cut)))?
            }
            Pass::Exemplars { cut, targets, .. } => {
                let found = ExemplarCandidates::observe(set, table, requests(cut), targets);
                postcard::to_allocvec(&found)?
            }
            Pass::Slowest { cut, limit, .. } => {
                let chosen: Vec<u32> = requests(cut).collect();
                let limit = *limit as usize;
                // Ties at the end of the list are decided by id when the parts are merged: keep all of them.
                let from = chosen.len().saturating_sub(limit);
                let last = chosen.get(from).map(|&r| table.requests[r as usize].latency_us);
                let tied = chosen[..from]
                    .iter()
                    .rev()
                    .take_while(|&&r| Some(table.requests[r as usize].latency_us) == last)
                    .count();
                let rows: Vec<_> =
                    chosen[from - tied..].iter().map(|&r| detail::request_row(set, table, r)).collect();
                postcard::to_allocvec(&rows)?
            }
            Pass::PerRequest { cut, scope } => {
                let rows: Vec<_> =
                    requests(cut).map(|r| detail::per_request(set, table, r, scope.overlap)).collect();
                postcard::to_allocvec(&rows)?
            }
            _ => {
                let latencies =
                    selection.requests.iter().map(|&r| table.requests[r as usize].latency_us).collect();
                postcard::to_allocvec(&pack_sorted(latencies))?
            }
        })
    }
}
