//! A pool with simulated workers: real readers and sessions, but messages that arrive one at a time, in an order that a seed
//! decides.

use crate::load::{Chunk, ReadResult, SplitSearch};
use crate::pool::messages::{Call, CallDone, FromWorker, Piece, WorkerProgress};
use crate::pool::*;
use crate::requests::{PercentileRange, Selection};
use crate::run::Session;
use crate::run::query::Query as _;
use crate::{EngineError, queries};
use pathlight_ingest::{ErrorKind, ReadOptions};
use pathlight_trace::PathSettings;
use std::collections::{BTreeMap, VecDeque};

/// A worker: a session of traces and the messages that have not arrived yet.
pub struct SimWorker {
    pub serial: u64,
    pub session: Session,
    pub server: Server,
    pub inbox: VecDeque<(ToWorker, Vec<Vec<u8>>)>,
}

impl SimWorker {
    fn progress(&self, bytes: u64) -> WorkerProgress {
        let set = &self.session.set;
        WorkerProgress {
            bytes,
            pieces: 0,
            traces: set.traces().len() as u64,
            spans: (set.spans() + set.staged_spans()) as u64,
            heap: set.heap_bytes() as u64,
            memory: 1,
        }
    }

    fn read(&mut self, piece: &Piece, bytes: &[u8]) -> ReadResult {
        let set = &mut self.session.set;
        set.loading_group = piece.group;
        let options = ReadOptions { keep: piece.keep.clone(), ..ReadOptions::default() };
        let mut reader = Chunk::reader(piece.chunk.as_ref(), &piece.name, options);
        let (mut read, mut result) = (0, Ok(()));
        for part in bytes.chunks(500) {
            result = reader.feed(part, set);
            if result.is_err() || reader.is_over() {
                break;
            }
            read += part.len() as u64;
        }
        let is_cut = piece.is_cut && result.is_ok();
        let report = if is_cut { reader.stop(set) } else { reader.finish(set) };
        match result {
            Err(error) if error.kind == ErrorKind::Memory => ReadResult::Full { report, bytes: read },
            _ => ReadResult::Read { report, bytes: bytes.len() as u64 },
        }
    }

    /// Does what a message asks; returns what it posts to the page.
    fn do_next(&mut self) -> Vec<(FromWorker, Vec<Vec<u8>>)> {
        let (number, call, attachments) = match self.inbox.pop_front() {
            Some((ToWorker::Call(number, call), attachments)) => (number, call, attachments),
            Some((ToWorker::EndPlan(plan), _)) => return posted(self.server.end_plan(plan)),
            Some((ToWorker::Ping, _)) => return vec![(FromWorker::Pong, vec![])],
            _ => return vec![],
        };
        let (done, buffers) = match &call {
            Call::Read { pieces, heap_limit } => {
                self.session.set.set_limit(*heap_limit as usize);
                let mut results = Vec::new();
                for (piece, bytes) in pieces.iter().zip(&attachments) {
                    let is_full = matches!(results.last(), Some(ReadResult::Full { .. }));
                    results.push(if is_full { ReadResult::Untouched } else { self.read(piece, bytes) });
                }
                self.session.invalidate();
                (CallDone::Read(results, self.progress(0)), vec![])
            }
            Call::FindSplitPoints { places, packed } => {
                let (mut search, text) = (SplitSearch::new(places.clone(), *packed), &attachments[0]);
                while let Some(wanted) = search.wanted() {
                    let end = text.len().min(wanted.end as usize);
                    search.show(&text[(wanted.start as usize).min(end)..end]);
                }
                (CallDone::SplitPoints(search.finish()), vec![])
            }
            Call::Seal => {
                self.session.set.seal().unwrap();
                self.session.invalidate();
                let progress = FromWorker::Progress(number, self.progress(0));
                return vec![(progress, vec![]), (FromWorker::Done(number, CallDone::Nothing), vec![])];
            }
            Call::Pass { .. } => (CallDone::Nothing, vec![self.session.run_pass(&attachments[0]).unwrap()]),
            Call::WriteDemo => (CallDone::Nothing, vec![b"demo".to_vec()]),
            Call::CopyColumns { from, .. } => {
                let next = (*from < 2).then_some(from + 1);
                (CallDone::Columns(next), vec![vec![*from as u8]])
            }
            call => {
                return posted(self.server.serve(&mut self.session, number, call, attachments, &mut || true));
            }
        };
        vec![(FromWorker::Done(number, done), buffers)]
    }
}

fn posted(answers: Vec<(u64, CallAnswer)>) -> Vec<(FromWorker, Vec<Vec<u8>>)> {
    let message = |(number, answer)| match answer {
        Ok((done, buffers)) => (FromWorker::Done(number, done), buffers),
        Err(EngineError::Ended) => panic!("a call about a plan that has ended"),
        Err(error) => (FromWorker::Failed(number, error.to_string()), vec![]),
    };
    answers.into_iter().map(message).collect()
}

/// A pool, its workers and the events it has reported.
pub struct Sim {
    pub pool: PoolState<Vec<u8>>,
    pub files: Vec<Vec<u8>>,
    pub workers: BTreeMap<usize, SimWorker>,
    /// Events that are on their way.
    pub events: VecDeque<PoolInput<Vec<u8>>>,
    pub reported: Vec<PoolEvent>,
    pub answers: BTreeMap<u64, Result<Vec<u8>, QueryError>>,
    pub saved: Vec<Result<Vec<Vec<Vec<u8>>>, String>>,
    pub starts: u32,
    pub steps: u32,
    /// Messages between page and workers.
    pub messages: u64,
    pub random: u64,
    /// No worker can be started.
    pub refuses: bool,
}

impl Sim {
    pub fn new(workers: usize, seed: u64) -> Sim {
        let (mut pool, commands) = PoolState::new(workers);
        pool.set_limits(Limits { large_file: 1 << 30, ..Limits::default() });
        let mut sim = Sim {
            pool,
            files: vec![],
            workers: BTreeMap::new(),
            events: VecDeque::new(),
            reported: vec![],
            answers: BTreeMap::new(),
            saved: vec![],
            starts: 0,
            steps: 0,
            messages: 0,
            random: seed.wrapping_mul(2).wrapping_add(1),
            refuses: false,
        };
        sim.execute(commands);
        sim
    }

    pub fn handle(&mut self, event: PoolInput<Vec<u8>>) {
        let commands = self.pool.handle(u64::from(self.steps) * 10_000, event);
        self.execute(commands);
    }

    fn execute(&mut self, commands: Vec<PoolCommand<Vec<u8>>>) {
        for command in commands {
            match command {
                PoolCommand::Start { slot, serial } if self.refuses => {
                    let reason = "not here".to_owned();
                    self.events.push_back(PoolInput::StartRefused { slot, serial, reason });
                }
                PoolCommand::Start { slot, serial } => {
                    self.starts += 1;
                    let (session, server) = (Session::new(), Server::default());
                    let worker = SimWorker { serial, session, server, inbox: VecDeque::new() };
                    assert!(self.workers.insert(slot, worker).is_none(), "slot {slot} was taken");
                    let message = FromWorker::Hello;
                    self.events.push_back(PoolInput::Message { slot, serial, message, attachments: vec![] });
                }
                PoolCommand::Stop { slot } => {
                    self.workers.remove(&slot);
                }
                PoolCommand::Post { slot, message, attachments } => {
                    let attachments = attachments.into_iter().map(|attachment| match attachment {
                        Attachment::Move(bytes) | Attachment::Copy(bytes) | Attachment::Bytes(bytes) => bytes,
                        Attachment::File { source, range } => {
                            self.files[source][range.start as usize..range.end as usize].to_vec()
                        }
                    });
                    let attachments = attachments.collect();
                    self.messages += 1;
                    if let Some(worker) = self.workers.get_mut(&slot) {
                        worker.inbox.push_back((message, attachments));
                    }
                }
                PoolCommand::Tell(event) => self.reported.push(event),
                PoolCommand::Wake => self.events.push_back(PoolInput::Wake),
                PoolCommand::Working { .. } => {}
                PoolCommand::Answer { query, result } => {
                    assert!(self.answers.insert(query, result).is_none(), "query {query} is answered twice");
                }
                PoolCommand::Saved { result, .. } => self.saved.push(result),
            }
        }
    }

    /// Lets one event or one message arrive; returns false when nothing is on its way.
    pub fn step(&mut self) -> bool {
        self.steps += 1;
        assert!(self.steps < 200_000, "it never ends");
        if let Some(event) = self.events.pop_front() {
            self.handle(event);
            return true;
        }
        let busy: Vec<usize> = self
            .workers
            .iter()
            .filter(|(_, worker)| !worker.inbox.is_empty())
            .map(|(&slot, _)| slot)
            .collect();
        if busy.is_empty() {
            return false;
        }
        self.random =
            self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let slot = busy[(self.random >> 33) as usize % busy.len()];
        let worker = self.workers.get_mut(&slot).unwrap();
        let serial = worker.serial;
        for (message, attachments) in worker.do_next() {
            self.messages += 1;
            self.events.push_back(PoolInput::Message { slot, serial, message, attachments });
        }
        true
    }

    pub fn run_until_idle(&mut self) {
        while self.step() {}
        assert!(self.pool.calls.is_empty(), "calls are left over: {:?}", self.pool.calls);
    }

    pub fn add(&mut self, texts: &[String], group: u8) {
        let first = self.files.len();
        self.files.extend(texts.iter().map(|text| text.clone().into_bytes()));
        let files = texts.iter().zip(first..).map(|(text, at)| (format!("file {at}"), text.len() as u64));
        let files = files.collect();
        self.handle(PoolInput::Load { files, group });
    }

    pub fn load(&mut self, texts: &[String]) -> LoadOutcome {
        self.add(texts, 0);
        self.run_until_idle();
        self.outcome()
    }

    /// Returns the outcome of the last load; forgets other events.
    pub fn outcome(&mut self) -> LoadOutcome {
        let reported = std::mem::take(&mut self.reported);
        let outcome = reported.iter().rev().find_map(|event| match event {
            PoolEvent::Loaded(outcome) => Some(outcome.clone()),
            _ => None,
        });
        outcome.unwrap_or_else(|| panic!("no load has ended: {reported:?}"))
    }

    pub fn query(&mut self, number: u64, message: &[u8]) {
        self.handle(PoolInput::Query { query: number, message: message.to_vec() });
    }

    /// Returns packed reports about all that is loaded.
    pub fn reports(&mut self) -> Vec<Vec<u8>> {
        self.answers_to(&messages())
    }

    pub fn answers_to(&mut self, messages: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let first = 1000 * u64::from(self.steps) + 1;
        for (message, number) in messages.iter().zip(first..) {
            self.query(number, message);
        }
        self.run_until_idle();
        (first..).take(messages.len()).map(|number| self.answers.remove(&number).unwrap().unwrap()).collect()
    }

    pub fn traces(&self, group: u8) -> usize {
        let sets = self.workers.values().map(|worker| &worker.session.set);
        sets.map(|set| set.traces().iter().filter(|trace| trace.id.group == group).count()).sum()
    }

    /// Returns the number of spans held, in traces or not.
    pub fn spans(&self) -> u64 {
        let sets = self.workers.values().map(|worker| &worker.session.set);
        sets.map(|set| (set.spans() + set.staged_spans()) as u64).sum()
    }

    pub fn kill(&mut self, slot: usize) {
        let Some(worker) = self.workers.remove(&slot) else { return };
        self.events.retain(|event| !matches!(event, PoolInput::Message { slot: of, .. } if *of == slot));
        self.handle(PoolInput::WorkerLost { slot, serial: worker.serial, reason: "killed".to_owned() });
    }

    pub fn limit(&mut self, large_file: u64, memory: u64) {
        self.pool.set_limits(Limits { large_file, memory, ..Limits::default() });
    }
}

/// Returns messages of queries.
pub fn messages() -> Vec<Vec<u8>> {
    let range = PercentileRange::open(50_000, 99_000);
    let selection = Selection::default().with_range(range);
    // One worker has the first of these traces, none the second.
    let [there, missing] = [3, 0xdead].map(|id| queries::Trace {
        trace_id: format!("{id:032x}"),
        root_span_id: None,
        settings: PathSettings::default(),
        group: 0,
        has_pressures: true,
    });
    vec![
        queries::CriticalPath { selection: selection.clone() }.to_message(),
        queries::Requests { selection, limit: 50 }.to_message(),
        there.to_message(),
        queries::Pressures { of: there }.to_message(),
        missing.to_message(),
    ]
}
