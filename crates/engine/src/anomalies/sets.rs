//! Sets of call paths and how alike they are.

use super::paper::FeatureCell;
use pathlight_base::sort::CompactSort as _;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Folds of the calibration.
pub const FOLDS: usize = 5;

/// Returns the fold of a trace: the CRC-32 of "f" and the canonical trace id, modulo 5.
pub fn fold(trace_id: &str) -> u8 {
    let mut crc = flate2::Crc::new();
    crc.update(b"f");
    crc.update(trace_id.as_bytes());
    (crc.sum() % FOLDS as u32) as u8
}

/// A fold that is left out; `None` leaves nothing out.
pub type LeftOut = Option<u8>;

/// A share of call paths that two sets have in common, exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Similarity {
    /// Paths in both.
    pub common: u32,
    /// Paths in either; not 0.
    pub all: u32,
}

impl Similarity {
    fn compare(self, other: Similarity) -> Ordering {
        (u64::from(self.common) * u64::from(other.all)).cmp(&(u64::from(other.common) * u64::from(self.all)))
    }

    /// Returns one minus the Jaccard index, 0 to 1.
    pub fn distance(self) -> f64 {
        f64::from(self.all - self.common) / f64::from(self.all)
    }
}

/// The distinct sets of call paths of some requests, each with the number of requests that have it, by fold.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PathSets {
    /// Ascending path numbers of each set; the sets are sorted.
    pub lists: Vec<Vec<u32>>,
    /// Requests of each set in each fold.
    pub counts: Vec<[u32; FOLDS]>,
}

/// Index that finds the set most like another one, made once for some sets.
#[derive(Clone, Debug, Default)]
pub struct NearestSet {
    /// Call paths there are.
    paths: usize,
    /// Set numbers by size.
    by_size: Vec<u32>,
}

impl PathSets {
    /// Returns the sets of rows, and which one each row has.
    pub fn of<'a>(rows: impl Iterator<Item = (&'a [FeatureCell], u8)> + Clone) -> (PathSets, Vec<u32>) {
        let list = |cells: &[FeatureCell]| cells.iter().map(|cell| cell.path).collect::<Vec<u32>>();
        let mut index: BTreeMap<Vec<u32>, u32> = rows.clone().map(|(cells, _)| (list(cells), 0)).collect();
        index.values_mut().zip(0..).for_each(|(number, next)| *number = next);
        let mut counts = vec![[0; FOLDS]; index.len()];
        let set_of = rows
            .map(|(cells, fold)| {
                let set = index[&list(cells)];
                counts[set as usize][fold as usize] += 1;
                set
            })
            .collect();
        (PathSets { lists: index.into_keys().collect(), counts }, set_of)
    }

    /// Returns whether these are sorted sets of so many call paths, each with its counts.
    pub(super) fn is_sound(&self, paths: usize) -> bool {
        let is_set = |list: &Vec<u32>| {
            list.is_sorted_by(|a, b| a < b) && list.iter().all(|&path| (path as usize) < paths)
        };
        self.counts.len() == self.lists.len()
            && self.lists.is_sorted_by(|a, b| a < b)
            && self.lists.iter().all(is_set)
    }

    /// Returns the requests that have a set, without those of a fold.
    pub fn count(&self, set: u32, without: LeftOut) -> u32 {
        let counts = &self.counts[set as usize];
        counts.iter().sum::<u32>() - without.map_or(0, |fold| counts[fold as usize])
    }

    fn is_better(&self, new: (u32, Similarity), old: (u32, Similarity), without: LeftOut) -> bool {
        let rank = |set: u32| (self.count(set, without), std::cmp::Reverse(set));
        new.1.compare(old.1).then_with(|| rank(new.0).cmp(&rank(old.0))) == Ordering::Greater
    }

    /// Returns the number of a set, if some request has it.
    pub fn find(&self, list: &[u32]) -> Option<u32> {
        self.lists.binary_search_by(|known| known.as_slice().cmp(list)).ok().map(|set| set as u32)
    }
}

impl NearestSet {
    /// Returns a search among sets over `paths` call paths.
    pub fn new(sets: &PathSets, paths: usize) -> NearestSet {
        let mut by_size: Vec<u32> = (0..sets.lists.len() as u32).collect();
        by_size.compact_sort_by_key(|&set| sets.lists[set as usize].len());
        NearestSet { paths, by_size }
    }

    /// Returns the one of the sets it was made for that is most like one of `known` path numbers (ascending) and
    /// `unknown` others; of equals the one that more requests have, then the first. `None` if nothing is left to
    /// compare with.
    pub fn nearest(
        &self,
        sets: &PathSets,
        (known, unknown): (&[u32], u32),
        without: LeftOut,
    ) -> Option<(u32, Similarity)> {
        let size = known.len() as u32 + unknown;
        if unknown == 0
            && let Some(same) = sets.find(known)
            && sets.count(same, without) > 0
        {
            return Some((same, Similarity { common: size.max(1), all: size.max(1) }));
        }
        let mut is_known = vec![false; self.paths];
        known.iter().for_each(|&path| is_known[path as usize] = true);
        let length = |at: usize| sets.lists[self.by_size[at] as usize].len() as u32;
        let mut best: Option<(u32, Similarity)> = None;
        // Outwards from the sets of the same size: sizes far apart bound how alike two sets can be.
        let middle = self.by_size.partition_point(|&set| (sets.lists[set as usize].len() as u32) < size);
        let (mut below, mut above) = (middle, middle);
        loop {
            let bound = |other: u32| Similarity { common: size.min(other), all: size.max(other).max(1) };
            let down = below.checked_sub(1).map(|at| (at, bound(length(at))));
            let up = (above < self.by_size.len()).then(|| (above, bound(length(above))));
            let (at, most) = match (down, up) {
                (Some(down), Some(up)) if down.1.compare(up.1) == Ordering::Greater => down,
                (_, Some(up)) => up,
                (Some(down), None) => down,
                (None, None) => break,
            };
            if best.is_some_and(|(_, found)| most.compare(found) == Ordering::Less) {
                break;
            }
            if at == above {
                above += 1
            } else {
                below = at
            }
            let set = self.by_size[at];
            if sets.count(set, without) == 0 {
                continue;
            }
            let common =
                sets.lists[set as usize].iter().filter(|&&path| is_known[path as usize]).count() as u32;
            let found = Similarity { common, all: (size + length(at) - common).max(1) };
            if best.is_none_or(|best| sets.is_better((set, found), best, without)) {
                best = Some((set, found));
            }
        }
        best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(paths: &[u32]) -> Vec<FeatureCell> {
        paths.iter().map(|&path| FeatureCell { path, us: 1 }).collect()
    }

    #[test]
    fn the_nearest_set_is_that_of_a_plain_comparison() {
        let mut random = pathlight_base::statistics::Random::new(5, 0, 0);
        let mut draw = |most: u64| {
            let mut list: Vec<u32> = (0..random.below(most)).map(|_| random.below(90) as u32).collect();
            list.sort_unstable();
            list.dedup();
            list
        };
        let rows: Vec<(Vec<FeatureCell>, u8)> =
            (0..60).map(|i| (cells(&draw(30)), i % FOLDS as u8)).collect();
        let (sets, set_of) = PathSets::of(rows.iter().map(|(cells, fold)| (cells.as_slice(), *fold)));
        assert_eq!(set_of.len(), 60);
        let search = NearestSet::new(&sets, 90);
        for i in 0..200u32 {
            let (query, unknown) = (draw(30), i % 3);
            let without = (i % 6 < FOLDS as u32).then_some((i % 6) as u8);
            let mut plain: Option<(u32, Similarity)> = None;
            for set in (0..sets.lists.len() as u32).filter(|&set| sets.count(set, without) > 0) {
                let list = &sets.lists[set as usize];
                let common = query.iter().filter(|path| list.contains(path)).count() as u32;
                let all = (query.len() as u32 + unknown + list.len() as u32 - common).max(1);
                let common = if query.is_empty() && list.is_empty() && unknown == 0 { 1 } else { common };
                let found = (set, Similarity { common, all });
                if plain.is_none_or(|old| sets.is_better(found, old, without)) {
                    plain = Some(found);
                }
            }
            let found = search.nearest(&sets, (&query, unknown), without);
            let distance = |found: Option<(u32, Similarity)>| found.map(|(set, like)| (set, like.distance()));
            assert_eq!(distance(found), distance(plain), "{query:?}");
        }
    }

    #[test]
    fn the_fold_of_a_trace_is_its_checksum() {
        // CRC-32 of "f1" and of "f0a", by another program.
        assert_eq!((fold("1"), fold("0a")), ((0x23a0_dee4u32 % 5) as u8, (0x56e809bdu32 % 5) as u8));
    }

    #[test]
    fn a_set_of_the_fold_left_out_does_not_count() {
        let rows = [(cells(&[0, 1]), 0), (cells(&[0, 1, 2]), 1)];
        let (sets, _) = PathSets::of(rows.iter().map(|(cells, fold)| (cells.as_slice(), *fold)));
        let search = NearestSet::new(&sets, 3);
        assert_eq!(search.nearest(&sets, (&[0, 1], 0), None).unwrap().1.distance(), 0.0);
        assert_eq!(search.nearest(&sets, (&[0, 1], 0), Some(0)).unwrap().1, Similarity { common: 2, all: 3 });
        assert_eq!(search.nearest(&sets, (&[0, 1], 1), None).unwrap().1, Similarity { common: 2, all: 3 });
    }
}
