//! What running calls side by side would save.

use crate::flow::{CallsBeside, Changes, Saving};
use pathlight_base::statistics::Percentiles;
use serde::{Deserialize, Serialize};

/// Calls of a parent that always run one after the other though nothing in the traces says that they must.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SerialGroup {
    /// The parent and the endpoints that it calls, in the order in which they run; one endpoint alone is called several times.
    pub calls: CallsBeside,
    /// Mean number of these calls in an invocation that makes them.
    pub mean_calls: f64,
    /// Least and greatest number of calls of an invocation that makes several.
    pub numbers: (u64, u64),
    /// Requests that would be faster if all these calls ran side by side.
    pub affected: u64,
    /// What the latency of the requests would lose, in microseconds.
    pub saved_us: Saving,
}

impl SerialGroup {
    /// Returns the changes with which all these calls run side by side.
    pub fn changes(&self) -> Changes {
        Changes { beside: vec![self.calls.clone()], ..Changes::default() }
    }
}

/// Calls that could run side by side, the greatest saving of the mean first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ParalleliseReport {
    /// Selected requests.
    pub requests: u64,
    /// Latencies of these requests as they are.
    pub latency_us: Percentiles,
    /// Groups that would save something.
    pub groups: Vec<SerialGroup>,
    /// Groups found, of which those that could save most were tried.
    pub found: u64,
    /// Those that were tried.
    pub tried: u64,
    /// Pairs of calls one after the other that are left out because an argument of the second was seen to follow from the first.
    pub dependent: u64,
}
