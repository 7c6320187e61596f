//! The pool of workers as a plain state machine: which worker holds what, what each is to do, and what happens when one
//! dies. It opens no file, knows no browser and reads no clock; the page ties it to real workers, tests to simulated ones.
//!
//! [`PoolState::handle`] takes an [`PoolInput`] and returns [`PoolCommand`]s. Events are what the user wants (load files, cancel,
//! clear), what workers tell, and that one was lost; commands start and stop workers, post messages to them, and tell the
//! page how it goes. The messages themselves are in [`messages`].
//!
//! - **Loading** (`loading.rs`). A load goes through phases: split large files, read (every free worker gets an in-flight
//!   batch and one ahead, so that its bytes are there when the first is complete), join what belongs to one trace. What
//!   to read next is the [planner's](crate::load) decision. While reading, the memory forecast tells early that a load will
//!   not fit; the load then waits for a word of the user.
//! - **Joining** (`joining.rs`). Traces that several workers have seen move to one owner; groups that are to go are taken
//!   away. Queries wait meanwhile.
//! - **Queries** (`queries.rs`). The worker in slot 0 runs the plan of a query; the pool carries passes from it to all
//!   workers and their partials back. A query is stale as soon as data changes.
//! - **Deaths** (`recovery.rs`). A worker that dies is replaced and its files are read again. A file that has cost two
//!   workers is left out. A query that a dead worker ran runs alone the next time, and one that has cost two is not tried
//!   again. Three failed starts in a row end the attempt.

mod events;
mod joining;
mod loading;
pub mod messages;
mod progress;
mod queries;
mod recovery;
mod saving;
mod serve;
#[cfg(test)]
mod tests;
mod workers;

pub use events::*;
pub use serve::{CallAnswer, Server};

use crate::load::{LoadPlanner, MemoryForecast};
use joining::Join;
use loading::Load;
use messages::ToWorker;
use pathlight_ingest::ReadRules;
use queries::Query;
use saving::Save;
use std::collections::BTreeMap;
use workers::{InFlightCall, WorkerSlot};

/// Workers at most that are there before the first file is: one takes some tens of milliseconds to start, and a few
/// megabytes.
const MOST_AHEAD: usize = 4;

/// The slot of the worker that runs the plans of queries, looks for split points and plans moves.
const COORDINATOR: usize = 0;

/// State of a pool; see the [module](self). `P` is a buffer of bytes as the page has it.
#[derive(Debug)]
pub struct PoolState<P> {
    /// Workers at most, whatever the limits say.
    most_workers: usize,
    limits: Limits,
    /// By slot; a slot is empty while nobody needs it.
    workers: Vec<Option<WorkerSlot>>,
    /// Calls whose answers are awaited, by number.
    calls: BTreeMap<u64, InFlightCall>,
    /// Numbers for calls and workers.
    last_number: u64,
    /// Moves on when row numbers or the data itself change: copies of columns of an earlier one are void.
    generation: u64,
    planner: LoadPlanner,
    load: Option<Load>,
    /// The end of a load, while queries wait.
    join: Option<Join<P>>,
    /// Traces went from one worker to another, so that a worker holds more than its own files.
    has_moved_traces: bool,
    /// Workers that died before they said a word, in a row.
    failed_starts: u32,
    /// The other workers are to be started as soon as the first is up, before there is anything to do.
    is_ahead: bool,
    queries: BTreeMap<u64, Query<P>>,
    /// Number of times a worker died over a query, by its message: 1 as well for those that were under way beside
    /// others.
    deaths_by_query: BTreeMap<Vec<u8>, u32>,
    saves: BTreeMap<u64, Save<P>>,
    /// By which all files are read.
    rules: ReadRules,
    /// The time of the event that is handled, in microseconds of a clock that never goes back.
    now_us: u64,
    commands: Vec<PoolCommand<P>>,
}

impl<P: Clone> PoolState<P> {
    /// Returns a pool of at most so many workers, at least 1 and at most [`MOST_WORKERS`], with commands that start the
    /// first.
    pub fn new(most_workers: usize) -> (PoolState<P>, Vec<PoolCommand<P>>) {
        let most_workers = most_workers.clamp(1, MOST_WORKERS);
        let mut pool = PoolState {
            most_workers,
            limits: Limits::default(),
            rules: ReadRules::default(),
            workers: Vec::new(),
            calls: BTreeMap::new(),
            last_number: 0,
            generation: 0,
            planner: LoadPlanner::new(most_workers),
            load: None,
            join: None,
            has_moved_traces: false,
            failed_starts: 0,
            is_ahead: false,
            queries: BTreeMap::new(),
            deaths_by_query: BTreeMap::new(),
            saves: BTreeMap::new(),
            now_us: 0,
            commands: Vec::new(),
        };
        pool.set_limits(Limits::default());
        pool.start(COORDINATOR);
        let commands = std::mem::take(&mut pool.commands);
        (pool, commands)
    }

    /// Sets what later loads keep to.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
        self.planner.readers = self.workers();
        self.planner.large_file = limits.large_file;
    }

    /// Sets what files are read by from now on.
    pub fn set_rules(&mut self, rules: ReadRules) {
        self.rules = rules;
    }

    /// Returns how many workers there are, started or not.
    pub fn workers(&self) -> usize {
        self.most_workers.min(self.limits.workers).max(1)
    }

    /// Returns the bytes of wasm memory of all workers, as last heard.
    pub fn memory_bytes(&self) -> u64 {
        self.workers.iter().flatten().map(|worker| worker.progress.memory).sum()
    }

    /// Returns whether a load is under way.
    pub fn is_loading(&self) -> bool {
        self.load.is_some()
    }

    /// Handles an event at a time, in microseconds of a clock that never goes back; returns what is to be done.
    pub fn handle(&mut self, now_us: u64, event: PoolInput<P>) -> Vec<PoolCommand<P>> {
        self.now_us = now_us;
        match event {
            PoolInput::Load { files, group } => {
                self.begin_load();
                for (name, bytes) in files {
                    self.planner.add(name, bytes, group);
                }
            }
            PoolInput::Unload { group } => self.unload(group),
            PoolInput::CancelLoad { keep } => self.cancel_load(keep),
            PoolInput::Resume(keep) => self.resume(&keep),
            PoolInput::Clear => self.clear(),
            PoolInput::WarmUp => {
                self.post(COORDINATOR, ToWorker::WarmUp, Vec::new());
                self.is_ahead = true;
                self.start_ahead();
            }
            PoolInput::Tick => self.look_after_workers(),
            PoolInput::Wake => self.wake(),
            PoolInput::Query { query, message } => self.add_query(query, message),
            PoolInput::Save { save, redaction } => self.begin_save(save, redaction),
            PoolInput::WriteDemo { save } => self.begin_demo(save),
            PoolInput::Cancel(number) => self.cancel(number),
            PoolInput::Message { slot, serial, message, attachments } => {
                self.on_message(slot, serial, message, attachments);
            }
            PoolInput::WorkerLost { slot, serial, reason } => self.on_worker_lost(slot, serial, &reason),
            PoolInput::StartRefused { slot, serial, reason } => self.on_start_refused(slot, serial, &reason),
        }
        self.advance();
        self.begin_waiting_queries();
        std::mem::take(&mut self.commands)
    }

    /// Forgets everything. wasm memory never shrinks, so the workers end and a new one starts. Queries under way are
    /// stale; a load ends without a word.
    fn clear(&mut self) {
        self.planner.clear();
        self.load = None;
        self.deaths_by_query.clear();
        self.end_workers();
        self.start(COORDINATOR);
    }

    fn tell(&mut self, event: PoolEvent) {
        self.commands.push(PoolCommand::Tell(event));
    }

    fn number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}
