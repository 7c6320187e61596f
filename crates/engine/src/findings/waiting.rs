//! Waiting for a service: requests in which a call takes far longer than usual outside its callee.

use super::candidates::{Sums, mean, untested_finding};
use super::wait_times::WaitTimes;
use super::{Finding, FindingFacts, FindingPlace};
use pathlight_base::statistics::{Moments, log_bin_middle_us};
use pathlight_trace::Endpoint;

/// A wait is long from this many times the median on, and from this many microseconds on.
const LONG_RATIO: f64 = 10.0;
const LONG_US: f64 = 5_000.0;
/// The least requests with a long wait.
const LEAST: u64 = 5;

impl Sums<'_> {
    /// Finds calls that some requests wait for far longer than others do.
    pub fn waiting(&self) -> Vec<Finding> {
        self.part
            .waits
            .iter()
            .filter_map(|((call, callee), times)| self.long_waits(call, callee, times))
            .collect()
    }

    fn long_waits(&self, call: &Endpoint, callee: &str, times: &WaitTimes) -> Option<Finding> {
        let p50_us = times.median_us();
        let long = (LONG_RATIO * p50_us).max(LONG_US);
        let (mut n, mut excess, mut sum_us) = (0, Moments::default(), 0.0);
        for (&bin, &count) in &times.bins {
            let us = log_bin_middle_us(bin);
            if us >= long {
                n += count;
                sum_us += us * count as f64;
                let more = (us - p50_us) as u64;
                excess.merge(Moments {
                    sum: u128::from(more) * u128::from(count),
                    sum_sq: u128::from(more) * u128::from(more) * u128::from(count),
                });
            }
        }
        let (stake_us, interval) = mean(excess, self.part.requests);
        let facts = FindingFacts::Waiting {
            callee: callee.to_owned(),
            wait_us: sum_us / n.max(1) as f64,
            p50_us,
            is_certain: !times.is_unsure,
        };
        let place = FindingPlace::Endpoint(call.clone());
        (n >= LEAST).then(|| Finding {
            stake_us,
            interval,
            ..untested_finding(place, n, times.requests(), facts)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_that_of_the_requests() {
        let mut times = WaitTimes::default();
        [10, 20, 30, 90, 100].into_iter().for_each(|us| times.add(us, true));
        assert_eq!((times.requests(), times.median_us()), (5, 30.0));
        let mut other = WaitTimes::default();
        (0..6).for_each(|_| other.add(100, false));
        times.merge(other);
        assert_eq!((times.requests(), times.median_us(), times.is_unsure), (11, 100.0, true));
        assert_eq!(WaitTimes::default().median_us(), 0.0);
    }
}
