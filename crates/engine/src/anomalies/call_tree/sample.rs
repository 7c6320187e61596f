//! Some requests that stand for many: those whose trace ids have the smallest hashes (`docs/definitions/summary.md`).
//!
//! The choice depends on ids alone, so the sample of all requests is the sample of the samples of any parts.

use super::super::PartOfRequest;
use super::facts::{CellKey, Dictionary, next_number, push_fact};
use super::model::State;
use super::{FactKind, FactPart, FactRow, RequestFacts, TreeModel};
use crate::anomalies::sets::FOLDS;
use crate::flame::{Context, Contexts};
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, NO_ROW, hash_text};
use std::collections::BTreeMap;

/// Longer times, in microseconds, and greater numbers are not believed of a file.
const MOST: u64 = 1 << 48;

/// Returns the numbers the things that are used in their order; [`NO_ROW`] for the others.
fn number(used: &[bool]) -> Vec<u32> {
    let mut next = 0;
    let number = |&is_used: &bool| {
        next += u32::from(is_used);
        if is_used { next - 1 } else { NO_ROW }
    };
    used.iter().map(number).collect()
}

/// Returns whether the condition of such a cell is a set of calls.
fn names_set(kind: FactKind) -> bool {
    matches!(kind, FactKind::Calls | FactKind::SelfTime | FactKind::TotalTime | FactKind::Latency)
}

fn names_endpoint(cell: &CellKey) -> bool {
    matches!(cell.kind, FactKind::After | FactKind::Wait) && cell.condition != NO_ROW
}

impl FactPart {
    /// Returns the requests of these parts with the smallest hashes, at most so many. Neither their order nor their
    /// grouping changes the result.
    pub fn sample(parts: Vec<FactPart>, most: usize) -> FactPart {
        let mut all: Vec<(u64, usize, usize)> = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            let keys = part.rows.iter().map(|row| hash_text(&row.facts.request.trace_id));
            all.extend(keys.enumerate().map(|(row, key)| (key, number, row)));
        }
        let request = |&(_, part, row): &(u64, usize, usize)| &parts[part].rows[row].facts.request;
        all.compact_sort_by(|a, b| a.0.cmp(&b.0).then_with(|| request(a).cmp(request(b))));
        all.truncate(most);
        let mut rows_of: Vec<Vec<usize>> = vec![Vec::new(); parts.len()];
        all.into_iter().for_each(|(_, part, row)| rows_of[part].push(row));
        let kept = parts.into_iter().zip(rows_of).filter(|(_, rows)| !rows.is_empty());
        let kept = kept.map(|(part, mut rows)| {
            rows.sort_unstable();
            part.only(&rows)
        });
        // Merging brings names and requests into their order, which does not depend on that of the parts.
        let facts = RequestFacts::merge(kept.collect());
        facts.part(&(0..facts.len()).collect::<Vec<_>>())
    }

    /// Returns the requests by the endpoint at their root.
    pub fn into_roots(self) -> BTreeMap<Endpoint, FactPart> {
        let Contexts { endpoints, nodes } = &self.dictionary.paths;
        let mut rows: BTreeMap<&Endpoint, Vec<usize>> = BTreeMap::new();
        for (number, row) in self.rows.iter().enumerate() {
            let root = &endpoints[nodes[row.root as usize].endpoint as usize];
            rows.entry(root).or_default().push(number);
        }
        rows.into_iter().map(|(root, rows)| (root.clone(), self.only(&rows))).collect()
    }

    /// Returns some rows, ascending, with the names that they use.
    fn only(&self, rows: &[usize]) -> FactPart {
        let FactPart { dictionary, bytes, .. } = self;
        let of = |row: usize| {
            let from = row.checked_sub(1).map_or(0, |before| self.rows[before].end);
            &bytes[from as usize..self.rows[row].end as usize]
        };
        let mut cells = vec![false; dictionary.cells.len()];
        for &row in rows {
            each_fact(of(row), |cell, _| cells[cell as usize] = true);
        }
        let mut sets = vec![false; dictionary.sets.len()];
        let mut endpoints = vec![false; dictionary.paths.endpoints.len()];
        let mut paths = vec![false; dictionary.paths.nodes.len()];
        rows.iter().for_each(|&row| paths[self.rows[row].root as usize] = true);
        for (cell, _) in dictionary.cells.iter().zip(&cells).filter(|(_, is_used)| **is_used) {
            paths[cell.context as usize] = true;
            if names_set(cell.kind) {
                sets[cell.condition as usize] = true;
            } else if names_endpoint(cell) {
                endpoints[cell.condition as usize] = true;
            }
        }
        // Parents come first, so backwards all below a path are seen before it.
        for (path, node) in dictionary.paths.nodes.iter().enumerate().rev() {
            if paths[path] {
                endpoints[node.endpoint as usize] = true;
                if node.parent != NO_ROW {
                    paths[node.parent as usize] = true;
                }
            }
        }
        let used_sets = || dictionary.sets.iter().zip(&sets).filter(|(_, is_used)| **is_used);
        for endpoint in used_sets().flat_map(|(set, _)| set) {
            endpoints[*endpoint as usize] = true;
        }
        let [cell_number, set_number, endpoint_number, path_number] =
            [&cells, &sets, &endpoints, &paths].map(|used| number(used));
        let mut out = FactPart::default();
        let nodes = dictionary.paths.nodes.iter().zip(&paths).filter(|(_, is_used)| **is_used);
        let names = dictionary.paths.endpoints.iter().zip(&endpoints).filter(|(_, is_used)| **is_used);
        let moved =
            |number: u32, numbers: &[u32]| if number == NO_ROW { NO_ROW } else { numbers[number as usize] };
        out.dictionary = Dictionary {
            paths: Contexts {
                endpoints: names.map(|(name, _)| name.clone()).collect(),
                nodes: nodes
                    .map(|(node, _)| Context {
                        parent: moved(node.parent, &path_number),
                        endpoint: endpoint_number[node.endpoint as usize],
                        value: (),
                    })
                    .collect(),
            },
            sets: used_sets()
                .map(|(set, _)| set.iter().map(|&endpoint| endpoint_number[endpoint as usize]).collect())
                .collect(),
            cells: dictionary
                .cells
                .iter()
                .zip(&cells)
                .filter(|(_, is_used)| **is_used)
                .map(|(cell, _)| CellKey {
                    kind: cell.kind,
                    context: path_number[cell.context as usize],
                    condition: if names_set(cell.kind) {
                        set_number[cell.condition as usize]
                    } else if names_endpoint(cell) {
                        endpoint_number[cell.condition as usize]
                    } else {
                        cell.condition
                    },
                })
                .collect(),
        };
        for &row in rows {
            each_fact(of(row), |cell, value| push_fact(&mut out.bytes, cell_number[cell as usize], value));
            let mut kept = self.rows[row].clone();
            kept.root = path_number[kept.root as usize];
            kept.end = out.bytes.len() as u64;
            out.rows.push(kept);
        }
        out
    }

    /// Returns whether all that it names exists, and its rows can be read: of a part that came from elsewhere.
    pub fn is_sound(&self) -> bool {
        let Dictionary { paths, cells, .. } = &self.dictionary;
        let nodes = paths.nodes.len() as u32;
        let mut from = 0;
        let mut is_row = |end: u64, root: u32| {
            let bytes = self.bytes.get(from..end as usize);
            from = end as usize;
            let mut is_sound = root < nodes && bytes.is_some();
            each_fact(bytes.unwrap_or_default(), |cell, value| {
                let kind = cells.get(cell as usize).map(|cell| cell.kind);
                is_sound &= kind.is_some_and(|kind| kind.is_category() == value.is_none());
                is_sound &= value.is_none_or(|value| PartOfRequest::unmark(value).1 <= MOST);
            });
            is_sound
        };
        self.dictionary.is_sound()
            && self.rows.iter().all(|row| is_row(row.end, row.root))
            && from == self.bytes.len()
    }
}

impl TreeModel {
    /// Returns whether every number in it names something of it: it may come from a file that somebody wrote.
    pub(in crate::anomalies) fn is_sound(&self) -> bool {
        let paths = self.dictionary.paths.nodes.len();
        let is_state = |(cell, state): (&CellKey, &State)| {
            cell.kind.is_category() == matches!(state, State::Category(_))
        };
        self.dictionary.is_sound()
            && self.states.len() == self.dictionary.cells.len()
            && self.dictionary.cells.iter().zip(&self.states).all(is_state)
            && self.calibration.iter().all(|(fold, scores)| {
                usize::from(*fold) < FOLDS && scores.iter().all(|score| score.is_finite())
            })
            && (self.delays.is_empty() || self.delays.len() == self.calibration.len())
            && self.delays.iter().all(|delay| delay.is_finite())
            && self.roots.is_sorted()
            && self.roots.iter().all(|&root| (root as usize) < paths)
            && self.examples.is_sound(paths)
            && self.kept.is_sound()
    }
}

impl Dictionary {
    /// Returns whether every number in it names something of it: it may come from a file that somebody wrote.
    pub(super) fn is_sound(&self) -> bool {
        let Dictionary { paths, sets, cells } = self;
        let (endpoints, nodes) = (paths.endpoints.len() as u32, paths.nodes.len() as u32);
        let is_set = |set: &Vec<u32>| {
            set.is_sorted_by(|a, b| a < b) && set.last().is_none_or(|last| *last < endpoints)
        };
        let is_cell = |cell: &CellKey| {
            let is_condition = match cell.kind {
                kind if names_set(kind) => (cell.condition as usize) < sets.len(),
                FactKind::After | FactKind::Wait => cell.condition == NO_ROW || cell.condition < endpoints,
                FactKind::Error | FactKind::Critical => cell.condition < 2,
                _ => cell.condition == NO_ROW,
            };
            cell.context < nodes && is_condition
        };
        paths.is_sound() && sets.iter().all(is_set) && cells.iter().all(is_cell)
    }
}

/// Reads the facts of a stream: cells, and the values of those that have one.
fn each_fact(mut bytes: &[u8], mut each: impl FnMut(u32, Option<u64>)) {
    while !bytes.is_empty() {
        let cell = next_number(&mut bytes);
        let value = (cell & 1 == 1).then(|| next_number(&mut bytes));
        each((cell >> 1).min(u64::from(NO_ROW)) as u32, value);
    }
}

impl RequestFacts {
    /// Returns those of some rows (ascending) whose trace ids have the smallest hashes, at most so many, as one part.
    pub fn sample(&self, rows: &[u32], most: usize) -> FactPart {
        let request = |row: u32| &self.rows[row as usize].facts.request;
        let mut chosen: Vec<(u64, u32)> =
            rows.iter().map(|&row| (hash_text(&request(row).trace_id), row)).collect();
        chosen.compact_sort();
        chosen.truncate(most);
        let mut rows: Vec<usize> = chosen.into_iter().map(|(_, row)| row as usize).collect();
        rows.sort_unstable();
        let part = self.part(&rows);
        part.only(&(0..rows.len()).collect::<Vec<_>>())
    }

    /// Returns some rows with all names.
    fn part(&self, rows: &[usize]) -> FactPart {
        let (mut out, mut facts) = (FactPart::default(), Vec::new());
        for &row in rows {
            self.row(row, &mut facts);
            for fact in &facts {
                let is_category = self.dictionary.cells[fact.cell as usize].kind.is_category();
                push_fact(&mut out.bytes, fact.cell, (!is_category).then_some(fact.value));
            }
            out.rows.push(FactRow { end: out.bytes.len() as u64, ..self.rows[row].clone() });
        }
        (out.dictionary, out.lost) = (self.dictionary.clone(), self.lost);
        out
    }
}
