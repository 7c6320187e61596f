//! Loading: rounds of reading, then joining what belongs together; and what happens when a worker dies.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;

use super::ask::COORDINATOR;
use super::call::{Answer, CallError, Reply, no_worker};
use super::{Input, Kept, LoadOutcome, LoadProgress, Pool, PoolEvent, State, UserError, now_ms};
use crate::arrange::Arrange;
use crate::web::deal::{Meter, deal};
use crate::web::oneshot::oneshot;
use crate::web::wire::{Call, Done, Piece, PieceResult, Progress, ToWorker};

/// How often the page is told of progress, in milliseconds.
const TELL_MS: f64 = 100.0;
/// When first results are offered, in milliseconds after the start; then at twice the time each.
const PRELIMINARY_MS: f64 = 1000.0;
/// Workers that may die over one file before it is left out.
const MOST_STRIKES: u32 = 2;
/// Workers that may die at their very start, in a row, before the page gives up.
const MOST_STILLBORN: u32 = 3;
/// Deaths while traces are joined before the page gives up.
const MOST_JOINS: u32 = 3;

/// A load under way.
pub(super) struct Load {
    /// Inputs of this number or later came with it.
    first: u64,
    /// Files of it, by index in `kept`.
    files: BTreeSet<usize>,
    flights: BTreeMap<u64, Flight>,
    /// Ended by the user: keep what is there?
    cancel: Option<bool>,
    was_cancelled: bool,
    /// Slots whose memory ended.
    full: BTreeSet<usize>,
    /// Groups to be taken away when it ends.
    pub unload: BTreeSet<u8>,
    pub errors: Vec<UserError>,
    meter: Meter,
    told_ms: f64,
    began_ms: f64,
    preliminary_ms: f64,
}

/// A unit that a worker reads.
struct Flight {
    slot: usize,
    files: Vec<usize>,
    bytes: u64,
}

impl Pool {
    /// Loads these besides what is loaded, into the set looked at. During a load they join it.
    pub fn load(&self, inputs: Vec<Input>) {
        self.load_group(inputs, 0);
    }

    /// Loads these into the set of this [group](crate::engine::Scope::group).
    pub fn load_group(&self, inputs: Vec<Input>, group: u8) {
        self.begin_load();
        let number = self.number();
        let mut kept = self.0.kept.borrow_mut();
        for input in inputs {
            let bytes = input.blob.size() as u64;
            let (state, strikes, cut, report) = (State::Waiting, 0, None, None);
            let is_unloaded = false;
            kept.push(Kept { input, group, bytes, load: number, state, is_unloaded, strikes, cut, report });
        }
    }

    /// Takes a [group](crate::engine::Scope::group) away; [`PoolEvent::Loaded`] follows. What is loaded into it after this
    /// call stays. Counts over all that was ever read (log records, repeated spans, tag values to choose from) stay too,
    /// until [`clear`](Self::clear).
    pub fn unload_group(&self, group: u8) {
        self.begin_load();
        for kept in self.0.kept.borrow_mut().iter_mut().filter(|kept| kept.group == group) {
            kept.is_unloaded = true;
            if kept.state == State::Waiting {
                kept.state = State::Dropped;
            }
        }
        self.with_load(|load| load.unload.insert(group));
    }

    /// Ends the load under way. With `keep`, what was read until now stays; otherwise everything this load brought goes,
    /// and if something was there before, that is read again. [`PoolEvent::Loaded`] follows.
    pub fn cancel_load(&self, keep: bool) {
        let flights: Vec<(u64, usize)> = match self.0.load.borrow_mut().as_mut() {
            Some(load) => {
                load.cancel = Some(keep);
                load.was_cancelled = true;
                load.flights.iter().map(|(&call, flight)| (call, flight.slot)).collect()
            }
            None => return,
        };
        if !keep {
            // What is there is read again by new workers in any case.
            self.end_workers();
            return;
        }
        for (call, slot) in flights {
            self.post(slot, &ToWorker::StopReading(call), &[]);
        }
    }

    /// Whether a load is under way.
    pub fn is_loading(&self) -> bool {
        self.0.load.borrow().is_some()
    }

    fn begin_load(&self) {
        if self.is_loading() {
            return;
        }
        let now = now_ms();
        *self.0.load.borrow_mut() = Some(Load {
            first: self.number(),
            files: BTreeSet::new(),
            flights: BTreeMap::new(),
            cancel: None,
            was_cancelled: false,
            full: BTreeSet::new(),
            unload: BTreeSet::new(),
            errors: Vec::new(),
            meter: Meter::default(),
            told_ms: f64::NEG_INFINITY,
            began_ms: now,
            preliminary_ms: PRELIMINARY_MS,
        });
        let pool = self.clone();
        let epoch = self.0.epoch.get();
        spawn_local(async move {
            pool.run_load(epoch).await;
        });
    }

    async fn run_load(&self, epoch: u64) {
        let is_over = || self.0.epoch.get() != epoch;
        let mut deaths = 0;
        loop {
            while !self.is_cancelled() {
                if self.0.must_rebuild.get() {
                    self.rebuild();
                }
                if self.0.stillborn.get() >= MOST_STILLBORN {
                    self.emit(PoolEvent::Failed(no_worker("workers end before they begin")));
                    self.give_up_waiting();
                }
                let waiting = self.waiting_files();
                if waiting.is_empty() {
                    break;
                }
                self.read_round(&waiting).await;
                if is_over() {
                    return;
                }
            }
            if self.end_cancelled() {
                continue;
            }
            self.0.is_joining.set(true);
            self.void_questions();
            let joined = self.join().await;
            if is_over() {
                return;
            }
            self.0.is_joining.set(false);
            if joined.is_err() {
                deaths += 1;
                // Traces may be on their way between workers: only reading everything again is sure.
                self.0.must_rebuild.set(true);
            }
            if deaths >= MOST_JOINS {
                self.clear();
                self.emit(PoolEvent::Failed(UserError {
                    message: "Workers ended again and again while traces were put together.".to_owned(),
                    detail: String::new(),
                    next_step: "Load less at a time; the page is empty now.".to_owned(),
                }));
                return;
            }
            let is_dropping = self.with_load(|load| load.cancel == Some(false)).unwrap_or(false);
            if self.waiting_files().is_empty() && !self.0.must_rebuild.get() && !is_dropping {
                break;
            }
        }
        let Some(load) = self.0.load.borrow_mut().take() else { return };
        let reports = {
            let kept = self.0.kept.borrow();
            load.files.iter().filter_map(|&file| kept[file].report.clone()).collect()
        };
        self.settle();
        let outcome = LoadOutcome { reports, errors: load.errors, cancelled: load.was_cancelled };
        self.emit(PoolEvent::Loaded(outcome));
    }

    pub(super) fn with_load<T>(&self, work: impl FnOnce(&mut Load) -> T) -> Option<T> {
        self.0.load.borrow_mut().as_mut().map(work)
    }

    fn is_cancelled(&self) -> bool {
        self.with_load(|load| load.cancel.is_some()).unwrap_or(true)
    }

    fn waiting_files(&self) -> Vec<usize> {
        let kept = self.0.kept.borrow();
        (0..kept.len()).filter(|&file| kept[file].state == State::Waiting).collect()
    }

    fn give_up_waiting(&self) {
        for kept in self.0.kept.borrow_mut().iter_mut().filter(|kept| kept.state == State::Waiting) {
            kept.state = State::Dropped;
        }
    }

    /// Does what a cancelled load wants; true if there is something to read again now.
    fn end_cancelled(&self) -> bool {
        let Some(Some((keep, first))) =
            self.with_load(|load| load.cancel.take().map(|keep| (keep, load.first)))
        else {
            return false;
        };
        if keep {
            self.give_up_waiting();
            return false;
        }
        let is_left = {
            let mut kept = self.0.kept.borrow_mut();
            for kept in kept.iter_mut().filter(|kept| kept.load > first) {
                kept.state = State::Dropped;
                kept.report = None;
            }
            kept.iter().any(|kept| kept.state != State::Dropped)
        };
        self.rebuild();
        is_left
    }

    /// New workers, and everything to be read again.
    fn rebuild(&self) {
        self.end_workers();
        for kept in self.0.kept.borrow_mut().iter_mut().filter(|kept| kept.state != State::Dropped) {
            kept.state = State::Waiting;
        }
        self.with_load(|load| load.full.clear());
        self.warm(COORDINATOR);
    }

    /// Reads these files with as many workers as there is work for.
    async fn read_round(&self, files: &[usize]) {
        let (mut sizes, mut alone) = (Vec::new(), Vec::new());
        let mut dealt = Vec::new();
        {
            let kept = self.0.kept.borrow();
            for &file in files {
                // One that may have killed a worker must not take others along.
                if kept[file].strikes > 0 {
                    alone.push(vec![file]);
                } else {
                    dealt.push(file);
                    sizes.push(kept[file].cut.unwrap_or(kept[file].bytes));
                }
            }
        }
        let units = deal(&sizes, self.0.limit);
        let units = units.into_iter().map(|unit| unit.into_iter().map(|at| dealt[at]).collect());
        let queue: VecDeque<Vec<usize>> = units.chain(alone).collect();
        let slots = self.free_slots(queue.len());
        if slots.is_empty() {
            self.memory_ended(files);
            return;
        }
        self.with_load(|load| load.files.extend(files));
        self.tell();
        let queue = Rc::new(RefCell::new(queue));
        let mut ends = Vec::new();
        for slot in slots {
            let (sender, receiver) = oneshot();
            let (pool, queue) = (self.clone(), queue.clone());
            let epoch = self.0.epoch.get();
            spawn_local(async move {
                pool.lane(slot, &queue, epoch).await;
                sender.send(());
            });
            ends.push(receiver);
        }
        for end in ends {
            end.await;
        }
    }

    /// Slots for so many units, those that hold least first.
    fn free_slots(&self, units: usize) -> Vec<usize> {
        let full = self.with_load(|load| load.full.clone()).unwrap_or_default();
        let members = self.0.members.borrow();
        let spans = |slot: usize| {
            members.get(slot).and_then(Option::as_ref).map_or(0, |member| member.progress.spans)
        };
        let mut slots: Vec<usize> = (0..self.0.limit).filter(|slot| !full.contains(slot)).collect();
        slots.arrange_by_key(|&slot| (spans(slot), slot));
        slots.truncate(units);
        slots
    }

    /// One worker's share of a round: it takes unit after unit, always one in advance so that its bytes are there when
    /// the one before is done.
    async fn lane(&self, slot: usize, queue: &RefCell<VecDeque<Vec<usize>>>, epoch: u64) {
        let mut ahead: Option<Reply> = None;
        loop {
            if self.0.epoch.get() != epoch {
                return;
            }
            let may_read = !self.is_cancelled()
                && !self.0.must_rebuild.get()
                && self.0.stillborn.get() < MOST_STILLBORN
                && self.with_load(|load| !load.full.contains(&slot)).unwrap_or(false);
            let unit = if may_read { queue.borrow_mut().pop_front() } else { None };
            let next = unit.map(|unit| self.fly(slot, unit));
            let is_last = next.is_none();
            if let Some(reply) = std::mem::replace(&mut ahead, next) {
                let number = reply.number;
                let answer = reply.await;
                if self.0.epoch.get() == epoch {
                    self.land(number, answer);
                }
            } else if is_last {
                return;
            }
        }
    }

    fn fly(&self, slot: usize, files: Vec<usize>) -> Reply {
        let (mut pieces, mut blobs) = (Vec::new(), Vec::new());
        {
            let mut kept = self.0.kept.borrow_mut();
            for &file in &files {
                let kept = &mut kept[file];
                kept.state = State::Dealt(slot);
                pieces.push(Piece { name: kept.input.name.clone(), group: kept.group });
                let whole = &kept.input.blob;
                let blob = match kept.cut {
                    Some(cut) => {
                        whole.slice_with_f64_and_f64(0.0, cut as f64).unwrap_or_else(|_| whole.clone())
                    }
                    None => whole.clone(),
                };
                blobs.push(JsValue::from(blob));
            }
        }
        let reply = self.call(slot, Call::Read(pieces), &blobs);
        let number = reply.number;
        self.with_load(|load| load.flights.insert(number, Flight { slot, files, bytes: 0 }));
        reply
    }

    /// Writes down what became of a unit.
    fn land(&self, number: u64, answer: Answer) {
        let Some(Some(flight)) = self.with_load(|load| load.flights.remove(&number)) else { return };
        let mut errors = Vec::new();
        let mut is_full = false;
        {
            let mut all = self.0.kept.borrow_mut();
            let mut results = match answer {
                Ok((Done::Read(results, _), _)) => results.into_iter(),
                Ok(_) | Err(CallError::Lost | CallError::Stale) => {
                    // Unless what has been decided about it since says otherwise.
                    for &file in &flight.files {
                        if all[file].state == State::Dealt(flight.slot) {
                            all[file].state = State::Waiting;
                        }
                    }
                    return;
                }
                Err(CallError::Failed(reason)) => {
                    let fail = |_| PieceResult::Unreadable(reason.clone());
                    flight.files.iter().map(fail).collect::<Vec<_>>().into_iter()
                }
            };
            for &file in &flight.files {
                let kept = &mut all[file];
                let name = &kept.input.name;
                kept.state = State::Read(flight.slot);
                match results.next().unwrap_or(PieceResult::Untouched) {
                    PieceResult::Read { report, bytes } => {
                        kept.report = Some(report);
                        // Read again after a death, it must end at the same place.
                        if bytes < kept.cut.unwrap_or(kept.bytes) {
                            kept.cut = Some(bytes);
                        }
                    }
                    PieceResult::Unreadable(reason) => {
                        kept.state = State::Dropped;
                        errors.push(UserError {
                            message: format!("{name} could not be read."),
                            detail: reason,
                            next_step:
                                "It may have been moved or changed since it was chosen: choose it again."
                                    .to_owned(),
                        });
                    }
                    PieceResult::Full { report, bytes } => {
                        is_full = true;
                        kept.report = Some(report);
                        kept.cut = Some(bytes);
                        errors.push(UserError {
                            message: format!("Memory ended while {name} was read; what came before is kept."),
                            detail: format!("byte {bytes} of {}", kept.bytes),
                            next_step: "Load fewer files, or only a part of them.".to_owned(),
                        });
                    }
                    PieceResult::Untouched => kept.state = State::Waiting,
                }
            }
        }
        self.with_load(|load| {
            load.errors.extend(errors);
            if is_full {
                load.full.insert(flight.slot);
            }
        });
        self.tell();
    }

    fn memory_ended(&self, files: &[usize]) {
        let bytes: u64 = {
            let kept = self.0.kept.borrow();
            files.iter().map(|&file| kept[file].bytes).sum()
        };
        self.give_up_waiting();
        let error = UserError {
            message: format!("Memory ended: {} more files were not read.", files.len()),
            detail: format!("{bytes} bytes"),
            next_step: "Load fewer files, or only a part of them.".to_owned(),
        };
        self.with_load(|load| load.errors.push(error));
    }

    /// A worker tells how far it is.
    pub(super) fn reading(&self, call: u64, progress: &Progress) {
        let is_ours = self.with_load(|load| match load.flights.get_mut(&call) {
            Some(flight) => {
                flight.bytes = progress.bytes;
                true
            }
            None => false,
        });
        if is_ours == Some(true) {
            self.tell();
        }
    }

    /// Tells the page how far the load is, now and then.
    fn tell(&self) {
        let now = now_ms();
        let is_due = self.with_load(|load| {
            let is_due = now - load.told_ms >= TELL_MS;
            if is_due {
                load.told_ms = now;
            }
            is_due
        });
        if is_due != Some(true) {
            return;
        }
        let mut progress = LoadProgress::default();
        for member in self.0.members.borrow().iter().flatten() {
            progress.traces += member.progress.traces;
            progress.spans += member.progress.spans;
        }
        let mut is_preliminary = false;
        {
            let kept = self.0.kept.borrow();
            self.with_load(|load| {
                progress.bytes = load.flights.values().map(|flight| flight.bytes).sum();
                let late = (0..kept.len()).filter(|&file| kept[file].load > load.first);
                let files: BTreeSet<usize> = load.files.iter().copied().chain(late).collect();
                for &file in &files {
                    let bytes = kept[file].cut.unwrap_or(kept[file].bytes);
                    progress.total_bytes += bytes;
                    if matches!(kept[file].state, State::Read(_) | State::Dropped) {
                        progress.bytes += bytes;
                        progress.files_done += 1;
                    }
                }
                progress.files = files.len() as u32;
                load.meter.observe(now, progress.bytes);
                progress.mb_per_s = load.meter.mb_per_s();
                let left = progress.total_bytes.saturating_sub(progress.bytes);
                progress.seconds_left = load.meter.seconds_for(left);
                // Not if the final ones are about to come.
                is_preliminary = progress.traces > 0
                    && now - load.began_ms >= load.preliminary_ms
                    && progress.seconds_left.is_some_and(|seconds| seconds > 1.0);
                if is_preliminary {
                    load.preliminary_ms = (now - load.began_ms) * 2.0;
                }
            });
        }
        self.emit(PoolEvent::Progress(progress));
        if is_preliminary && self.is_loading() {
            self.emit(PoolEvent::Preliminary);
        }
    }

    /// The worker of a slot has died; what it held is to be read again, but not for ever.
    pub(super) fn bereaved(&self, slot: usize, reason: &str, is_stillborn: bool) {
        let guilty: Vec<usize> = self
            .with_load(|load| {
                // It reads in the order of the calls.
                let first = load.flights.values().find(|flight| flight.slot == slot);
                let guilty = first.map(|flight| flight.files.clone());
                load.full.remove(&slot);
                guilty
            })
            .flatten()
            .unwrap_or_default();
        let mut errors = Vec::new();
        let mut name = String::new();
        let mut is_bereft = false;
        {
            let mut all = self.0.kept.borrow_mut();
            for (file, kept) in all.iter_mut().enumerate() {
                let is_guilty = guilty.contains(&file) && !is_stillborn;
                match kept.state {
                    State::Read(at) if at == slot => {
                        is_bereft = true;
                        if self.0.moved.get() {
                            self.0.must_rebuild.set(true);
                        }
                    }
                    State::Dealt(at) if at == slot => is_bereft = true,
                    _ => continue,
                }
                kept.state = State::Waiting;
                if is_guilty {
                    kept.strikes += 1;
                    name.clone_from(&kept.input.name);
                    if kept.strikes >= MOST_STRIKES {
                        kept.state = State::Dropped;
                        errors.push(UserError {
                            message: format!("Reading {name} ended a worker twice; it is left out."),
                            detail: reason.to_owned(),
                            next_step: "Please report it, with the file if you can share it.".to_owned(),
                        });
                    }
                }
            }
        }
        self.with_load(|load| load.errors.extend(errors));
        if guilty.len() > 1 {
            name = format!("one of {} files", guilty.len());
        }
        if is_bereft {
            self.begin_load();
        } else if slot == COORDINATOR && self.0.stillborn.get() < MOST_STILLBORN {
            self.warm(slot);
        }
        if !is_stillborn {
            self.emit(PoolEvent::WorkerLost { name, reason: reason.to_owned() });
        } else if self.0.stillborn.get() >= MOST_STILLBORN && !self.is_loading() {
            self.emit(PoolEvent::Failed(no_worker(reason)));
        }
    }
}
