//! Which worker reads what, and how fast it goes: plain arithmetic, tested natively.

use pathlight_model::sort::Arrange;

/// Files up to this many bytes are dealt in batches.
const SMALL: u64 = 256 << 10;
/// Bytes of a batch, at least and at most.
const BATCH: (u64, u64) = (64 << 10, 4 << 20);
/// Files of a batch at most.
const BATCH_FILES: usize = 256;

/// Deals things of these sizes for some workers who each take the next unit when they are free: the largest first, each
/// alone, so that none is begun late; then the small ones in batches. Returns units of indices.
pub fn deal(sizes: &[u64], workers: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.arrange_by_key(|&index| (std::cmp::Reverse(sizes[index]), index));
    let first_small = order.partition_point(|&index| sizes[index] > SMALL);
    let (large, small) = order.split_at(first_small);
    let small_bytes: u64 = small.iter().map(|&index| sizes[index]).sum();
    let shares = workers.max(1) as u64 * 4;
    let bytes = (small_bytes / shares).clamp(BATCH.0, BATCH.1);
    let files = small.len().div_ceil(shares as usize).clamp(1, BATCH_FILES);
    let mut units: Vec<Vec<usize>> = large.iter().map(|&index| vec![index]).collect();
    let mut batch: Vec<usize> = Vec::new();
    let mut batched = 0;
    for &index in small {
        if !batch.is_empty() && (batch.len() >= files || batched + sizes[index] > bytes) {
            units.push(std::mem::take(&mut batch));
            batched = 0;
        }
        batch.push(index);
        batched += sizes[index];
    }
    if !batch.is_empty() {
        units.push(batch);
    }
    units
}

/// Speed of something that is told now and then how far it is; smooth, but it follows within some seconds.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    last: Option<(f64, u64)>,
    bytes_per_ms: Option<f64>,
}

impl Meter {
    /// How much an old speed still counts after this many milliseconds: 1/e.
    const MEMORY_MS: f64 = 2000.0;
    /// Below this many milliseconds two readings say nothing.
    const SHORTEST_MS: f64 = 50.0;

    /// At this time, this many bytes were read. Fewer than before (something is read again) starts anew.
    pub fn observe(&mut self, now_ms: f64, bytes: u64) {
        let Some((then_ms, before)) = self.last else {
            self.last = Some((now_ms, bytes));
            return;
        };
        if bytes < before {
            self.last = Some((now_ms, bytes));
            return;
        }
        let passed_ms = now_ms - then_ms;
        if passed_ms < Self::SHORTEST_MS {
            return;
        }
        let speed = (bytes - before) as f64 / passed_ms;
        let weight = (-passed_ms / Self::MEMORY_MS).exp();
        let smooth = self.bytes_per_ms.map_or(speed, |old| old * weight + speed * (1.0 - weight));
        self.bytes_per_ms = Some(smooth);
        self.last = Some((now_ms, bytes));
    }

    /// Megabytes (10^6) a second; 0 as long as nothing is known.
    pub fn mb_per_s(&self) -> f64 {
        self.bytes_per_ms.unwrap_or(0.0) / 1000.0
    }

    /// Seconds that `bytes` more will take; `None` as long as nothing is known.
    pub fn seconds_for(&self, bytes: u64) -> Option<f64> {
        self.bytes_per_ms.filter(|&speed| speed > 0.0).map(|speed| bytes as f64 / speed / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_dealt_once_the_large_ones_first_and_alone() {
        let mut sizes = vec![10; 1000];
        sizes.extend([5 << 20, 1 << 20, 9 << 20]);
        let units = deal(&sizes, 2);
        assert_eq!(units[..3], [vec![1002], vec![1000], vec![1001]]);
        let mut all: Vec<usize> = units.concat();
        all.sort_unstable();
        assert_eq!(all, (0..sizes.len()).collect::<Vec<_>>());
    }

    #[test]
    fn small_files_make_batches_enough_for_every_worker() {
        let units = deal(&vec![1000; 4000], 4);
        assert!(units.len() >= 16, "{} units", units.len());
        assert!(units.iter().all(|unit| unit.len() <= BATCH_FILES));
        let units = deal(&vec![SMALL; 100], 1);
        assert!(units.iter().all(|unit| unit.len() as u64 * SMALL <= BATCH.1));
        assert_eq!(deal(&[1, 2], 8).len(), 2);
        assert!(deal(&[], 8).is_empty());
    }

    #[test]
    fn a_steady_speed_is_shown_as_it_is_and_a_new_one_is_followed() {
        let mut meter = Meter::default();
        assert_eq!((meter.mb_per_s(), meter.seconds_for(1)), (0.0, None));
        let mut bytes = 0;
        for tick in 0..100 {
            meter.observe(f64::from(tick) * 100.0, bytes);
            bytes += 10_000_000;
        }
        assert!((meter.mb_per_s() - 100.0).abs() < 1e-9);
        assert!((meter.seconds_for(200_000_000).unwrap() - 2.0).abs() < 1e-9);
        for tick in 100..200 {
            meter.observe(f64::from(tick) * 100.0, bytes);
            bytes += 1_000_000;
        }
        assert!((meter.mb_per_s() - 10.0).abs() < 1.0, "{}", meter.mb_per_s());
    }

    #[test]
    fn reading_again_from_an_earlier_place_is_no_negative_speed() {
        let mut meter = Meter::default();
        for (at_ms, bytes) in [(0.0, 0), (100.0, 1000), (200.0, 500), (300.0, 1500)] {
            meter.observe(at_ms, bytes);
        }
        assert!((meter.mb_per_s() - 0.01).abs() < 1e-9);
    }
}
