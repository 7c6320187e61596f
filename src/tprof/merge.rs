//! Joining what workers sent, part by part: names are numbered as they come and put in order at the end.

use super::collect::TracesPart;
use super::traces::{Shape, Trace, Traces};
use crate::steps::Pace;
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// Values numbered in the order they came.
struct Numbers<T> {
    of: FxHashMap<T, u32>,
    list: Vec<T>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Numbers { of: FxHashMap::default(), list: Vec::new() }
    }
}

impl<T: Clone + Eq + Hash + Ord> Numbers<T> {
    fn add(&mut self, value: T) -> u32 {
        let next = self.list.len() as u32;
        let number = *self.of.entry(value.clone()).or_insert(next);
        if number == next {
            self.list.push(value);
        }
        number
    }

    /// The values in order, and for each number its place there.
    fn sorted(self) -> (Vec<T>, Vec<u32>) {
        let mut order: Vec<u32> = (0..self.list.len() as u32).collect();
        order.sort_unstable_by(|&a, &b| self.list[a as usize].cmp(&self.list[b as usize]));
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
    endpoints: Numbers<(String, String)>,
    types: Numbers<(String, String)>,
    /// By positions, with endpoints in the order they came.
    positions: Numbers<Vec<(u32, u32)>>,
    shapes: Vec<Shape>,
    orders: Numbers<Vec<u32>>,
    traces: Vec<Trace>,
    orphans: u64,
    /// Of the worker whose parts come: numbers here of its shapes and request types.
    shape_of: Vec<u32>,
    type_of: Vec<u32>,
}

impl Merging {
    /// Adds a part. One without names goes on where the one before it, of the same worker, ended.
    pub async fn add(&mut self, part: TracesPart, pace: &mut Pace) {
        if !part.endpoints.is_empty() {
            let endpoint: Vec<u32> = part.endpoints.into_iter().map(|e| self.endpoints.add(e)).collect();
            self.type_of = part.types.into_iter().map(|t| self.types.add(t)).collect();
            self.shape_of.clear();
            for mut shape in part.shapes {
                for position in &mut shape {
                    position.0 = endpoint.get(position.0 as usize).copied().unwrap_or(0);
                }
                pace.spend(shape.len()).await;
                let number = self.positions.add(shape);
                if number as usize == self.shapes.len() {
                    let positions = self.positions.list[number as usize].clone();
                    self.shapes.push(Shape::new(positions, &self.endpoints.list));
                }
                self.shape_of.push(number);
            }
        }
        self.orphans += part.orphans;
        for mut times in part.traces {
            let known = |numbers: &[u32], number: u32| numbers.get(number as usize).copied();
            let shape = known(&self.shape_of, times.shape).filter(|&shape| {
                // Nothing a worker sends is like this; what a damaged message says is left out.
                let positions = self.shapes[shape as usize].len();
                positions == times.start_us.len() && positions == times.end_us.len()
            });
            let (Some(shape), Some(kind)) = (shape, known(&self.type_of, times.request_type)) else {
                continue;
            };
            (times.shape, times.request_type) = (shape, kind);
            let (mut trace, order) = Trace::new(times, &self.shapes[shape as usize]);
            pace.spend(4 * trace.self_us.len()).await;
            trace.order = self.orders.add(order);
            self.traces.push(trace);
        }
    }

    /// All traces in their order.
    pub async fn finish(self, pace: &mut Pace) -> Traces {
        let (endpoints, endpoint_at) = self.endpoints.sorted();
        let (types, type_at) = self.types.sorted();
        let mut shapes = self.shapes;
        for shape in &mut shapes {
            for endpoint in &mut shape.endpoint {
                *endpoint = endpoint_at[*endpoint as usize];
            }
        }
        let mut order: Vec<u32> = (0..shapes.len() as u32).collect();
        let key = |number: &u32| (&shapes[*number as usize].endpoint, &shapes[*number as usize].parent);
        order.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        let mut shape_at = vec![0; order.len()];
        let mut slots: Vec<Option<Shape>> = shapes.into_iter().map(Some).collect();
        let mut shapes = Vec::with_capacity(order.len());
        for (at, &number) in order.iter().enumerate() {
            shape_at[number as usize] = at as u32;
            shapes.extend(slots[number as usize].take());
        }
        pace.spend(20 * shape_at.len()).await;
        let traces = &self.traces;
        let mut order: Vec<(u64, u32)> =
            traces.iter().enumerate().map(|(at, trace)| (trace.duration_us(0), at as u32)).collect();
        order.sort_unstable_by(|&(x, a), &(y, b)| {
            let id = |at: u32| {
                let times = &traces[at as usize].times;
                (&times.id, &times.root_span_id)
            };
            x.cmp(&y).then_with(|| id(a).cmp(&id(b)))
        });
        pace.spend(4 * order.len()).await;
        let mut slots: Vec<Option<Trace>> = self.traces.into_iter().map(Some).collect();
        let mut traces = Vec::with_capacity(slots.len());
        for (_, at) in order {
            let Some(mut trace) = slots[at as usize].take() else { continue };
            trace.times.shape = shape_at[trace.times.shape as usize];
            trace.times.request_type = type_at[trace.times.request_type as usize];
            traces.push(trace);
            pace.spend(1).await;
        }
        Traces { endpoints, shapes, types, traces, orders: self.orders.list, orphans: self.orphans }
    }
}
