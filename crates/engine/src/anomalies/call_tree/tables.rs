//! Lookup tables of a model, and the scores of a request by them (`docs/definitions/anomaly.md` sections 2 and 3).

use super::super::PartOfRequest;
use super::categories::{Categories, Counts, Unseen, only_surprises};
use super::delay::LongestTimes;
use super::facts::{CellKey, Dictionary};
use super::model::{ENOUGH, State};
use super::tails::{COUNTS, Histogram, Prior, Quantiser, TIMES, Tail, TailCounts, join};
use super::views::{UNKNOWN, ViewScores, Views};
use super::{Fact, FactKind, RequestFacts, TreeModel, TreeVerdict};
use crate::anomalies::sets::FOLDS;
use pathlight_base::statistics::ln;
use pathlight_base::steps::Pace;
use pathlight_trace::{Endpoint, NO_ROW};
use std::ops::Range;

/// Training calls up to which the numbers of a key with one cell have no table: one has ten entries for each number, and such
/// a key is asked for fewer.
const FEW: u32 = 6;

/// Lookup tables of a model, made once. A key is a kind and call path; its cells stand side by side.
pub struct Tables {
    /// By cell its key.
    key_of: Vec<u32>,
    /// By key one past its last cell.
    ends: Vec<u32>,
    /// By key; none of categories, and of few numbers in one cell.
    key_tails: Vec<Option<Box<TailCounts>>>,
    /// By cell; few have one.
    cell_tails: Vec<Option<Box<TailCounts>>>,
    /// By cell, up to the last that is a category: its surprises; 0 of numbers.
    categories: Vec<[f64; FOLDS]>,
    unseen: Unseen,
    quantiser: Quantiser,
    pub(super) longest: LongestTimes,
    pub(super) views: Views,
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
    /// Surprises of categories that training has not, but others of their key.
    unseen: Vec<[f64; FOLDS]>,
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
    /// Of a category that training has not, the place of its surprises; else [`NO_ROW`].
    pub unseen: u32,
}

/// Returns by how much the greatest surprise of so many facts exceeds what one of them has by chance, the logarithm of their
/// number; if it does not, how near it comes, from -1 up.
fn beyond_chance(s: f64, facts: u32) -> f64 {
    let chance = ln(f64::from(facts.max(2)));
    if s >= chance { s - chance } else { s / chance - 1.0 }
}

/// Returns the prior of a kind of number.
fn prior(kind: FactKind) -> Prior {
    if kind == FactKind::Count { COUNTS } else { TIMES }
}

impl Tables {
    pub(super) async fn of_states(model: &TreeModel, quantiser: Quantiser, pace: &mut Pace) -> Tables {
        let cells = &model.dictionary.cells;
        let categories = cells.iter().rposition(|cell| cell.kind.is_category());
        let mut tables = Tables {
            key_of: Vec::with_capacity(cells.len()),
            ends: Vec::new(),
            key_tails: Vec::new(),
            cell_tails: Vec::with_capacity(cells.len()),
            categories: vec![[0.0; FOLDS]; categories.map_or(0, |last| last + 1)],
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
            let (kind, own) = (same[0].kind, at..at + same.len());
            tables.key_of.extend(same.iter().map(|_| tables.ends.len() as u32));
            at = own.end;
            tables.ends.push(at as u32);
            if kind.is_category() {
                tables.learn_categories(model, own);
                tables.key_tails.push(None);
                tables.cell_tails.extend(same.iter().map(|_| None));
                pace.spend(if same.len() == 1 { 10 } else { 100 * same.len() }).await;
            } else {
                let entries = tables.learn_numbers(model, own);
                pace.spend(same.len() + 20 * entries).await;
            }
        }
        tables
    }

    /// Returns the cells of a key; none of [`NO_ROW`].
    pub(super) fn cells_of(&self, key: u32) -> Range<usize> {
        let Some(&end) = self.ends.get(key as usize) else { return 0..0 };
        let from = key.checked_sub(1).map_or(0, |before| self.ends[before as usize]);
        from as usize..end as usize
    }

    /// Learns the surprises of the categories of a key.
    fn learn_categories(&mut self, model: &TreeModel, cells: Range<usize>) {
        let kind = model.dictionary.cells[cells.start].kind;
        let unseen: [f64; FOLDS] = std::array::from_fn(|fold| self.unseen.share(kind, fold));
        // So it is with most keys of a set with very many call paths.
        if let [State::Category(counts)] = &model.states[cells.clone()] {
            self.categories[cells.start] = only_surprises(counts, |fold| unseen[fold]);
            return;
        }
        let all = model.categories(cells.clone());
        let categories = Categories::new(&all, kind == FactKind::Calls);
        for (surprises, (set, counts)) in self.categories[cells].iter_mut().zip(&all) {
            *surprises = categories.surprises(set, counts, |fold| unseen[fold]);
        }
    }

    /// Makes the tables of the key that comes next, one of numbers, and of its cells. Returns the entries of its own.
    fn learn_numbers(&mut self, model: &TreeModel, cells: Range<usize>) -> usize {
        let prior = prior(model.dictionary.cells[cells.start].kind);
        let table = |histogram: &Histogram| Box::new(TailCounts::new(histogram, prior));
        let states = &model.states[cells];
        let calls: u32 = states.iter().map(State::calls).sum();
        let is_few = calls <= FEW && states.len() == 1;
        let all = (!is_few).then(|| join(states.iter().filter_map(State::numbers)));
        self.key_tails.push(all.as_ref().map(table));
        let is_apart = |state: &&State| states.len() > 1 && state.calls() >= ENOUGH;
        let apart =
            states.iter().map(|state| Some(state).filter(is_apart).and_then(State::numbers).map(table));
        self.cell_tails.extend(apart);
        all.map_or(0, |all| all.len())
    }

    /// Returns the numbers of a key that has a single cell.
    fn numbers<'a>(&self, model: &'a TreeModel, key: u32) -> &'a [(u16, Counts)] {
        match &model.states[self.cells_of(key)] {
            [State::Numbers(only)] => only,
            _ => &[],
        }
    }

    /// Returns what training requests are ranked by, each by what the other folds say, ascending.
    pub fn baseline(&self) -> Vec<f64> {
        let mut ranks: Vec<f64> = self.views.own.iter().map(TreeVerdict::rank).collect();
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
        let cells = model.dictionary.cells.iter().zip(&self.key_of).enumerate();
        let mut is_root = vec![false; model.dictionary.paths.nodes.len()];
        model.roots.iter().for_each(|&root| is_root[root as usize] = true);
        let place = |(at, (cell, &key)): (usize, (&CellKey, &u32))| Place {
            kind: cell.kind,
            key,
            cell: at as u32,
            group: self.group_of(model, cell),
            unseen: NO_ROW,
        };
        Located { cells: cells.map(place).collect(), is_root, unseen: Vec::new() }
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
        // What was learned last: cells come by key.
        let mut learned: Option<(u32, Categories)> = None;
        let mut unseen = Vec::new();
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
            let mut place = Place { kind: cell.kind, key, cell: own, group, unseen: NO_ROW };
            if cell.kind.is_category() && own == NO_ROW && key != NO_ROW {
                let known = learned.take().filter(|(of, _)| *of == key);
                let (_, categories) = learned.insert(known.unwrap_or_else(|| {
                    let all = model.categories(self.cells_of(key));
                    (key, Categories::new(&all, cell.kind == FactKind::Calls))
                }));
                place.unseen = unseen.len() as u32;
                let share = |fold| self.unseen.share(cell.kind, fold);
                unseen.push(categories.surprises(set, &Counts::default(), share));
            }
            place
        });
        let cells = cells.collect();
        let is_root = paths.iter().map(|path| model.roots.binary_search(path).is_ok()).collect();
        Located { cells, is_root, unseen }
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
    pub(super) fn surprise(&self, model: &TreeModel, located: &Located, fact: &Fact, fold: usize) -> f64 {
        let place = &located.cells[fact.cell as usize];
        if place.kind.is_category() {
            let known = self.categories.get(place.cell as usize);
            let surprises = known.or_else(|| located.unseen.get(place.unseen as usize));
            return surprises.map_or(0.0, |surprises| surprises[fold]);
        }
        let q = (fact.value >> 2) as u16;
        // Of a number of calls that is always the same, another is a category never seen.
        let of_only = |tail: &Tail| {
            let only = tail.only_value().filter(|_| place.kind == FactKind::Count)?;
            let unseen = || self.unseen.share(FactKind::Calls, fold).min(1.0 / (f64::from(tail.len()) + 1.0));
            Some(if only == q { 0.0 } else { -ln(unseen()) })
        };
        let Some(of_key) = self.key_tails.get(place.key as usize).and_then(Option::as_deref) else {
            let few = self.numbers(model, place.key);
            let tail = Tail::new(few, prior(place.kind), fold);
            return of_only(&tail).unwrap_or_else(|| tail.surprise(few, q));
        };
        let of_cell = self.cell_tails.get(place.cell as usize).and_then(Option::as_deref);
        let table = of_cell.filter(|table| table.without(fold).len() >= ENOUGH).unwrap_or(of_key);
        of_only(table.without(fold)).unwrap_or_else(|| table.surprise(fold, q))
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
            let s = self.surprise(model, located, fact, fold);
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
    pub(super) fn own_scores(
        &self,
        model: &TreeModel,
        located: &Located,
        facts: &RequestFacts,
        row: usize,
        scratch: &mut Scratch,
    ) -> ((u8, ViewScores), f64) {
        let fold = facts.folds[row];
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
        self.views.own_verdict(&scores, delay)
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
}
