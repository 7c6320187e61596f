//! The model of normal requests, and the distance of another request from it (`docs/definitions/anomaly.md` sections 2 and 3).

use super::super::PartOfRequest;
use super::categories::{Categories, Counts, Unseen};
use super::delay::LongestTimes;
use super::facts::{CellKey, Dictionary};
use super::tails::{COUNTS, Histogram, Quantiser, TIMES, TailCounts, join};
use super::views::{UNKNOWN, ViewScores, Views};
use super::{Fact, FactKind, FactPart, RequestFacts, TreeVerdict};
use crate::anomalies::examples::Examples;
use crate::anomalies::sets::FOLDS;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::ln;
use pathlight_base::steps::Pace;
use pathlight_trace::{Endpoint, NO_ROW};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Training calls that a condition needs to be judged by itself.
pub(super) const ENOUGH: u32 = 30;
/// The least time that is added before the logarithm is taken, in microseconds.
const LEAST_OFFSET_US: u64 = 50;

/// Counts of training for a possibility.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum State {
    /// Calls of each fold that have the category.
    Category(Counts),
    /// Their numbers.
    Numbers(Histogram),
}

/// A baseline: what requests are like that count as normal. Its state is made of counts, so those of two sets of requests
/// can be added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TreeModel {
    /// The names of its facts.
    pub dictionary: Dictionary,
    /// Time added to every time before the logarithm is taken, in microseconds.
    pub offset_us: u64,
    /// By cell of the dictionary.
    pub(super) states: Vec<State>,
    /// Fold and scores of each training request, judged by the other folds.
    pub(super) calibration: Vec<(u8, ViewScores)>,
    /// The delay of each of them, by the other folds; none in models of earlier versions, which test no delay.
    #[serde(skip)]
    pub(in crate::anomalies) delays: Vec<f64>,
    /// Call paths of the roots of training requests, ascending.
    pub(super) roots: Vec<u32>,
    /// Some training requests, to stand beside an anomalous one.
    pub examples: Examples,
    /// Durations of training above 0, and those of them that 10, 100 and 1,000 us divide.
    #[serde(skip)]
    pub(in crate::anomalies) ticks: [u64; 4],
    /// The facts of some training requests, by which a merged baseline is calibrated again; none but in a file.
    #[serde(skip)]
    pub(in crate::anomalies) kept: FactPart,
    /// Requests that merged baselines have learned from; 0 where they are those of the calibration.
    #[serde(skip)]
    pub(in crate::anomalies) learned: u64,
    /// Share of the training requests that may be abnormal, in millionths: so many were left out.
    #[serde(skip)]
    pub contaminated_ppm: u32,
    /// Whether the greatest surprise of a part is taken as it is, however many facts it has: so did earlier versions, and
    /// the calibration of their models is made of such.
    #[serde(skip)]
    pub(in crate::anomalies) is_raw: bool,
}

/// Judgement of a training request.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trained {
    /// Row of the facts.
    pub row: u32,
    /// Verdict by the other folds.
    pub verdict: TreeVerdict,
}

/// Lookup tables of a model, made once.
pub struct Tables {
    pub(super) key_of: Vec<u32>,
    pub(super) keys: Vec<KeyTable>,
    /// Of few cells; the others have none.
    cell_tails: Vec<Option<Box<TailCounts>>>,
    pub(super) categories: Vec<[f64; FOLDS]>,
    pub(super) unseen: Unseen,
    quantiser: Quantiser,
    pub(super) longest: LongestTimes,
    pub(super) views: Views,
}

/// Lookup table of all possibilities of a kind and call path.
pub(super) enum KeyTable {
    Numbers(Box<TailCounts>),
    Categories(Categories),
}

/// Facts of a request, ready to be scored.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(super) facts: Vec<Fact>,
    scored: Vec<(u8, f64)>,
    /// Self times on the critical path: group and quantised logarithm.
    self_times: Vec<(u32, u16)>,
}

/// A set of facts in the numbers of a model.
pub struct Located {
    pub(super) cells: Vec<Place>,
    /// By call path: whether a training request has its root there.
    is_root: Vec<bool>,
}

/// Place of a possibility in a model.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub kind: FactKind,
    /// Its key and cell; [`NO_ROW`] where training has none.
    pub key: u32,
    pub cell: u32,
    /// Of a self time the group it is compared with; [`NO_ROW`] where training has none.
    pub group: u32,
    /// Surprises of a category.
    pub category: [f64; FOLDS],
}

/// Returns by how much the greatest surprise of so many facts exceeds what one of them has by chance, the logarithm of their
/// number; if it does not, how near it comes, from -1 up.
fn beyond_chance(s: f64, facts: u32) -> f64 {
    let chance = ln(f64::from(facts.max(2)));
    if s >= chance { s - chance } else { s / chance - 1.0 }
}

/// Returns the fold of a trace: the CRC-32 of "f" and the canonical trace id, modulo 5.
pub fn fold(trace_id: &str) -> u8 {
    let mut crc = u32::MAX;
    for byte in std::iter::once(b'f').chain(trace_id.bytes()) {
        crc ^= u32::from(byte);
        for _ in 0..8 {
            crc = crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 };
        }
    }
    (!crc % FOLDS as u32) as u8
}

/// Counts the durations of some rows above 0, and those of them that 10, 100 and 1,000 us divide.
fn ticks(facts: &RequestFacts, rows: &[u32]) -> [u64; 4] {
    let mut sums = [0u64; 4];
    for &row in rows {
        let ticks = facts.rows[row as usize].ticks;
        sums.iter_mut().zip(ticks).for_each(|(sum, n)| *sum += u64::from(n));
    }
    sums
}

/// Returns the resolution of times: what nearly all durations of training are multiples of.
pub(super) fn offset_us(sums: &[u64; 4]) -> u64 {
    let is_tick = |sum: u64| 10 * sum >= 9 * sums[0].max(1);
    let tick = [(sums[3], 1000), (sums[2], 100), (sums[1], 10)].into_iter().find(|(sum, _)| is_tick(*sum));
    tick.map_or(1, |(_, tick)| tick).max(LEAST_OFFSET_US)
}

impl TreeModel {
    /// Learns from some rows of facts. `contaminated` is the share of them, in millionths, that may be abnormal: so many
    /// of the most anomalous are left out, and the rest is learned again, twice. Also returns the verdict of each row
    /// that was learned from.
    pub async fn train(
        facts: &RequestFacts,
        rows: &[u32],
        contaminated_ppm: u32,
        pace: &mut Pace,
    ) -> (TreeModel, Tables, Vec<Trained>) {
        let mut found = TreeModel::fit(facts, rows, pace).await;
        let left_out = rows.len() as u64 * u64::from(contaminated_ppm) / 1_000_000;
        // Of no request nothing can be learned.
        let left_out = (left_out as usize).min(rows.len().saturating_sub(1));
        if left_out > 0 {
            for _ in 0..2 {
                let mut scored = score_rows(&found, facts, rows, pace).await;
                scored.compact_sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
                let mut kept: Vec<u32> =
                    scored[..rows.len() - left_out].iter().map(|(row, _)| *row).collect();
                kept.sort_unstable();
                found = TreeModel::fit(facts, &kept, pace).await;
            }
        }
        found.0.contaminated_ppm = contaminated_ppm;
        found
    }

    /// Learns from rows, all of which are normal.
    async fn fit(facts: &RequestFacts, rows: &[u32], pace: &mut Pace) -> (TreeModel, Tables, Vec<Trained>) {
        let quantiser = Quantiser::default();
        let ticks = ticks(facts, rows);
        let mut model = TreeModel {
            dictionary: facts.dictionary.clone(),
            offset_us: offset_us(&ticks),
            ticks,
            ..TreeModel::default()
        };
        let cells = &facts.dictionary.cells;
        let mut counts = vec![Counts::default(); cells.len()];
        // Quantised logarithm and fold of each number, by cell.
        let mut numbers: Vec<Vec<u32>> = vec![Vec::new(); cells.len()];
        let mut scratch = Scratch::default();
        for &row in rows {
            let own = &facts.rows[row as usize];
            let fold = fold(&own.facts.request.trace_id);
            model.roots.push(own.root);
            facts.row(row as usize, &mut scratch.facts);
            for fact in &scratch.facts {
                let kind = cells[fact.cell as usize].kind;
                if kind.is_category() {
                    counts[fact.cell as usize][usize::from(fold)] += 1;
                } else {
                    let q = model.quantise(&quantiser, kind, fact.value);
                    numbers[fact.cell as usize].push(u32::from(q) << 3 | u32::from(fold));
                }
            }
            pace.spend(scratch.facts.len()).await;
        }
        model.roots.compact_sort();
        model.roots.dedup();
        for (at, mut numbers) in numbers.into_iter().enumerate() {
            if cells[at].kind.is_category() {
                model.states.push(State::Category(counts[at]));
                continue;
            }
            numbers.sort_unstable();
            let mut histogram = Histogram::new();
            for number in &numbers {
                let q = (number >> 3) as u16;
                if histogram.last().is_none_or(|(last, _)| *last != q) {
                    histogram.push((q, Counts::default()));
                }
                if let Some((_, counts)) = histogram.last_mut() {
                    counts[(number & 7) as usize] += 1;
                }
            }
            model.states.push(State::Numbers(histogram));
            pace.spend(4 * numbers.len()).await;
        }
        let mut tables = Tables::of_states(&model, quantiser, pace).await;
        let trained = model.calibrate(&mut tables, facts, rows, pace).await;
        (model, tables, trained)
    }

    /// Judges each training request by the other folds; their scores are what others are compared with. The facts have the
    /// model's own dictionary.
    pub(super) async fn calibrate(
        &mut self,
        tables: &mut Tables,
        facts: &RequestFacts,
        rows: &[u32],
        pace: &mut Pace,
    ) -> Vec<Trained> {
        let mut scratch = Scratch::default();
        let located = tables.own(self);
        for &row in rows {
            let (scores, delay) = tables.own_scores(self, &located, facts, row as usize, &mut scratch);
            self.calibration.push(scores);
            self.delays.push(delay);
            pace.spend(scratch.facts.len()).await;
        }
        tables.views = Views::new(&self.calibration, &self.delays);
        let trained =
            rows.iter().zip(&self.calibration).zip(&self.delays).map(|((&row, (_, scores)), &delay)| {
                Trained { row, verdict: tables.views.own_verdict(scores, Some(delay)) }
            });
        let trained: Vec<Trained> = trained.collect();
        let mut normal = Vec::new();
        for trained in trained.iter().filter(|trained| trained.verdict.p() > 0.05) {
            facts.row(trained.row as usize, &mut scratch.facts);
            let request = &facts.rows[trained.row as usize].facts.request;
            normal.push((request.clone(), facts.self_times(&scratch.facts)));
            pace.spend(scratch.facts.len()).await;
        }
        // One that counts several times is one example.
        normal.dedup_by(|a, b| a.0 == b.0);
        self.examples = Examples::of(normal);
        trained
    }

    /// Returns the training requests.
    pub fn len(&self) -> usize {
        self.calibration.len()
    }

    /// Returns the number of requests that it has learned from. A merged baseline is calibrated by some of them, a taught one by
    /// some several times.
    pub fn learned(&self) -> u64 {
        if self.learned > 0 { self.learned } else { self.len() as u64 }
    }

    /// Returns whether it has learned from nothing.
    pub fn is_empty(&self) -> bool {
        self.calibration.is_empty()
    }

    /// Returns the rate of false alarms that can be asked for from `alpha` up: no p-value is below 1 / (n + 1).
    pub fn possible_alpha(&self, alpha: f64) -> f64 {
        alpha.max(1.0 / (self.len() as f64 + 1.0))
    }

    /// Returns the same of both verdicts as one test, whose p-values are twice as great.
    pub fn possible_one_alpha(&self, alpha: f64) -> f64 {
        let tests = if self.delays.is_empty() { 1.0 } else { 2.0 };
        alpha.max(tests / (self.len() as f64 + 1.0))
    }

    pub(super) fn quantise(&self, quantiser: &Quantiser, kind: FactKind, value: u64) -> u16 {
        let (_, amount) = PartOfRequest::unmark(value);
        quantiser.of(if kind == FactKind::Count { amount } else { amount.saturating_add(self.offset_us) })
    }

    /// Gets ready to judge.
    pub async fn tables(&self, pace: &mut Pace) -> Tables {
        let mut tables = Tables::of_states(self, Quantiser::default(), pace).await;
        tables.views = Views::new(&self.calibration, &self.delays);
        tables
    }
}

/// Returns the scores of rows: those learned from by the other folds, the rest by all. By the scores alone it is said which
/// rows may be abnormal: a few slow requests would take half of the places.
async fn score_rows(
    (model, tables, trained): &(TreeModel, Tables, Vec<Trained>),
    facts: &RequestFacts,
    rows: &[u32],
    pace: &mut Pace,
) -> Vec<(u32, f64)> {
    let located = tables.own(model);
    let known: BTreeMap<u32, f64> = trained.iter().map(|one| (one.row, one.verdict.score)).collect();
    let mut scratch = Scratch::default();
    let mut scored = Vec::with_capacity(rows.len());
    for &row in rows {
        let score = match known.get(&row) {
            Some(score) => *score,
            None => tables.judge(model, &located, facts, row as usize, &mut scratch).score,
        };
        scored.push((row, score));
        pace.spend(scratch.facts.len()).await;
    }
    scored
}

impl Tables {
    pub(super) async fn of_states(model: &TreeModel, quantiser: Quantiser, pace: &mut Pace) -> Tables {
        let cells = &model.dictionary.cells;
        let mut tables = Tables {
            key_of: Vec::with_capacity(cells.len()),
            keys: Vec::new(),
            cell_tails: Vec::with_capacity(cells.len()),
            categories: vec![[0.0; FOLDS]; cells.len()],
            unseen: Unseen::default(),
            quantiser,
            longest: LongestTimes::new(model),
            views: Views::default(),
        };
        for (cell, state) in cells.iter().zip(&model.states) {
            if let State::Category(counts) = state {
                tables.unseen.add(cell.kind, counts);
            }
        }
        let mut at = 0;
        for same in cells.chunk_by(|a, b| a.key() == b.key()) {
            let states = &model.states[at..at + same.len()];
            tables.key_of.extend(same.iter().map(|_| tables.keys.len() as u32));
            let kind = same[0].kind;
            if kind.is_category() {
                let all: Vec<(&[u32], Counts)> = same
                    .iter()
                    .zip(states)
                    .filter_map(|(cell, state)| match state {
                        State::Category(counts) => Some((model.members(cell.kind, cell.condition), *counts)),
                        State::Numbers(_) => None,
                    })
                    .collect();
                let categories = Categories::new(&all, kind == FactKind::Calls);
                for (place, (set, counts)) in all.iter().enumerate() {
                    tables.categories[at + place] =
                        categories.surprises(set, counts, |fold| tables.unseen.share(kind, fold));
                }
                tables.cell_tails.extend(same.iter().map(|_| None));
                tables.keys.push(KeyTable::Categories(categories));
                pace.spend(100 * same.len()).await;
            } else {
                let prior = if kind == FactKind::Count { COUNTS } else { TIMES };
                let histograms = || {
                    states.iter().filter_map(|state| match state {
                        State::Numbers(histogram) => Some(histogram),
                        State::Category(_) => None,
                    })
                };
                let all = join(histograms());
                tables.keys.push(KeyTable::Numbers(Box::new(TailCounts::new(&all, prior))));
                for histogram in histograms() {
                    let n: u32 = histogram.iter().flat_map(|(_, counts)| counts).sum();
                    let is_apart = same.len() > 1 && n >= ENOUGH;
                    tables.cell_tails.push(is_apart.then(|| Box::new(TailCounts::new(histogram, prior))));
                }
                pace.spend(20 * all.len()).await;
            }
            at += same.len();
        }
        tables
    }

    /// Returns what training requests are ranked by, each by what the other folds say, ascending.
    pub fn baseline(&self, model: &TreeModel) -> Vec<f64> {
        let delays = model.delays.iter().copied().map(Some).chain(std::iter::repeat(None));
        let own = model.calibration.iter().zip(delays);
        let mut ranks: Vec<f64> =
            own.map(|((_, scores), delay)| self.views.own_verdict(scores, delay).rank()).collect();
        ranks.sort_by(f64::total_cmp);
        ranks
    }

    /// Returns whether there is a test of the delay: models of earlier versions have none.
    pub fn has_delays(&self) -> bool {
        self.views.has_delays()
    }

    /// Returns the group of a possibility of the model.
    fn group_of(&self, model: &TreeModel, cell: &CellKey) -> u32 {
        match cell.kind {
            FactKind::SelfTime => {
                let endpoint = model.dictionary.paths.nodes[cell.context as usize].endpoint;
                self.longest.number((endpoint, cell.condition))
            }
            _ => NO_ROW,
        }
    }

    /// Returns the model's own dictionary as one that it judges.
    pub fn own(&self, model: &TreeModel) -> Located {
        let cells = model.dictionary.cells.iter().zip(&self.key_of).zip(&self.categories).enumerate();
        let mut is_root = vec![false; model.dictionary.paths.nodes.len()];
        model.roots.iter().for_each(|&root| is_root[root as usize] = true);
        Located {
            cells: cells
                .map(|(at, ((cell, &key), &category))| Place {
                    kind: cell.kind,
                    key,
                    cell: at as u32,
                    group: self.group_of(model, cell),
                    category,
                })
                .collect(),
            is_root,
        }
    }

    /// Finds the names of facts in the model.
    pub fn locate(&self, model: &TreeModel, judged: &Dictionary) -> Located {
        let known = &model.dictionary;
        // Where all requests are compared with each other these are millions of searches.
        if known == judged {
            return self.own(model);
        }
        let name = |endpoint: &Endpoint| {
            known.paths.endpoints.binary_search(endpoint).map_or(NO_ROW, |number| number as u32)
        };
        let names: Vec<u32> = judged.paths.endpoints.iter().map(name).collect();
        let paths = judged.paths.numbers_in(&known.paths);
        let sets: Vec<Vec<u32>> = judged
            .sets
            .iter()
            .map(|set| {
                let mut set: Vec<u32> = set.iter().map(|endpoint| names[*endpoint as usize]).collect();
                set.sort_unstable();
                set
            })
            .collect();
        let set_numbers: Vec<u32> = sets
            .iter()
            .map(|set| known.sets.binary_search(set).map_or(NO_ROW, |number| number as u32))
            .collect();
        // A condition that training has not must not be taken for none.
        let unknown = NO_ROW - 1;
        let cells = judged.cells.iter().map(|cell| {
            let mut here = *cell;
            here.context = paths[cell.context as usize];
            let mut set: &[u32] = &[];
            match cell.kind {
                FactKind::Calls | FactKind::SelfTime | FactKind::TotalTime | FactKind::Latency => {
                    let number = set_numbers[cell.condition as usize];
                    here.condition = if number == NO_ROW { unknown } else { number };
                    if cell.kind == FactKind::Calls {
                        set = &sets[cell.condition as usize];
                    }
                }
                FactKind::After | FactKind::Wait if cell.condition != NO_ROW => {
                    let number = names[cell.condition as usize];
                    here.condition = if number == NO_ROW { unknown } else { number };
                }
                _ => {}
            }
            // The call path does not matter here: it may be one that training has not.
            let group = match cell.kind {
                FactKind::SelfTime => {
                    let endpoint = judged.paths.nodes[cell.context as usize].endpoint;
                    self.longest.number((names[endpoint as usize], here.condition))
                }
                _ => NO_ROW,
            };
            let (key, own) = match here.context {
                NO_ROW => (NO_ROW, NO_ROW),
                _ => match known.cells.binary_search(&here) {
                    Ok(at) => (self.key_of[at], at as u32),
                    Err(at) => {
                        // The neighbours on either side are those of the same key, if there is any.
                        let near = [at.checked_sub(1), Some(at)].into_iter().flatten();
                        let same =
                            near.filter(|&at| known.cells.get(at).is_some_and(|c| c.key() == here.key()));
                        (same.map(|at| self.key_of[at]).next().unwrap_or(NO_ROW), NO_ROW)
                    }
                },
            };
            let category = match (own, self.keys.get(key as usize)) {
                (NO_ROW, Some(KeyTable::Categories(categories))) => {
                    categories.surprises(set, &Counts::default(), |fold| self.unseen.share(cell.kind, fold))
                }
                (NO_ROW, _) => [0.0; FOLDS],
                (own, _) => self.categories[own as usize],
            };
            Place { kind: cell.kind, key, cell: own, group, category }
        });
        let cells = cells.collect();
        let is_root = paths.iter().map(|path| model.roots.binary_search(path).is_ok()).collect();
        Located { cells, is_root }
    }

    /// Reads the facts of a row; a number's value becomes its part and quantised logarithm. Also sets those self times apart
    /// that delay a request.
    pub(super) fn read(
        &self,
        model: &TreeModel,
        located: &Located,
        facts: &RequestFacts,
        row: usize,
        scratch: &mut Scratch,
    ) {
        facts.row(row, &mut scratch.facts);
        scratch.self_times.clear();
        for fact in &mut scratch.facts {
            let place = &located.cells[fact.cell as usize];
            if !place.kind.is_category() {
                let (part, _) = PartOfRequest::unmark(fact.value);
                let q = model.quantise(&self.quantiser, place.kind, fact.value);
                fact.value = part.mark(u64::from(q));
                if place.group != NO_ROW && part == PartOfRequest::OnPath {
                    scratch.self_times.push((place.group, q));
                }
            }
        }
    }

    /// Returns the surprise of a fact that was [`read`](Self::read), with a fold left out.
    pub(super) fn surprise(&self, place: &Place, value: u64, fold: usize) -> f64 {
        if place.kind.is_category() {
            return place.category[fold];
        }
        let q = (value >> 2) as u16;
        let cell = self.cell_tails.get(place.cell as usize).and_then(Option::as_deref);
        let cell = cell.filter(|tail| tail.len(fold) >= ENOUGH);
        let Some(tail) = cell.or(match self.keys.get(place.key as usize) {
            Some(KeyTable::Numbers(tail)) => Some(&**tail),
            _ => None,
        }) else {
            return 0.0;
        };
        match tail.only_value(fold).filter(|_| place.kind == FactKind::Count) {
            Some(only) if only == q => 0.0,
            Some(_) => {
                -ln(self.unseen.share(FactKind::Calls, fold).min(1.0 / (f64::from(tail.len(fold)) + 1.0)))
            }
            None => tail.surprise(fold, q),
        }
    }

    /// Returns the part that a fact counts in: critical calls are a matter of the path, other categories of structure.
    pub(super) fn part(kind: FactKind, value: u64) -> PartOfRequest {
        match kind {
            FactKind::Critical => PartOfRequest::OnPath,
            _ if kind.is_category() => PartOfRequest::Structure,
            _ => PartOfRequest::unmark(value).0,
        }
    }

    /// Returns by how much the greatest surprise of each part exceeds chance, and the sum of what exceeds the logarithm of
    /// its number of facts.
    pub(super) fn scores(
        &self,
        model: &TreeModel,
        located: &Located,
        scratch: &mut Scratch,
        fold: usize,
    ) -> ViewScores {
        let Scratch { facts, scored, .. } = scratch;
        scored.clear();
        let mut numbers = [0u32; 3];
        for fact in facts.iter() {
            let place = &located.cells[fact.cell as usize];
            let part = Tables::part(place.kind, fact.value).place();
            numbers[part] += 1;
            let s = self.surprise(place, fact.value, fold);
            if s > 0.0 {
                scored.push((part as u8, s));
            }
        }
        let least = numbers.map(|n| ln(f64::from(n.max(1))));
        let mut scores = ViewScores::default();
        for &(part, s) in scored.iter() {
            let part = usize::from(part);
            scores[2 * part] = s.max(scores[2 * part]);
            scores[2 * part + 1] += (s - least[part]).max(0.0);
        }
        // Among many facts one is surprising by chance.
        if !model.is_raw {
            (0..3).for_each(|part| scores[2 * part] = beyond_chance(scores[2 * part], numbers[part]));
        }
        scores
    }

    /// Judges a row of facts that training has not seen.
    pub fn judge(
        &self,
        model: &TreeModel,
        located: &Located,
        facts: &RequestFacts,
        row: usize,
        scratch: &mut Scratch,
    ) -> TreeVerdict {
        if !located.is_root[facts.rows[row].root as usize] {
            return UNKNOWN;
        }
        self.read(model, located, facts, row, scratch);
        let scores = std::array::from_fn(|fold| self.scores(model, located, scratch, fold));
        let delays = std::array::from_fn(|fold| self.longest.delay(&scratch.self_times, fold));
        self.views.verdict(&scores, &delays)
    }

    /// Returns the fold of a row that [`judge_trained`](Self::judge_trained) judges, its scores and its delay.
    fn own_scores(
        &self,
        model: &TreeModel,
        located: &Located,
        facts: &RequestFacts,
        row: usize,
        scratch: &mut Scratch,
    ) -> ((u8, ViewScores), f64) {
        let fold = fold(&facts.rows[row].facts.request.trace_id);
        self.read(model, located, facts, row, scratch);
        let scores = self.scores(model, located, scratch, usize::from(fold));
        ((fold, scores), self.longest.delay(&scratch.self_times, usize::from(fold)))
    }

    /// Judges a row of facts that training has seen, by the other folds. The facts have the model's own dictionary.
    pub fn judge_trained(
        &self,
        model: &TreeModel,
        located: &Located,
        facts: &RequestFacts,
        row: usize,
        scratch: &mut Scratch,
    ) -> TreeVerdict {
        let ((_, scores), delay) = self.own_scores(model, located, facts, row, scratch);
        self.views.own_verdict(&scores, self.has_delays().then_some(delay))
    }
}

impl TreeModel {
    /// Returns the endpoints of a set of calls; none of other categories.
    pub(super) fn members(&self, kind: FactKind, condition: u32) -> &[u32] {
        match kind {
            FactKind::Calls => &self.dictionary.sets[condition as usize],
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_surprise_counts_less_among_many_facts_and_none_counts_nothing_whatever_their_number() {
        let many = [1, 2, 3, 1_000].map(|facts| beyond_chance(10.0, facts));
        assert!(many[0] == many[1] && many.is_sorted_by(|a, b| a >= b) && many[3] > 3.0, "{many:?}");
        assert_eq!([0, 1, 2, 3, 1_000].map(|facts| beyond_chance(0.0, facts)), [-1.0; 5]);
        let chance = ln(5.0);
        assert_eq!([chance / 2.0, chance].map(|s| beyond_chance(s, 5)), [-0.5, 0.0]);
    }

    #[test]
    fn the_fold_of_a_trace_is_its_checksum() {
        // CRC-32 of "f1" and of "f0a", by another program.
        assert_eq!((fold("1"), fold("0a")), ((0x23a0_dee4u32 % 5) as u8, (0x56e809bdu32 % 5) as u8));
    }
}
