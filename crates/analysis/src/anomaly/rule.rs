//! The default detector: structure and time, calibrated, explainable (`docs/definitions/anomaly.md` section 2).

use super::features::{Cell, Features};
use super::sets::{FOLDS, LeftOut, PathSets, Search, Similarity};
use super::usual::{Usual, UsualTimes, log_us};
use crate::critical_path::{Contexts, RequestRef};
use pathlight_model::sort::Arrange;
use pathlight_model::stats::Random;
use pathlight_model::trace::NO_ROW;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The seed of the folds.
const FOLD_SEED: u64 = 0x70a7;
/// Training requests of each path set that are kept as examples of what is normal.
const EXAMPLES: usize = 40;
/// Training requests scored at a time.
const ROWS_PER_STEP: usize = 256;
/// Reasons of each kind that are named.
const REASONS: usize = 3;

/// A trained detector: can be saved, and judges requests of any other set by the names of their call paths.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rule {
    /// The call paths seen in training.
    pub paths: Contexts<()>,
    /// Training requests that have each call path.
    path_counts: Vec<u32>,
    sets: PathSets,
    usual: UsualTimes,
    /// The training requests with their own scores, each judged without its fold; by id.
    trained: Vec<(RequestRef, Scores)>,
    /// Sorted scores of the training requests.
    structure: Vec<f64>,
    time: Vec<f64>,
    /// Of each path set some requests with their times in the order of its paths.
    examples: Vec<Vec<(RequestRef, Vec<u64>)>>,
}

/// How far a request lies from what is normal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Scores {
    /// One minus the greatest Jaccard similarity of its critical call paths to those of a training request.
    pub structure: f64,
    /// Mean of the greatest distances of its known paths' times from the usual ones.
    pub time: f64,
}

/// What the rule says of a request.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Its scores.
    pub scores: Scores,
    /// Share of training requests at least as odd in structure.
    pub p_structure: f64,
    /// Share of training requests at least as odd in time.
    pub p_time: f64,
}

/// Why a request is odd, in terms of call paths of the judged set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Reason {
    /// A call path that nothing in training had, or few had.
    NewPath {
        /// Number of the call path among the judged ones.
        path: u32,
        /// Training requests that have it.
        requests: u32,
    },
    /// A call path that the most similar training requests have.
    MissingPath {
        /// Number of the call path among the trained ones.
        path: u32,
        /// Training requests that have it.
        requests: u32,
    },
    /// A call path that took longer or shorter than usual.
    Time {
        /// Number of the call path among the judged ones.
        path: u32,
        /// Its time.
        us: u64,
        /// Its time over the median of training.
        factor: f64,
        /// 5th and 95th percentile of training, in microseconds.
        usual_us: (f64, f64),
        /// Distance from the median, in widths.
        distance: f64,
        /// Training requests compared with.
        requests: u32,
    },
}

/// Evidence for a verdict.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Explanation {
    /// Structure first where it is the odder, else time.
    pub reasons: Vec<Reason>,
    /// The normal request most like it.
    pub nearest: Option<RequestRef>,
}

/// What judging looks up, made once for a rule and the features it judges.
#[derive(Clone, Debug, Default)]
pub struct Lookup {
    search: Search,
    /// Of each call path of the features its number in the rule, [`NO_ROW`] where it has none.
    numbers: Vec<u32>,
}

/// Judges and explains rows of features by a rule.
pub struct Judge<'a> {
    rule: &'a Rule,
    lookup: &'a Lookup,
    own: &'a Features,
}

/// One row in the numbers of a rule.
struct Known {
    /// Cells of known paths, by path.
    cells: Vec<Cell>,
    unknown: u32,
}

/// A training under way.
pub struct RuleTraining {
    rule: Rule,
    search: Search,
    folds: Vec<u8>,
    set_of: Vec<u32>,
    /// Requests of one set and one fold have one structure score.
    structure_of: BTreeMap<(u32, u8), f64>,
}

impl RuleTraining {
    /// A training on normal requests.
    pub fn new(features: &Features) -> RuleTraining {
        let folds: Vec<u8> = features.rows.iter().map(|row| fold(&row.request.trace_id)).collect();
        let rows = (0..features.len()).map(|row| (features.row(row), folds[row]));
        let (sets, set_of) = PathSets::of(rows);
        let rule = Rule {
            paths: features.paths.clone(),
            path_counts: vec![0; features.paths.nodes.len()],
            usual: UsualTimes::learn(features, &folds, &sets, &set_of),
            examples: vec![Vec::new(); sets.lists.len()],
            trained: Vec::with_capacity(features.len()),
            sets,
            ..Rule::default()
        };
        let search = Search::new(&rule.sets, features.paths.nodes.len());
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
            let time = self.rule.usual.score(cells, Some(set), Some(fold));
            scored.push((features.rows[row].request.clone(), Scores { structure, time }));
        }
        for (row, (request, scores)) in (from..to).zip(scored) {
            let cells = features.row(row);
            cells.iter().for_each(|cell| self.rule.path_counts[cell.path as usize] += 1);
            let examples = &mut self.rule.examples[self.set_of[row] as usize];
            if examples.len() < EXAMPLES {
                examples.push((request.clone(), cells.iter().map(|cell| cell.us).collect()));
            }
            self.rule.trained.push((request, scores));
        }
        to == features.len()
    }

    /// The trained rule.
    pub fn finish(self) -> Rule {
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

impl Rule {
    /// Trains on normal requests.
    pub fn train(features: &Features) -> Rule {
        let mut training = RuleTraining::new(features);
        while !training.step(features) {}
        training.finish()
    }

    /// Training requests.
    pub fn len(&self) -> usize {
        self.trained.len()
    }

    /// Whether it was trained on nothing.
    pub fn is_empty(&self) -> bool {
        self.trained.is_empty()
    }

    /// The smallest rate of false alarms from `alpha` up at which an alarm is possible at all: a p-value is never below
    /// 1 / (n + 1), and has to be below half the rate.
    pub fn possible_alpha(&self, alpha: f64) -> f64 {
        let least = 2.0 / (self.len() as f64 + 1.0);
        if least >= alpha { least.next_up().min(1.0) } else { alpha }
    }

    /// Gets ready to judge features.
    pub fn lookup(&self, features: &Features) -> Lookup {
        Lookup {
            search: Search::new(&self.sets, self.paths.nodes.len()),
            numbers: features.paths.numbers_in(&self.paths),
        }
    }

    /// Judges features by what was looked up for them.
    pub fn judge<'a>(&'a self, features: &'a Features, lookup: &'a Lookup) -> Judge<'a> {
        Judge { rule: self, lookup, own: features }
    }

    /// The scores of a training request.
    fn trained_scores(&self, request: &RequestRef) -> Option<Scores> {
        fn id(of: &RequestRef) -> (&str, &str) {
            (&of.trace_id, &of.root_span_id)
        }
        let at = self.trained.binary_search_by(|(known, _)| id(known).cmp(&id(request))).ok()?;
        Some(self.trained[at].1)
    }
}

/// The fold of a trace, by a seeded hash of its id.
fn fold(trace_id: &str) -> u8 {
    Random::of(FOLD_SEED, trace_id).below(FOLDS as u64) as u8
}

/// The p-value of a score among sorted calibration scores.
fn p_value(sorted: &[f64], score: f64) -> f64 {
    let at_least = sorted.len() - sorted.partition_point(|&s| s < score);
    (1 + at_least) as f64 / (sorted.len() + 1) as f64
}

impl Verdict {
    /// Whether it is abnormal at a rate of false alarms.
    pub fn is_abnormal(&self, alpha: f64) -> bool {
        self.p_structure < alpha / 2.0 || self.p_time < alpha / 2.0
    }

    /// What odder requests have less of, for ranking: the smaller p-value, then the greater, then the scores.
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
                path => known.cells.push(Cell { path, ..*cell }),
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
    pub fn verdict(&self, row: usize) -> Verdict {
        let trained = self.rule.trained_scores(&self.own.rows[row].request);
        let scores = trained.unwrap_or_else(|| {
            let known = self.known(row);
            let nearest = self.nearest(&known, None);
            let same = nearest.filter(|(_, like)| like.common == like.all).map(|(set, _)| set);
            let structure = nearest.map_or(1.0, |(_, like)| like.distance());
            Scores { structure, time: self.rule.usual.score(&known.cells, same, None) }
        });
        Verdict {
            scores,
            p_structure: p_value(&self.rule.structure, scores.structure),
            p_time: p_value(&self.rule.time, scores.time),
        }
    }

    /// Says why, whatever the verdict.
    pub fn explain(&self, row: usize, verdict: &Verdict) -> Explanation {
        let request = &self.own.rows[row].request;
        let without = self.rule.trained_scores(request).map(|_| fold(&request.trace_id));
        let known = self.known(row);
        let nearest = self.nearest(&known, without);
        let structure = nearest.map_or_else(Vec::new, |(set, _)| self.structure_reasons(row, set, without));
        let same = nearest.filter(|(_, like)| like.common == like.all).map(|(set, _)| set);
        let times = self.time_reasons(row, same, without);
        let reasons = match verdict.p_structure <= verdict.p_time {
            true => structure.into_iter().chain(times).collect(),
            false => times.into_iter().chain(structure).collect(),
        };
        let nearest = nearest.and_then(|(set, _)| self.nearest_example(&known, set, request));
        Explanation { reasons, nearest }
    }

    /// Paths without those whose parent is among them: what hangs below a new path is new with it.
    fn structure_reasons(&self, row: usize, set: u32, without: LeftOut) -> Vec<Reason> {
        let trained = &self.rule.sets.lists[set as usize];
        let seen = |path: u32| match without {
            None => self.rule.path_counts[path as usize],
            Some(_) => self.rule.path_counts[path as usize].saturating_sub(1),
        };
        let is_new = |own: u32| {
            let path = self.lookup.numbers[own as usize];
            path == NO_ROW || trained.binary_search(&path).is_err()
        };
        let new = self.own.row(row).iter().map(|cell| cell.path).filter(|&own| {
            let parent = self.own.paths.nodes[own as usize].parent;
            is_new(own) && (parent == NO_ROW || !is_new(parent))
        });
        let mut new: Vec<(u32, u32)> = new
            .map(|own| match self.lookup.numbers[own as usize] {
                NO_ROW => (0, own),
                path => (seen(path), own),
            })
            .collect();
        new.arrange();
        let has: Vec<u32> =
            self.own.row(row).iter().map(|cell| self.lookup.numbers[cell.path as usize]).collect();
        let is_missing = |path: u32| !has.contains(&path);
        let mut missing: Vec<(u32, u32)> = trained
            .iter()
            .filter(|&&path| {
                let parent = self.rule.paths.nodes[path as usize].parent;
                is_missing(path) && (parent == NO_ROW || !is_missing(parent))
            })
            .map(|&path| (seen(path), path))
            .collect();
        missing.arrange_by_key(|&(requests, path)| (std::cmp::Reverse(requests), path));
        let new = new.into_iter().take(REASONS).map(|(requests, path)| Reason::NewPath { path, requests });
        let missing =
            missing.into_iter().take(REASONS).map(|(requests, path)| Reason::MissingPath { path, requests });
        new.chain(missing).collect()
    }

    fn time_reasons(&self, row: usize, same: Option<u32>, without: LeftOut) -> Vec<Reason> {
        let mut reasons = Vec::new();
        let mut place = 0;
        for cell in self.own.row(row) {
            let path = self.lookup.numbers[cell.path as usize];
            if path == NO_ROW {
                continue;
            }
            let usual: &Usual = self.rule.usual.of(path, same, place, without);
            place += 1;
            if usual.times == 0 {
                continue;
            }
            let median_us = pathlight_model::stats::exp(usual.median);
            reasons.push(Reason::Time {
                path: cell.path,
                us: cell.us,
                factor: cell.us.max(1) as f64 / median_us,
                usual_us: (pathlight_model::stats::exp(usual.low), pathlight_model::stats::exp(usual.high)),
                distance: usual.distance(log_us(cell.us)),
                requests: usual.times,
            });
        }
        let key = |reason: &Reason| match reason {
            Reason::Time { distance, .. } => *distance,
            _ => 0.0,
        };
        // Stable: equal distances stay by path.
        reasons.arrange_by(|a, b| key(b).total_cmp(&key(a)));
        reasons.truncate(REASONS);
        reasons
    }

    /// Of the requests kept of a path set the one whose times are nearest, by the mean difference of logarithms.
    fn nearest_example(&self, known: &Known, set: u32, not: &RequestRef) -> Option<RequestRef> {
        let list = &self.rule.sets.lists[set as usize];
        let mut best: Option<(f64, &RequestRef)> = None;
        for (request, times) in self.rule.examples[set as usize].iter().filter(|(request, _)| request != not)
        {
            let mut sum = 0.0;
            let mut shared = 0u32;
            for cell in &known.cells {
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
        best.map(|(_, request)| request.clone())
    }
}
