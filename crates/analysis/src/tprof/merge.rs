//! Joining what workers sent, part by part: names are numbered as they come and put in order at the end.

use super::block::{Block, Shape, Times};
use super::collect::{TraceTimes, TracesPart};
use super::traces::{Trace, Traces};
use pathlight_model::sort::{arrange_in_steps, order_in_steps, settle};
use pathlight_model::steps::Pace;
use pathlight_model::trace::Endpoint;
use rustc_hash::{FxBuildHasher, FxHashMap};
use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

/// Values numbered in the order they came.
pub(super) struct Numbers<T> {
    /// By hash; of values with one hash the later ones by the next free hash.
    of: FxHashMap<u64, u32>,
    list: Vec<T>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers { of: FxHashMap::default(), list: Vec::new() }
    }
}

impl<T: Eq + Hash + Ord + Send + Sync> Numbers<T> {
    pub fn number<Q: ?Sized + Eq + Hash + ToOwned<Owned = T>>(&mut self, value: &Q) -> u32
    where
        T: Borrow<Q>,
    {
        let mut hash = FxBuildHasher.hash_one(value);
        while let Some(&number) = self.of.get(&hash) {
            if self.list[number as usize].borrow() == value {
                return number;
            }
            hash = hash.wrapping_add(1);
        }
        let number = self.list.len() as u32;
        self.list.push(value.to_owned());
        self.of.insert(hash, number);
        number
    }

    /// Returns the numbers in the order of their values; two of these take about `cost` units to compare.
    async fn order(&self, cost: usize, pace: &mut Pace) -> Vec<u32> {
        let list = &self.list;
        order_in_steps(list.len(), cost, &|a, b| list[a as usize].cmp(&list[b as usize]), pace).await
    }

    /// Returns, for each number, its place in the order of the values; two of these take about `cost` units to compare.
    pub async fn ranks(&self, cost: usize, pace: &mut Pace) -> Vec<u32> {
        ranks(&self.order(cost, pace).await)
    }

    /// Returns the values in order, and for each number its place there.
    async fn sorted(mut self, pace: &mut Pace) -> (Vec<T>, Vec<u32>) {
        let order = self.order(4, pace).await;
        let ranks = ranks(&order);
        settle(&mut self.list, order);
        (self.list, ranks)
    }
}

/// Returns, for each number, its place in an order.
fn ranks(order: &[u32]) -> Vec<u32> {
    let mut ranks = vec![0; order.len()];
    for (place, &number) in (0..).zip(order) {
        ranks[number as usize] = place;
    }
    ranks
}

/// Positions looked at between two pauses.
pub(super) const CHUNK: usize = 1 << 13;

/// Traces of which more parts come.
#[derive(Default)]
pub struct Merging {
    endpoints: Numbers<Endpoint>,
    types: Numbers<Endpoint>,
    /// Positions of shapes, with endpoints in the order they came.
    shapes: Numbers<Vec<(u32, u32)>>,
    traces: Vec<TraceTimes>,
    orphans: u64,
    /// Of the worker whose parts come: numbers here of its shapes and request types.
    shape_of: Vec<u32>,
    type_of: Vec<u32>,
}

impl Merging {
    /// Adds a part. One without names goes on where the one before it, of the same worker, ended.
    pub async fn add(&mut self, part: TracesPart, pace: &mut Pace) {
        if !part.endpoints.is_empty() {
            let endpoint: Vec<u32> = part.endpoints.iter().map(|e| self.endpoints.number(e)).collect();
            self.type_of = part.types.iter().map(|t| self.types.number(t)).collect();
            self.shape_of.clear();
            for mut shape in part.shapes {
                for positions in shape.chunks_mut(CHUNK) {
                    for position in positions {
                        position.0 = endpoint.get(position.0 as usize).copied().unwrap_or(0);
                    }
                    pace.spend(CHUNK).await;
                }
                self.shape_of.push(self.shapes.number(&shape));
                pace.spend(shape.len() / 8).await;
            }
        }
        self.orphans += part.orphans;
        pace.spend(part.traces.len()).await;
        for mut times in part.traces {
            let known = |numbers: &[u32], number: u32| numbers.get(number as usize).copied();
            let shape = known(&self.shape_of, times.shape).filter(|&shape| {
                // Nothing a worker sends is like this; what a damaged message says is left out.
                let positions = self.shapes.list[shape as usize].len();
                positions == times.start_us.len() && positions == times.end_us.len()
            });
            let (Some(shape), Some(kind)) = (shape, known(&self.type_of, times.request_type)) else {
                continue;
            };
            (times.shape, times.request_type) = (shape, kind);
            self.traces.push(times);
        }
    }

    /// Returns all traces in their order.
    pub async fn finish(self, pace: &mut Pace) -> Traces {
        let (endpoints, endpoint_at) = self.endpoints.sorted(pace).await;
        let (types, type_at) = self.types.sorted(pace).await;
        let mut forming: Vec<(Shape, Vec<Times>)> = Vec::with_capacity(self.shapes.list.len());
        let mut positions_in_all = 0;
        for positions in self.shapes.list {
            positions_in_all += positions.len();
            // By shape its positions and, by row, the times of its traces.
            forming.push((Shape::new(positions, &endpoint_at, pace).await, Vec::new()));
        }
        // Of two shapes, about so many positions are equal before one differs, at worst.
        let cost = positions_in_all / forming.len().max(1) / 4;
        let key = |number: u32| (&forming[number as usize].0.endpoint, &forming[number as usize].0.parent);
        let order = order_in_steps(forming.len(), cost, &|a, b| key(a).cmp(&key(b)), pace).await;
        let shape_at = ranks(&order);
        settle(&mut forming, order);
        let duration = |times: &TraceTimes| times.end_us.first().copied().unwrap_or(0);
        let mut order = self.traces;
        let compare = |x: &TraceTimes, y: &TraceTimes| {
            let id = || (&x.id, &x.root_span_id).cmp(&(&y.id, &y.root_span_id));
            duration(x).cmp(&duration(y)).then_with(id)
        };
        arrange_in_steps(&mut order, 2, compare, pace).await;
        let mut traces = Vec::with_capacity(order.len());
        for times in order {
            let shape = shape_at[times.shape as usize];
            let rows = &mut forming[shape as usize].1;
            traces.push(Trace {
                duration_us: duration(&times),
                id: times.id,
                root_span_id: times.root_span_id,
                request_type: type_at[times.request_type as usize],
                shape,
                row: rows.len() as u32,
                callers: times.callers,
            });
            rows.push((times.start_us, times.end_us));
            pace.spend(2).await;
        }
        let mut blocks = Vec::with_capacity(forming.len());
        for (shape, times) in forming {
            blocks.push(Block::new(shape, times, pace).await);
        }
        Traces { endpoints, blocks, types, traces, orphans: self.orphans }
    }
}
