//! Loads: split large files, read in rounds, join; and what the user may want meanwhile.

use super::messages::{Call, CallDone, Piece, ToWorker};
use super::recovery::{MOST_FAILED_STARTS, no_worker};
use super::workers::{CallError, CallResult, Purpose};
use super::{
    Attachment, COORDINATOR, LoadOutcome, MemoryForecast, PoolCommand, PoolEvent, PoolState, UserError,
};
use crate::load::{FileState, LoadStep, Meter, ReadResult};
use pathlight_base::format;
use pathlight_base::sort::CompactSort as _;
use pathlight_ingest::KeptTraces;
use std::collections::{BTreeMap, BTreeSet};

/// Deaths while traces are joined before the pool gives up.
pub(super) const MOST_FAILED_JOINS: u32 = 3;

/// Batches that a worker has at a time: the second is there when the first is complete.
const BATCHES_AT_A_WORKER: usize = 2;

/// Phase of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It begins with `PoolInput::Wake`.
    Beginning,
    /// The planner is to be asked what comes next.
    Planning,
    /// The coordinator looks for split points.
    Splitting,
    /// Workers read.
    Reading,
    /// It will not fit, and waits for a word of the user.
    WaitingForUser,
    /// Workers join what belongs together.
    Joining,
}

/// A load under way.
#[derive(Debug)]
pub(super) struct Load {
    pub phase: Phase,
    /// Batches being read, by number of the call.
    pub batches: BTreeMap<u64, Batch>,
    /// Slots whose workers read in this round.
    slots: Vec<usize>,
    /// Slots whose memory ended.
    full: BTreeSet<usize>,
    /// The user ends it: nothing more is read.
    pub is_stopping: bool,
    was_cancelled: bool,
    /// It will not fit.
    pub forecast: Option<MemoryForecast>,
    /// The user knows that it may not fit.
    pub is_warned: bool,
    /// Bytes of heap of the workers when it began.
    pub heap_before: u64,
    /// Workers that read at a time, at most.
    pub readers: usize,
    /// Places where memory ended.
    ended_at: Vec<String>,
    /// Groups to be taken away when it ends.
    pub unload: BTreeSet<u8>,
    pub failed_joins: u32,
    pub errors: Vec<UserError>,
    pub meter: Meter,
    /// Time when progress was last looked at, and when it was last reported to the page.
    pub looked_us: Option<u64>,
    pub reported_us: Option<u64>,
    pub began_us: u64,
    /// Time after the start at which preliminary results are offered next.
    pub preliminary_us: u64,
}

/// An in-flight batch: files that a worker reads.
#[derive(Debug)]
pub(super) struct Batch {
    pub slot: usize,
    pub files: Vec<usize>,
    /// Bytes read of it.
    pub bytes: u64,
}

impl Load {
    /// Forgets what a lost worker had to do for it.
    pub fn forget_worker(&mut self, slot: usize) {
        self.batches.retain(|_, batch| batch.slot != slot);
        self.full.remove(&slot);
    }

    /// Forgets what workers that were ended had to do for it.
    pub fn forget_workers(&mut self) {
        self.batches.clear();
        self.full.clear();
    }

    /// Returns the batch that the worker in a slot reads, or is about to.
    pub fn first_batch(&self, slot: usize) -> Option<&Batch> {
        self.batches.values().find(|batch| batch.slot == slot)
    }
}

impl<P: Clone> PoolState<P> {
    /// Begins a load, if none is under way.
    pub(super) fn begin_load(&mut self) {
        if self.load.is_some() {
            return;
        }
        self.planner.begin_load();
        self.load = Some(Load {
            phase: Phase::Beginning,
            batches: BTreeMap::new(),
            slots: Vec::new(),
            full: BTreeSet::new(),
            is_stopping: false,
            was_cancelled: false,
            forecast: None,
            is_warned: false,
            heap_before: self.heap_bytes(),
            readers: 0,
            ended_at: Vec::new(),
            unload: BTreeSet::new(),
            failed_joins: 0,
            errors: Vec::new(),
            meter: Meter::default(),
            looked_us: None,
            reported_us: None,
            began_us: self.now_us,
            preliminary_us: super::progress::PRELIMINARY_US,
        });
        self.commands.push(PoolCommand::Wake);
    }

    pub(super) fn wake(&mut self) {
        if let Some(load) = self.load.as_mut().filter(|load| load.phase == Phase::Beginning) {
            load.phase = Phase::Planning;
        }
    }

    /// Takes a group away. Counts over all that was ever read (log records, repeated spans, tag values to choose from)
    /// stay until everything is cleared.
    pub(super) fn unload(&mut self, group: u8) {
        self.begin_load();
        self.planner.begin_unload(group);
        if let Some(load) = &mut self.load {
            load.unload.insert(group);
        }
    }

    /// Ends the load under way. What was there before it is read again if what it brought goes.
    pub(super) fn cancel_load(&mut self, keep: bool) {
        let Some(load) = &mut self.load else { return };
        load.was_cancelled = true;
        load.forecast = None;
        if !keep {
            load.ended_at.clear();
            load.phase = Phase::Planning;
            self.planner.drop_load();
            self.restart();
            return;
        }
        load.is_stopping = true;
        if matches!(load.phase, Phase::Beginning | Phase::Splitting | Phase::WaitingForUser) {
            load.phase = Phase::Planning;
        }
        self.stop_reading();
    }

    /// Goes on with a load that will not fit, keeping only these of its traces.
    pub(super) fn resume(&mut self, keep: &KeptTraces) {
        let Some(load) = self.load.as_mut().filter(|load| load.phase == Phase::WaitingForUser) else {
            return;
        };
        // The user is asked once: should it still not fit, reading goes on until memory ends.
        load.is_warned = true;
        load.forecast = None;
        (load.heap_before, load.readers) = (0, 0);
        load.ended_at.clear();
        load.phase = Phase::Planning;
        self.planner.keep_only(keep);
        self.restart();
    }

    /// Lets new workers read everything again.
    fn restart(&mut self) {
        self.end_workers();
        self.planner.restart();
        self.start(COORDINATOR);
    }

    /// Lets every worker end its reading and answer.
    pub(super) fn stop_reading(&mut self) {
        let Some(load) = &self.load else { return };
        let reading: Vec<(u64, usize)> =
            load.batches.iter().map(|(&call, batch)| (call, batch.slot)).collect();
        for (call, slot) in reading {
            self.post(slot, ToWorker::StopReading(call), Vec::new());
        }
    }

    /// Goes on with the load under way, as far as it can go without an event.
    pub(super) fn advance(&mut self) {
        while let Some(load) = &mut self.load {
            match load.phase {
                Phase::Planning => self.plan(),
                Phase::Reading => {
                    if self.planner.must_restart() {
                        load.phase = Phase::Planning;
                        continue;
                    }
                    self.dispatch();
                    if !self.end_round() {
                        return;
                    }
                }
                Phase::Joining => {
                    if !self.go_on_joining() {
                        return;
                    }
                }
                Phase::Beginning | Phase::Splitting | Phase::WaitingForUser => return,
            }
        }
    }

    /// Does what the planner wants next.
    fn plan(&mut self) {
        let Some(load) = &mut self.load else { return };
        // Split points of a file are not waited for any more.
        self.calls.retain(|_, call| !matches!(call.purpose, Purpose::Split { .. }));
        if std::mem::take(&mut load.is_stopping) {
            self.planner.drop_waiting();
        }
        if self.failed_starts >= MOST_FAILED_STARTS && self.planner.is_waiting() {
            self.tell(PoolEvent::Failed(no_worker("workers end before they begin")));
            self.planner.drop_waiting();
        }
        match self.planner.next_step() {
            LoadStep::Restart => self.restart(),
            LoadStep::Split { file, places, packed } => {
                let input = &self.planner.files()[file];
                let attached = Attachment::File { source: input.source, range: 0..input.bytes };
                let call = Call::FindSplitPoints { places, packed };
                self.call(COORDINATOR, Purpose::Split { file }, call, vec![attached]);
                self.set_phase(Phase::Splitting);
            }
            LoadStep::Read { batches } => {
                let slots = self.free_slots(batches);
                if slots.is_empty() {
                    self.planner.drop_waiting();
                    return;
                }
                if let Some(load) = &mut self.load {
                    load.slots = slots;
                }
                self.set_phase(Phase::Reading);
                self.tell_progress();
            }
            LoadStep::Done => self.begin_joining(),
        }
    }

    pub(super) fn set_phase(&mut self, phase: Phase) {
        if let Some(load) = &mut self.load {
            load.phase = phase;
        }
    }

    pub(super) fn on_split_points(&mut self, file: usize, answer: CallResult<P>) {
        let points = match answer {
            Ok((CallDone::SplitPoints(points), _)) => points,
            _ => Vec::new(),
        };
        self.planner.split(file, points);
        self.set_phase(Phase::Planning);
    }

    /// Returns the slots for so many batches, those that hold least first.
    fn free_slots(&self, batches: usize) -> Vec<usize> {
        let spans = |slot: usize| {
            self.workers.get(slot).and_then(Option::as_ref).map_or(0, |worker| worker.progress.spans)
        };
        let full = self.load.as_ref().map(|load| &load.full);
        let is_free = |slot: &usize| !full.is_some_and(|full| full.contains(slot));
        let mut slots: Vec<usize> = (0..self.workers()).filter(is_free).collect();
        slots.compact_sort_by_key(|&slot| (spans(slot), slot));
        slots.truncate(batches);
        slots
    }

    /// Gives batches to the workers of this round, first to those that have least to do.
    fn dispatch(&mut self) {
        loop {
            let Some(load) = &self.load else { return };
            if load.is_stopping || load.forecast.is_some() || self.failed_starts >= MOST_FAILED_STARTS {
                return;
            }
            let held = |slot: usize| load.batches.values().filter(|batch| batch.slot == slot).count();
            let slots = load.slots.iter().copied().filter(|slot| !load.full.contains(slot));
            let least = slots.map(|slot| (held(slot), slot)).min_by_key(|&(held, _)| held);
            let Some((_, slot)) = least.filter(|&(held, _)| held < BATCHES_AT_A_WORKER) else { return };
            let Some(files) = self.planner.take(slot) else { return };
            self.read(slot, files);
        }
    }

    /// Lets a worker read a batch.
    fn read(&mut self, slot: usize, files: Vec<usize>) {
        let (mut pieces, mut attachments) = (Vec::new(), Vec::new());
        for &file in &files {
            let input = &self.planner.files()[file];
            let chunk = input.chunk.clone();
            let (name, keep) = (input.name.clone(), input.keep.clone());
            let is_cut = input.read_limit.is_some();
            let rules = self.rules.clone();
            pieces.push(Piece { name, group: input.group, keep, rules, chunk, is_cut });
            attachments.push(Attachment::File { source: input.source, range: input.range() });
        }
        let call = Call::Read { pieces, heap_limit: self.limits.memory };
        let number = self.call(slot, Purpose::Read, call, attachments);
        if let Some(load) = &mut self.load {
            load.batches.insert(number, Batch { slot, files, bytes: 0 });
        }
    }

    /// Ends a round of reading if all batches are complete; returns whether it did.
    fn end_round(&mut self) -> bool {
        let has_whole_traces = !self.slots(|worker| worker.progress.traces > 0).is_empty();
        let Some(load) = self.load.as_mut().filter(|load| load.batches.is_empty()) else { return false };
        let Some(forecast) = &mut load.forecast else {
            load.phase = Phase::Planning;
            return true;
        };
        load.phase = Phase::WaitingForUser;
        // Single spans become traces at the end of a load only.
        forecast.has_whole_traces = has_whole_traces;
        let forecast = forecast.clone();
        self.tell(PoolEvent::WillNotFit(forecast));
        true
    }

    /// Takes what became of a batch.
    pub(super) fn complete(&mut self, number: u64, answer: CallResult<P>) {
        let Some(load) = &mut self.load else { return };
        // The batches of a lost worker are forgotten already.
        let Some(batch) = load.batches.remove(&number) else { return };
        let mut results = match answer {
            Ok((CallDone::Read(results, _), _)) => results,
            Ok(_) | Err(CallError::Lost) => Vec::new(),
            Err(CallError::Failed(reason)) => {
                batch.files.iter().map(|_| ReadResult::Unreadable(reason.clone())).collect()
            }
        }
        .into_iter();
        for &file in &batch.files {
            let result = results.next().unwrap_or(ReadResult::Untouched);
            let input = &self.planner.files()[file];
            if input.state == FileState::Dispatched(batch.slot) {
                match &result {
                    ReadResult::Unreadable(reason) => load.errors.push(UserError {
                        message: format!("{} could not be read.", input.name),
                        detail: reason.clone(),
                        next_step: "It may have been moved or changed since it was chosen: choose it again."
                            .to_owned(),
                    }),
                    ReadResult::Full { bytes, .. } => {
                        load.full.insert(batch.slot);
                        load.ended_at.push(format!("{}, byte {}", input.name, input.start() + bytes));
                    }
                    ReadResult::Read { .. } | ReadResult::Untouched => {}
                }
            }
            self.planner.complete(batch.slot, file, result);
        }
        self.tell_progress();
    }

    /// Ends the load.
    pub(super) fn end_load(&mut self) {
        let Some(mut load) = self.load.take() else { return };
        let reports = self.planner.files_of_load().filter_map(|file| self.planner.report(file)).collect();
        load.errors.extend(self.memory_error(&load.ended_at));
        let outcome = LoadOutcome { reports, errors: load.errors, cancelled: load.was_cancelled };
        self.tell(PoolEvent::Loaded(outcome));
    }

    /// Returns what is said of a load for which memory did not suffice, `None` if it did. `ended_at` are the places.
    fn memory_error(&self, ended_at: &[String]) -> Option<UserError> {
        let first = ended_at.first()?;
        let (mut read, mut total, mut untouched) = (0, 0, BTreeSet::new());
        for input in self.planner.parts_of_load() {
            if let FileState::Read(_) = input.state {
                read += input.bytes_to_read();
            } else {
                untouched.insert(input.source);
            }
            total += input.bytes;
        }
        let more = match untouched.len() {
            0 => String::new(),
            1 => " A part of them was not begun.".to_owned(),
            files => format!(" {files} files were not read to their end."),
        };
        Some(UserError {
            message: format!(
                "Memory ended after {} of {}; what was read until then is kept.{more}",
                format::bytes(read),
                format::bytes(total)
            ),
            detail: format!("It ended at {first}{}", if ended_at.len() > 1 { ", among others" } else { "" }),
            next_step: "Load it again and keep a sample of the traces, or load fewer files.".to_owned(),
        })
    }
}
