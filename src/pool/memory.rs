//! Memory: what a load will need, what to do if that is too much, and what to say when memory ends.

use std::collections::BTreeSet;

use super::load::Load;
use super::{Pool, PoolEvent, State, UserError};
use crate::wire::ToWorker;
use futures_channel::oneshot;
use pathlight_ingest::Keep;
use pathlight_text::format;

/// Bytes of a load that must be read before what they need says something about the rest. A fifth of the memory there is
/// will do as well.
const TELLING_BYTES: u64 = 64 << 20;

/// A load that will not fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shortage {
    /// Heap that everything would take, by what was read until now.
    pub needed: u64,
    /// Heap there is, in the workers that read.
    pub limit: u64,
    /// Bytes read, and of all files of the load.
    pub bytes: u64,
    /// See `bytes`.
    pub total_bytes: u64,
    /// One of so many traces would fit.
    pub sample: u32,
    /// Whether traces stand together in these files, so that they can be chosen by service or request type.
    pub has_whole_traces: bool,
}

impl Pool {
    /// Goes on with a load that will not fit, from its start, keeping only these of its traces. [`Keep::All`] goes on
    /// until memory ends.
    pub fn go_on(&self, keep: &Keep) {
        let Some((first, waiting)) = self
            .with_load(|load| {
                // Asked once: should it still not fit, reading goes on until memory ends.
                load.is_warned = true;
                (load.heap_before, load.readers) = (0, 0);
                Some((load.first, load.on_word.take()?))
            })
            .flatten()
        else {
            return;
        };
        for kept in self.0.kept.borrow_mut().iter_mut().filter(|kept| kept.load > first) {
            kept.keep = keep.clone();
            kept.cut = None;
            kept.report = None;
        }
        self.rebuild();
        let _ = waiting.send(());
    }

    /// Bytes of heap that hold traces, in all workers, as last heard.
    pub(crate) fn heap_bytes(&self) -> u64 {
        self.0.members.borrow().iter().flatten().map(|member| member.progress.heap).sum()
    }

    /// Looks whether what is being read will fit; if not, reading stops.
    pub(crate) fn watch_memory(&self, bytes: u64, total_bytes: u64) {
        let memory = self.0.limits.get().memory;
        let heap = self.heap_bytes();
        let stopped = self.with_load(|load| {
            load.count_readers();
            // Between two reads there is none, and one worker at least will read the rest.
            let limit = memory * load.readers.max(1) as u64;
            let grown = heap.saturating_sub(load.heap_before);
            let is_telling = bytes >= TELLING_BYTES || grown > limit / 5;
            let is_open = !load.is_warned && load.shortage.is_none() && load.cancel.is_none();
            if !is_open || !is_telling || bytes == 0 || bytes >= total_bytes {
                return Vec::new();
            }
            let left = (grown as f64 / bytes as f64 * total_bytes.saturating_sub(bytes) as f64) as u64;
            let needed = heap + left;
            if needed <= limit {
                return Vec::new();
            }
            // A little below what fits, for traces differ; what other loads brought stays whole.
            let room = limit.saturating_sub(load.heap_before).max(limit / 16) as f64 * 0.8;
            let sample = ((needed - load.heap_before.min(needed)) as f64 / room).ceil() as u32;
            load.shortage = Some(Shortage {
                needed,
                limit,
                bytes,
                total_bytes,
                sample: sample.max(2),
                has_whole_traces: true,
            });
            load.flights.iter().map(|(&call, flight)| (call, flight.slot)).collect()
        });
        for (call, slot) in stopped.unwrap_or_default() {
            self.post(slot, &ToWorker::StopReading(call), &[]);
        }
    }

    /// Tells of a shortage and waits for what is to be done.
    pub(crate) async fn settle_shortage(&self) {
        let Some(Some(mut shortage)) = self.with_load(|load| load.shortage.clone()) else { return };
        // Single spans become traces at the end of a load only.
        shortage.has_whole_traces =
            self.0.members.borrow().iter().flatten().any(|member| member.progress.traces > 0);
        let (sender, receiver) = oneshot::channel();
        let is_asked = self.with_load(|load| {
            let asks = load.cancel.is_none();
            load.on_word = asks.then_some(sender);
            asks
        });
        if is_asked == Some(true) {
            self.emit(PoolEvent::Short(shortage));
            let _ = receiver.await;
        }
        self.with_load(|load| load.shortage = None);
    }

    /// What to say of a load that memory did not suffice for.
    pub(crate) fn memory_error(&self, ended_at: &[String], files: &BTreeSet<usize>) -> Option<UserError> {
        let first = ended_at.first()?;
        let all = self.0.kept.borrow();
        let (mut read, mut total, mut untouched) = (0, 0, BTreeSet::new());
        for &file in files {
            let kept = &all[file];
            match kept.state {
                State::Cut => continue,
                State::Read(_) => read += kept.cut.unwrap_or(kept.bytes),
                _ => {
                    untouched.insert(kept.part.as_ref().map_or(file, |part| part.file));
                }
            }
            total += kept.bytes;
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

impl Load {
    fn count_readers(&mut self) {
        let slots: BTreeSet<usize> = self.flights.values().map(|flight| flight.slot).collect();
        self.readers = self.readers.max(slots.len());
    }
}
