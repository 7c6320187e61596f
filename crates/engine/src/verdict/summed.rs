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
            latency_us: Moments { sum: sums.latency_sum_us, sum_sq: 0 },
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

#[cfg(test)]
mod tests {
    use super::*;

    /// A cell of version 1: its number of values, their sums, their histogram, its exemplar.
    type CellBytes = (u64, Moments, BTreeMap<u16, u64>, Option<ServiceExemplar>);

    #[test]
    fn sums_of_version_1_are_read_and_marked_as_coarse() {
        let key = CellKey::Edge { caller: "f".to_owned(), callee: Endpoint::new("cart", "get") };
        let mut new = ServicesPartial { requests: 1, ..ServicesPartial::default() };
        new.cells.entry(key.clone()).or_default().add_call(9, 4);
        let cell = &new.cells[&key];
        let of_cell: CellBytes = (cell.n, cell.us, cell.histogram.clone(), None);
        let old = (
            1_u64,
            9_u128,
            BTreeMap::from([(key.clone(), of_cell)]),
            BTreeMap::<String, ServiceCounts>::new(),
        );
        let root = Endpoint::new("f", "GET /");
        let bytes = encoding::write(&BTreeMap::from([(root.clone(), old)]));
        let read =
            <ByRoot<ServicesPartial> as crate::summaries::section::Section>::of_stored(1, &bytes).unwrap();
        let read = &read[&root];
        assert!(read.is_coarse && (read.requests, read.latency_us.sum) == (1, 9));
        assert_eq!((read.cells[&key].n, read.cells[&key].us), (cell.n, cell.us));
        // A sum of both is coarse too.
        assert!(ServicesPartial::merge(vec![new, read.clone()]).is_coarse);
    }
}
