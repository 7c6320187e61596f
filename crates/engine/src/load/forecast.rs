//! The memory forecast: whether what is being loaded will fit, from what its first part took.

/// Bytes of a load that must be read before what they took tells something about the rest. A fifth of the memory there is
/// will do as well.
const TELLING_BYTES: u64 = 64 << 20;

/// A load that will not fit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryForecast {
    /// Bytes of heap that everything would take, judging by what was read until now.
    pub needed: u64,
    /// Bytes of heap there are, in the workers that read.
    pub limit: u64,
    /// Bytes read of the load's files.
    pub bytes: u64,
    /// Bytes of all files of the load.
    pub total_bytes: u64,
    /// One of so many traces would fit with room to spare; at least 2.
    pub sample: u32,
    /// Whether traces stand together in these files, so that they can be chosen by service or request type.
    pub has_whole_traces: bool,
}

/// What a load has taken until now.
#[derive(Clone, Copy, Debug, Default)]
pub struct MemoryUse {
    /// Bytes of heap of all workers before the load.
    pub heap_before: u64,
    /// Bytes of heap of all workers now.
    pub heap: u64,
    /// Bytes of heap there are, in the workers that read.
    pub limit: u64,
    /// Bytes read of the load's files.
    pub bytes: u64,
    /// Bytes of all files of the load.
    pub total_bytes: u64,
}

impl MemoryUse {
    /// Returns the forecast if the load will not fit; `None` if it will, or if it is too early to tell.
    pub fn forecast(self) -> Option<MemoryForecast> {
        let MemoryUse { heap_before, heap, limit, bytes, total_bytes } = self;
        let grown = heap.saturating_sub(heap_before);
        let is_telling = bytes >= TELLING_BYTES || grown > limit / 5;
        if !is_telling || bytes == 0 || bytes >= total_bytes {
            return None;
        }
        let left = (grown as f64 / bytes as f64 * (total_bytes - bytes) as f64) as u64;
        let needed = heap + left;
        if needed <= limit {
            return None;
        }
        // A quarter of what fits: columns double when they grow, and one worker may read twice its share. A sample that
        // ends for want of memory is worse than a smaller one. What other loads brought stays whole.
        let room = limit.saturating_sub(heap_before).max(limit / 16) as f64 / 4.0;
        let sample = ((needed - heap_before.min(needed)) as f64 / room).ceil() as u32;
        let sample = sample.max(2);
        Some(MemoryForecast { needed, limit, bytes, total_bytes, sample, has_whole_traces: true })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: u64 = 1 << 20;

    fn used(heap: u64, bytes: u64) -> MemoryUse {
        MemoryUse {
            heap_before: 0,
            heap: heap * MB,
            limit: 1000 * MB,
            bytes: bytes * MB,
            total_bytes: 10_000 * MB,
        }
    }

    #[test]
    fn a_load_that_fits_or_has_only_begun_gives_no_forecast() {
        assert_eq!(used(0, 0).forecast(), None, "nothing is read");
        assert_eq!(used(190, 60).forecast(), None, "too little is read to tell");
        assert_eq!(used(99, 1000).forecast(), None, "it fits");
        assert_eq!(used(2000, 10_000).forecast(), None, "all of it is there");
    }

    #[test]
    fn a_load_that_does_not_fit_is_reported_early_with_a_sample_that_does() {
        let forecast = used(50, 64).forecast().unwrap();
        assert_eq!((forecast.needed / MB, forecast.limit / MB), (7812, 1000));
        assert_eq!(forecast.sample, 32);
        let forecast = used(201, 10).forecast().unwrap();
        assert!(forecast.needed > 200_000 * MB, "a fifth of the memory is gone: it is clear enough");
        assert_eq!(used(101, 1000).forecast().unwrap().sample, 5, "a little too much");
    }

    #[test]
    fn what_was_there_before_stays_and_leaves_less_room() {
        let before = MemoryUse { heap_before: 500 * MB, ..used(600, 1000) };
        let forecast = before.forecast().unwrap();
        assert_eq!((forecast.needed / MB, forecast.sample), (1500, 8));
    }
}
