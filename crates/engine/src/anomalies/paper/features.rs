//! Requests as vectors: time by call path, on the critical path (SCPV) or anywhere (STV) (paper section 6.3, Fig. 11).

use crate::flame::{Context, Contexts, Observer, PathTable};
use crate::requests::RequestRef;
use pathlight_base::sort::CompactSort as _;
use pathlight_trace::{EndpointId, NO_ROW, Role, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Encoding of a vector: the times it holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum FeatureEncoding {
    /// Exclusive time on the critical path, by critical call path: the paper's.
    #[default]
    Scpv,
    /// Self time by call path, critical or not: what came before it, for comparison.
    Stv,
}

impl FeatureEncoding {
    /// Returns its name in the paper.
    pub fn name(self) -> &'static str {
        match self {
            FeatureEncoding::Scpv => "SCPV",
            FeatureEncoding::Stv => "STV",
        }
    }
}

/// The request of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct RowFacts {
    /// The request by its ids.
    pub request: RequestRef,
    /// Start of the request, in microseconds since the epoch.
    pub start_us: u64,
}

/// A time on a call path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureCell {
    /// Number of the call path.
    pub path: u32,
    /// Microseconds; 0 is a value, absence is not.
    pub us: u64,
}

/// (row, microseconds) of a call path, rows ascending.
type Column = Vec<(u32, u64)>;

/// The vectors of some requests of one worker: an accumulator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct FeaturePart {
    /// Spans that an injection took out, and spans before it.
    pub lost: (u64, u64),
    rows: Vec<RowFacts>,
    /// By call path: (row, microseconds), rows ascending.
    columns: Contexts<Column>,
}

impl FeaturePart {
    /// Returns the critical path vectors of some requests of a table.
    pub fn observe(set: &TraceSet, table: &PathTable, requests: &[u32]) -> FeaturePart {
        let mut rows = Vec::with_capacity(requests.len());
        let mut columns: Vec<Option<Column>> = vec![None; table.contexts().len()];
        for (row, &request) in requests.iter().enumerate() {
            let facts = &table.requests[request as usize];
            rows.push(RowFacts { request: RequestRef::of(set, facts), start_us: facts.start_us });
            for entry in table.entries(request) {
                let column = columns[entry.context as usize].get_or_insert_default();
                column.push((row as u32, entry.exclusive_us));
            }
        }
        FeaturePart { lost: (0, 0), rows, columns: Contexts::of_table(set, table, columns) }
    }
}

/// Collects vectors of all call paths: self time, that is duration less the union of the direct children's intervals.
pub struct StvObserver {
    rows: Vec<RowFacts>,
    index: BTreeMap<(u32, EndpointId), u32>,
    /// Parent, endpoint and column of each context.
    nodes: Vec<(u32, EndpointId, Column)>,
    /// Of the request being looked at: context by span.
    context_of: Vec<u32>,
}

impl StvObserver {
    /// Returns an observer without rows.
    pub fn new() -> StvObserver {
        StvObserver { rows: Vec::new(), index: BTreeMap::new(), nodes: Vec::new(), context_of: Vec::new() }
    }
}

impl Default for StvObserver {
    fn default() -> StvObserver {
        StvObserver::new()
    }
}

impl Observer for StvObserver {
    type Part = FeaturePart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let facts = &table.requests[request as usize];
        let row = self.rows.len() as u32;
        self.rows.push(RowFacts { request: RequestRef::of(set, facts), start_us: facts.start_us });
        let root = facts.row - tree.first;
        self.context_of.clear();
        for span in root..tree.subtree_end[root as usize] {
            if tree.role[span as usize] == Role::Dropped {
                self.context_of.push(NO_ROW);
                continue;
            }
            let parent = match span == root {
                true => NO_ROW,
                false => self.context_of[(tree.parent[span as usize] - root) as usize],
            };
            let endpoint = set.endpoint(tree.row(span));
            let next = self.nodes.len() as u32;
            let context = *self.index.entry((parent, endpoint)).or_insert(next);
            if context == next {
                self.nodes.push((parent, endpoint, Vec::new()));
            }
            self.context_of.push(context);
            let own_us = self_time_us(tree, span);
            let column = &mut self.nodes[context as usize].2;
            match column.last_mut() {
                Some((last, us)) if *last == row => *us = us.saturating_add(own_us),
                _ => column.push((row, own_us)),
            }
        }
    }

    fn finish(self, set: &TraceSet) -> FeaturePart {
        let mut columns = Contexts::default();
        let mut names: BTreeMap<EndpointId, u32> = BTreeMap::new();
        for (parent, endpoint, value) in self.nodes {
            let name = *names.entry(endpoint).or_insert_with(|| {
                columns.endpoints.push(set.owned_endpoint(endpoint));
                columns.endpoints.len() as u32 - 1
            });
            columns.nodes.push(Context { parent, endpoint: name, value });
        }
        FeaturePart { lost: (0, 0), rows: self.rows, columns }
    }
}

/// Returns the duration less the union of the waited-for children's intervals; children come by start, so one sweep
/// does.
fn self_time_us(tree: &Tree, span: u32) -> u64 {
    let (mut covered, mut until) = (0, tree.start_us[span as usize]);
    for child in tree.sync_children(span) {
        let (start, end) = (tree.start_us[child as usize].max(until), tree.end_us[child as usize]);
        covered += end.saturating_sub(start);
        until = until.max(end);
    }
    tree.duration_us(span) - covered
}

/// Vectors of many requests over one dictionary of call paths.
#[derive(Clone, Debug, Default)]
pub struct Features {
    /// The call paths, in pre-order with siblings by name.
    pub paths: Contexts<()>,
    /// The requests, by trace id and root span id.
    pub rows: Vec<RowFacts>,
    /// Spans that an injection took out, and spans before it.
    pub lost: (u64, u64),
    /// One past the last cell of each row.
    ends: Vec<usize>,
    cells: Vec<FeatureCell>,
}

impl Features {
    /// Joins the parts of disjoint requests; the result does not depend on their order.
    pub fn merge(parts: Vec<FeaturePart>) -> Features {
        let (mut rows, mut forests, mut lost) = (Vec::new(), Vec::new(), (0, 0));
        for part in parts {
            lost = (lost.0 + part.lost.0, lost.1 + part.lost.1);
            let moved = rows.len() as u32;
            rows.extend(part.rows);
            forests.push(part.columns.map(|mut column| {
                column.iter_mut().for_each(|(row, _)| *row += moved);
                column
            }));
        }
        let columns = Contexts::merge(forests, |into, mut from| into.append(&mut from));
        let mut order: Vec<u32> = (0..rows.len() as u32).collect();
        order.compact_sort_by(|&a, &b| rows[a as usize].request.cmp(&rows[b as usize].request));
        let mut place = vec![0u32; rows.len()];
        for (here, &row) in order.iter().enumerate() {
            place[row as usize] = here as u32;
        }
        let mut ends = vec![0usize; rows.len()];
        for node in &columns.nodes {
            node.value.iter().for_each(|&(row, _)| ends[place[row as usize] as usize] += 1);
        }
        let mut next = Vec::with_capacity(ends.len());
        let mut total = 0;
        for end in &mut ends {
            next.push(total);
            total += *end;
            *end = total;
        }
        let mut cells = vec![FeatureCell { path: 0, us: 0 }; total];
        for (path, node) in columns.nodes.iter().enumerate() {
            for &(row, us) in &node.value {
                let at = &mut next[place[row as usize] as usize];
                cells[*at] = FeatureCell { path: path as u32, us };
                *at += 1;
            }
        }
        let mut sorted: Vec<Option<RowFacts>> = rows.into_iter().map(Some).collect();
        let rows = order.iter().filter_map(|&row| sorted[row as usize].take()).collect();
        Features { paths: columns.map(|_| ()), rows, lost, ends, cells }
    }

    /// Returns the cells of a row, by call path.
    pub fn row(&self, row: usize) -> &[FeatureCell] {
        let from = row.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.cells[from..self.ends[row]]
    }

    /// Returns the number of requests.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns whether there is no request.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the rows that `keep` wants, over the call paths that they have.
    pub fn only(&self, keep: impl Fn(&RowFacts) -> bool) -> Features {
        let kept: Vec<usize> = (0..self.len()).filter(|&row| keep(&self.rows[row])).collect();
        let mut used = vec![false; self.paths.nodes.len()];
        kept.iter().flat_map(|&row| self.row(row)).for_each(|cell| used[cell.path as usize] = true);
        let mut out = Features::default();
        out.paths.endpoints.clone_from(&self.paths.endpoints);
        let mut new = vec![NO_ROW; used.len()];
        for (path, node) in self.paths.nodes.iter().enumerate().filter(|&(path, _)| used[path]) {
            new[path] = out.paths.nodes.len() as u32;
            // The parent of a call path of a request is one of its call paths too.
            let parent = if node.parent == NO_ROW { NO_ROW } else { new[node.parent as usize] };
            out.paths.nodes.push(Context { parent, ..node.clone() });
        }
        for row in kept {
            out.rows.push(self.rows[row].clone());
            out.cells.extend(
                self.row(row).iter().map(|cell| FeatureCell { path: new[cell.path as usize], ..*cell }),
            );
            out.ends.push(out.cells.len());
        }
        out
    }
}
