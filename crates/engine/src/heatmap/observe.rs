//! Heat map: endpoints against requests (`docs/definitions/critical-path.md` section 5; paper Fig. 10).
//!
//! Columns are requests in one order, or runs of equally many of them when there are more than fit. Workers agree on
//! the runs by keys, as they do for percentile ranges, so no list of requests ever travels as a whole unless every one
//! is a column.

use crate::endpoints::EndpointsReport;
use crate::flame::{Collapser, PathTable};
use crate::requests::{RequestEntry, RequestRef};
use crate::run::request_pass::Rows;
use pathlight_base::sort::CompactSort as _;
use pathlight_base::statistics::{Weight, WeightedSum};
use pathlight_trace::{Endpoint, EndpointId, NO_ROW, TraceSet};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

/// Order of the columns; equal ones by latency, trace id, root span id.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ColumnOrder {
    /// Latency, fastest first.
    #[default]
    Latency,
    /// Start, earliest first.
    Start,
    /// Exclusive time of one row, least first; requests without it have 0.
    Row(Endpoint),
}

/// Requests against endpoints. Cells are stored by column: those of column c are
/// `cells[column_ends[c - 1]..column_ends[c]]`, by row; a row without a cell has no time there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HeatmapReport {
    /// The rows, by (service, operation), with their times and chains; sort them with
    /// [`EndpointsReport::order`].
    pub rows: EndpointsReport,
    /// Order of the columns.
    pub order: ColumnOrder,
    /// Requests seen in each column; all 1 unless there are more requests than columns.
    pub column_requests: Vec<u32>,
    /// Sum of their latencies in microseconds, by weight.
    pub column_latency_us: Vec<u128>,
    /// Earliest start among them, microseconds since the epoch.
    pub column_start_us: Vec<u64>,
    /// The slowest of them (ties: smaller ids).
    pub column_example: Vec<RequestRef>,
    /// One past the last cell of each column.
    pub column_ends: Vec<u32>,
    /// Row of each cell.
    pub cell_row: Vec<u32>,
    /// Exclusive time of each cell, summed over the requests of its column by weight, in microseconds.
    pub cell_us: Vec<u128>,
    /// Share of the request's latency in millionths, the mean over the requests of the column; 0 without latency.
    pub cell_share_ppm: Vec<u32>,
}

impl HeatmapReport {
    /// Returns the range of cells of a column.
    pub fn cells(&self, column: usize) -> std::ops::Range<usize> {
        let from = column.checked_sub(1).map_or(0, |before| self.column_ends[before] as usize);
        from..self.column_ends[column] as usize
    }
}

/// Sort key of a request: what columns are ordered by, then latency. Equal keys are ordered by id.
pub(super) type ColumnKey = (u64, u64);

/// The key of a request, and how many requests it stands for.
pub(crate) type WeightedKey = (ColumnKey, Weight);

/// A border between columns: the first request of a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnEdge {
    /// Sort key of the first request of the column.
    key: ColumnKey,
    /// Trace id and root span id of the first request; set only if the column before ends with the same key.
    ids: Option<(String, String)>,
}

/// Returns the sort keys of these requests of a table.
fn keys(set: &TraceSet, table: &PathTable, requests: &[u32], order: &ColumnOrder) -> Vec<ColumnKey> {
    let row: Option<EndpointId> = match order {
        ColumnOrder::Row(Endpoint { service, operation }) => set.find_endpoint(service, operation),
        _ => None,
    };
    let own_time = |request: u32| -> u64 {
        let entries = table.entries(request).iter();
        entries.filter(|e| Some(table.contexts()[e.context as usize].1) == row).map(|e| e.exclusive_us).sum()
    };
    requests
        .iter()
        .map(|&r| {
            let request = &table.requests[r as usize];
            let first = match order {
                ColumnOrder::Latency => request.latency_us,
                ColumnOrder::Start => request.start_us,
                ColumnOrder::Row { .. } => own_time(r),
            };
            (first, request.latency_us)
        })
        .collect()
}

/// Returns the column of a request with this key.
pub(super) fn column_of(
    set: &TraceSet,
    table: &PathTable,
    edges: &[ColumnEdge],
    request: u32,
    key: ColumnKey,
) -> usize {
    edges.partition_point(|edge| match (edge.key.cmp(&key), &edge.ids) {
        (Ordering::Equal, Some((trace, span))) => {
            let request = &table.requests[request as usize];
            (trace, span) <= (&set.trace_id_text(request.trace), &set.span_id_text(request.row))
        }
        (order, _) => order != Ordering::Greater,
    })
}

/// Returns the sort keys of some requests with their weights, sorted. Partial of the first pass.
pub(crate) fn sorted_column_keys(rows: &Rows, order: &ColumnOrder) -> Vec<WeightedKey> {
    let keys = keys(rows.set, rows.table, rows.requests, order);
    let mut keys: Vec<WeightedKey> = keys.into_iter().zip(rows.numbers().map(|at| rows.weight(at))).collect();
    keys.compact_sort();
    keys
}

/// Returns key and ids of every request whose key is in `tied`, which is sorted. Partial of the second pass.
pub fn tied_column_keys(
    set: &TraceSet,
    table: &PathTable,
    requests: &[u32],
    order: &ColumnOrder,
    tied: &[ColumnKey],
) -> Vec<(ColumnKey, String, String)> {
    let keys = keys(set, table, requests, order).into_iter().zip(requests);
    let found = keys.filter(|(key, _)| tied.binary_search(key).is_ok());
    found
        .map(|(key, &r)| {
            let request = &table.requests[r as usize];
            (key, set.trace_id_text(request.trace), set.span_id_text(request.row))
        })
        .collect()
}

/// The columns of all requests: how many there are, and where they begin.
pub struct Columns {
    sorted: Vec<WeightedKey>,
    /// Ranks at which a column begins, the first one's 0 left out.
    starts: Vec<usize>,
}

impl Columns {
    /// Returns at most `columns` columns over the requests of all workers, which have these keys.
    pub fn new(mut keys: Vec<WeightedKey>, columns: u32) -> Columns {
        // Stable: joins the sorted runs of the workers.
        keys.compact_sort();
        let columns = columns.max(1) as usize;
        if keys.len() <= columns {
            return Columns { starts: (1..keys.len()).collect(), sorted: keys };
        }
        // Each is a run of requests of equal weight; what weighs more than a column has one for itself.
        let all: u128 = keys.iter().map(|key| u128::from(key.1.units())).sum();
        let (mut starts, mut units) = (Vec::with_capacity(columns), 0);
        let mut next = 1;
        for (rank, (_, weight)) in keys.iter().enumerate() {
            units += u128::from(weight.units());
            let is_start = units * columns as u128 > next * all;
            while next < columns as u128 && units * columns as u128 > next * all {
                next += 1;
            }
            if is_start && rank > 0 && starts.len() + 1 < columns {
                starts.push(rank);
            }
        }
        Columns { starts, sorted: keys }
    }

    /// Returns the keys at which ids decide, sorted.
    pub fn tied(&self) -> Vec<ColumnKey> {
        let tied = self.starts.iter().filter(|&&rank| self.sorted[rank - 1].0 == self.sorted[rank].0);
        let mut tied: Vec<ColumnKey> = tied.map(|&rank| self.sorted[rank].0).collect();
        tied.dedup();
        tied
    }

    /// Returns the borders between columns, given the ids of the requests with tied keys.
    pub fn edges(&self, mut ties: Vec<(ColumnKey, String, String)>) -> Vec<ColumnEdge> {
        ties.compact_sort();
        let edges = self.starts.iter().map(|&rank| {
            let key = self.sorted[rank].0;
            if self.sorted[rank - 1].0 != key {
                return ColumnEdge { key, ids: None };
            }
            let before = rank - self.sorted.partition_point(|other| other.0 < key);
            let first = ties.partition_point(|tie| tie.0 < key);
            let tie = ties.get(first + before).filter(|tie| tie.0 == key);
            ColumnEdge { key, ids: tie.map(|(_, trace, span)| (trace.clone(), span.clone())) }
        });
        edges.collect()
    }
}

/// The cells of a worker's requests: an accumulator.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct HeatPart {
    pub(super) endpoints: Vec<Endpoint>,
    pub(super) columns: Vec<ColumnPart>,
    /// The cells, column after column.
    pub(super) cells: Vec<Cell>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct ColumnPart {
    requests: u32,
    weight: WeightedSum,
    latency_us: WeightedSum,
    start_us: u64,
    pub example: RequestRef,
    pub cells_end: u32,
}

impl ColumnPart {
    /// Counts a request, not what it spends its time on.
    pub fn add(&mut self, request: &RequestEntry, weight: Weight) {
        self.start_us =
            if self.requests == 0 { request.start_us } else { self.start_us.min(request.start_us) };
        self.requests += 1;
        self.weight.add(1, weight);
        self.latency_us.add(request.latency_us, weight);
    }
}

#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Cell {
    row: u32,
    us: WeightedSum,
    ppm: WeightedSum,
}

impl Cell {
    /// Adds the time of a request in a row.
    pub fn add(&mut self, row: u32, us: u64, latency_us: u64, weight: Weight) {
        self.row = row;
        self.us.add(us, weight);
        let share = u128::from(us) * 1_000_000;
        self.ppm.add(share.checked_div(u128::from(latency_us)).unwrap_or(0) as u64, weight);
    }
}

/// Sums cells of one column by row.
struct ColumnSums {
    sums: Vec<Cell>,
    touched: Vec<u32>,
}

impl ColumnSums {
    fn new(rows: usize) -> ColumnSums {
        ColumnSums { sums: vec![Cell { row: NO_ROW, ..Cell::default() }; rows], touched: Vec::new() }
    }

    fn add(&mut self, cell: Cell) {
        let sum = &mut self.sums[cell.row as usize];
        if sum.row == NO_ROW {
            sum.row = cell.row;
            self.touched.push(cell.row);
        }
        sum.us.merge(cell.us);
        sum.ppm.merge(cell.ppm);
    }

    /// Hands each sum to `push`, by row, and resets all sums.
    fn flush(&mut self, mut push: impl FnMut(Cell)) {
        self.touched.sort_unstable();
        for row in self.touched.drain(..) {
            let sum = &mut self.sums[row as usize];
            push(*sum);
            *sum = Cell { row: NO_ROW, ..Cell::default() };
        }
    }
}

impl HeatPart {
    /// Sums some requests of a worker's table.
    pub(crate) fn observe(rows: &Rows, order: &ColumnOrder, edges: &[ColumnEdge]) -> HeatPart {
        let &Rows { set, table, requests, .. } = rows;
        let keys = keys(set, table, requests, order);
        let column = |(&r, key): (&u32, ColumnKey)| (column_of(set, table, edges, r, key) as u32, r);
        let mut chosen: Vec<(u32, u32)> = requests.iter().zip(keys).map(column).collect();
        chosen.compact_sort();
        let mut out = HeatPart {
            endpoints: set.endpoints().map(|(s, o)| Endpoint::new(s, o)).collect(),
            columns: vec![ColumnPart::default(); edges.len() + 1],
            cells: Vec::new(),
        };
        let (mut collapser, mut sums) = (Collapser::new(set), ColumnSums::new(set.endpoints().len()));
        let mut last = 0;
        for same in chosen.chunk_by(|a, b| a.0 == b.0) {
            let number = same[0].0 as usize;
            for column in &mut out.columns[last..number] {
                column.cells_end = out.cells.len() as u32;
            }
            let mut slowest = same[0].1;
            let column = &mut out.columns[number];
            for &(_, r) in same {
                let request = &table.requests[r as usize];
                let weight = rows.weight(r);
                column.add(request, weight);
                let best = table.requests[slowest as usize].latency_us;
                if request.latency_us.cmp(&best).then_with(|| table.compare_ids(set, slowest, r))
                    == Ordering::Greater
                {
                    slowest = r;
                }
                for entry in collapser.collapse(table, r) {
                    let mut cell = Cell::default();
                    cell.add(entry.endpoint.0, entry.exclusive_us, request.latency_us, weight);
                    sums.add(cell);
                }
            }
            column.example = RequestRef::of(set, &table.requests[slowest as usize]);
            sums.flush(|cell| out.cells.push(cell));
            column.cells_end = out.cells.len() as u32;
            last = number + 1;
        }
        for column in &mut out.columns[last..] {
            column.cells_end = out.cells.len() as u32;
        }
        out
    }

    /// Merges the workers' parts into a report. `rows` are the endpoints of all these requests.
    pub fn finish(parts: &[HeatPart], rows: EndpointsReport, order: ColumnOrder) -> HeatmapReport {
        let mut report = HeatmapReport { order, ..HeatmapReport::default() };
        let row_of: Vec<Vec<u32>> = parts
            .iter()
            .map(|part| {
                let find = |name| rows.endpoints.binary_search(name).map_or(NO_ROW, |row| row as u32);
                part.endpoints.iter().map(find).collect()
            })
            .collect();
        let mut sums = ColumnSums::new(rows.rows.len());
        for number in 0..parts.first().map_or(0, |part| part.columns.len()) {
            let mut column = ColumnPart { start_us: u64::MAX, ..ColumnPart::default() };
            for (part, row_of) in parts.iter().zip(&row_of) {
                let own = &part.columns[number];
                if own.requests == 0 {
                    continue;
                }
                let order = own.example.latency_us.cmp(&column.example.latency_us);
                if column.requests == 0
                    || order.then_with(|| column.example.cmp(&own.example)) == Ordering::Greater
                {
                    column.example = own.example.clone();
                }
                column.requests += own.requests;
                column.weight.merge(own.weight);
                column.latency_us.merge(own.latency_us);
                column.start_us = column.start_us.min(own.start_us);
                let from = number.checked_sub(1).map_or(0, |before| part.columns[before].cells_end as usize);
                for cell in &part.cells[from..own.cells_end as usize] {
                    let row = row_of[cell.row as usize];
                    if row != NO_ROW {
                        sums.add(Cell { row, ..*cell });
                    }
                }
            }
            if column.requests == 0 {
                // Only when there is no request at all.
                continue;
            }
            sums.flush(|cell| {
                report.cell_row.push(cell.row);
                report.cell_us.push(cell.us.rounded());
                report.cell_share_ppm.push(cell.ppm.over(column.weight) as u32);
            });
            report.column_ends.push(report.cell_row.len() as u32);
            report.column_requests.push(column.requests);
            report.column_latency_us.push(column.latency_us.rounded());
            report.column_start_us.push(column.start_us);
            report.column_example.push(column.example);
        }
        report.rows = rows;
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_runs_of_equally_many_requests() {
        let keys: Vec<WeightedKey> = (0..10).map(|i| ((i, 0), Weight::ONE)).collect();
        let columns = Columns::new(keys, 4);
        assert_eq!(columns.starts, [2, 5, 7]);
        assert!(columns.tied().is_empty());
        assert_eq!(Columns::new((0..10).map(|i| ((i, 0), Weight::ONE)).collect(), 100).starts.len(), 9);
        assert!(Columns::new(Vec::new(), 100).edges(Vec::new()).is_empty());
        // Of sampled ones runs of equal weight: eight of weight 1, then one of 8.
        let weight = |i: u64| Weight::of_count(if i == 8 { 8.0 } else { 1.0 }).unwrap_or_default();
        let of = |columns| Columns::new((0..9).map(|i| ((i, 0), weight(i))).collect(), columns).starts;
        assert_eq!((of(2), of(4), of(9)), (vec![8], vec![4, 8], (1..9).collect()));
    }

    #[test]
    fn ids_decide_where_a_border_falls_among_equal_keys() {
        let columns =
            Columns::new([(7, 7), (5, 5), (5, 5), (5, 5)].map(|key| (key, Weight::ONE)).to_vec(), 2);
        assert_eq!(columns.tied(), [(5, 5)]);
        let ties = ["c", "a", "b"].map(|id| ((5, 5), id.to_owned(), String::new()));
        let edges = columns.edges(ties.to_vec());
        assert_eq!(edges, [ColumnEdge { key: (5, 5), ids: Some(("c".to_owned(), String::new())) }]);
    }
}
