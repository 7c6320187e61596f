//! The accumulator: values of calls and visits, and what is counted per service.

use crate::requests::RequestRef;
use crate::summaries::section::Renaming;
use pathlight_base::statistics::{Interval, Sample, Weight, Weights, welch};
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What the values of a cell are times of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum CellKey {
    /// Calls of one service by another: the calling half alone.
    Edge {
        /// The calling service.
        caller: String,
        /// Service and operation that answer.
        callee: Endpoint,
    },
    /// Visits of a service: its own work.
    Own {
        /// Endpoint at which the service was entered.
        entry: Endpoint,
        /// Whether the visit waited for another service.
        makes_calls: bool,
    },
}

/// The request and span of a cell's greatest value.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ServiceExemplar {
    /// The request.
    pub request: RequestRef,
    /// The calling span, or the span where the service was entered.
    pub span_id: String,
    /// The time of this call or visit in microseconds.
    pub time_us: u64,
}

/// The values of a cell: exact sums and a histogram.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cell {
    /// The values in microseconds.
    pub us: Sample,
    /// The reply sides of calls in microseconds ([`reply_side_us`]); none for visits.
    pub reply_us: Sample,
    /// Weight of the values in each [`bin`], in units of 1/256.
    pub histogram: BTreeMap<u16, u64>,
    /// The greatest value (ties: the smaller ids); `None` if all are 0.
    pub exemplar: Option<ServiceExemplar>,
}

/// A time that is summed within each request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum TimeKey {
    /// Own work of a service.
    Work(String),
    /// What calls of the second service by the first one take outside its spans.
    Wait(String, String),
}

/// What is counted of the visits that enter a service at one endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct EntryCounts {
    /// Requests with such a visit.
    pub requests: Weights,
    /// The visits.
    pub visits: Weights,
    /// Visits by the call of another service that started last; `None`: they make no call.
    pub last_calls: BTreeMap<Option<Endpoint>, Weights>,
    /// For each endpoint of another service, the visits that call it.
    pub calling: BTreeMap<Endpoint, Weights>,
}

/// What is counted of one service.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ServiceCounts {
    /// Latencies of the requests that use it, in microseconds.
    pub latency_us: Sample,
    /// How often the service was entered.
    pub visits: Weights,
    /// Visits with an error that begins in the service.
    pub failed: Weights,
    /// Calls of other services without a span of the calling half.
    pub bare_calls: u64,
}

/// What is summed of a service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceSums<'a> {
    /// Name of the service.
    pub service: &'a str,
    /// Requests that use it.
    pub requests: u64,
    /// How often the service was entered.
    pub visits: u64,
    /// Visits with an error that begins in the service.
    pub failed: u64,
    /// Time on critical paths in its spans, but for those that wait for other services; microseconds. Not the own time of
    /// `diagnosis`.
    pub own_us: u128,
}

/// What is summed of the calls of one operation by one service.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CallSums<'a> {
    /// The calling service.
    pub caller: &'a str,
    /// The service that answers.
    pub service: &'a str,
    /// The operation that answers.
    pub operation: &'a str,
    /// Number of calls.
    pub calls: u64,
    /// Time on critical paths in their calling halves, outside what answers; microseconds.
    pub us: u128,
}

/// The times of some requests by call and visit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ServicesPartial {
    pub(super) requests: Weights,
    /// Their latencies in microseconds; squares are missing in what is coarse.
    pub(super) latency_us: Sample,
    // Of each root endpoint there are few in a summary, and a map has room for eleven: boxes keep that small.
    pub(super) cells: BTreeMap<CellKey, Box<Cell>>,
    pub(super) services: BTreeMap<String, Box<ServiceCounts>>,
    /// Times summed within each request, over all requests; a request without one counts as 0.
    pub(super) by_request: BTreeMap<TimeKey, Box<Sample>>,
    /// Visits by the endpoint at which they enter a service.
    pub(super) entries: BTreeMap<Endpoint, Box<EntryCounts>>,
    /// Some of it is of a summary that has neither reply sides nor entries nor times by request, so nothing is concluded
    /// from these.
    pub(super) is_coarse: bool,
}

impl EntryCounts {
    fn is_sound(&self) -> bool {
        let counts = self.last_calls.values().chain(self.calling.values());
        self.requests.seen <= self.visits.seen && counts.copied().all(|some| some.may_be_among(&self.visits))
    }

    fn merge(&mut self, other: EntryCounts) {
        self.requests.merge(&other.requests);
        self.visits.merge(&other.visits);
        for (call, visits) in other.last_calls {
            self.last_calls.entry(call).or_default().merge(&visits);
        }
        for (call, visits) in other.calling {
            self.calling.entry(call).or_default().merge(&visits);
        }
    }
}

impl ServicesPartial {
    /// Returns whether its numbers may belong together: a part from a file may be damaged by hand.
    pub fn is_sound(&self) -> bool {
        self.services.values().all(|counts| counts.failed.may_be_among(&counts.visits))
            && self.entries.values().all(|counts| counts.is_sound())
    }
}

/// Returns how much of the time `us` that a call takes outside its answer comes after it, in proportion to the times
/// from the start of the call to that of the answer and from the end of the answer to that of the call; half of it if
/// both are 0. All times in microseconds.
pub(super) fn reply_side_us(us: u64, before_us: u64, after_us: u64) -> u64 {
    match u128::from(before_us) + u128::from(after_us) {
        0 => us / 2,
        outside => (u128::from(us) * u128::from(after_us) / outside) as u64,
    }
}

/// The mantissas at which the eighths of an octave begin: 2^(63 + j / 8), rounded up.
const EIGHTHS: [u64; 7] = [
    0x8b95_c1e3_ea8b_d6e7,
    0x9837_f051_8db8_a970,
    0xa5fe_d6a9_b151_38eb,
    0xb504_f333_f9de_6485,
    0xc567_2a11_5506_dade,
    0xd744_fcca_d69d_6af5,
    0xeac0_c6e7_dd24_392f,
];

/// Returns the bin of a time: 0 for 0, else 1 + floor(8 log2 us), found by comparing integers.
pub(super) fn bin(us: u64) -> u16 {
    let Some(octave) = us.checked_ilog2() else { return 0 };
    let mantissa = us << (63 - octave);
    let eighth = EIGHTHS.iter().take_while(|&&begin| mantissa >= begin).count();
    1 + 8 * octave as u16 + eighth as u16
}

impl Cell {
    /// Adds one value, but for its exemplar.
    pub fn add(&mut self, us: u64, weight: Weight) {
        self.us.add(us, weight);
        self.count(bin(us), weight.units().into());
    }

    fn count(&mut self, bin: u16, units: u64) {
        let count = self.histogram.entry(bin).or_default();
        *count = count.saturating_add(units);
    }

    /// Returns the number of values seen.
    pub fn n(&self) -> u64 {
        self.us.n()
    }

    /// Adds the value of a call with its reply side, but for its exemplar.
    pub fn add_call(&mut self, us: u64, reply_us: u64, weight: Weight) {
        self.add(us, weight);
        self.reply_us.add(reply_us, weight);
    }

    /// Adds the values of another cell.
    pub fn merge(&mut self, other: Cell) {
        self.us.merge(&other.us);
        self.reply_us.merge(&other.reply_us);
        other.histogram.into_iter().for_each(|(bin, units)| self.count(bin, units));
        let key = |kept: &ServiceExemplar| std::cmp::Reverse(kept.time_us);
        if let Some(new) = other.exemplar
            && self.exemplar.as_ref().is_none_or(|kept| (key(&new), &new) < (key(kept), kept))
        {
            self.exemplar = Some(new);
        }
    }
}

impl ServicesPartial {
    /// Returns the same times of requests whose root endpoint has another name.
    pub(crate) fn renamed(self, renaming: Renaming<'_>) -> ServicesPartial {
        let key = |key: CellKey| match key {
            CellKey::Edge { caller, callee } => CellKey::Edge { caller, callee: renaming.name(callee) },
            CellKey::Own { entry, makes_calls } => CellKey::Own { entry: renaming.name(entry), makes_calls },
        };
        let mut out = ServicesPartial { cells: BTreeMap::new(), entries: BTreeMap::new(), ..self };
        for (of, cell) in self.cells {
            out.cells.entry(key(of)).or_default().merge(*cell);
        }
        for (entry, mut counts) in self.entries {
            let last_calls = std::mem::take(&mut counts.last_calls).into_iter();
            for (call, visits) in
                last_calls.map(|(call, visits)| (call.map(|call| renaming.name(call)), visits))
            {
                counts.last_calls.entry(call).or_default().merge(&visits);
            }
            renaming.key(&mut counts.calling, |known, visits| known.merge(&visits));
            out.entries.entry(renaming.name(entry)).or_default().merge(*counts);
        }
        out
    }

    /// Joins parts of disjoint requests.
    pub fn merge(parts: Vec<ServicesPartial>) -> ServicesPartial {
        let mut parts = parts.into_iter();
        let mut out = parts.next().unwrap_or_default();
        for part in parts {
            out.requests.merge(&part.requests);
            out.latency_us.merge(&part.latency_us);
            for (key, cell) in part.cells {
                out.cells.entry(key).or_default().merge(*cell);
            }
            for (service, counts) in part.services {
                let sums = out.services.entry(service).or_default();
                sums.latency_us.merge(&counts.latency_us);
                sums.visits.merge(&counts.visits);
                sums.failed.merge(&counts.failed);
                sums.bare_calls += counts.bare_calls;
            }
            for (key, us) in part.by_request {
                out.by_request.entry(key).or_default().merge(&us);
            }
            for (entry, counts) in part.entries {
                out.entries.entry(entry).or_default().merge(*counts);
            }
            out.is_coarse |= part.is_coarse;
        }
        out
    }

    /// Returns what is counted of each service, by name.
    pub fn services(&self) -> impl Iterator<Item = ServiceSums<'_>> {
        let mut own_us: BTreeMap<&str, u128> = BTreeMap::new();
        for (key, cell) in &self.cells {
            if let CellKey::Own { entry, .. } = key {
                let sum = own_us.entry(&entry.service).or_default();
                *sum = sum.saturating_add(cell.us.sum());
            }
        }
        self.services.iter().map(move |(service, counts)| ServiceSums {
            service,
            requests: counts.latency_us.n(),
            visits: counts.visits.seen,
            failed: counts.failed.seen,
            own_us: own_us.get(service.as_str()).copied().unwrap_or(0),
        })
    }

    /// Returns the calls between services, by caller and what answers.
    pub fn calls(&self) -> impl Iterator<Item = CallSums<'_>> {
        self.cells.iter().filter_map(|(key, cell)| {
            let CellKey::Edge { caller, callee } = key else { return None };
            let (service, operation) = callee.names();
            Some(CallSums { caller, service, operation, calls: cell.n(), us: cell.us.sum() })
        })
    }

    /// Returns the mean latency of the requests in microseconds; 0 without any.
    pub(super) fn mean_us(&self) -> f64 {
        self.latency_us.among(&self.requests).mean
    }

    /// Returns the 95 % interval of the change of the mean latency to another side, in microseconds; `None` with fewer than
    /// two requests on a side, if no latency differs from another, or if it is not known.
    pub(super) fn change_us(&self, to: &ServicesPartial) -> Option<Interval> {
        let side = |of: &ServicesPartial| of.latency_us.among(&of.requests);
        if self.is_coarse || to.is_coarse { None } else { welch(side(self), side(to)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_is_divided_as_the_times_around_the_answer_are() {
        // Of a call over [0, 10] that is answered over [6, 9], 3 of 4 ms outside are on the path.
        assert_eq!(reply_side_us(3000, 6000, 1000), 428);
        assert_eq!((reply_side_us(3000, 0, 1000), reply_side_us(3000, 1000, 0)), (3000, 0));
        assert_eq!(reply_side_us(7, 0, 0), 3);
        assert_eq!(reply_side_us(u64::MAX, u64::MAX, u64::MAX), u64::MAX / 2);
    }

    #[test]
    fn bins_are_eighths_of_an_octave() {
        assert_eq!([0, 1, 2, 3, 4].map(bin), [0, 1, 9, 13, 17]);
        // 2^(20 + 3 / 8) = 1,359,834.9.
        assert_eq!([1_359_834, 1_359_835].map(bin), [163, 164]);
        assert_eq!(bin(u64::MAX), 512);
        let mut last = 0;
        for us in 0..200_000u64 {
            let now = bin(us);
            assert!(now >= last);
            if us > 0 {
                let exact = 8.0 * (us as f64).log2();
                assert!((exact.floor() - f64::from(now - 1)).abs() < 1.0 + f64::EPSILON, "{us}");
            }
            last = now;
        }
    }
}
