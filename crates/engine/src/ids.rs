//! Indices into reports, one type for each list. In messages and JSON they are plain numbers.
//!
//! [`ReportEndpoint`] counts the endpoints of one report; `pathlight_trace::EndpointId` counts those of a trace set.

use serde::{Deserialize, Serialize};

/// Index of an endpoint among the `endpoints` of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ReportEndpoint(pub u32);

/// Index of a node among the `nodes` of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u32);

impl ReportEndpoint {
    /// Returns the index for a slice.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

impl NodeId {
    /// Returns the index for a slice.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}
