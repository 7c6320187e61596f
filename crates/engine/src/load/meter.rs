//! Measures the speed of a load.

/// The smoothed speed of a load whose progress is reported now and then. A change of speed shows within some seconds.
#[derive(Clone, Debug, Default)]
pub struct Meter {
    /// The last reading: time in microseconds, and bytes.
    last: Option<(u64, u64)>,
    bytes_per_us: Option<f64>,
}

impl Meter {
    /// After this many microseconds an old speed counts 1/e.
    const MEMORY_US: u64 = 2_000_000;
    /// Two readings that are closer than this, in microseconds, tell nothing.
    const SHORTEST_US: u64 = 50_000;

    /// Takes a reading: at time `now_us`, `bytes` bytes were read. Fewer bytes than before mean that something is read
    /// again; the measurement then starts anew.
    pub fn observe(&mut self, now_us: u64, bytes: u64) {
        let Some((then_us, before)) = self.last else {
            self.last = Some((now_us, bytes));
            return;
        };
        if bytes < before {
            self.last = Some((now_us, bytes));
            return;
        }
        let passed_us = now_us.saturating_sub(then_us);
        if passed_us < Self::SHORTEST_US {
            return;
        }
        let speed = (bytes - before) as f64 / passed_us as f64;
        let weight = (-(passed_us as f64) / Self::MEMORY_US as f64).exp();
        let smooth = self.bytes_per_us.map_or(speed, |old| old * weight + speed * (1.0 - weight));
        self.bytes_per_us = Some(smooth);
        self.last = Some((now_us, bytes));
    }

    /// Returns the speed in megabytes (10^6) a second, which is bytes a microsecond; 0 as long as nothing is known.
    pub fn mb_per_s(&self) -> f64 {
        self.bytes_per_us.unwrap_or(0.0)
    }

    /// Returns the seconds that `bytes` more will take; `None` as long as nothing is known.
    pub fn seconds_for(&self, bytes: u64) -> Option<f64> {
        self.bytes_per_us.filter(|&speed| speed > 0.0).map(|speed| bytes as f64 / speed / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_speed_is_shown_as_it_is_and_a_new_one_is_followed() {
        let mut meter = Meter::default();
        assert_eq!((meter.mb_per_s(), meter.seconds_for(1)), (0.0, None));
        let mut bytes = 0;
        for tick in 0..100 {
            meter.observe(tick * 100_000, bytes);
            bytes += 10_000_000;
        }
        assert!((meter.mb_per_s() - 100.0).abs() < 1e-9);
        assert!((meter.seconds_for(200_000_000).unwrap() - 2.0).abs() < 1e-9);
        for tick in 100..200 {
            meter.observe(tick * 100_000, bytes);
            bytes += 1_000_000;
        }
        assert!((meter.mb_per_s() - 10.0).abs() < 1.0, "{}", meter.mb_per_s());
    }

    #[test]
    fn reading_again_from_an_earlier_place_is_no_negative_speed() {
        let mut meter = Meter::default();
        for (at_us, bytes) in [(0, 0), (100_000, 1000), (200_000, 500), (300_000, 1500)] {
            meter.observe(at_us, bytes);
        }
        assert!((meter.mb_per_s() - 0.01).abs() < 1e-9);
    }
}
