//! The slow requests of one set against its fast ones, each within its own request type: else the tail of a mixture is
//! mostly its larger pages.

use super::cells::CulpritPart;
use super::observe::CulpritObserver;
use crate::critical_path::{Observer, PathTable};
use crate::requests::Overlap;
use pathlight_model::stats::mix;
use pathlight_model::trace::{Endpoint, EndpointId, Role, TraceSet, Tree, hash_bytes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A type with fewer requests has no tail to speak of.
const LEAST: usize = 10;

/// What requests are compared within: the root endpoint, and the set of endpoints that the service of the root calls.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct RequestShape {
    root: Endpoint,
    /// A hash of the set; 0 stands for all sets that are too rare for themselves.
    calls: u64,
}

/// Latencies by request type, in microseconds: an accumulator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypesPart(BTreeMap<RequestShape, Vec<u64>>);

/// The greatest latency of the faster half and the smallest of the slowest tenth, by request type; `None` where all are
/// about as fast.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TypeCuts(BTreeMap<RequestShape, Option<(u64, u64)>>);

impl TypesPart {
    /// Cuts the types of disjoint requests. Types of fewer than 10 requests are taken together by root endpoint; where
    /// half and tenth meet, all requests being about as fast, there is no cut.
    pub fn cut(parts: Vec<TypesPart>) -> TypeCuts {
        let mut types: BTreeMap<RequestShape, Vec<u64>> = BTreeMap::new();
        for (shape, latencies) in parts.into_iter().flat_map(|part| part.0) {
            types.entry(shape).or_default().extend(latencies);
        }
        let mut rare: BTreeMap<RequestShape, Vec<u64>> = BTreeMap::new();
        types.retain(|shape, latencies| {
            let is_kept = latencies.len() >= LEAST;
            if !is_kept {
                let others = RequestShape { root: shape.root.clone(), calls: 0 };
                rare.entry(others).or_default().append(latencies);
            }
            is_kept
        });
        types.extend(rare.into_iter().filter(|(_, latencies)| latencies.len() >= LEAST));
        let cut = |(shape, mut latencies): (RequestShape, Vec<u64>)| {
            latencies.sort_unstable();
            let n = latencies.len();
            let ends = (latencies[n / 2 - 1], latencies[n - n / 10]);
            (shape, (ends.0 < ends.1).then_some(ends))
        };
        TypeCuts(types.into_iter().map(cut).collect())
    }
}

/// Tells the types of requests apart; keeps its scratch space.
#[derive(Default)]
struct Shapes {
    callees: Vec<u32>,
}

impl Shapes {
    /// The type of the request whose root is a span of a tree.
    fn of(&mut self, set: &TraceSet, tree: &Tree, root: u32) -> RequestShape {
        let name = |span: u32| set.endpoint_name(set.endpoint(tree.row(span)));
        let service = name(root).0;
        self.callees.clear();
        let (mut span, end) = (root + 1, tree.subtree_end[root as usize]);
        while span < end {
            let is_part = tree.role[span as usize] == Role::Sync;
            if is_part && name(span).0 == service {
                span += 1;
                continue;
            }
            if is_part {
                self.callees.push(set.endpoint(tree.row(span)).0);
            }
            span = tree.subtree_end[span as usize];
        }
        self.callees.sort_unstable();
        self.callees.dedup();
        let hash = |&endpoint: &u32| {
            let (service, operation) = set.endpoint_name(EndpointId(endpoint));
            mix(hash_bytes(service.as_bytes()) ^ mix(hash_bytes(operation.as_bytes())))
        };
        // A sum, since numbers of endpoints differ from worker to worker.
        let calls = self.callees.iter().map(hash).fold(1, u64::wrapping_add).max(1);
        let (service, operation) = name(root);
        RequestShape { root: Endpoint::new(service, operation), calls }
    }
}

/// Observes the latencies of request types.
#[derive(Default)]
pub struct TypesObserver {
    shapes: Shapes,
    part: TypesPart,
}

impl Observer for TypesObserver {
    type Part = TypesPart;

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let facts = &table.requests[request as usize];
        let shape = self.shapes.of(set, tree, facts.row - tree.first);
        self.part.0.entry(shape).or_default().push(facts.latency_us);
    }

    fn finish(self, _: &TraceSet) -> TypesPart {
        self.part
    }
}

/// Observes the faster half of every type as side A and its slowest tenth as side B.
pub struct TailObserver {
    cuts: TypeCuts,
    shapes: Shapes,
    sides: [CulpritObserver; 2],
}

impl TailObserver {
    /// An observer of requests of this set, cut like this.
    pub fn new(set: &TraceSet, overlap: Overlap, cuts: TypeCuts) -> TailObserver {
        let sides = [CulpritObserver::new(set, overlap), CulpritObserver::new(set, overlap)];
        TailObserver { cuts, shapes: Shapes::default(), sides }
    }
}

impl Observer for TailObserver {
    type Part = [CulpritPart; 2];

    fn observe(&mut self, set: &TraceSet, table: &PathTable, tree: &Tree, request: u32) {
        let facts = &table.requests[request as usize];
        let mut shape = self.shapes.of(set, tree, facts.row - tree.first);
        let mut ends = self.cuts.0.get(&shape);
        if ends.is_none() {
            shape.calls = 0;
            ends = self.cuts.0.get(&shape);
        }
        let Some(&Some((fast_us, slow_us))) = ends else { return };
        if facts.latency_us <= fast_us {
            self.sides[0].observe(set, table, tree, request);
        } else if facts.latency_us >= slow_us {
            self.sides[1].observe(set, table, tree, request);
        }
    }

    fn finish(self, set: &TraceSet) -> [CulpritPart; 2] {
        self.sides.map(|side| side.finish(set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_cut_at_half_and_tenth_and_rare_ones_together() {
        let shape = |calls| RequestShape { root: Endpoint::new("a", "b"), calls };
        let part = |of: &[(u64, std::ops::Range<u64>)]| {
            TypesPart(of.iter().map(|(calls, us)| (shape(*calls), us.clone().collect())).collect())
        };
        let parts = vec![part(&[(1, 0..10), (2, 100..104)]), part(&[(1, 10..20), (3, 200..206)])];
        let cuts = TypesPart::cut(parts);
        let expected = [(shape(0), Some((200, 205))), (shape(1), Some((9, 18)))];
        assert_eq!(cuts, TypeCuts(expected.into_iter().collect()));
        assert_eq!(TypesPart::cut(vec![part(&[(1, 0..9)])]), TypeCuts::default());
        let same = TypesPart([(shape(1), vec![7; 50])].into_iter().collect());
        assert_eq!(TypesPart::cut(vec![same]), TypeCuts([(shape(1), None)].into_iter().collect()));
    }
}
