//! Loading: rounds of reading, then joining what belongs together; and what happens when a worker dies.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;

use futures_channel::oneshot::{Sender, channel};
use wasm_bindgen::JsValue;
use wasm_bindgen_futures::spawn_local;

use super::call::{Answer, CallError, Reply, no_worker};
use super::memory::Shortage;
use super::query::COORDINATOR;
use super::{Input, Kept, LoadOutcome, Pool, PoolEvent, State, UserError, now_ms};
use crate::wire;
use crate::wire::{Call, Done, Piece, PieceResult, ToWorker};
use pathlight_model::sort::Arrange;
use pathlight_query::load::{Meter, batches};

/// When first results are offered, in milliseconds after the start; then at twice the time each.
const PRELIMINARY_MS: f64 = 1000.0;
/// Workers that may die at their very start, in a row, before the page gives up.
pub(crate) const MOST_STILLBORN: u32 = 3;
/// Deaths while traces are joined before the page gives up.
const MOST_JOINS: u32 = 3;

/// A load under way.
pub(crate) struct Load {
    /// Inputs of this number or later came with it.
    pub first: u64,
    /// Files of it, by index in `kept`.
    pub files: BTreeSet<usize>,
    pub flights: BTreeMap<u64, Flight>,
    /// Ended by the user: keep what is there?
    pub cancel: Option<bool>,
    pub was_cancelled: bool,
    /// Slots whose memory ended.
    pub full: BTreeSet<usize>,
    /// It will not fit, and waits for a word on that.
    pub shortage: Option<Shortage>,
    pub on_word: Option<Sender<()>>,
    /// That it may not fit is known.
    pub is_warned: bool,
    /// Heap of the workers when it began.
    pub heap_before: u64,
    /// Workers that read at a time, at most.
    pub readers: usize,
    /// Places where memory ended.
    pub ended_at: Vec<String>,
    /// Groups to be taken away when it ends.
    pub unload: BTreeSet<u8>,
    pub errors: Vec<UserError>,
    pub meter: Meter,
    pub told_ms: f64,
    pub began_ms: f64,
    pub preliminary_ms: f64,
}

/// A unit that a worker reads.
pub(crate) struct Flight {
    pub slot: usize,
    pub files: Vec<usize>,
    pub bytes: u64,
}

impl Pool {
    /// Loads these besides what is loaded, into the set looked at. During a load they join it.
    pub fn load(&self, inputs: Vec<Input>) {
        self.load_group(inputs, 0);
    }

    /// Loads these into the set of this [group](pathlight_query::Selection::group).
    pub fn load_group(&self, inputs: Vec<Input>, group: u8) {
        self.begin_load();
        let number = self.number();
        let mut kept = self.0.kept.borrow_mut();
        kept.extend(inputs.into_iter().map(|input| Kept::new(input, group, number)));
    }

    /// Takes a [group](pathlight_query::Selection::group) away; [`PoolEvent::Loaded`] follows. What is loaded into it
    /// after this call stays. Counts over all that was ever read (log records, repeated spans, tag values to choose
    /// from) stay too, until [`clear`](Self::clear).
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

    /// Ends the load under way. With `keep`, what was read until now stays; otherwise everything this load brought
    /// goes, and if something was there before, that is read again. [`PoolEvent::Loaded`] follows.
    pub fn cancel_load(&self, keep: bool) {
        let flights: Vec<(u64, usize)> = match self.0.load.borrow_mut().as_mut() {
            Some(load) => {
                load.cancel = Some(keep);
                load.was_cancelled = true;
                if let Some(waiting) = load.on_word.take() {
                    let _ = waiting.send(());
                }
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

    pub(crate) fn begin_load(&self) {
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
            shortage: None,
            on_word: None,
            is_warned: false,
            heap_before: self.heap_bytes(),
            readers: 0,
            ended_at: Vec::new(),
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
                if self.waiting_files().is_empty() && self.slices_agree() {
                    break;
                }
                self.cut_large_files().await;
                if is_over() {
                    return;
                }
                self.read_round(&self.waiting_files()).await;
                self.settle_shortage().await;
                if is_over() {
                    return;
                }
            }
            if self.end_cancelled() {
                continue;
            }
            self.0.is_joining.set(true);
            self.void_queries();
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
        let Some(mut load) = self.0.load.borrow_mut().take() else { return };
        let reports = load.files.iter().filter_map(|&file| self.report(file)).collect();
        load.errors.extend(self.memory_error(&load.ended_at, &load.files));
        self.settle();
        let outcome = LoadOutcome { reports, errors: load.errors, cancelled: load.was_cancelled };
        self.emit(PoolEvent::Loaded(outcome));
    }

    pub(crate) fn with_load<T>(&self, work: impl FnOnce(&mut Load) -> T) -> Option<T> {
        self.0.load.borrow_mut().as_mut().map(work)
    }

    pub(crate) fn is_cancelled(&self) -> bool {
        self.with_load(|load| load.cancel.is_some()).unwrap_or(true)
    }

    pub(crate) fn waiting_files(&self) -> Vec<usize> {
        let kept = self.0.kept.borrow();
        (0..kept.len()).filter(|&file| kept[file].state == State::Waiting).collect()
    }

    pub(crate) fn give_up_waiting(&self) {
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
    pub(crate) fn rebuild(&self) {
        self.end_workers();
        for kept in self.0.kept.borrow_mut().iter_mut() {
            if !matches!(kept.state, State::Dropped | State::Cut) {
                kept.state = State::Waiting;
            }
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
        let units = batches(&sizes, self.workers());
        let units = units.into_iter().map(|unit| unit.into_iter().map(|at| dealt[at]).collect());
        let queue: VecDeque<Vec<usize>> = units.chain(alone).collect();
        let slots = self.free_slots(queue.len());
        self.with_load(|load| load.files.extend(files));
        if slots.is_empty() {
            self.give_up_waiting();
            return;
        }
        self.tell();
        let queue = Rc::new(RefCell::new(queue));
        let mut ends = Vec::new();
        for slot in slots {
            let (sender, receiver) = channel();
            let (pool, queue) = (self.clone(), queue.clone());
            let epoch = self.0.epoch.get();
            spawn_local(async move {
                pool.lane(slot, &queue, epoch).await;
                let _ = sender.send(());
            });
            ends.push(receiver);
        }
        for end in ends {
            let _ = end.await;
        }
    }

    /// Slots for so many units, those that hold least first.
    fn free_slots(&self, units: usize) -> Vec<usize> {
        let full = self.with_load(|load| load.full.clone()).unwrap_or_default();
        let members = self.0.members.borrow();
        let spans = |slot: usize| {
            members.get(slot).and_then(Option::as_ref).map_or(0, |member| member.progress.spans)
        };
        let mut slots: Vec<usize> = (0..self.workers()).filter(|slot| !full.contains(slot)).collect();
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
                && self
                    .with_load(|load| load.shortage.is_none() && !load.full.contains(&slot))
                    .unwrap_or(false);
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
                let slice = kept.part.as_ref().map(|part| (part.from.clone(), part.until.clone()));
                let (name, keep) = (kept.input.name.clone(), kept.keep.clone());
                pieces.push(Piece { name, group: kept.group, keep, slice });
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
        let reply = self.call(slot, Call::Read { pieces, most_bytes: self.0.limits.get().memory }, &blobs);
        let number = reply.number;
        self.with_load(|load| load.flights.insert(number, Flight { slot, files, bytes: 0 }));
        reply
    }

    /// Writes down what became of a unit.
    fn land(&self, number: u64, answer: Answer) {
        let Some(Some(flight)) = self.with_load(|load| load.flights.remove(&number)) else { return };
        let mut errors = Vec::new();
        let mut is_full = false;
        let mut wrongly_cut = BTreeSet::new();
        let mut ended_at = Vec::new();
        {
            let mut all = self.0.kept.borrow_mut();
            let mut ends = Vec::new().into_iter();
            let mut results = match answer {
                Ok((Done::Read(results, _), attached)) => {
                    ends = attached.into_iter();
                    results.into_iter()
                }
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
                let mut result = results.next().unwrap_or(PieceResult::Untouched);
                if let (Some(report), Some(part)) = (result.report(), &kept.part) {
                    let end = ends.next().map(|end| wire::bytes(&end)).unwrap_or_default();
                    report.chunk = postcard::from_bytes(&end).ok();
                    if !report.chunk.as_ref().is_some_and(|end| end.agrees) {
                        wrongly_cut.insert(part.file);
                    }
                }
                if kept.state != State::Dealt(flight.slot) {
                    // What became of it in the meantime counts more: its file was cut at a wrong place.
                    continue;
                }
                kept.state = State::Read(flight.slot);
                match result {
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
                        let start = kept
                            .part
                            .as_ref()
                            .and_then(|part| part.from.as_ref())
                            .map_or(0, |point| point.at);
                        ended_at.push(format!("{name}, byte {}", start + bytes));
                    }
                    PieceResult::Untouched => kept.state = State::Waiting,
                }
            }
        }
        self.with_load(|load| {
            load.errors.extend(errors);
            load.ended_at.extend(ended_at);
            if is_full {
                load.full.insert(flight.slot);
            }
        });
        wrongly_cut.into_iter().for_each(|file| self.uncut(file));
        self.tell();
    }
}
