//! Stands in for the engine and ingest until they land.
#![allow(missing_docs)]
use crate::engine::{OverviewReport, Report, Request};
use crate::trace::TraceSet;
use serde::{Deserialize, Serialize};

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct EngineError(pub String);
pub struct Session {
    pub set: TraceSet,
}
pub struct Task;
pub struct Chain(Request);
pub enum Next {
    Ask(Vec<u8>),
    Done(Box<Report>),
}
impl Session {
    pub fn new() -> Session {
        Session { set: TraceSet::new() }
    }
    pub fn invalidate(&mut self) {}
    pub fn start(&mut self, _pass: &[u8]) -> Result<Task, EngineError> {
        Ok(Task)
    }
    pub fn trace_keys(&self) -> Vec<u8> {
        Vec::new()
    }
    pub fn take_traces(&mut self, _keys: &[u8]) -> Vec<u8> {
        Vec::new()
    }
    pub fn put_traces(&mut self, _bytes: &[u8]) -> Result<(), EngineError> {
        Ok(())
    }
}
impl Task {
    pub fn step(
        &mut self,
        session: &mut Session,
        _time_is_up: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(Some(postcard::to_allocvec(&(session.set.logs, session.set.spans() as u64)).unwrap_or_default()))
    }
}
impl Chain {
    pub fn new(request: Request) -> Chain {
        Chain(request)
    }
    pub fn next(&mut self, partials: Vec<Vec<u8>>) -> Result<Next, EngineError> {
        if partials.is_empty() {
            return Ok(Next::Ask(Vec::new()));
        }
        let mut report = OverviewReport::default();
        for partial in partials {
            let (logs, spans): (u64, u64) =
                postcard::from_bytes(&partial).map_err(|e| EngineError(e.to_string()))?;
            report.logs += logs;
            report.spans += spans;
        }
        let _ = &self.0;
        Ok(Next::Done(Box::new(Report::Overview(report))))
    }
}
pub fn plan_moves(keys: &[Vec<u8>]) -> Vec<Vec<(usize, Vec<u8>)>> {
    keys.iter().map(|_| Vec::new()).collect()
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FileReport {
    pub name: String,
    pub bytes: u64,
}
#[derive(Default)]
pub struct Options;
pub struct Reader(FileReport);
impl Reader {
    pub fn new(name: &str, _options: Options) -> Reader {
        Reader(FileReport { name: name.to_owned(), bytes: 0 })
    }
    pub fn feed(&mut self, bytes: &[u8], set: &mut TraceSet) -> Result<(), crate::trace::SetFull> {
        self.0.bytes += bytes.len() as u64;
        set.logs += bytes.iter().filter(|&&b| b == b'{').count() as u64;
        Ok(())
    }
    pub fn finish(self, _set: &mut TraceSet) -> FileReport {
        self.0
    }
}
