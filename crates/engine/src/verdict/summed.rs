//! Calls between services and visits of services: what explains a change.

use super::cells::{Cell, CellKey, EntryCounts, ServiceCounts, ServiceExemplar, TimeKey};
use crate::summaries::section::{ByRoot, Kind, Renaming, RootSums};
use crate::summaries::{Lacks, Summary};
use crate::verdict::ServicesPartial;
use pathlight_base::encoding::{self, Damaged};
use pathlight_base::statistics::{Moments, Sample, Weight, Weights};
use pathlight_trace::Endpoint;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;

impl RootSums for ServicesPartial {
    const KIND: Kind = Kind { name: "services", version: 3, words: "calls between services" };

    fn join(parts: Vec<ServicesPartial>) -> ServicesPartial {
        ServicesPartial::merge(parts)
    }

    fn is_sound(&self) -> bool {
        ServicesPartial::is_sound(self)
    }

    fn renamed(self, renaming: Renaming<'_>) -> ServicesPartial {
        ServicesPartial::renamed(self, renaming)
    }

    fn of_stored(version: u32, bytes: &[u8]) -> Result<ByRoot<ServicesPartial>, Damaged> {
        fn read<T: DeserializeOwned + Into<ServicesPartial>>(
            bytes: &[u8],
        ) -> Result<ByRoot<ServicesPartial>, Damaged> {
            let roots: ByRoot<T> = encoding::read(bytes)?;
            Ok(roots.into_iter().map(|(root, sums)| (root, sums.into())).collect())
        }
        match version {
            0 | 1 => read::<Version1>(bytes),
            2 => read::<Version2>(bytes),
            _ => encoding::read(bytes),
        }
    }
}

/// Calls and visits as they were summed without weights.
#[derive(Deserialize)]
struct Version2 {
    requests: u64,
    latency_us: Moments,
    cells: BTreeMap<CellKey, Cell2>,
    services: BTreeMap<String, Service1>,
    by_request: BTreeMap<TimeKey, Moments>,
    entries: BTreeMap<Endpoint, Entry2>,
    is_coarse: bool,
}

#[derive(Deserialize)]
struct Cell2 {
    n: u64,
    us: Moments,
    reply_us: Moments,
    histogram: BTreeMap<u16, u64>,
    exemplar: Option<ServiceExemplar>,
}

#[derive(Deserialize)]
struct Entry2 {
    requests: u64,
    visits: u64,
    last_calls: BTreeMap<Option<Endpoint>, u64>,
    calling: BTreeMap<Endpoint, u64>,
}

/// Calls and visits as they were summed without reply sides, times by request and entries.
#[derive(Deserialize)]
pub(crate) struct Version1 {
    requests: u64,
    latency_sum_us: u128,
    cells: BTreeMap<CellKey, Cell1>,
    services: BTreeMap<String, Service1>,
}

#[derive(Deserialize)]
struct Cell1 {
    n: u64,
    us: Moments,
    histogram: BTreeMap<u16, u64>,
    exemplar: Option<ServiceExemplar>,
}

#[derive(Deserialize)]
struct Service1 {
    requests: u64,
    latency_sum_us: u128,
    visits: u64,
    failed: u64,
    bare_calls: u64,
}

impl From<Version1> for ServicesPartial {
    fn from(sums: Version1) -> ServicesPartial {
        let cell = |Cell1 { n, us, histogram, exemplar }| Cell2 {
            n,
            us,
            reply_us: Moments::default(),
            histogram,
            exemplar,
        };
        ServicesPartial::from(Version2 {
            requests: sums.requests,
            latency_us: Moments { sum: sums.latency_sum_us, sum_sq: 0 },
            cells: sums.cells.into_iter().map(|(key, of)| (key, cell(of))).collect(),
            services: sums.services,
            by_request: BTreeMap::new(),
            entries: BTreeMap::new(),
            is_coarse: true,
        })
    }
}

impl From<Version2> for ServicesPartial {
    fn from(sums: Version2) -> ServicesPartial {
        let units = u64::from(Weight::UNITS);
        let cell = |(key, of): (CellKey, Cell2)| {
            let reply_n = if matches!(key, CellKey::Edge { .. }) { of.n } else { 0 };
            let cell = Cell {
                us: Sample::counted(of.n, of.us),
                reply_us: Sample::counted(reply_n, of.reply_us),
                histogram: of.histogram.into_iter().map(|(bin, n)| (bin, n.saturating_mul(units))).collect(),
                exemplar: of.exemplar,
            };
            (key, Box::new(cell))
        };
        let service = |of: Service1| ServiceCounts {
            latency_us: Sample::counted(of.requests, Moments { sum: of.latency_sum_us, sum_sq: 0 }),
            visits: Weights::of_ones(of.visits),
            failed: Weights::of_ones(of.failed),
            bare_calls: of.bare_calls,
        };
        let entry = |of: Entry2| EntryCounts {
            requests: Weights::of_ones(of.requests),
            visits: Weights::of_ones(of.visits),
            last_calls: of.last_calls.into_iter().map(|(call, n)| (call, Weights::of_ones(n))).collect(),
            calling: of.calling.into_iter().map(|(call, n)| (call, Weights::of_ones(n))).collect(),
        };
        ServicesPartial {
            requests: Weights::of_ones(sums.requests),
            latency_us: Sample::counted(sums.requests, sums.latency_us),
            cells: sums.cells.into_iter().map(cell).collect(),
            services: sums.services.into_iter().map(|(name, of)| (name, Box::new(service(of)))).collect(),
            // In how many requests a time occurs is not said, and nobody asks.
            by_request: sums
                .by_request
                .into_iter()
                .map(|(key, of)| (key, Box::new(Sample::counted(0, of))))
                .collect(),
            entries: sums.entries.into_iter().map(|(name, of)| (name, Box::new(entry(of)))).collect(),
            is_coarse: sums.is_coarse,
        }
    }
}

impl Summary {
    /// Returns calls between services and visits of services, in the requests of one root endpoint or of all together.
    ///
    /// # Errors
    /// [`Lacks`].
    pub fn services(&self, root: Option<&Endpoint>) -> Result<ServicesPartial, Lacks> {
        self.sums(&self.sections.services, root)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::cells::bin;

    /// A cell of version 1: its number of values, their sums, their histogram, its exemplar.
    type CellBytes = (u64, Moments, BTreeMap<u16, u64>, Option<ServiceExemplar>);

    #[test]
    fn sums_of_version_1_are_read_and_marked_as_coarse() {
        let key = CellKey::Edge { caller: "f".to_owned(), callee: Endpoint::new("cart", "get") };
        let mut new = ServicesPartial { requests: Weights::of_ones(1), ..ServicesPartial::default() };
        new.cells.entry(key.clone()).or_default().add_call(9, 4, Weight::ONE);
        let cell = &new.cells[&key];
        let of_cell: CellBytes = (1, Moments { sum: 9, sum_sq: 81 }, BTreeMap::from([(bin(9), 1)]), None);
        let old = (1_u64, 9_u128, BTreeMap::from([(key.clone(), of_cell)]), BTreeMap::<String, u8>::new());
        let root = Endpoint::new("f", "GET /");
        let bytes = encoding::write(&BTreeMap::from([(root.clone(), old)]));
        let read =
            <ByRoot<ServicesPartial> as crate::summaries::section::Section>::of_stored(1, &bytes).unwrap();
        let read = &read[&root];
        assert!(read.is_coarse && (read.requests.seen, read.latency_us.sum()) == (1, 9));
        assert_eq!((&read.cells[&key].us, &read.cells[&key].histogram), (&cell.us, &cell.histogram));
        // A sum of both is coarse too.
        assert!(ServicesPartial::merge(vec![new, read.clone()]).is_coarse);
    }
}
