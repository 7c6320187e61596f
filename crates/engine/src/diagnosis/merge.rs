//! Joining what workers sent, part by part.

use super::block::{Block, CHUNK, Shape, Times};
use super::collect::TraceTimes;
use super::numbers::{Numbers, ranks};
use super::traces::Trace;
use super::{Traces, TracesPart};
use pathlight_base::sort::{order_in_steps, permute, sort_in_steps};
use pathlight_base::steps::{Pace, all_at_once};
use pathlight_trace::Endpoint;

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

impl Traces {
    /// Joins parts of disjoint traces, in any order.
    pub fn merge(parts: Vec<TracesPart>) -> Traces {
        all_at_once(async {
            let (mut merging, mut pace) = (Merging::default(), Pace::default());
            for part in parts {
                merging.add(part, &mut pace).await;
            }
            merging.finish(&mut pace).await
        })
    }
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
        permute(&mut forming, order);
        let duration = |times: &TraceTimes| times.end_us.first().copied().unwrap_or(0);
        let mut order = self.traces;
        let compare = |x: &TraceTimes, y: &TraceTimes| {
            let id = || (&x.id, &x.root_span_id).cmp(&(&y.id, &y.root_span_id));
            duration(x).cmp(&duration(y)).then_with(id)
        };
        sort_in_steps(&mut order, 2, compare, pace).await;
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
