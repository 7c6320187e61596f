//! The detector that was the default before: vectors, judged by structure and time (`docs/definitions/anomaly.md` section 6).

use super::super::sets::{LeftOut, NearestSet, PathSets, Similarity, fold};
use super::path_baseline::PathBaselines;
use super::{FeatureCell, Features};
use crate::flame::Contexts;
use crate::requests::RequestRef;
use pathlight_trace::NO_ROW;
use std::collections::BTreeMap;

/// Training requests scored at a time.
const ROWS_PER_STEP: usize = 256;

/// A trained detector: judges requests of any other set by the names of their call paths.
#[derive(Clone, Debug, Default)]
pub struct TrainedRule {
    /// The call paths seen in training.
    pub paths: Contexts<()>,
    sets: PathSets,
    baselines: PathBaselines,
    /// The training requests with their own scores, each judged without its fold; by id.
    trained: Vec<(RequestRef, Scores)>,
    /// Sorted scores of the training requests.
    structure: Vec<f64>,
    time: Vec<f64>,
}

/// Distances of a request from what is normal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// One minus the greatest Jaccard similarity of its critical call paths to those of a training request.
    pub structure: f64,
    /// Mean of the greatest distances of its known paths' times from their baselines.
    pub time: f64,
}

/// Verdict of the rule on a request.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RuleVerdict {
    /// Scores of the request.
    pub scores: Scores,
    /// Share of training requests at least as anomalous in structure.
    pub p_structure: f64,
    /// Share of training requests at least as anomalous in time.
    pub p_time: f64,
}

/// Lookup tables for judging, made once for a rule and the features it judges.
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    search: NearestSet,
    /// Of each call path of the features its number in the rule, [`NO_ROW`] where it has none.
    numbers: Vec<u32>,
}

/// Judges rows of features by a rule.
pub struct Judge<'a> {
    rule: &'a TrainedRule,
    lookup: &'a Lookup,
    own: &'a Features,
}

/// One row in the numbers of a rule.
struct Known {
    /// Cells of known paths, by path.
    cells: Vec<FeatureCell>,
    unknown: u32,
}

/// A training under way.
pub struct RuleTraining {
    rule: TrainedRule,
    search: NearestSet,
    folds: Vec<u8>,
    set_of: Vec<u32>,
    /// Requests of one set and one fold have one structure score.
    structure_of: BTreeMap<(u32, u8), f64>,
}

impl RuleTraining {
    /// Returns a training on normal requests.
    pub fn new(features: &Features) -> RuleTraining {
        let folds: Vec<u8> = features.rows.iter().map(|row| fold(&row.request.trace_id)).collect();
        let rows = (0..features.len()).map(|row| (features.row(row), folds[row]));
        let (sets, set_of) = PathSets::of(rows);
        let rule = TrainedRule {
            paths: features.paths.clone(),
            baselines: PathBaselines::learn(features, &folds, &sets, &set_of),
            trained: Vec::with_capacity(features.len()),
            sets,
            ..TrainedRule::default()
        };
        let search = NearestSet::new(&rule.sets, features.paths.nodes.len());
        RuleTraining { rule, search, folds, set_of, structure_of: BTreeMap::new() }
    }

    /// Scores some hundred requests more, each judged without its fold; true when all are.
    pub fn step(&mut self, features: &Features) -> bool {
        let from = self.rule.trained.len();
        let to = features.len().min(from + ROWS_PER_STEP);
        let mut scored = Vec::with_capacity(to - from);
        for row in from..to {
            let (cells, fold, set) = (features.row(row), self.folds[row], self.set_of[row]);
            let structure = *self.structure_of.entry((set, fold)).or_insert_with(|| {
                let list = &self.rule.sets.lists[set as usize];
                let nearest = self.search.nearest(&self.rule.sets, (list, 0), Some(fold));
                nearest.map_or(1.0, |(_, like)| like.distance())
            });
            let time = self.rule.baselines.score(cells, Some(set), Some(fold));
            scored.push((features.rows[row].request.clone(), Scores { structure, time }));
        }
        self.rule.trained.extend(scored);
        to == features.len()
    }

    /// Returns the trained rule.
    pub fn finish(self) -> TrainedRule {
        let mut rule = self.rule;
        let sorted = |of: fn(&Scores) -> f64| {
            let mut scores: Vec<f64> = rule.trained.iter().map(|(_, scores)| of(scores)).collect();
            scores.sort_by(f64::total_cmp);
            scores
        };
        (rule.structure, rule.time) = (sorted(|scores| scores.structure), sorted(|scores| scores.time));
        rule
    }
}

impl TrainedRule {
    /// Trains on normal requests.
    pub fn train(features: &Features) -> TrainedRule {
        let mut training = RuleTraining::new(features);
        while !training.step(features) {}
        training.finish()
    }

    /// Returns the training requests.
    pub fn len(&self) -> usize {
        self.trained.len()
    }

    /// Returns whether it was trained on nothing.
    pub fn is_empty(&self) -> bool {
        self.trained.is_empty()
    }

    /// Returns the smallest rate of false alarms from `alpha` up at which an alarm is possible at all: a p-value is
    /// never below 1 / (n + 1), and has to be below half the rate.
    pub fn possible_alpha(&self, alpha: f64) -> f64 {
        let least = 2.0 / (self.len() as f64 + 1.0);
        if least >= alpha { least.next_up().min(1.0) } else { alpha }
    }

    /// Gets ready to judge features.
    pub fn lookup(&self, features: &Features) -> Lookup {
        Lookup {
            search: NearestSet::new(&self.sets, self.paths.nodes.len()),
            numbers: features.paths.numbers_in(&self.paths),
        }
    }

    /// Judges features by what was looked up for them.
    pub fn judge<'a>(&'a self, features: &'a Features, lookup: &'a Lookup) -> Judge<'a> {
        Judge { rule: self, lookup, own: features }
    }

    /// Returns the scores of a training request.
    fn trained_scores(&self, request: &RequestRef) -> Option<Scores> {
        fn id(of: &RequestRef) -> (&str, &str) {
            (&of.trace_id, &of.root_span_id)
        }
        let at = self.trained.binary_search_by(|(known, _)| id(known).cmp(&id(request))).ok()?;
        Some(self.trained[at].1)
    }
}

/// Returns the p-value of a score among sorted calibration scores.
fn p_value(sorted: &[f64], score: f64) -> f64 {
    let at_least = sorted.len() - sorted.partition_point(|&s| s < score);
    (1 + at_least) as f64 / (sorted.len() + 1) as f64
}

impl RuleVerdict {
    /// Returns whether it is abnormal at a rate of false alarms.
    pub fn is_abnormal(&self, alpha: f64) -> bool {
        self.p_structure < alpha / 2.0 || self.p_time < alpha / 2.0
    }

    /// Returns what odder requests have less of, for ranking: the smaller p-value, then the greater, then the scores.
    pub fn rank(&self) -> [f64; 4] {
        let (low, high) = (self.p_structure.min(self.p_time), self.p_structure.max(self.p_time));
        [low, high, -self.scores.structure, -self.scores.time]
    }
}

impl Judge<'_> {
    fn known(&self, row: usize) -> Known {
        let mut known = Known { cells: Vec::new(), unknown: 0 };
        for cell in self.own.row(row) {
            match self.lookup.numbers[cell.path as usize] {
                NO_ROW => known.unknown += 1,
                path => known.cells.push(FeatureCell { path, ..*cell }),
            }
        }
        // Both dictionaries are in pre-order with siblings by name, so the numbers ascend already.
        known
    }

    fn nearest(&self, known: &Known, without: LeftOut) -> Option<(u32, Similarity)> {
        let list: Vec<u32> = known.cells.iter().map(|cell| cell.path).collect();
        self.lookup.search.nearest(&self.rule.sets, (&list, known.unknown), without)
    }

    /// Judges a request. One of the training requests has the scores it was calibrated with.
    pub fn verdict(&self, row: usize) -> RuleVerdict {
        let trained = self.rule.trained_scores(&self.own.rows[row].request);
        let scores = trained.unwrap_or_else(|| {
            let known = self.known(row);
            let nearest = self.nearest(&known, None);
            let same = nearest.filter(|(_, like)| like.common == like.all).map(|(set, _)| set);
            let structure = nearest.map_or(1.0, |(_, like)| like.distance());
            Scores { structure, time: self.rule.baselines.score(&known.cells, same, None) }
        });
        RuleVerdict {
            scores,
            p_structure: p_value(&self.rule.structure, scores.structure),
            p_time: p_value(&self.rule.time, scores.time),
        }
    }
}
