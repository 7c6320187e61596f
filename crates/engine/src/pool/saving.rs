//! Copies that workers write for the page: of everything that is loaded, for a saved report, and the demo traces.
//!
//! The columns come from one worker after the other, in parts.

use super::messages::{Call, CallDone};
use super::workers::{CallError, CallResult, Purpose};
use super::{COORDINATOR, PoolCommand, PoolState};
use std::collections::VecDeque;

/// A copy under way.
#[derive(Debug)]
pub(super) struct Save<P> {
    /// The data that is copied; `None` for the demo, which has nothing to do with it.
    generation: Option<u64>,
    /// Parts left out, for the workers to read.
    redaction: String,
    /// Slots of the workers that are still to be copied; the first is being copied.
    slots: VecDeque<usize>,
    /// The columns of each worker.
    columns: Vec<Vec<P>>,
}

impl<P> Save<P> {
    /// Returns the message that tells a worker whose columns come next.
    fn copy(&self, from: u32) -> Call {
        // No number of a trace comes twice: no worker has so many.
        let first = (self.columns.len() as u64) << u32::BITS;
        Call::CopyColumns { from, first, redaction: self.redaction.clone() }
    }
}

impl<P: Clone> PoolState<P> {
    pub(super) fn begin_save(&mut self, save: u64, redaction: String) {
        if self.is_loading() {
            return self.end_save(save, Err("traces are still being read"));
        }
        let slots = self.holders().into();
        let generation = Some(self.generation);
        self.saves.insert(save, Save { generation, redaction, slots, columns: Vec::new() });
        self.copy_next_worker(save);
    }

    pub(super) fn begin_demo(&mut self, save: u64) {
        let slots = VecDeque::from([COORDINATOR]);
        self.saves.insert(
            save,
            Save { generation: None, redaction: String::new(), slots, columns: vec![Vec::new()] },
        );
        self.call(COORDINATOR, Purpose::Save(save), Call::WriteDemo, Vec::new());
    }

    fn copy_next_worker(&mut self, save: u64) {
        let Some(state) = self.saves.get_mut(&save) else { return };
        match state.slots.front().copied() {
            Some(slot) => {
                state.columns.push(Vec::new());
                let call = state.copy(0);
                self.call(slot, Purpose::Save(save), call, Vec::new());
            }
            None => self.end_save(save, Ok(())),
        }
    }

    pub(super) fn on_columns(&mut self, save: u64, answer: CallResult<P>) {
        let is_loading = self.is_loading();
        let Some(state) = self.saves.get_mut(&save) else { return };
        let (done, buffers) = match answer {
            Ok(answer) => answer,
            Err(CallError::Failed(reason)) => return self.end_save(save, Err(&reason)),
            Err(CallError::Lost) => return self.end_save(save, Err("a worker ended meanwhile")),
        };
        if state.generation.is_some_and(|generation| is_loading || generation != self.generation) {
            return self.end_save(save, Err("what is loaded changed meanwhile"));
        }
        let next = match done {
            CallDone::Columns(next) => next,
            CallDone::Nothing => None,
            _ => return self.end_save(save, Err("a worker answered something else")),
        };
        let Some(columns) = state.columns.last_mut() else { return };
        columns.extend(buffers);
        match (next, state.slots.front().copied()) {
            (Some(from), Some(slot)) => {
                let call = state.copy(from);
                self.call(slot, Purpose::Save(save), call, Vec::new());
            }
            _ => {
                state.slots.pop_front();
                self.copy_next_worker(save);
            }
        }
    }

    fn end_save(&mut self, save: u64, result: Result<(), &str>) {
        let columns = self.saves.remove(&save).map(|state| state.columns).unwrap_or_default();
        let result = result.map(|()| columns).map_err(str::to_owned);
        self.commands.push(PoolCommand::Saved { save, result });
    }

    /// Forgets all saves: the workers end.
    pub(super) fn lose_saves(&mut self) {
        let saves: Vec<u64> = self.saves.keys().copied().collect();
        for save in saves {
            self.end_save(save, Err("a worker ended meanwhile"));
        }
    }
}
