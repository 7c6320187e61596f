//! How much slower services and calls may become before a percentile of the latency exceeds a limit.

use super::{ChangeOf, Changes, LatencyChange, Quantile, SubjectChange, SubjectTime};
use crate::verdict::{ServicePart, Subject};
use pathlight_trace::Endpoint;
use serde::{Deserialize, Serialize};

/// What becomes slower.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Slower {
    /// The own work of a service, at all of its endpoints.
    Service(String),
    /// All calls of an endpoint, with all that they wait for.
    Calls(Endpoint),
}

impl Slower {
    /// Returns the change with which it takes so many percent longer.
    pub fn changes(&self, percent: u32) -> Changes {
        let share_ppm = 10_000 * i64::from(percent);
        match self {
            Slower::Service(service) => {
                let subject = Subject { service: service.clone(), part: ServicePart::Own };
                let change = SubjectChange { subject, time: SubjectTime::By { share_ppm, add_us: 0 } };
                Changes { subjects: vec![change], ..Changes::default() }
            }
            Slower::Calls(Endpoint { service, operation }) => {
                let change = LatencyChange {
                    service: service.clone(),
                    operation: operation.clone(),
                    of: ChangeOf::WholeCall,
                    share_ppm,
                    add_us: 0,
                };
                Changes { latencies: vec![change], ..Changes::default() }
            }
        }
    }
}

/// How much slower one thing may become, alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HeadroomRow {
    /// What becomes slower.
    pub of: Slower,
    /// The greatest whole percentage by which it may take longer; `None` if even [`HeadroomReport::MOST_PERCENT`] stays
    /// within the limit.
    pub longer_percent: Option<u32>,
    /// The percentile then, in microseconds; without a percentage that of [`HeadroomReport::MOST_PERCENT`].
    pub then_us: f64,
}

impl HeadroomRow {
    /// Returns how many times as long as now it may take; `None` beyond what was tried.
    pub fn times(&self) -> Option<f64> {
        self.longer_percent.map(|percent| 1.0 + f64::from(percent) / 100.0)
    }
}

/// How much slower services and calls may become before a percentile of the latency exceeds a limit.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeadroomReport {
    /// Selected requests.
    pub requests: u64,
    /// The percentile of the limit.
    pub quantile: Quantile,
    /// The limit in microseconds.
    pub limit_us: u64,
    /// The percentile as it is, in microseconds.
    pub before_us: f64,
    /// Services and calls, the least headroom first (ties: the greater percentile, then by name); empty if the limit is exceeded
    /// as it is.
    pub rows: Vec<HeadroomRow>,
}

impl HeadroomReport {
    /// The greatest percentage that is tried: eleven times as long.
    pub const MOST_PERCENT: u32 = 1000;

    /// Returns whether the limit is exceeded as it is.
    pub fn is_exceeded(&self) -> bool {
        self.requests > 0 && self.before_us > self.limit_us as f64
    }
}
