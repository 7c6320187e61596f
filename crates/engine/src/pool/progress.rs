//! Telling the page how far a load is, and whether it will fit into memory.

use super::{LoadProgress, PoolEvent, PoolState};
use crate::load::{FileState, MemoryUse};
use std::collections::BTreeSet;

/// Shortest time between two looks at the progress of a load and its memory, in microseconds.
const LOOK_US: u64 = 100_000;
/// Shortest time between two reports of progress to the page, which draws at each, in microseconds.
const TELL_US: u64 = 250_000;
/// First results are offered so many microseconds after the start, and then at three times the time each.
pub(super) const PRELIMINARY_US: u64 = 400_000;
/// A load that is about to end, in so many seconds, offers none: the final ones will be there. It is this
/// long because first results take the workers' time from reading, and whoever sees them should have a while to look. The
/// number is a choice and was not measured.
const SOON_S: f64 = 2.0;

impl<P: Clone> PoolState<P> {
    /// Takes in how many bytes of a call a worker has read.
    pub(super) fn on_reading(&mut self, number: u64, bytes: u64) {
        let batch = self.load.as_mut().and_then(|load| load.batches.get_mut(&number));
        if let Some(batch) = batch {
            batch.bytes = bytes;
            self.tell_progress();
        }
    }

    /// Tells the page how far the load is, now and then.
    pub(super) fn tell_progress(&mut self) {
        let now_us = self.now_us;
        let Some(load) = &mut self.load else { return };
        if load.looked_us.is_some_and(|looked_us| now_us < looked_us + LOOK_US) {
            return;
        }
        load.looked_us = Some(now_us);
        let was_reported_lately = load.reported_us.is_some_and(|reported_us| now_us < reported_us + TELL_US);
        if !was_reported_lately {
            load.reported_us = Some(now_us);
        }
        let mut progress = LoadProgress {
            bytes: load.batches.values().map(|batch| batch.bytes).sum(),
            ..LoadProgress::default()
        };
        for worker in self.workers.iter().flatten() {
            progress.traces += worker.progress.traces;
            progress.spans += worker.progress.spans;
        }
        let (mut named, mut undone) = (BTreeSet::new(), BTreeSet::new());
        for input in self.planner.parts_of_load() {
            named.insert(input.source);
            if let FileState::Waiting | FileState::Dispatched(_) = input.state {
                undone.insert(input.source);
            } else {
                progress.bytes += input.bytes_to_read();
            }
            progress.total_bytes += input.bytes_to_read();
        }
        progress.files = named.len() as u32;
        progress.files_done = (named.len() - undone.len()) as u32;
        load.meter.observe(now_us, progress.bytes);
        progress.mb_per_s = load.meter.mb_per_s();
        progress.seconds_left = load.meter.seconds_for(progress.total_bytes.saturating_sub(progress.bytes));
        let passed_us = now_us.saturating_sub(load.began_us);
        let is_preliminary = progress.traces > 0
            && passed_us >= load.preliminary_us
            && progress.seconds_left.is_some_and(|seconds| seconds > SOON_S);
        if is_preliminary {
            load.preliminary_us = passed_us * 3;
        }
        self.watch_memory(progress.bytes, progress.total_bytes);
        if !was_reported_lately {
            self.tell(PoolEvent::Progress(progress));
        }
        if is_preliminary {
            self.tell(PoolEvent::Preliminary);
        }
    }

    /// Looks whether what is being read will fit; if not, reading stops.
    fn watch_memory(&mut self, bytes: u64, total_bytes: u64) {
        let heap = self.heap_bytes();
        let Some(load) = &mut self.load else { return };
        let reading: BTreeSet<usize> = load.batches.values().map(|batch| batch.slot).collect();
        load.readers = load.readers.max(reading.len());
        if load.is_warned || load.forecast.is_some() || load.is_stopping {
            return;
        }
        // Between two rounds nobody reads, and one worker at least will read the rest.
        let limit = self.limits.memory.saturating_mul(load.readers.max(1) as u64);
        let used = MemoryUse { heap_before: load.heap_before, heap, limit, bytes, total_bytes };
        load.forecast = used.forecast();
        if load.forecast.is_some() {
            self.stop_reading();
        }
    }
}
