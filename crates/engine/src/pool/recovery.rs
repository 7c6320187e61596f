//! Recovery after the death of a worker.

use super::workers::{CallError, InFlightCall};
use super::{COORDINATOR, PoolEvent, PoolState, QueryError, UserError};
use crate::load::InputFile;
use pathlight_base::format;
use std::ops::Range;

/// Workers that may die at their very start, in a row, before the pool gives up.
pub(super) const MOST_FAILED_STARTS: u32 = 3;

impl<P: Clone> PoolState<P> {
    /// Handles a worker that has died: its calls are lost, and what it held is read again, but not for ever.
    pub(super) fn on_worker_lost(&mut self, slot: usize, serial: u64, reason: &str) {
        let Some(place) = self.workers.get_mut(slot) else { return };
        let Some(worker) = place.take_if(|worker| worker.serial == serial) else { return };
        self.commands.push(super::PoolCommand::Stop { slot });
        let (is_failed_start, is_used) = (!worker.is_up, worker.is_used);
        self.failed_starts += u32::from(is_failed_start);
        let reason = if reason.is_empty() { "no reason given" } else { reason };
        let lost: Vec<(u64, InFlightCall)> = self.calls.extract_if(.., |_, call| call.slot == slot).collect();
        self.count_death(&lost);
        // A query needs memory too: only a death over reading alone counts against a file.
        let is_over_reading = !is_failed_start && lost.iter().all(|(_, call)| call.purpose.query().is_none());
        let name = self.recover(slot, reason, is_over_reading);
        if !is_failed_start {
            if is_used {
                self.tell(PoolEvent::WorkerLost { name, reason: reason.to_owned() });
            }
        } else if self.failed_starts >= MOST_FAILED_STARTS && !self.is_loading() {
            self.tell(PoolEvent::Failed(no_worker(reason)));
        }
        for (number, call) in lost {
            self.deliver(number, call, Err(CallError::Lost));
        }
        if slot == COORDINATOR {
            // Their plans are gone, also of those that wait for partials of others only.
            self.end_begun_queries(&QueryError::WorkerLost);
        }
    }

    /// Handles a refusal of the browser to start a worker: trying again would not help.
    pub(super) fn on_start_refused(&mut self, slot: usize, serial: u64, reason: &str) {
        self.failed_starts = MOST_FAILED_STARTS;
        self.on_worker_lost(slot, serial, reason);
    }

    /// Lets the files of a lost worker wait again, except one that has cost too many workers; returns the name of the file
    /// that it died over, empty if none is known.
    fn recover(&mut self, slot: usize, reason: &str, is_over_reading: bool) -> String {
        // It reads in the order of the calls: the first batch is the one that it died over.
        let batch = self.load.as_ref().and_then(|load| load.first_batch(slot)).filter(|_| is_over_reading);
        let (guilty, bytes) = batch.map_or_else(Default::default, |batch| (batch.files.clone(), batch.bytes));
        let name = match guilty.as_slice() {
            [] => String::new(),
            [file] => self.planner.files()[*file].name.clone(),
            files => format!("one of {} files", files.len()),
        };
        let loss = self.planner.lose(slot, &guilty, bytes);
        if loss.had_read && self.has_moved_traces {
            // It held traces of other workers' files as well.
            self.planner.demand_restart();
        }
        if loss.had_files {
            self.begin_load();
        } else if slot == COORDINATOR && self.failed_starts < MOST_FAILED_STARTS {
            self.start(slot);
        }
        if let Some(load) = &mut self.load {
            load.forget_worker(slot);
            let files = self.planner.files();
            load.errors.extend(loss.left_out.iter().map(|&file| UserError {
                message: left_out(&files[file]),
                detail: reason.to_owned(),
                next_step: "Please report it, with the file if you can share it.".to_owned(),
            }));
            load.errors.extend(loss.cut_short.iter().map(|&file| UserError {
                message: cut_short(&files[file]),
                detail: reason.to_owned(),
                next_step: "If memory is short, load fewer files or keep a sample of the traces. Else please report it, \
                            with the file if you can share it."
                    .to_owned(),
            }));
        }
        name
    }
}

/// Returns what is said of a file of which only a part is read, because workers were lost over the rest.
fn cut_short(file: &InputFile) -> String {
    let Range { start, end } = file.range();
    let (name, start, end) = (&file.name, format::count(start), format::count(end));
    format!(
        "Reading {name} ended a worker twice; of what begins at byte {start}, only traces up to byte {end} are loaded."
    )
}

/// Returns what is said of a file, or a part of one, over which workers were lost.
fn left_out(file: &InputFile) -> String {
    let name = &file.name;
    match &file.chunk {
        None => format!("Reading {name} ended a worker twice; none of its traces are loaded."),
        Some(_) => {
            let Range { start, end } = file.range();
            format!(
                "Reading bytes {} to {} of {name} ended a worker twice; traces that begin there, or of which a part lies there, are left out; all others of the file are loaded.",
                format::count(start),
                format::count(end)
            )
        }
    }
}

/// Returns what is said when no worker can be started.
pub(super) fn no_worker(reason: &str) -> UserError {
    UserError {
        message: "The page could not start a worker, and only workers read traces.".to_owned(),
        detail: reason.to_owned(),
        next_step:
            "Reload the page; its host must allow workers (worker-src 'self' blob:), and where it requires Trusted Types, the \
             policy of the page (trusted-types pathlight)."
                .to_owned(),
    }
}
