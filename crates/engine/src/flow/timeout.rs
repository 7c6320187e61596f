//! The effect of a timeout of calls: what it would cut, and what the requests would take then (`docs/definitions/execution-flow.md` section 4).

use super::{CallTarget, CallTimeout, CallTimes, WhatIfReport};
use pathlight_base::statistics::Percentiles;
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};

/// Effect of a timeout of calls on the requests: those of an endpoint, or all into a service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TimeoutReport {
    /// Service name.
    pub service: String,
    /// Operation name; `null` if the timeout is of all calls into the service.
    pub operation: Option<String>,
    /// Selected requests.
    pub requests: u64,
    /// Such calls in them, but those that nothing waits for; a request is a call of its root endpoint.
    pub calls: u64,
    /// Latencies of the calls, in microseconds.
    pub call_latency_us: Percentiles,
    /// The least timeout that cuts at most 0.1 % of the calls, in microseconds: with fewer than 1,000 calls it cuts none.
    pub suggested_us: u64,
    /// Calls of the baseline, if it has such calls: what is suggested cuts at most 0.1 % of these.
    pub usual_calls: Option<u64>,
    /// The timeout, in microseconds: as asked for, or as suggested.
    pub timeout_us: u64,
    /// Calls that it cuts.
    pub cut_calls: u64,
    /// Requests that have such a call.
    pub cut_requests: u64,
    /// Mean duration of a retry: the mean of all calls, each cut by the timeout too, in microseconds.
    pub retry_us: u64,
    /// Durations of retries: the 2.5th, 7.5th, .. 97.5th percentile of the same, in microseconds. A call that is cut
    /// takes one of these by chance, and each as often.
    pub retry_levels_us: Vec<u64>,
    /// Latency of the requests as it is, in microseconds.
    pub latency_us: Percentiles,
    /// The same if a call that is cut fails, and its caller goes on.
    pub failing_fast_us: Percentiles,
    /// The same if a call that is cut is made once more.
    pub retried_us: Percentiles,
}

impl TimeoutReport {
    /// Of so many calls the suggested timeout cuts at most one.
    pub const SUGGESTED_CUTS_ONE_OF: usize = 1_000;

    /// Levels of what a retry takes: the middles of as many equal parts of all calls.
    const RETRY_LEVELS: usize = 20;

    /// Starts from the requests as they are and the calls, sorted, with those of the baseline; the timeout is `None` if the
    /// suggested one is looked at.
    pub fn new(
        of: CallTarget,
        timeout_us: Option<u64>,
        before: &WhatIfReport,
        calls: &CallTimes,
        usual: Option<&CallTimes>,
    ) -> TimeoutReport {
        let sorted = &calls.before_us;
        let usual = usual.map(|usual| &usual.before_us).filter(|usual| !usual.is_empty());
        let known = usual.unwrap_or(sorted);
        let cut = known.len() / TimeoutReport::SUGGESTED_CUTS_ONE_OF;
        let suggested_us = known.iter().rev().nth(cut).copied().unwrap_or(0);
        let timeout_us = timeout_us.unwrap_or(suggested_us);
        let sum: u128 = sorted.iter().map(|&us| u128::from(us.min(timeout_us))).sum();
        let count = sorted.len().max(1) as u128;
        let middles = (0..TimeoutReport::RETRY_LEVELS).filter_map(|level| {
            sorted.get((2 * level + 1) * sorted.len() / (2 * TimeoutReport::RETRY_LEVELS))
        });
        let (service, operation) = match of {
            CallTarget::Endpoint(Endpoint { service, operation }) => (service, Some(operation)),
            CallTarget::Service(service) => (service, None),
        };
        TimeoutReport {
            service,
            operation,
            requests: before.requests,
            calls: sorted.len() as u64,
            call_latency_us: Percentiles::of_sorted(sorted),
            suggested_us,
            usual_calls: usual.map(|usual| usual.len() as u64),
            timeout_us,
            // A mean is never above the greatest, which is a u64.
            retry_us: ((sum + count / 2) / count) as u64,
            retry_levels_us: middles.map(|&us| us.min(timeout_us)).collect(),
            latency_us: before.before_us,
            failing_fast_us: before.before_us,
            retried_us: before.before_us,
            ..TimeoutReport::default()
        }
    }

    /// Returns the target of the calls.
    pub fn target(&self) -> CallTarget {
        match &self.operation {
            Some(operation) => CallTarget::Endpoint(Endpoint::new(&self.service, operation)),
            None => CallTarget::Service(self.service.clone()),
        }
    }

    /// Returns the timeout as a change: failing fast, or retried once.
    pub fn change(&self, is_retried: bool) -> CallTimeout {
        CallTimeout {
            of: self.target(),
            after_us: self.timeout_us,
            retry_us: if is_retried { self.retry_levels_us.clone() } else { Vec::new() },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(before_us: Vec<u64>, timeout_us: Option<u64>) -> TimeoutReport {
        let calls = CallTimes { after_us: before_us.clone(), before_us };
        let of = CallTarget::Endpoint(Endpoint::new("s", "o"));
        TimeoutReport::new(of, timeout_us, &WhatIfReport::default(), &calls, None)
    }

    #[test]
    fn the_suggested_timeout_cuts_one_of_a_thousand_calls_and_no_smaller_one_does() {
        for count in [1, 999, 1_000, 1_999, 2_000, 5_432] {
            let calls: Vec<u64> = (1..=count).map(|at| 10 * at).collect();
            let cut = |timeout_us: u64| calls.iter().filter(|us| **us > timeout_us).count() as u64;
            let suggested = report(calls.clone(), None).timeout_us;
            assert!(cut(suggested) <= count / 1_000, "{count}");
            assert!(1_000 * cut(suggested - 1) > count, "{count}");
        }
        // Equal ones are cut all or none.
        assert_eq!(report(vec![7; 3_000], None).suggested_us, 7);
        assert_eq!(
            report(Vec::new(), None),
            TimeoutReport { service: "s".into(), operation: Some("o".into()), ..TimeoutReport::default() }
        );
    }

    #[test]
    fn calls_of_a_baseline_say_which_timeout_is_suggested() {
        let times = |us: Vec<u64>| CallTimes { after_us: us.clone(), before_us: us };
        let (of, before) = (CallTarget::Service("s".to_owned()), WhatIfReport::default());
        let (slow, usual) = (times(vec![500, 600, 900]), times(vec![40, 50]));
        let with = |usual| TimeoutReport::new(of.clone(), None, &before, &slow, usual);
        let nothing = CallTimes::default();
        let known = with(Some(&usual));
        assert_eq!((known.timeout_us, known.usual_calls, known.calls), (50, Some(2), 3));
        // A retry takes what a call takes here.
        assert_eq!(known.retry_us, 50);
        let unknown = with(Some(&nothing));
        assert_eq!((unknown.timeout_us, unknown.usual_calls), (900, None));
        assert_eq!(unknown, with(None));
    }

    #[test]
    fn a_retry_takes_what_calls_take_that_are_cut_too() {
        let of = |timeout_us| report(vec![10, 20, 100], Some(timeout_us)).retry_us;
        assert_eq!([of(1_000), of(40), of(5)], [43, 23, 5]);
        let few = report(vec![10, 20, 100], Some(40));
        let levels = few.change(true).retry_us;
        assert_eq!(levels, [[10; 7].as_slice(), &[20; 6], &[40; 7]].concat());
        assert!(few.change(false).retry_us.is_empty());
        let many = report((0..1_000).collect(), Some(970));
        assert_eq!(many.retry_levels_us[..2], [25, 75]);
        assert_eq!(many.retry_levels_us[18..], [925, 970]);
    }
}
