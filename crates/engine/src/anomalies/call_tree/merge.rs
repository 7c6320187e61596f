//! One baseline of several, and one without some of its requests (`docs/definitions/anomaly.md` section 4).
//!
//! Counts are added or taken away. What requests of training score depends on all of them, so those whose facts are kept are
//! judged again.

use super::categories::Counts;
use super::facts::Dictionary;
use super::model::{State, offset_us};
use super::tails::{Histogram, Quantiser, amount, join};
use super::{FactKind, FactPart, RequestFacts, Tables, Trained, TreeModel};
use crate::anomalies::examples::Examples;
use crate::anomalies::sets::FOLDS;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::steps::Pace;

/// The most training requests whose facts are kept: with so many the least p-value is below 0.0005.
pub const FACTS_KEPT: usize = 2_000;

/// A baseline whose kept requests were judged by each other.
pub struct Calibrated {
    /// The baseline.
    pub model: TreeModel,
    /// Its tables.
    pub tables: Tables,
    /// The facts of the requests that it keeps.
    pub facts: RequestFacts,
    /// The verdict on each of them, by the other folds; one that counts several times has one.
    pub trained: Vec<Trained>,
}

/// Returns the times of another offset, as far as rounded logarithms tell.
fn moved(histogram: &Histogram, from_us: u64, to_us: u64, quantiser: &Quantiser) -> Histogram {
    let again = |q: u16| {
        let us = amount(q).round() as u64;
        quantiser.of(us.saturating_sub(from_us).saturating_add(to_us))
    };
    let moved: Vec<Histogram> = histogram.iter().map(|&(q, counts)| vec![(again(q), counts)]).collect();
    join(moved.iter())
}

impl TreeModel {
    /// Keeps the facts of at most so many of the rows that it has learned from, so that it can be merged.
    pub fn keep(&mut self, facts: &RequestFacts, rows: &[u32], most: usize) {
        self.kept = facts.sample(rows, most);
    }

    /// Returns the facts of the requests that it keeps, in its own numbers; `None` if it has no counts of some.
    pub fn kept_facts(&self) -> Option<RequestFacts> {
        // With names that no kept request has, the numbers are those of the dictionary.
        let names = FactPart { dictionary: self.dictionary.clone(), ..FactPart::default() };
        let facts = RequestFacts::merge(vec![names, self.kept.clone()]);
        (facts.dictionary == self.dictionary).then_some(facts)
    }

    /// Makes each request that it has learned from count so many times in each fold.
    pub fn weigh(&mut self, times: u32) {
        let weigh = |counts: &mut Counts| *counts = [counts.iter().sum::<u32>().saturating_mul(times); FOLDS];
        for state in &mut self.states {
            match state {
                State::Category(counts) => weigh(counts),
                State::Numbers(numbers) => numbers.iter_mut().for_each(|(_, counts)| weigh(counts)),
            }
        }
    }

    /// Forgets some of the requests that it keeps: rows of [their facts](Self::kept_facts), ascending.
    pub fn forget(&mut self, facts: &RequestFacts, rows: &[u32]) {
        let (quantiser, mut row_facts) = (Quantiser::default(), Vec::new());
        for &row in rows {
            let fold = usize::from(facts.folds[row as usize]);
            facts.row(row as usize, &mut row_facts);
            for fact in &row_facts {
                let kind = self.dictionary.cells[fact.cell as usize].kind;
                let q = self.quantise(&quantiser, kind, fact.value);
                let counts = match &mut self.states[fact.cell as usize] {
                    State::Category(counts) => Some(counts),
                    State::Numbers(numbers) => {
                        numbers.iter_mut().find(|(of, _)| *of == q).map(|(_, counts)| counts)
                    }
                };
                if let Some(counts) = counts {
                    counts[fold] = counts[fold].saturating_sub(1);
                }
            }
            let ticks = facts.rows[row as usize].ticks;
            self.ticks.iter_mut().zip(ticks).for_each(|(sum, n)| *sum = sum.saturating_sub(u64::from(n)));
        }
        self.states.iter_mut().for_each(|state| {
            if let State::Numbers(numbers) = state {
                numbers.retain(|(_, counts)| counts.iter().any(|n| *n > 0));
            }
        });
        self.learned = self.learned().saturating_sub(rows.len() as u64);
        // It is judged by what is left, which is not done here.
        (self.calibration, self.delays) = (Vec::new(), Vec::new());
        let stay = (0..facts.len() as u32).filter(|row| rows.binary_search(row).is_err());
        self.kept = facts.sample(&stay.collect::<Vec<_>>(), usize::MAX);
    }

    /// Returns one baseline of several that have learned from different requests; the same as one that has learned from
    /// all of them, as long as those are no more than are kept, and clocks tick alike. Each has [kept](Self::keep)
    /// requests, of all of which at most so many are kept. `None` if one keeps facts that it has no counts of.
    pub(in crate::anomalies) async fn merge(
        models: Vec<TreeModel>,
        most: usize,
        pace: &mut Pace,
    ) -> Option<Calibrated> {
        let dictionaries = models.iter().map(|model| model.dictionary.clone());
        let (dictionary, numbers) = Dictionary::merge(dictionaries.collect());
        let mut all = TreeModel::default();
        for model in &models {
            all.learned += model.learned();
            all.contaminated_ppm = all.contaminated_ppm.max(model.contaminated_ppm);
            all.ticks.iter_mut().zip(model.ticks).for_each(|(sum, n)| *sum += n);
        }
        all.offset_us = offset_us(&all.ticks);
        let empty = |kind: FactKind| match kind.is_category() {
            true => State::Category(Counts::default()),
            false => State::Numbers(Histogram::new()),
        };
        all.states = dictionary.cells.iter().map(|cell| empty(cell.kind)).collect();
        let quantiser = Quantiser::default();
        for (model, (paths, cells)) in models.iter().zip(&numbers) {
            let states = model.states.iter().zip(&model.dictionary.cells).zip(cells);
            for ((state, key), &cell) in states {
                match (state, &mut all.states[cell as usize]) {
                    (State::Category(counts), State::Category(into)) => {
                        into.iter_mut().zip(counts).for_each(|(into, n)| *into += n);
                    }
                    (State::Numbers(numbers), State::Numbers(into)) => {
                        let is_same = key.kind == FactKind::Count || model.offset_us == all.offset_us;
                        *into = match is_same {
                            true => join([&*into, numbers].into_iter()),
                            false => {
                                let moved = moved(numbers, model.offset_us, all.offset_us, &quantiser);
                                join([&*into, &moved].into_iter())
                            }
                        };
                    }
                    _ => {}
                }
                pace.spend(20).await;
            }
            all.roots.extend(model.roots.iter().map(|&root| paths[root as usize]));
        }
        all.roots.compact_sort();
        all.roots.dedup();
        all.kept = FactPart::sample(models.into_iter().map(|model| model.kept).collect(), most);
        all.dictionary = dictionary;
        let facts = all.kept_facts()?;
        let rows: Vec<u32> = (0..facts.len() as u32).collect();
        let mut tables = Tables::of_states(&all, quantiser, pace).await;
        let mut trained = all.calibrate(&mut tables, &facts, &rows, pace).await;
        // One that counts several times is one request.
        let request = |one: &Trained| &facts.rows[one.row as usize].facts.request;
        trained.dedup_by(|a, b| request(a) == request(b));
        all.examples = Examples::of_normal(&facts, &trained, |_| true, pace).await;
        Some(Calibrated { model: all, tables, facts, trained })
    }
}
