//! Joining what workers sent, part by part: names are numbered as they come and put in order at the end.

use super::block::{Block, Shape, Times};
use super::collect::{TraceTimes, TracesPart};
use super::traces::{Trace, Traces};
use pathlight_model::sort::Arrange;
use pathlight_model::steps::Pace;
use pathlight_model::trace::Endpoint;
use rustc_hash::FxHashMap;
use std::borrow::Borrow;
use std::hash::Hash;

/// Values numbered in the order they came.
pub(super) struct Numbers<T> {
    of: FxHashMap<T, u32>,
    list: Vec<T>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers { of: FxHashMap::default(), list: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash + Ord> Numbers<T> {
    pub fn number<Q: ?Sized + Eq + Hash + ToOwned<Owned = T>>(&mut self, value: &Q) -> u32
    where
        T: Borrow<Q>,
    {
        if let Some(&number) = self.of.get(value) {
            return number;
        }
        let number = self.list.len() as u32;
        self.list.push(value.to_owned());
        self.of.insert(value.to_owned(), number);
        number
    }

    /// The values in order, and for each number its place there.
    pub fn sorted(self) -> (Vec<T>, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        order.arrange_by(|&a, &b| self.list[a as usize].cmp(&self.list[b as usize]));
        let mut place = vec![0; order.len()];
        for (at, &number) in order.iter().enumerate() {
            place[number as usize] = at as u32;
        }
        (order.iter().map(|&number| self.list[number as usize].clone()).collect(), place)
    }
}

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
                for position in &mut shape {
                    position.0 = endpoint.get(position.0 as usize).copied().unwrap_or(0);
                }
                pace.spend(shape.len()).await;
                self.shape_of.push(self.shapes.number(&shape));
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

    /// All traces in their order.
    pub async fn finish(self, pace: &mut Pace) -> Traces {
        let (endpoints, endpoint_at) = self.endpoints.sorted();
        let (types, type_at) = self.types.sorted();
        let mut shapes: Vec<Shape> = Vec::with_capacity(self.shapes.list.len());
        for positions in &self.shapes.list {
            let mut shape = Shape::new(positions);
            shape.endpoint.iter_mut().for_each(|endpoint| *endpoint = endpoint_at[*endpoint as usize]);
            pace.spend(2 * positions.len()).await;
            shapes.push(shape);
        }
        drop(self.shapes);
        let mut order: Vec<u32> = (0..shapes.len() as u32).collect();
        let key = |number: u32| (&shapes[number as usize].endpoint, &shapes[number as usize].parent);
        order.arrange_by(|&a, &b| key(a).cmp(&key(b)));
        let mut shape_at = vec![0; order.len()];
        for (at, &number) in order.iter().enumerate() {
            shape_at[number as usize] = at as u32;
        }
        pace.spend(20 * order.len()).await;
        let mut slots: Vec<Option<Shape>> = shapes.into_iter().map(Some).collect();
        let shapes = order.iter().filter_map(|&number| slots[number as usize].take());
        // By shape its positions and, by row, the times of its traces.
        let mut forming: Vec<(Shape, Vec<Times>)> = shapes.map(|shape| (shape, Vec::new())).collect();
        let duration = |times: &TraceTimes| times.end_us.first().copied().unwrap_or(0);
        let mut order = self.traces;
        order.arrange_by(|x, y| {
            let id = || (&x.id, &x.root_span_id).cmp(&(&y.id, &y.root_span_id));
            duration(x).cmp(&duration(y)).then_with(id)
        });
        pace.spend(4 * order.len()).await;
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
