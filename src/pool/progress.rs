//! Telling the page how far a load is.

use std::collections::BTreeSet;

use super::{LoadProgress, Pool, PoolEvent, State, now_ms};
use crate::wire::Progress;

/// How often the page is told of progress, in milliseconds.
const TELL_MS: f64 = 100.0;

impl Pool {
    /// A worker tells how far it is.
    pub(crate) fn reading(&self, call: u64, progress: &Progress) {
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
    pub(crate) fn tell(&self) {
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
                // Slices have the bytes, their files are counted.
                let (mut named, mut undone) = (BTreeSet::new(), BTreeSet::new());
                for &file in &files {
                    let part_of = kept[file].part.as_ref().map(|part| part.file);
                    if part_of.is_some_and(|whole| kept[whole].state != State::Cut) {
                        continue;
                    }
                    let kept = &kept[file];
                    let named_file = part_of.unwrap_or(file);
                    named.insert(named_file);
                    let bytes = kept.cut.unwrap_or(kept.bytes);
                    match kept.state {
                        State::Cut => continue,
                        State::Read(_) | State::Dropped => progress.bytes += bytes,
                        State::Waiting | State::Dealt(_) => {
                            undone.insert(named_file);
                        }
                    }
                    progress.total_bytes += bytes;
                }
                progress.files = named.len() as u32;
                progress.files_done = (named.len() - undone.len()) as u32;
                load.meter.observe((now * 1000.0) as u64, progress.bytes);
                progress.mb_per_s = load.meter.mb_per_s();
                let left = progress.total_bytes.saturating_sub(progress.bytes);
                progress.seconds_left = load.meter.seconds_for(left);
                // Not if the final ones are about to come.
                is_preliminary = progress.traces > 0
                    && now - load.began_ms >= load.preliminary_ms
                    && progress.seconds_left.is_some_and(|seconds| seconds > 2.0);
                if is_preliminary {
                    load.preliminary_ms = (now - load.began_ms) * 3.0;
                }
            });
        }
        self.watch_memory(progress.bytes, progress.total_bytes);
        self.emit(PoolEvent::Progress(progress));
        if is_preliminary && self.is_loading() {
            self.emit(PoolEvent::Preliminary);
        }
    }
}
