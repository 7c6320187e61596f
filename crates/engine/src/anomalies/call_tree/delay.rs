//! The delay of a request: microseconds beyond anything that training has seen (`docs/definitions/anomaly.md` section 3).

use super::FactKind;
use super::categories::{Counts, without};
use super::model::{State, TreeModel};
use super::tails::amount;
use crate::anomalies::sets::FOLDS;
use pathlight_base::statistics::ln;
use pathlight_trace::NO_ROW;
use std::collections::BTreeMap;

/// An endpoint and the set of calls of a span of it. Self times are compared by them, whoever called.
pub(super) type Group = (u32, u32);

/// The longest self time of a group.
#[derive(Clone, Copy, Debug, Default)]
struct Longest {
    /// Quantised logarithm of the longest with each fold left out; `None` without a training call.
    most: [Option<u16>; FOLDS],
    /// Training calls by fold.
    calls: Counts,
}

/// The longest self times of training.
#[derive(Clone, Debug, Default)]
pub(super) struct LongestTimes {
    offset_us: f64,
    /// Ascending.
    groups: Vec<Group>,
    longest: Vec<Longest>,
}

/// Returns what a self time adds to the delay of its request: the microseconds beyond the longest of training, times the share
/// of the self time that they are.
fn beyond_us(us: f64, longest_us: f64, offset_us: f64) -> f64 {
    let beyond_us = (us - longest_us).max(0.0);
    beyond_us * beyond_us / (us + offset_us)
}

impl LongestTimes {
    /// Reads them from the histograms of a model.
    pub fn new(model: &TreeModel) -> LongestTimes {
        let mut groups: BTreeMap<Group, Longest> = BTreeMap::new();
        for (cell, state) in model.dictionary.cells.iter().zip(&model.states) {
            let (FactKind::SelfTime, State::Numbers(histogram)) = (cell.kind, state) else { continue };
            let endpoint = model.dictionary.paths.nodes[cell.context as usize].endpoint;
            let longest = groups.entry((endpoint, cell.condition)).or_default();
            for (q, counts) in histogram {
                for (fold, most) in longest.most.iter_mut().enumerate() {
                    if without(counts, fold) > 0 {
                        *most = (*most).max(Some(*q));
                    }
                }
                longest.calls.iter_mut().zip(counts).for_each(|(sum, n)| *sum += n);
            }
        }
        let (groups, longest) = groups.into_iter().unzip();
        LongestTimes { offset_us: model.offset_us as f64, groups, longest }
    }

    /// Returns the number of a group; [`NO_ROW`] of one without training calls.
    pub fn number(&self, group: Group) -> u32 {
        self.groups.binary_search(&group).map_or(NO_ROW, |number| number as u32)
    }

    /// Returns the quantised logarithm of the longest self time of a group, with a fold or nothing left out, and the
    /// training calls.
    pub fn longest(&self, group: u32, left_out: Option<usize>) -> Option<(u16, u32)> {
        let longest = self.longest.get(group as usize)?;
        match left_out {
            Some(fold) => Some((longest.most[fold]?, without(&longest.calls, fold))),
            None => Some(((*longest.most.iter().max()?)?, longest.calls.iter().sum())),
        }
    }

    /// Returns the microseconds that a quantised logarithm of a self time stands for.
    pub fn us(&self, q: u16) -> f64 {
        amount(q) - self.offset_us
    }

    /// Returns what a self time of a group adds to the delay; nothing where training has no call of the group.
    pub fn beyond_us(&self, group: u32, q: u16, left_out: Option<usize>) -> f64 {
        match self.longest(group, left_out) {
            // What equals the longest adds nothing, whatever logarithms do.
            Some((longest, _)) if q > longest => beyond_us(self.us(q), self.us(longest), self.offset_us),
            _ => 0.0,
        }
    }

    /// Returns the delay of a request with these self times on its critical path, as groups and quantised logarithms.
    pub fn delay(&self, times: &[(u32, u16)], left_out: usize) -> f64 {
        let beyond_us = times.iter().map(|&(group, q)| self.beyond_us(group, q, Some(left_out)));
        let mut beyond_us: Vec<f64> = beyond_us.filter(|&us| us > 0.0).collect();
        beyond_us.sort_by(f64::total_cmp);
        ln(1.0 + beyond_us.iter().sum::<f64>() / self.offset_us)
    }
}

#[cfg(test)]
mod tests {
    use super::super::facts::{CellKey, Dictionary};
    use super::super::tails::{Histogram, Quantiser};
    use super::*;
    use crate::flame::{Context, Contexts};
    use pathlight_trace::Endpoint;

    /// Returns a model with self times of one endpoint, which is called by two others and calls nothing.
    fn model(times: [&[(u64, usize)]; 2]) -> TreeModel {
        let quantiser = Quantiser::default();
        let node = |parent, endpoint| Context { parent, endpoint, value: () };
        let histogram = |times: &[(u64, usize)]| {
            let one = |&(us, fold): &(u64, usize)| {
                let mut counts = Counts::default();
                counts[fold] = 1;
                (quantiser.of(us + 50), counts)
            };
            State::Numbers(times.iter().map(one).collect::<Histogram>())
        };
        let cell = |context| CellKey { kind: FactKind::SelfTime, context, condition: 0 };
        TreeModel {
            dictionary: Dictionary {
                paths: Contexts {
                    endpoints: ["a", "b", "g"].map(|name| Endpoint::new("s", name)).into(),
                    nodes: vec![node(NO_ROW, 0), node(NO_ROW, 1), node(0, 2), node(1, 2)],
                },
                sets: vec![Vec::new()],
                cells: vec![cell(2), cell(3)],
            },
            offset_us: 50,
            states: times.map(histogram).into(),
            ..TreeModel::default()
        }
    }

    #[test]
    fn a_delay_is_the_example_of_the_definition() {
        let longest = LongestTimes::new(&model([&[(10_000, 0), (20_000, 0)], &[(30_000, 0)]]));
        let group = longest.number((2, 0));
        assert_eq!(longest.longest(group, None), Some((1031, 3)), "calls of all callers");
        assert!((longest.us(1031) - 29_981.4).abs() < 0.1);
        let added = [1141, 1060].map(|q| longest.beyond_us(group, q, Some(1)));
        assert!((added[0] - 40_153.1).abs() < 0.1 && (added[1] - 2_543.4).abs() < 0.1, "{added:?}");
        let delay = longest.delay(&[(group, 1141), (group, 1060)], 1);
        assert!((delay - 6.7510).abs() < 1e-4, "{delay}");
        assert_eq!(delay, longest.delay(&[(group, 1060), (group, 1141)], 1));
        assert_eq!(longest.delay(&[(group, 1031)], 1), 0.0, "as long as the longest");
        assert_eq!(longest.delay(&[(NO_ROW, 2000), (longest.number((2, 1)), 2000)], 1), 0.0, "never seen");
        assert_eq!(longest.delay(&[(group, 1141)], 0), 0.0, "all calls are of the fold left out");
    }

    #[test]
    fn a_fold_left_out_takes_its_longest_time_along() {
        let longest = LongestTimes::new(&model([&[(10_000, 3), (20_000, 1)], &[(30_000, 0)]]));
        let group = longest.number((2, 0));
        let of = |us: u64| Quantiser::default().of(us + 50);
        assert_eq!(longest.longest(group, Some(0)), Some((of(20_000), 2)));
        assert_eq!(longest.longest(group, Some(1)), Some((of(30_000), 2)));
        assert!(longest.delay(&[(group, of(30_000))], 0) > 0.0);
        assert_eq!(longest.delay(&[(group, of(30_000))], 1), 0.0);
    }
}
