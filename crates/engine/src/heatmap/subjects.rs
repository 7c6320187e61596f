//! The heat map of services: a row for the own work of each, and one for waiting for it, as the verdict divides a path
//! (section 9 of `docs/definitions/verdict.md`).

use super::observe::{
    Cell, ColumnEdge, ColumnKey, ColumnOrder, ColumnPart, HeatPart, WeightedKey, column_of,
};
use crate::endpoints::{EndpointTotals, EndpointsReport};
use crate::flame::TimeColumn;
use crate::flame::{Observer, PathFinder, PathTable, topmost};
use crate::requests::{PercentileRange, RangeFacts, RequestRef, Weighing};
use crate::verdict::answer_of_other_service;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::Weights;
use pathlight_base::steps::in_blocks;
use pathlight_trace::{Endpoint, Flags, NO_ROW, Overlap, TraceSet, Tree};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// The operation of a row of waiting for a service; rows of own work have none.
pub const WAITING: &str = "waiting for it";

/// A row in one request.
#[derive(Clone, Copy)]
struct Entry {
    row: u32,
    exclusive_us: u64,
    inclusive_us: u64,
    spans: u64,
    errors: u64,
}

/// Finds the times of services in one request after the other. Rows are numbered by service: own work, then waiting.
struct ServicePaths {
    overlap: Overlap,
    finder: PathFinder,
    names: Vec<Endpoint>,
    /// Number of the service of every endpoint.
    service_of: Vec<u32>,
    /// By row: its place among the entries, [`NO_ROW`] if it has none.
    place: Vec<u32>,
    entries: Vec<Entry>,
    /// By span on the path: the one above it, and its row.
    nodes: Vec<(u32, u32)>,
}

impl ServicePaths {
    fn new(set: &TraceSet, overlap: Overlap) -> ServicePaths {
        let (service_of, services) = set.service_numbers();
        let of = |service: &String| ["", WAITING].map(|operation| Endpoint::new(service, operation));
        let names: Vec<Endpoint> = services.iter().flat_map(of).collect();
        let place = vec![NO_ROW; names.len()];
        ServicePaths {
            overlap,
            finder: PathFinder::default(),
            names,
            service_of,
            place,
            entries: Vec::new(),
            nodes: Vec::new(),
        }
    }

    fn row(&self, name: &Endpoint) -> Option<u32> {
        self.names.iter().position(|known| known == name).map(|row| row as u32)
    }

    /// Returns the rows of a request.
    fn collapse(&mut self, set: &TraceSet, tree: &Tree, root: u32) -> &[Entry] {
        let ServicePaths { overlap, finder, service_of, place, entries, nodes, .. } = self;
        for entry in entries.drain(..) {
            place[entry.row as usize] = NO_ROW;
        }
        finder.find(set, tree, root, *overlap);
        let service_of = service_of.as_slice();
        let service = |span: u32| service_of[set.named_endpoint(tree.row(span)).0 as usize];
        nodes.clear();
        in_blocks(finder.entries().len(), &mut |block| {
            for found in &finder.entries()[block] {
                let row = match answer_of_other_service(set, tree, found.span, service_of) {
                    Some(answer) => 2 * service(answer) + 1,
                    None => 2 * service(found.span),
                };
                nodes.push((found.parent, row));
            }
        });
        let topmost = topmost(nodes);
        in_blocks(finder.entries().len(), &mut |block| {
            for at in block {
                let (found, row) = (&finder.entries()[at], nodes[at].1);
                let place = &mut place[row as usize];
                if *place == NO_ROW {
                    *place = entries.len() as u32;
                    entries.push(Entry { row, exclusive_us: 0, inclusive_us: 0, spans: 0, errors: 0 });
                }
                let entry = &mut entries[*place as usize];
                entry.exclusive_us += found.exclusive_us;
                if topmost[at] {
                    entry.inclusive_us = entry.inclusive_us.saturating_add(tree.duration_us(found.span));
                }
                entry.spans += 1;
                entry.errors += u64::from(set.flags(tree.row(found.span)).has(Flags::ERROR));
            }
        });
        entries
    }
}

/// The paths of requests, and the order of their columns.
struct OrderedPaths {
    paths: ServicePaths,
    order: ColumnOrder,
    /// The row that columns are ordered by.
    by: Option<u32>,
}

impl OrderedPaths {
    fn new(set: &TraceSet, overlap: Overlap, order: ColumnOrder) -> OrderedPaths {
        let paths = ServicePaths::new(set, overlap);
        let by = match &order {
            ColumnOrder::Row(name) => paths.row(name),
            ColumnOrder::Latency | ColumnOrder::Start => None,
        };
        OrderedPaths { paths, order, by }
    }

    /// Returns the sort key of a request, and its rows.
    fn find(
        &mut self,
        set: &TraceSet,
        table: &PathTable,
        tree: &Tree,
        request: u32,
    ) -> (ColumnKey, &[Entry]) {
        let facts = &table.requests[request as usize];
        let entries = self.paths.collapse(set, tree, facts.row - tree.first);
        let first = match self.order {
            ColumnOrder::Latency => facts.latency_us,
            ColumnOrder::Start => facts.start_us,
            ColumnOrder::Row(_) => entries
                .iter()
                .filter(|entry| Some(entry.row) == self.by)
                .map(|entry| entry.exclusive_us)
                .sum(),
        };
        ((first, facts.latency_us), entries)
    }
}

/// The rows of some requests, and the sort keys of these: an accumulator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ServiceRows {
    requests: Weights,
    rows: Vec<RowPart>,
    /// Sorted.
    pub keys: Vec<WeightedKey>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct RowPart {
    name: Endpoint,
    spans: u64,
    errors: u64,
    /// Of each request that has the row.
    exclusive_us: TimeColumn,
    inclusive_us: TimeColumn,
}

impl ServiceRows {
    /// Joins parts of disjoint requests and finishes: one row for each part of a service, by its name.
    pub fn finish(parts: Vec<ServiceRows>, range: PercentileRange, facts: RangeFacts) -> EndpointsReport {
        let mut requests = Weights::default();
        parts.iter().for_each(|part| requests.merge(&part.requests));
        let mut rows: BTreeMap<Endpoint, Vec<RowPart>> = BTreeMap::new();
        for row in parts.into_iter().flat_map(|part| part.rows) {
            rows.entry(row.name.clone()).or_default().push(row);
        }
        let mut report = EndpointsReport { range: Some(range), facts, ..EndpointsReport::default() };
        for (name, same) in rows {
            let weight =
                |column: fn(&RowPart) -> &TimeColumn| TimeColumn::summary(same.iter().map(column), &requests);
            report.endpoints.push(name);
            report.rows.push(EndpointTotals {
                exclusive_us: weight(|row| &row.exclusive_us),
                inclusive_us: weight(|row| &row.inclusive_us),
                requests: same.iter().map(|row| row.exclusive_us.requests()).sum(),
                spans: same.iter().map(|row| row.spans).sum(),
                errors: same.iter().map(|row| row.errors).sum(),
                ..EndpointTotals::default()
            });
        }
        report.by_weight();
        report
    }
}

/// Observes the rows of one worker's requests.
pub(crate) struct RowsObserver {
    weighing: Weighing,
    requests: Weights,
    paths: OrderedPaths,
    rows: Vec<RowPart>,
    keys: Vec<WeightedKey>,
}

impl RowsObserver {
    pub fn new(set: &TraceSet, overlap: Overlap, order: ColumnOrder, weighing: Weighing) -> RowsObserver {
        let paths = OrderedPaths::new(set, overlap, order);
        let rows = vec![RowPart::default(); paths.paths.names.len()];
        RowsObserver { weighing, requests: Weights::default(), paths, rows, keys: Vec::new() }
    }
}

impl Observer for RowsObserver {
    type Part = ServiceRows;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let (key, entries) = self.paths.find(set, table, tree, request);
        let weight = self.weighing.weight(set, &table.requests[request as usize]);
        self.keys.push((key, weight));
        self.requests.add(weight);
        for entry in entries {
            let row = &mut self.rows[entry.row as usize];
            row.spans += entry.spans;
            row.errors += entry.errors;
            row.exclusive_us.push(entry.exclusive_us, weight);
            row.inclusive_us.push(entry.inclusive_us, weight);
        }
    }

    fn finish(mut self, _: &TraceSet) -> ServiceRows {
        self.keys.compact_sort();
        let rows = self.rows.into_iter().zip(self.paths.paths.names);
        let rows = rows.filter(|(row, _)| row.spans > 0).map(|(row, name)| RowPart {
            name,
            exclusive_us: row.exclusive_us.packed(),
            inclusive_us: row.inclusive_us.packed(),
            ..row
        });
        ServiceRows { requests: self.requests, rows: rows.collect(), keys: self.keys }
    }
}

/// Observes key and ids of every request whose key is in a sorted list.
pub(crate) struct TiesObserver {
    paths: OrderedPaths,
    tied: Vec<ColumnKey>,
    found: Vec<(ColumnKey, String, String)>,
}

impl TiesObserver {
    pub fn new(set: &TraceSet, overlap: Overlap, order: ColumnOrder, tied: Vec<ColumnKey>) -> TiesObserver {
        TiesObserver { paths: OrderedPaths::new(set, overlap, order), tied, found: Vec::new() }
    }
}

impl Observer for TiesObserver {
    type Part = Vec<(ColumnKey, String, String)>;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let (key, _) = self.paths.find(set, table, tree, request);
        if self.tied.binary_search(&key).is_ok() {
            let facts = &table.requests[request as usize];
            self.found.push((key, set.trace_id_text(facts.trace), set.span_id_text(facts.row)));
        }
    }

    fn finish(self, _: &TraceSet) -> Self::Part {
        self.found
    }
}

/// Observes the cells of one worker's requests, in columns between these edges.
pub(crate) struct CellsObserver {
    weighing: Weighing,
    paths: OrderedPaths,
    edges: Vec<ColumnEdge>,
    columns: Vec<ColumnPart>,
    /// By column: its slowest request, if it has any.
    slowest: Vec<Option<u32>>,
    /// By column and row.
    cells: BTreeMap<(u32, u32), Cell>,
}

impl CellsObserver {
    pub fn new(
        set: &TraceSet,
        overlap: Overlap,
        order: ColumnOrder,
        edges: Vec<ColumnEdge>,
    ) -> CellsObserver {
        let columns = edges.len() + 1;
        CellsObserver {
            weighing: Weighing::default(),
            paths: OrderedPaths::new(set, overlap, order),
            columns: vec![ColumnPart::default(); columns],
            slowest: vec![None; columns],
            cells: BTreeMap::new(),
            edges,
        }
    }

    /// Returns an observer of the same requests, each counted as this says.
    pub fn by(self, weighing: Weighing) -> CellsObserver {
        CellsObserver { weighing, ..self }
    }
}

impl Observer for CellsObserver {
    type Part = HeatPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let (key, entries) = self.paths.find(set, table, tree, request);
        let facts = &table.requests[request as usize];
        let number = column_of(set, table, &self.edges, request, key);
        let weight = self.weighing.weight(set, facts);
        self.columns[number].add(facts, weight);
        let is_slower = |than: u32| {
            facts
                .latency_us
                .cmp(&table.requests[than as usize].latency_us)
                .then_with(|| table.compare_ids(set, than, request))
                == Ordering::Greater
        };
        let slowest = &mut self.slowest[number];
        if slowest.is_none_or(is_slower) {
            *slowest = Some(request);
            self.columns[number].example = RequestRef::of(set, facts);
        }
        for entry in entries {
            let cell = self.cells.entry((number as u32, entry.row)).or_default();
            cell.add(entry.row, entry.exclusive_us, facts.latency_us, weight);
        }
    }

    fn finish(self, _: &TraceSet) -> HeatPart {
        let CellsObserver { paths, mut columns, cells, .. } = self;
        let mut ends = vec![0; columns.len()];
        for &(column, _) in cells.keys() {
            ends[column as usize] += 1;
        }
        let mut end = 0;
        for (column, count) in columns.iter_mut().zip(ends) {
            end += count;
            column.cells_end = end;
        }
        HeatPart { endpoints: paths.paths.names, columns, cells: cells.into_values().collect() }
    }
}
