//! Times that requests wait for services, the data behind such findings.

use super::structure::{add_bins, value_at};
use pathlight_base::statistics::log_bin;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How long requests wait for a service in calls of one endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct WaitTimes {
    /// Requests by bin of what they wait on the critical path.
    pub(super) bins: BTreeMap<u32, u64>,
    pub(super) is_unsure: bool,
}

impl WaitTimes {
    pub fn add(&mut self, us: u64, is_certain: bool) {
        *self.bins.entry(log_bin(us)).or_default() += 1;
        self.is_unsure |= !is_certain;
    }

    pub fn merge(&mut self, other: WaitTimes) {
        add_bins(&mut self.bins, other.bins);
        self.is_unsure |= other.is_unsure;
    }

    pub fn requests(&self) -> u64 {
        self.bins.values().sum()
    }

    pub fn median_us(&self) -> f64 {
        value_at(&self.bins, self.requests().div_ceil(2))
    }
}
