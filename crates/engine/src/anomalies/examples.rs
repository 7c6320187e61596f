//! Normal requests that are kept to stand beside anomalous ones.

use super::paper::FeatureCell;
use super::paper::path_baseline::log_us;
use super::sets::{NearestSet, PathSets};
use crate::requests::RequestRef;
use serde::{Deserialize, Serialize};

/// Requests kept of each set of call paths.
const REQUESTS_PER_SET: usize = 40;

/// Some requests of every set of call paths, with their self times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Examples {
    sets: PathSets,
    /// By set: requests with their times in the order of its call paths.
    kept: Vec<Vec<(RequestRef, Vec<u64>)>>,
}

impl Examples {
    /// Keeps some of these requests, which come with times by call path.
    pub fn of(requests: &[(&RequestRef, Vec<FeatureCell>)]) -> Examples {
        let (sets, set_of) = PathSets::of(requests.iter().map(|(_, cells)| (cells.as_slice(), 0)));
        let mut kept = vec![Vec::new(); sets.lists.len()];
        for ((request, cells), set) in requests.iter().zip(set_of) {
            let kept: &mut Vec<(RequestRef, Vec<u64>)> = &mut kept[set as usize];
            if kept.len() < REQUESTS_PER_SET {
                kept.push(((*request).clone(), cells.iter().map(|cell| cell.us).collect()));
            }
        }
        Examples { sets, kept }
    }

    /// Returns whether each example has a time for each call path of its set, of which there are `paths`.
    pub(super) fn is_sound(&self, paths: usize) -> bool {
        let mut sets = self.kept.iter().zip(&self.sets.lists);
        self.sets.is_sound(paths)
            && self.kept.len() == self.sets.lists.len()
            && sets.all(|(kept, list)| kept.iter().all(|(_, times)| times.len() == list.len()))
    }

    /// Returns what finds the nearest set; `paths` is the number of call paths.
    pub fn search(&self, paths: usize) -> NearestSet {
        NearestSet::new(&self.sets, paths)
    }

    /// Returns the request most like one with these call paths and `unknown` others: of the nearest set of call paths
    /// the one whose times are nearest, by the mean difference of logarithms.
    pub fn nearest(
        &self,
        search: &NearestSet,
        cells: &[FeatureCell],
        unknown: u32,
        not: Option<&RequestRef>,
    ) -> Option<&RequestRef> {
        let known: Vec<u32> = cells.iter().map(|cell| cell.path).collect();
        let (set, _) = search.nearest(&self.sets, (&known, unknown), None)?;
        let list = &self.sets.lists[set as usize];
        let mut best: Option<(f64, &RequestRef)> = None;
        for (request, times) in self.kept[set as usize].iter().filter(|(request, _)| Some(request) != not) {
            let (mut sum, mut shared) = (0.0, 0u32);
            for cell in cells {
                if let Ok(place) = list.binary_search(&cell.path) {
                    sum += (log_us(cell.us) - log_us(times[place])).abs();
                    shared += 1;
                }
            }
            let mean = sum / f64::from(shared.max(1));
            if best.is_none_or(|(least, _)| mean < least) {
                best = Some((mean, request));
            }
        }
        best.map(|(_, request)| request)
    }
}
