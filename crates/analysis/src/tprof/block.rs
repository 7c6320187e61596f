//! All traces of one shape: what every layer needs of their spans, column by column.

use super::collect::put_children;
use super::merge::Numbers;
use pathlight_model::ordered::OrderedMap;
use pathlight_model::sort::Arrange;
use pathlight_model::steps::Pace;
use pathlight_model::trace::{Endpoint, NO_ROW};
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// Rows that are written side by side when times of traces become columns.
const TILE: usize = 16;

/// A shape with its links: positions in canonical pre-order.
pub(super) struct Shape {
    pub endpoint: Vec<u32>,
    pub parent: Vec<u32>,
    /// Children of all positions, one position after the other; where those of a position begin, and one more.
    children: Vec<u32>,
    children_at: Vec<u32>,
}

impl Shape {
    pub fn new(positions: &[(u32, u32)]) -> Shape {
        let (endpoint, parent): (Vec<u32>, Vec<u32>) = positions.iter().copied().unzip();
        let (mut children, mut children_at) = (Vec::new(), Vec::new());
        put_children(parent.iter().copied(), &mut children, &mut children_at);
        Shape { endpoint, parent, children, children_at }
    }

    pub fn len(&self) -> usize {
        self.endpoint.len()
    }

    pub fn children(&self, position: u32) -> &[u32] {
        let at = position as usize;
        &self.children[self.children_at[at] as usize..self.children_at[at + 1] as usize]
    }

    /// Subspans of a position: one more than children.
    pub fn parts(&self, position: u32) -> usize {
        self.children(position).len() + 1
    }

    /// Where the subspans of a position begin.
    pub fn parts_at(&self, position: u32) -> usize {
        self.children_at[position as usize] as usize + position as usize
    }

    /// Positions of an endpoint.
    pub fn positions_of(&self, endpoint: u32) -> impl Iterator<Item = u32> {
        (0..).zip(&self.endpoint).filter(move |p| *p.1 == endpoint).map(|p| p.0)
    }

    /// By position `operation#2`, or the operation alone where an endpoint has one position.
    pub fn names(&self, endpoints: &[Endpoint]) -> Vec<String> {
        let mut count: FxHashMap<u32, u32> = FxHashMap::default();
        self.endpoint.iter().for_each(|&e| *count.entry(e).or_default() += 1);
        let mut seen: FxHashMap<u32, u32> = FxHashMap::default();
        let names = self.endpoint.iter().map(|&e| {
            let number = seen.entry(e).or_default();
            *number += 1;
            named(&endpoints[e as usize].operation, *number, count[&e])
        });
        names.collect()
    }

    /// That of one position.
    pub fn name(&self, position: u32, endpoints: &[Endpoint]) -> String {
        let endpoint = self.endpoint[position as usize];
        let count = self.positions_of(endpoint).count() as u32;
        let number = self.positions_of(endpoint).take_while(|&p| p <= position).count() as u32;
        named(&endpoints[endpoint as usize].operation, number, count)
    }
}

/// An operation, with a number where it has several positions.
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

    /// A column by row.
    pub fn of(&self, column: usize) -> &[T] {
        &self.values[column * self.rows..][..self.rows]
    }

    fn put(&mut self, column: usize, row: usize, value: T) {
        self.values[column * self.rows + row] = value;
    }
}

/// The values of a column in some rows.
pub(super) fn pick<'a>(column: &'a [u64], rows: &'a [u32]) -> impl Iterator<Item = u64> + 'a {
    rows.iter().map(|&row| column[row as usize])
}

/// Sum of a column over some rows.
pub(super) fn sum(column: &[u64], rows: &[u32]) -> u128 {
    pick(column, rows).map(u128::from).sum()
}

/// When the positions of a trace begin and end.
pub(super) type Times = (Vec<u64>, Vec<u64>);

/// An event of a span: time; rank; of a child its other end, and its position. The end of the span itself has none.
pub(super) type Event = (u64, u8, u64, u32);

/// Endpoints before and after a subspan.
pub(super) type Neighbours = (u32, u32);

const CHILD_ENDS: u8 = 1;
/// Rank of the start of a child.
pub(super) const CHILD_STARTS: u8 = 2;
const EMPTY_CHILD_ENDS: u8 = 3;
/// Rank of the span's own end.
pub(super) const SPAN_ENDS: u8 = 9;

/// The traces of one shape. A row is a trace.
pub(super) struct Block {
    pub shape: Shape,
    /// By position.
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
    /// Of the times of traces of this shape.
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
            }
            pace.spend(times.len() * n).await;
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
        block.rank_orders();
        pace.spend(4 * rows * block.forks.len()).await;
        block
    }

    fn span(&self, position: u32, row: usize) -> (u64, u64) {
        (self.start_us.of(position as usize)[row], self.end_us.of(position as usize)[row])
    }

    /// What follows of a position with no or one child.
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

    /// What follows of a position with several children, which is the fork of this number.
    async fn derive_fork(&mut self, position: u32, fork: usize, pace: &mut Pace) {
        let (mut events, mut order, mut orders) = (Vec::new(), Vec::new(), Numbers::default());
        for row in 0..self.rows() {
            self.put_events(position, row, &mut events);
            let (begin, end) = self.span(position, row);
            let (mut before, mut child_start, mut last_end, mut covered) = (begin, begin, begin, 0);
            let mut part = self.shape.parts_at(position);
            for &(time, rank, child_end, _) in &events {
                if rank == CHILD_STARTS {
                    self.subspans_us.put(part, row, time - before);
                    self.diffs_us.put(part, row, time - child_start);
                    child_start = time;
                    covered += child_end.saturating_sub(last_end.max(time));
                    last_end = last_end.max(child_end);
                    part += 1;
                } else if rank == SPAN_ENDS {
                    self.subspans_us.put(part, row, time - before);
                    self.diffs_us.put(part, row, time - last_end);
                }
                before = time;
            }
            self.self_us.put(position as usize, row, end - begin - covered);
            if self.rows() > 1 {
                order.clear();
                let own = events.iter().filter(|e| e.1 != SPAN_ENDS);
                order.extend(own.map(|e| e.3 * 2 + u32::from(e.1 != CHILD_STARTS)));
                self.ways.put(fork, row, orders.number(&order[..]));
            }
            pace.spend(4 * events.len()).await;
        }
        let (_, rank) = orders.sorted();
        if self.rows() > 1 {
            for row in 0..self.rows() {
                let number = self.ways.of(fork)[row];
                self.ways.put(fork, row, rank[number as usize]);
            }
        }
    }

    /// The events of a position in order (section 2). `out` is empty, or has those of another row, whose order is often the
    /// same.
    fn put_events(&self, position: u32, row: usize, out: &mut Vec<Event>) {
        if out.is_empty() {
            for &child in self.shape.children(position) {
                out.extend([(0, CHILD_STARTS, 0, child), (0, CHILD_ENDS, 0, child)]);
            }
            out.push((0, SPAN_ENDS, 0, NO_ROW));
        }
        for event in out.iter_mut() {
            let (_, rank, _, child) = *event;
            if rank == SPAN_ENDS {
                event.0 = self.span(position, row).1;
                continue;
            }
            let (start, end) = self.span(child, row);
            *event = match rank {
                CHILD_STARTS => (start, rank, end, child),
                _ if start == end => (end, EMPTY_CHILD_ENDS, start, child),
                _ => (end, CHILD_ENDS, start, child),
            };
        }
        out.sort_unstable();
    }

    /// The events of a position in order.
    pub fn events(&self, position: u32, row: u32) -> Vec<Event> {
        let mut out = Vec::new();
        self.put_events(position, row as usize, &mut out);
        out
    }

    /// By subspan of a position in a row what stands before and after it: the endpoint of the child that began or ended last,
    /// and of the one that begins next. [`NO_ROW`] is the start of the span itself, and its end.
    pub fn neighbours(&self, position: u32, row: u32) -> Vec<Neighbours> {
        let endpoint = |child: u32| self.shape.endpoint[child as usize];
        if let [child] = *self.shape.children(position) {
            return vec![(NO_ROW, endpoint(child)), (endpoint(child), NO_ROW)];
        }
        let (mut before, mut out) = (NO_ROW, Vec::with_capacity(self.shape.parts(position)));
        for (_, rank, _, child) in self.events(position, row) {
            match rank {
                SPAN_ENDS => out.push((before, NO_ROW)),
                CHILD_STARTS => out.push((before, endpoint(child))),
                _ => {}
            }
            if rank != SPAN_ENDS {
                before = endpoint(child);
            }
        }
        out
    }

    /// Rows by the order in which the children of a position begin and end, as places in the list given; one list of all
    /// where there is but one order.
    pub fn by_way(&self, position: u32, rows: &[u32]) -> Vec<Vec<u32>> {
        let all = 0..rows.len() as u32;
        let Some(ways) = self.ways(position) else { return vec![all.collect()] };
        let mut by_way: OrderedMap<u32, Vec<u32>> = OrderedMap::new();
        all.for_each(|at| by_way.entry(ways[rows[at as usize] as usize]).or_default().push(at));
        by_way.into_values().collect()
    }

    /// The rank by row of the order in which the children of a position begin and end; `None` if there is but one.
    pub fn ways(&self, position: u32) -> Option<&[u32]> {
        self.forks.binary_search(&position).ok().map(|fork| self.ways.of(fork))
    }

    fn rank_orders(&mut self) {
        let mut rows: Vec<u32> = (0..self.rows() as u32).collect();
        let ways = &self.ways;
        let compare = |a: u32, b: u32| {
            let ways = (0..self.forks.len()).map(|fork| ways.of(fork));
            let mut orders = ways.map(|way| way[a as usize].cmp(&way[b as usize]));
            orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        };
        rows.arrange_by(|&a, &b| compare(a, b));
        let mut order = vec![0; rows.len()];
        let mut rank = 0;
        for (at, &row) in rows.iter().enumerate().skip(1) {
            rank += u32::from(compare(rows[at - 1], row).is_ne());
            order[row as usize] = rank;
        }
        self.order = order;
    }

    pub fn rows(&self) -> usize {
        self.order.len()
    }

    /// Own time of a position in some rows: all its subspans. Self time lacks those in which a child that began earlier
    /// still runs, and with them the work between the calls of a span that does not wait for one before the next.
    pub fn own(&self, position: u32, rows: &[u32]) -> u128 {
        let at = self.shape.parts_at(position);
        (at..at + self.shape.parts(position)).map(|column| sum(self.subspans_us.of(column), rows)).sum()
    }

    /// Durations of a position in some rows.
    pub fn durations<'a>(&'a self, position: u32, rows: &'a [u32]) -> impl Iterator<Item = u64> + 'a {
        let (start, end) = (self.start_us.of(position as usize), self.end_us.of(position as usize));
        pick(end, rows).zip(pick(start, rows)).map(|(end, start)| end - start)
    }
}
