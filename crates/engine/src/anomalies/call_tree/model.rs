//! The model of normal requests, and the distance of another request from it (`docs/definitions/anomaly.md` sections 2 and 3).

use super::super::PartOfRequest;
use super::categories::Counts;
use super::facts::Dictionary;
use super::tables::Tables;
use super::tails::{Histogram, Quantiser};
use super::views::{ViewScores, Views};
use super::{FactKind, FactPart, RequestFacts, Scratch, TreeVerdict};
use crate::anomalies::examples::Examples;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::steps::Pace;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

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

impl State {
    /// Returns the state of a cell with some calls: of each the fold and, times eight, the quantised logarithm, 0 of a
    /// category.
    fn of(is_category: bool, calls: &mut [u32]) -> State {
        let count = |calls: &[u32]| {
            let mut counts = Counts::default();
            calls.iter().for_each(|call| counts[(call & 7) as usize] += 1);
            counts
        };
        if is_category {
            return State::Category(count(calls));
        }
        calls.sort_unstable();
        let same = || calls.chunk_by(|a, b| a >> 3 == b >> 3);
        // There may be millions of histograms: one that has grown is larger than it must be.
        let mut histogram = Histogram::with_capacity(same().count());
        histogram.extend(same().map(|same| ((same[0] >> 3) as u16, count(same))));
        State::Numbers(histogram)
    }

    /// Returns the numbers; `None` of a category.
    pub fn numbers(&self) -> Option<&Histogram> {
        match self {
            State::Category(_) => None,
            State::Numbers(histogram) => Some(histogram),
        }
    }

    /// Returns the calls of all folds.
    pub fn calls(&self) -> u32 {
        match self {
            State::Category(counts) => counts.iter().sum(),
            State::Numbers(histogram) => histogram.iter().flat_map(|(_, counts)| counts).sum(),
        }
    }
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
    /// Some training requests, to stand beside an anomalous one; none before they are chosen.
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

/// Returns the places of some rows, those of one root endpoint side by side. Their cells are the same or neighbours, so going
/// through rows in this order goes through cells in theirs: of 40,000 root endpoints that takes a third off the scores.
fn by_root(facts: &RequestFacts, rows: &[u32]) -> Vec<u32> {
    let mut places: Vec<u32> = (0..rows.len() as u32).collect();
    places.sort_by_key(|&at| facts.rows[rows[at as usize] as usize].root);
    places
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
        let mut scratch = Scratch::default();
        // By cell where its calls begin among those of all cells, once they are counted; in the end, where they end.
        let mut ends = vec![0; cells.len()];
        let by_root = by_root(facts, rows);
        for &at in &by_root {
            let row = rows[at as usize];
            facts.row(row as usize, &mut scratch.facts);
            scratch.facts.iter().for_each(|fact| ends[fact.cell as usize] += 1);
            pace.spend(scratch.facts.len()).await;
        }
        let mut before = 0;
        for end in &mut ends {
            before += std::mem::replace(end, before);
        }
        let mut calls = vec![0u32; before];
        for &at in &by_root {
            let row = rows[at as usize];
            let own = &facts.rows[row as usize];
            let fold = facts.folds[row as usize];
            model.roots.push(own.root);
            facts.row(row as usize, &mut scratch.facts);
            for fact in &scratch.facts {
                let kind = cells[fact.cell as usize].kind;
                let q = if kind.is_category() { 0 } else { model.quantise(&quantiser, kind, fact.value) };
                let end = &mut ends[fact.cell as usize];
                calls[*end] = u32::from(q) << 3 | u32::from(fold);
                *end += 1;
            }
            pace.spend(scratch.facts.len()).await;
        }
        model.roots.compact_sort();
        model.roots.dedup();
        model.states.reserve_exact(cells.len());
        let mut from = 0;
        for (cell, end) in cells.iter().zip(ends) {
            let own = &mut calls[from..end];
            from = end;
            model.states.push(State::of(cell.kind.is_category(), own));
            pace.spend(1 + 4 * own.len()).await;
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
        (self.calibration, self.delays) = (vec![Default::default(); rows.len()], vec![0.0; rows.len()]);
        for at in by_root(facts, rows) {
            let (row, at) = (rows[at as usize] as usize, at as usize);
            let own = tables.own_scores(self, &located, facts, row, &mut scratch);
            (self.calibration[at], self.delays[at]) = own;
            pace.spend(scratch.facts.len()).await;
        }
        tables.views = Views::new(&self.calibration, &self.delays);
        let trained = rows.iter().zip(&tables.views.own);
        trained.map(|(&row, &verdict)| Trained { row, verdict }).collect()
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

impl TreeModel {
    /// Returns the endpoints of a set of calls; none of other categories.
    pub(super) fn members(&self, kind: FactKind, condition: u32) -> &[u32] {
        match kind {
            FactKind::Calls => &self.dictionary.sets[condition as usize],
            _ => &[],
        }
    }

    /// Returns the categories of some cells: endpoints that are called, and counts.
    pub(super) fn categories(&self, cells: Range<usize>) -> Vec<(&[u32], Counts)> {
        let states = self.dictionary.cells[cells.clone()].iter().zip(&self.states[cells]);
        let categories = states.filter_map(|(cell, state)| match state {
            State::Category(counts) => Some((self.members(cell.kind, cell.condition), *counts)),
            State::Numbers(_) => None,
        });
        categories.collect()
    }
}
