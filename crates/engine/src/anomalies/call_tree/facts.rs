//! Facts of requests over one dictionary of call paths (`docs/definitions/anomaly.md` section 1).

use crate::anomalies::paper::{FeatureCell, RowFacts};
use crate::anomalies::sets::fold;
use crate::flame::Contexts;
use crate::names::join_sums;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{Endpoint, NO_ROW};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Kinds of facts.
pub(super) const KINDS: usize = FactKind::Outside as usize + 1;

/// Kind of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum FactKind {
    /// Endpoints that a span calls; the condition is the set.
    Calls,
    /// Number of calls to one of them; the call path is that of the call.
    Count,
    /// Sibling that ended last before a call began; the condition is its endpoint, [`NO_ROW`] for none.
    After,
    /// Start of an error in a span; the condition is 1 if one starts there, else 0.
    Error,
    /// Membership of a call in the critical path of its parent; the condition is 1 if it is on it, else 0.
    Critical,
    /// Duration of a span less the union of its calls; the condition is the set of calls.
    SelfTime,
    /// Duration of a span that calls something; the condition is the set of calls.
    TotalTime,
    /// Duration of the request; the condition is the set of calls.
    Latency,
    /// Time before a call, from what it came after; the condition is that.
    Wait,
    /// Time that calls reach beyond their span, and 1 % of the span.
    Outside,
}

impl FactKind {
    /// Returns whether facts of it are one of several possibilities and not numbers.
    pub fn is_category(self) -> bool {
        matches!(self, FactKind::Calls | FactKind::After | FactKind::Error | FactKind::Critical)
    }
}

/// The part of a request that a fact belongs to. The order is that of the views.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum PartOfRequest {
    /// Calls, their order, and failures.
    #[default]
    Structure,
    /// Times on the critical path.
    OnPath,
    /// Times off the critical path.
    OffPath,
    /// Times of a span off the critical path that covers a sibling; judged as those of [`PartOfRequest::OffPath`].
    Covering,
}

impl PartOfRequest {
    /// Returns a value with the part it belongs to.
    pub(super) fn mark(self, value: u64) -> u64 {
        value << 2 | self as u64
    }

    /// Returns a value and the part that [`mark`](Self::mark) put beside it.
    pub(super) fn unmark(marked: u64) -> (PartOfRequest, u64) {
        let part = match marked & 3 {
            0 => PartOfRequest::Structure,
            1 => PartOfRequest::OnPath,
            2 => PartOfRequest::OffPath,
            _ => PartOfRequest::Covering,
        };
        (part, marked >> 2)
    }

    /// Returns its place among the three that are judged.
    pub fn place(self) -> usize {
        (self as usize).min(2)
    }
}

/// One possibility of a fact: its kind, the call path, and the category or condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CellKey {
    /// The kind of the fact.
    pub kind: FactKind,
    /// Number of the call path.
    pub context: u32,
    /// As the kind says; [`NO_ROW`] where it has none.
    pub condition: u32,
}

impl CellKey {
    /// Returns the kind and call path: what training calls are compared by.
    pub fn key(&self) -> (FactKind, u32) {
        (self.kind, self.context)
    }
}

/// The names that facts refer to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Dictionary {
    /// Call paths from the roots of requests.
    pub paths: Contexts<()>,
    /// Sets of endpoints that are called, each sorted.
    pub sets: Vec<Vec<u32>>,
    /// Cells of all possibilities seen.
    pub cells: Vec<CellKey>,
}

/// The request of a row, and the place of its facts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FactRow {
    /// The facts of the request.
    pub facts: RowFacts,
    /// Call path of its root.
    pub root: u32,
    /// Durations above 0, and those of them that 10, 100 and 1,000 us divide.
    pub ticks: [u32; 4],
    /// One past its last byte in the stream of its part.
    pub end: u64,
    /// The endpoints at which it was made abnormal; `None` of a request as it is.
    pub injected: Option<Vec<Endpoint>>,
}

/// The facts of some requests of one worker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FactPart {
    /// Spans that an injection took out, and spans before it.
    pub lost: (u64, u64),
    pub(super) dictionary: Dictionary,
    /// The requests, in the order they were observed in.
    pub rows: Vec<FactRow>,
    #[serde(with = "pathlight_base::packed")]
    pub(super) bytes: Vec<u8>,
}

/// A fact of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Number of the possibility.
    pub cell: u32,
    /// Part and microseconds or number, as `Part::unmark` tells; 0 of a category.
    pub value: u64,
}

fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub(super) fn next_number(bytes: &mut &[u8]) -> u64 {
    let (mut number, mut shift) = (0, 0);
    while let Some((&byte, rest)) = bytes.split_first() {
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 || shift >= 56 {
            break;
        }
        shift += 7;
    }
    number
}

/// Appends a fact to a stream.
pub(super) fn push_fact(bytes: &mut Vec<u8>, cell: u32, value: Option<u64>) {
    push_number(bytes, u64::from(cell) << 1 | u64::from(value.is_some()));
    if let Some(value) = value {
        push_number(bytes, value);
    }
}

/// The number in a merged dictionary of each call path, and of each cell, of one that went into it.
pub(super) type Numbers = (Vec<u32>, Vec<u32>);

/// Facts of many requests over one dictionary, with rows by request id.
#[derive(Clone, Debug, Default)]
pub struct RequestFacts {
    /// The names.
    pub dictionary: Dictionary,
    /// The requests, those made abnormal last, by trace id and root span id; roots are call paths of the dictionary.
    pub rows: Vec<FactRow>,
    /// Spans that an injection took out, and spans before it.
    pub lost: (u64, u64),
    /// Of each row the fold of its trace.
    pub(super) folds: Vec<u8>,
    /// Stream and first byte of each row.
    starts: Vec<(u32, u64)>,
    /// Bytes of each part, and the number here of each of its cells.
    streams: Vec<(Vec<u8>, Vec<u32>)>,
}

impl Dictionary {
    /// Joins dictionaries; also returns the new number of each call path and of each cell of every one.
    pub(super) fn merge(parts: Vec<Dictionary>) -> (Dictionary, Vec<Numbers>) {
        let (mut forests, mut rest) = (Vec::new(), Vec::new());
        for Dictionary { paths, sets, cells } in parts {
            rest.push((sets, cells));
            forests.push(paths);
        }
        let (paths, placed) = Contexts::merge_placed(forests, |(), ()| {});
        let mut sets: BTreeMap<Vec<u32>, u32> = BTreeMap::new();
        for ((part_sets, _), placed) in rest.iter_mut().zip(&placed) {
            for set in part_sets {
                set.iter_mut().for_each(|endpoint| *endpoint = placed.endpoints[*endpoint as usize]);
                set.sort_unstable();
                sets.insert(set.clone(), 0);
            }
        }
        sets.values_mut().zip(0..).for_each(|(number, next)| *number = next);
        // Each with its place among the cells of all parts, one part after the other.
        let mut all: Vec<(CellKey, u32)> =
            Vec::with_capacity(rest.iter().map(|(_, cells)| cells.len()).sum());
        for ((part_sets, cells), placed) in rest.iter().zip(&placed) {
            let part_sets: Vec<u32> = part_sets.iter().map(|set| sets[set]).collect();
            for &CellKey { kind, context, condition } in cells {
                let context = placed.nodes[context as usize];
                let condition = match kind {
                    FactKind::Calls | FactKind::SelfTime | FactKind::TotalTime | FactKind::Latency => {
                        part_sets[condition as usize]
                    }
                    FactKind::After | FactKind::Wait if condition != NO_ROW => {
                        placed.endpoints[condition as usize]
                    }
                    _ => condition,
                };
                all.push((CellKey { kind, context, condition }, all.len() as u32));
            }
        }
        // There may be millions: two numbers are compared sooner than three fields, and the order of equal ones is no matter.
        all.sort_unstable_by_key(|(cell, _)| {
            ((cell.kind as u64) << 32 | u64::from(cell.context), cell.condition)
        });
        let mut numbers = vec![NO_ROW; all.len()];
        let mut cells = Vec::with_capacity(all.len());
        for same in all.chunk_by(|a, b| a.0 == b.0) {
            same.iter().for_each(|&(_, place)| numbers[place as usize] = cells.len() as u32);
            cells.push(same[0].0);
        }
        let mut numbers = numbers.into_iter();
        let numbers = placed
            .into_iter()
            .zip(&rest)
            .map(|(placed, (_, cells))| (placed.nodes, numbers.by_ref().take(cells.len()).collect()));
        let numbers = numbers.collect();
        (Dictionary { paths, sets: sets.into_keys().collect(), cells }, numbers)
    }
}

impl RequestFacts {
    /// Joins the parts of disjoint requests; the result does not depend on their order.
    pub fn merge(parts: Vec<FactPart>) -> RequestFacts {
        let mut facts = RequestFacts::default();
        let (mut dictionaries, mut rows, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        for (number, part) in parts.into_iter().enumerate() {
            facts.lost = (facts.lost.0 + part.lost.0, facts.lost.1 + part.lost.1);
            let mut from = 0;
            for row in part.rows {
                let end = row.end;
                rows.push((row, (number as u32, from)));
                from = end;
            }
            dictionaries.push(part.dictionary);
            bytes.push(part.bytes);
        }
        let (dictionary, numbers) = Dictionary::merge(dictionaries);
        rows.compact_sort_by(|(a, _), (b, _)| {
            let key = |row: &FactRow| row.injected.is_some();
            key(a).cmp(&key(b)).then_with(|| a.facts.request.cmp(&b.facts.request))
        });
        for (mut row, start) in rows {
            row.root = numbers[start.0 as usize].0[row.root as usize];
            facts.folds.push(fold(&row.facts.request.trace_id));
            facts.rows.push(row);
            facts.starts.push(start);
        }
        facts.dictionary = dictionary;
        facts.streams = bytes.into_iter().zip(numbers).map(|(bytes, (_, cells))| (bytes, cells)).collect();
        facts
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there is no request.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Reads the facts of a row.
    pub fn row(&self, row: usize, out: &mut Vec<Fact>) {
        out.clear();
        let (stream, from) = self.starts[row];
        let (bytes, cells) = &self.streams[stream as usize];
        let mut rest = &bytes[from as usize..self.rows[row].end as usize];
        while !rest.is_empty() {
            let cell = next_number(&mut rest);
            let value = if cell & 1 == 1 { next_number(&mut rest) } else { 0 };
            out.push(Fact { cell: cells[(cell >> 1) as usize], value });
        }
    }

    /// Returns the self times of a row by call path, ascending; `facts` are those of the row.
    pub fn self_times(&self, facts: &[Fact]) -> Vec<FeatureCell> {
        let mut times: Vec<(u32, u64)> = Vec::new();
        for fact in facts {
            let cell = self.dictionary.cells[fact.cell as usize];
            if cell.kind == FactKind::SelfTime {
                times.push((cell.context, PartOfRequest::unmark(fact.value).1));
            }
        }
        join_sums(&mut times, |sum, us| *sum = sum.saturating_add(us));
        times.into_iter().map(|(path, us)| FeatureCell { path, us }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_stream_come_back() {
        let numbers = [0, 1, 127, 128, 300, 1 << 40, u64::from(u32::MAX) << 2 | 3];
        let mut bytes = Vec::new();
        numbers.iter().for_each(|&number| push_number(&mut bytes, number));
        let mut rest = bytes.as_slice();
        assert_eq!(numbers.map(|_| next_number(&mut rest)), numbers);
        assert!(rest.is_empty());
    }

    #[test]
    fn a_value_keeps_its_part() {
        for part in
            [PartOfRequest::Structure, PartOfRequest::OnPath, PartOfRequest::OffPath, PartOfRequest::Covering]
        {
            assert_eq!(PartOfRequest::unmark(part.mark(77)), (part, 77));
        }
        assert_eq!(PartOfRequest::Covering.place(), PartOfRequest::OffPath.place());
    }
}
