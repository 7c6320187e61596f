//! Normal requests that are kept to stand beside anomalous ones.

use super::call_tree::{RequestFacts, Trained};
use super::paper::FeatureCell;
use super::paper::path_baseline::log_us;
use super::sets::{NearestSet, PathSets};
use crate::requests::RequestRef;
use pathlight_base::steps::Pace;
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

/// Finds examples, made once for some.
pub struct ExampleSearch<'a> {
    examples: &'a Examples,
    sets: NearestSet,
}

impl Examples {
    /// Keeps some of those training requests that are normal by their verdicts: of the roots, as call paths, that are wanted.
    pub async fn of_normal(
        facts: &RequestFacts,
        trained: &[Trained],
        is_wanted: impl Fn(u32) -> bool,
        pace: &mut Pace,
    ) -> Examples {
        let (mut of_row, mut normal) = (Vec::new(), Vec::new());
        for trained in trained.iter().filter(|trained| trained.verdict.p() > 0.05) {
            let row = &facts.rows[trained.row as usize];
            if is_wanted(row.root) {
                facts.row(trained.row as usize, &mut of_row);
                normal.push((&row.facts.request, facts.self_times(&of_row)));
                pace.spend(of_row.len()).await;
            }
        }
        Examples::of(&normal)
    }

    /// Keeps some of these requests, which come with times by call path.
    fn of(requests: &[(&RequestRef, Vec<FeatureCell>)]) -> Examples {
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

    /// Returns whether there is none.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Returns what finds the nearest one; `paths` is the number of call paths.
    pub fn search(&self, paths: usize) -> ExampleSearch<'_> {
        ExampleSearch { examples: self, sets: NearestSet::new(&self.sets, paths) }
    }
}

impl<'a> ExampleSearch<'a> {
    /// Returns the request most like one with these call paths and `unknown` others: of the nearest set of call paths
    /// the one whose times are nearest, by the mean difference of logarithms. `None` if none has a call path in common with it.
    pub fn nearest(
        &self,
        cells: &[FeatureCell],
        unknown: u32,
        not: Option<&RequestRef>,
    ) -> Option<&'a RequestRef> {
        let Examples { sets, kept } = self.examples;
        let known: Vec<u32> = cells.iter().map(|cell| cell.path).collect();
        let (set, like) = self.sets.nearest(sets, (&known, unknown), None)?;
        if like.common == 0 {
            return None;
        }
        let list = &sets.lists[set as usize];
        let mut best: Option<(f64, &RequestRef)> = None;
        for (request, times) in kept[set as usize].iter().filter(|(request, _)| Some(request) != not) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_example_has_a_call_path_in_common() {
        let request = |id: &str| RequestRef { trace_id: id.into(), root_span_id: "1".into(), latency_us: 9 };
        let cells = |cells: &[(u32, u64)]| cells.iter().map(|&(path, us)| FeatureCell { path, us }).collect();
        let requests = ["a", "b", "c", "d"].map(request);
        let times: [Vec<FeatureCell>; 4] =
            [&[(0, 10), (1, 10)][..], &[(0, 90), (1, 90)], &[(0, 10)], &[(2, 10)]].map(cells);
        let examples = Examples::of(&requests.iter().zip(times).collect::<Vec<_>>());
        let search = examples.search(4);
        let nearest = |of: &[(u32, u64)], unknown, not: Option<usize>| {
            let found = search.nearest(&cells(of), unknown, not.map(|at| &requests[at]));
            found.map(|found| found.trace_id.as_str())
        };
        assert_eq!(
            nearest(&[(0, 80), (1, 80)], 0, None),
            Some("b"),
            "the times of b are nearer than those of a"
        );
        assert_eq!(nearest(&[(0, 80), (1, 80)], 0, Some(1)), Some("a"));
        assert_eq!(nearest(&[(0, 10)], 1, None), Some("c"));
        assert_eq!(nearest(&[(3, 10)], 0, None), None, "d is as far as the others");
        assert_eq!(nearest(&[], 2, None), None);
    }
}
