//! One baseline of several (`docs/definitions/anomaly.md` section 4).
//!
//! Counts are added. What requests of training score depends on all of them, so those whose facts are kept are judged again.

use super::categories::Counts;
use super::facts::Dictionary;
use super::model::{State, offset_us};
use super::tails::{Histogram, Quantiser, amount, join};
use super::{FactKind, FactPart, RequestFacts, Tables, TreeModel};
use pathlight_base::sort::CompactSort as _;
use pathlight_base::steps::Pace;

/// The most training requests whose facts are kept: with so many the least p-value is below 0.0005.
const FACTS_KEPT: usize = 2_000;

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
    /// Keeps the facts of some of the rows that it has learned from, so that it can be merged.
    pub fn keep(&mut self, facts: &RequestFacts, rows: &[u32]) {
        self.kept = facts.sample(rows, FACTS_KEPT);
    }

    /// Returns one baseline of several that have learned from different requests; the same as one that has learned from
    /// all of them, as long as those are no more than are kept, and clocks tick alike. Each has [kept](Self::keep)
    /// requests. `None` if one keeps facts that it has no counts of.
    pub(in crate::anomalies) async fn merge(models: Vec<TreeModel>, pace: &mut Pace) -> Option<TreeModel> {
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
        all.kept = FactPart::sample(models.into_iter().map(|model| model.kept).collect(), FACTS_KEPT);
        // With names that no kept request has, the numbers are those of the dictionary.
        let names = FactPart { dictionary: dictionary.clone(), ..FactPart::default() };
        let facts = RequestFacts::merge(vec![names, all.kept.clone()]);
        if facts.dictionary != dictionary {
            return None;
        }
        all.dictionary = dictionary;
        let rows: Vec<u32> = (0..facts.len() as u32).collect();
        let mut tables = Tables::of_states(&all, quantiser, pace).await;
        all.calibrate(&mut tables, &facts, &rows, pace).await;
        Some(all)
    }
}
