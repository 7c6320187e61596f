//! All traces of one shape: what every layer needs of their spans, column by column.

use super::collect::Children;
use super::events::{is_span_end, is_start};
use super::numbers::Numbers;
use super::{SpanEvent, Subspans, child_events, span_end};
use pathlight_base::sort::sort_in_steps;
use pathlight_base::steps::Pace;
use pathlight_trace::{Endpoint, NO_ROW};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;
use std::collections::BTreeMap;

/// Positions looked at between two pauses.
pub(super) const CHUNK: usize = 1 << 13;
/// Rows that are written side by side when times of traces become columns.
const TILE: usize = 16;

/// A shape with its links: positions in canonical pre-order.
pub(super) struct Shape {
    pub endpoint: Vec<u32>,
    pub parent: Vec<u32>,
    children: Children,
}

impl Shape {
    /// Returns the shape of positions, each given as (endpoint, parent); `number[endpoint]` is the endpoint's number
    /// in it.
    pub async fn new(positions: Vec<(u32, u32)>, number: &[u32], pace: &mut Pace) -> Shape {
        let n = positions.len();
        let (mut endpoint, mut parent) = (Vec::with_capacity(n), Vec::with_capacity(n));
        for positions in positions.chunks(CHUNK) {
            endpoint.extend(positions.iter().map(|position| number[position.0 as usize]));
            parent.extend(positions.iter().map(|position| position.1));
            pace.spend(CHUNK).await;
        }
        drop(positions);
        let mut children = Children::default();
        children.begin(n);
        while !children.step(CHUNK, |position| parent[position]) {
            pace.spend(CHUNK).await;
        }
        Shape { endpoint, parent, children }
    }

    pub fn len(&self) -> usize {
        self.endpoint.len()
    }

    pub fn children(&self, position: u32) -> &[u32] {
        self.children.of(position as usize)
    }

    /// Returns the number of subspans of a position: one more than children.
    pub fn parts(&self, position: u32) -> usize {
        self.children(position).len() + 1
    }

    /// Returns where the subspans of a position begin.
    pub fn parts_at(&self, position: u32) -> usize {
        self.children.range(position as usize).start + position as usize
    }

    /// Returns the positions of an endpoint.
    pub fn positions_of(&self, endpoint: u32) -> impl Iterator<Item = u32> {
        (0..).zip(&self.endpoint).filter(move |p| *p.1 == endpoint).map(|p| p.0)
    }

    /// Returns the names of positions.
    pub async fn names<'a>(&'a self, endpoints: &'a [Endpoint], pace: &mut Pace) -> Names<'a> {
        let mut count: FxHashMap<u32, u32> = FxHashMap::default();
        for positions in self.endpoint.chunks(CHUNK) {
            positions.iter().for_each(|&e| *count.entry(e).or_default() += 1);
            pace.spend(2 * CHUNK).await;
        }
        Names { shape: self, endpoints, count, seen: FxHashMap::default() }
    }

    /// Returns the name of one position.
    pub fn name(&self, position: u32, endpoints: &[Endpoint]) -> String {
        let endpoint = self.endpoint[position as usize];
        let count = self.positions_of(endpoint).count() as u32;
        let number = self.positions_of(endpoint).take_while(|&p| p <= position).count() as u32;
        named(&endpoints[endpoint as usize].operation, number, count)
    }
}

/// Names of the positions of a shape, one after the other.
pub(super) struct Names<'a> {
    shape: &'a Shape,
    endpoints: &'a [Endpoint],
    count: FxHashMap<u32, u32>,
    seen: FxHashMap<u32, u32>,
}

impl Names<'_> {
    /// Returns the name of the next position: `operation#2`, or the operation alone where an endpoint has one position.
    pub fn next(&mut self, position: u32) -> String {
        let endpoint = self.shape.endpoint[position as usize];
        let number = self.seen.entry(endpoint).or_default();
        *number += 1;
        named(&self.endpoints[endpoint as usize].operation, *number, self.count[&endpoint])
    }
}

/// Returns an operation, with a number where it has several positions.
fn named(operation: &str, number: u32, count: u32) -> String {
    if count > 1 { format!("{operation}#{number}") } else { operation.to_owned() }
}

/// Numbers by column and row.
pub(super) struct Columns<T> {
    rows: usize,
    values: Vec<T>,
}

impl<T: Copy + Default> Columns<T> {
    fn new(columns: usize, rows: usize) -> Columns<T> {
        Columns { rows, values: vec![T::default(); columns * rows] }
    }

    /// Returns a column by row.
    pub fn of(&self, column: usize) -> &[T] {
        &self.values[column * self.rows..][..self.rows]
    }

    fn put(&mut self, column: usize, row: usize, value: T) {
        self.values[column * self.rows + row] = value;
    }
}

/// Returns the values of a column in some rows.
pub(super) fn pick<'a>(column: &'a [u64], rows: &'a [u32]) -> impl Iterator<Item = u64> + 'a {
    rows.iter().map(|&row| column[row as usize])
}

/// Returns the sum of a column over some rows.
pub(super) fn sum(column: &[u64], rows: &[u32]) -> u128 {
    pick(column, rows).map(u128::from).sum()
}

/// Starts and ends of the positions of a trace.
pub(super) type Times = (Vec<u64>, Vec<u64>);

/// Endpoints before and after a subspan.
pub(super) type Neighbours = (u32, u32);

/// The traces of one shape. A row is a trace.
pub(super) struct Block {
    pub shape: Shape,
    /// Starts and ends of spans, a column per position.
    pub start_us: Columns<u64>,
    pub end_us: Columns<u64>,
    pub self_us: Columns<u64>,
    /// child_diff[] and end_diff of every position, one after the other, see [`Shape::parts_at`].
    pub diffs_us: Columns<u64>,
    pub subspans_us: Columns<u64>,
    /// Positions with several children and, by these, the rank of the order in which they begin and end. One child has one
    /// order only.
    forks: Vec<u32>,
    ways: Columns<u32>,
    /// By row the rank of the orders of all positions together.
    pub order: Vec<u32>,
}

impl Block {
    /// Creates the block of the times of traces of this shape.
    pub async fn new(shape: Shape, times: Vec<Times>, pace: &mut Pace) -> Block {
        let (n, rows) = (shape.len(), times.len());
        let parts = shape.children.len() + n;
        let forks: Vec<u32> = (0..n as u32).filter(|&p| shape.children(p).len() > 1).collect();
        let mut block = Block {
            start_us: Columns::new(n, rows),
            end_us: Columns::new(n, rows),
            self_us: Columns::new(n, rows),
            diffs_us: Columns::new(parts, rows),
            subspans_us: Columns::new(parts, rows),
            ways: Columns::new(forks.len(), rows),
            order: vec![0; rows],
            forks,
            shape,
        };
        for (tile, times) in times.chunks(TILE).enumerate() {
            for position in 0..n {
                for (at, (start, end)) in times.iter().enumerate() {
                    block.start_us.put(position, tile * TILE + at, start[position]);
                    block.end_us.put(position, tile * TILE + at, end[position]);
                }
                pace.spend(2 * times.len()).await;
            }
        }
        drop(times);
        let mut forks = 0;
        for position in 0..n as u32 {
            if block.shape.parts(position) > 2 {
                block.derive_fork(position, forks, pace).await;
                forks += 1;
            } else {
                block.derive_plain(position);
                pace.spend(2 * rows).await;
            }
        }
        block.rank_orders(pace).await;
        block
    }

    fn span(&self, position: u32, row: usize) -> (u64, u64) {
        (self.start_us.of(position as usize)[row], self.end_us.of(position as usize)[row])
    }

    /// Derives the subspans of a position with no or one child.
    fn derive_plain(&mut self, position: u32) {
        let (at, only) = (self.shape.parts_at(position), self.shape.children(position).first().copied());
        for row in 0..self.rows() {
            let (start, end) = self.span(position, row);
            let parts = match only.map(|child| self.span(child, row)) {
                None => [Some(end - start), None],
                Some((child_start, child_end)) => [Some(child_start - start), Some(end - child_end)],
            };
            self.self_us.put(position as usize, row, parts.iter().flatten().sum());
            for (index, &us) in parts.iter().flatten().enumerate() {
                self.diffs_us.put(at + index, row, us);
                self.subspans_us.put(at + index, row, us);
            }
        }
    }

    /// Derives the subspans of a position with several children, which is the fork of this number.
    async fn derive_fork(&mut self, position: u32, fork: usize, pace: &mut Pace) {
        let (mut events, mut order, mut orders) = (Vec::new(), Vec::new(), Numbers::default());
        for row in 0..self.rows() {
            self.put_events(position, row, &mut events, pace).await;
            let (begin, end) = self.span(position, row);
            let (mut subspans, mut part) = (Subspans::new(begin), self.shape.parts_at(position));
            for events in events.chunks(CHUNK) {
                for found in events.iter().filter_map(|event| subspans.pass(event)) {
                    self.subspans_us.put(part, row, found.us);
                    self.diffs_us.put(part, row, found.diff_us);
                    part += 1;
                }
                pace.spend(2 * events.len()).await;
            }
            self.self_us.put(position as usize, row, end - begin - subspans.covered_us);
            if self.rows() > 1 {
                order.clear();
                let own = events.iter().filter(|event| !is_span_end(event));
                order.extend(own.map(|event| event.3 * 2 + u32::from(!is_start(event))));
                self.ways.put(fork, row, orders.number(&order[..]));
                pace.spend(events.len() / 2).await;
            }
        }
        if self.rows() > 1 {
            let rank = orders.ranks(order.len() / 8, pace).await;
            for row in 0..self.rows() {
                let number = self.ways.of(fork)[row];
                self.ways.put(fork, row, rank[number as usize]);
            }
        }
    }

    /// Puts the events of a position in order (section 2). `out` is empty, or has those of another row, whose order is
    /// often the same.
    async fn put_events(&self, position: u32, row: usize, out: &mut Vec<SpanEvent>, pace: &mut Pace) {
        if out.is_empty() {
            for children in self.shape.children(position).chunks(CHUNK) {
                for &child in children {
                    out.extend(child_events(0, 1, child));
                }
                pace.spend(2 * children.len()).await;
            }
            out.push(span_end(0));
        }
        for events in out.chunks_mut(CHUNK) {
            pace.spend(events.len()).await;
            for event in events {
                *event = if is_span_end(event) {
                    span_end(self.span(position, row).1)
                } else {
                    let (start, end) = self.span(event.3, row);
                    let [starts, ends] = child_events(start, end, event.3);
                    if is_start(event) { starts } else { ends }
                };
            }
        }
        if out.len() <= CHUNK {
            pace.spend(8 * out.len()).await;
            out.sort_unstable();
        } else {
            sort_in_steps(out, 1, SpanEvent::cmp, pace).await;
        }
    }

    /// Returns the events of a position in order.
    pub async fn events(&self, position: u32, row: u32, pace: &mut Pace) -> Vec<SpanEvent> {
        let mut out = Vec::new();
        self.put_events(position, row as usize, &mut out, pace).await;
        out
    }

    /// Returns, by subspan of a position in a row, what stands before and after it: the endpoint of the child that
    /// began or ended last, and of the one that begins next. [`NO_ROW`] is the start of the span itself, and its end.
    pub async fn neighbours(&self, position: u32, row: u32, pace: &mut Pace) -> Vec<Neighbours> {
        let mut out = self.children_around(position, row, pace).await;
        let endpoint =
            |child: u32| if child == NO_ROW { NO_ROW } else { self.shape.endpoint[child as usize] };
        for between in out.chunks_mut(CHUNK) {
            between.iter_mut().for_each(|(before, after)| {
                (*before, *after) = (endpoint(*before), endpoint(*after));
            });
            pace.spend(between.len()).await;
        }
        out
    }

    /// Returns the children before and after each subspan, as positions.
    pub async fn children_around(&self, position: u32, row: u32, pace: &mut Pace) -> Vec<(u32, u32)> {
        if let [child] = *self.shape.children(position) {
            return vec![(NO_ROW, child), (child, NO_ROW)];
        }
        let mut subspans = Subspans::new(self.span(position, row as usize).0);
        let mut out = Vec::with_capacity(self.shape.parts(position));
        for events in self.events(position, row, pace).await.chunks(CHUNK) {
            let found = events.iter().filter_map(|event| subspans.pass(event));
            out.extend(found.map(|found| (found.previous, found.next)));
            pace.spend(2 * events.len()).await;
        }
        out
    }

    /// Returns the rows by the order in which the children of a position begin and end, as places in the list given;
    /// one list of all where there is but one order.
    pub fn by_way(&self, position: u32, rows: &[u32]) -> Vec<Vec<u32>> {
        let all = 0..rows.len() as u32;
        let Some(ways) = self.ways(position) else { return vec![all.collect()] };
        let mut by_way: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        all.for_each(|at| by_way.entry(ways[rows[at as usize] as usize]).or_default().push(at));
        by_way.into_values().collect()
    }

    /// Returns the rank by row of the order in which the children of a position begin and end; `None` if there is but
    /// one.
    pub fn ways(&self, position: u32) -> Option<&[u32]> {
        self.forks.binary_search(&position).ok().map(|fork| self.ways.of(fork))
    }

    async fn rank_orders(&mut self, pace: &mut Pace) {
        let mut rows: Vec<u32> = (0..self.rows() as u32).collect();
        let (ways, forks) = (&self.ways, self.forks.len());
        let compare = |a: u32, b: u32| {
            let ways = (0..forks).map(|fork| ways.of(fork));
            let mut orders = ways.map(|way| way[a as usize].cmp(&way[b as usize]));
            orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        sort_in_steps(&mut rows, forks / 2, |&a, &b| compare(a, b), pace).await;
        let mut order = vec![0; rows.len()];
        let mut rank = 0;
        for (at, &row) in rows.iter().enumerate().skip(1) {
            rank += u32::from(compare(rows[at - 1], row).is_ne());
            order[row as usize] = rank;
            pace.spend(forks / 2).await;
        }
        self.order = order;
    }

    pub fn rows(&self) -> usize {
        self.order.len()
    }

    /// Returns own time of a position in some rows: all its subspans. Self time lacks those in which a child that began
    /// earlier still runs, and with them the work between the calls of a span that does not wait for one before the
    /// next.
    pub async fn own(&self, position: u32, rows: &[u32], pace: &mut Pace) -> u128 {
        let (at, mut own) = (self.shape.parts_at(position), 0);
        for column in at..at + self.shape.parts(position) {
            own += sum(self.subspans_us.of(column), rows);
            pace.spend(rows.len()).await;
        }
        own
    }

    /// Adds the own time of a position in each of some rows.
    pub async fn own_of_each(&self, position: u32, rows: &[u32], out: &mut Vec<u64>, pace: &mut Pace) {
        let (at, first) = (self.shape.parts_at(position), out.len());
        out.resize(first + rows.len(), 0);
        for column in at..at + self.shape.parts(position) {
            let values = pick(self.subspans_us.of(column), rows);
            out[first..].iter_mut().zip(values).for_each(|(own, us)| *own += us);
            pace.spend(rows.len()).await;
        }
    }

    /// Returns the durations of a position in some rows.
    pub fn durations<'a>(&'a self, position: u32, rows: &'a [u32]) -> impl Iterator<Item = u64> + 'a {
        let (start, end) = (self.start_us.of(position as usize), self.end_us.of(position as usize));
        pick(end, rows).zip(pick(start, rows)).map(|(end, start)| end - start)
    }
}
