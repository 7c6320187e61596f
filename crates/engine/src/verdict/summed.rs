//! Calls between services and visits of services: what explains a change.

use super::cells::{Cell, CellKey, ServiceCounts, ServiceExemplar};
use crate::summaries::section::{ByRoot, Kind, RootSums};
use crate::summaries::{Lacks, Summary};
use crate::verdict::ServicesPartial;
use pathlight_base::encoding::{self, Damaged};
use pathlight_base::statistics::Moments;
use pathlight_trace::Endpoint;
use serde::Deserialize;
use std::collections::BTreeMap;

impl RootSums for ServicesPartial {
    const KIND: Kind = Kind { name: "services", version: 2, words: "calls between services" };

    fn join(parts: Vec<ServicesPartial>) -> ServicesPartial {
        ServicesPartial::merge(parts)
    }

    fn is_sound(&self) -> bool {
        ServicesPartial::is_sound(self)
    }

    fn of_stored(version: u32, bytes: &[u8]) -> Result<ByRoot<ServicesPartial>, Damaged> {
        if version >= 2 {
            return encoding::read(bytes);
        }
        let roots: ByRoot<Version1> = encoding::read(bytes)?;
        Ok(roots.into_iter().map(|(root, sums)| (root, sums.into())).collect())
    }
}

/// Calls and visits as they were summed without reply sides, times by request and entries.
#[derive(Deserialize)]
pub(crate) struct Version1 {
    requests: u64,
    latency_sum_us: u128,
    cells: BTreeMap<CellKey, Cell1>,
    services: BTreeMap<String, ServiceCounts>,
}

#[derive(Deserialize)]
struct Cell1 {
    n: u64,
    us: Moments,
    histogram: BTreeMap<u16, u64>,
    exemplar: Option<ServiceExemplar>,
}

impl From<Version1> for ServicesPartial {
    fn from(sums: Version1) -> ServicesPartial {
        let cell = |Cell1 { n, us, histogram, exemplar }| Cell {
            n,
            us,
            reply_us: Moments::default(),
            histogram,
            exemplar,
        };
        ServicesPartial {
            requests: sums.requests,
            latency_sum_us: sums.latency_sum_us,
            cells: sums.cells.into_iter().map(|(key, of)| (key, cell(of))).collect(),
            services: sums.services,
            is_coarse: true,
            ..ServicesPartial::default()
        }
    }
}

impl Summary {
    /// Returns calls between services and visits of services, in the requests of one root endpoint or of all together.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn services(&self, root: Option<&Endpoint>) -> Result<ServicesPartial, Lacks> {
        self.sections.services.of(root)
    }
}
